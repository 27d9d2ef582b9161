#!/usr/bin/env python3
"""davy plan: the reviewed answers for machines of tests/plan/machines.tsv; commands name only what the tables have, scripts are shell. TAP."""
import json, os, re, subprocess, sys

top = os.environ.get("DAVY_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
davy = os.environ.get("DAVY", os.path.join(top, "build/davy"))
n = bad = 0


def run(*args):
    return subprocess.run([davy, "plan"] + list(args), capture_output=True, text=True, timeout=60)


def check(name, good, detail=""):
    global n, bad
    n += 1
    bad += not good
    print("%s %d - plan: %s" % ("ok" if good else "not ok", n, name))
    if not good:
        print("#   " + str(detail)[:600])


known = set()
with open(os.path.join(top, "knowledge/tables/torch_release.tsv"), encoding="utf-8") as f:
    head = f.readline().rstrip("\n").split("\t")
    for line in f:
        row = dict(zip(head, line.rstrip("\n").split("\t")))
        known.add((row["torch"], row["variant"]))
for line in open(os.path.join(top, "tests/plan/machines.tsv"), encoding="utf-8"):
    if line.startswith("#"):
        continue
    driver, gpus, python, want, because = (line.rstrip("\n").split("\t") + [""])[:5]
    python, *more = python.split()
    p = run("--json", "--driver", driver, "--gpu", gpus, "--python", python, *["--" + m for m in more])
    try:
        d = json.loads(p.stdout)
    except ValueError:
        check("%s, %s, Python %s" % (driver, gpus, python), False, p.stderr)
        continue
    best = d["best"]
    got = "%s %s" % (best["torch"], best["variant"]) if best else "-"
    pip = " ".join(d["commands"]["pip"])
    good = got == want and p.returncode == (0 if best else 1) and (not best or (best["torch"], best["variant"]) in known)
    good = good and (not because or d["why"] == because) and len(d["candidates"]) > 20 and all(c["fits"] or c["refusal"] for c in d["candidates"])
    good = good and (not best or re.search(r"torch==%s(\+%s)? .*%s" % (re.escape(best["torch"]), best["variant"], "(--index-url|--extra-index-url|-f) https://"), pip) is not None)
    check("%s, %s, Python %s: %s" % (driver, gpus, python, want), good, (got, p.returncode, pip, d["why"]))

machine = ["--driver", "550.54.15", "--gpu", "NVIDIA H100 80GB HBM3", "--python", "3.11"]
for args in (["--script"], ["--script", "--from-source"], ["--script", "--offline"]):
    p = run(*machine, *args)
    sh = subprocess.run(["sh", "-n"], input=p.stdout, capture_output=True, text=True)
    check("script %s is shell, stops at the first error" % " ".join(args), sh.returncode == 0 and "\nset -eu\n" in p.stdout, sh.stderr)
p = run(*machine, "--torch", "2.4.1")
check("a wanted release", p.returncode == 0 and "torch==2.4.1" in p.stdout and "cu124" in p.stdout, p.stdout)
p = run(*machine, "--torch", "9.9.9")
check("a release that does not exist", p.returncode == 1 and "9.9.9" in p.stdout, p.stdout)
p = run(*machine, "--docker")
check("the vendor's image and a Dockerfile", "nvcr.io/nvidia/pytorch:" in p.stdout and "FROM python:3.11-slim" in p.stdout, p.stdout)
p = run(*machine, "--offline")
check("offline: download, carry, install", "pip download" in p.stdout and "--no-index --find-links wheels" in p.stdout, p.stdout)
p = run(*machine, "--lang", "zh_CN")
check("Chinese", "干净的环境" in p.stdout and "不能运行 CUDA" in p.stdout, p.stdout)
# Mirrors: right about which have the wheels of download.pytorch.org.
for mirror, want, unwanted in (
    ("tsinghua", r"torch==2\.7\.1\+cu128 .*--index-url https://pypi\.tuna\.tsinghua\.edu\.cn/simple --extra-index-url https://download\.pytorch\.org/whl/cu128", "--find-links"),
    ("清华 TUNA", r"pypi\.tuna\.tsinghua", "aliyun"),
    ("aliyun", r"torch==2\.7\.1\+cu128 .*--index-url https://mirrors\.aliyun\.com/pypi/simple --find-links https://mirrors\.aliyun\.com/pytorch-wheels/cu128", "download.pytorch.org"),
    ("nju", r"torch==2\.7\.1\+cu128 .*--extra-index-url https://mirror\.nju\.edu\.cn/pytorch/whl/cu128", "download.pytorch.org"),
    ("sjtu", r"--extra-index-url https://mirror\.sjtu\.edu\.cn/pytorch-wheels/cu128", "download.pytorch.org"),
    ("daocloud", r"torch==2\.7\.1 .*--index-url https://download\.pytorch\.org/whl/cu128", "daocloud"),
    ("https://mirror.example/simple", r"--index-url https://mirror\.example/simple --extra-index-url https://download\.pytorch\.org/whl/cu128", "--find-links"),
):
    p = run("--json", "--driver", "570.124.06", "--gpu", "NVIDIA A100-SXM4-80GB", "--python", "3.10", "--torch", "2.7.1", "--mirror", mirror)
    d = json.loads(p.stdout)
    for kind in ("pip", "uv"):
        c = " ".join(d["commands"][kind])
        check("mirror %s, %s" % (mirror, kind), re.search(want, c) and unwanted not in c and d["mirror"]["note"], c)
p = run("--json", "--driver", "580.65.06", "--gpu", "NVIDIA H100 80GB HBM3", "--python", "3.12", "--mirror", "tsinghua")
c = json.loads(p.stdout)["commands"]
check("a build that PyPI has comes from the mirror alone", "download.pytorch.org" not in " ".join(c["pip"]) and "+cu" not in " ".join(c["pip"]) and "tuna.tsinghua.edu.cn/anaconda/pkgs/main" in " ".join(c["conda"]), c)
p = run(*machine, "--mirror", "nju", "--docker")
check("the vendor's image through a mirror", "ngc.nju.edu.cn/nvidia/pytorch:" in p.stdout and "nvcr.io" not in p.stdout, p.stdout)
for args in (["--mirror", "nowhere"], ["--mirror", "ftp://x/y"], ["--mirror", "https://x/$(id)"]):
    p = run(*machine, *args)
    check("unknown mirror %s: the known ones are listed" % args[1], p.returncode == 64 and "tsinghua, aliyun, ustc" in p.stderr, p.stderr)

# A script of what does not fit runs nothing; names out of a foreign machine run nothing either.
p = run("--script", "--driver", "590.48.01", "--gpu", "Tesla V100-SXM2-32GB", "--python", "3.12")
sh = subprocess.run(["sh"], input=p.stdout, capture_output=True, text=True)
check("the script of a machine that nothing fits stops", p.returncode == 1 and sh.returncode == 1 and not sh.stderr and p.stdout.startswith("#!/bin/sh\n"), (p.stdout, sh.stderr))
p = run("--script", "--torch", "2.9.1", "--driver", "580.65.06\ntouch /tmp/davy-plan-injected", "--gpu", "NVIDIA H100 80GB HBM3", "--python", "3.12")
check("a driver's version is no line of the script", "\ntouch" not in p.stdout, p.stdout)
p = run(*machine, "--from-source")
check("the source build: NCCL's names, architectures, jobs", all(w in p.stdout for w in ("NCCL_ROOT=", "NCCL_INCLUDE_DIR=", "NCCL_LIB_DIR=", "USE_NCCL=1", "USE_DISTRIBUTED=1", "TORCH_CUDA_ARCH_LIST=9.0", "MAX_JOBS=")), p.stdout)
p = run("--from-source", "--script", "--from", os.path.join(top, "tests/hosts/good-h100x8"))
sh = subprocess.run(["sh", "-n"], input=p.stdout, capture_output=True, text=True)
check("the source build of a snapshot is shell", sh.returncode == 0 and "TORCH_CUDA_ARCH_LIST=9.0" in p.stdout, sh.stderr)
p = run("--docker", "--from", os.path.join(top, "tests/hosts/mi300x8"))
check("an AMD host gets AMD's image", "rocm/pytorch" in p.stdout and "--device=/dev/kfd" in p.stdout and "nvcr.io" not in p.stdout and "--gpus" not in p.stdout, p.stdout)
p = run("--from", os.path.join(top, "tests/hosts/jetson-orin"))
check("a Jetson is sent to NVIDIA's builds for it", p.returncode == 2 and "jetson-ai-lab" in p.stdout and "download.pytorch.org/whl" not in p.stdout, p.stdout)
for host, want in (("mi300x8", "rocm"), ("cpu", "cpu"), ("h100x8", "cu12")):
    p = run("--json", "--from", os.path.join(top, "tests/hosts", host))
    d = json.loads(p.stdout)
    check("host %s: %s" % (host, want), d["best"] and d["best"]["variant"].startswith(want), d["why"])
p = run("--from", os.path.join(top, "tests/hosts/ascend910b-x8"))
check("an Ascend host is sent to its vendor's PyTorch", p.returncode == 2 and "torch-npu" in p.stdout and "nccl" not in p.stdout.lower(), p.stdout)
for args in (["--gpu", "nonsense"], ["--driver", "new"], ["--torch", "latest"], ["argument"], ["--arch", "x;y"], ["--libc", "new"]):
    p = run(*args)
    check("wrong usage: %s" % " ".join(args), p.returncode == 64 and p.stderr.startswith("davy: "), p.stderr)
print("1..%d" % n)
sys.exit(bad > 0)
