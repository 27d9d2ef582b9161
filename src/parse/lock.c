#include "parse/lock.h"

#include <errno.h>

#include "parse/pep440.h"
#include "parse/pep508.h"

/* Everything but printable text and tabs: no lock, but a binary or a trap for terminals. */
static bool is_text(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.ptr[i] < 32 && !strchr("\t\r\n\f", s.ptr[i]))
			return false;
	return true;
}

static int bad(struct lock *l, int64_t line, const char *why)
{
	l->bad_line = line;
	l->why = why;
	return -EINVAL;
}

static bool is_version(struct str s)
{
	struct pep440 v;
	return s.len < 256 && parse_pep440(s, &v) == 0;
}

static int add(struct arena *a, struct lock *l, struct lock_package p, struct str name)
{
	if (l->count == PARSE_LOCK_PACKAGES_MAX)
		return -E2BIG;
	if (name.len > 255 || !parse_pep503_is_valid(name))
		return bad(l, p.line, "no valid name of a package");
	p.name = parse_pep503_name(a, name);
	l->packages = arena_grow(a, l->packages, l->count, &l->cap, sizeof *l->packages);
	l->packages[l->count++] = p;
	return 0;
}

/* "# davy: KEY VALUE ...": words behind the key; unknown keys are of a newer version and are passed over. */
static int read_statement(struct arena *a, struct lock *l, struct str rest, int64_t line)
{
	struct str key, word[3] = {{0}};
	size_t n = 0;
	if (!str_next_word(&rest, &key))
		return 0;
	while (n < 3 && str_next_word(&rest, &word[n]))
		n++;
	if (str_is(key, "python")) {
		if (!is_version(word[0]))
			return bad(l, line, "no version of Python");
		l->python = word[0];
	} else if (str_is(key, "platform")) {
		l->arch = word[0];
		l->libc = n > 2 ? word[2] : STR("");
	} else if (str_is(key, "torch")) {
		l->torch = word[0];
	} else if (str_is(key, "driver")) {
		l->driver = word[0];
	} else if (str_is(key, "installed") || str_is(key, "conda")) {
		bool conda = str_is(key, "conda");
		struct lock_package p = {.kind = conda ? LOCK_CONDA : LOCK_INSTALLED, .version = word[1], .line = line};
		*(conda ? &p.build : &p.installer) = word[2];
		return n < 2 ? bad(l, line, "a package without a version") : add(a, l, p, word[0]);
	}
	return 0;
}

/* Splits "requirement  # davy key=value ..." as pip does: a # behind a blank begins a comment. */
static struct str split_comment(struct str line, struct str *ret_comment)
{
	*ret_comment = STR("");
	for (size_t i = 0; i < line.len; i++) {
		if (line.ptr[i] != '#' || (i && line.ptr[i - 1] != ' ' && line.ptr[i - 1] != '\t'))
			continue;
		*ret_comment = str_trim(str_skip(line, i + 1));
		return str_trim(str_slice(line, 0, i));
	}
	return str_trim(line);
}

static void read_notes(struct str comment, struct lock_package *p, struct str *name)
{
	struct str word;
	if (!str_next_word(&comment, &word) || !str_is(word, "davy"))
		return;
	while (str_next_word(&comment, &word)) {
		size_t equals = str_find_char(word, '=', 0);
		struct str key = str_slice(word, 0, equals), value = str_skip(word, equals == SIZE_MAX ? word.len : equals + 1);
		if (str_is(key, "version"))
			p->version = value;
		else if (str_is(key, "record"))
			p->record = value;
		else if (str_is(key, "name"))
			*name = value;
	}
}

/* "==2.7.1" or "===2.7.1" alone: a pin. */
static bool pinned_version(struct str specifier, struct str *ret)
{
	if (!str_starts(specifier, "==") || str_find_char(specifier, ',', 0) != SIZE_MAX)
		return false;
	struct str v = str_trim(str_skip(specifier, str_starts(specifier, "===") ? 3 : 2));
	if (!is_version(v))
		return false;
	*ret = v;
	return true;
}

static int read_requirement(struct arena *a, struct lock *l, struct str text, struct lock_package p, struct str name)
{
	struct pep508 r;
	size_t option = str_find(text, " --hash", 0); /* options of pip stand behind the requirement */
	text = str_trim(str_slice(text, 0, option));
	if (parse_pep508(text, &r) < 0)
		return bad(l, p.line, "not a requirement");
	if (r.url.len)
		p.source = r.url;
	else if (!r.specifier.len || !pinned_version(r.specifier, &p.version))
		return bad(l, p.line, "not pinned to one version (name==version)");
	if (p.version.len && !is_version(p.version))
		return bad(l, p.line, "no version");
	return add(a, l, p, name.len ? name : r.name);
}

/* A logical line: a requirement, an editable, or an option of pip, which says nothing of packages. */
static int read_line(struct arena *a, struct lock *l, struct str line, int64_t number)
{
	struct str comment, name = STR(""), text = split_comment(line, &comment);
	struct lock_package p = {.line = number};
	read_notes(comment, &p, &name);
	if (!text.len)
		return 0;
	if (str_starts(text, "-e ") || str_starts(text, "--editable")) {
		p.editable = true;
		p.source = str_trim(str_skip(text, str_starts(text, "-e ") ? 3 : strlen("--editable") + 1));
		size_t egg = str_find(p.source, "#egg=", 0);
		if (!name.len && egg != SIZE_MAX)
			name = str_skip(p.source, egg + strlen("#egg="));
		return name.len ? add(a, l, p, name) : 0;
	}
	if (text.ptr[0] == '-')
		return 0;
	return read_requirement(a, l, text, p, name);
}

/* Lines that end with a backslash go on, as pip writes hashes. */
static bool next_logical(struct arena *a, struct str *rest, int64_t *number, struct str *ret)
{
	struct str line;
	struct buf joined = BUF_MAX((size_t)1 << 20);
	bool any = false;
	while (str_next_line(rest, &line)) {
		++*number;
		bool more = line.len && line.ptr[line.len - 1] == '\\' && str_trim(line).ptr[0] != '#';
		if (!any && !more) {
			*ret = line;
			return true;
		}
		any = true;
		buf_str(&joined, str_slice(line, 0, line.len - more));
		buf_char(&joined, ' ');
		if (!more)
			break;
	}
	if (any)
		*ret = str_of(arena_strndup(a, joined.ptr, joined.len));
	buf_free(&joined);
	return any;
}

int parse_lock(struct arena *a, struct str text, struct lock *ret)
{
	struct str line;
	int64_t number = 0;
	int rc = 0;
	*ret = (struct lock){0};
	if (str_starts(text, "\xef\xbb\xbf"))
		text = str_skip(text, 3);
	if (!is_text(text))
		return bad(ret, 0, "not a text");
	while (rc == 0 && next_logical(a, &text, &number, &line)) {
		struct str s = str_trim(line);
		if (str_is(s, "# davy lock 1"))
			ret->complete = true;
		else if (str_starts(s, "# davy lock "))
			return bad(ret, number, "of a newer version of davy");
		else if (str_starts(s, "# davy: "))
			rc = read_statement(a, ret, str_skip(s, strlen("# davy: ")), number);
		else if (s.len && s.ptr[0] != '#')
			rc = read_line(a, ret, s, number);
	}
	if (rc == 0 && !ret->count && !ret->complete)
		return bad(ret, 0, "no pinned requirement is in it");
	return rc;
}
