#include "cli/follow.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#define TICK_MS 250
#define ROUND_TICKS 8   /* then folders are asked for new files */
#define QUIET_MS 2000.0 /* after a failure's lines: what belongs to it comes at once */
#define WAIT_MS 10000.0 /* or it never gets quiet */
#define PIECE ((size_t)1 << 20)
#define KEEP ((size_t)32 << 20) /* of all sources together: their ends, for the answer */
#define KEEP_MIN ((size_t)16 << 10)
#define HELD_MAX 256 /* files that are kept open */

struct watched {
	uint64_t seen;   /* bytes of the file */
	uint64_t inode;  /* 0: not known yet */
	size_t line;     /* number of the line at `rest` */
	struct buf rest; /* the line that is not complete */
	struct buf kept; /* what standard input gave, or the file: it may be rotated away before the answer */
	bool ended;      /* or it cannot grow: a packed file */
	bool renewed;    /* the file holds no longer all that was seen */
	bool gone;
	struct host_file *held; /* open: what is written to it after it was renamed or removed is read too. NULL: too many files */
};

struct follower {
	struct cli *c;
	struct sources *s;
	struct logs *logs;
	struct watched *watched;
	size_t count, cap; /* of watched: sources that were begun */
	char *piece;
	double grown_ms;
};

static void take(struct follower *f, size_t i, const char *p, size_t n)
{
	struct watched *w = &f->watched[i];
	f->grown_ms = host_clock_ms();
	buf_add(&w->rest, p, n);
	const char *newline = w->rest.len ? memrchr(w->rest.ptr, '\n', w->rest.len) : NULL;
	size_t whole = newline ? (size_t)(newline + 1 - w->rest.ptr) : w->rest.truncated ? w->rest.len : 0;
	if (!whole)
		return;
	logs_scan_text(f->logs, f->s->source[i].number, w->line, w->rest.ptr, whole);
	for (size_t k = 0; k < whole; k++)
		w->line += w->rest.ptr[k] == '\n';
	memmove(w->rest.ptr, w->rest.ptr + whole, w->rest.len - whole);
	w->rest.len -= whole;
	w->rest.truncated = false;
}

/* The end of it is kept; lines are cut off at the beginning when it is much. */
static void keep(struct follower *f, struct watched *w, const char *p, size_t n)
{
	size_t most = KEEP / f->count > KEEP_MIN ? KEEP / f->count : KEEP_MIN;
	if (n > most) {
		p += n - most;
		n = most;
	}
	if (w->kept.len + n > most) {
		size_t drop = w->kept.len < most / 2 ? w->kept.len : w->kept.len - most / 2;
		const char *newline = memchr(w->kept.ptr + drop, '\n', w->kept.len - drop);
		drop = newline ? (size_t)(newline + 1 - w->kept.ptr) : w->kept.len;
		memmove(w->kept.ptr, w->kept.ptr + drop, w->kept.len - drop);
		w->kept.len -= drop;
	}
	buf_add(&w->kept, p, n);
}

static bool is_packed(const char *p, size_t n)
{
	static const char *const marks[] = {"\x1f\x8b", "\x28\xb5\x2f\xfd", "\xfd\x37zXZ", "PK\x03\x04"};
	for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
		if (str_starts(str_n(p, n), marks[i]))
			return true;
	return false;
}

static void say_gone(struct follower *f, size_t i, int error)
{
	struct cli *c = f->c;
	const char *name = f->s->source[i].name;
	if (!f->watched[i].gone && (error == -ENOENT || error == -ENOTDIR))
		cli_fail(c, 0, cli_tr(c, "%s is gone; waiting for it to come back", "%s 已不存在，等待其重新出现"), name);
	else if (!f->watched[i].gone)
		cli_fail(c, 0, cli_tr(c, "%s cannot be read (%s); waiting", "%s 无法读取（%s），等待中"), name,
			error == -EINVAL ? cli_tr(c, "not a regular file", "不是普通文件") : strerror(-error));
	f->watched[i].gone = true;
}

static void read_more(struct follower *f, size_t i, struct host_file *file)
{
	struct watched *w = &f->watched[i];
	uint64_t size = host_file_size(file);
	while (w->seen < size && !w->ended) {
		size_t n = size - w->seen < PIECE ? (size_t)(size - w->seen) : PIECE;
		if (host_file_pread(file, w->seen, f->piece, n) < 0)
			return;
		if (!w->seen && is_packed(f->piece, n)) {
			w->ended = true;
			return;
		}
		w->seen += n;
		keep(f, w, f->piece, n);
		take(f, i, f->piece, n);
	}
}

/* The end of a file that is no longer at its path. */
static void read_held(struct follower *f, size_t i)
{
	struct host_file *held = f->watched[i].held;
	if (held && host_file_refresh(held) == 0)
		read_more(f, i, held);
}

static void hold(struct follower *f, size_t i)
{
	struct watched *w = &f->watched[i];
	host_file_close(w->held);
	w->held = NULL;
	if (f->count <= HELD_MAX)
		host_file_open(f->c->host, f->s->source[i].path, &w->held);
}

/* What a file has more than last time. */
static void read_growth(struct follower *f, struct host *door, size_t i)
{
	struct watched *w = &f->watched[i];
	struct host_file *file;
	int error = host_file_open(door, f->s->source[i].path, &file);
	if (error) {
		w->renewed = true;
		read_held(f, i);
		say_gone(f, i, error);
		return;
	}
	bool another = w->inode && host_file_inode(file) != w->inode;
	if (another)
		read_held(f, i);
	if (another || host_file_size(file) < w->seen) {
		w->renewed = w->renewed || w->seen;
		w->seen = 0;
		w->line = 1;
		if (!another) /* a rotated log may go on in the middle of a line */
			buf_reset(&w->rest);
	}
	if (another || !w->inode)
		hold(f, i);
	w->inode = host_file_inode(file);
	w->gone = false;
	read_more(f, i, file);
	host_file_close(file);
}

/* The answer reads what was kept. */
static void set_text(struct follower *f, size_t i)
{
	struct str kept = buf_view(&f->watched[i].kept);
	f->s->source[i].text = kept.ptr ? kept : STR("");
}

static void read_input(struct follower *f, size_t i)
{
	struct watched *w = &f->watched[i];
	struct pollfd p = {.fd = f->s->source[i].fd, .events = POLLIN};
	int ready = poll(&p, 1, TICK_MS);
	if (ready <= 0)
		return;
	ssize_t n = read(p.fd, f->piece, PIECE);
	if (n > 0) {
		keep(f, w, f->piece, (size_t)n);
		take(f, i, f->piece, (size_t)n);
	} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
		w->ended = true;
	}
	set_text(f, i);
}

static uint64_t failure_lines(const struct logs *l)
{
	uint64_t n = 0;
	for (size_t i = 0; i < logs_matcher_pattern_count(l->matcher); i++) {
		enum logs_class class = logs_matcher_pattern(l->matcher, (unsigned)i)->class;
		if (class == LOGS_EVIDENCE || class == LOGS_CONSEQUENCE)
			n += l->pattern_total[i];
	}
	return n;
}

/* Sources that are new are watched from their beginning. */
static void begin_new(struct follower *f)
{
	struct arena *a = f->c->arena;
	for (; f->count < f->s->count; f->count++) {
		if (!f->watched || f->count == f->cap)
			f->watched = arena_grow(a, f->watched, f->count, &f->cap, sizeof *f->watched);
		f->watched[f->count] = (struct watched){.line = 1, .rest = BUF_MAX(2 * PIECE), .kept = BUF_MAX(KEEP + 2 * PIECE)};
		struct source_file *source = &f->s->source[f->count];
		source->number = logs_add_file(f->logs, source->name);
	}
}

/* One look at all sources, and a pause when none of them paused itself. True while something may still come. A door of its own for each
 * look: a door remembers what it saw. */
static bool look(struct follower *f, size_t tick)
{
	struct arena *a = arena_new(0);
	struct host *door = host_twin(f->c->host, a);
	bool paused = false, more = !f->count;
	if (door && tick % ROUND_TICKS == 0)
		sources_find_more(f->s, door, a, f->c->args, f->c->arg_count);
	begin_new(f);
	for (size_t i = 0; i < f->count; i++) {
		if (f->watched[i].ended)
			continue;
		if (!f->s->source[i].path) {
			read_input(f, i);
			paused = true;
		} else if (door) {
			read_growth(f, door, i);
		}
		more |= !f->watched[i].ended;
	}
	host_close(door);
	arena_free(a);
	if (!paused && more)
		poll(NULL, 0, TICK_MS);
	return more;
}

/* What a file no longer holds is read from memory. */
static void give_kept(struct follower *f)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->s->source[i].path && f->watched[i].renewed)
			set_text(f, i);
}

static int watch(struct follower *f, follow_clear_fn *is_clear, void *arg)
{
	uint64_t judged = 0;
	double since_ms = host_clock_ms();
	int status = 0;
	bool more = true;
	for (size_t tick = 0; more; tick++) {
		more = look(f, tick);
		uint64_t failures = failure_lines(f->logs);
		double now = host_clock_ms();
		if (failures == judged) {
			since_ms = now;
		} else if (now - f->grown_ms >= QUIET_MS || now - since_ms >= WAIT_MS) {
			give_kept(f);
			if (is_clear(arg, false, &status))
				return status;
			judged = failures;
		}
	}
	is_clear(arg, true, &status);
	return status;
}

int follow(struct cli *c, struct sources *s, const struct logs_pattern *patterns, size_t count, follow_clear_fn *is_clear, void *arg)
{
	const char *why;
	struct follower f = {.c = c, .s = s, .piece = arena_alloc(c->arena, PIECE)};
	f.logs = logs_new(patterns, count, NULL, 0, &why);
	if (!f.logs)
		return cli_fail(c, EXIT_DEFECT, "%s", why ? why : "patterns");
	int status = watch(&f, is_clear, arg);
	for (size_t i = 0; i < f.count; i++) {
		host_file_close(f.watched[i].held);
		buf_free(&f.watched[i].rest);
		buf_free(&f.watched[i].kept);
	}
	logs_free(f.logs);
	return status;
}
