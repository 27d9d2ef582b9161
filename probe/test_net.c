/* An address of this host: listen on a free port of it (or the given one), connect to it, and send some data there and back. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "probe.h"

enum { WAIT_MS = 3000, BYTES = 65536 };

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static int fail(const char *call, int code)
{
	out_error(call, code, strerror(code));
	return PROBE_ERROR;
}

static bool parse(const char *text, int port, union address *ret, socklen_t *ret_size)
{
	const char *scope = strchr(text, '%');
	char plain[64];

	memset(ret, 0, sizeof *ret);
	if (inet_pton(AF_INET, text, &ret->v4.sin_addr) == 1) {
		ret->v4.sin_family = AF_INET;
		ret->v4.sin_port = htons((unsigned short)port);
		*ret_size = sizeof ret->v4;
		return true;
	}
	if (strlen(text) >= sizeof plain)
		return false;
	strcpy(plain, text);
	plain[scope ? scope - text : (long)strlen(text)] = '\0';
	if (inet_pton(AF_INET6, plain, &ret->v6.sin6_addr) != 1)
		return false;
	ret->v6.sin6_family = AF_INET6;
	ret->v6.sin6_port = htons((unsigned short)port);
	ret->v6.sin6_scope_id = scope ? if_nametoindex(scope + 1) : 0;
	*ret_size = sizeof ret->v6;
	return true;
}

static bool wait_for(int fd, short what)
{
	struct pollfd p = {fd, what, 0};

	return poll(&p, 1, WAIT_MS) == 1;
}

/* Sends and receives at once: neither end may wait for the other's buffer. 0 or errno. */
static int exchange(int from, int to)
{
	static unsigned char out[BYTES], in[BYTES];
	size_t sent = 0, got = 0;

	for (size_t i = 0; i < BYTES; i++)
		out[i] = (unsigned char)(i * 7 + 3);
	while (got < BYTES) {
		ssize_t n;

		if (sent < BYTES) {
			n = send(from, out + sent, BYTES - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
			if (n > 0)
				sent += (size_t)n;
			else if (n < 0 && errno != EAGAIN)
				return errno;
		}
		if (!wait_for(to, POLLIN))
			return ETIMEDOUT;
		n = recv(to, in + got, BYTES - got, MSG_DONTWAIT);
		if (n == 0)
			return ECONNRESET;
		if (n < 0 && errno != EAGAIN)
			return errno;
		got += n > 0 ? (size_t)n : 0;
	}
	return memcmp(in, out, BYTES) == 0 ? 0 : EIO;
}

static int connect_to(int fd, const union address *a, socklen_t size)
{
	int code = 0;
	socklen_t n = sizeof code;
	int yes = 1;

	ioctl(fd, FIONBIO, &yes); /* fcntl has a new version since glibc 2.28 */
	if (connect(fd, &a->any, size) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	if (!wait_for(fd, POLLOUT))
		return ETIMEDOUT;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &n) == 0 ? code : errno;
}

int probe_test_net(char **args)
{
	int port = args[1] ? atoi(args[1]) : 0, listener, client, server, rc;
	union address a;
	socklen_t size;

	if (port < 0 || port > 65535 || !parse(args[0], port, &a, &size))
		return 64;
	listener = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0)
		return fail("socket", errno);
	if (port) { /* as the rendezvous server does it */
		int on = 1;

		setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	}
	probe_calling("bind", -1);
	if (bind(listener, &a.any, size) < 0)
		return fail("bind", errno);
	if (listen(listener, 16) < 0)
		return fail("listen", errno);
	if (getsockname(listener, &a.any, &size) < 0)
		return fail("getsockname", errno);
	out_int("port", ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port));
	if (port)
		return PROBE_OK; /* that it is free is all */
	client = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	probe_calling("connect", -1);
	rc = client < 0 ? errno : connect_to(client, &a, size);
	if (rc)
		return fail("connect", rc);
	server = wait_for(listener, POLLIN) ? accept(listener, NULL, NULL) : -1;
	if (server < 0)
		return fail("accept", ETIMEDOUT);
	probe_calling("send", -1);
	rc = exchange(client, server);
	if (!rc)
		rc = exchange(server, client);
	return rc ? fail("send", rc) : PROBE_OK;
}
