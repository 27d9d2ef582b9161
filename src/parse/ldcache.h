/* /etc/ld.so.cache: the list of libraries that ldconfig made for the dynamic loader.
 *
 * Reads the format "glibc-ld.so.cache1.1", alone or behind the old "ld.so-1.7.0" part, with the glibc-hwcaps extension. Nothing is copied:
 * what is returned points into the bytes handed in. Every offset is checked.
 */
#ifndef PARSE_LDCACHE_H
#define PARSE_LDCACHE_H

#include "parse/source.h"

struct ldcache {
	struct str all; /* from the new header on: string offsets count from here */
	const char *entries;
	uint32_t count;
	struct str hwcaps;    /* array of u32: offsets of glibc-hwcaps names; empty without the extension */
	struct str generator; /* "ldconfig (Debian GLIBC 2.36-9) stable release version 2.36" */
};

struct ldcache_entry {
	struct str name, path;
	uint32_t flags;
	uint64_t hwcap;    /* legacy bits; 0 when plain or glibc-hwcaps */
	struct str hwcaps; /* "x86-64-v3"; empty: none */
};

/* 0, or -EINVAL when this is no such file. */
int parse_ldcache(struct str bytes, struct ldcache *ret);
bool parse_ldcache_entry(const struct ldcache *c, uint32_t index, struct ldcache_entry *ret);

/* The cache as text, one line an entry in the order of the file: "x86_64 - libz.so.1 /lib/x86_64-linux-gnu/libz.so.1". The second word is a
 * glibc-hwcaps level (x86-64-v3), the legacy hardware bits (0x4000000000000), or -. Snapshots keep this instead of the file. 0 or -EINVAL.
 */
int parse_ldcache_text(struct str bytes, struct buf *ret);

#endif
