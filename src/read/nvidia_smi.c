/* nvidia-smi: the table (old, wide and that of driver 610 and later), -L, nvlink -s, --query-gpu with csv; /proc/driver/nvidia/version. -q:
 * nvidia_query.c. */
#include "read/fill.h"
#include "read/read.h"

/* The text between a label and the next '|' or run of two blanks. */
static struct str after_label(struct str line, const char *label)
{
	size_t at = str_find(line, label, 0);
	if (at == SIZE_MAX)
		return str_n("", 0);
	struct str rest = str_trim(str_skip(line, at + strlen(label)));
	size_t end = str_find(rest, "  ", 0), bar = str_find_char(rest, '|', 0);
	if (bar < end)
		end = bar;
	return str_trim(str_slice(rest, 0, end));
}

static void head_line(const struct read_input *in, struct facts *f, size_t i)
{
	struct str line = in->line[i].text;
	const char *origin = read_origin(f, in, i);
	struct str version = after_label(line, "Driver Version:");
	if (!version.len)
		version = after_label(line, "KMD Version:");
	if (!version.len)
		version = after_label(line, "Driver version:");
	struct facts_row *driver = read_driver(f, "nvidia");
	if (read_is_version(version)) {
		read_fill_str(driver, driver__version, version, origin);
		read_fill_bool(driver, driver__loaded, true, origin);
	}
	struct str cuda = after_label(line, "CUDA Version:");
	if (!cuda.len)
		cuda = after_label(line, "CUDA UMD Version:");
	if (read_is_version(cuda))
		read_fill_str(driver, driver__cuda_version, cuda, origin);
	struct str user = after_label(line, "NVIDIA-SMI");
	user = str_slice(user, 0, str_find_char(user, ' ', 0));
	if (read_is_version(user))
		read_fill_str(driver, driver__nvml_version, user, origin);
}

/* "|   0  NVIDIA GeForce RTX 4090       On  | 00000000:17:00.0 Off |                  N/A |" */
static bool gpu_line(const struct read_input *in, struct facts *f, size_t i, struct facts_row **ret)
{
	struct str line = str_trim(in->line[i].text), cell, word;
	const char *origin = read_origin(f, in, i);
	int64_t index;
	if (!str_starts(line, "|"))
		return false;
	struct str rest = str_skip(line, 1);
	if (!str_next_field(&rest, '|', &cell) || !rest.ptr)
		return false;
	struct str bus_cell;
	if (!str_next_field(&rest, '|', &bus_cell) || !str_has(bus_cell, ":") || !str_has(bus_cell, "."))
		return false;
	cell = str_trim(cell);
	if (!str_next_word(&cell, &word) || str_to_int(word, &index) < 0 || index < 0 || index > 1023)
		return false;
	struct str name = str_trim(cell);
	size_t gap = str_find(name, "  ", 0);
	struct str persistence = gap == SIZE_MAX ? str_n("", 0) : str_trim(str_skip(name, gap));
	name = str_trim(str_slice(name, 0, gap));
	static const char *const tails[] = {" On", " Off", " TCC", " WDDM", " MCDM"};
	for (size_t k = 0; k < sizeof tails / sizeof tails[0]; k++)
		if (str_ends(name, tails[k]))
			name.len -= strlen(tails[k]);
	struct facts_row *row = read_gpu(f, index, "nvidia");
	read_fill_str(row, gpu__name, str_trim(name), origin);
	if (str_next_word(&bus_cell, &word))
		read_fill_str(row, gpu__pci_address, read_pci_address(f, word), origin);
	if (persistence.len)
		read_fill_bool(row, gpu__persistence, str_starts(persistence, "On"), origin);
	struct str ecc;
	int64_t errors;
	if (str_next_field(&rest, '|', &ecc) && str_to_int(str_trim(ecc), &errors) == 0)
		read_fill_int(row, gpu__ecc_uncorrected, errors, origin);
	*ret = row;
	return true;
}

/* "34C" among the words of a cell. */
static void temperature(struct facts_row *row, struct str cell, const char *origin)
{
	struct str word;
	int64_t n;
	while (str_next_word(&cell, &word))
		if (word.len > 1 && word.ptr[word.len - 1] == 'C' && str_to_int(str_slice(word, 0, word.len - 1), &n) == 0 && n > 0 &&
			n < 150) {
			read_fill_int(row, gpu__temperature_c, n, origin);
			return;
		}
}

/* "| N/A   34C    P0   70W / 400W |  12MiB / 24564MiB |  0%  Default |" */
static void gpu_second_line(const struct read_input *in, struct facts *f, size_t i, struct facts_row *row)
{
	struct str line = in->line[i].text;
	const char *origin = read_origin(f, in, i);
	size_t mib = str_find(line, "MiB /", 0);
	temperature(row, str_slice(line, 1, str_find_char(line, '|', 1)), origin);
	if (mib != SIZE_MAX) {
		size_t start = mib;
		while (start && line.ptr[start - 1] >= '0' && line.ptr[start - 1] <= '9')
			start--;
		int64_t used, total;
		struct str right = str_trim(str_skip(line, mib + 5));
		if (str_to_int(str_slice(line, start, mib), &used) == 0)
			read_fill_int(row, gpu__memory_used_bytes, used << 20, origin);
		if (str_to_int(str_slice(right, 0, str_find(right, "MiB", 0)), &total) == 0)
			read_fill_int(row, gpu__memory_bytes, total << 20, origin);
	}
	if (str_has(line, "E. Process") || str_has(line, "Exclusive_Process"))
		read_fill_str(row, gpu__compute_mode, STR("exclusive-process"), origin);
	else if (str_has(line, "Prohibited"))
		read_fill_str(row, gpu__compute_mode, STR("prohibited"), origin);
	else if (str_has(line, " Default "))
		read_fill_str(row, gpu__compute_mode, STR("default"), origin);
	if (str_has(line, "ERR!"))
		read_fill_bool(row, gpu__lost, true, origin);
}

/* "|                               |                      |             Disabled |" */
static void gpu_third_line(struct str line, struct facts_row *row, const char *origin)
{
	size_t bar = line.len > 1 ? str_rfind_char(str_slice(line, 0, line.len - 1), '|') : SIZE_MAX;
	if (bar == SIZE_MAX)
		return;
	struct str word = str_trim(str_slice(line, bar + 1, line.len - 1));
	if (str_is(word, "Enabled") || str_is(word, "Enabled*") || str_is(word, "Disabled") || str_is(word, "Disabled*"))
		read_fill_bool(row, gpu__mig_mode, str_starts(word, "E"), origin);
}

static size_t read_table(const struct read_input *in, struct facts *f)
{
	struct facts_row *gpu = NULL, *last = NULL;
	size_t i = 0;
	if (!str_has(in->line[0].text, "Version") && !str_has(in->line[0].text, "version"))
		return 0;
	head_line(in, f, 0);
	facts_table_read(f, TABLE_gpu);
	int blank = 0;
	for (i = 1; i < in->count && i < 600; i++) {
		struct str line = str_trim(in->line[i].text), command;
		if (!line.len && ++blank > 3)
			break;
		if (line.len && line.ptr[0] != '|' && line.ptr[0] != '+' && !(line.ptr[0] >= '0' && line.ptr[0] <= '9') &&
			!str_starts(line, "Mon") && !str_starts(line, "CUDA")) {
			if (read_prompt(line, &command) || line.ptr[0] != '=')
				break;
		}
		if (str_has(line, "Processes:"))
			gpu = NULL;
		if (gpu && str_starts(line, "|") && (str_has(line, "MiB") || str_has(line, "%") || str_has(line, "ERR!"))) {
			gpu_second_line(in, f, i, gpu);
			last = gpu;
			gpu = NULL;
			continue;
		}
		if (last && str_starts(line, "|"))
			gpu_third_line(line, last, read_origin(f, in, i));
		last = NULL;
		if (str_has(line, "Version:"))
			head_line(in, f, i);
		struct facts_row *found;
		if (gpu_line(in, f, i, &found))
			gpu = found;
	}
	return i;
}

#define LISTED_MAX 64

/* nvidia-smi nvlink -s: the links of each GPU that was listed. */
struct links {
	struct {
		struct facts_row *gpu;
		int64_t up, down;
		const char *origin;
	} of[LISTED_MAX];
	size_t count;
};

/* "Link 3: 25 GB/s", "Link 3: <inactive>" */
static bool count_link(struct links *l, struct facts_row *gpu, struct str line, const char *origin)
{
	size_t colon = str_find_char(line, ':', 0);
	int64_t n;
	if (!str_starts(line, "Link ") || colon == SIZE_MAX || str_to_int(str_trim(str_slice(line, 5, colon)), &n) < 0)
		return false;
	struct str state = str_trim(str_skip(line, colon + 1));
	bool down = str_has(state, "inactive") || str_has(state, "Disabled"), up = str_ends(state, "GB/s");
	if (!gpu || (!up && !down))
		return true;
	if (!l->count || l->of[l->count - 1].gpu != gpu) {
		if (l->count == LISTED_MAX)
			return true;
		l->of[l->count].gpu = gpu;
		l->of[l->count].up = l->of[l->count].down = 0;
		l->of[l->count++].origin = origin;
	}
	*(up ? &l->of[l->count - 1].up : &l->of[l->count - 1].down) += 1;
	return true;
}

/* On SXM modules every link leads somewhere; of cards with connectors only what another GPU of the host has up can be missed. */
static void fill_links(const struct links *l)
{
	int64_t most = 0;
	for (size_t i = 0; i < l->count; i++)
		most = l->of[i].up > most ? l->of[i].up : most;
	for (size_t i = 0; i < l->count; i++) {
		const char *name = facts_get_text(l->of[i].gpu, gpu__name);
		bool module = name && (strstr(name, "SXM") || strstr(name, "HBM3") || strstr(name, "B200") || strstr(name, "H200"));
		read_fill_int(l->of[i].gpu, gpu__nvlinks_active, l->of[i].up, l->of[i].origin);
		if (l->of[i].up)
			read_fill_int(l->of[i].gpu, gpu__nvlinks_inactive, module ? l->of[i].down : most - l->of[i].up, l->of[i].origin);
		else
			facts_gap(l->of[i].gpu, gpu__nvlinks_inactive, GAP_ABSENT, l->of[i].origin, "no link is up: no bridge is fitted");
	}
}

/* "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-...)"; collect_env has the same lines without the UUID. */
static size_t read_list(const struct read_input *in, struct facts *f)
{
	size_t i = 0;
	struct facts_row *parent = NULL;
	struct links links = {.count = 0};
	for (; i < in->count && i < 4096; i++) {
		struct str line = str_trim(in->line[i].text);
		if (parent && count_link(&links, parent, line, read_origin(f, in, i)))
			continue;
		size_t at = str_find(line, "GPU ", 0), colon = str_find_char(line, ':', 0);
		if (parent && str_starts(line, "MIG ")) {
			read_fill_bool(parent, gpu__mig_mode, true, read_origin(f, in, i));
			read_fill_str(parent, gpu__mig_device, str_slice(line, 4, colon), read_origin(f, in, i));
			continue;
		}
		int64_t index;
		if (at == SIZE_MAX || colon == SIZE_MAX || colon < at || (at != 0 && i > 0))
			break;
		struct str number = str_trim(str_slice(line, at + 4, colon));
		if (str_to_int(number, &index) < 0 || index > 1023)
			break;
		struct str name = str_trim(str_skip(line, colon + 1));
		size_t uuid = str_find(name, "(UUID:", 0);
		const char *origin = read_origin(f, in, i);
		struct facts_row *row;
		if (!name.len || str_has(name, "Unable") || str_has(name, "error"))
			break;
		row = parent = read_gpu(f, index, "nvidia");
		read_fill_str(row, gpu__name, str_trim(str_slice(name, 0, uuid)), origin);
		if (uuid != SIZE_MAX)
			read_fill_str(row, gpu__uuid, str_trim(str_slice(name, uuid + 6, str_find_char(name, ')', uuid))), origin);
	}
	fill_links(&links);
	return i;
}

/* --query-gpu=a,b --format=csv: a heading of field names, then a line for each GPU. */
static void csv_value(struct facts *f, struct facts_row *gpu, struct str field, struct str value, const char *origin)
{
	int64_t n;
	size_t unit = str_find_char(field, '[', 0);
	field = str_trim(str_slice(field, 0, unit));
	if (str_is(value, "N/A") || str_is(value, "[N/A]") || !value.len)
		return;
	if (str_is(field, "name") || str_is(field, "gpu_name"))
		read_fill_str(gpu, gpu__name, value, origin);
	else if (str_is(field, "uuid") || str_is(field, "gpu_uuid"))
		read_fill_str(gpu, gpu__uuid, value, origin);
	else if (str_is(field, "pci.bus_id"))
		read_fill_str(gpu, gpu__pci_address, read_pci_address(f, value), origin);
	else if (str_is(field, "compute_cap"))
		read_fill_str(gpu, gpu__compute_capability, value, origin);
	else if (str_is(field, "driver_version") && read_is_version(value))
		read_fill_str(read_driver(f, "nvidia"), driver__version, value, origin);
	else if (str_is(field, "compute_mode"))
		read_fill_str(gpu, gpu__compute_mode,
			str_is(value, "Exclusive_Process")    ? STR("exclusive-process")
				: str_is(value, "Prohibited") ? STR("prohibited")
							      : STR("default"),
			origin);
	else if (str_is(field, "memory.total") && read_size(value, 1 << 20, &n))
		read_fill_int(gpu, gpu__memory_bytes, n, origin);
	else if (str_is(field, "mig.mode.current"))
		read_fill_bool(gpu, gpu__mig_mode, str_is(value, "Enabled"), origin);
	else if (str_is(field, "ecc.errors.uncorrected.volatile.total") && str_to_int(value, &n) == 0)
		read_fill_int(gpu, gpu__ecc_uncorrected, n, origin);
	else if (str_is(field, "pcie.link.width.current") && str_to_int(value, &n) == 0)
		read_fill_int(gpu, gpu__link_width, n, origin);
	else if (str_is(field, "pcie.link.width.max") && str_to_int(value, &n) == 0)
		read_fill_int(gpu, gpu__link_width_max, n, origin);
}

static size_t read_csv(const struct read_input *in, struct facts *f)
{
	struct str fields = in->line[0].text, command;
	size_t option = str_find(fields, "--query-gpu=", 0), i = 1;
	bool typed = option != SIZE_MAX;
	if (typed) {
		fields = str_skip(fields, option + 12);
		fields = str_slice(fields, 0, str_find_char(fields, ' ', 0));
	}
	if (!str_has(fields, ",") && !typed)
		return 0;
	int64_t index = 0;
	for (; i < in->count && i < 1024; i++) {
		struct str line = str_trim(in->line[i].text), name_rest = fields, value_rest = line, name, value;
		if (!line.len || read_prompt(line, &command))
			break;
		if (str_starts(line, "name") || str_starts(line, "index") || str_has(line, "driver_version") ||
			str_has(line, "compute_cap"))
			continue; /* the heading under a typed command */
		int64_t own = index;
		struct str first_name = fields, head;
		str_next_field(&first_name, ',', &head);
		if (str_is(str_trim(head), "index"))
			str_to_int(str_trim(str_slice(line, 0, str_find_char(line, ',', 0))), &own);
		struct facts_row *gpu = read_gpu(f, own, "nvidia");
		while (str_next_field(&name_rest, ',', &name) && str_next_field(&value_rest, ',', &value))
			csv_value(f, gpu, str_trim(name), str_trim(value), read_origin(f, in, i));
		index++;
	}
	return i;
}

/* NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build */
static size_t read_proc_version(const struct read_input *in, struct facts *f)
{
	struct str line = in->line[0].text, word;
	struct facts_row *driver = read_driver(f, "nvidia");
	const char *origin = read_origin(f, in, 0);
	read_fill_bool(driver, driver__loaded, true, origin);
	read_fill_bool(driver, driver__open_module, str_has(line, "Open Kernel Module"), origin);
	struct str rest = line;
	while (str_next_word(&rest, &word))
		if (read_is_version(word) && str_has(word, ".") && word.len >= 6) {
			read_fill_str(driver, driver__version, word, origin);
			break;
		}
	return 1;
}

static const char *const table_triggers[] = {"NVIDIA-SMI ", NULL};
static const char *const list_triggers[] = {"GPU 0: ", NULL};
static const char *const csv_triggers[] = {
	"--query-gpu=", "name, driver_version", "index, name", "name, compute_cap", "name, memory.total", NULL};
static const char *const proc_triggers[] = {"NVRM version:", NULL};

const struct reader read_nvidia_smi_table = {"nvidia-smi", table_triggers, read_table};
const struct reader read_nvidia_smi_list = {"nvidia-smi -L", list_triggers, read_list};
const struct reader read_nvidia_smi_csv = {"nvidia-smi --query-gpu", csv_triggers, read_csv};
const struct reader read_nvidia_proc_version = {"/proc/driver/nvidia/version", proc_triggers, read_proc_version};
