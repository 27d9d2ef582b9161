#include "collect/accelerator.h"

/* Device nodes and back ends from the vendors' own plug-ins and device managers; knowledge/tables/accel_backends.tsv has the sources. The
 * order decides which vendor a host belongs to that has several. */
const struct accelerator_vendor accelerator_vendors[] = {
	{"nvidia", 0x10de, "nccl", "nvidia", "nvidia", "nvidiactl nvidia-uvm", "CUDA_VISIBLE_DEVICES"},
	{"amd", 0x1002, "nccl", "amdgpu", "dri/renderD", "kfd", "HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES"},
	{"ascend", 0x19e5, "hccl", "drv_davinci_intf ascend_drv drv_davinci_intf_host", "davinci", "davinci_manager devmm_svm hisi_hdc",
		"ASCEND_RT_VISIBLE_DEVICES"},
	{"cambricon", 0xcabc, "cncl", "cambricon_drv cambricon", "cambricon_dev", "cambricon_ctl", "MLU_VISIBLE_DEVICES"},
	{"moorethreads", 0x1ed5, "mccl", "mtgpu", "mtgpu.", "", "MUSA_VISIBLE_DEVICES"},
	{"hygon", 0x1d94, "nccl", "hydcu hycu amdgpu", "dri/renderD", "kfd mkfd", "HIP_VISIBLE_DEVICES"},
	{"metax", 0x9999, "nccl", "metax", "dri/renderD", "mxcd", "CUDA_VISIBLE_DEVICES MACA_VISIBLE_DEVICES"},
	{"iluvatar", 0x1e3e, "nccl", "iluvatar bi_driver", "iluvatar", "", "CUDA_VISIBLE_DEVICES"},
	{"kunlunxin", 0x1d22, "nccl", "kunlun", "xpu", "xpuctrl", "XPU_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES"},
	{"enflame", 0x1e36, "eccl", "gcu enflame dtu", "gcu", "gcuctl", "TOPS_VISIBLE_DEVICES"},
	{"biren", 0x1ee0, "bccl", "biren", "biren/card_", "", "SUPA_VISIBLE_DEVICES"},
	{"habana", 0x1da3, "hccl", "habanalabs", "accel/accel", "", "HABANA_VISIBLE_MODULES"},
	{"neuron", 0x1d0f, "xla", "neuron", "neuron", "", "NEURON_RT_VISIBLE_CORES"},
	{"tpu", 0x1ae0, "xla", "", "accel", "", "TPU_VISIBLE_CHIPS TPU_VISIBLE_DEVICES"},
	{"tenstorrent", 0x1e52, "xla", "tenstorrent", "tenstorrent/", "", "TT_VISIBLE_DEVICES"},
	{"rebellions", 0x1eff, "rbln-ccl", "rebellions rbln", "rbln", "", ""},
	{"intel", 0x8086, "xccl", "xe i915", "dri/renderD", "", "ZE_AFFINITY_MASK"},
};
const size_t accelerator_vendor_count = sizeof accelerator_vendors / sizeof *accelerator_vendors;

const struct accelerator_vendor *accelerator_by_pci(unsigned vendor)
{
	for (size_t i = 0; vendor && i < accelerator_vendor_count; i++)
		if (accelerator_vendors[i].pci == vendor)
			return &accelerator_vendors[i];
	return NULL;
}

const struct accelerator_vendor *accelerator_by_name(const char *name)
{
	for (size_t i = 0; name && i < accelerator_vendor_count; i++)
		if (str_is(str_of(accelerator_vendors[i].name), name))
			return &accelerator_vendors[i];
	return NULL;
}

/* Classes: 03 display, 12 processing accelerator, 02 network, 0680 other bridge, 0c06 and 0207 InfiniBand. */
enum pci_kind accelerator_pci_kind(unsigned vendor, unsigned device, unsigned class, size_t depth)
{
	unsigned base = class >> 16, sub = class >> 8;

	if (sub == 0x0207 || sub == 0x0c06)
		return PCI_INFINIBAND;
	if (base == 0x02)
		return PCI_NIC;
	switch (vendor) {
	case 0x10de: return base == 0x03 ? PCI_GPU : sub == 0x0680 ? PCI_NVSWITCH : PCI_OTHER;
	case 0x1002: return sub == 0x0380 || base == 0x12 || (base == 0x03 && depth >= 3) ? PCI_GPU : PCI_OTHER;
	case 0x8086: return sub == 0x0380 || (base == 0x03 && depth >= 3) ? PCI_GPU : PCI_OTHER;
	case 0x1d94: /* Hygon also makes processors: root ports, USB, ... */
	case 0x1ed5: return base == 0x03 || base == 0x12 || sub == 0x0b40 ? PCI_GPU : PCI_OTHER;
	case 0x19e5: /* Huawei also makes network cards, disks and the VGA of its servers */
		return base == 0x12 || (device & 0xff00) == 0xd100 || (device & 0xff00) == 0xd500 || (device & 0xff00) == 0xd800
			? PCI_ACCELERATOR
			: PCI_OTHER;
	case 0x1d0f: /* Amazon: the accelerators are 7064 Inf1, 7164 Trn1, 7264 Inf2, 7364 Trn2, 7564 Trn3; 0065 is a disk */
		return (device & 0xf0fe) == 0x7064 ? PCI_ACCELERATOR : PCI_OTHER;
	case 0x1ae0: /* Google: gVNIC and NVMe besides the TPU */ return base == 0x12 || base == 0xff ? PCI_ACCELERATOR : PCI_OTHER;
	default:
		return accelerator_by_pci(vendor) && (base == 0x03 || base == 0x12 || sub == 0x0b40 || base == 0xff) ? PCI_ACCELERATOR
														     : PCI_OTHER;
	}
}
