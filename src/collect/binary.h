/* Programs and shared libraries through the door: their digests (parse/elf_digest.h).
 *
 * Two digests are kept of a file: "elf" (dynamic section, versions, symbols of interest) and "gpu" (GPU code). A fixture may put all
 * lines into the first. A file that is damaged or no ELF file has a digest too, with `problem` set.
 */
#ifndef COLLECT_BINARY_H
#define COLLECT_BINARY_H

#include "host/host.h"
#include "parse/elf_digest.h"

/* `what`: ELF_DIGEST_LINK, ELF_DIGEST_CODE or both. 0, or the door's negative errno: -ENOENT absent, -ENODATA not in the snapshot, ... */
int collect_binary(struct host *h, struct arena *a, const char *path, unsigned what, struct elf_digest *ret);

/* An open file as a source for parse/. */
struct parse_source collect_binary_source(struct host_file *file);

#endif
