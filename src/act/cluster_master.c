/* Rank 0: takes the nodes in, orders their tests by the schedule, hears the results.
 *
 * Phases: join (until everybody has come, or nobody new for a while), quick (both directions of a pair at once, several pairs a node),
 * burst (one at a time for each node), confirm (what looked wrong, again and with patience; what may be the machine's own slowness, alone).
 * Each has a share of the deadline.
 */
#include <errno.h>
#include <math.h>

#include "act/cluster.h"
#include "act/cluster_schedule.h"

#define GUESTS_MAX 4096
#define HELLO_BODY 8192
#define HELLO_MS 5000
#define PING_MS 1000
#define SILENT_MS 5000
#define QUIET_MS 2500 /* a node that was not heard for so long at the end is waited for: it may have stopped */
#define HOLES_SAMPLED 6
#define ORDER_MS 9000
#define QUICK_AT_ONCE 4
#define BURST_ROUNDS 12
#define CONFIRM_MAX 24
#define LOSS_PERMILLE 20

enum phase { PHASE_JOIN, PHASE_QUICK, PHASE_BURST, PHASE_CONFIRM, PHASE_OVER };

struct guest {
	struct cluster_link link;
	struct host_address from;
	double start_ms;
};

struct running {
	size_t at; /* direction */
	int from, to, mode;
	int64_t id;
	double until_ms;
	bool alone;
};

struct cluster_master {
	struct arena *arena;
	const struct cluster_job *job;
	double start_ms, deadline_ms, join_ms, last_join_ms, ping_ms;
	int tcp[2], udp[2]; /* IPv6 wildcard (both families) or IPv4 */
	size_t tcp_place[2];
	struct guest *guests[GUESTS_MAX];
	size_t guest_count;

	struct cluster_node *nodes;
	int count, cap, strangers, late;

	enum phase phase;
	struct cluster_schedule schedule;
	size_t *waiting, waiting_count; /* directions that are not begun; of a quick test the first one of each pair */
	int holes;                      /* bursts through paths that lose large packets: each takes long, and a few are enough */
	struct cluster_direction *direction;
	struct running *running;
	size_t running_count, running_cap;
	int64_t next_id;
	struct {
		size_t at;
		int mode;
		bool alone;
	} again[CONFIRM_MAX * 2];
	size_t again_count, again_next;
	int passes;
	uint64_t messages;
	struct cluster_reach cries[256];
	size_t cry_count;
};

static bool is_alive(const struct cluster_node *n)
{
	return n->state == NODE_ANSWERED;
}

/* -- the door ----------------------------------------------------------------------------------------------------------------- */

static int listen_all(struct cluster_master *m, int port)
{
	struct host_address any = {.family = 6, .port = (uint16_t)port}, bound;
	int rc = host_tcp_listen(&any, CLUSTER_MSS, &m->tcp[0], &bound);
	if (rc < 0 && rc != -EADDRINUSE) {
		any.family = 4;
		rc = host_tcp_listen(&any, CLUSTER_MSS, &m->tcp[0], &bound);
	}
	return rc;
}

int cluster_master_open(struct arena *a, const struct cluster_job *job, double deadline_ms, double join_ms, struct cluster_master **ret,
	int *ret_port, int *ret_first_error)
{
	struct cluster_master *m = arena_alloc(a, sizeof *m);
	struct host_address bound;
	int rc = -EADDRINUSE;
	*m = (struct cluster_master){.arena = a,
		.job = job,
		.start_ms = host_clock_ms(),
		.deadline_ms = deadline_ms,
		.join_ms = join_ms,
		.tcp = {-1, -1},
		.udp = {-1, -1}};
	m->last_join_ms = m->start_ms;
	*ret_first_error = 0;
	for (int k = job->port_is_taken ? 1 : 0; k < CLUSTER_PORTS && rc < 0; k++) {
		rc = listen_all(m, job->port + k);
		if (rc < 0 && !*ret_first_error)
			*ret_first_error = rc;
		*ret_port = job->port + k;
	}
	if (rc < 0)
		return rc;
	for (int i = 0; i < 2; i++)
		host_udp_open(&(struct host_address){.family = i ? 6 : 4, .port = (uint16_t)job->port}, &m->udp[i], &bound);
	host_allow_files();
	*ret = m;
	return 0;
}

static void add_guest(struct cluster_master *m, int fd, const struct host_address *from, double now)
{
	struct guest *g = m->guest_count < GUESTS_MAX ? calloc(1, sizeof *g) : NULL;
	if (!g) {
		host_socket_close(fd);
		return;
	}
	cluster_link_open(&g->link, fd, HELLO_BODY);
	g->from = *from;
	g->start_ms = now;
	m->guests[m->guest_count++] = g;
}

void cluster_master_add_own(struct cluster_master *m, int fd)
{
	add_guest(m, fd, &(struct host_address){0}, host_clock_ms());
}

static struct cluster_node *node_of_rank(struct cluster_master *m, int rank)
{
	for (int i = 0; i < m->count; i++)
		if (m->nodes[i].rank == rank)
			return &m->nodes[i];
	return NULL;
}

static struct cluster_node *new_node(struct cluster_master *m)
{
	if (m->count == m->cap) {
		int cap = m->cap ? m->cap * 2 : 64;
		struct cluster_node *fresh = arena_array(m->arena, (size_t)cap, sizeof *fresh);
		if (m->count)
			memcpy(fresh, m->nodes, (size_t)m->count * sizeof *fresh);
		m->nodes = fresh;
		m->cap = cap;
	}
	return &m->nodes[m->count++];
}

static void answer(struct cluster_link *l, uint8_t type, uint64_t token, const char *reason)
{
	size_t start = frame_begin(&l->out, type, token);
	if (reason)
		frame_text(&l->out, T_REASON, str_of(reason));
	frame_end(&l->out, start);
}

/* Who was not taken in is remembered with the reason. */
static void refuse(struct cluster_master *m, struct guest *g, const struct frame_fields *f, enum cluster_way way)
{
	int64_t rank = parse_frame_int(f, T_RANK, -1);
	answer(&g->link, F_REJECT, m->job->token, way == WAY_LATE ? "late" : "rank or size");
	m->late += way == WAY_LATE;
	m->strangers += way != WAY_LATE;
	if (m->cry_count == sizeof m->cries / sizeof *m->cries || rank < 0 || rank > INT32_MAX)
		return;
	struct cluster_reach *r = &m->cries[m->cry_count++];
	*r = (struct cluster_reach){.rank = (int)rank,
		.way = way,
		.icmp = -ENODATA,
		.alike = 1,
		.target = m->job->master,
		.source = m->job->master_from,
		.at.port = (uint16_t)m->job->port};
	r->node = cluster_get_text(m->arena, f, T_NAME, 255);
	r->why = arena_printf(m->arena, "%lld/%lld", (long long)rank, (long long)parse_frame_int(f, T_SIZE, -1));
}

/* True: the guest became a node. */
static bool take_in(struct cluster_master *m, struct guest *g, const struct frame_fields *f, double now)
{
	int64_t rank = parse_frame_int(f, T_RANK, -1), size = parse_frame_int(f, T_SIZE, -1);
	if (rank < 0 || rank > INT32_MAX || size != m->job->size || node_of_rank(m, (int)rank) || m->count >= CLUSTER_NODES_MAX) {
		refuse(m, g, f, WAY_CONTRADICTS);
		return false;
	}
	if (m->phase != PHASE_JOIN) {
		refuse(m, g, f, WAY_LATE);
		return false;
	}
	struct cluster_node *n = new_node(m);
	*n = (struct cluster_node){.rank = (int)rank,
		.state = NODE_ANSWERED,
		.link = g->link,
		.joined_ms = now - m->start_ms,
		.offset_us = NAN,
		.offset_rtt_us = NAN};
	n->link.max_body = CLUSTER_FACTS_MAX + 64;
	n->name = cluster_get_text(m->arena, f, T_NAME, 255);
	n->hostname = cluster_get_text(m->arena, f, T_HOSTNAME, 255);
	n->boot_id = cluster_get_text(m->arena, f, T_BOOT_ID, 64);
	n->netns = cluster_get_text(m->arena, f, T_NETNS, 64);
	n->rule = cluster_get_text(m->arena, f, T_RULE, 255);
	n->version = cluster_get_text(m->arena, f, T_VERSION, 64);
	n->speed_mbps = parse_frame_int(f, T_SPEED, -1);
	for (int i = 0; i < 2; i++)
		cluster_get_endpoint(f, i, &n->at[i]);
	if (!n->name)
		n->name = arena_printf(m->arena, "rank%d", n->rank);
	answer(&n->link, F_ACCEPT, m->job->token, NULL);
	m->last_join_ms = now;
	return true;
}

static void drop_guest(struct cluster_master *m, size_t i, bool taken)
{
	if (!taken)
		cluster_link_close(&m->guests[i]->link);
	free(m->guests[i]);
	m->guests[i] = m->guests[--m->guest_count];
}

static void guests_step(struct cluster_master *m, const struct cluster_waits *w, double now)
{
	struct frame frame;
	struct frame_fields f;
	for (size_t i = m->guest_count; i-- > 0;) {
		struct guest *g = m->guests[i];
		cluster_link_step(&g->link, w, now);
		if (cluster_link_next(&g->link, m->job->token, &frame, &f) && frame.type == F_HELLO) {
			bool taken = take_in(m, g, &f, now);
			if (!taken)
				cluster_link_step(&g->link, w, now);
			drop_guest(m, i, taken);
		} else if (g->link.ended || now > g->start_ms + HELLO_MS) {
			m->strangers += g->link.foreign;
			if (g->link.foreign) {
				g->link.ended = false;
				answer(&g->link, F_REJECT, m->job->token, "token");
				cluster_link_step(&g->link, w, now);
			}
			drop_guest(m, i, false);
		}
	}
}

static void let_in(struct cluster_master *m, const struct cluster_waits *w, double now)
{
	struct host_address from;
	int fd;
	if (!cluster_waits_ready(w, m->tcp_place[0], m->tcp[0]))
		return;
	for (int i = 0; i < 1024 && host_tcp_accept(m->tcp[0], &fd, &from) == 0; i++)
		add_guest(m, fd, &from, now);
}

/* -- nodes that only UDP lets through ------------------------------------------------------------------------------------------- */

static void hear_cry(struct cluster_master *m, const struct frame_fields *f)
{
	int64_t rank = parse_frame_int(f, T_RANK, -1), way = parse_frame_int(f, T_STATE, 0);
	struct cluster_reach *r = NULL;
	if (rank < 0 || rank > INT32_MAX || way <= WAY_OPEN || way >= WAY_COUNT || node_of_rank(m, (int)rank))
		return;
	for (size_t i = 0; i < m->cry_count; i++)
		if (m->cries[i].rank == rank)
			r = &m->cries[i];
	if (!r && m->cry_count == sizeof m->cries / sizeof *m->cries)
		return;
	if (!r)
		r = &m->cries[m->cry_count++];
	*r = (struct cluster_reach){.rank = (int)rank,
		.way = (enum cluster_way)way,
		.error = -(int)parse_frame_int(f, T_ERRNO, 0),
		.icmp = -ENODATA,
		.loopback = parse_frame_int(f, T_LOOPBACK, 0) == 1,
		.alike = 1};
	r->node = cluster_get_text(m->arena, f, T_NAME, 255);
	r->target = cluster_get_text(m->arena, f, T_TARGET, 255);
	host_address_parse(parse_frame_text(f, T_ENDPOINT), &r->at);
	r->at.port = (uint16_t)m->job->port;
}

static void hear_cries(struct cluster_master *m)
{
	char data[2048];
	ssize_t n;
	for (int u = 0; u < 2; u++) {
		for (int i = 0; i < 64 && m->udp[u] >= 0 && (n = host_udp_receive(m->udp[u], data, sizeof data, NULL)) != -EAGAIN; i++) {
			struct str rest = str_n(data, n > 0 ? (size_t)n : 0);
			struct frame frame;
			struct frame_fields f;
			if (n > 0 && parse_frame_next(&rest, sizeof data, &frame) > 0 && frame.token == m->job->token &&
				frame.type == F_CRY && parse_frame_fields(frame.body, &f) == 0)
				hear_cry(m, &f);
		}
	}
}

/* -- orders ---------------------------------------------------------------------------------------------------------------------- */

static int burst_ms(const struct cluster_master *m)
{
	return m->count <= 8 ? 150 : m->count <= 32 ? 80 : 40;
}

static void order(struct cluster_master *m, size_t at, int mode, bool alone, double now)
{
	int from = m->direction[at].from, to = m->direction[at].to;
	struct cluster_node *a = &m->nodes[from], *b = &m->nodes[to];
	if (m->running_count == m->running_cap) {
		size_t cap = m->running_cap ? m->running_cap * 2 : 256;
		struct running *fresh = arena_array(m->arena, cap, sizeof *fresh);
		if (m->running_count)
			memcpy(fresh, m->running, m->running_count * sizeof *fresh);
		m->running = fresh;
		m->running_cap = cap;
	}
	struct running *r = &m->running[m->running_count++];
	*r = (struct running){at, from, to, mode, ++m->next_id, now + ORDER_MS, alone};
	struct buf *out = &a->link.out;
	size_t start = frame_begin(out, F_TEST, m->job->token);
	frame_int(out, T_TEST, r->id);
	frame_int(out, T_RANK, b->rank);
	frame_int(out, T_MODE, mode);
	frame_int(out, T_MS, burst_ms(m));
	for (int i = 0; i < 2; i++)
		cluster_put_endpoint(out, i, &b->at[i]);
	frame_end(out, start);
	a->running++;
	b->running++;
	m->messages++;
}

static void end_running(struct cluster_master *m, size_t i)
{
	m->nodes[m->running[i].from].running--;
	m->nodes[m->running[i].to].running--;
	m->running[i] = m->running[--m->running_count];
}

/* The second look replaces the first, except where it could not measure; of the losses the smaller one counts: what is lost twice is lost.
 */
static void keep(struct cluster_direction *d, const int64_t value[V_COUNT], int mode)
{
	bool again = mode & MODE_PATIENT;
	int64_t sent = d->value[V_SENT], lost = d->value[V_LOST], kbps = d->value[V_KBPS];
	for (int i = 0; i < V_COUNT; i++)
		if (value[i] >= 0 && !(mode & MODE_BURST && (i == V_HEARD || i == V_TCP || i == V_RTT_US)))
			d->value[i] = value[i];
	if (again && sent > 0 && d->value[V_SENT] > 0 && lost >= 0 && lost * d->value[V_SENT] < d->value[V_LOST] * sent) {
		d->value[V_SENT] = sent;
		d->value[V_LOST] = lost;
	}
	if (again && kbps > d->value[V_KBPS])
		d->value[V_KBPS] = kbps;
	if (again && mode & MODE_QUICK && value[V_TCP] == WAY_OPEN)
		d->value[V_ERRNO] = d->value[V_ICMP] = -1;
	d->tested = true;
}

static void hear_result(struct cluster_master *m, int from, const struct frame_fields *f)
{
	int64_t id = parse_frame_int(f, T_TEST, 0), value[V_COUNT];
	for (size_t i = 0; i < m->running_count; i++) {
		struct running *r = &m->running[i];
		if (r->id != id || r->from != from)
			continue;
		for (int v = 0; v < V_COUNT; v++)
			value[v] = parse_frame_int(f, T_MEASURE + (unsigned)v, -1);
		if (value[V_TCP] < 0 || value[V_TCP] >= WAY_COUNT)
			value[V_TCP] = r->mode & MODE_QUICK ? WAY_FAILED : -1;
		keep(&m->direction[r->at], value, r->mode);
		end_running(m, i);
		m->messages++;
		return;
	}
}

static void hear_pong(struct cluster_node *n, const struct frame_fields *f)
{
	int64_t t0 = parse_frame_int(f, T_T0, 0), t1 = parse_frame_int(f, T_T1, 0), t2 = host_wall_us();
	double rtt = (double)(t2 - t0);
	if (t0 <= 0 || t1 <= 0 || rtt < 0)
		return;
	if (isnan(n->offset_rtt_us) || rtt < n->offset_rtt_us) {
		n->offset_rtt_us = rtt;
		n->offset_us = (double)t1 - ((double)t0 + (double)t2) / 2;
	}
}

static void nodes_step(struct cluster_master *m, const struct cluster_waits *w, double now)
{
	struct frame frame;
	struct frame_fields f;
	bool ping = now >= m->ping_ms;
	if (ping)
		m->ping_ms = now + PING_MS;
	for (int i = 0; i < m->count; i++) {
		struct cluster_node *n = &m->nodes[i];
		if (!is_alive(n))
			continue;
		if (ping) {
			size_t start = frame_begin(&n->link.out, F_PING, m->job->token);
			frame_int(&n->link.out, T_T0, host_wall_us());
			frame_end(&n->link.out, start);
		}
		cluster_link_step(&n->link, w, now);
		while (cluster_link_next(&n->link, m->job->token, &frame, &f)) {
			if (frame.type == F_RESULT && m->direction)
				hear_result(m, i, &f);
			else if (frame.type == F_PONG)
				hear_pong(n, &f);
			else if (frame.type == F_FACTS && !n->facts.len)
				n->facts = str_of(str_dup(m->arena, parse_frame_text(&f, T_FACTS)));
		}
		if (n->link.ended)
			n->state = NODE_DIED;
		else if (now > n->link.heard_ms + SILENT_MS)
			n->state = NODE_SILENT;
		if (!is_alive(n))
			n->gone_ms = now - m->start_ms;
	}
}

static void give_up_orders(struct cluster_master *m, double now)
{
	for (size_t i = m->running_count; i-- > 0;) {
		struct running *r = &m->running[i];
		if (now < r->until_ms && is_alive(&m->nodes[r->from]) && is_alive(&m->nodes[r->to]))
			continue;
		m->direction[r->at].untestable |= !is_alive(&m->nodes[r->from]) || !is_alive(&m->nodes[r->to]);
		end_running(m, i);
	}
}

/* -- phases ---------------------------------------------------------------------------------------------------------------------- */

static int compare_ranks(const void *a, const void *b)
{
	const struct cluster_node *x = a, *y = b;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void begin_tests(struct cluster_master *m)
{
	qsort(m->nodes, (size_t)m->count, sizeof *m->nodes, compare_ranks);
	cluster_schedule_make(m->arena, m->count, m->job->token, &m->schedule);
	m->direction = arena_array(m->arena, m->schedule.count * 2 + 1, sizeof *m->direction);
	for (size_t i = 0; i < m->schedule.count * 2; i++) {
		const struct cluster_pair *p = &m->schedule.pairs[i / 2];
		m->direction[i].from = i & 1 ? p->b : p->a;
		m->direction[i].to = i & 1 ? p->a : p->b;
		for (int v = 0; v < V_COUNT; v++)
			m->direction[i].value[v] = -1;
	}
	m->waiting = arena_array(m->arena, m->schedule.count * 2 + 1, sizeof *m->waiting);
}

static void enqueue(struct cluster_master *m, int rounds, size_t side)
{
	for (size_t i = 0; i < m->schedule.count; i++)
		if (m->schedule.pairs[i].round < rounds)
			m->waiting[m->waiting_count++] = i * 2 + side;
}

static bool share_a_machine(const struct cluster_node *a, const struct cluster_node *b)
{
	return a->boot_id && b->boot_id && strcmp(a->boot_id, b->boot_id) == 0 && a->netns && b->netns && strcmp(a->netns, b->netns) == 0;
}

static bool is_hole(const struct cluster_direction *d)
{
	return d->value[V_MTU_PATH] > 0 && d->value[V_MTU_PATH] < d->value[V_MTU_WANTED];
}

/* Is a burst in this direction worth its time? */
static bool deserves_burst(struct cluster_master *m, size_t at)
{
	const struct cluster_direction *d = &m->direction[at];
	if (d->value[V_TCP] != WAY_OPEN)
		return false;
	if (share_a_machine(&m->nodes[d->from], &m->nodes[d->to]) && m->count > 8)
		return false; /* the loopback says nothing about a network */
	return !is_hole(d) || m->holes++ < HOLES_SAMPLED;
}

/* Begins what may begin; what cannot any more is left out. A pair's quick tests run both ways at once, bursts one way at a time. False:
 * nothing is left to do. */
static bool dispatch(struct cluster_master *m, int mode, int at_once, double now)
{
	size_t kept = 0;
	for (size_t i = 0; i < m->waiting_count; i++) {
		size_t at = m->waiting[i];
		struct cluster_direction *d = &m->direction[at];
		struct cluster_node *a = &m->nodes[d->from], *b = &m->nodes[d->to];
		if (!is_alive(a) || !is_alive(b)) {
			d->untestable = true;
		} else if (a->running >= at_once || b->running >= at_once) {
			m->waiting[kept++] = at;
		} else if (mode & MODE_QUICK) {
			order(m, at, mode, false, now);
			order(m, at + 1, mode, false, now);
		} else if (deserves_burst(m, at)) {
			order(m, at, mode, false, now);
		}
	}
	m->waiting_count = kept;
	return kept || m->running_count;
}

static void again(struct cluster_master *m, size_t at, int mode, bool alone)
{
	if (m->again_count == sizeof m->again / sizeof *m->again)
		return;
	m->again[m->again_count].at = at;
	m->again[m->again_count].mode = mode;
	m->again[m->again_count++].alone = alone;
}

static int compare_numbers(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

int64_t cluster_usual_kbps(struct arena *a, const struct cluster_direction *d, size_t count)
{
	int64_t *all = arena_array(a, count + 1, sizeof *all);
	size_t n = 0;
	for (size_t i = 0; i < count; i++)
		if (d[i].value[V_KBPS] > 0)
			all[n++] = d[i].value[V_KBPS];
	if (!n)
		return -1;
	qsort(all, n, sizeof *all, compare_numbers);
	return all[n / 2];
}

/* What deserves a second look. */
static void suspect(struct cluster_master *m)
{
	int64_t usual = cluster_usual_kbps(m->arena, m->direction, m->schedule.count * 2);
	for (size_t i = 0; i < m->schedule.count * 2; i++) {
		const struct cluster_direction *d = &m->direction[i];
		const int64_t *v = d->value;
		if (!d->tested || !is_alive(&m->nodes[d->from]) || !is_alive(&m->nodes[d->to]))
			continue;
		if (v[V_TCP] != WAY_OPEN || m->direction[i ^ 1].value[V_TCP] != WAY_OPEN)
			again(m, i, MODE_QUICK | MODE_PATIENT, false);
		else if (v[V_SENT] > 0 && v[V_LOST] * 1000 >= v[V_SENT] * LOSS_PERMILLE)
			again(m, i, MODE_QUICK | MODE_PATIENT, true);
		else if (v[V_UDP] == 0 || is_hole(d))
			again(m, i, MODE_QUICK | MODE_PATIENT, false);
		if (v[V_STALLED] == 1 && !is_hole(d))
			again(m, i, MODE_BURST | MODE_PATIENT, false);
		else if (v[V_STALLED] != 1 && v[V_KBPS] > 0 && usual > 0 && v[V_KBPS] < usual / 3)
			again(m, i, MODE_BURST | MODE_PATIENT, true);
	}
}

static bool confirm(struct cluster_master *m, double now)
{
	for (; m->again_next < m->again_count; m->again_next++) {
		size_t at = m->again[m->again_next].at;
		bool alone = m->again[m->again_next].alone;
		if (!is_alive(&m->nodes[m->direction[at].from]) || !is_alive(&m->nodes[m->direction[at].to]))
			continue;
		if (m->running_count && (alone || m->running[0].alone))
			return true;
		order(m, at, m->again[m->again_next].mode, alone, now);
	}
	return m->running_count > 0;
}

static bool somebody_is_quiet(const struct cluster_master *m, double now)
{
	for (int i = 0; i < m->count; i++)
		if (is_alive(&m->nodes[i]) && now > m->nodes[i].link.heard_ms + QUIET_MS)
			return true;
	return false;
}

static void drop_orders(struct cluster_master *m)
{
	while (m->running_count)
		end_running(m, m->running_count - 1);
	m->waiting_count = 0;
}

static void advance(struct cluster_master *m, double now)
{
	double whole = m->deadline_ms - m->start_ms, spent = now - m->start_ms;
	int patience = m->job->launcher && strcmp(m->job->launcher, "kubernetes") == 0 ? 2 : 1;
	switch (m->phase) {
	case PHASE_JOIN:
		if (m->count < m->job->size && now < m->last_join_ms + m->join_ms * patience && spent < whole * 0.5)
			return;
		begin_tests(m);
		enqueue(m, m->schedule.rounds, 0);
		m->phase = PHASE_QUICK;
		return;
	case PHASE_QUICK:
		if (dispatch(m, MODE_QUICK, 2 * QUICK_AT_ONCE, now) && spent < whole * 0.7)
			return;
		drop_orders(m);
		enqueue(m, m->count > 16 ? BURST_ROUNDS : m->schedule.rounds, 0);
		enqueue(m, m->count > 16 ? BURST_ROUNDS : m->schedule.rounds, 1);
		m->phase = PHASE_BURST;
		return;
	case PHASE_BURST:
		if (dispatch(m, MODE_BURST, 1, now) && spent < whole * 0.8)
			return;
		drop_orders(m);
		suspect(m);
		m->phase = PHASE_CONFIRM;
		return;
	case PHASE_CONFIRM:
		if ((confirm(m, now) || somebody_is_quiet(m, now)) && spent < whole * 0.9)
			return;
		drop_orders(m);
		m->phase = PHASE_OVER;
		return;
	case PHASE_OVER: return;
	}
}

void cluster_master_want(struct cluster_master *m, struct cluster_waits *w)
{
	m->tcp_place[0] = cluster_waits_add(w, m->tcp[0], true, false);
	for (int i = 0; i < 2; i++)
		if (m->udp[i] >= 0)
			cluster_waits_add(w, m->udp[i], true, false);
	for (size_t i = 0; i < m->guest_count; i++)
		cluster_link_want(&m->guests[i]->link, w);
	for (int i = 0; i < m->count; i++)
		if (is_alive(&m->nodes[i]))
			cluster_link_want(&m->nodes[i].link, w);
	cluster_waits_until(w, host_clock_ms() + 200);
	cluster_waits_until(w, m->ping_ms);
	cluster_waits_until(w, m->deadline_ms);
}

bool cluster_master_step(struct cluster_master *m, const struct cluster_waits *w, double now)
{
	let_in(m, w, now);
	guests_step(m, w, now);
	nodes_step(m, w, now);
	hear_cries(m);
	give_up_orders(m, now);
	advance(m, now);
	/* What was ordered goes out at once. */
	for (int i = 0; i < m->count; i++)
		if (is_alive(&m->nodes[i]) && m->nodes[i].link.out.len)
			cluster_link_step(&m->nodes[i].link, w, now);
	return m->phase == PHASE_OVER || now >= m->deadline_ms;
}

void cluster_master_finish(struct cluster_master *m)
{
	double now = host_clock_ms();
	for (int i = 0; i < m->count; i++) {
		struct cluster_node *n = &m->nodes[i];
		if (is_alive(n)) {
			answer(&n->link, F_END, m->job->token, NULL);
			cluster_link_step(&n->link, &(struct cluster_waits){0}, now);
		} else {
			cluster_link_close(&n->link);
		}
	} /* the others' links end with this process: they see by it that everything is said */
	while (m->guest_count)
		drop_guest(m, m->guest_count - 1, false);
	host_socket_close(m->tcp[0]);
	for (int i = 0; i < 2; i++)
		host_socket_close(m->udp[i]);
}

void cluster_master_outcome(struct cluster_master *m, struct cluster_outcome *ret)
{
	if (!m->direction)
		begin_tests(m);
	*ret = (struct cluster_outcome){.nodes = m->nodes,
		.count = m->count,
		.expected = m->job->size,
		.late = m->late,
		.strangers = m->strangers,
		.directions = m->direction,
		.pairs = m->schedule.count,
		.rounds = m->schedule.rounds,
		.messages = m->messages,
		.cries = m->cries,
		.cry_count = m->cry_count};
	for (size_t i = 0; i < m->schedule.count; i++)
		ret->tested += m->direction[i * 2].tested && m->direction[i * 2 + 1].tested;
}
