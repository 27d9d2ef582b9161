/* What Davy keeps of a program or shared library: a short text, made from the file once and read back everywhere.
 *
 * A snapshot stores the text instead of the library, a test fixture is such a text written by hand. One line is one statement, the first
 * word says what, order does not matter, unknown words are ignored, a line that begins with # is a comment:
 *
 *   class 32                     a 32-bit file (64 is not written)
 *   machine x86_64               or aarch64, ...
 *   type exec                    exec or dyn (dyn is not written)
 *   interp /lib64/ld-linux-x86-64.so.2
 *   soname libnccl.so.2
 *   needed libc.so.6
 *   rpath $ORIGIN/../../nvidia/nccl/lib          as it stands in the file, $ORIGIN not replaced
 *   runpath $ORIGIN
 *   nodeflib 1                   default directories are not searched for it
 *   static_tls 1                 wants static thread-local storage (dlopen may fail)
 *   build_id 9fcf74d9...
 *   verneed libc.so.6 GLIBC_2.34          weak needs have a third word: weak
 *   verdef GLIBCXX_3.4.30
 *   glibcxx_max 3.4.30           highest GLIBCXX version that it defines
 *   cxx11 1                      C++ ABI of the c10, at and torch symbols in it: 1 new, 0 old
 *   numpy_abi 1                  built with the headers of NumPy 1 (cannot be used under NumPy 2) or 2
 *   nccl 2.28.9 cuda 13.0        NCCL in the file (itself, or linked statically); cuda is missing where the file does not tell
 *   rccl 2.22.3 hip 6.4
 *   version 9.19.0               version of a library that tells it (cuDNN, cuFFT, cuSOLVER, cuRAND, NVRTC, nvJitLink, CUDA runtime)
 *   defines ncclCommInitRank     symbols of interest only; the symbol's version may follow
 *   undefined c10d::ProcessGroupNCCL      marks of PyTorch's back ends, see below
 *   string ProcessGroupNCCL      exact strings of interest
 *   sass sm_90a 139              GPU code: kind, name, number of entries (empty stubs are not counted)
 *   ptx compute_120 9.0 138      with the highest PTX ISA version
 *   lto lto_75 12728
 *   hsaco gfx942 12
 *   gpu_code hidden              containers outside .nv_fatbin: the library chooses itself, never conclude that code is missing
 *   gpu_code incomplete          a bound stopped the search, or bundles are compressed
 *   problem truncated            empty, not-elf, lfs-pointer, truncated, wrong-machine (32-bit, big-endian), damaged
 *
 * Weak undefined symbols are left out. Symbols of interest begin with nccl, __nvJitLink, nvJitLink, iJIT_, cuTensorMap, cublasLt or
 * PyInit_. `defines` and `undefined` with c10d::ProcessGroupX (NCCL, Gloo, MPI, UCC, XCCL) say that a mangled symbol names that class: the
 * back end is compiled in.
 */
#ifndef PARSE_ELF_DIGEST_H
#define PARSE_ELF_DIGEST_H

#include "parse/fatbin.h"

#define ELF_DIGEST_LINK 1u /* everything but GPU code */
#define ELF_DIGEST_CODE 2u /* GPU code */

struct elf_digest_symbol {
	const char *name, *version; /* version NULL: none */
	bool defined;
};

struct elf_digest_code {
	enum fatbin_kind kind;
	const char *name;    /* sm_90a */
	const char *ptx_isa; /* "9.0"; NULL */
	int64_t entries;
};

struct elf_digest {
	const char *problem; /* NULL: fine */
	bool is_32bit, is_program, nodeflib, static_tls;
	const char *machine, *interp, *soname, *rpath, *runpath, *build_id; /* NULL: none */
	const char **needed;
	size_t needed_count;
	struct elf_need *needs; /* index is not kept */
	size_t need_count;
	const char **verdefs;
	size_t verdef_count;
	const char *glibcxx_max;
	int cxx11, numpy_abi; /* -1: not known */
	const char *nccl, *nccl_cuda, *rccl, *rccl_hip, *version;
	struct elf_digest_symbol *symbols;
	size_t symbol_count;
	const char **strings;
	size_t string_count;
	struct elf_digest_code *codes;
	size_t code_count;
	bool code_hidden, code_incomplete;
	size_t caps[6]; /* of the arrays above, for growing */
};

/* Writes the digest of a file. 0, or a negative errno when reading failed. `what`: ELF_DIGEST_LINK | ELF_DIGEST_CODE. */
int parse_elf_digest_make(const struct parse_source *source, unsigned what, struct buf *ret_text);

/* The digest of an ELF file that is open already, and its GPU code if that was looked at (else NULL). */
int parse_elf_digest_write(struct elf *e, const struct fatbin *code, unsigned what, struct buf *ret_text);

/* Reads a digest; call again with another text of the same file to add to it. Start with ELF_DIGEST_NONE. */
#define ELF_DIGEST_NONE ((struct elf_digest){.cxx11 = -1, .numpy_abi = -1})
void parse_elf_digest_read(struct arena *a, struct str text, struct elf_digest *d);

bool parse_elf_digest_defines(const struct elf_digest *d, const char *symbol);
bool parse_elf_digest_mentions(const struct elf_digest *d, const char *symbol); /* defined or undefined */
bool parse_elf_digest_has_string(const struct elf_digest *d, const char *string);
bool parse_elf_digest_has_verdef(const struct elf_digest *d, const char *version);
/* Highest version of a family that the file needs: "GLIBC_", "GLIBCXX_", "CXXABI_"; NULL: none. */
const char *parse_elf_digest_highest_need(const struct elf_digest *d, const char *family);

/* The version in a file name: "libcudart.so.12.4.127" 12.4.127; false when it has fewer than two parts ("libnccl.so.2"). */
bool parse_elf_version_of_name(const char *path, char ret[32]);

#endif
