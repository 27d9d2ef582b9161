/* The operating system, the processors, memory, IOMMU. */
#include <errno.h>

#include "base/version.h"
#include "collect/binary.h"
#include "collect/collect.h"

static struct str unquote(struct str v)
{
	if (v.len >= 2 && (v.ptr[0] == '"' || v.ptr[0] == '\'') && v.ptr[v.len - 1] == v.ptr[0])
		return str_slice(v, 1, v.len - 1);
	return v;
}

static void os_release(struct collect *c, struct facts_row *row)
{
	static const struct {
		const char *key;
		enum facts_column column;
	} wanted[] = {{"ID", system__os_id}, {"VERSION_ID", system__os_version}, {"PRETTY_NAME", system__os_name}};
	const char *path = "/etc/os-release";
	struct str text, line, key, value;
	int rc = host_read(c->host, path, 0, &text);
	if (rc < 0) {
		path = "/usr/lib/os-release";
		rc = host_read(c->host, path, 0, &text);
	}
	for (size_t i = 0; rc < 0 && i < sizeof wanted / sizeof wanted[0]; i++)
		facts_gap_errno(row, wanted[i].column, rc, "/etc/os-release");
	while (rc == 0 && str_next_line(&text, &line)) {
		if (!str_split(line, '=', &key, &value))
			continue;
		for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
			if (str_is(key, wanted[i].key))
				facts_str(row, wanted[i].column, unquote(value), path);
	}
}

static void kernel(struct collect *c, struct facts_row *row)
{
	struct host_uname u;
	struct str text;
	int rc = host_uname(c->host, &u);
	if (rc < 0) {
		facts_gap_errno(row, system__kernel, rc, "uname");
		facts_gap_errno(row, system__arch, rc, "uname");
		if (host_linef(c->host, &text, "/etc/hostname") == 0)
			facts_str(row, system__hostname, text, "/etc/hostname");
	} else {
		struct str name = str_of(u.nodename);
		facts_str(row, system__hostname, str_slice(name, 0, str_find_char(name, '.', 0)), "uname");
		facts_text(row, system__kernel, u.release, "uname");
		facts_text(row, system__arch, u.machine, "uname");
	}
	bool wsl = rc == 0 && (strstr(u.release, "icrosoft") || strstr(u.release, "WSL"));
	bool jetson = host_exists(c->host, "/etc/nv_tegra_release");
	facts_text(row, system__platform, wsl ? "wsl2" : jetson ? "jetson" : "linux", wsl ? "uname" : "/etc/nv_tegra_release");
	if (host_linef(c->host, &text, "/proc/sys/kernel/random/boot_id") == 0)
		facts_str(row, system__boot_id, text, "/proc/sys/kernel/random/boot_id");
	if (host_linef(c->host, &text, "/etc/machine-id") == 0)
		facts_str(row, system__machine_id, text, "/etc/machine-id");
	if ((rc = host_linef(c->host, &text, "/proc/cmdline")) == 0)
		facts_str(row, system__cmdline, text, "/proc/cmdline");
	else
		facts_gap_errno(row, system__cmdline, rc, "/proc/cmdline");
	if (host_linef(c->host, &text, "/proc/uptime") == 0) {
		double seconds;
		if (str_to_real(str_slice(text, 0, str_find_char(text, ' ', 0)), &seconds) == 0)
			facts_int(row, system__uptime_s, (int64_t)seconds, "/proc/uptime");
	}
}

/* The highest version of a family that a library defines: GLIBC_2.36 → 2.36. */
static bool highest_definition(const struct elf_digest *d, const char *family, struct str *ret)
{
	bool found = false;
	for (size_t i = 0; i < d->verdef_count; i++) {
		struct str v = str_of(d->verdefs[i]);
		int order;
		if (!str_starts(v, family))
			continue;
		v = str_skip(v, strlen(family));
		if (v.len && v.ptr[0] >= '0' && v.ptr[0] <= '9' && (!found || (version_cmp(v, *ret, &order) == 0 && order > 0))) {
			*ret = v;
			found = true;
		}
	}
	return found;
}

/* Up to glibc 2.33 the file behind the link is libc-2.31.so. That is exact; a release that adds no symbol (2.31) defines no version of its
 * own. */
static bool version_of_libc_name(struct collect *c, const char *path, struct str *ret)
{
	const char *real;
	struct version parsed;
	if (host_realpath(c->host, path, &real) < 0)
		return false;
	struct str name = str_of(strrchr(real, '/') + 1);
	if (!str_starts(name, "libc-") || !str_ends(name, ".so"))
		return false;
	name = str_slice(name, 5, name.len - 3);
	if (version_parse(name, &parsed) < 0 || parsed.count != 2 || parsed.part[0] != 2)
		return false;
	*ret = name;
	return true;
}

static const char *first_there(struct collect *c, const char *const *paths, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (host_exists(c->host, paths[i]))
			return paths[i];
	return NULL;
}

static void libraries(struct collect *c, struct facts_row *row)
{
	static const char *const libc[] = {"/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6", "/lib64/libc.so.6",
		"/usr/lib64/libc.so.6", "/usr/lib/libc.so.6"};
	static const char *const cxx[] = {"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib/aarch64-linux-gnu/libstdc++.so.6",
		"/usr/lib64/libstdc++.so.6", "/lib64/libstdc++.so.6", "/usr/lib/libstdc++.so.6"};
	static const char *const musl[] = {"/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1"};
	const char *path = first_there(c, libc, sizeof libc / sizeof libc[0]);
	struct elf_digest d = ELF_DIGEST_NONE;
	struct str version;
	if (path) {
		facts_text(row, system__libc, "glibc", path);
		int rc = collect_binary(c->host, c->arena, path, ELF_DIGEST_LINK, &d);
		if (rc < 0)
			facts_gap_errno(row, system__libc_version, rc, path);
		else if (version_of_libc_name(c, path, &version) || highest_definition(&d, "GLIBC_", &version))
			facts_str(row, system__libc_version, version, path);
	} else if ((path = first_there(c, musl, 2))) {
		facts_text(row, system__libc, "musl", path);
	}
	path = first_there(c, cxx, sizeof cxx / sizeof cxx[0]);
	d = ELF_DIGEST_NONE;
	if (path && collect_binary(c->host, c->arena, path, ELF_DIGEST_LINK, &d) == 0 && d.glibcxx_max)
		facts_text(row, system__libstdcxx_version, d.glibcxx_max, path);
}

/* "0-3,8" → 5. */
static bool count_list(struct str list, int64_t *ret)
{
	struct str part, low, high;
	int64_t n = 0, a, b;
	while (str_next_field(&list, ',', &part)) {
		if (str_split(part, '-', &low, &high)) {
			if (str_to_int(low, &a) < 0 || str_to_int(high, &b) < 0 || b < a || b > 1 << 20)
				return false;
			n += b - a + 1;
		} else if (str_to_int(str_trim(part), &a) == 0) {
			n++;
		} else {
			return false;
		}
	}
	*ret = n;
	return true;
}

static void processors(struct collect *c, struct facts_row *row)
{
	struct str text, line, key, value;
	int64_t n;
	const char *online = "/sys/devices/system/cpu/online", *nodes = "/sys/devices/system/node/online";
	int rc = host_linef(c->host, &text, "%s", online);
	if (rc == 0 && count_list(text, &n))
		facts_int(row, system__cpu_count, n, online);
	else
		facts_gap_errno(row, system__cpu_count, rc ? rc : -EINVAL, online);
	if (host_linef(c->host, &text, "%s", nodes) == 0 && count_list(text, &n))
		facts_int(row, system__numa_nodes, n, nodes);
	rc = host_cpus_allowed(c->host, &n);
	if (rc == 0)
		facts_int(row, system__cpu_allowed, n, "sched_getaffinity");
	else
		facts_gap_errno(row, system__cpu_allowed, rc, "sched_getaffinity");
	bool hypervisor = false;
	if (host_read_head(c->host, "/proc/cpuinfo", 8192, &text) == 0) {
		while (str_next_line(&text, &line)) {
			if (!str_split(line, ':', &key, &value))
				continue;
			if (str_is(key, "model name") && !facts_get_text(row, system__cpu_model))
				facts_str(row, system__cpu_model, value, "/proc/cpuinfo");
			if (str_is(key, "flags") && str_has(value, " hypervisor"))
				hypervisor = true;
		}
		if (!hypervisor)
			facts_text(row, system__virtualization, "none", "/proc/cpuinfo");
	}
	if (hypervisor)
		facts_str(row, system__virtualization,
			host_linef(c->host, &text, "/sys/class/dmi/id/sys_vendor") == 0 && text.len ? text : STR("hypervisor"),
			"/sys/class/dmi/id/sys_vendor");
}

static void memory(struct collect *c, struct facts_row *row)
{
	static const struct {
		const char *key;
		enum facts_column column;
	} wanted[] = {
		{"MemTotal", system__memory_bytes}, {"MemAvailable", system__memory_available_bytes}, {"SwapTotal", system__swap_bytes}};
	struct str text, line, key, value, number;
	int64_t kb;
	int rc = host_read(c->host, "/proc/meminfo", 0, &text);
	for (size_t i = 0; rc < 0 && i < 3; i++)
		facts_gap_errno(row, wanted[i].column, rc, "/proc/meminfo");
	while (rc == 0 && str_next_line(&text, &line)) {
		if (!str_split(line, ':', &key, &value) || !str_next_word(&value, &number) || str_to_int(number, &kb) < 0 || kb < 0 ||
			kb > INT64_MAX / 1024)
			continue;
		for (size_t i = 0; i < 3; i++)
			if (str_is(key, wanted[i].key))
				facts_int(row, wanted[i].column, kb * 1024, "/proc/meminfo");
	}
}

/* -- control groups: limits of this process' group and of those above it, the smallest counts ------------------------------------ */

static bool limit_file(struct collect *c, const char *path, int64_t *ret)
{
	struct str text;
	if (host_linef(c->host, &text, "%s", path) < 0 || str_to_int(text, ret) < 0)
		return false;
	return *ret > 0 && *ret < (int64_t)1 << 60; /* "max", or version 1's huge number: no limit */
}

static void smaller(struct facts_row *row, enum facts_column column, int64_t value, const char *origin)
{
	int64_t old;
	if (!facts_get_int(row, column, &old) || value < old)
		facts_int(row, column, value, origin);
}

static void quota_file(struct collect *c, struct facts_row *row, const char *path)
{
	struct str text, quota, period;
	double q, p, old;
	if (host_linef(c->host, &text, "%s", path) < 0 || !str_next_word(&text, &quota) || !str_next_word(&text, &period))
		return;
	if (str_to_real(quota, &q) == 0 && str_to_real(period, &p) == 0 && p > 0 && q > 0 &&
		(!facts_get_real(row, system__cpu_quota, &old) || q / p < old))
		facts_real(row, system__cpu_quota, q / p, path);
}

static void one_group(struct collect *c, struct facts_row *row, const char *dir, bool v2)
{
	const char *path = arena_printf(c->arena, "%s/%s", dir, v2 ? "memory.max" : "memory.limit_in_bytes");
	int64_t n;
	if (limit_file(c, path, &n))
		smaller(row, system__memory_limit_bytes, n, path);
	if (v2)
		quota_file(c, row, arena_printf(c->arena, "%s/cpu.max", dir));
}

static void oom_kills(struct collect *c, struct facts_row *row, const char *dir)
{
	struct str text, line, word;
	int64_t n;
	const char *path = arena_printf(c->arena, "%s/memory.events", dir);
	if (host_read(c->host, path, 0, &text) < 0)
		return;
	while (str_next_line(&text, &line))
		if (str_next_word(&line, &word) && str_is(word, "oom_kill") && str_to_int(str_trim(line), &n) == 0)
			facts_int(row, system__oom_kills, n, path);
}

static void walk_up(struct collect *c, struct facts_row *row, const char *mount, struct str group, bool v2)
{
	char *dir = arena_printf(c->arena, "%s%.*s", mount, group.len == 1 ? 0 : (int)group.len, group.ptr);
	size_t top = strlen(mount);
	int64_t used;
	bool own = host_is_dir(c->host, dir);
	if (!own) /* inside a container the path is the host's: only the top is here */
		dir[top] = '\0';
	if (v2)
		oom_kills(c, row, dir);
	if (host_intf(c->host, &used, "%s/%s", dir, v2 ? "memory.current" : "memory.usage_in_bytes") == 0)
		facts_int(row, system__memory_used_bytes, used, dir);
	for (;;) {
		one_group(c, row, dir, v2);
		char *slash = strrchr(dir, '/');
		if (strlen(dir) <= top || !slash)
			return;
		*slash = '\0';
	}
}

static void control_groups(struct collect *c, struct facts_row *row)
{
	struct str text, line, number, names, group;
	int rc = host_read(c->host, "/proc/self/cgroup", 0, &text);
	if (rc < 0) {
		facts_gap_errno(row, system__memory_limit_bytes, rc, "/proc/self/cgroup");
		facts_gap_errno(row, system__cpu_quota, rc, "/proc/self/cgroup");
		return;
	}
	while (str_next_line(&text, &line)) {
		struct str rest = line;
		if (!str_next_field(&rest, ':', &number) || !str_next_field(&rest, ':', &names) || !rest.ptr)
			continue;
		group = rest;
		if (!names.len)
			walk_up(c, row, "/sys/fs/cgroup", group, true);
		else if (str_has(names, "memory"))
			walk_up(c, row, "/sys/fs/cgroup/memory", group, false);
	}
	bool readable = host_is_dir(c->host, "/sys/fs/cgroup");
	facts_gap(row, system__memory_limit_bytes, readable ? GAP_ABSENT : GAP_MISSING, "/sys/fs/cgroup", NULL);
	facts_gap(row, system__cpu_quota, readable ? GAP_ABSENT : GAP_MISSING, "/sys/fs/cgroup", NULL);
}

static void iommu(struct collect *c, struct facts_row *row)
{
	struct host_list units, groups;
	struct str type;
	int rc = host_list(c->host, "/sys/class/iommu", &units);
	if (rc == -ENOENT && host_is_dir(c->host, "/sys/class")) {
		facts_text(row, system__iommu, "off", "/sys/class/iommu");
		return;
	}
	if (rc < 0) {
		facts_gap_errno(row, system__iommu, rc, "/sys/class/iommu");
		return;
	}
	if (!units.count) {
		facts_text(row, system__iommu, "off", "/sys/class/iommu");
		return;
	}
	const char *cmdline = facts_get_text(row, system__cmdline);
	if (cmdline && (strstr(cmdline, "iommu=pt") || strstr(cmdline, "iommu.passthrough=1"))) {
		facts_text(row, system__iommu, "passthrough", "/proc/cmdline");
		return;
	}
	if (host_list(c->host, "/sys/kernel/iommu_groups", &groups) == 0 && groups.count &&
		host_linef(c->host, &type, "/sys/kernel/iommu_groups/%s/type", groups.names[0]) == 0)
		facts_text(row, system__iommu, str_is(type, "identity") ? "passthrough" : "translated", "/sys/kernel/iommu_groups");
	else if (groups.count)
		facts_text(row, system__iommu, "translated", "/sys/class/iommu");
	else
		facts_text(row, system__iommu, "off", "/sys/kernel/iommu_groups"); /* units, but nothing translated */
}

static void remove_ipc(struct collect *c, struct facts_row *row)
{
	struct str text, line, key, value;
	if (host_read(c->host, "/etc/systemd/logind.conf", 0, &text) < 0)
		return;
	while (str_next_line(&text, &line))
		if (str_split(line, '=', &key, &value) && str_is(key, "RemoveIPC"))
			facts_bool(row, system__removeipc,
				str_is_nocase(value, "yes") || str_is(value, "1") || str_is_nocase(value, "true"),
				"/etc/systemd/logind.conf");
}

void collect_system(struct collect *c)
{
	struct facts_row *row = facts_only(c->facts, TABLE_system);
	os_release(c, row);
	kernel(c, row);
	libraries(c, row);
	processors(c, row);
	memory(c, row);
	control_groups(c, row);
	iommu(c, row);
	remove_ipc(c, row);
}
