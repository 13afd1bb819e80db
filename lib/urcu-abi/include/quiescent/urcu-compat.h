/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The names of liburcu 0.13 to 0.15, for C and C++ code that was written for <urcu.h>, <urcu-bp.h>,
 * <urcu-qsbr.h>, <urcu-call-rcu.h> and <urcu-defer.h>, on quiescent.h and libquiescent.
 *
 * Include this instead; or leave the code as it is, and put quiescent/urcu-compat/ before other folders with
 * headers (-I). All flavours are one; with QSC_URCU_QSBR defined first (or <urcu-qsbr.h>), threads announce
 * quiescent states: from its registration on a thread is in a section, which those end and begin again.
 *
 * What differs is in docs/migrating-from-liburcu.md. Where a function cannot do its work and cannot say so
 * (a grace period is waited for in a section or in a callback), it prints why and ends the process.
 */
#ifndef QUIESCENT_URCU_COMPAT_H
#define QUIESCENT_URCU_COMPAT_H

#include <pthread.h>
#include <quiescent.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline void qsc_urcu_must(int result, const char *what)
{
	if (result) {
		fprintf(stderr, "%s: %s\n", what, qsc_strerror(result));
		abort();
	}
}

/* ---------------------------------------------------------------------------------------------- readers */

static inline void rcu_init(void)
{
}

static inline void rcu_exit(void)
{
}

static inline void rcu_read_lock(void)
{
	qsc_rcu_read_lock();
}

static inline void rcu_read_unlock(void)
{
	qsc_rcu_read_unlock();
}

static inline int rcu_read_ongoing(void)
{
	return qsc_rcu_read_lock_held();
}

#ifdef QSC_URCU_QSBR
static inline void rcu_thread_online(void)
{
	if (!qsc_rcu_read_lock_held())
		qsc_rcu_read_lock();
}

static inline void rcu_thread_offline(void)
{
	if (qsc_rcu_read_lock_held())
		qsc_rcu_read_unlock();
}

static inline void rcu_quiescent_state(void)
{
	if (qsc_rcu_read_lock_held())
		qsc_rcu_repin();
}

/* The thread blocks no grace period meanwhile. */
#define QSC_URCU_OUTSIDE(call) \
	do { \
		int qsc_was_online_ = qsc_rcu_read_lock_held(); \
		if (qsc_was_online_) \
			qsc_rcu_read_unlock(); \
		call; \
		if (qsc_was_online_) \
			qsc_rcu_read_lock(); \
	} while (0)
#else
static inline void rcu_thread_online(void)
{
}

static inline void rcu_thread_offline(void)
{
}

static inline void rcu_quiescent_state(void)
{
}

#define QSC_URCU_OUTSIDE(call) call
#endif

static inline void rcu_register_thread(void)
{
	(void)qsc_rcu_register_thread();
	rcu_thread_online();
}

static inline void rcu_unregister_thread(void)
{
	rcu_thread_offline();
	qsc_rcu_unregister_thread();
}

/* --------------------------------------------------------------------------------------------- pointers */

#define rcu_dereference(p) qsc_rcu_dereference(p)
#define rcu_assign_pointer(p, v) qsc_rcu_assign_pointer(p, v)
#define rcu_set_pointer(p, v) qsc_rcu_assign_pointer(*(p), v)
#define rcu_xchg_pointer(p, v) qsc_rcu_xchg_pointer(*(p), v)
#define rcu_cmpxchg_pointer(p, old, v) qsc_rcu_cmpxchg_pointer(*(p), old, v)

#ifndef caa_container_of
#define caa_container_of(p, type, member) qsc_container_of(p, type, member)
#define caa_likely(x) __builtin_expect(!!(x), 1)
#define caa_unlikely(x) __builtin_expect(!!(x), 0)
#define cmm_barrier() __asm__ __volatile__("" : : : "memory")
#define cmm_smp_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define cmm_smp_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define cmm_smp_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)
#define CMM_ACCESS_ONCE(x) (*(__volatile__ __typeof__(x) *)&(x))
#define CMM_LOAD_SHARED(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define CMM_STORE_SHARED(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#endif

/* ---------------------------------------------------------------------------------------- grace periods */

static inline void synchronize_rcu(void)
{
	QSC_URCU_OUTSIDE(qsc_urcu_must(qsc_synchronize_rcu(), "synchronize_rcu"));
}

static inline void rcu_barrier(void)
{
	QSC_URCU_OUTSIDE(qsc_urcu_must(qsc_rcu_barrier(), "rcu_barrier"));
}

struct urcu_gp_poll_state {
	struct qsc_cookie cookie;
};

static inline struct urcu_gp_poll_state start_poll_synchronize_rcu(void)
{
	struct urcu_gp_poll_state state = { qsc_start_poll_synchronize_rcu() };

	return state;
}

static inline bool poll_state_synchronize_rcu(struct urcu_gp_poll_state state)
{
	return qsc_poll_state_synchronize_rcu(state.cookie);
}

/* -------------------------------------------------------------------------------------------- callbacks */

#define rcu_head qsc_rcu_head

static inline void call_rcu(struct rcu_head *head, void (*function)(struct rcu_head *head))
{
	qsc_urcu_must(qsc_call_rcu(head, function), "call_rcu");
}

struct qsc_urcu_deferred {
	struct rcu_head head;
	void (*function)(void *argument);
	void *argument;
};

static inline void qsc_urcu_run_deferred(struct rcu_head *head)
{
	struct qsc_urcu_deferred *deferred = (struct qsc_urcu_deferred *)(void *)head;

	deferred->function(deferred->argument);
	free(deferred);
}

static inline void defer_rcu(void (*function)(void *argument), void *argument)
{
	struct qsc_urcu_deferred *deferred = (struct qsc_urcu_deferred *)malloc(sizeof *deferred);

	qsc_urcu_must(deferred ? 0 : -ENOMEM, "defer_rcu");
	deferred->function = function;
	deferred->argument = argument;
	call_rcu(&deferred->head, qsc_urcu_run_deferred);
}

static inline void rcu_defer_barrier(void)
{
	rcu_barrier();
}

static inline void rcu_defer_barrier_thread(void)
{
	rcu_barrier();
}

static inline int rcu_defer_register_thread(void)
{
	return 0;
}

static inline void rcu_defer_unregister_thread(void)
{
	rcu_barrier();
}

/* Handles of threads that run callbacks: there is one thread for all, and none to ask for. */

#define URCU_CALL_RCU_RT (1U << 0)
#define URCU_CALL_RCU_PAUSE (1U << 1)

struct call_rcu_data {
	char unused;
};

__attribute__((weak)) struct call_rcu_data qsc_urcu_default_data;
__attribute__((weak)) __thread struct call_rcu_data *qsc_urcu_thread_data;

static inline struct call_rcu_data *create_call_rcu_data(unsigned long flags, int cpu)
{
	(void)flags;
	(void)cpu;
	return (struct call_rcu_data *)calloc(1, sizeof(struct call_rcu_data));
}

static inline void call_rcu_data_free(struct call_rcu_data *data)
{
	if (data != &qsc_urcu_default_data)
		free(data);
}

static inline struct call_rcu_data *get_default_call_rcu_data(void)
{
	return &qsc_urcu_default_data;
}

static inline struct call_rcu_data *get_thread_call_rcu_data(void)
{
	return qsc_urcu_thread_data;
}

static inline void set_thread_call_rcu_data(struct call_rcu_data *data)
{
	qsc_urcu_thread_data = data;
}

static inline struct call_rcu_data *get_call_rcu_data(void)
{
	return qsc_urcu_thread_data ? qsc_urcu_thread_data : &qsc_urcu_default_data;
}

static inline struct call_rcu_data *get_cpu_call_rcu_data(int cpu)
{
	(void)cpu;
	return NULL;
}

static inline int set_cpu_call_rcu_data(int cpu, struct call_rcu_data *data)
{
	(void)cpu;
	(void)data;
	return 0;
}

static inline int create_all_cpu_call_rcu_data(unsigned long flags)
{
	(void)flags;
	return 0;
}

static inline void free_all_cpu_call_rcu_data(void)
{
}

/* Forks need no help. */

static inline void call_rcu_before_fork(void)
{
}

static inline void call_rcu_after_fork_parent(void)
{
}

static inline void call_rcu_after_fork_child(void)
{
}

static inline void urcu_bp_before_fork(void)
{
}

static inline void urcu_bp_after_fork_parent(void)
{
}

static inline void urcu_bp_after_fork_child(void)
{
}

#ifdef __cplusplus
}
#endif

#endif
