#include "judge/functions.h"

#include "base/version.h"
#include "parse/pep440.h"
#include "parse/pep508.h"
#include "judge/placeholder.h"

static void sql_version_cmp(struct store_call *call)
{
	const char *a = store_arg_text(call, 0), *b = store_arg_text(call, 1);
	int order;
	if (a && b && version_cmp(str_of(a), str_of(b), &order) == 0)
		store_result_int(call, order);
}

/* One word of an architecture list: sm_90a → 90, 'a'. */
static bool parse_arch(struct str word, bool *ret_ptx, int *ret_cc, char *ret_suffix)
{
	bool ptx = str_starts(word, "compute_");
	struct str rest = ptx ? str_skip(word, 8) : str_starts(word, "sm_") ? str_skip(word, 3) : str_n("", 0);
	char suffix = 0;
	int64_t n;
	if (rest.len && (rest.ptr[rest.len - 1] == 'a' || rest.ptr[rest.len - 1] == 'f'))
		suffix = rest.ptr[--rest.len];
	if (str_to_int(rest, &n) < 0 || n < 10 || n > 999)
		return false;
	*ret_ptx = ptx;
	*ret_cc = (int)n;
	*ret_suffix = suffix;
	return true;
}

int functions_arch_runs(int cc, struct str code)
{
	struct str word;
	bool any = false, jit = false;
	while (str_next_word(&code, &word)) {
		bool ptx;
		int have;
		char suffix;
		while (word.len && (word.ptr[word.len - 1] == ',' || word.ptr[word.len - 1] == ';'))
			word.len--;
		if (!parse_arch(word, &ptx, &have, &suffix))
			continue;
		any = true;
		bool same_family = have / 10 == cc / 10;
		if (ptx)
			jit |= suffix == 'a' ? have == cc : suffix == 'f' ? same_family && cc >= have : cc >= have;
		else if (suffix == 'a' ? have == cc : same_family && cc >= have)
			return 1;
	}
	return jit ? 2 : any ? 0 : -1;
}

/* arch_runs(cc, list): 1 natively, 2 by compiling PTX, 0 no. cc as 90 or "9.0". */
static void sql_arch_runs(struct store_call *call)
{
	const char *cc = store_arg_text(call, 0), *list = store_arg_text(call, 1);
	if (!cc || !list)
		return;
	struct version v;
	if (version_parse(str_of(cc), &v) < 0)
		return;
	int number = v.count > 1 ? (int)(v.part[0] * 10 + v.part[1]) : (int)v.part[0];
	int runs = functions_arch_runs(number, str_of(list));
	if (runs >= 0)
		store_result_int(call, runs);
}

/* driver_runs(driver, cuda): 1 when this Linux driver runs programs of this CUDA, by minor-version compatibility within a major release
 * since 11. */
static void sql_driver_runs(struct store_call *call)
{
	static const struct {
		unsigned major, minor;
		const char *driver;
	} needed[] = {
		/* Within 11, 12 and 13 the first driver of the major release is enough. CUDA release notes, table "CUDA Toolkit and Minimum
		   Required Driver Version". */
		{9, 0, "384.81"},
		{9, 1, "390.46"},
		{9, 2, "396.26"},
		{10, 0, "410.48"},
		{10, 1, "418.39"},
		{10, 2, "440.33"},
		{11, 0, "450.80.02"},
		{12, 0, "525.60.13"},
		{13, 0, "580.65.06"},
	};
	const char *driver = store_arg_text(call, 0), *cuda = store_arg_text(call, 1);
	struct version d, c;
	if (!driver || !cuda || version_parse(str_of(driver), &d) < 0 || version_parse(str_of(cuda), &c) < 0 || d.part[0] < 100)
		return;
	for (size_t i = sizeof needed / sizeof needed[0]; i-- > 0;) {
		if (needed[i].major != c.part[0] || (c.part[0] < 11 && needed[i].minor != c.part[1]))
			continue;
		struct version n;
		version_parse(str_of(needed[i].driver), &n);
		/* A bare branch ("535") is enough when its first release is; "580.00" is how the driver of a Jetson says its branch. */
		if (d.count == 1 || (d.count == 2 && d.part[1] == 0))
			store_result_int(call, d.part[0] >= n.part[0]);
		else
			store_result_int(call, version_compare(&d, &n) >= 0);
		return;
	}
}

static void sql_edit_distance(struct store_call *call)
{
	const char *a = store_arg_text(call, 0), *b = store_arg_text(call, 1);
	if (!a || !b)
		return;
	size_t n = strlen(a), m = strlen(b);
	int row[128];
	if (n > 120 || m > 120)
		return;
	for (size_t j = 0; j <= m; j++)
		row[j] = (int)j;
	for (size_t i = 1; i <= n; i++) {
		int diagonal = row[0];
		row[0] = (int)i;
		for (size_t j = 1; j <= m; j++) {
			int old = row[j], best = diagonal + (a[i - 1] != b[j - 1]);
			if (old + 1 < best)
				best = old + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
			diagonal = old;
		}
	}
	store_result_int(call, row[m]);
}

/* shell_word(text): one word of a command. */
static void sql_shell_word(struct store_call *call)
{
	const char *text = store_arg_text(call, 0);
	struct buf b = BUF_MAX(65536);
	if (!text)
		return;
	placeholder_shell(&b, text, false);
	store_result_text(call, b.len ? b.ptr : "''");
	buf_free(&b);
}

static void sql_pep440_cmp(struct store_call *call)
{
	const char *a = store_arg_text(call, 0), *b = store_arg_text(call, 1);
	struct pep440 va, vb;
	if (a && b && parse_pep440(str_of(a), &va) == 0 && parse_pep440(str_of(b), &vb) == 0)
		store_result_int(call, parse_pep440_compare(&va, &vb));
}

/* pep440_match(version, specifier), as `pip check` judges what is installed: pre-releases count. */
static void sql_pep440_match(struct store_call *call)
{
	const char *version = store_arg_text(call, 0), *specifier = store_arg_text(call, 1);
	struct pep440 v;
	bool match;
	if (version && specifier && parse_pep440(str_of(version), &v) == 0 &&
		parse_pep440_match(str_of(specifier), &v, PEP440_ALLOWED, &match) == 0)
		store_result_int(call, match);
}

/* pep508_match(requirement, name, version): is this distribution what the requirement asks for? */
static void sql_pep508_match(struct store_call *call)
{
	const char *text = store_arg_text(call, 0), *name = store_arg_text(call, 1), *version = store_arg_text(call, 2);
	struct pep508 r;
	struct pep440 v;
	bool match;
	if (!text || !name || !version || parse_pep508(str_of(text), &r) < 0 || parse_pep440(str_of(version), &v) < 0)
		return;
	if (!parse_pep503_equal(r.name, str_of(name)))
		store_result_int(call, 0);
	else if (parse_pep440_match(r.specifier, &v, PEP440_ALLOWED, &match) == 0)
		store_result_int(call, match);
}

static struct str fact(const struct facts *f, enum facts_column c)
{
	const struct facts_row *row = f ? f->first[facts_columns[c].table] : NULL;
	const char *text = row ? facts_get_text(row, c) : NULL;
	return text ? str_of(text) : str_n("", 0);
}

/* marker(text) for the interpreter examined; NULL when its version is not known. */
static void sql_marker(struct store_call *call)
{
	const char *text = store_arg_text(call, 0);
	const struct facts *f = store_call_facts(call);
	struct str version = fact(f, python__version), platform = fact(f, system__platform);
	bool windows = str_is(platform, "windows"), mac = str_is(platform, "macos"), value;
	if (!text || !version.len)
		return;
	size_t dot = str_find_char(version, '.', 0), second = dot == SIZE_MAX ? SIZE_MAX : str_find_char(version, '.', dot + 1);
	struct pep508_environment env = {
		.python_version = str_slice(version, 0, second),
		.python_full_version = version,
		.implementation_version = version,
		.os_name = windows ? STR("nt") : STR("posix"),
		.sys_platform = windows ? STR("win32")
			: mac           ? STR("darwin")
					: STR("linux"),
		.platform_system = windows ? STR("Windows")
			: mac              ? STR("Darwin")
					   : STR("Linux"),
		.platform_release = fact(f, system__kernel),
		.platform_machine = fact(f, system__arch),
		.platform_python_implementation = STR("CPython"),
		.implementation_name = STR("cpython"),
	};
	if (parse_pep508_marker(str_of(text), &env, &value) == 0)
		store_result_int(call, value);
}

void functions_register(struct store *s)
{
	store_add_function(s, "pep440_cmp", 2, sql_pep440_cmp);
	store_add_function(s, "pep440_match", 2, sql_pep440_match);
	store_add_function(s, "pep508_match", 3, sql_pep508_match);
	store_add_function(s, "marker", 1, sql_marker);
	store_add_function(s, "shell_word", 1, sql_shell_word);
	store_add_function(s, "version_cmp", 2, sql_version_cmp);
	store_add_function(s, "arch_runs", 2, sql_arch_runs);
	store_add_function(s, "driver_runs", 2, sql_driver_runs);
	store_add_function(s, "edit_distance", 2, sql_edit_distance);
}
