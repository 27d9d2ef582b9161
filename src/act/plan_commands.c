/* The commands of a plan. */
#include "act/plan_parts.h"

#include "base/version.h"

const char *plan_tr(const struct judge *j, const char *english, const char *chinese)
{
	return j->chinese ? chinese : english;
}

const char *plan_one(struct judge *j, const char *sql)
{
	return store_first_text(j->store, j->arena, sql);
}

const char *plan_word(struct judge *j, const char *text)
{
	size_t plain = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=+,@%^-");
	struct buf b = BUF_MAX(65536);
	if (*text && !text[plain])
		return text;
	buf_char(&b, '\'');
	for (const char *p = text; *p; p++)
		if (*p == '\'')
			buf_text(&b, "'\\''");
		else
			buf_char(&b, *p == '\n' || *p == '\r' ? ' ' : *p);
	buf_char(&b, '\'');
	const char *made = arena_strndup(j->arena, b.ptr, b.len);
	buf_free(&b);
	return made;
}

void plan_add(struct plan_list *l, const char *fmt, ...)
{
	va_list ap;
	if (!l->items || l->n + 1 >= l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 16;
		const char **fresh = arena_array(l->arena, cap, sizeof *fresh);
		if (l->n)
			memcpy(fresh, l->items, l->n * sizeof *fresh);
		l->items = fresh;
		l->cap = cap;
	}
	va_start(ap, fmt);
	l->items[l->n++] = arena_vprintf(l->arena, fmt, ap);
	va_end(ap);
	l->items[l->n] = NULL;
}

const char *const *plan_items(const struct plan_list *l)
{
	static const char *const none[] = {NULL};
	return l->items ? l->items : none;
}

/* -- mirrors -------------------------------------------------------------------------------------------------------------- */

static bool is_plain_url(const char *s)
{
	bool http = strncmp(s, "https://", 8) == 0 || strncmp(s, "http://", 7) == 0;
	return http && s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:+,@%-~")] == '\0' && strlen(s) > 10;
}

static const char *column(struct judge *j, const struct store_query *q, int i)
{
	const char *text = store_text(q, i);
	return text && *text && strcmp(text, "-") != 0 ? arena_strdup(j->arena, text) : NULL;
}

bool plan_mirror_find(struct judge *j, const char *name, struct plan_mirror *ret)
{
	struct store_query *q;
	*ret = (struct plan_mirror){.title = name};
	if (is_plain_url(name)) {
		ret->name = ret->pypi = name;
		return true;
	}
	if (store_prepare(j->store,
		    "SELECT name, title, title_zh, pypi, pytorch, pytorch_kind = 'links', conda, nvcr FROM k_mirror WHERE ?1 <> '' AND (lower(?1) IN (name, alias, lower(title), lower(title_zh)) OR title_zh LIKE ?1 || '%')",
		    &q, NULL) < 0)
		return false;
	store_bind_text(q, 1, name);
	bool found = store_step(q) > 0;
	if (found)
		*ret = (struct plan_mirror){.name = column(j, q, 0),
			.title = column(j, q, j->chinese ? 2 : 1),
			.pypi = column(j, q, 3),
			.pytorch = column(j, q, 4),
			.links = store_int(q, 5) != 0,
			.conda = column(j, q, 6),
			.nvcr = column(j, q, 7)};
	store_finish(q);
	return found;
}

const char *plan_mirror_names(struct judge *j)
{
	const char *names = plan_one(j, "SELECT group_concat(name, ', ') FROM (SELECT name FROM k_mirror ORDER BY rowid)");
	return names ? names : "";
}

/* Does PyPI itself have this variant, so that a mirror of PyPI is enough? */
static bool is_on_pypi(struct judge *j, const struct plan_candidate *b)
{
	return plan_one(j,
		       arena_printf(j->arena, "SELECT 1 FROM k_torch_release WHERE torch = '%s' AND variant = '%s' AND default_pypi = 1",
			       b->torch, b->variant)) != NULL;
}

/* A mirror of PyPI alone, and a build that PyPI does not have: torch comes from its own index. */
static const char *mirror_note(struct judge *j, const struct plan *p)
{
	const struct plan_mirror *m = p->mirror;
	if (!m || !p->best)
		return NULL;
	if (!m->pypi)
		return arena_printf(j->arena,
			plan_tr(j, "%s mirrors container images only; see --docker.", "%s 只提供容器镜像加速；见 --docker。"), m->title);
	if (m->pytorch)
		return arena_printf(j->arena,
			plan_tr(j, "%s mirrors PyPI and PyTorch's own wheels (%s).", "%s 同时镜像 PyPI 和 PyTorch 官方 wheel（%s）。"),
			m->title, m->pytorch);
	if (is_on_pypi(j, p->best))
		return arena_printf(j->arena,
			plan_tr(j, "%s mirrors PyPI, whose torch %s is this %s build.",
				"%s 镜像 PyPI，而 PyPI 上的 torch %s 正是 %s 构建。"),
			m->title, p->best->torch, p->best->variant);
	return arena_printf(j->arena,
		plan_tr(j,
			"%s mirrors PyPI, not download.pytorch.org: torch %s for %s comes from there, everything else from the mirror. nju, aliyun and sjtu have the wheels too.",
			"%s 只镜像 PyPI，没有 download.pytorch.org：%s 的 %s 构建仍从官方下载，其余从镜像下载。nju、aliyun、sjtu 也镜像了这些 wheel。"),
		m->title, p->best->torch, p->best->variant);
}

/* -- pip ------------------------------------------------------------------------------------------------------------------ */

static int torch_order(const struct plan_candidate *b, const char *release)
{
	int order = 0;
	version_cmp(str_of(b->torch), str_of(release), &order);
	return order;
}

/* Where several indices are asked, and with releases before 2.1, only the local tag tells the builds apart. */
static bool needs_tag(struct judge *j, const struct plan *p)
{
	if (torch_order(p->best, "2.1") < 0)
		return true;
	return p->mirror && p->mirror->pypi && (p->mirror->pytorch || !is_on_pypi(j, p->best));
}

/* "torch==2.7.1 torchvision==0.22.1" */
static const char *packages(struct judge *j, const struct plan *p)
{
	const struct plan_candidate *b = p->best;
	struct buf t = BUF_MAX(4096);
	const char *tag = needs_tag(j, p) ? arena_printf(j->arena, "+%s", b->variant) : "";
	buf_fmt(&t, "torch==%s%s", b->torch, tag);
	if (b->vision)
		buf_fmt(&t, " torchvision==%s%s", b->vision, tag);
	if (b->audio && torch_order(b, "2.12") < 0) /* since 2.12 torchaudio is no longer released along */
		buf_fmt(&t, " torchaudio==%s%s", b->audio, torch_order(b, "1.11") < 0 ? "" : tag);
	const char *made = arena_strndup(j->arena, t.ptr, t.len);
	buf_free(&t);
	return made;
}

/* 2.0 and later: --index-url; 1.11 to 1.13: an extra index; before: a page of links. */
static const char *source(struct judge *j, const struct plan *p)
{
	const struct plan_candidate *b = p->best;
	const struct plan_mirror *m = p->mirror;
	bool two = torch_order(b, "2.0") >= 0, eleven = torch_order(b, "1.11") >= 0;
	if (m && m->pypi) {
		if (m->pytorch && (two || eleven))
			return arena_printf(j->arena, "--index-url %s %s %s/%s", m->pypi, m->links ? "--find-links" : "--extra-index-url",
				m->pytorch, b->variant);
		if (is_on_pypi(j, b) && two)
			return arena_printf(j->arena, "--index-url %s", m->pypi);
		return arena_printf(j->arena, "--index-url %s %s", m->pypi,
			two || eleven ? arena_printf(j->arena, "--extra-index-url %s", b->index)
				      : "-f https://download.pytorch.org/whl/torch_stable.html");
	}
	if (two)
		return arena_printf(j->arena, "--index-url %s", b->index);
	if (eleven)
		return arena_printf(j->arena, "--extra-index-url %s", b->index);
	return "-f https://download.pytorch.org/whl/torch_stable.html";
}

static const char *python_minor(struct judge *j, const struct plan_candidate *b)
{
	const char *version = plan_one(j, "SELECT version FROM python");
	struct version v;
	if (b->python != PLAN_YES || !version || version_parse(str_of(version), &v) < 0 || v.count < 2) {
		/* The newest of its Pythons but one: the oldest friends of everybody's packages. */
		if (!b->python_max || version_parse(str_of(b->python_max), &v) < 0)
			return "3.12";
		return arena_printf(j->arena, "3.%u", v.part[1] > 12 ? 12 : v.part[1]);
	}
	return arena_printf(j->arena, "%u.%u", v.part[0], v.part[1]);
}

/* Platform tags that a download for another machine names: the newest that the C library there takes, and the old one. */
static const char *platforms(struct judge *j, const struct plan_candidate *b)
{
	const char *arch = plan_one(j, "SELECT arch FROM system");
	const char *machine = arch && strcmp(arch, "aarch64") == 0 ? "aarch64" : "x86_64";
	int new_tag = -1;
	if (b->libc)
		version_cmp(str_of(b->libc), str_of("2.28"), &new_tag);
	return arena_printf(j->arena, "%s%s--platform manylinux2014_%s --platform linux_%s",
		new_tag >= 0 ? arena_printf(j->arena, "--platform manylinux_2_28_%s ", machine) : "",
		new_tag >= 0 ? arena_printf(j->arena, "--platform manylinux_2_27_%s ", machine) : "", machine, machine);
}

void plan_commands(struct judge *j, struct plan *p)
{
	const struct plan_candidate *b = p->best;
	const char *pkgs = packages(j, p), *from = source(j, p), *minor = python_minor(j, b);
	const char *channel = p->mirror && p->mirror->conda
		? arena_printf(j->arena, " --override-channels -c %s/pkgs/main", p->mirror->conda)
		: "";
	bool cuda = strcmp(b->build, "cuda") == 0;
	struct plan_list clean = {.arena = j->arena}, pip = clean, uv = clean, conda = clean, download = clean, carry = clean,
			 verify = clean;
	plan_add(&clean, "python%s -m venv ~/train", minor);
	plan_add(&clean, ". ~/train/bin/activate");
	plan_add(&pip, "python -m pip install %s %s", pkgs, from);
	plan_add(&uv, "uv venv --python %s ~/train && . ~/train/bin/activate", minor);
	plan_add(&uv, "uv pip install %s %s", pkgs, from);
	plan_add(&conda, "conda create -y -n train%s python=%s && conda activate train", channel, minor);
	plan_add(&conda, "python -m pip install %s %s", pkgs, from);
	plan_add(&download, "python -m pip download -d wheels --only-binary=:all: --python-version %s %s %s %s", minor, platforms(j, b),
		pkgs, from);
	plan_add(&carry, "python -m pip install --no-index --find-links wheels %s", pkgs);
	if (cuda)
		plan_add(&verify,
			"python -c 'import torch, torch.distributed as d; print(torch.__version__, torch.version.cuda, torch.cuda.is_available(), d.is_nccl_available())'");
	else if (strcmp(b->build, "rocm") == 0)
		plan_add(&verify,
			"python -c 'import torch, torch.distributed as d; print(torch.__version__, torch.version.hip, torch.cuda.is_available(), d.is_nccl_available())'");
	else if (strcmp(b->build, "xpu") == 0)
		plan_add(&verify,
			"python -c 'import torch, torch.distributed as d; print(torch.__version__, torch.xpu.is_available(), d.is_xccl_available())'");
	else
		plan_add(&verify, "python -c 'import torch, torch.distributed as d; print(torch.__version__, d.is_gloo_available())'");
	plan_add(&verify, "davy check --python ~/train/bin/python");
	p->clean = plan_items(&clean);
	p->pip = plan_items(&pip);
	p->uv = plan_items(&uv);
	p->conda = plan_items(&conda);
	p->download = plan_items(&download);
	p->carry = plan_items(&carry);
	p->verify = plan_items(&verify);
	p->mirror_note = mirror_note(j, p);
}

/* -- containers ------------------------------------------------------------------------------------------------------------- */

/* NVIDIA's image for this driver and these GPUs, the newest, or of the release that was asked for (most hold a build between two
 * releases); and PyTorch's own image of the release that was chosen. */
static void nvidia_images(struct judge *j, const struct plan *p, const char *wanted, struct plan_list *docker)
{
	static const char select[] =
		"SELECT image || ':' || tag FROM k_ngc_images WHERE image = 'nvcr.io/nvidia/pytorch' AND tag GLOB '[0-9]*' AND driver_runs(coalesce((SELECT version FROM driver WHERE vendor = 'nvidia' AND version IS NOT NULL), '525.60.13'), cuda) = 1"
		" AND NOT EXISTS (SELECT 1 FROM gpu WHERE cc IS NOT NULL AND cc < CAST(CAST(min_compute_capability AS REAL) * 10 AS INTEGER))"
		" AND NOT EXISTS (SELECT 1 FROM gpu g JOIN k_gpu_arch a ON a.cc = g.cc WHERE version_cmp(cuda, a.cuda_first) < 0)";
	const char *release = wanted && p->best ? arena_printf(j->arena, " AND pytorch = '%s'", p->best->torch) : "";
	const char *tag = plan_one(j, arena_printf(j->arena, "%s%s ORDER BY tag DESC LIMIT 1", select, release));
	const char *flags = "--rm -it --gpus all --ipc=host --ulimit memlock=-1 --ulimit stack=67108864";
	if (tag && p->mirror && p->mirror->nvcr && strncmp(tag, "nvcr.io/", 8) == 0)
		tag = arena_printf(j->arena, "%s/%s", p->mirror->nvcr, tag + 8);
	if (tag)
		plan_add(docker, "docker run %s %s", flags, tag);
	const struct plan_candidate *b = p->best;
	const char *own = b
		? plan_one(j,
			  arena_printf(j->arena,
				  "SELECT image || ':' || replace(tag, '{runtime,devel}', 'runtime') FROM k_ngc_images WHERE image = 'pytorch/pytorch' AND pytorch = '%s' AND cuda = '%s' LIMIT 1",
				  b->torch, b->cuda))
		: NULL;
	if (own && strcmp(plan_one(j, "SELECT coalesce((SELECT arch FROM system), 'x86_64')"), "x86_64") == 0)
		plan_add(docker, "docker run %s %s", flags, own);
}

void plan_containers(struct judge *j, const char *wanted, struct plan *p)
{
	struct plan_list docker = {.arena = j->arena}, file = docker;
	const struct plan_candidate *b = p->best;
	const char *build = b ? b->build : "cuda";
	bool cuda = strcmp(build, "cuda") == 0, rocm = strcmp(build, "rocm") == 0;
	const char *devices = cuda          ? "--gpus all "
		: rocm                      ? "--device=/dev/kfd --device=/dev/dri --group-add video --group-add render "
		: strcmp(build, "xpu") == 0 ? "--device=/dev/dri --group-add render "
					    : "";
	if (cuda)
		nvidia_images(j, p, wanted, &docker);
	else if (rocm && !wanted)
		plan_add(&docker,
			"docker run --rm -it %s--ipc=host --security-opt seccomp=unconfined --ulimit memlock=-1 rocm/pytorch:latest",
			devices);
	p->docker = plan_items(&docker);
	if (!b)
		return;
	plan_add(&file, "FROM python:%s-slim", python_minor(j, b));
	/* torch.compile builds small C programs. */
	plan_add(&file, "RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*");
	plan_add(&file, "RUN pip install --no-cache-dir %s %s", packages(j, p), source(j, p));
	if (cuda)
		plan_add(&file, "ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility");
	plan_add(&file, "# docker build -t train . && docker run --rm -it %s--shm-size=16g%s train", devices,
		cuda || rocm ? " --ulimit memlock=-1" : "");
	p->dockerfile = plan_items(&file);
}

/* -- others' accelerators ------------------------------------------------------------------------------------------------------ */

static const char *vendor_value(struct judge *j, const char *what)
{
	return plan_one(j,
		arena_printf(j->arena,
			"SELECT %s FROM k_accel_backends WHERE torch_package NOT IN ('', '-') AND (key = (SELECT accelerator FROM purpose) OR (key IS NULL AND lower(vendor) LIKE '%%' || (SELECT accelerator FROM purpose) || '%%')) LIMIT 1",
			what));
}

void plan_vendor(struct judge *j, struct plan *p)
{
	const char *vendor = plan_one(j, "SELECT accelerator FROM purpose"), *package = vendor_value(j, "torch_package"),
		   *rule = vendor_value(j, "version_rule"), *backend = vendor_value(j, "dist_backend"), *verify = vendor_value(j, "verify");
	struct plan_list l = {.arena = j->arena};
	if (vendor && strcmp(vendor, "nvidia") == 0) {
		/* Jetson: an integrated GPU, for which only NVIDIA's own builds have code. */
		p->other_vendor = plan_tr(j,
			"Jetson: PyTorch comes from NVIDIA, built for one JetPack; wheels of PyPI and download.pytorch.org have no code for its GPU.",
			"Jetson：PyTorch 由 NVIDIA 按 JetPack 版本提供；PyPI 和 download.pytorch.org 的 wheel 不含其 GPU 的代码。");
		plan_add(&l, "head -1 /etc/nv_tegra_release   # R36: JetPack 6, R35: JetPack 5");
		plan_add(&l, "python3 -m pip install torch torchvision --index-url https://pypi.jetson-ai-lab.io/jp6/cu126   # JetPack 6");
		plan_add(&l,
			"python3 -c 'import torch, torch.distributed as d; print(torch.__version__, torch.cuda.is_available(), d.is_available())'");
	} else if (package) {
		p->other_vendor = arena_printf(j->arena, plan_tr(j, "%s; back end %s; rule: %s", "%s；通信后端 %s；规则：%s"), package,
			backend ? backend : "?", rule ? rule : "?");
		if (vendor && strcmp(vendor, "ascend") == 0) {
			plan_add(&l,
				"cat /usr/local/Ascend/ascend-toolkit/latest/*/ascend_toolkit_install.info   # the CANN release, which chooses the pair below");
			plan_add(&l,
				"python -m pip install torch==2.7.1 --index-url https://download.pytorch.org/whl/cpu   # 2.7.1 with CANN 8.3.RC1");
			plan_add(&l, "python -m pip install torch-npu==2.7.1");
			plan_add(&l, ". /usr/local/Ascend/ascend-toolkit/set_env.sh");
			plan_add(&l,
				"python -c 'import torch, torch_npu; print(torch.__version__, torch_npu.__version__, torch.npu.is_available())'");
		} else if (verify && *verify) {
			plan_add(&l, "# %s: %.*s", plan_tr(j, "the proof", "验证"), (int)strcspn(verify, "\n"), verify);
		}
	}
	p->vendor = plan_items(&l);
}
