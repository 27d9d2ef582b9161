/* A libnccl.so.2 whose all_reduce knows what the other ranks of Davy's test send, so that it needs nobody: rank + 1 + something of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scenario.h"

struct unique_id {
	char text[128];
};

static struct comm {
	int rank, ranks;
} comm;

int ncclGetVersion(int *version);
int ncclGetVersion(int *version)
{
	scenario_step("ncclGetVersion");
	*version = (int)scenario_number("nccl", -1, -1, 22809);
	return 0;
}

static void say(const char *level, const char *text)
{
	printf("trainer-3:%d:%d [%d] NCCL %s %s\n", (int)getpid(), (int)getpid(), comm.rank, level, text);
	fflush(stdout);
}

int ncclGetUniqueId(struct unique_id *ret);
int ncclGetUniqueId(struct unique_id *ret)
{
	scenario_step("ncclGetUniqueId");
	memset(ret, 7, sizeof *ret);
	say("INFO", "Bootstrap: Using lo:127.0.0.1<0>");
	return (int)scenario_number("ncclunique", -1, -1, 0);
}

int ncclCommInitRank(struct comm **ret, int ranks, struct unique_id id, int rank);
int ncclCommInitRank(struct comm **ret, int ranks, struct unique_id id, int rank)
{
	const char *warn = scenario_text("ncclwarn", NULL);
	int code = (int)scenario_number("ncclinit", -1, -1, 0);

	comm.rank = rank;
	comm.ranks = ranks;
	*ret = &comm;
	scenario_step("ncclCommInitRank");
	if (id.text[100] != 7)
		return 4;
	if (code && warn)
		say("WARN", warn);
	return code;
}

int ncclAllReduce(const float *from, float *to, size_t count, int type, int op, struct comm *c, void *stream);
int ncclAllReduce(const float *from, float *to, size_t count, int type, int op, struct comm *c, void *stream)
{
	int p2p = !getenv("NCCL_P2P_DISABLE");
	int wrong = (p2p && scenario_number("p2pwrong", -1, -1, 0)) || scenario_number("wrongsum", c->rank, -1, 0);

	(void)stream;
	scenario_step("ncclAllReduce");
	if (p2p && scenario_number("p2phang", -1, -1, 0))
		for (;;)
			pause();
	if (type != 7 || op != 0)
		return 4;
	for (size_t i = 0; i < count; i++)
		to[i] = (float)c->ranks * (from[i] - (float)(c->rank + 1)) + (float)(c->ranks * (c->ranks + 1) / 2);
	if (wrong)
		to[count / 2] += 1;
	return 0;
}

int ncclCommDestroy(struct comm *c);
int ncclCommDestroy(struct comm *c)
{
	(void)c;
	return 0;
}

const char *ncclGetErrorString(int code);
const char *ncclGetErrorString(int code)
{
	return code == 1    ? "unhandled cuda error (run with NCCL_DEBUG=INFO for details)"
		: code == 2 ? "unhandled system error (run with NCCL_DEBUG=INFO for details)"
		: code == 3 ? "internal error - please report this issue to the NCCL developers"
		: code == 5 ? "invalid usage (run with NCCL_DEBUG=WARN for details)"
			    : "unknown result code";
}
