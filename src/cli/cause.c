#include "cli/cli.h"

#include "report/json_writer.h"
#include "report/text.h"

static void list_text(struct cli *c, struct judge *j, const char *const *ids, size_t n, struct buf *out)
{
	struct cause_text t;
	int stage = -1;
	for (size_t i = 0; i < n; i++) {
		if (judge_cause(j, ids[i], false, &t) < 0)
			continue;
		if (t.stage != stage && stage >= 0)
			buf_char(out, '\n');
		stage = t.stage;
		buf_fmt(out, "%-34s ", t.id);
		text_wrap(out, str_of(t.title), 35, 35, c->columns < 80 ? 80 : c->columns);
		buf_char(out, '\n');
	}
}

static void lines(struct cli *c, struct buf *out, const char *label, const char *const *list)
{
	for (size_t i = 0; list && list[i]; i++) {
		const char *left = i ? "" : label;
		buf_text(out, left);
		text_pad(out, 12 - text_width(str_of(left)));
		buf_fmt(out, "%s\n", list[i]);
	}
	(void)c;
}

static void one_text(struct cli *c, const struct cause_text *t, struct buf *out)
{
	text_style(out, c->color, TEXT_BOLD, arena_printf(c->arena, "%s", t->title));
	buf_fmt(out, "   %s\n\n", t->id);
	text_wrap(out, str_of(t->why), 0, 0, c->columns);
	buf_text(out, "\n\n");
	for (const struct fix *f = t->fixes; f; f = f->next) {
		const char *label = f->workaround ? cli_tr(c, "around", "临时绕过") : cli_tr(c, "cure", "修复");
		if (f->text) {
			buf_text(out, label);
			text_pad(out, 12 - text_width(str_of(label)));
			text_wrap(out, str_of(f->text), 12, 12, c->columns);
			buf_char(out, '\n');
		}
		lines(c, out, f->text ? "" : label, f->commands);
		if (f->cost) {
			text_pad(out, 12);
			text_wrap(out, str_of(arena_printf(c->arena, "%s%s", cli_tr(c, "cost: ", "代价："), f->cost)), 12, 12, c->columns);
			buf_char(out, '\n');
		}
	}
	lines(c, out, cli_tr(c, "verify", "验证"), t->verify);
	lines(c, out, cli_tr(c, "confirm", "再确认"), t->ask);
	lines(c, out, cli_tr(c, "explains", "可解释"), t->explains);
	lines(c, out, cli_tr(c, "source", "来源"), t->sources);
}

static void one_json(const struct cause_text *t, struct json_writer *w)
{
	json_open(w, NULL, '{');
	json_text(w, "cause", t->id);
	json_text(w, "stage", stage_names[t->stage]);
	json_text(w, "title", t->title);
	json_text(w, "why", t->why);
	json_list(w, "explains", t->explains);
	json_open(w, "fixes", '[');
	for (const struct fix *f = t->fixes; f; f = f->next) {
		json_open(w, NULL, '{');
		json_text(w, "id", f->id);
		json_text(w, "kind", f->workaround ? "workaround" : "cure");
		json_text(w, "text", f->text);
		json_text(w, "cost", f->cost);
		json_text(w, "needs", f->needs);
		json_list(w, "commands", f->commands);
		json_list(w, "undo", f->undo);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_list(w, "verify", t->verify);
	json_list(w, "ask", t->ask);
	json_list(w, "sources", t->sources);
	json_close(w, '}');
}

static bool has(struct cli *c, const char *text, struct str word)
{
	return strcasestr(text, str_dup(c->arena, word));
}

/* Causes whose id or title has all of these words, as `davy cause shm` or `davy cause "out of memory"` asks. */
static void search(struct cli *c, struct judge *j, const char *words, const char *const **ret, size_t *ret_count)
{
	const char *const *all;
	size_t n = judge_cause_list(j, &all), found = 0;
	const char **match = arena_array(c->arena, n + 1, sizeof *match);
	for (size_t i = 0; i < n; i++) {
		struct cause_text t;
		struct str rest = str_of(words), word;
		bool fits = judge_cause(j, all[i], false, &t) == 0;
		while (fits && str_next_field(&rest, ' ', &word))
			fits = has(c, t.id, word) || has(c, t.title, word);
		if (fits)
			match[found++] = all[i];
	}
	*ret = match;
	*ret_count = found;
}

static int no_such_cause(struct cli *c, struct judge *j, const char *asked)
{
	const char *nearest = judge_cause_nearest(j, asked);
	if (nearest)
		return cli_fail(
			c, EXIT_NO_INPUT, cli_tr(c, "no cause '%s'; the nearest is %s", "没有原因“%s”；最接近的是 %s"), asked, nearest);
	return cli_fail(c, EXIT_NO_INPUT, cli_tr(c, "no cause '%s'; the list: davy cause", "没有原因“%s”；列表：davy cause"), asked);
}

int cli_cause(struct cli *c)
{
	struct store *s = cli_knowledge(c);
	if (!s)
		return EXIT_DEFECT;
	struct judge j = {.arena = c->arena, .store = s, .facts = facts_new(c->arena), .chinese = c->chinese};
	struct buf out = BUF_MAX((size_t)16 << 20);
	struct json_writer w = json_writer_to(&out, true);
	const char *const *ids = (const char *const *)c->args;
	size_t n = c->arg_count;
	struct cause_text known;
	bool list = !n;
	if (list)
		n = judge_cause_list(&j, &ids);
	else if (n == 1 && judge_cause(&j, ids[0], false, &known) < 0) {
		const char *const *match;
		size_t matches = 0;
		search(c, &j, ids[0], &match, &matches);
		list = matches > 1;
		ids = matches ? match : ids;
		n = matches ? matches : n;
	}
	if (c->options.json) {
		json_open(&w, NULL, '{');
		json_text(&w, "schema", "davy/1");
		json_text(&w, "version", DAVY_VERSION);
		json_text(&w, "command", "cause");
		json_open(&w, "causes", '[');
	} else if (list) {
		list_text(c, &j, ids, n, &out);
	}
	int status = EXIT_FINE;
	for (size_t i = 0; i < n && (!list || c->options.json); i++) {
		struct cause_text t;
		if (judge_cause(&j, ids[i], false, &t) < 0)
			status = no_such_cause(c, &j, ids[i]);
		else if (c->options.json)
			one_json(&t, &w);
		else
			one_text(c, &t, &out);
	}
	if (c->options.json) {
		json_close(&w, ']');
		json_close(&w, '}');
		buf_char(&out, '\n');
	}
	status = cli_print(&out, status);
	buf_free(&out);
	store_close(s);
	return status;
}
