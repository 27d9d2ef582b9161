/* Whose log is it, by the file's name? For files of many ranks in which no line says so. */
#ifndef LOGS_FILE_RANK_H
#define LOGS_FILE_RANK_H

#include "base/str.h"

/* "rank3.log", "log.rank_12.txt": a global rank. "attempt_0/3/stderr.log", "attempt_0/3/error.json" (torchrun --log-dir): a local rank.
 * "stderr.7": a global rank. What the name does not tell stays as it is. */
void file_rank(const char *name, int64_t *rank, int64_t *local_rank);

#endif
