/* ip addr, ip link, ip -br, ip -o, ip -j, ifconfig, ip route, route -n, ethtool, variables typed or printed by env. */
#include "read/fill.h"
#include "read/json_text.h"
#include "read/read.h"

static const char *kind_by_name(struct str name)
{
	static const struct {
		const char *prefix, *kind;
	} kinds[] = {{"lo", "loopback"}, {"docker", "docker"}, {"br-", "docker"}, {"virbr", "docker"}, {"cni", "docker"},
		{"flannel", "docker"}, {"cali", "docker"}, {"veth", "veth"}, {"tun", "vpn"}, {"tap", "vpn"}, {"wg", "vpn"},
		{"tailscale", "vpn"}, {"zt", "vpn"}, {"bond", "bond"}, {"ib", "ipoib"}, {"eth", "physical"}, {"en", "physical"},
		{"em", "physical"}};
	if (str_is(name, "lo"))
		return "loopback";
	for (size_t i = 1; i < sizeof kinds / sizeof kinds[0]; i++)
		if (str_starts(name, kinds[i].prefix))
			return kinds[i].kind;
	return "other";
}

static struct str after_word(struct str line, const char *word)
{
	size_t at = str_find(line, word, 0);
	struct str rest = at == SIZE_MAX ? str_n("", 0) : str_skip(line, at + strlen(word)), value = {"", 0};
	str_next_word(&rest, &value);
	return value;
}

static void address(struct facts *f, struct facts_row *row, struct str text, int family, const char *origin)
{
	size_t slash = str_find_char(text, '/', 0);
	int64_t prefix;
	bool has_prefix = slash != SIZE_MAX && str_to_int(str_skip(text, slash + 1), &prefix) == 0 && prefix >= 0 && prefix <= 128;
	text = str_slice(text, 0, slash);
	text = str_slice(text, 0, str_find_char(text, '%', 0));
	if (!text.len || str_starts(text, "fe80"))
		return;
	read_fill_str(row, family == 4 ? interface__ipv4 : interface__ipv6, text, origin);
	struct facts_row *a = facts_add(f, TABLE_address);
	facts_str(a, address__address, text, origin);
	facts_text(a, address__interface, facts_get_text(row, interface__name), origin);
	facts_int(a, address__family, family, origin);
	if (has_prefix)
		facts_int(a, address__prefix, prefix, origin);
	facts_text(a, address__scope, str_starts(text, "127.") || str_is(text, "::1") ? "host" : "global", origin);
}

static struct facts_row *interface_row(struct facts *f, struct str name, const char *origin)
{
	struct facts_row *row = read_interface(f, name);
	read_fill_str(row, interface__kind, str_of(kind_by_name(name)), origin);
	return row;
}

/* "2: eth0: <BROADCAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP …" or "eth0: flags=4163<UP,…>  mtu 9000". */
static bool head_line(struct str line, struct str *ret_name)
{
	struct str rest = str_trim(line), word;
	int64_t n;
	if (!str_next_word(&rest, &word) || !word.len || word.ptr[word.len - 1] != ':' || !str_has(line, "mtu "))
		return false;
	word.len--;
	if (str_to_int(word, &n) == 0) {
		if (!str_next_word(&rest, &word) || word.ptr[word.len - 1] != ':')
			return false;
		word.len--;
	}
	*ret_name = str_slice(word, 0, str_find_char(word, '@', 0));
	return ret_name->len > 0;
}

static size_t read_ip(const struct read_input *in, struct facts *f)
{
	struct facts_row *row = NULL;
	size_t i = 0, last = 0;
	for (; i < in->count && i < last + 12; i++) {
		struct str line = in->line[i].text, name, command, t = str_trim(line);
		const char *origin = read_origin(f, in, i);
		int64_t mtu;
		if (read_prompt(line, &command))
			break;
		if (head_line(line, &name)) {
			row = interface_row(f, name, origin);
			last = i;
			if (str_to_int(after_word(line, "mtu "), &mtu) == 0)
				read_fill_int(row, interface__mtu, mtu, origin);
			read_fill_bool(row, interface__up, str_has(line, "<UP") || str_has(line, ",UP"), origin);
			read_fill_bool(row, interface__running, str_has(line, "LOWER_UP") || str_has(line, "RUNNING"), origin);
		} else if (row && (str_starts(t, "link/ether ") || str_starts(t, "ether "))) {
			read_fill_str(row, interface__mac, after_word(t, "ether "), origin);
			last = i;
		} else if (row && str_starts(t, "inet ")) {
			address(f, row, after_word(t, "inet "), 4, origin);
			last = i;
		} else if (row && str_starts(t, "inet6 ")) {
			address(f, row, after_word(t, "inet6 "), 6, origin);
			last = i;
		}
	}
	return row ? last + 1 : 0;
}

/* ip -o addr: "2: eth0    inet 10.0.0.5/24 brd 10.0.0.255 scope global eth0\       valid_lft forever preferred_lft forever" */
static size_t read_ip_oneline(const struct read_input *in, struct facts *f)
{
	size_t i = 0;
	for (; i < in->count && i < 200; i++) {
		struct str rest = str_trim(in->line[i].text), number, name, family, a;
		int64_t n;
		if (!str_next_word(&rest, &number) || number.ptr[number.len - 1] != ':' ||
			str_to_int(str_slice(number, 0, number.len - 1), &n) < 0 || !str_next_word(&rest, &name) ||
			!str_next_word(&rest, &family) || !str_next_word(&rest, &a) || !(str_is(family, "inet") || str_is(family, "inet6")))
			break;
		const char *origin = read_origin(f, in, i);
		address(f, interface_row(f, name, origin), a, str_is(family, "inet") ? 4 : 6, origin);
	}
	return i;
}

/* ip -br addr: "eth0   UP   10.0.0.5/24 fe80::…/64" */
static size_t read_ip_brief(const struct read_input *in, struct facts *f)
{
	size_t i = 1;
	struct str command;
	if (!read_prompt(in->line[0].text, &command))
		return 0;
	bool link = str_has(command, "link") || str_ends(command, " l");
	for (; i < in->count && i < 200; i++) {
		struct str rest = in->line[i].text, name, state, a;
		const char *origin = read_origin(f, in, i);
		if (read_prompt(in->line[i].text, &command) || !str_next_word(&rest, &name) || !str_next_word(&rest, &state))
			break;
		if (!str_is(state, "UP") && !str_is(state, "DOWN") && !str_is(state, "UNKNOWN"))
			break;
		name = str_slice(name, 0, str_find_char(name, '@', 0));
		struct facts_row *row = interface_row(f, name, origin);
		read_fill_bool(row, interface__running, !str_is(state, "DOWN"), origin);
		while (!link && str_next_word(&rest, &a))
			address(f, row, a, str_has(a, ":") ? 6 : 4, origin);
	}
	return i;
}

/* The interface of a net/tools ifconfig: "eth0      Link encap:Ethernet  HWaddr 00:16:3e:0a:bb:cc", its lines below it. */
static size_t read_old_ifconfig(const struct read_input *in, struct facts *f)
{
	struct facts_row *row = NULL;
	size_t i = 0, last = 0;
	for (; i < in->count && i < last + 12; i++) {
		struct str line = in->line[i].text, t = str_trim(line), rest = line, word, command;
		const char *origin = read_origin(f, in, i);
		int64_t mtu;
		if (i && read_prompt(line, &command))
			break;
		if (str_has(line, "Link encap:") && str_next_word(&rest, &word)) {
			row = interface_row(f, str_slice(word, 0, str_find_char(word, ':', 0)), origin);
			if (str_has(line, "Ethernet"))
				read_fill_str(row, interface__mac, after_word(line, "HWaddr "), origin);
		} else if (row && str_starts(t, "inet addr:")) {
			address(f, row, after_word(t, "inet addr:"), 4, origin);
		} else if (row && str_starts(t, "inet6 addr:")) {
			address(f, row, after_word(t, "inet6 addr:"), 6, origin);
		} else if (row && str_has(t, "MTU:")) {
			if (str_to_int(after_word(t, "MTU:"), &mtu) == 0)
				read_fill_int(row, interface__mtu, mtu, origin);
			read_fill_bool(row, interface__up, str_starts(t, "UP "), origin);
			read_fill_bool(row, interface__running, str_has(t, " RUNNING "), origin);
		} else {
			continue;
		}
		last = i;
	}
	return row ? last + 1 : 0;
}

static void add_route(struct facts *f, struct str destination, struct str gateway, struct str interface, int64_t metric, const char *origin)
{
	for (const struct facts_row *old = f->first[TABLE_route]; old; old = old->next) {
		const char *to = facts_get_text(old, route__destination), *by = facts_get_text(old, route__interface);
		if (to && by && str_is(destination, to) && str_is(interface, by))
			return; /* two commands told of it */
	}
	if (f->count[TABLE_route] >= 1024)
		return;
	struct facts_row *row = facts_add(f, TABLE_route);
	facts_str(row, route__destination, destination, origin);
	if (gateway.len)
		facts_str(row, route__gateway, gateway, origin);
	else
		facts_gap(row, route__gateway, GAP_ABSENT, origin, NULL);
	facts_str(row, route__interface, interface, origin);
	if (metric >= 0)
		facts_int(row, route__metric, metric, origin);
	if (str_is(destination, "default"))
		read_fill_bool(interface_row(f, interface, origin), interface__default_route, true, origin);
}

/* "default via 10.0.0.1 dev eth0 metric 100", "10.0.0.0/24 dev eth0 proto kernel scope link src 10.0.0.5" */
static size_t read_route(const struct read_input *in, struct facts *f)
{
	size_t i = 0;
	struct str command;
	for (; i < in->count && i < 1000; i++) {
		struct str line = str_trim(in->line[i].text), rest = line, destination, device = after_word(line, " dev ");
		int64_t metric = -1;
		if (read_prompt(in->line[i].text, &command) || !device.len || !str_next_word(&rest, &destination))
			break;
		bool network = destination.ptr[0] >= '0' && destination.ptr[0] <= '9' && str_find_char(destination, '.', 0) != SIZE_MAX;
		if (!str_is(destination, "default") && !network)
			break;
		if (str_to_int(after_word(line, " metric "), &metric) < 0)
			metric = -1;
		add_route(f, destination, after_word(line, " via "), device, metric, read_origin(f, in, i));
	}
	return i;
}

/* 255.255.255.0 → 24; -1: it is no mask */
static int prefix_of(struct str mask)
{
	uint32_t bits = 0;
	struct str part;
	for (int i = 0; i < 4; i++) {
		int64_t n;
		if (!str_next_field(&mask, '.', &part) || str_to_int(part, &n) < 0 || n < 0 || n > 255)
			return -1;
		bits = bits << 8 | (uint32_t)n;
	}
	int prefix = __builtin_popcount(bits);
	return bits == (prefix ? UINT32_MAX << (32 - prefix) : 0) ? prefix : -1;
}

/* route -n, netstat -rn: "0.0.0.0   10.10.1.1   0.0.0.0   UG   100   0   0 eno1" */
static size_t read_route_table(const struct read_input *in, struct facts *f)
{
	size_t i = 1;
	if (!str_has(in->line[0].text, "Gateway") || !str_has(in->line[0].text, "Iface"))
		return 0;
	bool metrics = str_has(in->line[0].text, "Metric");
	for (; i < in->count && i < 1000; i++) {
		struct str rest = in->line[i].text, word[8];
		int n = 0, prefix;
		int64_t metric = -1;
		while (n < 8 && str_next_word(&rest, &word[n]))
			n++;
		if (n != 8 || (prefix = prefix_of(word[2])) < 0)
			break;
		bool direct = str_is(word[1], "0.0.0.0") || str_is(word[1], "*");
		struct str to = str_is(word[0], "0.0.0.0") || str_is(word[0], "default")
			? STR("default")
			: str_of(arena_printf(f->arena, "%.*s/%d", (int)word[0].len, word[0].ptr, prefix));
		if (!metrics || str_to_int(word[4], &metric) < 0)
			metric = -1;
		add_route(f, to, direct ? str_n("", 0) : word[1], word[7], metric, read_origin(f, in, i));
	}
	return i;
}

/* -- ip -j ------------------------------------------------------------------------------------------------------------------------ */

static struct str member(const struct json *object, const char *key)
{
	struct str s;
	return parse_json_text(parse_json_get(object, key), &s) ? s : str_n("", 0);
}

static bool has_flag(const struct json *flags, const char *name)
{
	struct str s;
	for (const struct json *e = parse_json_first(flags); e; e = e->next)
		if (parse_json_text(e, &s) && str_is(s, name))
			return true;
	return false;
}

static void json_interface(struct json_text *t, const struct json *e)
{
	const struct json *flags = parse_json_get(e, "flags"), *name = parse_json_get(e, "ifname");
	const char *origin = json_text_origin(t, name);
	struct facts_row *row = interface_row(t->f, member(e, "ifname"), origin);
	int64_t n;
	if (parse_json_int(parse_json_get(e, "mtu"), &n))
		read_fill_int(row, interface__mtu, n, origin);
	if (str_is(member(e, "link_type"), "ether"))
		read_fill_str(row, interface__mac, member(e, "address"), origin);
	if (flags) {
		read_fill_bool(row, interface__up, has_flag(flags, "UP"), origin);
		read_fill_bool(row, interface__running, has_flag(flags, "LOWER_UP"), origin);
	}
	for (const struct json *a = parse_json_first(parse_json_get(e, "addr_info")); a; a = a->next) {
		struct str local = member(a, "local");
		bool four = str_is(member(a, "family"), "inet");
		if (local.len && parse_json_int(parse_json_get(a, "prefixlen"), &n))
			local = str_of(arena_printf(t->f->arena, "%.*s/%lld", (int)local.len, local.ptr, (long long)n));
		address(t->f, row, local, four ? 4 : 6, json_text_origin(t, parse_json_get(a, "local")));
	}
}

static size_t read_ip_json(const struct read_input *in, struct facts *f)
{
	struct json_text t;
	bool any = false;
	if (!json_text_read(in, f, &t))
		return 0;
	for (const struct json *e = parse_json_first(t.root); e; e = e->next) {
		struct str to = member(e, "dst"), device = member(e, "dev");
		int64_t metric = -1;
		if (member(e, "ifname").len) {
			json_interface(&t, e);
		} else if (to.len && device.len) {
			parse_json_int(parse_json_get(e, "metric"), &metric);
			add_route(f, to, member(e, "gateway"), device, metric, json_text_origin(&t, parse_json_get(e, "dst")));
		} else {
			continue;
		}
		any = true;
	}
	return any ? t.used : 0;
}

/* ethtool eth0: "Settings for eth0:", "	Speed: 25000Mb/s"; with grep only the command names the interface. */
static size_t read_ethtool(const struct read_input *in, struct facts *f)
{
	struct str line = str_trim(in->line[0].text), name = {0}, command, word;
	size_t i = 1;
	if (str_starts(line, "Settings for ")) {
		name = str_slice(line, 13, str_find_char(line, ':', 0));
	} else if (read_prompt(line, &command) && str_has(command, "ethtool ")) {
		command = str_skip(command, str_find(command, "ethtool ", 0) + 8);
		while (str_next_word(&command, &word) && !name.len)
			name = word.ptr[0] == '-' ? str_n("", 0) : word;
	}
	if (!name.len || name.len > 15)
		return 0;
	for (; i < in->count && i < 80; i++) {
		struct str t = str_trim(in->line[i].text), key, value;
		int64_t mbps;
		if (read_prompt(in->line[i].text, &command) || str_starts(t, "Settings for "))
			break;
		if (!str_split(t, ':', &key, &value))
			continue;
		const char *origin = read_origin(f, in, i);
		if (str_is(key, "Speed") && str_ends(value, "Mb/s") && str_to_int(str_slice(value, 0, value.len - 4), &mbps) == 0 &&
			mbps > 0)
			read_fill_int(interface_row(f, name, origin), interface__speed_mbps, mbps, origin);
		else if (str_is(key, "Link detected") && (str_is(value, "yes") || str_is(value, "no")))
			read_fill_bool(interface_row(f, name, origin), interface__running, str_is(value, "yes"), origin);
		else if (str_is(key, "driver"))
			read_fill_str(interface_row(f, name, origin), interface__driver, value, origin);
	}
	return i;
}

static bool variable_name(struct str s)
{
	if (s.len < 4 || s.len > 80)
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (!((s.ptr[i] >= 'A' && s.ptr[i] <= 'Z') || s.ptr[i] == '_' || (i && s.ptr[i] >= '0' && s.ptr[i] <= '9')))
			return false;
	return true;
}

static struct str without_quotes(struct str value)
{
	if (value.len >= 2 && (value.ptr[0] == '"' || value.ptr[0] == '\''))
		value = str_slice(value, 1, value.ptr[value.len - 1] == value.ptr[0] ? value.len - 1 : value.len);
	while (value.len && value.ptr[value.len - 1] == ';')
		value.len--;
	return value;
}

static bool take_variable(struct facts *f, struct str word, const char *origin)
{
	size_t eq = str_find_char(word, '=', 0);
	if (eq == SIZE_MAX || !variable_name(str_slice(word, 0, eq)))
		return false;
	read_variable(f, str_slice(word, 0, eq), without_quotes(str_skip(word, eq + 1)), origin);
	return true;
}

/* docker run -e NAME=value, mpirun -x NAME=value: of a command that goes on in other ways. */
static size_t options_of_launcher(struct str command, struct facts *f, const char *origin)
{
	struct str word;
	size_t found = 0;
	bool option = false;
	if (!str_has(command, "docker ") && !str_has(command, "podman ") && !str_has(command, "mpirun") && !str_has(command, "mpiexec") &&
		!str_has(command, "nerdctl "))
		return 0;
	while (str_next_word(&command, &word)) {
		if (option)
			found += take_variable(f, word, origin);
		else if (str_starts(word, "--env="))
			found += take_variable(f, str_skip(word, 6), origin);
		option = str_is(word, "-e") || str_is(word, "-x") || str_is(word, "--env");
	}
	return found;
}

/* What a line of env prints: a variable that training software reads, alone on it. */
static bool env_line(struct facts *f, struct str line, const char *origin)
{
	static const char *const prefixes[] = {"NCCL_", "TORCH_", "TORCHELASTIC_", "PYTORCH_", "CUDA_", "NVIDIA_", "GLOO_", "UCX_", "OMPI_",
		"PMI", "HCCL_", "ASCEND_", "HIP_", "ROCR_", "HSA_", "FI_", "MASTER_", "LOCAL_", "GROUP_", "ROLE_", "LD_", "PYTHON",
		"SLURM_", "CONDA_PREFIX", "CONDA_DEFAULT", "VIRTUAL_ENV", "OMP_", "MKL_", "RANK=", "WORLD_SIZE=", "NODE_RANK=", "TRITON_",
		"PET_"};
	struct str t = str_trim(line);
	if (str_starts(t, "declare -x "))
		t = str_skip(t, 11);
	else if (str_starts(t, "export "))
		t = str_skip(t, 7);
	for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
		if (str_starts(t, prefixes[i]))
			return take_variable(f, t, origin);
	return false;
}

static bool is_assignment(struct str line)
{
	struct str t = str_trim(line);
	if (str_starts(t, "declare -x "))
		t = str_skip(t, 11);
	size_t eq = str_find_char(t, '=', 0);
	for (size_t i = 0; i < t.len && i < eq; i++)
		if (!((t.ptr[i] >= 'A' && t.ptr[i] <= 'Z') || (t.ptr[i] >= 'a' && t.ptr[i] <= 'z') || t.ptr[i] == '_' ||
			    (i && t.ptr[i] >= '0' && t.ptr[i] <= '9')))
			return false;
	return eq != SIZE_MAX && eq > 0;
}

/* NAME=value, alone on a line, after export or a prompt, or before a command; NCCL's "NCCL_X set by environment to y." is not one of these.
 */
static size_t read_variables(const struct read_input *in, struct facts *f)
{
	struct str line = str_trim(in->line[0].text), command, word;
	const char *origin = read_origin(f, in, 0);
	size_t found = 0, i = 1;
	bool prompt = read_prompt(line, &command);
	struct str rest = prompt ? command : line;
	if (str_starts(rest, "- "))
		rest = str_skip(rest, 2);
	if (options_of_launcher(rest, f, origin))
		return 1;
	if (str_starts(rest, "declare -x "))
		rest = str_skip(rest, 11);
	while (str_next_word(&rest, &word)) {
		if (str_is(word, "export") || str_is(word, "env") || str_is(word, "sudo") || str_is(word, "-e") || str_is(word, "-x") ||
			str_is(word, "ENV"))
			continue;
		if (!take_variable(f, word, origin))
			break;
		found++;
	}
	if (!found)
		return 0;
	/* Of the output of env all lines count, also those that have no name of their own here. */
	for (; i < in->count && i < 2000 && is_assignment(in->line[i].text); i++)
		env_line(f, in->line[i].text, read_origin(f, in, i));
	return i;
}

/* echo $LD_LIBRARY_PATH and its answer. */
static size_t read_echo(const struct read_input *in, struct facts *f)
{
	struct str command;
	if (!read_prompt(in->line[0].text, &command) || in->count < 2 || !str_starts(command, "echo $"))
		return 0;
	struct str name = str_skip(command, 6), value = str_trim(in->line[1].text), other;
	if (name.len && name.ptr[0] == '{')
		name = str_slice(name, 1, str_find_char(name, '}', 0));
	if (!variable_name(name) || !value.len || read_prompt(in->line[1].text, &other))
		return 0;
	read_variable(f, name, value, read_origin(f, in, 1));
	return 2;
}

/* "- name: NCCL_IB_HCA" and "value: mlx5" below it: the environment of a container in a Kubernetes manifest. */
static size_t read_manifest_variable(const struct read_input *in, struct facts *f)
{
	struct str name = str_trim(in->line[0].text), value;
	if (in->count < 2 || !str_starts(name, "- name:"))
		return 0;
	name = str_trim(str_skip(name, 7));
	value = str_trim(in->line[1].text);
	if (!variable_name(name) || !str_starts(value, "value:"))
		return 0;
	value = str_trim(str_skip(value, 6));
	if (value.len >= 2 && (value.ptr[0] == '"' || value.ptr[0] == '\'') && value.ptr[value.len - 1] == value.ptr[0])
		value = str_slice(value, 1, value.len - 1);
	read_variable(f, name, value, read_origin(f, in, 1));
	return 2;
}

static const char *const ip_triggers[] = {"> mtu ", "  mtu ", NULL};
static const char *const oneline_triggers[] = {"    inet ", "    inet6 ", NULL};
static const char *const brief_triggers[] = {"ip -br", "ip --brief", NULL};
static const char *const old_ifconfig_triggers[] = {"Link encap:", NULL};
static const char *const route_triggers[] = {"default via ", " proto kernel ", NULL};
static const char *const route_table_triggers[] = {"Destination     Gateway", "Destination  ", NULL};
static const char *const json_triggers[] = {"\"ifindex\":", "\"ifname\":", "\"dst\":\"default\"", "\"dst\": \"default\"", NULL};
static const char *const ethtool_triggers[] = {"Settings for ", "ethtool ", NULL};
static const char *const variable_triggers[] = {"NCCL_", "GLOO_SOCKET_IFNAME=", "MASTER_ADDR=", "MASTER_PORT=", "CUDA_VISIBLE_DEVICES=",
	"LD_LIBRARY_PATH=", "LD_PRELOAD=", "PYTHONPATH=", "WORLD_SIZE=", "TORCH_NCCL_", "HCCL_",
	"NVIDIA_VISIBLE_DEVICES=", "NVIDIA_DRIVER_CAPABILITIES=", "UCX_", "CUDA_HOME=", "LOCAL_RANK=", "NODE_RANK=", NULL};
static const char *const manifest_triggers[] = {"- name: NCCL_", "- name: TORCH_", "- name: GLOO_", "- name: NVIDIA_", "- name: CUDA_",
	"- name: MASTER_", "- name: LD_", "- name: PYTHONPATH", "- name: WORLD_SIZE", "- name: HCCL_", "- name: UCX_", NULL};
static const char *const echo_triggers[] = {"echo $", NULL};

const struct reader read_ip_reader = {"ip addr", ip_triggers, read_ip};
const struct reader read_ip_brief_reader = {"ip -br", brief_triggers, read_ip_brief};
const struct reader read_ip_oneline_reader = {"ip -o", oneline_triggers, read_ip_oneline};
const struct reader read_route_reader = {"ip route", route_triggers, read_route};
const struct reader read_variable_reader = {"env", variable_triggers, read_variables};
const struct reader read_manifest_variable_reader = {"manifest", manifest_triggers, read_manifest_variable};
const struct reader read_echo_reader = {"echo", echo_triggers, read_echo};
const struct reader read_old_ifconfig_reader = {"ifconfig", old_ifconfig_triggers, read_old_ifconfig};
const struct reader read_route_table_reader = {"route -n", route_table_triggers, read_route_table};
const struct reader read_ip_json_reader = {"ip -j", json_triggers, read_ip_json};
const struct reader read_ethtool_reader = {"ethtool", ethtool_triggers, read_ethtool};
