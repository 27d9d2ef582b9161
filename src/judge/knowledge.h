/* Knowledge at run time: the embedded image, then the folders that override it. */
#ifndef JUDGE_KNOWLEDGE_H
#define JUDGE_KNOWLEDGE_H

#include "facts/store.h"
#include "host/host.h"

/* Opens a store with everything that is known. `extra` is --knowledge DIR or NULL. What is wrong in an overriding folder is said in
 * *ret_warnings (may be empty), the rest of it counts. 0 or negative errno. */
int knowledge_open(struct arena *a, const void *image, size_t size, const char *extra, struct store **ret, const char **ret_warnings);

#endif
