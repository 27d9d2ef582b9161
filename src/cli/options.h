/* One table gives parsing and help. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "cli/cli.h"

/* Parses argv[from..]. 0, or -EINVAL with *ret_why said in the user's language. "--" ends the options. */
int options_parse(struct cli *c, int argc, char **argv, int from, const char **ret_why);
void options_help(const struct cli *c, struct buf *out);

#endif
