/* The version of a libnccl. Files tell it too; this is what the library itself says after the loader accepted it. */
#include "probe.h"

typedef int nccl_version(int *);

int probe_nccl(const char *path)
{
	void *library = probe_load((const char *const[]){path ? path : "libnccl.so.2", NULL});
	nccl_version *call;
	int code = 0, rc;

	if (!library)
		return PROBE_MISSING;
	call = PROBE_SYMBOL(library, "ncclGetVersion");
	if (!call) {
		out_error("dlsym", -1, "the library lacks ncclGetVersion");
		return PROBE_ERROR;
	}
	probe_calling("ncclGetVersion", -1);
	rc = call(&code);
	if (rc != 0) {
		out_error("ncclGetVersion", rc, "");
		return PROBE_ERROR;
	}
	out_int("version_code", code);
	return PROBE_OK;
}
