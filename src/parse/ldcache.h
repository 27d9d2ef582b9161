/* /etc/ld.so.cache: the list of libraries that ldconfig made for the dynamic loader.
 *
 * Reads the format "glibc-ld.so.cache1.1", alone or behind the old "ld.so-1.7.0" part, with the glibc-hwcaps extension. Nothing is copied:
 * what is returned points into the bytes handed in. Every offset is checked.
 */
#ifndef PARSE_LDCACHE_H
#define PARSE_LDCACHE_H

#include "parse/source.h"

struct ldcache {
	struct str all;  /* from the new header on: string offsets count from here */
	const char *entries;
	uint32_t count;
	struct str hwcaps; /* array of u32: offsets of glibc-hwcaps names; empty without the extension */
	struct str generator; /* "ldconfig (Debian GLIBC 2.36-9) stable release version 2.36" */
};

struct ldcache_entry {
	struct str name, path;
	uint32_t flags;
	uint64_t hwcap;     /* legacy bits; 0 when plain or glibc-hwcaps */
	struct str hwcaps;  /* "x86-64-v3"; empty: none */
};

/* Flags of entries for 64-bit programs. */
#define LDCACHE_X86_64 0x0303u
#define LDCACHE_AARCH64 0x0a03u

/* 0, or -EINVAL when this is no such file. */
int parse_ldcache(struct str bytes, struct ldcache *ret);
bool parse_ldcache_entry(const struct ldcache *c, uint32_t index, struct ldcache_entry *ret);

/* What the loader takes for a name: the best entry with these flags. `levels` are the glibc-hwcaps names that this CPU supports, best first;
 * `legacy` the mask of legacy hwcap bits that are supported (0: plain entries only). */
bool parse_ldcache_find(const struct ldcache *c, const char *name, uint32_t flags, const char *const *levels, size_t level_count, uint64_t legacy, struct ldcache_entry *ret);

#endif
