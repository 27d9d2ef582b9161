/* Requirements of Python packages (PEP 508) and the names in them (PEP 503).
 *
 *   torch[opt-einsum] (>=2.1,<3) ; python_version >= "3.9" and extra == "gpu"
 *   name @ https://… ; marker
 *
 * Pure: a marker is evaluated against the environment handed in, never against this machine.
 */
#ifndef PARSE_PEP508_H
#define PARSE_PEP508_H

#include "base/str.h"

/* Slices of the text parsed; empty when not given. */
struct pep508 {
	struct str name;
	struct str extras;    /* what stands between the brackets: "a, b" */
	struct str specifier; /* without parentheses: ">=2.1,<3" */
	struct str url;
	struct str marker; /* behind the semicolon */
};

/* Values of the variables that a marker may name. An empty one is an empty text, as `extra` is outside of extras. */
struct pep508_environment {
	struct str python_version, python_full_version, os_name, sys_platform, platform_release, platform_system, platform_version,
		platform_machine, platform_python_implementation, implementation_name, implementation_version, extra;
};

#define PARSE_PEP508_DEPTH_MAX 64

/* 0, or -EINVAL when pip would refuse it. The marker's syntax is checked too. */
int parse_pep508(struct str text, struct pep508 *ret);
/* The value of a marker; an empty one is true. 0, -EINVAL for bad syntax, -ENOTSUP for a comparison without meaning ("~=" on words). */
int parse_pep508_marker(struct str marker, const struct pep508_environment *env, bool *ret);

/* The normal form of a name: lower case, runs of - _ . become one -. */
char *parse_pep503_name(struct arena *a, struct str name);
bool parse_pep503_equal(struct str a, struct str b);
/* A name that pip accepts for an installed distribution: not "-orch", which an interrupted pip left behind. */
bool parse_pep503_is_valid(struct str name);

#endif
