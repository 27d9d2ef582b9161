#!/usr/bin/env bats
# PyTorch without importing it: build, back ends, GPU code, and the libnccl.so.2 that the loader would take. Wheels are made on the fly
# (tests/fake/wheel/make); where one can be loaded, ld.so itself is the oracle.

setup() {
	DAVY=${DAVY:-$BATS_TEST_DIRNAME/../../build/davy}
	MAKE=$BATS_TEST_DIRNAME/../fake/wheel/make
	export HOME=$BATS_TEST_TMPDIR
	unset PYTHONPATH LD_LIBRARY_PATH LD_PRELOAD VIRTUAL_ENV CONDA_PREFIX CUDA_HOME
	cd "$BATS_TEST_TMPDIR"
	command -v "${CC:-cc}" >/dev/null || skip "no compiler"
}

check() { "$DAVY" check --json --python env > davy.json 2>/dev/null || [ $? -le 2 ]; }

# holds EXPRESSION: Python over t (table torch), d (all facts), and row(table, key, value).
holds() {
	python3 - "$1" <<'PY'
import json, sys
d = json.load(open("davy.json"))["facts"]
t = (d.get("torch") or [None])[0]
def row(table, key, value):
    return next((r for r in d[table] if value in str(r.get(key))), None)
def loaded():
    return [r["path"] for r in d["nccl"] if r.get("loaded")]
if not eval(sys.argv[1]):
    print(json.dumps({k: d[k] for k in ("torch", "nccl", "library", "missing_symbol", "integrity")}, indent=1))
    sys.exit("not so: " + sys.argv[1])
PY
}

# What ld.so itself loads as libnccl.so.2 when the native module is opened.
really() {
	local so=$(ls env/lib/python3.*/site-packages/torch/_C.*.so)
	env/bin/python - "$PWD/$so" <<'PY'
import ctypes, os, sys
ctypes.CDLL(sys.argv[1], mode=os.RTLD_LAZY)
print(next((l.split()[-1] for l in open("/proc/self/maps") if "libnccl" in l), "none"))
PY
}

old_nccl() { mkdir -p "$1"; ${CC:-cc} -shared -fPIC -nostdlib -Wl,-soname,libnccl.so.2 -o "$1/libnccl.so.2" env/nccl_old.c; }

@test "no PyTorch: no row, no gap" {
	python3 -m venv --without-pip env
	check
	holds 't is None'
}

@test "a build for CPUs" {
	"$MAKE" env cpu
	check
	holds 't["build"] == "cpu" and t["cuda"] is None and t["tag"] == "cpu" and t["release"] == "2.5.1"'
	holds 't["nccl_built"] is False and t["gloo_built"] is True and t["mpi_built"] is False and t["distributed_built"] is True'
}

@test "a CUDA wheel with everything in its place" {
	"$MAKE" env
	check
	holds 't["build"] == "cuda" and t["cuda"] == "12.4" and t["nccl_built"] is True and t["nccl_link"] == "dynamic" and t["nccl_version"] == "2.21.5"'
	holds 't["arch_list"] == "sm_80 sm_86 sm_90 compute_90"'
	holds 'row("gpu_code", "code", "compute_90")["ptx_isa"] == "8.4"'
	holds 'loaded()[0].endswith("site-packages/nvidia/nccl/lib/libnccl.so.2")'
	holds 'row("nccl", "kind", "wheel")["expected"] is True and row("nccl", "kind", "wheel")["package"] == "nvidia-nccl-cu12"'
	holds 'not d["integrity"] and not d["missing_symbol"] and not [l for l in d["library"] if l["problem"] or l.get("shadowed")]'
	[ "$(really)" = "$(python3 -c 'import json; print([r["path"] for r in json.load(open("davy.json"))["facts"]["nccl"] if r.get("loaded")][0])')" ]
}

@test "CUDA, and the back end is not compiled in" {
	"$MAKE" env no-nccl
	check
	holds 't["build"] == "cuda" and t["nccl_built"] is False and t["gloo_built"] is True and t["nccl_link"] is None'
}

@test "NCCL inside libtorch_cuda" {
	"$MAKE" env static
	check
	holds 't["nccl_built"] is True and t["nccl_link"] == "static" and t["nccl_version"] == "2.21.5"'
	holds 'not loaded()'
}

@test "RPATH: LD_LIBRARY_PATH cannot shadow" {
	"$MAKE" env
	old_nccl other
	export LD_LIBRARY_PATH=$PWD/other
	check
	holds 'row("nccl", "kind", "wheel")["loaded"] is True and row("nccl", "kind", "ld_library_path")["loaded"] is False'
	[[ $(really) == */nvidia/nccl/lib/libnccl.so.2 ]]
}

@test "RUNPATH: LD_LIBRARY_PATH shadows" {
	"$MAKE" env runpath
	old_nccl other
	export LD_LIBRARY_PATH=$PWD/other
	check
	holds 'row("nccl", "kind", "ld_library_path")["loaded"] is True and row("nccl", "kind", "ld_library_path")["version"] == "2.19.3"'
	holds 'row("nccl", "kind", "ld_library_path")["found_by"] == "ld_library_path" and row("nccl", "kind", "wheel")["expected"] is True'
	holds 'row("library", "soname", "libnccl.so.2")["shadowed"] is True'
	[ "$(really)" = "$PWD/other/libnccl.so.2" ]
}

@test "LD_PRELOAD goes before everything" {
	"$MAKE" env
	old_nccl other
	export LD_PRELOAD=$PWD/other/libnccl.so.2
	check
	holds 'row("nccl", "kind", "preload")["loaded"] is True and row("nccl", "kind", "preload")["found_by"] == "preload"'
	[ "$(really)" = "$PWD/other/libnccl.so.2" ]
}

@test "the wheel of NCCL is not installed" {
	"$MAKE" env no-nccl-wheel
	check
	if grep -q libnccl.so.2 <(/sbin/ldconfig -p 2>/dev/null); then
		holds 'row("nccl", "loaded", "True")["found_by"] == "ld_so_cache"'
	else
		holds 'row("library", "soname", "libnccl.so.2")["problem"] == "missing" and "libtorch_cuda" in row("library", "soname", "libnccl.so.2")["wanted_by"]'
	fi
	holds 'row("requirement_conflict", "name", "nvidia-nccl-cu12")["found"] is None'
}

@test "an older NCCL lacks a symbol" {
	"$MAKE" env needs=ncclCommRegister
	check
	holds 'row("missing_symbol", "symbol", "ncclCommRegister")["provider"].endswith("libnccl.so.2")'
}

@test "files that were cut short, changed or removed" {
	"$MAKE" env
	site=$(echo env/lib/python3.*/site-packages)
	truncate -s 1000 "$site/torch/lib/libtorch_cuda.so"
	rm "$site/nvidia/cuda_runtime/lib/libcudart.so.12"
	echo more >> "$site/nvidia/nccl/lib/libnccl.so.2"
	check
	holds 'row("integrity", "path", "libtorch_cuda.so")["problem"] == "truncated" and row("integrity", "path", "libtorch_cuda.so")["found"] == "1000"'
	holds 'row("integrity", "path", "libcudart.so.12")["problem"] == "missing" and row("integrity", "path", "libnccl.so.2")["problem"] == "size"'
	holds 'row("library", "soname", "libtorch_cuda.so")["problem"] == "truncated"'
	holds 'not d["gpu_code"]'
}

@test "--deep compares hashes, and finds a change that keeps the size" {
	"$MAKE" env
	site=$(echo env/lib/python3.*/site-packages)
	printf 'A' | dd of="$site/nvidia/nccl/lib/libnccl.so.2" bs=1 seek=2000 conv=notrunc 2>/dev/null
	check
	holds 'not d["integrity"]'
	"$DAVY" check --deep --json --python env > davy.json 2>/dev/null || [ $? -le 2 ]
	holds '[i["path"].split("/")[-1] for i in d["integrity"]] == ["libnccl.so.2"] and d["integrity"][0]["problem"] == "hash"'
}

@test "a file that stands for a large file that was never fetched" {
	"$MAKE" env
	for f in env/lib/python3.*/site-packages/torch/lib/libtorch_python.so; do printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n' > "$f"; done
	check
	holds 't["gloo_built"] is None and row("library", "soname", "libtorch_python.so")["problem"] == "lfs-pointer"'
}

@test "an extension lacks a library, and its GPU code is listed" {
	"$MAKE" env
	site=$(echo env/lib/python3.*/site-packages)
	echo 'int PyInit_x(void) { extern int f(void); return f(); }' > x.c
	echo 'int f(void) { return 0; }' > f.c
	${CC:-cc} -shared -fPIC -nostdlib -Wl,-soname,libcudart.so.11.0 -o libcudart.so.11.0 f.c
	${CC:-cc} -shared -fPIC -nostdlib -o "$site/flash_attn_2_cuda.so" x.c libcudart.so.11.0
	mkdir "$site/flash_attn-2.6.3.dist-info"
	printf 'Name: flash-attn\nVersion: 2.6.3\nRequires-Dist: torch\n\n' > "$site/flash_attn-2.6.3.dist-info/METADATA"
	printf 'Root-Is-Purelib: false\n' > "$site/flash_attn-2.6.3.dist-info/WHEEL"
	printf 'flash_attn_2_cuda.so,,\n' > "$site/flash_attn-2.6.3.dist-info/RECORD"
	check
	holds 'row("library", "soname", "libcudart.so.11.0")["problem"] == "missing" and "flash_attn" in row("library", "soname", "libcudart.so.11.0")["wanted_by"]'
}

@test "an extension that was built against another PyTorch" {
	"$MAKE" env
	site=$(echo env/lib/python3.*/site-packages)
	echo 'int _ZN3c1011SymIntProxyC1Ev(void) { return 0; } int _ZN3c104sameEv(void) { return 0; }' > new.c
	echo 'int _ZN3c104sameEv(void) { return 0; }' > now.c
	${CC:-cc} -shared -fPIC -nostdlib -Wl,-soname,libc10.so -o libc10.so new.c
	${CC:-cc} -shared -fPIC -nostdlib -Wl,-soname,libc10.so -o "$site/torch/lib/libc10.so" now.c
	echo 'extern int _ZN3c1011SymIntProxyC1Ev(void), _ZN3c104sameEv(void), _ZN7sibling3c10Ev(void); __attribute__((weak)) extern int _ZN3c104weakEv(void);
	int PyInit_x(void) { return _ZN3c1011SymIntProxyC1Ev() + _ZN3c104sameEv() + (_ZN3c104weakEv ? 1 : 0); }' > x.c
	${CC:-cc} -shared -fPIC -nostdlib -o "$site/made_ext.so" x.c libc10.so '-Wl,-rpath,$ORIGIN/torch/lib'
	mkdir "$site/made_ext-1.0.dist-info"
	printf 'Name: made-ext\nVersion: 1.0\nRequires-Dist: torch\n\n' > "$site/made_ext-1.0.dist-info/METADATA"
	printf 'Root-Is-Purelib: false\n' > "$site/made_ext-1.0.dist-info/WHEEL"
	printf 'made_ext.so,,\nmade_ext.cpython-25-x86_64-linux-gnu.so,,\n' > "$site/made_ext-1.0.dist-info/RECORD"
	check
	holds '[m["symbol"] for m in d["missing_symbol"]] == ["_ZN3c1011SymIntProxyC1Ev"] and row("missing_symbol", "library", "made_ext")'
	really >/dev/null
	env/bin/python -c 'import ctypes, sys; ctypes.CDLL(sys.argv[1], mode=2)' "$PWD/$site/made_ext.so" 2>&1 | grep -q 'undefined symbol: _ZN3c1011SymIntProxyC1Ev'
}

@test "plugins and configuration files of NCCL" {
	"$MAKE" env
	echo 'int f(void) { return 0; }' > f.c
	echo 'int ncclNetPlugin_v7, ncclNetPlugin_v8; extern int f(void); int g(void) { return f(); }' > p.c
	mkdir -p plugins gone
	${CC:-cc} -shared -fPIC -nostdlib -Wl,-soname,libmadefabric.so.1 -o gone/libmadefabric.so.1 f.c
	${CC:-cc} -shared -fPIC -nostdlib -o plugins/libnccl-net-made.so p.c gone/libmadefabric.so.1
	printf '# a comment\nNCCL_IB_DISABLE=1\n NCCL_SOCKET_IFNAME = eth0\n' > .nccl.conf
	LD_LIBRARY_PATH=$PWD/plugins NCCL_NET_PLUGIN=made check
	holds 'row("nccl_plugin", "path", "libnccl-net-made.so")["abi"] == "v7 v8" and row("nccl_plugin", "kind", "net")["missing"] == "libmadefabric.so.1"'
	holds 'row("nccl_conf", "name", "NCCL_IB_DISABLE")["value"] == "1" and row("nccl_conf", "name", "NCCL_SOCKET_IFNAME")["line"] == 3'
}

@test "the real PyTorch of the distribution: davy says what importing it says" {
	/usr/bin/python3 -c 'import torch' 2>/dev/null || skip "no PyTorch for /usr/bin/python3"
	"$DAVY" check --json --python /usr/bin/python3 > davy.json 2>/dev/null || [ $? -le 2 ]
	eval "$(/usr/bin/python3 -c 'import torch, torch.distributed as d
print("want=\"%s %s %s %s %s\"" % (torch.__version__, torch.version.cuda, d.is_nccl_available(), d.is_gloo_available(), d.is_mpi_available()))')"
	got=$(python3 -c 'import json
t = json.load(open("davy.json"))["facts"]["torch"][0]
print(t["version"], t["cuda"], t["nccl_built"], t["gloo_built"], t["mpi_built"])')
	[ "$got" = "$want" ]
}

@test "a made snapshot of it says the same" {
	"$MAKE" env runpath
	old_nccl other
	export LD_LIBRARY_PATH=$PWD/other
	check
	python3 -c 'import json; d=json.load(open("davy.json"))["facts"]; print({k: d[k] for k in ("torch","nccl","library","package")})' > live.txt
	"$DAVY" snapshot --no-redact --python env -o snap >/dev/null 2>&1 || "$DAVY" snapshot --no-redact --python env snap >/dev/null 2>&1 || skip "no snapshot yet"
	"$DAVY" check --json --from snap --python "$PWD/env" > davy.json 2>/dev/null || [ $? -le 2 ]
	python3 -c 'import json; d=json.load(open("davy.json"))["facts"]; print({k: d[k] for k in ("torch","nccl","library","package")})' > again.txt
	diff live.txt again.txt
}
