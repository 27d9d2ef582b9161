#include "act/lock.h"

#include "parse/pep440.h"
#include "parse/pep508.h"

static const char *tr(const struct judge *j, const char *english, const char *chinese)
{
	return j->chinese ? chinese : english;
}

struct entry {
	const char *name, *version, *installer, *source, *record, *location;
	bool editable, base, gone; /* gone: the local archive is no longer there */
	const char *sha256;        /* of the archive, hex; NULL: not known */
};

struct entries {
	struct entry *all;
	size_t count, cap;
};

/* -- what is installed -------------------------------------------------------------------------------------------------- */

static bool has(const char *s, const char *prefix)
{
	return s && strncmp(s, prefix, strlen(prefix)) == 0;
}

static const char *hash_in(struct arena *a, const char *source)
{
	const char *at = source ? strstr(source, "#sha256=") : NULL;
	if (!at)
		return NULL;
	at += strlen("#sha256=");
	size_t n = strspn(at, "0123456789abcdef");
	return n == 64 ? arena_strndup(a, at, n) : NULL;
}

/* The path of a file: URL, its %XX undone; NULL: no such URL. */
static const char *path_of_url(struct arena *a, const char *url)
{
	if (!has(url, "file://"))
		return NULL;
	const char *p = url + strlen("file://");
	char *path = arena_strndup(a, p, strcspn(p, "#?")), *to = path;
	for (const char *from = path; *from; from++) {
		uint64_t byte;
		if (*from == '%' && from[1] && from[2] && str_to_hex(str_n(from + 1, 2), &byte) == 0) {
			*to++ = (char)byte;
			from += 2;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
	return path[0] == '/' ? path : NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static void gather(struct judge *j, struct host *door, struct entries *e)
{
	for (const struct facts_row *p = j->facts->first[TABLE_package]; p; p = p->next) {
		bool shadowed = false;
		struct pep440 v;
		facts_get_bool(p, package__shadowed, &shadowed);
		const char *version = facts_get_text(p, package__version);
		if (shadowed || facts_get_text(p, package__broken) || !version || parse_pep440(str_of(version), &v) < 0)
			continue;
		struct entry x = {.name = facts_get_text(p, package__canonical),
			.version = version,
			.installer = facts_get_text(p, package__installer),
			.source = facts_get_text(p, package__source),
			.record = facts_get_text(p, package__record),
			.location = facts_get_text(p, package__location)};
		facts_get_bool(p, package__editable, &x.editable);
		facts_get_bool(p, package__base, &x.base);
		x.sha256 = x.editable ? NULL : hash_in(j->arena, x.source);
		const char *local = path_of_url(j->arena, x.source);
		x.gone = local && host_is_this_machine(door) && !host_exists(door, local);
		e->all = arena_grow(j->arena, e->all, e->count, &e->cap, sizeof *e->all);
		e->all[e->count++] = x;
	}
	if (e->count)
		qsort(e->all, e->count, sizeof *e->all, by_name);
}

static bool is_by_conda(const struct entry *e)
{
	return e->installer && strcmp(e->installer, "conda") == 0;
}

/* pip of this environment did not put it there: the distribution's, or the base interpreter's. */
static bool is_by_others(const struct entry *e)
{
	return e->base || (e->installer && strcmp(e->installer, "apt") == 0) || (e->installer && strcmp(e->installer, "rpm") == 0);
}

/* -- where it came from ------------------------------------------------------------------------------------------------- */

static bool is_of_pytorch(const char *name)
{
	static const char *const names[] = {
		"torch", "torchvision", "torchaudio", "torchtext", "torchdata", "torchcodec", "fbgemm-gpu", "torchrec", "torchao"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* The PyTorch index that a local tag names: cu128, cpu, rocm6.4, xpu; NULL: none. */
static const char *index_of(struct arena *a, const struct entry *e)
{
	const char *tag = strchr(e->version, '+');
	if (!tag || e->source || !is_of_pytorch(e->name))
		return NULL;
	tag++;
	size_t n = strlen(tag);
	bool known = strcmp(tag, "cpu") == 0 || strcmp(tag, "xpu") == 0 ||
		(has(tag, "cu") && n > 4 && tag[2 + strspn(tag + 2, "0123456789")] == '\0') ||
		(has(tag, "rocm") && tag[4 + strspn(tag + 4, "0123456789.")] == '\0');
	return known ? arena_printf(a, "https://download.pytorch.org/whl/%s", tag) : NULL;
}

/* A URL without user name and token, conda's /t/TOKEN/ too. */
static const char *without_credentials(struct arena *a, struct str url)
{
	size_t token = str_find(url, "/t/", 0), end = token == SIZE_MAX ? SIZE_MAX : str_find_char(url, '/', token + 3);
	if (end != SIZE_MAX)
		url = str_of(arena_printf(a, "%s%s", str_dup(a, str_slice(url, 0, token)), str_dup(a, str_skip(url, end))));
	size_t scheme = str_find(url, "://", 0);
	if (scheme == SIZE_MAX)
		return str_dup(a, url);
	size_t path = str_find_char(url, '/', scheme + 3), at = str_rfind_char(str_slice(url, scheme + 3, path), '@');
	if (at == SIZE_MAX)
		return str_dup(a, url);
	return arena_printf(a, "%s%s", str_dup(a, str_slice(url, 0, scheme + 3)), str_dup(a, str_skip(url, scheme + 3 + at + 1)));
}

struct indices {
	const char *usual; /* NULL: PyPI */
	const char *extra[8], *links[8];
	size_t extras, link_count;
	const char *said_by;
};

static bool is_url(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.ptr[i] <= ' ' || s.ptr[i] == '#')
			return false;
	return str_starts(s, "https://") || str_starts(s, "http://") || str_starts(s, "file://");
}

enum index_kind { INDEX_USUAL, INDEX_EXTRA, INDEX_LINKS };

static void take_index(struct judge *j, struct indices *ret, enum index_kind kind, struct str value, const char *origin)
{
	struct str word;
	while (str_next_word(&value, &word)) {
		bool folder = kind == INDEX_LINKS && word.ptr[0] == '/' && str_find_char(word, '#', 0) == SIZE_MAX;
		if (!folder && !is_url(word))
			continue;
		const char *url = without_credentials(j->arena, word);
		if (kind == INDEX_USUAL) {
			ret->usual = url;
			ret->said_by = origin;
		} else if (kind == INDEX_EXTRA && ret->extras < sizeof ret->extra / sizeof *ret->extra) {
			ret->extra[ret->extras++] = url;
		} else if (kind == INDEX_LINKS && ret->link_count < sizeof ret->links / sizeof *ret->links) {
			ret->links[ret->link_count++] = url;
		}
	}
}

/* pip.conf: index-url and extra-index-url of [global] and [install]. */
static void read_configuration(struct judge *j, struct host *door, const char *path, struct indices *ret)
{
	struct str text, line, key, value;
	static const char *const keys[] = {[INDEX_USUAL] = "index-url", [INDEX_EXTRA] = "extra-index-url", [INDEX_LINKS] = "find-links"};
	bool ours = false;
	int kind = -1; /* of the value that goes on in indented lines */
	if (host_readf(door, &text, "%s", path) < 0)
		return;
	while (str_next_line(&text, &line)) {
		bool indented = line.len && (line.ptr[0] == ' ' || line.ptr[0] == '\t');
		struct str s = str_trim(line);
		if (s.len && s.ptr[0] == '[') {
			ours = str_is(s, "[global]") || str_is(s, "[install]");
			kind = -1;
		} else if (indented && kind >= 0) {
			take_index(j, ret, (enum index_kind)kind, s, path);
		} else if (ours && str_split(s, '=', &key, &value)) {
			kind = -1;
			for (int k = 0; k < 3; k++)
				if (str_is(key, keys[k]))
					take_index(j, ret, (enum index_kind)(kind = k), value, path);
		}
	}
}

/* What pip and uv would ask by default, as they are set here: from the general to the particular, the last counts. */
static struct indices configured(struct judge *j, struct host *door)
{
	struct indices ret = {0};
	const char *home = host_env(door, "HOME"), *config = host_env(door, "XDG_CONFIG_HOME"), *file = host_env(door, "PIP_CONFIG_FILE");
	const struct facts_row *python = j->facts->first[TABLE_python];
	const char *prefix = python ? facts_get_text(python, python__prefix) : NULL;
	static const char *const variables[] = {"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL",
		"UV_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "UV_FIND_LINKS"};
	read_configuration(j, door, "/etc/pip.conf", &ret);
	if (home) {
		read_configuration(j, door, arena_printf(j->arena, "%s/.pip/pip.conf", home), &ret);
		read_configuration(j, door,
			config && *config ? arena_printf(j->arena, "%s/pip/pip.conf", config)
					  : arena_printf(j->arena, "%s/.config/pip/pip.conf", home),
			&ret);
	}
	if (prefix)
		read_configuration(j, door, arena_printf(j->arena, "%s/pip.conf", prefix), &ret);
	if (file && file[0] == '/')
		read_configuration(j, door, file, &ret);
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		const char *value = host_env(door, variables[i]);
		if (value)
			take_index(j, &ret,
				strstr(variables[i], "EXTRA")           ? INDEX_EXTRA
					: strstr(variables[i], "LINKS") ? INDEX_LINKS
									: INDEX_USUAL,
				str_of(value), variables[i]);
	}
	return ret;
}

/* -- the file ----------------------------------------------------------------------------------------------------------- */

static const char *text_of(const struct judge *j, enum facts_table table, enum facts_column column)
{
	const struct facts_row *row = j->facts->first[table];
	return row ? facts_get_text(row, column) : NULL;
}

/* A comment must stay one line. */
static void statement(struct buf *out, const char *key, const char *first, const char *name, const char *second)
{
	if (!first)
		return;
	buf_fmt(out, "# davy: %s %.*s", key, (int)strcspn(first, "\r\n"), first);
	if (second)
		buf_fmt(out, " %s=%.*s", name, (int)strcspn(second, " \r\n"), second);
	buf_char(out, '\n');
}

static void write_machine(struct judge *j, struct buf *out)
{
	const char *arch = text_of(j, TABLE_python, python__arch), *libc = text_of(j, TABLE_system, system__libc),
		   *version = text_of(j, TABLE_system, system__libc_version);
	statement(out, "python", text_of(j, TABLE_python, python__version), NULL, NULL);
	statement(out, "platform", arch && libc && version ? arena_printf(j->arena, "%s %s %s", arch, libc, version) : arch, NULL, NULL);
	statement(out, "torch", text_of(j, TABLE_torch, torch__version), "cuda", text_of(j, TABLE_torch, torch__cuda));
	statement(out, "nccl", text_of(j, TABLE_torch, torch__nccl_version), NULL, NULL);
	for (const struct facts_row *d = j->facts->first[TABLE_driver]; d; d = d->next) {
		const char *vendor = facts_get_text(d, driver__vendor);
		if (vendor && strcmp(vendor, "nvidia") == 0)
			statement(out, "driver", facts_get_text(d, driver__version), "cuda", facts_get_text(d, driver__cuda_max));
	}
	for (const struct facts_row *g = j->facts->first[TABLE_gpu]; g; g = g->next)
		statement(out, "gpu", facts_get_text(g, gpu__name), NULL, NULL);
	for (const struct facts_row *t = j->facts->first[TABLE_toolkit]; t; t = t->next)
		statement(out, "toolkit", facts_get_text(t, toolkit__version), NULL, NULL);
}

/* "3.11" of "3.11.2". */
static const char *minor_of(struct arena *a, const char *version)
{
	const char *dot = version ? strchr(version, '.') : NULL;
	size_t n = dot ? (size_t)(dot - version) + 1 + strspn(dot + 1, "0123456789") : 0;
	return n ? arena_strndup(a, version, n) : "3";
}

static void write_head(struct judge *j, const char *file, const struct lock_summary *n, bool all_hashed, struct buf *out)
{
	const char *prefix = text_of(j, TABLE_python, python__prefix), *version = text_of(j, TABLE_python, python__version);
	buf_fmt(out, "# davy lock 1\n# ");
	buf_fmt(out, tr(j, "What is installed in %s, written by davy %s.\n", "%s 中安装的全部内容，由 davy %s 记录。\n"),
		prefix ? prefix : "?", DAVY_VERSION);
	buf_fmt(out, "# %s\n", tr(j, "The same again, in an empty environment of this Python:", "在同一 Python 的空环境中重建："));
	if (n->conda)
		buf_fmt(out,
			"#   { echo @EXPLICIT; sed -n 's/^# conda: //p' %s; } > conda.txt && conda create -y -n again --file conda.txt && conda activate again\n",
			file);
	else
		buf_fmt(out, "#   python%s -m venv again && . again/bin/activate\n", minor_of(j->arena, version));
	buf_fmt(out, "#   python -m pip install --no-deps -r %s        # uv pip install --no-deps -r %s\n", file, file);
	buf_fmt(out, "# %s\n#   davy check --lock %s\n", tr(j, "What has drifted since:", "此后发生了哪些变化："), file);
	if (all_hashed && n->pip)
		buf_fmt(out, "# %s\n",
			tr(j, "The hash of every archive is known, and pip checks it.", "每个安装包的哈希都已知，pip 会逐一校验。"));
	else
		buf_fmt(out,
			tr(j, "# The archive's hash is known for %d of %d packages (direct_url.json). Neither an installed tree nor pip's or uv's cache tells it for the others: behind record= stands a\n# digest of their RECORD, the same for every installation of the same wheel; davy checks it, pip cannot.\n",
				"# %d / %d 个包的安装包哈希已知（direct_url.json）。其余的无法从已安装的文件或 pip、uv 的缓存得知：record= 后是其 RECORD 的摘要，同一 wheel 的每次安装都相同；\n# davy 会校验它，pip 不能。\n"),
			n->hashed, n->pip);
	int conflicts = j->facts->count[TABLE_requirement_conflict];
	if (conflicts)
		buf_fmt(out,
			tr(j, "# Requirements that do not hold here, and will not there (pip check): %d. Without --no-deps pip refuses the file.\n",
				"# 此环境中有 %d 条依赖要求不满足（pip check），重建后同样如此；不加 --no-deps 时 pip 会拒绝此文件。\n"),
			conflicts);
	write_machine(j, out);
}

static void write_indices(struct judge *j, struct host *door, const struct entries *e, struct buf *out)
{
	struct indices usual = configured(j, door);
	const char *shown[16];
	size_t n = 0;
	buf_char(out, '\n');
	if (usual.usual)
		buf_fmt(out, "# %s: %s\n--index-url %s\n", tr(j, "the index that is set by", "索引来自"), usual.said_by, usual.usual);
	for (size_t i = 0; i < usual.extras; i++)
		shown[n++] = usual.extra[i];
	for (size_t i = 0; i < e->count; i++) {
		const char *index = is_by_conda(&e->all[i]) || is_by_others(&e->all[i]) ? NULL : index_of(j->arena, &e->all[i]);
		bool known = !index || n == sizeof shown / sizeof *shown;
		for (size_t k = 0; k < n && !known; k++)
			known = strcmp(shown[k], index) == 0;
		if (!known)
			shown[n++] = index;
	}
	for (size_t i = 0; i < n; i++)
		buf_fmt(out, "--extra-index-url %s\n", shown[i]);
	for (size_t i = 0; i < usual.link_count; i++)
		buf_fmt(out, "--find-links %s\n", usual.links[i]);
}

static void write_conda(struct judge *j, struct buf *out, struct lock_summary *n)
{
	for (const struct facts_row *p = j->facts->first[TABLE_conda_package]; p; p = p->next) {
		const char *name = facts_get_text(p, conda_package__name), *version = facts_get_text(p, conda_package__version),
			   *build = facts_get_text(p, conda_package__build), *url = facts_get_text(p, conda_package__url),
			   *md5 = facts_get_text(p, conda_package__md5), *sha256 = facts_get_text(p, conda_package__sha256);
		if (!name || !version)
			continue;
		if (!n->conda++)
			buf_fmt(out, "\n# -- conda --\n");
		statement(out, "conda", arena_printf(j->arena, "%s %s %s", name, version, build ? build : ""), "sha256", sha256);
		if (url)
			buf_fmt(out, "# conda: %s%s%s\n", without_credentials(j->arena, str_of(url)), md5 ? "#" : "", md5 ? md5 : "");
		else
			buf_fmt(out, "# %s: %s\n", name, tr(j, "conda does not say where it came from", "conda 没有记录其来源"));
	}
}

static void write_entry(struct judge *j, const struct entry *e, bool hashes, struct buf *out)
{
	const char *local = path_of_url(j->arena, e->source);
	if (local && e->gone)
		buf_fmt(out,
			tr(j, "# %s was installed from %s, which is gone: the index's is taken\n",
				"# %s 安装自 %s，该文件已不存在：改用索引中的版本\n"),
			e->name, local);
	else if (local || (e->editable && !has(e->source, "git+")))
		buf_fmt(out,
			tr(j, "# local: %s must be there when this file is used elsewhere\n",
				"# 本地来源：在别处使用此文件时，须先有 %s\n"),
			local ? local : e->location);
	else if (!e->source && strchr(e->version, '+') && !index_of(j->arena, e))
		buf_fmt(out, tr(j, "# %s: it is not recorded where this local version came from\n", "# %s：未记录该本地版本的来源\n"),
			e->name);
	if (e->editable) {
		const char *source = e->source ? e->source : e->location;
		buf_fmt(out, "-e %s%s%s  # davy name=%s version=%s\n", source,
			strstr(source, "+http") || strstr(source, "+ssh") ? "#egg=" : "",
			strstr(source, "+http") || strstr(source, "+ssh") ? e->name : "", e->name, e->version);
		return;
	}
	if (e->source && !e->gone)
		buf_fmt(out, "%s @ %s", e->name, e->source);
	else
		buf_fmt(out, "%s==%s", e->name, e->version);
	if (hashes)
		buf_fmt(out, " --hash=sha256:%s", e->sha256);
	buf_fmt(out, "  # davy version=%s", e->version);
	if (e->record)
		buf_fmt(out, " record=%s", e->record);
	buf_char(out, '\n');
}

static void count(const struct entries *e, struct lock_summary *n)
{
	for (size_t i = 0; i < e->count; i++) {
		const struct entry *x = &e->all[i];
		if (is_by_conda(x))
			continue;
		if (is_by_others(x)) {
			n->others++;
			continue;
		}
		n->pip++;
		n->hashed += x->sha256 && !x->gone;
		n->editable += x->editable;
		n->local += has(x->source, "file://") && !x->editable;
	}
}

void lock_write(struct judge *j, struct host *door, const char *file, struct buf *out, struct lock_summary *ret)
{
	struct entries e = {0};
	struct buf body = BUF_MAX((size_t)64 << 20);
	*ret = (struct lock_summary){0};
	gather(j, door, &e);
	count(&e, ret);
	/* pip asks for all hashes or none. */
	bool all_hashed = ret->pip > 0 && ret->hashed == ret->pip;
	write_indices(j, door, &e, &body);
	write_conda(j, &body, ret);
	if (ret->others)
		buf_fmt(&body, "\n# -- %s --\n", tr(j, "installed by others, beneath this environment", "由其他工具安装，位于此环境之下"));
	for (size_t i = 0; i < e.count; i++)
		if (!is_by_conda(&e.all[i]) && is_by_others(&e.all[i]))
			buf_fmt(&body, "# davy: installed %s %s %s\n", e.all[i].name, e.all[i].version,
				e.all[i].installer ? e.all[i].installer : "?");
	buf_fmt(&body, "\n# -- pip --\n");
	for (size_t i = 0; i < e.count; i++)
		if (!is_by_conda(&e.all[i]) && !is_by_others(&e.all[i]))
			write_entry(j, &e.all[i], all_hashed, &body);
	write_head(j, file, ret, all_hashed, out);
	buf_str(out, buf_view(&body));
	buf_free(&body);
}
