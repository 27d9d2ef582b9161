#include <stdlib.h>

#include "parse/dist_info.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str s = str_n((const char *)data, size);
	struct arena *a = arena_new(0);
	struct dist_record r;
	for (int rc; (rc = parse_dist_record(a, &s, &r));)
		if (rc > 0 && r.path.len == 0)
			abort();
	arena_free(a);
	return 0;
}
