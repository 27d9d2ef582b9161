/* `davy explain --follow`: watches growing logs until the cause of a failure is clear.
 *
 * New text is scanned as it comes. Once it holds lines of a failure and is quiet again (or goes on for ten seconds), `is_clear` is asked;
 * it reads the sources and speaks when it can. Standard input that ends is a last question. Files are watched until then, also
 * those that come into a folder later. What a file no longer holds, because it was rotated, cut or removed, is answered from memory: the
 * end of it, 32 MB for all files together.
 */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include "cli/sources.h"

/* True: it has spoken, and *ret_status is the exit status. */
typedef bool follow_clear_fn(void *arg, bool at_end, int *ret_status);

int follow(struct cli *c, struct sources *s, const struct logs_pattern *patterns, size_t count, follow_clear_fn *is_clear, void *arg);

#endif
