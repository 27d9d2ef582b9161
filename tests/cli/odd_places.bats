#!/usr/bin/env bats
# Odd files and odd surroundings of the commands that write or remember something: no hang, no crash, one sentence, nothing replaced that is not Davy's.

bats_require_minimum_version 1.5.0

setup() {
	davy=${DAVY:-$BATS_TEST_DIRNAME/../../build/davy}
	cd "$BATS_TEST_TMPDIR"
	export XDG_STATE_HOME=$BATS_TEST_TMPDIR/state LC_ALL=C.UTF-8
	unset LANGUAGE
}

# as root: what nobody may not; else the test has no other user
nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }

@test "a history that is a pipe, a folder, a link to itself or empty: a sentence at once, and the command runs" {
	mkdir -p state/davy
	for kind in pipe folder link; do
		rm -rf state/davy/history.sqlite
		case $kind in
		pipe) mkfifo state/davy/history.sqlite ;;
		folder) mkdir state/davy/history.sqlite ;;
		link) ln -s history.sqlite state/davy/history.sqlite ;;
		esac
		for words in "" show diff "note 1 x" "log 1"; do
			run -2 timeout 10 "$davy" history $words
			[ "${#lines[@]}" -eq 1 ]
			[[ "$output" == "davy: "*"/history.sqlite: "* ]]
			[[ $kind = link || "$output" == *"no regular file" ]]
		done
		run -3 timeout 20 "$davy" run -q --no-check -- sh -c 'exit 3'
		[[ "$output" == *"not recorded"* ]]
	done
	rm -f state/davy/history.sqlite
	: > state/davy/history.sqlite
	run -0 "$davy" history
	[[ "$output" == *"davy run -- COMMAND"* ]]
	run -66 "$davy" history show
}

@test "a history that may not be read is not an empty one" {
	[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || skip "only root can become somebody else"
	mkdir -p state/davy
	chmod 755 . state
	chmod 700 state/davy
	run -2 nobody "$davy" history
	[[ "$output" == "davy: "*"Permission denied" ]]
}

@test "a history without a place, and words too many" {
	run -2 env -u HOME -u XDG_STATE_HOME "$davy" history
	[ "${#lines[@]}" -eq 1 ]
	[[ "$output" == *"neither XDG_STATE_HOME nor HOME is set to an absolute path" ]]
	run -64 "$davy" history list 1
	run -64 "$davy" history show 1 2
	[[ "$output" == *"'2'"* ]]
	run -64 "$davy" history log 1 2
}

@test "a damaged history with times of no calendar" {
	"$davy" run -q --no-check -- true
	python3 -c 'import sqlite3; d = sqlite3.connect("state/davy/history.sqlite"); d.execute("UPDATE attempt SET started_ms=?, since=1, changes=1, changed=NULL", (1 << 62,)); d.execute("UPDATE rank SET cause=?, outcome=?", ("x", "\x1b[31m")); d.commit()'
	run -0 "$davy" history
	[[ "$output" != *$'\x1b'* ]]
	run -0 "$davy" history show
	run -0 "$davy" history --json
	python3 -m json.tool <<< "$output" >/dev/null
}

@test "the log of an attempt to a full disk: said" {
	"$davy" run -q --no-check -- echo hello
	run -70 bash -c '"$0" history log > /dev/full' "$davy"
	[[ "$output" == "davy: "*"No space left"* ]]
}

@test "what is written goes through pipes and devices and links, and replaces none of them" {
	mkfifo pipe
	cat pipe > got & reader=$!
	run -0 timeout 20 "$davy" plan --lock=pipe --python /usr/bin/python3
	wait $reader
	[ -p pipe ]
	[ "$(head -c 11 got)" = "# davy lock" ]
	run -70 timeout 20 "$davy" plan --lock=pipe --python /usr/bin/python3 # nobody reads it
	[ -p pipe ]
	: > real.txt
	ln -s real.txt link.txt
	run -0 "$davy" plan --lock=link.txt --python /usr/bin/python3
	[ -L link.txt ]
	[ "$(head -c 11 real.txt)" = "# davy lock" ]
	# a device made here: the machine's own is not at stake
	mknod full c 1 7 2>/dev/null && (: < full) 2>/dev/null || skip "no device can be made here"
	run -70 "$davy" plan --lock=full --python /usr/bin/python3
	[[ "$output" == *"No space left"* ]]
	[ -c full ]
}

@test "a limit of file size is an error of write, not Davy's end; the command has its signal" {
	command -v /usr/bin/python3 >/dev/null || skip "no python3"
	run -3 bash -c 'ulimit -f 0; exec "$0" run -q --no-check -- sh -c "exit 3" | cat; exit ${PIPESTATUS[0]}' "$davy"
	[[ "$output" == *"not recorded"* ]]
	run -70 bash -c 'ulimit -f 0; "$0" plan --lock=small.lock --python /usr/bin/python3 2>&1 | cat; exit ${PIPESTATUS[0]}' "$davy"
	[[ "$output" == *"small.lock: "* ]]
	[ ! -e small.lock ]
	[ -z "$(ls | grep partial)" ]
	run -153 bash -c 'ulimit -f 0; exec "$0" run -q --no-check -- sh -c "echo x > big; exit 0"' "$davy"
}

@test "plan: what contradicts itself is named" {
	run -64 "$davy" plan --offline --docker
	run -64 "$davy" plan --docker --from-source
	run -64 "$davy" plan --lock --mirror tsinghua
	run -64 "$davy" plan --lock --libc 2.28
}

@test "compare: nodes with nothing in common are not alike" {
	printf '{"schema":"davy/1","command":"check","facts":{"host":[{"hostname":"n%d"}]}}\n' 1 2 3 > nothing.ndjson
	run -2 "$davy" compare nothing.ndjson
	[[ "$output" == *"no fact in common"* ]]
	[[ "$output" != *"alike"* ]]
}

@test "help is of a command that there is, and says what is true of run" {
	run -64 "$davy" help frobnicate
	[[ "$output" == *"'frobnicate'"* ]]
	run -0 "$davy" help run
	[[ "$output" != *"--json"* && "$output" == *"exit status: the command's"* ]]
	run -0 "$davy" history --help
	[[ "$output" == *"--all"*"every attempt"* ]]
	run -64 "$davy" run --json -- true
	[[ "$output" == *"davy history show --json"* ]]
}

@test "a command of fifty thousand words starts at once, and a change among the last ones is seen" {
	run -0 timeout 10 "$davy" run -q --no-check -- true $(seq 50000)
	run -0 timeout 10 "$davy" run -q --no-check -- true $(seq 49999) x
	run -0 "$davy" history
	[[ "$output" == *"since 1: command more words"* ]]
}

@test "few open files: the command starts all the same, with its output and its status" {
	for n in 4 5 6 7 8 9 10 11 12 14 16 20; do
		run -3 bash -c 'ulimit -n $1; exec timeout 30 "$0" run --no-check -- env sh -c "echo fine; exit 3"' "$davy" $n 3>&- 4>&- # the test's own are not the command's
		[[ "$output" == *fine* ]] || { echo "$n: $output"; false; }
		[[ "$output" != *"not started"* ]]
	done
	run -127 bash -c 'ulimit -n 4; exec "$0" run -q --no-check -- no-such-command' "$davy"
	run -0 "$davy" history
}

@test "closed standard files: the command has them closed or empty, and its status" {
	run -3 bash -c '"$0" run -q --no-check -- sh -c "echo out; exit 3" <&-' "$davy"
	[ "$output" = out ]
	run -3 bash -c '"$0" run -q --no-check -- sh -c "echo err >&2; exit 3" >&-' "$davy"
	[ "$output" = err ]
	run -3 bash -c '"$0" run -q --no-check -- sh -c "echo out; exit 3" 2>&-' "$davy"
	[ "$output" = out ]
	run -3 bash -c '"$0" run --no-check -- sh -c "exit 3" <&- >&- 2>&-' "$davy"
	[ -z "$output" ]
	[ "$("$davy" history --json | python3 -c 'import json, sys; print([a["status"] for a in json.load(sys.stdin)["attempts"]])')" = "[3, 3, 3, 3]" ]
}

@test "a home that may only be read: one sentence, and the command runs" {
	unshare -m true 2>/dev/null || skip "no mount namespace here"
	mkdir home
	run unshare -m bash -c 'mount -t tmpfs -o ro none home || exit 77; env -u XDG_STATE_HOME HOME=$PWD/home "$0" run --no-check -- sh -c "echo fine; exit 3"' "$davy"
	[ "$status" -ne 77 ] || skip "no tmpfs here"
	[ "$status" -eq 3 ]
	[[ "$output" == *fine*"not recorded: "*"Read-only file system"* ]]
	[[ "$output" != *"log is not whole"* ]]
}

@test "values that no command knows are wrong usage, and the known ones are named" {
	for words in "run --for bogus -- true" "check --for bogus" "check --lang zhongwen" "check --color sometimes" "test --only bogus" "check --only bogus" "test --ranks many" "cluster --rank x --size 2 --master n1" "compare --by bogus a b"; do
		run -64 "$davy" $words
		[ "${#lines[@]}" -eq 1 ] || { echo "$words: $output"; false; }
	done
	run -64 "$davy" run --for bogus -- true
	[[ "$output" == *"nccl, gloo, hccl"* ]]
	for option in python for from nodes only; do
		command=check; [ $option != nodes ] || command=compare
		run -64 "$davy" $command --$option ''
		[[ "$output" == "davy: --$option needs "* ]]
	done
	for words in "check --python no-such-python" "run --python no-such-python -- true"; do
		run -66 "$davy" $words
		[[ "$output" == *"no-such-python"* ]]
	done
	for words in "check --python /bin/ls" "explain --here --python /bin/ls -"; do
		run -66 "$davy" $words <<< "step 1"
		[[ "$output" == *"no Python interpreter"* ]]
	done
	for words in "explain --from a --here -" "explain --python /usr/bin/python3 -"; do
		run -64 "$davy" $words <<< "step 1"
		[ "${#lines[@]}" -eq 1 ]
	done
	run -0 "$davy" check --color always --color never --python /usr/bin/python3 --lang en_US.UTF-8 --only driver
}

@test "plan --quiet: the commands alone; where nothing fits, one line" {
	run -0 "$davy" plan --quiet --driver 570.1 --gpu H100 --arch x86_64
	[ "${#lines[@]}" -eq 3 ]
	[[ "$output" == *"pip install torch=="* && "$output" != *" fits "* ]]
	[ "$output" = "$("$davy" plan --script --driver 570.1 --gpu H100 --arch x86_64 | sed '1,3d;$d')" ]
	run -1 "$davy" plan --quiet --torch 9.9
	[ "${#lines[@]}" -eq 1 ]
	[[ "$output" == "davy: "*9.9* ]]
	# The vendor's image, or where there is none the Dockerfile.
	run -0 "$davy" plan --quiet --docker --python 3.11
	[[ "${lines[0]}" == "docker run "* ]]
	run -0 "$davy" plan --quiet --docker --gpu "RTX 4090" --driver 570.1 --torch 2.4.1 --python 3.11
	[[ "${lines[0]}" == "FROM "* ]]
	run -64 "$davy" explain ''
	[ "${#lines[@]}" -eq 1 ]
}
