/* The read side of liburcu's membarrier flavour, for retire_memb.c and retire_defer.c. */
#define PEER_LOCALS (void)0
#define PEER_POLL(i) (void)0
#define PEER_LOCK() urcu_memb_read_lock()
#define PEER_UNLOCK() urcu_memb_read_unlock()
#define PEER_DEREF(p) rcu_dereference(p)
#define PEER_XCHG(p, v) rcu_xchg_pointer(&(p), v)
