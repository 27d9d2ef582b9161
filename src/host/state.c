#include "host/state.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/door.h"

int host_state_folder(struct host *h, const char **ret)
{
	const char *state = host_env(h, "XDG_STATE_HOME"), *home = host_env(h, "HOME");
	if (state && state[0] == '/')
		*ret = arena_printf(h->arena, "%s/davy", state);
	else if (home && home[0] == '/')
		*ret = arena_printf(h->arena, "%s/.local/state/davy", home);
	else
		return -ENOENT;
	return 0;
}

int host_state_make(const char *folder)
{
	char path[4096];
	size_t n = strlen(folder);
	struct stat st;
	if (stat(folder, &st) == 0)
		return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
	if (n >= sizeof path)
		return -ENAMETOOLONG;
	memcpy(path, folder, n + 1);
	for (size_t i = 1; i <= n; i++) {
		if (path[i] != '/' && path[i])
			continue;
		char kept = path[i];
		path[i] = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return -errno;
		path[i] = kept;
	}
	return 0;
}

int host_state_look(const char *file, bool write)
{
	struct stat st;
	char folder[4096];
	const char *slash = strrchr(file, '/');
	if (stat(file, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			return -EMEDIUMTYPE;
		return access(file, write ? R_OK | W_OK : R_OK) < 0 ? -errno : 0;
	}
	if (errno != ENOENT || !write)
		return -errno;
	if (!slash || (size_t)(slash - file) >= sizeof folder)
		return -ENAMETOOLONG;
	memcpy(folder, file, (size_t)(slash - file));
	folder[slash - file] = '\0';
	return access(folder, W_OK | X_OK) < 0 ? -errno : 0;
}

int host_state_open(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

int host_state_write(int file, const void *p, size_t n)
{
	const char *at = p;
	while (n) {
		ssize_t done = write(file, at, n);
		if (done < 0 && errno != EINTR)
			return -errno;
		at += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	return 0;
}

void host_state_close(int file)
{
	if (file >= 0)
		close(file);
}

void host_state_remove(const char *path)
{
	unlink(path);
}

int host_process_began(struct host *h, int64_t pid, int64_t *ret)
{
	struct str text, word;
	int rc = host_readf(h, &text, "/proc/%lld/stat", (long long)pid);
	if (rc < 0)
		return rc;
	text = str_skip(text, str_rfind_char(text, ')') + 1); /* the name may hold anything */
	for (int i = 3; i <= 22; i++)
		if (!str_next_word(&text, &word))
			return -EBADMSG;
	return str_to_int(word, ret);
}
