/* Archives of tar: which files they hold, and the bytes of each in turn. */
#ifndef LOGS_TAPE_H
#define LOGS_TAPE_H

#include "logs/input.h"

struct tape {
	struct logs_input *in;
	char name[1024];     /* of the file at hand */
	uint64_t left, pad;  /* bytes of it that nobody read yet, and behind it */
	const char *problem; /* why it ended early; NULL: it did not */
};

/* The first 512 bytes of a tar archive. */
bool tape_is_archive(const char *head, size_t n);
/* Steps to the next regular file. False at the end. */
bool tape_next(struct tape *t);
/* A logs_read_fn for the file at hand; arg is the tape. */
ssize_t tape_read(void *arg, void *p, size_t n);

#endif
