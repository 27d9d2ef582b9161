#include "cli/sources.h"

#include <errno.h>
#include <fnmatch.h>
#include <unistd.h>

#define DEPTH_MAX 8
#define DUMP_MAX ((uint64_t)128 << 20)

static void add(struct sources *s, const char *name, const char *path, int fd)
{
	if (s->count == SOURCES_MAX)
		return;
	if (!s->source || s->count == s->cap)
		s->source = arena_grow(s->arena, s->source, s->count, &s->cap, sizeof *s->source);
	s->source[s->count++] = (struct source_file){.name = name, .path = path, .fd = fd};
}

static const char *absolute(struct sources *s, const char *path)
{
	const char *cwd = host_cwd(s->host);
	return path[0] == '/' || !cwd ? path : arena_printf(s->arena, "%s/%s", cwd, path);
}

static bool is_pattern(const char *s)
{
	return strpbrk(s, "*?[") != NULL;
}

static void add_folder(struct sources *s, const char *name, const char *path, int depth)
{
	struct host_list list;
	if (depth > DEPTH_MAX || host_list(s->host, path, &list) < 0)
		return;
	for (size_t i = 0; i < list.count; i++) {
		struct host_stat st;
		const char *inside = arena_printf(s->arena, "%s/%s", path, list.names[i]),
			   *shown = arena_printf(s->arena, "%s/%s", name, list.names[i]);
		if (list.names[i][0] == '.' || host_lstat(s->host, inside, &st) < 0)
			continue;
		if (st.kind == HOST_LINK && host_stat(s->host, inside, &st) < 0)
			continue;
		if (st.kind == HOST_DIR)
			add_folder(s, shown, inside, depth + 1);
		else if (st.kind == HOST_FILE && st.size)
			add(s, shown, inside, -1);
	}
}

/* A glob that the shell did not expand: in the last part of the path only. */
static size_t add_glob(struct sources *s, const char *arg)
{
	struct host_list list;
	const char *path = absolute(s, arg), *slash = strrchr(path, '/');
	const char *dir = slash == path ? "/" : arena_strndup(s->arena, path, (size_t)(slash - path));
	size_t before = s->count;
	if (host_list(s->host, dir, &list) < 0)
		return 0;
	for (size_t i = 0; i < list.count; i++)
		if (fnmatch(slash + 1, list.names[i], FNM_PERIOD) == 0)
			add(s, list.names[i], arena_printf(s->arena, "%s/%s", dir, list.names[i]), -1);
	return s->count - before;
}

/* "-", /dev/stdin and what the shell's <( ) gives: files that are open already. */
static int open_already(const char *arg)
{
	int64_t fd;
	if (strcmp(arg, "-") == 0 || strcmp(arg, "/dev/stdin") == 0)
		return STDIN_FILENO;
	if (strncmp(arg, "/dev/fd/", 8) == 0 && str_to_int(str_of(arg + 8), &fd) == 0 && fd >= 0 && fd < 65536)
		return (int)fd;
	return -1;
}

static void sources_init(struct sources *s, struct host *host, struct arena *arena)
{
	s->host = host;
	s->arena = arena;
	s->flight = flight_new(arena);
	pthread_mutex_init(&s->door, NULL);
}

/* 0, -ENODATA for a folder without logs, or negative errno. */
static int expand_one(struct sources *s, const char *arg)
{
	struct host_stat st;
	const char *path = absolute(s, arg);
	size_t before = s->count;
	int fd = open_already(arg);
	if (fd >= 0) {
		add(s, fd ? arg : "-", NULL, fd);
		return 0;
	}
	int rc = host_stat(s->host, path, &st);
	if (rc == -ENOENT && is_pattern(arg) && add_glob(s, arg))
		return 0;
	if (rc < 0)
		return rc;
	if (st.kind != HOST_DIR) {
		add(s, arg, path, -1);
		return 0;
	}
	add_folder(s, arg, path, 0);
	return s->count == before ? -ENODATA : 0;
}

int sources_expand(struct cli *c, const char **args, size_t n, struct sources *ret)
{
	sources_init(ret, c->host, c->arena);
	for (size_t i = 0; i < n; i++) {
		if (!*args[i])
			return cli_fail(c, EXIT_USAGE, "%s", cli_tr(c, "the name of a log is empty", "日志文件名为空"));
		int rc = expand_one(ret, args[i]);
		if (rc == -ENODATA && c->options.follow)
			continue; /* its logs are still to come */
		if (rc == -ENODATA)
			return cli_fail(c, EXIT_NO_INPUT, cli_tr(c, "%s: no logs in this folder", "%s：该目录中没有日志"), args[i]);
		if (rc < 0)
			return cli_fail(c, EXIT_NO_INPUT, "%s: %s", args[i], strerror(-rc));
	}
	return 0;
}

static bool has_path(const struct sources *s, const char *path, size_t guess)
{
	if (guess < s->count && s->source[guess].path && strcmp(s->source[guess].path, path) == 0)
		return true;
	for (size_t i = 0; i < s->count; i++)
		if (s->source[i].path && strcmp(s->source[i].path, path) == 0)
			return true;
	return false;
}

void sources_find_more(struct sources *s, struct host *door, struct arena *a, const char **args, size_t n)
{
	struct sources now = {.host = door, .arena = a};
	for (size_t i = 0; i < n; i++)
		if (open_already(args[i]) < 0)
			expand_one(&now, args[i]);
	for (size_t i = 0; i < now.count; i++)
		if (!has_path(s, now.source[i].path, i))
			add(s, arena_strdup(s->arena, now.source[i].name), arena_strdup(s->arena, now.source[i].path), -1);
}

struct once {
	int fd;
	struct buf kept;
};

static ssize_t read_open(void *arg, void *p, size_t n)
{
	struct once *o = arg;
	ssize_t got;
	do
		got = read(o->fd, p, n);
	while (got < 0 && errno == EINTR);
	if (got > 0)
		buf_add(&o->kept, p, (size_t)got);
	return got < 0 ? -errno : got;
}

static ssize_t read_kept(void *arg, void *p, size_t n)
{
	struct str *rest = arg;
	size_t k = rest->len < n ? rest->len : n;
	memcpy(p, rest->ptr, k);
	*rest = str_skip(*rest, k);
	return (ssize_t)k;
}

static ssize_t read_file(void *arg, void *p, size_t n)
{
	return host_file_read(arg, p, n);
}

/* The same for a file of an archive. */
static bool wants_dump(void *arg, const char *name, struct str head)
{
	(void)arg;
	return flight_is_dump(name, head);
}

static void give_dump(void *arg, const char *name, struct str bytes)
{
	struct sources *s = arg;
	pthread_mutex_lock(&s->door);
	char *kept = arena_strndup(s->arena, bytes.ptr, bytes.len);
	flight_add(s->flight, name, str_n(kept, bytes.len));
	pthread_mutex_unlock(&s->door);
}

void sources_take_dumps(struct sources *s, struct logs *logs)
{
	logs->wants = wants_dump;
	logs->give = give_dump;
	logs->taker = s;
}

/* A Flight Recorder dump is taken whole. True when it was one. */
static bool take_dump(struct sources *s, struct source_file *f, struct host_file *file)
{
	char head[4096];
	uint64_t size = host_file_size(file);
	size_t n = size < sizeof head ? (size_t)size : sizeof head;
	if (!n || size > DUMP_MAX || host_file_pread(file, 0, head, n) < 0 || !flight_is_dump(f->name, str_n(head, n)))
		return false;
	pthread_mutex_lock(&s->door);
	char *bytes = arena_alloc(s->arena, (size_t)size);
	int rc = host_file_pread(file, 0, bytes, (size_t)size);
	if (rc == 0)
		rc = flight_add(s->flight, f->name, str_n(bytes, (size_t)size));
	f->error = rc;
	f->dump = rc == 0;
	pthread_mutex_unlock(&s->door);
	return true;
}

void sources_scan(struct sources *s, size_t i, struct logs *logs)
{
	struct source_file *f = &s->source[i];
	struct host_file *file;
	if (f->text.ptr) {
		struct str rest = f->text;
		f->error = logs_scan(logs, f->number, read_kept, &rest);
		return;
	}
	if (!f->path) {
		struct once once = {.fd = f->fd, .kept = BUF_MAX(LOGS_SMALL)};
		f->error = logs_scan(logs, f->number, read_open, &once);
		if (!f->error && once.kept.len && !once.kept.truncated)
			f->text = str_n(arena_strndup(s->arena, once.kept.ptr, once.kept.len), once.kept.len);
		buf_free(&once.kept);
		return;
	}
	pthread_mutex_lock(&s->door);
	f->error = host_file_open(s->host, f->path, &file);
	pthread_mutex_unlock(&s->door);
	if (f->error)
		return;
	if (!take_dump(s, f, file))
		f->error = logs_scan(logs, f->number, read_file, file);
	host_file_close(file);
}

int sources_report(struct cli *c, const struct sources *s)
{
	size_t failed = 0;
	const char *reason = "";
	for (size_t i = 0; i < s->count; i++) {
		int error = s->source[i].error;
		if (!error)
			continue;
		failed++;
		reason = error == -EBADMSG ? cli_tr(c, "a damaged Flight Recorder dump", "损坏的 Flight Recorder 转储")
			: error == -EPERM && s->source[i].path
			? cli_tr(c, "a pickle that wants code to run: refused", "该 pickle 要求执行代码，已拒绝")
			: error == -EINVAL ? cli_tr(c, "not a regular file", "不是普通文件")
					   : strerror(-error);
		if (failed <= 5)
			cli_fail(c, 0, "%s: %s", s->source[i].name, reason);
	}
	if (failed > 5)
		cli_fail(c, 0, cli_tr(c, "and %zu more could not be read", "另有 %zu 个文件无法读取"), failed - 5);
	return failed == s->count ? EXIT_NO_INPUT : 0;
}
