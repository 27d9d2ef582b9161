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

/* nvidia-smi --version: "NVIDIA-SMI version  : 550.54.15", "DRIVER version      : 550.54.15", "CUDA Version        : 12.4". */
static size_t read_versions(const struct read_input *in, struct facts *f)
{
	size_t i = 0;
	for (; i < in->count && i < 6; i++) {
		struct str key, value;
		const char *origin = read_origin(f, in, i);
		if (!str_split(in->line[i].text, ':', &key, &value) || !str_ends(key, "ersion"))
			break;
		if (!read_is_version(value))
			continue;
		struct facts_row *driver = read_driver(f, "nvidia");
		if (str_is(key, "DRIVER version") || str_is(key, "KMD version")) {
			read_fill_str(driver, driver__version, value, origin);
			read_fill_bool(driver, driver__loaded, true, origin);
		} else if (str_is(key, "CUDA Version") || str_is(key, "CUDA UMD version")) {
			read_fill_str(driver, driver__cuda_version, value, origin);
		}
	}
	return i;
}

static size_t read_table(const struct read_input *in, struct facts *f)
{
	struct facts_row *gpu = NULL, *last = NULL;
	size_t i = 0;
	if (str_starts(str_trim(in->line[0].text), "NVIDIA-SMI version"))
		return read_versions(in, f);
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
	if (gpu && str_has(line, "all links are inActive")) {
		read_fill_int(gpu, gpu__nvlinks_active, 0, origin);
		return true;
	}
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
			struct str rest = str_skip(line, 4), profile;
			if (str_next_word(&rest, &profile))
				read_fill_str(parent, gpu__mig_device, profile, read_origin(f, in, i));
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

/* -- --query-gpu=a,b --format=csv: a heading of field names, then a line for each GPU ------------------------------------------------ */

#define FIELDS_MAX 64

enum csv_kind { CSV_TEXT, CSV_ADDRESS, CSV_MEMORY, CSV_NUMBER, CSV_ENABLED, CSV_MODE, CSV_GENERATION, CSV_REASON };

static const struct {
	const char *field;
	enum facts_column column;
	enum csv_kind kind;
} csv_fields[] = {
	{"name", gpu__name, CSV_TEXT},
	{"gpu_name", gpu__name, CSV_TEXT},
	{"uuid", gpu__uuid, CSV_TEXT},
	{"gpu_uuid", gpu__uuid, CSV_TEXT},
	{"vbios_version", gpu__firmware, CSV_TEXT},
	{"compute_cap", gpu__compute_capability, CSV_TEXT},
	{"pci.bus_id", gpu__pci_address, CSV_ADDRESS},
	{"gpu_bus_id", gpu__pci_address, CSV_ADDRESS},
	{"memory.total", gpu__memory_bytes, CSV_MEMORY},
	{"memory.used", gpu__memory_used_bytes, CSV_MEMORY},
	{"temperature.gpu", gpu__temperature_c, CSV_NUMBER},
	{"utilization.gpu", gpu__utilization, CSV_NUMBER},
	{"ecc.errors.uncorrected.volatile.total", gpu__ecc_uncorrected, CSV_NUMBER},
	{"pcie.link.width.current", gpu__link_width, CSV_NUMBER},
	{"pcie.link.width.max", gpu__link_width_max, CSV_NUMBER},
	{"pcie.link.gen.current", gpu__link_speed_gts, CSV_GENERATION},
	{"pcie.link.gen.gpucurrent", gpu__link_speed_gts, CSV_GENERATION},
	{"pcie.link.gen.max", gpu__link_speed_max_gts, CSV_GENERATION},
	{"mig.mode.current", gpu__mig_mode, CSV_ENABLED},
	{"persistence_mode", gpu__persistence, CSV_ENABLED},
	{"compute_mode", gpu__compute_mode, CSV_MODE},
	{"hw_slowdown", gpu__throttle, CSV_REASON},
	{"hw_thermal_slowdown", gpu__throttle, CSV_REASON},
	{"sw_thermal_slowdown", gpu__throttle, CSV_REASON},
	{"hw_power_brake_slowdown", gpu__throttle, CSV_REASON},
};

/* "clocks_event_reasons.hw_slowdown", before driver 535 "clocks_throttle_reasons.hw_slowdown": the reason alone. */
static struct str csv_reason(struct str field)
{
	size_t at = str_starts(field, "clocks_") ? str_find(field, "_reasons.", 0) : SIZE_MAX;
	return at == SIZE_MAX ? str_n("", 0) : str_skip(field, at + 9);
}

/* The reasons that hold; none of those that were asked for is an answer too. */
static void csv_throttle(struct facts *f, struct facts_row *gpu, struct str reason, struct str value, const char *origin)
{
	const char *before = facts_get_text(gpu, gpu__throttle);
	const char *name = str_is(reason, "hw_thermal_slowdown") ? "hardware thermal slowdown"
		: str_is(reason, "sw_thermal_slowdown")          ? "software thermal slowdown"
		: str_is(reason, "hw_power_brake_slowdown")      ? "power brake"
								 : "hardware slowdown";
	if (str_is(value, "Not Active") && !before)
		facts_text(gpu, gpu__throttle, "", origin);
	else if (str_is(value, "Active") && (!before || !strstr(before, name)))
		facts_text(gpu, gpu__throttle, arena_printf(f->arena, "%s%s%s", before ? before : "", before && *before ? ", " : "", name),
			origin);
}

static void csv_value(struct facts *f, struct facts_row *gpu, struct str field, struct str value, const char *origin)
{
	static const double speeds[] = {0, 2.5, 5, 8, 16, 32, 64, 128};
	int64_t n;
	if (str_is(field, "driver_version") && read_is_version(value)) {
		read_fill_str(read_driver(f, "nvidia"), driver__version, value, origin);
		return;
	}
	struct str reason = csv_reason(field);
	for (size_t i = 0; i < sizeof csv_fields / sizeof csv_fields[0]; i++) {
		enum facts_column c = csv_fields[i].column;
		bool number = str_to_int(str_slice(value, 0, str_find(value, " %", 0)), &n) == 0 && n >= 0;
		if (!str_is(csv_fields[i].kind == CSV_REASON ? reason : field, csv_fields[i].field))
			continue;
		switch (csv_fields[i].kind) {
		case CSV_TEXT: read_fill_str(gpu, c, value, origin); break;
		case CSV_ADDRESS: read_fill_str(gpu, c, read_pci_address(f, value), origin); break;
		case CSV_MEMORY:
			if (read_size(value, 1 << 20, &n))
				read_fill_int(gpu, c, n, origin);
			break;
		case CSV_NUMBER:
			if (number)
				read_fill_int(gpu, c, n, origin);
			break;
		case CSV_GENERATION:
			if (number && n >= 1 && n <= 7)
				read_fill_real(gpu, c, speeds[n], origin);
			break;
		case CSV_REASON: csv_throttle(f, gpu, reason, value, origin); break;
		case CSV_ENABLED: read_fill_bool(gpu, c, str_is(value, "Enabled"), origin); break;
		case CSV_MODE:
			read_fill_str(gpu, c,
				str_is(value, "Exclusive_Process")    ? STR("exclusive-process")
					: str_is(value, "Prohibited") ? STR("prohibited")
								      : STR("default"),
				origin);
			break;
		}
	}
}

/* "memory.total [MiB]" → "memory.total" */
static size_t csv_heading(struct str line, struct str *field)
{
	struct str one;
	size_t n = 0;
	while (n < FIELDS_MAX && str_next_field(&line, ',', &one))
		field[n++] = str_trim(str_slice(one, 0, str_find_char(one, '[', 0)));
	return n;
}

/* A heading without the command: lower-case names, and at least two that belong to nvidia-smi. */
static bool is_csv_heading(const struct str *field, size_t n)
{
	size_t ours = 0;
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < field[i].len; k++)
			if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789._", field[i].ptr[k]))
				return false;
		ours += str_is(field[i], "index") || str_is(field[i], "driver_version");
		for (size_t k = 0; k < sizeof csv_fields / sizeof csv_fields[0]; k++)
			ours += str_is(field[i], csv_fields[k].field);
	}
	return ours >= 2;
}

/* Which GPU a line is about: its index, its place on the bus, or the order of the lines. */
static struct facts_row *csv_gpu(struct facts *f, const struct str *field, const struct str *value, size_t n, int64_t order)
{
	for (size_t i = 0; i < n; i++) {
		int64_t index;
		if (str_is(field[i], "index") && str_to_int(value[i], &index) == 0 && index >= 0 && index < 1024)
			return read_gpu(f, index, "nvidia");
	}
	for (size_t i = 0; i < n; i++) {
		struct str address = str_is(field[i], "pci.bus_id") || str_is(field[i], "gpu_bus_id") ? read_pci_address(f, value[i])
												      : str_n("", 0);
		struct facts_row *row = address.len ? read_gpu_at(f, address, "nvidia") : NULL;
		if (row)
			return row;
	}
	return read_gpu(f, order, "nvidia");
}

/* "      8 NVIDIA H100 80GB HBM3": the count that uniq -c puts in front is taken off. 0: there is none, or no host has so many GPUs. */
static int64_t take_count(struct str *line)
{
	struct str rest = *line, word;
	int64_t n;
	if (!str_next_word(&rest, &word) || str_to_int(word, &n) < 0 || n < 1 || n > 64)
		return 0;
	*line = str_trim(rest);
	return n;
}

static size_t read_csv(const struct read_input *in, struct facts *f)
{
	struct str first = in->line[0].text, field[FIELDS_MAX], value[FIELDS_MAX], command;
	size_t option = str_find(first, "--query-gpu=", 0), i = 1, n;
	bool typed = option != SIZE_MAX, timed = false, counted = typed && str_has(first, "| uniq -c");
	if (typed) {
		struct str asked = str_skip(first, option + 12);
		while (asked.len && (asked.ptr[0] == '"' || asked.ptr[0] == '\''))
			asked = str_skip(asked, 1);
		size_t end = 0;
		while (end < asked.len && !strchr(" \"'", asked.ptr[end]))
			end++;
		first = str_slice(asked, 0, end);
	}
	n = csv_heading(first, field);
	if (!typed && !is_csv_heading(field, n))
		return 0;
	for (size_t k = 0; k < n; k++)
		timed |= str_is(field[k], "timestamp");
	for (int64_t order = 0; i < in->count && i < 1024; i++) {
		struct str line = str_trim(in->line[i].text), head[FIELDS_MAX];
		if (!line.len || read_prompt(line, &command))
			break;
		int64_t same = counted ? take_count(&line) : 1;
		size_t values = csv_heading(line, head);
		if (values == n && str_eq(head[0], field[0]))
			continue; /* the heading under a typed command */
		struct str rest = line;
		for (values = 0; values < n && str_next_field(&rest, ',', &value[values]); values++)
			value[values] = str_trim(value[values]);
		if (values < n || same == 0 || (timed && order >= 128))
			break;
		for (; same > 0; same--) {
			struct facts_row *gpu = csv_gpu(f, field, value, n, order++);
			for (size_t k = 0; k < n; k++)
				if (value[k].len && !str_has(value[k], "N/A"))
					csv_value(f, gpu, field[k], value[k], read_origin(f, in, i));
		}
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
	"--query-gpu=", "name, ", "index, ", "driver_version", "memory.total", "pci.bus_id", "compute_cap", NULL};
static const char *const proc_triggers[] = {"NVRM version:", NULL};

const struct reader read_nvidia_smi_table = {"nvidia-smi", table_triggers, read_table};
const struct reader read_nvidia_smi_list = {"nvidia-smi -L", list_triggers, read_list};
const struct reader read_nvidia_smi_csv = {"nvidia-smi --query-gpu", csv_triggers, read_csv};
const struct reader read_nvidia_proc_version = {"/proc/driver/nvidia/version", proc_triggers, read_proc_version};
