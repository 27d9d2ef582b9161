/* The odd ones out: what most nodes have, and who differs.
 *
 * Nodes are put into groups (by GPU model when models differ, or as asked), a node that alone has its model is compared with the largest
 * group. In each group every slot has a majority value where more than half of the nodes that know it agree, or the reference's value where
 * there is one; all others are odd. Nothing here is a fault yet: outliers_spread writes rows of the table `spread`, and rules (mode: fleet)
 * judge them.
 */
#ifndef FLEET_OUTLIERS_H
#define FLEET_OUTLIERS_H

#include "fleet/align.h"

struct outlier_value {
	const char *text; /* NULL: not there */
	struct nodeset nodes;
	bool majority, golden;
	struct outlier_value *next; /* the most frequent first */
};

/* A fact that is not the same in all nodes of a group. */
struct outlier {
	const struct align_slot *slot;
	const char *fact;    /* "driver.version", "package.version" */
	const char *subject; /* "torch"; NULL where the view has no key */
	struct outlier_value *values;
	size_t value_count;
	const char *expected; /* the majority's or the reference's; NULL with has_expected: not there */
	bool has_expected, golden;
	uint32_t known, odd; /* nodes that know it; those that have another value than expected, or all when there is none */
	int weight;
	enum align_role role;
	uint32_t folded;      /* of the odd nodes: so many differ in what this one follows too */
	struct outlier *next; /* what breaks jobs first */
};

struct outlier_group {
	const char *name; /* value of the grouping fact; NULL: the only group */
	struct nodeset nodes;
	struct outlier *first;
	size_t count;
	struct outlier_group *next; /* the largest first */
};

struct outlier_node {
	uint32_t node; /* number in align->nodes */
	int weight;
	size_t facts;
	bool strayed; /* the only one of its kind: compared with the largest group */
};

enum outliers_pair { PAIR_NONE, PAIR_NODES, PAIR_TIMES }; /* two snapshots: of two machines, or of one at two times */

struct outliers_options {
	const char *by;                    /* "gpu", "none", "partition", or as align_group_by; NULL: by GPU when models differ */
	uint32_t golden;                   /* the node that is the reference; UINT32_MAX: none */
	int64_t now, stale_s;              /* older than the newest by more than stale_s: stale. 0: a day */
	const char *const *expected_names; /* nodes that should be there */
	size_t expected_count;
	bool job; /* the nodes belong to one job (davy cluster): they are not grouped unless asked */
};

struct outliers {
	struct arena *arena;
	const struct align *align;
	const char **label; /* of each node: its name, or its source where names are not unique */
	struct outlier_group *groups;
	size_t group_count;
	const char *grouped_by;   /* "gpu.name"; NULL: not grouped */
	struct outlier_node *odd; /* nodes that differ in what drifts or breaks, the worst first */
	size_t odd_count;
	const char **missing, **stale;
	size_t missing_count, stale_count, repeated_count;
	const char **repeated; /* host names that came more than once */
	struct nodeset ahead;  /* nodes whose time lies more than AHEAD_S behind options.now: their clocks, or this machine's, are wrong */
	int64_t ahead_s;       /* by so much, at most */
	size_t facts;          /* that were compared */
	enum outliers_pair pair;
	bool same_machine, job;
};

/* 0; -EINVAL options.by names nothing that was kept; -E2BIG it has more than OUTLIER_GROUPS_MAX values. Lives in `a`; nodesets are freed by
 * outliers_free. */
#define OUTLIER_GROUPS_MAX 200
#define AHEAD_S 600
int outliers_find(struct arena *a, const struct align *al, const struct outliers_options *options, struct outliers **ret);
void outliers_free(struct outliers *o);

/* The rows of table `spread`, and one of `fleet`, for the judge. */
void outliers_spread(const struct outliers *o, struct facts *f);

/* "driver.version", "package torch", "limit memlock soft_unlimited". */
const char *outliers_what(struct arena *a, const struct outlier *o);

/* "node[01-04]" of a set. max_bytes as nodelist_fold. */
const char *outliers_nodes(const struct outliers *o, struct arena *a, const struct nodeset *s, size_t max_bytes);

#endif
