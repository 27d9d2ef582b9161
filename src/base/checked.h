/* Arithmetic on sizes that come from files. True when the result fits; *ret untouched otherwise. */
#ifndef BASE_CHECKED_H
#define BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool checked_add(uint64_t a, uint64_t b, uint64_t *ret)
{
	uint64_t r;
	if (__builtin_add_overflow(a, b, &r))
		return false;
	*ret = r;
	return true;
}

static inline bool checked_mul(uint64_t a, uint64_t b, uint64_t *ret)
{
	uint64_t r;
	if (__builtin_mul_overflow(a, b, &r))
		return false;
	*ret = r;
	return true;
}

/* [off, off + len) lies inside [0, size). */
static inline bool checked_range(uint64_t off, uint64_t len, uint64_t size)
{
	return off <= size && len <= size - off;
}

#endif
