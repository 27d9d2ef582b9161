/* Decompressors behind one interface: one file each. */
#ifndef PARSE_UNPACK_H
#define PARSE_UNPACK_H

#include "base/str.h"

struct unpack_io {
	const char *in;
	size_t in_n;
	char *out;
	size_t out_n;
	bool in_ends; /* no more will come */
};

struct unpacker {
	const char *name;
	bool (*is_mine)(const unsigned char *head, size_t n);
	void *(*open)(void);
	/* Moves in and out forward. 0; 1 at the end of a stream (more may follow); negative errno: -EBADMSG broken, -ENOMEM needs too much memory. */
	int (*step)(void *state, struct unpack_io *io);
	void (*close)(void *state);
};

/* The other way, for snapshots: one Zstandard frame, malloced. 0 or -ENOMEM. */
int unpack_zstd_compress(const void *p, size_t n, void **ret, size_t *ret_n);

extern const struct unpacker unpack_gzip, unpack_zstd, unpack_xz;

#endif
