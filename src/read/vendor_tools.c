/* npu-smi info, rocminfo; banners of other vendors' tools. */
#include "read/fill.h"
#include "read/read.h"

static bool is_npu(struct str name)
{
	return str_starts(name, "910") || str_starts(name, "310") || str_starts(name, "Ascend");
}

/* "| 0   0 | 0000:C1:00.0 | 0   0 / 0   3360 / 65536 |": the chip of an NPU, on A3 two of them. */
static void npu_chip(struct facts *f, struct facts_row *row, struct str cells, const char *origin)
{
	struct str cell, word, last = {0}, before = {0};
	int64_t used, total;
	if (!str_next_field(&cells, '|', &cell) || !str_next_field(&cells, '|', &cell))
		return;
	read_fill_str(row, gpu__pci_address, read_pci_address(f, cell), origin);
	if (!str_next_field(&cells, '|', &cell))
		return;
	/* The last "used / total" is the memory that counts: HBM, or DDR where there is none. */
	for (size_t slash; (slash = str_find_char(cell, '/', 0)) != SIZE_MAX; cell = str_skip(cell, slash + 1)) {
		struct str left = str_slice(cell, 0, slash), right = str_skip(cell, slash + 1);
		while (str_next_word(&left, &word))
			before = word;
		if (!str_next_word(&right, &last))
			return;
	}
	if (str_to_int(before, &used) == 0 && str_to_int(last, &total) == 0 && total > 0 && total < (1 << 24) && used >= 0 &&
		used <= total) {
		read_fill_int(row, gpu__memory_bytes, total << 20, origin);
		read_fill_int(row, gpu__memory_used_bytes, used << 20, origin);
	}
}

/* "| OK            | 93.7        42                0    / 0             |": the second number is its temperature. */
static void npu_temperature(struct facts_row *row, struct str cells, const char *origin)
{
	struct str cell, word;
	int64_t c;
	if (str_next_field(&cells, '|', &cell) && str_next_field(&cells, '|', &cell) && str_next_word(&cell, &word) &&
		str_next_word(&cell, &word) && str_to_int(word, &c) == 0 && c > 0 && c < 150)
		read_fill_int(row, gpu__temperature_c, c, origin);
}

/* | npu-smi 23.0.3   Version: 23.0.3 | … | 0     910B3   | OK | … */
static size_t read_npu_smi(const struct read_input *in, struct facts *f)
{
	struct facts_row *driver = read_driver(f, "ascend"), *row = NULL;
	size_t i = 0, at = str_find(in->line[0].text, "Version:", 0);
	struct str command, word;
	if (at == SIZE_MAX)
		return 0;
	struct str rest = str_skip(in->line[0].text, at + 8);
	if (str_next_word(&rest, &word) && read_is_version(word))
		read_fill_str(driver, driver__version, word, read_origin(f, in, 0));
	read_fill_bool(driver, driver__loaded, true, read_origin(f, in, 0));
	for (i = 1; i < in->count && i < 300; i++) {
		struct str line = str_trim(in->line[i].text), cell, number, name;
		int64_t index;
		if (!line.len || read_prompt(line, &command) || str_has(line, "Process"))
			break;
		if (!str_starts(line, "|"))
			continue;
		struct str cells = str_skip(line, 1), whole = cells;
		if (!str_next_field(&cells, '|', &cell) || !str_next_word(&cell, &number) || str_to_int(number, &index) < 0)
			continue;
		if (str_next_word(&cell, &name) && is_npu(name)) {
			row = read_gpu(f, index, "ascend");
			read_fill_str(row, gpu__name,
				str_starts(name, "Ascend") ? name : str_of(arena_printf(f->arena, "Ascend %.*s", (int)name.len, name.ptr)),
				read_origin(f, in, i));
			npu_temperature(row, cells, read_origin(f, in, i));
		} else if (row) {
			npu_chip(f, row, whole, read_origin(f, in, i));
			row = NULL;
		}
	}
	return i;
}

static struct str gfx_of(struct str line)
{
	size_t at = str_find(line, "gfx", 0), end = at;
	if (at == SIZE_MAX)
		return str_n("", 0);
	end += 3;
	while (end < line.len && ((line.ptr[end] >= '0' && line.ptr[end] <= '9') || (line.ptr[end] >= 'a' && line.ptr[end] <= 'f')))
		end++;
	return end - at < 6 ? str_n("", 0) : str_slice(line, at, end);
}

/* The GPUs that came before it, of those that rocminfo told of. */
static struct facts_row *next_amd(struct facts *f)
{
	int64_t index = 0;
	for (struct facts_row *row = f->first[TABLE_gpu]; row; row = row->next) {
		const char *vendor = facts_get_text(row, gpu__vendor);
		if (vendor && strcmp(vendor, "amd") == 0 && !facts_get_text(row, gpu__gfx))
			return row; /* rocm-smi has named it */
		index++;
	}
	return read_gpu(f, index, "amd");
}

/* rocminfo: "  Name: gfx942", "  Marketing Name: AMD Instinct MI300X"; "  Name: amdgcn-amd-amdhsa--gfx942:sramecc+" is the same agent's
 * ISA. */
static size_t read_gfx(const struct read_input *in, struct facts *f)
{
	struct str line = str_trim(in->line[0].text), gfx = gfx_of(line), key, value, command;
	if (!gfx.len || !str_has(line, "Name:") || str_has(line, "amdgcn-"))
		return str_has(line, "amdgcn-") ? 1 : 0;
	struct facts_row *row = next_amd(f);
	read_fill_str(row, gpu__gfx, gfx, read_origin(f, in, 0));
	size_t taken = 1;
	for (size_t i = 1; i < in->count && i < 6; i++) {
		if (read_prompt(in->line[i].text, &command) || !str_split(in->line[i].text, ':', &key, &value) || str_is(key, "Name"))
			break;
		if (str_is(key, "Marketing Name") && value.len && value.len < 80)
			read_fill_str(row, gpu__name, value, read_origin(f, in, i));
		else if (str_is(key, "Uuid") && str_starts(value, "GPU-") && !str_is(value, "GPU-XX"))
			read_fill_str(row, gpu__uuid, value, read_origin(f, in, i));
		else
			continue;
		taken = i + 1;
	}
	return taken;
}

/* "ROCk module version 6.8.5 is loaded", "ROCk module is loaded", "ROCk module is NOT loaded, possibly no GPU devices" */
static size_t read_rock(const struct read_input *in, struct facts *f)
{
	struct str line = in->line[0].text, rest, word;
	bool no = str_has(line, "NOT loaded");
	if (!no && !str_has(line, "is loaded"))
		return 0;
	struct facts_row *row = read_driver(f, "amd");
	read_fill_bool(row, driver__loaded, !no, read_origin(f, in, 0));
	size_t at = str_find(line, "module version ", 0);
	rest = at == SIZE_MAX ? str_n("", 0) : str_skip(line, at + 15);
	if (str_next_word(&rest, &word) && read_is_version(word))
		read_fill_str(row, driver__version, word, read_origin(f, in, 0));
	return 1;
}

/* The banner of a vendor's tool says whose devices are here; what is in its table is not read. */
static size_t read_vendor_banner(const struct read_input *in, struct facts *f)
{
	static const struct {
		const char *text, *vendor;
	} banners[] = {
		{"HL-SMI Version", "habana"}, {"CNMON v", "cambricon"}, {"mthreads-gmi:", "moorethreads"}, {"level_zero:gpu", "intel"}};
	for (size_t i = 0; i < sizeof banners / sizeof banners[0]; i++) {
		if (!str_has(in->line[0].text, banners[i].text))
			continue;
		for (struct facts_row *row = f->first[TABLE_gpu]; row; row = row->next) {
			const char *vendor = facts_get_text(row, gpu__vendor);
			if (vendor && strcmp(vendor, banners[i].vendor) == 0)
				return 1;
		}
		facts_text(facts_add(f, TABLE_gpu), gpu__vendor, banners[i].vendor, read_origin(f, in, 0));
		return 1;
	}
	return 0;
}

static const char *const banner_triggers[] = {"HL-SMI Version", "CNMON v", "mthreads-gmi:", "level_zero:gpu", NULL};
static const char *const npu_triggers[] = {"npu-smi ", NULL};
static const char *const gfx_triggers[] = {"gfx9", "gfx10", "gfx11", "gfx12", NULL};
static const char *const rock_triggers[] = {"ROCk module ", NULL};

const struct reader read_vendor_banner_reader = {"vendor banner", banner_triggers, read_vendor_banner};
const struct reader read_npu_smi_reader = {"npu-smi", npu_triggers, read_npu_smi};
const struct reader read_gfx_reader = {"rocminfo", gfx_triggers, read_gfx};
const struct reader read_rock_reader = {"rocminfo", rock_triggers, read_rock};
