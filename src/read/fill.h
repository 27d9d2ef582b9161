/* What several readers fill in: one row for each thing, whoever tells of it first wins.
 * A later output may repeat what an earlier one said; it does not overrule it. */
#ifndef READ_FILL_H
#define READ_FILL_H

#include "facts/facts.h"

/* Sets the column when it has no value yet. */
void read_fill_str(struct facts_row *row, enum facts_column c, struct str value, const char *origin);
void read_fill_int(struct facts_row *row, enum facts_column c, int64_t value, const char *origin);
void read_fill_bool(struct facts_row *row, enum facts_column c, bool value, const char *origin);
void read_fill_real(struct facts_row *row, enum facts_column c, double value, const char *origin);

struct facts_row *read_driver(struct facts *f, const char *vendor);
struct facts_row *read_gpu(struct facts *f, int64_t index, const char *vendor); /* made when new */
/* "00000000:3B:00.0", "3b:00.0" → "0000:3b:00.0"; empty when it is no PCI address. */
struct str read_pci_address(struct facts *f, struct str text);
struct facts_row *read_gpu_at(struct facts *f, struct str address, const char *vendor); /* by its PCI address; NULL when none has it */
struct facts_row *read_pair(struct facts *f, int64_t a, int64_t b);                     /* of GPUs; made when new */
struct facts_row *read_pci_device(struct facts *f, struct str address);
struct facts_row *read_rdma_port(struct facts *f, struct str device, int64_t port);
struct facts_row *read_library(struct facts *f, struct str soname);
struct facts_row *read_compiler(struct facts *f, const char *name);
/* A distribution; torch fills the torch row too. installer may be NULL. */
struct facts_row *read_package(struct facts *f, struct str name, struct str version, const char *installer, const char *origin);
/* The same with its place: another version at another line of the list is another row. */
struct facts_row *read_package_at(struct facts *f, struct str name, struct str version, struct str location, const char *origin);
struct facts_row *read_program(struct facts *f, const char *name);
struct facts_row *read_mount(struct facts *f, struct str path);
struct facts_row *read_interface(struct facts *f, struct str name);
struct facts_row *read_variable(struct facts *f, struct str name, struct str value, const char *origin);
void read_torch_version(struct facts *f, struct str version, const char *origin);
/* "12.4" or "None" as torch.version.cuda prints it. */
void read_torch_cuda(struct facts *f, struct str value, const char *origin);

/* A line of torch.__config__.show(). False when it is none. */
bool read_torch_config_line(struct facts *f, struct str line, const char *origin);

/* "True"/"False"/"yes"/"no". */
bool read_truth(struct str s, bool *ret);
/* "64M", "65536K", "1.5G", "16Gi", "1024" (times unit) → bytes. */
bool read_size(struct str s, int64_t unit, int64_t *ret);
/* What follows "(…)", which may hold pairs of its own: "(Ubuntu 11.4.0) 11.4.0" → "11.4.0". The text itself when it has none in front. */
struct str read_after_parentheses(struct str s);
bool read_is_version(struct str s); /* begins with a digit, only version characters */

#endif
