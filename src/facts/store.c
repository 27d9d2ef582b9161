#include "facts/store.h"

#include <errno.h>
#include <sqlite3.h>
#include <time.h>

#define READS_MAX 256
#define VALUE_MAX (1 << 20) /* bytes of a value in a query of the user */

struct store {
	sqlite3 *db;
	struct arena *arena;
	const struct facts *facts;
	int loaded[TABLE_COUNT]; /* rows of the table that are in already */
	const struct facts_table_gap *gaps_loaded;
	bool read_only, tracing, without_gaps;
	bool *asked, *asked_columns;            /* TABLE_COUNT, COLUMN_COUNT: store_asked_by is at work */
	double limit_ms, deadline_ms, until_ms; /* until_ms: for all queries together */
	struct store_read reads[READS_MAX];
	size_t read_count;
	sqlite3_stmt *insert[TABLE_COUNT], *insert_gap;
	unsigned char *bytes;
	const unsigned char *knowledge; /* in the image; NULL: there is none */
	size_t knowledge_size;
};

struct store_query {
	struct store *store;
	sqlite3_stmt *stmt;
	bool running;
	double deadline_ms; /* 0: none */
};

struct registered {
	struct store *store;
	store_function *fn;
};

struct store_call {
	struct store *store;
	sqlite3_context *context;
	sqlite3_value **args;
	int count;
};

static double clock_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int error_of(int rc)
{
	switch (rc) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW: return 0;
	case SQLITE_NOMEM: return -ENOMEM;
	case SQLITE_INTERRUPT: return -ETIMEDOUT;
	case SQLITE_AUTH:
	case SQLITE_READONLY: return -EPERM;
	case SQLITE_TOOBIG: return -EFBIG;
	default: return -EINVAL;
	}
}

static int failed(struct store *s, int rc, const char **ret_why)
{
	if (ret_why)
		*ret_why = arena_strdup(s->arena, sqlite3_errmsg(s->db));
	return error_of(rc) ? error_of(rc) : -EINVAL;
}

/* -- the tables --------------------------------------------------------------------------------------------------------- */

static const char *sql_type(enum facts_type type)
{
	return type == FACTS_TEXT ? "TEXT" : type == FACTS_REAL ? "REAL" : "INTEGER";
}

/* What is known of one finding, for its commands: what its log lines captured, the line that decided first; and its GPU, as nvidia-smi -i
 * takes it. */
static const char seen_sql[] =
	"CREATE TABLE judged(seq INTEGER, symptom TEXT, rank INTEGER, node TEXT, tbl TEXT, row INTEGER);"
	"CREATE VIEW seen AS SELECT e.seq <> j.seq AS place, e.seq, e.symptom, e.text, coalesce(j.rank, e.rank) AS rank,"
	" coalesce(j.node, e.host) AS node, c_host AS host, c_device AS device, c_interface AS interface, c_path AS path, c_version AS version,"
	" c_code AS code, c_address AS address, c_port AS port, c_pid AS pid, c_library AS library, c_symbol AS symbol, c_name AS name,"
	" c_size AS size, coalesce(c_host, c_name, c_address) AS target, c_name AS canonical, NULL AS package,"
	" CASE WHEN c_device GLOB '*:[0-9a-fA-F][0-9a-fA-F].[0-7]' THEN c_device WHEN c_device GLOB '*:[0-9a-fA-F][0-9a-fA-F]' THEN c_device || '.0'"
	" WHEN c_gpu NOT GLOB '*[^0-9]*' THEN c_gpu END AS gpu"
	" FROM event e JOIN judged j ON e.seq = j.seq OR e.symptom = j.symptom"
	" UNION ALL SELECT 2, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, g.\"index\""
	" FROM gpu g WHERE g.rowid = (SELECT row FROM judged WHERE tbl = 'gpu') OR (SELECT count(*) FROM gpu) = 1 ORDER BY 1, 2;";

static int create_tables(struct store *s)
{
	struct buf sql = BUF_MAX((size_t)1 << 20);
	for (int t = 0; t < TABLE_COUNT; t++) {
		struct facts_table_info info = facts_table((enum facts_table)t);
		buf_fmt(&sql, "CREATE TABLE \"%s\"(", info.name);
		for (int c = info.first; c < info.end; c++)
			buf_fmt(&sql, "\"%s\" %s,", facts_columns[c].name, sql_type(facts_columns[c].type));
		buf_text(&sql, "node TEXT);\n");
	}
	buf_text(&sql, "CREATE TABLE gap(tbl TEXT, row INTEGER, col TEXT, reason TEXT, origin TEXT, detail TEXT, node TEXT);");
	buf_text(&sql, seen_sql);
	int rc = store_exec(s, buf_view(&sql).ptr, NULL);
	buf_free(&sql);
	return rc;
}

/* known('table'): 1 when the table was read and has no gap as a whole, else NULL. */
static void sql_known(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct store *s = sqlite3_user_data(context);
	const char *name = argc == 1 ? (const char *)sqlite3_value_text(argv[0]) : NULL;
	if (!name || !s->facts)
		return;
	for (int t = 0; t < TABLE_COUNT; t++) {
		if (strcmp(facts_table((enum facts_table)t).name, name) != 0)
			continue;
		if (!s->facts->read[t])
			return;
		for (const struct facts_table_gap *g = s->facts->gaps; g; g = g->next)
			if (g->table == (enum facts_table)t)
				return;
		sqlite3_result_int(context, 1);
		return;
	}
}

/* `name`: of a column that is read, or of a function. */
static void note_asked(struct store *s, int action, const char *table, const char *name)
{
	/* What looks at facts of tables that the query does not name. */
	bool all = (action == SQLITE_READ && table && strcmp(table, "gap") == 0) ||
		(action == SQLITE_FUNCTION && name && (sqlite3_stricmp(name, "known") == 0 || sqlite3_stricmp(name, "marker") == 0));
	for (int t = 0; t < TABLE_COUNT; t++) {
		struct facts_table_info info = facts_table((enum facts_table)t);
		if (!all && (action != SQLITE_READ || !table || strcmp(table, info.name) != 0))
			continue;
		s->asked[t] = true;
		for (int c = info.first; c < info.end; c++)
			if (all || (name && strcmp(name, facts_columns[c].name) == 0))
				s->asked_columns[c] = true;
	}
}

static int on_read(void *arg, int action, const char *a, const char *b, const char *db, const char *trigger)
{
	(void)db;
	(void)trigger;
	struct store *s = arg;
	if (s->tracing && action == SQLITE_READ && a && b && *b) {
		for (size_t i = 0; i < s->read_count; i++)
			if (strcmp(s->reads[i].table, a) == 0 && strcmp(s->reads[i].column, b) == 0)
				return SQLITE_OK;
		if (s->read_count < READS_MAX)
			s->reads[s->read_count++] = (struct store_read){arena_strdup(s->arena, a), arena_strdup(s->arena, b)};
	}
	if (s->asked)
		note_asked(s, action, a, b);
	if ((s->read_only || s->asked) && action != SQLITE_READ && action != SQLITE_SELECT && action != SQLITE_FUNCTION &&
		action != SQLITE_RECURSIVE)
		return SQLITE_DENY;
	return SQLITE_OK;
}

static int on_progress(void *arg)
{
	const struct store *s = arg;
	double now = s->deadline_ms > 0 || s->until_ms > 0 ? clock_ms() : 0;
	return (s->deadline_ms > 0 && now > s->deadline_ms) || (s->until_ms > 0 && now > s->until_ms);
}

static int load_copy(struct store *s, const char *name, const unsigned char *image, size_t size)
{
	unsigned char *copy = sqlite3_malloc64(size);
	if (!copy)
		return SQLITE_NOMEM;
	memcpy(copy, image, size);
	return sqlite3_deserialize(s->db, name, copy, (sqlite3_int64)size, (sqlite3_int64)size,
		SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
}

/* The size of the SQLite database that begins there: its page size and its number of pages stand in the head. */
static size_t database_size(const unsigned char *p, size_t size)
{
	if (size < 100)
		return 0;
	size_t page = (size_t)p[16] << 8 | p[17], pages = (size_t)p[28] << 24 | (size_t)p[29] << 16 | (size_t)p[30] << 8 | p[31];
	if (page == 1)
		page = 65536;
	return page * pages <= size ? page * pages : 0;
}

static int take_image(struct store *s, const unsigned char *image, size_t size)
{
	size_t facts = database_size(image, size);
	if (!facts || facts == size)
		return SQLITE_CORRUPT;
	s->knowledge = image + facts;
	s->knowledge_size = size - facts;
	int rc = load_copy(s, "main", image, facts);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(s->db, "ATTACH ':memory:' AS knowledge", NULL, NULL, NULL);
	if (rc == SQLITE_OK) /* not written to: SQLite's interface has no const */
		rc = sqlite3_deserialize(s->db, "knowledge", (unsigned char *)(uintptr_t)s->knowledge, (sqlite3_int64)s->knowledge_size,
			(sqlite3_int64)s->knowledge_size, SQLITE_DESERIALIZE_READONLY);
	return rc;
}

int store_make_writable(struct store *s)
{
	return s->knowledge ? error_of(load_copy(s, "knowledge", s->knowledge, s->knowledge_size)) : 0;
}

static int64_t memory_limit; /* of the process: SQLite counts only when it was told so before its first use */

void store_limit_memory(int64_t bytes)
{
	memory_limit = bytes;
}

#define PAGE_BYTES 4096
#define FACTS_PAGE_BYTES 1024 /* each run copies the tables of facts, most of which stay empty */

static int open_with_pages(struct arena *a, const void *image, size_t size, int page_bytes, struct store **ret)
{
	struct store *s = arena_alloc(a, sizeof *s);
	s->arena = a;
	sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, memory_limit > 0);
	sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0); /* no store of free pages: a read-only image needs none */
	sqlite3_config(SQLITE_CONFIG_MMAP_SIZE, (sqlite3_int64)1 << 28, (sqlite3_int64)1 << 28); /* pages of it are read where they lie */
	int rc = sqlite3_open_v2(":memory:", &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc == SQLITE_OK) /* a name that is no column is an error, not a text */
		rc = sqlite3_db_config(s->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	if (rc == SQLITE_OK && image)
		rc = take_image(s, image, size);
	if (rc != SQLITE_OK) {
		sqlite3_close(s->db);
		return error_of(rc);
	}
	sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	sqlite3_create_function(s->db, "known", 1, SQLITE_UTF8, s, sql_known, NULL, NULL);
	sqlite3_progress_handler(s->db, 10000, on_progress, s);
	store_exec(s, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA temp_store=MEMORY;", NULL);
	if (!image)
		store_exec(s, arena_printf(a, "PRAGMA page_size=%d", page_bytes), NULL);
	rc = image ? 0 : create_tables(s);
	if (rc < 0) {
		store_close(s);
		return rc;
	}
	sqlite3_set_authorizer(s->db, on_read, s);
	*ret = s;
	return 0;
}

int store_open(struct arena *a, const void *image, size_t size, struct store **ret)
{
	return open_with_pages(a, image, size, PAGE_BYTES, ret);
}

void store_close(struct store *s)
{
	if (!s)
		return;
	for (int t = 0; t < TABLE_COUNT; t++)
		sqlite3_finalize(s->insert[t]);
	sqlite3_finalize(s->insert_gap);
	sqlite3_free(s->bytes);
	sqlite3_close_v2(s->db);
	s->db = NULL;
}

/* -- facts → rows ------------------------------------------------------------------------------------------------------- */

static void bind_value(sqlite3_stmt *q, int i, const struct facts_value *v, enum facts_type type)
{
	if (v->gap != GAP_NONE)
		sqlite3_bind_null(q, i);
	else if (type == FACTS_TEXT)
		sqlite3_bind_text(q, i, v->text, -1, SQLITE_STATIC);
	else if (type == FACTS_REAL)
		sqlite3_bind_double(q, i, v->r);
	else
		sqlite3_bind_int64(q, i, v->i);
}

static int prepare_insert(struct store *s, enum facts_table t)
{
	struct facts_table_info info = facts_table(t);
	struct buf sql = BUF_MAX(65536);
	buf_fmt(&sql, "INSERT INTO \"%s\"(rowid", info.name);
	for (int c = info.first; c < info.end; c++)
		buf_fmt(&sql, ",\"%s\"", facts_columns[c].name);
	buf_text(&sql, ",node) VALUES(?");
	for (int c = info.first; c < info.end; c++)
		buf_text(&sql, ",?");
	buf_text(&sql, ",?)");
	int rc = sqlite3_prepare_v2(s->db, sql.ptr, -1, &s->insert[t], NULL);
	buf_free(&sql);
	return error_of(rc);
}

static int insert_gap(struct store *s, const char *table, int row, const char *column, enum facts_gap gap, const char *origin,
	const char *detail, const char *node)
{
	if (!s->insert_gap && sqlite3_prepare_v2(s->db, "INSERT INTO gap VALUES(?,?,?,?,?,?,?)", -1, &s->insert_gap, NULL) != SQLITE_OK)
		return -EINVAL;
	sqlite3_stmt *q = s->insert_gap;
	sqlite3_bind_text(q, 1, table, -1, SQLITE_STATIC);
	if (row)
		sqlite3_bind_int(q, 2, row);
	else
		sqlite3_bind_null(q, 2);
	sqlite3_bind_text(q, 3, column, -1, SQLITE_STATIC);
	sqlite3_bind_text(q, 4, facts_gap_name(gap), -1, SQLITE_STATIC);
	sqlite3_bind_text(q, 5, origin, -1, SQLITE_STATIC);
	sqlite3_bind_text(q, 6, detail, -1, SQLITE_STATIC);
	sqlite3_bind_text(q, 7, node, -1, SQLITE_STATIC);
	int rc = sqlite3_step(q);
	sqlite3_reset(q);
	return error_of(rc);
}

static int insert_row(struct store *s, const struct facts_row *row)
{
	struct facts_table_info info = facts_table(row->table);
	sqlite3_stmt *q = s->insert[row->table];
	sqlite3_bind_int(q, 1, row->id);
	int i = 2;
	for (int c = info.first; c < info.end; c++) {
		const struct facts_value *v = &row->value[c - info.first];
		bind_value(q, i++, v, facts_columns[c].type);
		if (v->set && v->gap != GAP_NONE && !s->without_gaps) {
			int rc = insert_gap(s, info.name, row->id, facts_columns[c].name, v->gap, v->origin, v->detail, row->node);
			if (rc < 0)
				return rc;
		}
	}
	sqlite3_bind_text(q, i, row->node, -1, SQLITE_STATIC);
	int rc = sqlite3_step(q);
	sqlite3_reset(q);
	return error_of(rc);
}

static int load_table(struct store *s, const struct facts *f, enum facts_table t)
{
	int rc = s->insert[t] ? 0 : prepare_insert(s, t);
	for (const struct facts_row *row = f->first[t]; row && rc == 0; row = row->next)
		if (row->id > s->loaded[t])
			rc = insert_row(s, row);
	s->loaded[t] = f->count[t];
	return rc;
}

static int load(struct store *s, const struct facts *f, const bool *asked)
{
	int rc = store_exec(s, "BEGIN", NULL);
	s->facts = f;
	s->without_gaps = asked != NULL;
	for (int t = 0; t < TABLE_COUNT && rc == 0; t++)
		if (s->loaded[t] != f->count[t] && (!asked || asked[t]))
			rc = load_table(s, f, (enum facts_table)t);
	if (!asked) {
		for (const struct facts_table_gap *g = f->gaps; g && g != s->gaps_loaded && rc == 0; g = g->next)
			rc = insert_gap(s, facts_table(g->table).name, 0, NULL, g->gap, g->origin, g->detail, g->node);
		s->gaps_loaded = f->gaps;
	}
	int end = store_exec(s, "COMMIT", NULL);
	return rc < 0 ? rc : end;
}

int store_load(struct store *s, const struct facts *f)
{
	return load(s, f, NULL);
}

int store_load_asked(struct store *s, const struct facts *f, const bool asked[TABLE_COUNT])
{
	return load(s, f, asked);
}

int store_update(struct store *s, const struct facts_row *row, enum facts_column c)
{
	char sql[256];
	sqlite3_stmt *q;
	snprintf(sql, sizeof sql, "UPDATE \"%s\" SET \"%s\"=? WHERE rowid=?", facts_table(row->table).name, facts_columns[c].name);
	if (sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) != SQLITE_OK)
		return -EINVAL;
	bind_value(q, 1, facts_value(row, c), facts_columns[c].type);
	sqlite3_bind_int(q, 2, row->id);
	int rc = sqlite3_step(q);
	sqlite3_finalize(q);
	return error_of(rc);
}

/* -- queries ------------------------------------------------------------------------------------------------------------ */

int store_exec(struct store *s, const char *sql, const char **ret_why)
{
	int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : failed(s, rc, ret_why);
}

int store_prepare(struct store *s, const char *sql, struct store_query **ret, const char **ret_why)
{
	sqlite3_stmt *stmt;
	const char *tail;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &stmt, &tail);
	if (rc != SQLITE_OK)
		return failed(s, rc, ret_why);
	if (!stmt) {
		if (ret_why)
			*ret_why = "nothing to run";
		return -EINVAL;
	}
	while (*tail == ' ' || *tail == '\n' || *tail == '\t' || *tail == ';')
		tail++;
	if (*tail) {
		sqlite3_finalize(stmt);
		if (ret_why)
			*ret_why = "more than one statement";
		return -EINVAL;
	}
	struct store_query *q = arena_alloc(s->arena, sizeof *q);
	*q = (struct store_query){s, stmt, false, 0};
	*ret = q;
	return 0;
}

int store_step(struct store_query *q)
{
	if (!q->running) {
		q->running = true;
		q->deadline_ms = q->store->limit_ms > 0 ? clock_ms() + q->store->limit_ms : 0;
	}
	q->store->deadline_ms = q->deadline_ms;
	int rc = sqlite3_step(q->stmt);
	if (rc == SQLITE_ROW)
		return 1;
	q->running = false;
	return rc == SQLITE_DONE ? 0 : error_of(rc);
}

void store_reset(struct store_query *q)
{
	sqlite3_reset(q->stmt);
	q->running = false;
}

void store_finish(struct store_query *q)
{
	if (q)
		sqlite3_finalize(q->stmt);
}

int store_columns(const struct store_query *q)
{
	return sqlite3_column_count(q->stmt);
}

const char *store_column_name(const struct store_query *q, int i)
{
	return sqlite3_column_name(q->stmt, i);
}

enum store_kind store_kind_of(const struct store_query *q, int i)
{
	switch (sqlite3_column_type(q->stmt, i)) {
	case SQLITE_INTEGER: return STORE_INT;
	case SQLITE_FLOAT: return STORE_REAL;
	case SQLITE_NULL: return STORE_NULL;
	default: return STORE_TEXT;
	}
}

bool store_is_null(const struct store_query *q, int i)
{
	return sqlite3_column_type(q->stmt, i) == SQLITE_NULL;
}

int64_t store_int(const struct store_query *q, int i)
{
	return sqlite3_column_int64(q->stmt, i);
}

double store_real(const struct store_query *q, int i)
{
	return sqlite3_column_double(q->stmt, i);
}

const char *store_text(const struct store_query *q, int i)
{
	return (const char *)sqlite3_column_text(q->stmt, i);
}

const char *store_first_text(struct store *s, struct arena *a, const char *sql)
{
	struct store_query *q;
	const char *text = NULL;
	if (store_prepare(s, sql, &q, NULL) < 0)
		return NULL;
	if (store_step(q) > 0 && store_text(q, 0))
		text = arena_strdup(a, store_text(q, 0));
	store_finish(q);
	return text;
}

int store_bind_text(struct store_query *q, int i, const char *text)
{
	return error_of(text ? sqlite3_bind_text(q->stmt, i, text, -1, SQLITE_TRANSIENT) : sqlite3_bind_null(q->stmt, i));
}

int store_bind_int(struct store_query *q, int i, int64_t n)
{
	return error_of(sqlite3_bind_int64(q->stmt, i, n));
}

void store_trace_begin(struct store *s)
{
	s->tracing = true;
	s->read_count = 0;
}

size_t store_trace_end(struct store *s, const struct store_read **ret)
{
	s->tracing = false;
	*ret = s->reads;
	return s->read_count;
}

int store_asked_by(struct store *s, const char *sql, bool ret_tables[TABLE_COUNT], bool ret_columns[COLUMN_COUNT])
{
	struct store_query *q;
	memset(ret_tables, 0, TABLE_COUNT * sizeof *ret_tables);
	memset(ret_columns, 0, COLUMN_COUNT * sizeof *ret_columns);
	s->asked = ret_tables;
	s->asked_columns = ret_columns;
	int rc = store_prepare(s, sql, &q, NULL);
	s->asked = s->asked_columns = NULL;
	if (rc == 0)
		store_finish(q);
	return rc;
}

void store_read_only(struct store *s, double limit_ms)
{
	s->read_only = true;
	s->limit_ms = limit_ms;
	sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
	sqlite3_limit(s->db, SQLITE_LIMIT_VDBE_OP, 250000);
	if (memory_limit > 0)
		sqlite3_hard_heap_limit64(sqlite3_memory_used() + memory_limit);
}

static void drop_fact_tables(struct store *s)
{
	for (int t = 0; t < TABLE_COUNT; t++)
		store_exec(s, arena_printf(s->arena, "DROP TABLE \"%s\"", facts_table((enum facts_table)t).name), NULL);
	store_exec(s, "DROP TABLE gap", NULL);
}

void store_limit_each(struct store *s, double ms)
{
	s->limit_ms = ms;
}

void store_limit_time(struct store *s, double ms)
{
	s->until_ms = ms > 0 ? clock_ms() + ms : 0;
}

int store_serialize(struct store *s, const void **ret, size_t *ret_size)
{
	struct store *facts;
	sqlite3_int64 n = 0, m = 0;
	int rc = open_with_pages(s->arena, NULL, 0, FACTS_PAGE_BYTES, &facts);
	if (rc < 0)
		return rc;
	drop_fact_tables(s);
	store_exec(s, "VACUUM", NULL);
	unsigned char *first = sqlite3_serialize(facts->db, "main", &n, 0), *second = sqlite3_serialize(s->db, "main", &m, 0);
	s->bytes = sqlite3_malloc64((sqlite3_uint64)(n + m));
	if (first && second && s->bytes) {
		memcpy(s->bytes, first, (size_t)n);
		memcpy(s->bytes + n, second, (size_t)m);
	}
	rc = first && second && s->bytes ? 0 : -ENOMEM;
	sqlite3_free(first);
	sqlite3_free(second);
	store_close(facts);
	*ret = s->bytes;
	*ret_size = (size_t)(n + m);
	return rc;
}

/* -- functions ---------------------------------------------------------------------------------------------------------- */

static void call_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const struct registered *r = sqlite3_user_data(context);
	struct store_call call = {r->store, context, argv, argc};
	r->fn(&call);
}

int store_add_function(struct store *s, const char *name, int args, store_function *fn)
{
	struct registered *r = arena_alloc(s->arena, sizeof *r);
	*r = (struct registered){s, fn};
	return error_of(sqlite3_create_function(s->db, name, args, SQLITE_UTF8 | SQLITE_DETERMINISTIC, r, call_function, NULL, NULL));
}

const struct facts *store_call_facts(const struct store_call *call)
{
	return call->store->facts;
}

const char *store_arg_text(const struct store_call *call, int i)
{
	return i < call->count ? (const char *)sqlite3_value_text(call->args[i]) : NULL;
}

bool store_arg_int(const struct store_call *call, int i, int64_t *ret)
{
	if (i >= call->count || sqlite3_value_type(call->args[i]) == SQLITE_NULL)
		return false;
	*ret = sqlite3_value_int64(call->args[i]);
	return true;
}

void store_result_int(struct store_call *call, int64_t n)
{
	sqlite3_result_int64(call->context, n);
}

void store_result_text(struct store_call *call, const char *text)
{
	if (text)
		sqlite3_result_text(call->context, text, -1, SQLITE_TRANSIENT);
}
