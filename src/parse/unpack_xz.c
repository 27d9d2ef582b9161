#include <errno.h>
#include <lzma.h>

#include "parse/unpack.h"

#define MEMORY_MAX ((uint64_t)80 << 20)

static bool is_mine(const unsigned char *head, size_t n)
{
	return n >= 6 &&
		memcmp(head,
			"\xfd"
			"7zXZ\0",
			6) == 0;
}

static void *open_xz(void)
{
	lzma_stream *z = calloc(1, sizeof(*z));
	if (z && lzma_stream_decoder(z, MEMORY_MAX, LZMA_CONCATENATED) != LZMA_OK) {
		free(z);
		return NULL;
	}
	return z;
}

static int step(void *state, struct unpack_io *io)
{
	lzma_stream *z = state;
	z->next_in = (const uint8_t *)io->in;
	z->avail_in = io->in_n;
	z->next_out = (uint8_t *)io->out;
	z->avail_out = io->out_n;
	lzma_ret r = lzma_code(z, io->in_ends ? LZMA_FINISH : LZMA_RUN);
	io->in = (const char *)z->next_in;
	io->in_n = z->avail_in;
	io->out = (char *)z->next_out;
	io->out_n = z->avail_out;
	if (r == LZMA_STREAM_END)
		return 1;
	if (r == LZMA_MEM_ERROR || r == LZMA_MEMLIMIT_ERROR)
		return -ENOMEM;
	return r == LZMA_OK || r == LZMA_BUF_ERROR ? 0 : -EBADMSG;
}

static void close_xz(void *state)
{
	lzma_end(state);
	free(state);
}

const struct unpacker unpack_xz = {"xz", is_mine, open_xz, step, close_xz};
