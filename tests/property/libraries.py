#!/usr/bin/env python3
"""Each trouble with libraries, built for real in a made PyTorch environment (tests/fake/wheel/double.py) and judged beside a healthy GPU: exactly its cause, with the values in the
sentence, and nothing else. The first rows are healthy environments: nothing at all. TAP."""
import concurrent.futures, json, os, shutil, subprocess, sys, tempfile

top = os.environ.get("DAVY_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
davy = os.environ.get("DAVY", os.path.join(top, "build/davy"))
sys.path.insert(0, os.path.join(top, "tests/fake/wheel"))
sys.path.insert(0, os.path.join(top, "tests"))
import double, fired  # noqa: E402
from double import LIB, SITE, below, dist, nccl, part, put  # noqa: E402
from elfmaker import AARCH64, fatbin, shared  # noqa: E402

only = sys.argv[1:]
n = bad = 0


class Machine:
    """One environment: wheel of cu126 unless asked otherwise, an H100 with driver 580."""

    def __init__(self, layout="wheel", variant="cu126", glibc="2.39", glibcxx=33, gpu="2330", driver="580.95.05", **more):
        self.root = tempfile.mkdtemp(prefix="davy-lib-")
        self.gpu, self.driver, self.lines, self.gpus = gpu, driver, [], 1
        double.system(self.root, glibc, glibcxx)
        self.python = double.LAYOUTS[layout](self.root, variant, **more)

    def __truediv__(self, path):
        return self.root + path

    def env(self, name, value):
        self.lines.append("env %s=%s" % (name, value))

    def extension(self, name, wants=(), needed=("libc10.so", "libtorch_cuda.so", "libtorch_cpu.so"), version="1.0", code=None, files=None, isa=(8, 5), **more):
        for f in files or ["%s/%s.cpython-312-x86_64-linux-gnu.so" % (SITE, name.replace("-", "_") + "_cuda")]:
            shared(self.root + f, None, needed=list(needed) + ["libc.so.6"], wants=list(wants), defines=["PyInit_x"], sections=[(".nv_fatbin", fatbin(code, isa))] if code else [], **more)
        dist(self.root, SITE, name, version, files or [f], ["torch"])

    def judge(self):
        python = self.python
        base = double.record(davy, self.root, python, self.root + ".base", [line[4:].split("=", 1) for line in self.lines])
        out = double.machine(self.root + ".machine", base, self.driver, [self.gpu] * self.gpus, True, lines=self.lines)
        p = subprocess.run([davy, "check", "--json", "--from", out, "--python", python], capture_output=True, timeout=60)
        for d in (self.root, self.root + ".base", self.root + ".base.recorded", self.root + ".machine"):
            shutil.rmtree(d, ignore_errors=True)
        doc = json.loads(p.stdout)
        fired.note(doc)
        return doc


SITUATIONS = []


def situation(*expected):
    """expected: "status cause[: words of its sentence]"."""
    def add(make):
        SITUATIONS.append((make.__name__.replace("_", " "), make, expected))
        return make
    return add


# -- healthy ---------------------------------------------------------------------------------------------------------------------------------
for _layout in double.LAYOUTS:
    for _variant in double.BUILDS:
        SITUATIONS.append(("a healthy %s environment of %s" % (_layout, _variant), lambda l=_layout, v=_variant: Machine(l, v), ()))


@situation()
def healthy_extensions_of_all_kinds():
    m = Machine(variant="cu128")
    m.extension("flash-attn", ["_ZN3c1010TensorImplD1Ev"], code="sm_80 sm_90 sm_100 sm_120", version="2.8.3")
    m.extension("xformers", ["_ZN2at4_ops10add_Tensor4callEv"], files=[SITE + "/xformers/_C.so", SITE + "/xformers/_C_flashattention.so"], code="sm_80 sm_90 sm_90a compute_90", version="0.0.32.post2")
    m.extension("apex", ["_ZN2at4_ops10add_Tensor4callEv"], files=[SITE + "/amp_C.cpython-312-x86_64-linux-gnu.so", SITE + "/fused_layer_norm_cuda.cpython-312-x86_64-linux-gnu.so"], code="sm_90", version="0.1")
    return m


@situation()
def bitsandbytes_brings_a_library_for_each_CUDA():
    m = Machine()
    for cuda, runtime in (("117", "libcudart.so.11.0"), ("118", "libcudart.so.11.0"), ("121", "libcudart.so.12"), ("126", "libcudart.so.12"), ("129", "libcudart.so.12"), ("130", "libcudart.so.13")):
        shared(m / ("%s/bitsandbytes/libbitsandbytes_cuda%s.so" % (SITE, cuda)), None, needed=[runtime, runtime.replace("cudart", "cublas").replace(".11.0", ".11"), "libc.so.6"], sections=[(".nv_fatbin", fatbin("sm_75 sm_80 sm_90", (8, 0)))])
    shared(m / (SITE + "/bitsandbytes/libbitsandbytes_cpu.so"), None, needed=["libc.so.6"])
    dist(m.root, SITE, "bitsandbytes", "0.47.0", below(m.root, SITE + "/bitsandbytes"), ["torch"], tag="py3-none-manylinux_2_24_x86_64")
    return m


@situation()
def RPATH_cannot_be_shadowed():
    m = Machine()
    nccl(m / "/opt/other/libnccl.so.2", "2.14.3", "11.7")
    part(m / "/opt/other/libcublas.so.12", "libcublas.so.12", "12.0")
    m.env("LD_LIBRARY_PATH", "/opt/other")
    return m


@situation()
def flash_attn_3_for_Hopper_only():
    m = Machine()
    m.extension("flash-attn-3", code="sm_90a", files=[SITE + "/flash_attn_3/_C.abi3.so"], version="3.0.0b1")
    return m


# -- what is missing ---------------------------------------------------------------------------------------------------------------------------
@situation("fail library.nccl-missing: libnccl.so.2", "warn python.requirement-conflict: nvidia-nccl-cu12")
def no_NCCL():
    m = Machine()
    shutil.rmtree(m / (SITE + "/nvidia/nccl"))
    shutil.rmtree(m / (SITE + "/nvidia_nccl_cu12-2.27.3.dist-info"))
    return m


@situation("fail library.cudart-missing: libcublas.so.12", "warn python.requirement-conflict")
def no_cuBLAS():
    m = Machine()
    for f in ("libcublas.so.12", "libcublasLt.so.12"):
        os.remove(m / (SITE + "/nvidia/cublas/lib/" + f))
    shutil.rmtree(m / (SITE + "/nvidia_cublas_cu12-12.6.4.1.dist-info"))
    return m


@situation("fail library.cudnn-clash: libcudnn.so.9")
def no_cuDNN_in_conda():
    m = Machine("conda")
    os.remove(m / "/opt/conda/envs/train/lib/libcudnn.so.9")
    return m


@situation("warn library.cudart-missing: libcudart.so.11.0")
def extension_for_CUDA_11():
    m = Machine()
    m.extension("made-ops", needed=["libc10.so", "libcudart.so.11.0"], code="sm_90")
    return m


# -- symbols -------------------------------------------------------------------------------------------------------------------------------------
@situation("fail library.nccl-shadowed: ncclCommRegister", "fail library.nccl-shadowed: 2.18.3")
def ncclCommRegister_and_an_older_NCCL_on_LD_LIBRARY_PATH():
    m = Machine(tag="--enable-new-dtags", extra_wants=["ncclCommRegister"])
    nccl(m / "/opt/other/libnccl.so.2", "2.18.3", "12.0")
    m.env("LD_LIBRARY_PATH", "/opt/other")
    return m


@situation("fail library.nccl-too-old: ncclCommWindowRegister")
def PyTorch_of_NVIDIA_with_a_system_NCCL_that_is_too_old():
    return Machine("ngc", extra_wants=["ncclCommWindowRegister"])


@situation("fail library.nvjitlink-shadowed: __nvJitLinkAddData_12_6")
def nvJitLink_of_an_older_toolkit():
    m = Machine(tag="--enable-new-dtags")
    shared(m / (SITE + "/nvidia/cusparse/lib/libcusparse.so.12"), "libcusparse.so.12", needed=["libnvJitLink.so.12", "libc.so.6"], wants=["__nvJitLinkAddData_12_6"], runpath="$ORIGIN/../../nvjitlink/lib")
    dist(m.root, SITE, "nvidia-cusparse-cu12", "12.5.4.2", [SITE + "/nvidia/cusparse/lib/libcusparse.so.12"])
    part(m / "/opt/cuda-12.1/lib64/libnvJitLink.so.12", "libnvJitLink.so.12", "12.1.105")
    m.env("LD_LIBRARY_PATH", "/opt/cuda-12.1/lib64")
    return m


@situation("fail library.mkl-too-new: iJIT_NotifyEvent")
def MKL_without_iJIT():
    m = Machine("conda", "cu121")
    lib = "/opt/conda/envs/train/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so"
    shared(m / lib, "libtorch_cpu.so", needed=["libc10.so", "libmkl_intel_lp64.so.2", "libstdc++.so.6", "libc.so.6"], wants=["iJIT_NotifyEvent"], defines=["_ZN4c10d16ProcessGroupGlooC1Ev", "_ZN2at4_ops10add_Tensor4callEv"], rpath="$ORIGIN:$ORIGIN/../../../../")
    shared(m / "/opt/conda/envs/train/lib/libmkl_intel_lp64.so.2", "libmkl_intel_lp64.so.2", needed=["libc.so.6"], defines=["mkl_call"])
    dist(m.root, "/opt/conda/envs/train/lib/python3.12/site-packages", "torch", "2.5.1", below(m.root, "/opt/conda/envs/train/lib/python3.12/site-packages/torch"), installer="conda")
    return m


@situation("warn library.cxx11-abi: _ZN3c105ErrorC1ENS_14SourceLocationESs")
def extension_of_the_other_ABI():
    m = Machine()
    m.extension("made-ops", ["_ZN3c105ErrorC1ENS_14SourceLocationESs", "_ZN3c1010TensorImplD1Ev"], code="sm_90")
    return m


@situation("warn library.cxx11-abi: __cxx11")
def extension_of_the_new_ABI_beside_an_old_build():
    m = Machine(variant="cu121", cxx11=False)
    m.extension("made-ops", ["_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"], code="sm_90")
    return m


@situation("warn companion.extension-mismatch: _ZNK3c1010TensorImpl4goneEv")
def extension_of_another_PyTorch():
    m = Machine()
    m.extension("made-ops", ["_ZNK3c1010TensorImpl4goneEv", "_ZN3c1010TensorImplD1Ev"], code="sm_90")
    return m


@situation("warn companion.flash-attn-mismatch: _ZN2at4_ops4gone4callEv")
def flash_attn_of_another_PyTorch():
    m = Machine()
    m.extension("flash-attn", ["_ZN2at4_ops4gone4callEv"], code="sm_80 sm_90", version="2.8.3")
    return m


@situation("fail library.undefined-symbol: cublasLtMadeUp")
def cuBLASLt_without_a_function():
    return Machine(extra_wants=["cublasLtMadeUp"])


@situation("fail library.glibc-too-old: 2.28")
def a_wheel_for_a_newer_C_library_that_shows_it_nowhere():
    return Machine(glibc="2.17", glibcxx=25)


# -- two copies of a package
def numpy(m, site, version):
    put(m.root, "%s/numpy-%s.dist-info/METADATA" % (site, version), "Metadata-Version: 2.1\nName: numpy\nVersion: %s\n\n" % version)


@situation("warn python.user-site-shadows: 2.2.6")
def a_package_of_the_user_site():
    m = Machine("ngc")
    numpy(m, "/usr/local/lib/python3.12/dist-packages", "1.26.4")
    numpy(m, "/home/ada/.local/lib/python3.12/site-packages", "2.2.6")
    m.env("USER", "ada")
    return m


@situation("warn python.duplicate-install: 1.26.4")
def a_package_in_two_places():
    m = Machine()
    numpy(m, SITE, "2.2.6")
    numpy(m, "/opt/more", "1.26.4")
    put(m.root, SITE + "/more.pth", "/opt/more\n")
    return m


@situation("fail python.version-unsupported: 3.19", "fail torch.not-installed")
def a_Python_without_PyTorch():
    m = Machine()
    shared(m / "/usr/bin/python3.19", needed=["libc.so.6"], interpreter="/lib64/ld-linux-x86-64.so.2")
    put(m.root, "/usr/lib/python3.19/os.py", "#\n")
    m.python = "/usr/bin/python3.19"
    return m


@situation("warn p2p.too-many-peers: 10 GPUs")
def ten_GPUs_over_PCIe():
    m = Machine(gpu="26b9")
    m.gpus = 10
    return m


# -- versions of the C and C++ library ---------------------------------------------------------------------------------------------------------------
@situation("fail library.glibc-too-old: GLIBC_2.34")
def C_library_too_old():
    m = Machine(glibc="2.31", glibcxx=28)
    lib = SITE + "/torch/lib/libtorch_cpu.so"
    shared(m / lib, "libtorch_cpu.so", needed=["libc10.so", "libstdc++.so.6", "libc.so.6"], wants=[("pthread_create", "GLIBC_2.34", "libc.so.6")], defines=["_ZN4c10d16ProcessGroupGlooC1Ev", "_ZN2at4_ops10add_Tensor4callEv"], rpath="$ORIGIN")
    shutil.rmtree(m / (SITE + "/torch-2.8.0+cu126.dist-info"))
    dist(m.root, SITE, "torch", "2.8.0+cu126", below(m.root, SITE + "/torch"))
    return m


@situation("warn library.glibc-too-old: GLIBC_2.38")
def C_library_too_old_for_an_extension():
    m = Machine(glibc="2.35", glibcxx=30)
    m.extension("made-ops", [("__isoc23_strtol", "GLIBC_2.38", "libc.so.6")], code="sm_90")
    return m


@situation("warn library.libstdcxx-too-old: GLIBCXX_3.4.32")
def Cxx_library_too_old_for_an_extension():
    m = Machine(glibcxx=30)
    m.extension("made-ops", [("_ZSt21ios_base_library_initv", "GLIBCXX_3.4.32", "libstdc++.so.6")], needed=["libc10.so", "libstdc++.so.6"], code="sm_90")
    return m


@situation("warn library.libstdcxx-too-old: CXXABI_1.3.15")
def CXXABI_too_old_for_an_extension():
    m = Machine(glibcxx=28)
    m.extension("made-ops", [("__cxa_call_terminate", "CXXABI_1.3.15", "libstdc++.so.6")], needed=["libc10.so", "libstdc++.so.6"], code="sm_90")
    return m


@situation("fail library.libstdcxx-too-old: GLIBCXX_3.4.30")
def an_old_Cxx_library_of_conda_on_LD_LIBRARY_PATH():
    m = Machine()
    lib = SITE + "/torch/lib/libc10.so"
    shared(m / lib, "libc10.so", needed=["libstdc++.so.6", "libc.so.6"], wants=[("_ZSt4cout", "GLIBCXX_3.4.30", "libstdc++.so.6")], defines=["_ZN3c1010TensorImplD1Ev", "_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"], rpath="$ORIGIN")
    shutil.rmtree(m / (SITE + "/torch-2.8.0+cu126.dist-info"))
    dist(m.root, SITE, "torch", "2.8.0+cu126", below(m.root, SITE + "/torch"))
    shared(m / "/opt/conda/lib/libstdc++.so.6", "libstdc++.so.6", needed=["libc.so.6"], verdefs=double.GLIBCXX[:26] + double.CXXABI[:12], defines=[("_ZSt4cout", "GLIBCXX_3.4")])
    m.env("LD_LIBRARY_PATH", "/opt/conda/lib")
    return m


# -- shadowed ------------------------------------------------------------------------------------------------------------------------------------------
def shadowed(soname, folder, version):
    m = Machine(tag="--enable-new-dtags")
    part(m / ("/opt/cuda/lib64/" + soname), soname, version)
    m.env("LD_LIBRARY_PATH", "/opt/cuda/lib64")
    return m


@situation("warn library.cublas-shadowed: /opt/cuda/lib64/libcublas.so.12")
def cuBLAS_of_a_toolkit():
    m = shadowed("libcublas.so.12", "cublas", "12.0")
    part(m / "/opt/cuda/lib64/libcublasLt.so.12", "libcublasLt.so.12", "12.0")
    return m


@situation("warn library.cudnn-clash: /opt/cuda/lib64/libcudnn.so.9")
def cuDNN_of_the_system():
    return shadowed("libcudnn.so.9", "cudnn", "9.0")


@situation("warn library.nvjitlink-shadowed: /opt/cuda/lib64/libnvJitLink.so.12")
def nvJitLink_of_a_toolkit():
    return shadowed("libnvJitLink.so.12", "nvjitlink", "12.8.0")


@situation("warn library.nccl-shadowed: 2.29.2")
def a_newer_NCCL_on_LD_LIBRARY_PATH():
    m = Machine(tag="--enable-new-dtags")
    nccl(m / "/opt/other/libnccl.so.2", "2.29.2", "12.6")
    m.env("LD_LIBRARY_PATH", "/opt/other")
    return m


@situation("fail library.nccl-shadowed: 2.14.3")
def an_older_NCCL_preloaded():
    m = Machine()
    nccl(m / "/opt/other/libnccl.so.2", "2.14.3", "12.0")
    shared(m / "/opt/other/libnccl.so.2", "libnccl.so.2", needed=["libc.so.6"], defines=double.NCCL_CALLS, sections=[(".rodata", b"NCCL version 2.14.3+cuda11.7\0")])
    m.env("LD_PRELOAD", "/opt/other/libnccl.so.2")
    return m


# -- files -----------------------------------------------------------------------------------------------------------------------------------------------
@situation("fail library.nccl-overwritten: 2.28.9")
def the_wheel_of_CUDA_13_has_overwritten_NCCL():
    m = Machine(variant="cu128")
    path = SITE + "/nvidia/nccl/lib/libnccl.so.2"
    nccl(m / path, "2.28.9", "13.0")
    dist(m.root, SITE, "nvidia-nccl-cu13", "2.28.9", [path])
    return m


@situation("warn library.nccl-overwritten: nvidia-nccl-cu13")
def two_wheels_of_NCCL_and_the_right_bytes():
    m = Machine(variant="cu128")
    path = SITE + "/nvidia/nccl/lib/libnccl.so.2"
    own = open(m / path, "rb").read()
    nccl(m / path, "2.28.9", "13.0")
    dist(m.root, SITE, "nvidia-nccl-cu13", "2.28.9", [path])
    open(m / path, "wb").write(own)
    return m


@situation("warn library.cuda-runtimes-mixed: 11 and 12")
def wheels_of_CUDA_11_and_12():
    m = Machine(variant="cu121")
    path = SITE + "/nvidia/cuda_runtime/lib/libcudart.so.11.0"
    part(m / path, "libcudart.so.11.0", "11.8.89")
    dist(m.root, SITE, "nvidia-cuda-runtime-cu11", "11.8.89", [path])
    return m


@situation("fail library.cuda-stub-loaded: stubs/libcuda.so.1")
def the_stub_of_the_toolkit():
    m = Machine()
    shared(m / "/usr/local/cuda-12.6/targets/x86_64-linux/lib/stubs/libcuda.so", "libcuda.so.1", needed=["libc.so.6"], defines=["cuInit"])
    double.link(m.root, "/usr/local/cuda-12.6/lib64", "targets/x86_64-linux/lib")
    double.link(m.root, "/usr/local/cuda-12.6/targets/x86_64-linux/lib/stubs/libcuda.so.1", "libcuda.so")
    m.env("LD_LIBRARY_PATH", "/usr/local/cuda-12.6/lib64/stubs")
    return m


def damage(path, how):
    m = Machine()
    data = open(m / (SITE + path), "rb").read()
    with open(m / (SITE + path), "wb") as f:
        f.write(how(data))
    return m


@situation("fail torch.install-damaged: libtorch_cuda.so")
def a_library_cut_short():
    return damage("/torch/lib/libtorch_cuda.so", lambda d: d[:len(d) // 3])


@situation("fail torch.install-damaged: libtorch_python.so", "unknown torch.nccl-not-built")
def a_pointer_of_git_lfs():
    return damage("/torch/lib/libtorch_python.so", lambda d: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")


@situation("fail torch.install-damaged: libtorch_cpu.so")
def a_library_of_PyTorch_for_another_machine():
    m = Machine()
    shared(m / (SITE + "/torch/lib/libtorch_cpu.so"), "libtorch_cpu.so", needed=["libc.so.6"], machine=AARCH64)
    shutil.rmtree(m / (SITE + "/torch-2.8.0+cu126.dist-info"))
    dist(m.root, SITE, "torch", "2.8.0+cu126", below(m.root, SITE + "/torch"))
    return m


@situation("fail torch.install-damaged: libmkl_intel_lp64.so.2")
def conda_without_MKL():
    m = Machine("conda", "cu121")
    site = "/opt/conda/envs/train/lib/python3.12/site-packages"
    shared(m / (site + "/torch/lib/libtorch_cpu.so"), "libtorch_cpu.so", needed=["libc10.so", "libmkl_intel_lp64.so.2", "libstdc++.so.6", "libc.so.6"], defines=["_ZN4c10d16ProcessGroupGlooC1Ev", "_ZN2at4_ops10add_Tensor4callEv"], rpath="$ORIGIN:$ORIGIN/../../../../")
    dist(m.root, site, "torch", "2.5.1", below(m.root, site + "/torch"), installer="conda")
    return m


@situation("fail library.file-damaged: wrong-machine")
def a_wheel_for_another_machine():
    m = Machine()
    for f in below(m.root, SITE + "/torch"):
        if ".so" in f:
            with open(m / f, "r+b") as h:
                h.seek(18)
                h.write(bytes([AARCH64]))
    shutil.rmtree(m / (SITE + "/torch-2.8.0+cu126.dist-info"))
    dist(m.root, SITE, "torch", "2.8.0+cu126", below(m.root, SITE + "/torch"))
    return m


@situation("fail library.file-damaged: libcudnn.so.9")
def an_empty_file():
    return damage("/nvidia/cudnn/lib/libcudnn.so.9", lambda d: b"")


# -- GPU code of extensions ------------------------------------------------------------------------------------------------------------------------------------
@situation("warn gpu.extension-arch-missing: flash-attn")
def flash_attn_without_code_for_Turing():
    m = Machine(gpu="1eb8")
    m.extension("flash-attn", code="sm_80 sm_90", version="2.8.3")
    return m


@situation("warn gpu.extension-arch-missing: vllm")
def vllm_built_for_other_GPUs():
    m = Machine(variant="cu128", gpu="2b85")
    m.extension("vllm", code="sm_80 sm_90a", files=[SITE + "/vllm/_C.abi3.so", SITE + "/vllm/_moe_C.abi3.so"], version="0.10.2")
    return m


@situation("warn gpu.extension-arch-missing: compute_80")
def PTX_of_an_extension_is_newer_than_the_driver():
    m = Machine(variant="cu126", driver="535.274.02")
    m.extension("made-ops", code="sm_80 compute_80", isa=(8, 5))
    return m


@situation()
def PTX_of_an_extension_that_the_driver_can_compile():
    m = Machine(variant="cu126", driver="535.274.02")
    m.extension("made-ops", code="sm_80 compute_80", isa=(8, 2))
    return m


@situation("warn gpu.extension-arch-missing: llama-cpp-python")
def ggml_for_other_GPUs():
    m = Machine(variant="cu126", gpu="1db1")
    shared(m / (SITE + "/llama_cpp/lib/libggml-cuda.so"), "libggml-cuda.so", needed=["libcudart.so.12", "libc.so.6"], runpath="$ORIGIN", sections=[(".nv_fatbin", fatbin("sm_86 sm_89 compute_80", (8, 4)))])
    dist(m.root, SITE, "llama-cpp-python", "0.3.16", [SITE + "/llama_cpp/lib/libggml-cuda.so"], ["numpy>=1.20.0"], tag="py3-none-linux_x86_64")
    dist(m.root, SITE, "numpy", "2.2.6", [])
    return m


def matches(want, finding):
    status_cause, _, words = want.partition(": ")
    return status_cause == "%s %s" % (finding["status"], finding["cause"]) and words in finding["says"] + " ".join(str(e.get("value")) for e in finding["evidence"])


def run(row):
    return row, [f for f in row[1]().judge()["findings"] if f["status"] != "info"]


with concurrent.futures.ThreadPoolExecutor(2) as pool:
    for (name, make, expected), got in pool.map(run, [s for s in SITUATIONS if not only or any(o in s[0] for o in only)]):
        n += 1
        wanted = {w.partition(": ")[0] for w in expected}
        good = {"%s %s" % (f["status"], f["cause"]) for f in got} == wanted and all(any(matches(w, f) for f in got) for w in expected)
        bad += not good
        print("%s %d - %s" % ("ok" if good else "not ok", n, name))
        for f in got if not good or only else []:
            print("#   %s %s (%s): %s" % (f["status"], f["cause"], f["rule"], f["says"]))
        if not good:
            print("#   expected: %s" % (", ".join(expected) or "nothing"))
print("1..%d" % n)
sys.exit(bad > 0)
