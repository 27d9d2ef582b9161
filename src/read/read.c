#include "read/read.h"

#include <ctype.h>

/* One line each: extern here, and its place in the order below. */

const struct reader *const readers[] = {
	NULL,
};

const char *read_origin(struct facts *f, const struct read_input *in, size_t i)
{
	size_t number = i < in->count ? in->line[i].number : 0;

	return arena_printf(f->arena, "%s:%zu", in->file, number);
}

/* user@host:dir followed by $ or #, perhaps "(env) " in front; or a bare "$ ", "# ", "% ", ">>> ". */
bool read_prompt(struct str line, struct str *ret_command)
{
	struct str s = str_trim(line);
	if (str_starts(s, ">>> ")) {
		*ret_command = str_trim(str_skip(s, 4));
		return true;
	}
	while (s.len && s.ptr[0] == '(') { /* (base) (env) */
		size_t end = str_find_char(s, ')', 0);
		if (end == SIZE_MAX || end > 60)
			return false;
		s = str_trim(str_skip(s, end + 1));
	}
	if (s.len > 2 && strchr("$#%", s.ptr[0]) && s.ptr[1] == ' ') {
		*ret_command = str_trim(str_skip(s, 2));
		return true;
	}
	/* The first "$ " or "# " after a word with @ or a drive letter. */
	for (size_t i = 1; i + 1 < s.len && i < 160; i++) {
		bool mark = (s.ptr[i] == '$' || s.ptr[i] == '#' || s.ptr[i] == '>') && s.ptr[i + 1] == ' ';
		if (!mark)
			continue;
		struct str head = str_slice(s, 0, i);
		bool windows = s.ptr[i] == '>' && head.len > 2 && head.ptr[1] == ':' && isalpha((unsigned char)head.ptr[0]);
		bool powershell = s.ptr[i] == '>' && str_starts(head, "PS ");
		bool unix_like = s.ptr[i] != '>' && str_find_char(head, '@', 0) != SIZE_MAX;
		if (!windows && !powershell && !unix_like)
			return false;
		*ret_command = str_trim(str_skip(s, i + 2));
		return true;
	}
	return false;
}
