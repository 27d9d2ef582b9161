#include "cli/options.h"

#include <errno.h>
#include <stddef.h>

struct option {
	const char *name;
	const char *argument; /* NULL: a switch */
	size_t offset;
	const char *commands; /* NULL: all */
	const char *english, *chinese;
};

#define AT(member) offsetof(struct options, member)

static const struct option table[] = {
	{"json", NULL, AT(json), NULL, "print one JSON object (docs/schema)", "输出一个 JSON 对象（见 docs/schema）"},
	{"markdown", NULL, AT(markdown), "check explain", "Markdown for an issue tracker, private data replaced",
		"输出 Markdown，可贴到问题跟踪系统，隐私数据已替换"},
	{"html", "FILE", AT(html), "check explain", "also write one HTML page, private data replaced",
		"同时写出一个 HTML 页面，隐私数据已替换"},
	{"quiet", NULL, AT(quiet), "plan", "the commands alone", "只输出命令"},
	{"quiet", NULL, AT(quiet), NULL, "print nothing when all is well, one line otherwise", "一切正常时不输出，否则只输出一行"},
	{"verbose", NULL, AT(verbose), NULL, "every fact, every fix, sources, times", "列出全部事实、修复办法、来源与耗时"},
	{"only", "STAGE|CAUSE", AT(only), "check compare explain", "judge this stage or cause only", "只检查某一阶段或某一原因"},
	{"only", "STAGE", AT(only), "test", "this stage only: driver, cuda, backend, shm, network, p2p, allreduce or torch",
		"只测一个阶段：driver、cuda、backend、shm、network、p2p、allreduce 或 torch"},
	{"color", "WHEN", AT(color), NULL, "auto, always or never", "auto、always 或 never"},
	{"lang", "LANG", AT(lang), NULL, "en or zh_CN (default: LANG)", "en 或 zh_CN（默认取自 LANG）"},
	{"no-redact", NULL, AT(no_redact), NULL, "keep host names, user names and addresses in what is made for sharing",
		"分享用的输出中保留主机名、用户名和地址"},
	{"knowledge", "DIR", AT(knowledge), NULL, "more knowledge, read last", "额外的知识目录，最后读取"},
	{"python", "PATH", AT(python), "check snapshot plan query explain inspect cluster test run",
		"interpreter, venv or conda prefix to examine", "要检查的解释器、venv 或 conda 环境"},
	{"root", "DIR", AT(root), "check snapshot inspect query plan", "examine the file system below DIR", "检查 DIR 下的文件系统"},
	{"root", "DIR", AT(root), "explain", "add the facts of the file system below DIR to the evidence",
		"把 DIR 下文件系统的事实也作为依据"},
	{"from", "SNAPSHOT", AT(from), "check query plan snapshot cluster", "examine a snapshot instead of this machine",
		"检查快照而不是本机"},
	{"from", "SNAPSHOT", AT(from), "explain", "add the facts of a snapshot to the evidence", "把快照中的事实也作为依据"},
	{"for", "BACKEND", AT(backend), "check snapshot query plan cluster test run",
		"what the machine shall be ready for: nccl, gloo, hccl, ...", "希望就绪的后端：nccl、gloo、hccl 等"},
	{"brief", NULL, AT(brief), "check", "one screen to paste into a bug report", "一屏摘要，可贴进问题报告"},
	{"header", NULL, AT(header), "check", "a few lines for the top of a training log", "几行信息，写在训练日志开头"},
	{"strict", NULL, AT(strict), "check cluster compare", "warnings count as faults in the exit status", "警告也按故障计入退出码"},
	{"deep", NULL, AT(deep), "check snapshot", "hash files too", "同时校验文件哈希"},
	{"lock", "[FILE]", AT(lock), "plan", "write down what is installed, to FILE or standard output",
		"记录已安装的全部内容，写入 FILE 或标准输出"},
	{"lock", "FILE", AT(lock), "check", "compare with a lock file and name what has drifted", "与锁定文件比较，指出变化之处"},
	{"torch", "RELEASE", AT(torch), "plan", "a wanted release, as 2.4.1", "指定版本，如 2.4.1"},
	{"driver", "VERSION", AT(driver), "plan", "of a machine that is not here: its NVIDIA driver", "另一台机器的 NVIDIA 驱动版本"},
	{"gpu", "NAME[,NAME]", AT(gpu), "plan", "of a machine that is not here: its GPUs", "另一台机器的 GPU"},
	{"arch", "MACHINE", AT(arch), "plan", "of a machine that is not here: x86_64 or aarch64", "另一台机器的架构：x86_64 或 aarch64"},
	{"libc", "VERSION", AT(libc), "plan", "of a machine that is not here: its glibc, as 2.28, or musl",
		"另一台机器的 glibc 版本，如 2.28，或 musl"},
	{"mirror", "NAME|URL", AT(mirror), "plan", "packages from a mirror: tsinghua, aliyun, ustc, tencent, nju, ...",
		"从镜像获取：tsinghua、aliyun、ustc、tencent、nju 等"},
	{"offline", NULL, AT(offline), "plan", "download elsewhere, carry, install", "在别处下载，拷贝后安装"},
	{"docker", NULL, AT(docker), "plan", "the vendor's image, or a small Dockerfile", "厂商镜像，或简短的 Dockerfile"},
	{"from-source", NULL, AT(from_source), "plan", "is this machine ready to build, and the script", "能否从源码构建，以及构建脚本"},
	{"script", NULL, AT(script), "plan", "print a shell script only", "只输出 shell 脚本"},
	{"torch", NULL, AT(live_torch), "test", "run a minimal all_reduce under this environment's torchrun, and measure it",
		"用本环境的 torchrun 运行最小 all_reduce 并测速"},
	{"ranks", "N", AT(ranks), "test", "so many ranks (default: one for each GPU, else 2)", "进程数（默认每块 GPU 一个，否则 2 个）"},
	{"deadline", "SECONDS", AT(deadline), "test", "for each test (default 60)", "每项测试的时限（默认 60 秒）"},
	{"show", NULL, AT(show), "test", "print the script that --torch runs, test nothing", "只打印 --torch 所运行的脚本，不做测试"},
	{"show", NULL, AT(show), "snapshot", "list what would be saved, save nothing", "只列出将保存的内容"},
	{"here", NULL, AT(here), "explain", "add this machine's facts to the evidence", "把本机的事实也作为依据"},
	{"follow", NULL, AT(follow), "explain", "watch a growing log, speak once when the cause is clear",
		"跟踪增长中的日志，原因明确时报告一次"},
	{"timeline", NULL, AT(timeline), "explain", "the ranks' events in order", "按顺序列出各进程的事件"},
	{"no-check", NULL, AT(no_check), "run", "start at once, without a check", "不检查，立即启动"},
	{"force", NULL, AT(force), "run", "start even though the check found a fault that stops it", "即使检查发现会导致失败的故障也启动"},
	{"note", "TEXT", AT(note), "run", "a note for the history", "写入历史记录的备注"},
	{"all", NULL, AT(all), "explain", "everything that was recognised", "列出识别出的全部内容"},
	{"all", NULL, AT(all), "history", "every attempt, not only the last twenty", "列出全部尝试，而不只是最近二十次"},
	{"schema", NULL, AT(schema), "query", "list the tables and columns", "列出全部表和列"},
	{"by", "WHAT", AT(by), "compare", "group nodes by gpu, partition, none or a fact (default: by GPU when models differ)",
		"按 gpu、partition、none 或某一事实分组（默认：GPU 型号不同时按 GPU）"},
	{"golden", "FILE", AT(golden), "compare", "a snapshot that is right: all others are compared with it",
		"参照快照：其余节点都与它比较"},
	{"ignore", "FACT[,FACT]", AT(ignore), "compare", "differences that are expected: table, table.column or table.key",
		"预期的差异：table、table.column 或 table.key"},
	{"nodes", "LIST|FILE", AT(nodes), "compare", "nodes that should be there, as gpu[01-16]", "应当出现的节点，如 gpu[01-16]"},
	{"stale", "HOURS", AT(stale), "compare", "snapshots this much older than the newest are stale (default 24)",
		"比最新快照早这么多小时即为过时（默认 24）"},
	{"rank", "N", AT(rank), "cluster", "by hand: this node's number, from 0", "手动启动：本节点的编号，从 0 开始"},
	{"size", "N", AT(size), "cluster", "how many nodes take part", "节点总数"},
	{"master", "HOST:PORT", AT(master), "cluster", "where rank 0 is (default: the launcher's, MASTER_ADDR and MASTER_PORT)",
		"rank 0 所在位置（默认取自启动器、MASTER_ADDR 和 MASTER_PORT）"},
	{"deadline", "SECONDS", AT(deadline), "cluster", "for everything (default 60)", "总时限（默认 60 秒）"},
	{"out", "DIR", AT(out), "cluster", "write report, good.txt and bad.txt there; a shared folder tells most",
		"把报告、good.txt 和 bad.txt 写到该目录；共享目录效果最好"},
	{"help", NULL, AT(help), NULL, "this help", "显示帮助"},
	{"version", NULL, AT(version), NULL, "the version", "显示版本"},
};

static bool applies(const struct option *o, const struct cli *c)
{
	if (!o->commands || !c->command)
		return true;
	struct str rest = str_of(o->commands), word;
	while (str_next_word(&rest, &word))
		if (str_is(word, c->command->name))
			return true;
	return false;
}

static const struct option *find(const struct cli *c, struct str name)
{
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		if (str_is(name, table[i].name) && applies(&table[i], c))
			return &table[i];
	return NULL;
}

static struct str letter(char c)
{
	return c == 'h' ? STR("help") : c == 'V' ? STR("version") : c == 'q' ? STR("quiet") : c == 'v' ? STR("verbose") : STR("");
}

static int add_argument(struct cli *c, const char *text)
{
	c->args[c->arg_count++] = text;
	return 0;
}

int options_parse(struct cli *c, int argc, char **argv, int from, const char **ret_why)
{
	c->args = arena_array(c->arena, (size_t)argc + 1, sizeof *c->args);
	bool ended = false;
	for (int i = from; i < argc; i++) {
		struct str a = str_of(argv[i]), name, value = {0};
		if (ended || a.len < 2 || a.ptr[0] != '-') {
			add_argument(c, argv[i]);
			ended |= c->command && strcmp(c->command->name, "run") == 0; /* what follows is another program's */
			continue;
		}
		if (str_is(a, "--")) {
			ended = true;
			continue;
		}
		name = a.ptr[1] == '-' ? str_skip(a, 2) : a.len == 2 ? letter(a.ptr[1]) : STR("");
		size_t eq = str_find_char(name, '=', 0);
		if (eq != SIZE_MAX) {
			value = str_skip(name, eq + 1);
			name = str_slice(name, 0, eq);
		}
		const struct option *o = find(c, name);
		if (!o) {
			*ret_why = arena_printf(c->arena, cli_tr(c, "unknown option %s", "未知选项 %s"), argv[i]);
			return -EINVAL;
		}
		if (!o->argument && value.ptr) {
			*ret_why = arena_printf(c->arena, cli_tr(c, "--%s takes no value", "--%s 不带参数"), o->name);
			return -EINVAL;
		}
		char *place = (char *)&c->options + o->offset;
		if (!o->argument) {
			*(bool *)(void *)place = true;
			continue;
		}
		bool optional = o->argument[0] == '[';
		if (optional && !value.ptr && (i + 1 == argc || (argv[i + 1][0] == '-' && argv[i + 1][1]))) {
			*(const char **)(void *)place = "";
			continue;
		}
		if (!value.ptr && i + 1 == argc) {
			*ret_why = arena_printf(c->arena, cli_tr(c, "--%s needs %s", "--%s 需要 %s"), o->name, o->argument);
			return -EINVAL;
		}
		const char *text = value.ptr ? str_dup(c->arena, value) : argv[++i];
		if (!*text && strcmp(o->argument, "TEXT") != 0) {
			*ret_why = arena_printf(c->arena, cli_tr(c, "--%s needs %s", "--%s 需要 %s"), o->name, o->argument);
			return -EINVAL;
		}
		*(const char **)(void *)place = text;
	}
	return 0;
}

void options_help(const struct cli *c, struct buf *out)
{
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		const struct option *o = &table[i];
		bool refused = o->offset == AT(json) && c->command &&
			strcmp(c->command->name, "run") == 0; /* it is known, to be told why not */
		if (refused ||
			(c->command ? find(c, str_of(o->name)) != o : o->commands != NULL)) /* what two rows explain, the first does */
			continue;
		const char *left = arena_printf(c->arena, "--%s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
		buf_fmt(out, "  %-22s %s\n", left, cli_tr(c, o->english, o->chinese));
	}
}
