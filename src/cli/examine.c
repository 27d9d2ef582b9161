/* What several commands do: open knowledge, open a door, examine a machine, render. */
#include <errno.h>
#include <unistd.h>

#include "cli/cli.h"
#include "collect/collect.h"
#include "collect/interpreter.h"
#include "host/redact.h"
#include "judge/knowledge.h"

struct store *cli_knowledge(struct cli *c)
{
	struct store *s;
	const char *warnings = "";
	static bool said; /* explain opens it again for another reading */
	int rc = knowledge_open(c->arena, knowledge_image, knowledge_image_size, c->options.knowledge, &s, &warnings);
	if (rc < 0) {
		cli_fail(c, EXIT_DEFECT, cli_tr(c, "the knowledge could not be opened: %s", "无法打开知识库：%s"), strerror(-rc));
		return NULL;
	}
	if (*warnings && !said)
		cli_fail(c, 0, cli_tr(c, "some knowledge was left out:\n%s", "部分知识未能采用：\n%s"), warnings);
	said = true;
	return s;
}

struct host *cli_door(struct cli *c, int *ret_status)
{
	struct host *door = c->host;
	const char *why = NULL;
	int rc = 0;
	if (c->options.from && c->options.root) {
		*ret_status = cli_fail(
			c, EXIT_USAGE, "%s", cli_tr(c, "--from and --root exclude one another", "--from 与 --root 不能同时使用"));
		return NULL;
	}
	if (c->options.from)
		rc = host_open_replay(c->arena, c->options.from, &door, &why);
	else if (c->options.root)
		rc = host_open_live(c->arena, c->options.root, &door);
	if (rc < 0) {
		const char *what = c->options.from ? c->options.from : c->options.root;
		size_t n = strlen(what);
		if (why && strncmp(why, what, n) == 0 && why[n] == ':')
			why += n + 2;
		*ret_status = cli_fail(c, EXIT_NO_INPUT, "%s: %s", what, why ? why : strerror(-rc));
		return NULL;
	}
	c->door = door;
	return door;
}

#define SLOW_BYTES (256ull << 20)

/* A line on the terminal for hashing that takes a while; it goes away when all is done. */
static void show_progress(void *arg, unsigned long long done, unsigned long long total)
{
	struct cli *c = arg;
	if (total < SLOW_BYTES)
		return;
	if (done == total)
		fputs("\r\033[K", stderr);
	else
		fprintf(stderr, cli_tr(c, "\r\033[K  hashing %3.0f %% of %.1f GB", "\r\033[K  正在校验 %3.0f %%，共 %.1f GB"),
			100.0 * (double)done / (double)total, (double)total / 1e9);
	fflush(stderr);
}

/* A name on PATH, or a folder that has an interpreter. What may not be read is left to the collector. */
static int find_python(struct cli *c, struct host *door)
{
	const char *name = c->options.python, *asked;
	struct interpreter py;
	struct host_stat st;
	struct collect collect = {.host = door, .arena = c->arena, .python = name};
	if (!host_is_live(door) || collect_interpreter_find(&collect, &py, &asked) != -ENOENT)
		return 0;
	if (host_stat(door, arena_printf(c->arena, "%s/bin", name), &st) == -EACCES)
		return 0;
	if (strchr(name, '/'))
		return cli_fail(c, EXIT_NO_INPUT,
			cli_tr(c, "--python %s: there is no python in its bin folder", "--python %s：其 bin 目录中没有 python"), name);
	return cli_fail(c, EXIT_NO_INPUT,
		cli_tr(c, "--python %s: there is no such program on PATH, nor a folder of that name with a bin/python",
			"--python %s：PATH 上没有这个程序，也没有同名且含 bin/python 的目录"),
		name);
}

/* By its name, also behind links, or a script that names Python: what pip, conda and wrappers install. */
static bool is_interpreter(struct host *door, const char *path)
{
	const char *real = path;
	struct str head;
	host_realpath(door, path, &real);
	for (int i = 0; i < 2; i++) {
		const char *at = i ? real : path, *slash = strrchr(at, '/'), *name = slash ? slash + 1 : at;
		if (strstr(name, "python") || strncmp(name, "pypy", 4) == 0)
			return true;
	}
	if (host_read_head(door, path, 4096, &head) < 0)
		return true; /* what may not be read is left to the collector */
	return str_starts(head, "#!") && str_find(head, "python", 0) != SIZE_MAX;
}

int cli_check_python(struct cli *c, struct host *door)
{
	struct host_stat st;
	const char *path = c->options.python, *cwd = host_cwd(c->host);
	if (!path)
		return 0;
	if (!strchr(path, '/'))
		return find_python(c, door);
	if (path[0] != '/' && cwd)
		c->options.python = path = arena_printf(c->arena, "%s/%s", cwd, path);
	int rc = host_stat(door, path, &st);
	if (rc == -ENOENT || rc == -ENOTDIR)
		return cli_fail(c, EXIT_NO_INPUT,
			cli_tr(c, "--python %s: there is no such interpreter or environment", "--python %s：没有这个解释器或环境"), path);
	if (rc == 0 && host_is_live(door) && st.kind != HOST_DIR && (st.kind != HOST_FILE || !(st.mode & 0111)))
		return cli_fail(c, EXIT_NO_INPUT,
			cli_tr(c, "--python %s: neither a program nor a folder", "--python %s：既不是程序，也不是目录"), path);
	if (rc == 0 && host_is_live(door) && st.kind == HOST_FILE && !is_interpreter(door, path))
		return cli_fail(c, EXIT_NO_INPUT,
			cli_tr(c, "--python %s: this program is no Python interpreter", "--python %s：该程序不是 Python 解释器"), path);
	return rc == 0 && st.kind == HOST_DIR ? find_python(c, door) : 0;
}

int cli_only(struct cli *c, struct judge *j)
{
	const char *only = c->options.only;
	struct cause_text text;

	if (!only || stage_by_name(only, strlen(only)) >= 0 || (strchr(only, '.') && judge_cause(j, only, false, &text) == 0))
		return 0;
	return cli_fail(c, EXIT_USAGE,
		cli_tr(c, "--only %s: neither a stage nor a cause; the causes: davy cause",
			"--only %s：既不是阶段，也不是原因；原因列表：davy cause"),
		only);
}

int cli_examine(struct cli *c, struct host *door, struct examination *ret)
{
	return cli_examine_live(c, door, &(struct live){.only = c->options.only, .mode = JUDGE_CHECK}, ret);
}

int cli_examine_live(struct cli *c, struct host *door, const struct live *live, struct examination *ret)
{
	*ret = (struct examination){.facts = facts_new(c->arena), .for_lock = ret->for_lock, .lock = ret->lock, .sql = ret->sql};
	size_t n = collector_count + 3;
	ret->part_names = arena_array(c->arena, n, sizeof *ret->part_names);
	ret->part_ms = arena_array(c->arena, n, sizeof *ret->part_ms);
	double start = host_clock_ms();
	int rc = cli_check_python(c, door);
	if (rc)
		return rc;
	ret->store = cli_knowledge(c);
	if (!ret->store)
		return EXIT_DEFECT;
	ret->part_names[n - 3] = "knowledge";
	ret->part_ms[n - 3] = host_clock_ms() - start;

	bool asked[TABLE_COUNT], columns[COLUMN_COUNT];
	bool narrow = ret->sql && store_asked_by(ret->store, ret->sql, asked, columns) == 0;
	struct collect collect = {.host = door,
		.facts = ret->facts,
		.arena = c->arena,
		.python = c->options.python,
		.backend = c->options.backend,
		.deep = c->options.deep,
		.files_only = c->files_only,
		.for_lock = ret->for_lock || ret->lock,
		.digests = c->options.json || c->command->compares, /* they tell wheels apart that have the same version */
		.lock = ret->lock,
		.lock_path = c->options.lock,
		.asked = narrow ? asked : NULL,
		.asked_columns = narrow ? columns : NULL};
	if (c->options.deep && !c->options.quiet && isatty(STDERR_FILENO)) {
		collect.progress = show_progress;
		collect.progress_arg = c;
	}
	collect_all(&collect, ret->part_ms);
	for (size_t i = 0; i < collector_count; i++)
		ret->part_names[i] = collectors[i].name;
	if (live->run)
		live->run(live->arg, ret->store, ret->facts);

	start = host_clock_ms();
	rc = collect.asked ? store_load_asked(ret->store, ret->facts, asked) : store_load(ret->store, ret->facts);
	if (rc < 0)
		return cli_fail(c, EXIT_DEFECT, cli_tr(c, "facts could not be stored: %s", "事实无法入库：%s"), strerror(-rc));
	ret->judge = (struct judge){
		.arena = c->arena, .store = ret->store, .facts = ret->facts, .mode = live->mode, .chinese = c->chinese, .only = live->only};
	rc = live->mode == JUDGE_CHECK ? cli_only(c, &ret->judge) : 0;
	if (rc)
		return rc;
	judge_derive(&ret->judge);
	ret->part_names[n - 2] = "store";
	ret->part_ms[n - 2] = host_clock_ms() - start;

	start = host_clock_ms();
	if (!ret->sql)
		judge_run(&ret->judge, &ret->judgement);
	ret->part_names[n - 1] = "judge";
	ret->part_ms[n - 1] = host_clock_ms() - start;
	ret->part_count = n;
	return 0;
}

struct report cli_report(struct cli *c, const struct judgement *j, const struct facts *f)
{
	return (struct report){
		.arena = c->arena,
		.judgement = j,
		.facts = f,
		.command = c->command->name,
		.chinese = c->chinese,
		.color = c->color,
		.unicode = c->unicode,
		.verbose = c->options.verbose,
		.all = c->options.all,
		.columns = c->columns,
		.time = c->door ? host_now(c->door) : 0,
		.total_ms = host_clock_ms() - c->started_ms,
	};
}

static int exit_of(const struct cli *c, const struct judgement *j)
{
	switch (j->verdict) {
	case VERDICT_READY:
	case VERDICT_CLEAN: return c->options.strict && j->warns ? EXIT_FAULT : EXIT_FINE;
	case VERDICT_NOT_READY:
	case VERDICT_FAILED: return EXIT_FAULT;
	case VERDICT_UNKNOWN: break;
	}
	return EXIT_UNKNOWN;
}

/* For sharing: private data replaced, unless the user keeps it. */
static void share(struct cli *c, void (*render)(const struct report *, struct buf *), const struct report *r, struct buf *out)
{
	struct buf private = BUF_MAX((size_t)64 << 20);
	render(r, &private);
	if (c->options.no_redact)
		buf_str(out, buf_view(&private));
	else
		buf_str(out, redact_text(redactor_new(c->door ? c->door : c->host), buf_view(&private)));
	buf_free(&private);
}

static int write_html(struct cli *c, const struct report *r)
{
	struct buf page = BUF_MAX((size_t)64 << 20);
	const char *why = "";
	share(c, report_html, r, &page);
	int rc = host_write_file(c->host, c->options.html, buf_view(&page), &why);
	buf_free(&page);
	return rc < 0 ? cli_fail(c, EXIT_DEFECT, "%s: %s", c->options.html, why) : 0;
}

int cli_render(struct cli *c, struct report *r)
{
	int failed = c->options.html ? write_html(c, r) : 0;
	if (failed)
		return failed;
	struct buf out = BUF_MAX((size_t)256 << 20);
	if (c->options.json)
		report_json(r, &out);
	else if (c->options.quiet)
		report_quiet(r, &out);
	else if (c->options.brief)
		share(c, report_brief, r, &out);
	else if (c->options.markdown)
		share(c, report_markdown, r, &out);
	else if (c->options.header)
		report_header(r, &out);
	else {
		if (c->options.verbose)
			report_facts(r, &out);
		report_terminal(r, &out);
	}
	int rc = cli_print(&out, exit_of(c, r->judgement));
	buf_free(&out);
	return rc;
}
