#include "parse/json.h"

#include <errno.h>
#include <math.h>

struct reader {
	struct arena *arena;
	const char *at, *end;
	size_t values;
};

static int read_value(struct reader *r, int depth, struct json *v);

static void skip_blanks(struct reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
		r->at++;
}

static bool take(struct reader *r, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0)
		return false;
	r->at += n;
	return true;
}

/* -- texts -------------------------------------------------------------------------------------------------------------- */

static int read_hex4(const char *p, const char *end, unsigned *ret)
{
	unsigned v = 0;

	if (end - p < 4)
		return -EINVAL;
	for (int i = 0; i < 4; i++) {
		char c = p[i];
		unsigned d;

		if (c >= '0' && c <= '9')
			d = (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'f')
			d = (unsigned)(c - 'a') + 10;
		else if (c >= 'A' && c <= 'F')
			d = (unsigned)(c - 'A') + 10;
		else
			return -EINVAL;
		v = v << 4 | d;
	}
	*ret = v;
	return 0;
}

/* p stands behind "\u"; gives the place behind the escape, or NULL. */
static const char *read_unicode(const char *p, const char *end, unsigned *ret)
{
	unsigned c, low;

	if (read_hex4(p, end, &c) < 0)
		return NULL;
	p += 4;
	if (c >= 0xd800 && c < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u' && read_hex4(p + 2, end, &low) == 0 && low >= 0xdc00 &&
		low < 0xe000) {
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		p += 6;
	} else if (c >= 0xd800 && c < 0xe000) {
		c = 0xfffd;
	}
	*ret = c;
	return p;
}

/* An escape never grows: \uXXXX is six bytes for at most three (twelve for four). */
static int unescape(struct reader *r, struct str raw, struct str *ret)
{
	char *start = arena_alloc(r->arena, raw.len + 1), *out = start;
	const char *p = raw.ptr, *end = raw.ptr + raw.len;
	unsigned c;

	while (p < end) {
		if (*p != '\\') {
			*out++ = *p++;
			continue;
		}
		if (++p == end)
			return -EINVAL;
		switch (*p++) {
		case '"': *out++ = '"'; break;
		case '\\': *out++ = '\\'; break;
		case '/': *out++ = '/'; break;
		case 'b': *out++ = '\b'; break;
		case 'f': *out++ = '\f'; break;
		case 'n': *out++ = '\n'; break;
		case 'r': *out++ = '\r'; break;
		case 't': *out++ = '\t'; break;
		case 'u':
			p = read_unicode(p, end, &c);
			if (!p)
				return -EINVAL;
			out += str_put_utf8(out, c);
			break;
		default: return -EINVAL;
		}
	}
	*ret = str_n(start, (size_t)(out - start));
	return 0;
}

static int read_text(struct reader *r, struct str *ret)
{
	const char *start;
	bool escaped = false;

	if (!take(r, "\""))
		return -EINVAL;
	start = r->at;
	while (r->at < r->end && *r->at != '"') {
		if ((unsigned char)*r->at < 0x20)
			return -EINVAL;
		if (*r->at == '\\') {
			escaped = true;
			if (++r->at == r->end)
				return -EINVAL;
		}
		r->at++;
	}
	if (r->at >= r->end)
		return -EINVAL;
	*ret = str_n(start, (size_t)(r->at - start));
	r->at++;
	return escaped ? unescape(r, *ret, ret) : 0;
}

/* -- numbers ------------------------------------------------------------------------------------------------------------ */

static bool digits(struct reader *r)
{
	const char *start = r->at;

	while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
		r->at++;
	return r->at > start;
}

static int read_number(struct reader *r, struct json *v)
{
	const char *start = r->at;
	bool fraction = false;
	struct str text;
	double real;

	if (r->at < r->end && *r->at == '-')
		r->at++;
	if (take(r, "Infinity"))
		return 0; /* null */
	if (!digits(r))
		return -EINVAL;
	if (r->at < r->end && *r->at == '.') {
		r->at++;
		fraction = true;
		if (!digits(r))
			return -EINVAL;
	}
	if (r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
		r->at++;
		fraction = true;
		if (r->at < r->end && (*r->at == '+' || *r->at == '-'))
			r->at++;
		if (!digits(r))
			return -EINVAL;
	}
	text = str_n(start, (size_t)(r->at - start));
	if (!fraction && str_to_int(text, &v->integer) == 0) {
		v->type = JSON_INT;
		return 0;
	}
	if (str_to_real(text, &real) < 0 || !isfinite(real))
		return 0; /* larger than any number we know: null */
	v->type = JSON_REAL;
	v->real = real;
	return 0;
}

/* -- values ------------------------------------------------------------------------------------------------------------- */

static struct json *new_value(struct reader *r)
{
	if (++r->values > PARSE_JSON_VALUES_MAX)
		return NULL;
	return arena_alloc(r->arena, sizeof(struct json));
}

static int read_members(struct reader *r, int depth, struct json *v)
{
	bool object = v->type == JSON_OBJECT;
	char close = object ? '}' : ']';
	struct json **tail = &v->first;
	int rc;

	skip_blanks(r);
	if (r->at < r->end && *r->at == close) {
		r->at++;
		return 0;
	}
	for (;;) {
		struct json *e = new_value(r);

		if (!e)
			return -E2BIG;
		skip_blanks(r);
		if (object) {
			rc = read_text(r, &e->key);
			if (rc < 0)
				return rc;
			skip_blanks(r);
			if (!take(r, ":"))
				return -EINVAL;
		}
		rc = read_value(r, depth + 1, e);
		if (rc < 0)
			return rc;
		*tail = e;
		tail = &e->next;
		v->count++;
		skip_blanks(r);
		if (r->at == r->end)
			return -EINVAL;
		if (*r->at == close) {
			r->at++;
			return 0;
		}
		if (!take(r, ","))
			return -EINVAL;
	}
}

static int read_value(struct reader *r, int depth, struct json *v)
{
	skip_blanks(r);
	if (depth > PARSE_JSON_DEPTH_MAX)
		return -E2BIG;
	if (r->at == r->end)
		return -EINVAL;
	switch (*r->at) {
	case '{':
	case '[':
		v->type = *r->at == '{' ? JSON_OBJECT : JSON_ARRAY;
		r->at++;
		return read_members(r, depth, v);
	case '"': v->type = JSON_TEXT; return read_text(r, &v->text);
	case 't':
	case 'f':
		v->type = JSON_BOOL;
		v->boolean = *r->at == 't';
		return take(r, v->boolean ? "true" : "false") ? 0 : -EINVAL;
	case 'n': return take(r, "null") ? 0 : -EINVAL;
	case 'N': return take(r, "NaN") ? 0 : -EINVAL;
	case 'I': return take(r, "Infinity") ? 0 : -EINVAL;
	default: return read_number(r, v);
	}
}

int parse_json(struct arena *a, struct str text, const struct json **ret, size_t *ret_offset)
{
	struct str rest = text;
	const struct json *v = NULL;
	int rc = parse_json_next(a, &rest, &v);

	if (rc == -ENODATA)
		rc = -EINVAL;
	if (rc == 0 && str_trim(rest).len > 0)
		rc = -EINVAL;
	if (ret_offset)
		*ret_offset = text.len - rest.len;
	if (rc == 0)
		*ret = v;
	return rc;
}

int parse_json_next(struct arena *a, struct str *rest, const struct json **ret)
{
	struct reader r = {.arena = a, .at = rest->ptr, .end = rest->ptr + rest->len};
	struct json *v;
	int rc;

	skip_blanks(&r);
	if (r.at == r.end)
		return -ENODATA;
	v = new_value(&r);
	rc = read_value(&r, 0, v);
	*rest = str_n(r.at, (size_t)(r.end - r.at));
	if (rc == 0)
		*ret = v;
	return rc;
}

/* -- looking ------------------------------------------------------------------------------------------------------------ */

const struct json *parse_json_first(const struct json *v)
{
	return v && (v->type == JSON_ARRAY || v->type == JSON_OBJECT) ? v->first : NULL;
}

static const struct json *member(const struct json *object, struct str key)
{
	if (!object || object->type != JSON_OBJECT)
		return NULL;
	for (const struct json *e = object->first; e; e = e->next)
		if (str_eq(e->key, key))
			return e;
	return NULL;
}

const struct json *parse_json_get(const struct json *object, const char *key)
{
	return member(object, str_of(key));
}

const struct json *parse_json_path(const struct json *object, const char *dotted)
{
	struct str rest = str_of(dotted), key;

	while (object && str_next_field(&rest, '.', &key))
		object = member(object, key);
	return object;
}

bool parse_json_text(const struct json *v, struct str *ret)
{
	if (!v || v->type != JSON_TEXT)
		return false;
	*ret = v->text;
	return true;
}

bool parse_json_int(const struct json *v, int64_t *ret)
{
	if (v && v->type == JSON_INT) {
		*ret = v->integer;
		return true;
	}
	if (!v || v->type != JSON_REAL || v->real > 9e15 || v->real < -9e15 || (double)(int64_t)v->real != v->real)
		return false;
	*ret = (int64_t)v->real;
	return true;
}

bool parse_json_real(const struct json *v, double *ret)
{
	if (!v || (v->type != JSON_INT && v->type != JSON_REAL))
		return false;
	*ret = v->type == JSON_INT ? (double)v->integer : v->real;
	return true;
}

bool parse_json_bool(const struct json *v, bool *ret)
{
	if (!v || v->type != JSON_BOOL)
		return false;
	*ret = v->boolean;
	return true;
}
