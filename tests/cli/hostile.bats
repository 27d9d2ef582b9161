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
