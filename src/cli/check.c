#include "cli/cli.h"
#include "parse/lock.h"

/* "davy 0.1.0   trainer-3   Ubuntu 22.04 in docker   8 × NVIDIA H100   python 3.10.14 (/opt/conda)" */
const char *cli_headline(struct cli *c, const struct facts *f)
{
	struct buf b = BUF_MAX(4096);
	const struct facts_row *system = f->first[TABLE_system], *container = f->first[TABLE_container], *python = f->first[TABLE_python],
			       *gpu = f->first[TABLE_gpu];
	const char *text, *engine = container ? facts_get_text(container, container__engine) : NULL;
	buf_fmt(&b, "davy %s", DAVY_VERSION);
	if (system && (text = facts_get_text(system, system__hostname)))
		buf_fmt(&b, "   %s", text);
	if (system && (text = facts_get_text(system, system__os_name)))
		buf_fmt(&b, "   %s", text);
	if (engine && strcmp(engine, "none") != 0)
		buf_fmt(&b, cli_tr(c, " in %s", "（%s 容器）"), engine);
	if (gpu) {
		text = facts_get_text(gpu, gpu__name);
		buf_fmt(&b, "   %d %s %s", f->count[TABLE_gpu], c->unicode ? "×" : "x", text ? text : cli_tr(c, "accelerator", "加速卡"));
	}
	if (python && (text = facts_get_text(python, python__version))) {
		buf_fmt(&b, "   python %s", text);
		if ((text = facts_get_text(python, python__prefix)))
			buf_fmt(&b, " (%s)", text);
	}
	text = arena_strndup(c->arena, b.ptr, b.len);
	buf_free(&b);
	return text;
}

int cli_check(struct cli *c)
{
	struct examination e = {0};
	struct lock lock;
	int status;
	if (c->arg_count)
		return cli_fail(c, EXIT_USAGE, cli_tr(c, "check takes no arguments: '%s'", "check 不接受参数：“%s”"), c->args[0]);
	struct host *door = cli_door(c, &status);
	if (!door)
		return status;
	int rc = c->options.lock ? cli_read_lock(c, &lock) : 0;
	if (rc)
		return rc;
	e.lock = c->options.lock ? &lock : NULL;
	rc = cli_examine(c, door, &e);
	if (rc)
		return rc;
	struct report r = cli_report(c, &e.judgement, e.facts);
	r.headline = cli_headline(c, e.facts);
	r.part_names = (const char *const *)e.part_names;
	r.part_ms = e.part_ms;
	r.part_count = e.part_count;
	rc = cli_render(c, &r);
	store_close(e.store);
	if (door != c->host)
		host_close(door);
	return rc;
}
