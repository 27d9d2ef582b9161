/* davy inspect SNAPSHOT: what it holds, of what machine, and the verdict in one line. */
#include <errno.h>

#include "cli/inspect.h"
#include "report/text.h"

#define LABEL 14

static const char *const count_names[HOST_COUNTS] = {"files", "listings", "stats", "links", "devices", "digests", "file_systems", "probes"};

struct snapshot {
	const char *path, *problem; /* problem: why it could not be read */
	struct host_summary summary;
	struct host_uname uname;
	bool has_uname;
	struct examination e;
	struct report report;
	int64_t gaps; /* facts and tables that are unknown */
};

static int64_t count_gaps(const struct facts *f)
{
	int64_t n = 0;
	for (const struct facts_table_gap *g = f->gaps; g; g = g->next)
		n++;
	for (int t = 0; t < TABLE_COUNT; t++) {
		struct facts_table_info info = facts_table((enum facts_table)t);
		for (const struct facts_row *row = f->first[t]; row; row = row->next)
			for (int k = info.first; k < info.end; k++) {
				const struct facts_value *v = facts_value(row, (enum facts_column)k);
				n += v->set && v->gap != GAP_NONE && v->gap != GAP_ABSENT;
			}
	}
	return n;
}

/* "2026-11-30 23:44 UTC" */
static const char *time_text(struct cli *c, int64_t t)
{
	struct tm tm;
	time_t when = (time_t)t;
	if (t < 0 || !gmtime_r(&when, &tm))
		return NULL;
	return arena_printf(c->arena, "%04d-%02d-%02d %02d:%02d UTC", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min);
}

static void row(struct cli *c, struct buf *out, const char *label, const char *text)
{
	text_pad(out, 2);
	text_style(out, c->color, TEXT_DIM, label);
	int at = 2 + text_width(str_of(label));
	text_pad(out, at < LABEL ? LABEL - at : 1);
	text_wrap(out, str_of(text), at < LABEL ? LABEL : at + 1, LABEL, c->columns);
	buf_char(out, '\n');
}

static const char *machine_text(struct cli *c, const struct snapshot *s)
{
	const struct facts_row *system = s->e.facts->first[TABLE_system];
	const char *os = system ? facts_get_text(system, system__os_name) : NULL;
	return arena_printf(c->arena, "%s%s%s%s%s%s%s", s->has_uname ? s->uname.nodename : "?", os ? ", " : "", os ? os : "",
		s->has_uname ? ", " : "", s->has_uname ? s->uname.release : "", s->has_uname ? " " : "",
		s->has_uname ? s->uname.machine : "");
}

static const char *holds_text(struct cli *c, const struct host_summary *s)
{
	static const char *const english[HOST_COUNTS] = {
		"files", "listings", "stats", "links", "devices", "digests", "file systems", "probes"};
	static const char *const chinese[HOST_COUNTS] = {"文件", "目录列表", "文件属性", "链接", "设备", "摘要", "文件系统", "探测结果"};
	struct buf b = BUF_MAX(4096);
	for (int i = 0; i < HOST_COUNTS; i++)
		if (s->count[i])
			buf_fmt(&b, "%s%zu %s", b.len ? cli_tr(c, ", ", "，") : "", s->count[i], c->chinese ? chinese[i] : english[i]);
	buf_fmt(&b, cli_tr(c, "%s%zu variables; %zu KB", "%s%zu 个环境变量；%zu KB"), b.len ? cli_tr(c, ", ", "，") : "", s->variables,
		s->contents_bytes >> 10);
	const char *text = arena_strndup(c->arena, b.ptr, b.len);
	buf_free(&b);
	return text;
}

static void print_text(struct cli *c, const struct snapshot *s, struct buf *out)
{
	const struct host_summary *h = &s->summary;
	const char *when = time_text(c, h->time);
	text_style(out, c->color, TEXT_BOLD, s->path);
	if (s->problem) {
		buf_fmt(out, "   %s: %s\n", cli_tr(c, "unreadable", "无法读取"), s->problem);
		return;
	}
	buf_fmt(out, "   %s\n", cli_tr(c, "snapshot", "快照"));
	row(c, out, cli_tr(c, "taken", "时间"), when ? when : "?");
	row(c, out, cli_tr(c, "by", "版本"),
		h->written_by ? arena_printf(c->arena, "davy %s", h->written_by)
			      : cli_tr(c, "hand: no version in it", "手工编写：没有版本信息"));
	row(c, out, cli_tr(c, "private", "隐私"),
		h->redacted ? cli_tr(c, "private data replaced", "隐私数据已替换")
			    : cli_tr(c, "it does not say that private data was replaced", "未注明隐私数据已替换"));
	row(c, out, cli_tr(c, "machine", "机器"), machine_text(c, s));
	row(c, out, cli_tr(c, "holds", "内容"), holds_text(c, h));
	row(c, out, cli_tr(c, "not read", "未读到"),
		arena_printf(c->arena,
			cli_tr(c, "%zu paths not there, %zu refused, %zu failed otherwise; %lld facts unknown",
				"%zu 个路径不存在，%zu 个被拒绝，%zu 个因其他原因失败；%lld 项事实未知"),
			h->absent, h->refused, h->failed, (long long)s->gaps));
	row(c, out, cli_tr(c, "verdict", "结论"), report_verdict(&s->report));
}

static void print_json(struct cli *c, const struct snapshot *s, struct json_writer *w)
{
	const struct host_summary *h = &s->summary;
	json_open(w, NULL, '{');
	if (w->depth == 1) {
		json_text(w, "schema", "davy/1");
		json_text(w, "command", "inspect");
	}
	json_text(w, "kind", s->problem ? "unknown" : "snapshot");
	json_text(w, "path", s->path);
	if (s->problem) {
		json_text(w, "error", s->problem);
		json_close(w, '}');
		return;
	}
	if (h->time >= 0)
		json_int(w, "time", h->time);
	else
		json_null(w, "time");
	json_text(w, "written_by", h->written_by);
	json_bool(w, "redacted", h->redacted);
	json_text(w, "hostname", s->has_uname ? s->uname.nodename : NULL);
	json_text(w, "kernel", s->has_uname ? s->uname.release : NULL);
	json_text(w, "arch", s->has_uname ? s->uname.machine : NULL);
	json_open(w, "answers", '{');
	for (int i = 0; i < HOST_COUNTS; i++)
		json_int(w, count_names[i], (int64_t)h->count[i]);
	json_int(w, "variables", (int64_t)h->variables);
	json_int(w, "absent", (int64_t)h->absent);
	json_int(w, "refused", (int64_t)h->refused);
	json_int(w, "failed", (int64_t)h->failed);
	json_close(w, '}');
	json_int(w, "contents_bytes", (int64_t)h->contents_bytes);
	json_int(w, "gaps", s->gaps);
	json_text(w, "verdict", verdict_name(s->e.judgement.verdict));
	json_text(w, "says", report_verdict(&s->report));
	json_open(w, "causes", '[');
	for (const struct finding *f = s->e.judgement.findings; f; f = f->next)
		if (f->status == STATUS_FAIL)
			json_text(w, NULL, f->cause);
	json_close(w, ']');
	json_close(w, '}');
	(void)c;
}

int inspect_snapshot(struct cli *c, const char *path, struct json_writer *w, struct buf *out)
{
	struct snapshot s = {.path = path};
	struct host *door;
	int status = EXIT_UNKNOWN, rc = host_open_replay(c->arena, path, &door, &s.problem);
	if (rc < 0 && !s.problem)
		s.problem = strerror(-rc);
	if (rc == 0) {
		s.problem = NULL;
		host_summarize(door, &s.summary);
		s.has_uname = host_uname(door, &s.uname) == 0;
		if (cli_examine(c, door, &s.e))
			return EXIT_DEFECT;
		s.gaps = count_gaps(s.e.facts);
		s.report = cli_report(c, &s.e.judgement, s.e.facts);
		s.report.command = "check";
		status = EXIT_FINE;
	}
	if (w)
		print_json(c, &s, w);
	else if (!c->options.quiet || s.problem)
		print_text(c, &s, out);
	if (rc == 0) {
		store_close(s.e.store);
		host_close(door);
	}
	return status;
}
