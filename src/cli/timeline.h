/* What was recognised, as a list for people: everything in the order of reading, or what happened in the order of time. */
#ifndef CLI_TIMELINE_H
#define CLI_TIMELINE_H

#include "cli/cli.h"

/* Every event, by file and line. */
void timeline_all(struct cli *c, const struct facts *f, struct buf *out);
/* Without noise, by the clock as far as lines have a time. A line without one happens when the line above it in its file did: clocks of
 * files are compared, lines without any time keep their order. */
void timeline_in_order(struct cli *c, const struct facts *f, struct buf *out);

#endif
