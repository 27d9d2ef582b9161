#include "collect/hashes.h"

#include <pthread.h>
#include <stdatomic.h>

#include "collect/binary.h"
#include "parse/sha256.h"

#define THREADS_MAX 16

static int make_sha256(struct host_file *file, struct buf *ret_text, void *arg)
{
	char text[PARSE_SHA256_TEXT];
	struct parse_source source = collect_binary_source(file);
	(void)arg;
	int rc = parse_sha256(&source, text);
	if (rc == 0)
		buf_text(ret_text, text);
	return rc;
}

int collect_hash(struct host *h, const char *path, struct str *ret)
{
	return host_digest(h, "sha256", path, make_sha256, NULL, ret);
}

struct hashing {
	const struct hash_job *jobs;
	size_t count;
	atomic_size_t next;
	atomic_ullong done; /* bytes */
};

struct worker {
	struct hashing *hashing;
	struct arena *arena;
	struct host *host;
	pthread_t thread;
};

/* One file after the other, until none is left. */
static bool hash_next(struct hashing *x, struct host *h)
{
	struct str text;
	size_t i = atomic_fetch_add(&x->next, 1);
	if (i >= x->count)
		return false;
	collect_hash(h, x->jobs[i].path, &text);
	atomic_fetch_add(&x->done, x->jobs[i].size);
	return true;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	while (hash_next(w->hashing, w->host))
		;
	return NULL;
}

static int larger_first(const void *a, const void *b)
{
	const struct hash_job *x = a, *y = b;
	return x->size > y->size ? -1 : x->size < y->size;
}

static size_t start_workers(struct host *h, struct hashing *x, struct worker *workers, int64_t wanted)
{
	size_t n = 0;
	while ((int64_t)n < wanted) {
		struct worker *w = &workers[n];
		*w = (struct worker){.hashing = x, .arena = arena_new(0)};
		w->host = host_twin(h, w->arena);
		if (!w->host || pthread_create(&w->thread, NULL, work, w) != 0) {
			if (w->host)
				host_close(w->host);
			arena_free(w->arena);
			break;
		}
		n++;
	}
	return n;
}

void collect_hash_ahead(struct collect *c, struct hash_job *jobs, size_t count)
{
	struct worker workers[THREADS_MAX];
	struct hashing x = {.jobs = jobs, .count = count};
	unsigned long long total = 0;
	int64_t cpus = 1;
	if (!host_is_this_machine(c->host))
		return;
	if (host_cpus_allowed(c->host, &cpus) < 0 || cpus < 1)
		cpus = 1;
	if (cpus > THREADS_MAX)
		cpus = THREADS_MAX;
	for (size_t i = 0; i < count; i++)
		total += jobs[i].size;
	qsort(jobs, count, sizeof *jobs, larger_first);
	size_t n = start_workers(c->host, &x, workers, cpus - 1);
	while (hash_next(&x, c->host))
		if (c->progress)
			c->progress(c->progress_arg, atomic_load(&x.done), total);
	for (size_t i = 0; i < n; i++) {
		pthread_join(workers[i].thread, NULL);
		host_close(workers[i].host);
		arena_free(workers[i].arena);
	}
	if (c->progress)
		c->progress(c->progress_arg, total, total);
}
