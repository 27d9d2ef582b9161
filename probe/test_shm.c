/* Shared memory as NCCL takes it: files in /dev/shm, reserved, mapped and written. Without room the kernel says so when they are reserved,
 * or kills with SIGBUS when they are written; with a memory limit it kills with SIGKILL. Each file is unlinked as soon as it is open:
 * nothing stays behind. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probe.h"

enum { SEGMENTS_MAX = 4096 };

static int fail(const char *call, int code, int done)
{
	out_int("done", done);
	out_error(call, code, strerror(code));
	return PROBE_ERROR;
}

static int one(const char *dir, int i, size_t bytes)
{
	char path[512];
	unsigned char *p;
	int fd, rc;

	if (snprintf(path, sizeof path, "%s/davy-XXXXXX", dir) >= (int)sizeof path)
		return fail("open", ENAMETOOLONG, i);
	probe_calling("open", i);
	fd = mkstemp(path);
	if (fd < 0)
		return fail("open", errno, i);
	unlink(path);
	probe_calling("fallocate", i);
	rc = posix_fallocate(fd, 0, (off_t)bytes);
	if (rc == EOPNOTSUPP || rc == ENOSYS || rc == EINVAL)
		rc = ftruncate(fd, (off_t)bytes) == 0 ? 0 : errno;
	if (rc)
		return fail("fallocate", rc, i);
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return fail("mmap", errno, i);
	close(fd);
	probe_calling("write", i);
	memset(p, 0x5a, bytes);
	for (size_t k = 0; k < bytes; k += 4096)
		if (p[k] != 0x5a)
			return fail("read", EIO, i);
	return PROBE_OK;
}

int probe_test_shm(char **args)
{
	long count = strtol(args[1], NULL, 10), bytes = strtol(args[2], NULL, 10);

	if (count < 1 || count > SEGMENTS_MAX || bytes < 1)
		return 64;
	for (int i = 0; i < count; i++) {
		int rc = one(args[0], i, (size_t)bytes);

		if (rc != PROBE_OK)
			return rc;
	}
	out_int("done", count);
	return PROBE_OK;
}
