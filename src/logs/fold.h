/* Events, folded: the same pattern, of the same rank, with the same captures is one event with a count. Bounded for each pattern by its
 * class; where further lines stand is kept for the first thousand of a pattern. */
#ifndef LOGS_FOLD_H
#define LOGS_FOLD_H

#include "logs/logs.h"

struct fold {
	struct arena *arena;
	const struct logs_matcher *matcher;
	struct logs_event **slot;
	size_t slot_count;
	struct logs_event **event;
	size_t count, cap;
	uint32_t *kept, *repeats;   /* by pattern */
	struct logs_event **newest; /* by pattern */
};

void fold_init(struct fold *f, struct arena *a, const struct logs_matcher *m);
void fold_free(struct fold *f); /* the tables; events belong to the arena */
/* Takes a copy of e and of its texts. False: beyond the bound; its lines are added to those of the pattern's newest event. */
bool fold_add(struct fold *f, const struct logs_event *e);

#endif
