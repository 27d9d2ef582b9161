/* Rules and events → candidate findings. */
#include "judge/evaluate.h"

#include "judge/gate.h"
#include "judge/placeholder.h"

#define EVIDENCE_MAX 8
#define ROWS_MAX 4096
#define RULE_MAX_MS 3000

const char *const *evaluate_lines(struct arena *a, const char *lines)
{
	size_t n = 0;
	for (const char *p = lines; p && *p; p++)
		n += *p == '\n';
	const char **list = arena_array(a, n + 2, sizeof *list);
	struct str rest = lines ? str_of(lines) : str_n("", 0), line;
	size_t i = 0;
	while (i <= n && str_next_line(&rest, &line))
		list[i++] = arena_strndup(a, line.ptr, line.len);
	return list;
}

static const char *value_of(const char *names, const struct store_query *q, int from, struct str name)
{
	struct str rest = str_of(names), line;
	for (int i = from; names && str_next_line(&rest, &line); i++)
		if (str_eq(line, name))
			return store_text(q, i);
	return NULL;
}

const char *evaluate_text(struct judge *j, const char *says, const char *names, const struct store_query *q, int from)
{
	if (!says)
		return NULL;
	struct buf b = BUF_MAX(65536);
	const char *at = says, *copied = says;
	struct placeholder p;
	while (placeholder_next(&at, PLACEHOLDER_TEXT, &p)) {
		buf_add(&b, copied, (size_t)(p.start - copied));
		placeholder_format(&b, p.format, value_of(names, q, from, p.name));
		copied = p.end;
	}
	buf_text(&b, copied);
	const char *text = arena_strndup(j->arena, b.ptr, b.len);
	buf_free(&b);
	return text;
}

static struct finding *add(struct judge *j, struct candidates *c)
{
	struct finding *f = arena_alloc(j->arena, sizeof *f);
	f->rank = -1;
	f->time = -1;
	f->first_seq = -1;
	f->rows = 1;
	*c->tail = f;
	c->tail = &f->next;
	c->count++;
	return f;
}

static enum facts_table table_by_name(const char *name)
{
	for (int t = 0; t < TABLE_COUNT; t++)
		if (strcmp(facts_table((enum facts_table)t).name, name) == 0)
			return (enum facts_table)t;
	return TABLE_COUNT;
}

static struct facts_row *row_by_id(const struct facts *f, enum facts_table t, int64_t id)
{
	for (struct facts_row *row = f->first[t]; row; row = row->next)
		if (row->id == id)
			return row;
	return NULL;
}

/* -- evidence ----------------------------------------------------------------------------------------------------------- */

static const char *key_text(struct judge *j, const struct facts_row *row)
{
	enum facts_column key = (enum facts_column)facts_table(row->table).first;
	int64_t n;
	if (j->facts->count[row->table] < 2)
		return NULL;
	const char *text = facts_get_text(row, key);
	if (!text && facts_columns[key].type == FACTS_INT && facts_get_int(row, key, &n))
		text = arena_printf(j->arena, "%lld", (long long)n);
	return text;
}

static void add_fact(struct judge *j, struct finding *f, struct evidence ***tail, const struct facts_row *row, enum facts_column column)
{
	const struct facts_value *v = facts_value(row, column);
	if (!v->set || (v->gap != GAP_NONE && v->gap != GAP_ABSENT))
		return;
	int n = 0;
	for (struct evidence *e = f->evidence; e; e = e->next)
		n++;
	if (n >= EVIDENCE_MAX)
		return;
	struct evidence *e = arena_alloc(j->arena, sizeof *e);
	e->fact = arena_printf(j->arena, "%s.%s", facts_table(row->table).name, facts_columns[column].name);
	e->value = v;
	e->type = facts_columns[column].type;
	e->origin = v->origin;
	e->subject = key_text(j, row);
	**tail = e;
	*tail = &e->next;
}

static bool column_by_name(enum facts_table t, const char *name, enum facts_column *ret)
{
	struct facts_table_info info = facts_table(t);
	for (int c = info.first; c < info.end; c++) {
		if (strcmp(facts_columns[c].name, name) == 0) {
			*ret = (enum facts_column)c;
			return true;
		}
	}
	return false;
}

bool evaluate_has_column(const char *table, const char *column)
{
	enum facts_column c;
	enum facts_table t = table_by_name(table);
	return t != TABLE_COUNT && column_by_name(t, column, &c);
}

/* The facts that the rule read, of one kind of table: that of the row itself, or others that have one row only. */
static void add_reads_of(struct judge *j, struct finding *f, const char *reads, const struct facts_row *row, bool own)
{
	struct evidence **tail = &f->evidence;
	while (*tail)
		tail = &(*tail)->next;
	struct str rest = reads ? str_of(reads) : str_n("", 0), line, table, column;
	while (str_next_line(&rest, &line)) {
		enum facts_column c;
		if (!str_split(line, '.', &table, &column))
			continue;
		enum facts_table t = table_by_name(arena_strndup(j->arena, table.ptr, table.len));
		if (t == TABLE_COUNT || t == TABLE_event || !column_by_name(t, arena_strndup(j->arena, column.ptr, column.len), &c))
			continue;
		if (t == row->table && own)
			add_fact(j, f, &tail, row, c);
		else if (t != row->table && !own && j->facts->count[t] == 1)
			add_fact(j, f, &tail, j->facts->first[t], c);
	}
}

/* The row's own facts say most and come first. */
static void add_reads(struct judge *j, struct finding *f, const char *reads, const struct facts_row *row)
{
	add_reads_of(j, f, reads, row, true);
	add_reads_of(j, f, reads, row, false);
}

static void add_line(struct judge *j, struct finding *f, const struct facts_row *event)
{
	int n = 0;
	int64_t line = 0;
	struct evidence **tail = &f->evidence;
	for (; *tail; tail = &(*tail)->next)
		n++;
	if (n >= EVIDENCE_MAX)
		return;
	struct evidence *e = arena_alloc(j->arena, sizeof *e);
	e->file = facts_get_text(event, event__file);
	e->text = facts_get_text(event, event__text);
	if (facts_get_int(event, event__line, &line))
		e->line = line;
	*tail = e;
}

static void take_event(struct judge *j, struct finding *f, const struct facts_row *event)
{
	int64_t n;
	if (facts_get_int(event, event__rank, &n))
		f->rank = n;
	if (facts_get_int(event, event__seq, &n))
		f->first_seq = n;
	bool fails;
	f->outlived = facts_get_bool(event, event__failure, &fails) && !fails;
	facts_get_real(event, event__time, &f->time);
	f->node = facts_get_text(event, event__host);
	f->symptom = facts_get_text(event, event__symptom);
	add_line(j, f, event);
}

/* -- rules -------------------------------------------------------------------------------------------------------------- */

const char *const stage_names[STAGE_COUNT] = {"driver", "gpu", "torch", "companion", "library", "python", "toolchain", "container", "host",
	"network", "rdma", "p2p", "launch", "program", "hardware", "accelerator"};

int stage_by_name(const char *name, size_t n)
{
	for (int i = 0; i < STAGE_COUNT; i++)
		if (strlen(stage_names[i]) == n && strncmp(stage_names[i], name, n) == 0)
			return i;
	return -1;
}

const struct waiver *evaluate_waiver(const struct judge *j, const char *cause)
{
	for (const struct waiver *w = j->waivers; w; w = w->next)
		if (strcmp(w->cause, cause) == 0)
			return w;
	return NULL;
}

static bool is_waived(const struct judge *j, const char *cause)
{
	const struct waiver *w = evaluate_waiver(j, cause);
	return w && w->until && !w->expired && j->mode != JUDGE_EXPLAIN;
}

static bool wanted(const struct judge *j, const char *cause)
{
	struct str rest = j->only ? str_of(j->only) : str_n("", 0), word;
	bool asked = !j->only;
	while (str_next_word(&rest, &word))
		asked |= str_is(word, cause) || str_eq(word, str_n(cause, strcspn(cause, ".")));
	if (!asked)
		return false;
	const struct waiver *w = evaluate_waiver(j, cause);
	return !w || w->until;
}

/* One rule as it stands in the store. */
struct rule {
	const char *id, *cause, *table, *level, *certainty, *sql, *names, *says, *reads, *shown;
	bool essential;
	int stage;
};

static void note_unknown(struct judge *j, const struct rule *r, const struct facts_row *row, struct unknown_fact **list)
{
	struct str rest = r->reads ? str_of(r->reads) : str_n("", 0), line, table, column;
	while (str_next_line(&rest, &line)) {
		enum facts_column c;
		if (!str_split(line, '.', &table, &column))
			continue;
		enum facts_table t = table_by_name(arena_strndup(j->arena, table.ptr, table.len));
		if (t == TABLE_COUNT || !column_by_name(t, arena_strndup(j->arena, column.ptr, column.len), &c))
			continue;
		const struct facts_row *source = t == row->table ? row : j->facts->count[t] == 1 ? j->facts->first[t] : NULL;
		const struct facts_value *v = source ? facts_value(source, c) : NULL;
		if (!v || v->gap == GAP_NONE || v->gap == GAP_ABSENT)
			continue;
		bool known = false;
		const char *fact = arena_strndup(j->arena, line.ptr, line.len);
		for (struct unknown_fact *u = *list; u; u = u->next)
			known |= strcmp(u->fact, fact) == 0;
		if (known)
			continue;
		struct unknown_fact *u = arena_alloc(j->arena, sizeof *u);
		*u = (struct unknown_fact){fact,
			v->detail && *v->detail ? arena_printf(j->arena, "%s: %s", facts_gap_name(v->gap), v->detail)
						: facts_gap_name(v->gap),
			v->origin, *list};
		*list = u;
	}
}

static bool is_refusal(enum facts_gap gap)
{
	return gap == GAP_DENIED || gap == GAP_TIMEOUT || gap == GAP_FAILED;
}

static bool table_refused(const struct judge *j, enum facts_table t)
{
	for (const struct facts_table_gap *g = j->facts->gaps; g; g = g->next)
		if (g->table == t && is_refusal(g->gap))
			return true;
	return false;
}

static bool any_refused(const struct facts *f)
{
	for (const struct facts_table_gap *g = f->gaps; g; g = g->next)
		if (is_refusal(g->gap))
			return true;
	for (int t = 0; t < TABLE_COUNT; t++) {
		struct facts_table_info info = facts_table((enum facts_table)t);
		for (const struct facts_row *row = f->first[t]; row; row = row->next)
			for (int c = info.first; c < info.end; c++)
				if (is_refusal(row->value[c - info.first].gap))
					return true;
	}
	return false;
}

/* Was an answer refused or late that this rule needs? What is merely not there (a probe, a file of another distribution) is common on
 * machines in good health; a refusal hides something, and a rule that could have found a fault then has not passed. */
static bool was_refused(struct judge *j, const struct rule *r, const struct facts_row *row)
{
	struct str rest = str_of(r->reads ? r->reads : ""), line, table, column;

	while (str_next_line(&rest, &line)) {
		enum facts_column c;

		if (!str_split(line, '.', &table, &column))
			continue;
		enum facts_table t = table_by_name(arena_strndup(j->arena, table.ptr, table.len));
		if (t == TABLE_COUNT)
			continue;
		if (table_refused(j, t))
			return true;
		if (!column_by_name(t, arena_strndup(j->arena, column.ptr, column.len), &c))
			continue;
		/* Of another table any row may be the one that matters. */
		for (const struct facts_row *source = row && t == row->table ? row : j->facts->first[t]; source; source = source->next) {
			if (is_refusal(facts_value(source, c)->gap))
				return true;
			if (source == row)
				break;
		}
	}
	return false;
}

static void fire(struct judge *j, struct candidates *c, const struct rule *r, const struct store_query *q, enum status status)
{
	enum facts_table t = table_by_name(r->table);
	struct facts_row *row = row_by_id(j->facts, t, store_int(q, 0));
	if (!row)
		return;
	struct finding *f = add(j, c);
	const char *subject = store_text(q, 4), *node = store_text(q, 1);
	f->cause = r->cause;
	f->rule = r->id;
	f->stage = r->stage;
	f->status = status;
	f->certainty = strcmp(r->certainty, "certain") == 0 ? CERTAIN : strcmp(r->certainty, "likely") == 0 ? LIKELY : POSSIBLE;
	f->says = evaluate_text(j, r->says, r->names, q, 6);
	f->table = r->table;
	f->row = row->id;
	f->key = subject ? arena_strdup(j->arena, subject) : key_text(j, row);
	f->node = node ? arena_strdup(j->arena, node) : NULL;
	if (t == TABLE_event)
		take_event(j, f, row);
	if (!store_is_null(q, 5))
		f->rank = store_int(q, 5);
	add_reads(j, f, r->shown, row);
}

static void run_rule(struct judge *j, struct candidates *c, const struct rule *r, struct stage_seen *seen, struct unknown_fact **unknown)
{
	enum facts_table t = table_by_name(r->table);
	struct store_query *q;
	int rows = 0, rc = 0;
	if (t == TABLE_COUNT || !j->facts->count[t]) {
		if (r->essential && t != TABLE_COUNT && !j->facts->read[t])
			seen[r->stage].unknown_essential = true;
		if (t != TABLE_COUNT && strcmp(r->level, "fail") == 0 && j->mode != JUDGE_EXPLAIN && table_refused(j, t))
			seen[r->stage].unknown_essential = true;
		return;
	}
	bool info = strcmp(r->level, "info") == 0, said_unknown = false;
	bool fails = strcmp(r->level, "fail") == 0 && j->mode != JUDGE_EXPLAIN;
	if (store_prepare(j->store, r->sql, &q, NULL) < 0) { /* knowledge that was overridden does not fit */
		seen[r->stage].unknown_essential |= fails;
		return;
	}
	while (rows++ < ROWS_MAX && (rc = store_step(q)) > 0) {
		bool given = !store_is_null(q, 2) && store_int(q, 2);
		if (!given) {
			if (store_is_null(q, 2) && (r->essential || (fails && was_refused(j, r, row_by_id(j->facts, t, store_int(q, 0))))))
				seen[r->stage].unknown_essential = true;
			continue;
		}
		if (store_is_null(q, 3)) {
			struct facts_row *row = row_by_id(j->facts, t, store_int(q, 0));
			if (row && !info)
				note_unknown(j, r, row, unknown);
			if (fails && was_refused(j, r, row))
				seen[r->stage].unknown_essential = true;
			if (r->essential) {
				seen[r->stage].unknown_essential = true;
				if (!said_unknown)
					fire(j, c, r, q, STATUS_UNKNOWN);
				said_unknown = true;
			}
			continue;
		}
		if (store_int(q, 3))
			fire(j, c, r, q, info ? STATUS_INFO : strcmp(r->level, "warn") == 0 ? STATUS_WARN : STATUS_FAIL);
		else
			seen[r->stage].fine = true;
	}
	/* Neither too late nor too many is a pass. */
	if (fails && rc != 0)
		seen[r->stage].unknown_essential = true;
	store_finish(q);
}

static const char *copy(struct judge *j, const struct store_query *q, int i)
{
	const char *text = store_text(q, i);
	return text ? arena_strdup(j->arena, text) : NULL;
}

/* The rule of this row of `q` cannot find anything here: its SQL need not be looked at. A gate knows no difference between "no" and
 * "unknown", which matters only where an answer was refused. */
static bool is_shut(struct judge *j, const struct store_query *q, bool refused)
{
	if (j->no_gates || gate_is_open(j->facts, store_text(q, 10)))
		return false;
	struct rule r = {.reads = store_text(q, 8)};
	return !(refused && j->mode != JUDGE_EXPLAIN && strcmp(store_text(q, 3), "fail") == 0 && was_refused(j, &r, NULL));
}

/* Which rules are asked. After live tests those about logs only where a log was read. */
static const char *modes_of(const struct judge *j)
{
	static const char *const modes[] = {[JUDGE_CHECK] = "'any', 'check'",
		[JUDGE_EXPLAIN] = "'any', 'explain'",
		[JUDGE_TEST] = "'any', 'check', 'test'",
		[JUDGE_CLUSTER] = "'cluster', 'fleet'",
		[JUDGE_FLEET] = "'fleet'"};
	return j->mode == JUDGE_TEST && j->facts->count[TABLE_event] ? "'any', 'check', 'explain', 'test'" : modes[j->mode];
}

void evaluate_rules(struct judge *j, struct candidates *c, struct stage_seen *seen, struct unknown_fact **ret_unknown)
{
	struct store_query *q;
	const char *sql = arena_printf(j->arena,
		"SELECT id, cause, tbl, level, certainty, sql, names, %s, reads, essential, gate, shown FROM rule WHERE mode IN (%s) ORDER BY ord",
		j->chinese ? "coalesce(says_zh, says)" : "says", modes_of(j));
	if (store_prepare(j->store, sql, &q, NULL) < 0)
		return;
	bool refused = any_refused(j->facts);
	while (store_step(q) > 0) {
		const char *cause = store_text(q, 1);
		enum facts_table t = table_by_name(store_text(q, 2));
		bool essential = store_int(q, 9) != 0;
		int stage = stage_by_name(cause, strcspn(cause, "."));
		if (stage < 0 || !wanted(j, cause) || (t != TABLE_COUNT && !j->facts->count[t] && !essential && !table_refused(j, t)))
			continue;
		if (t != TABLE_COUNT && j->facts->count[t] && is_shut(j, q, refused))
			continue;
		struct rule r = {copy(j, q, 0), copy(j, q, 1), copy(j, q, 2), copy(j, q, 3), copy(j, q, 4), copy(j, q, 5), copy(j, q, 6),
			copy(j, q, 7), copy(j, q, 8), copy(j, q, 11), essential, stage};
		bool unknown_before = seen[stage].unknown_essential;
		store_limit_each(j->store, RULE_MAX_MS);
		run_rule(j, c, &r, seen, ret_unknown);
		store_limit_each(j->store, 0);
		if (is_waived(j, r.cause)) /* not even "could not tell" */
			seen[stage].unknown_essential = unknown_before;
	}
	store_finish(q);
}

/* -- events: a line of class evidence whose pattern names a cause is a candidate of its own ------------------------------------ */

/* The mark that ended the log's own sentence is no part of a value. */
static const char *without_stop(struct judge *j, const char *value)
{
	size_t n = strlen(value);

	if (n < 2 || !strchr(".,;", value[n - 1]) || strchr(".,; ", value[n - 2]))
		return value;
	return arena_strndup(j->arena, value, n - 1);
}

static const char *capture_text(struct judge *j, const char *says, const struct facts_row *event)
{
	struct buf b = BUF_MAX(65536);
	const char *at = says, *copied = says;
	struct placeholder p;
	while (placeholder_next(&at, PLACEHOLDER_TEXT, &p)) {
		enum facts_column c;
		int64_t n;
		const char *name = arena_strndup(j->arena, p.name.ptr, p.name.len), *value = NULL;
		buf_add(&b, copied, (size_t)(p.start - copied));
		if (column_by_name(TABLE_event, arena_printf(j->arena, "c_%s", name), &c))
			value = facts_get_text(event, c);
		if (!value && column_by_name(TABLE_event, name, &c)) {
			if (facts_columns[c].type == FACTS_TEXT)
				value = facts_get_text(event, c);
			else if (facts_columns[c].type == FACTS_INT && facts_get_int(event, c, &n))
				value = arena_printf(j->arena, "%lld", (long long)n);
		}
		placeholder_format(&b, p.format, value ? without_stop(j, value) : NULL);
		copied = p.end;
	}
	buf_text(&b, copied);
	const char *text = arena_strndup(j->arena, b.ptr, b.len);
	buf_free(&b);
	return text;
}

void evaluate_events(struct judge *j, struct candidates *c)
{
	struct store_query *says;
	if (store_prepare(j->store,
		    j->chinese ? "SELECT coalesce(says_zh, says) FROM pattern WHERE id=?" : "SELECT says FROM pattern WHERE id=?", &says,
		    NULL) < 0)
		return;
	int rows = 0;
	for (struct facts_row *event = j->facts->first[TABLE_event]; event && rows < ROWS_MAX; event = event->next) {
		const char *class = facts_get_text(event, event__class), *cause = facts_get_text(event, event__cause),
			   *sure = facts_get_text(event, event__certainty);
		if (!class || !cause || strcmp(class, "evidence") != 0 || !wanted(j, cause))
			continue;
		int stage = stage_by_name(cause, strcspn(cause, "."));
		if (stage < 0)
			continue;
		rows++;
		struct finding *f = add(j, c);
		f->cause = cause;
		f->stage = stage;
		f->status = STATUS_FAIL;
		f->certainty = !sure ? LIKELY : strcmp(sure, "certain") == 0 ? CERTAIN : strcmp(sure, "likely") == 0 ? LIKELY : POSSIBLE;
		f->table = "event";
		f->key = f->rule = facts_get_text(event, event__pattern);
		take_event(j, f, event);
		store_bind_text(says, 1, f->rule);
		if (store_step(says) > 0 && store_text(says, 0))
			f->says = capture_text(j, store_text(says, 0), event);
		store_reset(says);
	}
	store_finish(says);
}
