#include "act/history_diff.h"

#define CHANGES_MAX 5000

const char *const history_weight_names[] = {"evidence", "cause", "table", "stage", "none"};

/* Which thing a table's rows belong to. `each`: every key is a thing of its own. What is in no line here makes a thing of its table's name.
 */
static const struct subject {
	const char *table, *column, *group; /* column NULL: all */
	bool each;
} subjects[] = {
	{"command", NULL, "command", true},
	{"file", NULL, "file", true},
	{"code", NULL, "code", false},
	{"variable", NULL, "variable", true},
	{"nccl_conf", NULL, "nccl.conf", true},
	{"system", "hostname", "machine", false},
	{"system", "cpu_model", "machine", false},
	{"system", "cpu_count", "machine", false},
	{"system", "numa_nodes", "machine", false},
	{"system", "memory_bytes", "machine", false},
	{"system", "arch", "machine", false},
	{"system", "virtualization", "machine", false},
	{"system", "memory_limit_bytes", "limit", true},
	{"system", "cpu_quota", "limit", true},
	{"system", "cpu_allowed", "limit", true},
	{"system", NULL, "system", false},
	{"limit", NULL, "limit", true},
	{"sysctl", NULL, "sysctl", true},
	{"mount", NULL, "mount", true},
	{"container", NULL, "container", false},
	{"driver", NULL, "driver", false},
	{"kernel_module", NULL, "driver", false},
	{"device_node", NULL, "hardware", false},
	{"probe", NULL, "hardware", false},
	{"gpu", NULL, "hardware", false},
	{"gpu_pair", NULL, "hardware", false},
	{"pci_device", NULL, "hardware", false},
	{"purpose", NULL, "purpose", false},
	{"interface", NULL, "network", false},
	{"address", NULL, "network", false},
	{"route", NULL, "network", false},
	{"hosts_entry", NULL, "network", false},
	{"rdma_port", NULL, "rdma", false},
	{"python", NULL, "python", false},
	{"local_module", NULL, "file", true},
	{"package", NULL, "package", true},
	{"requirement", NULL, "libraries", false},
	{"requirement_conflict", NULL, "libraries", false},
	{"integrity", NULL, "libraries", false},
	{"torch", NULL, "libraries", false},
	{"nccl", NULL, "libraries", false},
	{"nccl_plugin", NULL, "libraries", false},
	{"library", NULL, "libraries", false},
	{"gpu_code", NULL, "libraries", false},
	{"missing_symbol", NULL, "libraries", false},
	{"sys_path", NULL, "search-path", false},
	{"program", NULL, "programs", false},
	{"toolkit", NULL, "programs", false},
	{"compiler", NULL, "programs", false},
};

/* When the first has changed, a change of the second follows from it. In this order: the first that is there takes it. */
static const struct {
	const char *from, *name, *to; /* name: of a keyed thing; NULL: any */
} follows[] = {
	{"machine", NULL, "system limit sysctl mount driver hardware network rdma"},
	{"container", NULL, "system limit sysctl mount driver hardware network rdma python package libraries programs"},
	{"driver", NULL, "hardware libraries"},
	{"python", NULL, "package libraries programs search-path mount"},
	{"package", "torch", "libraries search-path"},
	{"package", NULL, "libraries programs search-path"},
	{"variable", "LD_LIBRARY_PATH", "libraries programs"},
	{"variable", "LD_PRELOAD", "libraries"},
	{"variable", "PYTHONPATH", "search-path libraries"},
	{"variable", "PATH", "programs libraries"},
	{"variable", "CUDA_HOME", "programs libraries"},
	{"variable", "CUDA_VISIBLE_DEVICES", "hardware"},
	{"variable", "NVIDIA_VISIBLE_DEVICES", "hardware"},
	{"libraries", NULL, "search-path"},
	{"hardware", NULL, "purpose"},
	{"variable", NULL, "purpose"},
	{"command", NULL, "purpose"},
	{"libraries", NULL, "purpose"},
};

struct line {
	struct str table, key, column, value; /* key.ptr NULL: none */
	struct str place;                     /* all before " = " */
	struct str row;                       /* and before the column */
};

static bool parse(struct str text, struct line *ret)
{
	*ret = (struct line){0};
	size_t open = strcspn(text.ptr, "[. \n");
	if (open >= text.len)
		return false;
	ret->table = str_slice(text, 0, open);
	size_t at = open, eq;
	if (text.ptr[open] == '[') {
		size_t close = str_find(text, "].", open);
		if (close == SIZE_MAX)
			return false;
		ret->key = str_slice(text, open + 1, close);
		at = close + 1;
	}
	eq = str_find(text, " = ", at);
	if (eq == SIZE_MAX || text.ptr[at] != '.')
		return false;
	ret->column = str_slice(text, at + 1, eq);
	ret->value = str_skip(text, eq + 3);
	ret->place = str_slice(text, 0, eq);
	ret->row = str_slice(text, 0, at);
	return true;
}

static bool has_word(const char *list, char sep, struct str word)
{
	struct str rest = str_of(list), one;
	while (rest.ptr && str_next_field(&rest, sep, &one))
		if (str_eq(one, word))
			return true;
	return false;
}

/* -- weights ------------------------------------------------------------------------------------------------------------- */

static bool is_evidence(const struct history_about *about, const struct line *l)
{
	struct str rest = str_of(about->evidence), one;
	while (rest.ptr && str_next_line(&rest, &one)) {
		size_t open = str_find_char(one, '[', 0);
		struct str fact = str_slice(one, 0, open), key = open == SIZE_MAX ? str_n(NULL, 0) : str_slice(one, open + 1, one.len - 1);
		size_t dot = str_find_char(fact, '.', 0);
		if (dot != SIZE_MAX && str_eq(str_slice(fact, 0, dot), l->table) && str_eq(str_skip(fact, dot + 1), l->column) &&
			(!key.ptr || !l->key.ptr || str_eq(key, l->key)))
			return true;
	}
	return false;
}

/* Tables with a row for each of many things: what a rule reads there is about the ones that it names. */
static bool is_by_name(struct str table)
{
	return str_is(table, "variable") || str_is(table, "package") || str_is(table, "nccl_conf") || str_is(table, "library") ||
		str_is(table, "program");
}

static bool table_is_read(const struct history_about *about, struct str table)
{
	struct str rest = str_of(about->reads), one;
	while (rest.ptr && str_next_line(&rest, &one))
		if (str_eq(str_slice(one, 0, str_find_char(one, '.', 0)), table))
			return true;
	return false;
}

static enum history_weight weigh(struct arena *a, const struct history_about *about, const struct line *l)
{
	if (!about || (!about->evidence && !about->reads && !about->stage_tables))
		return WEIGHT_NONE;
	if (is_evidence(about, l))
		return WEIGHT_EVIDENCE;
	if (about->program && (str_is(l->table, "command") || str_is(l->table, "file") || str_is(l->table, "code")))
		return WEIGHT_TABLE;
	bool named = !is_by_name(l->table) ||
		(about->rules && l->key.len > 2 && strstr(about->rules, arena_printf(a, "'%.*s'", (int)l->key.len, l->key.ptr)));
	if (named &&
		has_word(about->reads, '\n',
			str_of(arena_printf(a, "%.*s.%.*s", (int)l->table.len, l->table.ptr, (int)l->column.len, l->column.ptr))))
		return WEIGHT_READ;
	if (named && table_is_read(about, l->table))
		return WEIGHT_TABLE;
	return has_word(about->stage_tables, '\n', l->table) ? WEIGHT_STAGE : WEIGHT_NONE;
}

/* -- things -------------------------------------------------------------------------------------------------------------- */

struct compare {
	struct arena *arena;
	const struct history_about *about;
	struct history_thing *things;
	size_t changes;
};

static const struct subject *subject_of(const struct line *l)
{
	for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++)
		if (str_is(l->table, subjects[i].table) && (!subjects[i].column || str_is(l->column, subjects[i].column)))
			return &subjects[i];
	return NULL;
}

static struct history_thing *thing_of(struct compare *c, const struct line *l)
{
	const struct subject *s = subject_of(l);
	const char *group = s ? s->group : str_dup(c->arena, l->table);
	struct str name = s && s->each ? (l->key.ptr ? l->key : l->column) : str_n(NULL, 0);
	struct history_thing **at = &c->things;
	for (; *at; at = &(*at)->next)
		if (strcmp((*at)->group, group) == 0 && (name.ptr ? (*at)->name && str_is(name, (*at)->name) : !(*at)->name))
			return *at;
	*at = arena_alloc(c->arena, sizeof **at);
	**at = (struct history_thing){.group = group, .name = name.ptr ? str_dup(c->arena, name) : NULL, .weight = WEIGHT_NONE};
	return *at;
}

static void insert(struct history_thing *t, struct history_change *change)
{
	struct history_change **at = &t->changes;
	while (*at && (*at)->weight <= change->weight)
		at = &(*at)->next;
	change->next = *at;
	*at = change;
	t->change_count++;
	if (change->weight < t->weight)
		t->weight = change->weight;
}

static void add(struct compare *c, const struct line *before, const struct line *after)
{
	const struct line *l = before ? before : after;
	if (c->changes++ >= CHANGES_MAX)
		return;
	struct history_change *change = arena_alloc(c->arena, sizeof *change);
	enum history_weight weight = weigh(c->arena, c->about, l);
	*change = (struct history_change){
		.fact = arena_printf(c->arena, "%.*s.%.*s", (int)l->table.len, l->table.ptr, (int)l->column.len, l->column.ptr),
		.key = l->key.ptr ? str_dup(c->arena, l->key) : NULL,
		.before = before ? str_dup(c->arena, before->value) : NULL,
		.after = after ? str_dup(c->arena, after->value) : NULL,
		.weight = weight,
	};
	insert(thing_of(c, l), change);
}

static bool next_parsed(struct str *rest, struct line *ret)
{
	struct str one;
	while (str_next_line(rest, &one))
		if (parse(one, ret))
			return true;
	return false;
}

/* The row stands on the other side too, where its lines would be neighbours: then its value is only not known there. */
static bool is_unknown_there(const struct line *l, const struct line *last, const struct line *next)
{
	return (last && str_eq(l->row, last->row)) || (next && str_eq(l->row, next->row));
}

static bool is_unknown(const struct line *l)
{
	return str_starts(l->value, "(unknown");
}

static void merge(struct compare *c, const char *before, const char *after)
{
	struct str a = str_of(before), b = str_of(after);
	struct line x, y, last_x = {0}, last_y = {0};
	bool more_a = next_parsed(&a, &x), more_b = next_parsed(&b, &y);
	while (more_a || more_b) {
		int order = !more_a ? 1 : !more_b ? -1 : str_cmp(x.place, y.place);
		if (order < 0 && !is_unknown_there(&x, &last_y, more_b ? &y : NULL) && !is_unknown(&x))
			add(c, &x, NULL);
		else if (order > 0 && !is_unknown_there(&y, &last_x, more_a ? &x : NULL) && !is_unknown(&y))
			add(c, NULL, &y);
		else if (order == 0 && !str_eq(x.value, y.value) && !is_unknown(&x) && !is_unknown(&y))
			add(c, &x, &y);
		if (order <= 0) {
			last_x = x;
			more_a = next_parsed(&a, &x);
		}
		if (order >= 0) {
			last_y = y;
			more_b = next_parsed(&b, &y);
		}
	}
}

/* -- what follows from what ---------------------------------------------------------------------------------------------- */

static void take_over(struct compare *c, struct history_thing *from, struct history_thing *follower)
{
	for (struct history_change *k = follower->changes, *next; k; k = next) {
		next = k->next;
		insert(from, k);
	}
	struct history_thing **at = &c->things;
	while (*at != follower)
		at = &(*at)->next;
	*at = follower->next;
}

static struct history_thing *find_thing(struct compare *c, const char *group, const char *name)
{
	for (struct history_thing *t = c->things; t; t = t->next)
		if (strcmp(t->group, group) == 0 && (!name || (t->name && strcmp(t->name, name) == 0)))
			return t;
	return NULL;
}

static void fold(struct compare *c)
{
	for (size_t i = 0; i < sizeof follows / sizeof follows[0]; i++) {
		struct history_thing *from = find_thing(c, follows[i].from, follows[i].name), *next;
		for (struct history_thing *t = c->things; from && t; t = next) {
			next = t->next;
			if (t != from && has_word(follows[i].to, ' ', str_of(t->group)))
				take_over(c, from, t);
		}
	}
}

/* Another interpreter brings its own PATH. */
static void fold_environment(struct compare *c)
{
	static const char *const names[] = {
		"PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "CONDA_SHLVL", "CONDA_PROMPT_MODIFIER", "PYTHONHOME"};
	struct history_thing *python = find_thing(c, "python", NULL), *t;
	for (size_t i = 0; python && i < sizeof names / sizeof names[0]; i++)
		if ((t = find_thing(c, "variable", names[i])) != NULL)
			take_over(c, python, t);
}

/* Another script is another word of the command; the same script with another text is a change of its own. */
static void fold_files(struct compare *c)
{
	struct history_thing *command = find_thing(c, "command", NULL), *next;
	for (struct history_thing *t = c->things; command && t; t = next) {
		next = t->next;
		if (strcmp(t->group, "file") == 0 && (!t->changes->before || !t->changes->after))
			take_over(c, command, t);
	}
}

/* PEP 503, and without the number of a second copy. */
static const char *canonical(struct arena *a, struct str name)
{
	char *s = str_dup(a, str_slice(name, 0, str_find_char(name, '#', 0)));
	for (char *p = s; *p; p++)
		*p = *p == '_' || *p == '.' ? '-' : *p >= 'A' && *p <= 'Z' ? (char)(*p + 32) : *p;
	return s;
}

static struct history_thing *find_package(struct compare *c, const char *name)
{
	for (struct history_thing *t = c->things; t; t = t->next)
		if (strcmp(t->group, "package") == 0 && strcmp(canonical(c->arena, str_of(t->name)), name) == 0)
			return t;
	return NULL;
}

/* A package that a changed package requires came with it. */
static void fold_required(struct compare *c, const char *snapshot)
{
	struct str rest = str_of(snapshot), one;
	struct line l;
	while (str_next_line(&rest, &one)) {
		if (!str_starts(one, "requirement[") || !parse(one, &l) || !str_is(l.column, "name"))
			continue;
		const char *who = canonical(c->arena, l.key), *what = canonical(c->arena, l.value);
		struct history_thing *from = find_package(c, who), *follower = from ? find_package(c, what) : NULL;
		if (follower && follower != from)
			take_over(c, from, follower);
	}
}

static void sort_things(struct compare *c)
{
	struct history_thing *sorted = NULL, *next;
	for (struct history_thing *t = c->things; t; t = next) {
		next = t->next;
		struct history_thing **at = &sorted;
		while (*at && (*at)->weight <= t->weight)
			at = &(*at)->next;
		t->next = *at;
		*at = t;
	}
	c->things = sorted;
}

struct history_thing *history_compare(
	struct arena *a, const char *before, const char *after, const struct history_about *about, size_t *ret_count)
{
	struct compare c = {.arena = a, .about = about};
	merge(&c, before, after);
	if (find_thing(&c, "package", NULL)) {
		fold_required(&c, after);
		fold_required(&c, before);
	}
	fold_environment(&c);
	fold_files(&c);
	fold(&c);
	sort_things(&c);
	*ret_count = 0;
	for (const struct history_thing *t = c.things; t; t = t->next)
		++*ret_count;
	return c.things;
}

void history_thing_names(const struct history_thing *first, char *out, size_t n)
{
	size_t at = 0, left = 0, shown = 0;
	if (n)
		out[0] = '\0';
	for (const struct history_thing *t = first; t; t = t->next) {
		char one[96];
		snprintf(one, sizeof one, "%s%s%s%.60s", shown ? ", " : "", t->group, t->name ? " " : "", t->name ? t->name : "");
		if (shown == 4 || at + strlen(one) + 24 > n) {
			left++;
			continue;
		}
		at += (size_t)snprintf(out + at, n - at, "%s", one);
		shown++;
	}
	if (left)
		snprintf(out + at, n - at, " +%zu", left);
}
