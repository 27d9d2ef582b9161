/* Text for terminals: display width (East Asian wide characters count two), wrapping, colours. */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include "base/str.h"

int text_width(struct str s); /* columns; escape sequences count nothing */

/* Appends s wrapped to `columns`, continuation lines indented by `indent` blanks. The cursor stands at column `at`. Chinese may break
 * between any two characters. Ends without a newline. */
void text_wrap(struct buf *out, struct str s, int at, int indent, int columns);
void text_pad(struct buf *out, int blanks);

enum text_style { TEXT_PLAIN, TEXT_BOLD, TEXT_DIM, TEXT_RED, TEXT_YELLOW, TEXT_GREEN, TEXT_CYAN };
void text_style(struct buf *out, bool color, enum text_style style, const char *s);

#endif
