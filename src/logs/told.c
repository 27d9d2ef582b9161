#include "logs/told.h"

#include <ctype.h>

static bool starts_with_one(struct str s, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_starts(s, words[i]))
			return true;
	return false;
}

static bool has_one(struct str s, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_has(s, words[i]))
			return true;
	return false;
}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* "- Fixed a hang when ...", "* Raise a clear error if ...": what a release changed. */
static bool is_change(struct str s)
{
	static const char *const verbs[] = {"Fix ", "Fix:", "Fix \"", "Fix `", "Fixed ", "Fixes ", "fix: ", "fix(", "[Fix]", "[BugFix]", "[Bugfix]", "Bugfix", "Bug fix", "Raise ", "Raises ", "Improve", "Add ", "Added ", "Adds ",
		"Support ", "Prevent ", "Avoid ", "Handle ", "Handles ", "Do not ", "Don't ", "Resolve", "On Windows, ", "On macOS, ", "修复", "新增", "优化"};
	size_t n = str_starts(s, "- ") || str_starts(s, "* ") ? 2 : str_starts(s, "• ") ? 4 : 0;
	return n && starts_with_one(str_trim(str_skip(s, n)), verbs, COUNT(verbs));
}

/* "path/file.py:41:    raise ..." as grep writes it. The rest in *ret. */
static bool skip_grep(struct str s, struct str *ret)
{
	static const char *const names[] = {".py:", ".cc:", ".cpp:", ".cu:", ".h:", ".hpp:"};
	for (size_t i = 0; i < COUNT(names); i++) {
		size_t at = str_find(s, names[i], 0), n;
		if (at == SIZE_MAX)
			continue;
		n = at += strlen(names[i]);
		while (n < s.len && isdigit((unsigned char)s.ptr[n]))
			n++;
		if (n == at || n >= s.len || s.ptr[n] != ':')
			continue;
		*ret = str_trim(str_skip(s, n + 1));
		return true;
	}
	return false;
}

/* Something between quotes and a comma, and nothing else: an item of a list in a program. */
static bool is_quoted_item(struct str s)
{
	if (s.len < 4 || (s.ptr[0] != '"' && s.ptr[0] != '\'') || s.ptr[s.len - 1] != ',' || s.ptr[s.len - 2] != s.ptr[0])
		return false;
	return !str_has(s, "\": ") && !str_has(s, "': ");
}

static bool is_statement(struct str s)
{
	static const char *const starts[] = {"raise ", "if \"", "if '", "elif \"", "elif '", "print(\"", "print('", "print(f\"", "print(f'", "logger.", "logging.", "log.error(", "log.warning(", "warnings.warn(", "assert \"", "assert '",
		"self.assert", "with pytest.raises(", "with self.assertRaises", "TORCH_CHECK(", "C10_THROW", "throw ", "LOG(", "std::cerr", "std::cout", "fprintf(stderr", "printf(\"", "return \"", "return '", "msg = \"", "msg = f\""};
	return starts_with_one(s, starts, COUNT(starts));
}

/* In a traceback a source line follows the one that says where it stands. */
static bool is_code(struct str s, struct str before)
{
	struct str rest;
	if (skip_grep(s, &rest))
		return is_statement(rest) || is_quoted_item(rest) || (rest.len && (rest.ptr[0] == '"' || rest.ptr[0] == '#'));
	if (is_quoted_item(s))
		return true;
	return is_statement(s) && !str_has(before, "File \"") && !str_has(before, "^^") && !str_has(before, "line ");
}

/* What others met, and what might come. */
static bool is_hearsay(struct str s)
{
	static const char *const words[] = {"会不会", "是否会", "有人说", "有人写", "有人遇到", "网上说", "would this ", "would it ", "would I get", "Would this ", "Would it ", "people hit ", "people get ", "people see ", "people report", "others report",
		"others hit ", "I read that", "I read in", "I have read", "I've read", "users only get", "a user only gets", "user would see", "users would see", "want to run into"};
	return has_one(s, words, COUNT(words));
}

bool told_only(struct str message, struct str before)
{
	struct str s = str_trim(message);
	return is_change(s) || is_code(s, before) || is_hearsay(s);
}
