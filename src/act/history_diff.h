/* What changed between two attempts: lines of two snapshots, gathered into things.
 *
 * A thing is what a person changes at once: a package with what came along, a variable, the command, the driver, the machine. What follows
 * from it (the facts about PyTorch's libraries from a package, a GPU's facts from another host) stands below it and does not count by
 * itself.
 */
#ifndef ACT_HISTORY_DIFF_H
#define ACT_HISTORY_DIFF_H

#include "base/str.h"

/* How well a change explains a cause: it is in its evidence; a rule of the cause reads this value, or its table; it belongs to the same
 * stage; none of them. */
enum history_weight { WEIGHT_EVIDENCE, WEIGHT_READ, WEIGHT_TABLE, WEIGHT_STAGE, WEIGHT_NONE };
extern const char *const history_weight_names[];

struct history_change {
	const char *fact;           /* "torch.build", without key */
	const char *key;            /* NULL: the table has one row */
	const char *before, *after; /* NULL: not there */
	enum history_weight weight;
	struct history_change *next;
};

struct history_thing {
	const char *group; /* package, variable, command, file, code, python, driver, machine, ... */
	const char *name;  /* of which one; NULL */
	enum history_weight weight;
	struct history_change *changes; /* the most telling first */
	size_t change_count;
	struct history_thing *next;
};

/* What a cause looks at, for the weights. All NULL: no cause is known. */
struct history_about {
	const char *evidence;     /* "table.column[key]", one a line */
	const char *reads;        /* "table.column", one a line: of the rules of the cause */
	const char *stage_tables; /* one a line: of the rules of the stage */
	const char *rules;        /* their text: which variables and packages they name */
	bool program;             /* the cause is the program's or its start's: command, code and files weigh as its tables */
};

/* Sorted lines of two snapshots → things, the best explanation first. about NULL: by name. */
struct history_thing *history_compare(
	struct arena *a, const char *before, const char *after, const struct history_about *about, size_t *ret_count);
/* In a few words: "package torch, variable NCCL_DEBUG and 2 more". */
void history_thing_names(const struct history_thing *first, char *out, size_t n);

#endif
