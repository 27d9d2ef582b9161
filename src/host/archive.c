#include "host/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "host/door.h"
#include "parse/unpack.h"

#define BLOCK 512

static int why(struct arena *a, const char **ret_why, int error, const char *text)
{
	if (ret_why)
		*ret_why = arena_strdup(a, text);
	return error;
}

static int octal_field(const char *p, size_t n, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i = 0;
	while (i < n && p[i] == ' ')
		i++;
	for (; i < n && p[i] >= '0' && p[i] <= '7'; i++) {
		if (v >> 60)
			return -ERANGE;
		v = v << 3 | (uint64_t)(p[i] - '0');
	}
	if (i < n && p[i] && p[i] != ' ')
		return -EINVAL;
	*ret = v;
	return 0;
}

static int untar(struct arena *a, struct str tar, archive_member_fn *member, void *arg, const char **ret_why)
{
	size_t at = 0;
	const char *long_name = NULL;
	while (checked_range(at, BLOCK, tar.len)) {
		const char *h = tar.ptr + at;
		bool zero = true;
		for (int i = 0; i < BLOCK && zero; i++)
			zero = h[i] == 0;
		if (zero)
			return 0;
		uint64_t size;
		if (octal_field(h + 124, 12, &size) < 0 || memcmp(h + 257, "ustar", 5) != 0)
			return why(a, ret_why, -EBADMSG, "the archive is damaged");
		at += BLOCK;
		if (!checked_range(at, size, tar.len))
			return why(a, ret_why, -EBADMSG, "the archive is cut short");
		struct str data = str_n(tar.ptr + at, size);
		char type = h[156];
		if (type == 'L') {
			long_name = str_dup(a, str_n(data.ptr, strnlen(data.ptr, data.len)));
		} else {
			size_t n = strnlen(h, 100), p = strnlen(h + 345, 155);
			const char *name = long_name ? long_name
				: p                  ? arena_printf(a, "%.*s/%.*s", (int)p, h + 345, (int)n, h)
						     : arena_strndup(a, h, n);
			long_name = NULL;
			int rc = type == '0' || type == '\0' ? member(arg, name, data) : 0;
			if (rc < 0)
				return rc;
		}
		at += (size_t)(size + BLOCK - 1) / BLOCK * BLOCK;
	}
	return 0;
}

static int unpack(struct arena *a, const struct unpacker *u, struct str in, struct str *ret, const char **ret_why)
{
	static char chunk[1 << 17];
	struct buf out = BUF_MAX(ARCHIVE_MAX_BYTES);
	void *state = u->open();
	int rc = state ? 0 : -ENOMEM;
	struct unpack_io io = {.in = in.ptr, .in_n = in.len, .in_ends = true};
	while (rc == 0) {
		size_t before = io.in_n;
		io.out = chunk;
		io.out_n = sizeof chunk;
		rc = u->step(state, &io);
		size_t made = sizeof chunk - io.out_n;
		buf_add(&out, chunk, made);
		if (out.truncated)
			rc = -EFBIG;
		else if (rc == 0 && !made && io.in_n == before)
			rc = -EBADMSG; /* more was announced than is there */
	}
	if (state)
		u->close(state);
	if (rc > 0)
		*ret = str_n(arena_strndup(a, buf_view(&out).ptr, out.len), out.len);
	buf_free(&out);
	return rc > 0
		? 0
		: why(a, ret_why, rc, rc == -EFBIG ? "the archive unpacks to more than 512 MiB" : "the archive is damaged or cut short");
}

static bool is_zstd(struct str bytes)
{
	return bytes.len >= 4 && memcmp(bytes.ptr, "\x28\xb5\x2f\xfd", 4) == 0;
}

static bool is_tar(struct str bytes)
{
	return bytes.len >= BLOCK && memcmp(bytes.ptr + 257, "ustar", 5) == 0;
}

bool archive_is_one(struct str head)
{
	return is_zstd(head) || is_tar(head);
}

int archive_read_bytes(struct arena *a, struct str bytes, archive_member_fn *member, void *arg, const char **ret_why)
{
	const unsigned char *head = (const unsigned char *)bytes.ptr;
	const struct unpacker *u = is_zstd(bytes) ? &unpack_zstd : unpack_gzip.is_mine(head, bytes.len) ? &unpack_gzip : NULL;
	if (u) {
		struct str tar;
		int rc = unpack(a, u, bytes, &tar, ret_why);
		return rc < 0 ? rc : untar(a, tar, member, arg, ret_why);
	}
	if (is_tar(bytes))
		return untar(a, bytes, member, arg, ret_why);
	return why(a, ret_why, -EBADMSG, "neither a snapshot folder nor a .tar.zst of one");
}

int archive_read(struct arena *a, const char *path, archive_member_fn *member, void *arg, const char **ret_why)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return why(a, ret_why, -errno, strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > ARCHIVE_MAX_BYTES) {
		close(fd);
		return why(a, ret_why, -EINVAL, "not a regular file of less than 512 MiB");
	}
	char *data = arena_alloc(a, (size_t)st.st_size + 1);
	size_t len = 0;
	for (ssize_t n; len < (size_t)st.st_size && (n = read(fd, data + len, (size_t)st.st_size - len)) > 0;)
		len += (size_t)n;
	close(fd);
	return archive_read_bytes(a, str_n(data, len), member, arg, ret_why);
}

/* -- member by member ------------------------------------------------------------------------------------------------------ */

struct stream {
	archive_read_fn *read;
	void *arg, *zstd; /* zstd NULL: plain */
	char *in;
	size_t at, end, max; /* of in */
	bool ended, whole;   /* whole: the last compressed frame came to its end */
	uint64_t total;
	int error;
};

static bool fill(struct stream *s)
{
	if (s->at < s->end || s->ended || s->error)
		return s->at < s->end;
	ssize_t n = s->read(s->arg, s->in, s->max);
	s->at = 0;
	s->end = n > 0 ? (size_t)n : 0;
	s->ended = n == 0;
	s->error = n < 0 ? (int)n : 0;
	return n > 0;
}

/* Up to n bytes of the tar itself. */
static size_t take(struct stream *s, char *p, size_t n)
{
	size_t got = 0;
	while (got < n && !s->error) {
		bool more = fill(s);
		if (!s->zstd) {
			size_t part = s->end - s->at < n - got ? s->end - s->at : n - got;
			if (!more)
				break;
			memcpy(p + got, s->in + s->at, part);
			s->at += part;
			got += part;
			continue;
		}
		struct unpack_io io = {.in = s->in + s->at, .in_n = s->end - s->at, .out = p + got, .out_n = n - got, .in_ends = s->ended};
		int rc = unpack_zstd.step(s->zstd, &io);
		size_t made = n - got - io.out_n, used = s->end - s->at - io.in_n;
		s->at += used;
		got += made;
		s->whole = rc == 1 || (s->whole && !made && !used);
		if (rc < 0)
			s->error = rc;
		else if (!made && !used && !more && !s->whole && !s->error)
			s->error = -EBADMSG; /* the frame goes on behind the end */
		else if (!made && !used && !more)
			break;
	}
	s->total += got;
	if (s->total > ARCHIVE_EACH_MAX)
		s->error = -EFBIG;
	return got;
}

/* One member's header, and its data into *data. 1: a member; 0: the end; negative errno. */
static int next_member(struct arena *a, struct stream *s, struct buf *data, char h[BLOCK], const char **ret_why)
{
	uint64_t size;
	size_t got = take(s, h, BLOCK);
	if (s->error)
		return why(a, ret_why, s->error, s->error == -EBADMSG ? "the archive is damaged or cut short" : strerror(-s->error));
	if (!got)
		return 0;
	bool zero = got == BLOCK;
	for (int i = 0; i < BLOCK && zero; i++)
		zero = h[i] == 0;
	if (zero)
		return 0;
	if (got < BLOCK)
		return why(a, ret_why, -EBADMSG, "the archive is cut short");
	if (octal_field(h + 124, 12, &size) < 0 || memcmp(h + 257, "ustar", 5) != 0)
		return why(a, ret_why, -EBADMSG, "the archive is damaged");
	if (size > ARCHIVE_MEMBER_MAX)
		return why(a, ret_why, -EFBIG, "a file in the archive is too large");
	uint64_t padded_size = (size + BLOCK - 1) / BLOCK * BLOCK;
	buf_reset(data);
	while (data->len < padded_size) {
		char chunk[1 << 14];
		size_t want = padded_size - data->len < sizeof chunk ? (size_t)(padded_size - data->len) : sizeof chunk;
		got = take(s, chunk, want);
		buf_add(data, chunk, got);
		if (got < want)
			return why(a, ret_why, s->error ? s->error : -EBADMSG, "the archive is cut short");
	}
	if (data->len > size)
		data->len = (size_t)size;
	return 1;
}

static int each_member(struct arena *a, struct stream *s, archive_member_fn *member, void *arg, const char **ret_why)
{
	struct buf data = BUF_MAX(ARCHIVE_MEMBER_MAX + BLOCK);
	char h[BLOCK], name[4096] = "";
	int rc;
	while ((rc = next_member(a, s, &data, h, ret_why)) > 0) {
		struct str view = buf_view(&data);
		if (h[156] == 'L') {
			snprintf(name, sizeof name, "%.*s", (int)strnlen(view.ptr ? view.ptr : "", view.len), view.ptr ? view.ptr : "");
			continue;
		}
		if (!*name && h[345])
			snprintf(name, sizeof name, "%.155s/%.100s", h + 345, h);
		else if (!*name)
			snprintf(name, sizeof name, "%.100s", h);
		rc = h[156] == '0' || h[156] == '\0' ? member(arg, name, view) : 0;
		name[0] = '\0';
		if (rc < 0)
			break;
	}
	buf_free(&data);
	return rc;
}

int archive_each(struct arena *a, archive_read_fn *read_more, void *read_arg, archive_member_fn *member, void *arg, const char **ret_why)
{
	struct stream s = {.read = read_more, .arg = read_arg, .max = (size_t)1 << 20};
	s.in = malloc(s.max);
	if (!s.in)
		return -ENOMEM;
	int rc = fill(&s) ? 0 : s.error ? s.error : -EBADMSG;
	struct str head = str_n(s.in, s.end);
	if (rc == 0 && is_zstd(head) && !(s.zstd = unpack_zstd.open()))
		rc = -ENOMEM;
	else if (rc == 0 && !s.zstd && !is_tar(head))
		rc = why(a, ret_why, -EBADMSG, "this is no archive");
	if (rc == 0)
		rc = each_member(a, &s, member, arg, ret_why);
	if (s.zstd)
		unpack_zstd.close(s.zstd);
	free(s.in);
	return rc;
}

static void put_octal(char *p, int digits, uint64_t v)
{
	for (int i = digits - 1; i >= 0; i--, v >>= 3)
		p[i] = (char)('0' + (v & 7));
}

static void header(struct buf *tar, const char *name, char type, size_t size, int64_t mtime)
{
	char h[BLOCK] = {0};
	size_t n = strlen(name);
	memcpy(h, name, n < 100 ? n : 100);
	memcpy(h + 100, "0000644", 8);
	memcpy(h + 108, "0000000", 8);
	memcpy(h + 116, "0000000", 8);
	put_octal(h + 124, 11, size);
	put_octal(h + 136, 11, mtime < 0 ? 0 : (uint64_t)mtime);
	memset(h + 148, ' ', 8);
	h[156] = type;
	memcpy(h + 257, "ustar", 6);
	memcpy(h + 263, "00", 2);
	unsigned sum = 0;
	for (int i = 0; i < BLOCK; i++)
		sum += (unsigned char)h[i];
	put_octal(h + 148, 6, sum);
	h[154] = '\0';
	buf_add(tar, h, BLOCK);
}

static void padded(struct buf *tar, struct str data)
{
	static const char zero[BLOCK];
	buf_str(tar, data);
	if (data.len % BLOCK)
		buf_add(tar, zero, BLOCK - data.len % BLOCK);
}

void archive_add(struct buf *tar, const char *name, struct str data, int64_t mtime)
{
	if (strlen(name) > 100) {
		header(tar, "././@LongLink", 'L', strlen(name) + 1, mtime);
		padded(tar, str_n(name, strlen(name) + 1));
	}
	header(tar, name, '0', data.len, mtime);
	padded(tar, data);
}

static int write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t w = write(fd, p, n);
		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		p += w;
		n -= (size_t)w;
	}
	return 0;
}

/* A pipe or a character device (/dev/stdout, /dev/null) is written to: it must not make way for a file. A pipe that nobody reads is an
 * error. */
static int write_through(const char *path, const char *p, size_t n)
{
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	int rc = fd < 0 || fcntl(fd, F_SETFL, O_WRONLY) < 0 ? -errno : write_all(fd, p, n);
	if (fd >= 0 && close(fd) < 0 && !rc)
		rc = -errno;
	return rc;
}

static int put_beside(struct arena *a, const char *path, const char *p, size_t n)
{
	const char *temporary = arena_printf(a, "%s.partial-%ld", path, (long)getpid());
	int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int rc = fd < 0 ? -errno : write_all(fd, p, n);
	if (fd >= 0 && close(fd) < 0 && !rc)
		rc = -errno;
	if (!rc && rename(temporary, path) < 0)
		rc = -errno;
	if (rc && fd >= 0)
		unlink(temporary);
	return rc;
}

/* By a temporary file beside it; a link stays and what it names is replaced. 0 or negative errno. */
static int replace_file(struct arena *a, const char *path, const char *p, size_t n)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return put_beside(a, path, p, n);
	if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))
		return write_through(path, p, n);
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	char *real = realpath(path, NULL);
	int rc = real ? put_beside(a, real, p, n) : -errno;
	free(real);
	return rc;
}

int host_write_file(struct host *h, const char *path, struct str data, const char **ret_why)
{
	int rc = replace_file(h->arena, path, data.ptr, data.len);
	return rc ? why(h->arena, ret_why, rc, strerror(-rc)) : 0;
}

int archive_write(struct arena *a, struct buf *tar, const char *path, const char **ret_why)
{
	static const char zero[2 * BLOCK];
	void *out;
	size_t n;
	buf_add(tar, zero, sizeof zero);
	if (tar->truncated)
		return why(a, ret_why, -EFBIG, "the snapshot is larger than 512 MiB");
	if (unpack_zstd_compress(tar->ptr, tar->len, &out, &n) < 0)
		return why(a, ret_why, -ENOMEM, "out of memory");
	int rc = replace_file(a, path, out, n);
	free(out);
	return rc ? why(a, ret_why, rc, strerror(-rc)) : 0;
}
