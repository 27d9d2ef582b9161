/* Frames: what the nodes of `davy cluster` say to one another.
 *
 * A frame is a header of FRAME_HEADER bytes ("DAVY", version, type, two zero bytes, length of the body, token of the job) and a body of
 * fields; all numbers are big-endian. A field is a tag, a length and bytes: a number of eight bytes, or a text. Whoever knows the port may
 * send anything: every length is checked before it is used, unknown tags are passed over, a tag that comes twice counts once. Texts point
 * into the bytes that were parsed and are not terminated.
 */
#ifndef PARSE_FRAME_H
#define PARSE_FRAME_H

#include "base/str.h"

#define FRAME_HEADER 20
#define FRAME_VERSION 1
#define FRAME_TAGS 96

struct frame {
	uint8_t type;
	uint64_t token;
	struct str body;
};

/* Takes the next frame off *rest. 1 a frame; 0 more bytes are needed; -EBADMSG no frame of ours; -EPROTONOSUPPORT another version;
 * -EMSGSIZE a body longer than `max`. *rest is untouched unless 1. */
int parse_frame_next(struct str *rest, size_t max, struct frame *ret);

struct frame_fields {
	bool has[FRAME_TAGS], is_text[FRAME_TAGS];
	int64_t number[FRAME_TAGS];
	struct str text[FRAME_TAGS];
};

/* 0, or -EBADMSG when a length passes the end or a number has not eight bytes. */
int parse_frame_fields(struct str body, struct frame_fields *ret);
int64_t parse_frame_int(const struct frame_fields *f, unsigned tag, int64_t otherwise);
struct str parse_frame_text(const struct frame_fields *f, unsigned tag); /* empty when there is none */

/* -- writing: frame_begin, frame_int and frame_text in any number, frame_end -- */
size_t frame_begin(struct buf *b, uint8_t type, uint64_t token); /* where the frame starts: for frame_end */
void frame_int(struct buf *b, unsigned tag, int64_t n);
void frame_text(struct buf *b, unsigned tag, struct str text);
void frame_end(struct buf *b, size_t start);

#endif
