#include "report/evidence.h"
#include "judge/placeholder.h"

#define SUBJECT_MAX 40

static const char *tr(const struct report *r, const char *english, const char *chinese)
{
	return r->chinese ? chinese : english;
}

static const char *comma(const struct report *r)
{
	return tr(r, ", ", "，");
}

static bool is_size(const struct evidence *e)
{
	return e->type == FACTS_INT && str_ends(str_of(e->fact), "_bytes");
}

static const char *value_text(const struct report *r, const struct evidence *e)
{
	const struct facts_value *v = e->value;
	if (v->gap != GAP_NONE)
		return tr(r, "none", "无");
	switch (e->type) {
	case FACTS_TEXT: return v->text;
	case FACTS_REAL: return arena_printf(r->arena, "%g", v->r);
	case FACTS_BOOL: return v->i ? tr(r, "yes", "是") : tr(r, "no", "否");
	case FACTS_INT: break;
	}
	const char *digits = arena_printf(r->arena, "%lld", (long long)v->i);
	if (r->verbose || !is_size(e))
		return digits;
	struct buf b = BUF_MAX(256);
	placeholder_format(&b, STR("bytes"), digits);
	digits = arena_strndup(r->arena, b.ptr, b.len);
	buf_free(&b);
	return digits;
}

static const char *subject_of(const struct finding *f, const struct evidence *e)
{
	return e->subject ? e->subject : f->table && strncmp(e->fact, f->table, strlen(f->table)) == 0 ? f->key : NULL;
}

/* What says nothing to a person: the name of what the line speaks of, and what only lets a rule apply. */
static bool is_aside(const struct finding *f, const struct evidence *e)
{
	static const char *const asides[] = {"system.platform", "driver.vendor", "driver.loaded", "variable.name", "variable.problem",
		"variable.detail", "package.canonical", "package.name", "gpu.index", "torch.build", "system.root_kind", "package.location",
		"torch.nccl_package", "trial.subject", "trial.stage", "trial.trial", "driver.branch", "driver.libcuda_kind",
		"fleet.same_machine", "gpu.cc", "gpu.class", "gpu.vendor", "gpu.visible", "gpu_pair.a", "gpu_pair.b", "gpu_pair.pair",
		"integrity.package", "mount.path", "requirement_conflict.package", "requirement_conflict.name", "spread.count",
		"spread.what", "spread.fact", "spread.subject", "sys_path.exists_", "system.virtualization", "torch.nccl_link",
		"torch.release"};
	if (!e->fact || (e == f->evidence && !e->next))
		return false;
	for (size_t i = 0; i < sizeof asides / sizeof asides[0]; i++)
		if (strcmp(e->fact, asides[i]) == 0)
			return true;
	if (e->value->gap != GAP_NONE && (strcmp(e->fact, "integrity.also_owned_by") == 0 || strcmp(e->fact, "variable.value") == 0))
		return true;
	const char *of = subject_of(f, e);
	return of && e->type == FACTS_TEXT && e->value->gap == GAP_NONE && strcmp(e->value->text, of) == 0;
}

/* With nothing but asides, they are shown. */
static bool is_shown(const struct report *r, const struct finding *f, const struct evidence *e)
{
	if (r->verbose || !is_aside(f, e))
		return true;
	for (const struct evidence *other = f->evidence; other; other = other->next)
		if (!is_aside(f, other))
			return false;
	return true;
}

/* -- facts -------------------------------------------------------------------------------------------------------------- */

static const char *fact_name(const struct report *r, const struct finding *f, const struct evidence *e)
{
	const char *of = subject_of(f, e), *dot_at = strchr(e->fact, '.'), *what = e->fact;
	size_t len = strlen(what);
	if (of && strcmp(e->fact, "variable.value") == 0)
		return of;
	if (!r->verbose && is_size(e))
		len -= strlen("_bytes");
	if (of && dot_at && strlen(of) < SUBJECT_MAX && !strchr(of, '/'))
		return arena_printf(r->arena, "%.*s[%s]%.*s", (int)(dot_at - what), what, of, (int)(len - (size_t)(dot_at - what)), dot_at);
	return arena_printf(r->arena, "%.*s", (int)len, what);
}

static bool same_row(const struct evidence *a, const struct evidence *b)
{
	size_t n = strcspn(a->fact, ".") + 1;
	bool same = !a->subject || !b->subject ? a->subject == b->subject : strcmp(a->subject, b->subject) == 0;
	return b->fact && strncmp(a->fact, b->fact, n) == 0 && same;
}

static const char *origin_of(const struct evidence *e)
{
	return e->origin && strncmp(e->origin, "tables: ", 8) != 0 ? e->origin : NULL;
}

/* Facts in a row that were read in one place stand in one line, the place behind them. */
static const char *fact_line(const struct report *r, const struct finding *f, const struct evidence **at)
{
	struct buf b = BUF_MAX(8192);
	const struct evidence *e = *at, *last = NULL;
	const char *origin = origin_of(e);
	bool told = false;
	for (; e && e->fact; e = e->next) {
		const char *o = origin_of(e);
		if (!is_shown(r, f, e))
			continue;
		if (e != *at && (r->verbose || !origin || !o || strcmp(o, origin) != 0))
			break;
		const char *value = value_text(r, e);
		told |= origin && strcmp(value, origin) == 0;
		const char *name = fact_name(r, f, e), *column = strrchr(name, '.');
		if (last && column && same_row(last, e))
			name = column + 1; /* the table and the row are told */
		buf_fmt(&b, "%s%s = %s", last ? comma(r) : "", name, value);
		last = e;
	}
	*at = e;
	if (origin && (r->verbose || !told))
		buf_fmt(&b, "   %s", origin);
	const char *line = arena_strndup(r->arena, b.ptr, b.len);
	buf_free(&b);
	return line;
}

/* -- what nodes showed together ------------------------------------------------------------------------------------------- */

/* One row of a table, as far as the rule read it. */
struct row {
	const struct report *report;
	const struct evidence *first, *end;
	const char *table;
};

static const struct evidence *member(const struct row *row, const char *column)
{
	for (const struct evidence *e = row->first; e != row->end; e = e->next)
		if (strcmp(strchr(e->fact, '.') + 1, column) == 0)
			return e;
	return NULL;
}

static const char *get(const struct row *row, const char *column)
{
	const struct evidence *e = member(row, column);
	return e && e->value->gap == GAP_NONE ? value_text(row->report, e) : NULL;
}

static const char *problem_text(const struct report *r, const char *problem)
{
	static const struct {
		const char *word, *english, *chinese;
	} words[] = {
		{"dropped", "no answer comes", "没有任何回应"},
		{"refused", "refused, though the node listens", "连接被拒绝，而对方确实在监听"},
		{"rejected", "a firewall answers with no", "被防火墙拒绝"},
		{"no-route", "no route", "没有路由"},
		{"self", "the sender reaches itself", "连到的是自己"},
		{"other", "another machine answers", "应答的是另一台机器"},
		{"silent", "connected, but no data pass", "连接建立，但数据不通"},
		{"failed", "the connection fails", "连接失败"},
		{"mtu-hole", "large packets vanish", "大包被丢弃"},
		{"mtu-differs", "the MTUs differ", "两端 MTU 不同"},
		{"stalled", "data are not acknowledged any more", "数据不再得到确认"},
		{"loss", "packets get lost", "丢包"},
		{"slow", "slow", "速度慢"},
	};
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcmp(words[i].word, problem) == 0)
			return tr(r, words[i].english, words[i].chinese);
	return problem;
}

static void part(const struct row *row, struct buf *b, const char *column, const char *english, const char *chinese)
{
	const char *value = get(row, column);
	if (!value)
		return;
	buf_text(b, b->len ? comma(row->report) : "");
	buf_fmt(b, tr(row->report, english, chinese), value);
}

/* From whom to whom, what happens, how often, and what was measured. */
static void culprit(const struct row *row, struct buf *b)
{
	const struct report *r = row->report;
	const char *source = get(row, "source"), *target = get(row, "target"), *name = get(row, "name"), *pairs = get(row, "pairs"),
		   *of = get(row, "of_pairs");
	const char *control = get(row, "control_open"), *udp = get(row, "udp"), *problem = get(row, "problem"),
		   *address = get(row, "address"), *interface = get(row, "interface");
	if (source && target)
		buf_fmt(b, "%s %s %s", source, r->unicode ? "→" : "->", target);
	else
		buf_text(b, target ? target : name ? name : "");
	if (address)
		buf_fmt(b, interface ? tr(r, " (%s, %s)", "（%s，%s）") : tr(r, " (%s)", "（%s）"), address, interface);
	if (problem)
		buf_fmt(b, "%s%s", b->len ? tr(r, ": ", "：") : "", problem_text(r, problem));
	part(row, b, "error", "\"%s\"", "“%s”");
	if (pairs && of)
		buf_fmt(b, tr(r, ", %s of %s directions", "，%s/%s 个方向"), pairs, of);
	part(row, b, "ifname_rule", "NCCL_SOCKET_IFNAME=%s there", "该节点设置了 NCCL_SOCKET_IFNAME=%s");
	part(row, b, "shared_address", "%s other machines with this address", "另有 %s 台机器使用同一地址");
	if (control)
		buf_fmt(b, "%s%s", comma(r),
			member(row, "control_open")->value->i
				? tr(r, "it answers where it reached rank 0 from", "它连接 rank 0 所用的地址能应答")
				: tr(r, "it does not answer where it reached rank 0 from either", "它连接 rank 0 所用的地址也不应答"));
	if (udp)
		buf_fmt(b, "%s%s", comma(r),
			member(row, "udp")->value->i ? tr(r, "datagrams pass", "UDP 数据报能通过")
						     : tr(r, "datagrams do not pass", "UDP 数据报不通"));
	part(row, b, "mtu_path", "packets up to %s bytes arrive", "能到达的最大包长 %s 字节");
	part(row, b, "mtu_source", "MTU of the sender %s", "发送端 MTU %s");
	part(row, b, "mtu_target", "MTU of the receiver %s", "接收端 MTU %s");
	part(row, b, "lost_percent", "%s %% lost", "丢包 %s%%");
	part(row, b, "mbps", "%s Mbit/s", "%s Mbit/s");
	part(row, b, "usual_mbps", "usual %s Mbit/s", "通常 %s Mbit/s");
}

/* Which nodes have what, against what the others have. */
static void spread(const struct row *row, struct buf *b)
{
	const struct report *r = row->report;
	const char *nodes = get(row, "nodes"), *value = get(row, "value"), *others = get(row, "others"), *what = get(row, "what");
	if (!what)
		what = row->first->subject ? row->first->subject : get(row, "fact");
	if (nodes)
		buf_fmt(b, "%s%s", nodes, tr(r, ": ", "："));
	if (what)
		buf_fmt(b, "%s = ", what);
	buf_text(b, value ? value : tr(r, "none", "无"));
	if (member(row, "others"))
		buf_fmt(b, tr(r, "; the others: %s", "；其他节点：%s"), others ? others : tr(r, "none", "无"));
}

static const char *row_line(const struct report *r, const struct evidence **at, void (*tell)(const struct row *row, struct buf *b))
{
	struct row row = {.report = r, .first = *at};
	struct buf b = BUF_MAX(8192);
	for (row.end = *at; row.end && same_row(*at, row.end); row.end = row.end->next)
		;
	tell(&row, &b);
	*at = row.end;
	const char *line = arena_strndup(r->arena, b.ptr, b.len);
	buf_free(&b);
	return line;
}

const char *evidence_line(const struct report *r, const struct finding *f, const struct evidence **at)
{
	while (*at && (*at)->fact && !is_shown(r, f, *at) && strncmp((*at)->fact, "spread.", 7) != 0 &&
		strncmp((*at)->fact, "culprit.", 8) != 0)
		*at = (*at)->next;
	const struct evidence *e = *at;
	if (!e)
		return NULL;
	if (e->fact && !r->verbose && strncmp(e->fact, "culprit.", 8) == 0)
		return row_line(r, at, culprit);
	if (e->fact && !r->verbose && strncmp(e->fact, "spread.", 7) == 0)
		return row_line(r, at, spread);
	if (e->fact)
		return fact_line(r, f, at);
	*at = e->next;
	return arena_printf(r->arena, "%s:%lld  %s", e->file ? e->file : "-", (long long)e->line, e->text ? e->text : "");
}
