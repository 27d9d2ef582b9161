/* Archives of snapshots: tar (ustar with GNU long names), compressed with Zstandard; bounded against bombs. */
#ifndef HOST_ARCHIVE_H
#define HOST_ARCHIVE_H

#include <sys/types.h>

#include "base/str.h"

#define ARCHIVE_MAX_BYTES ((size_t)512 << 20)

typedef int archive_member_fn(void *arg, const char *name, struct str data); /* data lives in the arena */

/* Calls `member` for each regular file of PATH (.tar, .tar.zst or .tar.gz). 0 or negative errno with *ret_why said. */
int archive_read(struct arena *a, const char *path, archive_member_fn *member, void *arg, const char **ret_why);
/* The same over bytes in memory: for the fuzzer. */
int archive_read_bytes(struct arena *a, struct str bytes, archive_member_fn *member, void *arg, const char **ret_why);

/* An archive of any length, one member after the other: `data` is there during the call only. A member of more than ARCHIVE_MEMBER_MAX, or
 * more than ARCHIVE_EACH_MAX in all, is -EFBIG. What `read` gives as an error (negative errno) is given back. */
#define ARCHIVE_MEMBER_MAX ((size_t)256 << 20)
#define ARCHIVE_EACH_MAX ((uint64_t)64 << 30)
typedef ssize_t archive_read_fn(void *arg, void *p, size_t n); /* the next bytes: how many, 0 at the end, or negative errno */
int archive_each(struct arena *a, archive_read_fn *read, void *read_arg, archive_member_fn *member, void *arg, const char **ret_why);

/* Do these bytes begin like one? */
bool archive_is_one(struct str head);

/* A tar in memory, written at the end. */
void archive_add(struct buf *tar, const char *name, struct str data, int64_t mtime);
/* Ends the tar and writes it compressed, by a temporary file beside PATH: nothing half-written. */
int archive_write(struct arena *a, struct buf *tar, const char *path, const char **ret_why);

#endif
