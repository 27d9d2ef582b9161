/* What the probe children said. */
#ifndef COLLECT_PROBE_H
#define COLLECT_PROBE_H

#include "collect/collect.h"
#include "parse/json.h"

struct probe_answer {
	enum host_probe_status status;
	const char *status_name;   /* probe.status: ok, missing, timeout, crash, error, skipped */
	const char *message;       /* NULL: nothing to say */
	const struct json *answer; /* NULL: none */
	const char *error_call;    /* the vendor call that failed; NULL: none */
	int64_t error_code;
	double duration_ms;
};

/* Waits for the child until its deadline (once; later calls give the same answer). */
void probe_ask(struct collect *c, const char *name, struct probe_answer *ret);

#endif
