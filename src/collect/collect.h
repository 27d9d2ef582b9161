/* Collectors: the machine's state, read through the door, as facts.
 *
 * A collector never fails: what it cannot read is a gap. It judges nothing. The order stands in collect.c; a later collector may use the
 * facts of an earlier one.
 */
#ifndef COLLECT_COLLECT_H
#define COLLECT_COLLECT_H

#include "facts/facts.h"
#include "host/host.h"

struct collect {
	struct host *host;
	struct facts *facts;
	struct arena *arena;
	const char *python;      /* --python: interpreter, venv or conda prefix; NULL: find it */
	const char *backend;     /* --for; NULL: by the devices found */
	bool deep;               /* hash files too */
	bool files_only;         /* start no probe: its facts are gaps */
	bool for_lock;           /* read what only a lock needs: digests of RECORD files, conda's packages */
	bool digests;            /* of the RECORD files of what runs on GPUs: facts that are compared with those of other nodes or times */
	const struct lock *lock; /* a lock that the environment is compared with; NULL */
	const char *lock_path;
	const bool *asked; /* TABLE_COUNT: only these tables are wanted, and collectors that add nothing to them may stay out; NULL: all */
	const bool *asked_columns; /* COLUMN_COUNT, with `asked`: other columns may stay empty */
	void (*progress)(void *arg, unsigned long long done, unsigned long long total); /* of long work, in bytes; NULL: nobody looks */
	void *progress_arg;
	struct ldso_ahead *ahead; /* a thread that reads PyTorch's libraries while other subjects are looked at; or NULL */
};

struct collector {
	const char *name;
	void (*run)(struct collect *c);
};

extern const struct collector collectors[];
extern const size_t collector_count;

/* Runs all, or those that c->asked is about; ret_ms, when given, has collector_count places for the time of each. */
void collect_all(struct collect *c, double *ret_ms);

/* One file a subject. */
void collect_system(struct collect *c);
void collect_pci(struct collect *c);
void collect_kernel_module(struct collect *c);
void collect_driver(struct collect *c);
void collect_gpu(struct collect *c);
void collect_accelerator(struct collect *c);
void collect_gpu_pair(struct collect *c);
void collect_probe_start(struct collect *c);
void collect_probe(struct collect *c); /* waits for what the probes say: late */
void collect_device_node(struct collect *c);
void collect_purpose(struct collect *c);
void collect_lock(struct collect *c); /* last */
void collect_python(struct collect *c);
void collect_torch_start(struct collect *c); /* begins to read the libraries, as soon as sys.path is known */
void collect_torch(struct collect *c);       /* after python, late */
void collect_toolkit(struct collect *c);     /* after python */
void collect_container(struct collect *c);
void collect_mount(struct collect *c); /* after python: its prefix */
void collect_limit(struct collect *c);
void collect_variable(struct collect *c);
void collect_network(struct collect *c); /* after system: the host's name */
void collect_rdma(struct collect *c);

#endif
