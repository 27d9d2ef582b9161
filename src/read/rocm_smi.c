/* rocm-smi: "GPU[0]		: Card Series: 		AMD Instinct MI210" of --showproductname, --showmeminfo vram, and the table that it
 * prints without options. amd-smi: static, list, metric and its table. */
#include "read/fill.h"
#include "read/read.h"

/* "GPU[0]		: VRAM Total Memory (B): 206141652992" */
static bool read_card(struct facts *f, struct str line, const char *origin)
{
	static const struct {
		const char *key;
		enum facts_column column;
	} keys[] = {{"Card Series", gpu__name}, {"Card series", gpu__name}, {"GFX Version", gpu__gfx},
		{"VRAM Total Memory (B)", gpu__memory_bytes}, {"VRAM Total Used Memory (B)", gpu__memory_used_bytes},
		{"PCI Bus", gpu__pci_address}};
	size_t open = str_find(line, "GPU[", 0), close = open == SIZE_MAX ? SIZE_MAX : str_find_char(line, ']', open);
	int64_t index, n;
	struct str key, value;
	if (close == SIZE_MAX || str_to_int(str_slice(line, open + 4, close), &index) < 0 || index < 0 || index > 63)
		return false;
	struct str rest = str_trim(str_skip(line, close + 1));
	if (!str_starts(rest, ":") || !str_split(str_trim(str_skip(rest, 1)), ':', &key, &value) || !value.len || value.len > 80)
		return false;
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		enum facts_column c = keys[i].column;
		if (!str_is(key, keys[i].key))
			continue;
		struct facts_row *row = read_gpu(f, index, "amd");
		if (c == gpu__name || (c == gpu__gfx && str_starts(value, "gfx")))
			read_fill_str(row, c, value, origin);
		else if (c == gpu__pci_address)
			read_fill_str(row, c, read_pci_address(f, value), origin);
		else if (c != gpu__gfx && str_to_int(value, &n) == 0 && n >= 0)
			read_fill_int(row, c, n, origin);
		return true;
	}
	return false;
}

static void amd_driver(struct facts *f, struct str version, const char *origin)
{
	version = str_slice(version, 0, str_find_char(version, ' ', 0));
	if (!read_is_version(version) || !str_has(version, "."))
		return;
	read_fill_str(read_driver(f, "amd"), driver__version, version, origin);
	read_fill_bool(read_driver(f, "amd"), driver__loaded, true, origin);
}

static size_t read_rocm_smi(const struct read_input *in, struct facts *f)
{
	size_t i = 0;
	/* Other lines of a card may stand between two series. */
	for (size_t last = 0; i < in->count && i < last + 12; i++)
		if (read_card(f, in->line[i].text, read_origin(f, in, i)))
			last = i + 1;
		else if (!str_has(in->line[i].text, "GPU["))
			break;
	return i;
}

/* The rows of the table: "0   2   0x74a1,   28851  43.0°C  138.0W …", in ROCm 5 "0    35.0c  39.0W …". */
static size_t read_concise(const struct read_input *in, struct facts *f)
{
	size_t i = 1, last = 1, misses = 0;
	for (; i < in->count && i < 200 && misses < 5; i++) {
		struct str line = str_trim(in->line[i].text), rest = line, word, command;
		const char *origin = read_origin(f, in, i);
		int64_t index;
		bool watts = false, percent = str_ends(line, "%");
		if (read_prompt(line, &command) || str_has(line, "End of ROCm"))
			break;
		if (str_starts(line, "Driver version:")) {
			amd_driver(f, str_trim(str_skip(line, 15)), origin);
			last = i + 1;
			continue;
		}
		if (!str_next_word(&rest, &word) || str_to_int(word, &index) < 0 || index < 0 || index > 63 || !percent) {
			misses += line.len && line.ptr[0] != '=' && line.ptr[0] != '(';
			continue;
		}
		struct facts_row *row = read_gpu(f, index, "amd");
		misses = 0;
		last = i + 1;
		while (str_next_word(&rest, &word)) {
			int64_t c;
			size_t dot = str_find_char(word, '.', 0);
			watts |= str_ends(word, "W");
			if (!watts && dot != SIZE_MAX && (str_ends(word, "C") || str_ends(word, "c")) &&
				str_to_int(str_slice(word, 0, dot), &c) == 0 && c > 0 && c < 150)
				read_fill_int(row, gpu__temperature_c, c, origin);
		}
	}
	return last;
}

/* -- amd-smi ---------------------------------------------------------------------------------------------------------------------- */

/* "GPU: 0" and the indented lines below it: "MARKET_NAME: AMD Instinct MI300X", "BDF: 0000:05:00.0". */
static size_t read_amd_static(const struct read_input *in, struct facts *f)
{
	static const struct {
		const char *key;
		enum facts_column column;
	} keys[] = {{"MARKET_NAME", gpu__name}, {"TARGET_GRAPHICS_VERSION", gpu__gfx}, {"UUID", gpu__uuid}};
	struct facts_row *row = NULL;
	struct str section = {0};
	size_t i = 0, last = 0;
	for (; i < in->count && i < 4000 && i < last + 40; i++) {
		struct str t = str_trim(in->line[i].text), key, value, command;
		const char *origin = read_origin(f, in, i);
		int64_t n;
		if (read_prompt(in->line[i].text, &command))
			break;
		if (!str_split(t, ':', &key, &value))
			continue;
		if (str_is(key, "GPU") && str_to_int(value, &n) == 0 && n >= 0 && n < 64) {
			row = read_gpu(f, n, "amd");
			last = i + 1;
		}
		if (!value.len)
			section = key;
		for (size_t k = 0; row && k < sizeof keys / sizeof keys[0]; k++)
			if (str_is(key, keys[k].key) && !str_is(value, "N/A"))
				read_fill_str(row, keys[k].column, value, origin);
		if (row && str_is(key, "BDF"))
			read_fill_str(row, gpu__pci_address, read_pci_address(f, value), origin);
		else if (row && str_is(key, "MAX_PCIE_WIDTH") && str_to_int(value, &n) == 0 && n > 0 && n <= 32)
			read_fill_int(row, gpu__link_width_max, n, origin);
		else if (row && (str_is(key, "TOTAL_VRAM") || (str_is(section, "VRAM") && str_is(key, "SIZE"))) && read_size(value, 1, &n))
			read_fill_int(row, gpu__memory_bytes, n, origin);
		else if (row && str_is(key, "USED_VRAM") && read_size(value, 1, &n))
			read_fill_int(row, gpu__memory_used_bytes, n, origin);
		else if (str_is(section, "DRIVER") && str_is(key, "VERSION"))
			amd_driver(f, value, origin);
	}
	return last ? i : 0;
}

/* "| 0000:05:00.0    AMD Instinct MI300X | 0 %      38 °C   0           138/750 W |" and below it
 * "|   0       0       2        SPX/NPS1 | 0 %        N/A           285/196592 MB |" */
static size_t read_amd_table(const struct read_input *in, struct facts *f)
{
	struct str address = {0}, name = {0}, command;
	int64_t errors = -1;
	size_t i = 0, at = str_find(in->line[0].text, "amdgpu version: ", 0);
	if (at != SIZE_MAX)
		amd_driver(f, str_skip(in->line[0].text, at + 16), read_origin(f, in, 0));
	for (i = 1; i < in->count && i < 400; i++) {
		struct str line = str_trim(in->line[i].text), cells = str_skip(line, 1), left, right, word;
		const char *origin = read_origin(f, in, i);
		int64_t index, used, total;
		if (read_prompt(line, &command) || str_has(line, "Processes:") || (line.len && line.ptr[0] != '|' && line.ptr[0] != '+'))
			break;
		if (!str_starts(line, "|") || !str_next_field(&cells, '|', &left) || !str_next_field(&cells, '|', &right) ||
			!str_next_word(&left, &word))
			continue;
		if (read_pci_address(f, word).len) {
			struct str last = {0};
			address = read_pci_address(f, word);
			name = str_trim(left);
			errors = -1;
			size_t degrees = str_find(right, "°C", 0);
			struct str after = degrees == SIZE_MAX ? str_n("", 0) : str_skip(right, degrees + 3);
			if (str_next_word(&after, &last) && str_to_int(last, &errors) < 0)
				errors = -1;
			continue;
		}
		if (!address.len || str_to_int(word, &index) < 0 || index < 0 || index > 63)
			continue;
		struct facts_row *row = read_gpu(f, index, "amd");
		read_fill_str(row, gpu__name, name, origin);
		read_fill_str(row, gpu__pci_address, address, origin);
		if (errors >= 0)
			read_fill_int(row, gpu__ecc_uncorrected, errors, origin);
		size_t slash = str_rfind_char(right, '/'), start = slash;
		while (slash != SIZE_MAX && start > 0 && right.ptr[start - 1] >= '0' && right.ptr[start - 1] <= '9')
			start--;
		struct str most = slash == SIZE_MAX ? str_n("", 0) : str_skip(right, slash + 1);
		if (str_next_word(&most, &word) && str_to_int(word, &total) == 0 &&
			str_to_int(str_slice(right, start, slash), &used) == 0 && total > 0 && total < (1 << 24) && used <= total) {
			read_fill_int(row, gpu__memory_bytes, total << 20, origin);
			read_fill_int(row, gpu__memory_used_bytes, used << 20, origin);
		}
		address = str_n("", 0);
	}
	return i;
}

static const char *const rocm_triggers[] = {"Card Series:", "Card series:", "GFX Version:", "VRAM Total Memory", NULL};
static const char *const amd_static_triggers[] = {"GPU: 0", NULL};
static const char *const amd_table_triggers[] = {"AMD-SMI ", NULL};
static const char *const concise_triggers[] = {"ROCm System Management Interface", NULL};
const struct reader read_rocm_smi_reader = {"rocm-smi --showproductname", rocm_triggers, read_rocm_smi};
const struct reader read_rocm_concise_reader = {"rocm-smi", concise_triggers, read_concise};
const struct reader read_amd_static_reader = {"amd-smi static", amd_static_triggers, read_amd_static};
const struct reader read_amd_table_reader = {"amd-smi", amd_table_triggers, read_amd_table};
