/* Loaded kernel modules that matter to accelerators, RDMA and peer-to-peer. */
#include "collect/collect.h"

#include <errno.h>

static const char *const names[] = {
	"nvidia",
	"nvidia_uvm",
	"nvidia_modeset",
	"nvidia_drm",
	"nvidia_peermem",
	"nv_peer_mem",
	"nvidia_fs",
	"nvidia_vgpu_vfio",
	"gdrdrv",
	"nouveau",
	"nova_core",
	"amdgpu",
	"amdkfd",
	"i915",
	"xe",
	"habanalabs",
	"hydcu",
	"hycu",
	"cambricon_drv",
	"mtgpu",
	"metax",
	"iluvatar",
	"bi_driver",
	"kunlun",
	"neuron",
	"drv_davinci_intf",
	"drv_devmm",
	"ascend_drv",
	"tenstorrent",
	"enflame",
	"gcu",
	"ib_core",
	"ib_uverbs",
	"ib_umad",
	"ib_ipoib",
	"rdma_cm",
	"rdma_ucm",
	"mlx4_core",
	"mlx4_ib",
	"mlx5_core",
	"mlx5_ib",
	"efa",
	"irdma",
	"bnxt_re",
	"hns_roce_hw_v2",
	"erdma",
	"qedr",
	"xpmem",
	"knem",
	"vfio_pci",
	"rdma_rxe",
	"siw",
};

static bool matters(struct str name)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (str_is(name, names[i]))
			return true;
	return false;
}

static void add_module(struct collect *c, const char *name, const char *origin)
{
	struct facts_row *row = facts_add(c->facts, TABLE_kernel_module);
	const char *path = arena_printf(c->arena, "/sys/module/%s/version", name);
	struct str version;
	int rc = host_linef(c->host, &version, "%s", path);

	facts_text(row, kernel_module__name, name, origin);
	if (rc == 0)
		facts_str(row, kernel_module__version, version, path);
	else if (rc == -ENOENT)
		facts_gap(row, kernel_module__version, GAP_ABSENT, path, "the module has no version");
	else
		facts_gap_errno(row, kernel_module__version, rc, path);
}

/* /sys/module also lists what is built into the kernel and has parameters; a loaded module has the file initstate. */
static void read_sys_module(struct collect *c)
{
	struct host_stat st;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *path = arena_printf(c->arena, "/sys/module/%s/initstate", names[i]);
		int rc = host_stat(c->host, path, &st);

		if (rc == 0)
			add_module(c, names[i], path);
		else if (rc != -ENOENT)
			facts_table_gap_errno(c->facts, TABLE_kernel_module, rc, path);
	}
}

void collect_kernel_module(struct collect *c)
{
	struct str text, line, name;
	int rc = host_read(c->host, "/proc/modules", 0, &text);

	if (rc < 0) {
		if (host_is_dir(c->host, "/sys/module")) {
			facts_table_read(c->facts, TABLE_kernel_module);
			read_sys_module(c);
		} else {
			facts_table_gap_errno(c->facts, TABLE_kernel_module, rc, "/proc/modules");
		}
		return;
	}
	facts_table_read(c->facts, TABLE_kernel_module);
	while (str_next_line(&text, &line))
		if (str_next_word(&line, &name) && matters(name))
			add_module(c, str_dup(c->arena, name), "/proc/modules");
}
