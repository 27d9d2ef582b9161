#include "cli/timeline.h"

#include <math.h>

struct moment {
	const struct facts_row *row;
	double at; /* seconds since the beginning of the year, or of the day; NAN */
	int64_t seq;
};

static bool is_noise(const struct facts_row *row)
{
	const char *class = facts_get_text(row, event__class);
	return class && strcmp(class, "noise") == 0;
}

/* As wide as the column. */
static const char *class_text(struct cli *c, const struct facts_row *row)
{
	static const char *const names[][3] = {{"evidence", "evidence    ", "证据        "},
		{"consequence", "consequence ", "后果        "}, {"advice", "advice      ", "提示        "},
		{"noise", "noise       ", "无害        "}};
	const char *class = facts_get_text(row, event__class);
	for (size_t i = 0; class && i < sizeof names / sizeof names[0]; i++)
		if (strcmp(class, names[i][0]) == 0)
			return cli_tr(c, names[i][1], names[i][2]);
	return "            ";
}

static void print_row(struct cli *c, const struct facts_row *row, const char *clock, struct buf *out)
{
	const char *text = facts_get_text(row, event__text), *file = facts_get_text(row, event__file),
		   *host = facts_get_text(row, event__host);
	int64_t line = 0, rank = -1, count = 1;
	char who[64] = "";
	facts_get_int(row, event__line, &line);
	facts_get_int(row, event__count, &count);
	if (facts_get_int(row, event__rank, &rank) && rank >= 0)
		snprintf(who, sizeof who, "rank %lld", (long long)rank);
	else if (host)
		snprintf(who, sizeof who, "%s", host);
	if (clock)
		buf_fmt(out, "  %-15s", clock);
	buf_fmt(out, "  %-10s %s %s:%lld  ", who, class_text(c, row), file ? file : "-", (long long)line);
	buf_str(out, str_cut(str_of(text ? text : ""), 160));
	if (count > 1)
		buf_fmt(out, "  (%lldx)", (long long)count);
	buf_char(out, '\n');
}

/* Several patterns may know one line: it is told once, as the strongest says. */
static bool tells_same(const struct facts_row *a, const struct facts_row *b)
{
	int64_t x = 0, y = 0;
	const char *file_a = facts_get_text(a, event__file), *file_b = facts_get_text(b, event__file);
	facts_get_int(a, event__line, &x);
	facts_get_int(b, event__line, &y);
	return x == y && file_a && file_b && strcmp(file_a, file_b) == 0;
}

static int strength(const struct facts_row *row)
{
	const char *class = facts_get_text(row, event__class);
	return !class ? 3 : strcmp(class, "evidence") == 0 ? 0 : strcmp(class, "consequence") == 0 ? 1 : 2;
}

void timeline_all(struct cli *c, const struct facts *f, struct buf *out)
{
	const struct facts_row *last = NULL;
	for (const struct facts_row *row = f->first[TABLE_event]; row; row = row->next) {
		bool same = last && tells_same(last, row);
		if (last && !same)
			print_row(c, last, NULL, out);
		if (!same || strength(row) < strength(last))
			last = row;
	}
	if (last)
		print_row(c, last, NULL, out);
	buf_char(out, '\n');
}

/* Days before each month, in a year without 29 February: a glog date has no year. */
static const int days_before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};

/* The clock of a line, without its year: loggers that print one and those that do not must compare. */
static double year_clock(double t)
{
	if (t < 86400)
		return t; /* no date at all */
	time_t whole = (time_t)t;
	struct tm tm;
	if (!gmtime_r(&whole, &tm) || tm.tm_mon < 0 || tm.tm_mon > 11)
		return NAN;
	return (days_before[tm.tm_mon] + tm.tm_mday - 1) * 86400.0 + tm.tm_hour * 3600.0 + tm.tm_min * 60.0 + tm.tm_sec +
		(t - (double)whole);
}

static int by_time(const void *x, const void *y)
{
	const struct moment *a = x, *b = y;
	if (!isnan(a->at) && !isnan(b->at) && a->at != b->at)
		return a->at < b->at ? -1 : 1;
	if (isnan(a->at) != isnan(b->at))
		return isnan(a->at) ? -1 : 1;
	return (a->seq > b->seq) - (a->seq < b->seq);
}

static const char *clock_text(struct cli *c, double at)
{
	if (isnan(at))
		return "";
	long long ms = (long long)(fmod(at, 86400) * 1000);
	return arena_printf(c->arena, "%02lld:%02lld:%02lld.%03lld", ms / 3600000, ms / 60000 % 60, ms / 1000 % 60, ms % 1000);
}

void timeline_in_order(struct cli *c, const struct facts *f, struct buf *out)
{
	struct moment *m = arena_array(c->arena, (size_t)f->count[TABLE_event] + 1, sizeof *m);
	const char *file = NULL;
	double last = NAN;
	size_t n = 0;
	for (const struct facts_row *row = f->first[TABLE_event]; row; row = row->next) {
		const char *here = facts_get_text(row, event__file);
		double t;
		if (file && here && strcmp(file, here) != 0)
			last = NAN;
		file = here;
		if (facts_get_real(row, event__time, &t))
			last = year_clock(t);
		if (is_noise(row))
			continue;
		if (n && tells_same(m[n - 1].row, row)) {
			if (strength(row) < strength(m[n - 1].row))
				m[n - 1].row = row;
		} else {
			m[n] = (struct moment){.row = row, .at = last, .seq = (int64_t)n};
			n++;
		}
	}
	if (n > 1)
		qsort(m, n, sizeof *m, by_time);
	for (size_t i = 0; i < n; i++)
		print_row(c, m[i].row, clock_text(c, m[i].at), out);
	buf_char(out, '\n');
}
