/* What the tests need of the CUDA driver API. All calls give a CUresult. */
#ifndef DRIVER_API_H
#define DRIVER_API_H

#include "probe.h"

typedef struct cuda_context *cuda_context;
typedef struct cuda_stream *cuda_stream;
typedef unsigned long long cuda_memory;

struct driver_api {
	int (*init)(unsigned);
	int (*count)(int *);
	int (*device)(int *, int);
	int (*bus_id)(char *, int, int);
	int (*error_string)(int, const char **);
	int (*retain)(cuda_context *, int); /* the primary context: the one that PyTorch and NCCL use */
	int (*set_current)(cuda_context);
	int (*synchronize)(void);
	int (*memory_info)(size_t *, size_t *);
	int (*alloc)(cuda_memory *, size_t);
	int (*free)(cuda_memory);
	int (*alloc_host)(void **, size_t, unsigned);
	int (*to_device)(cuda_memory, const void *, size_t);
	int (*to_host)(void *, cuda_memory, size_t);
	int (*on_device)(cuda_memory, cuda_memory, size_t);
	int (*fill)(cuda_memory, unsigned, size_t); /* words of 32 bits */
	int (*to_peer)(cuda_memory, cuda_context, cuda_memory, cuda_context, size_t);
	int (*can_peer)(int *, int, int);
	int (*enable_peer)(cuda_context, unsigned);
	int (*disable_peer)(cuda_context);
	int (*stream)(cuda_stream *, unsigned);
	int (*wait)(cuda_stream);
};

enum { CUDA_OUT_OF_MEMORY = 2, CUDA_PEER_ENABLED = 704 };

/* PROBE_OK; otherwise the answer says why not. `quiet`: nothing is written to the answer (a child that has none). */
int driver_load(struct driver_api *ret, bool quiet);
const char *driver_error(const struct driver_api *d, int code);
/* Writes "error" into the answer and gives PROBE_ERROR. */
int driver_fail(const struct driver_api *d, const char *call, int code);

/* Words that no other seed gives; how many of `n` words differ from them. */
void pattern_make(unsigned *words, size_t n, unsigned seed);
size_t pattern_wrong(const unsigned *words, size_t n, unsigned seed);

#endif
