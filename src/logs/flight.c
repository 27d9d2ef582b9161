#include "logs/flight.h"

#include <errno.h>

#include "parse/pickle.h"

#define RANKS_MAX 65536
#define MEMBERS_MAX 16384
#define ENTRIES_MAX ((size_t)4 << 20)

struct operation {
	int64_t seq;
	struct str name; /* nccl:all_reduce; of p2p: nccl:send 0->1 */
	uint64_t size;   /* a hash of the input sizes */
	bool pending;
};

/* A rank in a group. */
struct member {
	bool dumped, has_status;
	int64_t enqueued, completed, first_pending, last_pending, last_done; /* collectives; -1: none */
	struct operation first;
	struct str p2p[64]; /* names of pending sends and receives */
	size_t p2p_count;
};

struct group {
	struct str name, desc;
	int64_t *ranks; /* members in the order of the group */
	struct member *member;
	size_t size;
	struct group *next;
};

struct dump {
	int64_t rank;
	const char *file;
	const struct json *root;
};

struct flight {
	struct arena *arena;
	struct dump *dump;
	size_t count, cap;
	struct group *groups;
	size_t entries;
	int64_t *damaged; /* ranks whose dump cannot be read */
	size_t damaged_count, damaged_cap;
};

struct flight *flight_new(struct arena *a)
{
	struct flight *f = arena_alloc(a, sizeof *f);
	f->arena = a;
	return f;
}

size_t flight_count(const struct flight *f)
{
	return f->count;
}

bool flight_is_dump(const char *name, struct str head)
{
	(void)name;
	if (parse_is_pickle(head))
		return str_has(head, "pg_config") || str_has(head, "entries") || str_has(head, "nccl_version") ||
			str_has(head, "pg_status");
	struct str t = str_trim(head);
	return str_starts(t, "{") && str_has(t, "\"pg_config\"") &&
		(str_has(t, "\"entries\"") || str_has(t, "\"pg_status\"") || str_has(t, "\"nccl_version\""));
}

/* The last number in the file's name: _dump_12, nccl_trace_rank_3, rank7.json. */
static int64_t rank_of_name(const char *name)
{
	const char *slash = strrchr(name, '/');
	struct str s = str_of(slash ? slash + 1 : name);
	size_t end = s.len;
	int64_t n;
	while (end && !(s.ptr[end - 1] >= '0' && s.ptr[end - 1] <= '9'))
		end--;
	size_t start = end;
	while (start && s.ptr[start - 1] >= '0' && s.ptr[start - 1] <= '9')
		start--;
	return start < end && str_to_int(str_slice(s, start, end), &n) == 0 && n < RANKS_MAX ? n : -1;
}

int flight_add(struct flight *f, const char *name, struct str bytes)
{
	const struct json *root;
	int rc = parse_is_pickle(bytes) ? parse_pickle(f->arena, bytes, &root, NULL) : parse_json(f->arena, bytes, &root, NULL);
	if (rc < 0) {
		f->damaged = arena_grow(f->arena, f->damaged, f->damaged_count, &f->damaged_cap, sizeof *f->damaged);
		f->damaged[f->damaged_count++] = rank_of_name(name);
		return rc;
	}
	if (!parse_json_get(root, "entries") && !parse_json_get(root, "pg_status"))
		return -EBADMSG;
	int64_t rank = rank_of_name(name), told;
	if (parse_json_int(parse_json_get(root, "rank"), &told) && told >= 0 && told < RANKS_MAX)
		rank = told;
	if (rank < 0)
		rank = (int64_t)f->count;
	if (!f->dump || f->count == f->cap)
		f->dump = arena_grow(f->arena, f->dump, f->count, &f->cap, sizeof *f->dump);
	f->dump[f->count++] = (struct dump){rank, arena_strdup(f->arena, name), root};
	return 0;
}

/* -- groups ------------------------------------------------------------------------------------------------------------- */

/* "[0, 1, 2]" or a list. */
static size_t read_ranks(struct arena *a, const struct json *v, int64_t **ret)
{
	size_t n = 0;
	struct str text;
	int64_t *ranks = arena_array(a, MEMBERS_MAX, sizeof *ranks);
	if (parse_json_text(v, &text)) {
		for (size_t i = 0; i < text.len && n < MEMBERS_MAX;) {
			size_t end = i;
			while (end < text.len && text.ptr[end] >= '0' && text.ptr[end] <= '9')
				end++;
			if (end > i && str_to_int(str_slice(text, i, end), &ranks[n]) == 0)
				n++;
			i = end > i ? end : i + 1;
		}
	} else {
		for (const struct json *e = parse_json_first(v); e && n < MEMBERS_MAX; e = e->next)
			n += parse_json_int(e, &ranks[n]);
	}
	*ret = ranks;
	return n;
}

static struct group *find_group(struct flight *f, struct str name)
{
	for (struct group *g = f->groups; g; g = g->next)
		if (str_eq(g->name, name))
			return g;
	return NULL;
}

static void read_config(struct flight *f, const struct json *config)
{
	for (const struct json *c = parse_json_first(config); c; c = c->next) {
		struct str name = c->key, desc = {0};
		parse_json_text(parse_json_get(c, "name"), &name);
		parse_json_text(parse_json_get(c, "desc"), &desc);
		if (find_group(f, name))
			continue;
		struct group *g = arena_alloc(f->arena, sizeof *g);
		g->name = name;
		g->desc = desc;
		g->size = read_ranks(f->arena, parse_json_get(c, "ranks"), &g->ranks);
		g->member = arena_array(f->arena, g->size + 1, sizeof *g->member);
		for (size_t i = 0; i < g->size; i++)
			g->member[i].enqueued = g->member[i].completed = g->member[i].first_pending = g->member[i].last_pending =
				g->member[i].last_done = -1;
		g->next = f->groups;
		f->groups = g;
	}
}

/* Before PyTorch 2.4 dumps did not tell the groups: a group is known by its number, and its members are those that speak of it. */
static struct str group_of_entry(struct flight *f, const struct json *e)
{
	const struct json *pg = parse_json_get(e, "process_group"), *first = parse_json_first(pg);
	struct str name = {0};
	int64_t id;
	if (!parse_json_text(first ? first : pg, &name) && parse_json_int(parse_json_get(e, "pg_id"), &id))
		name = str_of(arena_printf(f->arena, "%lld", (long long)id));
	return name;
}

static void add_member(struct flight *f, struct str name, int64_t rank)
{
	struct group *g = find_group(f, name);
	if (!g) {
		g = arena_alloc(f->arena, sizeof *g);
		*g = (struct group){.name = name,
			.ranks = arena_array(f->arena, MEMBERS_MAX, sizeof *g->ranks),
			.member = arena_array(f->arena, MEMBERS_MAX, sizeof *g->member),
			.next = f->groups};
		f->groups = g;
	}
	for (size_t i = 0; i < g->size; i++)
		if (g->ranks[i] == rank)
			return;
	if (g->size == MEMBERS_MAX)
		return;
	struct member *m = &g->member[g->size];
	g->ranks[g->size++] = rank;
	m->enqueued = m->completed = m->first_pending = m->last_pending = m->last_done = -1;
}

static void groups_from_entries(struct flight *f, const struct dump *d)
{
	size_t budget = 100000;
	if (parse_json_get(d->root, "pg_config"))
		return;
	for (const struct json *e = parse_json_first(parse_json_get(d->root, "entries")); e && budget-- > 0; e = e->next) {
		struct str name = group_of_entry(f, e);
		if (name.len)
			add_member(f, name, d->rank);
	}
}

static struct member *member_of(struct group *g, int64_t rank)
{
	for (size_t i = 0; i < g->size; i++)
		if (g->ranks[i] == rank)
			return &g->member[i];
	return NULL;
}

static uint64_t hash_sizes(const struct json *sizes)
{
	uint64_t x = 14695981039346656037u;
	int budget = 64;
	for (const struct json *a = parse_json_first(sizes); a && budget-- > 0; a = a->next) {
		int64_t n;
		for (const struct json *b = parse_json_first(a); b && budget-- > 0; b = b->next)
			x = (x ^ (parse_json_int(b, &n) ? (uint64_t)n : 7)) * 1099511628211u;
		x = x * 31 + 1;
	}
	return x;
}

static void read_entry(struct flight *f, const struct dump *d, const struct json *e)
{
	struct str group_name, state = {0}, name = {0};
	int64_t seq = -1, local_id;
	bool p2p = false;
	group_name = group_of_entry(f, e);
	if (!group_name.len)
		return;
	struct group *g = find_group(f, group_name);
	struct member *m = g ? member_of(g, d->rank) : NULL;
	if (!m)
		return;
	parse_json_text(parse_json_get(e, "state"), &state);
	parse_json_text(parse_json_get(e, "profiling_name"), &name);
	parse_json_bool(parse_json_get(e, "is_p2p"), &p2p);
	bool done = str_is(state, "completed");
	if (!m->has_status && parse_json_int(parse_json_get(e, "pg_id"), &local_id)) {
		const struct json *status = parse_json_get(
			parse_json_get(d->root, "pg_status"), arena_printf(f->arena, "%lld", (long long)local_id));
		m->has_status = parse_json_int(parse_json_get(status, "last_enqueued_collective"), &m->enqueued) &&
			parse_json_int(parse_json_get(status, "last_completed_collective"), &m->completed);
	}
	if (p2p) {
		if (!done && m->p2p_count < sizeof m->p2p / sizeof m->p2p[0])
			m->p2p[m->p2p_count++] = name;
		return;
	}
	if (!parse_json_int(parse_json_get(e, "collective_seq_id"), &seq) && !parse_json_int(parse_json_get(e, "seq_id"), &seq))
		return;
	if (done) {
		m->last_done = seq > m->last_done ? seq : m->last_done;
		return;
	}
	if (m->first_pending < 0 || seq < m->first_pending) {
		m->first_pending = seq;
		m->first = (struct operation){seq, name, hash_sizes(parse_json_get(e, "input_sizes")), true};
	}
	m->last_pending = seq > m->last_pending ? seq : m->last_pending;
}

/* -- who waits for whom ---------------------------------------------------------------------------------------------------- */

struct edges {
	bool *waits, *waited_for; /* by rank */
	struct group **why;       /* by rank: a group in which others wait for it */
	int64_t *seq;             /* and the operation that they wait for */
	struct str *op;
	size_t *waiters;
	int64_t ranks;
};

static void add_edge(struct edges *x, int64_t from, int64_t to, struct group *g, int64_t seq, struct str op)
{
	if (from < 0 || to < 0 || from >= x->ranks || to >= x->ranks)
		return;
	x->waits[from] = true;
	x->waited_for[to] = true;
	x->waiters[to]++;
	if (!x->why[to] || seq < x->seq[to]) {
		x->why[to] = g;
		x->seq[to] = seq;
		x->op[to] = op;
	}
}

/* The highest operation of the group that a member is known to have scheduled; -1: none known. */
static int64_t scheduled(const struct member *m)
{
	int64_t s = m->last_pending > m->last_done ? m->last_pending : m->last_done;
	return m->has_status && m->enqueued > s ? m->enqueued : s;
}

static int64_t finished(const struct member *m)
{
	int64_t s = m->first_pending >= 0 && m->first_pending - 1 > m->last_done ? m->first_pending - 1 : m->last_done;
	return m->has_status && m->first_pending < 0 && m->completed > s ? m->completed : s;
}

static void collective_edges(struct group *g, struct edges *x)
{
	for (size_t i = 0; i < g->size; i++) {
		struct member *a = &g->member[i];
		if (a->first_pending < 0)
			continue;
		for (size_t k = 0; k < g->size; k++) {
			struct member *b = &g->member[k];
			if (k == i || finished(b) >= a->first_pending)
				continue;
			bool behind = b->first_pending >= 0 && b->first_pending < a->first_pending;
			if (scheduled(b) < a->first_pending || behind)
				add_edge(x, g->ranks[i], g->ranks[k], g, a->first_pending, a->first.name);
		}
	}
}

/* "nccl:send 0->1", "nccl:recv 0<-3": indices in the group. */
static bool parse_p2p(struct str name, int64_t *ret_peer, bool *ret_send)
{
	size_t arrow = str_find(name, "->", 0), blank = str_rfind_char(name, ' ');
	*ret_send = arrow != SIZE_MAX;
	if (arrow == SIZE_MAX)
		arrow = str_find(name, "<-", 0);
	if (arrow == SIZE_MAX || blank == SIZE_MAX || arrow < blank)
		return false;
	return str_to_int(str_skip(name, arrow + 2), ret_peer) == 0;
}

static bool has_counterpart(const struct member *m, size_t own_index, bool send)
{
	for (size_t i = 0; i < m->p2p_count; i++) {
		int64_t peer;
		bool its_send;
		if (parse_p2p(m->p2p[i], &peer, &its_send) && peer == (int64_t)own_index && its_send != send)
			return true;
	}
	return false;
}

static void p2p_edges(struct group *g, struct edges *x)
{
	for (size_t i = 0; i < g->size; i++) {
		struct member *a = &g->member[i];
		for (size_t k = 0; k < a->p2p_count; k++) {
			int64_t peer;
			bool send;
			if (!parse_p2p(a->p2p[k], &peer, &send) || peer < 0)
				continue;
			/* In a group of all ranks the numbers are global ranks, in others indices: both name a member. */
			size_t other = (size_t)peer;
			if (other >= g->size || has_counterpart(&g->member[other], i, send))
				continue;
			add_edge(x, g->ranks[i], g->ranks[other], g, a->enqueued, a->p2p[k]);
		}
	}
}

/* -- what is said ----------------------------------------------------------------------------------------------------------- */

static const char *text_of(struct arena *a, struct str s)
{
	return s.ptr ? str_dup(a, s) : "";
}

static struct facts_row *say(struct flight *f, struct facts *facts, const char *pattern, int64_t rank, const struct group *g, int64_t seq,
	struct str op, size_t waiters, const char *text)
{
	struct facts_row *row = facts_add(facts, TABLE_event);
	const char *file = "-";
	for (size_t i = 0; i < f->count; i++)
		if (f->dump[i].rank == rank)
			file = f->dump[i].file;
	facts_text(row, event__pattern, pattern, NULL);
	facts_text(row, event__class, "evidence", NULL);
	facts_bool(row, event__failure, true, NULL); /* a dump is made of what did not end */
	facts_text(row, event__symptom, pattern, NULL);
	facts_text(row, event__text, text, NULL);
	facts_text(row, event__file, file, NULL);
	facts_int(row, event__line, 0, NULL);
	facts_int(row, event__seq, facts->count[TABLE_event] - 1, NULL);
	facts_int(row, event__count, 1, NULL);
	if (rank >= 0)
		facts_int(row, event__rank, rank, NULL);
	if (g) {
		facts_text(row, event__c_name, g->desc.len ? text_of(f->arena, g->desc) : text_of(f->arena, g->name), NULL);
		facts_text(row, event__c_seq, arena_printf(f->arena, "%lld", (long long)seq), NULL);
		facts_text(row, event__c_op, text_of(f->arena, op), NULL);
		facts_text(row, event__c_size, arena_printf(f->arena, "%zu", waiters), NULL);
	}
	return row;
}

static bool pending_somewhere(const struct flight *f, int64_t rank)
{
	for (struct group *g = f->groups; g; g = g->next) {
		struct member *m = member_of(g, rank);
		if (m && (m->first_pending >= 0 || m->p2p_count))
			return true;
	}
	return false;
}

static bool was_dumped(const struct flight *f, int64_t rank)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->dump[i].rank == rank)
			return true;
	return false;
}

/* One sequence number, different operations or sizes: the member that differs from the others. */
static bool mismatches(struct flight *f, struct facts *facts)
{
	bool found = false;
	for (struct group *g = f->groups; g; g = g->next) {
		for (size_t i = 0; i < g->size; i++) {
			struct member *m = &g->member[i];
			size_t same = 0, other = 0;
			const struct member *differs = NULL;
			for (size_t k = 0; k < g->size; k++) {
				const struct member *o = &g->member[k];
				if (m->first_pending < 0 || o->first_pending != m->first_pending)
					continue;
				/* Gathers and scatters of uneven sizes, broadcasts from one root: only the operation's name counts there.
				 */
				bool equal = str_eq(o->first.name, m->first.name) &&
					(o->first.size == m->first.size || !str_has(m->first.name, "all_reduce"));
				same += equal;
				other += !equal;
				if (!equal)
					differs = o;
			}
			if (!differs || other < same)
				continue;
			say(f, facts, "flight.mismatch", g->ranks[i], g, m->first_pending, m->first.name, other,
				arena_printf(f->arena, "rank=%lld group=%s seq=%lld op=\"%s\" others=\"%s\"", (long long)g->ranks[i],
					text_of(f->arena, g->desc.len ? g->desc : g->name), (long long)m->first_pending,
					text_of(f->arena, m->first.name), text_of(f->arena, differs->first.name)));
			found = true;
		}
	}
	return found;
}

static bool is_damaged(const struct flight *f, int64_t rank)
{
	for (size_t i = 0; i < f->damaged_count; i++)
		if (f->damaged[i] == rank)
			return true;
	return false;
}

/* Ranks that others wait for and of which there is no dump: when they are many, the dumps were not collected, which says nothing about
 * them. */
static size_t count_unknown(const struct flight *f, const struct edges *x)
{
	size_t n = 0;
	for (int64_t r = 0; r < x->ranks; r++)
		n += x->waited_for[r] && !x->waits[r] && !was_dumped(f, r);
	return n;
}

static void culprits(struct flight *f, struct edges *x, struct facts *facts)
{
	bool found = false, any_pending = false, few = count_unknown(f, x) > f->count, unknown = false;
	for (int64_t r = 0; r < x->ranks; r++) {
		any_pending |= pending_somewhere(f, r);
		if (!x->waited_for[r] || x->waits[r])
			continue;
		bool stuck = pending_somewhere(f, r), silent = !was_dumped(f, r);
		if (silent && (few || is_damaged(f, r))) {
			unknown = true;
			continue;
		}
		found = true;
		const char *group = text_of(f->arena, x->why[r]->desc.len ? x->why[r]->desc : x->why[r]->name),
			   *op = text_of(f->arena, x->op[r]);
		const char *text = arena_printf(f->arena, "rank=%lld group=%s seq=%lld op=\"%s\" state=%s waiting=%zu", (long long)r, group,
			(long long)x->seq[r], op,
			stuck            ? "scheduled, not completed"
				: silent ? "no dump"
					 : "never scheduled",
			x->waiters[r]);
		say(f, facts,
			stuck            ? "flight.stuck"
				: silent ? "flight.no-dump"
					 : "flight.never-scheduled",
			r, x->why[r], x->seq[r], x->op[r], x->waiters[r], text);
	}
	if (!found && unknown)
		say(f, facts, "flight.incomplete", -1, NULL, 0, (struct str){0}, 0,
			arena_printf(f->arena,
				"dumps=%zu damaged=%zu state=\"the ranks that the others wait for left no dump that can be read\"",
				f->count, f->damaged_count));
	else if (!found && any_pending)
		say(f, facts, "flight.all-entered", -1, NULL, 0, (struct str){0}, 0,
			"state=\"all members have entered, none has completed\"");
}

void flight_to_facts(struct flight *f, struct facts *facts)
{
	struct edges x = {.ranks = 0};
	if (!f->count)
		return;
	for (size_t i = 0; i < f->count; i++)
		read_config(f, parse_json_get(f->dump[i].root, "pg_config"));
	for (size_t i = 0; i < f->count; i++)
		groups_from_entries(f, &f->dump[i]);
	for (size_t i = 0; i < f->count; i++) {
		const struct json *entries = parse_json_get(f->dump[i].root, "entries");
		for (struct group *g = f->groups; g; g = g->next) {
			struct member *m = member_of(g, f->dump[i].rank);
			if (m)
				m->dumped = true;
		}
		for (const struct json *e = parse_json_first(entries); e && f->entries++ < ENTRIES_MAX; e = e->next)
			read_entry(f, &f->dump[i], e);
		x.ranks = f->dump[i].rank + 1 > x.ranks ? f->dump[i].rank + 1 : x.ranks;
	}
	for (struct group *g = f->groups; g; g = g->next)
		for (size_t i = 0; i < g->size; i++)
			if (g->ranks[i] < RANKS_MAX && g->ranks[i] + 1 > x.ranks)
				x.ranks = g->ranks[i] + 1;
	size_t n = (size_t)x.ranks;
	x.waits = arena_array(f->arena, n + 1, sizeof *x.waits);
	x.waited_for = arena_array(f->arena, n + 1, sizeof *x.waited_for);
	x.why = arena_array(f->arena, n + 1, sizeof *x.why);
	x.seq = arena_array(f->arena, n + 1, sizeof *x.seq);
	x.op = arena_array(f->arena, n + 1, sizeof *x.op);
	x.waiters = arena_array(f->arena, n + 1, sizeof *x.waiters);
	for (struct group *g = f->groups; g; g = g->next) {
		collective_edges(g, &x);
		p2p_edges(g, &x);
	}
	facts_table_read(facts, TABLE_event);
	if (!mismatches(f, facts))
		culprits(f, &x, facts);
}
