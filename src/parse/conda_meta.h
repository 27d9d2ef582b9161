/* conda-meta/NAME-VERSION-BUILD.json: what conda has installed, and where it came from. Slices point into the text or the arena. */
#ifndef PARSE_CONDA_META_H
#define PARSE_CONDA_META_H

#include "base/str.h"

struct conda_meta {
	struct str name, version, build, channel, url, md5, sha256; /* empty: not said */
};

/* 0, or -EINVAL: no such file, or one without name and version; -E2BIG. */
int parse_conda_meta(struct arena *a, struct str text, struct conda_meta *ret);

#endif
