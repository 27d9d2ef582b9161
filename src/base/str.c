#include "base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_space(char c)
{
	return is_blank(c) || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

bool str_eq(struct str a, struct str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

bool str_is(struct str a, const char *b)
{
	return str_eq(a, str_of(b));
}

bool str_is_nocase(struct str a, const char *b)
{
	size_t n = strlen(b);
	if (a.len != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (lower(a.ptr[i]) != lower(b[i]))
			return false;
	return true;
}

bool str_starts(struct str s, const char *prefix)
{
	size_t n = strlen(prefix);
	return s.len >= n && memcmp(s.ptr, prefix, n) == 0;
}

bool str_ends(struct str s, const char *suffix)
{
	size_t n = strlen(suffix);
	return s.len >= n && memcmp(s.ptr + s.len - n, suffix, n) == 0;
}

bool str_has(struct str s, const char *needle)
{
	return str_find(s, needle, 0) != SIZE_MAX;
}

int str_cmp(struct str a, struct str b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int c = n ? memcmp(a.ptr, b.ptr, n) : 0;
	if (c)
		return c;
	return (a.len > b.len) - (a.len < b.len);
}

size_t str_find(struct str s, const char *needle, size_t from)
{
	if (from > s.len)
		return SIZE_MAX;
	const char *p = s.len == from ? (*needle ? NULL : s.ptr + from) : memmem(s.ptr + from, s.len - from, needle, strlen(needle));
	return p ? (size_t)(p - s.ptr) : SIZE_MAX;
}

size_t str_find_char(struct str s, char c, size_t from)
{
	if (from >= s.len)
		return SIZE_MAX;
	const char *p = memchr(s.ptr + from, c, s.len - from);
	return p ? (size_t)(p - s.ptr) : SIZE_MAX;
}

size_t str_rfind_char(struct str s, char c)
{
	for (size_t i = s.len; i > 0; i--)
		if (s.ptr[i - 1] == c)
			return i - 1;
	return SIZE_MAX;
}

struct str str_trim(struct str s)
{
	while (s.len && is_space(s.ptr[0])) {
		s.ptr++;
		s.len--;
	}
	while (s.len && is_space(s.ptr[s.len - 1]))
		s.len--;
	return s;
}

struct str str_slice(struct str s, size_t from, size_t to)
{
	if (to > s.len)
		to = s.len;
	if (from > to)
		from = to;
	return str_n(s.ptr ? s.ptr + from : NULL, to - from);
}

struct str str_skip(struct str s, size_t n)
{
	return str_slice(s, n, s.len);
}

bool str_next_line(struct str *rest, struct str *ret_line)
{
	if (!rest->len)
		return false;
	size_t end = str_find_char(*rest, '\n', 0);
	struct str line = str_slice(*rest, 0, end);
	*rest = end == SIZE_MAX ? str_n(rest->ptr + rest->len, 0) : str_skip(*rest, end + 1);
	if (line.len && line.ptr[line.len - 1] == '\r')
		line.len--;
	*ret_line = line;
	return true;
}

bool str_next_field(struct str *rest, char sep, struct str *ret_field)
{
	if (!rest->ptr)
		return false;
	size_t end = str_find_char(*rest, sep, 0);
	*ret_field = str_slice(*rest, 0, end);
	*rest = end == SIZE_MAX ? str_n(NULL, 0) : str_skip(*rest, end + 1);
	return true;
}

bool str_next_word(struct str *rest, struct str *ret_word)
{
	size_t i = 0;
	while (i < rest->len && is_space(rest->ptr[i]))
		i++;
	size_t start = i;
	while (i < rest->len && !is_space(rest->ptr[i]))
		i++;
	if (i == start)
		return false;
	*ret_word = str_slice(*rest, start, i);
	*rest = str_skip(*rest, i);
	return true;
}

bool str_split(struct str s, char sep, struct str *ret_key, struct str *ret_value)
{
	size_t i = str_find_char(s, sep, 0);
	if (i == SIZE_MAX)
		return false;
	*ret_key = str_trim(str_slice(s, 0, i));
	*ret_value = str_trim(str_skip(s, i + 1));
	return true;
}

int str_to_int(struct str s, int64_t *ret)
{
	bool negative = s.len && s.ptr[0] == '-';
	size_t i = negative || (s.len && s.ptr[0] == '+');
	if (i == s.len)
		return -EINVAL;
	int64_t v = 0;
	for (; i < s.len; i++) {
		if (s.ptr[i] < '0' || s.ptr[i] > '9')
			return -EINVAL;
		int digit = s.ptr[i] - '0';
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, digit, &v))
			return -ERANGE;
	}
	/* Built up negative, so that INT64_MIN fits. */
	if (!negative && __builtin_sub_overflow((int64_t)0, v, &v))
		return -ERANGE;
	*ret = v;
	return 0;
}

int str_to_hex(struct str s, uint64_t *ret)
{
	if (str_starts(s, "0x") || str_starts(s, "0X"))
		s = str_skip(s, 2);
	if (!s.len)
		return -EINVAL;
	if (s.len > 16)
		return -ERANGE;
	uint64_t v = 0;
	for (size_t i = 0; i < s.len; i++) {
		char c = lower(s.ptr[i]);
		unsigned digit;
		if (c >= '0' && c <= '9')
			digit = (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'f')
			digit = (unsigned)(c - 'a') + 10;
		else
			return -EINVAL;
		v = v << 4 | digit;
	}
	*ret = v;
	return 0;
}

int str_to_real(struct str s, double *ret)
{
	char text[64];
	if (!s.len || s.len >= sizeof text)
		return -EINVAL;
	for (size_t i = 0; i < s.len; i++)
		if (!((s.ptr[i] >= '0' && s.ptr[i] <= '9') || s.ptr[i] == '.' || s.ptr[i] == '-' || s.ptr[i] == '+' ||
			    lower(s.ptr[i]) == 'e'))
			return -EINVAL;
	memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	char *end;
	errno = 0;
	double v = strtod(text, &end);
	if (*end || end == text)
		return -EINVAL;
	if (errno)
		return -ERANGE;
	*ret = v;
	return 0;
}

size_t str_put_utf8(char *out, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 63));
		out[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 63));
	out[2] = (char)(0x80 | (c >> 6 & 63));
	out[3] = (char)(0x80 | (c & 63));
	return 4;
}

char *str_dup(struct arena *a, struct str s)
{
	char *p = arena_strndup(a, s.ptr, s.len);
	for (size_t i = 0; i < s.len; i++)
		if (!p[i])
			p[i] = '?';
	return p;
}

struct str str_cut(struct str s, size_t max)
{
	if (s.len <= max)
		return s;
	size_t n = max;
	while (n && max - n < 4 && ((unsigned char)s.ptr[n] & 0xc0) == 0x80)
		n--;
	return str_n(s.ptr, ((unsigned char)s.ptr[n] & 0xc0) == 0x80 ? max : n);
}

/* Room for n more bytes and the terminator; less when the maximum stands in the way. */
static size_t buf_room(struct buf *b, size_t n)
{
	size_t max = b->max ? b->max : (size_t)16 << 20;
	if (n > max - b->len) {
		n = max - b->len;
		b->truncated = true;
	}
	if (b->len + n + 1 > b->cap) {
		size_t cap = b->cap ? b->cap : 256;
		while (cap < b->len + n + 1)
			cap *= 2;
		char *fresh = realloc(b->ptr, cap);
		if (!fresh) {
			b->truncated = true;
			return 0;
		}
		b->ptr = fresh;
		b->cap = cap;
	}
	return n;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
	n = buf_room(b, n);
	if (!b->ptr)
		return;
	if (n)
		memcpy(b->ptr + b->len, p, n);
	b->len += n;
	b->ptr[b->len] = '\0';
}

void buf_str(struct buf *b, struct str s)
{
	buf_add(b, s.ptr, s.len);
}

void buf_text(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_char(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_fmt(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	char small[512];
	int n = vsnprintf(small, sizeof small, fmt, ap);
	va_end(ap);
	if (n > 0) {
		char *text = (size_t)n < sizeof small ? small : malloc((size_t)n + 1);
		if (text) {
			if (text != small)
				vsnprintf(text, (size_t)n + 1, fmt, again);
			buf_add(b, text, (size_t)n);
		} else {
			b->truncated = true;
		}
		if (text != small)
			free(text);
	}
	va_end(again);
}

struct str buf_view(const struct buf *b)
{
	return str_n(b->ptr ? b->ptr : "", b->len);
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->truncated = false;
	if (b->ptr)
		b->ptr[0] = '\0';
}

void buf_free(struct buf *b)
{
	free(b->ptr);
	*b = (struct buf){.max = b->max};
}
