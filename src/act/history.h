/* The history of attempts: what `davy run` started, how it ended, why, and what stood on the machine at that time.
 *
 * An attempt is one start on one node; the ranks that a launcher started there together are its ranks, one without a launcher has one rank
 * (-1). Everything lies in one SQLite file below the state folder (facts/ledger.h), logs beside it. The functions that write may hang on a
 * dead disk and are to be called by a thread of their own (history_in_time); they use no arena of the caller's.
 */
#ifndef ACT_HISTORY_H
#define ACT_HISTORY_H

#include "facts/facts.h"
#include "host/host.h"

#define HISTORY_ATTEMPTS_MAX 1000
#define HISTORY_AGE_DAYS_MAX 365
#define HISTORY_LOGS_BYTES_MAX ((int64_t)512 << 20)

struct history_place {
	const char *folder; /* NULL: there is none */
	const char *file, *logs;
};

struct history_place history_place(struct arena *a, struct host *h);

/* -- the machine as text -------------------------------------------------------------------------------------------------
 * Sorted lines "table[key].column = value"; what changes by itself (free memory, temperatures, numbers of ranks) is not in it; secrets are
 * replaced. Besides the facts: "command[--option].value" and "command[word 1].value", "code.commit" of the working directory's git,
 * "file[PATH].sha256" of scripts among the arguments. */
const char *history_snapshot(struct arena *a, struct host *h, const struct facts *f, const char *const *argv, size_t n);

/* -- writing ------------------------------------------------------------------------------------------------------------- */

struct history_start {
	struct history_place place;
	const char *job, *launcher, *node, *boot;
	int64_t rank, local_rank, world, pid, began, started_ms;
	const char *cwd, *subject, *command, *note, *log,
		*snapshot; /* subject: what is run, its script or program; log: name of the file in place.logs; NULL: none */
	/* -- what it became -- */
	int error;     /* negative errno: it is not written */
	int64_t id;    /* 0: none */
	int64_t since; /* the attempt before it in the same folder, of the same subject if there is one; 0: none */
	int changes;   /* how many things changed since then */
	char changed[512];
};

struct history_end {
	struct history_place place;
	int64_t id, rank, ended_ms;
	const char *outcome; /* "ok", "failed", "stopped", "refused", "not-started" */
	int64_t status, signal;
	int64_t log_bytes, log_left_out;
	int error;
};

struct history_cause {
	struct history_place place;
	int64_t id, rank;
	const char *cause, *certainty, *stage, *title, *says, *evidence; /* evidence: "table.column[key]", one a line */
	int error;
};

struct history_claim {
	struct history_place place;
	int64_t id, rank;
	bool mine;       /* this rank is the first of its attempt that speaks */
	char cause[128]; /* what another rank has said already; "": nothing */
	int64_t by;      /* which */
	int error;
};

void history_write_start(void *start); /* struct history_start * and so on: for history_in_time */
void history_write_end(void *end);
void history_write_cause(void *cause);
void history_write_claim(void *claim);

/* Runs fn(arg) in a thread; true when it ended in time. Otherwise the thread still runs and arg must stay as it is. `ret_later`, when
 * given, can be waited for with history_wait. */
struct history_task;
struct history_task *history_begin_task(void (*fn)(void *), void *arg); /* NULL: no thread, and fn has run already */
bool history_wait(struct history_task *t, int deadline_ms);
bool history_in_time(void (*fn)(void *), void *arg, int deadline_ms);

/* -- reading ------------------------------------------------------------------------------------------------------------- */

struct history_rank {
	int64_t rank, local_rank, pid, began, started_ms, ended_ms; /* ended_ms 0: no end was recorded */
	const char *boot, *outcome;                                 /* "running" while there is no end; "lost" when its process is gone */
	int64_t status, signal;
	const char *cause, *certainty, *stage, *title, *says, *evidence, *log;
	int64_t log_bytes, log_left_out;
};

struct history_attempt {
	int64_t id, started_ms, ended_ms, world, since, changes;
	const char *launcher, *node, *cwd, *subject, *command, *note, *davy, *snapshot_hash, *changed;
	const char *outcome;                /* of the ranks together: refused, failed, stopped, running, lost, ok */
	int64_t status;                     /* of the rank that decided */
	const struct history_rank *decided; /* the rank whose cause is the attempt's; never NULL */
	struct history_rank *rank;
	size_t rank_count;
};

struct ledger;
/* 0, -ENOENT (no attempt was recorded yet), or another error of facts/ledger.h. */
int history_open(const struct history_place *place, bool write, struct ledger **ret);
/* Attempts, oldest first: all, or the newest `limit`. 0 or negative errno. */
int history_read(struct arena *a, struct host *h, struct ledger *l, size_t limit, struct history_attempt **ret, size_t *ret_count);
/* The snapshot's lines; NULL: not there any more. */
const char *history_read_snapshot(struct arena *a, struct ledger *l, const char *hash);
/* 0, -ENOENT: no such attempt. */
int history_set_note(struct ledger *l, int64_t id, const char *note);

#endif
