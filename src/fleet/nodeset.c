#include "fleet/nodeset.h"

static void push(struct nodeset *s, uint32_t word, uint32_t repeat, uint64_t bits)
{
	struct nodeset_run *last = s->run_count ? &s->runs[s->run_count - 1] : NULL;
	if (!bits || !repeat)
		return;
	s->count += (uint32_t)__builtin_popcountll(bits) * repeat;
	if (last && last->bits == bits && last->word + last->repeat == word) {
		last->repeat += repeat;
		return;
	}
	if (s->run_count == s->run_cap) {
		uint32_t cap = s->run_cap ? s->run_cap * 2 : 2;
		struct nodeset_run *fresh = realloc(s->runs, cap * sizeof *fresh);
		if (!fresh) {
			fprintf(stderr, "davy: out of memory\n");
			exit(70);
		}
		s->runs = fresh;
		s->run_cap = cap;
	}
	s->runs[s->run_count++] = (struct nodeset_run){bits, word, repeat};
}

void nodeset_free(struct nodeset *s)
{
	free(s->runs);
	*s = (struct nodeset){0};
}

void nodeset_add(struct nodeset *s, uint32_t node)
{
	uint64_t bit = (uint64_t)1 << node % 64;
	uint32_t word = node / 64;
	struct nodeset_run *last = s->run_count ? &s->runs[s->run_count - 1] : NULL;
	if (!last || last->word + last->repeat <= word) {
		push(s, word, 1, bit);
		return;
	}
	if (last->bits & bit)
		return;
	if (last->repeat == 1 && (last->bits | bit) != ~(uint64_t)0) {
		last->bits |= bit;
		s->count++;
		return;
	}
	/* The last word may have looked like those before it until now. */
	uint64_t bits = last->bits | bit;
	s->count -= (uint32_t)__builtin_popcountll(last->bits);
	if (--last->repeat == 0)
		s->run_count--;
	push(s, word, 1, bits);
}

void nodeset_add_all(struct nodeset *s, uint32_t nodes)
{
	push(s, 0, nodes / 64, ~(uint64_t)0);
	push(s, nodes / 64, 1, nodes % 64 ? ((uint64_t)1 << nodes % 64) - 1 : 0);
}

bool nodeset_has(const struct nodeset *s, uint32_t node)
{
	return nodeset_next(s, node) == node;
}

/* Both sets side by side: stretches of words in which neither changes. */
struct walk {
	const struct nodeset *a, *b;
	uint32_t i, j, at;
	uint32_t word, repeat; /* the stretch */
	uint64_t x, y;
};

static void side(const struct nodeset *s, uint32_t *i, uint32_t at, uint64_t *ret_bits, uint32_t *ret_until)
{
	while (*i < s->run_count && s->runs[*i].word + s->runs[*i].repeat <= at)
		++*i;
	const struct nodeset_run *r = *i < s->run_count ? &s->runs[*i] : NULL;
	*ret_bits = r && r->word <= at ? r->bits : 0;
	*ret_until = !r ? UINT32_MAX : r->word <= at ? r->word + r->repeat : r->word;
}

static bool step(struct walk *w)
{
	uint32_t p, q;
	side(w->a, &w->i, w->at, &w->x, &p);
	side(w->b, &w->j, w->at, &w->y, &q);
	uint32_t until = p < q ? p : q;
	if (until == UINT32_MAX)
		return false;
	w->word = w->at;
	w->repeat = until - w->at;
	w->at = until;
	return true;
}

struct nodeset nodeset_and(const struct nodeset *a, const struct nodeset *b)
{
	struct nodeset s = {0};
	for (struct walk w = {a, b, .at = 0}; step(&w);)
		push(&s, w.word, w.repeat, w.x & w.y);
	return s;
}

struct nodeset nodeset_minus(const struct nodeset *a, const struct nodeset *b)
{
	struct nodeset s = {0};
	for (struct walk w = {a, b, .at = 0}; step(&w);)
		push(&s, w.word, w.repeat, w.x & ~w.y);
	return s;
}

struct nodeset nodeset_or(const struct nodeset *a, const struct nodeset *b)
{
	struct nodeset s = {0};
	for (struct walk w = {a, b, .at = 0}; step(&w);)
		push(&s, w.word, w.repeat, w.x | w.y);
	return s;
}

uint32_t nodeset_and_count(const struct nodeset *a, const struct nodeset *b)
{
	uint32_t n = 0;
	for (struct walk w = {a, b, .at = 0}; step(&w);)
		n += (uint32_t)__builtin_popcountll(w.x & w.y) * w.repeat;
	return n;
}

uint32_t nodeset_next(const struct nodeset *s, uint32_t from)
{
	uint32_t word = from / 64, low = 0, high = s->run_count;
	while (low < high) { /* the first run that ends behind `word` */
		uint32_t middle = low + (high - low) / 2;
		if (s->runs[middle].word + s->runs[middle].repeat <= word)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < s->run_count; low++) {
		const struct nodeset_run *r = &s->runs[low];
		uint32_t w = r->word > word ? r->word : word;
		uint64_t bits = w == word ? r->bits & (~(uint64_t)0 << from % 64) : r->bits;
		if (bits)
			return w * 64 + (uint32_t)__builtin_ctzll(bits);
		if (w + 1 < r->word + r->repeat)
			return (w + 1) * 64 + (uint32_t)__builtin_ctzll(r->bits);
	}
	return UINT32_MAX;
}
