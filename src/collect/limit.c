/* Resource limits of this process and kernel settings that matter. */
#include "collect/collect.h"

static void one_limit(struct collect *c, const char *name)
{
	struct host_limit limit;
	struct facts_row *row;
	int rc = host_limit(c->host, name, &limit);
	if (rc < 0) {
		facts_table_gap_errno(c->facts, TABLE_limit, rc, name);
		return;
	}
	row = facts_add(c->facts, TABLE_limit);
	facts_text(row, limit__name, name, "getrlimit");
	facts_bool(row, limit__soft_unlimited, limit.soft == UINT64_MAX, "getrlimit");
	facts_bool(row, limit__hard_unlimited, limit.hard == UINT64_MAX, "getrlimit");
	if (limit.soft <= INT64_MAX)
		facts_int(row, limit__soft, (int64_t)limit.soft, "getrlimit");
	else
		facts_gap(row, limit__soft, GAP_ABSENT, "getrlimit", NULL);
	if (limit.hard <= INT64_MAX)
		facts_int(row, limit__hard, (int64_t)limit.hard, "getrlimit");
	else
		facts_gap(row, limit__hard, GAP_ABSENT, "getrlimit", NULL);
}

void collect_limit(struct collect *c)
{
	static const char *const limits[] = {"memlock", "nofile", "nproc", "stack", "core", "as"};
	static const char *const settings[] = {"kernel.numa_balancing", "kernel.shmmax", "kernel.shmall", "kernel.pid_max",
		"kernel.yama.ptrace_scope", "vm.max_map_count", "vm.overcommit_memory", "vm.nr_hugepages", "net.core.somaxconn",
		"net.ipv4.tcp_max_syn_backlog", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_mtu_probing", "net.ipv4.conf.all.rp_filter",
		"net.ipv4.conf.all.arp_ignore", "net.ipv6.conf.all.disable_ipv6", "net.core.rmem_max", "net.core.wmem_max", "fs.file-max",
		"fs.nr_open"};
	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
		one_limit(c, limits[i]);
	facts_table_read(c->facts, TABLE_sysctl);
	for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
		struct str value;
		char *path = arena_printf(c->arena, "/proc/sys/%s", settings[i]);
		for (char *p = path + 10; *p; p++)
			if (*p == '.')
				*p = '/';
		if (host_linef(c->host, &value, "%s", path) < 0)
			continue;
		struct facts_row *row = facts_add(c->facts, TABLE_sysctl);
		facts_text(row, sysctl__name, settings[i], path);
		facts_str(row, sysctl__value, value, path);
	}
}
