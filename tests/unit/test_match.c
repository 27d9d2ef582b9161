/* The first stage finds what a plain search finds; required literals are really required; matching is bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "logs/format.h"
#include "logs/literal.h"
#include "logs/match.h"

static struct arena *arena;

static int make_arena(void **state)
{
	(void)state;
	arena = arena_new(0);
	return 0;
}

static int free_arena(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

/* -- filter -------------------------------------------------------------------------------------------------------------- */

#define LITERALS 300
#define TEXT 70000

static uint32_t seed = 1;

static uint32_t draw(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

struct place {
	unsigned owner;
	size_t at;
};

static struct place places[200000];
static size_t place_count;

static void note(void *arg, unsigned owner, size_t at)
{
	(void)arg;
	if (place_count < sizeof(places) / sizeof(places[0]))
		places[place_count++] = (struct place){owner, at};
}

static int by_place(const void *x, const void *y)
{
	const struct place *a = x, *b = y;
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

static bool was_found(unsigned owner, size_t at)
{
	struct place key = {owner, at};
	return bsearch(&key, places, place_count, sizeof(key), by_place) != NULL;
}

static bool stands_at(const struct filter_literal *l, const char *p)
{
	for (size_t i = 0; i < l->text.len; i++) {
		char c = p[i];
		if (l->nocase && c >= 'A' && c <= 'Z')
			c = (char)(c + 32);
		if (c != l->text.ptr[i])
			return false;
	}
	return true;
}

static void filter_agrees_with_plain_search(void **state)
{
	struct filter_literal l[LITERALS];
	char *text = malloc(TEXT + 2 * FILTER_PAD);
	bool muted[LITERALS] = {false};
	(void)state;
	assert_non_null(text);
	for (unsigned i = 0; i < LITERALS; i++) {
		size_t n = 4 + draw(i % 3 ? 4 : 24);
		char *p = arena_alloc(arena, n);
		bool nocase = i % 7 == 0;
		for (size_t k = 0; k < n; k++)
			p[k] = (char)("abcABxyz \n\0\xe4"[draw(12)]);
		for (size_t k = 0; nocase && k < n; k++)
			p[k] = p[k] >= 'A' && p[k] <= 'Z' ? (char)(p[k] + 32) : p[k];
		l[i] = (struct filter_literal){.text = str_n(p, n), .owner = i, .nocase = nocase};
		muted[i] = i % 2;
	}
	struct filter *f = filter_new(arena, l, LITERALS);
	struct filter_bits *half = filter_bits_without(f, muted, NULL);
	for (size_t i = 0; i < TEXT + 2 * FILTER_PAD; i++)
		text[i] = (char)("abcABxyz \n\0\xe4"[draw(12)]);
	for (int round = 0; round < 400; round++) { /* plant some, also at both ends */
		const struct filter_literal *x = &l[draw(LITERALS)];
		size_t at = FILTER_PAD + (round == 0 ? 0 : round == 1 ? TEXT - x->text.len : draw(TEXT - 40));
		memcpy(text + at, x->text.ptr, x->text.len);
	}
	static const size_t lengths[] = {0, 1, 3, 4, 5, 9, 63, 1023, 1024, 1025, 4096, TEXT};
	for (size_t k = 0; k < 2 * sizeof(lengths) / sizeof(lengths[0]); k++) {
		size_t n = lengths[k / 2];
		bool mute = k % 2;
		const char *p = text + FILTER_PAD;
		place_count = 0;
		filter_scan(f, mute ? half : NULL, p, n, note, NULL);
		qsort(places, place_count, sizeof(places[0]), by_place);
		for (size_t i = 0; i < place_count; i++)
			assert_true(places[i].at + l[places[i].owner].text.len <= n && stands_at(&l[places[i].owner], p + places[i].at));
		for (unsigned o = 0; o < LITERALS; o++)
			for (size_t at = 0; at + l[o].text.len <= n; at++)
				if (stands_at(&l[o], p + at) && !(mute && muted[o]))
					assert_true(was_found(o, at));
	}
	free(half);
	free(text);
}

/* -- literals ------------------------------------------------------------------------------------------------------------ */

static void expect_literals(const char *regex, const char *joined)
{
	struct literal_set set;
	struct buf b = BUF_MAX(4096);
	int r = literal_of_regex(arena, regex, &set);
	if (!joined) {
		assert_true(r < 0);
		return;
	}
	if (r < 0)
		fail_msg("%s: %d", regex, r);
	for (size_t i = 0; i < set.count; i++)
		buf_fmt(&b, "%s%.*s", i ? "|" : "", (int)set.text[i].len, set.text[i].ptr);
	assert_string_equal(buf_view(&b).ptr, joined);
	buf_free(&b);
}

static void literals_are_required(void **state)
{
	(void)state;
	expect_literals("Connection refused", "Connection refused");
	expect_literals("a(?:bcdef|ghijkl)m", "abcdefm|aghijklm");
	expect_literals("\\bloss\\b[\\x22]?[ =]+[\\d.]+", "loss\" |loss\"=|loss |loss=");
	expect_literals("foo.*barbaz", "barbaz");
	expect_literals("(?:ab)+cdefg", "abcdefg");
	expect_literals("(?:abcd)*x", NULL);
	expect_literals("colou?r scheme", "colour scheme|color scheme");
	expect_literals("(?i)Out Of Memory", "out of memory");
	expect_literals("lib(?:nccl|cuda\\w*)\\.so", "libnccl|libcuda");
	expect_literals("a|bcdefgh", NULL);
	expect_literals("(?!nothing here)something", "something");
	expect_literals("(?<=before )later", "before ");
	expect_literals("[a-z]+", NULL);
	expect_literals("ab{2,3}cdef", "bcdef");
	expect_literals("port \\d+ of \\d* taken", " taken");
}

/* -- formats ------------------------------------------------------------------------------------------------------------- */

static bool fits(const char *format, const char *text)
{
	struct format f;
	format_parse(arena, format, &f);
	return format_matches(&f, str_of(text));
}

static void formats_match_what_printf_writes(void **state)
{
	(void)state;
	assert_true(fits("rank %d of %d: %s", "rank 3 of 8: lost"));
	assert_false(fits("rank %d of %d: %s", "rank x of 8: lost"));
	assert_true(fits("buffer %p size %zu", "buffer 0x7f12 size 42"));
	assert_true(fits("buffer %p size %zu", "buffer (nil) size 42"));
	assert_true(fits("%s failed with %s after %d tries", "a failed with b failed with c after 3 tries"));
	assert_true(fits("100%% of %lu", "100% of 7"));
	assert_true(fits("id %lx end", "id 1fA end"));
	assert_false(fits("id %d end", "id 1fA end"));
}

/* -- bounds -------------------------------------------------------------------------------------------------------------- */

static void bad_expressions_end(void **state)
{
	static const struct logs_pattern pattern[] = {
		{.id = "worst", .regex = "(?:a+)+(?:a+)+(?:a+)+bbbb"}, {.id = "format", .format = "%sa%sa%sa%sa%sa%sbbbbb"}};
	struct logs_hit hit[LOGS_HITS_MAX];
	const char *why;
	static char line[60000];
	unsigned candidate[2] = {0, 1};
	(void)state;
	memset(line, 'a', sizeof(line));
	struct logs_matcher *m = logs_matcher_new(arena, pattern, 2, NULL, 0, &why);
	struct logs_scratch *s = logs_scratch_new();
	clock_t start = clock();
	for (int i = 0; i < 40; i++)
		assert_int_equal(logs_match(m, s, str_n(line, sizeof(line)), str_n(line, sizeof(line)), candidate, 2, hit), 0);
	assert_true(clock() - start < 4 * CLOCKS_PER_SEC);
	logs_scratch_free(s);
	logs_matcher_free(m);
}

static void alone_silences_the_line(void **state)
{
	static const struct logs_pattern pattern[] = {{.id = "refused", .regex = "Connection refused"},
		{.id = "retry", .regex = "refused, retrying", .alone = true}, {.id = "format", .format = "connect: %s refused"}};
	struct logs_hit hit[LOGS_HITS_MAX];
	const char *why;
	unsigned candidate[] = {2, 1, 0, 0};
	struct str retry = STR("connect: Connection refused, retrying"), plain = STR("connect: Connection refused");
	(void)state;
	struct logs_matcher *m = logs_matcher_new(arena, pattern, 3, NULL, 0, &why);
	struct logs_scratch *s = logs_scratch_new();
	assert_int_equal(logs_match(m, s, retry, retry, candidate, 4, hit), 1);
	assert_int_equal(hit[0].pattern, 1);
	assert_int_equal(logs_match(m, s, plain, plain, candidate, 4, hit), 1);
	assert_int_equal(hit[0].pattern, 0);
	logs_scratch_free(s);
	logs_matcher_free(m);
}

static void a_part_is_silenced(void **state)
{
	static const struct logs_pattern pattern[] = {{.id = "refused", .regex = "(?<name>Connection) refused"},
		{.id = "none", .regex = "there was no [^,.]*", .covers = true}, {.id = "error", .regex = "\\w+Error", .fallback = true}};
	struct logs_hit hit[LOGS_HITS_MAX];
	const char *why;
	unsigned candidate[] = {0, 1, 2};
	struct str none = STR("there was no Connection refused, all is well"),
		   later = STR("there was no Connection refused, then came a Connection refused"),
		   other = STR("there was no Connection refused, only an OSError");
	(void)state;
	struct logs_matcher *m = logs_matcher_new(arena, pattern, 3, NULL, 0, &why);
	struct logs_scratch *s = logs_scratch_new();
	assert_int_equal(logs_match(m, s, none, none, candidate, 3, hit), 1);
	assert_int_equal(hit[0].pattern, 1);
	assert_int_equal(logs_match(m, s, later, later, candidate, 3, hit), 2);
	assert_int_equal(hit[1].pattern, 0);
	assert_true(hit[1].capture[CAPTURE_NAME].ptr > later.ptr + 40);
	assert_int_equal(logs_match(m, s, other, other, candidate, 3, hit), 2);
	assert_int_equal(hit[1].pattern, 2);
	logs_scratch_free(s);
	logs_matcher_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filter_agrees_with_plain_search),
		cmocka_unit_test(literals_are_required),
		cmocka_unit_test(formats_match_what_printf_writes),
		cmocka_unit_test(bad_expressions_end),
		cmocka_unit_test(alone_silences_the_line),
		cmocka_unit_test(a_part_is_silenced),
	};
	return cmocka_run_group_tests(tests, make_arena, free_arena);
}
