#include "collect/package.h"

#include <errno.h>

#include "collect/binary.h"
#include "collect/hashes.h"
#include "parse/conda_meta.h"
#include "parse/dist_info.h"
#include "parse/pep440.h"
#include "parse/pep508.h"
#include "parse/sha256.h"

#define METADATA_HEAD ((size_t)8 << 10) /* the headers of nearly every distribution; the description behind them is of no use */
#define METADATA_MAX ((size_t)1 << 20)
#define RECORD_MAX ((size_t)16 << 20)
#define CONDA_META_MAX ((size_t)16 << 20)
#define PACKAGES_MAX 20000

struct package {
	const char *name, *canonical, *version, *location, *metadata, *installer, *url, *source, *broken;
	int url_error;                   /* of direct_url.json, which most distributions lack */
	bool editable, shadowed, hidden; /* hidden: a second description of the same thing, as Debian has it */
	const struct search_path *on;
	enum dist_kind kind;
	struct str *requires;
	size_t requires_count;
	struct pep440 parsed;
	bool has_version; /* parsed is valid */
	size_t next;      /* of those with the same hash: position + 1; 0: it is the last */
};

#define BUCKETS 1024

struct scan {
	struct collect *c;
	const struct interpreter *py;
	struct package *all;
	size_t count, cap;
	size_t bucket[BUCKETS]; /* hash of canonical names: position + 1 of a package that is the first of its name; 0: none */
	struct host_list conda; /* conda-meta of a conda prefix */
};

/* -- names -------------------------------------------------------------------------------------------------------------- */

static size_t hash_of(const char *s)
{
	uint64_t x = 1469598103934665603u;
	for (; *s; s++)
		x = (x ^ (unsigned char)*s) * 1099511628211u;
	return (size_t)(x ^ x >> 31);
}

static struct package *find(const struct scan *s, const char *canonical)
{
	for (size_t i = s->bucket[hash_of(canonical) % BUCKETS]; i; i = s->all[i - 1].next)
		if (strcmp(s->all[i - 1].canonical, canonical) == 0)
			return &s->all[i - 1];
	return NULL;
}

static void remember(struct scan *s, size_t position)
{
	size_t *first = &s->bucket[hash_of(s->all[position].canonical) % BUCKETS];
	s->all[position].next = *first;
	*first = position + 1;
}

/* -- one distribution --------------------------------------------------------------------------------------------------- */

/* The beginning of a metadata file, the whole of it when its headers go on. */
static int read_metadata(struct scan *s, const char *path, struct dist_metadata *ret)
{
	struct str text;
	int rc = host_read_head(s->c->host, path, METADATA_HEAD, &text);
	if (rc < 0)
		return rc;
	rc = parse_dist_metadata(s->c->arena, text, ret);
	if (text.len < METADATA_HEAD || (rc == 0 && ret->complete))
		return rc;
	rc = host_read_head(s->c->host, path, METADATA_MAX, &text);
	return rc < 0 ? rc : parse_dist_metadata(s->c->arena, text, ret);
}

static bool is_asked(const struct collect *c, enum facts_table t)
{
	return !c->asked || c->asked[t];
}

static bool is_column_asked(const struct collect *c, enum facts_column column)
{
	return !c->asked || c->asked_columns[column];
}

/* A package's installer also tells conda's packages from pip's, and who is to blame for a missing RECORD. */
static bool wants_installer(const struct scan *s)
{
	return is_column_asked(s->c, package__installer) || s->conda.count || is_asked(s->c, TABLE_integrity);
}

static bool wants_source(const struct collect *c)
{
	return is_column_asked(c, package__source) || is_column_asked(c, package__source_url) || is_column_asked(c, package__editable) ||
		is_column_asked(c, package__record) || is_asked(c, TABLE_integrity);
}

static bool wants_requirements(const struct collect *c)
{
	return is_asked(c, TABLE_requirement) || is_asked(c, TABLE_requirement_conflict);
}

static bool is_conda_package(struct scan *s, const char *canonical)
{
	size_t n = strlen(canonical);
	for (size_t i = 0; i < s->conda.count; i++) {
		const char *name = s->conda.names[i];
		if (strncmp(name, canonical, n) == 0 && name[n] == '-' && name[n + 1] >= '0' && name[n + 1] <= '9')
			return true;
	}
	return false;
}

static const char *installer_of(struct scan *s, const struct package *p)
{
	struct str text;
	if (p->on->kind == PATH_DIST && strncmp(p->location, "/usr/lib/", 9) == 0)
		return "apt";
	if (p->kind == DIST_INFO && host_linef(s->c->host, &text, "%s/INSTALLER", p->metadata) == 0 && text.len && text.len < 64)
		return str_dup(s->c->arena, text);
	if (is_conda_package(s, p->canonical))
		return "conda";
	return p->kind == EGG_INFO ? "egg" : NULL;
}

/* direct_url.json, as pip would be given it again. A user name or a token in front of the host stays here. */
static const char *source_of(struct arena *a, const struct dist_direct_url *d)
{
	struct str url = d->url;
	size_t scheme = str_find(url, "://", 0), path = scheme == SIZE_MAX ? SIZE_MAX : str_find_char(url, '/', scheme + 3);
	struct str host = scheme == SIZE_MAX ? STR("") : str_slice(url, scheme + 3, path);
	size_t at = str_rfind_char(host, '@');
	struct buf b = BUF_MAX(65536);
	if (d->vcs.len)
		buf_fmt(&b, "%s+", str_dup(a, d->vcs));
	buf_str(&b, at == SIZE_MAX ? url : str_slice(url, 0, scheme + 3));
	if (at != SIZE_MAX)
		buf_str(&b, str_skip(url, scheme + 3 + at + 1));
	if (d->vcs.len && d->commit.len)
		buf_fmt(&b, "@%s", str_dup(a, d->commit));
	if (d->sha256.len)
		buf_fmt(&b, "#sha256=%s", str_dup(a, d->sha256));
	if (d->subdirectory.len)
		buf_fmt(&b, "%csubdirectory=%s", d->sha256.len ? '&' : '#', str_dup(a, d->subdirectory));
	const char *text = str_dup(a, buf_view(&b));
	buf_free(&b);
	return text;
}

static void read_direct_url(struct scan *s, struct package *p)
{
	struct str text;
	struct dist_direct_url d;
	if (p->kind != DIST_INFO)
		return;
	p->url_error = host_readf(s->c->host, &text, "%s/direct_url.json", p->metadata);
	if (p->url_error < 0)
		return;
	if (parse_dist_direct_url(s->c->arena, text, &d) < 0)
		return;
	p->editable = d.editable;
	p->source = source_of(s->c->arena, &d);
	p->url = d.commit.len ? arena_printf(s->c->arena, "%s@%s", str_dup(s->c->arena, d.url), str_dup(s->c->arena, d.commit))
			      : str_dup(s->c->arena, d.url);
}

/* pip's own rule: the first of a name on the path counts. Debian describes some packages twice in one directory, which is no second copy.
 */
static void place(struct scan *s, struct package p)
{
	if (s->count == PACKAGES_MAX)
		return;
	struct package *first = p.broken ? NULL : find(s, p.canonical);
	if (first) {
		p.shadowed = true;
		p.hidden = strcmp(first->location, p.location) == 0 && first->version && p.version &&
			strcmp(first->version, p.version) == 0 && first->kind != p.kind;
	}
	s->all = arena_grow(s->c->arena, s->all, s->count, &s->cap, sizeof *s->all);
	s->all[s->count] = p;
	if (!p.broken && !first)
		remember(s, s->count);
	s->count++;
}

static const char *broken_because(struct scan *s, int rc)
{
	if (rc == -ENOENT || rc == -ENOTDIR)
		return "METADATA is missing";
	if (rc == -EINVAL || rc == -E2BIG)
		return "METADATA is empty or damaged";
	return arena_printf(s->c->arena, "METADATA is unreadable: %s", strerror(-rc));
}

static void add_distribution(struct scan *s, const struct search_path *on, const char *location, const char *name, enum dist_kind kind,
	struct str dir_name, struct str dir_version)
{
	struct arena *a = s->c->arena;
	struct package p = {.location = location, .on = on, .kind = kind, .metadata = arena_printf(a, "%s/%s", location, name)};
	struct dist_metadata m = {0};
	const char *egg_info = p.metadata;
	int rc = read_metadata(s, arena_printf(a, "%s/%s", p.metadata, kind == DIST_INFO ? "METADATA" : "PKG-INFO"), &m);
	if (kind == EGG_INFO && rc == -ENOTDIR) {
		egg_info = NULL;
		rc = read_metadata(s, p.metadata, &m);
	}
	/* An interrupted pip leaves the old copy behind as "~orch-2.1.0.dist-info". */
	if (!parse_pep503_is_valid(dir_name))
		p.broken = "left behind by an interrupted pip";
	else if (rc < 0)
		p.broken = broken_because(s, rc);
	else if (!m.name.len || !m.version.len)
		p.broken = "METADATA has no name or no version";
	else if (!parse_pep503_is_valid(m.name))
		p.broken = "METADATA has no valid name";
	if (rc == -EACCES || rc == -EPERM || rc == -ETIMEDOUT)
		facts_table_gap_errno(s->c->facts, TABLE_package, rc, p.metadata);
	p.name = str_dup(a, p.broken && !m.name.len ? dir_name : m.name);
	p.version = m.version.len ? str_dup(a, m.version) : dir_version.len ? str_dup(a, dir_version) : NULL;
	p.canonical = parse_pep503_name(a, str_of(p.name));
	p.requires = m.requires;
	p.requires_count = m.requires_count;
	p.has_version = p.version && parse_pep440(str_of(p.version), &p.parsed) == 0;
	struct str text;
	if (egg_info && kind == EGG_INFO && !p.requires_count && wants_requirements(s->c) &&
		host_readf(s->c->host, &text, "%s/requires.txt", egg_info) == 0)
		parse_dist_requires_txt(a, text, &p.requires, &p.requires_count);
	p.installer = wants_installer(s) ? installer_of(s, &p) : NULL;
	if (wants_source(s->c))
		read_direct_url(s, &p);
	place(s, p);
}

/* -- directories -------------------------------------------------------------------------------------------------------- */

static void scan_names(struct scan *s, const struct search_path *on, const char *location, const struct host_list *list)
{
	enum dist_kind kind;
	struct str name, version;
	/* Of two descriptions of one thing the newer form counts. */
	for (int egg = 0; egg < 2; egg++)
		for (size_t i = 0; i < list->count; i++)
			if (parse_dist_directory(str_of(list->names[i]), &kind, &name, &version) && (kind == EGG_INFO) == egg)
				add_distribution(s, on, location, list->names[i], kind, name, version);
}

/* Eggs are old, and still there: X.egg/EGG-INFO on the path or beside it. */
static void scan_egg(struct scan *s, const struct search_path *on, const char *egg)
{
	if (!host_is_dir(s->c->host, arena_printf(s->c->arena, "%s/EGG-INFO", egg)))
		return;
	struct str stem = str_of(collect_path_name(egg)), name = stem, version = {0};
	str_next_field(&stem, '-', &name);
	str_next_field(&stem, '-', &version);
	add_distribution(s, on, egg, "EGG-INFO", EGG_INFO, name, version);
}

static void scan_egg_link(struct scan *s, const struct search_path *on, const char *name)
{
	struct str text, line;
	struct host_list list;
	if (host_readf(s->c->host, &text, "%s/%s", on->path, name) < 0)
		return;
	while (str_next_line(&text, &line)) {
		line = str_trim(line);
		if (!line.len)
			continue;
		const char *target = str_dup(s->c->arena, line);
		if (target[0] != '/')
			target = arena_printf(s->c->arena, "%s/%s", on->path, target);
		target = collect_path_clean(s->c->arena, target);
		size_t before = s->count;
		if (host_list(s->c->host, target, &list) == 0)
			scan_names(s, on, target, &list);
		for (size_t i = before; i < s->count; i++)
			s->all[i].editable = true;
		return;
	}
}

static void scan_path(struct scan *s, const struct search_path *on)
{
	size_t n = strlen(on->path);
	if (n > 4 && strcmp(on->path + n - 4, ".egg") == 0)
		scan_egg(s, on, on->path);
	scan_names(s, on, on->path, &on->list);
	for (size_t i = 0; i < on->list.count; i++) {
		struct str name = str_of(on->list.names[i]);
		if (str_ends(name, ".egg"))
			scan_egg(s, on, arena_printf(s->c->arena, "%s/%s", on->path, on->list.names[i]));
		else if (str_ends(name, ".egg-link"))
			scan_egg_link(s, on, on->list.names[i]);
	}
}

/* -- conda -------------------------------------------------------------------------------------------------------------- */

/* Conda's own packages that are no Python distributions, and matter here. */
static bool is_conda_of_interest(struct str name)
{
	static const char *const names[] = {"nccl", "cudnn", "cudatoolkit", "cuda-cudart", "cuda-nvcc", "cuda-toolkit", "cuda-version",
		"cuda-compat", "pytorch", "pytorch-cuda", "pytorch-gpu", "pytorch-cpu", "pytorch-mutex", "libtorch", "mkl", "llvm-openmp",
		"intel-openmp", "libgomp", "libstdcxx-ng", "libstdcxx", "libgcc-ng", "libcublas", "libnvjitlink", "ucx", "openmpi", "mpich",
		"gxx_linux-64", "gcc_linux-64"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (str_is(name, names[i]))
			return true;
	return false;
}

/* "nccl-2.19.3.1-h6103f9b_1.json" → name and version. */
static bool split_conda_name(struct str file, struct str *ret_name, struct str *ret_version)
{
	if (!str_ends(file, ".json"))
		return false;
	file.len -= strlen(".json");
	size_t build = str_rfind_char(file, '-');
	if (build == SIZE_MAX)
		return false;
	file = str_slice(file, 0, build);
	size_t version = str_rfind_char(file, '-');
	if (version == SIZE_MAX)
		return false;
	*ret_name = str_slice(file, 0, version);
	*ret_version = str_skip(file, version + 1);
	return ret_name->len && ret_version->len;
}

/* What conda believes to have installed: libraries, and packages that pip has replaced since. */
static void scan_conda(struct scan *s)
{
	static const struct search_path on = {.path = "", .kind = PATH_CONDA};
	struct arena *a = s->c->arena;
	const char *dir = arena_printf(a, "%s/conda-meta", s->py->prefix);
	for (size_t i = 0; i < s->conda.count; i++) {
		struct str name, version;
		if (!split_conda_name(str_of(s->conda.names[i]), &name, &version))
			continue;
		struct package p = {.name = str_dup(a, name),
			.version = str_dup(a, version),
			.location = s->py->prefix,
			.installer = "conda",
			.on = &on,
			.metadata = arena_printf(a, "%s/%s", dir, s->conda.names[i])};
		p.canonical = parse_pep503_name(a, name);
		const struct package *twin = find(s, p.canonical);
		if (twin ? (twin->installer && strcmp(twin->installer, "conda") == 0) || strcmp(twin->version, p.version) == 0
			 : !is_conda_of_interest(name))
			continue;
		p.has_version = parse_pep440(version, &p.parsed) == 0;
		place(s, p);
	}
}

/* For locks: every package of conda's, with the archive it came from. */
static void fill_conda_packages(struct scan *s)
{
	facts_table_read(s->c->facts, TABLE_conda_package);
	for (size_t i = 0; i < s->conda.count; i++) {
		const char *path = arena_printf(s->c->arena, "%s/conda-meta/%s", s->py->prefix, s->conda.names[i]);
		struct str text;
		struct conda_meta m;
		if (!str_ends(str_of(path), ".json"))
			continue;
		struct arena *scratch = arena_new(0);
		int rc = host_read(s->c->host, path, CONDA_META_MAX, &text);
		rc = rc < 0 ? rc : parse_conda_meta(scratch, text, &m);
		if (rc < 0) {
			facts_table_gap_errno(s->c->facts, TABLE_conda_package, rc, path);
		} else {
			struct facts_row *row = facts_add(s->c->facts, TABLE_conda_package);
			const struct {
				enum facts_column column;
				struct str value;
			} values[] = {{conda_package__name, m.name}, {conda_package__version, m.version}, {conda_package__build, m.build},
				{conda_package__url, m.url}, {conda_package__md5, m.md5}, {conda_package__sha256, m.sha256}};
			for (size_t k = 0; k < sizeof values / sizeof *values; k++)
				if (values[k].value.len)
					facts_str(row, values[k].column, values[k].value, path);
				else
					facts_gap(row, values[k].column, GAP_ABSENT, path, NULL);
		}
		arena_free(scratch);
	}
}

/* -- facts -------------------------------------------------------------------------------------------------------------- */

/* A second copy is worth a row when somebody put it there by accident: not when a venv covers its base, nor when /usr/local covers /usr. */
static bool is_worth_a_row(const struct package *first, const struct package *p)
{
	if (p->hidden)
		return false;
	if (!p->shadowed || !first)
		return true;
	if (first->on->kind == PATH_DIST && p->on->kind == PATH_DIST)
		return first->on == p->on;
	return !(p->on->base && !first->on->base && first->on->kind == PATH_SITE);
}

/* Its files are worth a look: they run on the GPUs, and one that is not what was shipped costs days. */
static bool is_checked(const struct scan *s, const struct package *p)
{
	return !p->shadowed && !p->broken && !p->editable && p->kind == DIST_INFO && p->on->kind != PATH_DIST &&
		(s->c->deep || strcmp(p->canonical, "torch") == 0 || strncmp(p->canonical, "nvidia-", 7) == 0 ||
			strcmp(p->canonical, "triton") == 0 || strcmp(p->canonical, "pytorch-triton") == 0);
}

/* What RECORD says, as one digest; the memory that takes is given back. */
static void fill_record(struct scan *s, const struct package *p, struct facts_row *row)
{
	const char *path = arena_printf(s->c->arena, "%s/RECORD", p->metadata);
	struct str text;
	int rc = p->kind == DIST_INFO && !p->broken ? host_read(s->c->host, path, RECORD_MAX, &text) : -ENOENT;
	if (rc < 0) {
		if (rc == -ENOENT || rc == -ENOTDIR)
			facts_gap(row, package__record, GAP_ABSENT, path, "no RECORD");
		else
			facts_gap_errno(row, package__record, rc, path);
		return;
	}
	struct arena *scratch = arena_new(0);
	const char *digest = p->editable ? NULL : parse_dist_record_digest(scratch, text);
	if (digest)
		facts_text(row, package__record, digest, path);
	else
		facts_gap(row, package__record, GAP_ABSENT, path, "it names no files with hashes");
	arena_free(scratch);
}

static void fill_package(struct scan *s, const struct package *p)
{
	if (!is_worth_a_row(find(s, p->canonical), p))
		return;
	struct facts_row *row = facts_add(s->c->facts, TABLE_package);
	facts_text(row, package__name, p->name, p->metadata);
	facts_text(row, package__canonical, p->canonical, p->metadata);
	facts_text(row, package__version, p->version, p->metadata);
	facts_text(row, package__location, p->location, p->metadata);
	facts_text(row, package__metadata, p->metadata, p->metadata);
	if (p->installer)
		facts_text(row, package__installer, p->installer, p->metadata);
	facts_bool(row, package__editable, p->editable, p->metadata);
	facts_bool(row, package__shadowed, p->shadowed, p->metadata);
	if (p->broken)
		facts_text(row, package__broken, p->broken, p->metadata);
	else
		facts_gap(row, package__broken, GAP_ABSENT, p->metadata, NULL);
	if (p->url)
		facts_text(row, package__source_url, p->url, arena_printf(s->c->arena, "%s/direct_url.json", p->metadata));
	else
		facts_gap(row, package__source_url,
			p->url_error < 0 && p->url_error != -ENOENT ? facts_gap_from_errno(p->url_error) : GAP_ABSENT, p->metadata, NULL);
	if (p->source)
		facts_text(row, package__source, p->source, arena_printf(s->c->arena, "%s/direct_url.json", p->metadata));
	else
		facts_gap(row, package__source,
			p->url_error < 0 && p->url_error != -ENOENT ? facts_gap_from_errno(p->url_error) : GAP_ABSENT, p->metadata, NULL);
	facts_bool(row, package__base, p->on->base, p->location);
	if (is_column_asked(s->c, package__record) && (s->c->for_lock || (s->c->digests && is_checked(s, p))))
		fill_record(s, p, row);
	else
		facts_gap(row, package__record, GAP_ABSENT, p->metadata, "read for locks, and of what runs on GPUs");
}

static struct pep508_environment environment_of(struct collect *c, const struct interpreter *py)
{
	struct host_uname u = {0};
	const struct facts_row *python = c->facts->first[TABLE_python];
	const char *arch = python ? facts_get_text(python, python__arch) : NULL;
	struct pep508_environment e = {
		.python_version = str_of(py->minor ? py->minor : ""),
		.python_full_version = str_of(py->version ? py->version : ""),
		.os_name = STR("posix"),
		.sys_platform = STR("linux"),
		.platform_system = STR("Linux"),
		.platform_python_implementation = STR("CPython"),
		.implementation_name = STR("cpython"),
		.implementation_version = str_of(py->version ? py->version : ""),
		.platform_machine = STR("x86_64"),
	};
	if (host_uname(c->host, &u) == 0) {
		e.platform_release = str_of(u.release ? u.release : "");
		e.platform_version = str_of(u.version ? u.version : "");
		e.platform_machine = str_of(u.machine ? u.machine : "x86_64");
	}
	if (arch && strcmp(arch, "i686") != 0)
		e.platform_machine = str_of(arch);
	return e;
}

struct demand {
	const struct package *from;
	const char *name; /* canonical */
	const char *specifier, *text;
};

struct demands {
	struct demand *all;
	size_t count, cap;
};

static void gather_demands(struct scan *s, const struct pep508_environment *env, struct demands *d)
{
	struct arena *a = s->c->arena;
	for (size_t i = 0; i < s->count; i++) {
		const struct package *p = &s->all[i];
		if (p->shadowed || p->broken)
			continue;
		for (size_t k = 0; k < p->requires_count; k++) {
			struct pep508 r;
			bool applies;
			if (parse_pep508(p->requires[k], &r) < 0 || parse_pep508_marker(r.marker, env, &applies) < 0 || !applies)
				continue;
			d->all = arena_grow(a, d->all, d->count, &d->cap, sizeof *d->all);
			const char *specifier = r.specifier.len ? str_dup(a, r.specifier) : "";
			const char *extras = r.extras.len ? arena_printf(a, "[%s]", str_dup(a, r.extras)) : "";
			d->all[d->count++] = (struct demand){p, parse_pep503_name(a, r.name), specifier,
				arena_printf(a, "%s%s%s", str_dup(a, r.name), extras, specifier)};
		}
	}
}

#define CHAIN_MAX 8

/* Who wants the package that wants: "vllm -> outlines -> lark". The first requirer each time; a circle ends it. */
static const char *chain_of(struct scan *s, const struct demands *d, const struct demand *last)
{
	const struct package *links[CHAIN_MAX] = {last->from};
	size_t n = 1;
	while (n < CHAIN_MAX) {
		const struct package *above = NULL;
		for (size_t i = 0; i < d->count && !above; i++) {
			if (strcmp(d->all[i].name, links[n - 1]->canonical) != 0)
				continue;
			above = d->all[i].from;
			for (size_t k = 0; k < n; k++)
				if (links[k] == above)
					above = NULL;
		}
		if (!above)
			break;
		links[n++] = above;
	}
	struct buf b = BUF_MAX(4096);
	while (n > 0)
		buf_fmt(&b, "%s -> ", links[--n]->name);
	buf_text(&b, last->name);
	const char *text = arena_strndup(s->c->arena, buf_view(&b).ptr, b.len);
	buf_free(&b);
	return text;
}

static void fill_conflict(struct scan *s, const struct demands *d, const struct demand *r, const struct package *found)
{
	struct facts_row *row = facts_add(s->c->facts, TABLE_requirement_conflict);
	const char *origin = r->from->metadata;
	facts_text(row, requirement_conflict__package, r->from->name, origin);
	facts_text(row, requirement_conflict__package_version, r->from->version, origin);
	facts_text(row, requirement_conflict__requires, r->text, origin);
	facts_text(row, requirement_conflict__name, r->name, origin);
	if (found)
		facts_text(row, requirement_conflict__found, found->version, found->metadata);
	else
		facts_gap(row, requirement_conflict__found, GAP_ABSENT, s->py->prefix, "not installed");
	facts_text(row, requirement_conflict__chain, chain_of(s, d, r), origin);
}

/* pip check's rule: what is installed must lie in the specifier, pre-releases allowed. */
static void fill_requirements(struct scan *s)
{
	struct pep508_environment env = environment_of(s->c, s->py);
	struct demands d = {0};
	gather_demands(s, &env, &d);
	facts_table_read(s->c->facts, TABLE_requirement);
	facts_table_read(s->c->facts, TABLE_requirement_conflict);
	for (size_t i = 0; i < d.count; i++) {
		const struct demand *r = &d.all[i];
		struct facts_row *row = facts_add(s->c->facts, TABLE_requirement);
		facts_text(row, requirement__package, r->from->name, r->from->metadata);
		facts_text(row, requirement__name, r->name, r->from->metadata);
		facts_text(row, requirement__specifier, r->specifier, r->from->metadata);
		const struct package *found = find(s, r->name);
		bool fits = true;
		if (found && found->has_version && parse_pep440_match(str_of(r->specifier), &found->parsed, PEP440_ALLOWED, &fits) < 0)
			fits = true;
		if (!found || !fits)
			fill_conflict(s, &d, r, found);
	}
}

/* -- integrity ---------------------------------------------------------------------------------------------------------- */

#define SMALL_FILE 65536 /* below it only shared libraries are looked at, unless everything is asked for */
#define PROBLEMS_MAX 200

/* A file that RECORD names and that is looked at. */
struct owned {
	const char *path;
	const struct package *owner;
	struct dist_record record;
	size_t next; /* position + 1 of the next one whose path has the same hash; 0: it is the last */
};

struct owners {
	struct owned *all;
	size_t count, cap;
	size_t *bucket, buckets; /* after index_owners: position + 1 of the first one; 0: none */
};

static bool is_library(struct str path)
{
	return str_ends(path, ".so") || str_has(path, ".so.");
}

static bool is_wanted(const struct scan *s, const struct dist_record *r)
{
	if (!r->has_size || str_ends(r->path, ".pyc"))
		return false;
	return s->c->deep || is_library(r->path) || r->size >= SMALL_FILE || str_ends(r->path, "/version.py") ||
		str_is(r->path, "torch/__init__.py");
}

static const char *path_of(struct scan *s, const struct package *p, const struct dist_record *r)
{
	const char *path = str_dup(s->c->arena, r->path);
	return path[0] == '/' ? path : collect_path_clean(s->c->arena, arena_printf(s->c->arena, "%s/%s", p->location, path));
}

static void index_owners(struct arena *a, struct owners *o)
{
	o->buckets = o->count + 1;
	o->bucket = arena_array(a, o->buckets, sizeof *o->bucket);
	for (size_t i = o->count; i > 0; i--) {
		size_t *first = &o->bucket[hash_of(o->all[i - 1].path) % o->buckets];
		o->all[i - 1].next = *first;
		*first = i;
	}
}

static const struct package *other_owner(const struct owners *o, const char *path, const struct package *p)
{
	for (size_t i = o->bucket[hash_of(path) % o->buckets]; i; i = o->all[i - 1].next)
		if (o->all[i - 1].owner != p && strcmp(o->all[i - 1].path, path) == 0)
			return o->all[i - 1].owner;
	return NULL;
}

/* What is wrong with a file, NULL when nothing is or it cannot be told; what RECORD says and what is there, as texts. */
static const char *problem_of(
	struct scan *s, const char *path, const struct dist_record *r, const char **ret_expected, const char **ret_found)
{
	struct host_stat st;
	struct str hash;
	int rc = host_stat(s->c->host, path, &st);
	*ret_expected = arena_printf(s->c->arena, "%llu", (unsigned long long)r->size);
	*ret_found = NULL;
	if (rc < 0)
		return rc == -ENOENT || rc == -ENOTDIR ? "missing" : NULL;
	*ret_found = arena_printf(s->c->arena, "%llu", (unsigned long long)st.size);
	if (st.kind != HOST_FILE || st.size != r->size)
		return st.size < r->size ? "truncated" : "size";
	if (!s->c->deep || !str_is(r->algorithm, "sha256") || collect_hash(s->c->host, path, &hash) < 0 || str_eq(hash, r->digest))
		return NULL;
	*ret_expected = str_dup(s->c->arena, r->digest);
	*ret_found = str_dup(s->c->arena, hash);
	return "hash";
}

static void fill_integrity(struct scan *s, const struct package *p, const char *path, const struct dist_record *r, const struct owners *o)
{
	const char *expected, *found, *problem = problem_of(s, path, r, &expected, &found);
	if (!problem)
		return;
	struct facts_row *row = facts_add(s->c->facts, TABLE_integrity);
	facts_text(row, integrity__path, path, p->metadata);
	facts_text(row, integrity__package, p->name, p->metadata);
	facts_text(row, integrity__problem, problem, path);
	facts_text(row, integrity__expected, expected, p->metadata);
	if (found)
		facts_text(row, integrity__found, found, path);
	else
		facts_gap(row, integrity__found, GAP_ABSENT, path, "not there");
	const struct package *other = other_owner(o, path, p);
	if (other)
		facts_text(row, integrity__also_owned_by, other->name, other->metadata);
	else
		facts_gap(row, integrity__also_owned_by, GAP_ABSENT, path, NULL);
}

/* pip cannot uninstall or replace what has no RECORD. */
static void fill_no_record(struct scan *s, const struct package *p, const char *path)
{
	struct facts_row *row = facts_add(s->c->facts, TABLE_integrity);
	facts_text(row, integrity__path, path, p->metadata);
	facts_text(row, integrity__package, p->name, p->metadata);
	facts_text(row, integrity__problem, "no-record", path);
	facts_gap(row, integrity__expected, GAP_ABSENT, path, NULL);
	facts_gap(row, integrity__found, GAP_ABSENT, path, "not there");
	facts_gap(row, integrity__also_owned_by, GAP_ABSENT, path, NULL);
}

static void read_record(struct scan *s, const struct package *p, struct owners *o)
{
	const char *path = arena_printf(s->c->arena, "%s/RECORD", p->metadata);
	struct str text;
	struct dist_record r;
	int rc = host_read(s->c->host, path, RECORD_MAX, &text);
	if (rc < 0) {
		bool ours = p->installer && (strcmp(p->installer, "pip") == 0 || strcmp(p->installer, "uv") == 0);
		if (rc != -ENOENT)
			facts_table_gap_errno(s->c->facts, TABLE_integrity, rc, path);
		else if (ours)
			fill_no_record(s, p, path);
		return;
	}
	while ((rc = parse_dist_record(s->c->arena, &text, &r))) {
		if (rc < 0 || !is_wanted(s, &r))
			continue;
		o->all = arena_grow(s->c->arena, o->all, o->count, &o->cap, sizeof *o->all);
		o->all[o->count++] = (struct owned){.path = path_of(s, p, &r), .owner = p, .record = r};
	}
}

static void hash_ahead(struct scan *s, const struct owners *o)
{
	struct hash_job *jobs = arena_array(s->c->arena, o->count + 1, sizeof *jobs);
	size_t n = 0;
	for (size_t i = 0; i < o->count; i++) {
		struct host_stat st;
		const struct dist_record *r = &o->all[i].record;
		if (str_is(r->algorithm, "sha256") && host_stat(s->c->host, o->all[i].path, &st) == 0 && st.kind == HOST_FILE &&
			st.size == r->size)
			jobs[n++] = (struct hash_job){o->all[i].path, st.size};
	}
	collect_hash_ahead(s->c, jobs, n);
}

/* All owners must be known before a file is blamed on one of them. */
static void check_integrity(struct scan *s)
{
	struct owners owners = {0};
	const struct package *last = NULL;
	int before = 0;
	facts_table_read(s->c->facts, TABLE_integrity);
	for (size_t i = 0; i < s->count; i++)
		if (is_checked(s, &s->all[i]))
			read_record(s, &s->all[i], &owners);
	index_owners(s->c->arena, &owners);
	if (s->c->deep)
		hash_ahead(s, &owners);
	for (size_t i = 0; i < owners.count; i++) {
		const struct owned *o = &owners.all[i];
		if (o->owner != last) {
			last = o->owner;
			before = s->c->facts->count[TABLE_integrity];
		}
		if (s->c->facts->count[TABLE_integrity] - before < PROBLEMS_MAX)
			fill_integrity(s, o->owner, o->path, &o->record, &owners);
	}
}

/* -- who was built for which NumPy ------------------------------------------------------------------------------------------- */

#define NUMPY_PACKAGES_MAX 60
#define NUMPY_MODULES_MAX 4 /* of one package: all of a wheel are built alike */

static bool requires_numpy(const struct package *p)
{
	struct pep508 r;
	for (size_t i = 0; i < p->requires_count; i++)
		if (parse_pep508(p->requires[i], &r) == 0 && str_is_nocase(r.name, "numpy") && !str_has(r.marker, "extra"))
			return true;
	return false;
}

static void find_numpy_user(struct scan *s, const struct package *p)
{
	struct str text;
	struct dist_record r;
	struct elf_digest d;
	int looked = 0;
	if (host_read(s->c->host, arena_printf(s->c->arena, "%s/RECORD", p->metadata), RECORD_MAX, &text) < 0)
		return;
	for (int rc; looked < NUMPY_MODULES_MAX && (rc = parse_dist_record(s->c->arena, &text, &r));) {
		if (rc < 0 || !str_ends(r.path, ".so") || str_has(r.path, ".libs/") ||
			!(str_has(r.path, ".cpython-") || str_has(r.path, ".abi3.")))
			continue;
		const char *path = path_of(s, p, &r);
		looked++;
		if (collect_binary(s->c->host, s->c->arena, path, ELF_DIGEST_LINK, &d) < 0 || d.numpy_abi < 0)
			continue;
		struct facts_row *row = facts_add(s->c->facts, TABLE_numpy_user);
		facts_text(row, numpy_user__path, path, path);
		facts_text(row, numpy_user__package, p->name, p->metadata);
		facts_text(row, numpy_user__version, p->version, p->metadata);
		facts_int(row, numpy_user__abi, d.numpy_abi, path);
		return;
	}
}

/* Only NumPy 2 breaks what was built for another. */
static void find_numpy_users(struct scan *s)
{
	const struct package *numpy = find(s, "numpy");
	int n = 0;
	if (!numpy || !numpy->version || numpy->version[0] < '2' || numpy->version[1] != '.')
		return;
	facts_table_read(s->c->facts, TABLE_numpy_user);
	for (size_t i = 0; i < s->count && n < NUMPY_PACKAGES_MAX; i++) {
		const struct package *p = &s->all[i];
		if (p->shadowed || p->broken || p->kind != DIST_INFO || p->on->kind == PATH_DIST || !requires_numpy(p))
			continue;
		n++;
		find_numpy_user(s, p);
	}
}

void collect_packages(struct collect *c, const struct interpreter *py)
{
	struct scan s = {.c = c, .py = py};
	facts_table_read(c->facts, TABLE_package);
	if (!py->minor) {
		facts_table_gap(c->facts, TABLE_package, GAP_UNPARSABLE, py->path, "the version of this interpreter is not known");
		return;
	}
	if (py->conda && !py->venv)
		host_list(c->host, arena_printf(c->arena, "%s/conda-meta", py->prefix), &s.conda);
	for (size_t i = 0; i < py->path_count; i++) {
		const struct search_path *p = &py->paths[i];
		if (p->listed && p->kind != PATH_STDLIB)
			scan_path(&s, p);
		else if (p->error < 0 && p->error != -ENOENT && p->error != -ENOTDIR)
			facts_table_gap_errno(c->facts, TABLE_package, p->error, p->path);
	}
	scan_conda(&s);
	if (c->for_lock)
		fill_conda_packages(&s);
	for (size_t i = 0; i < s.count; i++)
		fill_package(&s, &s.all[i]);
	if (wants_requirements(c))
		fill_requirements(&s);
	if (is_asked(c, TABLE_numpy_user))
		find_numpy_users(&s);
	if (is_asked(c, TABLE_integrity))
		check_integrity(&s);
}
