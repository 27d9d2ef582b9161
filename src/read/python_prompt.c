/* Answers of Python: `python -c "import torch; print(torch.__version__, torch.version.cuda)"` and `>>> torch.cuda.is_available()`.
 *
 * The printed expressions of a command are taken in order and paired with the words of the output.
 */
#include "read/fill.h"
#include "read/read.h"

#define EXPRESSIONS_MAX 16

typedef void take_fn(struct facts *f, struct str value, const char *origin);

static struct str unquoted(struct str v)
{
	v = str_trim(v);
	if (v.len >= 2 && (v.ptr[0] == '\'' || v.ptr[0] == '"') && v.ptr[v.len - 1] == v.ptr[0])
		return str_slice(v, 1, v.len - 1);
	return v;
}

static void take_version(struct facts *f, struct str v, const char *origin)
{
	read_torch_version(f, unquoted(v), origin);
}

static void take_cuda(struct facts *f, struct str v, const char *origin)
{
	read_torch_cuda(f, unquoted(v), origin);
}

static void take_hip(struct facts *f, struct str v, const char *origin)
{
	struct facts_row *torch = facts_only(f, TABLE_torch);
	v = unquoted(v);
	if (str_is(v, "None")) {
		facts_gap(torch, torch__hip, GAP_ABSENT, origin, NULL);
	} else if (read_is_version(v)) {
		read_fill_str(torch, torch__hip, v, origin);
		read_fill_str(torch, torch__build, STR("rocm"), origin);
	}
}

static void take_truth(struct facts *f, struct str v, const char *origin, enum facts_column column)
{
	bool b;
	if (read_truth(v, &b))
		read_fill_bool(facts_only(f, TABLE_torch), column, b, origin);
}

static void take_available(struct facts *f, struct str v, const char *origin)
{
	take_truth(f, v, origin, torch__cuda_available);
}

static void take_nccl(struct facts *f, struct str v, const char *origin)
{
	take_truth(f, v, origin, torch__nccl_built);
}

static void take_gloo(struct facts *f, struct str v, const char *origin)
{
	take_truth(f, v, origin, torch__gloo_built);
}

static void take_mpi(struct facts *f, struct str v, const char *origin)
{
	take_truth(f, v, origin, torch__mpi_built);
}

static void take_distributed(struct facts *f, struct str v, const char *origin)
{
	take_truth(f, v, origin, torch__distributed_built);
}

static void take_abi(struct facts *f, struct str v, const char *origin)
{
	take_truth(f, v, origin, torch__cxx11_abi);
}

/* (2, 18, 5) */
static void take_nccl_version(struct facts *f, struct str v, const char *origin)
{
	struct buf b = BUF_MAX(64);
	for (size_t i = 0; i < v.len; i++)
		if ((v.ptr[i] >= '0' && v.ptr[i] <= '9') || v.ptr[i] == '.')
			buf_char(&b, v.ptr[i]);
		else if (v.ptr[i] == ',' && b.len)
			buf_char(&b, '.');
	if (b.len && read_is_version(buf_view(&b)))
		read_fill_str(facts_only(f, TABLE_torch), torch__nccl_version, buf_view(&b), origin);
	buf_free(&b);
}

/* ['sm_50', 'sm_60'] */
static void take_arch(struct facts *f, struct str v, const char *origin)
{
	struct buf b = BUF_MAX(1024);
	for (size_t i = 0; i < v.len; i++) {
		char c = v.ptr[i];
		if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')
			buf_char(&b, c);
		else if (b.len && b.ptr[b.len - 1] != ' ')
			buf_char(&b, ' ');
	}
	struct str list = str_trim(buf_view(&b));
	if (str_starts(list, "sm_") || str_starts(list, "compute_") || str_starts(list, "gfx"))
		read_fill_str(facts_only(f, TABLE_torch), torch__arch_list, list, origin);
	buf_free(&b);
}

/* (9, 0) */
static void take_capability(struct facts *f, struct str v, const char *origin)
{
	int64_t a = -1, b = -1;
	struct str left, right;
	if (v.len < 5 || v.ptr[0] != '(' || !str_split(str_slice(v, 1, v.len - 1), ',', &left, &right) || str_to_int(left, &a) < 0 ||
		str_to_int(right, &b) < 0 || a < 1 || a > 30 || b < 0 || b > 9)
		return;
	struct facts_row *gpu = read_gpu(f, 0, "nvidia");
	read_fill_str(gpu, gpu__compute_capability, str_of(arena_printf(f->arena, "%lld.%lld", (long long)a, (long long)b)), origin);
	read_fill_int(gpu, gpu__cc, a * 10 + b, origin);
}

static void take_gpu_name(struct facts *f, struct str v, const char *origin)
{
	v = unquoted(v);
	if (v.len > 2 && v.len < 80)
		read_fill_str(read_gpu(f, 0,
				      str_starts(v, "AMD")             ? "amd"
					      : str_starts(v, "Intel") ? "intel"
								       : "nvidia"),
			gpu__name, v, origin);
}

static void take_numpy(struct facts *f, struct str v, const char *origin)
{
	v = unquoted(v);
	if (read_is_version(v))
		read_package(f, STR("numpy"), v, NULL, origin);
}

static void take_torchvision(struct facts *f, struct str v, const char *origin)
{
	v = unquoted(v);
	if (read_is_version(v))
		read_package(f, STR("torchvision"), v, NULL, origin);
}

static void take_torch_file(struct facts *f, struct str v, const char *origin)
{
	v = unquoted(v);
	size_t end = str_find(v, "/__init__.py", 0);
	if (end != SIZE_MAX)
		read_fill_str(facts_only(f, TABLE_torch), torch__location, str_slice(v, 0, end), origin);
}

static void take_executable(struct facts *f, struct str v, const char *origin)
{
	v = unquoted(v);
	if (v.len && v.ptr[0] == '/')
		read_fill_str(facts_only(f, TABLE_python), python__path, v, origin);
}

static const struct {
	const char *text;
	bool list; /* its value has blanks inside brackets */
	take_fn *take;
} known[] = {
	{"torch.__version__", false, take_version},
	{"torch.version.__version__", false, take_version},
	{"torch.version.cuda", false, take_cuda},
	{"torch.version.hip", false, take_hip},
	{"is_nccl_available()", false, take_nccl},
	{"is_gloo_available()", false, take_gloo},
	{"is_mpi_available()", false, take_mpi},
	{"torch.distributed.is_available()", false, take_distributed},
	{"dist.is_available()", false, take_distributed},
	{"d.is_available()", false, take_distributed},
	{"torch.cuda.is_available()", false, take_available},
	{"compiled_with_cxx11_abi()", false, take_abi},
	{"nccl.version()", true, take_nccl_version},
	{"get_arch_list()", true, take_arch},
	{"get_device_capability(", true, take_capability},
	{"get_device_name(", false, take_gpu_name},
	{"np.__version__", false, take_numpy},
	{"numpy.__version__", false, take_numpy},
	{"torchvision.__version__", false, take_torchvision},
	{"torch.__file__", false, take_torch_file},
	{"sys.executable", false, take_executable},
};

struct expression {
	struct str text;
	bool own_line; /* begins a new line of output */
};

/* Commas outside brackets and quotes separate. */
static size_t split_arguments(struct str s, struct expression *out, size_t n)
{
	int depth = 0;
	char quote = 0;
	size_t start = 0;
	bool first = true;
	for (size_t i = 0; i <= s.len && n < EXPRESSIONS_MAX; i++) {
		char c = i < s.len ? s.ptr[i] : ',';
		if (quote) {
			quote = c == quote ? 0 : quote;
			continue;
		}
		if (c == '\'' || c == '"')
			quote = c;
		else if (c == '(' || c == '[' || c == '{')
			depth++;
		else if (c == ')' || c == ']' || c == '}')
			depth--;
		else if (c == ',' && depth <= 0) {
			out[n++] = (struct expression){str_trim(str_slice(s, start, i)), first};
			first = false;
			start = i + 1;
		}
	}
	return n;
}

/* All expressions that the command prints, in order. */
static size_t expressions(struct str command, bool interactive, struct expression *out)
{
	size_t n = 0, at = 0;
	while ((at = str_find(command, "print(", at)) != SIZE_MAX && n < EXPRESSIONS_MAX) {
		size_t start = at + 6, i = start;
		int depth = 1;
		for (; i < command.len && depth > 0; i++)
			depth += command.ptr[i] == '(' ? 1 : command.ptr[i] == ')' ? -1 : 0;
		n = split_arguments(str_slice(command, start, i - (depth == 0)), out, n);
		at = i;
	}
	if (!n && interactive)
		out[n++] = (struct expression){str_trim(command), true};
	return n;
}

/* The next value of a line: a bracketed group, a quoted text, a word; the rest of the line for the last one. */
static bool next_value(struct str *line, bool whole, struct str *ret)
{
	*line = str_trim(*line);
	if (!line->len)
		return false;
	char close = line->ptr[0] == '(' ? ')' : line->ptr[0] == '[' ? ']' : line->ptr[0] == '\'' ? '\'' : 0;
	size_t end = close ? str_find_char(*line, close, 1) : SIZE_MAX;
	if (whole && !close)
		end = line->len;
	else if (end != SIZE_MAX)
		end++;
	else
		end = str_find_char(*line, ' ', 0);
	*ret = str_slice(*line, 0, end);
	*line = str_skip(*line, ret->len);
	return true;
}

static take_fn *find_take(struct str expression)
{
	for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
		if (str_has(expression, known[k].text))
			return known[k].take;
	return NULL;
}

static bool not_output(struct str line)
{
	return str_starts(line, "Traceback") || str_has(line, "Error:") || str_has(line, "Warning") || str_starts(line, "  File");
}

static size_t read_answers(const struct read_input *in, struct facts *f)
{
	struct expression e[EXPRESSIONS_MAX];
	struct str command, rest = {0}, value;
	if (!read_prompt(in->line[0].text, &command))
		return 0;
	bool interactive = str_starts(str_trim(in->line[0].text), ">>>");
	size_t n = expressions(command, interactive, e), i = 1;
	if (!n)
		return 0;
	for (size_t k = 0; k < n; k++) {
		if (e[k].own_line) {
			while (i < in->count && (!str_trim(in->line[i].text).len || str_has(in->line[i].text, "Warning")))
				i++;
			if (i >= in->count || read_prompt(in->line[i].text, &command) || not_output(in->line[i].text))
				return i;
			rest = in->line[i++].text;
		}
		bool last = k + 1 == n || e[k + 1].own_line;
		if (!next_value(&rest, last, &value))
			break;
		take_fn *take = find_take(e[k].text);
		/* A literal text in print("cuda", x) stands for itself. */
		if (take)
			take(f, value, read_origin(f, in, i - 1));
		else if (e[k].text.len && (e[k].text.ptr[0] == '"' || e[k].text.ptr[0] == '\'') && value.len < e[k].text.len - 2)
			rest = str_skip(rest, e[k].text.len - 2 - value.len);
	}
	return i;
}

static const char *const triggers[] = {"torch.__version__", "torch.version.", "is_nccl_available", "torch.cuda.is_available",
	"is_gloo_available", "nccl.version()", "get_arch_list", "get_device_capability", "get_device_name", "np.__version__",
	"numpy.__version__", "torchvision.__version__", "cxx11_abi()", "torch.__file__", "sys.executable", NULL};
const struct reader read_python_answers = {"python", triggers, read_answers};
