/* One line of each grammar, and what its prefixes say. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "logs/prefix.h"

#define U PREFIX_UNSET

struct sample {
	const char *line, *message, *host;
	int64_t rank, local_rank, number, group_rank, pid;
	char level;
};

static const struct sample samples[] = {
	/* NCCL of all times */
	{"node07:4242:4399 [3] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB", "NET/IB : Using [0]mlx5_0:1/IB", "node07", U, U, U, U, 4242, 'I'},
	{"node07:4242:4399 [3] transport/net_ib.cc:412 NCCL WARN NET/IB : text", "NET/IB : text", "node07", U, U, U, U, 4242, 'W'},
	{"node07:4242:4399 [3] transport/net_ib/connect.cc:412 (ncclIbConnect) NCCL WARN text", "text", "node07", U, U, U, U, 4242, 'W'},
	{"[2026-01-05 10:11:12] node07:4242:4501 [3] misc/socket.cc:58 NCCL WARN text", "text", "node07", U, U, U, U, 4242, 'W'},
	{"[2026-01-05 10:11:12.123456] gpu-a-1:1:2 [-1] NCCL INFO text", "text", "gpu-a-1", U, U, U, U, 1, 'I'},
	{"node07:4242:4399 NCCL CALL ncclAllReduce(...)", "ncclAllReduce(...)", "node07", U, U, U, U, 4242, 'I'},
	/* glog and torch._logging */
	{"[W socket.cpp:464] [c10d] The client", "The client", "", U, U, U, U, U, 'W'},
	{"[rank3]:[E1122 03:04:05.123456789 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog", "Watchdog", "", 3, U, U, 3, U, 'E'},
	{"[rank11]:[E210 22:40:33.005516202 ProcessGroupNCCL.cpp:632] [PG ID 1 PG GUID 7(tp) Rank 1] Watchdog", "Watchdog", "", 11, U, U, 1,
		U, 'E'},
	{"[E ProcessGroupNCCL.cpp:828] [Rank 5] Watchdog", "Watchdog", "", U, U, U, 5, U, 'E'},
	{"W1122 03:04:05.123000 4242 torch/distributed/run.py:766] Setting", "Setting", "", U, U, U, U, 4242, 'W'},
	{"[rank0]:W1122 03:04:05.123000 140123456789012 torch/x.py:7] [0/1] text", "[0/1] text", "", 0, U, U, U, U, 'W'},
	{"[2024-02-19 11:40:52,771] torch.distributed.elastic.multiprocessing.api: [ERROR] failed", "failed", "", U, U, U, U, U, 'E'},
	{"ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1)", "failed (exitcode: 1)", "", U, U, U, U, U, 'E'},
	{"[rank0]: RuntimeError: text", "RuntimeError: text", "", 0, U, U, U, U, 0},
	/* launchers */
	{"[default3]:text", "text", "", U, 3, U, U, U, 0},
	{"[default3]:[rank19]: text", "text", "", 19, 3, U, U, U, 0},
	{"[0]:text", "text", "", U, U, 0, U, U, 0},
	{" 7: node1:42:43 [0] NCCL INFO text", "text", "node1", U, U, 7, U, 42, 'I'},
	{"[1,3]<stderr>:text", "text", "", 3, U, U, U, U, 0},
	{"[prterun-node1-77@1,12]<stdout>: text", "text", "", 12, U, U, U, U, 0},
	{"[2] NCCL version 2.21.5+cuda12.4", "NCCL version 2.21.5+cuda12.4", "", U, U, 2, U, U, 0},
	{"[pod/job-worker-1/pytorch] [rank1]:[E1122 03:04:05.1 a.cpp:1] text", "text", "job-worker-1", 1, U, U, U, U, 'E'},
	{"2025-06-02T08:01:55.123456789Z stderr F [rank2]: text", "text", "", 2, U, U, U, U, 0},
	{"(RayWorkerWrapper pid=9, ip=10.0.0.2) ERROR 01-02 03:04:05 worker.py:1] x", "worker.py:1] x", "10.0.0.2", U, U, U, U, 9, 'E'},
	{"(VllmWorker rank=1 pid=912) ERROR 05-06 10:00:00 [executor.py:12] x", "x", "", 1, U, U, U, 912, 'E'},
	{"node3: [rank1]: text", "text", "node3", 1, U, U, U, U, 0},
	{"[worker-3] [rank3]: text", "text", "worker-3", 3, U, U, U, U, 0},
	{"[node02:rank12] text", "text", "node02", 12, U, U, U, U, 0},
	{"[hostB:rank5] text", "text", "hostB", 5, U, U, U, U, 0},
	{"[hostB:agent] text", "[hostB:agent] text", "", U, U, U, U, U, 0},
	{"[2023-01-01 00:00:00,123] [INFO] [launch.py:132:main] text", "text", "", U, U, U, U, U, 'I'},
	{"[2023-01-01 00:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 0] text", "text", "", 0, U, U, U, U, 'I'},
	{"#12 512.2       Killed", "Killed", "", U, U, U, U, U, 0},
	{"#9 [5/7] RUN pip install torch", "#9 [5/7] RUN pip install torch", "", U, U, U, U, U, 0},
	/* systems */
	{"Jun  2 08:01:55 node9 kernel: NVRM: Xid", "NVRM: Xid", "node9", U, U, U, U, U, 0},
	{"Jun  2 08:01:55 node9 slurmd[812]: text", "text", "node9", U, U, U, U, 812, 0},
	{"[  123.456789] NVRM: Xid", "NVRM: Xid", "", U, U, U, U, U, 0},
	{"[Thu Apr  3 04:12:07 2025] NVRM: Xid", "NVRM: Xid", "", U, U, U, U, U, 0},
	{"node04: kernel: NVRM: Xid", "NVRM: Xid", "node04", U, U, U, U, U, 0},
	{"2024-01-01 10:00:00.123 | ERROR    | module:func:12 - text", "text", "", U, U, U, U, U, 'E'},
	{"2024-01-01 10:00:00.123 | ERROR    | module:func - text", "module:func - text", "", U, U, U, U, U, 'E'},
	{"2024-01-01 10:00:00 rank=21 text", "text", "", 21, U, U, U, U, 0},
	{"rank=21 text", "rank=21 text", "", U, U, U, U, U, 0},
	{"\xe3\x80\x90rank4\xe3\x80\x91text", "text", "", 4, U, U, U, U, 0},
	{"[INFO|trainer.py:123] 2024-01-01 10:00:00,123 >> text", "text", "", U, U, U, U, U, 'I'},
	{"[ERROR] 2024-01-01-10:00:00 (PID:71, Device:5, RankID:13) ERR02005 DIST text", "ERR02005 DIST text", "", 13, U, U, U, 71, 'E'},
	/* and what is none */
	{"RuntimeError: text", "RuntimeError: text", "", U, U, U, U, U, 0},
	{"  File \"/w/train.py\", line 10, in <module>", "  File \"/w/train.py\", line 10, in <module>", "", U, U, U, U, U, 0},
	{"2: eth0: <BROADCAST,MULTICAST,UP> mtu 1500", "2: eth0: <BROADCAST,MULTICAST,UP> mtu 1500", "", U, U, U, U, U, 0},
	{"eth0: flags=4163<UP> mtu 1500", "eth0: flags=4163<UP> mtu 1500", "", U, U, U, U, U, 0},
	{"libcudart.so.12: cannot open shared object file", "libcudart.so.12: cannot open shared object file", "", U, U, U, U, U, 0},
	{"[pip3] torch==2.1.0", "[pip3] torch==2.1.0", "", U, U, U, U, U, 0},
	{"python3: can't open file 'x.py'", "python3: can't open file 'x.py'", "", U, U, U, U, U, 0},
	{"", "", "", U, U, U, U, U, 0},
};

static void test_samples(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		const struct sample *s = &samples[i];
		struct prefix_names names = {.gutter = false};
		struct prefix p;
		prefix_parse(str_of(s->line), &names, &p);
		bool same = str_is(p.message, s->message) && str_is(p.host, s->host) && p.rank == s->rank &&
			p.local_rank == s->local_rank && p.number == s->number && p.group_rank == s->group_rank && p.pid == s->pid &&
			p.level == s->level;
		if (!same)
			print_error("%s\n  message [%.*s] host [%.*s] rank %lld local %lld number %lld group %lld pid %lld level %c\n",
				s->line, (int)p.message.len, p.message.ptr, (int)p.host.len, p.host.len ? p.host.ptr : "",
				(long long)p.rank, (long long)p.local_rank, (long long)p.number, (long long)p.group_rank, (long long)p.pid,
				p.level ? p.level : '-');
		assert_true(same);
	}
}

static void test_time(void **state)
{
	struct prefix p;
	(void)state;
	prefix_parse(STR("2025-06-02 08:01:55,250 x"), NULL, &p);
	assert_true(fabs(p.time - 1748851315.25) < 0.001);
	prefix_parse(STR("[2025-06-02T08:01:55+02:00] x"), NULL, &p);
	assert_true(fabs(p.time - 1748844115.0) < 0.001);
	prefix_parse(STR("[E0201 00:00:01.500000 a.cpp:1] x"), NULL, &p); /* no year: as if 1970 */
	assert_true(fabs(p.time - (31 * 86400 + 1.5)) < 0.001);
	prefix_parse(STR("08:01:55 x"), NULL, &p);
	assert_true(fabs(p.time - 28915) < 0.001);
	prefix_parse(STR("no time"), NULL, &p);
	assert_true(isnan(p.time));
}

static void test_names_are_learned(void **state)
{
	struct prefix_names names = {.gutter = false};
	struct prefix p;
	(void)state;
	prefix_parse(STR("gpu031: text"), &names, &p);
	assert_int_equal(p.host.len, 0);
	prefix_parse(STR("gpu031: text"), &names, &p);
	assert_true(str_is(p.host, "gpu031"));
	assert_true(str_is(p.message, "text"));
}

static void test_torn(void **state)
{
	(void)state;
	assert_int_equal(prefix_find_torn(STR("Channel 00node1:5:9 [1] NCCL INFO Channel 01")), 10);
	assert_int_equal(prefix_find_torn(STR("loss 1.2[rank3]:[E1122 03:04:05.123 a.cpp:7] x")), 8);
	assert_int_equal(prefix_find_torn(STR("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB")), SIZE_MAX);
}

static void test_gutter(void **state)
{
	(void)state;
	assert_true(prefix_is_gutter(STR("  1\ta\n  2\tb\n  3\tc\n  4\td\n  5\te\n")));
	assert_false(prefix_is_gutter(STR("0: a\n1: b\n0: c\n1: d\n0: e\n")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_names_are_learned),
		cmocka_unit_test(test_torn),
		cmocka_unit_test(test_gutter),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
