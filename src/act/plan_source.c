/* Building PyTorch from source: is this machine ready, and the script. */
#include "act/plan_parts.h"

#include "base/version.h"

/* One thing that a build needs: what was found, whether it is enough (SQL: 1, 0, NULL), and what to do. */
static const struct {
	const char *english, *chinese, *found, *good, *says, *says_zh;
} needs[] = {
	{"disk", "磁盘",
		"SELECT path || '  ' || (free_bytes >> 30) || ' GB' FROM mount WHERE role IN ('cwd', 'home', 'root') ORDER BY role = 'cwd' DESC LIMIT 1",
		"SELECT free_bytes >= 30 * 1073741824 FROM mount WHERE role IN ('cwd', 'home', 'root') ORDER BY role = 'cwd' DESC LIMIT 1",
		"a build takes 30 GB and more", "构建需要 30 GB 以上的空间"},
	{"memory", "内存",
		"SELECT (min(memory_bytes, coalesce(memory_limit_bytes, memory_bytes)) >> 30) || ' GB, swap ' || (coalesce(swap_bytes, 0) >> 30) || ' GB' FROM system",
		"SELECT min(memory_bytes, coalesce(memory_limit_bytes, memory_bytes)) + coalesce(swap_bytes, 0) >= 16 * 1073741824 FROM system",
		"below 16 GB nvcc's jobs are killed; add swap or lower MAX_JOBS",
		"低于 16 GB 时 nvcc 进程会被杀死；请增加 swap 或降低 MAX_JOBS"},
	{"CUDA toolkit", "CUDA toolkit",
		"SELECT version || ' ' || path FROM toolkit WHERE nvcc IS NOT NULL ORDER BY selected_by = 'cuda_home' DESC, selected_by = 'path' DESC LIMIT 1",
		"SELECT known('toolkit') AND count(*) > 0 FROM toolkit WHERE nvcc IS NOT NULL", "install the CUDA toolkit (nvcc)",
		"请安装 CUDA toolkit（nvcc）"},
	{"driver for this toolkit", "驱动与 toolkit", "SELECT version FROM driver WHERE vendor = 'nvidia'",
		"SELECT driver_runs((SELECT version FROM driver WHERE vendor = 'nvidia'), (SELECT version FROM toolkit WHERE nvcc IS NOT NULL ORDER BY selected_by = 'cuda_home' DESC, selected_by = 'path' DESC LIMIT 1))",
		"this driver does not run programs of that toolkit", "该驱动不能运行由此 toolkit 编译的程序"},
	{"host compiler for nvcc", "主机编译器",
		"SELECT name || ' ' || version FROM compiler WHERE name IN ('gcc', 'g++') AND version IS NOT NULL LIMIT 1",
		"SELECT CASE WHEN k.gcc_highest IS NULL OR k.gcc_highest = '' THEN NULL ELSE CAST((SELECT version FROM compiler WHERE name IN ('gcc', 'g++') AND version IS NOT NULL LIMIT 1) AS INTEGER) <= CAST(k.gcc_highest AS INTEGER) END FROM k_gcc_cuda k WHERE k.kind = 'nvcc' AND k.key = (SELECT version FROM toolkit WHERE nvcc IS NOT NULL ORDER BY selected_by = 'cuda_home' DESC, selected_by = 'path' DESC LIMIT 1)",
		"this gcc is newer than nvcc accepts: install an older one and set CC, CXX, CUDAHOSTCXX",
		"该 gcc 比 nvcc 所接受的更新：请安装较旧版本并设置 CC、CXX、CUDAHOSTCXX"},
	{"compiler for this PyTorch", "PyTorch 所需编译器",
		"SELECT name || ' ' || version FROM compiler WHERE name IN ('g++', 'gcc') AND version IS NOT NULL ORDER BY name = 'g++' DESC LIMIT 1",
		"SELECT version_cmp((SELECT version FROM compiler WHERE name IN ('g++', 'gcc') AND version IS NOT NULL ORDER BY name = 'g++' DESC LIMIT 1), k.gcc_lowest) >= 0 FROM k_gcc_cuda k WHERE k.kind = 'torch-source' AND k.gcc_lowest IS NOT NULL ORDER BY CAST(substr(k.key, 3) AS INTEGER) * (k.key LIKE '2.%') DESC LIMIT 1",
		"this gcc is older than PyTorch's headers need: install a newer one",
		"该 gcc 比 PyTorch 头文件所需的更旧：请安装更新的版本"},
	{"nvcc for these GPUs", "nvcc 与本机 GPU", "SELECT group_concat(DISTINCT 'sm_' || cc) FROM gpu WHERE cc IS NOT NULL",
		"SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM gpu WHERE cc IS NOT NULL) THEN NULL ELSE (SELECT min(version_cmp(t.version, k.cuda_first) >= 0 AND (k.cuda_last IS NULL OR k.cuda_last = '' OR version_cmp(t.version, k.cuda_last) <= 0)) FROM gpu g JOIN k_gpu_arch k ON k.cc = g.cc, (SELECT version FROM toolkit WHERE nvcc IS NOT NULL ORDER BY selected_by = 'cuda_home' DESC, selected_by = 'path' DESC LIMIT 1) t WHERE k.cuda_first IS NOT NULL) END",
		"this nvcc cannot compile for these GPUs: another CUDA toolkit is needed",
		"该 nvcc 不能为这些 GPU 编译：需要其他版本的 CUDA toolkit"},
	{"NCCL header", "NCCL 头文件", "SELECT nccl_header FROM toolkit WHERE nccl_header IS NOT NULL LIMIT 1",
		"SELECT CASE WHEN known('toolkit') THEN (SELECT count(*) > 0 FROM toolkit WHERE nccl_header IS NOT NULL) END",
		"no nccl.h: the build fetches and compiles its own NCCL (USE_SYSTEM_NCCL=0)",
		"没有 nccl.h：构建时会自行获取并编译 NCCL（USE_SYSTEM_NCCL=0）"},
	{"NCCL library", "NCCL 库", "SELECT path FROM nccl LIMIT 1",
		"SELECT CASE WHEN known('toolkit') THEN (SELECT max(nccl_shared) FROM toolkit WHERE nccl_header IS NOT NULL) END",
		"only a static NCCL or none; a dynamic build needs libnccl.so", "只有静态 NCCL 或没有；动态构建需要 libnccl.so"},
	{"Python headers", "Python 头文件", "SELECT CASE headers WHEN 1 THEN 'Python.h' END FROM python", "SELECT headers FROM python",
		"install the -dev package of this Python", "请安装该 Python 的 -dev 软件包"},
	{"cmake", "cmake", "SELECT path FROM program WHERE name = 'cmake'", "SELECT path IS NOT NULL FROM program WHERE name = 'cmake'",
		"pip install cmake", "pip install cmake"},
	{"ninja", "ninja", "SELECT path FROM program WHERE name = 'ninja'", "SELECT path IS NOT NULL FROM program WHERE name = 'ninja'",
		"pip install ninja", "pip install ninja"},
	{"PYTHONPATH", "PYTHONPATH", "SELECT coalesce((SELECT value FROM variable WHERE name = 'PYTHONPATH' AND value <> ''), '-')",
		"SELECT CASE WHEN known('variable') THEN NOT EXISTS (SELECT 1 FROM variable WHERE name = 'PYTHONPATH' AND value <> '') END",
		"PYTHONPATH can hide the new build: unset it", "PYTHONPATH 可能遮挡新的构建：请取消设置"},
};

/* Is building the right choice at all? */
static struct plan_check *is_worth_it(struct judge *j, const struct plan *p)
{
	struct plan_check *c = arena_alloc(j->arena, sizeof *c);
	c->what = plan_tr(j, "is it worth it", "是否值得构建");
	c->good = p->best ? PLAN_JIT : PLAN_YES;
	if (p->best) {
		c->found = arena_printf(j->arena, "torch %s %s", p->best->torch, p->best->variant);
		c->says = strcmp(p->best->build, "cuda") == 0
			? plan_tr(j, "this wheel fits and has NCCL: build only for other switches or your own patches",
				  "该 wheel 适用且带 NCCL：仅在需要其他编译选项或自己的补丁时才构建")
			: plan_tr(j, "this wheel fits: build only for other switches or your own patches",
				  "该 wheel 适用：仅在需要其他编译选项或自己的补丁时才构建");
	} else {
		c->found = p->nothing;
	}
	return c;
}

struct plan_check *plan_source_readiness(struct judge *j, const struct plan *p)
{
	struct plan_check *first = is_worth_it(j, p), **tail = &first->next;
	for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
		struct plan_check *c = arena_alloc(j->arena, sizeof *c);
		const char *good = plan_one(j, needs[i].good);
		c->what = plan_tr(j, needs[i].english, needs[i].chinese);
		c->found = plan_one(j, needs[i].found);
		c->good = !good ? PLAN_UNKNOWN : strcmp(good, "0") == 0 ? PLAN_NO : PLAN_YES;
		c->says = c->good == PLAN_YES ? NULL
			: c->good == PLAN_NO  ? plan_tr(j, needs[i].says, needs[i].says_zh)
					      : plan_tr(j, "could not be determined", "无法确定");
		*tail = c;
		tail = &c->next;
	}
	return first;
}

static int64_t number(struct judge *j, const char *sql, int64_t otherwise)
{
	const char *text = plan_one(j, sql);
	int64_t n;
	return text && str_to_int(str_of(text), &n) == 0 ? n : otherwise;
}

/* Where the build finds an NCCL: its include folder and the folder of its shared library. */
struct nccl_place {
	const char *root, *include, *library;
};

static bool find_nccl(struct judge *j, struct nccl_place *ret)
{
	const char *root = plan_one(j, "SELECT path FROM toolkit WHERE nccl_header IS NOT NULL AND nccl_shared LIMIT 1");
	const char *library = plan_one(j, "SELECT path FROM nccl WHERE kind IN ('system', 'toolkit') LIMIT 1"),
		   *slash = library ? strrchr(library, '/') : NULL;
	if (!root)
		return false;
	ret->root = root;
	ret->include = arena_printf(j->arena, "%s/include", root);
	ret->library = slash && slash != library && strncmp(library, root, strlen(root)) == 0
		? arena_strndup(j->arena, library, (size_t)(slash - library))
		: arena_printf(j->arena, "%s/lib64", root);
	return true;
}

/* One nvcc job takes up to 4 GB; the cgroup's share of processors counts as well as the number of them. */
static int64_t jobs(struct judge *j)
{
	int64_t by_memory = number(j, "SELECT min(memory_bytes, coalesce(memory_limit_bytes, memory_bytes)) / 4294967296 FROM system", 4);
	int64_t cores = number(j,
		"SELECT CAST(min(coalesce(cpu_allowed, cpu_count, 4), coalesce(max(1, cpu_quota), cpu_allowed, 4)) AS INTEGER) FROM system",
		4);
	int64_t n = by_memory < cores ? by_memory : cores;
	return n < 1 ? 1 : n;
}

static const char *release_of(struct judge *j, const struct plan *p)
{
	const char *newest = plan_one(j,
		"SELECT torch FROM k_torch_release WHERE confidence <> 'uncertain' AND coalesce(experimental, 0) = 0 AND release_date <= date((SELECT max(release_date) FROM k_torch_release), '-30 days') ORDER BY release_date DESC LIMIT 1");
	return p->best ? p->best->torch : newest ? newest : "2.9.1";
}

const char *const *plan_source_script(struct judge *j, const struct plan *p)
{
	struct plan_list s = {.arena = j->arena};
	struct nccl_place nccl;
	const char *cuda = plan_one(j,
		"SELECT path FROM toolkit WHERE nvcc IS NOT NULL ORDER BY selected_by = 'cuda_home' DESC, selected_by = 'path' DESC LIMIT 1");
	const char *arch = plan_one(j,
		"SELECT group_concat(cc, ';') FROM (SELECT DISTINCT compute_capability AS cc FROM gpu WHERE compute_capability IS NOT NULL ORDER BY cc)");
	const char *python = plan_one(j, "SELECT path FROM python");
	plan_add(&s, "#!/bin/sh");
	plan_add(&s, "# Builds PyTorch with CUDA and NCCL for this machine. Read it before you run it.");
	plan_add(&s, "set -eu");
	plan_add(&s, "%s -m venv ~/torch-build && . ~/torch-build/bin/activate", plan_word(j, python ? python : "python3"));
	plan_add(&s, "git clone --depth 1 --recursive --shallow-submodules --branch v%s https://github.com/pytorch/pytorch ~/pytorch",
		release_of(j, p));
	plan_add(&s, "cd ~/pytorch");
	plan_add(&s, "python -m pip install -r requirements.txt cmake ninja");
	plan_add(&s, "unset PYTHONPATH");
	plan_add(&s, "export CUDA_HOME=%s USE_CUDA=1 USE_NCCL=1 USE_DISTRIBUTED=1", plan_word(j, cuda ? cuda : "/usr/local/cuda"));
	if (find_nccl(j, &nccl)) {
		plan_add(&s, "# The names under which different releases look for NCCL.");
		plan_add(&s, "export USE_SYSTEM_NCCL=1 NCCL_ROOT=%s NCCL_INCLUDE_DIR=%s NCCL_LIB_DIR=%s", plan_word(j, nccl.root),
			plan_word(j, nccl.include), plan_word(j, nccl.library));
	} else {
		plan_add(&s,
			"export USE_SYSTEM_NCCL=0   # no NCCL header with a shared library was found: PyTorch fetches and compiles its own");
		plan_add(&s,
			"# With one of your own: export USE_SYSTEM_NCCL=1 NCCL_ROOT=/usr NCCL_INCLUDE_DIR=/usr/include NCCL_LIB_DIR=/usr/lib/x86_64-linux-gnu");
	}
	if (arch)
		plan_add(&s, "export TORCH_CUDA_ARCH_LIST=%s", plan_word(j, arch));
	else
		plan_add(&s, "# export TORCH_CUDA_ARCH_LIST='9.0'   # compute capability of the GPUs that will run it");
	plan_add(&s, "export MAX_JOBS=%lld   # 4 GB of memory for each", (long long)jobs(j));
	plan_add(&s,
		"if command -v ccache >/dev/null; then export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache; fi");
	plan_add(&s, "python -m pip install --no-build-isolation -v .");
	plan_add(&s,
		"cd / && python -c 'import torch, torch.distributed as d; print(torch.__version__, torch.version.cuda, d.is_nccl_available())'");
	return plan_items(&s);
}
