#!/usr/bin/env bash
# Knowledge is complete: every sentence in both languages, every rule and pattern with a cause, broken knowledge refused with file and line. TAP.
cd "$(dirname "$(readlink -f "$0")")/../.." || exit 1
compiler=${DAVY_BUILD:-build}/davy-knowledge
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
n=0 bad=0
ok() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - $2"; else bad=1; echo "not ok $n - $2"; sed 's/^/#   /' "$work/out" | head -20; fi; }

DAVY_KNOWLEDGE_STRICT=1 "$compiler" knowledge "$work/k.db" >"$work/out" 2>&1; ok $? "every sentence has its Chinese, every rule and pattern its cause"

# break NAME FILE TEXT EXPECTED: adds TEXT to FILE and wants it refused, with EXPECTED in the message.
break_it() {
	rm -rf "$work/k"; cp -r knowledge "$work/k"; printf '%s\n' "$3" >> "$work/k/$2"
	"$compiler" "$work/k" "$work/k.db" >"$work/out" 2>&1 && { ok 1 "refused: $1"; return; }
	grep -q "$4" "$work/out" && grep -qE "$2:[0-9]+:" "$work/out"; ok $? "refused: $1"
}
break_it "SQL that does not prepare" rules/host.yaml "- {id: host.x.y, cause: host.disk-full, table: mount, wrong: 'no_such_column > 1', says: 'x'}" no_such_column
break_it "a placeholder of nothing" rules/host.yaml "- {id: host.x.y, cause: host.disk-full, table: mount, wrong: '1', says: 'see {nothing}'}" nothing
break_it "an unknown key" causes/host.yaml "- {id: host.zz, title: x, why: y, colour: red}" colour
break_it "a workaround without a cost" causes/host.yaml "- {id: host.zz, title: x, why: y, fixes: [{id: a, kind: workaround, commands: [ls]}]}" cost
break_it "a cause of no stage" causes/host.yaml "- {id: kitchen.fire, title: x, why: y}" kitchen
break_it "YAML that is none" rules/host.yaml "- {id: [" ""
break_it "a table with a missing cell" tables/xid.tsv "9999	only two" cells
echo "1..$n"; exit $bad
