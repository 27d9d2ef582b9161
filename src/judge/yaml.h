/* YAML as a tree of maps, lists and scalars with line numbers. libyaml is known in yaml.c only. Bounded in size and depth; anchors and tags
 * are refused. */
#ifndef JUDGE_YAML_H
#define JUDGE_YAML_H

#include "base/str.h"

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };

struct yaml {
	enum yaml_kind kind;
	int line;         /* from 1 */
	const char *key;  /* of an entry of a map */
	const char *text; /* of a scalar */
	struct yaml *first, *next;
};

/* 0, or -EINVAL with *ret_why and *ret_line. An empty document gives NULL. */
int yaml_parse(struct arena *a, struct str text, struct yaml **ret, const char **ret_why, int *ret_line);

struct yaml *yaml_get(const struct yaml *map, const char *key); /* NULL */
const char *yaml_text(const struct yaml *map, const char *key); /* of a scalar; NULL */
/* A list's scalars (or one scalar), joined by newlines; NULL when the key is missing or its list empty. */
const char *yaml_lines(struct arena *a, const struct yaml *map, const char *key);

#endif
