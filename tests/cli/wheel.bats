#!/usr/bin/env bats
# davy inspect WHEEL: before it is installed. pip itself says whether it would take it; pip check and pip freeze say what was foreseen.

load venv

setup_file() { venv_once; }

setup() {
	DAVY=${DAVY:-$BATS_TEST_DIRNAME/../../build/davy}
	make="python3 $BATS_TEST_DIRNAME/wheelmaker.py"
	export HOME=$BATS_TEST_TMPDIR/home PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INDEX=1 PIP_ROOT_USER_ACTION=ignore PIP_CONFIG_FILE=/dev/null
	unset PYTHONPATH VIRTUAL_ENV CONDA_PREFIX PIP_FIND_LINKS
	mkdir -p "$HOME"
	cd "$BATS_TEST_TMPDIR"
}

needs_pip() { python3 -m pip --version >/dev/null 2>&1 || skip "no pip"; }
inspect() { "$DAVY" inspect --json "$@" > out.json; }
value() { python3 -c 'import json,sys
d = json.load(open("out.json"))
print(eval(sys.argv[1]))' "$1"; }

@test "a fitting wheel gives no complaint, and is what pip installs" {
	venv_here
	$make demo-1.0-py3-none-any.whl --script demo-run --script demo
	inspect demo-1.0-py3-none-any.whl --python env
	[ "$(value 'd["kind"], d["name"], d["version"], d["tags"]["fit"], d["scripts"], d["problems"], d["replaces"]')" = "('wheel', 'demo', '1.0', 'fits', ['demo-run', 'demo'], [], None)" ]
	env/bin/python -m pip install -q demo-1.0-py3-none-any.whl
	[ -x env/bin/demo-run ]
	$make demo-1.1-py3-none-any.whl
	inspect demo-1.1-py3-none-any.whl --python env
	[ "$(value 'd["replaces"], d["overwritten"]')" = "('1.0', 0)" ]
}

@test "tags: as pip decides, for every interpreter here" {
	needs_pip
	mkdir tags
	python3 - "$BATS_TEST_DIRNAME/wheelmaker.py" <<'PY'
import random, shutil, subprocess, sys
random.seed(7)
subprocess.check_call([sys.executable, sys.argv[1], "tags/demo-1.0-py3-none-any.whl"])
plats = ["any", "linux_x86_64", "linux_aarch64", "manylinux1_x86_64", "manylinux2010_x86_64", "manylinux2014_x86_64", "manylinux2014_aarch64", "manylinux_2_17_x86_64.manylinux2014_x86_64",
         "manylinux_2_4_x86_64", "manylinux_2_5_x86_64", "manylinux_2_27_x86_64", "manylinux_2_28_x86_64", "manylinux_2_28_aarch64", "manylinux_2_36_x86_64", "manylinux_2_99_x86_64", "manylinux_3_0_x86_64",
         "musllinux_1_1_x86_64", "musllinux_1_2_x86_64", "macosx_11_0_arm64", "win_amd64", "manylinux_2_x86_64", "manylinux"]
pythons = ["py3", "py2", "py2.py3", "py39", "py310", "py311", "py312", "py314", "cp32", "cp37", "cp38", "cp39", "cp310", "cp311", "cp312", "cp313", "cp314", "pp39", "cp3", "py30", "cp31"]
abis = ["none", "abi3", "cp37m", "cp38", "cp39", "cp310", "cp311", "cp312", "cp313", "cp313t", "cp314", "abi3.none"]
names = set()
while len(names) < 700:
    p = random.choice(pythons)
    a = random.choice(abis + [p if p != "cp37" else "cp37m"] * 6)
    names.add("demo-1.0-%s-%s-%s.whl" % (p, a, random.choice(plats)))
for n in names:
    shutil.copy("tags/demo-1.0-py3-none-any.whl", "tags/" + n)
PY
	checked=0
	for python in "$(command -v python3)" /usr/bin/python3 "$HOME"/nothing /root/.pyenv/versions/3.*/bin/python /opt/python/*/bin/python3; do
		[ -x "$python" ] || continue
		pip=$("$python" -m pip --version 2>/dev/null | cut -d' ' -f2) # those before 21 do not know manylinux_X_Y
		[ "${pip%%.*}" -ge 21 ] 2>/dev/null || continue
		checked=$((checked + 1))
		(cd tags && "$DAVY" inspect --json --python "$python" ./*.whl) > out.json || [ $? -eq 1 ]
		"$python" - <<'PY'
import json, sys
try:
    from pip._internal.utils.compatibility_tags import get_supported
    supported = set(str(t) for t in get_supported())
except ImportError:
    from pip._internal.pep425tags import get_supported
    supported = set("-".join(t) for t in get_supported())
bad = []
items = json.load(open("out.json"))["items"]
fits = 0
for d in items:
    t = d["tags"]
    want = any("%s-%s-%s" % (p, a, f) in supported for p in t["python"].split(".") for a in t["abi"].split(".") for f in t["platform"].split("."))
    fits += want
    if want != (t["fit"] == "fits"):
        bad.append((t, want))
assert len(items) > 600 and fits > 2, (len(items), fits)
assert not bad, (sys.version, len(bad), bad[:5])
PY
	done
	[ "$checked" -ge 1 ]
}

@test "requirements that conflict both ways, by pip check afterwards" {
	venv_here
	$make base-1.0-py3-none-any.whl
	$make user-2.0-py3-none-any.whl --requires 'base<2'
	$make base-2.0-py3-none-any.whl --requires 'user>=3' --requires 'absent>1' --requires 'never; python_version < "3"' --requires 'opt; extra == "x"' --python '>=3.6'
	env/bin/python -m pip install -q ./base-1.0-py3-none-any.whl ./user-2.0-py3-none-any.whl
	run inspect base-2.0-py3-none-any.whl --python env
	[ "$status" -eq 1 ]
	[ "$(value '[(r["requirement"], r["state"]) for r in d["requires"]], d["breaks"], d["replaces"], d["python_fits"]')" = "([('user>=3', 'conflict'), ('absent>1', 'missing')], [{'package': 'user', 'specifier': '<2'}], '1.0', True)" ]
	env/bin/python -m pip install -q --no-deps --force-reinstall ./base-2.0-py3-none-any.whl
	run env/bin/python -m pip check
	[[ $output == *"user 2.0 has requirement base<2, but you have base 2.0"* ]]
	[[ $output == *"base 2.0 has requirement user>=3, but you have user 2.0"* ]]
	[[ $output == *"absent, which is not installed"* ]]
	$make old-1.0-py3-none-any.whl --python '<3.5'
	run inspect old-1.0-py3-none-any.whl --python env
	[ "$status" -eq 1 ]
	[ "$(value 'd["python_fits"]')" = False ]
}

@test "files of another distribution that it would overwrite; the same bytes are no harm" {
	venv_here
	$make lib_cu12-12.0-py3-none-any.whl shared/lib/libx.so.2:=twelve shared/__init__.py:=
	$make lib_cu13-13.0-py3-none-any.whl shared/lib/libx.so.2:=thirteen shared/__init__.py:=
	env/bin/python -m pip install -q ./lib_cu12-12.0-py3-none-any.whl
	run inspect lib_cu13-13.0-py3-none-any.whl --python env
	[ "$status" -eq 1 ]
	[ "$(value 'd["overwrites"]')" = "[{'path': 'shared/lib/libx.so.2', 'owner': 'lib-cu12', 'owner_version': '12.0'}]" ]
	env/bin/python -m pip install -q ./lib_cu13-13.0-py3-none-any.whl
	grep -q thirteen env/lib/python3*/site-packages/shared/lib/libx.so.2
	mkdir -p "$(echo env/lib/python3*/site-packages)/free"; echo x > "$(echo env/lib/python3*/site-packages)/free/__init__.py"
	$make free-1.0-py3-none-any.whl
	run inspect free-1.0-py3-none-any.whl --python env
	[ "$(value 'd["overwrites"][0]["owner"], d["overwritten"]')" = "(None, 1)" ]
}

@test "every kind of hostile or damaged archive is named, and nothing is written" {
	for kind in parent-path absolute-path odd-name symlink encrypted unknown-method overlaps outside size-lies twice damaged crc hash size not-in-record not-in-archive; do
		$make "h-1.0-py3-none-any.whl" --hostile $kind
		run inspect h-1.0-py3-none-any.whl
		[ "$status" -eq 1 ] || { echo "$kind: $status"; false; }
		[ "$(value "'$kind' in [p['problem'] for p in d['problems']]")" = True ] || { echo "$kind"; cat out.json; false; }
		run "$DAVY" inspect h-1.0-py3-none-any.whl --lang zh_CN
		[ "$status" -eq 1 ]
		[[ $output != *$'\e'* ]]
	done
	$make h-1.0-py3-none-any.whl --hostile other-name
	run inspect h-1.0-py3-none-any.whl
	[ "$(value '[p["problem"] for p in d["problems"]]')" = "['damaged']" ]
	$make h-1.0-py3-none-any.whl --hostile no-record
	run inspect h-1.0-py3-none-any.whl
	[ "$status" -eq 1 ]; [ "$(value 'd["record"]')" = False ]
	$make h-1.0-py3-none-any.whl --hostile prefix
	inspect h-1.0-py3-none-any.whl
	[ ! -e /etc/evil.py ] && [ ! -e ../../evil.py ]
}

@test "what is no wheel: a sentence, exit status 66" {
	$make a-1.0-py3-none-any.whl --hostile truncated
	$make b-1.0-py3-none-any.whl --hostile directory
	$make c-1.0-py3-none-any.whl --hostile many
	$make d-1.0-py3-none-any.whl --hostile no-metadata
	echo text > e.whl; : > f.whl; echo '<!DOCTYPE html><html>' > g.whl; printf 'version https://git-lfs.github.com/spec/v1\n' > i.whl
	printf 'PK\003\004' > j.whl; printf 'PK\005\006' > k.whl; head -c 22 /dev/zero > l.whl; echo nothing > m.tar.gz
	for f in a-1.0-py3-none-any b-1.0-py3-none-any c-1.0-py3-none-any d-1.0-py3-none-any e f g i j k l; do
		run "$DAVY" inspect $f.whl
		[ "$status" -eq 66 ] || { echo "$f $status $output"; false; }
		[[ $output == "davy: "*"$f.whl: "* ]]
	done
	run "$DAVY" inspect m.tar.gz
	[ "$status" -eq 66 ]
	[[ "$("$DAVY" inspect e.whl 2>&1 || true)" == *"no zip archive"* ]]
	[[ "$("$DAVY" inspect g.whl 2>&1 || true)" == *"web page"* ]]
	run "$DAVY" inspect --json e.whl
	[ "$status" -eq 66 ]
	[[ $output == *'"error": "not-zip"'* ]]
	run "$DAVY" inspect nothing.whl
	[ "$status" -eq 66 ]
}

@test "a renamed wheel: pip does not take the name" {
	needs_pip
	$make demo-1.0-py3-none-any.whl
	mv demo-1.0-py3-none-any.whl demo.whl
	run inspect demo.whl
	[ "$status" -eq 1 ]
	[ "$(value 'd["tags"]["fit"]')" = name ]
	run python3 -m pip install --dry-run ./demo.whl
	[ "$status" -ne 0 ]
	mv demo.whl other-1.0-py3-none-any.whl
	run inspect other-1.0-py3-none-any.whl
	[ "$(value 'd["name_differs"]')" = True ]
}

@test "GPU code, NCCL and CUDA in it: as of the same library outside, compressed or stored" {
	nvcc=$(command -v nvcc || ls /usr/local/cuda*/bin/nvcc "$(python3 -c 'import nvidia,os;print(list(nvidia.__path__)[0])' 2>/dev/null)"/*/bin/nvcc 2>/dev/null | head -1)
	[ -n "$nvcc" ] || skip "no nvcc"
	echo '__global__ void k(float *x) { *x = 1; } extern "C" void f(float *x) { k<<<1,1>>>(x); }' > k.cu
	"$nvcc" -Xcompiler -fPIC -shared -cudart none -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_90,code=compute_90 -o libk.so k.cu 2>/dev/null || skip "nvcc does not build here"
	head -c 9000000 /dev/urandom > filler; cat filler >> libk.so
	for name in libk.so libk.so.stored; do
		$make demo-1.0-py3-none-any.whl demo/$name=libk.so
		inspect demo-1.0-py3-none-any.whl
		[ "$(value 'd["gpu_code"]["code"], d["gpu_code"]["library"]')" = "('sm_80 sm_90 compute_90', 'demo/$name')" ]
	done
	cat > nccl.c <<-'C'
		const char v[] = "NCCL version 2.27.3+cuda12.9";
		int ncclGetVersion(int *x) { *x = 22703; return v[0]; } int ncclCommInitRank(void) { return 0; }
	C
	cat > user.c <<-'C'
		int ncclCommInitRank(void); int g(void) { return ncclCommInitRank(); }
	C
	cc -shared -fPIC -Wl,-soname,libnccl.so.2 -o libnccl.so.2 nccl.c
	cc -shared -fPIC -o libuser.so user.c -L. -l:libnccl.so.2
	$make nv-1.0-py3-none-any.whl nvidia/nccl/lib/libnccl.so.2=libnccl.so.2
	inspect nv-1.0-py3-none-any.whl
	[ "$(value 'd["nccl"]["brings"]')" = 2.27.3 ]
	$make us-1.0-py3-none-any.whl us/libuser.so=libuser.so
	inspect us-1.0-py3-none-any.whl
	[ "$(value 'd["nccl"]["wanted_by"], d["wants"]')" = "('us/libuser.so', ['libnccl.so.2'])" ]
}

@test "a source archive says that it must be built, and with what" {
	mkdir -p ext-0.2/csrc
	printf 'Metadata-Version: 2.1\nName: ext\nVersion: 0.2\nRequires-Dist: torch\n' > ext-0.2/PKG-INFO
	printf '[build-system]\nrequires = [\n  "setuptools>=60", # a comment\n  '"'wheel'"', "ninja"]\n\n[project]\nname = "ext"\n' > ext-0.2/pyproject.toml
	echo 'from torch.utils.cpp_extension import CUDAExtension' > ext-0.2/setup.py
	: > ext-0.2/csrc/a.cu; : > ext-0.2/csrc/b.cpp
	tar czf ext-0.2.tar.gz ext-0.2
	inspect ext-0.2.tar.gz || [ $? -le 2 ]
	[ "$(value 'd["kind"], d["name"], d["build_requires"], d["has_cuda"], d["has_c"], d["wants_torch"]')" = "('sdist', 'ext', ['setuptools>=60', 'wheel', 'ninja'], True, True, True)" ]
	run "$DAVY" inspect ext-0.2.tar.gz
	[[ $output == *"pip builds a wheel of it first"* ]]
	[[ $output == *"--no-build-isolation"* ]]
}

@test "several at once, and the JSON is as the schema says" {
	$make demo-1.0-py3-none-any.whl
	$make bad-1.0-cp27-cp27mu-win_amd64.whl --hostile hash
	inspect demo-1.0-py3-none-any.whl bad-1.0-cp27-cp27mu-win_amd64.whl /bin/ls || [ $? -eq 1 ]
	[ "$(value '[x["kind"] for x in d["items"]]')" = "['wheel', 'wheel', 'elf']" ]
	python3 -c 'import jsonschema' 2>/dev/null || skip "no jsonschema"
	python3 - "$BATS_TEST_DIRNAME/../../docs/schema/davy-inspect-1.json" <<'PY'
import json, jsonschema, sys
jsonschema.validate(json.load(open("out.json")), json.load(open(sys.argv[1])))
PY
}

@test "a bomb is not unpacked to memory or disk" {
	python3 - <<'PY'
import zipfile
with zipfile.ZipFile("bomb-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("bomb-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: bomb\nVersion: 1.0\n")
    z.writestr("bomb-1.0.dist-info/RECORD", "")
    with z.open("bomb/zero", "w", force_zip64=True) as f:
        for _ in range(400):
            f.write(bytes(1 << 20))
PY
	( ulimit -v 400000; "$DAVY" inspect bomb-1.0-py3-none-any.whl > out.txt || [ $? -eq 1 ] )
	grep -q 'not named in RECORD' out.txt
}
