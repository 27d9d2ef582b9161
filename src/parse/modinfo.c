#include "parse/modinfo.h"

#include <errno.h>

#include "base/checked.h"

#define SECTION_HEADER_BYTES 64
#define SECTIONS_MAX 4096

static uint64_t number(struct str s, size_t off, int bytes)
{
	uint64_t v = 0;

	for (int i = bytes - 1; i >= 0; i--)
		v = v << 8 | (unsigned char)s.ptr[off + (size_t)i];
	return v;
}

int parse_modinfo_sections(struct str head, uint64_t file_size, uint64_t *ret_offset, uint64_t *ret_bytes, unsigned *ret_names_index)
{
	uint64_t offset, count;

	if (head.len < 64 || memcmp(head.ptr, "\177ELF\2\1", 6) != 0)
		return -EINVAL;
	offset = number(head, 40, 8);
	count = number(head, 60, 2);
	if (number(head, 58, 2) != SECTION_HEADER_BYTES || count == 0 || count > SECTIONS_MAX)
		return -EINVAL;
	if (!checked_range(offset, count * SECTION_HEADER_BYTES, file_size))
		return -EINVAL;
	*ret_offset = offset;
	*ret_bytes = count * SECTION_HEADER_BYTES;
	*ret_names_index = (unsigned)number(head, 62, 2);
	return 0;
}

int parse_modinfo_section(
	struct str table, unsigned index, uint64_t file_size, uint64_t *ret_offset, uint64_t *ret_bytes, unsigned *ret_name)
{
	uint64_t offset, bytes;
	size_t at = (size_t)index * SECTION_HEADER_BYTES;

	if (at + SECTION_HEADER_BYTES > table.len)
		return -EINVAL;
	offset = number(table, at + 24, 8);
	bytes = number(table, at + 32, 8);
	if (!checked_range(offset, bytes, file_size))
		return -EINVAL;
	*ret_name = (unsigned)number(table, at, 4);
	*ret_offset = offset;
	*ret_bytes = bytes;
	return 0;
}

bool parse_modinfo_get(struct str lines, const char *key, struct str *ret)
{
	struct str line;
	size_t n = strlen(key);

	while (str_next_line(&lines, &line)) {
		if (line.len > n && line.ptr[n] == '=' && str_starts(line, key)) {
			*ret = str_skip(line, n + 1);
			return true;
		}
	}
	return false;
}
