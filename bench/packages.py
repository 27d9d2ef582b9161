#!/usr/bin/env python3
"""Packages and conflicts beside pip, hashes beside openssl, in one run. The list: `davy query` and `pip list` as whole processes, by the processor. Conflicts: of davy the part that does the same, by its own
clock of the Python part (`timing_ms.python`), which finds the interpreter, lists the packages and judges every requirement at once."""
import base64, hashlib, json, os, shutil, subprocess, sys, tempfile
from measure import davy, end, goal, once, smoke

work = tempfile.mkdtemp()
try:
    env = os.path.join(work, "env")
    if subprocess.run([sys.executable, "-m", "venv", env]).returncode:
        print("no venv module: nothing to measure")
        sys.exit(0)
    python = env + "/bin/python"
    site = subprocess.check_output([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True).strip()
    for i in range(150):
        info = "%s/pkg%03d-1.%d.dist-info" % (site, i, i)
        os.mkdir(info)
        open(info + "/METADATA", "w").write("Metadata-Version: 2.1\nName: pkg%03d\nVersion: 1.%d\n" % (i, i) + "".join("Requires-Dist: pkg%03d (>=1.0,<%s)\n" % ((i + k) % 150, "2" if (i + k) % 11 else "1.5") for k in (1, 3, 7)) + "\n" + "text\n" * 400)
        open(info + "/INSTALLER", "w").write("pip\n")
        open(info + "/RECORD", "w").write("pkg%03d-1.%d.dist-info/METADATA,,\npkg%03d-1.%d.dist-info/RECORD,,\n" % (i, i, i, i))
    n = 3 if smoke else 25
    facts = {}

    def part():
        d = json.loads(subprocess.run([davy, "check", "--json", "--python", python], capture_output=True).stdout)
        facts.update(packages=len(d["facts"]["package"]), conflicts=len(d["facts"]["requirement_conflict"]))
        return d["timing_ms"]["python"]

    part()
    # The least of several runs: what a busy machine disturbs least.
    ours = min(part() for _ in range(n))
    query = [davy, "query", "--json", "--python", python, "SELECT name, version FROM package"]
    # In turn, and the least of each: what a busy machine disturbs least.
    lists = [(min(once(query)[1] for _ in range(5)), once([python, "-m", "pip", "list", "--format=json"])[1]) for _ in range(1 if smoke else 5)]
    asked, listed = (min(r[i] for r in lists) for i in range(2))
    checked = min(once([python, "-m", "pip", "check"])[0] for _ in range(1 if smoke else 5))
    print("%-48s %9.2f ms" % ("davy: %(packages)d packages, %(conflicts)d conflicts" % facts, ours))
    print("%-48s %9.1f ms" % ("pip check", checked))
    print("%-48s %12s %9.1f ms" % ("davy query, the list", "", asked))
    print("%-48s %12s %9.1f ms" % ("pip list", "", listed))
    print("  the list %.0f times faster than pip list, conflicts %.0f times faster than pip check" % (listed / asked, checked / ours))
    goal("share of pip list's processor time", asked / listed, 1 / 150)
    goal("share of pip check's time", ours / checked, 1 / 100)

    # Hashes: files of many sizes, some hundred megabytes.
    size = 40 if smoke else 600
    info = site + "/big-1.0.dist-info"
    os.mkdir(info)
    os.mkdir(site + "/big")
    open(info + "/METADATA", "w").write("Metadata-Version: 2.1\nName: big\nVersion: 1.0\n")
    files, record = [], ""
    for i in range(size // 2):
        data = os.urandom(1 << 20) * (i % 4 + 1) if i % 3 else os.urandom(30000)
        path = "%s/big/f%d.bin" % (site, i)
        open(path, "wb").write(data)
        files.append(path)
        record += "big/f%d.bin,sha256=%s,%d\n" % (i, base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), len(data))
    open(info + "/RECORD", "w").write(record)
    total = sum(os.path.getsize(f) for f in files) / 1e6
    one = ["taskset", "-c", "0"] if shutil.which("taskset") else []

    def best(cmd, k=3 if smoke else 7):
        once(cmd)
        runs = [once(cmd) for _ in range(k)]
        return min(r[0] for r in runs), min(r[1] for r in runs)

    plain = best(one + [davy, "check", "--python", python, "--only", "python"])
    deep = best(one + [davy, "check", "--deep", "--python", python, "--only", "python"])
    openssl = best(one + ["openssl", "dgst", "-sha256"] + files)
    both = best([davy, "check", "--deep", "--python", python, "--only", "python"])
    both_plain = best([davy, "check", "--python", python, "--only", "python"])
    print("%-48s %9.1f ms %9.1f ms" % ("davy --deep, %.0f MB, one core (without the rest)" % total, deep[0] - plain[0], deep[1] - plain[1]))
    print("%-48s %9.1f ms %9.1f ms" % ("openssl dgst -sha256, one core", openssl[0], openssl[1]))
    print("%-48s %9.1f ms" % ("davy --deep, %d cores" % len(os.sched_getaffinity(0)), both[0] - both_plain[0]))
    goal("--deep beside openssl, processor time of one core", (deep[1] - plain[1]) / openssl[1], 1.10)
    if len(os.sched_getaffinity(0)) > 1:
        goal("--deep with all cores, share of one core's time", (both[0] - both_plain[0]) / (deep[0] - plain[0]), 0.65)
finally:
    shutil.rmtree(work)
end()
