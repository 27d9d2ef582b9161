#include "act/history.h"

#include <errno.h>

#include "act/history_diff.h"
#include "base/thread.h"
#include "facts/ledger.h"
#include "host/state.h"
#include "parse/sha256.h"
#include "parse/unpack.h"

#define VERSION 1
#define SNAPSHOT_TEXT_MAX ((size_t)16 << 20)
#define JOIN_MS ((int64_t)24 * 3600 * 1000) /* a rank joins an attempt that began this long ago at most */

static const char schema[] =
	"CREATE TABLE attempt(id INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL, seq INTEGER NOT NULL, node TEXT, started_ms INTEGER, launcher TEXT, world INTEGER, cwd TEXT, subject TEXT, command TEXT, note TEXT,"
	" davy TEXT, snapshot TEXT, since INTEGER, changes INTEGER, changed TEXT, speaker INTEGER, UNIQUE(job, seq));"
	"CREATE INDEX attempt_cwd ON attempt(cwd, id);"
	"CREATE TABLE rank(attempt INTEGER NOT NULL, rank INTEGER NOT NULL, local_rank INTEGER, pid INTEGER, began INTEGER, boot TEXT, started_ms INTEGER, ended_ms INTEGER, outcome TEXT, status INTEGER, signal INTEGER,"
	" cause TEXT, certainty TEXT, stage TEXT, title TEXT, says TEXT, evidence TEXT, log TEXT, log_bytes INTEGER, log_left_out INTEGER, PRIMARY KEY(attempt, rank)) WITHOUT ROWID;"
	"CREATE TABLE snapshot(hash TEXT PRIMARY KEY, text BLOB) WITHOUT ROWID;";

struct history_place history_place(struct arena *a, struct host *h)
{
	struct history_place p = {0};
	if (host_state_folder(h, &p.folder) < 0)
		return p;
	p.file = arena_printf(a, "%s/history.sqlite", p.folder);
	p.logs = arena_printf(a, "%s/logs", p.folder);
	return p;
}

int history_open(const struct history_place *place, bool write, struct ledger **ret)
{
	int rc = place->folder ? 0 : -ENOENT;
	if (rc == 0 && write)
		rc = host_state_make(place->logs);
	if (rc == 0)
		rc = host_state_look(
			place->file, write); /* a pipe would hold SQLite for ever, and it knows one error for all that cannot be opened */
	return rc < 0 ? rc : ledger_open(place->file, write, schema, VERSION, ret);
}

/* -- tasks --------------------------------------------------------------------------------------------------------------- */

struct history_task {
	pthread_mutex_t lock;
	pthread_cond_t done;
	pthread_t thread;
	bool ended;
	void (*fn)(void *);
	void *arg;
};

static void *run_task(void *arg)
{
	struct history_task *t = arg;
	t->fn(t->arg);
	pthread_mutex_lock(&t->lock);
	t->ended = true;
	pthread_cond_signal(&t->done);
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

struct history_task *history_begin_task(void (*fn)(void *), void *arg)
{
	struct history_task *t = calloc(1, sizeof *t);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	if (t) {
		t->fn = fn;
		t->arg = arg;
		pthread_mutex_init(&t->lock, NULL);
		pthread_cond_init(&t->done, &monotonic);
	}
	pthread_condattr_destroy(&monotonic);
	if (t && thread_start(&t->thread, run_task, t) == 0)
		return t;
	free(t);
	fn(arg);
	return NULL;
}

bool history_wait(struct history_task *t, int deadline_ms)
{
	struct timespec until;
	if (!t)
		return true;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += deadline_ms / 1000;
	until.tv_nsec += (long)(deadline_ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&t->lock);
	while (!t->ended && pthread_cond_timedwait(&t->done, &t->lock, &until) != ETIMEDOUT)
		;
	bool ended = t->ended;
	pthread_mutex_unlock(&t->lock);
	if (!ended)
		return false; /* it and what it uses stay as they are until the process ends */
	pthread_join(t->thread, NULL);
	free(t);
	return true;
}

bool history_in_time(void (*fn)(void *), void *arg, int deadline_ms)
{
	return history_wait(history_begin_task(fn, arg), deadline_ms);
}

/* -- snapshots ----------------------------------------------------------------------------------------------------------- */

static int write_snapshot(struct ledger *l, const char *text, char hash[PARSE_SHA256_TEXT])
{
	struct str bytes = str_of(text);
	struct parse_source source = parse_source_of(&bytes);
	void *packed;
	size_t n;
	int rc = parse_sha256(&source, hash);
	if (rc == 0)
		rc = unpack_zstd_compress(bytes.ptr, bytes.len, &packed, &n);
	if (rc < 0)
		return rc;
	rc = ledger_run(l, "INSERT OR IGNORE INTO snapshot VALUES(?,?)", "tb", hash, str_n(packed, n));
	free(packed);
	return rc;
}

const char *history_read_snapshot(struct arena *a, struct ledger *l, const char *hash)
{
	struct ledger_query *q;
	struct buf out = BUF_MAX(SNAPSHOT_TEXT_MAX);
	const char *text = NULL;
	char chunk[16384];
	if (!hash || ledger_query(l, &q, "SELECT text FROM snapshot WHERE hash=?", "t", hash) < 0)
		return NULL;
	void *state = unpack_zstd.open();
	if (state && ledger_step(q) > 0) {
		struct str packed = ledger_bytes(q, 0);
		struct unpack_io io = {.in = packed.ptr, .in_n = packed.len, .in_ends = true};
		int rc = 0;
		while (rc == 0 && !out.truncated) {
			size_t before = io.in_n;
			io.out = chunk;
			io.out_n = sizeof chunk;
			rc = unpack_zstd.step(state, &io);
			buf_add(&out, chunk, sizeof chunk - io.out_n);
			if (rc == 0 && io.in_n == before && io.out_n == sizeof chunk)
				rc = -EBADMSG;
		}
		if (rc > 0)
			text = arena_strndup(a, buf_view(&out).ptr, out.len);
	}
	if (state)
		unpack_zstd.close(state);
	ledger_finish(q);
	buf_free(&out);
	return text;
}

/* -- writing ------------------------------------------------------------------------------------------------------------- */

/* What changed since the attempt before it in the same folder: of the same subject, else of any. */
static void compare_with_last(struct ledger *l, struct history_start *s)
{
	struct ledger_query *q;
	struct arena *a = arena_new(0);
	char *hash = NULL;
	if (ledger_query(l, &q,
		    "SELECT id, snapshot FROM attempt WHERE cwd IS ? AND snapshot IS NOT NULL ORDER BY subject IS ? DESC, id DESC LIMIT 1",
		    "tt", s->cwd, s->subject) == 0 &&
		ledger_step(q) > 0) {
		s->since = ledger_int(q, 0);
		hash = arena_strdup(a, ledger_text(q, 1));
	}
	ledger_finish(q);
	const char *before = hash ? history_read_snapshot(a, l, hash) : NULL;
	if (before) {
		size_t count;
		struct history_thing *things = history_compare(a, before, s->snapshot, NULL, &count);
		s->changes = (int)count;
		history_thing_names(things, s->changed, sizeof s->changed);
	}
	arena_free(a);
}

static int new_attempt(struct ledger *l, struct history_start *s, int64_t seq)
{
	char hash[PARSE_SHA256_TEXT] = "";
	int rc = 0;
	if (s->snapshot) {
		compare_with_last(l, s);
		rc = write_snapshot(l, s->snapshot, hash);
	}
	if (rc == 0)
		rc = ledger_run(l,
			"INSERT INTO attempt(job, seq, node, started_ms, launcher, world, cwd, subject, command, note, davy, snapshot, since, changes, changed) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,nullif(?,0),?,?)",
			"tititittttttiit", s->job, seq, s->node, s->started_ms, s->launcher, s->world, s->cwd, s->subject, s->command,
			s->note, DAVY_VERSION, s->snapshot ? hash : NULL, s->since, (int64_t)s->changes, s->changed);
	s->id = ledger_last_row(l);
	return rc;
}

/* The attempt of this job that has no such rank yet: ranks that a launcher starts one after the other in the same step make several
 * attempts. */
static int find_or_make(struct ledger *l, struct history_start *s)
{
	struct ledger_query *q;
	int64_t seq = 0;
	int rc = ledger_query(
		l, &q, "SELECT count(*) FROM rank r JOIN attempt a ON a.id = r.attempt WHERE a.job=? AND r.rank=?", "ti", s->job, s->rank);
	if (rc == 0 && (rc = ledger_step(q)) > 0)
		seq = ledger_int(q, 0);
	ledger_finish(q);
	if (rc < 0)
		return rc;
	rc = ledger_query(l, &q, "SELECT id, since, changes, changed FROM attempt WHERE job=? AND seq=? AND started_ms > ?", "tii", s->job,
		seq, s->started_ms - JOIN_MS);
	if (rc == 0 && (rc = ledger_step(q)) > 0) {
		s->id = ledger_int(q, 0);
		s->since = ledger_int(q, 1);
		s->changes = (int)ledger_int(q, 2);
		snprintf(s->changed, sizeof s->changed, "%s", ledger_text(q, 3) ? ledger_text(q, 3) : "");
	}
	ledger_finish(q);
	return rc < 0 ? rc : rc > 0 ? 0 : new_attempt(l, s, seq);
}

static void remove_log(const struct history_place *place, const char *name)
{
	static const char *const ends[] = {"", ".a", ".b"};
	char path[4096];
	for (size_t i = 0; name && !strchr(name, '/') && i < 3; i++)
		if ((size_t)snprintf(path, sizeof path, "%s/%s%s", place->logs, name, ends[i]) < sizeof path)
			host_state_remove(path);
}

/* Old attempts go, with their logs; then the oldest logs until the rest is small enough. */
static int prune(struct ledger *l, const struct history_place *place, int64_t now_ms)
{
	struct ledger_query *q;
	int64_t bytes = 0, oldest = now_ms - (int64_t)HISTORY_AGE_DAYS_MAX * 86400000;
	static const char old[] = "SELECT id FROM attempt WHERE started_ms < ?1 OR id <= (SELECT max(id) FROM attempt) - ?2";
	char sql[512];
	snprintf(sql, sizeof sql, "SELECT log FROM rank WHERE attempt IN (%s)", old);
	int rc = ledger_query(l, &q, sql, "ii", oldest, (int64_t)HISTORY_ATTEMPTS_MAX);
	bool any = false;
	while (rc == 0 && ledger_step(q) > 0) {
		remove_log(place, ledger_text(q, 0));
		any = true;
	}
	ledger_finish(q);
	if (rc == 0 && any) {
		snprintf(sql, sizeof sql, "DELETE FROM rank WHERE attempt IN (%s)", old);
		rc = ledger_run(l, sql, "ii", oldest, (int64_t)HISTORY_ATTEMPTS_MAX);
		snprintf(sql, sizeof sql, "DELETE FROM attempt WHERE id IN (%s)", old);
		if (rc == 0)
			rc = ledger_run(l, sql, "ii", oldest, (int64_t)HISTORY_ATTEMPTS_MAX);
		if (rc == 0)
			rc = ledger_exec(
				l, "DELETE FROM snapshot WHERE hash NOT IN (SELECT snapshot FROM attempt WHERE snapshot IS NOT NULL)");
	}
	if (rc == 0)
		rc = ledger_query(
			l, &q, "SELECT log, log_bytes FROM rank WHERE log IS NOT NULL AND log_bytes > 0 ORDER BY attempt DESC", "");
	while (rc == 0 && ledger_step(q) > 0) {
		bytes += ledger_int(q, 1);
		if (bytes > HISTORY_LOGS_BYTES_MAX)
			remove_log(place, ledger_text(q, 0));
	}
	ledger_finish(q);
	return rc;
}

static int write_start(struct ledger *l, struct history_start *s)
{
	int rc = find_or_make(l, s);
	if (rc == 0)
		rc = ledger_run(l,
			"INSERT INTO rank(attempt, rank, local_rank, pid, began, boot, started_ms, outcome, log) VALUES(?,?,?,?,?,?,?,'running',?)",
			"iiiiitit", s->id, s->rank, s->local_rank, s->pid, s->began, s->boot, s->started_ms, s->log);
	return rc < 0 ? rc : prune(l, &s->place, s->started_ms);
}

void history_write_start(void *start)
{
	struct history_start *s = start;
	struct ledger *l = NULL;
	s->id = 0;
	int rc = history_open(&s->place, true, &l);
	if (rc == 0)
		rc = ledger_begin(l);
	if (rc == 0) {
		rc = write_start(l, s);
		if (rc == 0)
			rc = ledger_commit(l);
		else
			ledger_rollback(l);
	}
	if (rc < 0)
		s->id = 0;
	s->error = rc;
	ledger_close(l);
}

void history_write_end(void *end)
{
	struct history_end *e = end;
	struct ledger *l = NULL;
	int rc = history_open(&e->place, true, &l);
	if (rc == 0)
		rc = ledger_run(l,
			"UPDATE rank SET ended_ms=?, outcome=?, status=?, signal=?, log_bytes=?, log_left_out=? WHERE attempt=? AND rank=?",
			"itiiiiii", e->ended_ms, e->outcome, e->status, e->signal, e->log_bytes, e->log_left_out, e->id, e->rank);
	e->error = rc;
	ledger_close(l);
}

void history_write_cause(void *cause)
{
	struct history_cause *c = cause;
	struct ledger *l = NULL;
	int rc = history_open(&c->place, true, &l);
	if (rc == 0)
		rc = ledger_run(l, "UPDATE rank SET cause=?, certainty=?, stage=?, title=?, says=?, evidence=? WHERE attempt=? AND rank=?",
			"ttttttii", c->cause, c->certainty, c->stage, c->title, c->says, c->evidence, c->id, c->rank);
	c->error = rc;
	ledger_close(l);
}

static int claim_it(struct ledger *l, struct history_claim *c)
{
	struct ledger_query *q;
	int rc = ledger_run(l, "UPDATE attempt SET speaker=? WHERE id=? AND speaker IS NULL", "ii", c->rank, c->id);
	if (rc < 0)
		return rc;
	c->mine = ledger_changes(l) > 0;
	rc = ledger_query(l, &q,
		"SELECT r.rank, r.cause FROM attempt a JOIN rank r ON r.attempt = a.id AND r.rank = a.speaker WHERE a.id=?", "i", c->id);
	if (rc == 0 && ledger_step(q) > 0) {
		c->by = ledger_int(q, 0);
		snprintf(c->cause, sizeof c->cause, "%s", ledger_text(q, 1) ? ledger_text(q, 1) : "");
	}
	ledger_finish(q);
	return 0;
}

void history_write_claim(void *claim)
{
	struct history_claim *c = claim;
	struct ledger *l = NULL;
	int rc = history_open(&c->place, true, &l);
	c->mine = true; /* whom nobody can tell otherwise, speaks */
	if (rc == 0)
		rc = claim_it(l, c);
	c->error = rc;
	ledger_close(l);
}

int history_set_note(struct ledger *l, int64_t id, const char *note)
{
	int rc = ledger_run(l, "UPDATE attempt SET note=? WHERE id=?", "ti", note, id);
	return rc < 0 ? rc : ledger_changes(l) ? 0 : -ENOENT;
}

/* -- reading ------------------------------------------------------------------------------------------------------------- */

static const char *copied(struct arena *a, struct ledger_query *q, int i)
{
	const char *text = ledger_text(q, i);
	return text ? arena_strdup(a, text) : NULL;
}

/* A rank without an end whose process is gone: its Davy was killed. Of another host or another boot nothing is known, but a reboot ends
 * all. */
static bool is_lost(struct host *h, const struct history_attempt *at, const struct history_rank *r, const char *boot)
{
	struct host_uname u = {0};
	int64_t began;
	if (host_uname(h, &u) < 0 || !at->node || strcmp(u.nodename, at->node) != 0)
		return false;
	if (r->boot && boot && strcmp(r->boot, boot) != 0)
		return true;
	return host_process_began(h, r->pid, &began) < 0 || began != r->began;
}

static int read_ranks(struct arena *a, struct host *h, struct ledger *l, struct history_attempt *at, const char *boot)
{
	struct ledger_query *q;
	size_t cap = 0;
	int rc = ledger_query(l, &q,
		"SELECT rank, local_rank, pid, began, boot, started_ms, ended_ms, outcome, status, signal, cause, certainty, stage, title, says, evidence, log, log_bytes, log_left_out FROM rank WHERE attempt=? ORDER BY rank",
		"i", at->id);
	if (rc < 0)
		return rc;
	while ((rc = ledger_step(q)) > 0) {
		if (!at->rank || at->rank_count == cap)
			at->rank = arena_grow(a, at->rank, at->rank_count, &cap, sizeof *at->rank);
		struct history_rank *r = &at->rank[at->rank_count++];
		*r = (struct history_rank){.rank = ledger_int(q, 0),
			.local_rank = ledger_int(q, 1),
			.pid = ledger_int(q, 2),
			.began = ledger_int(q, 3),
			.boot = copied(a, q, 4),
			.started_ms = ledger_int(q, 5),
			.ended_ms = ledger_int(q, 6),
			.outcome = copied(a, q, 7),
			.status = ledger_int(q, 8),
			.signal = ledger_int(q, 9),
			.cause = copied(a, q, 10),
			.certainty = copied(a, q, 11),
			.stage = copied(a, q, 12),
			.title = copied(a, q, 13),
			.says = copied(a, q, 14),
			.evidence = copied(a, q, 15),
			.log = copied(a, q, 16),
			.log_bytes = ledger_int(q, 17),
			.log_left_out = ledger_int(q, 18)};
		if (!r->outcome || (strcmp(r->outcome, "running") == 0 && is_lost(h, at, r, boot)))
			r->outcome = "lost";
	}
	ledger_finish(q);
	return rc;
}

/* Of several ranks the worst decides; among the failed ones who has a cause, a sure one first, then who ended first. */
static int badness(const struct history_rank *r)
{
	static const char *const order[] = {"ok", "lost", "running", "stopped", "not-started", "failed", "refused"};
	int n = 0;
	for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
		if (strcmp(r->outcome, order[i]) == 0)
			n = (int)i * 10;
	if (r->cause)
		n += r->certainty && strcmp(r->certainty, "certain") == 0 ? 3 : r->certainty && strcmp(r->certainty, "likely") == 0 ? 2 : 1;
	return n;
}

static void decide(struct history_attempt *at)
{
	static const struct history_rank none = {.rank = -1, .outcome = "lost"};
	at->decided = at->rank_count ? &at->rank[0] : &none;
	for (size_t i = 0; i < at->rank_count; i++) {
		const struct history_rank *r = &at->rank[i], *best = at->decided;
		if (badness(r) > badness(best) || (badness(r) == badness(best) && r->ended_ms && r->ended_ms < best->ended_ms))
			at->decided = r;
		at->ended_ms = r->ended_ms > at->ended_ms ? r->ended_ms : at->ended_ms;
	}
	at->outcome = at->decided->outcome;
	at->status = at->decided->status;
}

int history_read(struct arena *a, struct host *h, struct ledger *l, size_t limit, struct history_attempt **ret, size_t *ret_count)
{
	struct ledger_query *q;
	struct str boot = {0};
	size_t cap = 0;
	*ret = NULL;
	*ret_count = 0;
	const char *this_boot = host_linef(h, &boot, "/proc/sys/kernel/random/boot_id") == 0 ? str_dup(a, boot) : NULL;
	int rc = ledger_query(l, &q,
		"SELECT id, started_ms, world, since, changes, launcher, node, cwd, command, note, davy, snapshot, changed, subject FROM (SELECT * FROM attempt ORDER BY id DESC LIMIT ?) ORDER BY id",
		"i", (int64_t)(limit ? limit : (size_t)1 << 30));
	if (rc < 0)
		return rc;
	while ((rc = ledger_step(q)) > 0) {
		if (!*ret || *ret_count == cap)
			*ret = arena_grow(a, *ret, *ret_count, &cap, sizeof **ret);
		(*ret)[(*ret_count)++] = (struct history_attempt){.id = ledger_int(q, 0),
			.started_ms = ledger_int(q, 1),
			.world = ledger_int(q, 2),
			.since = ledger_int(q, 3),
			.changes = ledger_int(q, 4),
			.launcher = copied(a, q, 5),
			.node = copied(a, q, 6),
			.cwd = copied(a, q, 7),
			.command = copied(a, q, 8),
			.note = copied(a, q, 9),
			.davy = copied(a, q, 10),
			.snapshot_hash = copied(a, q, 11),
			.changed = copied(a, q, 12),
			.subject = copied(a, q, 13)};
	}
	ledger_finish(q);
	for (size_t i = 0; i < *ret_count && rc == 0; i++) {
		rc = read_ranks(a, h, l, &(*ret)[i], this_boot);
		decide(&(*ret)[i]);
	}
	return rc;
}
