#include "fleet/outliers.h"

#include <errno.h>

#include "fleet/nodelist.h"

#define DAY_S 86400
#define STRAY_AMONG 3 /* a node that alone has its model is compared with a group of at least so many */
#define OUTLIERS_MAX 20000

struct search {
	struct arena *arena;
	const struct align *al;
	const struct outliers_options *options;
	struct outliers *out;
	struct nodeset all; /* without the reference */
};

/* -- who is who ------------------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	const struct align_node *x = *(const struct align_node *const *)a, *y = *(const struct align_node *const *)b;
	int order = strcmp(x->name, y->name);
	return order ? order : x < y ? -1 : x > y;
}

/* A node is called by its host name; nodes of one name by where they came from. */
static void label_nodes(struct search *s)
{
	const struct align *al = s->al;
	const struct align_node **sorted = arena_array(s->arena, al->node_count + 1, sizeof *sorted);
	size_t n = 0, repeated_cap = 4;
	struct outliers *o = s->out;
	o->label = arena_array(s->arena, al->node_count + 1, sizeof *o->label);
	o->repeated = arena_array(s->arena, repeated_cap, sizeof *o->repeated);
	for (size_t i = 0; i < al->node_count; i++) {
		o->label[i] = al->nodes[i].name ? al->nodes[i].name : al->nodes[i].source;
		if (al->nodes[i].name && i != s->options->golden)
			sorted[n++] = &al->nodes[i];
	}
	qsort(sorted, n, sizeof *sorted, by_name);
	for (size_t i = 0, next; i < n; i = next) {
		bool same = false;
		for (next = i + 1; next < n && strcmp(sorted[i]->name, sorted[next]->name) == 0; next++)
			same |= sorted[i]->identity && sorted[next]->identity && strcmp(sorted[i]->identity, sorted[next]->identity) == 0;
		for (size_t k = i; next > i + 1 && k < next; k++)
			o->label[sorted[k] - al->nodes] = sorted[k]->source;
		if (same) {
			o->repeated = arena_grow(s->arena, o->repeated, o->repeated_count, &repeated_cap, sizeof *o->repeated);
			o->repeated[o->repeated_count++] = sorted[i]->name;
		}
	}
	if (al->node_count == 2 && s->options->golden == UINT32_MAX) {
		const struct align_node *a = &al->nodes[0], *b = &al->nodes[1];
		bool names = a->name && b->name && strcmp(a->name, b->name) == 0;
		bool other = a->identity && b->identity && strcmp(a->identity, b->identity) != 0;
		o->same_machine = names && !other;
		o->pair = o->same_machine ? PAIR_TIMES : PAIR_NODES;
	}
}

static void find_stale(struct search *s)
{
	const struct align *al = s->al;
	struct outliers *o = s->out;
	int64_t newest = -1, limit = s->options->stale_s > 0 ? s->options->stale_s : DAY_S;
	size_t cap = 4;
	o->stale = arena_array(s->arena, cap, sizeof *o->stale);
	for (size_t i = 0; i < al->node_count; i++)
		if (i != s->options->golden && al->nodes[i].time > newest &&
			!(s->options->now > 0 && al->nodes[i].time > s->options->now + DAY_S))
			newest = al->nodes[i].time;
	for (size_t i = 0; o->pair == PAIR_NONE && i < al->node_count; i++) {
		if (i == s->options->golden || al->nodes[i].time < 0 || newest - al->nodes[i].time <= limit)
			continue;
		o->stale = arena_grow(s->arena, o->stale, o->stale_count, &cap, sizeof *o->stale);
		o->stale[o->stale_count++] = o->label[i];
	}
}

/* Nobody was examined in the future. Where most seem to be, this machine's clock is the wrong one, and nothing is said. */
static void find_ahead(struct search *s)
{
	const struct align *al = s->al;
	struct outliers *o = s->out;
	for (size_t i = 0; s->options->now > 0 && i < al->node_count; i++) {
		int64_t by = al->nodes[i].time - s->options->now;
		if (al->nodes[i].time < 0 || by <= AHEAD_S)
			continue;
		nodeset_add(&o->ahead, (uint32_t)i);
		o->ahead_s = by > o->ahead_s ? by : o->ahead_s;
	}
	if ((size_t)o->ahead.count * 2 >= al->node_count)
		nodeset_free(&o->ahead);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* node-1.example.org is node-1. */
static const char *short_name(struct arena *a, const char *name)
{
	size_t n = strcspn(name, ".");
	bool address = name[strspn(name, "0123456789.")] == '\0';
	return name[n] && !address ? arena_strndup(a, name, n) : name;
}

static void find_missing(struct search *s)
{
	const struct align *al = s->al;
	struct outliers *o = s->out;
	size_t n = 0, cap = 4;
	const char **there = arena_array(s->arena, al->node_count * 2 + al->lost_count * 2 + 1, sizeof *there);
	for (size_t i = 0; i < al->node_count; i++) {
		there[n++] = short_name(s->arena, o->label[i]);
		if (al->nodes[i].name)
			there[n++] = short_name(s->arena, al->nodes[i].name);
	}
	qsort(there, n, sizeof *there, by_text);
	o->missing = arena_array(s->arena, cap, sizeof *o->missing);
	for (size_t i = 0; i < s->options->expected_count; i++) {
		const char *name = short_name(s->arena, s->options->expected_names[i]);
		if (bsearch(&name, there, n, sizeof *there, by_text))
			continue;
		o->missing = arena_grow(s->arena, o->missing, o->missing_count, &cap, sizeof *o->missing);
		o->missing[o->missing_count++] = s->options->expected_names[i];
	}
}

/* -- groups ----------------------------------------------------------------------------------------------------------------- */

static const char *column_name(const struct align_slot *slot)
{
	return slot->column == COLUMN_COUNT ? "count" : facts_columns[slot->column].name;
}

/* Does "view", "view.column", "view.key" or "view.key.column" name this slot? */
static bool is_slot(const struct align_slot *slot, const char *what)
{
	const char *view = slot->subject->view->name, *key = slot->subject->key, *column = column_name(slot);
	size_t n = strlen(view);
	if (strncmp(what, view, n) != 0 || (what[n] && what[n] != '.'))
		return false;
	what += n + (what[n] == '.');
	if (!*key)
		return strcmp(what, column) == 0;
	n = strlen(key);
	if (strcmp(what, column) == 0)
		return true;
	if (strncmp(what, key, n) != 0 || (what[n] && what[n] != '.'))
		return false;
	return !what[n] || strcmp(what + n + 1, column) == 0;
}

static struct align_slot *find_slot(const struct align *al, const char *what)
{
	struct align_slot *found = NULL;
	for (struct align_view *v = al->views; v; v = v->next)
		for (struct align_subject *s = v->subjects; s; s = s->next)
			for (struct align_slot *slot = s->slots; slot; slot = slot->next)
				if (is_slot(slot, what) &&
					(!found || strcmp(column_name(slot), "value") == 0 || strcmp(column_name(slot), "version") == 0))
					found = slot;
	return found;
}

static struct outlier_group *add_group(struct search *s, const char *name, struct nodeset nodes)
{
	struct outlier_group *g = arena_alloc(s->arena, sizeof *g), **place = &s->out->groups;
	g->name = name;
	g->nodes = nodes;
	while (*place && (*place)->nodes.count >= nodes.count)
		place = &(*place)->next;
	g->next = *place;
	*place = g;
	s->out->group_count++;
	return g;
}

static void drop_groups(struct search *s)
{
	for (struct outlier_group *g = s->out->groups; g; g = g->next)
		nodeset_free(&g->nodes);
	s->out->groups = NULL;
	s->out->group_count = 0;
}

/* Nodes that alone are of their kind come to the largest group. What is left in one group is no grouping. */
static void take_in_strays(struct search *s)
{
	struct outlier_group *first = s->out->groups, **place = first ? &first->next : NULL;
	while (place && *place && first->nodes.count >= STRAY_AMONG) {
		struct outlier_group *g = *place;
		if (g->nodes.count > 1) {
			place = &g->next;
			continue;
		}
		struct nodeset both = nodeset_or(&first->nodes, &g->nodes);
		nodeset_free(&first->nodes);
		nodeset_free(&g->nodes);
		first->nodes = both;
		*place = g->next;
		s->out->group_count--;
	}
}

static int make_groups(struct search *s)
{
	const char *by = s->options->by, *what = "gpu.name";
	bool automatic = !by;
	if (by && strcmp(by, "none") != 0 && strcmp(by, "gpu") != 0)
		what = strcmp(by, "partition") == 0 ? "variable.SLURM_JOB_PARTITION" : by;
	struct align_slot *slot = s->out->pair != PAIR_NONE || (by && strcmp(by, "none") == 0) || (automatic && s->options->job)
		? NULL
		: find_slot(s->al, what);
	if (slot && slot->value_count > OUTLIER_GROUPS_MAX && !automatic)
		return -E2BIG;
	if (by && !slot && strcmp(by, "none") != 0 && strcmp(by, "gpu") != 0 && s->out->pair == PAIR_NONE)
		return -EINVAL;
	struct nodeset left = nodeset_and(&s->all, &s->all);
	for (struct align_value *v = slot ? slot->values : NULL; v && s->out->group_count < OUTLIER_GROUPS_MAX; v = v->next) {
		struct nodeset here = nodeset_and(&left, &v->nodes);
		if (!here.count) {
			nodeset_free(&here);
			continue;
		}
		struct nodeset rest = nodeset_minus(&left, &here);
		nodeset_free(&left);
		left = rest;
		add_group(s, v->text, here);
	}
	if (left.count)
		add_group(s, NULL, left);
	if (automatic)
		take_in_strays(s);
	if (s->out->group_count == 1 || (automatic && s->out->groups && s->out->groups->nodes.count == 1)) {
		drop_groups(s);
		add_group(s, NULL, nodeset_and(&s->all, &s->all));
	} else if (s->out->group_count) {
		s->out->grouped_by = what;
	}
	return 0;
}

/* -- one slot in one group ---------------------------------------------------------------------------------------------------- */

static void add_value(struct search *s, struct outlier *o, const char *text, struct nodeset nodes)
{
	if (!nodes.count) {
		nodeset_free(&nodes);
		return;
	}
	struct outlier_value *v = NULL, **place = &o->values;
	for (v = o->values; v; v = v->next)
		if (!v->text == !text && (!text || strcmp(v->text, text) == 0))
			break;
	if (v) { /* "none" and a row that is not there */
		struct nodeset both = nodeset_or(&v->nodes, &nodes);
		nodeset_free(&v->nodes);
		nodeset_free(&nodes);
		v->nodes = both;
		return;
	}
	v = arena_alloc(s->arena, sizeof *v);
	v->text = text;
	v->nodes = nodes;
	while (*place && (*place)->nodes.count >= nodes.count)
		place = &(*place)->next;
	v->next = *place;
	*place = v;
	o->value_count++;
}

static void free_values(struct outlier *o)
{
	for (struct outlier_value *v = o->values; v; v = v->next)
		nodeset_free(&v->nodes);
}

static bool number_of(const char *text, double *ret)
{
	return text && str_to_real(str_of(text), ret) == 0;
}

/* The value around which most nodes lie: the most frequent one, or where all differ the one in the middle. */
static const struct outlier_value *centre_of(const struct outlier *o)
{
	const struct outlier_value *best = NULL;
	size_t best_off = SIZE_MAX;
	double x, y;
	for (const struct outlier_value *v = o->values; v; v = v->next) {
		uint32_t below = 0, above = 0;
		if (!number_of(v->text, &x))
			continue;
		for (const struct outlier_value *w = o->values; w; w = w->next)
			if (number_of(w->text, &y)) {
				below += y < x ? w->nodes.count : 0;
				above += y > x ? w->nodes.count : 0;
			}
		size_t off = below > above ? below - above : above - below;
		if (off < best_off) {
			best = v;
			best_off = off;
		}
	}
	return best;
}

/* What is nearly the same becomes one value. */
static void join_near(struct search *s, struct outlier *o, double tolerance)
{
	const struct outlier_value *centre = o->value_count > 1 ? centre_of(o) : NULL;
	struct outlier_value *joined = NULL, **place = &o->values;
	double middle, x;
	if (!centre || !number_of(centre->text, &middle))
		return;
	while (*place) {
		struct outlier_value *v = *place;
		double off = number_of(v->text, &x) ? (x > middle ? x - middle : middle - x) : -1;
		if (off < 0 || off > tolerance * (middle < 0 ? -middle : middle)) {
			place = &v->next;
		} else if (!joined) {
			joined = v; /* the most frequent of them: it comes first */
			place = &v->next;
		} else {
			struct nodeset both = nodeset_or(&joined->nodes, &v->nodes);
			nodeset_free(&joined->nodes);
			nodeset_free(&v->nodes);
			joined->nodes = both;
			*place = v->next;
			o->value_count--;
		}
	}
	struct outlier_value *old = o->values;
	o->values = NULL;
	o->value_count = 0;
	for (struct outlier_value *v = old, *next; v; v = next) { /* into order again */
		next = v->next;
		add_value(s, o, v->text, v->nodes);
	}
}

/* What stands for the whole row when it is missing: the column that matters most. */
static bool is_main(const struct align_slot *slot)
{
	for (const struct align_slot *other = slot->subject->slots; other; other = other->next)
		if (other != slot &&
			(other->rule->weight > slot->rule->weight ||
				(other->rule->weight == slot->rule->weight && other->column < slot->column)))
			return false;
	return true;
}

static const char *golden_value(const struct search *s, const struct align_slot *slot, bool *ret_known)
{
	uint32_t golden = s->options->golden;
	*ret_known = true;
	for (const struct align_value *v = slot->values; v; v = v->next)
		if (nodeset_has(&v->nodes, golden))
			return v->text;
	*ret_known = slot->subject->view->absent && is_main(slot) && nodeset_has(&slot->subject->view->known, golden) &&
		!nodeset_has(&slot->subject->seen, golden);
	return NULL;
}

static void find_expected(struct search *s, struct outlier *o)
{
	const struct align_slot *slot = o->slot;
	double x, y;
	if (s->options->golden != UINT32_MAX) {
		bool known;
		o->expected = golden_value(s, slot, &known);
		o->has_expected = o->golden = known;
		for (struct outlier_value *v = o->values; v && known; v = v->next) {
			bool near = slot->rule->tolerance > 0 && number_of(v->text, &x) && number_of(o->expected, &y) &&
				(x > y ? x - y : y - x) <= slot->rule->tolerance * (y < 0 ? -y : y);
			v->majority = v->golden = near || (!v->text == !o->expected && (!v->text || strcmp(v->text, o->expected) == 0));
		}
	} else if (s->out->pair == PAIR_NONE && o->values && o->values->nodes.count * 2 > o->known) {
		o->values->majority = true;
		o->expected = o->values->text;
		o->has_expected = true;
	}
	o->odd = 0;
	for (struct outlier_value *v = o->values; v; v = v->next)
		o->odd += v->majority ? 0 : v->nodes.count;
}

static struct outlier *look(struct search *s, const struct outlier_group *g, const struct align_slot *slot)
{
	const struct align_subject *subject = slot->subject;
	if (slot->crowded || slot->rule->role < ROLE_SHOW)
		return NULL;
	/* All nodes of the group have the first value: the usual case, told without making anything. */
	bool complete = nodeset_and_count(&subject->seen, &g->nodes) == g->nodes.count;
	if (s->options->golden == UINT32_MAX && complete)
		for (const struct align_value *v = slot->values; v; v = v->next)
			if (nodeset_and_count(&v->nodes, &g->nodes) == g->nodes.count)
				return NULL;
	struct outlier found = {.slot = slot};
	for (const struct align_value *v = slot->values; v; v = v->next)
		add_value(s, &found, v->text, nodeset_and(&v->nodes, &g->nodes));
	if (!complete && subject->view->absent && is_main(slot)) {
		struct nodeset known = nodeset_and(&subject->view->known, &g->nodes);
		add_value(s, &found, NULL, nodeset_minus(&known, &subject->seen));
		nodeset_free(&known);
	}
	if (slot->rule->tolerance > 0)
		join_near(s, &found, slot->rule->tolerance);
	for (struct outlier_value *v = found.values; v; v = v->next)
		found.known += v->nodes.count;
	find_expected(s, &found);
	if (found.golden || s->options->golden != UINT32_MAX ? !found.golden || !found.odd : found.value_count < 2) {
		free_values(&found);
		return NULL;
	}
	found.fact = arena_printf(s->arena, "%s.%s", subject->view->name, column_name(slot));
	found.subject = *subject->key ? subject->key : NULL;
	found.weight = slot->rule->weight;
	found.role = slot->rule->role;
	struct outlier *o = arena_alloc(s->arena, sizeof *o);
	*o = found;
	return o;
}

/* What breaks jobs first; then what few nodes have. */
static int by_weight(const void *a, const void *b)
{
	const struct outlier *x = *(struct outlier *const *)a, *y = *(struct outlier *const *)b;
	if (x->role != y->role)
		return x->role > y->role ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	if (x->odd != y->odd)
		return x->odd < y->odd ? -1 : 1;
	int order = strcmp(x->fact, y->fact);
	return order ? order : strcmp(x->subject ? x->subject : "", y->subject ? y->subject : "");
}

static void look_at_group(struct search *s, struct outlier_group *g)
{
	size_t cap = 64, n = 0;
	struct outlier **list = arena_array(s->arena, cap, sizeof *list);
	for (const struct align_view *v = s->al->views; v; v = v->next)
		for (const struct align_subject *subject = v->subjects; subject; subject = subject->next)
			for (const struct align_slot *slot = subject->slots; slot && n < OUTLIERS_MAX; slot = slot->next) {
				struct outlier *o = look(s, g, slot);
				s->out->facts += g == s->out->groups && slot->value_count && slot->rule->role >= ROLE_SHOW;
				if (!o)
					continue;
				list = arena_grow(s->arena, list, n, &cap, sizeof *list);
				list[n++] = o;
			}
	qsort(list, n, sizeof *list, by_weight);
	struct outlier **tail = &g->first;
	for (size_t i = 0; i < n; i++) {
		*tail = list[i];
		tail = &list[i]->next;
	}
	g->count = n;
}

/* -- what follows from what --------------------------------------------------------------------------------------------------- */

static struct nodeset odd_nodes(const struct outlier *o)
{
	struct nodeset all = {0};
	for (const struct outlier_value *v = o->values; v; v = v->next) {
		if (v->majority)
			continue;
		struct nodeset both = nodeset_or(&all, &v->nodes);
		nodeset_free(&all);
		all = both;
	}
	return all;
}

/* Within one view a row follows itself only: limit.soft of nofile says nothing about memlock. A key that is named is meant. */
static bool may_lead(const struct outlier *lead, const struct outlier *o, const char *name)
{
	const struct align_subject *x = lead->slot->subject, *y = o->slot->subject;
	return x->view != y->view || x == y || (*x->key && strstr(name, x->key));
}

static void fold(struct outlier_group *g)
{
	for (struct outlier *o = g->first; o; o = o->next) {
		struct str rest = str_of(o->slot->rule->follows ? o->slot->rule->follows : ""), one;
		struct nodeset left = odd_nodes(o);
		uint32_t all = left.count;
		while (str_next_word(&rest, &one)) {
			for (const struct outlier *lead = g->first; lead; lead = lead->next) {
				char name[256];
				snprintf(name, sizeof name, "%.*s", (int)one.len, one.ptr);
				if (lead == o || !is_slot(lead->slot, name) || !may_lead(lead, o, name))
					continue;
				struct nodeset odd = odd_nodes(lead), remaining = nodeset_minus(&left, &odd);
				nodeset_free(&odd);
				nodeset_free(&left);
				left = remaining;
			}
		}
		o->folded = all - left.count;
		nodeset_free(&left);
	}
}

/* -- the odd nodes -------------------------------------------------------------------------------------------------------------- */

static int by_oddness(const void *a, const void *b)
{
	const struct outlier_node *x = a, *y = b;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	if (x->facts != y->facts)
		return x->facts > y->facts ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static void count_odd_nodes(struct search *s)
{
	struct outliers *o = s->out;
	struct outlier_node *nodes = arena_array(s->arena, s->al->node_count + 1, sizeof *nodes);
	for (struct outlier_group *g = o->groups; g; g = g->next)
		for (struct outlier *f = g->first; f; f = f->next) {
			if (f->role < ROLE_DRIFT || !f->has_expected || f->folded == f->odd)
				continue;
			struct nodeset odd = odd_nodes(f);
			for (uint32_t n = nodeset_next(&odd, 0); n != UINT32_MAX; n = nodeset_next(&odd, n + 1)) {
				nodes[n].weight += f->weight;
				nodes[n].facts++;
			}
			nodeset_free(&odd);
		}
	for (size_t i = 0; i < s->al->node_count; i++)
		if (nodes[i].facts) {
			struct outlier_node odd = nodes[i];
			odd.node = (uint32_t)i;
			nodes[o->odd_count++] = odd;
		}
	qsort(nodes, o->odd_count, sizeof *nodes, by_oddness);
	o->odd = nodes;
}

/* -- all together ----------------------------------------------------------------------------------------------------------------- */

int outliers_find(struct arena *a, const struct align *al, const struct outliers_options *options, struct outliers **ret)
{
	struct outliers *o = arena_alloc(a, sizeof *o);
	struct search s = {.arena = a, .al = al, .options = options, .out = o};
	o->arena = a;
	o->align = al;
	o->job = options->job;
	nodeset_add_all(&s.all, (uint32_t)al->node_count);
	if (options->golden != UINT32_MAX) {
		struct nodeset reference = {0}, rest;
		nodeset_add(&reference, options->golden);
		rest = nodeset_minus(&s.all, &reference);
		nodeset_free(&reference);
		nodeset_free(&s.all);
		s.all = rest;
	}
	label_nodes(&s);
	find_stale(&s);
	find_ahead(&s);
	find_missing(&s);
	int rc = make_groups(&s);
	for (struct outlier_group *g = o->groups; g && rc == 0; g = g->next) {
		look_at_group(&s, g);
		fold(g);
	}
	if (rc == 0)
		count_odd_nodes(&s);
	nodeset_free(&s.all);
	*ret = o;
	return rc;
}

void outliers_free(struct outliers *o)
{
	if (o)
		nodeset_free(&o->ahead);
	for (struct outlier_group *g = o ? o->groups : NULL; g; g = g->next) {
		nodeset_free(&g->nodes);
		for (struct outlier *f = g->first; f; f = f->next)
			free_values(f);
	}
}

const char *outliers_nodes(const struct outliers *o, struct arena *a, const struct nodeset *s, size_t max_bytes)
{
	const char **names = arena_array(a, s->count + 1, sizeof *names);
	size_t n = 0;
	for (uint32_t i = nodeset_next(s, 0); i != UINT32_MAX && n < s->count; i = nodeset_next(s, i + 1))
		names[n++] = o->label[i];
	return nodelist_fold(a, names, n, max_bytes);
}

/* -- rows for the judge ------------------------------------------------------------------------------------------------------------- */

#define ROWS_MAX 2000
#define VALUES_SHOWN 8
#define VALUES_TOLD 16
#define NODES_BYTES 200

/* NULL: the others have none. */
static const char *others_of(struct arena *a, const struct outlier *o, const struct outlier_value *but)
{
	struct buf b = BUF_MAX(2000);
	int n = 0;
	if (o->golden)
		return o->expected;
	for (const struct outlier_value *v = o->values; v && n < VALUES_SHOWN; v = v->next)
		if (v != but && v->text)
			buf_fmt(&b, "%s%s", n++ ? ", " : "", v->text);
	const char *text = b.len ? arena_strndup(a, b.ptr, b.len) : NULL;
	buf_free(&b);
	return text;
}

const char *outliers_what(struct arena *a, const struct outlier *o)
{
	static const char *const usual[] = {"version", "value", "soft"};
	const char *view = o->slot->subject->view->name, *column = column_name(o->slot);
	if (!o->subject)
		return o->fact;
	for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
		if (strcmp(column, usual[i]) == 0)
			return arena_printf(a, "%s %s", view, o->subject);
	return arena_printf(a, "%s %s %s", view, o->subject, column);
}

static void spread_row(const struct outliers *o, const struct outlier_group *g, const struct outlier *f, const struct outlier_value *v,
	struct facts *facts)
{
	static const char *const roles[] = {"live", "own", "show", "drift", "break"};
	const char *nodes = outliers_nodes(o, facts->arena, &v->nodes, NODES_BYTES), *before = facts->node;
	const char *origin = nodes;
	facts->node = o->label[nodeset_next(&v->nodes, 0)];
	struct facts_row *row = facts_add(facts, TABLE_spread);
	facts->node = before;
	facts_text(row, spread__fact, f->fact, origin);
	facts_text(row, spread__subject, f->subject, origin);
	facts_text(row, spread__what, outliers_what(facts->arena, f), origin);
	if (v->text)
		facts_text(row, spread__value, v->text, origin);
	else
		facts_gap(row, spread__value, GAP_ABSENT, origin, NULL);
	if (f->has_expected && f->expected)
		facts_text(row, spread__expected, f->expected, origin);
	else
		facts_gap(row, spread__expected, GAP_ABSENT, origin, NULL);
	facts_bool(row, spread__agreed, f->has_expected, origin);
	facts_bool(row, spread__reference, f->golden, origin);
	const char *others = others_of(facts->arena, f, v);
	if (others)
		facts_text(row, spread__others, others, origin);
	else
		facts_gap(row, spread__others, GAP_ABSENT, origin, NULL);
	facts_text(row, spread__nodes, nodes, origin);
	facts_int(row, spread__count, v->nodes.count, origin);
	facts_int(row, spread__total, f->known, origin);
	facts_int(row, spread__values_, (int64_t)f->value_count, origin);
	facts_bool(row, spread__first, v == f->values, origin);
	facts_text(row, spread__role, roles[f->role], origin);
	facts_int(row, spread__weight, f->weight, origin);
	facts_text(row, spread__grp, g->name, origin);
}

static void ahead_row(const struct outliers *o, struct facts *facts)
{
	const char *nodes = outliers_nodes(o, facts->arena, &o->ahead, NODES_BYTES), *before = facts->node;
	facts->node = o->label[nodeset_next(&o->ahead, 0)];
	struct facts_row *row = facts_add(facts, TABLE_spread);
	facts->node = before;
	facts_text(row, spread__fact, "clock.ahead_s", nodes);
	facts_text(row, spread__what, "clock.ahead_s", nodes);
	facts_text(row, spread__value, arena_printf(facts->arena, "%lld", (long long)o->ahead_s), nodes);
	facts_text(row, spread__nodes, nodes, nodes);
	facts_int(row, spread__count, o->ahead.count, nodes);
	facts_text(row, spread__role, "show", nodes);
}

void outliers_spread(const struct outliers *o, struct facts *f)
{
	int rows = 0;
	facts_table_read(f, TABLE_spread);
	for (const struct outlier_group *g = o->groups; g; g = g->next)
		for (const struct outlier *x = g->first; x; x = x->next) {
			int n = 0;
			if (x->folded == x->odd)
				continue;
			for (const struct outlier_value *v = x->values; v && rows < ROWS_MAX && n < VALUES_TOLD; v = v->next)
				/* Where nobody is in the majority one row tells all: that of the rarest value. */
				if (!v->majority && (x->has_expected || !v->next)) {
					spread_row(o, g, x, v, f);
					rows++;
					n++;
				}
		}
	if (o->ahead.count)
		ahead_row(o, f);
	struct facts_row *row = facts_only(f, TABLE_fleet);
	uint32_t nodes = 0;
	for (const struct outlier_group *g = o->groups; g; g = g->next)
		nodes += g->nodes.count;
	facts_int(row, fleet__nodes, nodes, NULL);
	facts_int(row, fleet__groups, (int64_t)o->group_count, NULL);
	facts_text(row, fleet__grouped_by, o->grouped_by, NULL);
	facts_bool(row, fleet__job, o->job, NULL);
	facts_bool(row, fleet__same_machine, o->same_machine, NULL);
	facts_int(row, fleet__missing, (int64_t)o->missing_count, NULL);
	facts_int(row, fleet__stale, (int64_t)o->stale_count, NULL);
	facts_int(row, fleet__unreadable, (int64_t)o->align->lost_count, NULL);
}
