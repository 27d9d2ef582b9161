#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "facts/lines.h"
#include "fleet/nodelist.h"
#include "fleet/nodeset.h"
#include "parse/json_scan.h"

static struct arena *arena;

static int set_up(void **state)
{
	(void)state;
	arena = arena_new(0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

/* -- lists of nodes --------------------------------------------------------------------------------------------------------- */

static const char *joined(const char *text)
{
	const char *const *names;
	size_t n;
	struct buf b = BUF_MAX(1 << 20);
	if (nodelist_expand(arena, str_of(text), &names, &n) < 0)
		return NULL;
	for (size_t i = 0; i < n; i++)
		buf_fmt(&b, "%s%s", i ? " " : "", names[i]);
	const char *all = arena_strndup(arena, buf_view(&b).ptr ? b.ptr : "", b.len);
	buf_free(&b);
	return all;
}

static void test_nodelist_expand(void **state)
{
	(void)state;
	assert_string_equal(joined("node[1-3]"), "node1 node2 node3");
	assert_string_equal(joined("gpu[08-11,20],login1"), "gpu08 gpu09 gpu10 gpu11 gpu20 login1");
	assert_string_equal(joined("r[1-2]n[01-02]-ib"), "r1n01-ib r1n02-ib r2n01-ib r2n02-ib");
	assert_string_equal(joined("a b\nc # d e\n,f"), "a b c f");
	assert_string_equal(joined(""), "");
	assert_string_equal(joined("x[3]"), "x3");
	static const char *const wrong[] = {"node[1-", "node[", "node]", "node[a-b]", "node[3-1]", "node[]", "n[1-2]]", "n[1--2]", "n[-1]"};
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		assert_null(joined(wrong[i]));
	const char *const *names;
	size_t n;
	assert_int_equal(nodelist_expand(arena, str_of("n[0-999999999]"), &names, &n), -E2BIG);
	assert_int_equal(nodelist_expand(arena, str_of("n[0-9999][0-9999]"), &names, &n), -E2BIG);
}

static const char *folded(const char *text, size_t max)
{
	const char *const *names;
	size_t n;
	assert_int_equal(nodelist_expand(arena, str_of(text), &names, &n), 0);
	return nodelist_fold(arena, names, n, max);
}

static void test_nodelist_fold(void **state)
{
	(void)state;
	assert_string_equal(folded("node3 node1 node2", 0), "node[1-3]");
	assert_string_equal(folded("node1 node3 node3 node2 node7", 0), "node[1-3,7]");
	assert_string_equal(folded("n08 n09 n10 n11", 0), "n[08-11]");
	assert_string_equal(folded("n8 n9 n10 n100", 0), "n[8-10,100]");
	assert_string_equal(folded("n1", 0), "n1");
	assert_string_equal(folded("n01 n1", 0), "n01,n1");
	assert_string_equal(folded("a1-ib a2-ib b1 login", 0), "a[1,2]-ib,b1,login");
	assert_string_equal(folded("", 0), "");
	assert_string_equal(folded("n[1-9] m[2-3]", 0), "m[2,3],n[1-9]");
	assert_true(strlen(folded("n1 n3 n5 n7 n9 n11 n13 n15 n17 n19", 12)) < 24);
	/* What is folded unfolds to the same names. */
	static const char *const lists[] = {
		"r[1-3]n[01-10]", "a b c9 c10 c11 d-1-x d-2-x", "x99999999999999999999 x1", "node-[00001-00120]"};
	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
		assert_string_equal(folded(folded(lists[i], 0), 0), folded(lists[i], 0));
	assert_true(nodelist_compare("node2", "node10") < 0);
	assert_true(nodelist_compare("570.9.1", "570.10") < 0);
}

/* -- sets of nodes, against plain arrays ------------------------------------------------------------------------------------------ */

#define NODES 3000

static void fill(struct nodeset *s, bool *plain, unsigned kind)
{
	uint32_t random = 12345 + kind;
	memset(plain, 0, NODES);
	for (uint32_t i = 0; i < NODES; i++) {
		random = random * 1664525 + 1013904223;
		bool in = kind == 0 ? true
			: kind == 1 ? i % 64 == 0
			: kind == 2 ? random >> 24 < 3
			: kind == 3 ? (i / 200) % 2 == 0
			: kind == 4 ? i % 3 == 0
				    : random >> 31;
		if (!in)
			continue;
		plain[i] = true;
		nodeset_add(s, i);
		if (random >> 30 == 0)
			nodeset_add(s, i); /* again: no matter */
	}
}

static void same(const struct nodeset *s, const bool *plain)
{
	uint32_t count = 0, next = nodeset_next(s, 0);
	for (uint32_t i = 0; i < NODES; i++) {
		count += plain[i];
		assert_int_equal(nodeset_has(s, i), plain[i]);
		if (plain[i]) {
			assert_int_equal(next, i);
			next = nodeset_next(s, i + 1);
		}
	}
	assert_int_equal(next, UINT32_MAX);
	assert_int_equal(s->count, count);
}

static void test_nodeset(void **state)
{
	(void)state;
	static bool a[NODES], b[NODES], both[NODES];
	for (unsigned i = 0; i < 6; i++)
		for (unsigned k = 0; k < 6; k++) {
			struct nodeset x = {0}, y = {0}, z;
			fill(&x, a, i);
			fill(&y, b, k);
			same(&x, a);
			z = nodeset_and(&x, &y);
			for (size_t n = 0; n < NODES; n++)
				both[n] = a[n] && b[n];
			same(&z, both);
			assert_int_equal(nodeset_and_count(&x, &y), z.count);
			nodeset_free(&z);
			z = nodeset_or(&x, &y);
			for (size_t n = 0; n < NODES; n++)
				both[n] = a[n] || b[n];
			same(&z, both);
			nodeset_free(&z);
			z = nodeset_minus(&x, &y);
			for (size_t n = 0; n < NODES; n++)
				both[n] = a[n] && !b[n];
			same(&z, both);
			nodeset_free(&z);
			nodeset_free(&x);
			nodeset_free(&y);
		}
	struct nodeset all = {0};
	nodeset_add_all(&all, NODES);
	assert_int_equal(all.count, NODES);
	assert_true(all.run_count <= 2);
	nodeset_free(&all);
}

/* -- facts as lines ------------------------------------------------------------------------------------------------------------------ */

static struct facts *sample(void)
{
	static const char *const texts[] = {"", "-", "?", "=", "=x", "a\tb\nc\r\\d", "end 3", "@gpu", "!x", "\\", "日本"};
	struct facts *f = facts_new(arena);
	struct facts_row *row = facts_add(f, TABLE_system);
	facts_text(row, system__hostname, "n1", "/etc/hostname");
	facts_int(row, system__memory_bytes, INT64_MIN, NULL);
	facts_real(row, system__cpu_quota, 0.1, NULL);
	facts_bool(row, system__removeipc, true, NULL);
	facts_gap(row, system__iommu, GAP_DENIED, "/sys", "EACCES");
	facts_gap(row, system__memory_limit_bytes, GAP_ABSENT, NULL, NULL);
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		facts_text(facts_add(f, TABLE_variable), variable__value, texts[i], NULL);
	facts_add(f, TABLE_gpu);
	facts_table_read(f, TABLE_package);
	facts_table_gap(f, TABLE_mount, GAP_TIMEOUT, NULL, NULL);
	return f;
}

static void equal(const struct facts *a, const struct facts *b)
{
	for (int t = 0; t < TABLE_COUNT; t++) {
		struct facts_table_info info = facts_table((enum facts_table)t);
		const struct facts_row *x = a->first[t], *y = b->first[t];
		assert_int_equal(a->count[t], b->count[t]);
		assert_int_equal(a->read[t], b->read[t]);
		for (; x && y; x = x->next, y = y->next)
			for (int c = info.first; c < info.end; c++) {
				const struct facts_value *v = &x->value[c - info.first], *w = &y->value[c - info.first];
				assert_int_equal(v->set, w->set);
				assert_int_equal(v->gap, w->gap);
				if (!v->set || v->gap != GAP_NONE)
					continue;
				if (facts_columns[c].type == FACTS_TEXT)
					assert_string_equal(v->text, w->text);
				else if (facts_columns[c].type == FACTS_REAL)
					assert_true(v->r == w->r);
				else
					assert_true(v->i == w->i);
			}
		assert_true(!x && !y);
	}
	assert_int_equal(a->gaps->table, b->gaps->table);
	assert_int_equal(a->gaps->gap, b->gaps->gap);
}

static void test_lines(void **state)
{
	(void)state;
	struct facts *f = sample(), *back = NULL;
	struct facts_lines_head head = {.node = "n\t1", .time = 1764500000}, got;
	struct buf out = BUF_MAX(1 << 20);
	const char *why = NULL;
	facts_lines_write(f, &head, &out);
	assert_int_equal(facts_lines_read(arena, buf_view(&out), &back, &got, &why), 0);
	equal(f, back);
	assert_string_equal(got.node, "n\t1");
	assert_int_equal(got.time, 1764500000);
	assert_int_equal(got.skipped, 0);
	/* Cut anywhere it gives nothing. */
	for (size_t n = 0; n < out.len - 1; n++) {
		back = NULL;
		assert_true(facts_lines_read(arena, str_n(out.ptr, n), &back, &got, &why) < 0);
		assert_null(back);
		assert_non_null(why);
	}
	buf_free(&out);
}

static void test_lines_of_others(void **state)
{
	(void)state;
	struct facts *f = NULL;
	struct facts_lines_head head;
	const char *why;
	assert_int_equal(facts_lines_read(arena, str_of("davy-facts 2 9.9\nend 0\n"), &f, &head, &why), -EOPNOTSUPP);
	assert_int_equal(facts_lines_read(arena, str_of("hello\nend 0\n"), &f, &head, &why), -EBADMSG);
	assert_int_equal(facts_lines_read(arena, str_of("davy-facts 1 x\n@gpu\tindex\n\tseven\nend 1\n"), &f, &head, &why), -EBADMSG);
	assert_int_equal(facts_lines_read(arena, str_of("davy-facts 1 x\n\t1\nend 1\n"), &f, &head, &why), -EBADMSG);
	assert_int_equal(facts_lines_read(arena, str_of("davy-facts 1 9.9\n@robot\tarm\n\t2\n@gpu\tindex\tmood\n\t3\tfine\n\t4\nend 3\n"),
				 &f, &head, &why),
		0);
	assert_int_equal(head.skipped, 2);
	assert_int_equal(f->count[TABLE_gpu], 2);
}

static void test_names(void **state)
{
	(void)state;
	for (int c = 0; c < COLUMN_COUNT; c++)
		assert_int_equal(facts_column_by_name(facts_columns[c].table, str_of(facts_columns[c].name)), c);
	for (int t = 0; t < TABLE_COUNT; t++)
		assert_int_equal(facts_table_by_name(str_of(facts_table((enum facts_table)t).name)), t);
	assert_int_equal(facts_table_by_name(STR("nothing")), TABLE_COUNT);
	assert_int_equal(facts_column_by_name(TABLE_gpu, STR("kernel")), COLUMN_COUNT);
}

/* -- JSON by tokens --------------------------------------------------------------------------------------------------------------- */

static int step_over(const char *text, size_t *ret_used)
{
	struct json_scan s = {text, text + strlen(text)};
	int rc = json_scan_skip(&s);
	*ret_used = (size_t)(s.at - text);
	return rc;
}

static void test_scan(void **state)
{
	(void)state;
	struct json_scan s;
	struct json_token t;
	struct str key;
	size_t used;
	const char *text = " {\"a\\n\": \"x\\u00e9\\ud83d\\ude00\\\"y\", \"b\":[1,-2.5e3,true,null,{}]} ";
	char out[64];
	s = (struct json_scan){text, text + strlen(text)};
	assert_int_equal(json_scan_value(&s, &t), 0);
	assert_int_equal(t.type, JSON_OBJECT);
	assert_int_equal(json_scan_member(&s, 0, &key), 1);
	assert_true(str_is(key, "a\\n"));
	assert_int_equal(json_scan_value(&s, &t), 0);
	assert_true(t.escaped);
	long n = json_scan_unescape(&t, out);
	assert_true(n > 0);
	assert_memory_equal(out, "x\xc3\xa9\xf0\x9f\x98\x80\"y", (size_t)n);
	assert_int_equal(json_scan_member(&s, 1, &key), 1);
	assert_int_equal(json_scan_value(&s, &t), 0);
	static const enum json_type types[] = {JSON_INT, JSON_REAL, JSON_BOOL, JSON_NULL, JSON_OBJECT};
	for (int i = 0; i < 5; i++) {
		assert_int_equal(json_scan_element(&s, i), 1);
		assert_int_equal(json_scan_value(&s, &t), 0);
		assert_int_equal(t.type, types[i]);
	}
	assert_int_equal(json_scan_member(&s, 0, &key), 0);
	assert_int_equal(json_scan_element(&s, 5), 0);
	assert_int_equal(json_scan_member(&s, 2, &key), 0);
	/* Special bytes at each place of eight. */
	for (size_t i = 0; i < 24; i++) {
		char long_text[64];
		snprintf(long_text, sizeof long_text, "\"%.*s\\\"%.*s\" ", (int)i, "abcdefghijklmnopqrstuvwxyz", (int)(24 - i),
			"\xc3\xa9\x80\x9f\xff defghijklmnopqrstuvwx");
		s = (struct json_scan){long_text, long_text + strlen(long_text)};
		assert_int_equal(json_scan_value(&s, &t), 0);
		assert_int_equal(t.raw.len, 26);
	}
	assert_int_equal(step_over("{\"a\":[{\"}]\":\"]}\"}]} x", &used), 0);
	assert_int_equal(used, 19);
	assert_int_equal(step_over("{\"a\":[1}", &used), -EINVAL);
	assert_int_equal(step_over("{\"a\":[1", &used), -ENODATA);
	assert_int_equal(step_over("\"a\nb\"", &used), -EINVAL);
	assert_int_equal(step_over("nul", &used), -ENODATA);
	assert_int_equal(step_over("nux", &used), -EINVAL);
	assert_int_equal(step_over("- ", &used), -EINVAL);
	assert_int_equal(step_over("12", &used), -ENODATA);
	char deep[1000];
	memset(deep, '[', sizeof deep - 1);
	deep[sizeof deep - 1] = '\0';
	assert_int_equal(step_over(deep, &used), -E2BIG);
	t = (struct json_token){.raw = STR("\\ud800x\\uZZZZ")};
	assert_true(json_scan_unescape(&t, out) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nodelist_expand),
		cmocka_unit_test(test_nodelist_fold),
		cmocka_unit_test(test_nodeset),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_lines_of_others),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_scan),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
