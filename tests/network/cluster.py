#!/usr/bin/env python3
"""davy cluster on real networks of namespaces: healthy ones give no finding, and each fault gives its cause, its node or link and its direction, within 15 s. TAP.

Arguments: parts of names; only those scenarios are run."""
import concurrent.futures, os, signal, sys, time, traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import nets

LIMIT_S = 15
scenarios = []


def scenario(f):
    scenarios.append(f)
    return f


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
