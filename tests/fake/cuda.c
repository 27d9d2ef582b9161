/* A libcuda.so.1 whose answers come from a scenario. */
#include <stdio.h>

#include "scenario.h"

int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
	(void)flags;
	scenario_step("cuInit");
	return (int)scenario_number("cuinit", -1, -1, 0);
}

int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version)
{
	*version = (int)scenario_number("cuda", -1, -1, 13000);
	return 0;
}

int cuGetErrorString(int code, const char **text);
int cuGetErrorString(int code, const char **text)
{
	*text = code == 802 ? "system not yet initialized" : code == 803 ? "system has unsupported display driver / cuda driver combination"
	        : code == 100 ? "no CUDA-capable device is detected" : "unknown error";
	return 0;
}

int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count)
{
	*count = (int)scenario_number("gpus", -1, -1, 8);
	return 0;
}

int cuDeviceGet(int *device, int index);
int cuDeviceGet(int *device, int index)
{
	*device = index;
	return 0;
}

int cuDeviceGetName(char *name, int length, int device);
int cuDeviceGetName(char *name, int length, int device)
{
	(void)device;
	snprintf(name, (size_t)length, "%s", scenario_text("name", "NVIDIA H100 80GB HBM3"));
	return 0;
}

int cuDeviceGetPCIBusId(char *text, int length, int device);
int cuDeviceGetPCIBusId(char *text, int length, int device)
{
	static const unsigned buses[] = {0x19, 0x3b, 0x4c, 0x5d, 0x9b, 0xbb, 0xcb, 0xdb};

	snprintf(text, (size_t)length, "0000:%02X:00.0", buses[device & 7]);
	return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	long cc = scenario_number("cc", -1, -1, 90);

	(void)device;
	*value = attribute == 75 ? (int)cc / 10 : (int)cc % 10;
	return 0;
}
