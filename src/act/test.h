/* `davy test`: what the machine can do is tried. Stages in the order of the map, each in children with a deadline:
 *
 *   driver     NVML answers                                cuda       a context, memory and copies on each GPU
 *   backend    the library loads, NCCL picks its interface  shm        the shared memory that NCCL would take, written
 *   network    listening and connecting on this host        p2p        copies between each pair, with and without peer access
 *   allreduce  through libnccl itself, one process a rank   torch      a minimal script under the environment's own torchrun
 *
 * A stage whose ground is missing is not reached. Every test is a row of the fact table `trial`, measured all_reduces are rows of
 * `allreduce`; rules judge them. What libraries printed when they failed is kept as a log for the same patterns that `explain` uses.
 * Nothing fails here: a test that hangs, crashes or lies is a row.
 */
#ifndef ACT_TEST_H
#define ACT_TEST_H

#include "facts/facts.h"
#include "host/host.h"

struct test_log {
	const char *name;
	struct str text;
};

#define TEST_LOGS_MAX 8

struct test {
	struct host *host;
	struct facts *facts; /* with everything that check collects */
	struct arena *arena;
	const char *only;                               /* one stage; NULL: all */
	int ranks;                                      /* 0: as many as devices, else two */
	int deadline_ms;                                /* of each stage */
	bool torch;                                     /* run the stage torch too */
	void (*progress)(void *arg, const char *stage); /* before each stage; or NULL */
	void *progress_arg;
	struct test_log log[TEST_LOGS_MAX]; /* of tests that failed */
	size_t log_count;
};

void test_run(struct test *t);

extern const char *const test_stages[]; /* in order, ends with NULL */

/* -- for the files of act/test*.c -- */

struct facts_row *test_row(struct test *t, const char *name, const char *stage, const char *subject, const char *result);
struct facts_row *test_not_reached(struct test *t, const char *name, const char *stage, const char *ground);
struct facts_row *test_find(struct test *t, const char *name);
bool test_passed(struct test *t, const char *name); /* there is such a row, and its result is ok */
void test_keep_log(struct test *t, const char *name, struct str text);
/* This back end, or another vendor's device, asks nothing of NVIDIA's libraries: the row says so. */
bool test_not_needed(struct test *t, const char *name, const char *stage);
const char *test_backend(struct test *t);
int test_devices(struct test *t, int *ret, int max); /* GPUs that passed the stage cuda */
void test_duration(struct facts_row *row, double ms);

struct json;
struct test_answer {         /* of a probe */
	const char *result;  /* ok, error, crash, hang, missing or skipped (no probe) */
	const char *call;    /* that failed or was under way, and on what; or NULL */
	int64_t index, code; /* -1: none */
	const char *message;
	const struct json *last; /* the answer; NULL: none */
	struct str log;
	double duration_ms;
};

struct host_child;
/* A child for `probe NAME...`: argv[0] is filled in. False: the probe is not there. */
bool test_probe(struct test *t, const char **argv, struct host_child *ret);
void test_read(struct test *t, const struct host_child *child, struct test_answer *ret);
void test_fill(struct facts_row *row, const struct test_answer *a); /* call, code, message, duration */

void test_cuda(struct test *t);
void test_p2p(struct test *t);
void test_backend_stage(struct test *t);
void test_allreduce(struct test *t);
void test_torch(struct test *t);
const char *test_torch_script(void); /* what the stage torch runs */

#endif
