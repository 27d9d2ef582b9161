/* How the GPUs of this host reach each other, from the bridges above them. NVLink and the driver's word on peer-to-peer come from the
 * probe. */
#include "collect/collect.h"

#include "collect/probe.h"
#include "parse/pciconf.h"

#define GPUS_MAX 64
#define PARTS_MAX 40

/* The bridges above a card, the outermost first; parts[0] is the root. A card's own switch (same vendor) is left out. */
struct place {
	struct facts_row *gpu;
	struct str parts[PARTS_MAX];
	size_t count;
	int64_t index, numa;
	bool has_numa;
};

static bool find_place(struct collect *c, struct facts_row *gpu, struct place *ret)
{
	const char *address = facts_get_text(gpu, gpu__pci_address);
	const struct facts_row *pci = address ? facts_find(c->facts, pci_device__address, address) : NULL;
	const char *vendor = pci ? facts_get_text(pci, pci_device__vendor) : NULL;
	struct str path;

	*ret = (struct place){.gpu = gpu};
	if (!facts_get_int(gpu, gpu__index, &ret->index))
		return false;
	ret->has_numa = facts_get_int(gpu, gpu__numa_node, &ret->numa);
	path = str_of(pci ? facts_get_text(pci, pci_device__path) : NULL);
	while (path.ptr && ret->count < PARTS_MAX && str_next_field(&path, '/', &ret->parts[ret->count]))
		ret->count++;
	while (vendor && ret->count > 1) {
		const struct facts_row *bridge = facts_find(c->facts, pci_device__address, str_dup(c->arena, ret->parts[ret->count - 1]));
		const char *owner = bridge ? facts_get_text(bridge, pci_device__vendor) : NULL;

		if (!owner || !str_is(str_of(owner), vendor))
			break;
		ret->count--;
	}
	return true;
}

static size_t shared_parts(const struct place *a, const struct place *b)
{
	size_t n = 0;

	while (n < a->count && n < b->count && str_eq(a->parts[n], b->parts[n]))
		n++;
	return n;
}

/* PIX: one switch. PXB: several. PHB: through the processor's host bridge. NODE: between host bridges of a NUMA node. SYS: between nodes.
 */
static const char *path_between(struct collect *c, const struct place *a, const struct place *b)
{
	size_t shared = shared_parts(a, b);
	struct facts_row *machine = c->facts->first[TABLE_system];
	int64_t nodes;

	if (a->count == 0 || b->count == 0)
		return NULL;
	if (shared >= 2)
		return a->count - shared <= 1 && b->count - shared <= 1 ? "PIX" : "PXB";
	if (shared == 1)
		return "PHB";
	if (a->has_numa && b->has_numa)
		return a->numa == b->numa ? "NODE" : "SYS";
	if (machine && facts_get_int(machine, system__numa_nodes, &nodes) && nodes == 1)
		return "NODE";
	return NULL;
}

/* One bridge that redirects is enough; without one, all must be known. */
static void set_acs(struct collect *c, struct facts_row *row, const struct place *a, const struct place *b)
{
	const struct place *sides[2] = {a, b};
	size_t shared = shared_parts(a, b);
	bool unknown = a->count == 0 || b->count == 0;

	for (int s = 0; s < 2; s++) {
		for (size_t i = shared > 0 ? shared : 1; i < sides[s]->count; i++) {
			const struct facts_row *bridge = facts_find(c->facts, pci_device__address, str_dup(c->arena, sides[s]->parts[i]));
			bool redirect;

			if (!bridge || !facts_get_bool(bridge, pci_device__acs_redirect, &redirect)) {
				unknown = true;
			} else if (redirect) {
				facts_bool(row, gpu_pair__acs_redirect, true, facts_get_text(bridge, pci_device__address));
				return;
			}
		}
	}
	if (unknown)
		facts_gap(
			row, gpu_pair__acs_redirect, GAP_DENIED, "/sys/bus/pci/devices", "only root sees the extended configuration space");
	else
		facts_bool(row, gpu_pair__acs_redirect, false, "/sys/bus/pci/devices");
}

static void add_pair(struct collect *c, const struct place *a, const struct place *b)
{
	struct facts_row *row = facts_add(c->facts, TABLE_gpu_pair);
	const char *path = path_between(c, a, b);

	facts_text(row, gpu_pair__pair, arena_printf(c->arena, "%d-%d", (int)a->index, (int)b->index), "order on the PCI bus");
	facts_int(row, gpu_pair__a, a->index, "order on the PCI bus");
	facts_int(row, gpu_pair__b, b->index, "order on the PCI bus");
	if (path)
		facts_text(row, gpu_pair__path, path, "/sys/bus/pci/devices");
	else
		facts_gap(row, gpu_pair__path, GAP_MISSING, "/sys/bus/pci/devices", "the bridges above are not known");
	set_acs(c, row, a, b);
}

/* -- what NVML and ROCm say ------------------------------------------------------------------------------------------------ */

static bool is_up_to(const struct json *link, struct str address, bool *ret_to_switch)
{
	struct str to = str_n("", 0), kind = str_n("", 0);
	bool up = false;

	parse_json_bool(parse_json_get(link, "up"), &up);
	parse_json_text(parse_json_get(link, "to"), &to);
	parse_json_text(parse_json_get(link, "kind"), &kind);
	*ret_to_switch = up && str_is(kind, "switch");
	return up && str_eq(to, address);
}

static const struct json *gpu_with_index(const struct json *gpus, int64_t index)
{
	int64_t i;

	for (const struct json *g = parse_json_first(gpus); g; g = g->next)
		if (parse_json_int(parse_json_get(g, "index"), &i) && i == index)
			return g;
	return NULL;
}

/* Links from one to the other, or through switches: then as many as the weaker of both has. */
static int64_t links_between(const struct json *a, const struct json *b)
{
	int64_t direct = 0, switched[2] = {0, 0};
	const struct json *ends[2] = {a, b};
	struct str address = str_n("", 0);
	bool to_switch;

	parse_json_text(parse_json_get(b, "pci"), &address);
	for (int e = 0; e < 2; e++)
		for (const struct json *l = parse_json_first(parse_json_get(ends[e], "nvlinks")); l; l = l->next) {
			bool to_other = is_up_to(l, address, &to_switch);

			direct += e == 0 && address.len > 0 && to_other;
			switched[e] += to_switch;
		}
	return direct ? direct : switched[0] < switched[1] ? switched[0] : switched[1];
}

static struct facts_row *pair_row(struct collect *c, int64_t a, int64_t b)
{
	return facts_find(c->facts, gpu_pair__pair, arena_printf(c->arena, "%d-%d", (int)(a < b ? a : b), (int)(a < b ? b : a)));
}

static void merge_nvml_pairs(struct collect *c)
{
	struct probe_answer answer;
	const struct json *gpus;

	if (!facts_find(c->facts, driver__vendor, "nvidia"))
		return;
	probe_ask(c, "nvml", &answer);
	gpus = parse_json_get(answer.answer, "gpus");
	for (const struct json *p = parse_json_first(parse_json_get(answer.answer, "pairs")); p; p = p->next) {
		const struct json *ga, *gb;
		struct facts_row *row;
		struct str text;
		int64_t a, b, links = 0;
		bool nvlink = false;

		if (!parse_json_int(parse_json_get(p, "a"), &a) || !parse_json_int(parse_json_get(p, "b"), &b) || a < 0 || b < 0 ||
			a >= GPUS_MAX || b >= GPUS_MAX)
			continue;
		row = pair_row(c, a, b);
		if (!row)
			continue;
		ga = gpu_with_index(gpus, a);
		gb = gpu_with_index(gpus, b);
		if (parse_json_get(ga, "nvlinks") && parse_json_get(gb, "nvlinks")) {
			links = links_between(ga, gb);
			facts_int(row, gpu_pair__nvlinks, links, "probe nvml");
		}
		parse_json_bool(parse_json_get(p, "nvlink"), &nvlink);
		if (links > 0 || nvlink)
			facts_text(row, gpu_pair__path, "NVL", "probe nvml");
		else if (parse_json_text(parse_json_get(p, "path"), &text) && !facts_get_text(row, gpu_pair__path))
			facts_str(row, gpu_pair__path, text, "probe nvml");
		if (parse_json_text(parse_json_get(p, "p2p"), &text))
			facts_str(row, gpu_pair__p2p, text, "probe nvml");
	}
}

static void merge_rocm_pairs(struct collect *c)
{
	struct probe_answer answer;

	if (!facts_find(c->facts, gpu__vendor, "amd"))
		return;
	probe_ask(c, "rocm", &answer);
	for (const struct json *p = parse_json_first(parse_json_get(answer.answer, "pairs")); p; p = p->next) {
		struct facts_row *row;
		struct str link;
		int64_t a, b;

		if (!parse_json_int(parse_json_get(p, "a"), &a) || !parse_json_int(parse_json_get(p, "b"), &b) || a < 0 || b < 0 ||
			a >= GPUS_MAX || b >= GPUS_MAX)
			continue;
		row = pair_row(c, a, b);
		if (row && parse_json_text(parse_json_get(p, "link"), &link) && str_is(link, "XGMI"))
			facts_text(row, gpu_pair__path, "XGMI", "probe rocm");
	}
}

void collect_gpu_pair(struct collect *c)
{
	struct place *places = arena_array(c->arena, GPUS_MAX, sizeof *places);
	size_t count = 0;

	for (struct facts_row *r = c->facts->first[TABLE_gpu]; r && count < GPUS_MAX; r = r->next) {
		const char *vendor = facts_get_text(r, gpu__vendor);

		if (vendor && (str_is(str_of(vendor), "nvidia") || str_is(str_of(vendor), "amd")) && find_place(c, r, &places[count]))
			count++;
	}
	facts_table_read(c->facts, TABLE_gpu_pair);
	for (size_t i = 0; i < count; i++)
		for (size_t k = i + 1; k < count; k++)
			if (str_is(str_of(facts_get_text(places[i].gpu, gpu__vendor)), facts_get_text(places[k].gpu, gpu__vendor)))
				add_pair(c, &places[i], &places[k]);
	merge_nvml_pairs(c);
	merge_rocm_pairs(c);
}
