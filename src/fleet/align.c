#include "fleet/align.h"

#include <errno.h>
#include <inttypes.h>

#include "facts/lines.h"
#include "fleet/nodelist.h"

#define TEXT_MAX 4096                 /* of a value: what is longer ends there, with its hash */
#define VALUES_MAX 4096               /* of a slot */
#define SUBJECTS_MAX 20000            /* of a view */
#define CROWDED 256                   /* so many different values, and more than every other node its own */
#define BYTES_MAX ((size_t)384 << 20) /* of all texts and slots */
#define COLUMNS_MAX 64                /* of a table */
#define NUMBER_MAX 40                 /* bytes of a number as text */

struct align_where {
	enum facts_column column;
	const char *allowed; /* alternatives: a|b|c; "" allows what is not set */
	struct align_where *next;
};

/* The row at hand: values by column, counted from the table's first. */
struct align_row {
	enum facts_table table;
	int first, count;
	int used[COLUMNS_MAX], used_count;
	enum { CELL_UNSET, CELL_NONE, CELL_VALUE } state[COLUMNS_MAX];
	struct str value[COLUMNS_MAX];
	char number[COLUMNS_MAX][NUMBER_MAX];
};

static struct align_slot ignored; /* stands for a column that is not compared */

/* -- the views, from the knowledge ------------------------------------------------------------------------------------------ */

static bool glob(const char *pattern, const char *text)
{
	const char *star = NULL, *back = NULL;
	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			back = text;
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++back;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static int bad_table(struct align *al, const char **ret_why, const char *fmt, const char *a, const char *b)
{
	if (ret_why)
		*ret_why = arena_printf(al->arena, fmt, a, b);
	return -EINVAL;
}

static int load_where(struct align *al, struct align_view *v, const char *text, const char **ret_why)
{
	struct str rest = str_of(text), word, name, allowed;
	while (str_next_word(&rest, &word)) {
		struct align_where *w = arena_alloc(al->arena, sizeof *w);
		if (!str_split(word, '=', &name, &allowed))
			return bad_table(al, ret_why, "fleet_view: %s: '%s' is no condition", v->name, text);
		w->column = facts_column_by_name(v->table, name);
		if (w->column == COLUMN_COUNT)
			return bad_table(al, ret_why, "fleet_view: %s: no such column in '%s'", v->name, text);
		w->allowed = str_dup(al->arena, allowed);
		w->next = v->where;
		v->where = w;
	}
	return 0;
}

static struct align_view *find_view(const struct align *al, struct str name)
{
	for (struct align_view *v = al->views; v; v = v->next)
		if (str_is(name, v->name))
			return v;
	return NULL;
}

static int load_views(struct align *al, struct store *s, const char **ret_why)
{
	struct store_query *q;
	struct align_view **tail = &al->views;
	int rc = store_prepare(s, "SELECT view, tbl, key, cond, absent FROM k_fleet_view", &q, ret_why);
	while (rc == 0 && store_step(q) > 0) {
		struct align_view *v = arena_alloc(al->arena, sizeof *v);
		const char *table = store_text(q, 1), *key = store_text(q, 2), *where = store_text(q, 3);
		v->name = arena_strdup(al->arena, store_text(q, 0) ? store_text(q, 0) : "");
		v->table = facts_table_by_name(str_of(table ? table : ""));
		v->key = COLUMN_COUNT;
		v->absent = store_text(q, 4) && strcmp(store_text(q, 4), "yes") == 0;
		v->subject_tail = &v->subjects;
		if (v->table == TABLE_COUNT) {
			rc = bad_table(al, ret_why, "fleet_view: %s: no table '%s'", v->name, table ? table : "");
			break;
		}
		if (facts_table(v->table).end - facts_table(v->table).first > COLUMNS_MAX)
			rc = bad_table(al, ret_why, "fleet_view: %s: the table '%s' has too many columns", v->name, table);
		if (rc == 0 && key && *key && (v->key = facts_column_by_name(v->table, str_of(key))) == COLUMN_COUNT)
			rc = bad_table(al, ret_why, "fleet_view: %s: no column '%s'", v->name, key);
		if (rc == 0 && where)
			rc = load_where(al, v, where, ret_why);
		*tail = v;
		tail = &v->next;
		struct align_view **place = &al->by_table[v->table];
		while (*place)
			place = &(*place)->next_of_table;
		*place = v;
	}
	if (rc == 0)
		store_finish(q);
	return rc;
}

static int role_by_name(const char *name)
{
	static const char *const names[] = {"live", "own", "show", "drift", "break"};
	for (int i = 0; name && i < (int)(sizeof names / sizeof names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return i;
	return -1;
}

static int load_rules_of(struct align *al, struct align_view *v, struct store *s, const char **ret_why)
{
	struct store_query *q;
	size_t cap = 8;
	v->rules = arena_array(al->arena, cap, sizeof *v->rules);
	int rc = store_prepare(s, "SELECT subject, col, role, weight, tolerance, follows FROM k_fleet_column WHERE view=?", &q, ret_why);
	if (rc < 0)
		return rc;
	store_bind_text(q, 1, v->name);
	while (rc == 0 && store_step(q) > 0) {
		const char *column = store_text(q, 1), *subject = store_text(q, 0), *follows = store_text(q, 5);
		int role = role_by_name(store_text(q, 2));
		if (!column || role < 0 ||
			(!strchr(column, '*') && strcmp(column, "#") != 0 &&
				facts_column_by_name(v->table, str_of(column)) == COLUMN_COUNT)) {
			rc = bad_table(
				al, ret_why, "fleet_column: %s: '%s' is no column, or its role is unknown", v->name, column ? column : "");
			break;
		}
		v->rules = arena_grow(al->arena, v->rules, v->rule_count, &cap, sizeof *v->rules);
		v->rules[v->rule_count++] = (struct align_column_rule){arena_strdup(al->arena, subject && *subject ? subject : "*"),
			arena_strdup(al->arena, column), (enum align_role)role, (int)store_int(q, 3), store_real(q, 4),
			follows && *follows ? arena_strdup(al->arena, follows) : NULL};
	}
	store_finish(q);
	return rc;
}

int align_new(struct store *knowledge, struct align **ret, const char **ret_why)
{
	struct arena *a = arena_new(0);
	struct align *al = arena_alloc(a, sizeof *al);
	*al = (struct align){.arena = a, .node_cap = 64, .touched_cap = 1024, .present_cap = 256};
	al->scratch = arena_raw(a, ALIGN_ESCAPED_MAX);
	al->joined = BUF_MAX(TEXT_MAX);
	al->lost_tail = &al->lost;
	al->row = arena_alloc(a, sizeof *al->row);
	al->touched = arena_array(a, al->touched_cap, sizeof *al->touched);
	al->present = arena_array(a, al->present_cap, sizeof *al->present);
	al->nodes = NULL;
	int rc = load_views(al, knowledge, ret_why);
	for (struct align_view *v = al->views; v && rc == 0; v = v->next)
		rc = load_rules_of(al, v, knowledge, ret_why);
	*ret = al;
	return rc;
}

static void free_values(struct align_slot *slot)
{
	for (struct align_value *v = slot->values; v; v = v->next)
		nodeset_free(&v->nodes);
}

void align_free(struct align *al)
{
	if (!al)
		return;
	for (struct align_view *v = al->views; v; v = v->next) {
		nodeset_free(&v->known);
		free(v->hash);
		for (struct align_subject *s = v->subjects; s; s = s->next) {
			nodeset_free(&s->seen);
			for (struct align_slot *slot = s->slots; slot; slot = slot->next) {
				free_values(slot);
				free(slot->set);
			}
		}
	}
	free(al->nodes);
	buf_free(&al->joined);
	arena_free(al->arena);
}

/* -- names of slots --------------------------------------------------------------------------------------------------------- */

static const char *column_name(enum facts_column c)
{
	return c == COLUMN_COUNT ? "count" : facts_columns[c].name;
}

/* Takes `word` off the front of *text, and a dot behind it. */
static bool take_word(const char **text, const char *word)
{
	size_t n = strlen(word);
	if (strncmp(*text, word, n) != 0 || ((*text)[n] && (*text)[n] != '.'))
		return false;
	*text += n + ((*text)[n] == '.');
	return true;
}

/* view, view.column, view.key, view.key.column; keys may have dots themselves. */
static bool is_named(const char *what, const struct align_view *v, const char *key, enum facts_column c)
{
	if (!what || !take_word(&what, v->name))
		return false;
	if (!*what || strcmp(what, column_name(c)) == 0)
		return true;
	return *key && take_word(&what, key) && (!*what || strcmp(what, column_name(c)) == 0);
}

static int check_name(const struct align *al, const char *what)
{
	struct str name = str_of(what), rest;
	size_t dot = str_find_char(name, '.', 0);
	const struct align_view *v = find_view(al, str_slice(name, 0, dot));
	rest = dot == SIZE_MAX ? STR("") : str_skip(name, dot + 1);
	if (!v || (v->key == COLUMN_COUNT && rest.len && !str_is(rest, "count") && facts_column_by_name(v->table, rest) == COLUMN_COUNT))
		return -EINVAL;
	return 0;
}

int align_group_by(struct align *al, const char *what)
{
	al->by = strcmp(what, "gpu") == 0        ? "gpu.name"
		: strcmp(what, "partition") == 0 ? "variable.SLURM_JOB_PARTITION"
						 : arena_strdup(al->arena, what);
	return check_name(al, al->by);
}

int align_ignore(struct align *al, const char *what)
{
	size_t n = 0;
	while (al->ignore && al->ignore[n])
		n++;
	const char **list = arena_array(al->arena, n + 2, sizeof *list);
	if (n)
		memcpy(list, al->ignore, n * sizeof *list);
	list[n] = arena_strdup(al->arena, what);
	al->ignore = list;
	return check_name(al, what);
}

/* -- subjects, slots, values ------------------------------------------------------------------------------------------------ */

static uint32_t hash_text(struct str s)
{
	uint64_t h = 0x9e3779b97f4a7c15u ^ s.len, word;
	size_t i = 0;
	for (; i + 8 <= s.len; i += 8) {
		memcpy(&word, s.ptr + i, 8);
		h = (h ^ word) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	for (word = 0; i < s.len; i++)
		word = word << 8 | (unsigned char)s.ptr[i];
	h = (h ^ word) * 0xc4ceb9fe1a85ec53u;
	return (uint32_t)(h ^ h >> 29);
}

static bool is_full(const struct align *al)
{
	return arena_used(al->arena) > BYTES_MAX;
}

static void rehash(struct align_view *v)
{
	size_t size = v->hash_size ? v->hash_size * 2 : 64;
	struct align_subject **fresh = calloc(size, sizeof *fresh);
	if (!fresh)
		return;
	for (struct align_subject *s = v->subjects; s; s = s->next) {
		s->next_in_hash = fresh[s->hash & (size - 1)];
		fresh[s->hash & (size - 1)] = s;
	}
	free(v->hash);
	v->hash = fresh;
	v->hash_size = size;
}

static const struct align_column_rule *rule_of(const struct align *al, const struct align_view *v, const char *key, enum facts_column c)
{
	static const struct align_column_rule silent = {"*", "*", ROLE_LIVE, 0, 0, NULL}, kept = {"*", "*", ROLE_OWN, 0, 0, NULL};
	const char *column = c == COLUMN_COUNT ? "#" : facts_columns[c].name;
	const struct align_column_rule *rule = &silent;
	for (size_t i = 0; i < v->rule_count && rule == &silent; i++)
		if (glob(v->rules[i].column, column) && glob(v->rules[i].subject, key) &&
			(c != COLUMN_COUNT || strcmp(v->rules[i].column, "#") == 0))
			rule = &v->rules[i];
	for (size_t i = 0; al->ignore && al->ignore[i]; i++)
		if (is_named(al->ignore[i], v, key, c))
			rule = &silent;
	if (rule->role <= ROLE_OWN)
		return is_named(al->by, v, key, c) ? &kept : NULL;
	return rule;
}

static struct align_slot *new_slot(struct align *al, struct align_subject *s, enum facts_column c)
{
	const struct align_column_rule *rule = rule_of(al, s->view, s->key, c);
	if (!rule)
		return &ignored;
	struct align_slot *slot = arena_alloc(al->arena, sizeof *slot);
	slot->subject = s;
	slot->column = c;
	slot->rule = rule;
	struct align_slot **tail = &s->slots;
	while (*tail)
		tail = &(*tail)->next;
	*tail = slot;
	return slot;
}

/* NULL when there are too many. */
static struct align_subject *find_subject(struct align *al, struct align_view *v, struct str key)
{
	struct align_subject *s = v->last;
	/* Nodes tell their rows in one order mostly: the one behind the last, or the same again. */
	if (s && str_is(key, s->key))
		return s;
	s = s && s->next ? s->next : v->subjects;
	if (s && str_is(key, s->key))
		return v->last = s;
	uint32_t h = hash_text(key);
	for (s = v->hash ? v->hash[h & (v->hash_size - 1)] : NULL; s; s = s->next_in_hash)
		if (s->hash == h && str_is(key, s->key))
			return v->last = s;
	if (v->subject_count == SUBJECTS_MAX || is_full(al))
		return NULL;
	s = arena_alloc(al->arena, sizeof *s);
	s->view = v;
	s->key = str_dup(al->arena, str_cut(key, TEXT_MAX));
	s->hash = h;
	*v->subject_tail = s;
	v->subject_tail = &s->next;
	if (++v->subject_count * 2 > v->hash_size) {
		rehash(v);
	} else {
		s->next_in_hash = v->hash[h & (v->hash_size - 1)];
		v->hash[h & (v->hash_size - 1)] = s;
	}
	s->rows_slot = new_slot(al, s, COLUMN_COUNT);
	return v->last = s;
}

static void crowd(struct align_slot *slot)
{
	free_values(slot);
	slot->crowded = true;
	slot->values = slot->last = NULL;
	slot->value_count = 0;
}

/* ptr NULL: none. Gives NULL when no more values are kept. */
static struct align_value *find_value(struct align *al, struct align_slot *slot, struct str text)
{
	uint32_t h = text.ptr ? hash_text(text) : 0;
	struct align_value **place = &slot->values;
	for (; *place; place = &(*place)->next) {
		struct align_value *v = *place;
		if (v->hash == h && v->length == text.len && (text.ptr ? v->text && memcmp(v->text, text.ptr, text.len) == 0 : !v->text))
			return slot->last = v;
	}
	if (slot->value_count >= VALUES_MAX || (slot->value_count >= CROWDED && slot->value_count * 2 > al->node_count) || is_full(al)) {
		crowd(slot);
		return NULL;
	}
	struct align_value *v = arena_alloc(al->arena, sizeof *v);
	v->text = text.ptr ? arena_strndup(al->arena, text.ptr, text.len) : NULL;
	v->length = (uint32_t)text.len;
	v->hash = h;
	*place = v;
	slot->value_count++;
	return slot->last = v;
}

/* Numbers that are nearly equal are one value: three digits are kept of what has a tolerance. The rest is the outliers' business. */
static struct str round_number(struct align_row *row, int i, struct str text)
{
	double x;
	if (str_to_real(text, &x) < 0)
		return text;
	char digits[NUMBER_MAX];
	snprintf(digits, sizeof digits, "%.3e", x);
	if (str_to_real(str_of(digits), &x) < 0)
		return text;
	int n = snprintf(row->number[i], NUMBER_MAX, "%.10g", x);
	return str_n(row->number[i], (size_t)n);
}

/* A long text keeps its beginning, and a hash tells its end. */
static struct str shorten(struct align *al, struct str text)
{
	if (text.len <= TEXT_MAX)
		return text;
	struct str head = str_cut(text, TEXT_MAX - 16);
	char *copy = arena_raw(al->arena, TEXT_MAX);
	memcpy(copy, head.ptr, head.len);
	int n = snprintf(copy + head.len, 16, "…#%08x", hash_text(text));
	return str_n(copy, head.len + (size_t)n);
}

static void add_value(struct align *al, struct align_slot *slot, struct str text)
{
	struct align_value *v = slot->last;
	if (slot->crowded)
		return;
	if (!v || v->length != text.len || !v->text != !text.ptr || (text.ptr && memcmp(v->text, text.ptr, text.len) != 0))
		v = find_value(al, slot, text.ptr ? shorten(al, text) : text);
	if (!v)
		return;
	if (!slot->set_cap || slot->set_count == slot->set_cap) {
		uint32_t cap = slot->set_cap ? slot->set_cap * 2 : 2;
		struct align_value **fresh = realloc(slot->set, cap * sizeof *fresh);
		if (!fresh)
			return;
		slot->set = fresh;
		slot->set_cap = cap;
	}
	for (uint32_t i = 0; i < slot->set_count; i++)
		if (slot->set[i] == v)
			return;
	slot->set[slot->set_count++] = v;
	if (slot->set_count == 1) {
		al->touched = arena_grow(al->arena, al->touched, al->touched_count, &al->touched_cap, sizeof *al->touched);
		al->touched[al->touched_count++] = slot;
	}
}

/* -- rows ------------------------------------------------------------------------------------------------------------------- */

void align_row_begin(struct align *al, enum facts_table table)
{
	struct align_row *row = al->row;
	for (int i = 0; i < row->used_count; i++)
		row->state[row->used[i]] = CELL_UNSET;
	row->used_count = 0;
	row->table = table;
	row->first = facts_table(table).first;
	row->count = facts_table(table).end - row->first;
}

static bool open_cell(struct align_row *row, enum facts_column column, int state, int *ret)
{
	int i = (int)column - row->first;
	if (i < 0 || i >= row->count || i >= COLUMNS_MAX)
		return false;
	if (row->state[i] == CELL_UNSET)
		row->used[row->used_count++] = i;
	row->state[i] = state;
	*ret = i;
	return true;
}

/* Is a number written as we would write it: 32, 0.5, but neither 32.0 nor 1e3? */
static bool is_plain_number(struct str s)
{
	size_t i = s.len && s.ptr[0] == '-', digits = i, dot = 0;
	if (s.len > 12 || digits == s.len || (s.ptr[i] == '0' && s.len > i + 1 && s.ptr[i + 1] != '.'))
		return false;
	for (; i < s.len; i++) {
		if (s.ptr[i] == '.' && !dot && i > digits)
			dot = i;
		else if (s.ptr[i] < '0' || s.ptr[i] > '9')
			return false;
	}
	return !dot || (s.ptr[s.len - 1] != '0' && dot + 1 < s.len);
}

void align_row_value(struct align *al, enum facts_column column, struct str text)
{
	int i;
	double x;
	if (!text.ptr || !open_cell(al->row, column, CELL_VALUE, &i))
		return;
	/* 32 and 32.0 are one number. */
	if (facts_columns[column].type == FACTS_REAL && !is_plain_number(text) && str_to_real(text, &x) == 0) {
		int n = snprintf(al->row->number[i], NUMBER_MAX, "%.12g", x);
		text = str_n(al->row->number[i], (size_t)n);
	}
	al->row->value[i] = text;
}

void align_row_none(struct align *al, enum facts_column column)
{
	int i;
	if (column == package__record) /* a digest that was not taken, or of what no installer wrote down, is unknown */
		return;
	if (open_cell(al->row, column, CELL_NONE, &i))
		al->row->value[i] = str_n(NULL, 0);
}

static bool is_allowed(const char *allowed, bool set, struct str value)
{
	struct str rest = str_of(allowed), one;
	while (str_next_field(&rest, '|', &one))
		if (set ? str_eq(one, value) : !one.len)
			return true;
	return false;
}

static bool belongs(const struct align_row *row, const struct align_view *v)
{
	for (const struct align_where *w = v->where; w; w = w->next) {
		int i = (int)w->column - row->first;
		if (!is_allowed(w->allowed, row->state[i] == CELL_VALUE, row->value[i]))
			return false;
	}
	return true;
}

static void row_of_view(struct align *al, struct align_view *v)
{
	struct align_row *row = al->row;
	int key_at = v->key == COLUMN_COUNT ? -1 : (int)v->key - row->first;
	if (!belongs(row, v) || (key_at >= 0 && row->state[key_at] != CELL_VALUE))
		return;
	struct align_subject *s = find_subject(al, v, key_at < 0 ? STR("") : row->value[key_at]);
	if (!s)
		return;
	if (!s->rows++) {
		al->present = arena_grow(al->arena, al->present, al->present_count, &al->present_cap, sizeof *al->present);
		al->present[al->present_count++] = s;
	}
	for (int k = 0; k < row->used_count; k++) {
		int i = row->used[k];
		struct align_slot *slot = s->slot_by_column[i];
		if (!slot)
			slot = s->slot_by_column[i] = i == key_at ? &ignored : new_slot(al, s, (enum facts_column)(row->first + i));
		if (slot == &ignored)
			continue;
		struct str text = row->value[i];
		if (slot->rule->tolerance > 0 && row->state[i] == CELL_VALUE)
			text = round_number(row, i, text);
		add_value(al, slot, text);
	}
}

/* Who the node is. */
static void learn_node(struct align *al)
{
	static const enum facts_column identities[] = {system__machine_id, system__boot_id};
	const struct align_row *row = al->row;
	int i = system__hostname - row->first;
	if (!al->node.name && row->state[i] == CELL_VALUE && row->value[i].len)
		al->node.name = str_dup(al->arena, str_cut(row->value[i], 256));
	for (size_t k = 0; k < 2 && !al->node.identity; k++) {
		i = identities[k] - row->first;
		if (row->state[i] == CELL_VALUE && row->value[i].len)
			al->node.identity = str_dup(al->arena, str_cut(row->value[i], 64));
	}
}

void align_row_end(struct align *al)
{
	if (al->row->table == TABLE_system)
		learn_node(al);
	for (struct align_view *v = al->by_table[al->row->table]; v; v = v->next_of_table)
		row_of_view(al, v);
}

void align_table_read(struct align *al, enum facts_table table)
{
	al->table_read[table] = true;
}

void align_table_gap(struct align *al, enum facts_table table)
{
	al->table_gap[table] = true;
}

/* -- nodes ------------------------------------------------------------------------------------------------------------------ */

void align_begin(struct align *al, const char *name, const char *source)
{
	al->node = (struct align_node){
		.name = name ? arena_strdup(al->arena, name) : NULL, .source = arena_strdup(al->arena, source ? source : "?"), .time = -1};
	al->open = true;
	memset(al->table_read, 0, sizeof al->table_read);
	memset(al->table_gap, 0, sizeof al->table_gap);
}

void align_time(struct align *al, int64_t time)
{
	al->node.time = time;
}

static void forget(struct align *al)
{
	for (size_t i = 0; i < al->touched_count; i++)
		al->touched[i]->set_count = 0;
	for (size_t i = 0; i < al->present_count; i++)
		al->present[i]->rows = 0;
	al->touched_count = al->present_count = 0;
	al->open = false;
}

static int by_text(const void *a, const void *b)
{
	const struct align_value *x = *(struct align_value *const *)a, *y = *(struct align_value *const *)b;
	if (!x->text || !y->text)
		return (x->text != NULL) - (y->text != NULL);
	int order = nodelist_compare(x->text, y->text);
	return order ? order : strcmp(x->text, y->text);
}

/* The value of a slot in this node: of several rows the different values, in order. */
static struct align_value *value_of(struct align *al, struct align_slot *slot)
{
	if (slot->set_count == 1)
		return slot->set[0];
	qsort(slot->set, slot->set_count, sizeof *slot->set, by_text);
	buf_reset(&al->joined);
	for (uint32_t i = 0; i < slot->set_count; i++)
		buf_fmt(&al->joined, "%s%s", i ? ", " : "", slot->set[i]->text ? slot->set[i]->text : "-");
	return find_value(al, slot, buf_view(&al->joined));
}

uint32_t align_end(struct align *al)
{
	if (al->node_count == ALIGN_NODES_MAX) {
		align_drop(al, ALIGN_UNREADABLE, "too many nodes");
		return UINT32_MAX;
	}
	uint32_t n = (uint32_t)al->node_count;
	char number[16];
	for (size_t i = 0; i < al->present_count; i++) {
		struct align_subject *s = al->present[i];
		nodeset_add(&s->seen, n);
		if (s->rows_slot != &ignored)
			add_value(al, s->rows_slot, str_n(number, (size_t)snprintf(number, sizeof number, "%u", s->rows)));
	}
	for (size_t i = 0; i < al->touched_count; i++) {
		struct align_slot *slot = al->touched[i];
		struct align_value *v = slot->crowded || !slot->set_count ? NULL : value_of(al, slot);
		if (v && !slot->crowded)
			nodeset_add(&v->nodes, n);
	}
	for (struct align_view *v = al->views; v; v = v->next)
		if (al->table_read[v->table] && !al->table_gap[v->table])
			nodeset_add(&v->known, n);
	if (al->node_count == al->node_cap || !al->nodes) {
		al->node_cap = al->nodes ? al->node_cap * 2 : al->node_cap;
		struct align_node *fresh = realloc(al->nodes, al->node_cap * sizeof *fresh);
		if (!fresh) {
			fprintf(stderr, "davy: out of memory\n");
			exit(70);
		}
		al->nodes = fresh;
	}
	al->nodes[al->node_count++] = al->node;
	forget(al);
	return n;
}

void align_add_lost(struct align *al, const char *name, const char *source, enum align_state state, const char *why)
{
	struct align_lost *l = arena_alloc(al->arena, sizeof *l);
	*l = (struct align_lost){arena_strdup(al->arena, source ? source : "?"), name ? arena_strdup(al->arena, name) : NULL,
		why ? arena_strdup(al->arena, why) : NULL, state, NULL};
	*al->lost_tail = l;
	al->lost_tail = &l->next;
	al->lost_count++;
}

void align_drop(struct align *al, enum align_state state, const char *why)
{
	if (al->open)
		align_add_lost(al, al->node.name, al->node.source, state, why);
	forget(al);
}

void align_cancel(struct align *al)
{
	forget(al);
}

/* -- from a struct facts ------------------------------------------------------------------------------------------------------ */

static void cell_of_fact(struct align *al, enum facts_column c, const struct facts_value *v)
{
	int i = (int)c - al->row->first;
	if (!v->set || (v->gap != GAP_NONE && v->gap != GAP_ABSENT) || i >= COLUMNS_MAX)
		return;
	if (v->gap == GAP_ABSENT)
		align_row_none(al, c);
	else if (facts_columns[c].type == FACTS_TEXT)
		align_row_value(al, c, str_of(v->text));
	else if (facts_columns[c].type == FACTS_BOOL)
		align_row_value(al, c, v->i ? STR("true") : STR("false"));
	else {
		char *number = al->row->number[i];
		int n = facts_columns[c].type == FACTS_REAL ? snprintf(number, NUMBER_MAX, "%.12g", v->r)
							    : snprintf(number, NUMBER_MAX, "%" PRId64, v->i);
		align_row_value(al, c, str_n(number, (size_t)n));
	}
}

void align_facts(struct align *al, const struct facts *f)
{
	for (int t = 0; t < TABLE_COUNT; t++) {
		struct facts_table_info info = facts_table((enum facts_table)t);
		al->table_read[t] |= f->read[t];
		if (!al->by_table[t] && t != TABLE_system)
			continue;
		for (const struct facts_row *row = f->first[t]; row; row = row->next) {
			align_row_begin(al, (enum facts_table)t);
			for (int c = info.first; c < info.end; c++)
				cell_of_fact(al, (enum facts_column)c, &row->value[c - info.first]);
			align_row_end(al);
		}
	}
	for (const struct facts_table_gap *g = f->gaps; g; g = g->next)
		al->table_gap[g->table] = true;
}

int align_lines(struct align *al, struct str text)
{
	struct arena *a = arena_new(0);
	struct facts *f;
	struct facts_lines_head head;
	const char *why = NULL;
	int rc = facts_lines_read(a, text, &f, &head, &why);
	if (rc == 0) {
		if (head.node && !al->node.name)
			al->node.name = arena_strdup(al->arena, head.node);
		al->node.time = head.time;
		al->node.skipped = head.skipped;
		align_facts(al, f);
	}
	arena_free(a);
	return rc;
}
