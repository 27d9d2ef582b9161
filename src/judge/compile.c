#include "judge/compile.h"

#include <errno.h>

#include "judge/functions.h"
#include "judge/gate.h"
#include "judge/placeholder.h"
#include "judge/yaml.h"

#define FILE_MAX ((size_t)8 << 20)
#define FOLDER_MAX ((size_t)16 << 20) /* all files together; ours are two megabytes */

const char *const compile_stages[] = {"driver", "gpu", "torch", "companion", "library", "python", "toolchain", "container", "host",
	"network", "rdma", "p2p", "launch", "program", "hardware", "accelerator", NULL};

struct compile {
	struct arena *arena;
	struct host *host;
	struct store *store;
	const char *dir;
	const char *path; /* of the file at hand, for messages */
	struct yaml *zh;  /* overlay of the file at hand */
	struct compile_result *result;
	size_t bytes;
	int order, first_order; /* what this folder brought has orders from first_order on */
};

int compile_stage_of(const char *id)
{
	size_t n = strcspn(id, ".");
	for (int i = 0; compile_stages[i]; i++)
		if (strlen(compile_stages[i]) == n && strncmp(compile_stages[i], id, n) == 0)
			return i;
	return -1;
}

int compile_create_tables(struct store *s)
{
	return store_exec(s,
		"CREATE TABLE cause(id TEXT PRIMARY KEY, stage INTEGER, title TEXT, why TEXT, title_zh TEXT, why_zh TEXT, explains TEXT, verify TEXT, ask TEXT, sources TEXT, yields INTEGER, ask_zh TEXT) WITHOUT ROWID;"
		"CREATE TABLE fix(cause TEXT, ord INTEGER, id TEXT, kind TEXT, cond TEXT, text TEXT, text_zh TEXT, cost TEXT, cost_zh TEXT, commands TEXT, needs TEXT, undo TEXT, PRIMARY KEY(cause, ord)) WITHOUT ROWID;"
		"CREATE TABLE rule(ord INTEGER PRIMARY KEY, id TEXT UNIQUE, cause TEXT, tbl TEXT, mode TEXT, essential INTEGER, gate TEXT, level TEXT, certainty TEXT, sql TEXT, names TEXT, says TEXT, says_zh TEXT, reads TEXT, shown TEXT);"
		"CREATE TABLE pattern(ord INTEGER PRIMARY KEY, id TEXT UNIQUE, class TEXT, symptom TEXT, cause TEXT, certainty TEXT, regex TEXT, format TEXT, alone TEXT, literals TEXT, says TEXT, says_zh TEXT, hit TEXT, miss TEXT, tells TEXT, fallback INTEGER);"
		"CREATE TABLE map(ord INTEGER PRIMARY KEY, id TEXT, stage TEXT, sql TEXT, names TEXT, says TEXT, says_zh TEXT, fine TEXT);"
		"CREATE TABLE plan(id TEXT PRIMARY KEY, sql TEXT, sql_zh TEXT) WITHOUT ROWID;"
		"CREATE TABLE waiver(cause TEXT PRIMARY KEY, until TEXT, reason TEXT, place TEXT) WITHOUT ROWID;"
		"CREATE TABLE derive(ord INTEGER PRIMARY KEY, id TEXT, tbl TEXT, col TEXT, gate TEXT, sql TEXT);",
		NULL);
}

static void complain(struct compile *c, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void complain(struct compile *c, int line, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	buf_fmt(&c->result->messages, "%s:%d: %s\n", c->path, line, arena_vprintf(c->arena, fmt, ap));
	va_end(ap);
	c->result->errors++;
}

static void insert(struct compile *c, int line, const char *sql, const char *const *values, int n)
{
	struct store_query *q;
	const char *why = NULL;
	if (store_prepare(c->store, sql, &q, &why) < 0) {
		complain(c, line, "%s", why);
		return;
	}
	for (int i = 0; i < n; i++)
		store_bind_text(q, i + 1, values[i]);
	if (store_step(q) < 0)
		complain(c, line, "could not be stored");
	store_finish(q);
}

/* Within one folder an id stands once; a later folder replaces. `table`: rule or pattern. */
static void check_once(struct compile *c, int line, const char *table, const char *id)
{
	struct store_query *q;
	if (store_prepare(c->store,
		    arena_printf(c->arena, "SELECT 1 FROM \"%s\" WHERE id=? AND ord BETWEEN %d AND 999999", table, c->first_order), &q,
		    NULL) < 0)
		return;
	store_bind_text(q, 1, id);
	if (store_step(q) > 0)
		complain(c, line, "the id '%s' stands twice", id);
	store_finish(q);
}

static bool one_of(const char *text, const char *const *allowed)
{
	for (; *allowed; allowed++)
		if (strcmp(text, *allowed) == 0)
			return true;
	return false;
}

static void check_keys(struct compile *c, const struct yaml *entry, const char *const *allowed)
{
	for (struct yaml *y = entry->first; y; y = y->next)
		if (y->key && !one_of(y->key, allowed))
			complain(c, y->line, "unknown key '%s'", y->key);
}

static const char *required(struct compile *c, const struct yaml *entry, const char *key)
{
	const char *text = yaml_text(entry, key);
	if (!text || !*text)
		complain(c, entry->line, "'%s' is missing", key);
	return text ? text : "";
}

static const char *choice(struct compile *c, const struct yaml *entry, const char *key, const char *otherwise, const char *const *allowed)
{
	const char *text = yaml_text(entry, key);
	if (!text)
		text = otherwise;
	if (!text || !one_of(text, allowed)) {
		complain(c, entry->line, "'%s' is missing or not one of the allowed words", key);
		return "";
	}
	return text;
}

static bool is_id(const char *s)
{
	bool dot = false;
	for (const char *p = s; *p; p++) {
		dot |= *p == '.';
		if (!((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '.' || *p == '-' || *p == '_'))
			return false;
	}
	return dot;
}

static const struct yaml *overlay(const struct compile *c, const char *id)
{
	for (const struct yaml *y = c->zh ? c->zh->first : NULL; y; y = y->next) {
		const char *other = yaml_text(y, "id");
		if (other && strcmp(other, id) == 0)
			return y;
	}
	return NULL;
}

/* The Chinese text that must stand beside an English one. */
static const char *chinese(struct compile *c, const struct yaml *zh, const char *key, const char *english)
{
	const char *text = zh ? yaml_text(zh, key) : NULL;
	if (english && *english && !text) {
		c->result->missing_zh++;
		buf_fmt(&c->result->untranslated, "%s: no Chinese for: %.100s\n", c->path, english);
	}
	return text;
}

/* Prepares SQL; complains when it does not. */
static bool check_sql(struct compile *c, int line, const char *sql)
{
	struct store_query *q;
	const char *why = NULL;
	if (store_prepare(c->store, sql, &q, &why) < 0) {
		complain(c, line, "%s\n    in: %s", why, sql);
		return false;
	}
	store_finish(q);
	return true;
}

/* -- causes ------------------------------------------------------------------------------------------------------------- */

static void check_command(struct compile *c, int line, const char *text)
{
	const char *at = text;
	struct placeholder p;
	while (text && placeholder_next(&at, PLACEHOLDER_COMMAND, &p)) {
		if (p.table && !placeholder_is_computed(&p))
			check_sql(c, line,
				arena_printf(c->arena, "SELECT \"%s\" FROM \"%s\" LIMIT 1", placeholder_column(c->arena, &p),
					placeholder_table(c->arena, &p)));
	}
}

static void compile_fix(struct compile *c, const char *cause, const struct yaml *fix, int order, const struct yaml *zh)
{
	static const char *const keys[] = {"id", "kind", "when", "text", "cost", "commands", "needs", "undo", NULL};
	static const char *const kinds[] = {"cure", "workaround", NULL}, *const needs[] = {"user", "root", "restart", NULL};
	check_keys(c, fix, keys);
	const char *id = required(c, fix, "id"), *kind = choice(c, fix, "kind", NULL, kinds), *cost = yaml_text(fix, "cost");
	const char *when = yaml_text(fix, "when"), *text = yaml_text(fix, "text"), *commands = yaml_lines(c->arena, fix, "commands");
	if (strcmp(kind, "workaround") == 0 && !cost)
		complain(c, fix->line, "a workaround must say its cost");
	if (!commands && !text)
		complain(c, fix->line, "a fix needs commands or a text");
	if (when)
		check_sql(c, fix->line, arena_printf(c->arena, "SELECT (%s)", when));
	check_command(c, fix->line, commands);
	const struct yaml *own = zh ? yaml_get(yaml_get(zh, "fixes"), id) : NULL;
	const char *values[] = {cause, arena_printf(c->arena, "%d", order), id, kind, when, text, chinese(c, own, "text", text), cost,
		chinese(c, own, "cost", cost), commands, choice(c, fix, "needs", "user", needs), yaml_lines(c->arena, fix, "undo")};
	insert(c, fix->line, "INSERT OR REPLACE INTO fix VALUES(?,?,?,?,?,?,?,?,?,?,?,?)", values, 12);
}

/* Questions that are not only commands: "the whole traceback of the rank that failed first", "<address of the peer>". */
static bool is_prose(const char *ask)
{
	static const char *const words[] = {"the ", "whether ", " of ", "# on ", "# in ", NULL};
	for (size_t i = 0; ask && words[i]; i++)
		if (strstr(ask, words[i]))
			return true;
	return false;
}

static size_t count_lines(const char *text)
{
	size_t n = text && *text;
	for (; text && *text; text++)
		n += *text == '\n' && text[1];
	return n;
}

static const char *chinese_questions(struct compile *c, int line, const struct yaml *zh, const char *ask)
{
	const char *text = zh ? yaml_lines(c->arena, zh, "ask") : NULL;
	if (is_prose(ask) && !text) {
		c->result->missing_zh++;
		buf_fmt(&c->result->untranslated, "%s: no Chinese for: %.100s\n", c->path, ask);
	}
	if (text && count_lines(text) != count_lines(ask))
		complain(c, line, "the Chinese questions are not as many as the English ones");
	return text;
}

static void compile_cause(struct compile *c, const struct yaml *entry)
{
	static const char *const keys[] = {"id", "title", "why", "explains", "fixes", "verify", "ask", "sources", "yields", NULL};
	check_keys(c, entry, keys);
	const char *yields = yaml_text(entry, "yields");
	const char *id = required(c, entry, "id"), *title = required(c, entry, "title"), *why = required(c, entry, "why");
	int stage = compile_stage_of(id);
	if (!is_id(id) || stage < 0)
		complain(c, entry->line, "'%s' is no cause id of a stage of the map", id);
	const struct yaml *zh = overlay(c, id);
	const char *verify = yaml_lines(c->arena, entry, "verify");
	check_command(c, entry->line, verify);
	const char *ask = yaml_lines(c->arena, entry, "ask");
	const char *values[] = {id, arena_printf(c->arena, "%d", stage), title, why, chinese(c, zh, "title", title),
		chinese(c, zh, "why", why), yaml_lines(c->arena, entry, "explains"), verify, ask, yaml_lines(c->arena, entry, "sources"),
		yields && strcmp(yields, "true") == 0 ? "1" : "0", chinese_questions(c, entry->line, zh, ask)};
	insert(c, entry->line, "INSERT OR REPLACE INTO cause VALUES(?,?,?,?,?,?,?,?,?,?,?,?)", values, 12);
	insert(c, entry->line, "DELETE FROM fix WHERE cause=?", &id, 1);
	int order = 0;
	const struct yaml *fixes = yaml_get(entry, "fixes");
	for (const struct yaml *fix = fixes && fixes->kind == YAML_LIST ? fixes->first : NULL; fix; fix = fix->next)
		compile_fix(c, id, fix, order++, zh);
}

/* -- rules -------------------------------------------------------------------------------------------------------------- */

static bool is_column(const char *table, const char *name)
{
	for (int t = 0; t < TABLE_COUNT; t++) {
		struct facts_table_info info = facts_table((enum facts_table)t);
		if (strcmp(info.name, table) != 0)
			continue;
		for (int i = info.first; i < info.end; i++)
			if (strcmp(facts_columns[i].name, name) == 0)
				return true;
		return strcmp(name, "node") == 0;
	}
	return false;
}

static bool is_table(const char *table)
{
	for (int t = 0; t < TABLE_COUNT; t++)
		if (strcmp(facts_table((enum facts_table)t).name, table) == 0)
			return true;
	return false;
}

/* Adds the SQL of each placeholder of a text to the select list, once, and its name to `names`. */
static void add_placeholders(
	struct compile *c, const struct yaml *entry, const char *table, const char *says, struct buf *select, struct buf *names)
{
	const char *at = says;
	struct placeholder p;
	const struct yaml *let = yaml_get(entry, "let");
	while (says && placeholder_next(&at, PLACEHOLDER_TEXT, &p)) {
		const char *name = arena_strndup(c->arena, p.name.ptr, p.name.len);
		struct str rest = buf_view(names), line;
		bool known = false;
		while (str_next_line(&rest, &line))
			known |= str_is(line, name);
		if (known)
			continue;
		const char *sql = yaml_text(let, name);
		if (!sql && p.table)
			sql = arena_printf(c->arena, "(SELECT \"%s\" FROM \"%s\" LIMIT 1)", placeholder_column(c->arena, &p),
				placeholder_table(c->arena, &p));
		else if (!sql && is_column(table, name))
			sql = arena_printf(c->arena, "\"%s\"", name);
		if (!sql) {
			complain(c, entry->line, "{%s} is neither a column of '%s' nor in 'let'", name, table);
			continue;
		}
		buf_fmt(select, ", (%s)", sql);
		buf_fmt(names, "%s%s", names->len ? "\n" : "", name);
	}
}

/* The facts that a statement looks at, in its order. */
static const char *reads_of(struct compile *c, const char *sql)
{
	struct store_query *q;
	const struct store_read *reads;
	struct buf b = BUF_MAX(65536);
	store_trace_begin(c->store);
	int rc = store_prepare(c->store, sql, &q, NULL);
	size_t n = store_trace_end(c->store, &reads);
	if (rc == 0)
		store_finish(q);
	for (size_t i = 0; rc == 0 && i < n; i++)
		if (is_table(reads[i].table) && is_column(reads[i].table, reads[i].column) && strcmp(reads[i].table, "purpose") != 0 &&
			strcmp(reads[i].column, "node") != 0)
			buf_fmt(&b, "%s%s.%s", b.len ? "\n" : "", reads[i].table, reads[i].column);
	const char *text = b.len ? arena_strndup(c->arena, b.ptr, b.len) : NULL;
	buf_free(&b);
	return text;
}

static void compile_rule(struct compile *c, const struct yaml *entry)
{
	static const char *const keys[] = {"id", "cause", "table", "where", "given", "wrong", "level", "certainty", "mode", "essential",
		"let", "says", "subject", "rank", "examples", "note", NULL};
	static const char *const levels[] = {"fail", "warn", "info", NULL}, *const sure[] = {"certain", "likely", "possible", NULL},
				 *const modes[] = {"any", "check", "explain", "test", "cluster", "fleet", NULL};
	check_keys(c, entry, keys);
	const char *id = required(c, entry, "id"), *cause = required(c, entry, "cause"), *table = required(c, entry, "table");
	const char *where = yaml_text(entry, "where"), *given = yaml_text(entry, "given"), *wrong = required(c, entry, "wrong"),
		   *subject = yaml_text(entry, "subject");
	const char *says = yaml_text(entry, "says"), *essential = yaml_text(entry, "essential"), *rank = yaml_text(entry, "rank");
	if (!is_id(id))
		complain(c, entry->line, "'%s' is no id", id);
	if (!is_table(table)) {
		complain(c, entry->line, "no fact table '%s'", table);
		return;
	}
	check_once(c, entry->line, "rule", id);
	const char *zh = chinese(c, overlay(c, id), "says", says);
	struct buf select = BUF_MAX(65536), names = BUF_MAX(65536);
	buf_fmt(&select, "SELECT \"%s\".rowid, \"%s\".node, (%s), (%s), (%s), (%s)", table, table, given ? given : "1", wrong,
		subject ? subject : "NULL", rank ? rank : "NULL");
	size_t values_at = select.len;
	add_placeholders(c, entry, table, says, &select, &names);
	add_placeholders(c, entry, table, zh, &select, &names);
	/* What the sentence names is the evidence that a person looks for first; then what decides, then what only lets the rule apply. */
	const char *shown = arena_printf(
		c->arena, "SELECT 0%s, (%s), (%s) FROM \"%s\"", buf_view(&select).ptr + values_at, wrong, given ? given : "1", table);
	buf_fmt(&select, " FROM \"%s\" WHERE (%s)", table, where ? where : "1");
	if (check_sql(c, entry->line, select.ptr)) {
		const char *reads = reads_of(c, arena_printf(c->arena, "SELECT (%s), (%s) FROM \"%s\"", given ? given : "1", wrong, table));
		bool is_essential = essential && strcmp(essential, "true") == 0; /* its unknowns count: always asked */
		const char *values[] = {arena_printf(c->arena, "%d", c->order++), id, cause, table, choice(c, entry, "mode", "any", modes),
			is_essential ? "1" : "0", is_essential ? NULL : gate_make(c->arena, table, where, given),
			choice(c, entry, "level", "fail", levels), choice(c, entry, "certainty", "certain", sure), select.ptr,
			buf_view(&names).ptr, says, zh, reads, reads_of(c, shown)};
		insert(c, entry->line, "INSERT OR REPLACE INTO rule VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", values, 15);
	}
	buf_free(&select);
	buf_free(&names);
}

/* -- patterns ----------------------------------------------------------------------------------------------------------- */

static void compile_pattern(struct compile *c, const struct yaml *entry)
{
	static const char *const keys[] = {"id", "class", "symptom", "cause", "certainty", "regex", "format", "alone", "hit", "miss",
		"says", "note", "tells", "fallback", NULL};
	static const char *const classes[] = {"evidence", "consequence", "advice", "noise", NULL},
				 *const sure[] = {"certain", "likely", "possible", NULL},
				 *const told[] = {"failure", "fact", "progress", "end", "ignored", "shutdown", "start", NULL},
				 *const silences[] = {"true", "part", NULL};
	check_keys(c, entry, keys);
	const char *id = required(c, entry, "id"), *regex = yaml_text(entry, "regex"), *format = yaml_text(entry, "format"),
		   *cause = yaml_text(entry, "cause"), *says = yaml_text(entry, "says");
	check_once(c, entry->line, "pattern", id);
	if (!regex == !format)
		complain(c, entry->line, "a pattern has either 'regex' or 'format'");
	if (!is_id(id))
		complain(c, entry->line, "'%s' is no id", id);
	const char *symptom = yaml_text(entry, "symptom"), *hit = yaml_lines(c->arena, entry, "hit"),
		   *miss = yaml_lines(c->arena, entry, "miss");
	if (regex && (!hit || !miss))
		complain(c, entry->line, "a pattern needs a line that hits and one that nearly does");
	const char *alone = yaml_get(entry, "alone") ? choice(c, entry, "alone", NULL, silences) : NULL,
		   *fallback = yaml_text(entry, "fallback"),
		   *tells = yaml_get(entry, "tells") ? choice(c, entry, "tells", NULL, told) : NULL;
	if (fallback && !regex)
		complain(c, entry->line, "only a pattern with 'regex' can be a fallback");
	const char *values[] = {arena_printf(c->arena, "%d", c->order++), id, choice(c, entry, "class", NULL, classes),
		symptom ? symptom : id, cause, cause ? choice(c, entry, "certainty", "likely", sure) : NULL, regex, format, alone, NULL,
		says, chinese(c, overlay(c, id), "says", says), hit, miss, tells, fallback && strcmp(fallback, "true") == 0 ? "1" : NULL};
	insert(c, entry->line, "INSERT OR REPLACE INTO pattern VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", values, 16);
}

/* -- derivations -------------------------------------------------------------------------------------------------------- */

static void compile_derive(struct compile *c, const struct yaml *entry)
{
	static const char *const keys[] = {"id", "table", "where", "set", "note", NULL};
	check_keys(c, entry, keys);
	const char *id = required(c, entry, "id"), *table = required(c, entry, "table"), *where = yaml_text(entry, "where");
	const struct yaml *set = yaml_get(entry, "set");
	if (!set || set->kind != YAML_MAP || !is_table(table)) {
		complain(c, entry->line, "a derivation needs a fact table and 'set'");
		return;
	}
	for (const struct yaml *y = set->first; y; y = y->next) {
		if (y->kind != YAML_SCALAR || !is_column(table, y->key)) {
			complain(c, y->line, "no column '%s' in '%s'", y->key, table);
			continue;
		}
		const char *sql = arena_printf(c->arena, "SELECT \"%s\".rowid, (%s) FROM \"%s\" WHERE \"%s\" IS NULL AND (%s)", table,
			y->text, table, y->key, where ? where : "1");
		const char *values[] = {
			arena_printf(c->arena, "%d", c->order++), id, table, y->key, gate_make(c->arena, table, where, NULL), sql};
		if (check_sql(c, y->line, sql))
			insert(c, y->line, "INSERT OR REPLACE INTO derive VALUES(?,?,?,?,?,?)", values, 6);
	}
}

/* -- the map, and computed values of commands ------------------------------------------------------------------------------ */

static void compile_map(struct compile *c, const struct yaml *entry)
{
	static const char *const keys[] = {"id", "stage", "when", "fine", "let", "says", NULL};
	check_keys(c, entry, keys);
	const char *id = required(c, entry, "id"), *when = yaml_text(entry, "when"), *says = required(c, entry, "says");
	const char *stage = choice(c, entry, "stage", NULL, compile_stages), *zh = chinese(c, overlay(c, id), "says", says);
	struct buf select = BUF_MAX(65536), names = BUF_MAX(65536);
	buf_fmt(&select, "SELECT (%s)", when ? when : "1");
	add_placeholders(c, entry, "", says, &select, &names);
	add_placeholders(c, entry, "", zh, &select, &names);
	const char *values[] = {
		arena_printf(c->arena, "%d", c->order++), id, stage, select.ptr, buf_view(&names).ptr, says, zh, yaml_text(entry, "fine")};
	if (check_sql(c, entry->line, select.ptr))
		insert(c, entry->line, "INSERT OR REPLACE INTO map VALUES(?,?,?,?,?,?,?,?)", values, 8);
	buf_free(&select);
	buf_free(&names);
}

static void compile_plan(struct compile *c, const struct yaml *entry)
{
	static const char *const keys[] = {"id", "sql", "sql_zh", "note", NULL};
	check_keys(c, entry, keys);
	const char *values[] = {required(c, entry, "id"), required(c, entry, "sql"), yaml_text(entry, "sql_zh")};
	if (check_sql(c, entry->line, values[1]) && (!values[2] || check_sql(c, entry->line, values[2])))
		insert(c, entry->line, "INSERT OR REPLACE INTO plan VALUES(?,?,?)", values, 3);
}

/* -- what a site does not want to hear ------------------------------------------------------------------------------------ */

/* A day of the calendar, as YYYY-MM-DD. */
static bool is_day(const char *s)
{
	static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int64_t y, m, d;
	return strlen(s) == 10 && s[4] == '-' && s[7] == '-' && str_to_int(str_n(s, 4), &y) == 0 && str_to_int(str_n(s + 5, 2), &m) == 0 &&
		str_to_int(str_n(s + 8, 2), &d) == 0 && y >= 2000 && m >= 1 && m <= 12 && d >= 1 && d <= days[m - 1];
}

static void compile_waiver(struct compile *c, const struct yaml *entry)
{
	static const char *const keys[] = {"disable", "waive", "until", "reason", NULL};
	const char *disable = yaml_text(entry, "disable"), *waive = yaml_text(entry, "waive"), *until = yaml_text(entry, "until"),
		   *reason = yaml_text(entry, "reason");
	check_keys(c, entry, keys);
	if (!disable == !waive) {
		complain(c, entry->line, "an entry has either 'disable' or 'waive'");
		return;
	}
	if (disable && until) {
		complain(c, entry->line, "what is disabled has no 'until': 'waive' has");
		return;
	}
	if (waive && (!until || !is_day(until) || !reason || !*reason)) {
		complain(c, entry->line, "a waiver needs 'until: YYYY-MM-DD' and 'reason'");
		return;
	}
	const char *values[] = {disable ? disable : waive, until, reason, arena_printf(c->arena, "%s:%d", c->path, entry->line)};
	insert(c, entry->line, "INSERT OR REPLACE INTO waiver VALUES(?,?,?,?)", values, 4);
}

/* -- tables ------------------------------------------------------------------------------------------------------------- */

static bool is_word(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!((s.ptr[i] >= 'a' && s.ptr[i] <= 'z') || (s.ptr[i] >= 'A' && s.ptr[i] <= 'Z') ||
			    (s.ptr[i] >= '0' && s.ptr[i] <= '9') || s.ptr[i] == '_'))
			return false;
	return s.len > 0;
}

/* A table that replaces one must have its columns: rules and sentences name them. The first that it lacks, or NULL. */
static const char *lacks_column(struct compile *c, const char *table, struct str head)
{
	struct store_query *q;
	const char *lacking = NULL;
	if (store_prepare(c->store, arena_printf(c->arena, "SELECT name FROM pragma_table_info('%s')", table), &q, NULL) < 0)
		return NULL;
	while (!lacking && store_step(q) > 0) {
		struct str rest = head, cell;
		bool found = false;
		while (!found && str_next_field(&rest, '\t', &cell))
			found = str_is(cell, store_text(q, 0));
		lacking = found ? NULL : arena_strdup(c->arena, store_text(q, 0));
	}
	store_finish(q);
	return lacking;
}

#define TEXT_COLUMNS_MAX 64

/* Ids are text though some of them (PCI device 2330) look like numbers: text and number are never equal in SQL. */
static bool is_identifier(struct str column)
{
	return str_is(column, "device") || str_ends(column, "_id");
}

static void compile_table(struct compile *c, const char *name, struct str text)
{
	struct str line, rest, cell;
	struct buf sql = BUF_MAX(65536), insert_sql = BUF_MAX(65536);
	int columns = 0, number = 1;
	bool identifier[TEXT_COLUMNS_MAX] = {false};
	if (!is_word(str_of(name))) {
		complain(c, 1, "'%s' is no name of a table", name);
		return;
	}
	if (!str_next_line(&text, &line)) {
		complain(c, 1, "the table is empty");
		return;
	}
	const char *table = arena_printf(c->arena, "k_%s", name), *lacking = lacks_column(c, table, line);
	if (lacking) {
		complain(c, 1, "the column '%s' of the table it replaces is missing", lacking);
		return;
	}
	buf_fmt(&sql, "DROP TABLE IF EXISTS \"%s\"; CREATE TABLE \"%s\"(", table, table);
	buf_fmt(&insert_sql, "INSERT INTO \"%s\" VALUES(", table);
	for (rest = line; str_next_field(&rest, '\t', &cell); columns++) {
		if (!is_word(cell))
			complain(c, 1, "'%.*s' is no column name", (int)cell.len, cell.ptr);
		if (columns < TEXT_COLUMNS_MAX)
			identifier[columns] = is_identifier(cell);
		buf_fmt(&sql, "%s\"%.*s\"", columns ? "," : "", (int)cell.len, cell.ptr);
		buf_text(&insert_sql, columns ? ",?" : "?");
	}
	buf_text(&sql, ")");
	buf_text(&insert_sql, ")");
	const char *why = NULL;
	struct store_query *q;
	if (store_exec(c->store, sql.ptr, &why) < 0 || store_prepare(c->store, insert_sql.ptr, &q, &why) < 0) {
		complain(c, 1, "%s", why);
		buf_free(&sql);
		buf_free(&insert_sql);
		return;
	}
	while (str_next_line(&text, &line)) {
		number++;
		if (!line.len || line.ptr[0] == '#')
			continue;
		int i = 0;
		for (rest = line; str_next_field(&rest, '\t', &cell); i++) {
			int64_t n;
			cell = str_trim(cell);
			if (i >= columns)
				continue;
			if (str_is(cell, "?"))
				store_bind_text(q, i + 1, NULL);
			else if (str_is(cell, "-"))
				store_bind_text(q, i + 1, "");
			else if (!(i < TEXT_COLUMNS_MAX && identifier[i]) && str_to_int(cell, &n) == 0 && cell.len < 10 &&
				!(cell.len > 1 && cell.ptr[0] == '0'))
				store_bind_int(q, i + 1, n);
			else
				store_bind_text(q, i + 1, str_dup(c->arena, cell));
		}
		if (i != columns)
			complain(c, number, "%d cells where the head has %d", i, columns);
		else if (store_step(q) < 0)
			complain(c, number, "could not be stored");
		store_reset(q);
	}
	store_finish(q);
	buf_free(&sql);
	buf_free(&insert_sql);
}

/* Message tables: id, format, class, symptom[, sample]: patterns by the printf format of the software. */
static void compile_messages(struct compile *c, struct str text)
{
	struct str line, cell[5];
	int number = 0;
	struct store_query *q;
	const char *why = NULL;
	if (store_prepare(c->store, "INSERT OR REPLACE INTO pattern(id,ord,class,symptom,format,hit) VALUES(?,?,?,?,?,?)", &q, &why) < 0) {
		complain(c, 1, "%s", why);
		return;
	}
	while (str_next_line(&text, &line)) {
		int i = 0;
		struct str rest = line;
		if (++number == 1 || !line.len || line.ptr[0] == '#')
			continue;
		while (i < 5 && str_next_field(&rest, '\t', &cell[i]))
			i++;
		if (i < 4) {
			complain(c, number, "a message has id, format, class and symptom");
			continue;
		}
		store_bind_text(q, 1, str_dup(c->arena, cell[0]));
		store_bind_int(q, 2, 1000000 + c->order++);
		store_bind_text(q, 3, str_dup(c->arena, cell[2]));
		store_bind_text(q, 4, str_dup(c->arena, cell[3]));
		store_bind_text(q, 5, str_dup(c->arena, cell[1]));
		store_bind_text(q, 6, i > 4 && cell[4].len ? str_dup(c->arena, cell[4]) : NULL);
		if (store_step(q) < 0)
			complain(c, number, "could not be stored");
		store_reset(q);
	}
	store_finish(q);
}

/* -- folders ------------------------------------------------------------------------------------------------------------ */

/* A file of the folder; what passes the bounds is -EFBIG. */
static int read_file(struct compile *c, const char *path, struct str *ret)
{
	struct str text;
	int rc = host_read(c->host, path, FILE_MAX, &text);
	if (rc < 0)
		return rc;
	if ((c->bytes += text.len) > FOLDER_MAX)
		return -EFBIG;
	*ret = text;
	return 0;
}

static struct yaml *read_yaml(struct compile *c, const char *path, bool needed)
{
	struct str text;
	struct yaml *y = NULL;
	const char *why = NULL;
	int line = 1, rc = read_file(c, path, &text);
	if (rc < 0) {
		if (needed || rc != -ENOENT)
			complain(c, 1, "%s", strerror(-rc));
		return NULL;
	}
	const char *old = c->path;
	c->path = path;
	if (yaml_parse(c->arena, text, &y, &why, &line) < 0) {
		complain(c, line, "%s", why);
		y = NULL;
	} else if (y && y->kind != YAML_LIST) {
		complain(c, 1, "a list of entries is expected");
		y = NULL;
	}
	c->path = old;
	return y;
}

typedef void compile_entry(struct compile *c, const struct yaml *entry);

static void compile_file(struct compile *c, const char *relative, compile_entry *entry)
{
	c->path = arena_printf(c->arena, "%s/%s", c->dir, relative);
	struct yaml *y = read_yaml(c, c->path, true);
	c->zh = read_yaml(c, arena_printf(c->arena, "%s/zh_CN/%s", c->dir, relative), false);
	for (const struct yaml *e = y ? y->first : NULL; e; e = e->next) {
		if (e->kind == YAML_MAP)
			entry(c, e);
		else
			complain(c, e->line, "an entry is a map");
	}
}

static void each_file(struct compile *c, const char *folder, const char *suffix, compile_entry *entry)
{
	struct host_list list;
	if (host_list(c->host, arena_printf(c->arena, "%s/%s", c->dir, folder), &list) < 0)
		return;
	for (size_t i = 0; i < list.count; i++)
		if (str_ends(str_of(list.names[i]), suffix) && list.names[i][0] != '.')
			compile_file(c, arena_printf(c->arena, "%s/%s", folder, list.names[i]), entry);
}

/* Files beside the folders, by the beginning of their names. */
static void each_beside(struct compile *c, const char *prefix, compile_entry *entry)
{
	struct host_list list;
	if (host_list(c->host, c->dir, &list) < 0) {
		complain(c, 1, "no such folder");
		return;
	}
	for (size_t i = 0; i < list.count; i++)
		if (str_starts(str_of(list.names[i]), prefix) && str_ends(str_of(list.names[i]), ".yaml"))
			compile_file(c, list.names[i], entry);
}

static void each_table(struct compile *c, const char *folder, bool messages)
{
	struct host_list list;
	if (host_list(c->host, arena_printf(c->arena, "%s/%s", c->dir, folder), &list) < 0)
		return;
	for (size_t i = 0; i < list.count; i++) {
		struct str name = str_of(list.names[i]), text;
		if (!str_ends(name, ".tsv"))
			continue;
		c->path = arena_printf(c->arena, "%s/%s/%s", c->dir, folder, list.names[i]);
		int rc = read_file(c, c->path, &text);
		if (rc < 0)
			complain(c, 1, "%s", strerror(-rc));
		else if (messages)
			compile_messages(c, text);
		else
			compile_table(c, arena_strndup(c->arena, name.ptr, name.len - 4), text);
	}
}

static void missing(struct compile *c, const char *what, const char *id, const char *cause)
{
	buf_fmt(&c->result->messages, "%s: %s %s: no cause '%s'\n", c->dir, what, id, cause);
	c->result->missing_causes++;
}

/* Rules and patterns must name causes that exist. */
static void check_references(struct compile *c)
{
	static const char *const queries[] = {
		"SELECT 'rule', id, cause FROM rule WHERE cause NOT IN (SELECT id FROM cause)",
		"SELECT 'waiver', place, cause FROM waiver WHERE cause NOT IN (SELECT id FROM cause)",
		"SELECT 'pattern', id, cause FROM pattern WHERE cause IS NOT NULL AND cause NOT IN (SELECT id FROM cause)",
	};
	struct store_query *q;
	c->path = c->dir;
	for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
		if (store_prepare(c->store, queries[i], &q, NULL) < 0)
			continue;
		while (store_step(q) > 0)
			missing(c, store_text(q, 0), store_text(q, 1), store_text(q, 2));
		store_finish(q);
	}
}

static int next_order(struct store *s)
{
	struct store_query *q;
	int n = 0;
	if (store_prepare(s,
		    "SELECT coalesce(max(o), -1) + 1 FROM (SELECT max(ord) AS o FROM derive UNION ALL SELECT max(ord) FROM rule UNION ALL SELECT max(ord) FROM map UNION ALL SELECT max(ord) FROM pattern WHERE ord < 1000000)",
		    &q, NULL) < 0)
		return 0;
	if (store_step(q) > 0)
		n = (int)store_int(q, 0);
	store_finish(q);
	return n;
}

void compile_folder(struct arena *a, struct host *h, const char *dir, struct store *s, struct compile_result *result)
{
	struct compile c = {.arena = a, .host = h, .store = s, .dir = dir, .path = dir, .result = result, .order = next_order(s)};
	c.first_order = c.order;
	functions_register(s);
	store_exec(s, "BEGIN", NULL);
	each_table(&c, "tables", false);
	each_file(&c, "causes", ".yaml", compile_cause);
	each_beside(&c, "derive", compile_derive);
	each_beside(&c, "map", compile_map);
	each_beside(&c, "plan", compile_plan);
	each_beside(&c, "waive", compile_waiver);
	each_file(&c, "rules", ".yaml", compile_rule);
	each_file(&c, "patterns", ".yaml", compile_pattern);
	each_table(&c, "messages", true);
	check_references(&c);
	store_exec(s, "COMMIT", NULL);
}
