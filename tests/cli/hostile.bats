#!/usr/bin/env bats
# What wants to break davy: names, contents, environments, terminals and snapshots made by somebody else.

bats_require_minimum_version 1.5.0

setup() {
	davy=${DAVY:-$BATS_TEST_DIRNAME/../../build/davy}
	source=${DAVY_SOURCE:-$BATS_TEST_DIRNAME/../..}
	cd "$BATS_TEST_TMPDIR"
}

json() { python3 -c "import json,sys; d=json.load(sys.stdin); print($1)"; }

# A root with a Python of Debian's layout, whose interpreter is a copy of ours.
make_root() {
	site=$1/usr/lib/python3/dist-packages
	mkdir -p "$1/usr/bin" "$1/usr/lib/python3.11/lib-dynload" "$site"
	cp "$(readlink -f /usr/bin/python3)" "$1/usr/bin/python3.11"
	ln -s python3.11 "$1/usr/bin/python3"
	: > "$1/usr/lib/python3.11/os.py"
}

@test "standard output that cannot be written: 70 and a message, for every command" {
	[ -c /dev/full ] || skip "no /dev/full"
	for command in "check" "check --json" "check --brief" "--help" "--version" "cause" "query SELECT_1" "inspect /bin/sh" "snapshot --show" "snapshot a.tar.zst"; do
		read -ra words <<<"$command"
		rc=0; "$davy" "${words[@]//_/ }" >/dev/full 2>err || rc=$?
		[ "$rc" -eq 70 ]
		grep -q "standard output" err
	done
	rc=0; "$davy" check --lang zh_CN >/dev/full 2>err || rc=$?
	[ "$rc" -eq 70 ]; grep -q "标准输出" err
}

@test "closed standard files: no file of ours takes their place" {
	rc=0; "$davy" check >&- 2>/dev/null || rc=$?
	[ "$rc" -eq 70 ]
	"$davy" check --json > open.json || true
	"$davy" check --json <&- 2>&- > closed.json || true
	[ "$(json 'd["verdict"]' < open.json)" = "$(json 'd["verdict"]' < closed.json)" ]
	"$davy" snapshot all-closed.tar.zst <&- >&- 2>&- || true
	"$davy" check --from all-closed.tar.zst --json > replay.json || true
	[ "$(json 'd["verdict"]' < replay.json)" = "$(json 'd["verdict"]' < open.json)" ]
}

@test "names and contents with escape sequences, newlines and broken UTF-8 reach no terminal" {
	make_root root
	for name in $'torch\e[31m' $'a\nb' $'\xff\xfe' $'\xc2\x9b31m' $'\xe2\x80\xaegpj' '%s%n' '"q'"'" '包' '$(touch pwned)' ';touch pwned;'; do
		mkdir "$site/$name-1.0.dist-info"
		printf 'Name: %s\nVersion: 1.0\e]0;title\a\nRequires-Dist: \xff\e[2J\n' "${name//$'\n'/ }" > "$site/$name-1.0.dist-info/METADATA"
		printf 'pip\e[2J\n' > "$site/$name-1.0.dist-info/INSTALLER"
	done
	mkdir -p "$site/torch/lib" root/etc
	printf "__version__ = '2.3.0\e[31m%s'\n" "$(head -c 100000 /dev/zero | tr '\0' A)" > "$site/torch/version.py"
	: > "$site/torch/__init__.py"
	printf 'PRETTY_NAME="Evil \e]0;title\a OS"\nID=\xff\n' > root/etc/os-release
	for arguments in "check" "check --verbose" "check --brief" "check --header" "check --json" "check --quiet" "query SELECT_*_FROM_package" "query SELECT_*_FROM_gap" "query --json SELECT_*_FROM_gap" "snapshot --show"; do
		read -ra words <<<"$arguments"
		"$davy" "${words[@]//_/ }" --root "$PWD/root" > out || true
		[ -s out ] || [[ "$arguments" == *quiet ]]
		run env LC_ALL=C grep -aqE $'[\x01-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae' out
		[ "$status" -eq 1 ] || { echo "$arguments"; LC_ALL=C grep -aE $'[\x01-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae' out | cat -v | cut -c1-300 | head -3; false; }
		iconv -f UTF-8 -t UTF-8 out >/dev/null
		[ "$(wc -L < out)" -lt 3000 ] || [[ "$arguments" == *verbose || "$arguments" == *--json* || "$arguments" == snapshot* ]]
	done
	[ ! -e pwned ]
	"$davy" snapshot s --root "$PWD/root"
	[ "$(wc -l < s/davy-snapshot.txt)" -gt 10 ]
	[ "$("$davy" check --json --root "$PWD/root" | json '[f["cause"] for f in d["findings"]]')" = "$("$davy" check --json --from s | json '[f["cause"] for f in d["findings"]]')" ]
}

@test "what a shell would act on is escaped in commands" {
	odd="$PWD/my env; touch pwned"
	mkdir -p "$odd/bin" "$odd/lib/python3.11/site-packages"
	printf 'home = /usr/bin\nversion = 3.11.2\n' > "$odd/pyvenv.cfg"
	ln -s "$(readlink -f /usr/bin/python3)" "$odd/bin/python3"
	mkdir -p "$odd/lib/python3.11/site-packages/torch" "$odd/lib/python3.11/site-packages/torch-2.3.0.dist-info"
	printf 'Name: torch\nVersion: 2.3.0\n' > "$odd/lib/python3.11/site-packages/torch-2.3.0.dist-info/METADATA"
	: > "$odd/lib/python3.11/site-packages/torch/__init__.py"
	run -1 "$davy" check --json --python "$odd"
	json '"\n".join(c for f in d["findings"] for x in f["fixes"] for c in x["commands"])' <<<"$output" > commands
	grep -q 'my\\ env\\;\\ touch\\ pwned' commands
	run grep -q 'my env; touch' commands
	[ "$status" -eq 1 ]
}

@test "a root without Python, and a PyTorch without torch/_C, are not ready" {
	mkdir empty
	run -1 "$davy" check --json --root empty
	[ "$(json 'd["verdict"], d["findings"][0]["rule"]' <<<"$output")" = "not-ready torch.not-installed.no-python" ]
	make_root root
	mkdir -p "$site/torch/lib" "$site/torch-2.3.0.dist-info"
	printf 'Name: torch\nVersion: 2.3.0\n' > "$site/torch-2.3.0.dist-info/METADATA"
	printf "__version__ = '2.3.0'\n" > "$site/torch/version.py"
	: > "$site/torch/__init__.py"
	for l in libtorch.so libtorch_cpu.so libtorch_python.so libc10.so; do : > "$site/torch/lib/$l"; done
	run -1 "$davy" check --json --root root
	[ "$(json 'd["verdict"], d["findings"][0]["cause"]' <<<"$output")" = "not-ready torch.install-damaged" ]
	: > "$site/torch/_C.cpython-311-x86_64-linux-gnu.so"
	"$davy" check --json --root root > out || true
	[ "$(json 'd["verdict"]' < out)" != ready ]
}

@test "inspect of a snapshot: when, what, by whom, the verdict" {
	"$davy" snapshot a.tar.zst; "$davy" snapshot b --no-redact
	printf 'davy-snapshot 1\nworld closed\n' | install -D /dev/stdin c/davy-snapshot.txt
	for s in a.tar.zst b c; do
		"$davy" inspect --json $s > out
		rc=0; "$davy" check --json --from $s > check.json || rc=$?
		[ "$(json 'd["verdict"]' < out)" = "$(json 'd["verdict"]' < check.json)" ]
		if python3 -c 'import jsonschema' 2>/dev/null; then
			python3 -c 'import json, jsonschema, sys; jsonschema.validate(json.load(open("out")), json.load(open(sys.argv[1])))' "$source/docs/schema/davy-inspect-1.json"
		fi
	done
	[ "$("$davy" inspect --json a.tar.zst | json 'd["redacted"], d["written_by"]')" = "True $("$davy" --version | cut -d' ' -f2)" ]
	[ "$("$davy" inspect --json b | json 'd["redacted"], d["hostname"]')" = "False $(uname -n)" ]
	[ "$("$davy" inspect --json c | json 'd["redacted"], d["written_by"], d["time"]')" = "False None None" ]
	run -0 "$davy" inspect --lang zh_CN a.tar.zst
	[[ "$output" == *"快照"*"结论"* ]]
	printf 'x' > no.tar.zst; printf '\x28\xb5\x2f\xfdgarbage' > bad.tar.zst
	run -2 "$davy" inspect bad.tar.zst
	[[ "$output" == *"damaged"* ]]
	run -2 "$davy" inspect --json bad.tar.zst
	[ "$(json 'd["kind"]' <<<"$output")" = unknown ]
}

@test "snapshots made by somebody else: refused with a reason, or judged; never a crash, never outside" {
	python3 - <<-'P'
	import io, os, tarfile
	H = b"davy-snapshot 1\nworld open\n"
	def make(name, members):
	    t = tarfile.open(name, "w", format=tarfile.GNU_FORMAT)
	    for n, data, *more in members:
	        info = tarfile.TarInfo(n)
	        if more:
	            info.type, info.linkname = more
	        info.size = 0 if more else len(data)
	        t.addfile(info, io.BytesIO(data))
	    t.close()
	make("outside.tar", [("../../../outside", b"x"), ("files/../../etc/passwd", b"x"), ("/etc/x", b"z"), ("davy-snapshot.txt", H), ("digests/elf", b""), ("digests//", b""), ("probes/.json", b"{"), ("probes/nvml.json", b"{" * 100000)])
	make("links.tar", [("davy-snapshot.txt", b"", tarfile.SYMTYPE, "/etc/passwd"), ("files/etc/hosts", b"", tarfile.LNKTYPE, "/etc/shadow")])
	make("no-index.tar", [("files/etc/os-release", b"ID=debian\n")])
	make("newer.tar", [("davy-snapshot.txt", b"davy-snapshot 2\n")])
	make("base.tar", [("davy-snapshot.txt", H + b"base /etc\n")])
	lines = [b"link /a /b", b"link /etc ../../../etc/../etc", b"env", b"env =", b"env " + b"A" * 100000 + b"=x", b"env %ff%fe=%1b", b"limit memlock -1 -1", b"limit", b"time -5", b"cpus 99999999999999999999", b"uname %", b"uname", b"probe", b"probe x y z",
	    b"list / a b %2F.. .. . ../x %00", b"char /dev/nvidia0 -1 x y open", b"block /", b"stat-file /x 99999999999999999999 9999999 -1", b"error / EACCES", b"error /etc E999", b"absent /", b"remove /", b"fs / x y", b"fs-error /", b"head", b"head /x", b"digest-error / /", b"open", b"remove /etc/", b"link %2Fa %0A"]
	make("every-line.tar", [("davy-snapshot.txt", H + b"\n".join(lines)), ("files/etc/os-release", b"ID=x\n")])
	for i, line in enumerate(lines):
	    make("line%d.tar" % i, [("davy-snapshot.txt", H + line), ("files/proc/meminfo", b"MemTotal: 99999999999999999999999 kB\n")])
	whole = open("outside.tar", "rb").read()
	open("cut.tar", "wb").write(whole[:700])
	huge = bytearray(whole); huge[124:136] = b"77777777777\0"; open("huge.tar", "wb").write(huge)
	long = bytearray(whole); long[156:157] = b"L"; open("long.tar", "wb").write(long)
	os.makedirs("loop"); open("loop/davy-snapshot.txt", "wb").write(H + b"base ../loop\n")
	os.makedirs("traps/files"); open("traps/davy-snapshot.txt", "wb").write(H)
	os.mkfifo("traps/files/fifo"); os.symlink("/", "traps/files/root"); os.symlink(".", "traps/files/self"); open("traps/files/huge", "wb").truncate(100 << 30)
	os.makedirs("heavy/files"); open("heavy/davy-snapshot.txt", "wb").write(H)
	for i in range(12):
	    open("heavy/files/%d" % i, "wb").truncate(60 << 20)
	P
	head -c 600M /dev/zero | zstd -q -1 > bomb.tar.zst
	for s in *.tar *.tar.zst loop traps heavy /dev/zero /dev/null /proc/self/mem / /no/such; do
		rc=0; timeout 60 "$davy" check --json --from "$s" >out 2>err || rc=$? # against hanging: the sanitized one takes ten seconds of processor for the bomb
		case $s in
		links.tar | no-index.tar | newer.tar | base.tar | cut.tar | huge.tar | bomb.tar.zst | loop | heavy | /*) [ "$rc" -eq 66 ] && [ ! -s out ] && [ -s err ] || { echo "$s: $rc"; false; } ;;
		line*.tar) [ "$rc" -le 2 ] || [ "$rc" -eq 66 ] || { echo "$s: $rc"; false; } ;;
		*) [ "$rc" -le 2 ] || [ "$rc" -eq 66 ] || { echo "$s: $rc"; false; } ;;
		esac
		[ "$rc" -eq 66 ] || json 'd["verdict"]' < out >/dev/null
	done
	[ ! -e ../outside ] && [ ! -e /etc/x ]
}

@test "a root full of traps of size: bounded in memory and time, and no pass" {
	make_root root
	python3 - "$site" <<-'P'
	import os, struct, sys
	site = sys.argv[1]
	def info(name, metadata, record=b""):
	    d = "%s/%s-1.dist-info" % (site, name)
	    os.mkdir(d)
	    open(d + "/METADATA", "wb").write(metadata)
	    if record:
	        open(d + "/RECORD", "wb").write(record)
	    return d
	d = info("sparse", b"")
	for f in ("METADATA", "RECORD"):
	    open(d + "/" + f, "wb").truncate(1 << 30)
	body = b"Name: base\nVersion: 1\n" + b"Requires-Dist: a>=1\n" * 50000
	first = info("base", body, b"a/b.py,sha256=x,12\n" * 50000)
	for i in range(1000):
	    d = "%s/n%d-1.dist-info" % (site, i)
	    os.mkdir(d)
	    for f in ("METADATA", "RECORD"):
	        os.link(first + "/" + f, d + "/" + f)
	for i in range(3000):
	    open(site + "/p%d.pth" % i, "w").write("/usr/lib/python3/dist-packages\n../dist-packages\nimport os; os.system('touch pwned')\n")
	info("torch", b"Name: torch\nVersion: 2.3.0\nRequires-Dist: " + b"(" * 50000 + b"\n")
	os.makedirs(site + "/torch/lib")
	open(site + "/torch/version.py", "w").write("__version__ = '2.3.0'\n"); open(site + "/torch/__init__.py", "w")
	def elf(name, size, shnum=0xffff, shoff=64, phnum=0xffff, phoff=64):
	    f = open(site + "/torch/" + name, "wb")
	    f.write(b"\x7fELF\x02\x01\x01" + b"\0" * 9 + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, phoff, shoff, 0, 64, 56, phnum, 64, shnum, 0xffff))
	    f.write(b"\xff" * min(size - 64, 1 << 20)); f.truncate(size)
	elf("_C.cpython-311-x86_64-linux-gnu.so", 1 << 20)
	elf("lib/libtorch_cpu.so", 1 << 20, 0, 1 << 63); elf("lib/libtorch_cuda.so", 4 << 20, shoff=2**64 - 1, phoff=2**64 - 1); elf("lib/libtorch_python.so", 4 << 30, 0); elf("lib/libc10.so", 64)
	P
	mkdir -p root/etc/ld.so.conf.d
	printf 'include /etc/ld.so.conf.d/*.conf\ninclude /etc/ld.so.conf\n' > root/etc/ld.so.conf
	for i in $(seq 300); do printf 'include /etc/ld.so.conf.d/*.conf\n/lib/p%d\n' "$i" > "root/etc/ld.so.conf.d/$i.conf"; done
	{ printf 'glibc-ld.so.cache1.1\xff\xff\xff\xff\xff\xff\xff\xff'; head -c 100000 /dev/zero | tr '\0' '\377'; } > root/etc/ld.so.cache
	rc=0; timeout 60 "$davy" check --json --root "$PWD/root" > out || rc=$?
	[ "$rc" -eq 1 ] || [ "$rc" -eq 2 ]
	[ ! -e pwned ]
	for f in "$site"/torch/*.so "$site"/torch/lib/*.so; do
		rc=0; timeout 20 "$davy" inspect --json "$f" > out || rc=$?
		[ "$rc" -eq 1 ] || [ "$rc" -eq 2 ] || { echo "$f: $rc"; false; }
	done
}

@test "environments: large, thousands of entries, empty and relative ones, control characters" {
	names=$(seq -f '/p%.0f' -s : 9000)
	big=$(head -c 100000 /dev/zero | tr '\0' A)
	for settings in "PATH=$names:$PATH" "PATH=::.:./x:../y::$PATH:" "LD_LIBRARY_PATH=:.:../../..:\$ORIGIN:\${LIB}:;" "LD_PRELOAD=a b:c  ./d /no.so" "NCCL_DEBUG=$big" $'NCCL_\e[31m=x\e]0;a\a' $'NCCL_A=c\nd' \
		"PYTHONPATH=$names" "CUDA_VISIBLE_DEVICES=$(seq -s , 9000)" "WORLD_SIZE=99999999999999999999" "VIRTUAL_ENV=/x y" "HOME=" "PYENV_VERSION=../../.." "CONDA_PREFIX="$'\n'; do
		rc=0; env "$settings" timeout 20 "$davy" check --json > out || rc=$?
		[ "$rc" -le 2 ] || { echo "${settings:0:60}: $rc"; false; }
		json 'd["verdict"]' < out >/dev/null
		rc=0; env "$settings" timeout 20 "$davy" check > out || rc=$?
		[ "$(wc -L < out)" -lt 1200 ]
	done
}

@test "limits of the shell: stack, memory, file size, open files" {
	for limit in "-s 256" "-v 200000" "-n 8"; do
		(ulimit $limit; rc=0; "$davy" check --json > out || rc=$?; [ "$rc" -le 2 ] || { echo "$limit: $rc"; false; })
		json 'd["verdict"]' < out >/dev/null
	done
	run bash -c "ulimit -f 0; \"$davy\" snapshot a.tar.zst 2>&1 | cat; \"$davy\" snapshot b 2>&1 | cat"
	[[ "$output" == *"File too large"* ]]
	[ -z "$(ls -d a.tar.zst* b* 2>/dev/null)" ]
}

@test "query: no writing, no files, bounded in time, memory, values and rows" {
	for sql in "ATTACH 'x.db' AS x" "PRAGMA writable_schema=1" "INSERT INTO gpu(name) VALUES('x')" "CREATE TEMP TABLE t(a)" "VACUUM INTO 'v.db'" "SELECT 1; DROP TABLE gpu" "SELECT * FROM pragma_table_info('gpu')" "SELECT readfile('/etc/passwd')" "SELECT load_extension('x')" "" ";"; do
		rc=0; "$davy" query "$sql" >/dev/null 2>err || rc=$?
		[ "$rc" -eq 64 ] || [ "$rc" -eq 2 ] || { echo "$sql: $rc"; false; }
		[ -s err ]
	done
	[ -z "$(ls -- *.db 2>/dev/null)" ]
	numbers="WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
	for sql in "$numbers SELECT count(*) FROM c" "SELECT hex(zeroblob(500000000))" "SELECT replace(hex(zeroblob(10000)), '0', hex(zeroblob(50000)))" "SELECT * FROM package a, package b, package c, package d ORDER BY a.name || b.name || c.name || d.name"; do
		rc=0; (ulimit -v 900000; timeout 15 "$davy" query "$sql" >/dev/null 2>err) || rc=$?
		[ "$rc" -eq 2 ] || { echo "$sql: $rc"; cat err; false; }
	done
	(ulimit -v 900000; "$davy" query --json "$numbers SELECT hex(zeroblob(400000)) AS h FROM c" > out)
	[ "$(json 'd["truncated"], len(d["rows"]) < 200' < out)" = "True True" ]
	run -0 "$davy" query "SELECT x'ff00fe', char(27) || '[31m'"
	[[ "$output" != *$'\e'* ]]
}

@test "system calls that fail: an answer or a reason, no crash, and no pass when nothing could be read" {
	command -v strace >/dev/null && strace -o /dev/null -e trace=openat -e inject=openat:error=EIO:when=1000 true 2>/dev/null || skip "strace cannot inject faults here"
	for fault in openat:EIO:1+ openat:EACCES:5+7 openat:EMFILE:20+ read:EIO:1+3 pread64:EIO:1+ getdents64:EIO:1+ newfstatat:EIO:2+2 readlink:EIO:1+ statfs:EIO:1+ mmap:ENOMEM:3+ pipe2:EMFILE:1+ vfork:EAGAIN:1+ clone:EAGAIN:1+ clone3:EAGAIN:1+ poll:EINTR:1+2 wait4:ECHILD:1+ uname:EFAULT:1+; do
		IFS=: read -r call error when <<<"$fault"
		rc=0; timeout 30 strace -f -o /dev/null -e trace="$call" -e inject="$call:error=$error:when=$when" "$davy" check --json >out 2>err || rc=$?
		[ "$rc" -le 2 ] || { [ "$rc" -eq 70 ] && [ -s err ]; } || { echo "$fault: $rc"; false; }
		[ "$call:$when" != openat:1+ ] || [ "$rc" -ne 0 ]
	done
}

@test "a site directory that may not be listed is unknown, and is named; another user's home is no matter" {
	[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || skip "needs root to become another user"
	work=$(mktemp -d /tmp/davy-closed.XXXXXX); chmod 755 "$work"; cp "$davy" "$work/davy"
	make_root "$work/root"
	chmod 711 "$work/root"; chmod 000 "$work/root/usr/lib/python3/dist-packages"
	rc=0; setpriv --reuid=65534 --regid=65534 --clear-groups "$work/davy" check --root "$work/root" >text || rc=$?
	setpriv --reuid=65534 --regid=65534 --clear-groups "$work/davy" check --json --root "$work/root" >out || true
	mkdir -m 700 "$work/home"
	HOME=$work/home setpriv --reuid=65534 --regid=65534 --clear-groups "$work/davy" check --json >mine || true
	chmod 755 "$work/root/usr/lib/python3/dist-packages"; rm -rf "$work"
	[ "$rc" -eq 2 ]
	grep -q 'unread .*/usr/lib/python3/dist-packages: denied' text
	[ "$(json '[f["cause"] for f in d["findings"] if f["status"] == "fail"]' < out)" = "[]" ]
	[[ "$(json 'd["unknown"]' < out)" == *"'torch'"*denied*dist-packages* ]]
	[[ "$(json 'd["unknown"]' < mine)" != *nccl_conf* ]]
}

@test "--for knows its names, and a back end without its devices is not ready" {
	run -64 "$davy" check --for nosuch
	[[ "$output" == *"not 'nosuch'"* ]]
	run -66 "$davy" check --python /etc/passwd
	[[ "$output" == *"neither a program nor a folder"* ]]
	mkfifo pipe
	run -66 timeout 10 "$davy" check --python ./pipe
}
