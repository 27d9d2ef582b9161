/* Renderers: a judgement in a form for people or programs. They write into a buffer and decide nothing. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "judge/finding.h"

/* A further line on which an event stands. */
struct report_line {
	const char *file;
	int64_t line, rank; /* rank -1: that of the event */
	double time;        /* NAN: unknown */
};

struct report {
	struct arena *arena;
	const struct judgement *judgement;
	const struct facts *facts;
	const char *command;  /* "check", "explain" */
	const char *headline; /* first line of the terminal form; NULL */
	const char *block;    /* lines below it, as they shall stand there; NULL */
	const char *verdict;  /* instead of the usual sentence; NULL */
	int64_t time;         /* when the machine was examined, seconds since the epoch; 0: not said */
	bool chinese, color, unicode;
	bool verbose, all;
	int columns;
	double total_ms;
	const char *const *part_names; /* times of the parts, for --verbose and timing_ms */
	const double *part_ms;
	size_t part_count;
	const struct json_extra *extra; /* command's own members of the JSON object; NULL */
	/* The i-th further line of the event in this row of `event`; false: there are no more. NULL: none has. */
	bool (*event_line)(void *arg, int row, size_t i, struct report_line *ret);
	void *event_line_arg;
};

struct json_writer;
struct json_extra {
	void (*write)(struct json_writer *w, void *arg);
	void *arg;
};

void report_terminal(const struct report *r, struct buf *out);
const char *report_verdict(const struct report *r); /* one sentence */
void report_json(const struct report *r, struct buf *out);
void report_quiet(const struct report *r, struct buf *out);    /* nothing when all is well, one line otherwise */
void report_brief(const struct report *r, struct buf *out);    /* one screen for a bug report */
void report_header(const struct report *r, struct buf *out);   /* a few lines for a training log */
void report_markdown(const struct report *r, struct buf *out); /* for an issue tracker */
void report_html(const struct report *r, struct buf *out);     /* one page without outside references */
void report_facts(const struct report *r, struct buf *out);    /* every fact with its origin, for --verbose */

#endif
