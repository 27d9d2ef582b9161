/* torch.__config__.show(), alone or inside the report of mmengine: "- CUDA Runtime 12.8", "- NVCC architecture flags: …", "- Build
 * settings: …, TORCH_VERSION=2.7.1, USE_CUDA=ON, …". Switches stand also in the output of CMake: "--   USE_NCCL              : OFF". */
#include "read/fill.h"
#include "read/read.h"

/* The value of NAME=value or "NAME : value"; empty when the line has none. */
static struct str setting(struct str line, const char *name)
{
	size_t n = strlen(name), end = 0;
	for (size_t at = str_find(line, name, 0); at != SIZE_MAX; at = str_find(line, name, at + n)) {
		struct str rest = str_skip(line, at + n);
		bool apart = at == 0 || strchr(" ,;-", line.ptr[at - 1]);
		if (!apart || !rest.len || !strchr("= :", rest.ptr[0]))
			continue;
		while (rest.len && strchr("= :", rest.ptr[0]))
			rest = str_skip(rest, 1);
		while (end < rest.len && rest.ptr[end] != ',' && rest.ptr[end] != ' ')
			end++;
		return str_slice(rest, 0, end);
	}
	return str_n("", 0);
}

static bool is_on(struct str v)
{
	return str_is(v, "ON") || str_is(v, "1");
}

static bool is_off(struct str v)
{
	return str_is(v, "OFF") || str_is(v, "0");
}

/* What it was built for: which of the switches is on, and CPU when all that are told are off. */
static void take_build(struct facts_row *torch, struct str line, const char *origin)
{
	struct str cuda = setting(line, "USE_CUDA"), rocm = setting(line, "USE_ROCM"), xpu = setting(line, "USE_XPU");
	if (is_on(cuda))
		read_fill_str(torch, torch__build, STR("cuda"), origin);
	else if (is_on(rocm))
		read_fill_str(torch, torch__build, STR("rocm"), origin);
	else if (is_on(xpu))
		read_fill_str(torch, torch__build, STR("xpu"), origin);
	else if (is_off(cuda) && is_off(rocm))
		read_fill_str(torch, torch__build, STR("cpu"), origin);
}

static bool take_settings(struct facts *f, struct str line, const char *origin)
{
	static const struct {
		const char *name;
		enum facts_column column;
	} switches[] = {{"USE_NCCL", torch__nccl_built}, {"USE_GLOO", torch__gloo_built}, {"USE_MPI", torch__mpi_built},
		{"USE_XCCL", torch__xccl_built}, {"USE_DISTRIBUTED", torch__distributed_built},
		{"_GLIBCXX_USE_CXX11_ABI", torch__cxx11_abi}};
	bool any = false;
	for (size_t k = 0; k < sizeof switches / sizeof switches[0]; k++) {
		struct str value = setting(line, switches[k].name);
		if (switches[k].column == torch__cxx11_abi) {
			size_t at = str_find(line, "-D_GLIBCXX_USE_CXX11_ABI=", 0);
			value = at == SIZE_MAX ? value : str_slice(line, at + 25, at + 26);
		}
		if (!is_on(value) && !is_off(value))
			continue;
		read_fill_bool(facts_only(f, TABLE_torch), switches[k].column, is_on(value), origin);
		any = true;
	}
	if (str_has(line, "BUILD_TYPE="))
		take_build(facts_only(f, TABLE_torch), line, origin);
	struct str version = setting(line, "TORCH_VERSION");
	if (str_has(version, "."))
		read_torch_version(f, version, origin);
	return any;
}

/* "-gencode;arch=compute_80,code=sm_80;-gencode;arch=compute_120,code=compute_120" → "sm_80 compute_120" */
static void take_architectures(struct facts *f, struct str line, const char *origin)
{
	struct buf list = BUF_MAX(1024);
	for (size_t at = str_find(line, "code=", 0); at != SIZE_MAX; at = str_find(line, "code=", at + 5)) {
		struct str code = str_skip(line, at + 5);
		size_t end = 0;
		if (at == 0 || line.ptr[at - 1] != ',')
			continue;
		while (end < code.len &&
			((code.ptr[end] >= 'a' && code.ptr[end] <= 'z') || (code.ptr[end] >= '0' && code.ptr[end] <= '9') ||
				code.ptr[end] == '_'))
			end++;
		buf_fmt(&list, "%s%.*s", list.len ? " " : "", (int)end, code.ptr);
	}
	if (list.len)
		read_fill_str(facts_only(f, TABLE_torch), torch__arch_list, buf_view(&list), origin);
	buf_free(&list);
}

bool read_torch_config_line(struct facts *f, struct str line, const char *origin)
{
	struct str t = str_trim(line);
	if (str_starts(t, "- CUDA Runtime ")) {
		read_torch_cuda(f, str_trim(str_skip(t, 15)), origin);
	} else if (str_starts(t, "- HIP Runtime ")) {
		struct str version = str_trim(str_skip(t, 14));
		if (read_is_version(version))
			read_fill_str(facts_only(f, TABLE_torch), torch__hip, version, origin);
		read_fill_str(facts_only(f, TABLE_torch), torch__build, STR("rocm"), origin);
	} else if (str_starts(t, "- NVCC architecture flags")) {
		take_architectures(f, t, origin);
	} else if (!take_settings(f, t, origin)) {
		return str_starts(t, "- ") &&
			(str_has(t, "GCC ") || str_has(t, "C++ Version") || str_has(t, "CuDNN") || str_has(t, "Magma"));
	}
	return true;
}

static size_t read_config(const struct read_input *in, struct facts *f)
{
	size_t i = 0, last = 0;
	struct str command;
	for (; i < in->count && i <= last + 4; i++) {
		if (i && read_prompt(in->line[i].text, &command))
			break;
		if (read_torch_config_line(f, in->line[i].text, read_origin(f, in, i)))
			last = i + 1;
	}
	return last;
}

static const char *const triggers[] = {
	"- CUDA Runtime ", "- HIP Runtime ", "- NVCC architecture flags", "USE_NCCL", "USE_DISTRIBUTED", "- Build settings:", NULL};
const struct reader read_torch_config_reader = {"torch.__config__", triggers, read_config};
