/* Where a parser of large files gets its bytes: a callback, so that parse/ knows neither files nor the door.
 *
 * pread fills exactly n bytes or gives a negative errno. parse_source_read never asks for bytes beyond `size`.
 */
#ifndef PARSE_SOURCE_H
#define PARSE_SOURCE_H

#include <errno.h>

#include "base/checked.h"
#include "base/str.h"

struct parse_source {
	int (*pread)(void *arg, uint64_t off, void *p, size_t n);
	void *arg;
	uint64_t size;
};

/* 0, -ENODATA beyond the end, or what pread gave. */
static inline int parse_source_read(const struct parse_source *s, uint64_t off, void *p, size_t n)
{
	if (!checked_range(off, n, s->size))
		return -ENODATA;
	return n ? s->pread(s->arg, off, p, n) : 0;
}

static inline int parse_source_pread_memory(void *arg, uint64_t off, void *p, size_t n)
{
	const struct str *bytes = arg;
	if (!checked_range(off, n, bytes->len))
		return -ENODATA;
	if (n)
		memcpy(p, bytes->ptr + off, n);
	return 0;
}

/* Bytes in memory as a source; *bytes must outlive it. */
static inline struct parse_source parse_source_of(struct str *bytes)
{
	return (struct parse_source){parse_source_pread_memory, bytes, bytes->len};
}

/* Little-endian numbers at any alignment. */
static inline uint16_t parse_u16(const void *p)
{
	const unsigned char *b = p;
	return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t parse_u32(const void *p)
{
	const unsigned char *b = p;
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t parse_u64(const void *p)
{
	return parse_u32(p) | (uint64_t)parse_u32((const char *)p + 4) << 32;
}

#endif
