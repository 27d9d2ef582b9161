#include "logs/file_rank.h"

#include <ctype.h>

static bool digits_at(struct str s, size_t at, int64_t *ret)
{
	size_t n = at;
	while (n < s.len && n - at < 6 && isdigit((unsigned char)s.ptr[n]))
		n++;
	return n > at && (n == s.len || !isdigit((unsigned char)s.ptr[n])) && str_to_int(str_slice(s, at, n), ret) == 0;
}

/* "rank", perhaps a sign, and a number; not as the end of another word ("local_rank3" is a local one). */
static bool named_rank(struct str base, int64_t *rank, int64_t *local_rank)
{
	for (size_t at = 0; (at = str_find(base, "rank", at)) != SIZE_MAX; at += 4) {
		size_t digit = at + 4;
		int64_t n;
		if (digit < base.len && strchr("-_.=", base.ptr[digit]))
			digit++;
		if (!digits_at(base, digit, &n))
			continue;
		bool local = at >= 5 && memcmp(base.ptr + at - 5, "local", 5) == 0;
		local |= at >= 6 && memcmp(base.ptr + at - 6, "local", 5) == 0;
		if (!local && at > 0 && isalpha((unsigned char)base.ptr[at - 1]))
			continue;
		*(local ? local_rank : rank) = n;
		return true;
	}
	return false;
}

void file_rank(const char *name, int64_t *rank, int64_t *local_rank)
{
	static const char *const streams[] = {"stdout.", "stderr.", "out.", "err."};
	struct str path = str_of(name);
	size_t slash = str_rfind_char(path, '/');
	struct str base = slash == SIZE_MAX ? path : str_skip(path, slash + 1),
		   dir = slash == SIZE_MAX ? STR("") : str_slice(path, 0, slash);
	int64_t n;
	if (named_rank(base, rank, local_rank))
		return;
	for (size_t i = 0; i < 4; i++)
		if (str_starts(base, streams[i]) && str_to_int(str_skip(base, strlen(streams[i])), &n) == 0 && n >= 0 && n < 100000) {
			*rank = n;
			return;
		}
	/* run/attempt_0/3/stderr.log */
	slash = str_rfind_char(dir, '/');
	struct str parent = slash == SIZE_MAX ? dir : str_skip(dir, slash + 1),
		   above = slash == SIZE_MAX ? STR("") : str_slice(dir, 0, slash);
	slash = str_rfind_char(above, '/');
	if (slash != SIZE_MAX)
		above = str_skip(above, slash + 1);
	bool torchrun = str_is(base, "stdout.log") || str_is(base, "stderr.log") || str_is(base, "error.json");
	if (torchrun && str_starts(above, "attempt_") && str_to_int(parent, &n) == 0 && n >= 0)
		*local_rank = n;
	else if (named_rank(parent, rank, local_rank))
		return;
}
