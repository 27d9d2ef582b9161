#!/usr/bin/env python3
"""Files that are not as RECORD says: sizes always for PyTorch, CUDA's wheels and triton, hashes of everything with --deep; named, with the package that wrote over them, and one command
that mends them. The last test compares all hashes of a real environment with hashlib's. TAP."""
import base64, hashlib, json, os, shutil, subprocess, sys, tempfile

top = os.environ.get("DAVY_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
davy = os.environ.get("DAVY", os.path.join(top, "build/davy"))
sys.path.insert(0, os.path.join(top, "tests/fake/wheel"))
sys.path.insert(0, os.path.join(top, "tests"))
import double, fired  # noqa: E402
from double import SITE, below, dist, put  # noqa: E402

n = bad = 0
work = tempfile.mkdtemp(prefix="davy-integrity-")


def line(good, name, notes=()):
    global n, bad
    n += 1
    bad += not good
    print("%s %d - %s" % ("ok" if good else "not ok", n, name))
    for note in notes if not good else ():
        print("#   %s" % str(note)[:2000])


def fresh(name):
    root = os.path.join(work, name)
    double.system(root)
    python = double.wheel(root, "cu128")
    put(root, SITE + "/certifi/cacert.pem", "-----BEGIN CERTIFICATE-----\n" * 20)
    put(root, SITE + "/certifi/core.py", "def where():\n    return 1\n")
    put(root, SITE + "/tests/__init__.py", "")
    dist(root, SITE, "certifi", "2025.8.3", below(root, SITE + "/certifi") + [SITE + "/tests/__init__.py"], tag="py3-none-any")
    for p in ("triton/_C/libtriton.so", "cv2/cv2.abi3.so"):
        double.shared(root + SITE + "/" + p, None, needed=["libc.so.6"])
    dist(root, SITE, "triton", "3.4.0", below(root, SITE + "/triton"))
    dist(root, SITE, "opencv-python", "4.12.0.88", below(root, SITE + "/cv2"))
    return root, python


def check(root, python, *options):
    p = subprocess.run([davy, "check", "--json", "--root", root, "--python", python] + list(options), env=double.ENVIRONMENT, capture_output=True, timeout=60)
    d = json.loads(p.stdout)
    fired.note(d)
    return {os.path.basename(i["path"]): i for i in d["facts"]["integrity"]}, {f["cause"]: f for f in d["findings"]}


def change(root, path):
    with open(root + SITE + path, "r+b") as f:
        f.seek(-3, 2)
        f.write(b"xyz")


root, python = fresh("whole")
found, findings = check(root, python, "--deep")
line(not found and not {"torch.install-damaged", "python.package-damaged"} & set(findings), "a whole environment: nothing, also with --deep", [found, findings])

root, python = fresh("sizes")
with open(root + SITE + "/nvidia/cublas/lib/libcublasLt.so.12", "ab") as f:
    f.write(b"more")
os.truncate(root + SITE + "/torch/lib/libtorch_cpu.so", 100)
os.remove(root + SITE + "/triton/_C/libtriton.so")
change(root, "/certifi/core.py")
found, findings = check(root, python)
line({k: v["problem"] for k, v in found.items()} == {"libcublasLt.so.12": "size", "libtorch_cpu.so": "truncated", "libtriton.so": "missing"}, "sizes are compared always: of torch, nvidia-*, triton", [found])
commands = [c for x in findings["torch.install-damaged"]["fixes"] if x["id"] == "reinstall-files" for c in x["commands"]]
want = "/opt/venv/bin/python3 -m pip install --force-reinstall --no-deps --no-cache-dir nvidia-cublas-cu12==12.8.4.1 torch==2.8.0+cu128 triton==3.4.0 --extra-index-url https://download.pytorch.org/whl/cu128"
line(commands == [want], "one command reinstalls the packages concerned", [commands])

root, python = fresh("hashes")
for path in ("/torch/lib/libtorch_cuda.so", "/certifi/core.py", "/certifi/cacert.pem", "/cv2/cv2.abi3.so"):
    change(root, path)
found, findings = check(root, python)
line(not found, "a change that keeps the size is not looked for without --deep", [found])
found, findings = check(root, python, "--deep")
line({k: v["problem"] for k, v in found.items()} == dict.fromkeys(["libtorch_cuda.so", "core.py", "cacert.pem", "cv2.abi3.so"], "hash"), "--deep names every file that differs", [found])
line({f: findings[f]["status"] for f in findings if "damaged" in f} == {"torch.install-damaged": "warn", "python.package-damaged": "warn"} and "libtorch_cuda.so" in findings["torch.install-damaged"]["says"], "… and says whose they are",
     [(f["cause"], f["says"]) for f in findings.values()])

root, python = fresh("overwritten")
double.shared(root + SITE + "/cv2/cv2.abi3.so", None, needed=["libc.so.6", "libm.so.6"])
dist(root, SITE, "opencv-python-headless", "4.11.0.86", [SITE + "/cv2/cv2.abi3.so"])
put(root, SITE + "/tests/__init__.py", "# of another package\n")
dist(root, SITE, "other", "1.0", [SITE + "/tests/__init__.py"], tag="py3-none-any")
double.shared(root + SITE + "/triton/_C/libtriton.so", None, needed=["libc.so.6", "libm.so.6"])
dist(root, SITE, "pytorch-triton", "3.4.0+git1234", [SITE + "/triton/_C/libtriton.so"])
found, findings = check(root, python, "--deep")
line(found["cv2.abi3.so"]["also_owned_by"] == "opencv-python-headless" and "opencv-python-headless has written over it" in findings["python.package-damaged"]["says"], "by whom a file was overwritten", [found, findings.get("python.package-damaged")])
line("pytorch-triton has written over" in findings["torch.install-damaged"]["says"], "… also of PyTorch's own companions", [findings.get("torch.install-damaged")])
line("__init__.py" not in json.dumps([findings["python.package-damaged"]["says"], findings["python.package-damaged"]["evidence"]]), "a folder that packages share is no fault", [findings["python.package-damaged"]])

root, python = fresh("replaced")
double.part(root + SITE + "/nvidia/cublas/lib/libcublas.so.12", "libcublas.so.12", "12.1")
with open(root + SITE + "/nvidia/cublas/lib/libcublas.so.12", "ab") as f:
    f.write(b"of another release")
found, findings = check(root, python)
line(findings["torch.install-damaged"]["status"] == "warn" and "nvidia-cublas-cu12" in findings["torch.install-damaged"]["says"], "a library of CUDA that somebody replaced", [found, findings])

root, python = fresh("certificates")
change(root, "/certifi/cacert.pem")
found, findings = check(root, python, "--deep")
line(findings["python.package-damaged"]["status"] == "info", "certificates changed on purpose are told, and no fault", [findings])

# A real environment, hashed with threads: what hashlib says.
env = os.path.join(work, "env")
subprocess.run([sys.executable, "-m", "venv", "--without-pip", env], check=True)
site = [d for d, _, _ in os.walk(env) if d.endswith("site-packages")][0][len(work):]
changed = set()
for k in range(12):
    files = []
    for i in range(25):
        path = "%s/pkg%d/file%d.py" % (site, k, i)
        put(work, path, "x = %d\n" % (i * k) * (1 + (i * 997) % 3000))
        files.append(path)
    dist(work, site, "pkg%d" % k, "1.0", files, tag="py3-none-any")
    with open(work + files[k], "r+b") as f:
        f.write(b"y")
    changed.add(work + files[k])
p = subprocess.run([davy, "check", "--json", "--deep", "--python", env], capture_output=True, timeout=60)
got = {i["path"]: (i["expected"], i["found"]) for i in json.loads(p.stdout)["facts"]["integrity"]}
real = {f: base64.urlsafe_b64encode(hashlib.sha256(open(f, "rb").read()).digest()).rstrip(b"=").decode() for f in changed}
line({f: v[1] for f, v in got.items()} == real, "300 files hashed with threads: exactly the %d changed ones, with hashlib's hashes" % len(changed), [got])
shutil.rmtree(work)
print("1..%d" % n)
sys.exit(bad > 0)
