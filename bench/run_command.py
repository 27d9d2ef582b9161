#!/usr/bin/env python3
"""davy run beside no davy run: a command that prints much, by turns, so that both see the same machine. The goal: 2 % of its time."""
import os, subprocess, tempfile, time
import measure

write = "import sys\nw = sys.stdout.write\nfor i in range(%d): w('step %%d loss 0.%%06d lr 1e-4 tokens/s 123456 grad_norm 1.23\\n' %% (i, i %% 1000000))"
lines = 100000 if measure.smoke else 1000000
rounds = 2 if measure.smoke else 5
state = tempfile.mkdtemp()
env = dict(os.environ, XDG_STATE_HOME=state)
cases = [("lines to a file", ["python3", "-c", write % lines], "file"), ("the same to a pipe", ["python3", "-c", write % lines], "pipe"),
         ("a line at a time, flushed, to a file", ["python3", "-u", "-c", "import os\nfor i in range(%d): os.write(1, b'step %%d loss 0.12345 tokens/s 123456\\n' %% i)" % (lines // 4)], "file")]


def seconds(command, where):
    with tempfile.TemporaryFile(dir="/dev/shm") as f:
        start = time.monotonic()
        if where == "file":
            subprocess.run(command, stdout=f, stderr=subprocess.DEVNULL, env=env, check=True)
        else:
            reader = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            subprocess.run(command, stdout=reader.stdin, stderr=subprocess.DEVNULL, env=env, check=True)
            reader.stdin.close()
            reader.wait()
        return time.monotonic() - start


davy = [measure.davy, "run", "--quiet", "--no-check", "--"]
start = min(seconds(davy + ["true"], "file") - seconds(["true"], "file") for _ in range(5))
for name, command, where in cases:
    plain, beside = [], []
    for _ in range(rounds):
        plain.append(seconds(command, where))
        beside.append(seconds(davy + command, where))
    a, b = min(plain), min(beside) - start
    print("%-48s %9.0f ms %9.0f ms with davy run (and %.0f ms once, for the start)" % (name, a * 1e3, b * 1e3, start * 1e3), flush=True)
    measure.goal("davy run's share of the time, %", (b / a - 1) * 100, 2)
subprocess.run(["rm", "-rf", state])
measure.end()
