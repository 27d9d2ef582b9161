/* The form of a snapshot on disk: shared by its writer and its reader. docs/SNAPSHOTS.md describes it. */
#ifndef HOST_SNAPSHOT_H
#define HOST_SNAPSHOT_H

#include "base/str.h"

#define SNAPSHOT_INDEX "davy-snapshot.txt"
/* Comments at its head that the reader understands. */
#define WRITTEN_BY "# written by davy "
#define REDACTED "# private data replaced"

/* Words of the index: blanks, newlines, '%' and control bytes stand as %XX. */
void snapshot_encode(struct buf *b, struct str s);
int snapshot_decode(struct arena *a, struct str s, const char **ret);

int snapshot_error_number(struct str name); /* "EACCES" → -EACCES */
const char *snapshot_error_name(struct arena *a, int error);

#endif
