#include "logs/unwrap.h"

#include <ctype.h>
#include <math.h>

#include "logs/prefix.h"

#define WIDTH_MIN 60
#define WIDTH_MAX 260
#define WRAPPED_MIN 3

/* Columns on a terminal: CJK and full-width forms take two. */
static size_t width_of(struct str line)
{
	size_t columns = 0;
	for (size_t i = 0; i < line.len; i++) {
		unsigned char c = (unsigned char)line.ptr[i];
		if ((c & 0xc0) != 0x80)
			columns += c >= 0xe3 && c <= 0xed ? 2 : c == 0xef ? 2 : 1;
	}
	return columns;
}

static bool is_rule(struct str line) /* tables and boxes are as wide as they are on purpose */
{
	if (line.len < 2)
		return false;
	char first = line.ptr[0], last = line.ptr[line.len - 1];
	return last == '|' || last == '+' || first == '|' || first == '+' || (last == line.ptr[line.len - 2] && strchr("=-*#~_", last));
}

/* Does a line begin something of its own? */
static bool begins_anew(struct str line)
{
	struct prefix p;
	if (line.len == 0 || strchr("|+=*$#>", line.ptr[0]))
		return true;
	if (isspace((unsigned char)line.ptr[0]) && (line.len == 1 || isspace((unsigned char)line.ptr[1])))
		return true; /* indented; one blank may be where it was cut */
	if (str_starts(line, "Traceback") || str_starts(line, "File \"") || str_starts(line, "frame #"))
		return true;
	prefix_parse(line, NULL, &p);
	return p.message.ptr != line.ptr && (p.stream || p.level || p.source != PREFIX_NONE || !isnan(p.time) || p.rank >= 0);
}

struct shape {
	size_t width, full, continued;
};

/* The greatest width, how many lines have it, and how many of these go on in the next line. */
static struct shape shape_of(struct str text)
{
	struct shape s = {.width = 0};
	struct str rest = text, line, before = STR("");
	bool before_full = false;
	while (str_next_field(&rest, '\n', &line)) {
		size_t w = width_of(line);
		if (w > s.width)
			s = (struct shape){.width = w};
		else if (before_full && width_of(before) == s.width && !is_rule(before) && !begins_anew(line))
			s.continued++;
		before_full = w == s.width;
		s.full += before_full && !is_rule(line);
		before = line;
	}
	return s;
}

bool unwrap_text(char *p, size_t n)
{
	struct str text = str_n(p, n), line;
	if (memchr(p, '\r', n) || memchr(p, 0, n))
		return false;
	struct shape s = shape_of(text);
	if (s.width < WIDTH_MIN || s.width > WIDTH_MAX || s.continued < WRAPPED_MIN || s.continued * 2 < s.full)
		return false;

	char *copy = malloc(n + 1);
	if (!copy)
		return false;
	memcpy(copy, p, n);
	struct str rest = str_n(copy, n);
	size_t out = 0, owed = 0; /* newlines that stand behind the joined line */
	bool full = false, first = true;
	while (str_next_field(&rest, '\n', &line)) {
		bool joins = full && !begins_anew(line);
		if (joins) {
			owed++;
		} else {
			for (size_t i = first ? 1 : 0; i <= owed; i++)
				p[out++] = '\n';
			owed = 0;
		}
		memcpy(p + out, line.ptr, line.len);
		out += line.len;
		full = width_of(line) == s.width && !is_rule(line);
		first = false;
	}
	while (owed-- > 0)
		p[out++] = '\n';
	free(copy);
	return out == n;
}
