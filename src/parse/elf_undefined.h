/* Which symbols a file needs and nobody has: put the file's undefined names into a set, take out what each provider defines, see what
 * stays.
 *
 * Weak references are left out, versions are not compared (parse/elf_digest.h's verneed and verdef say that). Names belong to the arena of
 * the file that needs them, which must outlive the set.
 */
#ifndef PARSE_ELF_UNDEFINED_H
#define PARSE_ELF_UNDEFINED_H

#include "parse/elf.h"

struct elf_undefined;

/* True for a name that is not asked about. */
typedef bool elf_undefined_skip(const char *name, const void *arg);

/* NULL when the symbol table cannot be read; skip NULL: all names. */
struct elf_undefined *parse_elf_undefined(struct arena *a, struct elf *needing, elf_undefined_skip *skip, const void *arg);
bool parse_elf_undefined_any(const struct elf_undefined *u); /* is anything left? Further providers need not be looked at when not. */
void parse_elf_undefined_take(struct elf_undefined *u, struct elf *provider);
/* The names that are left, in the order of the file's table; at most max of them in ret. Returns how many there are. */
size_t parse_elf_undefined_left(const struct elf_undefined *u, const char **ret, size_t max);

#endif
