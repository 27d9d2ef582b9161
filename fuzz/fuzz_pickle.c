/* Pickles from strangers, and the analysis of what they say. */
#include <stdint.h>
#include <stddef.h>

#include "logs/flight.h"
#include "parse/pickle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new(0);
	struct flight *f = flight_new(a);
	if (flight_add(f, "_dump_1", str_n((const char *)data, size)) == 0)
		flight_to_facts(f, facts_new(a));
	arena_free(a);
	return 0;
}
