#include <stdlib.h>

#include "parse/conda_meta.h"
#include "parse/dist_info.h"
#include "parse/lock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Lock files, conda's metadata and what RECORD comes to: no two names that a command could not hold. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str s = str_n((const char *)data, size);
	struct arena *a = arena_new(0);
	struct lock lock;
	struct conda_meta m;
	if (parse_lock(a, s, &lock) == 0) {
		for (size_t i = 0; i < lock.count; i++)
			if (strspn(lock.packages[i].name, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(lock.packages[i].name))
				abort();
	} else if (!lock.why && size < 1000) {
		abort();
	}
	if (parse_conda_meta(a, s, &m) == 0 && !m.name.len)
		abort();
	parse_dist_record_digest(a, s);
	arena_free(a);
	return 0;
}
