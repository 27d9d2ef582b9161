#include "logs/filter.h"

#include <ctype.h>

#define LONG_MIN 11  /* four windows of eight bytes */
#define SHORT_MIN 7  /* four windows of four bytes */
#define BITS 19
#define COUNT_BITS 16
#define SHORT_BITS 12

/* Windows of usual log text are bad representatives even when only one pattern has them. */
static const char common_text[] =
	" NCCL INFO NCCL WARN [rank0]: [rank1]:[E ProcessGroupNCCL.cpp:632] [Rank 0] [default0]: torch/distributed/elastic/multiprocessing/api.py:869] "
	"Traceback (most recent call last): File \"/usr/local/lib/python3.10/dist-packages/torch/ line 100, in <module> in forward return self._call_impl(*args, **kwargs) "
	"Channel 00/0 : 0[0] -> 1[1] via P2P/IPC via P2P/CUMEM/read comm 0x rank 0 nranks 8 cudaDev 0 nvmlDev 0 busId 1000 commId - Init COMPLETE Init START "
	"Trees [0] 1/-1/-1->0->-1 Connected all rings Connected all trees threadThresholds NET/IB : Using [0]mlx5_0:1/IB NET/Socket : Using network "
	"INFO WARNING ERROR DEBUG error Error warning Warning failed Failed failure RuntimeError: Exception exception training loss: step iter epoch learning rate "
	"grad_norm samples/sec elapsed time per iteration (ms): consumed samples global batch size number of skipped iterations number of nan iterations "
	"100%|          | 0/100 [00:00<?, ?it/s] Loading checkpoint shards Setting OMP_NUM_THREADS environment variable for each process to be 1 in default "
	"collective operation timeout WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds before timing out. "
	"2024-01-01 00:00:00,000 2025-06-02T08:01:55.123Z stdout F stderr F  process group  distributed  initialized  could not  cannot  unable to  is not  does not  the file  "
	"connection  timeout  timed out  device  memory  version  library  python  kernel  system  module  package  install  support  found  expected  invalid  parameter ";

struct slot {
	uint64_t window;
	uint32_t first; /* chain of entries, 0: empty slot */
	uint8_t width;
};

struct entry {
	uint32_t literal, next; /* next: 0 ends */
	uint16_t offset;        /* of the window in the literal */
};

struct filter {
	uint64_t *bits8, *bits4;
	struct slot *slots;
	size_t slot_mask;
	struct entry *entries;
	size_t entry_count, entry_cap;
	const struct filter_literal *literals;
	uint32_t *shorts; /* literals of less than SHORT_MIN bytes */
	size_t short_count;
	uint32_t *short_head, *short_next; /* chains of them by their first four bytes, whatever the case: index + 1, 0 ends */
	bool has4;
	struct arena *arena;
};

static inline uint64_t load64(const char *p)
{
	uint64_t v;
	memcpy(&v, p, 8);
	return v;
}

static inline uint32_t load32(const char *p)
{
	uint32_t v;
	memcpy(&v, p, 4);
	return v;
}

static inline uint32_t hash8(uint64_t v)
{
	return (uint32_t)((v * 0x9e3779b97f4a7c15u) >> (64 - BITS));
}

static inline uint32_t hash4(uint32_t v)
{
	return (v * 0x9e3779b1u) >> (32 - BITS);
}

/* Of the first four bytes of a short literal, without the bit that makes capitals. */
static inline uint32_t hash_short(const char *p)
{
	return ((load32(p) | 0x20202020u) * 0x9e3779b1u) >> (32 - SHORT_BITS);
}

static inline bool bit_get(const uint64_t *bits, uint32_t i)
{
	return bits[i >> 6] >> (i & 63) & 1;
}

static void bit_set(uint64_t *bits, uint32_t i)
{
	bits[i >> 6] |= (uint64_t)1 << (i & 63);
}

/* -- choosing windows --------------------------------------------------------------------------------------------------- */

struct counts {
	uint16_t *of4, *of8;
};

static uint32_t count4(uint32_t v)
{
	return (v * 0x9e3779b1u) >> (32 - COUNT_BITS);
}

static uint32_t count8(uint64_t v)
{
	return (uint32_t)((v * 0x9e3779b97f4a7c15u) >> (64 - COUNT_BITS));
}

static void count_add(uint16_t *c, unsigned by)
{
	*c = (uint16_t)(*c + by < 60000 ? *c + by : 60000);
}

static void count_text(struct counts *c, struct str s, unsigned weight)
{
	for (size_t i = 0; i + 8 <= s.len; i++)
		count_add(&c->of8[count8(load64(s.ptr + i))], weight);
	for (size_t i = 0; i + 4 <= s.len; i++)
		count_add(&c->of4[count4(load32(s.ptr + i))], weight);
}

static size_t choose(const struct counts *c, struct str s, size_t width)
{
	size_t best = 0, room = s.len - (width + 3);
	unsigned best_cost = UINT32_MAX;
	for (size_t o = 0; o <= room; o++) {
		unsigned cost = 0;
		for (size_t k = 0; k < 4; k++)
			cost += width == 8 ? c->of8[count8(load64(s.ptr + o + k))] : c->of4[count4(load32(s.ptr + o + k))];
		if (cost < best_cost) {
			best_cost = cost;
			best = o;
		}
	}
	return best;
}

/* -- building ------------------------------------------------------------------------------------------------------------ */

static struct slot *slot_of(const struct filter *f, uint64_t window, uint8_t width)
{
	size_t i = (size_t)((window * 0x9e3779b97f4a7c15u) >> 32) + width;
	for (;; i++) {
		struct slot *s = &f->slots[i & f->slot_mask];
		if (!s->first || (s->window == window && s->width == width))
			return s;
	}
}

static void add_window(struct filter *f, uint64_t window, uint8_t width, uint32_t literal, size_t offset)
{
	struct slot *s = slot_of(f, window, width);
	s->window = window;
	s->width = width;
	f->entries[f->entry_count] = (struct entry){.literal = literal, .next = s->first, .offset = (uint16_t)offset};
	s->first = (uint32_t)f->entry_count++;
	if (width == 8)
		bit_set(f->bits8, hash8(window));
	else
		bit_set(f->bits4, hash4((uint32_t)window));
}

/* All spellings of four bytes that are a lower-case window. */
static void add_nocase(struct filter *f, const char *p, uint32_t literal, size_t offset)
{
	for (unsigned m = 0; m < 16; m++) {
		char w[4];
		bool same = false;
		for (unsigned k = 0; k < 4; k++) {
			bool letter = p[k] >= 'a' && p[k] <= 'z';
			same |= (m >> k & 1) && !letter;
			w[k] = (m >> k & 1) ? (char)toupper((unsigned char)p[k]) : p[k];
		}
		if (!same)
			add_window(f, load32(w), 4, literal, offset);
	}
}

/* The bytes of usual text: printable ones and three blanks. */
#define USUAL 98u

static char usual(unsigned i)
{
	return i < 95 ? (char)(32 + i) : "\n\r\t"[i - 95];
}

/* A text of four to six bytes: where no aligned window lies inside it, the bytes around are enumerated. Only bits are set; the
 * comparison goes over the list of short literals. */
static void add_short_at(struct filter *f, struct str s, int k)
{
	char w[4];
	int unknown[4], n = 0;
	for (int i = 0; i < 4; i++) {
		int at = k + i;
		if (at >= 0 && at < (int)s.len)
			w[i] = s.ptr[at];
		else
			unknown[n++] = i;
	}
	for (unsigned a = 0; a < (n > 1 ? USUAL : n ? 256 : 1); a++) {
		if (n)
			w[unknown[0]] = n > 1 ? usual(a) : (char)a;
		for (unsigned b = 0; b < (n > 1 ? USUAL : 1); b++) {
			if (n > 1)
				w[unknown[1]] = usual(b);
			bit_set(f->bits4, hash4(load32(w)));
		}
	}
}

static void add_short(struct filter *f, struct str s)
{
	for (int a = 0; a < 4; a++) { /* the literal begins at a position ≡ a: windows at k ≡ -a (mod 4) */
		int best = 0, best_known = -1;
		for (int k = -3; k < (int)s.len; k++) {
			if (((k + a) & 3) != 0)
				continue;
			int known = 0;
			for (int i = 0; i < 4; i++)
				known += k + i >= 0 && k + i < (int)s.len;
			if (known > best_known) {
				best_known = known;
				best = k;
			}
		}
		add_short_at(f, s, best);
	}
}

static void add_literal(struct filter *f, const struct counts *c, uint32_t i)
{
	const struct filter_literal *l = &f->literals[i];
	if (l->text.len < SHORT_MIN) {
		uint32_t *head = &f->short_head[hash_short(l->text.ptr)];
		f->shorts[f->short_count] = i;
		f->short_next[f->short_count] = *head;
		*head = (uint32_t)++f->short_count;
		if (!l->nocase) {
			add_short(f, l->text);
			return;
		}
		for (unsigned m = 0; m < 1u << l->text.len; m++) {
			char w[SHORT_MIN];
			for (size_t k = 0; k < l->text.len; k++)
				w[k] = (m >> k & 1) ? (char)toupper((unsigned char)l->text.ptr[k]) : l->text.ptr[k];
			add_short(f, str_n(w, l->text.len));
		}
		return;
	}
	size_t width = l->text.len >= LONG_MIN && !l->nocase ? 8 : 4;
	size_t at = choose(c, l->text, width);
	for (size_t k = 0; k < 4; k++) {
		const char *p = l->text.ptr + at + k;
		if (l->nocase)
			add_nocase(f, p, i, at + k);
		else
			add_window(f, width == 8 ? load64(p) : load32(p), (uint8_t)width, i, at + k);
	}
}

struct filter *filter_new(struct arena *a, const struct filter_literal *literals, size_t count)
{
	struct filter *f = arena_alloc(a, sizeof(*f));
	size_t windows = 1, slots = 64;
	for (size_t i = 0; i < count; i++)
		windows += literals[i].nocase ? 64 : 4;
	while (slots < windows * 2)
		slots *= 2;
	f->arena = a;
	f->literals = literals;
	f->bits8 = arena_array(a, ((size_t)1 << BITS) / 64, 8);
	f->bits4 = arena_array(a, ((size_t)1 << BITS) / 64, 8);
	f->slots = arena_array(a, slots, sizeof(*f->slots));
	f->slot_mask = slots - 1;
	f->entries = arena_array(a, windows, sizeof(*f->entries));
	f->entry_count = 1;
	f->shorts = arena_array(a, count + 1, sizeof(*f->shorts));
	f->short_head = arena_array(a, (size_t)1 << SHORT_BITS, sizeof(*f->short_head));
	f->short_next = arena_array(a, count + 1, sizeof(*f->short_next));

	struct counts c = {.of4 = calloc((size_t)1 << COUNT_BITS, 2), .of8 = calloc((size_t)1 << COUNT_BITS, 2)};
	if (!c.of4 || !c.of8)
		abort();
	count_text(&c, STR(common_text), 50);
	for (size_t i = 0; i < count; i++)
		count_text(&c, literals[i].text, 1);
	for (size_t i = 0; i < count; i++)
		add_literal(f, &c, (uint32_t)i);
	free(c.of4);
	free(c.of8);
	for (size_t i = 0; i < ((size_t)1 << BITS) / 64 && !f->has4; i++)
		f->has4 = f->bits4[i] != 0;
	return f;
}

/* -- scanning ------------------------------------------------------------------------------------------------------------ */

struct scan {
	const char *p, *end;
	filter_hit_fn *hit;
	void *arg;
};

static bool same_nocase(const char *p, struct str lower)
{
	for (size_t i = 0; i < lower.len; i++)
		if (tolower((unsigned char)p[i]) != lower.ptr[i])
			return false;
	return true;
}

static void check_literal(const struct filter *f, const struct scan *s, uint32_t literal, const char *at)
{
	const struct filter_literal *l = &f->literals[literal];
	if (at < s->p || (size_t)(s->end - at) < l->text.len)
		return;
	if (l->nocase ? same_nocase(at, l->text) : memcmp(at, l->text.ptr, l->text.len) == 0)
		s->hit(s->arg, l->owner, (size_t)(at - s->p));
}

static void check_window(const struct filter *f, const struct scan *s, const char *at, uint64_t window, uint8_t width)
{
	const struct slot *slot = slot_of(f, window, width);
	for (uint32_t e = slot->first; e; e = f->entries[e].next)
		check_literal(f, s, f->entries[e].literal, at - f->entries[e].offset);
}

/* Short literals around the window at `at`, in the order of the text; one may be reported by more than one window, the caller does not mind. */
static void check_shorts(const struct filter *f, const struct scan *s, const char *at)
{
	for (const char *q = at - (SHORT_MIN - 2); q < at + 4; q++)
		for (uint32_t i = f->short_head[hash_short(q)]; i; i = f->short_next[i - 1])
			check_literal(f, s, f->shorts[i - 1], q);
}

static __attribute__((noinline)) void look_closer(const struct filter *f, const struct scan *s, const char *at)
{
	uint64_t v = load64(at);
	bool four = bit_get(f->bits4, hash4((uint32_t)v));
	if (four && f->short_count)
		check_shorts(f, s, at);
	if (bit_get(f->bits8, hash8(v)))
		check_window(f, s, at, v, 8);
	if (four)
		check_window(f, s, at, (uint32_t)v, 4);
}

void filter_scan(const struct filter *f, const char *p, size_t n, filter_hit_fn *hit, void *arg)
{
	struct scan s = {.p = p, .end = p + n, .hit = hit, .arg = arg};
	const uint64_t *bits8 = f->bits8, *bits4 = f->bits4;
	size_t i = 0;

	/* A window may begin before p: literals that start within the first bytes are found by their later windows, the short ones need the pad. */
	if (f->short_count && n)
		look_closer(f, &s, p - 4);
	for (; i + 16 <= n; i += 16) {
		uint64_t v0 = load64(p + i), v1 = load64(p + i + 4), v2 = load64(p + i + 8), v3 = load64(p + i + 12);
		bool h0 = bit_get(bits8, hash8(v0)) | bit_get(bits4, hash4((uint32_t)v0));
		bool h1 = bit_get(bits8, hash8(v1)) | bit_get(bits4, hash4((uint32_t)v1));
		bool h2 = bit_get(bits8, hash8(v2)) | bit_get(bits4, hash4((uint32_t)v2));
		bool h3 = bit_get(bits8, hash8(v3)) | bit_get(bits4, hash4((uint32_t)v3));
		if (__builtin_expect(!(h0 | h1 | h2 | h3), 1))
			continue;
		if (h0)
			look_closer(f, &s, p + i);
		if (h1)
			look_closer(f, &s, p + i + 4);
		if (h2)
			look_closer(f, &s, p + i + 8);
		if (h3)
			look_closer(f, &s, p + i + 12);
	}
	for (; i < n; i += 4)
		look_closer(f, &s, p + i);
}
