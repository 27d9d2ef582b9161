/* nvidia-smi topo -m: how GPUs reach each other; nvidia-smi nvlink -s. */
#include "read/fill.h"
#include "read/read.h"

static size_t read_topology(const struct read_input *in, struct facts *f)
{
	struct str head = in->line[0].text, word;
	int columns = 0;
	while (str_next_word(&head, &word))
		columns += str_starts(word, "GPU") && word.len <= 6;
	size_t i = 1;
	if (columns < 1)
		return 0;
	for (; i < in->count && i < 80; i++) {
		struct str rest = str_trim(in->line[i].text), cell;
		int64_t a;
		if (!str_next_word(&rest, &cell) || !str_starts(cell, "GPU") || str_to_int(str_skip(cell, 3), &a) < 0)
			break;
		for (int64_t b = 0; b < columns && str_next_word(&rest, &cell); b++) {
			if (b <= a)
				continue;
			struct facts_row *row = facts_add(f, TABLE_gpu_pair);
			const char *origin = read_origin(f, in, i);
			int64_t links;
			facts_text(row, gpu_pair__pair, arena_printf(f->arena, "%lld-%lld", (long long)a, (long long)b), origin);
			facts_int(row, gpu_pair__a, a, origin);
			facts_int(row, gpu_pair__b, b, origin);
			if (str_starts(cell, "NV") && str_to_int(str_skip(cell, 2), &links) == 0) {
				facts_text(row, gpu_pair__path, "NVL", origin);
				facts_int(row, gpu_pair__nvlinks, links, origin);
			} else {
				facts_str(row, gpu_pair__path, cell, origin);
			}
		}
	}
	return i;
}

static const char *const triggers[] = {"GPU0\tGPU1", "GPU0 ", "GPU0\t", NULL};
const struct reader read_topology_reader = {"nvidia-smi topo -m", triggers, read_topology};
