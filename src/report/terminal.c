/* For people: the map with this machine's path, the findings, one verdict line. */
#include "report/evidence.h"
#include "report/text.h"

#define LABEL_COLUMN 6
#define VALUE_COLUMN 16
#define EVIDENCE_SHOWN 5
#define EVIDENCE_BYTES 400
#define LINE_MAX_BYTES 600

static const char *tr(const struct report *r, const char *english, const char *chinese)
{
	return r->chinese ? chinese : english;
}

/* Marks, in Unicode and in ASCII. */
static const char *mark(const struct report *r, enum stage_state s)
{
	static const char *const unicode[] = {"✓", "i", "!", "✗", "?", "·", " "}, *const ascii[] = {"+", "i", "!", "x", "?", "-", " "};
	return r->unicode ? unicode[s] : ascii[s];
}

static enum text_style style_of(enum stage_state s)
{
	static const enum text_style styles[] = {TEXT_GREEN, TEXT_CYAN, TEXT_YELLOW, TEXT_RED, TEXT_YELLOW, TEXT_DIM, TEXT_PLAIN};
	return styles[s];
}

static const char *stage_label(const struct report *r, int stage)
{
	static const char *const chinese[] = {"驱动", "GPU", "PyTorch", "配套包", "动态库", "Python", "编译工具", "容器", "主机", "网络",
		"RDMA", "P2P", "启动", "程序", "硬件", "其他加速卡"};
	return r->chinese ? chinese[stage] : stage_names[stage];
}

static const char *dot(const struct report *r)
{
	return r->unicode ? " · " : " - ";
}

/* -- the map ------------------------------------------------------------------------------------------------------------ */

static void map_line(const struct report *r, struct buf *out, int stage)
{
	const struct judgement *j = r->judgement;
	enum stage_state s = j->stage[stage];
	const char *line = j->stage_line[stage];
	if (s == STAGE_SILENT && !line)
		return;
	if (s == STAGE_SILENT)
		s = STAGE_FINE;
	if (s == STAGE_NOT_REACHED)
		line = arena_printf(
			r->arena, tr(r, "not reached: stands on %s", "未检查：依赖于 %s"), stage_label(r, j->stage_stands_on[stage]));
	for (const struct finding *f = j->findings; f && (s == STAGE_FAIL || s == STAGE_WARN); f = f->next) {
		if (f->stage == stage && (f->status == STATUS_FAIL || f->status == STATUS_WARN)) {
			line = f->title;
			break;
		}
	}
	if (line && !r->verbose && strlen(line) > LINE_MAX_BYTES)
		line = arena_printf(r->arena, "%.*s...", (int)str_cut(str_of(line), LINE_MAX_BYTES).len, line);
	if (!line)
		line = s == STAGE_UNKNOWN ? tr(r, "could not be read", "无法读取") : tr(r, "nothing wrong found", "未发现问题");
	text_pad(out, 2);
	text_style(out, r->color, style_of(s), mark(r, s));
	buf_char(out, ' ');
	buf_text(out, stage_label(r, stage));
	int at = 4 + text_width(str_of(stage_label(r, stage)));
	text_pad(out, at < VALUE_COLUMN ? VALUE_COLUMN - at : 1);
	text_wrap(out, str_of(line), at < VALUE_COLUMN ? VALUE_COLUMN : at + 1, VALUE_COLUMN, r->columns);
	buf_char(out, '\n');
}

/* -- findings ----------------------------------------------------------------------------------------------------------- */

static void label(const struct report *r, struct buf *out, const char *text, bool first)
{
	text_pad(out, LABEL_COLUMN);
	if (first)
		text_style(out, r->color, TEXT_DIM, text);
	int width = first ? text_width(str_of(text)) : 0;
	text_pad(out, VALUE_COLUMN - LABEL_COLUMN - width > 0 ? VALUE_COLUMN - LABEL_COLUMN - width : 1);
}

static void line_of(const struct report *r, struct buf *out, const char *name, bool first, struct str text, bool wrap)
{
	label(r, out, name, first);
	if (wrap)
		text_wrap(out, text, VALUE_COLUMN, VALUE_COLUMN, r->columns);
	else
		buf_str(out, text); /* commands are copied: never broken */
	buf_char(out, '\n');
}

static void seen(const struct report *r, struct buf *out, const struct finding *f)
{
	const struct evidence *e = f->evidence;
	for (int n = 0; r->verbose || n < EVIDENCE_SHOWN; n++) {
		const char *line = evidence_line(r, f, &e);
		if (!line)
			break;
		line_of(r, out, tr(r, "seen", "依据"), n == 0, r->verbose ? str_of(line) : str_cut(str_of(line), EVIDENCE_BYTES), true);
	}
}

static void one_fix(const struct report *r, struct buf *out, const struct fix *fix)
{
	const char *name = fix->workaround ? tr(r, "around", "临时绕过") : tr(r, "cure", "修复");
	bool first = true;
	const char *text = fix->text;
	if (fix->workaround && fix->cost)
		text = text ? arena_printf(r->arena, "%s%s%s", text, tr(r, " Cost: ", "代价："), fix->cost)
			    : arena_printf(r->arena, "%s%s", tr(r, "cost: ", "代价："), fix->cost);
	if (text) {
		line_of(r, out, name, true, str_of(text), true);
		first = false;
	}
	for (size_t i = 0; fix->commands && fix->commands[i]; i++) {
		line_of(r, out, name, first, str_of(fix->commands[i]), false);
		first = false;
	}
	if (strcmp(fix->needs, "root") == 0)
		line_of(r, out, "", false, str_of(tr(r, "(needs root)", "（需要 root 权限）")), true);
	else if (strcmp(fix->needs, "restart") == 0)
		line_of(r, out, "", false, str_of(tr(r, "(needs a restart)", "（需要重启）")), true);
}

static void how(const struct report *r, struct buf *out, const struct finding *f)
{
	int cures = 0, workarounds = 0, left = 0;
	for (const struct fix *fix = f->fixes; fix; fix = fix->next) {
		int *n = fix->workaround ? &workarounds : &cures;
		if (r->verbose || ++*n == 1)
			one_fix(r, out, fix);
		else
			left++;
	}
	for (size_t i = 0; f->verify && f->verify[i]; i++)
		line_of(r, out, tr(r, "verify", "验证"), i == 0, str_of(f->verify[i]), false);
	for (size_t i = 0; f->ask && f->ask[i]; i++)
		line_of(r, out, tr(r, "confirm", "再确认"), i == 0, str_of(f->ask[i]), false);
	if (left)
		line_of(r, out, tr(r, "more", "更多"), true, str_of(arena_printf(r->arena, "davy cause %s", f->cause)), false);
}

static void explains(const struct report *r, struct buf *out, const struct finding *f)
{
	struct buf b = BUF_MAX(4096);
	for (const struct explained *e = f->explains; e; e = e->next)
		buf_fmt(&b, "%s%s%s%lld", b.len ? dot(r) : "", e->symptom, r->unicode ? " ×" : " x", (long long)e->count);
	for (const struct finding *g = f->folded; g; g = g->next)
		buf_fmt(&b, "%s%s", b.len ? dot(r) : "", g->title ? g->title : g->cause);
	if (b.len)
		line_of(r, out, tr(r, "explains", "可解释"), true, buf_view(&b), true);
	buf_free(&b);
}

static void finding(const struct report *r, struct buf *out, const struct finding *f)
{
	static const enum stage_state states[] = {STAGE_FAIL, STAGE_WARN, STAGE_INFO, STAGE_UNKNOWN};
	static const char *const sure_zh[] = {"确定", "很可能", "可能"};
	enum stage_state s = states[f->status];
	const char *sure = r->chinese ? sure_zh[f->certainty] : certainty_name(f->certainty);
	const char *title = f->title ? f->title : f->cause;
	if (f->status == STATUS_UNKNOWN)
		title = arena_printf(r->arena, tr(r, "Could not tell: %s", "无法判断：%s"), title);
	const char *where = f->status == STATUS_INFO ? f->cause : arena_printf(r->arena, "%s%s%s", f->cause, dot(r), sure);
	const char *stop = tr(r, ".", "。");
	text_pad(out, 2);
	text_style(out, r->color, style_of(s), mark(r, s));
	buf_char(out, ' ');
	int width = 4 + text_width(str_of(title)) + text_width(str_of(stop)), right = text_width(str_of(where));
	struct buf heading = BUF_MAX(4096);
	text_wrap(&heading, str_of(arena_printf(r->arena, "%s%s", title, stop)), 4, 4, r->columns);
	text_style(out, r->color, TEXT_BOLD, buf_view(&heading).ptr);
	buf_free(&heading);
	if (width + 2 + right <= r->columns) {
		text_pad(out, r->columns - width - right);
	} else {
		buf_char(out, '\n');
		text_pad(out, r->columns - right > LABEL_COLUMN ? r->columns - right : LABEL_COLUMN);
	}
	text_style(out, r->color, TEXT_DIM, where);
	buf_char(out, '\n');
	bool repeats = f->says && strncmp(f->says, title, strlen(title)) == 0 &&
		(!f->says[strlen(title)] || strcmp(f->says + strlen(title), stop) == 0);
	const char *says = f->says && !repeats ? f->says : f->why;
	if (says && f->rows > 1 && f->first_seq < 0)
		says = arena_printf(r->arena, tr(r, "%s (and %d more like it)", "%s（另有 %d 处相同问题）"), says, f->rows - 1);
	if (says && (f->status != STATUS_INFO || f->says || r->verbose)) {
		text_pad(out, LABEL_COLUMN);
		text_wrap(out, str_of(says), LABEL_COLUMN, LABEL_COLUMN, r->columns);
		buf_char(out, '\n');
	}
	if (f->status == STATUS_INFO && !r->verbose)
		return;
	if (f->rank_count > 1) {
		struct buf ranks = BUF_MAX(4096);
		for (size_t i = 0; i < f->rank_count && i < 64; i++)
			buf_fmt(&ranks, "%s%lld", i ? ", " : "", (long long)f->ranks[i]);
		line_of(r, out, tr(r, "ranks", "进程"), true, buf_view(&ranks), true);
		buf_free(&ranks);
	}
	seen(r, out, f);
	explains(r, out, f);
	how(r, out, f);
	if (r->verbose)
		for (size_t i = 0; f->sources && f->sources[i]; i++)
			line_of(r, out, tr(r, "source", "来源"), i == 0, str_of(f->sources[i]), false);
}

/* -- the verdict -------------------------------------------------------------------------------------------------------- */

static const char *plural(const struct report *r, int n, const char *one, const char *many, const char *chinese)
{
	return r->chinese ? arena_printf(r->arena, "%d %s", n, chinese) : arena_printf(r->arena, "%d %s", n, n == 1 ? one : many);
}

static int unknown_count(const struct report *r)
{
	int n = 0;
	for (const struct unknown_fact *u = r->judgement->unknown; u; u = u->next)
		n++;
	return n;
}

static const char *for_what(const struct report *r)
{
	const struct judgement *j = r->judgement;
	const char *backend = j->backend ? j->backend : "gloo";
	if (r->chinese)
		return j->ranks > 0 ? arena_printf(r->arena, "（%s，%lld 个进程）", backend, (long long)j->ranks)
				    : arena_printf(r->arena, "（%s）", backend);
	return j->ranks > 0 ? arena_printf(r->arena, " for %s with %lld rank%s", backend, (long long)j->ranks, j->ranks == 1 ? "" : "s")
			    : arena_printf(r->arena, " for %s", backend);
}

static const char *cluster_sentence(const struct report *r)
{
	switch (r->judgement->verdict) {
	case VERDICT_READY:
	case VERDICT_CLEAN: return tr(r, "All nodes reach one another", "所有节点都能互相通信");
	case VERDICT_NOT_READY:
	case VERDICT_FAILED: return tr(r, "Not ready as a cluster", "集群未就绪");
	case VERDICT_UNKNOWN: break;
	}
	return tr(r, "Could not tell whether all nodes reach one another", "无法判断所有节点是否都能互相通信");
}

const char *report_verdict(const struct report *r)
{
	const struct judgement *j = r->judgement;
	struct buf b = BUF_MAX(4096);
	if (r->verdict)
		return r->verdict;
	const char *sep = tr(r, ", ", "，");
	int unknown = unknown_count(r);
	if (strcmp(r->command, "cluster") == 0)
		buf_text(&b, cluster_sentence(r));
	else
		switch (j->verdict) {
		case VERDICT_READY: buf_fmt(&b, "%s%s", tr(r, "Ready", "就绪"), for_what(r)); break;
		case VERDICT_NOT_READY: buf_fmt(&b, "%s%s", tr(r, "Not ready", "未就绪"), for_what(r)); break;
		case VERDICT_UNKNOWN:
			if (strcmp(r->command, "explain") == 0)
				buf_text(&b,
					j->failed ? tr(r, "It failed, and the cause is not established", "任务失败，但原因尚未确定")
						: j->partly_read && !j->failure_seen
						? tr(r, "No failure found in what could be read, and not all of it could",
							  "可读取的部分未发现失败，但输入未能全部读取")
						: tr(r, "No failure is certain, and no cause was found",
							  "未能确认是否失败，也没有找到原因"));
			if (!b.len)
				buf_fmt(&b, "%s%s", tr(r, "Could not tell whether this machine is ready", "无法判断是否就绪"), for_what(r));
			break;
		case VERDICT_FAILED: buf_text(&b, tr(r, "The cause is named above", "原因见上")); break;
		case VERDICT_CLEAN: buf_text(&b, tr(r, "No failure found", "未发现失败")); break;
		}
	buf_text(&b, tr(r, ": ", "："));
	buf_text(&b, plural(r, j->fails, "fault", "faults", "处故障"));
	if (j->warns)
		buf_fmt(&b, "%s%s", sep, plural(r, j->warns, "warning", "warnings", "处警告"));
	if (unknown)
		buf_fmt(&b, "%s%s", sep, plural(r, unknown, "thing that could not be read", "things that could not be read", "项无法读取"));
	buf_text(&b, tr(r, ".", "。"));
	const char *text = arena_strndup(r->arena, b.ptr, b.len);
	buf_free(&b);
	return text;
}

static const char *duration(const struct report *r)
{
	double ms = r->total_ms;
	return ms >= 10000 ? arena_printf(r->arena, "%.1f s", ms / 1000) : arena_printf(r->arena, ms < 10 ? "%.1f ms" : "%.0f ms", ms);
}

#define UNREAD_MAX 5

/* What a check could not read, each place once: without it "could not tell" is no answer. */
static void unread(const struct report *r, struct buf *out)
{
	const char *said[UNREAD_MAX];
	size_t n = 0;
	for (const struct facts_table_gap *g = r->facts ? r->facts->gaps : NULL; g && n < UNREAD_MAX; g = g->next) {
		bool refused = g->gap == GAP_DENIED || g->gap == GAP_TIMEOUT || g->gap == GAP_FAILED, known = !g->origin;
		for (size_t i = 0; refused && !known && i < n; i++)
			known = strcmp(said[i], g->origin) == 0;
		if (!refused || known)
			continue;
		const char *text = arena_printf(r->arena, "%s: %s%s%s", g->origin, facts_gap_name(g->gap),
			g->detail && *g->detail ? ", " : "", g->detail ? g->detail : "");
		line_of(r, out, tr(r, "unread", "未读到"), n == 0, str_of(text), true);
		said[n++] = g->origin;
	}
	if (n)
		buf_char(out, '\n');
}

void report_terminal(const struct report *r, struct buf *out)
{
	const struct judgement *j = r->judgement;
	if (r->headline) {
		text_wrap(out, str_of(r->headline), 0, 2, r->columns);
		buf_text(out, "\n\n");
	}
	if (r->block) {
		buf_text(out, r->block);
		buf_char(out, '\n');
	}
	if (strcmp(r->command, "check") == 0) {
		for (int i = 0; i < STAGE_COUNT; i++)
			map_line(r, out, i);
		buf_char(out, '\n');
	}
	for (const struct finding *f = j->findings; f; f = f->next) {
		if (f->status == STATUS_INFO && !f->says && !r->verbose)
			continue;
		finding(r, out, f);
		buf_char(out, '\n');
	}
	if (j->verdict == VERDICT_UNKNOWN && strcmp(r->command, "check") == 0)
		unread(r, out);
	if (j->verdict == VERDICT_UNKNOWN && j->ask && j->ask[0]) {
		for (size_t i = 0; j->ask[i]; i++)
			line_of(r, out, tr(r, "collect", "请收集"), i == 0, str_of(j->ask[i]), false);
		buf_char(out, '\n');
	}
	const char *verdict = report_verdict(r), *took = duration(r);
	int width = 2 + text_width(str_of(verdict)), right = (int)strlen(took);
	enum text_style style = j->verdict == VERDICT_READY || j->verdict == VERDICT_CLEAN ? TEXT_GREEN
		: j->verdict == VERDICT_UNKNOWN                                            ? TEXT_YELLOW
											   : TEXT_RED;
	text_pad(out, 2);
	if (width + 2 + right <= r->columns) {
		text_style(out, r->color, style, verdict);
		text_pad(out, r->columns - width - right);
	} else {
		struct buf wrapped = BUF_MAX(4096);
		text_wrap(&wrapped, str_of(verdict), 2, 2, r->columns);
		text_style(out, r->color, style, buf_view(&wrapped).ptr);
		buf_free(&wrapped);
		buf_char(out, '\n');
		text_pad(out, r->columns > right ? r->columns - right : 0);
	}
	text_style(out, r->color, TEXT_DIM, took);
	buf_char(out, '\n');
}

void report_quiet(const struct report *r, struct buf *out)
{
	const struct judgement *j = r->judgement;
	if (j->verdict == VERDICT_READY || j->verdict == VERDICT_CLEAN)
		return;
	const struct finding *f = j->findings;
	if (f && (f->status == STATUS_FAIL || f->status == STATUS_UNKNOWN))
		buf_fmt(out, "davy: %s: %s\n", f->cause, f->says ? f->says : f->title);
	else
		buf_fmt(out, "davy: %s\n", report_verdict(r));
}
