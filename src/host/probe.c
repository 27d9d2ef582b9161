/* Probe children: a small program beside davy that loads vendor libraries and prints JSON. It may hang, crash or be missing. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/door.h"

#define OUTPUT_MAX ((size_t)1 << 20)

extern char **environ;

/* $DAVY_PROBE, the folder of davy itself (a build tree), or ../libexec/davy beside it. */
const char *probe_find(struct host *h)
{
	const char *set = host_env(h, "DAVY_PROBE");
	if (set)
		return set;
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	if (n <= 0)
		return NULL;
	self[n] = '\0';
	char *slash = strrchr(self, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	const char *places[] = {
		arena_printf(h->arena, "%s/probe", self),
		arena_printf(h->arena, "%s/../libexec/davy/probe", self),
		"/usr/libexec/davy/probe",
	};
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
		if (access(places[i], X_OK) == 0)
			return places[i];
	return NULL;
}

static struct probe_child *find_child(struct host *h, const char *name)
{
	for (size_t i = 0; i < h->child_count; i++)
		if (strcmp(h->children[i].name, name) == 0)
			return &h->children[i];
	return NULL;
}

void host_probe_start(struct host *h, const char *name, int deadline_ms)
{
	if (!host_is_this_machine(h) || find_child(h, name) || h->child_count == sizeof h->children / sizeof h->children[0])
		return;
	struct probe_child *c = &h->children[h->child_count++];
	*c = (struct probe_child){arena_strdup(h->arena, name), -1, -1, host_clock_ms(), deadline_ms, 0};
	const char *program = probe_find(h);
	if (!program)
		return;
	int pipes[2];
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, pipes[1], 1);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &none);
	/* "resolve node1": what follows the blank is the probe's argument. */
	char *word = arena_strdup(h->arena, name), *argument = strchr(word, ' ');
	if (argument)
		*argument++ = '\0';
	char *argv[] = {(char *)program, word, argument, NULL};
	pid_t pid;
	if (posix_spawn(&pid, program, &actions, &attributes, argv, environ) == 0) {
		c->pid = pid;
		c->fd = pipes[0];
	} else {
		close(pipes[0]);
	}
	close(pipes[1]);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
}

/* How long it may still take; one that the machine gave no time to gets more of it. */
static double time_left(struct probe_child *c)
{
	double now = host_clock_ms(), left = c->started_ms + c->deadline_ms + c->more_ms - now;
	if (left <= 0 && c->more_ms < c->deadline_ms * (STARVED_TIMES - 1) && host_child_starves(c->pid, now - c->started_ms))
		left = c->deadline_ms, c->more_ms += c->deadline_ms;
	return left;
}

/* Reads until the end of output or the deadline. False: the deadline came. */
static bool read_output(struct probe_child *c, struct buf *out)
{
	char chunk[16384];
	for (;;) {
		double left = time_left(c);
		struct pollfd p = {c->fd, POLLIN, 0};
		int rc = poll(&p, 1, left > 0 ? (int)left + 1 : 0);
		if (rc <= 0 && left <= 0)
			return false;
		if (rc <= 0)
			continue;
		ssize_t n = read(c->fd, chunk, sizeof chunk);
		if (n == 0)
			return true;
		if (n > 0)
			buf_add(out, chunk, (size_t)n);
		if (out->truncated)
			return true;
	}
}

/* The child has closed its output; it may still hang on the way out. */
static bool reap(struct probe_child *c, int *ret_status)
{
	for (;;) {
		pid_t rc = waitpid(c->pid, ret_status, WNOHANG);
		if (rc == c->pid)
			return true;
		if (rc < 0 && errno != EINTR)
			return false;
		if (time_left(c) <= 0)
			return false;
		poll(NULL, 0, 1);
	}
}

static void finish(struct host *h, struct probe_child *c, struct host_probe *ret)
{
	if (c->pid < 0) {
		ret->status = probe_find(h) ? HOST_PROBE_ERROR : HOST_PROBE_SKIPPED;
		return;
	}
	struct buf out = BUF_MAX(OUTPUT_MAX);
	int status = 0;
	bool ended = read_output(c, &out) && reap(c, &status);
	if (!ended) {
		kill(-c->pid, SIGKILL);
		kill(c->pid, SIGKILL);
		/* A child in uninterruptible sleep does not die: it is left behind, not waited for. */
		for (int i = 0; i < 20 && waitpid(c->pid, &status, WNOHANG) == 0; i++)
			poll(NULL, 0, 1);
		ret->status = HOST_PROBE_TIMEOUT;
		ret->code = (int)c->deadline_ms;
	} else if (WIFSIGNALED(status)) {
		ret->status = HOST_PROBE_CRASH;
		ret->code = WTERMSIG(status);
	} else {
		ret->code = WEXITSTATUS(status);
		ret->status = ret->code == 0 ? HOST_PROBE_OK : ret->code == 3 ? HOST_PROBE_MISSING : HOST_PROBE_ERROR;
	}
	close(c->fd);
	c->fd = c->pid = -1;
	ret->output = str_n(arena_strndup(h->arena, buf_view(&out).ptr, out.len), out.len);
	ret->duration_ms = host_clock_ms() - c->started_ms;
	buf_free(&out);
}

int host_probe(struct host *h, const char *name, int deadline_ms, struct host_probe *ret)
{
	*ret = (struct host_probe){.status = HOST_PROBE_SKIPPED, .output = {"", 0}};
	struct answer *old = memory_find(&h->memory, ANSWER_PROBE, name);
	if (old && !old->removed) {
		*ret = old->probe;
		return 0;
	}
	if (!host_is_this_machine(h))
		return 0;
	host_probe_start(h, name, deadline_ms);
	struct probe_child *c = find_child(h, name);
	if (c)
		finish(h, c, ret);
	/* Kept even when nothing is recorded: a second question gets the same answer. */
	memory_put(h, ANSWER_PROBE, name)->probe = *ret;
	return 0;
}

void host_close(struct host *h)
{
	for (size_t i = 0; i < h->child_count; i++) {
		struct probe_child *c = &h->children[i];
		if (c->pid > 0) {
			kill(-c->pid, SIGKILL);
			waitpid(c->pid, NULL, WNOHANG);
			close(c->fd);
		}
	}
	h->child_count = 0;
	digests_free(h);
}
