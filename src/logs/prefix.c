#include "logs/prefix.h"

#include <ctype.h>
#include <math.h>

#define ROUNDS_MAX 16
#define HEAD_MAX 400 /* a prefix does not reach further */

struct cursor {
	const char *p, *end;
	struct prefix *out;
	struct prefix_names *names;
	uint64_t stream;
	bool inner;    /* a logger's prefix was taken: launchers' come no more */
	bool numbered; /* its line number was taken: a number behind it is a rank's */
	bool outer;    /* the last prefix was of a container's log: it is no part of the line */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool is_host_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-';
}

/* Digits at p: the number and the place behind them; NULL when there are none, or more than `max`. */
static const char *digits(const char *p, const char *end, int max, int64_t *ret)
{
	int64_t v = 0;
	int n = 0;
	for (; p < end && is_digit(*p); p++, n++) {
		if (n >= max)
			return NULL;
		v = v * 10 + (*p - '0');
	}
	if (n == 0)
		return NULL;
	*ret = v;
	return p;
}

static const char *spaces(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

static inline __attribute__((always_inline)) bool has(const char *p, const char *end, const char *text)
{
	size_t n = strlen(text); /* known to the compiler */
	return (size_t)(end - p) >= n && memcmp(p, text, n) == 0;
}

static void mix(struct cursor *c, const char *p, const char *q)
{
	uint64_t h = c->stream ? c->stream : 14695981039346656037u;
	for (; p < q; p++)
		h = (h ^ (unsigned char)*p) * 1099511628211u;
	c->stream = h;
}

/* -- names of hosts ------------------------------------------------------------------------------------------------------ */

static uint64_t name_hash(struct str s)
{
	uint64_t h = 14695981039346656037u;
	for (size_t i = 0; i < s.len; i++)
		h = (h ^ (unsigned char)s.ptr[i]) * 1099511628211u;
	return h | 1;
}

/* True when it was there already. A full table forgets the newcomer. */
static bool set_add(uint64_t *set, uint64_t h)
{
	for (size_t k = 0; k < 16; k++) {
		uint64_t *slot = &set[(h + k) & 511];
		if (*slot == h)
			return true;
		if (*slot == 0) {
			*slot = h;
			return false;
		}
	}
	return false;
}

static bool set_has(const uint64_t *set, uint64_t h)
{
	for (size_t k = 0; k < 16; k++)
		if (set[(h + k) & 511] == h)
			return true;
	return false;
}

static void know_host(struct cursor *c, struct str host)
{
	if (c->names && host.len)
		set_add(c->names->known, name_hash(host));
}

/* -- levels -------------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *word;
	char level;
} level_words[] = {
	{"INFO", 'I'},
	{"WARNING", 'W'},
	{"WARN", 'W'},
	{"ERROR", 'E'},
	{"DEBUG", 'D'},
	{"CRITICAL", 'F'},
	{"FATAL", 'F'},
	{"NOTICE", 'I'},
	{"TRACE", 'D'},
	{"EVENT", 'I'},
	{"info", 'I'},
	{"warning", 'W'},
	{"error", 'E'},
	{"debug", 'D'},
	{"DIAG", 'W'},
};

static char level_of(struct str s)
{
	if (s.len < 4 || s.len > 8 || !strchr("IWEDCFNTiwed", s.ptr[0]))
		return 0;
	for (size_t i = 0; i < sizeof(level_words) / sizeof(level_words[0]); i++)
		if (str_is(s, level_words[i].word))
			return level_words[i].level;
	return 0;
}

/* -- time ---------------------------------------------------------------------------------------------------------------- */

static int64_t days_since_1970(int64_t y, int64_t m, int64_t d)
{
	y -= m <= 2;
	int64_t era = y / 400, yoe = y - era * 400;
	int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

/* hh:mm:ss and a fraction. */
static const char *clock_time(const char *p, const char *end, double *ret)
{
	int64_t h, m, s;
	const char *q = digits(p, end, 2, &h);
	if (!q || q == end || *q != ':' || !(q = digits(q + 1, end, 2, &m)) || q == end || *q != ':' || !(q = digits(q + 1, end, 2, &s)))
		return NULL;
	if (h > 24 || m > 59 || s > 60)
		return NULL;
	double t = (double)(h * 3600 + m * 60 + s);
	if (q + 1 < end && (*q == '.' || *q == ',') && is_digit(q[1])) {
		double unit = 0.1;
		for (q++; q < end && is_digit(*q); q++, unit /= 10)
			t += unit * (*q - '0');
		if (q + 1 < end && *q == '.' && is_digit(q[1])) /* Ascend: milliseconds.microseconds */
			for (q++; q < end && is_digit(*q); q++)
				;
	}
	*ret = t;
	return q;
}

static int month_of(const char *p, const char *end)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	if (end - p < 3)
		return 0;
	for (int i = 0; i < 12; i++)
		if (memcmp(p, names + 3 * i, 3) == 0)
			return i + 1;
	return 0;
}

static const char *time_zone(const char *p, const char *end, double *t)
{
	int64_t h = 0, m = 0;
	if (p < end && *p == 'Z')
		return p + 1;
	if (p >= end || (*p != '+' && *p != '-') || end - p < 5 || !is_digit(p[1]) || !is_digit(p[2]))
		return p;
	bool colon = p[3] == ':';
	h = (p[1] - '0') * 10 + (p[2] - '0');
	const char *q = digits(p + 3 + colon, end, 2, &m);
	if (!q || q - (p + 3 + colon) != 2)
		return p;
	*t -= (*p == '+' ? 1 : -1) * (double)(h * 3600 + m * 60);
	return q;
}

/* 2025-06-02 08:01:55,123  2025/06/02T08:01:55Z  2024-01-01-10:00:00 */
static const char *full_date(const char *p, const char *end, double *ret)
{
	int64_t y, m, d;
	double t;
	const char *q = digits(p, end, 4, &y);
	if (!q || q - p != 4 || q == end || (*q != '-' && *q != '/'))
		return NULL;
	char separator = *q;
	q = digits(q + 1, end, 2, &m);
	if (!q || q == end || *q != separator || !(q = digits(q + 1, end, 2, &d)) || q == end)
		return NULL;
	if (m < 1 || m > 12 || d < 1 || d > 31 || y < 1970 || !strchr("T _-:", *q))
		return NULL;
	q = clock_time(q + 1, end, &t);
	if (!q)
		return NULL;
	t += (double)days_since_1970(y, m, d) * 86400;
	q = time_zone(q, end, &t);
	*ret = t;
	return q;
}

/* 01-02 03:04:05 (vLLM), and the year is not told. */
static const char *short_date(const char *p, const char *end, double *ret)
{
	int64_t m, d;
	double t;
	const char *q = digits(p, end, 2, &m);
	if (!q || q - p != 2 || q == end || (*q != '-' && *q != '/') || !(q = digits(q + 1, end, 2, &d)) || q == end || *q != ' ')
		return NULL;
	q = clock_time(q + 1, end, &t);
	if (!q || m < 1 || m > 12 || d < 1 || d > 31)
		return NULL;
	*ret = t + (double)days_since_1970(1970, m, d) * 86400;
	return q;
}

/* Jun  2 08:01:55,  Thu Apr  3 04:12:07 2025 */
static const char *named_date(const char *p, const char *end, double *ret)
{
	static const char days[] = "MonTueWedThuFriSatSun";
	int64_t d, y = 1970;
	double t;
	for (int i = 0; i < 7 && end - p > 4; i++)
		if (memcmp(p, days + 3 * i, 3) == 0 && p[3] == ' ') {
			p += 4;
			break;
		}
	int m = month_of(p, end);
	if (!m || end - p < 5 || p[3] != ' ')
		return NULL;
	const char *q = digits(spaces(p + 3, end), end, 2, &d);
	if (!q || q == end || *q != ' ' || d < 1 || d > 31)
		return NULL;
	q = clock_time(spaces(q, end), end, &t);
	if (!q)
		return NULL;
	const char *r = digits(spaces(q, end), end, 4, &y);
	if (r && y >= 1970 && (r == end || !is_word(*r)))
		q = r;
	else
		y = 1970;
	*ret = t + (double)days_since_1970(y, m, d) * 86400;
	return q;
}

static const char *any_time(const char *p, const char *end, double *ret)
{
	const char *q;
	if (p >= end || !isalnum((unsigned char)*p))
		return NULL;
	if (!is_digit(*p))
		return named_date(p, end, ret);
	if ((q = full_date(p, end, ret)) || (q = short_date(p, end, ret)))
		return q;
	q = clock_time(p, end, ret);
	return q && q - p >= 8 && (q == end || *q == ' ' || *q == ']') ? q : NULL;
}

static const char *separator(const char *p, const char *end)
{
	const char *q = spaces(p, end);
	if (end - q >= 2 && (*q == '|' || *q == '-' || *q == ':') && q[1] == ' ')
		return spaces(q + 1, end);
	if (has(q, end, ">> "))
		return q + 3;
	return q;
}

static bool take_time(struct cursor *c)
{
	double t;
	const char *q = any_time(c->p, c->end, &t);
	if (!q || (q < c->end && !strchr(" |:,-\t", *q)))
		return false;
	c->out->time = t;
	c->outer = q - c->p > 11 && c->p[10] == 'T' && q[-1] == 'Z'; /* as kubectl logs --timestamps and docker write it */
	c->p = separator(q, c->end);
	if (has(c->p, c->end, "stdout ") || has(c->p, c->end, "stderr ")) { /* CRI */
		const char *r = c->p + 7;
		if (c->end - r >= 2 && (*r == 'F' || *r == 'P') && r[1] == ' ')
			c->p = r + 2;
	}
	return true;
}

/* -- NCCL ---------------------------------------------------------------------------------------------------------------- */

static const char *nccl_level(const char *p, const char *end, char *ret)
{
	static const struct {
		const char *text;
		char level;
	} levels[] = {{"NCCL INFO ", 'I'}, {"NCCL WARN ", 'W'}, {"NCCL TRACE ", 'D'}, {"NCCL ABORT", 'F'}, {"NCCL CALL ", 'I'},
		{"NCCL DIAG ", 'W'}};
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (has(p, end, levels[i].text)) {
			*ret = levels[i].level;
			return p + strlen(levels[i].text);
		}
	return NULL;
}

/* host:pid:tid [dev] file:line (func) NCCL WARN */
static bool take_nccl(struct cursor *c)
{
	const char *p = c->p, *end = c->end;
	int64_t pid, tid, device = PREFIX_UNSET, line;
	char level;
	while (p < end && is_host_char(*p))
		p++;
	struct str host = str_n(c->p, (size_t)(p - c->p));
	if (host.len == 0 || host.len > 64 || p == end || *p != ':')
		return false;
	if (!(p = digits(p + 1, end, 10, &pid)) || p == end || *p != ':' || !(p = digits(p + 1, end, 10, &tid)) || p == end || *p != ' ')
		return false;
	p++;
	if (p < end && *p == '[') {
		bool minus = p + 1 < end && p[1] == '-';
		p = digits(p + 1 + minus, end, 4, &device);
		if (!p || end - p < 2 || p[0] != ']')
			return false;
		p = spaces(p + 1, end);
		device = minus ? PREFIX_UNSET : device;
	}
	const char *message = nccl_level(p, end, &level);
	if (!message) { /* file:line, perhaps (function) */
		const char *file = p;
		while (p < end && *p != ' ' && *p != ':')
			p++;
		c->out->component = str_n(file, (size_t)(p - file));
		if (p == end || *p != ':' || !(p = digits(p + 1, end, 6, &line)))
			return false;
		p = spaces(p, end);
		if (p < end && *p == '(')
			while (p < end && *p++ != ')')
				;
		p = spaces(p, end);
		message = nccl_level(p, end, &level);
		if (!message)
			return false;
	}
	c->out->host = host;
	c->out->pid = pid;
	c->out->tid = tid;
	c->out->device = device;
	c->out->level = level;
	c->out->source = PREFIX_NCCL;
	know_host(c, host);
	c->inner = true;
	/* NCCL's RAS threads are an extra that no job needs: their lines keep the file, so that a pattern can tell them from the job's own
	 * sockets. */
	c->p = str_starts(c->out->component, "ras/") ? c->out->component.ptr : message;
	return true;
}

/* -- glog and torch._logging --------------------------------------------------------------------------------------------- */

/* path:line], with the bracket; the path has no blanks. */
static const char *file_line(const char *p, const char *end, struct str *ret_file)
{
	const char *file = p, *colon = NULL;
	int64_t line;
	if (end - p > HEAD_MAX)
		end = p + HEAD_MAX;
	for (; p < end && *p != ' ' && *p != ']'; p++)
		if (*p == ':')
			colon = p;
	if (!colon || p == end || *p != ']')
		return NULL;
	const char *q = digits(colon + 1, end, 6, &line);
	if (q != p)
		return NULL;
	*ret_file = str_n(file, (size_t)(colon - file));
	return p + 1;
}

/* [E1122 03:04:05.123456789 ProcessGroupNCCL.cpp:632] or, without brackets and with a process, E1122 03:04:05.123000 4242 torch/x.py:7];
 * old: [W socket.cpp:464] */
static bool take_glog(struct cursor *c)
{
	const char *p = c->p, *end = c->end;
	bool bracket = p < end && *p == '[';
	int64_t date = 0, id = PREFIX_UNSET;
	double t = NAN;
	struct str file;
	p += bracket;
	if (end - p < 6 || !strchr("IWEFVC", *p))
		return false;
	char level = *p++ == 'V' ? 'D' : p[-1];
	if (is_digit(*p)) {
		const char *q = digits(p, end, 4, &date);
		if (!q || q - p < 3 || q == end || *q != ' ' || !(q = clock_time(q + 1, end, &t)) || q == end || *q != ' ')
			return false;
		const char *r = digits(spaces(q, end), end, 18, &id);
		p = r && r < end && *r == ' ' ? r + 1 : spaces(q, end);
	} else if (bracket && *p == ' ') {
		p++;
	} else {
		return false;
	}
	p = file_line(p, end, &file);
	if (!p)
		return false;
	c->out->component = file;
	c->out->level = level;
	if (date && date / 100 >= 1 && date / 100 <= 12)
		c->out->time = t + (double)days_since_1970(1970, date / 100, date % 100) * 86400;
	if (id > 0 && id < 1 << 23)
		c->out->pid = id;
	c->out->source = bracket ? PREFIX_GLOG : PREFIX_PYTHON;
	c->inner = true;
	c->p = spaces(p, end);
	return true;
}

/* -- brackets ------------------------------------------------------------------------------------------------------------ */

/* "rank3", "Rank 3", "RANK:3", "rank=3" and nothing else. */
static bool rank_text(struct str s, int64_t *ret)
{
	if (s.len < 5 || !str_is_nocase(str_slice(s, 0, 4), "rank"))
		return false;
	const char *p = s.ptr + 4, *end = s.ptr + s.len;
	if (*p == ' ' || *p == ':' || *p == '=' || *p == '_' || *p == '-')
		p++;
	p = digits(spaces(p, end), end, 7, ret);
	return p == end;
}

/* "PG ID 0 PG GUID 0(default_pg) Rank 3", "PG 1 (tp) Rank 3" */
static bool group_text(struct cursor *c, struct str s)
{
	size_t at = str_find(s, " Rank ", 0);
	int64_t r;
	if (!str_starts(s, "PG ") || at == SIZE_MAX)
		return false;
	const char *q = digits(s.ptr + at + 6, s.ptr + s.len, 7, &r);
	if (!q)
		return false;
	struct str id = str_slice(s, 3, at);
	size_t guid = str_find(id, "PG GUID ", 0);
	if (guid != SIZE_MAX)
		id = str_skip(id, guid + 8);
	size_t open = str_find_char(id, '(', 0);
	if (open != SIZE_MAX) {
		c->out->group_desc = str_slice(id, open + 1, str_rfind_char(id, ')'));
		id = str_trim(str_slice(id, 0, open));
	}
	c->out->group = id;
	c->out->group_rank = r;
	return true;
}

static bool all_host_chars(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!is_host_char(s.ptr[i]))
			return false;
	return s.len > 0;
}

static bool has_digit(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (is_digit(s.ptr[i]))
			return true;
	return false;
}

static bool has_alpha(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (isalpha((unsigned char)s.ptr[i]))
			return true;
	return false;
}

/* Programs and libraries speak in the same form: "python3: can't open file", "libfoo.so.1: cannot open". */
static bool is_speaker(struct str s)
{
	static const char *const starts[] = {"python", "pip", "gcc", "g++", "nvcc", "cc1", "lib", "x86_64", "aarch64", "cuda", "torch",
		"conda", "sm_", "compute_", "eth", "en", "ib", "mlx5", "docker", "lo", "bond", "veth", "br-", "wl", "GPU", "CUDA", "cu1",
		"line", "GLIBC", "sha256", "utf", "nccl", "ld", "bash", "hsn", "nvidia", "ptxas", "clang", "gfx"};
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (str_starts(s, starts[i]))
			return true;
	static const char *const ends[] = {
		".py", ".so", ".sh", ".cu", ".cpp", ".c", ".h", ".txt", ".whl", ".gz", "Error", "Exception", "Warning"};
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (str_ends(s, ends[i]))
			return true;
	return str_has(s, ".so.") || str_has(s, "..");
}

/* "worker-0", "node02:rank12", "node02:agent", "pod/name/container", "pod name": whose line it is. */
static bool launcher_text(struct cursor *c, struct str s)
{
	int64_t r;
	if (str_starts(s, "pod/") || str_starts(s, "pod ")) {
		struct str rest = str_skip(s, 4), pod;
		str_next_field(&rest, '/', &pod);
		c->out->host = pod;
		return true;
	}
	size_t colon = str_find_char(s, ':', 0);
	struct str host = colon == SIZE_MAX ? s : str_slice(s, 0, colon);
	struct str who = colon == SIZE_MAX ? STR("") : str_skip(s, colon + 1);
	/* A name without a digit is a word like any other, unless a rank stands behind it. */
	bool named = has_digit(host) || (who.len && rank_text(who, &r));
	if (!all_host_chars(host) || !has_alpha(host) || !named || host.len > 64)
		return false;
	if (who.len && !all_host_chars(who))
		return false;
	if (is_speaker(host))
		return false; /* [pip3] */
	if (who.len && (is_digit(who.ptr[0]) || str_find_char(host, '.', 0) != SIZE_MAX))
		return false; /* a file and a line */
	if (who.len && rank_text(who, &r))
		c->out->rank = r;
	c->out->host = host;
	know_host(c, host);
	return true;
}

/* host:pid:tid:0, as UCX prints it */
static bool ucx_text(struct cursor *c, struct str s)
{
	struct str rest = s, host, pid, tid;
	int64_t v;
	if (!str_next_field(&rest, ':', &host) || !str_next_field(&rest, ':', &pid) || !str_next_field(&rest, ':', &tid) || !rest.ptr)
		return false;
	if (!all_host_chars(host) || str_to_int(pid, &v) < 0)
		return false;
	c->out->host = host;
	c->out->pid = v;
	c->inner = true;
	return true;
}

/* "trainer2|2": role and local rank, rank */
static bool role_text(struct cursor *c, struct str s)
{
	size_t bar = str_find_char(s, '|', 0);
	struct str role = str_slice(s, 0, bar);
	int64_t r;
	if (bar == SIZE_MAX || bar < 2 || s.len - bar > 7 || !all_host_chars(role) || !is_digit(role.ptr[role.len - 1]) ||
		str_to_int(str_skip(s, bar + 1), &r) < 0 || r < 0)
		return false;
	c->out->rank = r;
	return true;
}

/* "default3" and a colon behind the bracket: torchrun --tee, local rank; "3": number of the launcher's. */
static bool tee_text(struct cursor *c, struct str s, bool colon, bool blank)
{
	int64_t r;
	size_t at = s.len;
	while (at > 0 && is_digit(s.ptr[at - 1]))
		at--;
	if (at == s.len || s.len - at > 6 || c->inner)
		return false;
	if (!digits(s.ptr + at, s.ptr + s.len, 6, &r))
		return false;
	if (at == 0) {
		if (!colon && !blank)
			return false;
		c->out->number = r;
		return true;
	}
	for (size_t i = 0; i < at; i++)
		if (!islower((unsigned char)s.ptr[i]) && s.ptr[i] != '_')
			return false;
	if (!colon)
		return false;
	c->out->local_rank = r;
	return true;
}

/* [1,3]<stderr>: of mpirun, [prterun-host-7@1,3]<stdout>: */
static bool take_mpi(struct cursor *c, struct str s, const char *behind)
{
	size_t comma = str_rfind_char(s, ',');
	int64_t r;
	if (comma == SIZE_MAX ||
		!(has(behind, c->end, "<stdout>:") || has(behind, c->end, "<stderr>:") || has(behind, c->end, "<stddiag>:")))
		return false;
	if (str_to_int(str_skip(s, comma + 1), &r) < 0)
		return false;
	c->out->rank = r;
	mix(c, s.ptr, s.ptr + s.len);
	c->p = spaces(memchr(behind, ':', (size_t)(c->end - behind)), c->end);
	c->p = spaces(c->p + 1, c->end);
	return true;
}

static bool component_text(struct cursor *c, struct str s)
{
	size_t bar = str_find_char(s, '|', 0); /* [INFO|trainer.py:123] */
	if (bar != SIZE_MAX && level_of(str_slice(s, 0, bar))) {
		c->out->level = level_of(str_slice(s, 0, bar));
		s = str_skip(s, bar + 1);
	}
	size_t colon = str_find_char(s, ':', 0);
	if (colon == SIZE_MAX || colon + 1 >= s.len || !is_digit(s.ptr[colon + 1]) || str_find_char(s, ' ', 0) != SIZE_MAX)
		return false;
	if (str_find_char(str_slice(s, 0, colon), '.', 0) == SIZE_MAX)
		return false;
	c->out->component = str_slice(s, 0, colon);
	c->inner = true;
	return true;
}

static bool number_text(struct str s) /* seconds since boot */
{
	size_t dot = str_find_char(s, '.', 0);
	if (dot == SIZE_MAX)
		return false;
	s = str_trim(s);
	for (size_t i = 0; i < s.len; i++)
		if (!is_digit(s.ptr[i]) && s.ptr[i] != '.')
			return false;
	return s.len > 2;
}

/* What stands in brackets, and is it a prefix? */
static bool bracket_text(struct cursor *c, struct str s, bool colon, bool blank)
{
	int64_t r;
	double t;
	const char *q;
	if (level_of(s)) {
		c->out->level = level_of(s);
		return true;
	}
	if (rank_text(s, &r)) {
		if (colon || c->out->source != PREFIX_GLOG)
			c->out->rank = r;
		else
			c->out->group_rank = r;
		if (colon)
			mix(c, s.ptr, s.ptr + s.len);
		return true;
	}
	if ((q = any_time(s.ptr, s.ptr + s.len, &t)) && (q == s.ptr + s.len || *q == ' ' || *q == '+')) {
		c->out->time = t;
		return true;
	}
	if (number_text(s)) {
		c->inner = true;
		return true;
	}
	if (str_is(s, "c10d") || str_is(s, "c10d - debug") || str_is(s, "c10d - trace"))
		return c->out->source == PREFIX_GLOG;
	if (group_text(c, s) || component_text(c, s) || ucx_text(c, s))
		return true;
	if (c->inner)
		return false;
	bool apart = blank || (colon && str_has(s, ":rank")); /* "[node02:rank12]: text" too */
	if (tee_text(c, s, colon, blank) || role_text(c, s) || (apart && launcher_text(c, s))) {
		mix(c, s.ptr, s.ptr + s.len);
		return true;
	}
	return false;
}

/* 【rank3】, 【node-1】 */
static bool take_wide_bracket(struct cursor *c)
{
	int64_t r;
	if (c->inner || !has(c->p, c->end, "【"))
		return false;
	struct str rest = str_n(c->p + 3, (size_t)(c->end - c->p - 3));
	size_t close = str_find(str_slice(rest, 0, 64), "】", 0);
	if (close == SIZE_MAX)
		return false;
	struct str s = str_slice(rest, 0, close);
	if (rank_text(s, &r))
		c->out->rank = r;
	else if (!launcher_text(c, s))
		return false;
	mix(c, s.ptr, s.ptr + s.len);
	c->p = spaces(rest.ptr + close + 3, c->end);
	return true;
}

static bool take_bracket(struct cursor *c)
{
	if (c->p == c->end || *c->p != '[')
		return false;
	size_t room = (size_t)(c->end - c->p);
	const char *close = memchr(c->p, ']', room < HEAD_MAX ? room : HEAD_MAX);
	if (!close)
		return false;
	struct str s = str_n(c->p + 1, (size_t)(close - c->p - 1));
	const char *q = close + 1;
	if (take_mpi(c, s, q))
		return true;
	bool colon = q < c->end && *q == ':', blank = q < c->end && (*q == ' ' || *q == '\t');
	if (s.len == 0 || !bracket_text(c, s, colon, blank || q == c->end))
		return false;
	c->p = spaces(q + colon, c->end);
	return true;
}

/* -- parentheses: Ray, vLLM ---------------------------------------------------------------------------------------------- */

static bool paren_field(struct str s, const char *key, struct str *ret)
{
	size_t at = str_find(s, key, 0);
	if (at == SIZE_MAX)
		return false;
	struct str rest = str_skip(s, at + strlen(key));
	size_t n = 0;
	while (n < rest.len && (is_host_char(rest.ptr[n]) || rest.ptr[n] == ':'))
		n++;
	*ret = str_slice(rest, 0, n);
	return n > 0;
}

static bool take_paren(struct cursor *c)
{
	if (c->p == c->end || *c->p != '(' || c->inner)
		return false;
	size_t room = (size_t)(c->end - c->p);
	const char *close = memchr(c->p, ')', room < 200 ? room : 200);
	if (!close || close + 1 >= c->end || close[1] != ' ')
		return false;
	struct str s = str_n(c->p + 1, (size_t)(close - c->p - 1)), value;
	bool pid = paren_field(s, "pid=", &value);
	if (!pid && !str_starts(s, "raylet"))
		return false;
	if (pid)
		str_to_int(value, &c->out->pid);
	if (paren_field(s, "ip=", &value)) {
		c->out->host = value;
		c->out->actor = pid;
	}
	if (paren_field(s, "rank=", &value))
		str_to_int(value, &c->out->rank);
	size_t tp = str_find(s, "_TP", 0);
	int64_t r;
	if (tp != SIZE_MAX && digits(s.ptr + tp + 3, s.ptr + s.len, 6, &r))
		c->out->local_rank = r;
	mix(c, s.ptr, s.ptr + s.len);
	c->p = spaces(close + 1, c->end);
	return true;
}

/* -- words and a colon --------------------------------------------------------------------------------------------------- */

/* The prefix of Python's logging ends here. */
static bool take_logger(struct cursor *c, struct str name, const char *rest)
{
	c->out->component = name;
	c->out->source = PREFIX_PYTHON;
	c->inner = true;
	c->p = spaces(rest, c->end);
	return true;
}

/* ERROR:torch.distributed.elastic.multiprocessing.api:failed ... */
static bool take_python_basic(struct cursor *c)
{
	const char *p = c->p, *end = c->end;
	while (p < end && isupper((unsigned char)*p))
		p++;
	char level = level_of(str_n(c->p, (size_t)(p - c->p)));
	if (!level || end - p < 3 || *p != ':' || !is_word(p[1]))
		return false;
	const char *logger = p + 1;
	for (p = logger; p < end && (is_word(*p) || *p == '.'); p++)
		;
	if (p == end || *p != ':')
		return false;
	c->out->level = level;
	return take_logger(c, str_n(logger, (size_t)(p - logger)), p + 1);
}

/* "ERROR 01-02 03:04:05", "INFO    |", "name - LEVEL - ", "torch.distributed.run: [WARNING] " after a time */
static bool take_level(struct cursor *c)
{
	const char *p = c->p, *end = c->end;
	while (p < end && isalpha((unsigned char)*p))
		p++;
	char level = level_of(str_n(c->p, (size_t)(p - c->p)));
	bool timed = !isnan(c->out->time);
	if (level && p < end && (*p == ' ' || (*p == ':' && timed))) {
		const char *q = spaces(p + (*p == ':'), end);
		double t;
		if (timed || any_time(q, end, &t) || (q < end && *q == '[')) {
			c->out->level = level;
			c->p = separator(p + (*p == ':'), end);
			return true;
		}
	}
	if (!timed)
		return false;
	for (p = c->p; p < end && (is_word(*p) || *p == '.'); p++)
		;
	if (p == c->p || p == end)
		return false;
	struct str name = str_n(c->p, (size_t)(p - c->p));
	const char *q = has(p, end, ": [") ? p + 3 : has(p, end, " - ") ? p + 3 : NULL;
	if (!q)
		return false;
	const char *r = q;
	while (r < end && isupper((unsigned char)*r))
		r++;
	level = level_of(str_n(q, (size_t)(r - q)));
	if (!level || r == end)
		return false;
	c->out->level = level;
	c->out->component = name;
	c->out->source = PREFIX_PYTHON;
	c->inner = true;
	c->p = *r == ']' ? spaces(r + 1, end) : separator(r, end);
	return true;
}

/* "env_report:main:18 - ", what loguru writes behind the level */
static bool take_loguru(struct cursor *c)
{
	const char *p = c->p, *end = c->end;
	int64_t line;
	if (isnan(c->out->time) || !c->out->level || c->out->component.len)
		return false;
	while (p < end && (is_word(*p) || *p == '.'))
		p++;
	struct str module = str_n(c->p, (size_t)(p - c->p));
	if (!module.len || p == end || *p != ':')
		return false;
	for (p++; p < end && (is_word(*p) || *p == '<' || *p == '>'); p++)
		;
	p = p < end && *p == ':' ? digits(p + 1, end, 6, &line) : NULL;
	if (!p || !has(p, end, " - "))
		return false;
	return take_logger(c, module, p + 3);
}

/* "rank=21 " behind a time: who speaks */
static bool take_rank_field(struct cursor *c)
{
	int64_t r;
	if (isnan(c->out->time) || c->out->rank >= 0 || !has(c->p, c->end, "rank="))
		return false;
	const char *p = digits(c->p + 5, c->end, 7, &r);
	if (!p || p == c->end || *p != ' ')
		return false;
	c->out->rank = r;
	c->p = spaces(p, c->end);
	return true;
}

/* " 7: ", srun -l. "2: eth0: <BROADCAST" and "2: eth0    inet 10.0.0.5/24" are ip's. */
static bool take_number(struct cursor *c)
{
	int64_t n;
	const char *p = digits(c->p, c->end, 6, &n);
	if (!p || c->inner || p == c->end || *p != ':' || (p + 1 < c->end && p[1] != ' '))
		return false;
	const char *q = p + 1 < c->end ? p + 2 : p + 1, *w = q;
	while (w < c->end && (is_host_char(*w) || *w == '@'))
		w++;
	if (w > q && (has(w, c->end, ": <") || has(w, c->end, "    inet ") || has(w, c->end, "    inet6 ")))
		return false;
	if (!c->names || !c->names->gutter || c->numbered) {
		c->out->number = n;
		mix(c, c->p, p);
	}
	c->p = q;
	return true;
}

/* "#12 512.2   text": a step of docker build and its seconds. */
static bool take_build_step(struct cursor *c)
{
	int64_t n;
	if (c->inner || c->p == c->end || *c->p != '#')
		return false;
	const char *p = digits(c->p + 1, c->end, 4, &n);
	if (!p || p == c->end || *p != ' ')
		return false;
	p = digits(p + 1, c->end, 6, &n);
	if (!p || p == c->end || *p != '.')
		return false;
	p = digits(p + 1, c->end, 3, &n);
	if (!p || (p < c->end && *p != ' '))
		return false;
	c->p = spaces(p, c->end);
	return true;
}

/* Line numbers: "  12 | text", "12\ttext", "12: text". */
static bool take_gutter(struct cursor *c)
{
	int64_t n;
	if (!c->names || !c->names->gutter || c->inner || c->stream || c->numbered)
		return false;
	const char *p = digits(c->p, c->end, 7, &n);
	if (!p)
		return false;
	const char *q = spaces(p, c->end);
	if (q < c->end && (*q == '|' || *q == ':' || *q == ')'))
		q++;
	else if (q == p)
		return false;
	c->p = q < c->end && *q == ' ' ? q + 1 : q;
	c->names->gutter = true;
	c->numbered = true;
	return true;
}

/* Does a logger's prefix stand here? Then the word before it was a host. */
static bool strong_prefix(struct cursor *c, const char *p)
{
	struct prefix scrap = {.rank = PREFIX_UNSET, .time = NAN};
	struct cursor ahead = {.p = p, .end = c->end, .out = &scrap, .inner = c->inner};
	int64_t r;
	if (has(p, c->end, "[rank") && p + 5 < c->end && digits(p + 5, c->end, 6, &r))
		return true;
	return take_nccl(&ahead) || take_glog(&ahead) || has(p, c->end, "kernel: ");
}

static bool believe_host(struct cursor *c, struct str s, const char *behind)
{
	if (!has_alpha(s) || s.len > 64)
		return false;
	if (strong_prefix(c, behind)) {
		know_host(c, s);
		return true;
	}
	if (!c->names)
		return false;
	uint64_t h = name_hash(s);
	if (set_has(c->names->known, h))
		return true;
	if (!has_digit(s) || is_speaker(s) || isupper((unsigned char)s.ptr[0]))
		return false;
	if (!set_add(c->names->seen, h))
		return false;
	set_add(c->names->known, h);
	return true;
}

/* pdsh's "node3: text", compose's "service-1  | text" */
static bool take_host(struct cursor *c)
{
	const char *p = c->p;
	if (c->inner)
		return false;
	while (p < c->end && is_host_char(*p) && p - c->p < 65)
		p++;
	struct str s = str_n(c->p, (size_t)(p - c->p));
	if (s.len == 0 || p == c->end || !isalnum((unsigned char)s.ptr[0]))
		return false;
	const char *behind = NULL;
	if (*p == ':' && (p + 1 == c->end || p[1] == ' '))
		behind = p + 1;
	const char *bar = spaces(p, c->end);
	if (bar > p && bar < c->end && *bar == '|' && (bar + 1 == c->end || bar[1] == ' '))
		behind = bar + 1;
	if (!behind)
		return false;
	behind = spaces(behind, c->end);
	if (str_is(s, "kernel") && *p == ':') {
		c->out->component = s;
		c->out->source = PREFIX_KERNEL;
		c->inner = true;
		c->p = behind;
		return true;
	}
	if (!believe_host(c, s, behind))
		return false;
	c->out->host = s;
	mix(c, s.ptr, s.ptr + s.len);
	c->p = behind;
	return true;
}

/* After "Jun  2 08:01:55": "host unit[pid]: " or "host kernel: " */
static bool take_journal(struct cursor *c)
{
	const char *p = c->p, *end = c->end;
	if (isnan(c->out->time) || c->inner || c->out->host.len)
		return false;
	while (p < end && is_host_char(*p))
		p++;
	struct str host = str_n(c->p, (size_t)(p - c->p));
	if (host.len == 0 || p == end || *p != ' ' || !isalnum((unsigned char)host.ptr[0]))
		return false;
	const char *unit = ++p;
	while (p < end && (is_host_char(*p) || *p == '@' || *p == '/'))
		p++;
	struct str name = str_n(unit, (size_t)(p - unit));
	int64_t pid = PREFIX_UNSET;
	if (p < end && *p == '[') {
		const char *q = digits(p + 1, end, 10, &pid);
		if (!q || q == end || *q != ']')
			return false;
		p = q + 1;
	}
	if (name.len == 0 || p == end || *p != ':' || (pid == PREFIX_UNSET && !str_is(name, "kernel")))
		return false;
	c->out->host = host;
	c->out->component = name;
	c->out->source = str_is(name, "kernel") ? PREFIX_KERNEL : PREFIX_OTHER;
	if (pid >= 0)
		c->out->pid = pid;
	mix(c, host.ptr, host.ptr + host.len);
	c->inner = true;
	c->p = spaces(p + 1, end);
	return true;
}

static bool take_quote(struct cursor *c)
{
	const char *p = c->p;
	if (c->inner || c->stream || p == c->end || *p != '>' || has(p, c->end, ">>> "))
		return false;
	while (p < c->end && (*p == '>' || *p == ' '))
		p++;
	c->p = p;
	return true;
}

/* Ascend: (PID:1, Device:0, RankID:3) */
static void read_ascend(struct cursor *c)
{
	struct str s = str_n(c->p, (size_t)(c->end - c->p < 120 ? c->end - c->p : 120));
	int64_t r;
	if (!str_starts(s, "(PID:"))
		return;
	if (digits(s.ptr + 5, c->end, 10, &r))
		c->out->pid = r;
	size_t at = str_find(s, "RankID:", 0);
	if (at != SIZE_MAX && digits(s.ptr + at + 7, c->end, 7, &r))
		c->out->rank = r;
	at = str_find(s, "Device:", 0);
	if (at != SIZE_MAX && digits(s.ptr + at + 7, c->end, 5, &r))
		c->out->device = r;
	at = str_find(s, ") ", 0);
	if (at != SIZE_MAX)
		c->p += at + 2;
}

static bool take_any(struct cursor *c)
{
	return take_gutter(c) || take_build_step(c) || take_quote(c) || take_time(c) || take_glog(c) || take_bracket(c) ||
		take_wide_bracket(c) || take_nccl(c) || take_paren(c) || take_python_basic(c) || take_level(c) || take_loguru(c) ||
		take_rank_field(c) || take_journal(c) || take_number(c) || take_host(c);
}

/* "2026-03-04 05:06:07,841 - INFO - ": behind a time and a level stands what a program printed. What NCCL, glog and the kernel write in
 * front belongs to the line. */
static bool is_logged(const struct prefix *p)
{
	return p->level && !isnan(p->time) && (p->source == PREFIX_NONE || p->source == PREFIX_PYTHON);
}

void prefix_parse(struct str line, struct prefix_names *names, struct prefix *ret)
{
	struct cursor c = {.p = line.ptr, .end = line.ptr + line.len, .out = ret, .names = names};

	memset(ret, 0, sizeof(*ret));
	ret->rank = ret->local_rank = ret->number = ret->group_rank = ret->pid = ret->tid = ret->device = PREFIX_UNSET;
	ret->time = NAN;
	const char *body = c.p;
	for (int i = 0; i < ROUNDS_MAX; i++) {
		const char *start = spaces(c.p, c.end), *before = c.p;
		uint64_t stream = c.stream;
		c.p = start;
		c.outer = false;
		if (!take_any(&c)) {
			if (i == 0)
				c.p = before; /* an indented line without a prefix keeps its indentation */
			break;
		}
		if (c.stream != stream || c.outer || is_logged(c.out) || (!c.inner && c.out->level == 0 && isnan(c.out->time)))
			body = c.p;
	}
	ret->body = str_n(body, (size_t)(c.end - body));
	read_ascend(&c);
	ret->stream = c.stream;
	ret->message = str_n(c.p, (size_t)(c.end - c.p));
}

/* -- damage -------------------------------------------------------------------------------------------------------------- */

static bool record_begins(struct str line, size_t at)
{
	struct prefix scrap = {.time = NAN};
	struct cursor c = {.p = line.ptr + at, .end = line.ptr + line.len, .out = &scrap};
	int64_t r;
	if (*c.p == '[') {
		if (has(c.p, c.end, "[rank") && c.p + 6 < c.end) {
			const char *q = digits(c.p + 5, c.end, 6, &r);
			return q && has(q, c.end, "]:");
		}
		return take_glog(&c) && !isnan(scrap.time);
	}
	return take_nccl(&c);
}

size_t prefix_find_torn(struct str line)
{
	for (size_t i = 1; i + 8 < line.len; i++) {
		if (line.ptr[i] == '[' && (line.ptr[i + 1] == 'r' || strchr("IWEF", line.ptr[i + 1])) && record_begins(line, i))
			return i;
		if (line.ptr[i] != ':' || !is_digit(line.ptr[i + 1]) || !is_host_char(line.ptr[i - 1]))
			continue;
		size_t h = i; /* the host's beginning; digits in front of it belong to what was torn */
		while (h > 0 && is_host_char(line.ptr[h - 1]) && i - h < 64)
			h--;
		while (h < i && !isalpha((unsigned char)line.ptr[h]))
			h++;
		if (h > 0 && h < i && record_begins(line, h))
			return h;
	}
	return SIZE_MAX;
}

bool prefix_is_gutter(struct str text)
{
	struct str rest = text, line;
	int64_t last = PREFIX_UNSET;
	int lines = 0, good = 0;
	while (lines < 200 && str_next_line(&rest, &line)) {
		int64_t n;
		const char *end = line.ptr + line.len, *p = digits(spaces(line.ptr, end), end, 7, &n);
		lines++;
		if (p && (p == end || strchr(" \t|:)", *p)) && (last == PREFIX_UNSET || n == last + 1))
			good++;
		if (p)
			last = n;
	}
	return lines >= 4 && good * 10 >= lines * 9;
}
