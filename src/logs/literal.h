/* The literals that a regular expression cannot match without.
 *
 * Every match of the expression contains at least one text of the set. It is what the first stage of the scan looks for; an expression
 * without one cannot be scanned for and is refused. The parser knows PCRE2's syntax as far as patterns use it and gives up (-EINVAL) on
 * what it does not know: never a wrong set.
 */
#ifndef LOGS_LITERAL_H
#define LOGS_LITERAL_H

#include "base/str.h"

#define LITERAL_SET_MAX 64
#define LITERAL_MIN 4

struct literal_set {
	struct str text[LITERAL_SET_MAX];
	size_t count;
	bool nocase; /* the texts are lower case and stand for every ASCII spelling */
};

/* 0; -EINVAL: not understood; -ENOENT: no text of at least LITERAL_MIN bytes is required. */
int literal_of_regex(struct arena *a, const char *regex, struct literal_set *ret);

#endif
