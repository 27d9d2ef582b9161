#include "read/read.h"

#include <ctype.h>

/* One line each: extern here, and its place in the order below. */
extern const struct reader read_nvidia_smi_table;
extern const struct reader read_nvidia_smi_list;
extern const struct reader read_nvidia_smi_query;
extern const struct reader read_nvidia_smi_xml;
extern const struct reader read_nvidia_smi_csv;
extern const struct reader read_container_cli_reader;
extern const struct reader read_nvidia_proc_version;
extern const struct reader read_collect_env;
extern const struct reader read_python_answers;
extern const struct reader read_python_banner;
extern const struct reader read_uv_change_reader;
extern const struct reader read_package_json_reader;
extern const struct reader read_pip_list_reader;
extern const struct reader read_pip_freeze_reader;
extern const struct reader read_pip_show_reader;
extern const struct reader read_conda_list_reader;
extern const struct reader read_pip_satisfied_reader;
extern const struct reader read_pip_installed_reader;
extern const struct reader read_pip_conflict_reader;
extern const struct reader read_pip_version_reader;
extern const struct reader read_df_reader;
extern const struct reader read_mount_reader;
extern const struct reader read_free_reader;
extern const struct reader read_ulimit_reader;
extern const struct reader read_ulimit_one_reader;
extern const struct reader read_answers_reader;
extern const struct reader read_uname_reader;
extern const struct reader read_os_reader;
extern const struct reader read_tegra_reader;
extern const struct reader read_nvcc_reader;
extern const struct reader read_gcc_reader;
extern const struct reader read_ldd_version_reader;
extern const struct reader read_lsmod_reader;
extern const struct reader read_build_summary_reader;
extern const struct reader read_torch_config_reader;
extern const struct reader read_ip_reader;
extern const struct reader read_ip_brief_reader;
extern const struct reader read_ip_oneline_reader;
extern const struct reader read_route_reader;
extern const struct reader read_ethtool_reader;
extern const struct reader read_ip_json_reader;
extern const struct reader read_route_table_reader;
extern const struct reader read_old_ifconfig_reader;
extern const struct reader read_ibstat_reader;
extern const struct reader read_ibstatus_reader;
extern const struct reader read_ibv_devinfo_reader;
extern const struct reader read_ibdev2netdev_reader;
extern const struct reader read_ibv_devices_reader;
extern const struct reader read_ls_infiniband_reader;
extern const struct reader read_rdma_link_reader;
extern const struct reader read_show_gids_reader;
extern const struct reader read_manifest_variable_reader;
extern const struct reader read_variable_reader;
extern const struct reader read_echo_reader;
extern const struct reader read_topology_reader;
extern const struct reader read_npu_smi_reader;
extern const struct reader read_vendor_banner_reader;
extern const struct reader read_gfx_reader;
extern const struct reader read_rock_reader;
extern const struct reader read_lspci_reader;
extern const struct reader read_rocm_smi_reader;
extern const struct reader read_package_line_reader;
extern const struct reader read_rocm_concise_reader;
extern const struct reader read_amd_table_reader;
extern const struct reader read_amd_static_reader;
extern const struct reader read_ras_json_reader;
extern const struct reader read_nccl_topology_reader;
extern const struct reader read_linux_version_reader;
extern const struct reader read_command_line_reader;
extern const struct reader read_iommu_reader;
extern const struct reader read_nvrm_reader;
extern const struct reader read_meminfo_reader;
extern const struct reader read_kubernetes_reader;
extern const struct reader read_docker_inspect_reader;
extern const struct reader read_conda_info_reader;
extern const struct reader read_ldd_reader;
extern const struct reader read_mention_reader;

const struct reader *const readers[] = {
	&read_nvidia_smi_table,
	&read_nvidia_smi_list,
	&read_nvidia_smi_query,
	&read_nvidia_smi_xml,
	&read_nvidia_smi_csv,
	&read_container_cli_reader,
	&read_nvidia_proc_version,
	&read_collect_env,
	&read_python_answers,
	&read_python_banner,
	&read_uv_change_reader,
	&read_package_json_reader,
	&read_pip_list_reader,
	&read_pip_freeze_reader,
	&read_pip_show_reader,
	&read_conda_list_reader,
	&read_pip_satisfied_reader,
	&read_pip_installed_reader,
	&read_pip_conflict_reader,
	&read_pip_version_reader,
	&read_df_reader,
	&read_mount_reader,
	&read_free_reader,
	&read_ulimit_reader,
	&read_ulimit_one_reader,
	&read_answers_reader,
	&read_uname_reader,
	&read_os_reader,
	&read_tegra_reader,
	&read_nvcc_reader,
	&read_gcc_reader,
	&read_ldd_version_reader,
	&read_lsmod_reader,
	&read_build_summary_reader,
	&read_torch_config_reader,
	&read_ip_reader,
	&read_ip_brief_reader,
	&read_ip_oneline_reader,
	&read_route_reader,
	&read_ethtool_reader,
	&read_ip_json_reader,
	&read_route_table_reader,
	&read_old_ifconfig_reader,
	&read_ibstat_reader,
	&read_ibstatus_reader,
	&read_ibv_devinfo_reader,
	&read_ibdev2netdev_reader,
	&read_ibv_devices_reader,
	&read_ls_infiniband_reader,
	&read_rdma_link_reader,
	&read_show_gids_reader,
	&read_manifest_variable_reader,
	&read_variable_reader,
	&read_echo_reader,
	&read_topology_reader,
	&read_npu_smi_reader,
	&read_vendor_banner_reader,
	&read_gfx_reader,
	&read_rock_reader,
	&read_lspci_reader,
	&read_rocm_smi_reader,
	&read_package_line_reader,
	&read_rocm_concise_reader,
	&read_amd_table_reader,
	&read_amd_static_reader,
	&read_ras_json_reader,
	&read_nccl_topology_reader,
	&read_linux_version_reader,
	&read_command_line_reader,
	&read_iommu_reader,
	&read_nvrm_reader,
	&read_meminfo_reader,
	&read_kubernetes_reader,
	&read_docker_inspect_reader,
	&read_conda_info_reader,
	&read_ldd_reader,
	&read_mention_reader,
	NULL,
};

const char *read_origin(struct facts *f, const struct read_input *in, size_t i)
{
	size_t number = i < in->count ? in->line[i].number : 0;

	return arena_printf(f->arena, "%s:%zu", in->file, number);
}

/* A command that was pasted without its prompt. Only what no sentence begins with: the command alone, or with options, a file or a pipe
 * after it. */
static bool bare_command(struct str s)
{
	static const char *const commands[] = {"pip list", "pip3 list", "pip freeze", "pip3 freeze", "uv pip list", "python -m pip list",
		"python3 -m pip list", "conda list", "mamba list", "df -h", "ulimit -a", "ulimit -l", "ulimit -n", "nvidia-smi", "ibstat",
		"lsmod", "ls -l /dev/shm", "ls -lh /dev/shm"};
	if (s.len > 120)
		return false;
	if (str_starts(s, "python -c \"") || str_starts(s, "python3 -c \"") || str_starts(s, "python -c '") ||
		str_starts(s, "python3 -c '"))
		return true;
	if (str_starts(s, "echo $"))
		return str_find_char(s, ' ', 5) == SIZE_MAX;
	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
		if (!str_starts(s, commands[i]))
			continue;
		struct str rest = str_trim(str_skip(s, strlen(commands[i])));
		bool apart = rest.len == 0 || s.ptr[strlen(commands[i])] == ' ';
		if (apart && (rest.len == 0 || strchr("|-/;&", rest.ptr[0])))
			return true;
	}
	return false;
}

/* "gpu-2 $ ", "node01:~$ ", "node01# ": a host that has a digit in its name, perhaps with its folder, before the mark at s.ptr[mark]. */
static bool host_prompt(struct str s, size_t mark)
{
	bool digit = false;
	size_t end = mark && s.ptr[mark] == '$' && s.ptr[mark - 1] == ' ' ? mark - 1 : mark, i = 0;
	for (; i < end && (isalnum((unsigned char)s.ptr[i]) || s.ptr[i] == '-' || s.ptr[i] == '.' || s.ptr[i] == '_'); i++)
		digit |= isdigit((unsigned char)s.ptr[i]);
	if (!digit || i < 2 || !isalpha((unsigned char)s.ptr[0]) || (s.ptr[mark] != '$' && s.ptr[mark] != '#'))
		return false;
	struct str folder = str_slice(s, i, end);
	return !folder.len || ((str_starts(folder, ":~") || str_starts(folder, ":/")) && str_find_char(folder, ' ', 0) == SIZE_MAX);
}

/* user@host:dir followed by $ or #, perhaps "(env) " in front; or a bare "$ ", "# ", "% ", ">>> ", "In [3]: "; or a command without any.
 */
bool read_prompt(struct str line, struct str *ret_command)
{
	struct str s = str_trim(line);
	if (str_starts(s, ">>> ")) {
		*ret_command = str_trim(str_skip(s, 4));
		return true;
	}
	size_t number = str_starts(s, "In [") ? str_find(s, "]: ", 4) : SIZE_MAX; /* IPython */
	if (number != SIZE_MAX && number < 12) {
		*ret_command = str_trim(str_skip(s, number + 3));
		return true;
	}
	while (s.len && s.ptr[0] == '(') { /* (base) (env) */
		size_t end = str_find_char(s, ')', 0);
		if (end == SIZE_MAX || end > 60)
			return false;
		s = str_trim(str_skip(s, end + 1));
	}
	if (s.len > 2 && strchr("$#%", s.ptr[0]) && s.ptr[1] == ' ') {
		*ret_command = str_trim(str_skip(s, 2));
		return true;
	}
	/* The first "$ " or "# " after a word with @ or a drive letter. */
	for (size_t i = 1; i + 1 < s.len && i < 160; i++) {
		bool mark = (s.ptr[i] == '$' || s.ptr[i] == '#' || s.ptr[i] == '>') && s.ptr[i + 1] == ' ';
		if (!mark)
			continue;
		struct str head = str_slice(s, 0, i);
		bool windows = s.ptr[i] == '>' && head.len > 2 && head.ptr[1] == ':' && isalpha((unsigned char)head.ptr[0]);
		bool powershell = s.ptr[i] == '>' && str_starts(head, "PS ");
		bool unix_like = s.ptr[i] != '>' && str_find_char(head, '@', 0) != SIZE_MAX;
		if (!windows && !powershell && !unix_like && !host_prompt(s, i))
			return false;
		*ret_command = str_trim(str_skip(s, i + 2));
		return true;
	}
	*ret_command = s;
	return bare_command(s);
}
