#!/usr/bin/env python3
"""`davy inspect` of PyTorch's libraries beside the dynamic loader's own trace (which ldd prints), in one run; of the libraries of the CUDA toolkit: dependencies, versions, GPU code of
gigabytes without reading them."""
import os
from measure import davy, end, goal, once, row, smoke

LOADER = "/lib64/ld-linux-x86-64.so.2"


def libraries_in(folder):
    paths = [os.path.join(folder, f) for f in os.listdir(folder) if ".so" in f and "stub" not in f] if os.path.isdir(folder) else []
    return sorted({os.path.realpath(p) for p in paths if os.path.exists(p)})


def traced(libraries):
    """Milliseconds of processor; the loader takes one library at a time."""
    os.environ["LD_TRACE_LOADED_OBJECTS"] = "1"
    total = sum(once([LOADER, library])[1] for library in libraries)
    del os.environ["LD_TRACE_LOADED_OBJECTS"]
    return total


torch = libraries_in("/usr/lib/python3/dist-packages/torch/lib")
if torch and os.path.exists(LOADER):
    # In turn, and the least of each: what a busy machine disturbs least.
    runs = [(once([davy, "inspect", "--json"] + torch)[1], traced(torch)) for _ in range(2 if smoke else 15)]
    ours, theirs = (min(r[i] for r in runs) for i in range(2))
    print("%-48s %12s %9.1f ms" % ("davy inspect, %d libraries of PyTorch" % len(torch), "", ours))
    print("%-48s %12s %9.1f ms" % ("the loader's trace of each", "", theirs))
    goal("share of the loader's time", ours / theirs, 1 / 3)
else:
    print("python3-torch is not installed: nothing to compare with the loader")

cuda = libraries_in("/usr/local/cuda/lib64")
if cuda:
    size = sum(os.path.getsize(f) for f in cuda)
    wall, cpu, rss, _ = row("davy inspect, %d CUDA libraries, %.1f GB" % (len(cuda), size / 1e9), [davy, "inspect", "--json"] + cuda, 7)
    goal("ms", wall, 60)
    goal("resident MB", rss, 120, always=True)
else:
    print("no CUDA toolkit in /usr/local/cuda: nothing to inspect")
end()
