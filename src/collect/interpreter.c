/* The algorithm is CPython's (Modules/getpath, Lib/site.py) and pyenv's (pyenv-which, pyenv-version-file), told by files alone. */
#include "collect/interpreter.h"

#include <errno.h>

#include "parse/dist_info.h"

#define SHIM_HEAD 512

/* -- paths -------------------------------------------------------------------------------------------------------------- */

const char *collect_path_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

const char *collect_path_parent(struct arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash || slash == path)
		return "/";
	return arena_strndup(a, path, (size_t)(slash - path));
}

const char *collect_path_clean(struct arena *a, const char *path)
{
	size_t n = strlen(path), at = 0;
	char *out = arena_alloc(a, n + 2);
	while (*path) {
		size_t len = strcspn(path, "/");
		if (len == 2 && path[0] == '.' && path[1] == '.') {
			while (at > 0 && out[--at] != '/')
				;
		} else if (len && !(len == 1 && path[0] == '.')) {
			out[at++] = '/';
			memcpy(out + at, path, len);
			at += len;
		}
		path += len;
		path += *path == '/';
	}
	if (!at)
		out[at++] = '/';
	out[at] = '\0';
	return out;
}

static const char *join(struct collect *c, const char *dir, const char *name)
{
	return arena_printf(c->arena, "%s%s%s", strcmp(dir, "/") == 0 ? "" : dir, name[0] == '/' ? "" : "/", name);
}

static const char *absolute(struct collect *c, const char *path)
{
	if (path[0] == '~' && (path[1] == '/' || !path[1])) {
		const char *home = host_env(c->host, "HOME");
		if (home)
			path = arena_printf(c->arena, "%s%s", home, path + 1);
	}
	if (path[0] == '/')
		return collect_path_clean(c->arena, path);
	const char *cwd = host_cwd(c->host);
	return cwd ? collect_path_clean(c->arena, arena_printf(c->arena, "%s/%s", cwd, path)) : NULL;
}

static bool is_program(struct collect *c, const char *path)
{
	struct host_stat st;
	return host_stat(c->host, path, &st) == 0 && st.kind == HOST_FILE && (st.mode & 0111);
}

/* A root without an environment has the PATH that a login would give it. */
static struct str search_dirs(struct collect *c)
{
	const char *path = host_env(c->host, "PATH");
	return str_of(path                      ? path
			: host_has_env(c->host) ? "/bin:/usr/bin"
						: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
}

#define LONG_PATH_BYTES 4096

const char *collect_which(struct collect *c, const char *name, const char *skip)
{
	struct str rest = search_dirs(c), dir;
	/* A PATH of thousands of folders, most of which are not there: each is asked for once, not once for each program. */
	bool is_long = rest.len > LONG_PATH_BYTES;
	while (str_next_field(&rest, ':', &dir)) {
		if (dir.len && dir.ptr[0] != '/' && !host_cwd(c->host))
			continue;
		if (skip && str_has(dir, skip))
			continue;
		const char *base = absolute(c, dir.len ? str_dup(c->arena, dir) : ".");
		if (base && is_long && !host_is_dir(c->host, base))
			continue;
		const char *path = base ? join(c, base, name) : NULL;
		if (path && is_program(c, path))
			return path;
	}
	return NULL;
}

/* -- shims -------------------------------------------------------------------------------------------------------------- */

/* "3.11.7" belongs to "3.11". */
static bool is_patch_of(const char *name, struct str minor)
{
	return strlen(name) > minor.len && memcmp(name, minor.ptr, minor.len) == 0 && name[minor.len] == '.';
}

/* versions/V, or the newest versions/V.* when V is only "3.11". */
static const char *installed_version(struct collect *c, const char *versions, struct str v)
{
	const char *dir = join(c, versions, str_dup(c->arena, v));
	if (host_is_dir(c->host, dir))
		return dir;
	struct host_list list;
	if (host_list(c->host, versions, &list) < 0)
		return NULL;
	const char *best = NULL;
	int64_t best_patch = -1, patch;
	for (size_t i = 0; i < list.count; i++)
		if (is_patch_of(list.names[i], v) && str_to_int(str_of(list.names[i] + v.len + 1), &patch) == 0 && patch > best_patch) {
			best_patch = patch;
			best = list.names[i];
		}
	return best ? join(c, versions, best) : NULL;
}

/* The nearest file of that name, from the working directory upward. */
static int read_upward(struct collect *c, const char *name, struct str *ret)
{
	const char *dir = host_env(c->host, "PYENV_DIR");
	if (!dir)
		dir = host_cwd(c->host);
	while (dir && dir[0] == '/') {
		if (host_readf(c->host, ret, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name) == 0)
			return 0;
		if (strcmp(dir, "/") == 0)
			break;
		dir = collect_path_parent(c->arena, dir);
	}
	return -ENOENT;
}

static const char *pyenv_program(struct collect *c, const char *root, const char *name)
{
	const char *env = host_env(c->host, "PYENV_VERSION");
	struct str text = str_of(env && *env ? env : ""), word;
	if (!text.len && read_upward(c, ".python-version", &text) < 0 && host_readf(c->host, &text, "%s/version", root) < 0)
		text = STR("system");
	const char *versions = join(c, root, "versions");
	char *words = str_dup(c->arena, text);
	for (char *p = words; *p; p++)
		if (*p == ':')
			*p = ' ';
	struct str rest = str_of(words);
	while (str_next_word(&rest, &word)) {
		if (word.ptr[0] == '#') {
			struct str line;
			str_next_line(&rest, &line);
			continue;
		}
		if (str_starts(word, "python-"))
			word = str_skip(word, strlen("python-"));
		const char *dir = str_is(word, "system") ? NULL : installed_version(c, versions, word);
		const char *program = str_is(word, "system") ? collect_which(c, name, "/shims")
			: dir                                ? arena_printf(c->arena, "%s/bin/%s", dir, name)
							     : NULL;
		if (program && is_program(c, program))
			return program;
	}
	return NULL;
}

static const char *asdf_program(struct collect *c, const char *root, const char *name)
{
	struct str text, line, word, version;
	if (read_upward(c, ".tool-versions", &text) < 0) {
		const char *home = host_env(c->host, "HOME");
		if (!home || host_readf(c->host, &text, "%s/.tool-versions", home) < 0)
			return NULL;
	}
	while (str_next_line(&text, &line)) {
		if (!str_next_word(&line, &word) || !str_is(word, "python"))
			continue;
		while (str_next_word(&line, &version)) {
			const char *program = str_is(version, "system")
				? collect_which(c, name, "/shims")
				: arena_printf(c->arena, "%s/installs/python/%.*s/bin/%s", root, (int)version.len, version.ptr, name);
			if (program && is_program(c, program))
				return program;
		}
	}
	return NULL;
}

const char *collect_unshim(struct collect *c, const char *path)
{
	struct str head;
	if (!strstr(path, "/shims/") || host_read_head(c->host, path, SHIM_HEAD, &head) < 0 || !str_starts(head, "#!"))
		return path;
	const char *root = collect_path_parent(c->arena, collect_path_parent(c->arena, path));
	const char *name = collect_path_name(path);
	if (str_has(head, "pyenv"))
		return pyenv_program(c, root, name);
	if (str_has(head, "asdf"))
		return asdf_program(c, root, name);
	return path;
}

/* -- prefixes and version ----------------------------------------------------------------------------------------------- */

/* "python3.11" → "3.11". */
static const char *minor_of_name(struct collect *c, const char *name)
{
	struct str s = str_of(name);
	if (!str_starts(s, "python"))
		return NULL;
	s = str_skip(s, strlen("python"));
	size_t dots = 0, n = 0;
	while (n < s.len && ((s.ptr[n] >= '0' && s.ptr[n] <= '9') || (s.ptr[n] == '.' && n && !dots))) {
		dots += s.ptr[n] == '.';
		n++;
	}
	if (dots != 1 || n < 3 || s.ptr[n - 1] == '.' || n != s.len)
		return NULL;
	return str_dup(c->arena, s);
}

static const char *const lib_names[] = {"lib", "lib64"};

/* Finds prefix/lib/pythonX.Y/os.py; *minor is filled when it is NULL. */
static const char *stdlib_below(struct collect *c, const char *prefix, const char **minor)
{
	for (size_t i = 0; i < 2; i++) {
		const char *lib = join(c, prefix, lib_names[i]);
		if (*minor) {
			const char *dir = arena_printf(c->arena, "%s/python%s", lib, *minor);
			if (host_exists(c->host, join(c, dir, "os.py")))
				return dir;
			continue;
		}
		struct host_list list;
		if (host_list(c->host, lib, &list) < 0)
			continue;
		for (size_t k = list.count; k-- > 0;) {
			const char *dir = join(c, lib, list.names[k]), *found = minor_of_name(c, list.names[k]);
			if (found && host_exists(c->host, join(c, dir, "os.py"))) {
				*minor = found;
				return dir;
			}
		}
	}
	return NULL;
}

/* The nearest directory above the executable that holds a standard library. */
static void find_base(struct collect *c, struct interpreter *py, const char *executable)
{
	const char *dir = collect_path_parent(c->arena, executable);
	for (int i = 0; i < 4 && strcmp(dir, "/") != 0; i++) {
		dir = collect_path_parent(c->arena, dir);
		if (i && strcmp(dir, "/") == 0) /* that is the system's library, of /bin/python3 alone */
			break;
		const char *stdlib = stdlib_below(c, dir, &py->minor);
		if (stdlib) {
			py->stdlib = stdlib;
			py->base_prefix = dir;
			return;
		}
	}
	py->base_prefix = collect_path_parent(c->arena, collect_path_parent(c->arena, executable));
}

/* "3.11.7" at the start of the text when it is a release of this minor version; NULL otherwise. */
static const char *full_version(struct collect *c, struct str s, const char *minor)
{
	size_t n = strlen(minor), digits = 0;
	if (!str_starts(s, minor) || s.len < n + 2 || s.ptr[n] != '.')
		return NULL;
	while (n + 1 + digits < s.len && s.ptr[n + 1 + digits] >= '0' && s.ptr[n + 1 + digits] <= '9')
		digits++;
	if (!digits)
		return NULL;
	/* "3.13.0rc2": the suffix belongs to the version. */
	size_t end = n + 1 + digits;
	while (end < s.len && ((s.ptr[end] >= '0' && s.ptr[end] <= '9') || (s.ptr[end] >= 'a' && s.ptr[end] <= 'z') || s.ptr[end] == '+'))
		end++;
	return str_dup(c->arena, str_slice(s, 0, end));
}

static const char *version_of_conda(struct collect *c, const struct interpreter *py, const char **ret_origin)
{
	struct host_list list;
	const char *dir = join(c, py->base_prefix, "conda-meta");
	if (host_list(c->host, dir, &list) < 0)
		return NULL;
	for (size_t i = 0; i < list.count; i++) {
		struct str name = str_of(list.names[i]);
		const char *v = str_starts(name, "python-") ? full_version(c, str_skip(name, strlen("python-")), py->minor) : NULL;
		if (v) {
			*ret_origin = join(c, dir, list.names[i]);
			return v;
		}
	}
	return NULL;
}

static const char *version_of_header(struct collect *c, const struct interpreter *py, const char **ret_origin)
{
	struct str text, line;
	const char *path = arena_printf(c->arena, "%s/include/python%s/patchlevel.h", py->base_prefix, py->minor);
	if (host_read(c->host, path, 0, &text) < 0)
		return NULL;
	while (str_next_line(&text, &line)) {
		size_t quote = str_find_char(line, '"', 0);
		if (!str_starts(line, "#define PY_VERSION ") && !str_starts(line, "#define PY_VERSION\t"))
			continue;
		*ret_origin = path;
		return quote == SIZE_MAX ? NULL : full_version(c, str_skip(line, quote + 1), py->minor);
	}
	return NULL;
}

/* ~/.pyenv/versions/3.11.7, .../uv/python/cpython-3.12.5-linux-x86_64-gnu, ~/.asdf/installs/python/3.11.7 */
static const char *version_of_path(struct collect *c, const struct interpreter *py, const char **ret_origin)
{
	const char *name = collect_path_name(py->base_prefix);
	if (strncmp(name, "cpython-", 8) == 0)
		name += 8;
	*ret_origin = py->base_prefix;
	return full_version(c, str_of(name), py->minor);
}

/* Debian's own build leaves the name of its source directory in sysconfig's data. */
static const char *version_of_sysconfig(struct collect *c, const struct interpreter *py, const char **ret_origin)
{
	struct host_uname u;
	struct str text;
	if (!py->stdlib || !py->debian)
		return NULL;
	const char *machine = host_uname(c->host, &u) == 0 ? u.machine : "x86_64";
	const char *path = arena_printf(c->arena, "%s/_sysconfigdata__%s-linux-gnu.py", py->stdlib, machine);
	if (host_read(c->host, path, 0, &text) < 0)
		return NULL;
	const char *mark = arena_printf(c->arena, "/python%s-", py->minor);
	size_t at = str_find(text, mark, 0);
	*ret_origin = path;
	return at == SIZE_MAX ? NULL : full_version(c, str_skip(text, at + strlen(mark)), py->minor);
}

static void find_version(struct collect *c, struct interpreter *py, struct str of_venv, const char *venv_file)
{
	py->version_origin = py->real ? py->real : py->path;
	py->version = py->minor;
	if (!py->minor)
		return;
	static const char *(*const ways[])(struct collect *, const struct interpreter *, const char **) = {
		version_of_conda,
		version_of_header,
		version_of_path,
		version_of_sysconfig,
	};
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		const char *origin = NULL, *v = ways[i](c, py, &origin);
		if (v) {
			py->version = v;
			py->version_origin = origin;
			return;
		}
	}
	const char *v = of_venv.len ? full_version(c, of_venv, py->minor) : NULL;
	if (v) {
		py->version = v;
		py->version_origin = venv_file;
	}
}

static bool has(const char *text, const char *part)
{
	return text && strstr(text, part) != NULL;
}

static const char *kind_of(const struct interpreter *py)
{
	if (py->venv)
		return "venv";
	if (py->conda)
		return "conda";
	if (has(py->base_prefix, "/.pyenv/versions/") || has(py->base_prefix, "/pyenv/versions/"))
		return "pyenv";
	if (has(py->base_prefix, "/uv/python/") || has(py->base_prefix, "/cpython-3."))
		return "uv";
	return "system";
}

/* pyvenv.cfg beside the executable or one directory up, on the path as it was given. */
static const char *find_venv(struct collect *c, const char *path, struct dist_venv *ret)
{
	struct str text;
	const char *dir = collect_path_parent(c->arena, path);
	for (int i = 0; i < 2; i++) {
		const char *file = join(c, dir, "pyvenv.cfg");
		if (host_read(c->host, file, 0, &text) == 0) {
			parse_dist_pyvenv(text, ret);
			return file;
		}
		dir = collect_path_parent(c->arena, dir);
	}
	return NULL;
}

int collect_interpreter(struct collect *c, const char *path, struct interpreter *ret)
{
	struct interpreter py = {.path = path};
	struct dist_venv venv = {0};
	struct host_stat st;
	int rc = host_lstat(c->host, path, &st);
	if (rc < 0)
		return rc;
	if (host_realpath(c->host, path, &py.real) < 0)
		py.real = NULL;
	const char *file = find_venv(c, path, &venv), *executable = py.real ? py.real : path;
	if (file) {
		py.venv = true;
		py.system_site = venv.system_site;
		py.creator = venv.creator.len ? str_dup(c->arena, venv.creator) : "venv";
		py.prefix = collect_path_parent(c->arena, file);
		/* A venv of copies, or one whose base is gone: pyvenv.cfg tells where the base was. */
		if (venv.home.len && (!py.real || str_starts(str_of(py.real), arena_printf(c->arena, "%s/", py.prefix)))) {
			executable = join(c, str_dup(c->arena, venv.home), collect_path_name(executable));
			host_realpath(c->host, executable, &executable);
		}
	}
	py.minor = minor_of_name(c, collect_path_name(executable));
	find_base(c, &py, executable);
	if (!py.minor && py.venv && venv.version.len) {
		struct str v = venv.version;
		size_t dot = str_find_char(v, '.', 0), second = dot == SIZE_MAX ? SIZE_MAX : str_find_char(v, '.', dot + 1);
		py.minor = str_dup(c->arena, str_slice(v, 0, second));
	}
	if (!py.venv)
		py.prefix = py.base_prefix;
	py.conda = host_is_dir(c->host, join(c, py.base_prefix, "conda-meta"));
	py.debian = strcmp(py.base_prefix, "/usr") == 0 && host_is_dir(c->host, "/usr/lib/python3/dist-packages");
	find_version(c, &py, venv.version, file);
	py.kind = kind_of(&py);
	*ret = py;
	return 0;
}

/* -- the module search path --------------------------------------------------------------------------------------------- */

const char *collect_path_kind_name(enum path_kind kind)
{
	static const char *const names[] = {"pythonpath", "stdlib", "site", "user", "dist", "pth", "conda"};
	return names[kind];
}

/* NULL when it stands there already: Python keeps the first. */
static struct search_path *add_path(struct collect *c, struct interpreter *py, const char *path, enum path_kind kind)
{
	const char *clean = absolute(c, path);
	if (!clean)
		return NULL;
	for (size_t i = 0; i < py->path_count; i++)
		if (strcmp(py->paths[i].path, clean) == 0)
			return NULL;
	py->paths = arena_grow(c->arena, py->paths, py->path_count, &py->path_cap, sizeof *py->paths);
	py->paths[py->path_count] = (struct search_path){.path = clean, .kind = kind};
	return &py->paths[py->path_count++];
}

static void list_path(struct collect *c, struct search_path *p)
{
	p->error = host_list(c->host, p->path, &p->list);
	p->listed = p->error == 0;
	/* A file may stand on the path too: a zip archive. */
	if (p->error == -ENOTDIR && host_exists(c->host, p->path))
		p->error = 0;
}

static void add_pth_line(struct collect *c, struct interpreter *py, const char *dir, struct str line, bool base)
{
	const char *text = str_dup(c->arena, line);
	struct search_path *p = add_path(c, py, text[0] == '/' ? text : join(c, dir, text), PATH_PTH);
	if (!p)
		return;
	p->base = base;
	list_path(c, p);
	if (p->error < 0)
		py->path_count--; /* site.py adds only what exists */
}

#define PTH_LINES_MAX 1000

/* The .pth files of a site directory, in the order of their names. */
static void read_pth_files(struct collect *c, struct interpreter *py, struct search_path site)
{
	for (size_t i = 0; i < site.list.count; i++) {
		struct str name = str_of(site.list.names[i]), text, line;
		if (!str_ends(name, ".pth") || name.ptr[0] == '.')
			continue;
		if (host_readf(c->host, &text, "%s/%s", site.path, site.list.names[i]) < 0)
			continue;
		enum dist_pth kind;
		for (int n = 0; n < PTH_LINES_MAX && (kind = parse_dist_pth(&text, &line)) != DIST_PTH_END; n++)
			if (kind == DIST_PTH_PATH)
				add_pth_line(c, py, site.path, line, site.base);
			else if (kind == DIST_PTH_CODE && py->code_count < PTH_LINES_MAX) {
				py->code = arena_grow(c->arena, py->code, py->code_count, &py->code_cap, sizeof *py->code);
				py->code[py->code_count++] = (struct startup_code){
					join(c, site.path, site.list.names[i]), "pth", str_dup(c->arena, str_cut(line, 500))};
			}
	}
}

/* Site directories count only when they exist; then their .pth files do too. */
static bool add_site(struct collect *c, struct interpreter *py, const char *path, enum path_kind kind, bool base)
{
	struct search_path *p = add_path(c, py, path, kind);
	if (!p)
		return false;
	p->base = base;
	list_path(c, p);
	if (!p->listed) {
		/* What is there and cannot be listed stays, as a gap: Python may still import from it. Another user's home is none of
		 * sys.path. */
		bool refused = p->error != 0 && p->error != -ENOENT && p->error != -ENOTDIR && p->error != -ENODATA;
		if (!refused || (kind == PATH_USER && !host_is_dir(c->host, p->path)))
			py->path_count--;
		return false;
	}
	read_pth_files(c, py, *p);
	return true;
}

static void add_prefix(struct collect *c, struct interpreter *py, const char *prefix, bool base)
{
	const char *m = py->minor;
	/* Fedora and its kin have two directories; elsewhere lib64 is a link to lib or not there. */
	if (has(py->stdlib, "/lib64/"))
		add_site(c, py, arena_printf(c->arena, "%s/lib64/python%s/site-packages", prefix, m), PATH_SITE, base);
	add_site(c, py, arena_printf(c->arena, "%s/lib/python%s/site-packages", prefix, m), py->conda && !py->venv ? PATH_CONDA : PATH_SITE,
		base);
	if (!py->debian || strcmp(prefix, "/usr") != 0)
		return;
	add_site(c, py, arena_printf(c->arena, "/usr/local/lib/python%s/dist-packages", m), PATH_DIST, base);
	add_site(c, py, "/usr/lib/python3/dist-packages", PATH_DIST, base);
	add_site(c, py, arena_printf(c->arena, "/usr/lib/python%s/dist-packages", m), PATH_DIST, base);
}

static void add_pythonpath(struct collect *c, struct interpreter *py)
{
	const char *text = host_env(c->host, "PYTHONPATH");
	struct str rest = str_of(text && *text ? text : NULL), dir;
	while (str_next_field(&rest, ':', &dir)) {
		struct search_path *p = add_path(c, py, dir.len ? str_dup(c->arena, dir) : ".", PATH_PYTHONPATH);
		if (p)
			list_path(c, p);
	}
}

static void add_user_site(struct collect *c, struct interpreter *py)
{
	const char *off = host_env(c->host, "PYTHONNOUSERSITE"), *base = host_env(c->host, "PYTHONUSERBASE"),
		   *home = host_env(c->host, "HOME");
	if ((off && *off) || (py->venv && !py->system_site))
		return;
	if (!base || !*base)
		base = home ? arena_printf(c->arena, "%s/.local", home) : host_has_env(c->host) ? NULL : "/root/.local";
	const char *dir = base ? absolute(c, arena_printf(c->arena, "%s/lib/python%s/site-packages", base, py->minor)) : NULL;
	if (dir && add_site(c, py, dir, PATH_USER, false))
		py->user_site = dir;
}

void collect_interpreter_paths(struct collect *c, struct interpreter *py)
{
	add_pythonpath(c, py);
	if (!py->minor)
		return;
	if (py->stdlib) {
		struct search_path *p;
		const char *dot = strchr(py->minor, '.');
		int major = (int)(dot - py->minor);
		const char *parts[] = {
			arena_printf(c->arena, "%s/lib/python%.*s%s.zip", py->base_prefix, major, py->minor, dot + 1),
			py->stdlib,
			arena_printf(c->arena, "%s/lib-dynload", py->stdlib),
		};
		for (size_t i = 0; i < 3; i++)
			if ((p = add_path(c, py, parts[i], PATH_STDLIB)))
				p->error = i == 1 || host_exists(c->host, p->path) ? 0 : -ENOENT;
	}
	py->site_packages = arena_printf(c->arena, "%s/lib/python%s/site-packages", py->prefix, py->minor);
	if (py->debian && !py->venv)
		py->site_packages = arena_printf(c->arena, "/usr/local/lib/python%s/dist-packages", py->minor);
	if (py->venv)
		add_prefix(c, py, py->prefix, false);
	add_user_site(c, py);
	if (!py->venv || py->system_site)
		add_prefix(c, py, py->base_prefix, py->venv);
}

/* -- which one ---------------------------------------------------------------------------------------------------------- */

static const char *const python_names[] = {"python3", "python"};

static const char *python_below(struct collect *c, const char *prefix)
{
	for (size_t i = 0; i < 2; i++) {
		const char *path = arena_printf(c->arena, "%s/bin/%s", prefix, python_names[i]);
		struct host_stat st;
		if (host_lstat(c->host, path, &st) == 0)
			return path;
	}
	return NULL;
}

/* An option names an interpreter, the directory of a venv or of a conda prefix, or a program on PATH. A directory goes before a program:
 * "env". */
static const char *by_option(struct collect *c)
{
	const char *path = absolute(c, c->python);
	if (path && host_is_dir(c->host, path))
		return python_below(c, path);
	const char *found = strchr(c->python, '/') ? path : collect_which(c, c->python, NULL);
	return found ? collect_unshim(c, found) : NULL;
}

static const char *by_path(struct collect *c)
{
	for (size_t i = 0; i < 2; i++) {
		const char *found = collect_which(c, python_names[i], NULL);
		const char *program = found ? collect_unshim(c, found) : NULL;
		if (program)
			return program;
	}
	return NULL;
}

/* An image's file system has no environment: the usual places, the one with a PyTorch first. */
static const char *by_place(struct collect *c)
{
	static const char *const places[] = {
		"/opt/venv",
		"/venv",
		"/app/.venv",
		"/workspace/.venv",
		"/opt/conda",
		"/opt/miniconda3",
		"/opt/miniforge3",
		"/root/miniconda3",
		"/root/anaconda3",
		"/opt/python",
		"/usr/local",
		"/usr",
	};
	const char *first = NULL;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		const char *path = python_below(c, places[i]);
		struct interpreter py;
		if (!path || collect_interpreter(c, path, &py) < 0 || !py.minor)
			continue;
		first = first ? first : path;
		collect_interpreter_paths(c, &py);
		for (size_t k = 0; k < py.path_count; k++)
			if (py.paths[k].listed && host_exists(c->host, join(c, py.paths[k].path, "torch/version.py")))
				return path;
	}
	return first;
}

/* An environment that is activated but not on PATH, as under sudo. */
static const char *by_variable(struct collect *c)
{
	static const char *const names[] = {"VIRTUAL_ENV", "CONDA_PREFIX", "UV_PROJECT_ENVIRONMENT"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *prefix = host_env(c->host, names[i]);
		const char *path = prefix && prefix[0] == '/' ? python_below(c, prefix) : NULL;
		if (path)
			return path;
	}
	return NULL;
}

int collect_interpreter_find(struct collect *c, struct interpreter *ret, const char **ret_asked)
{
	*ret_asked = c->python ? c->python : "python3";
	const char *path;
	if (c->python)
		path = by_option(c);
	else if (!host_has_env(c->host))
		path = by_place(c);
	else if (!(path = by_path(c)))
		path = by_variable(c);
	if (!path)
		return -ENOENT;
	if (!c->python)
		*ret_asked = path;
	return collect_interpreter(c, path, ret);
}
