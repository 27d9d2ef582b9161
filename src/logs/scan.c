#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "logs/clean.h"
#include "logs/file_rank.h"
#include "logs/fold.h"
#include "logs/logs.h"
#include "logs/notes.h"
#include "logs/tape.h"
#include "logs/told.h"
#include "logs/zip_stream.h"

#define CHUNK ((size_t)LOGS_SMALL)
#define LINE_MAX_BYTES ((size_t)64 << 10) /* longer lines are cut into pieces */
#define CANDIDATES 512
#define SATURATED 2000                   /* harmless lines of one pattern; later ones are not looked for */
#define TRIES 4000                       /* the same for lines in which only a literal of it stands */
#define CAREFUL_FILE ((uint64_t)8 << 20) /* of each file every line of so much is read, to know who said what last */
#define CAREFUL_ALL ((uint64_t)32 << 20)
#define SNIPPET_LINES 4000 /* after the last trigger */
#define SNIPPET_BYTES ((size_t)1 << 20)
#define SNIPPETS_FILE ((size_t)4 << 20)
#define SNIPPETS_ALL ((size_t)12 << 20)
#define TAPE_FILES_MAX 100000
#define TAPE_DEPTH_MAX 3 /* archives in archives */
#define RECORDS_MAX 64   /* records that one line may turn out to be */

struct logs_private {
	pthread_mutex_t lock;
	bool *muted; /* by owner: harmless patterns of which other files had enough */
	struct fold fold;
	struct notes notes;
	size_t file_cap;
	_Atomic uint64_t careful;
	_Atomic size_t snippet_bytes;
	const char **all_triggers;
	struct arena *patterns_arena;
};

struct scanner {
	struct logs *l;
	unsigned file;
	struct logs_scratch *scratch;
	struct prefix_names names;
	struct clean_habit habit;
	struct arena *arena;
	struct fold fold;
	struct notes notes;
	uint32_t *hits, *tries;    /* by pattern */
	bool *muted;               /* by owner: not looked for any more */
	struct filter_bits *bits;  /* the filter's without the muted ones; NULL: all */
	bool mute_more, mute_late; /* late: worth it in a file of more than one chunk only */

	/* the chunk at hand */
	const char *p;
	size_t n;
	size_t number;              /* of its first line */
	size_t counted_at, counted; /* newlines before this position */

	/* the line at hand */
	size_t start, end;
	bool open, cut;
	unsigned candidate[CANDIDATES];
	size_t candidates;

	/* the snippet being taken */
	struct logs_snippet *snippet;
	struct buf snippet_text;
	size_t lines_left, snippet_from; /* bytes of this chunk that are taken already */
	size_t snippets_bytes;

	uint64_t lines, bytes, candidate_lines;
	bool long_lines;
	size_t nul_bytes;
};

/* -- events -------------------------------------------------------------------------------------------------------------- */

struct texts { /* terminated copies for fold_add, which copies again what it keeps */
	char host[256], group[104], text[504], capture[CAPTURE_COUNT][404];
};

static const char *terminated(char *buffer, size_t size, struct str s)
{
	if (!s.ptr)
		return NULL;
	size_t n = s.len < size - 1 ? s.len : size - 1;
	for (size_t i = 0; i < n; i++)
		buffer[i] = s.ptr[i] ? s.ptr[i] : '?';
	while (n > 0 && n < s.len && ((unsigned char)s.ptr[n] & 0xc0) == 0x80)
		n--; /* not in the middle of a character */
	buffer[n] = 0;
	return buffer;
}

static void add_event(struct scanner *s, const struct prefix *p, const struct logs_hit *hit, size_t number)
{
	static _Thread_local struct texts t;
	struct logs_capture_value capture[CAPTURE_COUNT];
	struct logs_event e = {.pattern = hit->pattern,
		.file = s->file,
		.line = number,
		.last_line = number,
		.count = 1,
		.rank = p->rank,
		.local_rank = p->local_rank,
		.number = p->number,
		.group_rank = p->group_rank,
		.pid = p->pid,
		.time = p->time,
		.last_time = p->time,
		.level = p->level,
		.cut = s->cut,
		.capture = capture};
	e.host = p->host.len ? terminated(t.host, sizeof(t.host), p->host) : NULL;
	e.group = p->group.len ? terminated(t.group, sizeof(t.group), p->group) : NULL;
	e.text = terminated(t.text, sizeof(t.text), str_trim(p->message));
	for (unsigned i = 0; i < CAPTURE_COUNT; i++)
		if (hit->capture[i].ptr)
			capture[e.capture_count++] = (struct logs_capture_value){
				i, terminated(t.capture[i], sizeof(t.capture[i]), hit->capture[i])};
	if (e.rank < 0 && (p->source == PREFIX_NCCL || p->actor))
		e.rank = notes_rank_of(&s->notes, e.host, e.pid);
	s->hits[hit->pattern]++;
	fold_add(&s->fold, &e);
}

static bool is_trigger_of_notes(const struct scanner *s, unsigned owner)
{
	size_t count = logs_matcher_pattern_count(s->l->matcher);
	return owner >= count && owner < count + NOTES_TRIGGERS;
}

/* The line before the one at hand; empty at the begin of a chunk. */
static struct str line_before(const struct scanner *s)
{
	size_t end = s->start ? s->start - 1 : 0, start = end;
	while (start > 0 && end - start < 400 && s->p[start - 1] != '\n')
		start--;
	return str_n(s->p + start, end - start);
}

static bool is_noise(const struct scanner *s, const struct logs_hit *hit)
{
	return logs_matcher_pattern(s->l->matcher, hit->pattern)->class == LOGS_NOISE;
}

/* Evidence that is only told of is none. Most lines that hit have nothing but noise: nobody need look at their words. */
static size_t drop_told(const struct scanner *s, struct str message, struct logs_hit *hit, size_t n)
{
	size_t noise = 0;
	for (size_t i = 0; i < n; i++)
		noise += is_noise(s, &hit[i]);
	if (noise == n || !told_only(message, line_before(s)))
		return n;
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		if (is_noise(s, &hit[i]))
			hit[kept++] = hit[i];
	return kept;
}

/* One record: a line, or a part of one. */
static void process_record(struct scanner *s, struct str record, size_t number)
{
	struct prefix p;
	struct logs_hit hit[LOGS_HITS_MAX];

	prefix_parse(record, &s->names, &p);
	notes_voice(&s->notes, &p, s->file, number);
	for (size_t i = 0; i < s->candidates; i++)
		if (is_trigger_of_notes(s, s->candidate[i]))
			notes_line(&s->notes, s->candidate[i] - (unsigned)logs_matcher_pattern_count(s->l->matcher), &p, record, s->file,
				number);
	size_t n = logs_match(s->l->matcher, s->scratch, p.message, record, s->candidate, s->candidates, hit);
	n = drop_told(s, p.message, hit, n);
	for (size_t i = 0; i < n; i++)
		add_event(s, &p, &hit[i], number);
}

static void process_line(struct scanner *s, struct str line, size_t number)
{
	for (int i = 0; i < RECORDS_MAX; i++) {
		struct prefix p;
		prefix_parse(line, NULL, &p);
		size_t head = (size_t)(p.message.ptr - line.ptr);
		size_t torn = p.message.len < LINE_MAX_BYTES ? prefix_find_torn(p.message) : SIZE_MAX;
		if (torn == SIZE_MAX)
			break;
		process_record(s, str_slice(line, 0, head + torn), number);
		line = str_skip(line, head + torn);
	}
	process_record(s, line, number);
}

/* -- lines --------------------------------------------------------------------------------------------------------------- */

static size_t line_number(struct scanner *s, size_t at)
{
	if (at < s->counted_at)
		return s->number + clean_count_lines(s->p, at);
	s->counted += clean_count_lines(s->p + s->counted_at, at - s->counted_at);
	s->counted_at = at;
	return s->number + s->counted;
}

static void close_line(struct scanner *s)
{
	if (!s->open)
		return;
	s->open = false;
	struct str line = str_n(s->p + s->start, s->end - s->start);
	s->candidate_lines++;
	if (s->candidates)
		process_line(s, line, line_number(s, s->start));
	s->candidates = 0;
}

/* The record around a position: between newlines or carriage returns, and no longer than a line may be. */
static void open_line(struct scanner *s, size_t at)
{
	size_t floor = s->open || s->end ? s->end : 0, start = at, end = at;
	if (at - floor > LINE_MAX_BYTES)
		floor = at - LINE_MAX_BYTES;
	while (start > floor && s->p[start - 1] != '\n' && s->p[start - 1] != '\r')
		start--;
	s->cut = start == floor && start > 0 && s->p[start - 1] != '\n' && s->p[start - 1] != '\r';
	size_t ceiling = s->n - start > LINE_MAX_BYTES ? start + LINE_MAX_BYTES : s->n;
	while (end < ceiling && s->p[end] != '\n' && s->p[end] != '\r')
		end++;
	if (end == ceiling && end < s->n && s->p[end] != '\n' && s->p[end] != '\r')
		s->cut = true;
	s->long_lines |= s->cut;
	s->start = start;
	s->end = end;
	s->open = true;
	s->candidates = 0;
}

static void note_trigger(struct scanner *s, unsigned trigger, size_t at);

static void mute(struct scanner *s, unsigned owner)
{
	s->mute_more |= !s->muted[owner];
	s->muted[owner] = true;
}

static void on_hit(void *arg, unsigned owner, size_t at)
{
	struct scanner *s = arg;
	size_t count = logs_matcher_pattern_count(s->l->matcher);

	if (owner < count) {
		const struct logs_pattern *p = logs_matcher_pattern(s->l->matcher, owner);
		if (s->muted[owner])
			return;
		if (p->class == LOGS_NOISE && (s->hits[owner] >= SATURATED || ++s->tries[owner] >= TRIES)) {
			mute(s, owner);
			return;
		}
	} else if (owner < count + NOTES_TRIGGERS && notes_glance(&s->notes, owner - (unsigned)count, s->p + at, s->p + s->n)) {
		return;
	}
	if (s->open && at >= s->end)
		close_line(s);
	if (!s->open) {
		if (at < s->end)
			return; /* of a line that is done */
		open_line(s, at);
	} else if (at < s->start) {
		return;
	}
	if (owner >= count + NOTES_TRIGGERS) {
		note_trigger(s, owner - (unsigned)count - NOTES_TRIGGERS, s->start);
		return;
	}
	if (s->candidates < CANDIDATES)
		s->candidate[s->candidates++] = owner;
}

/* -- snippets ------------------------------------------------------------------------------------------------------------ */

/* Text of this chunk up to `to` goes into the snippet, as far as its lines and bytes last. */
static void snippet_take(struct scanner *s, size_t to)
{
	size_t from = s->snippet_from;
	while (from < to && s->lines_left && s->snippet_text.len < SNIPPET_BYTES) {
		const char *newline = memchr(s->p + from, '\n', to - from);
		size_t end = newline ? (size_t)(newline + 1 - s->p) : to;
		buf_add(&s->snippet_text, s->p + from, end - from);
		from = end;
		s->lines_left -= newline != NULL;
	}
	s->snippet_from = from;
}

static void snippet_close(struct scanner *s)
{
	if (!s->snippet)
		return;
	struct logs *l = s->l;
	pthread_mutex_lock(&l->private->lock);
	struct logs_snippet *n = arena_alloc(l->arena, sizeof(*n));
	*n = *s->snippet;
	n->text = str_n(arena_strndup(l->arena, s->snippet_text.len ? s->snippet_text.ptr : "", s->snippet_text.len), s->snippet_text.len);
	n->trigger = arena_array(l->arena, n->trigger_count + 1, sizeof(*n->trigger));
	memcpy(n->trigger, s->snippet->trigger, n->trigger_count * sizeof(*n->trigger));
	if (l->last_snippet)
		l->last_snippet->next = n;
	else
		l->snippets = n;
	l->last_snippet = n;
	pthread_mutex_unlock(&l->private->lock);
	s->snippets_bytes += s->snippet_text.len;
	s->snippet = NULL;
	s->lines_left = 0;
	buf_reset(&s->snippet_text);
}

/* Three lines above the trigger, as far as this chunk has them. */
static size_t lines_above(const struct scanner *s, size_t at)
{
	size_t from = at;
	for (int i = 0; i < 4 && from > s->snippet_from; i++) {
		from--;
		while (from > s->snippet_from && s->p[from - 1] != '\n')
			from--;
		if (i == 3)
			break;
	}
	return from;
}

static void note_trigger(struct scanner *s, unsigned trigger, size_t at)
{
	while (at > 0 && s->p[at - 1] != '\n' && s->start - at < LINE_MAX_BYTES)
		at--;
	if (s->snippet) {
		snippet_take(s, at);
		if (s->snippet_from < at) /* the last one was long ago */
			snippet_close(s);
	}
	if (!s->snippet) {
		if (s->snippets_bytes > SNIPPETS_FILE || atomic_load(&s->l->private->snippet_bytes) > SNIPPETS_ALL)
			return;
		size_t from = at > s->snippet_from ? lines_above(s, at) : at;
		s->snippet = arena_alloc(s->arena, sizeof(*s->snippet));
		s->snippet->file = s->file;
		s->snippet->first_line = line_number(s, from);
		s->snippet_from = from;
		s->lines_left = SNIPPET_LINES;
		snippet_take(s, at);
	}
	struct logs_snippet *n = s->snippet;
	s->lines_left = SNIPPET_LINES;
	if (n->trigger_count >= 20000)
		return;
	n->trigger = arena_grow(s->arena, n->trigger, n->trigger_count, &n->trigger_cap, sizeof(*n->trigger));
	n->trigger[n->trigger_count++] = (struct logs_trigger){.line = s->snippet_text.len + (at - s->snippet_from), .trigger = trigger};
}

/* -- chunks -------------------------------------------------------------------------------------------------------------- */

/* Every line's speaker. */
static void read_carefully(struct scanner *s)
{
	struct str rest = str_n(s->p, s->n), line;
	size_t number = s->number;
	while (str_next_line(&rest, &line)) {
		struct prefix p;
		if (line.len && line.len < LINE_MAX_BYTES) {
			prefix_parse(line, &s->names, &p);
			notes_voice(&s->notes, &p, s->file, number);
		}
		number++;
	}
}

static void scan_chunk(struct scanner *s, const char *p, size_t n)
{
	s->p = p;
	s->n = n;
	s->counted_at = s->counted = 0;
	s->start = s->end = 0;
	s->open = false;
	s->snippet_from = 0;
	if (s->bytes < CAREFUL_FILE && atomic_fetch_add(&s->l->private->careful, n) < CAREFUL_ALL)
		read_carefully(s);
	if (s->mute_more) {
		s->bits = filter_bits_without(logs_matcher_filter(s->l->matcher), s->muted, s->bits);
		s->mute_more = false;
	}
	filter_scan(logs_matcher_filter(s->l->matcher), s->bits, p, n, on_hit, s);
	close_line(s);
	if (s->snippet) {
		size_t before = s->snippet_text.len;
		snippet_take(s, n);
		atomic_fetch_add(&s->l->private->snippet_bytes, s->snippet_text.len - before);
		if (s->snippet_from < n)
			snippet_close(s);
	}
	size_t lines = s->counted + clean_count_lines(p + s->counted_at, n - s->counted_at);
	s->number += lines;
	s->lines += lines;
	s->bytes += n;
	s->mute_more |= s->mute_late;
	s->mute_late = false;
}

/* The part of the buffer that ends with a line; all of it at the end of the input or when a line is too long. */
static size_t whole_lines(const char *p, size_t n, bool last)
{
	if (last || n == 0)
		return n;
	const char *newline = memrchr(p, '\n', n);
	return newline ? (size_t)(newline + 1 - p) : n;
}

struct buffers {
	char *memory, *raw, *clean;
};

static void buffers_new(struct buffers *b)
{
	b->memory = malloc(2 * (CHUNK + 2 * FILTER_PAD));
	if (!b->memory)
		abort();
	memset(b->memory, '\n', FILTER_PAD);
	b->raw = b->memory + FILTER_PAD;
	b->clean = b->raw + CHUNK + 2 * FILTER_PAD;
}

static void scan_text(struct scanner *s, struct buffers *b, const char *p, size_t n)
{
	if (!clean_needed(&s->habit, p, n)) {
		scan_chunk(s, p, n);
		return;
	}
	size_t clean = clean_text(p, n, b->clean);
	memset(b->clean - FILTER_PAD, '\n', FILTER_PAD);
	memset(b->clean + clean, '\n', FILTER_PAD);
	scan_chunk(s, b->clean, clean);
}

static void scan_input(struct scanner *s, struct logs_input *in)
{
	struct buffers b;
	size_t have = 0;
	bool first = true, last = false;

	buffers_new(&b);
	while (!last) {
		while (have < CHUNK) {
			size_t got = logs_input_read(in, b.raw + have, CHUNK - have);
			if (got == 0) {
				last = CHUNK - have >= 64 || logs_input_error(in);
				break;
			}
			have += got;
		}
		if (first) {
			s->names.gutter = prefix_is_gutter(str_n(b.raw, have < 65536 ? have : 65536));
			clean_learn(&s->habit, b.raw, have);
			const char *nul = memchr(b.raw, 0, have);
			s->nul_bytes = nul != NULL;
		}
		if (first && last) { /* a pasted report, all of it */
			if (s->l->unwrap == UNWRAP_SURE && unwrap_doubtful(b.raw, have))
				s->l->doubtful = true;
			have = unwrap_text(b.raw, have, CHUNK, s->l->unwrap);
		}
		first = false;
		size_t n = whole_lines(b.raw, have, last);
		s->lines += last && n && b.raw[n - 1] != '\n';
		char saved[FILTER_PAD];
		memcpy(saved, b.raw + n, FILTER_PAD);
		memset(b.raw + n, '\n', FILTER_PAD);
		scan_text(s, &b, b.raw, n);
		memcpy(b.raw + n, saved, FILTER_PAD);
		memmove(b.raw, b.raw + n, have - n);
		have -= n;
	}
	free(b.memory);
}

/* -- files --------------------------------------------------------------------------------------------------------------- */

static void scanner_init(struct scanner *s, struct logs *l, unsigned file)
{
	memset(s, 0, sizeof(*s));
	s->l = l;
	s->file = file;
	s->scratch = logs_scratch_new();
	s->arena = arena_new(0);
	s->number = 1;
	s->snippet_text = BUF_MAX(SNIPPET_BYTES + CHUNK);
	fold_init(&s->fold, s->arena, l->matcher);
	notes_init(&s->notes, s->arena);
	s->hits = calloc(logs_matcher_pattern_count(l->matcher) + 1, sizeof(*s->hits));
	s->muted = calloc(logs_matcher_pattern_count(l->matcher) + NOTES_TRIGGERS + l->trigger_count + 1, sizeof(*s->muted));
	s->tries = calloc(logs_matcher_pattern_count(l->matcher) + 1, sizeof(*s->tries));
	if (!s->hits || !s->tries || !s->muted)
		abort();
	pthread_mutex_lock(&l->private->lock);
	for (size_t i = 0; i < logs_matcher_pattern_count(l->matcher); i++)
		s->mute_late |= s->muted[i] = l->private->muted[i];
	pthread_mutex_unlock(&l->private->lock);
}

/* A file in which one rank alone speaks belongs to it: what has no other name there is its. */
static int64_t rank_of_file(const struct scanner *s)
{
	int64_t rank = PREFIX_UNSET;
	for (size_t i = 0; i < s->notes.rank_count; i++) {
		if (rank >= 0 && rank != s->notes.rank[i]->rank)
			return PREFIX_UNSET;
		rank = s->notes.rank[i]->rank;
	}
	return rank;
}

static void settle_ranks(struct scanner *s)
{
	int64_t own = rank_of_file(s);
	bool one_of_many = s->l->file_count > 1;
	int64_t own_local = PREFIX_UNSET;
	if (own < 0 && s->notes.rank_count == 0) {
		pthread_mutex_lock(&s->l->private->lock); /* an archive's files are added meanwhile */
		file_rank(s->l->file[s->file].name, &own, &own_local);
		pthread_mutex_unlock(&s->l->private->lock);
	}
	for (size_t i = 0; i < s->fold.count; i++) {
		struct logs_event *e = s->fold.event[i];
		if (e->rank < 0)
			e->rank = notes_rank_of(&s->notes, e->host, e->pid);
		if (e->rank < 0 && e->number < 0 && e->local_rank < 0 && one_of_many) {
			e->rank = own;
			e->local_rank = own_local;
		}
	}
}

static void scanner_close(struct scanner *s, struct logs_input *in)
{
	struct logs *l = s->l;
	snippet_close(s);
	settle_ranks(s);
	pthread_mutex_lock(&l->private->lock);
	for (size_t i = 0; i < s->fold.count; i++)
		fold_add(&l->private->fold, s->fold.event[i]);
	for (size_t i = 0; i < logs_matcher_pattern_count(l->matcher); i++) {
		l->pattern_total[i] += s->hits[i];
		l->private->muted[i] = l->pattern_total[i] >= SATURATED &&
			logs_matcher_pattern(l->matcher, (unsigned)i)->class == LOGS_NOISE;
	}
	notes_merge(&l->private->notes, &s->notes);
	struct logs_file *f = &l->file[s->file];
	f->bytes += s->bytes;
	f->lines += s->lines;
	f->has_long_lines |= s->long_lines;
	f->candidates += s->candidate_lines;
	f->binary |= s->nul_bytes > 0;
	if (in) {
		f->packing = logs_input_packing(in);
		f->problem = logs_input_problem(in);
		f->error = logs_input_error(in);
	}
	pthread_mutex_unlock(&l->private->lock);
	fold_free(&s->fold);
	free(s->hits);
	free(s->tries);
	free(s->muted);
	free(s->bits);
	buf_free(&s->snippet_text);
	logs_scratch_free(s->scratch);
	arena_free(s->arena);
}

static void scan_plain(struct logs *l, unsigned file, struct logs_input *in)
{
	struct scanner *s = malloc(sizeof(*s));
	if (!s)
		abort();
	scanner_init(s, l, file);
	scan_input(s, in);
	scanner_close(s, in);
	free(s);
}

static int scan_any(struct logs *l, unsigned file, logs_read_fn *read, void *arg, int depth);

/* An archive of either kind, stepped through file by file. */
struct bundle {
	bool (*next)(struct bundle *b);
	logs_read_fn *read;
	void *state; /* struct tape or struct zip_stream */
	const char *name, *problem;
};

static bool next_of_tape(struct bundle *b)
{
	struct tape *t = b->state;
	bool more = tape_next(t);
	b->name = t->name;
	b->problem = t->problem;
	return more;
}

static bool next_of_zip(struct bundle *b)
{
	struct zip_stream *z = b->state;
	bool more = zip_stream_next(z);
	b->name = z->name;
	b->problem = z->problem;
	return more;
}

/* A file of an archive of which the first bytes were read already. */
struct member {
	struct bundle *bundle;
	char head[4096];
	size_t at, have;
};

static ssize_t member_read(void *arg, void *p, size_t n)
{
	struct member *m = arg;
	if (m->at == m->have)
		return m->bundle->read(m->bundle->state, p, n);
	size_t k = m->have - m->at < n ? m->have - m->at : n;
	memcpy(p, m->head + m->at, k);
	m->at += k;
	return (ssize_t)k;
}

static void member_open(struct member *m, struct bundle *b)
{
	ssize_t got;
	m->bundle = b;
	m->at = m->have = 0;
	while (m->have < sizeof m->head && (got = b->read(b->state, m->head + m->have, sizeof m->head - m->have)) > 0)
		m->have += (size_t)got;
}

/* What the caller wants whole (a Flight Recorder dump) is given to it. */
static bool give_whole(struct logs *l, struct member *m, const char *name)
{
	struct buf b = BUF_MAX(LOGS_WHOLE_MAX);
	char piece[65536];
	ssize_t got;
	if (!l->wants || !l->wants(l->taker, name, str_n(m->head, m->have)))
		return false;
	while ((got = member_read(m, piece, sizeof piece)) > 0)
		buf_add(&b, piece, (size_t)got);
	l->give(l->taker, name, buf_view(&b));
	buf_free(&b);
	return true;
}

/* Each file of an archive is a file of its own. */
static void scan_bundle(struct logs *l, unsigned file, struct logs_input *in, struct bundle *b, int depth)
{
	struct member m;
	char own[512], name[1600];
	pthread_mutex_lock(&l->private->lock);
	snprintf(own, sizeof own, "%s", l->file[file].name);
	l->file[file].is_archive = true;
	pthread_mutex_unlock(&l->private->lock);
	for (size_t i = 0; i < TAPE_FILES_MAX && b->next(b); i++) {
		snprintf(name, sizeof name, "%s/%s", own, b->name);
		member_open(&m, b);
		if (!m.have || give_whole(l, &m, name))
			continue;
		scan_any(l, logs_add_file(l, name), member_read, &m, depth + 1);
	}
	pthread_mutex_lock(&l->private->lock);
	l->file[file].packing = logs_input_packing(in);
	l->file[file].problem = b->problem ? b->problem : logs_input_problem(in);
	l->file[file].error = logs_input_error(in);
	pthread_mutex_unlock(&l->private->lock);
}

static void scan_tape(struct logs *l, unsigned file, struct logs_input *in, int depth)
{
	struct tape t = {.in = in};
	struct bundle b = {.next = next_of_tape, .read = tape_read, .state = &t};
	scan_bundle(l, file, in, &b, depth);
}

static void scan_zip(struct logs *l, unsigned file, struct logs_input *in, int depth)
{
	struct zip_stream *z = calloc(1, sizeof *z);
	if (!z)
		abort();
	z->in = in;
	struct bundle b = {.next = next_of_zip, .read = zip_stream_read, .state = z};
	scan_bundle(l, file, in, &b, depth);
	zip_stream_close(z);
	free(z);
}

static void set_problem(struct logs *l, unsigned file, const char *problem)
{
	pthread_mutex_lock(&l->private->lock);
	l->file[file].problem = problem;
	l->file[file].is_archive = true;
	pthread_mutex_unlock(&l->private->lock);
}

static int scan_any(struct logs *l, unsigned file, logs_read_fn *read, void *arg, int depth)
{
	struct logs_input *in = logs_input_new(read, arg);
	const char *head;
	size_t n = logs_input_peek(in, &head);
	bool tape = tape_is_archive(head, n), zip = !tape && zip_stream_is_archive(head, n);
	if ((tape || zip) && depth == TAPE_DEPTH_MAX)
		set_problem(l, file, "archives in it are nested too deep");
	else if (tape)
		scan_tape(l, file, in, depth);
	else if (zip)
		scan_zip(l, file, in, depth);
	else
		scan_plain(l, file, in);
	int error = n ? 0 : logs_input_error(in);
	logs_input_free(in);
	return error;
}

int logs_scan(struct logs *l, unsigned file, logs_read_fn *read, void *arg)
{
	return scan_any(l, file, read, arg, 0);
}

struct text_source {
	const char *p;
	size_t n;
};

static ssize_t read_text(void *arg, void *p, size_t n)
{
	struct text_source *t = arg;
	size_t k = t->n < n ? t->n : n;
	memcpy(p, t->p, k);
	t->p += k;
	t->n -= k;
	return (ssize_t)k;
}

void logs_scan_text(struct logs *l, unsigned file, size_t first_line, const char *p, size_t n)
{
	struct text_source t = {p, n};
	struct scanner *s = malloc(sizeof(*s));
	if (!s)
		abort();
	scanner_init(s, l, file);
	s->number = first_line;
	struct logs_input *in = logs_input_new(read_text, &t);
	scan_input(s, in);
	scanner_close(s, NULL);
	logs_input_free(in);
	free(s);
}

/* Names come from strangers: a newline in one would begin a line of its own wherever it is shown. */
static const char *printed(struct arena *a, const char *name)
{
	char *copy = arena_strdup(a, name);
	for (char *c = copy; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return copy;
}

unsigned logs_add_file(struct logs *l, const char *name)
{
	pthread_mutex_lock(&l->private->lock);
	unsigned i = (unsigned)l->file_count;
	l->file = arena_grow(l->arena, l->file, l->file_count, &l->private->file_cap, sizeof(*l->file));
	memset(&l->file[i], 0, sizeof(l->file[i]));
	l->file[i].name = printed(l->arena, name);
	l->file_count++;
	pthread_mutex_unlock(&l->private->lock);
	return i;
}

/* -- the whole ------------------------------------------------------------------------------------------------------------ */

struct logs *logs_new(
	const struct logs_pattern *patterns, size_t count, const char *const *triggers, size_t trigger_count, const char **ret_why)
{
	struct arena *a = arena_new(0);
	struct logs *l = arena_alloc(a, sizeof(*l));
	l->arena = a;
	l->private = arena_alloc(a, sizeof(*l->private));
	l->trigger_count = trigger_count;
	l->private->all_triggers = arena_array(a, trigger_count + NOTES_TRIGGERS, sizeof(char *));
	for (size_t i = 0; i < NOTES_TRIGGERS; i++)
		l->private->all_triggers[i] = notes_triggers[i];
	for (size_t i = 0; i < trigger_count; i++)
		l->private->all_triggers[NOTES_TRIGGERS + i] = triggers[i];
	l->matcher = logs_matcher_new(a, patterns, count, l->private->all_triggers, trigger_count + NOTES_TRIGGERS, ret_why);
	l->pattern_total = arena_array(a, count + 1, sizeof(*l->pattern_total));
	l->private->muted = arena_array(a, count + 1, sizeof(bool));
	pthread_mutex_init(&l->private->lock, NULL);
	fold_init(&l->private->fold, a, l->matcher);
	notes_init(&l->private->notes, a);
	return l;
}

void logs_free(struct logs *l)
{
	if (!l)
		return;
	fold_free(&l->private->fold);
	logs_matcher_free(l->matcher);
	pthread_mutex_destroy(&l->private->lock);
	arena_free(l->arena);
}

static int by_place(const void *x, const void *y)
{
	const struct logs_event *a = *(const struct logs_event *const *)x, *b = *(const struct logs_event *const *)y;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return (a->pattern > b->pattern) - (a->pattern < b->pattern);
}

static int by_rank(const void *x, const void *y)
{
	const struct logs_rank *a = *(const struct logs_rank *const *)x, *b = *(const struct logs_rank *const *)y;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

static int wait_by_place(const void *x, const void *y)
{
	const struct logs_wait *a = *(const struct logs_wait *const *)x, *b = *(const struct logs_wait *const *)y;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return (a->line > b->line) - (a->line < b->line);
}

bool logs_is_default_group(const char *group)
{
	return !group || strcmp(group, "0") == 0 || strcmp(group, "default_pg") == 0;
}

static int64_t global_rank(int64_t rank, int64_t number, int64_t group_rank, const char *group, int64_t local_rank, bool one_host)
{
	if (rank >= 0)
		return rank;
	if (number >= 0)
		return number;
	if (group_rank >= 0 && logs_is_default_group(group))
		return group_rank;
	return one_host ? local_rank : PREFIX_UNSET;
}

static void sort(void *p, size_t n, int (*compare)(const void *, const void *))
{
	if (n > 1)
		qsort(p, n, sizeof(void *), compare);
}

static void order_snippets(struct logs *l)
{
	struct logs_snippet *sorted = NULL; /* few, and nearly in order */
	for (struct logs_snippet *s = l->snippets, *next; s; s = next) {
		struct logs_snippet **at = &sorted;
		next = s->next;
		while (*at && ((*at)->file < s->file || ((*at)->file == s->file && (*at)->first_line <= s->first_line)))
			at = &(*at)->next;
		s->next = *at;
		*at = s;
	}
	l->snippets = sorted;
}

void logs_finish(struct logs *l)
{
	struct notes *n = &l->private->notes;
	bool one_host = n->host_count <= 1;

	l->event = l->private->fold.event;
	l->event_count = l->private->fold.count;
	for (size_t i = 0; i < l->event_count; i++) {
		struct logs_event *e = l->event[i];
		if (e->rank < 0)
			e->rank = notes_rank_of(n, e->host, e->pid);
		e->rank = global_rank(e->rank, e->number, e->group_rank, e->group, e->local_rank, one_host);
	}
	for (size_t i = 0; i < n->wait_count; i++) {
		struct logs_wait *w = n->wait[i];
		w->rank = global_rank(w->rank, w->number, w->group_rank, w->group, w->local_rank, one_host);
	}
	sort(l->event, l->event_count, by_place);
	sort(n->rank, n->rank_count, by_rank);
	sort(n->wait, n->wait_count, wait_by_place);
	l->rank = n->rank;
	l->rank_count = n->rank_count;
	l->wait = n->wait;
	l->wait_count = n->wait_count;
	l->host = n->host;
	l->host_count = n->host_count;
	l->nccl = n->nccl;
	order_snippets(l);
}

const struct logs_pattern *logs_event_pattern(const struct logs *l, const struct logs_event *e)
{
	return logs_matcher_pattern(l->matcher, e->pattern);
}

const char *logs_event_capture(const struct logs_event *e, enum logs_capture which)
{
	for (unsigned i = 0; i < e->capture_count; i++)
		if (e->capture[i].capture == (unsigned)which)
			return e->capture[i].text;
	return NULL;
}
