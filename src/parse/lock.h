/* Lock files: what `davy plan --lock` writes and `davy check --lock` reads, and other files of pinned requirements (pip freeze).
 *
 * A lock is a requirements file that pip takes. What pip cannot say stands in comments:
 *
 *   # davy lock 1
 *   # davy: python 3.11.2
 *   # davy: platform x86_64 glibc 2.36
 *   # davy: torch 2.7.1+cu128 cuda=12.8
 *   # davy: driver 570.124.06 cuda=12.8
 *   # davy: installed six 1.16.0 apt            a package that pip did not install
 *   # davy: conda numpy 1.26.4 py311h64a7726_0
 *   # conda: https://conda.anaconda.org/conda-forge/linux-64/numpy-1.26.4-py311h64a7726_0.conda#<md5>
 *   torch==2.7.1+cu128  # davy record=sha256=<digest>
 *   demo @ file:///srv/demo-1.0-py3-none-any.whl#sha256=<hex>  # davy version=1.0 record=sha256=<digest>
 *   -e /src/tool  # davy name=tool version=0.1
 *
 * Pure. Slices point into the text handed in. Untrusted: names and versions are checked as pip would, nothing else is taken from the file
 * into commands without quoting.
 */
#ifndef PARSE_LOCK_H
#define PARSE_LOCK_H

#include "base/str.h"

#define PARSE_LOCK_PACKAGES_MAX 20000

enum lock_kind { LOCK_PIP, LOCK_INSTALLED, LOCK_CONDA };

struct lock_package {
	enum lock_kind kind;
	const char *name;   /* canonical (PEP 503) */
	struct str version; /* empty: not known */
	struct str build;   /* of conda */
	struct str source;  /* what pip is given instead of name==version: a URL or a path; empty: an index */
	struct str record;  /* "sha256=..." of what RECORD says; empty: not known */
	struct str installer;
	bool editable;
	int64_t line;
};

struct lock {
	bool complete;                                /* a lock of davy's: what it does not name was not there */
	struct str python, arch, libc, torch, driver; /* empty: not said */
	struct lock_package *packages;
	size_t count, cap;
	int64_t bad_line; /* of an error; 0: the file as a whole */
	const char *why;  /* of an error: "not a requirement", ... */
};

/* 0; -EINVAL not a lock or a line that is none (bad_line, why); -E2BIG. */
int parse_lock(struct arena *a, struct str text, struct lock *ret);

#endif
