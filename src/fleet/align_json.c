/* `davy check --json` → slots, without a tree: what is not compared is only stepped over. */
#include <errno.h>

#include "facts/lines.h"
#include "fleet/align.h"
#include "parse/json_scan.h"

static struct str names[COLUMN_COUNT]; /* of the columns, with their lengths */
static int first_of[TABLE_COUNT], end_of[TABLE_COUNT];

static void learn_names(void)
{
	for (int c = 0; c < COLUMN_COUNT; c++)
		names[c] = str_of(facts_columns[c].name);
	for (int t = 0; t < TABLE_COUNT; t++) {
		first_of[t] = facts_table((enum facts_table)t).first;
		end_of[t] = facts_table((enum facts_table)t).end;
	}
}

struct reading {
	struct align *al;
	struct json_scan scan;
	bool has_gaps;          /* the object tells gaps from "there is none" */
	bool gap[COLUMN_COUNT]; /* a null of this column is a gap */
	bool has_facts;
	enum facts_column expected[TABLE_COUNT]; /* the column that came last in this table: its successor comes next mostly */
};

/* The column of this name: mostly the one behind the last. */
static enum facts_column column_of(struct reading *r, enum facts_table t, struct str name)
{
	int next = (int)r->expected[t] + 1;
	enum facts_column c = (enum facts_column)next;
	if (next < first_of[t] || next >= end_of[t] || names[next].len != name.len || memcmp(names[next].ptr, name.ptr, name.len) != 0)
		c = facts_column_by_name(t, name);
	if (c != COLUMN_COUNT)
		r->expected[t] = c;
	return c;
}

/* The text of a token; escaped ones are put into the scratch, where they stay until the row ends. */
static int text_of(struct align *al, const struct json_token *t, struct str *ret)
{
	*ret = t->raw;
	if (!t->escaped)
		return 0;
	char *at = al->scratch + al->scratch_used;
	if (ALIGN_ESCAPED_MAX - al->scratch_used < t->raw.len)
		return -E2BIG;
	long n = json_scan_unescape(t, at);
	if (n < 0)
		return (int)n;
	al->scratch_used += (size_t)n;
	*ret = str_n(at, (size_t)n);
	return 0;
}

static int read_cell(struct reading *r, enum facts_column c)
{
	struct json_token t;
	struct str text;
	const char *start = r->scan.at;
	int rc = json_scan_value(&r->scan, &t);
	if (rc < 0)
		return rc;
	switch (t.type) {
	case JSON_OBJECT:
	case JSON_ARRAY: /* of a newer Davy */ r->scan.at = start; return json_scan_skip(&r->scan);
	case JSON_NULL:
		if (r->has_gaps && !r->gap[c])
			align_row_none(r->al, c);
		return 0;
	case JSON_BOOL: align_row_value(r->al, c, t.truth ? STR("true") : STR("false")); return 0;
	default:
		rc = text_of(r->al, &t, &text);
		if (rc == 0)
			align_row_value(r->al, c, text);
		return rc;
	}
}

static int read_row(struct reading *r, enum facts_table table)
{
	struct str key;
	int rc;
	align_row_begin(r->al, table);
	r->al->scratch_used = 0;
	r->expected[table] = (enum facts_column)(first_of[table] - 1);
	for (int n = 0; (rc = json_scan_member(&r->scan, n, &key)) > 0; n++) {
		enum facts_column c = column_of(r, table, key);
		if (c == COLUMN_COUNT && !str_is(key, "node"))
			r->al->node.skipped++;
		rc = c == COLUMN_COUNT ? json_scan_skip(&r->scan) : read_cell(r, c);
		if (rc < 0)
			return rc;
	}
	if (rc == 0)
		align_row_end(r->al);
	return rc;
}

/* Steps into a value that must be an object or array. 1: it is; 0: it is something else and was stepped over. */
static int enter(struct reading *r, enum json_type type)
{
	struct json_token t;
	const char *start = r->scan.at;
	int rc = json_scan_value(&r->scan, &t);
	if (rc < 0)
		return rc;
	if (t.type == type)
		return 1;
	r->scan.at = start;
	return json_scan_skip(&r->scan);
}

static int read_table(struct reading *r, struct str name)
{
	enum facts_table table = facts_table_by_name(name);
	if (table == TABLE_COUNT)
		r->al->node.skipped++;
	else
		align_table_read(r->al, table);
	if (table == TABLE_COUNT || (!r->al->by_table[table] && table != TABLE_system))
		return json_scan_skip(&r->scan);
	int rc = enter(r, JSON_ARRAY);
	if (rc <= 0)
		return rc;
	for (int n = 0; (rc = json_scan_element(&r->scan, n)) > 0; n++) {
		rc = enter(r, JSON_OBJECT);
		if (rc > 0)
			rc = read_row(r, table);
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int read_facts(struct reading *r)
{
	struct str name;
	int rc = enter(r, JSON_OBJECT);
	if (rc <= 0)
		return rc;
	r->has_facts = true;
	for (int n = 0; (rc = json_scan_member(&r->scan, n, &name)) > 0; n++)
		if ((rc = read_table(r, name)) < 0)
			return rc;
	return rc;
}

/* {"system.oom_kills": "denied", …} */
static int read_gaps(struct reading *r)
{
	struct str name, table, column;
	int rc = enter(r, JSON_OBJECT);
	if (rc <= 0)
		return rc;
	r->has_gaps = true;
	for (int n = 0; (rc = json_scan_member(&r->scan, n, &name)) > 0; n++) {
		if (str_split(name, '.', &table, &column)) {
			enum facts_table t = facts_table_by_name(table);
			enum facts_column c = t == TABLE_COUNT ? COLUMN_COUNT : facts_column_by_name(t, column);
			if (c != COLUMN_COUNT)
				r->gap[c] = true;
		} else if (facts_table_by_name(name) != TABLE_COUNT) {
			align_table_gap(r->al, facts_table_by_name(name));
		}
		if ((rc = json_scan_skip(&r->scan)) < 0)
			return rc;
	}
	return rc;
}

/* [{"fact": "package", "reason": "denied", …}]: a name without a column is a table that could be read in part only. */
static int read_unknown(struct reading *r)
{
	struct str key;
	struct json_token t;
	int rc = enter(r, JSON_ARRAY);
	if (rc <= 0)
		return rc;
	for (int n = 0; (rc = json_scan_element(&r->scan, n)) > 0; n++) {
		if ((rc = enter(r, JSON_OBJECT)) < 0)
			return rc;
		for (int m = 0; rc > 0 && (rc = json_scan_member(&r->scan, m, &key)) > 0; m++) {
			const char *start = r->scan.at;
			rc = json_scan_value(&r->scan, &t);
			if (rc == 0 && (t.type == JSON_OBJECT || t.type == JSON_ARRAY)) {
				r->scan.at = start;
				rc = json_scan_skip(&r->scan);
			} else if (rc == 0 && str_is(key, "fact") && t.type == JSON_TEXT && facts_table_by_name(t.raw) != TABLE_COUNT) {
				align_table_gap(r->al, facts_table_by_name(t.raw));
			}
			if (rc < 0)
				return rc;
			rc = 1;
		}
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int read_scalar(struct reading *r, struct json_token *ret)
{
	const char *start = r->scan.at;
	int rc = json_scan_value(&r->scan, ret);
	if (rc < 0 || (ret->type != JSON_OBJECT && ret->type != JSON_ARRAY))
		return rc;
	r->scan.at = start;
	return json_scan_skip(&r->scan);
}

static int read_member(struct reading *r, struct str key)
{
	struct json_token t;
	int64_t n;
	int rc;
	if (str_is(key, "facts"))
		return read_facts(r);
	if (str_is(key, "gaps"))
		return read_gaps(r);
	if (str_is(key, "unknown"))
		return read_unknown(r);
	if (str_is(key, "schema")) {
		rc = read_scalar(r, &t);
		if (rc < 0)
			return rc;
		if (t.type != JSON_TEXT || !str_starts(t.raw, "davy/"))
			return -EPROTO;
		return str_is(t.raw, "davy/1") ? 0 : -EOPNOTSUPP;
	}
	if (str_is(key, "time") || str_is(key, "node")) {
		rc = read_scalar(r, &t);
		if (rc == 0 && t.type == JSON_INT && str_is(key, "time") && str_to_int(t.raw, &n) == 0)
			align_time(r->al, n);
		if (rc == 0 && t.type == JSON_TEXT && !t.escaped && str_is(key, "node") && !r->al->node.name && t.raw.len)
			r->al->node.name = str_dup(r->al->arena, str_cut(t.raw, 256));
		return rc;
	}
	return json_scan_skip(&r->scan);
}

int align_json(struct align *al, struct str *text)
{
	struct reading r = {.al = al, .scan = {text->ptr, text->ptr + text->len}};
	struct json_token t;
	struct str key;
	if (!names[0].ptr)
		learn_names();
	int rc = json_scan_value(&r.scan, &t);
	if (rc < 0)
		return rc == -ENODATA ? rc : -EBADMSG;
	if (t.type != JSON_OBJECT)
		return -EPROTO;
	for (int n = 0; (rc = json_scan_member(&r.scan, n, &key)) > 0; n++)
		if ((rc = read_member(&r, key)) < 0)
			break;
	if (rc < 0)
		return rc == -EINVAL || rc == -E2BIG ? -EBADMSG : rc;
	*text = str_n(r.scan.at, (size_t)(r.scan.end - r.scan.at));
	return r.has_facts ? 0 : -EPROTO;
}
