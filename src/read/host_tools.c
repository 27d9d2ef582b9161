/* What the tools of the operating system print: df, mount, free, ulimit, uname, os-release, lsb_release, lsmod, nvcc, gcc, ldd, ldd
 * --version. */
#include "read/fill.h"
#include "read/read.h"

/* Filesystem  Size  Used Avail Use% Mounted on */
static size_t read_df(const struct read_input *in, struct facts *f)
{
	struct str head = in->line[0].text, command, device = {0};
	int64_t unit = str_has(head, "1M-blocks")                                                      ? 1 << 20
		: str_has(head, "1G-blocks")                                                           ? 1 << 30
		: str_has(head, "1K-blocks") || str_has(head, "1024-blocks") || str_has(head, "1K-块") ? 1024
												       : 1;
	bool inodes = str_has(head, "Inodes") || str_has(head, "IUse%"), type = str_has(head, " Type ") || str_has(head, "类型");
	size_t i = 1;
	if (!str_has(head, "Mounted on") && !str_has(head, "Use%") && !str_has(head, "挂载点"))
		return 0;
	for (; i < in->count && i < 400; i++) {
		struct str line = str_trim(in->line[i].text), rest = line, word[8];
		int n = 0;
		if (!line.len || read_prompt(line, &command))
			break;
		while (n < 8 && str_next_word(&rest, &word[n]))
			n++;
		int from = type ? 2 : 1;
		/* A long name of a device stands on a line of its own, and its numbers below. */
		if (n == 1) {
			device = word[0];
			continue;
		}
		if (n == from + 4 && device.len) {
			memmove(word + 1, word, 7 * sizeof *word);
			word[0] = device;
			n++;
		}
		device = str_n("", 0);
		if (n < from + 5 || word[n - 1].ptr[0] != '/')
			continue;
		struct facts_row *row = read_mount(f, word[n - 1]);
		const char *origin = read_origin(f, in, i);
		int64_t v;
		if (inodes) {
			if (read_size(word[from + 2], 1, &v))
				read_fill_int(row, mount__inodes_free, v, origin);
			continue;
		}
		read_fill_str(row, mount__device, word[0], origin);
		if (str_is(word[0], "tmpfs") || str_is(word[0], "overlay") || type)
			read_fill_str(row, mount__fs_type, type ? word[1] : word[0], origin);
		if (read_size(word[from], unit, &v))
			read_fill_int(row, mount__size_bytes, v, origin);
		if (read_size(word[from + 1], unit, &v))
			read_fill_int(row, mount__used_bytes, v, origin);
		if (read_size(word[from + 2], unit, &v))
			read_fill_int(row, mount__free_bytes, v, origin);
	}
	return i;
}

/* "size=65536k" among mount options. */
static void tmpfs_size(struct facts_row *row, struct str options, const char *origin)
{
	size_t size = str_find(options, "size=", 0), end = 0;
	int64_t v;
	struct str text = size == SIZE_MAX ? str_n("", 0) : str_skip(options, size + 5);
	while (end < text.len && ((text.ptr[end] >= '0' && text.ptr[end] <= '9') || strchr("kKmMgG", text.ptr[end])))
		end++;
	if (read_size(str_slice(text, 0, end), 1, &v))
		read_fill_int(row, mount__size_bytes, v, origin);
}

static bool has_option(struct str options, const char *name)
{
	struct str option;
	while (str_next_field(&options, ',', &option))
		if (str_is(option, name))
			return true;
	return false;
}

static void fill_mount(struct facts *f, struct str path, struct str device, struct str type, struct str options, const char *origin)
{
	struct facts_row *row = read_mount(f, path);
	read_fill_str(row, mount__device, device, origin);
	read_fill_str(row, mount__fs_type, type, origin);
	read_fill_str(row, mount__options, options, origin);
	read_fill_bool(row, mount__read_only, has_option(options, "ro"), origin);
	read_fill_bool(row, mount__noexec, has_option(options, "noexec"), origin);
	if (str_is(type, "tmpfs"))
		tmpfs_size(row, options, origin);
}

/* "shm on /dev/shm type tmpfs (rw,nosuid,size=65536k)"; /proc/mounts and fstab: "shm /dev/shm tmpfs rw,nosuid,size=65536k 0 0"; findmnt:
 * "/dev/shm tmpfs tmpfs rw,size=64m". Other forms with /dev/shm and size= too. */
static size_t read_mount_line(const struct read_input *in, struct facts *f)
{
	struct str line = str_trim(in->line[0].text), rest = line, word[7], command;
	const char *origin = read_origin(f, in, 0);
	int n = 0;
	if (read_prompt(line, &command))
		return 0;
	while (n < 7 && str_next_word(&rest, &word[n]))
		n++;
	if (n >= 6 && str_is(word[1], "on") && str_is(word[3], "type") && word[2].ptr[0] == '/' && word[5].ptr[0] == '(') {
		size_t close = str_find_char(word[5], ')', 0);
		fill_mount(f, word[2], word[0], word[4], str_slice(word[5], 1, close), origin);
		return 1;
	}
	if (n == 6 && word[1].ptr[0] == '/' && str_find_char(word[3], ',', 0) != SIZE_MAX && word[4].len == 1 && word[5].len == 1) {
		fill_mount(f, word[1], word[0], word[2], word[3], origin);
		return 1;
	}
	if (n == 4 && word[0].ptr[0] == '/' && str_find_char(word[3], ',', 0) != SIZE_MAX) {
		fill_mount(f, word[0], word[1], word[2], word[3], origin);
		return 1;
	}
	if (!str_has(line, "/dev/shm") || !str_has(line, "tmpfs") || !str_has(line, "size="))
		return 0;
	struct facts_row *row = read_mount(f, STR("/dev/shm"));
	tmpfs_size(row, line, origin);
	read_fill_str(row, mount__fs_type, STR("tmpfs"), origin);
	return 1;
}

#define MEMORY_LEAST ((int64_t)1 << 30) /* what trains has more */

/* The unit of free's numbers: KiB, or what an option of the command asked for. 0: neither is known, for the command was not pasted. */
static int64_t free_unit(const struct read_input *in)
{
	struct str command, word;
	for (int i = 0; i < 3; i++) {
		if (!read_prompt(in->before[i], &command) || !str_has(command, "free"))
			continue;
		while (str_next_word(&command, &word))
			if (str_starts(word, "-") && !str_starts(word, "--"))
				for (size_t k = 1; k < word.len; k++)
					switch (word.ptr[k]) {
					case 'b': return 1;
					case 'm': return 1 << 20;
					case 'g': return 1 << 30;
					}
		return 1024;
	}
	return 0;
}

/* Mem: total used free shared buff/cache available */
static size_t read_free(const struct read_input *in, struct facts *f)
{
	struct str rest = in->line[0].text, word, total, last = {0};
	int64_t v, unit = free_unit(in);
	if (!str_has(in->before[0], "total") && !str_has(in->before[0], "总计"))
		return 0;
	if (!str_next_word(&rest, &word) || !str_next_word(&rest, &total))
		return 0;
	while (str_next_word(&rest, &word))
		last = word;
	if (!read_size(total, unit ? unit : 1024, &v) || (!unit && v < MEMORY_LEAST))
		return 1;
	unit = unit ? unit : 1024;
	struct facts_row *row = facts_only(f, TABLE_system);
	const char *origin = read_origin(f, in, 0);
	read_fill_int(row, system__memory_bytes, v, origin);
	if (last.len && (str_has(in->before[0], "available") || str_has(in->before[0], "可用")) && read_size(last, unit, &v))
		read_fill_int(row, system__memory_available_bytes, v, origin);
	struct str swap = in->count > 1 ? str_trim(in->line[1].text) : str_n("", 0);
	if (str_starts(swap, "Swap:") || str_starts(swap, "交换：")) {
		str_next_word(&swap, &word);
		if (str_next_word(&swap, &word) && read_size(word, unit, &v))
			read_fill_int(row, system__swap_bytes, v, read_origin(f, in, 1));
	}
	return 1;
}

static bool is_unlimited(struct str value)
{
	return str_is(value, "unlimited") || str_is(value, "无限制");
}

static void set_limit(struct facts *f, const char *name, struct str value, int64_t unit, bool hard, const char *origin)
{
	struct facts_row *row = facts_find(f, limit__name, name);
	int64_t n;
	bool none = is_unlimited(value);
	if (!none && str_to_int(value, &n) < 0)
		return;
	if (!row) {
		row = facts_add(f, TABLE_limit);
		facts_text(row, limit__name, name, origin);
	}
	read_fill_bool(row, hard ? limit__hard_unlimited : limit__soft_unlimited, none, origin);
	if (none)
		facts_gap(row, hard ? limit__hard : limit__soft, GAP_ABSENT, origin, NULL);
	else
		read_fill_int(row, hard ? limit__hard : limit__soft, n * unit, origin);
}

/* What ulimit -a of bash, that of zsh and /proc/PID/limits call a limit, its letter, and the unit of the first two. */
static const struct {
	const char *name, *bash, *zsh, *proc;
	char letter;
	int64_t unit;
} limits[] = {
	{"memlock", "max locked memory", "locked-in-memory size", "Max locked memory", 'l', 1024},
	{"nofile", "open files", "file descriptors", "Max open files", 'n', 1},
	{"nproc", "max user processes", "processes", "Max processes", 'u', 1},
	{"stack", "stack size", "stack size", "Max stack size", 's', 1024},
	{"core", "core file size", "core file size", "Max core file size", 'c', 512},
};
#define LIMITS (sizeof limits / sizeof limits[0])

/* "max locked memory       (kbytes, -l) 65536"; zsh: "-l: locked-in-memory size (kbytes)  64"; /proc/PID/limits: "Max locked memory   65536
 * 65536   bytes", soft and hard. */
static bool limit_line(struct facts *f, struct str line, const char *origin)
{
	for (size_t k = 0; k < LIMITS; k++) {
		struct str zsh = line.len > 4 && line.ptr[0] == '-' && line.ptr[2] == ':' ? str_trim(str_skip(line, 3)) : str_n("", 0),
			   rest, value;
		if (str_starts(line, limits[k].proc)) {
			rest = str_skip(line, strlen(limits[k].proc));
			if (str_next_word(&rest, &value))
				set_limit(f, limits[k].name, value, 1, false, origin);
			if (str_next_word(&rest, &value))
				set_limit(f, limits[k].name, value, 1, true, origin);
			return true;
		}
		size_t close = str_rfind_char(line, ')');
		if (str_starts(line, limits[k].bash) && close != SIZE_MAX) {
			rest = str_skip(line, close + 1);
		} else if (zsh.len && str_starts(zsh, limits[k].zsh)) {
			size_t last = str_rfind_char(zsh, ' ');
			rest = last == SIZE_MAX ? str_n("", 0) : str_skip(zsh, last + 1);
		} else {
			continue;
		}
		if (str_next_word(&rest, &value))
			set_limit(f, limits[k].name, value, limits[k].unit, false, origin);
		return true;
	}
	return false;
}

static size_t read_ulimit(const struct read_input *in, struct facts *f)
{
	size_t i = 0, last = 0;
	struct str command;
	for (; i < in->count && i <= last + 8; i++) {
		if (i && read_prompt(in->line[i].text, &command))
			break;
		if (limit_line(f, str_trim(in->line[i].text), read_origin(f, in, i)))
			last = i + 1;
	}
	return last;
}

/* "ulimit -l", "ulimit -Hn; ulimit -u", and the answers below, one for each. */
static size_t read_ulimit_one(const struct read_input *in, struct facts *f)
{
	struct str command, part;
	size_t i = 1;
	if (!read_prompt(in->line[0].text, &command))
		return 0;
	while (i < in->count && str_next_field(&command, ';', &part)) {
		size_t at = str_find(part, "ulimit -", 0);
		struct str option = at == SIZE_MAX ? str_n("", 0) : str_trim(str_skip(part, at + 8)), value = str_trim(in->line[i].text);
		bool hard = str_starts(option, "H");
		if (hard || str_starts(option, "S"))
			option = str_skip(option, 1);
		int64_t n;
		if (option.len != 1 || (str_to_int(value, &n) < 0 && !is_unlimited(value)))
			break;
		for (size_t k = 0; k < LIMITS; k++)
			if (limits[k].letter == option.ptr[0])
				set_limit(f, limits[k].name, value, limits[k].unit, hard, read_origin(f, in, i));
		i++;
	}
	return i > 1 ? i : 0;
}

/* Linux gpu01 5.15.0-105-generic #115-Ubuntu SMP … x86_64 x86_64 x86_64 GNU/Linux */
static size_t read_uname(const struct read_input *in, struct facts *f)
{
	struct str rest = str_trim(in->line[0].text), word, host, release;
	if (!str_starts(rest, "Linux ") || !str_next_word(&rest, &word) || !str_next_word(&rest, &host) ||
		!str_next_word(&rest, &release) || !read_is_version(release))
		return 0;
	struct facts_row *row = facts_only(f, TABLE_system);
	const char *origin = read_origin(f, in, 0);
	read_fill_str(row, system__hostname, host, origin);
	read_fill_str(row, system__kernel, release, origin);
	read_fill_str(row, system__platform,
		str_has(release, "microsoft")       ? STR("wsl2")
			: str_has(release, "tegra") ? STR("jetson")
						    : STR("linux"),
		origin);
	if (str_has(rest, "aarch64"))
		read_fill_str(row, system__arch, STR("aarch64"), origin);
	else if (str_has(rest, "x86_64"))
		read_fill_str(row, system__arch, STR("x86_64"), origin);
	return 1;
}

static struct str os_value(struct str value)
{
	value = str_trim(value);
	return value.len > 1 && value.ptr[0] == '"' ? str_slice(value, 1, str_find_char(value, '"', 1)) : value;
}

static void take_os_id(struct facts *f, struct str value, const char *origin)
{
	char *id = str_dup(f->arena, os_value(value));
	for (char *c = id; *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
	read_fill_str(facts_only(f, TABLE_system), system__os_id, str_of(id), origin);
}

/* /etc/os-release: NAME="Ubuntu", ID=ubuntu, VERSION_ID="22.04", PRETTY_NAME=…, in whatever order; lsb_release -a: "Distributor ID:
 * Ubuntu", "Description: …", "Release: 22.04". */
static size_t read_os(const struct read_input *in, struct facts *f)
{
	static const struct {
		const char *key;
		enum facts_column column;
	} keys[] = {{"PRETTY_NAME=", system__os_name}, {"VERSION_ID=", system__os_version}, {"ID=", system__os_id},
		{"Description:", system__os_name}, {"Release:", system__os_version}, {"Distributor ID:", system__os_id}};
	size_t i = 0, last = 0;
	struct str command;
	for (size_t b = 0; b < 3; b++)
		if (str_starts(str_trim(in->before[b]), "ID="))
			take_os_id(f, str_skip(str_trim(in->before[b]), 3), read_origin(f, in, 0));
	for (; i < in->count && i < last + 8 && i < 40; i++) {
		struct str line = str_trim(in->line[i].text);
		if (i && read_prompt(in->line[i].text, &command))
			break;
		for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
			if (!str_starts(line, keys[k].key))
				continue;
			struct str value = str_trim(str_skip(line, strlen(keys[k].key)));
			value = os_value(value);
			if (!value.len || value.len > 100)
				continue;
			if (keys[k].column == system__os_id)
				take_os_id(f, value, read_origin(f, in, i));
			else
				read_fill_str(facts_only(f, TABLE_system), keys[k].column, value, read_origin(f, in, i));
			last = i + 1;
		}
	}
	return last;
}

static size_t read_tegra(const struct read_input *in, struct facts *f)
{
	if (!str_has(in->line[0].text, "(release)") || !str_has(in->line[0].text, "REVISION"))
		return 0;
	facts_text(facts_only(f, TABLE_system), system__platform, "jetson", read_origin(f, in, 0));
	return 1;
}

/* Cuda compilation tools, release 12.1, V12.1.105 */
static size_t read_nvcc(const struct read_input *in, struct facts *f)
{
	struct str line = in->line[0].text;
	size_t at = str_find(line, "release ", 0);
	if (at == SIZE_MAX)
		return 0;
	struct str version = str_skip(line, at + 8);
	version = str_slice(version, 0, str_find_char(version, ',', 0));
	if (!read_is_version(version))
		return 0;
	const char *origin = read_origin(f, in, 0);
	struct facts_row *row = facts_find(f, toolkit__selected_by, "path");
	if (!row) {
		row = facts_add(f, TABLE_toolkit);
		facts_text(row, toolkit__selected_by, "path", origin);
	}
	read_fill_str(row, toolkit__version, version, origin);
	read_fill_str(row, toolkit__nvcc, STR("nvcc"), origin);
	return 1;
}

/* "gcc (Ubuntu 13.2.0-23ubuntu4) 13.2.0", "gcc (GCC) 4.8.5 20150623 (Red Hat 4.8.5-44)", "g++-12 (…) 12.3.0"; gcc -v: "gcc version 13.2.0
 * (…)"; "Ubuntu clang version 14.0.0-1ubuntu1.1" */
static size_t read_gcc(const struct read_input *in, struct facts *f)
{
	struct str line = str_trim(in->line[0].text), version;
	size_t said = str_find(line, " version ", 0), open = str_find(line, " (", 0);
	bool clang = said != SIZE_MAX && str_ends(str_slice(line, 0, said), "clang");
	const char *name = clang                                        ? "clang"
		: str_starts(line, "g++ (") || str_starts(line, "g++-") ? "g++"
		: str_starts(line, "gcc ") || str_starts(line, "gcc-")  ? "gcc"
									: NULL;
	if (!name)
		return 0;
	if (clang || str_starts(line, "gcc version "))
		version = str_skip(line, said + 9);
	else if (open != SIZE_MAX && open < 12)
		version = read_after_parentheses(str_skip(line, open + 1));
	else
		return 0;
	version = str_slice(version, 0, str_find_char(version, ' ', 0));
	if (!read_is_version(version) || !str_has(version, "."))
		return 0;
	read_fill_str(read_compiler(f, name), compiler__version, version, read_origin(f, in, 0));
	return 1;
}

/* ldd (Ubuntu GLIBC 2.31-0ubuntu9.9) 2.31 */
static size_t read_ldd_version(const struct read_input *in, struct facts *f)
{
	struct str line = str_trim(in->line[0].text);
	size_t last = str_rfind_char(line, ' ');
	if (!str_starts(line, "ldd (") || last == SIZE_MAX || !read_is_version(str_skip(line, last + 1)))
		return 0;
	struct facts_row *row = facts_only(f, TABLE_system);
	read_fill_str(row, system__libc, STR("glibc"), read_origin(f, in, 0));
	read_fill_str(row, system__libc_version, str_skip(line, last + 1), read_origin(f, in, 0));
	return 1;
}

/* ldconfig -p: "	libnccl.so.2 (libc6,x86-64) => /lib/x86_64-linux-gnu/libnccl.so.2": the first of a name is what the loader takes. */
static bool cache_line(struct facts *f, struct str soname, struct str path, const char *origin)
{
	size_t kind = str_find(soname, " (libc6", 0);
	if (kind == SIZE_MAX)
		return false;
	if (!str_has(soname, ",x86-64") && !str_has(soname, ",AArch64"))
		return true; /* of 32 bits */
	struct facts_row *row = read_library(f, str_slice(soname, 0, kind));
	read_fill_str(row, library__path, path, origin);
	read_fill_str(row, library__found_by, STR("ld_so_cache"), origin);
	return true;
}

/* ldd: "libnccl.so.2 => /usr/lib/x86_64-linux-gnu/libnccl.so.2 (0x00007f…)", "libcudart.so.12 => not found" */
static size_t read_ldd(const struct read_input *in, struct facts *f)
{
	size_t i = 0;
	struct str command;
	for (; i < in->count && i < 2000; i++) {
		struct str t = str_trim(in->line[i].text);
		size_t arrow = str_find(t, " => ", 0), so = str_find(t, ".so", 0);
		const char *origin = read_origin(f, in, i);
		if (arrow == SIZE_MAX && i && so != SIZE_MAX && str_has(t, " (0x"))
			continue; /* linux-vdso, the loader itself */
		if (arrow == SIZE_MAX || so == SIZE_MAX || so > arrow || read_prompt(t, &command))
			break;
		struct str soname = str_slice(t, 0, arrow), path = str_trim(str_skip(t, arrow + 4));
		if (cache_line(f, soname, path, origin))
			continue;
		struct facts_row *row = read_library(f, soname);
		if (str_starts(path, "not found")) {
			facts_gap(row, library__path, GAP_ABSENT, origin, NULL);
			read_fill_str(row, library__problem, STR("missing"), origin);
		} else if (path.len && path.ptr[0] == '/') {
			read_fill_str(row, library__path, str_slice(path, 0, str_find(path, " (0x", 0)), origin);
		}
	}
	return i;
}

/* "nvidia_uvm           1511424  2" */
static bool module_line(struct facts *f, struct str line, const char *origin)
{
	static const struct {
		const char *name;
		enum facts_column column;
	} flags[] = {{"nvidia", driver__loaded}, {"nvidia_peermem", driver__peermem_loaded}, {"nv_peer_mem", driver__peermem_loaded},
		{"gdrdrv", driver__gdrdrv_loaded}, {"nvidia_uvm", driver__uvm_loaded}, {"ib_umad", driver__ib_umad_loaded},
		{"nouveau", driver__nouveau_loaded}};
	struct str rest = str_trim(line), name, size, used;
	int64_t n;
	if (!str_next_word(&rest, &name) || !str_next_word(&rest, &size) || !str_next_word(&rest, &used) || str_to_int(size, &n) < 0 ||
		n < 4096 || str_to_int(used, &n) < 0)
		return false;
	struct facts_row *row = facts_add(f, TABLE_kernel_module);
	facts_str(row, kernel_module__name, name, origin);
	for (size_t k = 0; k < sizeof flags / sizeof flags[0]; k++)
		if (str_is(name, flags[k].name))
			read_fill_bool(read_driver(f, "nvidia"), flags[k].column, true, origin);
	return true;
}

/* The whole list says also what is not loaded. */
static void missing_modules(struct facts *f, const char *origin)
{
	static const enum facts_column columns[] = {
		driver__peermem_loaded, driver__gdrdrv_loaded, driver__uvm_loaded, driver__ib_umad_loaded, driver__nouveau_loaded};
	struct facts_row *row = facts_find(f, driver__vendor, "nvidia");
	for (size_t k = 0; row && k < sizeof columns / sizeof columns[0]; k++)
		read_fill_bool(row, columns[k], false, origin);
}

/* Module Size Used by; or the lines that grep left of it, below the command. */
static size_t read_lsmod(const struct read_input *in, struct facts *f)
{
	size_t i = 1;
	struct str command = {0};
	bool head = str_has(in->line[0].text, "Used by"), typed = !head && read_prompt(in->line[0].text, &command);
	if (!head && !(typed && str_starts(command, "lsmod")))
		return 0;
	bool whole = head && (!read_prompt(in->before[0], &command) || !str_has(command, "grep"));
	if (typed && i < in->count && str_has(in->line[i].text, "Used by")) {
		whole = !str_has(command, "grep");
		i++;
	}
	for (; i < in->count && i < 1000; i++)
		if (read_prompt(in->line[i].text, &command) || !module_line(f, in->line[i].text, read_origin(f, in, i)))
			break;
	if (whole && i > 20) { /* no kernel that is installed has fewer; less is a part of the list */
		facts_table_read(f, TABLE_kernel_module);
		missing_modules(f, read_origin(f, in, 0));
	}
	return i;
}

static const char *const df_triggers[] = {"Filesystem ", "文件系统", NULL};
static const char *const mount_triggers[] = {"/dev/shm", " on /tmp type ", " on / type ", "/tmp tmpfs", " /tmp ext4", NULL};
static const char *const free_triggers[] = {"Mem: ", "内存：", NULL};
static const char *const ulimit_triggers[] = {"max locked memory", "core file size", "Max locked memory", "Max cpu time", "Max open files",
	"open files ", "locked-in-memory size", "cpu time (seconds)", NULL};
static const char *const ulimit_one_triggers[] = {"ulimit -l", "ulimit -n", "ulimit -H", "ulimit -S", "ulimit -u", "ulimit -s", NULL};
static const char *const uname_triggers[] = {"GNU/Linux", NULL};
static const char *const os_triggers[] = {"PRETTY_NAME=", "VERSION_ID=", "Description:\t", "Distributor ID:", NULL};
static const char *const tegra_triggers[] = {"(release), REVISION", NULL};
static const char *const nvcc_triggers[] = {"Cuda compilation tools", NULL};
static const char *const gcc_triggers[] = {"gcc (", "g++ (", "gcc-", "g++-", "gcc version ", "clang version ", NULL};
static const char *const ldd_triggers[] = {"ldd (", NULL};
static const char *const lsmod_triggers[] = {"Module    ", "lsmod", NULL};

const struct reader read_df_reader = {"df", df_triggers, read_df};
const struct reader read_mount_reader = {"mount", mount_triggers, read_mount_line};
const struct reader read_free_reader = {"free", free_triggers, read_free};
const struct reader read_ulimit_reader = {"ulimit -a", ulimit_triggers, read_ulimit};
const struct reader read_ulimit_one_reader = {"ulimit", ulimit_one_triggers, read_ulimit_one};
const struct reader read_uname_reader = {"uname", uname_triggers, read_uname};
const struct reader read_os_reader = {"os-release", os_triggers, read_os};
const struct reader read_tegra_reader = {"nv_tegra_release", tegra_triggers, read_tegra};
const struct reader read_nvcc_reader = {"nvcc --version", nvcc_triggers, read_nvcc};
const struct reader read_gcc_reader = {"gcc --version", gcc_triggers, read_gcc};
const struct reader read_ldd_version_reader = {"ldd --version", ldd_triggers, read_ldd_version};
static const char *const ldd_line_triggers[] = {" => ", NULL};
const struct reader read_ldd_reader = {"ldd", ldd_line_triggers, read_ldd};
const struct reader read_lsmod_reader = {"lsmod", lsmod_triggers, read_lsmod};
