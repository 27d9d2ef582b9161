#include "judge/yaml.h"

#include <errno.h>
#include <yaml.h>

#define DEPTH_MAX 32
#define NODES_MAX 2000000

struct reading {
	struct arena *arena;
	yaml_parser_t parser;
	const char *why;
	int line, nodes;
};

static int refuse(struct reading *r, const char *why, size_t line)
{
	if (!r->why) {
		r->why = why;
		r->line = (int)line + 1;
	}
	return -EINVAL;
}

static int next(struct reading *r, yaml_event_t *e)
{
	if (!yaml_parser_parse(&r->parser, e))
		return refuse(r, r->parser.problem ? arena_strdup(r->arena, r->parser.problem) : "not YAML", r->parser.problem_mark.line);
	return 0;
}

static int node(struct reading *r, yaml_event_t *e, int depth, struct yaml **ret);

static int children(struct reading *r, struct yaml *parent, int depth)
{
	struct yaml **tail = &parent->first;
	for (;;) {
		yaml_event_t e;
		const char *key = NULL;
		if (next(r, &e) < 0)
			return -EINVAL;
		if (e.type == YAML_SEQUENCE_END_EVENT || e.type == YAML_MAPPING_END_EVENT) {
			yaml_event_delete(&e);
			return 0;
		}
		if (parent->kind == YAML_MAP) {
			size_t line = e.start_mark.line;
			if (e.type == YAML_SCALAR_EVENT)
				key = arena_strdup(r->arena, (const char *)e.data.scalar.value);
			yaml_event_delete(&e);
			if (!key)
				return refuse(r, "a key must be a plain word", line);
			if (yaml_get(parent, key))
				return refuse(r, "this key stands twice", line);
			if (next(r, &e) < 0)
				return -EINVAL;
		}
		struct yaml *child;
		int rc = node(r, &e, depth + 1, &child);
		if (rc < 0)
			return rc;
		child->key = key;
		*tail = child;
		tail = &child->next;
	}
}

/* Takes over the event. */
static int node(struct reading *r, yaml_event_t *e, int depth, struct yaml **ret)
{
	struct yaml *y = arena_alloc(r->arena, sizeof *y);
	y->line = (int)e->start_mark.line + 1;
	int rc = 0;
	if (depth > DEPTH_MAX || ++r->nodes > NODES_MAX) {
		rc = refuse(r, "too deep or too large", e->start_mark.line);
	} else if (e->type == YAML_SCALAR_EVENT) {
		y->kind = YAML_SCALAR;
		y->text = str_dup(r->arena, str_n((const char *)e->data.scalar.value, e->data.scalar.length));
		/* Folded blocks end with a newline that no sentence wants. */
		size_t n = strlen(y->text);
		while (n && y->text[n - 1] == '\n')
			((char *)y->text)[--n] = '\0';
	} else if (e->type == YAML_SEQUENCE_START_EVENT || e->type == YAML_MAPPING_START_EVENT) {
		y->kind = e->type == YAML_SEQUENCE_START_EVENT ? YAML_LIST : YAML_MAP;
		yaml_event_delete(e);
		*ret = y;
		return children(r, y, depth);
	} else {
		rc = refuse(r, "aliases are not allowed here", e->start_mark.line);
	}
	yaml_event_delete(e);
	*ret = y;
	return rc;
}

int yaml_parse(struct arena *a, struct str text, struct yaml **ret, const char **ret_why, int *ret_line)
{
	struct reading r = {.arena = a};
	int rc = 0;
	*ret = NULL;
	if (!yaml_parser_initialize(&r.parser))
		return -ENOMEM;
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text.ptr, text.len);
	for (bool done = false; rc == 0 && !done;) {
		yaml_event_t e;
		rc = next(&r, &e);
		if (rc < 0)
			break;
		switch (e.type) {
		case YAML_SCALAR_EVENT:
		case YAML_SEQUENCE_START_EVENT:
		case YAML_MAPPING_START_EVENT:
		case YAML_ALIAS_EVENT:
			if (*ret) {
				rc = refuse(&r, "one document only", e.start_mark.line);
				yaml_event_delete(&e);
			} else {
				rc = node(&r, &e, 0, ret);
			}
			break;
		case YAML_STREAM_END_EVENT:
			done = true;
			/* fall through */
		default: yaml_event_delete(&e);
		}
	}
	yaml_parser_delete(&r.parser);
	if (rc < 0) {
		*ret_why = r.why ? r.why : "not YAML";
		*ret_line = r.line;
	}
	return rc;
}

struct yaml *yaml_get(const struct yaml *map, const char *key)
{
	for (struct yaml *y = map && map->kind == YAML_MAP ? map->first : NULL; y; y = y->next)
		if (y->key && strcmp(y->key, key) == 0)
			return y;
	return NULL;
}

const char *yaml_text(const struct yaml *map, const char *key)
{
	struct yaml *y = yaml_get(map, key);
	return y && y->kind == YAML_SCALAR ? y->text : NULL;
}

const char *yaml_lines(struct arena *a, const struct yaml *map, const char *key)
{
	struct yaml *y = yaml_get(map, key);
	if (!y)
		return NULL;
	if (y->kind == YAML_SCALAR)
		return *y->text ? y->text : NULL;
	struct buf b = BUF_MAX((size_t)1 << 20);
	for (struct yaml *i = y->first; i; i = i->next) {
		if (i->kind != YAML_SCALAR)
			continue;
		if (b.len)
			buf_char(&b, '\n');
		buf_text(&b, i->text);
	}
	const char *text = b.len ? arena_strndup(a, b.ptr, b.len) : NULL;
	buf_free(&b);
	return text;
}
