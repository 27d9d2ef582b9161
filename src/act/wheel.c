#include "act/wheel.h"

#include <errno.h>

#include "act/wheel_read.h"
#include "parse/dist_info.h"
#include "parse/pep440.h"
#include "parse/pep508.h"

/* -- asking the store ------------------------------------------------------------------------------------------------------- */

static const char *ask(struct judge *j, const char *sql, const char *a, const char *b, const char *c)
{
	struct store_query *q;
	const char *text = NULL;
	const char *values[] = {a, b, c};
	if (store_prepare(j->store, sql, &q, NULL) < 0)
		return NULL;
	for (int i = 0; i < 3; i++)
		if (values[i])
			store_bind_text(q, i + 1, values[i]);
	if (store_step(q) > 0 && store_text(q, 0))
		text = arena_strdup(j->arena, store_text(q, 0));
	store_finish(q);
	return text;
}

static bool is_true(const char *answer)
{
	return answer && strcmp(answer, "1") == 0;
}

static const char *fact(const struct judge *j, enum facts_table table, enum facts_column column)
{
	const struct facts_row *row = j->facts->first[table];
	return row ? facts_get_text(row, column) : NULL;
}

/* -- the interpreter -------------------------------------------------------------------------------------------------------- */

static void judge_tags(struct judge *j, struct wheel *w)
{
	const char *version = fact(j, TABLE_python, python__version), *arch = fact(j, TABLE_python, python__arch),
		   *libc = fact(j, TABLE_system, system__libc), *libc_version = fact(j, TABLE_system, system__libc_version),
		   *path = fact(j, TABLE_python, python__path);
	struct wheel_target t = {.arch = arch ? arch : fact(j, TABLE_system, system__arch), .musl = libc && strcmp(libc, "musl") == 0};
	unsigned major = 0;
	w->python = version;
	if (!version || sscanf(version, "%u.%u", &major, &t.minor) != 2 || major != 3 || !t.arch)
		return;
	if (libc_version)
		sscanf(libc_version, "%u.%u", &t.libc_major, &t.libc_minor);
	size_t n = path ? strlen(path) : 0;
	t.free_threaded = n > 1 && path[n - 1] == 't' && path[n - 2] >= '0' && path[n - 2] <= '9';
	w->fit_known = w->name_valid;
	w->fit = w->name_valid ? parse_wheel_fits(w->tags.python, w->tags.abi, w->tags.platform, &t) : WHEEL_FITS;
	w->target = arena_printf(j->arena, "cp3%u%s, %s%s_%u_%u_%s", t.minor, t.free_threaded ? "t" : "",
		t.musl ? "musllinux" : "manylinux", t.libc_major ? "" : "?", t.libc_major, t.libc_minor, t.arch);
}

static void judge_python(struct judge *j, struct wheel *w)
{
	const char *fits = w->requires_python && w->python ? ask(j, "SELECT pep440_match(?1, ?2)", w->python, w->requires_python, NULL)
							   : NULL;
	w->python_known = fits != NULL;
	w->python_fits = is_true(fits);
}

/* -- packages --------------------------------------------------------------------------------------------------------------- */

static const char *installed(struct judge *j, const char *canonical)
{
	return ask(j, "SELECT version FROM package WHERE canonical = ?1 AND shadowed IS NOT 1 AND broken IS NULL LIMIT 1", canonical, NULL,
		NULL);
}

static void judge_requirement(struct judge *j, struct wheel *w, struct str text)
{
	struct pep508 r;
	if (parse_pep508(text, &r) < 0 || (r.marker.len && !is_true(ask(j, "SELECT marker(?1)", str_dup(j->arena, r.marker), NULL, NULL))))
		return;
	struct wheel_requirement q = {.name = parse_pep503_name(j->arena, r.name),
		.text = str_dup(j->arena, str_trim(str_slice(text, 0, str_find_char(text, ';', 0))))};
	q.found = installed(j, q.name);
	const char *fits = q.found && r.specifier.len ? ask(j, "SELECT pep440_match(?1, ?2)", q.found, str_dup(j->arena, r.specifier), NULL)
						      : NULL;
	q.conflict = fits && !is_true(fits);
	w->requirements = arena_grow(j->arena, w->requirements, w->requirement_count, &w->requirement_cap, sizeof *w->requirements);
	w->requirements[w->requirement_count++] = q;
}

/* What installed packages ask of this one: met until now, not by this version. */
static void judge_breaks(struct judge *j, struct wheel *w)
{
	struct store_query *q;
	if (store_prepare(j->store,
		    "SELECT DISTINCT package, specifier FROM requirement WHERE name = ?1 AND pep440_match(?2, specifier) = 0", &q,
		    NULL) < 0)
		return;
	store_bind_text(q, 1, w->canonical);
	store_bind_text(q, 2, w->version);
	while (store_step(q) > 0 && w->break_count < 1000) {
		w->breaks = arena_grow(j->arena, w->breaks, w->break_count, &w->break_cap, sizeof *w->breaks);
		w->breaks[w->break_count++] = (struct wheel_break){
			arena_strdup(j->arena, store_text(q, 0)), arena_strdup(j->arena, store_text(q, 1))};
	}
	store_finish(q);
}

static void judge_packages(struct judge *j, struct wheel *w, const struct dist_metadata *m)
{
	w->replaces = installed(j, w->canonical);
	w->replaces_in = ask(j, "SELECT location FROM package WHERE canonical = ?1 AND shadowed IS NOT 1 AND broken IS NULL LIMIT 1",
		w->canonical, NULL, NULL);
	for (size_t i = 0; i < m->requires_count; i++)
		judge_requirement(j, w, m->requires[i]);
	judge_breaks(j, w);
}

/* -- files that lie there ------------------------------------------------------------------------------------------------------ */

#define OWNERS_MAX ((size_t)2 << 20)

struct owner {
	const char *path; /* relative to site-packages */
	struct str digest;
	const struct facts_row *package;
};

struct owner_list {
	struct owner *all;
	size_t count, cap;
};

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct owner *)a)->path, ((const struct owner *)b)->path);
}

/* Every file of every other distribution in that folder. */
static void gather_owners(struct judge *j, struct host *door, const struct wheel *w, const char *site, struct owner_list *o)
{
	for (const struct facts_row *p = j->facts->first[TABLE_package]; p; p = p->next) {
		const char *location = facts_get_text(p, package__location), *metadata = facts_get_text(p, package__metadata),
			   *canonical = facts_get_text(p, package__canonical);
		struct str text;
		struct dist_record r;
		if (!location || !metadata || strcmp(location, site) != 0 || strcmp(canonical, w->canonical) == 0 ||
			host_read(door, arena_printf(j->arena, "%s/RECORD", metadata), (size_t)16 << 20, &text) < 0)
			continue;
		for (int rc; (rc = parse_dist_record(j->arena, &text, &r)) && o->count < OWNERS_MAX;) {
			if (rc < 0 || str_ends(r.path, ".pyc"))
				continue;
			o->all = arena_grow(j->arena, o->all, o->count, &o->cap, sizeof *o->all);
			o->all[o->count++] = (struct owner){str_dup(j->arena, r.path), r.digest, p};
		}
	}
	if (o->count)
		qsort(o->all, o->count, sizeof *o->all, by_path);
}

/* Where a member would lie, relative to site-packages: the .data folder's parts have places of their own. NULL: not in there. */
static const char *place_of(struct arena *a, struct str name)
{
	size_t data = str_find(name, ".data/", 0), slash = str_find_char(name, '/', 0);
	if (data == SIZE_MAX || slash != data + strlen(".data"))
		return str_dup(a, name);
	struct str rest = str_skip(name, data + strlen(".data/"));
	static const struct {
		const char *scheme, *place;
	} schemes[] = {{"purelib/", ""}, {"platlib/", ""}, {"scripts/", "../../../bin/"}, {"data/", "../../../"}};
	for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
		if (str_starts(rest, schemes[i].scheme))
			return arena_printf(a, "%s%s", schemes[i].place, str_dup(a, str_skip(rest, strlen(schemes[i].scheme))));
	return NULL;
}

static void add_overwrite(struct judge *j, struct wheel *w, const char *path, const struct facts_row *owner)
{
	w->overwritten++;
	if (w->overwrite_count == WHEEL_OVERWRITES_MAX)
		return;
	w->overwrites = arena_grow(j->arena, w->overwrites, w->overwrite_count, &w->overwrite_cap, sizeof *w->overwrites);
	w->overwrites[w->overwrite_count++] = (struct wheel_overwrite){
		path, owner ? facts_get_text(owner, package__name) : NULL, owner ? facts_get_text(owner, package__version) : NULL};
}

static void judge_overwrites(struct judge *j, struct host *door, struct wheel *w, const struct wheel_contents *c)
{
	struct owner_list owners = {0};
	const char *site = fact(j, TABLE_python, python__site_packages);
	if (!site)
		return;
	gather_owners(j, door, w, site, &owners);
	for (size_t i = 0; i < c->zip.count; i++) {
		const struct zip_entry *e = &c->zip.entries[i];
		const char *place = e->is_directory || e->problem ? NULL : place_of(j->arena, e->name);
		if (!place)
			continue;
		struct owner key = {.path = place},
			     *found = owners.count ? bsearch(&key, owners.all, owners.count, sizeof key, by_path) : NULL;
		/* Of the same bytes there is nothing to fear: an empty nvidia/__init__.py is in every wheel of NVIDIA's. */
		if (found && str_is(found->digest, c->members[i].sha256))
			continue;
		if (found)
			add_overwrite(j, w, place, found->package);
		else if (!w->replaces && host_exists(door, arena_printf(j->arena, "%s/%s", site, place)))
			add_overwrite(j, w, place, NULL);
	}
}

/* -- GPU code, CUDA, NCCL ------------------------------------------------------------------------------------------------------- */

static int64_t code_entries(const struct elf_digest *d)
{
	int64_t n = 0;
	for (size_t i = 0; i < d->code_count; i++)
		if (d->codes[i].kind == FATBIN_SASS || d->codes[i].kind == FATBIN_PTX || d->codes[i].kind == FATBIN_HSACO)
			n += d->codes[i].entries;
	return n;
}

static const char *code_list(struct arena *a, const struct elf_digest *d)
{
	struct buf b = BUF_MAX(65536);
	for (size_t i = 0; i < d->code_count; i++)
		if (d->codes[i].kind != FATBIN_LTO && d->codes[i].entries)
			buf_fmt(&b, "%s%s", b.len ? " " : "", d->codes[i].name);
	const char *text = b.len ? arena_strndup(a, b.ptr, b.len) : NULL;
	buf_free(&b);
	return text;
}

/* The library with most GPU code speaks for the wheel; libraries that choose for themselves only when no other has any. */
static void choose_code(struct judge *j, struct wheel *w)
{
	int64_t most = 0;
	for (size_t pass = 0; pass < 2 && !w->code; pass++)
		for (size_t i = 0; i < w->library_count; i++) {
			const struct elf_digest *d = &w->libraries[i].elf;
			int64_t n = code_entries(d);
			if (n <= most || (d->code_hidden && !pass))
				continue;
			most = n;
			w->code = code_list(j->arena, d);
			w->code_in = w->libraries[i].name;
			w->code_hidden = d->code_hidden;
			w->code_incomplete = d->code_incomplete;
		}
}

static void judge_gpus(struct judge *j, struct wheel *w)
{
	size_t cap = 0;
	if (!w->code || strstr(w->code, "gfx"))
		return;
	for (const struct facts_row *g = j->facts->first[TABLE_gpu]; g; g = g->next) {
		const char *vendor = facts_get_text(g, gpu__vendor), *name = facts_get_text(g, gpu__name);
		int64_t cc;
		if (!vendor || strcmp(vendor, "nvidia") != 0 || !facts_get_int(g, gpu__cc, &cc))
			continue;
		const char *code = arena_printf(j->arena, "sm_%lld", (long long)cc),
			   *runs = ask(j, "SELECT arch_runs(CAST(?1 AS INTEGER), ?2)", code + 3, w->code, NULL);
		bool known = false;
		for (size_t i = 0; i < w->gpu_count; i++)
			known |= strcmp(w->gpus[i].code, code) == 0;
		if (known)
			continue;
		struct wheel_gpu one = {.name = name, .code = code, .runs = WHEEL_GPU_UNKNOWN};
		if (runs)
			one.runs = strcmp(runs, "1") == 0              ? WHEEL_GPU_RUNS
				: strcmp(runs, "2") == 0               ? WHEEL_GPU_JIT
				: w->code_hidden || w->code_incomplete ? WHEEL_GPU_UNKNOWN
								       : WHEEL_GPU_NO;
		w->gpus = arena_grow(j->arena, w->gpus, w->gpu_count, &cap, sizeof *w->gpus);
		w->gpus[w->gpu_count++] = one;
	}
}

static bool is_cuda_library(const char *name)
{
	static const char *const stems[] = {"libcudart.so.", "libcublas.so.", "libcublasLt.so.", "libcudnn.so.", "libnvrtc.so.",
		"libcufft.so.", "libcurand.so.", "libcusparse.so.", "libcusolver.so.", "libnvJitLink.so.", "libcupti.so.", "libnccl.so.",
		"libcusparseLt.so.", "libnvshmem_host.so.", "libcufile.so.", "librccl.so.", "libamdhip64.so."};
	for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
		if (strncmp(name, stems[i], strlen(stems[i])) == 0)
			return true;
	return false;
}

static bool brings(const struct wheel *w, const char *soname)
{
	for (size_t i = 0; i < w->library_count; i++) {
		const char *slash = strrchr(w->libraries[i].name, '/'), *file = slash ? slash + 1 : w->libraries[i].name;
		if (strcmp(file, soname) == 0 || (w->libraries[i].elf.soname && strcmp(w->libraries[i].elf.soname, soname) == 0))
			return true;
	}
	return false;
}

static void take_need(struct judge *j, struct wheel *w, const char *needed, const char *library)
{
	if (!is_cuda_library(needed) || brings(w, needed))
		return;
	if (strncmp(needed, "libnccl.so.", 11) == 0 && !w->nccl_needs)
		w->nccl_needs = library;
	for (size_t i = 0; i < w->need_count; i++)
		if (strcmp(w->needs[i], needed) == 0)
			return;
	w->needs = arena_grow(j->arena, w->needs, w->need_count, &w->need_cap, sizeof *w->needs);
	w->needs[w->need_count++] = needed;
}

static void raise_version(const char **highest, const char *version)
{
	unsigned a[3] = {0}, b[3] = {0};
	if (!version)
		return;
	if (*highest) {
		sscanf(*highest, "%u.%u.%u", &a[0], &a[1], &a[2]);
		sscanf(version, "%u.%u.%u", &b[0], &b[1], &b[2]);
		if (b[0] != a[0] ? b[0] < a[0] : b[1] != a[1] ? b[1] < a[1] : b[2] <= a[2])
			return;
	}
	*highest = version;
}

static void judge_libraries(struct judge *j, struct wheel *w)
{
	for (size_t i = 0; i < w->library_count; i++) {
		const struct wheel_library *l = &w->libraries[i];
		const char *slash = strrchr(l->name, '/'), *file = slash ? slash + 1 : l->name;
		if (l->elf.nccl && strncmp(file, "libnccl.so", 10) == 0)
			w->nccl_brings = l->elf.nccl;
		else if (l->elf.nccl)
			w->nccl_inside = l->elf.nccl;
		if (strncmp(file, "libcudart.so.", 13) == 0 && !w->cuda)
			w->cuda = l->elf.version ? l->elf.version : file + 13;
		for (size_t k = 0; k < l->elf.needed_count; k++)
			take_need(j, w, l->elf.needed[k], l->name);
		raise_version(&w->glibc, parse_elf_digest_highest_need(&l->elf, "GLIBC_"));
		raise_version(&w->glibcxx, parse_elf_digest_highest_need(&l->elf, "GLIBCXX_"));
	}
	choose_code(j, w);
	judge_gpus(j, w);
}

/* -- the whole ------------------------------------------------------------------------------------------------------------------- */

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static void compare_name(struct wheel *w)
{
	struct pep440 a, b;
	if (!w->name_valid)
		return;
	w->name_differs = !parse_pep503_equal(w->tags.name, str_of(w->name)) ||
		(parse_pep440(w->tags.version, &a) == 0 && parse_pep440(str_of(w->version), &b) == 0 && parse_pep440_compare(&a, &b) != 0);
}

void wheel_examine(struct judge *j, struct host *door, const char *path, struct wheel *ret)
{
	struct dist_metadata m = {0};
	struct wheel_contents contents = {0};
	*ret = (struct wheel){.path = path};
	if (wheel_is_source(path)) {
		ret->is_source = true;
		wheel_read_source(j->arena, path, ret, &m);
	} else {
		ret->name_valid = parse_wheel_name(str_of(file_name(path)), &ret->tags) == 0;
		wheel_read(j->arena, door, path, ret, &m, &contents);
	}
	if (ret->error == 0) {
		ret->name = str_dup(j->arena, m.name);
		ret->version = str_dup(j->arena, m.version);
		ret->canonical = parse_pep503_name(j->arena, m.name);
		ret->requires_python = m.requires_python.len ? str_dup(j->arena, m.requires_python) : NULL;
		judge_tags(j, ret);
		judge_python(j, ret);
		judge_packages(j, ret, &m);
		if (!ret->is_source) {
			compare_name(ret);
			judge_overwrites(j, door, ret, &contents);
			judge_libraries(j, ret);
		}
	}
	wheel_close(&contents);
}

bool wheel_is_faulty(const struct wheel *w)
{
	if (w->error < 0 || w->problem_count || w->break_count || w->overwritten || w->record_missing || w->name_differs)
		return true;
	if (!w->is_source && (!w->name_valid || (w->fit_known && w->fit != WHEEL_FITS)))
		return true;
	if (w->python_known && !w->python_fits)
		return true;
	for (size_t i = 0; i < w->requirement_count; i++)
		if (w->requirements[i].conflict)
			return true;
	for (size_t i = 0; i < w->gpu_count; i++)
		if (w->gpus[i].runs == WHEEL_GPU_NO)
			return true;
	return false;
}
