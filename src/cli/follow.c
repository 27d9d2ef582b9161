#include "cli/follow.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#define TICK_MS 250
#define QUIET_MS 2000.0 /* after a failure's lines: what belongs to it comes at once */
#define WAIT_MS 10000.0 /* or it never gets quiet */
#define PIECE ((size_t)1 << 20)
#define KEEP ((size_t)32 << 20) /* of standard input: its end, for the answer */

struct watched {
	uint64_t seen;   /* bytes of the file */
	uint64_t inode;  /* 0: not known yet */
	size_t line;     /* number of the line at `rest` */
	struct buf rest; /* the line that is not complete */
	struct buf kept; /* standard input */
	bool ended;
};

struct follower {
	struct cli *c;
	struct sources *s;
	struct logs *logs;
	struct watched *watched;
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

/* What a file has more than last time. */
static void read_growth(struct follower *f, size_t i)
{
	struct watched *w = &f->watched[i];
	struct host_file *file;
	if (host_file_open(f->s->host, f->s->source[i].path, &file) < 0)
		return; /* rotated away; it comes back */
	uint64_t size = host_file_size(file);
	bool another = w->inode && host_file_inode(file) != w->inode;
	w->inode = host_file_inode(file);
	if (size < w->seen || another) {
		w->seen = 0;
		w->line = 1;
		buf_reset(&w->rest);
	}
	while (w->seen < size) {
		size_t n = size - w->seen < PIECE ? (size_t)(size - w->seen) : PIECE;
		if (host_file_pread(file, w->seen, f->piece, n) < 0)
			break;
		w->seen += n;
		take(f, i, f->piece, n);
	}
	host_file_close(file);
}

/* The end of it is kept; lines are cut off at the beginning when it is much. */
static void keep(struct watched *w, const char *p, size_t n)
{
	if (w->kept.len + n > KEEP) {
		size_t drop = w->kept.len / 2;
		const char *newline = memchr(w->kept.ptr + drop, '\n', w->kept.len - drop);
		drop = newline ? (size_t)(newline + 1 - w->kept.ptr) : drop;
		memmove(w->kept.ptr, w->kept.ptr + drop, w->kept.len - drop);
		w->kept.len -= drop;
	}
	buf_add(&w->kept, p, n);
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
		keep(w, f->piece, (size_t)n);
		take(f, i, f->piece, (size_t)n);
	} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
		w->ended = true;
	}
	f->s->source[i].text = buf_view(&w->kept);
	if (!f->s->source[i].text.ptr)
		f->s->source[i].text = STR("");
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

/* One look at all sources, and a pause when none of them paused itself. True while something may still come. */
static bool look(struct follower *f)
{
	bool paused = false, more = false;
	for (size_t i = 0; i < f->s->count; i++) {
		if (f->s->source[i].path) {
			read_growth(f, i);
			more = true;
		} else if (!f->watched[i].ended) {
			read_input(f, i);
			paused = true;
			more |= !f->watched[i].ended;
		}
	}
	if (!paused)
		poll(NULL, 0, TICK_MS);
	return more;
}

static int watch(struct follower *f, follow_clear_fn *is_clear, void *arg)
{
	uint64_t judged = 0;
	double since_ms = host_clock_ms();
	int status = 0;
	bool more = true;
	while (more) {
		more = look(f);
		uint64_t failures = failure_lines(f->logs);
		double now = host_clock_ms();
		if (failures == judged)
			since_ms = now;
		else if ((now - f->grown_ms >= QUIET_MS || now - since_ms >= WAIT_MS) && is_clear(arg, false, &status))
			return status;
		else if (now - f->grown_ms >= QUIET_MS || now - since_ms >= WAIT_MS)
			judged = failures;
	}
	is_clear(arg, true, &status);
	return status;
}

int follow(struct cli *c, struct sources *s, const struct logs_pattern *patterns, size_t count, follow_clear_fn *is_clear, void *arg)
{
	const char *why;
	struct follower f = {
		.c = c, .s = s, .watched = arena_array(c->arena, s->count + 1, sizeof(*f.watched)), .piece = arena_alloc(c->arena, PIECE)};
	f.logs = logs_new(patterns, count, NULL, 0, &why);
	if (!f.logs)
		return cli_fail(c, EXIT_DEFECT, "%s", why ? why : "patterns");
	for (size_t i = 0; i < s->count; i++) {
		s->source[i].number = logs_add_file(f.logs, s->source[i].name);
		f.watched[i].line = 1;
		f.watched[i].rest = BUF_MAX(2 * PIECE);
		f.watched[i].kept = BUF_MAX(KEEP + 2 * PIECE);
	}
	int status = watch(&f, is_clear, arg);
	for (size_t i = 0; i < s->count; i++) {
		buf_free(&f.watched[i].rest);
		buf_free(&f.watched[i].kept);
	}
	logs_free(f.logs);
	return status;
}
