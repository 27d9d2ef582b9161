/* Markdown for an issue tracker, and one HTML page without scripts or outside references. Both are for sharing: the caller replaces private
 * data. */
#include "report/report.h"

static const char *tr(const struct report *r, const char *english, const char *chinese)
{
	return r->chinese ? chinese : english;
}

static const char *value_text(const struct report *r, const struct evidence *e)
{
	const struct facts_value *v = e->value;
	if (v->gap != GAP_NONE)
		return tr(r, "none", "无");
	if (e->type == FACTS_TEXT)
		return v->text;
	if (e->type == FACTS_REAL)
		return arena_printf(r->arena, "%g", v->r);
	if (e->type == FACTS_BOOL)
		return v->i ? tr(r, "yes", "是") : tr(r, "no", "否");
	return arena_printf(r->arena, "%lld", (long long)v->i);
}

static const char *evidence_text(const struct report *r, const struct evidence *e)
{
	return e->fact ? arena_printf(r->arena, "%s = %s  (%s)", e->fact, value_text(r, e), e->origin ? e->origin : "-")
		       : arena_printf(r->arena, "%s:%lld  %s", e->file ? e->file : "-", (long long)e->line, e->text ? e->text : "");
}

static const char *fix_head(const struct report *r, const struct fix *fix)
{
	const char *name = fix->workaround ? tr(r, "Workaround", "临时绕过") : tr(r, "Cure", "修复");
	const char *text = fix->text ? fix->text : "";
	return fix->cost ? arena_printf(r->arena, "%s: %s %s%s", name, text, tr(r, "Cost: ", "代价："), fix->cost)
			 : arena_printf(r->arena, "%s: %s", name, text);
}

static const char *certainty_text(const struct report *r, const struct finding *f)
{
	static const char *const chinese[] = {"确定", "很可能", "可能"};
	return r->chinese ? chinese[f->certainty] : certainty_name(f->certainty);
}

static const char *stage_mark(enum stage_state s)
{
	static const char *const marks[] = {"✓", "i", "!", "✗", "?", "·", " "};
	return marks[s];
}

/* -- Markdown ----------------------------------------------------------------------------------------------------------- */

/* Text between backticks: a fence longer than any run of backticks in it. */
static void code(struct buf *out, const char *text)
{
	size_t run = 0, longest = 0;
	for (const char *p = text; *p; p++) {
		run = *p == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	for (size_t i = 0; i <= longest; i++)
		buf_char(out, '`');
	buf_text(out, longest ? " " : "");
	for (const char *p = text; *p; p++)
		buf_char(out, *p == '\n' ? ' ' : *p);
	buf_text(out, longest ? " " : "");
	for (size_t i = 0; i <= longest; i++)
		buf_char(out, '`');
}

/* Characters that Markdown takes for its own stand with a backslash. */
static void plain(struct buf *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		if (strchr("\\`*_<>[]#|", *p))
			buf_char(out, '\\');
		buf_char(out, *p == '\n' ? ' ' : *p);
	}
}

static void commands(struct buf *out, const char *const *list)
{
	if (!list || !list[0])
		return;
	buf_text(out, "\n```sh\n");
	for (size_t i = 0; list[i]; i++)
		buf_fmt(out, "%s\n", list[i]);
	buf_text(out, "```\n");
}

static void finding_markdown(const struct report *r, const struct finding *f, struct buf *out)
{
	buf_text(out, "\n## ");
	plain(out, f->title);
	buf_fmt(out, " (`%s`, %s)\n\n", f->cause, certainty_text(r, f));
	plain(out, f->says ? f->says : f->why ? f->why : "");
	buf_text(out, "\n\n");
	for (const struct evidence *e = f->evidence; e; e = e->next) {
		buf_text(out, "- ");
		code(out, evidence_text(r, e));
		buf_char(out, '\n');
	}
	for (const struct fix *fix = f->fixes; fix; fix = fix->next) {
		buf_char(out, '\n');
		plain(out, fix_head(r, fix));
		buf_char(out, '\n');
		commands(out, fix->commands);
	}
	if (f->verify && f->verify[0]) {
		buf_fmt(out, "\n%s\n", tr(r, "Verify:", "验证："));
		commands(out, f->verify);
	}
}

void report_markdown(const struct report *r, struct buf *out)
{
	const struct judgement *j = r->judgement;
	buf_text(out, "# ");
	plain(out, report_verdict(r));
	buf_text(out, "\n\n");
	if (r->headline) {
		plain(out, r->headline);
		buf_text(out, "\n\n");
	}
	for (int i = 0; i < STAGE_COUNT && strcmp(r->command, "check") == 0; i++) {
		if (j->stage[i] == STAGE_SILENT && !j->stage_line[i])
			continue;
		buf_fmt(out, "- %s %s", stage_mark(j->stage[i] == STAGE_SILENT ? STAGE_FINE : j->stage[i]), stage_names[i]);
		if (j->stage_line[i]) {
			buf_text(out, ": ");
			plain(out, j->stage_line[i]);
		}
		buf_char(out, '\n');
	}
	for (const struct finding *f = j->findings; f; f = f->next)
		finding_markdown(r, f, out);
	buf_fmt(out, "\ndavy %s\n", DAVY_VERSION);
}

/* -- HTML --------------------------------------------------------------------------------------------------------------- */

static void escaped(struct buf *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		switch (*p) {
		case '<': buf_text(out, "&lt;"); break;
		case '>': buf_text(out, "&gt;"); break;
		case '&': buf_text(out, "&amp;"); break;
		case '"': buf_text(out, "&quot;"); break;
		default: buf_char(out, *p);
		}
	}
}

static void element(struct buf *out, const char *tag, const char *text)
{
	buf_fmt(out, "<%s>", tag);
	escaped(out, text);
	buf_fmt(out, "</%.*s>\n", (int)strcspn(tag, " "), tag);
}

static void commands_html(struct buf *out, const char *const *list)
{
	if (!list || !list[0])
		return;
	buf_text(out, "<pre>");
	for (size_t i = 0; list[i]; i++) {
		escaped(out, list[i]);
		buf_char(out, '\n');
	}
	buf_text(out, "</pre>\n");
}

static void finding_html(const struct report *r, const struct finding *f, struct buf *out)
{
	buf_fmt(out, "<section class=\"%s\">\n", status_name(f->status));
	element(out, "h2", f->title);
	element(out, "p class=\"id\"", arena_printf(r->arena, "%s · %s", f->cause, certainty_text(r, f)));
	element(out, "p", f->says ? f->says : f->why ? f->why : "");
	buf_text(out, "<ul>\n");
	for (const struct evidence *e = f->evidence; e; e = e->next)
		element(out, "li", evidence_text(r, e));
	buf_text(out, "</ul>\n");
	for (const struct fix *fix = f->fixes; fix; fix = fix->next) {
		element(out, "p", fix_head(r, fix));
		commands_html(out, fix->commands);
	}
	if (f->verify && f->verify[0]) {
		element(out, "p", tr(r, "Verify:", "验证："));
		commands_html(out, f->verify);
	}
	buf_text(out, "</section>\n");
}

void report_html(const struct report *r, struct buf *out)
{
	const struct judgement *j = r->judgement;
	buf_fmt(out,
		"<!DOCTYPE html>\n<html lang=\"%s\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>davy: ",
		r->chinese ? "zh-CN" : "en");
	escaped(out, report_verdict(r));
	buf_text(out,
		"</title>\n<style>\n"
		":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem}\n"
		"table{border-collapse:collapse}td{padding:.1rem .8rem .1rem 0;vertical-align:top}pre{background:#8881;padding:.6rem;overflow-x:auto}\n"
		"li{font-family:ui-monospace,monospace;font-size:.85rem;overflow-wrap:anywhere}section{border-left:.3rem solid #888;padding-left:1rem;margin:2rem 0}\n"
		".fail{border-color:#c22}.warn,.unknown{border-color:#c80}.info{border-color:#28c}.id{color:#888;margin-top:-.6rem}\n</style>\n");
	element(out, "h1", report_verdict(r));
	if (r->headline)
		element(out, "p", r->headline);
	if (strcmp(r->command, "check") == 0) {
		buf_text(out, "<table>\n");
		for (int i = 0; i < STAGE_COUNT; i++) {
			if (j->stage[i] == STAGE_SILENT && !j->stage_line[i])
				continue;
			buf_fmt(out, "<tr><td>%s<td>%s<td>", stage_mark(j->stage[i] == STAGE_SILENT ? STAGE_FINE : j->stage[i]),
				stage_names[i]);
			escaped(out, j->stage_line[i] ? j->stage_line[i] : "");
			buf_text(out, "\n");
		}
		buf_text(out, "</table>\n");
	}
	for (const struct finding *f = j->findings; f; f = f->next)
		finding_html(r, f, out);
	element(out, "p class=\"id\"", arena_printf(r->arena, "davy %s", DAVY_VERSION));
	buf_text(out, "</html>\n");
}
