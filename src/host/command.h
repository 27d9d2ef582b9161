/* A command of the user's, started and stood beside until it ends.
 *
 * The command keeps our standard input, session, process group and controlling terminal. Where our standard output or error is a terminal
 * it gets a pseudo-terminal of the same size and settings, elsewhere a pipe; what it writes there is passed on unchanged and in order, and
 * shown to a listener. Where both are one file, they stay one. Signals: what the terminal or a sender gives to the whole process group
 * reaches the command by itself and is not sent twice; what is sent to us alone is passed on. When it stops, we stop; when we are
 * continued, so is it; when we are killed, so is it. Nothing else of the process may have children at the time.
 */
#ifndef HOST_COMMAND_H
#define HOST_COMMAND_H

#include <sys/types.h>

#include "base/str.h"

enum host_stream { HOST_STREAM_BOTH, HOST_STREAM_OUT, HOST_STREAM_ERR };

/* Called by the threads that pass output on: must not block, may be called by two at once. */
typedef void host_listen_fn(void *arg, enum host_stream stream, const char *p, size_t n);

struct host_command_result {
	int error; /* it could not be started: positive errno, else 0 */
	pid_t pid;
	int status;                   /* exit status; 128 + signal as a shell gives it */
	int signal;                   /* that ended it; 0: it ended by itself */
	int asked;                    /* the last signal from outside that asks to end (HUP, INT, QUIT, TERM); 0: none */
	bool unheard;                 /* there were too few files for channels: some of what it wrote went past us */
	bool left_open;               /* a child of its own still has its output: passing on goes on in the background */
	uint64_t lost_bytes;          /* that our standard output or error did not take */
	int lost_error;               /* and why: positive errno */
	int64_t started_ms, ended_ms; /* since the epoch */
};

/* `add`: "NAME=value" for its environment besides ours, NULL-terminated. Returns when it has ended and all it wrote is passed on.
 * Signals stay blocked then: what asks us to end comes too late, and host_command_end_as comes soon. */
void host_command_run(char *const argv[], const char *const *add, host_listen_fn *listen, void *arg, struct host_command_result *ret);

/* Ends this process as the command ended: by the same signal, or with its status. */
void host_command_end_as(const struct host_command_result *r) __attribute__((noreturn));

#endif
