/* lspci, also with -v, -vv, -vvv, -nn, -D: accelerators, NVSwitches, adapters and the bridges above them: link, NUMA node, kernel driver,
 * ACS. */
#include "read/fill.h"
#include "read/read.h"

#define DEVICES_MAX 1024
#define BRIDGES_MAX 64 /* above one device */

struct device {
	struct facts_row *row, *gpu; /* NULL: no row of ours */
	bool bridge, redirect;
	int64_t domain, bus, secondary, subordinate; /* -1: not told */
};

struct tree {
	struct device *device;
	size_t count;
	int64_t gpus;
};

/* "0000:17:00.0 3D controller [0302]: NVIDIA Corporation …": the address, the class and the rest. */
static bool device_line(struct facts *f, struct str line, struct str *ret_address, struct str *ret_class, struct str *ret_name)
{
	size_t blank = str_find_char(line, ' ', 0), colon = str_find(line, ": ", 0);
	if (blank == SIZE_MAX || blank < 7 || blank > 16 || colon == SIZE_MAX || colon < blank ||
		(line.ptr[0] == ' ' || line.ptr[0] == '\t'))
		return false;
	*ret_address = read_pci_address(f, str_slice(line, 0, blank));
	*ret_class = str_slice(line, blank + 1, colon);
	*ret_name = str_skip(line, colon + 2);
	return ret_address->len > 0;
}

static bool has_class(struct str class, const char *name)
{
	return str_starts(class, name);
}

static const char *kind_of(struct str class, struct str name)
{
	bool nvidia = str_has(name, "NVIDIA"), amd = str_has(name, "[AMD/ATI]");
	if (has_class(class, "PCI bridge"))
		return "bridge";
	if (nvidia && has_class(class, "Bridge"))
		return "nvswitch";
	if ((nvidia && (has_class(class, "3D controller") || has_class(class, "VGA compatible controller"))) ||
		(amd &&
			(has_class(class, "Processing accelerators") || has_class(class, "Display controller") ||
				has_class(class, "VGA compatible controller"))))
		return "gpu";
	if (has_class(class, "Processing accelerators"))
		return "accelerator";
	if (has_class(class, "Infiniband controller") || has_class(class, "InfiniBand controller"))
		return "infiniband";
	return str_has(name, "Mellanox") && has_class(class, "Ethernet controller") ? "nic" : NULL;
}

/* "[10de:2330]" */
static void ids(struct facts_row *row, struct str name, const char *origin)
{
	uint64_t x;
	for (size_t at = str_find_char(name, '[', 0); at != SIZE_MAX; at = str_find_char(name, '[', at + 1)) {
		struct str vendor = str_slice(name, at + 1, at + 5), device = str_slice(name, at + 6, at + 10);
		if (at + 10 < name.len && name.ptr[at + 5] == ':' && name.ptr[at + 10] == ']' && str_to_hex(vendor, &x) == 0 &&
			str_to_hex(device, &x) == 0) {
			read_fill_str(row, pci_device__vendor, vendor, origin);
			read_fill_str(row, pci_device__device, device, origin);
		}
	}
	if (str_has(name, "NVIDIA"))
		read_fill_str(row, pci_device__vendor, STR("10de"), origin);
	else if (str_has(name, "[AMD/ATI]"))
		read_fill_str(row, pci_device__vendor, STR("1002"), origin);
	else if (str_has(name, "Mellanox"))
		read_fill_str(row, pci_device__vendor, STR("15b3"), origin);
	else if (str_has(name, "Huawei"))
		read_fill_str(row, pci_device__vendor, STR("19e5"), origin);
}

/* An AMD or NVIDIA GPU has a row among the GPUs, in the order of the bus, which is also that of nvidia-smi. */
static struct facts_row *gpu_of(struct tree *t, struct facts *f, struct str address, struct str name, const char *origin)
{
	const char *vendor = str_has(name, "NVIDIA") ? "nvidia" : "amd";
	struct facts_row *gpu = read_gpu_at(f, address, vendor);
	if (!gpu)
		gpu = read_gpu(f, t->gpus, vendor);
	t->gpus++;
	read_fill_str(gpu, gpu__pci_address, address, origin);
	/* "GA100 [A100 SXM4 80GB] (rev a1)"; two names in one, as in [Quadro RTX 6000/8000], are none. */
	size_t open = str_find_char(name, '[', 0), close = str_find_char(name, ']', 0);
	struct str product = open < close && close != SIZE_MAX ? str_slice(name, open + 1, close) : str_n("", 0);
	if (strcmp(vendor, "nvidia") == 0 && product.len > 3 && str_find_char(product, '/', 0) == SIZE_MAX &&
		str_find_char(product, ':', 0) == SIZE_MAX && !str_has(name, "[10de:"))
		read_fill_str(gpu, gpu__name, str_of(arena_printf(f->arena, "NVIDIA %.*s", (int)product.len, product.ptr)), origin);
	return gpu;
}

static int64_t hex_field(struct str line, const char *key)
{
	size_t at = str_find(line, key, 0), end;
	uint64_t x;
	if (at == SIZE_MAX)
		return -1;
	struct str value = str_skip(line, at + strlen(key));
	for (end = 0; end < value.len && value.ptr[end] != ',' && value.ptr[end] != ' '; end++)
		;
	return str_to_hex(str_slice(value, 0, end), &x) == 0 && x <= 0xff ? (int64_t)x : -1;
}

static void fill_int(struct device *d, enum facts_column device_column, enum facts_column gpu_column, int64_t n, const char *origin)
{
	read_fill_int(d->row, device_column, n, origin);
	if (d->gpu)
		read_fill_int(d->gpu, gpu_column, n, origin);
}

/* "LnkSta: Speed 8GT/s (downgraded), Width x16 (ok)" */
static void link_line(struct device *d, struct str t, bool most, const char *origin)
{
	size_t speed = str_find(t, "Speed ", 0), width = str_find(t, "Width x", 0);
	int64_t lanes;
	double rate;
	size_t end = 0;
	if (width != SIZE_MAX) {
		struct str w = str_skip(t, width + 7);
		while (end < w.len && w.ptr[end] >= '0' && w.ptr[end] <= '9')
			end++;
		if (str_to_int(str_slice(w, 0, end), &lanes) == 0 && lanes > 0 && lanes <= 32)
			fill_int(d, most ? pci_device__link_width_max : pci_device__link_width,
				most ? gpu__link_width_max : gpu__link_width, lanes, origin);
	}
	if (speed != SIZE_MAX && str_to_real(str_slice(t, speed + 6, str_find(t, "GT/s", speed)), &rate) == 0) {
		read_fill_real(d->row, most ? pci_device__link_speed_max_gts : pci_device__link_speed_gts, rate, origin);
		if (d->gpu)
			read_fill_real(d->gpu, most ? gpu__link_speed_max_gts : gpu__link_speed_gts, rate, origin);
	}
}

static void detail_line(struct device *d, struct str t, const char *origin)
{
	struct str key, value;
	int64_t n;
	if (!d->row || !str_split(t, ':', &key, &value))
		return;
	if (str_is(key, "Bus")) {
		d->secondary = hex_field(value, "secondary=");
		d->subordinate = hex_field(value, "subordinate=");
	} else if (str_is(key, "LnkCap")) {
		link_line(d, value, true, origin);
	} else if (str_is(key, "LnkSta")) {
		link_line(d, value, false, origin);
	} else if (str_is(key, "NUMA node") && str_to_int(str_slice(value, 0, str_find_char(value, ',', 0)), &n) == 0 && n >= 0) {
		fill_int(d, pci_device__numa_node, gpu__numa_node, n, origin);
	} else if (str_is(key, "IOMMU group") && str_to_int(value, &n) == 0) {
		read_fill_int(d->row, pci_device__iommu_group, n, origin);
	} else if (str_is(key, "Kernel driver in use")) {
		read_fill_str(d->row, pci_device__driver, value, origin);
		if (d->gpu)
			read_fill_str(d->gpu, gpu__driver, value, origin);
	} else if (str_is(key, "ACSCtl")) {
		d->redirect = str_has(value, "ReqRedir+");
		read_fill_bool(d->row, pci_device__acs_redirect, d->redirect, origin);
	}
}

static void add_device(struct tree *t, struct facts *f, struct str address, struct str class, struct str name, const char *origin)
{
	const char *kind = kind_of(class, name);
	struct device *d = &t->device[t->count++];
	uint64_t domain = 0, bus = 0;
	struct str rest = address, field;
	*d = (struct device){.secondary = -1, .subordinate = -1};
	if (str_next_field(&rest, ':', &field) && str_to_hex(field, &domain) == 0 && str_next_field(&rest, ':', &field) &&
		str_to_hex(field, &bus) == 0) {
		d->domain = (int64_t)domain;
		d->bus = (int64_t)bus;
	}
	if (!kind)
		return;
	d->row = read_pci_device(f, address);
	d->bridge = strcmp(kind, "bridge") == 0;
	read_fill_str(d->row, pci_device__kind, str_of(kind), origin);
	ids(d->row, name, origin);
	if (strcmp(kind, "gpu") == 0)
		d->gpu = gpu_of(t, f, address, name, origin);
}

/* -- who sits below one switch ------------------------------------------------------------------------------------------------- */

static size_t bridges_above(const struct tree *t, const struct device *d, const struct device **ret)
{
	size_t n = 0;
	for (size_t i = 0; i < t->count && n < BRIDGES_MAX; i++) {
		const struct device *b = &t->device[i];
		if (b->bridge && b->domain == d->domain && b->secondary >= 0 && b->secondary <= d->bus && d->bus <= b->subordinate)
			ret[n++] = b;
	}
	return n;
}

static bool is_among(const struct device *d, const struct device *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == d)
			return true;
	return false;
}

/* Bridges of a that are not b's; true in *ret_redirect when one of them sends requests upstream. */
static size_t own_bridges(const struct device *const *a, size_t an, const struct device *const *b, size_t bn, bool *ret_redirect)
{
	size_t own = 0;
	for (size_t i = 0; i < an; i++)
		if (!is_among(a[i], b, bn)) {
			own++;
			*ret_redirect |= a[i]->redirect;
		}
	return own;
}

static void take_pair(const struct tree *t, struct facts *f, const struct device *a, const struct device *b)
{
	const struct device *above_a[BRIDGES_MAX], *above_b[BRIDGES_MAX];
	size_t an = bridges_above(t, a, above_a), bn = bridges_above(t, b, above_b);
	bool redirect = false;
	size_t own_a = own_bridges(above_a, an, above_b, bn, &redirect), own_b = own_bridges(above_b, bn, above_a, an, &redirect);
	int64_t x, y;
	if (own_a == an || !facts_get_int(a->gpu, gpu__index, &x) || !facts_get_int(b->gpu, gpu__index, &y))
		return; /* nothing in common but the root */
	struct facts_row *pair = read_pair(f, x, y);
	const char *origin = facts_value(a->gpu, gpu__pci_address)->origin;
	read_fill_str(pair, gpu_pair__path, own_a + own_b <= 2 ? STR("PIX") : STR("PXB"), origin);
	read_fill_bool(pair, gpu_pair__acs_redirect, redirect, origin);
}

static void take_pairs(const struct tree *t, struct facts *f)
{
	int budget = 2000;
	for (size_t i = 0; i < t->count; i++)
		for (size_t k = i + 1; t->device[i].gpu && k < t->count; k++)
			if (t->device[k].gpu && budget-- > 0)
				take_pair(t, f, &t->device[i], &t->device[k]);
}

static size_t read_lspci(const struct read_input *in, struct facts *f)
{
	struct tree t = {.device = arena_array(f->arena, DEVICES_MAX, sizeof *t.device)};
	struct str address, class, name, command;
	size_t i = 0;
	int strange = 0;
	if (!device_line(f, str_trim(in->line[0].text), &address, &class, &name))
		return 0;
	for (; i < in->count && strange < 3; i++) {
		struct str line = in->line[i].text, trimmed = str_trim(line);
		if (i && read_prompt(line, &command))
			break;
		if (device_line(f, trimmed, &address, &class, &name)) {
			if (t.count == DEVICES_MAX)
				break;
			add_device(&t, f, address, class, name, read_origin(f, in, i));
			strange = 0;
		} else if (t.count) {
			bool known = !trimmed.len || line.ptr[0] == '\t' || line.ptr[0] == ' ' || str_has(trimmed, ": ");
			strange = known ? 0 : strange + 1;
			detail_line(&t.device[t.count - 1], trimmed, read_origin(f, in, i));
		}
	}
	take_pairs(&t, f);
	return i;
}

static const char *const lspci_triggers[] = {"3D controller", "VGA compatible controller", "Display controller", "PCI bridge",
	"Infiniband controller", "InfiniBand controller", "Processing accelerators", "Host bridge", NULL};
const struct reader read_lspci_reader = {"lspci", lspci_triggers, read_lspci};
