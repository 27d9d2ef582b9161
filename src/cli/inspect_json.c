/* What davy inspect prints with --json; the keys are a contract. */
#include "cli/inspect.h"

static void codes(const struct inspect_file *f, struct json_writer *w)
{
	static const struct {
		enum fatbin_kind kind;
		const char *key;
		bool always;
	} lists[] = {{FATBIN_SASS, "sass", true}, {FATBIN_PTX, "ptx", true}, {FATBIN_LTO, "lto", false}, {FATBIN_HSACO, "hsaco", false}};
	const struct elf_digest *d = &f->digest;
	json_open(w, "gpu_code", '{');
	for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
		bool any = lists[k].always;
		for (size_t i = 0; i < d->code_count; i++)
			any |= d->codes[i].kind == lists[k].kind;
		if (!any)
			continue;
		json_open(w, lists[k].key, '[');
		for (size_t i = 0; i < d->code_count; i++)
			if (d->codes[i].kind == lists[k].kind)
				json_text(w, NULL, d->codes[i].name);
		json_close(w, ']');
	}
	json_open(w, "entries", '[');
	for (size_t i = 0; i < d->code_count; i++) {
		json_open(w, NULL, '{');
		json_text(w, "code", d->codes[i].name);
		json_text(w, "kind", parse_fatbin_kind_name(d->codes[i].kind));
		json_int(w, "count", d->codes[i].entries);
		if (d->codes[i].ptx_isa)
			json_text(w, "ptx_isa", d->codes[i].ptx_isa);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_bool(w, "hidden", d->code_hidden);
	json_bool(w, "incomplete", d->code_incomplete);
	json_close(w, '}');
}

static void needed(const struct inspect_file *f, struct json_writer *w)
{
	json_open(w, "needed", '[');
	for (size_t i = 0; i < f->loader.want_count; i++) {
		const struct ldso_want *n = &f->loader.wants[i];
		if (n->from != f->root)
			continue;
		json_open(w, NULL, '{');
		json_text(w, "name", n->name);
		json_text(w, "path", n->to >= 0 ? f->loader.objects[n->to].path : NULL);
		json_text(w, "found_by", n->found_by);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void libraries(const struct inspect_file *f, struct json_writer *w)
{
	json_open(w, "libraries", '[');
	for (size_t i = 0; i < f->loader.object_count; i++) {
		const struct ldso_object *o = &f->loader.objects[i];
		if ((int)i == f->root || strcmp(o->found_by, "program") == 0)
			continue;
		json_open(w, NULL, '{');
		json_text(w, "name", o->name);
		json_text(w, "path", o->path);
		json_text(w, "found_by", o->found_by);
		json_text(w, "wanted_by", o->loader >= 0 ? f->loader.objects[o->loader].name : NULL);
		if (o->problem)
			json_text(w, "problem", o->problem);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void missing(const struct inspect_file *f, struct json_writer *w)
{
	json_open(w, "missing", '[');
	for (size_t i = 0; i < f->loader.want_count; i++) {
		const struct ldso_want *n = &f->loader.wants[i];
		if (n->to >= 0)
			continue;
		json_open(w, NULL, '{');
		json_text(w, "name", n->name);
		json_text(w, "wanted_by", n->from >= 0 ? f->loader.objects[n->from].path : "LD_PRELOAD");
		json_close(w, '}');
	}
	json_close(w, ']');
	json_open(w, "missing_symbols", '[');
	for (size_t i = 0; i < f->loader.unmet_count; i++) {
		const struct ldso_unmet *u = &f->loader.unmet[i];
		json_open(w, NULL, '{');
		json_text(w, "symbol", u->symbol);
		json_text(w, "library", f->loader.objects[u->library].path);
		json_text(w, "provider", u->provider >= 0 ? f->loader.objects[u->provider].path : NULL);
		json_close(w, '}');
	}
	for (size_t i = 0; i < f->undefined_count && i < INSPECT_UNDEFINED_MAX; i++) {
		json_open(w, NULL, '{');
		json_text(w, "symbol", f->undefined[i]);
		json_text(w, "library", f->path);
		json_null(w, "provider");
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void backends(const struct elf_digest *d, struct json_writer *w)
{
	static const char *const names[][2] = {{"NCCL", "nccl"}, {"Gloo", "gloo"}, {"MPI", "mpi"}, {"UCC", "ucc"}, {"XCCL", "xccl"}};
	if (!d->soname || strncmp(d->soname, "libtorch_python", 15) != 0)
		return;
	json_open(w, "backends", '[');
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char mark[40];
		snprintf(mark, sizeof mark, "c10d::ProcessGroup%s", names[i][0]);
		if (parse_elf_digest_mentions(d, mark) || parse_elf_digest_has_string(d, mark + 6))
			json_text(w, NULL, names[i][1]);
	}
	json_close(w, ']');
}

void inspect_json(const struct inspect_file *f, struct json_writer *w, const char *key)
{
	const struct elf_digest *d = &f->digest;
	json_open(w, key, '{');
	if (!key && w->depth == 1) {
		json_text(w, "schema", "davy/1");
		json_text(w, "command", "inspect");
	}
	json_text(w, "kind", f->elf.bits ? "elf" : "unknown");
	json_text(w, "path", f->path);
	if (f->error < 0) {
		json_text(w, "error", strerror(-f->error));
		json_close(w, '}');
		return;
	}
	json_int(w, "size_bytes", (int64_t)f->source.size);
	json_text(w, "problem", d->problem);
	json_text(w, "machine", d->machine);
	json_text(w, "soname", d->soname);
	json_text(w, "version", f->version);
	codes(f, w);
	json_text(w, "nccl_version", d->nccl);
	json_text(w, "nccl_cuda", d->nccl_cuda);
	if (d->rccl)
		json_text(w, "rccl_version", d->rccl);
	json_text(w, "rpath", d->rpath);
	json_text(w, "runpath", d->runpath);
	json_text(w, "interpreter", d->interp);
	json_text(w, "build_id", d->build_id);
	json_text(w, "glibc_needed", parse_elf_digest_highest_need(d, "GLIBC_"));
	json_text(w, "glibcxx_needed", parse_elf_digest_highest_need(d, "GLIBCXX_"));
	if (d->glibcxx_max)
		json_text(w, "glibcxx_max", d->glibcxx_max);
	if (d->cxx11 >= 0)
		json_bool(w, "cxx11_abi", d->cxx11 == 1);
	if (d->numpy_abi >= 0)
		json_int(w, "numpy_abi", d->numpy_abi);
	backends(d, w);
	json_text(w, "after_import", f->after_torch);
	needed(f, w);
	libraries(f, w);
	missing(f, w);
	json_close(w, '}');
}
