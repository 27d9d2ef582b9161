/* davy compare for people: who is odd, in what, and what the others have. */
#include "cli/compare.h"
#include "fleet/nodelist.h"
#include "report/text.h"

#define WHAT_COLUMN 4
#define VALUE_COLUMN 34
#define VALUE_SHOWN 30 /* bytes of a value */
#define NODES_SHOWN 36 /* bytes of a list of nodes in a line */
#define LIST_SHOWN 400 /* bytes of a list of nodes on its own */
#define VALUES_SHOWN 4
#define FACTS_SHOWN 40
#define ODD_SHOWN 8

static const char *mark(const struct cli *c, enum align_role role)
{
	return role == ROLE_BREAK ? (c->unicode ? "✗" : "x") : role == ROLE_DRIFT ? "!" : c->unicode ? "·" : "-";
}

static enum text_style style_of(enum align_role role)
{
	return role == ROLE_BREAK ? TEXT_RED : role == ROLE_DRIFT ? TEXT_YELLOW : TEXT_DIM;
}

static const char *value_text(struct cli *c, const struct align_slot *slot, const char *text)
{
	static const char *const units[] = {"MB", "GB", "TB"};
	double x;
	if (!text)
		return cli_tr(c, "none", "无");
	if (slot->column != COLUMN_COUNT && facts_columns[slot->column].type == FACTS_BOOL && !strchr(text, ','))
		return strcmp(text, "true") == 0 ? cli_tr(c, "yes", "是") : cli_tr(c, "no", "否");
	if (slot->column != COLUMN_COUNT && strcmp(facts_columns[slot->column].unit, "bytes") == 0 && str_to_real(str_of(text), &x) == 0 &&
		x >= 1 << 20) {
		size_t i = 0;
		for (x /= 1 << 20; x >= 1024 && i < 2; i++)
			x /= 1024;
		return arena_printf(c->arena, "%.4g %s", x, units[i]);
	}
	if (!*text)
		return cli_tr(c, "empty", "空");
	struct str cut = str_cut(str_of(text), VALUE_SHOWN);
	return cut.len < strlen(text) && !c->options.verbose
		? arena_printf(c->arena, "%.*s%s", (int)cut.len, cut.ptr, c->unicode ? "…" : "...")
		: text;
}

static void row(struct cli *c, struct buf *out, enum align_role role, const char *what, const char *text)
{
	text_pad(out, 2);
	text_style(out, c->color, style_of(role), mark(c, role));
	buf_char(out, ' ');
	buf_text(out, what);
	int at = WHAT_COLUMN + text_width(str_of(what));
	if (at + 2 > VALUE_COLUMN) {
		buf_char(out, '\n');
		at = 0;
	}
	text_pad(out, VALUE_COLUMN - at);
	text_wrap(out, str_of(text), VALUE_COLUMN, VALUE_COLUMN, c->columns);
	buf_char(out, '\n');
}

static const char *arrow(const struct cli *c)
{
	return c->unicode ? " → " : " -> ";
}

/* Of two: what the first has, then the second. */
static const char *pair_text(struct cli *c, const struct outlier *f)
{
	const char *value[2] = {NULL, NULL};
	bool known[2] = {false, false};
	for (const struct outlier_value *v = f->values; v; v = v->next)
		for (uint32_t i = 0; i < 2; i++)
			if (nodeset_has(&v->nodes, i)) {
				value[i] = v->text;
				known[i] = true;
			}
	return arena_printf(c->arena, "%s%s%s", known[0] ? value_text(c, f->slot, value[0]) : "?", arrow(c),
		known[1] ? value_text(c, f->slot, value[1]) : "?");
}

/* "570.124.06 on node[17,42]; 98 nodes have 580.65.06" */
static const char *fleet_text(struct cli *c, const struct outliers *o, const struct outlier *f)
{
	struct buf b = BUF_MAX(65536);
	int n = 0;
	const struct outlier_value *v;
	for (v = f->values; v; v = v->next) {
		if (v->majority)
			continue;
		if (n++ == VALUES_SHOWN && !c->options.verbose) {
			buf_text(&b, cli_tr(c, "; and other values", "；还有其他取值"));
			break;
		}
		const char *nodes = outliers_nodes(o, c->arena, &v->nodes, c->options.verbose ? 0 : NODES_SHOWN);
		if (strstr(nodes, ",..."))
			nodes = arena_printf(c->arena, cli_tr(c, "%u nodes (%s)", "%u 个节点（%s）"), v->nodes.count, nodes);
		buf_fmt(&b, cli_tr(c, "%s%s on %s", "%s%s：%s"), n > 1 ? cli_tr(c, "; ", "；") : "", value_text(c, f->slot, v->text),
			nodes);
	}
	for (v = f->values; v && !v->majority; v = v->next)
		;
	if (f->golden)
		buf_fmt(&b, cli_tr(c, "; the reference has %s", "；参照为 %s"), value_text(c, f->slot, f->expected));
	else if (v)
		buf_fmt(&b,
			v->nodes.count == 1 ? cli_tr(c, "; %u node has %s", "；另 %u 个节点为 %s")
					    : cli_tr(c, "; %u nodes have %s", "；另 %u 个节点为 %s"),
			v->nodes.count, value_text(c, f->slot, v->text));
	const char *text = arena_strndup(c->arena, buf_view(&b).ptr ? b.ptr : "", b.len);
	buf_free(&b);
	return text;
}

static bool is_folded(const struct outlier *f)
{
	return f->odd && f->folded == f->odd;
}

static void facts_of(struct cli *c, const struct outliers *o, const struct outlier_group *g, struct buf *out)
{
	size_t shown = 0, harmless = 0, following = 0, left = 0;
	bool all = c->options.verbose || o->pair != PAIR_NONE;
	for (const struct outlier *f = g->first; f; f = f->next) {
		if (!c->options.verbose && is_folded(f)) {
			following++;
		} else if (!all && f->role < ROLE_DRIFT) {
			harmless++;
		} else if (shown == FACTS_SHOWN && !c->options.verbose) {
			left++;
		} else {
			row(c, out, f->role, outliers_what(c->arena, f), o->pair != PAIR_NONE ? pair_text(c, f) : fleet_text(c, o, f));
			shown++;
		}
	}
	struct buf b = BUF_MAX(1024);
	if (left)
		buf_fmt(&b, cli_tr(c, "%zu more of them", "另有 %zu 项"), left);
	if (following)
		buf_fmt(&b, cli_tr(c, "%s%zu that follow from these", "%s由此产生的 %zu 项"), b.len ? cli_tr(c, "; ", "；") : "",
			following);
	if (harmless)
		buf_fmt(&b, cli_tr(c, "%s%zu that do no harm", "%s无害的 %zu 项"), b.len ? cli_tr(c, "; ", "；") : "", harmless);
	if (b.len) {
		buf_text(&b, cli_tr(c, " (--verbose)", "（--verbose）"));
		row(c, out, ROLE_SHOW, cli_tr(c, "not shown", "未列出"), buf_view(&b).ptr);
	}
	buf_free(&b);
}

/* -- nodes ---------------------------------------------------------------------------------------------------------------------- */

/* A list of names, broken behind commas. */
static void put_list(struct cli *c, struct buf *out, const char *text, int at, int indent)
{
	while (*text) {
		size_t n = strcspn(text, ",");
		n += text[n] == ',';
		int width = text_width(str_n(text, n));
		if (at > indent && at + width > c->columns) {
			buf_char(out, '\n');
			text_pad(out, indent);
			at = indent;
		}
		buf_add(out, text, n);
		at += width;
		text += n;
	}
}

static void label(struct cli *c, struct buf *out, enum text_style style, const char *text)
{
	text_pad(out, WHAT_COLUMN);
	text_style(out, c->color, style, text);
	int at = WHAT_COLUMN + text_width(str_of(text));
	text_pad(out, at < 16 ? 16 - at : 1);
}

static void line(struct cli *c, struct buf *out, enum text_style style, const char *what, const char *text)
{
	label(c, out, style, what);
	int at = WHAT_COLUMN + text_width(str_of(what));
	text_wrap(out, str_of(text), at < 16 ? 16 : at + 1, 16, c->columns);
	buf_char(out, '\n');
}

static void odd_nodes(struct cli *c, const struct outliers *o, struct buf *out)
{
	struct buf b = BUF_MAX(65536);
	size_t n = o->odd_count < ODD_SHOWN || c->options.verbose ? o->odd_count : ODD_SHOWN;
	for (size_t i = 0; i < n; i++)
		buf_fmt(&b,
			o->odd[i].facts == 1 ? cli_tr(c, "%s%s (1 fact)", "%s%s（%zu 项）")
					     : cli_tr(c, "%s%s (%zu facts)", "%s%s（%zu 项）"),
			i ? cli_tr(c, ", ", "，") : "", o->label[o->odd[i].node], o->odd[i].facts);
	if (n < o->odd_count)
		buf_fmt(&b, cli_tr(c, " and %zu more", "，另有 %zu 个"), o->odd_count - n);
	if (b.len)
		line(c, out, TEXT_BOLD, cli_tr(c, "odd", "异常节点"), buf_view(&b).ptr);
	buf_free(&b);
}

static void names(struct cli *c, struct buf *out, const char *what, const char *const *list, size_t count)
{
	if (!count)
		return;
	label(c, out, TEXT_YELLOW, what);
	put_list(c, out,
		arena_printf(c->arena, "%s (%zu)", nodelist_fold(c->arena, list, count, c->options.verbose ? 0 : LIST_SHOWN), count), 16,
		16);
	buf_char(out, '\n');
}

static void lost(struct cli *c, const struct outliers *o, struct buf *out)
{
	size_t n = 0;
	for (const struct align_lost *l = o->align->lost; l; l = l->next) {
		if (n++ == ODD_SHOWN && !c->options.verbose) {
			line(c, out, TEXT_YELLOW, "",
				arena_printf(c->arena, cli_tr(c, "and %zu more", "另有 %zu 个"), o->align->lost_count - ODD_SHOWN));
			break;
		}
		line(c, out, TEXT_YELLOW, n == 1 ? cli_tr(c, "not counted", "未计入") : "",
			arena_printf(c->arena, cli_tr(c, "%s: %s", "%s：%s"), l->source, l->why ? l->why : "?"));
	}
}

static void group_head(struct cli *c, const struct outlier_group *g, const struct outliers *o, struct buf *out)
{
	bool gpu = strcmp(o->grouped_by, "gpu.name") == 0;
	const char *name = g->name ? g->name : gpu ? cli_tr(c, "no GPU", "无 GPU") : cli_tr(c, "not said", "未知");
	const char *nodes = outliers_nodes(o, c->arena, &g->nodes, c->options.verbose ? 0 : LIST_SHOWN);
	bool drift = false;
	for (const struct outlier *f = g->first; f; f = f->next)
		drift |= f->role >= ROLE_DRIFT && !is_folded(f);
	const char *count = arena_printf(
		c->arena, g->nodes.count == 1 ? cli_tr(c, "1 node", "1 个节点") : cli_tr(c, "%u nodes", "%u 个节点"), g->nodes.count);
	text_pad(out, 2);
	text_wrap(out,
		str_of(arena_printf(
			c->arena, cli_tr(c, "%s: %s%s", "%s：%s%s"), name, count, drift ? "" : cli_tr(c, ", all alike", "，全部一致"))),
		2, 4, c->columns);
	buf_text(out, "\n    ");
	put_list(c, out, nodes, 4, 4);
	buf_char(out, '\n');
}

void compare_text(struct cli *c, const struct outliers *o, struct buf *out)
{
	size_t before = out->len;
	if (o->pair == PAIR_NONE)
		odd_nodes(c, o, out);
	names(c, out, cli_tr(c, "missing", "缺少"), o->missing, o->missing_count);
	names(c, out, cli_tr(c, "stale", "过时"), o->stale, o->stale_count);
	names(c, out, cli_tr(c, "repeated", "重复"), o->repeated, o->pair == PAIR_NONE ? o->repeated_count : 0);
	lost(c, o, out);
	if (out->len > before)
		buf_char(out, '\n');
	for (const struct outlier_group *g = o->groups; g; g = g->next) {
		before = out->len;
		if (o->grouped_by)
			group_head(c, g, o, out);
		facts_of(c, o, g, out);
		if (out->len > before)
			buf_char(out, '\n');
	}
}
