/* Lines that speak of a failure and are none: the source code that would say it. What is told in words (change logs, hearsay) is known by
 * patterns (knowledge/patterns/harmless.yaml); code is known by its form, and by the line before it.
 */
#ifndef LOGS_TOLD_H
#define LOGS_TOLD_H

#include "base/str.h"

/* `message`: the line without its prefixes. `before`: the line before it (empty when there is none), which tells a traceback's source from
 * a file's. */
bool told_only(struct str message, struct str before);

#endif
