#include <stdlib.h>

#include "parse/dist_info.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str s = str_n((const char *)data, size);
	struct arena *a = arena_new(0);
	struct dist_metadata m;
	struct str *list;
	size_t count;
	parse_dist_metadata(a, s, &m);
	parse_dist_requires_txt(a, s, &list, &count);
	struct str rest = s, line, value;
	while (parse_dist_pth(&rest, &line) != DIST_PTH_END)
		;
	struct dist_venv v;
	parse_dist_pyvenv(s, &v);
	parse_dist_assignment(s, "cuda", &value);
	struct dist_direct_url d;
	parse_dist_direct_url(a, s, &d);
	enum dist_kind kind;
	parse_dist_directory(s, &kind, &line, &value);
	arena_free(a);
	return 0;
}
