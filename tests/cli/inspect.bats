#!/usr/bin/env bats
# davy inspect on files that are built here: what nvcc puts in is what Davy finds.

setup_file() {
	export PATH=$PATH:/usr/local/cuda/bin
	export CORPUS=$DAVY_SOURCE/fuzz/corpus/elf
	cd "$BATS_FILE_TMPDIR"
	printf '__global__ void k(float *p) { p[threadIdx.x] *= 2.f; }\nvoid launch(float *p) { k<<<1, 32>>>(p); }\n' > k.cu
	printf '__device__ float f(float);\n__global__ void g(float *p) { p[threadIdx.x] = f(p[0]); }\n' > g.cu
	printf '__device__ float f(float x) { return x + 1.f; }\n' > f.cu
	printf 'int answer(void) { return 42; }\n' > none.cu
}

setup() { cd "$BATS_FILE_TMPDIR"; }

# get FILE EXPRESSION: prints a Python expression over the JSON object d.
get() { python3 -c 'import json, sys; d = json.loads(sys.argv[1]); print(eval(sys.argv[2]))' "$("$DAVY" inspect --json "$1")" "$2"; }
codes() { get "$1" '" ".join(d["gpu_code"]["sass"]), "|", " ".join(d["gpu_code"]["ptx"])' | tr -d "(),'" ; }
need_nvcc() { command -v nvcc >/dev/null || skip "nvcc is not installed"; }
has_arch() { nvcc --list-gpu-arch | grep -qx "compute_$1"; }

@test "the default -gencode list is found exactly" {
	need_nvcc
	nvcc -shared -Xcompiler -fPIC -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_90a,code=sm_90a \
		-gencode arch=compute_90,code=compute_90 k.cu -o list.so
	run codes list.so
	[ "$output" = "sm_80 sm_90 sm_90a | compute_90" ]
}

@test "compressed or not makes no difference" {
	need_nvcc
	nvcc --help | grep -q compress-mode || skip "this nvcc has no --compress-mode"
	for mode in default none speed balance size; do
		nvcc -shared -Xcompiler -fPIC --compress-mode=$mode -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=[sm_90,compute_90] k.cu -o $mode.so
		run codes $mode.so
		echo "$mode: $output"
		[ "$output" = "sm_80 sm_90 | compute_90" ]
	done
}

@test "relocatable device code" {
	need_nvcc
	nvcc -shared -Xcompiler -fPIC -rdc=true -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=[sm_90,compute_90] g.cu f.cu -o rdc.so
	run codes rdc.so
	[ "$output" = "sm_80 sm_90 | compute_90" ]
}

@test "suffixes of architecture-specific and family code" {
	need_nvcc
	has_arch 103 || skip "this nvcc does not know sm_103"
	nvcc -shared -Xcompiler -fPIC -gencode arch=compute_100a,code=sm_100a -gencode arch=compute_103f,code=sm_103f -gencode arch=compute_90a,code=[sm_90a,compute_90a] k.cu -o suffix.so
	run codes suffix.so
	[ "$output" = "sm_90a sm_100a sm_103f | compute_90a" ]
	nvcc -shared -Xcompiler -fPIC -gencode arch=compute_120f,code=[sm_120f,compute_120f] k.cu -o family.so
	run codes family.so
	[ "$output" = "sm_120f | compute_120f" ]
}

@test "PTX alone, with the ISA of this toolkit" {
	need_nvcc
	nvcc -shared -Xcompiler -fPIC -gencode arch=compute_80,code=compute_80 k.cu -o ptx.so
	run codes ptx.so
	[ "$output" = " | compute_80" ] || [ "$output" = "| compute_80" ]
	nvcc -ptx -arch=compute_80 k.cu -o k.ptx
	run get ptx.so 'd["gpu_code"]["entries"][0]["ptx_isa"]'
	[ "$output" = "$(awk '$1 == ".version" {print $2}' k.ptx)" ]
}

@test "stubs of the device link are no code" {
	need_nvcc
	nvcc -shared -Xcompiler -fPIC -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=[sm_90,compute_90] none.cu -o none.so
	run codes none.so
	[ "$output" = " | " ] || [ "$output" = "| " ] || [ "$output" = " |" ] || [ "$output" = "|" ]
}

@test "without section headers the same" {
	need_nvcc
	[ -f list.so ] || skip "not built"
	python3 - <<-'END'
		data = bytearray(open('list.so', 'rb').read())
		data[0x28:0x30] = bytes(8)
		data[0x3c:0x40] = bytes(4)
		open('stripped.so', 'wb').write(data)
	END
	run codes stripped.so
	echo "$output"
	[ "$output" = "sm_80 sm_90 sm_90a | compute_90" ]
}

@test "NCCL tells its version" {
	run get "$CORPUS/lib" 'd["nccl_version"], d["nccl_cuda"], d["soname"], d["runpath"]'
	[ "$output" = "('2.28.9', '13.0', 'libnccl.so.2', '\$ORIGIN/x')" ]
	nccl=$(ls /usr/local/cuda/lib64/libnccl.so.2 2>/dev/null) || skip "no libnccl.so.2 in the toolkit"
	run get "$nccl" 'd["nccl_version"]'
	[ "$output" = "$(strings -a "$nccl" | sed -n 's/^NCCL version \([0-9.]*\)+.*/\1/p' | head -1)" ]
}

@test "what a library needs and where it is found" {
	run get /bin/sh '[n["name"] for n in d["needed"]], [n["found_by"] for n in d["needed"]], [n["path"] is not None for n in d["needed"]]'
	[ "$status" = 0 ]
	[[ "$output" == *"libc.so.6"* ]]
	[[ "$output" == *"ld_so_cache"* || "$output" == *"default"* ]]
	run "$DAVY" inspect /bin/sh
	[ "$status" = 0 ]
}

@test "damaged files are named, with exit status 1" {
	: > empty.so
	head -c 3000 "$CORPUS/lib" > cut.so
	echo 'GROUP ( libc.so.6 )' > script.so
	for pair in empty.so:empty cut.so:truncated script.so:not-elf "$CORPUS/lfs:lfs-pointer"; do
		run "$DAVY" inspect --json "${pair%:*}"
		[ "$status" = 1 ]
		[ "$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])["problem"])' "$output")" = "${pair#*:}" ]
	done
	run "$DAVY" inspect --lang zh_CN empty.so
	[[ "$output" == *"文件是空的"* ]]
}

@test "wrong usage and absent input" {
	run "$DAVY" inspect
	[ "$status" = 64 ]
	run "$DAVY" inspect /no/such/file.so
	[ "$status" = 66 ]
	run "$DAVY" inspect .
	[ "$status" = 66 ]
	run "$DAVY" inspect 999999998
	[ "$status" = 66 ]
}

@test "several files are one object with items" {
	run "$DAVY" inspect --json "$CORPUS/lib" /bin/sh
	[ "$(python3 -c 'import json, sys; d = json.loads(sys.argv[1]); print(d["command"], len(d["items"]), d["items"][1]["kind"])' "$output")" = "inspect 2 elf" ]
}

@test "the JSON is as the schema says" {
	python3 -c 'import jsonschema' 2>/dev/null || skip "python3 has no jsonschema"
	for what in "$CORPUS/lib" "$CORPUS/lfs" /bin/sh $$ "/bin/sh $CORPUS/stripped $$"; do
		"$DAVY" inspect --json $what | python3 -c 'import json, jsonschema, sys; jsonschema.validate(json.load(sys.stdin), json.load(open(sys.argv[1])))' "$DAVY_SOURCE/docs/schema/davy-inspect-1.json"
	done
}

@test "a running process: its libraries and its NCCL variables" {
	NCCL_DEBUG=INFO NCCL_SOCKET_IFNAME=eth0 PRIVATE_TOKEN=x sleep 30 3>&- &
	pid=$!
	for _ in $(seq 50); do [ "$(readlink /proc/$pid/exe)" != "$(readlink -f "$BASH")" ] && break; sleep 0.02; done
	json=$("$DAVY" inspect --json $pid)
	text=$("$DAVY" inspect $pid)
	kill $pid
	run python3 -c 'import json, sys
d = json.loads(sys.argv[1])
v = {x["name"]: x["value"] for x in d["variables"]}
print(d["kind"], v["NCCL_DEBUG"], v["NCCL_SOCKET_IFNAME"], "PRIVATE_TOKEN" in v, any("libc.so" in x["path"] for x in d["libraries"]))' "$json"
	[ "$output" = "process INFO eth0 False True" ]
	[[ "$text" == *"NCCL_DEBUG=INFO"* ]]
	[[ "$text" != *PRIVATE_TOKEN* ]]
}

@test "the symbol that an older NCCL does not have is predicted" {
	command -v gcc >/dev/null || skip "gcc is not installed"
	mkdir -p old new
	echo 'int ncclGetVersion(int *v) { *v = 21803; return 0; }' > nccl.c
	gcc -shared -fPIC -O2 -Wl,-soname,libnccl.so.2 nccl.c -o old/libnccl.so.2
	echo 'int ncclCommRegister(void) { return 0; }' >> nccl.c
	gcc -shared -fPIC -O2 -Wl,-soname,libnccl.so.2 nccl.c -o new/libnccl.so.2
	echo 'int ncclCommRegister(void); int go(void) { return ncclCommRegister(); }' > use.c
	gcc -shared -fPIC use.c new/libnccl.so.2 -Wl,--enable-new-dtags,-rpath,'$ORIGIN/new' -o libuse.so
	run "$DAVY" inspect libuse.so
	[ "$status" = 0 ]
	LD_LIBRARY_PATH=$PWD/old run "$DAVY" inspect libuse.so
	[ "$status" = 1 ]
	[[ "$output" == *ncclCommRegister* && "$output" == *"old/libnccl.so.2"* && "$output" == *"2.18.3"* ]]
}

@test "an extension that was built for another PyTorch" {
	command -v g++ >/dev/null || skip "g++ is not installed"
	mkdir -p site/torch/lib
	echo 'namespace c10 { int here() { return 1; } }' > c10.cc
	g++ -shared -fPIC c10.cc -Wl,-soname,libc10.so -o site/torch/lib/libc10.so
	echo 'int x;' > py.cc
	g++ -shared -fPIC py.cc -Wl,--no-as-needed site/torch/lib/libc10.so -Wl,--disable-new-dtags,-rpath,'$ORIGIN' -Wl,-soname,libtorch_python.so -o site/torch/lib/libtorch_python.so
	printf 'namespace c10 { int here(); int gone(int); }\nextern "C" int PyInit_ext() { return c10::here() + c10::gone(1); }\n' > ext.cc
	g++ -shared -fPIC ext.cc site/torch/lib/libc10.so -o site/ext.so
	run "$DAVY" inspect --json site/ext.so
	[ "$status" = 1 ]
	[ "$(python3 -c 'import json, sys; d = json.loads(sys.argv[1]); print(d["missing_symbols"][0]["symbol"], len(d["missing_symbols"]), d["needed"][0]["found_by"], d["after_import"] is not None)' "$output")" \
		= "_ZN3c104goneEi 1 loaded True" ]
}
