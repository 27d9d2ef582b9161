#include "base/version.h"

#include <errno.h>

int version_parse(struct str s, struct version *ret)
{
	struct version v = {.count = 0};
	s = str_trim(s);
	if (s.len && (s.ptr[0] == 'v' || s.ptr[0] == 'V'))
		s = str_skip(s, 1);
	size_t i = 0;
	while (v.count < VERSION_PARTS) {
		uint64_t n = 0;
		size_t start = i;
		while (i < s.len && s.ptr[i] >= '0' && s.ptr[i] <= '9' && i - start < 10)
			n = n * 10 + (uint64_t)(s.ptr[i++] - '0');
		if (i == start)
			break;
		v.part[v.count++] = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
		if (i >= s.len || s.ptr[i] != '.')
			break;
		i++;
	}
	if (!v.count)
		return -EINVAL;
	*ret = v;
	return 0;
}

int version_compare(const struct version *a, const struct version *b)
{
	for (int i = 0; i < VERSION_PARTS; i++) /* parts that are not given are 0 */
		if (a->part[i] != b->part[i])
			return a->part[i] < b->part[i] ? -1 : 1;
	return 0;
}

int version_cmp(struct str a, struct str b, int *ret)
{
	struct version va, vb;
	if (version_parse(a, &va) < 0 || version_parse(b, &vb) < 0)
		return -EINVAL;
	*ret = version_compare(&va, &vb);
	return 0;
}
