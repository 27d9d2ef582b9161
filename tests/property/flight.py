#!/usr/bin/env python3
"""Flight Recorder dumps: made for jobs of which the culprit is known, in every pickle protocol and as JSON. TAP."""
import json, os, pickle, shutil, subprocess, sys, tempfile

top = os.environ.get("DAVY_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
davy = os.environ.get("DAVY", os.path.join(top, "build/davy"))
sys.path.insert(0, os.path.join(top, "tests"))
import fired  # noqa: E402
n = bad = 0


def entry(pg, name, desc, seq, op="nccl:all_reduce", state="scheduled", sizes=((1024,),)):
    return {"record_id": seq, "pg_id": pg, "process_group": (name, desc), "collective_seq_id": seq, "p2p_seq_id": 0, "op_id": seq, "profiling_name": op,
            "time_created_ns": 1758581237526848193 + seq, "input_sizes": [list(s) for s in sizes], "state": state, "retired": state == "completed", "is_p2p": False}


def job(world, tp):
    """Ranks in one group of all and in groups of tp neighbours."""
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(world)))}}
    for g in range(world // tp):
        config[str(1 + g)] = {"name": str(1 + g), "desc": "TENSOR_MODEL_PARALLEL_GROUP", "ranks": str(list(range(g * tp, (g + 1) * tp)))}
    return config


def dumps(world, tp, reached):
    """reached[r] = (last scheduled, last completed) in its own small group; the group of all is one step behind everywhere."""
    out = {}
    for r in range(world):
        enq, comp = reached(r)
        if enq is None:
            continue
        own = 1 + r // tp
        entries = [entry(1, str(own), "TENSOR_MODEL_PARALLEL_GROUP", s) for s in range(comp + 1, enq + 1)]
        out[r] = {"version": "2.9", "nccl_version": "2.27.3", "pg_config": job(world, tp), "entries": entries,
                  "pg_status": {"0": {"last_enqueued_collective": 10, "last_started_collective": -1, "last_completed_collective": 10},
                                "1": {"last_enqueued_collective": enq, "last_started_collective": -1, "last_completed_collective": comp}}}
    return out


def judge(name, ranks, cause, culprits, write):
    global n, bad
    folder = tempfile.mkdtemp()
    try:
        for r, d in ranks.items():
            write(folder, r, d)
        p = subprocess.run([davy, "explain", "--json", folder], capture_output=True, timeout=30)
        doc = json.loads(p.stdout)
        fired.note(doc)
        got = [(f["cause"], sorted(f["ranks"])) for f in doc["findings"] if f["status"] == "fail"]
        good = (got[:1] == [(cause, culprits)]) if cause else (not got and p.returncode == 2)
    except ValueError:
        good, got = False, p.stderr.decode()[:300]
    finally:
        shutil.rmtree(folder)
    n += 1
    bad += not good
    print("%s %d - flight recorder: %s" % ("ok" if good else "not ok", n, name))
    if not good:
        print("#   got %s, expected %s %s" % (got, cause, culprits))


def pickled(protocol):
    def write(folder, r, d):
        with open(os.path.join(folder, "_dump_%d" % r), "wb") as f:
            pickle.dump(d, f, protocol=protocol)
    return write


def as_json(folder, r, d):
    with open(os.path.join(folder, "nccl_trace_rank_%d.json" % r), "w") as f:
        json.dump(d, f)


healthy = lambda r: (20, 19)
# Rank 5 schedules nothing after 18: its neighbours wait in 19 and 20.
locked = lambda r: (18, 18) if r == 5 else (20, 18) if r // 4 == 1 else (20, 20)
# Rank 6's GPU stands still at 12 while its neighbours are through with 18.
stuck = lambda r: (20, 11) if r == 6 else (20, 18) if r // 4 == 1 else (20, 20)
gone = lambda r: (None, None) if r == 2 else (20, 18) if r // 4 == 0 else (20, 20)
for protocol in (2, 3, 4, 5):
    judge("a program that stands still, protocol %d" % protocol, dumps(8, 4, locked), "program.slow-rank", [5], pickled(protocol))
judge("a program that stands still, JSON", dumps(8, 4, locked), "program.slow-rank", [5], as_json)
judge("a GPU that stands still", dumps(8, 4, stuck), "hardware.gpu-hang", [6], pickled(2))
judge("a rank that left no dump", dumps(8, 4, gone), "program.rank-crashed", [2], pickled(2))
judge("all have entered, none ends", dumps(8, 4, lambda r: (20, 19)), None, [], pickled(2))
other = dumps(8, 4, lambda r: (20, 19))
other[3]["entries"][0]["profiling_name"] = "nccl:broadcast"
judge("another operation under the same number", other, "program.collective-mismatch", [3], pickled(2))
sizes = dumps(8, 4, lambda r: (20, 19))
sizes[1]["entries"][0]["input_sizes"] = [[512]]
judge("another size under the same number", sizes, "program.collective-mismatch", [1], as_json)

few = dumps(8, 4, lambda r: (20, 18) if r == 0 else (None, None))
judge("one dump of eight was collected", few, None, [], pickled(2))
old = dumps(8, 4, lambda r: (18, 18) if r == 5 else (20, 18))
for r, d in old.items():  # PyTorch 2.2 and 2.3: no groups, no status, seq_id
    d["entries"] = [{**{k: v for k, v in e.items() if k not in ("process_group", "collective_seq_id", "p2p_seq_id", "op_id", "is_p2p")}, "pg_id": 0, "seq_id": e["collective_seq_id"]} for e in d["entries"]]
    d["entries"].insert(0, {"pg_id": 0, "seq_id": 17, "profiling_name": "nccl:all_reduce", "input_sizes": [[1024]], "state": "completed"})
    del d["pg_config"], d["pg_status"]
judge("dumps that do not tell the groups", old, "program.slow-rank", [5], pickled(4))


def cut(victim):
    def write(folder, r, d):
        data = pickle.dumps(d, 2)
        with open(os.path.join(folder, "_dump_%d" % r), "wb") as f:
            f.write(data[:len(data) // 2] if r == victim else data)
    return write


judge("the dump of a bystander is damaged", dumps(8, 2, lambda r: (18, 18) if r == 5 else (20, 18) if r == 4 else (20, 20)), "program.slow-rank", [5], cut(7))
judge("the dump that matters is damaged", dumps(8, 4, locked), None, [], cut(5))

shared = os.path.join(top, "../shared/cases/flight-recorder")
for run, cause, culprits in (("lock_gil_1st", "program.slow-rank", [9, 14]), ("gpu_error_1st", "hardware.gpu-hang", [12, 14])):
    n += 1
    if not os.path.isdir(os.path.join(shared, run)):
        print("ok %d - the recorded run %s # skip not there" % (n, run))
        continue
    doc = json.loads(subprocess.run([davy, "explain", "--json", os.path.join(shared, run)], capture_output=True, timeout=30).stdout)
    fired.note(doc)
    got = (doc["findings"][0]["cause"], doc["findings"][0]["ranks"])
    good = got == (cause, culprits)
    bad += not good
    print("%s %d - the recorded run %s" % ("ok" if good else "not ok", n, run))
    if not good:
        print("#   got %s" % (got,))


def hostile(name, data, status):
    global n, bad
    with tempfile.NamedTemporaryFile(suffix="_dump_0", delete=False) as f:
        f.write(data)
    p = subprocess.run([davy, "explain", f.name], capture_output=True, timeout=20)
    os.unlink(f.name)
    n += 1
    good = p.returncode in status
    bad += not good
    print("%s %d - hostile pickle: %s" % ("ok" if good else "not ok", n, name))
    if not good:
        print("#   exit %d: %s" % (p.returncode, p.stderr.decode()[:200]))


class Evil:
    def __reduce__(self):
        return (os.system, ("touch /tmp/davy-must-not-run",))


hostile("it wants to run a command", pickle.dumps({"pg_config": {}, "entries": Evil()}, protocol=2), (66,))
assert not os.path.exists("/tmp/davy-must-not-run")
hostile("cut short", pickle.dumps(dumps(8, 4, locked)[0], protocol=2)[:-40], (66,))
bomb = b"\x80\x02}X\x09\x00\x00\x00pg_config]q\x00" + b"(" + b"h\x00" * 3000000 + b"e" + b"s."
hostile("a list of itself, three million times", bomb, (0, 2, 66))
print("1..%d" % n)
sys.exit(bad > 0)
