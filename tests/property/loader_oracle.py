#!/usr/bin/env python3
"""The loader and Python are the oracle, on environments made at random. TAP.

1 Libraries with RPATH, RUNPATH, LD_LIBRARY_PATH, LD_PRELOAD, missing and foreign files, symbol versions and symbols that nobody has: `davy inspect` finds the files, the missing
  libraries and the undefined symbols that ld.so finds (`ldd -r`), for every library of every environment.
2 Extensions beside a made PyTorch: `davy check` lists a missing symbol or library for exactly those that dlopen(RTLD_NOW) refuses after torch was loaded."""
import json, os, random, re, shutil, subprocess, sys, tempfile

top = os.environ.get("DAVY_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
davy = os.environ.get("DAVY", os.path.join(top, "build/davy"))
sys.path.insert(0, os.path.join(top, "tests/fake/wheel"))
import double  # noqa: E402
from elfmaker import AARCH64, shared  # noqa: E402

LD = "/lib64/ld-linux-x86-64.so.2"
COUNT = int(os.environ.get("COUNT", "50"))
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "PYTHON", "CONDA", "VIRTUAL_ENV", "CUDA", "NCCL"))}
n = bad = 0


def line(good, name, notes=()):
    global n, bad
    n += 1
    bad += not good
    print("%s %d - %s" % ("ok" if good else "not ok", n, name))
    for note in notes:
        print("#   " + note)


if os.uname().machine != "x86_64" or not os.path.exists(LD):
    print("ok 1 - the loader as oracle # SKIP no glibc for x86-64 here\n1..1")
    sys.exit(0)


# -- 1 -------------------------------------------------------------------------------------------------------------------------------------
def random_environment(rnd, work):
    """Folders a, b, c with libraries l0 … l7 that need each other forwards; returns (files to ask about, environment)."""
    folders = ["a", "b", "c/glibc-hwcaps/x86-64-v2", "c"]
    files, symbols = [], {}
    total = rnd.randint(4, 8)
    for i in reversed(range(total)):
        name = "libl%d.so.1" % i
        later = [k for k in range(i + 1, total)]
        needs = rnd.sample(later, min(len(later), rnd.randint(0, 3)))
        needed = ["libl%d.so.1" % k for k in needs] + (["libgone%d.so" % i] if rnd.random() < .08 else []) + (["libc.so.6"] if rnd.random() < .4 else [])
        rnd.shuffle(needed)
        versions = ["L%d_%d" % (i, v) for v in range(1, rnd.randint(2, 4))] if rnd.random() < .5 else []
        defines = [("f%d_%d" % (i, v), rnd.choice(versions) if versions else None) for v in range(rnd.randint(1, 4))]
        wants = []
        for k in needs:
            for f, version in symbols[k]["defines"]:
                if rnd.random() < .6:
                    wants.append((f, version, "libl%d.so.1" % k) if version else f)
            if symbols[k]["versions"] and rnd.random() < .12:
                wants.append(("f%d_0" % k, "L%d_9" % k, "libl%d.so.1" % k))
        if rnd.random() < .2:
            wants.append("nowhere_%d" % i)
        if rnd.random() < .2:
            wants.append("?weak_%d" % i)
        if later and rnd.random() < .2:  # of a library that is perhaps not loaded
            wants.append("f%d_0" % rnd.choice(later))
        symbols[i] = {"defines": defines, "versions": versions}
        places = rnd.sample(folders, 2) if rnd.random() < .3 else [rnd.choice(folders)]
        for place in places:
            path = os.path.join(work, place, name)
            kind, more = rnd.random(), {}
            search = ":".join(rnd.sample(["$ORIGIN", "$ORIGIN/../a", "$ORIGIN/../b", "${ORIGIN}/../c", work + "/c", "/nowhere"], rnd.randint(1, 3)))
            if "hwcaps" in place:
                search = work + "/a:" + work + "/b"
            if kind < .4:
                more["rpath"] = search
            elif kind < .8:
                more["runpath"] = search
            if rnd.random() < .05:
                more["machine"] = AARCH64
            shared(path, name if rnd.random() < .9 else None, needed=needed, defines=defines, wants=list(dict.fromkeys(wants)), verdefs=versions, flags_1=0x800 if rnd.random() < .05 else 0, **more)
            if "machine" not in more:
                files.append(path)
    program = os.path.join(work, "p", "prog")
    shared(program, needed=["libl%d.so.1" % k for k in rnd.sample(range(total), 2)], interpreter=LD, **{rnd.choice(["rpath", "runpath"]): "$ORIGIN/../a:$ORIGIN/../c"})
    files.append(program)
    env = dict(CLEAN)
    if rnd.random() < .5:
        env["LD_LIBRARY_PATH"] = rnd.choice([":", ";"]).join(rnd.sample([work + "/b", work + "/c", work + "/a/", "", work + "/nowhere"], rnd.randint(1, 3)))
    if rnd.random() < .25:
        env["LD_PRELOAD"] = rnd.choice([f for f in files if f != program])
    return files, env


def loader_says(path, env, cwd):
    p = subprocess.run([LD, path], env=dict(env, LD_TRACE_LOADED_OBJECTS="1", LD_WARN="yes", LD_BIND_NOW="yes"), cwd=cwd, capture_output=True, timeout=30)
    text = p.stdout.decode() + p.stderr.decode()
    found = {os.path.realpath(os.path.join(cwd, m)) for m in re.findall(r"^\t(?:\S+ => )?(\S*/\S+) \(0x", text, re.M) if "ld-linux" not in m}
    missing = set(re.findall(r"^\t(\S+) => not found", text, re.M))
    undefined = {s for s, where in re.findall(r"^undefined symbol: ([^,\s]+).*\((\S+)\)", text, re.M) if os.path.realpath(os.path.join(cwd, where)) == os.path.realpath(path)}
    versions = {(v, os.path.realpath(os.path.join(cwd, who))) for v, who in re.findall(r"version `([^']+)' not found \(required by ([^)]+)\)", text)}
    failed = re.findall(r"error while loading shared libraries: (.*)", text)
    return found, missing, undefined, versions, failed, "statically linked" in text


def davy_says(path, env, cwd):
    p = subprocess.run([davy, "inspect", "--json", path], env=env, cwd=cwd, capture_output=True, timeout=30)
    d = json.loads(p.stdout)
    found = {os.path.realpath(x["path"]) for x in d["libraries"] if "ld-linux" not in x["path"] and x["path"] != path}
    missing = {m["name"] for m in d["missing"] if m["wanted_by"] != "LD_PRELOAD"}
    undefined = {m["symbol"] for m in d["missing_symbols"] if m["library"] == path and m["provider"] is None}
    versions = {(m["symbol"], os.path.realpath(m["library"])) for m in d["missing_symbols"] if m["provider"] is not None}
    return found, missing, undefined, versions


def compare(path, env, cwd):
    real, ours = loader_says(path, env, cwd), davy_says(path, env, cwd)
    if real[5]:  # a library that needs none: ld.so does not list what was preloaded
        return []
    if real[4]:
        return ["%s: the loader says %s" % (path, real[4])]
    wrong = []
    for what, r, o in zip(("files", "missing"), real[:2], ours[:2]):
        r.discard(os.path.realpath(path))
        if r != o:
            wrong.append("%s: %s of ld.so only: %s, of davy only: %s" % (path, what, sorted(r - o), sorted(o - r)))
    # A library that is missing for one and found for another counts as missing there.
    if not real[1] and real[3] != ours[3]:
        wrong.append("%s: versions of ld.so only: %s, of davy only: %s" % (path, sorted(real[3] - ours[3]), sorted(ours[3] - real[3])))
    # With a library or a version missing, ld.so does not look at symbols, and davy says that first.
    if not real[1] and not real[3] and real[2] != ours[2]:
        wrong.append("%s: symbols of ld.so only: %s, of davy only: %s" % (path, sorted(real[2] - ours[2]), sorted(ours[2] - real[2])))
    return wrong


def graphs():
    rnd, files, wrong, kinds = random.Random(41), 0, [], {"missing": 0, "undefined": 0, "versions": 0}
    for i in range(COUNT):
        work = os.path.realpath(tempfile.mkdtemp(prefix="davy-ld-"))
        try:
            paths, env = random_environment(rnd, work)
            for path in paths:
                files += 1
                more = compare(path, env, work)
                if more:
                    shown = {k: v for k, v in env.items() if k.startswith("LD_")}
                    wrong += ["environment %d %s: %s" % (i, shown, m) for m in more]
                real = loader_says(path, env, work) if files % 5 == 0 else None
                if real:
                    kinds["missing"] += bool(real[1])
                    kinds["undefined"] += bool(real[2])
                    kinds["versions"] += bool(real[3])
        finally:
            if not os.environ.get("KEEP"):
                shutil.rmtree(work)
    line(not wrong, "%d libraries and programs of %d random environments: files, missing libraries, versions and symbols as ld.so" % (files, COUNT), wrong[:12])
    line(all(kinds.values()), "of every fifth, what was there to find: %s" % kinds)


# -- 2 -------------------------------------------------------------------------------------------------------------------------------------
DLOPEN = """
import ctypes, json, os, sys
torch, out = sys.argv[1], {}
for f in sys.argv[2:]:
    pid = os.fork()
    if not pid:
        try:
            ctypes.CDLL(torch + "/lib/libtorch_global_deps.so", mode=ctypes.RTLD_GLOBAL)
            ctypes.CDLL([torch + "/" + x for x in os.listdir(torch) if x.startswith("_C.")][0], mode=os.RTLD_LAZY)
            ctypes.CDLL(f, mode=os.RTLD_NOW)
            answer = ""
        except OSError as e:
            answer = str(e)
        open(f + ".answer", "w").write(answer)
        os._exit(0)
    os.waitpid(pid, 0)
    out[f] = open(f + ".answer").read()
print(json.dumps(out))
"""
HERE = ["_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", "_ZN3c1010TensorImplD1Ev", "_ZN2at4_ops10add_Tensor4callEv", "_ZN4c10d16ProcessGroupNCCLC1Ev", "_ZN3c104cuda14device_countEv"]
GONE = ["_ZN3c105ErrorC1ENS_14SourceLocationESs", "_ZN2at4_ops7goneOne4callEv", "_ZNK3c1010TensorImpl9no_methodEv", "_ZN5torch8autograd4goneEv", "ncclCommWindowRegister"]


def extensions():
    rnd, wrong, refused, accepted = random.Random(7), [], 0, 0
    for i in range(max(4, COUNT // 4)):
        work = os.path.realpath(tempfile.mkdtemp(prefix="davy-ext-"))
        try:
            env_dir = os.path.join(work, "env")
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", env_dir], check=True, stdout=subprocess.DEVNULL)
            python = os.path.join(env_dir, "bin/python")
            site = [os.path.join(d) for d, _, _ in os.walk(env_dir) if d.endswith("site-packages")][0][len(work):]
            variant = rnd.choice(sorted(double.BUILDS))
            place(work, site, variant, python)
            files = []
            for k in range(4):
                wants = rnd.sample(HERE, rnd.randint(1, 3)) + (rnd.sample(GONE, 1) if rnd.random() < .5 else [])
                needed = ["libc10.so", "libtorch_cuda.so", "libtorch_cpu.so"] + (["libnccl.so.2"] if "nccl" in wants[-1] else []) + (["libcudart.so.10.2"] if rnd.random() < .15 else [])
                path = "%s/ext%d.so" % (site, k)
                shared(work + path, None, needed=needed, wants=wants, defines=["PyInit_ext%d" % k])
                double.dist(work, site, "made-ext%d" % k, "1.0", [path], ["torch"])
                files.append(work + path)
            p = subprocess.run([python, "-c", DLOPEN, work + site + "/torch"] + files, env=CLEAN, capture_output=True, timeout=60)
            real = json.loads(p.stdout)
            got = json.loads(subprocess.run([davy, "check", "--json", "--python", python], env=CLEAN, capture_output=True, timeout=60).stdout)["facts"]
            for f in files:
                symbols = {m["symbol"] for m in got["missing_symbol"] if m["library"] == f}
                libraries = {m["soname"] for m in got["library"] if m.get("problem") == "missing" and m["wanted_by"] == f}
                said = re.search(r"undefined symbol: (\S+)", real[f])
                refused += bool(real[f])
                accepted += not real[f]
                if bool(real[f]) != bool(symbols or libraries) and not (real[f] and ".so.10.2" in real[f]):
                    wrong.append("%s %s: dlopen says %r, davy %s %s" % (variant, f, real[f], symbols, libraries))
                elif said and said[1] not in symbols:
                    wrong.append("%s %s: dlopen misses %s, davy %s" % (variant, f, said[1], symbols))
        finally:
            shutil.rmtree(work)
    line(not wrong, "extensions: davy lists something missing for what dlopen refuses (%d), and nothing for what it takes (%d)" % (refused, accepted), wrong[:12])
    line(refused > 5 and accepted > 5, "both occur")


def place(work, site, variant, python):
    """The made wheel of double.py, in a real venv."""
    _, cuda, parts, _ = double.BUILDS[variant]
    last, r = None, double.release(variant)
    for folder, soname, name, version in parts:
        last = version or last
        double.part("%s%s/nvidia/%s/lib/%s" % (work, site, folder, soname), soname, last)
    double.nccl(work + site + "/nvidia/nccl/lib/libnccl.so.2", r["nccl_version"], cuda)
    double.torch_files(work, site, variant, double.wheel_rpath(variant), double.BUILDS[variant][0] + "+" + variant)
    suffix = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))"], capture_output=True, text=True, env=CLEAN).stdout.strip()
    os.rename(work + site + "/torch/_C.cpython-312-x86_64-linux-gnu.so", work + site + "/torch/_C" + suffix)
    double.dist(work, site, "torch", double.BUILDS[variant][0] + "+" + variant, double.below(work, site + "/torch"))


graphs()
extensions()
print("1..%d" % n)
sys.exit(bad > 0)
