#include "host/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread.h"
#include "host/door.h"

#define PIECE ((size_t)256 << 10)
#define PIPE_BYTES (1 << 20)
#define GATHER_US 500 /* between two small pieces: the writer need not wake us for every line */
#define SETTLED_MS 10 /* without output: what is written to a pseudo-terminal comes out a moment later */
#define SETTLE_MAX_MS 500
#define GRACE_MS 50 /* after the command's end, for children that are about to close its output */

/* -- opening ------------------------------------------------------------------------------------------------------------- */

static bool is_writable(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	return flags >= 0 && !(flags & O_PATH) && (flags & O_ACCMODE) != O_RDONLY;
}

static bool is_same_file(int a, int b)
{
	struct stat s, t;
	return fstat(a, &s) == 0 && fstat(b, &t) == 0 && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}

static int open_pipe(struct relay *r)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES); /* refused where the user's share of pipe memory is spent: then it has the usual size */
	r->from = ends[0];
	r->far = ends[1];
	return 0;
}

/* The settings of the real terminal, but what the command writes is not changed on its way to us: the real one does that. */
static int open_terminal(struct relay *r)
{
	char name[64];
	struct winsize size;
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0)
		return -errno;
	if (grantpt(master) < 0 || unlockpt(master) < 0 || ptsname_r(master, name, sizeof name) != 0 ||
		(r->far = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0) {
		int rc = errno ? -errno : -ENOTTY;
		close(master);
		return rc;
	}
	r->from = master;
	r->terminal = true;
	if (tcgetattr(r->to, &r->ours) == 0) {
		r->theirs = r->ours;
		r->theirs.c_oflag &= ~(tcflag_t)OPOST;
		tcsetattr(r->far, TCSANOW, &r->theirs);
		tcgetattr(r->far, &r->theirs);
	}
	if (ioctl(r->to, TIOCGWINSZ, &size) == 0)
		ioctl(r->far, TIOCSWINSZ, &size);
	return 0;
}

int relay_open(struct relay relays[2], host_listen_fn *listen, void *arg, bool *ret_missing)
{
	bool one = is_writable(STDOUT_FILENO) && is_writable(STDERR_FILENO) && is_same_file(STDOUT_FILENO, STDERR_FILENO);
	int count = 0;
	for (int fd = STDOUT_FILENO; fd <= (one ? STDOUT_FILENO : STDERR_FILENO); fd++) {
		struct relay *r = &relays[count];
		*r = (struct relay){.stream = one     ? HOST_STREAM_BOTH
				: fd == STDOUT_FILENO ? HOST_STREAM_OUT
						      : HOST_STREAM_ERR,
			.from = -1,
			.far = -1,
			.to = fd,
			.wake = {-1, -1},
			.listen = listen,
			.arg = arg};
		if (!is_writable(fd))
			continue;
		bool missing = *ret_missing;
		*ret_missing = true; /* until it is there */
		if (pipe2(r->wake, O_CLOEXEC) < 0)
			continue;
		if ((isatty(fd) ? open_terminal(r) : open_pipe(r)) < 0) {
			close(r->wake[0]);
			close(r->wake[1]);
			continue;
		}
		fcntl(r->from, F_SETFL, O_NONBLOCK);
		*ret_missing = missing;
		count++;
	}
	return count;
}

void relay_close(struct relay relays[2], int count)
{
	for (int i = 0; i < count; i++) {
		close(relays[i].from);
		close(relays[i].far);
		close(relays[i].wake[0]);
		close(relays[i].wake[1]);
	}
}

void relay_child(const struct relay relays[2], int count)
{
	for (int i = 0; i < count; i++) {
		dup2(relays[i].far, relays[i].to);
		if (relays[i].stream == HOST_STREAM_BOTH)
			dup2(relays[i].far, STDERR_FILENO);
	}
}

/* -- passing on ---------------------------------------------------------------------------------------------------------- */

/* All of it. False: nobody reads any more (EPIPE). What the other side cannot take for another reason (a full disk) is counted and left
 * out: the command goes on. */
static bool pass_on(struct relay *r, const char *p, size_t n)
{
	while (n) {
		ssize_t done = write(r->to, p, n);
		if (done > 0) {
			p += done;
			n -= (size_t)done;
		} else if (done < 0 && errno == EAGAIN) {
			struct pollfd wait = {r->to, POLLOUT, 0};
			poll(&wait, 1, 1000);
		} else if (done < 0 && errno == EPIPE) {
			return false;
		} else if (done >= 0 || errno != EINTR) {
			r->lost_error = done < 0 ? errno : EIO;
			r->lost_bytes += n;
			return true;
		}
	}
	return true;
}

/* Programs that draw (editors, debuggers) set their output's terminal: the real one follows, while we are in its foreground. */
static void follow_settings(struct relay *r)
{
	struct termios now, real;
	if (tcgetattr(r->from, &now) < 0 ||
		(now.c_lflag == r->theirs.c_lflag && now.c_iflag == r->theirs.c_iflag &&
			memcmp(now.c_cc, r->theirs.c_cc, sizeof now.c_cc) == 0))
		return;
	r->theirs = now;
	if (tcgetpgrp(r->to) != getpgrp() || tcgetattr(r->to, &real) < 0)
		return;
	real.c_lflag = now.c_lflag;
	real.c_iflag = now.c_iflag;
	memcpy(real.c_cc, now.c_cc, sizeof real.c_cc);
	tcsetattr(r->to, TCSANOW, &real);
	r->changed = true;
}

/* The next bytes; 0: the end; -1: the command has ended, and others hold its output open. */
static ssize_t next_piece(struct relay *r, char *p)
{
	bool ended = false;
	for (;;) {
		ssize_t n = read(r->from, p, PIECE);
		if (n >= 0)
			return n;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return 0; /* EIO: the last one closed the pseudo-terminal */
		if (ended)
			return -1;
		struct pollfd wait[2] = {{r->from, POLLIN, 0}, {r->wake[0], POLLIN, 0}};
		atomic_store(&r->waiting, true);
		int ready = poll(wait, 2, -1);
		atomic_store(&r->waiting, false);
		if (ready > 0 && !wait[0].revents && wait[1].revents) {
			ended = poll(wait, 1, GRACE_MS) <= 0;
			if (ended)
				continue; /* one last look */
		}
	}
}

static void *pass_all(void *arg)
{
	struct relay *r = arg;
	double last_ms = 0;
	char *piece = malloc(PIECE);
	for (ssize_t n; piece && (n = next_piece(r, piece)) != 0;) {
		if (n < 0) {
			r->left_open = true;
			break;
		}
		if (r->terminal)
			follow_settings(r);
		bool taken = pass_on(r, piece, (size_t)n);
		r->listen(r->arg, r->stream, piece, (size_t)n);
		if (!taken)
			break;
		double now = host_clock_ms();
		if (!r->terminal && (size_t)n < PIECE / 2 && now - last_ms < 2)
			usleep(GATHER_US);
		last_ms = now;
	}
	free(piece);
	if (!r->left_open) {
		close(r->from); /* who writes there now gets SIGPIPE, as from our reader */
		r->from = -1;
	}
	atomic_store(&r->waiting, true);
	return NULL;
}

void relay_start(struct relay relays[2], int count)
{
	for (int i = 0; i < count; i++) {
		close(relays[i].far);
		relays[i].far = -1;
		relays[i].running = thread_start(&relays[i].thread, pass_all, &relays[i]) == 0;
		if (!relays[i].running)
			pass_all(&relays[i]); /* no thread to be had: one after the other, until the end */
	}
}

void relay_resize(struct relay relays[2], int count)
{
	struct winsize size;
	for (int i = 0; i < count; i++)
		if (relays[i].terminal && relays[i].from >= 0 && ioctl(relays[i].to, TIOCGWINSZ, &size) == 0)
			ioctl(relays[i].from, TIOCSWINSZ, &size);
}

/* Asked in this order: "waiting" is withdrawn before anything is read. */
static bool is_settled(struct relay *r)
{
	struct pollfd wait = {r->from, POLLIN, 0};
	return !r->running || (poll(&wait, 1, 0) == 0 && atomic_load(&r->waiting));
}

void relay_settle(struct relay relays[2], int count)
{
	double start = host_clock_ms(), busy = start;
	for (double now = start; now - busy < SETTLED_MS && now - start < SETTLE_MAX_MS; now = host_clock_ms()) {
		for (int i = 0; i < count; i++)
			if (!is_settled(&relays[i]))
				busy = now;
		usleep(1000);
	}
}

/* What a daemon that the command left behind still writes is passed on by a process of its own. */
static void go_on_in_background(struct relay relays[2], int count)
{
	pid_t pid = fork();
	if (pid != 0)
		return;
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL); /* SIGPIPE is ignored already */
	char *piece = malloc(PIECE);
	for (int open = 1; open && piece;) {
		struct pollfd wait[2];
		open = 0;
		for (int i = 0; i < count; i++) {
			wait[i] = (struct pollfd){relays[i].left_open ? relays[i].from : -1, POLLIN, 0};
			open += relays[i].left_open;
		}
		if (!open || poll(wait, (nfds_t)count, -1) < 0)
			continue;
		for (int i = 0; i < count; i++) {
			ssize_t n = wait[i].revents ? read(relays[i].from, piece, PIECE) : -2;
			if (n == -2 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
				continue;
			if (n <= 0 || !pass_on(&relays[i], piece, (size_t)n)) {
				close(relays[i].from);
				relays[i].left_open = false;
			}
		}
	}
	_exit(0);
}

void relay_finish(struct relay relays[2], int count)
{
	bool left_open = false;
	for (int i = 0; i < count; i++)
		close(relays[i].wake[1]);
	for (int i = 0; i < count; i++) {
		if (relays[i].running)
			pthread_join(relays[i].thread, NULL);
		left_open |= relays[i].left_open;
		if (relays[i].changed && tcgetpgrp(relays[i].to) == getpgrp())
			tcsetattr(relays[i].to, TCSADRAIN, &relays[i].ours);
	}
	if (left_open)
		go_on_in_background(relays, count);
	for (int i = 0; i < count; i++) {
		if (relays[i].from >= 0)
			close(relays[i].from);
		close(relays[i].wake[0]);
	}
}
