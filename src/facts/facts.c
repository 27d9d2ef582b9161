#include "facts/facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/printable.h"

#define TEXT_MAX ((size_t)64 << 10)

/* Tables and columns in one sequence: a table's first column is its place less the tables before it. */
#define TABLE(name, doc) PLACE_##name,
#define COLUMN(table, name, type, unit, doc) PLACE_##table##__##name,
enum places {
#include "facts/schema.def"
	PLACE_COUNT
};
#undef TABLE
#undef COLUMN

const struct facts_column_info facts_columns[COLUMN_COUNT] = {
#define TABLE(name, doc)
#define COLUMN(table, name, type, unit, doc) [table##__##name] = {#name, unit, doc, TABLE_##table, FACTS_##type},
#include "facts/schema.def"
#undef TABLE
#undef COLUMN
};

static const int first_column[TABLE_COUNT + 1] = {
#define TABLE(name, doc) [TABLE_##name] = (int)PLACE_##name - (int)TABLE_##name,
#define COLUMN(table, name, type, unit, doc)
#include "facts/schema.def"
#undef TABLE
#undef COLUMN
	[TABLE_COUNT] = COLUMN_COUNT,
};

static const char *const table_names[TABLE_COUNT] = {
#define TABLE(name, doc) [TABLE_##name] = #name,
#define COLUMN(table, name, type, unit, doc)
#include "facts/schema.def"
#undef TABLE
#undef COLUMN
};

static const char *const table_docs[TABLE_COUNT] = {
#define TABLE(name, doc) [TABLE_##name] = doc,
#define COLUMN(table, name, type, unit, doc)
#include "facts/schema.def"
#undef TABLE
#undef COLUMN
};

struct facts_table_info facts_table(enum facts_table table)
{
	return (struct facts_table_info){table_names[table], table_docs[table], first_column[table], first_column[table + 1]};
}

struct facts *facts_new(struct arena *a)
{
	struct facts *f = arena_alloc(a, sizeof *f);
	f->arena = a;
	return f;
}

struct facts_row *facts_add(struct facts *f, enum facts_table table)
{
	size_t n = (size_t)(first_column[table + 1] - first_column[table]);
	struct facts_row *row = arena_alloc(f->arena, sizeof *row + n * sizeof row->value[0]);
	row->table = table;
	row->owner = f;
	row->node = f->node;
	row->id = ++f->count[table];
	for (size_t i = 0; i < n; i++)
		row->value[i].gap = GAP_MISSING;
	if (f->last[table])
		f->last[table]->next = row;
	else
		f->first[table] = row;
	f->last[table] = row;
	f->read[table] = true;
	return row;
}

struct facts_row *facts_only(struct facts *f, enum facts_table table)
{
	for (struct facts_row *row = f->first[table]; row; row = row->next)
		if (row->node == f->node || (row->node && f->node && strcmp(row->node, f->node) == 0))
			return row;
	return facts_add(f, table);
}

/* The place of column c in the row; ends the program when it belongs to another table: a defect. */
static struct facts_value *place(const struct facts_row *row, enum facts_column c)
{
	if (facts_columns[c].table != row->table) {
		fprintf(stderr, "davy: defect: column %s of table %s set in a row of %s\n", facts_columns[c].name,
			table_names[facts_columns[c].table], table_names[row->table]);
		abort();
	}
	return (struct facts_value *)&row->value[(int)c - first_column[row->table]];
}

/* Values are shown on terminals and stored as UTF-8. What is longer than any honest value ends there. */
static char *clean_copy(struct facts *f, struct str s, unsigned keep)
{
	char *text = str_dup(f->arena, str_cut(s, TEXT_MAX));
	printable_clean(text, strlen(text), keep);
	return text;
}

static const char *note(struct facts *f, const char *text)
{
	return text ? clean_copy(f, str_of(text), 0) : NULL;
}

static struct facts_value *open_place(struct facts_row *row, enum facts_column c, enum facts_type type, const char *origin)
{
	if (facts_columns[c].type != type) {
		fprintf(stderr, "davy: defect: wrong type for %s.%s\n", table_names[row->table], facts_columns[c].name);
		abort();
	}
	struct facts_value *v = place(row, c);
	v->gap = GAP_NONE;
	v->set = true;
	v->detail = NULL;
	v->origin = note(row->owner, origin);
	return v;
}

struct facts_row *facts_find(const struct facts *f, enum facts_column key, const char *value)
{
	for (struct facts_row *row = f->first[facts_columns[key].table]; row; row = row->next) {
		const char *text = facts_get_text(row, key);
		if (text && strcmp(text, value) == 0)
			return row;
	}
	return NULL;
}

void facts_text(struct facts_row *row, enum facts_column c, const char *value, const char *origin)
{
	if (value)
		facts_str(row, c, str_of(value), origin);
}

void facts_str(struct facts_row *row, enum facts_column c, struct str value, const char *origin)
{
	struct facts_value *v = open_place(row, c, FACTS_TEXT, origin);
	v->text = clean_copy(row->owner, value, PRINTABLE_LINES);
}

void facts_int(struct facts_row *row, enum facts_column c, int64_t value, const char *origin)
{
	open_place(row, c, FACTS_INT, origin)->i = value;
}

void facts_real(struct facts_row *row, enum facts_column c, double value, const char *origin)
{
	open_place(row, c, FACTS_REAL, origin)->r = value;
}

void facts_bool(struct facts_row *row, enum facts_column c, bool value, const char *origin)
{
	open_place(row, c, FACTS_BOOL, origin)->i = value;
}

void facts_gap(struct facts_row *row, enum facts_column c, enum facts_gap why, const char *origin, const char *detail)
{
	struct facts_value *v = place(row, c);
	if (v->set && v->gap == GAP_NONE)
		return;
	v->set = true;
	v->gap = why;
	v->origin = note(row->owner, origin);
	v->detail = note(row->owner, detail);
}

enum facts_gap facts_gap_from_errno(int error)
{
	switch (error < 0 ? -error : error) {
	case EACCES:
	case EPERM: return GAP_DENIED;
	case ENOENT:
	case ENOTDIR:
	case ENXIO:
	case ENODEV: return GAP_MISSING;
	case ETIMEDOUT: return GAP_TIMEOUT;
	case EINVAL:
	case EFBIG:
	case ERANGE:
	case EISDIR:
	case EBADMSG: return GAP_UNPARSABLE;
	case ENODATA: return GAP_NOT_RECORDED;
	case ENOSYS:
	case EOPNOTSUPP: return GAP_UNSUPPORTED;
	default: return GAP_FAILED;
	}
}

void facts_gap_errno(struct facts_row *row, enum facts_column c, int error, const char *origin)
{
	facts_gap(row, c, facts_gap_from_errno(error), origin, strerror(error < 0 ? -error : error));
}

void facts_table_gap(struct facts *f, enum facts_table table, enum facts_gap why, const char *origin, const char *detail)
{
	struct facts_table_gap *g = arena_alloc(f->arena, sizeof *g);
	*g = (struct facts_table_gap){table, why, note(f, origin), note(f, detail), f->node, f->gaps};
	f->gaps = g;
}

void facts_table_gap_errno(struct facts *f, enum facts_table table, int error, const char *origin)
{
	facts_table_gap(f, table, facts_gap_from_errno(error), origin, strerror(error < 0 ? -error : error));
}

void facts_table_read(struct facts *f, enum facts_table table)
{
	f->read[table] = true;
}

const struct facts_value *facts_value(const struct facts_row *row, enum facts_column c)
{
	return place(row, c);
}

const char *facts_get_text(const struct facts_row *row, enum facts_column c)
{
	const struct facts_value *v = place(row, c);
	return v->gap == GAP_NONE && facts_columns[c].type == FACTS_TEXT ? v->text : NULL;
}

bool facts_get_int(const struct facts_row *row, enum facts_column c, int64_t *ret)
{
	const struct facts_value *v = place(row, c);
	if (v->gap != GAP_NONE)
		return false;
	*ret = v->i;
	return true;
}

bool facts_get_bool(const struct facts_row *row, enum facts_column c, bool *ret)
{
	const struct facts_value *v = place(row, c);
	if (v->gap != GAP_NONE)
		return false;
	*ret = v->i != 0;
	return true;
}

bool facts_get_real(const struct facts_row *row, enum facts_column c, double *ret)
{
	const struct facts_value *v = place(row, c);
	if (v->gap != GAP_NONE)
		return false;
	*ret = v->r;
	return true;
}

const char *facts_gap_name(enum facts_gap why)
{
	static const char *const names[] = {
		"", "absent", "denied", "missing", "timeout", "unparsable", "unsupported", "not-recorded", "failed"};
	return names[why];
}
