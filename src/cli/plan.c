#include "cli/cli.h"

#include "act/plan.h"
#include "report/json_writer.h"
#include "report/text.h"

#define REFUSED_SHOWN 8

static bool is_version_number(const char *s)
{
	return s && s[0] >= '2' && s[0] <= '9' && s[1] == '.' && s[strspn(s, "0123456789.")] == '\0';
}

static bool is_word(const char *s)
{
	return s[0] && s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

/* A machine that is described on the command line: nothing is known of it but what was said. */
static void describe(struct cli *c, struct facts *f)
{
	if (c->options.driver) {
		struct facts_row *row = facts_add(f, TABLE_driver);
		facts_text(row, driver__vendor, "nvidia", "--driver");
		facts_text(row, driver__version, c->options.driver, "--driver");
	}
	if (c->options.gpu) {
		struct str rest = str_of(c->options.gpu), name;
		for (int64_t i = 0; str_next_field(&rest, ',', &name); i++) {
			struct facts_row *row = facts_add(f, TABLE_gpu);
			facts_int(row, gpu__index, i, "--gpu");
			facts_text(row, gpu__vendor, "nvidia", "--gpu");
			facts_str(row, gpu__name, str_trim(name), "--gpu");
		}
	}
	if (is_version_number(c->options.python))
		facts_text(facts_only(f, TABLE_python), python__version, c->options.python, "--python");
	if (c->options.arch)
		facts_text(facts_only(f, TABLE_system), system__arch, c->options.arch, "--arch");
	if (c->options.libc) {
		bool musl = strcmp(c->options.libc, "musl") == 0;
		facts_text(facts_only(f, TABLE_system), system__libc, musl ? "musl" : "glibc", "--libc");
		if (!musl)
			facts_text(facts_only(f, TABLE_system), system__libc_version, c->options.libc, "--libc");
	}
	struct facts_row *purpose = facts_only(f, TABLE_purpose);
	facts_text(purpose, purpose__accelerator, "nvidia", "--gpu");
	facts_text(purpose, purpose__backend, c->options.backend ? c->options.backend : "nccl", "--gpu");
}

/* The judge over this machine, a snapshot, or what was described. */
static int examine(struct cli *c, struct examination *e)
{
	int status;
	bool described = c->options.driver || c->options.gpu || c->options.arch || c->options.libc || is_version_number(c->options.python);
	if (!described) {
		struct host *door = cli_door(c, &status);
		return door ? cli_examine(c, door, e) : status;
	}
	*e = (struct examination){.facts = facts_new(c->arena), .store = cli_knowledge(c)};
	if (!e->store)
		return EXIT_DEFECT;
	describe(c, e->facts);
	if (store_load(e->store, e->facts) < 0)
		return EXIT_DEFECT;
	e->judge = (struct judge){.arena = c->arena, .store = e->store, .facts = e->facts, .chinese = c->chinese};
	judge_derive(&e->judge);
	for (const struct facts_row *row = e->facts->first[TABLE_gpu]; row; row = row->next)
		if (!facts_get_text(row, gpu__compute_capability))
			return cli_fail(c, EXIT_USAGE,
				cli_tr(c, "no GPU '%s' in the tables; nvidia-smi -L prints the full name",
					"表中没有 GPU“%s”；完整名称见 nvidia-smi -L"),
				facts_get_text(row, gpu__name));
	if (c->options.driver && !(c->options.driver[0] >= '0' && c->options.driver[0] <= '9'))
		return cli_fail(c, EXIT_USAGE,
			cli_tr(c, "--driver is a version as 535.104.05, not '%s'", "--driver 应为 535.104.05 这样的版本，而不是“%s”"),
			c->options.driver);
	return 0;
}

/* -- text --------------------------------------------------------------------------------------------------------------- */

static void section(struct cli *c, struct buf *out, const char *label, const char *const *lines)
{
	if (!lines[0])
		return;
	buf_char(out, '\n');
	buf_text(out, "  ");
	text_style(out, c->color, TEXT_BOLD, label);
	buf_char(out, '\n');
	for (size_t i = 0; lines[i]; i++)
		buf_fmt(out, "    %s\n", lines[i]);
}

static void refused(struct cli *c, const struct plan *p, struct buf *out)
{
	int n = 0, left = 0;
	const struct plan_candidate *b = p->best;
	for (const struct plan_candidate *k = p->all; k; k = k->next) {
		/* Of the release that was chosen, and of newer ones. */
		bool near = !b || strcmp(k->torch, b->torch) == 0 || strcmp(k->date, b->date) > 0;
		if (k == b || !near)
			continue;
		if (n >= REFUSED_SHOWN && !c->options.verbose) {
			left++;
			continue;
		}
		const char *reason = k->refusal ? k->refusal
			: k->fresh ? cli_tr(c, "released in the last weeks: choose it with --torch", "最近几周才发布：可用 --torch 指定")
				   : cli_tr(c, "fits too; the one above is the better match", "也可以用；上面的更合适");
		if (!n++)
			buf_fmt(out, "\n  %s\n", cli_tr(c, "Not chosen", "未选用"));
		buf_fmt(out, "    torch %-8s %-8s ", k->torch, k->variant);
		text_wrap(out, str_of(reason), 27, 27, c->columns);
		buf_char(out, '\n');
	}
	if (left)
		buf_fmt(out, cli_tr(c, "    and %d more (--verbose)\n", "    另有 %d 个（--verbose）\n"), left);
}

static void readiness(struct cli *c, struct judge *j, const struct plan *p, struct buf *out)
{
	static const char *const marks[] = {"✗", "✓", "!", "?"}, *const ascii[] = {"x", "+", "!", "?"};
	buf_fmt(out, "\n  %s\n", cli_tr(c, "Ready to build from source?", "能否从源码构建？"));
	for (const struct plan_check *k = plan_source_readiness(j, p); k; k = k->next) {
		buf_fmt(out, "    %s %s", c->unicode ? marks[k->good] : ascii[k->good], k->what);
		text_pad(out, 26 - text_width(str_of(k->what)));
		text_wrap(out,
			str_of(arena_printf(c->arena, "%s%s%s", k->found ? k->found : "", k->found && k->says ? cli_tr(c, ": ", "：") : "",
				k->says ? k->says : "")),
			32, 32, c->columns);
		buf_char(out, '\n');
	}
}

static void print_text(struct cli *c, struct judge *j, const struct plan *p, struct buf *out)
{
	if (p->best) {
		buf_text(out, "  ");
		text_wrap(out, str_of(p->why), 2, 2, c->columns);
		buf_char(out, '\n');
	} else {
		buf_text(out, "  ");
		text_wrap(out, str_of(p->nothing), 2, 2, c->columns);
		buf_char(out, '\n');
		if (p->other_vendor) {
			buf_text(out, "  ");
			text_wrap(out, str_of(p->other_vendor), 2, 2, c->columns);
			buf_char(out, '\n');
		}
		section(c, out, cli_tr(c, "Its own way", "厂商的安装方式"), p->vendor);
	}
	if (p->mirror_note) {
		buf_text(out, "  ");
		text_wrap(out, str_of(p->mirror_note), 2, 2, c->columns);
		buf_char(out, '\n');
	}
	if (c->options.from_source) {
		readiness(c, j, p, out);
		section(c, out, cli_tr(c, "The build script (--script prints it alone)", "构建脚本（--script 可单独输出）"),
			plan_source_script(j, p));
	} else if (c->options.docker) {
		section(c, out, cli_tr(c, "The vendor's image", "厂商镜像"), p->docker);
		section(c, out,
			p->docker[0] ? cli_tr(c, "Or a small Dockerfile", "或使用简短的 Dockerfile")
				     : cli_tr(c, "A small Dockerfile", "简短的 Dockerfile"),
			p->dockerfile);
	} else if (c->options.offline && p->best) {
		section(c, out, cli_tr(c, "On a machine with a network", "在可联网的机器上"), p->download);
		section(c, out, cli_tr(c, "Carry the folder wheels over, then", "把 wheels 目录拷贝过来，然后"), p->clean);
		section(c, out, "pip", p->carry);
		section(c, out, cli_tr(c, "The proof", "验证"), p->verify);
	} else if (p->best) {
		section(c, out, cli_tr(c, "A clean environment", "干净的环境"), p->clean);
		section(c, out, "pip", p->pip);
		section(c, out, cli_tr(c, "or uv", "或使用 uv"), p->uv);
		section(c, out, cli_tr(c, "or conda", "或使用 conda"), p->conda);
		section(c, out, cli_tr(c, "The proof", "验证"), p->verify);
	}
	refused(c, p, out);
}

/* What stands in a comment must not begin a line of its own: parts of it come from the machine examined. */
static const char *one_line(struct cli *c, const char *text)
{
	char *line = arena_strdup(c->arena, text);
	for (char *p = line; *p; p++)
		if (*p == '\n' || *p == '\r')
			*p = ' ';
	return line;
}

/* A script that is safe to read before it is run. */
static void print_script(struct cli *c, struct judge *j, const struct plan *p, struct buf *out)
{
	if (c->options.from_source) {
		const char *const *lines = plan_source_script(j, p);
		for (size_t i = 0; lines[i]; i++)
			buf_fmt(out, "%s\n", lines[i]);
		return;
	}
	if (!p->best) {
		/* Whoever pipes this into a shell must not run a sentence. */
		buf_fmt(out, "#!/bin/sh\n# %s\nset -eu\nexit 1\n", one_line(c, p->nothing));
		return;
	}
	buf_fmt(out, "#!/bin/sh\n# %s\nset -eu\n", one_line(c, p->why));
	if (c->options.docker) {
		for (size_t i = 0; p->docker[i] && i < 1; i++)
			buf_fmt(out, "%s\n", p->docker[i]);
		return;
	}
	const char *const *parts[] = {p->clean, c->options.offline ? p->carry : p->pip};
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; parts[k][i]; i++)
			buf_fmt(out, "%s\n", parts[k][i]);
	buf_fmt(out, "%s\n", p->verify[0]);
}

/* The commands alone; where nothing fits, one line. */
static void print_quiet(struct cli *c, struct judge *j, const struct plan *p, struct buf *out)
{
	const char *const none[] = {NULL}, *const * parts[3] = {none, none, none};
	if (c->options.from_source) {
		parts[0] = plan_source_script(j, p);
	} else if (!p->best) {
		buf_fmt(out, "davy: %s\n", one_line(c, p->nothing));
	} else if (c->options.docker) {
		parts[0] = p->docker[0] ? p->docker : p->dockerfile;
	} else {
		parts[0] = c->options.offline ? p->download : none;
		parts[1] = p->clean;
		parts[2] = c->options.offline ? p->carry : p->pip;
	}
	for (size_t k = 0; k < 3; k++)
		for (size_t i = 0; parts[k][i]; i++)
			buf_fmt(out, "%s\n", parts[k][i]);
}

/* -- JSON --------------------------------------------------------------------------------------------------------------- */

static void candidate(struct json_writer *w, const char *key, const struct plan_candidate *k)
{
	static const char *const answers[] = {"no", "yes", "ptx", "unknown"};
	json_open(w, key, '{');
	json_text(w, "torch", k->torch);
	json_text(w, "variant", k->variant);
	json_text(w, "build", k->build);
	json_text(w, "cuda", k->cuda);
	json_text(w, "torchvision", k->vision);
	json_text(w, "torchaudio", k->audio);
	json_text(w, "index_url", k->index);
	json_text(w, "release_date", k->date);
	json_bool(w, "fits", k->fits);
	json_text(w, "driver", answers[k->driver]);
	json_text(w, "gpu", answers[k->gpu]);
	json_text(w, "python", answers[k->python]);
	json_text(w, "glibc", answers[k->glibc]);
	json_text(w, "refusal", k->refusal);
	json_close(w, '}');
}

static void print_json(struct cli *c, struct judge *j, const struct plan *p, struct buf *out)
{
	struct json_writer writer = json_writer_to(out, true), *w = &writer;
	json_open(w, NULL, '{');
	json_text(w, "schema", "davy/1");
	json_text(w, "version", DAVY_VERSION);
	json_text(w, "command", "plan");
	if (p->best)
		candidate(w, "best", p->best);
	else
		json_null(w, "best");
	json_text(w, "why", p->why ? p->why : p->nothing);
	json_text(w, "other_vendor", p->other_vendor);
	if (p->mirror) {
		json_open(w, "mirror", '{');
		json_text(w, "name", p->mirror->name);
		json_text(w, "pypi", p->mirror->pypi);
		json_text(w, "pytorch", p->mirror->pytorch);
		json_text(w, "conda", p->mirror->conda);
		json_text(w, "nvcr", p->mirror->nvcr);
		json_text(w, "note", p->mirror_note);
		json_close(w, '}');
	}
	json_open(w, "commands", '{');
	json_list(w, "environment", p->clean);
	json_list(w, "pip", p->pip);
	json_list(w, "uv", p->uv);
	json_list(w, "conda", p->conda);
	json_list(w, "download", p->download);
	json_list(w, "offline", p->carry);
	json_list(w, "docker", p->docker);
	json_list(w, "dockerfile", p->dockerfile);
	json_list(w, "verify", p->verify);
	json_list(w, "vendor", p->vendor);
	json_close(w, '}');
	json_open(w, "candidates", '[');
	for (const struct plan_candidate *k = p->all; k; k = k->next)
		candidate(w, NULL, k);
	json_close(w, ']');
	if (c->options.from_source) {
		static const char *const answers[] = {"no", "yes", "ptx", "unknown"};
		json_open(w, "source", '[');
		for (const struct plan_check *k = plan_source_readiness(j, p); k; k = k->next) {
			json_open(w, NULL, '{');
			json_text(w, "what", k->what);
			json_text(w, "found", k->found);
			json_text(w, "good", answers[k->good]);
			json_text(w, "says", k->says);
			json_close(w, '}');
		}
		json_close(w, ']');
		json_list(w, "script", plan_source_script(j, p));
	}
	json_close(w, '}');
	buf_char(out, '\n');
}

int cli_plan(struct cli *c)
{
	struct examination e = {0};
	struct plan p;
	if (c->options.lock)
		return cli_plan_lock(c);
	if (c->arg_count)
		return cli_fail(c, EXIT_USAGE, cli_tr(c, "plan takes no arguments: '%s'", "plan 不接受参数：“%s”"), c->args[0]);
	if (c->options.offline + c->options.docker + c->options.from_source > 1)
		return cli_fail(c, EXIT_USAGE, "%s",
			cli_tr(c, "of --offline, --docker and --from-source name one", "--offline、--docker、--from-source 只能选一个"));
	if (c->options.torch &&
		!is_version_number(arena_printf(c->arena, "2%s", strchr(c->options.torch, '.') ? strchr(c->options.torch, '.') : "")))
		return cli_fail(c, EXIT_USAGE,
			cli_tr(c, "--torch is a release as 2.4.1, not '%s'", "--torch 应为 2.4.1 这样的版本，而不是“%s”"),
			c->options.torch);
	if (c->options.arch && !is_word(c->options.arch))
		return cli_fail(c, EXIT_USAGE,
			cli_tr(c, "--arch is x86_64 or aarch64, not '%s'", "--arch 应为 x86_64 或 aarch64，而不是“%s”"), c->options.arch);
	if (c->options.libc && strcmp(c->options.libc, "musl") != 0 && !is_version_number(c->options.libc))
		return cli_fail(c, EXIT_USAGE,
			cli_tr(c, "--libc is a glibc version as 2.28, or musl, not '%s'",
				"--libc 应为 2.28 这样的 glibc 版本或 musl，而不是“%s”"),
			c->options.libc);
	int rc = examine(c, &e);
	if (rc)
		return rc;
	struct plan_mirror mirror;
	if (c->options.mirror && !plan_mirror_find(&e.judge, c->options.mirror, &mirror))
		return cli_fail(c, EXIT_USAGE,
			cli_tr(c, "--mirror %s: not known; known are %s, or the URL of an index",
				"--mirror %s：未知；已知的有 %s，也可给出索引的 URL"),
			c->options.mirror, plan_mirror_names(&e.judge));
	struct plan_wish wish = {.torch = c->options.torch, .backend = c->options.backend, .mirror = c->options.mirror ? &mirror : NULL};
	plan_make(&e.judge, &wish, &p);
	struct buf out = BUF_MAX((size_t)16 << 20);
	int status = p.best ? EXIT_FINE : p.other_vendor ? EXIT_UNKNOWN : EXIT_FAULT;
	if (c->options.json)
		print_json(c, &e.judge, &p, &out);
	else if (c->options.script)
		print_script(c, &e.judge, &p, &out);
	else if (c->options.quiet)
		print_quiet(c, &e.judge, &p, &out);
	else
		print_text(c, &e.judge, &p, &out);
	rc = cli_print(&out, status);
	buf_free(&out);
	store_close(e.store);
	return rc;
}
