/* JSON without a tree: one pass, one token after the other, nothing allocated. For streams of thousands of objects.
 *
 *     json_scan_value(s, &t)                                   a scalar is taken; of an object or an array only the bracket
 *     for (int n = 0; (rc = json_scan_member(s, n++, &key)) > 0;) { json_scan_value or json_scan_skip }
 *     for (int n = 0; (rc = json_scan_element(s, n++)) > 0;)      { json_scan_value or json_scan_skip }
 *
 * Depth is bounded in json_scan_skip (PARSE_JSON_DEPTH_MAX); what the caller descends into, it counts itself. Tokens point into the input.
 */
#ifndef PARSE_JSON_SCAN_H
#define PARSE_JSON_SCAN_H

#include "parse/json.h"

struct json_scan {
	const char *at, *end;
};

struct json_token {
	enum json_type type; /* JSON_INT for any number without fraction and exponent */
	struct str raw;      /* of a text: between the quotes; of a number or word: itself */
	bool escaped;        /* a text with backslashes in it */
	bool truth;
};

/* All give 0 (or 1 where said), -EINVAL: this is no JSON, -ENODATA: the input ends too early, -E2BIG: too deep. */
int json_scan_value(struct json_scan *s, struct json_token *ret);
int json_scan_member(struct json_scan *s, int number,
	struct str *ret_key);                           /* 1: the value follows; 0: the object ends. Escapes in keys stay as they are */
int json_scan_element(struct json_scan *s, int number); /* 1: the value follows; 0: the array ends */
int json_scan_skip(struct json_scan *s);

/* The text of an escaped token, at most raw.len bytes, into `out`. Its length, or -EINVAL. */
long json_scan_unescape(const struct json_token *t, char *out);

#endif
