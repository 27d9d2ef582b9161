/* What changed between two attempts, what a command would run, what a log keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "act/history_diff.h"
#include "act/run_log.h"
#include "act/run_program.h"
#include "parse/unpack.h"

static struct arena *arena;

static struct history_thing *compare(const char *before, const char *after, const struct history_about *about, size_t *count)
{
	return history_compare(arena, before, after, about, count);
}

static void test_values(void **state)
{
	(void)state;
	size_t n;
	struct history_thing *t = compare(
		"limit[nofile].soft = 1024\nsystem.kernel = 6.1\n", "limit[nofile].soft = 65536\nsystem.kernel = 6.1\n", NULL, &n);
	assert_int_equal(n, 1);
	assert_string_equal(t->group, "limit");
	assert_string_equal(t->name, "nofile");
	assert_string_equal(t->changes->before, "1024");
	assert_string_equal(t->changes->after, "65536");
	assert_null(compare("a.b = c\n", "a.b = c\n", NULL, &n));
	assert_int_equal(n, 0);
	assert_null(compare("", "", NULL, &n));
	/* Lines that are none are no change. */
	assert_null(compare("nonsense\n[\na[b = c\n", "", NULL, &n));
	/* Keys and values with signs of the grammar in them. */
	t = compare("variable[A].value = x = y\n", "variable[A].value = x = z\n", NULL, &n);
	assert_string_equal(t->changes->after, "x = z");
}

/* What is not known on one side is no change; a row that is not there is one. */
static void test_unknown(void **state)
{
	(void)state;
	size_t n;
	assert_null(compare("gpu[0].name = H100\n", "gpu[0].name = H100\ngpu[0].uuid = GPU-1\n", NULL, &n));
	assert_null(compare("gpu[0].uuid = GPU-1\ngpu[0].name = H100\n", "gpu[0].name = H100\n", NULL, &n));
	assert_null(compare("driver[nvidia].version = (unknown: denied)\n", "driver[nvidia].version = 580\n", NULL, &n));
	compare("gpu[0].name = H100\ngpu[1].name = H100\n", "gpu[0].name = H100\n", NULL, &n);
	assert_int_equal(n, 1);
	compare("variable[A].value = 1\n", "variable[B].value = 1\n", NULL, &n);
	assert_int_equal(n, 2);
}

static void test_what_follows(void **state)
{
	(void)state;
	size_t n;
	struct history_thing *t = compare(
		"nccl[/x].version = 2.18\npackage[nvidia-nccl-cu12].version = 2.18\npackage[numpy].version = 1\npackage[torch].version = 2.3\nrequirement[torch].name = nvidia-nccl-cu12\ntorch.cuda = 12.1\n",
		"nccl[/x].version = 2.21\npackage[nvidia-nccl-cu12].version = 2.21\npackage[numpy].version = 2\npackage[torch].version = 2.5\nrequirement[torch].name = nvidia-nccl-cu12\ntorch.cuda = 12.4\n",
		NULL, &n);
	assert_int_equal(n, 2);
	assert_string_equal(t->name, "numpy");
	assert_int_equal(t->change_count, 1);
	assert_string_equal(t->next->name, "torch");
	assert_int_equal(t->next->change_count, 4);
	t = compare("driver[nvidia].version = 1\ngpu[0].name = A100\nsystem.hostname = a\nvariable[X].value = 1\n",
		"driver[nvidia].version = 2\ngpu[0].name = H100\nsystem.hostname = b\nvariable[X].value = 2\n", NULL, &n);
	assert_int_equal(n, 2);
	assert_string_equal(t->group, "machine");
	/* Packages that require one another end in one thing. */
	compare("package[a].version = 1\npackage[b].version = 1\nrequirement[a].name = b\nrequirement[b].name = a\n",
		"package[a].version = 2\npackage[b].version = 2\nrequirement[a].name = b\nrequirement[b].name = a\n", NULL, &n);
	assert_int_equal(n, 1);
}

static void test_weights(void **state)
{
	(void)state;
	size_t n;
	const struct history_about about = {.evidence = "mount.size_bytes[/dev/shm]\n",
		.reads = "mount.size_bytes\nlimit.soft\nvariable.name\n",
		.stage_tables = "sysctl\n",
		.rules = "... name = 'NCCL_SHM_DISABLE' ..."};
	const char *before =
		"limit[nofile].hard = 1\nlimit[nofile].soft = 1\nmount[/dev/shm].size_bytes = 2\nmount[/tmp].size_bytes = 2\nsysctl[x].value = 1\nvariable[EDITOR].value = 1\nvariable[NCCL_SHM_DISABLE].value = 1\n";
	const char *after =
		"limit[nofile].hard = 2\nlimit[nofile].soft = 2\nmount[/dev/shm].size_bytes = 1\nmount[/tmp].size_bytes = 1\nsysctl[x].value = 2\nvariable[EDITOR].value = 2\nvariable[NCCL_SHM_DISABLE].value = 2\n";
	struct history_thing *t = compare(before, after, &about, &n);
	static const struct {
		const char *name;
		enum history_weight weight;
	} expected[] = {{"/dev/shm", WEIGHT_EVIDENCE}, {"nofile", WEIGHT_READ}, {"/tmp", WEIGHT_READ}, {"NCCL_SHM_DISABLE", WEIGHT_TABLE},
		{"x", WEIGHT_STAGE}, {"EDITOR", WEIGHT_NONE}};
	assert_int_equal(n, 6);
	for (size_t i = 0; i < n; i++, t = t->next) {
		assert_string_equal(t->name, expected[i].name);
		assert_int_equal(t->weight, expected[i].weight);
	}
}

static void test_names(void **state)
{
	(void)state;
	char names[64];
	size_t n;
	struct buf before = BUF_MAX(4096), after = BUF_MAX(4096);
	for (int i = 0; i < 20; i++) {
		buf_fmt(&before, "variable[A_LONG_NAME_%02d].value = 1\n", i);
		buf_fmt(&after, "variable[A_LONG_NAME_%02d].value = 2\n", i);
	}
	history_thing_names(compare(before.ptr, after.ptr, NULL, &n), names, sizeof names);
	assert_int_equal(n, 20);
	assert_string_equal(names, "variable A_LONG_NAME_00 +19");
	buf_free(&before);
	buf_free(&after);
}

/* -- the log ------------------------------------------------------------------------------------------------------------- */

static struct str unpacked(struct str packed)
{
	static char text[96 << 20];
	struct unpack_io io = {.in = packed.ptr, .in_n = packed.len, .out = text, .out_n = sizeof text, .in_ends = true};
	void *z = unpack_zstd.open();
	while (io.in_n && unpack_zstd.step(z, &io) >= 0)
		;
	unpack_zstd.close(z);
	return str_n(text, sizeof text - io.out_n);
}

static void test_small_log(void **state)
{
	(void)state;
	struct run_log *l = run_log_new(NULL);
	assert_non_null(l);
	run_log_take(l, "one\n", 4);
	run_log_take(l, "two\n", 4);
	assert_true(run_log_finish(l, 5000));
	assert_true(str_is(unpacked(run_log_packed(l)), "one\ntwo\n"));
	assert_int_equal(run_log_left_out(l), 0);
	run_log_free(l);
	l = run_log_new("/proc/there/is/no/such/place");
	run_log_take(l, "kept all the same", 17);
	assert_true(run_log_finish(l, 5000));
	assert_true(str_is(unpacked(run_log_packed(l)), "kept all the same"));
	assert_true(run_log_error(l) < 0);
	run_log_free(l);
}

/* Numbers that do not pack well, far more than is kept: what is kept and what is left out are everything, and both ends are there. */
static void test_large_log(void **state)
{
	(void)state;
	struct run_log *l = run_log_new(NULL);
	uint64_t x = 1, bytes = 0;
	char line[80];
	for (int i = 0; i < 2500000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		int n = snprintf(line, sizeof line, "%07d %016llx\n", i, (unsigned long long)x);
		run_log_take(l, line, (size_t)n);
		bytes += (uint64_t)n;
	}
	assert_true(run_log_finish(l, 20000));
	assert_int_equal(run_log_bytes(l), bytes);
	assert_true(run_log_packed(l).len <= (size_t)14 << 20);
	struct str text = unpacked(run_log_packed(l)), rest = text, one;
	uint64_t kept = 0;
	while (str_next_line(&rest, &one))
		if (!str_starts(one, "[davy: "))
			kept += one.len + 1;
	assert_true(run_log_left_out(l) > 0);
	assert_true(str_starts(text, "0000000 "));
	assert_true(str_has(text, "\n2499999 "));
	assert_true(str_has(text, " bytes of output are not kept here]\n"));
	assert_true(
		kept >= bytes - run_log_left_out(l) && kept <= bytes - run_log_left_out(l) + 200 * 64); /* a line feed before each note */
	run_log_free(l);
}

/* -- the command --------------------------------------------------------------------------------------------------------- */

static void test_program(void **state)
{
	(void)state;
	struct host *h;
	assert_int_equal(host_open_live(arena, NULL, &h), 0);
	const char *inline_torch[] = {
		"env", "A=1", "python3", "-u", "-c", "import torch, os\ntorch.distributed.init_process_group('nccl')"};
	struct run_program p = run_program_read(arena, h, inline_torch, 6);
	assert_true(p.needs_torch && p.needs_nccl && p.needs_distributed && !p.launcher);
	const char *guarded[] = {"python3", "-c",
		"import torch\nb = 'nccl' if torch.cuda.is_available() else 'gloo'\ntorch.distributed.init_process_group(b)"};
	p = run_program_read(arena, h, guarded, 3);
	assert_true(p.needs_torch && !p.needs_nccl && !p.only_gloo);
	const char *optional[] = {"python3", "-c", "try:\n    import torch\nexcept ImportError:\n    pass"};
	assert_false(run_program_read(arena, h, optional, 3).needs_torch);
	const char *vision[] = {"python3", "-c", "import torchlike"};
	assert_false(run_program_read(arena, h, vision, 3).needs_torch);
	const char *launcher[] = {"srun", "-N", "2", "torchrun", "--nproc-per-node", "8", "train.py"};
	p = run_program_read(arena, h, launcher, 7);
	assert_true(p.launcher && p.needs_torch);
	const char *module[] = {"python", "-m", "torch.distributed.run", "train.py"};
	assert_true(run_program_read(arena, h, module, 4).launcher);
	const char *shell[] = {"bash", "run.sh", "python-like"};
	p = run_program_read(arena, h, shell, 3);
	assert_true(!p.python && !p.needs_torch && !p.launcher);
	const char *cut[] = {"python3", "-c"};
	assert_false(run_program_read(arena, h, cut, 2).needs_torch);
	const char *cut_module[] = {"python3", "-m"};
	assert_false(run_program_read(arena, h, cut_module, 2).launcher);
	host_close(h);
}

static void test_stop(void **state)
{
	(void)state;
	struct finding f = {.cause = "torch.not-installed", .status = STATUS_FAIL, .certainty = CERTAIN};
	struct judgement j = {.findings = &f};
	const struct run_program torch = {.needs_torch = true}, none = {0}, nccl = {.needs_torch = true, .needs_nccl = true};
	assert_ptr_equal(run_program_stop(&torch, &j, false), &f);
	assert_null(run_program_stop(&none, &j, false));
	assert_ptr_equal(run_program_stop(&none, &j, true), &f);
	f.certainty = LIKELY;
	assert_null(run_program_stop(&torch, &j, false));
	assert_ptr_equal(run_program_stop(&torch, &j, true), &f);
	f.certainty = CERTAIN;
	f.status = STATUS_UNKNOWN;
	assert_null(run_program_stop(&torch, &j, true));
	f.status = STATUS_FAIL;
	f.cause = "torch.cpu-build";
	assert_null(run_program_stop(&torch, &j, false));
	assert_ptr_equal(run_program_stop(&nccl, &j, false), &f);
	f.cause = "driver.hung";
	assert_ptr_equal(run_program_stop(&nccl, &j, false), &f);
	f.cause = "host.shm-too-small";
	assert_null(run_program_stop(&nccl, &j, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_what_follows),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_small_log),
		cmocka_unit_test(test_large_log),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_stop),
	};
	arena = arena_new(0);
	int rc = cmocka_run_group_tests(tests, NULL, NULL);
	arena_free(arena);
	return rc;
}
