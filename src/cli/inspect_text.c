/* What davy inspect prints for people: what the file is, its GPU code, where its libraries come from, and what is wrong. */
#include "cli/inspect.h"
#include "report/text.h"

#define VALUE_COLUMN 16

static void label(struct buf *out, struct cli *c, const char *text)
{
	text_pad(out, 2);
	text_style(out, c->color, TEXT_DIM, text);
	int at = 2 + text_width(str_of(text));
	text_pad(out, at < VALUE_COLUMN ? VALUE_COLUMN - at : 1);
}

void inspect_row(struct cli *c, struct buf *out, const char *name, const char *value)
{
	label(out, c, name);
	text_wrap(out, str_of(value), VALUE_COLUMN, VALUE_COLUMN, c->columns);
	buf_char(out, '\n');
}

void inspect_trouble(struct cli *c, struct buf *out, bool fault, const char *text)
{
	text_pad(out, 2);
	text_style(out, c->color, fault ? TEXT_RED : TEXT_YELLOW, c->unicode ? (fault ? "✗" : "!") : (fault ? "x" : "!"));
	buf_char(out, ' ');
	text_wrap(out, str_of(text), 4, 4, c->columns);
	buf_char(out, '\n');
}

const char *inspect_size(struct cli *c, uint64_t bytes)
{
	static const char *const units[] = {"B", "KB", "MB", "GB"};
	double v = (double)bytes;
	size_t u = 0;
	while (v >= 1000 && u < 3) {
		v /= 1000;
		u++;
	}
	return arena_printf(c->arena, v < 10 && u ? "%.1f %s" : "%.0f %s", v, units[u]);
}

static const char *problem_text(struct cli *c, const char *problem)
{
	static const struct {
		const char *problem, *english, *chinese;
	} texts[] = {
		{"empty", "The file is empty.", "文件是空的。"},
		{"not-elf", "This is no ELF file: the loader would say \"invalid ELF header\".",
			"这不是 ELF 文件，加载器会报 \"invalid ELF header\"。"},
		{"lfs-pointer", "This is a Git LFS pointer, not the file: run git lfs pull.",
			"这是 Git LFS 指针，不是文件本身：请执行 git lfs pull。"},
		{"truncated", "The file is cut short: parts that its headers name are beyond its end. Copy or install it again.",
			"文件不完整：头部所指的内容超出了文件末尾。请重新复制或安装。"},
		{"wrong-machine", "The file is not for 64-bit little-endian machines.", "该文件不适用于 64 位小端机器。"},
		{"damaged", "The file's tables contradict each other: it is damaged.", "文件内部的表相互矛盾：文件已损坏。"},
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (strcmp(texts[i].problem, problem) == 0)
			return cli_tr(c, texts[i].english, texts[i].chinese);
	return problem;
}

static const char *rule_text(struct cli *c, const char *found_by)
{
	static const struct {
		const char *found_by, *english, *chinese;
	} texts[] = {
		{"rpath", "RPATH", "RPATH"},
		{"runpath", "RUNPATH", "RUNPATH"},
		{"ld_library_path", "LD_LIBRARY_PATH", "LD_LIBRARY_PATH"},
		{"ld_so_cache", "ld.so.cache", "ld.so.cache"},
		{"default", "default directory", "默认目录"},
		{"preload", "LD_PRELOAD", "LD_PRELOAD"},
		{"loaded", "loaded before", "此前已加载"},
		{"direct", "by its path", "按路径"},
	};
	for (size_t i = 0; found_by && i < sizeof texts / sizeof *texts; i++)
		if (strcmp(texts[i].found_by, found_by) == 0)
			return cli_tr(c, texts[i].english, texts[i].chinese);
	return "";
}

/* CUDA of the first driver that takes this PTX ISA: "9.0" 13.0, "8.7" 12.8, "7.8" 11.8. */
static const char *cuda_of_ptx(struct cli *c, const char *isa)
{
	static const int minor8[] = {0, 1, 2, 3, 4, 5, 7, 8, 9};
	int major, minor;
	if (sscanf(isa, "%d.%d", &major, &minor) != 2 || minor < 0)
		return NULL;
	if (major >= 9)
		return arena_printf(c->arena, "%d.%d", major + 4, minor);
	if (major == 8 && minor < 9)
		return arena_printf(c->arena, "12.%d", minor8[minor]);
	return major == 7 ? arena_printf(c->arena, "11.%d", minor) : NULL;
}

/* -- what it is ------------------------------------------------------------------------------------------------------------- */

static void headline(struct cli *c, const struct inspect_file *f, struct buf *out)
{
	const struct elf_digest *d = &f->digest;
	const char *dot = c->unicode ? " · " : " - ";
	text_style(out, c->color, TEXT_BOLD, f->path);
	buf_char(out, '\n');
	if (!f->elf.bits)
		return;
	text_pad(out, 2);
	buf_text(out,
		d->interp || f->elf.type == 2 ? cli_tr(c, "program", "可执行文件")
			: f->elf.type == 4    ? cli_tr(c, "core dump", "core 文件")
			: f->elf.type == 1    ? cli_tr(c, "object file", "目标文件")
					      : cli_tr(c, "shared library", "动态库"));
	buf_fmt(out, "%s%s%s%s", dot, d->machine ? d->machine : "?", dot, inspect_size(c, f->source.size));
	if (d->soname)
		buf_fmt(out, "%s%s", dot, d->soname);
	if (f->version && !d->nccl && !d->rccl)
		buf_fmt(out, "%s%s %s", dot, cli_tr(c, "version", "版本"), f->version);
	buf_char(out, '\n');
}

static void code_rows(struct cli *c, const struct inspect_file *f, struct buf *out)
{
	const struct elf_digest *d = &f->digest;
	struct buf text = BUF_MAX(65536);
	static const enum fatbin_kind order[] = {FATBIN_SASS, FATBIN_HSACO, FATBIN_LTO};
	for (size_t k = 0; k < 3; k++)
		for (size_t i = 0; i < d->code_count; i++)
			if (d->codes[i].kind == order[k])
				buf_fmt(&text, "%s%s", text.len ? " " : "", d->codes[i].name);
	if (text.len)
		inspect_row(c, out, cli_tr(c, "GPU code", "GPU 代码"), text.ptr);
	buf_reset(&text);
	for (size_t i = 0; i < d->code_count; i++) {
		const struct elf_digest_code *code = &d->codes[i];
		if (code->kind != FATBIN_PTX)
			continue;
		const char *cuda = code->ptx_isa ? cuda_of_ptx(c, code->ptx_isa) : NULL;
		bool last = i + 1 == d->code_count || d->codes[i + 1].kind != FATBIN_PTX || !d->codes[i + 1].ptx_isa || !code->ptx_isa ||
			strcmp(d->codes[i + 1].ptx_isa, code->ptx_isa) != 0;
		buf_fmt(&text, "%s%s", text.len ? " " : "", code->name);
		if (last && cuda)
			buf_fmt(&text, cli_tr(c, " (PTX %s: drivers for CUDA %s and newer)", "（PTX %s：需支持 CUDA %s 或更新的驱动）"),
				code->ptx_isa, cuda);
	}
	if (text.len)
		inspect_row(c, out, "PTX", text.ptr);
	if (d->code_hidden)
		inspect_row(c, out, "",
			cli_tr(c, "The library chooses and compiles code itself; an architecture that is not listed may still work.",
				"该库自行选择并编译代码，未列出的架构也可能可用。"));
	if (d->code_incomplete)
		inspect_row(c, out, "", cli_tr(c, "Not all GPU code could be listed.", "GPU 代码未能全部列出。"));
	buf_free(&text);
}

static void backend_row(struct cli *c, const struct elf_digest *d, struct buf *out)
{
	static const char *const names[] = {"NCCL", "Gloo", "MPI", "UCC", "XCCL"};
	struct buf yes = BUF_MAX(256), no = BUF_MAX(256);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char mark[40];
		snprintf(mark, sizeof mark, "c10d::ProcessGroup%s", names[i]);
		struct buf *list = parse_elf_digest_mentions(d, mark) || parse_elf_digest_has_string(d, mark + 6) ? &yes : &no;
		buf_fmt(list, "%s%s", list->len ? " " : "", names[i]);
	}
	inspect_row(c, out, cli_tr(c, "back ends", "通信后端"),
		arena_printf(c->arena, cli_tr(c, "%s compiled in; not: %s", "已编译：%s；未编译：%s"),
			yes.len ? yes.ptr : cli_tr(c, "none", "无"), no.len ? no.ptr : "-"));
	buf_free(&yes);
	buf_free(&no);
}

static void fact_rows(struct cli *c, const struct inspect_file *f, struct buf *out)
{
	const struct elf_digest *d = &f->digest;
	code_rows(c, f, out);
	if (d->nccl)
		inspect_row(c, out, "NCCL",
			d->nccl_cuda
				? arena_printf(c->arena, cli_tr(c, "%s, built for CUDA %s", "%s，为 CUDA %s 构建"), d->nccl, d->nccl_cuda)
				: d->nccl);
	if (d->rccl)
		inspect_row(c, out, "RCCL",
			d->rccl_hip ? arena_printf(c->arena, cli_tr(c, "%s, built for HIP %s", "%s，为 HIP %s 构建"), d->rccl, d->rccl_hip)
				    : d->rccl);
	if (d->soname && strncmp(d->soname, "libtorch_python", 15) == 0)
		backend_row(c, d, out);
	const char *glibc = parse_elf_digest_highest_need(d, "GLIBC_"), *cxx = parse_elf_digest_highest_need(d, "GLIBCXX_");
	if (glibc || cxx)
		inspect_row(c, out, cli_tr(c, "needs", "要求"),
			arena_printf(c->arena, "%s%s%s%s", glibc ? "glibc " : "", glibc ? glibc : "", glibc && cxx ? ", " : "",
				cxx ? arena_printf(c->arena, "GLIBCXX %s", cxx) : ""));
	if (d->numpy_abi == 1)
		inspect_row(
			c, out, "NumPy", cli_tr(c, "built for NumPy 1; cannot be used with NumPy 2", "为 NumPy 1 构建，不能用于 NumPy 2"));
	if (d->cxx11 >= 0)
		inspect_row(c, out, "C++ ABI", d->cxx11 ? "_GLIBCXX_USE_CXX11_ABI=1" : "_GLIBCXX_USE_CXX11_ABI=0");
	if (d->rpath && !d->runpath)
		inspect_row(c, out, "RPATH",
			arena_printf(c->arena, cli_tr(c, "%s (before LD_LIBRARY_PATH)", "%s（先于 LD_LIBRARY_PATH）"), d->rpath));
	if (d->runpath)
		inspect_row(c, out, "RUNPATH",
			arena_printf(c->arena, cli_tr(c, "%s (after LD_LIBRARY_PATH)", "%s（后于 LD_LIBRARY_PATH）"), d->runpath));
}

/* -- where its libraries come from --------------------------------------------------------------------------------------------- */

static bool is_runtime(const char *name)
{
	static const char *const names[] = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1",
		"libgcc_s.so.1", "libstdc++.so.6", "libresolv.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static void want_row(struct cli *c, const struct inspect_file *f, const struct ldso_want *n, int name_width, bool first, struct buf *out)
{
	label(out, c, first ? cli_tr(c, "finds", "将加载") : "");
	buf_text(out, n->name);
	int width = text_width(str_of(n->name));
	text_pad(out, name_width - width > 0 ? name_width - width + 2 : 2);
	if (n->to < 0) {
		text_style(out, c->color, inspect_is_foreign(f, n->name) ? TEXT_YELLOW : TEXT_RED, cli_tr(c, "not found", "找不到"));
	} else {
		const struct ldso_object *o = &f->loader.objects[n->to];
		buf_fmt(out, "%s  ", o->path);
		text_style(out, c->color, TEXT_DIM, rule_text(c, n->found_by));
		if (o->elf.nccl)
			buf_fmt(out, "  NCCL %s", o->elf.nccl);
	}
	buf_char(out, '\n');
}

static void want_rows(struct cli *c, const struct inspect_file *f, struct buf *out)
{
	int width = 0, folded = 0;
	bool first = true;
	for (size_t i = 0; i < f->loader.want_count; i++)
		if (f->loader.wants[i].from == f->root && text_width(str_of(f->loader.wants[i].name)) > width &&
			text_width(str_of(f->loader.wants[i].name)) <= 32)
			width = text_width(str_of(f->loader.wants[i].name));
	for (size_t i = 0; i < f->loader.want_count; i++) {
		const struct ldso_want *n = &f->loader.wants[i];
		if (n->from != f->root)
			continue;
		bool system = n->to >= 0 &&
			(strcmp(n->found_by, "ld_so_cache") == 0 || strcmp(n->found_by, "default") == 0 ||
				strcmp(n->found_by, "loaded") == 0);
		if (!c->options.verbose && system && is_runtime(n->name)) {
			folded++;
			continue;
		}
		want_row(c, f, n, width, first, out);
		first = false;
	}
	if (folded) {
		label(out, c, first ? cli_tr(c, "finds", "将加载") : "");
		buf_fmt(out,
			cli_tr(c, first ? "the system's C and C++ runtime (%d)\n" : "and the system's C and C++ runtime (%d)\n",
				first ? "系统的 C/C++ 运行库（%d 个）\n" : "以及系统的 C/C++ 运行库（%d 个）\n"),
			folded);
	}
	if (f->after_torch)
		inspect_row(c, out, "",
			arena_printf(c->arena, cli_tr(c, "as after `import torch` from %s", "按先从 %s 执行 `import torch` 计算"),
				f->after_torch));
}

/* -- what is wrong --------------------------------------------------------------------------------------------------------------- */

static void missing_rows(struct cli *c, const struct inspect_file *f, struct buf *out)
{
	for (size_t i = 0; i < f->loader.want_count; i++) {
		const struct ldso_want *n = &f->loader.wants[i];
		if (n->to >= 0)
			continue;
		const char *by = n->from == f->root ? NULL : n->from < 0 ? "LD_PRELOAD" : f->loader.objects[n->from].path;
		const char *text = by
			? arena_printf(c->arena, cli_tr(c, "%s is not found; %s wants it", "找不到 %s（%s 需要它）"), n->name, by)
			: arena_printf(c->arena, cli_tr(c, "%s is not found", "找不到 %s"), n->name);
		if (inspect_is_foreign(f, n->name) && n->from >= 0)
			text = arena_printf(c->arena, "%s%s", text,
				strncmp(n->name, "libtorch", 8) == 0 || strncmp(n->name, "libc10", 6) == 0
					? cli_tr(c, " here; a process that has imported torch has it", "；已 import torch 的进程中会有")
					: cli_tr(c, "; it comes with the NVIDIA driver", "；它随 NVIDIA 驱动安装"));
		inspect_trouble(c, out, n->from >= 0 && !inspect_is_foreign(f, n->name),
			arena_printf(c->arena, "%s%s", text, cli_tr(c, ".", "。")));
	}
}

static void unmet_rows(struct cli *c, const struct inspect_file *f, struct buf *out)
{
	for (size_t i = 0; i < f->loader.unmet_count; i++) {
		const struct ldso_unmet *u = &f->loader.unmet[i];
		const struct ldso_object *provider = u->provider >= 0 ? &f->loader.objects[u->provider] : NULL;
		const char *version = provider && provider->elf.nccl ? arena_printf(c->arena, " (NCCL %s)", provider->elf.nccl) : "";
		if (provider)
			inspect_trouble(c, out, true,
				arena_printf(c->arena, cli_tr(c, "%s needs %s, which %s%s does not have.", "%s 需要 %s，而 %s%s 中没有。"),
					f->loader.objects[u->library].path, u->symbol, provider->path, version));
		else
			inspect_trouble(c, out, true,
				arena_printf(c->arena, cli_tr(c, "%s needs %s, which no library has.", "%s 需要 %s，没有任何库提供。"),
					f->loader.objects[u->library].path, u->symbol));
	}
	if (!f->undefined_count)
		return;
	const char *more = f->undefined_count > 1
		? arena_printf(c->arena, cli_tr(c, " and %zu more", " 等 %zu 个"), f->undefined_count - !c->chinese)
		: "";
	const char *of = f->after_torch ? cli_tr(c, "In no library: %s%s. The file was built for another PyTorch.",
						  "所有库中都没有符号 %s%s：该文件是为另一个 PyTorch 构建的。")
					: cli_tr(c, "In no library that it loads: %s%s.", "它加载的所有库中都没有符号 %s%s。");
	inspect_trouble(c, out, true, arena_printf(c->arena, of, f->undefined[0], more));
}

void inspect_text(struct cli *c, const struct inspect_file *f, struct buf *out)
{
	headline(c, f, out);
	if (f->error < 0) {
		inspect_trouble(c, out, false, strerror(-f->error));
		return;
	}
	if (f->elf.bits == 64 && !f->elf.big_endian) {
		fact_rows(c, f, out);
		want_rows(c, f, out);
	}
	if (f->digest.problem)
		inspect_trouble(c, out, true, problem_text(c, f->digest.problem));
	for (size_t i = 0; i < f->loader.object_count; i++)
		if (f->loader.objects[i].problem && (int)i != f->root)
			inspect_trouble(c, out, true,
				arena_printf(c->arena, "%s: %s", f->loader.objects[i].path, problem_text(c, f->loader.objects[i].problem)));
	missing_rows(c, f, out);
	unmet_rows(c, f, out);
}
