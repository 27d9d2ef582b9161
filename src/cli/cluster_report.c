/* The result of `davy cluster`, judged by the rules for many nodes and told to people, programs and schedulers. */
#include <errno.h>
#include <math.h>

#include "cli/cluster.h"
#include "fleet/outliers.h"
#include "parse/json.h"
#include "report/json_writer.h"
#include "report/text.h"

#define NAMES_SHOWN 8
#define MATRIX_MAX 24
#define SEE_OUT_MS 10000
#define FIXES_MAX 4 /* of what a node says, and their commands */
#define COMMANDS_MAX 8
#define TEXT_MAX 1000
#define OLD_MAX ((size_t)4 << 20)

struct told {
	struct cli *c;
	struct cluster_run *run;
	struct cluster_outcome *outcome; /* NULL: not rank 0 */
	const char **good, **bad;        /* NULL-terminated */
	struct align *aligned;           /* facts of `spread` point into it; NULL */
};

/* -- JSON ------------------------------------------------------------------------------------------------------------------- */

static const char *token_text(struct cli *c, const struct cluster_run *run)
{
	return arena_printf(c->arena, "%016llx", (unsigned long long)run->job.token);
}

static void write_cluster(struct json_writer *w, void *arg)
{
	const struct told *t = arg;
	const struct cluster_job *j = &t->run->job;
	json_open(w, "cluster", '{');
	json_int(w, "rank", j->rank);
	json_int(w, "size", j->size);
	json_text(w, "launcher", j->launcher);
	json_text(w, "job", j->id);
	json_text(w, "token", token_text(t->c, t->run));
	json_text(w, "master", j->master);
	json_int(w, "port", j->port);
	if (t->outcome) {
		json_int(w, "answered", t->outcome->count);
		json_int(w, "pairs", (int64_t)t->outcome->pairs);
		json_int(w, "pairs_tested", (int64_t)t->outcome->tested);
		json_int(w, "rounds", t->outcome->rounds);
		json_int(w, "messages", (int64_t)t->outcome->messages);
		json_int(w, "strangers", t->outcome->strangers);
		json_int(w, "late", t->outcome->late);
		json_list(w, "good", t->good);
		json_list(w, "bad", t->bad);
	}
	json_close(w, '}');
}

/* -- what a node wrote down that could not reach rank 0 ---------------------------------------------------------------------- */

static void read_row(struct facts *f, const struct json *object, const char *origin)
{
	struct facts_row *row = facts_add(f, TABLE_reach);
	struct facts_table_info info = facts_table(TABLE_reach);
	for (int i = info.first; i < info.end; i++) {
		const struct json *v = parse_json_get(object, facts_columns[i].name);
		struct str text;
		int64_t n;
		double x;
		bool b;
		if (facts_columns[i].type == FACTS_TEXT && parse_json_text(v, &text))
			facts_str(row, (enum facts_column)i, str_cut(text, 400), origin);
		else if (facts_columns[i].type == FACTS_INT && parse_json_int(v, &n))
			facts_int(row, (enum facts_column)i, n, origin);
		else if (facts_columns[i].type == FACTS_REAL && parse_json_real(v, &x))
			facts_real(row, (enum facts_column)i, x, origin);
		else if (facts_columns[i].type == FACTS_BOOL && parse_json_bool(v, &b))
			facts_bool(row, (enum facts_column)i, b, origin);
	}
}

static bool rank0_owns(const char *address)
{
	struct host_address at = {0};
	char name[32];
	int mtu;
	return address && host_address_parse(str_of(address), &at) == 0 && !host_address_is_loopback(&at) &&
		host_interface_of(&at, name, &mtu) == 0;
}

static bool read_written(struct cli *c, struct cluster_run *run, struct facts *f, int rank)
{
	const char *path = arena_printf(c->arena, "%s/node-%d.json", run->out, rank);
	const struct json *root;
	struct str text, token;
	if (host_read(c->host, path, OLD_MAX, &text) < 0 || parse_json(c->arena, text, &root, NULL) < 0)
		return false;
	/* A file of an earlier job says nothing about this one. */
	if (!parse_json_text(parse_json_path(root, "cluster.token"), &token) || !str_is(token, token_text(c, run)))
		return false;
	for (const struct json *e = parse_json_first(parse_json_path(root, "facts.reach")); e; e = e->next) {
		read_row(f, e, path);
		struct facts_row *row = f->last[TABLE_reach];
		facts_bool(row, reach__rank0_owns, rank0_owns(facts_get_text(row, reach__address)), path);
	}
	return true;
}

static void add_reaches(struct cli *c, struct cluster_run *run, struct facts *f, const struct cluster_outcome *o)
{
	for (struct facts_row *row = f->first[TABLE_node]; row; row = row->next) {
		const char *state = facts_get_text(row, node__state);
		int64_t rank;
		if (strcmp(state, "missing") != 0 || !facts_get_int(row, node__rank, &rank))
			continue;
		if (run->out && read_written(c, run, f, (int)rank))
			continue;
		for (size_t i = 0; i < o->cry_count; i++) {
			char text[HOST_ADDRESS_TEXT];
			struct cluster_reach r = o->cries[i];
			r.best = true;
			if (r.rank == rank && r.way != WAY_CONTRADICTS)
				cluster_reach_fact(f, &r, rank0_owns(host_address_text(&r.at, text)));
		}
	}
	for (size_t i = 0; i < o->cry_count; i++) {
		struct cluster_reach r = o->cries[i];
		r.best = true;
		if (r.way == WAY_CONTRADICTS)
			cluster_reach_fact(f, &r, -1);
	}
	if (run->in_use && !run->job.port_is_taken) {
		struct cluster_reach r = {.node = run->self.name,
			.target = run->job.master ? run->job.master : run->self.name,
			.source = run->job.master_from,
			.rank = 0,
			.at.port = (uint16_t)run->job.port,
			.way = WAY_IN_USE,
			.error = -EADDRINUSE,
			.best = true};
		cluster_reach_fact(f, &r, 1);
	}
}

/* Does MASTER_ADDR belong to rank 0 at all? Its own view of the name says so. */
static void add_own_reach(struct cluster_run *run, struct facts *f)
{
	for (size_t i = 0; i < run->target_count; i++) {
		struct cluster_reach r = run->targets[i];
		r.best = i == 0;
		cluster_reach_fact(f, &r, -1);
	}
}

/* -- what nodes found at themselves -------------------------------------------------------------------------------------------- */

struct group {
	const char *cause, *says;
	int status, certainty; /* enum values */
	struct fix *fixes;
	const char **names;
	size_t count, cap;
	struct group *next;
};

static int place_of(struct str word, const char *const *names, int n)
{
	for (int i = 0; i < n; i++)
		if (str_is(word, names[i]))
			return i;
	return -1;
}

static const char *text_in(struct cli *c, const struct json *object, const char *name)
{
	struct str text;
	return parse_json_text(parse_json_get(object, name), &text) && text.len ? str_dup(c->arena, str_cut(text, TEXT_MAX)) : NULL;
}

/* What mends it, as the first node that has it says. */
static struct fix *read_fixes(struct cli *c, const struct json *finding)
{
	struct fix *first = NULL, **tail = &first;
	int n = 0;
	for (const struct json *e = parse_json_first(parse_json_get(finding, "fixes")); e && n < FIXES_MAX; e = e->next, n++) {
		struct fix *x = arena_alloc(c->arena, sizeof *x);
		const char **commands = arena_array(c->arena, COMMANDS_MAX + 1, sizeof *commands), *kind = text_in(c, e, "kind");
		struct str command;
		size_t k = 0;
		for (const struct json *t = parse_json_first(parse_json_get(e, "commands")); t && k < COMMANDS_MAX; t = t->next)
			if (parse_json_text(t, &command))
				commands[k++] = str_dup(c->arena, str_cut(command, TEXT_MAX));
		*x = (struct fix){.id = text_in(c, e, "id"),
			.text = text_in(c, e, "text"),
			.cost = text_in(c, e, "cost"),
			.needs = text_in(c, e, "needs"),
			.workaround = kind && strcmp(kind, "workaround") == 0,
			.commands = commands};
		*tail = x;
		tail = &x->next;
	}
	return first;
}

static void add_own_findings(struct cli *c, const struct cluster_node *node, struct group **list)
{
	static const char *const statuses[] = {"fail", "warn"}, *const sure[] = {"certain", "likely", "possible"};
	const struct json *root;
	if (!node->facts.len || parse_json(c->arena, node->facts, &root, NULL) < 0)
		return;
	for (const struct json *e = parse_json_first(parse_json_get(root, "findings")); e; e = e->next) {
		struct str cause, status, certainty, says;
		if (!parse_json_text(parse_json_get(e, "cause"), &cause) || !parse_json_text(parse_json_get(e, "status"), &status) ||
			!parse_json_text(parse_json_get(e, "certainty"), &certainty) || !parse_json_text(parse_json_get(e, "says"), &says))
			continue;
		int s = place_of(status, statuses, 2), k = place_of(certainty, sure, 3);
		if (s < 0 || k < 0 || cause.len > 80)
			continue;
		struct group *g = *list;
		while (g && !str_is(cause, g->cause))
			g = g->next;
		if (!g) {
			g = arena_alloc(c->arena, sizeof *g);
			*g = (struct group){.cause = str_dup(c->arena, cause),
				.says = str_dup(c->arena, str_cut(says, 600)),
				.status = s,
				.certainty = k,
				.fixes = read_fixes(c, e)};
			while (*list)
				list = &(*list)->next;
			*list = g;
		}
		if (g->count == g->cap)
			g->names = arena_grow(c->arena, g->names, g->count, &g->cap, sizeof *g->names);
		g->names[g->count++] = node->name;
		g->status = s < g->status ? s : g->status;
	}
}

static const char *list_names(struct cli *c, const char **names, size_t n)
{
	struct buf b = BUF_MAX(8192);
	for (size_t i = 0; i < n && i < NAMES_SHOWN; i++)
		buf_fmt(&b, "%s%s", i ? ", " : "", names[i]);
	if (n > NAMES_SHOWN)
		buf_fmt(&b, cli_tr(c, " and %zu more", " 等 %zu 个"), n - NAMES_SHOWN);
	const char *text = arena_strndup(c->arena, b.ptr, b.len);
	buf_free(&b);
	return text;
}

static void count(struct judgement *j, const struct finding *f, int by)
{
	j->fails += f->status == STATUS_FAIL ? by : 0;
	j->warns += f->status == STATUS_WARN ? by : 0;
}

/* Comparing may have found the same already: a fault of a node by itself says more than that it differs. False: what was found stays. */
static bool make_room(struct judgement *j, const struct group *g)
{
	for (struct finding **p = &j->findings; *p; p = &(*p)->next) {
		struct finding *f = *p;
		if (strcmp(f->cause, g->cause) != 0)
			continue;
		if ((int)f->status <= g->status)
			return false;
		count(j, f, -1);
		*p = f->next;
		return true;
	}
	return true;
}

static void append_group(struct cli *c, struct judge *judge, struct judgement *j, const struct group *g, int nodes)
{
	struct cause_text text;
	if (judge_cause(judge, g->cause, false, &text) < 0 || !make_room(j, g))
		return;
	struct finding *f = arena_alloc(c->arena, sizeof *f), **tail = &j->findings;
	const char **ask = arena_array(c->arena, 2, sizeof *ask);
	ask[0] = arena_printf(c->arena, "davy check --only %s    # %s", g->cause, list_names(c, g->names, g->count));
	*f = (struct finding){.cause = g->cause,
		.status = (enum status)g->status,
		.certainty = (enum certainty)g->certainty,
		.stage = text.stage,
		.title = text.title,
		.why = text.why,
		.rank = -1,
		.time = -1,
		.first_seq = -1,
		.rows = 1,
		.table = "node",
		.key = g->names[0],
		.node = g->count == 1 ? g->names[0] : NULL,
		.fixes = g->fixes,
		.ask = ask,
		.sources = text.sources,
		.verify = &ask[1]};
	f->says = (int)g->count == nodes && nodes > 1
		? arena_printf(c->arena, cli_tr(c, "On all %d nodes: %s", "全部 %d 个节点：%s"), nodes, g->says)
		: arena_printf(c->arena, cli_tr(c, "On %s: %s", "%s：%s"), list_names(c, g->names, g->count), g->says);
	while (*tail && ((*tail)->status < f->status || ((*tail)->status == f->status)))
		tail = &(*tail)->next;
	f->next = *tail;
	*tail = f;
	count(j, f, 1);
	if (f->status == STATUS_FAIL)
		j->verdict = VERDICT_NOT_READY;
}

static void add_node_findings(struct cli *c, struct judge *judge, struct judgement *j, struct cluster_outcome *o)
{
	struct group *groups = NULL;
	for (int i = 0; i < o->count; i++)
		add_own_findings(c, &o->nodes[i], &groups);
	for (const struct group *g = groups; g; g = g->next) {
		append_group(c, judge, j, g, o->count);
		/* A node is worse than the others when it alone has the fault; what all have is no reason to leave one out. */
		for (int i = 0; i < o->count && g->status == STATUS_FAIL && (int)g->count < o->count; i++)
			for (size_t k = 0; k < g->count; k++)
				o->nodes[i].bad |= g->names[k] == o->nodes[i].name;
	}
}

/* -- the picture ---------------------------------------------------------------------------------------------------------------- */

static const struct cluster_direction *find_direction(const struct cluster_outcome *o, int from, int to)
{
	for (size_t i = 0; i < o->pairs * 2; i++)
		if (o->directions[i].from == from && o->directions[i].to == to)
			return &o->directions[i];
	return NULL;
}

static void matrix(struct cli *c, const struct cluster_outcome *o, struct buf *out)
{
	int wide = 4;
	if (o->count < 2 || o->count > MATRIX_MAX)
		return;
	for (int i = 0; i < o->count; i++)
		if (text_width(str_of(o->nodes[i].name)) > wide)
			wide = text_width(str_of(o->nodes[i].name));
	if (wide > 24)
		wide = 24;
	buf_fmt(out, "  %s\n", cli_tr(c, "row: who connects; column: who is reached", "行：发起连接的节点；列：被连接的节点"));
	text_pad(out, 4 + wide + 2);
	for (int to = 0; to < o->count; to++)
		buf_fmt(out, "%4d", o->nodes[to].rank);
	buf_char(out, '\n');
	for (int from = 0; from < o->count; from++) {
		struct str name = str_cut(str_of(o->nodes[from].name), 24);
		buf_fmt(out, "%4d  ", o->nodes[from].rank);
		buf_str(out, name);
		text_pad(out, wide - text_width(name));
		for (int to = 0; to < o->count; to++) {
			const struct cluster_direction *d = from == to ? NULL : find_direction(o, from, to);
			const char *mark = from == to ? " "
				: !d || !d->tested    ? (c->unicode ? "·" : ".")
				: d->problem          ? (c->unicode ? "✗" : "x")
						      : (c->unicode ? "✓" : "+");
			buf_text(out, "   ");
			text_style(out, c->color, from == to || !d || !d->tested ? TEXT_DIM : d->problem ? TEXT_RED : TEXT_GREEN, mark);
		}
		buf_char(out, '\n');
	}
	buf_char(out, '\n');
}

struct range {
	double low, high;
	int n;
};

static void add_to(struct range *r, double x)
{
	r->low = r->n && r->low < x ? r->low : x;
	r->high = r->n && r->high > x ? r->high : x;
	r->n++;
}

static void figures(struct cli *c, const struct cluster_outcome *o, struct buf *out)
{
	struct range rtt = {0}, gbps = {0}, mtu = {0};
	for (size_t i = 0; i < o->pairs * 2; i++) {
		const int64_t *v = o->directions[i].value;
		if (v[V_RTT_US] > 0)
			add_to(&rtt, (double)v[V_RTT_US] / 1000);
		if (v[V_KBPS] > 0)
			add_to(&gbps, (double)v[V_KBPS] / 1e6);
		if (v[V_MTU_PATH] > 0)
			add_to(&mtu, (double)v[V_MTU_PATH]);
	}
	struct buf b = BUF_MAX(4096);
	buf_fmt(&b, cli_tr(c, "%d of %d nodes, %zu of %zu pairs tested", "%d/%d 个节点，已测试 %zu/%zu 对"), o->count, o->expected,
		o->tested, o->pairs);
	if (rtt.n)
		buf_fmt(&b, cli_tr(c, "; round trip %.2f to %.2f ms", "；往返 %.2f 到 %.2f ms"), rtt.low, rtt.high);
	if (gbps.n)
		buf_fmt(&b, cli_tr(c, "; TCP %.1f to %.1f Gbit/s", "；TCP %.1f 到 %.1f Gbit/s"), gbps.low, gbps.high);
	if (mtu.n && mtu.low == mtu.high)
		buf_fmt(&b, cli_tr(c, "; packets up to %.0f bytes", "；包长可达 %.0f 字节"), mtu.low);
	else if (mtu.n)
		buf_fmt(&b, cli_tr(c, "; packets up to %.0f to %.0f bytes", "；包长可达 %.0f 到 %.0f 字节"), mtu.low, mtu.high);
	text_pad(out, 2);
	text_wrap(out, buf_view(&b), 2, 2, c->columns);
	buf_free(&b);
	buf_text(out, "\n\n");
}

static const char *headline(struct cli *c, const struct cluster_run *run)
{
	const struct cluster_job *j = &run->job;
	return arena_printf(c->arena,
		cli_tr(c, "davy %s   %d %s (%s%s%s), rank 0 on %s, rendezvous %s:%d",
			"davy %s   %d %s（%s%s%s），rank 0 在 %s，会合点 %s:%d"),
		DAVY_VERSION, j->size, j->size == 1 ? cli_tr(c, "node", "个节点") : cli_tr(c, "nodes", "个节点"),
		strcmp(j->launcher, "options") == 0 ? cli_tr(c, "by hand", "手动指定") : j->launcher, j->id ? " " : "", j->id ? j->id : "",
		run->self.name, j->master ? j->master : "?", j->port);
}

static const char *member_headline(struct cli *c, const struct cluster_run *run)
{
	return arena_printf(c->arena,
		cli_tr(c, "davy %s   %s, rank %d of %d: rank 0 was not reached", "davy %s   %s，rank %d（共 %d 个）：未能到达 rank 0"),
		DAVY_VERSION, run->self.name, run->job.rank, run->job.size);
}

/* -- files ------------------------------------------------------------------------------------------------------------------------ */

static void write_file(struct cli *c, struct cluster_run *run, const char *name, struct str data)
{
	const char *why = "", *path = arena_printf(c->arena, "%s/%s", run->out, name);
	if (host_write_file(c->host, path, data, &why) < 0)
		run->status = cli_fail(c, EXIT_DEFECT, "%s: %s", path, why);
}

static void write_list(struct cli *c, struct cluster_run *run, const char *name, const char **names)
{
	struct buf b = BUF_MAX((size_t)64 << 20);
	buf_text(&b, "");
	for (; *names; names++)
		buf_fmt(&b, "%s\n", *names);
	write_file(c, run, name, buf_view(&b));
	buf_free(&b);
}

static void write_report(struct cli *c, struct cluster_run *run, const char *name, const struct report *r, struct str before)
{
	struct buf b = BUF_MAX((size_t)256 << 20);
	struct report plain = *r;
	plain.color = false;
	report_json(&plain, &b);
	write_file(c, run, arena_printf(c->arena, "%s.json", name), buf_view(&b));
	buf_reset(&b);
	buf_str(&b, before);
	report_terminal(&plain, &b);
	write_file(c, run, arena_printf(c->arena, "%s.txt", name), buf_view(&b));
	buf_free(&b);
}

/* -- reports ---------------------------------------------------------------------------------------------------------------------- */

/* Which nodes differ from the others in what they are: driver, libraries, limits, ... */
static void compare_nodes(struct cli *c, struct store *knowledge, struct facts *f, struct told *t)
{
	const struct cluster_outcome *o = t->outcome;
	struct align *al;
	struct outliers *found;
	struct outliers_options options = {.golden = UINT32_MAX, .now = host_now(c->host), .job = true};
	const char *why;
	if (!o || o->count < 2 || align_new(knowledge, &al, &why) < 0)
		return;
	t->aligned = al;
	for (int i = 0; i < o->count; i++) {
		struct str text = o->nodes[i].facts;
		if (!text.len) {
			align_add_lost(al, o->nodes[i].name, o->nodes[i].name, ALIGN_UNREADABLE, "no facts");
			continue;
		}
		align_begin(al, o->nodes[i].name, o->nodes[i].name);
		align_time(al, options.now);
		int rc = align_json(al, &text);
		if (rc == 0)
			align_end(al);
		else
			align_drop(al, rc == -EOPNOTSUPP ? ALIGN_NEWER : ALIGN_DAMAGED, "facts");
	}
	if (outliers_find(c->arena, al, &options, &found) == 0) {
		outliers_spread(found, f);
		outliers_free(found);
	}
}

static int judge_facts(struct cli *c, struct facts *f, struct told *t, struct judge *ret, struct judgement *ret_judgement)
{
	struct store *s = cli_knowledge(c);
	if (!s)
		return EXIT_DEFECT;
	compare_nodes(c, s, f, t);
	int rc = store_load(s, f);
	if (rc < 0)
		return cli_fail(c, EXIT_DEFECT, cli_tr(c, "facts could not be stored: %s", "事实无法入库：%s"), strerror(-rc));
	*ret = (struct judge){.arena = c->arena, .store = s, .facts = f, .mode = JUDGE_CLUSTER, .chinese = c->chinese};
	judge_run(ret, ret_judgement);
	return 0;
}

/* The same name on two lines would exclude both. */
static void split_good_and_bad(struct cli *c, struct told *t, const struct facts *f)
{
	const struct cluster_outcome *o = t->outcome;
	size_t good = 0, bad = 0;
	t->good = arena_array(c->arena, (size_t)o->count + 1, sizeof *t->good);
	t->bad = arena_array(c->arena, (size_t)o->count + (size_t)f->count[TABLE_node] + 1, sizeof *t->bad);
	for (int i = 0; i < o->count; i++) {
		if (o->nodes[i].bad)
			t->bad[bad++] = o->nodes[i].name;
		else
			t->good[good++] = o->nodes[i].name;
	}
	for (const struct facts_row *row = f->first[TABLE_node]; row; row = row->next) {
		const char *state = facts_get_text(row, node__state), *name = facts_get_text(row, node__name);
		int64_t rank;
		if (strcmp(state, "missing") != 0 || !facts_get_int(row, node__rank, &rank))
			continue;
		for (const struct facts_row *r = f->first[TABLE_reach]; r && !t->run->job.name_count; r = r->next) {
			int64_t other;
			if (facts_get_int(r, reach__rank, &other) && other == rank && facts_get_text(r, reach__node_name))
				name = facts_get_text(r, reach__node_name);
		}
		if (strncmp(name, "rank ", 5) != 0) /* a number is no name that a scheduler knows */
			t->bad[bad++] = name;
	}
}

int cluster_report_master(struct cli *c, struct cluster_run *run)
{
	struct cluster_outcome outcome = {.expected = run->job.size};
	struct facts *f = facts_new(c->arena);
	struct judge judge;
	struct judgement judgement;
	struct told told = {.c = c, .run = run, .outcome = &outcome};
	struct buf before = BUF_MAX((size_t)1 << 20);
	if (run->master) {
		cluster_master_finish(run->master);
		cluster_master_outcome(run->master, &outcome);
	}
	cluster_result_facts(c->arena, f, &run->job, &outcome);
	add_reaches(c, run, f, &outcome);
	add_own_reach(run, f);
	int rc = judge_facts(c, f, &told, &judge, &judgement);
	if (rc)
		return rc;
	add_node_findings(c, &judge, &judgement, &outcome);
	split_good_and_bad(c, &told, f);
	if (judgement.verdict == VERDICT_READY && outcome.tested < outcome.pairs)
		judgement.verdict = VERDICT_UNKNOWN;
	struct json_extra extra = {write_cluster, &told};
	struct report r = cli_report(c, &judgement, f);
	r.extra = &extra;
	text_wrap(&before, str_of(headline(c, run)), 0, 2, c->columns);
	buf_text(&before, "\n\n");
	figures(c, &outcome, &before);
	matrix(c, &outcome, &before);
	struct str top = str_of(arena_strndup(c->arena, buf_view(&before).ptr, before.len));
	if (!c->options.json && !c->options.quiet)
		cli_print(&before, 0);
	buf_free(&before);
	rc = cli_render(c, &r);
	if (run->out) { /* a folder on a file server that hangs takes nothing from those who read the screen */
		write_report(c, run, "report", &r, top);
		write_list(c, run, "good.txt", told.good);
		write_list(c, run, "bad.txt", told.bad);
	}
	store_close(judge.store);
	if (told.aligned)
		align_free(told.aligned);
	return rc;
}

/* The fault that this node found at itself; its own exit status. Rank 0 tells all of them, but who looks at one node's output sees this. A
 * launcher that ends the job with the first failure must not end rank 0 before it has spoken. */
static int say_own_fault(struct cli *c, struct cluster_run *run)
{
	const struct finding *f = run->examined ? run->own.judgement.findings : NULL;
	if (!f || (f->status != STATUS_FAIL && !(c->options.strict && f->status == STATUS_WARN)))
		return EXIT_FINE;
	cluster_member_see_out(run->member, SEE_OUT_MS);
	return cli_fail(c, EXIT_FAULT, cli_tr(c, "%s, rank %d: %s: %s", "%s，rank %d：%s：%s"), run->self.name, run->job.rank, f->cause,
		f->says ? f->says : f->title);
}

int cluster_report_member(struct cli *c, struct cluster_run *run, bool early)
{
	const struct cluster_reach *reach;
	struct facts *f = facts_new(c->arena);
	struct judge judge;
	struct judgement judgement;
	struct told told = {.c = c, .run = run};
	int best = -1;
	if (cluster_member_is_done(run->member))
		return say_own_fault(c, run);
	size_t n = cluster_member_reaches(run->member, &reach);
	/* One that was refused came further than one that was not heard of. */
	static const int order[WAY_COUNT] = {[WAY_LATE] = 11,
		[WAY_CONTRADICTS] = 10,
		[WAY_LOST] = 9,
		[WAY_OTHER] = 8,
		[WAY_SILENT] = 7,
		[WAY_REJECTED] = 6,
		[WAY_REFUSED] = 5,
		[WAY_DROPPED] = 4,
		[WAY_NO_ROUTE] = 3,
		[WAY_FAILED] = 2,
		[WAY_UNRESOLVED] = 1};
	for (size_t i = 0; i < n; i++)
		if (best < 0 || order[reach[i].way] > order[reach[best].way])
			best = (int)i;
	for (size_t i = 0; i < n; i++) {
		struct cluster_reach one = reach[i];
		one.best = (int)i == best;
		cluster_reach_fact(f, &one, -1);
	}
	int rc = judge_facts(c, f, &told, &judge, &judgement);
	if (rc)
		return rc;
	if (judgement.verdict == VERDICT_READY)
		judgement.verdict = VERDICT_UNKNOWN;
	struct json_extra extra = {write_cluster, &told};
	struct report r = cli_report(c, &judgement, f);
	r.extra = &extra;
	r.headline = member_headline(c, run);
	rc = early ? 0 : cli_render(c, &r);
	if (run->out)
		write_report(c, run, arena_printf(c->arena, "node-%d", run->job.rank), &r, str_n("", 0));
	store_close(judge.store);
	return rc;
}
