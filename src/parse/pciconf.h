/* PCI text and configuration space: addresses, link speeds, AER counters, Access Control Services. Pure and bounded. */
#ifndef PARSE_PCICONF_H
#define PARSE_PCICONF_H

#include "base/str.h"

struct pci_id {
	unsigned vendor, device, class; /* class: 24 bits, 0x030200 */
	struct str driver;              /* empty: none bound */
};

/* "0000:17:00.0", also with a domain of five or more digits (VMD). */
bool parse_pci_is_address(struct str s);
/* As the kernel writes it: "00000000:17:00.0" and "0000:17:00.0" → "0000:17:00.0", lower case. False when it is none. */
bool parse_pci_address(struct arena *a, struct str s, const char **ret);
/* The uevent file of a device. -EINVAL when PCI_ID or PCI_CLASS is missing. */
int parse_pci_uevent(struct str text, struct pci_id *ret);
/* "16.0 GT/s PCIe", "Unknown": -EINVAL. */
int parse_pci_speed(struct str text, double *ret_gts);
/* aer_dev_fatal, aer_dev_nonfatal: the line TOTAL_... */
int parse_pci_aer_total(struct str text, int64_t *ret);
/* Does the port whose configuration space this is redirect peer-to-peer requests or completions upstream? -ENODATA: the extended space is
 * not there (the kernel shows it to root only). A port without the capability redirects nothing. */
int parse_pci_acs_redirect(struct str config, bool *ret);

#endif
