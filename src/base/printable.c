#include "base/printable.h"

size_t printable_utf8(const unsigned char *p, size_t left)
{
	size_t n = p[0] < 0x80                ? 1
		: p[0] >= 0xc2 && p[0] < 0xe0 ? 2
		: p[0] >= 0xe0 && p[0] < 0xf0 ? 3
		: p[0] >= 0xf0 && p[0] < 0xf5 ? 4
					      : 0;
	if (!n || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
		(p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

static bool is_deceiving(const unsigned char *p, size_t n)
{
	if (n == 2)
		return p[0] == 0xc2 && p[1] < 0xa0;
	return n == 3 && p[0] == 0xe2 && ((p[1] == 0x80 && p[2] >= 0xa8 && p[2] <= 0xae) || (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9));
}

static size_t style_length(const unsigned char *p, size_t left)
{
	size_t n = 2;
	if (left < 3 || p[0] != 0x1b || p[1] != '[')
		return 0;
	while (n < left && n < 16 && ((p[n] >= '0' && p[n] <= '9') || p[n] == ';'))
		n++;
	return n < left && p[n] == 'm' ? n + 1 : 0;
}

void printable_clean(char *text, size_t n, unsigned keep)
{
	unsigned char *p = (unsigned char *)text;
	for (size_t i = 0; i < n;) {
		if (p[i] >= 0x20 && p[i] < 0x7f) {
			i++;
			continue;
		}
		size_t style = keep & PRINTABLE_STYLES ? style_length(p + i, n - i) : 0;
		if (style) {
			i += style;
			continue;
		}
		size_t length = printable_utf8(p + i, n - i);
		if (length > 1 && !is_deceiving(p + i, length)) {
			i += length;
			continue;
		}
		if (length == 1 && (keep & PRINTABLE_LINES) && (p[i] == '\n' || p[i] == '\t')) {
			i++;
			continue;
		}
		for (size_t k = 0; k < (length ? length : 1); k++)
			p[i++] = '?';
	}
}
