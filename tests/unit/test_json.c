#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "parse/json.h"

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

static const struct json *good(const char *text)
{
	const struct json *v = NULL;

	assert_int_equal(parse_json(arena, str_of(text), &v, NULL), 0);
	assert_non_null(v);
	return v;
}

static void bad(const char *text)
{
	const struct json *v = NULL;

	assert_true(parse_json(arena, str_of(text), &v, NULL) < 0);
	assert_null(v);
}

static void test_values(void **state)
{
	(void)state;
	const struct json *v = good(" {\"a\": [1, -2.5, true, null, \"x\"], \"b\": {\"c\": 9007199254740993}, \"a b\": NaN, \"e\": 1e3}\n");
	const struct json *e = parse_json_first(parse_json_get(v, "a"));
	int64_t i;
	double r;
	bool b;
	struct str s;

	assert_true(parse_json_int(e, &i) && i == 1);
	e = e->next;
	assert_true(parse_json_real(e, &r) && r == -2.5);
	assert_false(parse_json_int(e, &i));
	e = e->next;
	assert_true(parse_json_bool(e, &b) && b);
	e = e->next;
	assert_int_equal(e->type, JSON_NULL);
	e = e->next;
	assert_true(parse_json_text(e, &s) && str_is(s, "x"));
	assert_null(e->next);
	assert_true(parse_json_int(parse_json_path(v, "b.c"), &i) && i == 9007199254740993);
	assert_true(parse_json_int(parse_json_get(v, "e"), &i) && i == 1000);
	assert_int_equal(parse_json_get(v, "a b")->type, JSON_NULL);
	assert_null(parse_json_path(v, "b.c.d"));
	assert_null(parse_json_get(NULL, "a"));
}

static void test_texts(void **state)
{
	(void)state;
	struct str s;

	assert_true(parse_json_text(good("\"a\\n\\u00e9\\u9a71\\ud83d\\ude00\\\"\""), &s));
	assert_true(str_is(s, "a\n\xc3\xa9\xe9\xa9\xb1\xf0\x9f\x98\x80\""));
	assert_true(parse_json_text(good("\"\\ud83d!\""), &s) && str_is(s, "\xef\xbf\xbd!"));
	assert_true(parse_json_text(good("\"\""), &s) && s.len == 0);
}

static void test_refused(void **state)
{
	(void)state;
	static const char *const texts[] = {"", " ", "{", "[1,", "[1,]", "{\"a\"}", "{\"a\":}", "{a:1}", "\"abc", "\"\\", "\"\\x\"", "tru",
		"1 2", "-", "1.", "1e", ".5", "\"\n\"", "\"\\u12\"", "[1}"};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		bad(texts[i]);
}

static void test_depth(void **state)
{
	(void)state;
	char deep[4096];
	const struct json *v = NULL;

	memset(deep, '[', sizeof deep);
	assert_int_equal(parse_json(arena, str_n(deep, sizeof deep), &v, NULL), -E2BIG);
}

static void test_stream(void **state)
{
	(void)state;
	struct str rest = STR("{\"a\":1}\n{\"a\":2}\n");
	const struct json *v;
	int64_t i;

	assert_int_equal(parse_json_next(arena, &rest, &v), 0);
	assert_int_equal(parse_json_next(arena, &rest, &v), 0);
	assert_true(parse_json_int(parse_json_get(v, "a"), &i) && i == 2);
	assert_int_equal(parse_json_next(arena, &rest, &v), -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_stream),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
