/* The live machine, or a file system below a directory. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/door.h"
#include "host/processor.h"

#define LIST_MAX 65536
#define LIST_BYTES_MAX ((size_t)8 << 20)
#define GUARD_DEADLINE_MS 1000

extern char **environ;

/* -- file systems that may hang ------------------------------------------------------------------------------------------
 * A dead NFS server or a hung driver blocks whoever asks. The first question below such a mount is asked by a child with a deadline; when
 * it does not answer, everything below is -ETIMEDOUT from then on. */

static bool may_hang(struct str type)
{
	static const char *const types[] = {
		"nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "gpfs", "beegfs", "glusterfs", "9p", "afs", "orangefs", "pvfs2"};
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (str_is(type, types[i]))
			return true;
	return str_starts(type, "fuse") && !str_is(type, "fusectl");
}

static void add_guard(struct host *h, const char *path)
{
	size_t cap = h->guard_count;
	if ((h->guard_count & (h->guard_count - 1)) == 0) {
		cap = h->guard_count ? h->guard_count * 2 : 8;
		struct mount_guard *fresh = arena_array(h->arena, cap, sizeof *fresh);
		if (h->guard_count)
			memcpy(fresh, h->guards, h->guard_count * sizeof *fresh);
		h->guards = fresh;
	}
	h->guards[h->guard_count++] = (struct mount_guard){path, 0};
}

static void read_guards(struct host *h)
{
	h->guards_read = true;
	if (h->root)
		return;
	add_guard(h, "/proc/driver/nvidia");
	int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	struct buf b = BUF_MAX((size_t)4 << 20);
	char chunk[16384];
	for (ssize_t n; (n = read(fd, chunk, sizeof chunk)) > 0;)
		buf_add(&b, chunk, (size_t)n);
	close(fd);
	struct str rest = buf_view(&b), line, point;
	while (str_next_line(&rest, &line)) {
		size_t dash = str_find(line, " - ", 0);
		if (dash == SIZE_MAX)
			continue;
		struct str left = str_slice(line, 0, dash), right = str_skip(line, dash + 3), type;
		for (int i = 0; i < 5; i++)
			if (!str_next_word(&left, &point))
				point = str_n("", 0);
		if (str_next_word(&right, &type) && may_hang(type) && point.len > 1)
			add_guard(h, str_dup(h->arena, point));
	}
	buf_free(&b);
}

/* True when a child could look at the place within the deadline. */
static bool answers(const char *path)
{
	int pipes[2];
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return true;
	pid_t pid = fork();
	if (pid == 0) {
		struct stat st;
		char chunk[256];
		int rc = stat(path, &st);
		if (rc == 0 && strcmp(path, "/proc/driver/nvidia") == 0) {
			int fd = open("/proc/driver/nvidia/version", O_RDONLY | O_CLOEXEC);
			if (fd >= 0 && read(fd, chunk, sizeof chunk) < 0)
				rc = -1;
		}
		if (write(pipes[1], "x", 1) != 1)
			_exit(1);
		_exit(rc != 0);
	}
	close(pipes[1]);
	bool ok = true;
	if (pid > 0) {
		struct pollfd p = {pipes[0], POLLIN, 0};
		for (int waited = GUARD_DEADLINE_MS; !(ok = poll(&p, 1, GUARD_DEADLINE_MS) > 0); waited += GUARD_DEADLINE_MS)
			if (waited >= STARVED_TIMES * GUARD_DEADLINE_MS || !host_child_starves(pid, waited))
				break;
		if (!ok)
			kill(pid, SIGKILL);
		waitpid(pid, NULL, ok ? 0 : WNOHANG);
	}
	close(pipes[0]);
	return ok;
}

static int guard(struct host *h, const char *path)
{
	if (!h->guards_read)
		read_guards(h);
	for (size_t i = 0; i < h->guard_count; i++) {
		struct mount_guard *g = &h->guards[i];
		size_t n = strlen(g->path);
		if (strncmp(path, g->path, n) != 0 || (path[n] && path[n] != '/'))
			continue;
		struct stat st;
		if (!g->state && strcmp(g->path, "/proc/driver/nvidia") == 0 && lstat(g->path, &st) < 0)
			g->state = 1; /* the driver is asked only when one of its files is opened */
		if (!g->state)
			g->state = answers(g->path) ? 1 : -1;
		if (g->state < 0)
			return -ETIMEDOUT;
	}
	return 0;
}

/* -- paths ------------------------------------------------------------------------------------------------------------- */

static int read_link(const char *real, struct arena *a, struct str *ret)
{
	char target[PATH_MAX];
	ssize_t n = readlink(real, target, sizeof target);
	if (n < 0)
		return -errno;
	*ret = str_of(arena_strndup(a, target, (size_t)n));
	return 0;
}

static int link_below_root(void *arg, const char *path, struct str *ret)
{
	struct host *h = arg;
	int rc = read_link(arena_printf(h->arena, "%s%s", h->root, path), h->arena, ret);
	return rc == -ENOENT || rc == -ENOTDIR ? -EINVAL : rc; /* the end of the path may be missing: the caller's call says so */
}

/* The path of this machine that stands for `path`. Below a root, links are followed here, so that they cannot leave it. */
static int real_path(struct host *h, const char *path, bool follow, const char **ret)
{
	if (path[0] != '/')
		return -EINVAL;
	if (!h->root) {
		*ret = path;
		return guard(h, path);
	}
	const char *inside;
	int rc = path_resolve(h->arena, path, follow, link_below_root, h, &inside);
	if (rc < 0)
		return rc;
	*ret = arena_printf(h->arena, "%s%s", h->root, inside);
	return 0;
}

static void fill_stat(const struct stat *st, struct host_stat *ret)
{
	*ret = (struct host_stat){
		.kind = S_ISREG(st->st_mode)    ? HOST_FILE
			: S_ISDIR(st->st_mode)  ? HOST_DIR
			: S_ISLNK(st->st_mode)  ? HOST_LINK
			: S_ISCHR(st->st_mode)  ? HOST_CHAR
			: S_ISBLK(st->st_mode)  ? HOST_BLOCK
			: S_ISFIFO(st->st_mode) ? HOST_FIFO
						: HOST_SOCKET,
		.size = (uint64_t)st->st_size,
		.mode = st->st_mode & 07777,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.major = (unsigned)(st->st_rdev >> 8 & 0xfff),
		.minor = (unsigned)((st->st_rdev & 0xff) | (st->st_rdev >> 12 & 0xfff00)),
		.inode = st->st_ino,
		.device = st->st_dev,
		.mtime = st->st_mtime,
	};
}

int live_stat(struct host *h, const char *path, bool follow, struct host_stat *ret)
{
	const char *real;
	struct stat st;
	int rc = real_path(h, path, follow, &real);
	if (rc < 0)
		return rc;
	if ((follow && !h->root ? stat(real, &st) : lstat(real, &st)) < 0)
		return -errno;
	fill_stat(&st, ret);
	return 0;
}

/* Opens a regular file and nothing else: a FIFO would wait for a writer, a device may do things when it is opened. */
int live_open(struct host *h, const char *path, int *ret_fd, struct stat *ret_st)
{
	const char *real;
	struct stat st;
	int rc = real_path(h, path, true, &real);
	if (rc < 0)
		return rc;
	const struct seen *seen = seen_find(h, path, true);
	bool kernel = strncmp(real, "/proc/", 6) == 0 || strncmp(real, "/sys/", 5) == 0;
	if (!kernel && !(seen && !seen->error && seen->st.kind == HOST_FILE)) {
		if (stat(real, &st) < 0)
			return -errno;
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		if (!S_ISREG(st.st_mode))
			return -EINVAL;
	}
	int fd = open(real, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (h->root ? O_NOFOLLOW : 0));
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		rc = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
		close(fd);
		return rc;
	}
	*ret_st = st;
	*ret_fd = fd;
	return 0;
}

/* What is read stays in memory until the end: thousands of files, each within its bound, must not fill it. */
static bool take_bytes(struct host *h, size_t n)
{
	if (n > HOST_CONTENTS_MAX - h->contents_bytes)
		return false;
	h->contents_bytes += n;
	return true;
}

int live_read(struct host *h, const char *path, size_t max, bool cut, struct str *ret)
{
	struct stat st;
	int fd, rc = live_open(h, path, &fd, &st);
	if (rc < 0)
		return rc;
	/* Files of /proc say size 0: read until the end, one byte further than allowed to notice what is too long. */
	size_t cap = 4096, len = 0;
	if (st.st_size > 0)
		cap = (uint64_t)st.st_size > max ? max + 1 : (size_t)st.st_size + 1;
	if (!cut && st.st_size > 0 && (uint64_t)st.st_size > max && strncmp(path, "/sys/", 5) != 0) {
		close(fd);
		return -EFBIG;
	}
	/* An attribute of /sys comes in one piece; of an ordinary file the size is known. Others are read until nothing comes. */
	bool one_piece = strncmp(path, "/sys/", 5) == 0 && strncmp(path, "/sys/fs/", 8) != 0;
	size_t whole = st.st_size > 0 && strncmp(path, "/proc/", 6) != 0 ? (size_t)st.st_size : SIZE_MAX;
	if (!take_bytes(h, cap)) {
		close(fd);
		return -EFBIG;
	}
	char *data = arena_raw(h->arena, cap + 1);
	for (;;) {
		ssize_t n = read(fd, data + len, cap - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			rc = errno == EAGAIN ? -ETIMEDOUT : -errno;
			break;
		}
		len += (size_t)n;
		if (n == 0 || len > max || len == whole || (one_piece && len < cap))
			break;
		if (len == cap) {
			size_t more = cap * 4 > max + 1 ? max + 1 : cap * 4;
			if (!take_bytes(h, more)) {
				rc = -EFBIG;
				break;
			}
			char *fresh = arena_alloc(h->arena, more + 1);
			memcpy(fresh, data, len);
			data = fresh;
			cap = more;
		}
	}
	close(fd);
	if (rc < 0)
		return rc;
	if (len > max) {
		if (!cut)
			return -EFBIG;
		len = max;
	}
	data[len] = '\0';
	*ret = str_n(data, len);
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int live_list(struct host *h, const char *path, struct str *ret_names)
{
	const char *real;
	int rc = real_path(h, path, true, &real);
	if (rc < 0)
		return rc;
	DIR *d = opendir(real);
	if (!d)
		return -errno;
	size_t count = 0, cap = 0, bytes = 0;
	const char **names = NULL;
	errno = 0;
	for (struct dirent *e; (e = readdir(d));) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (count == LIST_MAX || bytes > LIST_BYTES_MAX)
			break;
		if (!names || count == cap)
			names = arena_grow(h->arena, names, count, &cap, sizeof *names);
		names[count++] = arena_strdup(h->arena, e->d_name);
		bytes += strlen(e->d_name) + 1;
	}
	closedir(d);
	if (count)
		qsort(names, count, sizeof *names, compare_names);
	char *text = arena_alloc(h->arena, bytes + 1);
	size_t at = 0;
	for (size_t i = 0; i < count; i++) {
		size_t n = strlen(names[i]) + 1;
		memcpy(text + at, names[i], n);
		at += n;
	}
	*ret_names = str_n(text, at);
	return take_bytes(h, 2 * at + count * sizeof *names) ? 0 : -EFBIG;
}

int live_readlink(struct host *h, const char *path, struct str *ret)
{
	const char *real;
	int rc = real_path(h, path, false, &real);
	return rc < 0 ? rc : read_link(real, h->arena, ret);
}

int live_realpath(struct host *h, const char *path, struct str *ret)
{
	if (h->root) {
		const char *inside;
		struct stat st;
		int rc = path_resolve(h->arena, path, true, link_below_root, h, &inside);
		if (rc < 0)
			return rc;
		if (lstat(arena_printf(h->arena, "%s%s", h->root, inside), &st) < 0)
			return -errno;
		*ret = str_of(inside);
		return 0;
	}
	int rc = guard(h, path);
	if (rc < 0)
		return rc;
	char real[PATH_MAX];
	if (!realpath(path, real))
		return -errno;
	*ret = str_of(arena_strdup(h->arena, real));
	return 0;
}

int live_try_open(struct host *h, const char *path)
{
	const char *real;
	struct stat st;
	int rc = real_path(h, path, true, &real);
	if (rc < 0)
		return rc;
	if (stat(real, &st) < 0)
		return -errno;
	if (!S_ISCHR(st.st_mode) || h->root)
		return S_ISCHR(st.st_mode) ? -EOPNOTSUPP : -EINVAL;
	/* Opening would start an idle GPU and may hang with a broken one. The kernel asks the device cgroup for access() too
	 * (inode_permission), with EPERM. */
	return access(real, R_OK | W_OK) < 0 ? -errno : 0;
}

int live_statfs(struct host *h, const char *path, struct host_fs *ret)
{
	const char *real;
	struct statfs fs;
	int rc = real_path(h, path, true, &real);
	if (rc < 0)
		return rc;
	if (statfs(real, &fs) < 0)
		return -errno;
	uint64_t unit = fs.f_frsize ? (uint64_t)fs.f_frsize : (uint64_t)fs.f_bsize;
	*ret = (struct host_fs){fs.f_blocks * unit, fs.f_bfree * unit, fs.f_bavail * unit, fs.f_files, fs.f_ffree, (uint64_t)fs.f_flags};
	return 0;
}

/* -- the process -------------------------------------------------------------------------------------------------------- */

static void read_limits(struct host *h)
{
	static const struct {
		const char *name;
		int resource;
	} all[] = {{"memlock", RLIMIT_MEMLOCK}, {"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC}, {"stack", RLIMIT_STACK},
		{"core", RLIMIT_CORE}, {"as", RLIMIT_AS}};
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		struct rlimit r;
		if (getrlimit((__rlimit_resource_t)all[i].resource, &r) < 0)
			continue;
		h->limits[h->limit_count].name = all[i].name;
		h->limits[h->limit_count++].limit = (struct host_limit){
			r.rlim_cur == RLIM_INFINITY ? UINT64_MAX : r.rlim_cur,
			r.rlim_max == RLIM_INFINITY ? UINT64_MAX : r.rlim_max,
		};
	}
}

void host_hold_standard_files(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/", O_PATH) != fd) /* reading and writing an O_PATH file is EBADF, as before */
			return;
}

void live_process(struct host *h)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	h->now = t.tv_sec;
	if (h->root)
		return;
	size_t n = 0, cap = 0;
	for (char **e = environ; e && *e; e++) {
		if (!h->env || n == cap)
			h->env = arena_grow(h->arena, h->env, n, &cap, sizeof *h->env);
		h->env[n++] = *e;
	}
	h->env_count = n;
	if (n)
		qsort(h->env, n, sizeof *h->env, compare_names);
	h->has_env = true;

	static struct utsname u;
	if (uname(&u) == 0) {
		h->uname = (struct host_uname){u.sysname, u.nodename, u.release, u.version, u.machine};
		h->has_uname = true;
	}
	h->processor = processor_flags(h->arena);
	read_limits(h);
	h->uid = (int64_t)getuid();
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof set, &set) == 0)
		h->cpus = CPU_COUNT(&set);
	char cwd[PATH_MAX];
	if (getcwd(cwd, sizeof cwd) && cwd[0] == '/')
		h->cwd = arena_strdup(h->arena, cwd);
}
