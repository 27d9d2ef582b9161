#include <malloc.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/pages.h"
#include "cli/cli.h"
#include "cli/options.h"

#define EXITS "0 nothing wrong, 1 a fault, 2 could not tell, 64 usage, 66 no such input, 70 Davy's own failure"
#define EXITS_ZH "0 未发现问题，1 发现故障，2 无法判断，64 用法错误，66 输入不存在，70 Davy 自身出错"

const struct cli_command cli_commands[] = {
	{"check", "davy [check] [OPTIONS]", "examines this host, container and Python environment", "检查本机、容器和 Python 环境",
		.run = cli_check},
	{"explain", "davy explain [FILE...|DIR|-] [OPTIONS]", "names the root cause in logs and reports of failed jobs",
		"从日志和报错中找出失败的根本原因", .run = cli_explain},
	{"plan", "davy plan [OPTIONS]", "prints the commands that give this machine a fitting PyTorch", "给出为本机安装合适 PyTorch 的命令",
		.run = cli_plan},
	{"cluster", "davy cluster [OPTIONS]   (one process on each node: srun, mpirun, torchrun --no-python, Kubernetes)",
		"tests the network between the nodes of a job, and compares them", "测试任务各节点之间的网络，并比较各节点",
		.run = cli_cluster, .compares = true,
		.exit_english =
			"of rank 0 for all nodes, of every other node for itself (1: it has a fault of its own, or did not reach rank 0): " EXITS,
		.exit_chinese = "rank 0 的退出码针对全部节点，其他节点只针对自己（1：自身有故障，或未能到达 rank 0）：" EXITS_ZH},
	{"test", "davy test [OPTIONS]", "live tests: GPUs, pairs, shared memory, network, an all_reduce, with a deadline each",
		"实测：GPU、GPU 对、共享内存、网络和一次 all_reduce，每项都有时限", .run = cli_test},
	{"compare", "davy compare A B... [OPTIONS]   (snapshots, folders, archives, check --json outputs, -)",
		"what differs between two snapshots, or which of many nodes are odd", "两份快照有何差异，或众多节点中哪些与众不同",
		.run = cli_compare, .compares = true},
	{"run", "davy run [OPTIONS] -- COMMAND...", "checks, starts the command, keeps its log, explains it if it fails",
		"检查后启动命令，保存日志，失败时说明原因", .run = cli_run, .compares = true,
		.exit_english =
			"the command's, 128 + N when signal N ended it; 1 not started because of a fault, 64 usage, 126 or 127 the command cannot be started",
		.exit_chinese = "所运行命令的退出码，被信号 N 终止时为 128 + N；1 因故障未启动，64 用法错误，126 或 127 命令无法启动"},
	{"history", "davy history [show [N]|diff [A B]|log N|note N TEXT] [OPTIONS]",
		"the attempts of run, and what changed between good and bad", "run 记录的历次尝试，以及成败之间的变化", .run = cli_history},
	{"snapshot", "davy snapshot [OUT.tar.zst|DIR] [OPTIONS]", "saves what check reads, private data replaced",
		"保存 check 所读取的内容，隐私数据已替换", .run = cli_snapshot},
	{"inspect", "davy inspect FILE|PID... [OPTIONS]", "everything Davy can read from a library, a wheel, a snapshot or a process",
		"查看动态库、wheel、快照或进程的全部信息", .run = cli_inspect},
	{"cause", "davy cause [ID|WORDS] [OPTIONS]", "everything about one cause, or the list of those that have the words",
		"某个原因的全部说明，或列出含有这些词的原因；不带参数时列出全部", .run = cli_cause},
	{"query", "davy query SQL [OPTIONS]", "asks the fact tables directly", "直接用 SQL 查询事实表", .run = cli_query, .compares = true},
};
const size_t cli_command_count = sizeof cli_commands / sizeof cli_commands[0];

static bool says_utf8(const char *s)
{
	return s && (strstr(s, "UTF-8") || strstr(s, "utf8") || strstr(s, "utf-8") || strstr(s, "UTF8"));
}

/* LC_ALL, LC_MESSAGES or LC_CTYPE, LANG: the first that is set. */
static const char *locale(struct cli *c, const char *category)
{
	const char *names[] = {"LC_ALL", category, "LANG"};
	for (size_t i = 0; i < 3; i++) {
		const char *value = host_env(c->host, names[i]);
		if (value && *value)
			return value;
	}
	return "C";
}

static void surroundings(struct cli *c)
{
	struct winsize w;
	c->tty = isatty(STDOUT_FILENO);
	c->columns = c->tty && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col ? (w.ws_col > 100                 ? 100
												       : w.ws_col < 40 ? 40
														       : w.ws_col)
										     : 80;
	c->unicode = says_utf8(locale(c, "LC_CTYPE"));
	c->chinese = strncmp(locale(c, "LC_MESSAGES"), "zh", 2) == 0 && c->unicode;
}

/* A name that no rule knows would be "ready" for ever. */
static int check_backend(struct cli *c)
{
	static const char *const names[] = {"nccl", "gloo", "hccl", "cncl", "mccl", "eccl", "bccl", "rbln-ccl", "xccl", "xla"};
	const char *backend = c->options.backend;
	for (size_t i = 0; backend && i < sizeof names / sizeof *names; i++)
		if (strcmp(backend, names[i]) == 0)
			return 0;
	if (!backend || (strcmp(backend, "cpu") == 0 && strcmp(c->command->name, "plan") == 0))
		return 0;
	return cli_fail(c, EXIT_USAGE,
		cli_tr(c, "--for is nccl, gloo, hccl, cncl, mccl, eccl, bccl, rbln-ccl, xccl or xla, not '%s'",
			"--for 只能是 nccl、gloo、hccl、cncl、mccl、eccl、bccl、rbln-ccl、xccl 或 xla，而不是“%s”"),
		backend);
}

/* "zh", "zh_CN", "zh-CN", "zh_CN.UTF-8" */
static bool is_language(const char *lang, const char *name)
{
	return lang && strncmp(lang, name, 2) == 0 && strchr("_-.", lang[2]);
}

/* Options of all commands that change how texts look. */
static int appearance(struct cli *c)
{
	const char *lang = c->options.lang, *color = c->options.color, *term = host_env(c->host, "TERM"),
		   *no_color = host_env(c->host, "NO_COLOR");
	if (is_language(lang, "zh"))
		c->chinese = c->unicode = true;
	else if (is_language(lang, "en"))
		c->chinese = false;
	else if (lang)
		return cli_fail(c, EXIT_USAGE, cli_tr(c, "--lang is en or zh_CN, not '%s'", "--lang 只能是 en 或 zh_CN，而不是“%s”"), lang);
	c->color = c->tty && !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
	if (color && strcmp(color, "always") == 0)
		c->color = true;
	else if (color && strcmp(color, "never") == 0)
		c->color = false;
	else if (color && strcmp(color, "auto") != 0)
		return cli_fail(c, EXIT_USAGE,
			cli_tr(c, "--color is auto, always or never, not '%s'", "--color 只能是 auto、always 或 never，而不是“%s”"), color);
	cli_say_in(c);
	return 0;
}

static int help(struct cli *c)
{
	struct buf out = BUF_MAX(65536);
	if (c->command) {
		buf_fmt(&out, "%s\n  %s\n\n", c->command->usage, cli_tr(c, c->command->english, c->command->chinese));
	} else {
		buf_fmt(&out, "davy %s%s\n\n", DAVY_VERSION,
			cli_tr(c, ": says before a PyTorch job starts whether this machine can run it, and after it failed, why",
				"：在 PyTorch 任务启动前判断本机能否运行，失败后说明原因"));
		for (size_t i = 0; i < cli_command_count; i++)
			buf_fmt(&out, "  %-10s %s\n", cli_commands[i].name, cli_tr(c, cli_commands[i].english, cli_commands[i].chinese));
		buf_char(&out, '\n');
	}
	options_help(c, &out);
	bool own = c->command && c->command->exit_english;
	buf_fmt(&out, cli_tr(c, "\nexit status: %s\n", "\n退出码：%s\n"),
		own ? cli_tr(c, c->command->exit_english, c->command->exit_chinese) : cli_tr(c, EXITS, EXITS_ZH));
	int rc = cli_print(&out, EXIT_FINE);
	buf_free(&out);
	return rc;
}

static const struct cli_command *find_command(const char *name)
{
	for (size_t i = 0; i < cli_command_count; i++)
		if (strcmp(cli_commands[i].name, name) == 0)
			return &cli_commands[i];
	return NULL;
}

/* --knowledge DIR: a folder that is there, as an absolute path. */
static int check_knowledge(struct cli *c)
{
	const char *dir = c->options.knowledge, *cwd = host_cwd(c->host);
	if (!dir)
		return 0;
	if (dir[0] != '/' && cwd)
		c->options.knowledge = arena_printf(c->arena, "%s/%s", cwd, dir);
	if (!host_is_dir(c->host, c->options.knowledge))
		return cli_fail(c, EXIT_NO_INPUT, cli_tr(c, "--knowledge %s: no such folder", "--knowledge %s：没有这个目录"), dir);
	return 0;
}

/* davy --lang zh_CN explain FILE: the options of all commands may stand before the command; it goes before them. */
static void command_first(int argc, char **argv)
{
	int at = 1;
	while (at < argc && argv[at][0] == '-') {
		bool takes_word = strcmp(argv[at], "--lang") == 0 || strcmp(argv[at], "--color") == 0 ||
			strcmp(argv[at], "--knowledge") == 0;
		at += takes_word ? 2 : 1;
	}
	if (at >= argc || (!find_command(argv[at]) && strcmp(argv[at], "help") != 0))
		return;
	char *command = argv[at];
	for (; at > 1; at--)
		argv[at] = argv[at - 1];
	argv[1] = command;
}

/* Memory given back is taken again soon: it stays with the process, so that the kernel need not clear it anew each time. */
static void keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	mallopt(M_TOP_PAD, 1 << 20);
}

#define FIRST_MEMORY ((size_t)1 << 20) /* what every command needs */

static void take_memory(void)
{
	void *p = malloc(FIRST_MEMORY);
	if (p)
		pages_take(p, FIRST_MEMORY);
	free(p);
}

int main(int argc, char **argv)
{
	keep_memory();
	struct cli c = {.arena = arena_new(0), .started_ms = host_clock_ms()};
	const char *why = NULL;
	int from = 1;
	host_hold_standard_files();
	host_survive_file_limit();
	if (host_open_live(c.arena, NULL, &c.host) < 0)
		return EXIT_DEFECT;
	surroundings(&c);
	command_first(argc, argv);
	if (argc > 1 && argv[1][0] != '-') {
		c.command = find_command(argv[1]);
		if (!c.command && strcmp(argv[1], "help") == 0) {
			bool one = argc > 2 && argv[2][0] != '-';
			c.command = one ? find_command(argv[2]) : NULL;
			if (one && !c.command)
				return cli_fail(&c, EXIT_USAGE,
					cli_tr(&c, "no command '%s'; see davy --help", "没有命令“%s”；见 davy --help"), argv[2]);
			if (options_parse(&c, argc, argv, one ? 3 : 2, &why) < 0)
				return cli_fail(&c, EXIT_USAGE, "%s", why);
			int failed = appearance(&c);
			return failed ? failed : help(&c);
		}
		if (!c.command)
			return cli_fail(
				&c, EXIT_USAGE, cli_tr(&c, "no command '%s'; see davy --help", "没有命令“%s”；见 davy --help"), argv[1]);
		from = 2;
	}
	bool bare = !c.command;
	if (bare)
		c.command = &cli_commands[0];
	if (options_parse(&c, argc, argv, from, &why) < 0)
		return cli_fail(&c, EXIT_USAGE, "%s", why);
	int rc = appearance(&c);
	if (rc)
		return rc;
	if (c.options.version) {
		struct buf out = BUF_MAX(256);
		buf_fmt(&out, "davy %s\n", DAVY_VERSION);
		rc = cli_print(&out, EXIT_FINE);
		buf_free(&out);
		return rc;
	}
	if (c.options.help) {
		if (bare)
			c.command = NULL;
		return help(&c);
	}
	rc = check_knowledge(&c);
	if (!rc)
		rc = check_backend(&c);
	if (rc)
		return rc;
	take_memory();
	rc = c.command->run(&c);
	host_close(c.host);
	arena_free(c.arena);
	return rc;
}
