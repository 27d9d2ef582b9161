/* Facts: typed tables, declared in facts/schema.def.
 *
 * A struct facts holds rows and gaps in an arena; collectors and readers fill it, store.c turns it into SQL tables. Nothing here
 * fails: a value of the wrong type is a defect and ends the program. Texts are copied. Origins are copied too: a path
 * ("/proc/meminfo"), a probe field ("probe nvml") or "file:line" of a pasted text.
 */
#ifndef FACTS_FACTS_H
#define FACTS_FACTS_H

#include "base/str.h"

#define TABLE(name, doc) TABLE_##name,
#define COLUMN(table, name, type, unit, doc)
enum facts_table {
#include "facts/schema.def"
	TABLE_COUNT
};
#undef TABLE
#undef COLUMN

/* Columns are named table__column: gpu__name, mount__size_bytes. */
#define TABLE(name, doc)
#define COLUMN(table, name, type, unit, doc) table##__##name,
enum facts_column {
#include "facts/schema.def"
	COLUMN_COUNT
};
#undef TABLE
#undef COLUMN

enum facts_type { FACTS_INT, FACTS_REAL, FACTS_TEXT, FACTS_BOOL };

/* Why a value is not there. GAP_ABSENT means: we looked, and there is none (no limit, no driver bound); all others mean: unknown. */
enum facts_gap {
	GAP_NONE,
	GAP_ABSENT,
	GAP_DENIED,
	GAP_MISSING,
	GAP_TIMEOUT,
	GAP_UNPARSABLE,
	GAP_UNSUPPORTED,
	GAP_NOT_RECORDED,
	GAP_FAILED
};

struct facts_table_info {
	const char *name, *doc;
	int first, end; /* its columns: [first, end) of facts_columns */
};

struct facts_column_info {
	const char *name, *unit, *doc;
	enum facts_table table;
	enum facts_type type;
};

struct facts_table_info facts_table(enum facts_table table);
extern const struct facts_column_info facts_columns[COLUMN_COUNT];

struct facts_value {
	enum facts_gap gap; /* GAP_NONE: there is a value */
	bool set;           /* somebody said something: a value or a gap */
	union {
		int64_t i;
		double r;
		const char *text;
	};
	const char *origin; /* NULL: unknown */
	const char *detail; /* of a gap: errno text or the like; may be NULL */
};

struct facts_row {
	enum facts_table table;
	const char *node; /* NULL: this host */
	struct facts_row *next;
	struct facts *owner;
	int id;                     /* 1, 2, ... within the table */
	struct facts_value value[]; /* one for each column of the table */
};

struct facts_table_gap {
	enum facts_table table;
	enum facts_gap gap;
	const char *origin, *detail, *node;
	struct facts_table_gap *next;
};

struct facts {
	struct arena *arena;
	struct facts_row *first[TABLE_COUNT], *last[TABLE_COUNT];
	int count[TABLE_COUNT];
	struct facts_table_gap *gaps;
	bool read[TABLE_COUNT]; /* a collector or reader has looked at this table */
	const char *node;       /* given to new rows; NULL: this host */
};

struct facts *facts_new(struct arena *a);

/* A new row, all of whose columns are unset (unknown: gap "missing"). */
struct facts_row *facts_add(struct facts *f, enum facts_table table);
/* The first row of the table, made when there is none. */
struct facts_row *facts_only(struct facts *f, enum facts_table table);
/* The first row whose text column equals `value`, or NULL. */
struct facts_row *facts_find(const struct facts *f, enum facts_column key, const char *value);

void facts_text(struct facts_row *row, enum facts_column c, const char *value, const char *origin); /* NULL: ignored */
void facts_str(struct facts_row *row, enum facts_column c, struct str value, const char *origin);
void facts_int(struct facts_row *row, enum facts_column c, int64_t value, const char *origin);
void facts_real(struct facts_row *row, enum facts_column c, double value, const char *origin);
void facts_bool(struct facts_row *row, enum facts_column c, bool value, const char *origin);

/* This value is not to be had. A value that stands already is kept. */
void facts_gap(struct facts_row *row, enum facts_column c, enum facts_gap why, const char *origin, const char *detail);
/* The same with the reason that a negative errno stands for: -EACCES and -EPERM denied, -ENOENT missing, -ENODATA not recorded, ... */
void facts_gap_errno(struct facts_row *row, enum facts_column c, int error, const char *origin);

/* The table as a whole could be read only in part: its missing rows are unknown. */
void facts_table_gap(struct facts *f, enum facts_table table, enum facts_gap why, const char *origin, const char *detail);
void facts_table_gap_errno(struct facts *f, enum facts_table table, int error, const char *origin);
/* Somebody has looked at the table: no row then means that there is none. facts_add says so too. */
void facts_table_read(struct facts *f, enum facts_table table);

/* NULL when the column has no value. */
const char *facts_get_text(const struct facts_row *row, enum facts_column c);
bool facts_get_int(const struct facts_row *row, enum facts_column c, int64_t *ret);
bool facts_get_bool(const struct facts_row *row, enum facts_column c, bool *ret);
bool facts_get_real(const struct facts_row *row, enum facts_column c, double *ret);
const struct facts_value *facts_value(const struct facts_row *row, enum facts_column c);

const char *facts_gap_name(enum facts_gap why);
enum facts_gap facts_gap_from_errno(int error);

#endif
