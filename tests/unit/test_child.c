/* Children with a deadline: how they end is told truly, nothing of them stays, and nothing waits for ever. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/child.h"
#include "host/door.h"

static struct host *host;
static struct arena *arena;

static struct host_child sh(const char *script, int deadline_ms)
{
	const char **argv = arena_array(arena, 4, sizeof *argv);
	argv[0] = "/bin/sh";
	argv[1] = "-c";
	argv[2] = script;
	argv[3] = NULL;
	return (struct host_child){.argv = argv, .deadline_ms = deadline_ms};
}

static void test_ends(void **state)
{
	(void)state;
	struct host_child c[] = {sh("echo out; echo err >&2; exit 3", 60000), sh("kill -SEGV $$", 60000), sh("echo begun; sleep 600", 2000),
		{.argv = (const char *const[]){"/nonexistent/program", NULL}, .deadline_ms = 1000}};
	host_children(host, c, 4);
	assert_int_equal(c[0].end, HOST_CHILD_EXIT);
	assert_int_equal(c[0].code, 3);
	assert_true(str_is(c[0].out, "out\n"));
	assert_true(str_is(c[0].log, "err\n"));
	assert_int_equal(c[1].end, HOST_CHILD_SIGNAL);
	assert_int_equal(c[1].code, SIGSEGV);
	assert_int_equal(c[2].end, HOST_CHILD_LATE);
	assert_true(str_is(c[2].out, "begun\n"));
	assert_true(c[2].duration_ms < 60000);
	assert_int_equal(c[3].end, HOST_CHILD_NOT_STARTED);
	assert_int_equal(c[3].code, 2);
}

static void test_one_that_ignores_sigterm(void **state)
{
	(void)state;
	struct host_child c = sh("trap '' TERM; while :; do sleep 0.05; done", 200);
	host_children(host, &c, 1);
	assert_int_equal(c.end, HOST_CHILD_LATE);
	assert_true(c.duration_ms < 60000);
}

static void test_silence(void **state)
{
	(void)state;
	struct host_child c[] = {sh("for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.5; done", 300000), sh("echo 1; sleep 600", 300000)};
	c[0].silence_ms = c[1].silence_ms = 2500;
	host_children(host, c, 2);
	assert_int_equal(c[0].end, HOST_CHILD_EXIT);
	assert_int_equal(c[1].end, HOST_CHILD_LATE);
	assert_true(c[1].duration_ms < 60000);
}

static bool lives(struct str pid)
{
	int64_t n = 0;
	return str_to_int(str_trim(pid), &n) == 0 && n > 0 && kill((pid_t)n, 0) == 0;
}

/* In a session of its own, holding the output open, ignoring hang-ups: ended all the same. */
static void test_what_is_left_behind(void **state)
{
	(void)state;
	struct host_child c[] = {sh("setsid sh -c 'trap \"\" HUP TERM; sleep 610 & echo $!; wait' & sleep 0.3", 300000),
		sh("setsid sleep 620 >/dev/null 2>&1 & echo $!; sleep 0.2", 300000)};
	host_children(host, c, 2);
	assert_int_equal(c[0].end, HOST_CHILD_EXIT);
	assert_true(c[0].duration_ms < 60000);
	assert_true(c[0].out.len > 0 && c[1].out.len > 0);
	assert_false(lives(c[0].out));
	assert_false(lives(c[1].out));
}

static void test_environment(void **state)
{
	(void)state;
	struct host_child c = sh("echo $ADDED,${GONE-no}; echo e >&2", 60000);
	c.env = (const char *const[]){"ADDED=yes", "GONE", NULL};
	c.merged = true;
	setenv("GONE", "still here", 1);
	host_children(host, &c, 1);
	assert_true(str_is(c.out, "yes,no\ne\n"));
	assert_int_equal(c.log.len, 0);
}

static void test_much_output(void **state)
{
	(void)state;
	struct host_child c = sh("head -c 20000000 /dev/zero | tr '\\0' x", 120000);
	host_children(host, &c, 1);
	assert_int_equal(c.end, HOST_CHILD_EXIT);
	assert_true(c.out.len > 1 << 20 && c.out.len <= 4 << 20);
}

static void test_scratch(void **state)
{
	(void)state;
	const char *folder;
	assert_int_equal(host_scratch_make(host, &folder), 0);
	assert_int_equal(host_scratch_write(folder, "a.py", STR("print(1)\n")), 0);
	assert_int_not_equal(host_scratch_write(folder, "a.py", STR("again")), 0);
	struct host_child c = sh(arena_printf(arena, "mkdir -p %s/b/c && touch %s/b/c/d && ln -s / %s/b/root && cat %s/a.py", folder,
					 folder, folder, folder),
		60000);
	host_children(host, &c, 1);
	assert_true(str_is(c.out, "print(1)\n"));
	host_scratch_remove(folder);
	assert_int_not_equal(access(folder, F_OK), 0);
	assert_int_equal(access("/bin/sh", F_OK), 0);
	assert_true(host_free_port() > 0);
}

/* On the same processor: one that turns in a circle, and one that gets its time only when nobody else wants it. */
static pid_t turn_in_a_circle(int processor, int policy)
{
	pid_t pid = fork();
	if (pid)
		return pid;
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(processor, &one);
	if (sched_setaffinity(0, sizeof one, &one) < 0 || sched_setscheduler(0, policy, &(struct sched_param){0}) < 0)
		_exit(1);
	for (volatile bool on = true; on;)
		;
	_exit(0);
}

static void test_starving(void **state)
{
	(void)state;
	cpu_set_t ours;
	int processor = 0;
	assert_int_equal(sched_getaffinity(0, sizeof ours, &ours), 0);
	while (!CPU_ISSET(processor, &ours))
		processor++;
	pid_t sleeper = fork();
	if (sleeper == 0) {
		pause();
		_exit(0);
	}
	pid_t busy = turn_in_a_circle(processor, SCHED_OTHER), poor = turn_in_a_circle(processor, SCHED_IDLE);
	usleep(600000);
	assert_true(host_child_starves(poor, 600));
	assert_false(host_child_starves(sleeper, 600));
	pid_t all[] = {sleeper, busy, poor};
	for (size_t i = 0; i < 3; i++) {
		kill(all[i], SIGKILL);
		waitpid(all[i], NULL, 0);
	}
	assert_false(host_child_starves(poor, 600));
}

int main(void)
{
	arena = arena_new(0);
	if (host_open_live(arena, NULL, &host) < 0)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_one_that_ignores_sigterm),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_what_is_left_behind),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_much_output),
		cmocka_unit_test(test_scratch),
		cmocka_unit_test(test_starving),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
