#include "parse/fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input is one section, taken for each kind in turn. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {".nv_fatbin", ".ldata", ".hip_fatbin"};
	struct str bytes = str_n((const char *)data, size);
	struct parse_source source = parse_source_of(&bytes);
	static struct fatbin out;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct elf_section section = {.name = names[i], .type = 1, .size = size};
		struct elf e = {.source = &source, .bits = 64, .machine = ELF_X86_64, .sections = &section, .section_count = 1};
		if (parse_fatbin(&e, &out) == 0 && out.code_count > FATBIN_CODES_MAX)
			__builtin_trap();
	}
	return 0;
}
