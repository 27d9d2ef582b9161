/* Device files of accelerators and RDMA adapters: are they there, and may this process open them? */
#include "collect/accelerator.h"
#include "collect/collect.h"

#include <errno.h>

#define NODES_MAX 512

static const char *errno_name(int error)
{
	switch (-error) {
	case EPERM: return "EPERM";
	case EACCES: return "EACCES";
	case EBUSY: return "EBUSY";
	case EIO: return "EIO";
	case ENODEV: return "ENODEV";
	case ENXIO: return "ENXIO";
	case EINVAL: return "EINVAL";
	case ETIMEDOUT: return "ETIMEDOUT";
	default: return NULL;
	}
}

static void add_node(struct collect *c, const char *path, const char *vendor)
{
	struct facts_row *row;
	struct host_stat st;
	const char *name;
	int rc;

	if (c->facts->count[TABLE_device_node] >= NODES_MAX || facts_find(c->facts, device_node__path, path))
		return;
	rc = host_stat(c->host, path, &st);
	row = facts_add(c->facts, TABLE_device_node);
	facts_text(row, device_node__path, path, path);
	facts_text(row, device_node__vendor, vendor, path);
	if (rc == -ENOENT) {
		facts_bool(row, device_node__present, false, path);
		facts_gap(row, device_node__openable, GAP_ABSENT, path, NULL);
		return;
	}
	if (rc < 0) {
		facts_gap_errno(row, device_node__present, rc, path);
		return;
	}
	facts_bool(row, device_node__present, true, path);
	rc = host_try_open(c->host, path);
	if (rc == 0) {
		facts_bool(row, device_node__openable, true, path);
		facts_gap(row, device_node__error, GAP_ABSENT, path, NULL);
		return;
	}
	if (rc == -ENODATA || rc == -EOPNOTSUPP) {
		facts_gap_errno(row, device_node__openable, rc, path);
		return;
	}
	name = errno_name(rc);
	facts_bool(row, device_node__openable, false, path);
	facts_text(row, device_node__error, name ? name : arena_printf(c->arena, "errno %d", -rc), path);
}

static void add_list(struct collect *c, const char *folder, const char *prefix, const char *vendor)
{
	struct host_list list;

	if (host_list(c->host, folder, &list) < 0)
		return;
	for (size_t i = 0; i < list.count; i++)
		if (str_starts(str_of(list.names[i]), prefix))
			add_node(c, arena_printf(c->arena, "%s/%s", folder, list.names[i]), vendor);
}

/* The nodes that a process with GPUs of this vendor must be able to open, whether they are there or not. */
static void add_vendor(struct collect *c, const struct accelerator_vendor *v)
{
	struct str names = str_of(v->control), name;

	while (str_next_word(&names, &name)) {
		const char *path = arena_printf(c->arena, "/dev/%.*s", (int)name.len, name.ptr);

		/* One of Hygon's two names is enough, and Ascend containers may lack hisi_hdc: only NVIDIA's are always needed. */
		if (v->pci == 0x10de || v->pci == 0x1002 || host_exists(c->host, path))
			add_node(c, path, v->name);
	}
}

void collect_device_node(struct collect *c)
{
	struct host_list list;
	bool nvidia = false;
	int rc = host_list(c->host, "/dev", &list);

	if (rc < 0)
		facts_table_gap_errno(c->facts, TABLE_device_node, rc, "/dev");
	else
		facts_table_read(c->facts, TABLE_device_node);
	for (const struct facts_row *r = c->facts->first[TABLE_gpu]; r; r = r->next) {
		const char *vendor = facts_get_text(r, gpu__vendor), *node = facts_get_text(r, gpu__device_node);
		const char *class = facts_get_text(r, gpu__class);
		const struct accelerator_vendor *v = accelerator_by_name(vendor);

		if (!v || (class && str_is(str_of(class), "embedded")))
			continue;
		nvidia |= v->pci == 0x10de;
		add_vendor(c, v);
		if (node)
			add_node(c, node, v->name);
	}
	if (host_exists(c->host, "/dev/dxg"))
		add_node(c, "/dev/dxg", "nvidia");
	for (size_t i = 0; rc == 0 && i < list.count; i++) {
		struct str name = str_of(list.names[i]);

		if (str_starts(name, "nvidia") && !host_is_dir(c->host, arena_printf(c->arena, "/dev/%s", list.names[i])))
			add_node(c, arena_printf(c->arena, "/dev/%s", list.names[i]), "nvidia");
		else if (str_is(name, "gdrdrv"))
			add_node(c, "/dev/gdrdrv", "nvidia");
	}
	if (nvidia)
		add_list(c, "/dev/nvidia-caps-imex-channels", "channel", "nvidia");
	add_list(c, "/dev/infiniband", "uverbs", "rdma");
	add_list(c, "/dev/infiniband", "rdma_cm", "rdma");
}
