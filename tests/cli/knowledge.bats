#!/usr/bin/env bats
# --knowledge DIR: what a site adds, replaces, waives; and what it gets wrong.

bats_require_minimum_version 1.5.0

setup() {
	davy=${DAVY:-$BATS_TEST_DIRNAME/../../build/davy}
	hosts=${DAVY_SOURCE:-$BATS_TEST_DIRNAME/../..}/tests/hosts
	cd "$BATS_TEST_TMPDIR"
	mkdir -p k/rules k/causes k/tables k/patterns k/zh_CN
}

json() { python3 -c "import json,sys; d=json.load(sys.stdin); print($1)"; }
check() { "$davy" check --json --from "$hosts/host-shm-64mb" --knowledge k "$@" 2>err; }

@test "a waived cause is told as info, with the day and the reason, and counts for nothing" {
	printf -- '- waive: host.shm-too-small\n  until: 2999-01-31\n  reason: new image next week\n' > k/waive.yaml
	run -0 check
	[ "$(json 'd["verdict"], d["findings"][0]["status"], d["findings"][0]["waived"]["until"]' <<<"$output")" = "ready info 2999-01-31" ]
	run -0 "$davy" check --from "$hosts/host-shm-64mb" --knowledge k
	[[ "$output" == *"Waived until 2999-01-31 (new image next week)"* ]]
	run -0 "$davy" check --from "$hosts/host-shm-64mb" --knowledge k --lang zh_CN
	[[ "$output" == *"已豁免至 2999-01-31"* ]]
	run -0 "$davy" check --quiet --from "$hosts/host-shm-64mb" --knowledge k
	[ -z "$output" ]
}

@test "a waiver ends on its day" {
	printf -- '- waive: host.shm-too-small\n  until: %s\n  reason: r\n' "$(date -u +%F)" > k/waive.yaml
	run -0 check
	printf -- '- waive: host.shm-too-small\n  until: %s\n  reason: r\n' "$(date -u -d yesterday +%F)" > k/waive.yaml
	run -1 check
	[ "$(json 'd["findings"][0]["status"], "ended" in d["findings"][0]["says"]' <<<"$output")" = "fail True" ]
}

@test "a disabled cause is not judged" {
	printf -- '- disable: host.shm-too-small\n' > k/waive.yaml
	run -0 check
	[ "$(json '[f["cause"] for f in d["findings"]]' <<<"$output")" = "[]" ]
}

@test "wrong waivers are named, with file and line, and do nothing" {
	printf -- '- waive: host.shm-too-small\n- waive: host.shm-too-small\n  until: 2027-02-33\n  reason: x\n- disable: no.such\n- waive: host.shm-too-small\n  until: soon\n  reason: x\n- 1\n- disable: a\n  waive: b\n' > k/waive.yaml
	run -1 check
	for line in 1 2 6 9 10; do grep -q "waive.yaml:$line:" err; done
	grep -q "no cause 'no.such'" err
	run -66 "$davy" cause torch.cpu-buld
	[[ "$output" == *"the nearest is torch.cpu-build"* ]]
	# A name that is no column is an error, not a text.
	run -64 "$davy" query 'SELECT "nosuch" FROM system'
	[[ "$output" == *"no such column: nosuch"* ]]
	# What is no id is looked for in ids and titles.
	run -0 "$davy" cause shm-too-small
	[[ "${lines[0]}" == *"host.shm-too-small" ]]
	run -0 "$davy" cause SHM
	[[ "$output" == *host.shm-too-small* && "$output" == *host.shm-stale-segments* && "$output" != *torch.* ]]
	run -0 "$davy" cause "out of memory" --json
	[[ "$output" == *'"cause": "program.gpu-out-of-memory"'* ]]
}

@test "a rule, a cause and a table of the site: added and replaced" {
	printf -- '- id: host.site-policy\n  title: The site wants more memory\n  why: Because.\n  verify: [free]\n' > k/causes/site.yaml
	printf -- '- id: host.site-policy.memory\n  cause: host.site-policy\n  table: system\n  wrong: "1"\n  level: fail\n  certainty: certain\n  says: "Site rule for {os_name}."\n- id: host.shm-too-small.size\n  cause: host.shm-too-small\n  table: mount\n  wrong: "0"\n' > k/rules/site.yaml
	run -1 check
	[ "$(json '[f["cause"] for f in d["findings"] if f["status"] == "fail"]' <<<"$output")" = "['host.site-policy']" ]
	run -0 "$davy" cause host.site-policy --knowledge k
	[[ "$output" == *"The site wants more memory"* ]]
}

@test "broken knowledge: named, left out, and the rest judges" {
	printf -- '- id: [\n' > k/rules/a.yaml
	printf -- '- id: host.x.y\n  cause: host.shm-too-small\n  table: mount\n  wrong: "1); DROP TABLE cause; --"\n' > k/rules/b.yaml
	printf '\xff\xfe\x00' > k/rules/c.yaml
	printf 'x\ty\n1\t2\n' > k/tables/driver_branch.tsv
	printf 'a\n1\n' > k/tables/'x";drop table cause;.tsv'
	printf 'a\nb\tc\n' > k/tables/odd.tsv
	mkfifo k/rules/fifo.yaml; ln -s /dev/zero k/rules/zero.yaml; mkdir k/rules/folder.yaml
	run -1 check
	[ "$(json '[f["cause"] for f in d["findings"] if f["status"] == "fail"], d["findings"][0]["title"] != d["findings"][0]["cause"]' <<<"$output")" = "['host.shm-too-small'] True" ]
	for name in rules/a.yaml:2 rules/b.yaml:1 rules/c.yaml:1 rules/fifo.yaml rules/zero.yaml rules/folder.yaml tables/driver_branch.tsv:1 tables/odd.tsv:2 'no name of a table'; do grep -q "$name" err || { echo "$name"; cat err; false; }; done
}

@test "a rule without end and a hundred megabytes: bounded, and no pass" {
	printf -- '- id: host.slow.slow\n  cause: host.shm-too-small\n  table: system\n  wrong: "(WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c)"\n' > k/rules/slow.yaml
	rc=0; timeout 20 "$davy" check --json --from "$hosts/good-cpu" --knowledge k > out 2>err || rc=$?
	[ "$rc" -eq 2 ]
	rm k/rules/slow.yaml
	for i in $(seq 14); do
		python3 -c "print('\n'.join('- id: host.x%d-%d.y\n  cause: host.shm-too-small\n  table: mount\n  wrong: size_bytes < 1' % ($i, k) for k in range(80000)))" > k/rules/$i.yaml
	done
	rc=0; (ulimit -v 1500000; timeout 60 "$davy" check --json --from "$hosts/good-cpu" --knowledge k > out 2>err) || rc=$?
	[ "$rc" -le 2 ]
	grep -q "too large" err
}

@test "a folder that is not there is 66" {
	run -66 "$davy" check --knowledge no-such
	run -66 "$davy" cause --knowledge /etc/passwd
	(cd /; run -0 "$davy" cause host.shm-too-small --knowledge usr)
}
