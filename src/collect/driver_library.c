/* The NVIDIA libraries that the loader finds, and what their real names say. */
#include "collect/driver.h"

#include <errno.h>

#include "collect/ldso.h"
#include "parse/nvidia.h"

static const char *kind_of(struct str real)
{
	if (str_has(real, "/stubs/"))
		return "stub";
	if (str_has(real, "/compat/") || str_has(real, "/compat-"))
		return "compat";
	return "driver";
}

static void examine(struct collect *c, struct ldso *l, const char *soname, struct driver_library *ret)
{
	struct ldso_result result;
	struct str name, version;
	int index;

	*ret = (struct driver_library){.gap = GAP_ABSENT};
	collect_ldso_open(l, soname, 0);
	index = collect_ldso_find(l, soname);
	result = collect_ldso_result(l);
	if (index <= 0) {
		if (result.uncertain)
			ret->gap = GAP_NOT_RECORDED;
		return;
	}
	ret->path = result.objects[index].path;
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

void driver_find_libraries(struct collect *c, struct driver_library *ret_cuda, struct driver_library *ret_nvml)
{
	struct ldso *l = collect_ldso_new(c->arena, c->host);
	struct host_uname u = {.machine = "x86_64"};

	host_uname(c->host, &u);
	collect_ldso_bare(l, u.machine);
	examine(c, l, "libcuda.so.1", ret_cuda);
	examine(c, l, "libnvidia-ml.so.1", ret_nvml);
}
