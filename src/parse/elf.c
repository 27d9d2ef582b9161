#include "parse/elf.h"

/* Bounds. Real files stay far below: libtorch_cuda.so has 60 sections, 40 needed libraries and 12 MB of symbol names. */
#define SEGMENTS_MAX 1024u
#define SECTIONS_MAX 65536u
#define DYNAMIC_MAX (1u << 20)
#define STRINGS_MAX (256u << 20)
#define ENTRIES_MAX 4096u
#define HEAD_BYTES 4096u
#define NAMES_BYTES 2048u /* before the section headers; that is where linkers put their names */
/* Dynamic strings up to here are read at once; of larger tables first the few that the dynamic section names. */
#define NAMES_SMALL (48u << 10)
#define NAMES_WINDOW 1024u
#define PIECE_MAX (64u << 20)

enum { PT_LOAD = 1, PT_DYNAMIC = 2, PT_INTERP = 3, PT_NOTE = 4 };
enum { SHT_NOTE = 7, SHT_NOBITS = 8, SHT_DYNSYM = 11, SHT_GNU_VERDEF = 0x6ffffffd, SHT_GNU_VERNEED = 0x6ffffffe };
#define VERSIONS_MAX (256u << 10)
enum {
	DT_NEEDED = 1,
	DT_HASH = 4,
	DT_STRTAB = 5,
	DT_SYMTAB = 6,
	DT_RELA = 7,
	DT_STRSZ = 10,
	DT_SONAME = 14,
	DT_RPATH = 15,
	DT_REL = 17,
	DT_JMPREL = 23,
	DT_RUNPATH = 29,
	DT_FLAGS = 30,
};
#define DT_GNU_HASH 0x6ffffef5u
#define DT_VERSYM 0x6ffffff0u
#define DT_FLAGS_1 0x6ffffffbu
#define DT_VERDEF 0x6ffffffcu
#define DT_VERDEFNUM 0x6ffffffdu
#define DT_VERNEED 0x6ffffffeu
#define DT_VERNEEDNUM 0x6fffffffu

/* Addresses and sizes out of the dynamic section; 0: not given. */
struct dynamic {
	uint64_t strtab, strsz, symtab, hash, gnu_hash, versym, verdef, verdefnum, verneed, verneednum, rela, rel, jmprel;
	uint64_t soname, rpath, runpath;
	bool has_soname, has_rpath, has_runpath;
	uint64_t *needed; /* room for all entries of the section */
	size_t needed_count, needed_room;
};

/* The bytes where they lie already; NULL: not in memory. */
static const char *in_memory(const struct elf *e, uint64_t off, uint64_t len)
{
	const struct elf_piece *pieces[] = {&e->head, &e->tail, &e->tables};
	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
		if (pieces[i]->bytes.ptr && off >= pieces[i]->offset && checked_range(off - pieces[i]->offset, len, pieces[i]->bytes.len))
			return pieces[i]->bytes.ptr + (off - pieces[i]->offset);
	return NULL;
}

static int read_at(const struct elf *e, uint64_t off, void *p, size_t n)
{
	const char *known = in_memory(e, off, n);
	if (!known)
		return parse_source_read(e->source, off, p, n);
	memcpy(p, known, n);
	return 0;
}

int parse_elf_bytes(const struct elf *e, uint64_t off, uint64_t len, uint64_t max, struct str *ret)
{
	if (len > max)
		return -EFBIG;
	if (!checked_range(off, len, e->source->size))
		return -ENODATA;
	char *p = arena_raw(e->arena, (size_t)len + 1);
	int r = read_at(e, off, p, (size_t)len);
	if (r < 0)
		return r;
	p[len] = '\0';
	*ret = str_n(p, (size_t)len);
	return 0;
}

/* The same without a terminator, and without a copy where the bytes are in memory. */
static int view(const struct elf *e, uint64_t off, uint64_t len, uint64_t max, struct str *ret)
{
	const char *known = len <= max ? in_memory(e, off, len) : NULL;
	if (!known)
		return parse_elf_bytes(e, off, len, max, ret);
	*ret = str_n(known, (size_t)len);
	return 0;
}

/* Takes a piece into memory; one that cannot be read is not kept, and whoever needs a part of it notices. */
static void take_piece(struct elf *e, struct elf_piece *piece, uint64_t off, uint64_t end)
{
	struct str bytes;
	if (end > e->source->size)
		end = e->source->size;
	if (off < end && parse_elf_bytes(e, off, end - off, PIECE_MAX, &bytes) == 0)
		*piece = (struct elf_piece){off, bytes};
}

static void spoil(struct elf *e, enum elf_problem problem)
{
	if (e->problem == ELF_FINE)
		e->problem = problem;
}

/* -- headers ---------------------------------------------------------------------------------------------------------------- */

static int read_ident(struct elf *e, unsigned char header[64])
{
	uint64_t size = e->source->size;
	size_t n = size < 64 ? (size_t)size : 64;
	take_piece(e, &e->head, 0, HEAD_BYTES);
	int r = read_at(e, 0, header, n);
	if (r < 0)
		return r;
	if (n == 0) {
		e->problem = ELF_EMPTY;
	} else if (str_starts(str_n((char *)header, n), "version https://git-lfs")) {
		e->problem = ELF_LFS_POINTER;
	} else if (n < 20 || memcmp(header, "\177ELF", 4) != 0) {
		e->problem = n >= 4 && memcmp(header, "\177ELF", 4) == 0 ? ELF_TRUNCATED : ELF_NOT_ELF;
	} else {
		e->bits = header[4] == 1 ? 32 : 64;
		e->big_endian = header[5] == 2;
		const unsigned char *type = header + 16, *machine = header + 18;
		e->type = e->big_endian ? (uint16_t)(type[0] << 8 | type[1]) : parse_u16(type);
		e->machine = e->big_endian ? (uint16_t)(machine[0] << 8 | machine[1]) : parse_u16(machine);
		if (header[4] == 1 || e->big_endian)
			e->problem = ELF_WRONG_CLASS;
		else if (header[4] != 2 || header[5] != 1)
			e->problem = ELF_BAD;
		else if (n < 64)
			e->problem = ELF_TRUNCATED;
	}
	return 0;
}

static int read_segments(struct elf *e, const unsigned char header[64])
{
	uint64_t off = parse_u64(header + 32);
	uint16_t entry = parse_u16(header + 54), count = parse_u16(header + 56);
	if (!count)
		return 0;
	if (entry != 56 || count > SEGMENTS_MAX) {
		spoil(e, ELF_BAD);
		return 0;
	}
	struct str raw;
	int r = view(e, off, (uint64_t)count * 56, UINT32_MAX, &raw);
	if (r == -ENODATA)
		spoil(e, ELF_TRUNCATED);
	if (r < 0)
		return r == -ENODATA ? 0 : r;
	e->segments = arena_array(e->arena, count, sizeof *e->segments);
	e->segment_count = count;
	for (size_t i = 0; i < count; i++) {
		const char *p = raw.ptr + i * 56;
		e->segments[i] = (struct elf_segment){
			parse_u32(p), parse_u32(p + 4), parse_u64(p + 8), parse_u64(p + 16), parse_u64(p + 32), parse_u64(p + 40)};
		const struct elf_segment *s = &e->segments[i];
		if (s->type == PT_LOAD && !checked_range(s->offset, s->file_size, e->source->size))
			spoil(e, ELF_TRUNCATED);
	}
	return 0;
}

static int read_section_names(struct elf *e, const struct str raw, size_t index)
{
	if (index >= e->section_count)
		return 0;
	const struct elf_section *names = &e->sections[index];
	struct str strings;
	int r = view(e, names->offset, names->size, 16u << 20, &strings);
	if (r == 0 && strings.len && strings.ptr[strings.len - 1])
		r = parse_elf_bytes(e, names->offset, names->size, 16u << 20, &strings); /* not terminated: a copy is */
	if (r == -ENODATA || r == -EFBIG)
		return 0; /* a truncated file, noticed already */
	if (r < 0)
		return r;
	for (size_t i = 0; i < e->section_count; i++) {
		uint32_t at = parse_u32(raw.ptr + i * 64);
		if (at < strings.len)
			e->sections[i].name = strings.ptr + at;
	}
	return 0;
}

static int read_sections(struct elf *e, const unsigned char header[64])
{
	uint64_t off = parse_u64(header + 40), count = parse_u16(header + 60);
	uint16_t entry = parse_u16(header + 58);
	uint64_t names = parse_u16(header + 62);
	if (!off)
		return 0; /* stripped */
	unsigned char first[64];
	if (count)
		take_piece(e, &e->tail, off > NAMES_BYTES ? off - NAMES_BYTES : 0, off > UINT64_MAX - count * 64 ? off : off + count * 64);
	int r = read_at(e, off, first, sizeof first);
	if (r == -ENODATA)
		spoil(e, ELF_TRUNCATED);
	if (r < 0)
		return r == -ENODATA ? 0 : r;
	/* Counts that do not fit in 16 bits stand in section 0. */
	if (count == 0)
		count = parse_u64(first + 32);
	if (names == 0xffff)
		names = parse_u32(first + 40);
	if (entry != 64 || count > SECTIONS_MAX) {
		spoil(e, ELF_BAD);
		return 0;
	}
	struct str raw;
	r = view(e, off, count * 64, UINT32_MAX, &raw);
	if (r == -ENODATA)
		spoil(e, ELF_TRUNCATED);
	if (r < 0)
		return r == -ENODATA ? 0 : r;
	e->sections = arena_array(e->arena, count, sizeof *e->sections);
	e->section_count = count;
	for (size_t i = 0; i < count; i++) {
		const char *p = raw.ptr + i * 64;
		e->sections[i] = (struct elf_section){"", parse_u32(p + 4), parse_u64(p + 8), parse_u64(p + 16), parse_u64(p + 24),
			parse_u64(p + 32), parse_u32(p + 40), parse_u32(p + 44), parse_u64(p + 56)};
		const struct elf_section *s = &e->sections[i];
		if (s->type != SHT_NOBITS && s->type != 0 && !checked_range(s->offset, s->size, e->source->size))
			spoil(e, ELF_TRUNCATED);
	}
	return read_section_names(e, raw, names);
}

bool parse_elf_offset(const struct elf *e, uint64_t vaddr, uint64_t *ret_offset, uint64_t *ret_left)
{
	for (size_t i = 0; i < e->segment_count; i++) {
		const struct elf_segment *s = &e->segments[i];
		if (s->type != PT_LOAD || vaddr < s->vaddr || vaddr - s->vaddr >= s->file_size)
			continue;
		uint64_t off;
		if (!checked_add(s->offset, vaddr - s->vaddr, &off))
			continue;
		*ret_offset = off;
		*ret_left = s->file_size - (vaddr - s->vaddr);
		return true;
	}
	return false;
}

const struct elf_section *parse_elf_section(const struct elf *e, const char *name)
{
	for (size_t i = 0; i < e->section_count; i++)
		if (strcmp(e->sections[i].name, name) == 0)
			return &e->sections[i];
	return NULL;
}

/* -- notes ------------------------------------------------------------------------------------------------------------------ */

static void read_build_id(struct elf *e, uint64_t off, uint64_t size)
{
	unsigned char note[1024];
	if (size > sizeof note)
		size = sizeof note;
	if (read_at(e, off, note, (size_t)size) < 0)
		return;
	for (uint64_t at = 0; at + 12 <= size;) {
		uint64_t name = parse_u32(note + at), desc = parse_u32(note + at + 4);
		uint32_t type = parse_u32(note + at + 8);
		uint64_t name_at = at + 12, desc_at = name_at + ((name + 3) & ~3ull), end = desc_at + ((desc + 3) & ~3ull);
		if (desc_at > size || desc > size - desc_at)
			return;
		if (type == 3 && name == 4 && memcmp(note + name_at, "GNU", 4) == 0 && desc * 2 < sizeof e->build_id) {
			static const char digits[] = "0123456789abcdef";
			for (uint64_t i = 0; i < desc; i++) {
				e->build_id[2 * i] = digits[note[desc_at + i] >> 4];
				e->build_id[2 * i + 1] = digits[note[desc_at + i] & 15];
			}
			e->build_id[2 * desc] = '\0';
			return;
		}
		at = end;
	}
}

static void find_build_id(struct elf *e)
{
	for (size_t i = 0; i < e->segment_count && !e->build_id[0]; i++)
		if (e->segments[i].type == PT_NOTE)
			read_build_id(e, e->segments[i].offset, e->segments[i].file_size);
	for (size_t i = 0; i < e->section_count && !e->build_id[0]; i++)
		if (e->sections[i].type == SHT_NOTE && strcmp(e->sections[i].name, ".note.gnu.build-id") == 0)
			read_build_id(e, e->sections[i].offset, e->sections[i].size);
}

static int read_interp(struct elf *e)
{
	for (size_t i = 0; i < e->segment_count; i++) {
		const struct elf_segment *s = &e->segments[i];
		if (s->type != PT_INTERP)
			continue;
		struct str text;
		int r = parse_elf_bytes(e, s->offset, s->file_size, 4096, &text);
		if (r == -ENODATA || r == -EFBIG)
			return 0;
		if (r < 0)
			return r;
		e->interp = text.ptr; /* parse_elf_bytes terminates */
		return 0;
	}
	return 0;
}

/* -- the dynamic section ---------------------------------------------------------------------------------------------------- */

static void read_dynamic_entry(struct elf *e, struct dynamic *d, uint64_t tag, uint64_t value)
{
	switch (tag) {
	case DT_NEEDED:
		if (d->needed_count < d->needed_room)
			d->needed[d->needed_count++] = value;
		break;
	case DT_STRTAB: d->strtab = value; break;
	case DT_STRSZ: d->strsz = value; break;
	case DT_SYMTAB: d->symtab = value; break;
	case DT_HASH: d->hash = value; break;
	case DT_GNU_HASH: d->gnu_hash = value; break;
	case DT_RELA: d->rela = value; break;
	case DT_REL: d->rel = value; break;
	case DT_JMPREL: d->jmprel = value; break;
	case DT_VERSYM: d->versym = value; break;
	case DT_VERDEF: d->verdef = value; break;
	case DT_VERDEFNUM: d->verdefnum = value; break;
	case DT_VERNEED: d->verneed = value; break;
	case DT_VERNEEDNUM: d->verneednum = value; break;
	case DT_SONAME:
		d->soname = value;
		d->has_soname = true;
		break;
	case DT_RPATH:
		d->rpath = value;
		d->has_rpath = true;
		break;
	case DT_RUNPATH:
		d->runpath = value;
		d->has_runpath = true;
		break;
	case DT_FLAGS: e->flags = value; break;
	case DT_FLAGS_1: e->flags_1 = value; break;
	default: break;
	}
}

int parse_elf_names(struct elf *e)
{
	if (e->dynstr.len || !e->names_size)
		return 0;
	int r = view(e, e->names_offset, e->names_size, STRINGS_MAX, &e->dynstr);
	if (r == 0 && e->dynstr.len && e->dynstr.ptr[e->dynstr.len - 1])
		r = parse_elf_bytes(e, e->names_offset, e->names_size, STRINGS_MAX, &e->dynstr); /* not terminated: a copy is */
	return r;
}

/* A name out of a table that is not in memory: a little of it around the name is. */
static const char *distant_string(struct elf *e, uint64_t at)
{
	uint64_t left = e->names_size - at, kept = e->names.offset;
	if (e->names.bytes.len && at >= kept && at - kept < e->names.bytes.len) {
		const char *known = e->names.bytes.ptr + (at - kept);
		if (memchr(known, '\0', e->names.bytes.len - (at - kept)))
			return known;
	}
	for (uint64_t n = NAMES_WINDOW;; n = left) {
		if (n > left)
			n = left;
		if (parse_elf_bytes(e, e->names_offset + at, n, STRINGS_MAX, &e->names.bytes) < 0) {
			e->names.bytes = str_n("", 0);
			return NULL;
		}
		e->names.offset = at;
		if (n == left || memchr(e->names.bytes.ptr, '\0', e->names.bytes.len))
			return e->names.bytes.ptr; /* parse_elf_bytes terminates */
	}
}

static const char *dynamic_string(struct elf *e, uint64_t at)
{
	if (at >= e->names_size)
		return NULL;
	return e->dynstr.len ? e->dynstr.ptr + at : distant_string(e, at);
}

/* The strings and the tables of versions that follow them, where the section headers say how long these are. */
static void take_tables(struct elf *e, const struct dynamic *d, uint64_t strings)
{
	uint64_t end = strings;
	for (size_t i = 0; i < e->section_count; i++) {
		const struct elf_section *s = &e->sections[i];
		bool versions = s->type == SHT_GNU_VERNEED || s->type == SHT_GNU_VERDEF;
		if (versions && s->offset >= strings && s->size < VERSIONS_MAX && s->offset + s->size > end)
			end = s->offset + s->size;
	}
	/* Only where they are neighbours: strings, a number for each symbol, versions. */
	if (end > strings && end - strings >= d->strsz && (end - strings) / 2 <= d->strsz + VERSIONS_MAX)
		take_piece(e, &e->tables, strings, end);
}

static int find_names(struct elf *e, const struct dynamic *d)
{
	uint64_t off, left;
	if (!parse_elf_offset(e, d->strtab, &off, &left))
		return 0;
	if (d->strsz > left || d->strsz > STRINGS_MAX) {
		spoil(e, ELF_BAD);
		return 0;
	}
	if (!checked_range(off, d->strsz, e->source->size)) {
		spoil(e, ELF_TRUNCATED);
		return 0;
	}
	e->names_offset = off;
	e->names_size = d->strsz;
	if (d->strsz > NAMES_SMALL)
		return 0;
	take_tables(e, d, off);
	return parse_elf_names(e);
}

static void take_strings(struct elf *e, const struct dynamic *d)
{
	e->needed = arena_array(e->arena, d->needed_count, sizeof *e->needed);
	for (size_t i = 0; i < d->needed_count; i++) {
		const char *name = dynamic_string(e, d->needed[i]);
		if (name && *name)
			e->needed[e->needed_count++] = name;
	}
	e->soname = d->has_soname ? dynamic_string(e, d->soname) : NULL;
	e->rpath = d->has_rpath ? dynamic_string(e, d->rpath) : NULL;
	e->runpath = d->has_runpath ? dynamic_string(e, d->runpath) : NULL;
}

/* One table of versions as raw bytes: its end is not declared, so up to 256 KiB of what follows in the segment. */
static int read_version_table(const struct elf *e, uint64_t vaddr, struct str *ret)
{
	uint64_t off, left;
	*ret = str_n("", 0);
	if (!vaddr || !parse_elf_offset(e, vaddr, &off, &left) || off >= e->source->size)
		return 0;
	if (left > e->source->size - off)
		left = e->source->size - off;
	uint64_t limit = VERSIONS_MAX;
	for (size_t i = 0; i < e->section_count; i++) {
		const struct elf_section *s = &e->sections[i];
		if ((s->type == SHT_GNU_VERNEED || s->type == SHT_GNU_VERDEF) && s->vaddr == vaddr && s->size < limit)
			limit = s->size;
	}
	return view(e, off, left < limit ? left : limit, limit, ret);
}

static int read_needs(struct elf *e, const struct dynamic *d)
{
	struct str t;
	int r = read_version_table(e, d->verneed, &t);
	if (r < 0)
		return r;
	size_t cap = 0;
	uint64_t at = 0;
	for (uint64_t i = 0; i < d->verneednum && i < ENTRIES_MAX && checked_range(at, 16, t.len); i++) {
		const char *file = dynamic_string(e, parse_u32(t.ptr + at + 4));
		uint64_t aux = at + parse_u32(t.ptr + at + 8);
		uint16_t count = parse_u16(t.ptr + at + 2);
		for (unsigned j = 0; j < count && e->need_count < ENTRIES_MAX && checked_range(aux, 16, t.len); j++) {
			const char *version = dynamic_string(e, parse_u32(t.ptr + aux + 8));
			if (file && version) {
				e->needs = arena_grow(e->arena, e->needs, e->need_count, &cap, sizeof *e->needs);
				e->needs[e->need_count++] = (struct elf_need){
					file, version, (parse_u16(t.ptr + aux + 4) & 2) != 0, parse_u16(t.ptr + aux + 6)};
			}
			uint32_t next = parse_u32(t.ptr + aux + 12);
			if (!next)
				break;
			aux += next;
		}
		uint32_t next = parse_u32(t.ptr + at + 12);
		if (!next)
			break;
		at += next;
	}
	return 0;
}

static int read_defines(struct elf *e, const struct dynamic *d)
{
	struct str t;
	int r = read_version_table(e, d->verdef, &t);
	if (r < 0)
		return r;
	size_t cap = 0;
	uint64_t at = 0;
	for (uint64_t i = 0; i < d->verdefnum && e->define_count < ENTRIES_MAX && checked_range(at, 20, t.len); i++) {
		uint16_t flags = parse_u16(t.ptr + at + 2), index = parse_u16(t.ptr + at + 4);
		uint64_t aux = at + parse_u32(t.ptr + at + 12);
		if (!(flags & 1) && checked_range(aux, 8, t.len)) { /* 1: the base entry */
			const char *version = dynamic_string(e, parse_u32(t.ptr + aux));
			if (version) {
				e->defines = arena_grow(e->arena, e->defines, e->define_count, &cap, sizeof *e->defines);
				e->defines[e->define_count++] = (struct elf_define){version, index};
			}
		}
		uint32_t next = parse_u32(t.ptr + at + 16);
		if (!next)
			break;
		at += next;
	}
	return 0;
}

/* How many symbols there are stands nowhere in the dynamic section: the section header says it, or DT_HASH, or the table that follows in
 * memory bounds it. */
static size_t count_symbols(const struct elf *e, const struct dynamic *d, uint64_t left)
{
	for (size_t i = 0; i < e->section_count; i++)
		if (e->sections[i].type == SHT_DYNSYM && e->sections[i].vaddr == d->symtab && e->sections[i].size <= left)
			return (size_t)(e->sections[i].size / 24);
	uint64_t off, rest;
	unsigned char head[8];
	if (d->hash && parse_elf_offset(e, d->hash, &off, &rest) && read_at(e, off, head, 8) == 0 && parse_u32(head + 4) <= left / 24)
		return parse_u32(head + 4);
	uint64_t tables[] = {d->strtab, d->hash, d->gnu_hash, d->versym, d->verdef, d->verneed, d->rela, d->rel, d->jmprel};
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		if (tables[i] > d->symtab && tables[i] - d->symtab < left)
			left = tables[i] - d->symtab;
	return (size_t)(left / 24);
}

static void find_symbols(struct elf *e, const struct dynamic *d)
{
	uint64_t off, left;
	if (!d->symtab || !e->names_size || !parse_elf_offset(e, d->symtab, &off, &left) || off >= e->source->size)
		return;
	if (left > e->source->size - off)
		left = e->source->size - off;
	e->symtab_offset = off;
	e->symbol_count = count_symbols(e, d, left);
	if (d->versym && parse_elf_offset(e, d->versym, &off, &left) &&
		checked_range(off, (uint64_t)e->symbol_count * 2, e->source->size)) {
		e->versym_offset = off;
		e->versym_count = e->symbol_count;
	}
	if (d->gnu_hash && parse_elf_offset(e, d->gnu_hash, &off, &left))
		e->gnu_hash_offset = off;
}

static int read_dynamic(struct elf *e)
{
	const struct elf_segment *s = NULL;
	for (size_t i = 0; i < e->segment_count && !s; i++)
		if (e->segments[i].type == PT_DYNAMIC)
			s = &e->segments[i];
	if (!s)
		return 0;
	struct str raw;
	int r = view(e, s->offset, s->file_size, DYNAMIC_MAX, &raw);
	if (r == -ENODATA || r == -EFBIG) {
		spoil(e, r == -ENODATA ? ELF_TRUNCATED : ELF_BAD);
		return 0;
	}
	if (r < 0)
		return r;
	struct dynamic *d = arena_alloc(e->arena, sizeof *d);
	d->needed_room = raw.len / 16 < ENTRIES_MAX ? raw.len / 16 : ENTRIES_MAX;
	d->needed = arena_array(e->arena, d->needed_room, sizeof *d->needed);
	for (size_t at = 0; at + 16 <= raw.len; at += 16) {
		uint64_t tag = parse_u64(raw.ptr + at);
		if (!tag)
			break;
		read_dynamic_entry(e, d, tag, parse_u64(raw.ptr + at + 8));
	}
	e->has_dynamic = true;
	r = find_names(e, d);
	if (r < 0)
		return r;
	take_strings(e, d);
	r = read_needs(e, d);
	if (r >= 0)
		r = read_defines(e, d);
	if (r < 0 && r != -ENODATA)
		return r;
	find_symbols(e, d);
	return 0;
}

int parse_elf_open(struct arena *a, const struct parse_source *source, struct elf *ret)
{
	unsigned char header[64] = {0};
	*ret = (struct elf){.source = source, .arena = a};
	int r = read_ident(ret, header);
	if (r < 0 || ret->problem != ELF_FINE)
		return r;
	r = read_segments(ret, header);
	if (r >= 0)
		r = read_sections(ret, header);
	if (r >= 0)
		r = read_interp(ret);
	if (r >= 0)
		r = read_dynamic(ret);
	if (r < 0)
		return r;
	find_build_id(ret);
	return 0;
}

/* -- symbols ---------------------------------------------------------------------------------------------------------------- */

int parse_elf_symbols(struct elf *e)
{
	if (e->symtab || !e->symbol_count)
		return 0;
	struct str table;
	int r = parse_elf_names(e);
	if (r < 0)
		return r;
	r = view(e, e->symtab_offset, (uint64_t)e->symbol_count * 24, STRINGS_MAX, &table);
	if (r < 0)
		return r;
	if (e->versym_count) {
		struct str versions;
		r = view(e, e->versym_offset, (uint64_t)e->versym_count * 2, STRINGS_MAX, &versions);
		if (r < 0)
			return r;
		e->versym = (const unsigned char *)versions.ptr;
	}
	e->symtab = (const unsigned char *)table.ptr;
	return 0;
}

static const char *symbol_version(const struct elf *e, size_t index)
{
	if (!e->versym || index >= e->versym_count)
		return NULL;
	uint16_t v = parse_u16(e->versym + 2 * index) & 0x7fff;
	if (v < 2)
		return NULL;
	for (size_t i = 0; i < e->need_count; i++)
		if (e->needs[i].index == v)
			return e->needs[i].version;
	for (size_t i = 0; i < e->define_count; i++)
		if (e->defines[i].index == v)
			return e->defines[i].version;
	return NULL;
}

/* The name alone: what a search over all symbols looks at first. */
static const char *symbol_name(const struct elf *e, size_t index)
{
	uint32_t at = parse_u32(e->symtab + index * 24);
	return at < e->dynstr.len ? e->dynstr.ptr + at : NULL;
}

bool parse_elf_symbol(const struct elf *e, size_t index, struct elf_symbol *ret)
{
	if (!e->symtab || index >= e->symbol_count)
		return false;
	const unsigned char *p = e->symtab + index * 24;
	const char *name = symbol_name(e, index);
	if (!name)
		return false;
	*ret = (struct elf_symbol){.name = name,
		.version = symbol_version(e, index),
		.value = parse_u64(p + 8),
		.size = parse_u64(p + 16),
		.type = p[4] & 15,
		.bind = p[4] >> 4,
		.defined = parse_u16(p + 6) != 0};
	return true;
}

bool parse_elf_find_symbol(const struct elf *e, const char *name, bool defined, struct elf_symbol *ret)
{
	size_t n = strlen(name) + 1;
	if (!e->symtab || !e->dynstr.len || !memmem(e->dynstr.ptr, e->dynstr.len, name, n))
		return false;
	for (size_t i = 1; i < e->symbol_count; i++) {
		const char *s = symbol_name(e, i);
		struct elf_symbol found;
		if (s && strcmp(s, name) == 0 && parse_elf_symbol(e, i, &found) && found.defined == defined) {
			*ret = found;
			return true;
		}
	}
	return false;
}

/* -- names ------------------------------------------------------------------------------------------------------------------ */

const char *parse_elf_machine_name(uint16_t machine)
{
	static const struct {
		uint16_t machine;
		const char *name;
	} names[] = {
		{3, "i386"},
		{8, "mips"},
		{20, "ppc"},
		{21, "ppc64"},
		{22, "s390x"},
		{40, "arm"},
		{43, "sparc64"},
		{ELF_X86_64, "x86_64"},
		{ELF_AARCH64, "aarch64"},
		{190, "cuda"},
		{224, "amdgpu"},
		{243, "riscv64"},
		{247, "bpf"},
		{258, "loongarch64"},
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].machine == machine)
			return names[i].name;
	return NULL;
}

const char *parse_elf_problem_name(enum elf_problem problem)
{
	switch (problem) {
	case ELF_FINE: return NULL;
	case ELF_EMPTY: return "empty";
	case ELF_NOT_ELF: return "not-elf";
	case ELF_LFS_POINTER: return "lfs-pointer";
	case ELF_TRUNCATED: return "truncated";
	case ELF_WRONG_CLASS: return "wrong-machine";
	case ELF_BAD: return "damaged";
	}
	return NULL;
}
