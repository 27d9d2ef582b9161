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
	static const char *const paths[] = {"", "/etc/hosts", "/node_desc", "/etc/machine-id", "/proc/net/if_inet6", "/proc/net/route",
		"/proc/net/fib_trie", "/proc/self/mountinfo", "/proc/cmdline", "/proc/1/environ", "/direct_url.json"};
	redactor_learn(r, "domain", STR("corp.example.org"));
	if (size && data[0] < sizeof paths / sizeof paths[0])
		redact_file(r, paths[data[0]], str_n((const char *)data + 1, size - 1));
	else if (size && data[0] == 32)
		redact_variable(r, str_n((const char *)data + 1, size - 1));
	else
		redact_text(r, str_n((const char *)data, size));
	arena_free(a);
	return 0;
}
