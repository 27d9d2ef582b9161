/* Logs: text → what was recognised in it.
 *
 * A struct logs takes files one after another or several at once (logs_scan may be called from several threads) and keeps, in bounded
 * memory: events     lines that a pattern matched, folded by (pattern, who, captures), with counts and first and last line snippets
 * stretches of text in which readers of foreign output see a trigger ranks      who spoke: global rank, host, process, first and last words
 *   waits      watchdog lines of torch.distributed: who waited in which collective
 *   nccl       what NCCL chose
 * Scanning is linear in the size of the input and holds one block of it. logs_finish settles what only the whole tells (ranks of
 * processes).
 */
#ifndef LOGS_LOGS_H
#define LOGS_LOGS_H

#include "base/str.h"
#include "logs/input.h"
#include "logs/match.h"
#include "logs/prefix.h"
#include "logs/unwrap.h"

struct logs_capture_value {
	unsigned capture; /* enum logs_capture */
	const char *text;
};

struct logs_repeat { /* a further line of an event */
	size_t line;
	unsigned file;
	int32_t rank; /* PREFIX_UNSET: that of the event */
	double time;
};

struct logs_event {
	unsigned pattern, file;
	size_t line, last_line;
	uint64_t count;
	int64_t rank, local_rank, number, group_rank, pid; /* PREFIX_UNSET: unknown */
	double time, last_time;                            /* NAN: unknown */
	const char *host, *group, *text;                   /* host and group may be NULL */
	struct logs_capture_value *capture;
	unsigned capture_count;
	struct logs_repeat *repeat; /* bounded; `count` is the truth */
	size_t repeat_count, repeat_cap;
	char level;
	bool cut; /* the line was longer than Davy keeps */
};

struct logs_rank {
	int64_t rank;
	const char *host;
	int64_t pid;
	unsigned file;
	size_t first_line, last_line;
	double first_time, last_time;
	const char *last_text; /* the last thing it said, without its prefix; cut */
	uint64_t lines;
};

/* One watchdog line, or what a later line of the same rank added to it. */
struct logs_wait {
	int64_t rank, group_rank, local_rank, number;
	const char *host, *group, *group_desc, *op, *size;
	int64_t seq, numel_in, numel_out, timeout_ms, ran_ms, last_enqueued, last_completed;
	unsigned file;
	size_t line;
	double time;
};

enum logs_transport {
	TRANSPORT_P2P,
	TRANSPORT_SHM,
	TRANSPORT_IB,
	TRANSPORT_SOCKET,
	TRANSPORT_NET,
	TRANSPORT_NVLS,
	TRANSPORT_COLLNET,
	TRANSPORT_COUNT
};
extern const char *const logs_transport_names[TRANSPORT_COUNT];

/* NCCL's names of ways through a machine, from short to long. */
enum logs_path {
	PATH_UNKNOWN,
	PATH_LOC,
	PATH_NVL,
	PATH_NVB,
	PATH_C2C,
	PATH_PIX,
	PATH_PXB,
	PATH_P2C,
	PATH_PXN,
	PATH_PHB,
	PATH_SYS,
	PATH_COUNT
};
extern const char *const logs_path_names[PATH_COUNT];

struct logs_nccl {
	const char *version[4]; /* distinct, in order of appearance */
	unsigned version_count;
	const char *network;                     /* Socket, IB, AWS Libfabric, ... */
	const char *ib_devices, *socket_devices; /* what stands behind "NET/IB : Using" and "NET/Socket : Using" */
	const char *bootstrap;                   /* interface:address */
	const char *plugin;                      /* external net plugin, if one was loaded */
	uint64_t transport[TRANSPORT_COUNT];
	uint64_t gdr;
	uint64_t gdr_on, gdr_off; /* "GPU Direct RDMA Enabled for ...", "... Disabled for ..." */
	uint64_t init_start, init_complete, destroyed;
	int64_t nranks_max, nodes_max;
	enum logs_path path, nic_path; /* the longest way that a graph had to take between GPUs, and from GPUs to their adapters */
	unsigned file;
	size_t line; /* of the version */
};

struct logs_file {
	const char *name;
	uint64_t bytes, lines;
	const char *packing, *problem;
	int error;
	bool binary, has_long_lines, is_archive; /* of an archive each file counts for itself */
	uint64_t candidates;                     /* lines that were looked at closely */
};

struct logs_trigger {
	size_t line; /* index into the lines of the snippet */
	unsigned trigger;
};

struct logs_snippet {
	unsigned file;
	size_t first_line;
	struct str text;              /* clean; CR separates records of one line */
	struct logs_trigger *trigger; /* line: offset in text */
	size_t trigger_count, trigger_cap;
	struct logs_snippet *next;
};

#define LOGS_WHOLE_MAX ((uint64_t)128 << 20)
#define LOGS_SMALL (512 << 10) /* bytes; a file below it is looked at as a whole */

struct logs {
	enum unwrap_way unwrap; /* set before scanning: how small files are unwrapped */
	/* Files of archives that the caller wants whole instead of having them scanned; both from the thread that scans. */
	bool (*wants)(void *taker, const char *name, struct str head);
	void (*give)(void *taker, const char *name, struct str bytes);
	void *taker;
	_Atomic bool doubtful; /* a small file may be wrapped, and nothing proves it */
	struct arena *arena;
	struct logs_matcher *matcher;
	size_t trigger_count;      /* of readers */
	struct logs_event **event; /* after logs_finish: by file and line */
	size_t event_count;
	uint64_t *pattern_total; /* lines by pattern, also those beyond what is kept; of harmless ones the first thousands */
	struct logs_file *file;
	size_t file_count;
	struct logs_rank **rank; /* after logs_finish: by rank */
	size_t rank_count;
	struct logs_wait **wait;
	size_t wait_count;
	const char **host;
	size_t host_count;
	struct logs_nccl nccl;
	struct logs_snippet *snippets, *last_snippet;
	struct logs_private *private;
};

/* Patterns and triggers (of readers) must outlive it. *ret_why names a pattern that cannot be used, or is NULL. */
struct logs *logs_new(
	const struct logs_pattern *patterns, size_t count, const char *const *triggers, size_t trigger_count, const char **ret_why);
void logs_free(struct logs *l);

/* A number for a file, in the order in which they shall count. `name` is copied. */
unsigned logs_add_file(struct logs *l, const char *name);
/* Reads it all. May run in several threads for different files. 0 or negative errno when nothing could be read. */
int logs_scan(struct logs *l, unsigned file, logs_read_fn *read, void *arg);
/* For a growing log: what came since the last call is scanned like a file of its own whose first line has this number. */
void logs_scan_text(struct logs *l, unsigned file, size_t first_line, const char *p, size_t n);
void logs_finish(struct logs *l);

const struct logs_pattern *logs_event_pattern(const struct logs *l, const struct logs_event *e);
bool logs_is_default_group(const char *group); /* of processes: its ranks are the global ones. NULL: a group without a name is it */
const char *logs_event_capture(const struct logs_event *e, enum logs_capture which); /* NULL: none */

/* Lines of snippets for readers: called for each trigger that no earlier call has consumed, with the lines of its stream from there on. */
struct logs_line {
	struct str text;
	size_t number;
};
struct logs_lines {
	const char *file, *host; /* host NULL: the lines do not say whose they are */
	const struct logs_line *line;
	size_t count;
	struct str before[3];
};
typedef size_t logs_trigger_fn(void *arg, unsigned trigger, const struct logs_lines *lines);
void logs_dispatch(struct logs *l, const char *const *triggers, logs_trigger_fn *fn, void *arg); /* triggers as given to logs_new */

#endif
