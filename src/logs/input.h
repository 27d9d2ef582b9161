/* The bytes of a log, plain: .gz, .zst and .xz unpacked, UTF-16 turned into UTF-8.
 *
 * Reads through a function that the caller gives; opens nothing itself. Memory is bounded (a window of at most 32 MB for zstd, 80 MB for
 * xz), and so is what a small file may grow to (bombs). A broken or cut archive is read as far as it goes, and `logs_input_problem` says
 * what happened.
 */
#ifndef LOGS_INPUT_H
#define LOGS_INPUT_H

#include <sys/types.h>

#include "base/str.h"

/* Bytes read, 0 at the end, or negative errno. */
typedef ssize_t logs_read_fn(void *arg, void *p, size_t n);

struct logs_input;

struct logs_input *logs_input_new(logs_read_fn *read, void *arg);
void logs_input_free(struct logs_input *in);

/* Bytes of plain text, 0 at the end. Fills p as far as the source gives without waiting for more than one read. */
size_t logs_input_read(struct logs_input *in, char *p, size_t n);

/* The first bytes, up to 512, without taking them. Before anything was read. */
size_t logs_input_peek(struct logs_input *in, const char **ret);
/* Like logs_input_read, also for a few bytes; slower. */
size_t logs_input_read_few(struct logs_input *in, char *p, size_t n);

/* NULL: all was read. Otherwise why not: a text without a full stop. */
const char *logs_input_problem(const struct logs_input *in);
int logs_input_error(const struct logs_input *in);           /* negative errno of the source, or 0 */
const char *logs_input_packing(const struct logs_input *in); /* "gzip", "zstd", "xz" or NULL */

#endif
