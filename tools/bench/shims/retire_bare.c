/* The loops of retire.h with no library in them: what has to be subtracted from instruction counts. Frees nothing. */
#define DEFER(name) qb_retire_bare_##name
#include <stdint.h>

#define PEER_LOCALS (void)0
#define PEER_HEAD uint64_t
#define PEER_CALLBACK(name, type, body)
#define PEER_RETIRE(object, callback) QB_USE(object)
#define PEER_POLL(i) (void)0
#define PEER_ATTACH() (void)0
#define PEER_DETACH() (void)0
#define PEER_FINISH() (void)0
#define PEER_SETTLE() (void)0
#define PEER_LOCK() (void)0
#define PEER_UNLOCK() (void)0
#define PEER_DEREF(p) __atomic_load_n(&(p), __ATOMIC_RELAXED)
#define PEER_XCHG(p, v) __atomic_exchange_n(&(p), v, __ATOMIC_ACQ_REL)

#include "retire.h"
