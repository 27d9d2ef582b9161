/* Lists of nodes as Slurm writes them: "gpu[01-04,07],login1", several brackets in one name too. */
#ifndef FLEET_NODELIST_H
#define FLEET_NODELIST_H

#include "base/str.h"

#define NODELIST_MAX 200000

/* Names separated by commas, blanks or newlines; "#" starts a comment. In the order given, doubles kept. 0; -EINVAL brackets that do not
 * close or no numbers in them; -E2BIG more than NODELIST_MAX names. */
int nodelist_expand(struct arena *a, struct str text, const char *const **ret, size_t *ret_count);

/* The shortest writing of these names: sorted, doubles once, runs of numbers in brackets. max_bytes: what is longer ends with ",..."; 0: no
 * end. */
const char *nodelist_fold(struct arena *a, const char *const *names, size_t count, size_t max_bytes);

/* Natural order: node2 before node10. */
int nodelist_compare(const char *a, const char *b);

#endif
