#include "parse/hostlist.h"

#include <errno.h>

#define RANGES_MAX 4 /* brackets in one name */
#define NAME_MAX_BYTES 1024

struct names {
	struct arena *arena;
	const char **list;
	size_t count, cap;
};

static int add(struct names *n, struct str name)
{
	if (!name.len)
		return -EINVAL;
	if (n->count == PARSE_HOSTLIST_MAX)
		return -E2BIG;
	if (n->count == n->cap)
		n->list = arena_grow(n->arena, n->list, n->count, &n->cap, sizeof *n->list);
	n->list[n->count++] = str_dup(n->arena, name);
	return 0;
}

static int expand(struct names *n, struct str done, struct str rest, int depth);

/* One item of a bracket, "01-10" or "7": every number, with its leading zeros. */
static int expand_range(struct names *n, struct str done, struct str item, struct str rest, int depth)
{
	struct str low = item, high = item;
	int64_t from, to;
	size_t dash = str_find_char(item, '-', 0);
	if (dash != SIZE_MAX) {
		low = str_slice(item, 0, dash);
		high = str_skip(item, dash + 1);
	}
	if (!low.len || low.len > 9 || high.len > 9 || str_to_int(low, &from) < 0 || str_to_int(high, &to) < 0 || from < 0 || to < from)
		return -EINVAL;
	if (to - from >= PARSE_HOSTLIST_MAX)
		return -E2BIG;
	for (int64_t i = from; i <= to; i++) {
		const char *name = arena_printf(n->arena, "%.*s%0*lld", (int)done.len, done.ptr, (int)low.len, (long long)i);
		int rc = expand(n, str_of(name), rest, depth + 1);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int expand(struct names *n, struct str done, struct str rest, int depth)
{
	size_t open = str_find_char(rest, '[', 0);
	if (open == SIZE_MAX) {
		if (str_find_char(rest, ']', 0) != SIZE_MAX)
			return -EINVAL;
		return add(n, str_of(arena_printf(n->arena, "%.*s%.*s", (int)done.len, done.ptr, (int)rest.len, rest.ptr)));
	}
	size_t close = str_find_char(rest, ']', open);
	if (close == SIZE_MAX || depth == RANGES_MAX)
		return -EINVAL;
	struct str before = str_slice(rest, 0, open), items = str_slice(rest, open + 1, close), item;
	done = str_of(arena_printf(n->arena, "%.*s%.*s", (int)done.len, done.ptr, (int)before.len, before.ptr));
	while (str_next_field(&items, ',', &item)) {
		int rc = expand_range(n, done, item, str_skip(rest, close + 1), depth);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The comma that ends this name: those inside brackets do not. */
static size_t end_of_name(struct str text)
{
	int depth = 0;
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '[')
			depth++;
		else if (text.ptr[i] == ']')
			depth--;
		else if (text.ptr[i] == ',' && depth == 0)
			return i;
	}
	return text.len;
}

int parse_hostlist(struct arena *a, struct str text, const char ***ret, size_t *ret_count)
{
	struct names n = {.arena = a};
	if (text.len > (1 << 20))
		return -E2BIG;
	while (text.len) {
		size_t end = end_of_name(text);
		int rc = end > NAME_MAX_BYTES ? -EINVAL : expand(&n, str_n("", 0), str_slice(text, 0, end), 0);
		if (rc < 0)
			return rc;
		text = str_skip(text, end + 1);
	}
	*ret = n.list;
	*ret_count = n.count;
	return n.count ? 0 : -EINVAL;
}
