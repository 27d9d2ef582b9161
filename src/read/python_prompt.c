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

/* gfx90a:sramecc+:xnack- */
static void take_gfx(struct facts *f, struct str v, const char *origin)
{
	v = unquoted(v);
	v = str_slice(v, 0, str_find_char(v, ':', 0));
	if (str_starts(v, "gfx") && v.len >= 6 && v.len <= 8)
		read_fill_str(read_gpu(f, 0, "amd"), gpu__gfx, v, origin);
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
	{"gcnArchName", false, take_gfx},
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

/* All expressions that the command prints, in order, behind the n that are there. */
static size_t expressions(struct str command, bool interactive, struct expression *out, size_t n)
{
	size_t at = 0, before = n;
	while ((at = str_find(command, "print(", at)) != SIZE_MAX && n < EXPRESSIONS_MAX) {
		size_t start = at + 6, i = start;
		int depth = 1;
		for (; i < command.len && depth > 0; i++)
			depth += command.ptr[i] == '(' ? 1 : command.ptr[i] == ')' ? -1 : 0;
		n = split_arguments(str_slice(command, start, i - (depth == 0)), out, n);
		at = i;
	}
	if (n == before && interactive && n < EXPRESSIONS_MAX)
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

/* "Out[3]: False", in a notebook "[3]: False" */
static struct str without_number(struct str line)
{
	struct str s = str_trim(line);
	size_t end = str_starts(s, "Out[") || str_starts(s, "[") ? str_find(s, "]: ", 0) : SIZE_MAX;
	return end != SIZE_MAX && end < 12 ? str_skip(s, end + 3) : line;
}

/* Steps over blank lines and warnings, of which each may show the line of code below it. */
static size_t next_output(const struct read_input *in, size_t i)
{
	bool warned = false;
	for (; i < in->count; i++) {
		struct str line = in->line[i].text;
		bool code = warned && (str_starts(line, " ") || str_starts(line, "\t"));
		warned = str_has(line, "Warning");
		if (str_trim(line).len && !warned && !code)
			break;
	}
	return i;
}

/* "(8, (2, 18, 1))": what >>> a, b prints. */
static void take_tuple(struct facts *f, struct str command, struct str line, const char *origin)
{
	struct expression e[EXPRESSIONS_MAX], v[EXPRESSIONS_MAX];
	size_t n = split_arguments(command, e, 0);
	if (line.len < 2 || line.ptr[0] != '(' || line.ptr[line.len - 1] != ')' ||
		split_arguments(str_slice(line, 1, line.len - 1), v, 0) != n)
		return;
	for (size_t k = 0; k < n; k++) {
		take_fn *take = find_take(e[k].text);
		if (take)
			take(f, v[k].text, origin);
	}
}

/* Pairs the expressions with the output from line i on. */
static size_t take_output(const struct read_input *in, struct facts *f, const struct expression *e, size_t n, size_t i, bool interactive)
{
	struct str rest = {0}, value, command;
	struct expression part[EXPRESSIONS_MAX];
	for (size_t k = 0; k < n; k++) {
		if (e[k].own_line) {
			i = next_output(in, i);
			bool next = i < in->count && read_prompt(in->line[i].text, &command);
			/* None is not printed at a prompt. */
			if (next && interactive && (str_is(e[k].text, "torch.version.cuda") || str_is(e[k].text, "torch.version.hip")))
				find_take(e[k].text)(f, STR("None"), read_origin(f, in, i - 1));
			if (i >= in->count || next || not_output(in->line[i].text))
				return i;
			rest = without_number(in->line[i++].text);
		}
		if (interactive && split_arguments(e[k].text, part, 0) > 1) {
			take_tuple(f, e[k].text, str_trim(rest), read_origin(f, in, i - 1));
			continue;
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

/* Code of a script or a cell: what it prints stands below it. */
static bool is_code(struct str line, struct expression *e, size_t *n)
{
	struct str t = str_trim(line);
	if (str_starts(t, "import ") || str_starts(t, "from ") || str_starts(t, "#"))
		return true;
	if (str_starts(t, "print(") && str_ends(t, ")"))
		*n = expressions(t, false, e, *n);
	else if (str_starts(t, "torch.") && str_find_char(t, ' ', 0) == SIZE_MAX && find_take(t) && *n < EXPRESSIONS_MAX)
		e[(*n)++] = (struct expression){t, true};
	else
		return false;
	return true;
}

static size_t read_script(const struct read_input *in, struct facts *f)
{
	struct expression e[EXPRESSIONS_MAX];
	size_t n = 0, i = 0;
	while (i < in->count && i < 40 && is_code(in->line[i].text, e, &n))
		i++;
	return n && i ? take_output(in, f, e, n, i, false) : 0;
}

/* "torch.__version__: 2.1.0", "torch.version.cuda = 12.1", "torch.cuda.is_available() -> False", and what print(f"{x=}") prints. */
static size_t read_labels(const struct read_input *in, struct facts *f)
{
	struct str line = in->line[0].text;
	bool found = false;
	for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
		size_t at = str_find(line, known[k].text, 0);
		struct str rest = at == SIZE_MAX ? str_n("", 0) : str_trim(str_skip(line, at + strlen(known[k].text))), value;
		size_t mark = str_starts(rest, "->") || str_starts(rest, "=>") ? 2 : rest.len && strchr(":=", rest.ptr[0]) ? 1 : 0;
		if (!mark || str_starts(rest, "==") || !known[k].text[0] || str_ends(str_of(known[k].text), "("))
			continue;
		rest = str_skip(rest, mark);
		if (!next_value(&rest, false, &value))
			continue;
		while (value.len && (value.ptr[value.len - 1] == ',' || value.ptr[value.len - 1] == ';'))
			value.len--;
		known[k].take(f, value, read_origin(f, in, 0));
		found = true;
	}
	return found ? 1 : 0;
}

static size_t read_answers(const struct read_input *in, struct facts *f)
{
	struct expression e[EXPRESSIONS_MAX];
	struct str command, first = str_trim(in->line[0].text);
	if (!read_prompt(in->line[0].text, &command)) {
		size_t used = read_script(in, f);
		return used ? used : read_labels(in, f);
	}
	bool interactive = str_starts(first, ">>>") || str_starts(first, "In [");
	size_t n = expressions(command, interactive, e, 0);
	return n ? take_output(in, f, e, n, 1, interactive) : 0;
}

/* "Python 3.10.12 (main, Nov 20 2023, 15:14:05) [GCC 11.4.0] on linux" at the begin of a session, "Python 3.9.18" of python --version */
static size_t read_banner(const struct read_input *in, struct facts *f)
{
	struct str line = str_trim(in->line[0].text), version;
	if (!str_starts(line, "Python 3."))
		return 0;
	struct str rest = str_skip(line, 7);
	if (!str_next_word(&rest, &version) || !read_is_version(version) || !str_has(str_skip(version, 2), "."))
		return 0;
	rest = str_trim(rest);
	if (rest.len && !str_starts(rest, "(") && !str_starts(rest, "|") && !str_starts(rest, "::"))
		return 0;
	read_fill_str(facts_only(f, TABLE_python), python__version, version, read_origin(f, in, 0));
	return 1;
}

static const char *const triggers[] = {"torch.__version__", "torch.version.", "is_nccl_available", "torch.cuda.is_available",
	"is_gloo_available", "nccl.version()", "get_arch_list", "get_device_capability", "get_device_name", "gcnArchName", "np.__version__",
	"numpy.__version__", "torchvision.__version__", "cxx11_abi()", "torch.__file__", "sys.executable", NULL};
const struct reader read_python_answers = {"python", triggers, read_answers};
static const char *const banner_triggers[] = {"Python 3.", NULL};
const struct reader read_python_banner = {"python --version", banner_triggers, read_banner};
