/* Archives of snapshots and their index, as strangers send them. */
#include <stdint.h>
#include <stddef.h>

#include "host/archive.h"

static int member(void *arg, const char *name, struct str data)
{
	size_t *sum = arg;
	*sum += strlen(name) + data.len;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new(0);
	const char *why = NULL;
	size_t sum = 0;
	archive_read_bytes(a, str_n((const char *)data, size), member, &sum, &why);
	arena_free(a);
	return 0;
}
