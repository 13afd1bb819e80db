/* liburcu's membarrier flavour, call_rcu: a worker thread of the library's own frees. Read side inlined. */
#define _LGPL_SOURCE
#define DEFER(name) qb_retire_memb_##name
#include <stdint.h>
#include <urcu/urcu-memb.h>
#include <urcu/pointer.h>

#define PEER_HEAD struct rcu_head
#define PEER_CALLBACK(name, type, body)                                        \
	static void name(struct rcu_head *head)                                \
	{                                                                      \
		type *object = (type *)((char *)head - offsetof(type, head));  \
		body                                                           \
	}
#define PEER_RETIRE(object, callback) urcu_memb_call_rcu(&(object)->head, callback)
#define PEER_ATTACH() urcu_memb_register_thread()
#define PEER_DETACH() urcu_memb_unregister_thread()
#define PEER_FINISH() (void)0
#define PEER_SETTLE() urcu_memb_barrier()
#include "retire_memb_read.h"

#include "retire.h"
