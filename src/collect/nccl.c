/* Every NCCL that could be loaded, and the one that this PyTorch would take; its plugins and its configuration files. */
#include <errno.h>

#include "collect/binary.h"
#include "collect/interpreter.h"
#include "collect/torch.h"

#define CANDIDATES_MAX 64

struct candidate {
	const char *path, *real, *kind;
	struct elf_digest elf;
};

struct candidates {
	struct collect *c;
	struct candidate all[CANDIDATES_MAX];
	size_t count;
};

/* The first mention of a file decides its kind; further links to it are the same copy. */
static void add(struct candidates *k, const char *path, const char *kind)
{
	struct candidate n = {.path = path, .kind = kind};
	if (k->count == CANDIDATES_MAX || host_realpath(k->c->host, path, &n.real) < 0)
		return;
	for (size_t i = 0; i < k->count; i++)
		if (strcmp(k->all[i].real, n.real) == 0)
			return;
	if (collect_binary(k->c->host, k->c->arena, path, ELF_DIGEST_LINK, &n.elf) < 0)
		return;
	k->all[k->count++] = n;
}

static void add_list(struct candidates *k, const char *list, const char *separators, const char *kind, bool of_files)
{
	for (const char *p = list; p && *p;) {
		size_t n = strcspn(p, separators);
		const char *item = arena_strndup(k->c->arena, p, n);
		if (n && item[0] == '/' && !of_files)
			add(k, arena_printf(k->c->arena, "%s/libnccl.so.2", item), kind);
		else if (n && item[0] == '/' && strncmp(collect_path_name(item), "libnccl.so", 10) == 0)
			add(k, item, kind);
		p += n + (p[n] != '\0');
	}
}

static void add_toolkits(struct candidates *k)
{
	struct host_list list;
	if (host_list(k->c->host, "/usr/local", &list) < 0)
		return;
	for (size_t i = 0; i < list.count; i++)
		if (strncmp(list.names[i], "cuda", 4) == 0 || strncmp(list.names[i], "nccl", 4) == 0) {
			add(k, arena_printf(k->c->arena, "/usr/local/%s/lib64/libnccl.so.2", list.names[i]), "toolkit");
			add(k, arena_printf(k->c->arena, "/usr/local/%s/lib/libnccl.so.2", list.names[i]), "toolkit");
		}
}

static void find_candidates(struct candidates *k, const struct torch_place *t)
{
	static const char *const system_dirs[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64",
		"/usr/lib", "/usr/local/lib", "/usr/local/lib64"};
	struct collect *c = k->c;
	add_list(k, host_env(c->host, "LD_PRELOAD"), " :", "preload", true);
	for (const struct facts_row *p = c->facts->first[TABLE_sys_path]; p; p = p->next) {
		const char *path = facts_get_text(p, sys_path__path);
		bool exists = false;
		if (path && facts_get_bool(p, sys_path__exists_, &exists) && exists)
			add(k, arena_printf(c->arena, "%s/nvidia/nccl/lib/libnccl.so.2", path), "wheel");
	}
	if (t->dir) {
		add(k, arena_printf(c->arena, "%s/lib/libnccl.so.2", t->dir), "torch");
		add(k, arena_printf(c->arena, "%s/lib/librccl.so.1", t->dir), "torch");
		add(k, arena_printf(c->arena, "%s/lib/librccl.so", t->dir), "torch");
	}
	const char *conda = host_env(c->host, "CONDA_PREFIX");
	const char *prefixes[] = {t->prefix, conda && conda[0] == '/' ? conda : NULL};
	for (size_t i = 0; i < 2; i++)
		if (prefixes[i] && host_is_dir(c->host, arena_printf(c->arena, "%s/conda-meta", prefixes[i])))
			add(k, arena_printf(c->arena, "%s/lib/libnccl.so.2", prefixes[i]), "conda");
	add_list(k, host_env(c->host, "LD_LIBRARY_PATH"), ":;", "ld_library_path", false);
	for (size_t i = 0; i < sizeof system_dirs / sizeof *system_dirs; i++)
		add(k, arena_printf(c->arena, "%s/libnccl.so.2", system_dirs[i]), "system");
	add_toolkits(k);
	add(k, "/opt/rocm/lib/librccl.so.1", "system");
}

/* The object that answers to NCCL's name in a process with this PyTorch. */
static int loaded_index(struct ldso *l)
{
	static const char *const names[] = {"libnccl.so.2", "librccl.so.1", "librccl.so"};
	int at = -1;
	for (size_t i = 0; i < sizeof names / sizeof *names && at < 0 && l; i++)
		at = collect_ldso_find(l, names[i]);
	return at;
}

static bool belongs(const struct torch_place *t, const struct candidate *k)
{
	if (strcmp(k->kind, "torch") == 0)
		return true;
	if (strcmp(k->kind, "wheel") == 0)
		return t->site && strncmp(k->path, t->site, strlen(t->site)) == 0 && facts_get_text(t->row, torch__nccl_package);
	return strcmp(k->kind, "conda") == 0 && t->conda;
}

static void fill_candidate(struct collect *c, const struct torch_place *t, struct owner_index *owners, const struct candidate *k,
	const struct ldso_object *loaded, bool expected_known)
{
	struct facts_row *row = facts_add(c->facts, TABLE_nccl);
	const char *version = k->elf.nccl ? k->elf.nccl : k->elf.rccl, *with = k->elf.nccl ? k->elf.nccl_cuda : NULL, *package_version,
		   *real = NULL;
	facts_text(row, nccl__path, k->path, k->path);
	char of_name[32];
	if (version)
		facts_text(row, nccl__version, version, k->path);
	else if (parse_elf_version_of_name(k->real, of_name))
		facts_text(row, nccl__version, of_name, k->real);
	else
		facts_gap(row, nccl__version, GAP_UNPARSABLE, k->path, k->elf.problem);
	if (with)
		facts_text(row, nccl__cuda, with, k->path);
	facts_text(row, nccl__kind, k->kind, k->path);
	const char *package = collect_owner_of(owners, k->path, &package_version);
	if (package) {
		facts_text(row, nccl__package, package, k->path);
		facts_text(row, nccl__package_version, package_version, k->path);
	}
	bool is_loaded = loaded && host_realpath(c->host, loaded->path, &real) == 0 && strcmp(real, k->real) == 0;
	if (t->native || !t->dir)
		facts_bool(row, nccl__loaded, is_loaded, loaded ? loaded->path : k->path);
	if (is_loaded)
		facts_text(row, nccl__found_by, loaded->found_by, loaded->path);
	if (expected_known)
		facts_bool(row, nccl__expected, belongs(t, k), k->path);
}

/* -- plugins ------------------------------------------------------------------------------------------------------------ */

#define ABIS_MAX 32

/* "v8" before "v10". */
static int compare_abis(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;
	return strlen(x) != strlen(y) ? (strlen(x) < strlen(y) ? -1 : 1) : strcmp(x, y);
}

/* "ncclNetPlugin_v8" → "v8". */
static const char *abi_of(struct collect *c, const struct elf_digest *d, const char *prefix)
{
	const char *found[ABIS_MAX];
	size_t n = 0, length = strlen(prefix);
	for (size_t i = 0; i < d->symbol_count && n < ABIS_MAX; i++) {
		const char *name = d->symbols[i].name;
		if (d->symbols[i].defined && strncmp(name, prefix, length) == 0 && name[length] == '_')
			found[n++] = name + length + 1;
	}
	if (!n)
		return NULL;
	qsort(found, n, sizeof *found, compare_abis);
	const char *text = found[0];
	for (size_t i = 1; i < n; i++)
		text = arena_printf(c->arena, "%s %s", text, found[i]);
	return text;
}

static void fill_plugin(struct collect *c, struct ldso *l, int index, const char *kind, const char *prefix)
{
	struct ldso_result r = collect_ldso_result(l);
	const struct ldso_object *o = &r.objects[index];
	struct facts_row *row = facts_add(c->facts, TABLE_nccl_plugin);
	facts_text(row, nccl_plugin__path, o->path, o->path);
	facts_text(row, nccl_plugin__kind, kind, o->path);
	const char *abi = abi_of(c, &o->elf, prefix);
	if (abi)
		facts_text(row, nccl_plugin__abi, abi, o->path);
	else
		facts_gap(row, nccl_plugin__abi, o->known ? GAP_ABSENT : GAP_UNPARSABLE, o->path, NULL);
	struct buf b = BUF_MAX(4096);
	for (size_t i = 0; i < r.want_count; i++)
		if (r.wants[i].to < 0 && r.wants[i].from >= index)
			buf_fmt(&b, "%s%s", b.len ? " " : "", r.wants[i].name);
	if (b.len)
		facts_text(row, nccl_plugin__missing, b.ptr, o->path);
	else
		facts_gap(row, nccl_plugin__missing, GAP_ABSENT, o->path, NULL);
	buf_free(&b);
}

static void collect_plugins(struct collect *c, struct ldso *l, int nccl)
{
	static const struct {
		const char *kind, *variable, *library, *symbol;
	} kinds[] = {
		{"net", "NCCL_NET_PLUGIN", "libnccl-net", "ncclNetPlugin"},
		{"tuner", "NCCL_TUNER_PLUGIN", "libnccl-tuner", "ncclTunerPlugin"},
		{"profiler", "NCCL_PROFILER_PLUGIN", "libnccl-profiler", "ncclProfiler"},
	};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const char *value = host_env(c->host, kinds[i].variable);
		if (value && strcmp(value, "none") == 0)
			continue;
		const char *names[3] = {arena_printf(c->arena, "%s.so", kinds[i].library)};
		if (value && *value) {
			names[0] = value;
			names[1] = arena_printf(c->arena, "%s-%s.so", kinds[i].library, value);
		}
		int index = -ENOENT;
		for (size_t k = 0; k < 2 && names[k] && index < 0; k++)
			index = collect_ldso_open(l, names[k], nccl >= 0 ? nccl : 0);
		if (index >= 0) {
			fill_plugin(c, l, index, kinds[i].kind, kinds[i].symbol);
		} else if (value && *value) {
			struct facts_row *row = facts_add(c->facts, TABLE_nccl_plugin);
			facts_text(row, nccl_plugin__path, value, kinds[i].variable);
			facts_text(row, nccl_plugin__kind, kinds[i].kind, kinds[i].variable);
			facts_text(row, nccl_plugin__missing, value, kinds[i].variable);
		}
	}
}

/* -- configuration files ------------------------------------------------------------------------------------------------ */

/* The home of another user, as HOME says it after sudo or setpriv: NCCL, started by this user, cannot read its file either, and goes on
 * without. */
static bool is_closed_home(struct collect *c, const char *home)
{
	struct host_stat st;
	return home && host_stat(c->host, arena_printf(c->arena, "%s/.", home), &st) == -EACCES;
}

static void read_conf(struct collect *c, const char *path, const char *home)
{
	struct str text, line, name, value;
	int rc = host_read(c->host, path, 0, &text);
	if (rc < 0) {
		if (rc != -ENOENT && rc != -ENOTDIR && !(rc == -EACCES && is_closed_home(c, home)))
			facts_table_gap_errno(c->facts, TABLE_nccl_conf, rc, path);
		return;
	}
	for (int64_t n = 1; str_next_line(&text, &line); n++) {
		line = str_trim(line);
		if (!line.len || line.ptr[0] == '#' || !str_split(line, '=', &name, &value))
			continue;
		struct facts_row *row = facts_add(c->facts, TABLE_nccl_conf);
		facts_str(row, nccl_conf__name, name, path);
		facts_str(row, nccl_conf__value, value, path);
		facts_text(row, nccl_conf__path, path, path);
		facts_int(row, nccl_conf__line, n, path);
	}
}

static void collect_conf(struct collect *c)
{
	const char *named = host_env(c->host, "NCCL_CONF_FILE"), *home = host_env(c->host, "HOME");
	read_conf(c, "/etc/nccl.conf", NULL);
	if (named && named[0] == '/')
		read_conf(c, named, NULL);
	else if (home)
		read_conf(c, arena_printf(c->arena, "%s/.nccl.conf", home), home);
}

void collect_nccl(struct collect *c, const struct torch_place *t, struct ldso *l, struct owner_index *owners)
{
	struct candidates *k = arena_alloc(c->arena, sizeof *k);
	k->c = c;
	int index = loaded_index(l);
	find_candidates(k, t);
	const struct ldso_object *loaded = NULL;
	if (index >= 0) {
		loaded = &collect_ldso_result(l).objects[index];
		add(k, loaded->path, "system");
	}
	bool expected_known = false;
	for (size_t i = 0; i < k->count; i++)
		expected_known |= t->row && belongs(t, &k->all[i]);
	for (size_t i = 0; i < k->count; i++)
		fill_candidate(c, t, owners, &k->all[i], loaded, expected_known);
	if (l)
		collect_plugins(c, l, index);
	collect_conf(c);
}
