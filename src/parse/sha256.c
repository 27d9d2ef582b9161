#include "parse/sha256.h"

/* The plain functions, old but small: EVP would pull the whole library, with its name resolution, into a static program. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#define BLOCK ((size_t)256 << 10)

static void base64url(const unsigned char digest[32], char ret[PARSE_SHA256_TEXT])
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	size_t n = 0;
	uint32_t bits = 0;
	int have = 0;
	for (size_t i = 0; i < 32; i++) {
		bits = bits << 8 | digest[i];
		for (have += 8; have >= 6; have -= 6)
			ret[n++] = alphabet[bits >> (have - 6) & 63];
	}
	ret[n++] = alphabet[bits << (6 - have) & 63];
	ret[n] = '\0';
}

int parse_sha256(const struct parse_source *source, char ret[PARSE_SHA256_TEXT])
{
	unsigned char digest[SHA256_DIGEST_LENGTH], *block = malloc(BLOCK);
	SHA256_CTX context;
	int rc = block && SHA256_Init(&context) ? 0 : -ENOMEM;
	for (uint64_t at = 0; rc == 0 && at < source->size;) {
		size_t n = source->size - at < BLOCK ? (size_t)(source->size - at) : BLOCK;
		rc = parse_source_read(source, at, block, n);
		if (rc == 0)
			SHA256_Update(&context, block, n);
		at += n;
	}
	free(block);
	if (rc < 0)
		return rc;
	SHA256_Final(digest, &context);
	base64url(digest, ret);
	return 0;
}
