/* Private data in any text: bounded, and what was replaced once is not replaced again. */
#include <stdint.h>
#include <stddef.h>

#include "host/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new(0);
	struct redactor *r = redactor_new_plain(a);
	redactor_learn(r, "host", STR("node-17"));
	redact_text(r, str_n((const char *)data, size));
	arena_free(a);
	return 0;
}
