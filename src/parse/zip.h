/* Zip archives (wheels), read where they lie: the central directory, and members as sources of bytes.
 *
 * Nothing is unpacked to disk. Bounded: members, sizes and names; Zip64 is read. What an archive should not do stands in `problem` of the
 * member: leave the folder it is unpacked into, be a link or a device, share bytes with another member, claim sizes that deflate cannot
 * reach, have another name in its own header than in the directory, stand twice. Slices and names live in the arena; the source must
 * outlive the archive.
 */
#ifndef PARSE_ZIP_H
#define PARSE_ZIP_H

#include "parse/inflate.h"

#define PARSE_ZIP_ENTRIES_MAX 200000u

struct zip_entry {
	struct str name;
	uint16_t method, flags;
	uint32_t crc;
	uint64_t packed, size, header; /* offset of its own header */
	unsigned mode;                 /* of Unix; 0: not said */
	bool is_directory;
	/* NULL, or absolute-path, parent-path, odd-name, symlink, special-file, encrypted, unknown-method, outside, overlaps, size-lies,
	 * twice */
	const char *problem;
};

struct zip {
	const struct parse_source *source;
	uint64_t base; /* bytes in front of the archive */
	struct zip_entry *entries;
	size_t count;
	uint64_t total; /* bytes of all members, unpacked */
};

/* 0; -EINVAL no zip archive; -EBADMSG one whose directory is damaged or cut; -E2BIG; or what reading gave. */
int parse_zip_open(struct arena *a, const struct parse_source *source, struct zip *ret);
const struct zip_entry *parse_zip_find(const struct zip *z, const char *name); /* NULL: none */

/* A member as a source: seekable, unpacked as it is read. */
struct zip_member {
	struct parse_source source;
	const struct zip *zip;
	uint64_t data;                 /* of a stored member: where its bytes begin */
	struct inflate_stream *stream; /* of a deflated one */
};

/* 0; -EBADMSG its own header contradicts the directory; -ENOTSUP encrypted, or another method than stored and deflate. Not to be moved;
 * close it. */
int parse_zip_member(const struct zip *z, const struct zip_entry *e, struct zip_member *ret);
void parse_zip_close(struct zip_member *m);

/* The whole of a small member, its CRC checked. -EFBIG longer than max; -EBADMSG damaged. */
int parse_zip_read(struct arena *a, const struct zip *z, const struct zip_entry *e, size_t max, struct str *ret);

#endif
