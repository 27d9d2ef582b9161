/* What judging gives: findings, the root first, and a verdict. Renderers read this and nothing else of the judge. */
#ifndef JUDGE_FINDING_H
#define JUDGE_FINDING_H

#include "facts/facts.h"

enum status { STATUS_FAIL, STATUS_WARN, STATUS_INFO, STATUS_UNKNOWN };
enum certainty { CERTAIN, LIKELY, POSSIBLE };
enum verdict { VERDICT_READY, VERDICT_NOT_READY, VERDICT_UNKNOWN, VERDICT_FAILED, VERDICT_CLEAN };
enum stage_state { STAGE_FINE, STAGE_INFO, STAGE_WARN, STAGE_FAIL, STAGE_UNKNOWN, STAGE_NOT_REACHED, STAGE_SILENT };

#define STAGE_COUNT 16

/* Either a fact with its value and origin, or a line of a log. */
struct evidence {
	const char *fact;                /* "mount.size_bytes"; NULL: a line */
	const struct facts_value *value; /* of a fact; its gap tells when there is none */
	enum facts_type type;
	const char *subject; /* key of the fact's row, when its table has several; or NULL */
	const char *origin;
	const char *file, *text; /* of a line */
	int64_t line;
	struct evidence *next;
};

struct explained {
	const char *symptom;
	int64_t count, first_line;
	const char *first_file;
	struct explained *next;
};

struct fix {
	const char *id, *text, *cost, *needs;
	bool workaround;
	const char *const *commands, *const *undo; /* NULL-terminated */
	struct fix *next;
};

struct finding {
	const char *cause, *rule;
	enum status status;
	enum certainty certainty;
	int stage;
	const char *title, *says, *why;
	const char *waived_until, *waived_because; /* of a finding that the site has waived (shown as info), or had until that day; NULL */
	const char *table, *key;                   /* subject */
	int64_t row;                               /* of it: facts_row.id */
	const char *node;
	int64_t rank; /* -1: none */
	int64_t *ranks;
	size_t rank_count;
	double time;          /* < 0: unknown */
	int rows;             /* how many rows this rule found wrong */
	struct finding *also; /* other candidates of this cause that were merged into it, linked by `next` */
	const char *symptom;  /* of the log line that gave it */
	bool outlived;        /* the run went on behind all of its log lines */
	int64_t first_seq;    /* of its first log line; -1: from facts alone */
	struct evidence *evidence;
	struct explained *explains;
	struct finding *folded; /* consequences: causes that this one explains */
	struct fix *fixes;
	const char *const *verify, *const *ask, *const *sources; /* NULL-terminated */
	struct finding *next;
};

struct unknown_fact {
	const char *fact, *reason, *origin;
	struct unknown_fact *next;
};

struct judgement {
	enum verdict verdict;
	struct finding *findings; /* root first */
	int fails, warns, infos, unknowns;
	struct unknown_fact *unknown;
	enum stage_state stage[STAGE_COUNT];
	const char *stage_line[STAGE_COUNT]; /* one sentence about the stage on this machine, or NULL */
	int stage_stands_on[STAGE_COUNT];    /* of a stage not reached: the stage that is missing */
	const char *backend;                 /* ready for what */
	int64_t ranks;
	bool failure_seen;      /* explain: the input holds lines that may tell of a failure */
	bool failed;            /* explain: it shows that something failed, not only what it was about */
	bool partly_read;       /* explain: a part of the input could not be read */
	const char *const *ask; /* when nothing decides: what to collect; NULL-terminated or NULL */
};

extern const char *const stage_names[STAGE_COUNT];
const char *status_name(enum status s);
const char *certainty_name(enum certainty c);
const char *verdict_name(enum verdict v);

#endif
