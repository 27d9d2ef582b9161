/* A wheel, or a source archive, before it is installed: would this interpreter take it, what is in it, what it needs, what it would change
 * here.
 *
 * From the file and from the facts of an examined machine. Nothing is unpacked to disk and nothing is run; every member is read once (hash,
 * CRC, GPU code), by several threads. Archives are untrusted: parse/zip.h.
 */
#ifndef ACT_WHEEL_H
#define ACT_WHEEL_H

#include "host/host.h"
#include "judge/judge.h"
#include "parse/elf_digest.h"
#include "parse/wheel.h"

#define WHEEL_OVERWRITES_MAX 50

struct wheel_library { /* an ELF file in it */
	const char *name;
	struct elf_digest elf;
};

struct wheel_requirement {
	const char *text, *name, *found; /* found: the installed version; NULL: not installed */
	bool conflict;
};

struct wheel_break { /* what an installed package asks of this one and would not get */
	const char *package, *specifier;
};

struct wheel_overwrite {
	const char *path, *owner, *owner_version; /* owner NULL: a file that no RECORD names */
};

struct wheel_problem { /* of the archive or its RECORD; what: absolute-path, ..., crc, hash, size, not-in-record, not-in-archive */
	const char *name, *what;
};

struct wheel_gpu {
	const char *name, *code; /* "sm_90" */
	enum { WHEEL_GPU_RUNS, WHEEL_GPU_JIT, WHEEL_GPU_NO, WHEEL_GPU_UNKNOWN } runs;
};

struct wheel {
	const char *path;
	bool is_source;
	int error;       /* negative errno: it could not be read as what it is */
	const char *why; /* of an error: not-zip, damaged, no-metadata, ... */
	uint64_t size, unpacked;
	size_t members;
	const char *name, *canonical, *version, *summary, *requires_python;
	struct wheel_name tags;
	bool name_valid, name_differs;  /* the file's name is one pip accepts; it says something else than METADATA */
	bool python_known, python_fits; /* by Requires-Python */
	const char *python;
	bool fit_known;
	enum wheel_fit fit;
	const char *target; /* "cp311, manylinux_2_36_x86_64" */
	struct wheel_library *libraries;
	size_t library_count, library_cap;
	const char *code; /* of the library with most of it: "sm_80 sm_90 compute_90"; NULL: none */
	const char *code_in;
	bool code_hidden, code_incomplete;
	struct wheel_gpu *gpus;
	size_t gpu_count;
	const char *nccl_brings, *nccl_inside,
		*nccl_needs; /* version of a libnccl in it; linked into a library; the library that wants one */
	const char *cuda;    /* torch/version.py, or the CUDA of its runtime library */
	const char **needs;  /* CUDA libraries that it wants and does not bring: "libcudart.so.12" */
	size_t need_count, need_cap;
	const char *glibc, *glibcxx;
	const char **scripts;
	size_t script_count, script_cap;
	struct wheel_requirement *requirements;
	size_t requirement_count, requirement_cap;
	struct wheel_break *breaks;
	size_t break_count, break_cap;
	const char *replaces, *replaces_in; /* installed version of the same distribution, and where */
	struct wheel_overwrite *overwrites;
	size_t overwrite_count, overwrite_cap; /* of overwrites kept; */
	size_t overwritten;                    /* all */
	struct wheel_problem *problems;
	size_t problem_count, problem_cap;
	bool record_missing;
	/* -- of a source archive -- */
	const char **build_requires;
	size_t build_require_count, build_require_cap;
	bool has_c, has_cuda, has_rust, has_cython, wants_torch;
};

/* Is it one by its beginning or its name? */
bool wheel_is_one(struct host *door, const char *path);
bool wheel_is_source(const char *path);

/* Reads and judges it. `door`: where its file, the interpreter and its packages are. */
void wheel_examine(struct judge *j, struct host *door, const char *path, struct wheel *ret);

/* Would installing it here go wrong, or is it damaged? */
bool wheel_is_faulty(const struct wheel *w);

#endif
