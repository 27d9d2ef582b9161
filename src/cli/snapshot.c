#include "cli/cli.h"

#include <errno.h>

int cli_snapshot(struct cli *c)
{
	struct examination e = {0};
	int status;
	const char *why = "", *path = c->arg_count ? c->args[0] : NULL;
	if (c->arg_count > 1)
		return cli_fail(
			c, EXIT_USAGE, cli_tr(c, "one place to save to, not %zu", "只能指定一个保存位置，而不是 %zu 个"), c->arg_count);
	if (!path && !c->options.show)
		path = arena_printf(c->arena, "davy-snapshot-%lld.tar.zst", (long long)host_now(c->host));
	struct host *door = cli_door(c, &status);
	if (!door)
		return status;
	host_record(door);
	int rc = cli_examine(c, door, &e);
	store_close(e.store);
	if (rc)
		return rc;
	if (c->options.show) {
		struct buf out = BUF_MAX((size_t)64 << 20);
		host_snapshot_show(door, !c->options.no_redact, &out);
		rc = cli_print(&out, EXIT_FINE);
		buf_free(&out);
		return rc;
	}
	rc = host_snapshot_write(door, path, !c->options.no_redact, &why);
	if (rc < 0)
		return cli_fail(c, EXIT_DEFECT, "%s: %s", path, why);
	struct buf out = BUF_MAX(4096);
	if (!c->options.quiet)
		buf_fmt(&out,
			cli_tr(c, "Saved to %s%s. Examine it with: davy check --from %s\n", "已保存到 %s%s。查看：davy check --from %s\n"),
			path, c->options.no_redact ? "" : cli_tr(c, ", private data replaced", "，隐私数据已替换"), path);
	rc = cli_print(&out, EXIT_FINE);
	buf_free(&out);
	return rc;
}
