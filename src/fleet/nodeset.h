/* A set of nodes by number: 64 to a word, words that repeat kept once. A value that all nodes have takes a few bytes, one that every other
 * has N/4 bytes at most. Nodes are added in rising order. Memory is malloc's; nodeset_free gives it back. A zeroed struct is the empty set.
 */
#ifndef FLEET_NODESET_H
#define FLEET_NODESET_H

#include "base/str.h"

struct nodeset_run {
	uint64_t bits;
	uint32_t word, repeat; /* words word .. word + repeat - 1 are `bits` */
};

struct nodeset {
	struct nodeset_run *runs;
	uint32_t run_count, run_cap;
	uint32_t count; /* nodes */
};

void nodeset_free(struct nodeset *s);
void nodeset_add(struct nodeset *s, uint32_t node);      /* >= all that are in it */
void nodeset_add_all(struct nodeset *s, uint32_t nodes); /* 0 .. nodes - 1 into an empty set */
bool nodeset_has(const struct nodeset *s, uint32_t node);

struct nodeset nodeset_and(const struct nodeset *a, const struct nodeset *b);
struct nodeset nodeset_minus(const struct nodeset *a, const struct nodeset *b);
struct nodeset nodeset_or(const struct nodeset *a, const struct nodeset *b);
uint32_t nodeset_and_count(const struct nodeset *a, const struct nodeset *b);

/* The first node >= from, or UINT32_MAX. */
uint32_t nodeset_next(const struct nodeset *s, uint32_t from);

#endif
