#!/usr/bin/env python3
"""Every rule fires somewhere and is silent elsewhere. TAP.

What fires is taken from the whole runs of the hosts, the reports and the tests with made PyTorch environments (tests/fired.py), from the machines made here (a good host and a few
lines), where the host itself must not fire it, and from tests/property/rules.examples: short logs, each with the rule that must fire on it.
Rules about several nodes (modes cluster and fleet) and live tests (mode test) are held by their own tests."""
import concurrent.futures, glob, json, os, re, shutil, subprocess, sys, tempfile, time

top = os.environ.get("DAVY_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
davy = os.environ.get("DAVY", os.path.join(top, "build/davy"))
sys.path.insert(0, os.path.join(top, "tests"))
import fired  # noqa: E402

hosts = os.path.join(top, "tests/hosts")
SITE = "/opt/venv/lib/python3.12/site-packages"
n = bad = 0


def line(good, name, notes=()):
    global n, bad
    n += 1
    bad += not good
    print("%s %d - %s" % ("ok" if good else "not ok", n, name))
    for note in notes:
        print("#   %s" % (note,))


def text_of(host, path):
    """A file or digest of a test host, or of what it starts from."""
    p = os.path.join(hosts, host, path)
    if os.path.exists(p):
        with open(p, encoding="utf-8") as f:
            return f.read()
    with open(os.path.join(hosts, host, "davy-snapshot.txt"), encoding="utf-8") as f:
        bases = [x.split()[1][3:] for x in f if x.startswith("base ../")]
    for b in reversed(bases):
        found = text_of(b, path)
        if found is not None:
            return found
    return None


def find(host, pattern, contains=""):
    """The path below files/ of the first file that fits, through the bases."""
    for p in sorted(glob.glob(os.path.join(hosts, host, pattern))):
        with open(p, encoding="utf-8", errors="replace") as f:
            if contains in f.read():
                return os.path.relpath(p, os.path.join(hosts, host))
    with open(os.path.join(hosts, host, "davy-snapshot.txt"), encoding="utf-8") as f:
        for b in [x.split()[1][3:] for x in f if x.startswith("base ../")]:
            found = find(b, pattern, contains)
            if found:
                return found
    return None


def replaced(host, path, old, new, count=-1):
    return {path: text_of(host, path).replace(old, new, count)}


CUDA = "digests/elf" + SITE + "/torch/lib/libtorch_cuda.so"
DRIVER = "machine x86_64\nsoname libcuda.so.1\nneeded libc.so.6\n"
JOB = ["env SLURM_JOB_ID=4711", "env SLURM_NNODES=2", "env SLURM_PROCID=0"]
IOMMU = ["dir /sys/class/iommu/dmar0"]
DMA = {"files/sys/kernel/iommu_groups/0/type": "DMA\n"}
nccl_digest = text_of("h100x8", "digests/elf" + SITE + "/nvidia/nccl/lib/libnccl.so.2")
mixed = json.loads(text_of("gpu-arch-too-new", "probes/cuda.json"))
mixed["gpus"][0].update(cc_major=8, cc_minor=9, name="NVIDIA GeForce RTX 4090")
mixed_nvml = json.loads(text_of("gpu-arch-too-new", "probes/nvml.json"))
mixed_nvml["gpus"][0].update(cc_major=8, cc_minor=9, name="NVIDIA GeForce RTX 4090")
gpu0 = "files/sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0/uevent"
adapter = find("h100x8", "files/sys/devices/*/*/*/uevent", "PCI_CLASS=20700") or find("h100x8", "files/sys/devices/*/*/*/*/*/uevent", "PCI_CLASS=20700") or find("h100x8", "files/sys/devices/**/uevent", "PCI_CLASS=20700")

ROCE_DEVICE = ["dir /sys/class/infiniband/mlx5_0/device/infiniband_verbs/uverbs0", "char /dev/infiniband/uverbs0 231 192 0666 open"]
ROCE = {"files/sys/class/infiniband/mlx5_0/ports/1/" + k: v for k, v in (("state", "4: ACTIVE\n"), ("phys_state", "5: LinkUp\n"), ("link_layer", "Ethernet\n"), ("rate", "100 Gb/sec (4X EDR)\n"))}

# rule, a host that does not fire it, lines of the index, files, options
MADE = [
    ("accelerator.ascend-cann-mismatch.missing", "ascend910b-x8", ["remove /usr/local/Ascend/ascend-toolkit/8.3.RC1/lib64/libascendcl.so"], {}, []),
    ("accelerator.oneapi-missing.library", "intel-max-x4", ["remove /opt/venv/lib/libsycl.so.8"], {}, []),
    ("accelerator.musa-mismatch.library", "moorethreads-s4000", [], {"digests/elf" + SITE + "/torch_musa/lib/libmusa_python.so": "machine x86_64\nneeded libmusart.so.5\nneeded libc.so.6\n",
     find("moorethreads-s4000", "files" + SITE + "/torch_musa-*.dist-info/METADATA").replace("METADATA", "RECORD"): "torch_musa/lib/libmusa_python.so,,\n",
     find("moorethreads-s4000", "files" + SITE + "/torch_musa-*.dist-info/METADATA"): "Metadata-Version: 2.1\nName: torch_musa\nVersion: 2.5.0\nRequires-Dist: torch\n\n",
     find("moorethreads-s4000", "files" + SITE + "/torch_musa-*.dist-info/METADATA").replace("METADATA", "WHEEL"): "Root-Is-Purelib: false\n"}, []),
    ("accelerator.rocm-arch-missing.wheel", "mi300x8", ["remove %s/torch/lib/libtorch_hip.so" % SITE], {find("rocm-arch-missing", "files/sys/class/kfd/kfd/topology/nodes/*/properties") or "files/x": "",
     **{os.path.relpath(p, os.path.join(hosts, "rocm-arch-missing")): open(p).read() for p in glob.glob(os.path.join(hosts, "rocm-arch-missing/files/**"), recursive=True) if os.path.isfile(p)}}, []),
    ("accelerator.rocm-arch-missing.one-of-them", "mi300x8", [], dict([(os.path.relpath(p, os.path.join(hosts, "rocm-arch-missing")), open(p).read()) for p in sorted(glob.glob(os.path.join(hosts, "rocm-arch-missing/files/**"), recursive=True)) if os.path.isfile(p)][:1]), []),
    ("container.no-gpu-flag.amd", "mi300x8", ["file /.dockerenv 0 0644", "remove /dev/kfd", "remove /dev/dri"], {}, []),
    ("container.driver-inside.loaded", "container-driver-inside", ["link /usr/lib/x86_64-linux-gnu/libcuda.so.1 libcuda.so.535.183.01"], {"digests/elf/usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01": DRIVER}, []),
    ("driver.fabric-manager-down.version", "driver-fabric-manager-down", [], {"files/var/log/fabricmanager.log": "[Dec 01 2025 10:00:00] [INFO] [tid 1] Fabric Manager version is : 570.133.20\n"}, []),
    ("driver.wsl2-limit.linux-driver", "wsl2", ["env LD_LIBRARY_PATH=/opt/driver", "link /opt/driver/libcuda.so.1 libcuda.so.570.172.08"], {"digests/elf/opt/driver/libcuda.so.570.172.08": DRIVER}, []),
    ("driver.hung.cuda", "rtx4090x2", ["probe cuda timeout 10000"], {}, []),
    ("driver.nvlink-services-missing.imex", "b200x8", [], replaced("b200x8", find("b200x8", "files/proc/driver/nvidia/gpus/*/information"), "B200", "GB200"), []),
    ("gpu.arch-too-new.some", "gpu-arch-too-new", ["probe nvml ok 0", "probe cuda ok 0"], {"probes/cuda.json": json.dumps(mixed), "probes/nvml.json": json.dumps(mixed_nvml), gpu0: text_of("rtx4090x2", gpu0)}, []),
    ("gpu.none-visible.bus", "rtx4090x2", ["error /sys/bus/pci/devices EACCES", "error /dev EACCES", "error /proc/driver/nvidia EACCES", "remove /proc/driver/nvidia", "probe nvml error 1", "probe cuda error 1"], {}, []),
    ("gpu.none-visible.unseen", "rtx4090x2", ["no-env", "error /dev EACCES", "error /dev/nvidia0 EACCES", "error /dev/nvidia1 EACCES", "error /dev/nvidiactl EACCES", "probe cuda error 1", "probe nvml error 1"], {}, []),
    ("hardware.pcie-degraded.adapter", "h100x8", [], {adapter.replace("uevent", "current_link_width"): "4\n"} if adapter else {}, []),
    ("host.nofile-too-low.many", "h100x8", ["limit nofile 1024 1048576", "env SLURM_JOB_ID=1", "env SLURM_NNODES=16", "env SLURM_PROCID=0"], {}, []),
    ("host.out-of-memory.used-up", "a100-docker", [], {"files/sys/fs/cgroup/memory.max": "17179869184\n", "files/sys/fs/cgroup/memory.current": "17079869184\n", "files/proc/meminfo": "MemTotal: 528000000 kB\nMemAvailable: 500000 kB\n"}, []),
    ("launch.variables-missing.rank", "cpu", ["env WORLD_SIZE=4"], {}, []),
    ("library.nccl-static.no-effect", "rtx4090x2", ["env LD_LIBRARY_PATH=/opt/nccl/lib"], {CUDA: text_of("rtx4090x2", CUDA).replace("needed libnccl.so.2\n", "").replace("undefined nccl", "defines nccl") + "nccl 2.26.2 12.8\n", "digests/elf/opt/nccl/lib/libnccl.so.2": nccl_digest}, []),
    ("p2p.acs-iommu.iommu", "p2p-acs", IOMMU, DMA, []),
    ("p2p.acs-iommu.iommu-amd", "mi300x8", IOMMU, DMA, []),
    ("python.torchrun-foreign.no-torch", "torch-missing", ["remove /opt/train/bin/torchrun", "remove /opt/venv/bin/torchrun", "env PATH=/opt/train/bin:/opt/venv/bin:/usr/local/bin:/usr/bin:/bin", "stat-file /usr/local/bin/torchrun 60 0755 1730000000", "stat-file /opt/other/bin/python3.11 100 0755 1700000000"], {"files/usr/local/bin/torchrun": "#!/opt/other/bin/python3.11\nimport sys\n"}, []),
    ("python.local-file-shadows.here", "rtx4090x2", [], {"files/home/ada/run/torch.py": "x = 1\n"}, []),
    ("rdma.registration-failed.relaxed", "h100x8", ["env NCCL_IB_PCI_RELAXED_ORDERING=1"], {}, []),
    ("rdma.efa-provider-missing.libfabric", "h100x8", [], {"digests/elf/usr/lib/x86_64-linux-gnu/libnccl-net.so": "machine x86_64\nsoname libnccl-net.so\nneeded libfabric.so.1\nneeded libc.so.6\ndefines ncclNetPlugin_v8\n"}, []),
    ("toolchain.out-of-memory.jobs", "toolchain-nvcc-other", ["cpus 64"], {"files/proc/meminfo": "MemTotal: 33554432 kB\nMemAvailable: 30000000 kB\n", "files/sys/devices/system/cpu/online": "0-63\n"}, []),
    ("rdma.gid-index.beyond", "rdma-gid-index-right", ["env NCCL_IB_GID_INDEX=7"] + ["remove /sys/class/infiniband/mlx5_%d/ports/1/gids/%d" % (i, g) for i in (0, 1) for g in (2, 3)], {}, []),
    ("container.rdma-missing.gids", "a100-docker", ROCE_DEVICE + JOB, dict(ROCE, **{"files/sys/class/infiniband/mlx5_0/ports/1/gids/0": "0000:0000:0000:0000:0000:0000:0000:0000\n"}), []),
    ("library.nccl-overwritten.driver", "h100x8", [], {"digests/elf" + SITE + "/nvidia/nccl/lib/libnccl.so.2": nccl_digest.replace("cuda 12.8", "cuda 13.0")}, []),
    ("python.interpreter-missing.link", "rtx4090x2", ["link /opt/venv/bin/python /opt/python-3.9/bin/python3.9", "absent /opt/python-3.9"], {}, ["--python", "/opt/venv"]),
    ("python.interpreter-missing.program", "rtx4090x2", [], {"files/opt/venv/bin/pip": "#!/opt/old/bin/python3\n"}, []),
    ("torch.not-installed.no-python", "cpu", ["remove /opt/venv", "remove /usr/bin/python3", "remove /usr/bin/python3.12", "env VIRTUAL_ENV"], {}, []),
    ("torch.distributed-not-built.unread", "cpu", ["remove %s/torch/lib/libtorch_python.so" % SITE], {}, []),
    ("torch.install-damaged.native", "rtx4090x2", ["remove %s/torch/_C.cpython-312-x86_64-linux-gnu.so" % SITE], {}, []),
    ("rdma.gid-index.old-nccl", "rdma-gid-index-right", JOB + ["env NCCL_IB_GID_INDEX"] + ["remove /sys/class/infiniband/mlx5_%d" % i for i in range(2, 12)], {"digests/elf" + SITE + "/nvidia/nccl/lib/libnccl.so.2": re.sub(r"(?m)^nccl \S+", "nccl 2.20.5", nccl_digest)}, []),
]
# What no fixture can have: the rule asks the calendar.
OF_TODAY = {"torch.release-too-new.fresh"}
# Fired by the environments that tests/cli/environments.bats makes, and asserted there by their ids.
OF_ENVIRONMENTS = set("""companion.numpy-abi.binary python.requirement-conflict.absent python.duplicate-install.leftover python.package-damaged.metadata python.package-damaged.record
python.interpreter-mismatch.launcher""".split())
# A rule that needs a log and the machine: rule, host, lines of the index, files, log. The machine without the log, and the log without the machine, do not fire it.
P2P_LOG = "[rank0]:[E ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7100, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for 600010 milliseconds before timing out.\n"
TOLD = [
    ("p2p.acs-iommu.hang", "rtx4090x2", IOMMU, DMA, P2P_LOG),
    ("driver.not-installed.insufficient-and-none", "cpu", [], {}, "RuntimeError: CUDA driver version is insufficient for CUDA runtime version\n"),
    ("network.hostname-loopback.seen", "network-hostname-loopback-single", [], {}, "torch.distributed.DistStoreError: Timed out after 61 seconds waiting for clients. 1/2 clients joined.\n"),
]


def ask(snapshot, options):
    p = subprocess.run([davy, "check", "--json", "--from", snapshot] + options, capture_output=True, timeout=60)
    try:
        return fired.rules_of(json.loads(p.stdout))
    except ValueError:
        return {"no JSON: " + p.stderr.decode()[:300]}


def make(number, host, lines, files, work):
    out = os.path.join(work, "made-%d" % number)
    for path, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(out, path)), exist_ok=True)
        with open(os.path.join(out, path), "w", encoding="utf-8") as f:
            f.write(text)
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "davy-snapshot.txt"), "w", encoding="utf-8") as f:
        f.write("\n".join(["davy-snapshot 1", "base " + os.path.relpath(os.path.join(hosts, host), out)] + lines) + "\n")
    return out


def judge(number, made, work):
    rule, host, lines, files, options = made
    return ask(make(number, host, lines, files, work), options), ask(os.path.join(hosts, host), options)


def judge_told(number, told, work):
    rule, host, lines, files, log = told
    out = make(number, host, lines, files, work)
    return explain(log, ["--from", out]), explain(log) | ask(out, [])


def examples():
    """Sections "== rule.id", then a log."""
    path = os.path.join(top, "tests/property/rules.examples")
    with open(path, encoding="utf-8") as f:
        parts = re.split(r"(?m)^== (\S+)\n", f.read())
    return list(zip(parts[1::2], parts[2::2]))


def explain(text, options=()):
    p = subprocess.run([davy, "explain", "--json", "-", *options], input=text.encode(), capture_output=True, timeout=60)
    try:
        return fired.rules_of(json.loads(p.stdout))
    except ValueError:
        return {"no JSON: " + p.stderr.decode()[:300]}


def known(name, script):
    """What a whole run of that test fired; runs it when there is none of this build."""
    path = os.path.join(fired.FOLDER, name + ".json")
    if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(davy):
        subprocess.run([os.path.join(top, script)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=400)
    if not os.path.exists(path):
        return set()
    with open(path, encoding="utf-8") as f:
        return set(json.load(f))


seen = set()
for name, script in (("hosts", "tests/quick/hosts"), ("reports", "tests/quick/reports"), ("double", "tests/property/double.py"), ("libraries", "tests/property/libraries.py"), ("integrity", "tests/property/integrity.py"), ("flight", "tests/property/flight.py")):
    got = known(name, script)
    seen |= got
    line(bool(got), "%s: %d rules and patterns fire" % (name, len(got)))

work = tempfile.mkdtemp(prefix="davy-rules-")
try:
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for made, (got, before) in zip(MADE, pool.map(lambda x: judge(x[0], x[1], work), enumerate(MADE))):
            seen |= got
            good = made[0] in got and made[0] not in before
            line(good, "%s fires on %s with %s" % (made[0], made[1], made[2][0] if made[2] else "other files"), [] if good else ["before: %s" % (made[0] in before), "fired: " + " ".join(sorted(got))])
        for told, (got, apart) in zip(TOLD, pool.map(lambda x: judge_told(len(MADE) + x[0], x[1], work), enumerate(TOLD))):
            seen |= got
            good = told[0] in got and told[0] not in apart
            line(good, "%s fires on a log and %s together" % (told[0], told[1]), [] if good else ["apart: %s" % (told[0] in apart), "fired: " + " ".join(sorted(got))])
        texts = examples()
        wrong = []
        for (rule, text), got in zip(texts, pool.map(lambda x: explain(x[1]), texts)):
            seen |= got
            if rule not in got:
                wrong.append("%s: %s" % (rule, " ".join(sorted(got)) or "nothing"))
        line(not wrong, "%d examples fire the rule that they are for" % len(texts), wrong[:20])
        silent = explain("2026-01-05 10:11:12 step 100 loss 2.31\nNCCL version 2.21.5+cuda12.4\nTraining finished.\n")
        line(not silent & {r for r, _ in texts}, "… and a healthy log none of them", sorted(silent))
finally:
    shutil.rmtree(work)

# No sentence has a hole where a GPU has no name: neither the driver nor the tables know it.
def nameless(host, work):
    out = os.path.join(work, "nameless-" + host)
    lines = ["davy-snapshot 1", "base " + os.path.relpath(os.path.join(hosts, host), out)]
    for probe in ("nvml", "cuda", "rocm"):
        text = text_of(host, "probes/%s.json" % probe)
        if text:
            os.makedirs(out + "/probes", exist_ok=True)
            with open(out + "/probes/%s.json" % probe, "w", encoding="utf-8") as f:
                f.write(re.sub(r'"name": "[^"]*", ', "", text))
            lines.append("probe %s ok 0" % probe)
    for path in glob.glob(os.path.join(hosts, host, "files/proc/driver/nvidia/gpus/*/information")):
        lines.append("remove /" + os.path.relpath(path, os.path.join(hosts, host, "files")))
    os.makedirs(out, exist_ok=True)
    with open(out + "/davy-snapshot.txt", "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    holes = []
    for lang in ("en", "zh_CN"):
        p = subprocess.run([davy, "check", "--json", "--lang", lang, "--knowledge", os.path.join(work, "knowledge"), "--from", out], capture_output=True, timeout=60)
        try:
            holes += ["%s: %s" % (host, f["says"]) for f in json.loads(p.stdout)["findings"] if re.search(r"(?<!\w)\?", f["says"])]
        except ValueError:
            holes.append("%s: no JSON" % host)
    return holes


work = tempfile.mkdtemp(prefix="davy-nameless-")
os.makedirs(work + "/knowledge/tables")
for table in ("gpu_pci", "accel_pci"):
    with open(os.path.join(top, "knowledge/tables/%s.tsv" % table), encoding="utf-8") as f:
        rows = [x.rstrip("\n").split("\t") for x in f]
    at = rows[0].index("product")
    with open(work + "/knowledge/tables/%s.tsv" % table, "w", encoding="utf-8") as f:
        f.write("\n".join("\t".join(r[:at] + ["?" if i else r[at]] + r[at + 1:]) for i, r in enumerate(rows)) + "\n")
chosen = sorted(h for h in os.listdir(hosts) if os.path.exists(os.path.join(hosts, h, "expect.txt")) and h.startswith(("hardware-", "gpu-", "driver-", "rocm-", "p2p-", "flash-attn-t", "extension-arch", "nccl-before")))
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    holes = [x for found in pool.map(lambda h: nameless(h, work), chosen) for x in found]
shutil.rmtree(work)
line(len(chosen) > 30 and not holes, "sentences about GPUs without a name have no hole (%d hosts, two languages)" % len(chosen), holes[:10])

rules, elsewhere = [], 0
for path in sorted(glob.glob(os.path.join(top, "knowledge/rules/*.yaml"))):
    with open(path, encoding="utf-8") as f:
        for stanza in re.split(r"(?m)^(?=- id: )", f.read()):
            m = re.match(r"- id: (\S+)", stanza)
            mode = re.search(r"(?m)^  mode: (\w+)$", stanza)
            if m and mode and mode[1] in ("cluster", "fleet", "test"):
                elsewhere += 1
            elif m and not m[1].endswith(".nodes") and not m[1].startswith(("network.duplicate-hostname.boot-id", "network.duplicate-hostname.hostid", "python.environment-drift.")):
                rules.append(m[1])
            elif m:
                elsewhere += 1
never = [r for r in rules if r not in seen and r not in OF_TODAY | OF_ENVIRONMENTS]
line(not never, "%d rules fire somewhere (%d more belong to tests of several nodes, of locks and live tests, %d to the calendar)" % (len(rules) - len(OF_TODAY) - len(OF_ENVIRONMENTS) - len(never), elsewhere + len(OF_ENVIRONMENTS), len(OF_TODAY)), never)
print("1..%d" % n)
sys.exit(bad > 0)
