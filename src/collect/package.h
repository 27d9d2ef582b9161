/* Installed distributions of an interpreter, as pip sees them, into the tables package, requirement, requirement_conflict and integrity. */
#ifndef COLLECT_PACKAGE_H
#define COLLECT_PACKAGE_H

#include "collect/interpreter.h"

void collect_packages(struct collect *c, const struct interpreter *py);

#endif
