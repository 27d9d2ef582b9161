/* Wheels: what the file's name and its tags say (PEP 425, 427, 600, 656), and whether an interpreter takes them, as pip decides. Pure. */
#ifndef PARSE_WHEEL_H
#define PARSE_WHEEL_H

#include "base/str.h"

struct wheel_name {                       /* slices of the file's name */
	struct str name, version, build;  /* build: empty when there is none */
	struct str python, abi, platform; /* each a set: "py2.py3" */
};

/* "torch-2.7.1+cu128-cp311-cp311-manylinux_2_28_x86_64.whl"; 0, or -EINVAL: no name that pip accepts. */
int parse_wheel_name(struct str file, struct wheel_name *ret);

/* An interpreter: CPython 3 on Linux. */
struct wheel_target {
	unsigned minor;     /* of Python 3 */
	bool free_threaded; /* python3.13t */
	const char *arch;   /* x86_64, aarch64, ... */
	bool musl;
	unsigned libc_major, libc_minor; /* 0.0: unknown, nothing is refused for it */
};

enum wheel_fit {
	WHEEL_FITS,
	WHEEL_OTHER_LIBC_VERSION,
	WHEEL_OTHER_LIBC,
	WHEEL_OTHER_ARCH,
	WHEEL_OTHER_SYSTEM,
	WHEEL_OTHER_ABI,
	WHEEL_OTHER_PYTHON,
	WHEEL_OTHER_IMPLEMENTATION
};

/* The best of all combinations; when none fits, what is wrong with the one that comes nearest. */
enum wheel_fit parse_wheel_fits(struct str python, struct str abi, struct str platform, const struct wheel_target *target);
const char *parse_wheel_fit_name(enum wheel_fit fit); /* "fits", "libc-version", ... */

#endif
