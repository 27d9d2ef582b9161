"""Networks of namespaces: each node has its own interfaces, routes, firewall, host name and /etc/hosts. Nothing of the machine itself is touched."""
import atexit, json, os, re, shutil, signal, subprocess, tempfile, time

top = os.environ.get("DAVY_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
davy = os.environ.get("DAVY", os.path.join(top, "build/davy"))
good = os.path.join(top, "tests/hosts/good-cpu")
_count = 0


def sh(command, check=True):
    done = subprocess.run(command if isinstance(command, list) else ["sh", "-c", command], capture_output=True, text=True, timeout=60)
    if check and done.returncode:
        raise RuntimeError("%s: %s" % (command, (done.stderr or done.stdout).strip()))
    return done.stdout


def missing():
    """Why such networks cannot be made here; None: they can."""
    if os.geteuid() != 0:
        return "namespaces need root"
    for tool in ("ip", "nft", "ethtool", "tc", "unshare"):
        if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
            return tool + " is missing"
    name = "dvtry%d" % os.getpid()
    if subprocess.run("ip netns add %s && ip -n %s link add br0 type bridge && ip -n %s link add a0 type veth peer name b0" % (name, name, name), shell=True, capture_output=True).returncode:
        subprocess.run(["ip", "netns", "del", name], capture_output=True)
        return "this kernel has no network namespaces, bridges or veth"
    subprocess.run(["ip", "netns", "del", name], capture_output=True)
    return None


class Node:
    def __init__(self, net, i):
        self.net, self.i, self.rank = net, i, i
        self.ns = "%sn%d" % (net.id, i + 1)
        self.name = "n%d" % (i + 1)
        self.address = "10.77.0.%d" % (i + 1)
        self.hosts, self.env, self.args, self.resolv = None, {}, [], "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"
        self.process = None

    def ip(self, *lines):
        done = subprocess.run(["ip", "-n", self.ns, "-batch", "-"], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=30)
        if done.returncode:
            raise RuntimeError("%s: %s: %s" % (self.name, lines, done.stderr))

    def nft(self, *rules, hook="input"):
        text = "table inet t%s { chain c { type filter hook %s priority 0;\n%s\n}\n}\n" % (hook, hook, "\n".join(rules))
        done = subprocess.run(["ip", "netns", "exec", self.ns, "nft", "-f", "-"], input=text, capture_output=True, text=True, timeout=30)
        if done.returncode:
            raise RuntimeError(done.stderr)

    def start(self, command, out, extra=None):
        d = self.net.dir
        for name, text in (("hosts", self.hosts if self.hosts is not None else self.net.hosts()), ("resolv", self.resolv)):
            with open("%s/%s.%s" % (d, self.name + str(self.i), name), "w") as f:
                f.write(text)
        base = "%s/%s%d" % (d, self.name, self.i)
        shell = 'mount --bind %s.hosts /etc/hosts && mount --bind %s.resolv "$(readlink -f /etc/resolv.conf)"; hostname %s; exec "$@"' % (base, base, self.name)
        env = {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin", "LC_ALL": "C.UTF-8", "HOME": d, "DAVY_SOURCE": top}
        env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
        env.update(self.env)
        env.update(extra or {})
        self.out = out
        self.process = subprocess.Popen(["ip", "netns", "exec", self.ns, "unshare", "-m", "-u", "sh", "-c", shell, "sh"] + command, env=env, cwd=d, stdin=subprocess.DEVNULL, stdout=open(out, "w"), stderr=open(out + ".err", "w"))
        return self.process


class Net:
    """`nodes` namespaces on one bridge (10.77.0.1, .2, ...), MTU 1500."""

    def __init__(self, nodes, mtu=1500, ipv6=False, ipv4=True):
        global _count
        _count += 1
        self.id = "dv%x_%d" % (os.getpid(), _count)
        self.dir = tempfile.mkdtemp(prefix="davy-net-")
        self.nodes = [Node(self, i) for i in range(nodes)]
        self.switch = self.id + "sw"
        self.port = 29500
        atexit.register(self.close)
        sh("ip netns add " + self.switch)
        sh("ip -n %s link set lo up; ip -n %s link add br0 type bridge; ip -n %s link set br0 up mtu %d" % (self.switch, self.switch, self.switch, max(mtu, 1500)))
        for n in self.nodes:
            sh("ip netns add " + n.ns)
            n.ip("link set lo up", "link add eth0 type veth peer name p%d netns %s" % (n.i, self.switch), "link set eth0 mtu %d" % mtu)
            sh("ip -n %s link set p%d mtu %d master br0 up" % (self.switch, n.i, mtu))
            if ipv4:
                n.ip("addr add %s/24 dev eth0" % n.address)
            if ipv6:
                sh("ip netns exec %s sysctl -qw net.ipv6.conf.eth0.accept_dad=0" % n.ns)
                n.ip("addr add fd77::%d/64 dev eth0 nodad" % (n.i + 1))
            n.ip("link set eth0 up")

    def second_switch(self, members, mtu):
        """These nodes move to a switch of their own; between the two lies a link with this MTU. Large packets vanish there, and nobody says so."""
        self.switch_ip("link add br1 type bridge", "link set br1 up mtu 9000", "link add m0 type veth peer name m1", "link set m0 mtu %d master br0 up" % mtu, "link set m1 mtu %d master br1 up" % mtu)
        for i in members:
            self.switch_ip("link set p%d master br1" % i)
        for n in self.nodes:
            # Packets that the interface would cut for itself pass a bridge whatever their size is.
            sh("ip netns exec %s ethtool -K eth0 tso off gso off gro off; ip netns exec %s ethtool -K p%d tso off gso off gro off" % (n.ns, self.switch, n.i))

    def switch_ip(self, *lines):
        done = subprocess.run(["ip", "-n", self.switch, "-batch", "-"], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=30)
        if done.returncode:
            raise RuntimeError("%s: %s" % (lines, done.stderr))

    def hosts(self):
        return "127.0.0.1 localhost\n" + "".join("%s %s\n" % (n.address, n.name) for n in self.nodes)

    def run(self, master="n1", args=(), skip=(), limit=40, size=None, out=True, during=None, hung=(), davy_args=("--from", good)):
        """Starts `davy cluster` on every node; gives (exit statuses, rank 0's JSON, seconds until rank 0 had spoken)."""
        shared = self.dir + "/out"
        args = list(args) + (["--lang", "zh_CN"] if _count % 2 else [])
        start = self.started = time.time()
        for n in self.nodes:
            if n.i in skip:
                continue
            command = [davy, "cluster", "--rank", str(n.rank), "--size", str(size or len(self.nodes)), "--master", "%s:%d" % (master, self.port), "--json"] + list(davy_args) + list(args) + list(n.args)
            n.start(command + (["--out", shared] if out else []), "%s/stdout.%d" % (self.dir, n.i))
        if during:
            during(self)
        taken = None
        deadline = start + limit
        while time.time() < deadline and any(n.process and n.process.poll() is None for n in self.nodes if n.i not in hung):
            if taken is None and self.nodes[0].process.poll() is not None:
                taken = time.time() - start
            time.sleep(0.02)
        if taken is None and self.nodes[0].process and self.nodes[0].process.poll() is not None:
            taken = time.time() - start
        for n in self.nodes:
            if n.process and n.process.poll() is None:
                n.process.kill()
                n.process.wait()
        text = open(self.nodes[0].out).read() if self.nodes[0].process else ""
        try:
            report = json.loads(text)
        except ValueError:
            report = None
        return [n.process.returncode if n.process else None for n in self.nodes], report, taken if taken is not None else limit

    def report_of(self, i):
        try:
            return json.load(open(self.nodes[i].out))
        except ValueError:
            return None

    def close(self):
        for n in self.nodes:
            if n.process and n.process.poll() is None:
                n.process.kill()
                n.process.wait()
            subprocess.run(["ip", "netns", "del", n.ns], capture_output=True)
        subprocess.run(["ip", "netns", "del", self.switch], capture_output=True)
        shutil.rmtree(self.dir, ignore_errors=True)
        atexit.unregister(self.close)


def findings(report):
    """What is told as a fault or a warning: (status, cause)."""
    return [(f["status"], f["cause"]) for f in report["findings"] if f["status"] in ("fail", "warn", "unknown")]


def culprits(report):
    return sorted((c["name"], c["kind"], c["direction"], c["problem"]) for c in report["facts"].get("culprit", []))
