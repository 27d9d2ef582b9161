/* The CUDA driver, without creating a context. */
#include "probe.h"

#include <stdio.h>

typedef int cuda_init(unsigned);
typedef int cuda_int(int *);
typedef int cuda_error_text(int, const char **);
typedef int cuda_get(int *, int);
typedef int cuda_text(char *, int, int);
typedef int cuda_attribute(int *, int, int);

enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76, DEVICES_MAX = 64 };

static void *library;

#define CALL(...) PROBE_SYMBOL(library, __VA_ARGS__)

static const char *error_text(int code)
{
	cuda_error_text *call = CALL("cuGetErrorString"), *name = CALL("cuGetErrorName");
	const char *text = NULL;

	if (call && call(code, &text) == 0 && text)
		return text;
	return name && name(code, &text) == 0 && text ? text : "";
}

static void put_device(int index)
{
	cuda_get *get = CALL("cuDeviceGet");
	cuda_text *name = CALL("cuDeviceGetName"), *address = CALL("cuDeviceGetPCIBusId");
	cuda_attribute *attribute = CALL("cuDeviceGetAttribute");
	char text[256] = "";
	int device, v;

	out_int("index", index);
	if (!get || get(&device, index) != 0)
		return;
	if (name && name(text, 96, device) == 0)
		out_text_n("name", text, sizeof text - 1);
	if (address && address(text, 32, device) == 0)
		out_text_n("pci", text, sizeof text - 1);
	if (attribute && attribute(&v, CAPABILITY_MAJOR, device) == 0)
		out_int("cc_major", v);
	if (attribute && attribute(&v, CAPABILITY_MINOR, device) == 0)
		out_int("cc_minor", v);
}

int probe_cuda(void)
{
	cuda_init *init;
	cuda_int *version, *count;
	int rc, n = 0;

	library = probe_load((const char *const[]){"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", NULL});
	if (!library)
		return PROBE_MISSING;
	init = CALL("cuInit");
	version = CALL("cuDriverGetVersion");
	count = CALL("cuDeviceGetCount");
	if (version && version(&n) == 0)
		out_int("cuda_version", n);
	if (!init || !count) {
		out_error("dlsym", -1, "the library lacks cuInit");
		return PROBE_ERROR;
	}
	probe_calling("cuInit", -1);
	rc = init(0);
	if (rc == 0) {
		probe_calling("cuDeviceGetCount", -1);
		rc = count(&n);
		if (rc != 0) {
			out_error("cuDeviceGetCount", rc, error_text(rc));
			return PROBE_ERROR;
		}
	} else {
		out_error("cuInit", rc, error_text(rc));
		return PROBE_ERROR;
	}
	out_int("count", n);
	out_array("gpus");
	for (int i = 0; i < n && i < DEVICES_MAX; i++) {
		out_object(NULL);
		put_device(i);
		out_end();
	}
	out_end();
	return PROBE_OK;
}
