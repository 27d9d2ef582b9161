/* rocm-smi: "GPU[0]		: Card Series: 		AMD Instinct MI210" of --showproductname, and the table that it prints without
 * options. */
#include "read/fill.h"
#include "read/read.h"

static bool read_card(struct facts *f, struct str line, const char *origin)
{
	static const char *const keys[] = {"Card Series:", "Card series:"};
	size_t open = str_find(line, "GPU[", 0), at = SIZE_MAX, gfx = str_find(line, "GFX Version:", 0);
	int64_t index;
	for (size_t i = 0; i < 2 && at == SIZE_MAX; i++)
		at = str_find(line, keys[i], 0);
	if (open == SIZE_MAX || (at == SIZE_MAX && gfx == SIZE_MAX) || (at != SIZE_MAX && at < open))
		return false;
	struct str number = str_skip(line, open + 4);
	if (str_to_int(str_slice(number, 0, str_find_char(number, ']', 0)), &index) < 0 || index < 0 || index > 63)
		return false;
	struct str value = str_trim(at != SIZE_MAX ? str_skip(line, at + strlen(keys[0])) : str_skip(line, gfx + 12));
	if (!value.len || value.len > 80)
		return false;
	if (at != SIZE_MAX)
		read_fill_str(read_gpu(f, index, "amd"), gpu__name, value, origin);
	else if (str_starts(value, "gfx"))
		read_fill_str(read_gpu(f, index, "amd"), gpu__gfx, value, origin);
	return true;
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
	size_t i = 1, misses = 0;
	for (; i < in->count && i < 200 && misses < 5; i++) {
		struct str line = str_trim(in->line[i].text), rest = line, word, command;
		const char *origin = read_origin(f, in, i);
		int64_t index;
		bool watts = false, percent = str_ends(line, "%");
		if (read_prompt(line, &command) || str_has(line, "End of ROCm"))
			break;
		if (!str_next_word(&rest, &word) || str_to_int(word, &index) < 0 || index < 0 || index > 63 || !percent) {
			misses += line.len && line.ptr[0] != '=' && line.ptr[0] != '(';
			continue;
		}
		struct facts_row *row = read_gpu(f, index, "amd");
		misses = 0;
		while (str_next_word(&rest, &word)) {
			int64_t c;
			size_t dot = str_find_char(word, '.', 0);
			watts |= str_ends(word, "W");
			if (!watts && dot != SIZE_MAX && (str_ends(word, "C") || str_ends(word, "c")) &&
				str_to_int(str_slice(word, 0, dot), &c) == 0 && c > 0 && c < 150)
				read_fill_int(row, gpu__temperature_c, c, origin);
		}
	}
	return i;
}

static const char *const rocm_triggers[] = {"Card Series:", "Card series:", "GFX Version:", NULL};
static const char *const concise_triggers[] = {"ROCm System Management Interface", NULL};
const struct reader read_rocm_smi_reader = {"rocm-smi --showproductname", rocm_triggers, read_rocm_smi};
const struct reader read_rocm_concise_reader = {"rocm-smi", concise_triggers, read_concise};
