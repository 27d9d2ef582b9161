#!/usr/bin/env bash
# The house keeps its order: who may include whom, one file for each third-party header, one door to the machine. TAP.
cd "$(dirname "$(readlink -f "$0")")/../.." || exit 1
n=0 bad=0
check() { # NAME COMMAND: the command prints what is wrong
	local wrong; wrong=$("$2"); n=$((n + 1))
	if [ -n "$wrong" ]; then bad=1; echo "not ok $n - $1"; sed 's/^/#   /' <<<"$wrong"; else echo "ok $n - $1"; fi
}

# docs/ARCHITECTURE.md has this table for people.
allowed() {
	case $1 in
	base) echo "base" ;;
	parse) echo "base parse" ;;
	host) echo "base parse host" ;;
	facts) echo "base facts" ;;
	collect) echo "base parse host facts collect" ;;
	read) echo "base parse facts read" ;;
	logs) echo "base parse facts logs" ;;
	judge) echo "base parse host facts judge" ;;
	fleet) echo "base parse host facts fleet" ;;
	report) echo "base facts judge report" ;;
	act) echo "base parse host facts judge fleet act" ;;
	cli) echo "base parse host facts collect read logs judge fleet report act cli" ;;
	esac
}
includes() {
	for layer in base parse host facts collect read logs judge fleet report act cli; do
		for f in src/$layer/*.[ch]; do
			[ -f "$f" ] || continue
			grep -oE '#include "[a-z]+/' "$f" | sed 's/.*"//; s|/||' | sort -u | while read -r other; do
				[ -d "src/$other" ] || continue
				[[ " $(allowed "$layer") " == *" $other "* ]] || echo "$f includes $other/"
			done
		done
	done
}

third_party() {
	local headers='#include <((sqlite3|yaml|pcre2|zstd|lzma|zlib)\.h|openssl/[a-z]+)'
	# SQLite twice: facts in memory (store.c), and the ledger, a file that other processes write too (ledger.c).
	grep -rlE "$headers" src | grep -vx src/facts/ledger.c | while read -r f; do grep -ohE "$headers" "$f" | sort -u; done | sort | uniq -d
}

door() {
	grep -nE '(^|[^A-Za-z0-9_.>])(open|openat|fopen|opendir|readlink|getenv|secure_getenv|fork|vfork|dlopen|popen|system|execv|execve|execvp|posix_spawn|socket|connect)\(' src/*/*.c | grep -vE '^src/host/|:\s*(/?\*|//)'
}

names() { find src probe -name 'util*' -o -name 'common*' -o -name 'misc*' -o -name 'helper*'; }

places() { grep -rnE '/(work|farm)/(main|wt|shared|\.lib)' src probe knowledge docs tests bench fuzz tools README.md NEWS.md dev 2>/dev/null | grep -v '^tests/property/layers.sh'; }

check "a layer includes only what its table allows" includes
check "a third-party header stands in one file" third_party
check "only the door opens, lists, reads the environment and starts children" door
check "files are named by their subject" names
check "nothing names the place where it was built" places
echo "1..$n"
exit $bad
