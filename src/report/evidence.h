/* Evidence as lines for people: facts that were read in one place share a line, sizes have their unit, and what only let a rule apply is
 * left out. What the nodes of a cluster measured together is told in words. */
#ifndef REPORT_EVIDENCE_H
#define REPORT_EVIDENCE_H

#include "report/report.h"

/* The line that begins with the evidence *at, which is moved behind it; NULL at the end. `f` is whose evidence it is. Lives in r->arena. */
const char *evidence_line(const struct report *r, const struct finding *f, const struct evidence **at);

#endif
