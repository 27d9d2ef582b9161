#include "parse/elf_undefined.h"

#define NAMES_MAX 1000000u

struct name {
	const char *text;
	uint32_t hash;
	bool resolved;
};

#define BEGINNINGS 65536u

struct elf_undefined {
	uint64_t beginning[BEGINNINGS /
		64];        /* a bit for each way in which a wanted name begins: most names of other libraries begin otherwise */
	struct name *names; /* in the order of the table */
	size_t count, left;
	uint32_t *slots; /* index + 1; 0: free */
	size_t mask;
};

/* As DT_GNU_HASH has it. */
static uint32_t hash(const char *s)
{
	uint32_t h = 5381;
	while (*s)
		h = h * 33 + (unsigned char)*s++;
	return h;
}

/* By the first eight letters. */
static uint32_t beginning_of(const char *s)
{
	uint64_t x = 0;
	for (int i = 0; i < 8 && s[i]; i++)
		x = x << 8 | (unsigned char)s[i];
	return (uint32_t)(x * 0x9E3779B97F4A7C15u >> 48);
}

static uint32_t *slot_of(const struct elf_undefined *u, const char *text, uint32_t h)
{
	size_t i = h & u->mask;
	while (u->slots[i] && (u->names[u->slots[i] - 1].hash != h || strcmp(u->names[u->slots[i] - 1].text, text) != 0))
		i = (i + 1) & u->mask;
	return &u->slots[i];
}

struct elf_undefined *parse_elf_undefined(struct arena *a, struct elf *needing, elf_undefined_skip *skip, const void *arg)
{
	if (parse_elf_symbols(needing) < 0 || needing->symbol_count > NAMES_MAX)
		return NULL;
	struct elf_undefined *u = arena_alloc(a, sizeof *u);
	size_t size = 64;
	while (size < needing->symbol_count * 2)
		size *= 2;
	*u = (struct elf_undefined){.names = arena_array(a, needing->symbol_count + 1, sizeof *u->names),
		.slots = arena_array(a, size, sizeof *u->slots),
		.mask = size - 1};
	for (size_t i = 1; i < needing->symbol_count; i++) {
		struct elf_symbol s;
		if (!parse_elf_symbol(needing, i, &s) || s.defined || s.bind != 1 || !*s.name || (skip && skip(s.name, arg)))
			continue;
		uint32_t h = hash(s.name), *slot = slot_of(u, s.name, h);
		if (*slot)
			continue;
		uint32_t b = beginning_of(s.name);
		u->beginning[b / 64] |= 1ull << b % 64;
		u->names[u->count] = (struct name){s.name, h, false};
		*slot = (uint32_t)++u->count;
	}
	u->left = u->count;
	return u;
}

bool parse_elf_undefined_any(const struct elf_undefined *u)
{
	return u->left > 0;
}

/* The name of a symbol that others can use; NULL: it is undefined or local. */
static const char *provided(const struct elf *provider, size_t index)
{
	const unsigned char *p = provider->symtab + index * 24;
	uint32_t at = parse_u32(p);
	return parse_u16(p + 6) == 0 || p[4] >> 4 == 0 || at >= provider->dynstr.len ? NULL : provider->dynstr.ptr + at;
}

static void resolve(struct elf_undefined *u, struct name *name)
{
	u->left -= !name->resolved;
	name->resolved = true;
}

/* DT_GNU_HASH: a filter of 64-bit words, then for each bucket the index of its first symbol, then from symbol `first` on a hash for each,
 * whose last bit ends the bucket. It says of most libraries that they have none of the names, so that their symbols need not be read. */
struct gnu_hash {
	uint32_t buckets, first, words, shift;
	size_t symbols;
	const char *filter, *bucket, *hashes;
};

#define GNU_HASH_MAX (64u << 20)

static bool read_gnu_hash(const struct elf *e, struct gnu_hash *ret)
{
	struct str head, body;
	if (!e->gnu_hash_offset || parse_elf_bytes(e, e->gnu_hash_offset, 16, 16, &head) < 0)
		return false;
	*ret = (struct gnu_hash){
		parse_u32(head.ptr), parse_u32(head.ptr + 4), parse_u32(head.ptr + 8), parse_u32(head.ptr + 12), 0, 0, 0, 0};
	if (!ret->buckets || !ret->words || (ret->words & (ret->words - 1)) || ret->shift > 31 || ret->first > e->symbol_count)
		return false;
	ret->symbols = e->symbol_count - ret->first;
	uint64_t filter = ret->words * 8ull, bucket = ret->buckets * 4ull;
	if (parse_elf_bytes(e, e->gnu_hash_offset + 16, filter + bucket + ret->symbols * 4ull, GNU_HASH_MAX, &body) < 0)
		return false;
	ret->filter = body.ptr;
	ret->bucket = ret->filter + filter;
	ret->hashes = ret->bucket + bucket;
	return true;
}

static bool may_have(const struct gnu_hash *t, uint32_t h)
{
	uint64_t bits = 1ull << h % 64 | 1ull << (h >> t->shift) % 64;
	return (parse_u64(t->filter + (h / 64 & (t->words - 1)) * 8ull) & bits) == bits;
}

static void look_up(struct elf_undefined *u, struct name *name, struct elf *provider, const struct gnu_hash *t)
{
	if (!may_have(t, name->hash))
		return;
	uint32_t start = parse_u32(t->bucket + name->hash % t->buckets * 4ull);
	if (!start || start < t->first)
		return; /* an empty bucket */
	for (size_t i = start - t->first; i < t->symbols; i++) {
		uint32_t h = parse_u32(t->hashes + i * 4);
		if ((h | 1) == (name->hash | 1) && parse_elf_symbols(provider) == 0) {
			const char *text = provided(provider, t->first + i);
			if (text && strcmp(text, name->text) == 0)
				resolve(u, name);
		}
		if (h & 1)
			return;
	}
}

void parse_elf_undefined_take(struct elf_undefined *u, struct elf *provider)
{
	struct gnu_hash table;
	if (read_gnu_hash(provider, &table)) {
		for (size_t i = 0; i < u->count && u->left; i++)
			if (!u->names[i].resolved)
				look_up(u, &u->names[i], provider, &table);
		return;
	}
	if (!u->left || parse_elf_symbols(provider) < 0)
		return;
	for (size_t i = 1; i < provider->symbol_count && u->left; i++) {
		const char *text = provided(provider, i);
		uint32_t b = text ? beginning_of(text) : 0;
		if (!text || !(u->beginning[b / 64] >> b % 64 & 1))
			continue;
		uint32_t slot = *slot_of(u, text, hash(text));
		if (slot)
			resolve(u, &u->names[slot - 1]);
	}
}

size_t parse_elf_undefined_left(const struct elf_undefined *u, const char **ret, size_t max)
{
	size_t n = 0;
	for (size_t i = 0; i < u->count; i++) {
		if (u->names[i].resolved)
			continue;
		if (n < max)
			ret[n] = u->names[i].text;
		n++;
	}
	return n;
}
