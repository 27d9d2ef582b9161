#include "logs/input.h"

#include <errno.h>

#include "parse/unpack.h"

#define RAW_BYTES ((size_t)128 << 10)
#define GROWTH_FREE ((uint64_t)2 << 30) /* up to here any ratio is fine */
#define GROWTH_MAX 1500                 /* beyond: output bytes for each input byte */

enum encoding { PLAIN, UTF16_LE, UTF16_BE };

struct logs_input {
	logs_read_fn *read;
	void *arg;
	char *raw; /* what the source gave and nobody took yet: raw[at..have) */
	size_t at, have;
	bool ended, stream_done;
	const struct unpacker *unpacker;
	void *state;
	uint64_t in_total, out_total;
	enum encoding encoding;
	char odd[4]; /* bytes of a character that is not complete */
	size_t odd_n;
	const char *problem;
	int error;
	bool started;
	char *ahead; /* what was read ahead: ahead[ahead_at..ahead_have) */
	size_t ahead_at, ahead_have;
};

#define AHEAD_BYTES ((size_t)64 << 10)
#define PEEK_BYTES 512

static const struct unpacker *const unpackers[] = {&unpack_gzip, &unpack_zstd, &unpack_xz};

struct logs_input *logs_input_new(logs_read_fn *read, void *arg)
{
	struct logs_input *in = calloc(1, sizeof(*in));
	if (!in || !(in->raw = malloc(RAW_BYTES)))
		abort();
	in->read = read;
	in->arg = arg;
	return in;
}

void logs_input_free(struct logs_input *in)
{
	if (!in)
		return;
	if (in->state)
		in->unpacker->close(in->state);
	free(in->raw);
	free(in->ahead);
	free(in);
}

static void problem(struct logs_input *in, const char *why)
{
	if (!in->problem)
		in->problem = why;
}

/* More raw bytes, if there is room and the source has any. */
static void fill(struct logs_input *in)
{
	if (in->ended)
		return;
	if (in->at) {
		memmove(in->raw, in->raw + in->at, in->have - in->at);
		in->have -= in->at;
		in->at = 0;
	}
	if (in->have == RAW_BYTES)
		return;
	ssize_t r = in->read(in->arg, in->raw + in->have, RAW_BYTES - in->have);
	if (r < 0) {
		in->error = (int)r;
		problem(in, "reading failed");
	}
	if (r <= 0) {
		in->ended = true;
		return;
	}
	in->have += (size_t)r;
	in->in_total += (uint64_t)r;
}

/* UTF-16 without a byte order mark: every second byte of the head is NUL. */
static enum encoding guess_encoding(const unsigned char *p, size_t n)
{
	size_t zero[2] = {0, 0};
	for (size_t i = 0; i < n; i++)
		zero[i & 1] += p[i] == 0;
	if (n < 16 || n % 2)
		n &= ~(size_t)1;
	if (n >= 16 && zero[1] > n / 4 && zero[0] < n / 16)
		return UTF16_LE;
	if (n >= 16 && zero[0] > n / 4 && zero[1] < n / 16)
		return UTF16_BE;
	return PLAIN;
}

static void start(struct logs_input *in)
{
	in->started = true;
	while (in->have < 6 && !in->ended) /* a pipe may give a byte at a time */
		fill(in);
	const unsigned char *p = (const unsigned char *)in->raw;
	for (size_t i = 0; i < 3 && !in->unpacker; i++)
		if (unpackers[i]->is_mine(p, in->have))
			in->unpacker = unpackers[i];
	if (in->unpacker && !(in->state = in->unpacker->open())) {
		in->unpacker = NULL;
		in->ended = in->stream_done = true;
		problem(in, "no memory to unpack it");
	}
}

/* The first plain bytes decide about UTF-16. Returns how many bytes of a mark to skip. */
static size_t start_plain(struct logs_input *in, const char *text, size_t n)
{
	const unsigned char *p = (const unsigned char *)text;
	if (n >= 3 && p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf)
		return 3;
	if (n >= 2 && p[0] == 0xff && p[1] == 0xfe) {
		in->encoding = UTF16_LE;
		return 2;
	}
	if (n >= 2 && p[0] == 0xfe && p[1] == 0xff) {
		in->encoding = UTF16_BE;
		return 2;
	}
	if (n < 4 || memcmp(p, "PK\3\4", 4) != 0) /* a zip archive begins with many zeros */
		in->encoding = guess_encoding(p, n < 512 ? n : 512);
	return 0;
}

static size_t read_unpacked(struct logs_input *in, char *p, size_t n)
{
	struct unpack_io io = {.out = p, .out_n = n};
	while (io.out_n == n && !in->stream_done) {
		if (in->at == in->have)
			fill(in);
		io.in = in->raw + in->at;
		io.in_n = in->have - in->at;
		io.in_ends = in->ended;
		size_t before = io.in_n;
		int r = in->unpacker->step(in->state, &io);
		in->at = in->have - io.in_n;
		bool idle = io.in_n == before && io.out_n == n;
		if (r < 0) {
			problem(in, r == -ENOMEM ? "unpacking needs more memory than Davy takes" : "the archive is broken here");
			in->stream_done = true;
		} else if (r == 1 && io.in_n == 0) {
			fill(in);
			in->stream_done = in->have == in->at;
		} else if (idle && in->ended) {
			problem(in, "the archive ends too early");
			in->stream_done = true;
		} else if (idle && before) {
			fill(in);
			if (in->have - in->at == before && in->have == RAW_BYTES) {
				problem(in, "the archive is broken here");
				in->stream_done = true;
			}
		}
	}
	size_t got = n - io.out_n;
	in->out_total += got;
	if (in->out_total > GROWTH_FREE && in->out_total / GROWTH_MAX > in->in_total) {
		problem(in, "it unpacks to an absurd size; reading stopped");
		in->stream_done = true;
	}
	return got;
}

static size_t read_direct(struct logs_input *in, char *p, size_t n)
{
	if (in->at < in->have) {
		size_t k = in->have - in->at < n ? in->have - in->at : n;
		memcpy(p, in->raw + in->at, k);
		in->at += k;
		return k;
	}
	if (in->ended)
		return 0;
	ssize_t r = in->read(in->arg, p, n);
	if (r < 0) {
		in->error = (int)r;
		problem(in, "reading failed");
	}
	if (r <= 0)
		in->ended = true;
	return r > 0 ? (size_t)r : 0;
}

static size_t read_bytes(struct logs_input *in, char *p, size_t n)
{
	return in->unpacker ? read_unpacked(in, p, n) : read_direct(in, p, n);
}

static uint32_t unit(const struct logs_input *in, const unsigned char *p)
{
	return in->encoding == UTF16_LE ? p[0] | (uint32_t)p[1] << 8 : p[1] | (uint32_t)p[0] << 8;
}

/* From UTF-16 in place at the upper half of p: n bytes hold at least n / 2 characters of one byte and at most three for each two. */
static size_t decode_utf16(struct logs_input *in, const unsigned char *s, size_t n, char *out)
{
	size_t used = 0, len = 0;
	while (used + 2 <= n) {
		uint32_t c = unit(in, s + used);
		size_t take = 2;
		if (c >= 0xd800 && c < 0xdc00) {
			if (used + 4 > n)
				break;
			uint32_t low = unit(in, s + used + 2);
			if (low >= 0xdc00 && low < 0xe000) {
				c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
				take = 4;
			} else {
				c = 0xfffd;
			}
		}
		if (c)
			len += str_put_utf8(out + len, c);
		used += take;
	}
	in->odd_n = n - used < 4 ? n - used : 0;
	memcpy(in->odd, s + used, in->odd_n);
	return len;
}

static size_t read_utf16(struct logs_input *in, char *p, size_t n)
{
	unsigned char units[4096];
	size_t want = n / 2 < sizeof(units) ? n / 2 : sizeof(units), len = 0;
	while (len == 0) {
		size_t odd = in->odd_n;
		memcpy(units, in->odd, odd);
		size_t got = read_bytes(in, (char *)units + odd, want - odd);
		if (got == 0)
			return 0;
		len = decode_utf16(in, units, odd + got, p);
	}
	return len;
}

static size_t read_plain(struct logs_input *in, char *p, size_t n)
{
	if (n < 64)
		return 0;
	if (in->started)
		return in->encoding == PLAIN ? read_bytes(in, p, n) : read_utf16(in, p, n);

	start(in);
	size_t head = n / 2 < 4096 ? n / 2 : 4096, got = 0, more; /* two bytes of UTF-16 become three at most */
	while (got < head && got < 512 && (more = read_bytes(in, p + got, head - got)) > 0)
		got += more;
	size_t mark = start_plain(in, p, got);
	if (in->encoding == PLAIN) {
		memmove(p, p + mark, got - mark);
		return got > mark || got == 0 ? got - mark : read_plain(in, p, n);
	}
	unsigned char units[4096];
	memcpy(units, p + mark, got - mark);
	size_t len = decode_utf16(in, units, got - mark, p);
	return len ? len : read_utf16(in, p, n);
}

static size_t take_ahead(struct logs_input *in, char *p, size_t n)
{
	size_t k = in->ahead_have - in->ahead_at < n ? in->ahead_have - in->ahead_at : n;
	memcpy(p, in->ahead + in->ahead_at, k);
	in->ahead_at += k;
	return k;
}

/* More bytes ahead, behind those that are there. */
static size_t look_ahead(struct logs_input *in)
{
	if (!in->ahead && !(in->ahead = malloc(AHEAD_BYTES)))
		abort();
	size_t got = read_plain(in, in->ahead + in->ahead_have, AHEAD_BYTES - in->ahead_have);
	in->ahead_have += got;
	return got;
}

size_t logs_input_read(struct logs_input *in, char *p, size_t n)
{
	if (in->ahead_at < in->ahead_have)
		return take_ahead(in, p, n);
	return read_plain(in, p, n);
}

size_t logs_input_read_few(struct logs_input *in, char *p, size_t n)
{
	if (in->ahead_at < in->ahead_have)
		return take_ahead(in, p, n);
	if (n >= AHEAD_BYTES)
		return read_plain(in, p, n);
	in->ahead_at = in->ahead_have = 0;
	return look_ahead(in) ? take_ahead(in, p, n) : 0;
}

size_t logs_input_peek(struct logs_input *in, const char **ret)
{
	while (in->ahead_have < PEEK_BYTES && look_ahead(in))
		;
	*ret = in->ahead ? in->ahead : "";
	return in->ahead_have < PEEK_BYTES ? in->ahead_have : PEEK_BYTES;
}

const char *logs_input_problem(const struct logs_input *in)
{
	return in->problem;
}

int logs_input_error(const struct logs_input *in)
{
	return in->error;
}

const char *logs_input_packing(const struct logs_input *in)
{
	return in->unpacker ? in->unpacker->name : NULL;
}
