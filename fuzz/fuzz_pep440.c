#include <stdlib.h>

#include "parse/pep440.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str s = str_n((const char *)data, size);
	struct arena *a = arena_new(0);
	struct str left, rest = s;
	struct pep440 v, w;
	bool yes;
	str_next_field(&rest, '\n', &left);
	if (parse_pep440(left, &v) == 0) {
		struct buf b = BUF_MAX(1 << 20);
		parse_pep440_print(&v, &b);
		/* The normal form reads back as the same version. */
		if (parse_pep440(buf_view(&b), &w) || parse_pep440_compare(&v, &w))
			abort();
		if (rest.ptr && parse_pep440(rest, &w) == 0 && parse_pep440_compare(&v, &w) != -parse_pep440_compare(&w, &v))
			abort();
		if (rest.ptr)
			parse_pep440_match(rest, &v, PEP440_AS_SPECIFIED, &yes);
		buf_free(&b);
	}
	arena_free(a);
	return 0;
}
