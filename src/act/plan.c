#include "act/plan.h"

#include "base/version.h"

#define SHOWN_MAX 400

static const char *tr(const struct judge *j, const char *english, const char *chinese)
{
	return j->chinese ? chinese : english;
}

static const char *copied(struct judge *j, const struct store_query *q, int i)
{
	const char *text = store_text(q, i);
	return text ? arena_strdup(j->arena, text) : NULL;
}

/* The first value that a query gives; NULL. */
static const char *one(struct judge *j, const char *sql)
{
	struct store_query *q;
	const char *text = NULL;
	if (store_prepare(j->store, sql, &q, NULL) < 0)
		return NULL;
	if (store_step(q) > 0)
		text = copied(j, q, 0);
	store_finish(q);
	return text;
}

/* NULL-terminated lists that grow. */
struct list {
	struct arena *arena;
	const char **items;
	size_t n, cap;
};

static void add(struct list *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct list *l, const char *fmt, ...)
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

static const char *const *items(const struct list *l)
{
	static const char *const none[] = {NULL};
	return l->items ? l->items : none;
}

/* -- candidates --------------------------------------------------------------------------------------------------------- */

static enum plan_answer answer(const struct store_query *q, int i)
{
	return store_is_null(q, i) ? PLAN_UNKNOWN : store_int(q, i) == 2 ? PLAN_JIT : store_int(q, i) ? PLAN_YES : PLAN_NO;
}

static const char *wanted_build(struct judge *j, const struct plan_wish *wish)
{
	const char *vendor = one(j, "SELECT accelerator FROM purpose"), *backend = wish->backend ? wish->backend : one(j, "SELECT backend FROM purpose");
	if (wish->backend && (strcmp(wish->backend, "gloo") == 0 || strcmp(wish->backend, "cpu") == 0))
		return "cpu";
	if (!vendor || strcmp(vendor, "nvidia") == 0)
		return "cuda";
	if (strcmp(vendor, "amd") == 0)
		return "rocm";
	if (strcmp(vendor, "intel") == 0)
		return "xpu";
	if (strcmp(vendor, "cpu") == 0)
		return backend && strcmp(backend, "nccl") == 0 ? "cuda" : "cpu";
	return "";
}

static const char *refusal_of(struct judge *j, const struct plan_candidate *c)
{
	if (c->python == PLAN_NO)
		return arena_printf(j->arena, tr(j, "no build for Python %s (%s to %s)", "没有适用于 Python %s 的构建（%s 至 %s）"), one(j, "SELECT version FROM python"), c->python_min, c->python_max);
	if (c->glibc == PLAN_NO)
		return arena_printf(j->arena, tr(j, "needs glibc %s, here is %s", "需要 glibc %s，本机为 %s"), c->libc, one(j, "SELECT libc_version FROM system"));
	if (c->driver == PLAN_NO)
		return arena_printf(j->arena, tr(j, "driver %s does not run CUDA %s", "驱动 %s 不能运行 CUDA %s"), one(j, "SELECT version FROM driver WHERE vendor = 'nvidia' AND version IS NOT NULL"), c->cuda);
	if (c->gpu == PLAN_NO || c->gpu == PLAN_UNKNOWN) {
		const char *cc = one(j, arena_printf(j->arena, "SELECT 'sm_' || cc FROM gpu WHERE cc IS NOT NULL AND coalesce(arch_runs(cc, '%s'), 0) = 0 LIMIT 1", c->arch ? c->arch : ""));
		return c->gpu == PLAN_NO ? arena_printf(j->arena, tr(j, "no code for %s in it (%s)", "不含 %s 的代码（%s）"), cc ? cc : "this GPU", c->arch ? c->arch : "?")
					 : tr(j, "the tables do not tell for which GPUs it has code", "表中没有它所含的 GPU 架构");
	}
	if (c->gpu == PLAN_JIT)
		return tr(j, "this GPU's code would have to be compiled from PTX at the first start", "该 GPU 的代码需要在首次启动时由 PTX 编译");
	return NULL;
}

static void read_candidate(struct judge *j, const struct store_query *q, struct plan_candidate *c)
{
	const char **texts[] = {&c->torch, &c->variant, &c->build, &c->cuda, &c->index, &c->vision, &c->audio, &c->date, &c->arch, &c->python_min, &c->python_max, &c->libc};
	int n = (int)(sizeof texts / sizeof texts[0]);
	for (int i = 0; i < n; i++)
		*texts[i] = copied(j, q, i);
	c->driver = answer(q, n);
	c->gpu = answer(q, n + 1);
	c->python = answer(q, n + 2);
	c->glibc = answer(q, n + 3);
	c->fresh = store_int(q, n + 4) != 0;
	bool cuda = strcmp(c->build, "cuda") == 0;
	if (!cuda)
		c->driver = c->gpu = PLAN_YES;
	if (cuda && !one(j, "SELECT 1 FROM gpu WHERE cc IS NOT NULL"))
		c->gpu = PLAN_YES; /* no GPU is known: nothing to refuse */
	c->refusal = refusal_of(j, c);
	c->fits = !c->refusal;
}

/* The release is the newest that fits; of its variants first what the driver names itself, then minor-version compatibility, the newest CUDA first. */
static void read_candidates(struct judge *j, const struct plan_wish *wish, const char *build, struct plan *ret)
{
	struct store_query *q;
	const char *sql = arena_printf(j->arena,
		"SELECT r.torch, r.variant, r.build, r.cuda, r.index_url, nullif(c.vision, ''), nullif(c.audio, ''), r.release_date, r.arch_list, r.python_min, r.python_max, r.glibc_floor,"
		" driver_runs((SELECT version FROM driver WHERE vendor = 'nvidia' AND version IS NOT NULL), r.cuda),"
		" CASE WHEN r.arch_list IS NULL OR r.arch_list = '' THEN NULL ELSE (SELECT CASE min(runs) WHEN 0 THEN 0 ELSE CASE WHEN max(runs) = 2 THEN 2 ELSE 1 END END FROM (SELECT arch_runs(cc, r.arch_list) AS runs FROM gpu WHERE cc IS NOT NULL)) END,"
		" (SELECT CAST(substr(version, 3) AS INTEGER) BETWEEN CAST(substr(r.python_min, 3) AS INTEGER) AND CAST(substr(r.python_max, 3) AS INTEGER) FROM python WHERE version IS NOT NULL),"
		" (SELECT version_cmp(libc_version, r.glibc_floor) >= 0 FROM system WHERE libc_version IS NOT NULL),"
		" r.release_date > date((SELECT max(release_date) FROM k_torch_release), '-30 days')"
		" FROM k_torch_release r LEFT JOIN k_torch_companions c ON c.torch = r.torch"
		" WHERE r.build = '%s' AND coalesce(r.experimental, 0) = 0 AND (r.confidence <> 'uncertain' OR ?2 IS NOT NULL) AND (?2 IS NULL OR r.torch = ?2)"
		" ORDER BY r.release_date DESC, (r.build = 'cuda' AND coalesce(CAST(r.cuda AS REAL) <= CAST((SELECT cuda_max FROM driver WHERE vendor = 'nvidia') AS REAL), 0)) DESC, CAST(r.cuda AS REAL) DESC, r.variant DESC LIMIT %d",
		build, SHOWN_MAX);
	struct plan_candidate **tail = &ret->all;
	if (store_prepare(j->store, sql, &q, NULL) < 0)
		return;
	store_bind_text(q, 2, wish->torch);
	while (store_step(q) > 0) {
		struct plan_candidate *c = arena_alloc(j->arena, sizeof *c);
		read_candidate(j, q, c);
		*tail = c;
		tail = &c->next;
		/* A release of the last weeks is named, and chosen only when it was asked for. */
		if (c->fits && !ret->best && (!c->fresh || wish->torch))
			ret->best = c;
	}
	store_finish(q);
}

/* A GPU and a driver that do not know one another: no PyTorch helps. NULL: none. */
static const char *strangers(struct judge *j)
{
	const char *driver = one(j, "SELECT version FROM driver WHERE vendor = 'nvidia' AND version IS NOT NULL");
	const char *young = one(j, "SELECT name || '|' || driver_min_branch FROM gpu WHERE vendor = 'nvidia' AND driver_min_branch > (SELECT CAST(version AS INTEGER) FROM driver WHERE vendor = 'nvidia' AND version IS NOT NULL) LIMIT 1");
	const char *old = one(j, "SELECT name || '|' || driver_max_branch FROM gpu WHERE vendor = 'nvidia' AND driver_max_branch < (SELECT CAST(version AS INTEGER) FROM driver WHERE vendor = 'nvidia' AND version IS NOT NULL) LIMIT 1");
	const char *both = young ? young : old, *bar = both ? strchr(both, '|') : NULL;
	if (!bar)
		return NULL;
	return arena_printf(j->arena, young ? tr(j, "driver %s does not know %.*s: install driver %s or newer first", "驱动 %s 不支持 %.*s：请先安装 %s 或更新的驱动") : tr(j, "driver %s no longer supports %.*s: its last driver branch is %s", "驱动 %s 已不再支持 %.*s：其最后的驱动分支是 %s"), driver, (int)(bar - both), both, bar + 1);
}

/* Of builds that do not fit, the one that comes nearest says best what is missing. */
static const struct plan_candidate *nearest(const struct plan_candidate *all)
{
	const struct plan_candidate *best = NULL;
	int fewest = 99;
	for (const struct plan_candidate *c = all; c; c = c->next) {
		int n = (c->driver == PLAN_NO) + (c->gpu == PLAN_NO || c->gpu == PLAN_UNKNOWN) + (c->python == PLAN_NO) + (c->glibc == PLAN_NO);
		if (n < fewest) {
			fewest = n;
			best = c;
		}
	}
	return best;
}

static const char *nothing(struct judge *j, const struct plan_wish *wish, const struct plan *p, const char *build)
{
	const struct plan_candidate *c = nearest(p->all);
	if (!c && wish->torch)
		return arena_printf(j->arena, tr(j, "no release %s with a %s build is in the tables", "表中没有 %s 版本的 %s 构建"), wish->torch, build);
	if (!c)
		return tr(j, "the tables have no build of this kind", "表中没有这种构建");
	return arena_printf(j->arena, tr(j, "none of the builds fits; the nearest is torch %s %s: %s", "没有合适的构建；最接近的是 torch %s %s：%s"), c->torch, c->variant, c->refusal ? c->refusal : "?");
}

/* -- why ---------------------------------------------------------------------------------------------------------------- */

static const char *why(struct judge *j, const struct plan_candidate *b)
{
	const char *driver = one(j, "SELECT version FROM driver WHERE vendor = 'nvidia' AND version IS NOT NULL"), *max = one(j, "SELECT cuda_max FROM driver WHERE vendor = 'nvidia'");
	const char *cc = one(j, "SELECT group_concat(sm, ', ') FROM (SELECT DISTINCT 'sm_' || cc AS sm FROM gpu WHERE cc IS NOT NULL ORDER BY cc)");
	if (strcmp(b->build, "cuda") != 0)
		return arena_printf(j->arena, tr(j, "torch %s, %s: what this hardware takes.", "torch %s，%s：与本机硬件相符。"), b->torch, b->variant);
	struct buf text = BUF_MAX(4096);
	buf_fmt(&text, tr(j, "torch %s, %s", "torch %s，%s"), b->torch, b->variant);
	if (driver && max) {
		int order = 0;
		bool minor = version_cmp(str_of(b->cuda), str_of(max), &order) == 0 && order > 0;
		buf_fmt(&text, minor ? tr(j, ": driver %s names CUDA %s and runs the whole of its major release (minor-version compatibility)", "：驱动 %s 标称 CUDA %s，可运行同一大版本内的所有 CUDA（次版本兼容）") : tr(j, ": driver %s runs CUDA up to %s", "：驱动 %s 最高支持 CUDA %s"), driver, max);
	} else {
		buf_text(&text, tr(j, ": the driver is not known; it must be at least 525.60 for CUDA 12, 580.65 for CUDA 13", "：驱动版本未知；CUDA 12 至少需要 525.60，CUDA 13 至少需要 580.65"));
	}
	if (cc)
		buf_fmt(&text, tr(j, ", and it has code that runs on %s", "，且含有可在 %s 上运行的代码"), cc);
	buf_text(&text, tr(j, ".", "。"));
	const char *made = arena_strndup(j->arena, text.ptr, text.len);
	buf_free(&text);
	return made;
}

static const char *other_vendor(struct judge *j)
{
	return one(j, arena_printf(j->arena, "SELECT torch_package || '; %s: ' || version_rule FROM k_accel_backends WHERE lower(vendor) LIKE '%%' || (SELECT accelerator FROM purpose) || '%%' LIMIT 1", tr(j, "rule", "规则")));
}

/* -- commands ----------------------------------------------------------------------------------------------------------- */

/* "torch==2.7.1 torchvision==0.22.1"; before 2.1 wheels of other indices are told apart by the local tag. */
static const char *packages(struct judge *j, const struct plan_candidate *b)
{
	struct buf t = BUF_MAX(4096);
	int order = -1;
	version_cmp(str_of(b->torch), str_of("2.1"), &order);
	const char *tag = order < 0 ? arena_printf(j->arena, "+%s", b->variant) : "";
	buf_fmt(&t, "torch==%s%s", b->torch, tag);
	if (b->vision)
		buf_fmt(&t, " torchvision==%s%s", b->vision, tag);
	int twelve = -1;
	version_cmp(str_of(b->torch), str_of("2.12"), &twelve);
	if (b->audio && twelve < 0) /* since 2.12 torchaudio is no longer released along */
		buf_fmt(&t, " torchaudio==%s%s", b->audio, order < 0 && strcmp(b->torch, "1.11") < 0 ? "" : tag);
	const char *made = arena_strndup(j->arena, t.ptr, t.len);
	buf_free(&t);
	return made;
}

/* 2.0 and later: --index-url; 1.11 to 1.13: an extra index; before: a page of links. */
static const char *source(struct judge *j, const struct plan_candidate *b)
{
	int two = 0, eleven = 0;
	version_cmp(str_of(b->torch), str_of("2.0"), &two);
	version_cmp(str_of(b->torch), str_of("1.11"), &eleven);
	if (two >= 0)
		return arena_printf(j->arena, "--index-url %s", b->index);
	if (eleven >= 0)
		return arena_printf(j->arena, "--extra-index-url %s", b->index);
	return "-f https://download.pytorch.org/whl/torch_stable.html";
}

static const char *python_minor(struct judge *j, const struct plan_candidate *b)
{
	const char *version = one(j, "SELECT version FROM python");
	struct version v;
	if (b->python != PLAN_YES || !version || version_parse(str_of(version), &v) < 0 || v.count < 2) {
		/* The newest of its Pythons but one: the oldest friends of everybody's packages. */
		if (!b->python_max || version_parse(str_of(b->python_max), &v) < 0)
			return "3.12";
		return arena_printf(j->arena, "3.%u", v.part[1] > 12 ? 12 : v.part[1]);
	}
	return arena_printf(j->arena, "%u.%u", v.part[0], v.part[1]);
}

static void commands(struct judge *j, struct plan *p)
{
	const struct plan_candidate *b = p->best;
	const char *pkgs = packages(j, b), *from = source(j, b), *minor = python_minor(j, b), *arch = one(j, "SELECT arch FROM system");
	struct list clean = {.arena = j->arena}, pip = clean, uv = clean, conda = clean, download = clean, carry = clean, verify = clean;
	add(&clean, "python%s -m venv ~/train", minor);
	add(&clean, ". ~/train/bin/activate");
	add(&pip, "python -m pip install %s %s", pkgs, from);
	add(&uv, "uv venv --python %s ~/train && . ~/train/bin/activate", minor);
	add(&uv, "uv pip install %s %s", pkgs, from);
	add(&conda, "conda create -y -n train python=%s && conda activate train", minor);
	add(&conda, "python -m pip install %s %s", pkgs, from);
	add(&download, "python -m pip download -d wheels --only-binary=:all: --python-version %s --platform manylinux_2_28_%s --platform manylinux2014_%s %s %s", minor, arch ? arch : "x86_64", arch ? arch : "x86_64", pkgs, from);
	add(&carry, "python -m pip install --no-index --find-links wheels %s", pkgs);
	add(&verify, "python -c 'import torch, torch.distributed as d; print(torch.__version__, torch.version.cuda, torch.cuda.is_available(), d.is_nccl_available())'");
	add(&verify, "davy check --python ~/train/bin/python");
	p->clean = items(&clean);
	p->pip = items(&pip);
	p->uv = items(&uv);
	p->conda = items(&conda);
	p->download = items(&download);
	p->carry = items(&carry);
	p->verify = items(&verify);
}

static void containers(struct judge *j, struct plan *p)
{
	struct list docker = {.arena = j->arena}, file = docker;
	const struct plan_candidate *b = p->best;
	const char *tag = one(j,
		"SELECT image || ':' || tag FROM k_ngc_images WHERE image = 'nvcr.io/nvidia/pytorch' AND tag GLOB '[0-9]*' AND driver_runs(coalesce((SELECT version FROM driver WHERE vendor = 'nvidia' AND version IS NOT NULL), '525.60.13'), cuda) = 1"
		" AND NOT EXISTS (SELECT 1 FROM gpu WHERE cc IS NOT NULL AND cc < CAST(CAST(min_compute_capability AS REAL) * 10 AS INTEGER)) ORDER BY tag DESC LIMIT 1");
	if (tag)
		add(&docker, "docker run --rm -it --gpus all --ipc=host --ulimit memlock=-1 --ulimit stack=67108864 %s", tag);
	p->docker = items(&docker);
	if (!b)
		return;
	add(&file, "FROM python:%s-slim", python_minor(j, b));
	add(&file, "RUN pip install --no-cache-dir %s %s", packages(j, b), source(j, b));
	if (strcmp(b->build, "cuda") == 0)
		add(&file, "ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility");
	add(&file, "# docker build -t train . && docker run --rm -it %s--shm-size=16g train", strcmp(b->build, "cuda") == 0 ? "--gpus all " : "");
	p->dockerfile = items(&file);
}

void plan_make(struct judge *j, const struct plan_wish *wish, struct plan *ret)
{
	static const char *const none[] = {NULL};
	*ret = (struct plan){.clean = none, .pip = none, .uv = none, .conda = none, .download = none, .carry = none, .verify = none, .docker = none, .dockerfile = none};
	const char *build = wanted_build(j, wish);
	if (!*build) {
		ret->other_vendor = other_vendor(j);
		ret->nothing = tr(j, "this accelerator has a PyTorch of its vendor", "该加速卡使用厂商提供的 PyTorch");
		return;
	}
	read_candidates(j, wish, build, ret);
	const char *misfit = strcmp(build, "cuda") == 0 ? strangers(j) : NULL;
	if (misfit)
		ret->best = NULL;
	if (ret->best) {
		ret->why = why(j, ret->best);
		commands(j, ret);
	} else {
		ret->nothing = misfit ? misfit : nothing(j, wish, ret, build);
	}
	containers(j, ret);
}
