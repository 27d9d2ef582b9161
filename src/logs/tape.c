#include "logs/tape.h"

#define BLOCK 512
#define MEMBER_MAX ((uint64_t)1 << 50)

/* Octal, or base 256 where the first byte says so. */
static bool number(const char *p, size_t n, uint64_t *ret)
{
	uint64_t v = 0;
	if ((unsigned char)p[0] & 0x80) {
		for (size_t i = 1; i < n; i++) {
			if (v >> 48)
				return false;
			v = v << 8 | (unsigned char)p[i];
		}
		*ret = v;
		return true;
	}
	size_t i = 0;
	while (i < n && p[i] == ' ')
		i++;
	for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
		v = v << 3 | (uint64_t)(p[i] - '0');
	*ret = v;
	return i == n || p[i] == ' ' || p[i] == 0;
}

static bool sum_is_right(const char *p)
{
	uint64_t said, sum = 0;
	if (!number(p + 148, 8, &said))
		return false;
	for (size_t i = 0; i < BLOCK; i++)
		sum += i >= 148 && i < 156 ? ' ' : (unsigned char)p[i];
	return sum == said;
}

bool tape_is_archive(const char *head, size_t n)
{
	return n >= BLOCK && memcmp(head + 257, "ustar", 5) == 0 && sum_is_right(head);
}

/* Exactly n bytes; false when there are not so many. */
static bool fill(struct logs_input *in, char *p, size_t n)
{
	size_t have = 0, got;
	while (have < n && (got = logs_input_read_few(in, p + have, n - have)) > 0)
		have += got;
	return have == n;
}

static bool skip(struct tape *t, uint64_t n)
{
	char scrap[8192];
	while (n) {
		size_t want = n < sizeof scrap ? (size_t)n : sizeof scrap, got = logs_input_read_few(t->in, scrap, want);
		if (!got)
			return false;
		n -= got;
	}
	return true;
}

/* "52 path=a/very/long/name\n" */
static bool pax_name(struct tape *t, struct str records)
{
	bool found = false;
	struct str line;
	while (str_next_line(&records, &line)) {
		size_t at = str_find(line, " path=", 0);
		if (at == SIZE_MAX || at > 8)
			continue;
		found = true;
		snprintf(t->name, sizeof t->name, "%.*s",
			(int)(line.len - at - 6 < sizeof t->name ? line.len - at - 6 : sizeof t->name - 1), line.ptr + at + 6);
	}
	return found;
}

/* A header that names the next file: GNU's long name, or the records of pax. */
static bool long_name(struct tape *t, char kind, uint64_t size, bool *ret_named)
{
	char text[4096];
	size_t n = size < sizeof text - 1 ? (size_t)size : sizeof text - 1, have = 0, got;
	while (have < n && (got = logs_input_read_few(t->in, text + have, n - have)) > 0)
		have += got;
	if (have < n)
		return false;
	text[n] = 0;
	if (kind == 'L')
		snprintf(t->name, sizeof t->name, "%.*s", (int)sizeof t->name - 1, text);
	*ret_named |= kind == 'L' || pax_name(t, str_n(text, n));
	return skip(t, size - n + (BLOCK - size % BLOCK) % BLOCK);
}

static bool ends_early(struct tape *t)
{
	if (!t->problem)
		t->problem = logs_input_problem(t->in) ? logs_input_problem(t->in) : "the archive ends too early";
	return false;
}

bool tape_next(struct tape *t)
{
	char head[BLOCK];
	uint64_t size;
	bool named = false;
	if (!skip(t, t->left + t->pad))
		return ends_early(t);
	t->left = t->pad = 0;
	for (;;) {
		if (!fill(t->in, head, BLOCK)) {
			t->problem = t->problem ? t->problem : logs_input_problem(t->in);
			return false;
		}
		if (!head[0])
			return false; /* blocks of zeros end it */
		if (!sum_is_right(head) || !number(head + 124, 12, &size) || size > MEMBER_MAX) {
			t->problem = "the archive is broken here";
			return false;
		}
		char kind = head[156];
		if (kind == 'L' || kind == 'x') {
			if (!long_name(t, kind, size, &named))
				return ends_early(t);
			continue;
		}
		if (!named && head[345] && memcmp(head + 257, "ustar\0", 6) == 0)
			snprintf(t->name, sizeof t->name, "%.155s/%.100s", head + 345, head);
		else if (!named)
			snprintf(t->name, sizeof t->name, "%.100s", head);
		named = false;
		t->left = size;
		t->pad = (BLOCK - size % BLOCK) % BLOCK;
		if (kind == '0' || kind == 0 || kind == '7')
			return true;
		if (!skip(t, kind == '1' || kind == '2' ? 0 : t->left + t->pad))
			return ends_early(t);
		t->left = t->pad = 0;
	}
}

ssize_t tape_read(void *arg, void *p, size_t n)
{
	struct tape *t = arg;
	size_t want = t->left < n ? (size_t)t->left : n, got;
	if (!want)
		return 0;
	got = logs_input_read_few(t->in, p, want);
	if (!got) {
		ends_early(t);
		t->left = t->pad = 0;
		return 0;
	}
	t->left -= got;
	return (ssize_t)got;
}
