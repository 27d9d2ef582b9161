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
	else if (str_has(value, "Linux") || str_has(value, "Ubuntu") || str_has(value, "Debian") || str_has(value, "CentOS") || str_has(value, "Rocky"))
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
	/* "(Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0", "Could not collect" */
	size_t close = str_rfind_char(value, ')');
	struct str version = first_word(close == SIZE_MAX ? value : str_skip(value, close + 1));
	if (!read_is_version(version))
		return;
	struct facts_row *row = facts_find(f, compiler__name, name);
	if (!row) {
		row = facts_add(f, TABLE_compiler);
		facts_text(row, compiler__name, name, origin);
	}
	read_fill_str(row, compiler__version, version, origin);
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
	if (!read_is_version(version))
		return;
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

static void gpus_line(struct facts *f, struct str value, const char *origin)
{
	int64_t index;
	struct str name;
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

/* Keys in the order in which reports have them; compared as they stand, without the dashes that lists put in front. */
static const struct {
	const char *key;
	void (*take)(struct facts *f, struct str value, const char *origin);
} keys[] = {
	{"PyTorch version", torch_line}, {"PyTorch", torch_line}, {"torch version", torch_line}, {"Torch version", torch_line}, {"PyTorch version (GPU?)", torch_line},
	{"CUDA used to build PyTorch", cuda_line}, {"torch cuda version", cuda_line}, {"ROCM used to build PyTorch", hip_line}, {"torch hip version", hip_line},
	{"OS", os_line}, {"GCC version", gcc_line}, {"GCC", gcc_line}, {"Clang version", clang_line}, {"Libc version", libc_line},
	{"Python version", python_line}, {"Python", python_line}, {"Python platform", platform_line}, {"Platform", platform_line}, {"Is CUDA available", available_line},
	{"CUDA available", available_line}, {"CUDA runtime version", runtime_line}, {"nvcc version", runtime_line}, {"NVCC", runtime_line}, {"GPU models and configuration", gpus_line}, {"Nvidia driver version", driver_line},
	{"CUDA Driver Version", driver_line}, {"cuDNN version", cudnn_line}, {"torch.cuda.nccl.version()", nccl_line}, {"NCCL version", nccl_line},
	{"GPU 0", NULL}, {"HIP runtime version", NULL}, {"MIOpen runtime version", NULL}, {"Is XNNPACK available", NULL}, {"Is debug build", NULL}, {"CMake version", NULL}, {"CUDA_MODULE_LOADING set to", NULL}, {"Versions of relevant libraries", NULL}, {"CPU", NULL}, {"Architecture", NULL}, {"Model name", NULL},
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
			read_package(f, str_is(name, "pytorch") ? STR("torch") : name, version, str_is(channel, "pypi") ? "pip" : "conda", origin);
		}
		return true;
	}
	return false;
}

static size_t read_report(const struct read_input *in, struct facts *f)
{
	size_t i = 0, last = 0;
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
		if (str_starts(t, "GPU ") && i && str_has(in->line[i - 1].text, "GPU")) {
			gpus_line(f, t, origin);
			last = i;
			continue;
		}
		if (!key_value(line, &key, &value))
			continue;
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

static const char *const triggers[] = {"PyTorch version", "CUDA used to build PyTorch", "Nvidia driver version", "CUDA runtime version", "[pip3] ", "[conda] ", "torch version ....", "torch cuda version", "Is CUDA available", "GPU models and configuration", "Python platform:", NULL};
const struct reader read_collect_env = {"collect_env", triggers, read_report};
