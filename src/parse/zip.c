#include "parse/zip.h"

#define DIRECTORY_MAX ((uint64_t)64 << 20)
#define TAIL ((size_t)65536 + 22 + 20)
#define NAME_MAX_BYTES 4096
#define RATIO_MAX 1040u /* deflate reaches 1032 */

enum { STORED = 0, DEFLATED = 8, FLAG_ENCRYPTED = 1, FLAG_STRONG = 64 };

/* -- the end: where the directory is ---------------------------------------------------------------------------------------- */

struct directory {
	uint64_t offset, size, count, end; /* end: where the record begins that tells this */
};

/* Zip64: the locator before the end record leads to a record with wide numbers. */
static int read_wide_end(const struct parse_source *s, uint64_t end, struct directory *d)
{
	unsigned char locator[20], record[56];
	if (end < sizeof locator || parse_source_read(s, end - sizeof locator, locator, sizeof locator) < 0 ||
		parse_u32(locator) != 0x07064b50)
		return -EBADMSG;
	uint64_t at = parse_u64(locator + 8);
	if (parse_source_read(s, at, record, sizeof record) < 0 || parse_u32(record) != 0x06064b50)
		return -EBADMSG;
	*d = (struct directory){
		.offset = parse_u64(record + 48), .size = parse_u64(record + 40), .count = parse_u64(record + 32), .end = at};
	return 0;
}

static int find_directory(struct arena *a, const struct parse_source *s, struct directory *d)
{
	size_t n = s->size < TAIL ? (size_t)s->size : TAIL;
	unsigned char *tail = arena_raw(a, n + 1);
	int rc = parse_source_read(s, s->size - n, tail, n);
	if (rc < 0)
		return rc;
	for (size_t i = n >= 22 ? n - 22 + 1 : 0; i-- > 0;) {
		if (parse_u32(tail + i) != 0x06054b50 || parse_u16(tail + i + 20) > n - i - 22)
			continue;
		*d = (struct directory){.offset = parse_u32(tail + i + 16),
			.size = parse_u32(tail + i + 12),
			.count = parse_u16(tail + i + 10),
			.end = s->size - n + i};
		if (d->offset == UINT32_MAX || d->size == UINT32_MAX || d->count == UINT16_MAX)
			return read_wide_end(s, d->end, d);
		return 0;
	}
	return -EINVAL;
}

/* -- the directory ------------------------------------------------------------------------------------------------------------ */

/* Wide numbers stand in the extra field, in the order of those that did not fit. */
static bool take_wide(const unsigned char *extra, size_t n, struct zip_entry *e)
{
	uint64_t *wide[] = {&e->size, &e->packed, &e->header};
	for (size_t at = 0; n - at >= 4;) {
		size_t id = parse_u16(extra + at), length = parse_u16(extra + at + 2);
		at += 4;
		if (length > n - at)
			return false;
		if (id != 1) {
			at += length;
			continue;
		}
		const unsigned char *p = extra + at;
		for (size_t i = 0; i < 3; i++) {
			if (*wide[i] != UINT32_MAX)
				continue;
			if (length < 8)
				return false;
			*wide[i] = parse_u64(p);
			p += 8;
			length -= 8;
		}
		return true;
	}
	return e->size != UINT32_MAX && e->packed != UINT32_MAX && e->header != UINT32_MAX;
}

static bool leaves_folder(struct str name)
{
	struct str part;
	while (str_next_field(&name, '/', &part))
		if (str_is(part, ".."))
			return true;
	return false;
}

static const char *problem_of_name(struct str name)
{
	if (!name.len || name.len > NAME_MAX_BYTES)
		return "odd-name";
	if (name.ptr[0] == '/' || (name.len > 1 && name.ptr[1] == ':'))
		return "absolute-path";
	if (leaves_folder(name))
		return "parent-path";
	for (size_t i = 0; i < name.len; i++)
		if ((unsigned char)name.ptr[i] < 32 || name.ptr[i] == 127 || name.ptr[i] == '\\')
			return "odd-name";
	return NULL;
}

static const char *problem_of(const struct zip_entry *e, uint64_t end)
{
	const char *problem = problem_of_name(e->name);
	unsigned kind = e->mode & 0170000;
	uint64_t least;
	if (problem)
		return problem;
	if (kind == 0120000)
		return "symlink";
	if (kind && kind != 0100000 && kind != 0040000)
		return "special-file";
	if (e->flags & (FLAG_ENCRYPTED | FLAG_STRONG))
		return "encrypted";
	if (e->method != STORED && e->method != DEFLATED)
		return "unknown-method";
	if (!checked_add(e->header, 30, &least) || !checked_add(least, e->packed, &least) || least > end)
		return "outside";
	if (e->method == STORED ? e->size != e->packed : e->size / RATIO_MAX > e->packed)
		return "size-lies";
	return NULL;
}

static int by_header(const void *a, const void *b)
{
	const struct zip_entry *x = *(struct zip_entry *const *)a, *y = *(struct zip_entry *const *)b;
	return x->header < y->header ? -1 : x->header > y->header;
}

static int by_name(const void *a, const void *b)
{
	return str_cmp((*(struct zip_entry *const *)a)->name, (*(struct zip_entry *const *)b)->name);
}

/* Members that share bytes (a bomb's trick) or a name. */
static void compare_entries(struct arena *a, struct zip *z)
{
	struct zip_entry **order = arena_array(a, z->count + 1, sizeof(struct zip_entry *));
	for (size_t i = 0; i < z->count; i++)
		order[i] = &z->entries[i];
	qsort(order, z->count, sizeof *order, by_header);
	for (size_t i = 1; i < z->count; i++) {
		const struct zip_entry *before = order[i - 1];
		uint64_t end = before->header + 30 + before->name.len + before->packed; /* checked in problem_of */
		if ((!before->problem || strcmp(before->problem, "outside") != 0) && !order[i]->problem && end > order[i]->header)
			order[i]->problem = "overlaps";
	}
	qsort(order, z->count, sizeof *order, by_name);
	for (size_t i = 1; i < z->count; i++)
		if (str_eq(order[i]->name, order[i - 1]->name) && !order[i]->problem)
			order[i]->problem = "twice";
}

static int read_entries(struct zip *z, const unsigned char *p, size_t n, uint64_t end)
{
	size_t at = 0;
	for (size_t i = 0; i < z->count; i++) {
		if (n - at < 46 || parse_u32(p + at) != 0x02014b50)
			return -EBADMSG;
		const unsigned char *h = p + at;
		size_t name = parse_u16(h + 28), extra = parse_u16(h + 30), comment = parse_u16(h + 32);
		if (n - at - 46 < name + extra + comment)
			return -EBADMSG;
		struct zip_entry *e = &z->entries[i];
		*e = (struct zip_entry){.name = str_n((const char *)h + 46, name),
			.flags = parse_u16(h + 8),
			.method = parse_u16(h + 10),
			.crc = parse_u32(h + 16),
			.packed = parse_u32(h + 20),
			.size = parse_u32(h + 24),
			.header = parse_u32(h + 42)};
		if (h[5] == 3) /* made on Unix */
			e->mode = parse_u32(h + 38) >> 16;
		e->is_directory = name && h[46 + name - 1] == '/';
		if (!take_wide(h + 46 + name, extra, e))
			return -EBADMSG;
		e->problem = problem_of(e, end);
		if (!checked_add(z->total, e->size, &z->total))
			z->total = UINT64_MAX;
		at += 46 + name + extra + comment;
	}
	return 0;
}

int parse_zip_open(struct arena *a, const struct parse_source *source, struct zip *ret)
{
	struct directory d;
	*ret = (struct zip){.source = source};
	int rc = find_directory(a, source, &d);
	if (rc < 0)
		return rc;
	if (d.size > DIRECTORY_MAX || d.count > PARSE_ZIP_ENTRIES_MAX)
		return -E2BIG;
	uint64_t place;
	if (!checked_add(d.offset, d.size, &place) || place > d.end || d.count > d.size / 46)
		return -EBADMSG;
	ret->base = d.end - place;
	unsigned char *p = arena_raw(a, (size_t)d.size + 1);
	rc = parse_source_read(source, ret->base + d.offset, p, (size_t)d.size);
	if (rc < 0)
		return rc;
	ret->count = (size_t)d.count;
	ret->entries = arena_array(a, ret->count + 1, sizeof *ret->entries);
	rc = read_entries(ret, p, (size_t)d.size, d.offset);
	if (rc == 0)
		compare_entries(a, ret);
	return rc;
}

const struct zip_entry *parse_zip_find(const struct zip *z, const char *name)
{
	for (size_t i = 0; i < z->count; i++)
		if (str_is(z->entries[i].name, name))
			return &z->entries[i];
	return NULL;
}

/* -- members ------------------------------------------------------------------------------------------------------------------- */

static int pread_stored(void *arg, uint64_t off, void *p, size_t n)
{
	struct zip_member *m = arg;
	return parse_source_read(m->zip->source, m->data + off, p, n);
}

int parse_zip_member(const struct zip *z, const struct zip_entry *e, struct zip_member *ret)
{
	unsigned char h[30];
	char name[NAME_MAX_BYTES];
	uint64_t end;
	*ret = (struct zip_member){.zip = z};
	if (e->flags & (FLAG_ENCRYPTED | FLAG_STRONG) || (e->method != STORED && e->method != DEFLATED))
		return -ENOTSUP;
	int rc = parse_source_read(z->source, z->base + e->header, h, sizeof h);
	if (rc < 0)
		return rc == -ENODATA ? -EBADMSG : rc;
	size_t length = parse_u16(h + 26), extra = parse_u16(h + 28);
	if (parse_u32(h) != 0x04034b50 || length != e->name.len || length > sizeof name || parse_u16(h + 8) != e->method)
		return -EBADMSG;
	rc = parse_source_read(z->source, z->base + e->header + 30, name, length);
	if (rc < 0 || memcmp(name, e->name.ptr, length) != 0)
		return rc < 0 && rc != -ENODATA ? rc : -EBADMSG;
	ret->data = z->base + e->header + 30 + length + extra;
	if (!checked_add(ret->data, e->packed, &end) || end > z->source->size || (e->method == STORED && e->size != e->packed))
		return -EBADMSG;
	ret->source = (struct parse_source){pread_stored, ret, e->size};
	if (e->method == STORED)
		return 0;
	ret->stream = parse_inflate_open(z->source, ret->data, e->packed, e->size);
	if (!ret->stream)
		return -ENOMEM;
	ret->source.pread = parse_inflate_pread;
	ret->source.arg = ret->stream;
	return 0;
}

void parse_zip_close(struct zip_member *m)
{
	parse_inflate_close(m->stream);
	m->stream = NULL;
}

int parse_zip_read(struct arena *a, const struct zip *z, const struct zip_entry *e, size_t max, struct str *ret)
{
	struct zip_member m;
	if (e->size > max)
		return -EFBIG;
	int rc = parse_zip_member(z, e, &m);
	char *p = rc == 0 ? arena_raw(a, (size_t)e->size + 1) : NULL;
	if (rc == 0)
		rc = parse_source_read(&m.source, 0, p, (size_t)e->size);
	parse_zip_close(&m);
	if (rc < 0)
		return rc;
	if (parse_crc32(0, p, (size_t)e->size) != e->crc)
		return -EBADMSG;
	p[e->size] = '\0';
	*ret = str_n(p, (size_t)e->size);
	return 0;
}
