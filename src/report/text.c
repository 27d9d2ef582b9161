#include "report/text.h"

static unsigned decode(struct str s, size_t i, size_t *ret_len)
{
	const unsigned char *p = (const unsigned char *)s.ptr + i;
	size_t n = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (p[0] >= 0x80 && p[0] < 0xc2)
		n = 1;
	if (i + n > s.len)
		n = s.len - i ? 1 : 0;
	unsigned c = n == 1 ? p[0] : n == 2 ? p[0] & 0x1fu : n == 3 ? p[0] & 0xfu : p[0] & 7u;
	for (size_t k = 1; k < n; k++)
		c = c << 6 | (p[k] & 0x3fu);
	*ret_len = n ? n : 1;
	return c;
}

/* Wide and full-width blocks of Unicode's East Asian Width that occur in our texts and in names. */
static int char_width(unsigned c)
{
	if ((c >= 0x300 && c < 0x370) || c == 0x200b || c == 0xfe0f)
		return 0;
	return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0x303e) || (c >= 0x3041 && c <= 0xa4cf) ||
			(c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) ||
			(c >= 0xff00 && c <= 0xff60) || (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1f64f) ||
			(c >= 0x20000 && c <= 0x3fffd)
		? 2
		: 1;
}

static size_t skip_escape(struct str s, size_t i)
{
	if (s.ptr[i] != '\033' || i + 1 >= s.len || s.ptr[i + 1] != '[')
		return 0;
	size_t k = i + 2;
	while (k < s.len && !(s.ptr[k] >= '@' && s.ptr[k] <= '~'))
		k++;
	return k + 1 - i;
}

int text_width(struct str s)
{
	int w = 0;
	for (size_t i = 0; i < s.len;) {
		size_t n = skip_escape(s, i);
		if (!n)
			w += char_width(decode(s, i, &n));
		i += n;
	}
	return w;
}

void text_pad(struct buf *out, int blanks)
{
	for (int i = 0; i < blanks; i++)
		buf_char(out, ' ');
}

/* Punctuation that must not begin a line. */
static bool clings(unsigned c)
{
	static const unsigned all[] = {0x3002, 0xff0c, 0x3001, 0xff1b, 0xff1a, 0xff01, 0xff1f, 0xff09, 0x300b, 0x201d, 0x2019, 0x3011, '.',
		',', ';', ':', ')', '!', '?'};
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (all[i] == c)
			return true;
	return false;
}

/* The next piece that may not be broken: a word, or one wide character with what clings to it. */
static size_t piece(struct str s, size_t i)
{
	size_t start = i, n;
	unsigned c = decode(s, i, &n);
	i += n;
	if (char_width(c) < 2) {
		while (i < s.len && s.ptr[i] != ' ' && s.ptr[i] != '\n') {
			c = decode(s, i, &n);
			if (char_width(c) == 2 && !clings(c))
				break;
			i += n;
		}
	} else {
		while (i < s.len && clings(decode(s, i, &n)))
			i += n;
	}
	return i - start;
}

void text_wrap(struct buf *out, struct str s, int at, int indent, int columns)
{
	int blanks = 0, begin = at;
	for (size_t i = 0; i < s.len;) {
		if (s.ptr[i] == '\n') {
			buf_char(out, '\n');
			text_pad(out, indent);
			at = begin = indent;
			blanks = 0;
			i++;
			continue;
		}
		if (s.ptr[i] == ' ') {
			blanks++;
			i++;
			continue;
		}
		size_t n = piece(s, i);
		int w = text_width(str_slice(s, i, i + n));
		if (at + blanks + w > columns && at > begin) {
			buf_char(out, '\n');
			text_pad(out, indent);
			at = begin = indent;
		} else if (at > begin) {
			text_pad(out, blanks);
			at += blanks;
		}
		buf_str(out, str_slice(s, i, i + n));
		at += w;
		blanks = 0;
		i += n;
	}
}

void text_style(struct buf *out, bool color, enum text_style style, const char *s)
{
	static const char *const codes[] = {"", "\033[1m", "\033[2m", "\033[1;31m", "\033[1;33m", "\033[32m", "\033[36m"};
	if (!color || style == TEXT_PLAIN) {
		buf_text(out, s);
		return;
	}
	buf_fmt(out, "%s%s\033[0m", codes[style], s);
}
