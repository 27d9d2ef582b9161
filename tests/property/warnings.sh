#!/usr/bin/env bash
# Every C file compiles without a warning under gcc and clang, and is as `./dev format` leaves it. TAP.
cd "$(dirname "$(readlink -f "$0")")/../.." || exit 1
flags=(-std=gnu11 -D_GNU_SOURCE '-DDAVY_VERSION="0"' -Isrc -fsyntax-only -Werror -Wall -Wextra -Wshadow -Wstrict-prototypes -Wvla -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -fno-strict-aliasing)
n=0 bad=0
for cc in gcc clang; do
	n=$((n + 1))
	if ! command -v $cc >/dev/null; then echo "ok $n - $cc # skip $cc is not installed"; continue; fi
	if out=$(find src probe fuzz tools tests/unit -name '*.c' -print0 | xargs -0 -P2 -n16 $cc "${flags[@]}" 2>&1); then
		echo "ok $n - $cc: no warning"
	else
		bad=1; echo "not ok $n - $cc"; echo "$out" | grep -E 'warning|error' | head -20 | sed 's/^/# /'
	fi
done
n=$((n + 1))
if ! clang-format --version 2>/dev/null | grep -q ' 14\.' || ! git rev-parse HEAD >/dev/null 2>&1; then
	echo "ok $n - format # skip clang-format 14 or the repository is not here"
elif out=$(git ls-files '*.[ch]' | xargs -P2 -n32 clang-format --dry-run -Werror 2>&1); then
	echo "ok $n - format"
else
	bad=1; echo "not ok $n - format: ./dev format"; echo "$out" | grep error: | head -20 | sed 's/^/# /'
fi
echo "1..$n"; exit $bad
