/* Which patterns does a line match?
 *
 * A matcher holds all patterns of the knowledge and, for the first stage, one required literal (or a few) of each. It is made once and may
 * be used by several threads, each with a scratch of its own. Expressions are compiled when their literal turns up for the first
 * time. Time for a line is bounded: PCRE2 runs under limits, formats are matched with a budget of steps.
 */
#ifndef LOGS_MATCH_H
#define LOGS_MATCH_H

#include "base/str.h"
#include "logs/filter.h"

enum logs_class { LOGS_EVIDENCE, LOGS_CONSEQUENCE, LOGS_ADVICE, LOGS_NOISE };

/* What a line tells of the run: it failed, it goes on, it ended well, another one was started; what follows was ignored; what stays behind
 * is torn down, which is a failure where the run had not ended well; or nothing. */
enum logs_tells { LOGS_FACT, LOGS_FAILURE, LOGS_PROGRESS, LOGS_END, LOGS_IGNORED, LOGS_SHUTDOWN, LOGS_START };

enum logs_capture {
	CAPTURE_RANK,
	CAPTURE_HOST,
	CAPTURE_DEVICE,
	CAPTURE_INTERFACE,
	CAPTURE_PATH,
	CAPTURE_VERSION,
	CAPTURE_ERRNO,
	CAPTURE_CODE,
	CAPTURE_ADDRESS,
	CAPTURE_PORT,
	CAPTURE_SEQ,
	CAPTURE_OP,
	CAPTURE_PID,
	CAPTURE_SIGNAL,
	CAPTURE_XID,
	CAPTURE_GPU,
	CAPTURE_LIBRARY,
	CAPTURE_SYMBOL,
	CAPTURE_NAME,
	CAPTURE_SIZE,
	CAPTURE_COUNT
};

extern const char *const logs_capture_names[CAPTURE_COUNT];

struct logs_pattern {
	const char *id;
	const char *symptom;   /* NULL: the id */
	const char *cause;     /* NULL: the line alone decides nothing */
	const char *certainty; /* with cause */
	const char *says;
	enum logs_class class;
	enum logs_tells tells;
	bool alone;           /* a regex; where it matches, nothing else of the line counts */
	bool covers;          /* a regex; what else matches inside the part of the line that it matches does not count */
	bool fallback;        /* a regex; it counts where no other pattern matches */
	const char *regex;    /* PCRE2, or */
	const char *format;   /* printf */
	const char *literals; /* what logs_pattern_literals gave for it, placed or not, to spare the work; NULL: not known */
};

struct logs_matcher;
struct logs_scratch;

struct logs_hit {
	unsigned pattern;                  /* index in the patterns given */
	struct str capture[CAPTURE_COUNT]; /* into the line; empty with ptr NULL: not captured */
};

#define LOGS_HITS_MAX 16

/* Triggers are literals of readers: reported by the filter with owner = count of patterns + index. What cannot be used (no literal) is left
 * out and named in *ret_why (NULL when all is well); the rest works. Patterns and triggers must outlive the matcher. */
struct logs_matcher *logs_matcher_new(struct arena *a, const struct logs_pattern *patterns, size_t count, const char *const *triggers,
	size_t trigger_count, const char **ret_why);
void logs_matcher_free(struct logs_matcher *m); /* what PCRE2 allocated */

const struct filter *logs_matcher_filter(const struct logs_matcher *m);
size_t logs_matcher_pattern_count(const struct logs_matcher *m);
const struct logs_pattern *logs_matcher_pattern(const struct logs_matcher *m, unsigned i);

struct logs_scratch *logs_scratch_new(void);
void logs_scratch_free(struct logs_scratch *s);

/* Tries the candidates (owners that the filter reported for this line, pattern indices in any order, doubles allowed) on the message, then
 * on the whole line. All regular expressions that match, else the one format with most literal characters, else the first fallback. Returns
 * the number of hits. */
size_t logs_match(struct logs_matcher *m, struct logs_scratch *s, struct str message, struct str line, const unsigned *candidates,
	size_t count, struct logs_hit hits[LOGS_HITS_MAX]);

/* The literals of a pattern as a text: '-', or 'i' where the case does not matter, then the literals with \x1f between them. NULL: it has
 * none. */
const char *logs_pattern_literals(struct arena *a, const struct logs_pattern *p);
/* Such texts of all patterns (NULL among them is fine) are replaced by ones that also say which windows the filter chose. */
void logs_place_literals(struct arena *a, const char **known, size_t n);

/* Does the expression compile, has it a literal, are its named groups known? 0 or -EINVAL with a reason in the arena. For tests of the
 * knowledge. */
int logs_pattern_check(struct arena *a, const struct logs_pattern *p, const char **ret_why);

#endif
