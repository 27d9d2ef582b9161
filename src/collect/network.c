/* Interfaces, addresses, routes, names: from files, and which interface NCCL and gloo would take. */
#include <errno.h>

#include "collect/collect.h"
#include "parse/ifname.h"

#define INTERFACES_MAX 512

/* -- interfaces --------------------------------------------------------------------------------------------------------- */

static bool is_in(struct collect *c, const char *name, const char *what)
{
	return host_exists(c->host, arena_printf(c->arena, "/sys/class/net/%s/%s", name, what));
}

static const char *device_type(struct collect *c, const char *name)
{
	struct str text, line;
	if (host_readf(c->host, &text, "/sys/class/net/%s/uevent", name) < 0)
		return NULL;
	while (str_next_line(&text, &line))
		if (str_starts(line, "DEVTYPE="))
			return str_dup(c->arena, str_skip(line, 8));
	return NULL;
}

static bool starts_with_one_of(const char *name, const char *const *prefixes)
{
	for (; *prefixes; prefixes++)
		if (strncmp(name, *prefixes, strlen(*prefixes)) == 0)
			return true;
	return false;
}

static const char *kind_of(struct collect *c, const char *name)
{
	static const char *const engines[] = {
		"docker", "br-", "virbr", "cni", "flannel", "cali", "podman", "lxdbr", "lxcbr", "vmnet", "kube-", "nerdctl", "weave", NULL};
	static const char *const vpns[] = {"tun", "tap", "wg", "tailscale", "zt", "utun", "ppp", "ipsec", "nebula", "vpn", NULL};
	int64_t type = -1;
	const char *dev = device_type(c, name);
	host_intf(c->host, &type, "/sys/class/net/%s/type", name);
	if (type == 772 || strcmp(name, "lo") == 0)
		return "loopback";
	if (type == 32)
		return "ipoib";
	if (starts_with_one_of(name, engines))
		return "docker";
	if (is_in(c, name, "tun_flags") || (dev && strcmp(dev, "wireguard") == 0) || starts_with_one_of(name, vpns))
		return "vpn";
	if (dev && strcmp(dev, "bridge") == 0)
		return "bridge";
	if (dev && strcmp(dev, "bond") == 0)
		return "bond";
	if (dev && strcmp(dev, "vlan") == 0)
		return "vlan";
	if (dev && (strcmp(dev, "vxlan") == 0 || strcmp(dev, "geneve") == 0 || strcmp(dev, "ip6tnl") == 0))
		return "tunnel";
	if (type == 768 || type == 769 || type == 776 || type == 778)
		return "tunnel";
	if (is_in(c, name, "device/physfn"))
		return "virtual-function";
	if (is_in(c, name, "device"))
		return "physical";
	if (strncmp(name, "veth", 4) == 0 || (dev && strcmp(dev, "veth") == 0))
		return "veth";
	return "other"; /* an interface of a container looks so: a veth whose other end is elsewhere */
}

static void one_interface(struct collect *c, const char *name)
{
	struct facts_row *row = facts_add(c->facts, TABLE_interface);
	const char *dir = arena_printf(c->arena, "/sys/class/net/%s", name);
	struct str text;
	const char *link;
	int64_t n;
	uint64_t flags;
	facts_text(row, interface__name, name, "/sys/class/net");
	facts_text(row, interface__kind, kind_of(c, name), dir);
	int rc = host_linef(c->host, &text, "%s/flags", dir);
	if (rc == 0 && str_to_hex(text, &flags) == 0)
		facts_bool(row, interface__up, flags & 1, dir);
	else
		facts_gap_errno(row, interface__up, rc ? rc : -EINVAL, dir);
	rc = host_linef(c->host, &text, "%s/operstate", dir);
	/* "unknown" is what interfaces without a carrier of their own say: loopback, tunnels. */
	if (rc == 0)
		facts_bool(row, interface__running, str_is(text, "up") || str_is(text, "unknown"), dir);
	else
		facts_gap_errno(row, interface__running, rc, dir);
	rc = host_intf(c->host, &n, "%s/mtu", dir);
	if (rc == 0)
		facts_int(row, interface__mtu, n, dir);
	else
		facts_gap_errno(row, interface__mtu, rc, dir);
	if (host_intf(c->host, &n, "%s/speed", dir) == 0 && n > 0)
		facts_int(row, interface__speed_mbps, n, dir);
	if (host_linef(c->host, &text, "%s/address", dir) == 0)
		facts_str(row, interface__mac, text, dir);
	if (host_readlink(c->host, arena_printf(c->arena, "%s/device/driver", dir), &link) == 0)
		facts_text(row, interface__driver, strrchr(link, '/') ? strrchr(link, '/') + 1 : link, dir);
	struct host_list rdma;
	if (host_list(c->host, arena_printf(c->arena, "%s/device/infiniband", dir), &rdma) == 0 && rdma.count)
		facts_text(row, interface__rdma_device, rdma.names[0], dir);
}

/* Interfaces in the order in which the kernel numbers them: NCCL takes the first that fits. */
static size_t list_interfaces(struct collect *c, const char **ret)
{
	struct host_list list;
	int64_t index[INTERFACES_MAX];
	size_t n = 0;
	int rc = host_list(c->host, "/sys/class/net", &list);
	if (rc < 0) {
		facts_table_gap_errno(c->facts, TABLE_interface, rc, "/sys/class/net");
		return 0;
	}
	facts_table_read(c->facts, TABLE_interface);
	for (size_t i = 0; i < list.count && n < INTERFACES_MAX; i++) {
		int64_t k = 1 << 20;
		if (!is_in(c, list.names[i], "ifindex") || host_intf(c->host, &k, "/sys/class/net/%s/ifindex", list.names[i]) < 0)
			continue; /* "bonding_masters" lies there too */
		size_t at = n++;
		for (; at > 0 && index[at - 1] > k; at--) {
			index[at] = index[at - 1];
			ret[at] = ret[at - 1];
		}
		index[at] = k;
		ret[at] = list.names[i];
	}
	return n;
}

/* -- addresses ---------------------------------------------------------------------------------------------------------- */

static const char *ipv4_text(struct arena *a, uint32_t address)
{
	return arena_printf(a, "%u.%u.%u.%u", address & 255, address >> 8 & 255, address >> 16 & 255, address >> 24);
}

struct route_entry {
	const char *interface;
	uint32_t destination, gateway, mask; /* network byte order, as the kernel prints them */
	int64_t metric;
};

static bool parse_route(struct collect *c, struct str line, struct route_entry *ret)
{
	struct str word[8];
	uint64_t x[3];
	for (int i = 0; i < 8; i++)
		if (!str_next_word(&line, &word[i]))
			return false;
	if (str_to_hex(word[1], &x[0]) < 0 || str_to_hex(word[2], &x[1]) < 0 || str_to_hex(word[7], &x[2]) < 0 ||
		str_to_int(word[6], &ret->metric) < 0)
		return false;
	*ret = (struct route_entry){str_dup(c->arena, word[0]), (uint32_t)x[0], (uint32_t)x[1], (uint32_t)x[2], ret->metric};
	return true;
}

static int prefix_of(uint32_t mask)
{
	return __builtin_popcount(mask);
}

static size_t read_routes(struct collect *c, struct route_entry *routes, size_t max)
{
	const char *path = "/proc/net/route";
	struct str text, line;
	size_t n = 0;
	int rc = host_read(c->host, path, (size_t)4 << 20, &text);
	if (rc < 0) {
		facts_table_gap_errno(c->facts, TABLE_route, rc, path);
		return 0;
	}
	facts_table_read(c->facts, TABLE_route);
	str_next_line(&text, &line);
	while (n < max && str_next_line(&text, &line)) {
		struct route_entry r;
		if (!parse_route(c, line, &r))
			continue;
		routes[n++] = r;
		struct facts_row *row = facts_add(c->facts, TABLE_route);
		facts_text(row, route__destination,
			r.mask || r.destination ? arena_printf(c->arena, "%s/%d", ipv4_text(c->arena, r.destination), prefix_of(r.mask))
						: "default",
			path);
		if (r.gateway)
			facts_text(row, route__gateway, ipv4_text(c->arena, r.gateway), path);
		else
			facts_gap(row, route__gateway, GAP_ABSENT, path, NULL);
		facts_text(row, route__interface, r.interface, path);
		facts_int(row, route__metric, r.metric, path);
	}
	return n;
}

static struct facts_row *interface_row(struct collect *c, const char *name)
{
	return facts_find(c->facts, interface__name, name);
}

static void add_address(
	struct collect *c, const char *address, const char *interface, int family, int prefix, const char *scope, const char *origin)
{
	for (struct facts_row *old = c->facts->first[TABLE_address]; old; old = old->next) {
		const char *text = facts_get_text(old, address__address);
		if (text && strcmp(text, address) == 0)
			return;
	}
	struct facts_row *row = facts_add(c->facts, TABLE_address), *owner = interface ? interface_row(c, interface) : NULL;
	facts_text(row, address__address, address, origin);
	if (interface)
		facts_text(row, address__interface, interface, origin);
	facts_int(row, address__family, family, origin);
	if (prefix >= 0)
		facts_int(row, address__prefix, prefix, origin);
	facts_text(row, address__scope, scope, origin);
	enum facts_column column = family == 4 ? interface__ipv4 : interface__ipv6;
	if (owner && !facts_get_text(owner, column) && strcmp(scope, "link") != 0)
		facts_text(owner, column, address, origin);
}

/* Local IPv4 addresses stand in fib_trie without their interface: the connected network that holds one tells it. */
static void ipv4_addresses(struct collect *c, const struct route_entry *routes, size_t n)
{
	const char *path = "/proc/net/fib_trie";
	struct str text, line, last = {0};
	int rc = host_read(c->host, path, (size_t)8 << 20, &text);
	if (rc < 0) {
		facts_table_gap_errno(c->facts, TABLE_address, rc, path);
		for (struct facts_row *row = c->facts->first[TABLE_interface]; row; row = row->next)
			facts_gap_errno(row, interface__ipv4, rc, path);
		return;
	}
	facts_table_read(c->facts, TABLE_address);
	while (str_next_line(&text, &line)) {
		struct str t = str_trim(line);
		if (str_starts(t, "|-- ")) {
			last = str_skip(t, 4);
			continue;
		}
		if (!str_has(t, "host LOCAL") || !str_starts(t, "/32") || !last.len)
			continue;
		uint32_t part[4] = {0}, address;
		struct str rest = last, field;
		int64_t v;
		for (int i = 0; i < 4 && str_next_field(&rest, '.', &field); i++)
			if (str_to_int(field, &v) == 0)
				part[i] = (uint32_t)v & 255;
		address = part[0] | part[1] << 8 | part[2] << 16 | part[3] << 24;
		const char *interface = part[0] == 127 ? "lo" : NULL;
		int prefix = part[0] == 127 ? 8 : -1;
		for (size_t i = 0; i < n; i++) {
			if (!routes[i].gateway && routes[i].mask && (address & routes[i].mask) == routes[i].destination &&
				prefix_of(routes[i].mask) > prefix) {
				interface = routes[i].interface;
				prefix = prefix_of(routes[i].mask);
			}
		}
		add_address(c, ipv4_text(c->arena, address), interface, 4, prefix,
			part[0] == 127                             ? "host"
				: part[0] == 169 && part[1] == 254 ? "link"
								   : "global",
			path);
	}
}

static const char *ipv6_text(struct arena *a, struct str hex)
{
	struct buf b = BUF_MAX(64);
	for (size_t i = 0; i < 8; i++) {
		uint64_t group = 0;
		str_to_hex(str_slice(hex, i * 4, i * 4 + 4), &group);
		buf_fmt(&b, "%s%llx", i ? ":" : "", (unsigned long long)group);
	}
	/* The longest run of zeros shrinks to "::". */
	const char *best = NULL;
	size_t best_len = 0;
	for (const char *p = b.ptr; *p; p++) {
		size_t len = strspn(p, "0:");
		if ((p == b.ptr || p[-1] == ':') && *p == '0') {
			while (len && p[len - 1] == '0' && p[len] && p[len] != ':')
				len--;
			if (len > best_len) {
				best = p;
				best_len = len;
			}
		}
	}
	const char *text = best && best_len > 2
		? arena_printf(a, "%.*s%s%s", (int)(best - b.ptr), b.ptr, best == b.ptr ? "::" : ":", best + best_len)
		: arena_strdup(a, b.ptr);
	buf_free(&b);
	return text;
}

static void ipv6_addresses(struct collect *c)
{
	const char *path = "/proc/net/if_inet6";
	struct str text, line, word[6];
	if (host_read(c->host, path, 0, &text) < 0)
		return; /* no IPv6 in this kernel */
	while (str_next_line(&text, &line)) {
		uint64_t prefix, scope;
		int i = 0;
		while (i < 6 && str_next_word(&line, &word[i]))
			i++;
		if (i < 6 || word[0].len != 32 || str_to_hex(word[2], &prefix) < 0 || str_to_hex(word[3], &scope) < 0)
			continue;
		add_address(c, ipv6_text(c->arena, word[0]), str_dup(c->arena, word[5]), 6, (int)prefix,
			scope == 0x10           ? "host"
				: scope == 0x20 ? "link"
						: "global",
			path);
	}
}

static void default_route(struct collect *c, const struct route_entry *routes, size_t n)
{
	const struct route_entry *best = NULL;
	for (size_t i = 0; i < n; i++)
		if (!routes[i].mask && !routes[i].destination && (!best || routes[i].metric < best->metric))
			best = &routes[i];
	for (struct facts_row *row = c->facts->first[TABLE_interface]; row; row = row->next) {
		const char *name = facts_get_text(row, interface__name);
		facts_bool(row, interface__default_route, best && name && strcmp(best->interface, name) == 0, "/proc/net/route");
		if (c->facts->read[TABLE_address]) {
			facts_gap(row, interface__ipv4, GAP_ABSENT, "/proc/net/fib_trie", NULL);
			facts_gap(row, interface__ipv6, GAP_ABSENT, "/proc/net/if_inet6", NULL);
		}
	}
}

/* -- choices ------------------------------------------------------------------------------------------------------------- */

static bool usable(const struct facts_row *row)
{
	bool up = true;
	facts_get_bool(row, interface__up, &up);
	return up && (facts_get_text(row, interface__ipv4) || facts_get_text(row, interface__ipv6));
}

/* NCCL without NCCL_SOCKET_IFNAME: interfaces named ib*, else all but docker* and lo, else docker*, else lo. */
static void nccl_choice(struct collect *c)
{
	static const char *const rounds[] = {"ib", "^docker,lo", "docker", "lo"};
	const char *env = host_env(c->host, "NCCL_SOCKET_IFNAME");
	bool found = false;
	if (!c->facts->read[TABLE_interface] || !c->facts->read[TABLE_address])
		return;
	for (struct facts_row *row = c->facts->first[TABLE_interface]; row; row = row->next) {
		const struct facts_value *up = facts_value(row, interface__up);
		if (up->set && up->gap != GAP_NONE) { /* one that may be down or up: then none is known to be the choice */
			for (row = c->facts->first[TABLE_interface]; row; row = row->next)
				facts_gap(row, interface__nccl_choice, up->gap, up->origin, up->detail);
			return;
		}
	}
	for (size_t i = 0; i < (env && *env ? 1 : 4); i++) {
		const char *spec = env && *env ? env : rounds[i];
		for (struct facts_row *row = c->facts->first[TABLE_interface]; row; row = row->next) {
			const char *name = facts_get_text(row, interface__name);
			bool chosen = !found && usable(row) && parse_ifname_matches(spec, name);
			if (chosen)
				facts_bool(row, interface__nccl_choice, true, env && *env ? "NCCL_SOCKET_IFNAME" : "NCCL's default order");
			found |= chosen;
		}
	}
	for (struct facts_row *row = c->facts->first[TABLE_interface]; row; row = row->next) {
		bool chosen;
		if (!facts_get_bool(row, interface__nccl_choice, &chosen))
			facts_bool(row, interface__nccl_choice, false, env && *env ? "NCCL_SOCKET_IFNAME" : "NCCL's default order");
	}
}

/* gloo takes GLOO_SOCKET_IFNAME's plain names, or the interface that holds the address of the host's name. */
static void gloo_choice(struct collect *c)
{
	const char *env = host_env(c->host, "GLOO_SOCKET_IFNAME"), *own = NULL;
	for (const struct facts_row *row = c->facts->first[TABLE_hosts_entry]; row && !own; row = row->next) {
		bool is_own = false;
		facts_get_bool(row, hosts_entry__own_name, &is_own);
		own = is_own ? facts_get_text(row, hosts_entry__address) : NULL;
	}
	for (struct facts_row *row = c->facts->first[TABLE_interface]; row; row = row->next) {
		const char *name = facts_get_text(row, interface__name), *ipv4 = facts_get_text(row, interface__ipv4);
		if (env && *env)
			facts_bool(row, interface__gloo_choice, parse_ifname_is_listed(env, name), "GLOO_SOCKET_IFNAME");
		else if (own)
			facts_bool(row, interface__gloo_choice,
				(ipv4 && strcmp(ipv4, own) == 0) || (strncmp(own, "127.", 4) == 0 && strcmp(name, "lo") == 0),
				"/etc/hosts");
	}
}

/* -- names --------------------------------------------------------------------------------------------------------------- */

static bool is_loopback(struct str address)
{
	return str_starts(address, "127.") || str_is(address, "::1");
}

static void hosts_file(struct collect *c)
{
	const char *path = "/etc/hosts";
	const struct facts_row *system = c->facts->first[TABLE_system];
	const char *own = system ? facts_get_text(system, system__hostname) : NULL, *master = host_env(c->host, "MASTER_ADDR");
	struct str text, line, address, name;
	int rc = host_read(c->host, path, 0, &text);
	if (rc < 0) {
		facts_table_gap_errno(c->facts, TABLE_hosts_entry, rc, path);
		return;
	}
	facts_table_read(c->facts, TABLE_hosts_entry);
	while (str_next_line(&text, &line)) {
		line = str_slice(line, 0, str_find_char(line, '#', 0));
		if (!str_next_word(&line, &address))
			continue;
		while (str_next_word(&line, &name)) {
			struct str first = str_slice(name, 0, str_find_char(name, '.', 0));
			bool is_own = own && (str_is(name, own) || str_is(first, own)) && !str_is(name, "localhost");
			if (!is_own && !str_is(name, "localhost") && !(master && str_is(name, master)))
				continue; /* names of other machines are nobody's business here */
			struct facts_row *row = facts_add(c->facts, TABLE_hosts_entry);
			facts_str(row, hosts_entry__name, name, path);
			facts_str(row, hosts_entry__address, address, path);
			facts_bool(row, hosts_entry__own_name, is_own, path);
			facts_bool(row, hosts_entry__loopback, is_loopback(address), path);
		}
	}
}

void collect_network(struct collect *c)
{
	const char *names[INTERFACES_MAX];
	struct route_entry *routes = arena_array(c->arena, 4096, sizeof *routes);
	size_t n = list_interfaces(c, names);
	for (size_t i = 0; i < n; i++)
		one_interface(c, names[i]);
	n = read_routes(c, routes, 4096);
	ipv4_addresses(c, routes, n);
	ipv6_addresses(c);
	default_route(c, routes, n);
	hosts_file(c);
	nccl_choice(c);
	gloo_choice(c);
}
