/* What a file says by its path, and a variable by its name. */
#include "host/redact_parts.h"

typedef void redact_place_fn(struct redactor *r, struct str text, struct buf *out);

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0';
}

/* Calls `word` for each word of each line; blanks stay as they are. */
static void each_word(struct redactor *r, struct str text, struct buf *out,
	void (*word)(struct redactor *r, struct str word, int number, struct buf *out))
{
	int number = 0;
	for (size_t i = 0; i < text.len;) {
		size_t n = 0;
		if (is_blank(text.ptr[i])) {
			number = text.ptr[i] == '\n' ? 0 : number;
			buf_char(out, text.ptr[i++]);
			continue;
		}
		while (i + n < text.len && !is_blank(text.ptr[i + n]))
			n++;
		word(r, str_slice(text, i, i + n), number++, out);
		i += n;
	}
}

static bool is_address(struct str s)
{
	size_t digits = 0;
	for (size_t i = 0; i < s.len; i++) {
		if (!redact_is_hex(s.ptr[i]) && s.ptr[i] != ':' && s.ptr[i] != '.' && s.ptr[i] != '%')
			return false;
		digits += s.ptr[i] >= '0' && s.ptr[i] <= '9';
	}
	return digits && (str_find_char(s, ':', 0) != SIZE_MAX || str_find_char(s, '.', 0) != SIZE_MAX);
}

/* A host by name or address. */
static void add_host(struct redactor *r, struct str s, struct buf *out)
{
	if (is_address(s))
		buf_str(out, redact_text_where(r, s, REDACT_ADDRESSES));
	else
		buf_text(out, redact_name(r, REDACT_HOST, s));
}

static void host_word(struct redactor *r, struct str word, int number, struct buf *out)
{
	(void)number;
	if (word.ptr[0] == '#')
		buf_char(out, '#');
	else
		add_host(r, word, out);
}

static void place_hosts(struct redactor *r, struct str text, struct buf *out)
{
	each_word(r, text, out, host_word);
}

/* "trainer-3 mlx5_0", as rdma-core's udev rule writes it; the adapter's default names no host. */
static void desc_word(struct redactor *r, struct str word, int number, struct buf *out)
{
	static const char *const plain[] = {"mlx", "MT", "Mellanox", "ConnectX", "Technologies", "Infiniscale", "HCA", "HCA-", "bnxt",
		"irdma", "rxe", "siw", "hns", "efa", "erdma"};
	for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
		if (number || str_starts(word, plain[i])) {
			buf_str(out, redact_text(r, word));
			return;
		}
	add_host(r, word, out);
}

static void place_node_desc(struct redactor *r, struct str text, struct buf *out)
{
	each_word(r, text, out, desc_word);
}

static void hex_word(struct redactor *r, struct str word, int number, struct buf *out)
{
	bool hex = word.len == 32;
	(void)number;
	for (size_t i = 0; i < word.len; i++)
		hex &= redact_is_hex(word.ptr[i]);
	if (hex)
		buf_text(out, redact_stand_in(r, REDACT_HEX, word)->made);
	else
		buf_str(out, redact_text(r, word));
}

static void place_machine_id(struct redactor *r, struct str text, struct buf *out)
{
	each_word(r, text, out, hex_word);
}

static bool hex_bytes(struct str s, uint8_t *p, size_t n)
{
	uint64_t v;
	for (size_t i = 0; i < n; i++) {
		if (s.len != 2 * n || str_to_hex(str_slice(s, 2 * i, 2 * i + 2), &v) < 0)
			return false;
		p[i] = (uint8_t)v;
	}
	return true;
}

/* /proc/net/if_inet6: the address first, as 32 digits. */
static void inet6_word(struct redactor *r, struct str word, int number, struct buf *out)
{
	uint8_t b[16];
	if (number || !hex_bytes(word, b, 16) || !redact_ipv6(r, b)) {
		buf_str(out, word);
		return;
	}
	for (int i = 0; i < 16; i++)
		buf_fmt(out, "%02x", b[i]);
}

static void place_inet6(struct redactor *r, struct str text, struct buf *out)
{
	each_word(r, text, out, inet6_word);
}

/* /proc/net/route: destination and gateway, little-endian. */
static void route_word(struct redactor *r, struct str word, int number, struct buf *out)
{
	uint8_t b[4], turned[4];
	bool address = (number == 1 || number == 2) && hex_bytes(word, b, 4);
	for (int i = 0; address && i < 4; i++)
		turned[i] = b[3 - i];
	if (address && redact_ipv4(r, turned))
		buf_fmt(out, "%02X%02X%02X%02X", turned[3], turned[2], turned[1], turned[0]);
	else
		buf_str(out, word);
}

static void place_route(struct redactor *r, struct str text, struct buf *out)
{
	each_word(r, text, out, route_word);
}

static void place_addresses(struct redactor *r, struct str text, struct buf *out)
{
	buf_str(out, redact_text_where(r, text, REDACT_ADDRESSES));
}

static void place_urls(struct redactor *r, struct str text, struct buf *out)
{
	buf_str(out, redact_text_where(r, text, REDACT_ADDRESSES | REDACT_URLS));
}

/* "nas01:/export", "//nas01/share" and username=, domain= among the options. */
static void mount_word(struct redactor *r, struct str word, int number, struct buf *out)
{
	size_t colon = str_find(word, ":/", 0), share = str_starts(word, "//") ? str_find_char(word, '/', 2) : SIZE_MAX;
	(void)number;
	if (colon != SIZE_MAX && colon > 0 && word.ptr[0] != '/' && str_find_char(word, '=', 0) == SIZE_MAX &&
		str_find_char(word, '@', 0) == SIZE_MAX && str_find_char(word, ',', 0) == SIZE_MAX) {
		add_host(r, str_slice(word, 0, colon), out);
		word = str_skip(word, colon);
	} else if (share != SIZE_MAX && share > 2) {
		buf_text(out, "//");
		add_host(r, str_slice(word, 2, share), out);
		word = str_skip(word, share);
	}
	struct str rest = word, field;
	for (bool first = true; str_next_field(&rest, ',', &field); first = false) {
		struct str key, value;
		if (!first)
			buf_char(out, ',');
		bool named = str_split(field, '=', &key, &value) && value.len;
		if (named && (str_is(key, "username") || str_is(key, "user") || str_is(key, "domain")))
			buf_fmt(out, "%.*s=%s", (int)key.len, key.ptr,
				redact_name(r, str_is(key, "domain") ? REDACT_NAME : REDACT_USER, value));
		else
			buf_str(out, redact_text_where(r, field, REDACT_ADDRESSES));
	}
}

static void place_mountinfo(struct redactor *r, struct str text, struct buf *out)
{
	each_word(r, text, out, mount_word);
}

static void place_cmdline(struct redactor *r, struct str text, struct buf *out)
{
	struct str rest = text, word;
	for (bool first = true; str_next_field(&rest, ' ', &word); first = false) {
		struct str key, value;
		if (!first)
			buf_char(out, ' ');
		if (str_split(word, '=', &key, &value) && value.len &&
			(str_is(key, "hostname") || str_is(key, "systemd.hostname") || str_is(key, "nfsroot") || str_is(key, "ip")))
			buf_fmt(out, "%.*s=-", (int)key.len, key.ptr);
		else
			buf_str(out, redact_text_where(r, word, REDACT_ADDRESSES | REDACT_URLS));
	}
}

/* Variables with a NUL after each: only those that a snapshot keeps. */
static void place_environ(struct redactor *r, struct str text, struct buf *out)
{
	struct str rest = text, one;
	while (str_next_field(&rest, '\0', &one)) {
		const char *name = arena_strndup(r->arena, one.ptr, one.len);
		if (!one.len || !redact_keeps_variable(name))
			continue;
		buf_str(out, redact_variable(r, one));
		buf_char(out, '\0');
	}
}

static const struct {
	const char *end; /* of the path; ending with '/': anywhere in it */
	redact_place_fn *place;
} places[] = {
	{"/etc/hosts", place_hosts},
	{"/etc/hostname", place_hosts},
	{"/proc/sys/kernel/hostname", place_hosts},
	{"/node_desc", place_node_desc},
	{"/etc/machine-id", place_machine_id},
	{"/proc/net/if_inet6", place_inet6},
	{"/proc/net/route", place_route},
	{"/proc/net/fib_trie", place_addresses},
	{"/etc/nccl.conf", place_addresses},
	{"/.nccl.conf", place_addresses},
	{"/mountinfo", place_mountinfo},
	{"/proc/cmdline", place_cmdline},
	{"/environ", place_environ},
	{"/direct_url.json", place_urls},
	{"/pip.conf", place_urls},
	{"/.pip/pip.conf", place_urls},
	{"/uv.toml", place_urls},
	{"/.condarc", place_urls},
	{"/INSTALLER", place_urls},
};

struct str redact_file(struct redactor *r, const char *path, struct str contents)
{
	struct str p = str_of(path);
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		if (!str_ends(p, places[i].end))
			continue;
		struct buf out = BUF_MAX((size_t)64 << 20);
		places[i].place(r, contents, &out);
		struct str made = str_n(arena_strndup(r->arena, buf_view(&out).ptr, out.len), out.len);
		buf_free(&out);
		return made;
	}
	return redact_text(r, contents);
}

/* -- variables ---------------------------------------------------------------------------------------------------------- */

/* Slurm's "trainer[01-08,12],login1": the name before the brackets, each time. */
static void add_host_list(struct redactor *r, struct str s, struct buf *out)
{
	size_t from = 0;
	int depth = 0;
	if (is_address(s) || (s.len && s.ptr[0] == '[')) {
		buf_str(out, redact_text_where(r, s, REDACT_ADDRESSES));
		return;
	}
	for (size_t i = 0; i <= s.len; i++) {
		char c = i < s.len ? s.ptr[i] : ',';
		if (depth == 0 && (c == '[' || c == ',' || c == ' ' || c == ':')) {
			struct str name = str_slice(s, from, i);
			if (is_address(name) || (name.len && name.ptr[0] >= '0' && name.ptr[0] <= '9' && c != '['))
				buf_str(out, redact_text_where(r, name, REDACT_ADDRESSES));
			else if (name.len)
				buf_text(out, redact_name(r, REDACT_HOST, name));
			from = i;
		}
		depth += c == '[';
		if (depth && c == ']') {
			buf_str(out, str_slice(s, from, i + 1));
			from = i + 1;
			depth--;
		}
		if (i < s.len && depth == 0 && (c == ',' || c == ' ' || c == ':')) {
			buf_char(out, c);
			from = i + 1;
		}
	}
	buf_str(out, str_skip(s, from < s.len ? from : s.len));
}

static bool name_ends(struct str name, const char *const *ends)
{
	for (; *ends; ends++)
		if (str_ends(name, *ends))
			return true;
	return false;
}

struct str redact_variable(struct redactor *r, struct str text)
{
	static const char *const users[] = {"USER", "LOGNAME", "USERNAME", "SLURM_JOB_USER", NULL};
	static const char *const lists[] = {"NODELIST", "_HOSTS", "HOSTLIST", "LSB_HOSTS", "SRUN_COMM_HOST", "_HOST", "HOSTNAME",
		"NODENAME", "NODE_NAME", "MASTER_ADDR", "MASTER_NODE", "_IPADDR", "O_SERVER", "TOPOLOGY_ADDR", "WORKER_HOSTNAMES",
		"RDZV_ENDPOINT", "_HOSTFILE_NODES", NULL};
	static const char *const names[] = {"JOB_NAME", "JOB_ACCOUNT", "ACCOUNT", "CLUSTER_NAME", "PARTITION", "RESERVATION", "JOB_QOS",
		"JOBNAME", "QUEUE", "PROJECT", "PBS_JOBID", NULL};
	static const char *const urls[] = {"URL", "HOST", "PROXY", "ENDPOINT", NULL};
	size_t eq = str_find_char(text, '=', 0);
	if (eq == SIZE_MAX)
		return redact_text(r, text);
	struct str name = str_slice(text, 0, eq), value = str_skip(text, eq + 1);
	struct buf out = BUF_MAX((size_t)4 << 20);
	bool scheduler = str_starts(name, "SLURM") || str_starts(name, "PBS") || str_starts(name, "LSB") || str_starts(name, "FLUX") ||
		str_starts(name, "RAY") || str_starts(name, "KUBERNETES");
	buf_str(&out, str_slice(text, 0, eq + 1));
	if (name_ends(name, users))
		buf_text(&out, redact_name(r, REDACT_USER, value));
	else if (str_find(value, "://", 0) != SIZE_MAX || str_starts(name, "PIP_") || str_starts(name, "UV_") ||
		name_ends(name, urls) == true)
		str_find(value, "://", 0) == SIZE_MAX &&name_ends(name, lists)
			? add_host_list(r, value, &out)
			: buf_str(&out, redact_text_where(r, value, REDACT_ADDRESSES | REDACT_URLS));
	else if (name_ends(name, lists))
		add_host_list(r, value, &out);
	else if (scheduler && name_ends(name, names))
		buf_text(&out, redact_name(r, REDACT_NAME, value));
	else
		buf_str(&out, redact_text_where(r, value, str_ends(name, "VERSION") ? 0 : REDACT_ADDRESSES));
	struct str made = str_n(arena_strndup(r->arena, out.ptr, out.len), out.len);
	buf_free(&out);
	return made;
}

bool redact_keeps_variable(const char *text)
{
	static const char *const prefixes[] = {"NCCL_", "RCCL_", "TORCH", "PYTORCH_", "CUDA_", "CUDNN_", "NVIDIA_", "NV_", "GLOO_", "UCX_",
		"OMPI_", "PMI", "PMIX_", "PET_", "I_MPI_", "HCCL_", "ASCEND_", "MLU_", "MUSA_", "MTHREADS_", "HIP_", "ROCR_", "ROCM_",
		"HSA_", "ZE_", "ONEAPI_", "CCL_", "FI_", "OFI_", "MASTER_", "LOCAL_", "GROUP_", "ROLE_", "WORLD_SIZE", "RANK", "NODE_RANK",
		"LD_", "PYTHON", "SLURM", "CONDA_", "VIRTUAL_ENV", "PYENV_", "UV_", "PIP_", "OMP_", "MKL_", "KMP_", "OPENBLAS", "TRITON_",
		"DS_", "DEEPSPEED", "ACCELERATE_", "VLLM_", "RAY_", "JAVA_HOME=", "PATH=", "HOME=", "LANG", "LC_", "container",
		"KUBERNETES_SERVICE", "USE_", "MAX_JOBS", "TMPDIR", "XDG_", "PBS_", "LSB_", "FLUX_", "TPU_", "NEURON_", "HABANA", "HLS_",
		"ACLNN", "TASK_QUEUE_", "LCCL_", "MSCCL", "IBV_", "RDMA", "MLX5_", "SHARP_", "WSL", "DAVY_", "NO_COLOR", "TERM="};
	static const char *const secrets[] = {"TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "CREDENTIAL", "ACCESS_KEY", "PRIVATE_KEY",
		"PASSPHRASE", "_AUTH", "_PASS", "COOKIE"};
	size_t n = strcspn(text, "=");
	struct str name = str_n(text, n);
	for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++)
		if (str_has(name, secrets[i]))
			return false;
	if (str_ends(name, "_KEY") || str_ends(name, "_PAT"))
		return false;
	for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
		if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}
