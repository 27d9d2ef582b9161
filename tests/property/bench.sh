#!/usr/bin/env bash
# The budgets of bench/ that do not depend on how busy this machine is: memory and system calls. TAP.
cd "$(dirname "$(readlink -f "$0")")/../.." || exit 1
if out=$(bench/run --smoke 2>&1); then echo "ok 1 - the budgets of bench/run --smoke"; else echo "not ok 1 - the budgets of bench/run --smoke"; fi
echo "$out" | sed 's/^/# /'
echo 1..1
