#include "old_dl.h"
#include "driver_api.h"

#include <dlfcn.h>
#include <string.h>

static const struct {
	const char *name;
	size_t offset;
} calls[] = {
	{"cuInit", offsetof(struct driver_api, init)},
	{"cuDeviceGetCount", offsetof(struct driver_api, count)},
	{"cuDeviceGet", offsetof(struct driver_api, device)},
	{"cuDeviceGetPCIBusId", offsetof(struct driver_api, bus_id)},
	{"cuGetErrorString", offsetof(struct driver_api, error_string)},
	{"cuDevicePrimaryCtxRetain", offsetof(struct driver_api, retain)},
	{"cuCtxSetCurrent", offsetof(struct driver_api, set_current)},
	{"cuCtxSynchronize", offsetof(struct driver_api, synchronize)},
	{"cuMemGetInfo_v2", offsetof(struct driver_api, memory_info)},
	{"cuMemAlloc_v2", offsetof(struct driver_api, alloc)},
	{"cuMemFree_v2", offsetof(struct driver_api, free)},
	{"cuMemHostAlloc", offsetof(struct driver_api, alloc_host)},
	{"cuMemcpyHtoD_v2", offsetof(struct driver_api, to_device)},
	{"cuMemcpyDtoH_v2", offsetof(struct driver_api, to_host)},
	{"cuMemcpyDtoD_v2", offsetof(struct driver_api, on_device)},
	{"cuMemsetD32_v2", offsetof(struct driver_api, fill)},
	{"cuMemcpyPeer", offsetof(struct driver_api, to_peer)},
	{"cuDeviceCanAccessPeer", offsetof(struct driver_api, can_peer)},
	{"cuCtxEnablePeerAccess", offsetof(struct driver_api, enable_peer)},
	{"cuCtxDisablePeerAccess", offsetof(struct driver_api, disable_peer)},
	{"cuStreamCreate", offsetof(struct driver_api, stream)},
	{"cuStreamSynchronize", offsetof(struct driver_api, wait)},
};

int driver_load(struct driver_api *ret, bool quiet)
{
	static const char *const names[] = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", NULL};
	void *library = NULL;

	memset(ret, 0, sizeof *ret);
	for (int i = 0; quiet && names[i] && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!quiet)
		library = probe_load(names);
	if (!library)
		return PROBE_MISSING;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		void *symbol = probe_symbol(library, (const char *const[]){calls[i].name, NULL});

		if (!symbol) {
			if (!quiet)
				out_error(calls[i].name, -1, "the library lacks this call");
			return PROBE_ERROR;
		}
		memcpy((char *)ret + calls[i].offset, &symbol, sizeof symbol);
	}
	return PROBE_OK;
}

const char *driver_error(const struct driver_api *d, int code)
{
	const char *text = NULL;

	return d->error_string(code, &text) == 0 && text ? text : "";
}

int driver_fail(const struct driver_api *d, const char *call, int code)
{
	out_error(call, code, driver_error(d, code));
	return PROBE_ERROR;
}

static unsigned word_of(size_t i, unsigned seed)
{
	unsigned v = (unsigned)i * 2654435761u ^ seed * 2246822519u;

	return v ^ v >> 15;
}

void pattern_make(unsigned *words, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		words[i] = word_of(i, seed);
}

size_t pattern_wrong(const unsigned *words, size_t n, unsigned seed)
{
	size_t wrong = 0;

	for (size_t i = 0; i < n; i++)
		wrong += words[i] != word_of(i, seed);
	return wrong;
}
