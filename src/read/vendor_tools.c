/* Other vendors' tools: npu-smi info, rocm-smi, rocminfo, lspci. */
#include "read/fill.h"
#include "read/read.h"

/* | npu-smi 23.0.3   Version: 23.0.3 | … | 0     910B3   | OK | … */
static size_t read_npu_smi(const struct read_input *in, struct facts *f)
{
	struct facts_row *driver = read_driver(f, "ascend");
	size_t i = 0;
	struct str command;
	size_t at = str_find(in->line[0].text, "Version:", 0);
	if (at == SIZE_MAX)
		return 0;
	struct str rest = str_skip(in->line[0].text, at + 8), word;
	if (str_next_word(&rest, &word) && read_is_version(word))
		read_fill_str(driver, driver__version, word, read_origin(f, in, 0));
	read_fill_bool(driver, driver__loaded, true, read_origin(f, in, 0));
	for (i = 1; i < in->count && i < 300; i++) {
		struct str line = str_trim(in->line[i].text), cell, name;
		int64_t index;
		if (!line.len || read_prompt(line, &command) || str_has(line, "Process"))
			break;
		if (!str_starts(line, "|"))
			continue;
		struct str cells = str_skip(line, 1);
		if (!str_next_field(&cells, '|', &cell) || !str_next_word(&cell, &name) || str_to_int(name, &index) < 0 || !str_next_word(&cell, &name))
			continue;
		if (str_starts(name, "910") || str_starts(name, "310") || str_starts(name, "Ascend")) {
			struct facts_row *row = read_gpu(f, index, "ascend");
			read_fill_str(row, gpu__name, str_starts(name, "Ascend") ? name : str_of(arena_printf(f->arena, "Ascend %.*s", (int)name.len, name.ptr)), read_origin(f, in, i));
		}
	}
	return i;
}

/* rocminfo: "  Name:                    gfx942"; torch: gcnArchName */
static size_t read_gfx(const struct read_input *in, struct facts *f)
{
	struct str line = in->line[0].text;
	size_t at = str_find(line, "gfx", 0), end = at;
	int64_t index = 0;
	if (at == SIZE_MAX || !str_has(line, "Name:"))
		return 0;
	end += 3;
	while (end < line.len && ((line.ptr[end] >= '0' && line.ptr[end] <= '9') || (line.ptr[end] >= 'a' && line.ptr[end] <= 'f')))
		end++;
	if (end - at < 6)
		return 0;
	for (struct facts_row *row = f->first[TABLE_gpu]; row; row = row->next)
		index++;
	struct facts_row *row = read_gpu(f, index, "amd");
	read_fill_str(row, gpu__gfx, str_slice(line, at, end), read_origin(f, in, 0));
	return 1;
}

/* 17:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1) */
static size_t read_lspci(const struct read_input *in, struct facts *f)
{
	size_t i = 0;
	struct str command;
	for (; i < in->count && i < 400; i++) {
		struct str line = str_trim(in->line[i].text), address = str_slice(line, 0, str_find_char(line, ' ', 0));
		const char *origin = read_origin(f, in, i);
		uint64_t x;
		if (i && (!line.len || read_prompt(line, &command)))
			break;
		if (!str_has(address, ":") || !str_has(address, ".") || (!str_has(line, "3D controller") && !str_has(line, "VGA compatible")) || !str_has(line, "NVIDIA"))
			continue;
		struct facts_row *row = facts_add(f, TABLE_pci_device);
		facts_str(row, pci_device__address, address, origin);
		facts_text(row, pci_device__kind, "gpu", origin);
		facts_text(row, pci_device__vendor, "10de", origin);
		size_t id = str_find(line, "[10de:", 0);
		if (id != SIZE_MAX && str_to_hex(str_slice(line, id + 6, id + 10), &x) == 0)
			facts_str(row, pci_device__device, str_slice(line, id + 6, id + 10), origin);
	}
	return i;
}

static const char *const npu_triggers[] = {"npu-smi ", NULL};
static const char *const gfx_triggers[] = {"gfx9", "gfx10", "gfx11", "gfx12", NULL};
static const char *const lspci_triggers[] = {"3D controller", "VGA compatible controller", NULL};

const struct reader read_npu_smi_reader = {"npu-smi", npu_triggers, read_npu_smi};
const struct reader read_gfx_reader = {"rocminfo", gfx_triggers, read_gfx};
const struct reader read_lspci_reader = {"lspci", lspci_triggers, read_lspci};
