/* Each pair of GPUs, by data: copies through the host (peer access off: the control arm), then straight across, both ways. One line for
 * each pair, at once, so that what is known stays known when a later pair hangs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver_api.h"

enum { DEVICES_MAX = 64, BYTES = 16 << 20, WORDS = BYTES / 4, ROUNDS = 4 };

struct end {
	int index, device;
	cuda_context context;
	cuda_memory memory, other; /* what it sends, where it receives */
};

struct test {
	struct driver_api d;
	struct end end[DEVICES_MAX];
	int n;
	unsigned *host;
	const char *call;
	int code;
};

#define TRY(t, name, expression) (((t)->code = (expression)) != 0 && ((t)->call = (name)) != NULL)

static bool open_end(struct test *t, struct end *e)
{
	probe_calling("cuDevicePrimaryCtxRetain", e->index);
	return !TRY(t, "cuDeviceGet", t->d.device(&e->device, e->index)) &&
		!TRY(t, "cuDevicePrimaryCtxRetain", t->d.retain(&e->context, e->device)) &&
		!TRY(t, "cuCtxSetCurrent", t->d.set_current(e->context)) && !TRY(t, "cuMemAlloc", t->d.alloc(&e->memory, BYTES)) &&
		!TRY(t, "cuMemAlloc", t->d.alloc(&e->other, BYTES));
}

/* One way: what arrives is what was sent? -1: a call failed. */
static int64_t send_across(struct test *t, struct end *from, struct end *to, unsigned seed, double *ret_ms)
{
	double start;

	pattern_make(t->host, WORDS, seed);
	if (TRY(t, "cuCtxSetCurrent", t->d.set_current(to->context)) || TRY(t, "cuMemsetD32", t->d.fill(to->other, 0xa5a5a5a5u, WORDS)) ||
		TRY(t, "cuCtxSynchronize", t->d.synchronize()) || TRY(t, "cuCtxSetCurrent", t->d.set_current(from->context)) ||
		TRY(t, "cuMemcpyHtoD", t->d.to_device(from->memory, t->host, BYTES)))
		return -1;
	start = probe_clock_ms();
	for (int i = 0; i < ROUNDS; i++)
		if (TRY(t, "cuMemcpyPeer", t->d.to_peer(to->other, to->context, from->memory, from->context, BYTES)))
			return -1;
	if (TRY(t, "cuCtxSynchronize", t->d.synchronize()) || TRY(t, "cuCtxSetCurrent", t->d.set_current(to->context)) ||
		TRY(t, "cuCtxSynchronize", t->d.synchronize()))
		return -1;
	*ret_ms = probe_clock_ms() - start;
	memset(t->host, 0, BYTES);
	if (TRY(t, "cuMemcpyDtoH", t->d.to_host(t->host, to->other, BYTES)))
		return -1;
	return (int64_t)pattern_wrong(t->host, WORDS, seed);
}

/* Both ways; writes "<arm>": ok, wrong or error, and how fast the slower way was. False: a call failed, and nothing more can be said of
 * these GPUs here. */
static bool arm(struct test *t, struct end *a, struct end *b, const char *name, int pair)
{
	double there = 0, back = 0, slower;
	int64_t wrong_there, wrong_back;
	char key[32];

	probe_calling(name, pair);
	wrong_there = send_across(t, a, b, (unsigned)pair * 4 + 1, &there);
	wrong_back = wrong_there < 0 ? -1 : send_across(t, b, a, (unsigned)pair * 4 + 2, &back);
	if (wrong_there < 0 || wrong_back < 0) {
		out_text(name, "error");
		return false;
	}
	out_text(name, wrong_there || wrong_back ? "wrong" : "ok");
	snprintf(key, sizeof key, "%s_wrong", name);
	out_int(key, wrong_there + wrong_back);
	slower = there > back ? there : back;
	snprintf(key, sizeof key, "%s_mbps", name);
	if (slower > 0)
		out_int(key, (int64_t)((double)BYTES * ROUNDS / 1e3 / slower));
	return true;
}

static bool enable(struct test *t, struct end *a, struct end *b)
{
	int rc;

	if (TRY(t, "cuCtxSetCurrent", t->d.set_current(a->context)))
		return false;
	rc = t->d.enable_peer(b->context, 0);
	return rc == CUDA_PEER_ENABLED || !TRY(t, "cuCtxEnablePeerAccess", rc);
}

static bool pair_test(struct test *t, struct end *a, struct end *b, int pair)
{
	int there = 0, back = 0;
	bool good;

	out_int("a", a->index);
	out_int("b", b->index);
	if (!arm(t, a, b, "control", pair))
		return false;
	if (TRY(t, "cuDeviceCanAccessPeer", t->d.can_peer(&there, a->device, b->device)) ||
		TRY(t, "cuDeviceCanAccessPeer", t->d.can_peer(&back, b->device, a->device)))
		return false;
	out_bool("peer", there && back);
	if (!there || !back)
		return true;
	probe_calling("cuCtxEnablePeerAccess", pair);
	if (!enable(t, a, b) || !enable(t, b, a)) {
		out_text("direct", "error");
		return false;
	}
	good = arm(t, a, b, "direct", pair);
	/* A GPU maps eight peers: what was tested is given back. */
	t->d.set_current(b->context);
	t->d.disable_peer(a->context);
	t->d.set_current(a->context);
	t->d.disable_peer(b->context);
	return good;
}

static bool open_all(struct test *t)
{
	probe_calling("cuInit", -1);
	if (TRY(t, "cuInit", t->d.init(0)))
		return false;
	for (int i = 0; i < t->n; i++)
		if (!open_end(t, &t->end[i]))
			return false;
	t->host = malloc(BYTES);
	return t->host != NULL;
}

int probe_test_p2p(char **args)
{
	static struct test t;
	int index[DEVICES_MAX], from, pair = 0, rc;

	t.n = probe_numbers(args[0], index, DEVICES_MAX);
	if (t.n < 2 || probe_numbers(args[1], &from, 1) != 1)
		return 64;
	for (int i = 0; i < t.n; i++)
		t.end[i].index = index[i];
	rc = driver_load(&t.d, false);
	if (rc != PROBE_OK)
		return rc;
	if (!open_all(&t))
		return driver_fail(&t.d, t.call ? t.call : "malloc", t.code);
	out_flush();
	for (int i = 0; i < t.n; i++) {
		for (int k = i + 1; k < t.n; k++, pair++) {
			if (pair < from)
				continue;
			out_object(NULL);
			out_int("pair", pair);
			/* After an error a context may be spoilt for all that follows: the rest begins afresh in another process. */
			if (!pair_test(&t, &t.end[i], &t.end[k], pair))
				return driver_fail(&t.d, t.call, t.code);
			out_flush();
		}
	}
	out_object(NULL);
	out_bool("complete", true);
	return PROBE_OK;
}
