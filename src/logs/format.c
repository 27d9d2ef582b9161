#include "logs/format.h"

#include <ctype.h>

#define STEPS_MAX 400

/* After '%': flags, width, precision, length, conversion. 0 when it is none; *ret_len counts what was read. */
static char parse_conversion(const char *p, size_t *ret_len)
{
	const char *q = p;
	while (*q && strchr("-+ #0'", *q))
		q++;
	while (isdigit((unsigned char)*q) || *q == '.' || *q == '*')
		q++;
	while (*q && strchr("hlLqjzt", *q))
		q++;
	char c = *q;
	*ret_len = (size_t)(q - p) + 1;
	if (!c)
		return 0;
	if (strchr("diu", c))
		return 'd';
	if (strchr("xXo", c))
		return 'x';
	if (strchr("fFeEgGaA", c))
		return 'f';
	if (strchr("pcs", c))
		return c;
	return 0;
}

/* One piece: the conversion in front (if *p stands on one) and the literal up to the next. */
static const char *next_piece(const char *p, struct buf *text, char *ret_before)
{
	size_t n;
	*ret_before = 0;
	if (*p == '%' && p[1] != '%') {
		char c = parse_conversion(p + 1, &n);
		if (c) {
			*ret_before = c;
			p += 1 + n;
		}
	}
	bool first = *ret_before == 0;
	while (*p) {
		if (*p == '%' && p[1] == '%') {
			p++;
		} else if (*p == '%' && !first && parse_conversion(p + 1, &n)) {
			break;
		} else if (*p == '%' && first && text->len && parse_conversion(p + 1, &n)) {
			break;
		}
		buf_char(text, *p++);
		first = false;
	}
	return p;
}

void format_parse(struct arena *a, const char *text, struct format *ret)
{
	struct buf b = BUF_MAX(4096);
	size_t cap = 0;

	ret->piece = NULL;
	ret->count = ret->literal_bytes = 0;
	while (*text) {
		char before;
		buf_reset(&b);
		text = next_piece(text, &b, &before);
		ret->piece = arena_grow(a, ret->piece, ret->count, &cap, sizeof(*ret->piece));
		struct format_piece *piece = &ret->piece[ret->count++];
		piece->before = before;
		piece->literal = str_n(arena_strndup(a, b.len ? b.ptr : "", b.len), b.len);
		for (size_t i = 0; i < b.len; i++)
			ret->literal_bytes += b.ptr[i] != ' ';
	}
	buf_free(&b);
}

struct str format_literal(struct arena *a, const char *text)
{
	struct buf b = BUF_MAX(4096);
	struct str best = STR("");

	while (*text) {
		char before;
		buf_reset(&b);
		text = next_piece(text, &b, &before);
		if (b.len > best.len)
			best = str_n(arena_strndup(a, b.ptr, b.len), b.len);
	}
	buf_free(&b);
	return best;
}

/* How many bytes a number, pointer or character takes at p; 0: none stands there. */
static size_t take_value(char conversion, const char *p, const char *end)
{
	const char *q = p;
	if (conversion == 'c')
		return q < end;
	while (q < end && *q == ' ')
		q++;
	if (conversion == 'p' && end - q >= 5 && memcmp(q, "(nil)", 5) == 0)
		return (size_t)(q + 5 - p);
	if (q < end && (*q == '-' || *q == '+'))
		q++;
	bool hex = conversion == 'x' || conversion == 'p';
	if (hex && end - q > 2 && q[0] == '0' && (q[1] == 'x' || q[1] == 'X'))
		q += 2;
	const char *digits = q;
	while (q < end && (hex ? isxdigit((unsigned char)*q) : isdigit((unsigned char)*q)))
		q++;
	if (conversion == 'f')
		while (q < end && (isalnum((unsigned char)*q) || strchr(".+-", *q)))
			q++;
	return q > digits ? (size_t)(q - p) : 0;
}

static const char *find(const char *p, const char *end, struct str needle)
{
	return needle.len == 0 ? p : memmem(p, (size_t)(end - p), needle.ptr, needle.len);
}

/* Piece by piece; at a text conversion the place is remembered, and a failure later tries the next occurrence from there. */
bool format_matches(const struct format *f, struct str text)
{
	const char *end = text.ptr + text.len, *p = text.ptr, *retry = text.ptr;
	size_t i = 0, retry_piece = 0;

	for (int steps = 0; steps < STEPS_MAX; steps++) {
		if (i == f->count)
			return true;
		const struct format_piece *piece = &f->piece[i];
		bool floating = i == 0 || piece->before == 's';
		const char *at = NULL;
		if (floating) {
			at = find(p, end, piece->literal);
			if (!at)
				return false;
			retry = at + 1 <= end ? at + 1 : end;
			retry_piece = i;
		} else {
			size_t n = take_value(piece->before, p, end);
			if (n && (size_t)(end - p) - n >= piece->literal.len && memcmp(p + n, piece->literal.ptr, piece->literal.len) == 0)
				at = p + n;
		}
		if (at) {
			p = at + piece->literal.len;
			i++;
		} else {
			if (f->piece[retry_piece].literal.len == 0)
				return false;
			p = retry;
			i = retry_piece;
		}
	}
	return false;
}
