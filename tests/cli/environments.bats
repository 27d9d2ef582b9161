#!/usr/bin/env bats
# Situations of Python environments, each made for real and found; a clean environment gives nothing. What pip itself says of it is the judge where it says something.

load venv

setup_file() { venv_once; }

setup() {
	DAVY=${DAVY:-$BATS_TEST_DIRNAME/../../build/davy}
	export HOME=$BATS_TEST_TMPDIR/home PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INDEX=1 PIP_ROOT_USER_ACTION=ignore PIP_CONFIG_FILE=/dev/null
	unset PYTHONPATH VIRTUAL_ENV CONDA_PREFIX PIP_FIND_LINKS PYTHONNOUSERSITE
	mkdir -p "$HOME"
	venv_here
	site=$(echo "$PWD"/env/lib/python3*/site-packages)
	minor=${site#*/lib/python}; minor=${minor%%/*}
}

# dist DIR NAME VERSION [Requires-Dist...]: metadata of an installed package
dist() {
	local dir=$1/$2-$3.dist-info name=$2 version=$3; shift 3
	mkdir -p "$dir"
	{ printf 'Metadata-Version: 2.1\nName: %s\nVersion: %s\n' "$name" "$version"; for r in "$@"; do echo "Requires-Dist: $r"; done; printf '\n'; } > "$dir/METADATA"
	echo pip > "$dir/INSTALLER"
	printf '%s/METADATA,,\n%s/RECORD,,\n' "${dir##*/}" "${dir##*/}" > "$dir/RECORD"
}

check() { "$DAVY" check --json --python "${1:-env/bin/python}" "${@:2}" > out.json || [ $? -le 2 ]; }
# A PyTorch, so that what stands on it is looked at.
torch() { dist "$site" torch 2.7.1; mkdir -p "$site/torch"; printf "__version__ = '2.7.1'\ncuda = None\n" > "$site/torch/version.py"; touch "$site/torch/__init__.py"; }
# The causes of the python and companion stages, with status.
causes() { python3 -c 'import json
def walk(fs):
    for f in fs:
        yield f
        yield from walk(f.get("folded", []))
print(*sorted({f["cause"].split(".")[1] + ":" + f["status"] for f in walk(json.load(open("out.json"))["findings"]) if f["stage"] in ("python", "companion")}))'; }
says() { python3 -c 'import json,sys
print("\n".join(f["says"] for f in json.load(open("out.json"))["findings"] if f["cause"] == sys.argv[1]))' "$1"; }
# Which rules spoke (tests/property/rules.py leaves these to the tests here).
fired() { python3 -c 'import json,sys
def walk(fs):
    for f in fs:
        yield from f["rules"]
        yield from walk(f.get("folded", []))
sys.exit(sys.argv[1] not in set(walk(json.load(open("out.json"))["findings"])))' "$1"; }
facts() { python3 -c 'import json,sys
t = json.load(open("out.json"))["facts"].get(sys.argv[1], [])
print(eval(sys.argv[2]))' "$1" "$2"; }

@test "a clean environment gives nothing" {
	dist "$site" demo 1.0 'other>=1' 'never; python_version < "3"'
	dist "$site" other 1.5
	check
	[ -z "$(causes)" ]
}

@test "every conflict of pip check has its finding, with the chain that requires it" {
	dist "$site" app 1.0 'lib<3'
	dist "$site" lib 2.0 'base<1' 'gone>=2'
	dist "$site" base 1.4
	dist "$site" transformers 4.40 'tokenizers<0.20'
	dist "$site" tokenizers 0.21
	torch
	run env/bin/python -m pip check
	[[ $output == *"lib 2.0 has requirement base<1, but you have base 1.4"* ]]
	check
	[ "$(causes | tr ' ' '\n' | grep -c requirement-conflict)" -ge 1 ]
	[[ "$(facts requirement_conflict '[r["chain"] for r in t]')" == *"app -> lib -> base"* ]]
	fired python.requirement-conflict.absent
	says python.requirement-conflict | grep -q 'lib 2.0 requires base<1; base 1.4 is installed, by way of app -> lib -> base'
	"$DAVY" check --python env/bin/python --only python > text.txt || true
	python3 - <<'PY'
import json, re
d = json.load(open("out.json"))
def walk(fs):
    for f in fs:
        yield f["says"]
        yield from walk(f.get("folded", []))
        yield from (x.get("says", "") for x in f.get("more", []) + f.get("also", []))
text = "\n".join(walk(d["findings"])) + json.dumps(d["findings"])
for word in ("base", "gone"):
    assert word in text, word
assert any(r["name"] == "tokenizers" and r["found"] == "0.21" for r in d["facts"]["requirement_conflict"])
PY
}

@test "several versions of one distribution in one folder" {
	dist "$site" numpy 1.26.4
	dist "$site" numpy 2.1.0
	check
	[[ $(causes) == *duplicate-install:warn* ]]
	says python.duplicate-install | grep -q '1.26.4' && says python.duplicate-install | grep -q '2.1.0'
}

@test "the user site comes before a base interpreter's packages" {
	mkdir -p "$HOME/.local/lib/python3.11/site-packages" base/bin base/lib/python3.11/site-packages
	cp "$(readlink -f "$(command -v python3)")" base/bin/python3.11; ln -s python3.11 base/bin/python3; touch base/lib/python3.11/os.py
	dist base/lib/python3.11/site-packages torch 2.7.1
	dist "$HOME/.local/lib/python3.11/site-packages" torch 2.1.0
	check base/bin/python3
	[[ $(causes) == *user-site-shadows:warn* ]]
	PYTHONNOUSERSITE=1 check base/bin/python3
	[[ $(causes) != *user-site-shadows* ]]
}

@test "PYTHONPATH: another version first, and packages of another Python" {
	dist "$site" torch 2.7.1
	mkdir -p other
	dist other torch 2.1.0
	PYTHONPATH=$PWD/other check
	[[ $(causes) == *pythonpath-pollution:warn* ]]
	mkdir -p lib/python3.2/site-packages
	PYTHONPATH=$PWD/lib/python3.2/site-packages check
	says python.pythonpath-pollution | grep -q 'another Python'
	PYTHONPATH=$PWD/nothing/here check
	[[ $(causes) != *pythonpath* ]]
}

@test "torch.py and a torch/ source folder in the working directory" {
	dist "$site" torch 2.7.1; mkdir -p "$site/torch"; touch "$site/torch/__init__.py"
	touch torch.py
	check
	says python.local-file-shadows | grep -q 'torch.py hides'
	rm torch.py; mkdir torch; touch torch/__init__.py
	check
	says python.local-file-shadows | grep -q '/torch hides'
	rm torch/__init__.py
	check
	[[ $(causes) != *local-file-shadows* ]]
}

@test "pip, torchrun, accelerate and deepspeed of another interpreter" {
	torch
	python3 -m venv --without-pip foreign
	mkdir -p bin
	for tool in pip pip3 torchrun accelerate deepspeed; do printf '#!%s/foreign/bin/python\n' "$PWD" > bin/$tool; chmod +x bin/$tool; done
	PATH=$PWD/bin:$PWD/env/bin:/usr/bin:/bin "$DAVY" check --json > out.json || [ $? -le 2 ]
	[[ $(causes) == *interpreter-mismatch:warn* ]]
	fired python.interpreter-mismatch.launcher
	[[ "$(facts program '[p["name"] for p in t if p.get("same_environment") is False]')" == *"pip"*"torchrun"*"accelerate"*"deepspeed"* ]]
	says python.torchrun-foreign | grep -q foreign || [[ $(causes) == *torchrun-foreign* ]]
	sed -i "s|foreign|env|" bin/*
	for tool in pip pip3 torchrun accelerate deepspeed; do printf '#!%s/env/bin/python\n' "$PWD" > bin/$tool; done
	PATH=$PWD/bin:$PWD/env/bin:/usr/bin:/bin "$DAVY" check --json > out.json || [ $? -le 2 ]
	echo "$(causes) $(says python.interpreter-mismatch)"
	[[ $(causes) != *interpreter-mismatch* && $(causes) != *torchrun-foreign* ]]
}

@test "conda and pip both own a package" {
	mkdir -p conda/bin conda/conda-meta conda/lib/python3.11/site-packages
	cp "$(readlink -f "$(command -v python3)")" conda/bin/python3.11; ln -s python3.11 conda/bin/python; touch conda/conda-meta/history conda/lib/python3.11/os.py
	echo '{}' > conda/conda-meta/numpy-1.26.4-py311h64a7726_0.json
	dist conda/lib/python3.11/site-packages numpy 2.1.0
	check conda
	[[ $(causes) == *conda-pip-mixed:warn* ]]
}

@test "leftovers of interrupted installs: ~ names, metadata without METADATA, no RECORD" {
	dist "$site" orch 2.1.0; mv "$site/orch-2.1.0.dist-info" "$site/~orch-2.1.0.dist-info"; sed -i 's/^Name: .*/Name: torch/' "$site/~orch-2.1.0.dist-info/METADATA"
	check
	[[ $(causes) == *duplicate-install:info* ]]
	fired python.duplicate-install.leftover
	run env/bin/python -m pip list
	[[ $output == *"invalid distribution"* ]] || [[ $output == *"WARNING"* ]]
	rm -r "$site/"~*
	mkdir "$site/half-1.0.dist-info"; echo pip > "$site/half-1.0.dist-info/INSTALLER"
	check
	[[ $(causes) == *package-damaged:warn* ]]
	fired python.package-damaged.metadata
	rm -r "$site/half-1.0.dist-info"
	dist "$site" nvidia-nccl-cu12 2.27.3; rm "$site/nvidia-nccl-cu12-2.27.3.dist-info/RECORD"
	check
	says python.package-damaged | grep -q 'nvidia-nccl-cu12 has no RECORD'
	fired python.package-damaged.record
}

@test "a Python without a build" {
	mkdir -p old/bin old/lib/python3.5/site-packages
	cp "$(readlink -f "$(command -v python3)")" old/bin/python3.5; ln -s python3.5 old/bin/python3; touch old/lib/python3.5/os.py
	check old/bin/python3 --for gloo
	[[ $(causes) == *version-unsupported:fail* ]]
}

@test "NumPy 2 beside binaries built for NumPy 1, by the binary itself" {
	command -v cc >/dev/null || skip "no compiler"
	ext() { # FILE MODULE-NAME: what _import_array leaves in an extension
		printf 'const char *n[] = {"first", "_ARRAY_API", %s}; const char **PyInit_x(void) { return n; }\n' "$2" > x.c
		mkdir -p "$(dirname "$1")"; cc -shared -fPIC -o "$1" x.c
	}
	torch
	dist "$site" numpy 2.1.0
	dist "$site" oldcv 4.5 'numpy>=1.20'
	dist "$site" newcv 5.0 'numpy>=1.23'
	ext "$site/oldcv/core.cpython-311-x86_64-linux-gnu.so" '"numpy.core._multiarray_umath"'
	ext "$site/newcv/core.cpython-311-x86_64-linux-gnu.so" '"numpy._core._multiarray_umath", "numpy.core._multiarray_umath"'
	for p in oldcv-4.5 newcv-5.0; do echo "${p%-*}/core.cpython-311-x86_64-linux-gnu.so,," >> "$site/$p.dist-info/RECORD"; done
	check
	[ "$(facts numpy_user 'sorted((p["package"], p["abi"]) for p in t)')" = "[('newcv', 2), ('oldcv', 1)]" ]
	check env/bin/python --only companion.numpy-abi
	fired companion.numpy-abi.binary
	[ "$(says companion.numpy-abi)" = "NumPy 2.1.0 is installed, and these have modules compiled for NumPy 1: oldcv 4.5." ]
	rm -r "$site/numpy-2.1.0.dist-info"
	dist "$site" numpy 1.26.4
	check
	[[ $(causes) != *numpy-abi* ]]
}

@test "code in .pth files and sitecustomize is named, not run" {
	printf 'import os; open("%s/ran", "w")\n%s/extra\n' "$PWD" "$PWD" > "$site/evil.pth"
	mkdir extra; touch "$site/sitecustomize.py"
	check
	[ ! -e ran ]
	[[ "$(facts startup_code '[(p["kind"], p["path"].split("/")[-1]) for p in t]')" == *"('pth', 'evil.pth')"*"('sitecustomize', 'sitecustomize.py')"* ]]
	[[ "$(facts sys_path '[p["path"] for p in t]')" == *"$PWD/extra"* ]]
	env/bin/python -c pass
	[ -e ran ]
}

@test "zipped paths are on the search path as Python has them" {
	(mkdir z; cd z; mkdir zipped; touch zipped/__init__.py; python3 -m zipfile -c ../lib.zip zipped >/dev/null)
	echo "$PWD/lib.zip" > "$site/zip.pth"
	check
	[ "$(facts sys_path '[p["path"] for p in t if p["path"].endswith("lib.zip")]')" = "$(env/bin/python -c 'import sys; print([p for p in sys.path if p.endswith("lib.zip")])')" ]
	PYTHONPATH=$PWD/lib.zip check
	[[ "$(facts sys_path '[p["path"] for p in t]')" == *lib.zip* ]]
}

@test "environments of poetry, pixi and uv are called so" {
	mkdir -p proj home/.cache/pypoetry/virtualenvs
	touch proj/poetry.lock; mv env proj/.venv
	check proj/.venv; [ "$(facts python 't[0]["manager"]')" = poetry ]
	rm proj/poetry.lock; echo 'uv = 0.5.1' >> proj/.venv/pyvenv.cfg
	check proj/.venv; [ "$(facts python 't[0]["manager"]')" = uv ]
	mkdir -p proj/.pixi/envs/default/bin proj/.pixi/envs/default/conda-meta proj/.pixi/envs/default/lib/python3.11
	cp "$(readlink -f "$(command -v python3)")" proj/.pixi/envs/default/bin/python3.11; ln -s python3.11 proj/.pixi/envs/default/bin/python; touch proj/.pixi/envs/default/lib/python3.11/os.py
	check proj/.pixi/envs/default; [ "$(facts python 't[0]["manager"]')" = pixi ]
}
