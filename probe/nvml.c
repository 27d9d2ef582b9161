/* NVML: what nvidia-smi knows. Every call may be missing in an old library and may fail on a device; then its key is missing in the answer.
 */
#include "probe.h"

#include <stdio.h>
#include <string.h>

typedef struct nvml_device *nvml_device;
typedef int nvml_call_none(void);
typedef const char *nvml_call_string(int);
typedef int nvml_call_text(char *, unsigned);
typedef int nvml_call_system_int(int *);
typedef int nvml_call_count(unsigned *);
typedef int nvml_call_handle(unsigned, nvml_device *);
typedef int nvml_call_device_text(nvml_device, char *, unsigned);
typedef int nvml_call_device_uint(nvml_device, unsigned *);
typedef int nvml_call_device_two(nvml_device, unsigned *, unsigned *);
typedef int nvml_call_device_rows(nvml_device, unsigned *, unsigned *, unsigned *, unsigned *);
typedef int nvml_call_device_u64(nvml_device, unsigned long long *);
typedef int nvml_call_device_blob(nvml_device, void *);
typedef int nvml_call_ecc(nvml_device, int, int, unsigned long long *);
typedef int nvml_call_pages(nvml_device, int, unsigned *, unsigned long long *);
typedef int nvml_call_selected(nvml_device, unsigned, unsigned *);
typedef int nvml_call_link_blob(nvml_device, unsigned, void *);
typedef int nvml_call_list(nvml_device, unsigned *, void *);
typedef int nvml_call_slice(nvml_device, unsigned, nvml_device *);
typedef int nvml_call_pair(nvml_device, nvml_device, unsigned, unsigned *);
typedef int nvml_call_pair_plain(nvml_device, nvml_device, unsigned *);

enum { NVML_SUCCESS = 0, NVML_INSUFFICIENT_SIZE = 7, NVML_GPU_IS_LOST = 15 };

#define GPUS_MAX 64
#define LINKS_MAX 36
#define SLICES_MAX 16

static void *library;

#define CALL(...) PROBE_SYMBOL(library, __VA_ARGS__)

static const char *error_text(int code)
{
	nvml_call_string *string = CALL("nvmlErrorString");
	const char *text = string ? string(code) : NULL;

	return text ? text : "";
}

/* Version 3 and 2 of the structure begin with the bus id, then five numbers; 256 bytes hold any of them. */
struct pci_info {
	union {
		struct {
			char bus_id[16];
			unsigned domain, bus, device, id, subsystem;
		};
		char room[256];
	};
};

/* -- one device ------------------------------------------------------------------------------------------------------------ */

static void put_text(nvml_device d, const char *key, const char *symbol)
{
	nvml_call_device_text *call = CALL(symbol);
	char text[256] = "";

	if (call && call(d, text, 96) == NVML_SUCCESS)
		out_text_n(key, text, sizeof text - 1);
}

static void put_uint(nvml_device d, const char *key, const char *symbol)
{
	nvml_call_device_uint *call = CALL(symbol);
	unsigned v = 0;

	if (call && call(d, &v) == NVML_SUCCESS)
		out_int(key, v);
}

static bool read_address(nvml_device d, char *ret, size_t size)
{
	nvml_call_device_blob *call = CALL("nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo");
	struct pci_info pci;

	memset(&pci, 0, sizeof pci);
	if (!call || call(d, &pci) != NVML_SUCCESS)
		return false;
	snprintf(ret, size, "%04x:%02x:%02x.0", pci.domain, pci.bus & 0xff, pci.device & 0x1f);
	return true;
}

static void put_memory(nvml_device d)
{
	nvml_call_device_blob *call = CALL("nvmlDeviceGetMemoryInfo");
	unsigned long long memory[8] = {0}; /* total, free, used */

	if (!call || call(d, memory) != NVML_SUCCESS)
		return;
	out_int("memory_total", (int64_t)memory[0]);
	out_int("memory_used", (int64_t)memory[2]);
}

static void put_errors(nvml_device d)
{
	nvml_call_ecc *ecc = CALL("nvmlDeviceGetTotalEccErrors");
	nvml_call_pages *pages = CALL("nvmlDeviceGetRetiredPages");
	nvml_call_device_uint *pages_pending = CALL("nvmlDeviceGetRetiredPagesPendingStatus");
	nvml_call_device_rows *rows = CALL("nvmlDeviceGetRemappedRows");
	unsigned long long errors = 0;
	unsigned count = 0, corrected = 0, uncorrected = 0, pending = 0, failed = 0;
	int rc;

	if (ecc && ecc(d, 1, 0, &errors) == NVML_SUCCESS)
		out_int("ecc_uncorrected", (int64_t)errors);
	/* Cause 1: a double-bit error. Without room it only counts. */
	if (pages) {
		rc = pages(d, 1, &count, NULL);
		if (rc == NVML_SUCCESS || rc == NVML_INSUFFICIENT_SIZE)
			out_int("retired_pages", count);
	}
	if (pages_pending && pages_pending(d, &pending) == NVML_SUCCESS)
		out_bool("retired_pending", pending != 0);
	pending = 0;
	if (rows && rows(d, &corrected, &uncorrected, &pending, &failed) == NVML_SUCCESS) {
		out_int("remapped_rows", uncorrected);
		out_bool("remap_pending", pending != 0);
		out_bool("remap_failed", failed != 0);
	}
}

static void put_links(nvml_device d)
{
	nvml_call_selected *state = CALL("nvmlDeviceGetNvLinkState");
	nvml_call_link_blob *remote = CALL("nvmlDeviceGetNvLinkRemotePciInfo_v2", "nvmlDeviceGetNvLinkRemotePciInfo");
	nvml_call_selected *type = CALL("nvmlDeviceGetNvLinkRemoteDeviceType");
	struct pci_info pci;
	char address[32];
	unsigned up, kind;

	if (!state)
		return;
	out_array("nvlinks");
	for (unsigned i = 0; i < LINKS_MAX; i++) {
		if (state(d, i, &up) != NVML_SUCCESS)
			break;
		out_object(NULL);
		out_bool("up", up == 1);
		memset(&pci, 0, sizeof pci);
		if (up == 1 && remote && remote(d, i, &pci) == NVML_SUCCESS) {
			snprintf(address, sizeof address, "%04x:%02x:%02x.0", pci.domain, pci.bus & 0xff, pci.device & 0x1f);
			out_text("to", address);
		}
		if (up == 1 && type && type(d, i, &kind) == NVML_SUCCESS)
			out_text("kind", kind == 0 ? "gpu" : kind == 2 ? "switch" : "other");
		out_end();
	}
	out_end();
}

static void put_slices(nvml_device d)
{
	nvml_call_device_two *mode = CALL("nvmlDeviceGetMigMode");
	nvml_call_slice *handle = CALL("nvmlDeviceGetMigDeviceHandleByIndex");
	unsigned now = 0, later = 0;
	nvml_device slice;

	if (!mode || mode(d, &now, &later) != NVML_SUCCESS)
		return;
	out_bool("mig", now == 1);
	if (now != 1 || !handle)
		return;
	out_array("slices");
	for (unsigned i = 0; i < SLICES_MAX; i++) {
		if (handle(d, i, &slice) != NVML_SUCCESS)
			continue;
		out_object(NULL);
		put_text(slice, "name", "nvmlDeviceGetName");
		put_text(slice, "uuid", "nvmlDeviceGetUUID");
		out_end();
	}
	out_end();
}

static void put_state(nvml_device d)
{
	static const char *const modes[] = {"default", "exclusive-thread", "prohibited", "exclusive-process"};
	static const char *const fabric_states[] = {"not supported", "not started", "in progress", "completed"};
	nvml_call_device_uint *mode = CALL("nvmlDeviceGetComputeMode");
	nvml_call_device_u64 *throttle = CALL("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons");
	nvml_call_selected *temperature = CALL("nvmlDeviceGetTemperature");
	nvml_call_list *processes = CALL("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
		"nvmlDeviceGetComputeRunningProcesses");
	nvml_call_device_blob *fabric = CALL("nvmlDeviceGetGpuFabricInfo");
	struct {
		unsigned char cluster[16];
		unsigned status, clique;
		unsigned char state, room[231];
	} info;
	unsigned long long reasons = 0;
	unsigned v = 0;
	int rc;

	if (mode && mode(d, &v) == NVML_SUCCESS && v < 4)
		out_text("compute_mode", modes[v]);
	if (throttle && throttle(d, &reasons) == NVML_SUCCESS)
		out_int("throttle", (int64_t)reasons);
	if (temperature && temperature(d, 0, &v) == NVML_SUCCESS)
		out_int("temperature", v);
	v = 0;
	if (processes) { /* without room it only counts */
		rc = processes(d, &v, NULL);
		if (rc == NVML_SUCCESS || rc == NVML_INSUFFICIENT_SIZE)
			out_int("processes", v);
	}
	memset(&info, 0, sizeof info);
	if (fabric && fabric(d, &info) == NVML_SUCCESS && info.state < 4) {
		out_text("fabric_state", fabric_states[info.state]);
		out_int("fabric_status", info.status);
	}
}

static void put_device(nvml_device d)
{
	nvml_call_device_two *capability = CALL("nvmlDeviceGetCudaComputeCapability");
	unsigned major = 0, minor = 0;
	char address[32];

	put_text(d, "name", "nvmlDeviceGetName");
	put_text(d, "uuid", "nvmlDeviceGetUUID");
	put_text(d, "vbios", "nvmlDeviceGetVbiosVersion");
	if (read_address(d, address, sizeof address))
		out_text("pci", address);
	if (capability && capability(d, &major, &minor) == NVML_SUCCESS) {
		out_int("cc_major", major);
		out_int("cc_minor", minor);
	}
	put_memory(d);
	put_state(d);
	put_slices(d);
	put_errors(d);
	put_links(d);
	put_uint(d, "minor", "nvmlDeviceGetMinorNumber");
	put_uint(d, "persistence", "nvmlDeviceGetPersistenceMode");
	put_uint(d, "link_width", "nvmlDeviceGetCurrPcieLinkWidth");
	put_uint(d, "link_width_max", "nvmlDeviceGetMaxPcieLinkWidth");
	put_uint(d, "link_generation", "nvmlDeviceGetCurrPcieLinkGeneration");
	put_uint(d, "link_generation_max", "nvmlDeviceGetMaxPcieLinkGeneration");
}

/* -- pairs ----------------------------------------------------------------------------------------------------------------- */

static const char *p2p_name(unsigned status)
{
	static const char *const names[] = {"ok", "chipset not supported", "gpu not supported", "ioh topology not supported",
		"disabled by regkey", "not supported", "unknown"};

	return status < sizeof names / sizeof *names ? names[status] : "unknown";
}

static const char *path_name(unsigned level)
{
	switch (level) {
	case 0: return "internal";
	case 10: return "PIX";
	case 20: return "PXB";
	case 30: return "PHB";
	case 40: return "NODE";
	case 50: return "SYS";
	default: return NULL;
	}
}

/* Capability 0 is reading, 1 writing, 2 NVLink. The worse of reading and writing counts. */
static void put_pair(nvml_device a, nvml_device b, int ia, int ib)
{
	nvml_call_pair *p2p = CALL("nvmlDeviceGetP2PStatus");
	nvml_call_pair_plain *ancestor = CALL("nvmlDeviceGetTopologyCommonAncestor");
	unsigned reading = 0, writing = 0, nvlink = 1, level;

	out_object(NULL);
	out_int("a", ia);
	out_int("b", ib);
	if (p2p && p2p(a, b, 0, &reading) == NVML_SUCCESS) {
		if (p2p(a, b, 1, &writing) != NVML_SUCCESS)
			writing = reading;
		out_text("p2p", p2p_name(reading ? reading : writing));
	}
	if (p2p && p2p(a, b, 2, &nvlink) == NVML_SUCCESS)
		out_bool("nvlink", nvlink == 0);
	if (ancestor && ancestor(a, b, &level) == NVML_SUCCESS)
		out_text("path", path_name(level));
	out_end();
}

/* -- together -------------------------------------------------------------------------------------------------------------- */

static void put_system(void)
{
	nvml_call_text *driver = CALL("nvmlSystemGetDriverVersion"), *nvml = CALL("nvmlSystemGetNVMLVersion");
	nvml_call_system_int *cuda = CALL("nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion");
	char text[256] = "";
	int v = 0;

	if (driver && driver(text, 80) == NVML_SUCCESS)
		out_text_n("driver_version", text, sizeof text - 1);
	if (nvml && nvml(text, 80) == NVML_SUCCESS)
		out_text_n("nvml_version", text, sizeof text - 1);
	if (cuda && cuda(&v) == NVML_SUCCESS)
		out_int("cuda_version", v);
}

int probe_nvml(void)
{
	static nvml_device devices[GPUS_MAX];
	nvml_call_none *init;
	nvml_call_count *count_call;
	nvml_call_handle *handle;
	unsigned count = 0;
	int rc;

	library = probe_load((const char *const[]){"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1", NULL});
	if (!library)
		return PROBE_MISSING;
	init = CALL("nvmlInit_v2", "nvmlInit");
	count_call = CALL("nvmlDeviceGetCount_v2", "nvmlDeviceGetCount");
	handle = CALL("nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex");
	if (!init || !count_call || !handle) {
		out_error("dlsym", -1, "the library lacks nvmlInit");
		return PROBE_ERROR;
	}
	probe_calling("nvmlInit", -1);
	rc = init();
	if (rc != NVML_SUCCESS) {
		out_error("nvmlInit", rc, error_text(rc));
		return PROBE_ERROR;
	}
	put_system();
	rc = count_call(&count);
	if (rc != NVML_SUCCESS) {
		out_error("nvmlDeviceGetCount", rc, error_text(rc));
		return PROBE_ERROR;
	}
	out_int("count", count);
	out_array("gpus");
	for (unsigned i = 0; i < count && i < GPUS_MAX; i++) {
		probe_calling("nvmlDeviceGetHandleByIndex", (int)i);
		out_object(NULL);
		out_int("index", i);
		rc = handle(i, &devices[i]);
		if (rc == NVML_SUCCESS) {
			put_device(devices[i]);
		} else {
			devices[i] = NULL;
			out_error("nvmlDeviceGetHandleByIndex", rc, error_text(rc));
		}
		out_end();
	}
	out_end();
	probe_calling("nvmlDeviceGetP2PStatus", -1);
	out_array("pairs");
	for (unsigned i = 0; i < count && i < GPUS_MAX; i++)
		for (unsigned k = i + 1; k < count && k < GPUS_MAX; k++)
			if (devices[i] && devices[k])
				put_pair(devices[i], devices[k], (int)i, (int)k);
	out_end();
	return PROBE_OK;
}
