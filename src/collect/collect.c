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

void collect_all(struct collect *c, double *ret_ms)
{
	for (size_t i = 0; i < collector_count; i++) {
		double start = host_clock_ms();
		collectors[i].run(c);
		if (ret_ms)
			ret_ms[i] = host_clock_ms() - start;
	}
}
