/* What a command would run, as far as its arguments and a script's text tell: enough to know which faults of a check concern it. */
#ifndef ACT_RUN_PROGRAM_H
#define ACT_RUN_PROGRAM_H

#include "host/host.h"
#include "judge/finding.h"

struct run_program {
	const char *python; /* interpreter or torchrun of the command, for --python; NULL: it runs none that is known */
	const char *script; /* file that it reads; NULL: none that is known */
	bool launcher;      /* torchrun and the like: they import torch themselves */
	bool needs_torch;   /* it cannot run without importing torch */
	bool needs_nccl;    /* it names nccl and has no other way */
	bool needs_distributed;
	bool only_gloo; /* it names gloo and never nccl */
};

struct run_program run_program_read(struct arena *a, struct host *h, const char *const *argv, size_t n);

/* The finding for which starting this is useless, or NULL. `asked`: the user said what the machine shall be ready for, so every fault
 * concerns it. */
const struct finding *run_program_stop(const struct run_program *p, const struct judgement *j, bool asked);

#endif
