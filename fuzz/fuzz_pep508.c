#include <stdlib.h>

#include "parse/pep508.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str s = str_n((const char *)data, size);
	struct arena *a = arena_new(0);
	struct pep508 r;
	struct pep508_environment env = {.python_version = STR("3.11"), .sys_platform = STR("linux"), .extra = STR("x")};
	bool yes;
	if (parse_pep508(s, &r) == 0 && r.marker.len && parse_pep508_marker(r.marker, &env, &yes) == -22)
		abort();
	parse_pep508_marker(s, &env, &yes);
	parse_pep503_name(a, s);
	arena_free(a);
	return 0;
}
