/* An arena: memory that is given back all at once.
 *
 * Everything that base returns by pointer lives in the arena that was handed in and is never freed on its own.
 * Memory is zeroed. An arena that passes its limit ends the program with status 70 and one line on standard error:
 * all inputs are bounded before, so it means a defect of Davy's.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena;

struct arena *arena_new(size_t limit_bytes); /* 0: 1 GiB */
void arena_free(struct arena *a);            /* NULL is fine */

void *arena_alloc(struct arena *a, size_t size) __attribute__((malloc, returns_nonnull, alloc_size(2)));
/* Not zeroed: for bytes that are overwritten at once. */
void *arena_raw(struct arena *a, size_t size) __attribute__((malloc, returns_nonnull, alloc_size(2)));
void *arena_array(struct arena *a, size_t n, size_t size) __attribute__((returns_nonnull));
/* Grows an array made by arena_array: *cap doubles when it is full. Returns the array, moved perhaps. */
void *arena_grow(struct arena *a, void *array, size_t n, size_t *cap, size_t size) __attribute__((returns_nonnull));

char *arena_strdup(struct arena *a, const char *s) __attribute__((returns_nonnull));
char *arena_strndup(struct arena *a, const char *s, size_t n) __attribute__((returns_nonnull));
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3), nonnull(2), returns_nonnull));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0), nonnull(2), returns_nonnull));

size_t arena_used(const struct arena *a);

#endif
