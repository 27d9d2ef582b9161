#include "facts/ledger.h"

#include <errno.h>
#include <sqlite3.h>

#define BUSY_MS 2500

struct ledger {
	sqlite3 *db;
};

struct ledger_query {
	sqlite3_stmt *stmt;
};

static int error_of(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW: return 0;
	case SQLITE_BUSY:
	case SQLITE_LOCKED: return -EBUSY;
	case SQLITE_FULL: return -ENOSPC;
	case SQLITE_READONLY:
	case SQLITE_PERM: return -EROFS;
	case SQLITE_CANTOPEN: return -ENOENT;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB: return -EBADMSG;
	case SQLITE_NOMEM: return -ENOMEM;
	case SQLITE_CONSTRAINT: return -EEXIST;
	case SQLITE_IOERR: return -EIO;
	default: return -EINVAL;
	}
}

int ledger_exec(struct ledger *l, const char *sql)
{
	return error_of(sqlite3_exec(l->db, sql, NULL, NULL, NULL));
}

int ledger_begin(struct ledger *l)
{
	return ledger_exec(l, "BEGIN IMMEDIATE");
}

int ledger_commit(struct ledger *l)
{
	int rc = ledger_exec(l, "COMMIT");
	if (rc < 0)
		ledger_rollback(l);
	return rc;
}

void ledger_rollback(struct ledger *l)
{
	if (!sqlite3_get_autocommit(l->db))
		ledger_exec(l, "ROLLBACK");
}

int64_t ledger_last_row(const struct ledger *l)
{
	return sqlite3_last_insert_rowid(l->db);
}

int ledger_changes(const struct ledger *l)
{
	return sqlite3_changes(l->db);
}

static int version_of(struct ledger *l, int *ret)
{
	struct ledger_query *q;
	int rc = ledger_query(l, &q, "PRAGMA user_version", "");
	if (rc == 0)
		rc = ledger_step(q);
	if (rc > 0)
		*ret = (int)ledger_int(q, 0);
	ledger_finish(q);
	return rc < 0 ? rc : 0;
}

/* Tables are made once, by whoever comes first. */
static int make_tables(struct ledger *l, const char *schema, int version)
{
	char sql[64];
	int found = 0, rc = ledger_begin(l);
	if (rc == 0)
		rc = version_of(l, &found);
	if (rc == 0 && found == 0)
		rc = ledger_exec(l, schema);
	snprintf(sql, sizeof sql, "PRAGMA user_version=%d", version);
	if (rc == 0 && found == 0)
		rc = ledger_exec(l, sql);
	if (rc == 0)
		return ledger_commit(l);
	ledger_rollback(l);
	return rc;
}

/* Made a moment ago, or by somebody who did not get further: it has no table yet. */
static bool is_empty(struct ledger *l)
{
	struct ledger_query *q;
	bool empty = ledger_query(l, &q, "PRAGMA schema_version", "") == 0 && ledger_step(q) > 0 && ledger_int(q, 0) == 0;
	ledger_finish(q);
	return empty;
}

int ledger_open(const char *path, bool write, const char *schema, int version, struct ledger **ret)
{
	int found = 0;
	struct ledger *l = calloc(1, sizeof *l);
	if (!l)
		return -ENOMEM;
	int rc = error_of(sqlite3_open_v2(path, &l->db, write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY, NULL));
	if (rc == 0) {
		sqlite3_busy_timeout(l->db, BUSY_MS);
		sqlite3_db_config(l->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
		ledger_exec(l, "PRAGMA synchronous=NORMAL"); /* each wait for a busy disk counts: the end of a command waits for it */
		rc = version_of(l, &found);
	}
	if (rc == 0 && found > version)
		rc = -EPROTO;
	if (rc == 0 && found == 0)
		rc = write ? make_tables(l, schema, version) : is_empty(l) ? -ENOENT : -EBADMSG;
	if (rc < 0)
		ledger_close(l);
	else
		*ret = l;
	return rc;
}

void ledger_close(struct ledger *l)
{
	if (!l)
		return;
	sqlite3_close_v2(l->db);
	free(l);
}

static int bind(sqlite3_stmt *stmt, const char *types, va_list ap)
{
	int rc = SQLITE_OK;
	for (int i = 1; *types && rc == SQLITE_OK; types++, i++) {
		if (*types == 'i') {
			rc = sqlite3_bind_int64(stmt, i, va_arg(ap, int64_t));
		} else if (*types == 'b') {
			struct str s = va_arg(ap, struct str);
			rc = sqlite3_bind_blob64(stmt, i, s.ptr, s.len, SQLITE_TRANSIENT);
		} else {
			const char *text = va_arg(ap, const char *);
			rc = text ? sqlite3_bind_text(stmt, i, text, -1, SQLITE_TRANSIENT) : sqlite3_bind_null(stmt, i);
		}
	}
	return rc;
}

static int query(struct ledger *l, struct ledger_query **ret, const char *sql, const char *types, va_list ap)
{
	struct ledger_query *q = calloc(1, sizeof *q);
	*ret = q;
	if (!q)
		return -ENOMEM;
	int rc = sqlite3_prepare_v2(l->db, sql, -1, &q->stmt, NULL);
	if (rc == SQLITE_OK)
		rc = bind(q->stmt, types, ap);
	if (rc == SQLITE_OK)
		return 0;
	ledger_finish(q);
	*ret = NULL;
	return error_of(rc);
}

int ledger_query(struct ledger *l, struct ledger_query **ret, const char *sql, const char *types, ...)
{
	va_list ap;
	va_start(ap, types);
	int rc = query(l, ret, sql, types, ap);
	va_end(ap);
	return rc;
}

int ledger_step(struct ledger_query *q)
{
	int rc = sqlite3_step(q->stmt);
	return rc == SQLITE_ROW ? 1 : error_of(rc);
}

void ledger_finish(struct ledger_query *q)
{
	if (!q)
		return;
	sqlite3_finalize(q->stmt);
	free(q);
}

int ledger_run(struct ledger *l, const char *sql, const char *types, ...)
{
	struct ledger_query *q;
	va_list ap;
	va_start(ap, types);
	int rc = query(l, &q, sql, types, ap);
	va_end(ap);
	if (rc == 0)
		rc = ledger_step(q);
	ledger_finish(q);
	return rc < 0 ? rc : 0;
}

const char *ledger_text(struct ledger_query *q, int i)
{
	return (const char *)sqlite3_column_text(q->stmt, i);
}

int64_t ledger_int(struct ledger_query *q, int i)
{
	return sqlite3_column_int64(q->stmt, i);
}

bool ledger_is_null(struct ledger_query *q, int i)
{
	return sqlite3_column_type(q->stmt, i) == SQLITE_NULL;
}

struct str ledger_bytes(struct ledger_query *q, int i)
{
	const char *p = sqlite3_column_blob(q->stmt, i);
	return str_n(p ? p : "", p ? (size_t)sqlite3_column_bytes(q->stmt, i) : 0);
}
