#include "fleet/nodelist.h"

#include <errno.h>

#define NAME_MAX_BYTES 256
#define DIGITS_MAX 12

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* -- expanding ---------------------------------------------------------------------------------------------------------- */

struct expansion {
	struct arena *arena;
	const char **names;
	size_t count, cap;
};

static int add(struct expansion *x, const char *name)
{
	if (x->count == NODELIST_MAX)
		return -E2BIG;
	x->names = arena_grow(x->arena, x->names, x->count, &x->cap, sizeof *x->names);
	x->names[x->count++] = arena_strdup(x->arena, name);
	return 0;
}

static int expand_item(struct expansion *x, char *prefix, size_t n, struct str rest);

/* One number or range of a bracket, then what follows the bracket. */
static int expand_range(struct expansion *x, char *prefix, size_t n, struct str range, struct str rest)
{
	size_t dash = str_find_char(range, '-', 0);
	struct str low = str_slice(range, 0, dash), high = dash == SIZE_MAX ? low : str_skip(range, dash + 1);
	int64_t from, to;
	if (!low.len || !high.len || !is_digit(low.ptr[0]) || !is_digit(high.ptr[0]) || low.len > DIGITS_MAX || high.len > DIGITS_MAX ||
		str_to_int(low, &from) < 0 || str_to_int(high, &to) < 0 || from > to)
		return -EINVAL;
	if (to - from >= NODELIST_MAX)
		return -E2BIG;
	for (int64_t i = from; i <= to; i++) {
		int digits = snprintf(prefix + n, NAME_MAX_BYTES - n, "%0*lld", (int)low.len, (long long)i);
		if (digits < 0 || (size_t)digits >= NAME_MAX_BYTES - n)
			return -EINVAL;
		int rc = expand_item(x, prefix, n + (size_t)digits, rest);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* prefix[0..n) stands already; `rest` is what is left of the item. */
static int expand_item(struct expansion *x, char *prefix, size_t n, struct str rest)
{
	size_t open = str_find_char(rest, '[', 0), plain = open == SIZE_MAX ? rest.len : open;
	if (n + plain + 1 > NAME_MAX_BYTES || memchr(rest.ptr, '\0', plain) || str_find_char(str_slice(rest, 0, plain), ']', 0) != SIZE_MAX)
		return -EINVAL;
	memcpy(prefix + n, rest.ptr, plain);
	prefix[n + plain] = '\0';
	if (open == SIZE_MAX)
		return add(x, prefix);
	size_t close = str_find_char(rest, ']', open);
	if (close == SIZE_MAX)
		return -EINVAL;
	struct str ranges = str_slice(rest, open + 1, close), range, after = str_skip(rest, close + 1);
	while (str_next_field(&ranges, ',', &range)) {
		int rc = expand_range(x, prefix, n + plain, range, after);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The next item: up to a comma or blank outside brackets. */
static bool next_item(struct str *rest, struct str *ret)
{
	size_t i = 0, from;
	int depth = 0;
	for (;;) {
		while (i < rest->len && (strchr(", \t\r\n", rest->ptr[i]) && rest->ptr[i]))
			i++;
		if (i == rest->len || rest->ptr[i] != '#')
			break;
		while (i < rest->len && rest->ptr[i] != '\n')
			i++;
	}
	for (from = i; i < rest->len; i++) {
		char c = rest->ptr[i];
		depth += (c == '[') - (c == ']');
		if (c == '\n' || (depth <= 0 && (c == ',' || c == ' ' || c == '\t' || c == '\r')))
			break;
	}
	*ret = str_slice(*rest, from, i);
	*rest = str_skip(*rest, i);
	return ret->len > 0;
}

int nodelist_expand(struct arena *a, struct str text, const char *const **ret, size_t *ret_count)
{
	struct expansion x = {.arena = a, .cap = 16};
	struct str item;
	char name[NAME_MAX_BYTES];
	x.names = arena_array(a, x.cap, sizeof *x.names);
	while (next_item(&text, &item)) {
		int rc = expand_item(&x, name, 0, item);
		if (rc < 0)
			return rc;
	}
	*ret = x.names;
	*ret_count = x.count;
	return 0;
}

/* -- folding ------------------------------------------------------------------------------------------------------------ */

int nodelist_compare(const char *a, const char *b)
{
	while (*a && *b) {
		if (is_digit(*a) && is_digit(*b)) {
			const char *x = a, *y = b;
			size_t n = 0, m = 0;
			while (*x == '0')
				x++;
			while (*y == '0')
				y++;
			while (is_digit(x[n]))
				n++;
			while (is_digit(y[m]))
				m++;
			int order = n != m ? (n < m ? -1 : 1) : strncmp(x, y, n);
			if (order)
				return order;
			a = x + n;
			b = y + m;
		} else if (*a != *b) {
			return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
		} else {
			a++;
			b++;
		}
	}
	return *a ? 1 : *b ? -1 : 0;
}

static int by_name(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;
	int order = nodelist_compare(x, y);
	return order ? order : strcmp(x, y);
}

/* A name in three parts: before its last number, the number, and behind it. */
struct parts {
	size_t head, digits; /* digits 0: no number, or one too long */
	int64_t number;
};

static struct parts split(const char *name)
{
	struct parts p = {.head = strlen(name)};
	size_t end = p.head;
	while (end && !is_digit(name[end - 1]))
		end--;
	size_t start = end;
	while (start && is_digit(name[start - 1]))
		start--;
	if (start == end || end - start > DIGITS_MAX)
		return p;
	p.head = start;
	p.digits = end - start;
	str_to_int(str_n(name + start, p.digits), &p.number);
	return p;
}

/* May b stand in the same bracket as a? */
static bool same_shape(const char *a, struct parts p, const char *b, struct parts q)
{
	if (!p.digits || !q.digits || p.head != q.head || memcmp(a, b, p.head) != 0 ||
		strcmp(a + p.head + p.digits, b + q.head + q.digits) != 0)
		return false;
	/* 8, 9, 10 are one range; 08, 9 are not. */
	return p.digits == q.digits || (p.digits < q.digits && a[p.head] != '0' && b[q.head] != '0');
}

/* "[01-04,07]" of the names sorted[from..to), which have one shape; without brackets when it is one number. */
static void put_numbers(struct buf *b, const char *const *sorted, size_t from, size_t to, size_t max_bytes)
{
	struct parts first = split(sorted[from]), last = split(sorted[to - 1]);
	bool brackets = first.number != last.number;
	if (brackets)
		buf_char(b, '[');
	for (size_t i = from; i < to;) {
		struct parts start = split(sorted[i]), end = start;
		size_t n = i + 1;
		for (; n < to; n++) {
			struct parts p = split(sorted[n]);
			if (p.number - end.number > 1)
				break;
			end = p;
		}
		if (max_bytes && b->len > max_bytes) {
			buf_text(b, ",...");
			break;
		}
		buf_fmt(b, "%s%0*lld", i == from ? "" : ",", (int)start.digits, (long long)start.number);
		if (end.number != start.number)
			buf_fmt(b, "%c%0*lld", end.number == start.number + 1 ? ',' : '-', (int)end.digits, (long long)end.number);
		i = n;
	}
	if (brackets)
		buf_char(b, ']');
}

const char *nodelist_fold(struct arena *a, const char *const *names, size_t count, size_t max_bytes)
{
	const char **sorted = arena_array(a, count + 1, sizeof *sorted);
	struct buf b = BUF_MAX((size_t)16 << 20);
	if (count)
		memcpy(sorted, names, count * sizeof *sorted);
	qsort(sorted, count, sizeof *sorted, by_name);
	for (size_t i = 0, next; i < count; i = next) {
		struct parts p = split(sorted[i]);
		next = i + 1;
		while (next < count &&
			(strcmp(sorted[i], sorted[next]) == 0 ||
				same_shape(sorted[next - 1], split(sorted[next - 1]), sorted[next], split(sorted[next]))))
			next++;
		if (max_bytes && b.len > max_bytes) {
			buf_text(&b, ",...");
			break;
		}
		buf_fmt(&b, "%s%.*s", i ? "," : "", (int)p.head, sorted[i]);
		if (p.digits)
			put_numbers(&b, sorted, i, next, max_bytes);
		buf_text(&b, sorted[i] + p.head + p.digits);
	}
	const char *text = arena_strndup(a, buf_view(&b).ptr, b.len);
	buf_free(&b);
	return text;
}
