#include "parse/elf_digest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str bytes = str_n((const char *)data, size);
	struct parse_source source = parse_source_of(&bytes);
	struct buf text = BUF_MAX((size_t)1 << 20);
	struct arena *a = arena_new(0);
	struct elf_digest d = ELF_DIGEST_NONE;

	if (parse_elf_digest_make(&source, ELF_DIGEST_LINK | ELF_DIGEST_CODE, &text) == 0)
		parse_elf_digest_read(a, buf_view(&text), &d);
	parse_elf_digest_read(a, bytes, &d); /* a digest out of a snapshot is not trusted either */
	parse_elf_digest_highest_need(&d, "GLIBC_");
	buf_free(&text);
	arena_free(a);
	return 0;
}
