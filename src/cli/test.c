/* davy test: the machine is tried, what came out is judged by the same rules, and shown as a checklist. */
#include <signal.h>
#include <unistd.h>

#include "act/test.h"
#include "cli/cli.h"
#include "host/child.h"
#include "report/json_writer.h"
#include "report/text.h"

#define DEADLINE_S 60
#define DEADLINE_MAX_S 3600
#define RANKS_MAX 64
#define LABEL_COLUMN 16

struct testing {
	struct cli *c;
	struct facts *facts;
	struct test test;
	bool told; /* a line about progress stands on the terminal */
};

static bool is(const char *a, const char *b)
{
	return a && strcmp(a, b) == 0;
}

/* -- one line of the checklist -------------------------------------------------------------------------------------------------- */

/* The rows of one stage, counted. */
struct tally {
	const struct facts_row *first, *bad; /* first row; first that failed */
	int ok, bads, skipped, not_reached, rows;
	double rate, control_rate, ms; /* slowest of those that are known; 0: none */
	int64_t bytes;
};

static const char *get(const struct facts_row *row, enum facts_column c)
{
	const char *text = row ? facts_get_text(row, c) : NULL;
	return text ? text : "";
}

static void slowest(const struct facts_row *row, enum facts_column c, double *ret)
{
	double v;
	if (facts_get_real(row, c, &v) && (*ret <= 0 || v < *ret))
		*ret = v;
}

static struct tally tally(const struct facts *f, const char *stage, bool parts_only)
{
	struct tally t = {.first = NULL};
	double ms;
	for (const struct facts_row *row = f->first[TABLE_trial]; row; row = row->next) {
		const char *result = get(row, trial__result);
		if (!is(get(row, trial__stage), stage))
			continue;
		if (facts_get_real(row, trial__duration_ms, &ms))
			t.ms = is(stage, "p2p") || is(stage, "torch") || is(get(row, trial__trial), "cuda") ? t.ms + ms
				: ms > t.ms                                                                 ? ms
													    : t.ms;
		if (parts_only && is(get(row, trial__trial), stage) && is(result, "ok"))
			continue;
		t.first = t.first ? t.first : row;
		t.rows++;
		slowest(row, trial__rate, &t.rate);
		slowest(row, trial__control_rate, &t.control_rate);
		t.ok += is(result, "ok");
		t.skipped += is(result, "skipped");
		t.not_reached += is(result, "not-reached");
		if (is(result, "ok") || is(result, "skipped") || is(result, "not-reached"))
			continue;
		t.bads++;
		t.bad = t.bad ? t.bad : row;
	}
	return t;
}

static const char *stage_label(const struct cli *c, const char *stage)
{
	static const char *const names[][3] = {{"driver", "driver", "驱动"}, {"cuda", "cuda", "CUDA"}, {"backend", "back end", "通信后端"},
		{"shm", "shared mem", "共享内存"}, {"network", "network", "网络"}, {"p2p", "p2p", "P2P"},
		{"allreduce", "all_reduce", "all_reduce"}, {"torch", "torchrun", "torchrun"}};
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(names[i][0], stage) == 0)
			return names[i][c->chinese ? 2 : 1];
	return stage;
}

/* Davy's own words about what is missing; what others said stays as it is. */
static const char *message_text(struct cli *c, const char *message)
{
	static const char *const chinese[][2] = {{"no PyTorch", "没有安装 PyTorch"}, {"not built into this PyTorch", "未编入这个 PyTorch"},
		{"no libnccl.so.2 is found", "找不到 libnccl.so.2"}};
	for (size_t i = 0; c->chinese && i < sizeof chinese / sizeof chinese[0]; i++)
		if (strcmp(message, chinese[i][0]) == 0)
			return chinese[i][1];
	return message;
}

/* "cuMemAlloc: out of memory (2)", "hangs in cuMemcpyPeer", "rank 3 ended with signal 11 in ncclCommInitRank" */
static const char *how_bad(struct cli *c, const struct facts_row *row)
{
	const char *result = get(row, trial__result), *call = get(row, trial__call), *message = get(row, trial__message);
	struct buf b = BUF_MAX(1024);
	int64_t code = -1, rank = -1;
	facts_get_int(row, trial__code, &code);
	if (facts_get_int(row, trial__rank, &rank) && rank >= 0)
		buf_fmt(&b, cli_tr(c, "rank %lld: ", "进程 %lld："), (long long)rank);
	if (is(result, "wrong"))
		buf_text(&b,
			is(get(row, trial__stage), "cuda") || is(get(row, trial__stage), "p2p")
				? cli_tr(c, "other data came back", "读回的数据不对")
				: cli_tr(c, "the sum is wrong", "求和结果错误"));
	else if (is(result, "missing") && is(get(row, trial__stage), "driver"))
		buf_text(&b, cli_tr(c, "no driver answers", "没有可用的驱动"));
	else if (is(result, "hang"))
		buf_fmt(&b,
			*call ? cli_tr(c, "%s did not return", "%s 没有返回") : cli_tr(c, "no answer within the deadline", "超时无响应"),
			call);
	else if (is(result, "crash"))
		buf_fmt(&b, cli_tr(c, "ended with signal %lld%s%s", "被信号 %lld 终止%s%s"), (long long)code,
			*call ? cli_tr(c, " in ", "，位置：") : "", call);
	else if (is(get(row, trial__stage), "torch") && is(result, "error"))
		buf_fmt(&b,
			is(get(row, trial__control), "ok")
				? cli_tr(c, "torchrun failed (exit status %lld); the ranks started without it: sum right",
					  "torchrun 失败（退出码 %lld）；不经它直接启动进程：求和正确")
				: cli_tr(c, "ended with exit status %lld", "以退出码 %lld 结束"),
			(long long)code);
	else if (*call || *message)
		buf_fmt(&b, "%s%s%s", call, *call && *message ? ": " : "", message_text(c, message));
	else
		buf_text(&b, cli_tr(c, "failed", "失败"));
	if (is(result, "error") && code > 0 && (*call || *message))
		buf_fmt(&b, " (%lld)", (long long)code);
	if (is(get(row, trial__control), "ok") && (is(get(row, trial__stage), "p2p") || is(get(row, trial__stage), "allreduce")))
		buf_text(&b, cli_tr(c, "; right without peer access", "；关闭 P2P 后正常"));
	const char *text = arena_strndup(c->arena, buf_view(&b).ptr, b.len);
	buf_free(&b);
	return text;
}

static const char *megabytes(struct cli *c, int64_t bytes)
{
	return arena_printf(c->arena, "%lld MB", (long long)((bytes + (1 << 19)) >> 20));
}

static const char *rate(struct cli *c, double v)
{
	return arena_printf(c->arena, v < 10 ? "%.1f GB/s" : "%.0f GB/s", v);
}

/* The names of the rows that passed: "lo, eth0". */
static const char *subjects(struct cli *c, const struct facts *f, const char *stage)
{
	struct buf b = BUF_MAX(1024);
	for (const struct facts_row *row = f->first[TABLE_trial]; row; row = row->next)
		if (is(get(row, trial__stage), stage) && is(get(row, trial__result), "ok"))
			buf_fmt(&b, "%s%s", b.len ? ", " : "", get(row, trial__subject));
	const char *text = arena_strndup(c->arena, buf_view(&b).ptr, b.len);
	buf_free(&b);
	return text;
}

static const char *good_text(struct testing *x, const char *stage, const struct tally *t)
{
	struct cli *c = x->c;
	const struct facts_row *row = t->first;
	int64_t bytes = 0, ranks = 0;
	double ms = 0;
	if (is(stage, "driver"))
		return arena_printf(c->arena, cli_tr(c, "%s answers, %d GPU%s", "%s 有响应，%d 块 GPU%s"), get(row, trial__version),
			x->facts->count[TABLE_gpu], c->chinese || x->facts->count[TABLE_gpu] == 1 ? "" : "s");
	if (is(stage, "cuda"))
		return arena_printf(c->arena,
			cli_tr(c, "%d GPU%s: memory taken, copied and compared, %s from the host",
				"%d 块 GPU%s：分配、拷贝并校验通过，主机到 GPU %s"),
			t->ok, c->chinese || t->ok == 1 ? "" : "s", rate(c, t->rate));
	if (is(stage, "backend") && is(get(row, trial__subject), "nccl") && strstr(get(row, trial__library), "libnccl"))
		return arena_printf(
			c->arena, cli_tr(c, "NCCL %s loads: %s", "NCCL %s 可加载：%s"), get(row, trial__version), get(row, trial__library));
	if (is(stage, "backend"))
		return arena_printf(c->arena, cli_tr(c, "%s is in PyTorch %s", "%s 已编入 PyTorch %s"), get(row, trial__subject),
			get(row, trial__version));
	if (is(stage, "shm"))
		return arena_printf(c->arena, cli_tr(c, "%s written in /dev/shm", "已在 /dev/shm 写入 %s"),
			facts_get_int(row, trial__bytes, &bytes) ? megabytes(c, bytes) : "");
	if (is(stage, "network"))
		return arena_printf(
			c->arena, cli_tr(c, "%s: listens, connects, sends", "%s：监听、连接、收发正常"), subjects(c, x->facts, stage));
	if (is(stage, "p2p")) {
		const char *control = t->control_rate > 0
			? arena_printf(c->arena, cli_tr(c, ", %s through the host", "，经主机 %s"), rate(c, t->control_rate))
			: "";
		return arena_printf(c->arena, cli_tr(c, "%d pair%s right%s%s", "%d 对 GPU%s数据正确%s%s"), t->ok,
			c->chinese || t->ok == 1 ? "" : "s",
			t->rate > 0 ? arena_printf(c->arena, cli_tr(c, "; peer access %s", "；P2P %s"), rate(c, t->rate))
				    : cli_tr(c, "; no peer access", "；无 P2P"),
			control);
	}
	if (is(stage, "allreduce")) {
		facts_get_int(row, trial__bytes, &bytes);
		facts_get_int(row, trial__ranks, &ranks);
		facts_get_real(row, trial__time_ms, &ms);
		const char *bus = t->rate > 0 ? arena_printf(c->arena, cli_tr(c, ", bus bandwidth %s", "，总线带宽 %s"), rate(c, t->rate))
					      : "";
		return arena_printf(c->arena,
			cli_tr(c, "%lld rank%s over NCCL %s: sum right, %s in %.2f ms%s",
				"%lld 个进程%s，NCCL %s：求和正确，%s 用时 %.2f ms%s"),
			(long long)ranks, c->chinese || ranks == 1 ? "" : "s", get(row, trial__version), megabytes(c, bytes), ms, bus);
	}
	facts_get_int(row, trial__ranks, &ranks);
	return arena_printf(c->arena, cli_tr(c, "%s: sum right, %lld rank%s", "%s：求和正确，%lld 个进程%s"), subjects(c, x->facts, stage),
		(long long)ranks, c->chinese || ranks == 1 ? "" : "s");
}

/* Why there was no test, in the user's language. */
static const char *skipped_text(struct cli *c, const struct facts_row *row)
{
	static const char *const chinese[][2] = {{"davy test --torch", "未测试：davy test --torch"},
		{"not an NVIDIA GPU", "不是 NVIDIA GPU"}, {"not needed", "此后端不需要"}, {"one GPU", "只有一块 GPU"},
		{"too little memory is left to try", "未测试：剩余内存太少"}, {"the probe program is not there", "未测试：缺少 probe 程序"},
		{"no time was left", "未测试：时间不够"}, {"only nccl and gloo are tried", "未测试：只支持 nccl 和 gloo"}};
	const char *message = get(row, trial__message);
	if (is(message, "davy test --torch"))
		return cli_tr(c, "not tested: davy test --torch", chinese[0][1]);
	if (!c->chinese)
		return is(message, "not needed") ? "not needed for this back end"
			: strstr(message, "GPU") ? arena_printf(c->arena, "%s: nothing to test", message)
						 : arena_printf(c->arena, "not tested%s%s", *message ? ": " : "", message);
	for (size_t i = 0; i < sizeof chinese / sizeof chinese[0]; i++)
		if (is(message, chinese[i][0]))
			return chinese[i][1];
	return arena_printf(c->arena, "未测试%s%s", *message ? "：" : "", message);
}

struct line {
	enum stage_state state;
	const char *result, *text;
	double ms;
};

static struct line line_of(struct testing *x, const char *stage)
{
	struct cli *c = x->c;
	struct tally t = tally(x->facts, stage, is(stage, "cuda"));
	struct line l = {.state = STAGE_SILENT, .ms = t.ms};
	if (!t.first)
		return l;
	if (t.bads) {
		const char *subject = get(t.bad, trial__subject), *what = how_bad(c, t.bad);
		const char *which = is(stage, "shm")    ? "/dev/shm"
			: *subject && is(stage, "cuda") ? arena_printf(c->arena, "GPU %s", subject)
			: *subject                      ? subject
							: "";
		const char *others = t.bads > 1 ? arena_printf(c->arena, cli_tr(c, " (and %d more)", "（另有 %d 处）"), t.bads - 1) : "";
		const char *good = t.ok
			? arena_printf(c->arena, cli_tr(c, "%d of %d pass; ", "%2$d 项中 %1$d 项通过；"), t.ok, t.ok + t.bads)
			: "";
		/* A port that is taken, or shared memory that gloo does not need, is no fault. */
		bool warns = strncmp(get(t.bad, trial__trial), "port ", 5) == 0 || (is(stage, "shm") && is(test_backend(&x->test), "gloo"));
		l.state = warns ? STAGE_WARN : STAGE_FAIL;
		l.result = get(t.bad, trial__result);
		l.text = arena_printf(c->arena, "%s%s%s%s%s", good, which, *which ? cli_tr(c, ": ", "：") : "", what, others);
	} else if (t.not_reached) {
		l.state = STAGE_NOT_REACHED;
		l.result = "not-reached";
		l.text = arena_printf(
			c->arena, cli_tr(c, "not reached: stands on %s", "未测试：依赖于%s"), stage_label(c, get(t.first, trial__ground)));
	} else if (t.ok) {
		l.state = STAGE_FINE;
		l.result = "ok";
		l.text = good_text(x, stage, &t);
	} else {
		l.state = STAGE_NOT_REACHED;
		l.result = "skipped";
		l.text = skipped_text(c, t.first);
	}
	return l;
}

/* -- the measured all_reduces ------------------------------------------------------------------------------------------------------- */

static double time_of(const struct facts *f, const char *backend, int64_t bytes)
{
	double ms = 0;
	int64_t n;
	for (const struct facts_row *row = f->first[TABLE_allreduce]; row; row = row->next)
		if (is(get(row, allreduce__backend), backend) && facts_get_int(row, allreduce__bytes, &n) && n == bytes)
			facts_get_real(row, allreduce__time_ms, &ms);
	return ms;
}

static const char *duration(struct cli *c, double ms)
{
	return ms < 1      ? arena_printf(c->arena, "%.2f ms", ms)
		: ms < 100 ? arena_printf(c->arena, "%.1f ms", ms)
			   : arena_printf(c->arena, "%.0f ms", ms);
}

/* "16 MB: nccl 0.1 ms, gloo 22 ms (220 times as long)" */
static const char *measured(struct testing *x, int64_t bytes)
{
	struct cli *c = x->c;
	double nccl = time_of(x->facts, "nccl", bytes), gloo = time_of(x->facts, "gloo", bytes);
	if (nccl > 0 && gloo > 0)
		return arena_printf(c->arena, cli_tr(c, "%s: nccl %s, gloo %s (%.0f times as long)", "%s：nccl %s，gloo %s（慢 %.0f 倍）"),
			megabytes(c, bytes), duration(c, nccl), duration(c, gloo), gloo / nccl);
	if (nccl > 0 || gloo > 0)
		return arena_printf(
			c->arena, "%s: %s %s", megabytes(c, bytes), nccl > 0 ? "nccl" : "gloo", duration(c, nccl > 0 ? nccl : gloo));
	return NULL;
}

/* -- forms ---------------------------------------------------------------------------------------------------------------------------- */

static void put_line(struct cli *c, struct buf *out, enum stage_state state, const char *label, const char *text, double ms)
{
	static const char *const unicode[] = {"✓", "i", "!", "✗", "?", "·", " "}, *const ascii[] = {"+", "i", "!", "x", "?", "-", " "};
	static const enum text_style styles[] = {TEXT_GREEN, TEXT_CYAN, TEXT_YELLOW, TEXT_RED, TEXT_YELLOW, TEXT_DIM, TEXT_PLAIN};
	const char *took = ms <= 0 ? "" : ms < 1000 ? arena_printf(c->arena, "%.0f ms", ms) : arena_printf(c->arena, "%.1f s", ms / 1e3);
	int right = (int)strlen(took), at = 4 + text_width(str_of(label));
	text_pad(out, 2);
	text_style(out, c->color, styles[state], (c->unicode ? unicode : ascii)[state]);
	buf_char(out, ' ');
	buf_text(out, label);
	text_pad(out, at < LABEL_COLUMN ? LABEL_COLUMN - at : 1);
	struct buf wrapped = BUF_MAX(8192);
	text_wrap(&wrapped, str_of(text), LABEL_COLUMN, LABEL_COLUMN, c->columns - (right ? right + 2 : 0));
	/* The time stands at the end of the first line. */
	struct str rest = buf_view(&wrapped), first = str_slice(rest, 0, str_find_char(rest, '\n', 0));
	buf_str(out, first);
	if (right) {
		text_pad(out, c->columns - LABEL_COLUMN - text_width(first) - right);
		text_style(out, c->color, TEXT_DIM, took);
	}
	buf_str(out, str_skip(rest, first.len));
	buf_free(&wrapped);
	buf_char(out, '\n');
}

static const char *checklist(struct testing *x)
{
	struct cli *c = x->c;
	struct buf out = BUF_MAX(1 << 16);
	for (size_t i = 0; test_stages[i]; i++) {
		struct line l = line_of(x, test_stages[i]);
		if (l.text)
			put_line(c, &out, l.state, stage_label(c, test_stages[i]), l.text, l.ms);
		for (int64_t mb = 1; is(test_stages[i], "torch") && mb <= 256; mb *= 16) {
			const char *text = measured(x, mb << 20);
			if (text)
				put_line(c, &out, STAGE_SILENT, "", text, 0);
		}
	}
	const char *text = arena_strndup(c->arena, buf_view(&out).ptr, out.len);
	buf_free(&out);
	return text;
}

static void write_checklist(struct json_writer *w, void *arg)
{
	struct testing *x = arg;
	json_open(w, "checklist", '[');
	for (size_t i = 0; test_stages[i]; i++) {
		struct line l = line_of(x, test_stages[i]);
		if (!l.text)
			continue;
		json_open(w, NULL, '{');
		json_text(w, "stage", test_stages[i]);
		json_text(w, "result", l.result);
		json_text(w, "says", l.text);
		if (l.ms > 0)
			json_real(w, "duration_ms", l.ms);
		else
			json_null(w, "duration_ms");
		json_close(w, '}');
	}
	json_close(w, ']');
}

/* -- the command ------------------------------------------------------------------------------------------------------------------------
 */

/* On a terminal: what it waits for. */
static void progress(void *arg, const char *stage)
{
	struct testing *x = arg;
	if (x->c->options.quiet || !isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r\033[K  %s %s", cli_tr(x->c, "testing", "正在测试"), stage_label(x->c, stage));
	x->told = true;
}

static void run_live(void *arg, struct store *knowledge, struct facts *facts)
{
	struct testing *x = arg;
	struct cli_log log[TEST_LOGS_MAX];
	x->facts = x->test.facts = facts;
	if (x->test.ranks)
		facts_int(facts_only(facts, TABLE_purpose), purpose__ranks, x->test.ranks, "--ranks");
	test_run(&x->test);
	if (x->told)
		fprintf(stderr, "\r\033[K");
	for (size_t i = 0; i < x->test.log_count; i++)
		log[i] = (struct cli_log){x->test.log[i].name, x->test.log[i].text};
	if (x->test.log_count)
		cli_read_logs(x->c, knowledge, facts, log, x->test.log_count);
}

static int number_option(struct cli *c, const char *name, const char *text, double min, double max, double *ret)
{
	if (!text)
		return 0;
	if (str_to_real(str_of(text), ret) < 0 || !(*ret >= min && *ret <= max))
		return cli_fail(c, EXIT_USAGE, cli_tr(c, "--%s is a number from %g to %g, not '%s'", "--%s 是 %g 到 %g 的数，而不是“%s”"),
			name, min, max, text);
	return 0;
}

/* Which causes a stage alone can show; NULL: any. */
static int judged_stages(const struct cli *c, const char **ret)
{
	static const char *const judged[][2] = {{"driver", "driver"}, {"cuda", "driver gpu hardware"}, {"backend", "torch library network"},
		{"shm", "host"}, {"network", "network launch.port-in-use"}, {"p2p", "driver gpu p2p hardware"}, {"allreduce", NULL},
		{"torch", NULL}};
	*ret = NULL;
	for (size_t i = 0; c->options.only && i < sizeof judged / sizeof judged[0]; i++) {
		if (!is(judged[i][0], c->options.only))
			continue;
		*ret = judged[i][1];
		return 0;
	}
	return c->options.only
		? cli_fail(c, EXIT_USAGE,
			  cli_tr(c, "--only %s: the stages are driver, cuda, backend, shm, network, p2p, allreduce and torch",
				  "--only %s：阶段有 driver、cuda、backend、shm、network、p2p、allreduce 和 torch"),
			  c->options.only)
		: 0;
}

static int show_script(void)
{
	struct buf out = BUF_MAX(1 << 16);
	buf_text(&out, test_torch_script());
	int rc = cli_print(&out, EXIT_FINE);
	buf_free(&out);
	return rc;
}

/* A test that there was no reason to make. */
static bool is_idle(const struct facts_row *row)
{
	static const char *const reasons[] = {
		"davy test --torch", "not needed", "not an NVIDIA GPU", "one GPU", "only nccl and gloo are tried"};
	for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
		if (is(get(row, trial__message), reasons[i]))
			return true;
	return false;
}

/* A test that failed or could not be made is never a pass, whatever the rules made of it. */
static void not_ready_untold(struct testing *x, struct judgement *j)
{
	static const char *const ask[] = {"NCCL_DEBUG=INFO davy test --torch --verbose", "nvidia-smi; nvidia-smi topo -m",
		"sudo dmesg -T | tail -50", "df -h /dev/shm; ip addr", NULL};
	bool gloo = is(test_backend(&x->test), "gloo");
	for (const struct facts_row *row = x->facts->first[TABLE_trial]; row && j->verdict == VERDICT_READY; row = row->next) {
		const char *result = get(row, trial__result);
		if (is(result, "ok") || (is(result, "skipped") && is_idle(row)) || strncmp(get(row, trial__trial), "port ", 5) == 0 ||
			(gloo && is(get(row, trial__stage), "shm") && is(result, "error")))
			continue;
		j->verdict = VERDICT_UNKNOWN;
		j->ask = ask;
	}
}

static int show(struct testing *x, struct examination *e)
{
	struct cli *c = x->c;
	struct report r = cli_report(c, &e->judgement, e->facts);
	struct json_extra extra = {write_checklist, x};
	not_ready_untold(x, &e->judgement);
	r.extra = &extra;
	r.headline = cli_headline(c, e->facts);
	r.block = checklist(x);
	r.part_names = (const char *const *)e->part_names;
	r.part_ms = e->part_ms;
	r.part_count = e->part_count;
	return cli_render(c, &r);
}

int cli_test(struct cli *c)
{
	double ranks = 0, seconds = DEADLINE_S;
	const char *judged;
	struct examination e = {0};
	if (c->arg_count)
		return cli_fail(c, EXIT_USAGE, cli_tr(c, "test takes no arguments: '%s'", "test 不接受参数：“%s”"), c->args[0]);
	if (c->options.show)
		return show_script();
	int rc = judged_stages(c, &judged);
	if (!rc)
		rc = number_option(c, "ranks", c->options.ranks, 1, RANKS_MAX, &ranks);
	if (!rc)
		rc = number_option(c, "deadline", c->options.deadline, 1, DEADLINE_MAX_S, &seconds);
	if (rc)
		return rc;
	struct testing x = {.c = c,
		.test = {.host = c->host,
			.arena = c->arena,
			.only = c->options.only,
			.ranks = (int)ranks,
			.deadline_ms = (int)(seconds * 1e3),
			.torch = c->options.live_torch || is(c->options.only, "torch"),
			.progress = progress,
			.progress_arg = &x}};
	c->door = c->host;
	rc = cli_examine_live(c, c->host, &(struct live){.only = judged, .mode = JUDGE_TEST, .run = run_live, .arg = &x}, &e);
	if (host_stopped_by()) {
		/* All that ran is ended; now as if nobody had caught it. */
		signal(host_stopped_by(), SIG_DFL);
		raise(host_stopped_by());
	}
	if (!rc)
		rc = show(&x, &e);
	store_close(e.store);
	return rc;
}
