/* What `davy run` needs of `davy explain`: texts in memory instead of files, this machine's facts beside them, the answer into a buffer. */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include "cli/cli.h"

struct explain_text {
	const char *name;
	struct str text; /* plain or packed */
};

/* Explains as `davy explain --here` does. c->host is the machine as it is now. Nothing is written to `out` when the texts show no failure.
 * 0, or an exit status that was said. */
int explain_texts(struct cli *c, const struct explain_text *text, size_t n, struct buf *out, struct judgement *ret);

#endif
