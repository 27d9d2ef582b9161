#include "collect/ldso.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/version.h"
#include "parse/ldcache.h"

#define OBJECTS_MAX 4096u
#define WANTS_MAX 100000u
#define DIRS_MAX 1024u
#define UNMET_MAX 1000u
#define CACHE_MAX ((size_t)32 << 20)
#define LEGACY_NAMES 4u

/* A directory that was looked at once. */
struct dir {
	const char *path;
	bool exists;
	const char *tidy; /* without /../ */
	bool level[3];    /* glibc-hwcaps/x86-64-v4, v3, v2 */
	bool has_legacy;
	struct dir *next;
};

struct dirs { /* a search list, in order */
	struct dir **dir;
	size_t count, cap;
};

struct cached { /* a line of ld.so.cache for this machine */
	struct str level, name, path;
	struct cached *next; /* in the bucket, in the order of the cache */
};

struct named { /* a name that an object answers to */
	const char *name;
	size_t object;
	struct named *next;
};

#define BUCKETS 1024u

struct digested { /* a file's digest, made once */
	const char *path;
	int error;
	struct elf_digest elf;
	struct digested *next;
};

struct object {
	uint64_t device, inode;
	const char *real; /* where inodes are not known */
	struct dirs rpath, runpath;
	bool dirs_read;
};

/* What does not change from one process to the next on this machine. */
struct world {
	bool prepared, musl, legacy, uncertain;
	const char *loader, *machine, *triplet, *lib; /* "x86_64", "x86_64-linux-gnu", $LIB */
	const char *levels[3];
	int first_level; /* 0: v4; 3: none */
	const char *platform;
	uint64_t legacy_bits;
	struct dir *dirs[256];
	struct digested *digests[256];
	struct dirs library_path, defaults;
	struct cached *cache[BUCKETS], **cache_tail[BUCKETS];
	bool has_cache;
	struct dirs conf; /* instead of the cache */
};

struct ldso {
	struct arena *arena;
	struct host *host;
	struct world *w;
	struct ldso_object *objects;
	struct object *more; /* what only we need of the objects */
	struct named *names[BUCKETS];
	size_t count, cap, more_cap;
	struct ldso_want *wants;
	size_t want_count, want_cap;
	struct ldso_unmet *unmet;
	size_t unmet_count, unmet_cap;
	const atomic_bool *stop; /* reading ahead: from the end, until somebody says stop; NULL: as the loader does */
	bool secure;             /* a set-user-ID program: the environment does not count */
};

/* -- directories -------------------------------------------------------------------------------------------------------------- */

static unsigned hash_n(const char *s, size_t n)
{
	unsigned v = 5381;
	for (size_t i = 0; i < n; i++)
		v = v * 33 + (unsigned char)s[i];
	return v;
}

static unsigned hash(const char *s)
{
	return hash_n(s, strlen(s));
}

static const char *const legacy_names[LEGACY_NAMES] = {"tls", "haswell", "avx512_1", "x86_64"};

static struct dir *dir_of(struct ldso *l, const char *path)
{
	struct dir **bucket = &l->w->dirs[hash(path) % 256];
	for (struct dir *d = *bucket; d; d = d->next)
		if (strcmp(d->path, path) == 0)
			return d;
	struct dir *d = arena_alloc(l->arena, sizeof *d);
	*d = (struct dir){.path = path, .tidy = path, .next = *bucket};
	*bucket = d;
	d->exists = host_is_dir(l->host, path);
	if (!d->exists)
		return d;
	const char *real;
	if ((strstr(path, "/../") || strstr(path, "/./") || str_ends(str_of(path), "/..")) && host_realpath(l->host, path, &real) == 0)
		d->tidy = real;
	if (l->w->first_level < 3 && !l->w->musl && host_is_dir(l->host, arena_printf(l->arena, "%s/glibc-hwcaps", path)))
		for (int i = l->w->first_level; i < 3; i++)
			d->level[i] = host_is_dir(l->host, arena_printf(l->arena, "%s/glibc-hwcaps/%s", path, l->w->levels[i]));
	for (size_t i = 0; i < LEGACY_NAMES && l->w->legacy && !d->has_legacy; i++)
		d->has_legacy = host_is_dir(l->host, arena_printf(l->arena, "%s/%s", path, legacy_names[i]));
	return d;
}

static int digest_of(struct ldso *l, const char *path, struct elf_digest *ret)
{
	struct digested **bucket = &l->w->digests[hash(path) % 256], *d = *bucket;
	while (d && strcmp(d->path, path) != 0)
		d = d->next;
	if (!d) {
		d = arena_alloc(l->arena, sizeof *d);
		*d = (struct digested){.path = path, .next = *bucket};
		d->error = collect_binary(l->host, l->arena, path, ELF_DIGEST_LINK, &d->elf);
		*bucket = d;
	}
	*ret = d->elf;
	return d->error;
}

static void add_dir(struct ldso *l, struct dirs *list, struct str path)
{
	while (path.len > 1 && path.ptr[path.len - 1] == '/')
		path.len--;
	const char *text = str_dup(l->arena, path);
	if (text[0] != '/') { /* relative: to the working directory */
		const char *cwd = host_cwd(l->host);
		if (!cwd) {
			l->w->uncertain = true;
			return;
		}
		text = *text ? arena_printf(l->arena, "%s/%s", strcmp(cwd, "/") == 0 ? "" : cwd, text) : cwd;
	}
	struct dir *d = dir_of(l, text);
	for (size_t i = 0; i < list->count; i++)
		if (list->dir[i] == d)
			return;
	if (list->count == DIRS_MAX)
		return;
	list->dir = arena_grow(l->arena, list->dir, list->count, &list->cap, sizeof *list->dir);
	list->dir[list->count++] = d;
}

/* $ORIGIN, ${ORIGIN} and so on; the length of the name in *ret_len, 0 when it is none. */
static const char *token_value(const struct ldso *l, const char *at, const char *origin, size_t *ret_len)
{
	const struct {
		const char *name, *value;
	} tokens[] = {{"ORIGIN", origin}, {"LIB", l->w->lib}, {"PLATFORM", l->w->platform}};
	bool braced = at[1] == '{';
	const char *name = at + 1 + braced;
	for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
		size_t n = strlen(tokens[i].name);
		if (strncmp(name, tokens[i].name, n) != 0)
			continue;
		char after = name[n];
		if (braced ? after != '}'
			   : (after == '_' || (after >= 'A' && after <= 'Z') || (after >= 'a' && after <= 'z') ||
				     (after >= '0' && after <= '9')))
			continue;
		*ret_len = 1 + n + (braced ? 2 : 0);
		return tokens[i].value;
	}
	*ret_len = 0;
	return NULL;
}

static const char *expand(struct ldso *l, const char *text, const char *origin)
{
	if (!strchr(text, '$'))
		return text;
	struct buf b = BUF_MAX(65536);
	for (const char *p = text; *p;) {
		size_t n = 0;
		const char *value = *p == '$' ? token_value(l, p, origin, &n) : NULL;
		if (value) {
			buf_text(&b, value);
			p += n;
		} else {
			buf_char(&b, *p++);
		}
	}
	const char *expanded = arena_strndup(l->arena, buf_view(&b).ptr, b.len);
	buf_free(&b);
	return expanded;
}

static const char *directory_of(struct ldso *l, const char *path)
{
	const char *slash = strrchr(path, '/');
	return !slash ? "." : slash == path ? "/" : arena_strndup(l->arena, path, (size_t)(slash - path));
}

static void add_path_list(struct ldso *l, struct dirs *list, const char *text, const char *origin, bool semicolons)
{
	struct str rest = str_of(text), field;
	while (rest.ptr) {
		size_t end = 0;
		while (end < rest.len && rest.ptr[end] != ':' && !(semicolons && rest.ptr[end] == ';'))
			end++;
		field = str_slice(rest, 0, end);
		rest = end < rest.len ? str_skip(rest, end + 1) : str_n(NULL, 0);
		add_dir(l, list, str_of(expand(l, str_dup(l->arena, field), origin)));
	}
}

/* -- what this machine's loader is -------------------------------------------------------------------------------------------- */

static bool has_flag(struct str flags, const char *flag)
{
	struct str word;
	while (str_next_word(&flags, &word))
		if (str_is(word, flag))
			return true;
	return false;
}

static bool has_flags(struct str flags, const char *const *wanted)
{
	for (; *wanted; wanted++)
		if (!has_flag(flags, *wanted))
			return false;
	return true;
}

/* The levels of the x86-64 psABI, as glibc tests them. */
static void read_levels(struct ldso *l)
{
	static const char *const v2[] = {"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3", NULL};
	static const char *const v3[] = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave", NULL};
	static const char *const v4[] = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", NULL};
	static const char *const names[] = {"x86-64-v4", "x86-64-v3", "x86-64-v2"};
	struct str text, line, key, flags = str_n(NULL, 0);
	memcpy(l->w->levels, names, sizeof names);
	l->w->first_level = 3;
	l->w->platform = l->w->machine;
	if (strcmp(l->w->machine, "x86_64") != 0)
		return;
	if (host_processor(l->host)) {
		flags = str_of(host_processor(l->host));
	} else if (host_read_head(l->host, "/proc/cpuinfo", 65536, &text) < 0) {
		l->w->uncertain = true;
		return;
	}
	while (!flags.ptr && str_next_line(&text, &line))
		if (str_starts(line, "flags") && !str_split(line, ':', &key, &flags))
			flags.ptr = NULL;
	l->w->legacy_bits = 3; /* sse2, x86_64 */
	if (!flags.ptr || !has_flags(flags, v2))
		return;
	l->w->first_level = 2;
	if (!has_flags(flags, v3))
		return;
	l->w->first_level = 1;
	if (has_flag(flags, "avx512f") && has_flag(flags, "avx512cd"))
		l->w->legacy_bits |= 4;
	l->w->legacy_bits |= 1ull << 50; /* haswell */
	if (has_flags(flags, v4))
		l->w->first_level = 0;
}

static void read_cache_line(struct ldso *l, struct str line)
{
	struct str machine;
	struct cached c = {0};
	if (!str_next_word(&line, &machine) || !str_is(machine, l->w->machine) || !str_next_word(&line, &c.level) ||
		!str_next_word(&line, &c.name))
		return;
	c.path = str_trim(line);
	if (!c.path.len || c.path.ptr[0] != '/')
		return;
	unsigned k = hash_n(c.name.ptr, c.name.len) % BUCKETS;
	struct cached *kept = arena_alloc(l->arena, sizeof *kept);
	*kept = c;
	*(l->w->cache_tail[k] ? l->w->cache_tail[k] : &l->w->cache[k]) = kept;
	l->w->cache_tail[k] = &kept->next;
}

static int make_cache(struct host_file *file, struct buf *ret_text, void *arg)
{
	(void)arg;
	uint64_t size = host_file_size(file);
	if (size > CACHE_MAX)
		return -EFBIG;
	char *bytes = malloc((size_t)size + 1);
	if (!bytes)
		return -ENOMEM;
	int r = host_file_pread(file, 0, bytes, (size_t)size);
	if (r == 0)
		r = parse_ldcache_text(str_n(bytes, (size_t)size), ret_text);
	free(bytes);
	return r;
}

/* /etc/ld.so.conf with its includes: what ldconfig would have put into the cache. */
static void read_conf(struct ldso *l, const char *path, int depth)
{
	struct str text, line;
	if (depth > 4 || host_read(l->host, path, 0, &text) < 0)
		return;
	while (str_next_line(&text, &line)) {
		line = str_trim(str_slice(line, 0, str_find_char(line, '#', 0)));
		if (!str_starts(line, "include ") && !str_starts(line, "include\t")) {
			if (line.len && line.ptr[0] == '/')
				add_dir(l, &l->w->conf, line);
			continue;
		}
		const char *pattern = str_dup(l->arena, str_trim(str_skip(line, 8)));
		if (pattern[0] != '/')
			pattern = arena_printf(l->arena, "/etc/%s", pattern);
		const char *dir = directory_of(l, pattern);
		struct host_list list;
		if (host_list(l->host, dir, &list) < 0)
			continue;
		for (size_t i = 0; i < list.count; i++) {
			const char *file = arena_printf(l->arena, "%s/%s", dir, list.names[i]);
			if (fnmatch(pattern, file, FNM_PATHNAME) == 0)
				read_conf(l, file, depth + 1);
		}
	}
}

static void read_cache(struct ldso *l)
{
	struct str text, line;
	int r = host_digest(l->host, "ldcache", "/etc/ld.so.cache", make_cache, NULL, &text);
	if (r == 0) {
		l->w->has_cache = true;
		while (str_next_line(&text, &line))
			read_cache_line(l, line);
	} else if (!host_is_live(l->host)) {
		read_conf(l, "/etc/ld.so.conf", 0);
	}
}

static void read_defaults(struct ldso *l)
{
	const char *multi = arena_printf(l->arena, "/lib/%s", l->w->triplet), *usr = arena_printf(l->arena, "/usr/lib/%s", l->w->triplet);
	bool multiarch = host_is_dir(l->host, multi) || host_is_dir(l->host, usr);
	l->w->lib = multiarch ? arena_printf(l->arena, "lib/%s", l->w->triplet) : "lib64";
	const char *debian[] = {multi, usr, "/lib", "/usr/lib"}, *others[] = {"/lib64", "/usr/lib64"};
	for (size_t i = 0; i < (multiarch ? 4u : 2u); i++)
		add_dir(l, &l->w->defaults, str_of(multiarch ? debian[i] : others[i]));
}

static void read_defaults_musl(struct ldso *l)
{
	struct str text;
	if (host_read(l->host, arena_printf(l->arena, "/etc/ld-musl-%s.path", l->w->machine), 0, &text) == 0) {
		char *list = str_dup(l->arena, str_trim(text));
		for (char *p = list; *p; p++)
			if (*p == '\n')
				*p = ':';
		add_path_list(l, &l->w->defaults, list, "", false);
		return;
	}
	add_path_list(l, &l->w->defaults, "/lib:/usr/local/lib:/usr/lib", "", false);
}

/* glibc up to 2.36 searched directories such as haswell and tls too. */
static bool is_legacy(struct ldso *l)
{
	const char *candidates[] = {arena_printf(l->arena, "/lib/%s/libc.so.6", l->w->triplet), "/lib64/libc.so.6", "/usr/lib64/libc.so.6"};
	for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
		struct elf_digest d;
		if (digest_of(l, candidates[i], &d) < 0 || !d.verdef_count)
			continue;
		for (size_t j = 0; j < d.verdef_count; j++) {
			int order;
			if (str_starts(str_of(d.verdefs[j]), "GLIBC_2") &&
				version_cmp(str_of(d.verdefs[j] + 6), STR("2.37"), &order) == 0 && order >= 0)
				return false;
		}
		return true;
	}
	return false;
}

static const char *loader_path(struct ldso *l, const char *machine, const struct elf_digest *root)
{
	if (root->interp)
		return root->interp;
	const char *glibc = strcmp(machine, "aarch64") == 0 ? "/lib/ld-linux-aarch64.so.1" : "/lib64/ld-linux-x86-64.so.2";
	const char *musl = arena_printf(l->arena, "/lib/ld-musl-%s.so.1", machine);
	return !host_exists(l->host, glibc) && host_exists(l->host, musl) ? musl : glibc;
}

static void prepare(struct ldso *l, const char *loader)
{
	l->w->prepared = true;
	l->w->loader = loader;
	l->w->triplet = arena_printf(l->arena, "%s-linux-gnu", l->w->machine);
	l->w->musl = strstr(loader, "ld-musl") != NULL;
	read_levels(l);
	if (l->w->musl) {
		l->w->lib = "lib";
		read_defaults_musl(l);
	} else {
		l->w->legacy = strcmp(l->w->machine, "x86_64") == 0 && is_legacy(l);
		if (l->w->legacy && l->w->legacy_bits >> 50)
			l->w->platform = "haswell";
		read_defaults(l);
		read_cache(l);
	}
	const char *path = host_env(l->host, "LD_LIBRARY_PATH");
	if (path && *path)
		add_path_list(l, &l->w->library_path, path, "", !l->w->musl);
}

/* -- objects -------------------------------------------------------------------------------------------------------------------- */

static void add_name(struct ldso *l, size_t index, const char *name)
{
	struct named **bucket = &l->names[hash(name) % BUCKETS];
	for (struct named *n = *bucket; n; n = n->next)
		if (n->object == index && strcmp(n->name, name) == 0)
			return;
	struct named *n = arena_alloc(l->arena, sizeof *n);
	*n = (struct named){name, index, *bucket};
	*bucket = n;
}

static int add_object(struct ldso *l, const char *name, const char *path, const char *found_by, int loader, const struct elf_digest *elf,
	const struct host_stat *st)
{
	if (l->count == OBJECTS_MAX)
		return -E2BIG;
	l->objects = arena_grow(l->arena, l->objects, l->count, &l->cap, sizeof *l->objects);
	l->more = arena_grow(l->arena, l->more, l->count, &l->more_cap, sizeof *l->more);
	size_t i = l->count++;
	l->objects[i] = (struct ldso_object){.name = name, .path = path, .found_by = found_by, .loader = loader};
	l->more[i] = (struct object){0};
	if (elf) {
		l->objects[i].elf = *elf;
		l->objects[i].known = true;
		l->objects[i].problem = elf->problem;
	}
	if (st && st->inode) {
		l->more[i].device = st->device;
		l->more[i].inode = st->inode;
	} else if (host_realpath(l->host, path, &l->more[i].real) < 0) {
		l->more[i].real = path;
	}
	add_name(l, i, name);
	add_name(l, i, path);
	if (elf && elf->soname)
		add_name(l, i, elf->soname);
	return (int)i;
}

int collect_ldso_find(const struct ldso *l, const char *name)
{
	int first = -1;
	for (const struct named *n = l->names[hash(name) % BUCKETS]; n; n = n->next)
		if ((first < 0 || n->object < (size_t)first) && !l->objects[n->object].problem && strcmp(n->name, name) == 0)
			first = (int)n->object;
	return first;
}

static int find_file(struct ldso *l, const char *path, const struct host_stat *st)
{
	const char *real = NULL;
	if (!st->inode && host_realpath(l->host, path, &real) < 0)
		real = path;
	for (size_t i = 0; i < l->count; i++) {
		const struct object *o = &l->more[i];
		if (st->inode ? (o->inode == st->inode && o->device == st->device) : (o->real && strcmp(o->real, real) == 0))
			return (int)i;
	}
	return -1;
}

static void read_dirs(struct ldso *l, size_t index)
{
	struct object *o = &l->more[index];
	const struct elf_digest *d = &l->objects[index].elf;
	if (o->dirs_read)
		return;
	o->dirs_read = true;
	/* The origin of a program is where it really lies, of a library where it was found. */
	const char *path = l->objects[index].path, *real;
	if (index == 0 && host_realpath(l->host, path, &real) == 0)
		path = real;
	const char *origin = directory_of(l, path);
	if (d->runpath)
		add_path_list(l, &o->runpath, d->runpath, origin, false);
	else if (d->rpath)
		add_path_list(l, &o->rpath, d->rpath, origin, false);
}

/* -- the search ------------------------------------------------------------------------------------------------------------------ */

/* Takes one file. Index of the object; -ENOENT: not there or passed over, search on; other errors: the loader gives up. */
static int try_file(struct ldso *l, const char *path, const char *name, const char *found_by, int loader)
{
	struct host_stat st;
	struct elf_digest d;
	int r = host_stat(l->host, path, &st);
	if (r == -ENODATA)
		l->w->uncertain = true;
	if (r < 0 || st.kind != HOST_FILE)
		return -ENOENT;
	int same = find_file(l, path, &st);
	if (same >= 0) {
		add_name(l, (size_t)same, name);
		return same;
	}
	r = digest_of(l, path, &d);
	if (r == -ENODATA) { /* the snapshot knows that it is there and no more */
		l->w->uncertain = true;
		return add_object(l, name, path, found_by, loader, NULL, &st);
	}
	if (r < 0)
		return -ENOENT; /* may not be opened: the loader searches on */
	if (d.is_32bit || (d.machine && strcmp(d.machine, l->w->machine) != 0))
		return -ENOENT;
	return add_object(l, name, path, found_by, loader, &d, &st);
}

static int try_dir(struct ldso *l, const struct dir *d, const char *name, const char *found_by, int loader)
{
	if (!d->exists)
		return -ENOENT;
	const char *base = strcmp(d->tidy, "/") == 0 ? "" : d->tidy;
	for (int i = l->w->first_level; i < 3; i++) {
		int r = d->level[i]
			? try_file(l, arena_printf(l->arena, "%s/glibc-hwcaps/%s/%s", base, l->w->levels[i], name), name, found_by, loader)
			: -ENOENT;
		if (r != -ENOENT)
			return r;
	}
	/* All subsets of tls/haswell/avx512_1/x86_64, the longest first. */
	for (unsigned set = (1u << LEGACY_NAMES) - 1; d->has_legacy && set; set--) {
		struct buf sub = BUF_MAX(256);
		for (unsigned i = 0; i < LEGACY_NAMES; i++)
			if (set >> (LEGACY_NAMES - 1 - i) & 1)
				buf_fmt(&sub, "/%s", legacy_names[i]);
		bool supported = !(((set >> 2 & 1) && !(l->w->legacy_bits >> 50)) || ((set >> 1 & 1) && !(l->w->legacy_bits & 4)));
		int r = supported ? try_file(l, arena_printf(l->arena, "%s%s/%s", base, buf_view(&sub).ptr, name), name, found_by, loader)
				  : -ENOENT;
		buf_free(&sub);
		if (r != -ENOENT)
			return r;
	}
	return try_file(l, arena_printf(l->arena, "%s/%s", base, name), name, found_by, loader);
}

static int try_dirs(struct ldso *l, const struct dirs *list, const char *name, const char *found_by, int loader)
{
	for (size_t i = 0; i < list->count; i++) {
		int r = try_dir(l, list->dir[i], name, found_by, loader);
		if (r != -ENOENT)
			return r;
	}
	return -ENOENT;
}

static bool is_default(const struct ldso *l, const char *path)
{
	for (size_t i = 0; i < l->w->defaults.count; i++) {
		const char *dir = l->w->defaults.dir[i]->path;
		size_t n = strlen(dir);
		if (strncmp(path, dir, n) == 0 && path[n] == '/')
			return true;
	}
	return false;
}

/* Lower is better; -1: not for this processor. */
static int cache_rank(const struct ldso *l, struct str level)
{
	uint64_t bits;
	if (str_is(level, "-"))
		return 3;
	if (str_starts(level, "0x"))
		return str_to_hex(level, &bits) == 0 && !(bits & ~(l->w->legacy_bits | 1ull << 63)) ? 3 : -1;
	for (int i = l->w->first_level; i < 3; i++)
		if (str_is(level, l->w->levels[i]))
			return i;
	return -1;
}

static int try_cache(struct ldso *l, const char *name, int loader, bool nodeflib)
{
	if (!l->w->has_cache)
		return try_dirs(l, &l->w->conf, name, "ld_so_cache", loader);
	const struct cached *best = NULL;
	int best_rank = 4;
	size_t n = strlen(name);
	for (const struct cached *c = l->w->cache[hash_n(name, n) % BUCKETS]; c; c = c->next) {
		if (c->name.len != n || memcmp(c->name.ptr, name, n) != 0)
			continue;
		int rank = cache_rank(l, c->level);
		if (rank >= 0 && rank < best_rank) {
			best = c;
			best_rank = rank;
		}
	}
	const char *path = best ? str_dup(l->arena, best->path) : NULL;
	if (!path || (nodeflib && is_default(l, path)))
		return -ENOENT;
	return try_file(l, path, name, "ld_so_cache", loader);
}

/* RPATH of the wanting object, of its loader, ... and of the program. */
static int try_rpath(struct ldso *l, const char *name, int from)
{
	bool program = false;
	if (l->objects[from].elf.runpath)
		return -ENOENT;
	for (int i = from; i >= 0; i = l->objects[i].loader) {
		read_dirs(l, (size_t)i);
		int r = try_dirs(l, &l->more[i].rpath, name, "rpath", from);
		if (r != -ENOENT)
			return r;
		program |= i == 0;
	}
	if (program)
		return -ENOENT;
	read_dirs(l, 0);
	return try_dirs(l, &l->more[0].rpath, name, "rpath", from);
}

static int search_glibc(struct ldso *l, const char *name, int from)
{
	bool nodeflib = l->objects[from].elf.nodeflib;
	int r = try_rpath(l, name, from);
	if (r == -ENOENT)
		r = l->secure ? -ENOENT : try_dirs(l, &l->w->library_path, name, "ld_library_path", from);
	if (r == -ENOENT) {
		read_dirs(l, (size_t)from);
		r = try_dirs(l, &l->more[from].runpath, name, "runpath", from);
	}
	if (r == -ENOENT)
		r = try_cache(l, name, from, nodeflib);
	if (r == -ENOENT && !nodeflib)
		r = try_dirs(l, &l->w->defaults, name, "default", from);
	return r;
}

/* musl: LD_LIBRARY_PATH, then RPATH or RUNPATH (no difference) of the wanting object and all that led to it, then the system's path. */
static int search_musl(struct ldso *l, const char *name, int from)
{
	int r = l->secure ? -ENOENT : try_dirs(l, &l->w->library_path, name, "ld_library_path", from);
	for (int i = from; i >= 0 && r == -ENOENT; i = l->objects[i].loader) {
		read_dirs(l, (size_t)i);
		bool runpath = l->objects[i].elf.runpath != NULL;
		r = try_dirs(l, runpath ? &l->more[i].runpath : &l->more[i].rpath, name, runpath ? "runpath" : "rpath", from);
	}
	return r == -ENOENT ? try_dirs(l, &l->w->defaults, name, "default", from) : r;
}

/* Names that musl's loader answers itself. */
static bool is_musl_own(const char *name)
{
	static const char *const own[] = {"libc.", "libpthread.", "librt.", "libm.", "libdl.", "libutil.", "libxnet."};
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (str_starts(str_of(name), own[i]))
			return true;
	return false;
}

static int load(struct ldso *l, const char *name, int from, const char **ret_found_by)
{
	const char *origin = directory_of(l, l->objects[from].path);
	const char *wanted = expand(l, name, origin);
	size_t before = l->count;
	int r = l->w->musl && is_musl_own(wanted) ? 1 : collect_ldso_find(l, wanted);
	if (r < 0) {
		if (strchr(wanted, '/'))
			r = try_file(l,
				wanted[0] == '/' || !host_cwd(l->host) ? wanted
								       : arena_printf(l->arena, "%s/%s", host_cwd(l->host), wanted),
				wanted, "direct", from);
		else
			r = l->w->musl ? search_musl(l, wanted, from) : search_glibc(l, wanted, from);
	}
	*ret_found_by = r < 0 ? NULL : (size_t)r < before ? "loaded" : l->objects[r].found_by;
	return r;
}

static int want(struct ldso *l, const char *name, int from)
{
	const char *found_by;
	int to = load(l, name, from, &found_by);
	if (l->want_count < WANTS_MAX) {
		l->wants = arena_grow(l->arena, l->wants, l->want_count, &l->want_cap, sizeof *l->wants);
		l->wants[l->want_count++] = (struct ldso_want){from, name, to < 0 ? -1 : to, found_by};
	}
	return to;
}

#define BACKWARDS_MAX 256

static void close_backwards(struct ldso *l, size_t i, int depth)
{
	for (size_t n = l->objects[i].elf.needed_count; n-- > 0 && !l->objects[i].problem && !atomic_load(l->stop);) {
		size_t before = l->count;
		int to = want(l, l->objects[i].elf.needed[n], (int)i);
		if (to >= 0 && (size_t)to >= before && depth < BACKWARDS_MAX)
			close_backwards(l, (size_t)to, depth + 1);
	}
}

/* Breadth first: objects are appended, and each is visited once, in order. */
static void close_over(struct ldso *l, size_t first)
{
	if (l->stop && first < l->count)
		close_backwards(l, l->count - 1, 0);
	for (size_t i = first; i < l->count && !l->stop; i++) {
		if (l->objects[i].problem)
			continue;
		for (size_t n = 0; n < l->objects[i].elf.needed_count; n++)
			want(l, l->objects[i].elf.needed[n], (int)i);
	}
}

static void preload(struct ldso *l, const char *list, const char *separators)
{
	for (const char *p = list; *p;) {
		size_t n = strcspn(p, separators);
		if (n) {
			size_t before = l->count;
			int to = want(l, arena_strndup(l->arena, p, n), 0);
			l->wants[l->want_count - 1].from = -1;
			if (to >= 0 && (size_t)to >= before) {
				l->objects[to].found_by = "preload";
				l->wants[l->want_count - 1].found_by = "preload";
			}
		}
		p += n;
		p += strspn(p, separators);
	}
}

static void preload_file(struct ldso *l)
{
	struct str text, line;
	if (host_read(l->host, "/etc/ld.so.preload", 0, &text) < 0)
		return;
	while (str_next_line(&text, &line)) {
		line = str_slice(line, 0, str_find_char(line, '#', 0));
		preload(l, str_dup(l->arena, line), " \t:,");
	}
}

/* -- what the header promises ----------------------------------------------------------------------------------------------------- */

struct ldso *collect_ldso_new(struct arena *a, struct host *h)
{
	struct ldso *l = arena_alloc(a, sizeof *l);
	*l = (struct ldso){.arena = a, .host = h, .w = arena_alloc(a, sizeof *l->w)};
	return l;
}

struct ldso *collect_ldso_next(const struct ldso *before)
{
	struct ldso *l = collect_ldso_new(before->arena, before->host);
	l->w = before->w;
	return l;
}

/* The loader itself is there before everything else, then what is preloaded. */
static void begin(struct ldso *l, const char *loader)
{
	struct elf_digest own;
	struct host_stat st = {0};
	host_stat(l->host, loader, &st);
	bool known = digest_of(l, loader, &own) == 0;
	int index = add_object(l, loader, loader, "loaded", 0, known ? &own : NULL, &st);
	const char *base = strrchr(loader, '/');
	if (index >= 0 && base)
		add_name(l, (size_t)index, base + 1);
	const char *list = l->secure ? NULL : host_env(l->host, "LD_PRELOAD");
	if (list)
		preload(l, list, " :");
	if (!l->w->musl)
		preload_file(l);
}

/* The world suits a machine and a loader; another one needs its own. */
static void settle(struct ldso *l, const char *machine, const char *loader)
{
	if (l->w->prepared && (strcmp(l->w->machine, machine) != 0 || strcmp(l->w->loader, loader) != 0))
		l->w = arena_alloc(l->arena, sizeof *l->w);
	l->w->machine = machine;
	if (!l->w->prepared)
		prepare(l, loader);
}

int collect_ldso_program(struct ldso *l, const char *path)
{
	struct elf_digest d;
	struct host_stat st = {0};
	if (l->count)
		return -EBUSY;
	int r = digest_of(l, path, &d);
	if (r < 0)
		return r;
	host_stat(l->host, path, &st);
	l->secure = (st.mode & 06000) != 0;
	add_object(l, path, path, "program", -1, &d, &st);
	if (d.problem && strcmp(d.problem, "truncated") != 0)
		return 0;
	const char *machine = d.machine ? d.machine : "x86_64", *loader = loader_path(l, machine, &d);
	settle(l, machine, loader);
	begin(l, loader);
	l->objects[0].problem = NULL; /* a program that is cut short still has its list of libraries */
	close_over(l, 0);
	l->objects[0].problem = d.problem;
	return 0;
}

void collect_ldso_bare(struct ldso *l, const char *machine)
{
	struct elf_digest none = ELF_DIGEST_NONE;
	struct host_stat st = {0};
	none.machine = machine;
	if (l->count)
		return;
	const char *loader = loader_path(l, machine, &none);
	settle(l, machine, loader);
	add_object(l, "program", "/", "program", -1, &none, &st);
	begin(l, loader);
	close_over(l, 0);
}

int collect_ldso_open(struct ldso *l, const char *name, int loader)
{
	if (!l->w->prepared || loader < 0 || (size_t)loader >= l->count)
		return -EINVAL;
	size_t before = l->count;
	int to = want(l, name, loader);
	if (to < 0)
		return to;
	if (l->objects[to].problem)
		return -ENOEXEC;
	close_over(l, before);
	return to;
}

/* -- what would be missing --------------------------------------------------------------------------------------------------------- */

static void add_unmet(struct ldso *l, const char *symbol, bool is_version, int library, int provider)
{
	if (l->unmet_count == UNMET_MAX)
		return;
	l->unmet = arena_grow(l->arena, l->unmet, l->unmet_count, &l->unmet_cap, sizeof *l->unmet);
	l->unmet[l->unmet_count++] = (struct ldso_unmet){symbol, is_version, library, provider};
}

static void check_versions(struct ldso *l, size_t index)
{
	const struct elf_digest *d = &l->objects[index].elf;
	for (size_t i = 0; i < d->need_count; i++) {
		int provider = collect_ldso_find(l, d->needs[i].library);
		if (provider < 0 || d->needs[i].weak || !l->objects[provider].known)
			continue;
		const struct elf_digest *p = &l->objects[provider].elf;
		if (p->verdef_count && !parse_elf_digest_has_verdef(p, d->needs[i].version))
			add_unmet(l, d->needs[i].version, true, (int)index, provider);
	}
}

/* The library that should have a symbol of interest. */
static int provider_of(const struct ldso *l, const char *symbol)
{
	static const struct {
		const char *prefix, *soname;
	} known[] = {
		{"nccl", "libnccl.so"},
		{"nccl", "librccl.so"},
		{"__nvJitLink", "libnvJitLink.so"},
		{"nvJitLink", "libnvJitLink.so"},
		{"cuTensorMap", "libcuda.so"},
		{"cublasLt", "libcublasLt.so"},
	};
	for (size_t k = 0; k < sizeof known / sizeof *known; k++)
		for (size_t i = 0; i < l->count && str_starts(str_of(symbol), known[k].prefix); i++)
			if (l->objects[i].elf.soname && str_starts(str_of(l->objects[i].elf.soname), known[k].soname))
				return (int)i;
	return -1;
}

static bool is_defined(const struct ldso *l, const char *symbol)
{
	for (size_t i = 0; i < l->count; i++)
		if (parse_elf_digest_defines(&l->objects[i].elf, symbol))
			return true;
	return false;
}

static void check_symbols(struct ldso *l, size_t index)
{
	const struct elf_digest *d = &l->objects[index].elf;
	for (size_t i = 0; i < d->symbol_count; i++) {
		const char *symbol = d->symbols[i].name;
		if (d->symbols[i].defined || strchr(symbol, ':') || is_defined(l, symbol))
			continue;
		/* Nobody to ask: the library itself is missing, which says more. iJIT_ is different: whoever had it before (MKL) is loaded
		 * still. */
		int provider = provider_of(l, symbol);
		if (provider < 0 ? str_starts(str_of(symbol), "iJIT_") : l->objects[provider].known && !l->objects[provider].problem)
			add_unmet(l, symbol, false, (int)index, provider);
	}
}

void collect_ldso_check(struct ldso *l)
{
	l->unmet_count = 0;
	for (size_t i = 0; i < l->count; i++) {
		if (!l->objects[i].known || l->objects[i].problem)
			continue;
		check_versions(l, i);
		check_symbols(l, i);
	}
}

struct ldso_result collect_ldso_result(const struct ldso *l)
{
	return (struct ldso_result){l->objects, l->count, l->wants, l->want_count, l->unmet, l->unmet_count, l->w->uncertain, l->w->musl};
}

/* -- reading ahead ------------------------------------------------------------------------------------------------------------------ */

struct ldso_ahead {
	struct arena *arena;
	struct host *host;
	const char *library;
	pthread_t thread;
	atomic_bool stop;
};

static void *read_ahead(void *arg)
{
	struct ldso_ahead *a = arg;
	struct host_uname u;
	struct ldso *l = collect_ldso_new(a->arena, a->host);
	l->stop = &a->stop;
	if (host_uname(a->host, &u) == 0) {
		collect_ldso_bare(l, u.machine);
		collect_ldso_open(l, a->library, 0);
	}
	return NULL;
}

struct ldso_ahead *collect_ldso_ahead(struct host *h, const char *library)
{
	int64_t processors = 0;
	if (!host_is_this_machine(h) || host_cpus_allowed(h, &processors) < 0 || processors < 2)
		return NULL;
	struct arena *arena = arena_new(0);
	struct ldso_ahead *a = arena_alloc(arena, sizeof *a);
	*a = (struct ldso_ahead){.arena = arena, .host = host_twin(h, arena), .library = arena_strdup(arena, library)};
	if (a->host && pthread_create(&a->thread, NULL, read_ahead, a) == 0)
		return a;
	if (a->host)
		host_close(a->host);
	arena_free(arena);
	return NULL;
}

void collect_ldso_ahead_end(struct ldso_ahead *a)
{
	if (!a)
		return;
	atomic_store(&a->stop, true);
	pthread_join(a->thread, NULL);
	host_close(a->host);
	arena_free(a->arena);
}
