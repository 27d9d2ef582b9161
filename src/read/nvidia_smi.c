/* nvidia-smi: the table (old, wide and that of driver 610 and later), -L, -q, --query-gpu with csv; /proc/driver/nvidia/version. */
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
		read_fill_str(row, gpu__pci_address, word, origin);
	if (persistence.len)
		read_fill_bool(row, gpu__persistence, str_starts(persistence, "On"), origin);
	struct str ecc;
	int64_t errors;
	if (str_next_field(&rest, '|', &ecc) && str_to_int(str_trim(ecc), &errors) == 0)
		read_fill_int(row, gpu__ecc_uncorrected, errors, origin);
	*ret = row;
	return true;
}

/* "| N/A   34C    P0   70W / 400W |  12MiB / 24564MiB |  0%  Default |" */
static void gpu_second_line(const struct read_input *in, struct facts *f, size_t i, struct facts_row *row)
{
	struct str line = in->line[i].text;
	const char *origin = read_origin(f, in, i);
	size_t mib = str_find(line, "MiB /", 0);
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

static size_t read_table(const struct read_input *in, struct facts *f)
{
	struct facts_row *gpu = NULL;
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
		if (line.len && line.ptr[0] != '|' && line.ptr[0] != '+' && !(line.ptr[0] >= '0' && line.ptr[0] <= '9') && !str_starts(line, "Mon") && !str_starts(line, "CUDA")) {
			if (read_prompt(line, &command) || line.ptr[0] != '=')
				break;
		}
		if (str_has(line, "Processes:"))
			gpu = NULL;
		if (gpu && str_starts(line, "|") && (str_has(line, "MiB") || str_has(line, "%") || str_has(line, "ERR!"))) {
			gpu_second_line(in, f, i, gpu);
			gpu = NULL;
			continue;
		}
		if (str_has(line, "Version:"))
			head_line(in, f, i);
		struct facts_row *found;
		if (gpu_line(in, f, i, &found))
			gpu = found;
	}
	return i;
}

/* "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-...)"; collect_env has the same lines without the UUID. */
static size_t read_list(const struct read_input *in, struct facts *f)
{
	size_t i = 0;
	struct facts_row *parent = NULL;
	for (; i < in->count && i < 1024; i++) {
		struct str line = str_trim(in->line[i].text);
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
	return i;
}

/* -q: "Attribute : value" under "GPU 00000000:17:00.0". */
static size_t read_query(const struct read_input *in, struct facts *f)
{
	static const struct {
		const char *key;
		enum facts_column column;
	} texts[] = {{"Product Name", gpu__name}, {"GPU UUID", gpu__uuid}, {"VBIOS Version", gpu__firmware}};
	struct facts_row *gpu = NULL;
	const char *section = "";
	int64_t index = -1;
	size_t i = 0;
	for (; i < in->count; i++) {
		struct str line = in->line[i].text, t = str_trim(line), key, value, command;
		const char *origin;
		if (read_prompt(line, &command))
			break;
		if (str_starts(t, "GPU ") && str_has(t, ":") && str_has(t, ".") && !str_has(t, " : ")) {
			gpu = read_gpu(f, ++index, "nvidia");
			read_fill_str(gpu, gpu__pci_address, str_trim(str_skip(t, 4)), read_origin(f, in, i));
			continue;
		}
		if (!str_has(t, " : ")) {
			section = t.len && t.len < 60 ? str_dup(f->arena, t) : section;
			continue;
		}
		if (!str_split(t, ':', &key, &value))
			continue;
		origin = read_origin(f, in, i);
		if (str_is(key, "Driver Version") && read_is_version(value))
			read_fill_str(read_driver(f, "nvidia"), driver__version, value, origin);
		else if (str_is(key, "CUDA Version") && read_is_version(value))
			read_fill_str(read_driver(f, "nvidia"), driver__cuda_version, value, origin);
		if (!gpu)
			continue;
		for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
			if (str_is(key, texts[k].key) && !str_is(value, "N/A"))
				read_fill_str(gpu, texts[k].column, value, origin);
		if (str_is(key, "Compute Mode"))
			read_fill_str(gpu, gpu__compute_mode, str_is(value, "Exclusive_Process") ? STR("exclusive-process") : str_is(value, "Prohibited") ? STR("prohibited") : STR("default"), origin);
		if (str_is(key, "Current") && strncmp(section, "MIG", 3) == 0)
			read_fill_bool(gpu, gpu__mig_mode, str_is(value, "Enabled"), origin);
		if (str_is(key, "Pending") && strncmp(section, "Remapped", 8) == 0)
			read_fill_bool(gpu, gpu__remap_pending, str_is(value, "Yes"), origin);
		if (str_is(key, "State") && strncmp(section, "Fabric", 6) == 0)
			read_fill_str(gpu, gpu__fabric_state, value, origin);
	}
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
		read_fill_str(gpu, gpu__pci_address, value, origin);
	else if (str_is(field, "compute_cap"))
		read_fill_str(gpu, gpu__compute_capability, value, origin);
	else if (str_is(field, "driver_version") && read_is_version(value))
		read_fill_str(read_driver(f, "nvidia"), driver__version, value, origin);
	else if (str_is(field, "compute_mode"))
		read_fill_str(gpu, gpu__compute_mode, str_is(value, "Exclusive_Process") ? STR("exclusive-process") : str_is(value, "Prohibited") ? STR("prohibited") : STR("default"), origin);
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
		if (str_starts(line, "name") || str_starts(line, "index") || str_has(line, "driver_version") || str_has(line, "compute_cap"))
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
static const char *const query_triggers[] = {"NVSMI LOG", NULL};
static const char *const csv_triggers[] = {"--query-gpu=", "name, driver_version", "index, name", "name, compute_cap", "name, memory.total", NULL};
static const char *const proc_triggers[] = {"NVRM version:", NULL};

const struct reader read_nvidia_smi_table = {"nvidia-smi", table_triggers, read_table};
const struct reader read_nvidia_smi_list = {"nvidia-smi -L", list_triggers, read_list};
const struct reader read_nvidia_smi_query = {"nvidia-smi -q", query_triggers, read_query};
const struct reader read_nvidia_smi_csv = {"nvidia-smi --query-gpu", csv_triggers, read_csv};
const struct reader read_nvidia_proc_version = {"/proc/driver/nvidia/version", proc_triggers, read_proc_version};
