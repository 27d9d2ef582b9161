/* davy plan --lock: an environment written down completely, as a requirements file that pip and uv take and that davy reads again
 * (parse/lock.h).
 *
 * From facts that were collected with `for_lock`. Reads pip's configuration through the door (which index is the usual one); user names and
 * tokens in URLs are left out. Runs nothing.
 */
#ifndef ACT_LOCK_H
#define ACT_LOCK_H

#include "host/host.h"
#include "judge/judge.h"

struct lock_summary {
	int pip, conda, others, hashed, editable,
		local; /* packages: of pip, of conda, installed by others; with the archive's hash; editable; from local archives */
};

/* `file`: the name of the lock in the commands it shows. */
void lock_write(struct judge *j, struct host *door, const char *file, struct buf *out, struct lock_summary *ret);

#endif
