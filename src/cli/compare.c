/* davy compare A B...: what differs between two snapshots, or which of many nodes are odd. */
#include "cli/compare.h"

#include <errno.h>

#include "fleet/nodelist.h"
#include "report/text.h"

#define STALE_S 86400

/* --nodes LIST, or a file with names. */
static int expected_nodes(struct cli *c, struct outliers_options *options)
{
	const char *list = c->options.nodes, *cwd = host_cwd(c->host);
	struct str text = list ? str_of(list) : STR("");
	struct host_stat st;
	if (!list)
		return 0;
	const char *path = list[0] == '/' || !cwd ? list : arena_printf(c->arena, "%s/%s", cwd, list);
	if (strlen(path) < 4096 && host_stat(c->host, path, &st) == 0 && st.kind == HOST_FILE) {
		int rc = host_read(c->host, path, 0, &text);
		if (rc < 0)
			return cli_fail(c, EXIT_NO_INPUT, "%s: %s", list, strerror(-rc));
	}
	const char *const *names;
	if (nodelist_expand(c->arena, text, &names, &options->expected_count) < 0)
		return cli_fail(c, EXIT_USAGE,
			cli_tr(c, "--nodes %s: no list of nodes, as gpu[01-16],login1",
				"--nodes %s：不是节点列表，写法如 gpu[01-16],login1"),
			list);
	options->expected_names = names;
	return 0;
}

static int ignored(struct cli *c, struct align *al)
{
	struct str rest = str_of(c->options.ignore ? c->options.ignore : ""), one;
	while (c->options.ignore && str_next_field(&rest, ',', &one)) {
		const char *name = str_dup(c->arena, str_trim(one));
		if (*name && align_ignore(al, name) < 0)
			return cli_fail(c, EXIT_USAGE,
				cli_tr(c, "--ignore %s: there is nothing of this name to compare", "--ignore %s：没有名为此的比较项"),
				name);
	}
	return 0;
}

static int options_of(struct cli *c, struct align *al, struct outliers_options *options)
{
	int64_t hours;
	const char *by = c->options.by, *stale = c->options.stale;
	if (by && strcmp(by, "none") != 0 && align_group_by(al, by) < 0)
		return cli_fail(c, EXIT_USAGE,
			cli_tr(c, "--by %s: neither gpu, partition, none nor a fact", "--by %s：应为 gpu、partition、none 或某一事实"), by);
	if (stale && (str_to_int(str_of(stale), &hours) < 0 || hours < 1 || hours > 1000000))
		return cli_fail(c, EXIT_USAGE, cli_tr(c, "--stale %s: not a number of hours", "--stale %s：不是小时数"), stale);
	options->by = by;
	options->stale_s = stale ? hours * 3600 : STALE_S;
	options->now = host_now(c->host);
	int rc = ignored(c, al);
	return rc ? rc : expected_nodes(c, options);
}

/* The reference is one node and no member of the fleet. */
static int read_golden(struct cli *c, struct compare_input *in, struct outliers_options *options)
{
	const char *golden = c->options.golden;
	if (!golden)
		return 0;
	if (compare_read(in, golden) < 0)
		return cli_fail(
			c, EXIT_NO_INPUT, cli_tr(c, "--golden %s: no such file or folder", "--golden %s：没有这个文件或目录"), golden);
	if (in->align->node_count != 1)
		return cli_fail(c, EXIT_NO_INPUT,
			in->align->lost ? "--golden %s: %s"
					: cli_tr(c, "--golden %s: a reference is one node", "--golden %s：参照必须是单个节点"),
			golden, in->align->lost ? in->align->lost->why : "");
	options->golden = 0;
	return 0;
}

bool compare_has_drift(const struct outliers *o)
{
	for (const struct outlier_group *g = o->groups; g; g = g->next)
		for (const struct outlier *f = g->first; f; f = f->next)
			if (f->role >= ROLE_DRIFT && f->odd)
				return true;
	return false;
}

void compare_name_evidence(struct arena *a, const struct facts *f, struct judgement *j)
{
	for (struct finding *x = j->findings; x; x = x->next) {
		struct evidence **place = &x->evidence;
		while (*place) {
			struct evidence *e = *place;
			const struct facts_row *row = f->first[TABLE_spread];
			while (row && e->value != facts_value(row, spread__value))
				row = row->next;
			if (e->fact && !row && (strncmp(e->fact, "spread.", 7) == 0 || strncmp(e->fact, "fleet.", 6) == 0)) {
				*place = e->next; /* says the same again */
				continue;
			}
			if (row) {
				e->fact = facts_get_text(row, spread__fact);
				e->subject = facts_get_text(row, spread__subject);
				e->origin = arena_printf(a, "%s", facts_get_text(row, spread__nodes));
			}
			place = &e->next;
		}
	}
}

static void decide(const struct outliers *o, struct judgement *j)
{
	if (j->fails || (o->pair != PAIR_NONE && compare_has_drift(o)))
		j->verdict = VERDICT_FAILED;
	else if (o->missing_count || o->stale_count || o->align->lost_count || (o->align->node_count < 2) || !o->facts)
		j->verdict = VERDICT_UNKNOWN;
	else
		j->verdict = VERDICT_CLEAN;
}

static const char *counted(struct cli *c, int n, const char *one, const char *many, const char *chinese)
{
	return arena_printf(c->arena, "%d %s", n, c->chinese ? chinese : n == 1 ? one : many);
}

/* Facts that differ, without those that follow from others. */
static size_t count_different(const struct outliers *o)
{
	size_t n = 0;
	for (const struct outlier_group *g = o->groups; g; g = g->next)
		for (const struct outlier *f = g->first; f; f = f->next)
			n += f->folded < f->odd && (o->pair != PAIR_NONE || f->role >= ROLE_DRIFT);
	return n;
}

static const char *likeness(struct cli *c, const struct outliers *o, size_t nodes)
{
	size_t different = count_different(o);
	if (!nodes)
		return cli_tr(c, "No node could be read", "没有读到任何节点");
	if (nodes < 2 && !c->options.golden)
		return cli_tr(c, "Only one node could be read: nothing to compare it with", "只读到一个节点，无从比较");
	if (!o->facts)
		return cli_tr(c, "They have no fact in common that is compared", "没有可供比较的共同事实");
	if (o->pair != PAIR_NONE && different)
		return arena_printf(
			c->arena, "%s%s", cli_tr(c, "They differ in ", "有差异："), counted(c, (int)different, "fact", "facts", "项"));
	if (o->pair != PAIR_NONE)
		return arena_printf(
			c->arena, cli_tr(c, "They are alike in all %zu facts that are compared", "比较的 %zu 项事实全部相同"), o->facts);
	if (o->odd_count && c->options.golden)
		return arena_printf(
			c->arena, cli_tr(c, "%zu of %zu differ from the reference", "与参照不同的节点：%zu / %zu"), o->odd_count, nodes);
	if (o->odd_count)
		return arena_printf(c->arena, cli_tr(c, "%zu of %zu nodes differ from the others", "与其他节点不同的节点：%zu / %zu"),
			o->odd_count, nodes);
	if (different)
		return arena_printf(c->arena, cli_tr(c, "The %zu nodes are not alike", "%zu 个节点不一致"), nodes);
	if (nodes == 1)
		return arena_printf(c->arena,
			cli_tr(c, "The node is as the reference in all %zu facts that are compared",
				"该节点与参照在比较的 %zu 项事实上一致"),
			o->facts);
	return arena_printf(c->arena,
		cli_tr(c, "All %zu nodes are alike in what matters (%zu facts)", "全部 %zu 个节点在重要事实上一致（%zu 项）"), nodes,
		o->facts);
}

static void append(struct cli *c, struct buf *b, bool *said, int n, const char *one, const char *many, const char *chinese)
{
	if (n)
		buf_fmt(b, "%s%s", *said ? cli_tr(c, ", ", "，") : cli_tr(c, ": ", "："), counted(c, n, one, many, chinese));
	*said |= n != 0;
}

static const char *verdict(struct cli *c, const struct outliers *o, const struct judgement *j)
{
	struct buf b = BUF_MAX(4096);
	bool said = false;
	buf_text(&b, likeness(c, o, o->align->node_count - (c->options.golden != NULL)));
	append(c, &b, &said, j->fails, "fault", "faults", "处故障");
	append(c, &b, &said, j->warns, "warning", "warnings", "处警告");
	append(c, &b, &said, (int)o->missing_count, "node missing", "nodes missing", "个节点缺少");
	append(c, &b, &said, (int)o->align->lost_count, "input not counted", "inputs not counted", "个输入未计入");
	append(c, &b, &said, (int)o->stale_count, "node stale", "nodes stale", "个节点过时");
	buf_text(&b, cli_tr(c, ".", "。"));
	const char *text = arena_strndup(c->arena, b.ptr, b.len);
	buf_free(&b);
	return text;
}

/* "davy 0.1.0   compare   100 nodes in 2 groups" */
static const char *headline(struct cli *c, const struct outliers *o)
{
	size_t nodes = o->align->node_count - (c->options.golden != NULL);
	const struct align_node *a = o->align->nodes;
	if (o->pair != PAIR_NONE)
		return arena_printf(c->arena, "davy %s   %s%s%s", DAVY_VERSION, o->same_machine ? a[0].source : o->label[0],
			c->unicode ? " → " : " -> ", o->same_machine ? a[1].source : o->label[1]);
	const char *count = counted(c, (int)nodes, "node", "nodes", "个节点");
	if (o->group_count > 1)
		return arena_printf(c->arena, cli_tr(c, "davy %s   %s in %zu groups, by %s", "davy %s   %s，%zu 组，按 %s 分组"),
			DAVY_VERSION, count, o->group_count, o->grouped_by);
	return arena_printf(c->arena, "davy %s   %s", DAVY_VERSION, count);
}

static void write_extra(struct json_writer *w, void *arg)
{
	compare_json(w, arg);
}

static int exit_of(const struct cli *c, const struct judgement *j)
{
	return j->verdict == VERDICT_FAILED || (c->options.strict && j->warns) ? EXIT_FAULT
		: j->verdict == VERDICT_UNKNOWN                                ? EXIT_UNKNOWN
									       : EXIT_FINE;
}

static int show(struct cli *c, struct outliers *o, const struct facts *f, struct judgement *j)
{
	struct report r = cli_report(c, j, f);
	struct json_extra extra = {write_extra, o};
	struct buf out = BUF_MAX((size_t)1 << 30);
	r.verdict = verdict(c, o, j);
	r.extra = &extra;
	if (c->options.json) {
		report_json(&r, &out);
	} else if (c->options.quiet) {
		report_quiet(&r, &out);
	} else {
		text_wrap(&out, str_of(headline(c, o)), 0, 2, c->columns);
		buf_text(&out, "\n\n");
		compare_text(c, o, &out);
		report_terminal(&r, &out);
	}
	int rc = cli_print(&out, exit_of(c, j));
	buf_free(&out);
	return rc;
}

static int judge_outliers(struct cli *c, struct store *s, struct outliers *o)
{
	struct facts *f = facts_new(c->arena);
	struct judgement j;
	outliers_spread(o, f);
	struct judge judge = {
		.arena = c->arena, .store = s, .facts = f, .mode = JUDGE_FLEET, .chinese = c->chinese, .only = c->options.only};
	int rc = store_load(s, f);
	if (rc < 0)
		return cli_fail(c, EXIT_DEFECT, cli_tr(c, "facts could not be stored: %s", "事实无法入库：%s"), strerror(-rc));
	rc = cli_only(c, &judge);
	if (rc)
		return rc;
	judge_run(&judge, &j);
	compare_name_evidence(c->arena, f, &j);
	decide(o, &j);
	return show(c, o, f, &j);
}

static int find_and_show(struct cli *c, struct store *s, struct align *al, const struct outliers_options *options)
{
	struct outliers *o;
	int rc = outliers_find(c->arena, al, options, &o);
	if (rc == -E2BIG)
		rc = cli_fail(c, EXIT_USAGE,
			cli_tr(c, "--by %s: it has too many different values to group by", "--by %s：取值过多，无法分组"), options->by);
	else if (rc < 0)
		rc = cli_fail(c, EXIT_USAGE, cli_tr(c, "--by %s: no node knows it", "--by %s：没有节点有这一事实"), options->by);
	else
		rc = judge_outliers(c, s, o);
	outliers_free(o);
	return rc;
}

static int compare_all(struct cli *c, struct store *s, struct align *al)
{
	struct outliers_options options = {.golden = UINT32_MAX};
	struct compare_input in = {.c = c, .align = al};
	int rc = options_of(c, al, &options);
	if (!rc)
		rc = read_golden(c, &in, &options);
	for (size_t i = 0; i < c->arg_count && !rc; i++)
		compare_read(&in, c->args[i]);
	compare_input_free(&in);
	if (rc)
		return rc;
	if (in.missing == c->arg_count)
		return cli_fail(c, EXIT_NO_INPUT, "%s: %s", c->args[0], al->lost->why);
	return find_and_show(c, s, al, &options);
}

int cli_compare(struct cli *c)
{
	struct align *al;
	const char *why = "";
	if (!c->arg_count)
		return cli_fail(c, EXIT_USAGE, "%s",
			cli_tr(c, "compare what? Snapshots, folders of them, archives, or davy check --json outputs; - is standard input",
				"比较什么？可给出快照、快照目录、归档或 davy check --json 的输出；- 表示标准输入"));
	struct store *s = cli_knowledge(c);
	if (!s)
		return EXIT_DEFECT;
	int rc = align_new(s, &al, &why);
	rc = rc < 0 ? cli_fail(c, EXIT_DEFECT, "%s", why) : compare_all(c, s, al);
	align_free(al);
	store_close(s);
	return rc;
}
