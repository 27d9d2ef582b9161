#include "parse/pep440.h"

#include <errno.h>

/* -- reading ------------------------------------------------------------------------------------------------------------ */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_alnum(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_separator(char c)
{
	return c == '-' || c == '_' || c == '.';
}

static struct str take_digits(struct str *rest)
{
	size_t n = 0;
	while (n < rest->len && is_digit(rest->ptr[n]))
		n++;
	struct str digits = str_slice(*rest, 0, n);
	*rest = str_skip(*rest, n);
	return digits;
}

static void skip_separator(struct str *rest)
{
	if (rest->len && is_separator(rest->ptr[0]))
		*rest = str_skip(*rest, 1);
}

struct word {
	const char *text;
	int meaning;
};

/* The longer words stand before their beginnings. */
static const struct word pre_words[] = {
	{"alpha", PEP440_ALPHA},
	{"a", PEP440_ALPHA},
	{"beta", PEP440_BETA},
	{"b", PEP440_BETA},
	{"preview", PEP440_CANDIDATE},
	{"pre", PEP440_CANDIDATE},
	{"rc", PEP440_CANDIDATE},
	{"c", PEP440_CANDIDATE},
	{NULL, 0},
};
static const struct word post_words[] = {{"post", 1}, {"rev", 1}, {"r", 1}, {NULL, 0}};
static const struct word dev_words[] = {{"dev", 1}, {NULL, 0}};

/* [-_.]? word [-_.]? digits? — the meaning of the word, or 0 and *rest as it was. */
static int take_word(struct str *rest, const struct word *words, struct str *ret_number)
{
	struct str s = *rest;
	skip_separator(&s);
	for (const struct word *w = words; w->text; w++) {
		size_t n = strlen(w->text);
		if (!str_is_nocase(str_slice(s, 0, n), w->text))
			continue;
		s = str_skip(s, n);
		skip_separator(&s);
		*ret_number = take_digits(&s);
		*rest = s;
		return w->meaning;
	}
	return 0;
}

static int take_release(struct str *rest, struct str *ret)
{
	struct str s = *rest;
	if (!take_digits(&s).len)
		return -EINVAL;
	while (s.len >= 2 && s.ptr[0] == '.' && is_digit(s.ptr[1])) {
		s = str_skip(s, 1);
		take_digits(&s);
	}
	*ret = str_slice(*rest, 0, (size_t)(s.ptr - rest->ptr));
	*rest = s;
	return 0;
}

static bool is_local(struct str s)
{
	bool inside = false;
	for (size_t i = 0; i < s.len; i++) {
		if (is_alnum(s.ptr[i]))
			inside = true;
		else if (is_separator(s.ptr[i]) && inside)
			inside = false;
		else
			return false;
	}
	return inside;
}

int parse_pep440(struct str text, struct pep440 *ret)
{
	struct pep440 v = {0};
	struct str s = str_trim(text);
	if (s.len && (s.ptr[0] == 'v' || s.ptr[0] == 'V'))
		s = str_skip(s, 1);
	struct str ahead = s, digits = take_digits(&ahead);
	if (digits.len && ahead.len && ahead.ptr[0] == '!') {
		v.epoch = digits;
		s = str_skip(ahead, 1);
	}
	if (take_release(&s, &v.release))
		return -EINVAL;
	v.pre = (enum pep440_pre)take_word(&s, pre_words, &v.pre_number);
	if (s.len >= 2 && s.ptr[0] == '-' && is_digit(s.ptr[1])) {
		s = str_skip(s, 1);
		v.post_number = take_digits(&s);
		v.post = true;
	} else {
		v.post = take_word(&s, post_words, &v.post_number);
	}
	v.dev = take_word(&s, dev_words, &v.dev_number);
	if (s.len && s.ptr[0] == '+') {
		v.local = str_skip(s, 1);
		if (!is_local(v.local))
			return -EINVAL;
		s.len = 0;
	}
	if (s.len)
		return -EINVAL;
	*ret = v;
	return 0;
}

/* -- order -------------------------------------------------------------------------------------------------------------- */

static struct str without_zeros(struct str digits)
{
	while (digits.len && digits.ptr[0] == '0')
		digits = str_skip(digits, 1);
	return digits;
}

static int compare_numbers(struct str a, struct str b)
{
	a = without_zeros(a);
	b = without_zeros(b);
	if (a.len != b.len)
		return a.len < b.len ? -1 : 1;
	int c = str_cmp(a, b);
	return (c > 0) - (c < 0);
}

/* Takes the next number off a release; empty, which is zero, when it has no more. */
static struct str next_number(struct str *release)
{
	struct str n = take_digits(release);
	*release = str_skip(*release, 1);
	return n;
}

static int compare_releases(struct str a, struct str b)
{
	while (a.len || b.len) {
		int c = compare_numbers(next_number(&a), next_number(&b));
		if (c)
			return c;
	}
	return 0;
}

/* A dev release of the plain version comes before its first alpha; the plain version comes after its last candidate. */
static int pre_rank(const struct pep440 *v)
{
	if (v->pre != PEP440_FINAL)
		return (int)v->pre;
	return v->dev && !v->post ? 0 : PEP440_CANDIDATE + 1;
}

static bool next_local(struct str *rest, struct str *ret)
{
	if (!rest->len)
		return false;
	size_t n = 0;
	while (n < rest->len && !is_separator(rest->ptr[n]))
		n++;
	*ret = str_slice(*rest, 0, n);
	*rest = str_skip(*rest, n + 1);
	return true;
}

static bool is_number(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!is_digit(s.ptr[i]))
			return false;
	return s.len > 0;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static int compare_nocase(struct str a, struct str b)
{
	for (size_t i = 0; i < a.len && i < b.len; i++) {
		int c = lower(a.ptr[i]) - lower(b.ptr[i]);
		if (c)
			return c < 0 ? -1 : 1;
	}
	return (a.len > b.len) - (a.len < b.len);
}

static int compare_local(struct str a, struct str b)
{
	for (;;) {
		struct str x, y;
		bool has_x = next_local(&a, &x), has_y = next_local(&b, &y);
		if (!has_x || !has_y)
			return has_x - has_y;
		bool number_x = is_number(x), number_y = is_number(y);
		int c = number_x != number_y ? (number_x ? 1 : -1) : number_x ? compare_numbers(x, y) : compare_nocase(x, y);
		if (c)
			return c;
	}
}

/* Without the local part. */
static int compare_public(const struct pep440 *a, const struct pep440 *b)
{
	int c = compare_numbers(a->epoch, b->epoch);
	if (!c)
		c = compare_releases(a->release, b->release);
	if (!c)
		c = pre_rank(a) - pre_rank(b);
	if (!c)
		c = compare_numbers(a->pre_number, b->pre_number);
	if (!c)
		c = a->post - b->post;
	if (!c)
		c = compare_numbers(a->post_number, b->post_number);
	if (!c)
		c = b->dev - a->dev;
	if (!c)
		c = compare_numbers(a->dev_number, b->dev_number);
	return (c > 0) - (c < 0);
}

int parse_pep440_compare(const struct pep440 *a, const struct pep440 *b)
{
	int c = compare_public(a, b);
	return c ? c : compare_local(a->local, b->local);
}

bool parse_pep440_is_prerelease(const struct pep440 *v)
{
	return v->dev || v->pre != PEP440_FINAL;
}

/* -- normal form -------------------------------------------------------------------------------------------------------- */

static void print_number(struct str digits, struct buf *ret)
{
	digits = without_zeros(digits);
	buf_str(ret, digits.len ? digits : STR("0"));
}

static void print_local(struct str local, struct buf *ret)
{
	struct str part;
	char before = '+';
	while (next_local(&local, &part)) {
		buf_char(ret, before);
		before = '.';
		if (is_number(part)) {
			print_number(part, ret);
			continue;
		}
		for (size_t i = 0; i < part.len; i++)
			buf_char(ret, lower(part.ptr[i]));
	}
}

void parse_pep440_print(const struct pep440 *v, struct buf *ret)
{
	static const char *const pre_names[] = {"", "a", "b", "rc"};
	if (without_zeros(v->epoch).len) {
		print_number(v->epoch, ret);
		buf_char(ret, '!');
	}
	for (struct str rest = v->release; rest.len;) {
		print_number(next_number(&rest), ret);
		if (rest.len)
			buf_char(ret, '.');
	}
	if (v->pre != PEP440_FINAL) {
		buf_text(ret, pre_names[v->pre]);
		print_number(v->pre_number, ret);
	}
	if (v->post) {
		buf_text(ret, ".post");
		print_number(v->post_number, ret);
	}
	if (v->dev) {
		buf_text(ret, ".dev");
		print_number(v->dev_number, ret);
	}
	print_local(v->local, ret);
}

/* -- specifiers --------------------------------------------------------------------------------------------------------- */

enum operator{ OP_IDENTICAL, OP_COMPATIBLE, OP_EQUAL, OP_NOT_EQUAL, OP_AT_MOST, OP_AT_LEAST, OP_LESS, OP_GREATER };

static const char *const operators[] = {"===", "~=", "==", "!=", "<=", ">=", "<", ">"};

struct specifier {
	enum operator op;
	bool wildcard;   /* == or != with .* */
	bool any_text;   /* === with something that is no version */
	struct str text; /* of === */
	struct pep440 version;
};

static bool has_unfit_char(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (strchr(" \t\r\n\f\v;)", s.ptr[i]))
			return true;
	return false;
}

static int read_specifier(struct str text, struct specifier *ret)
{
	struct specifier s = {0};
	text = str_trim(text);
	size_t i = 0;
	while (i < sizeof operators / sizeof *operators && !str_starts(text, operators[i]))
		i++;
	if (i == sizeof operators / sizeof *operators)
		return -EINVAL;
	s.op = (enum operator)i;
	text = str_trim(str_skip(text, strlen(operators[i])));
	if (s.op == OP_IDENTICAL) {
		s.text = text;
		s.any_text = parse_pep440(text, &s.version) < 0;
		*ret = s;
		return has_unfit_char(text) ? -EINVAL : 0;
	}
	if ((s.op == OP_EQUAL || s.op == OP_NOT_EQUAL) && str_ends(text, ".*")) {
		s.wildcard = true;
		text.len -= 2;
	}
	if (parse_pep440(text, &s.version))
		return -EINVAL;
	const struct pep440 *v = &s.version;
	if (s.wildcard && (v->pre || v->post || v->dev || v->local.len || str_trim(text).len != text.len))
		return -EINVAL;
	if (s.op != OP_EQUAL && s.op != OP_NOT_EQUAL && v->local.len)
		return -EINVAL;
	if (s.op == OP_COMPATIBLE && str_find_char(v->release, '.', 0) == SIZE_MAX)
		return -EINVAL;
	*ret = s;
	return 0;
}

/* The first `count` numbers of the release are those of the prefix. */
static bool has_prefix(const struct pep440 *v, const struct pep440 *prefix, size_t count)
{
	if (compare_numbers(v->epoch, prefix->epoch))
		return false;
	struct str a = v->release, b = prefix->release;
	for (size_t i = 0; i < count; i++)
		if (compare_numbers(next_number(&a), next_number(&b)))
			return false;
	return true;
}

static size_t count_numbers(struct str release)
{
	size_t n = 1;
	for (size_t i = 0; i < release.len; i++)
		n += release.ptr[i] == '.';
	return n;
}

static bool same_base(const struct pep440 *a, const struct pep440 *b)
{
	return !compare_numbers(a->epoch, b->epoch) && !compare_releases(a->release, b->release);
}

static bool is_identical(const struct specifier *s, const struct pep440 *v)
{
	struct buf text = BUF_MAX(1 << 16);
	parse_pep440_print(v, &text);
	bool same = !compare_nocase(buf_view(&text), s->text);
	buf_free(&text);
	return same;
}

static bool is_equal(const struct specifier *s, const struct pep440 *v)
{
	if (s->wildcard)
		return has_prefix(v, &s->version, count_numbers(s->version.release));
	return s->version.local.len ? !parse_pep440_compare(v, &s->version) : !compare_public(v, &s->version);
}

static bool satisfies(const struct specifier *s, const struct pep440 *v)
{
	const struct pep440 *w = &s->version;
	switch (s->op) {
	case OP_IDENTICAL: return is_identical(s, v);
	case OP_COMPATIBLE: return compare_public(v, w) >= 0 && has_prefix(v, w, count_numbers(w->release) - 1);
	case OP_EQUAL: return is_equal(s, v);
	case OP_NOT_EQUAL: return !is_equal(s, v);
	case OP_AT_MOST: return compare_public(v, w) <= 0;
	case OP_AT_LEAST: return compare_public(v, w) >= 0;
	case OP_LESS:
		/* "<3.1" does not want 3.1.dev0, unless it names a pre-release itself. */
		if (parse_pep440_compare(v, w) >= 0)
			return false;
		return parse_pep440_is_prerelease(w) || !parse_pep440_is_prerelease(v) || !same_base(v, w);
	case OP_GREATER:
		/* ">3.1" wants neither 3.1.post0 nor 3.1+local. */
		if (parse_pep440_compare(v, w) <= 0)
			return false;
		return !(((v->post && !w->post) || v->local.len) && same_base(v, w));
	}
	return false;
}

static bool names_prerelease(const struct specifier *s)
{
	if (s->op == OP_NOT_EQUAL || s->op == OP_LESS || s->op == OP_GREATER || s->any_text)
		return false;
	return parse_pep440_is_prerelease(&s->version);
}

int parse_pep440_match(struct str specifiers, const struct pep440 *v, enum pep440_prereleases prereleases, bool *ret)
{
	bool all = true, allowed = prereleases == PEP440_ALLOWED;
	struct str part, rest = str_n(specifiers.ptr ? specifiers.ptr : "", specifiers.len);
	while (str_next_field(&rest, ',', &part)) {
		struct specifier s;
		if (!str_trim(part).len)
			continue;
		if (read_specifier(part, &s))
			return -EINVAL;
		all = all && satisfies(&s, v);
		allowed = allowed || (prereleases == PEP440_AS_SPECIFIED && names_prerelease(&s));
	}
	*ret = all && (allowed || !parse_pep440_is_prerelease(v));
	return 0;
}

int parse_pep440_check(struct str specifiers)
{
	static const struct pep440 zero = {.release = {"0", 1}};
	bool ignored;
	return parse_pep440_match(specifiers, &zero, PEP440_ALLOWED, &ignored);
}
