#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "host/host.h"
#include "parse/elf_digest.h"

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

/* The bytes of a seed of the fuzzers: fuzz/corpus/NAME. */
static struct str seed(const char *name)
{
	struct str bytes = str_n("", 0);
	const char *source = host_env(host, "DAVY_SOURCE");
	const char *cwd = host_cwd(host);
	assert_int_equal(host_read(host, arena_printf(arena, "%s/fuzz/corpus/%s", source ? source : cwd, name), 0, &bytes), 0);
	return bytes;
}

static struct elf_digest digest(struct str bytes, unsigned what)
{
	struct parse_source source = parse_source_of(&bytes);
	struct buf text = BUF_MAX(65536);
	struct elf_digest d = ELF_DIGEST_NONE;
	assert_int_equal(parse_elf_digest_make(&source, what, &text), 0);
	parse_elf_digest_read(arena, buf_view(&text), &d);
	buf_free(&text);
	return d;
}

static void test_library(void **state)
{
	(void)state;
	struct elf_digest d = digest(seed("elf/lib"), ELF_DIGEST_LINK | ELF_DIGEST_CODE);
	assert_null(d.problem);
	assert_string_equal(d.machine, "x86_64");
	assert_string_equal(d.soname, "libnccl.so.2");
	assert_int_equal(d.needed_count, 1);
	assert_string_equal(d.needed[0], "libc.so.6");
	assert_string_equal(d.runpath, "$ORIGIN/x");
	assert_null(d.rpath);
	assert_int_equal(d.verdef_count, 2);
	assert_true(parse_elf_digest_has_verdef(&d, "DAVY_2"));
	assert_true(parse_elf_digest_defines(&d, "ncclGetVersion"));
	assert_false(parse_elf_digest_defines(&d, "ncclCommRegister"));
	assert_true(parse_elf_digest_mentions(&d, "ncclCommRegister"));
	assert_true(parse_elf_digest_mentions(&d, "c10d::ProcessGroupNCCL"));
	assert_false(parse_elf_digest_mentions(&d, "c10d::ProcessGroupGloo"));
	assert_string_equal(d.nccl, "2.28.9");
	assert_string_equal(d.nccl_cuda, "13.0");
	assert_int_equal(d.code_count, 6);
	assert_string_equal(d.codes[2].name, "sm_90a");
	assert_string_equal(d.codes[4].name, "compute_90");
	assert_string_equal(d.codes[4].ptx_isa, "9.0");
}

/* Without section headers the segments and the dynamic section must do. */
static void test_stripped(void **state)
{
	(void)state;
	struct elf_digest d = digest(seed("elf/stripped"), ELF_DIGEST_LINK | ELF_DIGEST_CODE);
	assert_null(d.problem);
	assert_string_equal(d.soname, "libnccl.so.2");
	assert_true(parse_elf_digest_defines(&d, "ncclGetVersion"));
	assert_string_equal(d.nccl, "2.28.9");
	assert_int_equal(d.code_count, 6);
}

/* The constant in ncclGetVersion serves when the string is not there. */
static void test_version_constant(void **state)
{
	(void)state;
	struct str bytes = seed("elf/lib");
	char *copy = arena_strndup(arena, bytes.ptr, bytes.len);
	char *mark = memmem(copy, bytes.len, "NCCL version", 12);
	assert_non_null(mark);
	*mark = 'X';
	struct elf_digest d = digest(str_n(copy, bytes.len), ELF_DIGEST_LINK);
	assert_string_equal(d.nccl, "2.28.9");
	assert_null(d.nccl_cuda);
}

static void test_problems(void **state)
{
	(void)state;
	struct str lib = seed("elf/lib");
	assert_string_equal(digest(str_n("", 0), 1).problem, "empty");
	assert_string_equal(digest(seed("elf/lfs"), 1).problem, "lfs-pointer");
	assert_string_equal(digest(STR("GROUP ( /lib/x86_64-linux-gnu/libc.so.6 )"), 1).problem, "not-elf");
	assert_string_equal(digest(str_slice(lib, 0, 10), 1).problem, "truncated");
	assert_string_equal(digest(str_slice(lib, 0, lib.len / 2), 1).problem, "truncated");
	assert_string_equal(digest(str_slice(lib, 0, lib.len - 1), 1).problem, "truncated");
	char *copy = arena_strndup(arena, lib.ptr, lib.len);
	copy[4] = 1; /* 32-bit */
	struct elf_digest d = digest(str_n(copy, lib.len), 1);
	assert_string_equal(d.problem, "wrong-machine");
	assert_true(d.is_32bit);
	copy[4] = 2;
	copy[18] = (char)183;
	d = digest(str_n(copy, lib.len), 1);
	assert_null(d.problem);
	assert_string_equal(d.machine, "aarch64");
}

static void test_fat_binaries(void **state)
{
	(void)state;
	struct str bytes = seed("fatbin/two");
	struct parse_source source = parse_source_of(&bytes);
	struct elf_section section = {.name = ".nv_fatbin", .type = 1, .size = bytes.len};
	struct elf e = {.source = &source, .bits = 64, .machine = ELF_X86_64, .sections = &section, .section_count = 1};
	static struct fatbin f;
	assert_int_equal(parse_fatbin(&e, &f), 0);
	assert_int_equal(f.containers, 2);
	assert_int_equal(f.entries, 7);
	assert_false(f.damaged);
	assert_string_equal(f.codes[0].name, "sm_80");
	assert_int_equal(f.codes[0].entries, 1); /* and the stub of the device link */
	assert_int_equal(f.codes[0].stubs, 1);
	bytes = seed("fatbin/hip");
	source.size = section.size = bytes.len;
	section.name = ".hip_fatbin";
	assert_int_equal(parse_fatbin(&e, &f), 0);
	assert_int_equal(f.code_count, 1);
	assert_string_equal(f.codes[0].name, "gfx942");
	struct fatbin_job jobs[3];
	static struct fatbin results[3];
	for (size_t i = 0; i < 3; i++)
		jobs[i] = (struct fatbin_job){.elf = &e, .ret = &results[i], .error = -1};
	parse_fatbin_many(jobs, 3, 2);
	for (size_t i = 0; i < 3; i++)
		assert_true(jobs[i].error == 0 && results[i].code_count == 1);
}

static void test_written_digest(void **state)
{
	(void)state;
	struct elf_digest d = ELF_DIGEST_NONE;
	parse_elf_digest_read(arena,
		STR("# by hand\nsoname libtorch_python.so\nneeded libc10.so\nneeded libtorch cpu.so\nverneed libc.so.6 GLIBC_2.9\n"
		    "verneed libc.so.6 GLIBC_2.34 weak\nsass sm_90\nptx compute_90 8.4\nptx compute_80 7.0 12\nundefined c10d::ProcessGroupNCCL\nstring ProcessGroupNCCL\n"
		    "cxx11 0\nnumpy_abi 1\nnccl 2.20.5 cuda 12.4\nmystery 1\nproblem\n"),
		&d);
	assert_string_equal(d.needed[1], "libtorch cpu.so");
	assert_string_equal(parse_elf_digest_highest_need(&d, "GLIBC_"), "2.34");
	assert_true(d.needs[1].weak && !d.needs[0].weak);
	assert_int_equal(d.code_count, 3);
	assert_string_equal(d.codes[1].ptx_isa, "8.4");
	assert_int_equal(d.codes[2].entries, 12);
	assert_true(parse_elf_digest_has_string(&d, "ProcessGroupNCCL"));
	assert_int_equal(d.cxx11, 0);
	assert_int_equal(d.numpy_abi, 1);
	assert_string_equal(d.nccl_cuda, "12.4");
	assert_null(d.problem);
}

static void test_name_versions(void **state)
{
	(void)state;
	char v[32];
	assert_true(parse_elf_version_of_name("/x/libcudart.so.12.4.127", v));
	assert_string_equal(v, "12.4.127");
	assert_false(parse_elf_version_of_name("/x/libnccl.so.2", v));
	assert_false(parse_elf_version_of_name("/x.so.1.2/libnccl.so", v));
	assert_false(parse_elf_version_of_name("/x/liba.so.1.x", v));
}

/* This test program itself: whatever compiler and linker made it. */
static int pread_host(void *arg, uint64_t off, void *p, size_t n)
{
	return host_file_pread(arg, off, p, n);
}

static void test_self(void **state)
{
	(void)state;
	struct host_file *file;
	const char *self;
	assert_int_equal(host_realpath(host, "/proc/self/exe", &self), 0);
	assert_int_equal(host_file_open(host, self, &file), 0);
	struct parse_source source = {pread_host, file, host_file_size(file)};
	struct elf e;
	assert_int_equal(parse_elf_open(arena, &source, &e), 0);
	assert_null(parse_elf_problem_name(e.problem));
	assert_int_equal(parse_elf_symbols(&e), 0);
	assert_non_null(parse_elf_section(&e, ".text"));
	struct elf_symbol sym;
	if (e.symbol_count)
		assert_false(parse_elf_find_symbol(&e, "no_such_symbol", true, &sym));
	host_file_close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_library),
		cmocka_unit_test(test_stripped),
		cmocka_unit_test(test_version_constant),
		cmocka_unit_test(test_problems),
		cmocka_unit_test(test_fat_binaries),
		cmocka_unit_test(test_written_digest),
		cmocka_unit_test(test_name_versions),
		cmocka_unit_test(test_self),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
