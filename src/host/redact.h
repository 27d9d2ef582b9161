/* Private data replaced by stable stand-ins: host names, user names, home folders, addresses, hardware addresses, serial numbers, tokens.
 *
 * The same text gets the same stand-in everywhere, so that what belongs together stays together; what decides stays: loopback and
 * link-local addresses, which private network an address is in, names of interfaces and devices, versions. Used by snapshots and by every
 * form made for sharing.
 */
#ifndef HOST_REDACT_H
#define HOST_REDACT_H

#include "host/host.h"

struct redactor;

struct redactor *redactor_new(struct host *h);        /* learns host name, user and home of the door */
struct redactor *redactor_new_plain(struct arena *a); /* knows nothing beforehand */
/* Adds a text that is to be replaced wherever it stands as a word: kind is "host", "domain" or "user". Words that are everybody's are not
 * taken. */
void redactor_learn(struct redactor *r, const char *kind, struct str text);
struct str redact_text(struct redactor *r, struct str text); /* in the arena; the same slice when nothing changed */
/* Only tokens, passwords and the like, for what stays on this machine. In the arena; the same slice when nothing changed. */
struct str redact_secrets(struct redactor *r, struct str text);
/* The arguments of a command as one line that a shell would read, secrets replaced: also those that stand behind an option that names one
 * (--api-key X). */
const char *redact_command(struct redactor *r, const char *const *argv, size_t n);
/* The contents of a file whose path says what they are: /etc/hosts, /proc/net/route, direct_url.json, ... */
struct str redact_file(struct redactor *r, const char *path, struct str contents);
/* "NAME=value" of the environment; some names say what the value is. */
struct str redact_variable(struct redactor *r, struct str text);

/* Variables that a snapshot keeps: what training software reads and what finds libraries; everything else stays at home. */
bool redact_keeps_variable(const char *name_and_value);

#endif
