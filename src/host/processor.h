/* Inside the door: what the processor says of itself (CPUID), as the dynamic loader asks it. /proc/cpuinfo may lack flags that a
 * hypervisor's kernel hides. */
#ifndef HOST_PROCESSOR_H
#define HOST_PROCESSOR_H

#include "base/arena.h"

/* The features of the levels x86-64-v2 to v4 that can be used, by their names in /proc/cpuinfo, between blanks. NULL on other machines. */
const char *processor_flags(struct arena *a);

#endif
