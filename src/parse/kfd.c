#include "parse/kfd.h"

#include <errno.h>

int parse_kfd_property(struct str text, const char *name, int64_t *ret)
{
	struct str line, word;

	while (str_next_line(&text, &line))
		if (str_next_word(&line, &word) && str_is(word, name))
			return str_to_int(str_trim(line), ret);
	return -ENOENT;
}

int parse_kfd_gfx(struct arena *a, int64_t target, const char **ret)
{
	if (target < 60000 || target > 999999)
		return -EINVAL;
	*ret = arena_printf(a, "gfx%d%x%x", (int)(target / 10000), (unsigned)(target / 100 % 100), (unsigned)(target % 100));
	return 0;
}

const char *parse_kfd_address(struct arena *a, int64_t domain, int64_t location)
{
	return arena_printf(a, "%04x:%02x:%02x.%x", (unsigned)domain & 0xffffffffU, (unsigned)(location >> 8) & 0xff,
		(unsigned)(location >> 3) & 0x1f, (unsigned)location & 7);
}
