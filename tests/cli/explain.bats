#!/usr/bin/env bats
# davy explain: kinds of input, damage, --follow, --timeline.

bats_require_minimum_version 1.5.0

setup() {
	davy=${DAVY:-$BATS_TEST_DIRNAME/../../build/davy}
	cd "$BATS_TEST_TMPDIR"
	cat > oom.log <<-'LOG'
	[rank0]: step 41 loss 2.1022
	[rank1]: step 41 loss 2.1022
	[rank1]: Traceback (most recent call last):
	[rank1]:   File "/w/train.py", line 88, in <module>
	[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 1 has a total capacity of 79.15 GiB of which 1.06 GiB is free.
	[rank0]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2027, remote process exited or there was a network error, NCCL version 2.21.5
	LOG
	printf 'step 1 loss 3.2\nstep 2 loss 3.1\n' > fine.log
}

cause() { python3 -c 'import json,sys; f=json.load(sys.stdin)["findings"]; print(f[0]["cause"], f[0]["rank"])'; }

@test "plain, packed, UTF-16, CRLF, coloured, quoted, numbered, as JSON: one answer" {
	gzip -c oom.log > a.gz; xz -c oom.log > a.xz; zstd -q -c oom.log > a.zst
	iconv -t UTF-16 oom.log > utf16.log
	iconv -t UTF-16BE oom.log > utf16be.log
	sed 's/$/\r/' oom.log > crlf.log
	sed 's/Error/\x1b[31mError\x1b[0m/; s/CUDA/\x1b[1mCUDA\x1b[m/' oom.log > colour.log
	sed 's/^/> /; s/</\&lt;/g; s/>/\&gt;/g; s/^&gt;/>/' oom.log > quote.log
	awk '{printf "%5d\t%s\n", NR, $0}' oom.log > numbered.log
	python3 -c 'import json; [print(json.dumps({"log": l, "stream": "stderr", "time": "2025-01-01T00:00:00.0Z"}, separators=(",", ":"))) for l in open("oom.log")]' > docker.log
	sed 's/^/2025-01-01T00:00:00.123456789Z stderr F /' oom.log > cri.log
	sed 's/^/[pod\/job-worker-1\/pytorch] /' oom.log > kubectl.log
	(head -c 30000 /dev/zero; cat oom.log) > nul.log
	for f in oom.log a.gz a.xz a.zst utf16.log utf16be.log crlf.log colour.log quote.log numbered.log docker.log cri.log kubectl.log nul.log; do
		run --separate-stderr "$davy" explain --json "$f"
		[ "$status" -eq 1 ] || { echo "$f: $status"; false; }
		[ "$(cause <<<"$output")" = "program.gpu-out-of-memory 1" ] || { echo "$f: $(cause <<<"$output")"; false; }
	done
}

@test "a cut archive is used as far as it goes, and that is said" {
	for i in $(seq 2000); do echo "step $i loss $RANDOM"; done | cat oom.log - | gzip -c > whole.gz
	head -c 9000 whole.gz > cut.gz
	run --separate-stderr "$davy" explain --json cut.gz
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"cut.gz: the archive ends too early"* ]]
	[ "$(cause <<<"$output")" = "program.gpu-out-of-memory 1" ]
}

@test "a bomb of zeros and one endless line end soon, in little memory" {
	dd if=/dev/zero bs=1M count=2048 2>/dev/null | zstd -q -1 -c > bomb.zst
	head -c 300000000 /dev/zero | tr '\0' 'x' > endless.log
	for f in bomb.zst endless.log; do
		run timeout 20 python3 -c '
import resource, subprocess, sys
rc = subprocess.run([sys.argv[1], "explain", "--quiet", sys.argv[2]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
print(rc, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 96 << 10)' "$davy" "$f"
		[ "$status" -eq 0 ]
		[[ "$output" == *True ]] || { echo "$f: $output"; false; }
	done
}

@test "no input: empty, absent, a folder without logs, binary rubbish" {
	: > empty; mkdir none
	head -c 100000 /dev/urandom > rubbish
	run -66 "$davy" explain empty
	run -66 "$davy" explain absent.log
	run -66 "$davy" explain none
	run -2 "$davy" explain rubbish
}

@test "a folder of ranks: one answer, the rank that failed first" {
	mkdir ranks
	for r in $(seq 0 15); do
		{ echo "[rank$r]: step 9 loss 2.0"; [ "$r" = 11 ] && echo "[rank$r]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB."
		  [ "$r" = 11 ] || echo "[rank$r]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2027, remote process exited or there was a network error"; } > ranks/rank$r.log
	done
	run --separate-stderr "$davy" explain --json ranks
	[ "$status" -eq 1 ]
	[ "$(cause <<<"$output")" = "program.gpu-out-of-memory 11" ]
}

@test "--follow speaks once, when the cause is clear" {
	head -2 oom.log > grow.log
	"$davy" explain --follow --json grow.log > said & follower=$!
	sleep 0.6
	kill -0 $follower
	tail -n +3 oom.log >> grow.log
	rc=0; wait $follower || rc=$?
	[ "$rc" -eq 1 ]
	[ "$(cause < said)" = "program.gpu-out-of-memory 1" ]
	rc=0; "$davy" explain --follow - < fine.log > said || rc=$?
	[ "$rc" -eq 0 ]
}

@test "--follow goes on with the next file when a log is rotated, shorter or longer" {
	for more in 0 100; do
		for i in 1 2 3; do echo "[rank0]: step $i loss 3.21 and a line that is as long as what comes in the next file, which hides there"; done > grow.log
		timeout 60 "$davy" explain --follow --json grow.log > said & follower=$!
		sleep 1
		mv grow.log grow.log.1
		{ sed -n 5p oom.log; for i in $(seq $more); do echo "line $i of the next file"; done; } > grow.log
		rc=0; wait $follower || rc=$?
		[ "$rc" -eq 1 ]
		[ "$(cause < said)" = "program.gpu-out-of-memory 1" ]
	done
}

# followed OUT SCRIPT [ARG]: what --follow says while SCRIPT changes the files beneath it.
followed() {
	timeout 60 "$davy" explain --follow --json "${3:-grow.log}" > "$1" 2> noise & local follower=$!
	sleep 0.8
	eval "$2"
	local rc=0; wait $follower || rc=$?
	[ "$rc" -eq 1 ]
	[ "$(cause < "$1")" = "program.gpu-out-of-memory 1" ]
}

@test "--follow answers from what it has seen when the file is removed, truncated or moved away before" {
	for then in 'rm grow.log' ': > grow.log' 'mv grow.log old.log; echo "step 2" > grow.log'; do
		echo "step 1" > grow.log
		followed said "cat oom.log >> grow.log; sleep 1; $then"
	done
	# Written and moved within one look: the file that is held open has it.
	echo "step 1" > grow.log
	followed said 'cat oom.log >> grow.log; mv grow.log old.log; echo "step 2" > grow.log'
	# It says that it waits for a log that is gone.
	echo "step 1" > grow.log
	followed said 'rm grow.log; sleep 1; cp oom.log grow.log'
	grep -q 'grow.log is gone; waiting' noise
}

@test "--follow sees logs that begin later, in a folder and by a pattern; a packed one is read as it is" {
	mkdir later
	followed said 'cp oom.log later/rank3.log' later
	rm later/*; echo "step 1" > later/rank0.log
	followed said 'cp oom.log later/rank3.log' 'later/*.log'
	gzip -k oom.log
	followed said : oom.log.gz
	rm oom.log.gz
}

@test "--follow that asks twice, the second time after hundreds of lines of a list" {
	echo "step 1" > grow.log
	followed said '{ echo "\$ pip freeze"; echo torch==2.4.1; seq -f "pkg%g==1.0" 900; echo "[rank1]: RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:1275, unhandled system error, NCCL version 2.18.1"; } >> grow.log
		sleep 4; echo "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB." >> grow.log'
}

@test "what could not be read is said, and is no clean answer" {
	python3 - <<-'EOF'
		import io, zipfile
		def packed(name, data):
		    b = io.BytesIO()
		    with zipfile.ZipFile(b, "w") as z:
		        z.writestr(name, data)
		    return b.getvalue()
		data = b"step 1 loss 2.0\n"
		for depth in range(12):
		    data = packed("part.zip" if depth else "a.log", data)
		open("deep.zip", "wb").write(data)
	EOF
	run --separate-stderr "$davy" explain deep.zip
	[ "$status" -eq 66 ]
	[[ "$stderr" == *"unpack it"* ]]
	run --separate-stderr "$davy" explain fine.log deep.zip
	[ "$status" -eq 2 ]
	[[ "$output" == *"not all of it could"* ]]
	printf 'step 1 loss 2.0\nstep 2 loss 1.9\n' > $'odd\n\e[31mname.log'
	run --separate-stderr "$davy" explain --json $'odd\n\e[31mname.log'
	[ "$status" -eq 0 ]
	run "$davy" explain $'odd\n\e[31mname.log'
	[[ "$output" != *$'\e[31m'* ]]
}

@test "commands have the log's own values: port, name, node and GPU" {
	echo 'RuntimeError: The server socket has failed to listen on any local network address. The server socket has failed to bind to [::]:29777 (errno: 98 - Address already in use).' > port.log
	run "$davy" explain --color never port.log
	[[ "$output" == *"ss -ltn | grep :29777"* ]]
	echo 'torch.distributed.DistNetworkError: The client socket has failed to connect to any network address of (no-such-node, 29500). The IPv4 network addresses of (no-such-node, 29500) cannot be retrieved (gai error: -2 - Name or service not known).' > name.log
	run "$davy" explain --color never name.log
	[[ "$output" == *"getent ahosts no-such-node"* ]]
	{ for i in 0 1 2 3; do echo "GPU $i: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-00000000000$i)"; done
	  echo 'Nov 12 10:01:02 gpu07 kernel: NVRM: Xid (PCI:0000:9b:00): 119, pid=4711, name=python, Timeout after 6s of waiting for RPC response from GPU3 GSP!'; } > xid.log
	run "$davy" explain --color never xid.log
	[[ "$output" == *"--gpu-reset -i 0000:9b:00.0"* ]]
	# Where nothing is known the place for it is shown, and a value is one word of the shell.
	run "$davy" cause launch.port-in-use
	[[ "$output" == *"grep :29500"* ]]
	echo 'torch.distributed.DistNetworkError: The client socket has failed to connect to any network address of (a;reboot, 29500). The IPv4 network addresses of (a;reboot, 29500) cannot be retrieved (gai error: -2 - Name or service not known).' > evil.log
	run "$davy" explain --color never evil.log
	[[ "$output" == *'getent ahosts a\;reboot'* || "$output" == *"getent ahosts 'a;reboot'"* ]]
}

@test "--timeline is in the order of the clock" {
	printf '%s\n' '[rank0]:[E1122 03:14:05.123456789 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds before timing out.' \
		'[rank1]:[E1122 03:04:05.123456789 ProcessGroupNCCL.cpp:1595] [Rank 1] Process group watchdog thread terminated with exception: CUDA error: an illegal memory access was encountered' > time.log
	run "$davy" explain --timeline --color never time.log
	[[ "${lines[0]}" == *03:04:05*"rank 1"* ]]
	run "$davy" explain --timeline --lang zh_CN --color never time.log
	[[ "${lines[0]}" == *证据* && "${lines[1]}" == *后果* && "$output" != *consequence* ]]
	# A line that several patterns know is told once, as the strongest says.
	run "$davy" explain --all --color never time.log
	[[ "$(sed '/^$/q' <<<"$output" | grep time.log:2)" == *"evidence "* ]]
	[ "$(sed '/^$/q' <<<"$output" | grep -c time.log:2)" = 1 ]
}

@test "whose log it is, by the file's name: torchrun's folders, rank files" {
	mkdir -p run/attempt_0/3 run/attempt_0/0 flat
	echo '{"message": {"message": "OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB", "extraInfo": {"py_callstack": "Traceback (most recent call last):\n  File \"t.py\", line 3, in f\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB\n", "timestamp": "1718000000"}}}' > run/attempt_0/3/error.json
	echo 'ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.' > run/attempt_0/0/stderr.log
	run --separate-stderr "$davy" explain --json run
	[ "$(cause <<<"$output")" = "program.gpu-out-of-memory 3" ]
	for r in 0 1 2 3; do echo 'ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.' > flat/train-rank$r.log; done
	echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB' > flat/train-rank2.log
	run --separate-stderr "$davy" explain --json flat
	[ "$(cause <<<"$output")" = "program.gpu-out-of-memory 2" ]
}

@test "a report wrapped at the terminal's width is read as it was, and line numbers hold" {
	cat oom.log oom.log > long.log
	fold -w 80 long.log > wrapped.log
	run --separate-stderr "$davy" explain --json wrapped.log
	[ "$(cause <<<"$output")" = "program.gpu-out-of-memory 1" ]
	line=$(python3 -c 'import json,sys; d=json.load(sys.stdin); print([e["line"] for e in d["events"] if e["class"] == "evidence"][0])' <<<"$output")
	[ "$line" = "$(grep -n 'CUDA out of memory' wrapped.log | head -1 | cut -d: -f1)" ]
	# Lines of equal width that are none: the ranks say the same.
	for r in 0 1 2 3 4 5; do echo "[rank$r]: torch.distributed.DistBackendError: NCCL error, remote process exited or there was a network error"; done > same.log
	run --separate-stderr "$davy" explain --json same.log
	[ "$(python3 -c 'import json,sys; print(json.load(sys.stdin)["input"]["ranks"])' <<<"$output")" = 6 ]
}

@test "wrapped between words, in many lines or in one place" {
	cat oom.log oom.log > long.log
	fold -s -w 90 long.log | sed 's/ $//' > words.log
	run --separate-stderr "$davy" explain --json words.log
	[ "$(cause <<<"$output")" = "program.gpu-out-of-memory 1" ]
	printf '%s\n' 'node1:100:300 [2] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to' '192.168.20.12<50111> failed : No route to host' > once.log
	run --separate-stderr "$davy" explain --json once.log
	[ "$(cause <<<"$output")" = "network.peer-unreachable None" ]
	# By its own, the long line of a report that says nothing is joined with nothing that would say something.
	printf '%s\n' 'Everything of this training was fine, and the log has one rather long line, this one.' 'step 1 loss 3.2' > fine.log
	run -0 "$davy" explain fine.log
}

@test "archives of zip, also written to a pipe: each file counts for itself; cut, encrypted, packed in another way, bombs" {
	mkdir -p run/attempt_0
	for r in 0 1 2 3; do mkdir run/attempt_0/$r; echo 'ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.' > run/attempt_0/$r/stderr.log; done
	echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB' > run/attempt_0/2/stderr.log
	python3 - <<-'MAKE'
		import io, os, zipfile
		class Pipe(io.RawIOBase):
		    def __init__(self, f): self.f = f
		    def writable(self): return True
		    def write(self, b): return self.f.write(b)
		def pack(name, how, pipe=False, more=()):
		    with open(name, "wb") as f, zipfile.ZipFile(Pipe(f) if pipe else f, "w", how) as z:
		        z.writestr("run/", "")
		        for r in range(4):
		            z.write("run/attempt_0/%d/stderr.log" % r)
		        for n, text in more:
		            z.writestr(n, text)
		pack("deflated.zip", zipfile.ZIP_DEFLATED); pack("stored.zip", zipfile.ZIP_STORED); pack("pipe.zip", zipfile.ZIP_DEFLATED, True)
		pack("other.zip", zipfile.ZIP_DEFLATED); pack("nested.zip", zipfile.ZIP_DEFLATED)
		with zipfile.ZipFile("other.zip", "a", zipfile.ZIP_BZIP2) as z: z.writestr("late.log", "step 1\n" * 100)
		with zipfile.ZipFile("nested.zip", "w") as z: z.write("deflated.zip")
		pack("long.zip", zipfile.ZIP_DEFLATED, more=[("noise.bin", os.urandom(200000))])
		whole = open("long.zip", "rb").read(); open("cut.zip", "wb").write(whole[:100000])
		secret = bytearray(open("stored.zip", "rb").read()); at = secret.find(b"PK\3\4", 30); secret[at + 6] |= 1; open("secret.zip", "wb").write(secret)
		with zipfile.ZipFile("bomb.zip", "w", zipfile.ZIP_DEFLATED) as z:
		    with z.open("zeros.log", "w", force_zip64=True) as f:
		        for _ in range(2200): f.write(b"0123456 " * (1 << 17))
	MAKE
	for f in deflated.zip stored.zip pipe.zip other.zip nested.zip cut.zip secret.zip; do
		run --separate-stderr "$davy" explain --json $f
		[ "$(cause <<<"$output")" = "program.gpu-out-of-memory 2" ] || { echo "$f: $(cause <<<"$output") $stderr"; false; }
		case $f in
		other.zip) [[ "$stderr" == *"packed in a way that Davy does not know"* ]] ;;
		cut.zip) [[ "$stderr" == *"the archive ends too early"* ]] ;;
		secret.zip) [[ "$stderr" == *"encrypted"* ]] ;;
		*) [ -z "$stderr" ] ;;
		esac || { echo "$f: $stderr"; false; }
	done
	run --separate-stderr "$davy" explain --json - < pipe.zip
	[ "$(cause <<<"$output")" = "program.gpu-out-of-memory 2" ]
	run --separate-stderr timeout 60 "$davy" explain bomb.zip
	[[ "$stderr" == *"absurd size"* ]]
}

@test "archives of tar, packed or not: each file counts for itself, a cut one as far as it goes" {
	mkdir -p run/attempt_0
	for r in 0 1 2 3; do mkdir run/attempt_0/$r; echo 'ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.' > run/attempt_0/$r/stderr.log; done
	echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB' > run/attempt_0/2/stderr.log
	gzip run/attempt_0/1/stderr.log
	tar cf a.tar run; tar czf a.tgz run; tar cJf a.txz run; tar --zstd -cf a.tar.zst run; tar --format=pax -cf pax.tar run
	for f in a.tar a.tgz a.txz a.tar.zst pax.tar; do
		run --separate-stderr "$davy" explain --json $f
		[ "$status" -eq 1 ]
		[ "$(cause <<<"$output")" = "program.gpu-out-of-memory 2" ] || { echo "$f: $(cause <<<"$output")"; false; }
		[ -z "$stderr" ]
	done
	long=$(printf 'a%.0s' $(seq 90))/$(printf 'b%.0s' $(seq 90)); mkdir -p $long; cp run/attempt_0/2/stderr.log $long/rank9.log; echo x > $long/rank1.log; tar cf long.tar "${long%%/*}"
	run --separate-stderr "$davy" explain --json long.tar
	[ "$(cause <<<"$output")" = "program.gpu-out-of-memory 9" ]
	(echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB'; seq 100000) > big.log; tar czf big.tgz big.log; head -c 100000 big.tgz > cut.tgz
	run --separate-stderr "$davy" explain --json cut.tgz
	[ "$(cause <<<"$output")" = "program.gpu-out-of-memory None" ]
	[[ "$stderr" == *"cut.tgz"*"the archive ends too early"* ]]
	head -c 40000 /dev/zero > zeros; tar cf hostile.tar zeros; printf '%011o' 077777777777 | dd of=hostile.tar bs=1 seek=124 conv=notrunc 2>/dev/null
	run --separate-stderr timeout 10 "$davy" explain hostile.tar
	[ "$status" -ne 124 ]
}

@test "tools' output as nobody has it, twenty thousand devices, libraries and packages, ends soon" {
	python3 - <<-'PY'
	lines = {"lspci": ["%02x:%02x.0 3D controller: NVIDIA Corporation X\n\tLnkSta: Speed 16GT/s, Width x16" % (i // 32 % 256, i % 32) for i in range(20000)],
	         "ldd": ["lib%d.so.1 => not found" % i for i in range(20000)], "netdev": ["mlx5_%d port 1 ==> eth%d (Up)" % (i, i) for i in range(20000)],
	         "gpus": ["CUDA available: True", "GPU %s: NVIDIA A100" % ",".join(map(str, range(1000)))], "pip": ["Package Version", "------- -------"] + ["p%d 1.0" % i for i in range(20000)],
	         "json": ['[{"name": "p%d", "version": "1.0", ' % i for i in range(20000)], "ip": ['[ {', '"ifname": "eth0",'] * 10000, "smi": ["<nvidia_smi_log>", '<gpu id="00000000:18:00.0">'] * 10000,
	         "amd": ["GPU: 0", "GPU: 1"] * 10000, "route": ["Destination  Gateway Iface"] * 10000 + ["10.%d.%d.0/24 dev eth0 proto kernel" % (i // 256, i % 256) for i in range(10000)],
	         "env": ["export NCCL_X%d=1" % i for i in range(20000)], "topology": ['<system version="1">'] + ['<pci busid="0000:17:00.0" class="0x030200"><gpu dev="1" sm="90"/>'] * 20000}
	for name, text in lines.items():
	    open(name + ".log", "w").write("\n".join(text) + "\n")
	PY
	for f in lspci ldd netdev gpus pip env topology json ip smi amd route; do
		run timeout 20 "$davy" explain --quiet $f.log
		[ "$status" -le 2 ] || { echo "$f: $status"; false; }
	done
}

@test "a log and the snapshot of its machine are judged together" {
	hosts=$(cd "${DAVY_SOURCE:-$BATS_TEST_DIRNAME/../..}/tests/hosts" && pwd)
	echo 'RuntimeError: CUDA driver version is insufficient for CUDA runtime version' > train.log
	run -1 "$davy" explain --json --from "$hosts/cpu" train.log
	[[ "$output" == *'"driver.not-installed.insufficient-and-none"'* ]]
	run -66 --separate-stderr "$davy" explain --from nowhere train.log
	[[ "$stderr" == *"nowhere: No such file or directory"* ]]
	run -64 --separate-stderr "$davy" explain --from "$hosts/cpu" --root / train.log
}
