#!/usr/bin/env bats
# davy explain on failures that really happen here: the distribution's PyTorch with back end nccl, the real libnccl without a GPU, a full /dev/shm.

bats_require_minimum_version 1.5.0

setup() {
	davy=${DAVY:-$BATS_TEST_DIRNAME/../../build/davy}
	cd "$BATS_TEST_TMPDIR"
}

first() { python3 -c 'import json,sys; f=json.load(sys.stdin)["findings"][0]; print(f["cause"], f["certainty"], f["status"])'; }
need_torch() { [ -d /usr/lib/python3/dist-packages/torch ] && command -v torchrun >/dev/null || skip "python3-torch is not installed"; }
need_no_gpu() { [ ! -e /proc/driver/nvidia/version ] || skip "this machine has an NVIDIA driver"; }

@test "two ranks of a CPU build ask for nccl" {
	need_torch
	cat > train.py <<-'PY'
	import torch, torch.distributed as dist
	dist.init_process_group("nccl")
	dist.all_reduce(torch.ones(1))
	PY
	timeout 120 torchrun --nproc_per_node 2 --redirects 9:1 --tee 9:1 train.py > train.log 2>&1 && skip "this PyTorch has NCCL"
	grep -q "have NCCL" train.log || skip "it failed of something else: $(tail -1 train.log)"
	run --separate-stderr bash -c "'$davy' explain --json - < train.log"
	[ "$status" -ne 0 ]
	[[ "$(first <<<"$output")" == torch.nccl-not-built* || "$(first <<<"$output")" == torch.cpu-build* ]]
	# The interpreter that the log names is the one that is examined.
	run --separate-stderr bash -c "'$davy' explain --here --json - < train.log"
	[ "$status" -eq 1 ]
	[ "$(first <<<"$output")" = "torch.cpu-build certain fail" ]
}

@test "the real libnccl on a host without a GPU" {
	need_no_gpu
	lib=$(ls /usr/local/cuda/lib64/libnccl.so.2 /usr/lib/*/libnccl.so.2 2>/dev/null | head -1)
	[ -n "$lib" ] || skip "libnccl is not installed"
	cat > init.py <<-PY
	import ctypes, sys
	nccl = ctypes.CDLL("$lib")
	nccl.ncclGetErrorString.restype = nccl.ncclGetLastError.restype = ctypes.c_char_p
	class Id(ctypes.Structure): _fields_ = [("internal", ctypes.c_char * 128)]
	id, comm = Id(), ctypes.c_void_p()
	nccl.ncclGetUniqueId(ctypes.byref(id))
	r = nccl.ncclCommInitRank(ctypes.byref(comm), 1, id, 0)
	if r:
	    print("RuntimeError: NCCL error in: init.py:9,", nccl.ncclGetErrorString(r).decode(), file=sys.stderr)
	sys.exit(r)
	PY
	rc=0; NCCL_DEBUG=INFO timeout 60 python3 init.py > nccl.log 2>&1 || rc=$?
	[ "$rc" -ne 0 ] || skip "it found a GPU"
	run --separate-stderr "$davy" explain --json nccl.log
	[ "$status" -eq 1 ]
	case $(first <<<"$output") in driver.*|gpu.*) ;; *) first <<<"$output"; false ;; esac
	run --separate-stderr "$davy" explain --json --here nccl.log
	[ "$status" -eq 1 ]
	[ "$(first <<<"$output")" = "driver.not-installed certain fail" ]
}

@test "data-loader workers fill a small /dev/shm" {
	need_torch
	unshare -m true 2>/dev/null || skip "no right to mount"
	cat > load.py <<-'PY'
	import torch
	from torch.utils.data import DataLoader, Dataset
	class Rows(Dataset):
	    def __len__(self): return 64
	    def __getitem__(self, i): return torch.zeros(1 << 20)
	for batch in DataLoader(Rows(), batch_size=8, num_workers=2): pass
	PY
	unshare -m sh -c 'mount -t tmpfs -o size=4m tmpfs /dev/shm || exit 99; timeout 100 /usr/bin/python3 load.py; rc=$?; df /dev/shm >&2; exit $rc' > shm.log 2>&1 && rc=0 || rc=$?
	[ "$rc" -ne 99 ] || skip "no right to mount"
	[ "$rc" -ne 0 ]
	run --separate-stderr "$davy" explain --json shm.log
	[ "$status" -eq 1 ]
	[[ "$(first <<<"$output")" == host.shm-too-small* ]]
}
