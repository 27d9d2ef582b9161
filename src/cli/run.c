/* davy run: a check, the command, its log, and when it fails the cause. Standard output is the command's; what Davy says goes to standard
 * error. */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "act/history.h"
#include "act/run_job.h"
#include "act/run_log.h"
#include "act/run_program.h"
#include "base/printable.h"
#include "cli/explain.h"
#include "host/command.h"
#include "host/redact.h"
#include "host/state.h"

#define WRITE_MS 10000 /* for the disk to answer; then the command's end is reported without it */
#define LOG_MS 10000

struct running {
	struct cli *c;
	struct run_job job;
	struct run_program program;
	struct examination e;
	bool examined;
	const char **argv; /* NULL-terminated */
	size_t argc;
	struct history_place place;
	struct history_start start;
	struct history_task *starting;
	struct run_log *log;
	const char *log_path;
	int64_t oom_kills; /* of the whole kernel, before the start; -1: not known */
	struct host_command_result result;
	struct buf said; /* for standard error */
};

/* What there is to say, to standard error at once. */
static void say(struct running *r)
{
	struct buf *b = &r->said;
	if (!b->len)
		return;
	printable_clean(b->ptr, b->len, PRINTABLE_LINES | (r->c->color ? PRINTABLE_STYLES : 0));
	fwrite(b->ptr, 1, b->len, stderr);
	fflush(stderr);
	buf_reset(b);
}

/* One speaks for a node: its first rank. */
static bool is_speaker(const struct running *r)
{
	return r->job.local_rank <= 0;
}

/* -- before -------------------------------------------------------------------------------------------------------------- */

static int usage(struct cli *c)
{
	if (!c->arg_count)
		return cli_fail(c, EXIT_USAGE, "%s",
			cli_tr(c, "name the command: davy run -- python train.py", "请给出要运行的命令：davy run -- python train.py"));
	if (c->options.json)
		return cli_fail(c, EXIT_USAGE, "%s",
			cli_tr(c, "run has no --json: standard output is the command's; afterwards: davy history show --json",
				"run 没有 --json：标准输出属于所运行的命令；结束后可用 davy history show --json"));
	return 0;
}

/* The facts, and unless --no-check their judgement. Only a wrong option ends here: what Davy cannot do must not keep the command from
 * running. */
static int examine(struct running *r)
{
	struct cli *c = r->c;
	const char *python = c->options.python, *backend = c->options.backend;
	if (!python && r->program.python)
		c->options.python = r->program.python;
	if (!backend && r->program.only_gloo)
		c->options.backend = "gloo";
	/* The other ranks of this node ask no driver: eight at once would delay what they are about to start. */
	c->files_only = c->options.no_check || r->job.local_rank > 0;
	int rc = cli_examine(c, c->host, &r->e);
	if (rc == EXIT_NO_INPUT && !python) {
		c->options.python = NULL;
		rc = cli_examine(c, c->host, &r->e);
	}
	r->examined = rc == 0;
	c->options.backend = backend;
	return rc == EXIT_NO_INPUT || rc == EXIT_USAGE ? rc : 0;
}

static void add_header(struct running *r)
{
	struct report report = cli_report(r->c, &r->e.judgement, r->e.facts);
	if (r->c->options.quiet || !r->examined || !is_speaker(r))
		return;
	report_header(&report, &r->said);
	const struct finding *f = r->e.judgement.findings;
	if (f && f->status == STATUS_FAIL && !r->c->options.no_check && !r->c->options.force)
		buf_fmt(&r->said,
			cli_tr(r->c, "[davy] started all the same, for it need not concern this command: %s: %s\n",
				"[davy] 该问题未必影响此命令，仍然启动：%s：%s\n"),
			f->cause, f->title ? f->title : f->cause);
}

/* 0 to start it; else the exit status, said. */
static int refuse(struct running *r)
{
	struct cli *c = r->c;
	const struct finding *f = r->examined && !c->options.no_check
		? run_program_stop(&r->program, &r->e.judgement, c->options.backend != NULL)
		: NULL;
	if (!f)
		return 0;
	if (c->options.force) {
		if (is_speaker(r))
			buf_fmt(&r->said,
				cli_tr(c, "[davy] started in spite of %s: %s (--force)\n", "[davy] 尽管存在 %s（%s），仍按 --force 启动\n"),
				f->cause, f->title ? f->title : f->cause);
		return 0;
	}
	struct report report = cli_report(c, &r->e.judgement, r->e.facts);
	report.command = "check";
	if (c->options.quiet || !is_speaker(r))
		report_quiet(&report, &r->said);
	else
		report_terminal(&report, &r->said);
	buf_fmt(&r->said,
		cli_tr(c, "[davy] not started: %s. davy run --force -- ... starts it all the same.\n",
			"[davy] 未启动：%s。如仍要启动，请用 davy run --force -- ...\n"),
		f->title ? f->title : f->cause);
	say(r);
	return EXIT_FAULT;
}

/* -- the record ---------------------------------------------------------------------------------------------------------- */

static const char *boot_id(struct cli *c)
{
	struct str s;
	return host_linef(c->host, &s, "/proc/sys/kernel/random/boot_id") == 0 ? str_dup(c->arena, s) : NULL;
}

static void begin_record(struct running *r)
{
	struct cli *c = r->c;
	struct timespec now;
	struct redactor *redactor = redactor_new_plain(c->arena);
	clock_gettime(CLOCK_REALTIME, &now);
	r->place = history_place(c->arena, c->host);
	r->start = (struct history_start){.place = r->place,
		.job = r->job.key,
		.launcher = r->job.launcher,
		.node = r->job.node,
		.boot = boot_id(c),
		.rank = r->job.rank,
		.local_rank = r->job.local_rank,
		.world = r->job.world,
		.pid = getpid(),
		.started_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000,
		.cwd = host_cwd(c->host),
		.subject = r->program.script ? r->program.script : r->argv[0],
		.command = redact_command(redactor, r->argv, r->argc)};
	host_process_began(c->host, getpid(), &r->start.began);
	if (c->options.note)
		r->start.note = str_dup(c->arena, redact_secrets(redactor, str_of(c->options.note)));
	if (r->examined)
		r->start.snapshot = history_snapshot(c->arena, c->host, r->e.facts, r->argv, r->argc);
	if (r->place.folder) {
		char stamp[32];
		struct tm tm;
		strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", gmtime_r(&now.tv_sec, &tm));
		r->start.log = r->job.rank >= 0
			? arena_printf(c->arena, "%s-%s-%ld.rank%lld.log.zst", stamp, r->job.node, (long)getpid(), (long long)r->job.rank)
			: arena_printf(c->arena, "%s-%s-%ld.log.zst", stamp, r->job.node, (long)getpid());
		r->log_path = arena_printf(c->arena, "%s/%s", r->place.logs, r->start.log);
	}
	r->starting = history_begin_task(history_write_start, &r->start);
}

/* Why there will be no record, in the user's words. */
static const char *problem(struct cli *c, int error)
{
	switch (-error) {
	case EBUSY: return cli_tr(c, "others kept it busy", "一直被其他进程占用");
	case EBADMSG: return cli_tr(c, "history.sqlite there is damaged or no history", "其中的 history.sqlite 已损坏或不是历史记录");
	case EPROTO: return cli_tr(c, "a newer Davy made it", "由更新版本的 Davy 创建");
	case EMEDIUMTYPE: return cli_tr(c, "history.sqlite there is no regular file", "其中的 history.sqlite 不是普通文件");
	case ETIMEDOUT: return cli_tr(c, "the file system does not answer", "文件系统没有响应");
	default: return strerror(-error);
	}
}

static void say_unrecorded(struct running *r, int error)
{
	struct cli *c = r->c;
	if (is_speaker(r))
		buf_fmt(&r->said, cli_tr(c, "[davy] this attempt is not recorded: %s%s%s\n", "[davy] 本次尝试未能记录：%s%s%s\n"),
			r->place.folder ? r->place.folder
					: cli_tr(c, "neither XDG_STATE_HOME nor HOME is set to an absolute path",
						  "XDG_STATE_HOME 和 HOME 均未设为绝对路径"),
			r->place.folder ? cli_tr(c, ": ", "：") : "", r->place.folder ? problem(c, error) : "");
}

static const char *outcome(const struct host_command_result *res)
{
	bool obeyed = res->asked && (res->signal == res->asked || res->status == 128 + res->asked || res->signal == SIGKILL);
	return res->error ? "not-started" : res->status == 0 ? "ok" : obeyed ? "stopped" : "failed";
}

/* The start again, when it did not come through at the beginning, and the end. Waits for the disk for a bounded time. */
static void end_record(struct running *r, const char *how, int64_t status, int64_t signal, int64_t ended_ms)
{
	if (!history_wait(r->starting, WRITE_MS)) {
		say_unrecorded(r, -ETIMEDOUT);
		r->start.id = 0;
		r->place.folder = NULL; /* nobody asks this disk again */
		return;
	}
	if (!r->start.id && r->place.folder && (r->start.error == -EBUSY || r->start.error == -ENOSPC) &&
		!history_in_time(history_write_start, &r->start, WRITE_MS))
		r->start.error = -ETIMEDOUT;
	if (!r->start.id) {
		say_unrecorded(r, r->start.error);
		return;
	}
	static struct history_end e; /* stays, when the disk never answers */
	e = (struct history_end){.place = r->place,
		.id = r->start.id,
		.rank = r->start.rank,
		.ended_ms = ended_ms,
		.outcome = how,
		.status = status,
		.signal = signal};
	if (r->log) {
		e.log_bytes = (int64_t)run_log_packed(r->log).len;
		e.log_left_out = (int64_t)run_log_left_out(r->log);
	}
	bool in_time = history_in_time(history_write_end, &e, WRITE_MS);
	if (in_time && e.error == -EBUSY) /* many end at once */
		in_time = history_in_time(history_write_end, &e, WRITE_MS);
	if (!in_time)
		say_unrecorded(r, -ETIMEDOUT);
	else if (e.error)
		say_unrecorded(r, e.error);
}

static const char *evidence_of(struct cli *c, const struct finding *f)
{
	struct buf b = BUF_MAX(16384);
	for (const struct evidence *e = f->evidence; e; e = e->next) {
		const char *key = e->subject;
		if (e->fact)
			buf_fmt(&b, "%s%s%s%s\n", e->fact, key ? "[" : "", key ? key : "", key ? "]" : "");
	}
	const char *text = b.len ? arena_strndup(c->arena, b.ptr, b.len) : NULL;
	buf_free(&b);
	return text;
}

static void record_cause(struct running *r, const struct finding *f)
{
	static struct history_cause cause;
	if (!r->start.id || !f)
		return;
	cause = (struct history_cause){.place = r->place,
		.id = r->start.id,
		.rank = r->start.rank,
		.cause = f->cause,
		.certainty = certainty_name(f->certainty),
		.stage = stage_names[f->stage],
		.title = f->title,
		.says = f->says,
		.evidence = evidence_of(r->c, f)};
	history_in_time(history_write_cause, &cause, WRITE_MS);
}

/* -- the command --------------------------------------------------------------------------------------------------------- */

static void listen_to(void *arg, enum host_stream stream, const char *p, size_t n)
{
	struct running *r = arg;
	(void)stream;
	if (r->log)
		run_log_take(r->log, p, n);
}

/* NCCL says why it fails only when asked; whoever has asked for something else gets that. */
static bool says_nccl_debug(struct running *r)
{
	if (host_env(r->c->host, "NCCL_DEBUG"))
		return true;
	for (const struct facts_row *row = r->examined ? r->e.facts->first[TABLE_nccl_conf] : NULL; row; row = row->next) {
		const char *name = facts_get_text(row, nccl_conf__name);
		if (name && strcmp(name, "NCCL_DEBUG") == 0)
			return true;
	}
	return false;
}

static int64_t oom_kills(struct cli *c);

static void start_command(struct running *r)
{
	static const char *const warn[] = {"NCCL_DEBUG=WARN", NULL};
	r->log = run_log_new(r->log_path);
	r->oom_kills = oom_kills(r->c);
	say(r);
	host_command_run((char *const *)(uintptr_t)r->argv, says_nccl_debug(r) ? NULL : warn, listen_to, r, &r->result);
	if (r->result.error)
		buf_fmt(&r->said, "davy: %s: %s\n", r->argv[0],
			r->result.error == ENOENT ? cli_tr(r->c, "command not found", "找不到该命令") : strerror(r->result.error));
	if (r->log && !run_log_finish(r->log, LOG_MS)) {
		r->log = NULL; /* its thread hangs on the disk and has it */
		buf_text(&r->said,
			cli_tr(r->c, "[davy] the log is not whole: its file system does not answer\n",
				"[davy] 日志不完整：文件系统没有响应\n"));
	}
	if (r->result.unheard && !r->result.error)
		buf_text(&r->said,
			cli_tr(r->c, "[davy] its output is not kept, or not all of it: too few open files are allowed (ulimit -n)\n",
				"[davy] 其输出未保存或不完整：允许打开的文件数太少（ulimit -n）\n"));
	if (r->result.lost_bytes)
		buf_fmt(&r->said,
			cli_tr(r->c, "[davy] %llu bytes of output could not be passed on: %s\n", "[davy] 有 %llu 字节的输出未能写出：%s\n"),
			(unsigned long long)r->result.lost_bytes, strerror(r->result.lost_error));
}

/* Where the attempt could not be recorded either, that is said and enough. */
static void say_log_problem(struct running *r)
{
	if (r->log && run_log_error(r->log) && r->start.id && is_speaker(r))
		buf_fmt(&r->said, cli_tr(r->c, "[davy] the log is not whole: %s: %s\n", "[davy] 日志不完整：%s：%s\n"), r->log_path,
			strerror(-run_log_error(r->log)));
}

/* -- after a failure ----------------------------------------------------------------------------------------------------- */

/* How many processes the kernel has killed for lack of memory since it started; a container sees it too. -1: not known. */
static int64_t oom_kills(struct cli *c)
{
	struct str text, line, name, value;
	int64_t n;
	if (host_readf(c->host, &text, "/proc/vmstat") < 0)
		return -1;
	while (str_next_line(&text, &line))
		if (str_split(line, ' ', &name, &value) && str_is(name, "oom_kill") && str_to_int(value, &n) == 0)
			return n;
	return -1;
}

/* A shell says how its child died; here we are the shell. Of SIGKILL the reader thinks of the kernel: when that has killed nobody
 * meanwhile, it was somebody else. */
static struct str last_words(struct running *r)
{
	const struct host_command_result *res = &r->result;
	if (res->signal == SIGKILL && r->oom_kills >= 0 && oom_kills(r->c) == r->oom_kills) {
		buf_text(&r->said,
			cli_tr(r->c,
				"[davy] killed by SIGKILL from outside; the kernel's out-of-memory killer killed nobody in that time\n",
				"[davy] 被外部用 SIGKILL 终止；在此期间内核的 OOM killer 没有终止任何进程\n"));
		return str_n(NULL, 0);
	}
	if (res->signal == SIGKILL)
		return str_of(arena_printf(r->c->arena, "Signal 9 (SIGKILL) received by PID %ld\n", (long)res->pid));
	if (res->signal == SIGSEGV || res->signal == SIGBUS || res->signal == SIGABRT || res->signal == SIGILL || res->signal == SIGFPE)
		return str_of(arena_printf(r->c->arena, "line 1: %ld %s (core dumped) %s\n", (long)res->pid,
			res->signal == SIGSEGV           ? "Segmentation fault     "
				: res->signal == SIGBUS  ? "Bus error              "
				: res->signal == SIGABRT ? "Aborted                "
				: res->signal == SIGILL  ? "Illegal instruction    "
							 : "Floating point exception",
			r->start.command));
	return str_n(NULL, 0);
}

/* May this rank speak? The first of a node that fails does; another only when it has something else to say (ret_said: what was said). */
static bool may_speak(struct running *r, char said[128], int64_t *ret_by)
{
	static struct history_claim claim;
	said[0] = '\0';
	if (!r->job.launcher || !r->start.id)
		return true;
	claim = (struct history_claim){.place = r->place, .id = r->start.id, .rank = r->start.rank};
	if (!history_in_time(history_write_claim, &claim, WRITE_MS) || claim.mine)
		return true;
	memcpy(said, claim.cause, sizeof claim.cause);
	*ret_by = claim.by;
	return false;
}

static void say_where(struct running *r)
{
	struct cli *c = r->c;
	if (c->options.quiet)
		return;
	if (r->start.id && r->start.since && r->start.changes > 0)
		buf_fmt(&r->said,
			r->start.changes > 1 ? cli_tr(c, "[davy] %d things changed at once since attempt %lld: %s. davy history diff\n",
						       "[davy] 与第 %2$lld 次尝试相比同时改变了 %1$d 处：%3$s。davy history diff\n")
					     : cli_tr(c, "[davy] %d thing changed since attempt %lld: %s\n",
						       "[davy] 与第 %2$lld 次尝试相比改变了 %1$d 处：%3$s\n"),
			r->start.changes, (long long)r->start.since, r->start.changed);
	if (r->start.id)
		buf_fmt(&r->said,
			cli_tr(c, "[davy] attempt %lld, exit status %d: davy history show %lld\n",
				"[davy] 第 %lld 次尝试，退出码 %d：davy history show %lld\n"),
			(long long)r->start.id, r->result.status, (long long)r->start.id);
}

static void explain(struct running *r)
{
	struct cli now = *r->c;
	now.started_ms = host_clock_ms();
	struct explain_text text[2];
	struct judgement j;
	char said[128];
	int64_t by = -1;
	size_t n = 0;
	struct str words = last_words(r), packed = r->log && run_log_bytes(r->log) ? run_log_packed(r->log) : str_n(NULL, 0);
	bool first = may_speak(r, said, &by);
	if (packed.len)
		text[n++] = (struct explain_text){
			r->job.rank >= 0 ? arena_printf(now.arena, "rank%lld.log", (long long)r->job.rank) : "output", packed};
	if (words.len)
		text[n++] = (struct explain_text){"davy run", words};
	if (!n)
		return;
	now.options.here = first; /* the machine is the same for all its ranks */
	now.options.only = NULL;
	/* The machine as it is now, not as it was seen before the start. */
	if (host_open_live(now.arena, NULL, &now.host) < 0)
		now.host = r->c->host;
	struct buf out = BUF_MAX((size_t)16 << 20);
	int rc = explain_texts(&now, text, n, &out, &j);
	const struct finding *f = rc == 0 && j.findings && j.findings->status == STATUS_FAIL ? j.findings : NULL;
	if (f && !first && strcmp(f->cause, said) == 0)
		buf_fmt(&r->said, cli_tr(&now, "[davy] rank %lld: the same as rank %lld: %s\n", "[davy] 进程 %lld：与进程 %lld 相同：%s\n"),
			(long long)r->job.rank, (long long)by, f->cause);
	else if (first || (f && f->certainty != POSSIBLE))
		buf_str(&r->said, buf_view(&out));
	buf_free(&out);
	record_cause(r, f);
	if (now.host != r->c->host)
		host_close(now.host);
}

/* -- the command of Davy ------------------------------------------------------------------------------------------------- */

/* What we say goes to standard error: colours and width are its. */
static void look_at_standard_error(struct cli *c)
{
	const char *term = host_env(c->host, "TERM"), *no_color = host_env(c->host, "NO_COLOR");
	if (!c->options.color || strcmp(c->options.color, "auto") == 0)
		c->color = isatty(STDERR_FILENO) && !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
}

int cli_run(struct cli *c)
{
	struct running r = {.c = c, .argc = c->arg_count, .said = BUF_MAX((size_t)32 << 20)};
	int rc = usage(c);
	if (rc)
		return rc;
	look_at_standard_error(c);
	r.argv = arena_array(c->arena, c->arg_count + 1, sizeof *r.argv);
	memcpy(r.argv, c->args, c->arg_count * sizeof *r.argv);
	r.job = run_job_read(c->arena, c->host);
	r.program = run_program_read(c->arena, c->host, r.argv, r.argc);
	rc = examine(&r);
	if (rc)
		return rc;
	begin_record(&r);
	rc = refuse(&r);
	if (rc) {
		end_record(&r, "refused", rc, 0, r.start.started_ms);
		record_cause(&r, run_program_stop(&r.program, &r.e.judgement, c->options.backend != NULL));
		say(&r);
		return rc;
	}
	add_header(&r);
	start_command(&r);
	const char *how = outcome(&r.result);
	end_record(&r, how, r.result.status, r.result.signal, r.result.ended_ms);
	say_log_problem(&r);
	if (strcmp(how, "failed") == 0)
		explain(&r);
	if (r.result.status && is_speaker(&r))
		say_where(&r);
	say(&r);
	if (r.log)
		run_log_free(r.log);
	host_command_end_as(&r.result);
}
