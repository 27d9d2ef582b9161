/* What the dynamic loader would do: which file each needed library comes from, by which rule, and what it would not find.
 *
 * Emulates glibc's ld.so (and musl's) through the door, never runs it, so it is safe for files that are not trusted and works on a root
 * directory or a snapshot. The order for a name without a slash:
 *
 *   0  an object that is loaded already under this name or SONAME (so LD_PRELOAD and earlier imports win)
 *   1  RPATH of the wanting object, of its loader and so on, of the program; not when the wanting object has a RUNPATH
 *   2  LD_LIBRARY_PATH
 *   3  RUNPATH of the wanting object itself
 *   4  /etc/ld.so.cache
 *   5  the default directories
 *
 * In directories of 1, 2, 3 and 5 glibc-hwcaps subdirectories come first. Files of another class or machine are passed over; anything that
 * is no ELF file ends the search with an error. Everything returned lives in the arena.
 */
#ifndef COLLECT_LDSO_H
#define COLLECT_LDSO_H

#include "collect/binary.h"

struct ldso;

struct ldso_object {
	const char *name;     /* as it was asked for first */
	const char *path;     /* the file */
	const char *found_by; /* program, rpath, ld_library_path, runpath, ld_so_cache, default, preload, direct (a path), loaded (the
				 loader itself) */
	const char *problem; /* why the loader refuses it: empty, not-elf, lfs-pointer, truncated, wrong-machine, damaged, unreadable; NULL:
				fine */
	int loader;          /* index of the object that wanted it first; -1: none */
	bool known;          /* `elf` could be read */
	struct elf_digest elf;
};

struct ldso_want { /* one request: a NEEDED entry or a dlopen */
	int from;  /* index of the wanting object; -1: LD_PRELOAD */
	const char *name;
	int to;               /* index of the object; -1: not found */
	const char *found_by; /* of this request: "loaded" when it was there already; NULL when not found */
};

struct ldso_unmet {         /* a symbol or symbol version that nobody has */
	const char *symbol; /* "GLIBCXX_3.4.32", "ncclCommRegister" */
	bool is_version;
	int library;  /* index of the object that needs it */
	int provider; /* index of the object that should have it; -1: none is known */
};

struct ldso_result {
	const struct ldso_object *objects;
	size_t object_count;
	const struct ldso_want *wants;
	size_t want_count;
	const struct ldso_unmet *unmet; /* after collect_ldso_check */
	size_t unmet_count;
	bool uncertain; /* something that matters was not in the snapshot (processor flags, a file) */
	bool musl;
};

struct ldso *collect_ldso_new(struct arena *a, struct host *h);

/* A fresh process on the same machine: directories, the cache and digests are not read again. */
struct ldso *collect_ldso_next(const struct ldso *before);

/* The program that starts, or a shared library taken as one, as ldd does; LD_PRELOAD, and the closure. 0, or the negative errno of reading
 * it. */
int collect_ldso_program(struct ldso *l, const char *path);

/* Some program of this machine whose file does not matter: for what any process would find by a name alone. Instead of
 * collect_ldso_program. */
void collect_ldso_bare(struct ldso *l, const char *machine);

/* dlopen(name) by object `loader` (0: the program), and the closure of it. Index of the object, or -ENOENT, -ENOEXEC (no library for this
 * loader), ... */
int collect_ldso_open(struct ldso *l, const char *name, int loader);

/* Versions and symbols of interest that would be missing. */
void collect_ldso_check(struct ldso *l);

/* Reads ahead, in another thread, what opening that library would take, from the end of the lists: whoever does it from the beginning then
 * meets what is read. Nothing depends on it. NULL when there is no second processor or no live machine. collect_ldso_ahead_end ends it,
 * however far it came. */
struct ldso_ahead;
struct ldso_ahead *collect_ldso_ahead(struct host *h, const char *library);
void collect_ldso_ahead_end(struct ldso_ahead *a); /* NULL is fine */

struct ldso_result collect_ldso_result(const struct ldso *l);

/* The object loaded under that name or SONAME, or -1. */
int collect_ldso_find(const struct ldso *l, const char *name);

#endif
