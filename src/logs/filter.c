#include "logs/filter.h"

#include <ctype.h>
#include <limits.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#define WIDE_MIN 11 /* four windows of eight bytes; shorter ones have two of four bytes */
#define WIDE_BITS 19
#define NARROW_BITS 17
#define SURE_BITS 19
#define COUNT_BITS 16
#define CHAIN_MAX 24 /* literals that share a window */

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
	"megatron.training logging.py:96:log_dist] checkpoint saved to /ckpt/ skipped=0, lr=[1.0e-04], mom=[(0.9, 0.95)] 'grad_norm': 0.1, loaded shard of dataset number of tokens/s "
	"AllReduce: opCount sendbuff recvbuff count datatype op root comm [nranks=8] stream Setting affinity for GPU Ring Tree [send] via NET/IB/0/GDRDMA [receive] "
	"validation perplexity in seconds exit read write for Setting size shape dtype device cuda:0 bfloat16 million parameters total trainable weights model layers hidden "
	"heads attention tokens samples batch optimizer scheduler gradient evaluating saving saved resumed started finished time left memory allocated reserved GiB "
	"connection  timeout  timed out  device  memory  version  library  python  kernel  system  module  package  install  support  found  expected  invalid  parameter ";

struct slot {
	uint64_t window;
	uint32_t first; /* chain of entries, 0: empty slot */
	uint16_t length;
	uint8_t width;
};

struct entry {
	uint32_t literal, next; /* next: 0 ends */
	uint16_t offset;        /* of the window in the literal */
};

#define WORDS(bits) (((size_t)1 << (bits)) / 32)

/* What the scan looks at first: a bit for each window. */
struct filter_bits {
	uint32_t wide[WORDS(WIDE_BITS)], narrow[WORDS(NARROW_BITS)]; /* windows of eight and of four bytes */
	uint32_t sure[WORDS(SURE_BITS)];                             /* both again, by another hash: asked when the first says yes */
};

struct filter {
	const struct filter_bits *bits;
	struct slot *slots;
	size_t slot_mask;
	struct entry *entries;
	size_t entry_count;
	const struct filter_literal *literals;
	uint16_t *at; /* by literal: offset of its first window */
	size_t count;
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

#define MIX_LOW 0x9e3779b1u
#define MIX_HIGH 0x85ebca77u

static inline uint32_t hash8(uint64_t v)
{
	return ((uint32_t)v * MIX_LOW + (uint32_t)(v >> 32) * MIX_HIGH) >> (32 - WIDE_BITS);
}

static inline uint32_t hash8_sure(uint64_t v)
{
	return (uint32_t)(((v ^ v >> 29) * 0xbf58476d1ce4e5b9u) >> (64 - SURE_BITS));
}

static inline uint32_t hash4(uint32_t v)
{
	return (v * MIX_LOW) >> (32 - NARROW_BITS);
}

static inline uint32_t hash4_sure(uint32_t v)
{
	return ((v ^ v >> 15) * 0x85ebca6bu) >> (32 - SURE_BITS);
}

static inline uint32_t bit_get(const uint32_t *bits, uint32_t i)
{
	return bits[i >> 5] >> (i & 31) & 1;
}

static void bit_set(uint32_t *bits, uint32_t i)
{
	bits[i >> 5] |= (uint32_t)1 << (i & 31);
}

/* The numbers of the bits set in a byte, in order. Filled before the first scan. */
static uint64_t numbers[256];

static void fill_numbers(void)
{
	for (unsigned m = 0; m < 256; m++) {
		unsigned n = 0;
		numbers[m] = 0;
		for (unsigned i = 0; i < 8; i++)
			if (m >> i & 1)
				numbers[m] |= (uint64_t)i << (8 * n++);
	}
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

static bool is_wide(const struct filter_literal *l)
{
	return l->text.len >= WIDE_MIN && !l->nocase;
}

static size_t windows_of(const struct filter_literal *l)
{
	return is_wide(l) ? 4 : l->text.len > 4 ? 2 : 1;
}

/* Calls `each` for all spellings of n bytes: one, or for a literal of any case all that its letters allow. */
typedef void spelling_fn(void *arg, const char *bytes, size_t literal, size_t offset);

static void spellings(const struct filter_literal *l, size_t literal, size_t offset, size_t n, spelling_fn *each, void *arg)
{
	const char *p = l->text.ptr + offset;
	if (!l->nocase) {
		each(arg, p, literal, offset);
		return;
	}
	for (unsigned m = 0; m < 1u << n; m++) {
		char w[4];
		bool same = false;
		for (size_t k = 0; k < n; k++) {
			same |= (m >> k & 1) && !(p[k] >= 'a' && p[k] <= 'z');
			w[k] = (m >> k & 1) ? (char)toupper((unsigned char)p[k]) : p[k];
		}
		if (!same)
			each(arg, w, literal, offset);
	}
}

static void add_entry(void *arg, const char *bytes, size_t literal, size_t offset)
{
	struct filter *f = arg;
	uint8_t width = is_wide(&f->literals[literal]) ? 8 : 4;
	uint64_t window = width == 8 ? load64(bytes) : load32(bytes);
	struct slot *s = slot_of(f, window, width);
	s->window = window;
	s->width = width;
	f->entries[f->entry_count] = (struct entry){.literal = (uint32_t)literal, .next = s->first, .offset = (uint16_t)offset};
	s->first = (uint32_t)f->entry_count++;
	s->length += s->length < UINT16_MAX;
}

static void set_narrow(void *arg, const char *bytes, size_t literal, size_t offset)
{
	struct filter_bits *b = arg;
	(void)literal;
	(void)offset;
	bit_set(b->narrow, hash4(load32(bytes)));
	bit_set(b->sure, hash4_sure(load32(bytes)));
}

/* A literal of four bytes at an odd place: the window is any byte and its first three. */
static void set_odd(void *arg, const char *bytes, size_t literal, size_t offset)
{
	struct filter_bits *b = arg;
	char w[4] = {0, bytes[0], bytes[1], bytes[2]};
	(void)literal;
	(void)offset;
	for (int c = 0; c < 256; c++) {
		w[0] = (char)c;
		bit_set(b->narrow, hash4(load32(w)));
		bit_set(b->sure, hash4_sure(load32(w)));
	}
}

static void set_bits(const struct filter *f, struct filter_bits *b, size_t i)
{
	const struct filter_literal *l = &f->literals[i];
	for (size_t k = 0; k < windows_of(l); k++) {
		if (is_wide(l)) {
			uint64_t v = load64(l->text.ptr + f->at[i] + k);
			bit_set(b->wide, hash8(v));
			bit_set(b->sure, hash8_sure(v));
		} else {
			spellings(l, i, f->at[i] + k, 4, set_narrow, b);
		}
	}
	if (l->text.len == 4)
		spellings(l, i, 0, 3, set_odd, b);
}

struct filter_bits *filter_bits_without(const struct filter *f, const bool *muted, struct filter_bits *reuse)
{
	struct filter_bits *b = reuse;
	if (b)
		memset(b, 0, sizeof(*b));
	else if (!(b = calloc(1, sizeof(*b))))
		abort();
	for (size_t i = 0; i < f->count; i++)
		if (!muted || !muted[f->literals[i].owner])
			set_bits(f, b, i);
	return b;
}

#define CHOICE_MAX 256 /* places in a literal among which is chosen */

/* A window is the better the rarer it is in usual text; of equal ones those that other literals have too, so that few bits are set, but not
 * too many have. */
static unsigned window_cost(const struct filter *f, const struct counts *c, const char *p, uint8_t width)
{
	uint64_t window = width == 8 ? load64(p) : load32(p);
	unsigned common = width == 8 ? c->of8[count8(window)] : c->of4[count4((uint32_t)window)];
	const struct slot *s = slot_of(f, window, width);
	return common * 64 + (!s->first ? 8 : s->length >= CHAIN_MAX ? s->length : 0);
}

/* The place whose windows cost least. */
static size_t choose(const struct filter *f, const struct counts *c, const struct filter_literal *l)
{
	uint8_t width = is_wide(l) ? 8 : 4;
	size_t best = 0, windows = windows_of(l), room = l->text.len - (width + windows - 1);
	unsigned cost[CHOICE_MAX + 4], best_sum = UINT_MAX;
	if (room == 0)
		return 0;
	if (l->placed && l->place <= room)
		return l->place;
	room = room < CHOICE_MAX ? room : CHOICE_MAX;
	for (size_t o = 0; o < room + windows; o++)
		cost[o] = window_cost(f, c, l->text.ptr + o, width);
	for (size_t o = 0; o <= room; o++) {
		unsigned sum = 0;
		for (size_t k = 0; k < windows; k++)
			sum += cost[o + k];
		if (sum < best_sum) {
			best_sum = sum;
			best = o;
		}
	}
	return best;
}

/* Short literals first: they have no choice, and longer ones may share their windows. */
static void add_literals(struct filter *f, const struct counts *c)
{
	for (size_t from = 0, to = 16; from < UINT16_MAX; from = to, to *= 2)
		for (size_t i = 0; i < f->count; i++) {
			const struct filter_literal *l = &f->literals[i];
			if (l->text.len < from || l->text.len >= to)
				continue;
			f->at[i] = (uint16_t)choose(f, c, l);
			for (size_t k = 0; k < windows_of(l); k++)
				spellings(l, i, f->at[i] + k, 4, add_entry, f);
		}
}

struct filter *filter_new(struct arena *a, const struct filter_literal *literals, size_t count)
{
	struct filter *f = arena_alloc(a, sizeof(*f));
	size_t windows = 1, slots = 64;
	for (size_t i = 0; i < count; i++)
		windows += literals[i].nocase ? 32 : 4;
	while (slots < windows + windows / 4) /* literals of any case need fewer than their most */
		slots *= 2;
	fill_numbers();
	f->literals = literals;
	f->count = count;
	f->at = arena_array(a, count + 1, sizeof(*f->at));
	f->slots = arena_array(a, slots, sizeof(*f->slots));
	f->slot_mask = slots - 1;
	f->entries = arena_array(a, windows, sizeof(*f->entries));
	f->entry_count = 1;

	struct counts c = {.of4 = calloc((size_t)1 << COUNT_BITS, 2), .of8 = calloc((size_t)1 << COUNT_BITS, 2)};
	if (!c.of4 || !c.of8)
		abort();
	count_text(&c, STR(common_text), 1);
	add_literals(f, &c);
	free(c.of4);
	free(c.of8);
	struct filter_bits *bits = arena_alloc(a, sizeof(*bits));
	f->bits = filter_bits_without(f, NULL, bits);
	return f;
}

uint16_t filter_place(const struct filter *f, size_t literal)
{
	return f->at[literal];
}

/* -- scanning ------------------------------------------------------------------------------------------------------------ */

struct scan {
	const struct filter *f;
	const struct filter_bits *bits;
	const char *p, *end;
	filter_hit_fn *hit;
	void *arg;
};

static bool same_nocase(const char *p, struct str lower)
{
	for (size_t i = 0; i < lower.len; i++)
		if (tolower((unsigned char)p[i]) != (unsigned char)lower.ptr[i])
			return false;
	return true;
}

static void check_literal(const struct scan *s, uint32_t literal, const char *at)
{
	const struct filter_literal *l = &s->f->literals[literal];
	if (at < s->p || (size_t)(s->end - at) < l->text.len)
		return;
	if (l->nocase ? same_nocase(at, l->text) : memcmp(at, l->text.ptr, l->text.len) == 0)
		s->hit(s->arg, l->owner, (size_t)(at - s->p));
}

static void check_window(const struct scan *s, const char *at, uint64_t window, uint8_t width)
{
	const struct filter *f = s->f;
	for (uint32_t e = slot_of(f, window, width)->first; e; e = f->entries[e].next)
		check_literal(s, f->entries[e].literal, at - f->entries[e].offset);
}

/* Bits of `look`: which windows of a position deserve a closer look. */
enum { WIDE = 1, FIRST = 2, SECOND = 4 };

static inline unsigned is_sure(const struct filter_bits *b, uint64_t v)
{
	uint32_t first = (uint32_t)v, second = (uint32_t)(v >> 16);
	return (unsigned)((bit_get(b->wide, hash8(v)) & bit_get(b->sure, hash8_sure(v))) * WIDE |
		(bit_get(b->narrow, hash4(first)) & bit_get(b->sure, hash4_sure(first))) * FIRST |
		(bit_get(b->narrow, hash4(second)) & bit_get(b->sure, hash4_sure(second))) * SECOND);
}

/* Four bytes at an even place, or one byte behind it for literals of four. */
static void look_narrow(const struct scan *s, const char *at)
{
	check_window(s, at, load32(at), 4);
	check_window(s, at + 1, load32(at + 1), 4);
}

static void look_closer(const struct scan *s, const char *at)
{
	uint64_t v = load64(at);
	unsigned look = is_sure(s->bits, v);
	if (look & WIDE)
		check_window(s, at, v, 8);
	if (look & FIRST)
		look_narrow(s, at);
	if (look & SECOND)
		look_narrow(s, at + 2);
}

static inline unsigned glance(const struct filter_bits *b, uint64_t v)
{
	return (unsigned)(bit_get(b->wide, hash8(v)) | bit_get(b->narrow, hash4((uint32_t)v)) |
		bit_get(b->narrow, hash4((uint32_t)(v >> 16))));
}

#define BLOCK 1024 /* bytes; every fourth is a position that one byte numbers */

/* Positions whose bits are set; then those that stand the second test. Without a branch for each: guesses would be wrong too often. */
static size_t collect_plain(const struct filter_bits *b, const char *p, uint8_t *at)
{
	size_t n = 0;
	for (unsigned i = 0; i < BLOCK / 4; i++) {
		at[n] = (uint8_t)i;
		n += glance(b, load64(p + 4 * i));
	}
	return n;
}

#ifdef __x86_64__
#define AVX2 __attribute__((target("avx2,popcnt")))

AVX2 static inline __m256i bits_at(const uint32_t *bits, __m256i h)
{
	__m256i word = _mm256_i32gather_epi32((const int *)bits, _mm256_srli_epi32(h, 5), 4);
	return _mm256_srlv_epi32(word, _mm256_and_si256(h, _mm256_set1_epi32(31)));
}

/* Eight positions at a time: their four bytes stand side by side in memory, and so do the next four. */
AVX2 static size_t collect_avx2(const struct filter_bits *b, const char *p, uint8_t *at)
{
	const __m256i low = _mm256_set1_epi32((int)MIX_LOW), high = _mm256_set1_epi32((int)MIX_HIGH);
	size_t n = 0;
	for (unsigned i = 0; i < BLOCK / 32; i++) {
		const __m256i *q = (const __m256i *)(const void *)(p + 32 * i);
		__m256i first = _mm256_mullo_epi32(_mm256_loadu_si256(q), low);
		__m256i second = _mm256_mullo_epi32(_mm256_loadu_si256((const __m256i *)(const void *)((const char *)q + 2)), low);
		__m256i wide = _mm256_add_epi32(
			first, _mm256_mullo_epi32(_mm256_loadu_si256((const __m256i *)(const void *)((const char *)q + 4)), high));
		__m256i set = _mm256_or_si256(bits_at(b->wide, _mm256_srli_epi32(wide, 32 - WIDE_BITS)),
			_mm256_or_si256(bits_at(b->narrow, _mm256_srli_epi32(first, 32 - NARROW_BITS)),
				bits_at(b->narrow, _mm256_srli_epi32(second, 32 - NARROW_BITS))));
		unsigned mask = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_slli_epi32(set, 31)));
		uint64_t eight = numbers[mask] + i * 0x0808080808080808u;
		memcpy(at + n, &eight, 8);
		n += (unsigned)__builtin_popcount(mask);
	}
	return n;
}
#endif

void filter_scan(const struct filter *f, const struct filter_bits *bits, const char *p, size_t n, filter_hit_fn *hit, void *arg)
{
	struct scan s = {.f = f, .bits = bits ? bits : f->bits, .p = p, .end = p + n, .hit = hit, .arg = arg};
	size_t (*collect)(const struct filter_bits *, const char *, uint8_t *) = collect_plain;
	uint8_t at[BLOCK / 4 + 8];
	size_t i = 0;

#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		collect = collect_avx2;
#endif
	for (; i + BLOCK <= n; i += BLOCK) {
		size_t count = collect(s.bits, p + i, at), sure = 0;
		for (size_t k = 0; k < count; k++) {
			at[sure] = at[k];
			sure += is_sure(s.bits, load64(p + i + 4 * (size_t)at[k])) != 0;
		}
		for (size_t k = 0; k < sure; k++)
			look_closer(&s, p + i + 4 * (size_t)at[k]);
	}
	for (; i < n; i += 4)
		look_closer(&s, p + i);
}
