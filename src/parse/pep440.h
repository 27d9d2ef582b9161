/* Versions and version specifiers of Python packages (PEP 440), as pip reads them.
 *
 * Everything that is parsed consists of slices of the text handed in. Numbers are compared as digits, so a version may be as long
 * as it likes and nothing overflows. Where the standard and the `packaging` library inside pip differ, pip's answer is taken:
 * it decides what gets installed.
 */
#ifndef PARSE_PEP440_H
#define PARSE_PEP440_H

#include "base/str.h"

enum pep440_pre { PEP440_FINAL, PEP440_ALPHA, PEP440_BETA, PEP440_CANDIDATE };

struct pep440 {
	struct str epoch;   /* digits; empty: 0 */
	struct str release; /* "2.1.0" */
	enum pep440_pre pre;
	bool post, dev;
	struct str pre_number, post_number, dev_number; /* digits; empty: 0 */
	struct str local;                               /* "cu118", without the +; empty: none */
};

/* 0, or -EINVAL. Blanks around are allowed, "v1.0", "1.0-Alpha_2" and "1.0-1" too. */
int parse_pep440(struct str text, struct pep440 *ret);
/* -1, 0, 1: the total order of PEP 440. */
int parse_pep440_compare(const struct pep440 *a, const struct pep440 *b);
/* Alpha, beta, candidate or dev release. */
bool parse_pep440_is_prerelease(const struct pep440 *v);
/* The normal form: "1.0a2" for "v1.0-Alpha_2". */
void parse_pep440_print(const struct pep440 *v, struct buf *ret);

enum pep440_prereleases {
	PEP440_AS_SPECIFIED, /* when a specifier names a pre-release itself: how pip chooses what to install */
	PEP440_ALLOWED,      /* how `pip check` judges what is installed, and how markers compare */
	PEP440_REFUSED,
};

/* Does the version satisfy every specifier of "…, …"? No specifier: yes. 0, or -EINVAL for a specifier that pip refuses. */
int parse_pep440_match(struct str specifiers, const struct pep440 *v, enum pep440_prereleases prereleases, bool *ret);
/* 0 when pip would accept the list, else -EINVAL. */
int parse_pep440_check(struct str specifiers);

#endif
