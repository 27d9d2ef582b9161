/* A snapshot read back: docs/SNAPSHOTS.md has the format. A directory is read as it lies there, an archive out of memory. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/archive.h"
#include "host/door.h"
#include "host/snapshot.h"

#define DEPTH_MAX 32
#define SNAPSHOT_FILE_MAX ((size_t)64 << 20)
#define SNAPSHOT_FILES_MAX 200000

struct loading {
	struct host *h;
	const char *dir; /* of the snapshot */
	const char **ret_why;
	int bases;
	size_t files, bytes;
	bool has_index;
};

static int fail(struct loading *l, int error, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int fail(struct loading *l, int error, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	if (l->ret_why)
		*l->ret_why = arena_vprintf(l->h->arena, fmt, ap);
	va_end(ap);
	return error;
}

/* -- the index ---------------------------------------------------------------------------------------------------------- */

int snapshot_decode(struct arena *a, struct str s, const char **ret)
{
	char *out = arena_alloc(a, s.len + 1);
	size_t n = 0;
	for (size_t i = 0; i < s.len; i++) {
		uint64_t byte;
		if (s.ptr[i] == '%' && i + 2 < s.len + 0 && str_to_hex(str_slice(s, i + 1, i + 3), &byte) == 0 && i + 3 <= s.len) {
			out[n++] = (char)byte;
			i += 2;
		} else {
			out[n++] = s.ptr[i];
		}
	}
	out[n] = '\0';
	*ret = out;
	return 0;
}

static const struct {
	const char *name;
	int number;
} error_names[] = {
	{"ENOENT", ENOENT},
	{"EACCES", EACCES},
	{"EPERM", EPERM},
	{"EIO", EIO},
	{"EISDIR", EISDIR},
	{"ENOTDIR", ENOTDIR},
	{"EINVAL", EINVAL},
	{"EFBIG", EFBIG},
	{"ELOOP", ELOOP},
	{"ETIMEDOUT", ETIMEDOUT},
	{"ENXIO", ENXIO},
	{"ENODEV", ENODEV},
	{"EBUSY", EBUSY},
	{"EOPNOTSUPP", EOPNOTSUPP},
	{"ENOSYS", ENOSYS},
	{"EAGAIN", EAGAIN},
	{"ESTALE", ESTALE},
	{"EOVERFLOW", EOVERFLOW},
	{"ENAMETOOLONG", ENAMETOOLONG},
	{"EBADMSG", EBADMSG},
	{"ERANGE", ERANGE},
	{"ENOMEM", ENOMEM},
	{"ESRCH", ESRCH},
};

int snapshot_error_number(struct str name)
{
	int64_t n;
	for (size_t i = 0; i < sizeof error_names / sizeof error_names[0]; i++)
		if (str_is(name, error_names[i].name))
			return -error_names[i].number;
	return str_to_int(name, &n) == 0 && n > 0 && n < 4096 ? (int)-n : -EIO;
}

const char *snapshot_error_name(struct arena *a, int error)
{
	for (size_t i = 0; i < sizeof error_names / sizeof error_names[0]; i++)
		if (error_names[i].number == -error)
			return error_names[i].name;
	return arena_printf(a, "%d", -error);
}

static bool word(struct str *rest, struct arena *a, const char **ret)
{
	struct str w;
	if (!str_next_word(rest, &w))
		return false;
	snapshot_decode(a, w, ret);
	return true;
}

static uint64_t number(struct str *rest, uint64_t otherwise)
{
	struct str w;
	int64_t n;
	if (!str_next_word(rest, &w))
		return otherwise;
	if (str_is(w, "unlimited"))
		return UINT64_MAX;
	return str_to_int(w, &n) == 0 && n >= 0 ? (uint64_t)n : otherwise;
}

static unsigned octal(struct str *rest, unsigned otherwise)
{
	struct str w;
	if (!str_next_word(rest, &w) || !w.len || w.len > 6)
		return otherwise;
	unsigned v = 0;
	for (size_t i = 0; i < w.len; i++) {
		if (w.ptr[i] < '0' || w.ptr[i] > '7')
			return otherwise;
		v = v * 8 + (unsigned)(w.ptr[i] - '0');
	}
	return v;
}

static void put_error(struct host *h, const char *path, int error)
{
	static const enum answer_kind kinds[] = {ANSWER_FILE, ANSWER_LIST, ANSWER_STAT};
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (error == -ENOENT || kinds[i] != ANSWER_STAT) /* what may not be read can still be seen */
			memory_put(h, kinds[i], path)->error = error;
}

static void put_env(struct host *h, const char *text)
{
	const char *eq = strchr(text, '=');
	size_t n = eq ? (size_t)(eq - text) : strlen(text);
	for (size_t i = 0; i < h->env_count; i++) {
		if (strncmp(h->env[i], text, n) == 0 && h->env[i][n] == '=') {
			if (eq)
				h->env[i] = text;
			else
				h->env[i] = h->env[--h->env_count];
			return;
		}
	}
	if (!eq)
		return;
	const char **fresh = arena_array(h->arena, h->env_count + 1, sizeof *fresh);
	if (h->env_count)
		memcpy(fresh, h->env, h->env_count * sizeof *fresh);
	fresh[h->env_count++] = text;
	h->env = fresh;
}

static void put_limit(struct host *h, const char *name, struct host_limit limit)
{
	size_t i = 0;
	while (i < h->limit_count && strcmp(h->limits[i].name, name) != 0)
		i++;
	if (i == sizeof h->limits / sizeof h->limits[0])
		return;
	h->limits[i].name = name;
	h->limits[i].limit = limit;
	if (i == h->limit_count)
		h->limit_count++;
}

static void put_list(struct host *h, const char *path, struct str rest)
{
	struct buf names = BUF_MAX((size_t)8 << 20);
	const char *name;
	while (word(&rest, h->arena, &name))
		buf_add(&names, name, strlen(name) + 1);
	struct answer *a = memory_put(h, ANSWER_LIST, path);
	a->data = str_n(arena_strndup(h->arena, buf_view(&names).ptr, names.len), names.len);
	buf_free(&names);
}

static bool remove_below(const char *subject, const char *path)
{
	size_t n = strlen(path);
	return strncmp(subject, path, n) == 0 && (subject[n] == '\0' || subject[n] == '/');
}

/* Takes a path, and everything below it, out of the world: it does not exist. */
static void put_removed(struct host *h, const char *path)
{
	for (size_t i = 0; i < h->memory.count; i++) {
		struct answer *a = h->memory.all[i];
		const char *p = a->kind == ANSWER_DIGEST ? strchr(a->subject, ' ') + 1 : a->subject;
		if (a->kind != ANSWER_PROBE && remove_below(p, path))
			a->removed = true;
	}
	memory_put(h, ANSWER_STAT, path)->error = -ENOENT;
}

static const char *const probe_states[] = {"ok", "missing", "timeout", "crash", "error", "skipped"};

static int load_dir(struct loading *l, const char *dir);

static int index_line(struct loading *l, struct str line)
{
	struct host *h = l->h;
	struct str rest = line, key;
	const char *path = NULL, *text = NULL;
	if (str_starts(line, WRITTEN_BY))
		h->written_by = str_dup(h->arena, str_cut(str_skip(line, sizeof WRITTEN_BY - 1), 40));
	else if (str_starts(line, REDACTED))
		h->redacted = true;
	if (!str_next_word(&rest, &key) || key.ptr[0] == '#')
		return 0;
	struct str value = str_trim(rest);
	if (str_is(key, "davy-snapshot")) {
		if (!str_is(value, "1"))
			return fail(l, -EBADMSG, "snapshot of a newer Davy (format %.*s)", (int)value.len, value.ptr);
	} else if (str_is(key, "world")) {
		h->world_open = str_is(value, "open");
	} else if (str_is(key, "base")) {
		if (!l->dir || ++l->bases > 8)
			return fail(l, -EBADMSG, "base snapshots nest too deep, or stand in an archive");
		struct loading base = *l;
		base.dir = arena_printf(h->arena, "%s/%.*s", l->dir, (int)value.len, value.ptr);
		int rc = load_dir(&base, base.dir);
		l->files = base.files;
		l->bytes = base.bytes;
		return rc;
	} else if (str_is(key, "time")) {
		h->now = (int64_t)number(&value, 0);
	} else if (str_is(key, "uname")) {
		const char *part[5] = {"", "", "", "", ""};
		for (int i = 0; i < 5 && word(&value, h->arena, &part[i]); i++)
			;
		h->uname = (struct host_uname){part[0], part[1], part[2], part[4], part[3]};
		h->has_uname = true;
	} else if (str_is(key, "processor")) {
		h->processor = str_dup(h->arena, value);
	} else if (str_is(key, "uid")) {
		h->uid = (int64_t)number(&value, 0);
	} else if (str_is(key, "cpus")) {
		h->cpus = (int64_t)number(&value, 1);
	} else if (str_is(key, "cwd")) {
		snapshot_decode(h->arena, value, &h->cwd);
	} else if (str_is(key, "env")) {
		h->has_env = true;
		if (value.len) {
			snapshot_decode(h->arena, value, &text);
			put_env(h, text);
		}
	} else if (str_is(key, "no-env")) {
		h->has_env = false;
		h->env_count = 0;
	} else if (str_is(key, "limit")) {
		if (word(&value, h->arena, &text)) {
			uint64_t soft = number(&value, 0);
			put_limit(h, text, (struct host_limit){soft, number(&value, soft)});
		}
	} else if (str_is(key, "probe")) {
		const char *state = "";
		if (word(&value, h->arena, &text) && word(&value, h->arena, &state)) {
			struct answer *a = memory_find(&h->memory, ANSWER_PROBE, text);
			struct str output = a ? a->probe.output : str_n("", 0); /* probes/NAME.json may have been read before */
			a = memory_put(h, ANSWER_PROBE, text);
			for (size_t i = 0; i < sizeof probe_states / sizeof probe_states[0]; i++)
				if (strcmp(state, probe_states[i]) == 0)
					a->probe.status = (enum host_probe_status)i;
			a->probe.code = (int)number(&value, 0);
			a->probe.output = output;
		}
	} else if (word(&value, h->arena, &path)) {
		struct answer *a;
		if (path[0] != '/')
			return fail(l, -EBADMSG, "not an absolute path: %.*s", (int)(line.len < 120 ? line.len : 120), line.ptr);
		if (str_is(key, "error")) {
			struct str name = STR("EIO");
			str_next_word(&value, &name);
			put_error(h, path, snapshot_error_number(name));
		} else if (str_is(key, "absent")) {
			put_error(h, path, -ENOENT);
		} else if (str_is(key, "remove")) {
			put_removed(h, path);
		} else if (str_is(key, "file") || str_is(key, "stat-file")) {
			a = memory_put(h, ANSWER_STAT, path);
			a->st.kind = HOST_FILE;
			a->st.size = number(&value, 0);
			a->st.mode = octal(&value, 0644);
			a->st.mtime = (int64_t)number(&value, 0);
		} else if (str_is(key, "dir")) {
			a = memory_put(h, ANSWER_STAT, path);
			a->st.kind = HOST_DIR;
			a->st.mode = octal(&value, 0755);
		} else if (str_is(key, "char") || str_is(key, "fifo") || str_is(key, "socket") || str_is(key, "block")) {
			a = memory_put(h, ANSWER_STAT, path);
			a->st.kind = str_is(key, "char") ? HOST_CHAR
				: str_is(key, "fifo")    ? HOST_FIFO
				: str_is(key, "block")   ? HOST_BLOCK
							 : HOST_SOCKET;
			a->st.major = (unsigned)number(&value, 0);
			a->st.minor = (unsigned)number(&value, 0);
			a->st.mode = octal(&value, 0666);
			struct str state;
			if (str_next_word(&value, &state))
				memory_put(h, ANSWER_OPEN, path)->error = str_is(state, "open") ? 0 : snapshot_error_number(state);
		} else if (str_is(key, "open")) {
			struct str state = STR("ok");
			str_next_word(&value, &state);
			memory_put(h, ANSWER_OPEN, path)->error = str_is(state, "ok") ? 0 : snapshot_error_number(state);
		} else if (str_is(key, "link")) {
			if (word(&value, h->arena, &text)) {
				memory_put(h, ANSWER_LINK, path)->data = str_of(text);
				struct answer *st = memory_find(&h->memory, ANSWER_STAT, path);
				if (st)
					st->removed = true;
			}
		} else if (str_is(key, "real")) {
			if (word(&value, h->arena, &text))
				memory_put(h, ANSWER_REAL, path)->data = str_of(text);
		} else if (str_is(key, "list")) {
			put_list(h, path, value);
		} else if (str_is(key, "head")) {
			a = memory_find(&h->memory, ANSWER_FILE, path);
			if (a)
				a->head = true;
			else
				memory_put(h, ANSWER_FILE, path)->head = true;
		} else if (str_is(key, "digest-error")) {
			struct str name = STR("EIO");
			const char *file;
			if (word(&value, h->arena, &file)) {
				str_next_word(&value, &name);
				memory_put(h, ANSWER_DIGEST, arena_printf(h->arena, "%s %s", path + 1, file))
					->error = snapshot_error_number(name);
			}
		} else if (str_is(key, "fs")) {
			a = memory_put(h, ANSWER_FS, path);
			a->fs.size_bytes = number(&value, 0);
			a->fs.free_bytes = number(&value, 0);
			a->fs.available_bytes = number(&value, a->fs.free_bytes);
			a->fs.files = number(&value, 1000000);
			a->fs.files_free = number(&value, 1000000);
			a->fs.flags = number(&value, 0);
		} else if (str_is(key, "fs-error")) {
			struct str name = STR("EIO");
			str_next_word(&value, &name);
			memory_put(h, ANSWER_FS, path)->error = snapshot_error_number(name);
		} else {
			return fail(l, -EBADMSG, "unknown line in the snapshot's index: %.*s", (int)(line.len < 120 ? line.len : 120),
				line.ptr);
		}
	}
	return 0;
}

static int load_index(struct loading *l, struct str text)
{
	struct str line;
	bool first = true;
	while (str_next_line(&text, &line)) {
		if (first && !str_starts(line, "davy-snapshot "))
			return fail(l, -EBADMSG, "this is no Davy snapshot");
		first = false;
		int rc = index_line(l, line);
		if (rc < 0)
			return rc;
	}
	return first ? fail(l, -EBADMSG, "this is no Davy snapshot") : 0;
}

/* A file of the snapshot: files/PATH, digests/KIND/PATH, probes/NAME.json. */
static void member(struct loading *l, const char *name, struct str data)
{
	struct host *h = l->h;
	if (strncmp(name, "files/", 6) == 0) {
		struct answer *a = memory_put(h, ANSWER_FILE, name + 5);
		a->data = data;
		struct answer *st = memory_find(&h->memory, ANSWER_STAT, name + 5);
		if (!st || st->removed || st->error || st->st.kind != HOST_FILE) {
			st = memory_put(h, ANSWER_STAT, name + 5);
			st->st = (struct host_stat){.kind = HOST_FILE, .size = data.len, .mode = 0644};
		}
	} else if (strncmp(name, "digests/", 8) == 0) {
		const char *path = strchr(name + 8, '/');
		if (!path)
			return;
		memory_put(h, ANSWER_DIGEST, arena_printf(h->arena, "%.*s %s", (int)(path - (name + 8)), name + 8, path))->data = data;
		struct answer *st = memory_find(&h->memory, ANSWER_STAT, path);
		if (!st || st->removed || st->error) {
			st = memory_put(h, ANSWER_STAT, path);
			st->st = (struct host_stat){.kind = HOST_FILE, .size = 1 << 20, .mode = 0755};
		}
	} else if (strncmp(name, "probes/", 7) == 0) {
		const char *dot = strrchr(name, '.');
		if (!dot)
			return;
		const char *probe = arena_strndup(h->arena, name + 7, (size_t)(dot - (name + 7)));
		struct answer *a = memory_find(&h->memory, ANSWER_PROBE, probe);
		if (!a)
			a = memory_put(h, ANSWER_PROBE, probe);
		a->probe.output = data;
	}
}

/* -- directories -------------------------------------------------------------------------------------------------------- */

static int slurp(struct loading *l, const char *path, struct str *ret)
{
	struct arena *a = l->h->arena;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > SNAPSHOT_FILE_MAX) {
		close(fd);
		return -EINVAL;
	}
	if ((l->bytes += (size_t)st.st_size) > ARCHIVE_MAX_BYTES) {
		close(fd);
		return -EFBIG;
	}
	char *data = arena_alloc(a, (size_t)st.st_size + 1);
	size_t len = 0;
	for (ssize_t n; len < (size_t)st.st_size && (n = read(fd, data + len, (size_t)st.st_size - len)) > 0;)
		len += (size_t)n;
	close(fd);
	*ret = str_n(data, len);
	return 0;
}

static int load_tree(struct loading *l, const char *top, const char *below, int depth)
{
	if (depth > DEPTH_MAX)
		return fail(l, -ELOOP, "%s%s: folders nest too deep", top, below);
	const char *path = arena_printf(l->h->arena, "%s/%s", top, below);
	DIR *d = opendir(path);
	if (!d)
		return errno == ENOENT ? 0 : fail(l, -errno, "%s: %s", path, strerror(errno));
	int rc = 0;
	for (struct dirent *e; rc == 0 && (e = readdir(d));) {
		if (e->d_name[0] == '.' && (e->d_name[1] == '\0' || strcmp(e->d_name, "..") == 0))
			continue;
		if (++l->files > SNAPSHOT_FILES_MAX) {
			rc = fail(l, -EFBIG, "%s: too many files", top);
			break;
		}
		const char *name = arena_printf(l->h->arena, "%s/%s", below, e->d_name);
		const char *full = arena_printf(l->h->arena, "%s/%s", top, name);
		struct stat st;
		struct str data;
		if (lstat(full, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode)) {
			rc = load_tree(l, top, name, depth + 1);
		} else if (S_ISREG(st.st_mode) && (rc = slurp(l, full, &data)) != -EFBIG) {
			if (rc == 0)
				member(l, name, data);
			rc = 0;
		} else if (rc == -EFBIG) {
			fail(l, rc, "%s: the files are larger than 512 MiB together", top);
		} else if (S_ISLNK(st.st_mode) && strncmp(name, "files/", 6) == 0) {
			char target[PATH_MAX];
			ssize_t n = readlink(full, target, sizeof target);
			if (n > 0)
				memory_put(l->h, ANSWER_LINK, name + 5)->data = str_of(arena_strndup(l->h->arena, target, (size_t)n));
		}
	}
	closedir(d);
	return rc;
}

/* The base comes first (it is the index's first lines), then this snapshot's files, then the rest of its index: later wins. */
static int load_dir(struct loading *l, const char *dir)
{
	struct arena *a = l->h->arena;
	struct str text, line, rest;
	int rc = slurp(l, arena_printf(a, "%s/%s", dir, SNAPSHOT_INDEX), &text);
	if (rc < 0)
		return fail(l, rc == -ENOENT ? -EBADMSG : rc, "%s: no %s in it: not a Davy snapshot", dir, SNAPSHOT_INDEX);
	struct loading here = *l;
	here.dir = dir;
	rest = text;
	while (str_next_line(&rest, &line)) {
		if (str_starts(line, "base ") && (rc = index_line(&here, line)) < 0)
			return rc;
	}
	static const char *const parts[] = {"files", "digests"};
	for (size_t i = 0; i < 2; i++)
		if ((rc = load_tree(&here, dir, parts[i], 0)) < 0)
			return rc;
	rest = text;
	bool first = true;
	while (str_next_line(&rest, &line)) {
		if (first && !str_starts(line, "davy-snapshot "))
			return fail(l, -EBADMSG, "%s: no Davy snapshot", dir);
		first = false;
		if (!str_starts(line, "base ") && (rc = index_line(&here, line)) < 0)
			return rc;
	}
	/* A line "probe" forgets what the base's probe printed; what this one's printed comes after it. */
	rc = load_tree(&here, dir, "probes", 0);
	l->files = here.files;
	l->bytes = here.bytes;
	return rc < 0 ? rc : 0;
}

static int load_member(void *arg, const char *name, struct str data)
{
	struct loading *l = arg;
	while (name[0] == '.' && name[1] == '/')
		name += 2;
	if (strcmp(name, SNAPSHOT_INDEX) == 0) {
		l->has_index = true;
		return load_index(l, data);
	}
	member(l, name, data);
	return 0;
}

/* Makes every parent folder of what is known exist, so that a hand-written tree needs no lines for them. */
static void known_parents(struct host *h)
{
	size_t n = h->memory.count;
	for (size_t i = 0; i < n; i++) {
		struct answer *a = h->memory.all[i];
		if (a->removed || a->error || a->kind == ANSWER_PROBE)
			continue;
		char *path = arena_strdup(h->arena, a->kind == ANSWER_DIGEST ? strchr(a->subject, ' ') + 1 : a->subject);
		for (char *slash; (slash = strrchr(path, '/')) && slash != path;) {
			*slash = '\0';
			struct answer *st = memory_find(&h->memory, ANSWER_STAT, path);
			if (st && !st->removed && !(st->error == -ENOENT))
				break;
			if (memory_find(&h->memory, ANSWER_LINK, path))
				break;
			st = memory_put(h, ANSWER_STAT, path);
			st->st = (struct host_stat){.kind = HOST_DIR, .mode = 0755};
		}
	}
}

/* Children of each folder, from every path that is known: kept as ANSWER_LIST of the closed world. */
static int compare_subject(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void derive_lists(struct host *h)
{
	size_t n = 0;
	const char **paths = arena_array(h->arena, h->memory.count + 1, sizeof *paths);
	for (size_t i = 0; i < h->memory.count; i++) {
		struct answer *a = h->memory.all[i];
		bool there = !a->removed &&
			((a->kind == ANSWER_STAT && !a->error) || (a->kind == ANSWER_LINK && !a->error) ||
				(a->kind == ANSWER_FILE && a->error && a->error != -ENOENT) ||
				(a->kind == ANSWER_LIST && a->error && a->error != -ENOENT));
		if (there)
			paths[n++] = a->subject;
	}
	if (!n)
		return;
	qsort(paths, n, sizeof *paths, compare_subject);
	/* Grouped by parent: gather the names per parent in one pass over a hash of buffers. */
	for (size_t i = 0; i < n; i++) {
		if (i && strcmp(paths[i], paths[i - 1]) == 0)
			continue;
		const char *slash = strrchr(paths[i], '/');
		if (!slash || !slash[1])
			continue;
		const char *parent = slash == paths[i] ? "/" : arena_strndup(h->arena, paths[i], (size_t)(slash - paths[i]));
		struct answer *list = memory_find(&h->memory, ANSWER_LIST, parent);
		if (list && (list->error || list->head)) /* head marks a listing that was recorded: complete as it is */
			continue;
		if (!list || list->removed)
			list = memory_put(h, ANSWER_LIST, parent);
		size_t len = strlen(slash + 1) + 1;
		/* Room grows by doubling inside the arena: st.size holds the capacity. */
		if (list->data.len + len > list->st.size) {
			size_t cap = (list->data.len + len) * 2;
			char *fresh = arena_alloc(h->arena, cap);
			if (list->data.len)
				memcpy(fresh, list->data.ptr, list->data.len);
			list->data.ptr = fresh;
			list->st.size = cap;
		}
		memcpy((char *)list->data.ptr + list->data.len, slash + 1, len);
		list->data.len += len;
	}
}

bool host_is_snapshot(const char *path)
{
	struct stat st;
	char head[512], index[PATH_MAX];
	if (stat(path, &st) < 0)
		return false;
	if (S_ISDIR(st.st_mode))
		return snprintf(index, sizeof index, "%s/%s", path, SNAPSHOT_INDEX) < (int)sizeof index && access(index, F_OK) == 0;
	int fd = S_ISREG(st.st_mode) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	ssize_t n = fd < 0 ? 0 : pread(fd, head, sizeof head, 0);
	if (fd >= 0)
		close(fd);
	return n > 0 && archive_is_one(str_n(head, (size_t)n));
}

/* What follows from what was loaded: parents exist, folders have listings. */
static void complete(struct host *h)
{
	/* Recorded listings are complete; mark them before the derived ones are made. Overlays and hand-written trees have none. */
	for (size_t i = 0; i < h->memory.count; i++)
		if (h->memory.all[i]->kind == ANSWER_LIST && !h->memory.all[i]->error)
			h->memory.all[i]->head = h->world_open;
	known_parents(h);
	derive_lists(h);
	if (h->env_count)
		qsort(h->env, h->env_count, sizeof *h->env, compare_subject);
}

static int loaded(struct loading *l, int rc)
{
	if (rc == 0 && !l->has_index)
		rc = fail(l, -EBADMSG, "no %s in it: not a Davy snapshot", SNAPSHOT_INDEX);
	if (rc == 0)
		complete(l->h);
	return rc;
}

int replay_load(struct host *h, const char *path, const char **ret_why)
{
	struct stat st;
	struct loading l = {.h = h, .ret_why = ret_why};
	if (stat(path, &st) < 0)
		return fail(&l, -errno, "%s", strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return loaded(&l, archive_read(h->arena, path, load_member, &l, ret_why));
	int rc = load_dir(&l, path);
	if (rc == 0)
		complete(h);
	return rc;
}

int replay_load_members(struct host *h, const struct host_member *members, size_t count, const char **ret_why)
{
	struct loading l = {.h = h, .ret_why = ret_why};
	int rc = 0;
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = load_member(&l, members[i].name, members[i].data);
	return loaded(&l, rc);
}

int replay_load_bytes(struct host *h, struct str bytes, const char **ret_why)
{
	struct loading l = {.h = h, .ret_why = ret_why};
	return loaded(&l, archive_read_bytes(h->arena, bytes, load_member, &l, ret_why));
}

/* -- questions ---------------------------------------------------------------------------------------------------------- */

static int link_in_world(void *arg, const char *path, struct str *ret)
{
	struct host *h = arg;
	struct answer *a = memory_find(&h->memory, ANSWER_LINK, path);
	if (!a || a->removed || a->error)
		return -EINVAL;
	*ret = a->data;
	return 0;
}

/* Nothing is known of the path: it does not exist (closed world, or a listing or an absent parent says so), or nobody asked. */
static int unknown(struct host *h, const char *path)
{
	if (!h->world_open)
		return -ENOENT;
	const char *child = path;
	for (;;) {
		const char *slash = strrchr(child, '/');
		if (!slash || !slash[1])
			return -ENODATA;
		const char *parent = slash == child ? "/" : arena_strndup(h->arena, child, (size_t)(slash - child));
		struct answer *st = memory_find(&h->memory, ANSWER_STAT, parent), *list = memory_find(&h->memory, ANSWER_LIST, parent);
		if ((st && st->error == -ENOENT) || (list && list->error == -ENOENT))
			return -ENOENT;
		if (list && !list->error && !list->removed && list->head) {
			for (const char *p = list->data.ptr; p < list->data.ptr + list->data.len; p += strlen(p) + 1)
				if (strcmp(p, slash + 1) == 0)
					return -ENODATA;
			return -ENOENT;
		}
		if (strcmp(parent, "/") == 0)
			return -ENODATA;
		child = parent;
	}
}

int replay_find(struct host *h, enum answer_kind kind, const char *path, const struct answer **ret)
{
	const struct answer *a = memory_find(&h->memory, kind, path);
	if (!a || a->removed) {
		const char *real;
		int rc = path_resolve(h->arena, path, kind != ANSWER_LINK, link_in_world, h, &real);
		if (rc < 0)
			return rc;
		a = memory_find(&h->memory, kind, real);
		if (!a || a->removed) {
			struct answer *st = memory_find(&h->memory, ANSWER_STAT, real);
			if (st && !st->removed && st->error)
				return st->error;
			if (st && !st->removed && kind == ANSWER_FILE)
				return st->st.kind == HOST_DIR ? -EISDIR : st->st.kind == HOST_FILE ? -ENODATA : -EINVAL;
			if (st && !st->removed && kind == ANSWER_LINK)
				return -EINVAL;
			if (st && !st->removed)
				return -ENODATA;
			return unknown(h, real);
		}
	}
	if (a->error && kind != ANSWER_OPEN)
		return a->error;
	*ret = a;
	return 0;
}

int replay_list(struct host *h, const char *path, struct str *ret_names)
{
	const struct answer *a;
	int rc = replay_find(h, ANSWER_LIST, path, &a);
	if (rc == -ENODATA && !h->world_open) { /* known, and nothing below it */
		struct host_stat st;
		rc = replay_stat(h, path, true, &st);
		if (rc == 0 && st.kind == HOST_DIR) {
			*ret_names = str_n("", 0);
			return 0;
		}
		return rc < 0 ? rc : -ENOTDIR;
	}
	if (rc < 0)
		return rc;
	/* Sorted, as the live door does. */
	size_t n = 0, at = 0;
	for (size_t i = 0; i < a->data.len; i++)
		n += a->data.ptr[i] == '\0';
	const char **names = arena_array(h->arena, n + 1, sizeof *names);
	size_t i = 0;
	for (const char *p = a->data.ptr; i < n; p += strlen(p) + 1)
		names[i++] = p;
	if (n)
		qsort(names, n, sizeof *names, compare_subject);
	char *text = arena_alloc(h->arena, a->data.len + 1);
	for (i = 0; i < n; i++) {
		size_t len = strlen(names[i]) + 1;
		if (i && strcmp(names[i], names[i - 1]) == 0) /* listed, and known by itself */
			continue;
		memcpy(text + at, names[i], len);
		at += len;
	}
	*ret_names = str_n(text, at);
	return 0;
}

int replay_stat(struct host *h, const char *path, bool follow, struct host_stat *ret)
{
	const char *real;
	int rc = path_resolve(h->arena, path, follow, link_in_world, h, &real);
	if (rc < 0)
		return rc;
	if (!follow) {
		struct answer *link = memory_find(&h->memory, ANSWER_LINK, real);
		if (link && !link->removed && !link->error) {
			*ret = (struct host_stat){.kind = HOST_LINK, .size = link->data.len, .mode = 0777};
			return 0;
		}
	}
	struct answer *a = memory_find(&h->memory, ANSWER_STAT, path);
	if (!a || a->removed)
		a = memory_find(&h->memory, ANSWER_STAT, real);
	if (!a || a->removed) {
		struct answer *file = memory_find(&h->memory, ANSWER_FILE, real), *list = memory_find(&h->memory, ANSWER_LIST, real);
		if (file && !file->removed && (!file->error || (file->error != -ENOENT && file->error != -EISDIR))) {
			*ret = (struct host_stat){.kind = HOST_FILE, .size = file->data.len, .mode = 0644};
			return 0;
		}
		if (list && !list->removed && (!list->error || list->error == -EACCES)) {
			*ret = (struct host_stat){.kind = HOST_DIR, .mode = 0755};
			return 0;
		}
		return unknown(h, real);
	}
	if (a->error)
		return a->error;
	*ret = a->st;
	/* Hand-written worlds have no inode numbers: the path stands for one. */
	if (!ret->inode) {
		uint64_t x = 1469598103934665603u;
		for (const char *p = real; *p; p++)
			x = (x ^ (unsigned char)*p) * 1099511628211u;
		ret->inode = x;
	}
	return 0;
}

int replay_realpath(struct host *h, const char *path, struct str *ret)
{
	struct answer *a = memory_find(&h->memory, ANSWER_REAL, path);
	if (a && !a->removed) {
		if (a->error)
			return a->error;
		*ret = a->data;
		return 0;
	}
	const char *real;
	struct host_stat st;
	int rc = path_resolve(h->arena, path, true, link_in_world, h, &real);
	if (rc < 0)
		return rc;
	rc = replay_stat(h, real, true, &st);
	if (rc < 0)
		return rc;
	*ret = str_of(real);
	return 0;
}
