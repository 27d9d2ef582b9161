#include <errno.h>

#include "act/wheel.h"
#include "cli/inspect.h"
#include "parse/elf_undefined.h"
#include "report/text.h"

#define BATCH 64u /* files that are open at the same time */
#define THREADS_MAX 8

static bool starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool needs_torch(const struct elf_digest *d)
{
	for (size_t i = 0; i < d->needed_count; i++)
		if (starts(d->needed[i], "libtorch") || starts(d->needed[i], "libc10"))
			return true;
	return false;
}

/* -- reading ---------------------------------------------------------------------------------------------------------------- */

static void open_file(struct cli *c, struct host *door, struct inspect_file *f)
{
	f->root = -1;
	f->error = host_file_open(door, f->path, &f->file);
	if (f->error < 0)
		return;
	f->source = collect_binary_source(f->file);
	f->code = arena_alloc(c->arena, sizeof *f->code);
	f->memory = arena_new((size_t)2 << 30);
	f->error = parse_elf_open(f->memory, &f->source, &f->elf);
}

/* What is kept of the file is its digest; its tables may be large. */
static void close_file(struct inspect_file *f)
{
	struct elf *e = &f->elf;
	*e = (struct elf){.problem = e->problem,
		.type = e->type,
		.machine = e->machine,
		.bits = e->bits,
		.big_endian = e->big_endian,
		.has_dynamic = e->has_dynamic};
	arena_free(f->memory);
	f->memory = NULL;
	host_file_close(f->file);
}

/* All but the GPU code goes through the door, which keeps it for the loader. */
static void digest_file(struct cli *c, struct host *door, struct inspect_file *f)
{
	struct buf text = BUF_MAX((size_t)4 << 20);
	char version[32];
	f->error = collect_binary(door, c->arena, f->path, ELF_DIGEST_LINK, &f->digest);
	if (f->error == 0)
		f->error = parse_elf_digest_write(&f->elf, f->code, ELF_DIGEST_CODE, &text);
	if (f->error < 0)
		f->digest = ELF_DIGEST_NONE;
	parse_elf_digest_read(c->arena, buf_view(&text), &f->digest);
	buf_free(&text);
	f->version = f->digest.nccl ? f->digest.nccl : f->digest.rccl ? f->digest.rccl : f->digest.version;
	if (!f->version && parse_elf_version_of_name(f->path, version))
		f->version = arena_strdup(c->arena, version);
}

/* The torch beside an extension: the nearest folder above it that holds torch/lib. */
static const char *torch_beside(struct cli *c, struct host *door, const char *path)
{
	char *dir = arena_strdup(c->arena, path);
	for (char *slash; (slash = strrchr(dir, '/')) && slash != dir;) {
		*slash = '\0';
		const char *torch = arena_printf(c->arena, "%s/torch", dir);
		if (host_is_dir(door, arena_printf(c->arena, "%s/lib", torch)))
			return torch;
	}
	return NULL;
}

/* The first library of torch/lib, or the module torch._C itself, that brings the rest along. */
static void open_torch(struct cli *c, struct host *door, struct ldso *l, const char *torch)
{
	static const char *const first[] = {"libtorch_global_deps.so", "libtorch_python.so"};
	struct host_list list;
	for (size_t i = 0; i < 2; i++) {
		const char *path = arena_printf(c->arena, "%s/lib/%s", torch, first[i]);
		if (host_exists(door, path))
			collect_ldso_open(l, path, 0);
	}
	if (host_list(door, torch, &list) < 0)
		return;
	for (size_t i = 0; i < list.count; i++)
		if (starts(list.names[i], "_C.") && str_ends(str_of(list.names[i]), ".so"))
			collect_ldso_open(l, arena_printf(c->arena, "%s/%s", torch, list.names[i]), 0);
}

static struct ldso *load_file(struct cli *c, struct host *door, struct inspect_file *f, struct ldso *before)
{
	struct ldso *l = before ? collect_ldso_next(before) : collect_ldso_new(c->arena, door);
	const char *torch = !f->digest.is_program && !f->digest.interp && needs_torch(&f->digest) ? torch_beside(c, door, f->path) : NULL;
	if (torch && !starts(f->path, arena_printf(c->arena, "%s/", torch))) {
		collect_ldso_bare(l, f->digest.machine);
		open_torch(c, door, l, torch);
		f->root = collect_ldso_open(l, f->path, 0);
		f->after_torch = torch;
	} else if (collect_ldso_program(l, f->path) == 0) {
		f->root = 0;
	}
	collect_ldso_check(l);
	f->loader = collect_ldso_result(l);
	return l;
}

static bool lacks_library(const struct inspect_file *f, bool foreign)
{
	for (size_t i = 0; i < f->loader.want_count; i++)
		if (f->loader.wants[i].to < 0 && f->loader.wants[i].from >= 0 && inspect_is_foreign(f, f->loader.wants[i].name) == foreign)
			return true;
	return false;
}

struct later { /* what is not there yet */
	bool python, driver;
};

/* The interpreter brings Python's names, and a driver that is not here would bring CUDA's. */
static bool may_come_later(const char *symbol, const void *arg)
{
	const struct later *later = arg;
	if (later->python && (starts(symbol, "Py") || starts(symbol, "_Py")))
		return true;
	return later->driver && (starts(symbol, "cu") || starts(symbol, "nvml"));
}

/* What the file needs and no library has that comes with it. Only when no library is missing, which says more. Looking at all names of all
 * libraries is worth it for what is built on PyTorch, and for a file that somebody asks about alone. */
static void find_undefined(struct cli *c, struct host *door, struct inspect_file *f, bool alone)
{
	const char *left[1000];
	if (f->root < 0 || !(alone || needs_torch(&f->digest)) || f->digest.problem || lacks_library(f, false))
		return;
	for (size_t i = 0; i < f->loader.object_count; i++)
		if (f->loader.objects[i].problem)
			return;
	struct later later = {.python = !f->digest.interp, .driver = lacks_library(f, true)};
	struct elf_undefined *u = parse_elf_undefined(f->memory, &f->elf, may_come_later, &later);
	for (size_t i = 0; u && parse_elf_undefined_any(u) && i < f->loader.object_count; i++) {
		struct host_file *file;
		struct elf provider;
		if ((int)i == f->root || host_file_open(door, f->loader.objects[i].path, &file) < 0)
			continue;
		struct arena *scratch = arena_new((size_t)2 << 30);
		struct parse_source source = collect_binary_source(file);
		if (parse_elf_open(scratch, &source, &provider) == 0)
			parse_elf_undefined_take(u, &provider);
		host_file_close(file);
		arena_free(scratch);
	}
	size_t n = u ? parse_elf_undefined_left(u, left, 1000) : 0;
	for (size_t i = 0; i < n && i < 1000; i++) {
		if (f->undefined_count < INSPECT_UNDEFINED_MAX)
			f->undefined[f->undefined_count] = arena_strdup(c->arena, left[i]);
		f->undefined_count++;
	}
}

static void read_codes(struct cli *c, struct inspect_file *files, size_t count)
{
	struct fatbin_job jobs[BATCH];
	size_t n = 0;
	int64_t cpus = 1;
	for (size_t i = 0; i < count; i++)
		if (files[i].error == 0)
			jobs[n++] = (struct fatbin_job){.elf = &files[i].elf, .ret = files[i].code};
	if (host_cpus_allowed(c->host, &cpus) < 0 || cpus < 1)
		cpus = 1;
	parse_fatbin_many(jobs, n, cpus > THREADS_MAX ? THREADS_MAX : (unsigned)cpus);
	for (size_t i = 0, k = 0; i < count; i++)
		if (files[i].error == 0)
			files[i].error = jobs[k++].error;
}

void inspect_read(struct cli *c, struct host *door, struct inspect_file *files, size_t count)
{
	struct ldso *l = NULL;
	for (size_t first = 0; first < count; first += BATCH) {
		size_t n = count - first < BATCH ? count - first : BATCH;
		for (size_t i = first; i < first + n; i++)
			open_file(c, door, &files[i]);
		read_codes(c, files + first, n);
		for (size_t i = first; i < first + n; i++) {
			struct inspect_file *f = &files[i];
			if (f->error == 0)
				digest_file(c, door, f);
			if (f->error == 0 && f->elf.bits == 64 && !f->elf.big_endian && f->elf.has_dynamic) {
				l = load_file(c, door, f, l);
				find_undefined(c, door, f, count == 1);
			}
		}
		for (size_t i = first; i < first + n; i++)
			close_file(&files[i]);
	}
}

bool inspect_is_foreign(const struct inspect_file *f, const char *name)
{
	static const char *const driver[] = {"libcuda.so.", "libnvidia-", "libnvcuvid.so."};
	for (size_t i = 0; i < sizeof driver / sizeof *driver; i++)
		if (starts(name, driver[i]))
			return true;
	/* An extension finds PyTorch's libraries in the process that has imported torch. */
	return !f->after_torch && !f->digest.interp && (starts(name, "libtorch") || starts(name, "libc10"));
}

int inspect_status(const struct inspect_file *f)
{
	if (f->error < 0)
		return EXIT_UNKNOWN;
	if (f->digest.problem || f->undefined_count || f->loader.unmet_count)
		return EXIT_FAULT;
	for (size_t i = 0; i < f->loader.want_count; i++)
		if (f->loader.wants[i].to < 0 && f->loader.wants[i].from >= 0 && !inspect_is_foreign(f, f->loader.wants[i].name))
			return EXIT_FAULT;
	for (size_t i = 0; i < f->loader.object_count; i++)
		if (f->loader.objects[i].problem)
			return EXIT_FAULT;
	return EXIT_FINE;
}

/* -- the command ------------------------------------------------------------------------------------------------------------ */

static bool is_number(const char *s)
{
	size_t n = strspn(s, "0123456789");
	return n && n < 10 && !s[n];
}

static int worse(int a, int b)
{
	static const int order[] = {EXIT_FINE, EXIT_UNKNOWN, EXIT_FAULT, EXIT_USAGE, EXIT_NO_INPUT, EXIT_DEFECT};
	int at[2] = {0, 0};
	for (int i = 0; i < 6; i++) {
		at[0] = order[i] == a ? i : at[0];
		at[1] = order[i] == b ? i : at[1];
	}
	return at[0] > at[1] ? a : b;
}

enum item { ITEM_FILE, ITEM_PROCESS, ITEM_SNAPSHOT, ITEM_WHEEL };

static int check_arguments(struct cli *c, struct host *door, enum item *items)
{
	const char *cwd = host_cwd(c->host);
	for (size_t i = 0; i < c->arg_count; i++) {
		const char *arg = c->args[i];
		struct host_stat st;
		const char *path = arg[0] == '/' ? arg : arena_printf(c->arena, "%s/%s", cwd ? cwd : "", arg);
		int r = host_stat(door, path, &st);
		if (r < 0 && is_number(arg)) {
			items[i] = ITEM_PROCESS;
			if (!host_is_dir(door, arena_printf(c->arena, "/proc/%s", arg)))
				return cli_fail(c, EXIT_NO_INPUT, cli_tr(c, "there is no process %s", "进程 %s 不存在"), arg);
			continue;
		}
		if (r < 0)
			return cli_fail(c, EXIT_NO_INPUT, "%s: %s", arg, strerror(-r));
		if (st.kind == HOST_FILE && (wheel_is_source(path) || wheel_is_one(door, path))) {
			items[i] = ITEM_WHEEL;
			c->args[i] = path;
			continue;
		}
		if (host_is_this_machine(door) && (st.kind == HOST_DIR || st.kind == HOST_FILE) && host_is_snapshot(path)) {
			items[i] = ITEM_SNAPSHOT;
			continue;
		}
		if (st.kind != HOST_FILE)
			return cli_fail(c, EXIT_NO_INPUT, cli_tr(c, "%s is no regular file", "%s 不是普通文件"), arg);
		c->args[i] = path;
	}
	return 0;
}

int cli_inspect(struct cli *c)
{
	int status = EXIT_FINE;
	if (!c->arg_count)
		return cli_fail(c, EXIT_USAGE, "%s",
			cli_tr(c, "name a file, a wheel, a snapshot or a process id", "请指定文件、wheel、快照或进程号"));
	struct host *door = cli_door(c, &status);
	if (!door)
		return status;
	enum item *items = arena_array(c->arena, c->arg_count, sizeof *items);
	status = check_arguments(c, door, items);
	if (status)
		return status;
	struct inspect_file *files = arena_array(c->arena, c->arg_count, sizeof *files);
	size_t file_count = 0;
	for (size_t i = 0; i < c->arg_count; i++)
		if (items[i] == ITEM_FILE)
			files[file_count++].path = c->args[i];
	inspect_read(c, door, files, file_count);

	struct buf out = BUF_MAX((size_t)64 << 20);
	struct json_writer w = json_writer_to(&out, true);
	bool many = c->arg_count > 1, json = c->options.json;
	if (json && many) {
		json_open(&w, NULL, '{');
		json_text(&w, "schema", "davy/1");
		json_text(&w, "command", "inspect");
		json_open(&w, "items", '[');
	}
	for (size_t i = 0, k = 0; i < c->arg_count; i++) {
		if (i && !json && !c->options.quiet)
			buf_char(&out, '\n');
		if (items[i] == ITEM_SNAPSHOT) {
			status = worse(status, inspect_snapshot(c, c->args[i], json ? &w : NULL, &out));
			continue;
		}
		if (items[i] == ITEM_WHEEL) {
			status = worse(status, inspect_wheel(c, door, c->args[i], json ? &w : NULL, &out));
			continue;
		}
		if (items[i] == ITEM_PROCESS) {
			status = worse(status, inspect_process(c, door, c->args[i], json ? &w : NULL, &out));
			continue;
		}
		const struct inspect_file *f = &files[k++];
		int one = inspect_status(f);
		status = worse(status, one);
		if (json)
			inspect_json(f, &w, NULL);
		else if (!c->options.quiet || one != EXIT_FINE)
			inspect_text(c, f, &out);
	}
	if (json && many) {
		json_close(&w, ']');
		json_close(&w, '}');
	}
	if (json)
		buf_char(&out, '\n');
	status = cli_print(&out, status);
	buf_free(&out);
	return status;
}
