/* What collectors of accelerators share. */
#ifndef COLLECT_GPU_H
#define COLLECT_GPU_H

#include "collect/collect.h"

enum gpu_node { GPU_NODE_ABSENT, GPU_NODE_UNKNOWN, GPU_NODE_REFUSED, GPU_NODE_USABLE };

/* The state of a device file. */
enum gpu_node gpu_node_state(struct collect *c, const char *path);
/* PCIe width and speed of the link between the card and its slot. */
void gpu_add_link(struct collect *c, struct facts_row *row, const char *address);
/* Sets gpu.visible of NVIDIA's rows where it is not set yet. */
void gpu_apply_environment(struct collect *c);

#endif
