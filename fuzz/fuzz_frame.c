#include "parse/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A stream of frames as a stranger might send it: what is taken must lie inside, and texts must be readable to their ends. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = str_n((const char *)data, size);
	struct frame frame;
	struct frame_fields f;
	volatile char sink = 0;
	(void)sink;

	while (parse_frame_next(&rest, 65536, &frame) > 0) {
		if (parse_frame_fields(frame.body, &f) < 0)
			continue;
		for (unsigned tag = 0; tag < FRAME_TAGS + 40; tag++) {
			struct str text = parse_frame_text(&f, tag);
			(void)parse_frame_int(&f, tag, 0);
			for (size_t i = 0; i < text.len; i++)
				sink ^= text.ptr[i];
		}
	}
	if (size > 3) {
		(void)parse_frame_fields(str_n((const char *)data, size), &f);
		if ((const char *)rest.ptr < (const char *)data || rest.ptr + rest.len != (const char *)data + size)
			__builtin_trap();
	}
	return 0;
}
