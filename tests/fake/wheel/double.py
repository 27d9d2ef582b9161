"""A double of a CUDA PyTorch: the file system of a machine with tiny libraries that carry the real marks (SONAME, NEEDED, RPATH, mangled names, fat binaries, RECORD,
version.py), laid out as pip's wheels, conda and NVIDIA's images do; a driver and GPUs are put in and taken out. No compiler and no toolkit is needed.

    system(root)                             a distribution without devices: loader, C and C++ library, /usr/bin/python3.12
    wheel(root, "cu128"), conda(…), ngc(…)   returns the interpreter to examine
    record(davy, root, python, out)          a snapshot of it, from which machine(…) makes one with a driver and GPUs"""
import base64, csv, hashlib, json, os, shutil, struct, subprocess, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from elfmaker import fatbin, shared

TABLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../knowledge/tables")
LIB = "/usr/lib/x86_64-linux-gnu"
GLIBC = ["GLIBC_2.%s" % v for v in ("2.5", "3", "4", "7", "14", "15", "17", "18", "22", "25", "27", "28", "29", "30", "31", "32", "33", "34", "35", "36", "38", "39")]
GLIBCXX = ["GLIBCXX_3.4"] + ["GLIBCXX_3.4.%d" % v for v in range(1, 34)]
CXXABI = ["CXXABI_1.3"] + ["CXXABI_1.3.%d" % v for v in range(1, 16)]

# What a build brings: (part of nvidia/, SONAME, distribution, version). Names and versions as the wheels have them.
CUDA11 = [("cuda_runtime", "libcudart.so.11.0", "nvidia-cuda-runtime-cu11", "11.8.89"), ("cublas", "libcublas.so.11", "nvidia-cublas-cu11", "11.11.3.6"),
          ("cublas", "libcublasLt.so.11", None, None), ("cudnn", "libcudnn.so.9", "nvidia-cudnn-cu11", "9.1.0.70"), ("cufft", "libcufft.so.10", "nvidia-cufft-cu11", "10.9.0.58"),
          ("curand", "libcurand.so.10", "nvidia-curand-cu11", "10.3.0.86"), ("cusolver", "libcusolver.so.11", "nvidia-cusolver-cu11", "11.4.1.48"),
          ("cusparse", "libcusparse.so.11", "nvidia-cusparse-cu11", "11.7.5.86"), ("cuda_cupti", "libcupti.so.11.8", "nvidia-cuda-cupti-cu11", "11.8.87"),
          ("cuda_nvrtc", "libnvrtc.so.11.2", "nvidia-cuda-nvrtc-cu11", "11.8.89"), ("nvtx", "libnvToolsExt.so.1", "nvidia-nvtx-cu11", "11.8.86")]


def _cuda12(runtime, cublas, cudnn, nvjitlink, more=()):
    return [("cuda_runtime", "libcudart.so.12", "nvidia-cuda-runtime-cu12", runtime), ("cublas", "libcublas.so.12", "nvidia-cublas-cu12", cublas), ("cublas", "libcublasLt.so.12", None, None),
            ("cudnn", "libcudnn.so.9", "nvidia-cudnn-cu12", cudnn), ("cufft", "libcufft.so.11", "nvidia-cufft-cu12", "11.3.0.4"), ("curand", "libcurand.so.10", "nvidia-curand-cu12", "10.3.7.77"),
            ("cusolver", "libcusolver.so.11", "nvidia-cusolver-cu12", "11.7.1.2"), ("cusparse", "libcusparse.so.12", "nvidia-cusparse-cu12", "12.5.4.2"),
            ("cuda_cupti", "libcupti.so.12", "nvidia-cuda-cupti-cu12", runtime), ("cuda_nvrtc", "libnvrtc.so.12", "nvidia-cuda-nvrtc-cu12", runtime),
            ("nvjitlink", "libnvJitLink.so.12", "nvidia-nvjitlink-cu12", nvjitlink), ("nvtx", "libnvToolsExt.so.1", "nvidia-nvtx-cu12", runtime)] + list(more)


SPARSELT = ("cusparselt", "libcusparseLt.so.0", "nvidia-cusparselt-cu12", "0.7.1")
CUFILE = ("cufile", "libcufile.so.0", "nvidia-cufile-cu12", "1.13.1.3")
CUDA13 = [("cu13", "libcudart.so.13", "nvidia-cuda-runtime", "13.0.48"), ("cu13", "libcublas.so.13", "nvidia-cublas", "13.0.0.19"), ("cu13", "libcublasLt.so.13", None, None),
          ("cudnn", "libcudnn.so.9", "nvidia-cudnn-cu13", "9.13.0.50"), ("cu13", "libcufft.so.12", "nvidia-cufft", "12.0.0.15"), ("cu13", "libcurand.so.10", "nvidia-curand", "10.4.0.35"),
          ("cu13", "libcusolver.so.12", "nvidia-cusolver", "12.0.3.29"), ("cu13", "libcusparse.so.12", "nvidia-cusparse", "12.6.2.49"), ("cu13", "libcupti.so.13", "nvidia-cuda-cupti", "13.0.48"),
          ("cu13", "libnvrtc.so.13", "nvidia-cuda-nvrtc", "13.0.48"), ("cu13", "libnvJitLink.so.13", "nvidia-nvjitlink", "13.0.39"), ("cu13", "libcufile.so.0", "nvidia-cufile", "1.15.0.42"),
          ("cusparselt", "libcusparseLt.so.0", "nvidia-cusparselt-cu13", "0.8.0"), ("nvshmem", "libnvshmem_host.so.3", "nvidia-nvshmem-cu13", "3.3.24")]
# variant: torch release, parts, PTX ISA of its toolkit, triton, torchvision
BUILDS = {
    "cu118": ("2.7.1", "11.8", CUDA11, (7, 8)),
    "cu121": ("2.5.1", "12.1", _cuda12("12.1.105", "12.1.3.1", "9.1.0.70", "12.1.105"), (8, 1)),
    "cu126": ("2.8.0", "12.6", _cuda12("12.6.77", "12.6.4.1", "9.10.2.21", "12.6.85", [SPARSELT, CUFILE]), (8, 5)),
    "cu128": ("2.8.0", "12.8", _cuda12("12.8.90", "12.8.4.1", "9.10.2.21", "12.8.93", [SPARSELT, CUFILE]), (8, 7)),
    "cu130": ("2.9.1", "13.0", CUDA13, (9, 0)),
}


def table(name):
    with open(os.path.join(TABLES, name + ".tsv"), encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))


_release = {}


def release(variant):
    if not _release:
        _release.update({(r["torch"], r["variant"]): r for r in table("torch_release")})
    return _release[BUILDS[variant][0], variant]


def put(root, path, text="", mode=None):
    p = root + path
    os.makedirs(os.path.dirname(p), exist_ok=True)
    if os.path.islink(p):
        os.remove(p)
    with open(p, "w", encoding="utf-8") as f:
        f.write(text)
    if mode:
        os.chmod(p, mode)
    return p


def link(root, path, target):
    p = root + path
    os.makedirs(os.path.dirname(p), exist_ok=True)
    if os.path.lexists(p):
        os.remove(p)
    os.symlink(target, p)


def cache(root, folders):
    """/etc/ld.so.cache as ldconfig writes it."""
    found = {}
    for folder in folders:
        for name in sorted(os.listdir(root + folder)) if os.path.isdir(root + folder) else []:
            if ".so" in name and name not in found:
                found[name] = folder + "/" + name
    entries, strings = b"", b""
    at = 48 + 24 * len(found)
    for name in sorted(found, reverse=True):
        entries += struct.pack("<iIIIQ", 0x303, at + len(strings), at + len(strings) + len(name) + 1, 0, 0)
        strings += name.encode() + b"\0" + found[name].encode() + b"\0"
    with open(root + "/etc/ld.so.cache", "wb") as f:
        f.write(b"glibc-ld.so.cache1.1" + struct.pack("<IIBBBBIIII", len(found), len(strings), 2, 0, 0, 0, 0, 0, 0, 0) + entries + strings)


def system(root, glibc="2.39", glibcxx=33):
    known = [v for v in GLIBC if tuple(map(int, v[6:].split("."))) <= tuple(map(int, glibc.split(".")))]
    shared(root + LIB + "/libc.so.6", "libc.so.6", defines=[("malloc", "GLIBC_2.2.5")], verdefs=known, sections=[(".rodata", b"GNU C Library (Ubuntu GLIBC %s) stable release version %s.\n\0" % (glibc.encode(), glibc.encode()))])
    for name in ("libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1"):
        shared(root + LIB + "/" + name, name, needed=["libc.so.6"], verdefs=known, defines=[("f_" + name[3:6], "GLIBC_2.2.5")])
    shared(root + LIB + "/libgcc_s.so.1", "libgcc_s.so.1", needed=["libc.so.6"], verdefs=["GCC_3.0", "GCC_3.3", "GCC_4.2.0"])
    shared(root + LIB + "/libstdc++.so.6.0.%d" % glibcxx, "libstdc++.so.6", needed=["libm.so.6", "libc.so.6", "libgcc_s.so.1"], verdefs=GLIBCXX[:glibcxx + 1] + CXXABI[:min(16, glibcxx - 17)], defines=[("_ZSt4cout", "GLIBCXX_3.4")])
    link(root, LIB + "/libstdc++.so.6", "libstdc++.so.6.0.%d" % glibcxx)
    shared(root + LIB + "/ld-linux-x86-64.so.2", "ld-linux-x86-64.so.2", verdefs=known[:4])
    link(root, "/lib", "usr/lib")
    link(root, "/lib64", "usr/lib64")
    link(root, "/usr/lib64/ld-linux-x86-64.so.2", "../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
    shared(root + "/usr/bin/python3.12", needed=["libm.so.6", "libc.so.6"], interpreter="/lib64/ld-linux-x86-64.so.2")
    link(root, "/usr/bin/python3", "python3.12")
    put(root, "/usr/lib/python3.12/os.py", "#\n")
    os.makedirs(root + "/usr/lib/python3/dist-packages", exist_ok=True)
    put(root, "/etc/os-release", 'PRETTY_NAME="Ubuntu 24.04.3 LTS"\nID=ubuntu\nVERSION_ID="24.04"\n')
    put(root, "/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
    put(root, "/etc/ld.so.conf.d/x86_64-linux-gnu.conf", LIB + "\n")
    put(root, "/proc/meminfo", "MemTotal: 528000000 kB\nMemAvailable: 500000000 kB\nSwapTotal: 0 kB\n")
    put(root, "/proc/self/mountinfo", "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n")
    put(root, "/proc/self/status", "Name:\tdavy\nCapEff:\t0000000000000000\nSeccomp:\t0\n")
    put(root, "/proc/modules", "")
    put(root, "/sys/class/dmi/id/sys_vendor", "Supermicro\n")
    put(root, "/proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: fpu sse2 ssse3 sse4_1 sse4_2 popcnt cx16 lahf_lm avx avx2 bmi1 bmi2 f16c fma abm movbe xsave\n\n")
    cache(root, [LIB])
    for d in ("/sys/bus/pci/devices", "/dev", "/tmp", "/home"):
        os.makedirs(root + d, exist_ok=True)


NCCL_CALLS = ("ncclGetVersion", "ncclCommInitRank", "ncclCommInitRankConfig", "ncclAllReduce", "ncclCommSplit", "ncclCommRegister", "ncclCommDeregister", "ncclMemAlloc", "ncclCommAbort")
OLDER_THAN = {"ncclCommSplit": (2, 18), "ncclCommRegister": (2, 19), "ncclCommDeregister": (2, 19), "ncclMemAlloc": (2, 19), "ncclCommInitRankConfig": (2, 14)}


def nccl(path, version, cuda):
    number = tuple(int(x) for x in version.split("."))
    shared(path, "libnccl.so.2", needed=["libpthread.so.0", "libc.so.6"], defines=[n for n in NCCL_CALLS if number >= OLDER_THAN.get(n, (0,))],
           sections=[(".rodata", b"NCCL version %s+cuda%s\0NCCL version %s compiled with CUDA %s\0" % ((version.encode(), cuda.encode()) * 2))])
    return path


def part(path, soname, version):
    """One library of the CUDA toolkit."""
    stem, more, wants = soname.split(".so")[0], [], []
    if stem == "libcublas":
        more = [soname.replace("libcublas", "libcublasLt")]
    if stem == "libnvJitLink":
        release = version.split(".")[:2]
        defines = ["nvJitLinkVersion"] + ["__nvJitLink%s_%s_%d" % (c, release[0], m) for m in range(0, int(release[1]) + 1) for c in ("AddData", "Create", "Complete")]
    else:
        defines = ["%s_call" % stem[3:]]
    shared(path, soname, needed=more + ["libc.so.6"], defines=defines, wants=wants, rpath="$ORIGIN:$ORIGIN/../../cublas/lib:$ORIGIN/../../nvjitlink/lib")


def dist(root, site, name, version, files, requires=(), installer="pip", tag="cp312-cp312-linux_x86_64", url=None):
    info = "%s/%s-%s.dist-info" % (site, name.replace("-", "_"), version)
    put(root, info + "/METADATA", "Metadata-Version: 2.1\nName: %s\nVersion: %s\n%s\n" % (name, version, "".join("Requires-Dist: %s\n" % r for r in requires)))
    put(root, info + "/INSTALLER", installer + "\n")
    put(root, info + "/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: %s\nTag: %s\n" % ("true" if tag.endswith("none-any") else "false", tag))
    if url:
        put(root, info + "/direct_url.json", json.dumps({"url": url, "archive_info": {}}))
    lines = []
    for f in sorted(files):
        with open(root + f, "rb") as h:
            data = h.read()
        lines.append("%s,sha256=%s,%d" % (os.path.relpath(f, site), base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), len(data)))
    put(root, info + "/RECORD", "\n".join(lines + ["%s/RECORD,," % os.path.relpath(info, site), ""]))


def below(root, folder):
    return [os.path.join(d, f)[len(root):] for d, _, files in os.walk(root + folder) for f in files]


def torch_files(root, site, variant, rpath, version, codes=None, isa=None, tag="--disable-new-dtags", extra_wants=(), cxx11=True, nccl_built=True):
    _, cuda, parts, own_isa = BUILDS[variant]
    t, lib = site + "/torch", site + "/torch/lib"
    codes = codes or release(variant)["arch_list"]
    where = {"rpath" if tag == "--disable-new-dtags" else "runpath": rpath}
    here = {"rpath" if tag == "--disable-new-dtags" else "runpath": "$ORIGIN"}
    base = ["libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6"]
    floor = [("memcpy", "GLIBC_2.14", "libc.so.6"), ("_ZSt4cout", "GLIBCXX_3.4", "libstdc++.so.6")]
    abi = "_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE" if cxx11 else "_ZN3c105ErrorC1ENS_14SourceLocationESs"
    sonames = [s for _, s, _, _ in parts]
    shared(root + lib + "/libc10.so", "libc10.so", needed=base, wants=floor, defines=[abi, "_ZN3c1010TensorImplD1Ev"], **here)
    shared(root + lib + "/libtorch_cpu.so", "libtorch_cpu.so", needed=["libc10.so"] + base, defines=["_ZN4c10d16ProcessGroupGlooC1Ev", "_ZN2at4_ops10add_Tensor4callEv"], wants=[abi], **here)
    shared(root + lib + "/libc10_cuda.so", "libc10_cuda.so", needed=["libc10.so", sonames[0]] + base, wants=["_ZN3c1010TensorImplD1Ev"], defines=["_ZN3c104cuda14device_countEv"], **where)
    wants = ["_ZN3c104cuda14device_countEv"] + (["ncclAllReduce", "ncclCommInitRankConfig", "ncclCommSplit"] if nccl_built else []) + list(extra_wants)
    shared(root + lib + "/libtorch_cuda.so", "libtorch_cuda.so", needed=["libc10_cuda.so"] + sonames + (["libnccl.so.2"] if nccl_built else []) + ["libtorch_cpu.so", "libc10.so"] + base, wants=wants,
           defines=["_ZN4c10d16ProcessGroupNCCLC1Ev"] if nccl_built else ["_ZN2at4cuda1fEv"], sections=[(".nv_fatbin", fatbin(codes, isa or own_isa))], **where)
    shared(root + lib + "/libtorch.so", "libtorch.so", needed=["libtorch_cpu.so", "libtorch_cuda.so"], **where)
    shared(root + lib + "/libtorch_global_deps.so", "libtorch_global_deps.so", needed=sonames + ["libc.so.6"], **where)
    shared(root + lib + "/libtorch_python.so", "libtorch_python.so", needed=["libtorch_cuda.so", "libtorch_cpu.so", "libtorch.so", "libc10.so"] + base,
           wants=[abi, "_ZN4c10d16ProcessGroupGlooC1Ev"] + (["_ZN4c10d16ProcessGroupNCCLC1Ev"] if nccl_built else []), **where)
    shared(root + t + "/_C.cpython-312-x86_64-linux-gnu.so", None, needed=["libtorch_python.so", "libc.so.6"], defines=["PyInit__C"], **{"rpath" if tag == "--disable-new-dtags" else "runpath": "$ORIGIN/lib"})
    put(root, t + "/__init__.py", "#\n")
    put(root, t + "/version.py", "from typing import Optional\n\n__version__ = '%s'\ndebug = False\ncuda: Optional[str] = '%s'\ngit_version = '%040d'\nhip: Optional[str] = None\n" % (version, cuda, 7))


def wheel_rpath(variant):
    seen = []
    for folder, _, _, _ in BUILDS[variant][2]:
        if folder not in seen:
            seen.append(folder)
    return ":".join("$ORIGIN/../../nvidia/%s/lib" % f for f in seen + ["nccl"]) + ":$ORIGIN"


SITE = "/opt/venv/lib/python3.12/site-packages"


def wheel(root, variant, **more):
    torch, cuda, parts, _ = BUILDS[variant]
    put(root, "/opt/venv/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.12.3\n")
    link(root, "/opt/venv/bin/python", "/usr/bin/python3")
    link(root, "/opt/venv/bin/python3", "python")
    r, requires, owner = release(variant), [], {}
    major = cuda.split(".")[0]
    for folder, soname, name, version in parts:
        path = "%s/nvidia/%s/lib/%s" % (SITE, folder, soname)
        name, version = (name, version) if name else last
        last = (name, version)
        part(root + path, soname, version)
        owner.setdefault((name, version), []).append(path)
    nccl(root + SITE + "/nvidia/nccl/lib/libnccl.so.2", r["nccl_version"], cuda)
    owner["nvidia-nccl-cu" + major, r["nccl_version"]] = [SITE + "/nvidia/nccl/lib/libnccl.so.2"]
    for (name, version), files in owner.items():
        dist(root, SITE, name, version, files, tag="py3-none-manylinux2014_x86_64")
        requires.append('%s==%s; platform_system == "Linux"' % (name, version))
    full = torch + "+" + variant
    torch_files(root, SITE, variant, wheel_rpath(variant), full, **more)
    dist(root, SITE, "torch", full, below(root, SITE + "/torch"), requires)
    return "/opt/venv"


def conda(root, variant, **more):
    torch, cuda, parts, _ = BUILDS[variant]
    prefix, site = "/opt/conda/envs/train", "/opt/conda/envs/train/lib/python3.12/site-packages"
    shared(root + prefix + "/bin/python3.12", needed=["libm.so.6", "libc.so.6"], rpath="$ORIGIN/../lib", interpreter="/lib64/ld-linux-x86-64.so.2")
    link(root, prefix + "/bin/python3", "python3.12")
    link(root, prefix + "/bin/python", "python3.12")
    put(root, prefix + "/lib/python3.12/os.py", "#\n")
    for _, soname, _, version in parts:
        part(root + prefix + "/lib/" + soname, soname, version or "12.0")
    nccl(root + prefix + "/lib/libnccl.so.2", release(variant)["nccl_version"], cuda)
    torch_files(root, site, variant, "$ORIGIN:$ORIGIN/../../../../", torch, **more)

    def meta(name, version, files, build="0"):
        put(root, "%s/conda-meta/%s-%s-%s.json" % (prefix, name, version, build), json.dumps({"name": name, "version": version, "build": build, "files": files, "channel": "conda-forge", "depends": []}))
    meta("python", "3.12.8", ["bin/python3.12"])
    meta("pytorch", torch, [], "cuda%s_generic_py312" % cuda.replace(".", ""))
    meta("nccl", release(variant)["nccl_version"], ["lib/libnccl.so.2"])
    dist(root, site, "torch", torch, below(root, site + "/torch"), installer="conda")
    return prefix


def ngc(root, variant, **more):
    torch, cuda, parts, _ = BUILDS[variant]
    site = "/usr/local/lib/python3.12/dist-packages"
    put(root, "/usr/lib/python3/dist-packages/.keep")
    for _, soname, _, version in parts:
        part(root + "/usr/local/cuda-%s/lib64/%s" % (cuda, soname), soname, version or "12.0")
    for name in ("libcudnn.so.9", "libcusparseLt.so.0", "libnvshmem_host.so.3"):
        at = root + "/usr/local/cuda-%s/lib64/%s" % (cuda, name)
        if os.path.exists(at):
            shutil.move(at, root + LIB + "/" + name)
    link(root, "/usr/local/cuda", "cuda-" + cuda)
    version = release(variant)["nccl_version"]
    nccl(root + LIB + "/libnccl.so." + version, version, cuda)
    link(root, LIB + "/libnccl.so.2", "libnccl.so." + version)
    cache(root, ["/usr/local/cuda/lib64", LIB])
    full = torch + "a0+34c6371d24.nv25.08"
    torch_files(root, site, variant, "$ORIGIN", full, tag="--enable-new-dtags", **more)
    dist(root, site, "torch", full, below(root, site + "/torch"))
    return "/usr/bin/python3"


LAYOUTS = {"wheel": wheel, "conda": conda, "ngc": ngc}


ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/home/ada"}


def record(davy, root, python, out, env=()):
    """Without what a machine brings: what was not asked about does not exist. With variables that a process there shall have, Davy runs inside (chroot)."""
    if env:
        shutil.copy2(davy, root + "/davy")
        enter = [] if os.geteuid() == 0 else ["unshare", "-r"]
        subprocess.run(enter + ["chroot", root, "/davy", "snapshot", "--no-redact", "--quiet", "--python", python, "/recorded"], check=True, env=dict(ENVIRONMENT, PATH="/usr/sbin:/sbin:/usr/bin:/bin", DAVY_PROBE="none", **dict(env)), stdout=subprocess.DEVNULL)
        shutil.move(root + "/recorded", out + ".recorded")
    else:
        subprocess.run([davy, "snapshot", "--no-redact", "--quiet", "--root", root, "--python", python, out + ".recorded"], check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    gone = ["/sys/bus/pci", "/proc/driver", "/sys/module/nvidia", "/proc/modules", "/dev", LIB + "/libcuda.so.1", LIB + "/libnvidia-ml.so.1"]
    put(out, "/davy-snapshot.txt", "davy-snapshot 1\nbase ../%s.recorded\nworld closed\n%s" % (os.path.basename(out), "".join("remove %s\n" % g for g in gone)))
    return out


def machine(out, base, driver, gpus, open_module=False, compat=None, lines=()):
    """A snapshot `out` that is `base` with a driver (None: no kernel module) and GPUs by their PCI device ids. compat: version of a libcuda.so.1 for forward compatibility, which
    LD_LIBRARY_PATH names. No probe has answered: everything is told from files."""
    index = ["davy-snapshot 1", "base " + os.path.relpath(base, out), "env", "uname Linux trainer-3 6.8.0-71-generic x86_64 #71-Ubuntu", "char /dev/null 1 3 0666 open", "fs /dev/shm 67500000000 67500000000 67500000000",
             "dir /dev/shm 1777", "limit memlock unlimited unlimited", "limit nofile 1048576 1048576"] + ["env %s=%s" % kv for kv in ENVIRONMENT.items()]
    for i, device in enumerate(gpus):
        address = "0000:%02x:00.0" % (i + 1)
        at = "/sys/devices/pci0000:00/" + address
        put(out, "/files" + at + "/uevent", "PCI_CLASS=30200\nPCI_ID=10DE:%s\nPCI_SLOT_NAME=%s\n" % (device.upper(), address))
        put(out, "/files" + at + "/numa_node", "0\n")
        index.append("link /sys/bus/pci/devices/%s ../../../devices/pci0000:00/%s" % (address, address))
    put(out, "/files/proc/modules", "nvidia_uvm 1540096 0 - Live 0x0\nnvidia 62992384 1 nvidia_uvm, Live 0x0\nib_umad 40960 0 - Live 0x0\n" if driver else "ext4 1 0 - Live 0x0\n")
    if driver:
        kind = "Open Kernel Module for x86_64" if open_module else "x86_64 Kernel Module"
        put(out, "/files/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX %s  %s  Release Build\nGCC version:  gcc version 13.3.0\n" % (kind, driver))
        put(out, "/files/sys/module/nvidia/version", driver + "\n")
        libraries = [(LIB, "libcuda.so", driver), (LIB, "libnvidia-ml.so", driver)]
        if compat:
            libraries.append(("/usr/local/cuda-compat/compat", "libcuda.so", compat))
            index.append("env LD_LIBRARY_PATH=/usr/local/cuda-compat/compat")
        for folder, name, version in libraries:
            put(out, "/digests/elf%s/%s.%s" % (folder, name, version), "machine x86_64\nsoname %s.1\nneeded libm.so.6\nneeded libc.so.6\n" % name)
            index.append("link %s/%s.1 %s.%s" % (folder, name, name, version))
        index += ["char /dev/nvidiactl 195 255 0666 open", "char /dev/nvidia-uvm 509 0 0666 open"] + ["char /dev/nvidia%d 195 %d 0666 open" % (i, i) for i in range(len(gpus))]
        for i in range(len(gpus)):
            put(out, "/files/proc/driver/nvidia/gpus/0000:%02x:00.0/information" % (i + 1), "Bus Location: \t 0000:%02x:00.0\nDevice Minor: \t %d\n" % (i + 1, i))
    put(out, "/davy-snapshot.txt", "\n".join(index + list(lines)) + "\n")
    return out
