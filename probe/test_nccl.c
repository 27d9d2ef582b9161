/* NCCL itself: one process for each rank, as PyTorch has them, so that what goes between processes (CUDA IPC, shared memory, sockets) is
 * tested too. The processes write where they stand into memory that they share with this one; what NCCL prints goes to standard error. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "old_dl.h"
#include "driver_api.h"

enum { RANKS_MAX = 64, ROUNDS = 10, GRACE_MS = 2000, WORD_MAX = 7 };
enum { NCCL_FLOAT32 = 7, NCCL_SUM = 0 };

struct unique_id {
	char text[128];
};
typedef struct nccl_comm *nccl_comm;

struct nccl_api {
	int (*version)(int *);
	int (*unique)(struct unique_id *);
	int (*init)(nccl_comm *, int, struct unique_id, int);
	int (*all_reduce)(const void *, void *, size_t, int, int, nccl_comm, cuda_stream);
	int (*destroy)(nccl_comm);
	const char *(*error_string)(int);
};

enum state { STARTING, FAILED, REDUCED, ENDED };

struct rank { /* shared */
	volatile int state;
	char call[40]; /* under way, or failed */
	int code;
	char text[160];
	int64_t wrong;
	double init_ms, round_ms;
	/* of the parent only */
	pid_t pid;
	int signal, exited;
	bool reaped;
};

static size_t count; /* floats that each rank gives */

static struct shared {
	volatile int have_id, reduced;
	struct unique_id id;
	int version;
	struct rank rank[RANKS_MAX];
} * shared;

/* -- a rank ----------------------------------------------------------------------------------------------------------------- */

static void calling(struct rank *r, const char *call)
{
	snprintf(r->call, sizeof r->call, "%s", call);
}

static void nap(long us)
{
	struct timespec t = {0, us * 1000};

	nanosleep(&t, NULL);
}

static void give_up(struct rank *r, int code, const char *text)
{
	r->code = code;
	snprintf(r->text, sizeof r->text, "%s", text ? text : "");
	r->state = FAILED;
	_exit(1);
}

static bool nccl_load(struct nccl_api *ret, void *library)
{
	void *symbols[] = {PROBE_SYMBOL(library, "ncclGetVersion"), PROBE_SYMBOL(library, "ncclGetUniqueId"),
		PROBE_SYMBOL(library, "ncclCommInitRank"), PROBE_SYMBOL(library, "ncclAllReduce"), PROBE_SYMBOL(library, "ncclCommDestroy"),
		PROBE_SYMBOL(library, "ncclGetErrorString")};

	_Static_assert(sizeof symbols == sizeof *ret, "one symbol for each call");
	memcpy(ret, symbols, sizeof symbols);
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
		if (!symbols[i])
			return false;
	return true;
}

#define CUDA(name, expression) \
	do { \
		int rc_; \
		calling(r, name); \
		if ((rc_ = (expression)) != 0) \
			give_up(r, rc_, driver_error(&d, rc_)); \
	} while (0)
#define NCCL(name, expression) \
	do { \
		int rc_; \
		calling(r, name); \
		if ((rc_ = (expression)) != 0) \
			give_up(r, rc_, n.error_string(rc_)); \
	} while (0)

/* Small whole numbers, which float adds exactly: rank + 1 + i % 7. */
static void make(float *v, int rank)
{
	for (size_t i = 0; i < count; i++)
		v[i] = (float)(rank + 1) + (float)(i % WORD_MAX);
}

static int64_t count_wrong(const float *v, int ranks)
{
	int64_t wrong = 0;
	float base = (float)(ranks * (ranks + 1) / 2);

	for (size_t i = 0; i < count; i++)
		wrong += v[i] != base + (float)(ranks * (int)(i % WORD_MAX));
	return wrong;
}

static void run_rank(const char *path, int rank, int ranks, int index)
{
	struct rank *r = &shared->rank[rank];
	struct driver_api d;
	struct nccl_api n;
	struct unique_id id;
	cuda_context context;
	cuda_memory from, to;
	cuda_stream stream;
	nccl_comm comm;
	float *host;
	size_t bytes = count * sizeof(float);
	double start;
	int device;
	void *library;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	host = malloc(bytes);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	setvbuf(stdout, NULL, _IOLBF, 0); /* NCCL prints through it, and the process may end by force */
	calling(r, "dlopen");
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library || !nccl_load(&n, library))
		give_up(r, -1, library ? "the library lacks a call" : dlerror());
	if (driver_load(&d, true) != PROBE_OK || !host)
		give_up(r, -1, "libcuda.so.1");
	CUDA("cuInit", d.init(0));
	CUDA("cuDeviceGet", d.device(&device, index));
	CUDA("cuDevicePrimaryCtxRetain", d.retain(&context, device));
	CUDA("cuCtxSetCurrent", d.set_current(context));
	CUDA("cuMemAlloc", d.alloc(&from, bytes));
	CUDA("cuMemAlloc", d.alloc(&to, bytes));
	CUDA("cuStreamCreate", d.stream(&stream, 1));
	make(host, rank);
	CUDA("cuMemcpyHtoD", d.to_device(from, host, bytes));
	if (rank == 0) {
		NCCL("ncclGetVersion", n.version(&shared->version));
		NCCL("ncclGetUniqueId", n.unique(&shared->id));
		shared->have_id = 1;
	}
	calling(r, "waiting for rank 0");
	while (!shared->have_id)
		nap(1000);
	__sync_synchronize();
	id = shared->id;
	start = probe_clock_ms();
	NCCL("ncclCommInitRank", n.init(&comm, ranks, id, rank));
	r->init_ms = probe_clock_ms() - start;
	NCCL("ncclAllReduce", n.all_reduce((void *)(uintptr_t)from, (void *)(uintptr_t)to, count, NCCL_FLOAT32, NCCL_SUM, comm, stream));
	CUDA("cuStreamSynchronize", d.wait(stream));
	start = probe_clock_ms();
	for (int i = 0; i < ROUNDS; i++)
		NCCL("ncclAllReduce",
			n.all_reduce((void *)(uintptr_t)from, (void *)(uintptr_t)to, count, NCCL_FLOAT32, NCCL_SUM, comm, stream));
	CUDA("cuStreamSynchronize", d.wait(stream));
	r->round_ms = (probe_clock_ms() - start) / ROUNDS;
	CUDA("cuMemcpyDtoH", d.to_host(host, to, bytes));
	r->wrong = count_wrong(host, ranks);
	r->state = REDUCED;
	__sync_fetch_and_add(&shared->reduced, 1);
	/* Whoever leaves early makes the others complain. */
	for (int i = 0; i < GRACE_MS && shared->reduced < ranks; i++)
		nap(1000);
	calling(r, "ncclCommDestroy");
	n.destroy(comm);
	r->state = ENDED;
	_exit(0);
}

/* -- the parent ------------------------------------------------------------------------------------------------------------- */

static void reap(struct rank *r)
{
	int status;

	if (r->reaped || r->pid <= 0 || waitpid(r->pid, &status, WNOHANG) != r->pid)
		return;
	r->reaped = true;
	if (WIFSIGNALED(status))
		r->signal = WTERMSIG(status);
	else
		r->exited = WEXITSTATUS(status);
}

/* Until all are through, or one fell and the others had their time, or the deadline. */
static void watch(int ranks, double deadline)
{
	double fell = 0, all_reduced = 0;

	for (;;) {
		int left = 0, through = 0;
		double now = probe_clock_ms();

		for (int i = 0; i < ranks; i++) {
			struct rank *r = &shared->rank[i];

			reap(r);
			left += !r->reaped;
			through += r->state >= REDUCED;
			if (!fell && r->reaped && r->state < REDUCED)
				fell = now;
		}
		if (!all_reduced && through == ranks)
			all_reduced = now;
		if (!left || now > deadline || (fell && now > fell + GRACE_MS) || (all_reduced && now > all_reduced + GRACE_MS))
			return;
		nap(2000);
	}
}

static void stop(int ranks)
{
	for (int i = 0; i < ranks; i++)
		if (!shared->rank[i].reaped && shared->rank[i].pid > 0)
			kill(shared->rank[i].pid, SIGKILL);
	for (int k = 0; k < 100; k++) {
		int left = 0;

		/* The end that we made is not theirs. */
		for (int i = 0; i < ranks; i++) {
			struct rank *r = &shared->rank[i];
			int status;

			if (!r->reaped && r->pid > 0 && waitpid(r->pid, &status, WNOHANG) == r->pid)
				r->reaped = true;
			left += !r->reaped;
		}
		if (!left)
			return;
		nap(5000);
	}
}

static const char *state_of(const struct rank *r)
{
	return r->state >= REDUCED ? "done" : r->signal ? "crash" : r->state == FAILED ? "error" : r->exited ? "error" : "waiting";
}

static int report(int ranks, const int *device)
{
	int done = 0;
	double slowest = 0, init = 0;

	out_array("ranks");
	for (int i = 0; i < ranks; i++) {
		const struct rank *r = &shared->rank[i];

		out_object(NULL);
		out_int("rank", i);
		out_int("device", device[i]);
		out_text("state", state_of(r));
		if (r->state < REDUCED)
			out_text_n("call", r->call, sizeof r->call - 1);
		if (r->signal)
			out_int("signal", r->signal);
		if (r->state == FAILED)
			out_int("code", r->code), out_text_n("text", r->text, sizeof r->text - 1);
		if (r->state >= REDUCED)
			out_int("wrong", r->wrong);
		out_end();
		done += r->state >= REDUCED;
		slowest = r->round_ms > slowest ? r->round_ms : slowest;
		init = r->init_ms > init ? r->init_ms : init;
	}
	out_end();
	if (shared->version)
		out_int("version_code", shared->version);
	if (done < ranks)
		return PROBE_ERROR;
	out_int("bytes", (int64_t)(count * sizeof(float)));
	out_int("round_us", (int64_t)(slowest * 1e3));
	out_int("init_ms", (int64_t)init);
	return PROBE_OK;
}

int probe_test_nccl(char **args)
{
	int ranks, device[RANKS_MAX], listed = probe_numbers(args[2], device, RANKS_MAX);
	long deadline_ms = strtol(args[3], NULL, 10), bytes = strtol(args[4], NULL, 10);

	if (probe_numbers(args[1], &ranks, 1) != 1 || ranks < 1 || ranks > RANKS_MAX || listed < 1 || deadline_ms < 1 || bytes < 4)
		return 64;
	for (int i = listed; i < ranks; i++)
		device[i] = device[i % listed];
	count = (size_t)bytes / sizeof(float);
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return PROBE_ERROR;
	for (int i = 0; i < ranks; i++) {
		pid_t pid = fork();

		if (pid == 0)
			run_rank(args[0], i, ranks, device[i]);
		if (pid < 0)
			give_up(&shared->rank[i], 0, "fork");
		shared->rank[i].pid = pid;
	}
	watch(ranks, probe_clock_ms() + (double)deadline_ms);
	stop(ranks);
	return report(ranks, device);
}

/* -- without a GPU: which interface does it take? ----------------------------------------------------------------------------- */

int probe_test_unique(char **args)
{
	void *library = probe_load((const char *const[]){args[0], NULL});
	struct nccl_api n;
	struct unique_id id;
	int rc, version = 0;

	if (!library)
		return PROBE_MISSING;
	if (!nccl_load(&n, library)) {
		out_error("dlsym", -1, "the library lacks a call");
		return PROBE_ERROR;
	}
	if (n.version(&version) == 0)
		out_int("version_code", version);
	/* What it prints belongs into the log, and not between the lines of the answer. */
	probe_calling("ncclGetUniqueId", -1);
	fflush(stdout);
	int answer = dup(STDOUT_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	rc = n.unique(&id);
	fflush(stdout);
	dup2(answer, STDOUT_FILENO);
	if (rc) {
		out_error("ncclGetUniqueId", rc, n.error_string(rc));
		return PROBE_ERROR;
	}
	return PROBE_OK;
}
