#!/usr/bin/env bats
# davy and its probe start on an older distribution: Debian 11, in a chroot. Its root is made once and kept in a temporary folder; its packages are unpacked and not set up (--foreign).

bats_require_minimum_version 1.5.0

setup_file() {
	export OLD=${DAVY_OLD_ROOT:-${TMPDIR:-/tmp}/davy-bullseye-root}
	if [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null && [ ! -f "$OLD.ready" ]; then
		rm -rf --one-file-system "$OLD"
		timeout 200 debootstrap --foreign --variant=minbase bullseye "$OLD" >"$OLD.log" 2>&1 && touch "$OLD.ready" || rm -rf --one-file-system "$OLD"
	fi
}

setup() {
	davy=${DAVY:-$BATS_TEST_DIRNAME/../../build/davy}
	probe=$(dirname "$davy")/probe
	[ "$(id -u)" = 0 ] || skip "chroot needs root"
	[ -f "$OLD.ready" ] || skip "no root of Debian 11 could be had"
	mkdir -p "$OLD/opt/davy"
	cp "$davy" "$probe" "$OLD/opt/davy/"
	cd "$BATS_TEST_TMPDIR"
}

in_old() { chroot "$OLD" "$@"; }
json() { python3 -c "import json,sys; d=json.load(sys.stdin); print($1)"; }

@test "check, snapshot, inspect, query, cause and explain start there" {
	run -0 in_old /opt/davy/davy --version
	rc=0; in_old /opt/davy/davy check --json >out 2>err || rc=$?
	[ "$rc" -le 2 ] && [ ! -s err ]
	[ "$(json 'd["facts"]["system"][0]["os_version"]' < out)" = 11 ]
	rm -rf "$OLD/tmp/s.tar.zst"
	run -0 in_old /opt/davy/davy snapshot /tmp/s.tar.zst
	"$davy" check --json --from "$OLD/tmp/s.tar.zst" > replay || true
	[ "$(json 'd["verdict"], [f["cause"] for f in d["findings"]]' < out)" = "$(json 'd["verdict"], [f["cause"] for f in d["findings"]]' < replay)" ]
	run -0 in_old /opt/davy/davy query "SELECT libc_version FROM system"
	[[ "$output" == *2.31* ]]
	run -0 in_old /opt/davy/davy inspect --json /bin/ls
	run -0 in_old /opt/davy/davy cause torch.cpu-build
	rc=0; echo 'RuntimeError: No CUDA GPUs are available' | in_old /opt/davy/davy explain --json - > out || rc=$?
	[ "$rc" -le 2 ]
	json 'd["findings"]' < out >/dev/null
}

@test "the probe starts there and prints JSON or says that a library is missing" {
	for name in nvml cuda nccl rocm ibverbs; do
		rc=0; in_old /opt/davy/probe $name >out 2>err || rc=$?
		[ "$rc" -eq 0 ] || [ "$rc" -eq 3 ] || [ "$rc" -eq 1 ] || { echo "$name: $rc"; cat err; false; }
		run grep -q "GLIBC_" err
		[ "$status" -eq 1 ]
	done
}

@test "the same verdict from outside, with --root" {
	rc=0; "$davy" check --json --root "$OLD" > outside || rc=$?
	[ "$rc" -le 2 ]
	[ "$(json 'd["facts"]["system"][0]["os_version"], d["facts"]["system"][0]["libc_version"]' < outside)" = "11 2.31" ]
	[ "$(json 'd["findings"][0]["cause"]' < outside)" = torch.not-installed ]
}
