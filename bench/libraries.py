#!/usr/bin/env python3
"""`davy inspect` of the libraries of the CUDA toolkit: dependencies, versions, GPU code of gigabytes without reading them."""
import os, sys
from measure import davy, end, goal, row

cuda = "/usr/local/cuda/lib64"
if not os.path.isdir(cuda):
    print("no CUDA toolkit in /usr/local/cuda: nothing to inspect")
    sys.exit(0)
libraries = sorted({os.path.realpath(os.path.join(cuda, f)) for f in os.listdir(cuda) if ".so" in f and "stub" not in f})
size = sum(os.path.getsize(f) for f in libraries)
wall, cpu, rss, _ = row("davy inspect, %d CUDA libraries, %.1f GB" % (len(libraries), size / 1e9), [davy, "inspect", "--json"] + libraries, 7)
goal("ms", wall, 60)
goal("resident MB", rss, 120, always=True)
end()
