#include <errno.h>
#include <zstd.h>

#include "parse/unpack.h"

#define WINDOW_LOG_MAX 25 /* 32 MB */
#define PACK_WINDOW_LOG 18

static bool is_mine(const unsigned char *head, size_t n)
{
	bool frame = n >= 4 && head[0] == 0x28 && head[1] == 0xb5 && head[2] == 0x2f && head[3] == 0xfd;
	bool skippable = n >= 4 && (head[0] & 0xf0) == 0x50 && head[1] == 0x2a && head[2] == 0x4d && head[3] == 0x18;
	return frame || skippable;
}

static void *open_zstd(void)
{
	ZSTD_DCtx *z = ZSTD_createDCtx();
	if (z)
		ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	return z;
}

static int step(void *state, struct unpack_io *io)
{
	ZSTD_inBuffer in = {io->in, io->in_n, 0};
	ZSTD_outBuffer out = {io->out, io->out_n, 0};
	size_t r = ZSTD_decompressStream(state, &out, &in);
	io->in += in.pos;
	io->in_n -= in.pos;
	io->out += out.pos;
	io->out_n -= out.pos;
	if (ZSTD_isError(r)) {
		const char *why = ZSTD_getErrorName(r);
		return strstr(why, "memory") ? -ENOMEM : -EBADMSG;
	}
	return r == 0;
}

static void close_zstd(void *state)
{
	ZSTD_freeDCtx(state);
}

int unpack_zstd_compress(const void *p, size_t n, void **ret, size_t *ret_n)
{
	size_t bound = ZSTD_compressBound(n);
	void *out = malloc(bound);
	size_t made = out ? ZSTD_compress(out, bound, p, n, 6) : 0;
	if (!out || ZSTD_isError(made)) {
		free(out);
		return -ENOMEM;
	}
	*ret = out;
	*ret_n = made;
	return 0;
}

void *pack_zstd_open(void)
{
	ZSTD_CCtx *z = ZSTD_createCCtx();
	if (z) {
		ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, 1);
		ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, PACK_WINDOW_LOG);
	}
	return z;
}

int pack_zstd(void *state, const void *p, size_t n, enum pack_how how, struct buf *out)
{
	char chunk[16384];
	ZSTD_inBuffer in = {p, n, 0};
	ZSTD_EndDirective directive = how == PACK_END ? ZSTD_e_end : how == PACK_FLUSH ? ZSTD_e_flush : ZSTD_e_continue;
	for (;;) {
		ZSTD_outBuffer made = {chunk, sizeof chunk, 0};
		size_t left = ZSTD_compressStream2(state, &made, &in, directive);
		if (ZSTD_isError(left))
			return -ENOMEM;
		buf_add(out, chunk, made.pos);
		if (out->truncated)
			return -EFBIG;
		if (how == PACK_MORE ? in.pos == in.size && made.pos < made.size : left == 0)
			return 0;
	}
}

void pack_zstd_close(void *state)
{
	ZSTD_freeCCtx(state);
}

const struct unpacker unpack_zstd = {"zstd", is_mine, open_zstd, step, close_zstd};
