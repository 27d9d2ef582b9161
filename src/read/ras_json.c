/* The JSON form of ncclras (NCCL 2.28 and later): which ranks of a communicator are missing, and who has launched less than all others.
 *
 * Some releases leave out a comma, and what was pasted may be cut: so it is read token by token, not parsed as JSON. What is found becomes
 * rows of the table `event` with the patterns that the text form has (knowledge/patterns/ras.yaml), so that the same rules judge both.
 */
#include "read/fill.h"
#include "read/read.h"

#define RANKS_MAX 16384
#define DEPTH_MAX 32

struct member {
	int64_t rank, pid, launched; /* -1: not told */
	const char *host;
	bool missing, gone;
	size_t line;
};

struct parse {
	struct facts *f;
	const struct read_input *in;
	struct str level[DEPTH_MAX]; /* the key of each open bracket */
	size_t depth;
	struct str key;
	struct member *member, now;
	size_t count, cap, line;
	bool ours;
};

static void say(struct parse *p, const struct member *m, const char *pattern, const char *symptom, const char *text)
{
	struct facts_row *row = facts_add(p->f, TABLE_event);
	facts_text(row, event__pattern, pattern, NULL);
	facts_text(row, event__class,
		strcmp(pattern, "ras.ranks-at") == 0             ? "noise"
			: strcmp(pattern, "ras.incomplete") == 0 ? "consequence"
								 : "evidence",
		NULL);
	facts_bool(row, event__failure, strcmp(pattern, "ras.ranks-at") != 0, NULL);
	facts_text(row, event__symptom, symptom, NULL);
	facts_text(row, event__text, text, NULL);
	facts_text(row, event__file, p->in->file, NULL);
	facts_int(row, event__line, (int64_t)p->in->line[m->line].number, NULL);
	facts_int(row, event__seq, p->f->count[TABLE_event] - 1, NULL);
	facts_int(row, event__count, 1, NULL);
	facts_text(row, event__c_rank, arena_printf(p->f->arena, "%lld", (long long)m->rank), NULL);
	facts_text(row, event__c_host, m->host, NULL);
	if (m->launched >= 0)
		facts_text(row, event__c_seq, arena_printf(p->f->arena, "%lld", (long long)m->launched), NULL);
	if (m->pid >= 0)
		facts_text(row, event__c_pid, arena_printf(p->f->arena, "%lld", (long long)m->pid), NULL);
}

static const char *member_text(struct parse *p, const struct member *m, const char *what)
{
	return arena_printf(p->f->arena, "\"rank\": %lld, \"host\": \"%s\", \"pid\": %lld: %s", (long long)m->rank, m->host ? m->host : "",
		(long long)m->pid, what);
}

/* One communicator is complete: who is missing, and who stands behind while all others stand at one number. A running job is never that
 * even. */
static void judge_ranks(struct parse *p)
{
	int64_t most = -1;
	size_t at_most = 0, behind = 0, present = 0;
	for (size_t i = 0; i < p->count; i++)
		most = !p->member[i].missing && p->member[i].launched > most ? p->member[i].launched : most;
	for (size_t i = 0; i < p->count; i++) {
		const struct member *m = &p->member[i];
		present += !m->missing && m->launched >= 0;
		at_most += !m->missing && m->launched == most;
		if (m->missing) {
			say(p, m, "ras.rank-missing", "ras.missing",
				member_text(p, m, m->gone ? "missing, considered dead or unresponsive" : "missing"));
			say(p, m, "ras.incomplete", "ras.incomplete", "\"missing_ranks\"");
		}
	}
	behind = present - at_most;
	for (size_t i = 0; i < p->count && behind && behind * 4 <= present + 2; i++) {
		const struct member *m = &p->member[i];
		if (m->missing || m->launched < 0)
			continue;
		if (m->launched < most)
			say(p, m, "ras.rank-at", "ras.outlier",
				member_text(p, m, arena_printf(p->f->arena, "%lld collectives", (long long)m->launched)));
		else if (at_most-- == present - behind)
			say(p, m, "ras.ranks-at", "ras.counts",
				member_text(p, m, arena_printf(p->f->arena, "%lld collectives", (long long)m->launched)));
	}
	p->count = 0;
}

static bool is_level(const struct parse *p, size_t up, const char *name)
{
	return p->depth > up && str_is(p->level[p->depth - 1 - up], name);
}

static void open_bracket(struct parse *p)
{
	if (p->depth < DEPTH_MAX)
		p->level[p->depth] = p->key;
	p->depth += p->depth < DEPTH_MAX;
	p->key = str_n("", 0);
	if (is_level(p, 1, "ranks") || is_level(p, 1, "missing_ranks"))
		p->now = (struct member){
			.rank = -1, .pid = -1, .launched = -1, .missing = is_level(p, 1, "missing_ranks"), .line = p->line};
	p->ours |= is_level(p, 0, "communicators");
}

static void close_bracket(struct parse *p)
{
	bool rank = is_level(p, 1, "ranks") || is_level(p, 1, "missing_ranks"), communicator = is_level(p, 1, "communicators");
	if (rank && p->now.rank >= 0 && p->count < RANKS_MAX) {
		p->member = arena_grow(p->f->arena, p->member, p->count, &p->cap, sizeof *p->member);
		p->member[p->count++] = p->now;
	}
	if (communicator)
		judge_ranks(p);
	p->depth -= p->depth > 0;
}

static void value(struct parse *p, struct str v)
{
	int64_t n;
	bool number = str_to_int(v, &n) == 0 && n >= 0;
	if (str_is(p->key, "rank") && number)
		p->now.rank = n;
	else if (str_is(p->key, "pid") && number)
		p->now.pid = n;
	else if (str_is(p->key, "host") && v.len < 256)
		p->now.host = str_dup(p->f->arena, v);
	else if ((str_is(p->key, "unresponsive") || str_is(p->key, "considered_dead")) && str_is(v, "true"))
		p->now.gone = true;
	else if (is_level(p, 0, "collective_counts") && number && n < INT64_MAX / 64)
		p->now.launched = (p->now.launched < 0 ? 0 : p->now.launched) + n;
	p->key = str_n("", 0);
}

/* One line of it: keys, values, brackets. False when the JSON has ended. */
static bool take_line(struct parse *p, struct str s)
{
	for (size_t i = 0; i < s.len;) {
		char c = s.ptr[i];
		if (c == '{' || c == '[') {
			open_bracket(p);
			i++;
		} else if (c == '}' || c == ']') {
			close_bracket(p);
			i++;
			if (!p->depth)
				return false;
		} else if (c == '"') {
			size_t end = str_find_char(s, '"', i + 1), after;
			if (end == SIZE_MAX)
				return true;
			struct str text = str_slice(s, i + 1, end);
			for (after = end + 1; after < s.len && s.ptr[after] == ' '; after++)
				;
			i = end + 1;
			if (after < s.len && s.ptr[after] == ':')
				p->key = text;
			else
				value(p, text);
		} else if (c == ' ' || c == '\t' || c == ',' || c == ':') {
			i++;
		} else {
			size_t end = i;
			while (end < s.len && !strchr(" \t,]}{[\"", s.ptr[end]))
				end++;
			value(p, str_slice(s, i, end));
			i = end > i ? end : i + 1;
		}
	}
	return true;
}

static size_t read_ras(const struct read_input *in, struct facts *f)
{
	struct parse p = {.f = f, .in = in};
	size_t i = 0;
	struct str command;
	/* The trigger stands inside the outermost object. */
	p.level[p.depth++] = str_n("", 0);
	for (; i < in->count; i++) {
		struct str line = in->line[i].text;
		if (i == 0) {
			size_t at = str_find(line, "\"communicators\"", 0);
			if (at == SIZE_MAX)
				return 0;
			line = str_skip(line, at);
		} else if (read_prompt(line, &command)) {
			break;
		}
		p.line = i;
		if (!take_line(&p, line))
			break;
	}
	if (p.count)
		judge_ranks(&p); /* cut */
	return p.ours ? i + (i < in->count) : 0;
}

static const char *const ras_triggers[] = {"\"communicators\":", NULL};
const struct reader read_ras_json_reader = {"ncclras -f json", ras_triggers, read_ras};
