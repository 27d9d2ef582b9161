/* davy-knowledge DIR OUT: compiles DIR and writes the SQLite image that davy embeds. Fails on the first sign of trouble. */
#include <errno.h>
#include <stdio.h>

#include "host/host.h"
#include "judge/compile.h"
#include "logs/logs.h"
#include "logs/match.h"

/* Would the scanner leave the pattern out? It does with one that cannot be compiled, or without a piece of text that its lines must have.
 */
static bool is_usable(const struct logs_pattern *p)
{
	const char *why = NULL;
	struct logs *l = logs_new(p, 1, NULL, 0, &why);
	if (why)
		fprintf(stderr, "pattern %s: %s\n", p->id, why);
	logs_free(l);
	return !why;
}

struct literals {
	int64_t *ord;
	const char **text;
	size_t count, cap, text_cap;
};

/* The literals of all patterns. False: one of the patterns would be left out. */
static bool read_literals(struct arena *a, struct store *s, struct literals *ret)
{
	struct store_query *read;
	bool usable = true;
	*ret = (struct literals){.count = 0};
	if (store_prepare(s, "SELECT ord, regex, format, id FROM pattern", &read, NULL) < 0)
		return false;
	while (store_step(read) > 0) {
		struct logs_pattern p = {.id = store_text(read, 3), .regex = store_text(read, 1), .format = store_text(read, 2)};
		const char *literals = logs_pattern_literals(a, &p);
		usable &= literals || is_usable(&p);
		ret->ord = arena_grow(a, ret->ord, ret->count, &ret->cap, sizeof *ret->ord);
		ret->text = arena_grow(a, ret->text, ret->count, &ret->text_cap, sizeof *ret->text);
		ret->ord[ret->count] = store_int(read, 0);
		ret->text[ret->count++] = literals;
	}
	store_finish(read);
	return usable;
}

/* What the log scanner would work out at each start is worked out here. */
static int add_literals(struct arena *a, struct store *s)
{
	struct literals l;
	struct store_query *write;
	if (!read_literals(a, s, &l) || store_prepare(s, "UPDATE pattern SET literals=? WHERE ord=?", &write, NULL) < 0)
		return -EINVAL;
	logs_place_literals(a, l.text, l.count);
	for (size_t i = 0; i < l.count; i++) {
		store_bind_text(write, 1, l.text[i]);
		store_bind_int(write, 2, l.ord[i]);
		int rc = store_step(write);
		store_reset(write);
		if (rc < 0)
			return rc;
	}
	store_finish(write);
	return 0;
}

int main(int argc, char **argv)
{
	struct arena *a = arena_new(0);
	struct store *s;
	struct host *h;
	struct compile_result result = {.messages = BUF_MAX((size_t)1 << 20), .untranslated = BUF_MAX((size_t)1 << 20)};
	const void *image;
	size_t size;
	if (argc < 3 || store_open(a, NULL, 0, &s) < 0 || compile_create_tables(s) < 0 || host_open_live(a, NULL, &h) < 0) {
		fprintf(stderr, "usage: davy-knowledge DIR OUT\n");
		return 64;
	}
	char *dir = realpath(argv[1], NULL); /* the door takes absolute paths */
	if (!dir) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
		return 66;
	}
	compile_folder(a, h, dir, s, &result);
	free(dir);
	if (result.messages.len)
		fputs(result.messages.ptr, stderr);
	if (result.missing_zh && getenv("DAVY_KNOWLEDGE_STRICT"))
		fputs(result.untranslated.ptr, stderr);
	if (result.missing_zh)
		fprintf(stderr, "%d sentences without Chinese\n", result.missing_zh);
	if (result.errors || (getenv("DAVY_KNOWLEDGE_STRICT") && (result.missing_zh || result.missing_causes)))
		return 1;
	FILE *f = fopen(argv[2], "wb");
	if (!f || add_literals(a, s) < 0 || store_serialize(s, &image, &size) < 0 || fwrite(image, 1, size, f) != size || fclose(f) != 0) {
		fprintf(stderr, "%s: %s\n", argv[2], strerror(errno));
		return 1;
	}
	buf_free(&result.messages);
	buf_free(&result.untranslated);
	store_close(s);
	host_close(h);
	arena_free(a);
	return 0;
}
