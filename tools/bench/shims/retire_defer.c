/* liburcu's membarrier flavour, defer_rcu: a ring of pointers a thread, which frees when it is full. No head. */
#define _LGPL_SOURCE
#define DEFER(name) qb_retire_defer_##name
#include <stdint.h>
#include <stdlib.h>
#include <urcu/urcu-memb.h>
#include <urcu/pointer.h>

/* The word is never written; it stands where other libraries have their head. */
#define PEER_HEAD uint64_t
#define PEER_CALLBACK(name, type, body)  \
	static void name(void *memory)   \
	{                                \
		type *object = memory;   \
		body                     \
	}
#define PEER_RETIRE(object, callback) urcu_memb_defer_rcu(callback, object)
#define PEER_ATTACH()                                     \
	do {                                              \
		urcu_memb_register_thread();              \
		if (urcu_memb_defer_register_thread())    \
			abort();                          \
	} while (0)
#define PEER_DETACH()                                     \
	do {                                              \
		urcu_memb_defer_unregister_thread();      \
		urcu_memb_unregister_thread();            \
	} while (0)
#define PEER_FINISH() urcu_memb_defer_barrier_thread()
#define PEER_SETTLE() (void)0
#include "retire_memb_read.h"

#include "retire.h"
