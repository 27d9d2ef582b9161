/* CUDA toolkits and host compilers, by their files: nothing is run. */
#include <errno.h>

#include "collect/binary.h"
#include "collect/interpreter.h"
#include "parse/json.h"

#define TOOLKITS_MAX 32

struct toolkits {
	struct collect *c;
	const char *path[TOOLKITS_MAX], *real[TOOLKITS_MAX], *selected_by[TOOLKITS_MAX];
	size_t count;
};

/* -- finding them ------------------------------------------------------------------------------------------------------- */

/* A toolkit has nvcc, or the headers, or says that it is one. */
static bool is_toolkit(struct collect *c, const char *path)
{
	static const char *const marks[] = {"bin/nvcc", "version.json", "version.txt", "include/cuda.h"};
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (host_exists(c->host, arena_printf(c->arena, "%s/%s", path, marks[i])))
			return true;
	return false;
}

static void add(struct toolkits *t, const char *path, const char *selected_by)
{
	const char *real;
	if (t->count == TOOLKITS_MAX || !path || path[0] != '/' || host_realpath(t->c->host, path, &real) < 0 || strcmp(real, "/usr") == 0)
		return;
	for (size_t i = 0; i < t->count; i++)
		if (strcmp(t->real[i], real) == 0)
			return;
	if (!is_toolkit(t->c, real))
		return;
	t->path[t->count] = real;
	t->real[t->count] = real;
	t->selected_by[t->count++] = selected_by;
}

/* torch's own order: CUDA_HOME or CUDA_PATH, nvcc on PATH, /usr/local/cuda. */
static void find_toolkits(struct toolkits *t)
{
	struct collect *c = t->c;
	struct host_list list;
	const char *nvcc = collect_which(c, "nvcc", NULL), *real;
	const char *home = host_env(c->host, "CUDA_HOME"), *cuda_path = host_env(c->host, "CUDA_PATH");
	add(t, home && *home ? home : cuda_path, "cuda_home");
	if (nvcc && host_realpath(c->host, nvcc, &real) == 0)
		add(t, collect_path_parent(c->arena, collect_path_parent(c->arena, real)), "path");
	add(t, "/usr/local/cuda", "default");
	if (host_list(c->host, "/usr/local", &list) == 0)
		for (size_t i = list.count; i-- > 0;)
			if (strncmp(list.names[i], "cuda-", 5) == 0)
				add(t, arena_printf(c->arena, "/usr/local/%s", list.names[i]), "other");
	add(t, "/opt/cuda", "other");
	/* A conda prefix with its own nvcc. */
	const struct facts_row *python = c->facts->first[TABLE_python];
	const char *prefix = python ? facts_get_text(python, python__prefix) : NULL;
	if (prefix && host_exists(c->host, arena_printf(c->arena, "%s/bin/nvcc", prefix)))
		add(t, prefix, "other");
}

/* -- versions ----------------------------------------------------------------------------------------------------------- */

static const char *first_two(struct collect *c, struct str version)
{
	size_t dot = str_find_char(version, '.', 0), end = dot == SIZE_MAX ? SIZE_MAX : str_find_char(version, '.', dot + 1);
	return str_dup(c->arena, str_slice(version, 0, end));
}

static bool version_of_json(struct collect *c, const char *path, struct facts_row *row)
{
	struct str text, version;
	const struct json *root;
	const char *origin = arena_printf(c->arena, "%s/version.json", path);
	if (host_read(c->host, origin, 0, &text) < 0 || parse_json(c->arena, text, &root, NULL) < 0)
		return false;
	if (!parse_json_text(parse_json_path(root, "cuda_nvcc.version"), &version) &&
		!parse_json_text(parse_json_path(root, "cuda.version"), &version))
		return false;
	facts_text(row, toolkit__version, first_two(c, version), origin);
	return true;
}

/* "CUDA Version 10.2.89" */
static bool version_of_text(struct collect *c, const char *path, struct facts_row *row)
{
	struct str text;
	const char *origin = arena_printf(c->arena, "%s/version.txt", path);
	if (host_read(c->host, origin, 0, &text) < 0 || !str_starts(text, "CUDA Version "))
		return false;
	facts_text(row, toolkit__version, first_two(c, str_trim(str_skip(text, strlen("CUDA Version ")))), origin);
	return true;
}

/* The value of a "#define NAME 12040" in a header; -ENOENT. */
static int define_of(struct str text, const char *name, int64_t *ret)
{
	struct str line, word;
	while (str_next_line(&text, &line)) {
		if (!str_starts(line, "#define") || !str_next_word(&line, &word) || !str_next_word(&line, &word) || !str_is(word, name))
			continue;
		if (str_next_word(&line, &word) && str_to_int(word, ret) == 0)
			return 0;
	}
	return -ENOENT;
}

/* The version stands near the beginning: cuda.h has a megabyte. */
#define HEADER_HEAD ((size_t)128 << 10)

static int read_header(struct collect *c, const char *path, const char *name, struct str *ret, const char **ret_path)
{
	const char *dirs[] = {"include", "targets/x86_64-linux/include", "targets/sbsa-linux/include"};
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
		*ret_path = arena_printf(c->arena, "%s/%s/%s", path, dirs[i], name);
		if (host_read_head(c->host, *ret_path, HEADER_HEAD, ret) == 0)
			return 0;
	}
	return -ENOENT;
}

static bool version_of_header(struct collect *c, const char *path, struct facts_row *row)
{
	struct str text;
	const char *origin;
	int64_t n;
	if (read_header(c, path, "cuda.h", &text, &origin) < 0 || define_of(text, "CUDA_VERSION", &n) < 0)
		return false;
	facts_text(row, toolkit__version, arena_printf(c->arena, "%d.%d", (int)(n / 1000), (int)(n % 1000 / 10)), origin);
	return true;
}

/* A name such as /usr/local/cuda-12.4 is a hint only, and the last one. */
static bool version_of_name(struct collect *c, const char *path, struct facts_row *row)
{
	const char *name = collect_path_name(path);
	if (strncmp(name, "cuda-", 5) != 0 || name[5] < '0' || name[5] > '9')
		return false;
	facts_text(row, toolkit__version, first_two(c, str_of(name + 5)), path);
	return true;
}

static void fill_cudnn(struct collect *c, const char *path, struct facts_row *row)
{
	struct str text;
	const char *origin, *places[] = {path, "/usr"};
	int64_t major, minor, patch;
	for (size_t i = 0; i < 2; i++) {
		if (read_header(c, places[i], "cudnn_version.h", &text, &origin) < 0)
			continue;
		if (define_of(text, "CUDNN_MAJOR", &major) == 0 && define_of(text, "CUDNN_MINOR", &minor) == 0 &&
			define_of(text, "CUDNN_PATCHLEVEL", &patch) == 0) {
			facts_text(row, toolkit__cudnn, arena_printf(c->arena, "%d.%d.%d", (int)major, (int)minor, (int)patch), origin);
			return;
		}
	}
	facts_gap(row, toolkit__cudnn, GAP_ABSENT, path, NULL);
}

/* NCCL of the toolkit, or of the system beside it: where a build would find it. */
static void fill_nccl(struct collect *c, const char *path, struct facts_row *row)
{
	struct str text;
	const char *origin, *places[] = {path, "/usr"};
	int64_t major, minor, patch;
	bool header = false, shared = false, archive = false;
	for (size_t i = 0; i < 2 && !header; i++)
		if (read_header(c, places[i], "nccl.h", &text, &origin) == 0 && define_of(text, "NCCL_MAJOR", &major) == 0 &&
			define_of(text, "NCCL_MINOR", &minor) == 0 && define_of(text, "NCCL_PATCH", &patch) == 0) {
			facts_text(
				row, toolkit__nccl_header, arena_printf(c->arena, "%d.%d.%d", (int)major, (int)minor, (int)patch), origin);
			header = true;
		}
	if (!header)
		facts_gap(row, toolkit__nccl_header, GAP_ABSENT, path, NULL);
	const char *dirs[] = {arena_printf(c->arena, "%s/lib64", path), arena_printf(c->arena, "%s/lib", path), "/usr/lib/x86_64-linux-gnu",
		"/usr/lib/aarch64-linux-gnu", "/usr/lib64"};
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
		shared |= host_exists(c->host, arena_printf(c->arena, "%s/libnccl.so", dirs[i]));
		archive |= host_exists(c->host, arena_printf(c->arena, "%s/libnccl_static.a", dirs[i]));
	}
	facts_bool(row, toolkit__nccl_shared, shared, path);
	facts_bool(row, toolkit__nccl_static, archive, path);
}

/* Is the directory of the stub libcuda on a path of the loader? LIBRARY_PATH is the linker's, and right there. */
static void fill_stub(struct collect *c, const char *path, struct facts_row *row)
{
	const char *list = host_env(c->host, "LD_LIBRARY_PATH");
	struct str rest = str_of(list), dir;
	bool on_path = false;
	while (list && str_next_field(&rest, ':', &dir)) {
		const char *real;
		if (dir.len && dir.ptr[0] == '/' && str_has(dir, "stubs") && host_realpath(c->host, str_dup(c->arena, dir), &real) == 0)
			on_path |= strncmp(real, path, strlen(path)) == 0 &&
				host_exists(c->host, arena_printf(c->arena, "%s/libcuda.so", real));
	}
	facts_bool(row, toolkit__stub_on_path, on_path, "LD_LIBRARY_PATH");
}

static void fill_toolkit(struct collect *c, const char *path, const char *selected_by)
{
	struct facts_row *row = facts_add(c->facts, TABLE_toolkit);
	facts_text(row, toolkit__path, path, path);
	facts_text(row, toolkit__selected_by, selected_by, selected_by);
	if (!version_of_json(c, path, row) && !version_of_text(c, path, row) && !version_of_header(c, path, row) &&
		!version_of_name(c, path, row))
		facts_gap(row, toolkit__version, GAP_MISSING, path, NULL);
	const char *nvcc = arena_printf(c->arena, "%s/bin/nvcc", path);
	if (host_exists(c->host, nvcc))
		facts_text(row, toolkit__nvcc, nvcc, nvcc);
	else
		facts_gap(row, toolkit__nvcc, GAP_ABSENT, path, NULL);
	fill_cudnn(c, path, row);
	fill_nccl(c, path, row);
	fill_stub(c, path, row);
}

/* -- compilers ---------------------------------------------------------------------------------------------------------- */

static bool is_number(const char *s)
{
	for (const char *p = s; *p; p++)
		if ((*p < '0' || *p > '9') && *p != '.')
			return false;
	return *s != '\0';
}

/* gcc's version from its own directory of libraries: /usr/lib/gcc/x86_64-linux-gnu/12 (Debian), .../13.2.1 (others). */
static const char *gcc_library_version(struct collect *c, const char *major, const char **ret_origin)
{
	static const char *const roots[] = {"/usr/lib/gcc", "/usr/lib64/gcc", "/usr/local/lib/gcc"};
	const char *best = NULL;
	int64_t best_major = -1;
	for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
		struct host_list machines, versions;
		if (host_list(c->host, roots[i], &machines) < 0)
			continue;
		for (size_t k = 0; k < machines.count; k++) {
			const char *dir = arena_printf(c->arena, "%s/%s", roots[i], machines.names[k]);
			if (strstr(machines.names[k], "mingw") || host_list(c->host, dir, &versions) < 0)
				continue;
			for (size_t v = 0; v < versions.count; v++) {
				const char *name = versions.names[v];
				int64_t n;
				if (!is_number(name) || str_to_int(str_slice(str_of(name), 0, strcspn(name, ".")), &n) < 0)
					continue;
				if (major ? strncmp(name, major, strlen(major)) == 0 && (!name[strlen(major)] || name[strlen(major)] == '.')
					  : n > best_major) {
					best = name;
					best_major = n;
					*ret_origin = dir;
				}
			}
		}
	}
	return best;
}

/* "x86_64-linux-gnu-gcc-12" → "12"; "clang-14" → "14"; /usr/lib/llvm-14/bin/clang → "14"; "" otherwise. */
static const char *version_in_path(struct collect *c, const char *path)
{
	const char *name = collect_path_name(path), *dash = strrchr(name, '-');
	if (dash && is_number(dash + 1))
		return dash + 1;
	const char *llvm = strstr(path, "/llvm-");
	if (llvm) {
		size_t n = strcspn(llvm + 6, "/");
		const char *v = arena_strndup(c->arena, llvm + 6, n);
		if (is_number(v))
			return v;
	}
	return "";
}

/* What a build would take: the variables first. */
static const char *named_by(struct collect *c, const char *variable, const char *name)
{
	const char *value = variable ? host_env(c->host, variable) : NULL;
	if (value && *value && !strchr(value, ' '))
		return value[0] == '/' ? value : collect_which(c, value, NULL);
	return collect_which(c, name, NULL);
}

static void fill_compiler(struct collect *c, const char *name, const char *variable)
{
	const char *path = named_by(c, variable, name), *real, *origin = NULL;
	if (!path || host_realpath(c->host, path, &real) < 0)
		return;
	struct facts_row *row = facts_add(c->facts, TABLE_compiler);
	facts_text(row, compiler__name, name, path);
	facts_text(row, compiler__path, path, variable && host_env(c->host, variable) ? variable : "PATH");
	const char *version = version_in_path(c, real);
	if (strstr(collect_path_name(real), "clang") == NULL) {
		/* A compiler outside of /usr/bin (conda, a module) has directories of its own, which say nothing about it. */
		bool system = strncmp(real, "/usr/bin/", 9) == 0;
		const char *full = system ? gcc_library_version(c, *version ? version : NULL, &origin) : NULL;
		if (full)
			version = full;
	}
	if (*version)
		facts_text(row, compiler__version, version, origin ? origin : real);
	else
		facts_gap(row, compiler__version, GAP_UNSUPPORTED, real, "only the compiler itself could tell");
}

void collect_toolkit(struct collect *c)
{
	struct toolkits t = {.c = c};
	facts_table_read(c->facts, TABLE_toolkit);
	facts_table_read(c->facts, TABLE_compiler);
	find_toolkits(&t);
	for (size_t i = 0; i < t.count; i++)
		fill_toolkit(c, t.path[i], t.selected_by[i]);
	fill_compiler(c, "gcc", "CC");
	fill_compiler(c, "g++", "CXX");
	fill_compiler(c, "clang", NULL);
	const struct facts_row *first = c->facts->first[TABLE_toolkit];
	const char *nvcc = first ? facts_get_text(first, toolkit__nvcc) : NULL,
		   *version = first ? facts_get_text(first, toolkit__version) : NULL;
	if (!nvcc)
		return;
	struct facts_row *row = facts_add(c->facts, TABLE_compiler);
	facts_text(row, compiler__name, "nvcc", nvcc);
	facts_text(row, compiler__path, nvcc, nvcc);
	if (version)
		facts_text(row, compiler__version, version, nvcc);
}
