#include "logs/fold.h"

static const uint32_t kept_max[] = {[LOGS_EVIDENCE] = 1000, [LOGS_CONSEQUENCE] = 500, [LOGS_ADVICE] = 60, [LOGS_NOISE] = 30};
#define REPEATS_MAX 1000

static const size_t text_max[] = {[LOGS_EVIDENCE] = 500, [LOGS_CONSEQUENCE] = 300, [LOGS_ADVICE] = 300, [LOGS_NOISE] = 160};

void fold_init(struct fold *f, struct arena *a, const struct logs_matcher *m)
{
	memset(f, 0, sizeof(*f));
	f->arena = a;
	f->matcher = m;
	f->slot_count = 256;
	f->slot = calloc(f->slot_count, sizeof(struct logs_event *));
	size_t patterns = logs_matcher_pattern_count(m) + 1;
	f->kept = calloc(patterns, sizeof(*f->kept));
	f->repeats = calloc(patterns, sizeof(*f->repeats));
	f->newest = calloc(patterns, sizeof(struct logs_event *));
	if (!f->slot || !f->kept || !f->repeats || !f->newest)
		abort();
}

void fold_free(struct fold *f)
{
	free(f->slot);
	free(f->kept);
	free(f->repeats);
	free(f->newest);
	f->slot = NULL;
	f->kept = f->repeats = NULL;
	f->newest = NULL;
}

static uint64_t hash_bytes(uint64_t h, const void *p, size_t n)
{
	const unsigned char *q = p;
	for (size_t i = 0; i < n; i++)
		h = (h ^ q[i]) * 1099511628211u;
	return h;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Who says it: the best number that is known. */
static bool same_who(const struct logs_event *a, const struct logs_event *b)
{
	if (a->rank != b->rank || a->number != b->number || a->local_rank != b->local_rank || a->group_rank != b->group_rank)
		return false;
	return a->rank >= 0 || (a->pid == b->pid && same_text(a->host, b->host));
}

static bool same_event(const struct logs_event *a, const struct logs_event *b)
{
	if (a->pattern != b->pattern || a->capture_count != b->capture_count || !same_who(a, b))
		return false;
	for (unsigned i = 0; i < a->capture_count; i++)
		if (a->capture[i].capture != b->capture[i].capture || strcmp(a->capture[i].text, b->capture[i].text) != 0)
			return false;
	return true;
}

static uint64_t event_hash(const struct logs_event *e)
{
	uint64_t h = 14695981039346656037u ^ e->pattern;
	int64_t who[4] = {e->rank, e->number, e->local_rank, e->group_rank};
	h = hash_bytes(h, who, sizeof(who));
	for (unsigned i = 0; i < e->capture_count; i++)
		h = hash_bytes(h, e->capture[i].text, strlen(e->capture[i].text));
	return h;
}

static size_t slot_for(const struct fold *f, const struct logs_event *e)
{
	size_t i = event_hash(e) & (f->slot_count - 1);
	while (f->slot[i] && !same_event(f->slot[i], e))
		i = (i + 1) & (f->slot_count - 1);
	return i;
}

static void grow(struct fold *f)
{
	free(f->slot);
	f->slot_count *= 2;
	f->slot = calloc(f->slot_count, sizeof(struct logs_event *));
	if (!f->slot)
		abort();
	for (size_t i = 0; i < f->count; i++)
		f->slot[slot_for(f, f->event[i])] = f->event[i];
}

static const char *keep(struct arena *a, const char *s, size_t max)
{
	return s ? arena_strndup(a, s, strnlen(s, max)) : NULL;
}

static bool is_before(const struct logs_event *a, const struct logs_event *b)
{
	return a->file != b->file ? a->file < b->file : a->line < b->line;
}

static void add_repeat(struct fold *f, struct logs_event *into, unsigned file, size_t line, int64_t rank, double time)
{
	if (f->repeats[into->pattern] >= REPEATS_MAX)
		return;
	f->repeats[into->pattern]++;
	into->repeat = arena_grow(f->arena, into->repeat, into->repeat_count, &into->repeat_cap, sizeof(*into->repeat));
	into->repeat[into->repeat_count++] = (struct logs_repeat){.file = file,
		.line = line,
		.rank = rank >= 0 && rank != into->rank && rank < INT32_MAX ? (int32_t)rank : PREFIX_UNSET,
		.time = time};
}

static void add_repeats(struct fold *f, struct logs_event *into, const struct logs_event *e)
{
	for (size_t i = 0; i < e->repeat_count; i++)
		add_repeat(f, into, e->repeat[i].file, e->repeat[i].line, e->repeat[i].rank >= 0 ? e->repeat[i].rank : e->rank,
			e->repeat[i].time);
}

/* The line of source in a traceback, which holds the words of the error that follows. */
static bool is_source(const char *text)
{
	while (text && (*text == ' ' || *text == '\t'))
		text++;
	return text && strncmp(text, "raise ", 6) == 0;
}

/* Counts are added; the earlier line is the first, and its text stands, unless it is only a line of source. */
static void merge(struct fold *f, struct logs_event *into, const struct logs_event *e, enum logs_class class)
{
	into->count += e->count;
	bool before = is_source(e->text) != is_source(into->text) ? is_source(into->text) : is_before(e, into);
	add_repeat(f, into, before ? into->file : e->file, before ? into->line : e->line, e->rank, before ? into->time : e->time);
	add_repeats(f, into, e);
	if (before) {
		into->file = e->file;
		into->line = e->line;
		into->time = e->time;
		into->text = keep(f->arena, e->text, text_max[class]);
	}
	if (e->file == into->file && e->last_line > into->last_line) {
		into->last_line = e->last_line;
		into->last_time = e->last_time;
	}
}

bool fold_add(struct fold *f, const struct logs_event *e)
{
	enum logs_class class = logs_matcher_pattern(f->matcher, e->pattern)->class;
	size_t i = slot_for(f, e);
	if (f->slot[i]) {
		merge(f, f->slot[i], e, class);
		return true;
	}
	if (f->kept[e->pattern] >= kept_max[class]) {
		add_repeat(f, f->newest[e->pattern], e->file, e->line, e->rank, e->time);
		add_repeats(f, f->newest[e->pattern], e);
		return false;
	}
	f->kept[e->pattern]++;
	struct logs_event *n = arena_alloc(f->arena, sizeof(*n));
	*n = *e;
	n->repeat = NULL;
	n->repeat_count = n->repeat_cap = 0;
	f->newest[e->pattern] = n;
	n->host = keep(f->arena, e->host, 255);
	n->group = keep(f->arena, e->group, 100);
	n->text = keep(f->arena, e->text, text_max[class]);
	n->capture = arena_array(f->arena, e->capture_count + 1, sizeof(*n->capture));
	for (unsigned k = 0; k < e->capture_count; k++)
		n->capture[k] = (struct logs_capture_value){e->capture[k].capture, keep(f->arena, e->capture[k].text, 400)};
	add_repeats(f, n, e);
	f->slot[i] = n;
	f->event = arena_grow(f->arena, f->event, f->count, &f->cap, sizeof(struct logs_event *));
	f->event[f->count++] = n;
	if (f->count * 2 > f->slot_count)
		grow(f);
	return true;
}
