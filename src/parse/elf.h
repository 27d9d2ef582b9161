/* ELF files: what the dynamic loader and a doctor want to know of a program or shared library.
 *
 * A bounded reader over a parse_source. 64-bit little-endian files of any machine are read; of others only class and machine are named.
 * Damage is a result, not an error: `problem` says what is wrong and everything that could still be read is there. Section headers may
 * be stripped; then program headers and the dynamic section serve. Every offset and size is checked against the file.
 *
 * Memory belongs to the arena handed in. Never reads more than headers and the tables asked for.
 */
#ifndef PARSE_ELF_H
#define PARSE_ELF_H

#include "parse/source.h"

enum elf_problem {
	ELF_FINE,
	ELF_EMPTY,       /* no bytes */
	ELF_NOT_ELF,     /* something else */
	ELF_LFS_POINTER, /* a Git LFS pointer instead of the file */
	ELF_TRUNCATED,   /* sections or segments beyond the end */
	ELF_WRONG_CLASS, /* 32-bit or big-endian: `machine` is named, nothing else read */
	ELF_BAD,         /* tables that contradict each other */
};

enum { ELF_X86_64 = 62, ELF_AARCH64 = 183 };

#define ELF_FLAG_1_NODEFLIB 0x800u
#define ELF_FLAG_STATIC_TLS 0x10u

struct elf_segment {
	uint32_t type, flags;
	uint64_t offset, vaddr, file_size, memory_size;
};

struct elf_section {
	const char *name; /* "" when unnamed */
	uint32_t type;
	uint64_t flags, vaddr, offset, size;
	uint32_t link, info;
	uint64_t entry_size;
};

struct elf_need { /* a symbol version wanted from a library */
	const char *library, *version;
	bool weak;
	uint16_t index;
};

struct elf_define { /* a symbol version that the file defines; the base entry (its own name) is left out */
	const char *version;
	uint16_t index;
};

struct elf_symbol {
	const char *name;
	const char *version; /* NULL: none */
	uint64_t value, size;
	uint8_t type, bind;
	bool defined;
};

/* Pieces of the file that are in memory already: few reads instead of many small ones. */
struct elf_piece {
	uint64_t offset;
	struct str bytes;
};

struct elf {
	const struct parse_source *source;
	struct elf_piece head, tail, tables; /* the beginning; section names and headers; dynamic strings and versions */
	struct elf_piece names;              /* a part of large dynamic strings, from an offset in them */
	struct arena *arena;
	enum elf_problem problem;
	uint16_t type, machine; /* e_type: 2 program, 3 shared object or PIE */
	uint8_t bits;           /* 64 or 32; 0 when it is no ELF file */
	bool big_endian;
	struct elf_segment *segments;
	size_t segment_count;
	struct elf_section *sections; /* none when stripped */
	size_t section_count;
	bool has_dynamic;
	const char *interp, *soname, *rpath, *runpath; /* NULL: none */
	const char **needed;
	size_t needed_count;
	uint64_t flags, flags_1;
	struct elf_need *needs;
	size_t need_count;
	struct elf_define *defines;
	size_t define_count;
	char build_id[65];                 /* hex, "" when there is none */
	uint64_t names_offset, names_size; /* of the dynamic strings in the file; size 0: none */
	struct str dynstr; /* all of them; its last byte is followed by a terminator, or is one. A large table: empty until parse_elf_names
			      or parse_elf_symbols */
	uint64_t symtab_offset, versym_offset, gnu_hash_offset; /* the last one 0: no such table */
	size_t symbol_count, versym_count;
	const unsigned char *symtab, *versym; /* NULL until parse_elf_symbols */
};

/* 0, or a negative errno when reading failed. */
int parse_elf_open(struct arena *a, const struct parse_source *source, struct elf *ret);

/* Reads all dynamic strings. 0 (also when there are none), or negative errno. */
int parse_elf_names(struct elf *e);
/* Reads the dynamic symbol table and the strings. 0 (also when there is none), or negative errno. */
int parse_elf_symbols(struct elf *e);
bool parse_elf_symbol(const struct elf *e, size_t index, struct elf_symbol *ret); /* false: no such symbol */
/* The symbol of that name. `defined` chooses which. */
bool parse_elf_find_symbol(const struct elf *e, const char *name, bool defined, struct elf_symbol *ret);

const struct elf_section *parse_elf_section(const struct elf *e, const char *name); /* NULL: none */
/* File offset of an address; false when no segment holds it. *ret_left: bytes of the file that follow in the segment. */
bool parse_elf_offset(const struct elf *e, uint64_t vaddr, uint64_t *ret_offset, uint64_t *ret_left);
/* The bytes [off, off + len), in the arena; longer than max: -EFBIG. */
int parse_elf_bytes(const struct elf *e, uint64_t off, uint64_t len, uint64_t max, struct str *ret);

const char *parse_elf_machine_name(uint16_t machine);         /* "x86_64", "aarch64", ..., "machine-N" never: NULL when unknown */
const char *parse_elf_problem_name(enum elf_problem problem); /* "truncated", ...; NULL for ELF_FINE */

#endif
