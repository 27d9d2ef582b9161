/* NCCL's own view of a machine: the XML of NCCL_TOPO_DUMP_FILE (system, cpu, pci, gpu, nvlink, nic, net), and that of NCCL_GRAPH_DUMP_FILE
 * (graphs, channels). */
#include "read/fill.h"
#include "read/read.h"

#define DEPTH_MAX 24
#define GPUS_MAX 64

struct gpu {
	struct facts_row *row;
	int64_t index, links;
	struct str address;
	struct str bridge[DEPTH_MAX]; /* PCI bridges above it, from the root */
	size_t bridges;
	int64_t numa;
	struct str target[32]; /* of its NVLinks: addresses of GPUs, or of switches */
	int64_t count[32];
	bool to_switch[32];
	size_t targets;
};

struct topology {
	struct facts *f;
	const struct read_input *in;
	size_t line;
	struct str tag[DEPTH_MAX], address[DEPTH_MAX]; /* open elements, and the address of those that are PCI */
	struct facts_row *device[DEPTH_MAX];
	size_t depth;
	int64_t numa;
	struct gpu *gpu;
	size_t gpus;
	bool ours;
};

/* The value of an attribute in `busid="0000:17:00.0" class="0x060400"`. */
static struct str attribute(struct str tag, const char *name)
{
	size_t n = strlen(name);
	for (size_t at = str_find(tag, name, 0); at != SIZE_MAX; at = str_find(tag, name, at + n)) {
		if (at == 0 || tag.ptr[at - 1] != ' ' || at + n + 1 >= tag.len || tag.ptr[at + n] != '=' || tag.ptr[at + n + 1] != '"')
			continue;
		size_t end = str_find_char(tag, '"', at + n + 2);
		return end == SIZE_MAX ? str_n("", 0) : str_slice(tag, at + n + 2, end);
	}
	return str_n("", 0);
}

static int64_t number(struct str tag, const char *name)
{
	int64_t n;
	return str_to_int(attribute(tag, name), &n) == 0 ? n : -1;
}

static const char *origin(struct topology *t)
{
	return read_origin(t->f, t->in, t->line);
}

static void take_pci(struct topology *t, struct str tag)
{
	struct str address = read_pci_address(t->f, attribute(tag, "busid")), class = attribute(tag, "class"),
		   vendor = attribute(tag, "vendor"), device = attribute(tag, "device");
	int64_t width = number(tag, "link_width");
	double rate;
	struct str speed = attribute(tag, "link_speed");
	if (!address.len)
		return;
	struct facts_row *row = read_pci_device(t->f, address);
	const char *kind = str_starts(class, "0x0604") ? "bridge"
		: str_starts(class, "0x0302") || str_starts(class, "0x0300") || str_starts(class, "0x0380") || str_starts(class, "0x1200")
		? "gpu"
		: str_starts(class, "0x0207") ? "infiniband"
		: str_starts(class, "0x02")   ? "nic"
		: str_starts(class, "0x0680") ? "nvswitch"
					      : NULL;
	if (kind)
		read_fill_str(row, pci_device__kind, str_of(kind), origin(t));
	if (str_starts(vendor, "0x"))
		read_fill_str(row, pci_device__vendor, str_skip(vendor, 2), origin(t));
	if (str_starts(device, "0x"))
		read_fill_str(row, pci_device__device, str_skip(device, 2), origin(t));
	if (width > 0 && width <= 32)
		read_fill_int(row, pci_device__link_width, width, origin(t));
	if (str_to_real(str_slice(speed, 0, str_find_char(speed, ' ', 0)), &rate) == 0 && rate > 0)
		read_fill_real(row, pci_device__link_speed_gts, rate, origin(t));
	if (t->numa >= 0)
		read_fill_int(row, pci_device__numa_node, t->numa, origin(t));
	if (t->depth < DEPTH_MAX) {
		t->address[t->depth] = address;
		t->device[t->depth] = row;
	}
}

static void take_gpu(struct topology *t, struct str tag)
{
	int64_t index = number(tag, "dev"), sm = number(tag, "sm"), width;
	if (index < 0 || index > 1023 || t->gpus == GPUS_MAX || !t->depth || !t->address[t->depth - 1].len)
		return;
	struct gpu *g = &t->gpu[t->gpus++];
	const char *vendor = facts_get_text(t->device[t->depth - 1], pci_device__vendor);
	*g = (struct gpu){.index = index, .numa = t->numa, .address = t->address[t->depth - 1]};
	for (size_t i = 0; i + 1 < t->depth; i++)
		if (t->address[i].len)
			g->bridge[g->bridges++] = t->address[i];
	bool amd = vendor && strcmp(vendor, "1002") == 0;
	g->row = read_gpu(t->f, index, amd ? "amd" : "nvidia");
	read_fill_str(g->row, gpu__pci_address, g->address, origin(t));
	if (!amd && sm >= 30 && sm < 200)
		read_fill_int(g->row, gpu__cc, sm, origin(t));
	if (t->numa >= 0)
		read_fill_int(g->row, gpu__numa_node, t->numa, origin(t));
	if (facts_get_int(t->device[t->depth - 1], pci_device__link_width, &width))
		read_fill_int(g->row, gpu__link_width, width, origin(t));
}

static void take_nvlink(struct topology *t, struct str tag)
{
	int64_t count = number(tag, "count");
	struct str class = attribute(tag, "tclass"), target = read_pci_address(t->f, attribute(tag, "target"));
	struct gpu *g = t->gpus ? &t->gpu[t->gpus - 1] : NULL;
	if (!g || count < 1 || count > 64 || g->targets == 32)
		return;
	g->target[g->targets] = target;
	g->count[g->targets] = count;
	g->to_switch[g->targets++] = str_starts(class, "0x0680");
	g->links += count;
}

static void take_net(struct topology *t, struct str tag)
{
	struct str name = attribute(tag, "name");
	int64_t speed = number(tag, "speed"), port = number(tag, "port");
	if (!name.len || name.len > 60)
		return;
	if (str_starts(name, "mlx") || str_starts(name, "bnxt_re") || str_starts(name, "irdma") || str_starts(name, "rdmap") ||
		str_starts(name, "efa_") || str_starts(name, "ib") || str_starts(name, "hns_") || str_starts(name, "erdma")) {
		struct facts_row *row = read_rdma_port(t->f, name, port > 0 ? port : 1);
		if (speed > 0)
			read_fill_real(row, rdma_port__rate_gbps, (double)speed / 1000, origin(t));
		if (t->numa >= 0)
			read_fill_int(row, rdma_port__numa_node, t->numa, origin(t));
		return;
	}
	struct facts_row *row = read_interface(t->f, name);
	read_fill_bool(row, interface__nccl_choice, true, origin(t));
	if (speed > 0)
		read_fill_int(row, interface__speed_mbps, speed, origin(t));
}

/* <graph id="0" … typeintra="NVL" typeinter="PIX" …> */
static void take_graph(struct topology *t, struct str tag)
{
	struct str intra = attribute(tag, "typeintra"), inter = attribute(tag, "typeinter");
	if (number(tag, "nchannels") == 0)
		return; /* not used: no SHARP, no NVLS */
	struct facts_row *row = facts_only(t->f, TABLE_nccl_choice);
	read_fill_str(row, nccl_choice__path, intra, origin(t));
	read_fill_str(row, nccl_choice__nic_path, inter, origin(t));
}

static void take_tag(struct topology *t, struct str tag, struct str name)
{
	int64_t numa = number(tag, "numaid");
	if (str_is(name, "system") || str_is(name, "graphs"))
		t->ours = true;
	else if (str_is(name, "cpu"))
		t->numa = numa >= 0 && numa < 1024 ? numa : -1;
	else if (str_is(name, "pci"))
		take_pci(t, tag);
	else if (str_is(name, "gpu"))
		take_gpu(t, tag);
	else if (str_is(name, "nvlink"))
		take_nvlink(t, tag);
	else if (str_is(name, "net"))
		take_net(t, tag);
	else if (str_is(name, "graph"))
		take_graph(t, tag);
}

/* The elements of one line. False at the end of the outermost one. */
static bool take_line(struct topology *t, struct str s)
{
	for (size_t open = str_find_char(s, '<', 0); open != SIZE_MAX; open = str_find_char(s, '<', open + 1)) {
		size_t close = str_find_char(s, '>', open);
		struct str tag = str_slice(s, open + 1, close), name;
		if (!tag.len || tag.ptr[0] == '?' || tag.ptr[0] == '!')
			continue;
		if (tag.ptr[0] == '/') {
			t->depth -= t->depth > 0;
			if (!t->depth)
				return false;
			continue;
		}
		size_t end = 0;
		while (end < tag.len && tag.ptr[end] != ' ' && tag.ptr[end] != '/')
			end++;
		name = str_slice(tag, 0, end);
		if (t->depth < DEPTH_MAX) {
			t->tag[t->depth] = name;
			t->address[t->depth] = str_n("", 0);
			t->device[t->depth] = NULL;
		}
		take_tag(t, tag, name);
		if (tag.ptr[tag.len - 1] != '/')
			t->depth += t->depth < DEPTH_MAX - 1;
	}
	return true;
}

/* -- pairs ------------------------------------------------------------------------------------------------------------------------- */

static int64_t links_between(const struct gpu *a, const struct gpu *b)
{
	int64_t direct = 0, over_a = 0, over_b = 0;
	for (size_t i = 0; i < a->targets; i++) {
		if (str_eq(a->target[i], b->address))
			direct += a->count[i];
		over_a += a->to_switch[i] ? a->count[i] : 0;
	}
	for (size_t i = 0; i < b->targets; i++)
		over_b += b->to_switch[i] ? b->count[i] : 0;
	return direct ? direct : over_a < over_b ? over_a : over_b;
}

static const char *way(const struct gpu *a, const struct gpu *b)
{
	size_t common = 0;
	while (common < a->bridges && common < b->bridges && str_eq(a->bridge[common], b->bridge[common]))
		common++;
	if (!common)
		return a->numa == b->numa ? "PHB" : "SYS";
	return a->bridges - common + b->bridges - common <= 2 ? "PIX" : "PXB";
}

static void take_pairs(struct topology *t)
{
	for (size_t i = 0; i < t->gpus; i++) {
		struct gpu *a = &t->gpu[i];
		if (a->links)
			read_fill_int(a->row, gpu__nvlinks_active, a->links, facts_value(a->row, gpu__pci_address)->origin);
		for (size_t k = i + 1; k < t->gpus; k++) {
			const struct gpu *b = &t->gpu[k];
			const char *from = facts_value(a->row, gpu__pci_address)->origin;
			int64_t links = links_between(a, b);
			if (a->index == b->index)
				continue;
			struct facts_row *pair = read_pair(t->f, a->index, b->index);
			read_fill_str(pair, gpu_pair__path, links ? STR("NVL") : str_of(way(a, b)), from);
			read_fill_int(pair, gpu_pair__nvlinks, links, from);
		}
	}
}

static size_t read_xml(const struct read_input *in, struct facts *f)
{
	struct topology t = {.f = f, .in = in, .numa = -1, .gpu = arena_array(f->arena, GPUS_MAX, sizeof *t.gpu)};
	size_t i = 0;
	for (; i < in->count; i++) {
		t.line = i;
		if (!take_line(&t, in->line[i].text)) {
			i++;
			break;
		}
	}
	take_pairs(&t);
	return t.ours ? i : 0;
}

static const char *const xml_triggers[] = {"<system version=", "<graphs version=", NULL};
const struct reader read_nccl_topology_reader = {"NCCL_TOPO_DUMP_FILE", xml_triggers, read_xml};
