/* A libnccl.so.2 that tells a version. */
#include "scenario.h"

int ncclGetVersion(int *version);
int ncclGetVersion(int *version)
{
	scenario_step("ncclGetVersion");
	*version = (int)scenario_number("nccl", -1, -1, 22809);
	return 0;
}
