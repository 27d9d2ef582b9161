#include "facts/lines.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#define HEAD "davy-facts "
#define ROWS_MAX 1000000

/* -- names → numbers: open addressing, filled at the first question ------------------------------------------------------------ */

#define TABLE_SLOTS 256
#define COLUMN_SLOTS 4096

static uint16_t table_slot[TABLE_SLOTS], column_slot[COLUMN_SLOTS]; /* number + 1 */
static bool names_ready;

_Static_assert(TABLE_COUNT < TABLE_SLOTS / 2 && COLUMN_COUNT < COLUMN_SLOTS / 2, "the hash of names is full");

static uint32_t hash_name(struct str s, uint32_t h)
{
	for (size_t i = 0; i < s.len; i++)
		h = (h ^ (unsigned char)s.ptr[i]) * 16777619u;
	return h ^ h >> 15;
}

static uint32_t column_hash(int table, struct str name)
{
	return hash_name(name, 2166136261u + (uint32_t)table * 40503u);
}

static void learn_names(void)
{
	for (int t = 0; t < TABLE_COUNT; t++) {
		struct facts_table_info info = facts_table((enum facts_table)t);
		uint32_t h = hash_name(str_of(info.name), 2166136261u) % TABLE_SLOTS;
		while (table_slot[h])
			h = (h + 1) % TABLE_SLOTS;
		table_slot[h] = (uint16_t)(t + 1);
		for (int c = info.first; c < info.end; c++) {
			h = column_hash(t, str_of(facts_columns[c].name)) % COLUMN_SLOTS;
			while (column_slot[h])
				h = (h + 1) % COLUMN_SLOTS;
			column_slot[h] = (uint16_t)(c + 1);
		}
	}
	names_ready = true;
}

enum facts_table facts_table_by_name(struct str name)
{
	if (!names_ready)
		learn_names();
	for (uint32_t h = hash_name(name, 2166136261u) % TABLE_SLOTS; table_slot[h]; h = (h + 1) % TABLE_SLOTS)
		if (str_is(name, facts_table((enum facts_table)(table_slot[h] - 1)).name))
			return (enum facts_table)(table_slot[h] - 1);
	return TABLE_COUNT;
}

enum facts_column facts_column_by_name(enum facts_table table, struct str name)
{
	if (!names_ready)
		learn_names();
	for (uint32_t h = column_hash((int)table, name) % COLUMN_SLOTS; column_slot[h]; h = (h + 1) % COLUMN_SLOTS) {
		const struct facts_column_info *c = &facts_columns[column_slot[h] - 1];
		if (c->table == table && str_is(name, c->name))
			return (enum facts_column)(column_slot[h] - 1);
	}
	return COLUMN_COUNT;
}

/* -- writing ------------------------------------------------------------------------------------------------------------ */

static void put_text(struct buf *out, const char *s)
{
	if (!*s || *s == '?' || *s == '=' || strcmp(s, "-") == 0)
		buf_char(out, '=');
	for (const char *from = s;; s++) {
		char c = *s;
		if (c && c != '\t' && c != '\n' && c != '\r' && c != '\\')
			continue;
		buf_add(out, from, (size_t)(s - from));
		if (!c)
			return;
		buf_char(out, '\\');
		buf_char(out, c == '\t' ? 't' : c == '\n' ? 'n' : c == '\r' ? 'r' : '\\');
		from = s + 1;
	}
}

static void put_value(struct buf *out, const struct facts_value *v, enum facts_type type)
{
	if (!v->set)
		return;
	if (v->gap == GAP_ABSENT)
		buf_char(out, '-');
	else if (v->gap != GAP_NONE)
		buf_fmt(out, "?%s", facts_gap_name(v->gap));
	else if (type == FACTS_TEXT)
		put_text(out, v->text);
	else if (type == FACTS_REAL && isfinite(v->r))
		buf_fmt(out, "%.17g", v->r);
	else if (type == FACTS_REAL)
		buf_fmt(out, "?%s", facts_gap_name(GAP_UNPARSABLE));
	else
		buf_fmt(out, "%" PRId64, v->i);
}

static bool is_here(const char *row_node, const char *node)
{
	return !row_node || (node && strcmp(row_node, node) == 0);
}

static size_t put_table(const struct facts *f, enum facts_table t, const char *node, struct buf *out)
{
	struct facts_table_info info = facts_table(t);
	bool used[COLUMN_COUNT] = {false};
	size_t rows = 0;
	for (const struct facts_row *row = f->first[t]; row; row = row->next)
		for (int c = info.first; is_here(row->node, node) && c < info.end; c++)
			used[c] |= row->value[c - info.first].set;
	buf_fmt(out, "@%s", info.name);
	for (int c = info.first; c < info.end; c++)
		if (used[c])
			buf_fmt(out, "\t%s", facts_columns[c].name);
	buf_char(out, '\n');
	for (const struct facts_row *row = f->first[t]; row; row = row->next) {
		if (!is_here(row->node, node))
			continue;
		buf_char(out, '\t');
		bool first = true;
		for (int c = info.first; c < info.end; c++) {
			if (!used[c])
				continue;
			if (!first)
				buf_char(out, '\t');
			put_value(out, &row->value[c - info.first], facts_columns[c].type);
			first = false;
		}
		buf_char(out, '\n');
		rows++;
	}
	return rows;
}

void facts_lines_write(const struct facts *f, const struct facts_lines_head *head, struct buf *out)
{
	size_t rows = 0;
	buf_fmt(out, HEAD "1 %s\n", DAVY_VERSION);
	if (head->node) {
		buf_text(out, "node ");
		put_text(out, head->node);
		buf_char(out, '\n');
	}
	if (head->time >= 0)
		buf_fmt(out, "time %" PRId64 "\n", head->time);
	for (int t = 0; t < TABLE_COUNT; t++)
		if (f->read[t] || f->count[t])
			rows += put_table(f, (enum facts_table)t, head->node, out);
	for (const struct facts_table_gap *g = f->gaps; g; g = g->next)
		if (is_here(g->node, head->node))
			buf_fmt(out, "!%s\t%s\n", facts_table(g->table).name, facts_gap_name(g->gap));
	buf_fmt(out, "end %zu\n", rows);
}

/* -- reading ------------------------------------------------------------------------------------------------------------ */

struct reader {
	struct arena *arena;
	struct facts *facts;
	struct facts_lines_head *head;
	const char **ret_why;
	enum facts_table table; /* TABLE_COUNT: none, or one that we do not know */
	enum facts_column column[COLUMN_COUNT];
	size_t columns, rows;
	char *scratch;        /* of the longest line */
	bool in_table, ended; /* in_table: a line "@" was read, known or not */
};

static int fail(struct reader *r, int error, const char *why)
{
	if (r->ret_why)
		*r->ret_why = why;
	return error;
}

/* Undoes the escapes of a text into the scratch. */
static struct str get_text(struct reader *r, struct str cell)
{
	if (cell.len && cell.ptr[0] == '=')
		cell = str_skip(cell, 1);
	if (str_find_char(cell, '\\', 0) == SIZE_MAX)
		return cell;
	size_t n = 0;
	for (size_t i = 0; i < cell.len; i++) {
		char c = cell.ptr[i];
		if (c == '\\' && i + 1 < cell.len) {
			c = cell.ptr[++i];
			c = c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
		}
		r->scratch[n++] = c;
	}
	return str_n(r->scratch, n);
}

static enum facts_gap gap_by_name(struct str name)
{
	for (int g = GAP_ABSENT; g <= GAP_FAILED; g++)
		if (str_is(name, facts_gap_name((enum facts_gap)g)))
			return (enum facts_gap)g;
	return GAP_FAILED; /* of a newer Davy: unknown all the same */
}

static int read_head(struct reader *r, struct str line)
{
	int64_t format;
	struct str word;
	line = str_skip(line, sizeof HEAD - 1);
	if (!str_next_word(&line, &word) || str_to_int(word, &format) < 0)
		return fail(r, -EBADMSG, "these are no facts of Davy");
	if (format != 1)
		return fail(r, -EOPNOTSUPP, "facts of a newer Davy");
	if (str_next_word(&line, &word))
		r->head->version = str_dup(r->arena, str_cut(word, 40));
	return 0;
}

static void read_columns(struct reader *r, struct str line)
{
	struct str name;
	r->columns = 0;
	r->in_table = true;
	str_next_field(&line, '\t', &name);
	r->table = facts_table_by_name(name);
	if (r->table == TABLE_COUNT)
		r->head->skipped++;
	else
		facts_table_read(r->facts, r->table);
	while (str_next_field(&line, '\t', &name) && r->columns < COLUMN_COUNT) {
		enum facts_column c = r->table == TABLE_COUNT ? COLUMN_COUNT : facts_column_by_name(r->table, name);
		r->head->skipped += c == COLUMN_COUNT && r->table != TABLE_COUNT;
		r->column[r->columns++] = c;
	}
}

static int read_cell(struct reader *r, struct facts_row *row, enum facts_column c, struct str cell)
{
	const char *origin = r->head->node;
	int64_t n;
	double x;
	if (!cell.len)
		return 0;
	if (cell.ptr[0] == '-' && cell.len == 1)
		facts_gap(row, c, GAP_ABSENT, origin, NULL);
	else if (cell.ptr[0] == '?')
		facts_gap(row, c, gap_by_name(str_skip(cell, 1)), origin, NULL);
	else if (facts_columns[c].type == FACTS_TEXT)
		facts_str(row, c, get_text(r, cell), origin);
	else if (facts_columns[c].type == FACTS_REAL && str_to_real(cell, &x) == 0)
		facts_real(row, c, x, origin);
	else if (facts_columns[c].type == FACTS_INT && str_to_int(cell, &n) == 0)
		facts_int(row, c, n, origin);
	else if (facts_columns[c].type == FACTS_BOOL && str_to_int(cell, &n) == 0 && (n == 0 || n == 1))
		facts_bool(row, c, n == 1, origin);
	else
		return -EBADMSG;
	return 0;
}

static int read_row(struct reader *r, struct str line)
{
	struct str cell;
	if (!r->in_table)
		return fail(r, -EBADMSG, "a row that belongs to no table");
	line = str_skip(line, 1);
	if (++r->rows > ROWS_MAX)
		return fail(r, -EFBIG, "more rows than any machine has");
	if (r->table == TABLE_COUNT)
		return 0;
	struct facts_row *row = facts_add(r->facts, r->table);
	for (size_t i = 0; i < r->columns && str_next_field(&line, '\t', &cell); i++)
		if (r->column[i] != COLUMN_COUNT && read_cell(r, row, r->column[i], cell) < 0)
			return fail(r, -EBADMSG,
				arena_printf(r->arena, "a value of %s.%s is damaged", facts_table(r->table).name,
					facts_columns[r->column[i]].name));
	return 0;
}

static int read_line(struct reader *r, struct str line)
{
	struct str key, value = {0};
	int64_t n;
	if (line.len && line.ptr[0] == '@') {
		read_columns(r, str_skip(line, 1));
		return 0;
	}
	if (line.len && line.ptr[0] == '!') {
		str_next_field(&line, '\t', &key);
		str_next_field(&line, '\t', &value);
		enum facts_table t = facts_table_by_name(str_skip(key, 1));
		if (t != TABLE_COUNT)
			facts_table_gap(r->facts, t, gap_by_name(value), r->head->node, NULL);
		r->in_table = false;
		return 0;
	}
	if (line.len && line.ptr[0] == '\t')
		return read_row(r, line);
	if (str_starts(line, "end ")) {
		r->ended = str_to_int(str_skip(line, 4), &n) == 0 && n == (int64_t)r->rows;
		return r->ended ? 0 : fail(r, -EBADMSG, "the facts are cut short");
	}
	if (str_starts(line, "node "))
		r->head->node = str_dup(r->arena, str_cut(get_text(r, str_skip(line, 5)), 256));
	else if (str_starts(line, "time ") && str_to_int(str_skip(line, 5), &n) == 0)
		r->head->time = n;
	return 0;
}

bool facts_lines_is_one(struct str head)
{
	return str_starts(head, HEAD);
}

int facts_lines_read(struct arena *a, struct str text, struct facts **ret, struct facts_lines_head *ret_head, const char **ret_why)
{
	struct reader r = {.arena = a, .head = ret_head, .ret_why = ret_why, .table = TABLE_COUNT};
	struct str line;
	*ret_head = (struct facts_lines_head){.time = -1};
	if (text.len > FACTS_LINES_MAX)
		return fail(&r, -EFBIG, "too long for the facts of one node");
	if (!facts_lines_is_one(text) || !str_next_line(&text, &line))
		return fail(&r, -EBADMSG, "these are no facts of Davy");
	int rc = read_head(&r, line);
	r.facts = facts_new(a);
	r.scratch = arena_raw(a, text.len + 1);
	while (rc == 0 && !r.ended && text.len && str_next_line(&text, &line))
		rc = read_line(&r, line);
	if (rc < 0)
		return rc;
	if (!r.ended)
		return fail(&r, -EBADMSG, "the facts are cut short");
	*ret = r.facts;
	return 0;
}
