#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>

#include "parse/pep508.h"

static const struct pep508_environment env = {
	.python_version = {"3.11", 4},
	.python_full_version = {"3.11.7", 6},
	.os_name = {"posix", 5},
	.sys_platform = {"linux", 5},
	.platform_release = {"6.1.0-18-amd64", 14},
	.platform_system = {"Linux", 5},
	.platform_machine = {"x86_64", 6},
	.platform_python_implementation = {"CPython", 7},
	.implementation_name = {"cpython", 7},
	.implementation_version = {"3.11.7", 6},
	.extra = {"my-gpu", 6},
};

static int marker(const char *text)
{
	bool yes;
	int r = parse_pep508_marker(str_of(text), &env, &yes);
	return r ? r : yes;
}

static void test_requirement(void **state)
{
	(void)state;
	struct pep508 r;
	assert_int_equal(parse_pep508(STR("Torch [a, b] (>=2.1,<3) ; python_version >= \"3.9\""), &r), 0);
	assert_true(str_is(r.name, "Torch"));
	assert_true(str_is(r.extras, "a, b"));
	assert_true(str_is(r.specifier, ">=2.1,<3"));
	assert_true(str_is(r.marker, "python_version >= \"3.9\""));
	assert_int_equal(parse_pep508(STR("nvidia-nccl-cu12==2.18.1;platform_system=='Linux'"), &r), 0);
	assert_true(str_is(r.specifier, "==2.18.1"));
	assert_int_equal(parse_pep508(STR("x @ https://example.org/x.whl ; extra == 'y'"), &r), 0);
	assert_true(str_is(r.url, "https://example.org/x.whl"));
	assert_true(r.marker.len > 0);
	assert_int_equal(parse_pep508(STR("pycairo"), &r), 0);
	assert_int_equal(r.specifier.len, 0);
}

static void test_requirement_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {"", "-x", "x-", "x y", "x[", "x[a b]", "x (>=1", "x>=", "x;", "x; python", "x @", "x>=1.*",
		"x; 'a' == 'b'", "x; python_version > '3' and"};
	struct pep508 r;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(parse_pep508(str_of(bad[i]), &r), -EINVAL);
}

static void test_markers(void **state)
{
	(void)state;
	assert_int_equal(marker(""), 1);
	assert_int_equal(marker("python_version < '3.9'"), 0);
	assert_int_equal(marker("python_version >= '3.9'"), 1); /* as versions: 3.11 is more than 3.9 */
	assert_int_equal(marker("'3.9' <= python_version"), 1);
	assert_int_equal(marker("platform_system == 'Linux' and platform_machine == 'x86_64'"), 1);
	assert_int_equal(marker("sys_platform == 'win32' or (sys_platform == 'linux' and python_version > '3')"), 1);
	assert_int_equal(marker("extra == 'My_GPU'"), 1);
	assert_int_equal(marker("extra == 'other'"), 0);
	assert_int_equal(marker("python_version in '3.10 3.11'"), 1);
	assert_int_equal(marker("sys_platform not in 'win32 darwin'"), 1);
	assert_int_equal(marker("platform_release >= '5'"), 1); /* no version: compared as words */
	assert_int_equal(marker("sys_platform ~= 'linux'"), -ENOTSUP);
	assert_int_equal(marker("python_version"), -EINVAL);
	assert_int_equal(marker("(python_version > '3'"), -EINVAL);
}

static void test_deep_marker(void **state)
{
	(void)state;
	struct buf b = BUF_MAX(1 << 20);
	for (int i = 0; i < 100000; i++)
		buf_char(&b, '(');
	bool yes;
	assert_int_equal(parse_pep508_marker(buf_view(&b), &env, &yes), -EINVAL);
	buf_free(&b);
}

static void test_names(void **state)
{
	(void)state;
	struct arena *a = arena_new(0);
	assert_string_equal(parse_pep503_name(a, STR("Foo__Bar.-baz")), "foo-bar-baz");
	assert_true(parse_pep503_equal(STR("typing_extensions"), STR("Typing.Extensions")));
	assert_false(parse_pep503_equal(STR("torch"), STR("torchvision")));
	assert_true(parse_pep503_is_valid(STR("ruamel.yaml")));
	assert_false(parse_pep503_is_valid(STR("~orch")));
	assert_false(parse_pep503_is_valid(STR("-orch")));
	assert_false(parse_pep503_is_valid(STR("")));
	arena_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requirement),
		cmocka_unit_test(test_requirement_refused),
		cmocka_unit_test(test_markers),
		cmocka_unit_test(test_deep_marker),
		cmocka_unit_test(test_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
