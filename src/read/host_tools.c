/* What the tools of the operating system print: df, mount, free, ulimit, uname, os-release, lsb_release, lsmod, nvcc, gcc, ldd --version,
 * torch.__config__.show(). */
#include "read/fill.h"
#include "read/read.h"

/* Filesystem  Size  Used Avail Use% Mounted on */
static size_t read_df(const struct read_input *in, struct facts *f)
{
	struct str head = in->line[0].text, command;
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

/* shm on /dev/shm type tmpfs (rw,nosuid,nodev,noexec,relatime,size=65536k); mountinfo and fstab forms with /dev/shm and size= too */
static size_t read_mount_line(const struct read_input *in, struct facts *f)
{
	struct str line = in->line[0].text;
	size_t size = str_find(line, "size=", 0);
	int64_t v;
	if (!str_has(line, "tmpfs") || size == SIZE_MAX)
		return 0;
	struct str text = str_skip(line, size + 5);
	size_t end = 0;
	while (end < text.len && ((text.ptr[end] >= '0' && text.ptr[end] <= '9') || strchr("kKmMgG", text.ptr[end])))
		end++;
	struct facts_row *row = read_mount(f, STR("/dev/shm"));
	if (read_size(str_slice(text, 0, end), 1, &v))
		read_fill_int(row, mount__size_bytes, v, read_origin(f, in, 0));
	read_fill_str(row, mount__fs_type, STR("tmpfs"), read_origin(f, in, 0));
	return 1;
}

/* Mem: total used free shared buff/cache available */
static size_t read_free(const struct read_input *in, struct facts *f)
{
	struct str rest = in->line[0].text, word, total, last = {0};
	int64_t v;
	if (!str_has(in->before[0], "total") && !str_has(in->before[0], "总计"))
		return 0;
	struct facts_row *row = facts_only(f, TABLE_system);
	const char *origin = read_origin(f, in, 0);
	if (!str_next_word(&rest, &word) || !str_next_word(&rest, &total))
		return 0;
	while (str_next_word(&rest, &word))
		last = word;
	/* Without a unit the numbers are KiB. */
	if (read_size(total, 1024, &v))
		read_fill_int(row, system__memory_bytes, v, origin);
	if (last.len && read_size(last, 1024, &v))
		read_fill_int(row, system__memory_available_bytes, v, origin);
	if (in->count > 1 && str_starts(str_trim(in->line[1].text), "Swap:")) {
		struct str swap = in->line[1].text;
		str_next_word(&swap, &word);
		if (str_next_word(&swap, &word) && read_size(word, 1024, &v))
			read_fill_int(row, system__swap_bytes, v, read_origin(f, in, 1));
	}
	return 1;
}

static void set_limit(struct facts *f, const char *name, struct str value, int64_t unit, const char *origin)
{
	struct facts_row *row = facts_find(f, limit__name, name);
	int64_t n;
	if (!row) {
		row = facts_add(f, TABLE_limit);
		facts_text(row, limit__name, name, origin);
	}
	if (str_is(value, "unlimited") || str_is(value, "无限制")) {
		read_fill_bool(row, limit__soft_unlimited, true, origin);
		facts_gap(row, limit__soft, GAP_ABSENT, origin, NULL);
	} else if (str_to_int(value, &n) == 0) {
		read_fill_bool(row, limit__soft_unlimited, false, origin);
		read_fill_int(row, limit__soft, n * unit, origin);
	}
}

/* ulimit -a: "max locked memory       (kbytes, -l) 65536"; /proc/PID/limits: "Max locked memory 65536 65536 bytes" */
static size_t read_ulimit(const struct read_input *in, struct facts *f)
{
	static const struct {
		const char *key, *name;
	} keys[] = {{"max locked memory", "memlock"}, {"open files", "nofile"}, {"max user processes", "nproc"}, {"stack size", "stack"},
		{"core file size", "core"}, {"Max locked memory", "memlock"}, {"Max open files", "nofile"}, {"Max processes", "nproc"},
		{"Max stack size", "stack"}};
	size_t i = 0, last = 0;
	for (; i < in->count && i < 40; i++) {
		struct str line = str_trim(in->line[i].text);
		for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
			if (!str_starts(line, keys[k].key))
				continue;
			bool proc = keys[k].key[0] == 'M';
			size_t close = str_find_char(line, ')', 0);
			struct str rest = proc      ? str_skip(line, strlen(keys[k].key))
				: close == SIZE_MAX ? str_n("", 0)
						    : str_skip(line, close + 1),
				   value;
			if (!str_next_word(&rest, &value))
				continue;
			set_limit(f, keys[k].name, value,
				proc                              ? 1
					: str_has(line, "kbytes") ? 1024
					: str_has(line, "blocks") ? 512
								  : 1,
				read_origin(f, in, i));
			last = i + 1;
		}
		if (i > last + 8)
			break;
	}
	return last;
}

/* $ ulimit -l / -n, and its answer. */
static size_t read_ulimit_one(const struct read_input *in, struct facts *f)
{
	struct str command;
	if (!read_prompt(in->line[0].text, &command) || in->count < 2)
		return 0;
	struct str value = str_trim(in->line[1].text);
	bool memlock = str_ends(command, "ulimit -l") || str_has(command, "ulimit -l;"), nofile = str_ends(command, "ulimit -n");
	int64_t n;
	if ((!memlock && !nofile) || (str_to_int(value, &n) < 0 && !str_is(value, "unlimited")))
		return 0;
	set_limit(f, memlock ? "memlock" : "nofile", value, memlock ? 1024 : 1, read_origin(f, in, 1));
	return 2;
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

/* PRETTY_NAME="Ubuntu 22.04.4 LTS", Description:	Ubuntu 22.04 */
static size_t read_os(const struct read_input *in, struct facts *f)
{
	struct str line = str_trim(in->line[0].text);
	size_t at = str_find(line, "PRETTY_NAME=", 0);
	struct str value = at != SIZE_MAX ? str_skip(line, at + 12) : str_starts(line, "Description:") ? str_skip(line, 12) : str_n("", 0);
	value = str_trim(value);
	if (value.len > 1 && value.ptr[0] == '"')
		value = str_slice(value, 1, str_find_char(value, '"', 1));
	if (!value.len)
		return 0;
	read_fill_str(facts_only(f, TABLE_system), system__os_name, value, read_origin(f, in, 0));
	return 1;
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

/* gcc (Ubuntu 13.2.0-23ubuntu4) 13.2.0 */
static size_t read_gcc(const struct read_input *in, struct facts *f)
{
	struct str line = str_trim(in->line[0].text);
	size_t close = str_rfind_char(line, ')');
	const char *name = str_starts(line, "gcc (") || str_starts(line, "gcc-") ? "gcc"
		: str_starts(line, "g++ (") || str_starts(line, "g++-")          ? "g++"
										 : NULL;
	if (!name || close == SIZE_MAX)
		return 0;
	struct str rest = str_skip(line, close + 1), version;
	if (!str_next_word(&rest, &version) || !read_is_version(version))
		return 0;
	struct facts_row *row = facts_find(f, compiler__name, name);
	if (!row) {
		row = facts_add(f, TABLE_compiler);
		facts_text(row, compiler__name, name, read_origin(f, in, 0));
	}
	read_fill_str(row, compiler__version, version, read_origin(f, in, 0));
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

/* Module Size Used by */
static size_t read_lsmod(const struct read_input *in, struct facts *f)
{
	size_t i = 1;
	struct str command;
	if (!str_has(in->line[0].text, "Used by"))
		return 0;
	facts_table_read(f, TABLE_kernel_module);
	for (; i < in->count && i < 1000; i++) {
		struct str rest = str_trim(in->line[i].text), name, size;
		int64_t n;
		if (read_prompt(in->line[i].text, &command) || !str_next_word(&rest, &name) || !str_next_word(&rest, &size) ||
			str_to_int(size, &n) < 0)
			break;
		struct facts_row *row = facts_add(f, TABLE_kernel_module);
		facts_str(row, kernel_module__name, name, read_origin(f, in, i));
		if (str_is(name, "nvidia"))
			read_fill_bool(read_driver(f, "nvidia"), driver__loaded, true, read_origin(f, in, i));
	}
	return i;
}

/* torch.__config__.show(): "Build settings: …, USE_CUDA=ON, USE_NCCL=OFF, …"; CMake: "--   USE_NCCL              : OFF" */
static size_t read_build_switches(const struct read_input *in, struct facts *f)
{
	static const struct {
		const char *name;
		enum facts_column column;
	} switches[] = {{"USE_NCCL", torch__nccl_built}, {"USE_GLOO", torch__gloo_built}, {"USE_MPI", torch__mpi_built},
		{"USE_DISTRIBUTED", torch__distributed_built}};
	struct str line = in->line[0].text;
	bool any = false;
	for (size_t k = 0; k < sizeof switches / sizeof switches[0]; k++) {
		size_t at = str_find(line, switches[k].name, 0);
		if (at == SIZE_MAX)
			continue;
		struct str rest = str_skip(line, at + strlen(switches[k].name));
		if (!rest.len || (rest.ptr[0] != '=' && rest.ptr[0] != ' ' && rest.ptr[0] != ':'))
			continue;
		while (rest.len && (rest.ptr[0] == ' ' || rest.ptr[0] == ':' || rest.ptr[0] == '='))
			rest = str_skip(rest, 1);
		bool off = str_starts(rest, "OFF") || str_starts(rest, "0"), on = str_starts(rest, "ON") || str_starts(rest, "1");
		if (off || on) {
			read_fill_bool(facts_only(f, TABLE_torch), switches[k].column, on, read_origin(f, in, 0));
			any = true;
		}
	}
	return any;
}

static const char *const df_triggers[] = {"Filesystem ", "文件系统", NULL};
static const char *const mount_triggers[] = {"/dev/shm", NULL};
static const char *const free_triggers[] = {"Mem: ", "内存：", NULL};
static const char *const ulimit_triggers[] = {"max locked memory", "core file size", "Max locked memory", "open files ", NULL};
static const char *const ulimit_one_triggers[] = {"ulimit -l", "ulimit -n", NULL};
static const char *const uname_triggers[] = {"GNU/Linux", NULL};
static const char *const os_triggers[] = {"PRETTY_NAME=", "Description:\t", NULL};
static const char *const tegra_triggers[] = {"(release), REVISION", NULL};
static const char *const nvcc_triggers[] = {"Cuda compilation tools", NULL};
static const char *const gcc_triggers[] = {"gcc (", "g++ (", "gcc-1", NULL};
static const char *const ldd_triggers[] = {"ldd (", NULL};
static const char *const lsmod_triggers[] = {"Module    ", NULL};
static const char *const switch_triggers[] = {"USE_NCCL", "USE_DISTRIBUTED", NULL};

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
const struct reader read_build_reader = {"torch.__config__", switch_triggers, read_build_switches};
