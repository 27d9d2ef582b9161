#!/usr/bin/env bash
# A short run of every fuzz target.
exec "$(dirname "$(readlink -f "$0")")/../../fuzz/run" --smoke
