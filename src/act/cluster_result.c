/* What the tests showed, as rows: each node, each direction, and the fewest nodes and links that explain what is wrong. */
#include <errno.h>
#include <math.h>

#include "act/cluster.h"

#define ORIGIN "davy cluster"
#define LOSS_PERMILLE 20
#define SLOW_PART 4   /* below a fourth of the usual */
#define SPEED_PART 20 /* below a twentieth of what the interface says */
#define SPEED_MAX_KBPS 10000000

struct result {
	struct arena *arena;
	struct facts *facts;
	const struct cluster_job *job;
	struct cluster_outcome *o;
	int64_t usual_kbps;
	int holes_stalled, holes_carried; /* paths that lose large packets, by what TCP did there */
};

/* -- nodes ----------------------------------------------------------------------------------------------------------------- */

static const char *machine_of(struct arena *a, const struct cluster_node *n)
{
	return n->boot_id && n->netns ? arena_printf(a, "%s/%s", n->boot_id, n->netns) : NULL;
}

static bool same_text(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static bool same_machine(const struct cluster_node *a, const struct cluster_node *b)
{
	return same_text(a->boot_id, b->boot_id) && same_text(a->netns, b->netns);
}

static int compare_names(const void *a, const void *b)
{
	const struct cluster_node *x = *(const struct cluster_node *const *)a, *y = *(const struct cluster_node *const *)b;
	int rc = strcmp(x->name, y->name);
	return rc ? rc : x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Names that occur twice get their rank. */
static void tell_apart(struct result *r)
{
	struct cluster_outcome *o = r->o;
	struct cluster_node **by_name = arena_array(r->arena, (size_t)o->count + 1, sizeof *by_name);
	for (int i = 0; i < o->count; i++)
		by_name[i] = &o->nodes[i];
	qsort(by_name, (size_t)o->count, sizeof *by_name, compare_names);
	for (int i = 0, j; i < o->count; i = j) {
		const char *name = by_name[i]->name;
		for (j = i + 1; j < o->count && strcmp(by_name[j]->name, name) == 0; j++)
			;
		for (int k = i; k < j && j > i + 1; k++)
			by_name[k]->name = arena_printf(r->arena, "%s#%d", name, by_name[k]->rank);
	}
}

enum alike { ALIKE_NAME_AND_BOOT, ALIKE_NAME, ALIKE_ADDRESS };

static bool is_alike(const struct cluster_node *a, const struct cluster_node *b, enum alike what)
{
	if (same_machine(a, b))
		return false;
	if (what == ALIKE_ADDRESS)
		return a->at[0].at.family && host_address_is_same(&a->at[0].at, &b->at[0].at);
	return same_text(a->hostname, b->hostname) && (what == ALIKE_NAME || same_text(a->boot_id, b->boot_id));
}

/* Quadratic only where few nodes are: above, neighbours in a sorted list would do, and nobody has looked at it yet at such sizes within the
 * deadline. */
static int count_alike(const struct cluster_outcome *o, const struct cluster_node *n, enum alike what)
{
	int count = 0;
	for (int i = 0; i < o->count; i++)
		count += &o->nodes[i] != n && is_alike(&o->nodes[i], n, what);
	return count;
}

static void text_or_absent(struct facts_row *row, enum facts_column c, const char *text)
{
	if (text)
		facts_text(row, c, text, ORIGIN);
	else
		facts_gap(row, c, GAP_ABSENT, ORIGIN, NULL);
}

static void node_row(struct result *r, struct cluster_node *n)
{
	static const char *const states[] = {"missing", "answered", "died", "silent", "late"};
	struct facts_row *row = facts_add(r->facts, TABLE_node);
	char text[HOST_ADDRESS_TEXT];
	facts_text(row, node__name, n->name, ORIGIN);
	facts_int(row, node__rank, n->rank, ORIGIN);
	facts_text(row, node__state, states[n->state], ORIGIN);
	facts_text(row, node__hostname, n->hostname, ORIGIN);
	facts_text(row, node__machine, machine_of(r->arena, n), ORIGIN);
	facts_int(row, node__same_name, count_alike(r->o, n, ALIKE_NAME_AND_BOOT), ORIGIN);
	facts_int(row, node__same_hostname, count_alike(r->o, n, ALIKE_NAME), ORIGIN);
	n->shared = count_alike(r->o, n, ALIKE_ADDRESS);
	facts_int(row, node__shared_address, n->shared, ORIGIN);
	if (n->at[0].at.family)
		facts_text(row, node__address, host_address_text(&n->at[0].at, text), ORIGIN);
	if (n->at[0].interface[0])
		facts_text(row, node__interface, n->at[0].interface, ORIGIN);
	text_or_absent(row, node__ifname_rule, n->rule);
	if (n->at[0].mtu > 0)
		facts_int(row, node__mtu, n->at[0].mtu, ORIGIN);
	if (n->speed_mbps > 0)
		facts_int(row, node__speed_mbps, n->speed_mbps, ORIGIN);
	if (n->at[1].at.family)
		facts_text(row, node__control_address, host_address_text(&n->at[1].at, text), ORIGIN);
	facts_real(row, node__joined_ms, n->joined_ms, ORIGIN);
	if (n->state != NODE_ANSWERED)
		facts_real(row, node__gone_ms, n->gone_ms, ORIGIN);
	if (!isnan(n->offset_us)) {
		facts_real(row, node__clock_offset_ms, n->offset_us / 1000, ORIGIN);
		facts_real(row, node__clock_error_ms, n->offset_rtt_us / 2000, ORIGIN);
	}
	facts_int(row, node__size, r->job->size, ORIGIN);
	facts_int(row, node__present, r->o->count, ORIGIN);
	n->bad |= n->state != NODE_ANSWERED;
}

/* Who never came: by name where the launcher tells names, by number where ranks are those of nodes, else one row for all. */
static void missing_rows(struct result *r)
{
	const struct cluster_job *j = r->job;
	int next = 0;
	for (int rank = 0; rank < j->size && !j->sparse; rank++) {
		while (next < r->o->count && r->o->nodes[next].rank < rank)
			next++;
		if (next < r->o->count && r->o->nodes[next].rank == rank)
			continue;
		struct facts_row *row = facts_add(r->facts, TABLE_node);
		facts_text(
			row, node__name, (size_t)rank < j->name_count ? j->names[rank] : arena_printf(r->arena, "rank %d", rank), ORIGIN);
		facts_int(row, node__rank, rank, ORIGIN);
		facts_text(row, node__state, "missing", ORIGIN);
		facts_int(row, node__size, j->size, ORIGIN);
		facts_int(row, node__present, r->o->count, ORIGIN);
	}
	if (j->sparse && r->o->count < j->size) {
		struct facts_row *row = facts_add(r->facts, TABLE_node);
		facts_text(row, node__name, arena_printf(r->arena, "%d of %d", j->size - r->o->count, j->size), ORIGIN);
		facts_text(row, node__state, "missing", ORIGIN);
		facts_int(row, node__size, j->size, ORIGIN);
		facts_int(row, node__present, r->o->count, ORIGIN);
	}
}

/* -- directions --------------------------------------------------------------------------------------------------------------- */

static const char *tcp_problem(const struct cluster_direction *forth, const struct cluster_direction *back)
{
	int64_t way = forth->value[V_TCP];
	if (way < 0 || way == WAY_OPEN || way == WAY_UNTRIED)
		return NULL;
	/* A connection needs both directions: datagrams tell which one it is that fails. */
	bool forth_passes = back->value[V_HEARD] > 0, back_passes = forth->value[V_HEARD] > 0;
	if (way == WAY_DROPPED && back->value[V_TCP] == WAY_DROPPED && forth_passes && !back_passes)
		return NULL;
	/* The other side has no way back: what it was sent arrived, and its answer did not leave. */
	if (way == WAY_DROPPED && (back->value[V_TCP] == WAY_NO_ROUTE || back->value[V_TCP] == WAY_FAILED))
		return NULL;
	return cluster_way_names[way];
}

static bool is_hole(const struct cluster_direction *d)
{
	return d->value[V_MTU_PATH] > 0 && d->value[V_MTU_WANTED] > 0 && d->value[V_MTU_PATH] < d->value[V_MTU_WANTED];
}

static bool carries_tcp(const struct cluster_direction *d)
{
	return d->value[V_STALLED] == 0 && d->value[V_BYTES] >= 65536;
}

static const char *mtu_problem(
	const struct result *r, const struct cluster_direction *d, const struct cluster_node *from, const struct cluster_node *to)
{
	const int64_t *v = d->value;
	/* Where no burst was tried, what TCP did on other such paths stands for it. */
	bool smaller = is_hole(d), carries = v[V_STALLED] >= 0 ? carries_tcp(d) : r->holes_carried > 0 && r->holes_stalled == 0;
	/* Nobody said "fragmentation needed", and TCP stands still: a black hole. Where TCP gets through, somebody on the way makes its
	 * segments smaller. */
	if (smaller && !carries && (v[V_MTU_ICMP] < 0 || v[V_STALLED] == 1))
		return "mtu-hole";
	if (v[V_STALLED] == 1 && !smaller && v[V_UDP] != 1 && v[V_SND_MSS] > 1460)
		return "mtu-hole";
	if (from->at[0].mtu > 0 && to->at[0].mtu > 0 && from->at[0].mtu != to->at[0].mtu)
		return "mtu-differs";
	return NULL;
}

static bool is_lossy(const struct cluster_direction *d)
{
	return d->value[V_SENT] > 0 && d->value[V_LOST] * 1000 >= d->value[V_SENT] * LOSS_PERMILLE;
}

/* Acknowledgements that get lost make the other direction slow: that is no fault of its own. */
static bool is_slow(const struct result *r, const struct cluster_direction *d, const struct cluster_direction *back)
{
	int64_t kbps = d->value[V_KBPS];
	const struct cluster_node *from = &r->o->nodes[d->from], *to = &r->o->nodes[d->to];
	if (kbps <= 0 || same_machine(from, to) || is_lossy(back))
		return false;
	if (r->o->count > 2)
		return kbps * SLOW_PART < r->usual_kbps;
	int64_t speed = from->speed_mbps > 0 && (to->speed_mbps <= 0 || from->speed_mbps < to->speed_mbps) ? from->speed_mbps
													   : to->speed_mbps,
		speed_kbps = speed * 1000;
	if (speed_kbps > SPEED_MAX_KBPS)
		speed_kbps = SPEED_MAX_KBPS;
	return (speed > 0 && kbps * SPEED_PART < speed_kbps) || kbps * SLOW_PART * 2 < back->value[V_KBPS];
}

static const char *problem_of(const struct result *r, const struct cluster_direction *d, const struct cluster_direction *back)
{
	const struct cluster_node *from = &r->o->nodes[d->from], *to = &r->o->nodes[d->to];
	const int64_t *v = d->value;
	const char *p = tcp_problem(d, back);
	if (p || v[V_TCP] != WAY_OPEN || back->value[V_TCP] != WAY_OPEN)
		return p;
	p = same_machine(from, to) ? NULL : mtu_problem(r, d, from, to);
	if (p && strcmp(p, "mtu-hole") == 0)
		return p;
	if (is_lossy(d))
		return "loss";
	if (v[V_STALLED] == 1)
		return "stalled";
	return is_slow(r, d, back) ? "slow" : p;
}

static bool counts(const struct result *r, const struct cluster_direction *d)
{
	return d->tested && r->o->nodes[d->from].state == NODE_ANSWERED && r->o->nodes[d->to].state == NODE_ANSWERED;
}

static const char *pair_name(struct result *r, const struct cluster_direction *d)
{
	return arena_printf(r->arena, "%s -> %s", r->o->nodes[d->from].name, r->o->nodes[d->to].name);
}

static void pair_row(struct result *r, const struct cluster_direction *d)
{
	static const struct {
		enum facts_column column;
		enum cluster_measure measure;
	} numbers[] = {{pair__heard, V_HEARD}, {pair__mtu_wanted, V_MTU_WANTED}, {pair__mtu_path, V_MTU_PATH}, {pair__mtu_icmp, V_MTU_ICMP},
		{pair__sent, V_SENT}, {pair__lost, V_LOST}, {pair__rtt_us, V_RTT_US}, {pair__retransmits, V_RETRANS},
		{pair__segments, V_SEGMENTS}};
	struct facts_row *row = facts_add(r->facts, TABLE_pair);
	const int64_t *v = d->value;
	facts_text(row, pair__name, pair_name(r, d), ORIGIN);
	facts_text(row, pair__source, r->o->nodes[d->from].name, ORIGIN);
	facts_text(row, pair__target, r->o->nodes[d->to].name, ORIGIN);
	if (v[V_TCP] >= 0)
		facts_text(row, pair__tcp, cluster_way_names[v[V_TCP]], ORIGIN);
	if (v[V_TCP2] >= 0 && v[V_TCP2] < WAY_COUNT)
		facts_text(row, pair__control_tcp, cluster_way_names[v[V_TCP2]], ORIGIN);
	if (v[V_UDP] >= 0)
		facts_bool(row, pair__udp, v[V_UDP] == 1, ORIGIN);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (v[numbers[i].measure] >= 0)
			facts_int(row, numbers[i].column, v[numbers[i].measure], ORIGIN);
	if (v[V_KBPS] >= 0)
		facts_real(row, pair__mbps, (double)v[V_KBPS] / 1000, ORIGIN);
	if (v[V_STALLED] >= 0)
		facts_bool(row, pair__stalled, v[V_STALLED] == 1, ORIGIN);
	text_or_absent(row, pair__problem, d->problem);
}

/* -- the smallest explanation --------------------------------------------------------------------------------------------------- */

enum { SIDE_IN = 1, SIDE_OUT = 2 };

struct tally {
	int tested[2], failed[2]; /* in, out; of what is not explained yet */
};

static void add_tallies(const struct result *r, const char *problem, const bool *explained, struct tally *t)
{
	memset(t, 0, (size_t)r->o->count * sizeof *t);
	for (size_t i = 0; i < r->o->pairs * 2; i++) {
		const struct cluster_direction *d = &r->o->directions[i];
		if (!counts(r, d) || explained[i])
			continue;
		bool failed = d->problem && strcmp(d->problem, problem) == 0;
		t[d->to].tested[0]++;
		t[d->from].tested[1]++;
		t[d->to].failed[0] += failed;
		t[d->from].failed[1] += failed;
	}
}

/* How many of its directions a node explains when it is to blame for these sides: all of them must have failed. */
static int explains(const struct tally *t, int sides)
{
	int failed = 0;
	for (int k = 0; k < 2; k++) {
		if (sides & 1 << k) {
			if (t->failed[k] < t->tested[k] || !t->tested[k])
				return 0;
			failed += t->failed[k];
		}
	}
	return failed;
}

static void culprit_row(
	struct result *r, const char *name, const char *kind, const char *way, const struct cluster_direction *d, int pairs, int of)
{
	const struct cluster_node *from = &r->o->nodes[d->from], *to = &r->o->nodes[d->to];
	const int64_t *v = d->value;
	struct facts_row *row = facts_add(r->facts, TABLE_culprit);
	char text[HOST_ADDRESS_TEXT];
	const char *origin = arena_printf(r->arena, "test %s -> %s", from->name, to->name);
	facts_text(row, culprit__name, name, origin);
	if (strcmp(kind, "all") != 0)
		facts_int(row, culprit__rank, strcmp(kind, "node") == 0 && strcmp(from->name, name) == 0 ? from->rank : to->rank, origin);
	facts_text(row, culprit__kind, kind, origin);
	facts_text(row, culprit__direction, way, origin);
	facts_text(row, culprit__problem, d->problem, origin);
	facts_int(row, culprit__pairs, pairs, origin);
	facts_int(row, culprit__of_pairs, of, origin);
	facts_text(row, culprit__source, from->name, origin);
	facts_text(row, culprit__target, to->name, origin);
	if (to->at[0].at.family)
		facts_text(row, culprit__address, host_address_text(&to->at[0].at, text), origin);
	if (to->at[0].interface[0])
		facts_text(row, culprit__interface, to->at[0].interface, origin);
	text_or_absent(row, culprit__ifname_rule, to->rule);
	if (v[V_ERRNO] > 0)
		facts_text(row, culprit__error, strerror((int)v[V_ERRNO]), origin);
	facts_bool(row, culprit__control_open, v[V_TCP2] == WAY_OPEN, origin);
	facts_int(row, culprit__shared_address, to->shared, origin);
	if (v[V_UDP] >= 0)
		facts_bool(row, culprit__udp, v[V_UDP] == 1, origin);
	if (v[V_MTU_PATH] > 0)
		facts_int(row, culprit__mtu_path, v[V_MTU_PATH], origin);
	if (from->at[0].mtu > 0)
		facts_int(row, culprit__mtu_source, from->at[0].mtu, origin);
	if (to->at[0].mtu > 0)
		facts_int(row, culprit__mtu_target, to->at[0].mtu, origin);
	if (v[V_SENT] > 0)
		facts_real(row, culprit__lost_percent, (double)(v[V_LOST] * 1000 / v[V_SENT]) / 10, origin);
	if (v[V_KBPS] >= 0)
		facts_real(row, culprit__mbps, (double)(v[V_KBPS] / 100) / 10, origin);
	if (r->o->count > 2 && r->usual_kbps > 0)
		facts_real(row, culprit__usual_mbps, (double)(r->usual_kbps / 100) / 10, origin);
	else if (from->speed_mbps > 0)
		facts_real(row, culprit__usual_mbps, (double)from->speed_mbps, origin);
}

static bool has_problem(const struct result *r, size_t i, const char *problem)
{
	const struct cluster_direction *d = &r->o->directions[i];
	return counts(r, d) && d->problem && strcmp(d->problem, problem) == 0;
}

/* Everything of this problem that touches the node on these sides is explained. Returns one of the directions. */
static const struct cluster_direction *take(struct result *r, const char *problem, bool *explained, int node, int sides)
{
	const struct cluster_direction *one = NULL;
	for (size_t i = 0; i < r->o->pairs * 2; i++) {
		const struct cluster_direction *d = &r->o->directions[i];
		if (!explained[i] && has_problem(r, i, problem) &&
			((sides & SIDE_IN && d->to == node) || (sides & SIDE_OUT && d->from == node))) {
			explained[i] = true;
			if (!one || (d->to == node && one->to != node))
				one = d;
		}
	}
	return one;
}

static void blame_links(struct result *r, const char *problem, bool *explained)
{
	for (size_t i = 0; i < r->o->pairs * 2; i++) {
		if (explained[i] || !has_problem(r, i, problem))
			continue;
		const struct cluster_direction *d = &r->o->directions[i];
		bool both = !explained[i ^ 1] && has_problem(r, i ^ 1, problem);
		explained[i] = true;
		explained[i ^ 1] |= both;
		const char *name = both ? arena_printf(r->arena, "%s - %s", r->o->nodes[d->from].name, r->o->nodes[d->to].name)
					: pair_name(r, d);
		culprit_row(r, name, "link", both ? "both" : "forth", d, both ? 2 : 1, 2);
		/* One of the two has to go: the receiver of a direction, else the one with the higher rank, unless one is bad already. */
		struct cluster_node *from = &r->o->nodes[d->from], *to = &r->o->nodes[d->to];
		if (!from->bad && !to->bad)
			(both && from->rank > to->rank ? from : to)->bad = true;
	}
}

static void blame(struct result *r, const char *problem)
{
	struct cluster_outcome *o = r->o;
	bool *explained = arena_array(r->arena, o->pairs * 2 + 1, sizeof *explained);
	struct tally *t = arena_array(r->arena, (size_t)o->count + 1, sizeof *t);
	int failed = 0, tested = 0;
	size_t first = SIZE_MAX;
	for (size_t i = 0; i < o->pairs * 2; i++) {
		tested += counts(r, &o->directions[i]);
		if (!has_problem(r, i, problem))
			continue;
		failed++;
		if (first == SIZE_MAX)
			first = i;
	}
	if (!failed)
		return;
	if (failed == tested && o->count > 2) {
		culprit_row(r, arena_printf(r->arena, "%d", o->count), "all", "both", &o->directions[first], failed, tested);
		return;
	}
	for (;;) {
		int best = -1, sides = 0, most = 1; /* one direction alone is a link's */
		add_tallies(r, problem, explained, t);
		for (int i = 0; i < o->count && o->count > 2; i++) {
			for (int s = SIDE_IN | SIDE_OUT; s >= SIDE_IN; s--) {
				int n = explains(&t[i], s);
				if (n > most) {
					most = n;
					best = i;
					sides = s;
				}
			}
		}
		if (best < 0)
			break;
		int of = (sides & SIDE_IN ? t[best].tested[0] : 0) + (sides & SIDE_OUT ? t[best].tested[1] : 0);
		const struct cluster_direction *d = take(r, problem, explained, best, sides);
		culprit_row(r, o->nodes[best].name, "node", sides == SIDE_IN ? "in" : sides == SIDE_OUT ? "out" : "both", d, most, of);
		o->nodes[best].bad = true;
	}
	blame_links(r, problem, explained);
}

void cluster_result_facts(struct arena *a, struct facts *f, const struct cluster_job *job, struct cluster_outcome *o)
{
	static const char *const problems[] = {"dropped", "refused", "rejected", "no-route", "self", "other", "silent", "failed",
		"mtu-hole", "mtu-differs", "stalled", "loss", "slow"};
	struct result r = {a, f, job, o, cluster_usual_kbps(a, o->directions, o->pairs * 2), 0, 0};
	for (size_t i = 0; i < o->pairs * 2; i++) {
		r.holes_stalled += is_hole(&o->directions[i]) && o->directions[i].value[V_STALLED] == 1;
		r.holes_carried += is_hole(&o->directions[i]) && carries_tcp(&o->directions[i]);
	}
	facts_table_read(f, TABLE_node);
	facts_table_read(f, TABLE_reach);
	facts_table_read(f, TABLE_pair);
	facts_table_read(f, TABLE_culprit);
	tell_apart(&r);
	for (int i = 0; i < o->count; i++)
		node_row(&r, &o->nodes[i]);
	missing_rows(&r);
	for (size_t i = 0; i < o->pairs * 2; i++)
		if (counts(&r, &o->directions[i]))
			o->directions[i].problem = problem_of(&r, &o->directions[i], &o->directions[i ^ 1]);
	for (size_t i = 0; i < o->pairs * 2; i++)
		if (o->directions[i].tested)
			pair_row(&r, &o->directions[i]);
	for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
		blame(&r, problems[i]);
}

/* -- the way to rank 0 ------------------------------------------------------------------------------------------------------------ */

static const char *families(int four, int six)
{
	return four && six ? "4+6" : four ? "4" : six ? "6" : NULL;
}

void cluster_reach_fact(struct facts *f, const struct cluster_reach *r, int rank0_owns)
{
	struct facts_row *row = facts_add(f, TABLE_reach);
	char text[HOST_ADDRESS_TEXT];
	facts_text(row, reach__node_name, r->node, ORIGIN);
	facts_int(row, reach__rank, r->rank, ORIGIN);
	facts_text(row, reach__target, r->target, r->source ? r->source : ORIGIN);
	facts_text(row, reach__source, r->source, ORIGIN);
	if (r->at.family) {
		facts_text(row, reach__address, host_address_text(&r->at, text), ORIGIN);
		facts_int(row, reach__family, r->at.family, ORIGIN);
	}
	facts_int(row, reach__port, r->at.port, ORIGIN);
	facts_text(row, reach__state, cluster_way_names[r->way], ORIGIN);
	if (r->why)
		facts_text(row, reach__error, r->why, ORIGIN);
	else if (r->error)
		facts_text(row, reach__error, strerror(-r->error), ORIGIN);
	if (r->ms > 0)
		facts_real(row, reach__took_ms, (double)(int64_t)r->ms, ORIGIN);
	facts_int(row, reach__attempts, r->alike, ORIGIN);
	facts_bool(row, reach__loopback, r->loopback, ORIGIN);
	facts_bool(row, reach__literal, r->literal, ORIGIN);
	facts_bool(row, reach__own_address, r->local, ORIGIN);
	if (rank0_owns >= 0)
		facts_bool(row, reach__rank0_owns, rank0_owns, ORIGIN);
	facts_text(row, reach__resolver, r->resolver, "getaddrinfo");
	facts_text(row, reach__hosts_file, r->files, "/etc/hosts");
	facts_text(row, reach__families, families(r->family4, r->family6), ORIGIN);
	facts_text(row, reach__own_families, families(r->own4, r->own6), ORIGIN);
	facts_bool(row, reach__best, r->best, ORIGIN);
}
