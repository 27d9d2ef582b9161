#include "parse/dist_info.h"

#include <errno.h>

#include "parse/json.h"
#include "parse/sha256.h"

/* -- METADATA, PKG-INFO ------------------------------------------------------------------------------------------------- */

struct header {
	struct str key, value;
};

/* Takes one header with its continuation lines off *rest. 1; 0 at the end of the headers; -EINVAL for a line that is none. */
static int next_header(struct arena *a, struct str *rest, struct header *ret)
{
	struct str line;
	if (!str_next_line(rest, &line) || !line.len)
		return 0;
	if (!str_split(line, ':', &ret->key, &ret->value) || !ret->key.len)
		return -EINVAL;
	struct buf joined = BUF_MAX(1 << 16);
	while (rest->len && (rest->ptr[0] == ' ' || rest->ptr[0] == '\t')) {
		if (!str_next_line(rest, &line))
			break;
		if (!joined.len)
			buf_str(&joined, ret->value);
		buf_char(&joined, ' ');
		buf_str(&joined, str_trim(line));
	}
	if (joined.len)
		ret->value = str_n(arena_strndup(a, joined.ptr, joined.len), joined.len);
	buf_free(&joined);
	return 1;
}

/* Only what is asked for is joined: the license text of a header may fill pages. */
static void skip_header(struct str *rest)
{
	struct str line;
	str_next_line(rest, &line);
	while (rest->len && (rest->ptr[0] == ' ' || rest->ptr[0] == '\t'))
		str_next_line(rest, &line);
}

static bool is_wanted(struct str text)
{
	static const char *const keys[] = {"Name:", "Version:", "Requires-Dist:", "Requires-Python:"};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (str_is_nocase(str_slice(text, 0, strlen(keys[i])), keys[i]))
			return true;
	return false;
}

int parse_dist_metadata(struct arena *a, struct str text, struct dist_metadata *ret)
{
	struct dist_metadata m = {0};
	size_t cap = 0, headers = 0;
	struct str rest = text;
	if (str_starts(rest, "\xef\xbb\xbf"))
		rest = str_skip(rest, 3);
	while (rest.len) {
		if (rest.ptr[0] == '\n' || str_starts(rest, "\r\n")) {
			m.complete = true;
			break;
		}
		if (!is_wanted(rest)) {
			skip_header(&rest);
			continue;
		}
		struct header h;
		if (next_header(a, &rest, &h) != 1)
			continue;
		headers++;
		/* As in an e-mail, the first of two equal headers counts. */
		if (str_is_nocase(h.key, "Name")) {
			m.name = m.name.ptr ? m.name : h.value;
		} else if (str_is_nocase(h.key, "Version")) {
			m.version = m.version.ptr ? m.version : h.value;
		} else if (str_is_nocase(h.key, "Requires-Python")) {
			m.requires_python = m.requires_python.ptr ? m.requires_python : h.value;
		} else {
			if (m.requires_count == PARSE_DIST_REQUIREMENTS_MAX)
				return -E2BIG;
			m.requires = arena_grow(a, m.requires, m.requires_count, &cap, sizeof *m.requires);
			m.requires[m.requires_count++] = h.value;
		}
	}
	*ret = m;
	return headers ? 0 : -EINVAL;
}

/* A requirement below [extra:marker] holds only with that extra and under that marker. */
static struct str in_section(struct arena *a, struct str line, struct str extra, struct str marker)
{
	if (!extra.len && !marker.len)
		return line;
	struct buf b = BUF_MAX(1 << 14);
	size_t semicolon = str_find_char(line, ';', 0);
	struct str own = semicolon == SIZE_MAX ? str_n("", 0) : str_trim(str_skip(line, semicolon + 1));
	buf_str(&b, str_trim(str_slice(line, 0, semicolon)));
	buf_text(&b, " ; ");
	const char *glue = "";
	struct str parts[] = {own, marker};
	for (size_t i = 0; i < 2; i++) {
		if (!parts[i].len)
			continue;
		buf_fmt(&b, "%s(%.*s)", glue, (int)parts[i].len, parts[i].ptr);
		glue = " and ";
	}
	if (extra.len)
		buf_fmt(&b, "%sextra == \"%.*s\"", glue, (int)extra.len, extra.ptr);
	struct str out = str_n(arena_strndup(a, buf_view(&b).ptr, b.len), b.len);
	buf_free(&b);
	return out;
}

int parse_dist_requires_txt(struct arena *a, struct str text, struct str **ret, size_t *ret_count)
{
	struct str line, extra = {0}, marker = {0}, *list = NULL;
	size_t count = 0, cap = 0;
	while (str_next_line(&text, &line)) {
		line = str_trim(line);
		if (!line.len || line.ptr[0] == '#')
			continue;
		if (line.ptr[0] == '[' && line.ptr[line.len - 1] == ']') {
			line = str_trim(str_slice(line, 1, line.len - 1));
			marker = str_n(NULL, 0);
			extra = line;
			str_split(line, ':', &extra, &marker);
			continue;
		}
		if (count == PARSE_DIST_REQUIREMENTS_MAX)
			return -E2BIG;
		list = arena_grow(a, list, count, &cap, sizeof *list);
		list[count++] = in_section(a, line, extra, marker);
	}
	*ret = list;
	*ret_count = count;
	return 0;
}

bool parse_dist_directory(struct str directory, enum dist_kind *ret_kind, struct str *ret_name, struct str *ret_version)
{
	enum dist_kind kind = DIST_INFO;
	struct str stem = directory;
	if (str_ends(directory, ".dist-info"))
		stem.len -= strlen(".dist-info");
	else if (str_ends(directory, ".egg-info")) {
		stem.len -= strlen(".egg-info");
		kind = EGG_INFO;
	} else
		return false;
	struct str part, rest = stem;
	*ret_kind = kind;
	*ret_version = str_n("", 0);
	*ret_name = str_next_field(&rest, '-', &part) ? part : stem;
	if (str_next_field(&rest, '-', &part))
		*ret_version = part;
	return true;
}

/* -- RECORD ------------------------------------------------------------------------------------------------------------- */

/* Takes a quoted CSV field, which may hold commas, newlines and doubled quotes. */
static int take_quoted(struct arena *a, struct str *rest, struct str *ret)
{
	bool doubled = false;
	size_t end = str_find_char(*rest, '"', 1);
	while (end != SIZE_MAX && end + 1 < rest->len && rest->ptr[end + 1] == '"') {
		doubled = true;
		end = str_find_char(*rest, '"', end + 2);
	}
	if (end == SIZE_MAX)
		return -EINVAL;
	struct str inside = str_slice(*rest, 1, end);
	*rest = str_skip(*rest, end + 1);
	if (doubled) {
		char *p = arena_alloc(a, inside.len + 1);
		size_t n = 0;
		for (size_t i = 0; i < inside.len; i++) {
			p[n++] = inside.ptr[i];
			i += inside.ptr[i] == '"';
		}
		inside = str_n(p, n);
	}
	*ret = inside;
	return 0;
}

/* One field; *ret_last is set when the line ends behind it. */
static int take_field(struct arena *a, struct str *rest, struct str *ret, bool *ret_last)
{
	size_t n = 0;
	if (rest->len && rest->ptr[0] == '"') {
		if (take_quoted(a, rest, ret))
			return -EINVAL;
	} else {
		while (n < rest->len && rest->ptr[n] != ',' && rest->ptr[n] != '\n')
			n++;
		*ret = str_slice(*rest, 0, n);
		*rest = str_skip(*rest, n);
	}
	if (rest->len && rest->ptr[0] == '\r')
		*rest = str_skip(*rest, 1);
	*ret_last = !rest->len || rest->ptr[0] == '\n';
	if (rest->len && rest->ptr[0] != ',' && rest->ptr[0] != '\n')
		return -EINVAL;
	*rest = str_skip(*rest, 1);
	return 0;
}

static void split_plain(struct str line, struct str fields[3])
{
	for (size_t i = 0; i < 3 && line.ptr; i++)
		str_next_field(&line, ',', &fields[i]);
}

/* A line with quotes may go on over line ends; *rest moves behind it, behind its first line when it is damaged. */
static int split_quoted(struct arena *a, struct str *rest, struct str fields[3])
{
	struct str begin = *rest, extra, line;
	bool last = false;
	for (size_t i = 0; !last; i++)
		if (take_field(a, rest, i < 3 ? &fields[i] : &extra, &last)) {
			*rest = begin;
			str_next_line(rest, &line);
			return -EINVAL;
		}
	return 0;
}

int parse_dist_record(struct arena *a, struct str *rest, struct dist_record *ret)
{
	struct dist_record r = {0};
	struct str fields[3] = {{0}}, line, begin;
	int64_t size;
	do {
		begin = *rest;
		if (!str_next_line(rest, &line))
			return 0;
	} while (!line.len);
	if (str_find_char(line, '"', 0) == SIZE_MAX) {
		split_plain(line, fields);
	} else {
		*rest = begin;
		if (split_quoted(a, rest, fields) < 0)
			return -EINVAL;
	}
	r.path = fields[0];
	if (!r.path.len)
		return -EINVAL;
	str_split(fields[1], '=', &r.algorithm, &r.digest);
	if (fields[2].len && !str_to_int(str_trim(fields[2]), &size) && size >= 0) {
		r.has_size = true;
		r.size = (uint64_t)size;
	}
	*ret = r;
	return 1;
}

#define DIGEST_LINES_MAX ((size_t)1 << 20)

/* What the installer writes, not the wheel. */
static bool is_of_the_installation(struct str path)
{
	static const char *const own[] = {"INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json", "RECORD"};
	if (str_ends(path, ".pyc") || path.ptr[0] == '/')
		return true;
	if (str_starts(path, "../") && (str_has(path, "/bin/") || str_has(path, "/Scripts/")))
		return true;
	size_t info = str_find(path, ".dist-info/", 0);
	for (size_t i = 0; info != SIZE_MAX && i < sizeof own / sizeof *own; i++)
		if (str_is(str_skip(path, info + strlen(".dist-info/")), own[i]))
			return true;
	return false;
}

static int by_path(const void *a, const void *b)
{
	const struct dist_record *x = a, *y = b;
	int order = str_cmp(x->path, y->path);
	return order ? order : str_cmp(x->digest, y->digest);
}

const char *parse_dist_record_digest(struct arena *a, struct str record)
{
	struct dist_record *lines = NULL, r;
	size_t n = 0, cap = 0;
	for (int rc; (rc = parse_dist_record(a, &record, &r));) {
		if (rc < 0 || !r.digest.len || is_of_the_installation(r.path))
			continue;
		if (n == DIGEST_LINES_MAX)
			return NULL;
		lines = arena_grow(a, lines, n, &cap, sizeof *lines);
		lines[n++] = r;
	}
	if (!n)
		return NULL;
	size_t sorted = 1;
	while (sorted < n && by_path(&lines[sorted - 1], &lines[sorted]) <= 0)
		sorted++;
	if (sorted < n) /* installers write it in this order */
		qsort(lines, n, sizeof *lines, by_path);
	struct buf text = BUF_MAX((size_t)64 << 20);
	for (size_t i = 0; i < n; i++) {
		buf_str(&text, lines[i].path);
		buf_char(&text, ',');
		buf_str(&text, lines[i].algorithm);
		buf_char(&text, '=');
		buf_str(&text, lines[i].digest);
		buf_char(&text, '\n');
	}
	char digest[PARSE_SHA256_TEXT];
	struct str whole = buf_view(&text);
	struct parse_source source = parse_source_of(&whole);
	int rc = text.truncated ? -E2BIG : parse_sha256(&source, digest);
	buf_free(&text);
	return rc < 0 ? NULL : arena_printf(a, "sha256=%s", digest);
}

/* -- small files -------------------------------------------------------------------------------------------------------- */

int parse_dist_direct_url(struct arena *a, struct str text, struct dist_direct_url *ret)
{
	const struct json *root;
	struct dist_direct_url d = {0};
	int r = parse_json(a, text, &root, NULL);
	if (r)
		return r;
	if (!parse_json_text(parse_json_get(root, "url"), &d.url))
		return -EINVAL;
	parse_json_bool(parse_json_path(root, "dir_info.editable"), &d.editable);
	const struct json *directory = parse_json_get(root, "dir_info");
	d.directory = directory && directory->type == JSON_OBJECT;
	parse_json_text(parse_json_path(root, "vcs_info.commit_id"), &d.commit);
	parse_json_text(parse_json_path(root, "vcs_info.vcs"), &d.vcs);
	parse_json_text(parse_json_get(root, "subdirectory"), &d.subdirectory);
	struct str old;
	if (!parse_json_text(parse_json_path(root, "archive_info.hashes.sha256"), &d.sha256) &&
		parse_json_text(parse_json_path(root, "archive_info.hash"), &old) && str_starts(old, "sha256="))
		d.sha256 = str_skip(old, strlen("sha256="));
	*ret = d;
	return 0;
}

enum dist_pth parse_dist_pth(struct str *rest, struct str *ret)
{
	struct str line;
	if (!str_next_line(rest, &line))
		return DIST_PTH_END;
	if (str_starts(line, "\xef\xbb\xbf"))
		line = str_skip(line, 3);
	if (!str_trim(line).len || line.ptr[0] == '#')
		return DIST_PTH_NOTHING;
	*ret = line;
	if (str_starts(line, "import ") || str_starts(line, "import\t"))
		return DIST_PTH_CODE;
	/* Python strips the end only: a blank at the start belongs to the name. */
	while (ret->len && strchr(" \t\r\n\f\v", ret->ptr[ret->len - 1]))
		ret->len--;
	return DIST_PTH_PATH;
}

void parse_dist_pyvenv(struct str text, struct dist_venv *ret)
{
	struct dist_venv v = {0};
	struct str line, key, value;
	while (str_next_line(&text, &line)) {
		if (!str_split(line, '=', &key, &value))
			continue;
		if (str_is_nocase(key, "home"))
			v.home = value;
		else if (str_is_nocase(key, "include-system-site-packages"))
			v.system_site = str_is_nocase(value, "true");
		else if (str_is_nocase(key, "version") || (str_is_nocase(key, "version_info") && !v.version.len))
			v.version = value;
		else if (str_is_nocase(key, "uv"))
			v.creator = STR("uv");
		else if (str_is_nocase(key, "virtualenv"))
			v.creator = STR("virtualenv");
	}
	*ret = v;
}

/* "name" at the start of a line, behind it only an annotation, then "=". */
static bool is_assignment(struct str line, const char *name, struct str *ret_value)
{
	if (!str_starts(line, name))
		return false;
	struct str rest = str_trim(str_skip(line, strlen(name)));
	if (rest.len && rest.ptr[0] == ':') {
		size_t equals = str_find_char(rest, '=', 0);
		if (equals == SIZE_MAX)
			return false;
		rest = str_skip(rest, equals);
	}
	if (rest.len < 2 || rest.ptr[0] != '=' || rest.ptr[1] == '=')
		return false;
	*ret_value = str_trim(str_skip(rest, 1));
	return true;
}

int parse_dist_assignment(struct str text, const char *name, struct str *ret)
{
	int found = -ENOENT;
	struct str line, value;
	while (str_next_line(&text, &line)) {
		if (!is_assignment(line, name, &value) || !value.len)
			continue;
		if (value.ptr[0] == '\'' || value.ptr[0] == '"') {
			size_t end = str_find_char(value, value.ptr[0], 1);
			if (end == SIZE_MAX)
				continue;
			*ret = str_slice(value, 1, end);
			found = 1;
		} else if (str_starts(value, "None")) {
			found = 0;
		}
	}
	return found;
}
