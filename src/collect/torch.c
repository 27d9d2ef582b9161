/* PyTorch: where it lies, what it was built for, which back ends and which GPU code it holds; and the packages built on it. */
#include "collect/torch.h"

#include <errno.h>

#include "base/version.h"
#include "collect/binary.h"
#include "parse/dist_info.h"
#include "parse/pep440.h"

#define EXTENSIONS_MAX 96
#define RECORD_MAX ((size_t)16 << 20)

static bool is_live_package(const struct facts_row *p)
{
	bool shadowed = false;
	facts_get_bool(p, package__shadowed, &shadowed);
	return !shadowed && !facts_get_text(p, package__broken);
}

static const struct facts_row *find_package(struct collect *c, const char *canonical)
{
	for (const struct facts_row *p = c->facts->first[TABLE_package]; p; p = p->next) {
		const char *name = facts_get_text(p, package__canonical);
		if (name && strcmp(name, canonical) == 0 && is_live_package(p))
			return p;
	}
	return NULL;
}

/* -- where -------------------------------------------------------------------------------------------------------------- */

/* The directory of an editable install: "file:///src/pytorch" → /src/pytorch/torch. */
static const char *editable_dir(struct collect *c)
{
	const struct facts_row *p = find_package(c, "torch");
	const char *url = p ? facts_get_text(p, package__source_url) : NULL;
	if (!url || strncmp(url, "file://", 7) != 0)
		return NULL;
	return arena_printf(c->arena, "%s/torch", url + 7);
}

static int read_version(struct collect *c, const char *dir, struct str *ret)
{
	return host_readf(c->host, ret, "%s/version.py", dir);
}

/* The torch that `import torch` takes: the first on the module search path. */
static const char *find_torch(struct collect *c, struct str *ret_text, int *ret_rc)
{
	*ret_rc = -ENOENT;
	for (const struct facts_row *p = c->facts->first[TABLE_sys_path]; p; p = p->next) {
		bool exists = false;
		const char *kind = facts_get_text(p, sys_path__origin_kind), *base = facts_get_text(p, sys_path__path);
		if (!facts_get_bool(p, sys_path__exists_, &exists) || !exists || !base || !kind || strcmp(kind, "stdlib") == 0)
			continue;
		const char *dir = arena_printf(c->arena, "%s/torch", base);
		int rc = read_version(c, dir, ret_text);
		/* A torch directory without version.py is a package all the same, a damaged one or a stranger of that name. */
		if (rc < 0 && !host_exists(c->host, arena_printf(c->arena, "%s/__init__.py", dir)))
			continue;
		*ret_rc = rc;
		return dir;
	}
	const char *dir = editable_dir(c);
	if (dir && (*ret_rc = read_version(c, dir, ret_text)) == 0)
		return dir;
	return NULL;
}

/* -- version and kind --------------------------------------------------------------------------------------------------- */

static bool has_text(const char *text, const char *part)
{
	return text && strstr(text, part) != NULL;
}

static const char *vendor_of(const struct facts_row *row, const char *version, const char *dir, const char *installer)
{
	(void)row;
	if (strncmp(dir, "/usr/lib/python3/dist-packages", 30) == 0)
		return "debian";
	if (has_text(version, ".nv") || has_text(version, "+nv"))
		return "nvidia";
	if (installer && strcmp(installer, "conda") == 0)
		return "conda";
	if (has_text(version, "a0+") || has_text(version, "+git"))
		return "source";
	return "pytorch";
}

static void fill_version(struct collect *c, struct facts_row *row, struct str text, const char *dir)
{
	const struct facts_row *p = find_package(c, "torch");
	const char *origin = arena_printf(c->arena, "%s/version.py", dir), *installer = p ? facts_get_text(p, package__installer) : NULL;
	struct str version;
	if (parse_dist_assignment(text, "__version__", &version) != 1) {
		/* Older files build it from other names; the metadata knows. */
		const char *other = p ? facts_get_text(p, package__version) : NULL;
		if (!other) {
			facts_gap(row, torch__version, GAP_UNPARSABLE, origin, NULL);
			return;
		}
		version = str_of(other);
		origin = facts_get_text(p, package__metadata);
	}
	struct pep440 v;
	const char *full = str_dup(c->arena, version);
	facts_text(row, torch__version, full, origin);
	facts_text(row, torch__version_origin, origin, origin);
	if (parse_pep440(version, &v) == 0) {
		facts_str(row, torch__release, v.release, origin);
		if (v.local.len)
			facts_str(row, torch__tag, v.local, origin);
		else
			facts_gap(row, torch__tag, GAP_ABSENT, origin, NULL);
	}
	if (installer)
		facts_text(row, torch__installer, installer, facts_get_text(p, package__metadata));
	facts_text(row, torch__vendor, vendor_of(row, full, dir, installer), origin);
}

static bool fill_optional(struct facts_row *row, enum facts_column column, struct str text, const char *name, const char *origin)
{
	struct str value;
	int rc = parse_dist_assignment(text, name, &value);
	if (rc == 1)
		facts_str(row, column, value, origin);
	else if (rc == 0 || column == torch__hip) /* releases before ROCm do not name it */
		facts_gap(row, column, GAP_ABSENT, origin, "None");
	return rc == 1;
}

static void fill_build(struct collect *c, struct torch_place *t, struct str text)
{
	const char *origin = arena_printf(c->arena, "%s/version.py", t->dir);
	struct str value;
	t->cuda = fill_optional(t->row, torch__cuda, text, "cuda", origin);
	t->hip = fill_optional(t->row, torch__hip, text, "hip", origin);
	fill_optional(t->row, torch__git, text, "git_version", origin);
	const char *build = t->cuda ? "cuda" : t->hip ? "rocm" : parse_dist_assignment(text, "xpu", &value) == 1 ? "xpu" : NULL;
	/* Plug-ins bring their device to a build for CPUs. */
	static const char *const plugins[][2] = {
		{"torch-npu", "npu"}, {"torch-musa", "musa"}, {"intel-extension-for-pytorch", "xpu"}, {"torch-mlu", "mlu"}};
	for (size_t i = 0; i < sizeof plugins / sizeof *plugins && !build; i++)
		if (find_package(c, plugins[i][0]) && (i != 2 || find_package(c, "oneccl-bind-pt")))
			build = plugins[i][1];
	if (!build && host_exists(c->host, arena_printf(c->arena, "%s/lib/libtorch_xpu.so", t->dir)))
		build = "xpu";
	facts_text(t->row, torch__build, build ? build : "cpu", origin);
}

/* -- back ends ---------------------------------------------------------------------------------------------------------- */

static const struct {
	enum facts_column column;
	const char *mark;
} backends[] = {
	{torch__nccl_built, "c10d::ProcessGroupNCCL"},
	{torch__gloo_built, "c10d::ProcessGroupGloo"},
	{torch__mpi_built, "c10d::ProcessGroupMPI"},
	{torch__ucc_built, "c10d::ProcessGroupUCC"},
	{torch__xccl_built, "c10d::ProcessGroupXCCL"},
};

/* PyTorch's own rule: a back end is there when its class was compiled into the Python binding, libtorch_python. */
static void fill_backends(struct collect *c, const struct torch_place *t)
{
	const char *path = arena_printf(c->arena, "%s/lib/libtorch_python.so", t->dir);
	struct elf_digest d;
	int rc = collect_binary(c->host, c->arena, path, ELF_DIGEST_LINK, &d);
	bool any = false;
	for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
		if (rc < 0) {
			facts_gap_errno(t->row, backends[i].column, rc, path);
		} else if (d.problem) {
			facts_gap(t->row, backends[i].column, GAP_UNPARSABLE, path, d.problem);
		} else {
			bool built = parse_elf_digest_mentions(&d, backends[i].mark);
			any |= built;
			facts_bool(t->row, backends[i].column, built, path);
		}
	}
	if (rc < 0)
		facts_gap_errno(t->row, torch__distributed_built, rc, path);
	else if (d.problem)
		facts_gap(t->row, torch__distributed_built, GAP_UNPARSABLE, path, d.problem);
	else
		facts_bool(t->row, torch__distributed_built, any, path);
	if (rc == 0 && d.cxx11 >= 0)
		facts_bool(t->row, torch__cxx11_abi, d.cxx11 == 1, path);
}

/* How NCCL comes in: the library that holds the CUDA back end either wants libnccl.so.2 or has it inside. */
static void fill_nccl_link(struct collect *c, const struct torch_place *t)
{
	static const char *const names[] = {"libtorch_cuda.so", "libtorch_hip.so", "libtorch_cuda_cpp.so", "libtorch_python.so"};
	bool seen = false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *path = arena_printf(c->arena, "%s/lib/%s", t->dir, names[i]);
		struct elf_digest d;
		int rc = collect_binary(c->host, c->arena, path, ELF_DIGEST_LINK, &d);
		if (rc < 0 || d.problem)
			continue;
		seen = true;
		for (size_t k = 0; k < d.needed_count; k++)
			if (str_starts(str_of(d.needed[k]), "libnccl.so") || str_starts(str_of(d.needed[k]), "librccl.so")) {
				facts_text(t->row, torch__nccl_link, "dynamic", path);
				return;
			}
		if (d.nccl || d.rccl) {
			facts_text(t->row, torch__nccl_link, "static", path);
			facts_text(t->row, torch__nccl_version, d.nccl ? d.nccl : d.rccl, path);
			return;
		}
	}
	facts_gap(t->row, torch__nccl_link, seen ? GAP_ABSENT : GAP_MISSING, arena_printf(c->arena, "%s/lib", t->dir), NULL);
}

/* "nvidia-nccl-cu12 (==2.21.5)": what the wheel asks for is what it was built with. */
static void fill_nccl_requirement(struct collect *c, const struct torch_place *t)
{
	for (const struct facts_row *r = c->facts->first[TABLE_requirement]; r; r = r->next) {
		const char *from = facts_get_text(r, requirement__package), *name = facts_get_text(r, requirement__name);
		if (!from || !name || strcmp(from, "torch") != 0 || strncmp(name, "nvidia-nccl-", 12) != 0)
			continue;
		const char *specifier = facts_get_text(r, requirement__specifier), *origin = r->value[0].origin;
		facts_text(t->row, torch__nccl_package, name, origin);
		if (specifier && strncmp(specifier, "==", 2) == 0 && !strchr(specifier, ',') && !strchr(specifier, '*'))
			facts_str(t->row, torch__nccl_version, str_trim(str_of(specifier + 2)), origin);
		return;
	}
}

/* -- the native module -------------------------------------------------------------------------------------------------- */

/* "_C.cpython-311-x86_64-linux-gnu.so" → "3.11" */
static const char *python_of(struct collect *c, const char *name)
{
	struct str s = str_of(name);
	if (!str_starts(s, "_C.cpython-"))
		return NULL;
	s = str_skip(s, strlen("_C.cpython-"));
	size_t n = 0;
	while (n < s.len && s.ptr[n] >= '0' && s.ptr[n] <= '9')
		n++;
	return n < 2 ? NULL : arena_printf(c->arena, "%c.%.*s", s.ptr[0], (int)(n - 1), s.ptr + 1);
}

static void find_native(struct collect *c, struct torch_place *t, const char *version)
{
	struct host_list list;
	int rc = host_list(c->host, t->dir, &list);
	if (rc < 0) {
		facts_gap_errno(t->row, torch__python_tag, rc, t->dir);
		facts_gap_errno(t->row, torch__native, rc, t->dir);
		return;
	}
	const char *other = NULL;
	for (size_t i = 0; i < list.count; i++) {
		const char *tag = python_of(c, list.names[i]), *path = arena_printf(c->arena, "%s/%s", t->dir, list.names[i]);
		if (strcmp(list.names[i], "_C.abi3.so") == 0)
			t->native = path;
		if (!tag)
			continue;
		size_t n = strlen(tag);
		if (version && strncmp(version, tag, n) == 0 && (!version[n] || version[n] == '.')) {
			t->native = path;
			other = tag;
			break;
		}
		other = tag;
	}
	if (!list.truncated || other || t->native)
		facts_bool(t->row, torch__native, other || t->native, t->dir);
	if (other)
		facts_text(t->row, torch__python_tag, other, t->dir);
	else if (!t->native)
		facts_gap(t->row, torch__python_tag, GAP_MISSING, t->dir, "no torch/_C library");
}

/* -- GPU code ----------------------------------------------------------------------------------------------------------- */

static const char *kind_name(enum fatbin_kind kind)
{
	switch (kind) {
	case FATBIN_SASS: return "sass";
	case FATBIN_PTX: return "ptx";
	case FATBIN_HSACO: return "hsaco";
	default: return NULL;
	}
}

struct arch_list {
	const char *names[256];
	size_t count;
};

static void add_arch(struct arch_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->names[i], name) == 0)
			return;
	if (list->count < sizeof list->names / sizeof *list->names)
		list->names[list->count++] = name;
}

/* sm before compute, small before large. */
static int compare_archs(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;
	if (x[0] != y[0])
		return x[0] == 's' ? -1 : y[0] == 's' ? 1 : x[0] - y[0];
	size_t m = strlen(x), n = strlen(y);
	return m != n && x[0] != 'g' ? (m < n ? -1 : 1) : strcmp(x, y);
}

static int fill_gpu_code(struct collect *c, const char *path, const char *package, struct arch_list *list)
{
	struct elf_digest d;
	int rc = collect_binary(c->host, c->arena, path, ELF_DIGEST_CODE, &d);
	if (rc < 0)
		return rc;
	if (d.code_hidden)
		return 0;
	for (size_t i = 0; i < d.code_count; i++) {
		const struct elf_digest_code *code = &d.codes[i];
		const char *kind = kind_name(code->kind);
		if (!kind || !code->name)
			continue;
		struct facts_row *row = facts_add(c->facts, TABLE_gpu_code);
		facts_text(row, gpu_code__library, path, path);
		if (package)
			facts_text(row, gpu_code__package, package, path);
		facts_text(row, gpu_code__code, code->name, path);
		facts_text(row, gpu_code__kind, kind, path);
		if (code->ptx_isa)
			facts_text(row, gpu_code__ptx_isa, code->ptx_isa, path);
		else
			facts_gap(row, gpu_code__ptx_isa, GAP_ABSENT, path, NULL);
		facts_int(row, gpu_code__entries, code->entries, path);
		if (list)
			add_arch(list, code->name);
	}
	if (d.code_incomplete)
		facts_table_gap(c->facts, TABLE_gpu_code, GAP_UNSUPPORTED, path, "not all of its GPU code could be listed");
	return d.problem ? -EINVAL : 0;
}

static void fill_arch_list(struct collect *c, const struct torch_place *t)
{
	static const char *const names[] = {"libtorch_cuda.so", "libtorch_cuda_cu.so", "libtorch_hip.so", "libtorch_cuda_linalg.so"};
	struct arch_list list = {.count = 0};
	const char *first = NULL;
	int error = 0;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *path = arena_printf(c->arena, "%s/lib/%s", t->dir, names[i]);
		int rc = fill_gpu_code(c, path, "torch", i == 3 ? NULL : &list);
		if (rc == -ENOENT)
			continue;
		first = first ? first : path;
		error = error ? error : rc;
	}
	if (list.count) {
		qsort(list.names, list.count, sizeof *list.names, compare_archs);
		struct buf b = BUF_MAX(4096);
		for (size_t i = 0; i < list.count; i++)
			buf_fmt(&b, "%s%s", i ? " " : "", list.names[i]);
		facts_text(t->row, torch__arch_list, b.ptr, first);
		buf_free(&b);
	} else if (error) {
		facts_gap_errno(t->row, torch__arch_list, error, first);
	} else if (!t->cuda && !t->hip) {
		facts_gap(t->row, torch__arch_list, GAP_ABSENT, t->dir, "no build for GPUs");
	} else {
		facts_gap(t->row, torch__arch_list, first ? GAP_UNPARSABLE : GAP_MISSING, first ? first : t->dir, NULL);
	}
}

/* -- what is built on it ------------------------------------------------------------------------------------------------ */

static bool requires_torch(struct collect *c, const char *package)
{
	for (const struct facts_row *r = c->facts->first[TABLE_requirement]; r; r = r->next) {
		const char *from = facts_get_text(r, requirement__package), *name = facts_get_text(r, requirement__name);
		if (from && name && strcmp(from, package) == 0 && strcmp(name, "torch") == 0)
			return true;
	}
	return false;
}

/* A wheel of pure Python has no libraries; its RECORD need not be read. */
static bool is_pure(struct collect *c, const char *metadata)
{
	struct str text;
	return host_readf(c->host, &text, "%s/WHEEL", metadata) == 0 && str_has(text, "Root-Is-Purelib: true");
}

struct extensions {
	const char *path[EXTENSIONS_MAX];
	const char *package[EXTENSIONS_MAX];
	size_t count;
};

/* "x.cpython-310-x86_64-linux-gnu.so" is left alone by Python 3.11. */
static bool is_for_python(struct collect *c, struct str path)
{
	const struct facts_row *python = c->facts->first[TABLE_python];
	const char *version = python ? facts_get_text(python, python__version) : NULL;
	size_t at = str_find(path, ".cpython-", 0);
	if (at == SIZE_MAX || !version)
		return true;
	struct str tag = str_skip(path, at + strlen(".cpython-")), major, minor, rest = str_of(version);
	str_next_field(&rest, '.', &major);
	if (!str_next_field(&rest, '.', &minor) || major.len != 1)
		return true;
	const char *want = arena_printf(c->arena, "%.*s%.*s-", (int)major.len, major.ptr, (int)minor.len, minor.ptr);
	return str_starts(tag, want);
}

/* bitsandbytes brings a library for each CUDA and loads the one that PyTorch was built for. */
static bool is_for_cuda(struct collect *c, struct str path)
{
	const struct facts_row *torch = c->facts->first[TABLE_torch];
	const char *cuda = torch ? facts_get_text(torch, torch__cuda) : NULL;
	size_t at = str_find(path, "libbitsandbytes_", 0);
	if (at == SIZE_MAX || !cuda)
		return true;
	struct version v;
	struct str name = str_skip(path, at);
	return version_parse(str_of(cuda), &v) == 0 && v.count > 1 &&
		str_is(name, arena_printf(c->arena, "libbitsandbytes_cuda%u%u.so", (unsigned)v.part[0], (unsigned)v.part[1]));
}

static void add_extensions(struct collect *c, const struct facts_row *p, struct extensions *ret)
{
	const char *metadata = facts_get_text(p, package__metadata), *location = facts_get_text(p, package__location);
	struct str text;
	struct dist_record r;
	if (!metadata || !location || is_pure(c, metadata) ||
		host_read(c->host, arena_printf(c->arena, "%s/RECORD", metadata), RECORD_MAX, &text) < 0)
		return;
	for (int rc; (rc = parse_dist_record(c->arena, &text, &r));) {
		if (rc < 0 || !str_ends(r.path, ".so") || r.path.ptr[0] == '/' || str_starts(r.path, "../") || !is_for_python(c, r.path) ||
			!is_for_cuda(c, r.path) || ret->count == EXTENSIONS_MAX)
			continue;
		ret->path[ret->count] = arena_printf(c->arena, "%s/%s", location, str_dup(c->arena, r.path));
		ret->package[ret->count++] = facts_get_text(p, package__name);
	}
}

/* GPU code of their own, without PyTorch. */
static bool has_own_kernels(const char *canonical)
{
	static const char *const names[] = {"llama-cpp-python", "ctransformers", "ctranslate2"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(canonical, names[i]) == 0)
			return true;
	return false;
}

static void find_extensions(struct collect *c, struct extensions *ret)
{
	for (const struct facts_row *p = c->facts->first[TABLE_package]; p; p = p->next) {
		const char *canonical = facts_get_text(p, package__canonical), *name = facts_get_text(p, package__name);
		if (canonical && strcmp(canonical, "torch") != 0 && is_live_package(p) &&
			(requires_torch(c, name) || has_own_kernels(canonical)))
			add_extensions(c, p, ret);
	}
}

/* Moves the libraries of PyTorch's own companions to the end: release numbers tell whether they fit, which is cheaper than symbols. */
static size_t foreign_extensions(struct extensions *e)
{
	size_t n = 0;
	for (size_t i = 0; i < e->count; i++) {
		if (strcmp(e->package[i], "torchvision") == 0 || strcmp(e->package[i], "torchaudio") == 0)
			continue;
		const char *path = e->path[i], *package = e->package[i];
		e->path[i] = e->path[n];
		e->package[i] = e->package[n];
		e->path[n] = path;
		e->package[n++] = package;
	}
	return n;
}

/* -- all ---------------------------------------------------------------------------------------------------------------- */

static void fill_torch(struct collect *c, struct torch_place *t, struct str text, int rc, const char *python_version)
{
	t->row = facts_only(c->facts, TABLE_torch);
	t->site = arena_strndup(c->arena, t->dir, strlen(t->dir) - strlen("/torch"));
	facts_text(t->row, torch__location, t->dir, t->dir);
	if (rc == 0) {
		fill_version(c, t->row, text, t->dir);
		fill_build(c, t, text);
	} else {
		const char *origin = arena_printf(c->arena, "%s/version.py", t->dir);
		facts_gap_errno(t->row, torch__version, rc, origin);
		facts_gap_errno(t->row, torch__build, rc, origin);
	}
	const char *installer = facts_get_text(t->row, torch__installer);
	t->conda = installer && strcmp(installer, "conda") == 0;
	find_native(c, t, python_version);
	fill_backends(c, t);
	fill_nccl_link(c, t);
	fill_nccl_requirement(c, t);
	fill_arch_list(c, t);
}

void collect_torch_start(struct collect *c)
{
	struct str text;
	int rc;
	const char *dir = find_torch(c, &text, &rc);
	if (dir && !c->ahead)
		c->ahead = collect_ldso_ahead(c->host, arena_printf(c->arena, "%s/lib/libtorch_python.so", dir));
}

void collect_torch(struct collect *c)
{
	static const enum facts_table ours[] = {
		TABLE_torch, TABLE_gpu_code, TABLE_library, TABLE_missing_symbol, TABLE_nccl, TABLE_nccl_plugin, TABLE_nccl_conf};
	const struct facts_row *python = c->facts->first[TABLE_python];
	struct torch_place t = {0};
	struct str text = {0};
	int rc = -ENOENT;
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		facts_table_read(c->facts, ours[i]);
	for (const struct facts_table_gap *g = c->facts->gaps; g; g = g->next)
		if (g->table == TABLE_package || g->table == TABLE_python)
			facts_table_gap(c->facts, TABLE_torch, g->gap, g->origin, g->detail);
	if (python) {
		t.python = facts_get_text(python, python__real_path);
		t.prefix = facts_get_text(python, python__prefix);
		t.dir = find_torch(c, &text, &rc);
	}
	struct extensions ext = {.count = 0};
	if (t.dir) {
		fill_torch(c, &t, text, rc, facts_get_text(python, python__version));
		find_extensions(c, &ext);
		for (size_t i = 0; i < ext.count && (t.cuda || t.hip); i++)
			fill_gpu_code(c, ext.path[i], ext.package[i], NULL);
	}
	struct owner_index *owners = collect_owner_index(c, &t);
	struct ldso *l = t.python ? collect_torch_load(c, &t, owners, ext.path, ext.count) : NULL;
	collect_library(c, &t, l, owners);
	collect_ldso_ahead_end(c->ahead);
	c->ahead = NULL;
	collect_extension(c, &t, l, ext.path, foreign_extensions(&ext));
	collect_nccl(c, &t, l, owners);
}
