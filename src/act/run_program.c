#include "act/run_program.h"

#define SCRIPT_MAX ((size_t)1 << 20)
#define WORDS_MAX 64

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* python, python3, python3.11, pypy3 */
static bool is_python(const char *word)
{
	const char *name = base_name(word);
	size_t n = strncmp(name, "python", 6) == 0 ? 6 : strncmp(name, "pypy", 4) == 0 ? 4 : 0;
	return n && strspn(name + n, "0123456789.") == strlen(name + n);
}

static bool is_launcher(const char *word)
{
	static const char *const names[] = {"torchrun", "accelerate", "deepspeed", "torch.distributed.run", "torch.distributed.launch"};
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(base_name(word), names[i]) == 0)
			return true;
	return false;
}

/* As the shell finds it: a path, or the first of PATH. NULL: not found. */
static const char *find_program(struct arena *a, struct host *h, const char *word)
{
	struct str rest = str_of(host_env(h, "PATH")), folder;
	const char *cwd = host_cwd(h);
	if (strchr(word, '/'))
		return word[0] == '/' || !cwd ? word : arena_printf(a, "%s/%s", cwd, word);
	while (rest.ptr && str_next_field(&rest, ':', &folder)) {
		struct host_stat st;
		const char *path = arena_printf(a, "%.*s/%s", (int)folder.len, folder.ptr, word);
		if (folder.len && folder.ptr[0] == '/' && host_stat(h, path, &st) == 0 && st.kind == HOST_FILE && (st.mode & 0111))
			return path;
	}
	return NULL;
}

/* -- the script's words -------------------------------------------------------------------------------------------------- */

/* A statement at the beginning of a line is not inside a try, an if or a function. */
static bool imports_torch(struct str text)
{
	struct str line;
	while (str_next_line(&text, &line)) {
		if (!str_starts(line, "import torch") && !str_starts(line, "from torch"))
			continue;
		struct str rest = str_skip(line, line.ptr[0] == 'i' ? 12 : 10);
		if (!rest.len || strchr(" .,;#\t", rest.ptr[0]))
			return true;
	}
	return false;
}

static bool quotes(struct str text, const char *word)
{
	char with[2][32];
	snprintf(with[0], sizeof with[0], "\"%s", word);
	snprintf(with[1], sizeof with[1], "'%s", word);
	return str_has(text, with[0]) || str_has(text, with[1]);
}

static void read_text(struct run_program *p, struct str text)
{
	bool guarded = str_has(text, "is_available(") || str_has(text, "is_nccl_available") || str_has(text, "except "),
	     nccl = quotes(text, "nccl"), gloo = quotes(text, "gloo");
	/* "import torch" may also stand behind a semicolon, in a text of -c. */
	p->needs_torch |= imports_torch(text) && !str_has(text, "except ");
	p->needs_distributed |= p->needs_torch && str_has(text, "init_process_group(") && !guarded;
	p->needs_nccl |= p->needs_distributed && nccl && !gloo;
	p->only_gloo |= gloo && !nccl;
}

static void read_script(struct run_program *p, struct arena *a, struct host *h, const char *word)
{
	struct str text;
	const char *path = word[0] == '/' || !host_cwd(h) ? word : arena_printf(a, "%s/%s", host_cwd(h), word);
	struct host_stat st;
	if (host_stat(h, path, &st) < 0 || st.kind != HOST_FILE)
		return;
	p->script = path;
	if (host_read_head(h, path, SCRIPT_MAX, &text) == 0)
		read_text(p, text);
}

/* Behind the interpreter: options, then a file, -c TEXT or -m MODULE. */
static void read_python(struct run_program *p, struct arena *a, struct host *h, const char *const *argv, size_t n)
{
	size_t i = 0;
	for (; i < n && argv[i][0] == '-' && argv[i][1]; i++) {
		if (strcmp(argv[i], "-c") == 0) {
			if (i + 1 < n)
				read_text(p, str_of(argv[i + 1]));
			return;
		}
		if (strcmp(argv[i], "-m") == 0) {
			p->launcher = i + 1 < n && is_launcher(argv[i + 1]);
			i += 2;
			break;
		}
		i += strcmp(argv[i], "-W") == 0 || strcmp(argv[i], "-X") == 0;
	}
	/* A launcher's script is the first word that names a Python file: its own options take words too. */
	for (; p->launcher && i < n && !str_ends(str_of(argv[i]), ".py"); i++)
		;
	if (i < n)
		read_script(p, a, h, argv[i]);
}

struct run_program run_program_read(struct arena *a, struct host *h, const char *const *argv, size_t n)
{
	struct run_program p = {0};
	/* env, numactl, srun, mpirun, nsys, ...: the interpreter stands among their words. A shell's script is not read: what it runs is
	 * its own affair. */
	for (size_t i = 0; i < n && i < WORDS_MAX; i++) {
		if (!is_python(argv[i]) && !is_launcher(argv[i]))
			continue;
		p.python = find_program(a, h, argv[i]);
		p.launcher = is_launcher(argv[i]);
		read_python(&p, a, h, argv + i + 1, n - i - 1);
		p.needs_torch |= p.launcher;
		break;
	}
	return p;
}

/* -- what stops a start -------------------------------------------------------------------------------------------------- */

enum needs { NEEDS_TORCH = 1, NEEDS_DISTRIBUTED = 2, NEEDS_NCCL = 4 };

/* With these, importing torch fails, or the back end cannot be had. Whatever else is wrong may not hurt what runs. */
static const struct {
	const char *cause; /* ending with '.': all of that stage */
	unsigned who;
} stops[] = {
	{"torch.not-installed", NEEDS_TORCH},
	{"torch.install-damaged", NEEDS_TORCH},
	{"library.file-damaged", NEEDS_TORCH},
	{"library.glibc-too-old", NEEDS_TORCH},
	{"library.libstdcxx-too-old", NEEDS_TORCH},
	{"library.mkl-too-new", NEEDS_TORCH},
	{"library.nccl-missing", NEEDS_TORCH},
	{"library.nccl-too-old", NEEDS_TORCH},
	{"library.cudart-missing", NEEDS_TORCH},
	{"library.nvjitlink-shadowed", NEEDS_TORCH},
	{"torch.distributed-not-built", NEEDS_DISTRIBUTED},
	{"torch.cpu-build", NEEDS_NCCL},
	{"torch.nccl-not-built", NEEDS_NCCL},
	{"torch.wrong-accelerator-build", NEEDS_NCCL},
	{"accelerator.wrong-backend", NEEDS_NCCL},
	{"driver.", NEEDS_NCCL},
	{"gpu.", NEEDS_NCCL},
	{"container.", NEEDS_NCCL},
};

static bool concerns(const struct run_program *p, const struct finding *f)
{
	unsigned has = (p->needs_torch ? NEEDS_TORCH : 0u) | (p->needs_distributed || p->launcher ? NEEDS_DISTRIBUTED : 0u) |
		(p->needs_nccl ? NEEDS_NCCL : 0u);
	for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++) {
		size_t n = strlen(stops[i].cause);
		if ((stops[i].cause[n - 1] == '.' ? strncmp(f->cause, stops[i].cause, n) : strcmp(f->cause, stops[i].cause)) == 0)
			return has & stops[i].who;
	}
	return false;
}

const struct finding *run_program_stop(const struct run_program *p, const struct judgement *j, bool asked)
{
	for (const struct finding *f = j->findings; f; f = f->next) {
		if (f->status != STATUS_FAIL)
			continue;
		if (asked ? f->certainty != POSSIBLE : f->certainty == CERTAIN && concerns(p, f))
			return f;
	}
	return NULL;
}
