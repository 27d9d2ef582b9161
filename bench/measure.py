"""What all benchmarks share: running a command, its time, its memory, its system calls; one table."""
import os, re, subprocess, sys, time

top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
davy = os.environ.get("DAVY", os.path.join(top, "build/davy"))
smoke = "--smoke" in sys.argv
missed = []


def once(cmd, stdin=None):
    """Milliseconds by the clock, milliseconds of processor, MB resident at most, exit status."""
    with open(stdin or os.devnull, "rb") as source:
        start = time.monotonic()
        p = subprocess.Popen(cmd, stdin=source, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(p.pid, 0)
    return (time.monotonic() - start) * 1e3, (usage.ru_utime + usage.ru_stime) * 1e3, usage.ru_maxrss / 1024.0, status


def system_calls(cmd):
    try:
        p = subprocess.run(["strace", "-f", "-c", "-o", "/dev/stderr"] + cmd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return None
    m = re.findall(r"^\s*100\.00\s+\S+\s+\S*\s+(\d+)", p.stderr.decode(errors="replace"), re.M)
    return int(m[-1]) if m else None


def row(name, cmd, n, calls=True, stdin=None):
    """One warm-up, n runs (3 at most in a smoke run); a line of the table. Median of the clock, median of the processor, most memory, system calls."""
    once(cmd, stdin)
    runs = [once(cmd, stdin) for _ in range(min(n, 3) if smoke else n)]
    middle = lambda i: sorted(r[i] for r in runs)[len(runs) // 2]
    wall, cpu, rss = middle(0), middle(1), max(r[2] for r in runs)
    count = system_calls(cmd) if calls else None
    print("%-48s %9.1f ms %9.1f ms %7.1f MB %8s" % (name[:48], wall, cpu, rss, count if count else "-"), flush=True)
    return wall, cpu, rss, count


def head():
    print("%-48s %12s %12s %10s %8s" % ("", "clock", "processor", "resident", "calls"))


def goal(text, value, most, always=False):
    """A goal: value <= most. Times are judged in full runs only, what does not depend on the machine's load (`always`) in a smoke run too."""
    fine = value is None or value <= most
    judged = always or not smoke
    print("  %s %s: %s, goal %s" % ("ok    " if fine else "MISSED" if judged else "slow  ", text, "unknown" if value is None else "%.4g" % value, "%.4g" % most))
    if not fine and judged:
        missed.append(text)


def end():
    sys.exit(1 if missed else 0)
