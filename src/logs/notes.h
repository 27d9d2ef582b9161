/* What is noted besides patterns: who is which rank, what NCCL chose, who waited where. The texts that say so are literals of the scan like
 * others. */
#ifndef LOGS_NOTES_H
#define LOGS_NOTES_H

#include "logs/logs.h"

extern const char *const notes_triggers[];
#define NOTES_TRIGGERS 21

struct notes_process { /* host and pid, and the rank that its largest communicator gave it */
	const char *host;
	int64_t pid, rank, nranks;
};

struct notes {
	struct arena *arena;
	struct logs_nccl nccl;
	struct notes_process *process;
	size_t process_count, process_cap;
	struct logs_wait **wait;
	size_t wait_count, wait_cap;
	struct logs_rank **rank;
	size_t rank_count, rank_cap;
	const char **host;
	size_t host_count, host_cap;
	uint64_t budget; /* lines that are still read for a trigger that floods */
};

void notes_init(struct notes *n, struct arena *a);

/* A literal alone says enough (a channel's transport): true when the line needs no closer look for it. `at` is where the literal begins. */
bool notes_glance(struct notes *n, unsigned trigger, const char *at, const char *end);
/* A line with a trigger of ours. */
void notes_line(struct notes *n, unsigned trigger, const struct prefix *p, struct str line, unsigned file, size_t number);
/* A line of somebody. */
void notes_voice(struct notes *n, const struct prefix *p, unsigned file, size_t number);

/* The rank of a process, or PREFIX_UNSET. */
int64_t notes_rank_of(const struct notes *n, const char *host, int64_t pid);
void notes_merge(struct notes *into, const struct notes *from);

#endif
