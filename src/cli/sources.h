/* What `davy explain` reads: files, folders, globs, standard input, opened through the door one after another. */
#ifndef CLI_SOURCES_H
#define CLI_SOURCES_H

#include <pthread.h>

#include "cli/cli.h"
#include "logs/flight.h"
#include "logs/logs.h"

#define SOURCES_MAX 100000

struct source_file {
	const char *name, *path; /* path NULL: the open file `fd` */
	int fd;
	struct str text; /* read instead of the file: what standard input gave, and with --follow what is no longer in the file */
	unsigned number;
	int error;
	bool dump; /* a Flight Recorder dump */
};

struct sources {
	struct host *host;
	pthread_mutex_t door;  /* one thread at a time opens, and takes in a dump */
	struct flight *flight; /* Flight Recorder dumps among the files */
	struct arena *arena;
	struct source_file *source;
	size_t count, cap;
};

/* 0, or an exit status that was said on standard error. */
int sources_expand(struct cli *c, const char **args, size_t n, struct sources *ret);
/* Appends what the folders and globs among the same arguments hold by now and did not before. Looks through `door`, which must be a new
 * one, for a door remembers its answers; its arena `a` is free afterwards. */
void sources_find_more(struct sources *s, struct host *door, struct arena *a, const char **args, size_t n);
/* Flight Recorder dumps inside archives go to s->flight. */
void sources_take_dumps(struct sources *s, struct logs *logs);
/* Standard input can be read once: what it gave is kept in `text` when it is small, for a second reading. */
void sources_scan(struct sources *s, size_t i, struct logs *logs);
/* Names what could not be read. An exit status when nothing could. */
int sources_report(struct cli *c, const struct sources *s);

#endif
