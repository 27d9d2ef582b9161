#!/usr/bin/env bats
# davy check, snapshot, query, cause on this machine: the contract.

bats_require_minimum_version 1.5.0

setup() {
	davy=${DAVY:-$BATS_TEST_DIRNAME/../../build/davy}
	source=${DAVY_SOURCE:-$BATS_TEST_DIRNAME/../..}
	cd "$BATS_TEST_TMPDIR"
}

json() { python3 -c "import json,sys; d=json.load(sys.stdin); print($1)"; }
torch_here() { [ -d /usr/lib/python3/dist-packages/torch ] || skip "python3-torch is not installed"; }
no_gpu() { [ ! -e /dev/nvidiactl ] || skip "this host has NVIDIA GPUs"; }

@test "the distribution's PyTorch on a host without GPU is ready for gloo" {
	torch_here; no_gpu
	run -0 "$davy" check --json --python /usr/bin/python3
	[ "$(json 'd["verdict"], d["backend"], [f["cause"] for f in d["findings"] if f["status"] == "fail"]' <<<"$output")" = "ready gloo []" ]
}

@test "the same PyTorch asked for nccl is a CPU build" {
	torch_here; no_gpu
	run -1 "$davy" check --json --for nccl --python /usr/bin/python3
	[ "$(json 'd["findings"][0]["cause"]' <<<"$output")" = torch.cpu-build ]
	[ "$(json 'd["verdict"]' <<<"$output")" = not-ready ]
}

@test "a snapshot is judged as the machine was, as an archive and as a folder, redacted and not" {
	torch_here
	"$davy" check --json --for nccl --python /usr/bin/python3 > live.json || true
	for form in "a.tar.zst" "a" "b.tar.zst --no-redact"; do
		"$davy" snapshot $form --for nccl --python /usr/bin/python3
		"$davy" check --json --for nccl --python /usr/bin/python3 --from ${form% *} > replay.json || true
		python3 - <<-'P'
		import json
		a, b = (json.load(open(f)) for f in ("live.json", "replay.json"))
		key = lambda d: (d["verdict"], [(f["cause"], f["status"], f["certainty"], f["rule"]) for f in d["findings"]], d["stages"])
		assert key(a) == key(b), (key(a), key(b))
		for table in ("package", "torch", "nccl", "library", "gpu_code", "interface", "limit", "mount"):
		    assert len(a["facts"].get(table, [])) == len(b["facts"].get(table, [])), table
		P
	done
}

@test "a snapshot keeps private data at home" {
	export HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz NCCL_SOCKET_IFNAME=eth0 HOME=/home/alicia WANDB_API_KEY=0123456789abcdef0123456789abcdef
	"$davy" snapshot s --python /usr/bin/python3
	run grep -rqE 'hf_abcdef|alicia|0123456789abcdef' s
	[ "$status" -eq 1 ]
	grep -q 'env NCCL_SOCKET_IFNAME=eth0' s/davy-snapshot.txt
	mac=$(cat /sys/class/net/*/address | grep -v 00:00:00:00:00:00 | head -1)
	if [ -n "$mac" ]; then run grep -rq "$mac" s; [ "$status" -eq 1 ]; fi
	run -0 "$davy" snapshot --show --python /usr/bin/python3
	[[ "$output" == *"file    /etc/os-release"* ]]
	[ ! -e davy-snapshot ]
}

@test "no socket, no written file, no vendor library in the main process" {
	command -v strace >/dev/null || skip "strace is not installed"
	for args in "check --python /usr/bin/python3" "cause" "query SELECT*FROM(package)" "inspect /bin/sh" "explain $source/tests/reports/nccl-not-built/input.txt"; do
		[ "${args%% *}" = explain ] && [ ! -f "$source/tests/reports/nccl-not-built/input.txt" ] && continue
		strace -o trace -e trace=mmap,socket,connect,open,openat,creat,unlink,unlinkat,rename,mkdir,mkdirat,truncate "$davy" $args >/dev/null || true
		run grep -E 'socket\(|connect\(|O_WRONLY|O_RDWR|O_CREAT|creat\(|unlink|rename|mkdir|truncate' trace
		[ "$status" -eq 1 ] || { echo "$args: $output"; false; }
		run grep -E 'mmap.*PROT_EXEC' trace
		[ "$status" -eq 1 ] || { echo "$args: $output"; false; }
	done
}

@test "the main program is static" {
	run file "$davy"
	[[ "$output" == *"statically linked"* ]]
}

@test "without PATH, without environment, as nobody, with a small stack it still answers" {
	run env -i "$davy" check --quiet
	[ "$status" -le 2 ]
	PATH= run "$davy" check --json
	[ "$status" -le 2 ]
	run bash -c "ulimit -s 1024; '$davy' check --json --python /usr/bin/python3 | python3 -c 'import json,sys; json.load(sys.stdin)'"
	[ "$status" -eq 0 ]
	if [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1 && command -v setpriv >/dev/null; then
		cp "$davy" /tmp/davy-nobody.$$ && chmod 755 /tmp/davy-nobody.$$
		run setpriv --reuid=65534 --regid=65534 --clear-groups /tmp/davy-nobody.$$ check --json
		rm -f /tmp/davy-nobody.$$
		[ "$status" -le 2 ]
	fi
}

@test "without /proc, without /sys, in an empty root, read-only: gaps, an answer" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	command -v unshare >/dev/null || skip "unshare is missing"
	mkdir -p root && cp "$davy" root/davy
	run chroot root /davy check --json
	[ "$status" -le 2 ]
	echo "$output" | json 'd["verdict"]'
	run unshare -m bash -c "mount -t tmpfs none /proc && mount -t tmpfs none /sys && '$davy' check --json"
	[ "$status" -le 2 ]
	echo "$output" | json 'd["verdict"]'
	run unshare -m bash -c "mount --bind root root && mount -o remount,ro,bind root && chroot root /davy check --quiet"
	[ "$status" -le 2 ]
}

@test "an empty directory as a root is no ready machine and no crash" {
	mkdir empty
	run "$davy" check --json --root empty
	[ "$status" -le 2 ]
	[ "$(json 'd["schema"]' <<<"$output")" = davy/1 ]
}

@test "a root with traps: FIFO, device, directory for a file, huge file, link loops and links that want out" {
	mkdir -p r/etc r/proc r/sys r/usr/bin r/usr/lib
	mkfifo r/etc/os-release
	mkdir r/etc/hosts
	ln -s /etc/passwd r/etc/machine-id
	ln -s loop r/etc/hostname; ln -s hostname r/etc/loop
	ln -s ../../../../../../etc/passwd r/usr/lib/os-release
	truncate -s 100G r/proc/meminfo
	ln -s /usr/bin/python3.9 r/usr/bin/python3
	[ "$(id -u)" != 0 ] || mknod r/etc/nccl.conf c 1 5
	run timeout 10 "$davy" check --json --root r
	[ "$status" -le 2 ]
	run grep -c 'root:x:0' <<<"$output"
	[ "$output" = 0 ]
}

@test "a query collects what it asks about, and says the same as when all is collected" {
	for table in python sys_path startup_code program local_module package conda_package requirement requirement_conflict integrity numpy_user torch system; do
		"$davy" query --json --python /usr/bin/python3 "SELECT * FROM $table" > narrow
		"$davy" query --json --python /usr/bin/python3 "SELECT t.* FROM $table t JOIN (SELECT count(*) FROM gap)" > wide
		grep -vE '_bytes"|"uptime_s"' narrow > a; grep -vE '_bytes"|"uptime_s"' wide > b
		cmp a b
	done
	[ "$(grep -c '"name"' <("$davy" query --json --python /usr/bin/python3 "SELECT name FROM package"))" -gt 3 ]
	command -v strace >/dev/null || skip "no strace"
	strace -f -o calls "$davy" query --python /usr/bin/python3 "SELECT count(*) FROM package"
	run -1 grep -q -e /sys/bus/pci -e 'libtorch' calls
	strace -f -o calls "$davy" query "SELECT count(*) FROM rule"
	run -1 grep -q -e pyvenv.cfg -e /sys/bus/pci calls
}

@test "query is read-only and bounded" {
	run -0 "$davy" query "SELECT count(*) AS n FROM package" --json
	[ "$(json 'd["rows"][0]["n"] >= 0' <<<"$output")" = True ]
	run -64 "$davy" query "DELETE FROM package"
	run -64 "$davy" query "ATTACH 'x.db' AS x"
	[ ! -e x.db ]
	run -64 "$davy" query "SELECT 1; SELECT 2"
	run -64 "$davy" query "SELECT nothing FROM nowhere"
	run -2 timeout 20 "$davy" query "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
	run -0 "$davy" query --schema
	[[ "$output" == *"requirement_conflict"* ]]
}

@test "cause: the list, one, none, both languages" {
	run -0 "$davy" cause
	[[ "$output" == *"torch.cpu-build"* ]]
	run -0 "$davy" cause host.shm-too-small --lang zh_CN
	[[ "$output" == *"共享内存"* || "$output" == *"/dev/shm"* ]]
	run -66 "$davy" cause no.such-cause
	run -0 "$davy" cause torch.cpu-build --json
	[ "$(json 'd["causes"][0]["cause"]' <<<"$output")" = torch.cpu-build ]
}

@test "wrong usage is 64, a missing input 66, and says why" {
	run -64 "$davy" nonsense
	run -64 "$davy" check --nonsense
	run -64 "$davy" check --lang tlh
	run -64 "$davy" check argument
	run -64 "$davy" check --root / --from /
	run -66 "$davy" check --from /nowhere
	run -66 "$davy" check --root /nowhere
	echo garbage > g.tar.zst
	run -66 "$davy" check --from g.tar.zst
	[[ "$output" == *"g.tar.zst"* ]]
	mkdir d; run -66 "$davy" check --from d
	[[ "$output" == *"davy-snapshot.txt"* ]]
	run -66 "$davy" check --python /nowhere/python
	run -66 "$davy" explain /nowhere.log
	: > empty.log; run -66 "$davy" explain empty.log
}

@test "a snapshot goes to no place half-written" {
	run "$davy" snapshot /nowhere/x.tar.zst
	[ "$status" -ne 0 ]
	mkdir full; run "$davy" snapshot full
	[ "$status" -ne 0 ]
	[ -z "$(ls full)" ]
}

@test "colours, columns, languages" {
	run "$davy" check
	[[ "$output" != *$'\033'* ]]
	run "$davy" check --color always
	[[ "$output" == *$'\033'* ]]
	for lang in en zh_CN; do
		"$davy" check --lang $lang --for nccl --python /usr/bin/python3 > out || true
		python3 - out <<-'P'
		import sys, unicodedata
		for line in open(sys.argv[1], encoding="utf-8"):
		    line = line.rstrip("\n")
		    width = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
		    # Commands are copied by people: they are never broken.
		    assert width <= 80 or "pip " in line or "python " in line or "/" in line, (width, line)
		P
	done
	LC_ALL=C run "$davy" check --from "$source/tests/hosts/gpu-host-cpu-torch"
	[[ "$output" != *"✓"* ]]
}

@test "quiet, brief, header, verbose" {
	run -0 "$davy" check --quiet --from "$source/tests/hosts/h100x8"
	[ -z "$output" ]
	run -1 "$davy" check --quiet --from "$source/tests/hosts/gpu-host-cpu-torch"
	[ "$(wc -l <<<"$output")" -eq 1 ]
	[[ "$output" == *torch.cpu-build* ]]
	run "$davy" check --brief --from "$source/tests/hosts/h100x8"
	[ "$(wc -l <<<"$output")" -le 40 ]
	[[ "$output" == *"NVIDIA H100"* ]]
	run "$davy" check --header --from "$source/tests/hosts/h100x8"
	[ "$(wc -l <<<"$output")" -le 6 ]
	run "$davy" check --verbose --from "$source/tests/hosts/h100x8"
	[[ "$output" == *"gpu[1].name = "* ]]
}

@test "evidence reads: one place once, sizes with a unit, no names of what is named" {
	run -1 "$davy" check --from "$source/tests/hosts/host-shm-64mb"
	[[ "$output" == *"seen      mount.size = 64 MB   /dev/shm"* ]]
	run -1 "$davy" check --verbose --from "$source/tests/hosts/host-shm-64mb"
	[[ "$output" == *"mount.size_bytes = 67108864"* ]]
	run -1 "$davy" check --from "$source/tests/hosts/driver-too-old"
	[[ "$output" == *"seen      torch.version = 2.8.0+cu128, cuda = 12.8"* ]]
	[ "$(grep -c 'torch/version.py$' <<<"$output")" = 1 ]
	run -1 "$davy" check --from "$source/tests/hosts/gpu-host-cpu-torch"
	[[ "$output" != *"torch.location = "* ]] || [ "$(grep -c '^ *\(torch.location = \)\?/opt/venv/lib/python3.12/site-packages/torch$' <<<"$output")" = 1 ]
}

@test "options of all commands may stand before the command; help knows the language and unknown words" {
	run -0 "$davy" --lang zh_CN help explain
	[[ "$output" == *"找出失败的根本原因"* ]]
	run -1 "$davy" --lang zh_CN check --from "$source/tests/hosts/host-shm-64mb"
	[[ "$output" == *"未就绪"* ]]
	run -64 "$davy" help explan
	printf 'Found existing installation: torch 2.6.0\nSuccessfully installed torch-2.7.1\n' > pip.log
	run "$davy" explain pip.log
	[[ "$output" != *"It failed"* ]]
}

@test "Markdown and HTML for sharing: private data replaced, text escaped" {
	run -1 "$davy" check --markdown --html page.html --from "$source/tests/hosts/gpu-host-cpu-torch"
	[[ "$output" == *'(`torch.cpu-build`'* ]]
	[[ "$output" != *trainer-3* ]]
	grep -q '<section class="fail">' page.html
	run grep -c trainer-3 page.html
	[ "$output" = 0 ]
	"$davy" check --markdown --no-redact --from "$source/tests/hosts/gpu-host-cpu-torch" > kept.md || true
	grep -q trainer-3 kept.md
	printf 'RuntimeError: CUDA error: no kernel image is available <script>alert(1)</script> `x`\n' > evil.log
	run "$davy" explain --markdown --html evil.html evil.log
	run grep -c '<script>' evil.html
	[ "$output" = 0 ]
	run "$davy" check --html /nowhere/page.html
	[ "$status" -eq 70 ]
}

@test "SQL functions on versions, requirements and markers" {
	run -0 "$davy" query --json --from "$source/tests/hosts/h100x8" "SELECT pep440_cmp('1.0rc1', '1.0') AS a, pep440_cmp('1.0', 'x') AS b, pep440_match('2.4.1+cu121', '>=2.4,<2.5') AS c, pep508_match('torch (>=2.1,<3)', 'Torch', '3.0') AS d, marker('python_version >= \"3.8\" and sys_platform == \"linux\"') AS e, arch_runs(90, 'sm_80 compute_80') AS f, arch_runs(80, 'sm_90a') AS g, driver_runs('525.60.13', '12.8') AS h, driver_runs('525.60.12', '12.0') AS i"
	[ "$(json '[d["rows"][0][k] for k in "abcdefghi"]' <<<"$output")" = "[-1, None, 1, 0, 1, 2, 0, 1, 0]" ]
}

@test "check --deep says on a terminal how far it is, and only there" {
	DAVY=$davy run timeout 200 python3 "$BATS_TEST_DIRNAME/terminal.py" progress
	[ "$status" -eq 0 ] || { echo "$output"; false; }
}
