/* What the machine shall be ready for: the back end and the number of ranks. */
#include "collect/accelerator.h"
#include "collect/collect.h"

static const struct accelerator_vendor *main_vendor(const struct facts *f)
{
	for (size_t i = 0; i < accelerator_vendor_count; i++)
		if (facts_find(f, gpu__vendor, accelerator_vendors[i].name))
			return &accelerator_vendors[i];
	return NULL;
}

/* A machine without a PCI bus is one without devices; one whose bus may not be read is not. */
static bool devices_unknown(const struct facts *f)
{
	for (const struct facts_table_gap *g = f->gaps; g; g = g->next)
		if (g->table == TABLE_pci_device && g->gap != GAP_ABSENT && g->gap != GAP_MISSING)
			return true;
	return false;
}

/* Launchers say how many processes they start on this host. */
static bool ranks_by_launcher(struct collect *c, struct facts_row *row)
{
	static const char *const names[] = {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"};
	int64_t n;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *value = host_env(c->host, names[i]);

		if (value && str_to_int(str_of(value), &n) == 0 && n > 0 && n < 65536) {
			facts_int(row, purpose__ranks, n, names[i]);
			return true;
		}
	}
	return false;
}

static void set_ranks(struct collect *c, struct facts_row *row, const struct accelerator_vendor *v)
{
	int64_t devices = 0;
	bool visible;

	if (ranks_by_launcher(c, row))
		return;
	for (const struct facts_row *r = c->facts->first[TABLE_gpu]; v && r; r = r->next) {
		const char *vendor = facts_get_text(r, gpu__vendor);

		if (vendor && str_is(str_of(vendor), v->name) && (!facts_get_bool(r, gpu__visible, &visible) || visible))
			devices++;
	}
	facts_int(row, purpose__ranks, devices ? devices : 2, devices ? "visible devices" : "the smallest job");
}

void collect_purpose(struct collect *c)
{
	struct facts_row *row = facts_only(c->facts, TABLE_purpose);
	const struct accelerator_vendor *v = main_vendor(c->facts);

	if (c->backend) {
		facts_text(row, purpose__backend, c->backend, "--for");
		facts_text(row, purpose__reason, "option", "--for");
	} else if (!v && devices_unknown(c->facts)) {
		facts_gap(row, purpose__backend, GAP_MISSING, "/sys/bus/pci/devices", "the devices could not be listed");
		facts_text(row, purpose__reason, "devices", "devices");
	} else {
		facts_text(row, purpose__backend, v ? v->backend : "gloo", "devices");
		facts_text(row, purpose__reason, "devices", "devices");
	}
	if (v || !devices_unknown(c->facts))
		facts_text(row, purpose__accelerator, v ? v->name : "cpu", "devices");
	set_ranks(c, row, v);
}
