/* Text and bytes of /sys and /proc about devices: PCI, NVIDIA, AMD, kernel modules. */
#include "parse/kfd.h"
#include "parse/modinfo.h"
#include "parse/nvidia.h"
#include "parse/pciconf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new(0);
	struct str s = str_n((const char *)data, size), value;
	struct nvidia_information information;
	struct nvidia_version version;
	struct nvidia_visible visible;
	struct pci_id id;
	uint64_t offset, bytes;
	unsigned index;
	const char *text;
	double real;
	int64_t n;
	bool flag;

	parse_pci_address(a, s, &text);
	parse_pci_uevent(s, &id);
	parse_pci_speed(s, &real);
	parse_pci_aer_total(s, &n);
	parse_pci_acs_redirect(s, &flag);
	parse_nvidia_version(s, &version);
	parse_nvidia_information(s, &information);
	parse_nvidia_library_version(s, &value);
	if (parse_kfd_property(s, "gfx_target_version", &n) == 0)
		parse_kfd_gfx(a, n, &text);
	parse_modinfo_sections(s, size, &offset, &bytes, &index);
	parse_modinfo_section(s, size ? data[0] : 0, size, &offset, &bytes, &index);
	parse_modinfo_get(s, "version", &value);
	for (struct str list = s; parse_nvidia_visible(&list, &visible) != NVIDIA_VISIBLE_END;)
		;
	arena_free(a);
	return 0;
}
