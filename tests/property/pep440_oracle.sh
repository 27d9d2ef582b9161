#!/usr/bin/env bash
# Versions, specifiers, requirements and markers: Davy must agree with the `packaging` library inside pip.
cd "$(dirname "$(readlink -f "$0")")/../.." || exit 1
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
echo 1..1
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O1 -Isrc tests/property/pep_oracle.c build/libdavy.a -o "$work/answer" || { echo "not ok 1 - answerer compiles"; exit 1; }
for python in python3 "$HOME"/.pyenv/versions/*/bin/python3 /usr/bin/python3; do
	command -v "$python" >/dev/null || continue
	out=$("$python" tests/property/pep440_oracle.py "$work/answer" 10000 2>&1); rc=$?
	[ $rc = 77 ] && continue
	echo "# $out"
	[ $rc = 0 ] && echo "ok 1 - packaging agrees" || echo "not ok 1 - packaging agrees"
	exit $rc
done
echo "ok 1 - packaging agrees # skip no pip with packaging 22 or newer"
