/* What the kernel says at boot, in dmesg or the journal, and what /proc repeats of it: its version and command line, the IOMMU's mode, the
 * NVIDIA module's version. */
#include "read/fill.h"
#include "read/read.h"

static struct facts_row *of_system(struct facts *f)
{
	return facts_only(f, TABLE_system);
}

/* "Linux version 5.15.0-105-generic (buildd@…) …" */
static size_t read_linux_version(const struct read_input *in, struct facts *f)
{
	size_t at = str_find(in->line[0].text, "Linux version ", 0);
	struct str rest = at == SIZE_MAX ? str_n("", 0) : str_skip(in->line[0].text, at + 14), release;
	if (!str_next_word(&rest, &release) || !read_is_version(release) || !str_has(release, "."))
		return 0;
	read_fill_str(of_system(f), system__kernel, release, read_origin(f, in, 0));
	read_fill_str(of_system(f), system__platform,
		str_has(release, "microsoft")       ? STR("wsl2")
			: str_has(release, "tegra") ? STR("jetson")
						    : STR("linux"),
		read_origin(f, in, 0));
	return 1;
}

/* "Command line: BOOT_IMAGE=/boot/vmlinuz … iommu=pt", and /proc/cmdline, which has no label. */
static size_t read_command_line(const struct read_input *in, struct facts *f)
{
	struct str line = str_trim(in->line[0].text);
	size_t at = str_find(line, "BOOT_IMAGE=", 0);
	if (at == SIZE_MAX || (at != 0 && !str_has(line, "ommand line: ")))
		return 0;
	read_fill_str(of_system(f), system__cmdline, str_skip(line, at), read_origin(f, in, 0));
	return 1;
}

/* "iommu: Default domain type: Translated", "… Passthrough (set via kernel command line)" */
static size_t read_iommu(const struct read_input *in, struct facts *f)
{
	size_t at = str_find(in->line[0].text, "Default domain type: ", 0);
	struct str mode = at == SIZE_MAX ? str_n("", 0) : str_skip(in->line[0].text, at + 21);
	if (!str_starts(mode, "Translated") && !str_starts(mode, "Passthrough"))
		return 0;
	read_fill_str(of_system(f), system__iommu, str_starts(mode, "T") ? STR("translated") : STR("passthrough"), read_origin(f, in, 0));
	return 1;
}

/* "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.161.08  Tue Feb 13 …", "… Open Kernel Module for x86_64  570.86.15  Release Build"
 */
static size_t read_nvrm(const struct read_input *in, struct facts *f)
{
	struct str line = in->line[0].text, word;
	size_t at = str_find(line, "Kernel Module", 0);
	if (at == SIZE_MAX || !str_has(line, "NVRM: loading"))
		return 0;
	struct facts_row *driver = read_driver(f, "nvidia");
	struct str rest = str_skip(line, at + 13);
	read_fill_bool(driver, driver__loaded, true, read_origin(f, in, 0));
	read_fill_bool(driver, driver__open_module, str_has(line, "Open Kernel Module"), read_origin(f, in, 0));
	while (str_next_word(&rest, &word))
		if (read_is_version(word) && str_has(word, ".")) {
			read_fill_str(driver, driver__version, word, read_origin(f, in, 0));
			break;
		}
	return 1;
}

/* /proc/meminfo: "MemTotal: 131894332 kB" */
static size_t read_meminfo(const struct read_input *in, struct facts *f)
{
	static const struct {
		const char *key;
		enum facts_column column;
	} keys[] = {
		{"MemTotal", system__memory_bytes}, {"MemAvailable", system__memory_available_bytes}, {"SwapTotal", system__swap_bytes}};
	size_t i = 0;
	for (; i < in->count && i < 80; i++) {
		struct str key, value;
		int64_t n;
		if (!str_split(in->line[i].text, ':', &key, &value) || !str_ends(value, " kB"))
			break;
		for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
			if (str_is(key, keys[k].key) && str_to_int(str_slice(value, 0, value.len - 3), &n) == 0 && n >= 0 &&
				n < INT64_MAX / 2048)
				read_fill_int(of_system(f), keys[k].column, n * 1024, read_origin(f, in, i));
	}
	return i;
}

static const char *const version_triggers[] = {"Linux version ", NULL};
static const char *const cmdline_triggers[] = {"BOOT_IMAGE=", NULL};
static const char *const iommu_triggers[] = {"Default domain type: ", NULL};
static const char *const nvrm_triggers[] = {"NVRM: loading", NULL};
static const char *const meminfo_triggers[] = {"MemTotal: ", NULL};

const struct reader read_linux_version_reader = {"/proc/version", version_triggers, read_linux_version};
const struct reader read_command_line_reader = {"/proc/cmdline", cmdline_triggers, read_command_line};
const struct reader read_iommu_reader = {"dmesg", iommu_triggers, read_iommu};
const struct reader read_nvrm_reader = {"dmesg", nvrm_triggers, read_nvrm};
const struct reader read_meminfo_reader = {"/proc/meminfo", meminfo_triggers, read_meminfo};
