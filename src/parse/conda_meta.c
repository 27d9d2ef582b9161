#include "parse/conda_meta.h"

#include <errno.h>

#include "parse/json.h"

int parse_conda_meta(struct arena *a, struct str text, struct conda_meta *ret)
{
	const struct json *root;
	struct conda_meta m = {0};
	struct {
		const char *key;
		struct str *value;
	} members[] = {{"name", &m.name}, {"version", &m.version}, {"build", &m.build}, {"channel", &m.channel}, {"url", &m.url},
		{"md5", &m.md5}, {"sha256", &m.sha256}};
	int rc = parse_json(a, text, &root, NULL);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		if (!parse_json_text(parse_json_get(root, members[i].key), members[i].value))
			*members[i].value = STR("");
	if (!m.name.len || !m.version.len)
		return -EINVAL;
	*ret = m;
	return 0;
}
