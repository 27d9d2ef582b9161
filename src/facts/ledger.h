/* The ledger: an SQLite file in which `davy run` keeps its attempts. A thin door to SQL; what stands in the tables is act/history's.
 *
 * A rollback journal, not a WAL: home directories are on network file systems, where a WAL's shared memory does not work. Several processes
 * write; each waits for the others up to a few seconds. A writer that is killed leaves a journal, and the next one rolls it back. Nothing
 * here uses an arena: it may run in a thread of its own.
 *
 * Errors: -EBUSY others wrote all the time, -ENOSPC, -EROFS, -ENOENT it cannot be opened, -EBADMSG no ledger or a damaged one, -EPROTO made
 * by a newer Davy, -EIO, -ENOMEM.
 */
#ifndef FACTS_LEDGER_H
#define FACTS_LEDGER_H

#include "base/str.h"

struct ledger;
struct ledger_query;

/* write: made when missing, with `schema` (its tables) and `version`. */
int ledger_open(const char *path, bool write, const char *schema, int version, struct ledger **ret);
void ledger_close(struct ledger *l); /* NULL is fine */

int ledger_exec(struct ledger *l, const char *sql);
int ledger_begin(struct ledger *l);  /* for writing */
int ledger_commit(struct ledger *l); /* what cannot be committed is rolled back */
void ledger_rollback(struct ledger *l);
int64_t ledger_last_row(const struct ledger *l);
int ledger_changes(const struct ledger *l);

/* Parameters follow by `types`: t text (NULL binds NULL), i int64_t, b struct str (bytes). */
int ledger_query(struct ledger *l, struct ledger_query **ret, const char *sql, const char *types, ...);
int ledger_step(struct ledger_query *q);    /* 1 a row, 0 the end, negative errno */
void ledger_finish(struct ledger_query *q); /* NULL is fine */
/* A statement without rows. */
int ledger_run(struct ledger *l, const char *sql, const char *types, ...);

const char *ledger_text(struct ledger_query *q, int i); /* until the next step; NULL for NULL */
int64_t ledger_int(struct ledger_query *q, int i);
bool ledger_is_null(struct ledger_query *q, int i);
struct str ledger_bytes(struct ledger_query *q, int i);

#endif
