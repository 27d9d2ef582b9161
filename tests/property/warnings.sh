#!/usr/bin/env bash
# Every C file compiles without a warning under gcc and clang. TAP.
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
echo "1..$n"; exit $bad
