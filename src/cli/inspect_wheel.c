/* What davy inspect prints of a wheel or a source archive, before it is installed. */
#include <errno.h>

#include "act/wheel.h"
#include "cli/inspect.h"
#include "report/text.h"

#define LIST_SHOWN 8

/* -- words ------------------------------------------------------------------------------------------------------------------ */

struct words {
	const char *key, *english, *chinese;
};

static const char *words_of(struct cli *c, const struct words *w, size_t n, const char *key)
{
	for (size_t i = 0; key && i < n; i++)
		if (strcmp(w[i].key, key) == 0)
			return cli_tr(c, w[i].english, w[i].chinese);
	return key ? key : "";
}

static const char *why_text(struct cli *c, const struct wheel *w)
{
	static const struct words words[] = {
		{"not-zip", "This is no zip archive, so it is no wheel.", "这不是 zip 文件，因此不是 wheel。"},
		{"empty", "The file is empty.", "文件是空的。"},
		{"html", "This is a web page that was saved under the wheel's name: download the file itself.",
			"这是以 wheel 之名保存的网页：请下载文件本身。"},
		{"lfs-pointer", "This is a Git LFS pointer, not the file: run git lfs pull.",
			"这是 Git LFS 指针，不是文件本身：请执行 git lfs pull。"},
		{"truncated", "The archive is cut short: its directory, which stands at the end, is missing. Download it again.",
			"文件不完整：位于末尾的目录缺失。请重新下载。"},
		{"damaged", "The archive is damaged: its directory contradicts itself.", "文件已损坏：其目录自相矛盾。"},
		{"too-large", "The archive claims more than any wheel holds; it is not read.",
			"该文件声称的大小超出任何 wheel，不予读取。"},
		{"no-metadata", "It has no METADATA or PKG-INFO: it is no Python distribution.",
			"其中没有 METADATA 或 PKG-INFO：不是 Python 分发包。"},
		{"bad-metadata", "Its METADATA cannot be read, or names neither package nor version.",
			"其 METADATA 无法读取，或没有包名和版本。"},
	};
	return w->why ? words_of(c, words, sizeof words / sizeof *words, w->why) : strerror(-w->error);
}

static const char *problem_text(struct cli *c, const char *what)
{
	static const struct words words[] = {
		{"absolute-path", "would be written to an absolute path", "会写到绝对路径"},
		{"parent-path", "would be written outside of the environment (..)", "会写到环境之外（..）"},
		{"odd-name", "has a name that no file should have", "文件名不合法"},
		{"symlink", "is a symbolic link", "是符号链接"},
		{"special-file", "is a device or another special file", "是设备等特殊文件"},
		{"encrypted", "is encrypted", "已加密"},
		{"unknown-method", "is compressed in a way that pip does not know", "压缩方式 pip 不支持"},
		{"outside", "lies beyond the end of the archive", "超出了文件末尾"},
		{"overlaps", "shares its bytes with another member (a zip bomb's trick)", "与另一成员共用数据（zip 炸弹的手法）"},
		{"size-lies", "cannot have the size that it claims", "声称的大小不可能成立"},
		{"twice", "is in the archive twice", "在文件中出现两次"},
		{"damaged", "cannot be unpacked: it is damaged", "无法解压：已损坏"},
		{"crc", "is damaged (wrong CRC)", "已损坏（CRC 不符）"},
		{"hash", "is not what RECORD says (hash)", "与 RECORD 不符（哈希）"},
		{"size", "is not what RECORD says (size)", "与 RECORD 不符（大小）"},
		{"not-in-record", "is not named in RECORD", "没有列在 RECORD 中"},
		{"not-in-archive", "is named in RECORD and not in the archive", "列在 RECORD 中，但包里没有"},
		{"truncated", "is cut short inside the wheel", "在 wheel 中就已不完整"},
		{"lfs-pointer", "is a Git LFS pointer instead of a library", "是 Git LFS 指针而不是库"},
		{"wrong-machine", "is for another machine type", "适用于其他机器类型"},
	};
	return words_of(c, words, sizeof words / sizeof *words, what);
}

static const char *fit_text(struct cli *c, enum wheel_fit fit)
{
	static const char *const english[] = {"fits", "it needs another version of the C library",
		"it is for another C library (glibc, musl)", "it is for another machine type", "it is for another operating system",
		"it is for another Python ABI", "it is for another version of Python", "it is for another Python implementation"};
	static const char *const chinese[] = {"可用", "需要其他版本的 C 库", "适用于另一种 C 库（glibc、musl）", "适用于其他机器类型",
		"适用于其他操作系统", "适用于其他 Python ABI", "适用于其他版本的 Python", "适用于其他 Python 实现"};
	return cli_tr(c, english[fit], chinese[fit]);
}

static const char *joined(struct cli *c, const char *const *list, size_t n)
{
	struct buf b = BUF_MAX(65536);
	for (size_t i = 0; i < n && i < 40; i++)
		buf_fmt(&b, "%s%s", i ? " " : "", list[i]);
	if (n > 40)
		buf_fmt(&b, cli_tr(c, " and %zu more", " 等 %zu 个"), n - 40);
	const char *text = b.len ? arena_strndup(c->arena, b.ptr, b.len) : "";
	buf_free(&b);
	return text;
}

/* -- text -------------------------------------------------------------------------------------------------------------------- */

static void headline(struct cli *c, const struct wheel *w, struct buf *out)
{
	const char *dot = c->unicode ? " · " : " - ";
	text_style(out, c->color, TEXT_BOLD, w->path);
	buf_char(out, '\n');
	if (w->error < 0)
		return;
	buf_fmt(out, "  %s%s%s %s%s%s", w->is_source ? cli_tr(c, "source archive", "源码包") : "wheel", dot, w->name, w->version, dot,
		inspect_size(c, w->is_source ? w->unpacked : w->size));
	if (!w->is_source)
		buf_fmt(out, cli_tr(c, ", %s unpacked, %zu files", "，解压后 %s，%zu 个文件"), inspect_size(c, w->unpacked), w->members);
	buf_char(out, '\n');
}

static void code_rows(struct cli *c, const struct wheel *w, struct buf *out)
{
	if (w->code)
		inspect_row(c, out, cli_tr(c, "GPU code", "GPU 代码"), arena_printf(c->arena, "%s  (%s)", w->code, w->code_in));
	for (size_t i = 0; i < w->gpu_count; i++) {
		static const char *const english[] = {"runs here", "runs here only by compiling PTX at the first start", NULL,
			"cannot be told: the library chooses its code itself"};
		static const char *const chinese[] = {
			"可在此运行", "只能在首次启动时编译 PTX 才能运行", NULL, "无法判断：该库自行选择代码"};
		const struct wheel_gpu *g = &w->gpus[i];
		if (english[g->runs])
			inspect_row(c, out, "",
				arena_printf(c->arena, "%s (%s): %s", g->name ? g->name : "GPU", g->code,
					cli_tr(c, english[g->runs], chinese[g->runs])));
	}
	if (w->cuda)
		inspect_row(c, out, "CUDA", w->cuda);
	if (w->nccl_brings)
		inspect_row(c, out, "NCCL", arena_printf(c->arena, cli_tr(c, "brings %s", "自带 %s"), w->nccl_brings));
	if (w->nccl_inside)
		inspect_row(c, out, w->nccl_brings ? "" : "NCCL",
			arena_printf(
				c->arena, cli_tr(c, "%s linked into a library of its own", "%s，静态链接在自身的库中"), w->nccl_inside));
	if (w->nccl_needs)
		inspect_row(c, out, w->nccl_brings || w->nccl_inside ? "" : "NCCL",
			arena_printf(
				c->arena, cli_tr(c, "%s wants libnccl.so.2 from elsewhere", "%s 需要外部的 libnccl.so.2"), w->nccl_needs));
	if (w->need_count)
		inspect_row(c, out, cli_tr(c, "wants", "需要"), joined(c, w->needs, w->need_count));
	if (w->glibc)
		inspect_row(c, out, cli_tr(c, "needs", "要求"),
			arena_printf(c->arena, "glibc %s%s%s", w->glibc, w->glibcxx ? ", GLIBCXX " : "", w->glibcxx ? w->glibcxx : ""));
}

static void requirement_rows(struct cli *c, const struct wheel *w, struct buf *out)
{
	struct buf met = BUF_MAX(65536), absent = BUF_MAX(65536);
	for (size_t i = 0; i < w->requirement_count; i++) {
		const struct wheel_requirement *r = &w->requirements[i];
		struct buf *list = r->found ? &met : &absent;
		if (!r->conflict)
			buf_fmt(list, "%s%s", list->len ? ", " : "", r->text);
	}
	if (met.len)
		inspect_row(c, out, cli_tr(c, "requires", "依赖"), arena_printf(c->arena, cli_tr(c, "met: %s", "已满足：%s"), met.ptr));
	if (absent.len)
		inspect_row(c, out, met.len ? "" : cli_tr(c, "requires", "依赖"),
			arena_printf(c->arena, cli_tr(c, "not installed yet: %s", "尚未安装：%s"), absent.ptr));
	buf_free(&met);
	buf_free(&absent);
}

static void conflict_rows(struct cli *c, const struct wheel *w, struct buf *out)
{
	for (size_t i = 0; i < w->requirement_count; i++)
		if (w->requirements[i].conflict)
			inspect_trouble(c, out, true,
				arena_printf(c->arena, cli_tr(c, "It requires %s; %s %s is installed.", "它要求 %s；已安装 %s %s。"),
					w->requirements[i].text, w->requirements[i].name, w->requirements[i].found));
	for (size_t i = 0; i < w->break_count; i++)
		inspect_trouble(c, out, true,
			arena_printf(c->arena,
				cli_tr(c, "%s, which is installed, requires %s%s; this is %s.", "已安装的 %s 要求 %s%s；而这是 %s。"),
				w->breaks[i].package, w->name, w->breaks[i].specifier, w->version));
	for (size_t i = 0; i < w->overwrite_count && (i < LIST_SHOWN || c->options.verbose); i++) {
		const struct wheel_overwrite *o = &w->overwrites[i];
		if (o->owner)
			inspect_trouble(c, out, true,
				arena_printf(c->arena, cli_tr(c, "It would overwrite %s of %s %s.", "它会覆盖 %s（属于 %s %s）。"), o->path,
					o->owner, o->owner_version ? o->owner_version : ""));
		else
			inspect_trouble(c, out, true,
				arena_printf(c->arena,
					cli_tr(c, "It would overwrite %s, which no package owns.", "它会覆盖 %s（不属于任何包）。"),
					o->path));
	}
	if (w->overwritten > LIST_SHOWN && !c->options.verbose)
		inspect_trouble(c, out, true,
			arena_printf(
				c->arena, cli_tr(c, "Files it would overwrite: %zu in all.", "会被覆盖的文件共 %zu 个。"), w->overwritten));
}

static void fit_rows(struct cli *c, const struct wheel *w, struct buf *out)
{
	if (!w->name_valid)
		inspect_trouble(c, out, true,
			cli_tr(c,
				"The file's name is none that pip accepts for a wheel (name-version-python-abi-platform.whl): do not rename wheels.",
				"文件名不符合 pip 对 wheel 的要求（name-version-python-abi-platform.whl）：请勿重命名 wheel。"));
	else if (!w->fit_known)
		inspect_trouble(c, out, false,
			cli_tr(c, "No Python is known that it could be compared with: name one with --python.",
				"没有可与之比较的 Python：请用 --python 指定。"));
	else if (w->fit != WHEEL_FITS)
		inspect_trouble(c, out, true,
			arena_printf(c->arena, cli_tr(c, "pip would refuse it here (%s): %s.", "pip 在此会拒绝安装（%s）：%s。"), w->target,
				fit_text(c, w->fit)));
	if (w->name_differs)
		inspect_trouble(c, out, true,
			arena_printf(c->arena,
				cli_tr(c, "The file's name says something else than its METADATA (%s %s).",
					"文件名与其 METADATA（%s %s）不一致。"),
				w->name, w->version));
	for (size_t i = 0; i < w->gpu_count; i++)
		if (w->gpus[i].runs == WHEEL_GPU_NO)
			inspect_trouble(c, out, true,
				arena_printf(c->arena, cli_tr(c, "It has no code for %s (%s).", "其中没有 %s（%s）的代码。"),
					w->gpus[i].name ? w->gpus[i].name : "GPU", w->gpus[i].code));
}

static void problem_rows(struct cli *c, const struct wheel *w, struct buf *out)
{
	if (w->record_missing)
		inspect_trouble(c, out, true, cli_tr(c, "It has no RECORD: pip refuses it.", "其中没有 RECORD：pip 会拒绝安装。"));
	for (size_t i = 0; i < w->problem_count && (i < LIST_SHOWN || c->options.verbose); i++)
		inspect_trouble(c, out, true,
			arena_printf(c->arena, cli_tr(c, "%s %s.", "%s %s。"), w->problems[i].name, problem_text(c, w->problems[i].what)));
	if (w->problem_count > LIST_SHOWN && !c->options.verbose)
		inspect_trouble(c, out, true,
			arena_printf(c->arena, cli_tr(c, "Faulty files: %zu in all.", "有问题的文件共 %zu 个。"), w->problem_count));
}

static bool is_there(const struct facts *f, const char *program)
{
	const struct facts_row *row = facts_find(f, program__name, program);
	return row && facts_get_text(row, program__path);
}

/* A source archive is built before it is installed: what that takes, and what of it is here. */
static void source_rows(struct cli *c, const struct facts *f, const struct wheel *w, struct buf *out)
{
	if (w->build_require_count)
		inspect_row(c, out, cli_tr(c, "builds with", "构建依赖"), joined(c, w->build_requires, w->build_require_count));
	inspect_trouble(c, out, false, cli_tr(c, "This is source: pip builds a wheel of it first.", "这是源码：pip 会先用它构建 wheel。"));
	if (w->has_cuda && !facts_find(f, program__name, "nvcc"))
		inspect_trouble(c, out, false,
			cli_tr(c, "It has CUDA code: nvcc is needed, of the CUDA that PyTorch was built with.",
				"含 CUDA 代码：需要 nvcc，且版本与 PyTorch 所用的 CUDA 一致。"));
	else if (w->has_cuda && !is_there(f, "nvcc"))
		inspect_trouble(
			c, out, true, cli_tr(c, "It has CUDA code, and there is no nvcc on PATH.", "含 CUDA 代码，而 PATH 上没有 nvcc。"));
	if ((w->has_c || w->has_cuda) && !is_there(f, "g++") && !is_there(f, "gcc") && !is_there(f, "cc"))
		inspect_trouble(c, out, true,
			cli_tr(c, "It has C or C++ code, and there is no compiler on PATH.", "含 C 或 C++ 代码，而 PATH 上没有编译器。"));
	if (w->has_rust)
		inspect_trouble(c, out, false, cli_tr(c, "It has Rust code: cargo is needed.", "含 Rust 代码：需要 cargo。"));
	if (w->wants_torch)
		inspect_trouble(c, out, !facts_find(f, package__canonical, "torch"),
			arena_printf(c->arena,
				cli_tr(c, "It builds against the installed PyTorch%s: pip install --no-build-isolation %s",
					"它要针对已安装的 PyTorch%s 构建：pip install --no-build-isolation %s"),
				facts_find(f, package__canonical, "torch") ? "" : cli_tr(c, ", and none is installed", "，而尚未安装"),
				w->path));
}

static void print_text(struct cli *c, const struct facts *f, const struct wheel *w, struct buf *out)
{
	headline(c, w, out);
	if (w->error < 0) {
		inspect_trouble(c, out, true, why_text(c, w));
		return;
	}
	if (w->name_valid && w->fit_known)
		inspect_row(c, out, cli_tr(c, "tags", "标签"),
			arena_printf(c->arena, cli_tr(c, "%.*s-%.*s-%.*s; here: %s%s", "%.*s-%.*s-%.*s；本机：%s%s"),
				(int)w->tags.python.len, w->tags.python.ptr, (int)w->tags.abi.len, w->tags.abi.ptr,
				(int)w->tags.platform.len, w->tags.platform.ptr, w->target,
				w->fit == WHEEL_FITS ? cli_tr(c, ", fits", "，可用") : ""));
	code_rows(c, w, out);
	if (w->script_count)
		inspect_row(c, out, cli_tr(c, "commands", "命令"), joined(c, w->scripts, w->script_count));
	requirement_rows(c, w, out);
	if (w->replaces)
		inspect_row(c, out, cli_tr(c, "replaces", "替换"),
			arena_printf(c->arena, cli_tr(c, "%s %s in %s", "%s %s（位于 %s）"), w->name, w->replaces,
				w->replaces_in ? w->replaces_in : "?"));
	if (w->is_source)
		source_rows(c, f, w, out);
	else
		fit_rows(c, w, out);
	if (w->python_known && !w->python_fits)
		inspect_trouble(c, out, true,
			arena_printf(c->arena, cli_tr(c, "It requires Python %s; this is %s.", "它要求 Python %s；此处为 %s。"),
				w->requires_python, w->python));
	conflict_rows(c, w, out);
	problem_rows(c, w, out);
}

/* -- JSON -------------------------------------------------------------------------------------------------------------------- */

static void list(struct json_writer *w, const char *key, const char *const *texts, size_t n)
{
	json_open(w, key, '[');
	for (size_t i = 0; i < n; i++)
		json_text(w, NULL, texts[i]);
	json_close(w, ']');
}

static void json_code(struct json_writer *w, const struct wheel *x)
{
	static const char *const runs[] = {"yes", "ptx", "no", "unknown"};
	json_open(w, "gpu_code", '{');
	json_text(w, "code", x->code);
	json_text(w, "library", x->code_in);
	json_bool(w, "hidden", x->code_hidden);
	json_bool(w, "incomplete", x->code_incomplete);
	json_open(w, "gpus", '[');
	for (size_t i = 0; i < x->gpu_count; i++) {
		json_open(w, NULL, '{');
		json_text(w, "name", x->gpus[i].name);
		json_text(w, "code", x->gpus[i].code);
		json_text(w, "runs", runs[x->gpus[i].runs]);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_open(w, "libraries", '[');
	for (size_t i = 0; i < x->library_count; i++) {
		const struct elf_digest *d = &x->libraries[i].elf;
		if (!d->code_count)
			continue;
		json_open(w, NULL, '{');
		json_text(w, "name", x->libraries[i].name);
		json_open(w, "codes", '[');
		for (size_t k = 0; k < d->code_count; k++)
			json_text(w, NULL, d->codes[k].name);
		json_close(w, ']');
		json_bool(w, "hidden", d->code_hidden);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_close(w, '}');
	json_open(w, "nccl", '{');
	json_text(w, "brings", x->nccl_brings);
	json_text(w, "inside", x->nccl_inside);
	json_text(w, "wanted_by", x->nccl_needs);
	json_close(w, '}');
	json_text(w, "cuda", x->cuda);
	list(w, "wants", x->needs, x->need_count);
	json_text(w, "glibc_needed", x->glibc);
	json_text(w, "glibcxx_needed", x->glibcxx);
}

static void json_changes(struct json_writer *w, const struct wheel *x)
{
	json_open(w, "requires", '[');
	for (size_t i = 0; i < x->requirement_count; i++) {
		const struct wheel_requirement *r = &x->requirements[i];
		json_open(w, NULL, '{');
		json_text(w, "requirement", r->text);
		json_text(w, "found", r->found);
		json_text(w, "state", r->conflict ? "conflict" : r->found ? "met" : "missing");
		json_close(w, '}');
	}
	json_close(w, ']');
	json_open(w, "breaks", '[');
	for (size_t i = 0; i < x->break_count; i++) {
		json_open(w, NULL, '{');
		json_text(w, "package", x->breaks[i].package);
		json_text(w, "specifier", x->breaks[i].specifier);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_text(w, "replaces", x->replaces);
	json_int(w, "overwritten", (int64_t)x->overwritten);
	json_open(w, "overwrites", '[');
	for (size_t i = 0; i < x->overwrite_count; i++) {
		json_open(w, NULL, '{');
		json_text(w, "path", x->overwrites[i].path);
		json_text(w, "owner", x->overwrites[i].owner);
		json_text(w, "owner_version", x->overwrites[i].owner_version);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_open(w, "problems", '[');
	for (size_t i = 0; i < x->problem_count; i++) {
		json_open(w, NULL, '{');
		json_text(w, "name", x->problems[i].name);
		json_text(w, "problem", x->problems[i].what);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_bool(w, "record", !x->record_missing);
}

static void print_json(const struct wheel *x, struct json_writer *w)
{
	json_open(w, NULL, '{');
	if (w->depth == 1) {
		json_text(w, "schema", "davy/1");
		json_text(w, "command", "inspect");
	}
	json_text(w, "kind", x->is_source ? "sdist" : "wheel");
	json_text(w, "path", x->path);
	if (x->error < 0) {
		json_text(w, "error", x->why ? x->why : strerror(-x->error));
		json_close(w, '}');
		return;
	}
	json_text(w, "name", x->name);
	json_text(w, "version", x->version);
	json_int(w, "size_bytes", (int64_t)x->size);
	json_int(w, "unpacked_bytes", (int64_t)x->unpacked);
	json_int(w, "files", (int64_t)x->members);
	json_text(w, "requires_python", x->requires_python);
	if (x->python_known)
		json_bool(w, "python_fits", x->python_fits);
	else
		json_null(w, "python_fits");
	if (x->is_source) {
		list(w, "build_requires", x->build_requires, x->build_require_count);
		json_bool(w, "has_c", x->has_c);
		json_bool(w, "has_cuda", x->has_cuda);
		json_bool(w, "has_rust", x->has_rust);
		json_bool(w, "wants_torch", x->wants_torch);
	} else {
		json_open(w, "tags", '{');
		json_str(w, "python", x->tags.python);
		json_str(w, "abi", x->tags.abi);
		json_str(w, "platform", x->tags.platform);
		json_text(w, "here", x->target);
		json_text(w, "fit", !x->name_valid ? "name" : x->fit_known ? parse_wheel_fit_name(x->fit) : NULL);
		json_close(w, '}');
		json_bool(w, "name_differs", x->name_differs);
		json_code(w, x);
	}
	list(w, "scripts", x->scripts, x->script_count);
	json_changes(w, x);
	json_close(w, '}');
}

/* -- the command --------------------------------------------------------------------------------------------------------------- */

int inspect_wheel(struct cli *c, struct host *door, const char *path, struct json_writer *w, struct buf *out)
{
	static struct examination e; /* of all wheels of one command */
	static bool examined;
	struct wheel wheel;
	int rc = examined ? 0 : cli_examine(c, door, &e);
	if (rc)
		return rc;
	examined = true;
	wheel_examine(&e.judge, door, path, &wheel);
	int status = wheel.error < 0                   ? EXIT_NO_INPUT
		: wheel_is_faulty(&wheel)              ? EXIT_FAULT
		: !wheel.is_source && !wheel.fit_known ? EXIT_UNKNOWN
						       : EXIT_FINE;
	if (w)
		print_json(&wheel, w);
	else if (wheel.error < 0)
		return cli_fail(c, status, "%s: %s", path, why_text(c, &wheel));
	else if (!c->options.quiet || status != EXIT_FINE)
		print_text(c, e.facts, &wheel, out);
	return status;
}
