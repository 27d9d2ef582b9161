/* YAML of knowledge folders that override. */
#include <stdint.h>
#include <stddef.h>

#include "judge/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new(0);
	struct yaml *y;
	const char *why = NULL;
	int line = 0;
	if (yaml_parse(a, str_n((const char *)data, size), &y, &why, &line) == 0 && y)
		yaml_lines(a, y, "id");
	arena_free(a);
	return 0;
}
