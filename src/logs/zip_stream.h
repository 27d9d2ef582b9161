/* Archives of zip as they come: which files they hold, and the bytes of each in turn. The directory at their end is not needed, so that a
 * cut archive, or one from a pipe, is read as far as it goes. Wheels, which must be what their directory says, are read by parse/zip.h. */
#ifndef LOGS_ZIP_STREAM_H
#define LOGS_ZIP_STREAM_H

#include "logs/input.h"

struct zip_stream {
	struct logs_input *in;
	char name[1024];     /* of the file at hand */
	const char *problem; /* why it ended early, or what could not be read; NULL: nothing */
	char raw[65536];     /* of the archive: raw[at..have) was taken from `in` and not used yet */
	size_t at, have;
	void *inflate;             /* of a deflated file */
	bool deflated, ended;      /* the file at hand; all its bytes were given */
	bool sized;                /* its packed size is known */
	uint64_t left;             /* packed bytes that nobody read yet, where that is known */
	uint64_t packed, unpacked; /* bytes of all files so far */
};

/* The first bytes of a zip archive. */
bool zip_stream_is_archive(const char *head, size_t n);
/* Steps to the next file. False at the end. */
bool zip_stream_next(struct zip_stream *z);
/* A logs_read_fn for the file at hand; arg is the stream. */
ssize_t zip_stream_read(void *arg, void *p, size_t n);
void zip_stream_close(struct zip_stream *z);

#endif
