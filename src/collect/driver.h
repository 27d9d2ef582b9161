/* What collectors of devices share about the NVIDIA driver. */
#ifndef COLLECT_DRIVER_H
#define COLLECT_DRIVER_H

#include "collect/collect.h"

struct driver_library {
	const char *path;    /* as the loader finds it; NULL: not found */
	const char *real;    /* after resolving links */
	const char *version; /* from the real file name; NULL: it does not tell */
	const char *kind;    /* driver, compat or stub; with path only */
	enum facts_gap gap;  /* without path: GAP_ABSENT, or why we do not know */
};

/* Which files would dlopen("libcuda.so.1") and dlopen("libnvidia-ml.so.1") of a program load here? */
void driver_find_libraries(struct collect *c, struct driver_library *ret_cuda, struct driver_library *ret_nvml);

/* Sets version and branch unless they are known. */
void driver_set_version(struct facts_row *row, struct str version, const char *origin);

bool driver_has_nvidia_device(const struct facts *f);

#endif
