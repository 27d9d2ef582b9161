#include "parse/wheel.h"

#include <errno.h>

#include "parse/pep440.h"

int parse_wheel_name(struct str file, struct wheel_name *ret)
{
	struct str field[6], part;
	size_t n = 0;
	if (!str_ends(file, ".whl"))
		return -EINVAL;
	struct str rest = str_slice(file, 0, file.len - strlen(".whl"));
	while (str_next_field(&rest, '-', &part)) {
		if (n == 6 || !part.len)
			return -EINVAL;
		field[n++] = part;
	}
	if (n < 5)
		return -EINVAL;
	bool build = n == 6;
	if (build && !(field[2].ptr[0] >= '0' && field[2].ptr[0] <= '9'))
		return -EINVAL;
	struct pep440 v;
	for (size_t i = 0; i < field[0].len; i++) {
		char c = field[0].ptr[i];
		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.'))
			return -EINVAL;
	}
	if (parse_pep440(field[1], &v) < 0)
		return -EINVAL;
	*ret = (struct wheel_name){.name = field[0],
		.version = field[1],
		.build = build ? field[2] : STR(""),
		.python = field[2 + build],
		.abi = field[3 + build],
		.platform = field[4 + build]};
	return 0;
}

/* "cp311" → 3, 11; "py3" → 3, -1. */
static bool split_version(struct str digits, int *ret_major, int *ret_minor)
{
	int64_t minor;
	if (!digits.len || digits.ptr[0] < '0' || digits.ptr[0] > '9')
		return false;
	*ret_major = digits.ptr[0] - '0';
	*ret_minor = -1;
	if (digits.len == 1)
		return true;
	if (digits.len > 4 || str_to_int(str_skip(digits, 1), &minor) < 0 || minor < 0)
		return false;
	*ret_minor = (int)minor;
	return true;
}

/* What the platform part says. */
static enum wheel_fit fits_platform(struct str p, const struct wheel_target *t, bool *ret_any)
{
	static const struct {
		const char *alias, *tag;
	} old[] = {{"manylinux1_", "manylinux_2_5_"}, {"manylinux2010_", "manylinux_2_12_"}, {"manylinux2014_", "manylinux_2_17_"}};
	unsigned floor = strcmp(t->arch, "x86_64") == 0 || strcmp(t->arch, "i686") == 0 ? 5 : 17;
	char text[300];
	*ret_any = str_is(p, "any");
	if (*ret_any)
		return WHEEL_FITS;
	for (size_t i = 0; i < sizeof old / sizeof *old; i++)
		if (str_starts(p, old[i].alias) && p.len < 200) {
			snprintf(
				text, sizeof text, "%s%.*s", old[i].tag, (int)(p.len - strlen(old[i].alias)), p.ptr + strlen(old[i].alias));
			p = str_of(text);
		}
	bool many = str_starts(p, "manylinux_"), musl = str_starts(p, "musllinux_");
	if (!many && !musl) {
		if (!str_starts(p, "linux_"))
			return WHEEL_OTHER_SYSTEM;
		return str_is(str_skip(p, strlen("linux_")), t->arch) ? WHEEL_FITS : WHEEL_OTHER_ARCH;
	}
	struct str rest = str_skip(p, strlen("manylinux_")), major, minor;
	int64_t x, y;
	if (!str_next_field(&rest, '_', &major) || !str_next_field(&rest, '_', &minor) || str_to_int(major, &x) < 0 ||
		str_to_int(minor, &y) < 0 || x < 0 || y < 0 || y > 9999)
		return WHEEL_OTHER_SYSTEM;
	if (!str_is(rest, t->arch))
		return WHEEL_OTHER_ARCH;
	if (musl != t->musl)
		return WHEEL_OTHER_LIBC;
	if (!t->libc_major && !t->libc_minor)
		return WHEEL_FITS;
	if ((uint64_t)x != t->libc_major || (uint64_t)y > t->libc_minor || (many && (uint64_t)y < floor))
		return WHEEL_OTHER_LIBC_VERSION;
	return WHEEL_FITS;
}

static enum wheel_fit fits_one(struct str python, struct str abi, struct str platform, const struct wheel_target *t)
{
	int major, minor;
	bool any, cp = str_starts(python, "cp"), py = str_starts(python, "py");
	if ((!cp && !py) || !split_version(str_skip(python, 2), &major, &minor))
		return WHEEL_OTHER_IMPLEMENTATION;
	if (major != 3)
		return WHEEL_OTHER_PYTHON;
	enum wheel_fit fit = fits_platform(platform, t, &any);
	if (py) {
		if (!str_is(abi, "none"))
			return WHEEL_OTHER_ABI;
		return minor > (int)t->minor ? WHEEL_OTHER_PYTHON : fit;
	}
	char own[16];
	snprintf(own, sizeof own, "cp3%u%s", t->minor, t->free_threaded ? "t" : t->minor < 8 ? "m" : "");
	if (str_is(abi, "abi3")) {
		if (any || minor < 2 || minor > (int)t->minor)
			return WHEEL_OTHER_PYTHON;
		return t->free_threaded ? WHEEL_OTHER_ABI : fit;
	}
	if (minor != (int)t->minor)
		return WHEEL_OTHER_PYTHON;
	if (str_is(abi, "none"))
		return fit;
	return str_is(abi, own) && !any ? fit : WHEEL_OTHER_ABI;
}

enum wheel_fit parse_wheel_fits(struct str python, struct str abi, struct str platform, const struct wheel_target *target)
{
	enum wheel_fit best = WHEEL_OTHER_IMPLEMENTATION;
	struct str p, a, f;
	for (struct str ps = python; str_next_field(&ps, '.', &p);)
		for (struct str as = abi; str_next_field(&as, '.', &a);)
			for (struct str fs = platform; str_next_field(&fs, '.', &f);) {
				enum wheel_fit fit = fits_one(p, a, f, target);
				if (fit < best)
					best = fit;
			}
	return best;
}

const char *parse_wheel_fit_name(enum wheel_fit fit)
{
	static const char *const names[] = {"fits", "libc-version", "libc", "machine", "system", "abi", "python", "implementation"};
	return names[fit];
}
