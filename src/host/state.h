/* What Davy remembers: files below its state folder, $XDG_STATE_HOME/davy or ~/.local/state/davy. For this user only.
 *
 * The functions with a path or a number of an open file touch no struct host and may be called from any thread. They can hang where the
 * folder is on a dead network file system: callers give them a thread of their own.
 */
#ifndef HOST_STATE_H
#define HOST_STATE_H

#include "host/host.h"

/* The folder's path. -ENOENT: neither variable is set to an absolute path. It need not be there. */
int host_state_folder(struct host *h, const char **ret);
/* Makes the folder and those above it (0700). 0 or negative errno. */
int host_state_make(const char *folder);
/* Can this file be opened, or (write) made? 0; -EMEDIUMTYPE: it is a folder, a pipe or a device, which would hold whoever opens it; or
 * another negative errno. */
int host_state_look(const char *file, bool write);

int host_state_open(const char *path);                   /* a new, empty file (0600): its number, or negative errno */
int host_state_write(int file, const void *p, size_t n); /* at its end; 0 or negative errno */
void host_state_close(int file);
void host_state_remove(const char *path);

/* When a process began, in the kernel's own count: with its number, this names it for good. -ENOENT: there is none. */
int host_process_began(struct host *h, int64_t pid, int64_t *ret);

#endif
