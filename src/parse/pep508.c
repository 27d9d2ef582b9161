#include "parse/pep508.h"

#include <errno.h>

#include "parse/pep440.h"

/* -- names -------------------------------------------------------------------------------------------------------------- */

static bool is_name_separator(char c)
{
	return c == '-' || c == '_' || c == '.';
}

static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The next character of the normal form; 0 at the end. */
static char next_normal(struct str *rest)
{
	if (!rest->len)
		return 0;
	char c = rest->ptr[0];
	*rest = str_skip(*rest, 1);
	if (!is_name_separator(c))
		return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c ? c : '?';
	while (rest->len && is_name_separator(rest->ptr[0]))
		*rest = str_skip(*rest, 1);
	return '-';
}

char *parse_pep503_name(struct arena *a, struct str name)
{
	char *out = arena_alloc(a, name.len + 1), *p = out;
	for (char c; (c = next_normal(&name));)
		*p++ = c;
	*p = '\0';
	return out;
}

bool parse_pep503_equal(struct str a, struct str b)
{
	for (;;) {
		char x = next_normal(&a), y = next_normal(&b);
		if (x != y)
			return false;
		if (!x)
			return true;
	}
}

bool parse_pep503_is_valid(struct str name)
{
	for (size_t i = 0; i < name.len; i++)
		if (!is_alnum(name.ptr[i]) && !is_name_separator(name.ptr[i]))
			return false;
	return name.len && is_alnum(name.ptr[0]) && is_alnum(name.ptr[name.len - 1]);
}

/* -- words -------------------------------------------------------------------------------------------------------------- */

static void skip_blanks(struct str *s)
{
	while (s->len && (s->ptr[0] == ' ' || s->ptr[0] == '\t'))
		*s = str_skip(*s, 1);
}

static bool take_char(struct str *s, char c)
{
	if (!s->len || s->ptr[0] != c)
		return false;
	*s = str_skip(*s, 1);
	return true;
}

static struct str upto(struct str begin, struct str end)
{
	return str_n(begin.ptr, (size_t)(end.ptr - begin.ptr));
}

static int take_identifier(struct str *s, struct str *ret)
{
	size_t n = 0;
	while (n < s->len && (is_alnum(s->ptr[n]) || is_name_separator(s->ptr[n])))
		n++;
	if (!n || !is_alnum(s->ptr[0]) || s->ptr[n - 1] == '.' || s->ptr[n - 1] == '-')
		return -EINVAL;
	*ret = str_slice(*s, 0, n);
	*s = str_skip(*s, n);
	return 0;
}

/* -- requirements ------------------------------------------------------------------------------------------------------- */

static int take_extras(struct str *s, struct str *ret)
{
	struct str begin = *s, name;
	skip_blanks(s);
	if (take_char(s, ']')) {
		*ret = str_n(begin.ptr, 0);
		return 0;
	}
	do {
		skip_blanks(s);
		if (take_identifier(s, &name))
			return -EINVAL;
		skip_blanks(s);
	} while (take_char(s, ','));
	*ret = str_trim(upto(begin, *s));
	return take_char(s, ']') ? 0 : -EINVAL;
}

static bool is_operator_char(char c)
{
	return c == '<' || c == '>' || c == '=' || c == '!' || c == '~';
}

/* One specifier, as far as its characters go; whether it is one, parse_pep440_check tells. */
static void take_specifier(struct str *s)
{
	bool any = str_starts(*s, "===");
	while (s->len && is_operator_char(s->ptr[0]))
		*s = str_skip(*s, 1);
	skip_blanks(s);
	while (s->len && !strchr(any ? " \t;)" : " \t;),", s->ptr[0]) && s->ptr[0])
		*s = str_skip(*s, 1);
}

static int take_specifiers(struct str *s, struct str *ret)
{
	struct str begin = *s;
	while (s->len && is_operator_char(s->ptr[0])) {
		take_specifier(s);
		skip_blanks(s);
		if (!take_char(s, ','))
			break;
		skip_blanks(s);
	}
	*ret = str_trim(upto(begin, *s));
	return parse_pep440_check(*ret);
}

static int take_url(struct str *s, struct str *ret)
{
	skip_blanks(s);
	struct str begin = *s;
	while (s->len && s->ptr[0] != ' ' && s->ptr[0] != '\t')
		*s = str_skip(*s, 1);
	*ret = upto(begin, *s);
	return ret->len ? 0 : -EINVAL;
}

static int check_marker(struct str marker);

static int take_details(struct str *s, struct pep508 *r)
{
	if (take_char(s, '@'))
		return take_url(s, &r->url);
	if (!take_char(s, '('))
		return take_specifiers(s, &r->specifier);
	skip_blanks(s);
	if (take_specifiers(s, &r->specifier))
		return -EINVAL;
	skip_blanks(s);
	return take_char(s, ')') ? 0 : -EINVAL;
}

int parse_pep508(struct str text, struct pep508 *ret)
{
	struct pep508 r = {0};
	struct str s = text;
	skip_blanks(&s);
	if (take_identifier(&s, &r.name))
		return -EINVAL;
	skip_blanks(&s);
	if (take_char(&s, '[') && take_extras(&s, &r.extras))
		return -EINVAL;
	skip_blanks(&s);
	if (take_details(&s, &r))
		return -EINVAL;
	skip_blanks(&s);
	if (take_char(&s, ';')) {
		r.marker = str_trim(s);
		if (!r.marker.len || check_marker(r.marker))
			return -EINVAL;
	} else if (s.len) {
		return -EINVAL;
	}
	*ret = r;
	return 0;
}

/* -- markers ------------------------------------------------------------------------------------------------------------ */

#define FIELD(name) offsetof(struct pep508_environment, name)

/* The names with dots and python_implementation are from before PEP 508; pip still takes them. */
static const struct variable {
	const char *name;
	size_t field;
} variables[] = {
	{"python_version", FIELD(python_version)},
	{"python_full_version", FIELD(python_full_version)},
	{"os_name", FIELD(os_name)},
	{"os.name", FIELD(os_name)},
	{"sys_platform", FIELD(sys_platform)},
	{"sys.platform", FIELD(sys_platform)},
	{"platform_release", FIELD(platform_release)},
	{"platform_system", FIELD(platform_system)},
	{"platform_version", FIELD(platform_version)},
	{"platform.version", FIELD(platform_version)},
	{"platform_machine", FIELD(platform_machine)},
	{"platform.machine", FIELD(platform_machine)},
	{"platform_python_implementation", FIELD(platform_python_implementation)},
	{"platform.python_implementation", FIELD(platform_python_implementation)},
	{"python_implementation", FIELD(platform_python_implementation)},
	{"implementation_name", FIELD(implementation_name)},
	{"implementation_version", FIELD(implementation_version)},
	{"extra", FIELD(extra)},
};

struct value {
	struct str text;
	bool is_variable, is_extra;
};

struct parser {
	struct str rest;
	const struct pep508_environment *env;
	int depth;
	int error; /* of a comparison, -ENOTSUP: noted, and parsing goes on */
};

static struct str peek_word(struct str s)
{
	size_t n = 0;
	while (n < s.len && (is_alnum(s.ptr[n]) || s.ptr[n] == '_' || s.ptr[n] == '.'))
		n++;
	return str_slice(s, 0, n);
}

static bool take_word(struct parser *p, const char *word)
{
	skip_blanks(&p->rest);
	if (!str_is(peek_word(p->rest), word))
		return false;
	p->rest = str_skip(p->rest, strlen(word));
	return true;
}

static int take_value(struct parser *p, struct value *ret)
{
	skip_blanks(&p->rest);
	if (p->rest.len && (p->rest.ptr[0] == '\'' || p->rest.ptr[0] == '"')) {
		size_t end = str_find_char(p->rest, p->rest.ptr[0], 1);
		if (end == SIZE_MAX)
			return -EINVAL;
		*ret = (struct value){.text = str_slice(p->rest, 1, end)};
		p->rest = str_skip(p->rest, end + 1);
		return 0;
	}
	struct str word = peek_word(p->rest);
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		if (!str_is(word, variables[i].name))
			continue;
		struct str text = {"", 0};
		if (p->env)
			memcpy(&text, (const char *)p->env + variables[i].field, sizeof text);
		*ret = (struct value){text, true, variables[i].field == FIELD(extra)};
		p->rest = str_skip(p->rest, word.len);
		return 0;
	}
	return -EINVAL;
}

enum comparison {
	CMP_IDENTICAL,
	CMP_COMPATIBLE,
	CMP_EQUAL,
	CMP_NOT_EQUAL,
	CMP_AT_MOST,
	CMP_AT_LEAST,
	CMP_LESS,
	CMP_GREATER,
	CMP_IN,
	CMP_NOT_IN
};

static const char *const comparisons[] = {"===", "~=", "==", "!=", "<=", ">=", "<", ">"};

static int take_comparison(struct parser *p, enum comparison *ret)
{
	skip_blanks(&p->rest);
	for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++) {
		if (!str_starts(p->rest, comparisons[i]))
			continue;
		p->rest = str_skip(p->rest, strlen(comparisons[i]));
		*ret = (enum comparison)i;
		return 0;
	}
	*ret = CMP_IN;
	if (take_word(p, "in"))
		return 0;
	*ret = CMP_NOT_IN;
	return take_word(p, "not") && take_word(p, "in") ? 0 : -EINVAL;
}

static bool contains(struct str text, struct str part)
{
	return !part.len || (part.len <= text.len && memmem(text.ptr, text.len, part.ptr, part.len));
}

static int compare_words(struct str a, enum comparison op, struct str b, bool *ret)
{
	int c = str_cmp(a, b);
	switch (op) {
	case CMP_COMPATIBLE: return -ENOTSUP;
	case CMP_IDENTICAL:
		for (size_t i = 0; i < b.len; i++)
			if (strchr(" \t;)", b.ptr[i]))
				return -ENOTSUP;
		*ret = !c;
		return 0;
	case CMP_EQUAL: *ret = !c; return 0;
	case CMP_NOT_EQUAL: *ret = c; return 0;
	case CMP_AT_MOST: *ret = c <= 0; return 0;
	case CMP_AT_LEAST: *ret = c >= 0; return 0;
	case CMP_LESS: *ret = c < 0; return 0;
	case CMP_GREATER: *ret = c > 0; return 0;
	case CMP_IN: *ret = contains(b, a); return 0;
	case CMP_NOT_IN: *ret = !contains(b, a); return 0;
	}
	return -EINVAL;
}

/* Versions are compared as versions where both sides are some, everything else as words. A release name of a kernel ("6.1.0-18-amd64") is
 * no version: newer pips raise an error there, older ones compared it somehow. Words it is. */
static int compare_values(struct str a, enum comparison op, struct str b, bool *ret)
{
	char specifier[256];
	struct pep440 v;
	if (op < CMP_IN && b.len && b.len < 200 && str_find_char(b, ',', 0) == SIZE_MAX && parse_pep440(a, &v) == 0) {
		int n = snprintf(specifier, sizeof specifier, "%s%.*s", comparisons[op], (int)b.len, b.ptr);
		if (parse_pep440_match(str_n(specifier, (size_t)n), &v, PEP440_ALLOWED, ret) == 0)
			return 0;
	}
	return compare_words(a, op, b, ret);
}

/* Names of extras are compared in their normal form. */
static struct str normal_extra(struct str name, char *room, size_t size)
{
	size_t n = 0;
	for (char c; n < size && (c = next_normal(&name));)
		room[n++] = c;
	return str_n(room, n);
}

static int compare_extras(struct str a, enum comparison op, struct str b, bool *ret)
{
	char room_a[256], room_b[256];
	return compare_values(normal_extra(a, room_a, sizeof room_a), op, normal_extra(b, room_b, sizeof room_b), ret);
}

static int take_or(struct parser *p, bool *ret);

static int take_atom(struct parser *p, bool *ret)
{
	struct value a, b;
	enum comparison op;
	skip_blanks(&p->rest);
	if (take_char(&p->rest, '(')) {
		if (++p->depth > PARSE_PEP508_DEPTH_MAX || take_or(p, ret))
			return -EINVAL;
		p->depth--;
		skip_blanks(&p->rest);
		return take_char(&p->rest, ')') ? 0 : -EINVAL;
	}
	if (take_value(p, &a) || take_comparison(p, &op) || take_value(p, &b))
		return -EINVAL;
	if (!a.is_variable && !b.is_variable)
		return -EINVAL;
	*ret = false;
	if (!p->env)
		return 0;
	int r = a.is_extra || b.is_extra ? compare_extras(a.text, op, b.text, ret) : compare_values(a.text, op, b.text, ret);
	if (r)
		p->error = r;
	return 0;
}

static int take_and(struct parser *p, bool *ret)
{
	bool all = true, one;
	do {
		if (take_atom(p, &one))
			return -EINVAL;
		all = all && one;
	} while (take_word(p, "and"));
	*ret = all;
	return 0;
}

static int take_or(struct parser *p, bool *ret)
{
	bool any = false, one;
	do {
		if (take_and(p, &one))
			return -EINVAL;
		any = any || one;
	} while (take_word(p, "or"));
	*ret = any;
	return 0;
}

static int check_marker(struct str marker)
{
	struct parser p = {.rest = marker};
	bool ignored;
	if (take_or(&p, &ignored))
		return -EINVAL;
	skip_blanks(&p.rest);
	return p.rest.len ? -EINVAL : 0;
}

int parse_pep508_marker(struct str marker, const struct pep508_environment *env, bool *ret)
{
	struct parser p = {.rest = str_trim(marker), .env = env};
	bool value;
	if (!p.rest.len) {
		*ret = true;
		return 0;
	}
	if (take_or(&p, &value))
		return -EINVAL;
	skip_blanks(&p.rest);
	if (p.rest.len)
		return -EINVAL;
	if (p.error)
		return p.error;
	*ret = value;
	return 0;
}
