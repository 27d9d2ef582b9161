#include "collect/collect.h"

/* In this order: later ones may use the facts of earlier ones. */
const struct collector collectors[] = {
	{"python", collect_python},
	{"system", collect_system},
	{"kernel_module", collect_kernel_module},
	{"pci", collect_pci},
	{"driver", collect_driver},
	{"gpu", collect_gpu},
	{"accelerator", collect_accelerator},
	{"probe_start", collect_probe_start},
	{"container", collect_container},
	{"mount", collect_mount},
	{"limit", collect_limit},
	{"network", collect_network},
	{"rdma", collect_rdma},
	{"toolkit", collect_toolkit},
	{"torch", collect_torch},
	{"probe", collect_probe},
	{"gpu_pair", collect_gpu_pair},
	{"device_node", collect_device_node},
	{"purpose", collect_purpose},
	{"variable", collect_variable},
	{"lock", collect_lock},
};
const size_t collector_count = sizeof collectors / sizeof collectors[0];

/* What the first collector fills alone: the interpreter and its packages. */
static const enum facts_table of_python[] = {TABLE_python, TABLE_sys_path, TABLE_startup_code, TABLE_program, TABLE_local_module,
	TABLE_package, TABLE_conda_package, TABLE_requirement, TABLE_requirement_conflict, TABLE_integrity, TABLE_numpy_user};

/* How many of the collectors, from the first on, the tables need. */
static size_t needed(const bool *asked)
{
	bool any = false;
	for (int t = 0; t < TABLE_COUNT; t++) {
		bool early = false;
		for (size_t i = 0; i < sizeof of_python / sizeof *of_python; i++)
			early |= of_python[i] == (enum facts_table)t;
		if (asked[t] && !early)
			return collector_count;
		any |= asked[t];
	}
	return any ? 1 : 0;
}

void collect_all(struct collect *c, double *ret_ms)
{
	size_t n = c->asked ? needed(c->asked) : collector_count;
	if (n == collector_count)
		c->asked = NULL;
	for (size_t i = 0; i < n; i++) {
		double start = host_clock_ms();
		collectors[i].run(c);
		if (ret_ms)
			ret_ms[i] = host_clock_ms() - start;
	}
}
