#include "host/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/door.h"
#include "host/relay.h"

#define WITNESS_MS 2000 /* for the witness to answer, on a machine that has no time for it */
#define ARRIVES_MS 20   /* a signal to a group reaches its processes one after the other */

extern char **environ;

struct command {
	struct relay relays[2];
	int relay_count;
	pid_t pid, witness;
	int witness_fd;
	unsigned char seen[128]; /* what the witness has told of each signal, and was not asked about yet */
	sigset_t before, all;    /* the mask of before; all that we take */
	struct sigaction pipe_before;
	bool ended, stopped; /* the command */
	int wait_status;
	struct host_command_result *result;
};

static int64_t wall_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* -- the witness --------------------------------------------------------------------------------------------------------
 * A signal that somebody sends to the process group (a shell's kill %1, a scheduler's to a whole step) reaches the command too; one that is
 * sent to us alone must be passed on. The kernel does not say which it was. So a small process of ours stands in the group, and tells what
 * it gets. Asked by the highest signal, it answers by a zero: as the lower ones come first, all that it had until then stands before it. */

static void bear_witness(int to, pid_t parent, const sigset_t *all)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int fd = 0; fd < 1024; fd++)
		if (fd != to)
			close(fd);
	while (getppid() == parent) {
		siginfo_t info;
		int sig = sigwaitinfo(all, &info);
		unsigned char byte = sig == SIGRTMAX && info.si_pid == parent ? 0 : (unsigned char)sig;
		if (sig > 0 && sig != SIGCHLD && write(to, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static void start_witness(struct command *c)
{
	int ends[2];
	c->witness = c->witness_fd = -1;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return;
	pid_t parent = getpid();
	c->witness = fork();
	if (c->witness == 0)
		bear_witness(ends[1], parent, &c->all);
	close(ends[1]);
	c->witness_fd = ends[0];
}

/* Everything that the witness had until now is in `seen`. False: it does not answer. */
static bool ask_witness(struct command *c)
{
	double until = host_clock_ms() + WITNESS_MS;
	unsigned char told;
	if (c->witness <= 0 || kill(c->witness, SIGRTMAX) < 0)
		return false;
	for (;;) {
		ssize_t n = read(c->witness_fd, &told, 1);
		double left = until - host_clock_ms();
		struct pollfd wait = {c->witness_fd, POLLIN, 0};
		if (n == 1 && told == 0)
			return true;
		if (n == 1)
			c->seen[told % sizeof c->seen]++;
		else if (n == 0 || (errno != EAGAIN && errno != EINTR) || left <= 0)
			return false;
		else
			poll(&wait, 1, (int)left + 1);
	}
}

static bool group_had_it(struct command *c, int sig)
{
	sigset_t pending;
	bool answers = ask_witness(c);
	if (answers && !c->seen[sig]) {
		usleep(ARRIVES_MS * 1000);
		ask_witness(c);
	}
	if (!c->seen[sig])
		return false;
	/* The kernel makes one of two that wait: then the witness may have had more than we. */
	sigpending(&pending);
	c->seen[sig] = sigismember(&pending, sig) ? (unsigned char)(c->seen[sig] - 1) : 0;
	return true;
}

static void end_witness(struct command *c)
{
	if (c->witness > 0) {
		kill(c->witness, SIGKILL);
		waitpid(c->witness, NULL, 0);
	}
	if (c->witness_fd >= 0)
		close(c->witness_fd);
	c->witness = c->witness_fd = -1;
}

/* -- starting ----------------------------------------------------------------------------------------------------------- */

static struct sigaction file_limit_before;
static bool file_limit_survived;

void host_survive_file_limit(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	file_limit_survived = sigaction(SIGXFSZ, &ignore, &file_limit_before) == 0;
}

static void take_signals(struct command *c)
{
	static const int synchronous[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	sigfillset(&c->all);
	for (size_t i = 0; i < sizeof synchronous / sizeof synchronous[0]; i++)
		sigdelset(&c->all, synchronous[i]);
	sigdelset(&c->all, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &c->all, &c->before);
	sigaction(SIGPIPE, &ignore, &c->pipe_before);
}

static void give_signals_back(struct command *c)
{
	sigaction(SIGPIPE, &c->pipe_before, NULL);
	pthread_sigmask(SIG_SETMASK, &c->before, NULL);
}

static char **environment(const char *const *add)
{
	size_t n = 0, more = 0, k = 0;
	while (environ && environ[n])
		n++;
	while (add && add[more])
		more++;
	char **all = calloc(n + more + 1, sizeof *all);
	for (size_t i = 0; all && i < n; i++)
		all[k++] = environ[i];
	for (size_t i = 0; all && i < more; i++)
		all[k++] = (char *)(uintptr_t)add[i];
	return all;
}

static void become(struct command *c, char *const argv[], char **env, int report, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	relay_child(c->relays, c->relay_count);
	if (file_limit_survived)
		sigaction(SIGXFSZ, &file_limit_before, NULL);
	give_signals_back(c);
	execvpe(argv[0], argv, env);
	int error = errno;
	if (report < 0 || write(report, &error, sizeof error) < 0)
		_exit(error == ENOENT ? 127 : 126);
	_exit(127);
}

/* 0, or the errno of a start that failed. `blind`: also without a pipe for that. */
static int start(struct command *c, char *const argv[], const char *const *add, bool blind)
{
	int report[2] = {-1, -1}, error = 0;
	char **env = environment(add);
	if (!env || (pipe2(report, O_CLOEXEC) < 0 && !blind)) {
		free(env);
		return errno ? errno : ENOMEM;
	}
	pid_t parent = getpid();
	c->pid = fork();
	if (c->pid == 0)
		become(c, argv, env, report[1], parent);
	int failed = c->pid < 0 ? errno : 0;
	if (report[0] >= 0) {
		close(report[1]);
		while (!failed && read(report[0], &error, sizeof error) < 0 && errno == EINTR)
			;
		close(report[0]);
	}
	free(env);
	return failed ? failed : error;
}

/* -- standing beside ----------------------------------------------------------------------------------------------------- */

static bool is_stop(int sig)
{
	return sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

/* A stop of job control: ours follows, so that the shell sees it. A SIGSTOP meant for the command alone does not stop us, for nobody would
 * continue us; but Ctrl-Z then does. */
static void stop_too(struct command *c, int sig)
{
	sigset_t one;
	relay_settle(c->relays, c->relay_count);
	sigemptyset(&one);
	sigaddset(&one, sig);
	kill(getpid(), sig);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
	pthread_sigmask(SIG_BLOCK, &one, NULL);
}

static void reap(struct command *c)
{
	int status;
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0;) {
		if (pid == c->witness && !WIFSTOPPED(status) && !WIFCONTINUED(status))
			c->witness = -1;
		if (pid != c->pid)
			continue;
		c->stopped = WIFSTOPPED(status);
		if (c->stopped && is_stop(WSTOPSIG(status))) {
			stop_too(c, WSTOPSIG(status));
		} else if (!c->stopped && !WIFCONTINUED(status)) {
			c->ended = true;
			c->wait_status = status;
		}
	}
}

static void on_signal(struct command *c, const siginfo_t *info)
{
	int sig = info->si_signo;
	bool from_kernel = info->si_code > 0;
	if (sig == SIGCHLD) {
		reap(c);
		return;
	}
	if (sig == SIGWINCH && c->relay_count) {
		relay_resize(c->relays, c->relay_count);
		kill(c->pid, SIGWINCH); /* the kernel told it before its terminal had the new size */
		return;
	}
	if (sig == SIGHUP || sig == SIGINT || sig == SIGQUIT || sig == SIGTERM)
		c->result->asked = sig;
	if (is_stop(sig) && c->stopped)
		stop_too(c, sig);
	else if (!from_kernel && info->si_pid != c->pid && !group_had_it(c, sig))
		kill(c->pid, sig);
}

static void stand_by(struct command *c)
{
	while (!c->ended) {
		siginfo_t info;
		static const struct timespec second = {1, 0};
		if (sigtimedwait(&c->all, &info, &second) > 0)
			on_signal(c, &info);
		else
			reap(c); /* what sent no signal, as a child of before might not */
	}
}

/* No file is left for channels: they are given back, and the command writes directly. */
static void start_alone(struct command *c, char *const argv[], const char *const *add)
{
	if (c->pid > 0)
		waitpid(c->pid, NULL, 0);
	relay_close(c->relays, c->relay_count);
	c->relay_count = 0;
	end_witness(c);
	c->pid = 0;
	c->result->error = start(c, argv, add, true);
	c->result->unheard = true;
}

void host_command_run(char *const argv[], const char *const *add, host_listen_fn *listen, void *arg, struct host_command_result *ret)
{
	struct command c = {.result = ret};
	*ret = (struct host_command_result){.started_ms = wall_ms()};
	take_signals(&c);
	start_witness(&c);
	c.relay_count = relay_open(c.relays, listen, arg, &ret->unheard);
	ret->error = start(&c, argv, add, false);
	if (ret->error == EMFILE || ret->error == ENFILE) /* what the command can do without us, it shall do with us */
		start_alone(&c, argv, add);
	ret->pid = c.pid;
	relay_start(c.relays, c.relay_count);
	if (ret->error && c.pid > 0)
		waitpid(c.pid, NULL, 0);
	else if (!ret->error)
		stand_by(&c);
	ret->ended_ms = wall_ms();
	end_witness(&c);
	relay_finish(c.relays, c.relay_count);
	for (int i = 0; i < c.relay_count; i++) {
		ret->left_open |= c.relays[i].left_open;
		ret->lost_bytes += c.relays[i].lost_bytes;
		ret->lost_error = c.relays[i].lost_error ? c.relays[i].lost_error : ret->lost_error;
	}
	if (ret->error) {
		ret->status = ret->error == ENOENT ? 127 : 126;
	} else if (WIFSIGNALED(c.wait_status)) {
		ret->signal = WTERMSIG(c.wait_status);
		ret->status = 128 + ret->signal;
	} else {
		ret->status = WEXITSTATUS(c.wait_status);
	}
}

void host_command_end_as(const struct host_command_result *r)
{
	if (r->signal) {
		struct rlimit none = {0, 0};
		sigset_t one;
		setrlimit(RLIMIT_CORE, &none); /* the command has left its core already */
		signal(r->signal, SIG_DFL);
		sigemptyset(&one);
		sigaddset(&one, r->signal);
		sigprocmask(SIG_UNBLOCK, &one, NULL);
		kill(getpid(), r->signal);
	}
	_exit(r->status); /* also where the signal does nothing to us: as the first process of a container */
}
