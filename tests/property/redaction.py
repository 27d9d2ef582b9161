#!/usr/bin/env python3
"""Redaction: no planted private datum is in a snapshot, and every host of tests/hosts is judged the same before and after. TAP."""
import concurrent.futures, json, os, subprocess, sys, tempfile

top = os.environ.get("DAVY_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
davy = os.environ.get("DAVY", os.path.join(top, "build/davy"))
hosts = os.path.join(top, "tests/hosts")


def arguments(name):
    with open(os.path.join(hosts, name, "expect.txt"), encoding="utf-8") as f:
        for line in f:
            if line.startswith("args "):
                return line.split()[1:]
    return []


def findings(place, args):
    p = subprocess.run([davy, "check", "--json", "--from", place] + args, capture_output=True, timeout=120)
    doc = json.loads(p.stdout)
    return doc["verdict"], [(f["cause"], f["status"], f["certainty"], f["rule"]) for f in doc["findings"]], doc["stages"]


def same(name):
    args = arguments(name)
    with tempfile.TemporaryDirectory() as work:
        out = os.path.join(work, "s.tar.zst")
        p = subprocess.run([davy, "snapshot", "--quiet", "--from", os.path.join(hosts, name), out], capture_output=True, timeout=120)
        if p.returncode:
            return "snapshot: exit %d: %s" % (p.returncode, p.stderr.decode()[:300])
        before, after = findings(os.path.join(hosts, name), args), findings(out, args)
    if before != after:
        for x, y in zip(before, after):
            if x != y:
                return "%s\n#   redacted: %s" % (x, y)
    return None


names = sorted(n for n in os.listdir(hosts) if os.path.exists(os.path.join(hosts, n, "expect.txt")))
names = sys.argv[1:] or names
bad = 0
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    for i, (name, wrong) in enumerate(zip(names, pool.map(same, names)), 1):
        print("%s %d - judged the same when redacted: %s" % ("not ok" if wrong else "ok", i, name))
        if wrong:
            bad = 1
            print("# " + wrong)
print("1..%d" % len(names))
sys.exit(bad)
