#include "parse/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(const struct json *v)
{
	int64_t i;
	double r;
	volatile char sink = 0;
	(void)sink;

	parse_json_int(v, &i);
	parse_json_real(v, &r);
	if (v->type == JSON_TEXT)
		for (size_t n = 0; n < v->text.len; n++)
			sink ^= v->text.ptr[n];
	for (const struct json *e = parse_json_first(v); e; e = e->next)
		walk(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new(0);
	struct str rest = str_n((const char *)data, size);
	const struct json *v;

	while (parse_json_next(a, &rest, &v) == 0)
		walk(v);
	arena_free(a);
	return 0;
}
