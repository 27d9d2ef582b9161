/* Placeholders in the sentences and commands of knowledge: {name}, {name:format}, {table.column}.
 *
 * In commands only {table.column}, {pip} and {plan.word} count, because shell text has braces of its own.
 */
#ifndef JUDGE_PLACEHOLDER_H
#define JUDGE_PLACEHOLDER_H

#include "base/str.h"

enum placeholder_where { PLACEHOLDER_TEXT, PLACEHOLDER_COMMAND };

struct placeholder {
	struct str name;         /* all before the colon */
	struct str format;       /* after the colon; empty: as it is */
	bool table;              /* name is table.column */
	const char *start, *end; /* of the braces in the text */
};

/* The next placeholder at or after *at, which is moved behind it. False at the end. */
bool placeholder_next(const char **at, enum placeholder_where where, struct placeholder *ret);
bool placeholder_is_computed(const struct placeholder *p); /* plan.* and pip */
const char *placeholder_table(struct arena *a, const struct placeholder *p);
const char *placeholder_column(struct arena *a, const struct placeholder *p);

/* A value in a format: bytes ("64 MB"), count, list (", " between lines), as it is otherwise. NULL: "?"; in the format optional nothing,
 * nor the blank before it ("GPU {device:optional} failed"). */
void placeholder_format(struct buf *b, struct str format, const char *value);

/* A value as one word of a command: what the shell would act on is escaped. Names of folders and packages are written by others. */
void placeholder_shell(struct buf *b, const char *value, bool inside_quotes);

#endif
