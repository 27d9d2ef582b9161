/* A libcuda.so.1 whose answers come from a scenario. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	*text = code == 2     ? "out of memory"
		: code == 46  ? "CUDA-capable device(s) is/are busy or unavailable"
		: code == 214 ? "uncorrectable ECC error encountered"
		: code == 719 ? "unspecified launch failure"
		: code == 802 ? "system not yet initialized"
		: code == 803 ? "system has unsupported display driver / cuda driver combination"
		: code == 100 ? "no CUDA-capable device is detected"
			      : "unknown error";
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

/* -- memory: the fake's is the host's, each piece with a head that names its device ------------------------------------------------- */

typedef struct context {
	int device;
} * cuda_context;

struct piece {
	int device;
	char room[60];
};

enum { DEVICES = 64 };

static struct context contexts[DEVICES];
static cuda_context current;
static unsigned char peer[DEVICES][DEVICES];

static int device_of(unsigned long long memory)
{
	return ((struct piece *)(uintptr_t)memory)[-1].device;
}

/* Is this pair named by the scenario, in either order? */
static int pair(const char *key, int a, int b)
{
	return a < b ? (int)scenario_number(key, a, b, 0) : (int)scenario_number(key, b, a, 0);
}

int cuDevicePrimaryCtxRetain(cuda_context *ret, int device);
int cuDevicePrimaryCtxRetain(cuda_context *ret, int device)
{
	scenario_step("cuDevicePrimaryCtxRetain");
	contexts[device].device = device;
	*ret = &contexts[device];
	return (int)scenario_number("retain", device, -1, 0);
}

int cuCtxSetCurrent(cuda_context context);
int cuCtxSetCurrent(cuda_context context)
{
	current = context;
	return 0;
}

int cuCtxSynchronize(void);
int cuCtxSynchronize(void)
{
	scenario_step("cuCtxSynchronize");
	return 0;
}

int cuMemGetInfo_v2(size_t *left, size_t *total);
int cuMemGetInfo_v2(size_t *left, size_t *total)
{
	*total = 85520809984;
	*left = scenario_number("full", current->device, -1, 0) ? 3 << 20 : (size_t)scenario_number("free", -1, -1, 16 << 20);
	return 0;
}

int cuMemAlloc_v2(unsigned long long *ret, size_t n);
int cuMemAlloc_v2(unsigned long long *ret, size_t n)
{
	struct piece *p;

	if (scenario_number("full", current->device, -1, 0))
		return 2;
	p = malloc(sizeof *p + n);
	p->device = current->device;
	*ret = (unsigned long long)(uintptr_t)(p + 1);
	return 0;
}

int cuMemFree_v2(unsigned long long memory);
int cuMemFree_v2(unsigned long long memory)
{
	free((struct piece *)(uintptr_t)memory - 1);
	return 0;
}

int cuMemHostAlloc(void **ret, size_t n, unsigned flags);
int cuMemHostAlloc(void **ret, size_t n, unsigned flags)
{
	(void)flags;
	*ret = malloc(n);
	return 0;
}

int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t n);
int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t n)
{
	memcpy((void *)(uintptr_t)to, from, n);
	return 0;
}

int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t n);
int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t n)
{
	scenario_step("cuMemcpyDtoH");
	memcpy(to, (void *)(uintptr_t)from, n);
	if (scenario_number("badmem", device_of(from), -1, 0))
		((unsigned char *)to)[n / 2] ^= 0x10;
	return (int)scenario_number("copycode", device_of(from), -1, 0);
}

int cuMemcpyDtoD_v2(unsigned long long to, unsigned long long from, size_t n);
int cuMemcpyDtoD_v2(unsigned long long to, unsigned long long from, size_t n)
{
	memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, n);
	return 0;
}

int cuMemsetD32_v2(unsigned long long to, unsigned word, size_t n);
int cuMemsetD32_v2(unsigned long long to, unsigned word, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((unsigned *)(uintptr_t)to)[i] = word;
	return 0;
}

int cuMemcpyPeer(unsigned long long to, cuda_context a, unsigned long long from, cuda_context b, size_t n);
int cuMemcpyPeer(unsigned long long to, cuda_context a, unsigned long long from, cuda_context b, size_t n)
{
	int direct = peer[a->device][b->device];

	if (direct && pair("peerhang", a->device, b->device))
		for (;;)
			pause();
	memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, n);
	if ((direct && pair("peerbad", a->device, b->device)) || pair("copybad", a->device, b->device))
		memset((char *)(uintptr_t)to + n / 2, 0xff, 4096);
	return direct ? pair("peercode", a->device, b->device) : 0;
}

int cuDeviceCanAccessPeer(int *ret, int a, int b);
int cuDeviceCanAccessPeer(int *ret, int a, int b)
{
	*ret = a != b && !scenario_number("nopeer", -1, -1, 0);
	return 0;
}

int cuCtxEnablePeerAccess(cuda_context other, unsigned flags);
int cuCtxEnablePeerAccess(cuda_context other, unsigned flags)
{
	(void)flags;
	peer[current->device][other->device] = peer[other->device][current->device] = 1;
	return 0;
}

int cuCtxDisablePeerAccess(cuda_context other);
int cuCtxDisablePeerAccess(cuda_context other)
{
	peer[current->device][other->device] = peer[other->device][current->device] = 0;
	return 0;
}

int cuStreamCreate(void **ret, unsigned flags);
int cuStreamCreate(void **ret, unsigned flags)
{
	(void)flags;
	*ret = current;
	return 0;
}

int cuStreamSynchronize(void *stream);
int cuStreamSynchronize(void *stream)
{
	(void)stream;
	scenario_step("cuStreamSynchronize");
	return 0;
}
