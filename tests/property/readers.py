#!/usr/bin/env python3
"""Output of other tools, pasted: what `davy explain` takes from it as facts, and what the rules of `check` make of them. TAP.

tests/readers/NAME.txt: the output, a line "=====", and what must come of it:
  TABLE KEY=VALUE...: COLUMN=VALUE; COLUMN=VALUE   a row with these keys has these values ("-": no value)
  no TABLE KEY=VALUE...                            there is no such row
  finding CAUSE [STATUS]                           among the findings
  node NAME                                        the first finding is about this node
  clean                                            no finding is a fault or a warning
  exit N                                           the exit status"""
import concurrent.futures, json, os, shlex, subprocess, sys

top = os.environ.get("DAVY_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
davy = os.environ.get("DAVY", os.path.join(top, "build/davy"))
folder = os.path.join(top, "tests/readers")


def said(value):
    return "true" if value is True else "false" if value is False else "-" if value is None else str(value)


def fits(row, pairs):
    return all(said(row.get(k)) == v for k, v in pairs)


def pairs_of(text):
    return [tuple(p.split("=", 1)) for p in shlex.split(text)]


def wrong(line, answer, status):
    facts, findings = answer.get("facts", {}), answer.get("findings", [])
    words = line.split()
    if words[0] == "clean":
        return [f["cause"] for f in findings if f["status"] in ("fail", "warn")]
    if words[0] == "exit":
        return status != int(words[1]) and "exit %d" % status
    if words[0] == "finding":
        return not any(f["cause"] == words[1] and (len(words) < 3 or f["status"] == words[2]) for f in findings) and "findings: %s" % [(f["cause"], f["status"]) for f in findings]
    if words[0] == "node":
        return (not findings or findings[0]["node"] != words[1]) and "node: %s" % [f["node"] for f in findings[:1]]
    if words[0] == "no":
        return any(fits(r, pairs_of(" ".join(words[2:]))) for r in facts.get(words[1], [])) and "it is there"
    head, _, wanted = line.partition(": ")
    table, _, keys = head.partition(" ")
    rows = [r for r in facts.get(table, []) if fits(r, pairs_of(keys))]
    if not rows:
        return "no such row: %s" % facts.get(table)
    for want in filter(None, (w.strip() for w in wanted.split(";"))):
        column, _, value = want.partition("=")
        if said(rows[0].get(column)) != value:
            return "%s is %s" % (column, said(rows[0].get(column)))
    return None


def one(name):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        text, _, wanted = f.read().partition("\n=====\n")
    p = subprocess.run([davy, "explain", "--json", "-"], input=text.encode() + b"\n", capture_output=True, timeout=30)
    try:
        answer = json.loads(p.stdout)
    except ValueError:
        answer = {}
    return [(l, w) for l in filter(str.strip, wanted.split("\n")) for w in [wrong(l, answer, p.returncode)] if w]


names = sorted(n for n in os.listdir(folder) if n.endswith(".txt") and (len(sys.argv) < 2 or n[:-4] in sys.argv[1:]))
failed = 0
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    for i, (name, bad) in enumerate(zip(names, pool.map(one, names)), 1):
        failed += bool(bad)
        print("%s %d - %s" % ("not ok" if bad else "ok", i, name[:-4]))
        for line, what in bad:
            print("#   %s: %s" % (line, what))
print("1..%d" % len(names))
sys.exit(failed > 0)
