/* davy cluster: this process's node examines itself, meets the others at rank 0, and tests them. Rank 0 tells the result; another node
 * speaks only when it could not reach rank 0, or has a fault of its own. */
#include <errno.h>

#include "cli/cluster.h"
#include "collect/collect.h"

#define DEADLINE_S 60
#define DEADLINE_MIN_S 10
#define DEADLINE_MAX_S 3600
#define RESOLVE_MS 3000
#define TARGETS_MAX 16
#define EARLY_PART 0.375 /* of the time to join: a node that is still outside by then writes down why, before rank 0 looks */

static int no_launcher(struct cli *c)
{
	return cli_fail(c, EXIT_USAGE, "%s",
		cli_tr(c,
			"no launcher has started this: one process on each node is needed\n"
			"  srun --ntasks-per-node=1 davy cluster\n"
			"  mpirun -N 1 davy cluster\n"
			"  torchrun --nnodes=N --nproc-per-node=1 --rdzv-backend=c10d --rdzv-endpoint=HOST:PORT --no-python davy cluster\n"
			"  Kubernetes: an Indexed Job with MASTER_ADDR, and NNODES or --size N\n"
			"  by hand, on each node: davy cluster --rank 0 --size N --master HOST:PORT",
			"没有检测到启动器：每个节点需要启动一个进程\n"
			"  srun --ntasks-per-node=1 davy cluster\n"
			"  mpirun -N 1 davy cluster\n"
			"  torchrun --nnodes=N --nproc-per-node=1 --rdzv-backend=c10d --rdzv-endpoint=HOST:PORT --no-python davy cluster\n"
			"  Kubernetes：Indexed Job，设置 MASTER_ADDR，以及 NNODES 或 --size N\n"
			"  手动，在每个节点上：davy cluster --rank 0 --size N --master HOST:PORT"));
}

/* -- this node ------------------------------------------------------------------------------------------------------------- */

/* The live network, also where the rest of the facts comes from a snapshot. */
static struct facts *live_network(struct cli *c, const struct examination *e, bool from_snapshot)
{
	if (!from_snapshot && e->facts)
		return e->facts;
	struct collect collect = {.host = c->host, .facts = facts_new(c->arena), .arena = c->arena};
	collect_system(&collect);
	collect_network(&collect);
	return collect.facts;
}

static void choose_endpoint(struct cli *c, const struct facts *f, struct cluster_self *self)
{
	const char *family = host_env(c->host, "NCCL_SOCKET_FAMILY");
	bool six = family && strcmp(family, "AF_INET6") == 0, chosen;
	self->nccl.mtu = -1;
	self->speed_mbps = -1;
	for (const struct facts_row *row = f->first[TABLE_address]; row; row = row->next) {
		int64_t kind = 0;
		const char *scope = facts_get_text(row, address__scope), *text = facts_get_text(row, address__address);
		bool global = scope && strcmp(scope, "global") == 0 && text && strncmp(text, "127.", 4) != 0;
		facts_get_int(row, address__family, &kind);
		self->family4 |= global && kind == 4;
		self->family6 |= global && kind == 6;
	}
	for (const struct facts_row *row = f->first[TABLE_interface]; row; row = row->next) {
		const char *name = facts_get_text(row, interface__name), *four = facts_get_text(row, interface__ipv4),
			   *other = facts_get_text(row, interface__ipv6),
			   *text = six ? other
			: four         ? four
				       : other;
		int64_t n;
		if (!facts_get_bool(row, interface__nccl_choice, &chosen) || !chosen || !text ||
			host_address_parse(str_of(text), &self->nccl.at) < 0)
			continue;
		snprintf(self->nccl.interface, sizeof self->nccl.interface, "%s", name);
		if (facts_get_int(row, interface__mtu, &n))
			self->nccl.mtu = (int)n;
		if (facts_get_int(row, interface__speed_mbps, &n))
			self->speed_mbps = n;
		return;
	}
}

static void know_myself(struct cli *c, struct cluster_run *run, bool from_snapshot)
{
	static const char *const names[] = {"SLURMD_NODENAME", "NODE_NAME"};
	struct cluster_self *self = &run->self;
	const struct facts *f = live_network(c, &run->own, from_snapshot);
	struct host_uname u = {.nodename = "?"};
	struct str text;
	host_uname(c->host, &u);
	self->hostname = self->name = u.nodename;
	for (size_t i = sizeof names / sizeof *names; i-- > 0;)
		if (host_env(c->host, names[i]) && *host_env(c->host, names[i]))
			self->name = host_env(c->host, names[i]);
	if (host_linef(c->host, &text, "/proc/sys/kernel/random/boot_id") == 0)
		self->boot_id = str_dup(c->arena, text);
	if (host_readlink(c->host, "/proc/self/ns/net", &self->netns) < 0)
		self->netns = NULL;
	self->rule = host_env(c->host, "NCCL_SOCKET_IFNAME");
	choose_endpoint(c, f, self);
}

/* Examines this node as check does; a snapshot that cannot be read is said, and the node takes part without facts. */
static void examine_myself(struct cli *c, struct cluster_run *run)
{
	int status = 0;
	struct host *door = cli_door(c, &status);
	bool from_snapshot = c->options.from != NULL;
	if (door && cli_examine(c, door, &run->own) == 0) {
		struct report r = cli_report(c, &run->own.judgement, run->own.facts);
		r.command = "check";
		struct buf b = BUF_MAX(CLUSTER_FACTS_MAX);
		report_json(&r, &b);
		run->self.facts = b.truncated ? str_n("", 0) : str_n(arena_strndup(c->arena, b.ptr, b.len), b.len);
		buf_free(&b);
		run->examined = true;
	} else {
		run->status = status ? status : EXIT_DEFECT;
		run->own.facts = NULL;
	}
	know_myself(c, run, from_snapshot);
	c->door = c->host;
}

/* -- the loop ----------------------------------------------------------------------------------------------------------------- */

/* A name that is not there yet may come: pods and their services start in any order. */
static size_t look_for_rank0(struct cli *c, struct cluster_run *run, struct cluster_reach *targets)
{
	double until = run->start_ms +
		run->join_ms * (run->join_ms < run->whole_ms / 3 ? 0.35 : 0.9); /* the pods of a job come one after the other */
	size_t n;
	for (int tries = 0;; tries++) {
		n = cluster_targets(c->host, c->arena, &run->job, &run->self, tries, RESOLVE_MS, targets, TARGETS_MAX);
		if (targets[0].way != WAY_UNRESOLVED || run->job.rank == 0 || tries == 5 || host_clock_ms() > until || host_signal_caught())
			return n;
		host_wait(NULL, 0, 1000);
	}
}

static void write_down(struct cli *c, struct cluster_run *run, bool early)
{
	if (run->out && early && !run->written && !cluster_member_is_joined(run->member) &&
		host_clock_ms() > run->start_ms + run->join_ms * EARLY_PART) {
		run->written = true;
		cluster_report_member(c, run, true);
	}
}

static void meet(struct cli *c, struct cluster_run *run)
{
	struct cluster_waits w = {0};
	bool master_over = !run->master, member_over = false;
	while (!host_signal_caught()) {
		double now = host_clock_ms();
		if (run->master && !master_over)
			master_over = cluster_master_step(run->master, &w, now);
		if (!member_over)
			member_over = cluster_member_step(run->member, &w, now);
		write_down(c, run, !run->master);
		if ((run->master && master_over) || (!run->master && member_over))
			break;
		cluster_waits_begin(&w, run->deadline_ms);
		if (run->master)
			cluster_master_want(run->master, &w);
		if (!member_over)
			cluster_member_want(run->member, &w);
		host_wait(w.list, w.count, w.until_ms - host_clock_ms());
	}
	cluster_waits_free(&w);
}

/* -- options ------------------------------------------------------------------------------------------------------------------ */

static int read_deadline(struct cli *c, double *ret_ms)
{
	int64_t s = DEADLINE_S;
	if (c->options.deadline && (str_to_int(str_of(c->options.deadline), &s) < 0 || s < DEADLINE_MIN_S || s > DEADLINE_MAX_S))
		return cli_fail(c, EXIT_USAGE, cli_tr(c, "--deadline %s: seconds, from %d to %d", "--deadline %s：秒数，%d 到 %d"),
			c->options.deadline, DEADLINE_MIN_S, DEADLINE_MAX_S);
	*ret_ms = (double)s * 1000;
	return 0;
}

static void prepare_out(struct cli *c, struct cluster_run *run)
{
	const char *dir = c->options.out, *cwd = host_cwd(c->host);
	if (!dir)
		return;
	if (dir[0] != '/' && cwd)
		dir = arena_printf(c->arena, "%s/%s", cwd, dir);
	/* Asked with a deadline first: a file server that hangs is no reason to hang. */
	struct host_stat st;
	int rc = host_stat(c->host, dir, &st);
	if (rc == 0 || rc == -ENOENT)
		rc = host_prepare_dir(dir);
	if (rc < 0)
		run->status = cli_fail(
			c, EXIT_DEFECT, cli_tr(c, "--out %s cannot be written: %s", "--out %s 无法写入：%s"), dir, strerror(-rc));
	else
		run->out = dir;
}

/* Rank 0 listens before it does anything else, so that nobody is turned away. */
static int open_master(struct cli *c, struct cluster_run *run)
{
	int port = 0, first = 0,
	    rc = cluster_master_open(c->arena, &run->job, run->deadline_ms, run->join_ms * 0.75, &run->master, &port, &first);
	run->port = port;
	run->in_use = first == -EADDRINUSE;
	if (rc < 0 && rc != -EADDRINUSE)
		return cli_fail(
			c, EXIT_DEFECT, cli_tr(c, "cannot listen on port %d: %s", "无法监听端口 %d：%s"), run->job.port, strerror(-rc));
	return 0;
}

int cli_cluster(struct cli *c)
{
	struct cluster_run run = {.start_ms = host_clock_ms()};
	struct cluster_options options = {c->options.rank, c->options.size, c->options.master};
	struct cluster_reach targets[TARGETS_MAX] = {{0}};
	const char *why = NULL;
	int own[2] = {-1, -1};
	if (c->arg_count)
		return cli_fail(c, EXIT_USAGE, cli_tr(c, "cluster takes no arguments: '%s'", "cluster 不接受参数：“%s”"), c->args[0]);
	int rc = read_deadline(c, &run.whole_ms);
	if (rc)
		return rc;
	rc = cluster_launcher(c->host, c->arena, &options, c->chinese, &run.job, &why);
	if (rc == -ENOENT)
		return no_launcher(c);
	if (rc < 0)
		return cli_fail(c, EXIT_USAGE, "%s", why);
	if (run.job.local_rank > 0)
		return EXIT_FINE; /* the process with local rank 0 does the work of this node */
	run.deadline_ms = run.start_ms + run.whole_ms;
	run.join_ms = run.whole_ms * (strcmp(run.job.launcher, "kubernetes") == 0 ? 0.45 : 0.2);
	host_ignore_pipe();
	host_catch_signals();
	host_allow_files();
	prepare_out(c, &run);
	if (run.job.rank == 0 && (rc = open_master(c, &run)) != 0)
		return rc;
	examine_myself(c, &run);
	size_t n = run.job.master ? look_for_rank0(c, &run, targets) : 0;
	if (run.master && host_socket_pair(own) == 0)
		cluster_master_add_own(run.master, own[0]);
	if (run.job.rank > 0 || run.master) {
		run.member = cluster_member_new(
			c->arena, &run.job, &run.self, own[1], targets, n, run.deadline_ms, run.start_ms + run.join_ms);
		meet(c, &run);
	}
	run.targets = targets;
	run.target_count = n;
	rc = run.job.rank == 0 ? cluster_report_master(c, &run) : cluster_report_member(c, &run, false);
	if (run.member)
		cluster_member_close(run.member);
	return rc == EXIT_FINE && run.status ? run.status : rc;
}
