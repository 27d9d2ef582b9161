#!/usr/bin/env python3
"""Taking information away from a host with a fault never makes it ready. TAP, one line for each host.

For every file of the fault's own overlay, every probe, and the main sources of device facts: the same host with that answer denied or timed out."""
import json, os, shutil, subprocess, tempfile

top = os.environ.get("DAVY_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
davy = os.environ.get("DAVY", os.path.join(top, "build/davy"))
hosts = os.path.join(top, "tests/hosts")
ALWAYS = ["error /proc/modules EACCES", "error /sys/bus/pci/devices EACCES", "error /dev EACCES", "error /proc/driver/nvidia/version EACCES",
          "probe nvml timeout 2000", "probe cuda timeout 10000"]
EACH_MAX = 14


def expectation(path):
    args, fails = [], []
    with open(path, encoding="utf-8") as f:
        for line in f:
            words = line.split()
            if words[:1] == ["args"]:
                args = words[1:]
            elif words[:1] == ["fail"]:
                fails.append(words[1])
    return args, fails


def denials(name):
    lines, base = [], os.path.join(hosts, name, "files")
    for folder, _, files in sorted(os.walk(base)):
        lines += ["error %s/%s EACCES" % (folder[len(base):], f) for f in sorted(files)]
    return lines[:EACH_MAX] + ALWAYS


def verdict(folder, args):
    p = subprocess.run([davy, "check", "--json", "--from", folder] + args, capture_output=True, timeout=60)
    return json.loads(p.stdout)["verdict"]


n = bad = 0
scratch = tempfile.mkdtemp()
for name in sorted(os.listdir(hosts)):
    path = os.path.join(hosts, name, "expect.txt")
    args, fails = expectation(path) if os.path.exists(path) else ([], [])
    if not fails:
        continue
    ready = []
    for line in denials(name):
        with open(os.path.join(scratch, "davy-snapshot.txt"), "w", encoding="utf-8") as f:
            f.write("davy-snapshot 1\nbase %s\n%s\n" % (os.path.relpath(os.path.join(hosts, name), scratch), line))
        if verdict(scratch, args) == "ready":
            ready.append(line)
    n += 1
    bad += bool(ready)
    print("%s %d - less of host %s" % ("not ok" if ready else "ok", n, name))
    for line in ready:
        print("#   ready with: " + line)
print("1..%d" % n)
shutil.rmtree(scratch)
raise SystemExit(bad > 0)
