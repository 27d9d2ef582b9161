#include "act/test.h"

#include <errno.h>
#include <signal.h>

#include "host/child.h"
#include "parse/json.h"

#define ORIGIN "davy test"
#define SEGMENTS_MAX 4096
#define ROOM_BYTES ((int64_t)64 << 20) /* that a memory limit must leave besides */

const char *const test_stages[] = {"driver", "cuda", "backend", "shm", "network", "p2p", "allreduce", "torch", NULL};

/* -- rows ----------------------------------------------------------------------------------------------------------------------- */

struct facts_row *test_row(struct test *t, const char *name, const char *stage, const char *subject, const char *result)
{
	struct facts_row *row = facts_add(t->facts, TABLE_trial);
	facts_text(row, trial__trial, name, ORIGIN);
	facts_text(row, trial__stage, stage, ORIGIN);
	facts_text(row, trial__subject, subject, ORIGIN);
	facts_text(row, trial__result, result, ORIGIN);
	return row;
}

struct facts_row *test_not_reached(struct test *t, const char *name, const char *stage, const char *ground)
{
	struct facts_row *row = test_row(t, name, stage, NULL, "not-reached");
	facts_text(row, trial__ground, ground, ORIGIN);
	return row;
}

struct facts_row *test_find(struct test *t, const char *name)
{
	return facts_find(t->facts, trial__trial, name);
}

bool test_passed(struct test *t, const char *name)
{
	const struct facts_row *row = test_find(t, name);
	const char *result = row ? facts_get_text(row, trial__result) : NULL;
	return result && strcmp(result, "ok") == 0;
}

void test_duration(struct facts_row *row, double ms)
{
	facts_real(row, trial__duration_ms, ms, ORIGIN);
}

void test_keep_log(struct test *t, const char *name, struct str text)
{
	if (text.len && t->log_count < TEST_LOGS_MAX)
		t->log[t->log_count++] = (struct test_log){name, text};
}

const char *test_backend(struct test *t)
{
	const struct facts_row *row = t->facts->first[TABLE_purpose];
	const char *backend = row ? facts_get_text(row, purpose__backend) : NULL;
	return backend ? backend : "gloo";
}

/* -- probes --------------------------------------------------------------------------------------------------------------------- */

bool test_probe(struct test *t, const char **argv, struct host_child *ret)
{
	argv[0] = host_probe_program(t->host);
	*ret = (struct host_child){.argv = argv, .deadline_ms = t->deadline_ms};
	return argv[0] != NULL;
}

static const char *text_of(struct test *t, const struct json *v)
{
	struct str s;
	return parse_json_text(v, &s) && s.len ? str_dup(t->arena, s) : NULL;
}

void test_read(struct test *t, const struct host_child *c, struct test_answer *ret)
{
	const struct json *v;
	struct str out = c->out;
	*ret = (struct test_answer){.result = "ok", .index = -1, .code = -1, .log = c->log, .duration_ms = c->duration_ms};
	while (parse_json_next(t->arena, &out, &v) == 0) {
		const char *call = text_of(t, parse_json_get(v, "calling"));
		if (!call) {
			ret->last = v;
			continue;
		}
		ret->call = call;
		ret->index = -1;
		parse_json_int(parse_json_get(v, "index"), &ret->index);
	}
	const struct json *error = parse_json_get(ret->last, "error");
	if (c->end == HOST_CHILD_NOT_STARTED) {
		ret->result = "skipped";
		ret->message = strerror(c->code);
	} else if (c->end == HOST_CHILD_LATE || c->end == HOST_CHILD_STOPPED) {
		ret->result = "hang";
		ret->last = NULL;
	} else if (c->end == HOST_CHILD_SIGNAL) {
		ret->result = "crash";
		ret->code = c->code;
		ret->message = strsignal(c->code);
	} else if (c->code == 3) {
		ret->result = "missing";
		ret->message = text_of(t, parse_json_get(ret->last, "missing"));
	} else if (c->code || !ret->last) {
		ret->result = "error";
		ret->call = text_of(t, parse_json_get(error, "call"));
		ret->message = text_of(t, parse_json_get(error, "text"));
		parse_json_int(parse_json_get(error, "code"), &ret->code);
	}
	if (strcmp(ret->result, "ok") == 0)
		ret->call = NULL;
}

void test_fill(struct facts_row *row, const struct test_answer *a)
{
	facts_text(row, trial__call, a->call, ORIGIN);
	facts_text(row, trial__message, a->message, ORIGIN);
	if (a->code >= 0)
		facts_int(row, trial__code, a->code, ORIGIN);
	test_duration(row, a->duration_ms);
}

/* -- driver --------------------------------------------------------------------------------------------------------------------- */

/* The collector has asked NVML already, in a child with a deadline. */
static void test_driver(struct test *t)
{
	const struct facts_row *driver = facts_find(t->facts, driver__vendor, "nvidia"), *probe = facts_find(t->facts, probe__name, "nvml");
	const char *status = driver ? facts_get_text(driver, driver__probe) : NULL, *result = "missing";
	double ms = 0;
	if (test_not_needed(t, "driver", "driver"))
		return;
	if (status)
		result = strcmp(status, "timeout") == 0 ? "hang" : status;
	struct facts_row *row = test_row(t, "driver", "driver", "nvidia", driver ? result : "missing");
	if (!driver)
		return;
	facts_text(row, trial__version, facts_get_text(driver, driver__version), ORIGIN);
	facts_text(row, trial__message, facts_get_text(driver, driver__probe_error), ORIGIN);
	if (probe && facts_get_real(probe, probe__duration_ms, &ms))
		test_duration(row, ms);
}

/* -- shared memory ---------------------------------------------------------------------------------------------------------------- */

static int64_t variable(struct test *t, const char *name, int64_t otherwise, int64_t max)
{
	const char *value = host_env(t->host, name);
	int64_t n;
	return value && str_to_int(str_of(value), &n) == 0 && n > 0 && n <= max ? n : otherwise;
}

/* Between two ranks of one host NCCL makes one file for each channel and direction: a page, and the buffers of its three protocols (8 steps
 * of 64 KB for LL, 600 KB for LL128, NCCL_BUFFSIZE for Simple): "shared memory segment (size 9637888)". Without NVLink it takes two
 * channels. */
static void shm_need(struct test *t, int64_t *ret_count, int64_t *ret_bytes)
{
	int64_t ranks = t->ranks, channels = variable(t, "NCCL_MIN_NCHANNELS", 2, 64);
	if (!ranks && (!t->facts->first[TABLE_purpose] || !facts_get_int(t->facts->first[TABLE_purpose], purpose__ranks, &ranks)))
		ranks = 2;
	*ret_bytes = 4096 + 524288 + 4915200 + variable(t, "NCCL_BUFFSIZE", 4194304, 256 << 20);
	*ret_count = ranks * channels < SEGMENTS_MAX ? ranks * channels : SEGMENTS_MAX;
}

/* Written pages count against the memory limit of the container: a test must not get a neighbour killed. */
static bool limit_leaves(struct test *t, int64_t bytes)
{
	const struct facts_row *system = t->facts->first[TABLE_system];
	int64_t limit, used, available;
	if (system && facts_get_int(system, system__memory_limit_bytes, &limit) &&
		facts_get_int(system, system__memory_used_bytes, &used) && limit - used < bytes + ROOM_BYTES)
		return false;
	return !system || !facts_get_int(system, system__memory_available_bytes, &available) || available > bytes + ROOM_BYTES;
}

static void test_shm(struct test *t)
{
	int64_t count, bytes, done = 0;
	struct host_child child;
	struct test_answer a;
	shm_need(t, &count, &bytes);
	const char *argv[] = {NULL, "test-shm", "/dev/shm", arena_printf(t->arena, "%lld", (long long)count),
		arena_printf(t->arena, "%lld", (long long)bytes), NULL};
	if (!limit_leaves(t, count * bytes)) {
		facts_text(test_row(t, "shm", "shm", "/dev/shm", "skipped"), trial__message, "too little memory is left to try", ORIGIN);
		return;
	}
	if (!test_probe(t, argv, &child)) {
		facts_text(test_row(t, "shm", "shm", "/dev/shm", "skipped"), trial__message, "the probe program is not there", ORIGIN);
		return;
	}
	host_children(t->host, &child, 1);
	test_read(t, &child, &a);
	struct facts_row *row = test_row(t, "shm", "shm", "/dev/shm", a.result);
	test_fill(row, &a);
	if (!parse_json_int(parse_json_get(a.last, "done"), &done))
		done = a.index > 0 ? a.index : 0;
	facts_int(row, trial__bytes, count * bytes, ORIGIN);
	facts_int(row, trial__free_bytes, done * bytes, ORIGIN); /* that could be written */
}

/* -- network ---------------------------------------------------------------------------------------------------------------------- */

#define ADDRESSES_MAX 16

struct listening {
	const char *subject, *address, *port;
	const char *argv[5];
};

static void add_listening(struct listening *list, size_t *n, const char *subject, const char *address, const char *port)
{
	if (*n < ADDRESSES_MAX)
		list[(*n)++] = (struct listening){.subject = subject, .address = address, .port = port};
}

/* A port that the user means to use for the rendezvous, where no job that holds it runs us. */
static const char *own_port(struct test *t)
{
	static const char *const inside[] = {"RANK", "LOCAL_RANK", "GROUP_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"};
	int64_t n;
	const char *port = host_env(t->host, "MASTER_PORT");
	for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++)
		if (host_env(t->host, inside[i]))
			return NULL;
	return port && str_to_int(str_of(port), &n) == 0 && n > 0 && n < 65536 ? port : NULL;
}

static size_t listen_where(struct test *t, struct listening *list)
{
	enum facts_column choice = strcmp(test_backend(t), "gloo") == 0 ? interface__gloo_choice : interface__nccl_choice;
	size_t n = 0;
	bool chosen;
	add_listening(list, &n, "lo", "127.0.0.1", NULL);
	for (const struct facts_row *row = t->facts->first[TABLE_interface]; row; row = row->next) {
		const char *name = facts_get_text(row, interface__name), *address = facts_get_text(row, interface__ipv4);
		if (!address)
			address = facts_get_text(row, interface__ipv6);
		if (name && address && facts_get_bool(row, choice, &chosen) && chosen && strcmp(address, "127.0.0.1") != 0)
			add_listening(list, &n, name, address, NULL);
	}
	if (own_port(t))
		add_listening(list, &n, own_port(t), "0.0.0.0", own_port(t));
	return n;
}

static void test_network(struct test *t)
{
	struct listening list[ADDRESSES_MAX];
	struct host_child child[ADDRESSES_MAX];
	size_t n = listen_where(t, list);
	for (size_t i = 0; i < n; i++) {
		list[i].argv[1] = "test-net";
		list[i].argv[2] = list[i].address;
		list[i].argv[3] = list[i].port;
		list[i].argv[4] = NULL;
		if (!test_probe(t, list[i].argv, &child[i])) {
			facts_text(test_row(t, "network", "network", NULL, "skipped"), trial__message, "the probe program is not there",
				ORIGIN);
			return;
		}
	}
	host_children(t->host, child, n);
	for (size_t i = 0; i < n; i++) {
		struct test_answer a;
		test_read(t, &child[i], &a);
		struct facts_row *row = test_row(t, arena_printf(t->arena, "%s %s", list[i].port ? "port" : "network", list[i].subject),
			"network", list[i].subject, a.result);
		test_fill(row, &a);
		facts_text(row, trial__address, list[i].address, ORIGIN);
	}
}

/* -- all -------------------------------------------------------------------------------------------------------------------------- */

void test_run(struct test *t)
{
	static void (*const stages[])(struct test *) = {
		test_driver, test_cuda, test_backend_stage, test_shm, test_network, test_p2p, test_allreduce, test_torch};
	facts_table_read(t->facts, TABLE_trial);
	facts_table_read(t->facts, TABLE_allreduce);
	for (size_t i = 0; test_stages[i] && !host_stopped_by(); i++) {
		/* The grounds of what is asked for are tried too. */
		bool wanted = !t->only || strcmp(t->only, test_stages[i]) == 0;
		if (t->only && (strcmp(t->only, "p2p") == 0 || strcmp(t->only, "allreduce") == 0))
			wanted |= i < 2 || (i == 2 && *t->only == 'a');
		if (t->only && strcmp(t->only, "cuda") == 0)
			wanted |= i == 0;
		if (!wanted)
			continue;
		if (t->progress)
			t->progress(t->progress_arg, test_stages[i]);
		stages[i](t);
	}
}
