#include "judge/knowledge.h"

#include "judge/compile.h"
#include "judge/functions.h"

int knowledge_open(struct arena *a, const void *image, size_t size, const char *extra, struct store **ret, const char **ret_warnings)
{
	static const char *const folders[] = {"/usr/share/davy/knowledge", "/etc/davy/knowledge"};
	struct compile_result result = {.messages = BUF_MAX((size_t)1 << 20), .untranslated = BUF_MAX(1)};
	struct host *here;
	int rc = store_open(a, image, size, ret);
	if (rc < 0)
		return rc;
	functions_register(*ret);
	*ret_warnings = "";
	if (host_open_live(a, NULL, &here) < 0)
		return 0;
	if (extra || host_is_dir(here, folders[0]) || host_is_dir(here, folders[1]))
		store_make_writable(*ret);
	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
		if (host_is_dir(here, folders[i]))
			compile_folder(a, here, folders[i], *ret, &result);
	if (extra)
		compile_folder(a, here, extra, *ret, &result);
	if (result.messages.len)
		*ret_warnings = arena_strndup(a, result.messages.ptr, result.messages.len);
	buf_free(&result.messages);
	buf_free(&result.untranslated);
	host_close(here);
	return 0;
}
