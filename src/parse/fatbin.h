/* GPU code inside a library: NVIDIA fat binaries (SASS, PTX, LTO-IR) and AMD offload bundles.
 *
 * Walks the containers of every section that holds or hides them (.nv_fatbin, __nv_relfatbin, .cask_resource, .ldata, .rodata, .data)
 * and counts entries by kind and architecture. Reads headers only, 4 KiB at a time, never payloads; nothing is decompressed.
 * Files whose section headers were stripped are searched segment by segment.
 *
 * nvcc's device link puts a container of empty cubins beside the real ones: such stubs are counted apart, and an architecture that has
 * nothing else is no architecture of this file (`entries` is 0).
 */
#ifndef PARSE_FATBIN_H
#define PARSE_FATBIN_H

#include "parse/elf.h"

enum fatbin_kind { FATBIN_SASS, FATBIN_PTX, FATBIN_LTO, FATBIN_HSACO };

#define FATBIN_CODES_MAX 192

struct fatbin_code {
	enum fatbin_kind kind;
	uint32_t arch;                         /* 90; of FATBIN_HSACO 0 */
	char suffix;                           /* 'a', 'f' or 0 */
	uint16_t isa_major, isa_minor;         /* highest PTX ISA version of PTX entries */
	uint16_t isa_low_major, isa_low_minor; /* lowest */
	uint64_t entries, stubs;
	uint64_t bytes; /* uncompressed where the header tells */
	char name[24];  /* sm_90a, compute_90, lto_90, gfx942 */
};

struct fatbin {
	struct fatbin_code codes[FATBIN_CODES_MAX]; /* by kind, then architecture */
	size_t code_count;
	uint64_t containers, entries, unknown_entries, wrappers;
	bool damaged;    /* a container or entry went beyond its section */
	bool incomplete; /* a bound stopped the walk; what is listed is there, more may be */
	bool hidden;     /* containers outside .nv_fatbin and __nv_relfatbin: the library chooses and loads code itself */
};

/* 0, or a negative errno when reading failed. */
int parse_fatbin(const struct elf *e, struct fatbin *ret);

/* Several files at once with up to `threads` threads; result i belongs to file i. */
struct fatbin_job {
	const struct elf *elf;
	struct fatbin *ret;
	int error;
};
void parse_fatbin_many(struct fatbin_job *jobs, size_t count, unsigned threads);

/* "sm_90a" and so on, of the parts. */
void parse_fatbin_name(enum fatbin_kind kind, uint32_t arch, char suffix, char ret[24]);
const char *parse_fatbin_kind_name(enum fatbin_kind kind); /* sass, ptx, lto, hsaco */

#endif
