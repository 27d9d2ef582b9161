/* Interface lists as NCCL and gloo read them.
 *
 * NCCL_SOCKET_IFNAME and NCCL_IB_HCA: a comma list of prefixes; "=" in front: exact names; "^": all but these; "^=": all but exactly these.
 * GLOO_SOCKET_IFNAME and TP_SOCKET_IFNAME: plain names only.
 */
#ifndef PARSE_IFNAME_H
#define PARSE_IFNAME_H

#include "base/str.h"

bool parse_ifname_matches(const char *spec, const char *name);
bool parse_ifname_is_listed(const char *list, const char *name);

#endif
