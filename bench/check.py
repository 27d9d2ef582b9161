#!/usr/bin/env python3
"""`davy check` beside PyTorch's own collect_env with the same interpreter, in one run: the ratio counts."""
import os, sys
from measure import davy, end, goal, row, smoke

python = "/usr/bin/python3"
if not os.path.isdir("/usr/lib/python3/dist-packages/torch"):
    print("python3-torch is not installed: nothing to compare with")
    sys.exit(0)
wall, cpu, rss, calls = row("davy check", [davy, "check", "--json", "--python", python], 21)
their_wall, their_cpu, _, _ = row("python3 -m torch.utils.collect_env", [python, "-m", "torch.utils.collect_env"], 1 if smoke else 5, calls=not smoke)
print("  check is %.0f times faster than collect_env by the clock, %.0f times by the processor" % (their_wall / wall, their_cpu / cpu))
goal("share of collect_env's time", wall / their_wall, 1 / 60)
goal("resident MB", rss, 30, always=True)
goal("system calls", calls, 5000, always=True)
end()
