/* The interpreter, its module search path and the programs of the tool chain. */
#include <errno.h>

#include "collect/interpreter.h"
#include "collect/package.h"

/* -- python, sys_path --------------------------------------------------------------------------------------------------- */

static bool has(const char *text, const char *part)
{
	return text && strstr(text, part) != NULL;
}

static const char *manager_of(struct collect *c, const struct interpreter *py)
{
	if (has(py->prefix, "/.pixi/"))
		return "pixi";
	if (has(py->prefix, "/pypoetry/virtualenvs/"))
		return "poetry";
	if (py->venv && py->creator && strcmp(py->creator, "uv") == 0)
		return "uv";
	if (py->conda && !py->venv)
		return "conda";
	/* A poetry project keeps its venv beside its lock file when it is told to. */
	const char *project = collect_path_parent(c->arena, py->prefix);
	if (py->venv && host_exists(c->host, arena_printf(c->arena, "%s/poetry.lock", project)))
		return "poetry";
	return "pip";
}

static void fill_machine(struct collect *c, const struct interpreter *py, struct facts_row *row)
{
	struct str head;
	int rc = py->real ? host_read_head(c->host, py->real, 4096, &head) : -ENOENT;
	const char *origin = py->real ? py->real : py->path;
	if (rc == 0 && (head.len < 64 || memcmp(head.ptr, "\177ELF", 4) != 0))
		rc = -EINVAL;
	if (rc < 0) {
		facts_gap_errno(row, python__arch, rc, origin);
		facts_gap_errno(row, python__dynamic_loader, rc, origin);
		return;
	}
	unsigned machine = (unsigned char)head.ptr[18] | (unsigned)(unsigned char)head.ptr[19] << 8;
	const char *name = machine == 62 ? "x86_64"
		: machine == 183         ? "aarch64"
		: machine == 243         ? "riscv64"
		: machine == 21          ? "ppc64le"
		: machine == 3           ? "i686"
					 : NULL;
	if (name)
		facts_text(row, python__arch, name, origin);
	/* The name of the loader stands behind the program headers, within the first page. */
	static const char *const loaders[] = {
		"/lib64/ld-linux", "/lib/ld-linux", "/lib/ld-musl", "/lib64/ld64", "/nix/store/", "/usr/lib/ld-linux"};
	for (size_t i = 0; i < sizeof loaders / sizeof *loaders; i++) {
		size_t at = str_find(head, loaders[i], 0);
		if (at == SIZE_MAX)
			continue;
		size_t end = str_find_char(head, '\0', at);
		facts_str(row, python__dynamic_loader, str_slice(head, at, end), origin);
		return;
	}
	facts_gap(row, python__dynamic_loader, GAP_ABSENT, origin, "static, or named beyond the first page");
}

/* A venv's python is a link to the interpreter that it was made with, which an upgrade may have taken away. */
static void fill_gone(struct collect *c, const struct interpreter *py, struct facts_row *row)
{
	const char *real, *target;
	if (host_realpath(c->host, py->path, &real) == -ENOENT && host_readlink(c->host, py->path, &target) == 0)
		facts_text(row, python__gone, target, py->path);
	else
		facts_gap(row, python__gone, GAP_ABSENT, py->path, NULL);
}

static void fill_python(struct collect *c, const struct interpreter *py, const char *asked)
{
	struct facts_row *row = facts_only(c->facts, TABLE_python);
	facts_text(row, python__path, c->python ? py->path : asked, c->python ? "--python" : "PATH");
	if (py->real)
		facts_text(row, python__real_path, py->real, py->path);
	else
		facts_gap(row, python__real_path, GAP_MISSING, py->path, "the link leads nowhere");
	fill_gone(c, py, row);
	if (py->version)
		facts_text(row, python__version, py->version, py->version_origin);
	facts_text(row, python__kind, py->kind, py->prefix);
	facts_text(row, python__prefix, py->prefix, py->path);
	facts_text(row, python__base_prefix, py->base_prefix, py->path);
	if (py->site_packages)
		facts_text(row, python__site_packages, py->site_packages, py->prefix);
	if (py->user_site)
		facts_text(row, python__user_site, py->user_site, "HOME");
	else
		facts_gap(row, python__user_site, GAP_ABSENT, py->prefix, NULL);
	if (py->venv)
		facts_bool(row, python__system_site, py->system_site, arena_printf(c->arena, "%s/pyvenv.cfg", py->prefix));
	else
		facts_gap(row, python__system_site, GAP_ABSENT, py->prefix, "no venv");
	if (py->stdlib) {
		const char *mark = arena_printf(c->arena, "%s/EXTERNALLY-MANAGED", py->stdlib);
		facts_bool(row, python__externally_managed, !py->venv && host_exists(c->host, mark), mark);
	}
	facts_text(row, python__manager, manager_of(c, py), py->prefix);
	if (py->minor) {
		const char *header = arena_printf(c->arena, "%s/include/python%s/Python.h", py->base_prefix, py->minor);
		facts_bool(row, python__headers, host_exists(c->host, header), header);
	}
	fill_machine(c, py, row);
}

static void fill_sys_path(struct collect *c, const struct interpreter *py)
{
	facts_table_read(c->facts, TABLE_sys_path);
	for (size_t i = 0; i < py->path_count; i++) {
		const struct search_path *p = &py->paths[i];
		struct facts_row *row = facts_add(c->facts, TABLE_sys_path);
		facts_text(row, sys_path__path, p->path, py->prefix);
		facts_int(row, sys_path__position, (int64_t)i, py->prefix);
		facts_text(row, sys_path__origin_kind, collect_path_kind_name(p->kind), py->prefix);
		facts_bool(row, sys_path__exists_, p->error == 0, p->path);
	}
}

/* site imports sitecustomize and usercustomize, the first of each on the path. */
static void fill_startup_code(struct collect *c, const struct interpreter *py)
{
	static const char *const customs[] = {"sitecustomize", "usercustomize"};
	facts_table_read(c->facts, TABLE_startup_code);
	for (size_t i = 0; i < py->code_count; i++) {
		struct facts_row *row = facts_add(c->facts, TABLE_startup_code);
		facts_text(row, startup_code__path, py->code[i].path, py->code[i].path);
		facts_text(row, startup_code__kind, py->code[i].kind, py->code[i].path);
		facts_text(row, startup_code__text, py->code[i].text, py->code[i].path);
	}
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < py->path_count; i++) {
			const char *path = arena_printf(c->arena, "%s/%s.py", py->paths[i].path, customs[k]);
			bool there = false;
			for (size_t n = 0; n < py->paths[i].list.count && !there; n++)
				there = strncmp(py->paths[i].list.names[n], customs[k], 13) == 0 &&
					(strcmp(py->paths[i].list.names[n] + 13, ".py") == 0 || !py->paths[i].list.names[n][13]);
			if (!there && (py->paths[i].listed || !host_exists(c->host, path)))
				continue;
			struct facts_row *row = facts_add(c->facts, TABLE_startup_code);
			facts_text(row, startup_code__path, path, path);
			facts_text(row, startup_code__kind, customs[k], path);
			facts_gap(row, startup_code__text, GAP_ABSENT, path, NULL);
			break;
		}
}

/* -- program ------------------------------------------------------------------------------------------------------------ */

struct tool {
	const char *name;
	bool of_python; /* installed into an environment: its interpreter matters */
};

static const struct tool tools[] = {
	{"python", true},
	{"python3", true},
	{"pip", true},
	{"pip3", true},
	{"torchrun", true},
	{"accelerate", true},
	{"deepspeed", true},
	{"vllm", true},
	{"nvcc", false},
	{"gcc", false},
	{"g++", false},
	{"cc", false},
	{"c++", false},
	{"clang", false},
	{"ninja", true},
	{"cmake", true},
	{"make", false},
	{"ptxas", false},
	{"uv", false},
	{"conda", true},
	{"mamba", false},
	{"poetry", true},
	{"pixi", false},
	{"nvidia-smi", false},
	{"rocm-smi", false},
	{"npu-smi", false},
	{"mpirun", false},
	{"srun", false},
	{"docker", false},
	{"podman", false},
	{"git", false},
	{"nvidia-container-cli", false},
	{"ibstat", false},
	{"ibv_devinfo", false},
};

/* The interpreter of a script: from #!, through `env`, and through the `exec` line that installers write when the path is too long for #!.
 */
static const char *script_interpreter(struct collect *c, const char *path)
{
	struct str head, line, word;
	if (host_read_head(c->host, path, 512, &head) < 0 || !str_starts(head, "#!"))
		return NULL;
	head = str_skip(head, 2);
	if (!str_next_line(&head, &line) || !str_next_word(&line, &word))
		return NULL;
	if (str_ends(word, "/env")) {
		while (str_next_word(&line, &word))
			if (word.ptr[0] != '-')
				return collect_which(c, str_dup(c->arena, word), NULL);
		return NULL;
	}
	if (str_is(word, "/bin/sh") && str_starts(head, "'''exec' ")) {
		head = str_skip(head, strlen("'''exec' "));
		bool quoted = head.len && head.ptr[0] == '"';
		head = str_skip(head, quoted);
		return str_dup(c->arena, str_slice(head, 0, str_find_char(head, quoted ? '"' : ' ', 0)));
	}
	return str_dup(c->arena, word);
}

/* Does the program run in the environment that is examined? 1, 0, or -1: it is no Python program, or it cannot be told. */
static int same_environment(struct collect *c, const struct interpreter *py, const char *program, const char *interpreter)
{
	struct interpreter other;
	if (!py)
		return -1;
	if (!interpreter && strncmp(collect_path_name(program), "python", 6) == 0)
		interpreter = program;
	if (!interpreter)
		return -1;
	const char *behind = collect_unshim(c, interpreter);
	if (!behind || strncmp(collect_path_name(behind), "python", 6) != 0 || collect_interpreter(c, behind, &other) < 0)
		return -1;
	return strcmp(other.prefix, py->prefix) == 0;
}

/* "gcc-12", "python3.11", "x86_64-linux-gnu-g++-12". */
static struct str version_in_name(const char *path)
{
	struct str name = str_of(collect_path_name(path));
	size_t n = name.len;
	while (n && ((name.ptr[n - 1] >= '0' && name.ptr[n - 1] <= '9') || name.ptr[n - 1] == '.'))
		n--;
	return n && n < name.len && (name.ptr[n - 1] == '-' || str_starts(name, "python")) && name.ptr[n] != '.' ? str_skip(name, n)
														 : str_n("", 0);
}

/* Whoever names an interpreter means its environment as if it were activated: its own programs go before PATH. */
static const char *own_program(struct collect *c, const struct interpreter *py, const char *name)
{
	const char *path = c->python && py ? arena_printf(c->arena, "%s/bin/%s", py->prefix, name) : NULL;
	return path && host_exists(c->host, path) ? path : NULL;
}

static void fill_program(struct collect *c, const struct interpreter *py, const struct tool *tool)
{
	struct facts_row *row = facts_add(c->facts, TABLE_program);
	facts_text(row, program__name, tool->name, "PATH");
	const char *own = tool->of_python ? own_program(c, py, tool->name) : NULL;
	const char *path = own ? own : collect_which(c, tool->name, NULL), *real;
	if (!path) {
		facts_gap(row, program__path, GAP_ABSENT, "PATH", NULL);
		return;
	}
	facts_text(row, program__path, path, "PATH");
	const char *behind = collect_unshim(c, path);
	if (!behind) {
		facts_gap(row, program__real_path, GAP_MISSING, path, "the shim leads to no installed version");
		return;
	}
	if (host_realpath(c->host, behind, &real) == 0) {
		facts_text(row, program__real_path, real, path);
		struct str version = version_in_name(real);
		if (version.len)
			facts_str(row, program__version, version, real);
	}
	if (!tool->of_python)
		return;
	const char *interpreter = strncmp(tool->name, "python", 6) == 0 ? NULL : script_interpreter(c, behind);
	struct host_stat st;
	if (interpreter) {
		facts_text(row, program__interpreter, interpreter, behind);
		if (interpreter[0] == '/')
			facts_bool(row, program__interpreter_gone, host_stat(c->host, interpreter, &st) == -ENOENT, behind);
	}
	/* What PATH holds besides an environment that was named is nobody's choice. */
	int same = c->python && !own ? -1 : same_environment(c, py, behind, interpreter);
	if (same >= 0)
		facts_bool(row, program__same_environment, same, behind);
	else if (c->python && !own)
		facts_gap(row, program__same_environment, GAP_ABSENT, behind, "not asked for");
}

/* -- local_module ------------------------------------------------------------------------------------------------------- */

/* Modules that training scripts and PyTorch import, under names that people give to their own files. */
static const char *const hidden_stdlib[] = {"abc", "ast", "calendar", "code", "codecs", "collections", "copy", "csv", "ctypes",
	"dataclasses", "datetime", "decimal", "email", "enum", "functools", "glob", "hashlib", "html", "http", "inspect", "io", "json",
	"linecache", "locale", "logging", "math", "numbers", "operator", "pathlib", "pickle", "platform", "profile", "queue", "random",
	"secrets", "select", "selectors", "shutil", "signal", "site", "socket", "ssl", "statistics", "string", "struct", "subprocess",
	"tempfile", "threading", "time", "token", "tokenize", "traceback", "types", "typing", "uuid", "warnings", "weakref", NULL};
static const char *const hidden_packages[] = {"torch", "torchvision", "torchaudio", "triton", "numpy", "scipy", "pandas", "transformers",
	"accelerate", "deepspeed", "datasets", "tokenizers", "peft", "vllm", "apex", "xformers", "sympy", "tqdm", "wandb", "yaml", NULL};

static const char *hiding_file(struct collect *c, const char *cwd, const struct host_list *list, const char *module)
{
	size_t n = strlen(module);
	for (size_t i = 0; i < list->count; i++) {
		const char *name = list->names[i];
		if (strncmp(name, module, n) != 0)
			continue;
		const char *path = arena_printf(c->arena, "%s/%s", cwd, name);
		if (strcmp(name + n, ".py") == 0 || (!name[n] && host_exists(c->host, arena_printf(c->arena, "%s/__init__.py", path))))
			return path;
	}
	return NULL;
}

/* A folder without __init__.py hides nothing: an installed package goes before it. */
static void fill_local_modules(struct collect *c, const struct interpreter *py)
{
	const char *cwd = host_cwd(c->host);
	struct host_list list;
	facts_table_read(c->facts, TABLE_local_module);
	if (!cwd || strncmp(cwd, py->base_prefix, strlen(py->base_prefix)) == 0 || strncmp(cwd, py->prefix, strlen(py->prefix)) == 0 ||
		host_list(c->host, cwd, &list) < 0)
		return;
	for (size_t k = 0; k < 2; k++)
		for (const char *const *module = k ? hidden_packages : hidden_stdlib; *module; module++) {
			const char *path = hiding_file(c, cwd, &list, *module);
			if (!path || (k && !facts_find(c->facts, package__canonical, strcmp(*module, "yaml") == 0 ? "pyyaml" : *module)))
				continue;
			struct facts_row *row = facts_add(c->facts, TABLE_local_module);
			facts_text(row, local_module__name, *module, path);
			facts_text(row, local_module__path, path, path);
			facts_text(row, local_module__kind, k ? "package" : "stdlib", path);
		}
}

void collect_python(struct collect *c)
{
	struct interpreter py;
	const char *asked;
	int rc = collect_interpreter_find(c, &py, &asked);
	if (rc == 0) {
		collect_interpreter_paths(c, &py);
		fill_python(c, &py, asked);
		fill_sys_path(c, &py);
		fill_startup_code(c, &py);
		if (!c->asked) /* else collect_torch will not come */
			collect_torch_start(c);
	}
	if (!c->asked || c->asked[TABLE_program]) {
		facts_table_read(c->facts, TABLE_program);
		for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
			fill_program(c, rc == 0 ? &py : NULL, &tools[i]);
	}
	if (rc < 0) {
		/* An option that names nothing is unknown; a PATH without Python is a fact. */
		if (c->python || rc != -ENOENT) {
			facts_table_gap_errno(c->facts, TABLE_python, rc, asked);
			facts_table_gap_errno(c->facts, TABLE_package, rc, asked);
		} else {
			facts_table_read(c->facts, TABLE_python);
			facts_table_read(c->facts, TABLE_package);
		}
		return;
	}
	collect_packages(c, &py);
	fill_local_modules(c, &py);
}
