#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "host/host.h"
#include "parse/ldcache.h"

static struct arena *arena;
static struct host *host;

static int set_up(void **state)
{
	(void)state;
	arena = arena_new(0);
	return host_open_live(arena, NULL, &host);
}

static int tear_down(void **state)
{
	(void)state;
	host_close(host);
	arena_free(arena);
	return 0;
}

static struct str seed(const char *name)
{
	struct str bytes = str_n("", 0);
	const char *source = host_env(host, "DAVY_SOURCE");
	assert_int_equal(
		host_read(host, arena_printf(arena, "%s/fuzz/corpus/ldcache/%s", source ? source : host_cwd(host), name), 0, &bytes), 0);
	return bytes;
}

static const char expected[] = "x86_64 - libz.so.1 /lib/x86_64-linux-gnu/libz.so.1\n"
			       "x86_64 x86-64-v3 libnccl.so.2 /usr/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v3/libnccl.so.2\n"
			       "x86_64 - libnccl.so.2 /usr/lib/x86_64-linux-gnu/libnccl.so.2\n"
			       "i386 - libz.so.1 /lib32/libz.so.1\n"
			       "x86_64 0x4000000000000 libx.so.1 /opt/haswell/libx.so.1\n";

static void test_text(void **state)
{
	(void)state;
	static const char *const names[] = {"new", "old"};
	for (size_t i = 0; i < 2; i++) {
		struct buf text = BUF_MAX(65536);
		assert_int_equal(parse_ldcache_text(seed(names[i]), &text), 0);
		assert_string_equal(text.ptr, expected);
		buf_free(&text);
	}
}

static void test_generator(void **state)
{
	(void)state;
	struct ldcache c;
	assert_int_equal(parse_ldcache(seed("new"), &c), 0);
	assert_int_equal(c.count, 5);
	assert_true(str_is(c.generator, "ldconfig test"));
}

static void test_damaged(void **state)
{
	(void)state;
	struct str bytes = seed("new");
	struct ldcache c;
	assert_int_equal(parse_ldcache(str_n("", 0), &c), -EINVAL);
	assert_int_equal(parse_ldcache(STR("ld.so-1.7.0\0\377\377\377\377"), &c), -EINVAL);
	assert_int_equal(parse_ldcache(str_slice(bytes, 0, 100), &c), -EINVAL);
	/* Strings cut off: entries drop out, nothing is read beyond the end. */
	for (size_t n = 48; n < bytes.len; n++) {
		struct buf text = BUF_MAX(65536);
		char *exact = arena_strndup(arena, bytes.ptr, n);
		parse_ldcache_text(str_n(exact, n), &text);
		buf_free(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_text), cmocka_unit_test(test_generator), cmocka_unit_test(test_damaged)};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
