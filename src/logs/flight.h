/* PyTorch Flight Recorder: what each rank had scheduled in each process group when the dump was written; from all dumps together, who holds
 * the others up.
 *
 * A rank waits in a group for the members that have not scheduled its first pending operation, and for those that have an earlier one of
 * the same group still pending. The culprits are the ranks that others wait for and that wait for nobody: those that scheduled nothing any
 * more (their program stands still), and those whose own operations do not end although all peers are through (their GPU stands still).
 * Ranks that schedule different operations under one sequence number are a mismatch.
 */
#ifndef LOGS_FLIGHT_H
#define LOGS_FLIGHT_H

#include "facts/facts.h"

struct flight;

struct flight *flight_new(struct arena *a);
/* The beginning of a file looks like a dump (pickle, or JSON with "entries" and "pg_config"). */
bool flight_is_dump(const char *name, struct str head);
/* Takes one dump in; its rank is the last number of the file's name. 0, or negative errno. */
int flight_add(struct flight *f, const char *name, struct str bytes);
size_t flight_count(const struct flight *f);
/* Rows of the table `event`: flight.never-scheduled, flight.stuck, flight.mismatch, flight.all-entered; one for each culprit. */
void flight_to_facts(struct flight *f, struct facts *facts);

#endif
