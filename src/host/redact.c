/* What may stand in any text. */
#include <arpa/inet.h>

#include "host/redact_parts.h"

#define TEXT_MAX ((size_t)64 << 20)
#define WORDS_MAX 4096

bool redact_is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool redact_is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* -- stand-ins ---------------------------------------------------------------------------------------------------------- */

static size_t bucket_of(enum redact_kind kind, struct str text)
{
	uint64_t x = 1469598103934665603u ^ (uint64_t)kind;
	for (size_t i = 0; i < text.len; i++)
		x = (x ^ (unsigned char)text.ptr[i]) * 1099511628211u;
	return (size_t)(x ^ x >> 29) % REDACT_BUCKETS;
}

static const char *make(struct redactor *r, enum redact_kind kind, struct str text, int n)
{
	size_t dot = kind == REDACT_HOST ? str_find_char(text, '.', 0) : SIZE_MAX;
	switch (kind) {
	case REDACT_HOST: /* a full name keeps its host */
		return dot != SIZE_MAX && dot > 0
			? arena_printf(r->arena, "%s.example.com", redact_stand_in(r, REDACT_HOST, str_slice(text, 0, dot))->made)
			: arena_printf(r->arena, "host-%d", n);
	case REDACT_USER: return arena_printf(r->arena, "user%d", n);
	case REDACT_NAME: return arena_printf(r->arena, "name-%d", n);
	case REDACT_MAC: return arena_printf(r->arena, "02:00:00:%02x:%02x:%02x", n >> 16 & 0xff, n >> 8 & 0xff, n & 0xff);
	case REDACT_GUID: return arena_printf(r->arena, "0200:0000:%04x:%04x", n >> 16 & 0xffff, n & 0xffff);
	case REDACT_UUID: /* the number first: abbreviations stay apart */
		return arena_printf(r->arena, "%08x-0000-4000-8000-000000000000", (unsigned)n);
	case REDACT_HEX: return arena_printf(r->arena, "%0*x", text.len < 8 ? 8 : (int)text.len, (unsigned)n);
	case REDACT_TOKEN: return arena_printf(r->arena, "TOKEN-%d", n);
	case REDACT_MAIL: return arena_printf(r->arena, "mail%d@example.com", n);
	case REDACT_DOMAIN: return "example.com";
	case REDACT_INSTANCE: return arena_printf(r->arena, "i-%017x", (unsigned)n);
	case REDACT_IPV4:
	case REDACT_NETWORK:
	case REDACT_IPV6:
	case REDACT_KINDS: break;
	}
	return "";
}

struct stand_in *redact_stand_in(struct redactor *r, enum redact_kind kind, struct str text)
{
	size_t b = bucket_of(kind, text);
	for (struct stand_in *s = r->bucket[b]; s; s = s->next)
		if (s->kind == kind && str_eq(s->text, text))
			return s;
	struct stand_in *s = arena_alloc(r->arena, sizeof *s);
	int n = ++r->count[kind];
	*s = (struct stand_in){NULL, kind, str_n(arena_strndup(r->arena, text.ptr, text.len), text.len), make(r, kind, text, n), n, 0};
	s->next = r->bucket[b];
	r->bucket[b] = s;
	return s;
}

/* Names that are everybody's: they tell nothing. */
static bool is_everybodys(struct str text)
{
	static const char *const names[] = {"localhost", "localhost.localdomain", "localdomain", "root", "home", "user", "users", "ubuntu",
		"debian", "centos", "rocky", "linux", "none", "nobody", "null", "gpu", "node", "host", "master", "worker", "train",
		"training", "python", "torch", "cuda", "conda", "docker", "admin", "runner", "jovyan", "vscode", "ec2-user", "opc",
		"azureuser", "broadcasthost", "kubernetes", "default", "docker-desktop", "buildkitsandbox"};
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (str_is_nocase(text, names[i]))
			return true;
	return str_starts(text, "ip6-") || str_starts(text, "localhost");
}

const char *redact_name(struct redactor *r, enum redact_kind kind, struct str text)
{
	if (!text.len || is_everybodys(text))
		return str_dup(r->arena, text);
	return redact_stand_in(r, kind, text)->made;
}

void redactor_learn(struct redactor *r, const char *kind, struct str text)
{
	bool odd = false;
	if (text.len < 3 || text.len > 253 || is_everybodys(text) || r->word_count == WORDS_MAX)
		return;
	for (size_t i = 0; i < r->word_count; i++)
		if (str_eq(r->words[i].text, text))
			return;
	for (size_t i = 0; i < text.len; i++) {
		if (!redact_is_name_char(text.ptr[i]) && text.ptr[i] != '.')
			return;
		odd |= is_digit(text.ptr[i]) || text.ptr[i] == '-' || text.ptr[i] == '.';
	}
	bool number = true;
	for (size_t i = 0; i < text.len; i++)
		number &= is_digit(text.ptr[i]) || text.ptr[i] == '.';
	if (number)
		return;
	const struct stand_in *s = redact_stand_in(r,
		strcmp(kind, "host") == 0             ? REDACT_HOST
			: strcmp(kind, "domain") == 0 ? REDACT_DOMAIN
						      : REDACT_USER,
		text);
	if (!r->words || r->word_count == r->word_cap)
		r->words = arena_grow(r->arena, r->words, r->word_count, &r->word_cap, sizeof *r->words);
	r->words[r->word_count++] = (struct learned){s->text, s->made, odd || text.len >= 5};
	r->first[(unsigned char)text.ptr[0]] = true;
}

struct redactor *redactor_new_plain(struct arena *a)
{
	struct redactor *r = arena_alloc(a, sizeof *r);
	r->arena = a;
	return r;
}

/* -- addresses ---------------------------------------------------------------------------------------------------------- */

static bool is_private(const uint8_t b[4])
{
	return b[0] == 10 || (b[0] == 192 && b[1] == 168) || (b[0] == 172 && b[1] >= 16 && b[1] < 32) ||
		(b[0] == 100 && b[1] >= 64 && b[1] < 128);
}

bool redact_ipv4(struct redactor *r, uint8_t b[4])
{
	/* Loopback, any, link-local, Docker's own, multicast, masks: they decide and tell nothing. */
	if (b[0] == 127 || b[0] == 0 || b[0] >= 224 || (b[0] == 169 && b[1] == 254) || (b[0] == 172 && b[1] == 17))
		return false;
	bool private = is_private(b), host = b[3] != 0 && b[3] != 255;
	if (private && !host)
		return false;
	struct stand_in *network = redact_stand_in(r, REDACT_NETWORK, str_n((const char *)b, 3));
	if (host) { /* numbered within its network, so that two of them never become one */
		struct stand_in *address = redact_stand_in(r, REDACT_IPV4, str_n((const char *)b, 4));
		if (!address->hosts)
			address->hosts = ++network->hosts;
		b[3] = (uint8_t)address->hosts;
	}
	if (!private) { /* the range that is kept for benchmarks */
		b[0] = 198;
		b[1] = (uint8_t)(18 + (network->number >> 8 & 1));
		b[2] = (uint8_t)network->number;
	}
	return true;
}

static const char *guid_of(struct redactor *r, const uint8_t b[8])
{
	return redact_stand_in(r, REDACT_GUID,
		str_of(arena_printf(r->arena, "%02x%02x:%02x%02x:%02x%02x:%02x%02x", b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7])))
		->made;
}

bool redact_ipv6(struct redactor *r, uint8_t b[16])
{
	static const uint8_t zero[16], mapped[12] = {[10] = 0xff, 0xff};
	unsigned low[4];
	if (memcmp(b, mapped, 12) == 0)
		return redact_ipv4(r, b + 12);
	if (memcmp(b, zero, 8) == 0 || b[0] == 0xff || memcmp(b + 8, zero, 8) == 0)
		return false;
	bool local = b[0] == 0xfe && (b[1] & 0xc0) == 0x80, unique = (b[0] & 0xfe) == 0xfc;
	if (!local && !unique && (b[0] & 0xe0) != 0x20)
		return false;
	if (!local) {
		struct stand_in *network = redact_stand_in(r, REDACT_IPV6, str_n((const char *)b, 8));
		memcpy(b, zero, 8);
		if (unique)
			b[0] = 0xfd;
		else
			memcpy(b, "\x20\x01\x0d\xb8", 4);
		b[6] = (uint8_t)(network->number >> 8);
		b[7] = (uint8_t)network->number;
	}
	if (sscanf(guid_of(r, b + 8), "%4x:%4x:%4x:%4x", &low[0], &low[1], &low[2], &low[3]) == 4)
		for (int i = 0; i < 4; i++) {
			b[8 + 2 * i] = (uint8_t)(low[i] >> 8);
			b[9 + 2 * i] = (uint8_t)low[i];
		}
	return true;
}

/* -- one place in a text ------------------------------------------------------------------------------------------------
 * Each recogniser looks at s[i..] where no word is running and gives the length it takes, or 0. */

static size_t take_ipv4(struct redactor *r, struct str s, size_t i, unsigned where, const char **ret)
{
	uint8_t part[4];
	size_t p = i;
	if (i && (redact_is_name_char(s.ptr[i - 1]) || s.ptr[i - 1] == '.') && s.ptr[i - 1] != '-' && s.ptr[i - 1] != '_')
		return 0;
	for (int k = 0; k < 4; k++) {
		unsigned v = 0;
		size_t start = p;
		while (p < s.len && is_digit(s.ptr[p]) && p - start < 4)
			v = v * 10 + (unsigned)(s.ptr[p++] - '0');
		if (p == start || v > 255 || (p - start > 1 && s.ptr[start] == '0') || (k < 3 && (p >= s.len || s.ptr[p] != '.')))
			return 0;
		part[k] = (uint8_t)v;
		p += k < 3;
	}
	if (p < s.len &&
		((s.ptr[p] == '.' && p + 1 < s.len && redact_is_name_char(s.ptr[p + 1])) || is_letter(s.ptr[p]) || s.ptr[p] == '_'))
		return 0;
	/* Outside of network files four small numbers are most likely a version ("12.4.5.8"). */
	if (!(where & REDACT_ADDRESSES) && part[0] < 20 && part[0] != 10)
		return 0;
	if (!redact_ipv4(r, part))
		return 0;
	*ret = arena_printf(r->arena, "%u.%u.%u.%u", part[0], part[1], part[2], part[3]);
	return p - i;
}

/* How many groups of `digits` hexadecimal digits with colons between stand at i, alone. */
static size_t hex_groups(struct str s, size_t i, size_t digits)
{
	size_t n = 0, p = i;
	if (i && (redact_is_hex(s.ptr[i - 1]) || s.ptr[i - 1] == ':'))
		return 0;
	for (;;) {
		size_t k = 0;
		while (p + k < s.len && redact_is_hex(s.ptr[p + k]))
			k++;
		if (k != digits)
			return 0;
		n++;
		p += k;
		if (p >= s.len || s.ptr[p] != ':')
			break;
		p++;
	}
	return p < s.len && redact_is_name_char(s.ptr[p]) ? 0 : n;
}

/* Ethernet (6 bytes), EUI-64 (8) and InfiniBand (20) addresses. */
static size_t take_hardware(struct redactor *r, struct str s, size_t i, const char **ret)
{
	size_t n = hex_groups(s, i, 2), length = n * 3 - 1;
	if (n != 6 && n != 8 && n != 20)
		return 0;
	struct str text = str_slice(s, i, i + length);
	bool same = true;
	for (size_t k = 0; k < text.len; k++)
		same &= k % 3 == 2 || text.ptr[k] == text.ptr[0];
	if (same && (text.ptr[0] == '0' || text.ptr[0] == 'f' || text.ptr[0] == 'F'))
		return 0;
	size_t kept = n == 6 ? 0 : n == 8 ? 6 : 42; /* of a long address the last six bytes are told apart */
	const char *made = redact_stand_in(r, REDACT_MAC, str_skip(text, kept))->made;
	*ret = n == 8 ? arena_printf(r->arena, "02:00:%s", made)
		      : arena_printf(r->arena, "%s%s", n == 20 ? "00:00:00:00:fe:80:00:00:00:00:00:00:02:00:" : "", made);
	return length;
}

static size_t take_guid(struct redactor *r, struct str s, size_t i, const char **ret)
{
	size_t n = hex_groups(s, i, 4);
	if (n != 4 || memcmp(s.ptr + i, "0000:0000:0000:0000", 19) == 0)
		return 0;
	*ret = redact_stand_in(r, REDACT_GUID, str_slice(s, i, i + 19))->made;
	return 19;
}

static size_t take_ipv6(struct redactor *r, struct str s, size_t i, const char **ret)
{
	char text[48], made[INET6_ADDRSTRLEN];
	uint8_t b[16];
	size_t n = 0, first = 0, colons = 0;
	if (i && (redact_is_name_char(s.ptr[i - 1]) || s.ptr[i - 1] == ':' || s.ptr[i - 1] == '.'))
		return 0;
	while (i + n < s.len && n < sizeof text - 1 &&
		(redact_is_hex(s.ptr[i + n]) || s.ptr[i + n] == ':' || (s.ptr[i + n] == '.' && colons > 2))) {
		colons += s.ptr[i + n] == ':';
		first += !colons;
		n++;
	}
	while (n && (s.ptr[i + n - 1] == '.' || (n > 1 && s.ptr[i + n - 1] == ':' && s.ptr[i + n - 2] != ':')))
		n--;
	if (n < 6 || colons < 2 || (i + n < s.len && redact_is_name_char(s.ptr[i + n])))
		return 0;
	memcpy(text, s.ptr + i, n);
	text[n] = '\0';
	bool whole = n == 39, mapped = text[0] == ':';
	if ((first < 3 && !mapped) || inet_pton(AF_INET6, text, b) != 1 || !redact_ipv6(r, b))
		return 0;
	if (whole) {
		struct buf full = BUF_MAX(64);
		for (int k = 0; k < 16; k++)
			buf_fmt(&full, "%s%02x", k && k % 2 == 0 ? ":" : "", b[k]);
		*ret = arena_strdup(r->arena, full.ptr);
		buf_free(&full);
	} else {
		*ret = arena_strdup(r->arena, inet_ntop(AF_INET6, b, made, sizeof made) ? made : "::");
	}
	return n;
}

/* -- identifiers -------------------------------------------------------------------------------------------------------- */

static bool is_uuid(struct str s, size_t i)
{
	if (i + 36 > s.len)
		return false;
	for (size_t k = 0; k < 36; k++)
		if (k == 8 || k == 13 || k == 18 || k == 23 ? s.ptr[i + k] != s.ptr[i + 8] : !redact_is_hex(s.ptr[i + k]))
			return false;
	return s.ptr[i + 8] == '-' || s.ptr[i + 8] == '_'; /* names of systemd's slices have '_' */
}

static size_t take_uuid(struct redactor *r, struct str s, size_t i, const char **ret)
{
	if (!is_uuid(s, i) || (i + 36 < s.len && redact_is_hex(s.ptr[i + 36])) || memcmp(s.ptr + i, "00000000-0000-0000-0000-", 24) == 0)
		return 0;
	char *made = arena_strdup(r->arena, redact_stand_in(r, REDACT_UUID, str_slice(s, i, i + 36))->made);
	for (size_t k = 8; k < 36; k++)
		if (made[k] == '-')
			made[k] = s.ptr[i + 8];
	*ret = made;
	return 36;
}

/* CUDA_VISIBLE_DEVICES=GPU-5a7e: the beginning of a UUID that is known already. */
static size_t take_uuid_beginning(struct redactor *r, struct str s, size_t i, const char **ret)
{
	size_t n = 4;
	if (s.len - i < 8 || (memcmp(s.ptr + i, "GPU-", 4) != 0 && memcmp(s.ptr + i, "MIG-", 4) != 0) || is_uuid(s, i + 4))
		return 0;
	while (i + n < s.len && n < 39 && (redact_is_hex(s.ptr[i + n]) || s.ptr[i + n] == '-'))
		n++;
	if (n < 8 || (i + n < s.len && redact_is_name_char(s.ptr[i + n])))
		return 0;
	struct str beginning = str_slice(s, i + 4, i + n);
	const char *made = NULL;
	for (size_t b = 0; b < REDACT_BUCKETS && !made; b++)
		for (struct stand_in *k = r->bucket[b]; k && !made; k = k->next)
			if (k->kind == REDACT_UUID && k->text.len == 36 && memcmp(k->text.ptr, beginning.ptr, beginning.len) == 0)
				made = k->made;
	if (!made)
		made = redact_stand_in(r, REDACT_UUID, beginning)->made;
	*ret = arena_printf(r->arena, "%.4s%.*s", s.ptr + i, beginning.len < 8 ? 8 : (int)beginning.len,
		made); /* eight digits tell the numbers apart */
	return n;
}

/* Identifiers of containers: 64 hexadecimal digits. Hashes of files stay. */
static size_t take_hex(struct redactor *r, struct str s, size_t i, const char **ret)
{
	size_t n = 0;
	if (i && (redact_is_hex(s.ptr[i - 1]) || (i >= 7 && memcmp(s.ptr + i - 7, "sha256", 6) == 0)))
		return 0;
	while (i + n < s.len && redact_is_hex(s.ptr[i + n]))
		n++;
	if (n != 64)
		return 0;
	*ret = redact_stand_in(r, REDACT_HEX, str_slice(s, i, i + n))->made;
	return n;
}

static size_t take_instance(struct redactor *r, struct str s, size_t i, const char **ret)
{
	size_t n = 2;
	if (s.len - i < 10 || s.ptr[i] != 'i' || s.ptr[i + 1] != '-' || s.ptr[i + 2] != '0')
		return 0;
	while (i + n < s.len && redact_is_hex(s.ptr[i + n]))
		n++;
	if ((n != 19 && n != 10) || (i + n < s.len && redact_is_name_char(s.ptr[i + n])))
		return 0;
	*ret = redact_stand_in(r, REDACT_INSTANCE, str_slice(s, i, i + n))->made;
	return n;
}

static size_t take_token(struct redactor *r, struct str s, size_t i, const char **ret)
{
	static const char *const heads[] = {"hf_", "ghp_", "gho_", "ghs_", "ghu_", "github_pat_", "glpat-", "sk-", "xoxb-", "xoxp-", "AKIA",
		"ASIA", "eyJ", "wandb_v1_", "nvapi-", "pypi-", "dckr_pat_", "npm_"};
	for (size_t k = 0; k < sizeof heads / sizeof heads[0]; k++) {
		size_t n = strlen(heads[k]);
		if (s.len - i < n + 12 || memcmp(s.ptr + i, heads[k], n) != 0)
			continue;
		size_t p = i + n;
		bool odd = false;
		while (p < s.len && (redact_is_name_char(s.ptr[p]) || s.ptr[p] == '.')) {
			odd |= is_digit(s.ptr[p]) || (s.ptr[p] >= 'A' && s.ptr[p] <= 'Z');
			p++;
		}
		if (p - i < n + 12 || !odd)
			continue;
		*ret = redact_stand_in(r, REDACT_TOKEN, str_slice(s, i, p))->made;
		return p - i;
	}
	return 0;
}

static bool ends_name(struct str name, const char *word)
{
	size_t n = strlen(word);
	return name.len >= n && str_is_nocase(str_skip(name, name.len - n), word) &&
		(name.len == n || !is_letter(name.ptr[name.len - n - 1]));
}

static bool names_secret(struct str name)
{
	static const char *const words[] = {"token", "password", "passwd", "secret", "apikey", "api_key", "api-key", "access_key",
		"secret_key", "private_key", "credential", "credentials", "signature", "authorization", "bearer", "passphrase"};
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (ends_name(name, words[i]))
			return true;
	return false;
}

/* At the '=' or ':' after a name that says it: password=..., "api_key": "...". Gives where the value begins and ends. */
static bool find_secret(struct str s, size_t i, size_t *ret_from, size_t *ret_to)
{
	size_t start = i, from = i + 1;
	if (start && (s.ptr[start - 1] == '"' || s.ptr[start - 1] == '\''))
		start--;
	size_t end = start;
	while (start && redact_is_name_char(s.ptr[start - 1]) && end - start < 64)
		start--;
	if (start == end || !names_secret(str_slice(s, start, end)) || (i + 1 < s.len && s.ptr[i + 1] == s.ptr[i]))
		return false;
	while (from < s.len && from < i + 4 && (s.ptr[from] == ' ' || s.ptr[from] == '"' || s.ptr[from] == '\''))
		from++;
	for (int k = 0; k < 2; k++) /* "Authorization: Bearer ..." */
		if (str_starts(str_skip(s, from), k ? "Basic " : "Bearer "))
			from += k ? 6 : 7;
	size_t to = from;
	while (to < s.len && !strchr(" \t\r\n\"'&;,<>", s.ptr[to]) && s.ptr[to])
		to++;
	*ret_from = from;
	*ret_to = to;
	return to - from >= 6 && !str_starts(str_slice(s, from, to), "TOKEN-");
}

/* After "://": user:password@. Gives the length up to the '@'. */
static size_t credentials(struct str s, size_t i)
{
	size_t p = i;
	while (p < s.len && p - i < 512 && !strchr("/ \t\r\n\"'<>", s.ptr[p]) && s.ptr[p] && s.ptr[p] != '@')
		p++;
	if (p >= s.len || s.ptr[p] != '@' || p == i || (p - i == 3 && memcmp(s.ptr + i, "git", 3) == 0))
		return 0;
	return p - i;
}

/* In a URL of a private channel of conda: /t/TOKEN/. Gives the token's length. */
static size_t channel_token(struct str s, size_t i)
{
	size_t n = 0;
	if (!str_starts(str_skip(s, i), "/t/"))
		return 0;
	while (i + 3 + n < s.len && redact_is_name_char(s.ptr[i + 3 + n]))
		n++;
	return n >= 12 ? n : 0;
}

static bool is_public_host(struct str host)
{
	static const char *const known[] = {"pypi.org", "pythonhosted.org", "python.org", "pytorch.org", "nvidia.com", "github.com",
		"githubusercontent.com", "gitlab.com", "bitbucket.org", "anaconda.org", "anaconda.com", "conda.io", "huggingface.co",
		"hf-mirror.com", "amd.com", "radeon.com", "intel.com", "google.com", "googleapis.com", "readthedocs.io", "tsinghua.edu.cn",
		"ustc.edu.cn", "sjtu.edu.cn", "bfsu.edu.cn", "aliyun.com", "tencent.com", "tencentyun.com", "huaweicloud.com", "163.com",
		"douban.com", "modelscope.cn", "localhost"};
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		size_t n = strlen(known[i]);
		if (host.len >= n && str_is_nocase(str_skip(host, host.len - n), known[i]) &&
			(host.len == n || host.ptr[host.len - n - 1] == '.'))
			return true;
	}
	return false;
}

static size_t take_url_host(struct redactor *r, struct str s, size_t i, const char **ret)
{
	size_t n = 0;
	bool letters = false;
	while (i + n < s.len && (redact_is_name_char(s.ptr[i + n]) || s.ptr[i + n] == '.'))
		letters |= is_letter(s.ptr[i + n++]);
	if (!n || !letters || is_public_host(str_slice(s, i, i + n)))
		return 0;
	*ret = redact_name(r, REDACT_HOST, str_slice(s, i, i + n));
	return n;
}

static size_t take_home(struct redactor *r, struct str s, size_t i, const char **ret)
{
	size_t head = s.len - i > 6 && memcmp(s.ptr + i, "/home/", 6) == 0 ? 6
		: s.len - i > 7 && memcmp(s.ptr + i, "/Users/", 7) == 0    ? 7
									   : 0;
	if (!head || (i && (redact_is_name_char(s.ptr[i - 1]) || s.ptr[i - 1] == '.') && memcmp(s.ptr + i, "/home/", 6) != 0))
		return 0;
	size_t p = i + head;
	while (p < s.len && (redact_is_name_char(s.ptr[p]) || s.ptr[p] == '.' || s.ptr[p] == '@' || (unsigned char)s.ptr[p] >= 0x80))
		p++;
	struct str name = str_slice(s, i + head, p);
	if (!name.len || is_everybodys(name) ||
		(str_starts(name, "user") && name.len < 10 && strspn(name.ptr + 4, "0123456789") >= name.len - 4))
		return 0;
	*ret = arena_printf(r->arena, "%.*s%s", (int)head, s.ptr + i, redact_name(r, REDACT_USER, name));
	return p - i;
}

static size_t take_word(struct redactor *r, struct str s, size_t i, const char **ret)
{
	if (i && redact_is_name_char(s.ptr[i - 1]))
		return 0;
	for (size_t k = 0; k < r->word_count; k++) {
		const struct learned *w = &r->words[k];
		size_t end = i + w->text.len;
		if (w->text.ptr[0] != s.ptr[i] || end > s.len || memcmp(s.ptr + i, w->text.ptr, w->text.len) != 0 ||
			(end < s.len && redact_is_name_char(s.ptr[end])))
			continue;
		if (!w->anywhere && (!i || s.ptr[i - 1] != '/' || (end < s.len && s.ptr[end] != '/')))
			continue;
		*ret = w->made;
		return w->text.len;
	}
	return 0;
}

/* An address of mail, from its first byte. */
static size_t take_mail(struct redactor *r, struct str s, size_t i, const char **ret)
{
	size_t at = i, to, dot = 0;
	bool letters = false;
	while (at < s.len && at - i < 128 && (redact_is_name_char(s.ptr[at]) || s.ptr[at] == '.' || s.ptr[at] == '+'))
		letters |= is_letter(s.ptr[at++]);
	if (at >= s.len || s.ptr[at] != '@' || !letters)
		return 0;
	for (to = at + 1;
		to < s.len && (redact_is_name_char(s.ptr[to]) || (s.ptr[to] == '.' && to + 1 < s.len && is_letter(s.ptr[to + 1]))); to++)
		if (s.ptr[to] == '.')
			dot = to;
	struct str local = str_slice(s, i, at), domain = str_slice(s, at + 1, to);
	if (!dot || to - dot < 3 || str_is(local, "git") || str_is(domain, "example.com"))
		return 0;
	*ret = redact_stand_in(r, REDACT_MAIL, str_slice(s, i, to))->made;
	return to - i;
}

/* -- the text ------------------------------------------------------------------------------------------------------------ */

static size_t take(struct redactor *r, struct str s, size_t i, unsigned where, const char **ret)
{
	size_t n = 0;
	char c = s.ptr[i];
	bool begins = i == 0 || !redact_is_name_char(s.ptr[i - 1]);
	if (is_digit(c))
		n = take_ipv4(r, s, i, where, ret);
	if (!n && redact_is_hex(c) && begins && (n = take_hardware(r, s, i, ret)) == 0 && (n = take_guid(r, s, i, ret)) == 0)
		n = take_ipv6(r, s, i, ret);
	if (!n && c == ':' && begins)
		n = take_ipv6(r, s, i, ret);
	if (!n && redact_is_hex(c) && (n = take_uuid(r, s, i, ret)) == 0)
		n = take_hex(r, s, i, ret);
	if (!n && (c == 'G' || c == 'M') && begins)
		n = take_uuid_beginning(r, s, i, ret);
	if (!n && c == '/')
		n = take_home(r, s, i, ret);
	if (!n && begins && redact_is_name_char(c))
		n = take_mail(r, s, i, ret);
	if (!n && begins && is_letter(c) && (n = take_token(r, s, i, ret)) == 0 && c == 'i')
		n = take_instance(r, s, i, ret);
	if (!n && r->first[(unsigned char)c])
		n = take_word(r, s, i, ret);
	return n;
}

/* A secret that begins at or behind i: gives where it stands. */
static const char *secret_at(struct redactor *r, struct str text, size_t i, size_t *ret_from, size_t *ret_to)
{
	const char *with = NULL;
	char c = text.ptr[i];
	size_t n = 0;
	*ret_from = i;
	if ((c == '=' || c == ':') && find_secret(text, i, ret_from, ret_to))
		return redact_stand_in(r, REDACT_TOKEN, str_slice(text, *ret_from, *ret_to))->made;
	if (c == '/' && i > 1 && text.ptr[i - 1] == '/' && text.ptr[i - 2] == ':' && (n = credentials(text, i + 1)) > 0)
		*ret_from = i + 1;
	else if (c == '/' && (n = channel_token(text, i)) > 0)
		*ret_from = i + 3;
	*ret_to = *ret_from + n;
	if (n)
		return redact_stand_in(r, REDACT_TOKEN, str_slice(text, *ret_from, *ret_to))->made;
	if (is_letter(c) && (i == 0 || !redact_is_name_char(text.ptr[i - 1])))
		*ret_to = i + take_token(r, text, i, &with);
	return with;
}

struct str redact_secrets(struct redactor *r, struct str text)
{
	struct buf out = BUF_MAX(TEXT_MAX);
	size_t copied = 0;
	for (size_t i = 0; i < text.len; i++) {
		size_t from, to;
		const char *with = secret_at(r, text, i, &from, &to);
		if (!with || from < copied)
			continue;
		buf_str(&out, str_slice(text, copied, from));
		buf_text(&out, with);
		copied = to;
		i = copied - 1;
	}
	if (copied) {
		buf_str(&out, str_skip(text, copied));
		text = str_n(arena_strndup(r->arena, buf_view(&out).ptr, out.len), out.len);
	}
	buf_free(&out);
	return text;
}

static void add_quoted(struct buf *out, struct str word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@%+";
	bool quote = !word.len;
	for (size_t i = 0; i < word.len; i++)
		quote |= !word.ptr[i] || !strchr(plain, word.ptr[i]);
	if (!quote) {
		buf_str(out, word);
		return;
	}
	buf_char(out, '\'');
	for (size_t i = 0; i < word.len; i++)
		word.ptr[i] == '\'' ? buf_text(out, "'\\''") : buf_char(out, word.ptr[i]);
	buf_char(out, '\'');
}

const char *redact_command(struct redactor *r, const char *const *argv, size_t n)
{
	struct buf out = BUF_MAX((size_t)64 << 10);
	bool is_secret = false;
	for (size_t i = 0; i < n; i++) {
		struct str word = str_of(argv[i]);
		if (i)
			buf_char(&out, ' ');
		if (is_secret && word.len && word.ptr[0] != '-')
			buf_text(&out, redact_stand_in(r, REDACT_TOKEN, word)->made);
		else
			add_quoted(&out, redact_secrets(r, word));
		is_secret = word.len > 1 && word.ptr[0] == '-' && str_find_char(word, '=', 0) == SIZE_MAX && names_secret(word);
	}
	const char *text = arena_strndup(r->arena, buf_view(&out).ptr, out.len);
	buf_free(&out);
	return text;
}

struct str redact_text_where(struct redactor *r, struct str text, unsigned where)
{
	struct buf out = BUF_MAX(TEXT_MAX);
	size_t copied = 0;
	for (size_t i = 0; i < text.len; i++) {
		const char *with = NULL;
		size_t from = i, to = i, n;
		char c = text.ptr[i];
		if ((c == '=' || c == ':') && find_secret(text, i, &from, &to))
			with = redact_stand_in(r, REDACT_TOKEN, str_slice(text, from, to))->made;
		else if (c == '/' && i > 1 && text.ptr[i - 1] == '/' && text.ptr[i - 2] == ':' && (n = credentials(text, i + 1)) > 0) {
			from = i + 1;
			to = i + 1 + n;
			with = redact_stand_in(r, REDACT_TOKEN, str_slice(text, from, to))->made;
		} else if (c == '/' && (n = channel_token(text, i)) > 0) {
			from = i + 3;
			to = from + n;
			with = redact_stand_in(r, REDACT_TOKEN, str_slice(text, from, to))->made;
		} else if ((where & REDACT_URLS) && i > 2 && (text.ptr[i - 1] == '/' || text.ptr[i - 1] == '@') && redact_is_name_char(c) &&
			(memcmp(text.ptr + i - 3, "://", 3) == 0 || (text.ptr[i - 1] == '@' && copied == i - 1))) {
			to = i + take_url_host(r, text, i, &with);
		} else {
			to = i + take(r, text, i, where, &with);
		}
		if (!with || from < copied)
			continue;
		buf_str(&out, str_slice(text, copied, from));
		buf_text(&out, with);
		copied = to;
		i = copied - 1;
	}
	if (!copied) {
		buf_free(&out);
		return text;
	}
	buf_str(&out, str_skip(text, copied));
	struct str made = str_n(arena_strndup(r->arena, buf_view(&out).ptr, out.len), out.len);
	buf_free(&out);
	return made;
}

struct str redact_text(struct redactor *r, struct str text)
{
	return redact_text_where(r, text, 0);
}
