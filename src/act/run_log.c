#include "act/run_log.h"

#include <errno.h>

#include "base/thread.h"
#include "host/state.h"
#include "parse/unpack.h"

#define BLOCK ((size_t)64 << 10)
#define BLOCKS 128 /* 8 MB wait at most */
#define HEAD_TEXT ((size_t)32 << 20)
#define PART_TEXT ((size_t)16 << 20)
#define PART_PACKED ((size_t)4 << 20)
#define MORE_MS 100                 /* past the head, in each of these spans ... */
#define MORE_TEXT ((size_t)6 << 20) /* ... this much is packed: a flood must not cost a processor */
#define FLUSH_MS 1000
#define GATHER_MS 20     /* small pieces are packed together, unless ... */
#define GATHER_BLOCKS 16 /* ... as many wait */
#define JOINED_MAX ((size_t)16 << 20)

struct block {
	struct block *next;
	uint64_t left_out_before;
	size_t len;
	char text[BLOCK];
};

struct part {
	char *path;
	int file; /* -1: none */
	struct buf packed;
	size_t written; /* of packed, in the file */
	uint64_t text;
};

struct run_log {
	pthread_mutex_t lock;
	pthread_cond_t came, done;
	pthread_t thread;
	struct block *first, *last, *unused; /* waiting, oldest first */
	size_t block_count, waiting;
	uint64_t bytes, left_out;
	bool ending, ended;
	/* of the thread alone until `ended` */
	void *packer;
	struct part part[3]; /* the beginning, and the end by turns */
	int now;
	uint64_t rotated_out; /* text of the parts that gave way */
	bool unflushed;
	struct timespec flush; /* when it is due */
	uint64_t span_text;
	struct timespec span;
	int error;
	struct buf joined;
};

static struct timespec later(int ms)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

static bool is_past(const struct timespec *t)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > t->tv_sec || (now.tv_sec == t->tv_sec && now.tv_nsec >= t->tv_nsec);
}

/* -- handing in ---------------------------------------------------------------------------------------------------------- */

static void take_first(struct run_log *l)
{
	l->first = l->first->next;
	if (!l->first)
		l->last = NULL;
	l->waiting--;
}

/* A block to write to: fresh while there may be more, otherwise the oldest one that waits, whose text is left out. */
static struct block *fresh_block(struct run_log *l)
{
	struct block *b = l->unused;
	uint64_t left_out = 0;
	if (b) {
		l->unused = b->next;
	} else if (l->block_count < BLOCKS && (b = malloc(sizeof *b)) != NULL) {
		l->block_count++;
	} else if ((b = l->first) != NULL) {
		take_first(l);
		left_out = b->len + b->left_out_before;
		l->left_out += b->len;
	} else {
		return NULL;
	}
	b->next = NULL;
	b->len = 0;
	b->left_out_before = 0;
	if (left_out && l->first)
		l->first->left_out_before += left_out;
	else
		b->left_out_before = left_out;
	return b;
}

void run_log_take(struct run_log *l, const char *p, size_t n)
{
	pthread_mutex_lock(&l->lock);
	size_t before = l->waiting;
	l->bytes += n;
	while (n) {
		struct block *b = l->last;
		if (!b || b->len == BLOCK) {
			b = fresh_block(l);
			if (!b) {
				l->left_out += n;
				break;
			}
			if (l->last)
				l->last->next = b;
			else
				l->first = b;
			l->last = b;
			l->waiting++;
		}
		size_t k = BLOCK - b->len < n ? BLOCK - b->len : n;
		memcpy(b->text + b->len, p, k);
		b->len += k;
		p += k;
		n -= k;
	}
	if (!before || (before < GATHER_BLOCKS && l->waiting >= GATHER_BLOCKS))
		pthread_cond_signal(&l->came);
	pthread_mutex_unlock(&l->lock);
}

/* -- packing ------------------------------------------------------------------------------------------------------------- */

static void write_part(struct run_log *l, struct part *p)
{
	if (p->path && p->file < 0 && !l->error && p->packed.len) {
		p->file = host_state_open(p->path);
		if (p->file < 0)
			l->error = p->file;
	}
	if (p->file < 0 || l->error || p->written == p->packed.len)
		return;
	int rc = host_state_write(p->file, p->packed.ptr + p->written, p->packed.len - p->written);
	if (rc < 0)
		l->error = rc;
	p->written = p->packed.len;
}

static void pack(struct run_log *l, struct part *p, const char *text, size_t n, enum pack_how how)
{
	if (pack_zstd(l->packer, text, n, how, &p->packed) < 0)
		l->error = l->error ? l->error : -ENOMEM;
	p->text += n;
	l->unflushed = how == PACK_MORE;
}

static void say_left_out(struct run_log *l, struct part *p, uint64_t n)
{
	char line[96];
	int len = snprintf(line, sizeof line, "\n[davy: %llu bytes of output are not kept here]\n", (unsigned long long)n);
	pack(l, p, line, (size_t)len, PACK_MORE);
	p->text -= (uint64_t)len;
}

/* The other half of the end gives way. */
static void turn(struct run_log *l)
{
	pack(l, &l->part[l->now], NULL, 0, PACK_END);
	write_part(l, &l->part[l->now]);
	l->now = l->now == 1 ? 2 : 1;
	struct part *p = &l->part[l->now];
	host_state_close(p->file);
	p->file = -1;
	l->rotated_out += p->text;
	p->text = 0;
	p->written = 0;
	buf_reset(&p->packed);
}

static void keep(struct run_log *l, const struct block *b)
{
	struct part *p = &l->part[l->now];
	if (p->text >= (l->now ? PART_TEXT : HEAD_TEXT) || p->packed.len >= PART_PACKED) {
		turn(l);
		p = &l->part[l->now];
	}
	if (b->left_out_before)
		say_left_out(l, p, b->left_out_before);
	pack(l, p, b->text, b->len, PACK_MORE);
	l->span_text += b->len;
}

/* Waits until enough has come, a moment has passed or a flush is due. */
static void wait_for_text(struct run_log *l)
{
	while (!l->ending && l->now && l->span_text >= MORE_TEXT && !is_past(&l->span))
		pthread_cond_timedwait(&l->came, &l->lock, &l->span);
	if (is_past(&l->span)) {
		l->span = later(MORE_MS);
		l->span_text = 0;
	}
	while (!l->ending && !l->first && !(l->unflushed && is_past(&l->flush)))
		l->unflushed ? pthread_cond_timedwait(&l->came, &l->lock, &l->flush) : pthread_cond_wait(&l->came, &l->lock);
	struct timespec until = later(GATHER_MS);
	while (!l->ending && l->first && l->waiting < GATHER_BLOCKS && !is_past(&until))
		pthread_cond_timedwait(&l->came, &l->lock, &until);
}

static struct block *next_block(struct run_log *l)
{
	struct block *b = l->now && l->span_text >= MORE_TEXT && !l->ending ? NULL : l->first;
	if (b)
		take_first(l);
	return b;
}

/* All that waits; a flush when it is time. The lock is held, and not while packing and writing. */
static void keep_waiting(struct run_log *l)
{
	for (struct block *b; (b = next_block(l));) {
		pthread_mutex_unlock(&l->lock);
		if (!l->unflushed)
			l->flush = later(FLUSH_MS);
		keep(l, b);
		if (l->part[l->now].packed.len - l->part[l->now].written > BLOCK)
			write_part(l, &l->part[l->now]);
		pthread_mutex_lock(&l->lock);
		b->next = l->unused;
		l->unused = b;
	}
	if (!l->unflushed || !is_past(&l->flush))
		return;
	pthread_mutex_unlock(&l->lock);
	pack(l, &l->part[l->now], NULL, 0, PACK_FLUSH);
	write_part(l, &l->part[l->now]);
	pthread_mutex_lock(&l->lock);
}

/* One file of all parts, with a line where they do not meet. */
static void join(struct run_log *l)
{
	struct part *head = &l->part[0], *last = &l->part[l->now], *older = l->now ? &l->part[3 - l->now] : NULL;
	pack(l, last, NULL, 0, PACK_END);
	buf_str(&l->joined, buf_view(&head->packed));
	if (l->rotated_out) {
		struct part note = {.file = -1, .packed = BUF_MAX(4096)};
		say_left_out(l, &note, l->rotated_out);
		pack(l, &note, NULL, 0, PACK_END);
		buf_str(&l->joined, buf_view(&note.packed));
		buf_free(&note.packed);
	}
	if (older)
		buf_str(&l->joined, buf_view(&older->packed));
	if (l->now)
		buf_str(&l->joined, buf_view(&last->packed));
	if (!l->now) {
		write_part(l, head);
		return;
	}
	if (head->file >= 0 && !l->error)
		l->error = host_state_write(head->file, l->joined.ptr + head->packed.len, l->joined.len - head->packed.len);
	for (int i = 1; i < 3 && !l->error; i++)
		if (l->part[i].path)
			host_state_remove(l->part[i].path);
}

static void *keep_all(void *arg)
{
	struct run_log *l = arg;
	pthread_mutex_lock(&l->lock);
	while (!l->ending || l->first) {
		wait_for_text(l);
		keep_waiting(l);
	}
	pthread_mutex_unlock(&l->lock);
	join(l);
	pthread_mutex_lock(&l->lock);
	l->ended = true;
	pthread_cond_signal(&l->done);
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* -- the whole ----------------------------------------------------------------------------------------------------------- */

static char *path_with(const char *path, const char *end)
{
	size_t n = strlen(path), k = strlen(end);
	char *s = malloc(n + k + 1);
	if (s) {
		memcpy(s, path, n);
		memcpy(s + n, end, k + 1);
	}
	return s;
}

struct run_log *run_log_new(const char *path)
{
	static const char *const ends[] = {"", ".a", ".b"};
	struct run_log *l = calloc(1, sizeof *l);
	pthread_condattr_t monotonic;
	if (!l)
		return NULL;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->came, &monotonic);
	pthread_cond_init(&l->done, &monotonic);
	pthread_condattr_destroy(&monotonic);
	l->packer = pack_zstd_open();
	l->joined = BUF_MAX(JOINED_MAX);
	for (int i = 0; i < 3; i++)
		l->part[i] = (struct part){
			.path = path ? path_with(path, ends[i]) : NULL, .file = -1, .packed = BUF_MAX(PART_PACKED + ((size_t)1 << 20))};
	if (!l->packer || thread_start(&l->thread, keep_all, l) != 0) {
		run_log_free(l);
		return NULL;
	}
	return l;
}

bool run_log_finish(struct run_log *l, int deadline_ms)
{
	struct timespec until = later(deadline_ms);
	pthread_mutex_lock(&l->lock);
	l->ending = true;
	pthread_cond_signal(&l->came);
	while (!l->ended && pthread_cond_timedwait(&l->done, &l->lock, &until) != ETIMEDOUT)
		;
	bool ended = l->ended;
	pthread_mutex_unlock(&l->lock);
	if (ended)
		pthread_join(l->thread, NULL);
	return ended;
}

void run_log_free(struct run_log *l)
{
	if (!l)
		return;
	while (l->first) {
		struct block *b = l->first;
		l->first = b->next;
		free(b);
	}
	while (l->unused) {
		struct block *b = l->unused;
		l->unused = b->next;
		free(b);
	}
	for (int i = 0; i < 3; i++) {
		host_state_close(l->part[i].file);
		buf_free(&l->part[i].packed);
		free(l->part[i].path);
	}
	if (l->packer)
		pack_zstd_close(l->packer);
	buf_free(&l->joined);
	free(l);
}

struct str run_log_packed(const struct run_log *l)
{
	return buf_view(&l->joined);
}

uint64_t run_log_bytes(const struct run_log *l)
{
	return l->bytes;
}

uint64_t run_log_left_out(const struct run_log *l)
{
	return l->left_out + l->rotated_out;
}

int run_log_error(const struct run_log *l)
{
	return l->error;
}
