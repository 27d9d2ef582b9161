#include "act/run_job.h"

#include <unistd.h>

#include "host/state.h"

static int64_t number(struct host *h, const char *name)
{
	int64_t n;
	const char *value = host_env(h, name);
	return value && str_to_int(str_of(value), &n) == 0 && n >= 0 && n < (int64_t)1 << 31 ? n : -1;
}

static int64_t first_number(struct host *h, const char *a, const char *b)
{
	int64_t n = number(h, a);
	return n >= 0 || !b ? n : number(h, b);
}

static const struct launcher {
	const char *name, *rank, *local_rank, *local_rank_too, *world;
	const char *sign;  /* set by this launcher only */
	const char *id[4]; /* what names the job, as far as it is set */
} launchers[] = {
	/* The innermost first: torchrun below srun is torchrun's. */
	{"torchrun", "RANK", "LOCAL_RANK", NULL, "WORLD_SIZE", "TORCHELASTIC_RUN_ID",
		{"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"}},
	{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", NULL, "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
		{"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
	{"srun", "SLURM_PROCID", "SLURM_LOCALID", NULL, "SLURM_NTASKS", "SLURM_STEP_ID",
		{"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"}},
	{"mpirun", "PMI_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK", "PMI_SIZE", "PMI_RANK", {"PMI_ID", NULL}},
	{"variables", "RANK", "LOCAL_RANK", NULL, "WORLD_SIZE", "RANK", {NULL}},
};

/* Ranks of one attempt on one node have one parent: torchrun's agent, slurmstepd, mpirun's daemon, a shell. Its number and its beginning
 * name it. */
static const char *key_of(struct arena *a, struct host *h, const struct launcher *l, const char *node)
{
	struct buf b = BUF_MAX(4096);
	int64_t began = 0;
	bool by_name = strcmp(l->name, "srun") == 0;
	const char *slurm_node = by_name ? host_env(h, "SLURMD_NODENAME") : NULL;
	buf_fmt(&b, "%s@%s", l->name, slurm_node ? slurm_node : node);
	for (size_t i = 0; i < 4 && l->id[i]; i++) {
		const char *value = host_env(h, l->id[i]);
		if (strcmp(l->id[i], "PMI_ID") != 0)
			buf_fmt(&b, ":%.200s", value ? value : "");
	}
	/* Slurm starts each task below a process of its own; its numbers of job and step are unique. */
	if (!by_name && host_process_began(h, getppid(), &began) == 0)
		buf_fmt(&b, ":%lld:%lld", (long long)getppid(), (long long)began);
	const char *key = arena_strndup(a, buf_view(&b).ptr, b.len);
	buf_free(&b);
	return key;
}

struct run_job run_job_read(struct arena *a, struct host *h)
{
	struct host_uname u = {0};
	struct run_job job = {.rank = -1, .local_rank = -1, .world = -1};
	int64_t began = 0;
	host_uname(h, &u);
	job.node = u.nodename ? u.nodename : "localhost";
	for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
		const struct launcher *l = &launchers[i];
		if (!host_env(h, l->sign) || number(h, l->rank) < 0)
			continue;
		job.launcher = l->name;
		job.rank = number(h, l->rank);
		job.local_rank = first_number(h, l->local_rank, l->local_rank_too);
		job.world = number(h, l->world);
		job.key = key_of(a, h, l, job.node);
		return job;
	}
	host_process_began(h, getpid(), &began);
	job.key = arena_printf(a, "alone@%s:%lld:%lld:%lld", job.node, (long long)getpid(), (long long)began, (long long)host_now(h));
	return job;
}
