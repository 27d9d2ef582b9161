#include "report/json_writer.h"

#include <math.h>

#include "base/printable.h"

struct json_writer json_writer_to(struct buf *out, bool pretty)
{
	return (struct json_writer){.out = out, .pretty = pretty};
}

static void newline(struct json_writer *w)
{
	if (!w->pretty)
		return;
	buf_char(w->out, '\n');
	for (int i = 0; i < w->depth; i++)
		buf_text(w->out, "  ");
}

static void quoted(struct json_writer *w, struct str s)
{
	const unsigned char *p = (const unsigned char *)s.ptr;
	buf_char(w->out, '"');
	for (size_t i = 0; i < s.len;) {
		size_t n = printable_utf8(p + i, s.len - i);
		if (n == 2 && p[i] == 0xc2 && p[i + 1] < 0xa0) { /* C1 controls drive some terminals */
			buf_fmt(w->out, "\\u%04x", p[i + 1]);
			i += n;
			continue;
		}
		if (n > 1) {
			buf_add(w->out, p + i, n);
			i += n;
			continue;
		}
		unsigned char c = p[i++];
		if (!n)
			buf_text(w->out, "\xef\xbf\xbd");
		else if (c == '"' || c == '\\')
			buf_fmt(w->out, "\\%c", c);
		else if (c == '\n')
			buf_text(w->out, "\\n");
		else if (c == '\t')
			buf_text(w->out, "\\t");
		else if (c < 0x20 || c == 0x7f)
			buf_fmt(w->out, "\\u%04x", c);
		else
			buf_char(w->out, (char)c);
	}
	buf_char(w->out, '"');
}

static void begin(struct json_writer *w, const char *key)
{
	if (w->need_comma)
		buf_char(w->out, ',');
	if (w->depth)
		newline(w);
	if (key) {
		quoted(w, str_of(key));
		buf_text(w->out, w->pretty ? ": " : ":");
	}
	w->need_comma = true;
}

void json_open(struct json_writer *w, const char *key, char bracket)
{
	begin(w, key);
	buf_char(w->out, bracket);
	w->depth++;
	w->need_comma = false;
}

void json_close(struct json_writer *w, char bracket)
{
	bool empty = !w->need_comma;
	w->depth--;
	if (!empty)
		newline(w);
	buf_char(w->out, bracket);
	w->need_comma = true;
}

void json_str(struct json_writer *w, const char *key, struct str text)
{
	begin(w, key);
	quoted(w, text);
}

void json_text(struct json_writer *w, const char *key, const char *text)
{
	if (text)
		json_str(w, key, str_of(text));
	else
		json_null(w, key);
}

void json_int(struct json_writer *w, const char *key, int64_t n)
{
	begin(w, key);
	buf_fmt(w->out, "%lld", (long long)n);
}

void json_real(struct json_writer *w, const char *key, double x)
{
	begin(w, key);
	if (isfinite(x))
		buf_fmt(w->out, "%.12g", x);
	else
		buf_text(w->out, "null");
}

void json_bool(struct json_writer *w, const char *key, bool b)
{
	begin(w, key);
	buf_text(w->out, b ? "true" : "false");
}

void json_null(struct json_writer *w, const char *key)
{
	begin(w, key);
	buf_text(w->out, "null");
}

void json_list(struct json_writer *w, const char *key, const char *const *texts)
{
	json_open(w, key, '[');
	for (size_t i = 0; texts && texts[i]; i++)
		json_text(w, NULL, texts[i]);
	json_close(w, ']');
}
