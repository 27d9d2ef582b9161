/* Which Python is meant, without running it: a name on PATH, a version manager's shim, a venv, a conda prefix or a path → an interpreter
 * with its prefixes, its version and its module search path. Reads only through the door, fills no facts.
 */
#ifndef COLLECT_INTERPRETER_H
#define COLLECT_INTERPRETER_H

#include "collect/collect.h"

enum path_kind { PATH_PYTHONPATH, PATH_STDLIB, PATH_SITE, PATH_USER, PATH_DIST, PATH_PTH, PATH_CONDA };

struct search_path {
	const char *path;
	enum path_kind kind;
	bool base;   /* belongs to the base interpreter of a venv that sees the system's packages */
	bool listed; /* `list` holds its entries */
	struct host_list list;
	int error; /* why it could not be listed: -ENOENT it is not there */
};

struct startup_code {
	const char *path, *kind, *text; /* text NULL: the whole file */
};

struct interpreter {
	const char *path; /* absolute, behind shims, links not followed: sys.executable */
	const char *real; /* links followed; NULL: the link is dead */
	const char *prefix, *base_prefix;
	const char *stdlib;  /* base_prefix/lib/pythonX.Y; NULL: not found */
	const char *minor;   /* "3.11"; NULL: unknown */
	const char *version; /* "3.11.7", or the same as minor */
	const char *kind;    /* venv, conda, pyenv, uv or system */
	const char *creator; /* of a venv: uv, virtualenv or venv */
	const char *version_origin;
	bool venv, system_site, conda;
	bool debian; /* Debian's layout: dist-packages */

	struct search_path *paths; /* sys.path, in order */
	size_t path_count, path_cap;
	const char *site_packages; /* where pip installs */
	const char *user_site;     /* NULL: not in use */
	struct startup_code *code; /* what runs at every start: lines of .pth files */
	size_t code_count, code_cap;
};

/* The first executable file of that name on PATH, directories whose path contains `skip` (may be NULL) left out; NULL: none. */
const char *collect_which(struct collect *c, const char *name, const char *skip);

/* Follows shims of pyenv and asdf: the program that would run. The path itself when it is no shim; NULL when the shim leads nowhere. */
const char *collect_unshim(struct collect *c, const char *path);

/* Everything but the search path. 0, or a negative errno when there is no such file. */
int collect_interpreter(struct collect *c, const char *path, struct interpreter *ret);

/* Fills paths, site_packages and user_site. */
void collect_interpreter_paths(struct collect *c, struct interpreter *py);

/* The interpreter that this run is about: c->python, or what PATH and the environment say. 0, or -ENOENT. *ret_asked: what was asked for.
 */
int collect_interpreter_find(struct collect *c, struct interpreter *ret, const char **ret_asked);

const char *collect_path_kind_name(enum path_kind kind);

/* "a//b/../c" → "a/c", by the text alone, as os.path.normpath does. */
const char *collect_path_clean(struct arena *a, const char *path);
/* Directory of a path, "/" for the root. */
const char *collect_path_parent(struct arena *a, const char *path);
const char *collect_path_name(const char *path);

#endif
