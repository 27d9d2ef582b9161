/* AMD's kernel driver: the topology files of /sys/class/kfd, "name value" on each line. Pure and bounded. */
#ifndef PARSE_KFD_H
#define PARSE_KFD_H

#include "base/str.h"

/* The value of a property; -ENOENT when it does not stand there. Values are unsigned; what passes INT64_MAX is -ERANGE. */
int parse_kfd_property(struct str text, const char *name, int64_t *ret);
/* 90402 → "gfx942", 90010 → "gfx90a", 110000 → "gfx1100". -EINVAL for a processor (0). */
int parse_kfd_gfx(struct arena *a, int64_t target, const char **ret);
/* The PCI address out of domain and location_id. */
const char *parse_kfd_address(struct arena *a, int64_t domain, int64_t location);

#endif
