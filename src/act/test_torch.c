/* The stage torch of `davy test`: the smallest program that shows the fault, under the environment's own launcher. */
#include <errno.h>

#include "act/test.h"
#include "base/version.h"
#include "host/child.h"
#include "parse/json.h"

#define ORIGIN "davy test --torch"
#define RANK_BYTES ((int64_t)256 << 20)

/* Works with Python 3.6 and PyTorch 1.8 and newer. Each line of it can be shown to a person (davy test --show). */
static const char script[] =
	"# One all_reduce and its sum, then its time for some sizes. Arguments: back end, seconds until it gives up, file for the result, sizes in MB.\n"
	"import datetime, io, json, os, sys, time\n"
	"import torch\n"
	"import torch.distributed as dist\n"
	"\n"
	"backend, seconds, result = sys.argv[1], float(sys.argv[2]), sys.argv[3]\n"
	"rank, ranks, local = (int(os.environ[n]) for n in (\"RANK\", \"WORLD_SIZE\", \"LOCAL_RANK\"))\n"
	"device = torch.device(\"cpu\")\n"
	"if backend == \"nccl\":\n"
	"    device = torch.device(\"cuda\", local % max(torch.cuda.device_count(), 1))\n"
	"    torch.cuda.set_device(device)\n"
	"dist.init_process_group(backend, timeout=datetime.timedelta(seconds=seconds))\n"
	"x = torch.full((1024,), float(rank + 1), device=device)\n"
	"dist.all_reduce(x)\n"
	"wrong = int((x != ranks * (ranks + 1) / 2).sum())\n"
	"\n"
	"def wait():\n"
	"    if device.type == \"cuda\":\n"
	"        torch.cuda.synchronize()\n"
	"\n"
	"times = []\n"
	"for megabytes in map(int, sys.argv[4:]):\n"
	"    y = torch.ones(megabytes * 262144, device=device)\n"
	"    dist.all_reduce(y)\n"
	"    wait()\n"
	"    rounds = 10 if backend == \"nccl\" else 3 if megabytes < 100 else 1\n"
	"    start = time.time()\n"
	"    for _ in range(rounds):\n"
	"        dist.all_reduce(y)\n"
	"    wait()\n"
	"    times.append([megabytes << 20, (time.time() - start) / rounds])\n"
	"dist.barrier()\n"
	"if rank == 0 or wrong:\n"
	"    with io.open(result, \"a\") as f:\n"
	"        f.write(json.dumps({\"rank\": rank, \"ranks\": ranks, \"wrong\": wrong, \"times\": times, \"torch\": torch.__version__}) + \"\\n\")\n"
	"print(\"rank %d of %d: sum %s, should be %s\" % (rank, ranks, float(x[0]), ranks * (ranks + 1) / 2), flush=True)\n"
	"dist.destroy_process_group()\n";

const char *test_torch_script(void)
{
	return script;
}

static bool is(const char *a, const char *b)
{
	return a && strcmp(a, b) == 0;
}

/* -- how it is started -------------------------------------------------------------------------------------------------------------- */

#define ARGUMENTS_MAX 32

struct command {
	const char *argv[ARGUMENTS_MAX];
	size_t n;
};

static void add(struct command *c, const char *argument)
{
	if (c->n + 1 < ARGUMENTS_MAX)
		c->argv[c->n++] = argument;
	c->argv[c->n] = NULL;
}

/* torchrun of PyTorch 1.x takes a set without flags for no set at all under Python 3.11 and later, unless a rank is named. */
static bool is_old_torchrun(struct test *t)
{
	const struct facts_row *torch = t->facts->first[TABLE_torch], *python = t->facts->first[TABLE_python];
	const char *release = torch ? facts_get_text(torch, torch__release) : NULL,
		   *version = python ? facts_get_text(python, python__version) : NULL;
	int old, fresh;
	return release && version && version_cmp(str_of(release), STR("2.0"), &old) == 0 && old < 0 &&
		version_cmp(str_of(version), STR("3.11"), &fresh) == 0 && fresh >= 0;
}

#define OLD_TORCHRUN_ARGUMENTS "--redirects 9:1 --tee 9:1"

/* torchrun of this environment; else the module that it starts; else its predecessor. */
static void launcher(struct test *t, const char *python, struct command *c)
{
	const struct facts_row *torchrun = facts_find(t->facts, program__name, "torchrun"), *torch = t->facts->first[TABLE_torch];
	const char *location = torch ? facts_get_text(torch, torch__location) : NULL,
		   *path = torchrun ? facts_get_text(torchrun, program__path) : NULL;
	bool same = false;
	if (path && facts_get_bool(torchrun, program__same_environment, &same) && same) {
		add(c, path);
		add(c, "--monitor_interval=0.3"); /* five seconds otherwise, until it notices that all ranks have ended */
		return;
	}
	add(c, python);
	add(c, "-m");
	if (location && host_exists(t->host, arena_printf(t->arena, "%s/distributed/run.py", location))) {
		add(c, "torch.distributed.run");
		add(c, "--monitor_interval=0.3");
	} else {
		add(c, "torch.distributed.launch");
		add(c, "--use_env");
	}
}

/* What the launcher leaves in its temporary folder goes with ours. */
static const char *const *environment(struct test *t, const char *folder)
{
	static const char *const removed[] = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE",
		"ROLE_RANK", "ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_USE_AGENT_STORE",
		"TORCHELASTIC_RESTART_COUNT", "NCCL_DEBUG_FILE"};
	size_t n = sizeof removed / sizeof removed[0];
	const char **env = arena_array(t->arena, n + 6, sizeof *env), *level = host_env(t->host, "NCCL_DEBUG");
	memcpy(env, removed, sizeof removed);
	env[n++] = arena_printf(t->arena, "TMPDIR=%s", folder);
	env[n++] = "PYTHONUNBUFFERED=1";
	env[n++] = "PYTHONDONTWRITEBYTECODE=1";
	if (!host_env(t->host, "OMP_NUM_THREADS"))
		env[n++] = "OMP_NUM_THREADS=1";
	if (!level || (strcasecmp(level, "INFO") != 0 && strcasecmp(level, "TRACE") != 0))
		env[n++] = "NCCL_DEBUG=INFO";
	env[n] = NULL;
	return env;
}

#define LARGE_MS 30000 /* a deadline that leaves time for the largest size over gloo */

/* 1, 16 and 256 MB, as far as there is memory for all ranks' tensors and gloo's copies, and time. */
static void sizes(struct test *t, const char *backend, int ranks, struct command *c)
{
	const struct facts_row *system = t->facts->first[TABLE_system];
	int64_t available, limit, used, room = INT64_MAX;
	if (system && facts_get_int(system, system__memory_available_bytes, &available))
		room = available;
	if (system && facts_get_int(system, system__memory_limit_bytes, &limit) &&
		facts_get_int(system, system__memory_used_bytes, &used) && limit - used < room)
		room = limit - used;
	add(c, "1");
	add(c, "16");
	if (is(backend, "nccl") || (room / 4 > RANK_BYTES * ranks && t->deadline_ms >= LARGE_MS))
		add(c, "256");
}

/* -- what came of it ---------------------------------------------------------------------------------------------------------------- */

static void take_times(struct test *t, const char *backend, int ranks, const struct json *times)
{
	for (const struct json *pair = parse_json_first(times); pair; pair = pair->next) {
		int64_t bytes;
		double seconds;
		const struct json *first = parse_json_first(pair);
		if (!first || !parse_json_int(first, &bytes) || !parse_json_real(first->next, &seconds) || seconds <= 0 || bytes <= 0)
			continue;
		struct facts_row *row = facts_add(t->facts, TABLE_allreduce);
		facts_text(row, allreduce__backend, backend, ORIGIN);
		facts_int(row, allreduce__bytes, bytes, ORIGIN);
		facts_int(row, allreduce__ranks, ranks, ORIGIN);
		facts_real(row, allreduce__time_ms, seconds * 1e3, ORIGIN);
		if (ranks > 1)
			facts_real(row, allreduce__rate, (double)bytes / seconds / 1e9 * 2 * (ranks - 1) / ranks, ORIGIN);
		else
			facts_gap(row, allreduce__rate, GAP_ABSENT, ORIGIN, NULL);
	}
}

/* The file that the ranks wrote: a line of rank 0, and one of each rank whose sum is wrong. "ok", "wrong", or NULL: there is none. */
static const char *take_result(struct test *t, const char *path, const char *backend, int ranks, int64_t *ret_rank)
{
	struct str text;
	const struct json *v;
	const char *result = NULL;
	int64_t wrong, rank;
	if (host_read(t->host, path, 0, &text) < 0)
		return NULL;
	while (parse_json_next(t->arena, &text, &v) == 0) {
		if (!parse_json_int(parse_json_get(v, "wrong"), &wrong) || !parse_json_int(parse_json_get(v, "rank"), &rank))
			continue;
		if (wrong && !is(result, "wrong")) {
			result = "wrong";
			*ret_rank = rank;
		}
		result = result ? result : "ok";
		if (rank == 0)
			take_times(t, backend, ranks, parse_json_get(v, "times"));
	}
	return result;
}

static const char *result_of(const struct host_child *c, const char *told)
{
	switch (c->end) {
	case HOST_CHILD_EXIT: return c->code ? "error" : told ? told : "error";
	case HOST_CHILD_SIGNAL: return "crash";
	case HOST_CHILD_LATE:
	case HOST_CHILD_STOPPED: return "hang";
	case HOST_CHILD_NOT_STARTED: break;
	}
	return "missing";
}

#define DIRECT_MAX 64

/* The same ranks, started here: tells a broken launcher from broken communication. */
static const char *run_directly(
	struct test *t, const char *python, const char *backend, int ranks, const char *folder, const char *result_file)
{
	static struct host_child child[DIRECT_MAX];
	int64_t rank;
	int port = host_free_port();
	struct command c = {.n = 0};
	if (ranks > DIRECT_MAX || port <= 0)
		return "skipped";
	add(&c, python);
	add(&c, arena_printf(t->arena, "%s/all_reduce.py", folder));
	add(&c, backend);
	add(&c, arena_printf(t->arena, "%.1f", t->deadline_ms * 0.6 / 1e3));
	add(&c, result_file);
	sizes(t, backend, ranks, &c);
	for (int i = 0; i < ranks; i++) {
		const char *const *usual = environment(t, folder), **env;
		size_t n = 0, k = 0;
		while (usual[n])
			n++;
		env = arena_array(t->arena, n + 6, sizeof *env);
		for (size_t e = 0; e < n; e++)
			if (strcmp(usual[e], "RANK") != 0 && strcmp(usual[e], "WORLD_SIZE") != 0 && strcmp(usual[e], "LOCAL_RANK") != 0 &&
				strncmp(usual[e], "MASTER_", 7) != 0)
				env[k++] = usual[e];
		env[k++] = arena_printf(t->arena, "RANK=%d", i);
		env[k++] = arena_printf(t->arena, "LOCAL_RANK=%d", i);
		env[k++] = arena_printf(t->arena, "WORLD_SIZE=%d", ranks);
		env[k++] = "MASTER_ADDR=127.0.0.1";
		env[k++] = arena_printf(t->arena, "MASTER_PORT=%d", port);
		env[k] = NULL;
		child[i] = (struct host_child){.argv = c.argv, .env = env, .merged = true, .deadline_ms = t->deadline_ms};
	}
	host_children(t->host, child, (size_t)ranks);
	const char *told = take_result(t, result_file, backend, ranks, &rank), *result = told;
	struct buf log = BUF_MAX((size_t)16 << 20);
	for (int i = ranks - 1; i >= 0; i--) {
		if (is(result_of(&child[i], told), "ok"))
			continue;
		result = result_of(&child[i], told);
		buf_str(&log, child[i].out);
	}
	test_keep_log(t, arena_printf(t->arena, "%s ranks", backend), str_n(arena_strndup(t->arena, buf_view(&log).ptr, log.len), log.len));
	buf_free(&log);
	return result;
}

static void run_script(struct test *t, const char *python, const char *backend, int ranks, const char *folder)
{
	int port = host_free_port();
	struct command c = {.n = 0};
	const char *result_file = arena_printf(t->arena, "%s/%s.json", folder, backend),
		   *name = arena_printf(t->arena, "torch %s", backend);
	launcher(t, python, &c);
	bool old = is_old_torchrun(t);
	for (size_t i = 0; old && i < 4; i++)
		add(&c, (const char *const[]){"--redirects", "9:1", "--tee", "9:1"}[i]);
	add(&c, "--nnodes=1");
	add(&c, arena_printf(t->arena, "--nproc_per_node=%d", ranks));
	add(&c, "--master_addr=127.0.0.1");
	add(&c, arena_printf(t->arena, "--master_port=%d", port > 0 ? port : 29500));
	add(&c, arena_printf(t->arena, "%s/all_reduce.py", folder));
	add(&c, backend);
	/* The ranks give up before Davy does: what they say then is evidence. */
	add(&c, arena_printf(t->arena, "%.1f", t->deadline_ms * 0.6 / 1e3));
	add(&c, result_file);
	sizes(t, backend, ranks, &c);
	struct host_child child = {.argv = c.argv, .env = environment(t, folder), .merged = true, .deadline_ms = t->deadline_ms};
	host_children(t->host, &child, 1);
	int64_t rank = -1;
	const char *told = take_result(t, result_file, backend, ranks, &rank), *result = result_of(&child, told);
	struct facts_row *row = test_row(t, name, "torch", backend, result);
	facts_int(row, trial__ranks, ranks, ORIGIN);
	facts_text(row, trial__library, c.argv[0], ORIGIN);
	if (old)
		facts_text(row, trial__arguments, OLD_TORCHRUN_ARGUMENTS, ORIGIN);
	else
		facts_gap(row, trial__arguments, GAP_ABSENT, ORIGIN, NULL);
	if (child.end == HOST_CHILD_EXIT || child.end == HOST_CHILD_SIGNAL)
		facts_int(row, trial__code, child.code, ORIGIN);
	if (child.end == HOST_CHILD_NOT_STARTED)
		facts_text(row, trial__message, strerror(child.code), ORIGIN);
	if (rank >= 0)
		facts_int(row, trial__rank, rank, ORIGIN);
	if (is(result, "error") && !told && !host_stopped_by())
		facts_text(row, trial__control,
			run_directly(t, python, backend, ranks, folder, arena_printf(t->arena, "%s/%s-direct.json", folder, backend)),
			ORIGIN);
	test_duration(row, child.duration_ms);
	if (!is(result, "ok") && !is(result, "wrong"))
		test_keep_log(t, name, child.out);
}

/* -- the stage ---------------------------------------------------------------------------------------------------------------------- */

static int ranks_for(struct test *t, const char *backend)
{
	int device[64], n = test_devices(t, device, 64);
	int64_t ranks = 0;
	if (t->ranks)
		return t->ranks;
	if (is(backend, "nccl") && n > 0)
		return n; /* NCCL refuses two ranks on one GPU */
	if (t->facts->first[TABLE_purpose])
		facts_get_int(t->facts->first[TABLE_purpose], purpose__ranks, &ranks);
	return is(backend, "nccl") ? ranks > 0 ? (int)ranks : 1 : ranks < 2 ? 2 : ranks > 8 ? 8 : (int)ranks;
}

/* What is missing for this back end; NULL: nothing. */
static const char *ground_of(struct test *t, const char *backend)
{
	const struct facts_row *torch = t->facts->first[TABLE_torch], *cuda = test_find(t, "cuda");
	int device[64];
	bool built = true;
	if (!torch)
		return "backend";
	facts_get_bool(torch, is(backend, "gloo") ? torch__gloo_built : torch__nccl_built, &built);
	if (!built)
		return "backend";
	if (test_find(t, "network lo") && !test_passed(t, "network lo"))
		return "network";
	if (!is(backend, "nccl"))
		return NULL;
	const struct facts_row *all = test_find(t, "allreduce");
	const char *result = all ? facts_get_text(all, trial__result) : NULL;
	if (cuda && !is(facts_get_text(cuda, trial__result), "skipped") && test_devices(t, device, 64) == 0)
		return "cuda";
	if (test_find(t, "backend") && !test_passed(t, "backend") && !is(facts_get_text(test_find(t, "backend"), trial__result), "skipped"))
		return "backend";
	return result && !is(result, "ok") && !is(result, "skipped") ? "allreduce" : NULL;
}

void test_torch(struct test *t)
{
	const char *backend = test_backend(t), *folder, *why;
	const struct facts_row *python = t->facts->first[TABLE_python];
	const char *path = python ? facts_get_text(python, python__path) : NULL,
		   *backends[] = {backend, is(backend, "nccl") ? "gloo" : NULL, NULL};
	if (!t->torch) {
		facts_text(test_row(t, "torch", "torch", backend, "skipped"), trial__message, "davy test --torch", ORIGIN);
		return;
	}
	if (!is(backend, "nccl") && !is(backend, "gloo")) {
		facts_text(test_row(t, "torch", "torch", backend, "skipped"), trial__message, "only nccl and gloo are tried", ORIGIN);
		return;
	}
	int rc = host_scratch_make(t->host, &folder);
	if (rc < 0 || (rc = host_scratch_write(folder, "all_reduce.py", str_of(script))) < 0) {
		facts_text(test_row(t, "torch", "torch", backend, "skipped"), trial__message,
			arena_printf(t->arena, "no temporary file: %s", strerror(-rc)), ORIGIN);
		return;
	}
	for (size_t i = 0; backends[i] && !host_stopped_by(); i++) {
		const char *name = arena_printf(t->arena, "torch %s", backends[i]);
		why = path ? ground_of(t, backends[i]) : "backend";
		if (why && i == 0)
			test_not_reached(t, name, "torch", why);
		else if (!why)
			run_script(t, path, backends[i], ranks_for(t, backends[i]), folder);
	}
	host_scratch_remove(folder);
}
