/* printf formats as patterns: literal texts in order, with numbers, pointers and texts between them. */
#ifndef LOGS_FORMAT_H
#define LOGS_FORMAT_H

#include "base/str.h"

struct format_piece {
	struct str literal; /* after the conversion; may be empty */
	char before;        /* conversion in front of the literal: 0 none, d x f p c s */
};

struct format {
	struct format_piece *piece;
	size_t count;
	size_t literal_bytes; /* without blanks */
};

/* Always works; what is no conversion is literal. */
void format_parse(struct arena *a, const char *text, struct format *ret);
/* The longest literal. */
struct str format_literal(struct arena *a, const char *text);
/* Does the text contain it? Bounded number of steps. */
bool format_matches(const struct format *f, struct str text);

#endif
