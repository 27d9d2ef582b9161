/* The .modinfo section of a kernel module: "version=550.54.15\0license=NVIDIA\0vermagic=...\0". Pure and bounded. */
#ifndef PARSE_MODINFO_H
#define PARSE_MODINFO_H

#include "base/str.h"

/* Where .modinfo lies in a 64-bit little-endian ELF relocatable: the header first, then its section headers with the names, as the caller
 * reads them. `head` holds the first 64 bytes. 0, or -EINVAL. */
int parse_modinfo_sections(struct str head, uint64_t file_size, uint64_t *ret_offset, uint64_t *ret_bytes, unsigned *ret_names_index);
/* The section at `index` of a table of section headers: its offset, size and name index. */
int parse_modinfo_section(
	struct str table, unsigned index, uint64_t file_size, uint64_t *ret_offset, uint64_t *ret_bytes, unsigned *ret_name);
/* The value of a key in the section's text, one entry on each line; false when it does not stand there. */
bool parse_modinfo_get(struct str lines, const char *key, struct str *ret);

#endif
