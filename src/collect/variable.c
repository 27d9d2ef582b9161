/* Environment variables that training software reads. What is known of each comes from the tables (knowledge/derive-b.yaml). */
#include "collect/collect.h"

static bool matters(const char *text)
{
	static const char *const prefixes[] = {"NCCL_", "RCCL_", "TORCH_", "TORCHELASTIC_", "PYTORCH_", "CUDA_", "CUDNN_", "NVIDIA_",
		"GLOO_", "UCX_", "OMPI_", "PMI_", "PMIX_", "HCCL_", "ASCEND_", "MLU_", "MUSA_", "MTHREADS_", "HIP_", "ROCR_", "HSA_", "ZE_",
		"ONEAPI_", "CCL_", "FI_", "OFI_", "MASTER_", "LOCAL_", "GROUP_", "ROLE_", "LD_", "PYTHON", "SLURM_", "CONDA_",
		"VIRTUAL_ENV", "OMP_", "MKL_", "KMP_", "TRITON_", "DS_", "ACCELERATE_", "SHARP_", "NVSHMEM_", "TP_", "RDMAV_", "MLX5_",
		"IBV_", "LCCL_", "PET_", "I_MPI_", "HABANA_", "TASK_QUEUE_"};
	static const char *const names[] = {"RANK", "WORLD_SIZE", "NODE_RANK", "NNODES", "NPROC_PER_NODE", "USE_LIBUV", "TMPDIR", "PATH",
		"HOSTNAME", "NUMEXPR_MAX_THREADS", "MAX_JOBS", "USE_CUDA", "USE_NCCL", "USE_SYSTEM_NCCL", "USE_DISTRIBUTED",
		"KUBERNETES_SERVICE_HOST"};
	for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
		if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	size_t n = strcspn(text, "=");
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strlen(names[i]) == n && strncmp(text, names[i], n) == 0)
			return true;
	return false;
}

void collect_variable(struct collect *c)
{
	const char *const *env;
	if (!host_has_env(c->host)) {
		facts_table_gap(c->facts, TABLE_variable, GAP_UNSUPPORTED, "environment", "a file system has no environment");
		return;
	}
	facts_table_read(c->facts, TABLE_variable);
	size_t n = host_env_list(c->host, &env);
	for (size_t i = 0; i < n; i++) {
		struct str text = str_of(env[i]);
		size_t eq = str_find_char(text, '=', 0);
		if (eq == SIZE_MAX || !matters(env[i]))
			continue;
		struct facts_row *row = facts_add(c->facts, TABLE_variable);
		facts_str(row, variable__name, str_slice(text, 0, eq), "environment");
		facts_str(row, variable__value, str_skip(text, eq + 1), "environment");
	}
}
