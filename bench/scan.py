#!/usr/bin/env python3
"""The scan of `davy explain` beside ripgrep with one thread and the same patterns, in one run; thousands of files; the same speed at every length.

ripgrep gets what it can take of Davy's patterns, in two forms: all of them as expressions, and of each the longest literal as a fixed string (which does less
work than Davy: it finds places, and neither captures nor ranks). The goals are held against the faster of the two. Speeds are bytes in a second of processor
time, without the start; ripgrep is timed on a part of the log.  --mib N: size of the logs, 2048; --files N: of
one megabyte, 4096; --most N: the longest stream in MB, 10000."""
import json, os, re, subprocess, sys, tempfile, time
from measure import davy, end, goal, once, smoke, top

mib = int(sys.argv[sys.argv.index("--mib") + 1]) if "--mib" in sys.argv else 24 if smoke else 2048
files = int(sys.argv[sys.argv.index("--files") + 1]) if "--files" in sys.argv else 48 if smoke else 4096
most = int(sys.argv[sys.argv.index("--most") + 1]) if "--most" in sys.argv else 40 if smoke else 10000
make = os.path.join(top, "bench", "make-log")
SPEC = re.compile(r"%[-+ #0']*[0-9.*]*(?:hh|h|ll|l|L|q|j|z|t)?([diuxXofFeEgGaAcsp])")


def apart(work, *args):
    """Does it in a child: what this process holds in memory would count as its children's."""
    pid = os.fork()
    if pid == 0:
        try:
            work(*args)
            os._exit(0)
        except BaseException as e:
            print(e, file=sys.stderr)
        os._exit(1)
    if os.waitpid(pid, 0)[1]:
        sys.exit("preparing failed")


def escape(s):
    return re.sub(r"([\\.+*?()|\[\]{}^$#&~-])", r"\\\1", s)


def expression(fmt):
    """A printf format as an expression."""
    out, at = [], 0
    for m in SPEC.finditer(fmt):
        out.append(escape(fmt[at:m.start()].replace("%%", "%")))
        out.append({"x": "[0-9a-fA-F]+", "X": "[0-9a-fA-F]+", "p": r"\S+", "c": ".", "s": ".*"}.get(m.group(1), r"-?[0-9]+"))
        at = m.end()
    return "".join(out) + escape(fmt[at:].replace("%%", "%"))


def longest(text, is_format):
    parts = SPEC.split(text)[::2] if is_format else re.findall(r"[A-Za-z0-9 _,:'/=-]{5,}", re.sub(r"\\[a-zA-Z]|\(\?[:<][^)]{0,20}?>?|\[[^\]]*\]", " | ", text))
    return max(parts, key=len, default="").replace("%%", "%").strip()


def patterns(scratch):
    """Files of expressions and of literals for ripgrep."""
    rows = json.loads(subprocess.run([davy, "query", "--json", "SELECT regex, format FROM pattern"], capture_output=True, check=True).stdout)["rows"]
    expressions, literals, left_out = [], set(), 0
    for r in rows:
        if r["format"]:
            p = expression(r["format"])
        else:
            p = re.sub(r"\\(['\"`<>/:=!@;%_, ])", r"\1", re.sub(r"\(\?<[A-Za-z_]\w*>", "(?:", r["regex"]))
        literal = longest(r["format"] or r["regex"], bool(r["format"]))
        if len(literal) >= 5:
            literals.add(literal)
        if smoke:
            continue
        if not p.isascii() or (not r["format"] and subprocess.run(["rg", "-q", "--no-unicode", "-e", p, os.devnull], stderr=subprocess.DEVNULL).returncode == 2):
            left_out += 1
        else:
            expressions.append(p.replace("\n", " "))
    paths = [os.path.join(scratch, n) for n in ("expressions", "literals")]
    for path, lines in zip(paths, (expressions, sorted(literals))):
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
    if not smoke:
        print("%d patterns, %d of them beyond ripgrep" % (len(rows), left_out), flush=True)


def make_log(path, kind, size):
    """One block from make-log, repeated."""
    block = subprocess.run([sys.executable, make, kind, str(min(size, 24))], capture_output=True, check=True).stdout
    with open(path, "wb") as f:
        for _ in range(max(1, (size << 20) // len(block))):
            f.write(block)


def speed(cmd, path, runs=1):
    """GB in a second of processor time beyond what the same takes with nothing to read; MB resident; seconds by the clock."""
    empty = min(once(cmd + [small])[1] for _ in range(2))
    best = min((once(cmd + [path]) for _ in range(runs)), key=lambda r: r[1])
    return os.path.getsize(path) / max(best[1] - empty, 1) / 1e6, best[2], best[0] / 1e3


def head_of(path, bytes_):
    part = path + ".part"
    with open(path, "rb") as f, open(part, "wb") as g:
        for _ in range(0, bytes_, 1 << 18):
            g.write(f.read(1 << 18))
    return part


def beside_ripgrep(kind, least):
    log = os.path.join(scratch, kind + ".log")
    apart(make_log, log, kind, mib)
    mine, rss, wall = speed([davy, "explain", "--quiet"], log, 2)
    print("%-48s %9.2f GB/s %7.1f s %7.1f MB" % ("davy explain, %d MB, %s" % (mib, kind), mine, wall, rss), flush=True)
    goal("resident MB", rss, 64, always=True)
    if not has_rg:
        return
    strings, _, _ = speed(["rg", "-j1", "-c", "-F", "-f", literals], head_of(log, min(mib, 200) << 20))
    print("%-48s %9.2f GB/s" % ("rg -j1 -F, the patterns' longest literals", strings), flush=True)
    if smoke: # compiling the expressions takes ripgrep minutes, and speed is not judged
        return
    regexes, _, _ = speed(["rg", "-j1", "-c", "--no-unicode", "--regex-size-limit=8G", "--dfa-size-limit=1G", "-f", expressions], head_of(log, 1 << 18))
    print("%-48s %9.3f GB/s" % ("rg -j1, the patterns", regexes), flush=True)
    goal("%s: rg's speed over davy's" % kind, max(strings, regexes) / mine, 1 / least)


def make_ranks(folder, count):
    line = "[rank%d]: 2026-11-07 03:12:%02d INFO step %d loss %.4f grad_norm %.3f lr 2.9e-05 tokens/s 18231 mem 61.2GB\n"
    body = "".join(line % (999999, i % 60, i, 2.5 - i % 97 / 100, 1.25) for i in range(9600))
    for rank in range(count):
        with open(os.path.join(folder, "rank_%d.log" % rank), "w") as f:
            f.write(body.replace("rank999999", "rank%d" % rank))
            f.write("[rank%d]: %s\n" % (rank, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB." if rank == count * 2 // 3 else
                    "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2027, remote process exited or there was a network error, NCCL version 2.21.5"))


def many_files(count):
    """Files of one rank each, a megabyte; one of them fails."""
    folder = os.path.join(scratch, "ranks")
    os.mkdir(folder)
    apart(make_ranks, folder, count)
    wall, cpu, rss, _ = once([davy, "explain", "--json", folder])
    p = subprocess.run([davy, "explain", "--json", folder], capture_output=True)
    found = json.loads(p.stdout)["findings"]
    print("%-48s %9.1f s %9.1f s of processor %7.1f MB" % ("davy explain, %d files of 1 MB" % count, wall / 1e3, cpu / 1e3, rss))
    goal("wrong answers", 0 if found[0]["cause"] == "program.gpu-out-of-memory" and found[0]["rank"] == count * 2 // 3 else 1, 0, always=True)
    goal("resident MB", rss, 64, always=True)


def streamed(size):
    """Through a pipe, written by another process."""
    block = os.path.join(scratch, "block")
    if not os.path.exists(block):
        apart(make_log, block, "rare", 8)
    data = "import sys,os\nb=open(sys.argv[1],'rb').read()\nn=int(sys.argv[2])<<20\nwhile n>0:\n os.write(1,b[:n])\n n-=len(b)\n"
    data = data.replace("os.write(1,b[:n])", "sys.stdout.buffer.write(b[:n])")
    writer = subprocess.Popen([sys.executable, "-c", data, block, str(size)], stdout=subprocess.PIPE)
    start = time.monotonic()
    p = subprocess.Popen([davy, "explain", "--quiet", "-"], stdin=writer.stdout, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    writer.stdout.close()
    _, _, usage = os.wait4(p.pid, 0)
    writer.wait()
    cpu = usage.ru_utime + usage.ru_stime
    print("%-48s %9.2f s %9.2f s of processor %7.1f MB" % ("davy explain -, %d MB through a pipe" % size, time.monotonic() - start, cpu, usage.ru_maxrss / 1024), flush=True)
    return cpu, usage.ru_maxrss / 1024


with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as scratch:
    small = os.path.join(scratch, "nothing")
    with open(small, "w") as f:
        f.write("step 1\n")
    has_rg = subprocess.run(["sh", "-c", "command -v rg"], stdout=subprocess.DEVNULL).returncode == 0
    if has_rg:
        expressions, literals = os.path.join(scratch, "expressions"), os.path.join(scratch, "literals")
        apart(patterns, scratch)
    else:
        print("ripgrep is not installed: nothing to compare with")
    beside_ripgrep("rare", 5)
    beside_ripgrep("info", 2)
    for n in os.listdir(scratch):
        if n.endswith((".log", ".part")):
            os.remove(os.path.join(scratch, n))
    many_files(files)
    sizes = [s for s in (10, 40, 100, 1000, 10000) if s <= most]
    start, _ = streamed(1)
    times = [streamed(s) for s in sizes]
    per_mb = [(t[0] - start * 0.9) / s for t, s in zip(times, sizes)]
    goal("processor time for a MB, the longest stream over the second", per_mb[-1] / per_mb[1], 1.3)
    goal("resident MB", max(t[1] for t in times), 64, always=True)
end()
