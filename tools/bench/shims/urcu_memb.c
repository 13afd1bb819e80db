/* liburcu memb with its read side inlined: its best case. */
#define _LGPL_SOURCE
#define PEER(name) qb_memb_##name
#include "urcu_memb_verbs.h"

__thread unsigned qb_memb_users;
