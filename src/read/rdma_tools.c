/* ibstat, ibstatus, ibv_devinfo (-v), ibdev2netdev, ibv_devices, rdma link, show_gids, ls /sys/class/infiniband: ports of InfiniBand and
 * RoCE adapters. */
#include "read/fill.h"
#include "read/read.h"
#include <ctype.h>

static void set_state(struct facts_row *row, struct str value, const char *origin)
{
	static const struct {
		const char *said, *state;
	} states[] = {{"Active", "ACTIVE"}, {"ACTIVE", "ACTIVE"}, {"Down", "DOWN"}, {"DOWN", "DOWN"}, {"Initializing", "INIT"},
		{"INIT", "INIT"}, {"Init", "INIT"}, {"Armed", "ARMED"}, {"ARMED", "ARMED"}};
	for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
		if (str_is(value, states[i].said))
			read_fill_str(row, rdma_port__state, str_of(states[i].state), origin);
}

static struct str word_of(struct str s)
{
	s = str_trim(s);
	return str_slice(s, 0, str_find_char(s, ' ', 0));
}

/* "200", "200 Gb/sec (4X HDR)" */
static void set_rate(struct facts_row *row, struct str value, const char *origin)
{
	double rate;
	if (str_to_real(word_of(value), &rate) == 0 && rate > 0 && rate < 10000)
		read_fill_real(row, rdma_port__rate_gbps, rate, origin);
}

static void set_lid(struct facts_row *row, struct str value, const char *origin)
{
	int64_t n;
	uint64_t x;
	value = word_of(value);
	if (str_starts(value, "0x") && str_to_hex(value, &x) == 0)
		read_fill_int(row, rdma_port__lid, (int64_t)x, origin);
	else if (str_to_int(value, &n) == 0)
		read_fill_int(row, rdma_port__lid, n, origin);
}

static void set_phys(struct facts_row *row, struct str value, const char *origin)
{
	/* rdma link and ibv_devinfo write LINK_UP and POLLING */
	value = word_of(value);
	read_fill_str(row, rdma_port__phys_state,
		str_is(value, "LINK_UP")            ? STR("LinkUp")
			: str_is(value, "POLLING")  ? STR("Polling")
			: str_is(value, "DISABLED") ? STR("Disabled")
						    : value,
		origin);
}

/* CA 'mlx5_0' … Firmware version: 28.39.1002 … Port 1: State: Active, Physical state: LinkUp, Rate: 200, Base lid: 12, Link layer:
 * InfiniBand */
static size_t read_ibstat(const struct read_input *in, struct facts *f)
{
	struct str device = {0}, firmware = {0};
	struct facts_row *row = NULL;
	size_t i = 0, last = 0;
	for (; i < in->count && i < last + 20; i++) {
		struct str t = str_trim(in->line[i].text), key, value, command;
		const char *origin = read_origin(f, in, i);
		int64_t n;
		if (read_prompt(in->line[i].text, &command))
			break;
		if (str_starts(t, "CA '")) {
			device = str_slice(t, 4, str_find_char(t, '\'', 4));
			firmware = str_n("", 0);
			row = NULL;
			last = i;
			continue;
		}
		if (!device.len || !str_split(t, ':', &key, &value))
			continue;
		if (str_starts(key, "Port ") && str_to_int(str_skip(key, 5), &n) == 0) {
			row = read_rdma_port(f, device, n);
			read_fill_str(row, rdma_port__firmware, firmware, origin);
		} else if (str_is(key, "Firmware version")) {
			firmware = value;
		} else if (row && str_is(key, "State")) {
			set_state(row, value, origin);
		} else if (row && str_is(key, "Physical state")) {
			set_phys(row, value, origin);
		} else if (row && str_is(key, "Rate")) {
			set_rate(row, value, origin);
		} else if (row && str_is(key, "Base lid")) {
			set_lid(row, value, origin);
		} else if (row && str_is(key, "Link layer")) {
			read_fill_str(row, rdma_port__link_layer, value, origin);
		} else {
			continue;
		}
		last = i;
	}
	facts_table_read(f, TABLE_rdma_port);
	return last + 1;
}

/* Infiniband device 'mlx5_0' port 1 status: … state: 4: ACTIVE, phys state: 5: LinkUp, rate: 200 Gb/sec (4X HDR), link_layer: InfiniBand */
static size_t read_ibstatus(const struct read_input *in, struct facts *f)
{
	struct facts_row *row = NULL;
	size_t i = 0, last = 0;
	for (; i < in->count && i < last + 12; i++) {
		struct str t = str_trim(in->line[i].text), key, value, command;
		const char *origin = read_origin(f, in, i);
		size_t port = str_find(t, "' port ", 0);
		int64_t n;
		if (read_prompt(in->line[i].text, &command))
			break;
		if (str_starts(t, "Infiniband device '") && port != SIZE_MAX && str_to_int(word_of(str_skip(t, port + 7)), &n) == 0) {
			row = read_rdma_port(f, str_slice(t, 19, port), n);
			last = i;
			continue;
		}
		if (!row || !str_split(t, ':', &key, &value))
			continue;
		size_t colon = str_find(value, ": ", 0);
		struct str name = colon == SIZE_MAX ? value : str_skip(value, colon + 2);
		if (str_is(key, "state"))
			set_state(row, str_trim(name), origin);
		else if (str_is(key, "phys state"))
			set_phys(row, name, origin);
		else if (str_is(key, "rate"))
			set_rate(row, value, origin);
		else if (str_is(key, "base lid"))
			set_lid(row, value, origin);
		else if (str_is(key, "link_layer"))
			read_fill_str(row, rdma_port__link_layer, value, origin);
		last = i;
	}
	return row ? last + 1 : 0;
}

/* The GIDs of one port, as they are counted. */
struct gids {
	struct facts_row *row;
	int64_t set, rocev2_ipv4;
	const char *origin;
};

static void close_gids(struct gids *g)
{
	if (g->row && g->set) {
		read_fill_int(g->row, rdma_port__gids, g->set, g->origin);
		if (g->rocev2_ipv4 >= 0)
			read_fill_int(g->row, rdma_port__rocev2_ipv4_gid, g->rocev2_ipv4, g->origin);
		else
			facts_gap(g->row, rdma_port__rocev2_ipv4_gid, GAP_ABSENT, g->origin, NULL);
	}
	*g = (struct gids){.rocev2_ipv4 = -1};
}

/* An IPv4 address as a GID: ::ffff:10.1.2.3, or its sixteen bytes. */
static bool is_ipv4_gid(struct str gid)
{
	return str_has(gid, "::ffff:") || str_starts(gid, "0000:0000:0000:0000:0000:ffff:");
}

/* "GID[  3]:  ::ffff:10.1.2.3, RoCE v2" */
static void devinfo_gid(struct gids *g, struct facts_row *row, struct str key, struct str rest, const char *origin)
{
	int64_t index;
	size_t comma = str_find_char(rest, ',', 0);
	if (g->row != row) {
		close_gids(g);
		g->row = row;
	}
	g->origin = origin;
	if (str_to_int(str_trim(str_slice(key, 4, str_find_char(key, ']', 0))), &index) < 0)
		return;
	g->set++;
	if (g->rocev2_ipv4 < 0 && is_ipv4_gid(str_slice(rest, 0, comma)) && str_has(rest, "RoCE v2"))
		g->rocev2_ipv4 = index;
}

/* hca_id: mlx5_0 … fw_ver, board_id … port: 1, state: PORT_ACTIVE (4), port_lid, link_layer; with -v the physical state and the GIDs */
static size_t read_ibv_devinfo(const struct read_input *in, struct facts *f)
{
	struct str device = {0}, firmware = {0}, board = {0};
	struct facts_row *row = NULL;
	struct gids gids = {.rocev2_ipv4 = -1};
	size_t i = 0;
	for (; i < in->count && i < 4000; i++) {
		struct str key, value, command;
		const char *origin = read_origin(f, in, i);
		int64_t n;
		if (read_prompt(in->line[i].text, &command))
			break;
		if (!str_split(in->line[i].text, ':', &key, &value))
			continue;
		if (str_is(key, "hca_id")) {
			device = value;
			firmware = board = str_n("", 0);
			row = NULL;
		} else if (str_is(key, "fw_ver")) {
			firmware = value;
		} else if (str_is(key, "board_id")) {
			board = value;
		} else if (device.len && str_is(key, "port") && str_to_int(value, &n) == 0) {
			row = read_rdma_port(f, device, n);
			read_fill_str(row, rdma_port__firmware, firmware, origin);
			read_fill_str(row, rdma_port__board, board, origin);
		} else if (device.len && str_is(key, "state") && str_starts(value, "PORT_")) {
			/* a grep may have left out the line of the port */
			row = row ? row : read_rdma_port(f, device, 1);
			set_state(row, word_of(str_skip(value, 5)), origin);
		} else if (row && str_is(key, "phys_state")) {
			set_phys(row, value, origin);
		} else if (row && str_is(key, "port_lid")) {
			set_lid(row, value, origin);
		} else if (row && str_is(key, "link_layer")) {
			read_fill_str(row, rdma_port__link_layer, value, origin);
		} else if (row && str_starts(key, "GID[")) {
			devinfo_gid(&gids, row, key, value, origin);
		}
	}
	close_gids(&gids);
	facts_table_read(f, TABLE_rdma_port);
	return i;
}

/* mlx5_0 port 1 ==> eth2 (Up) */
static size_t read_ibdev2netdev(const struct read_input *in, struct facts *f)
{
	size_t i = 0;
	for (; i < in->count && i < 200; i++) {
		struct str rest = in->line[i].text, device, word, netdev;
		const char *origin = read_origin(f, in, i);
		int64_t port;
		if (!str_has(rest, " ==> ") || !str_next_word(&rest, &device) || !str_next_word(&rest, &word) || !str_is(word, "port") ||
			!str_next_word(&rest, &word) || str_to_int(word, &port) < 0)
			break;
		struct facts_row *row = read_rdma_port(f, device, port);
		if (!str_next_word(&rest, &word) || !str_next_word(&rest, &netdev))
			continue;
		read_fill_str(row, rdma_port__netdev, netdev, origin);
		struct facts_row *interface = read_interface(f, netdev);
		read_fill_str(interface, interface__rdma_device, device, origin);
		if (str_next_word(&rest, &word) && (str_is(word, "(Up)") || str_is(word, "(Down)")))
			read_fill_bool(interface, interface__running, str_is(word, "(Up)"), origin);
	}
	return i;
}

/* device, node GUID; rows "mlx5_0 946dae0300a1b2c4" */
static size_t read_ibv_devices(const struct read_input *in, struct facts *f)
{
	size_t i = 1;
	for (; i < in->count && i < 200; i++) {
		struct str rest = in->line[i].text, device, guid;
		uint64_t number;
		if (!str_next_word(&rest, &device) || !str_next_word(&rest, &guid))
			break;
		if (str_starts(device, "---"))
			continue;
		if (guid.len != 16 || str_to_hex(guid, &number) < 0)
			break;
		read_rdma_port(f, device, 1);
	}
	if (i > 2)
		facts_table_read(f, TABLE_rdma_port);
	return i > 2 ? i : 0;
}

/* "mlx5_0", "ibp12s0", "rocep160s0f0", "bnxt_re0", "hfi1_0", "rdmap0s6" */
static bool is_rdma_device(struct str s)
{
	static const char *const families[] = {"mlx", "ib", "roce", "bnxt", "hfi", "rdma", "irdma", "hns", "erdma", "qedr", "efa", "ionic"};
	bool digit = false, known = false;
	for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
		known |= str_starts(s, families[i]);
	for (size_t i = 0; i < s.len; i++) {
		if (!isalnum((unsigned char)s.ptr[i]) && s.ptr[i] != '_' && s.ptr[i] != '-')
			return false;
		digit |= isdigit((unsigned char)s.ptr[i]) != 0;
	}
	return known && digit && s.len < 32;
}

/* $ ls /sys/class/infiniband: names in columns, or with -l one "... mlx5_0 -> ../../devices/..." a line */
static size_t read_ls_infiniband(const struct read_input *in, struct facts *f)
{
	struct str command;
	size_t i = 1, found = 0;
	if (!read_prompt(in->line[0].text, &command) || !str_starts(command, "ls ") ||
		!(str_ends(command, "/sys/class/infiniband") || str_ends(command, "/sys/class/infiniband/")))
		return 0;
	for (; i < in->count && i < 200; i++) {
		struct str line = str_trim(in->line[i].text), word;
		if (!line.len || read_prompt(line, &command))
			break;
		if (str_starts(line, "total "))
			continue;
		bool linked = str_has(line, " -> "), all = true;
		struct str rest = str_slice(line, 0, str_find(line, " -> ", 0));
		size_t here = 0;
		for (struct str words = rest; all && !linked && str_next_word(&words, &word);)
			all = is_rdma_device(word);
		while (all && str_next_word(&rest, &word))
			if ((!linked || !rest.len) && is_rdma_device(word)) {
				read_rdma_port(f, word, 1);
				here++;
			}
		if (!here)
			break;
		found += here;
	}
	if (found)
		facts_table_read(f, TABLE_rdma_port);
	return found ? i : 0;
}

/* link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth2 */
static size_t read_rdma_link(const struct read_input *in, struct facts *f)
{
	size_t i = 0;
	for (; i < in->count && i < 200; i++) {
		struct str rest = in->line[i].text, word, name, value;
		const char *origin = read_origin(f, in, i);
		int64_t port = 1;
		if (!str_next_word(&rest, &word) || !str_is(word, "link") || !str_next_word(&rest, &name))
			break;
		size_t slash = str_find_char(name, '/', 0);
		if (slash == SIZE_MAX || str_to_int(str_skip(name, slash + 1), &port) < 0)
			break;
		struct facts_row *row = read_rdma_port(f, str_slice(name, 0, slash), port);
		while (str_next_word(&rest, &word) && str_next_word(&rest, &value)) {
			if (str_is(word, "state"))
				set_state(row, value, origin);
			else if (str_is(word, "physical_state"))
				set_phys(row, value, origin);
			else if (str_is(word, "netdev"))
				read_fill_str(row, rdma_port__netdev, value, origin);
		}
	}
	return i;
}

/* DEV PORT INDEX GID IPv4 VER DEV; rows "mlx5_0 1 3 0000:…:ffff:0a01:0203 10.1.2.3 v2 eth2" */
static size_t read_show_gids(const struct read_input *in, struct facts *f)
{
	struct gids gids = {.rocev2_ipv4 = -1};
	size_t i = 1;
	if (!str_has(in->line[0].text, "INDEX") || !str_has(in->line[0].text, "GID"))
		return 0;
	for (; i < in->count && i < 2000; i++) {
		struct str rest = in->line[i].text, word[7], command;
		int64_t port, index;
		int n = 0;
		if (read_prompt(rest, &command))
			break;
		while (n < 7 && str_next_word(&rest, &word[n]))
			n++;
		if (n && str_starts(word[0], "---"))
			continue;
		if (n < 5 || str_to_int(word[1], &port) < 0 || str_to_int(word[2], &index) < 0)
			break;
		struct facts_row *row = read_rdma_port(f, word[0], port);
		if (gids.row != row) {
			close_gids(&gids);
			gids.row = row;
		}
		gids.origin = read_origin(f, in, i);
		gids.set++;
		bool v2 = str_is(word[n - 1], "v2") || str_is(word[n - 2], "v2");
		if (gids.rocev2_ipv4 < 0 && v2 && is_ipv4_gid(word[3]))
			gids.rocev2_ipv4 = index;
		if (!str_is(word[n - 1], "v1") && !str_is(word[n - 1], "v2"))
			read_fill_str(row, rdma_port__netdev, word[n - 1], gids.origin);
	}
	close_gids(&gids);
	return i;
}

static const char *const ibstat_triggers[] = {"CA '", NULL};
static const char *const ibstatus_triggers[] = {"Infiniband device '", NULL};
static const char *const devinfo_triggers[] = {"hca_id:", NULL};
static const char *const netdev_triggers[] = {" ==> ", NULL};
static const char *const devices_triggers[] = {"node GUID", NULL};
static const char *const ls_triggers[] = {"/sys/class/infiniband", NULL};
static const char *const link_triggers[] = {"physical_state ", NULL};
static const char *const gids_triggers[] = {"INDEX\tGID", "INDEX  GID", "INDEX   GID", "INDEX GID", NULL};

const struct reader read_ibstat_reader = {"ibstat", ibstat_triggers, read_ibstat};
const struct reader read_ibstatus_reader = {"ibstatus", ibstatus_triggers, read_ibstatus};
const struct reader read_ibv_devinfo_reader = {"ibv_devinfo", devinfo_triggers, read_ibv_devinfo};
const struct reader read_ibdev2netdev_reader = {"ibdev2netdev", netdev_triggers, read_ibdev2netdev};
const struct reader read_rdma_link_reader = {"rdma link", link_triggers, read_rdma_link};
const struct reader read_show_gids_reader = {"show_gids", gids_triggers, read_show_gids};
const struct reader read_ibv_devices_reader = {"ibv_devices", devices_triggers, read_ibv_devices};
const struct reader read_ls_infiniband_reader = {"ls /sys/class/infiniband", ls_triggers, read_ls_infiniband};
