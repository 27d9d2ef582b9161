/* davy inspect PID: which libraries a running process has, and the variables that it was started with. */
#include <errno.h>

#include "base/version.h"
#include "cli/inspect.h"
#include "report/text.h"

#define MAPS_MAX ((size_t)16 << 20)
#define ENVIRON_MAX ((size_t)4 << 20)
#define LIBRARIES_MAX 4096u

struct mapped {
	const char *path;
	bool deleted; /* the file was replaced or removed since it was loaded */
	bool interesting;
	struct elf_digest elf;
	const char *version;
};

struct process {
	const char *pid, *exe;
	struct mapped *libraries;
	size_t library_count, library_cap;
	const char **variables; /* NAME=value */
	size_t variable_count, variable_cap;
	int maps_error, environ_error;
};

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool is_interesting(const char *path)
{
	static const char *const prefixes[] = {"libnccl", "librccl", "libcuda.so", "libcudart", "libcudnn", "libcublas", "libcusparse",
		"libcusolver", "libcufft", "libcurand", "libnvrtc.so", "libnvJitLink", "libnvidia-ml", "libtorch", "libc10", "libgloo",
		"libmpi.so", "libucp", "libucc", "libibverbs.so", "libmlx5", "libfabric", "libnvshmem", "libhccl", "libstdc++.so",
		"libc.so.6", "libpython"};
	const char *base = base_of(path);
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (strncmp(base, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static bool is_variable(const char *text)
{
	static const char *const prefixes[] = {"NCCL_", "RCCL_", "GLOO_", "TORCH_", "PYTORCH_", "CUDA_", "NVIDIA_", "HIP_", "ROCR_", "UCX_",
		"FI_", "OMP_NUM_THREADS=", "LD_LIBRARY_PATH=", "LD_PRELOAD=", "MASTER_ADDR=", "MASTER_PORT=", "RANK=", "LOCAL_RANK=",
		"WORLD_SIZE=", "LOCAL_WORLD_SIZE=", "GROUP_RANK=", "SLURM_PROCID=", "SLURM_LOCALID=", "SLURM_NTASKS=", "OMPI_COMM_WORLD_",
		"HCCL_", "ASCEND_"};
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

/* -- reading ---------------------------------------------------------------------------------------------------------------- */

static void add_mapping(struct cli *c, struct process *p, struct str path)
{
	bool deleted = str_ends(path, " (deleted)");
	if (deleted)
		path.len -= strlen(" (deleted)");
	for (size_t i = p->library_count; i-- > 0;)
		if (str_is(path, p->libraries[i].path))
			return;
	const char *text = str_dup(c->arena, path);
	if (p->library_count == LIBRARIES_MAX || !strstr(base_of(text), ".so"))
		return;
	p->libraries = arena_grow(c->arena, p->libraries, p->library_count, &p->library_cap, sizeof *p->libraries);
	p->libraries[p->library_count++] = (struct mapped){
		.path = text, .deleted = deleted, .interesting = is_interesting(text), .elf = ELF_DIGEST_NONE};
}

/* "7f00-7f01 r-xp 00000000 fd:00 1234   /usr/lib/libc.so.6" */
static void read_maps(struct cli *c, struct host *door, struct process *p)
{
	struct str text, line;
	p->maps_error = host_read(door, arena_printf(c->arena, "/proc/%s/maps", p->pid), MAPS_MAX, &text);
	if (p->maps_error < 0)
		return;
	while (str_next_line(&text, &line)) {
		size_t at = str_find_char(line, '/', 0);
		if (at != SIZE_MAX && !str_starts(str_slice(line, at, line.len), "/dev/") &&
			!str_starts(str_slice(line, at, line.len), "/memfd:"))
			add_mapping(c, p, str_slice(line, at, line.len));
	}
}

/* The last GLIBC_2.x that the C library defines is its release. */
static const char *highest_glibc(const struct elf_digest *d)
{
	const char *best = NULL;
	int order;
	for (size_t i = 0; i < d->verdef_count; i++)
		if (str_starts(str_of(d->verdefs[i]), "GLIBC_2.") &&
			(!best || (version_cmp(str_of(d->verdefs[i] + 6), str_of(best), &order) == 0 && order > 0)))
			best = d->verdefs[i] + 6;
	return best;
}

/* Paths are those of the process's own root: in a container another file system. */
static void read_versions(struct cli *c, struct host *door, struct process *p)
{
	char version[32];
	for (size_t i = 0; i < p->library_count; i++) {
		struct mapped *m = &p->libraries[i];
		const char *real = m->path;
		if (!m->interesting || m->deleted)
			continue;
		const char *inside = arena_printf(c->arena, "/proc/%s/root%s", p->pid, m->path);
		if (collect_binary(door, c->arena, inside, ELF_DIGEST_LINK, &m->elf) < 0 &&
			collect_binary(door, c->arena, m->path, ELF_DIGEST_LINK, &m->elf) < 0)
			continue;
		if (!strstr(base_of(m->path), ".so.") && host_realpath(door, m->path, &real) < 0)
			real = m->path;
		m->version = m->elf.nccl ? m->elf.nccl : m->elf.rccl ? m->elf.rccl : m->elf.version;
		if (parse_elf_version_of_name(real, version) && (!m->version || strlen(version) > strlen(m->version)))
			m->version = arena_strdup(c->arena, version);
		if (!m->version && m->elf.soname && strcmp(m->elf.soname, "libc.so.6") == 0)
			m->version = highest_glibc(&m->elf);
		if (!m->version && m->elf.glibcxx_max)
			m->version = arena_printf(c->arena, "GLIBCXX %s", m->elf.glibcxx_max);
	}
}

static int compare_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void read_variables(struct cli *c, struct host *door, struct process *p)
{
	struct str text, field;
	p->environ_error = host_read(door, arena_printf(c->arena, "/proc/%s/environ", p->pid), ENVIRON_MAX, &text);
	if (p->environ_error < 0)
		return;
	while (str_next_field(&text, '\0', &field)) {
		const char *one = str_dup(c->arena, field);
		if (!is_variable(one) || !strchr(one, '='))
			continue;
		p->variables = arena_grow(c->arena, p->variables, p->variable_count, &p->variable_cap, sizeof *p->variables);
		p->variables[p->variable_count++] = one;
	}
	if (p->variable_count)
		qsort(p->variables, p->variable_count, sizeof *p->variables, compare_text);
}

/* The NCCLs in it: more than one is trouble. */
static size_t nccl_count(const struct process *p, const struct mapped **ret_first)
{
	size_t n = 0;
	*ret_first = NULL;
	for (size_t i = 0; i < p->library_count; i++) {
		if (strncmp(base_of(p->libraries[i].path), "libnccl.so", 10) != 0)
			continue;
		if (!n++)
			*ret_first = &p->libraries[i];
	}
	return n;
}

/* -- printing --------------------------------------------------------------------------------------------------------------- */

static void print_json(const struct process *p, struct json_writer *w)
{
	const struct mapped *nccl;
	nccl_count(p, &nccl);
	json_open(w, NULL, '{');
	if (w->depth == 1) {
		json_text(w, "schema", "davy/1");
		json_text(w, "command", "inspect");
	}
	json_text(w, "kind", "process");
	json_int(w, "pid", strtoll(p->pid, NULL, 10));
	json_text(w, "program", p->exe);
	json_text(w, "nccl_version", nccl ? nccl->elf.nccl : NULL);
	json_open(w, "libraries", '[');
	for (size_t i = 0; i < p->library_count; i++) {
		const struct mapped *m = &p->libraries[i];
		json_open(w, NULL, '{');
		json_text(w, "path", m->path);
		json_text(w, "soname", m->elf.soname);
		json_text(w, "version", m->version);
		json_bool(w, "deleted", m->deleted);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_open(w, "variables", '[');
	for (size_t i = 0; i < p->variable_count; i++) {
		struct str name = str_n("", 0), value = str_n("", 0);
		str_split(str_of(p->variables[i]), '=', &name, &value);
		json_open(w, NULL, '{');
		json_str(w, "name", name);
		json_str(w, "value", value);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_open(w, "unknown", '[');
	if (p->maps_error < 0)
		json_text(w, NULL, "libraries");
	if (p->environ_error < 0)
		json_text(w, NULL, "variables");
	json_close(w, ']');
	json_close(w, '}');
}

static void trouble(struct cli *c, struct buf *out, bool fault, const char *text)
{
	text_pad(out, 2);
	text_style(out, c->color, fault ? TEXT_RED : TEXT_YELLOW, c->unicode ? (fault ? "✗" : "?") : (fault ? "x" : "?"));
	buf_char(out, ' ');
	text_wrap(out, str_of(text), 4, 4, c->columns);
	buf_char(out, '\n');
}

static void print_libraries(struct cli *c, const struct process *p, struct buf *out)
{
	size_t others = 0;
	int width = 0;
	for (size_t i = 0; i < p->library_count; i++) {
		int w = text_width(str_of(base_of(p->libraries[i].path)));
		if (p->libraries[i].interesting && w > width && w <= 40)
			width = w;
	}
	for (size_t i = 0; i < p->library_count; i++) {
		const struct mapped *m = &p->libraries[i];
		if (!m->interesting && !m->deleted && !c->options.verbose) {
			others++;
			continue;
		}
		text_pad(out, 2);
		buf_text(out, base_of(m->path));
		text_pad(out, width - text_width(str_of(base_of(m->path))) > 0 ? width - text_width(str_of(base_of(m->path))) + 2 : 2);
		buf_text(out, m->version ? m->version : "-");
		text_pad(out,
			m->version && text_width(str_of(m->version)) < 16 ? 18 - text_width(str_of(m->version))
				: m->version                              ? 2
									  : 17);
		text_style(out, c->color, TEXT_DIM, m->path);
		buf_char(out, '\n');
	}
	if (others)
		buf_fmt(out, cli_tr(c, "  and %zu more libraries (--verbose)\n", "  另有 %zu 个库（--verbose 列出）\n"), others);
}

static void print_text(struct cli *c, const struct process *p, struct buf *out)
{
	const char *title = arena_printf(c->arena, cli_tr(c, "process %s", "进程 %s"), p->pid);
	const struct mapped *nccl;
	text_style(out, c->color, TEXT_BOLD, title);
	buf_fmt(out, "   %s\n", p->exe ? p->exe : "?");
	print_libraries(c, p, out);
	for (size_t i = 0; i < p->variable_count; i++)
		buf_fmt(out, "  %s\n", p->variables[i]);
	if (p->maps_error < 0)
		trouble(c, out, false,
			arena_printf(c->arena, cli_tr(c, "Its libraries could not be read: %s.", "无法读取它的库列表：%s。"),
				strerror(-p->maps_error)));
	if (p->environ_error < 0)
		trouble(c, out, false,
			arena_printf(c->arena, cli_tr(c, "Its environment could not be read: %s.", "无法读取它的环境变量：%s。"),
				strerror(-p->environ_error)));
	for (size_t i = 0; i < p->library_count; i++)
		if (p->libraries[i].deleted)
			trouble(c, out, true,
				arena_printf(c->arena,
					cli_tr(c, "%s was replaced or removed after it was loaded.", "%s 在加载之后被替换或删除。"),
					p->libraries[i].path));
	if (nccl_count(p, &nccl) > 1)
		trouble(c, out, true, cli_tr(c, "More than one NCCL is loaded in this process.", "该进程加载了不止一个 NCCL。"));
}

int inspect_process(struct cli *c, struct host *door, const char *pid, struct json_writer *w, struct buf *out)
{
	struct process p = {.pid = pid};
	const struct mapped *nccl;
	if (host_readlink(door, arena_printf(c->arena, "/proc/%s/exe", pid), &p.exe) < 0)
		p.exe = NULL;
	read_maps(c, door, &p);
	read_versions(c, door, &p);
	read_variables(c, door, &p);
	int status = p.maps_error < 0 ? EXIT_UNKNOWN : EXIT_FINE;
	for (size_t i = 0; i < p.library_count; i++)
		if (p.libraries[i].deleted && p.libraries[i].interesting)
			status = EXIT_FAULT;
	if (nccl_count(&p, &nccl) > 1)
		status = EXIT_FAULT;
	if (w)
		print_json(&p, w);
	else if (!c->options.quiet || status != EXIT_FINE)
		print_text(c, &p, out);
	return status;
}
