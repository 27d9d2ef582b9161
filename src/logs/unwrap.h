/* Text that a terminal or a form wrapped at a fixed width, joined again. */
#ifndef LOGS_UNWRAP_H
#define LOGS_UNWRAP_H

#include "base/str.h"

/* Looks whether the text was cut at one width: no line is wider, several are exactly as wide, and what follows them goes on in the middle of things. Then
 * joins such lines in place; the newlines are kept behind the joined line, so that the numbers of lines hold. False: left alone. */
bool unwrap_text(char *p, size_t n);

#endif
