/* Lines that speak of a failure and are none: source code, an entry of a change log, somebody else's experience, a question about what would be.
 *
 * An error in a sentence of a report ("I get RuntimeError: ...") is evidence, often the only one. So a line counts as told only by what cannot
 * stand in front of an error that happened.
 */
#ifndef LOGS_TOLD_H
#define LOGS_TOLD_H

#include "base/str.h"

/* `message`: the line without its prefixes. `before`: the line before it (empty when there is none), which tells a traceback's source from a file's. */
bool told_only(struct str message, struct str before);

#endif
