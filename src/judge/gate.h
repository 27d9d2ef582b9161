/* Gates: why a rule need not be asked.
 *
 * Most rules speak of things that most machines do not have. A gate is what can be said of a rule's condition without SQL: tables that must
 * have a row, with certain values in certain columns. When no such row is there, the condition cannot be true and the rule's SQL is not
 * even prepared. A gate promises no more: an open one says nothing. The compiler reads it off the SQL; of what it does not understand it
 * makes no test.
 */
#ifndef JUDGE_GATE_H
#define JUDGE_GATE_H

#include "facts/facts.h"

/* The gate of a condition on rows of `table` (either part may be NULL): a text, or NULL when there is nothing to test. */
const char *gate_make(struct arena *a, const char *table, const char *where, const char *given);

bool gate_is_open(const struct facts *f, const char *gate); /* NULL is open */

#endif
