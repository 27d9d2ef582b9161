/* Raw deflate data at any offset, beside the bytes it was made of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <zlib.h>

#include "parse/inflate.h"
#include "parse/wheel.h"

#define SIZE ((size_t)20 << 20)

static unsigned char *plain, *packed;
static size_t packed_n;

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Parts that compress well, parts that do not at all, and parts between. */
static int setup(void **state)
{
	(void)state;
	uint32_t r = 1;
	plain = malloc(SIZE);
	packed = malloc(SIZE * 2);
	for (size_t i = 0; i < SIZE; i++)
		plain[i] = (i >> 20) % 3 == 0 ? (unsigned char)next_random(&r)
			: (i >> 20) % 3 == 1  ? (unsigned char)("abcdefgh"[next_random(&r) % 8])
					      : (unsigned char)(i / 1000);
	z_stream z = {0};
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = plain;
	z.avail_in = (uInt)SIZE;
	z.next_out = packed;
	z.avail_out = (uInt)(SIZE * 2);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	packed_n = z.total_out;
	deflateEnd(&z);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(plain);
	free(packed);
	return 0;
}

static void test_random_access(void **state)
{
	(void)state;
	struct str bytes = str_n((char *)packed, packed_n);
	struct parse_source source = parse_source_of(&bytes);
	struct inflate_stream *s = parse_inflate_open(&source, 0, packed_n, SIZE);
	unsigned char *got = malloc(SIZE);
	uint32_t crc, r = 7;
	assert_false(parse_inflate_crc(s, &crc));
	assert_int_equal(parse_inflate_pread(s, SIZE - 100, got, 100), 0); /* the end first */
	assert_memory_equal(got, plain + SIZE - 100, 100);
	for (int i = 0; i < 60; i++) {
		size_t at = next_random(&r) % (SIZE - 5000), n = next_random(&r) % 5000;
		assert_int_equal(parse_inflate_pread(s, at, got, n), 0);
		assert_memory_equal(got, plain + at, n);
	}
	assert_int_equal(parse_inflate_pread(s, 0, got, SIZE), 0);
	assert_memory_equal(got, plain, SIZE);
	assert_true(parse_inflate_crc(s, &crc));
	assert_int_equal(crc, crc32(0, plain, (uInt)SIZE));
	assert_int_equal(parse_inflate_pread(s, SIZE - 1, got, 2), -ENODATA);
	parse_inflate_close(s);
	free(got);
}

static void test_wrong_sizes(void **state)
{
	(void)state;
	struct str bytes = str_n((char *)packed, packed_n);
	struct parse_source source = parse_source_of(&bytes);
	char last;
	/* One byte less or more than there is, and data that is cut. */
	struct inflate_stream *s = parse_inflate_open(&source, 0, packed_n, SIZE - 1);
	assert_int_equal(parse_inflate_pread(s, SIZE - 2, &last, 1), -EBADMSG);
	parse_inflate_close(s);
	s = parse_inflate_open(&source, 0, packed_n, SIZE + 1);
	assert_int_equal(parse_inflate_pread(s, SIZE, &last, 1), -EBADMSG);
	parse_inflate_close(s);
	s = parse_inflate_open(&source, 0, packed_n / 2, SIZE);
	assert_int_equal(parse_inflate_pread(s, SIZE - 1, &last, 1), -EBADMSG);
	assert_int_equal(parse_inflate_pread(s, 5, &last, 1), 0);
	assert_int_equal(last, (char)plain[5]);
	parse_inflate_close(s);
}

/* Going back and forth between the ends is refused at some time, and never wrong. */
static void test_bounded_work(void **state)
{
	(void)state;
	struct str bytes = str_n((char *)packed, packed_n);
	struct parse_source source = parse_source_of(&bytes);
	struct inflate_stream *s = parse_inflate_open(&source, 0, packed_n, SIZE);
	char c;
	int rc = 0;
	for (int i = 0; i < 10000 && rc == 0; i++)
		rc = parse_inflate_pread(s, i % 2 ? 3 << 20 : SIZE - 1, &c, 1);
	assert_int_equal(rc, -EFBIG);
	parse_inflate_close(s);
}

static void test_names(void **state)
{
	(void)state;
	struct wheel_name n;
	struct wheel_target t = {.minor = 11, .arch = "x86_64", .libc_major = 2, .libc_minor = 17},
			    musl = {.minor = 13, .free_threaded = true, .arch = "aarch64", .musl = true, .libc_major = 1, .libc_minor = 2};
	static const char *const bad[] = {"a.whl", "a-1.0-py3-none.whl", "a-1.0-x-py3-none-any.whl", "a-one-py3-none-any.whl",
		"a-1.0-py3-none-any.zip", "a--py3-none-any.whl", "a b-1.0-py3-none-any.whl", "-1-py3-none-any.whl"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(parse_wheel_name(str_of(bad[i]), &n), -EINVAL);
	assert_int_equal(parse_wheel_name(STR("torch-2.7.1+cu128-1-cp311-cp311-manylinux_2_28_x86_64.whl"), &n), 0);
	assert_true(str_is(n.build, "1") && str_is(n.version, "2.7.1+cu128") && str_is(n.platform, "manylinux_2_28_x86_64"));
	assert_int_equal(parse_wheel_fits(n.python, n.abi, n.platform, &t), WHEEL_OTHER_LIBC_VERSION);
	assert_int_equal(parse_wheel_fits(STR("cp310"), STR("cp310"), STR("manylinux2014_x86_64"), &t), WHEEL_OTHER_PYTHON);
	assert_int_equal(parse_wheel_fits(STR("cp39"), STR("abi3"), STR("manylinux2014_x86_64.linux_x86_64"), &t), WHEEL_FITS);
	assert_int_equal(parse_wheel_fits(STR("cp311"), STR("cp311"), STR("musllinux_1_2_x86_64"), &t), WHEEL_OTHER_LIBC);
	assert_int_equal(parse_wheel_fits(STR("cp311"), STR("cp311"), STR("win_amd64"), &t), WHEEL_OTHER_SYSTEM);
	assert_int_equal(parse_wheel_fits(STR("cp313"), STR("cp313t"), STR("musllinux_1_2_aarch64"), &musl), WHEEL_FITS);
	assert_int_equal(parse_wheel_fits(STR("cp313"), STR("cp313"), STR("musllinux_1_2_aarch64"), &musl), WHEEL_OTHER_ABI);
	assert_int_equal(parse_wheel_fits(STR("cp313"), STR("cp313t"), STR("musllinux_1_3_aarch64"), &musl), WHEEL_OTHER_LIBC_VERSION);
	assert_int_equal(parse_wheel_fits(STR("pp310"), STR("pypy310_pp73"), STR("any"), &t), WHEEL_OTHER_IMPLEMENTATION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_access), cmocka_unit_test(test_wrong_sizes),
		cmocka_unit_test(test_bounded_work), cmocka_unit_test(test_names)};
	return cmocka_run_group_tests(tests, setup, teardown);
}
