/* Symbols of PyTorch that compiled extensions want and this PyTorch does not have: the "undefined symbol: _ZN3c10…" of an import, told
 * before it. Python loads extensions with everything bound at once, so one missing function is enough.
 *
 * Two digests make it replayable: "imports" of an extension, all that it wants of PyTorch's namespaces; and "exports" of a library, those
 * of the wanted names that it defines. */
#include <errno.h>

#include "collect/binary.h"
#include "collect/torch.h"
#include "parse/elf.h"

#define WANTED_MAX ((size_t)100000)
#define SLOTS ((size_t)1 << 18)
#define ROWS_MAX 10 /* for one extension */

struct wanted {
	const char *name;
	bool found;
};

struct names {
	struct arena *arena;
	struct wanted *slot;
	size_t slots, count;
};

static size_t hash(const char *s, size_t n)
{
	uint64_t x = 1469598103934665603u;
	for (size_t i = 0; i < n; i++)
		x = (x ^ (unsigned char)s[i]) * 1099511628211u;
	return (size_t)(x ^ x >> 29);
}

static struct wanted *slot_of(const struct names *set, const char *name, size_t n)
{
	size_t k = hash(name, n) & (set->slots - 1);
	while (set->slot[k].name && (strncmp(set->slot[k].name, name, n) != 0 || set->slot[k].name[n]))
		k = (k + 1) & (set->slots - 1);
	return &set->slot[k];
}

static void add_name(struct names *set, struct str name)
{
	if (!set->slots) {
		set->slots = SLOTS;
		set->slot = arena_array(set->arena, set->slots, sizeof *set->slot);
	}
	struct wanted *w = slot_of(set, name.ptr, name.len);
	if (w->name || set->count == WANTED_MAX)
		return;
	w->name = str_dup(set->arena, name);
	set->count++;
}

/* A mangled name of c10, at or torch, as a word of its own: "3c10", "2at", "5torch" behind the start, an N or a qualifier. */
static bool is_of_torch(const char *name)
{
	static const char *const words[] = {"N3c10", "NK3c10", "N2at", "NK2at", "N5torch", "NK5torch"};
	if (name[0] != '_' || name[1] != 'Z')
		return false;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(name, words[i]))
			return true;
	return false;
}

struct symbol {
	const char *name;
	unsigned bind;
	bool defined;
};

static bool symbol_at(const struct elf *e, size_t i, struct symbol *ret)
{
	const unsigned char *p = e->symtab + i * 24;
	uint32_t at = parse_u32(p);
	if (!at || at >= e->dynstr.len)
		return false;
	*ret = (struct symbol){e->dynstr.ptr + at, p[4] >> 4u, parse_u16(p + 6) != 0};
	return true;
}

static int with_symbols(struct host_file *file, struct arena *a, struct parse_source *source, struct elf *e)
{
	*source = collect_binary_source(file);
	int rc = parse_elf_open(a, source, e);
	if (rc == 0 && e->problem != ELF_FINE)
		rc = -ENOEXEC;
	return rc == 0 ? parse_elf_symbols(e) : rc;
}

static int make_imports(struct host_file *file, struct buf *ret_text, void *arg)
{
	struct arena *a = arena_new(0);
	struct parse_source source;
	struct elf e;
	struct symbol s;
	(void)arg;
	int rc = with_symbols(file, a, &source, &e);
	for (size_t i = 1; rc == 0 && e.symtab && i < e.symbol_count; i++)
		if (symbol_at(&e, i, &s) && !s.defined && s.bind == 1 && is_of_torch(s.name))
			buf_fmt(ret_text, "%s\n", s.name);
	arena_free(a);
	return rc;
}

static int make_exports(struct host_file *file, struct buf *ret_text, void *arg)
{
	const struct names *set = arg;
	struct arena *a = arena_new(0);
	struct parse_source source;
	struct elf e;
	struct symbol s;
	int rc = with_symbols(file, a, &source, &e);
	for (size_t i = 1; rc == 0 && e.symtab && i < e.symbol_count; i++) {
		if (!symbol_at(&e, i, &s) || !s.defined || s.bind == 0 || s.name[0] != '_' || s.name[1] != 'Z')
			continue;
		if (slot_of(set, s.name, strlen(s.name))->name)
			buf_fmt(ret_text, "%s\n", s.name);
	}
	arena_free(a);
	return rc;
}

static int look_up(struct collect *c, struct names *set, const char *path)
{
	struct str text, line;
	int rc = host_digest(c->host, "exports", path, make_exports, set, &text);
	while (rc == 0 && str_next_line(&text, &line)) {
		struct wanted *w = slot_of(set, line.ptr, line.len);
		w->found |= w->name != NULL;
	}
	return rc;
}

/* PyTorch's own libraries must be readable, or nothing can be said. */
static int look_up_torch(struct collect *c, const struct torch_place *t, struct names *set)
{
	static const char *const needed[] = {"libc10.so", "libtorch_cpu.so", "libtorch_python.so"};
	static const char *const others[] = {"libtorch.so", "libtorch_cuda.so", "libc10_cuda.so", "libtorch_cuda_cpp.so",
		"libtorch_cuda_cu.so", "libtorch_cuda_linalg.so", "libtorch_hip.so", "libc10_hip.so", "libtorch_xpu.so", "libc10_xpu.so"};
	int seen = 0;
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
		int rc = look_up(c, set, arena_printf(c->arena, "%s/lib/%s", t->dir, needed[i]));
		if (rc < 0 && rc != -ENOENT)
			return rc;
		seen += rc == 0;
	}
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		int rc = look_up(c, set, arena_printf(c->arena, "%s/lib/%s", t->dir, others[i]));
		if (rc < 0 && rc != -ENOENT)
			return rc;
	}
	return seen >= 2 ? 0 : -ENOENT;
}

/* Libraries that came along with the extensions: a package's own. */
static void look_up_siblings(struct collect *c, const struct torch_place *t, struct names *set, const struct ldso_result *r)
{
	for (size_t i = 0; i < r->object_count; i++) {
		const char *path = r->objects[i].path;
		if (strncmp(path, t->site, strlen(t->site)) == 0 && strncmp(path, t->dir, strlen(t->dir)) != 0 && !strstr(path, "/nvidia/"))
			look_up(c, set, path);
	}
}

static int object_of(const struct ldso_result *r, const char *path)
{
	for (size_t i = 0; i < r->object_count; i++)
		if (strcmp(r->objects[i].path, path) == 0)
			return (int)i;
	return -1;
}

/* A library that is not found says more than the symbols that go with it. */
static bool is_complete(const struct ldso_result *r, int object)
{
	for (size_t i = 0; i < r->want_count; i++)
		if (r->wants[i].from == object && r->wants[i].to < 0)
			return false;
	return object >= 0;
}

static void fill_missing(struct collect *c, const struct torch_place *t, const struct names *set, const char *path, struct str imports)
{
	struct str line;
	int rows = 0;
	while (rows < ROWS_MAX && str_next_line(&imports, &line)) {
		const struct wanted *w = slot_of(set, line.ptr, line.len);
		if (!w->name || w->found)
			continue;
		struct facts_row *row = facts_add(c->facts, TABLE_missing_symbol);
		facts_text(row, missing_symbol__symbol, w->name, path);
		facts_text(row, missing_symbol__library, path, path);
		facts_text(row, missing_symbol__provider, t->dir, path);
		rows++;
	}
}

void collect_extension(struct collect *c, const struct torch_place *t, struct ldso *l, const char **paths, size_t count)
{
	if (!count || !l || !t->dir)
		return;
	struct names set = {.arena = c->arena};
	struct str *imports = arena_array(c->arena, count, sizeof *imports), line;
	for (size_t i = 0; i < count; i++) {
		if (host_digest(c->host, "imports", paths[i], make_imports, NULL, &imports[i]) < 0)
			continue;
		for (struct str rest = imports[i]; str_next_line(&rest, &line);)
			add_name(&set, line);
	}
	if (!set.count)
		return;
	struct ldso_result r = collect_ldso_result(l);
	int rc = look_up_torch(c, t, &set);
	if (rc < 0) {
		facts_table_gap_errno(c->facts, TABLE_missing_symbol, rc, t->dir);
		return;
	}
	look_up_siblings(c, t, &set, &r);
	for (size_t i = 0; i < count; i++)
		if (imports[i].len && is_complete(&r, object_of(&r, paths[i])))
			fill_missing(c, t, &set, paths[i], imports[i]);
}
