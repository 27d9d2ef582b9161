/* Inside redaction: shared by redact.c (what may stand in any text), redact_place.c (what a file or a variable says by its name) and
 * redact_learn.c. */
#ifndef HOST_REDACT_PARTS_H
#define HOST_REDACT_PARTS_H

#include "host/redact.h"

enum redact_kind {
	REDACT_HOST,
	REDACT_USER,
	REDACT_NAME,
	REDACT_IPV4,
	REDACT_NETWORK,
	REDACT_IPV6,
	REDACT_MAC,
	REDACT_GUID,
	REDACT_UUID,
	REDACT_HEX,
	REDACT_TOKEN,
	REDACT_MAIL,
	REDACT_DOMAIN,
	REDACT_INSTANCE,
	REDACT_KINDS
};

enum redact_where {
	REDACT_ADDRESSES = 1, /* four numbers with dots are an address, not a version */
	REDACT_URLS = 2,      /* hosts of URLs are replaced unless everybody knows them */
};

struct stand_in {
	struct stand_in *next;
	enum redact_kind kind;
	struct str text;
	const char *made;
	int number;
	int hosts; /* of a network: how many have a number; of an address: its number */
};

struct learned {
	struct str text;
	const char *made;
	bool anywhere; /* false: only as a component of a path */
};

#define REDACT_BUCKETS 1024

struct redactor {
	struct arena *arena;
	struct stand_in *bucket[REDACT_BUCKETS];
	int count[REDACT_KINDS];
	struct learned *words;
	size_t word_count, word_cap;
	bool first[256]; /* bytes that learned words begin with */
};

/* The stand-in of a text of this kind, always the same. */
struct stand_in *redact_stand_in(struct redactor *r, enum redact_kind kind, struct str text);
/* A name at a place where only such names stand. Everybody's names (localhost) stay. */
const char *redact_name(struct redactor *r, enum redact_kind kind, struct str text);
struct str redact_text_where(struct redactor *r, struct str text, unsigned where);

bool redact_is_name_char(char c);
bool redact_is_hex(char c);
/* Addresses as bytes; false: this one stays as it is. */
bool redact_ipv4(struct redactor *r, uint8_t bytes[4]);
bool redact_ipv6(struct redactor *r, uint8_t bytes[16]);

#endif
