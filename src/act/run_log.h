/* The log of a run: what the command wrote, as a terminal would have shown it, bounded and compressed.
 *
 * The beginning (32 MB of text, or 4 MB packed) and the end (16 to 32 MB, or 4 to 8 packed) are kept; where something between was left out,
 * a line says how much. A thread packs and writes; who hands text in never waits for it: what comes faster than it can be packed is left
 * out in the middle too. So a full or dead disk stops nobody, and the text stays in memory to be explained. On disk stand PATH and, while
 * the command runs, PATH.a and PATH.b, the two halves of the end by turns; all three can be read up to the last second when Davy is killed.
 */
#ifndef ACT_RUN_LOG_H
#define ACT_RUN_LOG_H

#include "base/str.h"

struct run_log;

/* path NULL: in memory only. NULL: no memory or no thread. */
struct run_log *run_log_new(const char *path);
void run_log_take(struct run_log *l, const char *p, size_t n); /* from any thread */
/* Nothing more comes: packs the rest and joins the files, for at most this long. False: the disk did not answer, and the log must not be
 * touched or freed any more. */
bool run_log_finish(struct run_log *l, int deadline_ms);
void run_log_free(struct run_log *l); /* NULL is fine */

/* After run_log_finish. */
struct str run_log_packed(const struct run_log *l); /* Zstandard frames, until it is freed */
uint64_t run_log_bytes(const struct run_log *l);    /* of text that came */
uint64_t run_log_left_out(const struct run_log *l); /* and that is not kept */
int run_log_error(const struct run_log *l);         /* why the files are not whole: negative errno, or 0 */

#endif
