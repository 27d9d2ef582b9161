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
    driver, gpus, python, want = line.rstrip("\n").split("\t")[:4]
    p = run("--json", "--driver", driver, "--gpu", gpus, "--python", python)
    try:
        d = json.loads(p.stdout)
    except ValueError:
        check("%s, %s, Python %s" % (driver, gpus, python), False, p.stderr)
        continue
    best = d["best"]
    got = "%s %s" % (best["torch"], best["variant"]) if best else "-"
    pip = " ".join(d["commands"]["pip"])
    good = got == want and p.returncode == (0 if best else 1) and (not best or (best["torch"], best["variant"]) in known)
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
for host, want in (("mi300x8", "rocm"), ("cpu", "cpu"), ("h100x8", "cu12")):
    p = run("--json", "--from", os.path.join(top, "tests/hosts", host))
    d = json.loads(p.stdout)
    check("host %s: %s" % (host, want), d["best"] and d["best"]["variant"].startswith(want), d["why"])
p = run("--from", os.path.join(top, "tests/hosts/ascend910b-x8"))
check("an Ascend host is sent to its vendor's PyTorch", p.returncode == 2 and "torch-npu" in p.stdout and "nccl" not in p.stdout.lower(), p.stdout)
for args in (["--gpu", "nonsense"], ["--driver", "new"], ["--torch", "latest"], ["argument"]):
    p = run(*args)
    check("wrong usage: %s" % " ".join(args), p.returncode == 64 and p.stderr.startswith("davy: "), p.stderr)
print("1..%d" % n)
sys.exit(bad > 0)
