/* Inside the judge: candidates from rules and events. */
#ifndef JUDGE_EVALUATE_H
#define JUDGE_EVALUATE_H

#include "judge/judge.h"

struct candidates {
	struct finding *first, **tail;
	size_t count;
};

/* What evaluating saw of each stage. */
struct stage_seen {
	bool fine, unknown_essential;
};

void evaluate_rules(struct judge *j, struct candidates *c, struct stage_seen *seen, struct unknown_fact **ret_unknown);
void evaluate_events(struct judge *j, struct candidates *c);

/* The site's waiver of this cause, also an expired one; NULL. */
const struct waiver *evaluate_waiver(const struct judge *j, const char *cause);

bool evaluate_has_column(const char *table, const char *column); /* is it one of the facts? */

/* Sentences with values filled in. `names` are lines; the values are the query's columns from `from` on. */
const char *evaluate_text(struct judge *j, const char *says, const char *names, const struct store_query *q, int from);
/* A list of lines as a NULL-terminated array. NULL gives an empty one. */
const char *const *evaluate_lines(struct arena *a, const char *lines);

/* causes.c: merges, folds, orders, fills in the texts; sets verdict and stages. */
void causes_order(struct judge *j, struct candidates *c, const struct stage_seen *seen, struct judgement *ret);

/* texts.c */
void texts_fill(struct judge *j, struct finding *f);
/* Stage lines of the map. */
void texts_map(struct judge *j, struct judgement *ret);
/* Text with {table.column} filled from the facts. */
const char *texts_command(struct judge *j, const char *command);

#endif
