/* Many nodes side by side: the same fact of each node in one place.
 *
 * What is compared, and how rows of different nodes belong together, stands in knowledge/tables/fleet_view.tsv and fleet_column.tsv, not
 * here. A view is a fact table seen in one way: as one row (system), by a key (package torch), or as a bag whose order means nothing (the
 * GPUs). A slot is one column of one subject of a view; it holds the different values that nodes have there, each with the set of its
 * nodes. So memory grows with the number of different values; of a node nothing else is kept but its name, its time and a few words. What a
 * node does not know counts for nothing: unknown differs from nobody.
 *
 *     align_begin(al, NULL, "node-17.json");
 *     align_facts(al, facts)    or    align_json(al, text, …)    or    align_lines(al, text, …)
 *     align_end(al);            or    align_drop(al, ALIGN_DAMAGED, why)
 *
 * A dropped node takes back everything since align_begin. outliers.h says what follows from all of them.
 */
#ifndef FLEET_ALIGN_H
#define FLEET_ALIGN_H

#include "facts/facts.h"
#include "facts/store.h"
#include "fleet/nodeset.h"

#define ALIGN_NODES_MAX 1000000
#define ALIGN_OBJECT_MAX ((size_t)32 << 20) /* bytes of one node's facts */
#define ALIGN_ESCAPED_MAX ((size_t)1 << 20) /* bytes of texts with escapes in one row */

/* What a difference means. */
enum align_role {
	ROLE_LIVE,  /* changes from minute to minute: not compared */
	ROLE_OWN,   /* each node has its own: not compared */
	ROLE_SHOW,  /* shown, no fault */
	ROLE_DRIFT, /* the nodes are not alike: a warning */
	ROLE_BREAK, /* a job of these nodes can fail of it */
};

struct align_where;
struct align_row;
struct align_subject;
struct align_view;

struct align_column_rule {
	const char *subject, *column; /* patterns with * */
	enum align_role role;
	int weight;          /* what breaks jobs has more */
	double tolerance;    /* relative; 0: every difference counts */
	const char *follows; /* "view.column": explained where that differs on the same node; NULL */
};

struct align_value {
	const char *text; /* NULL: the row is not there, or there are none of them */
	uint32_t length, hash;
	struct nodeset nodes;
	struct align_value *next;
};

struct align_slot {
	const struct align_subject *subject;
	enum facts_column column; /* COLUMN_COUNT: the number of rows */
	const struct align_column_rule *rule;
	struct align_value *values, *last;
	size_t value_count;
	bool crowded; /* so many different values that each node seems to have its own: no longer kept */
	uint32_t set_count, set_cap;
	struct align_value **set; /* of the node at hand: the different values of its rows */
	struct align_slot *next;  /* of the subject */
};

struct align_subject {
	const struct align_view *view;
	const char *key;     /* "" where the view has none */
	uint32_t hash, rows; /* rows of the node at hand */
	struct nodeset seen;
	struct align_slot *slots, *slot_by_column[64], *rows_slot;
	struct align_subject *next, *next_in_hash;
};

struct align_view {
	const char *name;
	enum facts_table table;
	enum facts_column key; /* COLUMN_COUNT: none */
	bool absent;           /* a row that is not there says something */
	struct align_where *where;
	struct align_column_rule *rules;
	size_t rule_count;
	struct nodeset known; /* nodes in which the table was read completely */
	struct align_subject *subjects, **subject_tail, *last;
	struct align_subject **hash;
	size_t subject_count, hash_size;
	struct align_view *next, *next_of_table;
};

enum align_state { ALIGN_GOOD, ALIGN_DAMAGED, ALIGN_NEWER, ALIGN_UNREADABLE };

struct align_node {
	const char *name;     /* host name; NULL: unknown */
	const char *source;   /* where it came from */
	const char *identity; /* machine id or boot id; NULL: unknown */
	int64_t time;         /* when it was examined, seconds since the epoch; -1: unknown */
	int skipped;          /* tables and columns of a newer Davy that were left out */
};

/* What could not be counted. */
struct align_lost {
	const char *source, *name, *why;
	enum align_state state;
	struct align_lost *next;
};

struct align {
	struct arena *arena; /* its own; freed by align_free */
	struct align_view *views, *by_table[TABLE_COUNT];
	struct align_node *nodes;
	size_t node_count, node_cap;
	struct align_lost *lost, **lost_tail;
	size_t lost_count;
	/* of the node at hand */
	struct align_node node;
	bool open;
	struct align_slot **touched;
	size_t touched_count, touched_cap;
	struct align_subject **present;
	size_t present_count, present_cap;
	bool table_read[TABLE_COUNT], table_gap[TABLE_COUNT];
	struct buf joined;
	char *scratch; /* escaped texts of the row at hand */
	size_t scratch_used;
	struct align_row *row;
	const char *by;            /* a slot that is kept whatever its role: see align_group_by */
	const char *const *ignore; /* NULL-terminated */
};

/* The views come from the store's knowledge. 0 or negative errno; *ret_why says what is wrong in the tables. */
int align_new(struct store *knowledge, struct align **ret, const char **ret_why);
void align_free(struct align *al);

/* Before the first node. "table.column", "table.key" or "table.key.column" is kept though it is not compared: outliers groups by it. 0, or
 * -EINVAL: there is no such column. */
int align_group_by(struct align *al, const char *what);
/* Before the first node. The same forms: not compared. -EINVAL: there is no such column. */
int align_ignore(struct align *al, const char *what);

/* name NULL: the host name among the facts. */
void align_begin(struct align *al, const char *name, const char *source);
void align_time(struct align *al, int64_t time);
void align_facts(struct align *al, const struct facts *f);
/* Counts the node; its number, or UINT32_MAX past ALIGN_NODES_MAX. */
uint32_t align_end(struct align *al);
void align_drop(struct align *al, enum align_state state, const char *why);
void align_cancel(struct align *al); /* as if align_begin had not been called */
/* One more that could not even be begun. */
void align_add_lost(struct align *al, const char *name, const char *source, enum align_state state, const char *why);

/* The facts of one `davy check --json` object at the head of *text, which then moves behind it. To be called between begin and end. 0;
 * -ENODATA the text ends inside; -EBADMSG no JSON; -EPROTO JSON, but no facts of Davy; -EOPNOTSUPP of a newer schema. After an error the
 * node must be dropped. */
int align_json(struct align *al, struct str *text);
/* The same for facts as lines (facts/lines.h). `text` is one node's. */
int align_lines(struct align *al, struct str text);

/* -- for the readers: one row after the other, values in their written form -- */
void align_row_begin(struct align *al, enum facts_table table);
void align_row_value(struct align *al, enum facts_column column, struct str text); /* must live until align_row_end */
void align_row_none(struct align *al, enum facts_column column);                   /* we looked, and there is none */
void align_row_end(struct align *al);
void align_table_read(struct align *al, enum facts_table table);
void align_table_gap(struct align *al, enum facts_table table);

#endif
