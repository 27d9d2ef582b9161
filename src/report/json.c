/* The contract: schema "davy/1". docs/schema/davy-1.json describes it, a test holds both together. */
#include <math.h>

#include "report/json_writer.h"
#include "report/report.h"

#define REPEATS_MAX 20000

static void value(struct json_writer *w, const char *key, const struct facts_value *v, enum facts_type type)
{
	if (v->gap != GAP_NONE)
		json_null(w, key);
	else if (type == FACTS_TEXT)
		json_text(w, key, v->text);
	else if (type == FACTS_REAL)
		json_real(w, key, v->r);
	else if (type == FACTS_BOOL)
		json_bool(w, key, v->i != 0);
	else
		json_int(w, key, v->i);
}

static void evidence(struct json_writer *w, const struct evidence *e)
{
	json_open(w, NULL, '{');
	if (e->fact) {
		json_text(w, "fact", e->fact);
		value(w, "value", e->value, e->type);
		json_text(w, "origin", e->origin);
		if (e->subject)
			json_text(w, "subject", e->subject);
	} else {
		json_text(w, "file", e->file);
		json_int(w, "line", e->line);
		json_text(w, "text", e->text);
	}
	json_close(w, '}');
}

static void fixes(struct json_writer *w, const struct fix *fix)
{
	json_open(w, "fixes", '[');
	for (; fix; fix = fix->next) {
		json_open(w, NULL, '{');
		json_text(w, "id", fix->id);
		json_text(w, "kind", fix->workaround ? "workaround" : "cure");
		json_text(w, "text", fix->text);
		json_text(w, "cost", fix->cost);
		json_text(w, "needs", fix->needs);
		json_list(w, "commands", fix->commands);
		json_list(w, "undo", fix->undo);
		json_close(w, '}');
	}
	json_close(w, ']');
}

/* The rules (and patterns of log lines) that speak for it, each once. */
static void rules(struct json_writer *w, const struct finding *f)
{
	json_open(w, "rules", '[');
	if (f->rule)
		json_text(w, NULL, f->rule);
	for (const struct finding *g = f->also; g; g = g->next) {
		bool told = !g->rule || (f->rule && strcmp(g->rule, f->rule) == 0);
		for (const struct finding *h = f->also; h != g && !told; h = h->next)
			told = h->rule && strcmp(h->rule, g->rule) == 0;
		if (!told)
			json_text(w, NULL, g->rule);
	}
	json_close(w, ']');
}

static void finding(struct json_writer *w, const struct finding *f)
{
	json_open(w, NULL, '{');
	json_text(w, "cause", f->cause);
	json_text(w, "status", status_name(f->status));
	json_text(w, "certainty", certainty_name(f->certainty));
	json_str(w, "stage", str_n(f->cause, strcspn(f->cause, ".")));
	json_text(w, "title", f->title);
	json_text(w, "says", f->says ? f->says : f->title);
	json_text(w, "why", f->why);
	json_text(w, "rule", f->rule);
	rules(w, f);
	if (f->waived_until) {
		json_open(w, "waived", '{');
		json_text(w, "until", f->waived_until);
		json_text(w, "reason", f->waived_because);
		json_close(w, '}');
	}
	json_open(w, "subject", '{');
	json_text(w, "table", f->table);
	json_text(w, "key", f->key);
	json_close(w, '}');
	json_text(w, "node", f->node);
	if (f->rank >= 0)
		json_int(w, "rank", f->rank);
	else
		json_null(w, "rank");
	json_open(w, "ranks", '[');
	for (size_t i = 0; i < f->rank_count; i++)
		json_int(w, NULL, f->ranks[i]);
	json_close(w, ']');
	if (f->time >= 0)
		json_real(w, "time", f->time);
	else
		json_null(w, "time");
	json_open(w, "evidence", '[');
	for (const struct evidence *e = f->evidence; e; e = e->next)
		evidence(w, e);
	json_close(w, ']');
	json_open(w, "explains", '[');
	for (const struct explained *e = f->explains; e; e = e->next) {
		json_open(w, NULL, '{');
		json_text(w, "symptom", e->symptom);
		json_int(w, "count", e->count);
		json_int(w, "first_line", e->first_line);
		json_text(w, "first_file", e->first_file);
		json_close(w, '}');
	}
	for (const struct finding *g = f->folded; g; g = g->next) {
		json_open(w, NULL, '{');
		json_text(w, "cause", g->cause);
		json_int(w, "count", g->rows);
		rules(w, g);
		json_close(w, '}');
	}
	json_close(w, ']');
	fixes(w, f->fixes);
	json_list(w, "verify", f->verify);
	json_list(w, "ask", f->ask);
	json_list(w, "sources", f->sources);
	json_close(w, '}');
}

static void event(struct json_writer *w, const struct facts_row *row, const struct report_line *repeat)
{
	static const struct {
		const char *key;
		enum facts_column column;
	} members[] = {{"pattern", event__pattern}, {"class", event__class}, {"symptom", event__symptom}, {"cause", event__cause},
		{"file", event__file}, {"line", event__line}, {"rank", event__rank}, {"node", event__host}, {"time", event__time},
		{"count", event__count}, {"text", event__text}};
	json_open(w, NULL, '{');
	for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
		enum facts_column c = members[i].column;
		if (repeat && c == event__file)
			json_text(w, members[i].key, repeat->file);
		else if (repeat && c == event__line)
			json_int(w, members[i].key, repeat->line);
		else if (repeat && c == event__rank && repeat->rank >= 0)
			json_int(w, members[i].key, repeat->rank);
		else if (repeat && c == event__time && isnan(repeat->time))
			json_null(w, members[i].key);
		else if (repeat && c == event__time)
			json_real(w, members[i].key, repeat->time);
		else if (!repeat || (c != event__count && c != event__text))
			value(w, members[i].key, facts_value(row, c), facts_columns[c].type);
	}
	json_close(w, '}');
}

/* The first line of an event with its text and how many there are; then the further ones, the first thousand of a pattern. */
static void events(struct json_writer *w, const struct report *r)
{
	size_t left = REPEATS_MAX;
	json_open(w, "events", '[');
	for (const struct facts_row *row = r->facts->first[TABLE_event]; row; row = row->next) {
		struct report_line repeat;
		event(w, row, NULL);
		for (size_t i = 0; left && r->event_line && r->event_line(r->event_line_arg, row->id, i, &repeat); i++, left--)
			event(w, row, &repeat);
	}
	json_close(w, ']');
}

static void tables(struct json_writer *w, const struct facts *f)
{
	json_open(w, "facts", '{');
	for (int t = 0; t < TABLE_COUNT; t++) {
		struct facts_table_info info = facts_table((enum facts_table)t);
		if (t == TABLE_event || !f->read[t])
			continue;
		json_open(w, info.name, '[');
		for (const struct facts_row *row = f->first[t]; row; row = row->next) {
			json_open(w, NULL, '{');
			for (int c = info.first; c < info.end; c++) {
				const struct facts_value *v = facts_value(row, (enum facts_column)c);
				if (v->gap == GAP_NONE || v->set)
					value(w, facts_columns[c].name, v, facts_columns[c].type);
			}
			if (row->node)
				json_text(w, "node", row->node);
			json_close(w, '}');
		}
		json_close(w, ']');
	}
	json_close(w, '}');
}

/* A table may have several gaps; the first in the list stands for it. */
static bool seen_before(const struct facts *f, const struct facts_table_gap *gap)
{
	const struct facts_table_gap *g = f->gaps;
	while (g != gap && g->table != gap->table)
		g = g->next;
	return g != gap;
}

/* A null in `facts` means that there is none, unless its column stands here: then one value of it at least could not be had. */
static void gaps(struct json_writer *w, const struct facts *f)
{
	json_open(w, "gaps", '{');
	for (int t = 0; t < TABLE_COUNT; t++) {
		struct facts_table_info info = facts_table((enum facts_table)t);
		for (int c = info.first; c < info.end && t != TABLE_event; c++) {
			enum facts_gap gap = GAP_NONE;
			for (const struct facts_row *row = f->first[t]; row && gap == GAP_NONE; row = row->next) {
				const struct facts_value *v = &row->value[c - info.first];
				if (v->set && v->gap != GAP_ABSENT)
					gap = v->gap;
			}
			if (gap != GAP_NONE) {
				char name[128];
				snprintf(name, sizeof name, "%s.%s", info.name, facts_columns[c].name);
				json_text(w, name, facts_gap_name(gap));
			}
		}
	}
	for (const struct facts_table_gap *g = f->gaps; g; g = g->next)
		if (!seen_before(f, g))
			json_text(w, facts_table(g->table).name, facts_gap_name(g->gap));
	json_close(w, '}');
}

static void unknown(struct json_writer *w, const struct report *r)
{
	json_open(w, "unknown", '[');
	for (const struct unknown_fact *u = r->judgement->unknown; u; u = u->next) {
		json_open(w, NULL, '{');
		json_text(w, "fact", u->fact);
		json_text(w, "reason", u->reason);
		json_text(w, "origin", u->origin);
		json_close(w, '}');
	}
	for (const struct facts_table_gap *g = r->facts->gaps; g; g = g->next) {
		json_open(w, NULL, '{');
		json_text(w, "fact", facts_table(g->table).name);
		json_text(w, "reason", facts_gap_name(g->gap));
		json_text(w, "origin", g->origin);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static const char *state_name(enum stage_state s)
{
	static const char *const names[] = {"fine", "info", "warn", "fail", "unknown", "not-reached", "silent"};
	return names[s];
}

void report_json(const struct report *r, struct buf *out)
{
	const struct judgement *j = r->judgement;
	struct json_writer writer = json_writer_to(out, true), *w = &writer;
	json_open(w, NULL, '{');
	json_text(w, "schema", "davy/1");
	json_text(w, "version", DAVY_VERSION);
	json_text(w, "command", r->command);
	if (r->time > 0)
		json_int(w, "time", r->time);
	json_text(w, "verdict", verdict_name(j->verdict));
	json_text(w, "backend", j->backend);
	if (j->ranks > 0)
		json_int(w, "ranks", j->ranks);
	json_open(w, "findings", '[');
	for (const struct finding *f = j->findings; f; f = f->next)
		finding(w, f);
	json_close(w, ']');
	if (j->ask)
		json_list(w, "ask", j->ask);
	json_open(w, "stages", '{');
	for (int i = 0; i < STAGE_COUNT; i++)
		json_text(w, stage_names[i], state_name(j->stage[i]));
	json_close(w, '}');
	if (r->extra)
		r->extra->write(w, r->extra->arg);
	events(w, r);
	gaps(w, r->facts);
	tables(w, r->facts);
	unknown(w, r);
	json_open(w, "timing_ms", '{');
	json_real(w, "total", r->total_ms);
	for (size_t i = 0; i < r->part_count; i++)
		json_real(w, r->part_names[i], r->part_ms[i]);
	json_close(w, '}');
	json_close(w, '}');
	buf_char(out, '\n');
}
