#include "logs/clean.h"

#include <ctype.h>
#include <time.h>

/* Sixteen or more bytes at a time; plain C that compilers turn into vector code. */
#ifndef __clang__
#pragma GCC optimize("O3")
#endif

size_t clean_count_lines(const char *p, size_t n)
{
	size_t lines = 0, i = 0;
	while (i + 128 <= n) {
		size_t rounds = (n - i) / 128 < 255 ? (n - i) / 128 : 255;
		unsigned char sum[128] = {0};
		for (size_t r = 0; r < rounds; r++, i += 128)
			for (size_t k = 0; k < 128; k++)
				sum[k] = (unsigned char)(sum[k] + (p[i + k] == '\n'));
		for (size_t k = 0; k < 128; k++)
			lines += sum[k];
	}
	for (; i < n; i++)
		lines += p[i] == '\n';
	return lines;
}

/* An escape character, a NUL or an ampersand. */
static bool has_odd_byte(const char *p, size_t n, bool *ret_ampersand)
{
	unsigned char odd[64] = {0}, amp[64] = {0};
	size_t i = 0;
	for (; i + 64 <= n; i += 64)
		for (size_t k = 0; k < 64; k++) {
			unsigned char c = (unsigned char)p[i + k];
			odd[k] = (unsigned char)(odd[k] | (c == 0x1b) | (c == 0));
			amp[k] = (unsigned char)(amp[k] | (c == '&'));
		}
	bool any = false, ampersand = false;
	for (size_t k = 0; k < 64; k++) {
		any |= odd[k] != 0;
		ampersand |= amp[k] != 0;
	}
	for (; i < n; i++) {
		any |= p[i] == 0x1b || p[i] == 0;
		ampersand |= p[i] == '&';
	}
	*ret_ampersand = ampersand;
	return any;
}

static const struct {
	const char *name;
	size_t length;
	char c;
} entities[] = {{"&lt;", 4, '<'}, {"&gt;", 4, '>'}, {"&amp;", 5, '&'}, {"&quot;", 6, '"'}, {"&#39;", 5, '\''}, {"&#x27;", 6, '\''},
	{"&nbsp;", 6, ' '}, {"&apos;", 6, '\''}, {"&#34;", 5, '"'}};

static size_t entity_at(const char *p, const char *end, char *ret)
{
	for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++)
		if ((size_t)(end - p) >= entities[i].length && memcmp(p, entities[i].name, entities[i].length) == 0) {
			*ret = entities[i].c;
			return entities[i].length;
		}
	return 0;
}

static bool has_entity(const char *p, size_t n)
{
	const char *end = p + n;
	char c;
	while ((p = memchr(p, '&', (size_t)(end - p)))) {
		if (entity_at(p, end, &c))
			return true;
		p++;
	}
	return false;
}

/* The typographic quote or hard blank at p as it is on a keyboard, 0 when there is none. */
static char typed(const char *p, const char *end, size_t *ret_length)
{
	*ret_length = 2;
	if (end - p >= 2 && (unsigned char)p[0] == 0xc2 && (unsigned char)p[1] == 0xa0)
		return ' ';
	*ret_length = 3;
	if (end - p < 3 || (unsigned char)p[0] != 0xe2 || (unsigned char)p[1] != 0x80)
		return 0;
	unsigned char c = (unsigned char)p[2];
	return c == 0x98 || c == 0x99 ? '\'' : c == 0x9c || c == 0x9d ? '"' : c == 0xaf ? ' ' : 0;
}

static bool has_typography(struct str s)
{
	size_t n;
	for (size_t at = str_find(s, "\xe2\x80", 0); at != SIZE_MAX; at = str_find(s, "\xe2\x80", at + 2))
		if (typed(s.ptr + at, s.ptr + s.len, &n))
			return true;
	return str_find(s, "\xc2\xa0", 0) != SIZE_MAX;
}

static bool has_spelling(const char *p, size_t n, char first, const char *const *spellings)
{
	const char *end = p + n;
	while ((p = memchr(p, first, (size_t)(end - p)))) {
		for (size_t i = 0; spellings[i]; i++)
			if (str_starts(str_n(p, (size_t)(end - p)), spellings[i]))
				return true;
		p++;
	}
	return false;
}

#define LEARN_BYTES ((size_t)128 << 10)

void clean_learn(struct clean_habit *habit, const char *p, size_t n)
{
	static const char *const backslash[] = {"\\u001b[", "\\x1b[", "\\033[", "\\n  File ", NULL}, *const caret[] = {"^[[", NULL};
	if (n > LEARN_BYTES)
		n = LEARN_BYTES;
	habit->escaped |= has_spelling(p, n, '\\', backslash) || has_spelling(p, n, '^', caret);
	habit->typographic |= has_typography(str_n(p, n));
}

bool clean_needed(const struct clean_habit *habit, const char *p, size_t n)
{
	bool ampersand;
	if (habit->escaped || (n > 2 && p[0] == '{' && p[1] == '"'))
		return true;
	if (has_odd_byte(p, n, &ampersand) || (habit->typographic && has_typography(str_n(p, n))))
		return true;
	return ampersand && has_entity(p, n);
}

/* Length of an ANSI sequence whose introducer (ESC, or its spelling) ends at p. */
static size_t ansi_rest(const char *p, const char *end)
{
	const char *q = p;
	if (q < end && *q == '[') {
		for (q++; q < end && *q >= 0x20 && *q < 0x40 && q - p < 64; q++)
			;
		return q < end && *q >= 0x40 && *q < 0x7f ? (size_t)(q + 1 - p) : (size_t)(q - p);
	}
	if (q < end && *q == ']') { /* OSC ... BEL or ESC \ */
		for (q++; q < end && q - p < 2048; q++) {
			if (*q == 7)
				return (size_t)(q + 1 - p);
			if (*q == 0x1b)
				return (size_t)(q - p);
		}
		return (size_t)(q - p);
	}
	return q < end && *q >= 0x20 ? 1 : 0;
}

static size_t spelled_escape(const char *p, const char *end)
{
	static const char *const spellings[] = {"\\u001b[", "\\x1b[", "\\033[", "^[["};
	for (size_t i = 0; i < 4; i++) {
		size_t n = strlen(spellings[i]);
		if ((size_t)(end - p) >= n && memcmp(p, spellings[i], n) == 0)
			return n - 1 + ansi_rest(p + n - 1, end);
	}
	return 0;
}

/* The value of the member that holds the message of a JSON log line; false when there is none. *ret_value: behind the opening quote, or
 * behind the bracket of a list. */
static bool json_message(const char *p, const char *end, const char **ret_value)
{
	static const char *const keys[] = {"\"log\"", "\"message\"", "\"msg\"", "\"text\"", "\"MESSAGE\"", "\"textPayload\""};
	if (end - p < 8 || p[0] != '{')
		return false;
	struct str line = str_n(p, (size_t)(end - p < 4096 ? end - p : 4096));
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t at = str_find(line, keys[i], 0);
		if (at == SIZE_MAX)
			continue;
		at += strlen(keys[i]);
		while (at < line.len && (line.ptr[at] == ' ' || line.ptr[at] == ':'))
			at++;
		if (at < line.len && (line.ptr[at] == '"' || (line.ptr[at] == '[' && strcmp(keys[i], "\"MESSAGE\"") == 0))) {
			*ret_value = line.ptr + at + 1;
			return true;
		}
	}
	return false;
}

/* The text of a member of such a line: nothing escaped, not long. Empty when there is none. */
static struct str json_member(struct str line, const char *key)
{
	size_t at = str_find(line, key, 0), end;
	if (at == SIZE_MAX)
		return str_n("", 0);
	at += strlen(key);
	while (at < line.len && (line.ptr[at] == ' ' || line.ptr[at] == ':'))
		at++;
	if (at >= line.len || line.ptr[at] != '"' || (end = str_find_char(line, '"', at + 1)) == SIZE_MAX || end - at > 80)
		return str_n("", 0);
	struct str value = str_slice(line, at + 1, end);
	return str_find_char(value, '\\', 0) == SIZE_MAX ? value : str_n("", 0);
}

/* "rank": 2 of a line whose message does not name it: "[rank2]: ". */
static char *json_rank(struct str line, char *out)
{
	size_t at = str_find(line, "\"rank\"", 0), end;
	if (at == SIZE_MAX || str_has(line, "[rank"))
		return out;
	for (at += 6; at < line.len && (line.ptr[at] == ' ' || line.ptr[at] == ':' || line.ptr[at] == '"'); at++)
		;
	for (end = at; end < line.len && isdigit((unsigned char)line.ptr[end]); end++)
		;
	if (end == at || end - at > 6 || end == line.len || !strchr(",}\" ", line.ptr[end]))
		return out;
	memcpy(out, "[rank", 5);
	memcpy(out + 5, line.ptr + at, end - at);
	out += 5 + end - at;
	memcpy(out, "]: ", 3);
	return out + 3;
}

/* When and where it was said, in front of the message as other logs have it; never longer than what the line itself says of it. journalctl
 * -o json: "2024-07-02T06:00:00 gpu07 kernel: ". Docker: "2025-01-01T00:00:00.0Z ". */
static char *json_prefix(struct str line, char *out)
{
	struct str time = json_member(line, "\"time\""), host = json_member(line, "\"_HOSTNAME\""),
		   us = json_member(line, "\"__REALTIME_TIMESTAMP\""), who = json_member(line, "\"SYSLOG_IDENTIFIER\"");
	struct tm tm;
	int64_t n;
	if (host.len && str_to_int(us, &n) == 0 && n > 0) {
		time_t seconds = (time_t)(n / 1000000);
		char text[24];
		if (!gmtime_r(&seconds, &tm) || strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm) != 19)
			return out;
		memcpy(out, text, 19);
		out += 19;
		*out++ = ' ';
		memcpy(out, host.ptr, host.len);
		out += host.len;
		*out++ = ' ';
		who = who.len ? who : STR("kernel");
		memcpy(out, who.ptr, who.len);
		out += who.len;
		*out++ = ':';
		*out++ = ' ';
	} else if (time.len >= 20 && time.len < 40 && time.ptr[4] == '-' && time.ptr[10] == 'T') {
		memcpy(out, time.ptr, time.len);
		out += time.len;
		*out++ = ' ';
	}
	return json_rank(line, out);
}

/* One backslash escape at p (on the backslash): writes at most two... bytes fewer than read. Returns bytes read. */
static size_t unescape(const char *p, const char *end, char **out)
{
	if (end - p < 2) {
		*(*out)++ = *p;
		return 1;
	}
	char c = p[1];
	if (c == 'u' && end - p >= 6) {
		unsigned v = 0;
		int i = 2;
		for (; i < 6 && isxdigit((unsigned char)p[i]); i++)
			v = v * 16 + (unsigned)(isdigit((unsigned char)p[i]) ? p[i] - '0' : (tolower((unsigned char)p[i]) - 'a' + 10));
		if (i == 6) {
			if (v == 0x1b) /* an ANSI code, spelled */
				return 6 + ansi_rest(p + 6, end);
			if (v >= 0x20)
				*out += str_put_utf8(*out, v);
			return 6;
		}
	}
	char plain = c == 'n' ? '\r' : c == 't' ? '\t' : c == 'r' ? '\r' : (c == '"' || c == '\\' || c == '/') ? c : 0;
	if (!plain) {
		*(*out)++ = *p;
		return 1;
	}
	*(*out)++ = plain;
	return 2;
}

static char *clean_json(const char *p, const char *end, char *out)
{
	while (p < end && *p != '"') {
		if (*p == '\\')
			p += unescape(p, end, &out);
		else
			*out++ = *p++;
	}
	while (out[-1] == '\r')
		out--;
	return out;
}

/* The journal writes what is not plain text, a line with colours for example, as a list of its bytes. */
static char *clean_bytes(const char *p, const char *end, char *out)
{
	char *start = out;
	while (p < end && *p != ']') {
		unsigned v = 0;
		const char *digits = p;
		for (; p < end && *p >= '0' && *p <= '9' && v < 256; p++)
			v = v * 10 + (unsigned)(*p - '0');
		if (p == digits)
			p++; /* a blank or a comma */
		else if (v == 0x1b || (v >= ' ' && v < 256))
			*out++ = (char)v;
	}
	const char *from = start, *stop = out;
	out = start;
	while (from < stop) {
		if (*from == 0x1b) {
			from++;
			from += ansi_rest(from, stop);
		} else {
			*out++ = *from++;
		}
	}
	return out;
}

static bool has_spelled_traceback(const char *p, const char *end)
{
	return str_has(str_n(p, (size_t)(end - p)), "(most recent call last):\\n");
}

static char *clean_line(const char *p, const char *end, char *out)
{
	const char *value;
	char c;
	size_t n;
	if (json_message(p, end, &value)) {
		*out++ = '\r'; /* so that trimming below has a stop; an empty record before it does no harm */
		out = json_prefix(str_n(p, (size_t)(end - p < 4096 ? end - p : 4096)), out);
		return value[-1] == '[' ? clean_bytes(value, end, out) : clean_json(value, end, out);
	}
	bool spelled = has_spelled_traceback(p, end);
	while (p < end) {
		if (*p == 0x1b) {
			p++;
			p += ansi_rest(p, end);
		} else if (*p == 0 || *p == 8) {
			p++;
		} else if (((unsigned char)*p == 0xe2 || (unsigned char)*p == 0xc2) && (c = typed(p, end, &n))) {
			*out++ = c;
			p += n;
		} else if (*p == '&' && (n = entity_at(p, end, &c))) {
			*out++ = c;
			p += n;
		} else if ((*p == '\\' || *p == '^') && (n = spelled_escape(p, end))) {
			p += n;
		} else if (*p == '\\' && spelled && end - p > 1 && (p[1] == 'n' || p[1] == '"')) {
			*out++ = p[1] == 'n' ? '\r' : '"';
			p += 2;
		} else {
			*out++ = *p++;
		}
	}
	return out;
}

size_t clean_text(const char *p, size_t n, char *out)
{
	const char *end = p + n;
	char *start = out;
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *stop = newline ? newline : end;
		out = clean_line(p, stop, out);
		if (newline)
			*out++ = '\n';
		p = newline ? newline + 1 : end;
	}
	return (size_t)(out - start);
}
