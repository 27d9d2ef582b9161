/* davy plan --lock [FILE] and what davy check --lock FILE reads. */
#include <errno.h>

#include "act/lock.h"
#include "cli/cli.h"
#include "parse/lock.h"
#include "report/json_writer.h"

#define LOCK_MAX ((size_t)16 << 20)

int cli_read_lock(struct cli *c, struct lock *ret)
{
	struct str text;
	const char *file = c->options.lock, *cwd = host_cwd(c->host);
	const char *path = file[0] == '/' ? file : arena_printf(c->arena, "%s/%s", cwd ? cwd : "", file);
	int rc = host_read(c->host, path, LOCK_MAX, &text);
	if (rc < 0)
		return cli_fail(c, EXIT_NO_INPUT, "--lock %s: %s", file,
			rc == -EINVAL || rc == -EISDIR ? cli_tr(c, "no regular file", "不是普通文件") : strerror(-rc));
	rc = parse_lock(c->arena, text, ret);
	if (rc == 0)
		return 0;
	if (ret->bad_line)
		return cli_fail(c, EXIT_NO_INPUT, cli_tr(c, "--lock %s: line %lld: %s", "--lock %s：第 %lld 行：%s"), file,
			(long long)ret->bad_line, ret->why);
	return cli_fail(c, EXIT_NO_INPUT,
		cli_tr(c, "--lock %s: no lock file: %s; davy plan --lock writes one",
			"--lock %s：不是锁定文件：%s；可用 davy plan --lock 生成"),
		file, ret->why ? ret->why : strerror(-rc));
}

static void json_packages(struct json_writer *w, const struct facts *f)
{
	json_open(w, "packages", '[');
	for (const struct facts_row *p = f->first[TABLE_package]; p; p = p->next) {
		bool shadowed = false, editable = false;
		facts_get_bool(p, package__shadowed, &shadowed);
		facts_get_bool(p, package__editable, &editable);
		if (shadowed || facts_get_text(p, package__broken))
			continue;
		json_open(w, NULL, '{');
		json_text(w, "name", facts_get_text(p, package__canonical));
		json_text(w, "version", facts_get_text(p, package__version));
		json_text(w, "installer", facts_get_text(p, package__installer));
		json_text(w, "source", facts_get_text(p, package__source));
		json_text(w, "record", facts_get_text(p, package__record));
		json_bool(w, "editable", editable);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void print_json(const struct facts *f, const char *file, const struct lock_summary *n, struct str lock, struct buf *out)
{
	struct json_writer writer = json_writer_to(out, true), *w = &writer;
	json_open(w, NULL, '{');
	json_text(w, "schema", "davy/1");
	json_text(w, "version", DAVY_VERSION);
	json_text(w, "command", "plan");
	json_open(w, "lock", '{');
	json_text(w, "file", *file ? file : NULL);
	json_int(w, "pip", n->pip);
	json_int(w, "conda", n->conda);
	json_int(w, "others", n->others);
	json_int(w, "hashed", n->hashed);
	json_int(w, "editable", n->editable);
	json_int(w, "local", n->local);
	json_packages(w, f);
	json_str(w, "text", lock);
	json_close(w, '}');
	json_close(w, '}');
	buf_char(out, '\n');
}

/* An environment that could not be read must not be written down as an empty one. */
static int unreadable(struct cli *c, const struct facts *f)
{
	if (!f->first[TABLE_python])
		return cli_fail(c, EXIT_UNKNOWN, "%s",
			cli_tr(c, "no Python was found to write down; name one with --python",
				"未找到可记录的 Python；请用 --python 指定"));
	for (const struct facts_table_gap *g = f->gaps; g; g = g->next)
		if (g->table == TABLE_package || g->table == TABLE_conda_package)
			return cli_fail(c, EXIT_UNKNOWN,
				cli_tr(c, "the packages could not be read completely (%s: %s), so no lock was written",
					"无法完整读取软件包（%s：%s），未写出锁定文件"),
				g->origin ? g->origin : "?", g->detail ? g->detail : facts_gap_name(g->gap));
	return 0;
}

int cli_plan_lock(struct cli *c)
{
	struct examination e = {.for_lock = true};
	struct lock_summary n;
	const char *file = c->options.lock, *why = "";
	int status;
	bool to_file = *file && strcmp(file, "-") != 0;
	if (c->arg_count)
		return cli_fail(c, EXIT_USAGE, cli_tr(c, "plan takes no arguments: '%s'", "plan 不接受参数：“%s”"), c->args[0]);
	if (c->options.offline || c->options.docker || c->options.from_source || c->options.script || c->options.torch ||
		c->options.driver || c->options.gpu || c->options.mirror || c->options.arch || c->options.libc)
		return cli_fail(c, EXIT_USAGE, "%s",
			cli_tr(c, "--lock writes down what is installed; it goes with --python, --root and --from only",
				"--lock 记录已安装的内容，只能与 --python、--root、--from 一起使用"));
	struct host *door = cli_door(c, &status);
	if (!door)
		return status;
	int rc = cli_examine(c, door, &e);
	if (rc)
		return rc;
	rc = unreadable(c, e.facts);
	if (rc)
		return rc;
	struct buf lock = BUF_MAX((size_t)64 << 20), out = BUF_MAX((size_t)128 << 20);
	lock_write(&e.judge, door, to_file ? file : "lock.txt", &lock, &n);
	if (to_file && host_write_file(c->host, file, buf_view(&lock), &why) < 0)
		return cli_fail(c, EXIT_DEFECT, "%s: %s", file, why);
	if (c->options.json)
		print_json(e.facts, to_file ? file : "", &n, buf_view(&lock), &out);
	else if (!to_file)
		buf_str(&out, buf_view(&lock));
	else if (!c->options.quiet)
		buf_fmt(&out,
			cli_tr(c, "%s: %d packages of pip (%d with the archive's hash, %d editable), %d of conda, %d of others\n",
				"%s：pip 的包 %d 个（已知安装包哈希 %d 个，可编辑安装 %d 个），conda 的 %d 个，其他 %d 个\n"),
			file, n.pip, n.hashed, n.editable, n.conda, n.others);
	rc = cli_print(&out, EXIT_FINE);
	buf_free(&lock);
	buf_free(&out);
	store_close(e.store);
	return rc;
}
