#!/usr/bin/env python3
"""davy cluster on real networks of namespaces: healthy ones give no finding, and each fault gives its cause, its node or link and its direction, within 15 s. TAP.

Arguments: parts of names; only those scenarios are run."""
import concurrent.futures, os, re, signal, sys, time, traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import nets

LIMIT_S = 15
SOON = ("--deadline", "40") # nodes wait for one another a fifth of it
scenarios = []


def scenario(f):
    scenarios.append(f)
    return f


HOLE = re.compile(r"\{[a-z_.]+\}|\(null\)| \? |\?[,.;:)，。；）]|\bNone\b(?! of)|\bNULL\b|\(\?\)")
ENGLISH = re.compile(r"(?:\b[A-Za-z][a-z']+[ ,]+){5}[A-Za-z][a-z']+\b")


def sentences(report):
    """What is said is whole, and in one language."""
    chinese = re.search("[\u4e00-\u9fff]", report["findings"][0]["title"]) if report["findings"] else None
    for f in report["findings"]:
        for text in (f["title"], f["says"]):
            check(not HOLE.search(text), "a hole:", text)
            check(not chinese or not ENGLISH.search(text), "English:", text)


class Wrong(Exception):
    pass


def check(condition, *what):
    if not condition:
        raise Wrong(" ".join(str(w) for w in what))


def expect(net, result, causes, culprits=None, status=None, silent=True):
    """`causes`: all that is told as fault or warning, in any order. `silent`: the other nodes say nothing."""
    rc, report, took = result
    check(report, "rank 0 printed no JSON:", open(net.nodes[0].out + ".err").read()[:400])
    found = sorted(c for _, c in nets.findings(report))
    check(found == sorted(causes), "found", nets.findings(report), "expected", causes, [f["says"] for f in report["findings"]], nets.culprits(report))
    if culprits is not None:
        check(nets.culprits(report) == sorted(culprits), "culprits", nets.culprits(report), "expected", sorted(culprits))
    sentences(report)
    check(rc[0] == (status if status is not None else 1 if causes else 0), "exit status", rc)
    check(took < LIMIT_S, "took %.1f s" % took)
    for n in net.nodes[1:]:
        if silent and n.process:
            check(n.process.returncode == 0 and not open(n.out).read(), n.name, "exit", n.process.returncode, open(n.out).read()[:300], open(n.out + ".err").read()[:300])
    return report


# -- healthy ------------------------------------------------------------------------------------------------------------------


def healthy(nodes):
    net = nets.Net(nodes)
    report = expect(net, net.run(), [], [])
    check(report["verdict"] == "ready" and report["cluster"]["pairs_tested"] == nodes * (nodes - 1) // 2, report["cluster"])
    check(open(net.dir + "/out/good.txt").read().split() == [n.name for n in net.nodes] and not open(net.dir + "/out/bad.txt").read(), "good.txt")
    for p in report["facts"]["pair"]:
        check(p["tcp"] == "open" and p["mtu_path"] == 1500 and p["lost"] == 0 and p["mbps"] > 100 and 0 < p["rtt_us"] < 200000, p)
    net.close()


@scenario
def two_nodes_healthy():
    healthy(2)


@scenario
def four_nodes_healthy():
    healthy(4)


@scenario
def eight_nodes_healthy():
    healthy(8)


# -- firewalls ------------------------------------------------------------------------------------------------------------------

STATEFUL = "ct state established,related accept"


@scenario
def dynamic_ports_dropped():
    net = nets.Net(4)
    net.nodes[2].nft(STATEFUL, "tcp dport != 29500 drop")
    expect(net, net.run(), ["network.firewall"], [("n3", "node", "in", "dropped")])
    check(open(net.dir + "/out/bad.txt").read().split() == ["n3"] and open(net.dir + "/out/good.txt").read().split() == ["n1", "n2", "n4"], "bad.txt")
    net.close()


@scenario
def dynamic_ports_dropped_two_nodes():
    net = nets.Net(2)
    net.nodes[1].nft(STATEFUL, "tcp dport != 29500 drop")
    expect(net, net.run(), ["network.firewall"], [("n1 -> n2", "link", "forth", "dropped")])
    net.close()


@scenario
def one_way_block():
    """Nothing of n3 gets into n2, not even answers; what n2 sends arrives at n3."""
    net = nets.Net(4)
    net.nodes[1].nft("ip saddr 10.77.0.3 drop")
    expect(net, net.run(), ["network.firewall"], [("n3 -> n2", "link", "forth", "dropped")])
    net.close()


@scenario
def one_way_block_of_new_connections():
    net = nets.Net(3)
    net.nodes[1].nft(STATEFUL, "ip saddr 10.77.0.3 drop")
    expect(net, net.run(), ["network.firewall"], [("n3 -> n2", "link", "forth", "dropped")])
    net.close()


@scenario
def node_rejects_new_connections():
    net = nets.Net(4)
    net.nodes[3].nft(STATEFUL, "meta l4proto tcp reject with icmpx type admin-prohibited")
    expect(net, net.run(), ["network.firewall"], [("n4", "node", "in", "rejected")])
    net.close()


@scenario
def dynamic_ports_dropped_everywhere():
    net = nets.Net(4)
    for n in net.nodes:
        n.nft(STATEFUL, "tcp dport != 29500 drop")
    expect(net, net.run(), ["network.firewall"], [("4", "all", "both", "dropped")])
    net.close()


def other_nodes_say(net, i, cause):
    report = net.report_of(i)
    check(report and nets.findings(report)[0] == ("fail", cause), net.nodes[i].name, "says", report and nets.findings(report), open(net.nodes[i].out + ".err").read()[:300])
    check(net.nodes[i].process.returncode == 1, net.nodes[i].name, "exit", net.nodes[i].process.returncode)


@scenario
def rendezvous_port_dropped():
    """Rank 0 learns it by a datagram, without a shared folder."""
    net = nets.Net(3)
    net.nodes[0].nft("ip saddr 10.77.0.3 tcp dport 29500 drop")
    report = expect(net, net.run(out=False), ["network.firewall"], [], silent=False)
    check(report["findings"][0]["rank"] == 2 and "n3" in report["findings"][0]["says"], report["findings"][0])
    other_nodes_say(net, 2, "network.firewall")
    net.close()


@scenario
def everything_dropped_at_rank_0():
    """Rank 0 hears nothing of n3; it reads what n3 wrote into the shared folder."""
    net = nets.Net(3)
    net.nodes[0].nft("ip saddr 10.77.0.3 drop")
    report = expect(net, net.run(), ["network.firewall"], [], silent=False)
    check(report["findings"][0]["rank"] == 2, report["findings"][0])
    check(open(net.dir + "/out/bad.txt").read().split() == ["n3"], "bad.txt")
    other_nodes_say(net, 2, "network.firewall")
    net.close()


@scenario
def everything_dropped_and_no_shared_folder():
    net = nets.Net(2)
    net.nodes[0].nft("ip saddr 10.77.0.2 drop")
    expect(net, net.run(out=False, args=SOON), ["launch.ranks-missing"], [], silent=False)
    other_nodes_say(net, 1, "network.firewall")
    net.close()


@scenario
def rendezvous_port_refused_by_a_firewall():
    net = nets.Net(3)
    net.nodes[0].nft("ip saddr 10.77.0.3 tcp dport 29500-29503 reject with tcp reset")
    expect(net, net.run(args=SOON), ["network.firewall"], [], silent=False)
    net.close()


@scenario
def nobody_listens_there():
    """MASTER_ADDR names n2, and rank 0 runs on n1."""
    net = nets.Net(3)
    report = expect(net, net.run(master="n2"), ["launch.address-wrong"], [], silent=False)
    other_nodes_say(net, 2, "launch.address-wrong")
    net.close()


@scenario
def rendezvous_port_in_use():
    net = nets.Net(3)
    squatter = nets.subprocess.Popen(["ip", "netns", "exec", net.nodes[0].ns, sys.executable, "-c", "import socket,time; s=socket.socket(); s.setsockopt(1,2,1); s.bind(('',29500)); s.listen(); time.sleep(60)"])
    wait_for(lambda: nets.sh("ip netns exec %s ss -Htln sport = :29500" % net.nodes[0].ns).strip())
    report = expect(net, net.run(), ["launch.port-in-use"], [])
    squatter.kill()
    squatter.wait()
    check(report["cluster"]["answered"] == 3, report["cluster"])
    net.close()


# -- paths ------------------------------------------------------------------------------------------------------------------------


@scenario
def mtu_black_hole():
    net = nets.Net(4, mtu=9000)
    net.second_switch([3], 1500)
    report = expect(net, net.run(), ["network.mtu-mismatch"], [("n4", "node", "both", "mtu-hole")])
    check(report["facts"]["culprit"][0]["mtu_path"] == 1500 and "1500" in report["findings"][0]["says"], report["facts"]["culprit"])
    net.close()


@scenario
def mtu_black_hole_two_nodes():
    net = nets.Net(2, mtu=9000)
    net.second_switch([1], 4000)
    report = expect(net, net.run(), ["network.mtu-mismatch"], [("n1 - n2", "link", "both", "mtu-hole")])
    check(report["facts"]["culprit"][0]["mtu_path"] == 4000, report["facts"]["culprit"])
    net.close()


@scenario
def mtu_differs_at_the_ends():
    net = nets.Net(4, mtu=9000)
    net.nodes[2].ip("link set eth0 mtu 1500")
    expect(net, net.run(), ["network.mtu-mismatch"], [("n3", "node", "both", "mtu-differs")], status=0)
    net.close()


@scenario
def ten_percent_loss():
    net = nets.Net(4)
    net.nodes[2].nft("meta l4proto { tcp, udp } numgen random mod 100 < 10 drop")
    report = expect(net, net.run(), ["network.packet-loss"], [("n3", "node", "in", "loss")])
    check(3 <= report["facts"]["culprit"][0]["lost_percent"] <= 20, report["facts"]["culprit"])
    net.close()


@scenario
def slow_link():
    net = nets.Net(4)
    nets.sh("ip netns exec %s tc qdisc add dev eth0 root tbf rate 20mbit burst 32kb latency 50ms" % net.nodes[2].ns)
    report = expect(net, net.run(), ["network.slow-link"], [("n3", "node", "out", "slow")], status=0)
    check(5 < report["facts"]["culprit"][0]["mbps"] < 40, report["facts"]["culprit"])
    net.close()


@scenario
def slow_link_two_nodes():
    net = nets.Net(2)
    nets.sh("ip netns exec %s tc qdisc add dev eth0 root tbf rate 20mbit burst 32kb latency 50ms" % net.nodes[1].ns)
    expect(net, net.run(), ["network.slow-link"], [("n2 -> n1", "link", "forth", "slow")], status=0)
    net.close()


@scenario
def no_route_to_rank_0():
    net = nets.Net(3)
    net.nodes[2].ip("addr flush dev eth0", "addr add 10.78.0.3/24 dev eth0")
    expect(net, net.run(args=SOON), ["network.peer-unreachable"], [], silent=False)
    other_nodes_say(net, 2, "network.peer-unreachable")
    net.close()


@scenario
def no_route_between_two():
    net = nets.Net(4)
    net.nodes[2].ip("route add unreachable 10.77.0.4/32")
    expect(net, net.run(), ["network.peer-unreachable"], [("n3 -> n4", "link", "forth", "no-route")])
    net.close()


# -- names and addresses ----------------------------------------------------------------------------------------------------------


@scenario
def name_is_loopback():
    net = nets.Net(3)
    net.nodes[2].hosts = "127.0.0.1 localhost\n127.0.1.1 n1\n"
    report = expect(net, net.run(), ["network.hostname-loopback"], [], silent=False)
    check(report["findings"][0]["rank"] == 2 and "127.0.1.1" in report["findings"][0]["says"], report["findings"][0])
    other_nodes_say(net, 2, "network.hostname-loopback")
    net.close()


@scenario
def name_unknown():
    net = nets.Net(3)
    net.nodes[1].hosts = "127.0.0.1 localhost\n"
    expect(net, net.run(args=SOON), ["network.name-unresolved"], [], silent=False)
    other_nodes_say(net, 1, "network.name-unresolved")
    net.close()


@scenario
def name_server_gone():
    """The name server is an address at which nobody lives: the resolver itself would wait for long."""
    net = nets.Net(2)
    net.nodes[1].hosts = "127.0.0.1 localhost\n"
    net.nodes[1].resolv = "nameserver 10.77.0.250\n"
    expect(net, net.run(args=SOON), ["network.name-unresolved"], [], silent=False)
    net.close()


@scenario
def loopback_as_address():
    net = nets.Net(2)
    expect(net, net.run(master="127.0.0.1", args=SOON), ["launch.address-wrong"], [], silent=False)
    other_nodes_say(net, 1, "launch.address-wrong")
    net.close()


@scenario
def same_host_name_twice():
    net = nets.Net(4)
    net.nodes[3].name = "n2"
    report = expect(net, net.run(), ["network.duplicate-hostname"], [])
    check(sorted(n["name"] for n in report["facts"]["node"]) == ["n1", "n2#1", "n2#3", "n3"], report["facts"]["node"])
    net.close()


@scenario
def same_address_everywhere():
    """A bridge of a container engine, with the same address on each host, is what NCCL is told to take."""
    net = nets.Net(3)
    for n in net.nodes:
        n.ip("link add docker0 type veth peer name dk1", "link set dk1 up", "addr add 172.17.0.1/16 dev docker0", "link set docker0 up")
        n.env["NCCL_SOCKET_IFNAME"] = "docker0"
    report = expect(net, net.run(), ["network.ifname-wrong"])
    check("172.17.0.1" in report["findings"][0]["says"], report["findings"][0])
    net.close()


@scenario
def interface_that_nobody_reaches():
    net = nets.Net(3)
    net.nodes[2].ip("link add mgmt0 type veth peer name mg1", "link set mg1 up", "addr add 10.99.0.3/24 dev mgmt0", "link set mgmt0 up")
    net.nodes[2].env["NCCL_SOCKET_IFNAME"] = "mgmt0"
    expect(net, net.run(), ["network.ifname-wrong"], [("n3", "node", "in", "no-route")])
    net.close()


@scenario
def ipv6_only_healthy():
    net = nets.Net(3, ipv4=False, ipv6=True)
    for n in net.nodes:
        n.hosts = "::1 localhost\n" + "".join("fd77::%d n%d\n" % (i, i) for i in (1, 2, 3))
    report = expect(net, net.run(), [], [])
    check(all(p["tcp"] == "open" and p["mtu_path"] == 1500 for p in report["facts"]["pair"]), report["facts"]["pair"])
    net.close()


@scenario
def ipv6_name_and_ipv4_node():
    net = nets.Net(3, ipv6=True)
    net.nodes[2].ip("addr del fd77::3/64 dev eth0")
    for n in net.nodes:
        n.hosts = "127.0.0.1 localhost\nfd77::1 n1\n"
    expect(net, net.run(args=SOON), ["network.ipv6-trouble"], [], silent=False)
    other_nodes_say(net, 2, "network.ipv6-trouble")
    net.close()


# -- nodes ------------------------------------------------------------------------------------------------------------------------


@scenario
def node_never_starts():
    net = nets.Net(4)
    report = expect(net, net.run(skip=[2], args=SOON), ["launch.ranks-missing"], [])
    check(report["findings"][0]["rank"] == 2 and report["cluster"]["answered"] == 3 and report["cluster"]["pairs_tested"] == 3, report["cluster"])
    net.close()


def wait_for(what, limit=25):
    until = time.time() + limit
    while not what() and time.time() < until:
        time.sleep(0.02)


def has_joined(node):
    """Rank 0 has answered it: bytes came over its connection to the rendezvous port."""
    text = nets.sh("ip netns exec %s ss -Htin state established '( dport >= 29500 and dport <= 29503 )'" % node.ns, check=False)
    return re.search(r"bytes_received:[1-9]", text)


def is_testing(node):
    """A connection to another node has had no answer for a moment."""
    return nets.sh("ip netns exec %s ss -Htn state syn-sent" % node.ns, check=False).strip()


def later(number, which):
    """Sends a signal to this node as soon as it and the nodes that shall come have joined and tests run between them."""
    def act(net):
        wait_for(lambda: all(has_joined(n) for n in net.nodes[1:] if n.process))
        time.sleep(0.3)
        net.signalled = time.time()
        os.kill(pid_of(net.nodes[which]), number)
    return act


def pid_of(node):
    return node.process.pid  # every program on the way has replaced itself by the next


@scenario
def node_dies_half_way():
    """A blocked link makes the tests last; n4 is killed meanwhile."""
    net = nets.Net(4)
    net.nodes[1].nft(STATEFUL, "ip saddr 10.77.0.3 drop")
    net.nodes[0].nft(STATEFUL, "ip saddr 10.77.0.3 tcp dport 29500 accept", "ip saddr 10.77.0.3 drop")
    report = expect(net, net.run(during=later(signal.SIGKILL, 3)), ["launch.node-killed", "network.firewall"], silent=False)
    check([f["rank"] for f in report["findings"] if f["cause"] == "launch.node-killed"] == [3], report["findings"])
    check(net.nodes[1].process.returncode == 0 and net.nodes[2].process.returncode == 0, "exit statuses")
    net.close()


@scenario
def node_is_stopped_half_way():
    net = nets.Net(4)
    net.nodes[1].nft(STATEFUL, "ip saddr 10.77.0.3 drop")
    report = expect(net, net.run(during=later(signal.SIGSTOP, 3), hung=[3]), ["network.peer-unreachable", "network.firewall"], silent=False)
    check([f["rank"] for f in report["findings"] if f["cause"] == "network.peer-unreachable"] == [3], report["findings"])
    check(net.nodes[1].process.returncode == 0 and net.nodes[2].process.returncode == 0, "exit statuses")
    net.close()


@scenario
def rank_0_is_stopped():
    """The others notice, and say so."""
    net = nets.Net(3)
    net.nodes[1].nft(STATEFUL, "ip saddr 10.77.0.3 drop")
    rc, report, took = net.run(during=later(signal.SIGSTOP, 0), hung=[0])
    for i in (1, 2):
        other_nodes_say(net, i, "network.peer-unreachable")
    net.close()


@scenario
def strangers_are_turned_away():
    net = nets.Net(2)

    def knock(net):
        code = """
import socket, struct, sys
for data in (b"GET / HTTP/1.1\\r\\n\\r\\n", b"DAVY\\x01\\x01\\0\\0" + struct.pack(">I", 0xffffffff) + b"x" * 8, b"DAVY\\x01\\x01\\0\\0" + struct.pack(">IQ", 0, 12345), b"DAVY\\x09" + b"\\0" * 15, b"\\0" * 70000):
    for _ in range(20):
        try:
            s = socket.create_connection(("10.77.0.1", 29500), 1); s.sendall(data); s.close()
        except OSError: pass
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.sendto(data[:1400], ("10.77.0.1", 29500))
"""
        nets.sh(["ip", "netns", "exec", net.nodes[1].ns, sys.executable, "-c", code])
    net.nodes[0].nft("ip saddr 10.77.0.9 drop")
    report = expect(net, net.run(during=knock), [], [])
    net.close()


@scenario
def rank_twice():
    """Two nodes say that they are rank 1; one is taken in."""
    net = nets.Net(3)
    net.nodes[2].rank = 1
    report = expect(net, net.run(size=2), ["launch.variables-missing"], [], silent=False)
    check(report["cluster"]["answered"] == 2, report["cluster"])
    check(sorted(n.process.returncode for n in net.nodes[1:]) == [0, 1], [n.process.returncode for n in net.nodes])
    net.close()


@scenario
def node_comes_late():
    """A blocked link makes the tests last; n4 comes while they run."""
    net = nets.Net(4)
    net.nodes[1].nft(STATEFUL, "ip saddr 10.77.0.3 drop")

    def latecomer(net):
        wait_for(lambda: is_testing(net.nodes[2]))
        n = net.nodes[3]
        n.start([nets.davy, "cluster", "--rank", "3", "--size", "4", "--master", "n1:29500", "--json", "--from", nets.good], net.dir + "/stdout.3")
    report = expect(net, net.run(skip=[3], args=("--deadline", "40"), during=latecomer), ["launch.ranks-missing", "network.firewall"], [("n3 -> n2", "link", "forth", "dropped")], silent=False)
    check([f["rank"] for f in report["findings"] if f["cause"] == "launch.ranks-missing"] == [3], report["findings"])
    other_nodes_say(net, 3, "launch.ranks-missing")
    net.close()


@scenario
def rank_0_is_told_to_end():
    """A launcher ends the job by SIGTERM: what is known is told at once."""
    net = nets.Net(3)
    rc, report, took = net.run(skip=[2], during=later(signal.SIGTERM, 0))
    took -= net.signalled - net.started
    check(took < 4 and report and report["cluster"]["answered"] == 2, took, report and report["cluster"])
    net.close()


@scenario
def fault_of_one_node_itself():
    net = nets.Net(3)
    net.nodes[1].args = ["--from", os.path.join(nets.top, "tests/hosts/host-shm-full")]
    for i in (0, 2):
        net.nodes[i].args = ["--from", os.path.join(nets.top, "tests/hosts/good-h100x8")]
    rc, report, took = net.run(davy_args=())
    check(report, "rank 0 printed no JSON:", rc, open(net.nodes[0].out + ".err").read()[:600])
    sentences(report)
    faults = [f for f in report["findings"] if f["status"] == "fail" and f["cause"] == "host.shm-too-small"]
    check(rc[0] == 1 and len(faults) == 1 and faults[0]["node"] == "n2" and "n2" in faults[0]["says"] and any(x["kind"] == "cure" and x["commands"] for x in faults[0]["fixes"]), [(f["cause"], f["says"]) for f in report["findings"]])
    check(open(net.dir + "/out/bad.txt").read().split() == ["n2"], "bad.txt")
    said = open(net.nodes[1].out + ".err").read()
    check(rc == [1, 1, 0], "exit statuses", rc)
    check("n2" in said and "host.shm-too-small" in said and said.count("\n") == 1 and not open(net.nodes[1].out).read(), said)
    check(not open(net.nodes[2].out + ".err").read(), "n3 speaks")
    net.close()


@scenario
def another_driver_and_nccl():
    net = nets.Net(4)
    for n in net.nodes:
        n.args = ["--from", os.path.join(nets.top, "tests/hosts", "driver-minor-compatible" if n.i == 2 else "good-h100x8")]
    rc, report, took = net.run(davy_args=())
    check(report, "rank 0 printed no JSON:", rc, open(net.nodes[0].out + ".err").read()[:600])
    sentences(report)
    odd = [s for s in report["facts"]["spread"] if s["role"] == "break"]
    check({"driver.version", "nccl.version"} <= {s["fact"] for s in odd} and all(s["nodes"] == "n3" for s in odd), odd)
    check(any("n3" in f["says"] for f in report["findings"] if f["cause"].split(".")[0] in ("launch", "library", "driver")), [(f["cause"], f["says"]) for f in report["findings"]])
    net.close()


# -- ------------------------------------------------------------------------------------------------------------------------------


def one(f):
    start = time.time()
    try:
        f()
        return None, time.time() - start
    except Wrong as e:
        return str(e), time.time() - start
    except Exception:
        return traceback.format_exc(), time.time() - start


def main():
    why = nets.missing()
    chosen = [f for f in scenarios if not sys.argv[1:] or any(a in f.__name__ for a in sys.argv[1:])]
    bad = 0
    if why:
        print("ok 1 - networks of namespaces # skip %s" % why)
        print("1..1")
        return 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for i, (f, (wrong, took)) in enumerate(zip(chosen, pool.map(one, chosen)), 1):
            bad += bool(wrong)
            print("%s %d - %s (%.1f s)" % ("not ok" if wrong else "ok", i, f.__name__.replace("_", " "), took))
            for line in (wrong or "").split("\n") if wrong else []:
                print("#   " + line)
            sys.stdout.flush()
    print("1..%d" % len(chosen))
    return bad > 0


sys.exit(main())
