#include "act/plan_parts.h"

#include "base/version.h"

#define SHOWN_MAX 400

/* GPU code of the wheel for the machine at hand; wheels for aarch64 have other lists. */
#define ARCH_LIST "(CASE WHEN (SELECT arch FROM system) IN ('aarch64', 'arm64') THEN r.arch_list_aarch64 ELSE r.arch_list END)"

static const char *copied(struct judge *j, const struct store_query *q, int i)
{
	const char *text = store_text(q, i);
	return text ? arena_strdup(j->arena, text) : NULL;
}

/* -- candidates --------------------------------------------------------------------------------------------------------- */

static enum plan_answer answer(const struct store_query *q, int i)
{
	return store_is_null(q, i) ? PLAN_UNKNOWN : store_int(q, i) == 2 ? PLAN_JIT : store_int(q, i) ? PLAN_YES : PLAN_NO;
}

static const char *wanted_build(struct judge *j, const struct plan_wish *wish)
{
	const char *vendor = plan_one(j, "SELECT accelerator FROM purpose"),
		   *backend = wish->backend ? wish->backend : plan_one(j, "SELECT backend FROM purpose");
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
	if (c->machine == PLAN_NO)
		return arena_printf(j->arena, plan_tr(j, "no wheel of it for %s", "没有适用于 %s 的 wheel"),
			plan_one(j, "SELECT CASE WHEN libc = 'musl' THEN 'musl (Alpine)' ELSE arch END FROM system"));
	if (c->python == PLAN_NO)
		return arena_printf(j->arena, plan_tr(j, "no build for Python %s (%s to %s)", "没有适用于 Python %s 的构建（%s 至 %s）"),
			plan_one(j, "SELECT version FROM python"), c->python_min, c->python_max);
	if (c->glibc == PLAN_NO)
		return arena_printf(j->arena, plan_tr(j, "needs glibc %s, here is %s", "需要 glibc %s，本机为 %s"), c->libc,
			plan_one(j, "SELECT libc_version FROM system"));
	if (c->driver == PLAN_NO)
		return arena_printf(j->arena, plan_tr(j, "driver %s does not run CUDA %s", "驱动 %s 不能运行 CUDA %s"),
			plan_one(j, "SELECT version FROM driver WHERE vendor = 'nvidia' AND version IS NOT NULL"), c->cuda);
	if (c->gpu == PLAN_NO || c->gpu == PLAN_UNKNOWN) {
		if (strcmp(c->build, "rocm") == 0)
			return arena_printf(j->arena, plan_tr(j, "no code for %s in it", "不含 %s 的代码"),
				plan_one(j, "SELECT group_concat(DISTINCT gfx) FROM gpu WHERE gfx IS NOT NULL"));
		const char *cc = plan_one(j,
			arena_printf(j->arena,
				"SELECT 'sm_' || cc FROM gpu WHERE cc IS NOT NULL AND coalesce(arch_runs(cc, '%s'), 0) = 0 LIMIT 1",
				c->arch ? c->arch : ""));
		return c->gpu == PLAN_NO ? arena_printf(j->arena, plan_tr(j, "no code for %s in it (%s)", "不含 %s 的代码（%s）"),
						   cc ? cc : "this GPU", c->arch ? c->arch : "?")
					 : plan_tr(j, "the tables do not tell for which GPUs it has code", "表中没有它所含的 GPU 架构");
	}
	if (c->gpu == PLAN_JIT)
		return plan_tr(j, "this GPU's code would have to be compiled from PTX at the first start",
			"该 GPU 的代码需要在首次启动时由 PTX 编译");
	return NULL;
}

static void read_candidate(struct judge *j, const struct store_query *q, struct plan_candidate *c)
{
	const char **texts[] = {&c->torch, &c->variant, &c->build, &c->cuda, &c->index, &c->vision, &c->audio, &c->date, &c->arch,
		&c->python_min, &c->python_max, &c->libc};
	int n = (int)(sizeof texts / sizeof texts[0]);
	for (int i = 0; i < n; i++)
		*texts[i] = copied(j, q, i);
	c->driver = answer(q, n);
	c->gpu = answer(q, n + 1);
	c->python = answer(q, n + 2);
	c->glibc = answer(q, n + 3);
	c->fresh = store_int(q, n + 4) != 0;
	c->machine = answer(q, n + 5);
	bool cuda = strcmp(c->build, "cuda") == 0;
	if (!cuda)
		c->driver = PLAN_YES;
	if (!cuda)
		c->gpu = strcmp(c->build, "rocm") == 0 && answer(q, n + 6) == PLAN_NO ? PLAN_NO : PLAN_YES;
	if (cuda && !plan_one(j, "SELECT 1 FROM gpu WHERE cc IS NOT NULL"))
		c->gpu = PLAN_YES; /* no GPU is known: nothing to refuse */
	c->refusal = refusal_of(j, c);
	c->fits = !c->refusal;
}

/* The release is the newest that fits; of its variants first what the driver names itself, then minor-version compatibility, the newest
 * CUDA first. */
static void read_candidates(struct judge *j, const struct plan_wish *wish, const char *build, struct plan *ret)
{
	struct store_query *q;
	const char *sql = arena_printf(j->arena,
		"SELECT r.torch, r.variant, r.build, r.cuda, r.index_url, nullif(c.vision, ''), nullif(c.audio, ''), r.release_date, " ARCH_LIST
		", r.python_min, r.python_max, r.glibc_floor,"
		" driver_runs((SELECT version FROM driver WHERE vendor = 'nvidia' AND version IS NOT NULL), r.cuda),"
		" CASE WHEN " ARCH_LIST " IS NULL OR " ARCH_LIST
		" = '' THEN NULL ELSE (SELECT CASE min(runs) WHEN 0 THEN 0 ELSE CASE WHEN max(runs) = 2 THEN 2 ELSE 1 END END FROM (SELECT arch_runs(cc, " ARCH_LIST
		") AS runs FROM gpu WHERE cc IS NOT NULL)) END,"
		" (SELECT CAST(substr(version, 3) AS INTEGER) BETWEEN CAST(substr(r.python_min, 3) AS INTEGER) AND CAST(substr(r.python_max, 3) AS INTEGER) FROM python WHERE version IS NOT NULL),"
		" (SELECT version_cmp(libc_version, r.glibc_floor) >= 0 FROM system WHERE libc_version IS NOT NULL),"
		" r.release_date > date((SELECT max(release_date) FROM k_torch_release), '-30 days'),"
		" (SELECT CASE WHEN libc = 'musl' THEN 0 WHEN arch = 'x86_64' THEN 1 WHEN arch IN ('aarch64', 'arm64') THEN r.build = 'cpu' OR (r.build = 'cuda' AND coalesce(r.arch_list_aarch64, '?') <> '') WHEN arch IS NOT NULL THEN 0 END FROM system),"
		" (SELECT min(' ' || k.gfx || ' ' LIKE '%% ' || CASE WHEN instr(g.gfx, ':') THEN substr(g.gfx, 1, instr(g.gfx, ':') - 1) ELSE g.gfx END || ' %%') FROM gpu g, k_rocm_gfx k WHERE g.gfx IS NOT NULL AND k.rocm_wheel = r.variant)"
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
	const char *driver = plan_one(j, "SELECT version FROM driver WHERE vendor = 'nvidia' AND version IS NOT NULL");
	const char *young = plan_one(j,
		"SELECT name || '|' || driver_min_branch FROM gpu WHERE vendor = 'nvidia' AND driver_min_branch > (SELECT CAST(version AS INTEGER) FROM driver WHERE vendor = 'nvidia' AND version IS NOT NULL) LIMIT 1");
	const char *old = plan_one(j,
		"SELECT name || '|' || driver_max_branch FROM gpu WHERE vendor = 'nvidia' AND driver_max_branch < (SELECT CAST(version AS INTEGER) FROM driver WHERE vendor = 'nvidia' AND version IS NOT NULL) LIMIT 1");
	const char *both = young ? young : old, *bar = both ? strchr(both, '|') : NULL;
	if (!bar)
		return NULL;
	return arena_printf(j->arena,
		young ? plan_tr(j, "driver %s does not know %.*s: install driver %s or newer first",
				"驱动 %s 不支持 %.*s：请先安装 %s 或更新的驱动")
		      : plan_tr(j, "driver %s no longer supports %.*s: its last driver branch is %s",
				"驱动 %s 已不再支持 %.*s：其最后的驱动分支是 %s"),
		driver, (int)(bar - both), both, bar + 1);
}

/* Of builds that do not fit, the one that comes nearest says best what is missing. */
static const struct plan_candidate *nearest(const struct plan_candidate *all)
{
	const struct plan_candidate *best = NULL;
	int fewest = 99;
	for (const struct plan_candidate *c = all; c; c = c->next) {
		int n = (c->driver == PLAN_NO) + (c->gpu == PLAN_NO || c->gpu == PLAN_UNKNOWN) + (c->python == PLAN_NO) +
			(c->glibc == PLAN_NO) + 3 * (c->machine == PLAN_NO);
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
		return arena_printf(j->arena, plan_tr(j, "no release %s with a %s build is in the tables", "表中没有 %s 版本的 %s 构建"),
			wish->torch, build);
	if (!c)
		return plan_tr(j, "the tables have no build of this kind", "表中没有这种构建");
	return arena_printf(j->arena,
		plan_tr(j, "none of the builds fits; the nearest is torch %s %s: %s", "没有合适的构建；最接近的是 torch %s %s：%s"),
		c->torch, c->variant, c->refusal ? c->refusal : "?");
}

/* -- why ---------------------------------------------------------------------------------------------------------------- */

static const char *why(struct judge *j, const struct plan_candidate *b)
{
	const char *driver = plan_one(j, "SELECT version FROM driver WHERE vendor = 'nvidia' AND version IS NOT NULL"),
		   *max = plan_one(j, "SELECT cuda_max FROM driver WHERE vendor = 'nvidia'");
	const char *cc = plan_one(
		j, "SELECT group_concat(sm, ', ') FROM (SELECT DISTINCT 'sm_' || cc AS sm FROM gpu WHERE cc IS NOT NULL ORDER BY cc)");
	if (strcmp(b->build, "cuda") != 0)
		return arena_printf(j->arena, plan_tr(j, "torch %s, %s: what this hardware takes.", "torch %s，%s：与本机硬件相符。"),
			b->torch, b->variant);
	struct buf text = BUF_MAX(4096);
	buf_fmt(&text, plan_tr(j, "torch %s, %s", "torch %s，%s"), b->torch, b->variant);
	if (driver && max) {
		int order = 0;
		bool minor = version_cmp(str_of(b->cuda), str_of(max), &order) == 0 && order > 0;
		buf_fmt(&text,
			minor ? plan_tr(j,
					": driver %s names CUDA %s and runs the whole of its major release (minor-version compatibility)",
					"：驱动 %s 标称 CUDA %s，可运行同一大版本内的所有 CUDA（次版本兼容）")
			      : plan_tr(j, ": driver %s runs CUDA up to %s", "：驱动 %s 最高支持 CUDA %s"),
			driver, max);
	} else {
		buf_text(&text,
			plan_tr(j, ": the driver is not known; it must be at least 525.60 for CUDA 12, 580.65 for CUDA 13",
				"：驱动版本未知；CUDA 12 至少需要 525.60，CUDA 13 至少需要 580.65"));
	}
	if (cc)
		buf_fmt(&text, plan_tr(j, ", and it has code that runs on %s", "，且含有可在 %s 上运行的代码"), cc);
	buf_text(&text, plan_tr(j, ".", "。"));
	const char *made = arena_strndup(j->arena, text.ptr, text.len);
	buf_free(&text);
	return made;
}

/* An integrated GPU of a Jetson: only Thor runs what is built for servers. */
static bool is_jetson(struct judge *j)
{
	return plan_one(j, "SELECT 1 FROM system WHERE platform = 'jetson' AND NOT EXISTS (SELECT 1 FROM gpu WHERE cc >= 110)") != NULL;
}

void plan_make(struct judge *j, const struct plan_wish *wish, struct plan *ret)
{
	static const char *const none[] = {NULL};
	*ret = (struct plan){.clean = none,
		.pip = none,
		.uv = none,
		.conda = none,
		.download = none,
		.carry = none,
		.verify = none,
		.docker = none,
		.dockerfile = none,
		.vendor = none,
		.mirror = wish->mirror};
	const char *build = wanted_build(j, wish);
	if (!*build || (strcmp(build, "cuda") == 0 && is_jetson(j))) {
		plan_vendor(j, ret);
		ret->nothing = plan_tr(j, "this accelerator has a PyTorch of its vendor", "该加速卡使用厂商提供的 PyTorch");
		return;
	}
	read_candidates(j, wish, build, ret);
	const char *misfit = strcmp(build, "cuda") == 0 ? strangers(j) : NULL;
	if (misfit)
		ret->best = NULL;
	if (ret->best) {
		ret->why = why(j, ret->best);
		plan_commands(j, ret);
	} else {
		ret->nothing = misfit ? misfit : nothing(j, wish, ret, build);
	}
	if (strcmp(build, "cuda") != 0 && !ret->best)
		return;
	plan_containers(j, wish->torch, ret);
}
