/* One GPU: is it really there? A context, memory, copies to it, on it and from it, and what came back is what went in. */
#include <stdlib.h>
#include <string.h>

#include "driver_api.h"

enum { BYTES_MAX = 32 << 20, BYTES_MIN = 1 << 20, ROUNDS = 4, SEED = 0x0da7 };

struct test {
	struct driver_api d;
	size_t bytes;
	unsigned *host, *back;
	cuda_memory first, second;
	const char *call; /* that failed, with its code */
	int code;
};

#define TRY(t, name, expression) (probe_calling(name, -1), ((t)->code = (expression)) != 0 && ((t)->call = (name)) != NULL)

/* Megabytes a second, over some rounds after the first. 0: a call failed. */
static int64_t speed(struct test *t, bool to_device)
{
	double start = probe_clock_ms(), took;

	for (int i = 0; i < ROUNDS; i++)
		if (TRY(t, to_device ? "cuMemcpyHtoD" : "cuMemcpyDtoH",
			    to_device ? t->d.to_device(t->first, t->host, t->bytes) : t->d.to_host(t->back, t->second, t->bytes)))
			return 0;
	took = probe_clock_ms() - start;
	return took > 0 ? (int64_t)((double)t->bytes * ROUNDS / 1e3 / took) : 0;
}

static bool open_device(struct test *t, int index)
{
	cuda_context context;
	char address[64] = "";
	int device;

	if (TRY(t, "cuInit", t->d.init(0)) || TRY(t, "cuDeviceGet", t->d.device(&device, index)))
		return false;
	if (t->d.bus_id(address, 32, device) == 0)
		out_text_n("pci", address, sizeof address - 1);
	return !TRY(t, "cuDevicePrimaryCtxRetain", t->d.retain(&context, device)) && !TRY(t, "cuCtxSetCurrent", t->d.set_current(context));
}

/* As much as there is room for, so that a GPU at work is tested too. */
static bool take_memory(struct test *t)
{
	size_t left = 0, total = 0;

	if (TRY(t, "cuMemGetInfo", t->d.memory_info(&left, &total)))
		return false;
	out_int("free", (int64_t)left);
	out_int("total", (int64_t)total);
	t->bytes = BYTES_MAX;
	while (t->bytes > BYTES_MIN && t->bytes > left / 8)
		t->bytes /= 2;
	if (TRY(t, "cuMemAlloc", t->d.alloc(&t->first, t->bytes)) || TRY(t, "cuMemAlloc", t->d.alloc(&t->second, t->bytes)))
		return false;
	return !TRY(t, "cuMemHostAlloc", t->d.alloc_host((void **)&t->host, t->bytes, 0)) &&
		!TRY(t, "cuMemHostAlloc", t->d.alloc_host((void **)&t->back, t->bytes, 0));
}

static bool copy(struct test *t)
{
	size_t words = t->bytes / sizeof *t->host, wrong;

	pattern_make(t->host, words, SEED);
	memset(t->back, 0, t->bytes);
	if (TRY(t, "cuMemsetD32", t->d.fill(t->second, 0xa5a5a5a5u, words)) ||
		TRY(t, "cuMemcpyHtoD", t->d.to_device(t->first, t->host, t->bytes)) ||
		TRY(t, "cuMemcpyDtoD", t->d.on_device(t->second, t->first, t->bytes)) || TRY(t, "cuCtxSynchronize", t->d.synchronize()) ||
		TRY(t, "cuMemcpyDtoH", t->d.to_host(t->back, t->second, t->bytes)))
		return false;
	wrong = pattern_wrong(t->back, words, SEED);
	out_int("wrong", (int64_t)wrong);
	out_int("words", (int64_t)words);
	return true;
}

int probe_test_cuda(char **args)
{
	struct test t;
	int64_t to, from;
	int index, rc;

	if (probe_numbers(args[0], &index, 1) != 1)
		return 64;
	out_int("index", index);
	memset(&t, 0, sizeof t);
	rc = driver_load(&t.d, false);
	if (rc != PROBE_OK)
		return rc;
	if (!open_device(&t, index) || !take_memory(&t) || !copy(&t))
		return driver_fail(&t.d, t.call, t.code);
	to = speed(&t, true);
	from = to ? speed(&t, false) : 0;
	if (!to || !from)
		return t.call ? driver_fail(&t.d, t.call, t.code) : PROBE_OK;
	out_int("to_mbps", to); /* megabytes */
	out_int("from_mbps", from);
	return PROBE_OK;
}
