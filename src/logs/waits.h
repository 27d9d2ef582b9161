/* Who waited for whom: the watchdog lines of all ranks side by side.
 *
 * Ranks of one process group that wait at the same sequence number should do the same. Who does not is odd; who started fewer collectives
 * than all others is behind. Linear after sorting; nothing is judged here.
 */
#ifndef LOGS_WAITS_H
#define LOGS_WAITS_H

#include "facts/facts.h"
#include "logs/logs.h"

/* Rows of `wait` and `speaker`. */
void waits_to_facts(const struct logs *l, struct facts *f);

#endif
