/* Inside the door: the channels between a command's output and ours. One thread each; see host/command.h. */
#ifndef HOST_RELAY_H
#define HOST_RELAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <termios.h>

#include "host/command.h"

struct relay {
	enum host_stream stream;
	int from;    /* our end of the pipe or pseudo-terminal */
	int far;     /* the command's end; -1 once it is closed here */
	int to;      /* STDOUT_FILENO or STDERR_FILENO */
	int wake[2]; /* a pipe: the command has ended */
	bool terminal, changed, running, left_open;
	struct termios theirs, ours; /* settings of the pseudo-terminal as seen last; of the real one before */
	host_listen_fn *listen;
	void *arg;
	pthread_t thread;
	atomic_bool waiting; /* everything that was read has been passed on */
	uint64_t lost_bytes;
	int lost_error;
};

/* Channels for standard output and error as they are; 0 to 2 of them. An output that is closed has none; nor has one for which there were
 * no files (*ret_missing): the command gets it directly. */
int relay_open(struct relay relays[2], host_listen_fn *listen, void *arg, bool *ret_missing);
void relay_close(struct relay relays[2], int count);       /* before anything was started: gives all of it back */
void relay_child(const struct relay relays[2], int count); /* in the child: its ends become 1 and 2 */
void relay_start(struct relay relays[2], int count);
void relay_resize(struct relay relays[2], int count);
/* The command has stopped and we are about to: what it wrote before is passed on first. Gives up where that goes on and on. */
void relay_settle(struct relay relays[2], int count);
/* The command has ended: passes on what is there and waits for the threads. */
void relay_finish(struct relay relays[2], int count);

#endif
