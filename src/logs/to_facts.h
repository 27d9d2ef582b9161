/* What a scan recognised, as rows of the fact table `event`. */
#ifndef LOGS_TO_FACTS_H
#define LOGS_TO_FACTS_H

#include "facts/facts.h"
#include "logs/logs.h"

/* Rows in the order of reading. The table counts as read even when nothing was recognised. */
void logs_to_facts(const struct logs *l, struct facts *f);

#endif
