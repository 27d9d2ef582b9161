/* Which job this process belongs to, by the variables of its launcher: torchrun, srun, mpirun (Open MPI, MPICH and Intel MPI), or RANK and
 * WORLD_SIZE set by somebody. */
#ifndef ACT_RUN_JOB_H
#define ACT_RUN_JOB_H

#include "host/host.h"

struct run_job {
	const char *launcher;            /* "torchrun", "srun", "mpirun", "variables"; NULL: none */
	const char *key;                 /* the same for all ranks of this attempt on this node, and for no other attempt */
	int64_t rank, local_rank, world; /* -1: unknown */
	const char *node;                /* host name */
};

struct run_job run_job_read(struct arena *a, struct host *h);

#endif
