/* NVIDIA GPUs, from PCI and /proc/driver/nvidia. Names and capabilities follow from the tables, the rest from the probe (collect/probe.c).
 */
#include "collect/gpu.h"

#include <errno.h>

#include "collect/accelerator.h"
#include "parse/nvidia.h"
#include "parse/pciconf.h"

#define PROC_GPUS "/proc/driver/nvidia/gpus"

/* -- the link ------------------------------------------------------------------------------------------------------------ */

static struct facts_row *device_row(const struct facts *f, const char *address)
{
	return address ? facts_find(f, pci_device__address, address) : NULL;
}

static bool same_text(const struct facts_row *a, const struct facts_row *b, enum facts_column column)
{
	const char *x = facts_get_text(a, column), *y = facts_get_text(b, column);

	return x && y && str_is(str_of(x), y);
}

static void copy_value(struct facts_row *to, enum facts_column c_to, const struct facts_row *from, enum facts_column c_from)
{
	const struct facts_value *v = facts_value(from, c_from);

	if (!v->set)
		return;
	if (v->gap != GAP_NONE)
		facts_gap(to, c_to, v->gap, v->origin, v->detail);
	else if (facts_columns[c_from].type == FACTS_REAL)
		facts_real(to, c_to, v->r, v->origin);
	else if (facts_columns[c_from].type == FACTS_TEXT)
		facts_text(to, c_to, v->text, v->origin);
	else
		facts_int(to, c_to, v->i, v->origin);
}

/* A link is as good as its weaker end: a card in a narrower or older slot runs as it should. Cards of AMD and Intel carry a switch of their
 * own; the link to the slot is above it. */
void gpu_add_link(struct collect *c, struct facts_row *row, const char *address)
{
	struct facts_row *device = device_row(c->facts, address), *above;
	int64_t width, width_above;
	double speed, speed_above;

	if (!device)
		return;
	for (;;) {
		above = device_row(c->facts, facts_get_text(device, pci_device__parent));
		if (!above || !same_text(above, device, pci_device__vendor))
			break;
		device = above;
	}
	copy_value(row, gpu__link_width, device, pci_device__link_width);
	copy_value(row, gpu__link_speed_gts, device, pci_device__link_speed_gts);
	copy_value(row, gpu__link_width_max, device, pci_device__link_width_max);
	copy_value(row, gpu__link_speed_max_gts, device, pci_device__link_speed_max_gts);
	if (!above)
		return;
	if (facts_get_int(row, gpu__link_width_max, &width) && facts_get_int(above, pci_device__link_width_max, &width_above) &&
		width_above < width)
		copy_value(row, gpu__link_width_max, above, pci_device__link_width_max);
	if (facts_get_real(row, gpu__link_speed_max_gts, &speed) && facts_get_real(above, pci_device__link_speed_max_gts, &speed_above) &&
		speed_above < speed)
		copy_value(row, gpu__link_speed_max_gts, above, pci_device__link_speed_max_gts);
}

/* -- one GPU ------------------------------------------------------------------------------------------------------------- */

struct nvidia_gpu {
	const struct facts_row *pci;
	const char *address;
	struct nvidia_information info;
	int info_error; /* 0: the driver told */
	const char *info_path;
	bool passed_through; /* bound to vfio-pci or the like: another machine's */
	enum gpu_node node;
	const char *node_path; /* NULL: the minor number is not known */
};

static bool bound_elsewhere(const char *driver)
{
	return driver && (str_starts(str_of(driver), "vfio") || str_is(str_of(driver), "pci-stub") || str_is(str_of(driver), "pciback"));
}

enum gpu_node gpu_node_state(struct collect *c, const char *path)
{
	struct host_stat st;
	int rc = host_stat(c->host, path, &st);

	if (rc == -ENOENT)
		return GPU_NODE_ABSENT;
	if (rc < 0)
		return GPU_NODE_UNKNOWN;
	rc = host_try_open(c->host, path);
	/* A busy or dead device is still this process's device. */
	return rc == -EPERM || rc == -EACCES ? GPU_NODE_REFUSED : rc == -ENODATA || rc == -EOPNOTSUPP ? GPU_NODE_UNKNOWN : GPU_NODE_USABLE;
}

static void examine(struct collect *c, const struct facts_row *pci, struct nvidia_gpu *ret)
{
	struct str text;

	*ret = (struct nvidia_gpu){.pci = pci, .address = facts_get_text(pci, pci_device__address), .node = GPU_NODE_UNKNOWN};
	ret->passed_through = bound_elsewhere(facts_get_text(pci, pci_device__driver));
	ret->info_path = arena_printf(c->arena, PROC_GPUS "/%s/information", ret->address);
	ret->info_error = host_read(c->host, ret->info_path, 0, &text);
	parse_nvidia_information(ret->info_error == 0 ? text : str_n("", 0), &ret->info);
	if (ret->info.minor >= 0) {
		ret->node_path = arena_printf(c->arena, "/dev/nvidia%d", (int)ret->info.minor);
		ret->node = gpu_node_state(c, ret->node_path);
	}
}

static void add_text(struct facts_row *row, enum facts_column column, struct str value, const struct nvidia_gpu *g)
{
	if (value.len > 0)
		facts_str(row, column, value, g->info_path);
	else if (g->info_error < 0)
		facts_gap_errno(row, column, g->info_error, g->info_path);
	else
		facts_gap(row, column, GAP_UNSUPPORTED, g->info_path, "the driver does not say");
}

static struct facts_row *add_gpu(struct collect *c, const struct nvidia_gpu *g, int64_t index)
{
	struct facts_row *row = facts_add(c->facts, TABLE_gpu);

	if (index >= 0)
		facts_int(row, gpu__index, index, "order on the PCI bus");
	else
		facts_gap(row, gpu__index, GAP_ABSENT, g->address, "not given to this environment");
	facts_text(row, gpu__vendor, "nvidia", g->address);
	facts_text(row, gpu__pci_address, g->address, "/sys/bus/pci/devices");
	add_text(row, gpu__name, g->info.model, g);
	add_text(row, gpu__uuid, g->info.uuid, g);
	add_text(row, gpu__firmware, g->info.video_bios, g);
	copy_value(row, gpu__numa_node, g->pci, pci_device__numa_node);
	copy_value(row, gpu__driver, g->pci, pci_device__driver);
	if (g->node_path && g->node != GPU_NODE_ABSENT)
		facts_text(row, gpu__device_node, g->node_path, g->info_path);
	else if (g->node_path)
		facts_gap(row, gpu__device_node, GAP_ABSENT, g->node_path, NULL);
	else
		facts_gap_errno(row, gpu__device_node, g->info_error < 0 ? g->info_error : -EINVAL, g->info_path);
	gpu_add_link(c, row, g->address);
	return row;
}

/* -- which of them a process sees ------------------------------------------------------------------------------------------ */

/* Are there device files of GPUs at all? They say it when the minor numbers are not known. */
static enum gpu_node any_node(struct collect *c)
{
	struct host_list list;
	enum gpu_node best = GPU_NODE_ABSENT;
	int rc = host_list(c->host, "/dev", &list);
	int64_t n;

	if (rc < 0)
		return GPU_NODE_UNKNOWN;
	for (size_t i = 0; i < list.count; i++) {
		struct str name = str_of(list.names[i]);
		enum gpu_node state;

		if (!str_starts(name, "nvidia") || str_to_int(str_skip(name, 6), &n) < 0)
			continue;
		state = gpu_node_state(c, arena_printf(c->arena, "/dev/%s", list.names[i]));
		if (state > best)
			best = state;
	}
	return best;
}

/* CUDA numbers the fastest device first unless told otherwise; with equal devices that is the order on the bus. */
static bool order_is_known(struct collect *c)
{
	const char *order = host_env(c->host, "CUDA_DEVICE_ORDER"), *first = NULL;

	if (order && str_is(str_of(order), "PCI_BUS_ID"))
		return true;
	for (const struct facts_row *r = c->facts->first[TABLE_gpu]; r; r = r->next) {
		const struct facts_row *pci = device_row(c->facts, facts_get_text(r, gpu__pci_address));
		const char *device = pci ? facts_get_text(pci, pci_device__device) : NULL;

		if (!device)
			continue;
		if (first && !str_is(str_of(first), device))
			return false;
		first = device;
	}
	return true;
}

static struct facts_row *row_of_entry(struct collect *c, const struct nvidia_visible *entry)
{
	for (struct facts_row *r = c->facts->first[TABLE_gpu]; r; r = r->next) {
		const char *uuid = facts_get_text(r, gpu__uuid);
		int64_t index;

		if (entry->kind == NVIDIA_VISIBLE_INDEX && facts_get_int(r, gpu__index, &index) && index == entry->index)
			return r;
		if (entry->kind == NVIDIA_VISIBLE_UUID && uuid &&
			str_starts(str_of(uuid), arena_printf(c->arena, "%.*s", (int)entry->uuid.len, entry->uuid.ptr)))
			return r;
	}
	return NULL;
}

/* CUDA_VISIBLE_DEVICES=0,1: an entry that names no device ends the list; a device named twice empties it. */
static void apply_visible_list(struct collect *c, const char *list)
{
	static const char origin[] = "CUDA_VISIBLE_DEVICES";
	struct facts_row *chosen[64], *row;
	struct nvidia_visible entry;
	struct str rest = str_of(list);
	size_t count = 0;
	bool known = order_is_known(c);

	while (count < 64 && parse_nvidia_visible(&rest, &entry) != NVIDIA_VISIBLE_END) {
		if (entry.kind == NVIDIA_VISIBLE_MIG) {
			known = false; /* slices: the probe may tell */
			continue;
		}
		row = row_of_entry(c, &entry);
		if (!row)
			break;
		for (size_t i = 0; i < count; i++)
			if (chosen[i] == row) {
				count = 0;
				goto done;
			}
		chosen[count++] = row;
	}
done:
	for (row = c->facts->first[TABLE_gpu]; row; row = row->next) {
		bool visible = false;

		if (facts_value(row, gpu__visible)->set)
			continue;
		for (size_t i = 0; i < count; i++)
			visible |= chosen[i] == row;
		if (known || count == 0)
			facts_bool(row, gpu__visible, visible, origin);
		else
			facts_gap(row, gpu__visible, GAP_UNSUPPORTED, origin, "the numbers do not follow the bus, or name slices");
	}
}

void gpu_apply_environment(struct collect *c)
{
	const char *list = host_env(c->host, "CUDA_VISIBLE_DEVICES");

	if (list) {
		apply_visible_list(c, list);
		return;
	}
	for (struct facts_row *row = c->facts->first[TABLE_gpu]; row; row = row->next) {
		const char *vendor = facts_get_text(row, gpu__vendor);

		if (!vendor || !str_is(str_of(vendor), "nvidia") || facts_value(row, gpu__visible)->set)
			continue;
		if (host_has_env(c->host))
			facts_bool(row, gpu__visible, true, "device files; CUDA_VISIBLE_DEVICES is not set");
		else
			facts_gap(row, gpu__visible, GAP_MISSING, "environment", NULL);
	}
}

/* -- together ------------------------------------------------------------------------------------------------------------ */

#define GPUS_MAX 128

/* Inside a container /sys shows the host's GPUs; its device files are those it was given. Where some are given, the others are not ours to
 * judge; where none is, all of them are rows that nobody sees. */
static void add_gpus(struct collect *c, struct nvidia_gpu *gpus, size_t count)
{
	bool some_given = false;
	enum gpu_node overall;
	int64_t index = 0;

	for (size_t i = 0; i < count; i++)
		some_given |= gpus[i].node == GPU_NODE_USABLE || gpus[i].node == GPU_NODE_REFUSED;
	overall = some_given ? GPU_NODE_USABLE : any_node(c);
	for (size_t i = 0; i < count; i++) {
		struct nvidia_gpu *g = &gpus[i];
		enum gpu_node node = g->node == GPU_NODE_UNKNOWN ? overall : g->node;
		struct facts_row *row;

		if (g->passed_through || (some_given && g->node == GPU_NODE_ABSENT))
			continue;
		/* The container's /proc lists only what it was given. */
		if (some_given && g->info_error == -ENOENT)
			continue;
		row = add_gpu(c, g, node == GPU_NODE_ABSENT ? -1 : index++);
		if (g->info.excluded)
			facts_bool(row, gpu__visible, false, g->info_path);
		else if (node == GPU_NODE_ABSENT || node == GPU_NODE_REFUSED)
			facts_bool(row, gpu__visible, false, g->node_path ? g->node_path : "/dev");
		else if (node == GPU_NODE_UNKNOWN)
			facts_gap(row, gpu__visible, GAP_MISSING, g->node_path ? g->node_path : "/dev",
				"the device file could not be examined");
	}
}

static void add_jetson(struct collect *c)
{
	static const char path[] = "/proc/device-tree/model";
	struct facts_row *row;
	struct str model;

	if (host_linef(c->host, &model, "%s", path) < 0 ||
		!(str_has(model, "Jetson") || str_has(model, "Orin") || str_has(model, "Xavier")))
		return;
	while (model.len > 0 && model.ptr[model.len - 1] == '\0')
		model.len--;
	row = facts_add(c->facts, TABLE_gpu);
	facts_int(row, gpu__index, 0, path);
	facts_text(row, gpu__vendor, "nvidia", path);
	facts_str(row, gpu__name, model, path);
	facts_text(row, gpu__class, "embedded", path);
}

void collect_gpu(struct collect *c)
{
	struct nvidia_gpu *gpus = arena_array(c->arena, GPUS_MAX, sizeof *gpus);
	size_t count = 0;

	for (const struct facts_table_gap *g = c->facts->gaps; g; g = g->next)
		if (g->table == TABLE_pci_device) {
			facts_table_gap(c->facts, TABLE_gpu, g->gap, g->origin, "the PCI bus could not be listed");
			break;
		}
	facts_table_read(c->facts, TABLE_gpu);
	for (const struct facts_row *r = c->facts->first[TABLE_pci_device]; r && count < GPUS_MAX; r = r->next) {
		const char *kind = facts_get_text(r, pci_device__kind), *vendor = facts_get_text(r, pci_device__vendor);

		if (kind && vendor && str_is(str_of(kind), "gpu") && str_is(str_of(vendor), "10de"))
			examine(c, r, &gpus[count++]);
	}
	add_gpus(c, gpus, count);
	if (c->facts->count[TABLE_gpu] == 0)
		add_jetson(c);
	gpu_apply_environment(c);
}
