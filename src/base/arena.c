#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/pages.h"

#define BLOCK_BYTES ((size_t)64 * 1024)
#define LARGE_BYTES ((size_t)256 * 1024)
#define ALIGN (sizeof(max_align_t))

struct block {
	struct block *next;
	size_t size, used;
	max_align_t data[];
};

struct arena {
	struct block *head;
	size_t total, limit;
};

static void die(const char *why)
{
	fprintf(stderr, "davy: %s\n", why);
	exit(70);
}

struct arena *arena_new(size_t limit_bytes)
{
	struct arena *a = calloc(1, sizeof *a);
	if (!a)
		die("out of memory");
	a->limit = limit_bytes ? limit_bytes : (size_t)1 << 30;
	return a;
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	for (struct block *b = a->head, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(a);
}

void *arena_raw(struct arena *a, size_t size)
{
	if (size > a->limit)
		die("memory limit reached");
	size = (size + ALIGN - 1) / ALIGN * ALIGN;
	if (size == 0)
		size = ALIGN;
	struct block *b = a->head;
	if (!b || b->size - b->used < size) {
		/* A large piece gets a block of its own behind the head, so that the head's free space is not lost. */
		size_t room = size > BLOCK_BYTES / 4 ? size : BLOCK_BYTES;
		if (a->total + room > a->limit)
			die("memory limit reached");
		struct block *fresh = malloc(sizeof *fresh + room);
		if (!fresh)
			die("out of memory");
		if (room >= LARGE_BYTES)
			pages_take(fresh, sizeof *fresh + room);
		*fresh = (struct block){.size = room};
		a->total += room;
		if (b && room == size) {
			fresh->next = b->next;
			b->next = fresh;
		} else {
			fresh->next = b;
			a->head = fresh;
		}
		b = fresh;
	}
	void *p = (char *)b->data + b->used;
	b->used += size;
	return p;
}

void *arena_alloc(struct arena *a, size_t size)
{
	void *p = arena_raw(a, size);
	memset(p, 0, size);
	return p;
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(n, size, &bytes))
		die("memory limit reached");
	return arena_alloc(a, bytes);
}

void *arena_grow(struct arena *a, void *array, size_t n, size_t *cap, size_t size)
{
	if (array && n < *cap)
		return array;
	size_t fresh_cap = *cap && array ? *cap * 2 : 8;
	void *fresh = arena_array(a, fresh_cap, size);
	if (array && n)
		memcpy(fresh, array, n * size);
	*cap = fresh_cap;
	return fresh;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *p = arena_raw(a, n + 1);
	if (n)
		memcpy(p, s, n);
	p[n] = '\0';
	return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
	va_list again;
	char small[256];
	va_copy(again, ap);
	int n = vsnprintf(small, sizeof small, fmt, ap);
	if (n < 0)
		die("formatting failed");
	char *p = arena_raw(a, (size_t)n + 1);
	if ((size_t)n < sizeof small)
		memcpy(p, small, (size_t)n + 1);
	else
		vsnprintf(p, (size_t)n + 1, fmt, again);
	va_end(again);
	return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *p = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return p;
}

size_t arena_used(const struct arena *a)
{
	return a->total;
}
