# The probe against fake vendor libraries (tests/fake): whatever they do, it answers, or davy names the call that did not.

setup() {
	BUILD=$(dirname "${DAVY:-build/davy}")
	FAKE=$BUILD/tests/fake
	PROBE=$BUILD/probe
	DIR=$(mktemp -d)
}

teardown() { rm -rf "$DIR"; }

# probe NAME SCENARIO-LINES...: runs it with the fakes; the last line of the answer is in $output's end
probe() {
	local name=$1; shift
	printf '%s\n' "$@" > "$DIR/scenario"
	run env DAVY_FAKE="$DIR/scenario" LD_LIBRARY_PATH="$FAKE" timeout 60 "$PROBE" "$name"
}

# value PYTHON-EXPRESSION over the answer `a`
value() { tail -n1 <<<"$output" | python3 -c "import json, sys; a = json.loads(sys.stdin.read()); print(($1))"; }

@test "eight healthy GPUs" {
	probe nvml "gpus 8"
	[ "$status" -eq 0 ]
	[ "$(value 'len(a["gpus"])')" = 8 ]
	[ "$(value 'a["driver_version"]')" = 580.65.06 ]
	[ "$(value 'a["gpus"][7]["name"]')" = "NVIDIA H100 80GB HBM3" ]
	[ "$(value 'a["gpus"][0]["pci"]')" = 0000:19:00.0 ]
	[ "$(value 'sum(l["up"] for l in a["gpus"][3]["nvlinks"])')" = 18 ]
	[ "$(value 'len(a["pairs"])')" = 28 ]
	[ "$(value 'set(p["p2p"] for p in a["pairs"])')" = "{'ok'}" ]
}

@test "a lost GPU is named and the others answer" {
	probe nvml "lost 3"
	[ "$status" -eq 0 ]
	[ "$(value 'a["gpus"][3]["error"]["code"], a["gpus"][3]["error"]["text"]')" = "(15, 'GPU is lost')" ]
	[ "$(value 'a["gpus"][4]["name"]')" = "NVIDIA H100 80GB HBM3" ]
}

@test "a library of another version than the module" {
	probe nvml "init 18"
	[ "$status" -eq 1 ]
	[ "$(value 'a["error"]["code"], a["error"]["call"]')" = "(18, 'nvmlInit')" ]
}

@test "one NVLink down, a refused pair, slices, exclusive mode, memory errors, heat" {
	probe nvml "linkdown 2 5" "p2p 0 1 4" "mig 1" "mode 0 3" "ecc 6 2" "remap 6" "throttle 5 0x40" "fabric 4 1" "processes 7 3"
	[ "$status" -eq 0 ]
	[ "$(value '[i for i, l in enumerate(a["gpus"][2]["nvlinks"]) if not l["up"]]')" = "[5]" ]
	[ "$(value 'a["pairs"][0]["p2p"]')" = "disabled by regkey" ]
	[ "$(value 'a["gpus"][1]["mig"], len(a["gpus"][1]["slices"])')" = "(True, 2)" ]
	[ "$(value 'a["gpus"][0]["compute_mode"]')" = exclusive-process ]
	[ "$(value 'a["gpus"][6]["ecc_uncorrected"], a["gpus"][6]["remap_pending"]')" = "(2, True)" ]
	[ "$(value 'a["gpus"][5]["throttle"]')" = 64 ]
	[ "$(value 'a["gpus"][4]["fabric_state"]')" = "not started" ]
	[ "$(value 'a["gpus"][7]["processes"]')" = 3 ]
}

@test "an old library without the _v2 symbols" {
	printf 'gpus 2\ndriver 396.26\n' > "$DIR/scenario"
	run env DAVY_FAKE="$DIR/scenario" LD_LIBRARY_PATH="$FAKE/old" "$PROBE" nvml
	[ "$status" -eq 0 ]
	[ "$(value 'len(a["gpus"]), a["driver_version"], "cuda_version" in a')" = "(2, '396.26', False)" ]
}

@test "a lying library: no crash, bounded answer, valid JSON" {
	probe nvml "lie 1"
	[ "$status" -eq 0 ]
	[ "$(value 'len(a["gpus"])')" = 64 ]
	[ "$(value 'a["count"]')" = 1000000 ]
	[ "$(value '"compute_mode" in a["gpus"][0]')" = False ]
}

@test "a hanging call is named before it hangs" {
	printf 'hang nvmlInit\n' > "$DIR/scenario"
	DAVY_FAKE="$DIR/scenario" LD_LIBRARY_PATH="$FAKE" timeout 60 "$PROBE" nvml > "$DIR/out" 3>&- & local pid=$!
	until grep -q nvmlInit "$DIR/out"; do sleep 0.05; done
	sleep 0.3
	kill -0 $pid
	kill $pid
	[ "$(tail -n 1 "$DIR/out")" = '{"calling":"nvmlInit"}' ]
}

@test "a crashing call is named before it crashes" {
	probe nvml "crash nvmlDeviceGetName"
	[ "$status" -ne 0 ]
	[[ "$output" == *nvmlDeviceGetHandleByIndex* && "$output" != *'"probe":'* ]]
}

@test "no library" {
	run "$PROBE" nvml
	[ "$status" -eq 3 ]
	[[ "$(value 'a["missing"]')" == *libnvidia-ml.so.1* ]]
}

@test "a file that is no library" {
	echo nonsense > "$DIR/libcuda.so.1"
	run env LD_LIBRARY_PATH="$DIR" "$PROBE" cuda
	[ "$status" -eq 3 ]
	[[ "$(value 'a["missing"]')" == *libcuda.so.1* ]]
}

@test "CUDA: devices and errors" {
	probe cuda "gpus 2" "cuda 12040" "cc 86"
	[ "$status" -eq 0 ]
	[ "$(value 'a["cuda_version"], a["count"], a["gpus"][1]["cc_major"]')" = "(12040, 2, 8)" ]
	probe cuda "cuinit 802"
	[ "$status" -eq 1 ]
	[ "$(value 'a["error"]["code"], a["error"]["text"]')" = "(802, 'system not yet initialized')" ]
}

@test "NCCL: the version of a given file" {
	printf 'nccl 21805\n' > "$DIR/scenario"
	run env DAVY_FAKE="$DIR/scenario" "$PROBE" nccl "$FAKE/libnccl.so.2"
	[ "$status" -eq 0 ]
	[ "$(value 'a["version_code"]')" = 21805 ]
}

@test "the probe asks for no symbol newer than glibc 2.17" {
	command -v objdump >/dev/null || skip "no objdump"
	nm -D "$PROBE" 2>/dev/null | grep -q __asan && skip "built with a sanitizer"
	newest=$(objdump -T "$PROBE" | grep -oE 'GLIBC_[0-9.]+' | sed 's/GLIBC_//' | sort -V | tail -n1)
	[ "$(printf '%s\n2.17\n' "$newest" | sort -V | tail -n1)" = 2.17 ]
}
