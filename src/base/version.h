/* Dotted versions as drivers, CUDA, NCCL and kernels use them: numbers separated by dots; what follows the numbers is ignored.
 * "580.65.06" < "580.126", "12.4" = "12.4.0", "6.1.0-18-amd64" = 6.1.0. Python versions (PEP 440) are another matter. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#include "base/str.h"

#define VERSION_PARTS 6

struct version {
	uint32_t part[VERSION_PARTS];
	int count; /* parts given */
};

int version_parse(struct str s, struct version *ret); /* 0, or -EINVAL when it does not start with a number */
int version_compare(const struct version *a, const struct version *b);
/* -1, 0, 1; sets *ret and returns 0, or -EINVAL. */
int version_cmp(struct str a, struct str b, int *ret);

#endif
