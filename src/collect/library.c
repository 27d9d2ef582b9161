/* The shared libraries that this PyTorch and what is built on it would load, and what they would not find. */
#include <errno.h>

#include "collect/binary.h"
#include "collect/interpreter.h"
#include "collect/torch.h"
#include "parse/dist_info.h"

#define RECORD_MAX ((size_t)16 << 20)

/* -- who owns a file ---------------------------------------------------------------------------------------------------- */

struct owned {
	const char *path, *package, *version;
};

struct wheel_dir {
	const char *path;
	struct host_list list;
};

struct owner_index {
	struct collect *c;
	struct owned *all; /* libraries that a RECORD names */
	size_t count, cap;
	struct wheel_dir *dirs; /* nvidia/<part>/lib */
	size_t dir_count, dir_cap;
};

static void index_record(struct owner_index *o, const struct facts_row *p)
{
	struct collect *c = o->c;
	const char *metadata = facts_get_text(p, package__metadata), *location = facts_get_text(p, package__location);
	struct str text;
	struct dist_record r;
	if (!metadata || !location || host_read(c->host, arena_printf(c->arena, "%s/RECORD", metadata), RECORD_MAX, &text) < 0)
		return;
	for (int rc; (rc = parse_dist_record(c->arena, &text, &r));) {
		if (rc < 0 || (!str_ends(r.path, ".so") && !str_has(r.path, ".so.")))
			continue;
		o->all = arena_grow(c->arena, o->all, o->count, &o->cap, sizeof *o->all);
		o->all[o->count++] = (struct owned){arena_printf(c->arena, "%s/%s", location, str_dup(c->arena, r.path)),
			facts_get_text(p, package__name), facts_get_text(p, package__version)};
	}
}

static void index_wheel_dirs(struct owner_index *o, const char *site)
{
	struct host_list parts;
	struct arena *a = o->c->arena;
	const char *dir = arena_printf(a, "%s/nvidia", site);
	if (host_list(o->c->host, dir, &parts) < 0)
		return;
	for (size_t i = 0; i < parts.count; i++) {
		struct wheel_dir w = {.path = arena_printf(a, "%s/%s/lib", dir, parts.names[i])};
		if (strchr(parts.names[i], '.') || host_list(o->c->host, w.path, &w.list) < 0)
			continue;
		o->dirs = arena_grow(a, o->dirs, o->dir_count, &o->dir_cap, sizeof *o->dirs);
		o->dirs[o->dir_count++] = w;
	}
}

struct owner_index *collect_owner_index(struct collect *c, const struct torch_place *t)
{
	struct owner_index *o = arena_alloc(c->arena, sizeof *o);
	o->c = c;
	for (const struct facts_row *p = c->facts->first[TABLE_package]; p; p = p->next) {
		const char *name = facts_get_text(p, package__canonical);
		bool shadowed = false;
		facts_get_bool(p, package__shadowed, &shadowed);
		if (name && !shadowed && strncmp(name, "nvidia-", 7) == 0)
			index_record(o, p);
	}
	for (const struct facts_row *p = c->facts->first[TABLE_sys_path]; p; p = p->next) {
		const char *path = facts_get_text(p, sys_path__path), *kind = facts_get_text(p, sys_path__origin_kind);
		bool exists = false;
		if (path && kind && facts_get_bool(p, sys_path__exists_, &exists) && exists && strcmp(kind, "stdlib") != 0)
			index_wheel_dirs(o, path);
	}
	(void)t;
	return o;
}

const char *collect_owner_of(struct owner_index *o, const char *path, const char **ret_version)
{
	*ret_version = NULL;
	for (size_t i = 0; i < o->count; i++)
		if (strcmp(o->all[i].path, path) == 0) {
			*ret_version = o->all[i].version;
			return o->all[i].package;
		}
	/* PyTorch's own, by its directory; conda's, by the library's name. */
	const struct facts_row *torch = o->c->facts->first[TABLE_torch];
	const char *dir = torch ? facts_get_text(torch, torch__location) : NULL;
	if (dir && strncmp(path, dir, strlen(dir)) == 0 && path[strlen(dir)] == '/') {
		*ret_version = facts_get_text(torch, torch__version);
		return "torch";
	}
	for (const struct facts_row *p = o->c->facts->first[TABLE_package]; p; p = p->next) {
		const char *installer = facts_get_text(p, package__installer), *prefix = facts_get_text(p, package__location),
			   *name = facts_get_text(p, package__canonical);
		const char *base = collect_path_name(path);
		if (!installer || !prefix || !name || strcmp(installer, "conda") != 0 || strncmp(path, prefix, strlen(prefix)) != 0)
			continue;
		if (strncmp(base, "lib", 3) == 0 && strncmp(base + 3, name, strlen(name)) == 0 && base[3 + strlen(name)] == '.') {
			*ret_version = facts_get_text(p, package__version);
			return facts_get_text(p, package__name);
		}
	}
	return NULL;
}

const char *collect_wheel_library(struct owner_index *o, const char *soname)
{
	for (size_t i = 0; i < o->dir_count; i++)
		for (size_t k = 0; k < o->dirs[i].list.count; k++)
			if (strcmp(o->dirs[i].list.names[k], soname) == 0)
				return arena_printf(o->c->arena, "%s/%s", o->dirs[i].path, soname);
	return NULL;
}

/* -- what import loads -------------------------------------------------------------------------------------------------- */

static bool has_missing(struct ldso *l, struct owner_index *o)
{
	struct ldso_result r = collect_ldso_result(l);
	for (size_t i = 0; i < r.want_count; i++)
		if (r.wants[i].to < 0 && collect_wheel_library(o, r.wants[i].name))
			return true;
	return false;
}

/* torch/__init__.py: first the library of all global dependencies; when that fails, NVIDIA's wheels are loaded one by one from the module
 * search path. */
static struct ldso *load_torch(struct collect *c, const struct torch_place *t, struct owner_index *o, bool preload)
{
	static const char *const wheels[] = {"libcublasLt.so.", "libcublas.so.", "libcudnn.so.", "libnvrtc.so.", "libcudart.so.",
		"libcupti.so.", "libcufft.so.", "libcurand.so.", "libnvJitLink.so.", "libcusparse.so.", "libcusparseLt.so.",
		"libcusolver.so.", "libnccl.so.", "libnvToolsExt.so.", "libnvshmem_host.so.", "libcufile.so."};
	struct ldso *l = collect_ldso_new(c->arena, c->host);
	if (collect_ldso_program(l, t->python) < 0)
		return NULL;
	for (size_t i = 0; i < sizeof wheels / sizeof *wheels && preload; i++)
		for (size_t k = 0; k < o->dir_count; k++)
			for (size_t n = 0; n < o->dirs[k].list.count; n++)
				if (strncmp(o->dirs[k].list.names[n], wheels[i], strlen(wheels[i])) == 0)
					collect_ldso_open(l, arena_printf(c->arena, "%s/%s", o->dirs[k].path, o->dirs[k].list.names[n]), 0);
	if (t->dir)
		collect_ldso_open(l, arena_printf(c->arena, "%s/lib/libtorch_global_deps.so", t->dir), 0);
	if (t->native)
		collect_ldso_open(l, t->native, 0);
	return l;
}

struct ldso *collect_torch_load(
	struct collect *c, const struct torch_place *t, struct owner_index *o, const char **extensions, size_t extension_count)
{
	struct ldso *l = load_torch(c, t, o, false);
	if (!l)
		return NULL;
	if (t->native && has_missing(l, o))
		l = load_torch(c, t, o, true);
	for (size_t i = 0; i < extension_count && l && t->native; i++)
		collect_ldso_open(l, extensions[i], 0);
	return l;
}

/* -- table library ------------------------------------------------------------------------------------------------------ */

static bool starts_with_any(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (strncmp(name, *list, strlen(*list)) == 0)
			return true;
	return false;
}

static bool is_nvidia(const char *soname)
{
	static const char *const list[] = {"libcudart.so", "libcublas.so", "libcublasLt.so", "libcudnn", "libnvJitLink.so", "libcupti.so",
		"libnccl.so", "libcusparse", "libcufft.so", "libcurand.so", "libcusolver.so", "libnvrtc.so", "libnvToolsExt.so",
		"libnvshmem", "libcufile.so", NULL};
	return starts_with_any(soname, list);
}

static bool is_of_interest(const char *soname)
{
	static const char *const list[] = {"librccl.so", "libstdc++.so", "libcuda.so", "libgomp", "libiomp5", "libomp", "libmkl",
		"libtorch", "libc10", "libgcc_s.so", "libmpi.so", "libgloo", "libamdhip64", "libhsa-runtime", "libhccl", "libascendcl",
		"libshm.so", NULL};
	return is_nvidia(soname) || starts_with_any(soname, list);
}

/* The copy that belongs to this PyTorch: beside it, in NVIDIA's wheels when it asks for them, in the prefix of conda. */
static const char *expected_path(struct collect *c, const struct torch_place *t, struct owner_index *o, const char *soname)
{
	if (!t->dir || !is_nvidia(soname))
		return NULL;
	const char *own = arena_printf(c->arena, "%s/lib/%s", t->dir, soname);
	if (host_exists(c->host, own))
		return own;
	if (t->conda) {
		own = arena_printf(c->arena, "%s/lib/%s", t->prefix, soname);
		return host_exists(c->host, own) ? own : NULL;
	}
	return collect_wheel_library(o, soname);
}

static bool is_same_file(struct collect *c, const char *a, const char *b)
{
	const char *x, *y;
	return strcmp(a, b) == 0 || (host_realpath(c->host, a, &x) == 0 && host_realpath(c->host, b, &y) == 0 && strcmp(x, y) == 0);
}

static void fill_version_of(struct collect *c, struct facts_row *row, const struct ldso_object *o)
{
	char version[32];
	const char *real;
	if (o->elf.nccl || o->elf.rccl || o->elf.version) {
		facts_text(row, library__version, o->elf.nccl ? o->elf.nccl : o->elf.rccl ? o->elf.rccl : o->elf.version, o->path);
		return;
	}
	if (o->elf.glibcxx_max) {
		facts_text(row, library__version, o->elf.glibcxx_max, o->path);
		return;
	}
	if (host_realpath(c->host, o->path, &real) == 0 && parse_elf_version_of_name(real, version))
		facts_text(row, library__version, version, real);
}

static void fill_found(struct collect *c, const struct torch_place *t, struct owner_index *owners, struct facts_row *row,
	const char *soname, const struct ldso_object *o)
{
	const char *version, *package = collect_owner_of(owners, o->path, &version), *expected = expected_path(c, t, owners, soname);
	facts_text(row, library__path, o->path, o->path);
	facts_text(row, library__found_by, o->found_by, o->path);
	fill_version_of(c, row, o);
	if (package)
		facts_text(row, library__package, package, o->path);
	if (expected) {
		bool shadowed = !is_same_file(c, o->path, expected);
		facts_bool(row, library__shadowed, shadowed, o->path);
		if (shadowed)
			facts_text(row, library__expected_path, expected, expected);
	}
	const char *problem = o->problem                                               ? o->problem
		: strncmp(soname, "libcuda.so", 10) == 0 && strstr(o->path, "/stubs/") ? "stub"
										       : NULL;
	if (problem)
		facts_text(row, library__problem, problem, o->path);
	else
		facts_gap(row, library__problem, GAP_ABSENT, o->path, NULL);
}

static bool has_row(struct collect *c, const char *soname)
{
	return facts_find(c->facts, library__soname, soname) != NULL;
}

static void fill_want(
	struct collect *c, const struct torch_place *t, struct owner_index *owners, const struct ldso_result *r, const struct ldso_want *w)
{
	const struct ldso_object *o = w->to >= 0 ? &r->objects[w->to] : NULL;
	const char *soname = collect_path_name(w->name), *by = w->from >= 0 ? r->objects[w->from].path : "LD_PRELOAD";
	if (o && !o->problem && !is_of_interest(soname))
		return;
	if (o ? w->found_by && strcmp(w->found_by, "loaded") == 0 && has_row(c, soname) : w->from <= 0 && !strchr(w->name, '/'))
		return;
	if (has_row(c, soname))
		return;
	struct facts_row *row = facts_add(c->facts, TABLE_library);
	facts_text(row, library__soname, soname, by);
	facts_text(row, library__wanted_by, by, by);
	if (o) {
		fill_found(c, t, owners, row, soname, o);
		return;
	}
	/* The loader passes over what is for another processor, and then says that there is no such file. */
	struct elf_digest d;
	if (strchr(w->name, '/') && collect_binary(c->host, c->arena, w->name, ELF_DIGEST_LINK, &d) == 0 && !d.problem) {
		facts_text(row, library__path, w->name, w->name);
		facts_text(row, library__problem, "wrong-machine", w->name);
		return;
	}
	facts_gap(row, library__path, GAP_ABSENT, by, "not found");
	facts_text(row, library__problem, "missing", by);
	const char *expected = expected_path(c, t, owners, soname);
	if (expected)
		facts_text(row, library__expected_path, expected, expected);
}

static void fill_unmet(struct collect *c, const struct ldso_result *r)
{
	for (size_t i = 0; i < r->unmet_count; i++) {
		const struct ldso_unmet *u = &r->unmet[i];
		struct facts_row *row = facts_add(c->facts, TABLE_missing_symbol);
		facts_text(row, missing_symbol__symbol, u->symbol, r->objects[u->library].path);
		facts_text(row, missing_symbol__library, r->objects[u->library].path, r->objects[u->library].path);
		if (u->provider >= 0)
			facts_text(row, missing_symbol__provider, r->objects[u->provider].path, r->objects[u->provider].path);
		else
			facts_gap(row, missing_symbol__provider, GAP_ABSENT, r->objects[u->library].path, "no library that is loaded");
	}
}

void collect_library(struct collect *c, const struct torch_place *t, struct ldso *l, struct owner_index *o)
{
	if (!l) {
		if (t->dir)
			facts_table_gap(c->facts, TABLE_library, GAP_MISSING, t->python ? t->python : "python",
				"the interpreter could not be read");
		return;
	}
	if (t->dir && !t->native)
		facts_table_gap(c->facts, TABLE_library, GAP_MISSING, t->dir, "no torch/_C library for this Python");
	if (t->cuda)
		collect_ldso_open(l, "libcuda.so.1", 0);
	collect_ldso_check(l);
	struct ldso_result r = collect_ldso_result(l);
	for (size_t i = 0; i < r.want_count; i++)
		fill_want(c, t, o, &r, &r.wants[i]);
	fill_unmet(c, &r);
	if (r.uncertain)
		facts_table_gap(c->facts, TABLE_library, GAP_NOT_RECORDED, "ld.so", "something that decides the search was not recorded");
}
