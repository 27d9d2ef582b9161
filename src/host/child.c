#include "host/child.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/door.h"

#define OUT_MAX ((size_t)4 << 20)
#define LOG_MAX ((size_t)16 << 20)
#define MARK "DAVY_CHILD_OF="
#define LINGER_MS 1000 /* for what it left running and still writes */
#define TERM_MS 1500   /* from SIGTERM to SIGKILL */
#define DEATH_MS 500   /* from SIGKILL until it is left behind */

extern char **environ;

static volatile sig_atomic_t stopped_by;

int host_stopped_by(void)
{
	return stopped_by;
}

static void on_signal(int number)
{
	stopped_by = number;
}

static void catch_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction old, action = {.sa_handler = on_signal};
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(numbers[i], &action, NULL);
}

/* -- start -------------------------------------------------------------------------------------------------------------------- */

struct running {
	struct host_child *child;
	pid_t pid;
	int fd[2]; /* its standard output and error; -1: ended */
	struct buf text[2];
	double started_ms, heard_ms, reaped_ms, term_ms, kill_ms;
	double more_ms; /* beyond its deadline */
	int status;
	bool reaped;
	enum host_child_end why; /* LATE or STOPPED once it was told to end */
};

static bool same_name(const char *entry, const char *change)
{
	size_t n = strcspn(change, "=");
	return strncmp(entry, change, n) == 0 && entry[n] == '=';
}

static char **environment(struct arena *a, const char *const *changes)
{
	size_t n = 0, m = 0, k = 0;
	while (environ[n])
		n++;
	while (changes && changes[m])
		m++;
	char **list = arena_array(a, n + m + 2, sizeof *list);
	for (size_t i = 0; i < n; i++) {
		bool changed = false;
		for (size_t c = 0; c < m; c++)
			changed |= same_name(environ[i], changes[c]);
		if (!changed)
			list[k++] = environ[i];
	}
	for (size_t c = 0; c < m; c++)
		if (strchr(changes[c], '='))
			list[k++] = (char *)(uintptr_t)changes[c];
	list[k++] = arena_printf(a, MARK "%d", (int)getpid());
	list[k] = NULL;
	return list;
}

static int spawn(struct host *h, struct running *r, const int *fds)
{
	struct host_child *c = r->child;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, fds[0], 1);
	posix_spawn_file_actions_adddup2(&actions, fds[c->merged ? 0 : 1], 2);
	if (c->cwd)
		posix_spawn_file_actions_addchdir_np(&actions, c->cwd);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &none);
	int rc = posix_spawn(&r->pid, c->argv[0], &actions, &attributes, (char *const *)(uintptr_t)c->argv, environment(h->arena, c->env));
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return rc;
}

static void start(struct host *h, struct running *r, struct host_child *c)
{
	int out[2] = {-1, -1}, log[2] = {-1, -1};
	*r = (struct running){.child = c, .pid = -1, .fd = {-1, -1}, .text = {BUF_MAX(OUT_MAX), BUF_MAX(LOG_MAX)}, .why = HOST_CHILD_EXIT};
	r->started_ms = r->heard_ms = host_clock_ms();
	int rc = pipe2(out, O_CLOEXEC) < 0 || pipe2(log, O_CLOEXEC) < 0 ? errno : spawn(h, r, (int[]){out[1], log[1]});
	close(out[1]);
	close(log[1]);
	if (rc) {
		close(out[0]);
		close(log[0]);
		c->end = HOST_CHILD_NOT_STARTED;
		c->code = rc;
		r->pid = -1;
		r->reaped = true;
		return;
	}
	r->fd[0] = out[0];
	r->fd[1] = log[0];
}

/* -- watch -------------------------------------------------------------------------------------------------------------------- */

static void hear(struct running *r, int which)
{
	char chunk[16384];
	ssize_t n = read(r->fd[which], chunk, sizeof chunk);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		close(r->fd[which]);
		r->fd[which] = -1;
		return;
	}
	r->heard_ms = host_clock_ms();
	buf_add(&r->text[which], chunk, (size_t)n); /* what passes the bound is read and dropped */
}

static bool is_over(const struct running *r, double now)
{
	if (r->reaped && ((r->fd[0] < 0 && r->fd[1] < 0) || r->kill_ms > 0))
		return true;
	return r->kill_ms > 0 && now > r->kill_ms + DEATH_MS;
}

/* One that the machine gave no time to is not late, for a while. */
static bool is_late(struct running *r, double now)
{
	const struct host_child *c = r->child;
	if (r->reaped)
		return now > r->reaped_ms + LINGER_MS || now > r->started_ms + c->deadline_ms;
	bool silent = c->silence_ms && now > r->heard_ms + r->more_ms + c->silence_ms;
	if (now <= r->started_ms + r->more_ms + c->deadline_ms && !silent)
		return false;
	int step = c->silence_ms ? c->silence_ms : c->deadline_ms;
	if (r->more_ms >= step * (STARVED_TIMES - 1) || !host_child_starves(r->pid, now - (silent ? r->heard_ms : r->started_ms)))
		return true;
	r->more_ms += step;
	return false;
}

/* One that has ended may have left others that hold its output open: they are ended like one that is late. */
static void press(struct running *r, double now)
{
	if (r->term_ms > 0) {
		if (r->kill_ms <= 0 && now > r->term_ms + TERM_MS) {
			r->kill_ms = now;
			kill(-r->pid, SIGKILL);
		}
		return;
	}
	if (!stopped_by && !is_late(r, now))
		return;
	if (!r->reaped)
		r->why = stopped_by ? HOST_CHILD_STOPPED : HOST_CHILD_LATE;
	r->term_ms = now;
	kill(-r->pid, SIGTERM);
}

/* Ours bear a mark, whatever group or session they made for themselves: whoever ran davy may have other children in this process. */
static bool is_marked(int pid)
{
	static char text[262144];
	char path[64], mark[48];
	int n = snprintf(mark, sizeof mark, MARK "%d", (int)getpid());
	snprintf(path, sizeof path, "/proc/%d/environ", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text);
	if (fd >= 0)
		close(fd);
	return len > n && memmem(text, (size_t)len, mark, (size_t)n + 1) != NULL;
}

/* What our children left behind belongs to us now (PR_SET_CHILD_SUBREAPER). How many there were. */
static int end_orphans_once(const struct running *r, size_t n)
{
	FILE *f = fopen("/proc/thread-self/children", "re");
	int pid, wanted = 0, status;
	while (f && fscanf(f, "%d", &pid) == 1) {
		bool known = false;
		for (size_t i = 0; i < n; i++)
			known |= r[i].pid == pid;
		if (known || !is_marked(pid))
			continue;
		kill(pid, SIGKILL);
		for (int i = 0; i < 50 && waitpid(pid, &status, WNOHANG) == 0; i++)
			poll(NULL, 0, 2);
		wanted++;
	}
	if (f)
		fclose(f);
	return wanted;
}

/* The children of what was ended come to us in turn. */
static void end_orphans(const struct running *r, size_t n)
{
	for (int i = 0; i < 8 && end_orphans_once(r, n) > 0; i++)
		;
}

static void finish(struct host *h, struct running *r)
{
	struct host_child *c = r->child;
	for (int i = 0; i < 2; i++)
		if (r->fd[i] >= 0)
			close(r->fd[i]);
	if (r->pid > 0) {
		if (r->why != HOST_CHILD_EXIT) {
			c->end = r->why;
			c->code = c->deadline_ms;
		} else if (WIFSIGNALED(r->status)) {
			c->end = HOST_CHILD_SIGNAL;
			c->code = WTERMSIG(r->status);
		} else {
			c->end = HOST_CHILD_EXIT;
			c->code = WEXITSTATUS(r->status);
		}
	}
	c->out = str_n(arena_strndup(h->arena, buf_view(&r->text[0]).ptr, r->text[0].len), r->text[0].len);
	c->log = str_n(arena_strndup(h->arena, buf_view(&r->text[1]).ptr, r->text[1].len), r->text[1].len);
	c->duration_ms = host_clock_ms() - r->started_ms;
	buf_free(&r->text[0]);
	buf_free(&r->text[1]);
}

static bool watch(struct running *r, size_t n)
{
	struct pollfd *p = calloc(n * 2, sizeof *p);
	bool busy = false;
	if (!p)
		return false;
	for (size_t i = 0; i < n * 2; i++)
		p[i] = (struct pollfd){r[i / 2].fd[i % 2], POLLIN, 0};
	poll(p, n * 2, 5);
	double now = host_clock_ms();
	for (size_t i = 0; i < n; i++) {
		if (r[i].pid <= 0)
			continue;
		for (int k = 0; k < 2; k++)
			if (p[i * 2 + (size_t)k].revents)
				hear(&r[i], k);
		if (!r[i].reaped && waitpid(r[i].pid, &r[i].status, WNOHANG) == r[i].pid)
			r[i].reaped = (r[i].reaped_ms = now) > 0;
		if (is_over(&r[i], now))
			continue;
		press(&r[i], now);
		busy = true;
	}
	free(p);
	return busy;
}

void host_children(struct host *h, struct host_child *child, size_t n)
{
	struct running *r = calloc(n, sizeof *r);
	if (!r)
		return;
	catch_signals();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (size_t i = 0; i < n; i++)
		start(h, &r[i], &child[i]);
	while (watch(r, n))
		;
	end_orphans(r, n);
	for (size_t i = 0; i < n; i++)
		finish(h, &r[i]);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	free(r);
}

const char *host_probe_program(struct host *h)
{
	return probe_find(h);
}

/* -- temporary files ------------------------------------------------------------------------------------------------------------ */

int host_scratch_make(struct host *h, const char **ret_path)
{
	const char *base = host_env(h, "TMPDIR");
	char *path = arena_printf(h->arena, "%s/davy-test-XXXXXX", base && *base == '/' ? base : "/tmp");
	if (!mkdtemp(path))
		return -errno;
	*ret_path = path;
	return 0;
}

int host_scratch_write(const char *folder, const char *name, struct str text)
{
	char path[PATH_MAX];
	if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
		return -ENAMETOOLONG;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), rc = 0;
	if (fd < 0)
		return -errno;
	while (text.len && !rc) {
		ssize_t n = write(fd, text.ptr, text.len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			rc = -errno;
		else
			text = str_skip(text, (size_t)n);
	}
	return close(fd) < 0 && !rc ? -errno : rc;
}

/* Only what lies in it directly, and the folders that Python makes for compiled files. */
static void remove_below(const char *folder, int depth)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	char path[PATH_MAX];
	while (d && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
			snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= (int)sizeof path)
			continue;
		if (unlink(path) < 0 && errno == EISDIR && depth < 8)
			remove_below(path, depth + 1);
	}
	if (d)
		closedir(d);
	rmdir(folder);
}

void host_scratch_remove(const char *folder)
{
	remove_below(folder, 0);
}

int host_free_port(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc = fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || getsockname(fd, (struct sockaddr *)&a, &size) < 0
		? -errno
		: ntohs(a.sin_port);
	if (fd >= 0)
		close(fd);
	return rc;
}
