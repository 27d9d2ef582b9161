/* The one door to the machine.
 *
 * Nothing outside src/host/ (and the probe) opens a file, lists a directory, follows a link, reads the environment, starts a child or asks
 * the kernel. A door is one of live      this machine, or a file system below a directory (--root) record    live, and every question and
 * answer is kept: that is a snapshot replay    the answers of a snapshot: a directory or a .tar.zst so that a snapshot is judged as the
 * machine was, and a test fixture is a snapshot.
 *
 * Errors are negative errno: -ENOENT absent, -EACCES/-EPERM denied, -ENODATA the snapshot has no answer (nobody asked then), -EFBIG larger
 * than the bound, -ETIMEDOUT, -ELOOP, -EISDIR, -ENOTDIR, -EIO, -EINVAL not a regular file (FIFO, device: never opened).
 * Every read is bounded in size and time. Paths are absolute; links inside a root stay inside it (absolute targets are resolved as after
 * chroot). What is returned lives as long as the door.
 */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include <sys/types.h>

#include "base/str.h"

struct host;

enum host_kind { HOST_FILE, HOST_DIR, HOST_LINK, HOST_CHAR, HOST_BLOCK, HOST_FIFO, HOST_SOCKET };

struct host_stat {
	enum host_kind kind;
	uint64_t size;
	unsigned mode; /* permission bits */
	unsigned uid, gid;
	unsigned major, minor; /* of a device */
	uint64_t inode, device;
	int64_t mtime; /* seconds since the epoch */
};

struct host_list {
	const char **names; /* sorted by bytes; without . and .. */
	size_t count;
	bool truncated; /* more than the bound (65,536) */
};

struct host_fs {
	uint64_t size_bytes, free_bytes, available_bytes, files, files_free;
	uint64_t flags;
};

struct host_uname {
	const char *sysname, *nodename, *release, *version, *machine;
};

struct host_limit {
	uint64_t soft, hard; /* UINT64_MAX: unlimited */
};

/* -- opening ------------------------------------------------------------------------------------------------------------ */

int host_open_live(struct arena *a, const char *root, struct host **ret);                         /* root NULL: "/" */
int host_open_replay(struct arena *a, const char *path, struct host **ret, const char **ret_why); /* directory or .tar.zst */
/* A snapshot in memory: its index and files by their names in it. All texts must live as long as the door. */
struct host_member {
	const char *name;
	struct str data;
};
int host_open_members(
	struct arena *a, const char *source, const struct host_member *members, size_t count, struct host **ret, const char **ret_why);
/* The same of the bytes of a .tar or .tar.zst. */
int host_open_bytes(struct arena *a, const char *source, struct str bytes, struct host **ret, const char **ret_why);
/* Before anything is opened: where a standard file is closed, its number is taken, so that no file of ours becomes standard output. */
void host_hold_standard_files(void);
/* What is over the limit of a file's size is an error of write from now on, as a full disk is; commands that host_command_run starts get
 * the signal as it was. */
void host_survive_file_limit(void);
/* A second live door on the same machine, for another thread: what one of them makes of a large file (host_digest), both have. NULL when h
 * is none. `a` belongs to the thread; close it before h. */
struct host *host_twin(struct host *h, struct arena *a);
void host_record(struct host *h); /* from now on, keep questions and answers */
void host_close(struct host *h);  /* stops children; memory belongs to the arena */
bool host_is_live(const struct host *h);
bool host_is_this_machine(const struct host *h);       /* live, and its root is "/": system calls and environment mean something */
const char *host_name_of_source(const struct host *h); /* "this machine", the root, or the snapshot's path */

/* -- files -------------------------------------------------------------------------------------------------------------- */

#define HOST_READ_MAX ((size_t)1 << 20)
#define HOST_CONTENTS_MAX ((size_t)256 << 20) /* of all files together: what would pass it is -EFBIG */

/* A whole regular file. Files of /proc and /sys of unknown size too. max 0: HOST_READ_MAX. Longer: -EFBIG and nothing. */
int host_read(struct host *h, const char *path, size_t max, struct str *ret);
/* The same with a formatted path; and with what is longer cut at max. */
int host_readf(struct host *h, struct str *ret, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int host_read_head(struct host *h, const char *path, size_t max, struct str *ret);
/* A small text file, trimmed: one line of /sys. */
int host_linef(struct host *h, struct str *ret, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int host_intf(struct host *h, int64_t *ret, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

int host_list(struct host *h, const char *path, struct host_list *ret);
int host_stat(struct host *h, const char *path, struct host_stat *ret); /* follows links */
int host_lstat(struct host *h, const char *path, struct host_stat *ret);
int host_readlink(struct host *h, const char *path, const char **ret);
int host_realpath(struct host *h, const char *path, const char **ret);
bool host_exists(struct host *h, const char *path);
bool host_is_dir(struct host *h, const char *path);
/* Would opening the character device for reading and writing be permitted, by mode and by the device cgroup? It is not opened. 0 or
 * negative errno. */
int host_try_open(struct host *h, const char *path);

/* -- large binary files --------------------------------------------------------------------------------------------------
 * A digest is what a parser makes of a large file: a short text. Live, `make` is called with the open file; record keeps its text; replay
 * gives the text back. So snapshots hold what we read of a library, not the library. `kind` names the parser ("elf"). */

struct host_file;
typedef int host_digest_fn(struct host_file *file, struct buf *ret_text, void *arg);

int host_digest(struct host *h, const char *kind, const char *path, host_digest_fn *make, void *arg, struct str *ret_text);

uint64_t host_file_size(const struct host_file *file);
uint64_t host_file_inode(const struct host_file *file);
int host_file_refresh(struct host_file *file); /* asks its size anew. 0, or negative errno */
int host_file_pread(
	struct host_file *file, uint64_t off, void *p, size_t n); /* 0, or -ENODATA when the file is shorter, or negative errno */
/* For `davy inspect`: a file of this machine, opened directly. */
int host_file_open(struct host *h, const char *path, struct host_file **ret);
void host_file_close(struct host_file *file);
ssize_t host_file_read(struct host_file *file, void *p, size_t n); /* the next bytes: how many, 0 at the end, or negative errno */

/* -- the kernel and the process ----------------------------------------------------------------------------------------- */

int host_statfs(struct host *h, const char *path, struct host_fs *ret);
int host_uname(struct host *h, struct host_uname *ret);
const char *host_processor(struct host *h); /* usable features as in processor.h; NULL: unknown (a root, another machine's snapshot) */
int host_limit(struct host *h, const char *name, struct host_limit *ret); /* memlock nofile nproc stack core as */
int host_cpus_allowed(struct host *h, int64_t *ret);
const char *host_env(struct host *h, const char *name);        /* NULL: not set, or the door has no environment (a root) */
bool host_has_env(const struct host *h);                       /* the environment is known */
size_t host_env_list(struct host *h, const char *const **ret); /* "NAME=value", sorted */
const char *host_cwd(struct host *h);                          /* NULL: unknown */
int host_uid(struct host *h, int64_t *ret);
double host_clock_ms(void);       /* monotonic */
int64_t host_now(struct host *h); /* seconds since the epoch, at the time of the snapshot */

/* -- children ------------------------------------------------------------------------------------------------------------ */

enum host_probe_status { HOST_PROBE_OK, HOST_PROBE_MISSING, HOST_PROBE_TIMEOUT, HOST_PROBE_CRASH, HOST_PROBE_ERROR, HOST_PROBE_SKIPPED };

struct host_probe {
	enum host_probe_status status;
	int code;          /* exit status, or the signal of a crash */
	struct str output; /* JSON, at most 1 MiB */
	double duration_ms;
};

/* Runs `probe NAME` (or, after a blank, with one argument: "resolve node1") with a deadline (ms) and gives what it printed. Only on this
 * machine; SKIPPED with a root. */
int host_probe(struct host *h, const char *name, int deadline_ms, struct host_probe *ret);
/* Probes run at once: start early, collect late. */
void host_probe_start(struct host *h, const char *name, int deadline_ms);

/* Writes a file of this machine that the user asked for: by a temporary file beside it, nothing half-written. */
int host_write_file(struct host *h, const char *path, struct str data, const char **ret_why);

/* -- snapshots ----------------------------------------------------------------------------------------------------------- */

struct host_redactor; /* host/redact.h */

/* Writes everything recorded: a directory, or a .tar.zst when the path ends so. */
int host_snapshot_write(struct host *h, const char *path, bool redact, const char **ret_why);
/* Does PATH look like a snapshot: a folder with an index, or a tar, compressed or not? */
bool host_is_snapshot(const char *path);

enum host_count {
	HOST_COUNT_FILES,
	HOST_COUNT_LISTS,
	HOST_COUNT_STATS,
	HOST_COUNT_LINKS,
	HOST_COUNT_DEVICES,
	HOST_COUNT_DIGESTS,
	HOST_COUNT_FILE_SYSTEMS,
	HOST_COUNT_PROBES,
	HOST_COUNTS
};

struct host_summary {
	const char *written_by;    /* version of Davy; NULL: unknown, written by hand */
	bool redacted;             /* it says that private data was replaced */
	int64_t time;              /* seconds since the epoch; -1: unknown */
	size_t count[HOST_COUNTS]; /* answers, without those that are errors */
	size_t contents_bytes;     /* of files and digests */
	size_t variables;
	size_t absent, refused, failed; /* not there; permission denied; other errors */
};

/* What a snapshot holds. */
void host_summarize(const struct host *h, struct host_summary *ret);

/* What would be saved, one line each: kind, path, bytes. */
void host_snapshot_show(struct host *h, bool redact, struct buf *ret);

#endif
