/* Every node: it reaches rank 0, says who it is, answers the tests of others and does those that rank 0 orders. */
#include <errno.h>

#include "act/cluster.h"

#define TARGETS_MAX 16
#define GUESTS_MAX 512
#define GUEST_BODY 4096
#define GUEST_MS 3000 /* to say who it is */
#define RETRY_MS 250
#define REDIAL_MS 4000
#define SILENT_MS 1500 /* whoever listens there does not speak: the next port may be rank 0 */
#define MASTER_SILENT_MS 9000
#define TESTS_MAX 64
#define HEARD_MAX 4096 /* ranks whose datagrams are counted */
#define COUNTERS 256
#define SINK_MAX ((size_t)4 << 20)

struct dial {
	struct cluster_link link;
	int target, port;
	bool wanted, connecting, connected, ours;
	double start_ms, connected_ms;
	enum cluster_way way;
	int error, icmp, count;
	double way_ms;
};

struct guest {
	struct cluster_link link;
	bool known, burst;
	double start_ms;
};

struct order {
	struct cluster_test *test;
	int64_t id;
	struct order *next;
};

struct cluster_member {
	struct arena *arena;
	const struct cluster_job *job;
	const struct cluster_self *self;
	double deadline_ms, join_ms, start_ms;

	struct cluster_reach target[TARGETS_MAX];
	size_t target_count;
	struct dial dial[TARGETS_MAX * CLUSTER_PORTS];
	int cry_fd[TARGETS_MAX];
	double cry_ms;

	struct cluster_link control;
	bool joined, done, over, lost;
	double lost_ms;

	struct cluster_endpoint at[2];
	int tcp[2], udp[2];
	size_t tcp_place[2], udp_place[2];
	struct guest *guests[GUESTS_MAX];
	size_t guest_count;
	struct order *orders;
	int order_count;
	struct {
		int rank;
		int64_t count;
	} heard[HEARD_MAX];
	struct {
		int64_t id, count;
	} counter[COUNTERS];
	int next_counter;
};

/* -- doors for the others --------------------------------------------------------------------------------------------------- */

static void listen_at(struct cluster_member *m, int which, const struct cluster_endpoint *at)
{
	struct host_address any = at->at, bound;
	any.port = 0;
	m->at[which] = *at;
	m->at[which].tcp = m->at[which].udp = 0;
	if (host_tcp_listen(&any, 0, &m->tcp[which], &bound) == 0)
		m->at[which].tcp = bound.port;
	if (host_udp_open(&any, &m->udp[which], &bound) == 0)
		m->at[which].udp = bound.port;
}

static int64_t *heard_of(struct cluster_member *m, int rank)
{
	for (size_t k = 0, i = (size_t)rank * 2654435761u % HEARD_MAX; k < 64; k++, i = (i + 1) % HEARD_MAX) {
		if (m->heard[i].count == 0)
			m->heard[i].rank = rank;
		if (m->heard[i].rank == rank)
			return &m->heard[i].count;
	}
	return NULL;
}

static int64_t *counter_of(struct cluster_member *m, int64_t id, bool make)
{
	for (int i = 0; i < COUNTERS; i++)
		if (m->counter[i].id == id)
			return &m->counter[i].count;
	if (!make)
		return NULL;
	int i = m->next_counter++ % COUNTERS;
	m->counter[i].id = id;
	m->counter[i].count = 0;
	return &m->counter[i].count;
}

static void answer_datagram(
	struct cluster_member *m, int which, uint8_t type, const struct frame_fields *f, int64_t bytes, const struct host_address *to)
{
	struct buf b = BUF_MAX(1024);
	size_t start = frame_begin(&b, type, m->job->token);
	frame_int(&b, T_RANK, m->job->rank);
	frame_int(&b, T_TEST, parse_frame_int(f, T_TEST, 0));
	frame_int(&b, T_SEQ, parse_frame_int(f, T_SEQ, 0));
	frame_int(&b, T_BYTES, bytes);
	frame_end(&b, start);
	host_udp_send(m->udp[which], buf_view(&b), to);
	buf_free(&b);
}

static void datagrams(struct cluster_member *m, int which)
{
	static char data[65536];
	struct host_address from;
	ssize_t n;
	for (int i = 0; i < 512 && (n = host_udp_receive(m->udp[which], data, sizeof data, &from)) != -EAGAIN; i++) {
		struct str rest = str_n(data, n > 0 ? (size_t)n : 0);
		struct frame frame;
		struct frame_fields f;
		if (n <= 0 || parse_frame_next(&rest, sizeof data, &frame) <= 0 || frame.token != m->job->token ||
			parse_frame_fields(frame.body, &f) < 0)
			continue;
		int64_t rank = parse_frame_int(&f, T_RANK, -1), id = parse_frame_int(&f, T_TEST, 0), *count;
		if (rank >= 0 && rank <= INT32_MAX && (count = heard_of(m, (int)rank)))
			++*count;
		if (frame.type == F_PROBE)
			answer_datagram(m, which, F_PROBE_OK, &f, parse_frame_int(&f, T_BYTES, 0), &from);
		else if (frame.type == F_LOSS && (count = counter_of(m, id, true)))
			++*count;
		else if (frame.type == F_COUNT)
			answer_datagram(m, which, F_COUNTED, &f, (count = counter_of(m, id, false)) ? *count : 0, &from);
	}
}

static void drop_guest(struct cluster_member *m, size_t i)
{
	cluster_link_close(&m->guests[i]->link);
	free(m->guests[i]);
	m->guests[i] = m->guests[--m->guest_count];
}

static void let_in(struct cluster_member *m, int which, double now)
{
	int fd;
	while (m->guest_count < GUESTS_MAX && host_tcp_accept(m->tcp[which], &fd, NULL) == 0) {
		struct guest *g = calloc(1, sizeof *g);
		if (!g) {
			host_socket_close(fd);
			return;
		}
		cluster_link_open(&g->link, fd, GUEST_BODY);
		g->start_ms = now;
		m->guests[m->guest_count++] = g;
	}
}

/* False: it may go. */
static bool serve_guest(struct cluster_member *m, struct guest *g, const struct cluster_waits *w, double now)
{
	static char sink[262144];
	struct frame frame;
	struct frame_fields f;
	if (g->burst && cluster_waits_ready(w, g->link.place, g->link.fd)) {
		ssize_t n = 1;
		for (size_t total = 0; total < SINK_MAX && (n = host_receive(g->link.fd, sink, sizeof sink)) > 0;)
			total += (size_t)n;
		return n > 0 || n == -EAGAIN;
	}
	if (g->burst)
		return true;
	cluster_link_step(&g->link, w, now);
	if (!g->known && cluster_link_next(&g->link, m->job->token, &frame, &f) && frame.type == F_PEER) {
		size_t start = frame_begin(&g->link.out, F_PEER_OK, m->job->token);
		frame_int(&g->link.out, T_RANK, m->job->rank);
		frame_end(&g->link.out, start);
		g->known = true;
		g->burst = parse_frame_int(&f, T_MODE, 0) & MODE_BURST;
		cluster_link_step(&g->link, w, now); /* the few bytes fit: nothing is left to send afterwards */
	}
	return !g->link.ended && (g->known || now < g->start_ms + GUEST_MS);
}

/* -- reaching rank 0 -------------------------------------------------------------------------------------------------------- */

static void note(struct dial *d, enum cluster_way way, int error, int icmp, double now)
{
	if (d->way == way)
		d->count++;
	else
		d->count = 1;
	d->way = way;
	d->error = error;
	d->icmp = icmp;
	d->way_ms = now;
}

static void say_hello(struct cluster_member *m, struct cluster_link *l)
{
	const struct cluster_self *self = m->self;
	struct buf *b = &l->out;
	size_t start = frame_begin(b, F_HELLO, m->job->token);
	frame_int(b, T_RANK, m->job->rank);
	frame_int(b, T_SIZE, m->job->size);
	frame_text(b, T_NAME, str_of(self->name));
	frame_text(b, T_HOSTNAME, str_of(self->hostname));
	frame_text(b, T_VERSION, str_of(DAVY_VERSION));
	frame_int(b, T_SPEED, self->speed_mbps);
	if (self->boot_id)
		frame_text(b, T_BOOT_ID, str_of(self->boot_id));
	if (self->netns)
		frame_text(b, T_NETNS, str_of(self->netns));
	if (self->rule)
		frame_text(b, T_RULE, str_of(self->rule));
	for (int i = 0; i < 2; i++)
		cluster_put_endpoint(b, i, &m->at[i]);
	frame_end(b, start);
}

/* The address by which rank 0 sees this node counts too, where NCCL would take another one. */
static void second_door(struct cluster_member *m, int fd)
{
	struct cluster_endpoint e = {.mtu = -1};
	if (m->at[1].at.family || host_socket_local(fd, &e.at) < 0 || !e.at.family)
		return;
	e.at.port = 0;
	host_interface_of(&e.at, e.interface, &e.mtu);
	if (!m->at[0].at.family)
		listen_at(m, 0, &e);
	else if (!host_address_is_same(&m->at[0].at, &e.at))
		listen_at(m, 1, &e);
}

static void redial(struct dial *d)
{
	cluster_link_close(&d->link);
	d->connecting = d->connected = false;
}

static void dial_again(struct cluster_member *m, struct dial *d, double now)
{
	struct host_address to = m->target[d->target].at;
	int fd, rc;
	if (!to.family || now < d->start_ms + (d->way == WAY_UNTRIED ? 0 : RETRY_MS))
		return;
	to.port = (uint16_t)(m->job->port + d->port);
	d->start_ms = now;
	rc = host_tcp_connect(&to, CLUSTER_MSS, &fd);
	if (rc < 0) {
		note(d, cluster_way_of(rc, -ENODATA), rc, -ENODATA, now);
		return;
	}
	cluster_link_open(&d->link, fd, 65536);
	d->connecting = true;
}

static void dial_connected(struct cluster_member *m, struct dial *d, double now)
{
	int rc = host_tcp_connected(d->link.fd);
	if (rc == -EINPROGRESS) {
		int icmp = host_socket_icmp(d->link.fd);
		if (now > d->start_ms + SILENT_MS && d->way == WAY_UNTRIED)
			note(d, cluster_way_of(rc, icmp), -ETIMEDOUT, icmp, now);
		if (now > d->start_ms + REDIAL_MS) {
			note(d, cluster_way_of(rc, icmp), -ETIMEDOUT, icmp, now);
			redial(d);
		}
		return;
	}
	int icmp = rc < 0 ? host_socket_icmp(d->link.fd) : -ENODATA;
	if (rc == 0 && host_tcp_is_self(d->link.fd))
		rc = -ECONNREFUSED;
	if (rc < 0) {
		note(d, cluster_way_of(rc, icmp), rc, icmp, now);
		redial(d);
		return;
	}
	d->connecting = false;
	d->connected = true;
	d->connected_ms = now;
	second_door(m, d->link.fd);
	say_hello(m, &d->link);
}

static void take(struct cluster_member *m, struct dial *d)
{
	m->control = d->link;
	m->control.max_body = 65536;
	m->joined = true;
	note(d, WAY_OPEN, 0, -ENODATA, host_clock_ms());
	d->link = (struct cluster_link){.fd = -1, .ended = true};
	d->connected = false;
	size_t start = frame_begin(&m->control.out, F_FACTS, m->job->token);
	frame_text(&m->control.out, T_FACTS, m->self->facts.len <= CLUSTER_FACTS_MAX ? m->self->facts : str_n("", 0));
	frame_end(&m->control.out, start);
}

static void dial_answer(struct cluster_member *m, struct dial *d, const struct cluster_waits *w, double now)
{
	struct frame frame;
	struct frame_fields f;
	cluster_link_step(&d->link, w, now);
	if (cluster_link_next(&d->link, m->job->token, &frame, &f)) {
		if (frame.type == F_ACCEPT) {
			take(m, d);
			return;
		}
		struct str reason = frame.type == F_REJECT ? parse_frame_text(&f, T_REASON) : str_n("", 0);
		note(d, str_is(reason, "late") ? WAY_LATE : str_is(reason, "rank or size") ? WAY_CONTRADICTS : WAY_OTHER, 0, -ENODATA, now);
		m->over = d->way != WAY_OTHER; /* another try would end in the same way */
		redial(d);
	} else if (d->link.ended) {
		note(d, WAY_OTHER, 0, -ENODATA, now);
		redial(d);
		d->start_ms = now + RETRY_MS * 3;
	} else if (now > d->connected_ms + SILENT_MS) {
		if (d->way != WAY_SILENT)
			note(d, WAY_SILENT, 0, -ENODATA, now);
	}
}

/* A node that TCP does not let in may still be heard. */
static void cry(struct cluster_member *m, double now)
{
	if (now < m->cry_ms || now < m->start_ms + 1500)
		return;
	m->cry_ms = now + 1000;
	for (size_t i = 0; i < m->target_count; i++) {
		const struct dial *d = &m->dial[i * CLUSTER_PORTS];
		struct host_address to = m->target[i].at;
		if (!to.family || d->way == WAY_UNTRIED)
			continue;
		to.port = (uint16_t)m->job->port;
		if (m->cry_fd[i] < 0 && host_udp_probe(&to, &m->cry_fd[i]) < 0)
			continue;
		char text[HOST_ADDRESS_TEXT];
		struct buf b = BUF_MAX(1024);
		size_t start = frame_begin(&b, F_CRY, m->job->token);
		frame_int(&b, T_RANK, m->job->rank);
		frame_text(&b, T_NAME, str_cut(str_of(m->self->name), 200));
		frame_text(&b, T_TARGET, str_cut(str_of(m->target[i].target), 200));
		frame_text(&b, T_ENDPOINT, str_of(host_address_text(&to, text)));
		frame_int(&b, T_STATE, d->way);
		frame_int(&b, T_ERRNO, -d->error);
		frame_int(&b, T_LOOPBACK, m->target[i].loopback);
		frame_end(&b, start);
		host_udp_send(m->cry_fd[i], buf_view(&b), NULL);
		buf_free(&b);
	}
}

static void dial_step(struct cluster_member *m, const struct cluster_waits *w, double now)
{
	for (size_t i = 0; i < m->target_count * CLUSTER_PORTS && !m->joined; i++) {
		struct dial *d = &m->dial[i];
		const struct dial *before = d->port ? d - 1 : NULL;
		if (before && !d->wanted)
			d->wanted = before->way == WAY_REFUSED || before->way == WAY_OTHER || before->way == WAY_SILENT;
		if (before && !d->wanted)
			continue;
		if (d->connected)
			dial_answer(m, d, w, now);
		else if (d->connecting)
			dial_connected(m, d, now);
		else
			dial_again(m, d, now);
	}
	if (!m->joined)
		cry(m, now);
	for (size_t i = 0; i < m->target_count * CLUSTER_PORTS && m->joined; i++)
		if (m->dial[i].connecting || m->dial[i].connected)
			redial(&m->dial[i]);
}

/* -- orders ------------------------------------------------------------------------------------------------------------------ */

static void start_test(struct cluster_member *m, const struct frame_fields *f)
{
	int64_t peer = parse_frame_int(f, T_RANK, -1), mode = parse_frame_int(f, T_MODE, 0), burst_ms = parse_frame_int(f, T_MS, 100);
	struct cluster_endpoint at[2];
	if (peer < 0 || peer > INT32_MAX || m->order_count == TESTS_MAX)
		return;
	for (int i = 0; i < 2; i++)
		cluster_get_endpoint(f, i, &at[i]);
	struct order *o = arena_alloc(m->arena, sizeof *o);
	o->id = parse_frame_int(f, T_TEST, 0);
	o->test = cluster_test_start(m->arena, m->job->token, m->job->rank, m->at[0].mtu, (int)peer, at, (int)mode,
		burst_ms > 0 && burst_ms < 2000 ? (int)burst_ms : 100);
	o->next = m->orders;
	m->orders = o;
	m->order_count++;
}

static void report_test(struct cluster_member *m, const struct order *o)
{
	struct buf *b = &m->control.out;
	const int64_t *value = cluster_test_measures(o->test), *heard = heard_of(m, cluster_test_peer(o->test));
	size_t start = frame_begin(b, F_RESULT, m->job->token);
	frame_int(b, T_TEST, o->id);
	for (int i = 0; i < V_COUNT; i++)
		if (value[i] >= 0 && i != V_HEARD)
			frame_int(b, T_MEASURE + (unsigned)i, value[i]);
	frame_int(b, T_MEASURE + V_HEARD, heard ? *heard : 0);
	frame_end(b, start);
}

static void run_tests(struct cluster_member *m, double now)
{
	for (struct order **p = &m->orders; *p;) {
		struct order *o = *p;
		if (!cluster_test_step(o->test, now)) {
			p = &o->next;
			continue;
		}
		report_test(m, o);
		cluster_test_close(o->test);
		*p = o->next;
		m->order_count--;
	}
}

static void obey(struct cluster_member *m, const struct frame *frame, const struct frame_fields *f)
{
	if (frame->type == F_TEST) {
		start_test(m, f);
	} else if (frame->type == F_PING) {
		size_t start = frame_begin(&m->control.out, F_PONG, m->job->token);
		frame_int(&m->control.out, T_T0, parse_frame_int(f, T_T0, 0));
		frame_int(&m->control.out, T_T1, host_wall_us());
		frame_end(&m->control.out, start);
	} else if (frame->type == F_END) {
		m->done = m->over = true;
	}
}

static void control_step(struct cluster_member *m, const struct cluster_waits *w, double now)
{
	struct frame frame;
	struct frame_fields f;
	cluster_link_step(&m->control, w, now);
	while (!m->over && cluster_link_next(&m->control, m->job->token, &frame, &f))
		obey(m, &frame, &f);
	if (!m->over && (m->control.ended || now > m->control.heard_ms + MASTER_SILENT_MS)) {
		m->lost = m->over = true;
		m->lost_ms = now;
	}
}

/* -- the member --------------------------------------------------------------------------------------------------------------- */

struct cluster_member *cluster_member_new(struct arena *a, const struct cluster_job *job, const struct cluster_self *self, int control,
	const struct cluster_reach *targets, size_t count, double deadline_ms, double join_ms)
{
	struct cluster_member *m = arena_alloc(a, sizeof *m);
	*m = (struct cluster_member){.arena = a,
		.job = job,
		.self = self,
		.deadline_ms = deadline_ms,
		.join_ms = join_ms,
		.start_ms = host_clock_ms(),
		.tcp = {-1, -1},
		.udp = {-1, -1}};
	m->at[0].mtu = m->at[1].mtu = -1;
	m->control = (struct cluster_link){.fd = -1, .ended = true};
	if (self->nccl.at.family)
		listen_at(m, 0, &self->nccl);
	m->target_count = count < TARGETS_MAX ? count : TARGETS_MAX;
	for (size_t i = 0; i < m->target_count; i++) {
		m->target[i] = targets[i];
		m->cry_fd[i] = -1;
	}
	for (size_t i = 0; i < m->target_count * CLUSTER_PORTS; i++)
		m->dial[i] = (struct dial){.target = (int)(i / CLUSTER_PORTS),
			.port = (int)(i % CLUSTER_PORTS),
			.link = {.fd = -1, .ended = true},
			.icmp = -ENODATA,
			.way = m->target[i / CLUSTER_PORTS].way};
	if (control >= 0) { /* rank 0's own: the address that the others use stands in the first target */
		if (count && targets[0].local && targets[0].at.family && !host_address_is_loopback(&targets[0].at)) {
			struct cluster_endpoint e = {.at = targets[0].at, .mtu = -1};
			e.at.port = 0;
			host_interface_of(&e.at, e.interface, &e.mtu);
			if (!m->at[0].at.family)
				listen_at(m, 0, &e);
			else if (!host_address_is_same(&m->at[0].at, &e.at))
				listen_at(m, 1, &e);
		}
		struct dial own = {.link = {0}};
		cluster_link_open(&own.link, control, 65536);
		say_hello(m, &own.link);
		take(m, &own);
	}
	return m;
}

void cluster_member_want(struct cluster_member *m, struct cluster_waits *w)
{
	for (int i = 0; i < 2; i++) {
		m->tcp_place[i] = m->tcp[i] >= 0 ? cluster_waits_add(w, m->tcp[i], true, false) : SIZE_MAX;
		m->udp_place[i] = m->udp[i] >= 0 ? cluster_waits_add(w, m->udp[i], true, false) : SIZE_MAX;
	}
	for (size_t i = 0; i < m->guest_count; i++)
		cluster_link_want(&m->guests[i]->link, w);
	for (struct order *o = m->orders; o; o = o->next)
		cluster_test_want(o->test, w);
	if (m->joined) {
		cluster_link_want(&m->control, w);
		cluster_waits_until(w, m->control.heard_ms + MASTER_SILENT_MS);
		return;
	}
	for (size_t i = 0; i < m->target_count * CLUSTER_PORTS; i++) {
		struct dial *d = &m->dial[i];
		if (d->connected)
			cluster_link_want(&d->link, w);
		else if (d->connecting)
			cluster_waits_add(w, d->link.fd, false, true);
	}
	cluster_waits_until(w, host_clock_ms() + 100);
	cluster_waits_until(w, m->join_ms);
}

bool cluster_member_step(struct cluster_member *m, const struct cluster_waits *w, double now)
{
	if (m->over)
		return true;
	for (int i = 0; i < 2; i++) {
		if (m->udp[i] >= 0 && cluster_waits_ready(w, m->udp_place[i], m->udp[i]))
			datagrams(m, i);
		if (m->tcp[i] >= 0 && cluster_waits_ready(w, m->tcp_place[i], m->tcp[i]))
			let_in(m, i, now);
	}
	for (size_t i = m->guest_count; i-- > 0;)
		if (!serve_guest(m, m->guests[i], w, now))
			drop_guest(m, i);
	run_tests(m, now);
	if (m->joined)
		control_step(m, w, now);
	else
		dial_step(m, w, now);
	if (now >= m->deadline_ms || (!m->joined && now >= m->join_ms))
		m->over = true;
	return m->over;
}

void cluster_member_see_out(struct cluster_member *m, int ms)
{
	double until = host_clock_ms() + ms;
	char chunk[4096];
	ssize_t n = -EAGAIN;
	while (m->control.fd >= 0 && (n > 0 || n == -EAGAIN) && host_clock_ms() < until && !host_signal_caught()) {
		struct host_wait wait = {.fd = m->control.fd, .read = true};
		host_wait(&wait, 1, until - host_clock_ms());
		n = host_receive(m->control.fd, chunk, sizeof chunk);
	}
}

bool cluster_member_is_done(const struct cluster_member *m)
{
	return m->done;
}

bool cluster_member_is_joined(const struct cluster_member *m)
{
	return m->joined;
}

size_t cluster_member_reaches(struct cluster_member *m, const struct cluster_reach **ret)
{
	for (size_t i = 0; i < m->target_count; i++) {
		const struct dial *d = &m->dial[i * CLUSTER_PORTS];
		struct cluster_reach *r = &m->target[i];
		r->node = m->self->name;
		r->rank = m->job->rank;
		if (r->at.family && d->way != WAY_UNTRIED) {
			r->way = m->lost && d->way == WAY_OPEN ? WAY_LOST : d->way;
			r->error = d->error;
			r->icmp = d->icmp;
			r->alike = d->count;
			r->ms = (m->lost ? m->lost_ms : d->way_ms) - m->start_ms;
		}
		r->at.port = (uint16_t)m->job->port;
	}
	*ret = m->target;
	return m->target_count;
}

void cluster_member_close(struct cluster_member *m)
{
	for (struct order *o = m->orders; o; o = o->next)
		cluster_test_close(o->test);
	while (m->guest_count)
		drop_guest(m, m->guest_count - 1);
	for (int i = 0; i < 2; i++) {
		host_socket_close(m->tcp[i]);
		host_socket_close(m->udp[i]);
	}
	for (size_t i = 0; i < m->target_count; i++)
		host_socket_close(m->cry_fd[i]);
	for (size_t i = 0; i < m->target_count * CLUSTER_PORTS; i++)
		if (m->dial[i].link.fd >= 0)
			cluster_link_close(&m->dial[i].link);
	if (m->control.fd >= 0)
		cluster_link_close(&m->control);
}
