/* The NVIDIA libraries that the loader finds, and what their real names say. */
#include "collect/driver.h"

#include <errno.h>

#include "parse/nvidia.h"

static const char *kind_of(struct str real)
{
	if (str_has(real, "/stubs/"))
		return "stub";
	if (str_has(real, "/compat/") || str_has(real, "/compat-"))
		return "compat";
	return "driver";
}

static const char *const folders[] = {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib64",
                                      "/usr/lib64", "/usr/lib/wsl/lib", "/usr/local/nvidia/lib64", "/usr/lib"};

static const char *find(struct collect *c, const char *soname)
{
	struct str rest = str_of(host_env(c->host, "LD_LIBRARY_PATH")), dir;

	while (rest.ptr && str_next_field(&rest, ':', &dir)) {
		const char *path = arena_printf(c->arena, "%.*s/%s", (int)dir.len, dir.ptr, soname);

		if (dir.len > 0 && dir.ptr[0] == '/' && host_exists(c->host, path))
			return path;
	}
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		const char *path = arena_printf(c->arena, "%s/%s", folders[i], soname);

		if (host_exists(c->host, path))
			return path;
	}
	return NULL;
}

void driver_find_library(struct collect *c, const char *soname, struct driver_library *ret)
{
	struct str name, version;

	*ret = (struct driver_library){.gap = GAP_ABSENT};
	ret->path = find(c, soname);
	if (!ret->path)
		return;
	if (host_realpath(c->host, ret->path, &ret->real) < 0)
		ret->real = ret->path;
	name = str_of(ret->real);
	/* The compat folder may be a link to a place that does not say so: both names count. */
	ret->kind = kind_of(name);
	if (str_is(str_of(ret->kind), "driver"))
		ret->kind = kind_of(str_of(ret->path));
	if (parse_nvidia_library_version(str_skip(name, str_rfind_char(name, '/') + 1), &version) == 0)
		ret->version = str_dup(c->arena, version);
}
