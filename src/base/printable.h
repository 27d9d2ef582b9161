/* Text for terminals: what could drive one, or deceive its reader, becomes '?'.
 *
 * That is: control bytes, C1 controls (U+0080 to U+009F), line separators and bidirectional overrides (U+2028 to U+202E, U+2066 to U+2069),
 * and bytes that are no UTF-8. Names of files, values of variables and lines of logs are written by others.
 */
#ifndef BASE_PRINTABLE_H
#define BASE_PRINTABLE_H

#include "base/str.h"

enum printable_keep {
	PRINTABLE_LINES = 1,  /* newlines and tabs stay */
	PRINTABLE_STYLES = 2, /* ESC [ digits ; m stays: colours */
};

void printable_clean(char *p, size_t n, unsigned keep); /* in place; the length stays */
/* Length of the valid UTF-8 sequence at p, 0 when there is none. */
size_t printable_utf8(const unsigned char *p, size_t left);

#endif
