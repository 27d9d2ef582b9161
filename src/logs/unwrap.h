/* Text that a terminal or a form wrapped at a fixed width, joined again. */
#ifndef LOGS_UNWRAP_H
#define LOGS_UNWRAP_H

#include "base/str.h"

/* Looks whether the text was cut at one width (no line is wider, several are exactly as wide, and what follows them goes on in the middle
 * of things) or between words (most lines could not have taken the first word of the next). Then joins such lines in place; the newlines
 * are kept behind the joined line, so that the numbers of lines hold. Returns the new length, at most `room`; n when the text was left
 * alone. One such place is enough when the way is given: for further readings of a short report in which the first found nothing. */
enum unwrap_way { UNWRAP_SURE, UNWRAP_AT_WIDTH, UNWRAP_AT_WORDS };
size_t unwrap_text(char *p, size_t n, size_t room, enum unwrap_way way);

/* Nothing is sure, but one of the ways would join something. */
bool unwrap_doubtful(const char *p, size_t n);

#endif
