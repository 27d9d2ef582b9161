/* Judging: rules over facts, findings, the root first.
 *
 * The store holds the facts and the knowledge. Rules give candidate findings; causes.c orders and folds them. Nothing here knows a machine.
 */
#ifndef JUDGE_JUDGE_H
#define JUDGE_JUDGE_H

#include "facts/store.h"
#include "judge/finding.h"

/* TEST: a machine, and the logs of what was tried on it; CLUSTER: what nodes showed together, by the rules for that only; FLEET: what
 * differs between nodes (table spread), by the rules for that only, which CLUSTER asks too. */
enum judge_mode { JUDGE_CHECK, JUDGE_EXPLAIN, JUDGE_TEST, JUDGE_CLUSTER, JUDGE_FLEET };

struct judge {
	struct arena *arena;
	struct store *store;
	struct facts *facts;
	enum judge_mode mode;
	bool chinese;
	const char *only;             /* stages or causes, with blanks between them: nothing else is judged; NULL: all */
	bool no_gates;                /* ask every rule, for tests: gates must not change a result */
	const struct waiver *waivers; /* read by judge_run: what the site does not want to hear */
	const struct finding *filled; /* the finding whose texts are being filled in; or NULL */
};

struct waiver {
	const char *cause, *until, *reason; /* until NULL: the cause is not judged at all; else the day, YYYY-MM-DD */
	bool expired;
	const struct waiver *next;
};

/* Completes facts from tables (knowledge/derive*.yaml): values that were NULL, with the origin "tables: <id>". To be called after
 * store_load. */
void judge_derive(struct judge *j);

void judge_run(struct judge *j, struct judgement *ret);

/* -- texts of one cause, for `davy cause` and others -- */
struct cause_text {
	const char *id, *title, *why;
	int stage;
	const char *const *explains, *const *verify, *const *ask, *const *sources;
	struct fix *fixes; /* all of them */
};

/* 0, or -ENOENT. `facts_known`: fixes are chosen and commands filled by the facts in the store; otherwise all fixes with their
 * placeholders. */
int judge_cause(struct judge *j, const char *id, bool facts_known, struct cause_text *ret);
size_t judge_cause_list(struct judge *j, const char *const **ret_ids);
/* The cause whose id is spelt most like it, or ends like it; NULL: none is near. */
const char *judge_cause_nearest(struct judge *j, const char *id);

int stage_by_name(const char *name, size_t n); /* -1 */

#endif
