#include "parse/json_scan.h"

#include <errno.h>

/* 1: a byte that may end or interrupt a text: quote, backslash, control. */
static const unsigned char special[256] = {
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	1,
	['"'] = 1,
	['\\'] = 1,
};

static void skip_blanks(struct json_scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\t' || *s->at == '\r'))
		s->at++;
}

#define BYTES(b) ((uint64_t)0x0101010101010101u * (b))

/* Has one of these eight bytes the value 0? */
static uint64_t has_zero(uint64_t x)
{
	return (x - BYTES(0x01)) & ~x & BYTES(0x80);
}

/* The first special byte at or behind p: eight at a time while none is among them. */
static const char *find_special(const char *p, const char *end)
{
	uint64_t x;
	while (end - p >= 8) {
		memcpy(&x, p, 8);
		uint64_t hit = has_zero(x ^ BYTES('"')) | has_zero(x ^ BYTES('\\')) | ((x - BYTES(0x20)) & ~x & BYTES(0x80));
		if (hit && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
			return p + __builtin_ctzll(hit) / 8; /* the lowest mark is exact: borrows go upwards only */
		if (hit)
			break;
		p += 8;
	}
	while (p < end && !special[(unsigned char)*p])
		p++;
	return p;
}

/* The quote stands behind us. */
static int scan_text(struct json_scan *s, struct str *ret, bool *ret_escaped)
{
	const char *start = s->at, *p = start, *end = s->end;
	bool escaped = false;
	for (;;) {
		p = find_special(p, end);
		if (p == end)
			return -ENODATA;
		if (*p == '"')
			break;
		if (*p != '\\')
			return -EINVAL;
		if (end - p < 2)
			return -ENODATA;
		escaped = true;
		p += 2;
	}
	*ret = str_n(start, (size_t)(p - start));
	*ret_escaped = escaped;
	s->at = p + 1;
	return 0;
}

static int scan_word(struct json_scan *s, const char *word, struct json_token *ret)
{
	size_t n = strlen(word), left = (size_t)(s->end - s->at);
	if (memcmp(s->at, word, left < n ? left : n) != 0)
		return -EINVAL;
	if (left < n)
		return -ENODATA;
	ret->raw = str_n(s->at, n);
	s->at += n;
	return 0;
}

static int scan_number(struct json_scan *s, struct json_token *ret)
{
	const char *p = s->at;
	bool digits = false;
	ret->type = JSON_INT;
	if (p < s->end && *p == '-')
		p++;
	for (; p < s->end; p++) {
		if (*p >= '0' && *p <= '9')
			digits = true;
		else if (*p == '.' || *p == 'e' || *p == 'E' || ((*p == '+' || *p == '-') && p > s->at && (p[-1] == 'e' || p[-1] == 'E')))
			ret->type = JSON_REAL;
		else
			break;
	}
	if (p == s->end)
		return -ENODATA; /* it may go on */
	if (!digits)
		return -EINVAL;
	ret->raw = str_n(s->at, (size_t)(p - s->at));
	s->at = p;
	return 0;
}

int json_scan_value(struct json_scan *s, struct json_token *ret)
{
	skip_blanks(s);
	if (s->at == s->end)
		return -ENODATA;
	*ret = (struct json_token){0};
	switch (*s->at) {
	case '"':
		s->at++;
		ret->type = JSON_TEXT;
		return scan_text(s, &ret->raw, &ret->escaped);
	case '{':
	case '[': ret->type = *s->at++ == '{' ? JSON_OBJECT : JSON_ARRAY; return 0;
	case 't':
		ret->type = JSON_BOOL;
		ret->truth = true;
		return scan_word(s, "true", ret);
	case 'f': ret->type = JSON_BOOL; return scan_word(s, "false", ret);
	case 'n': return scan_word(s, "null", ret);
	case 'N': /* Python writes these */ return scan_word(s, "NaN", ret);
	case 'I': return scan_word(s, "Infinity", ret);
	default: return scan_number(s, ret);
	}
}

/* A comma before all members but the first. 1: there is one more; 0: the bracket closes. */
static int next(struct json_scan *s, int number, char close)
{
	skip_blanks(s);
	if (s->at == s->end)
		return -ENODATA;
	if (*s->at == close) {
		s->at++;
		return 0;
	}
	if (number) {
		if (*s->at != ',')
			return -EINVAL;
		s->at++;
	}
	return 1;
}

int json_scan_member(struct json_scan *s, int number, struct str *ret_key)
{
	bool escaped;
	int rc = next(s, number, '}');
	if (rc <= 0)
		return rc;
	skip_blanks(s);
	if (s->at == s->end)
		return -ENODATA;
	if (*s->at++ != '"')
		return -EINVAL;
	rc = scan_text(s, ret_key, &escaped);
	if (rc < 0)
		return rc;
	skip_blanks(s);
	if (s->at == s->end)
		return -ENODATA;
	return *s->at++ == ':' ? 1 : -EINVAL;
}

int json_scan_element(struct json_scan *s, int number)
{
	return next(s, number, ']');
}

/* By brackets and texts only: commas and words inside are not looked at, but nothing that has no end passes. */
int json_scan_skip(struct json_scan *s)
{
	struct json_token t;
	struct str text;
	bool escaped;
	char open[PARSE_JSON_DEPTH_MAX];
	int depth = 0, rc = json_scan_value(s, &t);
	if (rc < 0 || (t.type != JSON_OBJECT && t.type != JSON_ARRAY))
		return rc;
	open[depth++] = t.type == JSON_OBJECT ? '}' : ']';
	while (depth) {
		while (s->at < s->end && *s->at != '"' && *s->at != '{' && *s->at != '[' && *s->at != '}' && *s->at != ']')
			s->at++;
		if (s->at == s->end)
			return -ENODATA;
		char c = *s->at++;
		if (c == '"') {
			rc = scan_text(s, &text, &escaped);
			if (rc < 0)
				return rc;
		} else if (c == '{' || c == '[') {
			if (depth == PARSE_JSON_DEPTH_MAX)
				return -E2BIG;
			open[depth++] = c == '{' ? '}' : ']';
		} else if (open[--depth] != c) {
			return -EINVAL;
		}
	}
	return 0;
}

/* -- escapes ------------------------------------------------------------------------------------------------------------ */

static int hex4(const char *p, const char *end, unsigned *ret)
{
	uint64_t v;
	if (end - p < 4 || str_to_hex(str_n(p, 4), &v) < 0 || p[1] == 'x' || p[1] == 'X')
		return -EINVAL;
	*ret = (unsigned)v;
	return 0;
}

/* An escape never grows: six bytes give at most three, twelve four. */
long json_scan_unescape(const struct json_token *t, char *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *p = t->raw.ptr, *end = p + t->raw.len;
	char *start = out;
	unsigned c, low;
	while (p < end) {
		if (*p != '\\') {
			*out++ = *p++;
			continue;
		}
		if (++p == end)
			return -EINVAL;
		const char *simple = *p ? strchr(from, *p) : NULL;
		if (simple) {
			*out++ = to[simple - from];
			p++;
			continue;
		}
		if (*p++ != 'u' || hex4(p, end, &c) < 0)
			return -EINVAL;
		p += 4;
		if (c >= 0xd800 && c < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u' && hex4(p + 2, end, &low) == 0 &&
			low >= 0xdc00 && low < 0xe000) {
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
			p += 6;
		} else if (c >= 0xd800 && c < 0xe000) {
			c = 0xfffd; /* half a pair */
		}
		out += str_put_utf8(out, c);
	}
	return out - start;
}
