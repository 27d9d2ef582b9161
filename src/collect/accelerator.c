/* Accelerators that are not NVIDIA's: by PCI vendor, device files and, for AMD, the topology of its kernel driver. */
#include "collect/accelerator.h"

#include <errno.h>

#include "collect/driver.h"
#include "collect/gpu.h"
#include "parse/kfd.h"

#define DEVICES "/sys/bus/pci/devices"
#define KFD "/sys/class/kfd/kfd/topology/nodes"
#define ROWS_MAX 128
#define VRAM_OF_A_CARD ((int64_t)3 << 30)

/* -- device files ---------------------------------------------------------------------------------------------------------- */

/* "dri/renderD" is one directory below /dev, "davinci" is not. */
struct nodes {
	const char *path[ROWS_MAX];
	size_t count;
};

static void list_nodes(struct collect *c, const char *prefix, struct nodes *ret)
{
	size_t slash = str_rfind_char(str_of(prefix), '/');
	const char *folder = "/dev", *name = prefix;
	struct host_list list;
	int64_t order[ROWS_MAX], n;

	ret->count = 0;
	if (slash != SIZE_MAX) {
		folder = arena_printf(c->arena, "/dev/%.*s", (int)slash, prefix);
		name = prefix + slash + 1;
	}
	if (host_list(c->host, folder, &list) < 0)
		return;
	for (size_t i = 0; i < list.count && ret->count < ROWS_MAX; i++) {
		size_t at = ret->count;

		if (!str_starts(str_of(list.names[i]), name) || str_to_int(str_of(list.names[i] + strlen(name)), &n) < 0 || n < 0)
			continue;
		for (; at > 0 && order[at - 1] > n; at--) { /* by number: 10 comes after 9 */
			order[at] = order[at - 1];
			ret->path[at] = ret->path[at - 1];
		}
		order[at] = n;
		ret->path[at] = arena_printf(c->arena, "%s/%s", folder, list.names[i]);
		ret->count++;
	}
}

/* The render node of a card, from its PCI device. */
static const char *render_node(struct collect *c, const char *address)
{
	struct host_list list;

	if (host_list(c->host, arena_printf(c->arena, DEVICES "/%s/drm", address), &list) < 0)
		return NULL;
	for (size_t i = 0; i < list.count; i++)
		if (str_starts(str_of(list.names[i]), "renderD"))
			return arena_printf(c->arena, "/dev/dri/%s", list.names[i]);
	return NULL;
}

static void set_node(struct collect *c, struct facts_row *row, const char *path)
{
	enum gpu_node state = path ? gpu_node_state(c, path) : GPU_NODE_ABSENT;

	if (path && state != GPU_NODE_ABSENT)
		facts_text(row, gpu__device_node, path, "/dev");
	else
		facts_gap(row, gpu__device_node, GAP_ABSENT, path ? path : "/dev", "no device file");
	if (state == GPU_NODE_ABSENT || state == GPU_NODE_REFUSED)
		facts_bool(row, gpu__visible, false, path ? path : "/dev");
	else if (state == GPU_NODE_UNKNOWN)
		facts_gap(row, gpu__visible, GAP_MISSING, path, NULL);
}

/* -- variables that hide devices ------------------------------------------------------------------------------------------- */

static bool list_has(struct str list, int64_t index)
{
	struct str entry;
	int64_t n;

	while (str_next_field(&list, ',', &entry)) {
		size_t dash = str_find_char(entry, '-', 1); /* Ascend and Enflame take ranges */
		int64_t last;

		if (str_to_int(str_trim(str_slice(entry, 0, dash)), &n) < 0)
			continue;
		last = n;
		if (dash != SIZE_MAX && str_to_int(str_trim(str_skip(entry, dash + 1)), &last) < 0)
			continue;
		if (index >= n && index <= last)
			return true;
	}
	return false;
}

static void apply_environment(struct collect *c, const struct accelerator_vendor *v)
{
	struct str names = str_of(v->visible), name;
	const char *variable = NULL, *value = NULL;

	while (!value && str_next_word(&names, &name)) {
		variable = str_dup(c->arena, name);
		value = host_env(c->host, variable);
	}
	for (struct facts_row *row = c->facts->first[TABLE_gpu]; row; row = row->next) {
		const char *vendor = facts_get_text(row, gpu__vendor);
		int64_t index;

		if (!vendor || !str_is(str_of(vendor), v->name) || facts_value(row, gpu__visible)->set)
			continue;
		if (!host_has_env(c->host))
			facts_gap(row, gpu__visible, GAP_MISSING, "environment", NULL);
		else if (!value)
			facts_bool(row, gpu__visible, true, "device files");
		else if (facts_get_int(row, gpu__index, &index))
			facts_bool(row, gpu__visible, list_has(str_of(value), index), variable);
	}
}

/* -- AMD ------------------------------------------------------------------------------------------------------------------- */

/* The files that amdgpu gives for a card. */
static void add_amd_files(struct collect *c, struct facts_row *row, const char *address)
{
	static const struct {
		enum facts_column column;
		const char *file;
	} numbers[] = {{gpu__memory_bytes, "mem_info_vram_total"}, {gpu__memory_used_bytes, "mem_info_vram_used"}},
	  texts[] = {{gpu__name, "product_name"}, {gpu__firmware, "vbios_version"}, {gpu__uuid, "unique_id"}};
	struct str text, line;
	int64_t n;

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		const char *path = arena_printf(c->arena, DEVICES "/%s/%s", address, numbers[i].file);

		if (host_intf(c->host, &n, "%s", path) == 0)
			facts_int(row, numbers[i].column, n, path);
	}
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const char *path = arena_printf(c->arena, DEVICES "/%s/%s", address, texts[i].file);

		if (host_linef(c->host, &text, "%s", path) == 0 && text.len > 0)
			facts_str(row, texts[i].column, text, path);
	}
	/* umc is the memory controller: "ue: 0" and "ce: 3" */
	if (host_readf(c->host, &text, DEVICES "/%s/ras/umc_err_count", address) == 0)
		while (str_next_line(&text, &line))
			if (str_starts(line, "ue:") && str_to_int(str_trim(str_skip(line, 3)), &n) == 0)
				facts_int(row, gpu__ecc_uncorrected, n, arena_printf(c->arena, DEVICES "/%s/ras/umc_err_count", address));
}

static struct facts_row *amd_row(struct collect *c, const char *address)
{
	struct facts_row *row = facts_find(c->facts, gpu__pci_address, address);

	if (row || c->facts->read[TABLE_pci_device])
		return row;
	row = facts_add(c->facts, TABLE_gpu);
	facts_text(row, gpu__vendor, "amd", KFD);
	facts_text(row, gpu__pci_address, address, KFD);
	return row;
}

/* Also tells an integrated GPU apart: without a PCI listing, a node without memory of its own is none. */
static void add_kfd_node(struct collect *c, const char *node, int64_t *index)
{
	const char *path = arena_printf(c->arena, KFD "/%s/properties", node), *gfx, *address;
	int64_t target, domain = 0, location, minor, vendor = 0x1002, memory;
	struct facts_row *row;
	struct str text, bank;

	if (host_read(c->host, path, 0, &text) < 0 || parse_kfd_property(text, "gfx_target_version", &target) < 0 ||
		parse_kfd_gfx(c->arena, target, &gfx) < 0 || parse_kfd_property(text, "location_id", &location) < 0)
		return;
	parse_kfd_property(text, "domain", &domain);
	parse_kfd_property(text, "vendor_id", &vendor);
	if (vendor != 0x1002)
		return;
	address = parse_kfd_address(c->arena, domain, location);
	memory = 0;
	if (host_readf(c->host, &bank, KFD "/%s/mem_banks/0/properties", node) == 0)
		parse_kfd_property(bank, "size_in_bytes", &memory);
	if (!c->facts->read[TABLE_pci_device] && memory < VRAM_OF_A_CARD)
		return;
	row = amd_row(c, address);
	if (!row)
		return;
	facts_text(row, gpu__gfx, gfx, path);
	facts_int(row, gpu__index, (*index)++, KFD);
	if (memory > 0 && !facts_value(row, gpu__memory_bytes)->set)
		facts_int(row, gpu__memory_bytes, memory, path);
	if (parse_kfd_property(text, "drm_render_minor", &minor) == 0 && minor > 0)
		set_node(c, row, arena_printf(c->arena, "/dev/dri/renderD%d", (int)minor));
}

static int by_number(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);

	return la != lb ? (la < lb ? -1 : 1) : strcmp(a, b);
}

static void read_kfd(struct collect *c)
{
	struct host_list list;
	int64_t index = 0;
	const char **names;

	if (host_list(c->host, KFD, &list) < 0 || list.count > 4096)
		return;
	names = arena_array(c->arena, list.count + 1, sizeof *names);
	for (size_t i = 0; i < list.count; i++) {
		size_t at = i;

		for (; at > 0 && by_number(names[at - 1], list.names[i]) > 0; at--)
			names[at] = names[at - 1];
		names[at] = list.names[i];
	}
	for (size_t i = 0; i < list.count; i++)
		add_kfd_node(c, names[i], &index);
}

/* What the kernel driver did not number keeps the order of the bus, behind. */
static void finish_amd(struct collect *c)
{
	int64_t next = 0, index;

	for (struct facts_row *r = c->facts->first[TABLE_gpu]; r; r = r->next) {
		const char *vendor = facts_get_text(r, gpu__vendor);

		if (vendor && str_is(str_of(vendor), "amd") && facts_get_int(r, gpu__index, &index) && index >= next)
			next = index + 1;
	}
	for (struct facts_row *r = c->facts->first[TABLE_gpu]; r; r = r->next) {
		const char *vendor = facts_get_text(r, gpu__vendor), *address = facts_get_text(r, gpu__pci_address);

		if (!vendor || !str_is(str_of(vendor), "amd") || facts_get_int(r, gpu__index, &index))
			continue;
		facts_int(r, gpu__index, next++, DEVICES);
		if (!facts_value(r, gpu__device_node)->set)
			set_node(c, r, address ? render_node(c, address) : NULL);
	}
}

/* -- all vendors ------------------------------------------------------------------------------------------------------------ */

/* Is a graphics unit inside the processor: little memory of its own, and right below the root? */
static bool is_integrated(struct collect *c, const struct facts_row *pci)
{
	const char *path = facts_get_text(pci, pci_device__path), *vendor = facts_get_text(pci, pci_device__vendor);
	int64_t vram;
	size_t depth = 0;

	if (!path || !vendor || !str_is(str_of(vendor), "1002"))
		return false;
	for (; *path; path++)
		depth += *path == '/';
	return depth < 3 && host_intf(c->host, &vram, DEVICES "/%s/mem_info_vram_total", facts_get_text(pci, pci_device__address)) == 0 &&
		vram < VRAM_OF_A_CARD;
}

static struct facts_row *add_row(struct collect *c, const struct accelerator_vendor *v, const struct facts_row *pci)
{
	struct facts_row *row = facts_add(c->facts, TABLE_gpu);
	const char *address = pci ? facts_get_text(pci, pci_device__address) : NULL;
	const char *driver = pci ? facts_get_text(pci, pci_device__driver) : NULL;
	int64_t node;

	facts_text(row, gpu__vendor, v->name, address ? DEVICES : "/dev");
	if (!address)
		return row;
	facts_text(row, gpu__pci_address, address, DEVICES);
	if (driver)
		facts_text(row, gpu__driver, driver, DEVICES);
	else
		facts_gap(row, gpu__driver, GAP_ABSENT, DEVICES, "no driver is bound");
	if (facts_get_int(pci, pci_device__numa_node, &node))
		facts_int(row, gpu__numa_node, node, DEVICES);
	gpu_add_link(c, row, address);
	return row;
}

/* A prefix that only this vendor uses: its device files alone prove a device. */
static bool is_distinctive(const char *prefix)
{
	static const char *const shared[] = {"dri/renderD", "accel", "xpu", "neuron", "gcu"};

	for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
		if (str_is(str_of(prefix), shared[i]))
			return false;
	return true;
}

/* In a container the bus shows all devices and /dev those that were given. */
static void add_vendor(struct collect *c, const struct accelerator_vendor *v)
{
	const struct facts_row *pci[ROWS_MAX];
	bool render = str_is(str_of(v->nodes), "dri/renderD");
	struct nodes nodes = {.count = 0};
	size_t count = 0, rows;

	for (const struct facts_row *r = c->facts->first[TABLE_pci_device]; r && count < ROWS_MAX; r = r->next) {
		const char *kind = facts_get_text(r, pci_device__kind), *vendor = facts_get_text(r, pci_device__vendor);

		if (kind && vendor && (str_is(str_of(kind), "gpu") || str_is(str_of(kind), "accelerator")) && !is_integrated(c, r) &&
			str_is(str_of(vendor), arena_printf(c->arena, "%04x", v->pci)))
			pci[count++] = r;
	}
	if (!render && (count > 0 || is_distinctive(v->nodes)))
		list_nodes(c, v->nodes, &nodes);
	rows = nodes.count > 0 ? nodes.count : count;
	for (size_t i = 0; i < rows; i++) {
		struct facts_row *row = add_row(c, v, nodes.count == 0 || nodes.count == count ? pci[i] : NULL);

		if (v->pci == 0x1002)
			add_amd_files(c, row, facts_get_text(row, gpu__pci_address));
		else
			facts_int(row, gpu__index, (int64_t)i, nodes.count ? "/dev" : DEVICES);
		if (v->pci == 0x1002)
			continue; /* numbered by its kernel driver */
		set_node(c, row, nodes.count ? nodes.path[i] : render ? render_node(c, facts_get_text(row, gpu__pci_address)) : NULL);
	}
}

/* -- drivers ----------------------------------------------------------------------------------------------------------------- */

static const char *first_text_after(struct collect *c, const char *path, const char *key)
{
	struct str text, line, name, value;

	if (host_read(c->host, path, 0, &text) < 0)
		return NULL;
	while (str_next_line(&text, &line))
		if (str_split(line, '=', &name, &value) && str_is_nocase(name, key))
			return str_dup(c->arena, value);
	return NULL;
}

static void add_driver(struct collect *c, const struct accelerator_vendor *v)
{
	struct str modules = str_of(v->module), name, version;
	struct facts_row *row = facts_add(c->facts, TABLE_driver);
	const char *vendor_file = str_is(str_of(v->name), "ascend") ? "/usr/local/Ascend/driver/version.info" : NULL;
	const char *text = vendor_file ? first_text_after(c, vendor_file, "version") : NULL;
	bool loaded = false;

	facts_text(row, driver__vendor, v->name, "devices");
	if (text)
		driver_set_version(row, str_of(text), vendor_file);
	while (str_next_word(&modules, &name)) {
		const char *module = str_dup(c->arena, name);

		loaded |= facts_find(c->facts, kernel_module__name, module) != NULL ||
			host_is_dir(c->host, arena_printf(c->arena, "/sys/module/%s", module));
		if (host_linef(c->host, &version, "/sys/module/%s/version", module) == 0 && version.len > 0)
			driver_set_version(row, version, arena_printf(c->arena, "/sys/module/%s/version", module));
	}
	if (!facts_get_text(row, driver__version))
		facts_gap(row, driver__version, GAP_UNSUPPORTED, v->name, "the driver does not tell in a file");
	if (loaded)
		facts_bool(row, driver__loaded, true, "/proc/modules");
	else
		facts_gap(row, driver__loaded, GAP_MISSING, "/proc/modules", "no module of a known name");
}

void collect_accelerator(struct collect *c)
{
	for (size_t i = 0; i < accelerator_vendor_count; i++) {
		const struct accelerator_vendor *v = &accelerator_vendors[i];
		int before = c->facts->count[TABLE_gpu];

		if (v->pci == 0x10de)
			continue;
		add_vendor(c, v);
		if (v->pci == 0x1002) {
			read_kfd(c);
			finish_amd(c);
		}
		if (c->facts->count[TABLE_gpu] == before)
			continue;
		add_driver(c, v);
		apply_environment(c, v);
	}
}
