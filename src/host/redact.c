#include "host/redact.h"

#include "host/door.h"

#define WORDS_MAX 512

struct word {
	struct str text;
	const char *stand_in;
};

struct redactor {
	struct arena *arena;
	struct word words[WORDS_MAX];
	size_t count;
	int hosts, users, addresses, macs, serials, tokens;
};

static bool name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static const char *stand_in(struct redactor *r, struct str text, const char *fmt, int *counter)
{
	for (size_t i = 0; i < r->count; i++)
		if (str_eq(r->words[i].text, text))
			return r->words[i].stand_in;
	++*counter;
	const char *made = strcmp(fmt, "host") == 0 ? arena_printf(r->arena, "host-%d", *counter)
		: strcmp(fmt, "user") == 0           ? arena_printf(r->arena, "user%d", *counter)
		: strcmp(fmt, "mac") == 0            ? arena_printf(r->arena, "02:00:00:00:%02x:%02x", *counter >> 8 & 0xff, *counter & 0xff)
		: strcmp(fmt, "token") == 0          ? arena_printf(r->arena, "TOKEN-%d", *counter)
						     : arena_printf(r->arena, "%s-%d", fmt, *counter);
	if (r->count < WORDS_MAX)
		r->words[r->count++] = (struct word){str_n(arena_strndup(r->arena, text.ptr, text.len), text.len), made};
	return made;
}

void redactor_learn(struct redactor *r, const char *kind, struct str text)
{
	static const char *const harmless[] = {"localhost", "root", "home", "user", "users", "ubuntu", "linux", "none", "gpu", "node", "host", "master", "worker", "train", "python", "torch", "cuda", "conda", "debian", "docker", "nobody"};
	if (text.len < 3 || text.len > 253)
		return;
	for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
		if (str_is(text, harmless[i]))
			return;
	stand_in(r, text, kind, strcmp(kind, "host") == 0 ? &r->hosts : &r->users);
}

struct redactor *redactor_new_plain(struct arena *a)
{
	struct redactor *r = arena_alloc(a, sizeof *r);
	r->arena = a;
	return r;
}

static void learn_home(struct redactor *r, const char *path)
{
	if (path && (strncmp(path, "/home/", 6) == 0 || strncmp(path, "/Users/", 7) == 0)) {
		struct str rest = str_of(strchr(path + 1, '/') + 1), name;
		if (str_next_field(&rest, '/', &name))
			redactor_learn(r, "user", name);
	}
}

struct redactor *redactor_new(struct host *h)
{
	struct redactor *r = redactor_new_plain(h->arena);
	if (h->has_uname) {
		struct str name = str_of(h->uname.nodename);
		redactor_learn(r, "host", name);
		size_t dot = str_find_char(name, '.', 0);
		if (dot != SIZE_MAX)
			redactor_learn(r, "host", str_slice(name, 0, dot));
	}
	static const char *const users[] = {"USER", "LOGNAME", "SUDO_USER", "USERNAME"};
	for (size_t i = 0; i < sizeof users / sizeof users[0]; i++)
		if (host_env(h, users[i]))
			redactor_learn(r, "user", str_of(host_env(h, users[i])));
	learn_home(r, host_env(h, "HOME"));
	learn_home(r, h->cwd);
	static const char *const hosts[] = {"HOSTNAME", "SLURMD_NODENAME", "MASTER_ADDR", "SLURM_LAUNCH_NODE_IPADDR"};
	for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
		const char *v = host_env(h, hosts[i]);
		if (v && *v && !is_digit(v[strlen(v) - 1]) && strcmp(v, "localhost") != 0)
			redactor_learn(r, "host", str_of(v));
	}
	/* Names in /etc/hosts beyond the usual ones. */
	struct answer *a = memory_find(&h->memory, ANSWER_FILE, "/etc/hosts");
	if (a && !a->error) {
		struct str rest = a->data, line, word;
		while (str_next_line(&rest, &line)) {
			if (!line.len || line.ptr[0] == '#' || !str_next_word(&line, &word))
				continue;
			while (str_next_word(&line, &word) && word.ptr[0] != '#')
				if (!str_starts(word, "ip6-") && !str_starts(word, "localhost"))
					redactor_learn(r, "host", word);
		}
	}
	return r;
}

/* -- one place in a text ------------------------------------------------------------------------------------------------
 * Each recogniser looks at s[i..] where no word is running and gives the length it takes, or 0. */

static size_t take_ipv4(struct redactor *r, struct str s, size_t i, const char **ret)
{
	unsigned part[4];
	size_t p = i;
	if (i && (is_digit(s.ptr[i - 1]) || s.ptr[i - 1] == '.'))
		return 0;
	for (int k = 0; k < 4; k++) {
		unsigned v = 0;
		size_t start = p;
		while (p < s.len && is_digit(s.ptr[p]) && p - start < 3)
			v = v * 10 + (unsigned)(s.ptr[p++] - '0');
		if (p == start || v > 255 || (k < 3 && (p >= s.len || s.ptr[p] != '.')))
			return 0;
		part[k] = v;
		p += k < 3;
	}
	if (p < s.len && (is_digit(s.ptr[p]) || (s.ptr[p] == '.' && p + 1 < s.len && is_digit(s.ptr[p + 1])) || name_char(s.ptr[p])))
		return 0;
	/* Loopback, any, link-local, netmasks and network addresses decide and tell nothing; versions ("12.4.1.0") begin with small numbers rarely followed by large. */
	if (part[0] == 127 || part[0] == 0 || part[0] == 255 || (part[0] == 169 && part[1] == 254) || (part[0] == 172 && part[1] == 17) || part[3] == 0 || part[3] == 255)
		return 0;
	bool is_private = part[0] == 10 || (part[0] == 192 && part[1] == 168) || (part[0] == 172 && part[1] >= 16 && part[1] < 32) || (part[0] == 100 && part[1] >= 64 && part[1] < 128);
	if (!is_private && part[0] < 20) /* most likely a version */
		return 0;
	struct str text = str_slice(s, i, p);
	for (size_t k = 0; k < r->count; k++) {
		if (str_eq(r->words[k].text, text)) {
			*ret = r->words[k].stand_in;
			return p - i;
		}
	}
	/* The network stays for private addresses, the host part becomes a number. */
	int n = ++r->addresses;
	const char *made = is_private ? arena_printf(r->arena, "%u.%u.%u.%d", part[0], part[1], part[2], n % 254 + 1) : arena_printf(r->arena, "203.0.113.%d", n % 254 + 1);
	if (r->count < WORDS_MAX)
		r->words[r->count++] = (struct word){str_n(arena_strndup(r->arena, text.ptr, text.len), text.len), made};
	*ret = made;
	return p - i;
}

static size_t take_mac(struct redactor *r, struct str s, size_t i, const char **ret)
{
	if (i + 17 > s.len || (i && (is_hex(s.ptr[i - 1]) || s.ptr[i - 1] == ':')))
		return 0;
	for (size_t k = 0; k < 17; k++)
		if (k % 3 == 2 ? s.ptr[i + k] != ':' : !is_hex(s.ptr[i + k]))
			return 0;
	if (i + 17 < s.len && (s.ptr[i + 17] == ':' || is_hex(s.ptr[i + 17])))
		return 0;
	if (memcmp(s.ptr + i, "00:00:00:00:00:00", 17) == 0 || memcmp(s.ptr + i, "ff:ff:ff:ff:ff:ff", 17) == 0)
		return 0;
	*ret = stand_in(r, str_slice(s, i, i + 17), "mac", &r->macs);
	return 17;
}

static size_t take_token(struct redactor *r, struct str s, size_t i, const char **ret)
{
	static const char *const heads[] = {"hf_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "sk-", "xoxb-", "xoxp-", "AKIA", "ASIA", "eyJhbGciOi", "wandb_v1_", "nvapi-"};
	for (size_t k = 0; k < sizeof heads / sizeof heads[0]; k++) {
		size_t n = strlen(heads[k]);
		if (s.len - i < n + 12 || memcmp(s.ptr + i, heads[k], n) != 0)
			continue;
		size_t p = i + n;
		while (p < s.len && (name_char(s.ptr[p]) || s.ptr[p] == '.'))
			p++;
		if (p - i < n + 12)
			continue;
		*ret = stand_in(r, str_slice(s, i, p), "token", &r->tokens);
		return p - i;
	}
	return 0;
}

static size_t take_uuid(struct redactor *r, struct str s, size_t i, const char **ret)
{
	size_t head = s.len - i > 4 && (memcmp(s.ptr + i, "GPU-", 4) == 0 || memcmp(s.ptr + i, "MIG-", 4) == 0) ? 4 : 0;
	if (!head || i + head + 36 > s.len)
		return 0;
	for (size_t k = 0; k < 36; k++) {
		bool dash = k == 8 || k == 13 || k == 18 || k == 23;
		if (dash ? s.ptr[i + head + k] != '-' : !is_hex(s.ptr[i + head + k]))
			return 0;
	}
	int n = r->serials;
	const char *name = stand_in(r, str_slice(s, i, i + head + 36), "uuid", &r->serials);
	(void)n;
	*ret = arena_printf(r->arena, "%.*s00000000-0000-0000-0000-%012d", (int)head, s.ptr + i, (int)strtol(strchr(name, '-') + 1, NULL, 10));
	return head + 36;
}

static size_t take_home(struct redactor *r, struct str s, size_t i, const char **ret)
{
	size_t head = s.len - i > 6 && memcmp(s.ptr + i, "/home/", 6) == 0 ? 6 : s.len - i > 7 && memcmp(s.ptr + i, "/Users/", 7) == 0 ? 7 : 0;
	if (!head)
		return 0;
	size_t p = i + head;
	while (p < s.len && (name_char(s.ptr[p]) || s.ptr[p] == '.' || s.ptr[p] == '@'))
		p++;
	if (p == i + head)
		return 0;
	struct str name = str_slice(s, i + head, p);
	if (str_is(name, "user") || str_starts(name, "user1") || str_is(name, "runner"))
		return 0;
	*ret = arena_printf(r->arena, "%.*s%s", (int)head, s.ptr + i, stand_in(r, name, "user", &r->users));
	return p - i;
}

static size_t take_word(struct redactor *r, struct str s, size_t i, const char **ret)
{
	if (i && name_char(s.ptr[i - 1]))
		return 0;
	for (size_t k = 0; k < r->count; k++) {
		struct str w = r->words[k].text;
		if (!w.len || is_digit(w.ptr[0]) || w.ptr[0] != s.ptr[i] || s.len - i < w.len || memcmp(s.ptr + i, w.ptr, w.len) != 0)
			continue;
		if (i + w.len < s.len && name_char(s.ptr[i + w.len]))
			continue;
		*ret = r->words[k].stand_in;
		return w.len;
	}
	return 0;
}

struct str redact_text(struct redactor *r, struct str text)
{
	struct buf out = BUF_MAX((size_t)64 << 20);
	size_t copied = 0;
	for (size_t i = 0; i < text.len; i++) {
		const char *with = NULL;
		size_t n = 0;
		char c = text.ptr[i];
		if (is_digit(c))
			n = take_ipv4(r, text, i, &with);
		if (!n && is_hex(c))
			n = take_mac(r, text, i, &with);
		if (!n && c == '/')
			n = take_home(r, text, i, &with);
		if (!n && (c == 'G' || c == 'M'))
			n = take_uuid(r, text, i, &with);
		if (!n && (i == 0 || !name_char(text.ptr[i - 1])))
			n = take_token(r, text, i, &with);
		if (!n && name_char(c))
			n = take_word(r, text, i, &with);
		if (!n)
			continue;
		buf_str(&out, str_slice(text, copied, i));
		buf_text(&out, with);
		copied = i + n;
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

bool redact_keeps_variable(const char *text)
{
	static const char *const prefixes[] = {"NCCL_", "RCCL_", "TORCH", "PYTORCH_", "CUDA_", "CUDNN_", "NVIDIA_", "NV_", "GLOO_", "UCX_", "OMPI_", "PMI", "PMIX_", "PET_", "I_MPI_", "HCCL_", "ASCEND_", "MLU_", "MUSA_", "MTHREADS_", "HIP_", "ROCR_", "ROCM_", "HSA_", "ZE_", "ONEAPI_", "CCL_", "FI_", "OFI_", "MASTER_", "LOCAL_", "GROUP_", "ROLE_", "WORLD_SIZE", "RANK", "NODE_RANK", "LD_", "PYTHON", "SLURM", "CONDA_", "VIRTUAL_ENV", "PYENV_", "UV_", "PIP_", "OMP_", "MKL_", "KMP_", "OPENBLAS", "TRITON_", "DS_", "DEEPSPEED", "ACCELERATE_", "VLLM_", "RAY_", "JAVA_HOME=", "PATH=", "HOME=", "LANG", "LC_", "container", "KUBERNETES_SERVICE", "USE_", "MAX_JOBS", "TMPDIR", "XDG_", "PBS_", "LSB_", "FLUX_", "TPU_", "NEURON_", "HABANA", "HLS_", "ACLNN", "TASK_QUEUE_", "LCCL_", "MSCCL", "IBV_", "RDMA", "MLX5_", "SHARP_", "WSL", "DAVY_", "NO_COLOR", "TERM="};
	static const char *const secrets[] = {"TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "CREDENTIAL", "ACCESS_KEY", "PRIVATE_KEY"};
	size_t n = strcspn(text, "=");
	struct str name = str_n(text, n);
	for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++)
		if (str_has(name, secrets[i]))
			return false;
	for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
		if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}
