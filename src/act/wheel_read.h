/* Reading a wheel's members: between the files of act/wheel. */
#ifndef ACT_WHEEL_READ_H
#define ACT_WHEEL_READ_H

#include "act/wheel.h"
#include "parse/dist_info.h"
#include "parse/sha256.h"
#include "parse/zip.h"

struct wheel_member {                   /* of the same index as in the archive */
	char sha256[PARSE_SHA256_TEXT]; /* empty: not read */
	int error;                      /* of reading it */
	bool crc_wrong;
	struct buf digest; /* text of an ELF file's digest */
};

struct wheel_contents {
	struct host_file *file;
	struct parse_source source;
	struct zip zip;
	struct wheel_member *members;
};

void wheel_read(struct arena *a, struct host *door, const char *path, struct wheel *w, struct dist_metadata *m, struct wheel_contents *ret);
void wheel_read_source(struct arena *a, const char *path, struct wheel *w, struct dist_metadata *m);
void wheel_close(struct wheel_contents *c);

#endif
