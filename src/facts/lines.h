/* Facts as lines of text: what one node sends to another, and what is kept of an attempt. Half as long as JSON, and nothing is lost but
 * origins.
 *
 *     davy-facts 1 0.1.0               version of the format, version of Davy
 *     node trainer-3                   optional
 *     time 1764555000                  optional, seconds since the epoch
 *     @gpu<TAB>index<TAB>name          a table and the columns that are set in some row; without rows: it was read and there is none
 *     <TAB>0<TAB>NVIDIA H100 80GB HBM3 a row: nothing: unset · "-": there is none · "?denied": a gap · "=-": the text "-"; \t \n \r \\ in
 * texts !package<TAB>denied              the table could be read in part only end 812                          how many rows there were:
 * what lacks it was cut short
 *
 * The reader trusts nothing: sizes and counts are bounded, a damaged text gives no facts at all. Tables and columns that it does not know
 * (of a newer Davy) are counted and left out.
 */
#ifndef FACTS_LINES_H
#define FACTS_LINES_H

#include "facts/facts.h"

#define FACTS_LINES_MAX ((size_t)32 << 20)

struct facts_lines_head {
	const char *version; /* of Davy; NULL: unknown */
	const char *node;    /* NULL: not said */
	int64_t time;        /* -1: not said */
	int skipped;         /* read: tables and columns that this Davy does not know */
};

/* The rows of this host (node NULL, or head->node). version is ours; skipped is not looked at. */
void facts_lines_write(const struct facts *f, const struct facts_lines_head *head, struct buf *out);

/* 0; -EBADMSG no facts, damaged or cut short; -EOPNOTSUPP a newer format; -EFBIG too large. *ret_why, in English, lives in the arena.
 * Values have the node's name as their origin, or none. */
int facts_lines_read(struct arena *a, struct str text, struct facts **ret, struct facts_lines_head *ret_head, const char **ret_why);

/* Does a text begin like one? */
bool facts_lines_is_one(struct str head);

/* Names → numbers, by hash: for all readers of facts. TABLE_COUNT, COLUMN_COUNT: there is none. */
enum facts_table facts_table_by_name(struct str name);
enum facts_column facts_column_by_name(enum facts_table table, struct str name);

#endif
