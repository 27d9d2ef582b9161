#!/usr/bin/env python3
"""Healthy logs with NCCL_DEBUG=INFO, in the grammar of six releases, of 1, 8 and 64 ranks: no fault, exit status 0, and the right summary. TAP.

Three networks (one node over NVLink, nodes over InfiniBand with GPUDirect RDMA, nodes over TCP), one with a plugin, with the harmless lines that
such jobs print besides. Then the same with something slower than it should be: that is a remark (info), and still no fault."""
import json, os, random, subprocess, sys

top = os.environ.get("DAVY_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
davy = os.environ.get("DAVY", os.path.join(top, "build/davy"))
RELEASES = ["2.14.3", "2.18.6", "2.21.5", "2.24.3", "2.27.7", "2.30.7"]
CUDA = {"2.14.3": "11.7", "2.18.6": "12.1", "2.21.5": "12.4", "2.24.3": "12.6", "2.27.7": "12.9", "2.30.7": "13.0"}


class Job:
    def __init__(self, release, ranks, network, shm=False, gdr=True, sys=False, ib_seen=False, prefix=""):
        self.v = tuple(int(x) for x in release.split("."))
        self.release, self.ranks, self.network, self.shm, self.gdr, self.sys, self.ib_seen = release, ranks, network, shm, gdr, sys, ib_seen
        self.nodes = 1 if network == "nvlink" or ranks == 1 else max(2, ranks // 8)
        self.local = -(-ranks // self.nodes)
        self.random = random.Random(release + network + str(ranks))
        self.lines = []
        self.prefix = prefix

    def put(self, rank, text):
        p = {"": "", "tee": "[default%d]:" % (rank % self.local), "srun": "%*d: " % (len(str(self.ranks - 1)), rank), "rank": "[rank%d]: " % rank}[self.prefix]
        self.lines.append((rank, p + text))

    def info(self, rank, text, service=False):
        self.put(rank, "gpu%02d:%d:%d [%d] NCCL INFO %s" % (rank // self.local, 4000 + rank, (9000 if service else 5000) + rank, rank % self.local, text))

    def where(self, rank):
        local = rank % self.local
        bus = "%x000" % (0x1b + 0x11 * local)
        return bus if self.v < (2, 18, 3) else "%d" % local

    def everywhere(self, fmt):
        for r in range(self.ranks):
            self.info(r, fmt(r) if callable(fmt) else fmt)

    # -- the parts of an initialisation, in order --

    def bootstrap(self):
        addr = lambda r: "10.0.0.%d" % (10 + r // self.local)
        self.everywhere(lambda r: ("Bootstrap : Using eth0:%s<0>" if self.v < (2, 24) else "Bootstrap: Using eth0:%s<0>") % addr(r))
        if self.v >= (2, 18):
            self.everywhere("cudaDriverVersion 12020")
        if self.v >= (2, 30):
            self.everywhere("Loaded NVML from libnvidia-ml.so.1")
            self.everywhere("ENV/Plugin: Could not find: libnccl-env.so")
        self.info(0, "NCCL version %s+cuda%s" % (self.release, CUDA[self.release]))
        self.put(0, "NCCL version %s+cuda%s" % (self.release, CUDA[self.release]))
        if self.v >= (2, 21):
            self.info(0, "NCCL_SOCKET_IFNAME set by environment to eth0")

    def plugins(self):
        if self.network == "plugin":
            version = {"2.14.3": 5, "2.18.6": 6, "2.21.5": 7, "2.24.3": 8, "2.27.7": 10, "2.30.7": 11}[self.release]
            self.everywhere("NET/OFI Initializing aws-ofi-nccl 1.9.1-aws")
            self.everywhere("NET/OFI Selected Provider is efa (found 4 nics)")
            self.everywhere("NET/Plugin: Loaded net plugin AWS Libfabric (v%d)" % version)
            self.everywhere("NET/Plugin: Loaded collnet plugin none (v%d)" % version) if False else None
        elif self.v < (2, 17):
            self.everywhere("NET/Plugin : Plugin load (libnccl-net.so) returned 2 : libnccl-net.so: cannot open shared object file: No such file or directory")
            self.everywhere("NET/Plugin : No plugin found (libnccl-net.so), using internal implementation")
        elif self.v < (2, 19):
            self.everywhere("NET/Plugin : Plugin load (libnccl-net.so) returned 2 : libnccl-net.so: cannot open shared object file: No such file or directory")
            self.everywhere("NET/Plugin : No plugin found, using internal implementation")
        elif self.v < (2, 22):
            self.everywhere("NET/Plugin: No plugin found (libnccl-net.so)")
            self.everywhere("NET/Plugin: Plugin load returned 2 : libnccl-net.so: cannot open shared object file: No such file or directory : when loading libnccl-net.so")
            self.everywhere("NET/Plugin: Using internal network plugin.")
        elif self.v < (2, 26):
            self.everywhere("NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.")
        elif self.v < (2, 28):
            self.everywhere("NET/Plugin: Could not find: libnccl-net.so. ")
        else:
            self.everywhere("NET/Plugin: Could not find: libnccl-net.so")
        if self.v >= (2, 24):
            self.everywhere("PROFILER/Plugin: Could not find: libnccl-profiler.so." if self.v < (2, 26) else "PROFILER/Plugin: Could not find: libnccl-profiler.so")

    def networks(self):
        name = lambda r: "10.0.0.%d<0>" % (10 + r // self.local)
        ib = " ".join("[%d]mlx5_%d:1/IB" % (i, i) for i in range(4))
        if self.network == "ib" or self.ib_seen:
            self.everywhere(lambda r: "NET/IB : Using %s %s; OOB eth0:%s" % (ib, "[RO]", name(r)))
        elif self.network != "plugin":
            self.everywhere("Failed to open libibverbs.so[.1]")
            self.everywhere("NET/IB : No device found.")
        if self.network in ("nvlink", "socket"):
            self.everywhere(lambda r: "NET/Socket : Using [0]eth0:%s" % name(r))
        chosen = {"nvlink": "Socket", "socket": "Socket", "ib": "IB", "plugin": "AWS Libfabric"}[self.network]
        if self.v >= (2, 27):
            self.everywhere("Initialized NET plugin %s" % chosen)
            self.everywhere("Assigned NET plugin %s to comm" % chosen)
        if self.v < (2, 22) and self.v >= (2, 19):
            self.everywhere("Using non-device net plugin version 0")
        self.everywhere("Using network %s" % chosen)
        if self.network == "ib":
            for r in range(self.ranks):
                for i in range(4):
                    self.info(r, "NET/IB : GPU Direct RDMA %s for HCA %d 'mlx5_%d'" % ("Enabled" if self.gdr else "Disabled", i, i))
            if self.gdr and self.v >= (2, 14):
                self.everywhere(lambda r: "DMA-BUF is available on GPU device %d" % (r % self.local))

    def init(self, word):
        for r in range(self.ranks):
            d = r % self.local
            base = "comm 0x55d0c0%06x rank %d nranks %d cudaDev %d" % (r, r, self.ranks, d)
            bus = "%x000" % (0x1b + 0x11 * d)
            if self.v < (2, 16):
                if word == "COMPLETE":
                    self.info(r, "%s busId %s - Init COMPLETE" % (base, bus))
            elif self.v < (2, 21):
                self.info(r, "%s nvmlDev %d busId %s commId 0x74a1fcbb9bb5d2bf - Init %s" % (base, d, bus, word))
            else:
                api = "ncclCommInitRank" if self.v < (2, 23) else "ncclCommInitRankConfig"
                lead = "[Rank %d] " % r if self.v >= (2, 29) and word == "START" else ""
                self.info(r, "%s%s %s nvmlDev %d busId %s commId 0x74a1fcbb9bb5d2bf - Init %s" % (lead, api, base, d, bus, word))
        if word == "COMPLETE" and self.v >= (2, 23):
            self.everywhere(lambda r: "Init timings - ncclCommInitRankConfig: rank %d nranks %d total 1.42 (kernels 0.19, alloc 0.61, bootstrap 0.03, allgathers 0.01, topo 0.39, graphs 0.02, connections 0.16, rest 0.01)" % (r, self.ranks))

    def topology(self):
        self.everywhere(lambda r: "Setting affinity for GPU %d to %s" % (r % self.local, "ff,ffffffff"))
        if self.v >= (2, 17):
            self.everywhere(lambda r: "NVLS multicast support is %savailable on dev %d%s" % ("" if self.network == "ib" else "not ", r % self.local, " (NVLS_NCHANNELS 0)" if (2, 27) <= self.v < (2, 30) else ""))
        if self.sys:
            self.everywhere("Pattern 4, crossNic 0, nChannels 2, bw 10.000000/10.000000, type SYS/PHB, sameChannels 1")
        else:
            self.everywhere("Pattern 4, crossNic 0, nChannels 12, bw 20.000000/20.000000, type NVL/PIX, sameChannels 1")
        if self.v >= (2, 20):
            self.everywhere(lambda r: "comm 0x55d0c0%06x rank %d nRanks %d nNodes %d localRanks %d localRank %d MNNVL 0" % (r, r, self.ranks, self.nodes, self.local, r % self.local))
        if self.v >= (2, 24):
            self.everywhere("TOPO/NET : Importing network plugins to topology")
            self.everywhere("ncclTopoGetCpuAffinity: Affinity for GPU 0 is 0-47. (GPU affinity = 0-47 ; CPU affinity = 0-191).") if self.v >= (2, 27) else None
        for c in range(2):
            self.info(0, "Channel %02d/%02d : %s" % (c, 24, " ".join("%4d" % r for r in range(min(self.ranks, 16)))))
        self.everywhere(lambda r: "Trees [0] %d/-1/-1->%d->%d [1] %d/-1/-1->%d->%d" % ((r + 1) % self.ranks, r, r - 1, (r + 1) % self.ranks, r, r - 1))
        self.everywhere("P2P Chunksize set to %d" % (524288 if self.nodes == 1 else 131072))
        if self.v >= (2, 28):
            self.everywhere("Symmetric memory is not supported. cuMemEnable 1, globalGinSupport 0, cuMemGdrSupport 1") if self.v >= (2, 30) else None

    def channels(self):
        for r in range(self.ranks):
            peer = (r + 1) % self.ranks
            if peer == r:
                continue
            for c in range(4):
                a, b = "%d[%s]" % (r, self.where(r)), "%d[%s]" % (peer, self.where(peer))
                if r // self.local == peer // self.local:
                    if self.shm:
                        self.info(r, "Channel %02d : %s -> %s via SHM/%s" % (c, a, b, "direct" if self.v >= (2, 30) else "direct/direct"))
                    else:
                        how = "IPC/read" if self.v < (2, 18) else "CUMEM/read" if self.v < (2, 20) else "CUMEM/read"
                        self.info(r, "Channel %02d/0 : %s -> %s via P2P/%s" % (c, a, b, how))
                else:
                    net = {"ib": "IB", "socket": "Socket", "plugin": "AWS Libfabric", "nvlink": "Socket"}[self.network]
                    tail = "/GDRDMA" + ("(PCI)" if self.v >= (2, 26) else "") if self.network == "plugin" or (self.network == "ib" and self.gdr) else ""
                    self.info(r, "Channel %02d/0 : %s -> %s [send] via NET/%s/%d%s" % (c, a, b, net, c, tail), True)
                    self.info(peer, "Channel %02d/0 : %s -> %s [receive] via NET/%s/%d%s" % (c, a, b, net, c, tail), True)
        self.everywhere("Connected all rings" if self.v < (2, 24) else "Connected all rings, use ring PXN 0 GDR %d" % (self.network == "ib" and self.gdr))
        self.everywhere("Connected all trees")
        if self.v >= (2, 23):
            self.everywhere("Connected binomial trees") if self.ranks == 8 else None
        self.everywhere("threadThresholds 8/8/64 | %d/8/64 | 512 | 512" % (8 * self.ranks))
        count = "24 coll channels, 32 p2p channels, 32 p2p channels per peer" if self.v < (2, 17) else "24 coll channels, 0 nvls channels, 32 p2p channels, 32 p2p channels per peer" if self.v < (2, 20) else "24 coll channels, 24 collnet channels, 0 nvls channels, 32 p2p channels, 32 p2p channels per peer"
        self.everywhere(count)
        if self.v >= (2, 22):
            self.everywhere("CC Off, Multi-GPU CC Off, workFifoBytes 1048576" if self.v < (2, 24) else "CC Off, workFifoBytes 1048576")
            self.everywhere("TUNER/Plugin: Could not find: libnccl-tuner.so. Using internal tuner plugin." if self.v < (2, 26) else "TUNER/Plugin: Could not find: libnccl-tuner.so")
        elif self.v >= (2, 21):
            self.everywhere("TUNER/Plugin: Plugin load returned 2 : libnccl-net.so: cannot open shared object file: No such file or directory : when loading libnccl-tuner.so")
            self.everywhere("TUNER/Plugin: Using internal tuner plugin.")

    def training(self):
        for step in range(12):
            for r in range(self.ranks if self.ranks <= 8 else 1):
                self.put(r, "2025-06-02 08:%02d:%02d,123 INFO train.py:88 step %d loss %.4f lr 3.0e-04 %.1f tokens/s" % (step, r % 60, step * 10, 8 - step / 3, 12345.6 + r))
        for r in range(self.ranks):
            self.info(r, "[Service thread] Connection closed by localRank %d" % (r % self.local), True)
            d = r % self.local
            if self.v < (2, 22):
                self.info(r, "comm 0x55d0c0%06x rank %d nranks %d cudaDev %d busId %x000 - Destroy COMPLETE" % (r, r, self.ranks, d, 0x1b + 0x11 * d))
            else:
                self.info(r, "comm 0x55d0c0%06x rank %d nranks %d cudaDev %d busId %x000 - Destroy COMPLETE" % (r, r, self.ranks, d, 0x1b + 0x11 * d))

    def text(self):
        self.bootstrap()
        self.plugins()
        self.networks()
        self.init("START")
        self.topology()
        self.channels()
        self.init("COMPLETE")
        self.training()
        # The ranks' lines in their own order, interleaved as writers interleave them.
        queues = {}
        for rank, line in self.lines:
            queues.setdefault(rank, []).append(line)
        out, ranks = list(HARMLESS_BEFORE), sorted(queues)
        while ranks:
            r = self.random.choice(ranks)
            n = self.random.randrange(1, 6)
            out += queues[r][:n]
            del queues[r][:n]
            if not queues[r]:
                ranks.remove(r)
        return "\n".join(out + HARMLESS_AFTER) + "\n"


HARMLESS_BEFORE = [
    "W0602 08:01:12.345000 4242 torch/distributed/run.py:766] ",
    "W0602 08:01:12.345000 4242 torch/distributed/run.py:766] *****************************************",
    "W0602 08:01:12.345000 4242 torch/distributed/run.py:766] Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded, please further tune the variable for optimal performance in your application as needed. ",
    "W0602 08:01:12.345000 4242 torch/distributed/run.py:766] *****************************************",
    "/opt/conda/lib/python3.11/site-packages/torch/utils/data/dataloader.py:557: UserWarning: This DataLoader will create 8 worker processes in total. Our suggested max number of worker in current system is 4, which is smaller than what this DataLoader is going to create. Please be aware that excessive worker creation might get DataLoader running slow or even freeze, lower the worker number to avoid potential slowness/freeze if necessary.",
    "/opt/conda/lib/python3.11/site-packages/torch/nn/parallel/distributed.py:1: FutureWarning: `torch.cuda.amp.GradScaler(args...)` is deprecated. Please use `torch.amp.GradScaler('cuda', args...)` instead.",
    "[rank0]:[W602 08:01:14.123456789 reducer.cpp:1430] Warning: find_unused_parameters=True was specified in DDP constructor, but did not find any unused parameters in the forward pass. This flag results in an extra traversal of the autograd graph every iteration,  which can adversely affect performance. (function operator())",
    "[rank0]:[W602 08:01:14.223456789 ProcessGroupNCCL.cpp:4715] [PG ID 0 PG GUID 0 Rank 0]  using GPU 0 as device used by this process is currently unknown. This can potentially cause a hang if this rank to GPU mapping is incorrect. You can specify device_id in init_process_group() to force use of a particular device.",
]
HARMLESS_AFTER = [
    "[rank0]:[W602 09:00:00.123456789 ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources. For more info, please see https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())",
    "training finished, best validation loss 2.3451",
]
tests = bad = 0


def explain(text, *options):
    p = subprocess.run([davy, "explain", *options, "-"], input=text.encode(), capture_output=True, timeout=60)
    return p.returncode, p.stdout.decode()


def check(name, job, network, remarks=(), faults=False):
    global tests, bad
    text = job.text()
    rc, out = explain(text, "--json")
    wrong = []
    try:
        d = json.loads(out)
    except ValueError:
        wrong, d = ["no JSON, exit %d" % rc], None
    if d:
        if rc != 0 or d["verdict"] != "clean":
            wrong.append("exit %d, verdict %s" % (rc, d["verdict"]))
        for f in d["findings"]:
            if f["status"] != "info":
                wrong.append("%s %s: %s" % (f["status"], f["cause"], f["says"]))
        for e in d["events"]:
            if e["class"] in ("evidence", "consequence") and not remarks:
                wrong.append("%s %s: %s" % (e["class"], e["pattern"], e.get("text")))
        told = {f["cause"] for f in d["findings"] if f["status"] == "info"}
        if told != set(remarks):
            wrong.append("remarks %s, expected %s" % (sorted(told), sorted(remarks)))
        n = d["nccl"]
        if not (n["version"] or "").startswith(job.release):
            wrong.append("version %s" % n["version"])
        if n["network"] != network:
            wrong.append("network %s, expected %s" % (n["network"], network))
        if job.ranks > 1:
            want = {"SHM" if job.shm else "P2P"} if job.local > 1 else set()
            want |= {{"ib": "NET/IB", "socket": "NET/Socket", "plugin": "NET", "nvlink": ""}[job.network]} if job.nodes > 1 else set()
            if set(n["channels"]) - {"NVLS"} != want:
                wrong.append("transports %s, expected %s" % (sorted(n["channels"]), sorted(want)))
            if (n["gdr_channels"] > 0) != (job.nodes > 1 and job.network in ("ib", "plugin") and job.gdr):
                wrong.append("%d GDR channels" % n["gdr_channels"])
            if n["ranks"] != job.ranks:
                wrong.append("%s ranks" % n["ranks"])
        if (n["plugin"] is not None) != (job.network == "plugin"):
            wrong.append("plugin %s" % n["plugin"])
        rc, out = explain(text)
        if "NCCL %s" % job.release not in out or network not in out:
            wrong.append("the screen does not tell version and network")
    tests += 1
    bad += bool(wrong)
    print("%s %d - %s" % ("not ok" if wrong else "ok", tests, name))
    for w in wrong[:12]:
        print("#   " + w)


names = {"nvlink": "Socket", "socket": "Socket", "ib": "IB", "plugin": "AWS Libfabric"}
for release in RELEASES:
    for ranks in (1, 8, 64):
        for network in ("nvlink", "ib", "socket", "plugin"):
            if ranks == 1 and network != "nvlink" or ranks == 64 and network == "nvlink":
                continue
            prefix = {8: "", 64: "srun", 1: "tee"}[ranks] if network != "plugin" else "rank"
            check("%s, %d ranks, %s" % (release, ranks, network), Job(release, ranks, network, prefix=prefix), names[network])
for release in RELEASES:
    check("%s, shared memory instead of P2P" % release, Job(release, 8, "nvlink", shm=True), "Socket", ["p2p.unsupported"])
    check("%s, InfiniBand without GPUDirect RDMA" % release, Job(release, 16, "ib", gdr=False), "IB", ["driver.peermem-missing"])
    check("%s, TCP although InfiniBand is there" % release, Job(release, 16, "socket", ib_seen=True), "Socket", ["network.socket-fallback"])
    check("%s, GPUs behind different processors" % release, Job(release, 8, "nvlink", sys=True), "Socket", ["p2p.unsupported"])
if "--show" in sys.argv:
    print(Job("2.27.7", 8, "ib").text())
print("1..%d" % tests)
sys.exit(bad > 0)
