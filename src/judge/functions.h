/* The SQL functions that rules use beside SQLite's own: version_cmp, pep440_cmp, pep440_match, pep508_match, marker, arch_runs,
 * driver_runs, edit_distance. NULL in, NULL out. */
#ifndef JUDGE_FUNCTIONS_H
#define JUDGE_FUNCTIONS_H

#include "facts/store.h"

void functions_register(struct store *s);

/* Does code (words as "sm_80 sm_90a compute_90") run on compute capability cc (90 = 9.0)? 1 natively, 2 by compiling PTX, 0 no, -1 unknown.
 */
int functions_arch_runs(int cc, struct str code);

#endif
