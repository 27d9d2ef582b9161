/* The command line: options, languages, exit statuses. Only this layer prints to standard error and chooses the exit status. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/str.h"
#include "facts/store.h"
#include "host/host.h"
#include "judge/judge.h"
#include "report/report.h"

enum exit_status { EXIT_FINE = 0, EXIT_FAULT = 1, EXIT_UNKNOWN = 2, EXIT_USAGE = 64, EXIT_NO_INPUT = 66, EXIT_DEFECT = 70 };

struct options {
	bool json, quiet, verbose, brief, header, strict, deep, no_redact, show, here, follow, timeline, all, schema, help, version,
		markdown, offline, docker, from_source, script, live_torch, no_check, force;
	const char *html, *only, *color, *lang, *python, *root, *from, *backend, *knowledge, *output, *torch, *driver, *gpu, *mirror, *lock,
		*arch, *libc, *rank, *size, *master, *deadline, *out, *ranks, *by, *golden, *ignore, *nodes, *stale, *note;
};

struct cli {
	struct arena *arena;
	struct host *host; /* live, this machine: environment, and files named on the command line */
	struct host *door; /* what is examined: the same, a root or a snapshot; NULL: nothing yet */
	const struct cli_command *command;
	struct options options;
	const char **args; /* what is not an option */
	size_t arg_count;
	bool files_only; /* no probe is started: facts come from files alone */
	bool chinese, unicode, color, tty;
	int columns;
	double started_ms;
};

struct cli_command {
	const char *name, *usage;
	const char *english, *chinese;           /* one line each */
	int (*run)(struct cli *c);               /* exit status */
	bool compares;                           /* its facts stand beside those of other nodes or times */
	const char *exit_english, *exit_chinese; /* its exit statuses where they mean more than usual */
};

extern const struct cli_command cli_commands[];
extern const size_t cli_command_count;

int cli_check(struct cli *c);
int cli_explain(struct cli *c);
int cli_snapshot(struct cli *c);
int cli_inspect(struct cli *c);
int cli_query(struct cli *c);
int cli_cause(struct cli *c);
int cli_plan(struct cli *c);
int cli_compare(struct cli *c);
int cli_plan_lock(struct cli *c);
int cli_cluster(struct cli *c);
int cli_test(struct cli *c);
int cli_run(struct cli *c);
int cli_history(struct cli *c);

/* The language and colours that the options settled. */
void cli_say_in(const struct cli *c);
/* Picks the sentence of the user's language. */
const char *cli_tr(const struct cli *c, const char *english, const char *chinese);
/* "davy: …" on standard error; returns `status`. */
int cli_fail(const struct cli *c, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Everything to standard output at once, control characters replaced; EXIT_DEFECT, and a message, when it could not be written. */
int cli_print(struct buf *out, int status);

/* -- what several commands need -- */

extern const unsigned char knowledge_image[];
extern const uint64_t knowledge_image_size;

/* The store with all knowledge; says on standard error what is wrong in overriding folders. NULL: said, EXIT_DEFECT. */
struct store *cli_knowledge(struct cli *c);
/* The door that --root, --from or nothing names. NULL: said on standard error, *ret_status is the exit status. */
struct host *cli_door(struct cli *c, int *ret_status);
/* "davy 0.1.0   trainer-3   ...": the machine in a line. */
const char *cli_headline(struct cli *c, const struct facts *f);
struct report cli_report(struct cli *c, const struct judgement *j, const struct facts *f);
/* Renders a judgement in the form that the options name, to standard output. */
int cli_render(struct cli *c, struct report *r);

struct examination {
	struct facts *facts;
	struct store *store;
	struct judge judge;
	struct judgement judgement;
	const char **part_names;
	double *part_ms;
	size_t part_count;
	bool for_lock;           /* asked for before cli_examine: read what only a lock needs */
	const struct lock *lock; /* the same: what the environment is compared with */
	const char *sql;         /* the same: only what this query asks about is collected, and nothing is judged */
};

/* Collects, derives and judges a machine. */
int cli_only(struct cli *c, struct judge *j); /* is --only a stage or a cause? 0, or the exit status after a message */
/* The interpreter that --python names: one that is not there is a wrong input. 0, or the exit status after a message. */
int cli_check_python(struct cli *c, struct host *door);
int cli_examine(struct cli *c, struct host *door, struct examination *ret); /* only for_lock, lock and sql of *ret are read */

/* The lock file that --lock names. 0, or an exit status that was said. */
struct lock;
int cli_read_lock(struct cli *c, struct lock *ret);

/* The same with something done between collecting and judging, which adds to the facts. */
struct live {
	const char *only; /* as struct judge has it */
	enum judge_mode mode;
	void (*run)(void *arg, struct store *knowledge, struct facts *facts);
	void *arg;
};
int cli_examine_live(struct cli *c, struct host *door, const struct live *live, struct examination *ret);
/* A log that is here as text: what `explain` would see in it becomes facts and rows of `event`. */
struct cli_log {
	const char *name;
	struct str text;
};
void cli_read_logs(struct cli *c, struct store *knowledge, struct facts *facts, const struct cli_log *log, size_t n);

#endif
