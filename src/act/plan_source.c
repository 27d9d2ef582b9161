/* Building PyTorch from source: is this machine ready, and the script. */
#include "act/plan.h"

#include "base/version.h"

static const char *tr(const struct judge *j, const char *english, const char *chinese)
{
	return j->chinese ? chinese : english;
}

static const char *one(struct judge *j, const char *sql)
{
	struct store_query *q;
	const char *text = NULL;
	if (store_prepare(j->store, sql, &q, NULL) < 0)
		return NULL;
	if (store_step(q) > 0 && store_text(q, 0))
		text = arena_strdup(j->arena, store_text(q, 0));
	store_finish(q);
	return text;
}

/* One thing that a build needs: what was found, whether it is enough (SQL: 1, 0, NULL), and what to do. */
static const struct {
	const char *english, *chinese, *found, *good, *says, *says_zh;
} needs[] = {
	{"disk", "磁盘", "SELECT (free_bytes >> 30) || ' GB in ' || path FROM mount WHERE role IN ('cwd', 'home', 'root') ORDER BY role = 'cwd' DESC LIMIT 1", "SELECT free_bytes >= 30 * 1073741824 FROM mount WHERE role IN ('cwd', 'home', 'root') ORDER BY role = 'cwd' DESC LIMIT 1", "a build takes 30 GB and more", "构建需要 30 GB 以上的空间"},
	{"memory", "内存", "SELECT (min(memory_bytes, coalesce(memory_limit_bytes, memory_bytes)) >> 30) || ' GB, swap ' || (coalesce(swap_bytes, 0) >> 30) || ' GB' FROM system", "SELECT min(memory_bytes, coalesce(memory_limit_bytes, memory_bytes)) + coalesce(swap_bytes, 0) >= 16 * 1073741824 FROM system", "below 16 GB nvcc's jobs are killed; add swap or lower MAX_JOBS", "低于 16 GB 时 nvcc 进程会被杀死；请增加 swap 或降低 MAX_JOBS"},
	{"CUDA toolkit", "CUDA toolkit", "SELECT version || ' ' || path FROM toolkit WHERE nvcc IS NOT NULL ORDER BY selected_by = 'cuda_home' DESC, selected_by = 'path' DESC LIMIT 1", "SELECT known('toolkit') AND count(*) > 0 FROM toolkit WHERE nvcc IS NOT NULL", "install the CUDA toolkit (nvcc)", "请安装 CUDA toolkit（nvcc）"},
	{"driver for this toolkit", "驱动与 toolkit", "SELECT version FROM driver WHERE vendor = 'nvidia'", "SELECT driver_runs((SELECT version FROM driver WHERE vendor = 'nvidia'), (SELECT version FROM toolkit WHERE nvcc IS NOT NULL ORDER BY selected_by = 'cuda_home' DESC, selected_by = 'path' DESC LIMIT 1))", "this driver does not run programs of that toolkit", "该驱动不能运行由此 toolkit 编译的程序"},
	{"host compiler for nvcc", "主机编译器", "SELECT name || ' ' || version FROM compiler WHERE name IN ('gcc', 'g++') AND version IS NOT NULL LIMIT 1", "SELECT CASE WHEN k.gcc_highest IS NULL OR k.gcc_highest = '' THEN NULL ELSE CAST((SELECT version FROM compiler WHERE name IN ('gcc', 'g++') AND version IS NOT NULL LIMIT 1) AS INTEGER) <= CAST(k.gcc_highest AS INTEGER) END FROM k_gcc_cuda k WHERE k.kind = 'nvcc' AND k.key = (SELECT version FROM toolkit WHERE nvcc IS NOT NULL ORDER BY selected_by = 'cuda_home' DESC, selected_by = 'path' DESC LIMIT 1)", "this gcc is newer than nvcc accepts: install an older one and set CC, CXX, CUDAHOSTCXX", "该 gcc 比 nvcc 所接受的更新：请安装较旧版本并设置 CC、CXX、CUDAHOSTCXX"},
	{"NCCL header", "NCCL 头文件", "SELECT nccl_header FROM toolkit WHERE nccl_header IS NOT NULL LIMIT 1", "SELECT CASE WHEN known('toolkit') THEN (SELECT count(*) > 0 FROM toolkit WHERE nccl_header IS NOT NULL) END", "no nccl.h: the build fetches and compiles its own NCCL (USE_SYSTEM_NCCL=0)", "没有 nccl.h：构建时会自行获取并编译 NCCL（USE_SYSTEM_NCCL=0）"},
	{"NCCL library", "NCCL 库", "SELECT path FROM nccl LIMIT 1", "SELECT CASE WHEN known('toolkit') THEN (SELECT max(nccl_shared) FROM toolkit WHERE nccl_header IS NOT NULL) END", "only a static NCCL or none; a dynamic build needs libnccl.so", "只有静态 NCCL 或没有；动态构建需要 libnccl.so"},
	{"Python headers", "Python 头文件", "SELECT CASE headers WHEN 1 THEN 'Python.h' END FROM python", "SELECT headers FROM python", "install the -dev package of this Python", "请安装该 Python 的 -dev 软件包"},
	{"cmake", "cmake", "SELECT path FROM program WHERE name = 'cmake'", "SELECT path IS NOT NULL FROM program WHERE name = 'cmake'", "pip install cmake", "pip install cmake"},
	{"ninja", "ninja", "SELECT path FROM program WHERE name = 'ninja'", "SELECT path IS NOT NULL FROM program WHERE name = 'ninja'", "pip install ninja", "pip install ninja"},
	{"PYTHONPATH", "PYTHONPATH", "SELECT value FROM variable WHERE name = 'PYTHONPATH'", "SELECT CASE WHEN known('variable') THEN NOT EXISTS (SELECT 1 FROM variable WHERE name = 'PYTHONPATH' AND value <> '') END", "PYTHONPATH can hide the new build: unset it", "PYTHONPATH 可能遮挡新的构建：请取消设置"},
};

struct plan_check *plan_source_readiness(struct judge *j)
{
	struct plan_check *first = NULL, **tail = &first;
	for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
		struct plan_check *c = arena_alloc(j->arena, sizeof *c);
		const char *good = one(j, needs[i].good);
		c->what = tr(j, needs[i].english, needs[i].chinese);
		c->found = one(j, needs[i].found);
		c->good = !good ? PLAN_UNKNOWN : strcmp(good, "0") == 0 ? PLAN_NO : PLAN_YES;
		c->says = c->good == PLAN_YES ? NULL : c->good == PLAN_NO ? tr(j, needs[i].says, needs[i].says_zh) : tr(j, "could not be determined", "无法确定");
		*tail = c;
		tail = &c->next;
	}
	return first;
}

static int64_t number(struct judge *j, const char *sql, int64_t otherwise)
{
	const char *text = one(j, sql);
	int64_t n;
	return text && str_to_int(str_of(text), &n) == 0 ? n : otherwise;
}

const char *const *plan_source_script(struct judge *j, const struct plan *p)
{
	const char **s = arena_array(j->arena, 40, sizeof *s);
	size_t n = 0;
	const char *cuda = one(j, "SELECT path FROM toolkit WHERE nvcc IS NOT NULL ORDER BY selected_by = 'cuda_home' DESC, selected_by = 'path' DESC LIMIT 1");
	const char *arch = one(j, "SELECT group_concat(cc, ';') FROM (SELECT DISTINCT compute_capability AS cc FROM gpu WHERE compute_capability IS NOT NULL ORDER BY cc)");
	const char *header = one(j, "SELECT path FROM toolkit WHERE nccl_header IS NOT NULL AND nccl_shared LIMIT 1"), *python = one(j, "SELECT path FROM python");
	/* One nvcc job takes up to 4 GB. */
	int64_t by_memory = number(j, "SELECT min(memory_bytes, coalesce(memory_limit_bytes, memory_bytes)) / 4294967296 FROM system", 4), cores = number(j, "SELECT cpu_allowed FROM system", 4);
	int64_t jobs = by_memory < cores ? by_memory : cores;
	const char *release = p->best ? p->best->torch : "2.9.1";
	s[n++] = "#!/bin/sh";
	s[n++] = "# Builds PyTorch with CUDA and NCCL for this machine. Read it before you run it.";
	s[n++] = "set -eu";
	s[n++] = arena_printf(j->arena, "%s -m venv ~/torch-build && . ~/torch-build/bin/activate", python ? python : "python3");
	s[n++] = arena_printf(j->arena, "git clone --depth 1 --recursive --shallow-submodules --branch v%s https://github.com/pytorch/pytorch ~/pytorch", release);
	s[n++] = "cd ~/pytorch";
	s[n++] = "python -m pip install -r requirements.txt cmake ninja";
	s[n++] = "unset PYTHONPATH";
	s[n++] = arena_printf(j->arena, "export CUDA_HOME=%s USE_CUDA=1 USE_NCCL=1 USE_DISTRIBUTED=1", cuda ? cuda : "/usr/local/cuda");
	if (header) {
		s[n++] = "# The three names under which different releases look for NCCL.";
		s[n++] = arena_printf(j->arena, "export USE_SYSTEM_NCCL=1 NCCL_ROOT=%s NCCL_INCLUDE_DIR=%s/include NCCL_LIB_DIR=%s/lib64", header, header, header);
	} else {
		s[n++] = "export USE_SYSTEM_NCCL=0";
	}
	s[n++] = arch ? arena_printf(j->arena, "export TORCH_CUDA_ARCH_LIST='%s'", arch) : "# export TORCH_CUDA_ARCH_LIST='9.0'   # compute capability of the GPUs that will run it";
	s[n++] = arena_printf(j->arena, "export MAX_JOBS=%lld   # 4 GB of memory for each", (long long)(jobs < 1 ? 1 : jobs));
	s[n++] = "if command -v ccache >/dev/null; then export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache; fi";
	s[n++] = "python -m pip install --no-build-isolation -v .";
	s[n++] = "cd / && python -c 'import torch, torch.distributed as d; print(torch.__version__, torch.version.cuda, d.is_nccl_available())'";
	s[n] = NULL;
	return s;
}
