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
	/* Moves in and out forward. 0; 1 at the end of a stream (more may follow); negative errno: -EBADMSG broken, -ENOMEM needs too much
	 * memory. */
	int (*step)(void *state, struct unpack_io *io);
	void (*close)(void *state);
};

/* The other way, for snapshots: one Zstandard frame, malloced. 0 or -ENOMEM. */
int unpack_zstd_compress(const void *p, size_t n, void **ret, size_t *ret_n);

/* And for text that comes bit by bit (the log of a run): one frame, which can be read up to the last flush even when its writer was killed.
 */
enum pack_how { PACK_MORE, PACK_FLUSH, PACK_END };
void *pack_zstd_open(void); /* NULL: no memory */
/* Takes all of p; what is ready goes to the end of out. 0, -ENOMEM, or -EFBIG when out is full. After PACK_END the next text begins a new
 * frame. */
int pack_zstd(void *state, const void *p, size_t n, enum pack_how how, struct buf *out);
void pack_zstd_close(void *state);

extern const struct unpacker unpack_gzip, unpack_zstd, unpack_xz;
extern const struct unpacker unpack_deflate; /* raw, as in zip archives: nothing tells it from other bytes */

#endif
