#include "parse/pickle.h"

#include <errno.h>

#include "base/checked.h"

#define VALUES_MAX ((size_t)8 << 20)
#define STACK_MAX ((size_t)2 << 20)
#define MEMO_MAX ((size_t)4 << 20)
#define WALKED_MAX ((size_t)32 << 20)

enum opcode {
	MARK = '(',
	STOP = '.',
	POP = '0',
	POP_MARK = '1',
	DUP = '2',
	FLOAT = 'F',
	INT = 'I',
	BININT = 'J',
	BININT1 = 'K',
	LONG = 'L',
	BININT2 = 'M',
	NONE = 'N',
	STRING = 'S',
	BINSTRING = 'T',
	SHORT_BINSTRING = 'U',
	UNICODE = 'V',
	BINUNICODE = 'X',
	APPEND = 'a',
	DICT = 'd',
	EMPTY_DICT = '}',
	APPENDS = 'e',
	GET = 'g',
	BINGET = 'h',
	LONG_BINGET = 'j',
	LIST = 'l',
	EMPTY_LIST = ']',
	PUT = 'p',
	BINPUT = 'q',
	LONG_BINPUT = 'r',
	SETITEM = 's',
	TUPLE = 't',
	EMPTY_TUPLE = ')',
	SETITEMS = 'u',
	BINFLOAT = 'G',
	PROTO = 0x80,
	TUPLE1 = 0x85,
	TUPLE2 = 0x86,
	TUPLE3 = 0x87,
	NEWTRUE = 0x88,
	NEWFALSE = 0x89,
	LONG1 = 0x8a,
	LONG4 = 0x8b,
	SHORT_BINUNICODE = 0x8c,
	BINUNICODE8 = 0x8d,
	BINBYTES8 = 0x8e,
	EMPTY_SET = 0x8f,
	ADDITEMS = 0x90,
	FROZENSET = 0x91,
	MEMOIZE = 0x94,
	FRAME = 0x95,
	BINBYTES = 'B',
	SHORT_BINBYTES = 'C',
	BYTEARRAY8 = 0x96,
};

struct machine {
	struct arena *arena;
	struct str in;
	size_t at, values;
	struct json **stack; /* NULL: a mark */
	size_t depth, stack_cap;
	struct json **memo;
	size_t memo_count, memo_cap;
	struct json *tail_of; /* the container whose end is known: appending one by one stays linear */
	struct json **tail;
	size_t walked; /* steps to ends of containers: bounded, since a pickle may alternate */
};

static struct json *value(struct machine *m, enum json_type type)
{
	if (++m->values > VALUES_MAX)
		return NULL;
	struct json *v = arena_alloc(m->arena, sizeof *v);
	v->type = type;
	return v;
}

static int push(struct machine *m, struct json *v)
{
	if (m->depth >= STACK_MAX)
		return -E2BIG;
	if (!m->stack || m->depth == m->stack_cap)
		m->stack = arena_grow(m->arena, m->stack, m->depth, &m->stack_cap, sizeof *m->stack);
	m->stack[m->depth++] = v;
	return 0;
}

static int push_new(struct machine *m, struct json *v)
{
	return v ? push(m, v) : -E2BIG;
}

static bool take(struct machine *m, size_t n, struct str *ret)
{
	if (!checked_range(m->at, n, m->in.len))
		return false;
	*ret = str_slice(m->in, m->at, m->at + n);
	m->at += n;
	return true;
}

/* An unsigned little-endian number of n bytes. */
static bool number(struct machine *m, int n, uint64_t *ret)
{
	struct str s;
	if (!take(m, (size_t)n, &s))
		return false;
	uint64_t v = 0;
	for (int i = n - 1; i >= 0; i--)
		v = v << 8 | (unsigned char)s.ptr[i];
	*ret = v;
	return true;
}

static bool text_line(struct machine *m, struct str *ret)
{
	size_t end = str_find_char(m->in, '\n', m->at);
	if (end == SIZE_MAX)
		return false;
	*ret = str_slice(m->in, m->at, end);
	m->at = end + 1;
	return true;
}

static int push_int(struct machine *m, int64_t n)
{
	struct json *v = value(m, JSON_INT);
	if (v)
		v->integer = n;
	return push_new(m, v);
}

static int push_bool(struct machine *m, bool b)
{
	struct json *v = value(m, JSON_BOOL);
	if (v)
		v->boolean = b;
	return push_new(m, v);
}

/* A text with its length in n bytes in front. */
static int push_text(struct machine *m, int n)
{
	uint64_t len;
	struct str s;
	if (!number(m, n, &len) || len > m->in.len || !take(m, (size_t)len, &s))
		return -EBADMSG;
	struct json *v = value(m, JSON_TEXT);
	if (v)
		v->text = s;
	return push_new(m, v);
}

/* A two's complement number; beyond 64 bits it is kept as a real. */
static int push_long(struct machine *m, int n)
{
	uint64_t len;
	struct str s;
	if (!number(m, n, &len) || len > 256 || !take(m, (size_t)len, &s))
		return -EBADMSG;
	if (len > 8) {
		double x = 0;
		for (size_t i = len; i-- > 0;)
			x = x * 256 + (unsigned char)s.ptr[i];
		struct json *v = value(m, JSON_REAL);
		if (v)
			v->real = x;
		return push_new(m, v);
	}
	uint64_t u = len && (s.ptr[len - 1] & 0x80) ? UINT64_MAX : 0;
	for (size_t i = len; i-- > 0;)
		u = u << 8 | (unsigned char)s.ptr[i];
	return push_int(m, (int64_t)u);
}

static int push_real(struct machine *m)
{
	struct str s;
	uint64_t bits = 0;
	if (!take(m, 8, &s))
		return -EBADMSG;
	for (int i = 0; i < 8; i++)
		bits = bits << 8 | (unsigned char)s.ptr[i];
	struct json *v = value(m, JSON_REAL);
	if (v)
		memcpy(&v->real, &bits, sizeof bits);
	return push_new(m, v);
}

static int push_decimal(struct machine *m, bool is_real)
{
	struct str s;
	int64_t n;
	double x;
	if (!text_line(m, &s))
		return -EBADMSG;
	if (!is_real && (str_is(s, "00") || str_is(s, "01")))
		return push_bool(m, s.ptr[1] == '1');
	if (s.len && s.ptr[s.len - 1] == 'L')
		s.len--;
	if (!is_real && str_to_int(s, &n) == 0)
		return push_int(m, n);
	if (str_to_real(s, &x) < 0)
		return -EBADMSG;
	struct json *v = value(m, JSON_REAL);
	if (v)
		v->real = x;
	return push_new(m, v);
}

/* Position of the last mark; SIZE_MAX: none. */
static size_t last_mark(const struct machine *m)
{
	for (size_t i = m->depth; i-- > 0;)
		if (!m->stack[i])
			return i;
	return SIZE_MAX;
}

/* NULL: past the bound. */
static struct json **tail_of(struct machine *m, struct json *list)
{
	if (m->tail_of == list)
		return m->tail;
	struct json **tail = &list->first;
	while (*tail && m->walked < WALKED_MAX) {
		tail = &(*tail)->next;
		m->walked++;
	}
	return *tail ? NULL : tail;
}

static void keep_tail(struct machine *m, struct json *list, struct json **tail)
{
	m->tail_of = list;
	m->tail = tail;
}

/* A value may stand in several containers: each gets a head of its own. */
static struct json *linked(struct machine *m, const struct json *v)
{
	struct json *copy = value(m, v->type);
	if (copy) {
		*copy = *v;
		copy->next = NULL;
		copy->key = str_n(NULL, 0);
	}
	return copy;
}

static int append(struct machine *m, struct json *list, size_t from)
{
	if (list->type != JSON_ARRAY)
		return -EBADMSG;
	struct json **tail = tail_of(m, list);
	if (!tail)
		return -E2BIG;
	for (size_t i = from; i < m->depth; i++) {
		struct json *v = m->stack[i] ? linked(m, m->stack[i]) : NULL;
		if (!v)
			return m->stack[i] ? -E2BIG : -EBADMSG;
		*tail = v;
		tail = &v->next;
		list->count++;
	}
	keep_tail(m, list, tail);
	return 0;
}

static bool key_of(struct machine *m, const struct json *k, struct str *ret)
{
	if (k->type == JSON_TEXT)
		*ret = k->text;
	else if (k->type == JSON_INT)
		*ret = str_of(arena_printf(m->arena, "%lld", (long long)k->integer));
	else if (k->type == JSON_BOOL)
		*ret = k->boolean ? STR("True") : STR("False");
	else
		return false;
	return true;
}

static int set_items(struct machine *m, struct json *dict, size_t from)
{
	if (dict->type != JSON_OBJECT || (m->depth - from) % 2)
		return -EBADMSG;
	struct json **tail = tail_of(m, dict);
	if (!tail)
		return -E2BIG;
	for (size_t i = from; i < m->depth; i += 2) {
		struct str key;
		if (!m->stack[i] || !m->stack[i + 1] || !key_of(m, m->stack[i], &key))
			return -EBADMSG;
		struct json *v = linked(m, m->stack[i + 1]);
		if (!v)
			return -E2BIG;
		v->key = key;
		*tail = v;
		tail = &v->next;
		dict->count++;
	}
	keep_tail(m, dict, tail);
	return 0;
}

/* Takes everything above the last mark into the container below it (`onto`), or into a new one. */
static int gather(struct machine *m, enum json_type type, bool onto)
{
	size_t mark = last_mark(m);
	if (mark == SIZE_MAX || (onto && (!mark || !m->stack[mark - 1])))
		return -EBADMSG;
	struct json *into = onto ? m->stack[mark - 1] : value(m, type);
	if (!into)
		return -E2BIG;
	int rc = type == JSON_OBJECT ? set_items(m, into, mark + 1) : append(m, into, mark + 1);
	m->depth = mark;
	return rc < 0 || onto ? rc : push(m, into);
}

/* The topmost n values as a new tuple, or onto the value below them. */
static int gather_some(struct machine *m, size_t n, enum json_type type, bool onto)
{
	if (m->depth < n + onto || (onto && !m->stack[m->depth - n - 1]))
		return -EBADMSG;
	size_t from = m->depth - n;
	struct json *into = onto ? m->stack[from - 1] : value(m, type);
	if (!into)
		return -E2BIG;
	int rc = type == JSON_OBJECT ? set_items(m, into, from) : append(m, into, from);
	m->depth = from;
	return rc < 0 || onto ? rc : push(m, into);
}

static int remember(struct machine *m, uint64_t index)
{
	if (index >= MEMO_MAX || !m->depth || !m->stack[m->depth - 1])
		return index >= MEMO_MAX ? -E2BIG : -EBADMSG;
	if (index >= m->memo_cap) {
		size_t cap = index * 2 + 64;
		struct json **fresh = arena_array(m->arena, cap, sizeof *fresh);
		if (m->memo_cap)
			memcpy(fresh, m->memo, m->memo_cap * sizeof *fresh);
		m->memo = fresh;
		m->memo_cap = cap;
	}
	m->memo[index] = m->stack[m->depth - 1];
	if (index >= m->memo_count)
		m->memo_count = (size_t)index + 1;
	return 0;
}

static int recall(struct machine *m, uint64_t index)
{
	return index < m->memo_cap && m->memo[index] ? push(m, m->memo[index]) : -EBADMSG;
}

static int memo_number(struct machine *m, int n, int (*act)(struct machine *, uint64_t))
{
	uint64_t index;
	struct str s;
	int64_t decimal;
	if (n ? !number(m, n, &index) : !text_line(m, &s) || str_to_int(s, &decimal) < 0 || decimal < 0)
		return -EBADMSG;
	return act(m, n ? index : (uint64_t)decimal);
}

/* One opcode. 1: the end. */
static int step(struct machine *m)
{
	struct str s;
	uint64_t n = 0;
	unsigned char op = (unsigned char)m->in.ptr[m->at++];
	switch (op) {
	case STOP: return 1;
	case PROTO: return number(m, 1, &n) && n <= 5 ? 0 : -EBADMSG;
	case FRAME: return number(m, 8, &n) ? 0 : -EBADMSG;
	case MARK: return push(m, NULL);
	case POP: return m->depth ? (int)(m->depth--, 0) : -EBADMSG;
	case POP_MARK:
		if (last_mark(m) == SIZE_MAX)
			return -EBADMSG;
		m->depth = last_mark(m);
		return 0;
	case DUP: return m->depth ? push(m, m->stack[m->depth - 1]) : -EBADMSG;
	case NONE: return push_new(m, value(m, JSON_NULL));
	case NEWTRUE:
	case NEWFALSE: return push_bool(m, op == NEWTRUE);
	case INT:
	case LONG: return push_decimal(m, false);
	case FLOAT: return push_decimal(m, true);
	case BININT: return number(m, 4, &n) ? push_int(m, (int32_t)(uint32_t)n) : -EBADMSG;
	case BININT1: return number(m, 1, &n) ? push_int(m, (int64_t)n) : -EBADMSG;
	case BININT2: return number(m, 2, &n) ? push_int(m, (int64_t)n) : -EBADMSG;
	case LONG1: return push_long(m, 1);
	case LONG4: return push_long(m, 4);
	case BINFLOAT: return push_real(m);
	case SHORT_BINUNICODE:
	case SHORT_BINSTRING:
	case SHORT_BINBYTES: return push_text(m, 1);
	case BINUNICODE:
	case BINSTRING:
	case BINBYTES: return push_text(m, 4);
	case BINUNICODE8:
	case BINBYTES8:
	case BYTEARRAY8: return push_text(m, 8);
	case UNICODE:
	case STRING: {
		struct json *v = text_line(m, &s) ? value(m, JSON_TEXT) : NULL;
		if (v)
			v->text = op == STRING && s.len >= 2 ? str_slice(s, 1, s.len - 1) : s;
		return v ? push(m, v) : -EBADMSG;
	}
	case EMPTY_LIST:
	case EMPTY_TUPLE:
	case EMPTY_SET: return push_new(m, value(m, JSON_ARRAY));
	case EMPTY_DICT: return push_new(m, value(m, JSON_OBJECT));
	case LIST:
	case TUPLE:
	case FROZENSET: return gather(m, JSON_ARRAY, false);
	case DICT: return gather(m, JSON_OBJECT, false);
	case APPENDS:
	case ADDITEMS: return gather(m, JSON_ARRAY, true);
	case SETITEMS: return gather(m, JSON_OBJECT, true);
	case APPEND: return gather_some(m, 1, JSON_ARRAY, true);
	case SETITEM: return gather_some(m, 2, JSON_OBJECT, true);
	case TUPLE1:
	case TUPLE2:
	case TUPLE3: return gather_some(m, (size_t)(op - TUPLE1) + 1, JSON_ARRAY, false);
	case MEMOIZE: return remember(m, m->memo_count);
	case PUT: return memo_number(m, 0, remember);
	case BINPUT: return memo_number(m, 1, remember);
	case LONG_BINPUT: return memo_number(m, 4, remember);
	case GET: return memo_number(m, 0, recall);
	case BINGET: return memo_number(m, 1, recall);
	case LONG_BINGET: return memo_number(m, 4, recall);
	default: return strchr("cioRbPQ", op) || (op >= 0x81 && op <= 0x84) || op == 0x92 || op == 0x93 ? -EPERM : -EBADMSG;
	}
}

bool parse_is_pickle(struct str bytes)
{
	if (bytes.len < 4 || (unsigned char)bytes.ptr[0] != PROTO || bytes.ptr[1] < 2 || bytes.ptr[1] > 5)
		return false;
	unsigned char next = (unsigned char)bytes.ptr[2];
	return next == EMPTY_DICT || next == EMPTY_LIST || next == FRAME || next == MARK;
}

int parse_pickle(struct arena *a, struct str bytes, const struct json **ret, size_t *ret_offset)
{
	struct machine m = {.arena = a, .in = bytes};
	int rc = 0;
	while (rc == 0 && m.at < bytes.len)
		rc = step(&m);
	if (ret_offset)
		*ret_offset = m.at;
	if (rc < 0)
		return rc;
	if (rc == 0 || m.depth != 1 || !m.stack[0])
		return -EBADMSG;
	*ret = m.stack[0];
	return 0;
}
