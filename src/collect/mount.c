/* File systems that matter to a job: /dev/shm, /tmp, home, the environment's prefix, the working directory; segments in /dev/shm. */
#include <errno.h>

#include "collect/collect.h"

#define SEGMENTS_MAX 2000

struct mount_entry {
	struct str point, options, type, source, super;
};

/* One line of /proc/self/mountinfo: id parent major:minor root point options [tags] - type source super. */
static bool parse_entry(struct str line, struct mount_entry *ret)
{
	struct str word, left, right;
	size_t dash = str_find(line, " - ", 0);
	if (dash == SIZE_MAX)
		return false;
	left = str_slice(line, 0, dash);
	right = str_skip(line, dash + 3);
	for (int i = 0; i < 6; i++) {
		if (!str_next_word(&left, &word))
			return false;
		if (i == 4)
			ret->point = word;
		if (i == 5)
			ret->options = word;
	}
	ret->super = str_n("", 0);
	if (!str_next_word(&right, &ret->type) || !str_next_word(&right, &ret->source))
		return false;
	str_next_word(&right, &ret->super);
	return true;
}

/* Blanks and the like stand as \040 in mountinfo. */
static struct str unescape(struct arena *a, struct str s)
{
	char *out = arena_alloc(a, s.len + 1);
	size_t n = 0;
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] == '\\' && i + 3 < s.len && s.ptr[i + 1] >= '0' && s.ptr[i + 1] <= '3') {
			out[n++] = (char)((s.ptr[i + 1] - '0') << 6 | (s.ptr[i + 2] - '0') << 3 | (s.ptr[i + 3] - '0'));
			i += 3;
		} else {
			out[n++] = s.ptr[i];
		}
	}
	return str_n(out, n);
}

static bool below(struct str path, struct str point)
{
	return str_is(point, "/") ||
		(path.len >= point.len && memcmp(path.ptr, point.ptr, point.len) == 0 &&
			(path.len == point.len || path.ptr[point.len] == '/'));
}

/* The mount that holds a path: the longest mount point; of equal ones the last. */
static bool find_mount(struct collect *c, struct str table, struct str path, struct mount_entry *ret)
{
	struct str line;
	bool found = false;
	while (str_next_line(&table, &line)) {
		struct mount_entry m;
		if (!parse_entry(line, &m))
			continue;
		m.point = unescape(c->arena, m.point);
		if (below(path, m.point) && (!found || m.point.len >= ret->point.len)) {
			*ret = m;
			found = true;
		}
	}
	return found;
}

static bool has_option(struct str options, const char *name)
{
	struct str option;
	while (str_next_field(&options, ',', &option))
		if (str_is(option, name))
			return true;
	return false;
}

/* "65536k" in the super options of a tmpfs. */
static bool size_option(struct str options, int64_t *ret)
{
	struct str option;
	while (str_next_field(&options, ',', &option)) {
		int64_t n, unit = 1;
		if (!str_starts(option, "size="))
			continue;
		option = str_skip(option, 5);
		char last = option.len ? option.ptr[option.len - 1] : 0;
		unit = last == 'k' ? 1024 : last == 'm' ? 1 << 20 : last == 'g' ? 1 << 30 : 1;
		if (str_to_int(str_slice(option, 0, option.len - (unit > 1)), &n) == 0 && n >= 0 && n < INT64_MAX / unit) {
			*ret = n * unit;
			return true;
		}
	}
	return false;
}

static void add_mount(struct collect *c, struct str table, const char *path, const char *role)
{
	struct facts_row *row = facts_add(c->facts, TABLE_mount);
	struct mount_entry m;
	struct host_fs fs;
	const char *origin = "/proc/self/mountinfo";
	facts_text(row, mount__path, path, path);
	facts_text(row, mount__role, role, path);
	bool found = table.ptr && find_mount(c, table, str_of(path), &m);
	if (found) {
		facts_str(row, mount__device, m.source, origin);
		facts_str(row, mount__fs_type, m.type, origin);
		facts_text(row, mount__options,
			arena_printf(c->arena, "%.*s,%.*s", (int)m.options.len, m.options.ptr, (int)m.super.len, m.super.ptr), origin);
		facts_bool(row, mount__noexec, has_option(m.options, "noexec"), origin);
		facts_bool(row, mount__read_only, has_option(m.options, "ro") || has_option(m.super, "ro"), origin);
	}
	int rc = host_statfs(c->host, path, &fs);
	if (rc < 0) {
		int64_t size;
		facts_gap_errno(row, mount__free_bytes, rc, path);
		facts_gap_errno(row, mount__size_bytes, rc, path);
		if (found && str_is(m.point, path) && str_is(m.type, "tmpfs") && size_option(m.super, &size))
			facts_int(row, mount__size_bytes, size, origin);
		return;
	}
	facts_int(row, mount__size_bytes, (int64_t)fs.size_bytes, path);
	facts_int(row, mount__free_bytes, (int64_t)fs.available_bytes, path);
	facts_int(row, mount__used_bytes, (int64_t)(fs.size_bytes - fs.free_bytes), path);
	if (fs.files)
		facts_int(row, mount__inodes_free, (int64_t)fs.files_free, path);
}

/* -- segments in /dev/shm ------------------------------------------------------------------------------------------------ */

static bool ours(const char *name)
{
	static const char *const prefixes[] = {
		"nccl-", "rccl-", "torch_", "psm_", "sem.mp-", "__KMP_REGISTERED_LIB_", "cuda.shm.", "vader_segment.", "ucx_shm_"};
	for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

/* Some process maps or holds it: asked only of processes that may be looked into; when one may not, the answer is unknown. */
static void set_stale(struct collect *c, struct facts_row **rows, const char **paths, size_t n)
{
	struct host_list processes;
	bool *used = arena_array(c->arena, n + 1, sizeof *used);
	int rc = host_list(c->host, "/proc", &processes), denied = 0;
	for (size_t i = 0; rc == 0 && i < processes.count; i++) {
		int64_t pid;
		struct str maps;
		if (str_to_int(str_of(processes.names[i]), &pid) < 0)
			continue;
		int got = host_read_head(c->host, arena_printf(c->arena, "/proc/%s/maps", processes.names[i]), (size_t)4 << 20, &maps);
		denied += got == -EACCES || got == -EPERM;
		for (size_t k = 0; got == 0 && k < n; k++)
			used[k] |= str_has(maps, paths[k]);
	}
	for (size_t k = 0; k < n; k++) {
		if (rc < 0)
			facts_gap_errno(rows[k], shm_segment__stale, rc, "/proc");
		else if (!used[k] && denied)
			facts_gap(rows[k], shm_segment__stale, GAP_DENIED, "/proc/*/maps", "processes of other users");
		else
			facts_bool(rows[k], shm_segment__stale, !used[k], "/proc/*/maps");
	}
}

static void segments(struct collect *c)
{
	struct host_list list;
	int rc = host_list(c->host, "/dev/shm", &list);
	if (rc < 0) {
		facts_table_gap_errno(c->facts, TABLE_shm_segment, rc, "/dev/shm");
		return;
	}
	facts_table_read(c->facts, TABLE_shm_segment);
	struct facts_row **rows = arena_array(c->arena, SEGMENTS_MAX, sizeof *rows);
	const char **paths = arena_array(c->arena, SEGMENTS_MAX, sizeof *paths);
	size_t n = 0;
	for (size_t i = 0; i < list.count && n < SEGMENTS_MAX; i++) {
		struct host_stat st;
		const char *path = arena_printf(c->arena, "/dev/shm/%s", list.names[i]);
		if (!ours(list.names[i]) || host_stat(c->host, path, &st) < 0 || st.kind != HOST_FILE)
			continue;
		struct facts_row *row = facts_add(c->facts, TABLE_shm_segment);
		facts_text(row, shm_segment__path, path, "/dev/shm");
		facts_int(row, shm_segment__size_bytes, (int64_t)st.size, path);
		if (host_now(c->host) > 0 && st.mtime > 0)
			facts_int(row, shm_segment__age_s, host_now(c->host) - st.mtime, path);
		rows[n] = row;
		paths[n++] = path;
	}
	if (n)
		set_stale(c, rows, paths, n);
}

void collect_mount(struct collect *c)
{
	struct str table = {0};
	int rc = host_read(c->host, "/proc/self/mountinfo", (size_t)4 << 20, &table);
	if (rc < 0) {
		facts_table_gap_errno(c->facts, TABLE_mount, rc, "/proc/self/mountinfo");
		table.ptr = NULL;
	}
	const char *home = host_env(c->host, "HOME"), *tmp = host_env(c->host, "TMPDIR"), *cwd = host_cwd(c->host);
	const struct facts_row *python = c->facts->first[TABLE_python];
	const char *prefix = python ? facts_get_text(python, python__prefix) : NULL;
	struct {
		const char *path, *role;
	} places[] = {{"/dev/shm", "shm"}, {tmp && tmp[0] == '/' ? tmp : "/tmp", "tmp"}, {"/", "root"},
		{home && home[0] == '/' ? home : NULL, "home"}, {prefix, "prefix"}, {cwd, "cwd"}};
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
		if (places[i].path && host_is_dir(c->host, places[i].path))
			add_mount(c, table, places[i].path, places[i].role);
	segments(c);
}
