/* davy compare: snapshots, JSON and facts from files, folders, archives and streams → nodes side by side. */
#include "cli/compare.h"

#include <errno.h>
#include <unistd.h>

#include "collect/collect.h"
#include "facts/lines.h"
#include "host/archive.h"
#include "judge/knowledge.h"

#define DEPTH_MAX 4
#define CHUNK ((size_t)1 << 20)
#define HEAD 512
#define LOST_MAX 10000 /* objects of one stream that are no facts: then it is given up */

void compare_input_free(struct compare_input *in)
{
	free(in->buffer);
	in->buffer = NULL;
	in->cap = 0;
}

static const char *why_of(const struct cli *c, int rc)
{
	switch (rc) {
	case -ENODATA: return cli_tr(c, "it is cut short", "内容不完整");
	case -EPROTO: return cli_tr(c, "these are no facts of davy check", "不是 davy check 的输出");
	case -EOPNOTSUPP: return cli_tr(c, "it comes from a newer Davy", "来自更新版本的 Davy");
	case -EFBIG:
	case -E2BIG: return cli_tr(c, "it is larger than any machine's facts", "内容超出一台机器应有的大小");
	case -EBADMSG:
	case -EINVAL: return cli_tr(c, "it is damaged", "内容已损坏");
	case -EACCES:
	case -EPERM: return cli_tr(c, "permission denied", "没有权限");
	default: return strerror(-rc);
	}
}

static enum align_state state_of(int rc)
{
	return rc == -EOPNOTSUPP ? ALIGN_NEWER : rc == -EACCES || rc == -EPERM || rc == -EIO ? ALIGN_UNREADABLE : ALIGN_DAMAGED;
}

static void lose(struct compare_input *in, const char *source, int rc)
{
	align_add_lost(in->align, NULL, source, state_of(rc), why_of(in->c, rc));
}

static void finish(struct compare_input *in, int rc)
{
	if (rc == 0)
		align_end(in->align);
	else
		align_drop(in->align, state_of(rc), why_of(in->c, rc));
}

/* -- snapshots: collected as the machine would be ----------------------------------------------------------------------------- */

static void take_door(struct compare_input *in, struct arena *a, struct host *door, const char *source)
{
	struct facts *f = facts_new(a);
	struct store *s;
	const char *warnings = "";
	double *times = arena_array(a, collector_count, sizeof *times);
	struct collect collect = {.host = door, .facts = f, .arena = a};
	collect_all(&collect, times);
	if (knowledge_open(a, knowledge_image, knowledge_image_size, in->c->options.knowledge, &s, &warnings) == 0) {
		struct judge judge = {.arena = a, .store = s, .facts = f, .mode = JUDGE_CHECK};
		if (store_load(s, f) == 0)
			judge_derive(&judge);
		store_close(s);
	}
	align_begin(in->align, NULL, source);
	align_time(in->align, host_now(door));
	align_facts(in->align, f);
	align_end(in->align);
	host_close(door);
}

/* rc of opening the door, and what it said. */
static void take_snapshot(struct compare_input *in, struct arena *a, int rc, struct host *door, const char *source, const char *why)
{
	if (rc == 0)
		take_door(in, a, door, source);
	else if (why && strstr(why, "newer Davy"))
		align_add_lost(in->align, NULL, source, ALIGN_NEWER, why_of(in->c, -EOPNOTSUPP));
	else
		align_add_lost(in->align, NULL, source, state_of(rc), why ? why : why_of(in->c, rc));
}

static void read_snapshot(struct compare_input *in, const char *path, const char *source)
{
	struct arena *a = arena_new(0);
	struct host *door = NULL;
	const char *why = NULL;
	int rc = host_open_replay(a, path, &door, &why);
	take_snapshot(in, a, rc, door, source, why);
	arena_free(a);
}

/* -- streams of objects --------------------------------------------------------------------------------------------------------- */

struct stream {
	struct compare_input *in;
	const char *source;
	bool many; /* a stream may hold many nodes: they are numbered */
	size_t number, lost;
};

static const char *name_of(struct stream *s, struct arena *a)
{
	return s->many && s->number > 1 ? arena_printf(a, "%s#%zu", s->source, s->number) : s->source;
}

/* The end of the facts as lines at the head of text: behind "\nend N\n". 0 when it is not there. */
static size_t lines_end(struct str text)
{
	size_t at = str_find(text, "\nend ", 0);
	if (at == SIZE_MAX)
		return 0;
	size_t newline = str_find_char(text, '\n', at + 1);
	return newline == SIZE_MAX ? text.len : newline + 1;
}

/* To the next line that begins an object: what is damaged is one node's. */
static struct str resume(struct str text)
{
	for (size_t at = str_find_char(text, '\n', 0); at != SIZE_MAX; at = str_find_char(text, '\n', at + 1))
		if (at + 1 < text.len && (text.ptr[at + 1] == '{' || facts_lines_is_one(str_skip(text, at + 1))))
			return str_skip(text, at + 1);
	return str_skip(text, text.len);
}

/* All whole objects at the head of *text; what is left may go on. */
static void take_objects(struct stream *s, struct str *text, bool ends)
{
	struct align *al = s->in->align;
	for (;;) {
		while (text->len && strchr(" \t\r\n,[]", text->ptr[0]) && text->ptr[0])
			*text = str_skip(*text, 1);
		if (!text->len || s->lost > LOST_MAX)
			return;
		bool lines = facts_lines_is_one(*text);
		size_t end = lines ? lines_end(*text) : 0;
		if (lines && !end && !ends)
			return;
		struct arena *scratch = arena_new(0);
		struct str rest = *text;
		s->number++;
		align_begin(al, NULL, name_of(s, scratch));
		int rc = lines ? align_lines(al, str_slice(*text, 0, end ? end : text->len)) : align_json(al, &rest);
		arena_free(scratch);
		if (rc == -ENODATA && !ends && text->len < ALIGN_OBJECT_MAX) { /* the rest of it comes with the next bytes */
			align_cancel(al);
			s->number--;
			return;
		}
		finish(s->in, rc);
		s->lost += rc < 0;
		if (lines)
			rest = str_skip(*text, end ? end : text->len);
		*text = rc == 0 ? rest : lines ? rest : resume(*text);
	}
}

/* -- archives -------------------------------------------------------------------------------------------------------------------- */

struct unpacking {
	struct compare_input *in;
	const char *source;
	struct arena *arena; /* of the snapshot folder at hand; NULL: none */
	const char *prefix;
	struct host_member *members;
	size_t count, cap;
	size_t nodes;
};

/* "node-1/" of "node-1/files/proc/meminfo"; NULL when this is no part of a snapshot folder. */
static const char *snapshot_prefix(struct arena *a, const char *name)
{
	static const char *const parts[] = {"files/", "digests/", "probes/", "davy-snapshot.txt"};
	for (const char *at = name; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
		for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
			if (strncmp(at, parts[i], strlen(parts[i])) == 0)
				return arena_strndup(a, name, (size_t)(at - name));
	return NULL;
}

static const char *inside(struct unpacking *u, struct arena *a, const char *name)
{
	return *name ? arena_printf(a, "%s:%s", u->source, name) : u->source;
}

static void end_folder(struct unpacking *u)
{
	struct host *door = NULL;
	const char *why = NULL;
	if (!u->arena)
		return;
	size_t n = strlen(u->prefix);
	for (size_t i = 0; i < u->count; i++)
		u->members[i].name += n;
	int rc = host_open_members(u->arena, u->source, u->members, u->count, &door, &why);
	take_snapshot(u->in, u->arena, rc, door,
		inside(u, u->arena, arena_strndup(u->arena, u->prefix, n && u->prefix[n - 1] == '/' ? n - 1 : n)), why);
	arena_free(u->arena);
	u->arena = NULL;
	u->count = 0;
	u->nodes++;
}

static void add_to_folder(struct unpacking *u, const char *name, const char *prefix, struct str data)
{
	if (u->arena && strcmp(prefix, u->prefix) != 0)
		end_folder(u);
	if (!u->arena) {
		u->arena = arena_new(0);
		u->prefix = arena_strdup(u->arena, prefix);
		u->cap = 64;
		u->members = arena_array(u->arena, u->cap, sizeof *u->members);
	}
	u->members = arena_grow(u->arena, u->members, u->count, &u->cap, sizeof *u->members);
	u->members[u->count++] = (struct host_member){
		arena_strdup(u->arena, name), str_n(arena_strndup(u->arena, data.ptr ? data.ptr : "", data.len), data.len)};
}

static int take_member(void *arg, const char *name, struct str data)
{
	struct unpacking *u = arg;
	struct arena *a = arena_new(0);
	while (name[0] == '.' && name[1] == '/')
		name += 2;
	const char *prefix = snapshot_prefix(a, name);
	if (prefix) {
		add_to_folder(u, name, prefix, data);
	} else if (archive_is_one(data)) {
		struct host *door = NULL;
		const char *why = NULL, *source = inside(u, a, name);
		int rc = host_open_bytes(a, source, data, &door, &why);
		take_snapshot(u->in, a, rc, door, source, why);
		u->nodes++;
	} else if (data.len && (data.ptr[0] == '{' || data.ptr[0] == '[' || facts_lines_is_one(data))) {
		struct stream s = {.in = u->in, .source = inside(u, a, name), .many = true};
		take_objects(&s, &data, true);
		u->nodes++;
	}
	arena_free(a);
	return 0;
}

struct bytes { /* what was read for a look at its head, then the rest */
	struct host_file *file;
	char head[HEAD];
	size_t at, len;
};

static ssize_t read_bytes(void *arg, void *p, size_t n)
{
	struct bytes *b = arg;
	if (b->at < b->len) {
		size_t part = b->len - b->at < n ? b->len - b->at : n;
		memcpy(p, b->head + b->at, part);
		b->at += part;
		return (ssize_t)part;
	}
	if (b->file)
		return host_file_read(b->file, p, n);
	ssize_t got;
	do
		got = read(STDIN_FILENO, p, n);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static void read_archive(struct compare_input *in, struct bytes *b, const char *source)
{
	struct unpacking u = {.in = in, .source = source};
	struct arena *a = arena_new(0);
	const char *why = NULL;
	int rc = archive_each(a, read_bytes, b, take_member, &u, &why);
	if (rc == 0)
		end_folder(&u);
	else if (u.arena) /* what the archive broke off in is not whole */
		arena_free(u.arena);
	if (rc < 0)
		align_add_lost(in->align, NULL, source, state_of(rc), why ? why : why_of(in->c, rc));
	else if (!u.nodes)
		lose(in, source, -EPROTO);
	arena_free(a);
}

/* -- texts ----------------------------------------------------------------------------------------------------------------------- */

static int make_room(struct compare_input *in, size_t len)
{
	if (in->cap - len >= CHUNK / 2)
		return 0;
	size_t cap = in->cap ? in->cap * 2 : CHUNK * 4;
	char *fresh = cap <= 4 * ALIGN_OBJECT_MAX ? realloc(in->buffer, cap) : NULL;
	if (!fresh)
		return -EFBIG;
	in->buffer = fresh;
	in->cap = cap;
	return 0;
}

/* Objects one after the other, as they come: an object that is not whole yet waits for the next bytes. */
static int read_text(struct compare_input *in, struct bytes *b, const char *source)
{
	struct stream s = {.in = in, .source = source, .many = true};
	size_t len = 0;
	for (bool ends = false; !ends;) {
		int rc = make_room(in, len);
		if (rc < 0)
			return rc;
		ssize_t n = read_bytes(b, in->buffer + len, in->cap - len);
		if (n < 0)
			return (int)n;
		ends = n == 0;
		len += (size_t)n;
		if (!ends && len < CHUNK)
			continue; /* small files: when they are whole */
		struct str text = str_n(in->buffer, len);
		take_objects(&s, &text, ends);
		memmove(in->buffer, text.ptr, text.len);
		len = text.len;
	}
	if (!s.number)
		lose(in, source, -EPROTO);
	return 0;
}

/* -- arguments ------------------------------------------------------------------------------------------------------------------- */

/* In a folder files of other kinds may lie: what neither looks like ours nor is called so is nobody's node. */
static bool is_ours(const struct bytes *b, const char *name)
{
	static const char *const endings[] = {".json", ".ndjson", ".jsonl", ".zst", ".tar", ".facts", ".davy"};
	struct str head = str_trim(str_n(b->head, b->len));
	if (archive_is_one(str_n(b->head, b->len)) || facts_lines_is_one(head) || (head.len && (head.ptr[0] == '{' || head.ptr[0] == '[')))
		return true;
	for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
		if (str_ends(str_of(name), endings[i]))
			return true;
	return false;
}

static int read_file(struct compare_input *in, const char *path, const char *source, bool named)
{
	struct bytes b = {0};
	int rc = path ? host_file_open(in->c->host, path, &b.file) : 0;
	if (rc < 0)
		return rc;
	for (ssize_t n = 1; n > 0 && b.len < HEAD;) {
		struct bytes direct = {.file = b.file};
		n = read_bytes(&direct, b.head + b.len, HEAD - b.len);
		if (n < 0)
			rc = (int)n;
		b.len += n > 0 ? (size_t)n : 0;
	}
	if (rc == 0 && !named && !is_ours(&b, source))
		;
	else if (rc == 0 && archive_is_one(str_n(b.head, b.len)))
		read_archive(in, &b, source);
	else if (rc == 0)
		rc = read_text(in, &b, source);
	if (rc < 0)
		lose(in, source, rc);
	host_file_close(b.file);
	return 0;
}

static bool is_wanted(const char *name)
{
	return name[0] != '.' && !strstr(name, ".partial-");
}

static void read_folder(struct compare_input *in, const char *path, const char *source, int depth)
{
	struct host_list list;
	int rc = host_list(in->c->host, path, &list);
	if (rc < 0) {
		lose(in, source, rc);
		return;
	}
	for (size_t i = 0; i < list.count; i++) {
		struct arena *a = arena_new(0);
		const char *full = arena_printf(a, "%s/%s", path, list.names[i]), *shown = arena_printf(a, "%s/%s", source, list.names[i]);
		struct host_stat st;
		if (!is_wanted(list.names[i]) || host_stat(in->c->host, full, &st) < 0)
			st.kind = HOST_SOCKET;
		if (st.kind == HOST_DIR && host_is_snapshot(full))
			read_snapshot(in, full, shown);
		else if (st.kind == HOST_DIR && depth < DEPTH_MAX)
			read_folder(in, full, shown, depth + 1);
		else if (st.kind == HOST_FILE && st.size)
			read_file(in, full, shown, false);
		arena_free(a);
	}
	if (list.truncated)
		align_add_lost(in->align, NULL, source, ALIGN_UNREADABLE,
			cli_tr(in->c, "more files in it than are looked at", "目录中的文件过多，未全部读取"));
}

int compare_read(struct compare_input *in, const char *arg)
{
	struct cli *c = in->c;
	struct host_stat st;
	if (strcmp(arg, "-") == 0)
		return read_file(in, NULL, cli_tr(c, "standard input", "标准输入"), true);
	const char *cwd = host_cwd(c->host), *path = arg[0] == '/' || !cwd ? arg : arena_printf(c->arena, "%s/%s", cwd, arg);
	int rc = host_stat(c->host, path, &st);
	if (rc == -ENOENT || rc == -ENOTDIR) {
		in->missing++;
		align_add_lost(in->align, NULL, arg, ALIGN_UNREADABLE, cli_tr(c, "no such file or folder", "没有这个文件或目录"));
		return -ENOENT;
	}
	if (rc < 0)
		lose(in, arg, rc);
	else if (st.kind == HOST_DIR && host_is_snapshot(path))
		read_snapshot(in, path, arg);
	else if (st.kind == HOST_DIR)
		read_folder(in, path, arg, 0);
	else if ((rc = read_file(in, path, arg, true)) < 0)
		lose(in, arg, rc);
	return 0;
}
