/* davy inspect: shared by its files. */
#ifndef CLI_INSPECT_H
#define CLI_INSPECT_H

#include "cli/cli.h"
#include "collect/ldso.h"
#include "report/json_writer.h"

#define INSPECT_UNDEFINED_MAX 20

/* A library or program that was named. */
struct inspect_file {
	const char *path;
	int error; /* of opening or reading it */
	struct host_file *file;
	struct arena *memory; /* of elf, while the file is open */
	struct parse_source source;
	struct elf elf; /* after inspect_read only its numbers */
	struct fatbin *code;
	struct elf_digest digest;
	const char *version; /* by its symbols or its name; NULL */
	struct ldso_result loader;
	int root;                /* its index among the loader's objects; -1 */
	const char *after_torch; /* what comes before it was loaded as by `import torch` from this directory; NULL */
	const char *undefined[INSPECT_UNDEFINED_MAX];
	size_t undefined_count; /* may be more than the names kept */
};

/* Opens and reads files, several at once, and lets the loader look for what they need. */
void inspect_read(struct cli *c, struct host *door, struct inspect_file *files, size_t count);
/* 0 fine, EXIT_FAULT, EXIT_UNKNOWN. */
int inspect_status(const struct inspect_file *f);
/* The library comes with a driver or another package at run time: missing here says little. */
bool inspect_is_foreign(const struct inspect_file *f, const char *name);

void inspect_json(const struct inspect_file *f, struct json_writer *w, const char *key);
void inspect_text(struct cli *c, const struct inspect_file *f, struct buf *out);

/* A wheel, or a source archive. Its exit status; json NULL: as text into `out`. */
int inspect_wheel(struct cli *c, struct host *door, const char *path, struct json_writer *w, struct buf *out);

/* -- lines of the text form -- */
void inspect_row(struct cli *c, struct buf *out, const char *name, const char *value);
void inspect_trouble(struct cli *c, struct buf *out, bool fault, const char *text);
const char *inspect_size(struct cli *c, uint64_t bytes);

/* A snapshot: an archive or a folder. Its exit status; json NULL: as text into `out`. */
int inspect_snapshot(struct cli *c, const char *path, struct json_writer *w, struct buf *out);

/* A running process. Its exit status; json NULL: as text into `out`. */
int inspect_process(struct cli *c, struct host *door, const char *pid, struct json_writer *w, struct buf *out);

#endif
