#include <errno.h>

#include "host/door.h"

char *path_clean(struct arena *a, const char *path)
{
	size_t n = strlen(path);
	char *out = arena_alloc(a, n + 2);
	size_t len = 0;
	const char *p = path;
	while (*p) {
		while (*p == '/')
			p++;
		const char *start = p;
		while (*p && *p != '/')
			p++;
		size_t part = (size_t)(p - start);
		if (part == 0 || (part == 1 && start[0] == '.'))
			continue;
		if (part == 2 && start[0] == '.' && start[1] == '.') {
			while (len && out[len - 1] != '/')
				len--;
			if (len)
				len--;
			continue;
		}
		out[len++] = '/';
		memcpy(out + len, start, part);
		len += part;
	}
	if (!len)
		out[len++] = '/';
	out[len] = '\0';
	return out;
}

int path_resolve(struct arena *a, const char *path, bool follow_last, path_link_fn *link, void *arg, const char **ret)
{
	const char *rest = arena_strdup(a, path);
	char *done = arena_strdup(a, "");
	int links = 0;
	while (*rest) {
		while (*rest == '/')
			rest++;
		if (!*rest)
			break;
		size_t n = strcspn(rest, "/");
		if (n == 1 && rest[0] == '.') {
			rest += n;
			continue;
		}
		if (n == 2 && rest[0] == '.' && rest[1] == '.') {
			char *slash = strrchr(done, '/');
			if (slash)
				*slash = '\0'; /* ".." at the root stays at the root */
			rest += n;
			continue;
		}
		char *here = arena_printf(a, "%s/%.*s", done, (int)n, rest);
		rest += n;
		bool last = rest[strspn(rest, "/")] == '\0';
		struct str target = {0};
		int rc = last && !follow_last ? -EINVAL : link(arg, here, &target);
		if (rc == -EINVAL) {
			done = here;
		} else if (rc < 0) {
			return rc;
		} else {
			if (++links > 40)
				return -ELOOP;
			if (target.len && target.ptr[0] == '/')
				done = arena_strdup(a, "");
			rest = arena_printf(a, "%.*s/%s", (int)target.len, target.ptr, rest);
			if (strlen(rest) > 65536)
				return -ENAMETOOLONG;
		}
	}
	*ret = *done ? done : "/";
	return 0;
}
