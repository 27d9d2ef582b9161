/* The parts of the loop that rank 0 and every other node share: waiting, and connections that carry frames. */
#include <errno.h>

#include "act/cluster.h"

const char *const cluster_way_names[WAY_COUNT] = {"untried", "open", "refused", "dropped", "rejected", "no-route", "self", "other",
	"silent", "unresolved", "lost", "failed", "in-use", "late", "contradicts"};

enum cluster_way cluster_way_of(int error, int icmp)
{
	bool said = icmp >= 0; /* a machine on the way, or the kernel of the other side, answered with ICMP */
	int type = icmp >> 8, code = icmp & 255;
	bool prohibited = said &&
		((type == 3 && (code == 9 || code == 10 || code == 13)) || (type == 1 && (code == 1 || code == 5 || code == 6)));
	switch (-error) {
	case 0: return WAY_OPEN;
	case ECONNREFUSED: /* a closed port answers with a reset; ICMP comes from a filter */ return said ? WAY_REJECTED : WAY_REFUSED;
	case ETIMEDOUT:
	case EINPROGRESS: return prohibited ? WAY_REJECTED : WAY_DROPPED;
	case EACCES:
	case EPERM: return WAY_REJECTED;
	case ENETUNREACH:
	case EHOSTUNREACH:
	case ENETDOWN:
	case EHOSTDOWN: return prohibited ? WAY_REJECTED : WAY_NO_ROUTE;
	default: return WAY_FAILED;
	}
}

/* -- waiting -------------------------------------------------------------------------------------------------------------- */

void cluster_waits_begin(struct cluster_waits *w, double until_ms)
{
	w->count = 0;
	w->until_ms = until_ms;
}

size_t cluster_waits_add(struct cluster_waits *w, int fd, bool read, bool write)
{
	if (w->count == w->cap) {
		size_t cap = w->cap ? w->cap * 2 : 64;
		struct host_wait *fresh = realloc(w->list, cap * sizeof *fresh);
		if (!fresh)
			return SIZE_MAX;
		w->list = fresh;
		w->cap = cap;
	}
	w->list[w->count] = (struct host_wait){.fd = fd, .read = read, .write = write};
	return w->count++;
}

void cluster_waits_until(struct cluster_waits *w, double ms)
{
	if (ms < w->until_ms)
		w->until_ms = ms;
}

bool cluster_waits_ready(const struct cluster_waits *w, size_t place, int fd)
{
	if (place >= w->count || w->list[place].fd != fd)
		return true;
	return w->list[place].can_read || w->list[place].can_write;
}

void cluster_waits_free(struct cluster_waits *w)
{
	free(w->list);
	*w = (struct cluster_waits){0};
}

/* -- links ---------------------------------------------------------------------------------------------------------------- */

void cluster_link_open(struct cluster_link *l, int fd, size_t max_body)
{
	*l = (struct cluster_link){.fd = fd, .place = SIZE_MAX, .max_body = max_body, .heard_ms = host_clock_ms()};
	l->in = BUF_MAX(CLUSTER_FACTS_MAX + FRAME_HEADER + 65536);
	l->out = BUF_MAX(CLUSTER_FACTS_MAX + ((size_t)4 << 20));
}

void cluster_link_close(struct cluster_link *l)
{
	host_socket_close(l->fd);
	buf_free(&l->in);
	buf_free(&l->out);
	l->fd = -1;
	l->ended = true;
}

void cluster_link_want(struct cluster_link *l, struct cluster_waits *w)
{
	if (!l->ended)
		l->place = cluster_waits_add(w, l->fd, true, l->sent < l->out.len);
}

static void flush(struct cluster_link *l)
{
	while (!l->ended && l->sent < l->out.len) {
		ssize_t n = host_send(l->fd, l->out.ptr + l->sent, l->out.len - l->sent);
		if (n == -EAGAIN)
			return;
		if (n < 0)
			l->ended = true;
		else
			l->sent += (size_t)n;
	}
	l->sent = 0;
	buf_reset(&l->out);
}

/* What was taken makes room; a link whose other side sends more than a frame may hold has ended. */
static void make_room(struct cluster_link *l)
{
	if (!l->taken)
		return;
	memmove(l->in.ptr, l->in.ptr + l->taken, l->in.len - l->taken);
	l->in.len -= l->taken;
	l->taken = 0;
}

void cluster_link_step(struct cluster_link *l, const struct cluster_waits *w, double now)
{
	char chunk[65536];
	if (l->ended)
		return;
	if (l->out.truncated)
		l->ended = true;
	flush(l);
	if (!cluster_waits_ready(w, l->place, l->fd))
		return;
	make_room(l);
	while (!l->ended && l->in.len < l->max_body + 65536) {
		ssize_t n = host_receive(l->fd, chunk, sizeof chunk);
		if (n == -EAGAIN)
			return;
		if (n <= 0) {
			l->ended = true;
			return;
		}
		l->heard_ms = now;
		buf_add(&l->in, chunk, (size_t)n);
	}
}

bool cluster_link_next(struct cluster_link *l, uint64_t token, struct frame *ret, struct frame_fields *ret_fields)
{
	struct str rest = str_skip(buf_view(&l->in), l->taken);
	int rc = rest.len ? parse_frame_next(&rest, l->max_body, ret) : 0;
	if (rc > 0) {
		l->taken = l->in.len - rest.len;
		if (ret->token == token && parse_frame_fields(ret->body, ret_fields) == 0)
			return true;
		rc = -EBADMSG;
	}
	if (rc < 0)
		l->ended = l->foreign = true;
	return false;
}

/* -- what several frames hold --------------------------------------------------------------------------------------------- */

#define ENDPOINT_TAGS 6

void cluster_put_endpoint(struct buf *b, int which, const struct cluster_endpoint *e)
{
	char text[HOST_ADDRESS_TEXT];
	unsigned tag = T_ENDPOINT + (unsigned)which * ENDPOINT_TAGS;
	if (!e->at.family)
		return;
	frame_text(b, tag, str_of(host_address_text(&e->at, text)));
	frame_int(b, tag + 1, e->tcp);
	frame_int(b, tag + 2, e->udp);
	frame_text(b, tag + 3, str_of(e->interface));
	frame_int(b, tag + 4, e->mtu);
}

void cluster_get_endpoint(const struct frame_fields *f, int which, struct cluster_endpoint *ret)
{
	unsigned tag = T_ENDPOINT + (unsigned)which * ENDPOINT_TAGS;
	struct str name = parse_frame_text(f, tag + 3);
	int64_t tcp = parse_frame_int(f, tag + 1, 0), udp = parse_frame_int(f, tag + 2, 0), mtu = parse_frame_int(f, tag + 4, -1);
	*ret = (struct cluster_endpoint){.mtu = mtu > 0 && mtu < (1 << 20) ? (int)mtu : -1};
	if (host_address_parse(parse_frame_text(f, tag), &ret->at) < 0)
		return;
	ret->tcp = tcp > 0 && tcp < 65536 ? (uint16_t)tcp : 0;
	ret->udp = udp > 0 && udp < 65536 ? (uint16_t)udp : 0;
	if (name.len < sizeof ret->interface)
		memcpy(ret->interface, name.ptr, name.len);
}

const char *cluster_get_text(struct arena *a, const struct frame_fields *f, unsigned tag, size_t max)
{
	struct str s = str_cut(parse_frame_text(f, tag), max);
	return s.len ? str_dup(a, s) : NULL;
}
