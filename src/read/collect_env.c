/* The environment reports of PyTorch, vLLM, SGLang, mmengine, DeepSpeed (ds_report), accelerate and transformers: lines "key: value". */
#include "read/fill.h"
#include "read/read.h"

static struct str first_word(struct str s)
{
	s = str_trim(s);
	return str_slice(s, 0, str_find_char(s, ' ', 0));
}

static void os_line(struct facts *f, struct str value, const char *origin)
{
	struct facts_row *row = facts_only(f, TABLE_system);
	read_fill_str(row, system__os_name, value, origin);
	if (str_has(value, "Windows"))
		read_fill_str(row, system__platform, STR("windows"), origin);
	else if (str_has(value, "macOS") || str_has(value, "Mac OS"))
		read_fill_str(row, system__platform, STR("macos"), origin);
	else if (str_has(value, "Linux") || str_has(value, "Ubuntu") || str_has(value, "Debian") || str_has(value, "CentOS") ||
		str_has(value, "Rocky"))
		read_fill_str(row, system__platform, STR("linux"), origin);
}

static void platform_line(struct facts *f, struct str value, const char *origin)
{
	struct facts_row *row = facts_only(f, TABLE_system);
	if (str_starts(value, "Windows"))
		read_fill_str(row, system__platform, STR("windows"), origin);
	else if (str_starts(value, "macOS"))
		read_fill_str(row, system__platform, STR("macos"), origin);
	else if (str_has(value, "microsoft") || str_has(value, "WSL2"))
		read_fill_str(row, system__platform, STR("wsl2"), origin);
	else if (str_starts(value, "Linux"))
		read_fill_str(row, system__platform, STR("linux"), origin);
	struct str release = str_starts(value, "Linux-") ? str_skip(value, 6) : str_n("", 0);
	size_t machine = str_find(release, "-x86_64", 0), arm = str_find(release, "-aarch64", 0);
	release = str_slice(release, 0, machine < arm ? machine : arm);
	if ((machine != SIZE_MAX || arm != SIZE_MAX) && read_is_version(release))
		read_fill_str(row, system__kernel, release, origin);
	size_t glibc = str_find(value, "glibc", 0);
	if (glibc != SIZE_MAX)
		read_fill_str(row, system__libc_version, str_skip(value, glibc + 5), origin);
	if (str_has(value, "aarch64") || str_has(value, "arm64"))
		read_fill_str(row, system__arch, STR("aarch64"), origin);
	else if (str_has(value, "x86_64"))
		read_fill_str(row, system__arch, STR("x86_64"), origin);
}

static void compiler(struct facts *f, const char *name, struct str value, const char *origin)
{
	/* "(Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0", "(GCC) 4.8.5 20150623 (Red Hat 4.8.5-44)", mmengine: "gcc (Ubuntu …) 9.4.0"; "Could not
	 * collect" */
	if (str_starts(value, "gcc "))
		value = str_skip(value, 4);
	struct str version = first_word(read_after_parentheses(value));
	if (read_is_version(version))
		read_fill_str(read_compiler(f, name), compiler__version, version, origin);
}

static void cudnn_line(struct facts *f, struct str value, const char *origin)
{
	size_t at = str_find(value, "libcudnn.so.", 0);
	if (at != SIZE_MAX)
		read_package(f, STR("cudnn (system)"), first_word(str_skip(value, at + 12)), NULL, origin);
}

static void runtime_line(struct facts *f, struct str value, const char *origin)
{
	struct str version = first_word(value);
	size_t release = str_find(value, "release ", 0); /* mmengine, SGLang: "Cuda compilation tools, release 12.1, V12.1.105" */
	if (release != SIZE_MAX) {
		version = str_skip(value, release + 8);
		version = str_slice(version, 0, str_find_char(version, ',', 0));
	}
	if (!read_is_version(version))
		return;
	size_t dot = str_find_char(version, '.', 0);
	if (dot != SIZE_MAX)
		version = str_slice(version, 0, str_find_char(version, '.', dot + 1)); /* 12.1.105 is toolkit 12.1 */
	struct facts_row *row = facts_find(f, toolkit__selected_by, "report");
	if (!row) {
		row = facts_add(f, TABLE_toolkit);
		facts_text(row, toolkit__selected_by, "report", origin);
	}
	read_fill_str(row, toolkit__version, version, origin);
}

static void driver_line(struct facts *f, struct str value, const char *origin)
{
	struct str version = first_word(value);
	if (read_is_version(version)) {
		struct facts_row *row = read_driver(f, "nvidia");
		read_fill_str(row, driver__version, version, origin);
		read_fill_bool(row, driver__loaded, true, origin);
	}
}

/* "AMD Instinct MI300X (gfx942:sramecc+:xnack-)": of ROCm builds, without a number. */
static void amd_gpu(struct facts *f, struct str value, const char *origin)
{
	size_t open = str_find(value, " (gfx", 0);
	struct str gfx = open == SIZE_MAX ? str_n("", 0) : str_skip(value, open + 2);
	size_t end = 0;
	while (end < gfx.len && gfx.ptr[end] != ':' && gfx.ptr[end] != ')')
		end++;
	if (!gfx.len || f->first[TABLE_gpu])
		return;
	struct facts_row *row = read_gpu(f, 0, "amd");
	read_fill_str(row, gpu__name, str_slice(value, 0, open), origin);
	read_fill_str(row, gpu__gfx, str_slice(gfx, 0, end), origin);
}

static void gpus_line(struct facts *f, struct str value, const char *origin)
{
	int64_t index;
	struct str name;
	amd_gpu(f, value, origin);
	if (str_starts(value, "GPU ") && str_split(str_skip(value, 4), ':', &value, &name) && str_to_int(value, &index) == 0)
		read_fill_str(read_gpu(f, index, "nvidia"), gpu__name, name, origin);
}

static void available_line(struct facts *f, struct str value, const char *origin)
{
	bool b;
	if (read_truth(first_word(value), &b))
		read_fill_bool(facts_only(f, TABLE_torch), torch__cuda_available, b, origin);
}

static void hip_line(struct facts *f, struct str value, const char *origin)
{
	struct facts_row *row = facts_only(f, TABLE_torch);
	if (read_is_version(first_word(value))) {
		read_fill_str(row, torch__hip, first_word(value), origin);
		read_fill_str(row, torch__build, STR("rocm"), origin);
	}
}

static void cuda_line(struct facts *f, struct str value, const char *origin)
{
	if (str_is(value, "None") || str_is(value, "Could not collect") || str_is(value, "N/A")) {
		/* "None" is said by every build without CUDA, ROCm's too. */
		if (str_is(value, "None"))
			facts_gap(facts_only(f, TABLE_torch), torch__cuda, GAP_ABSENT, origin, NULL);
		return;
	}
	read_torch_cuda(f, first_word(value), origin);
}

static void python_line(struct facts *f, struct str value, const char *origin)
{
	if (read_is_version(first_word(value)))
		read_fill_str(facts_only(f, TABLE_python), python__version, first_word(value), origin);
}

static void torch_line(struct facts *f, struct str value, const char *origin)
{
	struct str version = first_word(value), rest = str_skip(value, version.len);
	read_torch_version(f, version, origin);
	/* transformers: "2.4.0+cu121 (True)"; accelerate: "2.1.0 (True)": CUDA available. */
	size_t open = str_find_char(rest, '(', 0);
	bool b;
	if (open != SIZE_MAX && read_truth(str_slice(rest, open + 1, str_find_char(rest, ')', open)), &b))
		read_fill_bool(facts_only(f, TABLE_torch), torch__cuda_available, b, origin);
}

/* lscpu, which collect_env prints too. */
static void cpus_line(struct facts *f, struct str value, const char *origin)
{
	int64_t n;
	if (str_to_int(value, &n) == 0 && n > 0 && n < 100000)
		read_fill_int(facts_only(f, TABLE_system), system__cpu_count, n, origin);
}

static void cpu_model_line(struct facts *f, struct str value, const char *origin)
{
	if (value.len < 100)
		read_fill_str(facts_only(f, TABLE_system), system__cpu_model, value, origin);
}

static void numa_line(struct facts *f, struct str value, const char *origin)
{
	int64_t n;
	if (str_to_int(value, &n) == 0 && n > 0 && n < 1024)
		read_fill_int(facts_only(f, TABLE_system), system__numa_nodes, n, origin);
}

static void arch_line(struct facts *f, struct str value, const char *origin)
{
	if (str_is(value, "x86_64") || str_is(value, "aarch64") || str_is(value, "ppc64le"))
		read_fill_str(facts_only(f, TABLE_system), system__arch, value, origin);
}

static void gcc_line(struct facts *f, struct str value, const char *origin)
{
	compiler(f, "gcc", value, origin);
}

static void clang_line(struct facts *f, struct str value, const char *origin)
{
	compiler(f, "clang", value, origin);
}

static void libc_line(struct facts *f, struct str value, const char *origin)
{
	if (str_starts(value, "glibc-"))
		read_fill_str(facts_only(f, TABLE_system), system__libc_version, str_skip(value, 6), origin);
}

static void nccl_line(struct facts *f, struct str value, const char *origin)
{
	struct str version = first_word(value);
	if (read_is_version(version))
		read_fill_str(facts_only(f, TABLE_torch), torch__nccl_version, version, origin);
}

static void package_key(struct facts *f, const char *name, struct str value, const char *origin)
{
	struct str version = first_word(value);
	while (version.len && version.ptr[version.len - 1] == ',')
		version.len--;
	if (read_is_version(version))
		read_package(f, str_of(name), version, NULL, origin);
}

#define PACKAGE_KEY(function, name) \
	static void function(struct facts *f, struct str value, const char *origin) \
	{ \
		package_key(f, name, value, origin); \
	}
PACKAGE_KEY(torchvision_line, "torchvision")
PACKAGE_KEY(torchaudio_line, "torchaudio")
PACKAGE_KEY(accelerate_line, "accelerate")
PACKAGE_KEY(transformers_line, "transformers")
PACKAGE_KEY(numpy_line, "numpy")
PACKAGE_KEY(deepspeed_line, "deepspeed")
PACKAGE_KEY(vllm_line, "vllm")
PACKAGE_KEY(sglang_line, "sglang")
PACKAGE_KEY(flashinfer_line, "flashinfer")
PACKAGE_KEY(triton_line, "triton")
PACKAGE_KEY(mmengine_line, "mmengine")

/* ds_report: ['/opt/conda/lib/python3.10/site-packages/torch'] */
static void install_path(struct facts *f, struct str value, const char *origin)
{
	size_t open = str_find(value, "['", 0), close = str_find(value, "']", 0);
	if (open != SIZE_MAX && close != SIZE_MAX && close > open)
		read_fill_str(facts_only(f, TABLE_torch), torch__location, str_slice(value, open + 2, close), origin);
}

/* ds_report: "64.00 MB", "503.76 GB" */
static void shm_line(struct facts *f, struct str value, const char *origin)
{
	int64_t n;
	if (read_size(value, 1, &n) && n > 0)
		read_fill_int(read_mount(f, STR("/dev/shm")), mount__size_bytes, n, origin);
}

/* accelerate names the GPU without a number. */
static void gpu_type_line(struct facts *f, struct str value, const char *origin)
{
	if (value.len && value.len < 80 && !str_is(value, "None") && !f->first[TABLE_gpu])
		read_fill_str(read_gpu(f, 0,
				      str_has(value, "AMD")                 ? "amd"
					      : str_starts(value, "Intel")  ? "intel"
					      : str_starts(value, "Ascend") ? "ascend"
									    : "nvidia"),
			gpu__name, value, origin);
}

static void ulimit_soft(struct facts *f, struct str value, const char *origin)
{
	int64_t n;
	if (str_to_int(value, &n) < 0 || n <= 0 || facts_find(f, limit__name, "nofile"))
		return;
	struct facts_row *row = facts_add(f, TABLE_limit);
	facts_text(row, limit__name, "nofile", origin);
	facts_bool(row, limit__soft_unlimited, false, origin);
	facts_int(row, limit__soft, n, origin);
}

/* "GPU 0,1,2,3: NVIDIA GeForce RTX 4090" (mmengine, SGLang), "GPU 0,1 Compute Capability: 8.9" */
static bool gpu_group_line(struct facts *f, struct str t, const char *origin)
{
	size_t colon = str_find_char(t, ':', 0);
	struct str numbers = str_slice(t, 4, colon), number, value = colon == SIZE_MAX ? str_n("", 0) : str_trim(str_skip(t, colon + 1));
	int64_t index, major, minor;
	if (!str_starts(t, "GPU ") || !value.len)
		return false;
	bool capability = str_ends(numbers, " Compute Capability");
	if (capability)
		numbers = str_slice(numbers, 0, numbers.len - 19);
	if (!str_has(numbers, ",") && !capability)
		return false;
	while (str_next_field(&numbers, ',', &number)) {
		if (str_to_int(str_trim(number), &index) < 0 || index < 0 || index > 1023)
			return false;
		struct facts_row *row = read_gpu(f, index, "nvidia");
		size_t dot = str_find_char(value, '.', 0);
		if (!capability)
			read_fill_str(row, gpu__name, value, origin);
		else if (dot != SIZE_MAX && str_to_int(str_slice(value, 0, dot), &major) == 0 &&
			str_to_int(str_skip(value, dot + 1), &minor) == 0)
			read_fill_str(row, gpu__compute_capability, value, origin);
	}
	return true;
}

/* Keys in the order in which reports have them; compared as they stand, without the dashes that lists put in front. */
static const struct {
	const char *key;
	void (*take)(struct facts *f, struct str value, const char *origin);
} keys[] = {
	{"PyTorch version", torch_line},
	{"PyTorch", torch_line},
	{"torch version", torch_line},
	{"Torch version", torch_line},
	{"PyTorch version (GPU?)", torch_line},
	{"CUDA used to build PyTorch", cuda_line},
	{"torch cuda version", cuda_line},
	{"ROCM used to build PyTorch", hip_line},
	{"torch hip version", hip_line},
	{"OS", os_line},
	{"GCC version", gcc_line},
	{"GCC", gcc_line},
	{"Clang version", clang_line},
	{"Libc version", libc_line},
	{"Python version", python_line},
	{"Python", python_line},
	{"Python platform", platform_line},
	{"Platform", platform_line},
	{"Is CUDA available", available_line},
	{"CUDA available", available_line},
	{"CUDA runtime version", runtime_line},
	{"nvcc version", runtime_line},
	{"NVCC", runtime_line},
	{"GPU models and configuration", gpus_line},
	{"Nvidia driver version", driver_line},
	{"CUDA Driver Version", driver_line},
	{"cuDNN version", cudnn_line},
	{"torch.cuda.nccl.version()", nccl_line},
	{"NCCL version", nccl_line},
	{"TorchVision", torchvision_line},
	{"Accelerate version", accelerate_line},
	{"transformers version", transformers_line},
	{"Numpy version", numpy_line},
	{"deepspeed info", deepspeed_line},
	{"vLLM Version", vllm_line},
	{"sglang", sglang_line},
	{"flashinfer", flashinfer_line},
	{"triton", triton_line},
	{"transformers", transformers_line},
	{"torchaudio", torchaudio_line},
	{"torchvision", torchvision_line},
	{"vllm", vllm_line},
	{"MMEngine", mmengine_line},
	{"torch install path", install_path},
	{"shared memory (/dev/shm) size", shm_line},
	{"GPU type", gpu_type_line},
	{"nccl version", nccl_line},
	{"ulimit soft", ulimit_soft},
	{"GPU 0", NULL},
	{"HIP runtime version", NULL},
	{"MIOpen runtime version", NULL},
	{"Is XNNPACK available", NULL},
	{"Is debug build", NULL},
	{"CMake version", NULL},
	{"CUDA_MODULE_LOADING set to", NULL},
	{"Versions of relevant libraries", NULL},
	{"CPU", NULL},
	{"CPU(s)", cpus_line},
	{"Architecture", arch_line},
	{"Model name", cpu_model_line},
	{"NUMA node(s)", numa_line},
};

/* "- `Accelerate` version: 0.30", "  - PyTorch version (GPU?): …", "torch version .................... 2.1.0" */
static bool key_value(struct str line, struct str *ret_key, struct str *ret_value)
{
	struct str t = str_trim(line);
	while (t.len && (t.ptr[0] == '-' || t.ptr[0] == '*' || t.ptr[0] == ' '))
		t = str_skip(t, 1);
	size_t dots = str_find(t, " ....", 0);
	if (dots != SIZE_MAX) {
		size_t end = dots + 1;
		while (end < t.len && t.ptr[end] == '.')
			end++;
		*ret_key = str_slice(t, 0, dots);
		*ret_value = str_trim(str_skip(t, end));
		return true;
	}
	return str_split(t, ':', ret_key, ret_value);
}

/* "`Accelerate` version" → "Accelerate version" */
static struct str without_ticks(struct facts *f, struct str key)
{
	char *out;
	size_t n = 0;
	if (str_find_char(key, '`', 0) == SIZE_MAX || key.len > 80)
		return key;
	out = arena_alloc(f->arena, key.len + 1);
	for (size_t i = 0; i < key.len; i++)
		if (key.ptr[i] != '`')
			out[n++] = key.ptr[i];
	return str_n(out, n);
}

/* "[pip3] torch==2.4.0", "[conda] pytorch  2.0.1  py3.10_cuda11.8_cudnn8.7.0_0  pytorch" */
static bool package_line(struct facts *f, struct str line, const char *origin)
{
	struct str t = str_trim(line), name, version;
	if (str_starts(t, "[pip3] ") || str_starts(t, "[pip] ")) {
		t = str_trim(str_skip(t, str_find_char(t, ']', 0) + 1));
		size_t eq = str_find(t, "==", 0);
		if (eq != SIZE_MAX)
			read_package(f, str_slice(t, 0, eq), first_word(str_skip(t, eq + 2)), "pip", origin);
		return true;
	}
	if (str_starts(t, "[conda] ")) {
		t = str_skip(t, 8);
		if (str_next_word(&t, &name) && str_next_word(&t, &version) && read_is_version(version)) {
			struct str build = {0}, channel = {0};
			str_next_word(&t, &build);
			str_next_word(&t, &channel);
			bool pip = str_is(channel, "pypi") || str_is(build, "pypi_0");
			struct facts_row *row = read_package(
				f, str_is(name, "pytorch") ? STR("torch") : name, version, pip ? "pip" : "conda", origin);
			/* pip lists what conda installed, too. */
			const char *same = facts_get_text(row, package__version);
			if (!pip && same && str_is(version, same))
				facts_text(row, package__installer, "conda", origin);
		}
		return true;
	}
	return false;
}

/* "OS : Ubuntu …" of vLLM and "Python: 3.10.12 …" of SGLang and mmengine stand above the first line that nobody else prints. */
static void lines_before(const struct read_input *in, struct facts *f)
{
	struct str key, value;
	for (size_t b = 0; b < 3; b++)
		if (str_split(str_trim(in->before[b]), ':', &key, &value)) {
			const char *origin = in->line[0].number > b + 1
				? arena_printf(f->arena, "%s:%zu", in->file, in->line[0].number - b - 1)
				: NULL;
			if (str_is(key, "OS"))
				os_line(f, value, origin);
			else if (str_is(key, "Python"))
				python_line(f, value, origin);
		}
}

static size_t read_report(const struct read_input *in, struct facts *f)
{
	size_t i = 0, last = 0;
	lines_before(in, f);
	for (; i < in->count && i < 2000 && i <= last + 60; i++) {
		struct str line = in->line[i].text, key, value, command;
		const char *origin = read_origin(f, in, i);
		if (read_prompt(line, &command))
			break;
		if (package_line(f, line, origin)) {
			last = i;
			continue;
		}
		struct str t = str_trim(line);
		if (str_starts(t, "GPU0"))
			break; /* nvidia-smi topo -m, which has its own reader */
		if (str_starts(t, "GPU ") && i && str_has(in->line[i - 1].text, "GPU")) {
			gpus_line(f, t, origin);
			last = i;
			continue;
		}
		if (gpu_group_line(f, t, origin) || read_torch_config_line(f, t, origin)) {
			last = i;
			continue;
		}
		if (!key_value(line, &key, &value))
			continue;
		key = without_ticks(f, key);
		for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
			if (!str_is(key, keys[k].key))
				continue;
			if (keys[k].take)
				keys[k].take(f, value, origin);
			last = i;
		}
	}
	return last + 1;
}

static const char *const triggers[] = {"PyTorch version", "CUDA used to build PyTorch", "Nvidia driver version", "CUDA runtime version",
	"[pip3] ", "[conda] ", "torch version ....", "torch cuda version", "Is CUDA available", "GPU models and configuration",
	"Python platform:", "`Accelerate` version:", "`transformers` version:", "torch install path",
	"CUDA available: ", "ulimit soft: ", "GCC version", "NUMA node(s):", NULL};
const struct reader read_collect_env = {"collect_env", triggers, read_report};
