/* Writes JSON into a buffer: commas, escapes and valid UTF-8 are its business. Keys NULL inside arrays. */
#ifndef REPORT_JSON_WRITER_H
#define REPORT_JSON_WRITER_H

#include "base/str.h"

struct json_writer {
	struct buf *out;
	int depth;
	bool need_comma, pretty;
};

struct json_writer json_writer_to(struct buf *out, bool pretty);
void json_open(struct json_writer *w, const char *key, char bracket);     /* '{' or '[' */
void json_close(struct json_writer *w, char bracket);                     /* '}' or ']' */
void json_text(struct json_writer *w, const char *key, const char *text); /* NULL: null */
void json_str(struct json_writer *w, const char *key, struct str text);
void json_int(struct json_writer *w, const char *key, int64_t n);
void json_real(struct json_writer *w, const char *key, double x);
void json_bool(struct json_writer *w, const char *key, bool b);
void json_null(struct json_writer *w, const char *key);
/* A NULL-terminated list of texts as an array. NULL: []. */
void json_list(struct json_writer *w, const char *key, const char *const *texts);

#endif
