/* The prefixes of log lines: what launchers, loggers and libraries put in front of a message.
 *
 * Prefixes stack (kubectl > pdsh > srun -l > torchrun tee > [rankN]: > glog or NCCL); they are taken off one by one, whatever their order,
 * and what they say is kept: who (global rank, local rank, rank in a group, host, process), when, how loud, which component. The ranks of
 * different numberings are never mixed: what a number means that a launcher printed bare ("3: ", "[3] ") is kept apart as `number`. Nothing
 * is allocated; texts are slices of the line. Linear in the length of the line's head.
 */
#ifndef LOGS_PREFIX_H
#define LOGS_PREFIX_H

#include "base/str.h"

enum prefix_source { PREFIX_NONE, PREFIX_NCCL, PREFIX_GLOG, PREFIX_PYTHON, PREFIX_KERNEL, PREFIX_OTHER };

#define PREFIX_UNSET (-1)

struct prefix {
	struct str message; /* what is left */
	struct str body;    /* the line without line number, quote mark, launcher's prefix, and a logger's time with its level */
	uint64_t stream;    /* of the launcher's part in front: lines of one stream have the same; 0 none */
	int64_t rank;       /* global: [rank3]:, (VllmWorker rank=3), RankID:3, mpirun's [1,3] */
	int64_t local_rank; /* [default3]: */
	int64_t number;     /* srun -l "3: ", "[3]: ", "[3] ": rank by the launcher's count */
	int64_t group_rank; /* [Rank 3] inside a process group's prefix */
	int64_t pid, tid, device;
	struct str host, group, group_desc, component;
	double time; /* seconds: since 1970 with a full date, since midnight otherwise; NAN: none */
	char level;  /* I W E F D, 0 unknown */
	bool actor;  /* pid and host are those of the process that speaks: (RayTrainWorker pid=88131, ip=10.1.1.9) */
	enum prefix_source source;
};

/* Host names that stand in front of lines are believed when they were seen before or are sure. */
struct prefix_names {
	uint64_t seen[512]; /* hashes of names seen once */
	uint64_t known[512];
	bool gutter; /* the file has line numbers in front: they are no ranks */
};

void prefix_parse(struct str line, struct prefix_names *names, struct prefix *ret);

/* Where a second record begins inside the line (torn lines): position of a later NCCL, glog or [rankN] prefix; SIZE_MAX: nowhere. */
size_t prefix_find_torn(struct str line);

/* Do the first lines of a text carry line numbers 1, 2, 3 ... in front? */
bool prefix_is_gutter(struct str text);

#endif
