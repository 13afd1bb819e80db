/* liburcu qsbr: the sections cost nothing, the program must announce quiescent states itself. */
#define _LGPL_SOURCE
#define PEER(name) qb_qsbr_##name
#include <urcu/urcu-qsbr.h>
#include <urcu/pointer.h>

#define PEER_LOCALS (void)0
#define PEER_LOCK() urcu_qsbr_read_lock()
#define PEER_UNLOCK() urcu_qsbr_read_unlock()
#define PEER_DEREF(p) rcu_dereference(p)
#define PEER_REPIN() urcu_qsbr_quiescent_state()
/* Without this the looping reader would never let a grace period end. */
#define PEER_REPIN_IF_IMPLICIT() urcu_qsbr_quiescent_state()
#define PEER_ATTACH() urcu_qsbr_register_thread()
#define PEER_DETACH() urcu_qsbr_unregister_thread()
#define PEER_ONLINE() urcu_qsbr_thread_online()
#define PEER_OFFLINE() urcu_qsbr_thread_offline()
#define PEER_SYNC() urcu_qsbr_synchronize_rcu()

#include "loops.h"
