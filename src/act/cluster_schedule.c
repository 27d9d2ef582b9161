#include "act/cluster_schedule.h"

static void add(struct cluster_schedule *s, int a, int b, int round)
{
	s->pairs[s->count++] = (struct cluster_pair){a < b ? a : b, a < b ? b : a, round};
}

/* The circle: the last place stands still, the others move on by one each round. With an odd number nobody stands there and one node rests.
 */
static void everybody(struct cluster_schedule *s, int nodes)
{
	int places = nodes + (nodes & 1), moving = places - 1;
	for (int round = 0; round < moving; round++) {
		if (places == nodes)
			add(s, round, places - 1, round);
		for (int i = 1; i < places / 2; i++)
			add(s, (round + i) % moving, (round - i + moving) % moving, round);
	}
	s->rounds = moving;
}

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

#define PARTNERS_MAX (CLUSTER_PARTNERS + 2)

struct partners {
	int list[PARTNERS_MAX], count;
};

static bool make_partners(struct partners *all, int a, int b)
{
	for (int i = 0; i < all[a].count; i++)
		if (all[a].list[i] == b)
			return false;
	if (all[a].count == PARTNERS_MAX || all[b].count == PARTNERS_MAX)
		return false;
	all[a].list[all[a].count++] = b;
	all[b].list[all[b].count++] = a;
	return true;
}

static void some(struct arena *a, struct cluster_schedule *s, int nodes, uint64_t seed)
{
	struct partners *all = arena_array(a, (size_t)nodes, sizeof *all);
	int *order = arena_array(a, (size_t)nodes, sizeof *order), round = 0;
	for (int first = 0; first < 2; first++, round++)
		for (int i = first; i + 1 < nodes; i += 2)
			if (make_partners(all, i, i + 1))
				add(s, i, i + 1, round);
	if (nodes & 1) { /* the ring's last link meets both of these rounds */
		if (make_partners(all, nodes - 1, 0))
			add(s, 0, nodes - 1, round++);
	} else if (make_partners(all, nodes - 1, 0)) {
		add(s, 0, nodes - 1, 1);
	}
	for (int i = 0; i < nodes; i++)
		order[i] = i;
	for (int k = 0; k < CLUSTER_PARTNERS; k++, round++) {
		for (int i = nodes - 1; i > 0; i--) {
			int other = (int)(next_random(&seed) % (uint64_t)(i + 1)), kept = order[i];
			order[i] = order[other];
			order[other] = kept;
		}
		for (int i = 0; i + 1 < nodes; i += 2)
			if (make_partners(all, order[i], order[i + 1]))
				add(s, order[i], order[i + 1], round);
	}
	s->rounds = round;
}

void cluster_schedule_make(struct arena *a, int nodes, uint64_t seed, struct cluster_schedule *ret)
{
	*ret = (struct cluster_schedule){0};
	if (nodes < 2)
		return;
	size_t most = nodes <= CLUSTER_FULL_MAX ? (size_t)nodes * (size_t)(nodes - 1) / 2 : (size_t)nodes * (CLUSTER_PARTNERS + 2) / 2 + 2;
	ret->pairs = arena_array(a, most, sizeof *ret->pairs);
	if (nodes <= CLUSTER_FULL_MAX)
		everybody(ret, nodes);
	else
		some(a, ret, nodes, seed);
}

uint64_t cluster_schedule_messages(const struct cluster_schedule *s, int phases)
{
	return (uint64_t)s->count * 2 * 2 * (uint64_t)phases;
}
