#include "act/wheel_read.h"

#include <errno.h>
#include <pthread.h>

#include "host/archive.h"

#define SMALL_MAX ((size_t)4 << 20)
#define RECORD_MAX ((size_t)32 << 20)
#define UNPACKED_MAX ((uint64_t)64 << 30)
#define THREADS_MAX 8
#define PROBLEMS_MAX 200

static bool ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);
	return n >= m && strcmp(s + n - m, suffix) == 0;
}

bool wheel_is_source(const char *path)
{
	return ends(path, ".tar.gz") || ends(path, ".tgz");
}

bool wheel_is_one(struct host *door, const char *path)
{
	struct host_file *file;
	char head[4] = "";
	if (ends(path, ".whl"))
		return true;
	if (host_file_open(door, path, &file) < 0)
		return false;
	int rc = host_file_pread(file, 0, head, sizeof head);
	host_file_close(file);
	return rc == 0 && memcmp(head, "PK\003\004", 4) == 0;
}

static int pread_file(void *arg, uint64_t off, void *p, size_t n)
{
	return host_file_pread(arg, off, p, n);
}

static void problem(struct arena *a, struct wheel *w, const char *name, const char *what)
{
	if (w->problem_count == PROBLEMS_MAX)
		return;
	w->problems = arena_grow(a, w->problems, w->problem_count, &w->problem_cap, sizeof *w->problems);
	w->problems[w->problem_count++] = (struct wheel_problem){name, what};
}

/* -- every member, once --------------------------------------------------------------------------------------------------- */

struct work {
	struct wheel_contents *contents;
	size_t next; /* atomic */
};

/* Hash, CRC, and of a library the digest. Small things in this order: reading forward keeps the points from which the library's tables are
 * read after. */
static void read_member(const struct zip *z, const struct zip_entry *e, struct wheel_member *m)
{
	struct zip_member member;
	char head[4];
	uint32_t crc;
	m->error = parse_zip_member(z, e, &member);
	if (m->error < 0)
		return;
	m->error = parse_sha256(&member.source, m->sha256);
	if (m->error < 0)
		m->sha256[0] = '\0';
	if (m->error == 0 && member.stream && parse_inflate_crc(member.stream, &crc))
		m->crc_wrong = crc != e->crc;
	if (m->error == 0 && e->size >= 64 && parse_source_read(&member.source, 0, head, sizeof head) == 0 &&
		memcmp(head, "\177ELF", 4) == 0)
		parse_elf_digest_make(&member.source, ELF_DIGEST_LINK | ELF_DIGEST_CODE, &m->digest);
	parse_zip_close(&member);
}

static void *read_members(void *arg)
{
	struct work *w = arg;
	struct wheel_contents *c = w->contents;
	for (size_t i; (i = __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED)) < c->zip.count;) {
		const struct zip_entry *e = &c->zip.entries[i];
		bool fine = !e->problem || strcmp(e->problem, "twice") == 0 || strcmp(e->problem, "symlink") == 0;
		if (fine && !e->is_directory)
			read_member(&c->zip, e, &c->members[i]);
	}
	return NULL;
}

static void read_all(struct host *door, struct wheel_contents *c)
{
	pthread_t thread[THREADS_MAX];
	struct work work = {.contents = c};
	int64_t cpus = 1;
	size_t started = 0;
	if (host_cpus_allowed(door, &cpus) < 0 || cpus < 1)
		cpus = 1;
	for (; started + 1 < (size_t)cpus && started < THREADS_MAX && c->zip.count > 4; started++)
		if (pthread_create(&thread[started], NULL, read_members, &work) != 0)
			break;
	read_members(&work);
	for (size_t i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
}

/* -- RECORD ---------------------------------------------------------------------------------------------------------------- */

struct line {
	struct dist_record record;
	bool seen;
};

static int by_record(const void *a, const void *b)
{
	return str_cmp(((const struct line *)a)->record.path, ((const struct line *)b)->record.path);
}

static void compare_record(struct arena *a, struct wheel *w, const struct wheel_contents *c, struct str text)
{
	struct line *lines = NULL, key = {0};
	size_t n = 0, cap = 0;
	for (int rc; (rc = parse_dist_record(a, &text, &key.record)) && n < PARSE_ZIP_ENTRIES_MAX;) {
		if (rc < 0)
			continue;
		lines = arena_grow(a, lines, n, &cap, sizeof *lines);
		lines[n++] = (struct line){.record = key.record};
	}
	if (n)
		qsort(lines, n, sizeof *lines, by_record);
	for (size_t i = 0; i < c->zip.count; i++) {
		const struct zip_entry *e = &c->zip.entries[i];
		const char *name = str_dup(a, e->name);
		key.record.path = e->name;
		struct line *line = n ? bsearch(&key, lines, n, sizeof *lines, by_record) : NULL;
		if (e->is_directory || ends(name, ".dist-info/RECORD.jws") || ends(name, ".dist-info/RECORD.p7s"))
			continue;
		if (!line) {
			problem(a, w, name, "not-in-record");
			continue;
		}
		line->seen = true;
		if (line->record.has_size && line->record.size != e->size)
			problem(a, w, name, "size");
		else if (str_is(line->record.algorithm, "sha256") && c->members[i].sha256[0] &&
			!str_is(line->record.digest, c->members[i].sha256))
			problem(a, w, name, "hash");
	}
	for (size_t i = 0; i < n; i++)
		if (!lines[i].seen && (i == 0 || !str_eq(lines[i].record.path, lines[i - 1].record.path)))
			problem(a, w, str_dup(a, lines[i].record.path), "not-in-archive");
}

/* -- metadata --------------------------------------------------------------------------------------------------------------- */

/* NAME.dist-info/FILE at the top; NULL. */
static const struct zip_entry *in_dist_info(const struct zip *z, const char *file)
{
	for (size_t i = 0; i < z->count; i++) {
		struct str name = z->entries[i].name;
		size_t slash = str_find_char(name, '/', 0);
		if (slash != SIZE_MAX && str_ends(str_slice(name, 0, slash), ".dist-info") && str_is(str_skip(name, slash + 1), file))
			return &z->entries[i];
	}
	return NULL;
}

static void add_text(struct arena *a, const char ***list, size_t *n, size_t *cap, const char *text)
{
	if (*n == 1000)
		return;
	*list = arena_grow(a, *list, *n, cap, sizeof **list);
	(*list)[(*n)++] = text;
}

static void read_scripts(struct arena *a, struct wheel *w, const struct zip *z)
{
	const struct zip_entry *e = in_dist_info(z, "entry_points.txt");
	struct str text, line, name, value;
	bool console = false;
	if (e && parse_zip_read(a, z, e, SMALL_MAX, &text) == 0)
		while (str_next_line(&text, &line)) {
			line = str_trim(line);
			if (line.len && line.ptr[0] == '[')
				console = str_is(line, "[console_scripts]");
			else if (console && str_split(line, '=', &name, &value) && name.len && name.ptr[0] != '#' && name.ptr[0] != ';')
				add_text(a, &w->scripts, &w->script_count, &w->script_cap, str_dup(a, name));
		}
	for (size_t i = 0; i < z->count; i++) {
		size_t at = str_find(z->entries[i].name, ".data/scripts/", 0);
		if (at != SIZE_MAX && !z->entries[i].is_directory)
			add_text(a, &w->scripts, &w->script_count, &w->script_cap,
				str_dup(a, str_skip(z->entries[i].name, at + strlen(".data/scripts/"))));
	}
}

static void read_cuda(struct arena *a, struct wheel *w, const struct zip *z)
{
	const struct zip_entry *e = parse_zip_find(z, "torch/version.py");
	struct str text, value;
	if (e && parse_zip_read(a, z, e, SMALL_MAX, &text) == 0 && parse_dist_assignment(text, "cuda", &value) > 0)
		w->cuda = str_dup(a, value);
}

/* What the file is instead of an archive. */
static const char *what_it_is(const struct wheel_contents *c)
{
	char head[64];
	size_t n = c->source.size < sizeof head ? (size_t)c->source.size : sizeof head;
	if (!n)
		return "empty";
	if (parse_source_read(&c->source, 0, head, n) < 0)
		return "not-zip";
	struct str s = str_trim(str_n(head, n));
	if (str_starts(s, "version https://git-lfs"))
		return "lfs-pointer";
	if (str_starts(s, "<!DOCTYPE") || str_starts(s, "<!doctype") || str_starts(s, "<html"))
		return "html";
	return n >= 4 && memcmp(head, "PK\003\004", 4) == 0 ? "truncated" : "not-zip";
}

static int fail(struct wheel *w, int error, const char *why)
{
	w->error = error;
	w->why = why;
	return error;
}

static int read_metadata(struct arena *a, struct wheel *w, const struct zip *z, struct dist_metadata *m)
{
	const struct zip_entry *e = in_dist_info(z, "METADATA");
	struct str text;
	if (!e)
		return fail(w, -ENOENT, "no-metadata");
	if (parse_zip_read(a, z, e, SMALL_MAX, &text) < 0 || parse_dist_metadata(a, text, m) < 0 || !m->name.len || !m->version.len)
		return fail(w, -EBADMSG, "bad-metadata");
	return 0;
}

static void take_members(struct arena *a, struct wheel *w, struct wheel_contents *c)
{
	for (size_t i = 0; i < c->zip.count; i++) {
		const struct zip_entry *e = &c->zip.entries[i];
		struct wheel_member *m = &c->members[i];
		if (e->problem)
			problem(a, w, str_dup(a, e->name), e->problem);
		else if (m->error < 0)
			problem(a, w, str_dup(a, e->name), "damaged");
		else if (m->crc_wrong)
			problem(a, w, str_dup(a, e->name), "crc");
		if (!m->digest.len)
			continue;
		w->libraries = arena_grow(a, w->libraries, w->library_count, &w->library_cap, sizeof *w->libraries);
		struct wheel_library *l = &w->libraries[w->library_count++];
		*l = (struct wheel_library){.name = str_dup(a, e->name), .elf = ELF_DIGEST_NONE};
		parse_elf_digest_read(a, str_of(arena_strndup(a, m->digest.ptr, m->digest.len)), &l->elf);
		if (l->elf.problem)
			problem(a, w, l->name, l->elf.problem);
	}
}

void wheel_read(struct arena *a, struct host *door, const char *path, struct wheel *w, struct dist_metadata *m, struct wheel_contents *c)
{
	struct str record;
	int rc = host_file_open(door, path, &c->file);
	if (rc < 0) {
		fail(w, rc, NULL);
		return;
	}
	c->source = (struct parse_source){pread_file, c->file, host_file_size(c->file)};
	w->size = c->source.size;
	rc = parse_zip_open(a, &c->source, &c->zip);
	w->members = c->zip.count;
	w->unpacked = c->zip.total;
	if (rc < 0)
		fail(w, rc, rc == -EINVAL ? what_it_is(c) : rc == -E2BIG ? "too-large" : "damaged");
	else if (c->zip.total > UNPACKED_MAX)
		fail(w, -EFBIG, "too-large");
	else if (read_metadata(a, w, &c->zip, m) == 0) {
		c->members = arena_array(a, c->zip.count + 1, sizeof *c->members);
		for (size_t i = 0; i < c->zip.count; i++)
			c->members[i].digest = BUF_MAX((size_t)4 << 20);
		read_all(door, c);
		take_members(a, w, c);
		const struct zip_entry *e = in_dist_info(&c->zip, "RECORD");
		w->record_missing = !e || parse_zip_read(a, &c->zip, e, RECORD_MAX, &record) < 0;
		if (!w->record_missing)
			compare_record(a, w, c, record);
		read_scripts(a, w, &c->zip);
		read_cuda(a, w, &c->zip);
	}
}

void wheel_close(struct wheel_contents *c)
{
	for (size_t i = 0; c->members && i < c->zip.count; i++)
		buf_free(&c->members[i].digest);
	if (c->file)
		host_file_close(c->file);
	c->file = NULL;
}

/* -- a source archive --------------------------------------------------------------------------------------------------------- */

struct source {
	struct arena *arena;
	struct wheel *wheel;
	struct str metadata, pyproject, setup;
};

static int take_source(void *arg, const char *name, struct str data)
{
	struct source *s = arg;
	const char *top = strchr(name, '/');
	s->wheel->members++;
	s->wheel->unpacked += data.len;
	if (top && strcmp(top, "/PKG-INFO") == 0)
		s->metadata = data;
	else if (top && strcmp(top, "/pyproject.toml") == 0)
		s->pyproject = data;
	else if (top && strcmp(top, "/setup.py") == 0)
		s->setup = data;
	s->wheel->has_cuda |= ends(name, ".cu") || ends(name, ".cuh");
	s->wheel->has_rust |= ends(name, "/Cargo.toml");
	s->wheel->has_cython |= ends(name, ".pyx");
	s->wheel->has_c |= ends(name, ".c") || ends(name, ".cpp") || ends(name, ".cc") || ends(name, ".cxx");
	return 0;
}

/* [build-system] requires = ["a", 'b>=1']: enough TOML for what stands there. */
static void read_build_requires(struct source *s)
{
	struct str rest = s->pyproject, line, key, value;
	bool ours = false, inside = false;
	while (str_next_line(&rest, &line)) {
		struct str text = str_trim(line);
		if (!inside && text.len && text.ptr[0] == '[') {
			ours = str_is(text, "[build-system]");
			continue;
		}
		if (!inside && !(ours && str_split(text, '=', &key, &value) && str_is(key, "requires")))
			continue;
		if (!inside)
			text = str_skip(text, str_find_char(text, '=', 0) + 1);
		inside = true;
		for (size_t i = 0; i < text.len && inside; i++) {
			char c = text.ptr[i];
			if (c == '#')
				break;
			if (c == ']')
				inside = false;
			if (c != '"' && c != '\'')
				continue;
			size_t end = str_find_char(text, c, i + 1);
			if (end == SIZE_MAX)
				break;
			add_text(s->arena, &s->wheel->build_requires, &s->wheel->build_require_count, &s->wheel->build_require_cap,
				str_dup(s->arena, str_slice(text, i + 1, end)));
			i = end;
		}
	}
}

void wheel_read_source(struct arena *a, const char *path, struct wheel *w, struct dist_metadata *m)
{
	struct source s = {.arena = a, .wheel = w};
	const char *why = NULL;
	int rc = archive_read(a, path, take_source, &s, &why);
	if (rc < 0) {
		fail(w, rc, rc == -EFBIG ? "too-large" : "damaged");
		return;
	}
	if (!s.metadata.len || parse_dist_metadata(a, s.metadata, m) < 0 || !m->name.len || !m->version.len) {
		fail(w, -ENOENT, "no-metadata");
		return;
	}
	read_build_requires(&s);
	w->has_cuda |= str_has(s.setup, "CUDAExtension");
	w->wants_torch = str_has(s.setup, "torch.utils.cpp_extension") || str_has(s.setup, "import torch");
	for (size_t i = 0; i < w->build_require_count; i++)
		w->wants_torch |= strncmp(w->build_requires[i], "torch", 5) == 0 &&
			!strchr("abcdefghijklmnopqrstuvwxyz-_", w->build_requires[i][5] ? w->build_requires[i][5] : ' ');
}
