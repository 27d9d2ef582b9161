/* Between the files of act/plan. */
#ifndef ACT_PLAN_PARTS_H
#define ACT_PLAN_PARTS_H

#include "act/plan.h"

const char *plan_tr(const struct judge *j, const char *english, const char *chinese);
/* The first value that a query gives, copied; NULL. */
const char *plan_one(struct judge *j, const char *sql);
/* One word of a command, quoted where a shell would act on it. Facts may come from others' snapshots. */
const char *plan_word(struct judge *j, const char *text);

/* NULL-terminated lists of lines that grow. */
struct plan_list {
	struct arena *arena;
	const char **items;
	size_t n, cap;
};

void plan_add(struct plan_list *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *const *plan_items(const struct plan_list *l);

/* The commands that install the best candidate, for pip, uv, conda, offline and containers, through a mirror when one is wanted. */
void plan_commands(struct judge *j, struct plan *p);
void plan_containers(struct judge *j, const char *wanted, struct plan *p); /* wanted: the release asked for, or NULL */
/* What an accelerator that is not served by PyTorch's own wheels takes instead. */
void plan_vendor(struct judge *j, struct plan *p);

#endif
