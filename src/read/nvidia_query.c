/* nvidia-smi -q, also with -d, of all releases: "Attribute : value" below headings; driver 610 and later write KMD Version and CUDA UMD
 * Version. nvidia-smi -q -x: the same as XML. */
#include "read/fill.h"
#include "read/read.h"

/* Where the lines stand: the GPU, the heading that has subjects of its own (ECC Errors, Retired Pages, ...) and the one below it. */
struct place {
	struct facts_row *gpu;
	const char *section, *part;
	int64_t index;
	bool slice; /* inside a MIG device, whose values are not the GPU's */
	struct buf throttle;
	bool throttle_seen;
	int64_t ecc, pages, rows;
	bool ecc_seen, pages_seen, rows_seen, pending, pending_seen, fabric_failed;
	const char *origin;
};

/* What was added up over several lines of one GPU. */
static void close_gpu(struct place *p)
{
	if (!p->gpu)
		return;
	if (p->ecc_seen)
		read_fill_int(p->gpu, gpu__ecc_uncorrected, p->ecc, p->origin);
	if (p->pages_seen || p->rows_seen)
		read_fill_int(p->gpu, gpu__retired_pages, p->pages + p->rows, p->origin);
	if (p->pending_seen)
		read_fill_bool(p->gpu, gpu__remap_pending, p->pending, p->origin);
	if (p->throttle_seen)
		facts_str(p->gpu, gpu__throttle, p->throttle.len ? buf_view(&p->throttle) : str_n("", 0), p->origin);
	if (p->fabric_failed)
		facts_text(p->gpu, gpu__fabric_state, "failed", p->origin);
}

static void open_gpu(struct place *p, struct facts *f, struct str address, const char *origin)
{
	close_gpu(p);
	int64_t index = p->index + 1;
	buf_reset(&p->throttle);
	*p = (struct place){.index = index, .throttle = p->throttle, .section = "", .part = "", .origin = origin};
	address = read_pci_address(f, address);
	p->gpu = read_gpu_at(f, address, "nvidia");
	if (!p->gpu)
		p->gpu = read_gpu(f, index, "nvidia");
	read_fill_str(p->gpu, gpu__pci_address, address, origin);
}

static void heading(struct place *p, struct facts *f, struct str t)
{
	static const char *const sections[] = {"MIG Mode", "GPU Link Info", "Clocks Throttle Reasons", "Clocks Event Reasons",
		"FB Memory Usage", "BAR1 Memory Usage", "Conf Compute Protected Memory Usage", "ECC Mode", "Ecc Mode", "ECC Errors",
		"Ecc Errors", "Retired Pages", "Remapped Rows", "Temperature", "Fabric", "Utilization", "Clocks", "Max Clocks",
		"Applications Clocks", "GPU Power Readings", "Power Readings", "Driver Model", "Inforom Version", "Processes", "PCI", NULL};
	if (!t.len || t.len > 60)
		return;
	if (str_starts(t, "MIG Device"))
		p->slice = true;
	for (size_t i = 0; sections[i]; i++)
		if (str_is(t, sections[i])) {
			p->section = sections[i];
			p->part = "";
			return;
		}
	p->part = str_dup(f->arena, t);
}

static bool in_section(const struct place *p, const char *section)
{
	return strcmp(p->section, section) == 0;
}

static void throttle(struct place *p, struct str key, struct str value)
{
	static const struct {
		const char *key, *name;
	} reasons[] = {{"HW Thermal Slowdown", "hardware thermal slowdown"}, {"HW Power Brake Slowdown", "power brake"},
		{"SW Thermal Slowdown", "software thermal slowdown"}, {"HW Slowdown", "hardware slowdown"}};
	for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
		if (!str_is(key, reasons[i].key))
			continue;
		p->throttle_seen = true;
		if (!str_is(value, "Active"))
			return;
		if (p->throttle.len)
			buf_text(&p->throttle, ", ");
		buf_text(&p->throttle, reasons[i].name);
	}
}

/* "16x", "N/A" */
static void link_value(struct place *p, struct str key, struct str value, const char *origin)
{
	static const double speeds[] = {0, 2.5, 5, 8, 16, 32, 64, 128};
	bool width = strcmp(p->part, "Link Width") == 0, generation = strcmp(p->part, "PCIe Generation") == 0;
	int64_t n;
	if (str_ends(value, "x"))
		value.len--;
	if ((!width && !generation) || str_to_int(value, &n) < 0 || n < 1 || n > 32 || (generation && n > 7))
		return;
	if (str_is(key, "Current") && width)
		read_fill_int(p->gpu, gpu__link_width, n, origin);
	else if (str_is(key, "Max") && width)
		read_fill_int(p->gpu, gpu__link_width_max, n, origin);
	else if (str_is(key, "Current"))
		read_fill_real(p->gpu, gpu__link_speed_gts, speeds[n], origin);
	else if (str_is(key, "Max"))
		read_fill_real(p->gpu, gpu__link_speed_max_gts, speeds[n], origin);
}

static void errors(struct place *p, struct str key, struct str value)
{
	int64_t n = 0;
	bool number = str_to_int(value, &n) == 0 && n >= 0 && n < 1000000000, yes = str_is(value, "Yes"), no = str_is(value, "No");
	bool ecc = in_section(p, "ECC Errors") || in_section(p, "Ecc Errors");
	/* Volatile: SRAM Uncorrectable (Parity, SEC-DED), DRAM Uncorrectable; before Ampere: Volatile, Double Bit, Total. */
	if (str_starts(key, "Aggregate"))
		p->part = "Aggregate";
	if (ecc && number &&
		((strcmp(p->part, "Volatile") == 0 && str_has(key, "Uncorrectable")) ||
			(strcmp(p->part, "Double Bit") == 0 && str_is(key, "Total") && !p->ecc_seen))) {
		p->ecc += n;
		p->ecc_seen = true;
	}
	if (in_section(p, "Retired Pages") && str_starts(key, "Double Bit ECC") && number) {
		p->pages = n;
		p->pages_seen = true;
	}
	if (in_section(p, "Remapped Rows") && str_starts(key, "Uncorrectable Error") && number) {
		p->rows = n;
		p->rows_seen = true;
	}
	if ((in_section(p, "Retired Pages") && str_starts(key, "Pending")) ||
		(in_section(p, "Remapped Rows") && (str_is(key, "Pending") || str_starts(key, "Remapping Failure")))) {
		p->pending_seen |= yes || no;
		p->pending |= yes;
	}
}

static void fabric(struct place *p, struct facts *f, struct str key, struct str value, const char *origin)
{
	if (str_is(key, "Status") && facts_get_text(p->gpu, gpu__fabric_state) && !str_is(value, "Success") && !str_is(value, "N/A") &&
		value.len)
		p->fabric_failed = strcmp(facts_get_text(p->gpu, gpu__fabric_state), "completed") == 0;
	if (!str_is(key, "State") || str_is(value, "N/A") || str_is_nocase(value, "Not Supported"))
		return;
	char *state = str_dup(f->arena, value);
	for (char *c = state; *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
	read_fill_str(p->gpu, gpu__fabric_state, str_of(state), origin);
}

/* "0x233010DE" names the product better than any marketing name. */
static void device_id(struct place *p, struct facts *f, struct str value, const char *origin)
{
	const char *address = facts_get_text(p->gpu, gpu__pci_address);
	uint64_t id;
	if (!address || str_to_hex(value, &id) < 0 || (id & 0xffff) != 0x10de)
		return;
	struct facts_row *row = read_pci_device(f, str_of(address));
	read_fill_str(row, pci_device__kind, STR("gpu"), origin);
	read_fill_str(row, pci_device__vendor, STR("10de"), origin);
	read_fill_str(row, pci_device__device, str_of(arena_printf(f->arena, "%04x", (unsigned)(id >> 16 & 0xffff))), origin);
}

static void gpu_value(struct place *p, struct facts *f, struct str key, struct str value, const char *origin)
{
	static const struct {
		const char *key;
		enum facts_column column;
	} texts[] = {{"Product Name", gpu__name}, {"GPU UUID", gpu__uuid}, {"VBIOS Version", gpu__firmware}};
	int64_t n;
	for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
		if (str_is(key, texts[k].key) && !str_is(value, "N/A")) {
			read_fill_str(p->gpu, texts[k].column, value, origin);
			p->slice = false;
		}
	if (str_is(key, "Accounting Mode") || str_is(key, "Serial Number") || str_is(key, "Minor Number"))
		p->slice = false;
	if (p->slice)
		return;
	if (str_is(key, "Compute Mode"))
		read_fill_str(p->gpu, gpu__compute_mode,
			str_is(value, "Exclusive_Process")    ? STR("exclusive-process")
				: str_is(value, "Prohibited") ? STR("prohibited")
							      : STR("default"),
			origin);
	else if (str_is(key, "Persistence Mode"))
		read_fill_bool(p->gpu, gpu__persistence, str_is(value, "Enabled"), origin);
	else if (str_is(key, "Device Id"))
		device_id(p, f, value, origin);
	else if (str_is(key, "GPU Current Temp") && str_to_int(str_slice(value, 0, str_find_char(value, ' ', 0)), &n) == 0 && n > 0 &&
		n < 150)
		read_fill_int(p->gpu, gpu__temperature_c, n, origin);
	else if (in_section(p, "MIG Mode") && str_is(key, "Current"))
		read_fill_bool(p->gpu, gpu__mig_mode, str_is(value, "Enabled"), origin);
	else if (in_section(p, "FB Memory Usage") && str_is(key, "Total") && read_size(value, 1, &n))
		read_fill_int(p->gpu, gpu__memory_bytes, n, origin);
	else if (in_section(p, "FB Memory Usage") && str_is(key, "Used") && read_size(value, 1, &n))
		read_fill_int(p->gpu, gpu__memory_used_bytes, n, origin);
	else if (in_section(p, "GPU Link Info"))
		link_value(p, key, value, origin);
	else if (in_section(p, "Fabric"))
		fabric(p, f, key, value, origin);
	else if (in_section(p, "Clocks Throttle Reasons") || in_section(p, "Clocks Event Reasons"))
		throttle(p, key, value);
	else
		errors(p, key, value);
}

static void driver_value(struct facts *f, struct str key, struct str value, const char *origin)
{
	struct facts_row *driver;
	if (!read_is_version(value))
		return;
	driver = read_driver(f, "nvidia");
	if (str_is(key, "CUDA Version") || str_is(key, "CUDA UMD Version")) {
		read_fill_str(driver, driver__cuda_version, value, origin);
	} else {
		read_fill_str(driver, driver__version, value, origin);
		read_fill_bool(driver, driver__loaded, true, origin);
	}
}

static size_t read_query(const struct read_input *in, struct facts *f)
{
	struct place p = {.index = -1, .section = "", .part = "", .throttle = BUF_MAX(256)};
	size_t i = 0;
	int empty = 0;
	for (; i < in->count; i++) {
		struct str line = in->line[i].text, t = str_trim(line), key, value, command;
		const char *origin;
		empty = t.len ? 0 : empty + 1;
		if (read_prompt(line, &command) || empty > 3)
			break;
		if (str_starts(t, "GPU ") && str_has(t, ":") && str_has(t, ".") && !str_has(t, " : ")) {
			open_gpu(&p, f, str_skip(t, 4), read_origin(f, in, i));
			continue;
		}
		if (!str_has(t, " : ")) {
			heading(&p, f, t);
			continue;
		}
		if (!str_split(t, ':', &key, &value))
			continue;
		origin = read_origin(f, in, i);
		if (str_is(key, "Driver Version") || str_is(key, "KMD Version") || str_is(key, "CUDA Version") ||
			str_is(key, "CUDA UMD Version"))
			driver_value(f, key, value, origin);
		else if (p.gpu)
			gpu_value(&p, f, key, value, origin);
	}
	close_gpu(&p);
	buf_free(&p.throttle);
	return i;
}

/* -- XML ----------------------------------------------------------------------------------------------------------------------------- */

#define XML_DEPTH 16

/* What an element is called in the other form. parent NULL: wherever it stands. */
static const struct {
	const char *parent, *tag, *section, *part, *key;
} elements[] = {
	{NULL, "product_name", "", "", "Product Name"},
	{NULL, "uuid", "", "", "GPU UUID"},
	{NULL, "vbios_version", "", "", "VBIOS Version"},
	{NULL, "persistence_mode", "", "", "Persistence Mode"},
	{NULL, "compute_mode", "", "", "Compute Mode"},
	{NULL, "pci_device_id", "PCI", "", "Device Id"},
	{NULL, "gpu_temp", "Temperature", "", "GPU Current Temp"},
	{NULL, "current_mig", "MIG Mode", "", "Current"},
	{"fb_memory_usage", "total", "FB Memory Usage", "", "Total"},
	{"fb_memory_usage", "used", "FB Memory Usage", "", "Used"},
	{"pcie_gen", "max_link_gen", "GPU Link Info", "PCIe Generation", "Max"},
	{"pcie_gen", "current_link_gen", "GPU Link Info", "PCIe Generation", "Current"},
	{"link_widths", "max_link_width", "GPU Link Info", "Link Width", "Max"},
	{"link_widths", "current_link_width", "GPU Link Info", "Link Width", "Current"},
	{"fabric", "state", "Fabric", "", "State"},
	{"fabric", "status", "Fabric", "", "Status"},
	{"volatile", "sram_uncorrectable", "ECC Errors", "Volatile", "SRAM Uncorrectable"},
	{"volatile", "sram_uncorrectable_parity", "ECC Errors", "Volatile", "SRAM Uncorrectable Parity"},
	{"volatile", "sram_uncorrectable_secded", "ECC Errors", "Volatile", "SRAM Uncorrectable SEC-DED"},
	{"volatile", "dram_uncorrectable", "ECC Errors", "Volatile", "DRAM Uncorrectable"},
	{"volatile double_bit", "total", "ECC Errors", "Double Bit", "Total"},
	{"double_bit_retirement", "retired_count", "Retired Pages", "", "Double Bit ECC"},
	{"retired_pages", "pending_retirement", "Retired Pages", "", "Pending"},
	{"remapped_rows", "remapped_row_unc", "Remapped Rows", "", "Uncorrectable Error"},
	{"remapped_rows", "remapped_row_pending", "Remapped Rows", "", "Pending"},
	{"remapped_rows", "remapped_row_failure", "Remapped Rows", "", "Remapping Failure Occurred"},
};

/* "clocks_event_reason_hw_slowdown", before driver 535 "clocks_throttle_reason_hw_slowdown" */
static const struct {
	const char *end, *key;
} reasons_of_xml[] = {{"_reason_hw_thermal_slowdown", "HW Thermal Slowdown"},
	{"_reason_hw_power_brake_slowdown", "HW Power Brake Slowdown"}, {"_reason_sw_thermal_slowdown", "SW Thermal Slowdown"},
	{"_reason_hw_slowdown", "HW Slowdown"}};

struct xml {
	struct place place;
	struct str open[XML_DEPTH];
	size_t depth;
};

static bool is_open(const struct xml *x, size_t up, struct str name)
{
	return x->depth > up && str_eq(x->open[x->depth - 1 - up], name);
}

/* "volatile double_bit": the second stands inside the first. */
static bool is_inside(const struct xml *x, const char *parents)
{
	struct str outer, inner = str_of(parents);
	if (!parents || !str_split(str_of(parents), ' ', &outer, &inner))
		return !parents || is_open(x, 0, str_of(parents));
	return is_open(x, 0, inner) && is_open(x, 1, outer);
}

static void element(struct xml *x, struct facts *f, struct str tag, struct str value, const char *origin)
{
	struct place *p = &x->place;
	if (str_is(tag, "driver_version") || str_is(tag, "kmd_version")) {
		driver_value(f, STR("Driver Version"), value, origin);
		return;
	}
	if (str_is(tag, "cuda_version") || str_is(tag, "cuda_umd_version")) {
		driver_value(f, STR("CUDA Version"), value, origin);
		return;
	}
	for (size_t i = 0; p->gpu && !p->slice && i < sizeof elements / sizeof elements[0]; i++) {
		if (!str_is(tag, elements[i].tag) || !is_inside(x, elements[i].parent))
			continue;
		p->section = elements[i].section;
		p->part = elements[i].part;
		gpu_value(p, f, str_of(elements[i].key), value, origin);
		return;
	}
	for (size_t i = 0; p->gpu && i < sizeof reasons_of_xml / sizeof reasons_of_xml[0]; i++)
		if (str_ends(tag, reasons_of_xml[i].end))
			throttle(p, str_of(reasons_of_xml[i].key), value);
}

/* "<tag>value</tag>", "<tag>", "</tag>", "<gpu id="00000000:18:00.0">". False at the end of the log. */
static bool xml_line(struct xml *x, struct facts *f, struct str t, const char *origin)
{
	size_t end = str_find_char(t, '>', 0);
	if (t.len < 3 || t.ptr[0] != '<' || end == SIZE_MAX || t.ptr[1] == '?' || t.ptr[1] == '!' || t.ptr[end - 1] == '/')
		return true;
	struct str tag = str_slice(t, 1, end), rest = str_skip(t, end + 1);
	if (tag.ptr[0] == '/') {
		if (str_is(tag, "/mig_device"))
			x->place.slice = false;
		x->depth -= x->depth > 0;
		return !str_is(tag, "/nvidia_smi_log");
	}
	size_t close = str_find(rest, "</", 0);
	if (close != SIZE_MAX) {
		element(x, f, tag, str_trim(str_slice(rest, 0, close)), origin);
		return true;
	}
	struct str name = str_slice(tag, 0, str_find_char(tag, ' ', 0));
	if (str_starts(tag, "gpu id=\""))
		open_gpu(&x->place, f, str_slice(tag, 8, str_find_char(tag, '"', 8)), origin);
	else if (str_is(tag, "mig_device"))
		x->place.slice = true;
	if (x->depth < XML_DEPTH)
		x->open[x->depth++] = name;
	return true;
}

static size_t read_query_xml(const struct read_input *in, struct facts *f)
{
	struct xml x = {.place = {.index = -1, .section = "", .part = "", .throttle = BUF_MAX(256)}};
	size_t i = 0;
	while (i < in->count && xml_line(&x, f, str_trim(in->line[i].text), read_origin(f, in, i)))
		i++;
	close_gpu(&x.place);
	buf_free(&x.place.throttle);
	return i;
}

static const char *const query_triggers[] = {"NVSMI LOG", NULL};
const struct reader read_nvidia_smi_query = {"nvidia-smi -q", query_triggers, read_query};
static const char *const xml_triggers[] = {"<nvidia_smi_log>", NULL};
const struct reader read_nvidia_smi_xml = {"nvidia-smi -q -x", xml_triggers, read_query_xml};
