#include "parse/ldcache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf text = BUF_MAX((size_t)1 << 20);
	parse_ldcache_text(str_n((const char *)data, size), &text);
	buf_free(&text);
	return 0;
}
