/* InfiniBand and RoCE ports, from /sys/class/infiniband. */
#include <errno.h>

#include "collect/collect.h"

#define GIDS_READ 16 /* ports have up to 256; the used ones come first */

/* "4: ACTIVE" → "ACTIVE". */
static struct str after_colon(struct str s)
{
	size_t i = str_find_char(s, ':', 0);
	return i == SIZE_MAX ? s : str_trim(str_skip(s, i + 1));
}

static void counter(struct collect *c, struct facts_row *row, enum facts_column column, const char *dir, const char *name)
{
	int64_t n;
	const char *path = arena_printf(c->arena, "%s/counters/%s", dir, name);
	if (host_intf(c->host, &n, "%s", path) == 0)
		facts_int(row, column, n, path);
}

static bool is_set_gid(struct str gid)
{
	return !str_is(gid, "0000:0000:0000:0000:0000:0000:0000:0000") && !str_is(gid, "fe80:0000:0000:0000:0000:0000:0000:0000");
}

static bool is_ipv4_rocev2(struct collect *c, const char *dir, int index, struct str gid)
{
	struct str type;
	return str_starts(gid, "0000:0000:0000:0000:0000:ffff:") && host_linef(c->host, &type, "%s/gid_attrs/types/%d", dir, index) == 0 &&
		str_starts(type, "RoCE v2");
}

/* The GID that NCCL_IB_GID_INDEX names. The kernel lists as many as the port's table has: one that is not there is beyond it. */
static void asked_gid(struct collect *c, struct facts_row *row, const char *dir)
{
	const char *asked = host_env(c->host, "NCCL_IB_GID_INDEX");
	int64_t index;
	struct str gid;
	if (!asked || str_to_int(str_of(asked), &index) < 0 || index < 0 || index > 65535)
		return;
	int rc = host_linef(c->host, &gid, "%s/gids/%d", dir, (int)index);
	if (rc == -ENOENT || (rc == 0 && !is_set_gid(gid)))
		facts_text(row, rdma_port__asked_gid, "empty", dir);
	else if (rc == 0)
		facts_text(row, rdma_port__asked_gid, is_ipv4_rocev2(c, dir, (int)index, gid) ? "ipv4-rocev2" : "other", dir);
}

static void gids(struct collect *c, struct facts_row *row, const char *dir)
{
	int64_t count = 0;
	bool rocev2 = false, ok = false;
	for (int i = 0; i < GIDS_READ; i++) {
		struct str gid;
		if (host_linef(c->host, &gid, "%s/gids/%d", dir, i) < 0)
			break;
		ok = true;
		if (!is_set_gid(gid))
			continue;
		count++;
		if (!rocev2 && is_ipv4_rocev2(c, dir, i, gid)) {
			facts_int(row, rdma_port__rocev2_ipv4_gid, i, dir);
			rocev2 = true;
		}
	}
	if (!ok)
		return;
	facts_int(row, rdma_port__gids, count, dir);
	asked_gid(c, row, dir);
	if (!rocev2)
		facts_gap(row, rdma_port__rocev2_ipv4_gid, GAP_ABSENT, dir, NULL);
}

static void one_port(struct collect *c, const char *device, const char *port)
{
	const char *base = arena_printf(c->arena, "/sys/class/infiniband/%s", device),
		   *dir = arena_printf(c->arena, "%s/ports/%s", base, port);
	struct facts_row *row = facts_add(c->facts, TABLE_rdma_port);
	struct str text;
	struct host_list list;
	int64_t n;
	double rate;
	facts_text(row, rdma_port__device, device, base);
	if (str_to_int(str_of(port), &n) == 0)
		facts_int(row, rdma_port__port, n, dir);
	if (host_linef(c->host, &text, "%s/state", dir) == 0)
		facts_str(row, rdma_port__state, after_colon(text), dir);
	if (host_linef(c->host, &text, "%s/phys_state", dir) == 0)
		facts_str(row, rdma_port__phys_state, after_colon(text), dir);
	if (host_linef(c->host, &text, "%s/link_layer", dir) == 0)
		facts_str(row, rdma_port__link_layer, text, dir);
	if (host_linef(c->host, &text, "%s/rate", dir) == 0 && str_to_real(str_slice(text, 0, str_find_char(text, ' ', 0)), &rate) == 0)
		facts_real(row, rdma_port__rate_gbps, rate, dir);
	if (host_linef(c->host, &text, "%s/fw_ver", base) == 0)
		facts_str(row, rdma_port__firmware, text, base);
	if (host_linef(c->host, &text, "%s/board_id", base) == 0)
		facts_str(row, rdma_port__board, text, base);
	uint64_t lid;
	if (host_linef(c->host, &text, "%s/lid", dir) == 0 && str_to_hex(text, &lid) == 0)
		facts_int(row, rdma_port__lid, (int64_t)lid, dir);
	if (host_intf(c->host, &n, "%s/device/numa_node", base) == 0 && n >= 0)
		facts_int(row, rdma_port__numa_node, n, base);
	if (host_linef(c->host, &text, "%s/gid_attrs/ndevs/0", dir) == 0)
		facts_str(row, rdma_port__netdev, text, dir);
	int rc = host_list(c->host, arena_printf(c->arena, "%s/device/infiniband_verbs", base), &list);
	if (rc == 0 && list.count) {
		const char *node = arena_printf(c->arena, "/dev/infiniband/%s", list.names[0]);
		if (host_exists(c->host, node))
			facts_text(row, rdma_port__verbs_node, node, node);
		else
			facts_gap(row, rdma_port__verbs_node, GAP_ABSENT, node, NULL);
	}
	counter(c, row, rdma_port__link_downed, dir, "link_downed");
	counter(c, row, rdma_port__symbol_errors, dir, "symbol_error");
	gids(c, row, dir);
}

void collect_rdma(struct collect *c)
{
	struct host_list devices, ports;
	int rc = host_list(c->host, "/sys/class/infiniband", &devices);
	if (rc == -ENOENT && host_is_dir(c->host, "/sys/class")) {
		facts_table_read(c->facts, TABLE_rdma_port);
		return;
	}
	if (rc < 0) {
		facts_table_gap_errno(c->facts, TABLE_rdma_port, rc, "/sys/class/infiniband");
		return;
	}
	facts_table_read(c->facts, TABLE_rdma_port);
	for (size_t i = 0; i < devices.count; i++) {
		if (host_list(c->host, arena_printf(c->arena, "/sys/class/infiniband/%s/ports", devices.names[i]), &ports) < 0)
			continue;
		for (size_t k = 0; k < ports.count; k++)
			one_port(c, devices.names[i], ports.names[k]);
	}
}
