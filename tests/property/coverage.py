#!/usr/bin/env python3
"""Coverage, counted: the message formats of NCCL, PyTorch, CUDA and others become lines of a log; how many does `davy explain` recognise? TAP.

The formats come from tables (../shared/messages, or $DAVY_MESSAGES): printf forms with the releases that print them and a role. Each is filled in three times
(plain values, plausible ones, odd ones) and stands in a line with the prefix that its software writes. Recognised: an event of every filling. With --list
everything that is not recognised is named; --only TEXT looks at formats that contain it."""
import csv, json, os, re, subprocess, sys

top = os.environ.get("DAVY_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
davy = os.environ.get("DAVY", os.path.join(top, "build/davy"))
folder = os.environ.get("DAVY_MESSAGES") or next((p for p in (os.path.join(top, "..", "shared/messages"), os.path.join(top, "../..", "shared/messages")) if os.path.isdir(p)), None)
SPEC = re.compile(r"%([-+ #0']*)([0-9]*\.?[0-9]*)((?:hh|h|ll|l|L|q|j|z|t)?)([diuxXofFeEgGaAcsp])")
BATCH = int(os.environ.get("BATCH", "500"))
listing = "--list" in sys.argv
only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else None

ERRORS = ("Connection refused", "No space left on device", "Cannot allocate memory")
PLACES = [  # what stands in front of a %s, and what may follow there
    (r"(failed|returned|error|reason|errno|strerror|because|due to)[ :'\"(]*$", ERRORS),
    (r"(file|path|director\w*|open|read|load\w*|librar\w*|dlopen|mmap|segment|socket) ?[:'\"`(=]*$", ("/dev/shm/nccl-x7Gq2Z", "/usr/lib/x86_64-linux-gnu/libibverbs.so.1", "/sys/class/net/eth0")),
    (r"(host|node|peer|address|addr|server|remote|to|from|endpoint) ?[:'\"`(=\[]*$", ("node07<41234>", "10.0.0.7", "[fe80::1%eth0]:29500")),
    (r"(interface|ifname|if|nic|dev\w*|port|hca) ?[:'\"`(=]*$", ("eth0", "mlx5_0", "bond0.100")),
    (r"(rank|size|count|index|number|seq\w*|id|code|line|pid) ?[:'\"`(=#]*$", ("3", "12", "1048576")),
    (r"(op\w*|collective|func\w*|call\w*) ?[:'\"`(=]*$", ("ALLREDUCE", "ncclAllReduce", "broadcast")),
    (r"version ?[:'\"`(=]*$", ("2.18.6", "2.6.0+cu124", "12.4")),
]


def text_value(before, variant):
    if variant == 0:
        return "abc"
    for pattern, values in PLACES:
        if re.search(pattern, before, re.I):
            return values[variant % 3]
    return ("eth0", "value_1", "some text (with 2 words), and more")[variant]


def fill(fmt, variant):
    out, at = [], 0
    for m in SPEC.finditer(fmt):
        if m.start() and fmt[m.start() - 1] == "%" and (len(fmt[:m.start()]) - len(fmt[:m.start()].rstrip("%"))) % 2:
            continue
        out.append(fmt[at:m.start()].replace("%%", "%"))
        at = m.end()
        flags, width, _, kind = m.groups()
        if kind in "diu":
            n = (7, 3, 4294967)[variant]
            out.append(("%" + flags.replace("'", "") + width + "d") % n)
        elif kind in "xXo":
            out.append(("%" + flags.replace("'", "") + width + kind) % (26, 0x3f2a, 0x7f001234)[variant])
        elif kind in "fFeEgGaA":
            out.append(("%" + width + ("g" if kind in "aA" else kind)) % (0.5, 12.25, 1e9)[variant])
        elif kind == "c":
            out.append("A")
        elif kind == "p":
            out.append(("0x7f3c5a200000", "(nil)", "0x55d0c0ffee00")[variant])
        else:
            out.append(("%" + width + "s") % text_value("".join(out), variant) if "." not in width else text_value("".join(out), variant))
    out.append(fmt[at:].replace("%%", "%"))
    return "".join(out)


def spelled(fmt):
    return fmt.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"').replace("\\'", "'").replace("\\\\", "\\")


def literal(fmt):
    return sum(not c.isspace() for c in SPEC.sub("", spelled(fmt)).replace("%%", "%"))


def release(text):
    return tuple(int(x) for x in re.findall(r"\d+", text.split("+")[0])[:3])


def nccl_line(row, text, i, variant):
    host = "node%02d:%d:%d " % (i % 64, 4000 + i, 9000 + i)
    if row["level"] in ("INFO", "VERSION"):
        return [host + "[%d] NCCL INFO %s" % (i % 8, text)]
    if row["level"] == "RESULT" and row["role"] == "benign":
        return [host + "[%d] NCCL INFO %s" % (i % 8, text)]
    if row["level"] == "RESULT":
        return ["[rank%d]: torch.distributed.DistBackendError: NCCL error in: /opt/pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:%d, %s, NCCL version 2.21.5" % (i, 77 + variant, text)]
    last, stamp, fn = release(row["last_seen"]), "", ""
    if last >= (2, 26, 0):
        stamp = "[2026-01-05 10:11:%02d] " % (i % 60)
    if last >= (2, 30, 7):
        fn = "(%s) " % (re.sub(r" .*", "", row["function_or_subsystem"]) or "ncclFunction")
    return [stamp + host + "[%d] %s:%d %sNCCL WARN %s" % (i % 8, re.sub(r"^src/| .*", "", row["file"]), 100 + i % 900, fn, text)]


def torch_line(row, text, i, variant):
    rank, level, file = "[rank%d]:" % i, row["level"], os.path.basename(row["file"]) or "x.cpp"
    if level.startswith("raise"):
        kind = level.partition(":")[2] or "RuntimeError"
        return [rank + " " + kind + ": " + text]
    if row["file"].endswith(".py") or "/" not in row["file"]:
        if level in ("WARN", "INFO", "DEBUG", "ERROR", "ERRLOG"):
            return [rank + "W1122 03:04:05.123000 %d %s:%d] %s" % (4000 + i, row["file"], 10 + i, text)]
        return [rank + " " + text]
    if level in ("ERROR", "STR", "INTERNAL"):
        return [rank + " RuntimeError: " + text]
    letter = {"WARN": "W", "INFO": "I", "DEBUG": "I"}.get(level, "E")
    return [rank + "[%s1122 03:04:05.123456789 %s:%d] %s" % (letter, file, 10 + i, text)]


def other_line(row, text, i, variant):
    if row["level"] == "KERNEL":
        text = "[%d.%06d] %s" % (1000 + i, i, text)
    elif row["level"] == "CUDA" and variant:
        text = ("RuntimeError: CUDA error: %s", "NCCL WARN Cuda failure '%s'")[variant - 1] % text
    return ["%d: %s" % (i * 37 % 997, text)]  # srun -l, in no order: no line numbers


LINE = {"nccl": nccl_line, "torch": torch_line, "other": other_line}


def events_of(block):
    log, place = [], []
    for n, (layer, row, variant) in enumerate(block):
        lines = LINE[layer](row, fill(spelled(row["format_string"]), variant), n, variant)
        lines = [("[rank%d]: " % n if k and layer == "torch" else "") + x for line in lines for k, x in enumerate(line.split("\n"))]
        place.append((len(log) + 1, len(log) + len(lines)))
        log += lines
    p = subprocess.run([davy, "explain", "--json", "-"], input="\n".join(log).encode() + b"\n", capture_output=True, timeout=120)
    try:
        events = json.loads(p.stdout)["events"]
    except ValueError:
        print("Bail out! exit %d: %s" % (p.returncode, p.stderr.decode()[:300]))
        sys.exit(1)
    found = [[] for _ in block]
    owner = {line: n for n, (a, b) in enumerate(place) for line in range(a, b + 1)}
    for e in events:
        found[owner[e["line"]]].append(e)
    return found


def recognise(rows):
    """For each row the events of its three fillings."""
    work = [(layer, row, v) for layer, row in rows for v in range(3)]
    result = []
    for i in range(0, len(work), BATCH):
        result += events_of(work[i:i + BATCH])
    return [result[3 * i:3 * i + 3] for i in range(len(rows))]


def read(layer):
    with open(os.path.join(folder, layer + "_messages.tsv"), encoding="utf-8", newline="") as f:
        return [(layer, r) for r in csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE) if not only or only in r["format_string"]]


tests = bad = 0


def report(name, got, of, goal, missing):
    global tests, bad
    tests += 1
    share = 100.0 * got / of if of else 100.0
    good = share >= goal
    bad += not good
    print("%s %d - %s: %d of %d (%.1f %%, goal %g %%)" % ("ok" if good else "not ok", tests, name, got, of, share, goal))
    if listing or not good or (missing and len(missing) <= 12):
        for layer, row in missing if listing else missing[:40]:
            print("#   %s %s [%s] %s" % (row["level"], row["class"], row["role"], row["format_string"][:200]))


if not folder or not os.path.exists(os.path.join(folder, "nccl_messages.tsv")):
    print("ok 1 - coverage of messages # SKIP the tables of messages are not here\n1..1")
    sys.exit(0)

nccl, torch, other = read("nccl"), read("torch"), read("other")
warn = [x for x in nccl if x[1]["level"] == "WARN" and literal(x[1]["format_string"]) >= 12]
results = [x for x in nccl if x[1]["level"] == "RESULT" and x[1]["role"] in ("primary", "secondary") and "legacy" not in x[1]["class"]]


def is_job(row):
    return row["role"] in ("primary", "secondary") and literal(row["format_string"]) >= 8


c10d = [x for x in torch if is_job(x[1]) and ("c10d" in x[1]["file"] or re.match(r"torch\.(c10d|nccl|gloo|collective|rdzv\.env)", x[1]["class"]))]
elastic = [x for x in torch if is_job(x[1]) and ("elastic" in x[1]["file"] or x[1]["class"].startswith("torch.elastic"))]
store = [x for x in torch if is_job(x[1]) and x[1]["class"].startswith("torch.store")]
cuda = [x for x in torch + other if is_job(x[1]) and re.match(r"(torch\.)?cuda\.", x[1]["class"])]
# What every module says whose attribute is asked in vain is no noise, wherever it was found.
benign = [x for x in nccl + torch + other if x[1]["role"] == "benign" and x[1]["format_string"] != "module %s has no attribute %s"]
rest = [x for x in torch + other if is_job(x[1]) and x not in c10d and x not in elastic and x not in store and x not in cuda]

everything = {id(x[1]): x for group in (warn, results, c10d, elastic, store, cuda, benign) for x in group}
if "--rest" in sys.argv:
    everything.update({id(x[1]): x for x in rest})
events = dict(zip(everything, recognise(list(everything.values()))))


def known(x):
    return all(events[id(x[1])])


releases = sorted({release(x[1][c]) for x in nccl for c in ("first_seen", "last_seen")})
for r in releases:
    if r >= (2, 10) and warn:
        at = [x for x in warn if release(x[1]["first_seen"]) <= r <= release(x[1]["last_seen"])]
        report("NCCL %s WARN" % ".".join(map(str, r)), sum(map(known, at)), len(at), 98, [] if r != releases[-1] else [x for x in at if not known(x)])
modern = [x for x in warn if release(x[1]["last_seen"]) >= (2, 10)]
report("NCCL WARN since 2.10", sum(map(known, modern)), len(modern), 98, [x for x in modern if not known(x)])
for name, group in (("ncclResult texts", results), ("c10d", c10d), ("elastic", elastic), ("store", store), ("CUDA", cuda)) + ((("other", rest),) if "--rest" in sys.argv else ()):
    report(name, sum(map(known, group)), len(group), 95, [x for x in group if not known(x)])
blamed = [x for x in benign if any(e["class"] in ("evidence", "consequence") for filled in events[id(x[1])] for e in filled)]
report("benign, and not blamed", len(benign) - len(blamed), len(benign), 100, blamed)
plain = [x for x in benign if literal(x[1]["format_string"]) >= 12]
missed = [x for x in plain if not known(x)]
report("benign of twelve letters or more, known as noise", len(plain) - len(missed), len(plain), 100, missed)
print("1..%d" % tests)
sys.exit(bad > 0)
