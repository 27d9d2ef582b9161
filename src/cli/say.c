/* What Davy says: in the user's language, cleaned of what would drive the terminal, to standard output or standard error. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/printable.h"
#include "cli/cli.h"

static bool speaks_chinese, is_colored; /* for cli_print, which knows no struct cli */

void cli_say_in(const struct cli *c)
{
	speaks_chinese = c->chinese;
	is_colored = c->color;
}

const char *cli_tr(const struct cli *c, const char *english, const char *chinese)
{
	return c->chinese ? chinese : english;
}

int cli_fail(const struct cli *c, int status, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *text = arena_vprintf(c->arena, fmt, ap);
	va_end(ap);
	printable_clean(text, strlen(text), PRINTABLE_LINES);
	fprintf(stderr, "davy: %s\n", text);
	return status;
}

int cli_print(struct buf *out, int status)
{
	const char *why = NULL;
	/* Whatever the renderers let through: nothing but our own colours drives the terminal. */
	if (out->len)
		printable_clean(out->ptr, out->len, PRINTABLE_LINES | (is_colored ? PRINTABLE_STYLES : 0));
	if ((out->len && fwrite(out->ptr, 1, out->len, stdout) != out->len) || fflush(stdout) != 0)
		why = errno == EPIPE ? NULL : strerror(errno);
	else if (out->truncated)
		why = speaks_chinese ? "输出过长，已截断" : "the output is too long and was cut";
	if (why)
		fprintf(stderr, speaks_chinese ? "davy: 标准输出：%s\n" : "davy: standard output: %s\n", why);
	return why ? EXIT_DEFECT : status;
}
