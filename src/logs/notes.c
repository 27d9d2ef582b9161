#include "logs/notes.h"

#include <ctype.h>
#include <math.h>

enum {
	VIA_P2P,
	VIA_SHM,
	VIA_NET,
	VIA_DIRECT,
	VIA_COLLNET,
	NRANKS,
	VERSION,
	NETWORK,
	USING,
	BOOTSTRAP,
	WORK,
	ENQUEUED,
	NVLS,
	DESTROY,
	PLUGIN,
	INIT_START,
	INIT_DONE,
	FAILURE,
	GDR,
	GRAPH,
	NODES
};

const char *const notes_triggers[NOTES_TRIGGERS] = {
	[VIA_P2P] = "] via P2P",
	[VIA_SHM] = "] via SHM",
	[VIA_NET] = "] via NET",
	[VIA_DIRECT] = "] via direct shared",
	[VIA_COLLNET] = "via COLLNET",
	[NRANKS] = " nranks ",
	[VERSION] = "NCCL version ",
	[NETWORK] = "Using network ",
	[USING] = " : Using [",
	[BOOTSTRAP] = "Bootstrap",
	[WORK] = "WorkNCCL(",
	[ENQUEUED] = "last enqueued ",
	[NVLS] = "NVLS multicast support is available",
	[DESTROY] = "Destroy COMPLETE",
	[PLUGIN] = "NET/Plugin: Loaded net plugin ",
	[INIT_START] = " - Init START",
	[INIT_DONE] = "Init COMPLETE",
	[FAILURE] = "work sequence id: ",
	[GDR] = "GPU Direct RDMA ",
	[GRAPH] = ", sameChannels ",
	[NODES] = " nNodes ",
};

const char *const logs_transport_names[TRANSPORT_COUNT] = {"P2P", "SHM", "NET/IB", "NET/Socket", "NET", "NVLS", "COLLNET"};

const char *const logs_path_names[PATH_COUNT] = {NULL, "LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"};

#define RANKS_MAX 65536
#define WAITS_MAX 40000
#define PROCESSES_MAX 65536
#define NRANKS_ACTOR 0 /* the rank that an actor itself named, not one of a communicator */

void notes_init(struct notes *n, struct arena *a)
{
	memset(n, 0, sizeof(*n));
	n->arena = a;
	n->budget = 200000;
}

/* -- what NCCL chose ----------------------------------------------------------------------------------------------------- */

/* "] via NET/IB/0/GDRDMA": in the same word as the network's device. */
static bool ends_with_gdr(struct str rest)
{
	size_t i = 9;
	for (; i < rest.len && rest.ptr[i] >= ' '; i++)
		if (rest.ptr[i] == 'G' && str_starts(str_skip(rest, i), "GDRDMA"))
			return true;
	return false;
}

bool notes_glance(struct notes *n, unsigned trigger, const char *at, const char *end)
{
	struct str rest = str_n(at, (size_t)(end - at < 80 ? end - at : 80));
	switch (trigger) {
	case VIA_P2P: n->nccl.transport[TRANSPORT_P2P]++; return true;
	case VIA_SHM:
	case VIA_DIRECT: n->nccl.transport[TRANSPORT_SHM]++; return true;
	case VIA_NET:
		if (str_starts(rest, "] via NET/IB"))
			n->nccl.transport[TRANSPORT_IB]++;
		else if (str_starts(rest, "] via NET/Socket"))
			n->nccl.transport[TRANSPORT_SOCKET]++;
		else
			n->nccl.transport[TRANSPORT_NET]++;
		n->nccl.gdr += ends_with_gdr(rest);
		return true;
	case VIA_COLLNET: n->nccl.transport[TRANSPORT_COLLNET]++; return true;
	case NVLS: n->nccl.transport[TRANSPORT_NVLS]++; return true;
	case GDR:
		n->nccl.gdr_on += str_has(rest, "RDMA Enabled for ");
		n->nccl.gdr_off += str_has(rest, "RDMA Disabled for ");
		return true;
	case INIT_START: n->nccl.init_start++; return true;
	case INIT_DONE: n->nccl.init_complete++; return true;
	case DESTROY: n->nccl.destroyed++; return true;
	default:
		if (n->budget == 0)
			return true;
		n->budget--;
		return false;
	}
}

static bool number_after(struct str s, const char *key, int64_t *ret)
{
	size_t at = str_find(s, key, 0);
	if (at == SIZE_MAX)
		return false;
	struct str rest = str_skip(s, at + strlen(key));
	while (rest.len && (rest.ptr[0] == ' ' || rest.ptr[0] == '='))
		rest = str_skip(rest, 1);
	size_t k = rest.len && rest.ptr[0] == '-';
	while (k < rest.len && k < 18 && isdigit((unsigned char)rest.ptr[k]))
		k++;
	return k && str_to_int(str_slice(rest, 0, k), ret) == 0;
}

static struct str word_after(struct str s, const char *key)
{
	size_t at = str_find(s, key, 0), k = 0;
	if (at == SIZE_MAX)
		return STR("");
	struct str rest = str_skip(s, at + strlen(key));
	while (k < rest.len && k < 120 && !strchr(" ,;)\r\n", rest.ptr[k]) && (unsigned char)rest.ptr[k] < 0x80)
		k++;
	return str_slice(rest, 0, k);
}

static const char *keep(struct notes *n, struct str s, size_t max)
{
	return s.len ? str_dup(n->arena, str_slice(s, 0, max)) : NULL;
}

static void note_version(struct notes *n, struct str s, unsigned file, size_t line)
{
	struct str v = word_after(s, "NCCL version ");
	struct logs_nccl *c = &n->nccl;
	if (!v.len || !isdigit((unsigned char)v.ptr[0]) || !str_find_char(v, '.', 0))
		return;
	for (unsigned i = 0; i < c->version_count; i++)
		if (str_is(v, c->version[i]))
			return;
	if (c->version_count == 4)
		return;
	if (c->version_count == 0) {
		c->file = file;
		c->line = line;
	}
	c->version[c->version_count++] = keep(n, v, 60);
}

static struct notes_process *find_process(const struct notes *n, struct str host, int64_t pid)
{
	for (size_t i = n->process_count; i-- > 0 && n->process_count - i < 600;)
		if (n->process[i].pid == pid && str_is(host, n->process[i].host))
			return &n->process[i];
	return NULL;
}

static void add_process(struct notes *n, const struct prefix *p, int64_t rank, int64_t nranks)
{
	if (n->process_count >= PROCESSES_MAX)
		return;
	n->process = arena_grow(n->arena, n->process, n->process_count, &n->process_cap, sizeof(*n->process));
	n->process[n->process_count++] = (struct notes_process){
		.host = keep(n, p->host, 255), .pid = p->pid, .rank = rank, .nranks = nranks};
}

/* An actor that named its rank on one of its lines speaks for it on the others; one that names several speaks for none. */
static void note_actor(struct notes *n, const struct prefix *p)
{
	struct notes_process *known = find_process(n, p->host, p->pid);
	if (!known)
		add_process(n, p, p->rank, NRANKS_ACTOR);
	else if (known->nranks == NRANKS_ACTOR && known->rank != p->rank)
		known->rank = PREFIX_UNSET;
}

/* comm 0x.. rank R nranks N cudaDev D: of the largest communicator of a process the rank is the global one. */
static void note_process(struct notes *n, const struct prefix *p, struct str s)
{
	int64_t rank, nranks;
	if (!number_after(s, " rank ", &rank) || !number_after(s, " nranks ", &nranks) || nranks < 1 || rank < 0 || rank >= nranks)
		return;
	if (nranks > n->nccl.nranks_max)
		n->nccl.nranks_max = nranks;
	if (p->source != PREFIX_NCCL)
		return;
	struct notes_process *known = find_process(n, p->host, p->pid);
	if (!known) {
		add_process(n, p, rank, nranks);
	} else if (nranks > known->nranks) {
		known->rank = rank;
		known->nranks = nranks;
	}
}

int64_t notes_rank_of(const struct notes *n, const char *host, int64_t pid)
{
	if (!host || pid < 0)
		return PREFIX_UNSET;
	for (size_t i = 0; i < n->process_count; i++)
		if (n->process[i].pid == pid && strcmp(host, n->process[i].host) == 0)
			return n->process[i].nranks == n->nccl.nranks_max || n->process[i].nranks == NRANKS_ACTOR ? n->process[i].rank
														  : PREFIX_UNSET;
	return PREFIX_UNSET;
}

static enum logs_path path_of(struct str s)
{
	for (int i = 1; i < PATH_COUNT; i++)
		if (str_is(s, logs_path_names[i]))
			return (enum logs_path)i;
	return PATH_UNKNOWN;
}

/* Pattern 4, crossNic 0, nChannels 2, bw 10.0/10.0, type PHB/SYS, sameChannels 1 */
static void note_graph(struct notes *n, struct str s)
{
	int64_t channels;
	if (!number_after(s, "nChannels ", &channels) || channels < 1)
		return;
	struct str type = word_after(s, " type ");
	size_t slash = str_find_char(type, '/', 0);
	enum logs_path gpus = path_of(str_slice(type, 0, slash)),
		       nic = slash == SIZE_MAX ? PATH_UNKNOWN : path_of(str_skip(type, slash + 1));
	if (gpus > n->nccl.path)
		n->nccl.path = gpus;
	if (nic > n->nccl.nic_path)
		n->nccl.nic_path = nic;
}

/* -- watchdog lines ------------------------------------------------------------------------------------------------------ */

static bool same_group(const char *a, struct str b)
{
	return a ? str_is(b, a) : b.len == 0;
}

/* The wait of this rank in this group that later lines add to: the newest. */
static struct logs_wait *find_wait(struct notes *n, const struct prefix *p, bool any_group)
{
	for (size_t i = n->wait_count; i-- > 0 && n->wait_count - i < 5000;) {
		struct logs_wait *w = n->wait[i];
		bool who = p->rank >= 0
			? w->rank == p->rank
			: (w->rank < 0 && w->group_rank == p->group_rank && w->number == p->number && w->local_rank == p->local_rank);
		if (who && (any_group || same_group(w->group, p->group)))
			return w;
	}
	return NULL;
}

static struct logs_wait *new_wait(struct notes *n, const struct prefix *p, unsigned file, size_t number)
{
	if (n->wait_count >= WAITS_MAX)
		return NULL;
	struct logs_wait *w = arena_alloc(n->arena, sizeof(*w));
	w->rank = p->rank;
	w->group_rank = p->group_rank;
	w->local_rank = p->local_rank;
	w->number = p->number;
	w->host = keep(n, p->host, 255);
	w->group = keep(n, p->group, 100);
	w->group_desc = keep(n, p->group_desc, 100);
	w->seq = w->numel_in = w->numel_out = w->timeout_ms = w->ran_ms = w->last_enqueued = w->last_completed = PREFIX_UNSET;
	w->file = file;
	w->line = number;
	w->time = p->time;
	n->wait = arena_grow(n->arena, n->wait, n->wait_count, &n->wait_cap, sizeof(struct logs_wait *));
	n->wait[n->wait_count++] = w;
	return w;
}

/* WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds before timing out. */
static void note_work(struct notes *n, const struct prefix *p, struct str s, unsigned file, size_t number)
{
	int64_t seq = PREFIX_UNSET;
	struct str op = word_after(s, "OpType=");
	if (!str_has(s, " timeout: ") && !str_has(s, "timed out") && !str_has(s, "timing out"))
		return;
	if (!op.len || !number_after(s, "SeqNum", &seq))
		return;
	struct logs_wait *w = find_wait(n, p, true);
	if (w && w->seq == seq && w->op && str_is(op, w->op)) { /* the same, said again: the exception repeats it */
		if (!w->group && p->group.len)
			w->group = keep(n, p->group, 100);
		return;
	}
	w = new_wait(n, p, file, number);
	if (!w)
		return;
	w->seq = seq;
	w->op = keep(n, op, 60);
	number_after(s, "NumelIn", &w->numel_in);
	number_after(s, "NumelOut", &w->numel_out);
	number_after(s, "Timeout(ms)", &w->timeout_ms);
	number_after(s, "ran for ", &w->ran_ms);
	size_t at = str_find(s, "TensorShape=", 0);
	if (at != SIZE_MAX)
		w->size = keep(n, word_after(str_skip(s, at), "TensorShape="), 100);
	else if (w->numel_in >= 0)
		w->size = arena_printf(n->arena, "%lld/%lld", (long long)w->numel_in, (long long)w->numel_out);
}

/* ... last enqueued work: 121, last completed work: 119; ... at work sequence id: 120 */
static void note_progress(struct notes *n, const struct prefix *p, struct str s, unsigned file, size_t number)
{
	int64_t enqueued = PREFIX_UNSET, completed = PREFIX_UNSET, seq = PREFIX_UNSET;
	if (!number_after(s, "last enqueued NCCL work:", &enqueued) && !number_after(s, "last enqueued work:", &enqueued))
		return;
	if (!number_after(s, "last completed NCCL work:", &completed))
		number_after(s, "last completed work:", &completed);
	if (!number_after(s, "work sequence id:", &seq))
		number_after(s, "detected by watchdog at work:", &seq);
	struct logs_wait *w = find_wait(n, p, true);
	if (!w || (w->group && p->group.len && !same_group(w->group, p->group)))
		w = new_wait(n, p, file, number);
	if (!w)
		return;
	if (!w->group && p->group.len) {
		w->group = keep(n, p->group, 100);
		w->group_desc = keep(n, p->group_desc, 100);
	}
	if (w->group_rank < 0)
		w->group_rank = p->group_rank;
	w->last_enqueued = enqueued;
	w->last_completed = completed;
	if (w->seq < 0)
		w->seq = seq;
}

void notes_line(struct notes *n, unsigned trigger, const struct prefix *p, struct str line, unsigned file, size_t number)
{
	struct str s = p->message.len ? p->message : line, v;
	struct logs_nccl *c = &n->nccl;
	switch (trigger) {
	case NRANKS: note_process(n, p, s); return;
	case VERSION: note_version(n, line, file, number); return;
	case NETWORK:
		v = str_trim(str_skip(s, str_find(s, "Using network ", 0) + 14));
		if (p->source == PREFIX_NCCL && v.len)
			c->network = keep(n, v, 60);
		return;
	case USING:
		v = str_trim(str_skip(s, str_find(s, "Using", 0) + 5));
		if (p->source == PREFIX_NCCL && str_starts(s, "NET/IB") && !c->ib_devices)
			c->ib_devices = keep(n, str_trim(str_slice(v, 0, str_find_char(v, ';', 0))), 200);
		if (p->source == PREFIX_NCCL && str_starts(s, "NET/Socket") && !c->socket_devices)
			c->socket_devices = keep(n, v, 200);
		return;
	case GRAPH: note_graph(n, s); return;
	case NODES: {
		int64_t nodes;
		if (p->source == PREFIX_NCCL && number_after(s, " nNodes ", &nodes) && nodes > c->nodes_max)
			c->nodes_max = nodes;
		return;
	}
	case BOOTSTRAP:
		v = word_after(s, "Using ");
		if (p->source == PREFIX_NCCL && !c->bootstrap)
			c->bootstrap = keep(n, v, 100);
		return;
	case PLUGIN:
		v = str_skip(s, str_find(s, "Loaded net plugin ", 0) + 18);
		c->plugin = keep(n, str_trim(str_slice(v, 0, str_find_char(v, '(', 0))), 60);
		return;
	case WORK: note_work(n, p, s, file, number); return;
	case ENQUEUED:
	case FAILURE: note_progress(n, p, s, file, number); return;
	default: return;
	}
}

/* -- voices -------------------------------------------------------------------------------------------------------------- */

static struct logs_rank *rank_of(struct notes *n, int64_t rank)
{
	for (size_t i = n->rank_count; i-- > 0;) /* the last is the most likely: files of one rank, and few ranks otherwise */
		if (n->rank[i]->rank == rank)
			return n->rank[i];
	if (n->rank_count >= RANKS_MAX)
		return NULL;
	struct logs_rank *r = arena_alloc(n->arena, sizeof(*r));
	r->rank = rank;
	r->pid = PREFIX_UNSET;
	r->first_time = r->last_time = NAN;
	n->rank = arena_grow(n->arena, n->rank, n->rank_count, &n->rank_cap, sizeof(struct logs_rank *));
	n->rank[n->rank_count++] = r;
	return r;
}

static void note_host(struct notes *n, struct str host)
{
	if (host.len == 0 || n->host_count >= 8192)
		return;
	for (size_t i = n->host_count; i-- > 0;)
		if (str_is(host, n->host[i]))
			return;
	n->host = arena_grow(n->arena, n->host, n->host_count, &n->host_cap, sizeof(*n->host));
	n->host[n->host_count++] = keep(n, host, 255);
}

#define WORDS_MAX 200

void notes_voice(struct notes *n, const struct prefix *p, unsigned file, size_t number)
{
	note_host(n, p->host);
	int64_t who = p->rank >= 0 ? p->rank : p->number;
	if (p->actor && p->rank >= 0)
		note_actor(n, p);
	if (who < 0 && (p->source == PREFIX_NCCL || p->actor)) {
		char host[256];
		size_t k = p->host.len < 255 ? p->host.len : 255;
		memcpy(host, p->host.ptr, k);
		host[k] = 0;
		who = notes_rank_of(n, host, p->pid);
	}
	if (who < 0)
		return;
	struct logs_rank *r = rank_of(n, who);
	if (!r)
		return;
	if (r->lines++ == 0) {
		r->file = file;
		r->first_line = number;
		r->first_time = p->time;
	}
	r->last_line = number;
	if (!isnan(p->time))
		r->last_time = p->time;
	if (p->host.len && (!r->host || !str_is(p->host, r->host)))
		r->host = keep(n, p->host, 255);
	if (p->pid >= 0 && p->source == PREFIX_NCCL)
		r->pid = p->pid;
	struct str words = str_slice(str_trim(p->message), 0, WORDS_MAX - 1);
	if (words.len == 0)
		return;
	char *text = r->last_text ? (char *)r->last_text : arena_alloc(n->arena, WORDS_MAX);
	memcpy(text, words.ptr, words.len);
	text[words.len] = 0;
	r->last_text = text;
}

/* -- the whole ------------------------------------------------------------------------------------------------------------ */

static void merge_nccl(struct notes *into, const struct logs_nccl *b)
{
	struct logs_nccl *a = &into->nccl;
	struct arena *arena = into->arena;
	for (unsigned i = 0; i < b->version_count; i++) {
		bool have = false;
		for (unsigned k = 0; k < a->version_count; k++)
			have |= strcmp(a->version[k], b->version[i]) == 0;
		if (have || a->version_count == 4)
			continue;
		if (a->version_count == 0) {
			a->file = b->file;
			a->line = b->line;
		}
		a->version[a->version_count++] = arena_strdup(arena, b->version[i]);
	}
	a->network = a->network || !b->network ? a->network : arena_strdup(arena, b->network);
	a->ib_devices = a->ib_devices || !b->ib_devices ? a->ib_devices : arena_strdup(arena, b->ib_devices);
	a->socket_devices = a->socket_devices || !b->socket_devices ? a->socket_devices : arena_strdup(arena, b->socket_devices);
	a->bootstrap = a->bootstrap || !b->bootstrap ? a->bootstrap : arena_strdup(arena, b->bootstrap);
	a->plugin = a->plugin || !b->plugin ? a->plugin : arena_strdup(arena, b->plugin);
	for (int i = 0; i < TRANSPORT_COUNT; i++)
		a->transport[i] += b->transport[i];
	a->gdr += b->gdr;
	a->init_start += b->init_start;
	a->init_complete += b->init_complete;
	a->destroyed += b->destroyed;
	a->gdr_on += b->gdr_on;
	a->gdr_off += b->gdr_off;
	a->path = b->path > a->path ? b->path : a->path;
	a->nic_path = b->nic_path > a->nic_path ? b->nic_path : a->nic_path;
	a->nodes_max = b->nodes_max > a->nodes_max ? b->nodes_max : a->nodes_max;
	if (b->nranks_max > a->nranks_max)
		a->nranks_max = b->nranks_max;
}

static const char *copy(struct notes *n, const char *s)
{
	return s ? arena_strdup(n->arena, s) : NULL;
}

static void merge_rank(struct notes *into, const struct logs_rank *b)
{
	struct logs_rank *r = rank_of(into, b->rank);
	if (!r)
		return;
	if (r->lines == 0) {
		r->file = b->file;
		r->first_line = b->first_line;
		r->first_time = b->first_time;
	}
	r->lines += b->lines;
	r->last_line = b->last_line;
	r->last_time = isnan(b->last_time) ? r->last_time : b->last_time;
	r->host = r->host ? r->host : copy(into, b->host);
	r->pid = b->pid >= 0 ? b->pid : r->pid;
	if (b->last_text)
		r->last_text = copy(into, b->last_text);
}

void notes_merge(struct notes *into, const struct notes *from)
{
	merge_nccl(into, &from->nccl);
	for (size_t i = 0; i < from->process_count && into->process_count < PROCESSES_MAX; i++) {
		into->process = arena_grow(into->arena, into->process, into->process_count, &into->process_cap, sizeof(*into->process));
		into->process[into->process_count] = from->process[i];
		into->process[into->process_count++].host = copy(into, from->process[i].host);
	}
	for (size_t i = 0; i < from->wait_count && into->wait_count < WAITS_MAX; i++) {
		struct logs_wait *w = arena_alloc(into->arena, sizeof(*w));
		*w = *from->wait[i];
		w->host = copy(into, w->host);
		w->group = copy(into, w->group);
		w->group_desc = copy(into, w->group_desc);
		w->op = copy(into, w->op);
		w->size = copy(into, w->size);
		into->wait = arena_grow(into->arena, into->wait, into->wait_count, &into->wait_cap, sizeof(struct logs_wait *));
		into->wait[into->wait_count++] = w;
	}
	for (size_t i = 0; i < from->rank_count; i++)
		merge_rank(into, from->rank[i]);
	for (size_t i = 0; i < from->host_count; i++)
		note_host(into, str_of(from->host[i]));
}
