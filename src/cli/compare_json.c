#include "cli/compare.h"

#define NAMES_MAX 10000

static void node_names(struct json_writer *w, const struct outliers *o, const struct nodeset *s)
{
	size_t n = 0;
	json_open(w, "nodes", '[');
	for (uint32_t i = nodeset_next(s, 0); i != UINT32_MAX && n++ < NAMES_MAX; i = nodeset_next(s, i + 1))
		json_text(w, NULL, o->label[i]);
	json_close(w, ']');
}

static void difference(struct json_writer *w, const struct outliers *o, const struct outlier *f)
{
	static const char *const roles[] = {"live", "own", "show", "drift", "break"};
	json_open(w, NULL, '{');
	json_text(w, "fact", f->fact);
	json_text(w, "subject", f->subject);
	json_text(w, "role", roles[f->role]);
	json_int(w, "weight", f->weight);
	json_text(w, "agreed", f->golden ? "reference" : f->has_expected ? "majority" : NULL);
	json_text(w, "expected", f->has_expected ? f->expected : NULL);
	json_int(w, "known", f->known);
	json_int(w, "odd", f->odd);
	json_int(w, "follows", f->folded);
	json_open(w, "values", '[');
	for (const struct outlier_value *v = f->values; v; v = v->next) {
		json_open(w, NULL, '{');
		json_text(w, "value", v->text);
		json_int(w, "count", v->nodes.count);
		json_bool(w, "expected", v->majority);
		if (!v->majority)
			node_names(w, o, &v->nodes);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_close(w, '}');
}

static void texts(struct json_writer *w, const char *key, const char *const *list, size_t count)
{
	json_open(w, key, '[');
	for (size_t i = 0; i < count; i++)
		json_text(w, NULL, list[i]);
	json_close(w, ']');
}

static void lost(struct json_writer *w, const struct align *al)
{
	static const char *const states[] = {"good", "damaged", "newer", "unreadable"};
	json_open(w, "not_counted", '[');
	for (const struct align_lost *l = al->lost; l; l = l->next) {
		json_open(w, NULL, '{');
		json_text(w, "source", l->source);
		json_text(w, "node", l->name);
		json_text(w, "state", states[l->state]);
		json_text(w, "why", l->why);
		json_close(w, '}');
	}
	json_close(w, ']');
}

void compare_json(struct json_writer *w, const struct outliers *o)
{
	static const char *const pairs[] = {NULL, "nodes", "times"};
	json_open(w, "compare", '{');
	json_int(w, "nodes", (int64_t)o->align->node_count);
	json_int(w, "facts", (int64_t)o->facts);
	json_text(w, "pair", pairs[o->pair]);
	json_text(w, "grouped_by", o->grouped_by);
	json_open(w, "odd", '[');
	for (size_t i = 0; i < o->odd_count; i++) {
		json_open(w, NULL, '{');
		json_text(w, "node", o->label[o->odd[i].node]);
		json_int(w, "facts", (int64_t)o->odd[i].facts);
		json_int(w, "weight", o->odd[i].weight);
		json_close(w, '}');
	}
	json_close(w, ']');
	texts(w, "missing", o->missing, o->missing_count);
	texts(w, "stale", o->stale, o->stale_count);
	texts(w, "repeated", o->repeated, o->repeated_count);
	lost(w, o->align);
	json_open(w, "groups", '[');
	for (const struct outlier_group *g = o->groups; g; g = g->next) {
		json_open(w, NULL, '{');
		json_text(w, "name", g->name);
		json_int(w, "count", g->nodes.count);
		if (o->grouped_by)
			node_names(w, o, &g->nodes);
		json_open(w, "differences", '[');
		for (const struct outlier *f = g->first; f; f = f->next)
			difference(w, o, f);
		json_close(w, ']');
		json_close(w, '}');
	}
	json_close(w, ']');
	json_close(w, '}');
}
