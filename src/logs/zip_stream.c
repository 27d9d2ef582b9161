#include "logs/zip_stream.h"

#include "parse/unpack.h"

#define HEADER 30
#define GROWTH_FREE ((uint64_t)2 << 30) /* up to here any ratio is fine */
#define GROWTH_MAX 500                  /* beyond: output bytes for each input byte; deflate itself reaches 1032 */

enum { ENCRYPTED = 1, SIZES_FOLLOW = 8 };

static unsigned u16(const char *p)
{
	return (unsigned char)p[0] | (unsigned)(unsigned char)p[1] << 8;
}

static uint32_t u32(const char *p)
{
	return u16(p) | (uint32_t)u16(p + 2) << 16;
}

static uint64_t u64(const char *p)
{
	return u32(p) | (uint64_t)u32(p + 4) << 32;
}

bool zip_stream_is_archive(const char *head, size_t n)
{
	return n >= HEADER && memcmp(head, "PK\3\4", 4) == 0;
}

static void problem(struct zip_stream *z, const char *why)
{
	if (!z->problem)
		z->problem = logs_input_problem(z->in) ? logs_input_problem(z->in) : why;
}

/* At least n bytes at raw + at, n at most a few hundred. False: there are not so many. */
static bool need(struct zip_stream *z, size_t n)
{
	while (z->have - z->at < n) {
		memmove(z->raw, z->raw + z->at, z->have - z->at);
		z->have -= z->at;
		z->at = 0;
		size_t got = logs_input_read_few(z->in, z->raw + z->have, sizeof z->raw - z->have);
		if (!got)
			return false;
		z->have += got;
	}
	return true;
}

static bool skip(struct zip_stream *z, uint64_t n)
{
	while (n) {
		if (!need(z, 1))
			return false;
		size_t k = z->have - z->at < n ? z->have - z->at : (size_t)n;
		z->at += k;
		n -= k;
	}
	return true;
}

/* Behind a file whose sizes were not known before: its CRC and its sizes, of 4 or 8 bytes, with a signature or without. */
static bool skip_descriptor(struct zip_stream *z)
{
	static const size_t lengths[] = {16, 24, 12, 20};
	need(z, 28);
	for (size_t i = 0; i < 4; i++)
		if (z->have - z->at >= lengths[i] + 4 && memcmp(z->raw + z->at + lengths[i], "PK", 2) == 0) {
			z->at += lengths[i];
			return true;
		}
	problem(z, "the archive ends too early");
	return false;
}

/* To the end of the file at hand. */
static bool finish_file(struct zip_stream *z)
{
	char scrap[8192];
	while (!z->ended)
		if (zip_stream_read(z, scrap, sizeof scrap) <= 0 && !z->ended)
			return false;
	if (z->sized && !skip(z, z->left)) {
		problem(z, "the archive ends too early");
		return false;
	}
	bool described = z->deflated && !z->sized;
	z->deflated = z->sized = false;
	z->left = 0;
	return !described || skip_descriptor(z);
}

/* Sizes of more than 32 bits stand in an extra field. */
static void take_extra(struct zip_stream *z, size_t n)
{
	const char *p = z->raw + z->at, *end = p + n;
	while (end - p >= 4 && end - p - 4 >= (ptrdiff_t)u16(p + 2)) {
		if (u16(p) == 1 && u16(p + 2) >= 16 && z->left == UINT32_MAX)
			z->left = u64(p + 12);
		p += 4 + u16(p + 2);
	}
}

static bool take_name(struct zip_stream *z, size_t n)
{
	size_t keep = n < sizeof z->name - 1 ? n : sizeof z->name - 1;
	if (!need(z, keep))
		return false;
	memcpy(z->name, z->raw + z->at, keep);
	for (size_t i = 0; i < keep; i++)
		if (!z->name[i])
			z->name[i] = '?';
	z->name[keep] = 0;
	return skip(z, n);
}

/* The header of a file was read: can its bytes be had? If not, they are stepped over where that is possible. */
static bool begin_file(struct zip_stream *z, unsigned flags, unsigned method)
{
	bool known = !(flags & SIZES_FOLLOW), deflated = method == 8, readable = (deflated || method == 0) && !(flags & ENCRYPTED);
	z->sized = known;
	z->deflated = deflated && readable;
	z->ended = !readable;
	if (!readable) {
		problem(z, flags & ENCRYPTED ? "a file in it is encrypted" : "a file in it is packed in a way that Davy does not know");
		return known;
	}
	if (!deflated && !known) {
		problem(z, "a file in it is packed in a way that Davy does not know"); /* where it ends stands behind it only */
		return false;
	}
	if (!deflated)
		return true;
	if (z->inflate)
		unpack_deflate.close(z->inflate);
	z->inflate = unpack_deflate.open();
	if (!z->inflate)
		problem(z, "no memory to unpack it");
	return z->inflate;
}

bool zip_stream_next(struct zip_stream *z)
{
	if ((z->deflated || z->sized) && !finish_file(z))
		return false;
	for (;;) {
		if (!need(z, 4)) {
			problem(z, "the archive ends too early");
			return false;
		}
		const char *p = z->raw + z->at;
		if (memcmp(p, "PK\1\2", 4) == 0 || memcmp(p, "PK\5\6", 4) == 0 || memcmp(p, "PK\6\6", 4) == 0)
			return false; /* the directory: all files were there */
		if (memcmp(p, "PK\3\4", 4) != 0 || !need(z, HEADER)) {
			problem(z, "the archive is broken here");
			return false;
		}
		p = z->raw + z->at;
		unsigned flags = u16(p + 6), method = u16(p + 8), name = u16(p + 26), extra = u16(p + 28);
		z->left = u32(p + 18);
		z->at += HEADER;
		if (!take_name(z, name) || !need(z, extra)) {
			problem(z, "the archive ends too early");
			return false;
		}
		take_extra(z, extra);
		z->at += extra;
		size_t length = strlen(z->name);
		bool folder = length && z->name[length - 1] == '/';
		if (!begin_file(z, flags, method))
			return false;
		if (!folder && !z->ended)
			return true;
		if (!finish_file(z))
			return false;
	}
}

static size_t read_stored(struct zip_stream *z, char *p, size_t n)
{
	size_t k = z->have - z->at < n ? z->have - z->at : n;
	k = z->left < k ? (size_t)z->left : k;
	memcpy(p, z->raw + z->at, k);
	z->at += k;
	z->left -= k;
	z->packed += k;
	return k;
}

static size_t read_deflated(struct zip_stream *z, char *p, size_t n)
{
	size_t room = z->have - z->at;
	if (z->sized && z->left < room)
		room = (size_t)z->left;
	struct unpack_io io = {.in = z->raw + z->at, .in_n = room, .out = p, .out_n = n};
	int r = unpack_deflate.step(z->inflate, &io);
	size_t used = room - io.in_n;
	z->at += used;
	z->packed += used;
	if (z->sized)
		z->left -= used;
	z->ended = r != 0;
	if (r < 0 || (!r && z->sized && !z->left && io.out_n == n)) {
		problem(z, "the archive is broken here");
		z->ended = true;
	}
	return n - io.out_n;
}

ssize_t zip_stream_read(void *arg, void *p, size_t n)
{
	struct zip_stream *z = arg;
	size_t got = 0;
	while (!z->ended && !got && n) {
		if (!z->deflated && !z->left) {
			z->ended = true;
			break;
		}
		/* What inflate holds back may come without more input. */
		if (z->at == z->have && !need(z, 1)) {
			problem(z, "the archive ends too early");
			z->ended = true;
			break;
		}
		got = z->deflated ? read_deflated(z, p, n) : read_stored(z, p, n);
	}
	z->unpacked += got;
	if (z->unpacked > GROWTH_FREE && z->unpacked / GROWTH_MAX > z->packed) {
		problem(z, "it unpacks to an absurd size; reading stopped");
		z->ended = true;
		z->at = z->have; /* nothing of it is looked at any more */
	}
	return (ssize_t)got;
}

void zip_stream_close(struct zip_stream *z)
{
	if (z->inflate)
		unpack_deflate.close(z->inflate);
	z->inflate = NULL;
}
