/* The container this runs in: which engine and why we think so, what it shares with the host, what it may do. */
#include <errno.h>

#include "collect/collect.h"

struct sign {
	const char *engine, *reason;
};

static bool group_has(struct collect *c, const char *word, const char **ret_reason)
{
	static const char *const files[] = {"/proc/self/cgroup", "/proc/1/cgroup", "/proc/self/mountinfo"};
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		struct str text;
		if (host_read(c->host, files[i], (size_t)4 << 20, &text) == 0 && str_has(text, word)) {
			*ret_reason = files[i];
			return true;
		}
	}
	return false;
}

static const char *init_variable(struct collect *c)
{
	const char *own = host_env(c->host, "container");
	struct str text;
	if (own)
		return own;
	if (host_read(c->host, "/proc/1/environ", 0, &text) == 0) {
		struct str rest = text, part;
		while (str_next_field(&rest, '\0', &part))
			if (str_starts(part, "container="))
				return str_dup(c->arena, str_skip(part, 10));
	}
	return NULL;
}

static struct sign find_engine(struct collect *c)
{
	const char *reason = NULL, *init = init_variable(c);
	if (host_env(c->host, "APPTAINER_CONTAINER") || host_env(c->host, "SINGULARITY_CONTAINER") ||
		host_exists(c->host, "/.singularity.d"))
		return (struct sign){"apptainer", "/.singularity.d"};
	if (host_exists(c->host, "/run/.containerenv"))
		return (struct sign){"podman", "/run/.containerenv"};
	if (host_env(c->host, "ENROOT_ROOTFS") || host_exists(c->host, "/etc/enroot"))
		return (struct sign){"enroot", "ENROOT_ROOTFS"};
	if (host_exists(c->host, "/.dockerenv"))
		return (struct sign){"docker", "/.dockerenv"};
	if (init && strcmp(init, "lxc") == 0)
		return (struct sign){"lxc", "container=lxc"};
	if (init && strcmp(init, "systemd-nspawn") == 0)
		return (struct sign){"systemd-nspawn", "container=systemd-nspawn"};
	if (init && strcmp(init, "podman") == 0)
		return (struct sign){"podman", "container=podman"};
	if (init && strcmp(init, "docker") == 0)
		return (struct sign){"docker", "container=docker"};
	if (group_has(c, "cri-containerd", &reason) || group_has(c, "io.containerd", &reason))
		return (struct sign){"containerd", reason};
	if (group_has(c, "crio-", &reason))
		return (struct sign){"crio", reason};
	if (host_env(c->host, "KUBERNETES_SERVICE_HOST") || group_has(c, "kubepods", &reason))
		return (struct sign){"kubernetes", reason ? reason : "KUBERNETES_SERVICE_HOST"};
	return (struct sign){"none", "no sign of an engine"};
}

/* A mount of the engine on /etc/hosts or the root as an overlay, though no name of an engine shows: cgroup namespaces hide it. */
static bool overlay_root(struct collect *c)
{
	struct str text, line;
	if (host_read(c->host, "/proc/self/mountinfo", (size_t)4 << 20, &text) < 0)
		return false;
	bool overlay = false, hosts = false;
	while (str_next_line(&text, &line)) {
		overlay |= str_has(line, " / / ") && str_has(line, " - overlay ");
		hosts |= str_has(line, " /etc/hosts ") || str_has(line, " /etc/resolv.conf ");
	}
	return overlay && hosts;
}

static void status_file(struct collect *c, struct facts_row *row)
{
	static const char *const modes[] = {"disabled", "strict", "filter"};
	struct str text, line, key, value;
	const char *path = "/proc/self/status";
	uint64_t caps;
	int64_t n;
	int rc = host_read(c->host, path, 0, &text);
	if (rc < 0) {
		facts_gap_errno(row, container__capabilities, rc, path);
		facts_gap_errno(row, container__seccomp, rc, path);
		return;
	}
	while (str_next_line(&text, &line)) {
		if (!str_split(line, ':', &key, &value))
			continue;
		if (str_is(key, "Seccomp") && str_to_int(value, &n) == 0 && n >= 0 && n < 3)
			facts_text(row, container__seccomp, modes[n], path);
		if (str_is(key, "NoNewPrivs"))
			facts_bool(row, container__no_new_privs, str_is(value, "1"), path);
		if (str_is(key, "CapEff") && str_to_hex(value, &caps) == 0) {
			facts_str(row, container__capabilities, value, path);
			facts_bool(row, container__cap_sys_nice, caps >> 23 & 1, path);
			facts_bool(row, container__cap_ipc_lock, caps >> 14 & 1, path);
		}
	}
}

/* The initial namespaces of a kernel have fixed inode numbers (include/uapi/linux/nsfs.h since 6.17, include/linux/proc_ns.h before); the
 * network's has none. */
static void name_spaces(struct collect *c, struct facts_row *row)
{
	const char *link;
	if (host_readlink(c->host, "/proc/self/ns/ipc", &link) == 0)
		facts_bool(row, container__ipc_host, strcmp(link, "ipc:[4026531839]") == 0, "/proc/self/ns/ipc");
	if (host_readlink(c->host, "/proc/self/ns/pid", &link) == 0)
		facts_bool(row, container__pid_host, strcmp(link, "pid:[4026531836]") == 0, "/proc/self/ns/pid");
	/* The first network name space of a kernel that boots normally; some kernels number it later. */
	if (host_readlink(c->host, "/proc/self/ns/net", &link) == 0) {
		int64_t n;
		struct str s = str_of(link);
		if (str_starts(s, "net:[") && str_to_int(str_slice(s, 5, s.len - 1), &n) == 0 && n >= 4026531833 && n <= 4026532008)
			facts_bool(row, container__net_host, true, "/proc/self/ns/net");
		else if (strcmp(facts_get_text(row, container__engine), "none") == 0)
			facts_bool(row, container__net_host, true, "/proc/self/ns/net");
		else if (host_is_dir(c->host, "/sys/class/net/docker0") || host_is_dir(c->host, "/sys/class/net/cni0"))
			facts_bool(row, container__net_host, true, "/sys/class/net");
	}
}

static void device_rules(struct collect *c, struct facts_row *row)
{
	struct str text;
	if (host_exists(c->host, "/sys/fs/cgroup/cgroup.controllers")) {
		facts_int(row, container__cgroup_version, 2, "/sys/fs/cgroup/cgroup.controllers");
		facts_gap(row, container__device_rules, GAP_UNSUPPORTED, "/sys/fs/cgroup", "cgroup v2 keeps device rules in a program");
		return;
	}
	if (host_is_dir(c->host, "/sys/fs/cgroup"))
		facts_int(row, container__cgroup_version, 1, "/sys/fs/cgroup");
	if (host_read(c->host, "/sys/fs/cgroup/devices/devices.list", 65536, &text) == 0)
		facts_str(row, container__device_rules, str_trim(text), "/sys/fs/cgroup/devices/devices.list");
}

static void gpu_request(struct collect *c, struct facts_row *row)
{
	const char *visible = host_env(c->host, "NVIDIA_VISIBLE_DEVICES"), *capabilities = host_env(c->host, "NVIDIA_DRIVER_CAPABILITIES"),
		   *require = host_env(c->host, "NVIDIA_REQUIRE_CUDA");
	if (!host_has_env(c->host))
		return;
	if (visible)
		facts_text(row, container__visible_devices, visible, "NVIDIA_VISIBLE_DEVICES");
	else
		facts_gap(row, container__visible_devices, GAP_ABSENT, "environment", NULL);
	if (capabilities)
		facts_text(row, container__driver_capabilities, capabilities, "NVIDIA_DRIVER_CAPABILITIES");
	else
		facts_gap(row, container__driver_capabilities, GAP_ABSENT, "environment", NULL);
	if (require)
		facts_text(row, container__require_cuda, require, "NVIDIA_REQUIRE_CUDA");
	facts_bool(row, container__gpu_requested, visible && *visible && strcmp(visible, "void") != 0 && strcmp(visible, "none") != 0,
		"NVIDIA_VISIBLE_DEVICES");
}

/* A driver library that is a plain file of the image, and not a mount of the host's. */
static void image_driver(struct collect *c, struct facts_row *row)
{
	static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/aarch64-linux-gnu"};
	struct str mounts = {0};
	host_read(c->host, "/proc/self/mountinfo", (size_t)4 << 20, &mounts);
	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
		struct host_list list;
		if (host_list(c->host, folders[i], &list) < 0)
			continue;
		for (size_t k = 0; k < list.count; k++) {
			struct host_stat st;
			struct str name = str_of(list.names[k]);
			if (!str_starts(name, "libcuda.so.") || name.len < 14)
				continue;
			const char *path = arena_printf(c->arena, "%s/%s", folders[i], list.names[k]);
			/* Mounted files have a line of their own in mountinfo; an empty file is what an image keeps as a place to mount on.
			 */
			if (host_lstat(c->host, path, &st) < 0 || st.kind != HOST_FILE || !st.size ||
				(mounts.ptr && str_has(mounts, arena_printf(c->arena, " %s ", path))))
				continue;
			facts_str(row, container__image_driver, str_skip(name, 11), path);
			return;
		}
	}
}

void collect_container(struct collect *c)
{
	struct facts_row *row = facts_only(c->facts, TABLE_container);
	struct sign s = find_engine(c);
	struct host_list pci;
	if (strcmp(s.engine, "none") == 0 && overlay_root(c))
		s = (struct sign){"containerd", "/proc/self/mountinfo: an overlay as root, /etc/hosts mounted"};
	facts_text(row, container__engine, s.engine, s.reason);
	facts_text(row, container__reason, s.reason, s.reason);
	facts_bool(row, container__kubernetes,
		host_env(c->host, "KUBERNETES_SERVICE_HOST") != NULL || host_exists(c->host, "/var/run/secrets/kubernetes.io"),
		"KUBERNETES_SERVICE_HOST");
	int rc = host_list(c->host, "/sys/bus/pci/devices", &pci);
	if (rc == 0 || rc == -ENOENT || rc == -EACCES)
		facts_bool(row, container__sys_readable, rc == 0 && pci.count > 0, "/sys/bus/pci/devices");
	else
		facts_gap_errno(row, container__sys_readable, rc, "/sys/bus/pci/devices");
	status_file(c, row);
	name_spaces(c, row);
	device_rules(c, row);
	gpu_request(c, row);
	if (strcmp(s.engine, "none") != 0)
		image_driver(c, row);
}
