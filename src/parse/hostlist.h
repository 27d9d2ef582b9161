/* Slurm's lists of hosts: "n[1-4,7],gpu-[01-10]-ib,login" → names in order. */
#ifndef PARSE_HOSTLIST_H
#define PARSE_HOSTLIST_H

#include "base/str.h"

#define PARSE_HOSTLIST_MAX 200000

/* 0; -EINVAL not such a list; -E2BIG more than PARSE_HOSTLIST_MAX names. */
int parse_hostlist(struct arena *a, struct str text, const char ***ret, size_t *ret_count);

#endif
