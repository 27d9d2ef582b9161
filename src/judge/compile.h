/* The knowledge compiler: YAML and TSV files into the tables that judge/knowledge.h reads.
 *
 * The build runs it over knowledge/ and embeds the result; at run time it reads the folders that override. Everything is checked: keys,
 * ids, enumerations, SQL that prepares against the fact and knowledge tables, placeholders, Chinese texts.
 */
#ifndef JUDGE_COMPILE_H
#define JUDGE_COMPILE_H

#include "facts/store.h"
#include "host/host.h"

struct compile_result {
	int errors, missing_zh, missing_causes;
	struct buf messages;     /* "file:line: reason", a line each; buf_free it */
	struct buf untranslated; /* the same for missing_zh */
};

/* Compiles the folder `dir` as seen through the door into the store. Entries with a known id replace the old ones. */
void compile_folder(struct arena *a, struct host *h, const char *dir, struct store *s, struct compile_result *result);

/* The tables of knowledge, empty: for a store that was opened without an image. */
int compile_create_tables(struct store *s);

/* Stages in the order of the map; NULL ends. */
extern const char *const compile_stages[];
int compile_stage_of(const char *cause_id); /* index, or -1 */

#endif
