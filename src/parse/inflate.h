/* Random access into a deflate stream, without unpacking it to anywhere.
 *
 * A stream gives bytes at any offset. Reading forward costs what inflating costs; going back starts at the nearest of the points that were
 * kept on the way (one every 4 MiB, 32 KiB of memory each). The work is bounded: a stream that has been gone over many times refuses. Not
 * for two threads at once.
 */
#ifndef PARSE_INFLATE_H
#define PARSE_INFLATE_H

#include "parse/source.h"

struct inflate_stream;

/* The raw deflate data at [off, off + packed) of the source, which is `size` bytes when unpacked. NULL: no memory. */
struct inflate_stream *parse_inflate_open(const struct parse_source *source, uint64_t off, uint64_t packed, uint64_t size);
void parse_inflate_close(struct inflate_stream *s); /* NULL is fine */

/* For struct parse_source: 0; -EBADMSG the data is damaged or is not of the size that was said; -EFBIG too much work; what reading gave. */
int parse_inflate_pread(void *stream, uint64_t off, void *p, size_t n);
/* CRC-32 of the whole, once everything was read in order. False: it was not, yet. */
bool parse_inflate_crc(const struct inflate_stream *s, uint32_t *ret);

/* CRC-32 of bytes, going on from `crc` (0 at the start). */
uint32_t parse_crc32(uint32_t crc, const void *p, size_t n);

#endif
