#!/usr/bin/env python3
"""A double of a CUDA PyTorch (tests/fake/wheel/double.py) in the layouts of pip, conda and NVIDIA's images, with drivers 450 to 610 and GPUs from K80 to B300: what
`davy check` predicts from files alone is what the published tables say. The expectations are computed here, from knowledge/tables and the rules of CUDA's documentation, not by Davy. TAP.

Outcomes: runs · minor (runs by minor-version compatibility) · ptx (runs, PTX is compiled at the start) · no-kernel-old, -new, -between (no code for this GPU, which is older or newer than all that is there) · ptx-driver (only PTX, and the
driver is too old to compile it) · driver-old (+compat: a data-centre GPU on a branch for which forward-compatibility packages exist) · gpu-unknown (the driver is older than the GPU) ·
gpu-dropped (the driver no longer knows it) · 803, 804 (a wrong forward-compatibility library). With --table the whole table is printed."""
import concurrent.futures, json, os, shutil, subprocess, sys, tempfile

top = os.environ.get("DAVY_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
davy = os.environ.get("DAVY", os.path.join(top, "build/davy"))
sys.path.insert(0, os.path.join(top, "tests/fake/wheel"))
sys.path.insert(0, os.path.join(top, "tests"))
import double, fired  # noqa: E402

# PCI id, capability: as in NVIDIA's list of CUDA GPUs. Class decides about forward compatibility.
GPUS = [("K80", "102d", 37, "datacentre"), ("M40", "17fd", 52, "datacentre"), ("P100", "15f9", 60, "datacentre"), ("GTX 1080 Ti", "1b06", 61, "geforce"), ("V100", "1db1", 70, "datacentre"),
        ("T4", "1eb8", 75, "datacentre"), ("A100", "20b2", 80, "datacentre"), ("RTX 3090", "2204", 86, "geforce"), ("RTX 4090", "2684", 89, "geforce"), ("L40S", "26b9", 89, "datacentre"),
        ("H100", "2330", 90, "datacentre"), ("B200", "2901", 100, "datacentre"), ("B300", "3182", 103, "datacentre"), ("RTX 5090", "2b85", 120, "geforce"), ("GB10", "2e12", 121, "workstation")]
DRIVERS = ["450.51.05", "450.80.02", "470.256.02", "510.108.03", "515.105.01", "520.61.05", "525.53", "525.60.13", "525.147.05", "530.30.02", "535.54.03", "535.274.02", "545.29.06", "550.163.01",
           "555.58.02", "560.35.05", "565.77", "570.86.10", "570.211.01", "575.64.05", "580.65.06", "580.142", "590.48.01", "595.84.01", "610.57.04"]
BUILDS = ["cu118", "cu121", "cu126", "cu128", "cu130"]


def numbers(version):
    return tuple(int(x) for x in version.split("."))


ARCHS = {int(r["cc"]): r for r in double.table("gpu_arch") if r["cc"] not in ("-", "?", "")}
BRANCHES = {int(r["number"]): r for r in double.table("driver_branch") if r["number"] not in ("-", "?", "")}
TOOLKITS = [r for r in double.table("cuda_driver") if r["kind"] == "toolkit"]


def branch_of(value):
    return int(value) if value not in ("-", "?", "") else None


def runs_code(cc, codes):
    """"native", "ptx" or None: CUDA C++ Programming Guide, binary and PTX compatibility."""
    best = None
    for code in codes.split():
        kind, number = code.split("_")
        suffix = number[-1] if number[-1] in "af" else ""
        have = int(number.rstrip("af"))
        if kind == "sm":
            if (suffix == "a" and have == cc) or (suffix != "a" and have // 10 == cc // 10 and cc >= have):
                return "native"
        elif (suffix == "a" and have == cc) or (suffix == "f" and have // 10 == cc // 10 and cc >= have) or (not suffix and cc >= have):
            best = "ptx"
    return best


def outcome(cuda, codes, driver, cc, kind, compat=None):
    branch, arch = numbers(driver)[0], ARCHS[cc]
    first, last = branch_of(arch["branch_first"]), branch_of(arch["branch_last"])
    if last and branch > last:
        return "gpu-dropped"
    if first and branch < first:
        return "gpu-unknown"
    user = driver
    if compat and numbers(compat) < numbers(driver):
        return "803"
    if compat and numbers(compat) > numbers(driver):
        if kind == "geforce":
            return "804"
        user = compat
    rows = [r for r in TOOLKITS if r["cuda"] == cuda]
    floor = {"11": "450.80.02", "12": "525.60.13", "13": "580.65.06"}[cuda.split(".")[0]]
    for r in rows:  # the tables say the same, the bare branch for 13
        assert numbers(r["driver_minor_min"])[0] == numbers(floor)[0], r
    if numbers(user) < numbers(floor):
        return "driver-old" + ("+compat" if kind == "datacentre" and BRANCHES[branch]["ended"] == "0" else "")
    code = runs_code(cc, codes)
    if not code:
        have = [int(c.split("_")[1].rstrip("af")) for c in codes.split()]
        return "no-kernel-old" if min(have) > cc else "no-kernel-new" if max(have) // 10 <= cc // 10 else "no-kernel-between"
    new_enough = numbers(BRANCHES[numbers(user)[0]]["cuda_max"]) >= numbers(cuda)
    if code == "ptx":
        return "ptx" if new_enough else "ptx-driver"
    return "runs" if new_enough else "minor"


CAUSE = {"runs": [None], "minor": [None], "ptx": [None], "no-kernel-old": ["gpu.arch-too-old"], "no-kernel-between": ["gpu.arch-too-old", "gpu.arch-too-new"], "no-kernel-new": ["gpu.arch-too-new"], "ptx-driver": ["driver.too-old"], "driver-old": ["driver.too-old"],
         "driver-old+compat": ["driver.too-old"], "gpu-unknown": ["driver.too-old"], "gpu-dropped": ["driver.gpu-dropped"], "803": ["driver.compat-library-wrong"], "804": ["driver.compat-library-wrong"]}


def judge(snapshot, python):
    p = subprocess.run([davy, "check", "--json", "--from", snapshot, "--python", python], capture_output=True, timeout=60)
    try:
        doc = json.loads(p.stdout)
        fired.note(doc)
        return doc
    except ValueError:
        return {"findings": [{"cause": "no JSON: " + p.stderr.decode()[:300], "status": "fail", "says": "", "fixes": []}], "facts": {"gpu": []}}


def compare(want, got):
    fails = [f for f in got["findings"] if f["status"] in ("fail", "unknown")]
    first = fails[0]["cause"] if fails else None
    if first not in CAUSE[want] or len(fails) > 1:
        return "expected %s (%s), got %s" % (want, CAUSE[want][0], "; ".join("%s %s: %s" % (f["status"], f["cause"], f["says"]) for f in fails) or "no fault")
    warned = [f["cause"] for f in got["findings"] if f["status"] == "warn"]
    if want in ("runs", "minor", "ptx") and [w for w in warned if not (w == "library.nccl-too-old" and got["facts"]["gpu"][0]["cc"] >= 100)]:
        return "expected %s, got warnings %s" % (want, warned)
    if want.startswith("driver-old"):
        offered = any(x["id"] == "forward-compat" for x in fails[0]["fixes"])
        if offered != want.endswith("+compat"):
            return "expected %s, forward compatibility %s" % (want, "is offered" if offered else "is not offered")
    return None


class Tap:
    n = bad = 0

    def line(self, good, name, notes=()):
        self.n += 1
        self.bad += not good
        print("%s %d - %s" % ("ok" if good else "not ok", self.n, name))
        for note in notes:
            print("#   " + note)


def environment(work, layout, variant, **more):
    root = tempfile.mkdtemp(prefix="%s-%s-" % (layout, variant), dir=work)
    double.system(root)
    python = double.LAYOUTS[layout](root, variant, **more)
    base = double.record(davy, root, python, root + ".base")
    shutil.rmtree(root)
    return base, python


def cases(work):
    """(group, name, snapshot maker, python, wanted outcome)."""
    for layout in double.LAYOUTS:
        for variant in BUILDS:
            base, python = environment(work, layout, variant)
            cuda, codes = double.BUILDS[variant][1], double.release(variant)["arch_list"]
            for name, device, cc, kind in GPUS:
                for driver in DRIVERS if layout == "wheel" else DRIVERS[5::6]:
                    yield "%s %s" % (layout, variant), "%s, driver %s" % (name, driver), base, (driver, device, cc), python, outcome(cuda, codes, driver, cc, kind), None
    # A build with PTX, its driver's age against its PTX; and one of NVIDIA's suffixes.
    for variant, codes in (("cu121", "sm_70 sm_80 compute_80"), ("cu126", "sm_75 sm_90a compute_90"), ("cu128", "sm_80 sm_100f compute_80"), ("cu130", "sm_90a compute_90a")):
        base, python = environment(work, "wheel", variant, codes=codes)
        for name, device, cc, kind in GPUS[4:]:
            for driver in ("525.147.05", "535.274.02", "550.163.01", "570.211.01", "580.142"):
                yield "code %s of %s" % (codes, variant), "%s, driver %s" % (name, driver), base, (driver, device, cc), python, outcome(double.BUILDS[variant][1], codes, driver, cc, kind), None
    # Forward compatibility.
    for variant, compat in (("cu121", "530.30.02"), ("cu128", "570.124.06"), ("cu130", "580.82.07")):
        base, python = environment(work, "ngc", variant)
        cuda, codes = double.BUILDS[variant][1], double.release(variant)["arch_list"]
        for name, device, cc, kind in [g for g in GPUS if g[0] in ("V100", "A100", "RTX 4090", "H100", "RTX 3090")]:
            for driver in ("470.256.02", "535.274.02", "550.163.01", "570.211.01", "580.142"):
                yield "compat %s for %s" % (compat, variant), "%s, driver %s" % (name, driver), base, (driver, device, cc), python, outcome(cuda, codes, driver, cc, kind, compat), compat


def main():
    work = tempfile.mkdtemp(prefix="davy-double-")
    tap, listed, groups, number = Tap(), "--table" in sys.argv, {}, 0
    try:
        work_list = []
        for group, name, base, (driver, device, cc), python, want, compat in cases(work):
            number += 1
            work_list.append((group, name, os.path.join(work, "case-%d" % number), base, driver, device, cc, python, want, compat))

        def run(case):
            group, name, out, base, driver, device, cc, python, want, compat = case
            double.machine(out, base, driver, [device], cc >= 100, compat)
            got = judge(out, python)
            shutil.rmtree(out)
            seen = got["facts"]["gpu"]
            if not seen or str(seen[0].get("cc")) != str(cc):
                return group, name, want, "the GPU is taken for %s" % (seen[0].get("cc") if seen else None)
            return group, name, want, compare(want, got)

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for group, name, want, wrong in pool.map(run, work_list):
                g = groups.setdefault(group, {"n": 0, "wrong": [], "kinds": {}})
                g["n"] += 1
                g["kinds"][want] = g["kinds"].get(want, 0) + 1
                if wrong:
                    g["wrong"].append("%s: %s" % (name, wrong))
                if listed:
                    print("# %s\t%s\t%s" % (group, name, want))
        for group, g in groups.items():
            tap.line(not g["wrong"], "%s: %d machines (%s)" % (group, g["n"], ", ".join("%s %d" % k for k in sorted(g["kinds"].items()))), g["wrong"][:12])
        kinds = {k for g in groups.values() for k in g["kinds"]}
        tap.line(kinds >= set(CAUSE), "every outcome occurs", sorted(set(CAUSE) - kinds))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print("1..%d" % tap.n)
    sys.exit(tap.bad > 0)


main()
