/* Sockets: the part of the door that leads to other machines. Only commands that are meant to talk (davy cluster, davy test) use it.
 *
 * Everything here is non-blocking; waiting is done in one place (host_wait) with a deadline. Errors are negative errno. File numbers belong
 * to the caller, who closes them with host_socket_close. Names are not resolved here: that is the probe's business, in a child with a
 * deadline.
 */
#ifndef HOST_SOCKET_H
#define HOST_SOCKET_H

#include <sys/types.h>

#include "base/str.h"

#define HOST_ADDRESS_TEXT 80

struct host_address {
	int family; /* 4, 6; 0: none */
	uint8_t bytes[16];
	uint16_t port;
	uint32_t scope; /* of a link-local IPv6 address */
};

/* "10.0.0.1", "fd00::1", "[fd00::1]", "fe80::1%eth0". 0 or -EINVAL. The port is left alone. */
int host_address_parse(struct str text, struct host_address *ret);
const char *host_address_text(const struct host_address *a, char ret[HOST_ADDRESS_TEXT]); /* without the port */
bool host_address_is_loopback(const struct host_address *a);
bool host_address_is_same(const struct host_address *a, const struct host_address *b); /* ports aside */

/* `mss` 0: the kernel's choice; else TCP's segments stay below that many bytes, so that a path that loses large packets carries them. */
int host_tcp_listen(const struct host_address *at, int mss, int *ret_fd, struct host_address *ret_bound);
int host_tcp_accept(int listener, int *ret_fd, struct host_address *ret_peer); /* -EAGAIN: nobody */
int host_tcp_connect(const struct host_address *to, int mss, int *ret_fd);     /* begun: ask host_tcp_connected; or an error at once */
int host_tcp_connected(int fd);                                                /* 0, -EINPROGRESS, or why it failed */
bool host_tcp_is_self(int fd);                                                 /* a socket that was connected to itself, which TCP allows */

struct host_tcp {
	int state, retransmits, unacked, snd_mss; /* state as in /proc/net/tcp: 1 established, 2 SYN sent, 7 closed */
	int64_t rtt_us, total_retrans, segments_out, bytes_acked, not_sent;
	int64_t busy_us, full_us; /* had something to send; of it, waited for the receiver to read. 0 before Linux 4.10 */
};
int host_tcp_info(int fd, struct host_tcp *ret);
/* The ICMP message that ended an attempt, as type << 8 | code; -ENODATA: none came. */
int host_socket_icmp(int fd);

int host_udp_open(const struct host_address *at, int *ret_fd, struct host_address *ret_bound);
/* Connected, so that ICMP answers are seen; don't-fragment always, the kernel's idea of the path MTU ignored. */
int host_udp_probe(const struct host_address *to, int *ret_fd);
ssize_t host_udp_send(int fd, struct str data, const struct host_address *to); /* NULL: where it is connected */
ssize_t host_udp_receive(int fd, void *p, size_t n, struct host_address *ret_from);
/* The MTU that a router answered with "fragmentation needed"; -ENODATA: none did. Takes everything off the error queue. */
int host_udp_frag_needed(int fd);

ssize_t host_send(int fd, const void *p, size_t n);
ssize_t host_receive(int fd, void *p, size_t n); /* 0: the other side has ended */
int host_socket_pair(int ret[2]);                /* connected with one another */
int host_socket_local(int fd, struct host_address *ret);
void host_socket_close(int fd);
void host_socket_abort(int fd); /* closes at once, what is not sent yet is thrown away */

struct host_wait {
	int fd;
	bool read, write;         /* wanted */
	bool can_read, can_write; /* answered */
};
void host_wait(struct host_wait *list, size_t n, double ms);

int64_t host_wall_us(void); /* since the epoch */
uint64_t host_random(void);
void host_allow_files(void); /* as many open files as the hard limit permits */
void host_ignore_pipe(void); /* a reader that has gone is an error, not a signal */
/* SIGTERM, SIGINT and SIGHUP do not end the process any more but are told here: 0, or which came. */
void host_catch_signals(void);
int host_signal_caught(void);
/* The MTU and the name of the interface that has this address; 0 or -ENOENT. */
int host_interface_of(const struct host_address *a, char ret_name[32], int *ret_mtu);
/* Makes the folder when it is not there, and sees that a file can be written in it. */
int host_prepare_dir(const char *path);

#endif
