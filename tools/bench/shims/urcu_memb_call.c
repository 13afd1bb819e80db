/* liburcu memb as functions of a shared library: what a program without _LGPL_SOURCE, or any binding, gets. */
#define PEER(name) qb_memb_call_##name
#include "urcu_memb_verbs.h"
