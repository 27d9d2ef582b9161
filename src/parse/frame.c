#include "parse/frame.h"

#include <errno.h>

#define TEXT_BIT 0x80u

static uint32_t get32(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;
	return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

static uint64_t get64(const char *p)
{
	return (uint64_t)get32(p) << 32 | get32(p + 4);
}

static void put32(char *p, uint32_t n)
{
	for (int i = 0; i < 4; i++)
		p[i] = (char)(n >> (24 - 8 * i));
}

static void put64(char *p, uint64_t n)
{
	put32(p, (uint32_t)(n >> 32));
	put32(p + 4, (uint32_t)n);
}

int parse_frame_next(struct str *rest, size_t max, struct frame *ret)
{
	size_t known = rest->len < 4 ? rest->len : 4;
	if (known && memcmp(rest->ptr, "DAVY", known) != 0)
		return -EBADMSG;
	if (rest->len > 4 && rest->ptr[4] != FRAME_VERSION)
		return -EPROTONOSUPPORT;
	if (rest->len < FRAME_HEADER)
		return 0;
	uint32_t length = get32(rest->ptr + 8);
	if (length > max)
		return -EMSGSIZE;
	if (rest->len - FRAME_HEADER < length)
		return 0;
	*ret = (struct frame){(uint8_t)rest->ptr[5], get64(rest->ptr + 12), str_slice(*rest, FRAME_HEADER, FRAME_HEADER + length)};
	*rest = str_skip(*rest, FRAME_HEADER + length);
	return 1;
}

int parse_frame_fields(struct str body, struct frame_fields *ret)
{
	*ret = (struct frame_fields){0};
	while (body.len) {
		if (body.len < 5)
			return -EBADMSG;
		unsigned tag = (unsigned char)body.ptr[0] & ~TEXT_BIT;
		bool text = (unsigned char)body.ptr[0] & TEXT_BIT;
		uint32_t length = get32(body.ptr + 1);
		if (length > body.len - 5 || (!text && length != 8))
			return -EBADMSG;
		struct str value = str_slice(body, 5, 5 + (size_t)length);
		body = str_skip(body, 5 + (size_t)length);
		if (tag >= FRAME_TAGS || ret->has[tag])
			continue;
		ret->has[tag] = true;
		ret->is_text[tag] = text;
		if (text)
			ret->text[tag] = value;
		else
			ret->number[tag] = (int64_t)get64(value.ptr);
	}
	return 0;
}

int64_t parse_frame_int(const struct frame_fields *f, unsigned tag, int64_t otherwise)
{
	return tag < FRAME_TAGS && f->has[tag] && !f->is_text[tag] ? f->number[tag] : otherwise;
}

struct str parse_frame_text(const struct frame_fields *f, unsigned tag)
{
	return tag < FRAME_TAGS && f->has[tag] && f->is_text[tag] ? f->text[tag] : str_n("", 0);
}

size_t frame_begin(struct buf *b, uint8_t type, uint64_t token)
{
	char head[FRAME_HEADER] = {'D', 'A', 'V', 'Y', FRAME_VERSION, (char)type};
	size_t start = b->len;
	put64(head + 12, token);
	buf_add(b, head, sizeof head);
	return start;
}

void frame_int(struct buf *b, unsigned tag, int64_t n)
{
	char field[13] = {(char)tag};
	put32(field + 1, 8);
	put64(field + 5, (uint64_t)n);
	buf_add(b, field, sizeof field);
}

void frame_text(struct buf *b, unsigned tag, struct str text)
{
	char field[5] = {(char)(tag | TEXT_BIT)};
	put32(field + 1, (uint32_t)text.len);
	buf_add(b, field, sizeof field);
	buf_str(b, text);
}

void frame_end(struct buf *b, size_t start)
{
	if (!b->truncated && b->len >= start + FRAME_HEADER)
		put32(b->ptr + start + 8, (uint32_t)(b->len - start - FRAME_HEADER));
}
