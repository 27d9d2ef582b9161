/* One node tests one other: connections to its dynamic port, and datagrams for reachability, path MTU, loss and round-trip time; or a burst
 * of bytes.
 *
 * Everything that may get lost is tried several times, and an answer that comes late still counts: a machine that is slow for a moment is
 * no broken network.
 */
#include <errno.h>

#include "act/cluster.h"

#define TRIES 5         /* three connections to the first address, two to the second */
#define CONNECT_MS 1400 /* the kernel repeats a lost SYN after 1 s */
#define PATIENT_MS 3800 /* and ARP gives up after 3 s */
#define WELCOME_MS 1500
#define PINGS 5
#define LOSS_SENT 200
#define LOSS_STEP 10 /* datagrams a millisecond */
#define UDP_TRIES 6
#define BURST_MAX ((int64_t)256 << 20)
#define BURST_LEAST 65536
#define STALL_MS 2500
#define BURST_SHARE_MAX 50 /* a network that was busy for less of the time is not known better */

enum udp_stage { UDP_PING, UDP_FULL, UDP_BISECT, UDP_LOSS, UDP_COUNT, UDP_DONE };

struct attempt {
	int fd, which; /* endpoint */
	double at_ms;  /* when to begin */
	bool begun, ended;
};

struct cluster_test {
	struct arena *arena;
	uint64_t token, id;
	int own_rank, own_mtu, peer, mode, burst_ms;
	struct cluster_endpoint to[2];
	int64_t value[V_COUNT];
	double start_ms;

	struct attempt tries[TRIES];
	struct cluster_link peer_link; /* the first connection to the first address */
	bool greeted, tcp_done;
	double connected_ms;
	size_t place;

	int udp;
	enum udp_stage stage;
	int seq, tried, size, low, high, answered;
	double next_ms, sent_ms;
	bool udp_done;

	bool bursting;
	double burst_start_ms, progress_ms;
	int64_t written, acked;
};

static void begin_attempts(struct cluster_test *t)
{
	static const double when[] = {0, 150, 400, 0, 300};
	for (int i = 0; i < TRIES; i++) {
		int which = i < 3 ? 0 : 1;
		t->tries[i] = (struct attempt){.fd = -1,
			.which = which,
			.at_ms = t->start_ms + when[i],
			.ended = t->to[which].at.family == 0 || t->to[which].tcp == 0};
		if (t->mode & MODE_BURST && i > 0)
			t->tries[i].ended = true;
	}
}

struct cluster_test *cluster_test_start(struct arena *a, uint64_t token, int own_rank, int own_mtu, int peer,
	const struct cluster_endpoint peer_at[2], int mode, int burst_ms)
{
	struct cluster_test *t = arena_alloc(a, sizeof *t);
	*t = (struct cluster_test){.arena = a,
		.token = token,
		.id = host_random() >> 1,
		.own_rank = own_rank,
		.own_mtu = own_mtu,
		.peer = peer,
		.mode = mode,
		.burst_ms = burst_ms,
		.udp = -1};
	memcpy(t->to, peer_at, sizeof t->to);
	for (int i = 0; i < V_COUNT; i++)
		t->value[i] = -1;
	t->peer_link.fd = -1;
	t->peer_link.ended = true;
	t->start_ms = host_clock_ms();
	begin_attempts(t);
	struct host_address at = t->to[0].at;
	at.port = t->to[0].udp;
	t->udp_done = mode & MODE_BURST || !at.family || !at.port || host_udp_probe(&at, &t->udp) < 0;
	if (!at.family || !t->to[0].tcp)
		t->tcp_done = true;
	return t;
}

const int64_t *cluster_test_measures(const struct cluster_test *t)
{
	return t->value;
}

int cluster_test_peer(const struct cluster_test *t)
{
	return t->peer;
}

void cluster_test_close(struct cluster_test *t)
{
	for (int i = 0; i < TRIES; i++)
		host_socket_close(t->tries[i].fd);
	if (t->peer_link.fd >= 0) {
		host_socket_abort(t->peer_link.fd);
		t->peer_link.fd = -1;
		cluster_link_close(&t->peer_link);
	}
	host_socket_close(t->udp);
}

void cluster_test_want(struct cluster_test *t, struct cluster_waits *w)
{
	double now = host_clock_ms();
	for (int i = 0; i < TRIES; i++) {
		struct attempt *a = &t->tries[i];
		if (!a->ended && a->begun)
			cluster_waits_add(w, a->fd, false, true);
		else if (!a->ended)
			cluster_waits_until(w, a->at_ms);
	}
	if (!t->peer_link.ended)
		t->place = cluster_waits_add(w, t->peer_link.fd, true, t->bursting || t->peer_link.out.len > 0);
	if (!t->udp_done) {
		cluster_waits_add(w, t->udp, true, false);
		cluster_waits_until(w, t->next_ms);
	}
	cluster_waits_until(w, now + (t->bursting ? 20 : 50));
}

/* -- TCP ------------------------------------------------------------------------------------------------------------------ */

static void settle(struct cluster_test *t, int which, enum cluster_way way, int error, int icmp)
{
	enum cluster_measure v = which ? V_TCP2 : V_TCP;
	if (t->value[v] == WAY_OPEN)
		return;
	t->value[v] = way;
	if (which == 0) {
		t->value[V_ERRNO] = -error;
		t->value[V_ICMP] = icmp >= 0 ? icmp : -1;
	}
}

static void greet(struct cluster_test *t, struct attempt *a, double now)
{
	cluster_link_open(&t->peer_link, a->fd, 65536);
	a->fd = -1;
	if (t->value[V_CONNECT_US] < 0)
		t->value[V_CONNECT_US] = (int64_t)((now - a->at_ms) * 1000);
	size_t start = frame_begin(&t->peer_link.out, F_PEER, t->token);
	frame_int(&t->peer_link.out, T_RANK, t->own_rank);
	frame_int(&t->peer_link.out, T_MODE, t->mode);
	frame_end(&t->peer_link.out, start);
	t->connected_ms = now;
}

static void attempt_step(struct cluster_test *t, struct attempt *a, double now)
{
	double limit = t->start_ms + (t->mode & MODE_PATIENT ? PATIENT_MS : CONNECT_MS);
	int rc = -EINPROGRESS, icmp = -ENODATA;
	bool settled = t->value[a->which ? V_TCP2 : V_TCP] == WAY_OPEN || (a->which == 0 && t->peer_link.fd >= 0);
	if (a->ended || (!a->begun && now < a->at_ms && !settled))
		return;
	if (!a->begun && !settled) {
		struct host_address at = t->to[a->which].at;
		at.port = t->to[a->which].tcp;
		a->begun = true;
		a->at_ms = now;
		rc = host_tcp_connect(&at, 0, &a->fd);
	}
	if (a->fd >= 0) {
		rc = host_tcp_connected(a->fd);
		if (rc < 0 && rc != -EINPROGRESS)
			icmp = host_socket_icmp(a->fd);
		if (rc == 0 && host_tcp_is_self(a->fd))
			rc = -ECONNREFUSED;
	}
	if (rc == -EINPROGRESS && now < limit && !settled)
		return;
	a->ended = true;
	if (rc == 0 && a->which == 0 && t->peer_link.fd < 0)
		greet(t, a, now);
	else if (!settled && !(a->which == 0 && rc == 0))
		settle(t, a->which, cluster_way_of(rc, rc == -EINPROGRESS && a->fd >= 0 ? host_socket_icmp(a->fd) : icmp), rc, icmp);
	host_socket_close(a->fd);
	a->fd = -1;
}

/* The other side says who it is: with the same address on several machines it may be somebody else, or we ourselves. */
static void welcome(struct cluster_test *t, double now)
{
	struct frame frame;
	struct frame_fields f;
	if (t->greeted || t->peer_link.fd < 0 || t->tcp_done)
		return;
	cluster_link_step(&t->peer_link, &(struct cluster_waits){0}, now);
	if (cluster_link_next(&t->peer_link, t->token, &frame, &f) && frame.type == F_PEER_OK) {
		int64_t rank = parse_frame_int(&f, T_RANK, -1);
		t->greeted = true;
		t->value[V_ANSWERED_BY] = rank;
		settle(t, 0, rank == t->peer ? WAY_OPEN : rank == t->own_rank ? WAY_SELF : WAY_OTHER, 0, -ENODATA);
	} else if (t->peer_link.foreign) {
		settle(t, 0, WAY_OTHER, 0, -ENODATA);
	} else if (t->peer_link.ended || now > t->connected_ms + WELCOME_MS) {
		settle(t, 0, WAY_SILENT, 0, -ENODATA);
	}
}

static void tcp_step(struct cluster_test *t, double now)
{
	bool all = true;
	for (int i = 0; i < TRIES; i++) {
		attempt_step(t, &t->tries[i], now);
		all &= t->tries[i].ended;
	}
	welcome(t, now);
	t->tcp_done = all && (t->peer_link.fd < 0 || t->value[V_TCP] >= 0);
}

/* -- UDP ------------------------------------------------------------------------------------------------------------------ */

static int headers(const struct cluster_test *t)
{
	return t->to[0].at.family == 6 ? 48 : 28;
}

/* One datagram of `size` bytes on the wire; 0: as small as it is. */
static int datagram(struct cluster_test *t, enum cluster_frame type, int size)
{
	static const char zeros[65536];
	struct buf b = BUF_MAX(70000);
	size_t start = frame_begin(&b, (uint8_t)type, t->token);
	frame_int(&b, T_RANK, t->own_rank);
	frame_int(&b, T_TEST, (int64_t)t->id);
	frame_int(&b, T_SEQ, t->seq);
	frame_int(&b, T_BYTES, size);
	frame_end(&b, start);
	if (size - headers(t) > (int)b.len)
		buf_add(&b, zeros, (size_t)(size - headers(t)) - b.len);
	t->sent_ms = host_clock_ms();
	ssize_t rc = host_udp_send(t->udp, buf_view(&b), NULL);
	buf_free(&b);
	if (rc == -EPERM)
		t->value[V_UDP_ERRNO] = EPERM;
	return rc < 0 ? (int)rc : 0;
}

static double patience(const struct cluster_test *t, int tried)
{
	double rtt_ms = t->value[V_RTT_US] > 0 ? (double)t->value[V_RTT_US] / 1000 : 0, wait = 15 << (tried > 5 ? 5 : tried);
	return wait + 4 * rtt_ms;
}

static void enter(struct cluster_test *t, enum udp_stage stage, double now)
{
	t->stage = stage;
	t->tried = 0;
	t->next_ms = now;
}

static void next_size(struct cluster_test *t, double now)
{
	if (t->high - t->low <= 1) {
		t->value[V_MTU_PATH] = t->low;
		enter(t, UDP_LOSS, now);
		return;
	}
	/* What networks usually have comes first. */
	static const int usual[] = {1500, 1450, 1400, 1280, 8192, 4096};
	t->size = (t->low + t->high) / 2;
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
		for (int one = 0; one < 2; one++) {
			if (usual[i] + one > t->low && usual[i] + one < t->high && t->answered < 12) {
				t->size = usual[i] + one;
				t->answered++;
				enter(t, UDP_BISECT, now);
				return;
			}
		}
	}
	enter(t, UDP_BISECT, now);
}

static void passed(struct cluster_test *t, int size, double now)
{
	if (size > t->low)
		t->low = size;
	if (t->stage == UDP_FULL && size >= t->high) {
		t->value[V_MTU_PATH] = t->high;
		enter(t, UDP_LOSS, now);
	} else if (t->stage == UDP_BISECT && size >= t->size) {
		next_size(t, now);
	}
}

static void pinged(struct cluster_test *t, int64_t seq, double now)
{
	int64_t us = (int64_t)((host_clock_ms() - t->sent_ms) * 1000);
	t->value[V_UDP] = 1;
	if (seq == t->seq && (t->value[V_RTT_US] < 0 || us < t->value[V_RTT_US]))
		t->value[V_RTT_US] = us > 0 ? us : 1;
	if (t->stage != UDP_PING || seq != t->seq)
		return;
	if (++t->answered < PINGS) {
		enter(t, UDP_PING, now);
		return;
	}
	t->answered = 0;
	t->low = t->to[0].at.family == 6 ? 1280 : 576;
	t->high = (int)t->value[V_MTU_WANTED];
	enter(t, t->high > t->low ? UDP_FULL : UDP_LOSS, now);
}

static void udp_heard(struct cluster_test *t, double now)
{
	char data[2048];
	ssize_t n;
	for (int i = 0; i < 64 && (n = host_udp_receive(t->udp, data, sizeof data, NULL)) != -EAGAIN; i++) {
		struct str rest = str_n(data, n > 0 ? (size_t)n : 0);
		struct frame frame;
		struct frame_fields f;
		if (n <= 0 || parse_frame_next(&rest, sizeof data, &frame) <= 0 || frame.token != t->token ||
			parse_frame_fields(frame.body, &f) < 0 || parse_frame_int(&f, T_TEST, 0) != (int64_t)t->id ||
			parse_frame_int(&f, T_RANK, -1) != t->peer)
			continue;
		int64_t seq = parse_frame_int(&f, T_SEQ, -1), bytes = parse_frame_int(&f, T_BYTES, 0);
		if (frame.type == F_PROBE_OK && bytes == 0)
			pinged(t, seq, now);
		else if (frame.type == F_PROBE_OK && bytes <= 65535)
			passed(t, (int)bytes, now);
		else if (frame.type == F_COUNTED && t->stage == UDP_COUNT && bytes >= 0 && bytes <= LOSS_SENT) {
			t->value[V_SENT] = LOSS_SENT;
			t->value[V_LOST] = LOSS_SENT - bytes;
			enter(t, UDP_DONE, now);
		}
	}
	int mtu = host_udp_frag_needed(t->udp);
	if (mtu > 0)
		t->value[V_MTU_ICMP] = mtu;
}

static void probe_size(struct cluster_test *t, double now)
{
	int tries = t->stage == UDP_FULL ? UDP_TRIES : 4;
	if (t->tried == tries) {
		if (t->size < t->high)
			t->high = t->size;
		next_size(t, now);
		return;
	}
	t->seq++;
	if (datagram(t, F_PROBE, t->size) == -EMSGSIZE)
		t->tried = tries - 1; /* the interface itself is smaller */
	t->next_ms = now + patience(t, t->stage == UDP_FULL ? t->tried : t->tried / 2);
	t->tried++;
}

static void udp_step(struct cluster_test *t, double now)
{
	udp_heard(t, now);
	if (now < t->next_ms)
		return;
	switch (t->stage) {
	case UDP_PING:
		if (t->tried == 7 || now > t->start_ms + PATIENT_MS) {
			if (t->value[V_UDP] < 0)
				t->value[V_UDP] = 0;
			enter(t, UDP_DONE, now);
			break;
		}
		t->seq++;
		datagram(t, F_PROBE, 0);
		t->next_ms = now + patience(t, t->tried++);
		break;
	case UDP_FULL:
		t->size = t->high;
		probe_size(t, now);
		break;
	case UDP_BISECT: probe_size(t, now); break;
	case UDP_LOSS:
		if (t->tried >= LOSS_SENT) {
			enter(t, UDP_COUNT, now);
			break;
		}
		for (int i = 0; i < LOSS_STEP; i++, t->tried++)
			datagram(t, F_LOSS, 0);
		t->next_ms = now + 1;
		break;
	case UDP_COUNT:
		if (t->tried == UDP_TRIES + 2) {
			enter(t, UDP_DONE, now);
			break;
		}
		datagram(t, F_COUNT, 0);
		t->next_ms = now + patience(t, t->tried++);
		break;
	case UDP_DONE: t->udp_done = true; break;
	}
}

/* -- burst ---------------------------------------------------------------------------------------------------------------- */

/* How long the network was what all waited for: not while we had no processor to write more, nor while the other side had none to read. */
static double network_ms(const struct host_tcp *info, double took)
{
	double ms = (double)(info->busy_us - info->full_us) / 1000;
	return info->busy_us <= 0 || ms > took ? took : ms < took / BURST_SHARE_MAX ? took / BURST_SHARE_MAX : ms;
}

static bool burst_over(struct cluster_test *t, double now)
{
	struct host_tcp info;
	double took = now - t->burst_start_ms;
	if (host_tcp_info(t->peer_link.fd, &info) < 0)
		return true;
	if (info.bytes_acked > t->acked) {
		t->acked = info.bytes_acked;
		t->progress_ms = now;
	}
	t->value[V_BYTES] = t->acked;
	t->value[V_RETRANS] = info.total_retrans;
	t->value[V_SEGMENTS] = info.segments_out;
	t->value[V_SND_MSS] = info.snd_mss;
	/* Sent, sent again, and nothing comes back, though the connection stands: that is not slowness. */
	bool stuck = now - t->progress_ms > 1200 && info.retransmits >= 2 && info.unacked > 0;
	t->value[V_STALLED] = stuck;
	if (took < t->burst_ms || (t->acked < BURST_LEAST && !stuck && took < STALL_MS))
		return false;
	if (t->acked >= BURST_LEAST || took >= STALL_MS)
		t->value[V_KBPS] = (int64_t)((double)t->acked * 8 / network_ms(&info, took));
	if (t->value[V_RTT_US] < 0)
		t->value[V_RTT_US] = info.rtt_us;
	return true;
}

static bool burst_step(struct cluster_test *t, double now)
{
	static const char zeros[262144];
	if (!t->bursting) {
		if (t->value[V_TCP] != WAY_OPEN)
			return true;
		t->bursting = true;
		t->burst_start_ms = t->progress_ms = now;
	}
	for (int i = 0; i < 16 && t->written < BURST_MAX && now - t->burst_start_ms < t->burst_ms; i++) {
		ssize_t n = host_send(t->peer_link.fd, zeros, sizeof zeros);
		if (n == -EAGAIN)
			break;
		if (n < 0)
			return true;
		t->written += n;
	}
	return burst_over(t, now);
}

bool cluster_test_step(struct cluster_test *t, double now)
{
	if (t->value[V_MTU_WANTED] < 0) {
		int mtu = t->own_mtu > 0 && t->to[0].mtu > 0 ? (t->own_mtu < t->to[0].mtu ? t->own_mtu : t->to[0].mtu) : 1500;
		t->value[V_MTU_WANTED] = mtu > 65500 ? 65500 : mtu;
	}
	if (!t->tcp_done)
		tcp_step(t, now);
	if (!t->udp_done)
		udp_step(t, now);
	if (!t->tcp_done || !t->udp_done)
		return false;
	return !(t->mode & MODE_BURST) || burst_step(t, now);
}
