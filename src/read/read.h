/* Readers of foreign output: what a tool printed and somebody pasted or logged (nvidia-smi, collect_env, pip list, df, ...)
 * becomes rows of the fact tables, each value with "file:line" as its origin.
 *
 * A reader names its triggers: literal texts of at least four characters (case-sensitive) that stand in the first line it wants
 * to see. When such a line turns up, the reader gets the lines from there on (at most READ_LINES_MAX lines and 1 MiB) and says how many
 * were its own; 0 means: not mine, and the next reader is asked. Lines come clean: without ANSI codes, quote marks, HTML entities, CR, NUL,
 * the launcher's prefix in front (rank, pod, node), and of interleaved streams only the one that the trigger stands in. They are untrusted
 * all the same. Lines before the trigger (the shell prompt with the command, the upper border of a table) are in `before`.
 *
 * A reader never fails: what it cannot read is a gap, or not mentioned.
 */
#ifndef READ_READ_H
#define READ_READ_H

#include "facts/facts.h"

#define READ_LINES_MAX 20000

struct read_line {
	struct str text;
	size_t number; /* line number in the file, from 1 */
};

struct read_input {
	const char *file;             /* name for origins, "-" for standard input */
	const struct read_line *line; /* line[0] holds the trigger */
	size_t count;
	struct str before[3]; /* before[0] is the line above the trigger; empty when there is none */
};

struct reader {
	const char *name;
	const char *const *triggers;                                  /* ends with NULL */
	size_t (*read)(const struct read_input *in, struct facts *f); /* lines consumed */
};

/* All readers in the order in which they are asked; ends with NULL. */
extern const struct reader *const readers[];

/* "file:line" of in->line[i], in the arena of f. */
const char *read_origin(struct facts *f, const struct read_input *in, size_t i);

/* The command after a shell prompt: "$ df -h", "root@x:~# df -h", "(env) user@h:~/d$ df -h", ">>> x". False when the line is no prompt. */
bool read_prompt(struct str line, struct str *ret_command);

#endif
