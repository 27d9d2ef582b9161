/* Inside davy compare: where nodes come from, and how the comparison is shown. The last part serves davy cluster too. */
#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include "cli/cli.h"
#include "fleet/outliers.h"
#include "report/json_writer.h"

struct compare_input {
	struct cli *c;
	struct align *align;
	char *buffer; /* of streams; malloc's */
	size_t cap;
	size_t missing; /* arguments that are not there */
};

/* One argument: a snapshot, a folder of them, an archive of one or many, `davy check --json` objects one after the other, facts as lines,
 * or "-". What cannot be used is noted in align->lost; 0, or -ENOENT when there is no such file. */
int compare_read(struct compare_input *in, const char *arg);
void compare_input_free(struct compare_input *in);

/* What differs, for people: odd nodes first, then what is different in each group. Nothing when nothing is. */
void compare_text(struct cli *c, const struct outliers *o, struct buf *out);
/* The same as one member "compare" of a JSON object. */
void compare_json(struct json_writer *w, const struct outliers *o);
/* A difference that is no mere show stands in it. */
bool compare_has_drift(const struct outliers *o);
/* Evidence that names the row of `spread` shall name the fact itself. */
void compare_name_evidence(struct arena *a, const struct facts *f, struct judgement *j);

#endif
