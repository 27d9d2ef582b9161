#!/usr/bin/env python3
"""davy cluster under the real launchers: Slurm (slurmctld, four slurmd, munge), Open MPI over namespaces, torchrun of python3-torch; Kubernetes by its variables; 64 processes
by hand on the loopback. Everything is started by this test and ended by it. TAP; what is not installed is a visible skip."""
import concurrent.futures, json, os, shutil, signal, socket, subprocess, sys, tempfile, threading, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import nets

lock = threading.Lock()
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
env0 = {"PATH": PATH, "LC_ALL": "C.UTF-8", "HOME": "/tmp"}
count = bad = 0


def has(*tools):
    for t in tools:
        if not shutil.which(t, path=PATH):
            return t + " is missing"
    return None


def say(good, name, why="", skip=None):
    global count, bad
    with lock:
        count += 1
        bad += not good and not skip
        show(count, good, name, why, skip)


def show(number, good, name, why, skip):
    print("%s %d - %s%s" % ("ok" if good or skip else "not ok", number, name, " # skip " + skip if skip else ""), flush=True)
    for line in str(why).split("\n")[:12] if not good and not skip else []:
        print("#   " + line)


def run(command, env=None, limit=60, cwd=None):
    """Exit status, standard output, standard error. The whole group is killed at the limit: a launcher that hangs does not hang this test."""
    p = subprocess.Popen(command, env=env or env0, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        out, err = p.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        out, err = p.communicate()
        return 124, out, err
    return p.returncode, out, err


def report_in(out):
    """Rank 0's JSON among what a launcher prints."""
    start = out.find("{")
    return json.JSONDecoder().raw_decode(out[start:])[0] if start >= 0 else None


def healthy(name, result, launcher, nodes):
    rc, out, err = result
    try:
        r = report_in(out)
    except ValueError:
        r = None
    good = r and rc == 0 and not nets.findings(r) and r["cluster"]["launcher"] == launcher and r["cluster"]["answered"] == nodes == r["cluster"]["size"]
    say(good, name, "exit %s, %s %s" % (rc, r and (r["cluster"], nets.findings(r), [f["says"] for f in r["findings"]]) or out[:600], err[-600:]))
    return r


DAVY = [nets.davy, "cluster", "--json", "--from", nets.good]

# -- Slurm ----------------------------------------------------------------------------------------------------------------------


class Slurm:
    """slurmctld and four slurmd on this host, in a name space of mounts with /etc/hosts of its own."""

    def __init__(self):
        self.dir = d = tempfile.mkdtemp(prefix="davy-slurm-")
        self.processes = []
        host = socket.gethostname().split(".")[0]
        base = 20000 + os.getpid() % 20000
        os.chmod(d, 0o755)
        with open(d + "/munge.key", "wb") as f:
            f.write(os.urandom(128))
        os.chmod(d + "/munge.key", 0o400)
        for k in range(1, 5):
            os.mkdir("%s/tmp.n%d" % (d, k))
        with open(d + "/slurm.conf", "w") as f:
            f.write("""ClusterName=davy
SlurmctldHost=%(host)s(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=%(d)s/munge.sock
SlurmctldPort=%(port)d
StateSaveLocation=%(d)s/state
SlurmctldPidFile=%(d)s/ctld.pid
SlurmctldLogFile=%(d)s/ctld.log
SlurmdSpoolDir=%(d)s/spool.%%n
SlurmdPidFile=%(d)s/slurmd.%%n.pid
SlurmdLogFile=%(d)s/slurmd.%%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SchedulerType=sched/builtin
MpiDefault=none
ReturnToService=2
TmpFS=%(d)s/tmp.%%n
NodeName=n[1-4] NodeHostname=%(host)s NodeAddr=127.0.0.1 Port=[%(first)d-%(last)d] CPUs=2 RealMemory=500
PartitionName=p Nodes=n[1-4] Default=YES MaxTime=10 State=UP
""" % {"host": host, "d": d, "port": base, "first": base + 1, "last": base + 4})
        # Slurm's names of the nodes are names of this host here: MASTER_ADDR from SLURM_JOB_NODELIST must resolve.
        with open(d + "/hosts", "w") as f:
            f.write("127.0.0.1 localhost %s n1 n2 n3 n4\n" % host)
        self.env = dict(env0, SLURM_CONF=d + "/slurm.conf")

    def start(self, *command):
        p = subprocess.Popen(["unshare", "-m", "sh", "-c", 'mount --bind %s/hosts /etc/hosts; exec "$@"' % self.dir, "sh"] + list(command), env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.processes.append(p)

    def up(self):
        d = self.dir
        self.start("munged", "--force", "-F", "--socket=" + d + "/munge.sock", "--key-file=" + d + "/munge.key", "--pid-file=" + d + "/munge.pid", "--log-file=" + d + "/munge.log", "--seed-file=" + d + "/munge.seed")
        until = time.time() + 10
        while not os.path.exists(d + "/munge.sock") and time.time() < until:
            time.sleep(0.05)
        self.start("slurmctld", "-D", "-f", d + "/slurm.conf")
        for k in range(1, 5):
            self.start("slurmd", "-D", "-N", "n%d" % k, "-f", d + "/slurm.conf")
        until = time.time() + 25
        while time.time() < until:
            rc, out, err = run(["sinfo", "-h", "-o", "%T %D"], self.env, 5)
            if out.strip() == "idle 4":
                return None
            time.sleep(0.3)
        return "slurmctld and slurmd did not come up: %s %s" % (out.strip(), err.strip()[-200:])

    def close(self):
        for p in reversed(self.processes):
            p.terminate()
        for p in self.processes:
            try:
                p.wait(5)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def slurm():
    names = ("srun, one task a node: healthy", "srun, two tasks a node: one steps back", "srun: a node whose task ends at once is missing by its name", "salloc mpirun: healthy")
    why = has("slurmctld", "slurmd", "srun", "munged", "unshare") or (os.geteuid() != 0 and "slurmd needs root") or None
    if why:
        for n in names:
            say(False, n, skip=why)
        return
    s = Slurm()
    why = s.up()
    if why:
        for n in names:
            say(False, n, skip=why)
        s.close()
        return
    hosts = ["unshare", "-m", "sh", "-c", 'mount --bind %s/hosts /etc/hosts; exec "$@"' % s.dir, "sh"]
    r = healthy(names[0], run(hosts + ["srun", "-N4", "--ntasks-per-node=1"] + DAVY, s.env), "slurm", 4)
    if r:
        say(r["cluster"]["master"] == "n1" and sorted(n["name"] for n in r["facts"]["node"]) == ["n1", "n2", "n3", "n4"], "srun: names and rendezvous from SLURM_STEP_NODELIST", r["cluster"])
    rc, out, err = run(hosts + ["srun", "-N2", "--ntasks-per-node=2", "--overcommit"] + DAVY, s.env)
    healthy(names[1], (rc, out, err), "slurm", 2)
    rc, out, err = run(hosts + ["srun", "-N4", "--ntasks-per-node=1", "--kill-on-bad-exit=0", "sh", "-c", '[ "$SLURM_NODEID" = 2 ] || exec "$@"', "sh"] + DAVY + ["--out", s.dir + "/out"], s.env)
    r = report_in(out)
    say(r and nets.findings(r) == [("fail", "launch.ranks-missing")] and "n3" in r["findings"][0]["says"] and open(s.dir + "/out/bad.txt").read().split() == ["n3"], names[2], "%s %s %s" % (rc, out[:500], err[-300:]))
    if has("mpirun"):
        say(False, names[3], skip="mpirun is missing")
    else:
        menv = dict(s.env, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        healthy(names[3], run(hosts + ["salloc", "-Q", "-N4", "mpirun", "-N", "1"] + DAVY, menv, 60), "openmpi", 4)
    s.close()


# -- Open MPI ---------------------------------------------------------------------------------------------------------------------


def openmpi():
    names = ("mpirun over namespaces: healthy", "where mpirun itself would hang, an MTU black hole, davy started by hand finds it")
    why = has("mpirun") or nets.missing()
    if why:
        for n in names:
            say(False, n, skip=why)
        return
    net = nets.Net(2)
    healthy(names[0], mpirun_over(net), "openmpi", 2)
    net.close()
    # mpirun's own messages are small enough here; those of a job would not be.
    net = nets.Net(2, mtu=9000)
    net.second_switch([1], 1500)
    start = time.time()
    for n in net.nodes:
        n.start(DAVY + ["--rank", str(n.i), "--size", "2", "--master", "10.77.0.1:29500"], net.dir + "/by-hand.%d" % n.i)
    for n in net.nodes:
        n.process.wait(60)
    by_hand = time.time() - start
    r = report_in(open(net.dir + "/by-hand.0").read())
    say(r and nets.findings(r) == [("fail", "network.mtu-mismatch")] and by_hand < 15, names[1], (r and nets.findings(r), by_hand))
    net.close()


def mpirun_over(net):
    agent = net.dir + "/agent"
    with open(agent, "w") as f:
        f.write('#!/bin/sh\nh=$1; shift; exec ip netns exec %s"${h}" unshare -u sh -c "hostname $h; $*"\n' % net.id)
    os.chmod(agent, 0o755)
    p = net.nodes[0].start(["mpirun", "--mca", "plm_rsh_agent", agent, "--mca", "oob_tcp_if_include", "10.77.0.0/24", "--host", "n1:1,n2:1", "-np", "2"] + DAVY, net.dir + "/mpi", {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    try:
        rc = p.wait(40)
    except subprocess.TimeoutExpired:
        p.kill()
        rc = p.wait()
    return rc, open(net.dir + "/mpi").read(), open(net.dir + "/mpi.err").read()


# -- torchrun ------------------------------------------------------------------------------------------------------------------------


def torchrun():
    names = ("torchrun, two nodes of one process: healthy", "torchrun, one node of two processes: one steps back")
    if has("torchrun") or subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode:
        for n in names:
            say(False, n, skip="python3-torch is missing")
        return
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1] % 10000 + 20000
    env = dict(env0, OMP_NUM_THREADS="1")
    # PyTorch 1.13 with Python 3.11 does not understand its own default of these two: a rank that is not there changes nothing.
    plain = ["/usr/bin/python3", "-m", "torch.distributed.run", "--redirects=9:1", "--tee=9:1", "--no_python"]
    base = plain + ["--rdzv_backend=c10d", "--rdzv_endpoint=127.0.0.1:%d" % port, "--rdzv_id=davy%d" % os.getpid()]
    other = subprocess.Popen(base + ["--nnodes=2", "--nproc_per_node=1"] + DAVY, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    rc, out, err = run(base + ["--nnodes=2", "--nproc_per_node=1"] + DAVY, env, 60)
    try:
        out2, err2 = other.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        other.kill()
        out2, err2 = other.communicate()
    healthy(names[0], (rc or other.returncode, out if "{" in out else out2, err + err2), "torchrun", 2)
    rc, out, err = run(plain + ["--nnodes=1", "--nproc_per_node=2", "--master_port=%d" % (port + 7)] + DAVY, env, 60)
    healthy(names[1], (rc, out, err), "torchrun", 1)


# -- Kubernetes' variables, and by hand -------------------------------------------------------------------------------------------------


def kubernetes():
    """Two pods of an Indexed Job: the first one's name follows from one's own."""
    name = "Indexed Job: the first pod's name follows from one's own"
    why = nets.missing()
    if why:
        say(False, name, skip=why)
        return
    net = nets.Net(2)
    for n in net.nodes:
        n.name = "train-%d" % n.i
        n.hosts = "127.0.0.1 localhost\n%s train-%d.train.default.svc.cluster.local train-%d\n10.77.0.1 train-0.train.default.svc.cluster.local\n" % (n.address, n.i, n.i)
        n.start(DAVY, net.dir + "/out%d" % n.i, {"JOB_COMPLETION_INDEX": str(n.i), "NNODES": "2", "KUBERNETES_SERVICE_HOST": "10.96.0.1"})
    rc = [n.process.wait(60) for n in net.nodes]
    r = healthy(name, (rc[0] or rc[1], open(net.dir + "/out0").read(), open(net.dir + "/out1").read() + open(net.dir + "/out1.err").read()), "kubernetes", 2)
    if r:
        say(r["cluster"]["master"] == "train-0.train.default.svc.cluster.local", "Indexed Job: rendezvous", r["cluster"])
    net.close()


def usage():
    def one(name, args, env, wanted, text=""):
        rc, out, err = run([nets.davy, "cluster"] + args, dict(env0, **env), 20)
        say(rc == wanted and text in err and not (wanted and out), name, "exit %d %s %s" % (rc, out, err))

    one("no launcher: how to start it", [], {}, 64, "srun")
    one("no launcher, in Chinese", ["--lang", "zh_CN"], {}, 64, "启动器")
    one("contradiction: rank 5 of 2", [], {"RANK": "5", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}, 64, "contradiction")
    one("no number of nodes", [], {"JOB_COMPLETION_INDEX": "1", "MASTER_ADDR": "127.0.0.1"}, 64, "--size")
    one("--rank without --size", ["--rank", "1"], {}, 64, "--size")
    one("no place of rank 0", ["--rank", "1", "--size", "2"], {}, 64, "MASTER_ADDR")
    one("a port that is none", ["--rank", "0", "--size", "1", "--master", "n1:99999"], {}, 64, "port")
    one("a deadline that is none", ["--rank", "0", "--size", "1", "--deadline", "0"], {}, 64, "--deadline")
    one("local rank 1 steps back", [], {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}, 0)
    one("a batch script without srun", [], {"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_NODEID": "0", "SLURM_NNODES": "4"}, 64, "srun")
    # Inputs that cannot be read cost a message, and the rest is still counted.
    rc, out, err = run(DAVY + ["--rank", "0", "--size", "1", "--master", "127.0.0.1:29611", "--out", "/proc/nowhere"])
    say(rc == 70 and report_in(out) and "/proc/nowhere" in err, "--out that cannot be written", (rc, err))
    rc, out, err = run([nets.davy, "cluster", "--json", "--rank", "0", "--size", "1", "--master", "127.0.0.1:29612", "--from", "/dev/null"])
    say(rc in (66, 70) and report_in(out) and report_in(out)["cluster"]["answered"] == 1 and err, "--from that is no snapshot", (rc, out[:200], err))


def many():
    """64 processes on the loopback: all 2016 pairs, within the deadline."""
    port = 29700
    start = time.time()
    processes = [subprocess.Popen(DAVY + ["--rank", str(k), "--size", "64", "--master", "127.0.0.1:%d" % port], env=env0, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if k == 0 else subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True) for k in range(64)]
    try:
        out, _ = processes[0].communicate(timeout=75)
    except subprocess.TimeoutExpired:
        out = ""
    took = time.time() - start
    for p in processes:
        try:
            p.wait(5)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
    r = report_in(out)
    c = r and r["cluster"]
    say(r and not nets.findings(r) and c["answered"] == 64 and c["pairs_tested"] == 2016 and c["rounds"] == 63 and all(p.returncode == 0 for p in processes), "64 processes on the loopback (%.0f s)" % took, r and (c, nets.findings(r), [f["says"] for f in r["findings"]], nets.culprits(r)[:10]))


def wanted(*parts):
    return [p for p in parts if not sys.argv[1:] or p.__name__ in sys.argv[1:]]


def in_turn(parts):
    for part in parts:
        part()


with concurrent.futures.ThreadPoolExecutor(2) as pool:
    list(pool.map(in_turn, [wanted(usage, kubernetes, openmpi), wanted(slurm), wanted(torchrun)]))
in_turn(wanted(many))
print("1..%d" % count)
sys.exit(bad > 0)
