/* Pickles of plain data: numbers, texts, lists, tuples, dictionaries, None and booleans, protocols 0 to 5, as a JSON tree.
 *
 * Our own interpreter: no name is looked up and no code is run; an opcode that would (GLOBAL, REDUCE, BUILD, INST, OBJ, NEWOBJ, persistent
 * ids, extensions) ends reading. Size, stack, memo and the number of values are bounded. Keys of dictionaries that are numbers become their
 * decimal text. Values that a pickle shares are shared in the tree too: walk named members, not everything.
 */
#ifndef PARSE_PICKLE_H
#define PARSE_PICKLE_H

#include "parse/json.h"

/* Begins like a pickle of protocol 2 or later that holds a container. */
bool parse_is_pickle(struct str bytes);

/* 0; -EBADMSG damaged or cut short; -EPERM it wants code to run; -E2BIG past a bound. *ret_offset (may be NULL): where. */
int parse_pickle(struct arena *a, struct str bytes, const struct json **ret, size_t *ret_offset);

#endif
