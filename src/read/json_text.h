/* JSON that a tool printed, on one line or on many: parsed whole, and where each value stands. */
#ifndef READ_JSON_TEXT_H
#define READ_JSON_TEXT_H

#include "parse/json.h"
#include "read/read.h"

struct json_text {
	const struct read_input *in;
	struct facts *f;
	const struct json *root;
	size_t used; /* lines from in->line[0] on */
	struct str text;
	size_t above;                    /* lines of it that stand before in->line[0] */
	size_t counted_at, counted_line; /* newlines before this position */
};

/* The value that begins on in->line[0], or up to three lines above it where the tool prints its bracket on a line of its own. False: it is
 * no JSON, or cut. */
bool json_text_read(const struct read_input *in, struct facts *f, struct json_text *ret);
/* "file:line" of a text value; of others, the line of the trigger. */
const char *json_text_origin(struct json_text *t, const struct json *v);

#endif
