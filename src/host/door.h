/* Inside the door: shared by the files of src/host/ only.
 *
 * Every question has a key: a kind and a subject. The memory of a record, and the world of a replay, map keys to answers.
 */
#ifndef HOST_DOOR_H
#define HOST_DOOR_H

#include "host/host.h"

enum answer_kind {
	ANSWER_FILE,   /* data = contents */
	ANSWER_LIST,   /* data = names, each ended by \0 */
	ANSWER_STAT,   /* st */
	ANSWER_LINK,   /* data = target */
	ANSWER_OPEN,   /* error only: could it be opened? */
	ANSWER_DIGEST, /* subject "elf /path"; data = text */
	ANSWER_FS,     /* fs */
	ANSWER_PROBE,  /* subject = name; probe */
	ANSWER_REAL,   /* data = real path */
	ANSWER_KINDS
};

struct answer {
	enum answer_kind kind;
	const char *subject;
	int error; /* 0 or negative errno */
	bool head; /* data is only the beginning of the file */
	bool removed;
	struct str data;
	struct host_stat st;
	struct host_fs fs;
	struct host_probe probe;
	struct answer *next_in_bucket;
};

struct memory {
	struct answer **bucket;
	size_t buckets;
	struct answer **all; /* in the order of asking */
	size_t count, cap;
};

enum host_mode { HOST_LIVE, HOST_REPLAY };

struct mount_guard {
	const char *path; /* mount point of a network or FUSE file system, or a driver's directory */
	int state;        /* 0 not asked yet, 1 answers, -1 hangs */
};

#define SEEN_BUCKETS 1024

struct seen { /* host.c */
	struct seen *next;
	size_t hash;
	bool follow;
	int error;
	struct host_stat st;
	char path[];
};

struct probe_child {
	const char *name;
	int pid, fd;
	double started_ms, deadline_ms, more_ms; /* more: it was given no time */
};

struct host {
	struct arena *arena;
	enum host_mode mode;
	bool recording;
	bool world_open;  /* replay: what is not there was never asked */
	const char *root; /* live below a directory; NULL: "/" */
	const char *source;
	struct memory memory;

	size_t seen_count;
	struct seen *seen[SEEN_BUCKETS]; /* live: what stat said; many places ask about the same paths */
	struct digests *digests;         /* live: one file under several names is read once; shared by twins */
	bool is_twin;

	struct mount_guard *guards;
	size_t guard_count;
	size_t contents_bytes; /* of all files read, which stay in memory */
	bool guards_read;

	struct probe_child children[8];
	size_t child_count;

	const char *written_by; /* of a snapshot: its first comment */
	bool redacted;

	/* What a snapshot carries besides answers. */
	bool has_env;
	const char **env; /* sorted "NAME=value" */
	size_t env_count;
	const char *cwd;
	bool has_uname;
	struct host_uname uname;
	const char *processor; /* see host_processor */
	struct {
		const char *name;
		struct host_limit limit;
	} limits[16];
	size_t limit_count;
	int64_t uid, cpus, now; /* -1: unknown */
};

struct answer *memory_find(const struct memory *m, enum answer_kind kind, const char *subject);
struct answer *memory_put(struct host *h, enum answer_kind kind, const char *subject); /* replaces */

/* -- live.c: this machine, below h->root -- */
void digests_free(struct host *h);
const struct seen *seen_find(const struct host *h, const char *path, bool follow);
int live_read(struct host *h, const char *path, size_t max, bool cut, struct str *ret);
int live_list(struct host *h, const char *path, struct str *ret_names);
int live_stat(struct host *h, const char *path, bool follow, struct host_stat *ret);
int live_readlink(struct host *h, const char *path, struct str *ret);
int live_realpath(struct host *h, const char *path, struct str *ret);
int live_try_open(struct host *h, const char *path);
int live_statfs(struct host *h, const char *path, struct host_fs *ret);
struct stat;
int live_open(struct host *h, const char *path, int *ret_fd, struct stat *ret_st); /* a regular file */
void live_process(struct host *h);                                                 /* env, uname, limits, uid, cpus, cwd, time */

/* -- replay.c -- */
int replay_find(struct host *h, enum answer_kind kind, const char *path, const struct answer **ret);
int replay_list(struct host *h, const char *path, struct str *ret_names);
int replay_stat(struct host *h, const char *path, bool follow, struct host_stat *ret);
int replay_realpath(struct host *h, const char *path, struct str *ret);
int replay_load(struct host *h, const char *path, const char **ret_why);
int replay_load_members(struct host *h, const struct host_member *members, size_t count, const char **ret_why);
int replay_load_bytes(struct host *h, struct str bytes, const char **ret_why);

/* -- path.c -- */
/* Lexically clean, absolute: no "//", ".", "..". */
char *path_clean(struct arena *a, const char *path);
typedef int path_link_fn(void *arg, const char *path, struct str *ret_target); /* 0, -EINVAL not a link, -ENOENT, -ENODATA */
/* Resolves links component by component; targets stay inside the root. 0 or negative errno (-ELOOP after 40). */
int path_resolve(struct arena *a, const char *path, bool follow_last, path_link_fn *link, void *arg, const char **ret);

/* -- starved.c -- */
#define STARVED_TIMES 4 /* deadlines that a child gets at most whom the machine gives no time */
/* Is it ready to run and had little time to, of all that we have waited? What hangs sleeps, or turns in a circle. */
bool host_child_starves(int pid, double waited_ms);

/* -- probe.c -- */
const char *probe_find(struct host *h); /* the program; NULL: not there */

#endif
