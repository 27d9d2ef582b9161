#!/usr/bin/env bats
# davy run: the command as it would be without Davy, its log, the explanation, the record.

bats_require_minimum_version 1.5.0

setup() {
	export DAVY=${DAVY:-$BATS_TEST_DIRNAME/../../build/davy}
	davy=$DAVY
	cd "$BATS_TEST_TMPDIR"
	export XDG_STATE_HOME=$BATS_TEST_TMPDIR/state
	unset NCCL_DEBUG
}

json() { python3 -c "import json,sys; d=json.load(sys.stdin); print($1)"; }
last() { "$davy" history show --json | json "$1"; }
torch_here() { [ -d /usr/lib/python3/dist-packages/torch ] || skip "python3-torch is not installed"; }
no_gpu() { [ ! -e /dev/nvidiactl ] || skip "this host has NVIDIA GPUs"; }
nccl_script() {
	cat > nccl.py <<-'P'
	import torch.distributed as dist
	print("before the start", flush=True)
	dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29533", rank=0, world_size=1)
	P
}

@test "output, error and exit status are the command's; what Davy says goes to standard error" {
	run --separate-stderr -3 "$davy" run -- sh -c 'echo out; echo err >&2; exit 3'
	[ "$output" = out ]
	[[ "$stderr" == "[davy "*err*"attempt 1, exit status 3"* ]]
	run --separate-stderr -0 "$davy" run --quiet -- sh -c 'cat; echo err >&2' <<<"from standard input"
	[ "$output" = "from standard input" ] && [ "$stderr" = err ]
	run -127 "$davy" run -q -- no-such-command
	[[ "$output" == *"no-such-command: command not found"* ]]
	echo text > no-program
	run -126 "$davy" run -q -- ./no-program
	[ "$(last 'd["attempt"]["outcome"]')" = not-started ]
	run -64 "$davy" run
	run -64 "$davy" run --json -- true
	run -0 "$davy" run -q sh -c 'exit 0' # without --, the command's options are its own
	[ "$(last 'd["attempt"]["command"]')" = "sh -c 'exit 0'" ]
}

@test "what ended with a failure is said to have failed, also when nothing tells why" {
	run -135 "$davy" run --no-check -- sh -c 'echo "Bus error (core dumped)"; exit 135'
	[[ "$output" != *"No failure is certain"* ]]
	[[ "$output" == *"It failed, and the cause is not established"* ]]
}

@test "a command that a signal ends ends Davy by the same signal" {
	run -0 python3 - <<-'P'
	import os, signal, subprocess
	for s in (1, 2, 3):
	    signal.signal(s, signal.SIG_DFL) # a shell's background, or nohup, ignores them
	for s in (1, 2, 3, 6, 9, 10, 11, 14, 15):
	    p = subprocess.run([os.environ["DAVY"], "run", "-q", "--no-check", "--", "sh", "-c", "kill -%d $$" % s], stderr=subprocess.DEVNULL)
	    assert p.returncode == -s, (s, p.returncode)
	P
	[ "$(last 'd["attempt"]["outcome"], d["attempt"]["status"], d["attempt"]["ranks"][0]["signal"]')" = "failed 143 15" ]
}

@test "signals to Davy or to its process group reach the command once; ignored ones stay ignored" {
	run -0 python3 - <<-'P'
	import os, signal, subprocess, time
	code = """if True:
	    import signal, sys, time
	    n = [0]
	    def got(s, f): n[0] += 1
	    for s in (1, 2, 10, 12, 15): signal.signal(s, got)
	    print("ready", flush=True)
	    t = time.time()
	    while not n[0] and time.time() - t < 60: time.sleep(0.02)
	    time.sleep(0.4) # for a second one
	    sys.exit(n[0])"""
	for s in (1, 2):
	    signal.signal(s, signal.SIG_DFL)
	started = []
	for send in (os.kill, os.killpg):
	    for s in (1, 2, 10, 12, 15):
	        p = subprocess.Popen([os.environ["DAVY"], "run", "-q", "--no-check", "--", "python3", "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
	        assert p.stdout.readline() == "ready\n"
	        send(p.pid, s)
	        started.append((send.__name__, s, p))
	for how, s, p in started:
	    assert p.wait() == 1, (how, s, p.returncode)
	    p.stdout.close()
	# The witness of the group comes to no processor for long: what it tells counts all the same.
	p = subprocess.Popen([os.environ["DAVY"], "run", "-q", "--no-check", "--", "python3", "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
	assert p.stdout.readline() == "ready\n"
	children = [int(c) for c in open("/proc/%d/task/%d/children" % (p.pid, p.pid)).read().split()]
	witness = [c for c in children if open("/proc/%d/cmdline" % c).read().startswith(os.environ["DAVY"] + "\0run")]
	assert len(witness) == 1, children
	os.kill(witness[0], signal.SIGSTOP)
	os.killpg(p.pid, signal.SIGTERM)
	time.sleep(0.3)
	os.kill(witness[0], signal.SIGCONT)
	assert p.wait() == 1, p.returncode
	p = subprocess.Popen(["nohup", os.environ["DAVY"], "run", "-q", "--no-check", "--", "sh", "-c", "echo ready; read x < go; sleep 0.3; exit 7"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True)
	p.stdout.readline()
	os.kill(p.pid, signal.SIGHUP)
	open("go", "w").close()
	assert p.wait() == 7
	P
}

@test "on a terminal: size and its changes, input, the very bytes, Ctrl-C, Ctrl-Z, background, settings" {
	for check in size resized typed bytes interrupted stopped halted background half settings; do
		run timeout 120 python3 "$BATS_TEST_DIRNAME/terminal.py" $check
		[ "$status" -eq 0 ] || { echo "$output"; false; }
	done
}

@test "two streams into one file stay in order; a daemon that is left behind goes on writing; a reader that goes away is noticed" {
	"$davy" run -q --no-check -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do echo $i; echo e$i >&2; done' > both 2>&1
	[ "$(tr '\n' ' ' < both)" = "1 e1 2 e2 3 e3 4 e4 5 e5 6 e6 7 e7 8 e8 9 e9 " ]
	run -0 sh -c '"$DAVY" run -q --no-check -- sh -c "(sleep 0.5; echo late) & echo early" | tr a-z A-Z'
	[ "$output" = "EARLY"$'\n'"LATE" ]
	run -0 timeout 20 bash -c '"$DAVY" run -q --no-check -- yes | head -n 1; [ "${PIPESTATUS[0]}" -ge 128 ]'
	[ "$output" = y ]
	run -0 timeout 20 "$davy" run -q --no-check -- sh -c 'echo lost > /dev/stdout; echo said >&2' > /dev/full
	[ "$("$davy" history log | sort)" = "lost"$'\n'"said" ] # two channels: which comes first is not promised
	[ "$(last 'd["attempt"]["outcome"]')" = ok ]
}

@test "1 GB of output: nothing of it is lost, the log is bounded, has the beginning and the end and says what is left out" {
	cat > much.py <<-'P'
	import os
	line = b"%09d the loss of this step is as it was before, and nothing else is to be said about it here ....\n"
	block = b"".join(line % i for i in range(10000))
	os.write(1, line % 111111111)
	for i in range(1050):
	    os.write(1, block)
	os.write(1, line % 999999999)
	P
	python3 - <<-'P'
	import os, subprocess
	p = subprocess.Popen([os.environ["DAVY"], "run", "-q", "--no-check", "--", "python3", "much.py"], stdout=subprocess.PIPE)
	size = lines = 0
	for piece in iter(lambda: p.stdout.read(1 << 20), b""):
	    size += len(piece)
	    lines += piece.count(b"\n")
	_, status, usage = os.wait4(p.pid, 0)
	assert (status, lines) == (0, 10500002), (status, lines)
	assert size > 1 << 30, size
	assert usage.ru_maxrss < 200 << 10, usage.ru_maxrss
	assert usage.ru_utime + usage.ru_stime < 12, usage # of a processor, the command's own included
	P
	[ "$(du -sk state | cut -f1)" -lt 20000 ]
	[ "$(ls state/davy/logs | wc -l)" = 1 ]
	"$davy" history log > log
	[ "$(stat -c %s log)" -lt 80000000 ]
	[[ "$(head -n 1 log)" == "111111111 "* && "$(tail -n 1 log)" == "999999999 "* ]]
	left=$(last 'd["attempt"]["ranks"][0]["log_left_out"]')
	[ "$(grep -c 'bytes of output are not kept here' log)" -ge 1 ]
	python3 - "$left" <<-'P'
	import re, sys
	text = open("log", "rb").read()
	noted = sum(int(n) for n in re.findall(rb"\[davy: (\d+) bytes of output are not kept here\]", text))
	kept = len(re.sub(rb"\n\[davy: \d+ bytes of output are not kept here\]\n", b"", text))
	# What stood in a part of the end that gave way is counted by its own line.
	assert int(sys.argv[1]) + kept == 10500002 * 103, (sys.argv[1], kept, noted)
	P
}

@test "Davy killed by SIGKILL takes the command with it; the log is there, the attempt has no end, the next one works" {
	python3 - <<-'P'
	import os, subprocess, time
	p = subprocess.Popen([os.environ["DAVY"], "run", "-q", "--no-check", "--", "sh", "-c", "echo $$; echo last words; exec sleep 600"], stdout=subprocess.PIPE, text=True)
	pid = int(p.stdout.readline())
	until = time.time() + 60
	log = lambda: subprocess.run([os.environ["DAVY"], "history", "log"], capture_output=True, text=True).stdout
	while "last words" not in log() and time.time() < until: # on the disk within seconds, without an end
	    time.sleep(0.1)
	p.kill()
	p.wait()
	def state():
	    try:
	        return open("/proc/%d/stat" % pid).read().rsplit(")")[1].split()[0]
	    except OSError:
	        return "gone"
	while state() not in ("gone", "Z") and time.time() < until:
	    time.sleep(0.02)
	assert time.time() < until
	P
	[ "$(last 'd["attempt"]["outcome"]')" = lost ]
	run -0 "$davy" history log
	[[ "$output" == *"last words"* ]]
	run -0 "$davy" run -q --no-check -- true
	[ "$(last 'd["attempt"]["id"], d["attempt"]["outcome"]')" = "2 ok" ]
}

@test "a SIGKILL that was not the kernel's for lack of memory is not called that" {
	grep -q '^oom_kill ' /proc/vmstat || skip "this kernel does not count"
	run -137 "$davy" run -- sh -c 'kill -9 $$'
	[[ "$output" == *"the kernel's out-of-memory killer killed nobody in that time"* && "$output" != *host.out-of-memory* ]]
	[ "$(last 'd["attempt"]["cause"]')" = None ]
}

@test "what cannot work is not started: the fault is shown, recorded, and --force starts it" {
	torch_here; no_gpu
	nccl_script
	run --separate-stderr -1 "$davy" run --for nccl -- /usr/bin/python3 nccl.py
	[ -z "$output" ]
	[[ "$stderr" == *torch.cpu-build*"not started"* ]]
	[ "$(last 'd["attempt"]["outcome"], d["attempt"]["cause"]')" = "refused torch.cpu-build" ]
	run --separate-stderr -1 "$davy" run --force --for nccl -- /usr/bin/python3 nccl.py
	[[ "$output" == "before the start" && "$stderr" == *"in spite of torch.cpu-build"* ]]
	run --separate-stderr -1 "$davy" run --no-check --for nccl -- /usr/bin/python3 nccl.py
	[ "$output" = "before the start" ]
}

@test "a fault stops only what it concerns: without torch a script that imports it is not started, everything else is" {
	python3 -m venv --without-pip bare || skip "python3-venv is not installed"
	echo 'import torch' > train.py
	printf 'try:\n    import torch\nexcept ImportError:\n    torch = None\nprint("without")\n' > either.py
	run -1 "$davy" run -- bare/bin/python train.py
	[[ "$output" == *torch.not-installed*"not started"* ]]
	for command in "bare/bin/python either.py" "bare/bin/python -c print(1)" "sh -c true" "env bare/bin/python -m json.tool --help" "bare/bin/python -m this"; do
		run -0 "$davy" run --python bare -- $command
	done
	run -1 "$davy" run -q -- env A=1 bare/bin/python3 train.py
	[ "$(last 'd["attempt"]["outcome"]')" = refused ]
	run -66 "$davy" run --python nowhere/bin/python -- true
}

@test "NCCL_DEBUG=WARN where nothing is set, and nowhere else" {
	run -0 "$davy" run -q -- sh -c 'echo "<$NCCL_DEBUG>"'
	[ "$output" = "<WARN>" ]
	NCCL_DEBUG=INFO run -0 "$davy" run -q -- sh -c 'echo "<$NCCL_DEBUG>"'
	[ "$output" = "<INFO>" ]
	NCCL_DEBUG= run -0 "$davy" run -q -- sh -c 'echo "<$NCCL_DEBUG>"'
	[ "$output" = "<>" ]
	echo NCCL_DEBUG=TRACE > nccl.conf
	NCCL_CONF_FILE=$PWD/nccl.conf run -0 "$davy" run -q -- sh -c 'echo "<$NCCL_DEBUG>"'
	[ "$output" = "<>" ]
}

@test "a failing NCCL script is explained below its own log and stands in the history with its cause" {
	torch_here; no_gpu
	nccl_script
	run -1 "$davy" run -- /usr/bin/python3 nccl.py
	[[ "$output" == "[davy "*"Ready for gloo"*"before the start"*Traceback*"Distributed package doesn't have NCCL"*torch.cpu-build*certain*"python -c"*"attempt 1, exit status 1"* ]]
	[ "$(last 'd["attempt"]["outcome"], d["attempt"]["cause"], d["attempt"]["certainty"]')" = "failed torch.cpu-build certain" ]
	run -1 env LANG=zh_CN.UTF-8 LC_ALL= "$davy" run -- /usr/bin/python3 nccl.py
	[[ "$output" == *"第 2 次尝试，退出码 1"* && "$output" == *"安装的 PyTorch 是纯 CPU 版本"* ]]
	run --separate-stderr -1 "$davy" run --quiet -- /usr/bin/python3 nccl.py
	[[ "$(tail -n 1 <<<"$stderr")" == "davy: torch.cpu-build: "* ]]
}

@test "under torchrun the ranks of a node make one attempt, each with its log, and one of them speaks" {
	torch_here; no_gpu
	cat > ranks.py <<-'P'
	import os, sys, time
	print("rank", os.environ["RANK"], flush=True)
	import torch.distributed as dist
	dist.init_process_group(sys.argv[1])
	dist.barrier()
	P
	torchrun="/usr/bin/python3 -m torch.distributed.run --no_python --redirects 9:1 --tee 9:1 --nproc_per_node 2 --master_port 29534"
	run -0 timeout 60 $torchrun "$davy" run -- /usr/bin/python3 ranks.py gloo
	[ "$(grep -c '^\[davy [0-9]' <<<"$output")" = 1 ]
	[ "$(last 'd["attempt"]["id"], d["attempt"]["launcher"], d["attempt"]["outcome"], [r["rank"] for r in d["attempt"]["ranks"]]')" = "1 torchrun ok [0, 1]" ]
	[ "$("$davy" history log | sort)" = "rank 0"$'\n'"rank 1" ]
	run timeout 60 $torchrun "$davy" run -- /usr/bin/python3 ranks.py nccl
	[ "$status" -eq 1 ]
	[ "$(grep -c 'torch.cpu-build · certain' <<<"$output")" = 1 ] || [ "$(grep -c 'torch.cpu-build - certain' <<<"$output")" = 1 ]
	[ "$(last 'd["attempt"]["id"], d["attempt"]["outcome"], d["attempt"]["cause"]')" = "2 failed torch.cpu-build" ]
	# The other way round: Davy above torchrun.
	run timeout 60 "$davy" run -- ${torchrun/--no_python/} ranks.py nccl
	[ "$status" -eq 1 ]
	[ "$(last 'd["attempt"]["id"], d["attempt"]["cause"]')" = "3 torch.cpu-build" ]
}

@test "ranks of other launchers: mpirun's and srun's variables, and steps one after the other" {
	for i in 0 1; do OMPI_COMM_WORLD_RANK=$i OMPI_COMM_WORLD_LOCAL_RANK=$i OMPI_COMM_WORLD_SIZE=2 PMIX_NAMESPACE=job@1 "$davy" run -q --no-check -- true; done
	[ "$(last 'd["attempt"]["id"], d["attempt"]["launcher"], len(d["attempt"]["ranks"])')" = "1 mpirun 2" ]
	export SLURM_JOB_ID=77 SLURM_STEP_ID=0 SLURM_NTASKS=2
	for i in 0 1 0 1; do SLURM_PROCID=$i SLURM_LOCALID=$i sh -c '"$DAVY" run -q --no-check -- true'; done
	[ "$("$davy" history --json | json '[(a["launcher"], len(a["ranks"])) for a in d["attempts"]]')" = "[('mpirun', 2), ('srun', 2), ('srun', 2)]" ]
}

@test "under Open MPI's mpirun the ranks make one attempt" {
	command -v mpirun >/dev/null || skip "Open MPI is not installed"
	run timeout 60 mpirun --allow-run-as-root --oversubscribe -n 3 "$davy" run -q --no-check -- sh -c 'echo from $OMPI_COMM_WORLD_RANK; exit $((OMPI_COMM_WORLD_RANK == 1 ? 9 : 0))'
	[ "$status" -eq 9 ]
	[ "$(last 'd["attempt"]["id"], d["attempt"]["launcher"], d["attempt"]["outcome"], d["attempt"]["status"], [r["rank"] for r in d["attempt"]["ranks"]]')" = "1 mpirun failed 9 [0, 1, 2]" ]
}

@test "under Slurm's srun the tasks of a node make one attempt, each step and each node its own" {
	cat > slurm.py <<-'P'
	import json, os, subprocess, sys, types
	# The Slurm of the cluster's tests: all before its first test.
	path = sys.argv[1] + "/launchers.py"
	launchers = types.ModuleType("launchers")
	launchers.__file__ = path
	exec(compile(open(path).read().split("\ndef slurm(")[0], path, "exec"), launchers.__dict__)
	missing = launchers.has("slurmctld", "slurmd", "srun", "munged", "unshare") or (os.geteuid() != 0 and "slurmd needs root")
	if missing:
	    print(missing)
	    sys.exit(77)
	s = launchers.Slurm()
	try:
	    why = s.up()
	    if why:
	        print(why)
	        sys.exit(77)
	    env = dict(s.env, XDG_STATE_HOME=os.environ["XDG_STATE_HOME"])
	    davy = [os.environ["DAVY"], "run", "-q", "--no-check", "--", "sh", "-c"]
	    step = lambda *options: launchers.run(["srun"] + list(options[:-1]) + davy + [options[-1]], env)
	    results = [step("-N2", "--ntasks-per-node=2", "--overcommit", "exit 0")[0], step("-N1", "-n2", "--overcommit", "--kill-on-bad-exit=0", "exit $((SLURM_PROCID * 7))")[0]]
	    d = json.loads(subprocess.check_output([os.environ["DAVY"], "history", "--json"]))
	    print(results, [(a["launcher"], a["outcome"], a["status"], len(a["ranks"])) for a in d["attempts"]])
	finally:
	    s.close()
	P
	run timeout 100 python3 slurm.py "$BATS_TEST_DIRNAME/../network"
	[ "$status" -ne 77 ] || skip "$output"
	[ "$output" = "[0, 7] [('srun', 'ok', 0, 2), ('srun', 'ok', 0, 2), ('srun', 'failed', 7, 2)]" ] || { echo "$output"; false; }
}

@test "where nothing can be written the command runs as ever, is explained, and the loss is said" {
	run -3 env XDG_STATE_HOME=/proc/nowhere "$davy" run -- sh -c 'echo "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB"; exit 3'
	[[ "$output" == *"not recorded: /proc/nowhere/davy"* && "$output" == *program.gpu-out-of-memory* ]]
	run -0 env -u XDG_STATE_HOME -u HOME "$davy" run -- echo fine
	[[ "$output" == *fine*"not recorded"* ]]
	mkdir -p state/davy && echo "no database, but long enough to be read as if it were one: ................................................................................................" > state/davy/history.sqlite
	run -0 "$davy" run -- echo fine
	[[ "$output" == *fine*"damaged"* ]]
	run -2 "$davy" history
	[[ "$output" == *"history.sqlite is damaged"* ]]
	rm state/davy/history.sqlite
	# Somebody holds the ledger all the time.
	"$davy" run -q --no-check -- true
	python3 -c 'import sqlite3, time, sys; c = sqlite3.connect("state/davy/history.sqlite"); c.execute("BEGIN EXCLUSIVE"); print("held", flush=True); time.sleep(600)' > held & holder=$!
	while [ ! -s held ]; do sleep 0.05; done
	SECONDS=0
	run -0 timeout 100 "$davy" run -- echo fine
	kill $holder
	[[ "$output" == *fine*"others kept it busy"* ]]
	[ $SECONDS -lt 40 ] # the holder holds it for ten minutes
}

@test "a full disk: what was recorded stays, the command runs, the loss is said, and later attempts are recorded again" {
	unshare -m true 2>/dev/null || skip "no mount namespace here"
	cat > full.sh <<-'S'
	mount -t tmpfs -o size=700k none "$PWD/disk" || exit 77
	export XDG_STATE_HOME=$PWD/disk
	"$DAVY" run -q --no-check -- sh -c 'exit 0' || exit 1
	head -c 10000000 /dev/zero > disk/ballast 2>/dev/null
	"$DAVY" run --no-check -- sh -c 'echo still; exit 5' > said 2>&1
	[ $? = 5 ] || exit 2
	grep -q still said && grep -q "not recorded: .*full\|not recorded: .*No space\|log is not whole" said || { cat said; exit 3; }
	"$DAVY" run -q --no-check -- sh -c 'head -c 50000000 /dev/urandom | base64' | tail -n 1 | wc -c | grep -qx 77 || [ $? = 0 ] || exit 4
	rm disk/ballast
	"$DAVY" run -q --no-check -- sh -c 'exit 0' || exit 5
	"$DAVY" history --json
	S
	mkdir disk
	run --separate-stderr unshare -m sh full.sh
	[ "$status" -ne 77 ] || skip "no tmpfs here"
	[ "$status" -eq 0 ] || { echo "$status $output $stderr"; false; }
	[ "$(json '(d["attempts"][0]["outcome"], d["attempts"][-1]["outcome"])' <<<"$output")" = "('ok', 'ok')" ]
}
