#!/usr/bin/env python3
"""`davy explain`: the start (a report of a kilobyte) and the speed (a log as long as training writes it)."""
import os, tempfile
from measure import davy, end, goal, once, row, smoke

failure = """[rank3]:[E1107 03:12:55.123456789 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4102, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=600000) ran for 600021 milliseconds before timing out.
[rank3]: RuntimeError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1275, unhandled system error, NCCL version 2.18.1
"""
usual = "[default%d]:2026-11-07 03:%02d:%02d,%03d INFO step %d loss %.4f grad_norm %.3f lr 2.9e-05 tokens/s 18231 mem 61.2GB\n"

with tempfile.TemporaryDirectory() as scratch:
    small, large = os.path.join(scratch, "small.txt"), os.path.join(scratch, "large.log")
    with open(small, "w") as f:
        f.write(failure)
    megabytes = 4 if smoke else 128
    with open(large, "w") as f:
        line = 0
        while f.tell() < megabytes << 20:
            f.write("".join(usual % (i % 8, i // 60 % 60, i % 60, i % 1000, i, 2.5 - i % 97 / 100, 1.25) for i in range(line, line + 10000)))
            line += 10000
        f.write(failure)
    wall, cpu, rss, _ = row("davy explain, a report of a kilobyte", [davy, "explain", "--json", small], 21)
    goal("ms of processor to start", cpu, 25)
    goal("resident MB", rss, 60, always=True)
    wall, cpu, rss, _ = row("davy explain, a log of %d MB" % megabytes, [davy, "explain", "--json", large], 3, calls=False)
    plain, _, _, _ = row("grep -c rank3, the same log", ["grep", "-c", "rank3", large], 3, calls=False)
    print("  %.0f MB/s; grep for one word %.0f MB/s" % (megabytes / wall * 1e3, megabytes / plain * 1e3))
    goal("resident MB", rss, 150, always=True)
end()
