/* A libnvidia-ml.so.1 whose answers come from a scenario. With FAKE_OLD it lacks all that came after its first version. */
#include <stdio.h>
#include <string.h>

#include "scenario.h"

typedef long *nvml_device; /* its index */

static long indices[64];

static int count(void)
{
	return scenario_number("lie", -1, -1, 0) ? 1000000 : (int)scenario_number("gpus", -1, -1, 8);
}

static int lie(void)
{
	return (int)scenario_number("lie", -1, -1, 0);
}

static int device(nvml_device d)
{
	return (int)*d;
}

static int put(char *to, unsigned size, const char *text)
{
	if (lie()) {
		memset(to, 'x', size); /* no end */
		return 0;
	}
	snprintf(to, size, "%s", text);
	return 0;
}

struct pci_info {
	char old_bus_id[16];
	unsigned domain, bus, device, id, subsystem;
	char bus_id[32];
};

static unsigned bus_of(int index)
{
	static const unsigned buses[] = {0x19, 0x3b, 0x4c, 0x5d, 0x9b, 0xbb, 0xcb, 0xdb};

	return index < 8 ? buses[index] : 0xe0u + (unsigned)index;
}

static int fill_pci(struct pci_info *pci, unsigned bus)
{
	memset(pci, 0, sizeof *pci);
	snprintf(pci->old_bus_id, sizeof pci->old_bus_id, "0000:%02X:00.0", bus);
	pci->bus = bus;
	pci->id = 0x233010de;
	snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", bus);
	return 0;
}

/* -- the first version ------------------------------------------------------------------------------------------------------- */

static int init(void)
{
	scenario_step("nvmlInit");
	return (int)scenario_number("init", -1, -1, 0);
}

int nvmlInit(void);
int nvmlInit(void)
{
	return init();
}

const char *nvmlErrorString(int code);
const char *nvmlErrorString(int code)
{
	switch (code) {
	case 0: return "The operation was successful";
	case 3: return "Not Supported";
	case 9: return "Driver Not Loaded";
	case 15: return "GPU is lost";
	case 18: return "Driver/library version mismatch";
	case 999: return "Unknown Error";
	default: return "Error";
	}
}

int nvmlSystemGetDriverVersion(char *version, unsigned length);
int nvmlSystemGetDriverVersion(char *version, unsigned length)
{
	return put(version, length, scenario_text("driver", "580.65.06"));
}

int nvmlSystemGetNVMLVersion(char *version, unsigned length);
int nvmlSystemGetNVMLVersion(char *version, unsigned length)
{
	return put(version, length, scenario_text("driver", "580.65.06"));
}

static int get_count(unsigned *ret)
{
	*ret = (unsigned)count();
	return 0;
}

int nvmlDeviceGetCount(unsigned *ret);
int nvmlDeviceGetCount(unsigned *ret)
{
	return get_count(ret);
}

static int get_handle(unsigned index, nvml_device *ret)
{
	scenario_step("nvmlDeviceGetHandleByIndex");
	if (scenario_number("lost", (int)index, -1, 0))
		return 15;
	if (index >= 64)
		return 2;
	indices[index] = (long)index;
	*ret = &indices[index];
	return 0;
}

int nvmlDeviceGetHandleByIndex(unsigned index, nvml_device *ret);
int nvmlDeviceGetHandleByIndex(unsigned index, nvml_device *ret)
{
	return get_handle(index, ret);
}

int nvmlDeviceGetName(nvml_device d, char *name, unsigned length);
int nvmlDeviceGetName(nvml_device d, char *name, unsigned length)
{
	scenario_step("nvmlDeviceGetName");
	if (*d >= 1000) {
		char slice[128];

		snprintf(slice, sizeof slice, "%s MIG 1g.10gb", scenario_text("name", "NVIDIA H100 80GB HBM3"));
		return put(name, length, slice);
	}
	return put(name, length, scenario_text("name", "NVIDIA H100 80GB HBM3"));
}

int nvmlDeviceGetUUID(nvml_device d, char *uuid, unsigned length);
int nvmlDeviceGetUUID(nvml_device d, char *uuid, unsigned length)
{
	char text[64];

	snprintf(text, sizeof text, "%s-%08lx-1c2d-4e5f-8a9b-0123456789ab", *d >= 1000 ? "MIG" : "GPU", 0x5a7e0000 + *d);
	return put(uuid, length, text);
}

int nvmlDeviceGetPciInfo(nvml_device d, struct pci_info *pci);
int nvmlDeviceGetPciInfo(nvml_device d, struct pci_info *pci)
{
	return fill_pci(pci, bus_of(device(d)));
}

int nvmlDeviceGetMemoryInfo(nvml_device d, unsigned long long *memory);
int nvmlDeviceGetMemoryInfo(nvml_device d, unsigned long long *memory)
{
	unsigned long long total = (unsigned long long)scenario_number("memory", -1, -1, 85520809984);

	(void)d;
	memory[0] = total;
	memory[2] = lie() ? total * 3 : 620000000;
	memory[1] = total - 620000000;
	return 0;
}

int nvmlDeviceGetComputeMode(nvml_device d, int *mode);
int nvmlDeviceGetComputeMode(nvml_device d, int *mode)
{
	*mode = lie() ? 77 : (int)scenario_number("mode", device(d), -1, 0);
	return 0;
}

int nvmlDeviceGetTotalEccErrors(nvml_device d, int type, int counter, unsigned long long *ret);
int nvmlDeviceGetTotalEccErrors(nvml_device d, int type, int counter, unsigned long long *ret)
{
	*ret = type == 1 && counter == 0 ? (unsigned long long)scenario_number("ecc", device(d), -1, lie() ? -5 : 0) : 0;
	return 0;
}

int nvmlDeviceGetTemperature(nvml_device d, int sensor, unsigned *ret);
int nvmlDeviceGetTemperature(nvml_device d, int sensor, unsigned *ret)
{
	(void)sensor;
	*ret = lie() ? 4000000 : 34 + (unsigned)device(d);
	return 0;
}

int nvmlDeviceGetPersistenceMode(nvml_device d, int *mode);
int nvmlDeviceGetPersistenceMode(nvml_device d, int *mode)
{
	(void)d;
	*mode = 1;
	return 0;
}

int nvmlDeviceGetComputeRunningProcesses(nvml_device d, unsigned *number, void *infos);
int nvmlDeviceGetComputeRunningProcesses(nvml_device d, unsigned *number, void *infos)
{
	long n = scenario_number("processes", device(d), -1, 0);
	unsigned room = *number;

	(void)infos;
	*number = (unsigned)n;
	return n > (long)room ? 7 : 0;
}

/* -- later ------------------------------------------------------------------------------------------------------------------- */

#ifndef FAKE_OLD
int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
	return init();
}

int nvmlDeviceGetCount_v2(unsigned *ret);
int nvmlDeviceGetCount_v2(unsigned *ret)
{
	return get_count(ret);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *ret);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *ret)
{
	return get_handle(index, ret);
}

int nvmlSystemGetCudaDriverVersion_v2(int *ret);
int nvmlSystemGetCudaDriverVersion_v2(int *ret)
{
	*ret = (int)scenario_number("cuda", -1, -1, 13000);
	return 0;
}

int nvmlDeviceGetPciInfo_v3(nvml_device d, struct pci_info *pci);
int nvmlDeviceGetPciInfo_v3(nvml_device d, struct pci_info *pci)
{
	return fill_pci(pci, bus_of(device(d)));
}

int nvmlDeviceGetCudaComputeCapability(nvml_device d, int *major, int *minor);
int nvmlDeviceGetCudaComputeCapability(nvml_device d, int *major, int *minor)
{
	long cc = scenario_number("cc", -1, -1, 90);

	(void)d;
	*major = lie() ? -3 : (int)cc / 10;
	*minor = (int)cc % 10;
	return 0;
}

int nvmlDeviceGetMinorNumber(nvml_device d, unsigned *ret);
int nvmlDeviceGetMinorNumber(nvml_device d, unsigned *ret)
{
	*ret = (unsigned)device(d);
	return 0;
}

int nvmlDeviceGetVbiosVersion(nvml_device d, char *text, unsigned length);
int nvmlDeviceGetVbiosVersion(nvml_device d, char *text, unsigned length)
{
	(void)d;
	return put(text, length, "96.00.89.00.01");
}

int nvmlDeviceGetMigMode(nvml_device d, unsigned *now, unsigned *later);
int nvmlDeviceGetMigMode(nvml_device d, unsigned *now, unsigned *later)
{
	*now = *later = (unsigned)scenario_number("mig", device(d), -1, 0);
	return 0;
}

int nvmlDeviceGetMigDeviceHandleByIndex(nvml_device d, unsigned index, nvml_device *ret);
int nvmlDeviceGetMigDeviceHandleByIndex(nvml_device d, unsigned index, nvml_device *ret)
{
	static long slices[64];

	if (index > 1 || !scenario_number("mig", device(d), -1, 0))
		return 6;
	slices[device(d) % 32 * 2 + (int)index] = 1000 + *d * 10 + (long)index;
	*ret = &slices[device(d) % 32 * 2 + (int)index];
	return 0;
}

int nvmlDeviceGetRemappedRows(nvml_device d, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed);
int nvmlDeviceGetRemappedRows(nvml_device d, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed)
{
	*corrected = *failed = 0;
	*pending = *uncorrected = (unsigned)scenario_number("remap", device(d), -1, 0);
	return 0;
}

int nvmlDeviceGetRetiredPages(nvml_device d, int cause, unsigned *number, unsigned long long *addresses);
int nvmlDeviceGetRetiredPages(nvml_device d, int cause, unsigned *number, unsigned long long *addresses)
{
	(void)d, (void)cause, (void)number, (void)addresses;
	return 3;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device d, unsigned long long *ret);
int nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device d, unsigned long long *ret)
{
	*ret = (unsigned long long)scenario_number("throttle", device(d), -1, 1);
	return 0;
}

int nvmlDeviceGetNvLinkState(nvml_device d, unsigned link, int *up);
int nvmlDeviceGetNvLinkState(nvml_device d, unsigned link, int *up)
{
	if ((long)link >= scenario_number("links", -1, -1, 18))
		return 2;
	*up = !scenario_number("linkdown", device(d), (int)link, 0);
	return 0;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_device d, unsigned link, struct pci_info *pci);
int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_device d, unsigned link, struct pci_info *pci)
{
	if (scenario_number("switch", -1, -1, 1))
		return fill_pci(pci, 0x07 + link % 4);
	return fill_pci(pci, bus_of(device(d) ^ 1));
}

int nvmlDeviceGetNvLinkRemoteDeviceType(nvml_device d, unsigned link, int *type);
int nvmlDeviceGetNvLinkRemoteDeviceType(nvml_device d, unsigned link, int *type)
{
	(void)d, (void)link;
	*type = scenario_number("switch", -1, -1, 1) ? 2 : 0;
	return 0;
}

int nvmlDeviceGetP2PStatus(nvml_device a, nvml_device b, int capability, int *status);
int nvmlDeviceGetP2PStatus(nvml_device a, nvml_device b, int capability, int *status)
{
	long links = scenario_number("links", -1, -1, 18);
	int low = device(a) < device(b) ? device(a) : device(b), high = device(a) < device(b) ? device(b) : device(a);

	if (capability == 2)
		*status = links > 0 ? 0 : 5;
	else
		*status = (int)scenario_number("p2p", low, high, scenario_number("p2pall", -1, -1, 0));
	return 0;
}

int nvmlDeviceGetTopologyCommonAncestor(nvml_device a, nvml_device b, int *level);
int nvmlDeviceGetTopologyCommonAncestor(nvml_device a, nvml_device b, int *level)
{
	*level = (device(a) < 4) == (device(b) < 4) ? 40 : 50;
	return 0;
}

struct fabric_info {
	unsigned char cluster[16];
	unsigned status, clique;
	unsigned char state;
};

int nvmlDeviceGetGpuFabricInfo(nvml_device d, struct fabric_info *info);
int nvmlDeviceGetGpuFabricInfo(nvml_device d, struct fabric_info *info)
{
	info->state = (unsigned char)scenario_number("fabric", device(d), -1, 3);
	info->status = 0;
	return 0;
}
#endif
