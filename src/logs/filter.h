/* The first stage of the scan: where in a block does one of thousands of literals stand?
 *
 * Each literal is represented by windows of it, chosen as rare as possible: a text of 11 bytes by the four windows of 8 bytes at four
 * neighbouring offsets, a shorter one by the two of 4 bytes at neighbouring offsets. So it is enough to look at every fourth position for 8
 * bytes and at every second for 4. A look is one hash and one bit of a table that fits the processor's cache; only where the bit is set are
 * bytes compared. Linear, whatever the input. A scan may do without some owners: it then takes bits that leave out their literals.
 */
#ifndef LOGS_FILTER_H
#define LOGS_FILTER_H

#include "base/str.h"

struct filter;
struct filter_bits;

struct filter_literal {
	struct str text; /* at least LITERAL_MIN bytes; must live as long as the filter */
	unsigned owner;  /* given back with each hit */
	bool nocase;     /* text is lower case */
	bool placed;     /* `place` says where its first window begins, as filter_place gave it for a filter of much the same literals */
	uint16_t place;
};

/* Reports the owners of literals found, with the position where the literal begins. Positions do not decrease by more than the length of a
 * literal. */
typedef void filter_hit_fn(void *arg, unsigned owner, size_t position);

struct filter *filter_new(struct arena *a, const struct filter_literal *literals, size_t count);
uint16_t filter_place(const struct filter *f, size_t literal); /* where the first window of a literal was chosen */

/* The bits without the literals of muted owners (by owner). malloced, or `reuse` filled anew; free() it. */
struct filter_bits *filter_bits_without(const struct filter *f, const bool *muted, struct filter_bits *reuse);

/* Scans p[0..n). FILTER_PAD bytes before p and after p + n must be readable; what they hold does not matter and is never reported. bits
 * NULL: all owners. Muted owners may still be reported. */
#define FILTER_PAD 16
void filter_scan(const struct filter *f, const struct filter_bits *bits, const char *p, size_t n, filter_hit_fn *hit, void *arg);

#endif
