/* Logs from strangers: cleaning, the grammar of prefixes, the first stage, expressions and formats, folding, snippets. A few patterns of
 * each kind stand for the knowledge. */
#include <stdint.h>
#include <stddef.h>
#include <stdlib.h>

#include "logs/logs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct logs_pattern patterns[] = {
	{.id = "a", .class = LOGS_EVIDENCE, .regex = "(?<name>\\w+Error): (?<path>.*) failed(?: with (?<code>\\d+))?$"},
	{.id = "b", .class = LOGS_CONSEQUENCE, .format = "Watchdog caught collective operation timeout: %s ran for %d milliseconds"},
	{.id = "c", .class = LOGS_NOISE, .format = "connect to %s<%d> returned %s, retrying (%d/%d)"},
	{.id = "d", .class = LOGS_EVIDENCE, .regex = "(?i)out of memory|Xid (?<xid>\\d+)|(?:a+)+b killed"},
	{.id = "e", .class = LOGS_ADVICE, .regex = "[：:] ?已杀死|Killed"},
};
static const char *const triggers[] = {"NVIDIA-SMI", "Filesystem"};

static size_t look(void *arg, unsigned trigger, const struct logs_lines *lines)
{
	size_t *sum = arg;
	for (size_t i = 0; i < lines->count; i++)
		*sum += lines->line[i].text.len;
	return trigger ? 0 : 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *why;
	size_t sum = 0;
	struct logs *l = logs_new(patterns, sizeof(patterns) / sizeof(patterns[0]), triggers, 2, &why);
	char *copy = malloc(size + 1); /* so that a byte read past the end is seen */
	if (!l || !copy)
		abort();
	for (size_t i = 0; i < size; i++)
		copy[i] = (char)data[i];
	for (int twice = 0; twice < 2; twice++)
		logs_scan_text(l, logs_add_file(l, "log"), 1, copy, size);
	logs_finish(l);
	logs_dispatch(l, triggers, look, &sum);
	logs_free(l);
	free(copy);
	return 0;
}
