/* The loader's rules on snapshots written here: one for each rule. tests/cli/loader.bats compares with the real ld.so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/ldso.h"

static struct arena *arena;
static char dir[64];
static struct host *host;
static struct ldso *ldso;

static void put(const char *path, const char *text)
{
	char full[512];
	snprintf(full, sizeof full, "%s/%s", dir, path);
	for (char *p = full + strlen(dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(full, 0755);
		*p = '/';
	}
	FILE *f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void lib(const char *path, const char *digest)
{
	char full[512];
	snprintf(full, sizeof full, "digests/elf%s", path);
	put(full, *digest ? digest : "machine x86_64\n");
}

static int set_up(void **state)
{
	(void)state;
	arena = arena_new(0);
	snprintf(dir, sizeof dir, "/tmp/davy-test-ldso-XXXXXX");
	assert_non_null(mkdtemp(dir));
	lib("/lib64/ld-linux-x86-64.so.2", "machine x86_64\nsoname ld-linux-x86-64.so.2\n");
	lib("/lib/x86_64-linux-gnu/libc.so.6",
		"machine x86_64\nsoname libc.so.6\nneeded ld-linux-x86-64.so.2\nverdef GLIBC_2.34\nverdef GLIBC_2.37\n");
	put("files/proc/cpuinfo", "flags\t\t: cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3 avx avx2 bmi1 bmi2 f16c fma abm movbe xsave\n");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	host_close(host);
	host = NULL;
	arena_free(arena);
	char *const argv[] = {(char[]){"rm"}, (char[]){"-rf"}, dir, NULL};
	pid_t pid = fork();
	if (pid == 0)
		execvp("rm", argv);
	waitpid(pid, NULL, 0);
	return 0;
}

static void start(const char *index, const char *program)
{
	const char *why = NULL,
		   *text = arena_printf(
			   arena, "davy-snapshot 1\nuname Linux node 6.1.0 #1 x86_64\ncwd /home/u\nenv PATH=/usr/bin\n%s", index);
	put("davy-snapshot.txt", text);
	assert_int_equal(host_open_replay(arena, dir, &host, &why), 0);
	ldso = collect_ldso_new(arena, host);
	assert_int_equal(collect_ldso_program(ldso, program), 0);
}

/* Where a name was found and by which rule, "PATH RULE", of the first request by `from` (any when NULL). */
static const char *where(const char *name)
{
	struct ldso_result r = collect_ldso_result(ldso);
	for (size_t i = 0; i < r.want_count; i++)
		if (strcmp(r.wants[i].name, name) == 0)
			return r.wants[i].to < 0 ? "missing"
						 : arena_printf(arena, "%s %s", r.objects[r.wants[i].to].path, r.wants[i].found_by);
	return "never wanted";
}

#define WHERE(name, expected) assert_string_equal(where(name), expected)

static void five_copies(void)
{
	lib("/rp/libq.so", "machine x86_64\nsoname libq.so\n");
	lib("/ll/libq.so", "machine x86_64\nsoname libq.so\n");
	lib("/cache/libq.so", "machine x86_64\nsoname libq.so\n");
	lib("/usr/lib/x86_64-linux-gnu/libq.so", "machine x86_64\nsoname libq.so\n");
	lib("/pre/libq.so", "machine x86_64\nsoname libq.so\n");
	put("digests/ldcache/etc/ld.so.cache", "i386 - libq.so /lib32/libq.so\nx86_64 - libq.so /cache/libq.so\n");
}

static void test_rpath_before_library_path(void **state)
{
	(void)state;
	five_copies();
	lib("/bin/p", "machine x86_64\nneeded liba.so\nneeded libc.so.6\nrpath /exe\n");
	lib("/exe/liba.so", "machine x86_64\nneeded libq.so\nrpath $ORIGIN/../rp\n");
	start("env LD_LIBRARY_PATH=/ll\n", "/bin/p");
	WHERE("libq.so", "/rp/libq.so rpath");
	WHERE("liba.so", "/exe/liba.so rpath");
	WHERE("libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6 default");
	WHERE("ld-linux-x86-64.so.2", "/lib64/ld-linux-x86-64.so.2 loaded");
}

static void test_library_path_before_runpath(void **state)
{
	(void)state;
	five_copies();
	lib("/bin/p", "machine x86_64\nneeded liba.so\nrpath /exe:/rp\n");
	lib("/exe/liba.so", "machine x86_64\nneeded libq.so\nrpath /rp\nrunpath ${ORIGIN}/../rp\n");
	start("env LD_LIBRARY_PATH=/ll\n", "/bin/p");
	WHERE("libq.so", "/ll/libq.so ld_library_path"); /* a RUNPATH switches every RPATH off */
}

static void test_runpath_is_not_inherited(void **state)
{
	(void)state;
	five_copies();
	lib("/bin/p", "machine x86_64\nneeded liba.so\nrunpath /exe:/rp\n");
	lib("/exe/liba.so", "machine x86_64\nneeded libq.so\n");
	start("", "/bin/p");
	WHERE("liba.so", "/exe/liba.so runpath");
	WHERE("libq.so", "/cache/libq.so ld_so_cache");
}

static void test_rpath_is_inherited(void **state)
{
	(void)state;
	five_copies();
	lib("/bin/p", "machine x86_64\nneeded liba.so\nrpath /exe:/rp\n");
	lib("/exe/liba.so", "machine x86_64\nneeded libq.so\n");
	start("", "/bin/p");
	WHERE("libq.so", "/rp/libq.so rpath");
}

static void test_preload_wins(void **state)
{
	(void)state;
	five_copies();
	lib("/bin/p", "machine x86_64\nneeded libq.so\nrpath /rp\n");
	start("env LD_PRELOAD=/pre/libq.so:/none.so\n", "/bin/p");
	struct ldso_result r = collect_ldso_result(ldso);
	assert_int_equal(r.wants[0].from, -1);
	assert_string_equal(r.wants[0].found_by, "preload");
	assert_int_equal(r.wants[1].to, -1); /* /none.so */
	WHERE("libq.so", "/pre/libq.so loaded");
}

static void test_defaults_and_nodeflib(void **state)
{
	(void)state;
	five_copies();
	put("digests/ldcache/etc/ld.so.cache", "x86_64 - libq.so /usr/lib/x86_64-linux-gnu/libq.so\n");
	lib("/bin/p", "machine x86_64\nneeded libq.so\nnodeflib 1\n");
	start("", "/bin/p");
	WHERE("libq.so", "missing");
}

/* Without a cache in the snapshot the directories that ldconfig would have read. */
static void test_conf(void **state)
{
	(void)state;
	lib("/opt/x/libq.so", "");
	put("files/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n");
	put("files/etc/ld.so.conf.d/x.conf", "# comment\n/opt/x\n");
	lib("/bin/p", "machine x86_64\nneeded libq.so\n");
	start("", "/bin/p");
	WHERE("libq.so", "/opt/x/libq.so ld_so_cache");
}

static void test_hwcaps(void **state)
{
	(void)state;
	lib("/ll/libq.so", "");
	lib("/ll/glibc-hwcaps/x86-64-v2/libq.so", "");
	lib("/ll/glibc-hwcaps/x86-64-v3/libq.so", "");
	lib("/ll/glibc-hwcaps/x86-64-v4/libq.so", ""); /* more than this processor has */
	lib("/a/libr.so", "");
	lib("/a/v3/libr.so", "");
	put("digests/ldcache/etc/ld.so.cache",
		"x86_64 - libr.so /a/libr.so\nx86_64 x86-64-v4 libr.so /none/libr.so\nx86_64 x86-64-v3 libr.so /a/v3/libr.so\n");
	lib("/bin/p", "machine x86_64\nneeded libq.so\nneeded libr.so\n");
	start("env LD_LIBRARY_PATH=/ll\n", "/bin/p");
	WHERE("libq.so", "/ll/glibc-hwcaps/x86-64-v3/libq.so ld_library_path");
	WHERE("libr.so", "/a/v3/libr.so ld_so_cache");
}

static void test_wrong_files(void **state)
{
	(void)state;
	lib("/one/libq.so", "machine aarch64\n");
	lib("/two/libq.so", "class 32\nmachine i386\nproblem wrong-machine\n");
	lib("/three/libq.so", "machine x86_64\n");
	lib("/one/libr.so", "problem lfs-pointer\n");
	lib("/two/libr.so", "machine x86_64\n");
	lib("/bin/p", "machine x86_64\nneeded libq.so\nneeded libr.so\nneeded libs.so\n");
	start("env LD_LIBRARY_PATH=/one:/two;/three\n", "/bin/p");
	WHERE("libq.so", "/three/libq.so ld_library_path"); /* another machine or class: passed over */
	WHERE("libr.so", "/one/libr.so ld_library_path");   /* no ELF file: the loader gives up there */
	WHERE("libs.so", "missing");
	struct ldso_result r = collect_ldso_result(ldso);
	int found = 0;
	for (size_t i = 0; i < r.object_count; i++)
		found += r.objects[i].problem && strcmp(r.objects[i].problem, "lfs-pointer") == 0;
	assert_int_equal(found, 1);
}

static void test_same_file_twice(void **state)
{
	(void)state;
	lib("/ll/libreal.so.1", "machine x86_64\nsoname libreal.so.1\n");
	lib("/bin/p", "machine x86_64\nneeded libalias.so\nneeded libreal.so.1\n");
	start("link /ll/libalias.so libreal.so.1\nenv LD_LIBRARY_PATH=/ll\n", "/bin/p");
	WHERE("libalias.so", "/ll/libalias.so ld_library_path");
	WHERE("libreal.so.1", "/ll/libalias.so loaded");
}

/* import torch: the wheel's RPATH leads to the wheel's NCCL; an older one in the process already comes first, and then a symbol is missing.
 */
static void torch_wheel(const char *nccl_path, const char *tag)
{
	static const char *const old = "machine x86_64\nsoname libnccl.so.2\ndefines ncclGetVersion\nnccl 2.18.3 cuda 12.1\n";
	lib("/usr/bin/python3", "machine x86_64\nneeded libc.so.6\nverneed libc.so.6 GLIBC_2.34\n");
	lib("/sp/torch/lib/libtorch_cuda.so",
		arena_printf(arena,
			"machine x86_64\nsoname libtorch_cuda.so\nneeded libnccl.so.2\nneeded libc.so.6\n"
			"verneed libc.so.6 GLIBC_2.38\n%s $ORIGIN/../../nvidia/nccl/lib:$ORIGIN\nundefined ncclGetVersion\nundefined ncclCommRegister\nundefined cuTensorMapEncodeTiled\n",
			tag));
	lib("/sp/nvidia/nccl/lib/libnccl.so.2",
		"machine x86_64\nsoname libnccl.so.2\ndefines ncclGetVersion\ndefines ncclCommRegister\nnccl 2.21.5 cuda 12.4\n");
	if (nccl_path)
		lib(nccl_path, old);
}

static size_t unmet(const char *symbol)
{
	struct ldso_result r = collect_ldso_result(ldso);
	size_t n = 0;
	for (size_t i = 0; i < r.unmet_count; i++)
		n += strcmp(r.unmet[i].symbol, symbol) == 0;
	return n;
}

static void test_torch_rpath(void **state)
{
	(void)state;
	torch_wheel("/old/libnccl.so.2", "rpath");
	start("env LD_LIBRARY_PATH=/old\n", "/usr/bin/python3");
	assert_true(collect_ldso_open(ldso, "/sp/torch/lib/libtorch_cuda.so", 0) > 0);
	WHERE("libnccl.so.2", "/sp/nvidia/nccl/lib/libnccl.so.2 rpath"); /* not to be shadowed; and the path has no .. */
	collect_ldso_check(ldso);
	assert_int_equal(unmet("ncclCommRegister"), 0);
	assert_int_equal(unmet("GLIBC_2.38"), 1);
	assert_int_equal(unmet("GLIBC_2.34"), 0);
	assert_int_equal(unmet("cuTensorMapEncodeTiled"), 0); /* no driver library: that is another fault */
}

static void test_torch_runpath_shadowed(void **state)
{
	(void)state;
	torch_wheel("/old/libnccl.so.2", "runpath");
	start("env LD_LIBRARY_PATH=/old\n", "/usr/bin/python3");
	assert_true(collect_ldso_open(ldso, "/sp/torch/lib/libtorch_cuda.so", 0) > 0);
	WHERE("libnccl.so.2", "/old/libnccl.so.2 ld_library_path");
	collect_ldso_check(ldso);
	assert_int_equal(unmet("ncclCommRegister"), 1);
}

static void test_torch_loaded_before(void **state)
{
	(void)state;
	torch_wheel("/old/libnccl.so.2", "rpath");
	start("", "/usr/bin/python3");
	assert_true(collect_ldso_open(ldso, "/old/libnccl.so.2", 0) > 0);
	assert_true(collect_ldso_open(ldso, "/sp/torch/lib/libtorch_cuda.so", 0) > 0);
	collect_ldso_check(ldso);
	assert_int_equal(unmet("ncclCommRegister"), 1);
	assert_int_equal(collect_ldso_open(ldso, "libnone.so", 0), -ENOENT);
	assert_int_equal(collect_ldso_find(ldso, "libnccl.so.2"), collect_ldso_find(ldso, "/old/libnccl.so.2"));
}

static void test_musl(void **state)
{
	(void)state;
	lib("/lib/ld-musl-x86_64.so.1", "machine x86_64\nsoname libc.musl-x86_64.so.1\n");
	lib("/usr/local/lib/libq.so", "");
	lib("/ll/libr.so", "");
	lib("/rp/libr.so", "");
	lib("/bin/p",
		"machine x86_64\ninterp /lib/ld-musl-x86_64.so.1\nneeded libq.so\nneeded libr.so\nneeded libc.so.6\nneeded libc.musl-x86_64.so.1\nrunpath /rp\n");
	start("env LD_LIBRARY_PATH=/ll\n", "/bin/p");
	WHERE("libq.so", "/usr/local/lib/libq.so default");
	WHERE("libr.so", "/ll/libr.so ld_library_path");
	WHERE("libc.musl-x86_64.so.1", "/lib/ld-musl-x86_64.so.1 loaded");
	assert_true(collect_ldso_result(ldso).musl);
}

/* A snapshot of this machine gives the same answers as the machine. */
static void test_replay_is_record(void **state)
{
	(void)state;
	const char *why = NULL, *out = arena_printf(arena, "%s/snapshot", dir), *program = "/bin/sh";
	struct ldso_result live, again;
	assert_int_equal(host_open_live(arena, NULL, &host), 0);
	host_record(host);
	struct ldso *first = collect_ldso_new(arena, host);
	assert_int_equal(collect_ldso_program(first, program), 0);
	collect_ldso_open(first, "libstdc++.so.6", 0);
	collect_ldso_open(first, "libnone.so", 0);
	assert_int_equal(host_snapshot_write(host, out, false, &why), 0);
	host_close(host);
	assert_int_equal(host_open_replay(arena, out, &host, &why), 0);
	ldso = collect_ldso_new(arena, host);
	assert_int_equal(collect_ldso_program(ldso, program), 0);
	collect_ldso_open(ldso, "libstdc++.so.6", 0);
	collect_ldso_open(ldso, "libnone.so", 0);
	live = collect_ldso_result(first);
	again = collect_ldso_result(ldso);
	assert_int_equal(live.object_count, again.object_count);
	assert_int_equal(live.want_count, again.want_count);
	assert_false(again.uncertain);
	for (size_t i = 0; i < live.object_count; i++) {
		assert_string_equal(live.objects[i].path, again.objects[i].path);
		assert_string_equal(live.objects[i].found_by, again.objects[i].found_by);
		assert_int_equal(live.objects[i].elf.need_count, again.objects[i].elf.need_count);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(test_rpath_before_library_path),
		T(test_library_path_before_runpath),
		T(test_runpath_is_not_inherited),
		T(test_rpath_is_inherited),
		T(test_preload_wins),
		T(test_defaults_and_nodeflib),
		T(test_conf),
		T(test_hwcaps),
		T(test_wrong_files),
		T(test_same_file_twice),
		T(test_torch_rpath),
		T(test_torch_runpath_shadowed),
		T(test_torch_loaded_before),
		T(test_musl),
		T(test_replay_is_record),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
