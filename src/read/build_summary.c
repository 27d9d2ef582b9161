/* The summary of PyTorch's own configuration with CMake: "--   USE_NCCL              : OFF" and its neighbours. */
#include "read/fill.h"
#include "read/read.h"

struct summary {
	struct str version, cuda, compiler, compiler_id, compiler_version;
	bool use_cuda, has_cuda, use_rocm;
	size_t line;
};

/* "--   USE_NCCL : OFF" → key and value */
static bool entry(struct str line, struct str *ret_key, struct str *ret_value)
{
	struct str t = str_trim(line);
	if (!str_starts(t, "-- "))
		return false;
	return str_split(str_trim(str_skip(t, 3)), ':', ret_key, ret_value);
}

static bool is_on(struct str v)
{
	return str_is(v, "ON") || str_is(v, "1") || str_is(v, "TRUE") || str_is(v, "True");
}

static bool is_off(struct str v)
{
	return str_is(v, "OFF") || str_is(v, "0") || str_is(v, "FALSE") || str_is(v, "False");
}

static void take(struct summary *s, struct facts *f, struct str key, struct str value, const char *origin)
{
	static const struct {
		const char *name;
		enum facts_column column;
	} switches[] = {{"USE_NCCL", torch__nccl_built}, {"USE_GLOO", torch__gloo_built}, {"USE_MPI", torch__mpi_built},
		{"USE_DISTRIBUTED", torch__distributed_built}};
	for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++)
		if (str_is(key, switches[i].name) && (is_on(value) || is_off(value)))
			read_fill_bool(facts_only(f, TABLE_torch), switches[i].column, is_on(value), origin);
	if (str_is(key, "TORCH_VERSION"))
		s->version = value;
	else if (str_is(key, "USE_CUDA")) {
		s->has_cuda = is_on(value) || is_off(value);
		s->use_cuda = is_on(value);
	} else if (str_is(key, "USE_ROCM"))
		s->use_rocm = is_on(value);
	else if (str_is(key, "CUDA version"))
		s->cuda = value;
	else if (str_is(key, "C++ compiler id"))
		s->compiler_id = value;
	else if (str_is(key, "C++ compiler version"))
		s->compiler_version = value;
	else if (str_is(key, "Python version") && read_is_version(value))
		read_fill_str(facts_only(f, TABLE_python), python__version, value, origin);
}

static size_t read_summary(const struct read_input *in, struct facts *f)
{
	struct summary s = {.line = 0};
	size_t i = 0, last = 0;
	struct str key, value;
	if (!entry(in->line[0].text, &key, &value))
		return 0;
	for (; i < in->count && i < last + 8; i++)
		if (entry(in->line[i].text, &key, &value)) {
			take(&s, f, key, value, read_origin(f, in, i));
			last = i + 1;
		}
	const char *origin = read_origin(f, in, 0);
	if (!s.version.len)
		return last;
	struct facts_row *torch = facts_only(f, TABLE_torch);
	read_torch_version(f, s.version, origin);
	read_fill_str(torch, torch__installer, STR("source"), origin);
	if (s.use_cuda && read_is_version(s.cuda))
		read_torch_cuda(f, s.cuda, origin);
	else if (s.has_cuda && !s.use_cuda && !s.use_rocm)
		read_fill_str(torch, torch__build, STR("cpu"), origin);
	if (str_is(s.compiler_id, "GNU") && read_is_version(s.compiler_version))
		read_fill_str(read_compiler(f, "g++"), compiler__version, s.compiler_version, origin);
	return last;
}

static const char *const summary_triggers[] = {"C++ compiler id", "TORCH_VERSION  ", NULL};
const struct reader read_build_summary_reader = {"cmake", summary_triggers, read_summary};
