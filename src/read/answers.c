/* Short answers of typed commands: uname -r, hostname, cat /sys/module/nvidia/version, sysctl NAME, cat /proc/sys/…, cat /etc/hosts, getent
 * hosts, which python, nproc. The command says what the lines below it are. */
#include "read/fill.h"
#include "read/read.h"

static struct facts_row *of_system(struct facts *f)
{
	return facts_only(f, TABLE_system);
}

static void take_kernel(struct facts *f, struct str v, const char *origin)
{
	if (read_is_version(v) && str_has(v, "."))
		read_fill_str(of_system(f), system__kernel, v, origin);
}

static void take_machine(struct facts *f, struct str v, const char *origin)
{
	if (str_is(v, "x86_64") || str_is(v, "aarch64") || str_is(v, "ppc64le"))
		read_fill_str(of_system(f), system__arch, v, origin);
}

static void take_hostname(struct facts *f, struct str v, const char *origin)
{
	if (v.len < 64 && str_find_char(v, ' ', 0) == SIZE_MAX && str_find_char(v, ':', 0) == SIZE_MAX)
		read_fill_str(of_system(f), system__hostname, str_slice(v, 0, str_find_char(v, '.', 0)), origin);
}

static void take_driver(struct facts *f, struct str v, const char *origin)
{
	if (!read_is_version(v) || !str_has(v, "."))
		return;
	read_fill_str(read_driver(f, "nvidia"), driver__version, v, origin);
	read_fill_bool(read_driver(f, "nvidia"), driver__loaded, true, origin);
}

static void take_count(struct facts *f, struct str v, const char *origin)
{
	int64_t n;
	if (str_to_int(v, &n) == 0 && n > 0 && n < 100000)
		read_fill_int(of_system(f), system__cpu_allowed, n, origin);
}

static void take_python(struct facts *f, struct str v, const char *origin)
{
	if (v.len > 1 && v.ptr[0] == '/' && str_find_char(v, ' ', 0) == SIZE_MAX)
		read_fill_str(facts_only(f, TABLE_python), python__path, v, origin);
}

static void take_release(struct facts *f, struct str v, const char *origin)
{
	if (str_has(v, " release "))
		read_fill_str(of_system(f), system__os_name, v, origin);
}

static const struct {
	const char *command;
	void (*take)(struct facts *f, struct str value, const char *origin);
} answers[] = {
	{"uname -r", take_kernel},
	{"uname -m", take_machine},
	{"hostname", take_hostname},
	{"hostname -f", take_hostname},
	{"hostname -s", take_hostname},
	{"cat /sys/module/nvidia/version", take_driver},
	{"nproc", take_count},
	{"which python", take_python},
	{"which python3", take_python},
	{"cat /etc/redhat-release", take_release},
	{"cat /etc/centos-release", take_release},
};

static struct facts_row *sysctl_row(struct facts *f, struct str name)
{
	char *key = str_dup(f->arena, name);
	struct facts_row *row = facts_find(f, sysctl__name, key);
	if (!row && f->count[TABLE_sysctl] < 1024) {
		row = facts_add(f, TABLE_sysctl);
		facts_text(row, sysctl__name, key, NULL);
	}
	return row;
}

static bool is_sysctl_name(struct str s)
{
	static const char *const families[] = {"kernel.", "net.", "vm.", "fs."};
	for (size_t i = 0; i < s.len; i++)
		if (!((s.ptr[i] >= 'a' && s.ptr[i] <= 'z') || (s.ptr[i] >= '0' && s.ptr[i] <= '9') || s.ptr[i] == '.' || s.ptr[i] == '_' ||
			    s.ptr[i] == '-'))
			return false;
	for (size_t i = 0; i < 4; i++)
		if (str_starts(s, families[i]))
			return true;
	return false;
}

/* "net.ipv4.ip_local_port_range = 32768	60999" */
static bool take_sysctl(struct facts *f, struct str line, const char *origin)
{
	struct str name, value;
	if (!str_split(line, '=', &name, &value) || !is_sysctl_name(name) || !value.len)
		return false;
	struct facts_row *row = sysctl_row(f, name);
	if (row)
		read_fill_str(row, sysctl__value, value, origin);
	return true;
}

/* /proc/sys/net/ipv4/ip_local_port_range → net.ipv4.ip_local_port_range */
static void take_proc_sys(struct facts *f, struct str path, struct str value, const char *origin)
{
	char *name = str_dup(f->arena, str_slice(path, 0, str_find_char(path, ' ', 0)));
	for (char *c = name; *c; c++)
		*c = *c == '/' ? '.' : *c;
	if (!is_sysctl_name(str_of(name)) || !value.len || str_has(value, "No such file"))
		return;
	struct facts_row *row = sysctl_row(f, str_of(name));
	if (row)
		read_fill_str(row, sysctl__value, value, origin);
}

static bool is_address(struct str s)
{
	size_t dots = 0, colons = 0;
	for (size_t i = 0; i < s.len; i++) {
		dots += s.ptr[i] == '.';
		colons += s.ptr[i] == ':';
		if (!((s.ptr[i] >= '0' && s.ptr[i] <= '9') || (s.ptr[i] >= 'a' && s.ptr[i] <= 'f') || s.ptr[i] == '.' || s.ptr[i] == ':'))
			return false;
	}
	return dots == 3 || colons >= 2;
}

/* cat /etc/hosts, getent hosts NAME: "127.0.1.1	node01 node01.example". A short answer of another command may stand first. */
static size_t take_hosts(const struct read_input *in, struct facts *f, size_t first)
{
	const char *own = f->first[TABLE_system] ? facts_get_text(f->first[TABLE_system], system__hostname) : NULL;
	size_t i = first;
	struct str command;
	for (; i < in->count && i < 1000; i++) {
		struct str rest = str_trim(in->line[i].text), address, name;
		const char *origin = read_origin(f, in, i);
		if (str_starts(rest, "#"))
			continue;
		if (!rest.len || read_prompt(in->line[i].text, &command) || !str_next_word(&rest, &address) || !is_address(address))
			break;
		bool loopback = str_starts(address, "127.") || str_is(address, "::1");
		while (str_next_word(&rest, &name) && name.ptr[0] != '#' && f->count[TABLE_hosts_entry] < 1024) {
			struct facts_row *row = facts_add(f, TABLE_hosts_entry);
			facts_str(row, hosts_entry__name, name, origin);
			facts_str(row, hosts_entry__address, address, origin);
			facts_bool(row, hosts_entry__loopback, loopback, origin);
			if (own)
				facts_bool(row, hosts_entry__own_name, str_is(name, own), origin);
		}
	}
	return i > first ? i : 0;
}

static size_t read_answer(const struct read_input *in, struct facts *f)
{
	struct str line = in->line[0].text, command, other;
	bool prompt = read_prompt(line, &command);
	if (!prompt)
		return take_sysctl(f, str_trim(line), read_origin(f, in, 0)) ? 1 : 0;
	if (in->count < 2 || read_prompt(in->line[1].text, &other))
		return 0;
	struct str value = str_trim(in->line[1].text);
	const char *origin = read_origin(f, in, 1);
	if (str_starts(command, "cat /etc/hosts"))
		return take_hosts(in, f, 1);
	if (str_has(command, "getent hosts ") && (str_starts(command, "getent ") || str_starts(command, "hostname; "))) {
		if (str_starts(command, "hostname; "))
			take_hostname(f, value, origin);
		return take_hosts(in, f, str_starts(command, "hostname; ") ? 2 : 1);
	}
	if (str_starts(command, "cat /proc/sys/")) {
		take_proc_sys(f, str_skip(command, 14), value, origin);
		return 2;
	}
	for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
		if (str_is(command, answers[i].command)) {
			answers[i].take(f, value, origin);
			return 2;
		}
	return 0;
}

static const char *const triggers[] = {"uname -", "hostname", "/sys/module/nvidia/version", "cat /proc/sys/", "cat /etc/hosts",
	"getent hosts ", "which python", "nproc", "cat /etc/redhat-release", "cat /etc/centos-release", "net.ipv4.", "net.core.",
	"kernel.shm", "kernel.numa_balancing", "vm.overcommit", NULL};
const struct reader read_answers_reader = {"a short answer", triggers, read_answer};
