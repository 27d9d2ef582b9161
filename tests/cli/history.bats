#!/usr/bin/env bats
# davy history: what was tried, what changed, and that nothing of it is lost.

bats_require_minimum_version 1.5.0

setup() {
	export DAVY=${DAVY:-$BATS_TEST_DIRNAME/../../build/davy}
	davy=$DAVY
	source=${DAVY_SOURCE:-$BATS_TEST_DIRNAME/../..}
	cd "$BATS_TEST_TMPDIR"
	export XDG_STATE_HOME=$BATS_TEST_TMPDIR/state
}

json() { python3 -c "import json,sys; d=json.load(sys.stdin); print($1)"; }
attempt() { "$davy" run -q -- "$@" >/dev/null 2>&1 || true; }

@test "an empty history, wrong numbers, wrong words" {
	run -0 "$davy" history
	[[ "$output" == *"davy run -- COMMAND"* ]]
	run -66 "$davy" history show
	run -66 "$davy" history diff
	attempt true
	run -66 "$davy" history show 9
	run -64 "$davy" history show x
	run -64 "$davy" history frobnicate
	run -64 "$davy" history diff 1
	run -64 "$davy" history note 1
	[ "$(ls state/davy)" = "history.sqlite"$'\n'"logs" ]
}

@test "two changes at once are marked, one is named, none is silent" {
	echo 'raise SystemExit(0)' > train.py
	attempt python3 train.py --lr 0.1 --batch 32
	attempt python3 train.py --lr 0.1 --batch 32
	attempt python3 train.py --lr 0.2 --batch 32
	NCCL_P2P_DISABLE=1 attempt python3 train.py --lr 0.3 --batch 32
	NCCL_P2P_DISABLE=1 attempt python3 train.py --lr 0.3 --batch 32
	echo 'raise SystemExit(1)' > train.py
	NCCL_P2P_DISABLE=1 attempt python3 train.py --lr 0.3 --batch 32
	NCCL_P2P_DISABLE=1 attempt true
	NCCL_P2P_DISABLE=1 attempt python3 train.py --lr 0.3 --batch 32
	[ "$("$davy" history --json | json '[(a["changes"], a["since"]) for a in d["attempts"] if a["id"] != 7]')" = "[(0, None), (0, 1), (1, 2), (2, 3), (0, 4), (1, 5), (0, 6)]" ]
	run -0 "$davy" history
	[[ "$output" == *"since 2: command --lr"* && "$output" == *"! 2 changes at once since 3: command --lr, variable NCCL_P2P_DISABLE"* && "$output" == *"since 5: file train.py"* ]]
	run -0 env LANG=zh_CN.UTF-8 LC_ALL= "$davy" history
	[[ "$output" == *"命令参数 --lr、环境变量 NCCL_P2P_DISABLE"* && "$output" != *variable* ]]
	[[ "$output" == *"! 与第 3 次相比同时改变了 2 处"* ]]
}

@test "diff: the last good and the first bad one after it, the best explanation of the cause first" {
	[ -d /usr/lib/python3/dist-packages/torch ] && [ ! -e /dev/nvidiactl ] || skip "python3-torch without GPU is needed"
	cat > train.py <<-'P'
	import datetime, os, torch.distributed as dist
	dist.init_process_group("gloo", rank=0, world_size=1, timeout=datetime.timedelta(seconds=int(os.environ["PATIENCE_S"])))
	P
	export MASTER_PORT=29535
	export PATIENCE_S=60 # of no interest to Davy
	MASTER_ADDR=127.0.0.1 attempt /usr/bin/python3 train.py
	export PATIENCE_S=2
	ADVICE=1 OMP_NUM_THREADS=3 MASTER_ADDR=no-such-host.invalid attempt /usr/bin/python3 train.py --new
	OMP_NUM_THREADS=4 MASTER_ADDR=no-such-host.invalid attempt /usr/bin/python3 train.py --new
	"$davy" history diff --json > diff.json
	[ "$(json '(d["before"]["id"], d["after"]["id"], d["after"]["cause"])' < diff.json)" = "(1, 2, 'network.name-unresolved')" ]
	[ "$(json '(d["changes"][0]["name"], d["changes"][0]["facts"][0]["before"], d["changes"][0]["facts"][0]["after"])' < diff.json)" = "('MASTER_ADDR', '127.0.0.1', 'no-such-host.invalid')" ]
	[ "$(json 'sorted((c["group"], c["name"]) for c in d["changes"])' < diff.json)" = "[('command', '--new'), ('variable', 'MASTER_ADDR'), ('variable', 'OMP_NUM_THREADS')]" ]
	run -0 "$davy" history diff
	[[ "$output" == *"attempt 1 (good"*"attempt 2 (failed (1)"*"1  variable MASTER_ADDR"*"3 things changed at once"* ]]
	run -0 "$davy" history diff 2 3
	[[ "$output" == *OMP_NUM_THREADS*"3 -> 4"* && "$output" != *"at once"* ]]
	run -0 "$davy" history diff 1 1
	[[ "$output" == *"Nothing that Davy records changed"* ]]
	mkdir -p elsewhere && cd elsewhere
	[ "$("$davy" history diff --json | json 'd["before"]["id"], d["after"]["id"]')" = "1 2" ]
	attempt true
	attempt false # nothing of its own that was good: then what was good before it
	[ "$("$davy" history diff --json | json 'd["before"]["id"], d["after"]["id"]')" = "4 5" ]
}

@test "another interpreter is one change, a package with what it requires another" {
	python3 -m venv --without-pip a || skip "python3-venv is not installed"
	python3 -m venv --without-pip b
	site=$(ls -d a/lib/python3*/site-packages)
	package() { mkdir -p "$site/$1-$2.dist-info"; printf 'Metadata-Version: 2.1\nName: %s\nVersion: %s\n%s\n' "$1" "$2" "${3:+Requires-Dist: $3}" > "$site/$1-$2.dist-info/METADATA"; }
	echo 'pass' > train.py
	package alpha 1.0 beta
	package beta 1.0
	attempt a/bin/python train.py
	rm -r "$site"/alpha-1.0.dist-info "$site"/beta-1.0.dist-info
	package alpha 2.0 beta
	package beta 2.0
	attempt a/bin/python train.py
	package gamma 1.0
	rm -r "$site"/beta-2.0.dist-info
	package beta 3.0
	attempt a/bin/python train.py
	[ "$("$davy" history diff 1 2 --json | json '[(c["group"], c["name"]) for c in d["changes"]]')" = "[('package', 'alpha')]" ]
	[ "$("$davy" history diff 2 3 --json | json 'sorted((c["group"], c["name"]) for c in d["changes"])')" = "[('package', 'beta'), ('package', 'gamma')]" ]
	"$davy" run -q --python b -- a/bin/python train.py
	[ "$("$davy" history diff 3 4 --json | json '[c["group"] for c in d["changes"]]')" = "['python']" ]
}

@test "secrets stay out of it, in commands, options, variables and notes" {
	export NCCL_AUTH_TOKEN=verysecretvalue1 MASTER_ADDR=https://user:verysecretvalue2@host/
	attempt env WANDB_API_KEY=verysecretvalue3 true --token verysecretvalue4 --password=verysecretvalue5 hf_verysecretvalue6abcdef https://me:verysecretvalue7@host/x
	"$davy" run -q --note "key: api_key=verysecretvalue8" -- true
	"$davy" history note 2 "password: verysecretvalue9"
	run grep -rac verysecret state
	[[ "$output" != *[1-9] ]]
	run -0 "$davy" history show 1 --verbose
	[[ "$output" == *"TOKEN-"* && "$output" != *verysecret* ]]
	"$davy" history show 2 --json | json 'd["snapshot"]' > snapshot
	! grep -q verysecret snapshot
	run -0 "$davy" history show 2
	[[ "$output" == *"password: TOKEN"* ]]
}

@test "notes, at the start and later" {
	"$davy" run -q --note "with the new driver" -- true
	run -0 "$davy" history
	[[ "$output" == *"with the new driver"* ]]
	"$davy" history note 1 "with the old driver"
	[ "$("$davy" history show 1 --json | json 'd["attempt"]["note"]')" = "with the old driver" ]
	run -66 "$davy" history note 2 text
}

@test "thirty writers at once and some of them killed: every attempt that ended is there once, and nobody waits long" {
	run -0 timeout 200 python3 - <<-'P'
	import os, random, subprocess, time
	davy = os.environ["DAVY"]
	run = lambda i: subprocess.Popen([davy, "run", "-q", "--no-check", "--note", str(i), "--", "sh", "-c", "sleep 0.1"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
	running = [run(i) for i in range(30)]
	time.sleep(0.12)
	killed = running[::7]
	for p in killed:
	    time.sleep(random.random() / 50)
	    p.kill()
	said = "".join(p.communicate()[1] for p in running)
	assert said == "", said
	import json
	attempts = json.loads(subprocess.check_output([davy, "history", "--json"]))["attempts"]
	notes = [a["note"] for a in attempts if a["outcome"] == "ok"]
	for i, p in enumerate(running):
	    assert p not in killed and notes.count(str(i)) == 1 or p in killed, (i, notes)
	P
	[ "$(python3 -c 'import sqlite3; print(sqlite3.connect("state/davy/history.sqlite").execute("PRAGMA integrity_check").fetchone()[0])')" = ok ]
}

@test "a writer killed in the middle of a transaction: the next one rolls back and goes on" {
	attempt true
	python3 - <<-'P'
	import os, signal, sqlite3
	if os.fork() == 0:
	    c = sqlite3.connect("state/davy/history.sqlite", isolation_level=None)
	    c.execute("PRAGMA cache_size=1")
	    c.execute("BEGIN IMMEDIATE")
	    c.execute("UPDATE attempt SET note = 'half'")
	    for i in range(5000):
	        c.execute("INSERT INTO snapshot VALUES(?, zeroblob(1000))", ("junk%d" % i,))
	    os.kill(os.getpid(), signal.SIGKILL)
	os.wait()
	P
	[ -s state/davy/history.sqlite-journal ]
	attempt true
	[ "$("$davy" history --json | json '[(a["id"], a["note"], a["outcome"]) for a in d["attempts"]]')" = "[(1, None, 'ok'), (2, None, 'ok')]" ]
}

@test "it is bounded: a thousand attempts, a year, 512 MB of logs; snapshots that are the same are kept once" {
	attempt true
	attempt true
	python3 - <<-'P'
	import sqlite3
	c = sqlite3.connect("state/davy/history.sqlite")
	assert c.execute("SELECT count(*) FROM snapshot").fetchone()[0] == 1
	start = c.execute("SELECT max(started_ms) FROM attempt").fetchone()[0]
	for i in range(3, 1200):
	    c.execute("INSERT INTO attempt(id, job, seq, started_ms, command) VALUES(?, ?, 0, ?, 'x')", (i, "job%d" % i, start))
	    c.execute("INSERT INTO rank(attempt, rank, outcome, log, log_bytes, ended_ms, pid, began) VALUES(?, -1, 'ok', ?, ?, 1, 1, 1)", (i, "log%d.zst" % i, 200 << 20 if i > 1195 else 10))
	    open("state/davy/logs/log%d.zst" % i, "w").close()
	c.execute("UPDATE attempt SET started_ms = 1000 WHERE id = 1000")
	c.commit()
	P
	attempt true
	[ "$("$davy" history --json | json 'len(d["attempts"]), d["attempts"][0]["id"], d["attempts"][-1]["id"], [a["id"] for a in d["attempts"] if a["id"] == 1000]')" = "999 201 1200 []" ]
	[ ! -e state/davy/logs/log150.zst ] && [ ! -e state/davy/logs/log1000.zst ] && [ ! -e state/davy/logs/log1197.zst ] && [ -e state/davy/logs/log1199.zst ]
}

@test "a ledger of a newer Davy is left alone; the command still runs" {
	attempt true
	python3 -c 'import sqlite3; c = sqlite3.connect("state/davy/history.sqlite"); c.execute("PRAGMA user_version=99"); c.commit()'
	run -0 "$davy" run -- echo fine
	[[ "$output" == *fine*"a newer Davy made it"* ]]
	run -2 "$davy" history
	[[ "$output" == *"newer Davy"* ]]
}

@test "the JSON forms are what docs/schema/davy-history-1.json says" {
	python3 -c 'import jsonschema' 2>/dev/null || /usr/bin/python3 -c 'import jsonschema' 2>/dev/null || skip "python3-jsonschema is not installed"
	attempt true
	attempt sh -c 'echo "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB"; exit 1'
	"$davy" history --json > list.json
	"$davy" history show 2 --json > show.json
	"$davy" history diff 1 2 --json > diff.json
	for python in python3 /usr/bin/python3; do $python -c 'import jsonschema' 2>/dev/null && break; done
	$python - "$source/docs/schema/davy-history-1.json" <<-'P'
	import json, jsonschema, sys
	schema = json.load(open(sys.argv[1]))
	for f, member in (("list", "attempts"), ("show", "attempt"), ("diff", "changes")):
	    d = json.load(open(f + ".json"))
	    assert member in d
	    jsonschema.validate(d, schema)
	P
}
