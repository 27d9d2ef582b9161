/* Archives from strangers, and UTF-16. Output is read to the end in odd pieces, at most 64 MiB of it. */
#include <stdint.h>
#include <stddef.h>
#include <string.h>

#include "logs/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct source {
	const uint8_t *p;
	size_t n;
};

/* First in small pieces, as a pipe gives them. */
static ssize_t give(void *arg, void *p, size_t n)
{
	struct source *s = arg;
	size_t k = s->n % 7 == 0 ? 1 : s->n < n ? s->n : n;
	if (k > s->n)
		k = s->n;
	memcpy(p, s->p, k);
	s->p += k;
	s->n -= k;
	return (ssize_t)k;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char out[70000];
	struct source s = {data, size};
	struct logs_input *in = logs_input_new(give, &s);
	size_t total = 0, want = 64, got;
	while (total < (size_t)64 << 20 && (got = logs_input_read(in, out, want)) > 0) {
		if (got > want)
			__builtin_trap();
		total += got;
		want = want * 3 % 65000 + 64;
	}
	logs_input_free(in);
	return 0;
}
