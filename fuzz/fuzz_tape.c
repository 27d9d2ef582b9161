/* Archives of tar and of zip from strangers, and short texts that may be wrapped, each way of joining their lines. */
#include <stdint.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "logs/logs.h"
#include "logs/tape.h"
#include "logs/zip_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct source {
	const uint8_t *p;
	size_t n;
};

static ssize_t give(void *arg, void *p, size_t n)
{
	struct source *s = arg;
	size_t k = s->n < n ? s->n : n;
	memcpy(p, s->p, k);
	s->p += k;
	s->n -= k;
	return (ssize_t)k;
}

/* The checksum of each header is mended, or no mutation would ever get past it. */
static void mend(uint8_t *p, size_t size)
{
	for (size_t at = 0; at + 512 <= size; at += 512) {
		unsigned sum = 0;
		if (at && memcmp(p + at + 257, "ustar", 5) != 0)
			continue;
		memcpy(p + at + 257, "ustar", 5);
		for (size_t i = 0; i < 512; i++)
			sum += i >= 148 && i < 156 ? ' ' : p[at + i];
		for (int i = 5; i >= 0; i--, sum >>= 3)
			p[at + 148 + (size_t)i] = (uint8_t)('0' + (sum & 7));
		p[at + 154] = 0;
		p[at + 155] = ' ';
	}
}

static void walk(const uint8_t *data, size_t size)
{
	struct source s = {data, size};
	struct tape t = {.in = logs_input_new(give, &s)};
	char piece[777];
	size_t files = 0, total = 0;
	ssize_t got;
	while (files++ < 1000 && tape_next(&t))
		while (files % 3 && total < (size_t)64 << 20 && (got = tape_read(&t, piece, sizeof piece)) > 0)
			total += (size_t)got;
	if (strnlen(t.name, sizeof t.name) == sizeof t.name)
		__builtin_trap();
	logs_input_free(t.in);
}

static void walk_zip(const uint8_t *data, size_t size)
{
	struct source s = {data, size};
	struct zip_stream *z = calloc(1, sizeof *z);
	char piece[777];
	size_t files = 0, total = 0;
	ssize_t got;
	if (!z)
		abort();
	z->in = logs_input_new(give, &s);
	while (files++ < 1000 && zip_stream_next(z))
		while (files % 3 && total < (size_t)64 << 20 && (got = zip_stream_read(z, piece, sizeof piece)) > 0)
			total += (size_t)got;
	if (strnlen(z->name, sizeof z->name) == sizeof z->name)
		__builtin_trap();
	logs_input_free(z->in);
	zip_stream_close(z);
	free(z);
}

static void join(const uint8_t *data, size_t size)
{
	for (int way = UNWRAP_SURE; way <= UNWRAP_AT_WORDS; way++) {
		size_t room = size + size / 2 + 64, newlines = 0, after = 0;
		char *p = malloc(room);
		if (!p)
			abort();
		memcpy(p, data, size);
		size_t n = unwrap_text(p, size, room, (enum unwrap_way)way);
		for (size_t i = 0; i < size; i++)
			newlines += data[i] == '\n';
		for (size_t i = 0; i < n; i++)
			after += p[i] == '\n';
		if (n > room || after != newlines)
			__builtin_trap();
		free(p);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);
	if (!copy)
		abort();
	memcpy(copy, data, size);
	join(copy, size);
	walk_zip(copy, size);
	mend(copy, size);
	walk(copy, size);
	free(copy);
	return 0;
}
