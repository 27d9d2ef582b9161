#include "host/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/errqueue.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_STACK 256

/* -- addresses ----------------------------------------------------------------------------------------------------------- */

int host_address_parse(struct str text, struct host_address *ret)
{
	char plain[HOST_ADDRESS_TEXT];
	struct host_address a = {0};
	text = str_trim(text);
	if (text.len > 1 && text.ptr[0] == '[' && text.ptr[text.len - 1] == ']')
		text = str_slice(text, 1, text.len - 1);
	size_t percent = str_find_char(text, '%', 0);
	struct str zone = percent == SIZE_MAX ? str_n("", 0) : str_skip(text, percent + 1);
	text = str_slice(text, 0, percent);
	if (!text.len || text.len >= sizeof plain || zone.len >= 16)
		return -EINVAL;
	memcpy(plain, text.ptr, text.len);
	plain[text.len] = '\0';
	if (inet_pton(AF_INET, plain, a.bytes) == 1)
		a.family = 4;
	else if (inet_pton(AF_INET6, plain, a.bytes) == 1)
		a.family = 6;
	else
		return -EINVAL;
	if (zone.len) {
		memcpy(plain, zone.ptr, zone.len);
		plain[zone.len] = '\0';
		a.scope = if_nametoindex(plain);
	}
	a.port = ret->port;
	*ret = a;
	return 0;
}

const char *host_address_text(const struct host_address *a, char ret[HOST_ADDRESS_TEXT])
{
	char zone[IF_NAMESIZE];
	ret[0] = '\0';
	if (a->family)
		inet_ntop(a->family == 4 ? AF_INET : AF_INET6, a->bytes, ret, HOST_ADDRESS_TEXT - 20);
	if (a->scope && if_indextoname(a->scope, zone)) {
		size_t n = strlen(ret);
		snprintf(ret + n, HOST_ADDRESS_TEXT - n, "%%%s", zone);
	}
	return ret;
}

bool host_address_is_loopback(const struct host_address *a)
{
	static const uint8_t one[16] = {[15] = 1};
	return (a->family == 4 && a->bytes[0] == 127) || (a->family == 6 && memcmp(a->bytes, one, 16) == 0);
}

bool host_address_is_same(const struct host_address *a, const struct host_address *b)
{
	return a->family == b->family && memcmp(a->bytes, b->bytes, a->family == 4 ? 4 : 16) == 0;
}

static socklen_t to_kernel(const struct host_address *a, struct sockaddr_storage *ret)
{
	memset(ret, 0, sizeof *ret);
	if (a->family == 6) {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)ret;
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(a->port);
		in6->sin6_scope_id = a->scope;
		memcpy(&in6->sin6_addr, a->bytes, 16);
		return sizeof *in6;
	}
	struct sockaddr_in *in = (struct sockaddr_in *)(void *)ret;
	in->sin_family = AF_INET;
	in->sin_port = htons(a->port);
	memcpy(&in->sin_addr, a->bytes, 4);
	return sizeof *in;
}

static struct host_address from_kernel(const struct sockaddr_storage *s)
{
	struct host_address a = {0};
	if (s->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)s;
		a.family = 6;
		a.port = ntohs(in6->sin6_port);
		a.scope = in6->sin6_scope_id;
		memcpy(a.bytes, &in6->sin6_addr, 16);
	} else if (s->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)s;
		a.family = 4;
		a.port = ntohs(in->sin_port);
		memcpy(a.bytes, &in->sin_addr, 4);
	}
	if (a.family == 6 && IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)a.bytes)) {
		memmove(a.bytes, a.bytes + 12, 4);
		memset(a.bytes + 4, 0, 12);
		a.family = 4;
		a.scope = 0;
	}
	return a;
}

static int family_of(const struct host_address *a)
{
	return a->family == 6 ? AF_INET6 : AF_INET;
}

static int set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof value) < 0 ? -errno : 0;
}

/* -- TCP ----------------------------------------------------------------------------------------------------------------- */

static int bound_socket(int type, const struct host_address *at, int mss, int *ret_fd, struct host_address *ret_bound)
{
	struct sockaddr_storage s;
	socklen_t n = to_kernel(at, &s);
	int fd = socket(family_of(at), type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), rc = 0;
	if (fd < 0)
		return -errno;
	if (type == SOCK_STREAM)
		set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (at->family == 6 && type == SOCK_DGRAM)
		set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	else if (at->family == 6)
		set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0); /* the wildcard serves both families */
	if (mss)
		set(fd, IPPROTO_TCP, TCP_MAXSEG, mss);
	if (bind(fd, (struct sockaddr *)&s, n) < 0 || (type == SOCK_STREAM && listen(fd, 4096) < 0))
		rc = -errno;
	else
		rc = host_socket_local(fd, ret_bound);
	if (rc < 0) {
		close(fd);
		return rc;
	}
	*ret_fd = fd;
	return 0;
}

int host_tcp_listen(const struct host_address *at, int mss, int *ret_fd, struct host_address *ret_bound)
{
	return bound_socket(SOCK_STREAM, at, mss, ret_fd, ret_bound);
}

int host_tcp_accept(int listener, int *ret_fd, struct host_address *ret_peer)
{
	struct sockaddr_storage s;
	socklen_t n = sizeof s;
	int fd = accept4(listener, (struct sockaddr *)&s, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if (ret_peer)
		*ret_peer = from_kernel(&s);
	*ret_fd = fd;
	return 0;
}

static void report_errors(int fd, const struct host_address *to)
{
	if (to->family == 6)
		set(fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
	else
		set(fd, IPPROTO_IP, IP_RECVERR, 1);
}

int host_tcp_connect(const struct host_address *to, int mss, int *ret_fd)
{
	struct sockaddr_storage s;
	socklen_t n = to_kernel(to, &s);
	int fd = socket(family_of(to), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	report_errors(fd, to);
	if (mss)
		set(fd, IPPROTO_TCP, TCP_MAXSEG, mss);
	if (connect(fd, (struct sockaddr *)&s, n) < 0 && errno != EINPROGRESS) {
		int rc = -errno;
		close(fd);
		return rc;
	}
	*ret_fd = fd;
	return 0;
}

int host_tcp_connected(int fd)
{
	struct pollfd p = {fd, POLLOUT, 0};
	int error = 0;
	socklen_t n = sizeof error;
	if (poll(&p, 1, 0) <= 0)
		return -EINPROGRESS;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0)
		return -errno;
	if (error)
		return -error;
	struct host_tcp t;
	return host_tcp_info(fd, &t) == 0 && t.state == 2 ? -EINPROGRESS : p.revents & POLLOUT ? 0 : -ECONNABORTED;
}

bool host_tcp_is_self(int fd)
{
	struct sockaddr_storage s;
	socklen_t n = sizeof s;
	struct host_address local, peer;
	if (host_socket_local(fd, &local) < 0 || getpeername(fd, (struct sockaddr *)&s, &n) < 0)
		return false;
	peer = from_kernel(&s);
	return local.port == peer.port && host_address_is_same(&local, &peer);
}

int host_tcp_info(int fd, struct host_tcp *ret)
{
	struct tcp_info t = {0};
	socklen_t n = sizeof t;
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &t, &n) < 0)
		return -errno;
	*ret = (struct host_tcp){
		.state = t.tcpi_state,
		.retransmits = t.tcpi_retransmits,
		.unacked = (int)t.tcpi_unacked,
		.snd_mss = (int)t.tcpi_snd_mss,
		.rtt_us = t.tcpi_rtt,
		.total_retrans = t.tcpi_total_retrans,
		.segments_out = t.tcpi_segs_out,
		.bytes_acked = (int64_t)t.tcpi_bytes_acked,
		.not_sent = t.tcpi_notsent_bytes,
		.busy_us = (int64_t)t.tcpi_busy_time,
		.full_us = (int64_t)t.tcpi_rwnd_limited,
	};
	return 0;
}

/* Takes one message off the error queue. */
static bool next_error(int fd, struct sock_extended_err *ret)
{
	char data[64], control[512];
	struct iovec io = {data, sizeof data};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	if (recvmsg(fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return false;
	*ret = (struct sock_extended_err){0};
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
		if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
			(c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR))
			memcpy(ret, CMSG_DATA(c), sizeof *ret);
	return true;
}

int host_socket_icmp(int fd)
{
	struct sock_extended_err e;
	while (next_error(fd, &e))
		if (e.ee_origin == SO_EE_ORIGIN_ICMP || e.ee_origin == SO_EE_ORIGIN_ICMP6)
			return e.ee_type << 8 | e.ee_code;
	return -ENODATA;
}

/* -- UDP ----------------------------------------------------------------------------------------------------------------- */

static void never_fragment(int fd, int family)
{
	if (family == 6)
		set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
	else
		set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
}

int host_udp_open(const struct host_address *at, int *ret_fd, struct host_address *ret_bound)
{
	int rc = bound_socket(SOCK_DGRAM, at, 0, ret_fd, ret_bound);
	if (rc == 0) {
		never_fragment(*ret_fd, at->family);
		set(*ret_fd, SOL_SOCKET, SO_RCVBUF, 1 << 20);
	}
	return rc;
}

int host_udp_probe(const struct host_address *to, int *ret_fd)
{
	struct sockaddr_storage s;
	socklen_t n = to_kernel(to, &s);
	int fd = socket(family_of(to), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	never_fragment(fd, to->family);
	report_errors(fd, to);
	if (connect(fd, (struct sockaddr *)&s, n) < 0) {
		int rc = -errno;
		close(fd);
		return rc;
	}
	*ret_fd = fd;
	return 0;
}

ssize_t host_udp_send(int fd, struct str data, const struct host_address *to)
{
	struct sockaddr_storage s;
	socklen_t n = to ? to_kernel(to, &s) : 0;
	ssize_t rc = sendto(fd, data.ptr, data.len, MSG_DONTWAIT | MSG_NOSIGNAL, to ? (struct sockaddr *)&s : NULL, n);
	return rc < 0 ? -errno : rc;
}

ssize_t host_udp_receive(int fd, void *p, size_t n, struct host_address *ret_from)
{
	struct sockaddr_storage s;
	socklen_t len = sizeof s;
	ssize_t rc = recvfrom(fd, p, n, MSG_DONTWAIT, (struct sockaddr *)&s, &len);
	if (rc < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	if (ret_from)
		*ret_from = from_kernel(&s);
	return rc;
}

int host_udp_frag_needed(int fd)
{
	struct sock_extended_err e;
	int mtu = -ENODATA;
	while (next_error(fd, &e)) {
		bool icmp4 = e.ee_origin == SO_EE_ORIGIN_ICMP && e.ee_type == 3 && e.ee_code == 4,
		     icmp6 = e.ee_origin == SO_EE_ORIGIN_ICMP6 && e.ee_type == 2;
		if ((icmp4 || icmp6) && e.ee_info < 65536)
			mtu = (int)e.ee_info;
	}
	return mtu;
}

/* -- both ---------------------------------------------------------------------------------------------------------------- */

ssize_t host_send(int fd, const void *p, size_t n)
{
	ssize_t rc = send(fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	return rc >= 0 ? rc : errno == EWOULDBLOCK || errno == EINTR ? -EAGAIN : -errno;
}

ssize_t host_receive(int fd, void *p, size_t n)
{
	ssize_t rc = recv(fd, p, n, MSG_DONTWAIT);
	return rc >= 0 ? rc : errno == EWOULDBLOCK || errno == EINTR ? -EAGAIN : -errno;
}

int host_socket_pair(int ret[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ret) < 0 ? -errno : 0;
}

int host_socket_local(int fd, struct host_address *ret)
{
	struct sockaddr_storage s;
	socklen_t n = sizeof s;
	if (getsockname(fd, (struct sockaddr *)&s, &n) < 0)
		return -errno;
	*ret = from_kernel(&s);
	return 0;
}

void host_socket_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

void host_socket_abort(int fd)
{
	struct linger now = {1, 0};
	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	close(fd);
}

void host_wait(struct host_wait *list, size_t n, double ms)
{
	struct pollfd few[WAIT_STACK], *p = n <= WAIT_STACK ? few : calloc(n, sizeof *p);
	if (!p)
		return;
	for (size_t i = 0; i < n; i++)
		p[i] = (struct pollfd){list[i].fd, (short)((list[i].read ? POLLIN : 0) | (list[i].write ? POLLOUT : 0)), 0};
	int rc = poll(p, n, ms <= 0 ? 0 : ms > 60000 ? 60000 : (int)ms + 1);
	for (size_t i = 0; i < n; i++) {
		short bad = rc > 0 ? p[i].revents & (POLLERR | POLLHUP | POLLNVAL) : 0;
		list[i].can_read = rc > 0 && (p[i].revents & POLLIN || bad);
		list[i].can_write = rc > 0 && (p[i].revents & POLLOUT || bad);
	}
	if (p != few)
		free(p);
}

int64_t host_wall_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

uint64_t host_random(void)
{
	uint64_t x = 0;
	if (getrandom(&x, sizeof x, GRND_NONBLOCK) != (ssize_t)sizeof x)
		x = (uint64_t)host_wall_us() * 0x9e3779b97f4a7c15u ^ (uint64_t)getpid();
	return x;
}

void host_allow_files(void)
{
	struct rlimit r;
	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

void host_ignore_pipe(void)
{
	signal(SIGPIPE, SIG_IGN);
}

static volatile sig_atomic_t caught;

static void note_signal(int number)
{
	caught = number;
}

void host_catch_signals(void)
{
	struct sigaction a = {.sa_handler = note_signal};
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGHUP, &a, NULL);
}

int host_signal_caught(void)
{
	return caught;
}

int host_interface_of(const struct host_address *a, char ret_name[32], int *ret_mtu)
{
	struct ifaddrs *all, *i;
	int rc = -ENOENT;
	if (getifaddrs(&all) < 0)
		return -errno;
	for (i = all; i; i = i->ifa_next) {
		struct sockaddr_storage s = {0};
		if (!i->ifa_addr || (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6))
			continue;
		memcpy(&s, i->ifa_addr, i->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
		struct host_address have = from_kernel(&s);
		if (host_address_is_same(&have, a))
			break;
	}
	if (i) {
		struct ifreq q = {0};
		int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		snprintf(ret_name, 32, "%s", i->ifa_name);
		snprintf(q.ifr_name, sizeof q.ifr_name, "%s", i->ifa_name);
		if (fd < 0)
			fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		*ret_mtu = fd >= 0 && ioctl(fd, SIOCGIFMTU, &q) == 0 ? q.ifr_mtu : -1;
		if (fd >= 0)
			close(fd);
		rc = 0;
	}
	freeifaddrs(all);
	return rc;
}

int host_prepare_dir(const char *path)
{
	char test[4096];
	struct stat st;
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return -errno;
	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (snprintf(test, sizeof test, "%s/.davy-%d", path, (int)getpid()) >= (int)sizeof test)
		return -ENAMETOOLONG;
	int fd = open(test, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	close(fd);
	unlink(test);
	return 0;
}
