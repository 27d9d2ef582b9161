/* From candidates to the root: this is the heart. The rules, in the order they are applied:
 *
 *   merge     candidates of one cause become one finding: the strongest certainty, all evidence, all ranks.
 *   survived  what stands in a log before the run ended well, and had no consequence, is a warning and no fault.
 *   told      what an article, a change log or a request for a feature quotes is a warning, when nothing beside it looks like the log of a
 * run. doubt     one symptom, several causes: when one of them is likely or certain, the merely possible ones go. ground    on a machine,
 * what stands on a missing ground is not reached: no PyTorch with CUDA, no companions to judge. fold      a finding that another one
 * explains (declared in the cause) lies folded under it. yield     after live tests, "it failed" lies folded under whatever says why. order
 * fail before warn before info; certain before likely before possible; what a log shows before what facts alone suggest; in logs the
 * earliest evidence; among facts the earlier stage of the map, because the later ones stand on it.
 */
#include "judge/evaluate.h"

/* Stages that cannot be judged when the ground has failed. */
static const struct {
	const char *stage, *ground;
} grounds[] = {{"gpu", "driver"}, {"p2p", "driver"}, {"companion", "torch"}, {"library", "torch"}};

/* -- what a cause explains ---------------------------------------------------------------------------------------------- */

static const char *explains_of(struct judge *j, const char *cause)
{
	struct store_query *q;
	const char *text = NULL;
	if (store_prepare(j->store, "SELECT explains FROM cause WHERE id=?", &q, NULL) < 0)
		return NULL;
	store_bind_text(q, 1, cause);
	if (store_step(q) > 0 && store_text(q, 0))
		text = arena_strdup(j->arena, store_text(q, 0));
	store_finish(q);
	return text;
}

static bool has_line(const char *lines, const char *wanted)
{
	struct str rest = lines ? str_of(lines) : str_n("", 0), line;
	while (wanted && str_next_line(&rest, &line))
		if (str_is(line, wanted))
			return true;
	return false;
}

/* -- merge -------------------------------------------------------------------------------------------------------------- */

/* Is a's log line the earlier one? By clock where both have one, else by reading order. */
static bool earlier(const struct finding *a, const struct finding *b)
{
	if (a->time >= 0 && b->time >= 0 && a->time != b->time)
		return a->time < b->time;
	return a->first_seq < b->first_seq;
}

static void add_rank(struct judge *j, struct finding *f, int64_t rank)
{
	if (rank < 0)
		return;
	for (size_t i = 0; i < f->rank_count; i++)
		if (f->ranks[i] == rank)
			return;
	int64_t *fresh = arena_array(j->arena, f->rank_count + 1, sizeof *fresh);
	if (f->rank_count)
		memcpy(fresh, f->ranks, f->rank_count * sizeof *fresh);
	fresh[f->rank_count++] = rank;
	f->ranks = fresh;
}

static bool same_evidence(const struct evidence *a, const struct evidence *b)
{
	if (a->fact || b->fact)
		return a->fact && b->fact && a->value == b->value;
	return a->line == b->line && a->text && b->text && strcmp(a->text, b->text) == 0;
}

static void join_evidence(struct finding *into, struct evidence *more)
{
	int n = 0;
	struct evidence **tail = &into->evidence;
	for (; *tail; tail = &(*tail)->next)
		n++;
	while (more && n < 12) {
		struct evidence *next = more->next;
		bool known = false;
		for (struct evidence *e = into->evidence; e; e = e->next)
			known |= same_evidence(e, more);
		if (!known) {
			more->next = NULL;
			*tail = more;
			tail = &more->next;
			n++;
		}
		more = next;
	}
}

/* Which of two candidates of one cause speaks: the more certain, then the one that the log shows, then the one whose rule says something.
 */
static bool speaks_before(const struct finding *a, const struct finding *b)
{
	if (a->status != b->status)
		return a->status < b->status;
	if (a->certainty != b->certainty)
		return a->certainty < b->certainty;
	bool log_a = a->first_seq >= 0, log_b = b->first_seq >= 0;
	if (log_a != log_b)
		return log_a;
	if (!a->says != !b->says)
		return a->says != NULL;
	return log_a && earlier(a, b);
}

/* What several rules found wrong, and what one rule found wrong several times, is one finding; only the latter is "more like it". */
static void join_candidates(struct finding *lead, struct finding *other)
{
	struct finding **tail = &other->also;
	while (*tail)
		tail = &(*tail)->next;
	*tail = lead->also;
	other->next = other->also;
	other->also = NULL;
	lead->also = other;
	lead->rows = 1;
	for (const struct finding *f = lead->also; f; f = f->next)
		lead->rows += lead->rule && f->rule && strcmp(f->rule, lead->rule) == 0;
}

static struct finding *merge(struct judge *j, struct finding *list)
{
	struct finding *merged = NULL, **tail = &merged;
	for (struct finding *f = list, *next; f; f = next) {
		next = f->next;
		f->next = NULL;
		struct finding **place = &merged;
		while (*place && strcmp((*place)->cause, f->cause) != 0)
			place = &(*place)->next;
		add_rank(j, f, f->rank);
		if (!*place) {
			*tail = f;
			tail = &f->next;
			continue;
		}
		struct finding *old = *place, *lead = speaks_before(f, old) ? f : old, *other = lead == f ? old : f;
		if (other->first_seq >= 0 && lead->first_seq >= 0 && earlier(other, lead)) {
			lead->first_seq = other->first_seq;
			if (other->time >= 0)
				lead->time = other->time;
			if (other->rank >= 0)
				lead->rank = other->rank;
		}
		if (lead->rank < 0)
			lead->rank = other->rank;
		if (!lead->node)
			lead->node = other->node;
		if (!lead->says)
			lead->says = other->says;
		lead->outlived &= other->outlived;
		for (size_t i = 0; i < other->rank_count; i++)
			add_rank(j, lead, other->ranks[i]);
		join_evidence(lead, other->evidence);
		if (lead == f) {
			f->next = old->next;
			*place = f;
			if (tail == &old->next)
				tail = &f->next;
		}
		join_candidates(lead, other);
	}
	return merged;
}

/* The only rank among the rows of a table that name this host; -1: none, -2: several. */
static int64_t only_rank_of(const struct facts_row *row, enum facts_column host_column, enum facts_column rank_column, const char *node)
{
	int64_t only = -1, rank;
	for (; row; row = row->next) {
		const char *host = facts_get_text(row, host_column);
		if (!host || strcmp(host, node) != 0 || !facts_get_int(row, rank_column, &rank) || rank < 0 || rank == only)
			continue;
		if (only >= 0)
			return -2;
		only = rank;
	}
	return only;
}

/* A line that names a host and no rank (kernel, launcher, scheduler) speaks of the rank of that host, when only one speaks there. */
static void rank_by_host(struct judge *j, struct finding *f)
{
	if (f->rank >= 0 || !f->node)
		return;
	int64_t only = only_rank_of(j->facts->first[TABLE_event], event__host, event__rank, f->node);
	if (only == -1)
		only = only_rank_of(j->facts->first[TABLE_speaker], speaker__host, speaker__rank, f->node);
	if (only < 0)
		return;
	f->rank = only;
	add_rank(j, f, only);
}

/* -- survived ----------------------------------------------------------------------------------------------------------- */

/* A line that tells of a failure; of this class where one is given. */
static bool has_failure(const struct judge *j, const char *wanted)
{
	bool fails;
	for (struct facts_row *event = j->facts->first[TABLE_event]; event; event = event->next) {
		const char *class = facts_get_text(event, event__class);
		if (class && (!wanted || strcmp(class, wanted) == 0) && facts_get_bool(event, event__failure, &fails) && fails)
			return true;
	}
	return false;
}

/* Where the last line of one of these patterns stands; -1 when there is none, or when something failed as well. */
static int64_t last_good(struct judge *j, const char *const *patterns, size_t count)
{
	int64_t end = -1;
	for (struct facts_row *event = j->facts->first[TABLE_event]; event; event = event->next) {
		const char *class = facts_get_text(event, event__class), *pattern = facts_get_text(event, event__pattern);
		int64_t seq;
		bool fails;
		if (class && strcmp(class, "consequence") == 0 && facts_get_bool(event, event__failure, &fails) && fails)
			return -1;
		if (pattern && strcmp(pattern, "run.hang") == 0)
			return -1;
		for (size_t i = 0; i < count && pattern; i++)
			if (strcmp(pattern, patterns[i]) == 0 && facts_get_int(event, event__seq, &seq) && seq > end)
				end = seq;
	}
	return end;
}

static void soften(struct finding *f)
{
	if (f->status == STATUS_FAIL && f->first_seq >= 0)
		f->status = STATUS_WARN;
}

static void soften_before(struct finding *f, int64_t end)
{
	if (f->status == STATUS_FAIL && f->first_seq >= 0 && f->first_seq < end)
		f->status = STATUS_WARN;
}

/* An attempt failed, the launcher started another, and what that one ended with is something else: the first is no fault beside it. */
static bool was_recovered(struct judge *j, const struct finding *f, const struct finding *list, int64_t restart)
{
	if (f->first_seq < 0 || f->first_seq > restart)
		return false;
	for (struct facts_row *event = j->facts->first[TABLE_event]; event; event = event->next) {
		const char *symptom = facts_get_text(event, event__symptom), *cause = facts_get_text(event, event__cause);
		bool same = (symptom && f->symptom && strcmp(symptom, f->symptom) == 0) || (cause && strcmp(cause, f->cause) == 0);
		int64_t seq, count;
		if (same && facts_get_int(event, event__seq, &seq) && facts_get_int(event, event__count, &count) &&
			(seq > restart || count > 1))
			return false;
	}
	for (const struct finding *g = list; g; g = g->next)
		if (g != f && g->status == STATUS_FAIL && g->certainty != POSSIBLE && g->first_seq > restart &&
			strcmp(g->cause, f->cause) != 0)
			return true;
	return false;
}

/* Where the launcher started the ranks again, the last time; -1: it did not. */
static int64_t last_restart(const struct judge *j)
{
	int64_t last = -1, seq;
	for (struct facts_row *event = j->facts->first[TABLE_event]; event; event = event->next) {
		const char *pattern = facts_get_text(event, event__pattern);
		if (pattern && strcmp(pattern, "elastic.restarting") == 0 && facts_get_int(event, event__seq, &seq))
			last = seq;
	}
	return last;
}

/* Hardware, networks and programs can be at fault though the run reaches its end. But a network over which NCCL then connected works, and
 * an exception after which a server still answers ended one request and no rank. */
static void soften_survived(struct judge *j, struct finding *list)
{
	static const char *const finished[] = {"run.finished"}, *const connected[] = {"nccl.init-complete"},
				 *const served[] = {"run.served"}, *const tests[] = {"run.tests-passed"},
				 *const restarts[] = {"elastic.restarting", "run.resumed"};
	int toolchain = stage_by_name("toolchain", 9), container = stage_by_name("container", 9), host = stage_by_name("host", 4),
	    network = stage_by_name("network", 7), launch = stage_by_name("launch", 6);
	if (j->mode != JUDGE_EXPLAIN)
		return;
	int64_t end = last_good(j, finished, 1), init = last_good(j, connected, 1), answer = last_good(j, served, 1);
	int companion = stage_by_name("companion", 9);
	/* Tests print the errors that they expect; and a group of workers that was restarted, and failed no more, has recovered. */
	bool failed = has_failure(j, NULL);
	int64_t recovered = failed ? -1 : last_good(j, restarts, 2), passed = last_good(j, tests, 1);
	int64_t restart = last_restart(j);
	for (struct finding *f = list; f; f = f->next) {
		if (restart >= 0 && was_recovered(j, f, list, restart))
			soften(f);
		/* A run that ended well was not kept from it by what its machine shows. */
		if (!failed && end >= 0 && f->first_seq < 0 && f->status == STATUS_FAIL)
			f->status = STATUS_WARN;
		soften_before(f, recovered);
		soften_before(f, passed);
		if (f->stage <= toolchain || f->stage == container || f->stage == host || f->stage == launch)
			soften_before(f, end);
		if (f->stage == network)
			soften_before(f, init);
		bool served_on = strcmp(f->cause, "program.exception") == 0 && answer >= 0;
		if (served_on)
			soften_before(f, answer);
		/* What was warned of at import is optional when steps follow; memory that one attempt lacked and that no rank reports was
		 * caught. */
		bool caught = f->stage == companion || (strcmp(f->cause, "program.gpu-out-of-memory") == 0 && f->rank < 0);
		if ((caught || served_on) && f->outlived)
			soften(f);
	}
}

/* -- told --------------------------------------------------------------------------------------------------------------- */

/* Does the text say of itself that it is an article, a change log, a patch, a solved question (patterns text.*), and does nothing in it
 * look like the log of a run? */
static bool is_about_something(struct judge *j)
{
	bool says_so = false;
	double time;
	int64_t rank;
	for (struct facts_row *event = j->facts->first[TABLE_event]; event; event = event->next) {
		const char *pattern = facts_get_text(event, event__pattern);
		if (!pattern)
			continue;
		if (strncmp(pattern, "text.", 5) == 0)
			says_so = true;
		else if (strcmp(pattern, "program.traceback") == 0 || facts_get_int(event, event__rank, &rank) ||
			facts_get_real(event, event__time, &time) || facts_get_text(event, event__host))
			return false;
	}
	return says_so;
}

static void soften_told(struct judge *j, struct finding *list)
{
	if (j->mode != JUDGE_EXPLAIN || !is_about_something(j))
		return;
	for (struct finding *f = list; f; f = f->next)
		if (f->status == STATUS_FAIL && f->first_seq >= 0)
			f->status = STATUS_WARN;
}

/* -- doubt, ground, fold ------------------------------------------------------------------------------------------------ */

static void remove_finding(struct finding **list, struct finding *f)
{
	while (*list && *list != f)
		list = &(*list)->next;
	if (*list)
		*list = f->next;
	f->next = NULL;
}

/* A possible cause whose symptom has a better one, or that stands beside an established fault, is no finding. */
static void drop_doubts(struct finding **list)
{
	for (struct finding *f = *list, *next; f; f = next) {
		next = f->next;
		if (f->certainty != POSSIBLE || f->status != STATUS_FAIL)
			continue;
		for (struct finding *g = *list; g; g = g->next) {
			bool better = g != f && g->status == STATUS_FAIL && g->certainty < POSSIBLE;
			if (better && g->symptom && f->symptom && strcmp(g->symptom, f->symptom) == 0) {
				remove_finding(list, f);
				break;
			}
		}
	}
}

static void apply_grounds(struct judge *j, struct finding **list, struct judgement *ret)
{
	bool failed[STAGE_COUNT] = {false};
	for (struct finding *f = *list; f; f = f->next)
		failed[f->stage] |= f->status == STATUS_FAIL;
	for (size_t i = 0; i < sizeof grounds / sizeof grounds[0]; i++) {
		int stage = stage_by_name(grounds[i].stage, strlen(grounds[i].stage)),
		    ground = stage_by_name(grounds[i].ground, strlen(grounds[i].ground));
		if (!failed[ground] || j->mode == JUDGE_EXPLAIN)
			continue;
		ret->stage[stage] = STAGE_NOT_REACHED;
		ret->stage_stands_on[stage] = ground;
		for (struct finding *f = *list, *next; f; f = next) {
			next = f->next;
			if (f->stage == stage && strcmp(f->table, "trial") != 0) /* what was tried was reached */
				remove_finding(list, f);
		}
	}
}

static void fold(struct judge *j, struct finding **list)
{
	for (struct finding *f = *list; f; f = f->next) {
		if (f->status != STATUS_FAIL || f->certainty == POSSIBLE)
			continue;
		const char *explains = explains_of(j, f->cause);
		for (struct finding *g = *list, *next; g; g = next) {
			next = g->next;
			if (g == f || g->status == STATUS_INFO || g->certainty < f->certainty || !has_line(explains, g->cause))
				continue;
			/* What is folded may explain f as well: then the certain or the earlier one stays. */
			if (g->certainty == f->certainty && has_line(explains_of(j, g->cause), f->cause) && g->first_seq >= 0 &&
				f->first_seq >= 0 && earlier(g, f))
				continue;
			remove_finding(list, g);
			struct finding **tail = &f->folded;
			while (*tail)
				tail = &(*tail)->next;
			*tail = g;
		}
	}
}

/* A cause that yields says only that something failed. Whatever else was found live, in a log or by a test, is why. */
static bool yields(struct judge *j, const char *cause)
{
	struct store_query *q;
	bool found = false;
	if (store_prepare(j->store, "SELECT yields FROM cause WHERE id=?", &q, NULL) < 0)
		return false;
	store_bind_text(q, 1, cause);
	if (store_step(q) > 0)
		found = store_int(q, 0) != 0;
	store_finish(q);
	return found;
}

static void fold_what_yields(struct judge *j, struct finding **list)
{
	struct finding *reason = NULL;
	for (struct finding *f = *list; f && !reason; f = f->next)
		if (f->status == STATUS_FAIL && f->certainty != POSSIBLE && (f->first_seq >= 0 || strcmp(f->table, "trial") == 0) &&
			!yields(j, f->cause))
			reason = f;
	for (struct finding *g = *list, *next; g && reason; g = next) {
		next = g->next;
		if (g->status == STATUS_INFO || g->status == STATUS_WARN || !yields(j, g->cause))
			continue;
		remove_finding(list, g);
		struct finding **tail = &reason->folded;
		while (*tail)
			tail = &(*tail)->next;
		*tail = g;
	}
}

/* -- order -------------------------------------------------------------------------------------------------------------- */

static bool before(const struct finding *a, const struct finding *b)
{
	static const int weight[] = {[STATUS_FAIL] = 0, [STATUS_UNKNOWN] = 1, [STATUS_WARN] = 2, [STATUS_INFO] = 3};
	if (weight[a->status] != weight[b->status])
		return weight[a->status] < weight[b->status];
	if (a->certainty != b->certainty)
		return a->certainty < b->certainty;
	bool log_a = a->first_seq >= 0, log_b = b->first_seq >= 0;
	if (log_a != log_b)
		return log_a;
	if (log_a && a->first_seq != b->first_seq)
		return earlier(a, b);
	return a->stage < b->stage;
}

static void sort(struct finding **list)
{
	struct finding *sorted = NULL;
	for (struct finding *f = *list, *next; f; f = next) {
		next = f->next;
		struct finding **place = &sorted;
		while (*place && !before(f, *place))
			place = &(*place)->next;
		f->next = *place;
		*place = f;
	}
	*list = sorted;
}

/* -- what goes away with a cause ------------------------------------------------------------------------------------------ */

static void count_explained(struct judge *j, struct finding *f)
{
	const char *explains = explains_of(j, f->cause);
	struct explained **tail = &f->explains;
	for (struct facts_row *event = j->facts->first[TABLE_event]; event; event = event->next) {
		const char *symptom = facts_get_text(event, event__symptom), *class = facts_get_text(event, event__class),
			   *cause = facts_get_text(event, event__cause);
		int64_t count = 1, line = 0;
		if (!symptom || !class || strcmp(class, "noise") == 0)
			continue;
		bool own = cause && strcmp(cause, f->cause) == 0 && strcmp(class, "evidence") == 0;
		if (own || !(has_line(explains, symptom) || (cause && has_line(explains, cause)) || strcmp(class, "consequence") == 0))
			continue;
		facts_get_int(event, event__count, &count);
		facts_get_int(event, event__line, &line);
		struct explained *e = f->explains;
		while (e && strcmp(e->symptom, symptom) != 0)
			e = e->next;
		if (e) {
			e->count += count;
			continue;
		}
		e = arena_alloc(j->arena, sizeof *e);
		*e = (struct explained){symptom, count, line, facts_get_text(event, event__file), NULL};
		*tail = e;
		tail = &e->next;
	}
}

/* -- verdict ------------------------------------------------------------------------------------------------------------ */

static void stages(struct judgement *ret, const struct stage_seen *seen)
{
	for (int i = 0; i < STAGE_COUNT; i++)
		if (ret->stage[i] != STAGE_NOT_REACHED)
			ret->stage[i] = seen[i].unknown_essential ? STAGE_UNKNOWN : seen[i].fine ? STAGE_FINE : STAGE_SILENT;
	for (struct finding *f = ret->findings; f; f = f->next) {
		enum stage_state *s = &ret->stage[f->stage];
		if (f->status == STATUS_FAIL)
			*s = STAGE_FAIL;
		else if (f->status == STATUS_UNKNOWN && *s != STAGE_FAIL)
			*s = STAGE_UNKNOWN;
		else if (f->status == STATUS_WARN && *s != STAGE_FAIL && *s != STAGE_UNKNOWN)
			*s = STAGE_WARN;
	}
}

static void decide(struct judge *j, struct judgement *ret, const struct stage_seen *seen)
{
	bool established = false, unknown = false;
	for (struct finding *f = ret->findings; f; f = f->next) {
		ret->fails += f->status == STATUS_FAIL;
		ret->warns += f->status == STATUS_WARN;
		ret->infos += f->status == STATUS_INFO;
		ret->unknowns += f->status == STATUS_UNKNOWN;
		established |= f->status == STATUS_FAIL && f->certainty != POSSIBLE;
	}
	for (int i = 0; i < STAGE_COUNT; i++)
		unknown |= seen[i].unknown_essential && ret->stage[i] == STAGE_UNKNOWN;
	if (j->mode == JUDGE_FLEET) {
		ret->verdict = ret->fails ? VERDICT_FAILED : VERDICT_CLEAN;
		return;
	}
	if (j->mode != JUDGE_EXPLAIN) {
		ret->verdict = ret->fails ? VERDICT_NOT_READY : unknown ? VERDICT_UNKNOWN : VERDICT_READY;
		return;
	}
	ret->failure_seen = has_failure(j, NULL) && !is_about_something(j);
	ret->failed = (ret->failure_seen && has_failure(j, "consequence")) || ret->fails;
	ret->verdict = established ? VERDICT_FAILED : ret->fails || ret->failure_seen ? VERDICT_UNKNOWN : VERDICT_CLEAN;
}

void causes_order(struct judge *j, struct candidates *c, const struct stage_seen *seen, struct judgement *ret)
{
	struct finding *list = merge(j, c->first);
	for (struct finding *f = list; f; f = f->next)
		rank_by_host(j, f);
	soften_survived(j, list);
	soften_told(j, list);
	drop_doubts(&list);
	apply_grounds(j, &list, ret);
	sort(&list);
	if (j->mode != JUDGE_CLUSTER && j->mode != JUDGE_FLEET) /* what one node has is no consequence of what another has */
		fold(j, &list);
	if (j->mode == JUDGE_TEST)
		fold_what_yields(j, &list);
	ret->findings = list;
	stages(ret, seen);
	decide(j, ret, seen);
	bool first = true;
	for (struct finding *f = list; f; f = f->next) {
		texts_fill(j, f);
		for (struct finding *g = f->folded; g; g = g->next)
			texts_fill(j, g);
		if (j->mode != JUDGE_CHECK && first && f->status == STATUS_FAIL)
			count_explained(j, f);
		first = false;
	}
}
