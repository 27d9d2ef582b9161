/* A host name by the system's own resolver: files, DNS, LDAP, mDNS, whatever the machine is set up for. */
#include "probe.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

#define ADDRESSES_MAX 32

int probe_resolve(const char *text)
{
	struct addrinfo hints, *list, *i;
	char name[256], address[64];
	size_t n = strcspn(text, " ");
	int rc, count = 0;

	if (n == 0 || n >= sizeof name)
		return PROBE_ERROR;
	memcpy(name, text, n);
	name[n] = '\0';
	memset(&hints, 0, sizeof hints);
	hints.ai_socktype = SOCK_STREAM;
	probe_calling("getaddrinfo", -1);
	rc = getaddrinfo(name, NULL, &hints, &list);
	if (rc) {
		out_error("getaddrinfo", rc, gai_strerror(rc));
		return PROBE_ERROR;
	}
	out_array("addresses");
	for (i = list; i && count < ADDRESSES_MAX; i = i->ai_next) {
		const void *bytes = NULL;

		if (i->ai_family == AF_INET)
			bytes = &((const struct sockaddr_in *)(const void *)i->ai_addr)->sin_addr;
		else if (i->ai_family == AF_INET6)
			bytes = &((const struct sockaddr_in6 *)(const void *)i->ai_addr)->sin6_addr;
		if (bytes && inet_ntop(i->ai_family, bytes, address, sizeof address)) {
			out_text(NULL, address);
			count++;
		}
	}
	out_end();
	return PROBE_OK;
}
