/* Short forms: one screen for a bug report, a header for a training log, every fact with its origin. */
#include "report/report.h"
#include "report/text.h"

#define VALUE_MAX 300
#define LINE_MAX_BYTES 1200

static const char *text_of(const struct report *r, enum facts_column c)
{
	const struct facts_row *row = r->facts->first[facts_columns[c].table];
	int64_t n;
	double x;
	const struct facts_value *v = row ? facts_value(row, c) : NULL;
	if (!v || (v->gap != GAP_NONE && v->gap != GAP_ABSENT))
		return "?";
	if (v->gap == GAP_ABSENT)
		return "none";
	switch (facts_columns[c].type) {
	case FACTS_TEXT:
		return strlen(v->text) > VALUE_MAX
			? arena_printf(r->arena, "%.*s...", (int)str_cut(str_of(v->text), VALUE_MAX).len, v->text)
			: v->text;
	case FACTS_BOOL: return v->i ? "yes" : "no";
	case FACTS_INT: facts_get_int(row, c, &n); return arena_printf(r->arena, "%lld", (long long)n);
	case FACTS_REAL: facts_get_real(row, c, &x); return arena_printf(r->arena, "%g", x);
	}
	return "?";
}

/* "8 x NVIDIA H100 80GB HBM3 (sm_90)", one part for each model. */
static const char *gpus(const struct report *r)
{
	struct buf b = BUF_MAX(4096);
	for (const struct facts_row *row = r->facts->first[TABLE_gpu]; row; row = row->next) {
		const char *name = facts_get_text(row, gpu__name), *cc = facts_get_text(row, gpu__compute_capability);
		int n = 0;
		bool earlier = false;
		for (const struct facts_row *other = r->facts->first[TABLE_gpu]; other; other = other->next) {
			const char *other_name = facts_get_text(other, gpu__name);
			bool same = name == other_name || (name && other_name && strcmp(name, other_name) == 0);
			earlier |= same && other->id < row->id;
			n += same;
		}
		if (!earlier)
			buf_fmt(&b, "%s%d x %s%s%s%s", b.len ? ", " : "", n, name ? name : "unknown accelerator", cc ? " (" : "",
				cc ? cc : "", cc ? ")" : "");
	}
	if (!b.len)
		buf_text(&b, r->facts->read[TABLE_gpu] ? "none" : "?");
	const char *text = arena_strndup(r->arena, b.ptr, b.len);
	buf_free(&b);
	return text;
}

/* The NCCL that this PyTorch would load. */
static const struct facts_row *loaded_nccl(const struct report *r)
{
	for (const struct facts_row *row = r->facts->first[TABLE_nccl]; row; row = row->next) {
		bool loaded;
		if (facts_get_bool(row, nccl__loaded, &loaded) && loaded)
			return row;
	}
	return NULL;
}

/* "2.27.3 /path (rpath)" */
static const char *nccl(const struct report *r)
{
	const struct facts_row *row = loaded_nccl(r);
	if (!row)
		return r->facts->read[TABLE_nccl] ? "none" : "?";
	const char *version = facts_get_text(row, nccl__version), *file = facts_get_text(row, nccl__path),
		   *by = facts_get_text(row, nccl__found_by);
	return arena_printf(
		r->arena, "%s %s%s%s%s", version ? version : "?", file ? file : "", by ? " (" : "", by ? by : "", by ? ")" : "");
}

/* No row: looked and none there, or nobody could look. */
static const char *empty(const struct report *r, enum facts_table table, const char *none)
{
	return r->facts->first[table] ? NULL : r->facts->read[table] ? none : "?";
}

static const char *bytes(const struct report *r, int64_t n)
{
	return n < 0                     ? "?"
		: n >= (int64_t)10 << 30 ? arena_printf(r->arena, "%lld GB", (long long)(n >> 30))
					 : arena_printf(r->arena, "%lld MB", (long long)(n >> 20));
}

static const char *bytes_of(const struct report *r, const struct facts_row *row, enum facts_column c)
{
	int64_t n = -1;
	if (row)
		facts_get_int(row, c, &n);
	return bytes(r, n);
}

static const char *driver(const struct report *r)
{
	bool open_module;
	const struct facts_row *row = r->facts->first[TABLE_driver];
	const char *none = empty(r, TABLE_driver, "none");
	if (none)
		return none;
	const char *kind = !facts_get_bool(row, driver__open_module, &open_module) ? ""
		: open_module                                                      ? ", open modules"
										   : ", closed modules";
	const char *cuda = facts_get_text(row, driver__cuda_max);
	return arena_printf(r->arena, "%s%s%s%s", text_of(r, driver__version), cuda ? ", CUDA up to " : "", cuda ? cuda : "", kind);
}

static const char *torch(const struct report *r)
{
	const char *none = empty(r, TABLE_torch, "not installed"), *cuda, *hip;
	if (none)
		return none;
	cuda = facts_get_text(r->facts->first[TABLE_torch], torch__cuda);
	hip = facts_get_text(r->facts->first[TABLE_torch], torch__hip);
	return arena_printf(r->arena, "%s (%s%s%s)", text_of(r, torch__version),
		cuda          ? "CUDA "
			: hip ? "HIP "
			      : "",
		cuda          ? cuda
			: hip ? hip
			      : text_of(r, torch__build),
		cuda || hip ? "" : " build");
}

static void row(struct buf *out, const char *name, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void row(struct buf *out, const char *name, const char *fmt, ...)
{
	char text[4096];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	buf_fmt(out, "%-11s ", name);
	buf_str(out, str_cut(str_of(text), LINE_MAX_BYTES));
	buf_char(out, '\n');
}

static bool has_prefix(const char *name, const char *const *prefixes)
{
	for (; *prefixes; prefixes++)
		if (strncmp(name, *prefixes, strlen(*prefixes)) == 0)
			return true;
	return false;
}

static void brief_torch(const struct report *r, struct buf *out)
{
	static const char *const companions[] = {"torchvision", "torchaudio", "triton", "numpy", "transformers", "accelerate", "deepspeed",
		"flash-attn", "xformers", "bitsandbytes", "vllm", "sglang", "megatron-core", "pytorch-lightning", "ray", "torch-npu", NULL};
	struct buf b = BUF_MAX(LINE_MAX_BYTES);
	row(out, "torch", "%s%s%s", torch(r), r->facts->first[TABLE_torch] ? ", by " : "",
		r->facts->first[TABLE_torch] ? text_of(r, torch__installer) : "");
	if (r->facts->first[TABLE_torch]) {
		row(out, "back ends", "nccl %s, gloo %s, mpi %s, ucc %s", text_of(r, torch__nccl_built), text_of(r, torch__gloo_built),
			text_of(r, torch__mpi_built), text_of(r, torch__ucc_built));
		row(out, "gpu code", "%s", text_of(r, torch__arch_list));
		row(out, "nccl", "%s", nccl(r));
	}
	for (size_t i = 0; companions[i]; i++) {
		const struct facts_row *package = facts_find(r->facts, package__canonical, companions[i]);
		const char *version = package ? facts_get_text(package, package__version) : NULL;
		if (version)
			buf_fmt(&b, "%s%s %s", b.len ? ", " : "", companions[i], version);
	}
	if (b.len)
		row(out, "packages", "%s", b.ptr);
	buf_free(&b);
}

static void brief_host(const struct report *r, struct buf *out)
{
	row(out, "container", "%s", text_of(r, container__engine));
	for (const struct facts_row *m = r->facts->first[TABLE_mount]; m; m = m->next) {
		const char *role = facts_get_text(m, mount__role);
		if (role && strcmp(role, "shm") == 0)
			row(out, "/dev/shm", "%s, %s free", bytes_of(r, m, mount__size_bytes), bytes_of(r, m, mount__free_bytes));
	}
	for (const struct facts_row *i = r->facts->first[TABLE_interface]; i; i = i->next) {
		bool chosen = false;
		int64_t mtu = -1;
		const char *name = facts_get_text(i, interface__name), *address = facts_get_text(i, interface__ipv4);
		if (facts_get_bool(i, interface__nccl_choice, &chosen) && chosen && name && facts_get_int(i, interface__mtu, &mtu))
			row(out, "network", "%s %s mtu %lld", name, address ? address : "", (long long)mtu);
	}
}

static void brief_variables(const struct report *r, struct buf *out)
{
	static const char *const prefixes[] = {"NCCL_", "CUDA_", "TORCH_", "LD_", "GLOO_", "HCCL_", "ASCEND_", "HIP_", "ROCR_", NULL};
	int n = 0;
	for (const struct facts_row *v = r->facts->first[TABLE_variable]; v && n < 24; v = v->next) {
		const char *name = facts_get_text(v, variable__name), *value = facts_get_text(v, variable__value);
		if (name && value && has_prefix(name, prefixes) && n++ < 24)
			row(out, n == 1 ? "variables" : "", "%s=%.*s", name, (int)str_cut(str_of(value), 200).len, value);
	}
}

void report_brief(const struct report *r, struct buf *out)
{
	const struct judgement *j = r->judgement;
	buf_fmt(out, "davy %s: %s\n", DAVY_VERSION, report_verdict(r));
	row(out, "os", "%s, kernel %s, %s, glibc %s", text_of(r, system__os_name), text_of(r, system__kernel), text_of(r, system__arch),
		text_of(r, system__libc_version));
	row(out, "cpu, memory", "%s cores, %s", text_of(r, system__cpu_allowed),
		bytes_of(r, r->facts->first[TABLE_system], system__memory_bytes));
	row(out, "gpu", "%s", gpus(r));
	row(out, "driver", "%s", driver(r));
	row(out, "python", "%s %s (%s)", text_of(r, python__version), text_of(r, python__real_path), text_of(r, python__kind));
	brief_torch(r, out);
	brief_host(r, out);
	brief_variables(r, out);
	for (const struct finding *f = j->findings; f; f = f->next)
		if (f->status != STATUS_INFO)
			row(out, status_name(f->status), "%s (%s): %s", f->cause, certainty_name(f->certainty),
				f->says ? f->says : f->title);
}

void report_header(const struct report *r, struct buf *out)
{
	static const char *const prefixes[] = {"NCCL_", "CUDA_VIS", "WORLD_SIZE", "RANK", "MASTER_", "TORCH_NCCL", "GLOO_", NULL};
	struct buf b = BUF_MAX(65536);
	buf_fmt(out, "[davy %s] gpu %s | driver %s\n", DAVY_VERSION, gpus(r), driver(r));
	buf_fmt(out, "[davy] torch %s | NCCL %s | python %s %s\n", torch(r), nccl(r), text_of(r, python__version),
		text_of(r, python__real_path));
	buf_fmt(out, "[davy] host %s, kernel %s, container %s\n", text_of(r, system__hostname), text_of(r, system__kernel),
		text_of(r, container__engine));
	for (const struct facts_row *v = r->facts->first[TABLE_variable]; v; v = v->next) {
		const char *name = facts_get_text(v, variable__name), *value = facts_get_text(v, variable__value);
		if (name && value && has_prefix(name, prefixes))
			buf_fmt(&b, " %s=%.*s", name, (int)str_cut(str_of(value), 200).len, value);
	}
	if (b.len)
		buf_fmt(out, "[davy]%s\n", b.ptr);
	buf_free(&b);
	buf_fmt(out, "[davy] %s\n", report_verdict(r));
}

void report_facts(const struct report *r, struct buf *out)
{
	for (int t = 0; t < TABLE_COUNT; t++) {
		struct facts_table_info info = facts_table((enum facts_table)t);
		for (const struct facts_row *f = r->facts->first[t]; f; f = f->next) {
			for (int c = info.first; c < info.end; c++) {
				const struct facts_value *v = facts_value(f, (enum facts_column)c);
				if (!v->set)
					continue;
				buf_fmt(out, "  %s[%d].%s = ", info.name, f->id, facts_columns[c].name);
				if (v->gap != GAP_NONE)
					buf_fmt(out, "(%s%s%s)", facts_gap_name(v->gap), v->detail ? ": " : "", v->detail ? v->detail : "");
				else if (facts_columns[c].type == FACTS_TEXT)
					buf_text(out, v->text);
				else if (facts_columns[c].type == FACTS_REAL)
					buf_fmt(out, "%g", v->r);
				else if (facts_columns[c].type == FACTS_BOOL)
					buf_text(out, v->i ? "yes" : "no");
				else
					buf_fmt(out, "%lld", (long long)v->i);
				buf_fmt(out, "   %s\n", v->origin ? v->origin : "");
			}
		}
	}
	for (size_t i = 0; i < r->part_count; i++)
		buf_fmt(out, "  %-18s %7.2f ms\n", r->part_names[i], r->part_ms[i]);
	buf_char(out, '\n');
}
