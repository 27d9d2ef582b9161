#!/usr/bin/env python3
"""davy compare over synthetic fleets: 10,000 nodes as files and as a stream, 100,000 as a stream; linear in the nodes, flat in memory. --smoke: 300 and 3,000."""
import os, subprocess, sys, tempfile

from measure import davy, end, goal, row, smoke, top

few, many, most = (300, 300, 3000) if smoke else (1000, 10000, 100000)
with tempfile.TemporaryDirectory() as d:
    base, other = os.path.join(d, "base.json"), os.path.join(d, "other.json")
    for host, path in (("h100x8", base), ("a100-pcie-x4", other)):
        with open(path, "wb") as f:
            subprocess.run([davy, "check", "--from", os.path.join(top, "tests/hosts", host), "--json"], stdout=f)
    make = [os.path.join(top, "bench/make-fleet"), base]
    odd = ["--odd", '7:driver[nvidia].version="570.124.06"', "--odd", "9:-gpu[3]"]

    def fleet(n, name, *more):
        path = os.path.join(d, name)
        subprocess.run(make + [str(n), "--ndjson", path] + list(more), check=True)
        return path

    os.mkdir(os.path.join(d, "files"))
    subprocess.run(make + [str(many), "--out", os.path.join(d, "files")] + odd, check=True)
    wall, _, rss, _ = row("compare, %d files" % many, [davy, "compare", "--quiet", os.path.join(d, "files")], 3, calls=False)
    goal("10,000 nodes as files: seconds", wall / 1e3, 5)
    goal("10,000 nodes as files: MB", rss, 500, True)
    path = fleet(few, "few.ndjson", *odd)
    _, cpu_few, rss_few, _ = row("compare, a stream of %d nodes" % few, [davy, "compare", "--quiet", path], 3, calls=False)
    os.unlink(path)
    path = fleet(many, "many.ndjson", *odd)
    wall, cpu, rss, _ = row("compare, a stream of %d nodes (%d MB)" % (many, os.path.getsize(path) >> 20), [davy, "compare", "--quiet", path], 3, calls=False)
    goal("10,000 nodes as a stream: seconds", wall / 1e3, 5)
    os.unlink(path)
    # One pass over 100,000 nodes of two makes, never on disk: the generator writes, Davy reads.
    script = "'%s' '%s' %d --base2 '%s' --every 3 %s | '%s' compare --quiet -" % (make[0], base, most, other, " ".join("'%s'" % o for o in odd), davy)
    wall_most, _, rss_most, _ = row("compare, a pipe of %d nodes of two makes" % most, ["bash", "-c", script], 1, calls=False) if not smoke else (None, None, None, None)
    path = fleet(most, "most.ndjson", *odd) if smoke else None
    if smoke:
        _, cpu_most, rss_most, _ = row("compare, a stream of %d nodes" % most, [davy, "compare", "--quiet", path], 1, calls=False)
        goal("processor time of ten times the nodes", cpu_most / max(cpu_few, 1), 13)
    else:
        goal("processor time of ten times the nodes", cpu / max(cpu_few, 1), 13)
        goal("100,000 nodes: seconds, with their generator", wall_most / 1e3, 60)
    goal("resident with ten times the nodes: MB more", rss_most - rss_few, 60, True)
    goal("resident: MB", rss_most, 200, True)
end()
