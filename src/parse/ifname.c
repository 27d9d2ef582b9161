#include "parse/ifname.h"

static bool listed(struct str list, const char *name, bool exact)
{
	struct str part;
	while (str_next_field(&list, ',', &part)) {
		/* "mlx5_0:1" names a port too. */
		part = str_slice(part, 0, str_find_char(part, ':', 0));
		if (part.len && (exact ? str_is(part, name) : strncmp(name, part.ptr, part.len) == 0))
			return true;
	}
	return false;
}

bool parse_ifname_matches(const char *spec, const char *name)
{
	bool without = *spec == '^';
	spec += without;
	bool exact = *spec == '=';
	spec += exact;
	return listed(str_of(spec), name, exact) != without;
}

bool parse_ifname_is_listed(const char *list, const char *name)
{
	return listed(str_of(list), name, true);
}
