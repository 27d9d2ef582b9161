/* Children with a deadline, for what is tried live: probe tests, torchrun.
 *
 * A child runs in its own process group without standard input; what it writes is kept (bounded). Past its deadline, or when it was silent
 * for too long, the whole group gets SIGTERM, then SIGKILL, and whatever it left running is ended too. One that the kernel does not let die
 * is left behind, never waited for. SIGINT, SIGTERM and SIGHUP to davy end all children first (host_stopped_by).
 */
#ifndef HOST_CHILD_H
#define HOST_CHILD_H

#include "host/host.h"

enum host_child_end { HOST_CHILD_EXIT, HOST_CHILD_SIGNAL, HOST_CHILD_LATE, HOST_CHILD_STOPPED, HOST_CHILD_NOT_STARTED };

struct host_child {
	const char *const *argv; /* ends with NULL; argv[0] is a path */
	const char *const *env;  /* changes to this process's environment: "NAME=value", or "NAME" to remove; ends with NULL; or NULL */
	const char *cwd;         /* or NULL */
	bool merged;             /* standard error goes where standard output goes: into `out` */
	int deadline_ms;
	int silence_ms; /* 0: may be silent */
	/* The answer. */
	enum host_child_end end;
	int code;            /* exit status, signal, or errno when not started */
	struct str out, log; /* standard output and standard error */
	double duration_ms;
};

/* Runs all at once and returns when all have ended. */
void host_children(struct host *h, struct host_child *child, size_t n);
/* `probe` as a path; NULL: it is not there. */
const char *host_probe_program(struct host *h);
/* The signal by which the user stopped us, 0: none. */
int host_stopped_by(void);

/* A new folder of our own for temporary files; removed with what is in it. 0 or negative errno. */
int host_scratch_make(struct host *h, const char **ret_path);
int host_scratch_write(const char *folder, const char *name, struct str text);
void host_scratch_remove(const char *folder);
/* A TCP port that was free on 127.0.0.1 a moment ago, or negative errno. */
int host_free_port(void);

#endif
