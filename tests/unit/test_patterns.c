/* Every pattern of the knowledge can be used, hits its own sample and not the near miss. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host/host.h"
#include "judge/compile.h"
#include "logs/match.h"

#define PATTERNS_MAX 20000
#define CANDIDATES 4096

static struct logs_pattern pattern[PATTERNS_MAX];
static const char *hits[PATTERNS_MAX], *misses[PATTERNS_MAX];
static size_t pattern_count;
static struct arena *arena;

static unsigned candidate[CANDIDATES];
static size_t candidate_count;

static void on_literal(void *arg, unsigned owner, size_t position)
{
	(void)arg;
	(void)position;
	if (candidate_count < CANDIDATES)
		candidate[candidate_count++] = owner;
}

static const char *text(const struct store_query *q, int i)
{
	return store_text(q, i) ? arena_strdup(arena, store_text(q, i)) : NULL;
}

static int load(void **state)
{
	struct store *s;
	struct store_query *q;
	struct host *h;
	struct compile_result result = {.messages = BUF_MAX((size_t)1 << 20)};
	const char *source = getenv("DAVY_SOURCE");
	(void)state;
	arena = arena_new(0);
	if (store_open(arena, NULL, 0, &s) < 0 || compile_create_tables(s) < 0 || host_open_live(arena, NULL, &h) < 0)
		return -1;
	compile_folder(arena, h, arena_printf(arena, "%s/knowledge", source ? source : "."), s, &result);
	if (result.errors ||
		store_prepare(
			s, "SELECT id, symptom, cause, regex, format, hit, miss, alone, fallback FROM pattern ORDER BY ord", &q, NULL) < 0)
		return -1;
	while (store_step(q) > 0 && pattern_count < PATTERNS_MAX) {
		hits[pattern_count] = text(q, 5);
		misses[pattern_count] = text(q, 6);
		pattern[pattern_count++] = (struct logs_pattern){.id = text(q, 0),
			.symptom = text(q, 1),
			.cause = text(q, 2),
			.regex = text(q, 3),
			.format = text(q, 4),
			.alone = text(q, 7) && strcmp(text(q, 7), "true") == 0,
			.covers = text(q, 7) && strcmp(text(q, 7), "part") == 0,
			.fallback = text(q, 8) != NULL};
	}
	store_finish(q);
	return 0;
}

static bool found(struct logs_matcher *m, struct logs_scratch *scratch, const char *sample, size_t which)
{
	size_t n = strlen(sample);
	char *line = calloc(1, n + 2 * FILTER_PAD + 1);
	struct logs_hit hit[LOGS_HITS_MAX];
	bool is = false;
	assert_non_null(line);
	memcpy(line + FILTER_PAD, sample, n);
	candidate_count = 0;
	filter_scan(logs_matcher_filter(m), NULL, line + FILTER_PAD, n, on_literal, NULL);
	size_t count = logs_match(m, scratch, str_n(line + FILTER_PAD, n), str_n(line + FILTER_PAD, n), candidate, candidate_count, hit);
	for (size_t i = 0; i < count; i++)
		is |= hit[i].pattern == which;
	free(line);
	return is;
}

/* Each line is a sample. */
static int count_wrong(struct logs_matcher *m, struct logs_scratch *scratch, size_t which, const char *samples, bool shall)
{
	int bad = 0;
	struct str rest = samples ? str_of(samples) : str_n("", 0), line;
	while (str_next_line(&rest, &line)) {
		const char *sample = str_dup(arena, line);
		if (found(m, scratch, sample, which) == shall)
			continue;
		print_message("# %s %s: %s\n", pattern[which].id, shall ? "does not hit" : "hits what it must miss", sample);
		bad++;
	}
	return bad;
}

static void patterns_are_usable(void **state)
{
	(void)state;
	int bad = 0;
	for (size_t i = 0; i < pattern_count; i++) {
		const char *why = NULL;
		if (logs_pattern_check(arena, &pattern[i], &why) < 0) {
			print_message("# %s\n", why);
			bad++;
		}
	}
	assert_true(pattern_count > 500);
	assert_int_equal(bad, 0);
}

static void patterns_know_their_samples(void **state)
{
	(void)state;
	int bad = 0;
	const char *why;
	struct logs_matcher *m = logs_matcher_new(arena, pattern, pattern_count, NULL, 0, &why);
	struct logs_scratch *scratch = logs_scratch_new();
	for (size_t i = 0; i < pattern_count; i++) {
		if (!pattern[i].regex)
			continue;
		bad += count_wrong(m, scratch, i, hits[i], true);
		bad += count_wrong(m, scratch, i, misses[i], false);
	}
	assert_int_equal(bad, 0);
	logs_scratch_free(scratch);
	logs_matcher_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_are_usable),
		cmocka_unit_test(patterns_know_their_samples),
	};
	return cmocka_run_group_tests_name("patterns", tests, load, NULL);
}
