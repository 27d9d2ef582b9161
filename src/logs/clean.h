/* Clean text: what terminals, web pages and log collectors added is taken away.
 *
 * ANSI codes, NULs, HTML entities, the envelope of docker's json-file and of other JSON logs, typographic quotes and hard blanks, "\n"
 * spelled out inside a quoted traceback. Lines stay lines (the newlines are kept, so line numbers hold); where a line becomes several
 * records they are separated by CR. Never grows.
 */
#ifndef LOGS_CLEAN_H
#define LOGS_CLEAN_H

#include "base/str.h"

/* What the first part of a file told about all of it. */
struct clean_habit {
	bool escaped;     /* "\u001b[", "^[[" or "\n" spelled out */
	bool typographic; /* quotes and hard blanks: of compilers in a UTF-8 locale, of text editors and web pages */
};

void clean_learn(struct clean_habit *habit, const char *p, size_t n);
bool clean_needed(const struct clean_habit *habit, const char *p, size_t n);
/* out has room for n bytes and is not p. Returns the length. */
size_t clean_text(const char *p, size_t n, char *out);

size_t clean_count_lines(const char *p, size_t n);

#endif
