/* ip addr, ip link, ip -br, ifconfig, ip route, variables typed or printed by env. */
#include "read/fill.h"
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
	text = str_slice(text, 0, str_find_char(text, '/', 0));
	text = str_slice(text, 0, str_find_char(text, '%', 0));
	if (!text.len || str_starts(text, "fe80"))
		return;
	read_fill_str(row, family == 4 ? interface__ipv4 : interface__ipv6, text, origin);
	struct facts_row *a = facts_add(f, TABLE_address);
	facts_str(a, address__address, text, origin);
	facts_text(a, address__interface, facts_get_text(row, interface__name), origin);
	facts_int(a, address__family, family, origin);
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
			row = read_interface(f, name);
			last = i;
			read_fill_str(row, interface__kind, str_of(kind_by_name(name)), origin);
			if (str_to_int(after_word(line, "mtu "), &mtu) == 0)
				read_fill_int(row, interface__mtu, mtu, origin);
			read_fill_bool(row, interface__up, str_has(line, "<UP") || str_has(line, ",UP"), origin);
			read_fill_bool(row, interface__running, str_has(line, "LOWER_UP") || str_has(line, "RUNNING"), origin);
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
		struct facts_row *row = read_interface(f, name);
		read_fill_str(row, interface__kind, str_of(kind_by_name(name)), origin);
		read_fill_bool(row, interface__running, !str_is(state, "DOWN"), origin);
		while (!link && str_next_word(&rest, &a))
			address(f, row, a, str_has(a, ":") ? 6 : 4, origin);
	}
	return i;
}

/* default via 10.0.0.1 dev eth0 */
static size_t read_route(const struct read_input *in, struct facts *f)
{
	struct str line = str_trim(in->line[0].text), device = after_word(line, " dev ");
	if (!str_starts(line, "default via") || !device.len)
		return 0;
	struct facts_row *row = facts_add(f, TABLE_route);
	const char *origin = read_origin(f, in, 0);
	facts_text(row, route__destination, "default", origin);
	facts_str(row, route__gateway, after_word(line, " via "), origin);
	facts_str(row, route__interface, device, origin);
	return 1;
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

/* NAME=value, alone on a line, after export or a prompt, or before a command; NCCL's "NCCL_X set by environment to y." is not one of these.
 */
static size_t read_variables(const struct read_input *in, struct facts *f)
{
	struct str line = str_trim(in->line[0].text), command, word;
	size_t found = 0;
	bool prompt = read_prompt(line, &command);
	struct str rest = prompt ? command : line;
	if (str_starts(rest, "- "))
		rest = str_skip(rest, 2);
	while (str_next_word(&rest, &word)) {
		size_t eq = str_find_char(word, '=', 0);
		if (str_is(word, "export") || str_is(word, "env") || str_is(word, "sudo") || str_is(word, "-e") || str_is(word, "-x") ||
			str_is(word, "ENV"))
			continue;
		if (eq == SIZE_MAX || !variable_name(str_slice(word, 0, eq)))
			break;
		struct str value = str_skip(word, eq + 1);
		if (value.len >= 2 && (value.ptr[0] == '"' || value.ptr[0] == '\''))
			value = str_slice(value, 1, value.ptr[value.len - 1] == value.ptr[0] ? value.len - 1 : value.len);
		while (value.len && value.ptr[value.len - 1] == ';')
			value.len--;
		read_variable(f, str_slice(word, 0, eq), value, read_origin(f, in, 0));
		found++;
	}
	return found ? 1 : 0;
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
static const char *const brief_triggers[] = {"ip -br", "ip --brief", NULL};
static const char *const route_triggers[] = {"default via ", NULL};
static const char *const variable_triggers[] = {"NCCL_", "GLOO_SOCKET_IFNAME=", "MASTER_ADDR=", "MASTER_PORT=", "CUDA_VISIBLE_DEVICES=",
	"LD_LIBRARY_PATH=", "LD_PRELOAD=", "PYTHONPATH=", "WORLD_SIZE=", "TORCH_NCCL_", "HCCL_",
	"NVIDIA_VISIBLE_DEVICES=", "NVIDIA_DRIVER_CAPABILITIES=", "UCX_", NULL};
static const char *const manifest_triggers[] = {"- name: NCCL_", "- name: TORCH_", "- name: GLOO_", "- name: NVIDIA_", "- name: CUDA_",
	"- name: MASTER_", "- name: LD_", "- name: PYTHONPATH", "- name: WORLD_SIZE", "- name: HCCL_", "- name: UCX_", NULL};
static const char *const echo_triggers[] = {"echo $", NULL};

const struct reader read_ip_reader = {"ip addr", ip_triggers, read_ip};
const struct reader read_ip_brief_reader = {"ip -br", brief_triggers, read_ip_brief};
const struct reader read_route_reader = {"ip route", route_triggers, read_route};
const struct reader read_variable_reader = {"env", variable_triggers, read_variables};
const struct reader read_manifest_variable_reader = {"manifest", manifest_triggers, read_manifest_variable};
const struct reader read_echo_reader = {"echo", echo_triggers, read_echo};
