#include "parse/fatbin.h"

#include <pthread.h>
#include <stdatomic.h>

#define WINDOW 4096u
#define WINDOW_MIN 512u
#define SEARCH_BLOCK 65536u
#define CONTAINER_MAGIC 0xBA55ED50u
#define WRAPPER_MAGIC 0x466243B1u
#define CONTAINERS_MAX 1000000u
#define ENTRIES_MAX 4000000u
/* Bytes searched between containers, in all and before the first one of a section of general use. */
#define GAP_MAX (64u << 20)
#define FIRST_GAP_MAX (1u << 20)
#define GENERAL_MAX (16u << 20) /* larger .rodata and .data are tables */

enum { ENTRY_PTX = 1, ENTRY_CUBIN = 2, ENTRY_LTO = 8 };
#define FLAG_ARCH_SPECIFIC 0x100000u
#define FLAG_FAMILY 0x200000u
/* A cubin without any kernel has 1.4 to 1.8 KB, from sm_100 on up to 2.3 KB; with one empty kernel 2.8 and 5.0 KB. PTX without a kernel is
 * its three directives, 56 bytes (nvcc 13.0). */
#define STUB_BYTES 2048u
#define STUB_BYTES_100 3072u
#define STUB_BYTES_PTX 72u

struct walk {
	const struct parse_source *source;
	struct fatbin *out;
	uint64_t window_off;
	size_t window_len;
	size_t read_len; /* what the next read takes: less when windows serve once, as over many small containers far apart */
	unsigned served; /* how often this window served */
	uint64_t gap;
	unsigned char window[WINDOW];
	unsigned char block[SEARCH_BLOCK];
};

/* n bytes (at most WINDOW) at off; NULL beyond the end or on a read error, which is kept in *error. */
static const unsigned char *peek(struct walk *w, uint64_t off, size_t n, int *error)
{
	if (off >= w->window_off && off - w->window_off <= w->window_len && w->window_len - (off - w->window_off) >= n) {
		w->served++;
		return w->window + (off - w->window_off);
	}
	if (!checked_range(off, n, w->source->size)) {
		*error = -ENODATA;
		return NULL;
	}
	w->read_len = w->served > 3 ? WINDOW : w->read_len / 2 < WINDOW_MIN ? WINDOW_MIN : w->read_len / 2;
	w->served = 0;
	uint64_t left = w->source->size - off;
	size_t len = w->read_len < n ? n : w->read_len;
	if (len > left)
		len = (size_t)left;
	w->window_len = 0;
	*error = parse_source_read(w->source, off, w->window, len);
	if (*error < 0)
		return NULL;
	w->window_off = off;
	w->window_len = len;
	return w->window;
}

void parse_fatbin_name(enum fatbin_kind kind, uint32_t arch, char suffix, char ret[24])
{
	static const char *const prefix[] = {"sm_", "compute_", "lto_", "gfx"};
	char tail[2] = {suffix, '\0'};
	snprintf(ret, 24, "%s%u%s", prefix[kind], arch, suffix ? tail : "");
}

const char *parse_fatbin_kind_name(enum fatbin_kind kind)
{
	static const char *const names[] = {"sass", "ptx", "lto", "hsaco"};
	return names[kind];
}

static struct fatbin_code *code_of(struct fatbin *f, enum fatbin_kind kind, uint32_t arch, char suffix, const char *name)
{
	for (size_t i = 0; i < f->code_count; i++) {
		struct fatbin_code *c = &f->codes[i];
		if (c->kind == kind && c->arch == arch && c->suffix == suffix && (!name || strcmp(c->name, name) == 0))
			return c;
	}
	if (f->code_count == FATBIN_CODES_MAX) {
		f->incomplete = true;
		return NULL;
	}
	struct fatbin_code *c = &f->codes[f->code_count++];
	*c = (struct fatbin_code){.kind = kind, .arch = arch, .suffix = suffix};
	if (name)
		snprintf(c->name, sizeof c->name, "%s", name);
	else
		parse_fatbin_name(kind, arch, suffix, c->name);
	return c;
}

static void note_isa(struct fatbin_code *c, uint16_t major, uint16_t minor)
{
	if (!c->isa_major || major > c->isa_major || (major == c->isa_major && minor > c->isa_minor)) {
		c->isa_major = major;
		c->isa_minor = minor;
	}
	if (!c->isa_low_major || major < c->isa_low_major || (major == c->isa_low_major && minor < c->isa_low_minor)) {
		c->isa_low_major = major;
		c->isa_low_minor = minor;
	}
}

static bool is_stub(enum fatbin_kind kind, uint32_t arch, uint64_t bytes)
{
	if (kind == FATBIN_PTX)
		return bytes <= STUB_BYTES_PTX;
	return kind == FATBIN_SASS && bytes <= (arch >= 100 ? STUB_BYTES_100 : STUB_BYTES);
}

static void take_entry(struct fatbin *f, const unsigned char *h, uint64_t size)
{
	uint16_t kind = parse_u16(h);
	uint32_t arch = parse_u32(h + 28);
	uint64_t flags = parse_u64(h + 40), whole = parse_u64(h + 56);
	f->entries++;
	enum fatbin_kind which = kind == ENTRY_PTX ? FATBIN_PTX : kind == ENTRY_CUBIN ? FATBIN_SASS : FATBIN_LTO;
	if ((kind != ENTRY_PTX && kind != ENTRY_CUBIN && kind != ENTRY_LTO) || arch > 9999) {
		f->unknown_entries++;
		return;
	}
	char suffix = flags & FLAG_ARCH_SPECIFIC ? 'a' : flags & FLAG_FAMILY ? 'f' : '\0';
	struct fatbin_code *c = code_of(f, which, arch, suffix, NULL);
	if (!c)
		return;
	uint64_t bytes = whole ? whole : size;
	if (is_stub(which, arch, bytes))
		c->stubs++;
	else
		c->entries++;
	if (!checked_add(c->bytes, bytes, &c->bytes))
		c->bytes = UINT64_MAX;
	if (which == FATBIN_PTX)
		note_isa(c, parse_u16(h + 26), parse_u16(h + 24));
}

/* The entries of one container in [at, end). */
static int walk_entries(struct walk *w, uint64_t at, uint64_t end)
{
	int error = 0;
	while (at < end && end - at >= 64) {
		const unsigned char *h = peek(w, at, 64, &error);
		if (!h)
			return error;
		uint64_t header = parse_u32(h + 4), size = parse_u64(h + 8), step;
		if (header < 32 || !checked_add(header, size, &step) || step > end - at) {
			w->out->damaged = true;
			return 0;
		}
		if (header >= 64)
			take_entry(w->out, h, size);
		else
			w->out->unknown_entries++;
		if (w->out->entries + w->out->unknown_entries > ENTRIES_MAX) {
			w->out->incomplete = true;
			return 0;
		}
		at += step;
	}
	return 0;
}

/* The next container at or after *at; *at becomes end when there is none. */
static int find_container(struct walk *w, uint64_t *at, uint64_t end, uint64_t limit)
{
	static const unsigned char mark[8] = {0x50, 0xed, 0x55, 0xba, 0x01, 0x00, 0x10, 0x00};
	uint64_t start = *at;
	int error = 0;
	uint64_t near = end - *at < 64 ? end - *at : 64;
	const unsigned char *p = peek(w, *at, (size_t)near, &error); /* gaps are mostly a few bytes */
	const unsigned char *close = p ? memmem(p, (size_t)near, mark, sizeof mark) : NULL;
	if (close) {
		*at += (uint64_t)(close - p);
		return 0;
	}
	while (*at < end && end - *at >= 16) {
		if (*at - start >= limit || w->gap >= GAP_MAX) {
			w->out->incomplete |= w->gap >= GAP_MAX;
			break;
		}
		uint64_t left = end - *at;
		size_t n = left < SEARCH_BLOCK ? (size_t)left : SEARCH_BLOCK;
		if (*at == start && n > WINDOW)
			n = WINDOW;
		int r = parse_source_read(w->source, *at, w->block, n);
		if (r < 0)
			return r;
		const unsigned char *hit = memmem(w->block, n, mark, sizeof mark);
		if (hit) {
			w->gap += (uint64_t)(hit - w->block);
			*at += (uint64_t)(hit - w->block);
			return 0;
		}
		w->gap += n;
		*at += n - (sizeof mark - 1);
	}
	*at = end;
	return 0;
}

static int walk_range(struct walk *w, uint64_t start, uint64_t end, uint64_t first_gap, uint64_t *ret_containers)
{
	int error = 0;
	uint64_t found = 0;
	if (end > w->source->size) {
		w->out->damaged = true;
		end = w->source->size;
	}
	for (uint64_t at = start; at < end && end - at >= 16;) {
		const unsigned char *h = peek(w, at, 16, &error);
		if (!h)
			return error;
		uint64_t header = parse_u16(h + 6), len = parse_u64(h + 8);
		if (parse_u32(h) != CONTAINER_MAGIC || header < 16) {
			uint64_t before = at;
			int r = find_container(w, &at, end, found ? UINT64_MAX : first_gap);
			if (r < 0)
				return r;
			if (at == before) /* a mark whose header is nonsense */
				at += 8;
			continue;
		}
		if (header + len < len || header + len > end - at) {
			w->out->damaged = true;
			len = end - at - (header < end - at ? header : end - at);
		}
		found++;
		if (++w->out->containers > CONTAINERS_MAX) {
			w->out->incomplete = true;
			break;
		}
		int r = walk_entries(w, at + header, at + header + len);
		if (r < 0)
			return r;
		at = (at + header + len + 7) & ~7ull;
	}
	*ret_containers += found;
	return 0;
}

/* -- AMD ---------------------------------------------------------------------------------------------------------------------- */

/* "__CLANG_OFFLOAD_BUNDLE__", u64 count, then {u64 offset, u64 size, u64 length, triple}: "hipv4-amdgcn-amd-amdhsa--gfx942:xnack-". */
static int walk_bundles(struct walk *w, uint64_t start, uint64_t end)
{
	static const char mark[] = "__CLANG_OFFLOAD_BUNDLE__";
	int error = 0;
	for (uint64_t at = start, bundles = 0; at < end && end - at >= 32 && bundles < 65536;) {
		const unsigned char *h = peek(w, at, 32, &error);
		if (!h)
			return error;
		if (memcmp(h, mark, 24) != 0) {
			if (memcmp(h, "CCOB", 4) == 0)
				w->out->incomplete = true; /* compressed: the list inside cannot be read */
			at += 4096;                        /* bundles start on pages */
			continue;
		}
		bundles++;
		w->out->containers++;
		uint64_t count = parse_u64(h + 24), entry = at + 32, reach = at + 4096;
		for (uint64_t i = 0; i < count && i < 256; i++) {
			const unsigned char *p = peek(w, entry, 24, &error);
			if (!p)
				return error == -ENODATA ? 0 : error;
			uint64_t off = parse_u64(p), size = parse_u64(p + 8), length = parse_u64(p + 16), stop;
			if (length > 256 || !checked_add(off, size, &stop) || stop > end - at) {
				w->out->damaged = true;
				return 0;
			}
			p = peek(w, entry + 24, (size_t)length, &error);
			if (!p)
				return error == -ENODATA ? 0 : error;
			struct str triple = str_n((const char *)p, (size_t)length);
			size_t gfx = str_find(triple, "gfx", 0);
			w->out->entries++;
			if (gfx != SIZE_MAX) {
				char name[24] = "";
				struct str target = str_slice(triple, gfx, str_find_char(triple, ':', gfx));
				memcpy(name, target.ptr, target.len < sizeof name - 1 ? target.len : sizeof name - 1);
				struct fatbin_code *c = code_of(w->out, FATBIN_HSACO, 0, 0, name);
				if (c) {
					c->entries++;
					c->bytes += size;
				}
			}
			if (at + stop > reach)
				reach = at + stop;
			entry += 24 + length;
		}
		at = (reach + 4095) & ~4095ull;
	}
	return 0;
}

/* -- where --------------------------------------------------------------------------------------------------------------------- */

enum place { PLACE_NONE, PLACE_OWN, PLACE_HIDDEN, PLACE_GENERAL, PLACE_AMD };

static enum place place_of(const struct elf_section *s)
{
	struct str name = str_of(s->name);
	if (s->type == 8 || !s->size) /* SHT_NOBITS */
		return PLACE_NONE;
	if (str_starts(name, ".nv_fatbin") || str_starts(name, "__nv_relfatbin"))
		return PLACE_OWN;
	if (str_starts(name, ".cask_resource") || str_starts(name, ".ldata"))
		return PLACE_HIDDEN;
	if (str_is(name, ".hip_fatbin"))
		return PLACE_AMD;
	if (str_is(name, ".rodata") || str_is(name, ".data"))
		return PLACE_GENERAL;
	return PLACE_NONE;
}

/* Does the file have to do with CUDA at all? Others are left alone. */
static bool is_cuda(const struct elf *e)
{
	static const char *const prefixes[] = {"libcuda.so", "libcudart.so", "libc10_cuda.so", "libtorch_cuda", "libcupti.so"};
	for (size_t i = 0; i < e->section_count; i++)
		if (str_starts(str_of(e->sections[i].name), ".nv") || str_starts(str_of(e->sections[i].name), "__nv"))
			return true;
	for (size_t p = 0; p < sizeof prefixes / sizeof *prefixes; p++) {
		for (size_t i = 0; i < e->needed_count; i++)
			if (str_starts(str_of(e->needed[i]), prefixes[p]))
				return true;
	}
	return false;
}

static int walk_section(struct walk *w, const struct elf_section *s, bool cuda)
{
	enum place place = place_of(s);
	uint64_t end, found = 0;
	if (place == PLACE_NONE || !checked_add(s->offset, s->size, &end))
		return 0;
	if (place == PLACE_AMD)
		return walk_bundles(w, s->offset, end);
	if (place == PLACE_GENERAL && (!cuda || s->size > GENERAL_MAX))
		return 0;
	int r = walk_range(w, s->offset, end,
		place == PLACE_OWN                               ? GAP_MAX
			: place == PLACE_GENERAL                 ? GENERAL_MAX
			: strcmp(s->name, ".cask_resource") == 0 ? GAP_MAX
								 : FIRST_GAP_MAX,
		&found);
	if (found && place != PLACE_OWN)
		w->out->hidden = true;
	return r;
}

static int walk_stripped(struct walk *w, const struct elf *e)
{
	for (size_t i = 0; i < e->segment_count; i++) {
		const struct elf_segment *s = &e->segments[i];
		uint64_t end, found = 0;
		if (s->type != 1 || (s->flags & 2) || !checked_add(s->offset, s->file_size, &end))
			continue; /* older linkers put read-only data and code into one segment */
		int r = walk_range(w, s->offset, end, GAP_MAX, &found);
		if (r < 0)
			return r;
	}
	return 0;
}

static uint64_t count_wrappers(const struct elf *e)
{
	const struct elf_section *s = parse_elf_section(e, ".nvFatBinSegment");
	unsigned char head[4];
	if (!s || s->size < 24 || parse_source_read(e->source, s->offset, head, 4) < 0 || parse_u32(head) != WRAPPER_MAGIC)
		return 0;
	return s->size / 24;
}

static int compare_codes(const void *a, const void *b)
{
	const struct fatbin_code *x = a, *y = b;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->arch != y->arch)
		return x->arch < y->arch ? -1 : 1;
	if (x->suffix != y->suffix)
		return x->suffix < y->suffix ? -1 : 1;
	return strcmp(x->name, y->name);
}

int parse_fatbin(const struct elf *e, struct fatbin *ret)
{
	*ret = (struct fatbin){0};
	if (e->bits != 64 || e->big_endian)
		return 0;
	struct walk *w = calloc(1, sizeof *w);
	if (!w)
		return -ENOMEM;
	w->source = e->source;
	w->out = ret;
	w->read_len = WINDOW;
	int r = 0;
	bool cuda = is_cuda(e);
	for (size_t i = 0; i < e->section_count && r == 0; i++)
		r = walk_section(w, &e->sections[i], cuda);
	if (!e->section_count && r == 0)
		r = walk_stripped(w, e);
	if (r == -ENODATA) { /* the file ends here; its problem is "truncated" */
		ret->damaged = true;
		r = 0;
	}
	ret->wrappers = count_wrappers(e);
	qsort(ret->codes, ret->code_count, sizeof *ret->codes, compare_codes);
	free(w);
	return r;
}

/* -- many ---------------------------------------------------------------------------------------------------------------------- */

struct crew {
	struct fatbin_job *jobs;
	size_t count;
	atomic_size_t next;
};

static void *work(void *arg)
{
	struct crew *c = arg;
	for (size_t i; (i = atomic_fetch_add(&c->next, 1)) < c->count;)
		c->jobs[i].error = parse_fatbin(c->jobs[i].elf, c->jobs[i].ret);
	return NULL;
}

void parse_fatbin_many(struct fatbin_job *jobs, size_t count, unsigned threads)
{
	struct crew crew = {.jobs = jobs, .count = count};
	pthread_t ids[16];
	unsigned started = 0;
	if (threads > 16)
		threads = 16;
	while (started + 1 < threads && started + 1 < count && pthread_create(&ids[started], NULL, work, &crew) == 0)
		started++;
	work(&crew);
	for (unsigned i = 0; i < started; i++)
		pthread_join(ids[i], NULL);
}
