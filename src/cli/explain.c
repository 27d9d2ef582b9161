/* davy explain: logs and reports → events and facts → the cause. */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "cli/explain.h"
#include "cli/follow.h"
#include "cli/sources.h"
#include "cli/timeline.h"
#include "collect/collect.h"
#include "logs/to_facts.h"
#include "read/read.h"
#include "report/json_writer.h"
#include "report/text.h"

#define TRIGGERS_MAX 512
#define THREADS 2

struct explaining {
	struct cli *c;
	struct facts *facts;
	struct logs *logs;
	struct logs_pattern *patterns;
	size_t pattern_count;
	struct store *store;
	struct judgement judgement;
	const char *trigger[TRIGGERS_MAX];
	const struct reader *reader_of[TRIGGERS_MAX];
	size_t triggers;
	struct read_line *line; /* of the reader at work */
	size_t line_cap;
	struct sources sources;
	enum unwrap_way unwrap; /* of further readings, see read_again */
	size_t next;            /* source that no thread has taken yet */
	pthread_mutex_t lock;
};

/* -- knowledge → patterns ------------------------------------------------------------------------------------------------ */

static enum logs_class class_of(const char *name)
{
	return strcmp(name, "evidence") == 0       ? LOGS_EVIDENCE
		: strcmp(name, "consequence") == 0 ? LOGS_CONSEQUENCE
		: strcmp(name, "advice") == 0      ? LOGS_ADVICE
						   : LOGS_NOISE;
}

/* Errors tell of a failure unless their pattern says otherwise. */
static enum logs_tells tells_of(const char *name, enum logs_class class)
{
	if (!name)
		return class == LOGS_EVIDENCE || class == LOGS_CONSEQUENCE ? LOGS_FAILURE : LOGS_FACT;
	return strcmp(name, "failure") == 0     ? LOGS_FAILURE
		: strcmp(name, "progress") == 0 ? LOGS_PROGRESS
		: strcmp(name, "end") == 0      ? LOGS_END
		: strcmp(name, "ignored") == 0  ? LOGS_IGNORED
		: strcmp(name, "shutdown") == 0 ? LOGS_SHUTDOWN
		: strcmp(name, "start") == 0    ? LOGS_START
						: LOGS_FACT;
}

static const char *copied(struct cli *c, const struct store_query *q, int i)
{
	const char *text = store_text(q, i);
	return text ? arena_strdup(c->arena, text) : NULL;
}

static bool is_value(const char *text, const char *wanted)
{
	return text && strcmp(text, wanted) == 0;
}

static size_t read_patterns(struct cli *c, struct store *s, struct logs_pattern **ret)
{
	struct store_query *q;
	size_t n = 0, cap = 0;
	*ret = NULL;
	if (store_prepare(s,
		    "SELECT id, class, symptom, cause, certainty, regex, format, alone, literals, tells, fallback, (SELECT count(*) FROM pattern) FROM pattern ORDER BY ord",
		    &q, NULL) < 0)
		return 0;
	while (store_step(q) > 0) {
		if (!*ret) {
			cap = (size_t)store_int(q, 11);
			*ret = arena_array(c->arena, cap, sizeof **ret);
		}
		if (n == cap)
			break;
		enum logs_class class = class_of(store_text(q, 1));
		(*ret)[n++] = (struct logs_pattern){.id = copied(c, q, 0),
			.class = class,
			.tells = tells_of(store_text(q, 9), class),
			.symptom = copied(c, q, 2),
			.cause = copied(c, q, 3),
			.certainty = copied(c, q, 4),
			.regex = copied(c, q, 5),
			.format = copied(c, q, 6),
			.alone = is_value(store_text(q, 7), "true"),
			.covers = is_value(store_text(q, 7), "part"),
			.literals = copied(c, q, 8),
			.fallback = store_text(q, 10) != NULL};
	}
	store_finish(q);
	return n;
}

static void read_triggers(struct explaining *x)
{
	for (size_t i = 0; readers[i]; i++) {
		for (size_t k = 0; readers[i]->triggers[k] && x->triggers < TRIGGERS_MAX; k++) {
			x->trigger[x->triggers] = readers[i]->triggers[k];
			x->reader_of[x->triggers++] = readers[i];
		}
	}
}

static size_t on_trigger(void *arg, unsigned trigger, const struct logs_lines *lines)
{
	struct explaining *x = arg;
	if (trigger >= x->triggers)
		return 0;
	/* One buffer for all calls: a file full of triggers makes thousands of them. */
	if (lines->count > x->line_cap) {
		x->line_cap = lines->count;
		x->line = arena_array(x->c->arena, x->line_cap, sizeof *x->line);
	}
	struct read_line *copy = x->line;
	for (size_t i = 0; i < lines->count; i++)
		copy[i] = (struct read_line){lines->line[i].text, lines->line[i].number};
	struct read_input in = {.file = lines->file, .line = copy, .count = lines->count};
	memcpy(in.before, lines->before, sizeof in.before);
	x->facts->node = lines->host ? arena_strdup(x->c->arena, lines->host) : NULL;
	size_t used = x->reader_of[trigger]->read(&in, x->facts);
	x->facts->node = NULL;
	return used;
}

/* -- scanning ------------------------------------------------------------------------------------------------------------ */

static void *scan_some(void *arg)
{
	struct explaining *x = arg;
	for (;;) {
		pthread_mutex_lock(&x->lock);
		size_t i = x->next++;
		pthread_mutex_unlock(&x->lock);
		if (i >= x->sources.count)
			return NULL;
		sources_scan(&x->sources, i, x->logs);
	}
}

static void scan_all(struct explaining *x)
{
	pthread_t thread[THREADS];
	size_t started = 0;
	pthread_mutex_init(&x->lock, NULL);
	for (; started + 1 < THREADS && started + 1 < x->sources.count; started++)
		if (pthread_create(&thread[started], NULL, scan_some, x) != 0)
			break;
	scan_some(x);
	for (size_t i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	pthread_mutex_destroy(&x->lock);
	logs_finish(x->logs);
}

/* -- what was read ------------------------------------------------------------------------------------------------------- */

static const char *size_text(struct cli *c, uint64_t bytes)
{
	return bytes < 10000                 ? arena_printf(c->arena, cli_tr(c, "%llu bytes", "%llu 字节"), (unsigned long long)bytes)
		: bytes < 10 << 20           ? arena_printf(c->arena, "%.0f KB", (double)bytes / 1024)
		: bytes < (uint64_t)10 << 30 ? arena_printf(c->arena, "%.0f MB", (double)bytes / (1 << 20))
					     : arena_printf(c->arena, "%.1f GB", (double)bytes / (1 << 30));
}

static const char *headline(struct explaining *x)
{
	struct cli *c = x->c;
	uint64_t bytes = 0, lines = 0;
	size_t files = 0;
	for (size_t i = 0; i < x->logs->file_count; i++) {
		files += !x->logs->file[i].is_archive;
		bytes += x->logs->file[i].bytes;
		lines += x->logs->file[i].lines;
	}
	struct buf b = BUF_MAX(4096);
	buf_fmt(&b, cli_tr(c, "Read %s", "已读取 %s"), size_text(c, bytes));
	if (files > 1)
		buf_fmt(&b, cli_tr(c, " in %zu files", "，%zu 个文件"), files);
	if (x->logs->rank_count > 1)
		buf_fmt(&b, cli_tr(c, ", %zu ranks", "，%zu 个进程"), x->logs->rank_count);
	if (x->logs->host_count > 1)
		buf_fmt(&b, cli_tr(c, " on %zu nodes", "，%zu 个节点"), x->logs->host_count);
	if (flight_count(x->sources.flight))
		buf_fmt(&b, cli_tr(c, ", %zu Flight Recorder dumps", "，%zu 个 Flight Recorder 转储"), flight_count(x->sources.flight));
	buf_fmt(&b, lines == 1 ? cli_tr(c, ", 1 line.", "，共 1 行。") : cli_tr(c, ", %llu lines.", "，共 %llu 行。"),
		(unsigned long long)lines);
	const char *text = arena_strndup(c->arena, b.ptr, b.len);
	buf_free(&b);
	return text;
}

static void write_log_members(struct json_writer *w, void *arg)
{
	struct explaining *x = arg;
	const struct logs_nccl *n = &x->logs->nccl;
	json_open(w, "input", '{');
	json_int(w, "ranks", (int64_t)x->logs->rank_count);
	json_int(w, "nodes", (int64_t)x->logs->host_count);
	json_open(w, "files", '[');
	for (size_t i = 0; i < x->logs->file_count; i++) {
		const struct logs_file *f = &x->logs->file[i];
		json_open(w, NULL, '{');
		json_text(w, "name", f->name);
		json_int(w, "bytes", (int64_t)f->bytes);
		json_int(w, "lines", (int64_t)f->lines);
		json_text(w, "problem", f->problem);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_close(w, '}');
	json_open(w, "nccl", '{');
	json_text(w, "version", n->version_count ? n->version[0] : NULL);
	json_text(w, "network", n->network);
	json_text(w, "devices", n->ib_devices ? n->ib_devices : n->socket_devices);
	json_text(w, "bootstrap", n->bootstrap);
	json_text(w, "plugin", n->plugin);
	if (n->nranks_max)
		json_int(w, "ranks", n->nranks_max);
	else
		json_null(w, "ranks");
	json_open(w, "channels", '{');
	for (int t = 0; t < TRANSPORT_COUNT; t++)
		if (n->transport[t])
			json_int(w, logs_transport_names[t], (int64_t)n->transport[t]);
	json_close(w, '}');
	json_int(w, "gdr_channels", (int64_t)n->gdr);
	json_close(w, '}');
}

static bool further_line(void *arg, int row, size_t i, struct report_line *ret)
{
	const struct explaining *x = arg;
	const struct logs_event *e = row >= 1 && (size_t)row <= x->logs->event_count ? x->logs->event[row - 1] : NULL;
	if (!e || i >= e->repeat_count)
		return false;
	const struct logs_repeat *r = &e->repeat[i];
	*ret = (struct report_line){.file = x->logs->file[r->file].name, .line = (int64_t)r->line, .rank = r->rank, .time = r->time};
	return true;
}

/* One line on what NCCL chose. NULL when the log does not tell. */
static const char *nccl_line(struct explaining *x)
{
	const struct logs_nccl *n = &x->logs->nccl;
	struct cli *c = x->c;
	struct buf b = BUF_MAX(4096);
	if (!n->version_count && !n->network)
		return NULL;
	buf_fmt(&b, "NCCL%s%s", n->version_count ? " " : "", n->version_count ? n->version[0] : "");
	if (n->network)
		buf_fmt(&b, cli_tr(c, ", network %s", "，网络 %s"), n->network);
	if (n->plugin)
		buf_fmt(&b, cli_tr(c, ", plugin %s", "，插件 %s"), n->plugin);
	bool first = true;
	for (int t = 0; t < TRANSPORT_COUNT; t++) {
		if (!n->transport[t])
			continue;
		buf_fmt(&b, "%s%s ×%llu", first ? cli_tr(c, ", channels: ", "，通道：") : ", ", logs_transport_names[t],
			(unsigned long long)n->transport[t]);
		first = false;
	}
	if (n->transport[TRANSPORT_IB] || n->gdr)
		buf_text(&b,
			n->gdr ? cli_tr(c, ", GPUDirect RDMA on", "，GPUDirect RDMA 已启用")
			       : cli_tr(c, ", GPUDirect RDMA off", "，GPUDirect RDMA 未启用"));
	const char *text = arena_strndup(c->arena, b.ptr, b.len);
	buf_free(&b);
	return text;
}

/* -- the command --------------------------------------------------------------------------------------------------------- */

/* Something of the input stayed unread, and may be what tells of the failure. */
static bool is_partly_read(const struct logs *l)
{
	for (size_t i = 0; i < l->file_count; i++)
		if (l->file[i].problem || l->file[i].error)
			return true;
	return false;
}

static int nothing_to_read(struct explaining *x)
{
	struct cli *c = x->c;
	uint64_t bytes = 0;
	bool binary = true;
	if (flight_count(x->sources.flight))
		return 0;
	for (size_t i = 0; i < x->logs->file_count; i++) {
		bytes += x->logs->file[i].bytes;
		binary &= x->logs->file[i].binary || x->logs->file[i].is_archive;
	}
	if (!bytes)
		return cli_fail(c, EXIT_NO_INPUT, "%s",
			is_partly_read(x->logs) ? cli_tr(c, "nothing of the input could be read", "输入内容均无法读取")
						: cli_tr(c, "the input is empty", "输入为空"));
	if (binary && !x->logs->event_count && !x->logs->snippets)
		return cli_fail(
			c, EXIT_UNKNOWN, "%s", cli_tr(c, "this is no log: the input is binary data", "这不是日志：输入是二进制数据"));
	return 0;
}

/* Archives that are broken or cut: used as far as they go, and said so. */
static void report_problems(struct explaining *x)
{
	static const struct {
		const char *part, *chinese;
		bool goes_on; /* only a file in it could not be read */
	} known[] = {{"encrypted", "其中有加密的文件", true}, {"does not know", "其中有文件采用了不支持的压缩方式", true},
		{"nested", "其中的压缩包嵌套过深", true}, {"too early", "压缩文件不完整", false}, {"broken", "压缩文件在此处损坏", false},
		{"absurd", "解压后大得离谱，已停止读取", false}, {"", "解压所需内存超过 Davy 的上限", false}};
	struct cli *c = x->c;
	size_t said = 0, k;
	for (size_t i = 0; i < x->logs->file_count; i++) {
		const struct logs_file *f = &x->logs->file[i];
		if (!f->problem || f->error || said++ >= 5)
			continue;
		for (k = 0; !strstr(f->problem, known[k].part); k++)
			;
		cli_fail(c, 0,
			known[k].goes_on
				? cli_tr(c, "%s: %s; unpack it and explain what comes out", "%s：%s；请自行解压后再交给 davy explain")
				: cli_tr(c, "%s: %s; what stands before that was read", "%s：%s；此前的内容已读取"),
			f->name, c->chinese ? known[k].chinese : f->problem);
	}
}

static const char *const *questions(struct explaining *x)
{
	static const char *const english[] = {"NCCL_DEBUG=INFO TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun ... 2>&1 | tee train.log",
		"python -m torch.utils.collect_env", "nvidia-smi", "dmesg -T | tail -50", "df -h /dev/shm", NULL};
	(void)x;
	return english;
}

/* The interpreter that the log names: "of binary: /usr/bin/python3.11", or a frame below <prefix>/lib/python3.11/. NULL: none that is here.
 */
static const char *interpreter_in(struct cli *c, struct host *door, struct str text)
{
	size_t at = str_find(text, " of binary: /", 0);
	if (at != SIZE_MAX) {
		struct str path = str_skip(text, at + 12);
		size_t end = str_find_char(path, ' ', 0);
		const char *name = str_dup(c->arena, str_slice(path, 0, end));
		return host_exists(door, name) ? name : NULL;
	}
	at = str_find(text, "/lib/python3", 0);
	size_t start = at == SIZE_MAX ? 0 : at;
	while (start > 0 && !strchr(" \"'(", text.ptr[start - 1]))
		start--;
	if (at == SIZE_MAX || start == at || text.ptr[start] != '/')
		return NULL;
	const char *name = arena_printf(c->arena, "%.*s/bin/python3", (int)(at - start), text.ptr + start);
	return host_exists(door, name) ? name : NULL;
}

static const char *interpreter_of_log(struct explaining *x, struct host *door)
{
	const char *name = NULL;
	for (size_t i = 0; i < x->logs->event_count && !name; i++)
		name = interpreter_in(x->c, door, str_of(x->logs->event[i]->text));
	return name;
}

/* With --here, --root or --from: that machine's facts beside those that the input holds. 0, or an exit status that was said. */
static int add_machine(struct explaining *x)
{
	int status = 0;
	struct host *door = x->c->door ? x->c->door : cli_door(x->c, &status);
	if (!door)
		return status;
	status = cli_check_python(x->c, door);
	if (status)
		return status;
	struct collect collect = {.host = door,
		.facts = x->facts,
		.arena = x->c->arena,
		.python = x->c->options.python ? x->c->options.python : interpreter_of_log(x, door),
		.backend = x->c->options.backend};
	collect_all(&collect, NULL);
	return 0;
}

static void set_purpose(struct explaining *x)
{
	if (x->facts->first[TABLE_purpose])
		return;
	struct facts_row *row = facts_only(x->facts, TABLE_purpose);
	const struct logs_nccl *n = &x->logs->nccl;
	facts_text(row, purpose__reason, "log", "log");
	if (n->version_count || n->network || n->nranks_max > 0) { /* NCCL itself speaks */
		const char *vendor = x->facts->first[TABLE_gpu] ? facts_get_text(x->facts->first[TABLE_gpu], gpu__vendor) : NULL;
		facts_text(row, purpose__backend, "nccl", "log");
		if (vendor)
			facts_text(row, purpose__accelerator, vendor, "log");
		if (n->nodes_max > 0)
			facts_int(row, purpose__nodes, n->nodes_max, "log");
	}
	if (x->logs->nccl.nranks_max > 0)
		facts_int(row, purpose__ranks, x->logs->nccl.nranks_max, "log");
	else if (x->logs->rank_count > 1)
		facts_int(row, purpose__ranks, (int64_t)x->logs->rank_count, "log");
}

/* Everything that the sources hold, as events and facts. 0 or an exit status that was said. */
static int read_all(struct explaining *x)
{
	struct cli *c = x->c;
	const char *why = NULL;
	x->facts = facts_new(c->arena);
	x->next = 0;
	x->logs = logs_new(x->patterns, x->pattern_count, x->trigger, x->triggers, &why);
	if (!x->logs)
		return cli_fail(c, EXIT_DEFECT, "%s", why ? why : "patterns");
	x->logs->unwrap = x->unwrap;
	sources_take_dumps(&x->sources, x->logs);
	for (size_t i = 0; i < x->sources.count; i++)
		x->sources.source[i].number = logs_add_file(x->logs, x->sources.source[i].name);
	scan_all(x);
	bool first = x->unwrap == UNWRAP_SURE;
	int rc = first ? sources_report(c, &x->sources) : 0;
	if (first)
		report_problems(x);
	if (!rc)
		rc = nothing_to_read(x);
	if (rc)
		return rc;
	logs_to_facts(x->logs, x->facts);
	flight_to_facts(x->sources.flight, x->facts);
	logs_dispatch(x->logs, x->trigger, on_trigger, x);
	if (c->options.here || c->options.root || c->options.from)
		rc = add_machine(x);
	set_purpose(x);
	return rc;
}

static int judge_all(struct explaining *x)
{
	struct cli *c = x->c;
	int rc = store_load(x->store, x->facts);
	if (rc < 0)
		return cli_fail(c, EXIT_DEFECT, cli_tr(c, "facts could not be stored: %s", "事实无法入库：%s"), strerror(-rc));
	struct judge judge = {.arena = c->arena,
		.store = x->store,
		.facts = x->facts,
		.mode = JUDGE_EXPLAIN,
		.chinese = c->chinese,
		.only = c->options.only};
	rc = cli_only(c, &judge);
	if (rc)
		return rc;
	judge_derive(&judge);
	judge_run(&judge, &x->judgement);
	x->judgement.failed |= strcmp(c->command->name, "run") == 0; /* it is asked only after the command failed */
	x->judgement.partly_read = is_partly_read(x->logs);
	if (x->judgement.verdict == VERDICT_CLEAN && x->judgement.partly_read)
		x->judgement.verdict = VERDICT_UNKNOWN;
	else if (x->judgement.verdict == VERDICT_UNKNOWN && !x->judgement.fails)
		x->judgement.ask = questions(x);
	return 0;
}

static int show(struct explaining *x)
{
	struct cli *c = x->c;
	struct report r = cli_report(c, &x->judgement, x->facts);
	struct json_extra extra = {write_log_members, x};
	r.extra = &extra;
	r.event_line = further_line;
	r.event_line_arg = x;
	const char *nccl = nccl_line(x);
	r.headline = nccl && !x->judgement.fails ? arena_printf(c->arena, "%s\n%s", headline(x), nccl) : headline(x);
	if ((c->options.timeline || c->options.all) && !c->options.json) {
		struct buf out = BUF_MAX((size_t)64 << 20);
		if (c->options.all)
			timeline_all(c, x->facts, &out);
		else
			timeline_in_order(c, x->facts, &out);
		cli_print(&out, 0);
		buf_free(&out);
	}
	return cli_render(c, &r);
}

static void forget(struct explaining *x)
{
	logs_free(x->logs);
	store_close(x->store);
	x->logs = NULL;
	x->store = NULL;
}

void cli_read_logs(struct cli *c, struct store *knowledge, struct facts *facts, const struct cli_log *log, size_t n)
{
	struct explaining x = {.c = c, .facts = facts, .store = knowledge};
	const char *why = NULL;
	x.pattern_count = read_patterns(c, knowledge, &x.patterns);
	read_triggers(&x);
	x.logs = logs_new(x.patterns, x.pattern_count, x.trigger, x.triggers, &why);
	if (!x.logs)
		return;
	for (size_t i = 0; i < n; i++)
		logs_scan_text(x.logs, logs_add_file(x.logs, log[i].name), 1, log[i].text.ptr, log[i].text.len);
	logs_finish(x.logs);
	logs_to_facts(x.logs, facts);
	logs_dispatch(x.logs, x.trigger, on_trigger, &x);
	logs_free(x.logs);
}

static bool is_clear_fault(const struct judgement *j)
{
	return j->fails && j->findings->status == STATUS_FAIL && j->findings->certainty != POSSIBLE;
}

/* Names a kind of failure more than a cause: a better reading may know more. */
static bool is_vague(const struct judgement *j)
{
	static const char *const vague[] = {"program.exception", "program.rank-crashed", "library.undefined-symbol"};
	for (size_t i = 0; i < sizeof vague / sizeof vague[0]; i++)
		if (j->fails && strcmp(j->findings->cause, vague[i]) == 0)
			return true;
	return false;
}

/* --follow: is the cause clear by now? Everything is read afresh, in memory of its own: that is rare, and then what is said is what
 * `explain` says later. */
static bool is_clear(void *arg, bool at_end, int *ret_status)
{
	struct explaining *x = arg;
	struct arena *whole = x->c->arena;
	x->c->arena = arena_new(0);
	if (!x->store)
		x->store = cli_knowledge(x->c);
	*ret_status = x->store ? read_all(x) : EXIT_DEFECT;
	if (!*ret_status)
		*ret_status = judge_all(x);
	bool speak = *ret_status || at_end || is_clear_fault(&x->judgement);
	if (speak && !*ret_status)
		*ret_status = show(x);
	forget(x);
	arena_free(x->c->arena);
	x->c->arena = whole;
	x->line = NULL; /* lay in that memory */
	x->line_cap = 0;
	return speak;
}

/* A short report may be wrapped in one place only, which nothing proves. Where it gave no answer, it is read again with such lines joined,
 * and that counts if it gives one. */
static int read_again(struct explaining *x, enum unwrap_way way)
{
	struct logs *logs = x->logs;
	struct store *store = x->store;
	struct facts *facts = x->facts;
	struct judgement judgement = x->judgement;
	x->unwrap = way;
	x->store = cli_knowledge(x->c);
	x->judgement = (struct judgement){0};
	int rc = x->store ? read_all(x) : EXIT_DEFECT;
	if (!rc)
		rc = judge_all(x);
	if (!rc && is_clear_fault(&x->judgement) && !is_vague(&x->judgement)) {
		logs_free(logs);
		store_close(store);
		return 0;
	}
	if (!rc)
		forget(x);
	x->logs = logs;
	x->store = store;
	x->facts = facts;
	x->judgement = judgement;
	return rc;
}

static void take_texts(struct explaining *x, const struct explain_text *text, size_t n)
{
	struct cli *c = x->c;
	x->sources = (struct sources){.host = c->host, .flight = flight_new(c->arena), .arena = c->arena, .count = n};
	pthread_mutex_init(&x->sources.door, NULL);
	x->sources.source = arena_array(c->arena, n, sizeof *x->sources.source);
	for (size_t i = 0; i < n; i++)
		x->sources.source[i] = (struct source_file){.name = text[i].name, .fd = -1, .text = text[i].text};
}

int explain_texts(struct cli *c, const struct explain_text *text, size_t n, struct buf *out, struct judgement *ret)
{
	struct explaining x = {.c = c};
	*ret = (struct judgement){.verdict = VERDICT_UNKNOWN};
	x.store = cli_knowledge(c);
	if (!x.store)
		return EXIT_DEFECT;
	take_texts(&x, text, n);
	x.pattern_count = read_patterns(c, x.store, &x.patterns);
	read_triggers(&x);
	int rc = read_all(&x);
	if (!rc)
		rc = judge_all(&x);
	if (!rc && x.judgement.verdict != VERDICT_CLEAN) {
		struct report r = cli_report(c, &x.judgement, x.facts);
		r.command = "explain";
		c->options.quiet ? report_quiet(&r, out) : report_terminal(&r, out);
	}
	if (!rc)
		*ret = x.judgement;
	forget(&x);
	return rc;
}

int cli_explain(struct cli *c)
{
	static const char *const standard_input[] = {"-", NULL};
	struct explaining x = {.c = c};
	if (!c->arg_count && isatty(STDIN_FILENO))
		return cli_fail(c, EXIT_USAGE, "%s",
			cli_tr(c, "name a log, a folder of logs, or - for standard input",
				"请指定日志文件、日志目录，或用 - 表示标准输入"));
	if (c->options.here + !!c->options.root + !!c->options.from > 1)
		return cli_fail(
			c, EXIT_USAGE, "%s", cli_tr(c, "of --here, --root and --from name one", "--here、--root、--from 只能选一个"));
	if (c->options.python && !c->options.here && !c->options.root && !c->options.from)
		return cli_fail(c, EXIT_USAGE, "%s",
			cli_tr(c, "--python is of the machine that --here or --root names", "--python 须与 --here 或 --root 一起使用"));
	int rc = sources_expand(
		c, c->arg_count ? c->args : (const char **)(uintptr_t)standard_input, c->arg_count ? c->arg_count : 1, &x.sources);
	if (rc)
		return rc;
	x.store = cli_knowledge(c);
	if (!x.store)
		return EXIT_DEFECT;
	x.pattern_count = read_patterns(c, x.store, &x.patterns);
	read_triggers(&x);
	if (c->options.follow)
		return follow(c, &x.sources, x.patterns, x.pattern_count, is_clear, &x);
	rc = read_all(&x);
	if (!rc)
		rc = judge_all(&x);
	for (int way = UNWRAP_AT_WIDTH; way <= UNWRAP_AT_WORDS && !rc && x.logs->doubtful && !flight_count(x.sources.flight) &&
		(!is_clear_fault(&x.judgement) || is_vague(&x.judgement));
		way++)
		rc = read_again(&x, (enum unwrap_way)way);
	if (!rc)
		rc = show(&x);
	forget(&x);
	return rc;
}
