/* Which PyTorch fits a machine, why the others do not, and the commands that install it.
 *
 * Judges the releases in the tables (k_torch_release and its companions) by the facts in the store: driver, GPUs, Python, C library. What
 * is not known of the machine refuses nothing. Runs nothing and opens nothing.
 */
#ifndef ACT_PLAN_H
#define ACT_PLAN_H

#include "judge/judge.h"

enum plan_answer { PLAN_NO, PLAN_YES, PLAN_JIT, PLAN_UNKNOWN }; /* JIT: only by compiling PTX at the first start */

struct plan_candidate {
	const char *torch, *variant, *build, *cuda, *index, *vision, *audio, *date, *arch, *python_min, *python_max, *libc;
	enum plan_answer driver, gpu, python, glibc, machine;
	bool fits, fresh;
	const char *refusal; /* why not, in the user's language; NULL when it fits */
	struct plan_candidate *next;
};

/* Where packages are fetched from instead. Members are NULL where the mirror has no such thing. */
struct plan_mirror {
	const char *name, *title, *pypi;
	const char *pytorch; /* base of the wheels of download.pytorch.org, without the variant */
	bool links;          /* that base is pages of links (pip -f), no index */
	const char *conda, *nvcr;
};

struct plan {
	struct plan_candidate *all;  /* best first among those that fit, newest first among the others */
	struct plan_candidate *best; /* NULL: nothing fits */
	const char *why;             /* the choice in one sentence */
	const char *nothing;         /* why nothing fits */
	const char *other_vendor;    /* what an accelerator that is not served by these tables needs */
	const char *const *clean, *const *pip, *const *uv, *const *conda, *const *download, *const *carry,
												    *const *verify; /* NULL-terminated */
	const char *const *docker, *const *dockerfile;
	const char *const *vendor;        /* commands for such an accelerator */
	const struct plan_mirror *mirror; /* NULL: none */
	const char *mirror_note;          /* what comes from the mirror and what does not */
};

struct plan_wish {
	const char *torch;                /* a wanted release; NULL: the best */
	const struct plan_mirror *mirror; /* NULL: none */
	const char *backend;              /* "gloo" or "cpu": the CPU build; NULL: by the machine */
};

void plan_make(struct judge *j, const struct plan_wish *wish, struct plan *ret);

/* The mirror of that name (or a URL of a PyPI mirror); false: none is known by it. All names, joined by commas. */
bool plan_mirror_find(struct judge *j, const char *name, struct plan_mirror *ret);
const char *plan_mirror_names(struct judge *j);

/* -- from source -- */
struct plan_check {
	const char *what, *found, *says; /* says NULL: good */
	enum plan_answer good;
	struct plan_check *next;
};
/* What a source build needs and what is here; the script of the build, lines. */
struct plan_check *plan_source_readiness(struct judge *j, const struct plan *p);
const char *const *plan_source_script(struct judge *j, const struct plan *p);

#endif
