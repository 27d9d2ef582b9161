/* Slices of text. A struct str points into somebody else's bytes, is not terminated and may hold any byte. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/banned.h"

struct str {
	const char *ptr;
	size_t len;
};

#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})

static inline struct str str_of(const char *s)
{
	return (struct str){s, s ? strlen(s) : 0};
}

static inline struct str str_n(const char *p, size_t n)
{
	return (struct str){p, n};
}

bool str_eq(struct str a, struct str b);
bool str_is(struct str a, const char *b);
bool str_is_nocase(struct str a, const char *b); /* ASCII */
bool str_starts(struct str s, const char *prefix);
bool str_ends(struct str s, const char *suffix);
bool str_has(struct str s, const char *needle);
int str_cmp(struct str a, struct str b);

/* Position of the first occurrence at or after `from`, or SIZE_MAX. */
size_t str_find(struct str s, const char *needle, size_t from);
size_t str_find_char(struct str s, char c, size_t from);
size_t str_rfind_char(struct str s, char c);

struct str str_trim(struct str s);                          /* blanks, tabs, CR, LF at both ends */
struct str str_slice(struct str s, size_t from, size_t to); /* clamped */
struct str str_skip(struct str s, size_t n);                /* clamped */
struct str str_cut(struct str s, size_t max);               /* at most max bytes, between two UTF-8 characters */

/* Takes the next line off *rest (without its newline and a CR before it). False at the end. */
bool str_next_line(struct str *rest, struct str *ret_line);
/* Takes the next field up to `sep` off *rest. An empty rest gives one empty field, then false (ptr becomes NULL). */
bool str_next_field(struct str *rest, char sep, struct str *ret_field);
/* Takes the next word (run without blanks and tabs) off *rest. False at the end. */
bool str_next_word(struct str *rest, struct str *ret_word);
/* "key<sep>value": trimmed halves; false when sep does not occur. */
bool str_split(struct str s, char sep, struct str *ret_key, struct str *ret_value);

/* Whole-slice numbers. 0, or -EINVAL, -ERANGE; *ret untouched on failure. */
int str_to_int(struct str s, int64_t *ret);
int str_to_hex(struct str s, uint64_t *ret); /* with or without 0x */
int str_to_real(struct str s, double *ret);

size_t str_put_utf8(char *out, uint32_t c); /* 1 to 4 bytes, unterminated; U+FFFD for a surrogate and what is no character */

char *str_dup(struct arena *a, struct str s); /* terminated copy; NULs inside become '?' */

/* A text buffer that grows up to its maximum; what would pass it is dropped and `truncated` set. */
struct buf {
	char *ptr; /* terminated once anything was written; NULL before */
	size_t len, cap, max;
	bool truncated;
};

#define BUF_MAX(max_bytes) ((struct buf){.max = (max_bytes)})

void buf_add(struct buf *b, const void *p, size_t n);
void buf_str(struct buf *b, struct str s);
void buf_text(struct buf *b, const char *s);
void buf_char(struct buf *b, char c);
void buf_fmt(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct str buf_view(const struct buf *b);
void buf_reset(struct buf *b); /* keeps the memory */
void buf_free(struct buf *b);

#endif
