/* The stages of `davy test` on GPUs: cuda, p2p, and NCCL itself. */
#include <errno.h>

#include "act/test.h"
#include "host/child.h"
#include "parse/json.h"

#define ORIGIN "davy test"
#define GPUS_MAX 64
#define RESTARTS_MAX 8
#define ALL_REDUCE_BYTES ((int64_t)64 << 20)

static bool is(const char *a, const char *b)
{
	return a && strcmp(a, b) == 0;
}

static const char *number(struct test *t, int64_t n)
{
	return arena_printf(t->arena, "%lld", (long long)n);
}

bool test_not_needed(struct test *t, const char *name, const char *stage)
{
	const struct facts_row *purpose = t->facts->first[TABLE_purpose];
	const char *accelerator = purpose ? facts_get_text(purpose, purpose__accelerator) : NULL;
	bool other = accelerator && !is(accelerator, "cpu") && !is(accelerator, "nvidia");
	if (is(test_backend(t), "nccl") && !other)
		return false;
	facts_text(test_row(t, name, stage, NULL, "skipped"), trial__message, other ? "not an NVIDIA GPU" : "not needed", ORIGIN);
	return true;
}

/* -- cuda ----------------------------------------------------------------------------------------------------------------------- */

static void take_gpu(struct test *t, const struct host_child *child, int index)
{
	struct test_answer a;
	int64_t wrong = 0, v;
	struct str pci;
	test_read(t, child, &a);
	if (is(a.result, "ok") && parse_json_int(parse_json_get(a.last, "wrong"), &wrong) && wrong)
		a.result = "wrong";
	struct facts_row *row = test_row(t, arena_printf(t->arena, "cuda %d", index), "cuda", number(t, index), a.result);
	test_fill(row, &a);
	if (parse_json_text(parse_json_get(a.last, "pci"), &pci))
		facts_str(row, trial__address, pci, ORIGIN);
	if (parse_json_int(parse_json_get(a.last, "free"), &v))
		facts_int(row, trial__free_bytes, v, ORIGIN);
	if (parse_json_int(parse_json_get(a.last, "to_mbps"), &v))
		facts_real(row, trial__rate, (double)v / 1e3, ORIGIN);
}

/* All GPUs at once: each has a process of its own, so that one that hangs or crashes spoils no other. */
static void each_gpu(struct test *t, int n)
{
	static struct host_child child[GPUS_MAX];
	const char *argv[GPUS_MAX][4];
	for (int i = 0; i < n; i++) {
		argv[i][1] = "test-cuda";
		argv[i][2] = number(t, i);
		argv[i][3] = NULL;
		if (!test_probe(t, argv[i], &child[i]))
			return;
	}
	host_children(t->host, child, (size_t)n);
	for (int i = 0; i < n; i++)
		take_gpu(t, &child[i], i);
}

void test_cuda(struct test *t)
{
	const char *argv[] = {NULL, "cuda", NULL};
	struct host_child child;
	struct test_answer a;
	int64_t count = 0;
	if (test_not_needed(t, "cuda", "cuda"))
		return;
	if (test_find(t, "driver") && !facts_find(t->facts, driver__vendor, "nvidia")) {
		test_not_reached(t, "cuda", "cuda", "driver");
		return;
	}
	if (!test_probe(t, argv, &child)) {
		facts_text(test_row(t, "cuda", "cuda", NULL, "skipped"), trial__message, "the probe program is not there", ORIGIN);
		return;
	}
	host_children(t->host, &child, 1);
	test_read(t, &child, &a);
	parse_json_int(parse_json_get(a.last, "count"), &count);
	if (is(a.result, "ok") && count < 1) {
		a.result = "missing";
		a.message = "CUDA sees no device";
	}
	struct facts_row *row = test_row(t, "cuda", "cuda", NULL, a.result);
	test_fill(row, &a);
	if (is(a.result, "ok"))
		each_gpu(t, count < GPUS_MAX ? (int)count : GPUS_MAX);
}

int test_devices(struct test *t, int *ret, int max)
{
	int n = 0;
	int64_t index;
	for (const struct facts_row *row = t->facts->first[TABLE_trial]; row && n < max; row = row->next) {
		const char *subject = facts_get_text(row, trial__subject);
		if (is(facts_get_text(row, trial__stage), "cuda") && subject && is(facts_get_text(row, trial__result), "ok") &&
			str_to_int(str_of(subject), &index) == 0)
			ret[n++] = (int)index;
	}
	return n;
}

static const char *device_list(struct test *t, const int *device, int n)
{
	struct buf b = BUF_MAX(1024);
	for (int i = 0; i < n; i++)
		buf_fmt(&b, "%s%d", i ? "," : "", device[i]);
	const char *text = arena_strndup(t->arena, buf_view(&b).ptr, b.len);
	buf_free(&b);
	return text;
}

/* -- pairs ---------------------------------------------------------------------------------------------------------------------- */

struct pairs {
	int device[GPUS_MAX], n, total;
	int a[GPUS_MAX * GPUS_MAX / 2], b[GPUS_MAX * GPUS_MAX / 2];
};

static struct facts_row *pair_row(struct test *t, const struct pairs *p, int pair, const char *result, const char *control)
{
	const char *subject = arena_printf(t->arena, "%d-%d", p->a[pair], p->b[pair]);
	struct facts_row *row = test_row(t, arena_printf(t->arena, "p2p %s", subject), "p2p", subject, result);
	facts_text(row, trial__control, control, ORIGIN);
	return row;
}

static void take_rate(struct facts_row *row, enum facts_column column, const struct json *v)
{
	int64_t n;
	if (parse_json_int(v, &n))
		facts_real(row, column, (double)n / 1e3, ORIGIN);
}

static void take_pair(struct test *t, const struct pairs *p, int pair, const struct json *v, double ms)
{
	struct str control = STR("error"), direct = STR("error");
	bool peer = true;
	parse_json_text(parse_json_get(v, "control"), &control);
	parse_json_bool(parse_json_get(v, "peer"), &peer);
	bool asked = parse_json_text(parse_json_get(v, "direct"), &direct);
	/* Without peer access the way through the host is the only one, and must be right. */
	const char *result = str_dup(t->arena, peer && (asked || str_is(control, "ok")) ? direct : control);
	struct facts_row *row = pair_row(t, p, pair, result, str_dup(t->arena, control));
	const struct json *error = parse_json_get(v, "error");
	struct str text;
	int64_t code;
	if (!peer)
		facts_text(row, trial__message, "no peer access", ORIGIN);
	if (parse_json_text(parse_json_get(error, "call"), &text))
		facts_str(row, trial__call, text, ORIGIN);
	if (parse_json_text(parse_json_get(error, "text"), &text))
		facts_str(row, trial__message, text, ORIGIN);
	if (parse_json_int(parse_json_get(error, "code"), &code))
		facts_int(row, trial__code, code, ORIGIN);
	take_rate(row, trial__rate, parse_json_get(v, "direct_mbps"));
	take_rate(row, trial__control_rate, parse_json_get(v, "control_mbps"));
	test_duration(row, ms);
}

/* Takes all answers of one child; the pair at which the next one must begin. */
static int take_pairs(struct test *t, const struct pairs *p, int from, struct host_child *child)
{
	struct str out = child->out;
	const struct json *v;
	struct test_answer a;
	int64_t pair, begun = 0;
	int answered = 0;
	for (struct str rest = out; parse_json_next(t->arena, &rest, &v) == 0;)
		begun += parse_json_int(parse_json_get(v, "pair"), &pair);
	double share = child->duration_ms / (double)(child->end == HOST_CHILD_EXIT && begun ? begun : begun + 1);
	while (parse_json_next(t->arena, &out, &v) == 0) {
		if (!parse_json_int(parse_json_get(v, "pair"), &pair) || pair != from || pair >= p->total)
			continue;
		take_pair(t, p, from++, v, share);
		answered++;
	}
	if (child->end == HOST_CHILD_EXIT && (child->code == 0 || answered))
		return child->code == 0 ? p->total : from;
	if (from >= p->total)
		return from;
	/* It ended or was stopped within a pair; or before the first. */
	test_read(t, child, &a);
	bool in_direct = a.call && (strcmp(a.call, "direct") == 0 || strcmp(a.call, "cuCtxEnablePeerAccess") == 0);
	bool in_control = a.call && strcmp(a.call, "control") == 0;
	if (!in_direct && !in_control) {
		struct facts_row *row = test_row(t, "p2p", "p2p", NULL, a.result);
		test_fill(row, &a);
		return p->total;
	}
	a.call = "cuMemcpyPeer";
	struct facts_row *row = pair_row(t, p, from, a.result, in_direct ? "ok" : a.result);
	test_fill(row, &a);
	test_duration(row, share);
	return from + 1;
}

static void run_pairs(struct test *t, struct pairs *p)
{
	double end = host_clock_ms() + t->deadline_ms;
	int from = 0;
	for (int i = 0; i < RESTARTS_MAX && from < p->total && !host_stopped_by(); i++) {
		const char *argv[] = {NULL, "test-p2p", device_list(t, p->device, p->n), number(t, from), NULL};
		struct host_child child;
		if (!test_probe(t, argv, &child) || host_clock_ms() >= end)
			break;
		child.deadline_ms = (int)(end - host_clock_ms()) + 1;
		/* The first words of a child are said after it has opened every GPU. */
		child.silence_ms = t->deadline_ms / 6 < 1000 ? 1000 : t->deadline_ms / 6;
		host_children(t->host, &child, 1);
		from = take_pairs(t, p, from, &child);
	}
	for (; from < p->total; from++)
		facts_text(pair_row(t, p, from, "skipped", NULL), trial__message, "no time was left", ORIGIN);
}

void test_p2p(struct test *t)
{
	static struct pairs p;
	if (test_not_needed(t, "p2p", "p2p"))
		return;
	p.n = test_devices(t, p.device, GPUS_MAX);
	p.total = 0;
	if (p.n == 0) {
		test_not_reached(t, "p2p", "p2p", "cuda");
		return;
	}
	if (p.n == 1) {
		facts_text(test_row(t, "p2p", "p2p", NULL, "skipped"), trial__message, "one GPU", ORIGIN);
		return;
	}
	for (int i = 0; i < p.n; i++) {
		for (int k = i + 1; k < p.n; k++) {
			p.a[p.total] = p.device[i];
			p.b[p.total++] = p.device[k];
		}
	}
	run_pairs(t, &p);
}

/* -- NCCL ----------------------------------------------------------------------------------------------------------------------- */

/* The libnccl that PyTorch would load; without PyTorch any that is here. */
static const struct facts_row *the_nccl(struct test *t)
{
	bool loaded;
	for (const struct facts_row *row = t->facts->first[TABLE_nccl]; row; row = row->next)
		if (facts_get_text(row, nccl__path) && facts_get_bool(row, nccl__loaded, &loaded) && loaded)
			return row;
	return t->facts->first[TABLE_torch] ? NULL : t->facts->first[TABLE_nccl];
}

/* What NCCL prints must come to us, and it must print something. */
static const char *const *nccl_environment(struct test *t, bool without_p2p)
{
	const char **env = arena_array(t->arena, 5, sizeof *env), *level = host_env(t->host, "NCCL_DEBUG");
	size_t n = 0;
	env[n++] = "NCCL_DEBUG_FILE";
	if (!level || (strcasecmp(level, "INFO") != 0 && strcasecmp(level, "TRACE") != 0))
		env[n++] = "NCCL_DEBUG=INFO";
	if (without_p2p)
		env[n++] = "NCCL_P2P_DISABLE=1";
	env[n] = NULL;
	return env;
}

static const char *version_of(struct test *t, const struct json *answer)
{
	int64_t code;
	if (!parse_json_int(parse_json_get(answer, "version_code"), &code) || code < 1000 || code > 9999999)
		return NULL;
	int64_t base = code < 10000 ? 1000 : 10000; /* 2.8 and before: 2804 */
	return arena_printf(t->arena, "%lld.%lld.%lld", (long long)(code / base), (long long)(code % base / 100), (long long)(code % 100));
}

/* Has PyTorch the back end? Files tell. NULL: it has, or that is not known; otherwise why not. */
static const char *torch_lacks(struct test *t, const char *backend)
{
	const struct facts_row *torch = t->facts->first[TABLE_torch];
	bool built = true;
	if (!torch)
		return "no PyTorch";
	facts_get_bool(torch, is(backend, "gloo") ? torch__gloo_built : torch__nccl_built, &built);
	return built ? NULL : "not built into this PyTorch";
}

static void backend_by_files(struct test *t, const char *backend)
{
	const struct facts_row *torch = t->facts->first[TABLE_torch];
	const char *why = torch_lacks(t, backend);
	bool known = torch && (facts_value(torch, torch__gloo_built)->gap == GAP_NONE || !is(backend, "gloo"));
	struct facts_row *row = test_row(t, "backend", "backend", backend, why ? "missing" : known ? "ok" : "skipped");
	facts_text(row, trial__message, why, ORIGIN);
	if (torch)
		facts_text(row, trial__library, facts_get_text(torch, torch__location), ORIGIN);
	if (torch)
		facts_text(row, trial__version, facts_get_text(torch, torch__version), ORIGIN);
}

void test_backend_stage(struct test *t)
{
	const char *backend = test_backend(t), *link = NULL;
	const struct facts_row *nccl = the_nccl(t), *torch = t->facts->first[TABLE_torch];
	struct host_child child;
	struct test_answer a;
	if (torch)
		link = facts_get_text(torch, torch__nccl_link);
	if (!is(backend, "nccl") || (torch && torch_lacks(t, backend)) || is(link, "static") || !nccl) {
		if (is(backend, "nccl") && torch && !torch_lacks(t, backend) && !is(link, "static"))
			facts_text(
				test_row(t, "backend", "backend", backend, "missing"), trial__message, "no libnccl.so.2 is found", ORIGIN);
		else
			backend_by_files(t, backend);
		return;
	}
	const char *path = facts_get_text(nccl, nccl__path), *argv[] = {NULL, "test-unique", path, NULL};
	if (!test_probe(t, argv, &child))
		return;
	child.env = nccl_environment(t, false);
	host_children(t->host, &child, 1);
	test_read(t, &child, &a);
	struct facts_row *row = test_row(t, "backend", "backend", backend, a.result);
	test_fill(row, &a);
	facts_text(row, trial__library, path, ORIGIN);
	facts_text(row, trial__version, version_of(t, a.last), ORIGIN);
	if (!is(a.result, "ok"))
		test_keep_log(t, "nccl", a.log);
}

struct reduced {
	const char *result, *call, *message;
	int64_t rank, code, bytes, us;
	const char *version;
	struct str log;
	double duration_ms;
};

/* How far a rank got, by the call that it is in. */
static int phase_of(struct str call)
{
	static const char *const calls[] = {"dlopen", "cuInit", "cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuMemAlloc",
		"cuStreamCreate", "cuMemcpyHtoD", "ncclGetVersion", "ncclGetUniqueId", "waiting for rank 0", "ncclCommInitRank",
		"ncclAllReduce", "cuStreamSynchronize", "cuMemcpyDtoH"};
	for (int i = 0; i < (int)(sizeof calls / sizeof calls[0]); i++)
		if (str_is(call, calls[i]))
			return i;
	return 0;
}

/* Of ranks that wait the one that is behind the others; none when all wait in the same call. */
static const struct json *laggard(const struct json *answer, struct str *ret_call)
{
	const struct json *last = NULL;
	int least = 1000, most = -1;
	struct str state, call;
	for (const struct json *r = parse_json_first(parse_json_get(answer, "ranks")); r; r = r->next) {
		if (!parse_json_text(parse_json_get(r, "state"), &state) || !str_is(state, "waiting") ||
			!parse_json_text(parse_json_get(r, "call"), &call))
			continue;
		int phase = phase_of(call);
		if (phase < least) {
			least = phase;
			last = r;
			*ret_call = call;
		}
		most = phase > most ? phase : most;
	}
	return least < most ? last : NULL;
}

static void take_rank(struct test *t, const struct json *r, const char *result, const char *code, struct reduced *ret)
{
	struct str text;
	ret->result = result;
	parse_json_int(parse_json_get(r, "rank"), &ret->rank);
	ret->code = -1;
	parse_json_int(parse_json_get(r, code), &ret->code);
	ret->call = parse_json_text(parse_json_get(r, "call"), &text) ? str_dup(t->arena, text) : NULL;
	ret->message = parse_json_text(parse_json_get(r, "text"), &text) ? str_dup(t->arena, text) : NULL;
}

/* Which rank tells what happened: one that crashed, one that gave an error, one that waits, one whose sum is wrong. */
static void look_at_ranks(struct test *t, const struct json *answer, struct reduced *ret)
{
	static const char *const states[] = {"crash", "error", "waiting"}, *const results[] = {"crash", "error", "hang"};
	int64_t wrong;
	struct str state, call = STR("");
	for (size_t s = 0; s < 3; s++) {
		for (const struct json *r = parse_json_first(parse_json_get(answer, "ranks")); r; r = r->next) {
			if (!parse_json_text(parse_json_get(r, "state"), &state) || !str_is(state, states[s]))
				continue;
			const struct json *behind = s == 2 ? laggard(answer, &call) : r;
			take_rank(t, behind ? behind : r, results[s], s ? "code" : "signal", ret);
			if (!behind)
				ret->rank = -1;
			return;
		}
	}
	for (const struct json *r = parse_json_first(parse_json_get(answer, "ranks")); r; r = r->next)
		if (parse_json_int(parse_json_get(r, "wrong"), &wrong) && wrong) {
			take_rank(t, r, "wrong", "code", ret);
			return;
		}
}

static void reduce(
	struct test *t, const char *library, const char *devices, int ranks, int64_t bytes, bool without_p2p, struct reduced *ret)
{
	int inner = t->deadline_ms > 3000 ? t->deadline_ms - 2000 : t->deadline_ms / 2 + 1;
	const char *argv[] = {NULL, "test-nccl", library, number(t, ranks), devices, number(t, inner), number(t, bytes), NULL};
	struct host_child child;
	struct test_answer a;
	*ret = (struct reduced){.result = "skipped", .rank = -1, .code = -1};
	if (!test_probe(t, argv, &child))
		return;
	child.env = nccl_environment(t, without_p2p);
	host_children(t->host, &child, 1);
	test_read(t, &child, &a);
	*ret = (struct reduced){.result = a.result,
		.call = a.call,
		.message = a.message,
		.rank = -1,
		.code = a.code,
		.log = a.log,
		.version = version_of(t, a.last),
		.duration_ms = a.duration_ms};
	look_at_ranks(t, a.last, ret);
	parse_json_int(parse_json_get(a.last, "round_us"), &ret->us);
	parse_json_int(parse_json_get(a.last, "bytes"), &ret->bytes);
}

/* What fits on the fullest GPU. */
static int64_t bytes_for(struct test *t)
{
	int64_t bytes = ALL_REDUCE_BYTES, left;
	for (const struct facts_row *row = t->facts->first[TABLE_trial]; row; row = row->next)
		if (is(facts_get_text(row, trial__stage), "cuda") && facts_get_int(row, trial__free_bytes, &left))
			while (bytes > (1 << 20) && bytes > left / 8)
				bytes /= 2;
	return bytes;
}

/* The last thing that NCCL warned of, which says more than its error code. */
static struct str last_warning(struct str log)
{
	struct str line, last = str_n("", 0);
	while (str_next_line(&log, &line)) {
		size_t at = str_find(line, "NCCL WARN ", 0);
		if (at != SIZE_MAX)
			last = str_cut(str_trim(str_skip(line, at + 10)), 300);
	}
	return last;
}

static const char *message_of(struct test *t, const struct reduced *r)
{
	struct str warning = last_warning(r->log);
	if (!r->message || !warning.len)
		return warning.len ? str_dup(t->arena, warning) : r->message;
	return arena_printf(t->arena, "%s: %s", r->message, str_dup(t->arena, warning));
}

static void take_reduced(struct test *t, const char *library, int ranks, const struct reduced *r, const struct reduced *control)
{
	struct facts_row *row = test_row(t, "allreduce", "allreduce", "nccl", r->result);
	facts_text(row, trial__control, control ? control->result : NULL, ORIGIN);
	facts_text(row, trial__library, library, ORIGIN);
	facts_text(row, trial__version, r->version, ORIGIN);
	facts_text(row, trial__call, r->call, ORIGIN);
	facts_text(row, trial__message, message_of(t, r), ORIGIN);
	facts_int(row, trial__ranks, ranks, ORIGIN);
	if (r->code >= 0)
		facts_int(row, trial__code, r->code, ORIGIN);
	if (r->rank >= 0)
		facts_int(row, trial__rank, r->rank, ORIGIN);
	if (r->bytes > 0)
		facts_int(row, trial__bytes, r->bytes, ORIGIN);
	if (r->us > 0) {
		facts_real(row, trial__time_ms, (double)r->us / 1e3, ORIGIN);
		if (ranks > 1)
			facts_real(row, trial__rate, (double)r->bytes / (double)r->us / 1e3 * 2 * (ranks - 1) / ranks, ORIGIN);
	}
	test_duration(row, r->duration_ms + (control ? control->duration_ms : 0));
}

void test_allreduce(struct test *t)
{
	int device[GPUS_MAX], n = test_devices(t, device, GPUS_MAX), ranks = t->ranks ? t->ranks : n;
	const struct facts_row *backend = test_find(t, "backend");
	const char *library = backend ? facts_get_text(backend, trial__library) : NULL;
	struct reduced r, control;
	if (!is(test_backend(t), "nccl") || (n == 0 && test_not_needed(t, "allreduce", "allreduce"))) {
		if (!test_find(t, "allreduce") && !t->torch)
			facts_text(test_row(t, "allreduce", "allreduce", test_backend(t), "skipped"), trial__message, "davy test --torch",
				ORIGIN);
		return;
	}
	if (n == 0 || !test_passed(t, "backend") || (test_find(t, "network lo") && !test_passed(t, "network lo"))) {
		test_not_reached(t, "allreduce", "allreduce", n == 0 ? "cuda" : test_passed(t, "backend") ? "network" : "backend");
		return;
	}
	const struct facts_row *torch = t->facts->first[TABLE_torch];
	if (torch && is(facts_get_text(torch, torch__nccl_link), "static")) {
		facts_text(test_row(t, "allreduce", "allreduce", "nccl", "skipped"), trial__message, "davy test --torch", ORIGIN);
		return;
	}
	int64_t bytes = bytes_for(t);
	reduce(t, library, device_list(t, device, n), ranks, bytes, false, &r);
	bool failed = !is(r.result, "ok") && !is(r.result, "skipped"), again = failed && ranks > 1 && !host_stopped_by();
	if (again)
		reduce(t, library, device_list(t, device, n), ranks, bytes, true, &control);
	take_reduced(t, library, ranks, &r, again ? &control : NULL);
	if (failed && !is(r.result, "wrong"))
		test_keep_log(t, "nccl", r.log);
}
