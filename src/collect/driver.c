/* The NVIDIA driver: kernel module, its libraries in user space, its services. Files only; the probe adds what it sees (collect/probe.c).
 */
#include "collect/collect.h"

#include <errno.h>

#include "collect/driver.h"
#include "parse/modinfo.h"
#include "parse/nvidia.h"

#define PROC_VERSION "/proc/driver/nvidia/version"

/* -- the kernel module loaded -------------------------------------------------------------------------------------------- */

static void split_branch(struct facts_row *row, struct str version, const char *origin)
{
	int64_t branch;

	facts_str(row, driver__version, version, origin);
	if (str_to_int(str_slice(version, 0, str_find_char(version, '.', 0)), &branch) == 0)
		facts_int(row, driver__branch, branch, origin);
}

void driver_set_version(struct facts_row *row, struct str version, const char *origin)
{
	if (!facts_get_text(row, driver__version))
		split_branch(row, version, origin);
}

/* The list of modules was read, and completely. */
static bool knows_modules(const struct facts *f)
{
	for (const struct facts_table_gap *g = f->gaps; g; g = g->next)
		if (g->table == TABLE_kernel_module)
			return false;
	return f->read[TABLE_kernel_module];
}

static void read_loaded_version(struct collect *c, struct facts_row *row)
{
	struct nvidia_version v;
	struct str text;
	int rc = host_read(c->host, PROC_VERSION, 0, &text);

	if (rc == 0 && parse_nvidia_version(text, &v) == 0) {
		split_branch(row, v.version, PROC_VERSION);
		facts_bool(row, driver__loaded, true, PROC_VERSION);
		facts_bool(row, driver__open_module, v.open, PROC_VERSION);
		if (v.patched)
			facts_bool(row, driver__patched_p2p, true, PROC_VERSION);
		return;
	}
	facts_gap_errno(row, driver__open_module, rc < 0 ? rc : -EINVAL, PROC_VERSION);
	if (host_linef(c->host, &text, "/sys/module/nvidia/version") == 0 && text.len > 0) {
		split_branch(row, text, "/sys/module/nvidia/version");
		facts_bool(row, driver__loaded, true, "/sys/module/nvidia/version");
		return;
	}
	facts_gap_errno(row, driver__version, rc < 0 ? rc : -EINVAL, PROC_VERSION);
	/* Only the list of modules can say no; a root or a container image has no kernel at all. */
	if (host_exists(c->host, "/dev/dxg"))
		facts_bool(row, driver__loaded, true, "/dev/dxg");
	else if (facts_find(c->facts, kernel_module__name, "nvidia"))
		facts_bool(row, driver__loaded, true, "/proc/modules");
	else if (knows_modules(c->facts))
		facts_bool(row, driver__loaded, false, "/proc/modules");
	else
		facts_gap_errno(row, driver__loaded, rc, PROC_VERSION);
}

static void add_parameter(struct collect *c, const char *module, struct str name, struct str value, const char *origin)
{
	struct facts_row *row = facts_add(c->facts, TABLE_module_parameter);
	facts_text(row, module_parameter__module, module, origin);
	facts_str(row, module_parameter__name, name, origin);
	facts_str(row, module_parameter__value, value, origin);
}

/* The registry of the module nvidia: "Name: value" a line. Registry keys that force peer-to-peer on cards whose driver refuses it are a
 * patch. */
static void read_params(struct collect *c, struct facts_row *row)
{
	static const char path[] = "/proc/driver/nvidia/params";
	struct str text, rest, line;
	int rc = host_read(c->host, path, 0, &text);

	if (rc < 0)
		facts_table_gap_errno(c->facts, TABLE_module_parameter, rc, path);
	for (rest = rc < 0 ? str_of("") : text; str_next_line(&rest, &line);) {
		size_t colon = str_find_char(line, ':', 0);
		if (colon != SIZE_MAX)
			add_parameter(c, "nvidia", str_trim(str_slice(line, 0, colon)), str_trim(str_skip(line, colon + 1)), path);
	}
	if (rc < 0)
		facts_gap_errno(row, driver__patched_p2p, rc, path);
	else if (str_has(text, "ForceP2P") || str_has(text, "RMForceP2PType") || str_has(text, "RMPcieP2PType"))
		facts_bool(row, driver__patched_p2p, true, path);
	else if (!facts_value(row, driver__patched_p2p)->set)
		facts_bool(row, driver__patched_p2p, false, path);
}

/* Parameters of the other modules that change what CUDA or GPUDirect can do. */
static void read_other_parameters(struct collect *c)
{
	static const struct {
		const char *module, *name;
	} wanted[] = {{"nvidia_uvm", "uvm_disable_hmm"}, {"nvidia_drm", "modeset"}, {"nvidia_peermem", "peerdirect_support"},
		{"nvidia_peermem", "persistent_api_support"}, {"amdgpu", "pcie_p2p"}, {"amdgpu", "noretry"}};
	struct str value;

	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		const char *path = arena_printf(c->arena, "/sys/module/%s/parameters/%s", wanted[i].module, wanted[i].name);
		if (facts_find(c->facts, kernel_module__name, wanted[i].module) && host_linef(c->host, &value, "%s", path) == 0)
			add_parameter(c, wanted[i].module, str_of(wanted[i].name), value, path);
	}
}

static void add_module_flag(struct collect *c, struct facts_row *row, enum facts_column column, const char *name, const char *other)
{
	if (facts_find(c->facts, kernel_module__name, name) || (other && facts_find(c->facts, kernel_module__name, other)))
		facts_bool(row, column, true, "/proc/modules");
	else if (knows_modules(c->facts))
		facts_bool(row, column, false, "/proc/modules");
	else
		facts_gap(row, column, GAP_MISSING, "/proc/modules", NULL);
}

/* -- the kernel module on disk ------------------------------------------------------------------------------------------- */

#define SECTION_TABLE_MAX (512 * 1024)
#define MODINFO_MAX 65536

static int read_part(struct host_file *file, uint64_t offset, uint64_t bytes, uint64_t max, struct buf *ret)
{
	int rc;

	if (bytes == 0 || bytes > max)
		return -EINVAL;
	buf_reset(ret);
	for (uint64_t i = 0; i < bytes; i++)
		buf_char(ret, 0);
	if (ret->truncated)
		return -ENOMEM;
	rc = host_file_pread(file, offset, ret->ptr, bytes);
	return rc;
}

/* The digest of a module: its .modinfo as lines. */
static int digest_modinfo(struct host_file *file, struct buf *ret_text, void *arg)
{
	struct buf table = BUF_MAX(SECTION_TABLE_MAX), names = BUF_MAX(MODINFO_MAX), info = BUF_MAX(MODINFO_MAX);
	uint64_t size = host_file_size(file), offset = 0, bytes = 0;
	unsigned names_index = 0, name = 0;
	char head[64];
	int rc = host_file_pread(file, 0, head, sizeof head);

	(void)arg;
	if (rc == 0)
		rc = parse_modinfo_sections(str_n(head, sizeof head), size, &offset, &bytes, &names_index);
	if (rc == 0)
		rc = read_part(file, offset, bytes, SECTION_TABLE_MAX, &table);
	if (rc == 0)
		rc = parse_modinfo_section(buf_view(&table), names_index, size, &offset, &bytes, &name);
	if (rc == 0)
		rc = read_part(file, offset, bytes, MODINFO_MAX, &names);
	for (unsigned i = 0; rc == 0 && i < table.len / 64; i++) {
		if (parse_modinfo_section(buf_view(&table), i, size, &offset, &bytes, &name) < 0 || name >= names.len)
			continue;
		if (!str_is(str_slice(buf_view(&names), name, str_find_char(buf_view(&names), '\0', name)), ".modinfo"))
			continue;
		rc = read_part(file, offset, bytes, MODINFO_MAX, &info);
		for (size_t k = 0; rc == 0 && k < info.len; k++)
			buf_char(ret_text, info.ptr[k] ? info.ptr[k] : '\n');
		break;
	}
	buf_free(&table);
	buf_free(&names);
	buf_free(&info);
	return rc;
}

static bool read_module_file(struct collect *c, struct facts_row *row, const char *path)
{
	struct str lines, version, license;
	int rc = host_digest(c->host, "modinfo", path, digest_modinfo, NULL, &lines);

	if (rc < 0 || !parse_modinfo_get(lines, "version", &version))
		return false;
	facts_str(row, driver__installed_version, version, path);
	if (!facts_value(row, driver__open_module)->set || facts_value(row, driver__open_module)->gap != GAP_NONE) {
		if (parse_modinfo_get(lines, "license", &license))
			facts_bool(row, driver__open_module, str_has(license, "GPL"), path);
	}
	return true;
}

/* DKMS keeps a link kernel-RELEASE-ARCH → VERSION/RELEASE/ARCH for what is installed. */
static bool read_dkms(struct collect *c, struct facts_row *row, const struct host_uname *u)
{
	static const char *const packages[] = {"nvidia", "nvidia-current", "nvidia-open", "nvidia-srv"};
	const char *target;

	for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
		const char *path = arena_printf(c->arena, "/var/lib/dkms/%s/kernel-%s-%s", packages[i], u->release, u->machine);

		if (host_readlink(c->host, path, &target) == 0) {
			struct str t = str_of(target);

			facts_str(row, driver__installed_version, str_slice(t, 0, str_find_char(t, '/', 0)), path);
			return true;
		}
	}
	return false;
}

static void read_installed_version(struct collect *c, struct facts_row *row)
{
	static const char *const folders[] = {"updates/dkms", "updates", "extra", "kernel/drivers/video", "weak-updates/nvidia",
		"extra/drivers/video/nvidia", "kernel/drivers/char/drm"};
	struct host_list list;
	struct host_uname u;
	const char *modules;

	if (host_uname(c->host, &u) < 0) {
		facts_gap(row, driver__installed_version, GAP_MISSING, "uname", NULL);
		return;
	}
	modules = arena_printf(c->arena, "/lib/modules/%s", u.release);
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		if (read_module_file(c, row, arena_printf(c->arena, "%s/%s/nvidia.ko", modules, folders[i])))
			return;
	/* Ubuntu's signed modules: kernel/nvidia-550/nvidia.ko, kernel/nvidia-550-open/... */
	if (host_list(c->host, arena_printf(c->arena, "%s/kernel", modules), &list) == 0)
		for (size_t i = 0; i < list.count; i++)
			if (str_starts(str_of(list.names[i]), "nvidia-") &&
				read_module_file(c, row, arena_printf(c->arena, "%s/kernel/%s/nvidia.ko", modules, list.names[i])))
				return;
	if (read_dkms(c, row, &u))
		return;
	facts_gap(row, driver__installed_version, host_is_dir(c->host, modules) ? GAP_UNSUPPORTED : GAP_MISSING, modules,
		"no nvidia.ko that can be read (compressed modules are not)");
}

/* -- the libraries ------------------------------------------------------------------------------------------------------- */

static void read_libraries(struct collect *c, struct facts_row *row)
{
	struct driver_library cuda, nvml;

	driver_find_libraries(c, &cuda, &nvml);
	if (cuda.path) {
		facts_text(row, driver__libcuda_path, cuda.path, cuda.real);
		facts_text(row, driver__libcuda_kind, cuda.kind, cuda.real);
	} else {
		facts_gap(row, driver__libcuda_path, cuda.gap, "libcuda.so.1", NULL);
		facts_gap(row, driver__libcuda_kind, cuda.gap, "libcuda.so.1", NULL);
	}
	if (cuda.version)
		facts_text(row, driver__libcuda_version, cuda.version, cuda.real);
	else
		facts_gap(row, driver__libcuda_version, cuda.path ? GAP_UNSUPPORTED : cuda.gap, cuda.real, NULL);
	if (nvml.path)
		facts_text(row, driver__nvml_path, nvml.path, nvml.real);
	else
		facts_gap(row, driver__nvml_path, nvml.gap, "libnvidia-ml.so.1", NULL);
	if (nvml.version)
		facts_text(row, driver__nvml_version, nvml.version, nvml.real);
	else
		facts_gap(row, driver__nvml_version, nvml.path ? GAP_UNSUPPORTED : nvml.gap, nvml.real, NULL);
}

/* -- the services -------------------------------------------------------------------------------------------------------- */

struct service {
	const char *unit, *comm; /* comm as the kernel cuts it: 15 bytes */
	const char *binaries[3];
};

static const struct service fabric_manager = {
	"nvidia-fabricmanager", "nv-fabricmanage", {"/usr/bin/nv-fabricmanager", "/usr/sbin/nv-fabricmanager", NULL}};
static const struct service imex = {"nvidia-imex", "nvidia-imex", {"/usr/bin/nvidia-imex", "/usr/sbin/nvidia-imex", NULL}};

enum tristate { NO, YES, UNKNOWN };

/* systemd makes a cgroup for a unit that runs. */
static bool unit_has_cgroup(struct collect *c, const char *unit)
{
	return host_is_dir(c->host, arena_printf(c->arena, "/sys/fs/cgroup/system.slice/%s.service", unit)) ||
		host_is_dir(c->host, arena_printf(c->arena, "/sys/fs/cgroup/systemd/system.slice/%s.service", unit));
}

/* Only who sees kthreadd sees the host's processes: not a container, not a user under hidepid, not a root. */
static bool sees_all_processes(struct collect *c)
{
	struct str comm;

	return host_linef(c->host, &comm, "/proc/2/comm") == 0 && str_is(comm, "kthreadd");
}

static enum tristate is_running(struct collect *c, const struct service *s)
{
	struct host_list list;
	struct str comm;

	if (unit_has_cgroup(c, s->unit))
		return YES;
	if (!sees_all_processes(c) || host_list(c->host, "/proc", &list) < 0)
		return UNKNOWN;
	for (size_t i = 0; i < list.count; i++)
		if (list.names[i][0] >= '1' && list.names[i][0] <= '9' && host_linef(c->host, &comm, "/proc/%s/comm", list.names[i]) == 0 &&
			str_is(comm, s->comm))
			return YES;
	return NO;
}

static bool is_installed(struct collect *c, const struct service *s)
{
	static const char *const folders[] = {"/usr/lib/systemd/system", "/lib/systemd/system", "/etc/systemd/system"};

	for (size_t i = 0; s->binaries[i]; i++)
		if (host_exists(c->host, s->binaries[i]))
			return true;
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		if (host_exists(c->host, arena_printf(c->arena, "%s/%s.service", folders[i], s->unit)))
			return true;
	return false;
}

/* A container has neither the host's processes nor its programs: it cannot say that a service is missing. */
static void read_service(struct collect *c, struct facts_row *row, enum facts_column column, const struct service *s)
{
	bool installed = is_installed(c, s);
	struct host_stat st;

	if (!installed && !sees_all_processes(c)) {
		facts_gap(row, column, GAP_UNSUPPORTED, s->unit, "the host's processes are not visible from here");
		return;
	}
	switch (is_running(c, s)) {
	case YES: facts_text(row, column, "running", s->unit); return;
	case UNKNOWN: facts_gap(row, column, GAP_UNSUPPORTED, s->unit, "the host's processes are not visible from here"); return;
	case NO: break;
	}
	if (installed)
		facts_text(row, column, "installed", s->unit);
	else if (host_exists(c->host, "/.dockerenv") || host_exists(c->host, "/run/.containerenv"))
		facts_gap(row, column, GAP_UNSUPPORTED, s->unit, "in a container");
	else if (host_stat(c->host, s->binaries[0], &st) == -ENOENT)
		facts_text(row, column, "missing", s->binaries[0]);
	else
		facts_gap(row, column, GAP_MISSING, s->binaries[0], NULL);
}

/* Its log starts with the version; Debian's package status has it too, but is large. */
static void read_fabric_manager_version(struct collect *c, struct facts_row *row)
{
	static const char path[] = "/var/log/fabricmanager.log", mark[] = "Fabric Manager version is";
	struct str text, version = str_n("", 0), word;
	int rc = host_read_head(c->host, path, HOST_READ_MAX, &text);
	size_t at = 0;

	if (rc < 0) {
		/* Root's own on some machines: nothing is hidden from this user by intent. */
		facts_gap(row, driver__fabric_manager_version, rc == -EACCES ? GAP_UNSUPPORTED : facts_gap_from_errno(rc), path,
			rc == -EACCES ? "only root may read it" : NULL);
		return;
	}
	while ((at = str_find(text, mark, at)) != SIZE_MAX) {
		struct str line = str_skip(text, at + strlen(mark));

		line = str_slice(line, 0, str_find_char(line, '\n', 0));
		while (str_next_word(&line, &word))
			if (word.len > 0 && word.ptr[0] >= '0' && word.ptr[0] <= '9')
				version = word; /* the last start counts */
		at += strlen(mark);
	}
	if (version.len > 0)
		facts_str(row, driver__fabric_manager_version, version, path);
	else
		facts_gap(row, driver__fabric_manager_version, GAP_UNPARSABLE, path, NULL);
}

/* -- together ------------------------------------------------------------------------------------------------------------ */

bool driver_has_nvidia_device(const struct facts *f)
{
	for (const struct facts_row *r = f->first[TABLE_pci_device]; r; r = r->next) {
		const char *kind = facts_get_text(r, pci_device__kind), *vendor = facts_get_text(r, pci_device__vendor);

		if (kind && vendor && str_is(str_of(vendor), "10de") && (str_is(str_of(kind), "gpu") || str_is(str_of(kind), "nvswitch")))
			return true;
	}
	return false;
}

/* Is there anything of NVIDIA's on this host, a device or a module? Without it there is no row: libraries alone lie in many an image. */
static bool has_nvidia(struct collect *c)
{
	return driver_has_nvidia_device(c->facts) || host_exists(c->host, "/dev/nvidiactl") || host_exists(c->host, "/dev/dxg") ||
		host_exists(c->host, "/sys/module/nvidia/version") || host_exists(c->host, PROC_VERSION);
}

void collect_driver(struct collect *c)
{
	struct facts_row *row;

	facts_table_read(c->facts, TABLE_driver);
	if (!has_nvidia(c))
		return;
	row = facts_add(c->facts, TABLE_driver);
	facts_text(row, driver__vendor, "nvidia", "devices and files of the driver");
	read_loaded_version(c, row);
	read_params(c, row);
	read_other_parameters(c);
	read_libraries(c, row);
	read_installed_version(c, row);
	read_service(c, row, driver__fabric_manager, &fabric_manager);
	read_fabric_manager_version(c, row);
	read_service(c, row, driver__imex, &imex);
	add_module_flag(c, row, driver__peermem_loaded, "nvidia_peermem", "nv_peer_mem");
	add_module_flag(c, row, driver__gdrdrv_loaded, "gdrdrv", NULL);
	add_module_flag(c, row, driver__uvm_loaded, "nvidia_uvm", NULL);
	add_module_flag(c, row, driver__ib_umad_loaded, "ib_umad", NULL);
	add_module_flag(c, row, driver__nouveau_loaded, "nouveau", "nova_core");
}
