#include <stdlib.h>

#include "parse/wheel.h"
#include "parse/zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Archives: what is read backwards is what was read forwards. And names of wheels. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str s = str_n((const char *)data, size);
	struct parse_source source = parse_source_of(&s);
	struct arena *a = arena_new(0);
	struct zip z;
	struct wheel_name name;
	struct wheel_target t = {.minor = 11, .arch = "x86_64", .libc_major = 2, .libc_minor = 36};
	if (parse_wheel_name(str_slice(s, 0, str_find_char(s, '\n', 0)), &name) == 0)
		parse_wheel_fits(name.python, name.abi, name.platform, &t);
	if (parse_zip_open(a, &source, &z) == 0)
		for (size_t i = 0; i < z.count && i < 64; i++) {
			struct str text;
			struct zip_member m;
			char first, again;
			if (parse_zip_read(a, &z, &z.entries[i], 1 << 20, &text) < 0 || !text.len)
				continue;
			if (parse_zip_member(&z, &z.entries[i], &m) < 0)
				abort();
			if (parse_source_read(&m.source, text.len - 1, &first, 1) < 0 || parse_source_read(&m.source, 0, &again, 1) < 0 ||
				first != text.ptr[text.len - 1] || again != text.ptr[0])
				abort();
			parse_zip_close(&m);
		}
	arena_free(a);
	return 0;
}
