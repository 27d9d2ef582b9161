#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "base/version.h"

static void numbers(void **state)
{
	(void)state;
	int64_t n = 7;
	assert_int_equal(str_to_int(STR("-9223372036854775808"), &n), 0);
	assert_true(n == INT64_MIN);
	assert_int_equal(str_to_int(STR("9223372036854775808"), &n), -ERANGE);
	assert_int_equal(str_to_int(STR("-9223372036854775809"), &n), -ERANGE);
	assert_int_equal(str_to_int(STR("12a"), &n), -EINVAL);
	assert_int_equal(str_to_int(STR(""), &n), -EINVAL);
	assert_true(n == INT64_MIN); /* untouched */
	uint64_t x;
	assert_int_equal(str_to_hex(STR("0x10de"), &x), 0);
	assert_int_equal(x, 0x10de);
	double r;
	assert_int_equal(str_to_real(STR("32.0"), &r), 0);
	assert_int_equal(str_to_real(STR("nan"), &r), -EINVAL);
}

static void lines_and_fields(void **state)
{
	(void)state;
	struct str rest = STR("a\r\n\nb"), line;
	assert_true(str_next_line(&rest, &line) && str_is(line, "a"));
	assert_true(str_next_line(&rest, &line) && line.len == 0);
	assert_true(str_next_line(&rest, &line) && str_is(line, "b"));
	assert_false(str_next_line(&rest, &line));
	struct str fields = STR("x::"), field;
	int n = 0;
	while (str_next_field(&fields, ':', &field))
		n++;
	assert_int_equal(n, 3);
}

static void versions(void **state)
{
	(void)state;
	static const struct {
		const char *a, *b;
		int order;
	} cases[] = {
		{"580.65.06", "580.126", -1},
		{"12.4", "12.4.0", 0},
		{"6.1.0-18-amd64", "6.1.0", 0},
		{"2.28.9", "2.9.8", 1},
		{"v1.2", "1.2", 0},
		{"535.183.01", "535.183.1", 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		int c;
		assert_int_equal(version_cmp(str_of(cases[i].a), str_of(cases[i].b), &c), 0);
		assert_int_equal(c, cases[i].order);
	}
	int c = 9;
	assert_int_equal(version_cmp(STR("abc"), STR("1"), &c), -EINVAL);
	assert_int_equal(c, 9);
}

static void buffers(void **state)
{
	(void)state;
	struct buf b = BUF_MAX(8);
	buf_text(&b, "12345");
	buf_fmt(&b, "%s", "67890");
	assert_true(b.truncated);
	assert_string_equal(b.ptr, "12345678");
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers), cmocka_unit_test(lines_and_fields), cmocka_unit_test(versions), cmocka_unit_test(buffers)};
	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
