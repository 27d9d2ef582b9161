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
		return strlen(v->text) > VALUE_MAX ? arena_printf(r->arena, "%.*s...", (int)str_cut(str_of(v->text), VALUE_MAX).len, v->text) : v->text;
	case FACTS_BOOL:
		return v->i ? "yes" : "no";
	case FACTS_INT:
		facts_get_int(row, c, &n);
		return arena_printf(r->arena, "%lld", (long long)n);
	case FACTS_REAL:
		facts_get_real(row, c, &x);
		return arena_printf(r->arena, "%g", x);
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
			buf_fmt(&b, "%s%d x %s%s%s%s", b.len ? ", " : "", n, name ? name : "unknown accelerator", cc ? " (" : "", cc ? cc : "", cc ? ")" : "");
	}
	if (!b.len)
		buf_text(&b, r->facts->read[TABLE_gpu] ? "none" : "?");
	const char *text = arena_strndup(r->arena, b.ptr, b.len);
	buf_free(&b);
	return text;
}

static const char *loaded_nccl(const struct report *r)
{
	for (const struct facts_row *row = r->facts->first[TABLE_nccl]; row; row = row->next) {
		bool loaded;
		if (facts_get_bool(row, nccl__loaded, &loaded) && loaded) {
			const char *version = facts_get_text(row, nccl__version), *path = facts_get_text(row, nccl__path), *by = facts_get_text(row, nccl__found_by);
			return arena_printf(r->arena, "%s %s%s%s%s", version ? version : "?", path ? path : "", by ? " (" : "", by ? by : "", by ? ")" : "");
		}
	}
	return r->facts->read[TABLE_nccl] ? "none" : "?";
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

void report_brief(const struct report *r, struct buf *out)
{
	const struct judgement *j = r->judgement;
	buf_fmt(out, "davy %s: %s\n", DAVY_VERSION, report_verdict(r));
	row(out, "os", "%s, kernel %s, %s, glibc %s", text_of(r, system__os_name), text_of(r, system__kernel), text_of(r, system__arch), text_of(r, system__libc_version));
	row(out, "cpu, memory", "%s cores, %s bytes", text_of(r, system__cpu_allowed), text_of(r, system__memory_bytes));
	row(out, "gpu", "%s", gpus(r));
	row(out, "driver", "%s (CUDA up to %s), open modules: %s", text_of(r, driver__version), text_of(r, driver__cuda_max), text_of(r, driver__open_module));
	row(out, "python", "%s %s (%s)", text_of(r, python__version), text_of(r, python__real_path), text_of(r, python__kind));
	row(out, "torch", "%s, build %s, CUDA %s, from %s", text_of(r, torch__version), text_of(r, torch__build), text_of(r, torch__cuda), text_of(r, torch__installer));
	row(out, "back ends", "nccl %s, gloo %s, mpi %s, ucc %s", text_of(r, torch__nccl_built), text_of(r, torch__gloo_built), text_of(r, torch__mpi_built), text_of(r, torch__ucc_built));
	row(out, "gpu code", "%s", text_of(r, torch__arch_list));
	row(out, "nccl", "%s", loaded_nccl(r));
	row(out, "container", "%s", text_of(r, container__engine));
	for (const struct facts_row *m = r->facts->first[TABLE_mount]; m; m = m->next) {
		const char *role = facts_get_text(m, mount__role);
		int64_t size = -1, left = -1;
		facts_get_int(m, mount__size_bytes, &size);
		facts_get_int(m, mount__free_bytes, &left);
		if (role && strcmp(role, "shm") == 0 && size >= 0)
			row(out, "/dev/shm", "%lld MB, %lld MB free", (long long)(size >> 20), (long long)(left >> 20));
	}
	int n = 0;
	for (const struct facts_row *v = r->facts->first[TABLE_variable]; v && n < 24; v = v->next) {
		const char *name = facts_get_text(v, variable__name), *value = facts_get_text(v, variable__value);
		if (name && value && (strncmp(name, "NCCL_", 5) == 0 || strncmp(name, "CUDA_", 5) == 0 || strncmp(name, "TORCH_", 6) == 0 || strncmp(name, "LD_", 3) == 0 || strncmp(name, "GLOO_", 5) == 0) && n++ < 24)
			row(out, n == 1 ? "variables" : "", "%s=%.*s", name, (int)str_cut(str_of(value), 200).len, value);
	}
	for (const struct finding *f = j->findings; f; f = f->next)
		if (f->status != STATUS_INFO)
			row(out, status_name(f->status), "%s (%s): %s", f->cause, certainty_name(f->certainty), f->says ? f->says : f->title);
}

void report_header(const struct report *r, struct buf *out)
{
	buf_fmt(out, "[davy %s] driver %s, CUDA up to %s | torch %s (%s, CUDA %s) | NCCL %s\n", DAVY_VERSION, text_of(r, driver__version), text_of(r, driver__cuda_max), text_of(r, torch__version), text_of(r, torch__build), text_of(r, torch__cuda), loaded_nccl(r));
	buf_fmt(out, "[davy] python %s %s | %s | host %s, kernel %s\n", text_of(r, python__version), text_of(r, python__real_path), gpus(r), text_of(r, system__hostname), text_of(r, system__kernel));
	struct buf b = BUF_MAX(65536);
	for (const struct facts_row *v = r->facts->first[TABLE_variable]; v; v = v->next) {
		const char *name = facts_get_text(v, variable__name), *value = facts_get_text(v, variable__value);
		if (name && value && (strncmp(name, "NCCL_", 5) == 0 || strncmp(name, "CUDA_VIS", 8) == 0 || strcmp(name, "WORLD_SIZE") == 0 || strcmp(name, "RANK") == 0 || strncmp(name, "MASTER_", 7) == 0 || strncmp(name, "TORCH_NCCL", 10) == 0 || strncmp(name, "GLOO_", 5) == 0))
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
