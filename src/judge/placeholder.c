#include "judge/placeholder.h"

#define VALUE_MAX 1000 /* bytes of one value in a sentence */

static bool word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

bool placeholder_next(const char **at, enum placeholder_where where, struct placeholder *ret)
{
	for (const char *p = *at; (p = strchr(p, '{')); p++) {
		const char *q = p + 1;
		int dots = 0;
		if (p > *at && where == PLACEHOLDER_COMMAND && p[-1] == '$')
			continue;
		while (word_char(*q) || (*q == '.' && q > p + 1))
			dots += *q++ == '.';
		struct placeholder found = {
			.name = str_n(p + 1, (size_t)(q - p - 1)), .format = str_n("", 0), .table = dots == 1, .start = p};
		if (*q == ':') {
			const char *f = ++q;
			while (word_char(*q))
				q++;
			found.format = str_n(f, (size_t)(q - f));
		}
		if (*q != '}' || !found.name.len || dots > 1 || (found.name.ptr[0] >= '0' && found.name.ptr[0] <= '9'))
			continue;
		if (where == PLACEHOLDER_COMMAND && !found.table && !str_is(found.name, "pip"))
			continue;
		found.end = q + 1;
		*ret = found;
		*at = q + 1;
		return true;
	}
	return false;
}

bool placeholder_is_computed(const struct placeholder *p)
{
	return str_is(p->name, "pip") || str_starts(p->name, "plan.");
}

const char *placeholder_table(struct arena *a, const struct placeholder *p)
{
	return arena_strndup(a, p->name.ptr, str_find_char(p->name, '.', 0));
}

const char *placeholder_column(struct arena *a, const struct placeholder *p)
{
	struct str c = str_skip(p->name, str_find_char(p->name, '.', 0) + 1);
	return arena_strndup(a, c.ptr, c.len);
}

void placeholder_format(struct buf *b, struct str format, const char *value)
{
	int64_t n;
	if (!value && str_is(format, "optional")) {
		b->len -= b->len && b->ptr[b->len - 1] == ' ';
	} else if (!value) {
		buf_char(b, '?');
	} else if (str_is(format, "bytes") && str_to_int(str_of(value), &n) == 0 && n >= 0) {
		static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB", "PB"};
		double v = (double)n;
		size_t u = 0;
		while (v >= 1024 && u < 5) {
			v /= 1024;
			u++;
		}
		buf_fmt(b, v >= 100 || v == (double)(int64_t)v ? "%.0f %s" : "%.1f %s", v, units[u]);
	} else if (str_is(format, "list")) {
		for (const char *p = value; *p; p++)
			if (*p == '\n')
				buf_text(b, ", ");
			else
				buf_char(b, *p);
	} else {
		struct str cut = str_cut(str_of(value), VALUE_MAX);
		for (size_t i = 0; i < cut.len; i++) /* columns of a table or a progress bar are one blank apart in a sentence */
			if (cut.ptr[i] != ' ' || i == 0 || cut.ptr[i - 1] != ' ')
				buf_char(b, cut.ptr[i]);
		if (cut.len < strlen(value))
			buf_text(b, "...");
	}
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80 ||
		strchr("_./:=+,@%^-", c) != NULL;
}

void placeholder_shell(struct buf *b, const char *value, bool inside_quotes)
{
	for (const char *p = value; *p; p++) {
		if (inside_quotes && *p == '\'')
			buf_text(b, "'\\''");
		else if (!inside_quotes && !is_plain(*p) && *p != '\n')
			buf_fmt(b, "\\%c", *p);
		else
			buf_char(b, *p == '\n' ? ' ' : *p);
	}
}
