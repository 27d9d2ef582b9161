/* davy history: the attempts that run recorded, and what changed between them. */
#include "act/history.h"

#include <errno.h>
#include <unistd.h>

#include "act/history_diff.h"
#include "cli/cli.h"
#include "facts/ledger.h"
#include "host/redact.h"
#include "logs/input.h"
#include "report/json_writer.h"
#include "report/text.h"

#define SHOWN 20
#define FACTS_SHOWN 4
#define COMMAND_WIDTH 60

struct past {
	struct cli *c;
	struct history_place place;
	struct ledger *ledger;
	struct history_attempt *attempt;
	size_t count;
	struct buf out;
};

static int failed(struct past *p, int rc)
{
	struct cli *c = p->c;
	if (rc == -EBADMSG)
		return cli_fail(c, EXIT_UNKNOWN,
			cli_tr(c, "%s is damaged or no history of Davy's; move it away, and the next attempt begins a new one",
				"%s 已损坏或不是 Davy 的历史记录；将其移走后，下一次尝试会重新开始"),
			p->place.file);
	if (rc == -EPROTO)
		return cli_fail(c, EXIT_UNKNOWN, cli_tr(c, "%s was made by a newer Davy", "%s 由更新版本的 Davy 创建"), p->place.file);
	if (!p->place.file)
		return cli_fail(c, EXIT_UNKNOWN, "%s",
			cli_tr(c, "where the history is, is not known: neither XDG_STATE_HOME nor HOME is set to an absolute path",
				"不知道历史记录在哪里：XDG_STATE_HOME 和 HOME 均未设为绝对路径"));
	return cli_fail(c, EXIT_UNKNOWN, "%s: %s", p->place.file,
		rc == -EMEDIUMTYPE ? cli_tr(c, "no regular file", "不是普通文件") : strerror(-rc));
}

static int open_past(struct past *p, bool write, size_t limit)
{
	struct cli *c = p->c;
	p->place = history_place(c->arena, c->host);
	int rc = history_open(&p->place, write, &p->ledger);
	if (rc == 0)
		rc = history_read(c->arena, c->host, p->ledger, limit, &p->attempt, &p->count);
	if (rc == -ENOENT && p->place.folder)
		return 0;
	return rc < 0 ? failed(p, rc) : 0;
}

static struct history_attempt *find(struct past *p, int64_t id)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->attempt[i].id == id)
			return &p->attempt[i];
	return NULL;
}

/* An attempt by its number; no text: the last. NULL: said, *ret_status set. */
static struct history_attempt *attempt_of(struct past *p, const char *text, int *ret_status)
{
	int64_t id;
	struct cli *c = p->c;
	if (!text && p->count)
		return &p->attempt[p->count - 1];
	if (text && str_to_int(str_of(text), &id) < 0) {
		*ret_status = cli_fail(c, EXIT_USAGE, cli_tr(c, "'%s' is no number of an attempt", "“%s”不是尝试的编号"), text);
		return NULL;
	}
	struct history_attempt *a = text ? find(p, id) : NULL;
	if (!a)
		*ret_status = text
			? cli_fail(c, EXIT_NO_INPUT, cli_tr(c, "there is no attempt %s", "没有第 %s 次尝试"), text)
			: cli_fail(c, EXIT_NO_INPUT, "%s",
				  cli_tr(c, "no attempt is recorded yet: davy run -- COMMAND", "还没有任何记录：davy run -- 命令"));
	return a;
}

/* -- words --------------------------------------------------------------------------------------------------------------- */

static const char *when(struct cli *c, int64_t ms)
{
	char text[32];
	struct tm tm;
	time_t t = (time_t)(ms / 1000);
	if (!localtime_r(&t, &tm) || !strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm))
		return "?"; /* a damaged history may hold any number */
	return arena_strdup(c->arena, text);
}

static const char *took(struct cli *c, const struct history_attempt *a)
{
	double s = (double)(a->ended_ms - a->started_ms) / 1000;
	if (!a->ended_ms || s < 0)
		return "-";
	return s < 60      ? arena_printf(c->arena, "%.1f s", s)
		: s < 3600 ? arena_printf(c->arena, "%d m %02d s", (int)s / 60, (int)s % 60)
			   : arena_printf(c->arena, "%d h %02d m", (int)(s / 3600), (int)s / 60 % 60);
}

static const char *sure_text(struct cli *c, const char *certainty)
{
	static const char *const chinese[][2] = {{"certain", "确定"}, {"likely", "很可能"}, {"possible", "可能"}};
	for (size_t i = 0; c->chinese && certainty && i < sizeof chinese / sizeof chinese[0]; i++)
		if (strcmp(certainty, chinese[i][0]) == 0)
			return arena_printf(c->arena, "（%s）", chinese[i][1]);
	return certainty ? arena_printf(c->arena, " (%s)", certainty) : "";
}

static const char *outcome_text(struct cli *c, const struct history_attempt *a)
{
	static const char *const names[][3] = {{"ok", "good", "成功"}, {"failed", "failed", "失败"}, {"stopped", "stopped", "被中止"},
		{"refused", "refused", "未予启动"}, {"not-started", "not started", "无法启动"}, {"running", "running", "运行中"},
		{"lost", "no end known", "结局不明"}};
	const char *text = a->outcome;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(a->outcome, names[i][0]) == 0)
			text = cli_tr(c, names[i][1], names[i][2]);
	return strcmp(a->outcome, "failed") == 0 || strcmp(a->outcome, "stopped") == 0
		? arena_printf(c->arena, "%s (%lld)", text, (long long)a->status)
		: text;
}

static const char *const group_names[][2] = {{"command", "命令参数"}, {"file", "文件"}, {"code", "代码提交"}, {"variable", "环境变量"},
	{"nccl.conf", "nccl.conf 设置"}, {"machine", "机器"}, {"limit", "资源限制"}, {"system", "操作系统"}, {"sysctl", "内核参数"},
	{"mount", "文件系统"}, {"container", "容器"}, {"driver", "驱动"}, {"hardware", "硬件"}, {"network", "网络"}, {"rdma", "RDMA"},
	{"python", "Python 解释器"}, {"package", "软件包"}, {"libraries", "动态库"}, {"search-path", "模块搜索路径"},
	{"programs", "工具程序"}, {"purpose", "用途"}};
#define GROUP_NAMES (sizeof group_names / sizeof group_names[0])

static const char *group_text(struct cli *c, const struct history_thing *t)
{
	const char *text = t->group;
	for (size_t i = 0; c->chinese && i < GROUP_NAMES; i++)
		if (strcmp(t->group, group_names[i][0]) == 0)
			text = group_names[i][1];
	return t->name ? arena_printf(c->arena, "%s %s", text, t->name) : text;
}

/* "package torch, driver +2" as it was recorded, in the reader's language. */
static const char *changed_text(struct cli *c, const char *changed)
{
	struct str rest = str_of(changed ? changed : ""), part;
	struct buf b = BUF_MAX(4096);
	if (!c->chinese || !rest.len)
		return rest.ptr;
	size_t more = str_rfind_char(rest, '+');
	int64_t left = 0;
	if (more != SIZE_MAX && more > 0 && rest.ptr[more - 1] == ' ' && str_to_int(str_skip(rest, more + 1), &left) == 0)
		rest = str_slice(rest, 0, more - 1);
	while (str_next_field(&rest, ',', &part)) {
		part = str_trim(part);
		struct str word = str_slice(part, 0, str_find_char(part, ' ', 0));
		const char *name = NULL;
		for (size_t i = 0; i < GROUP_NAMES; i++)
			if (str_is(word, group_names[i][0]))
				name = group_names[i][1];
		buf_fmt(&b, "%s%s%.*s", b.len ? "、" : "", name ? name : "", (int)(part.len - (name ? word.len : 0)),
			part.ptr + (name ? word.len : 0));
	}
	if (left)
		buf_fmt(&b, " 等，另有 %lld 项", (long long)left);
	const char *text = arena_strndup(c->arena, b.ptr ? b.ptr : "", b.len);
	buf_free(&b);
	return text;
}

/* -- the list ------------------------------------------------------------------------------------------------------------ */

static void pad(struct buf *out, const char *text, int width)
{
	int w = text_width(str_of(text));
	buf_text(out, text);
	text_pad(out, w < width ? width - w + 2 : 2);
}

static void list_line(struct past *p, const struct history_attempt *a)
{
	struct cli *c = p->c;
	struct buf *out = &p->out;
	const char *cause = a->decided->cause ? a->decided->cause : "-";
	pad(out, arena_printf(c->arena, "%lld", (long long)a->id), 4);
	pad(out, when(c, a->started_ms), 19);
	pad(out, took(c, a), 9);
	struct buf word = BUF_MAX(256);
	text_style(&word, c->color,
		strcmp(a->outcome, "ok") == 0                ? TEXT_GREEN
			: strcmp(a->outcome, "running") == 0 ? TEXT_PLAIN
							     : TEXT_RED,
		outcome_text(c, a));
	int width = text_width(str_of(outcome_text(c, a)));
	buf_str(out, buf_view(&word));
	text_pad(out, width < 12 ? 14 - width : 2);
	buf_free(&word);
	pad(out, cause, 24);
	struct str command = str_of(a->command ? a->command : "-");
	buf_str(out, c->options.verbose ? command : str_cut(command, COMMAND_WIDTH));
	if (a->rank_count > 1)
		buf_fmt(out, cli_tr(c, "  (%zu ranks)", "（%zu 个进程）"), a->rank_count);
	buf_char(out, '\n');
	if (a->changes > 1)
		buf_fmt(out,
			cli_tr(c, "      ! %lld changes at once since %lld: %s\n",
				"      ! 与第 %2$lld 次相比同时改变了 %1$lld 处：%3$s\n"),
			(long long)a->changes, (long long)a->since, changed_text(c, a->changed));
	else if (a->changes == 1)
		buf_fmt(out, cli_tr(c, "        since %lld: %s\n", "        与第 %lld 次相比：%s\n"), (long long)a->since,
			changed_text(c, a->changed));
	if (a->note)
		buf_fmt(out, "        %s\n", a->note);
}

static void attempt_json(struct json_writer *w, const struct history_attempt *a, const char *name)
{
	json_open(w, name, '{');
	json_int(w, "id", a->id);
	json_int(w, "started_ms", a->started_ms);
	a->ended_ms ? json_int(w, "ended_ms", a->ended_ms) : json_null(w, "ended_ms");
	json_text(w, "node", a->node);
	json_text(w, "launcher", a->launcher);
	json_text(w, "folder", a->cwd);
	json_text(w, "command", a->command);
	json_text(w, "note", a->note);
	json_text(w, "outcome", a->outcome);
	json_int(w, "status", a->status);
	json_text(w, "cause", a->decided->cause);
	json_text(w, "certainty", a->decided->certainty);
	a->since ? json_int(w, "since", a->since) : json_null(w, "since");
	json_int(w, "changes", a->changes);
	json_text(w, "changed", a->changed && *a->changed ? a->changed : NULL);
	json_open(w, "ranks", '[');
	for (size_t i = 0; i < a->rank_count; i++) {
		const struct history_rank *r = &a->rank[i];
		json_open(w, NULL, '{');
		r->rank >= 0 ? json_int(w, "rank", r->rank) : json_null(w, "rank");
		json_text(w, "outcome", r->outcome);
		json_int(w, "status", r->status);
		r->signal ? json_int(w, "signal", r->signal) : json_null(w, "signal");
		json_text(w, "cause", r->cause);
		json_text(w, "title", r->title);
		json_text(w, "says", r->says);
		json_text(w, "log", r->log);
		json_int(w, "log_bytes", r->log_bytes);
		json_int(w, "log_left_out", r->log_left_out);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_close(w, '}');
}

static struct json_writer begin_json(struct past *p)
{
	struct json_writer w = json_writer_to(&p->out, true);
	json_open(&w, NULL, '{');
	json_text(&w, "schema", "davy-history/1");
	json_text(&w, "version", DAVY_VERSION);
	return w;
}

static void end_json(struct past *p, struct json_writer *w)
{
	json_close(w, '}');
	buf_char(&p->out, '\n');
}

static int list(struct past *p)
{
	struct cli *c = p->c;
	int rc = open_past(p, false, c->options.all || c->options.json ? 0 : SHOWN);
	if (rc)
		return rc;
	if (c->options.json) {
		struct json_writer w = begin_json(p);
		json_open(&w, "attempts", '[');
		for (size_t i = 0; i < p->count; i++)
			attempt_json(&w, &p->attempt[i], NULL);
		json_close(&w, ']');
		end_json(p, &w);
		return 0;
	}
	for (size_t i = 0; i < p->count; i++)
		list_line(p, &p->attempt[i]);
	if (!p->count && !c->options.quiet)
		buf_text(&p->out,
			cli_tr(c, "No attempt is recorded yet. Start one: davy run -- COMMAND\n",
				"还没有任何记录。开始一次：davy run -- 命令\n"));
	return 0;
}

/* -- one attempt --------------------------------------------------------------------------------------------------------- */

static void named(struct past *p, const char *name, const char *text)
{
	if (!text || !*text)
		return;
	buf_text(&p->out, "  ");
	pad(&p->out, name, 10);
	buf_text(&p->out, text);
	buf_char(&p->out, '\n');
}

static void show_rank(struct past *p, const struct history_attempt *a, const struct history_rank *r)
{
	struct cli *c = p->c;
	const char *path = r->log ? arena_printf(c->arena, "%s/%s", p->place.logs, r->log) : NULL;
	if (a->rank_count > 1)
		named(p, arena_printf(c->arena, cli_tr(c, "rank %lld", "进程 %lld"), (long long)r->rank),
			arena_printf(c->arena, "%s (%lld)%s%s", r->outcome, (long long)r->status, r->cause ? "  " : "",
				r->cause ? r->cause : ""));
	if (path && host_exists(c->host, path))
		named(p, a->rank_count > 1 ? "" : cli_tr(c, "log", "日志"),
			r->log_left_out ? arena_printf(c->arena,
						  cli_tr(c, "%s (%lld bytes in the middle are not kept)", "%s（中间有 %lld 字节未保留）"),
						  path, (long long)r->log_left_out)
					: path);
}

static int show(struct past *p)
{
	struct cli *c = p->c;
	int rc = open_past(p, false, 0);
	struct history_attempt *a = rc ? NULL : attempt_of(p, c->arg_count > 1 ? c->args[1] : NULL, &rc);
	if (!a)
		return rc;
	const char *snapshot = history_read_snapshot(c->arena, p->ledger, a->snapshot_hash);
	if (c->options.json) {
		struct json_writer w = begin_json(p);
		struct str rest = str_of(snapshot ? snapshot : ""), line;
		attempt_json(&w, a, "attempt");
		json_open(&w, "snapshot", '[');
		while (str_next_line(&rest, &line))
			json_text(&w, NULL, str_dup(c->arena, line));
		json_close(&w, ']');
		end_json(p, &w);
		return 0;
	}
	named(p, cli_tr(c, "attempt", "尝试"),
		arena_printf(c->arena, "%lld  %s  %s", (long long)a->id, when(c, a->started_ms), a->node ? a->node : ""));
	named(p, cli_tr(c, "command", "命令"), a->command);
	named(p, cli_tr(c, "folder", "目录"), a->cwd);
	named(p, cli_tr(c, "launcher", "启动器"), a->launcher);
	named(p, cli_tr(c, "note", "备注"), a->note);
	named(p, cli_tr(c, "outcome", "结果"), arena_printf(c->arena, "%s, %s", outcome_text(c, a), took(c, a)));
	if (a->decided->cause)
		named(p, cli_tr(c, "cause", "原因"),
			arena_printf(c->arena, "%s%s", a->decided->cause, sure_text(c, a->decided->certainty)));
	named(p, "", a->decided->says ? a->decided->says : a->decided->title);
	if (a->since)
		named(p, cli_tr(c, "changed", "变化"),
			a->changes ? arena_printf(c->arena, cli_tr(c, "since attempt %lld: %s", "与第 %lld 次相比：%s"),
					     (long long)a->since, changed_text(c, a->changed))
				   : arena_printf(c->arena, cli_tr(c, "nothing since attempt %lld", "与第 %lld 次相比没有变化"),
					     (long long)a->since));
	for (size_t i = 0; i < a->rank_count; i++)
		show_rank(p, a, &a->rank[i]);
	if (c->options.verbose && snapshot)
		buf_fmt(&p->out, "\n%s", snapshot);
	return 0;
}

/* -- the log ------------------------------------------------------------------------------------------------------------- */

static ssize_t read_file(void *arg, void *p, size_t n)
{
	return host_file_read(arg, p, n);
}

static bool print_file(struct cli *c, const char *path)
{
	struct host_file *file;
	char chunk[65536];
	if (host_file_open(c->host, path, &file) < 0)
		return false;
	struct logs_input *in = logs_input_new(read_file, file);
	for (size_t n; in && (n = logs_input_read(in, chunk, sizeof chunk)) > 0;)
		if (fwrite(chunk, 1, n, stdout) != n)
			break;
	logs_input_free(in);
	host_file_close(file);
	return true;
}

/* As it was written, colours and all: it is the command's, not ours. */
static int print_log(struct past *p)
{
	struct cli *c = p->c;
	static const char *const ends[] = {"", ".a", ".b"};
	int rc = open_past(p, false, 0);
	struct history_attempt *a = rc ? NULL : attempt_of(p, c->arg_count > 1 ? c->args[1] : NULL, &rc);
	size_t found = 0;
	if (!a)
		return rc;
	for (size_t i = 0; i < a->rank_count; i++)
		for (size_t k = 0; k < 3 && a->rank[i].log; k++)
			found += print_file(c, arena_printf(c->arena, "%s/%s%s", p->place.logs, a->rank[i].log, ends[k]));
	if (fflush(stdout) != 0)
		return cli_fail(c, EXIT_DEFECT, "%s: %s", cli_tr(c, "standard output", "标准输出"), strerror(errno));
	return found
		? 0
		: cli_fail(c, EXIT_NO_INPUT, cli_tr(c, "the log of attempt %lld is not there any more", "第 %lld 次尝试的日志已不存在"),
			  (long long)a->id);
}

/* -- the difference ------------------------------------------------------------------------------------------------------ */

static bool is_good(const struct history_attempt *a)
{
	return strcmp(a->outcome, "ok") == 0;
}

static bool is_bad(const struct history_attempt *a)
{
	return strcmp(a->outcome, "failed") == 0 || strcmp(a->outcome, "refused") == 0 || strcmp(a->outcome, "not-started") == 0;
}

static bool is_same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

/* Of the newest bad attempt that has a good one of the same subject (any_subject: of any) before it: that good one, and the first bad one
 * after it. */
static bool last_good_first_bad_in(
	struct past *p, const char *folder, bool any_subject, struct history_attempt **ret_a, struct history_attempt **ret_b)
{
	for (size_t last = p->count; last-- > 0;) {
		if (!is_bad(&p->attempt[last]) || !is_same(p->attempt[last].cwd, folder))
			continue;
		*ret_b = &p->attempt[last];
		for (size_t i = last; i-- > 0;) {
			struct history_attempt *a = &p->attempt[i];
			if (!is_same(a->cwd, folder) || (!any_subject && !is_same(a->subject, p->attempt[last].subject)))
				continue;
			if (is_bad(a))
				*ret_b = a;
			*ret_a = a;
			if (is_good(a))
				return true;
		}
	}
	return false;
}

/* In this folder; where it has no attempts, in the last one's. */
static bool last_good_first_bad(struct past *p, struct history_attempt **ret_a, struct history_attempt **ret_b)
{
	const char *folder = host_cwd(p->c->host);
	bool any = false;
	for (size_t i = 0; i < p->count; i++)
		any |= is_same(p->attempt[i].cwd, folder);
	if (!any && p->count)
		folder = p->attempt[p->count - 1].cwd;
	return last_good_first_bad_in(p, folder, false, ret_a, ret_b) || last_good_first_bad_in(p, folder, true, ret_a, ret_b);
}

static const char *joined(struct cli *c, struct store *s, const char *sql, const char *text)
{
	struct store_query *q;
	struct buf b = BUF_MAX((size_t)4 << 20);
	if (store_prepare(s, sql, &q, NULL) < 0)
		return NULL;
	store_bind_text(q, 1, text);
	while (store_step(q) > 0)
		if (store_text(q, 0))
			buf_fmt(&b, "%s\n", store_text(q, 0));
	store_finish(q);
	const char *made = arena_strndup(c->arena, buf_view(&b).ptr, b.len);
	buf_free(&b);
	return made;
}

/* What the recorded cause looks at: its evidence, the values and tables that its rules read, and those of its stage. */
static bool about(struct cli *c, const struct history_rank *r, struct history_about *ret)
{
	if (!r->cause)
		return false;
	struct store *s = cli_knowledge(c);
	if (!s)
		return false;
	const char *like = arena_printf(c->arena, "%.*s.%%", (int)strcspn(r->cause, "."), r->cause);
	*ret = (struct history_about){
		.evidence = r->evidence,
		.reads = joined(c, s, "SELECT reads FROM rule WHERE cause=? AND reads IS NOT NULL", r->cause),
		.rules = joined(c, s, "SELECT sql FROM rule WHERE cause=?", r->cause),
		.stage_tables = joined(c, s, "SELECT DISTINCT tbl FROM rule WHERE cause LIKE ? AND tbl <> 'event'", like),
		.program = strncmp(r->cause, "program.", 8) == 0 || strncmp(r->cause, "launch.", 7) == 0,
	};
	store_close(s);
	return true;
}

static const char *change_text(struct cli *c, const struct history_change *k)
{
	const char *none = cli_tr(c, "(not there)", "（没有）"), *dot = strchr(k->fact, '.');
	const char *fact = k->key && dot ? arena_printf(c->arena, "%.*s[%s]%s", (int)(dot - k->fact), k->fact, k->key, dot) : k->fact;
	return arena_printf(c->arena, "%s: %.*s -> %.*s", fact, 120, k->before ? k->before : none, 120, k->after ? k->after : none);
}

static const char *weight_text(struct cli *c, enum history_weight w)
{
	static const char *const english[] = {"this is in the evidence of the cause", "the cause is about this", "the cause is about this",
		"of the same stage as the cause", ""};
	static const char *const chinese[] = {"这正是原因的依据", "原因与此有关", "原因与此有关", "与原因属于同一阶段", ""};
	return c->chinese ? chinese[w] : english[w];
}

static void diff_text(
	struct past *p, const struct history_attempt *a, const struct history_attempt *b, const struct history_thing *things, size_t count)
{
	struct cli *c = p->c;
	struct buf *out = &p->out;
	buf_fmt(out, cli_tr(c, "attempt %lld (%s, %s) -> attempt %lld (%s, %s%s%s)\n", "第 %lld 次（%s，%s）-> 第 %lld 次（%s，%s%s%s）\n"),
		(long long)a->id, outcome_text(c, a), when(c, a->started_ms), (long long)b->id, outcome_text(c, b), when(c, b->started_ms),
		b->decided->cause ? ", " : "", b->decided->cause ? b->decided->cause : "");
	if (!count) {
		buf_text(
			out, cli_tr(c, "Nothing that Davy records changed between them.\n", "两者之间，Davy 所记录的内容没有任何变化。\n"));
		return;
	}
	size_t number = 0;
	for (const struct history_thing *t = things; t; t = t->next) {
		size_t shown = 0;
		buf_fmt(out, "\n%3zu  ", ++number);
		text_style(out, c->color, TEXT_BOLD, group_text(c, t));
		if (*weight_text(c, t->weight))
			buf_fmt(out, "  (%s)", weight_text(c, t->weight));
		buf_char(out, '\n');
		for (const struct history_change *k = t->changes; k && (c->options.verbose || shown < FACTS_SHOWN); k = k->next, shown++)
			buf_fmt(out, "     %s\n", change_text(c, k));
		if (shown < t->change_count)
			buf_fmt(out,
				cli_tr(c, "     and %zu more that follow from it (--verbose)\n", "     另有 %zu 项随之变化（--verbose）\n"),
				t->change_count - shown);
	}
	if (count > 1)
		buf_fmt(out,
			cli_tr(c, "\n%zu things changed at once. Change one at a time to know which it was.\n",
				"\n同时改变了 %zu 处。每次只改一处，才能知道是哪一处造成的。\n"),
			count);
}

static void diff_json(struct past *p, const struct history_attempt *a, const struct history_attempt *b, const struct history_thing *things)
{
	struct json_writer w = begin_json(p);
	attempt_json(&w, a, "before");
	attempt_json(&w, b, "after");
	json_open(&w, "changes", '[');
	for (const struct history_thing *t = things; t; t = t->next) {
		json_open(&w, NULL, '{');
		json_text(&w, "group", t->group);
		json_text(&w, "name", t->name);
		json_text(&w, "explains", history_weight_names[t->weight]);
		json_open(&w, "facts", '[');
		for (const struct history_change *k = t->changes; k; k = k->next) {
			json_open(&w, NULL, '{');
			json_text(&w, "fact", k->fact);
			json_text(&w, "key", k->key);
			json_text(&w, "before", k->before);
			json_text(&w, "after", k->after);
			json_text(&w, "explains", history_weight_names[k->weight]);
			json_close(&w, '}');
		}
		json_close(&w, ']');
		json_close(&w, '}');
	}
	json_close(&w, ']');
	end_json(p, &w);
}

static int diff(struct past *p)
{
	struct cli *c = p->c;
	struct history_attempt *a = NULL, *b = NULL;
	struct history_about looked_at;
	size_t count;
	if (c->arg_count == 2 || c->arg_count > 3)
		return cli_fail(
			c, EXIT_USAGE, "%s", cli_tr(c, "diff takes two numbers of attempts, or none", "diff 需要两个尝试编号，或不带编号"));
	int rc = open_past(p, false, 0);
	if (rc)
		return rc;
	if (c->arg_count == 3) {
		a = attempt_of(p, c->args[1], &rc);
		b = a ? attempt_of(p, c->args[2], &rc) : NULL;
		if (!a || !b)
			return rc;
	} else if (!last_good_first_bad(p, &a, &b)) {
		return cli_fail(c, EXIT_NO_INPUT, "%s",
			cli_tr(c, "there is no good attempt with a bad one after it; name two: davy history diff A B",
				"没有先成功后失败的两次尝试；请指定两个编号：davy history diff A B"));
	}
	const char *before = history_read_snapshot(c->arena, p->ledger, a->snapshot_hash),
		   *after = history_read_snapshot(c->arena, p->ledger, b->snapshot_hash);
	if (!before || !after)
		return cli_fail(c, EXIT_UNKNOWN,
			cli_tr(c, "what stood on the machine is not recorded for attempt %lld", "第 %lld 次尝试没有记录机器状态"),
			(long long)(before ? b->id : a->id));
	struct history_thing *things = history_compare(
		c->arena, before, after, about(c, b->decided, &looked_at) ? &looked_at : NULL, &count);
	c->options.json ? diff_json(p, a, b, things) : diff_text(p, a, b, things, count);
	return 0;
}

/* -- notes --------------------------------------------------------------------------------------------------------------- */

static int note(struct past *p)
{
	struct cli *c = p->c;
	if (c->arg_count != 3)
		return cli_fail(c, EXIT_USAGE, "%s",
			cli_tr(c, "note takes a number and a text: davy history note 12 \"with the new driver\"",
				"note 需要编号和文字：davy history note 12 \"换了新驱动\""));
	int rc = open_past(p, true, 0);
	struct history_attempt *a = rc ? NULL : attempt_of(p, c->args[1], &rc);
	if (!a)
		return rc;
	struct str text = redact_secrets(redactor_new_plain(c->arena), str_cut(str_of(c->args[2]), 2000));
	rc = history_set_note(p->ledger, a->id, str_dup(c->arena, text));
	return rc < 0 ? failed(p, rc) : 0;
}

int cli_history(struct cli *c)
{
	static const struct {
		const char *name;
		int (*run)(struct past *p);
		size_t most; /* arguments after the name */
	} commands[] = {{"list", list, 0}, {"show", show, 1}, {"log", print_log, 1}, {"diff", diff, 3}, {"note", note, 3}};
	struct past p = {.c = c, .out = BUF_MAX((size_t)64 << 20)};
	int (*run)(struct past *) = c->arg_count ? NULL : list;
	for (size_t i = 0; !run && i < sizeof commands / sizeof commands[0]; i++)
		if (strcmp(c->args[0], commands[i].name) == 0) {
			run = commands[i].run;
			if (c->arg_count > commands[i].most + 1 && commands[i].most < 2)
				return cli_fail(c, EXIT_USAGE, cli_tr(c, "history %s takes no '%s'", "history %s 不接受“%s”"), c->args[0],
					c->args[commands[i].most + 1]);
		}
	if (!run)
		return cli_fail(c, EXIT_USAGE,
			cli_tr(c, "history knows show, diff, log and note, not '%s'", "history 支持 show、diff、log 和 note，不支持“%s”"),
			c->args[0]);
	int rc = run(&p);
	if (p.out.len && rc == 0)
		rc = cli_print(&p.out, rc);
	buf_free(&p.out);
	ledger_close(p.ledger);
	return rc;
}
