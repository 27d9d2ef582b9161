#!/usr/bin/env bats
# davy test: what is tried is really tried. Shared memory, ports, gloo and libnccl are real; drivers and GPUs are fakes (tests/fake), in name spaces of their own.

setup_file() {
	export DAVY=${DAVY:-$BATS_TEST_DIRNAME/../../build/davy}
	DAVY=$(readlink -f "$DAVY")
	export BUILD=$(dirname "$DAVY") ENVS=$BATS_FILE_TMPDIR
	# One environment with a made PyTorch whose libnccl.so.2 is the fake.
	"$BATS_TEST_DIRNAME/../fake/wheel/make" "$ENVS/gpu" nccl=2.28.9 >/dev/null 2>&1 &&
		cp "$BUILD/tests/fake/libnccl.so.2" "$(echo "$ENVS"/gpu/lib/python3.*/site-packages/nvidia/nccl/lib/libnccl.so.2)" || :
	for record in "$ENVS"/gpu/lib/python3.*/site-packages/nvidia_nccl_*/RECORD; do
		sed -i 's|^\(nvidia/nccl/lib/libnccl.so.2\),.*|\1,,|' "$record"
	done
	# And one with the distribution's PyTorch. Its torchrun (1.13) does not know how Python 3.11 treats an empty flag; here it is told.
	if /usr/bin/python3 -c 'import torch' 2>/dev/null && /usr/bin/python3 -m venv --without-pip --system-site-packages "$ENVS/torch" 2>/dev/null; then
		cat > "$ENVS/torch/bin/torchrun" <<-PY
			#!$ENVS/torch/bin/python
			from torch.distributed.elastic.multiprocessing import api
			if hasattr(api.Std, "from_str"):
			    found = api.Std.from_str.__func__
			    api.Std.from_str = classmethod(lambda cls, text: found(cls, text) or cls(0))
			from torch.distributed.run import main
			main()
		PY
		chmod +x "$ENVS/torch/bin/torchrun"
	fi
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	unset PYTHONPATH LD_LIBRARY_PATH LD_PRELOAD VIRTUAL_ENV CONDA_PREFIX CUDA_HOME CUDA_VISIBLE_DEVICES RANK WORLD_SIZE MASTER_ADDR MASTER_PORT NCCL_SOCKET_IFNAME GLOO_SOCKET_IFNAME
	export LC_ALL=C.UTF-8 HOME=$BATS_TEST_TMPDIR
}

# fake ARGUMENTS... -- SCENARIO-LINES...: davy test on a machine whose /dev and libraries pretend; $SHM is the size of its /dev/shm
fake() {
	local args=()
	unshare -rm true 2>/dev/null || skip "no user name spaces here"
	[ -d "$ENVS/gpu" ] || skip "no compiler"
	while [ "$1" != -- ]; do args+=("$1"); shift; done; shift
	printf '%s\n' "$@" > scenario
	SHM=${SHM:-2g} run timeout 200 unshare -rm bash -c '
		set -e
		mount -t tmpfs none /mnt
		touch /mnt/null /mnt/urandom /mnt/nvidiactl /mnt/nvidia0; mount --bind /dev/null /mnt/null; mount --bind /dev/urandom /mnt/urandom
		mkdir /mnt/shm; mount -t tmpfs -o size=$SHM none /mnt/shm
		mount --rbind /mnt /dev
		mount -t tmpfs none /run; mkdir /run/nvidia-persistenced; touch /run/nvidia-persistenced/socket
		export DAVY_FAKE="$1" LD_LIBRARY_PATH="$2/tests/fake"
		shift 2
		exec "$DAVY" test --json --python "$ENVS/gpu" "$@"' - "$PWD/scenario" "$BUILD" "${args[@]}"
	tail -n +1 <<<"$output" > out.json
}

# holds EXPRESSION: Python over d (the whole answer), stage(name), trial(name), cause(id), first
holds() {
	python3 - "$1" <<'PY'
import json, sys
d = json.load(open("out.json"))
first = d["findings"][0]["cause"] if d["findings"] else None
stage = lambda n: next((c["result"] for c in d["checklist"] if c["stage"] == n), None)
trial = lambda n: next((t for t in d["facts"]["trial"] if t["trial"] == n), {})
cause = lambda i: next((f for f in d["findings"] if f["cause"] == i), None)
if not eval(sys.argv[1]):
    print(json.dumps({"first": first, "checklist": d["checklist"], "says": [(f["cause"], f["status"], f["certainty"], f["says"]) for f in d["findings"]]}, indent=1))
    sys.exit("not so: " + sys.argv[1])
PY
}

@test "eight good GPUs: everything goes round, no finding, exit status 0" {
	fake -- "gpus 8"
	[ "$status" -eq 0 ]
	holds 'all(stage(s) == "ok" for s in ("driver", "cuda", "backend", "shm", "network", "p2p", "allreduce"))'
	holds 'sum(t["stage"] == "p2p" for t in d["facts"]["trial"]) == 28 and sum(t["stage"] == "cuda" for t in d["facts"]["trial"]) == 9'
	holds 'trial("allreduce")["ranks"] == 8 and trial("allreduce")["rate"] > 0 and trial("allreduce")["version"] == "2.28.9"'
	holds 'd["verdict"] == "ready" and not [f for f in d["findings"] if f["status"] in ("fail", "warn", "unknown")]'
}

@test "a pair whose direct copies are wrong: the way between them, with its proof" {
	fake --only p2p -- "gpus 4" "peerbad 1 2"
	[ "$status" -eq 1 ]
	holds 'first == "p2p.path-broken" and cause(first)["subject"]["key"] == "1-2" and cause(first)["certainty"] == "certain"'
	holds 'trial("p2p 1-2")["result"] == "wrong" and trial("p2p 1-2")["control"] == "ok" and trial("p2p 0-3")["result"] == "ok"'
}

@test "a pair whose direct copies hang: the others are tested all the same" {
	fake --only p2p --deadline 6 -- "gpus 3" "peerhang 0 1"
	[ "$status" -eq 1 ]
	holds 'first == "p2p.path-broken" and trial("p2p 0-1")["result"] == "hang"'
	holds 'trial("p2p 0-2")["result"] == "ok" and trial("p2p 1-2")["result"] == "ok"'
}

@test "a pair that is wrong through the host as well: another fault" {
	fake --only p2p -- "gpus 3" "copybad 0 2"
	[ "$status" -eq 1 ]
	holds 'first == "hardware.gpu-data-wrong" and cause("p2p.path-broken") is None and trial("p2p 0-2")["control"] == "wrong"'
}

@test "direct copies that give an error: named, and the rest goes on in another process" {
	fake --only p2p -- "gpus 3" "peercode 0 2 719"
	[ "$status" -eq 1 ]
	holds 'first == "p2p.path-broken" and trial("p2p 0-2")["code"] == 719 and trial("p2p 1-2")["result"] == "ok"'
}

@test "no peer access at all is no fault" {
	fake --only p2p -- "gpus 3" "nopeer 1"
	[ "$status" -eq 0 ]
	holds 'stage("p2p") == "ok" and trial("p2p 0-1")["message"] == "no peer access"'
}

@test "a GPU whose memory is taken" {
	fake --only cuda -- "gpus 4" "full 2"
	[ "$status" -eq 1 ]
	holds 'first == "gpu.memory-occupied" and cause(first)["subject"]["key"] == "2" and trial("cuda 1")["result"] == "ok"'
}

@test "a GPU that gives other data back, one that fails, one that is taken exclusively" {
	fake --only cuda -- "gpus 4" "badmem 1" "copycode 3 719" "retain 2 46"
	[ "$status" -eq 1 ]
	holds 'cause("hardware.gpu-data-wrong")["subject"]["key"] == "1" and cause("gpu.test-failed")["subject"]["key"] == "3"'
	holds 'cause("driver.exclusive-mode") and trial("cuda 0")["result"] == "ok"'
}

@test "GPUs that hang: killed at the deadline, and said so" {
	fake --only cuda --deadline 2 -- "gpus 2" "hang cuMemcpyDtoH"
	[ "$status" -eq 1 ]
	holds 'first == "hardware.gpu-hang" and trial("cuda 0")["call"] == "cuMemcpyDtoH" and d["timing_ms"]["total"] < 8000'
}

@test "CUDA that does not start: what stands on it is not reached" {
	fake -- "gpus 8" "cuinit 802"
	[ "$status" -eq 1 ]
	holds 'first == "driver.fabric-manager-down" and stage("cuda") == "error" and stage("p2p") == stage("allreduce") == "not-reached"'
	holds 'stage("shm") == "ok" and trial("allreduce")["ground"] == "cuda"'
}

@test "CUDA that hangs at its start is the driver's" {
	fake --only cuda --deadline 2 -- "gpus 2" "hang cuInit"
	[ "$status" -eq 1 ]
	holds 'first == "driver.hung" and cause(first)["status"] == "fail" and trial("cuda")["call"] == "cuInit"'
}

@test "an NCCL that crashes at once: the rest is not reached" {
	fake -- "gpus 2" "crash ncclGetUniqueId"
	[ "$status" -eq 1 ]
	holds 'first == "library.file-damaged" and stage("backend") == "crash" and stage("allreduce") == "not-reached" and stage("p2p") == "ok"'
}

@test "what is not recognised is said as it is, and what to collect" {
	fake --only allreduce -- "gpus 2" "ncclinit 3" "ncclwarn the quux is not frobnicated"
	[ "$status" -eq 1 ]
	holds 'first == "launch.all-reduce-failed" and "internal error" in cause(first)["says"] and "frobnicated" in cause(first)["says"] and cause(first)["ask"]'
}

@test "every finding of a failed test in Chinese is Chinese" {
	unshare -rm true 2>/dev/null || skip "no user name spaces here"
	for scenario in "full 1" "copycode 1 719" "peerbad 0 1" "copybad 0 1" "wrongsum 0" "ncclinit 3" "crash ncclCommInitRank"; do
		fake --lang zh_CN --deadline 3 -- "gpus 2" "$scenario"
		[ "$status" -eq 1 ]
		python3 - "$scenario" <<-'PY'
			import json, re, sys
			d = json.load(open("out.json"))
			texts = [c["says"] for c in d["checklist"]] + [t for f in d["findings"] if f["rule"] and "test" not in f["rule"] for t in (f["says"], f["title"], f["why"])]
			texts += [f["says"] for f in d["findings"]]
			for t in texts:
			    if "?" in t or not re.search(r"[\u4e00-\u9fff]", t) or "{" in t:
			        sys.exit("%s: %s" % (sys.argv[1], t))
		PY
	done
}

@test "a library that crashes is named by its signal" {
	fake --only cuda -- "gpus 2" "crash cuDevicePrimaryCtxRetain"
	[ "$status" -eq 1 ]
	holds 'first == "gpu.test-failed" and trial("cuda 1")["result"] == "crash" and trial("cuda 1")["code"] == 11'
	holds '"signal 11 in cuDevicePrimaryCtxRetain" in cause(first)["says"]'
}

@test "NCCL's all_reduce with a wrong sum: peer access or not makes the difference" {
	fake --only allreduce -- "gpus 4" "p2pwrong 1"
	[ "$status" -eq 1 ]
	holds 'first == "p2p.path-broken" and trial("allreduce")["result"] == "wrong" and trial("allreduce")["control"] == "ok"'
	fake --only allreduce -- "gpus 4" "wrongsum 3"
	[ "$status" -eq 1 ]
	holds 'first == "hardware.gpu-data-wrong" and trial("allreduce")["rank"] == 3 and trial("allreduce")["control"] == "wrong"'
}

@test "NCCL's all_reduce that hangs with peer access only" {
	fake --only allreduce --deadline 4 -- "gpus 2" "p2phang 1"
	[ "$status" -eq 1 ]
	holds 'first == "p2p.path-broken" and trial("allreduce")["result"] == "hang" and trial("allreduce")["control"] == "ok"'
}

@test "NCCL's all_reduce that hangs anyhow: could not tell, and says what to collect" {
	fake --only allreduce --deadline 2 -- "gpus 2" "hang ncclAllReduce"
	[ "$status" -eq 2 ]
	holds 'd["verdict"] == "unknown" and first == "launch.all-reduce-failed" and cause(first)["status"] == "unknown" and cause(first)["ask"]'
	holds 'trial("allreduce")["call"] == "ncclAllReduce" and "rank" not in trial("allreduce")'
}

@test "what NCCL prints when it fails is explained like a log" {
	fake --only allreduce -- "gpus 2" "ncclinit 2" "ncclwarn Error: failed to extend /dev/shm/nccl-a1b2c3 to 9637892 bytes"
	[ "$status" -eq 1 ]
	holds 'first == "host.shm-too-small" and any(e.get("cause") == "launch.all-reduce-failed" for e in cause(first)["explains"])'
	holds 'any(e["pattern"].startswith("nccl.shm") for e in d["events"])'
}

@test "two ranks on one GPU: NCCL's refusal is explained" {
	fake --only allreduce --ranks 2 -- "gpus 1" "ncclinit 5" "ncclwarn Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 19000"
	[ "$status" -eq 1 ]
	holds 'first == "launch.duplicate-gpu" and trial("allreduce")["ranks"] == 2'
}

@test "a GPU that fails with every other: named as what they have in common" {
	fake --only p2p -- "gpus 4" "peerbad 0 2" "peerbad 1 2" "peerbad 2 3"
	[ "$status" -eq 1 ]
	holds 'first == "p2p.path-broken" and "3 of 6, all with GPU 2" in cause(first)["says"]'
}

@test "without the probe nothing is known, and that is no pass" {
	DAVY_PROBE=/nonexistent/probe run "$DAVY" test --only shm --json
	echo "$output" > out.json
	[ "$status" -eq 2 ]
	holds 'd["verdict"] == "unknown" and stage("shm") == "skipped"'
}

@test "a rank that crashes in NCCL" {
	fake --only allreduce -- "gpus 2" "crash ncclCommInitRank"
	[ "$status" -eq 1 ]
	holds 'first == "launch.all-reduce-failed" and trial("allreduce")["result"] == "crash" and trial("allreduce")["code"] == 11'
}

@test "64 MB of shared memory for eight ranks: the file system says so itself" {
	SHM=64m fake --only shm -- "gpus 8"
	[ "$status" -eq 1 ]
	holds 'first == "host.shm-too-small" and trial("shm")["code"] == 28 and trial("shm")["free_bytes"] < 67108864 <= trial("shm")["bytes"]'
	holds 'cause(first)["status"] == "fail"'
}

@test "shared memory that may not be written" {
	unshare -rm true 2>/dev/null || skip "no user name spaces here"
	run unshare -rm bash -c 'mount -t tmpfs -o ro none /dev/shm; exec "$DAVY" test --only shm --json'
	echo "$output" > out.json
	[ "$status" -eq 1 ]
	holds 'first == "host.shm-unusable" and trial("shm")["code"] == 30'
}

@test "nothing stays in /dev/shm, nor in the temporary folder" {
	unshare -rm true 2>/dev/null || skip "no user name spaces here"
	mkdir tmp
	run unshare -rm bash -c 'mount -t tmpfs none /dev/shm; TMPDIR=$PWD/tmp "$DAVY" test --torch --deadline 5 >/dev/null; ls -A /dev/shm tmp | grep -c davy'
	[ "${lines[-1]}" = 0 ]
}

# net COMMANDS: davy test in a network of its own, after the commands
net() {
	unshare -rnm mount -t sysfs sysfs /sys 2>/dev/null || skip "no network name spaces here"
	local rc=0
	unshare -rnm bash -c "mount -t sysfs sysfs /sys; $1; exec \"\$DAVY\" test --only network --json ${2:-}" > out.json || rc=$?
	status=$rc
}

@test "a loopback that is down" {
	net true
	[ "$status" -eq 1 ]
	holds 'stage("network") == "error" and any("network.loopback-broken" in (f["cause"], *(e.get("cause") for e in f["explains"])) for f in d["findings"])'
}

@test "a loopback that is up" {
	net "ip link set lo up"
	[ "$status" -eq 0 ]
	holds 'stage("network") == "ok"'
}

@test "the interface that NCCL takes drops what comes to its own address" {
	command -v nft >/dev/null || skip "no nft"
	net "ip link set lo up; ip link add eth7 type veth peer name peer7; ip link set peer7 up; ip addr add 10.9.8.7/24 dev eth7; ip link set eth7 up
		nft add table ip t; nft add chain ip t in '{ type filter hook input priority 0; }'; nft add rule ip t in ip daddr 10.9.8.7 drop || { echo no; exit 0; }" "--for nccl"
	[ "$(cat out.json)" = no ] && skip "no filter in this kernel"
	[ "$status" -eq 1 ]
	holds 'first == "network.firewall" and trial("network eth7")["code"] == 110 and trial("network lo")["result"] == "ok"'
}

@test "NCCL's and gloo's own rules say which interface is tested" {
	local up="ip link set lo up; ip link add eth7 type veth peer name peer7; ip link set peer7 up; ip addr add 10.9.8.7/24 dev eth7; ip link set eth7 up; ip link add enp1 type veth peer name peer1; ip link set peer1 up; ip addr add 10.9.7.7/24 dev enp1; ip link set enp1 up"
	net "$up; export NCCL_SOCKET_IFNAME=enp" "--for nccl"
	holds 'trial("network enp1")["result"] == "ok" and not trial("network eth7")'
	net "$up; export NCCL_SOCKET_IFNAME=^enp,lo" "--for nccl"
	holds 'trial("network eth7")["result"] == "ok" and not trial("network enp1")'
	net "$up; export NCCL_SOCKET_IFNAME==enp" "--for nccl"
	holds 'first == "network.ifname-no-match"'
	net "$up; export GLOO_SOCKET_IFNAME=enp1" "--for gloo"
	holds 'trial("network enp1")["result"] == "ok"'
}

@test "MASTER_PORT that somebody holds is a warning; inside a job it is not looked at" {
	unshare -rn true 2>/dev/null || skip "no network name spaces here"
	unshare -rn bash -c 'ip link set lo up
		python3 -c "import socket, time; s = socket.socket(); s.bind((\"0.0.0.0\", 29555)); s.listen(); print(1, flush=True); time.sleep(600)" > ready & holder=$!
		until [ -s ready ]; do sleep 0.05; done
		MASTER_PORT=29555 "$DAVY" test --only network --json > out.json; echo $? > rc
		MASTER_PORT=29555 RANK=0 "$DAVY" test --only network --json > inside.json; echo $? >> rc
		kill $holder' || :
	[ "$(tr '\n' ' ' < rc)" = "0 0 " ]
	holds 'cause("launch.port-in-use")["status"] == "warn" and trial("port 29555")["code"] == 98'
	mv inside.json out.json
	holds 'not trial("port 29555")'
}

# real TORCH-ENVIRONMENT-VARIABLES... : davy test --torch with the distribution's PyTorch, in a network of its own
real() {
	[ -x "$ENVS/torch/bin/torchrun" ] || skip "no python3-torch"
	unshare -rn true 2>/dev/null || skip "no network name spaces here"
	local rc=0
	env "$@" unshare -rn bash -c 'ip link set lo up; exec "$DAVY" test --only torch --json --python "$ENVS/torch" --deadline '"${DEADLINE:-150}" > out.json || rc=$?
	status=$rc
}

@test "gloo for real: two ranks under torchrun, the sum right, three sizes measured" {
	real
	[ "$status" -eq 0 ]
	holds 'trial("torch gloo")["result"] == "ok" and trial("torch gloo")["ranks"] == 2 and trial("torch gloo")["library"].endswith("torch/bin/torchrun")'
	holds '[r["bytes"] >> 20 for r in d["facts"]["allreduce"]][:2] == [1, 16] and all(r["time_ms"] > 0 and r["rate"] > 0 for r in d["facts"]["allreduce"])'
}

@test "gloo for real: an interface that is not there" {
	real GLOO_SOCKET_IFNAME=nope9
	[ "$status" -eq 1 ]
	holds 'first == "network.ifname-no-match" and trial("torch gloo")["result"] == "error"'
}

@test "a torchrun that cannot start, and ranks that can: told apart" {
	[ -x "$ENVS/torch/bin/torchrun" ] || skip "no python3-torch"
	mkdir broken; cp -r "$ENVS/torch" broken/env
	printf '#!%s/broken/env/bin/python\nraise SystemExit("torchrun: out of order")\n' "$PWD" > broken/env/bin/torchrun
	"$DAVY" test --only torch --json --deadline 150 --python "$PWD/broken/env" > out.json || status=$?
	[ "$status" -eq 1 ]
	holds 'first == "launch.all-reduce-failed" and trial("torch gloo")["control"] == "ok" and "ranks get through" in cause(first)["says"]'
}

@test "where torchrun is missing, the module that it starts" {
	[ -x "$ENVS/torch/bin/torchrun" ] || skip "no python3-torch"
	cp -r "$ENVS/torch" without
	rm without/bin/torchrun
	status=0; "$DAVY" test --only torch --json --deadline 150 --python "$PWD/without" > out.json || status=$?
	holds '"/without/bin/python" in trial("torch gloo")["library"]'
	[ "$status" -eq 0 ]
	holds 'trial("torch gloo")["result"] == "ok"'
	# PyTorch 1.13 under Python 3.11 needs arguments, and that is told.
	if [[ $(/usr/bin/python3 -c 'import sys, torch; print(sys.version_info >= (3, 11), torch.__version__)') == "True 1."* ]]; then
		holds 'trial("torch gloo")["arguments"] == "--redirects 9:1 --tee 9:1" and cause("python.version-unsupported")["status"] == "warn"'
	fi
}

@test "a rank with a wrong sum, and ranks that never come: found, in time" {
	[ -x "$ENVS/torch/bin/torchrun" ] || skip "no python3-torch"
	cp -r "$ENVS/torch" wrong
	sed -i "1s|.*|#!$PWD/wrong/bin/python|" wrong/bin/torchrun
	cat > "$(echo wrong/lib/python3.*/site-packages)/usercustomize.py" <<-'PY'
		import os
		if os.environ.get("RANK") == "1" and os.environ.get("HOW") == "wrong":
		    import torch.distributed as dist
		    right = dist.all_reduce
		    dist.all_reduce = lambda x, *a, **k: (right(x, *a, **k), x.add_(1))[0]
		if os.environ.get("RANK") == "1" and os.environ.get("HOW") == "stuck":
		    import time
		    time.sleep(600)
	PY
	status=0; HOW=wrong "$DAVY" test --only torch --json --deadline 150 --python "$PWD/wrong" > out.json || status=$?
	[ "$status" -eq 1 ]
	holds 'first == "launch.all-reduce-failed" and trial("torch gloo")["result"] == "wrong" and trial("torch gloo")["rank"] == 1'
	status=0; HOW=stuck "$DAVY" test --only torch --json --deadline 5 --python "$PWD/wrong" > out.json || status=$?
	[ "$status" -ne 0 ]
	holds 'trial("torch gloo")["result"] in ("hang", "error") and d["timing_ms"]["total"] < 60000'
	! pgrep -f "$PWD/wrong/bin/python" >/dev/null
}

# The real libnccl.so.2, if this machine has one.
real_nccl() {
	local f
	for f in /usr/lib/*/libnccl.so.2 /usr/local/cuda*/lib*/libnccl.so.2 /opt/*/lib/libnccl.so.2; do
		[ -e "$f" ] && { readlink -f "$f"; return; }
	done
}

@test "the real libnccl on a host without a GPU: it loads, names its version and interface, and the stop is explained" {
	local lib=$(real_nccl) site
	[ -n "$lib" ] || skip "no libnccl on this machine"
	[ -e /dev/nvidiactl ] && skip "this machine has a GPU"
	cp -r "$ENVS/gpu" real
	site=$(echo real/lib/python3.*/site-packages)
	ln -sf "$lib" "$site/nvidia/nccl/lib/libnccl.so.2"
	status=0; "$DAVY" test --for nccl --json --python "$PWD/real" > out.json || status=$?
	[ "$status" -eq 1 ]
	holds 'stage("backend") == "ok" and trial("backend")["version"].startswith("2.") and stage("allreduce") == "not-reached" and first == "gpu.none-visible"'
	status=0; NCCL_SOCKET_IFNAME=nope9 "$DAVY" test --for nccl --json --python "$PWD/real" > out.json || status=$?
	[ "$status" -eq 1 ]
	holds 'stage("backend") == "error" and first == "network.ifname-no-match" and any(e["pattern"] for e in d["events"])'
}

@test "the real libnccl with a GPU that is a fake: its refusal is explained" {
	local lib=$(real_nccl)
	[ -n "$lib" ] || skip "no libnccl on this machine"
	cp -r "$ENVS/gpu" "$ENVS/real" 2>/dev/null || :
	ln -sf "$lib" "$(echo "$ENVS"/real/lib/python3.*/site-packages/nvidia/nccl/lib)/libnccl.so.2"
	fake --only allreduce --python "$ENVS/real" --deadline 150 -- "gpus 2" "cuda 12020" "driver 535.129.03"
	[ "$status" -eq 1 ]
	# This library is built for a newer CUDA than the fake driver runs, and says so.
	holds 'trial("allreduce")["result"] == "error" and first == "library.nccl-overwritten" and any("insufficient" in e["text"] for e in d["events"])'
}

@test "an interrupt ends all that was started" {
	[ -x "$ENVS/torch/bin/torchrun" ] || skip "no python3-torch"
	mkdir tmp
	TMPDIR=$PWD/tmp "$DAVY" test --only torch --python "$ENVS/torch" >/dev/null 2>&1 3>&- & local pid=$!
	until [ -n "$(ls tmp)" ]; do sleep 0.05; done
	sleep 1
	kill -TERM $pid
	local rc=0; wait $pid || rc=$?
	[ "$rc" -eq 143 ]
	[ -z "$(ls tmp)" ]
	! pgrep -f "$PWD/tmp" >/dev/null
}

@test "children that davy was given by whoever started it are left alone" {
	unshare -rn true 2>/dev/null || skip "no network name spaces here"
	bash -c 'sleep 600 & echo $! > sleeper; exec "$DAVY" test --only shm --quiet'
	kill -0 "$(cat sleeper)"
	kill "$(cat sleeper)"
}

@test "quiet, Chinese, wrong usage, the script" {
	run "$DAVY" test --only shm --quiet
	[ "$status" -eq 0 ] && [ -z "$output" ]
	run "$DAVY" test --only shm --lang zh_CN
	[[ "$output" == *共享内存* && "$output" == *"/dev/shm 写入"* ]]
	run "$DAVY" test --only nonsense
	[ "$status" -eq 64 ]
	run "$DAVY" test --ranks 0
	[ "$status" -eq 64 ]
	run "$DAVY" test --deadline soon
	[ "$status" -eq 64 ]
	run "$DAVY" test something
	[ "$status" -eq 64 ]
	"$DAVY" test --show > script.py
	python3 -c 'import ast, sys; ast.parse(open("script.py").read())'
	grep -q all_reduce script.py
}

@test "the JSON is what its schema says" {
	python3 -c 'import jsonschema' 2>/dev/null || skip "no python3-jsonschema"
	"$DAVY" test --json > out.json || [ $? -le 2 ]
	python3 -c 'import json, jsonschema, sys; jsonschema.validate(json.load(open("out.json")), json.load(open(sys.argv[1])))' "$BATS_TEST_DIRNAME/../../docs/schema/davy-1.json"
}
