/* Vendors of accelerators: how their devices are recognised and which back end torch.distributed has for them. Shared by the collectors of
 * devices. */
#ifndef COLLECT_ACCELERATOR_H
#define COLLECT_ACCELERATOR_H

#include "base/str.h"

struct accelerator_vendor {
	const char *name;    /* gpu.vendor, driver.vendor */
	unsigned pci;        /* vendor id; 0: none known */
	const char *backend; /* of torch.distributed */
	const char *module;  /* kernel module; several separated by blanks, the first found counts */
	const char *nodes;   /* prefixes of device nodes of one device each, below /dev, followed by a number */
	const char *control; /* further device nodes that must be openable */
	const char *visible; /* variables that hide devices, the first that is set counts */
};

extern const struct accelerator_vendor accelerator_vendors[];
extern const size_t accelerator_vendor_count;

/* NULL: not a vendor of accelerators. */
const struct accelerator_vendor *accelerator_by_pci(unsigned vendor);
const struct accelerator_vendor *accelerator_by_name(const char *name);

/* What a PCI device is to us. `depth` counts the bridges above it: an integrated GPU of AMD or Intel sits right below the root, a card
 * behind a switch of its own. */
enum pci_kind { PCI_OTHER, PCI_GPU, PCI_NVSWITCH, PCI_NIC, PCI_INFINIBAND, PCI_ACCELERATOR };

enum pci_kind accelerator_pci_kind(unsigned vendor, unsigned device, unsigned class, size_t depth);

#endif
