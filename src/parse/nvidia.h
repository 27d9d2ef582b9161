/* What the NVIDIA driver writes into /proc/driver/nvidia, and how CUDA reads CUDA_VISIBLE_DEVICES. Pure and bounded. */
#ifndef PARSE_NVIDIA_H
#define PARSE_NVIDIA_H

#include "base/str.h"

/* /proc/driver/nvidia/version */
struct nvidia_version {
	struct str version; /* 550.54.15 */
	bool open;          /* the open kernel modules */
	bool patched;       /* the build names itself patched for peer-to-peer */
};

int parse_nvidia_version(struct str text, struct nvidia_version *ret);

/* /proc/driver/nvidia/gpus/ADDRESS/information; what is missing or "????" is empty, minor -1 */
struct nvidia_information {
	struct str model, uuid, video_bios, firmware;
	int64_t minor;
	bool excluded;
};

void parse_nvidia_information(struct str text, struct nvidia_information *ret);

/* "libcuda.so.580.65.06" → "580.65.06"; -EINVAL when the name ends in something else than a driver version (libcuda.so.1). */
int parse_nvidia_library_version(struct str file_name, struct str *ret);

/* One entry of CUDA_VISIBLE_DEVICES. */
enum nvidia_visible_kind { NVIDIA_VISIBLE_INDEX, NVIDIA_VISIBLE_UUID, NVIDIA_VISIBLE_MIG, NVIDIA_VISIBLE_END };

struct nvidia_visible {
	enum nvidia_visible_kind kind;
	int64_t index;
	struct str uuid; /* a prefix is enough */
};

/* Takes the next entry off. END: the list is over, or CUDA stops here because the entry is none. */
enum nvidia_visible_kind parse_nvidia_visible(struct str *list, struct nvidia_visible *ret);

#endif
