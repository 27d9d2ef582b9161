/* AMD's rocm_smi. */
#include "probe.h"

#include <stdio.h>

typedef int rsmi_init(uint64_t);
typedef int rsmi_string(int, const char **);
typedef int rsmi_count(uint32_t *);
typedef int rsmi_name(uint32_t, char *, size_t);
typedef int rsmi_u64(uint32_t, uint64_t *);
typedef int rsmi_memory(uint32_t, int, uint64_t *);
typedef int rsmi_temperature(uint32_t, uint32_t, int, int64_t *);
typedef int rsmi_link(uint32_t, uint32_t, uint64_t *, int *);

enum { GPUS_MAX = 64, TEMPERATURE_JUNCTION = 1, LINK_PCIE = 1, LINK_XGMI = 2 };

static void *library;

#define CALL(...) PROBE_SYMBOL(library, __VA_ARGS__)

static const char *error_text(int code)
{
	rsmi_string *call = CALL("rsmi_status_string");
	const char *text = NULL;

	return call && call(code, &text) == 0 && text ? text : "";
}

static void put_device(uint32_t i)
{
	rsmi_name *name = CALL("rsmi_dev_name_get");
	rsmi_u64 *pci = CALL("rsmi_dev_pci_id_get");
	rsmi_memory *total = CALL("rsmi_dev_memory_total_get"), *used = CALL("rsmi_dev_memory_usage_get");
	rsmi_temperature *temperature = CALL("rsmi_dev_temp_metric_get");
	char text[256] = "";
	uint64_t v = 0;
	int64_t degrees = 0;

	out_int("index", i);
	if (name && name(i, text, sizeof text - 1) == 0)
		out_text_n("name", text, sizeof text - 1);
	if (pci && pci(i, &v) == 0) { /* domain above, then bus, device, function */
		snprintf(text, sizeof text, "%04x:%02x:%02x.%x", (unsigned)(v >> 32), (unsigned)(v >> 8) & 0xff, (unsigned)(v >> 3) & 0x1f,
			(unsigned)v & 7);
		out_text("pci", text);
	}
	if (total && total(i, 0, &v) == 0)
		out_int("memory_total", (int64_t)v);
	if (used && used(i, 0, &v) == 0)
		out_int("memory_used", (int64_t)v);
	if (temperature && temperature(i, TEMPERATURE_JUNCTION, 0, &degrees) == 0)
		out_int("temperature", degrees / 1000);
}

int probe_rocm(void)
{
	rsmi_init *init;
	rsmi_count *count_call;
	rsmi_link *link;
	uint32_t count = 0;
	int rc;

	library = probe_load((const char *const[]){"librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so.1", "librocm_smi64.so",
		"/opt/rocm/lib/librocm_smi64.so", NULL});
	if (!library)
		return PROBE_MISSING;
	init = CALL("rsmi_init");
	count_call = CALL("rsmi_num_monitor_devices");
	link = CALL("rsmi_topo_get_link_type");
	if (!init || !count_call) {
		out_error("dlsym", -1, "the library lacks rsmi_init");
		return PROBE_ERROR;
	}
	probe_calling("rsmi_init", -1);
	rc = init(0);
	if (rc == 0)
		rc = count_call(&count);
	if (rc != 0) {
		out_error("rsmi_init", rc, error_text(rc));
		return PROBE_ERROR;
	}
	out_int("count", count);
	out_array("gpus");
	for (uint32_t i = 0; i < count && i < GPUS_MAX; i++) {
		out_object(NULL);
		put_device(i);
		out_end();
	}
	out_end();
	out_array("pairs");
	for (uint32_t i = 0; link && i < count && i < GPUS_MAX; i++) {
		for (uint32_t k = i + 1; k < count && k < GPUS_MAX; k++) {
			uint64_t hops = 0;
			int type = 0;

			if (link(i, k, &hops, &type) != 0)
				continue;
			out_object(NULL);
			out_int("a", i);
			out_int("b", k);
			out_text("link", type == LINK_XGMI ? "XGMI" : type == LINK_PCIE ? "PCIe" : "other");
			out_end();
		}
	}
	out_end();
	return PROBE_OK;
}
