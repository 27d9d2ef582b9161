/* The bytes of a log: unpacked, decoded and cleaned, in pieces of any size; bombs and broken archives end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "logs/clean.h"
#include "logs/input.h"

struct source {
	const unsigned char *p;
	size_t n, piece; /* what one read gives at most */
	int fail_at_end;
};

static ssize_t give(void *arg, void *p, size_t n)
{
	struct source *s = arg;
	if (s->n == 0)
		return s->fail_at_end;
	size_t k = s->n < n ? s->n : n;
	k = s->piece && k > s->piece ? s->piece : k;
	memcpy(p, s->p, k);
	s->p += k;
	s->n -= k;
	return (ssize_t)k;
}

/* All plain bytes; the problem, if any, in *ret_problem. */
static size_t read_all(struct source s, size_t step, char *out, size_t room, const char **ret_problem, const char **ret_packing)
{
	struct logs_input *in = logs_input_new(give, &s);
	size_t n = 0, got;
	while (n + step <= room && (got = logs_input_read(in, out + n, step)) > 0)
		n += got;
	if (ret_problem)
		*ret_problem = logs_input_problem(in);
	if (ret_packing)
		*ret_packing = logs_input_packing(in);
	logs_input_free(in);
	return n;
}

#define ROOM ((size_t)4 << 20)
static char out[ROOM], text[200000];

static int make_text(void **state)
{
	(void)state;
	for (size_t i = 0, line = 0; i + 40 < sizeof(text); line++)
		i += (size_t)snprintf(text + i, 40, "[rank%zu]: step %zu loss %zu\n", line % 8, line, line * 7919 % 1000);
	return 0;
}

static size_t pack_gzip(unsigned char *p, size_t room)
{
	z_stream z = {.next_in = (unsigned char *)text, .avail_in = (unsigned)strlen(text), .next_out = p, .avail_out = (unsigned)room};
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return z.total_out;
}

static size_t pack_xz(unsigned char *p, size_t room)
{
	size_t n = 0;
	assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, (const uint8_t *)text, strlen(text), p, &n, room), LZMA_OK);
	return n;
}

static size_t pack_zstd(unsigned char *p, size_t room)
{
	size_t n = ZSTD_compress(p, room, text, strlen(text), 3);
	assert_false(ZSTD_isError(n));
	return n;
}

static size_t (*const packers[])(unsigned char *, size_t) = {pack_gzip, pack_xz, pack_zstd};
static const char *const packings[] = {"gzip", "xz", "zstd"};

static void archives_in_pieces(void **state)
{
	static unsigned char packed[400000];
	static const size_t pieces[] = {0, 1, 7, 4096};
	(void)state;
	for (int k = 0; k < 3; k++) {
		size_t n = packers[k](packed, sizeof(packed));
		for (size_t i = 0; i < 4; i++) {
			const char *problem, *packing;
			size_t got = read_all((struct source){packed, n, pieces[i], 0}, i == 1 ? 64 : 65536, out, ROOM, &problem, &packing);
			assert_string_equal(packing, packings[k]);
			assert_null(problem);
			assert_int_equal(got, strlen(text));
			assert_memory_equal(out, text, got);
		}
	}
}

static void two_archives_in_a_row(void **state)
{
	static unsigned char packed[400000];
	(void)state;
	for (int k = 0; k < 3; k += 2) { /* gzip and zstd are concatenated by rotation */
		size_t a = packers[k](packed, sizeof(packed)), b = packers[k](packed + a, sizeof(packed) - a);
		assert_int_equal(read_all((struct source){packed, a + b, 1000, 0}, 65536, out, ROOM, NULL, NULL), 2 * strlen(text));
	}
}

static void cut_and_broken_archives(void **state)
{
	static unsigned char packed[400000];
	(void)state;
	for (int k = 0; k < 3; k++) {
		const char *problem;
		size_t n = packers[k](packed, sizeof(packed));
		size_t got = read_all((struct source){packed, n / 2, 0, 0}, 4096, out, ROOM, &problem, NULL);
		assert_non_null(problem);
		assert_true(got < strlen(text));
		assert_memory_equal(out, text, got);
		memset(packed + n / 2, 0xa5, n / 4);
		got = read_all((struct source){packed, n, 0, 0}, 4096, out, ROOM, &problem, NULL);
		assert_non_null(problem);
		assert_true(got <= strlen(text) + 65536);
	}
}

static void failing_source(void **state)
{
	const char *problem;
	(void)state;
	assert_int_equal(read_all((struct source){(const unsigned char *)text, 1000, 0, -5}, 4096, out, ROOM, &problem, NULL), 1000);
	assert_string_equal(problem, "reading failed");
}

static void utf16(void **state)
{
	static const char want[] = "rank 3: \xe5\x86\x85\xe5\xad\x98 \xf0\x9f\x98\x80 ok\n";
	static const uint16_t units[] = {'r', 'a', 'n', 'k', ' ', '3', ':', ' ', 0x5185, 0x5b58, ' ', 0xd83d, 0xde00, ' ', 'o', 'k', '\n'};
	static unsigned char bytes[2][200000];
	size_t count = sizeof(units) / sizeof(units[0]), n = 0;
	(void)state;
	for (int with_mark = 1; with_mark >= 0; with_mark--) {
		n = 0;
		if (with_mark) {
			bytes[0][0] = 0xff, bytes[0][1] = 0xfe, bytes[1][0] = 0xfe, bytes[1][1] = 0xff;
			n = 2;
		}
		for (int repeat = 0; repeat < 3000; repeat++)
			for (size_t i = 0; i < count; i++, n += 2) {
				bytes[0][n] = (unsigned char)units[i], bytes[0][n + 1] = (unsigned char)(units[i] >> 8);
				bytes[1][n] = (unsigned char)(units[i] >> 8), bytes[1][n + 1] = (unsigned char)units[i];
			}
		for (int big = 0; big < 2; big++)
			for (size_t piece = 0; piece < 8; piece += 7) {
				size_t got = read_all((struct source){bytes[big], n, piece, 0}, piece ? 100 : 65536, out, ROOM, NULL, NULL),
				       width = sizeof(want) - 1;
				assert_int_equal(got, 3000 * width);
				for (size_t i = 0; i < 3000; i++)
					assert_memory_equal(out + i * width, want, width);
			}
	}
}

static void utf8_mark(void **state)
{
	(void)state;
	assert_int_equal(read_all((struct source){(const unsigned char *)"\xef\xbb\xbfrank", 7, 0, 0}, 4096, out, ROOM, NULL, NULL), 4);
	assert_memory_equal(out, "rank", 4);
	assert_int_equal(
		read_all((struct source){(const unsigned char *)"\xef\xbb\xbfrank", 7, 1, 0}, 4096, out, ROOM, NULL, NULL) >= 4, 1);
}

/* A few bytes that unpack to sixteen gigabytes. */
static void bombs_end(void **state)
{
	enum { BLOCK = 1 << 20 };
	static char zeros[BLOCK];
	unsigned char *packed = malloc(64 << 20);
	ZSTD_CCtx *c = ZSTD_createCCtx();
	ZSTD_outBuffer o = {packed, 64 << 20, 0};
	const char *problem;
	uint64_t total = 0;
	size_t got;
	(void)state;
	assert_non_null(packed);
	for (int i = 0; i < 6000; i++) {
		ZSTD_inBuffer in = {zeros, BLOCK, 0};
		while (in.pos < in.size)
			assert_false(ZSTD_isError(ZSTD_compressStream2(c, &o, &in, ZSTD_e_continue)));
	}
	ZSTD_inBuffer none = {zeros, 0, 0};
	ZSTD_compressStream2(c, &o, &none, ZSTD_e_end);
	struct source s = {packed, o.pos, 0, 0};
	struct logs_input *in = logs_input_new(give, &s);
	while ((got = logs_input_read(in, out, ROOM)) > 0)
		total += got;
	problem = logs_input_problem(in);
	assert_non_null(problem);
	assert_true(total < (uint64_t)3 << 30);
	logs_input_free(in);
	ZSTD_freeCCtx(c);
	free(packed);
}

/* -- cleaning ------------------------------------------------------------------------------------------------------------ */

static void expect_clean(const char *from, const char *to)
{
	static char room[4096];
	size_t n = clean_text(from, strlen(from), room);
	room[n] = 0;
	const char *got = room;
	while (*got == '\r') /* an empty record in front does no harm */
		got++;
	assert_string_equal(got, to);
	assert_true(n <= strlen(from));
}

static void cleaning(void **state)
{
	struct clean_habit none = {false};
	(void)state;
	expect_clean("\033[31mred\033[0m text\n", "red text\n");
	expect_clean("\033]0;title\007text\n", "text\n");
	expect_clean("a &lt;b&gt; &amp;&quot;c&quot; &#39;d&#39;&nbsp;e\n", "a <b> &\"c\" 'd' e\n");
	expect_clean("AT&T & co\n", "AT&T & co\n");
	expect_clean("^[[1mbold^[[0m\n", "bold\n");
	expect_clean("\\u001b[31mred\\u001b[0m\n", "red\n");
	expect_clean("{\"log\":\"Connection refused\\n\",\"stream\":\"stderr\",\"time\":\"2026-01-05T10:11:12Z\"}\n",
		"2026-01-05T10:11:12Z Connection refused\n");
	expect_clean(
		"{\"MESSAGE\":\"NVRM: Xid\",\"_HOSTNAME\":\"n7\",\"__REALTIME_TIMESTAMP\":\"1767607872000000\",\"SYSLOG_IDENTIFIER\":\"kernel\"}\n",
		"2026-01-05T10:11:12 n7 kernel: NVRM: Xid\n");
	expect_clean("{\"MESSAGE\":[27,91,51,49,109,79,79,77,27,91,48,109],\"_HOSTNAME\":\"n7\"}\n", "OOM\n");
	expect_clean("{\"MESSAGE\":[9999,1,\n", "\n");
	expect_clean("{\"level\": \"error\", \"message\": \"two\\nlines\"}\n", "two\rlines\n");
	expect_clean("{\"log\":\"\\u5185\\u5b58 \\\"x\\\"\\n\"}\n", "\xe5\x86\x85\xe5\xad\x98 \"x\"\n");
	expect_clean("ends in an escape \033[", "ends in an escape ");
	expect_clean("{\"log\":\"unfinished", "unfinished");
	assert_false(clean_needed(&none, "plain text, 100 % of it\n", 24));
	assert_true(clean_needed(&none, "a &lt; b\n", 9));
	assert_true(clean_needed(&none, "nul \0 byte\n", 11));
	assert_int_equal(clean_count_lines("a\nb\n\nc", 6), 3);
	assert_int_equal(clean_count_lines(text, strlen(text)) > 4000, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(archives_in_pieces),
		cmocka_unit_test(two_archives_in_a_row),
		cmocka_unit_test(cut_and_broken_archives),
		cmocka_unit_test(failing_source),
		cmocka_unit_test(utf16),
		cmocka_unit_test(utf8_mark),
		cmocka_unit_test(bombs_end),
		cmocka_unit_test(cleaning),
	};
	return cmocka_run_group_tests(tests, make_text, NULL);
}
