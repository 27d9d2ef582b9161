/* Every reader of foreign output over the same text. */
#include <stdint.h>
#include <stddef.h>

#include "read/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new(0);
	struct facts *f = facts_new(a);
	struct str rest = str_n((const char *)data, size), line;
	size_t n = 0, cap = 0;
	struct read_line *lines = NULL;
	while (str_next_line(&rest, &line) && n < 2000) {
		if (!lines || n == cap)
			lines = arena_grow(a, lines, n, &cap, sizeof *lines);
		lines[n] = (struct read_line){line, n + 1};
		n++;
	}
	for (size_t i = 0; readers[i] && n; i++) {
		struct read_input in = {.file = "-", .line = lines, .count = n};
		size_t used = readers[i]->read(&in, f);
		if (used > n)
			__builtin_trap();
	}
	arena_free(a);
	return 0;
}
