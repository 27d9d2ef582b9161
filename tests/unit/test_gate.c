/* Gates: what the compiler reads off a condition, and that no gate changes what is found on the hosts of the tests (a third of them; all
 * with DAVY_ALL_HOSTS). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/collect.h"
#include "host/host.h"
#include "judge/compile.h"
#include "judge/functions.h"
#include "judge/gate.h"
#include "judge/judge.h"

static struct arena *arena;
static const void *image;
static size_t image_size;

static const char *source(void)
{
	const char *dir = getenv("DAVY_SOURCE");
	return dir ? dir : ".";
}

static int begin(void **state)
{
	(void)state;
	arena = arena_new(0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

/* -- reading conditions ---------------------------------------------------------------------------------------------------- */

static struct facts *machine(void)
{
	struct facts *f = facts_new(arena);
	struct facts_row *torch = facts_add(f, TABLE_torch), *gpu = facts_add(f, TABLE_gpu), *variable = facts_add(f, TABLE_variable);
	facts_text(torch, torch__build, "cuda", "test");
	facts_text(gpu, gpu__vendor, "nvidia", "test");
	facts_int(gpu, gpu__index, 0, "test");
	facts_text(variable, variable__name, "NCCL_DEBUG", "test");
	facts_bool(variable, variable__known, true, "test");
	return f;
}

static void shut(const char *table, const char *condition)
{
	const char *gate = gate_make(arena, table, condition, NULL);
	if (gate_is_open(machine(), gate))
		fail_msg("open: %s (%s)", condition, gate ? gate : "no gate");
}

static void open_(const char *table, const char *condition)
{
	const char *gate = gate_make(arena, table, condition, NULL);
	if (!gate_is_open(machine(), gate))
		fail_msg("shut: %s (%s)", condition, gate);
}

static void what_cannot_be_is_shut(void **state)
{
	(void)state;
	shut("variable", "name = 'NCCL_IB_HCA'");
	shut("variable", "variable.name IN ('A', 'B') AND value LIKE 'x%'");
	shut("variable", "known = 0 AND name GLOB 'NCCL_*'");
	shut("variable", "name GLOB 'TORCH_*'");
	shut("variable", "(name = 'NCCL_DEBUG' AND value IS NOT NULL)");
	shut("variable", "name = 'NCCL_DEBUG' AND value > 3");
	shut("torch", "EXISTS (SELECT 1 FROM rdma_port)");
	shut("torch", "EXISTS (SELECT 1 FROM gpu WHERE vendor = 'amd' AND name LIKE '%MI3%')");
	shut("torch", "EXISTS (SELECT 1 FROM gpu g WHERE g.vendor = 'amd')");
	shut("torch", "(SELECT count(*) FROM rdma_port WHERE state = 'ACTIVE') > 0");
	shut("torch", "(SELECT max(cc) FROM gpu WHERE vendor = 'nvidia') < 80");
	shut("torch", "(SELECT build FROM torch) = 'rocm'");
	shut("torch", "(SELECT version FROM driver WHERE vendor = 'nvidia') IS NOT NULL AND build = 'cuda'");
	shut("variable", "EXISTS (SELECT 1 FROM rdma_port p, gpu g WHERE p.numa = g.numa)");
}

static void what_might_be_is_open(void **state)
{
	(void)state;
	open_("variable", "name = 'NCCL_DEBUG'");
	open_("variable", "name = 'OTHER' OR known = 1");
	open_("variable", "NOT name = 'OTHER'");
	open_("variable", "name <> 'OTHER' AND known IS NOT 0");
	open_("variable", "value IS NULL");
	open_("variable", "value = 'x' IS NULL");
	open_("variable", "CASE WHEN name = 'A' AND known = 0 AND value = 'x' THEN 0 ELSE 1 END");
	open_("variable", "known BETWEEN 0 AND known = 0");
	open_("variable", "value NOT IN (SELECT name FROM gpu WHERE vendor = 'amd')");
	open_("variable", "coalesce(value, 'x') = 'x'");
	open_("torch", "(SELECT count(*) FROM rdma_port) = 0");
	open_("torch", "(SELECT count(*) FROM rdma_port) < 3");
	open_("torch", "EXISTS (SELECT count(*) FROM rdma_port)");
	open_("torch", "NOT EXISTS (SELECT 1 FROM rdma_port)");
	open_("torch", "(SELECT version FROM driver) IS NULL");
	open_("torch", "(SELECT coalesce(max(cc), 0) FROM rdma_port) = 0");
	open_("torch", "(SELECT version FROM driver) IS NOT 'x'");
	open_("torch", "EXISTS (SELECT 1 FROM k_xid WHERE xid = 79)");
	open_("torch", "EXISTS (SELECT 1 FROM rdma_port UNION SELECT 1)");
	open_("torch", "EXISTS (SELECT 1 FROM gpu WHERE name = 'x' OR vendor = 'nvidia')");
	open_("torch", "unknown words ( ");
	assert_null(gate_make(arena, "no-table", "a = 1", NULL));
}

/* -- all hosts --------------------------------------------------------------------------------------------------------------- */

static bool make_image(void)
{
	struct store *s;
	struct host *h;
	struct compile_result result = {.messages = BUF_MAX((size_t)1 << 20)};
	struct arena *a = arena_new(0);
	if (store_open(a, NULL, 0, &s) < 0 || compile_create_tables(s) < 0 || host_open_live(a, NULL, &h) < 0)
		return false;
	compile_folder(a, h, arena_printf(a, "%s/knowledge", source()), s, &result);
	buf_free(&result.messages);
	return !result.errors && store_serialize(s, &image, &image_size) == 0;
}

static void describe(const struct judgement *r, struct buf *b)
{
	buf_fmt(b, "verdict %d fails %d warns %d infos %d unknowns %d\n", (int)r->verdict, r->fails, r->warns, r->infos, r->unknowns);
	for (const struct finding *f = r->findings; f; f = f->next)
		buf_fmt(b, "%d %s %s %s %s\n", (int)f->status, f->cause, f->rule, f->key ? f->key : "-", f->says ? f->says : "-");
	for (const struct unknown_fact *u = r->unknown; u; u = u->next)
		buf_fmt(b, "unknown %s\n", u->fact);
	for (int i = 0; i < STAGE_COUNT; i++)
		buf_fmt(b, "stage %d %d %s\n", i, (int)r->stage[i], r->stage_line[i] ? r->stage_line[i] : "-");
}

static bool judge(const char *snapshot, const char *backend, enum judge_mode mode, bool gates, struct buf *b)
{
	struct arena *a = arena_new(0);
	struct host *h;
	struct store *s;
	const char *why;
	struct judgement r;
	if (host_open_replay(a, snapshot, &h, &why) < 0) {
		arena_free(a);
		return false;
	}
	struct facts *f = facts_new(a);
	struct collect c = {.host = h, .facts = f, .arena = a, .backend = backend};
	collect_all(&c, NULL);
	assert_int_equal(store_open(a, image, image_size, &s), 0);
	functions_register(s);
	assert_int_equal(store_load(s, f), 0);
	struct judge j = {.arena = a, .store = s, .facts = f, .mode = mode, .no_gates = !gates};
	judge_derive(&j);
	judge_run(&j, &r);
	describe(&r, b);
	store_close(s);
	host_close(h);
	arena_free(a);
	return true;
}

static void gates_change_nothing(void **state)
{
	(void)state;
	struct host *h;
	struct host_list hosts;
	size_t judged = 0;
	assert_true(make_image());
	assert_int_equal(host_open_live(arena, NULL, &h), 0);
	assert_int_equal(host_list(h, arena_printf(arena, "%s/tests/hosts", source()), &hosts), 0);
	for (size_t i = 0; i < hosts.count; i += getenv("DAVY_ALL_HOSTS") ? 1 : 3) {
		struct buf with = BUF_MAX((size_t)4 << 20), without = BUF_MAX((size_t)4 << 20);
		const char *path = arena_printf(arena, "%s/tests/hosts/%s", source(), hosts.names[i]), *backend = i % 2 ? "nccl" : NULL;
		enum judge_mode mode = i % 7 == 3 ? JUDGE_EXPLAIN : JUDGE_CHECK;
		if (judge(path, backend, mode, true, &with) && judge(path, backend, mode, false, &without)) {
			assert_string_equal(with.ptr, without.ptr);
			judged++;
		}
		buf_free(&with);
		buf_free(&without);
	}
	assert_true(judged > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_is_shut),
		cmocka_unit_test(what_might_be_is_open),
		cmocka_unit_test(gates_change_nothing),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
