/* liburcu's membarrier flavour; included with and without _LGPL_SOURCE (read side inlined, or called). */
#include <urcu/urcu-memb.h>
#include <urcu/pointer.h>

/* Both ways of calling the library share its thread registration, so a thread registers at the first attach. */
extern __thread unsigned qb_memb_users;

#define PEER_LOCALS (void)0
#define PEER_LOCK() urcu_memb_read_lock()
#define PEER_UNLOCK() urcu_memb_read_unlock()
#define PEER_DEREF(p) rcu_dereference(p)
#define PEER_REPIN()                       \
	do {                               \
		urcu_memb_read_unlock();   \
		urcu_memb_read_lock();     \
	} while (0)
#define PEER_REPIN_IF_IMPLICIT() (void)0
#define PEER_ATTACH()                                \
	do {                                         \
		if (qb_memb_users++ == 0)            \
			urcu_memb_register_thread(); \
	} while (0)
#define PEER_DETACH()                                  \
	do {                                           \
		if (--qb_memb_users == 0)              \
			urcu_memb_unregister_thread(); \
	} while (0)
#define PEER_ONLINE() (void)0
#define PEER_OFFLINE() (void)0
#define PEER_SYNC() urcu_memb_synchronize_rcu()

#include "loops.h"
