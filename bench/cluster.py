#!/usr/bin/env python3
"""davy cluster: rounds and messages of the schedule for 4 to 100,000 nodes, by making it; and 64 real processes on the loopback of this machine (16 in a smoke run)."""
import json, os, re, subprocess, sys, time
from measure import davy, end, goal, smoke, top

counted = {}
try:
    out = subprocess.run([os.path.join(os.path.dirname(davy), "tests/test_cluster")], capture_output=True, text=True, timeout=120)
    for m in re.finditer(r"# (\d+) nodes: (\d+) rounds, (\d+) pairs, (\d+) messages", out.stdout + out.stderr):
        counted[int(m.group(1))] = tuple(int(g) for g in m.groups()[1:])
except OSError:
    pass
for nodes, (rounds, pairs, messages) in sorted(counted.items()):
    print("%-48s %9d rounds %8d pairs %9d messages" % ("cluster: schedule of %d nodes" % nodes, rounds, pairs, messages))
if counted:
    big = max(counted)
    goal("rounds with %d nodes" % big, counted[big][0], 11, True)
    goal("messages for each node with %d nodes" % big, counted[big][2] / big, 44, True)

count = 16 if smoke else 64
start = time.monotonic()
command = [davy, "cluster", "--json", "--from", os.path.join(top, "tests/hosts/good-cpu"), "--size", str(count), "--master", "127.0.0.1:29650", "--rank"]
others = [subprocess.Popen(command + [str(k)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for k in range(1, count)]
first = subprocess.Popen(command + ["0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
text = first.stdout.read()
_, status, usage = os.wait4(first.pid, 0)
took = time.monotonic() - start
for p in others:
    p.wait()
cluster = json.loads(text)["cluster"]
print("%-48s %9.1f ms %9.1f ms %7.1f MB %8s" % ("cluster: rank 0 of %d processes" % count, took * 1e3, (usage.ru_utime + usage.ru_stime) * 1e3, usage.ru_maxrss / 1024.0, cluster["messages"]))
goal("pairs that were not tested", cluster["pairs"] - cluster["pairs_tested"], 0, True)
goal("seconds for %d processes on one machine" % count, took, 30)
end()
