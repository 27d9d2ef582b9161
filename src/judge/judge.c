#include "judge/judge.h"

#include "judge/evaluate.h"

#define TIME_MAX_MS 20000 /* for all rules: a hostile environment of tens of thousands of packages */
#include "judge/gate.h"

static struct facts_row *find_row(const struct facts *f, enum facts_table t, int64_t id)
{
	for (struct facts_row *row = f->first[t]; row; row = row->next)
		if (row->id == id)
			return row;
	return NULL;
}

/* Sets one derived value in the facts and in the store, so that both say the same. */
static void set_value(struct judge *j, struct facts_row *row, enum facts_column c, const struct store_query *q, const char *origin)
{
	switch (facts_columns[c].type) {
	case FACTS_TEXT: facts_text(row, c, store_text(q, 1), origin); break;
	case FACTS_INT: facts_int(row, c, store_int(q, 1), origin); break;
	case FACTS_REAL: facts_real(row, c, store_real(q, 1), origin); break;
	case FACTS_BOOL: facts_bool(row, c, store_int(q, 1) != 0, origin); break;
	}
	store_update(j->store, row, c);
}

static void derive_column(struct judge *j, const char *id, const char *table, const char *column, const char *sql)
{
	struct store_query *q;
	for (int t = 0; t < TABLE_COUNT; t++) {
		struct facts_table_info info = facts_table((enum facts_table)t);
		if (strcmp(info.name, table) != 0 || !j->facts->count[t])
			continue;
		for (int c = info.first; c < info.end; c++) {
			if (strcmp(facts_columns[c].name, column) != 0 || store_prepare(j->store, sql, &q, NULL) < 0)
				continue;
			const char *origin = arena_printf(j->arena, "tables: %s", id);
			while (store_step(q) > 0) {
				struct facts_row *row = store_is_null(q, 1) ? NULL
									    : find_row(j->facts, (enum facts_table)t, store_int(q, 0));
				/* "There is none" is an answer that no table may overrule. */
				if (row && facts_value(row, (enum facts_column)c)->gap != GAP_ABSENT)
					set_value(j, row, (enum facts_column)c, q, origin);
			}
			store_finish(q);
		}
	}
}

void judge_derive(struct judge *j)
{
	struct store_query *q;
	if (store_prepare(j->store, "SELECT id, tbl, col, sql, gate FROM derive ORDER BY ord", &q, NULL) < 0)
		return;
	while (store_step(q) > 0)
		if (j->no_gates || gate_is_open(j->facts, store_text(q, 4)))
			derive_column(j, store_text(q, 0), store_text(q, 1), store_text(q, 2), store_text(q, 3));
	store_finish(q);
}

static void read_waivers(struct judge *j)
{
	struct store_query *q;
	struct waiver *first = NULL;
	if (store_prepare(j->store, "SELECT cause, until, reason, until < date('now') FROM waiver", &q, NULL) < 0)
		return;
	while (store_step(q) > 0) {
		struct waiver *w = arena_alloc(j->arena, sizeof *w);
		const char *until = store_text(q, 1), *reason = store_text(q, 2);
		*w = (struct waiver){arena_strdup(j->arena, store_text(q, 0)), until ? arena_strdup(j->arena, until) : NULL,
			reason ? arena_strdup(j->arena, reason) : NULL, store_int(q, 3) != 0, first};
		first = w;
	}
	store_finish(q);
	j->waivers = first;
}

/* A waived finding is told, and counts for nothing. */
static void waive(struct judge *j, struct candidates *c)
{
	for (struct finding *f = c->first; f; f = f->next) {
		const struct waiver *w = evaluate_waiver(j, f->cause);
		if (!w)
			continue;
		f->waived_until = w->until;
		f->waived_because = w->reason;
		if (!w->expired)
			f->status = STATUS_INFO;
	}
}

void judge_run(struct judge *j, struct judgement *ret)
{
	struct candidates c = {.tail = &c.first};
	struct stage_seen seen[STAGE_COUNT] = {{false, false}};
	*ret = (struct judgement){.verdict = VERDICT_UNKNOWN};
	read_waivers(j);
	store_limit_time(j->store, TIME_MAX_MS);
	evaluate_rules(j, &c, seen, &ret->unknown);
	store_limit_time(j->store, 0);
	evaluate_events(j, &c);
	if (j->mode != JUDGE_EXPLAIN)
		waive(j, &c);
	causes_order(j, &c, seen, ret);
	if (j->mode != JUDGE_FLEET)
		texts_map(j, ret);
	struct facts_row *purpose = j->facts->first[TABLE_purpose];
	if (purpose) {
		ret->backend = facts_get_text(purpose, purpose__backend);
		facts_get_int(purpose, purpose__ranks, &ret->ranks);
	}
}
