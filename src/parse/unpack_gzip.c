#include <errno.h>
#include <zlib.h>

#include "parse/unpack.h"

static bool is_mine(const unsigned char *head, size_t n)
{
	return n >= 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8;
}

static void *open_gzip(void)
{
	z_stream *z = calloc(1, sizeof(*z));
	if (z && inflateInit2(z, 16 + MAX_WBITS) != Z_OK) {
		free(z);
		return NULL;
	}
	return z;
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

const struct unpacker unpack_gzip = {"gzip", is_mine, open_gzip, step, close_gzip};
