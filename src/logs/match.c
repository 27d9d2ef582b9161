#include "logs/match.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "logs/format.h"
#include "logs/literal.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define MATCH_LIMIT 200000
#define HEAP_LIMIT_KIB 2048
#define JIT_AFTER 32       /* an expression that is tried often is worth compiling to machine code */
#define BETWEEN '\x1f'     /* between literals in one text */
#define CANDIDATES_MAX 256 /* distinct candidates of one line */
#define COVERED_MAX 8

const char *const logs_capture_names[CAPTURE_COUNT] = {
	"rank",
	"host",
	"device",
	"interface",
	"path",
	"version",
	"errno",
	"code",
	"address",
	"port",
	"seq",
	"op",
	"pid",
	"signal",
	"xid",
	"gpu",
	"library",
	"symbol",
	"name",
	"size",
};

struct group {
	int number, capture;
};

struct compiled {
	bool broken;
	pcre2_code *code;
	_Atomic(pcre2_code *) jit; /* a copy compiled to machine code, once it pays; other threads may be using `code` */
	struct group group[CAPTURE_COUNT];
	int group_count;
	atomic_uint tries;
	struct format format;
};

struct logs_matcher {
	const struct logs_pattern *patterns;
	size_t count;
	_Atomic(struct compiled *) *compiled; /* made when their literal turns up */
	struct filter *filter;
	pthread_mutex_t lock; /* of `kept` */
	struct arena *kept;   /* what is compiled while other threads use the other arena */
};

struct logs_scratch {
	pcre2_match_data *data;
	pcre2_match_context *context;
};

/* -- making -------------------------------------------------------------------------------------------------------------- */

struct literals {
	struct filter_literal *item;
	size_t count, cap;
};

static void literals_add(struct arena *a, struct literals *l, struct str text, unsigned owner, bool nocase)
{
	l->item = arena_grow(a, l->item, l->count, &l->cap, sizeof(*l->item));
	l->item[l->count++] = (struct filter_literal){.text = text, .owner = owner, .nocase = nocase};
}

static int add_pattern(struct arena *a, struct literals *l, const struct logs_pattern *p, unsigned owner, const char **ret_why)
{
	if (p->format) {
		struct str literal = format_literal(a, p->format);
		if (literal.len < LITERAL_MIN) {
			*ret_why = arena_printf(a, "pattern %s: the format has no literal of %d bytes", p->id, LITERAL_MIN);
			return -EINVAL;
		}
		literals_add(a, l, literal, owner, false);
		return 0;
	}
	struct literal_set set;
	int r = p->regex ? literal_of_regex(a, p->regex, &set) : -ENOENT;
	if (r < 0) {
		*ret_why = arena_printf(a, "pattern %s: the expression has no literal of %d bytes that always occurs%s", p->id, LITERAL_MIN,
			r == -EINVAL ? " (or its syntax is not supported)" : "");
		return r;
	}
	for (size_t i = 0; i < set.count; i++)
		literals_add(a, l, set.text[i], owner, set.nocase);
	return 0;
}

const char *logs_pattern_literals(struct arena *a, const struct logs_pattern *p)
{
	struct literals l = {.item = NULL};
	struct buf b = BUF_MAX(65536);
	const char *why, *text = NULL;
	if (add_pattern(a, &l, p, 0, &why) == 0 && l.count) {
		bool plain = true;
		buf_char(&b, l.item[0].nocase ? 'i' : '-');
		for (size_t i = 0; i < l.count; i++) {
			plain &= str_find_char(l.item[i].text, BETWEEN, 0) == SIZE_MAX &&
				str_find_char(l.item[i].text, '\0', 0) == SIZE_MAX;
			if (i)
				buf_char(&b, BETWEEN);
			buf_str(&b, l.item[i].text);
		}
		if (plain && !b.truncated)
			text = arena_strndup(a, b.ptr, b.len);
	}
	buf_free(&b);
	return text;
}

/* What logs_pattern_literals gave: '-', or 'i' where the case does not matter, and the literals; '+' and 'I': each with its place and a
 * colon in front. */
static void add_known(struct arena *a, struct literals *l, const char *known, unsigned owner)
{
	struct str rest = str_of(known + 1), one;
	bool placed = known[0] == '+' || known[0] == 'I';
	while (str_next_field(&rest, BETWEEN, &one)) {
		size_t place = 0, digits = 0;
		for (; placed && digits < one.len && one.ptr[digits] != ':'; digits++)
			place = place * 10 + (size_t)(one.ptr[digits] - '0');
		literals_add(a, l, placed ? str_skip(one, digits + 1) : one, owner, known[0] == 'i' || known[0] == 'I');
		l->item[l->count - 1].placed = placed;
		l->item[l->count - 1].place = (uint16_t)place;
	}
}

void logs_place_literals(struct arena *a, const char **known, size_t n)
{
	struct literals l = {.item = NULL};
	for (size_t i = 0; i < n; i++)
		if (known[i])
			add_known(a, &l, known[i], (unsigned)i);
	struct filter *f = filter_new(a, l.item, l.count);
	struct buf b = BUF_MAX((size_t)1 << 20);
	for (size_t i = 0; i < l.count;) {
		unsigned owner = l.item[i].owner;
		buf_reset(&b);
		for (size_t first = i; i < l.count && l.item[i].owner == owner; i++) {
			buf_char(&b, i > first ? BETWEEN : l.item[i].nocase ? 'I' : '+');
			buf_fmt(&b, "%u:", filter_place(f, i));
			buf_str(&b, l.item[i].text);
		}
		known[owner] = arena_strndup(a, b.ptr, b.len);
	}
	buf_free(&b);
}

struct logs_matcher *logs_matcher_new(struct arena *a, const struct logs_pattern *patterns, size_t count, const char *const *triggers,
	size_t trigger_count, const char **ret_why)
{
	struct logs_matcher *m = arena_alloc(a, sizeof(*m));
	struct literals l = {.item = NULL};

	*ret_why = NULL;
	m->kept = arena_new(0);
	m->patterns = patterns;
	m->count = count;
	m->compiled = arena_array(a, count + 1, sizeof(*m->compiled));
	pthread_mutex_init(&m->lock, NULL);
	for (size_t i = 0; i < count; i++) {
		if (patterns[i].literals)
			add_known(a, &l, patterns[i].literals, (unsigned)i);
		else
			add_pattern(a, &l, &patterns[i], (unsigned)i, ret_why);
	}
	for (size_t i = 0; i < trigger_count; i++)
		if (strlen(triggers[i]) >= LITERAL_MIN)
			literals_add(a, &l, str_of(triggers[i]), (unsigned)(count + i), false);
	m->filter = filter_new(a, l.item, l.count);
	return m;
}

void logs_matcher_free(struct logs_matcher *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->count; i++) {
		struct compiled *c = atomic_load(&m->compiled[i]);
		if (!c)
			continue;
		pcre2_code_free(c->code);
		pcre2_code_free(c->jit);
	}
	pthread_mutex_destroy(&m->lock);
	arena_free(m->kept);
}

const struct filter *logs_matcher_filter(const struct logs_matcher *m)
{
	return m->filter;
}

size_t logs_matcher_pattern_count(const struct logs_matcher *m)
{
	return m->count;
}

const struct logs_pattern *logs_matcher_pattern(const struct logs_matcher *m, unsigned i)
{
	return i < m->count ? &m->patterns[i] : NULL;
}

struct logs_scratch *logs_scratch_new(void)
{
	struct logs_scratch *s = calloc(1, sizeof(*s));
	if (!s)
		abort();
	s->data = pcre2_match_data_create(64, NULL);
	s->context = pcre2_match_context_create(NULL);
	if (!s->data || !s->context)
		abort();
	pcre2_set_match_limit(s->context, MATCH_LIMIT);
	pcre2_set_depth_limit(s->context, 1000);
	pcre2_set_heap_limit(s->context, HEAP_LIMIT_KIB);
	return s;
}

void logs_scratch_free(struct logs_scratch *s)
{
	if (!s)
		return;
	pcre2_match_data_free(s->data);
	pcre2_match_context_free(s->context);
	free(s);
}

/* -- compiling ----------------------------------------------------------------------------------------------------------- */

static int capture_of_name(const char *name)
{
	for (int i = 0; i < CAPTURE_COUNT; i++)
		if (strcmp(name, logs_capture_names[i]) == 0)
			return i;
	return -1;
}

static pcre2_code *compile_code(const char *regex, int *ret_error, size_t *ret_offset)
{
	uint32_t options = PCRE2_NEVER_BACKSLASH_C | PCRE2_DUPNAMES;
	for (const char *p = regex; *p; p++)
		if ((unsigned char)*p >= 0x80) {
			options |= PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
			break;
		}
	return pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED, options, ret_error, ret_offset, NULL);
}

/* The named groups; the name of one that is not reserved, or NULL. Doubles (alternatives with the same name) all count. */
static const char *read_groups(const pcre2_code *code, struct group *groups, int *ret_count)
{
	uint32_t count = 0, size = 0;
	PCRE2_SPTR table = NULL;
	const char *unknown = NULL;

	*ret_count = 0;
	pcre2_pattern_info(code, PCRE2_INFO_NAMECOUNT, &count);
	pcre2_pattern_info(code, PCRE2_INFO_NAMEENTRYSIZE, &size);
	pcre2_pattern_info(code, PCRE2_INFO_NAMETABLE, &table);
	for (uint32_t i = 0; i < count; i++) {
		PCRE2_SPTR entry = table + (size_t)i * size;
		int capture = capture_of_name((const char *)entry + 2);
		if (capture < 0)
			unknown = (const char *)entry + 2;
		else if (*ret_count < CAPTURE_COUNT)
			groups[(*ret_count)++] = (struct group){.number = entry[0] << 8 | entry[1], .capture = capture};
	}
	return unknown;
}

static struct compiled *compile(struct logs_matcher *m, const struct logs_pattern *p)
{
	struct compiled *c = arena_alloc(m->kept, sizeof *c);
	int error = 0;
	size_t offset = 0;
	if (p->format) {
		format_parse(m->kept, p->format, &c->format);
		return c;
	}
	c->code = p->regex ? compile_code(p->regex, &error, &offset) : NULL;
	c->broken = !c->code;
	if (c->code)
		read_groups(c->code, c->group, &c->group_count);
	return c;
}

static struct compiled *compiled_of(struct logs_matcher *m, unsigned i)
{
	struct compiled *c = atomic_load_explicit(&m->compiled[i], memory_order_acquire);
	if (!c) {
		pthread_mutex_lock(&m->lock);
		c = atomic_load(&m->compiled[i]);
		if (!c) {
			c = compile(m, &m->patterns[i]);
			atomic_store(&m->compiled[i], c);
		}
		pthread_mutex_unlock(&m->lock);
	}
	if (c->broken)
		return NULL;
	if (c->code && atomic_fetch_add_explicit(&c->tries, 1, memory_order_relaxed) == JIT_AFTER) {
		pcre2_code *copy = pcre2_code_copy(c->code);
		if (copy && pcre2_jit_compile(copy, PCRE2_JIT_COMPLETE) == 0)
			atomic_store(&c->jit, copy);
		else
			pcre2_code_free(copy);
	}
	return c;
}

int logs_pattern_check(struct arena *a, const struct logs_pattern *p, const char **ret_why)
{
	struct literals l = {.item = NULL};
	int r = add_pattern(a, &l, p, 0, ret_why);
	if (r < 0 || p->format)
		return r < 0 ? -EINVAL : 0;
	int error = 0;
	size_t offset = 0;
	pcre2_code *code = compile_code(p->regex, &error, &offset);
	if (!code) {
		char text[200] = "";
		pcre2_get_error_message(error, (PCRE2_UCHAR *)text, sizeof(text));
		*ret_why = arena_printf(a, "pattern %s: %s at offset %zu", p->id, text, offset);
		return -EINVAL;
	}
	struct group groups[CAPTURE_COUNT];
	int count;
	const char *unknown = read_groups(code, groups, &count);
	if (unknown)
		*ret_why = arena_printf(a, "pattern %s: no capture may be named %s", p->id, unknown);
	pcre2_code_free(code);
	return unknown ? -EINVAL : 0;
}

/* -- matching ------------------------------------------------------------------------------------------------------------ */

/* Matches from `at` on; what matched in *ret_part. */
static bool match_regex(struct compiled *c, struct logs_scratch *s, struct str text, size_t at, struct logs_hit *hit, struct str *ret_part)
{
	const pcre2_code *jit = atomic_load_explicit(&c->jit, memory_order_acquire);
	int r = pcre2_match(jit ? jit : c->code, (PCRE2_SPTR)text.ptr, text.len, at, 0, s->data, s->context);
	if (r < 0)
		return false; /* no match, or a limit: then the line is not ours */
	memset(hit->capture, 0, sizeof(hit->capture));
	size_t *ovector = pcre2_get_ovector_pointer(s->data);
	for (int i = 0; i < c->group_count; i++) {
		int n = c->group[i].number;
		if (n >= r && r != 0)
			continue;
		size_t from = ovector[2 * n], to = ovector[2 * n + 1];
		if (from != PCRE2_UNSET && from <= to && to <= text.len && n < 64)
			hit->capture[c->group[i].capture] = str_n(text.ptr + from, to - from);
	}
	*ret_part = ovector[0] <= ovector[1] ? str_slice(text, ovector[0], ovector[1]) : str_n(text.ptr, 0);
	return true;
}

/* Candidates without doubles, in the order of the patterns. */
static size_t distinct(const unsigned *candidates, size_t count, unsigned *ret)
{
	size_t n = 0;
	for (size_t i = 0; i < count; i++) {
		size_t j = n;
		while (j > 0 && ret[j - 1] > candidates[i])
			j--;
		if ((j > 0 && ret[j - 1] == candidates[i]) || n == CANDIDATES_MAX)
			continue;
		memmove(ret + j + 1, ret + j, (n - j) * sizeof(*ret));
		ret[j] = candidates[i];
		n++;
	}
	return n;
}

struct tried {
	struct logs_matcher *m;
	struct logs_scratch *s;
	struct str message, line;
	struct str covered[COVERED_MAX]; /* parts of the line in which nothing else counts */
	size_t covered_count;
};

/* Does the part begin or end in a covered one? Then *ret_end is where that one ends. */
static bool is_covered(const struct tried *t, struct str part, const char **ret_end)
{
	for (size_t i = 0; i < t->covered_count; i++) {
		const char *from = t->covered[i].ptr, *to = from + t->covered[i].len, *last = part.ptr + part.len - (part.len > 0);
		if ((part.ptr < from || part.ptr >= to) && (last < from || last >= to))
			continue;
		*ret_end = to;
		return true;
	}
	return false;
}

/* The first place in the text where it matches and nothing covers it. */
static bool matches_uncovered(const struct tried *t, struct compiled *c, struct str text, struct logs_hit *ret)
{
	struct str part;
	const char *end;
	size_t at = 0;
	while (at <= text.len && match_regex(c, t->s, text, at, ret, &part)) {
		if (!is_covered(t, part, &end))
			return true;
		at = (size_t)(end - text.ptr); /* behind what it met: a covered part is inside the line, and begins not before the match */
	}
	return false;
}

static bool regex_hits(const struct tried *t, unsigned pattern, struct logs_hit *ret)
{
	bool same = t->message.ptr == t->line.ptr && t->message.len == t->line.len;
	struct compiled *c = compiled_of(t->m, pattern);
	if (!c || (!matches_uncovered(t, c, t->message, ret) && (same || !matches_uncovered(t, c, t->line, ret))))
		return false;
	ret->pattern = pattern;
	return true;
}

/* All parts of the message that this pattern covers. */
static bool cover(struct tried *t, unsigned pattern, struct logs_hit *ret)
{
	struct compiled *c = compiled_of(t->m, pattern);
	size_t at = 0;
	bool found = false;
	struct str part;
	while (c && t->covered_count < COVERED_MAX && at < t->message.len && match_regex(c, t->s, t->message, at, ret, &part) && part.len) {
		t->covered[t->covered_count++] = part;
		at = (size_t)(part.ptr + part.len - t->message.ptr);
		ret->pattern = pattern;
		found = true;
	}
	return found;
}

static bool best_format(const struct tried *t, const unsigned *order, size_t n, struct logs_hit *ret)
{
	bool same = t->message.ptr == t->line.ptr && t->message.len == t->line.len, found = false;
	size_t best_bytes = 0;
	for (size_t i = 0; i < n; i++) {
		if (!t->m->patterns[order[i]].format)
			continue;
		struct compiled *c = compiled_of(t->m, order[i]);
		if (!c || c->format.literal_bytes <= best_bytes)
			continue;
		if (!format_matches(&c->format, t->message) && (same || !format_matches(&c->format, t->line)))
			continue;
		best_bytes = c->format.literal_bytes;
		*ret = (struct logs_hit){.pattern = order[i]};
		found = true;
	}
	return found;
}

size_t logs_match(struct logs_matcher *m, struct logs_scratch *s, struct str message, struct str line, const unsigned *candidates,
	size_t count, struct logs_hit hits[LOGS_HITS_MAX])
{
	unsigned order[CANDIDATES_MAX + 1];
	struct tried t = {.m = m, .s = s, .message = message, .line = line};
	size_t n = distinct(candidates, count, order), found = 0;

	while (n && order[n - 1] >= m->count)
		n--;
	for (size_t i = 0; i < n; i++)
		if (m->patterns[order[i]].alone && regex_hits(&t, order[i], &hits[0]))
			return 1;
	for (size_t i = 0; i < n && found < LOGS_HITS_MAX; i++)
		found += m->patterns[order[i]].covers && cover(&t, order[i], &hits[found]);
	size_t told = found;
	for (size_t i = 0; i < n && found < LOGS_HITS_MAX; i++) {
		const struct logs_pattern *p = &m->patterns[order[i]];
		found += !p->format && !p->fallback && !p->covers && !p->alone && regex_hits(&t, order[i], &hits[found]);
	}
	if (found > told || found == LOGS_HITS_MAX)
		return found;
	if (!told && best_format(&t, order, n, &hits[0]))
		return 1;
	for (size_t i = 0; i < n; i++)
		if (m->patterns[order[i]].fallback && regex_hits(&t, order[i], &hits[found]))
			return found + 1;
	return found;
}
