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

static uint32_t hash(const char *s)
{
	uint32_t h = 2166136261u;
	while (*s)
		h = (h ^ (unsigned char)*s++) * 16777619u;
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

void parse_elf_undefined_take(struct elf_undefined *u, struct elf *provider)
{
	if (!u->left || parse_elf_symbols(provider) < 0)
		return;
	for (size_t i = 1; i < provider->symbol_count && u->left; i++) {
		const unsigned char *p = provider->symtab + i * 24;
		uint32_t at = parse_u32(p);
		if (parse_u16(p + 6) == 0 || p[4] >> 4 == 0 || at >= provider->dynstr.len)
			continue; /* undefined, or local */
		const char *text = provider->dynstr.ptr + at;
		uint32_t b = beginning_of(text);
		if (!(u->beginning[b / 64] >> b % 64 & 1))
			continue;
		uint32_t slot = *slot_of(u, text, hash(text));
		if (slot && !u->names[slot - 1].resolved) {
			u->names[slot - 1].resolved = true;
			u->left--;
		}
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
