/* The store: facts as SQL tables in memory, beside the knowledge tables of the embedded image.
 *
 * The image is made by the knowledge compiler: two SQLite databases, one behind the other. The first has the empty fact tables of
 * schema.def and is copied; the second has the compatibility tables as k_<name>, causes, rules and patterns, and is used where it lies.
 * Nothing touches a file. SQLite is known in store.c only.
 *
 * Fact table T has the columns of schema.def, `node` (NULL: this host) and rowid = facts_row.id. Gaps are in table `gap`. The view `seen`
 * is what the log lines of the finding in the table `judged` captured.
 */
#ifndef FACTS_STORE_H
#define FACTS_STORE_H

#include "facts/facts.h"

struct store;
struct store_query;
struct store_call;

/* image NULL: an empty database with the fact tables made afresh (the compiler). 0 or negative errno. */
int store_open(struct arena *a, const void *image, size_t size, struct store **ret);
/* Knowledge will be changed: it is copied too. Before the first query. */
int store_make_writable(struct store *s);
void store_close(struct store *s);

/* Rows that are new since the last call, into the tables. `f` must outlive the store: known('table') asks it. */
int store_load(struct store *s, const struct facts *f);
/* The same for a query of which store_asked_by says that it asks about some tables and not about gaps: only these tables. */
int store_load_asked(struct store *s, const struct facts *f, const bool asked[TABLE_COUNT]);
/* A value of one row, as the facts have it now. */
int store_update(struct store *s, const struct facts_row *row, enum facts_column c);

/* -- queries -- The text of an error lives in the store's arena. */
int store_exec(struct store *s, const char *sql, const char **ret_why);
int store_prepare(struct store *s, const char *sql, struct store_query **ret, const char **ret_why);
int store_step(struct store_query *q); /* 1 a row, 0 the end, negative errno: -ETIMEDOUT past the limit */
void store_reset(struct store_query *q);
void store_finish(struct store_query *q); /* NULL is fine */

int store_columns(const struct store_query *q);
const char *store_column_name(const struct store_query *q, int i);
bool store_is_null(const struct store_query *q, int i);
int64_t store_int(const struct store_query *q, int i);
double store_real(const struct store_query *q, int i);
const char *store_text(const struct store_query *q, int i); /* until the next step; NULL for NULL */
/* The first value of the first row, copied into `a`; NULL: no row, NULL, or the statement is none. */
const char *store_first_text(struct store *s, struct arena *a, const char *sql);
enum store_kind { STORE_NULL, STORE_INT, STORE_REAL, STORE_TEXT };
enum store_kind store_kind_of(const struct store_query *q, int i);

int store_bind_text(struct store_query *q, int i, const char *text); /* i from 1; NULL binds NULL */
int store_bind_int(struct store_query *q, int i, int64_t n);

/* The columns that preparing read, table.column, without duplicates: the evidence of a rule. Filled between these two calls. */
struct store_read {
	const char *table, *column;
};
void store_trace_begin(struct store *s);
size_t store_trace_end(struct store *s, const struct store_read **ret);

/* Which fact tables a query asks about, and which of their columns, without running it; all of them when it asks about gaps, or a function
 * in it looks at facts (known, marker). Only SELECT. 0 or negative errno: it cannot be prepared. */
int store_asked_by(struct store *s, const char *sql, bool ret_tables[TABLE_COUNT], bool ret_columns[COLUMN_COUNT]);

/* Before store_open: what a query of the user may take besides what is there already. */
void store_limit_memory(int64_t bytes);
/* Only SELECT from now on, values of at most 1 MiB, and a limit of time for each query: for `davy query`. */
void store_read_only(struct store *s, double limit_ms);

/* All queries together may take this long from now on; 0: no limit. What comes too late ends with -ETIMEDOUT. */
void store_limit_time(struct store *s, double ms);
/* A query that starts from now on may take this long by itself; 0: no limit. */
void store_limit_each(struct store *s, double ms);

/* The image: what the compiler writes. Lives until store_close. */
int store_serialize(struct store *s, const void **ret, size_t *ret_size);

/* -- SQL functions -- */
typedef void store_function(struct store_call *call);
int store_add_function(struct store *s, const char *name, int args, store_function *fn);
const char *store_arg_text(const struct store_call *call, int i); /* NULL for NULL */
bool store_arg_int(const struct store_call *call, int i, int64_t *ret);
/* The facts that the store was filled from; NULL before store_load. */
const struct facts *store_call_facts(const struct store_call *call);
void store_result_int(struct store_call *call, int64_t n);
void store_result_text(struct store_call *call, const char *text); /* copied; NULL: NULL */
/* A function that sets no result gives NULL. */

#endif
