/* What the launchers say: rank, size and rendezvous of this process's node. One process on each node works; where a launcher starts
 * several, the one with local rank 0. */
#include <errno.h>

#include "act/cluster.h"
#include "fleet/nodelist.h"

struct reading {
	struct host *host;
	struct arena *arena;
	const struct cluster_options *options;
	struct cluster_job *job;
	const char *why;
	bool chinese;
};

static const char *env(const struct reading *r, const char *name)
{
	const char *value = host_env(r->host, name);
	return value && *value ? value : NULL;
}

static bool number(const struct reading *r, const char *name, int *ret)
{
	const char *value = env(r, name);
	int64_t n;
	if (!value || str_to_int(str_trim(str_of(value)), &n) < 0 || n < 0 || n > INT32_MAX)
		return false;
	*ret = (int)n;
	return true;
}

static const char *first_of(const struct reading *r, const char *const *names, const char **ret_name)
{
	for (; *names; names++) {
		const char *value = env(r, *names);
		if (value) {
			*ret_name = *names;
			return value;
		}
	}
	return NULL;
}

static int refuse(struct reading *r, const char *text)
{
	r->why = text;
	return -EINVAL;
}

#define TR(r, english, chinese_text) ((r)->chinese ? (chinese_text) : (english))

/* FNV-1a with a last stir: equal on all nodes of the job, hard to hit by chance. */
static void stir(uint64_t *h, const char *text)
{
	for (const char *p = text ? text : ""; *p; p++)
		*h = (*h ^ (unsigned char)*p) * 0x100000001b3u;
	*h = (*h ^ 0xff) * 0x100000001b3u;
	*h ^= *h >> 29;
}

/* -- one function a launcher: true when it started this process --------------------------------------------------------------- */

/* A node for each process when there is one process a node; else the processes with local rank 0 are known by their global rank. */
static void by_process(struct cluster_job *j, int rank, int size, int local_rank, int local_size, int nodes)
{
	j->local_rank = local_rank;
	j->rank = rank;
	j->size = size;
	if (local_size > 1) {
		j->sparse = true;
		j->size = nodes > 0 ? nodes : (size + local_size - 1) / local_size;
	}
}

static bool torchrun(struct reading *r)
{
	struct cluster_job *j = r->job;
	int rank, size, local = 0, local_size = 1, nodes;
	const char *shared = env(r, "TORCHELASTIC_USE_AGENT_STORE");
	if (!env(r, "TORCHELASTIC_RUN_ID") || !number(r, "RANK", &rank) || !number(r, "WORLD_SIZE", &size))
		return false;
	number(r, "LOCAL_RANK", &local);
	number(r, "LOCAL_WORLD_SIZE", &local_size);
	by_process(j, rank, size, local, local_size, 0);
	if (number(r, "GROUP_WORLD_SIZE", &nodes) && number(r, "GROUP_RANK", &rank)) {
		j->rank = rank;
		j->size = nodes;
		j->sparse = false;
	}
	j->launcher = "torchrun";
	j->id = env(r, "TORCHELASTIC_RUN_ID");
	/* torchrun's own store listens on MASTER_PORT of the first node. */
	j->port_is_taken = shared && (strcmp(shared, "True") == 0 || strcmp(shared, "1") == 0);
	return true;
}

static bool openmpi(struct reading *r)
{
	int rank, size, local = 0, local_size = 1, nodes = 0;
	static const char *const ids[] = {"OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE", NULL};
	const char *name;
	if (!number(r, "OMPI_COMM_WORLD_RANK", &rank) || !number(r, "OMPI_COMM_WORLD_SIZE", &size))
		return false;
	number(r, "OMPI_COMM_WORLD_LOCAL_RANK", &local);
	number(r, "OMPI_COMM_WORLD_LOCAL_SIZE", &local_size);
	number(r, "OMPI_MCA_orte_num_nodes", &nodes);
	by_process(r->job, rank, size, local, local_size, nodes);
	r->job->launcher = "openmpi";
	r->job->id = first_of(r, ids, &name);
	return true;
}

static bool mpi(struct reading *r)
{
	int rank, size, local = 0, local_size = 1;
	if (!number(r, "PMI_RANK", &rank) || !number(r, "PMI_SIZE", &size))
		return false;
	number(r, "MPI_LOCALRANKID", &local);
	number(r, "MPI_LOCALNRANKS", &local_size);
	by_process(r->job, rank, size, local, local_size, 0);
	r->job->launcher = "mpi";
	r->job->id = env(r, "PMI_JOBID");
	return true;
}

static bool slurm(struct reading *r)
{
	struct cluster_job *j = r->job;
	int rank, size, local = 0;
	static const char *const sizes[] = {"SLURM_STEP_NUM_NODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"},
				 *const lists[] = {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST", NULL};
	const char *name, *list = first_of(r, lists, &name);
	bool has_size = false;
	/* Inside a batch script, but not started by srun: there is one process only. */
	if (!env(r, "SLURM_JOB_ID") || !env(r, "SLURM_STEP_ID") || !number(r, "SLURM_NODEID", &rank))
		return false;
	for (int i = 0; i < 3 && !has_size; i++)
		has_size = number(r, sizes[i], &size);
	if (list && nodelist_expand(r->arena, str_of(list), &j->names, &j->name_count) == 0 && !has_size) {
		size = (int)j->name_count;
		has_size = true;
	}
	if (!has_size)
		return false;
	number(r, "SLURM_LOCALID", &local);
	j->local_rank = local;
	j->rank = rank;
	j->size = size;
	if ((int)j->name_count != size)
		j->name_count = 0;
	j->launcher = "slurm";
	j->id = arena_printf(r->arena, "%s.%s", env(r, "SLURM_JOB_ID"), env(r, "SLURM_STEP_ID"));
	return true;
}

static bool kubernetes(struct reading *r)
{
	static const char *const sizes[] = {"NNODES", "PET_NNODES", "WORLD_SIZE", "JOB_COMPLETIONS", "COMPLETIONS"};
	struct cluster_job *j = r->job;
	bool has_size = false;
	if (!number(r, "JOB_COMPLETION_INDEX", &j->rank))
		return false;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !has_size; i++)
		has_size = number(r, sizes[i], &j->size);
	j->launcher = "kubernetes";
	j->id = env(r, "JOB_NAME");
	return true;
}

static bool by_environment(struct reading *r)
{
	struct cluster_job *j = r->job;
	int rank, size, local = 0, local_size = 1;
	if ((number(r, "PET_NODE_RANK", &rank) || number(r, "NODE_RANK", &rank)) &&
		(number(r, "PET_NNODES", &size) || number(r, "NNODES", &size))) {
		by_process(j, rank, size, 0, 1, 0);
	} else if (number(r, "RANK", &rank) && number(r, "WORLD_SIZE", &size)) {
		number(r, "LOCAL_RANK", &local);
		number(r, "LOCAL_WORLD_SIZE", &local_size);
		by_process(j, rank, size, local, local_size, 0);
	} else {
		return false;
	}
	j->launcher = "environment";
	return true;
}

/* -- the rendezvous ------------------------------------------------------------------------------------------------------------ */

size_t cluster_hosts_file(struct host *h, const char *name, struct host_address *ret, size_t max)
{
	struct str text, line, word, address;
	size_t n = 0;
	if (host_read(h, "/etc/hosts", 0, &text) < 0)
		return 0;
	while (n < max && str_next_line(&text, &line)) {
		line = str_slice(line, 0, str_find_char(line, '#', 0));
		if (!str_next_word(&line, &address))
			continue;
		while (str_next_word(&line, &word)) {
			ret[n] = (struct host_address){0};
			if (str_is_nocase(word, name) && host_address_parse(address, &ret[n]) == 0) {
				n++;
				break;
			}
		}
	}
	return n;
}

/* A pod of an Indexed Job is called JOB-INDEX, and with a headless service JOB-INDEX.SERVICE: the first one is JOB-0. */
static const char *first_pod(const struct reading *r)
{
	struct host_uname u;
	struct str text, line, word, domain = {"", 0};
	if (host_uname(r->host, &u) < 0)
		return NULL;
	struct str own = str_of(u.nodename), base = str_slice(own, 0, str_find_char(own, '.', 0));
	size_t dash = str_rfind_char(base, '-');
	if (dash == SIZE_MAX || !str_is(str_skip(base, dash + 1), arena_printf(r->arena, "%d", r->job->rank)))
		return NULL;
	if (own.len > base.len)
		domain = str_skip(own, base.len);
	if (!domain.len && host_read(r->host, "/etc/hosts", 0, &text) == 0)
		while (!domain.len && str_next_line(&text, &line))
			while (str_next_word(&line, &word))
				if (word.len > base.len + 1 && word.ptr[base.len] == '.' && str_eq(str_slice(word, 0, base.len), base)) {
					domain = str_skip(word, base.len);
					break;
				}
	return arena_printf(r->arena, "%.*s-0%.*s", (int)dash, base.ptr, (int)domain.len, domain.ptr);
}

/* mpirun tells its processes where it listens itself: usually the machine of rank 0. */
static const char *of_mpirun(const struct reading *r)
{
	const char *uri = env(r, "OMPI_MCA_orte_hnp_uri"), *tcp = uri ? strstr(uri, "tcp://") : NULL;
	if (!tcp)
		return NULL;
	size_t n = strcspn(tcp + 6, ",:;");
	return n ? arena_strndup(r->arena, tcp + 6, n) : NULL;
}

static int split_port(struct reading *r, const char *text, const char **ret_host, int *ret_port)
{
	struct str s = str_trim(str_of(text)), host = s, port = {"", 0};
	size_t colon = str_rfind_char(s, ':'), close = str_rfind_char(s, ']');
	bool bare6 = s.len && s.ptr[0] != '[' && colon != SIZE_MAX && str_find_char(s, ':', 0) != colon;
	int64_t n;
	if (colon != SIZE_MAX && !bare6 && (close == SIZE_MAX || colon > close)) {
		host = str_slice(s, 0, colon);
		port = str_skip(s, colon + 1);
	}
	if (host.len > 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']')
		host = str_slice(host, 1, host.len - 1);
	if (!host.len || host.len > 255 || str_find_char(host, ' ', 0) != SIZE_MAX)
		return refuse(r, arena_printf(r->arena, TR(r, "'%s' is no HOST:PORT", "“%s”不是 HOST:PORT"), text));
	if (port.ptr && port.len) {
		if (str_to_int(port, &n) < 0 || n < 1 || n > 65535 - CLUSTER_PORTS)
			return refuse(r,
				arena_printf(r->arena, TR(r, "'%s': the port is no number below 65532", "“%s”：端口不是小于 65532 的数字"),
					text));
		*ret_port = (int)n;
	}
	*ret_host = str_dup(r->arena, host);
	return 0;
}

static int rendezvous(struct reading *r)
{
	static const char *const addresses[] = {"MASTER_ADDR", "PET_MASTER_ADDR", NULL},
				 *const ports[] = {"MASTER_PORT", "PET_MASTER_PORT", NULL};
	struct cluster_job *j = r->job;
	const char *name = NULL, *port = first_of(r, ports, &name);
	int64_t n;
	j->port = CLUSTER_PORT;
	if (port) {
		if (str_to_int(str_trim(str_of(port)), &n) < 0 || n < 1 || n > 65535 - CLUSTER_PORTS)
			return refuse(r, arena_printf(r->arena, TR(r, "%s=%s is no usable port", "%s=%s 不是可用的端口"), name, port));
		j->port = (int)n;
	}
	if (r->options->master) {
		j->master_from = "--master";
		return split_port(r, r->options->master, &j->master, &j->port);
	}
	j->master = first_of(r, addresses, &j->master_from);
	if (!j->master && j->name_count) {
		j->master = j->names[0];
		j->master_from = env(r, "SLURM_STEP_NODELIST") ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST";
	} else if (!j->master && strcmp(j->launcher, "kubernetes") == 0) {
		j->master = first_pod(r);
		j->master_from = "JOB_COMPLETION_INDEX";
	} else if (!j->master && strcmp(j->launcher, "openmpi") == 0) {
		j->master = of_mpirun(r);
		j->master_from = "OMPI_MCA_orte_hnp_uri";
	}
	if (j->master && str_find_char(str_trim(str_of(j->master)), ' ', 0) != SIZE_MAX)
		return refuse(r, arena_printf(r->arena, TR(r, "%s='%s' is no host", "%s=“%s”不是主机名"), j->master_from, j->master));
	if (j->master)
		j->master = str_dup(r->arena, str_trim(str_of(j->master)));
	return 0;
}

/* -- together -------------------------------------------------------------------------------------------------------------------- */

static int option_number(struct reading *r, const char *name, const char *value, int *ret)
{
	int64_t n;
	if (!value)
		return 0;
	if (str_to_int(str_of(value), &n) < 0 || n < 0 || n > CLUSTER_NODES_MAX)
		return refuse(r, arena_printf(r->arena, TR(r, "%s %s is no number", "%s %s 不是数字"), name, value));
	*ret = (int)n;
	return 0;
}

static int check(struct reading *r)
{
	struct cluster_job *j = r->job;
	if (j->size < 1)
		return refuse(r, TR(r, "how many nodes take part is not known: give --size N", "不知道共有多少个节点：请用 --size N 指定"));
	if (j->size > CLUSTER_NODES_MAX)
		return refuse(r,
			arena_printf(r->arena, TR(r, "%d nodes are more than %d", "%d 个节点超过了上限 %d"), j->size, CLUSTER_NODES_MAX));
	if (!j->sparse && j->rank >= j->size)
		return refuse(r,
			arena_printf(r->arena,
				TR(r, "contradiction (%s): node %d of %d; they are counted from 0",
					"变量互相矛盾（%s）：第 %d 个节点，共 %d 个；编号从 0 开始"),
				j->launcher, j->rank, j->size));
	if (!j->master && j->rank > 0)
		return refuse(r,
			TR(r, "where rank 0 is, is not known: set MASTER_ADDR or give --master HOST:PORT",
				"不知道 rank 0 在哪里：请设置 MASTER_ADDR，或用 --master HOST:PORT 指定"));
	return 0;
}

int cluster_launcher(
	struct host *h, struct arena *a, const struct cluster_options *o, bool chinese, struct cluster_job *ret, const char **ret_why)
{
	static bool (*const launchers[])(struct reading *) = {torchrun, openmpi, mpi, slurm, kubernetes, by_environment};
	struct reading r = {.host = h, .arena = a, .options = o, .job = ret, .chinese = chinese};
	bool found = false;
	*ret = (struct cluster_job){.launcher = "options"};
	if (o->rank) {
		found = true;
		if (!o->size)
			refuse(&r, TR(&r, "--rank needs --size", "--rank 需要同时给出 --size"));
	}
	for (size_t i = 0; i < sizeof launchers / sizeof *launchers && !found; i++)
		found = launchers[i](&r);
	if (!found) {
		*ret_why = NULL;
		return -ENOENT;
	}
	if (r.why || option_number(&r, "--rank", o->rank, &ret->rank) < 0 || option_number(&r, "--size", o->size, &ret->size) < 0 ||
		rendezvous(&r) < 0 || check(&r) < 0) {
		*ret_why = r.why;
		return -EINVAL;
	}
	uint64_t token = 0xcbf29ce484222325u;
	stir(&token, "davy cluster 1");
	stir(&token, ret->launcher);
	stir(&token, ret->id);
	stir(&token, arena_printf(a, "%d", ret->port));
	ret->token = token ? token : 1;
	return 0;
}
