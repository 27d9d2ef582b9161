/* rocm-smi --showproductname: "GPU[0]		: Card Series: 		AMD Instinct MI210". */
#include "read/fill.h"
#include "read/read.h"

static bool read_card(struct facts *f, struct str line, const char *origin)
{
	static const char *const keys[] = {"Card Series:", "Card series:"};
	size_t open = str_find(line, "GPU[", 0), at = SIZE_MAX;
	int64_t index;
	for (size_t i = 0; i < 2 && at == SIZE_MAX; i++)
		at = str_find(line, keys[i], 0);
	if (open == SIZE_MAX || at == SIZE_MAX || at < open)
		return false;
	struct str number = str_skip(line, open + 4), name = str_trim(str_skip(line, at + strlen(keys[0])));
	if (str_to_int(str_slice(number, 0, str_find_char(number, ']', 0)), &index) < 0 || index < 0 || index > 63 || !name.len || name.len > 80)
		return false;
	read_fill_str(read_gpu(f, index, "amd"), gpu__name, name, origin);
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

static const char *const rocm_triggers[] = {"Card Series:", "Card series:", NULL};
const struct reader read_rocm_smi_reader = {"rocm-smi", rocm_triggers, read_rocm_smi};
