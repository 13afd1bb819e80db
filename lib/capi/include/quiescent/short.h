/* The names of quiescent.h without their prefix; quiescent/list.h has those of lists. */
#ifndef QUIESCENT_SHORT_H
#define QUIESCENT_SHORT_H

#define rcu_head qsc_rcu_head
#define rcu_read_lock qsc_rcu_read_lock
#define rcu_read_unlock qsc_rcu_read_unlock
#define rcu_read_lock_held qsc_rcu_read_lock_held
#define rcu_register_thread qsc_rcu_register_thread
#define rcu_unregister_thread qsc_rcu_unregister_thread
#define rcu_dereference qsc_rcu_dereference
#define rcu_dereference_protected(p, c) qsc_rcu_dereference_protected(p)
#define rcu_access_pointer qsc_rcu_access_pointer
#define rcu_assign_pointer qsc_rcu_assign_pointer
#define RCU_INIT_POINTER qsc_rcu_init_pointer
#define rcu_xchg_pointer qsc_rcu_xchg_pointer
#define rcu_cmpxchg_pointer qsc_rcu_cmpxchg_pointer
#define synchronize_rcu qsc_synchronize_rcu
#define synchronize_rcu_expedited qsc_synchronize_rcu_expedited
#define rcu_barrier qsc_rcu_barrier
#define start_poll_synchronize_rcu qsc_start_poll_synchronize_rcu
#define poll_state_synchronize_rcu qsc_poll_state_synchronize_rcu
#define cond_synchronize_rcu qsc_cond_synchronize_rcu
#define call_rcu qsc_call_rcu
#define call_rcu_lazy qsc_call_rcu_lazy
#define call_rcu_hurry qsc_call_rcu_hurry
#define free_rcu qsc_free_rcu
#define kfree_rcu qsc_free_rcu

#endif
