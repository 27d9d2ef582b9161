#include "logs/told.h"

#include <ctype.h>

static bool starts_with_one(struct str s, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_starts(s, words[i]))
			return true;
	return false;
}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

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

/* Something between quotes and a comma, or the end of a call, and nothing else: an item of a list in a program. */
static bool is_quoted_item(struct str s)
{
	static const char *const ends[] = {",", ");", ";"};
	size_t end = 0;
	for (size_t i = 0; i < COUNT(ends) && !end; i++)
		end = str_ends(s, ends[i]) ? strlen(ends[i]) : 0;
	if (!end || s.len < end + 3 || (s.ptr[0] != '"' && s.ptr[0] != '\'') || s.ptr[s.len - end - 1] != s.ptr[0])
		return false;
	return !str_has(s, "\": ") && !str_has(s, "': ");
}

/* "CUDA out of memory": "use a smaller batch", an entry of a table in a program: the names of a record's fields are short. */
static bool is_sentence_as_key(struct str s)
{
	size_t end = s.len && s.ptr[0] == '"' ? str_find(s, "\": ", 1) : SIZE_MAX, blanks = 0;
	for (size_t i = 0; end != SIZE_MAX && i < end; i++)
		blanks += s.ptr[i] == ' ';
	return blanks >= 2;
}

/* A list's entry that is a quoted text and nothing else. */
static bool is_quoted_bullet(struct str s)
{
	return s.len > 6 && (str_starts(s, "- \"") || str_starts(s, "* \"")) && s.ptr[s.len - 1] == '"' &&
		str_find(s, "\"", 3) == s.len - 1;
}

/* A text given to a function. A compiler's message begins with the same place, and may quote one. */
static bool is_call_with_text(struct str s)
{
	static const char *const messages[] = {"error", "fatal", "warning", "note"};
	bool compiler = s.len && isdigit((unsigned char)s.ptr[0]);
	for (size_t i = 0; i < COUNT(messages); i++)
		compiler |= str_starts(s, messages[i]);
	return !compiler && (str_has(s, "(\"") || str_has(s, "('"));
}

static bool is_statement(struct str s)
{
	static const char *const starts[] = {"raise ", "except ", "// ", "echo \"", "echo '", "trap '", "trap \"", "if \"", "if '",
		"elif \"", "elif '", "print(\"", "print('", "print(f\"", "print(f'", "logger.", "logging.", "log.error(", "log.warning(",
		"warnings.warn(", "assert \"", "assert '", "self.assert", "with pytest.raises(", "with self.assertRaises", "TORCH_CHECK(",
		"C10_THROW", "throw ", "LOG(", "std::cerr", "std::cout", "fprintf(stderr", "printf(\"", "return \"", "return '", "msg = \"",
		"msg = f\"", "WARN(\"", "INFO(", "ERROR(\"", "CHECK("};
	return starts_with_one(s, starts, COUNT(starts));
}

/* A line of a patch, which stands as it is in the file behind its sign. */
static struct str skip_sign(struct str s)
{
	bool sign = s.len > 1 && (s.ptr[0] == '+' || s.ptr[0] == '-') && s.ptr[1] != s.ptr[0];
	return sign ? str_trim(str_skip(s, 1)) : s;
}

/* In a traceback a source line follows the one that says where it stands. */
static bool is_code(struct str s, struct str before)
{
	struct str rest;
	if (skip_grep(s, &rest))
		return is_statement(rest) || is_quoted_item(rest) || is_call_with_text(rest) ||
			(rest.len && (rest.ptr[0] == '"' || rest.ptr[0] == '#'));
	if (is_quoted_item(s) || is_sentence_as_key(s) || is_quoted_bullet(s))
		return true;
	s = skip_sign(s);
	return (is_statement(s) || (str_starts(s, "assert ") && is_call_with_text(s))) && !str_has(before, "File \"") &&
		!str_has(before, "^^") && !str_has(before, "line ");
}

bool told_only(struct str message, struct str before)
{
	return is_code(str_trim(message), before);
}
