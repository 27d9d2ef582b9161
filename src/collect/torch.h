/* PyTorch without importing it: what the collectors of torch, its libraries and its NCCL share. */
#ifndef COLLECT_TORCH_H
#define COLLECT_TORCH_H

#include "collect/collect.h"
#include "collect/ldso.h"

struct torch_place {
	struct facts_row *row; /* of table torch; NULL: there is none */
	const char *dir;       /* .../site-packages/torch */
	const char *site;      /* the directory that holds it */
	const char *native;    /* torch/_C.cpython-311-x86_64-linux-gnu.so; NULL: none for this Python */
	const char *python;    /* real path of the interpreter */
	const char *prefix;    /* sys.prefix */
	bool cuda, hip, conda;
};

/* The distribution whose RECORD names a file, or that evidently owns it; NULL: none known. */
struct owner_index;
struct owner_index *collect_owner_index(struct collect *c, const struct torch_place *t);
const char *collect_owner_of(struct owner_index *o, const char *path, const char **ret_version);

/* Where the libraries of NVIDIA's wheels lie: site/nvidia/<part>/lib/<soname>, the first on the module search path; NULL: nowhere. */
const char *collect_wheel_library(struct owner_index *o, const char *soname);

/* What `import torch` and the import of what is built on it would load. NULL when the interpreter cannot be read. */
struct ldso *collect_torch_load(
	struct collect *c, const struct torch_place *t, struct owner_index *o, const char **extensions, size_t extension_count);

/* Symbols of PyTorch that extensions want and do not get, into missing_symbol. */
void collect_extension(struct collect *c, const struct torch_place *t, struct ldso *l, const char **paths, size_t count);

void collect_library(struct collect *c, const struct torch_place *t, struct ldso *l, struct owner_index *o);
void collect_nccl(struct collect *c, const struct torch_place *t, struct ldso *l, struct owner_index *o);

#endif
