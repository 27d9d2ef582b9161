#include "read/json_text.h"

#define TEXT_MAX ((size_t)1 << 20)
#define DEPTH_MAX 64 /* no tool nests deeper: what does is not worth looking for its end */

static bool opens(struct str line)
{
	struct str t = str_trim(line);
	return t.len && (t.ptr[0] == '[' || t.ptr[0] == '{');
}

/* Lines above the trigger that belong to it: from the highest bracket on. */
static size_t lines_above(const struct read_input *in)
{
	size_t above = 0;
	for (size_t b = 0; b < 3 && !opens(in->line[0].text); b++) {
		struct str t = str_trim(in->before[b]);
		if (opens(t))
			above = b + 1;
		else if (!t.len || t.ptr[0] != '"' || above)
			break;
	}
	return above;
}

/* Depth of the brackets after the line; strings, which end on their line, are skipped. */
static void count_brackets(struct str line, int *depth)
{
	bool quoted = false;
	for (size_t i = 0; i < line.len; i++) {
		char c = line.ptr[i];
		if (quoted) {
			i += c == '\\';
			quoted = c != '"';
		} else if (c == '"') {
			quoted = true;
		} else {
			*depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
		}
	}
}

bool json_text_read(const struct read_input *in, struct facts *f, struct json_text *ret)
{
	struct buf b = BUF_MAX(TEXT_MAX);
	int depth = 0;
	size_t above = lines_above(in), i = 0;

	*ret = (struct json_text){.in = in, .f = f, .above = above};
	if (!above && !opens(in->line[0].text))
		return false;
	for (size_t k = above; k > 0; k--) {
		count_brackets(in->before[k - 1], &depth);
		buf_str(&b, in->before[k - 1]);
		buf_char(&b, '\n');
	}
	do {
		count_brackets(in->line[i].text, &depth);
		buf_str(&b, in->line[i].text);
		buf_char(&b, '\n');
	} while (++i < in->count && depth > 0 && depth < DEPTH_MAX && !b.truncated);
	ret->used = i;
	if (depth <= 0 && !b.truncated) {
		struct str rest = ret->text = str_n(arena_strndup(f->arena, b.ptr, b.len), b.len);
		if (parse_json_next(f->arena, &rest, &ret->root) < 0)
			ret->root = NULL;
	}
	buf_free(&b);
	return ret->root != NULL;
}

const char *json_text_origin(struct json_text *t, const struct json *v)
{
	struct str s;
	if (!parse_json_text(v, &s) || s.ptr < t->text.ptr || s.ptr >= t->text.ptr + t->text.len)
		return read_origin(t->f, t->in, 0);
	size_t at = (size_t)(s.ptr - t->text.ptr);
	if (at < t->counted_at)
		t->counted_at = t->counted_line = 0;
	for (; t->counted_at < at; t->counted_at++)
		t->counted_line += t->text.ptr[t->counted_at] == '\n';
	if (t->counted_line >= t->above)
		return read_origin(t->f, t->in, t->counted_line - t->above);
	return arena_printf(t->f->arena, "%s:%zu", t->in->file, t->in->line[0].number - (t->above - t->counted_line));
}
