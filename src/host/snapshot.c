/* Writes what a door has recorded. */
#include "host/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/printable.h"
#include "host/archive.h"
#include "host/door.h"
#include "host/redact_parts.h"

void snapshot_encode(struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		if (c <= ' ' || c == '%' || c == 0x7f)
			buf_fmt(b, "%%%02X", c);
		else
			buf_char(b, (char)c);
	}
}

/* One destination for both forms. */
struct writer {
	struct host *h;
	struct redactor *redactor; /* NULL: nothing is replaced */
	const char *dir;           /* folder, or NULL: tar */
	const char **made;         /* files and folders in the order of making: taken away when writing fails */
	size_t made_count, made_cap;
	struct buf tar;
	int error;
	const char **ret_why;
};

static struct str redacted(struct writer *w, struct str s)
{
	return w->redactor ? redact_text(w->redactor, s) : s;
}

static void write_error(struct writer *w, const char *path)
{
	if (!w->error) {
		w->error = errno ? -errno : -EIO;
		*w->ret_why = arena_printf(w->h->arena, "%s: %s", path, strerror(-w->error));
	}
}

static void note_made(struct writer *w, const char *path)
{
	if (!w->made || w->made_count == w->made_cap)
		w->made = arena_grow(w->h->arena, w->made, w->made_count, &w->made_cap, sizeof *w->made);
	w->made[w->made_count++] = arena_strdup(w->h->arena, path);
}

static void take_away(struct writer *w)
{
	while (w->made_count) {
		const char *path = w->made[--w->made_count];
		if (unlink(path) < 0)
			rmdir(path);
	}
}

static void make_parents(struct writer *w, char *path, size_t from)
{
	for (char *p = path + from; *p; p++) {
		if (*p == '/') {
			*p = '\0';
			if (mkdir(path, 0700) == 0)
				note_made(w, path);
			*p = '/';
		}
	}
}

static void put(struct writer *w, const char *name, struct str data)
{
	if (!w->dir) {
		archive_add(&w->tar, name, data, w->h->now);
		return;
	}
	char *path = arena_printf(w->h->arena, "%s/%s", w->dir, name);
	make_parents(w, path, strlen(w->dir) + 1);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		write_error(w, path);
		return;
	}
	note_made(w, path);
	for (size_t at = 0; at < data.len;) {
		ssize_t n = write(fd, data.ptr + at, data.len - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			write_error(w, path);
			break;
		}
		at += (size_t)n;
	}
	if (close(fd) < 0)
		write_error(w, path);
}

static void word(struct writer *w, struct buf *b, const char *s)
{
	buf_char(b, ' ');
	struct str r = redacted(w, str_of(s));
	if (r.len)
		snapshot_encode(b, r);
	else
		buf_text(b, "%00");
}

static void number(struct buf *b, uint64_t n)
{
	if (n == UINT64_MAX)
		buf_text(b, " unlimited");
	else
		buf_fmt(b, " %llu", (unsigned long long)n);
}

static void index_head(struct writer *w, struct buf *b)
{
	struct host *h = w->h;
	buf_fmt(b, "davy-snapshot 1\n" WRITTEN_BY "%s\n%sworld %s\n", DAVY_VERSION, w->redactor || h->redacted ? REDACTED "\n" : "",
		h->mode == HOST_REPLAY && !h->world_open ? "closed" : "open");
	if (h->now >= 0)
		buf_fmt(b, "time %lld\n", (long long)h->now);
	if (h->has_uname) {
		buf_text(b, "uname");
		word(w, b, h->uname.sysname);
		buf_char(b, ' ');
		snapshot_encode(b,
			w->redactor ? str_of(redact_name(w->redactor, REDACT_HOST, str_of(h->uname.nodename))) : str_of(h->uname.nodename));
		word(w, b, h->uname.release);
		word(w, b, h->uname.machine);
		word(w, b, h->uname.version);
		buf_char(b, '\n');
	}
	if (h->processor)
		buf_fmt(b, "processor %s\n", h->processor);
	if (h->uid >= 0)
		buf_fmt(b, "uid %lld\n", (long long)h->uid);
	if (h->cpus >= 0)
		buf_fmt(b, "cpus %lld\n", (long long)h->cpus);
	if (h->cwd) {
		buf_text(b, "cwd");
		word(w, b, h->cwd);
		buf_char(b, '\n');
	}
	for (size_t i = 0; i < h->limit_count; i++) {
		buf_fmt(b, "limit %s", h->limits[i].name);
		number(b, h->limits[i].limit.soft);
		number(b, h->limits[i].limit.hard);
		buf_char(b, '\n');
	}
	if (!h->has_env)
		buf_text(b, "no-env\n");
	else
		buf_text(b, "env\n");
	for (size_t i = 0; h->has_env && i < h->env_count; i++) {
		if (w->redactor && !redact_keeps_variable(h->env[i]))
			continue;
		buf_text(b, "env ");
		snapshot_encode(b, w->redactor ? redact_variable(w->redactor, str_of(h->env[i])) : str_of(h->env[i]));
		buf_char(b, '\n');
	}
}

static const char *const probe_states[] = {"ok", "missing", "timeout", "crash", "error", "skipped"};

static void index_stat(struct writer *w, struct buf *b, const struct answer *a)
{
	static const char *const words[] = {"stat-file", "dir", "", "char", "block", "fifo", "socket"};
	buf_text(b, words[a->st.kind]);
	word(w, b, a->subject);
	if (a->st.kind == HOST_FILE)
		buf_fmt(b, " %llu %04o %lld", (unsigned long long)a->st.size, a->st.mode, (long long)a->st.mtime);
	else if (a->st.kind == HOST_DIR)
		buf_fmt(b, " %04o", a->st.mode);
	else
		buf_fmt(b, " %u %u %04o", a->st.major, a->st.minor, a->st.mode);
	buf_char(b, '\n');
}

static void index_answer(struct writer *w, struct buf *b, const struct answer *a)
{
	struct arena *arena = w->h->arena;
	const char *error = a->error ? snapshot_error_name(arena, a->error) : NULL;
	switch (a->kind) {
	case ANSWER_FILE:
		if (!error) {
			put(w,
				arena_printf(
					arena, "files%.*s", (int)redacted(w, str_of(a->subject)).len, redacted(w, str_of(a->subject)).ptr),
				w->redactor ? redact_file(w->redactor, a->subject, a->data) : a->data);
			if (a->head) {
				buf_text(b, "head");
				word(w, b, a->subject);
				buf_char(b, '\n');
			}
			return;
		}
		/* fall through */
	case ANSWER_LIST:
		buf_text(b, error ? (a->error == -ENOENT ? "absent" : "error") : "list");
		word(w, b, a->subject);
		if (error && a->error != -ENOENT)
			buf_fmt(b, " %s", error);
		for (const char *p = a->data.ptr; !error && p < a->data.ptr + a->data.len; p += strlen(p) + 1)
			word(w, b, p);
		break;
	case ANSWER_STAT:
		if (!error) {
			index_stat(w, b, a);
			return;
		}
		buf_text(b, a->error == -ENOENT ? "absent" : "error");
		word(w, b, a->subject);
		if (a->error != -ENOENT)
			buf_fmt(b, " %s", error);
		break;
	case ANSWER_LINK:
	case ANSWER_REAL:
		if (error)
			return;
		buf_text(b, a->kind == ANSWER_LINK ? "link" : "real");
		word(w, b, a->subject);
		word(w, b, a->data.ptr);
		break;
	case ANSWER_OPEN:
		if (a->error == -ENOENT)
			return;
		buf_text(b, "open");
		word(w, b, a->subject);
		buf_fmt(b, " %s", error ? error : "ok");
		break;
	case ANSWER_DIGEST: {
		const char *path = strchr(a->subject, ' ') + 1;
		int n = (int)(path - 1 - a->subject);
		if (!error) {
			struct str r = redacted(w, str_of(path));
			put(w, arena_printf(arena, "digests/%.*s%.*s", n, a->subject, (int)r.len, r.ptr), redacted(w, a->data));
			return;
		}
		buf_fmt(b, "digest-error /%.*s", n, a->subject);
		word(w, b, path);
		buf_fmt(b, " %s", error);
		break;
	}
	case ANSWER_FS:
		buf_text(b, error ? "fs-error" : "fs");
		word(w, b, a->subject);
		if (error) {
			buf_fmt(b, " %s", error);
			break;
		}
		number(b, a->fs.size_bytes);
		number(b, a->fs.free_bytes);
		number(b, a->fs.available_bytes);
		number(b, a->fs.files);
		number(b, a->fs.files_free);
		number(b, a->fs.flags);
		break;
	case ANSWER_PROBE:
		buf_fmt(b, "probe %s %s %d", a->subject, probe_states[a->probe.status], a->probe.code);
		if (a->probe.output.len)
			put(w, arena_printf(arena, "probes/%s.json", a->subject), redacted(w, a->probe.output));
		break;
	case ANSWER_KINDS: return;
	}
	buf_char(b, '\n');
}

/* A folder is written beside its place and moved there: nothing half-written. */
static int begin_folder(struct writer *w, const char *path)
{
	struct stat st;
	size_t n = strlen(path);
	while (n > 1 && path[n - 1] == '/')
		n--;
	w->dir = arena_printf(w->h->arena, "%.*s.partial-%ld", (int)n, path, (long)getpid());
	if (lstat(path, &st) == 0)
		errno = EEXIST;
	else if (mkdir(w->dir, 0700) == 0) {
		note_made(w, w->dir);
		return 0;
	}
	*w->ret_why = strerror(errno);
	return -errno;
}

/* In a closed world what is not written does not exist. */
static bool is_implied(const struct host *h, const struct answer *a)
{
	bool closed = h->mode == HOST_REPLAY && !h->world_open;
	return a->removed || (closed && a->error == -ENOENT && a->kind != ANSWER_OPEN);
}

int host_snapshot_write(struct host *h, const char *path, bool redact, const char **ret_why)
{
	struct writer w = {.h = h, .tar = BUF_MAX(ARCHIVE_MAX_BYTES), .ret_why = ret_why};
	struct buf index = BUF_MAX((size_t)64 << 20);
	size_t n = strlen(path);
	int rc;
	bool tar = (n > 8 && strcmp(path + n - 8, ".tar.zst") == 0) || (n > 4 && strcmp(path + n - 4, ".tar") == 0);
	if (redact)
		w.redactor = redactor_new(h);
	if (!tar && (rc = begin_folder(&w, path)) < 0)
		return rc;
	index_head(&w, &index);
	for (size_t i = 0; i < h->memory.count && !w.error; i++)
		if (!is_implied(h, h->memory.all[i]))
			index_answer(&w, &index, h->memory.all[i]);
	put(&w, SNAPSHOT_INDEX, buf_view(&index));
	if (tar && !w.error)
		w.error = archive_write(h->arena, &w.tar, path, ret_why);
	if (!tar && !w.error && rename(w.dir, path) < 0)
		write_error(&w, path);
	if (w.error)
		take_away(&w);
	buf_free(&w.tar);
	buf_free(&index);
	return w.error;
}

void host_summarize(const struct host *h, struct host_summary *ret)
{
	static const enum host_count counts[ANSWER_KINDS] = {
		[ANSWER_FILE] = HOST_COUNT_FILES,
		[ANSWER_LIST] = HOST_COUNT_LISTS,
		[ANSWER_STAT] = HOST_COUNT_STATS,
		[ANSWER_LINK] = HOST_COUNT_LINKS,
		[ANSWER_REAL] = HOST_COUNT_LINKS,
		[ANSWER_OPEN] = HOST_COUNT_DEVICES,
		[ANSWER_DIGEST] = HOST_COUNT_DIGESTS,
		[ANSWER_FS] = HOST_COUNT_FILE_SYSTEMS,
		[ANSWER_PROBE] = HOST_COUNT_PROBES,
	};
	*ret = (struct host_summary){.written_by = h->written_by, .redacted = h->redacted, .time = h->now, .variables = h->env_count};
	for (size_t i = 0; i < h->memory.count; i++) {
		const struct answer *a = h->memory.all[i];
		if (a->removed)
			continue;
		if (!a->error || a->kind == ANSWER_OPEN) /* being refused is what was asked there */
			ret->count[counts[a->kind]]++;
		else if (a->error == -ENOENT)
			ret->absent += a->kind == ANSWER_FILE; /* an absent path stands for all questions about it */
		else if (a->error == -EACCES || a->error == -EPERM)
			ret->refused += a->kind != ANSWER_LIST || !memory_find(&h->memory, ANSWER_FILE, a->subject);
		else
			ret->failed += a->kind != ANSWER_LIST || !memory_find(&h->memory, ANSWER_FILE, a->subject);
		if (!a->error && (a->kind == ANSWER_FILE || a->kind == ANSWER_DIGEST))
			ret->contents_bytes += a->data.len;
	}
}

void host_snapshot_show(struct host *h, bool redact, struct buf *ret)
{
	struct redactor *r = redact ? redactor_new(h) : NULL;
	static const char *const kinds[] = {"file", "list", "stat", "link", "open", "digest", "fs", "probe", "real"};
	for (size_t i = 0; i < h->env_count; i++)
		if (!r || redact_keeps_variable(h->env[i])) {
			struct str text = r ? redact_variable(r, str_of(h->env[i])) : str_of(h->env[i]);
			buf_fmt(ret, "env     %.*s\n", (int)text.len, text.ptr);
		}
	for (size_t i = 0; i < h->memory.count; i++) {
		const struct answer *a = h->memory.all[i];
		struct str text = r ? redact_text(r, str_of(a->subject)) : str_of(a->subject);
		char *subject = arena_strndup(h->arena, text.ptr, text.len);
		printable_clean(subject, strlen(subject), 0); /* one line each, whatever the names hold */
		buf_fmt(ret, "%-7s %s", kinds[a->kind], subject);
		if (a->error)
			buf_fmt(ret, "  (%s)", strerror(-a->error));
		else if (a->kind == ANSWER_FILE || a->kind == ANSWER_DIGEST)
			buf_fmt(ret, "  %zu bytes", a->data.len);
		buf_char(ret, '\n');
	}
}
