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
	struct ldcache_entry e = {
		.name = string_at(c, parse_u32(p + 4)), .path = string_at(c, parse_u32(p + 8)), .flags = parse_u32(p), .hwcaps = {"", 0}};
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

/* The machine that an entry's flags stand for; the low byte 3 is "a library of glibc". */
static const char *machine_of(uint32_t flags)
{
	static const struct {
		uint32_t flags;
		const char *machine;
	} machines[] = {
		{0x0003, "i386"},
		{0x0303, "x86_64"},
		{0x0403, "s390x"},
		{0x0503, "ppc64"},
		{0x0803, "x32"},
		{0x0903, "arm"},
		{0x0a03, "aarch64"},
		{0x0b03, "arm"},
		{0x1003, "riscv64"},
	};
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
		if (machines[i].flags == flags)
			return machines[i].machine;
	return NULL;
}

static bool is_one_line(struct str s)
{
	return s.len && str_find_char(s, '\n', 0) == SIZE_MAX && str_find_char(s, '\r', 0) == SIZE_MAX;
}

int parse_ldcache_text(struct str bytes, struct buf *ret)
{
	struct ldcache c;
	struct ldcache_entry e;
	int r = parse_ldcache(bytes, &c);
	for (uint32_t i = 0; r == 0 && i < c.count; i++) {
		if (!parse_ldcache_entry(&c, i, &e) || !machine_of(e.flags) || !is_one_line(e.name) ||
			str_find_char(e.name, ' ', 0) != SIZE_MAX || !is_one_line(e.path))
			continue;
		buf_fmt(ret, "%s ", machine_of(e.flags));
		if (e.hwcaps.len && is_one_line(e.hwcaps))
			buf_str(ret, e.hwcaps);
		else if (e.hwcap)
			buf_fmt(ret, "0x%llx", (unsigned long long)e.hwcap);
		else
			buf_char(ret, '-');
		buf_char(ret, ' ');
		buf_str(ret, e.name);
		buf_char(ret, ' ');
		buf_str(ret, e.path);
		buf_char(ret, '\n');
	}
	return r;
}
