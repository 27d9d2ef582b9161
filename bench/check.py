#!/usr/bin/env python3
"""Speed and memory of `davy check` beside collect_env, and of package lists beside pip, in one run: only ratios count.
Usage: bench/check.py [--smoke]. Exit 1 when a goal is missed (not in --smoke)."""
import json, os, re, resource, subprocess, sys, time

top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
davy = os.environ.get("DAVY", os.path.join(top, "build/davy"))
python = "/usr/bin/python3"
smoke = "--smoke" in sys.argv


def once(cmd):
    start = time.monotonic()
    p = subprocess.Popen(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(p.pid, 0)
    return (time.monotonic() - start) * 1e3, usage.ru_maxrss / 1024.0


def measure(cmd, n):
    runs = [once(cmd) for _ in range(n)]
    return sorted(r[0] for r in runs)[len(runs) // 2], max(r[1] for r in runs)


def syscalls(cmd):
    try:
        p = subprocess.run(["strace", "-f", "-c", "-o", "/dev/stderr"] + cmd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return None
    m = re.findall(r"^\s*100\.00\s+\S+\s+\S*\s+(\d+)", p.stderr.decode(errors="replace"), re.M)
    return int(m[-1]) if m else None


def row(name, cmd, n):
    ms, rss = measure(cmd, n)
    calls = syscalls(cmd)
    print("%-46s %9.1f ms %8.1f MB %9s system calls" % (name, ms, rss, calls if calls else "?"))
    return ms, rss


if not os.path.isdir("/usr/lib/python3/dist-packages/torch"):
    print("python3-torch is not installed: nothing to compare with")
    sys.exit(0)
check = [davy, "check", "--json", "--python", python]
once(check), once([python, "-m", "torch.utils.collect_env"])
mine, rss = row("davy check", check, 5 if smoke else 21)
theirs, _ = row("python3 -m torch.utils.collect_env", [python, "-m", "torch.utils.collect_env"], 2 if smoke else 5)
print("check is %.0f times faster than collect_env (goal 60), %.1f MB resident (goal 30)" % (theirs / mine, rss))
good = theirs / mine >= 60 and rss <= 30
cuda = "/usr/local/cuda/lib64"
if os.path.isdir(cuda):
    libs = sorted({os.path.realpath(os.path.join(cuda, f)) for f in os.listdir(cuda) if ".so" in f and "stub" not in f})
    size = sum(os.path.getsize(f) for f in libs) / 1e9
    ms, _ = row("davy inspect, %d CUDA libraries, %.1f GB" % (len(libs), size), [davy, "inspect", "--json"] + libs, 3 if smoke else 7)
    print("inspect of the CUDA toolkit: %.0f ms (goal 60)" % ms)
    good = good and ms < 60
sys.exit(0 if good or smoke else 1)
