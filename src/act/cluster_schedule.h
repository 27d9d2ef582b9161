/* Who is tested with whom, and when: rounds in which every node has at most one partner. Pure.
 *
 * Up to CLUSTER_FULL_MAX nodes: everybody with everybody, N-1 rounds (N when N is odd). Above: the neighbours in the ring and
 * CLUSTER_PARTNERS random partners, the same on every run with the same seed; rounds do not grow with N.
 */
#ifndef ACT_CLUSTER_SCHEDULE_H
#define ACT_CLUSTER_SCHEDULE_H

#include "base/str.h"

#define CLUSTER_FULL_MAX 64
#define CLUSTER_PARTNERS 8

struct cluster_pair {
	int a, b; /* places in the list of nodes, a < b */
	int round;
};

struct cluster_schedule {
	struct cluster_pair *pairs; /* by round */
	size_t count;
	int rounds;
};

void cluster_schedule_make(struct arena *a, int nodes, uint64_t seed, struct cluster_schedule *ret);
/* Frames that rank 0 sends and receives for it: an order and an answer for each direction and phase. */
uint64_t cluster_schedule_messages(const struct cluster_schedule *s, int phases);

#endif
