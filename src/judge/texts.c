/* The sentences and commands of a cause, chosen and filled in for this machine. */
#include "judge/evaluate.h"

#include <ctype.h>
#include <errno.h>

#include "judge/placeholder.h"

const char *status_name(enum status s)
{
	static const char *const names[] = {"fail", "warn", "info", "unknown"};
	return names[s];
}

const char *certainty_name(enum certainty c)
{
	static const char *const names[] = {"certain", "likely", "possible"};
	return names[c];
}

const char *verdict_name(enum verdict v)
{
	static const char *const names[] = {"ready", "not-ready", "unknown", "failed", "clean"};
	return names[v];
}

/* plan.install and others are SQL of their own in the table `plan`. */
static const char *computed(struct judge *j, struct str name)
{
	const char *sql = store_first_text(j->store, j->arena,
		arena_printf(j->arena, "SELECT %s FROM plan WHERE id='%.*s'", j->chinese ? "coalesce(sql_zh, sql)" : "sql", (int)name.len,
			name.ptr));
	return sql ? store_first_text(j->store, j->arena, sql) : NULL;
}

/* What stands in a command for a value that is not known: {seen.port:29500} gives 29500, {seen.address:address_of_node_0} gives
 * <address of node 0>, and without a format it is the name of the column. */
static void unknown_value(struct judge *j, struct buf *b, const struct placeholder *p)
{
	const char *name = p->format.len ? str_dup(j->arena, p->format) : placeholder_column(j->arena, p);
	if (isdigit((unsigned char)name[0])) {
		buf_text(b, name);
		return;
	}
	buf_char(b, '<');
	for (; *name; name++)
		buf_char(b, *name == '_' && p->format.len ? ' ' : *name);
	buf_char(b, '>');
}

/* The same when nothing in the tables fits this machine. */
static const char *computed_name(const struct placeholder *p)
{
	return str_is(p->name, "plan.install") ? "command from: davy plan" : str_is(p->name, "plan.index") ? "index URL" : "pip install";
}

/* Does the end of this text stand inside single quotes? */
static bool is_quoted(const char *text, size_t n)
{
	bool inside = false;
	for (size_t i = 0; i < n; i++)
		inside ^= text[i] == '\'';
	return inside;
}

static const char *value_in(struct judge *j, const char *table, const char *column, const char *rest)
{
	return store_first_text(j->store, j->arena,
		arena_printf(j->arena, "SELECT \"%s\" FROM \"%s\" WHERE \"%s\" IS NOT NULL %s LIMIT 1", column, table, column, rest));
}

/* The value of {table.column}: of the finding's own row, or of the first that has one. {seen.column} is what a log line said, or what the
 * own row has in a column of that name. */
static const char *fact(struct judge *j, const struct placeholder *p)
{
	const char *table = placeholder_table(j->arena, p), *column = placeholder_column(j->arena, p);
	const char *own = j->filled ? j->filled->table : NULL, *row = arena_printf(j->arena, "%lld", (long long)(own ? j->filled->row : 0));
	if (own && strcmp(own, table) == 0)
		return value_in(j, table, column, arena_printf(j->arena, "ORDER BY rowid <> %s", row));
	const char *value = value_in(j, table, column, "");
	if (value || !own || strcmp(table, "seen") != 0 || !evaluate_has_column(own, column))
		return value;
	return value_in(j, own, column, arena_printf(j->arena, "AND rowid = %s", row));
}

/* For a command, values become words of the shell; in a sentence they stand as they are. Where no machine is known, names stand for its
 * values. */
static const char *filled(struct judge *j, const char *command, bool shell, bool known)
{
	struct buf b = BUF_MAX(65536);
	const char *at = command, *copied = command;
	struct placeholder p;
	while (placeholder_next(&at, PLACEHOLDER_COMMAND, &p)) {
		const char *value = !known ? NULL : placeholder_is_computed(&p) ? computed(j, p.name) : fact(j, &p);
		buf_add(&b, copied, (size_t)(p.start - copied));
		if (value && shell && !placeholder_is_computed(&p))
			placeholder_shell(&b, value, is_quoted(command, (size_t)(p.start - command)));
		else if (value)
			placeholder_format(&b, p.format, value);
		else if (!placeholder_is_computed(&p))
			unknown_value(j, &b, &p);
		else if (!str_is(p.name, "plan.why"))
			buf_fmt(&b, str_is(p.name, "pip") ? "%s" : "<%s>", computed_name(&p));
		copied = p.end;
	}
	buf_text(&b, copied);
	const char *text = arena_strndup(j->arena, b.ptr, b.len);
	buf_free(&b);
	return text;
}

const char *texts_command(struct judge *j, const char *command)
{
	return filled(j, command, true, true);
}

/* "python …" in knowledge means the interpreter that is examined: what PATH gives may be another one. */
static const char *of_interpreter(struct judge *j, const char *command)
{
	if (strncmp(command, "python -m pip ", 14) != 0 && strncmp(command, "python -c ", 10) != 0)
		return command;
	const char *path = store_first_text(j->store, j->arena,
		"SELECT shell_word(path) FROM python WHERE path IS NOT NULL AND NOT coalesce(externally_managed, 0) AND coalesce(manager, '') <> 'uv' LIMIT 1");
	return path ? arena_printf(j->arena, "%s%s", path, command + 6) : command;
}

static const char *const *commands(struct judge *j, const char *lines, bool known)
{
	const char *const *list = evaluate_lines(j->arena, lines);
	for (size_t i = 0; list[i]; i++)
		((const char **)list)[i] = known ? of_interpreter(j, texts_command(j, list[i])) : filled(j, list[i], true, false);
	return list;
}

static bool holds(struct judge *j, const char *condition)
{
	const char *value = store_first_text(j->store, j->arena, arena_printf(j->arena, "SELECT (%s)", condition));
	return value && strcmp(value, "0") != 0;
}

/* Fixes whose condition holds; when none of a kind does, those without a condition or all. */
static struct fix *read_fixes(struct judge *j, const char *cause, bool by_facts)
{
	struct store_query *q;
	struct fix *all = NULL, **tail = &all;
	bool applies[64] = {false}, any_cure = false;
	int n = 0;
	const char *sql = arena_printf(j->arena, "SELECT id, kind, cond, %s, %s, commands, needs, undo FROM fix WHERE cause=? ORDER BY ord",
		j->chinese ? "coalesce(text_zh, text)" : "text", j->chinese ? "coalesce(cost_zh, cost)" : "cost");
	if (store_prepare(j->store, sql, &q, NULL) < 0)
		return NULL;
	store_bind_text(q, 1, cause);
	while (n < 64 && store_step(q) > 0) {
		struct fix *f = arena_alloc(j->arena, sizeof *f);
		const char *text = store_text(q, 3), *cost = store_text(q, 4), *cond = store_text(q, 2), *cmd = store_text(q, 5),
			   *undo = store_text(q, 7);
		f->id = arena_strdup(j->arena, store_text(q, 0));
		f->workaround = strcmp(store_text(q, 1), "workaround") == 0;
		f->text = text ? arena_strdup(j->arena, text) : NULL;
		f->cost = cost ? arena_strdup(j->arena, cost) : NULL;
		f->needs = arena_strdup(j->arena, store_text(q, 6));
		f->commands = (const char *const *)(uintptr_t)(cmd ? arena_strdup(j->arena, cmd) : NULL); /* filled below, when chosen */
		f->undo = evaluate_lines(j->arena, undo);
		applies[n] = !by_facts || !cond || holds(j, arena_strdup(j->arena, cond));
		any_cure |= applies[n] && !f->workaround;
		n++;
		*tail = f;
		tail = &f->next;
	}
	store_finish(q);
	struct fix *chosen = NULL;
	tail = &chosen;
	int i = 0;
	for (struct fix *f = all, *next; f; f = next, i++) {
		next = f->next;
		f->next = NULL;
		if (!applies[i] && (any_cure || f->workaround))
			continue;
		f->commands = commands(j, (const char *)f->commands, by_facts);
		if (f->text)
			f->text = filled(j, f->text, false, by_facts);
		*tail = f;
		tail = &f->next;
	}
	return chosen;
}

int judge_cause(struct judge *j, const char *id, bool facts_known, struct cause_text *ret)
{
	struct store_query *q;
	const char *sql = j->chinese
		? "SELECT stage, coalesce(title_zh, title), coalesce(why_zh, why), explains, verify, coalesce(ask_zh, ask), sources FROM cause WHERE id=?"
		: "SELECT stage, title, why, explains, verify, ask, sources FROM cause WHERE id=?";
	if (store_prepare(j->store, sql, &q, NULL) < 0)
		return -EINVAL;
	store_bind_text(q, 1, id);
	if (store_step(q) <= 0) {
		store_finish(q);
		return -ENOENT;
	}
	ret->id = arena_strdup(j->arena, id);
	ret->stage = (int)store_int(q, 0);
	ret->title = arena_strdup(j->arena, store_text(q, 1));
	ret->why = arena_strdup(j->arena, store_text(q, 2));
	ret->explains = evaluate_lines(j->arena, store_text(q, 3));
	const char *verify = store_text(q, 4) ? arena_strdup(j->arena, store_text(q, 4)) : NULL;
	const char *ask = store_text(q, 5) ? arena_strdup(j->arena, store_text(q, 5)) : NULL;
	ret->sources = evaluate_lines(j->arena, store_text(q, 6));
	store_finish(q);
	ret->verify = commands(j, verify, facts_known);
	ret->ask = commands(j, ask, facts_known);
	ret->fixes = read_fixes(j, id, facts_known);
	return 0;
}

size_t judge_cause_list(struct judge *j, const char *const **ret_ids)
{
	struct store_query *q;
	size_t n = 0, cap = 0;
	const char **ids = NULL;
	if (store_prepare(j->store, "SELECT id FROM cause ORDER BY stage, id", &q, NULL) < 0)
		return 0;
	while (store_step(q) > 0) {
		if (!ids || n == cap)
			ids = arena_grow(j->arena, ids, n, &cap, sizeof *ids);
		ids[n++] = arena_strdup(j->arena, store_text(q, 0));
	}
	store_finish(q);
	*ret_ids = ids;
	return n;
}

const char *judge_cause_nearest(struct judge *j, const char *id)
{
	struct store_query *q;
	const char *nearest = NULL;
	if (store_prepare(j->store,
		    "SELECT id FROM cause WHERE edit_distance(id, ?1) <= 1 + length(?1) / 4 OR substr(id, instr(id, '.') + 1) = ?1"
		    " ORDER BY edit_distance(id, ?1), id",
		    &q, NULL) < 0)
		return NULL;
	store_bind_text(q, 1, id);
	if (store_step(q) > 0)
		nearest = arena_strdup(j->arena, store_text(q, 0));
	store_finish(q);
	return nearest;
}

/* "Waived until 2027-01-31 (replacement ordered): /dev/shm has 64 MB ..." */
static void say_waiver(struct judge *j, struct finding *f)
{
	bool expired = f->status != STATUS_INFO;
	const char *english = expired ? "The waiver ended on %s (%s): %s" : "Waived until %s (%s): %s",
		   *chinese = expired ? "豁免已于 %s 到期（%s）：%s" : "已豁免至 %s（%s）：%s";
	if (f->waived_until)
		f->says = arena_printf(
			j->arena, j->chinese ? chinese : english, f->waived_until, f->waived_because, f->says ? f->says : f->title);
}

/* The view `seen` tells of this finding from now on. */
static void show_lines(struct judge *j, const struct finding *f)
{
	struct store_query *q;
	store_exec(j->store, "DELETE FROM judged", NULL);
	if (store_prepare(j->store, "INSERT INTO judged VALUES(nullif(?, -1), ?, nullif(?, -1), ?, ?, ?)", &q, NULL) < 0)
		return;
	store_bind_int(q, 1, f->first_seq);
	store_bind_text(q, 2, f->symptom);
	store_bind_int(q, 3, f->rank);
	store_bind_text(q, 4, f->node);
	store_bind_text(q, 5, f->table);
	store_bind_int(q, 6, f->row);
	store_step(q);
	store_finish(q);
}

void texts_fill(struct judge *j, struct finding *f)
{
	static const char *const none[] = {NULL};
	struct cause_text text;
	show_lines(j, f);
	j->filled = f;
	f->verify = f->ask = f->sources = none;
	f->title = f->cause;
	int rc = judge_cause(j, f->cause, true, &text);
	j->filled = NULL;
	if (rc < 0)
		return;
	f->title = text.title;
	say_waiver(j, f);
	f->why = text.why;
	f->fixes = text.fixes;
	f->verify = text.verify;
	f->sources = text.sources;
	/* Questions are asked where the evidence does not decide. */
	if (f->certainty != CERTAIN || f->status == STATUS_UNKNOWN)
		f->ask = text.ask;
}

void texts_map(struct judge *j, struct judgement *ret)
{
	struct store_query *q;
	const char *sql = j->chinese ? "SELECT stage, sql, names, coalesce(says_zh, says), fine FROM map ORDER BY ord"
				     : "SELECT stage, sql, names, says, fine FROM map ORDER BY ord";
	if (store_prepare(j->store, sql, &q, NULL) < 0)
		return;
	while (store_step(q) > 0) {
		int stage = stage_by_name(store_text(q, 0), strlen(store_text(q, 0)));
		struct store_query *row;
		if (stage < 0 || ret->stage_line[stage] || store_prepare(j->store, store_text(q, 1), &row, NULL) < 0)
			continue;
		if (store_step(row) > 0 && !store_is_null(row, 0) && store_int(row, 0))
			ret->stage_line[stage] = evaluate_text(j, store_text(q, 3), store_text(q, 2), row, 1);
		enum stage_state *state = &ret->stage[stage];
		if (ret->stage_line[stage] && store_text(q, 4) && (*state == STAGE_FINE || *state == STAGE_SILENT))
			*state = STAGE_UNKNOWN;
		store_finish(row);
	}
	store_finish(q);
}
