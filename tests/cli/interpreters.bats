#!/usr/bin/env bats
# Which Python is meant: shims, venvs, conda, uv, other layouts, a root directory. Interpreters here are stand-ins that nobody could run.

bats_require_minimum_version 1.5.0

setup() {
	DAVY=${DAVY:-$BATS_TEST_DIRNAME/../../build/davy}
	export HOME=$BATS_TEST_TMPDIR/home
	unset PYTHONPATH VIRTUAL_ENV CONDA_PREFIX PYENV_VERSION PYENV_DIR PYTHONUSERBASE CUDA_HOME
	mkdir -p "$HOME"
	cd "$BATS_TEST_TMPDIR"
	ORACLE=$(python3 -c 'import sys; print(sys.executable)')
}

# interpreter PREFIX X.Y [X.Y.Z]: a prefix as an installation leaves it.
interpreter() {
	mkdir -p "$1/bin" "$1/lib/python$2/lib-dynload" "$1/lib/python$2/site-packages"
	cp /bin/true "$1/bin/python$2"
	ln -sf "python$2" "$1/bin/python3"
	ln -sf python3 "$1/bin/python"
	: > "$1/lib/python$2/os.py"
	[ -z "${3:-}" ] || { mkdir -p "$1/include/python$2"; printf '#define PY_VERSION      \t"%s"\n' "$3" | sed 's/VERSION      /VERSION /' > "$1/include/python$2/patchlevel.h"; : > "$1/include/python$2/Python.h"; }
}

dist() {
	mkdir -p "$1/$2-$3.dist-info"
	printf 'Name: %s\nVersion: %s\n\n' "$2" "$3" > "$1/$2-$3.dist-info/METADATA"
	echo "${4:-pip}" > "$1/$2-$3.dist-info/INSTALLER"
}

check() { "$DAVY" check --json "$@" > davy.json 2>err.txt || [ $? -le 2 ] || { cat err.txt; false; }; }

holds() {
	"$ORACLE" - "$1" <<'PY'
import json, sys
d = json.load(open("davy.json"))["facts"]
p = (d.get("python") or [None])[0]
packages = {(x["name"], x["version"]): x for x in d.get("package", [])}
programs = {x["name"]: x for x in d.get("program", [])}
if not eval(sys.argv[1]):
    print(json.dumps({"python": p, "package": d.get("package"), "sys_path": d.get("sys_path"), "pip": programs.get("pip")}, indent=1))
    sys.exit("not so: " + sys.argv[1])
PY
}

pyenv() {
	root=$PWD/.pyenv
	interpreter "$root/versions/3.10.4" 3.10 3.10.4
	interpreter "$root/versions/3.11.7" 3.11 3.11.7
	interpreter "$root/versions/3.11.12" 3.11 3.11.12
	mkdir -p "$root/shims"
	for n in python python3 pip; do
		printf '#!/usr/bin/env bash\nset -e\nexport PYENV_ROOT="%s"\nexec "pyenv" exec "$program" "$@"\n' "$root" > "$root/shims/$n"
		chmod +x "$root/shims/$n"
	done
	for v in "$root"/versions/*; do printf '#!%s/bin/python3\n' "$v" > "$v/bin/pip"; chmod +x "$v/bin/pip"; done
	echo 3.10.4 > "$root/version"
	export PATH=$root/shims:$PATH
}

@test "pyenv: the global version" {
	pyenv
	check
	holds 'p["version"] == "3.10.4" and p["kind"] == "pyenv" and p["prefix"].endswith("/.pyenv/versions/3.10.4") and p["headers"] is True'
	holds 'programs["pip"]["same_environment"] is True and programs["pip"]["interpreter"].endswith("3.10.4/bin/python3")'
}

@test "pyenv: the nearest .python-version, and the newest patch of a minor version" {
	pyenv
	mkdir -p project/deep
	echo 3.11 > project/.python-version
	cd project/deep
	check
	holds 'p["version"] == "3.11.12"'
}

@test "pyenv: PYENV_VERSION goes before files, the first that is installed counts" {
	pyenv
	export PYENV_VERSION=3.9.9:3.11.7
	check
	holds 'p["version"] == "3.11.7"'
}

@test "pyenv: system" {
	pyenv
	interpreter "$PWD/sys" 3.12 3.12.2
	PATH=$root/shims:$PWD/sys/bin:/usr/bin:/bin PYENV_VERSION=system check
	holds 'p["version"] == "3.12.2" and p["kind"] == "system"'
}

@test "conda: version, conda's libraries, pip over conda" {
	interpreter "$PWD/conda" 3.11
	mkdir conda/conda-meta
	for f in python-3.11.9-h955ad1f_0 nccl-2.19.3.1-h6103f9b_1 pytorch-2.1.2-py3.11_cuda12.1 numpy-1.26.4-py311h numpy-base-1.26.4-py311h zlib-1.2.13-h5; do echo '{}' > conda/conda-meta/$f.json; done
	dist conda/lib/python3.11/site-packages numpy 2.0.1
	dist conda/lib/python3.11/site-packages torch 2.1.2 conda
	check --python conda
	holds 'p["kind"] == "conda" and p["version"] == "3.11.9" and p["manager"] == "conda"'
	holds '("nccl", "2.19.3.1") in packages and ("zlib", "1.2.13") not in packages and ("pytorch", "2.1.2") in packages'
	holds 'packages["numpy", "2.0.1"]["shadowed"] is False and packages["numpy", "1.26.4"]["shadowed"] is True and packages["numpy", "1.26.4"]["installer"] == "conda"'
	holds '[s["origin_kind"] for s in d["sys_path"]][-1] == "conda"'
}

@test "CONDA_PREFIX and VIRTUAL_ENV when PATH has no Python" {
	interpreter "$PWD/conda" 3.11
	mkdir conda/conda-meta; echo '{}' > conda/conda-meta/python-3.11.9-0.json
	mkdir empty
	PATH=$PWD/empty CONDA_PREFIX=$PWD/conda "$DAVY" check --json > davy.json 2>/dev/null || true
	holds 'p["version"] == "3.11.9"'
	PATH=$PWD/empty "$DAVY" check --json > davy.json 2>/dev/null || true
	holds 'p is None'
}

@test "a venv of uv" {
	interpreter "$PWD/uv/python/cpython-3.12.5-linux-x86_64-gnu" 3.12
	mkdir -p .venv/bin .venv/lib/python3.12/site-packages
	ln -s "$PWD/uv/python/cpython-3.12.5-linux-x86_64-gnu/bin/python3.12" .venv/bin/python
	ln -s python .venv/bin/python3
	printf 'home = %s\nimplementation = CPython\nuv = 0.4.18\nversion_info = 3.12.5\ninclude-system-site-packages = false\nprompt = x\n' "$PWD/uv/python/cpython-3.12.5-linux-x86_64-gnu/bin" > .venv/pyvenv.cfg
	dist .venv/lib/python3.12/site-packages torch 2.5.1 uv
	check --python .venv
	holds 'p["kind"] == "venv" and p["manager"] == "uv" and p["version"] == "3.12.5" and p["system_site"] is False and p["externally_managed"] is False'
	holds 'packages["torch", "2.5.1"]["installer"] == "uv"'
	holds 'p["base_prefix"].endswith("cpython-3.12.5-linux-x86_64-gnu")'
}

@test "a venv whose Python is gone" {
	mkdir -p env/bin env/lib/python3.11/site-packages
	ln -s /nowhere/bin/python3.11 env/bin/python3
	printf 'home = /nowhere/bin\nversion = 3.11.4\ninclude-system-site-packages = false\n' > env/pyvenv.cfg
	dist env/lib/python3.11/site-packages torch 2.1.0
	check --python env
	holds 'p["real_path"] is None and p["kind"] == "venv" and ("torch", "2.1.0") in packages'
	holds 'p["gone"] == "/nowhere/bin/python3.11" and p["version"] == "3.11.4"'
	run -1 "$DAVY" check --python env
	[[ "$(tr -s ' \n' ' ' <<<"$output")" == *"env/bin/python3 is a link to /nowhere/bin/python3.11, which is not there"* ]]
	# Without the name of a version in the link it is pyvenv.cfg that knows, not the system's library.
	ln -sfn /nowhere/bin/python3 env/bin/python3
	sed -i 's/3.11.4/3.9.7/' env/pyvenv.cfg
	check --python env
	holds 'p["version"] == "3.9.7"'
}

@test "a venv that was moved: its scripts name an interpreter that is not there" {
	interpreter "$PWD/base" 3.11
	mkdir -p new/bin new/lib/python3.11/site-packages
	ln -s "$PWD/base/bin/python3.11" new/bin/python3
	printf 'home = %s/base/bin\nversion = 3.11.4\n' "$PWD" > new/pyvenv.cfg
	dist new/lib/python3.11/site-packages torch 2.1.0
	printf '#!%s/new/bin/python3\n' "$PWD" > new/bin/pip; chmod +x new/bin/pip
	run "$DAVY" check --python new
	[[ "$output" != *interpreter-missing* ]]
	printf '#!%s/old/bin/python3\n' "$PWD" > new/bin/pip
	run "$DAVY" check --python new
	[[ "$output" == *python.interpreter-missing* && "$output" == *"/old/bin/python3"* ]]
}

@test "--python that names no interpreter: 66 and the reason" {
	mkdir -p empty half/bin
	for p in no-such-python python3.99 empty half ./empty "$PWD/half"; do
		run -66 --separate-stderr "$DAVY" check --python "$p"
		[[ "$stderr" == *"--python "*"$(basename "$p"): there is no "* && -z "$output" ]]
		run -66 --separate-stderr "$DAVY" plan --python "$p" --lang zh_CN
		[[ "$stderr" == *"没有"* ]]
	done
}

@test "lib64 of Red Hat's kin" {
	mkdir -p r/usr/bin r/usr/lib64/python3.9/site-packages r/usr/lib/python3.9/site-packages
	cp /bin/true r/usr/bin/python3.9; ln -s python3.9 r/usr/bin/python3
	: > r/usr/lib64/python3.9/os.py
	dist r/usr/lib64/python3.9/site-packages numpy 1.23.5 rpm
	dist r/usr/lib/python3.9/site-packages requests 2.25.1 rpm
	check --root r
	holds 'p["version"] == "3.9" and packages["numpy", "1.23.5"]["installer"] == "rpm" and ("requests", "2.25.1") in packages'
}

@test "an image's file system: the environment that has PyTorch" {
	interpreter "$PWD/image/usr" 3.10
	interpreter "$PWD/image/opt/conda" 3.11
	mkdir -p image/opt/conda/conda-meta image/opt/conda/lib/python3.11/site-packages/torch
	echo '{}' > image/opt/conda/conda-meta/python-3.11.9-0.json
	printf "__version__ = '2.3.0'\ncuda = '12.1'\nhip = None\n" > image/opt/conda/lib/python3.11/site-packages/torch/version.py
	check --root image
	holds 'p["prefix"] == "/opt/conda" and d["torch"][0]["version"] == "2.3.0" and d["torch"][0]["cuda"] == "12.1"'
}

@test "an interpreter that is not there is no input" {
	run "$DAVY" check --json --python /no/such/python
	[ "$status" -eq 66 ]
}

@test "scripts: env, and the exec line that installers write for long paths" {
	interpreter "$PWD/a" 3.11 3.11.7
	mkdir other
	interpreter "$PWD/b" 3.11 3.11.7
	printf "#!/bin/sh\n'''exec' \"%s/a/bin/python3\" \"\$0\" \"\$@\"\n' '''\n" "$PWD" > a/bin/pip; chmod +x a/bin/pip
	printf '#!/usr/bin/env python3\n' > a/bin/accelerate; chmod +x a/bin/accelerate
	printf '#!%s/b/bin/python3\n' "$PWD" > a/bin/torchrun; chmod +x a/bin/torchrun
	PATH=$PWD/a/bin:$PATH check
	holds 'programs["pip"]["same_environment"] is True and programs["accelerate"]["same_environment"] is True and programs["torchrun"]["same_environment"] is False'
}

@test "files of the working directory that hide modules" {
	interpreter "$PWD/a" 3.11 3.11.7
	dist a/lib/python3.11/site-packages torch 2.5.1
	mkdir -p work/torch work/numpy work/datasets
	: > work/torch/__init__.py; : > work/random.py; : > work/numpy/__init__.py; : > work/model.py
	cd work
	check --python ../a
	holds '{(m["name"], m["kind"]) for m in d["local_module"]} == {("torch", "package"), ("random", "stdlib")}'
}
