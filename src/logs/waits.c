#include "logs/waits.h"

#include <math.h>

#define WAITS_KEPT 4096 /* rows; odd ones first */

struct entry {
	const struct logs_wait *wait;
	const char *group, *odd, *others;
	int64_t rank;
	uint32_t peers, alike;
	int64_t behind;
};

static int compare(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int by_place(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;
	int c = compare(a->group, b->group);
	if (c)
		return c;
	if (a->wait->seq != b->wait->seq)
		return a->wait->seq < b->wait->seq ? -1 : 1;
	c = compare(a->wait->op, b->wait->op);
	if (!c)
		c = compare(a->wait->size, b->wait->size);
	return c ? c : (a->rank > b->rank) - (a->rank < b->rank);
}

static bool same_op(const struct entry *a, const struct entry *b)
{
	return compare(a->wait->op, b->wait->op) == 0;
}

static bool same_call(const struct entry *a, const struct entry *b)
{
	return same_op(a, b) && compare(a->wait->size, b->wait->size) == 0;
}

/* The longest stretch of equal entries in a sorted range; of equal lengths the one with the lowest rank. */
static size_t largest(const struct entry *e, size_t n, bool (*same)(const struct entry *, const struct entry *), size_t *ret_count)
{
	size_t best = 0, best_count = 0;
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && same(&e[i], &e[j]); j++)
			;
		if (j - i > best_count || (j - i == best_count && e[i].rank < e[best].rank)) {
			best = i;
			best_count = j - i;
		}
	}
	*ret_count = best_count;
	return best;
}

/* One group at one sequence number, sorted by operation and size. */
static void compare_calls(struct entry *e, size_t n)
{
	size_t ops, calls, op = largest(e, n, same_op, &ops), call = op + largest(e + op, ops, same_call, &calls);
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && same_call(&e[i], &e[j]); j++)
			;
		for (size_t k = i; k < j; k++) {
			e[k].peers = (uint32_t)n;
			e[k].alike = (uint32_t)(j - i);
			if (!same_op(&e[k], &e[op])) {
				e[k].odd = "op";
				e[k].others = e[op].wait->op;
			} else if (!same_call(&e[k], &e[call])) {
				e[k].odd = "size";
				e[k].others = e[call].wait->size;
			}
		}
	}
}

/* Of one group: is there one rank that started fewer collectives than all others? */
static void find_straggler(struct entry *e, size_t n)
{
	struct entry *last = NULL;
	int64_t second = INT64_MAX;
	for (size_t i = 0; i < n; i++) {
		int64_t started = e[i].wait->last_enqueued;
		if (started < 0)
			continue;
		if (!last || started < last->wait->last_enqueued) {
			second = last ? last->wait->last_enqueued : INT64_MAX;
			last = &e[i];
		} else if (started < second && e[i].rank != last->rank) {
			second = started;
		}
	}
	if (last && n > 2 && second != INT64_MAX && second > last->wait->last_enqueued)
		last->behind = second - last->wait->last_enqueued;
}

static void compare_all(struct entry *e, size_t n)
{
	qsort(e, n, sizeof(*e), by_place);
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && compare(e[i].group, e[j].group) == 0; j++)
			;
		find_straggler(e + i, j - i);
		for (size_t a = i, b; a < j; a = b) {
			for (b = a + 1; b < j && e[a].wait->seq == e[b].wait->seq; b++)
				;
			if (e[a].wait->seq >= 0 && e[a].wait->op)
				compare_calls(e + a, b - a);
		}
	}
}

static void number(struct facts_row *row, enum facts_column c, int64_t n, const char *origin)
{
	if (n != PREFIX_UNSET)
		facts_int(row, c, n, origin);
}

static void add_wait(const struct logs *l, const struct entry *e, struct facts *f)
{
	const struct logs_wait *w = e->wait;
	struct facts_row *row = facts_add(f, TABLE_wait);
	const char *origin = arena_printf(f->arena, "%s:%zu", l->file[w->file].name, w->line);
	number(row, wait__rank, e->rank, origin);
	facts_text(row, wait__process_group, e->group, origin);
	facts_text(row, wait__host, w->host, origin);
	number(row, wait__seq, w->seq, origin);
	facts_text(row, wait__op, w->op, origin);
	facts_text(row, wait__size, w->size, origin);
	number(row, wait__timeout_ms, w->timeout_ms, origin);
	number(row, wait__last_enqueued, w->last_enqueued, origin);
	number(row, wait__last_completed, w->last_completed, origin);
	if (e->peers) {
		facts_int(row, wait__peers, e->peers, origin);
		facts_int(row, wait__alike, e->alike, origin);
	}
	facts_text(row, wait__odd, e->odd, origin);
	facts_text(row, wait__others, e->others, origin);
	number(row, wait__behind, e->behind, origin);
}

static void add_speaker(const struct logs *l, const struct logs_rank *r, struct facts *f)
{
	struct facts_row *row = facts_add(f, TABLE_speaker);
	const char *origin = arena_printf(f->arena, "%s:%zu", l->file[r->file].name, r->last_line);
	facts_int(row, speaker__rank, r->rank, origin);
	facts_text(row, speaker__host, r->host, origin);
	facts_int(row, speaker__first_line, (int64_t)r->first_line, origin);
	facts_int(row, speaker__last_line, (int64_t)r->last_line, origin);
	if (!isnan(r->last_time))
		facts_real(row, speaker__last_time, r->last_time, origin);
	facts_text(row, speaker__last_text, r->last_text, origin);
	facts_int(row, speaker__lines, (int64_t)r->lines, origin);
}

/* Not every rank's lines name the group. Where those that do name the default group alone, the others wait in it as well. */
static void name_groups(struct entry *e, size_t n)
{
	const char *only = NULL;
	for (size_t i = 0; i < n; i++) {
		if (!e[i].group)
			continue;
		if (!logs_is_default_group(e[i].group) || (only && strcmp(only, e[i].group) != 0))
			return;
		only = e[i].group;
	}
	for (size_t i = 0; only && i < n; i++)
		e[i].group = only;
}

void waits_to_facts(const struct logs *l, struct facts *f)
{
	struct entry *e = arena_array(f->arena, l->wait_count + 1, sizeof(*e));
	facts_table_read(f, TABLE_wait);
	facts_table_read(f, TABLE_speaker);
	for (size_t i = 0; i < l->wait_count; i++) {
		const struct logs_wait *w = l->wait[i];
		e[i] = (struct entry){.wait = w,
			.rank = w->rank != PREFIX_UNSET ? w->rank : w->number,
			.behind = PREFIX_UNSET,
			.group = w->group_desc && *w->group_desc ? w->group_desc : w->group};
	}
	name_groups(e, l->wait_count);
	compare_all(e, l->wait_count);
	size_t kept = 0;
	for (int odd = 1; odd >= 0; odd--)
		for (size_t i = 0; i < l->wait_count && kept < WAITS_KEPT; i++)
			if ((e[i].odd || e[i].behind != PREFIX_UNSET) == odd) {
				add_wait(l, &e[i], f);
				kept++;
			}
	for (size_t i = 0; i < l->rank_count && i < WAITS_KEPT; i++)
		add_speaker(l, l->rank[i], f);
}
