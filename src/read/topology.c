/* nvidia-smi topo -m: how GPUs reach each other; topo -p2p: whether they may read and write each other's memory. */
#include "read/fill.h"
#include "read/read.h"

#define COLUMNS_MAX 80

/* "GPU12" → 12, anything else → -1 */
static int64_t gpu_number(struct str word)
{
	int64_t n;
	return str_starts(word, "GPU") && word.len <= 6 && str_to_int(str_skip(word, 3), &n) == 0 && n >= 0 ? n : -1;
}

static bool is_path(struct str cell)
{
	static const char *const paths[] = {"PIX", "PXB", "PHB", "NODE", "SYS", "SOC", "PSB"};
	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
		if (str_is(cell, paths[i]))
			return true;
	return false;
}

/* Status codes of topo -p2p; "NS" is said of every PCIe pair when NVLink is asked for, so it counts only where reading or writing was asked
 * for. */
static const char *p2p_text(struct str cell, bool read_or_write)
{
	static const struct {
		const char *code, *text;
	} codes[] = {{"OK", "ok"}, {"CNS", "chipset not supported"}, {"GNS", "GPU not supported"}, {"TNS", "topology not supported"},
		{"DR", "disabled by regkey"}, {"NS", "not supported"}};
	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
		if (str_is(cell, codes[i].code))
			return str_is(cell, "NS") && !read_or_write ? NULL : codes[i].text;
	return NULL;
}

static void take_cell(struct facts *f, int64_t a, int64_t b, struct str cell, bool read_or_write, const char *origin)
{
	int64_t links;
	bool nvlink = str_starts(cell, "NV") && str_to_int(str_skip(cell, 2), &links) == 0;
	const char *p2p = p2p_text(cell, read_or_write);
	if (a == b || (!nvlink && !p2p && !is_path(cell)))
		return;
	struct facts_row *row = read_pair(f, a, b);
	if (nvlink) {
		read_fill_str(row, gpu_pair__path, STR("NVL"), origin);
		read_fill_int(row, gpu_pair__nvlinks, links, origin);
	} else if (p2p) {
		read_fill_str(row, gpu_pair__p2p, str_of(p2p), origin);
	} else {
		read_fill_str(row, gpu_pair__path, str_is(cell, "SOC") ? STR("SYS") : str_is(cell, "PSB") ? STR("PIX") : cell, origin);
	}
}

/* "0-47,96-143   0   N/A": what stands behind the matrix. */
static void affinity(struct facts *f, int64_t a, struct str rest, bool has_numa, const char *origin)
{
	struct str word;
	int64_t node;
	if (has_numa && str_next_word(&rest, &word) && str_has(word, "-") && str_next_word(&rest, &word) && str_to_int(word, &node) == 0 &&
		node >= 0 && node < 1024)
		for (struct facts_row *row = f->first[TABLE_gpu]; row; row = row->next) {
			int64_t n;
			if (facts_get_int(row, gpu__index, &n) && n == a)
				read_fill_int(row, gpu__numa_node, node, origin);
		}
}

static size_t read_topology(const struct read_input *in, struct facts *f)
{
	struct str head = in->line[0].text, word, command = {0};
	int64_t column[COLUMNS_MAX];
	int columns = 0, gpus = 0;
	size_t i = 1, last = 1;
	bool has_numa = str_has(head, "NUMA Affinity"), first = true;

	/* The heading is underlined; where a web page swallowed the escape character, the rest of the code stands there. */
	if (str_starts(str_trim(head), "[4m"))
		head = str_skip(str_trim(head), 3);
	while (str_next_word(&head, &word) && columns < COLUMNS_MAX) {
		int64_t n = gpu_number(word);
		if (str_is(word, "CPU") || str_is(word, "NUMA") || str_is(word, "GPU") || (first && n != 0))
			break;
		gpus += n >= 0;
		column[columns++] = n;
		first = false;
	}
	if (!gpus)
		return 0;
	read_prompt(in->before[0], &command);
	bool read_or_write = str_has(command, "p2p r") || str_has(command, "p2p w");
	for (; i < in->count && i < last + 6 && i < 200; i++) {
		struct str rest = str_trim(in->line[i].text), cell;
		const char *origin = read_origin(f, in, i);
		int64_t a;
		if (!str_next_word(&rest, &cell) || (a = gpu_number(cell)) < 0)
			continue;
		for (int k = 0; k < columns && str_next_word(&rest, &cell); k++)
			if (column[k] > a)
				take_cell(f, a, column[k], cell, read_or_write, origin);
		affinity(f, a, rest, has_numa, origin);
		last = i + 1;
	}
	facts_table_read(f, TABLE_gpu_pair);
	return last;
}

static const char *const triggers[] = {"GPU0\tGPU1", "GPU0 ", "GPU0\t", NULL};
const struct reader read_topology_reader = {"nvidia-smi topo", triggers, read_topology};
