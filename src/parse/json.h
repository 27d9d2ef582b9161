/* JSON: text → a tree in the arena.
 *
 * Reads what RFC 8259 allows and NaN, Infinity (as null), which Python writes. Depth, number of values and size are bounded. Texts are
 * unescaped; lone surrogates become U+FFFD. Nothing is copied that needs no unescaping: the input must live as long as the tree.
 */
#ifndef PARSE_JSON_H
#define PARSE_JSON_H

#include "base/str.h"

#define PARSE_JSON_DEPTH_MAX 128
#define PARSE_JSON_VALUES_MAX ((size_t)4 << 20)

enum json_type { JSON_NULL, JSON_BOOL, JSON_INT, JSON_REAL, JSON_TEXT, JSON_ARRAY, JSON_OBJECT };

struct json {
	enum json_type type;
	union {
		bool boolean;
		int64_t integer;
		double real;
		struct str text;
		struct {
			struct json *first;
			size_t count;
		};
	};
	struct str key;    /* of a member of an object */
	struct json *next; /* the next element or member */
};

/* 0; -EINVAL not JSON; -E2BIG too deep or too many values. *ret_offset (may be NULL) tells where reading stopped. What follows the first
 * value is an error unless it is blank. */
int parse_json(struct arena *a, struct str text, const struct json **ret, size_t *ret_offset);
/* The first value of a text that goes on after it (one value on each line, say): *rest moves behind it. -ENODATA: only blanks are left. */
int parse_json_next(struct arena *a, struct str *rest, const struct json **ret);

/* All of these take NULL and values of another type, and then give NULL, false or nothing. */
const struct json *parse_json_get(const struct json *object, const char *key);
const struct json *parse_json_path(const struct json *object, const char *dotted); /* "driver.version" */
bool parse_json_text(const struct json *v, struct str *ret);
bool parse_json_int(const struct json *v, int64_t *ret); /* a real without fraction too */
bool parse_json_real(const struct json *v, double *ret); /* an integer too */
bool parse_json_bool(const struct json *v, bool *ret);

/* for (const struct json *e = parse_json_first(array); e; e = e->next) */
const struct json *parse_json_first(const struct json *array_or_object);

#endif
