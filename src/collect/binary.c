#include "collect/binary.h"

static int pread_file(void *arg, uint64_t off, void *p, size_t n)
{
	return host_file_pread(arg, off, p, n);
}

struct parse_source collect_binary_source(struct host_file *file)
{
	return (struct parse_source){pread_file, file, host_file_size(file)};
}

static int make_link(struct host_file *file, struct buf *ret_text, void *arg)
{
	(void)arg;
	struct parse_source source = collect_binary_source(file);
	return parse_elf_digest_make(&source, ELF_DIGEST_LINK, ret_text);
}

static int make_code(struct host_file *file, struct buf *ret_text, void *arg)
{
	(void)arg;
	struct parse_source source = collect_binary_source(file);
	return parse_elf_digest_make(&source, ELF_DIGEST_CODE, ret_text);
}

int collect_binary(struct host *h, struct arena *a, const char *path, unsigned what, struct elf_digest *ret)
{
	struct elf_digest d = ELF_DIGEST_NONE;
	struct str text;
	int link = -ENODATA, code = -ENODATA;
	if (what & ELF_DIGEST_LINK) {
		link = host_digest(h, "elf", path, make_link, NULL, &text);
		if (link == 0)
			parse_elf_digest_read(a, text, &d);
		else if (link != -ENODATA)
			return link;
	}
	if (what & ELF_DIGEST_CODE) {
		code = host_digest(h, "gpu", path, make_code, NULL, &text);
		if (code < 0 && !(what & ELF_DIGEST_LINK) && !host_is_live(h)) /* a fixture's one text */
			code = host_digest(h, "elf", path, make_link, NULL, &text);
		if (code == 0)
			parse_elf_digest_read(a, text, &d);
	}
	if (link < 0 && code < 0)
		return what & ELF_DIGEST_CODE && code != -ENODATA ? code : link;
	*ret = d;
	return 0;
}
