#include "cli/cli.h"

int cli_inspect(struct cli *c)
{
	return cli_fail(c, EXIT_USAGE, "%s", cli_tr(c, "name a file or a process id", "请指定文件或进程号"));
}
