#include "logs/logs.h"

/* A snippet as lines: each with its stream and what is left without the launcher's prefix. */
struct source_line {
	struct str body;
	uint64_t stream;
	struct str host;
	size_t number, offset;
};

struct source {
	struct arena *arena;
	struct source_line *line;
	size_t count, cap;
};

static void read_lines(struct source *s, const struct logs_snippet *n)
{
	struct prefix_names *names = arena_alloc(s->arena, sizeof(*names));
	struct str rest = n->text, line, record;
	size_t number = n->first_line;

	names->gutter = prefix_is_gutter(n->text);
	while (str_next_line(&rest, &line)) {
		struct str records = line;
		while (str_next_field(&records, '\r', &record)) {
			struct prefix p;
			prefix_parse(record, names, &p);
			s->line = arena_grow(s->arena, s->line, s->count, &s->cap, sizeof(*s->line));
			s->line[s->count++] = (struct source_line){.body = p.body,
				.stream = p.stream,
				.host = p.host,
				.number = number,
				.offset = (size_t)(record.ptr - n->text.ptr)};
		}
		number++;
	}
}

/* The lines of one stream. */
struct view {
	uint64_t stream;
	bool valid;
	struct logs_line *line;
	size_t *index; /* of each in the source */
	size_t count;
};

static void view_make(struct view *v, struct source *s, uint64_t stream)
{
	if (v->valid && v->stream == stream)
		return;
	if (!v->line) {
		v->line = arena_array(s->arena, s->count + 1, sizeof(*v->line));
		v->index = arena_array(s->arena, s->count + 1, sizeof(*v->index));
	}
	v->valid = true;
	v->stream = stream;
	v->count = 0;
	for (size_t i = 0; i < s->count; i++)
		if (s->line[i].stream == stream) {
			v->index[v->count] = i;
			v->line[v->count++] = (struct logs_line){s->line[i].body, s->line[i].number};
		}
}

static size_t line_at(const struct source *s, size_t offset)
{
	size_t low = 0, high = s->count;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (s->line[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static size_t position(const struct view *v, size_t index)
{
	size_t low = 0, high = v->count;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (v->index[middle] <= index)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The record of the line in which the trigger really stands (a line may hold several). */
static size_t find_record(const struct source *s, size_t at, const char *trigger)
{
	for (size_t i = at; i < s->count && s->line[i].number == s->line[at].number; i++)
		if (str_has(s->line[i].body, trigger))
			return i;
	return at;
}

#define CALLS_MAX 4000 /* for each snippet: then even a file full of triggers ends */

static void dispatch_snippet(struct logs *l, const struct logs_snippet *n, const char *const *triggers, logs_trigger_fn *fn, void *arg)
{
	struct source s = {.arena = arena_new(0)};
	struct view v = {.valid = false};

	read_lines(&s, n);
	bool *consumed = arena_array(s.arena, s.count + 1, sizeof(*consumed));
	size_t calls = 0;
	for (size_t i = 0; i < n->trigger_count && s.count && calls < CALLS_MAX; i++) {
		size_t at = find_record(&s, line_at(&s, n->trigger[i].line), triggers[n->trigger[i].trigger]);
		if (consumed[at])
			continue;
		view_make(&v, &s, s.line[at].stream);
		size_t k = position(&v, at);
		struct logs_lines lines = {.file = l->file[n->file].name, .line = v.line + k, .count = v.count - k};
		if (lines.count > 20000)
			lines.count = 20000;
		if (s.line[at].host.len)
			lines.host = str_dup(s.arena, s.line[at].host);
		for (size_t b = 0; b < 3 && b < k; b++)
			lines.before[b] = v.line[k - 1 - b].text;
		size_t used = fn(arg, n->trigger[i].trigger, &lines);
		calls++;
		for (size_t j = 0; j < used && k + j < v.count; j++)
			consumed[v.index[k + j]] = true;
	}
	arena_free(s.arena);
}

void logs_dispatch(struct logs *l, const char *const *triggers, logs_trigger_fn *fn, void *arg)
{
	for (const struct logs_snippet *n = l->snippets; n; n = n->next)
		dispatch_snippet(l, n, triggers, fn, arg);
}
