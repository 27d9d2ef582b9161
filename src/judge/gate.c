#include "judge/gate.h"

#define TOKENS_MAX 4096u
#define DEPTH_MAX 16
#define OR_CHAR '\x1f' /* between the values of one test */

/* -- SQL as tokens ------------------------------------------------------------------------------------------------------- */

enum kind { WORD, STRING, NUMBER, SIGN };

struct token {
	enum kind kind;
	struct str text; /* without quotes */
	bool quoted;
	size_t match; /* of ( and CASE: its end */
};

struct sql {
	struct arena *arena;
	struct token *token;
	size_t count;
};

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(const struct token *t, const char *word)
{
	return t->kind == WORD && !t->quoted && str_is_nocase(t->text, word);
}

static bool is_sign(const struct token *t, const char *sign)
{
	return t->kind == SIGN && str_is(t->text, sign);
}

/* The token at `at`; its length in *ret_len. Doubled quotes are not undone: such a text makes no test. */
static struct token token_at(struct str s, size_t at, size_t *ret_len)
{
	static const char *const signs[] = {"||", "<>", "!=", "<=", ">=", "==", "<<", ">>", "->"};
	char c = s.ptr[at];
	size_t n = at + 1;
	if (c == '\'' || c == '"') {
		while (n < s.len && s.ptr[n] != c)
			n++;
		*ret_len = n < s.len ? n + 1 - at : 0;
		return (struct token){.kind = c == '"' ? WORD : STRING, .text = str_slice(s, at + 1, n), .quoted = true};
	}
	if (is_letter(c) || is_digit(c)) {
		while (n < s.len && (is_letter(s.ptr[n]) || is_digit(s.ptr[n]) || (s.ptr[n] == '.' && is_digit(c))))
			n++;
		*ret_len = n - at;
		return (struct token){.kind = is_digit(c) ? NUMBER : WORD, .text = str_slice(s, at, n)};
	}
	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		if (str_starts(str_skip(s, at), signs[i]))
			n = at + 2;
	*ret_len = n - at;
	return (struct token){.kind = SIGN, .text = str_slice(s, at, n)};
}

/* Where brackets and CASE end. False: they do not fit. */
static bool match_brackets(struct sql *q)
{
	size_t open[DEPTH_MAX * 4], depth = 0;
	for (size_t i = 0; i < q->count; i++) {
		struct token *t = &q->token[i];
		if (is_sign(t, "(") || is_word(t, "CASE")) {
			if (depth == sizeof open / sizeof *open)
				return false;
			open[depth++] = i;
		} else if (is_sign(t, ")") || is_word(t, "END")) {
			if (!depth || is_sign(t, ")") != is_sign(&q->token[open[depth - 1]], "("))
				return false;
			q->token[open[--depth]].match = i;
		}
	}
	return depth == 0;
}

static bool tokenize(struct sql *q, const char *text)
{
	struct str s = str_of(text);
	q->token = arena_array(q->arena, TOKENS_MAX, sizeof *q->token);
	q->count = 0;
	for (size_t at = 0, n; at < s.len; at += n) {
		n = 1;
		if (strchr(" \t\r\n", s.ptr[at]))
			continue;
		if (q->count == TOKENS_MAX || (s.ptr[at] == '-' && at + 1 < s.len && s.ptr[at + 1] == '-'))
			return false;
		q->token[q->count] = token_at(s, at, &n);
		if (!n)
			return false;
		q->count++;
	}
	return match_brackets(q);
}

/* The next token of the same level. */
static size_t step(const struct sql *q, size_t i)
{
	return (q->token[i].match ? q->token[i].match : i) + 1;
}

static size_t find_word(const struct sql *q, size_t from, size_t to, const char *const *words)
{
	for (size_t i = from; i < to; i = step(q, i))
		for (size_t k = 0; words[k]; k++)
			if (is_word(&q->token[i], words[k]))
				return i;
	return to;
}

/* -- tests --------------------------------------------------------------------------------------------------------------- */

/* Rows of one table: all tests must hold for one row. */
struct scope {
	enum facts_table table;
	struct str name, alias;
	struct buf tests;
};

struct gate {
	struct sql sql;
	struct buf lines; /* one for each table that must have a row */
};

static enum facts_table table_named(struct str name)
{
	for (int t = 0; t < TABLE_COUNT; t++)
		if (str_is_nocase(name, facts_table((enum facts_table)t).name))
			return (enum facts_table)t;
	return TABLE_COUNT;
}

static int column_named(enum facts_table t, struct str name)
{
	struct facts_table_info info = facts_table(t);
	for (int c = info.first; c < info.end; c++)
		if (str_is_nocase(name, facts_columns[c].name))
			return c;
	return -1;
}

static void add_test(struct scope *s, int column, char op, struct str value)
{
	buf_fmt(&s->tests, "\t%d%c", column, op);
	buf_str(&s->tests, value);
}

static void close_scope(struct gate *g, struct scope *s)
{
	if (s->tests.len < 4000) {
		buf_fmt(&g->lines, "%d", (int)s->table);
		buf_str(&g->lines, buf_view(&s->tests));
		buf_char(&g->lines, '\n');
	}
	buf_free(&s->tests);
}

/* A column of the scope at i: its number, and where it ends; -1: something else. */
static int column_at(const struct sql *q, size_t i, size_t to, const struct scope *s, size_t *ret_end)
{
	if (i >= to || q->token[i].kind != WORD)
		return -1;
	if (i + 2 < to && is_sign(&q->token[i + 1], ".") && q->token[i + 2].kind == WORD) {
		struct str owner = q->token[i].text;
		if (!str_is_nocase(owner, str_dup(q->arena, s->alias.len ? s->alias : s->name)))
			return -1;
		*ret_end = i + 3;
		return column_named(s->table, q->token[i + 2].text);
	}
	if (i + 1 < to && (is_sign(&q->token[i + 1], "(") || is_sign(&q->token[i + 1], ".")))
		return -1;
	*ret_end = i + 1;
	return column_named(s->table, q->token[i].text);
}

/* Literals that the test's language can hold, of a type that is compared as it stands. */
static bool add_value(struct buf *values, const struct token *t, enum facts_type type)
{
	if (t->kind == STRING ? type != FACTS_TEXT : t->kind != NUMBER || (type != FACTS_INT && type != FACTS_BOOL))
		return false;
	if (str_has(t->text, "\t") || str_has(t->text, "\n") || str_find_char(t->text, OR_CHAR, 0) != SIZE_MAX ||
		(t->kind == NUMBER && str_has(t->text, ".")))
		return false;
	if (values->len)
		buf_char(values, OR_CHAR);
	else
		buf_char(values, t->kind == STRING ? '=' : '#');
	buf_str(values, t->text);
	return true;
}

/* = 'x', IS 1, IN ('x', 'y'): the values with the test's sign before them. */
static bool equal_values(const struct sql *q, size_t i, size_t to, enum facts_type type, struct buf *values)
{
	if (to - i == 2 && (is_sign(&q->token[i], "=") || is_sign(&q->token[i], "==") || is_word(&q->token[i], "IS")))
		return add_value(values, &q->token[i + 1], type);
	if (to - i < 4 || !is_word(&q->token[i], "IN") || !is_sign(&q->token[i + 1], "(") || q->token[i + 1].match != to - 1)
		return false;
	for (size_t k = i + 2; k < to - 1; k += 2)
		if (!add_value(values, &q->token[k], type) || (k + 1 < to - 1 && !is_sign(&q->token[k + 1], ",")))
			return false;
	return true;
}

/* Operators whose result is NULL when their left side is, and nothing behind them that would make another of it. */
static bool is_strict(const struct sql *q, size_t i, size_t to)
{
	static const char *const others[] = {
		"IS", "ISNULL", "NOTNULL", "NOT", "IN", "LIKE", "GLOB", "BETWEEN", "COLLATE", "REGEXP", "MATCH", NULL};
	static const char *const signs[] = {"=", "==", "<>", "!=", "<", ">", "<=", ">=", NULL};
	if (i < to && is_word(&q->token[i], "NOT")) {
		i++;
		if (i + 2 < to && is_word(&q->token[i], "IN") && (!is_sign(&q->token[i + 1], "(") || q->token[i + 2].kind == WORD))
			return false; /* nothing is in an empty list, not even NULL */
	}
	bool known = i < to && (is_word(&q->token[i], "LIKE") || is_word(&q->token[i], "GLOB") || is_word(&q->token[i], "IN"));
	for (size_t k = 0; signs[k] && i < to; k++)
		known |= is_sign(&q->token[i], signs[k]);
	if (!known || i + 1 >= to || find_word(q, i + 1, to, others) < to)
		return false;
	for (size_t n = i + 1; n < to; n = step(q, n))
		for (size_t k = 0; signs[k]; k++)
			if (is_sign(&q->token[n], signs[k]))
				return false;
	return true;
}

/* What follows a column or a scalar SELECT of one: a test of the column. False: none. */
static bool test_column(const struct sql *q, size_t i, size_t to, struct scope *s, int column)
{
	enum facts_type type = facts_columns[column].type;
	struct buf values = BUF_MAX(4096);
	bool done = true;
	if (equal_values(q, i, to, type, &values)) {
		add_test(s, column, buf_view(&values).ptr[0], str_skip(buf_view(&values), 1));
	} else if (to - i == 2 && is_word(&q->token[i], "GLOB") && q->token[i + 1].kind == STRING && type == FACTS_TEXT) {
		size_t n = 0;
		struct str glob = q->token[i + 1].text;
		while (n < glob.len && !strchr("*?[\t\n", glob.ptr[n]))
			n++;
		add_test(s, column, '^', str_slice(glob, 0, n));
	} else if (to == i ||
		(to - i == 3 && is_word(&q->token[i], "IS") && is_word(&q->token[i + 1], "NOT") && is_word(&q->token[i + 2], "NULL")) ||
		is_strict(q, i, to)) {
		add_test(s, column, '!', str_n("", 0));
	} else {
		done = false;
	}
	buf_free(&values);
	return done;
}

/* -- conditions ------------------------------------------------------------------------------------------------------------ */

static void read_condition(struct gate *g, size_t from, size_t to, struct scope *s, int depth);

/* FROM table [alias] [WHERE ...]: the scope of the rows that must be there. False: not understood. */
static bool read_from(struct gate *g, size_t from, size_t to, struct scope *ret, int depth)
{
	static const char *const joins[] = {"JOIN", "LEFT", "INNER", "CROSS", "NATURAL", NULL},
				 *const never[] = {"RIGHT", "FULL", "UNION", "EXCEPT", "INTERSECT", "WITH", NULL};
	static const char *const ends[] = {"GROUP", "ORDER", "LIMIT", "HAVING", "WINDOW", NULL}, *const where[] = {"WHERE", NULL};
	const struct sql *q = &g->sql;
	if (from >= to || q->token[from].kind != WORD || find_word(q, from, to, never) < to)
		return false;
	*ret = (struct scope){.table = table_named(q->token[from].text), .name = q->token[from].text, .tests = BUF_MAX(65536)};
	if (ret->table == TABLE_COUNT)
		return false;
	size_t end = find_word(q, from, to, ends), at = find_word(q, from, end, where), i = from + 1;
	if (i < at && is_word(&q->token[i], "AS"))
		i++;
	if (i < at && q->token[i].kind == WORD && find_word(q, i, i + 1, joins) > i)
		ret->alias = q->token[i++].text;
	if (i == at && at < end) /* one table alone: its rows can be tested */
		read_condition(g, at + 1, end, ret, depth + 1);
	else
		return i == at || is_sign(&q->token[i], ",") || find_word(q, i, i + 1, joins) == i;
	return true;
}

/* count(*) > 0, >= 1, = 2 */
static bool counts_some(const struct sql *q, size_t i, size_t to)
{
	if (to - i != 2 || q->token[i + 1].kind != NUMBER)
		return false;
	bool zero = str_is(q->token[i + 1].text, "0");
	return is_sign(&q->token[i], ">") || (!zero && (is_sign(&q->token[i], "=") || is_sign(&q->token[i], ">=")));
}

/* (SELECT what FROM ...) followed by [i, to). */
static void read_scalar(struct gate *g, size_t open, size_t i, size_t to, int depth)
{
	static const char *const word[] = {"FROM", NULL}, *const never[] = {"DISTINCT", "CASE", NULL};
	static const char *const aggregates[] = {"max", "min", "sum", NULL};
	const struct sql *q = &g->sql;
	struct scope s;
	size_t close = q->token[open].match, first = open + 2, from = find_word(q, first, close, word), end;
	if (from == close || find_word(q, first, from, never) < from || !read_from(g, from + 1, close, &s, depth))
		return;
	int column = column_at(q, first, from, &s, &end);
	bool fine = false;
	if (column >= 0 && end == from) {
		fine = test_column(q, i, to, &s, column);
	} else if (first + 1 < from && is_sign(&q->token[first + 1], "(") && q->token[first + 1].match == from - 1) {
		bool aggregate = find_word(q, first, first + 1, aggregates) == first, count = is_word(&q->token[first], "count");
		column = aggregate ? column_at(q, first + 2, from - 1, &s, &end) : -1;
		fine = count ? counts_some(q, i, to) : column >= 0 && end == from - 1 && is_strict(q, i, to);
		if (fine && column >= 0)
			add_test(&s, column, '!', str_n("", 0));
	}
	if (fine)
		close_scope(g, &s);
	else
		buf_free(&s.tests);
}

/* EXISTS (SELECT 1 FROM ...) */
static void read_exists(struct gate *g, size_t open, int depth)
{
	const struct sql *q = &g->sql;
	struct scope s;
	if (q->token[open].match < open + 5 || !is_word(&q->token[open + 1], "SELECT") ||
		!(is_sign(&q->token[open + 2], "*") || q->token[open + 2].kind == NUMBER) || !is_word(&q->token[open + 3], "FROM"))
		return;
	if (read_from(g, open + 4, q->token[open].match, &s, depth))
		close_scope(g, &s);
}

/* One part of a conjunction. */
static void read_part(struct gate *g, size_t from, size_t to, struct scope *s, int depth)
{
	const struct sql *q = &g->sql;
	if (from >= to)
		return;
	bool bracket = is_sign(&q->token[from], "(");
	if (bracket && is_word(&q->token[from + 1], "SELECT")) {
		read_scalar(g, from, q->token[from].match + 1, to, depth);
	} else if (bracket && q->token[from].match == to - 1) {
		read_condition(g, from + 1, to - 1, s, depth + 1);
	} else if (is_word(&q->token[from], "EXISTS") && from + 1 < to && is_sign(&q->token[from + 1], "(") &&
		q->token[from + 1].match == to - 1) {
		read_exists(g, from + 1, depth);
	} else {
		size_t end;
		int column = column_at(q, from, to, s, &end);
		if (column >= 0)
			test_column(q, end, to, s, column);
	}
}

/* The parts that AND joins. OR binds less: then nothing is said. */
static void read_condition(struct gate *g, size_t from, size_t to, struct scope *s, int depth)
{
	static const char *const or [] = {"OR", NULL};
	const struct sql *q = &g->sql;
	bool between = false;
	if (depth > DEPTH_MAX || find_word(q, from, to, or) < to)
		return;
	size_t start = from;
	for (size_t i = from; i < to; i = step(q, i)) {
		if (is_word(&q->token[i], "BETWEEN")) {
			between = true;
		} else if (is_word(&q->token[i], "AND")) {
			if (!between) {
				read_part(g, start, i, s, depth);
				start = i + 1;
			}
			between = false;
		}
	}
	read_part(g, start, to, s, depth);
}

static void read_text(struct gate *g, const char *text, struct scope *s)
{
	if (text && tokenize(&g->sql, text))
		read_condition(g, 0, g->sql.count, s, 0);
}

const char *gate_make(struct arena *a, const char *table, const char *where, const char *given)
{
	struct gate g = {.sql = {.arena = a}, .lines = BUF_MAX(65536)};
	struct scope own = {.table = table_named(str_of(table)), .name = str_of(table), .tests = BUF_MAX(65536)};
	if (own.table == TABLE_COUNT)
		return NULL;
	read_text(&g, where, &own);
	read_text(&g, given, &own);
	if (own.tests.len)
		close_scope(&g, &own);
	buf_free(&own.tests);
	const char *text = g.lines.len && !g.lines.truncated ? arena_strndup(a, g.lines.ptr, g.lines.len) : NULL;
	buf_free(&g.lines);
	return text;
}

/* -- asking ---------------------------------------------------------------------------------------------------------------- */

static bool holds(const struct facts_value *v, enum facts_type type, char op, struct str values)
{
	struct str one;
	int64_t n;
	if (v->gap != GAP_NONE)
		return false;
	if (op == '!')
		return true;
	if (op == '^')
		return v->text && strncmp(v->text, values.ptr, values.len) == 0;
	while (str_next_field(&values, OR_CHAR, &one))
		if (type == FACTS_TEXT ? v->text && str_is(one, v->text) : str_to_int(one, &n) == 0 && n == v->i)
			return true;
	return false;
}

/* A number at the beginning of s. */
static int take_number(struct str *s)
{
	int n = 0;
	size_t i = 0;
	for (; i < s->len && is_digit(s->ptr[i]); i++)
		n = n * 10 + (s->ptr[i] - '0');
	*s = str_skip(*s, i);
	return n;
}

static bool has_row(const struct facts *f, struct str line)
{
	enum facts_table t = (enum facts_table)take_number(&line);
	for (const struct facts_row *row = f->first[t]; row; row = row->next) {
		struct str rest = str_skip(line, 1), test;
		bool all = true;
		while (all && line.len && str_next_field(&rest, '\t', &test)) {
			enum facts_column c = (enum facts_column)take_number(&test);
			all = holds(facts_value(row, c), facts_columns[c].type, test.ptr[0], str_skip(test, 1));
		}
		if (all)
			return true;
	}
	return false;
}

bool gate_is_open(const struct facts *f, const char *gate)
{
	struct str rest = str_of(gate ? gate : ""), line;
	while (str_next_field(&rest, '\n', &line) && line.len)
		if (!has_row(f, line))
			return false;
	return true;
}
