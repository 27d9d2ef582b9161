/* What the files of `davy cluster` share: the run of this process, and its two reports. */
#ifndef CLI_CLUSTER_H
#define CLI_CLUSTER_H

#include "act/cluster.h"
#include "cli/cli.h"

struct cluster_run {
	struct cluster_job job;
	struct cluster_self self;
	struct examination own; /* of this node; facts NULL: it could not be examined */
	bool examined;
	double start_ms, deadline_ms, whole_ms, join_ms;
	int port;        /* on which rank 0 listens */
	bool in_use;     /* the rendezvous port belonged to another program */
	const char *out; /* --out, absolute, writable; NULL */
	int status;      /* something failed that does not change the result */
	bool written;
	struct cluster_master *master; /* NULL: not rank 0, or no port was to be had */
	struct cluster_member *member;
	struct cluster_reach *targets;
	size_t target_count;
};

/* Rank 0: everything, to standard output and into --out. The exit status. */
int cluster_report_master(struct cli *c, struct cluster_run *run);
/* Another node: nothing when rank 0 has it all; else why rank 0 cannot be reached. `early`: into --out only, while it still tries. */
int cluster_report_member(struct cli *c, struct cluster_run *run, bool early);

#endif
