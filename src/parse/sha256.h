/* SHA-256 of a large file, as RECORD files of Python packages write it: urlsafe base64 without padding. */
#ifndef PARSE_SHA256_H
#define PARSE_SHA256_H

#include "parse/source.h"

#define PARSE_SHA256_TEXT 44 /* 43 characters and the terminator */

/* Reads the whole source once, in blocks. 0, or what its pread gave. */
int parse_sha256(const struct parse_source *source, char ret[PARSE_SHA256_TEXT]);

#endif
