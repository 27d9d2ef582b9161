#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>

#include "parse/dist_info.h"
#include "parse/sha256.h"

static struct arena *arena;

static void test_metadata(void **state)
{
	(void)state;
	struct dist_metadata m;
	assert_int_equal(
		parse_dist_metadata(arena,
			STR("Metadata-Version: 2.1\r\nName: Torch\r\nVersion: 2.1.0+cu121\r\nLicense: many\r\n\tlines: of\r\n  Name: text\r\n"
			    "Requires-Python: >=3.8\r\nRequires-Dist: sympy\r\nRequires-Dist: triton (==2.1.0) ;\r\n   platform_system == \"Linux\"\r\n"
			    "\r\nName: in the description\r\n"),
			&m),
		0);
	assert_true(str_is(m.name, "Torch"));
	assert_true(str_is(m.version, "2.1.0+cu121"));
	assert_true(str_is(m.requires_python, ">=3.8"));
	assert_int_equal(m.requires_count, 2);
	assert_true(str_is(m.requires[1], "triton (==2.1.0) ; platform_system == \"Linux\""));
	assert_true(m.complete);
	assert_int_equal(parse_dist_metadata(arena, STR("Name: x\nVersion: 1"), &m), 0);
	assert_false(m.complete);
	assert_int_equal(parse_dist_metadata(arena, STR(""), &m), -EINVAL);
	assert_int_equal(parse_dist_metadata(arena,
				 STR("\x7f"
				     "ELF\x01"),
				 &m),
		-EINVAL);
}

static void test_requires_txt(void **state)
{
	(void)state;
	struct str *list;
	size_t n;
	assert_int_equal(
		parse_dist_requires_txt(arena,
			STR("pycairo>=1.16\n\n[:python_version < \"3.8\"]\nimportlib\n\n[socks]\nPySocks!=1.5.7; os_name == 'posix'\n"),
			&list, &n),
		0);
	assert_int_equal(n, 3);
	assert_true(str_is(list[0], "pycairo>=1.16"));
	assert_true(str_is(list[1], "importlib ; (python_version < \"3.8\")"));
	assert_true(str_is(list[2], "PySocks!=1.5.7 ; (os_name == 'posix') and extra == \"socks\""));
}

static void test_directory(void **state)
{
	(void)state;
	enum dist_kind kind;
	struct str name, version;
	assert_true(parse_dist_directory(STR("torch-2.1.0+cu121.dist-info"), &kind, &name, &version));
	assert_true(kind == DIST_INFO && str_is(name, "torch") && str_is(version, "2.1.0+cu121"));
	assert_true(parse_dist_directory(STR("six-1.16.0-py3.11.egg-info"), &kind, &name, &version));
	assert_true(kind == EGG_INFO && str_is(version, "1.16.0"));
	assert_true(parse_dist_directory(STR("demo.egg-info"), &kind, &name, &version));
	assert_true(str_is(name, "demo") && version.len == 0);
	assert_false(parse_dist_directory(STR("torch"), &kind, &name, &version));
}

static void test_record(void **state)
{
	(void)state;
	struct str rest = STR(
		"a/b.py,sha256=abc-_,12\r\n\"with, comma \"\"x\"\".py\",,\n../../../bin/x,sha256=q,7\n,,\nbad\"x,\"y\"z,1\nlast/RECORD,,");
	struct dist_record r;
	assert_int_equal(parse_dist_record(arena, &rest, &r), 1);
	assert_true(str_is(r.path, "a/b.py") && str_is(r.algorithm, "sha256") && str_is(r.digest, "abc-_") && r.has_size && r.size == 12);
	assert_int_equal(parse_dist_record(arena, &rest, &r), 1);
	assert_true(str_is(r.path, "with, comma \"x\".py") && !r.has_size);
	assert_int_equal(parse_dist_record(arena, &rest, &r), 1);
	assert_int_equal(parse_dist_record(arena, &rest, &r), -EINVAL);
	assert_int_equal(parse_dist_record(arena, &rest, &r), -EINVAL);
	assert_int_equal(parse_dist_record(arena, &rest, &r), 1);
	assert_true(str_is(r.path, "last/RECORD"));
	assert_int_equal(parse_dist_record(arena, &rest, &r), 0);
}

static void test_small_files(void **state)
{
	(void)state;
	struct dist_direct_url d;
	assert_int_equal(parse_dist_direct_url(arena, STR("{\"url\": \"file:///src/x\", \"dir_info\": {\"editable\": true}}"), &d), 0);
	assert_true(d.editable && str_is(d.url, "file:///src/x"));
	assert_int_equal(
		parse_dist_direct_url(arena, STR("{\"url\": \"u\", \"vcs_info\": {\"vcs\": \"git\", \"commit_id\": \"abc\"}}"), &d), 0);
	assert_true(!d.editable && str_is(d.commit, "abc"));
	assert_true(parse_dist_direct_url(arena, STR("{"), &d) < 0);

	struct str rest = STR("# x\n\n/src/demo \nimport site; site.x()\nimporter\n"), line;
	assert_int_equal(parse_dist_pth(&rest, &line), DIST_PTH_NOTHING);
	assert_int_equal(parse_dist_pth(&rest, &line), DIST_PTH_NOTHING);
	assert_int_equal(parse_dist_pth(&rest, &line), DIST_PTH_PATH);
	assert_true(str_is(line, "/src/demo"));
	assert_int_equal(parse_dist_pth(&rest, &line), DIST_PTH_CODE);
	assert_int_equal(parse_dist_pth(&rest, &line), DIST_PTH_PATH);
	assert_int_equal(parse_dist_pth(&rest, &line), DIST_PTH_END);

	struct dist_venv v;
	parse_dist_pyvenv(
		STR("home = /usr/bin\nimplementation = CPython\nuv = 0.4.1\nversion_info = 3.12.5\ninclude-system-site-packages = True\n"),
		&v);
	assert_true(str_is(v.home, "/usr/bin") && str_is(v.version, "3.12.5") && v.system_site && str_is(v.creator, "uv"));
}

static void test_assignment(void **state)
{
	(void)state;
	struct str v;
	struct str old = STR("__version__ = '1.13.0a0+gitunknown'\ndebug = False\ncuda = None\nhip = None\n");
	assert_int_equal(parse_dist_assignment(old, "__version__", &v), 1);
	assert_true(str_is(v, "1.13.0a0+gitunknown"));
	assert_int_equal(parse_dist_assignment(old, "cuda", &v), 0);
	struct str fresh = STR(
		"from typing import Optional\n__all__ = ['__version__', 'cuda']\n__version__ = '2.5.1+cu124'\ncuda: Optional[str] = '12.4'\nhip: Optional[str] = None\n");
	assert_int_equal(parse_dist_assignment(fresh, "cuda", &v), 1);
	assert_true(str_is(v, "12.4"));
	assert_int_equal(parse_dist_assignment(fresh, "hip", &v), 0);
	assert_int_equal(parse_dist_assignment(fresh, "xpu", &v), -ENOENT);
}

static void test_sha256(void **state)
{
	(void)state;
	char text[PARSE_SHA256_TEXT];
	struct str empty = STR(""), abc = STR("abc");
	struct parse_source source = parse_source_of(&empty);
	assert_int_equal(parse_sha256(&source, text), 0);
	assert_string_equal(text, "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
	source = parse_source_of(&abc);
	assert_int_equal(parse_sha256(&source, text), 0);
	assert_string_equal(text, "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
}

static int setup(void **state)
{
	(void)state;
	arena = arena_new(0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_metadata),
		cmocka_unit_test(test_requires_txt),
		cmocka_unit_test(test_directory),
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_small_files),
		cmocka_unit_test(test_assignment),
		cmocka_unit_test(test_sha256),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
