/* PCI devices that matter, and the bridges above them. */
#include "collect/collect.h"

#include <errno.h>

#include "collect/accelerator.h"
#include "parse/pciconf.h"

#define DEVICES "/sys/bus/pci/devices"
#define PATH_MAX_BRIDGES 32
#define DEVICE_MAX 16384

static const char *const kind_names[] = {"other", "gpu", "nvswitch", "nic", "infiniband", "accelerator"};

/* The bridges above a device, from the link in /sys/bus/pci/devices: ../../../devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0 */
struct bridges {
	struct str root, above[PATH_MAX_BRIDGES];
	size_t count;
	bool known;
};

static void split_path(struct str target, struct bridges *ret)
{
	struct str part;

	*ret = (struct bridges){.root = str_n("", 0)};
	while (str_next_field(&target, '/', &part)) {
		if (str_starts(part, "pci") && str_has(part, ":"))
			ret->root = part;
		else if (parse_pci_is_address(part) && ret->count < PATH_MAX_BRIDGES)
			ret->above[ret->count++] = part;
	}
	if (ret->count > 0) {
		ret->count--; /* the device itself */
		ret->known = true;
	}
}

static void find_bridges(struct collect *c, const char *address, struct bridges *ret)
{
	const char *target;

	*ret = (struct bridges){.known = false};
	if (host_readlink(c->host, arena_printf(c->arena, DEVICES "/%s", address), &target) == 0)
		split_path(str_of(target), ret);
}

static int read_hex_file(struct collect *c, const char *address, const char *file, unsigned *ret)
{
	struct str text;
	uint64_t n;
	int rc = host_linef(c->host, &text, DEVICES "/%s/%s", address, file);

	if (rc == 0)
		rc = str_to_hex(str_trim(text), &n);
	if (rc == 0)
		*ret = (unsigned)n;
	return rc;
}

/* uevent tells everything at once; a machine that has none has the files one by one. */
static int read_id(struct collect *c, const char *address, struct pci_id *ret)
{
	const char *target;
	struct str text, name;
	int rc = host_readf(c->host, &text, DEVICES "/%s/uevent", address);

	if (rc == 0 && parse_pci_uevent(text, ret) == 0)
		return 0;
	*ret = (struct pci_id){.driver = str_n("", 0)};
	rc = read_hex_file(c, address, "class", &ret->class);
	if (rc == 0)
		rc = read_hex_file(c, address, "vendor", &ret->vendor);
	if (rc == 0)
		rc = read_hex_file(c, address, "device", &ret->device);
	if (rc == 0 && host_readlink(c->host, arena_printf(c->arena, DEVICES "/%s/driver", address), &target) == 0) {
		name = str_of(target);
		ret->driver = str_skip(name, str_rfind_char(name, '/') + 1);
	}
	return rc;
}

/* -- one device --------------------------------------------------------------------------------------------------------- */

static void add_int(struct collect *c, struct facts_row *row, enum facts_column column, const char *address, const char *file)
{
	const char *path = arena_printf(c->arena, DEVICES "/%s/%s", address, file);
	int64_t v;
	int rc = host_intf(c->host, &v, "%s", path);

	if (rc == 0 && v > 0 && v <= 32) /* 63 or 255: the device does not answer */
		facts_int(row, column, v, path);
	else
		facts_gap(row, column, rc == 0 ? GAP_UNSUPPORTED : facts_gap_from_errno(rc), path, NULL);
}

static void add_speed(struct collect *c, struct facts_row *row, enum facts_column column, const char *address, const char *file)
{
	const char *path = arena_printf(c->arena, DEVICES "/%s/%s", address, file);
	struct str text;
	double v;
	int rc = host_linef(c->host, &text, "%s", path);

	if (rc == 0)
		rc = parse_pci_speed(text, &v);
	if (rc == 0)
		facts_real(row, column, v, path);
	else
		facts_gap_errno(row, column, rc, path);
}

static void add_numa(struct collect *c, struct facts_row *row, const char *address)
{
	const char *path = arena_printf(c->arena, DEVICES "/%s/numa_node", address);
	int64_t v;
	int rc = host_intf(c->host, &v, "%s", path);

	if (rc == 0 && v >= 0)
		facts_int(row, pci_device__numa_node, v, path);
	else if (rc == 0)
		facts_gap(row, pci_device__numa_node, GAP_ABSENT, path, "the firmware names no node");
	else
		facts_gap_errno(row, pci_device__numa_node, rc, path);
}

static void add_iommu(struct collect *c, struct facts_row *row, const char *address)
{
	const char *path = arena_printf(c->arena, DEVICES "/%s/iommu_group", address), *target;
	struct str name;
	int64_t v;
	int rc = host_readlink(c->host, path, &target);

	if (rc == 0) {
		name = str_of(target);
		rc = str_to_int(str_skip(name, str_rfind_char(name, '/') + 1), &v);
	}
	if (rc == 0)
		facts_int(row, pci_device__iommu_group, v, path);
	else if (rc == -ENOENT)
		facts_gap(row, pci_device__iommu_group, GAP_ABSENT, path, "no IOMMU");
	else
		facts_gap_errno(row, pci_device__iommu_group, rc, path);
}

static void add_aer(struct collect *c, struct facts_row *row, enum facts_column column, const char *address, const char *file)
{
	const char *path = arena_printf(c->arena, DEVICES "/%s/%s", address, file);
	struct str text;
	int64_t v;
	int rc = host_readf(c->host, &text, "%s", path);

	if (rc == 0)
		rc = parse_pci_aer_total(text, &v);
	if (rc == 0)
		facts_int(row, column, v, path);
	else
		facts_gap_errno(row, column, rc, path);
}

static void add_acs(struct collect *c, struct facts_row *row, const char *address)
{
	const char *path = arena_printf(c->arena, DEVICES "/%s/config", address);
	struct str config;
	bool redirect;
	int rc = host_read(c->host, path, 4096, &config);

	if (rc == 0)
		rc = parse_pci_acs_redirect(config, &redirect);
	else if (rc == -ENODATA)
		rc = -ENOENT;
	if (rc == 0)
		facts_bool(row, pci_device__acs_redirect, redirect, path);
	else if (rc == -ENODATA)
		facts_gap(row, pci_device__acs_redirect, GAP_DENIED, path, "only root sees the extended configuration space");
	else
		facts_gap_errno(row, pci_device__acs_redirect, rc, path);
}

static void add_path(struct collect *c, struct facts_row *row, const char *address, const struct bridges *b, size_t count)
{
	const char *origin = arena_printf(c->arena, DEVICES "/%s", address);
	struct buf path = BUF_MAX(1024);

	if (!b->known) {
		facts_gap(row, pci_device__path, GAP_MISSING, origin, NULL);
		facts_gap(row, pci_device__parent, GAP_MISSING, origin, NULL);
		return;
	}
	buf_str(&path, b->root);
	for (size_t i = 0; i < count; i++) {
		buf_char(&path, '/');
		buf_str(&path, b->above[i]);
	}
	facts_str(row, pci_device__path, buf_view(&path), origin);
	buf_free(&path);
	if (count > 0)
		facts_str(row, pci_device__parent, b->above[count - 1], origin);
	else
		facts_gap(row, pci_device__parent, GAP_ABSENT, origin, NULL);
}

static struct facts_row *add_device(struct collect *c, const char *address, const char *kind, const struct pci_id *id)
{
	const char *origin = arena_printf(c->arena, DEVICES "/%s", address);
	struct facts_row *row = facts_add(c->facts, TABLE_pci_device);

	facts_text(row, pci_device__address, address, origin);
	facts_text(row, pci_device__kind, kind, origin);
	facts_text(row, pci_device__vendor, arena_printf(c->arena, "%04x", id->vendor), origin);
	facts_text(row, pci_device__device, arena_printf(c->arena, "%04x", id->device), origin);
	if (id->driver.len > 0)
		facts_str(row, pci_device__driver, id->driver, origin);
	else
		facts_gap(row, pci_device__driver, GAP_ABSENT, origin, "no driver is bound");
	add_numa(c, row, address);
	add_int(c, row, pci_device__link_width, address, "current_link_width");
	add_int(c, row, pci_device__link_width_max, address, "max_link_width");
	add_speed(c, row, pci_device__link_speed_gts, address, "current_link_speed");
	add_speed(c, row, pci_device__link_speed_max_gts, address, "max_link_speed");
	add_iommu(c, row, address);
	add_aer(c, row, pci_device__aer_fatal, address, "aer_dev_fatal");
	add_aer(c, row, pci_device__aer_nonfatal, address, "aer_dev_nonfatal");
	return row;
}

static void add_bridges(struct collect *c, const struct bridges *b)
{
	for (size_t i = 0; i < b->count; i++) {
		const char *address = str_dup(c->arena, b->above[i]);
		struct facts_row *row;
		struct pci_id id;

		if (facts_find(c->facts, pci_device__address, address) || read_id(c, address, &id) < 0)
			continue;
		row = add_device(c, address, "bridge", &id);
		add_path(c, row, address, b, i);
		add_acs(c, row, address);
	}
}

void collect_pci(struct collect *c)
{
	struct host_list list;
	int rc = host_list(c->host, DEVICES, &list);

	if (rc < 0) {
		/* No PCI bus is an answer too (WSL, small containers), but not one about the devices. */
		facts_table_gap_errno(c->facts, TABLE_pci_device, rc, DEVICES);
		return;
	}
	facts_table_read(c->facts, TABLE_pci_device);
	if (list.truncated || list.count > DEVICE_MAX)
		facts_table_gap(c->facts, TABLE_pci_device, GAP_UNSUPPORTED, DEVICES, "too many devices");
	for (size_t i = 0; i < list.count && i < DEVICE_MAX; i++) {
		const char *address = list.names[i];
		struct bridges b;
		struct pci_id id;
		enum pci_kind kind;

		if (!parse_pci_is_address(str_of(address)))
			continue;
		rc = read_id(c, address, &id);
		if (rc < 0) {
			facts_table_gap_errno(c->facts, TABLE_pci_device, rc, arena_printf(c->arena, DEVICES "/%s", address));
			continue;
		}
		kind = accelerator_pci_kind(id.vendor, id.device, id.class, SIZE_MAX);
		if (kind == PCI_OTHER)
			continue;
		find_bridges(c, address, &b);
		if (b.known && accelerator_pci_kind(id.vendor, id.device, id.class, b.count) == PCI_OTHER)
			continue;
		add_bridges(c, &b);
		add_path(c, add_device(c, address, kind_names[kind], &id), address, &b, b.count);
	}
}
