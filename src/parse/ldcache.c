#include "parse/ldcache.h"

#define OLD_HEADER 16u
#define OLD_ENTRY 12u
#define NEW_HEADER 48u
#define NEW_ENTRY 24u
#define COUNT_MAX 1000000u
#define HWCAP_EXTENSION (1ull << 62)
#define EXTENSION_MAGIC 0xEAA42174u

static struct str string_at(const struct ldcache *c, uint32_t off)
{
	if (off >= c->all.len)
		return str_n(NULL, 0);
	const char *p = c->all.ptr + off;
	const char *end = memchr(p, '\0', c->all.len - off);
	return end ? str_n(p, (size_t)(end - p)) : str_n(NULL, 0);
}

static void read_extension(struct ldcache *c, uint32_t off)
{
	if (!off || !checked_range(off, 8, c->all.len) || parse_u32(c->all.ptr + off) != EXTENSION_MAGIC)
		return;
	uint32_t count = parse_u32(c->all.ptr + off + 4);
	for (uint32_t i = 0; i < count && i < 64; i++) {
		uint64_t at = (uint64_t)off + 8 + (uint64_t)i * 16;
		if (!checked_range(at, 16, c->all.len))
			return;
		const char *p = c->all.ptr + at;
		uint32_t tag = parse_u32(p), start = parse_u32(p + 8), size = parse_u32(p + 12);
		if (!checked_range(start, size, c->all.len))
			continue;
		if (tag == 0)
			c->generator = str_n(c->all.ptr + start, size);
		else if (tag == 1)
			c->hwcaps = str_n(c->all.ptr + start, size / 4 * 4);
	}
}

int parse_ldcache(struct str bytes, struct ldcache *ret)
{
	struct ldcache c = {.hwcaps = {"", 0}, .generator = {"", 0}};
	if (str_starts(bytes, "ld.so-1.7.0") && bytes.len >= OLD_HEADER) {
		uint32_t old = parse_u32(bytes.ptr + 12);
		if (old > COUNT_MAX)
			return -EINVAL;
		uint64_t at = (OLD_HEADER + (uint64_t)old * OLD_ENTRY + 7) & ~7ull;
		if (at > bytes.len)
			return -EINVAL;
		bytes = str_skip(bytes, (size_t)at);
	}
	if (!str_starts(bytes, "glibc-ld.so.cache1.1") || bytes.len < NEW_HEADER)
		return -EINVAL;
	if ((bytes.ptr[28] & 3) == 3) /* 0: not said, 2: little endian, 3: big endian */
		return -EINVAL;
	c.all = bytes;
	c.count = parse_u32(bytes.ptr + 20);
	if (c.count > COUNT_MAX || !checked_range(NEW_HEADER, (uint64_t)c.count * NEW_ENTRY, bytes.len))
		return -EINVAL;
	c.entries = bytes.ptr + NEW_HEADER;
	read_extension(&c, parse_u32(bytes.ptr + 32));
	*ret = c;
	return 0;
}

bool parse_ldcache_entry(const struct ldcache *c, uint32_t index, struct ldcache_entry *ret)
{
	if (index >= c->count)
		return false;
	const char *p = c->entries + (size_t)index * NEW_ENTRY;
	struct ldcache_entry e = {.name = string_at(c, parse_u32(p + 4)), .path = string_at(c, parse_u32(p + 8)), .flags = parse_u32(p), .hwcaps = {"", 0}};
	uint64_t hwcap = parse_u64(p + 16);
	if (!e.name.ptr || !e.path.ptr)
		return false;
	if (hwcap & HWCAP_EXTENSION) {
		uint64_t at = (hwcap & 0xffffffffu) * 4;
		if (!checked_range(at, 4, c->hwcaps.len))
			return false;
		e.hwcaps = string_at(c, parse_u32(c->hwcaps.ptr + at));
		if (!e.hwcaps.ptr)
			return false;
	} else {
		e.hwcap = hwcap;
	}
	*ret = e;
	return true;
}

/* Lower is better; SIZE_MAX: this CPU cannot take it. */
static size_t rank_of(const struct ldcache_entry *e, const char *const *levels, size_t level_count, uint64_t legacy)
{
	if (e->hwcaps.len) {
		for (size_t i = 0; i < level_count; i++)
			if (str_is(e->hwcaps, levels[i]))
				return i;
		return SIZE_MAX;
	}
	return e->hwcap & ~legacy ? SIZE_MAX : level_count; /* among these the first counts: ldconfig sorts the better ones before */
}

bool parse_ldcache_find(const struct ldcache *c, const char *name, uint32_t flags, const char *const *levels, size_t level_count, uint64_t legacy, struct ldcache_entry *ret)
{
	size_t n = strlen(name), best = SIZE_MAX;
	for (uint32_t i = 0; i < c->count; i++) {
		const char *p = c->entries + (size_t)i * NEW_ENTRY;
		uint32_t off = parse_u32(p + 4);
		struct ldcache_entry e;
		if (parse_u32(p) != flags || !checked_range(off, n + 1, c->all.len) || memcmp(c->all.ptr + off, name, n + 1) != 0 || !parse_ldcache_entry(c, i, &e))
			continue;
		size_t rank = rank_of(&e, levels, level_count, legacy);
		if (rank < best) {
			best = rank;
			*ret = e;
		}
	}
	return best != SIZE_MAX;
}
