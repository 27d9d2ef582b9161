/* SHA-256 of many files, with all processors: what threads have hashed is there when it is asked for one by one. */
#ifndef COLLECT_HASHES_H
#define COLLECT_HASHES_H

#include "collect/collect.h"

struct hash_job {
	const char *path;
	uint64_t size;
};

/* As RECORD has it: base64 for URLs, without padding. 0, or the door's negative errno. */
int collect_hash(struct host *h, const char *path, struct str *ret);

/* Hashes them, the largest first. Does nothing where there is one processor, a root or a snapshot; calls c->progress, when set, as it goes.
 * Sorts `jobs`. */
void collect_hash_ahead(struct collect *c, struct hash_job *jobs, size_t count);

#endif
