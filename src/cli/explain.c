#include "cli/cli.h"

int cli_explain(struct cli *c)
{
	return cli_fail(c, EXIT_USAGE, "%s", cli_tr(c, "name a log", "请指定日志"));
}
