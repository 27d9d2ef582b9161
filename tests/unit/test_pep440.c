#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "parse/pep440.h"

static int compare(const char *a, const char *b)
{
	struct pep440 x, y;
	assert_int_equal(parse_pep440(str_of(a), &x), 0);
	assert_int_equal(parse_pep440(str_of(b), &y), 0);
	return parse_pep440_compare(&x, &y);
}

static int match(const char *specifiers, const char *version, enum pep440_prereleases pre)
{
	struct pep440 v;
	bool yes;
	assert_int_equal(parse_pep440(str_of(version), &v), 0);
	return parse_pep440_match(str_of(specifiers), &v, pre, &yes) ? -1 : yes;
}

static void test_order(void **state)
{
	(void)state;
	/* From small to large, each one release of its own. */
	static const char *const rising[] = {
		"1.0.dev456",
		"1.0a1",
		"1.0a2.dev456",
		"1.0a12.dev456",
		"1.0a12",
		"1.0b1.dev456",
		"1.0b2",
		"1.0b2.post345.dev456",
		"1.0b2.post345",
		"1.0rc1.dev456",
		"1.0rc1",
		"1.0",
		"1.0+abc.5",
		"1.0+abc.7",
		"1.0+5",
		"1.0.post456.dev34",
		"1.0.post456",
		"1.1.dev1",
		"2",
		"2.0.1",
		"12.4",
		"580.65.06",
		"580.126",
		"1!0.1",
		"1!123456789012345678901234567890",
	};
	size_t n = sizeof rising / sizeof *rising;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			assert_int_equal(compare(rising[i], rising[j]), (i > j) - (i < j));
}

static void test_spellings(void **state)
{
	(void)state;
	static const char *const pairs[][2] = {
		{"v1.0-Alpha_2", "1.0a2"},
		{"1.0-1", "1.0.post1"},
		{"1.0c3", "1.0rc3"},
		{"01.02", "1.2"},
		{"1.0preview", "1.0rc0"},
		{"1.0.REV4", "1.0.post4"},
		{"0!1", "1"},
		{"2.1.0+CU118", "2.1.0+cu118"},
		{" 1.0\n", "1.0"},
		{"1.13.0a0+gitunknown", "1.13.0a0+gitunknown"},
		{"1+a-01_b", "1+a.1.b"},
	};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		struct pep440 v;
		struct buf b = BUF_MAX(1024);
		assert_int_equal(parse_pep440(str_of(pairs[i][0]), &v), 0);
		parse_pep440_print(&v, &b);
		assert_string_equal(b.ptr, pairs[i][1]);
		buf_free(&b);
	}
	assert_int_equal(compare("1.0", "1.0.0.0"), 0);
}

static void test_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"", "v", "a1", "1.", "1..2", "1.0+", "1.0+a+b", "1.0+a..b", "1.0x", "1 0", "latest", "1.0-", "1.0.*"};
	struct pep440 v;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_true(parse_pep440(str_of(bad[i]), &v) < 0);
}

static void test_specifiers(void **state)
{
	(void)state;
	assert_int_equal(match("", "2.1", PEP440_ALLOWED), 1);
	assert_int_equal(match("==2.1.0", "2.1.0+cu121", PEP440_ALLOWED), 1); /* a pin without local part takes every build */
	assert_int_equal(match("==2.1.0+cu118", "2.1.0+cu121", PEP440_ALLOWED), 0);
	assert_int_equal(match("===2.1.0", "2.1.0+cu121", PEP440_ALLOWED), 0);
	assert_int_equal(match("==2.1.*", "2.1", PEP440_ALLOWED), 1);
	assert_int_equal(match("!=2.1.*", "2.1.5rc1", PEP440_ALLOWED), 0);
	assert_int_equal(match("~=2.1", "2.9", PEP440_ALLOWED), 1);
	assert_int_equal(match("~=2.1.3", "2.2.0", PEP440_ALLOWED), 0);
	assert_int_equal(match(">=1.19,<3", "2.0.0", PEP440_ALLOWED), 1);
	assert_int_equal(match(">2.1", "2.1.post1", PEP440_ALLOWED), 0);
	assert_int_equal(match(">2.1", "2.1+cu118", PEP440_ALLOWED), 0);
	assert_int_equal(match("<2.1", "2.1rc1", PEP440_ALLOWED), 0);
	assert_int_equal(match("<2.1rc2", "2.1rc1", PEP440_ALLOWED), 1);
	assert_int_equal(match("<=2.1", "2.1+cu118", PEP440_ALLOWED), 1);
}

static void test_prereleases(void **state)
{
	(void)state;
	assert_int_equal(match(">=2.0", "2.2.0.dev20231010", PEP440_AS_SPECIFIED), 0);
	assert_int_equal(match(">=2.0.dev0", "2.2.0.dev20231010", PEP440_AS_SPECIFIED), 1);
	assert_int_equal(match(">=2.0", "2.2.0.dev20231010", PEP440_ALLOWED), 1);
	assert_int_equal(match(">=2.0.dev0", "2.2.0.dev20231010", PEP440_REFUSED), 0);
}

static void test_bad_specifiers(void **state)
{
	(void)state;
	static const char *const bad[] = {"2.1", "=2.1", ">=2.1.*", "~=2", "<2+cpu", "==2.1.dev1.*", "==", ">=x", "=>2", "===a b", "~=1.*"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_true(parse_pep440_check(str_of(bad[i])) < 0);
	assert_int_equal(parse_pep440_check(STR(" >= 2.1 , != 2.3.* ,")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_spellings),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_specifiers),
		cmocka_unit_test(test_prereleases),
		cmocka_unit_test(test_bad_specifiers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
