#include "logs/unwrap.h"

#include <ctype.h>
#include <math.h>

#include "logs/prefix.h"

#define WIDTH_MIN 60
#define WIDTH_MAX 260
#define WRAPPED_MIN 3
#define WORDS_MAX 120 /* nobody breaks lines between words at more */
#define TIGHT_MIN 4

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

/* "17:00.0 3D controller": a line of lspci, which looks like a clock. */
static bool is_pci_line(struct str line)
{
	size_t dot = str_find_char(line, '.', 0);
	if (dot == SIZE_MAX || dot < 5 || dot > 10 || dot + 2 >= line.len || line.ptr[dot - 3] != ':' || line.ptr[dot + 2] != ' ')
		return false;
	for (size_t i = 0; i < dot; i++)
		if (line.ptr[i] != ':' && !isxdigit((unsigned char)line.ptr[i]))
			return false;
	return true;
}

/* "RuntimeError: NCCL error in", "torch.distributed.DistBackendError: ..." */
static bool is_exception_line(struct str line)
{
	size_t colon = str_find(line, ": ", 0);
	if (colon == SIZE_MAX || colon > 60)
		return false;
	struct str name = str_slice(line, 0, colon);
	for (size_t i = 0; i < name.len; i++)
		if (!isalnum((unsigned char)name.ptr[i]) && name.ptr[i] != '.' && name.ptr[i] != '_')
			return false;
	return str_ends(name, "Error") || str_ends(name, "Exception") || str_ends(name, "Warning");
}

/* Does a line begin something of its own? */
static bool begins_anew(struct str line)
{
	struct prefix p;
	if (line.len == 0 || strchr("|+=*$#>\t`", line.ptr[0]))
		return true;
	if (is_pci_line(line) || is_exception_line(line))
		return true;
	if (isspace((unsigned char)line.ptr[0]) && (line.len == 1 || isspace((unsigned char)line.ptr[1])))
		return true; /* indented; one blank may be where it was cut */
	if (str_starts(line, "Traceback") || str_starts(line, "File \"") || str_starts(line, "frame #"))
		return true;
	prefix_parse(line, NULL, &p);
	return p.message.ptr != line.ptr && (p.stream || p.level || p.source != PREFIX_NONE || !isnan(p.time) || p.rank >= 0);
}

/* Blanks in a row inside a line, or at its end: columns of a table, which is as wide as it is on purpose. */
static bool has_columns(struct str line)
{
	size_t blanks = 0;
	for (size_t i = 0; i < line.len; i++) {
		if (line.ptr[i] != ' ' && line.ptr[i] != '\t') {
			if (blanks >= 3 && blanks < i)
				return true;
			blanks = 0;
		} else {
			blanks++;
		}
	}
	return blanks >= 3;
}

/* Cannot be the rest of the line before. */
static bool stands_alone(struct str before, struct str line)
{
	return before.len == 0 || is_rule(before) || begins_anew(line) || (has_columns(before) && has_columns(line));
}

struct shape {
	size_t width;
	size_t full, continued,
		alike; /* lines of that width, how many of them go on in the next line, and how many begin as the one before did */
	size_t pairs,
		tight; /* neighbours of which the second begins nothing, and how many of them did not fit into one line, word by word */
};

static struct str first_word(struct str line)
{
	return str_slice(line, 0, str_find_char(line, ' ', 0));
}

static size_t widest(struct str text)
{
	struct str rest = text, line;
	size_t most = 0;
	while (str_next_field(&rest, '\n', &line)) {
		size_t w = width_of(line);
		most = w > most ? w : most;
	}
	return most;
}

static struct shape shape_of(struct str text)
{
	struct shape s = {.width = widest(text)};
	struct str rest = text, line, before = STR(""), full = STR("");
	size_t before_width = 0;
	bool first = true;
	while (str_next_field(&rest, '\n', &line)) {
		size_t w = width_of(line);
		if (!first && !stands_alone(before, line)) {
			s.pairs++;
			s.tight += before_width + 1 + width_of(first_word(line)) > s.width;
			s.continued += before_width == s.width;
		}
		if (w == s.width && !is_rule(line)) {
			s.full++;
			s.alike += full.len >= 10 && line.len >= 10 && memcmp(full.ptr, line.ptr, 10) == 0;
			full = line;
		}
		before = line;
		before_width = w;
		first = false;
	}
	return s;
}

enum wrapping { WRAPPED_NOT, WRAPPED_AT_WIDTH, WRAPPED_AT_WORDS };

/* A terminal cuts at its width; mail programs and forms break between words: then hardly a line could have taken the next one's first word.
 */
static enum wrapping wrapping_of(const struct shape *s, enum unwrap_way way)
{
	bool at_width = s->continued * 2 >= s->tight;
	if (s->width < WIDTH_MIN || s->width > WIDTH_MAX)
		return WRAPPED_NOT;
	if (way == UNWRAP_AT_WIDTH)
		return s->continued ? WRAPPED_AT_WIDTH : WRAPPED_NOT;
	if (way == UNWRAP_AT_WORDS)
		return s->tight ? WRAPPED_AT_WORDS : WRAPPED_NOT;
	if (at_width && s->continued >= WRAPPED_MIN && s->continued * 2 >= s->full && s->alike * 2 < s->full)
		return WRAPPED_AT_WIDTH;
	return s->width <= WORDS_MAX && s->tight >= TIGHT_MIN && s->tight * 10 >= s->pairs * 6 ? WRAPPED_AT_WORDS : WRAPPED_NOT;
}

bool unwrap_doubtful(const char *p, size_t n)
{
	if (memchr(p, '\r', n) || memchr(p, 0, n))
		return false;
	struct shape s = shape_of(str_n(p, n));
	return wrapping_of(&s, UNWRAP_SURE) == WRAPPED_NOT && wrapping_of(&s, UNWRAP_AT_WORDS) != WRAPPED_NOT;
}

size_t unwrap_text(char *p, size_t n, size_t room, enum unwrap_way way)
{
	struct str text = str_n(p, n), line;
	if (memchr(p, '\r', n) || memchr(p, 0, n))
		return n;
	struct shape s = shape_of(text);
	enum wrapping how = wrapping_of(&s, way);
	if (how == WRAPPED_NOT || n + s.tight > room)
		return n;

	char *copy = malloc(n + 1);
	if (!copy)
		return n;
	memcpy(copy, p, n);
	struct str rest = str_n(copy, n), before = STR("");
	size_t out = 0, owed = 0; /* newlines that stand behind the joined line */
	bool first = true;
	while (str_next_field(&rest, '\n', &line)) {
		size_t width = width_of(before);
		bool full = how == WRAPPED_AT_WIDTH ? width == s.width : width + 1 + width_of(first_word(line)) > s.width;
		bool joins = full && !stands_alone(before, line);
		if (joins) {
			owed++;
			if (how == WRAPPED_AT_WORDS)
				p[out++] = ' ';
		} else {
			for (size_t i = first ? 1 : 0; i <= owed; i++)
				p[out++] = '\n';
			owed = 0;
		}
		memcpy(p + out, line.ptr, line.len);
		out += line.len;
		before = line;
		first = false;
	}
	while (owed-- > 0)
		p[out++] = '\n';
	free(copy);
	return out;
}
