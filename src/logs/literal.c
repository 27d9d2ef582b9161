#include "logs/literal.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>

/* A recursive descent over the expression. For each part it keeps two things:
 *   exact  all texts that the part can match, when they are few; otherwise it is open
 *   best   the best required set found inside, so far
 * A concatenation multiplies exact sets and, where that becomes too many or a part is open, offers the run so far as a candidate. */

#define EXACT_MAX 32
#define TEXT_MAX 96
#define DEPTH_MAX 40

struct text_set {
	struct str text[LITERAL_SET_MAX];
	size_t count;
};

struct part {
	struct text_set exact;
	bool is_exact;
	struct text_set head, tail; /* of what is not exact: one of these it begins and ends with; empty set: anything */
	bool is_digits;             /* \d: worth its ten texts only beside something short */
	struct text_set best;
	bool has_best;
};

struct parser {
	struct arena *arena;
	const char *p;
	bool nocase, failed;
	int depth;
};

/* Longer is better, fewer is better; a text under the minimum does not count. */
static int set_score(const struct text_set *s)
{
	size_t shortest = SIZE_MAX;
	for (size_t i = 0; i < s->count; i++)
		if (s->text[i].len < shortest)
			shortest = s->text[i].len;
	if (s->count == 0 || shortest < LITERAL_MIN)
		return -1;
	int penalty = s->count > 16 ? 4 : s->count > 4 ? 2 : s->count > 1 ? 1 : 0;
	int bonus = shortest >= 7 ? 10 : shortest >= 5 ? 5 : 0; /* the filter finds short ones at a price */
	return (int)(shortest > 40 ? 40 : shortest) * 2 - penalty + bonus;
}

static void part_offer(struct part *part, const struct text_set *s)
{
	int score = set_score(s);
	if (score < 0 || (part->has_best && set_score(&part->best) >= score))
		return;
	part->best = *s;
	part->has_best = true;
}

static void set_one(struct text_set *s, struct str text)
{
	s->text[0] = text;
	s->count = 1;
}

static void part_open(struct part *part)
{
	part->is_exact = part->has_best = part->is_digits = false;
	part->exact.count = part->best.count = part->head.count = part->tail.count = 0;
}

static void part_exact(struct part *part, struct str text)
{
	part_open(part);
	part->is_exact = true;
	set_one(&part->exact, text);
}

/* What follows cannot be joined to the run: the run is offered and a new one starts. The first run is what the sequence begins with. */
static void run_cut(struct part *run)
{
	part_offer(run, &run->exact);
	if (!run->head.count)
		run->head = run->exact;
	set_one(&run->exact, STR(""));
}

static struct str join(struct arena *a, struct str x, struct str y)
{
	if (x.len == 0 || y.len == 0)
		return x.len ? x : y;
	char *p = arena_alloc(a, x.len + y.len + 1);
	memcpy(p, x.ptr, x.len);
	memcpy(p + x.len, y.ptr, y.len);
	return str_n(p, x.len + y.len);
}

static bool too_long(const struct text_set *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->text[i].len > TEXT_MAX)
			return true;
	return false;
}

static size_t shortest(const struct text_set *s)
{
	size_t n = SIZE_MAX;
	for (size_t i = 0; i < s->count; i++)
		if (s->text[i].len < n)
			n = s->text[i].len;
	return n;
}

static bool run_product(struct parser *ps, const struct text_set *run, const struct text_set *next, struct text_set *ret)
{
	if (run->count * next->count > EXACT_MAX || too_long(run))
		return false;
	ret->count = 0;
	for (size_t i = 0; i < run->count; i++)
		for (size_t j = 0; j < next->count; j++)
			ret->text[ret->count++] = join(ps->arena, run->text[i], next->text[j]);
	return true;
}

static void run_append(struct parser *ps, struct part *run, const struct part *next)
{
	struct text_set product;
	if (next->has_best)
		part_offer(run, &next->best);
	if (next->is_digits && shortest(&run->exact) >= 7) {
		run_cut(run);
		return;
	}
	if (!next->is_exact) {
		if (next->head.count && run_product(ps, &run->exact, &next->head, &product))
			run->exact = product;
		run_cut(run);
		if (next->tail.count)
			run->exact = next->tail;
		return;
	}
	if (run_product(ps, &run->exact, &next->exact, &product)) {
		run->exact = product;
		return;
	}
	run_cut(run);
	run->exact = next->exact;
}

static void set_union(struct text_set *into, const struct text_set *from, bool *ok)
{
	for (size_t i = 0; i < from->count && *ok; i++) {
		bool have = false;
		for (size_t j = 0; j < into->count; j++)
			have |= str_eq(into->text[j], from->text[i]);
		if (have)
			continue;
		if (into->count == LITERAL_SET_MAX)
			*ok = false;
		else
			into->text[into->count++] = from->text[i];
	}
}

static struct str spelling(struct parser *ps, const char *p, size_t n)
{
	char *q = arena_strndup(ps->arena, p, n);
	if (ps->nocase)
		for (size_t i = 0; i < n; i++)
			q[i] = (char)tolower((unsigned char)q[i]);
	return str_n(q, n);
}

static size_t utf8_length(const char *p)
{
	unsigned char c = (unsigned char)*p;
	size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
	for (size_t i = 1; i < n; i++)
		if (((unsigned char)p[i] & 0xc0) != 0x80)
			return i;
	return n;
}

/* x27 or t: how long, and which byte. 0: none, or no ASCII. */
static size_t byte_escape(const char *p, char *ret)
{
	unsigned v = 0;
	if (*p == 't') {
		*ret = '\t';
		return 1;
	}
	if (*p != 'x')
		return 0;
	for (int i = 1; i < 3; i++) {
		unsigned char c = (unsigned char)p[i];
		if (!isxdigit(c))
			return 0;
		v = v * 16 + (unsigned)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
	}
	*ret = (char)v;
	return v > 0 && v < 0x80 ? 3 : 0;
}

/* [...]: a small class is a set of texts, any other is open. */
static void parse_class(struct parser *ps, struct part *ret)
{
	part_open(ret);
	bool open = *ps->p == '^';
	if (open)
		ps->p++;
	bool first = true;
	struct text_set set = {.count = 0};
	while (*ps->p && (*ps->p != ']' || first)) {
		first = false;
		if (ps->p[0] == '[' && ps->p[1] == ':') { /* [:alpha:] */
			const char *end = strstr(ps->p, ":]");
			if (!end)
				break;
			ps->p = end + 2;
			open = true;
			continue;
		}
		size_t n = 1;
		char hex;
		const char *at = ps->p;
		if (*at == '\\') {
			at++;
			if (!*at)
				break;
			n = byte_escape(at, &hex);
			if (n && !open && set.count < EXACT_MAX) {
				set.text[set.count++] = spelling(ps, &hex, 1);
				ps->p = at + n;
				open |= *ps->p == '-' && ps->p[1] && ps->p[1] != ']';
				continue;
			}
			n = 1;
			open |= isalnum((unsigned char)*at) != 0; /* \d \w ... */
		} else {
			n = utf8_length(at);
		}
		ps->p = at + n;
		open |= *ps->p == '-' && ps->p[1] && ps->p[1] != ']';
		open |= set.count == EXACT_MAX;
		if (!open)
			set.text[set.count++] = spelling(ps, at, n);
	}
	if (*ps->p != ']') {
		ps->failed = true;
		return;
	}
	ps->p++;
	if (open || set.count == 0 || set.count > 8)
		return;
	ret->is_exact = true;
	bool ok = true;
	set_union(&ret->exact, &set, &ok); /* without doubles: [Aa] under (?i) */
}

static void parse_alternation(struct parser *ps, struct part *ret);

/* After "(?": flags, names, look-around. False: not understood. *ret_zero: it takes no text. */
static bool parse_group_head(struct parser *ps, bool *ret_zero, bool *ret_negative, bool *ret_flags_only)
{
	const char *p = ps->p;
	if (*p == ':' || *p == '>' || *p == '|') {
		ps->p = p + 1;
		return true;
	}
	bool behind = *p == '<' && (p[1] == '=' || p[1] == '!');
	if (behind || *p == '=' || *p == '!') {
		*ret_zero = true;
		*ret_negative = p[behind] == '!';
		ps->p = p + 1 + behind;
		return true;
	}
	if (*p == 'P' && p[1] == '<')
		p++;
	if (*p == '<' || *p == '\'') {
		const char *end = strchr(p + 1, *p == '<' ? '>' : '\'');
		if (!end)
			return false;
		ps->p = end + 1;
		return true;
	}
	while (*p == 'i' || *p == 's' || *p == 'm')
		p++;
	if (*p != ')' && *p != ':')
		return false; /* (?x), (?-i), (?R), conditions */
	*ret_flags_only = *p == ')';
	ps->p = p + 1;
	return true;
}

static void parse_group(struct parser *ps, struct part *ret)
{
	bool zero = false, negative = false, flags_only = false;
	if (ps->p[0] == '*') { /* verbs */
		ps->failed = true;
		return;
	}
	if (ps->p[0] == '?') {
		ps->p++;
		if (!parse_group_head(ps, &zero, &negative, &flags_only)) {
			ps->failed = true;
			return;
		}
		if (flags_only) {
			part_exact(ret, STR(""));
			return;
		}
	}
	parse_alternation(ps, ret);
	if (*ps->p != ')') {
		ps->failed = true;
		return;
	}
	ps->p++;
	if (!zero)
		return;
	struct part *inner = arena_alloc(ps->arena, sizeof(*inner));
	*inner = *ret;
	part_exact(ret, STR(""));
	if (negative)
		return;
	if (inner->is_exact)
		part_offer(ret, &inner->exact);
	if (inner->has_best)
		part_offer(ret, &inner->best);
}

static void parse_escape(struct parser *ps, struct part *ret)
{
	char c = *ps->p, hex;
	part_open(ret);
	if (!c) {
		ps->failed = true;
		return;
	}
	ps->p++;
	if (!isalnum((unsigned char)c)) {
		part_exact(ret, spelling(ps, &c, 1));
	} else if (strchr("bBAzZGK", c)) {
		part_exact(ret, STR(""));
	} else if (c == 't' || c == 'e') {
		part_exact(ret, c == 't' ? STR("\t") : STR("\033"));
	} else if (c == 'x' && byte_escape(ps->p - 1, &hex)) {
		ps->p += 2;
		part_exact(ret, spelling(ps, &hex, 1));
	} else if (c == 'x') { /* the value does not matter: open */
		const char *end = *ps->p == '{' ? strchr(ps->p, '}') : NULL;
		for (int i = 0; !end && i < 2 && isxdigit((unsigned char)*ps->p); i++)
			ps->p++;
		ps->p = end ? end + 1 : ps->p;
	} else if (c == 'd') {
		ret->is_exact = ret->is_digits = true;
		for (const char *d = "0123456789"; *d; d++)
			ret->exact.text[ret->exact.count++] = str_n(d, 1);
	} else if (strchr("pPgkoNcQEC", c)) {
		ps->failed = true;
	} else {
		while (isdigit((unsigned char)c) && isdigit((unsigned char)*ps->p))
			ps->p++; /* back reference */
	}
}

/* A stretch of ordinary characters; the last one before a quantifier stands alone. */
static size_t plain_length(const char *p)
{
	size_t n = utf8_length(p);
	for (;;) {
		char c = p[n];
		if (!c || strchr("()[]\\.^$|*+?{", c))
			return n;
		size_t next = n + utf8_length(p + n);
		if (p[next] && strchr("*+?{", p[next]))
			return n;
		n = next;
	}
}

static void parse_atom(struct parser *ps, struct part *ret)
{
	size_t n;

	switch (*ps->p) {
	case '(':
		ps->p++;
		parse_group(ps, ret);
		return;
	case '[':
		ps->p++;
		parse_class(ps, ret);
		return;
	case '\\':
		ps->p++;
		parse_escape(ps, ret);
		return;
	case '.':
		ps->p++;
		part_open(ret);
		return;
	case '^':
	case '$':
		ps->p++;
		part_exact(ret, STR(""));
		return;
	default:
		n = plain_length(ps->p);
		part_exact(ret, spelling(ps, ps->p, n));
		ps->p += n;
	}
}

/* {2} {2,} {2,3}: true and moved on; a brace that is no quantifier is a literal. */
static bool parse_braces(struct parser *ps, int *ret_min, int *ret_max)
{
	const char *p = ps->p + 1;
	if (!isdigit((unsigned char)*p))
		return false;
	int min = 0, max;
	for (; isdigit((unsigned char)*p); p++)
		min = min < 1000 ? min * 10 + (*p - '0') : min;
	max = min;
	if (*p == ',') {
		p++;
		max = INT_MAX;
		if (isdigit((unsigned char)*p))
			for (max = 0; isdigit((unsigned char)*p); p++)
				max = max < 1000 ? max * 10 + (*p - '0') : max;
	}
	if (*p != '}')
		return false;
	ps->p = p + 1;
	*ret_min = min;
	*ret_max = max;
	return true;
}

static void parse_repeat(struct parser *ps, struct part *part)
{
	int min = 1, max = 1;
	if (*ps->p == '*' || *ps->p == '+' || *ps->p == '?') {
		min = *ps->p == '+';
		max = *ps->p == '?' ? 1 : INT_MAX;
		ps->p++;
	} else if (*ps->p != '{' || !parse_braces(ps, &min, &max)) {
		return;
	}
	if (*ps->p == '?' || *ps->p == '+')
		ps->p++; /* lazy, possessive */
	if (min == 1 && max == 1)
		return;
	if (min == 0 && max == 1 && part->is_exact && part->exact.count < EXACT_MAX / 2) { /* "" is one of the texts */
		part->exact.text[part->exact.count++] = STR("");
		part->has_best = false;
		return;
	}
	if (min >= 1 && part->is_exact)
		part_offer(part, &part->exact);
	if (part->is_exact)
		part->head = part->tail = part->exact;
	if (min == 0) {
		part->has_best = false;
		part->head.count = part->tail.count = 0;
	}
	part->is_exact = false;
}

static void parse_sequence(struct parser *ps, struct part *ret)
{
	struct part *part = arena_alloc(ps->arena, sizeof(*part));
	bool broken = false;

	part_exact(ret, STR(""));
	while (*ps->p && *ps->p != '|' && *ps->p != ')') {
		parse_atom(ps, part);
		if (ps->failed)
			return;
		parse_repeat(ps, part);
		broken |= !part->is_exact || (part->is_digits && shortest(&ret->exact) >= 7) ||
			ret->exact.count * part->exact.count > EXACT_MAX || too_long(&ret->exact);
		run_append(ps, ret, part);
	}
	if (broken) {
		part_offer(ret, &ret->exact);
		ret->tail = ret->exact;
		ret->is_exact = false;
	}
}

/* The best set of a branch: what it contains, or what it is. */
static const struct text_set *branch_set(const struct part *b)
{
	if (b->is_exact && (!b->has_best || set_score(&b->exact) >= set_score(&b->best)))
		return &b->exact;
	return b->has_best ? &b->best : NULL;
}

/* What both branches may begin (or end) with. */
static void merge_end(const struct text_set *a, const struct text_set *b, struct text_set *ret)
{
	struct text_set both = *a;
	bool ok = a->count && b->count;
	if (ok)
		set_union(&both, b, &ok);
	ret->count = 0;
	if (ok && both.count <= EXACT_MAX)
		*ret = both;
}

static void merge_branch(struct part *ret, const struct part *next)
{
	bool exact_ok = ret->is_exact && next->is_exact, best_ok = true;
	const struct text_set *a = branch_set(ret), *b = branch_set(next);
	struct text_set best = {.count = 0};
	const struct text_set *head = next->is_exact ? &next->exact : &next->head, *tail = next->is_exact ? &next->exact : &next->tail;

	merge_end(ret->is_exact ? &ret->exact : &ret->head, head, &ret->head);
	merge_end(ret->is_exact ? &ret->exact : &ret->tail, tail, &ret->tail);
	if (a && b) {
		best = *a;
		set_union(&best, b, &best_ok);
	} else {
		best_ok = false;
	}
	if (exact_ok)
		set_union(&ret->exact, &next->exact, &exact_ok);
	ret->is_exact = exact_ok && ret->exact.count <= EXACT_MAX;
	ret->has_best = best_ok && set_score(&best) >= 0;
	ret->best = best;
}

static void parse_alternation(struct parser *ps, struct part *ret)
{
	if (++ps->depth > DEPTH_MAX) {
		ps->failed = true;
		return;
	}
	parse_sequence(ps, ret);
	while (*ps->p == '|' && !ps->failed) {
		ps->p++;
		struct part *next = arena_alloc(ps->arena, sizeof(*next));
		parse_sequence(ps, next);
		merge_branch(ret, next);
	}
	ps->depth--;
}

int literal_of_regex(struct arena *a, const char *regex, struct literal_set *ret)
{
	struct arena *work = arena_new(0);
	struct parser ps = {.arena = work, .p = regex};
	struct part *part = arena_alloc(work, sizeof(*part));
	int r = 0;

	/* (?i) anywhere makes every literal case-blind: a larger set of texts is never wrong. */
	for (const char *p = regex; (p = strstr(p, "(?")); p += 2)
		for (const char *q = p + 2; *q == 'i' || *q == 's' || *q == 'm'; q++)
			ps.nocase |= *q == 'i';
	parse_alternation(&ps, part);
	const struct text_set *set = branch_set(part);
	if (ps.failed || *ps.p)
		r = -EINVAL;
	else if (!set || set_score(set) < 0)
		r = -ENOENT;
	for (size_t i = 0; r == 0 && i < set->count; i++)
		ret->text[i] = str_n(arena_strndup(a, set->text[i].ptr, set->text[i].len), set->text[i].len);
	if (r == 0) {
		ret->count = set->count;
		ret->nocase = ps.nocase;
	}
	arena_free(work);
	return r;
}
