/* zlib: gzip files as they come, and raw deflate data at any offset. */
#include "parse/inflate.h"

#include <zlib.h>

#include "parse/unpack.h"

/* -- gzip --------------------------------------------------------------------------------------------------------------- */

static bool is_mine(const unsigned char *head, size_t n)
{
	return n >= 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8;
}

static void *open_stream(int window)
{
	z_stream *z = calloc(1, sizeof(*z));
	if (z && inflateInit2(z, window) != Z_OK) {
		free(z);
		return NULL;
	}
	return z;
}

static void *open_gzip(void)
{
	return open_stream(16 + MAX_WBITS);
}

static void *open_deflate(void)
{
	return open_stream(-MAX_WBITS);
}

static int step(void *state, struct unpack_io *io)
{
	z_stream *z = state;
	z->next_in = (unsigned char *)io->in;
	z->avail_in = (uInt)(io->in_n < 1u << 30 ? io->in_n : 1u << 30);
	z->next_out = (unsigned char *)io->out;
	z->avail_out = (uInt)(io->out_n < 1u << 30 ? io->out_n : 1u << 30);
	int r = inflate(z, Z_NO_FLUSH);
	io->in_n -= (size_t)((const char *)z->next_in - io->in);
	io->in = (const char *)z->next_in;
	io->out_n -= (size_t)((char *)z->next_out - io->out);
	io->out = (char *)z->next_out;
	if (r == Z_STREAM_END)
		return inflateReset(z) == Z_OK ? 1 : -EBADMSG;
	if (r == Z_MEM_ERROR)
		return -ENOMEM;
	return r == Z_OK || r == Z_BUF_ERROR ? 0 : -EBADMSG;
}

static void close_gzip(void *state)
{
	inflateEnd(state);
	free(state);
}

static bool is_nobodys(const unsigned char *head, size_t n)
{
	(void)head;
	(void)n;
	return false;
}

const struct unpacker unpack_deflate = {"deflate", is_nobodys, open_deflate, step, close_gzip};
const struct unpacker unpack_gzip = {"gzip", is_mine, open_gzip, step, close_gzip};

/* -- raw deflate data, at any offset ------------------------------------------------------------------------------------- */

#define BLOCK ((size_t)256 << 10)
#define INPUT ((size_t)64 << 10)
#define SPAN ((uint64_t)4 << 20)
#define WINDOW 32768u
#define POINTS_MAX 65536u
#define WORK_MIN ((uint64_t)256 << 20) /* of a small stream, however often */

/* Where inflating can begin: between two blocks of deflate. */
struct point {
	uint64_t in, out;
	int bits; /* of the byte before `in` that belong to the next block */
	unsigned char *window;
	unsigned window_n;
};

struct inflate_stream {
	const struct parse_source *source;
	uint64_t off, packed, size;
	z_stream z;
	bool begun, ended;
	uint64_t in_at, out_at; /* of the stream: read so far, and the next byte that comes out */
	uint64_t work;
	struct point *points;
	size_t point_count, point_cap;
	uint32_t crc;
	uint64_t crc_at;
	uint64_t block_at;
	size_t block_n;
	unsigned char input[INPUT];
	unsigned char block[BLOCK];
};

struct inflate_stream *parse_inflate_open(const struct parse_source *source, uint64_t off, uint64_t packed, uint64_t size)
{
	struct inflate_stream *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->source = source;
	s->off = off;
	s->packed = packed;
	s->size = size;
	return s;
}

void parse_inflate_close(struct inflate_stream *s)
{
	if (!s)
		return;
	if (s->begun)
		inflateEnd(&s->z);
	for (size_t i = 0; i < s->point_count; i++)
		free(s->points[i].window);
	free(s->points);
	free(s);
}

/* Begins at a point, or at the start (NULL). */
static int begin(struct inflate_stream *s, const struct point *p)
{
	if (s->begun)
		inflateEnd(&s->z);
	s->z = (z_stream){0};
	s->begun = inflateInit2(&s->z, -MAX_WBITS) == Z_OK;
	if (!s->begun)
		return -ENOMEM;
	s->in_at = p ? p->in : 0;
	s->out_at = p ? p->out : 0;
	s->block_n = 0;
	s->ended = false;
	if (!p)
		return 0;
	if (p->bits) {
		unsigned char byte;
		int rc = parse_source_read(s->source, s->off + p->in - 1, &byte, 1);
		if (rc < 0)
			return rc;
		inflatePrime(&s->z, p->bits, byte >> (8 - p->bits));
	}
	return inflateSetDictionary(&s->z, p->window, p->window_n) == Z_OK ? 0 : -EBADMSG;
}

static int fill_input(struct inflate_stream *s)
{
	uint64_t left = s->packed - s->in_at;
	size_t n = left < INPUT ? (size_t)left : INPUT;
	if (!n)
		return -EBADMSG;
	int rc = parse_source_read(s->source, s->off + s->in_at, s->input, n);
	s->z.next_in = s->input;
	s->z.avail_in = rc < 0 ? 0 : (uInt)n;
	s->in_at += rc < 0 ? 0 : n;
	return rc;
}

/* Keeps a point when the last one is far behind. */
static void keep_point(struct inflate_stream *s)
{
	const struct point *last = s->point_count ? &s->points[s->point_count - 1] : NULL;
	if (s->out_at < (last ? last->out : 0) + SPAN || s->point_count == POINTS_MAX)
		return;
	if (s->point_count == s->point_cap) {
		size_t cap = s->point_cap ? s->point_cap * 2 : 64;
		struct point *more = reallocarray(s->points, cap, sizeof *more);
		if (!more)
			return;
		s->points = more;
		s->point_cap = cap;
	}
	struct point p = {
		.in = s->in_at - s->z.avail_in, .out = s->out_at, .bits = s->z.data_type & 7, .window = malloc(WINDOW), .window_n = WINDOW};
	uInt n = 0;
	if (!p.window || inflateGetDictionary(&s->z, p.window, &n) != Z_OK) {
		free(p.window);
		return;
	}
	p.window_n = n;
	s->points[s->point_count++] = p;
}

/* All bytes that were said have come: does the stream end, too? */
static bool ends_here(struct inflate_stream *s)
{
	unsigned char more;
	for (;;) {
		s->z.next_out = &more;
		s->z.avail_out = 1;
		int r = inflate(&s->z, Z_NO_FLUSH);
		if (r == Z_STREAM_END || !s->z.avail_out || (r != Z_OK && r != Z_BUF_ERROR))
			return s->ended = r == Z_STREAM_END && s->z.avail_out;
		if (!s->z.avail_in && fill_input(s) < 0)
			return false;
	}
}

/* The next bytes into the block: full, or the end. */
static int next_block(struct inflate_stream *s)
{
	uint64_t left = s->size - s->out_at, allowed;
	size_t want = left < BLOCK ? (size_t)left : BLOCK;
	if (!checked_mul(s->size, 24, &allowed) || !checked_add(allowed, WORK_MIN, &allowed))
		allowed = UINT64_MAX;
	if ((s->work += want) > allowed)
		return -EFBIG;
	s->block_at = s->out_at;
	s->block_n = 0;
	s->z.next_out = s->block;
	s->z.avail_out = (uInt)want;
	while (s->z.avail_out) {
		int rc = s->z.avail_in ? 0 : fill_input(s);
		if (rc < 0)
			return rc;
		uInt before = s->z.avail_out;
		int r = inflate(&s->z, Z_BLOCK);
		s->out_at += before - s->z.avail_out;
		if (r == Z_STREAM_END ? s->z.avail_out > 0 : r != Z_OK && r != Z_BUF_ERROR)
			return -EBADMSG;
		s->ended = r == Z_STREAM_END;
		if (s->ended)
			break;
		if ((s->z.data_type & 128) && !(s->z.data_type & 64))
			keep_point(s);
	}
	if (s->out_at == s->size && !s->ended && !ends_here(s))
		return -EBADMSG;
	s->block_n = want;
	if (s->crc_at == s->block_at) {
		s->crc = parse_crc32(s->crc, s->block, want);
		s->crc_at += want;
	}
	return 0;
}

static const struct point *point_before(const struct inflate_stream *s, uint64_t off)
{
	const struct point *best = NULL;
	for (size_t low = 0, high = s->point_count; low < high;) {
		size_t middle = low + (high - low) / 2;
		if (s->points[middle].out <= off) {
			best = &s->points[middle];
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return best;
}

int parse_inflate_pread(void *stream, uint64_t off, void *p, size_t n)
{
	struct inflate_stream *s = stream;
	unsigned char *to = p;
	if (!checked_range(off, n, s->size))
		return -ENODATA;
	while (n) {
		if (off >= s->block_at && off - s->block_at < s->block_n) {
			size_t have = s->block_n - (size_t)(off - s->block_at), take = have < n ? have : n;
			memcpy(to, s->block + (off - s->block_at), take);
			to += take;
			off += take;
			n -= take;
			continue;
		}
		const struct point *point = point_before(s, off);
		int rc = 0;
		if (!s->begun || off < s->out_at || (point && point->out > s->out_at))
			rc = begin(s, point);
		if (rc == 0)
			rc = next_block(s);
		if (rc < 0) {
			s->block_n = 0;
			if (s->begun)
				inflateEnd(&s->z);
			s->begun = false;
			return rc;
		}
	}
	return 0;
}

bool parse_inflate_crc(const struct inflate_stream *s, uint32_t *ret)
{
	if (s->crc_at != s->size)
		return false;
	*ret = s->crc;
	return true;
}

uint32_t parse_crc32(uint32_t crc, const void *p, size_t n)
{
	while (n) {
		uInt take = n < 1u << 30 ? (uInt)n : 1u << 30;
		crc = (uint32_t)crc32(crc, p, take);
		p = (const unsigned char *)p + take;
		n -= take;
	}
	return crc;
}
