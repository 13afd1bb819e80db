/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the linker sees of one flavour: data, thread-locals, the readers' functions, and the names of all
 * others, which lead to the library in Rust. Compiled once a flavour, with -DFLAVOUR=memb and so on, and
 * with one of these: -DQSBR, -DBP, or nothing. -DLIGHT_IF_MEMBARRIER: readers execute a fence only where
 * membarrier(2) is not available; -DLIGHT: never.
 *
 * Sizes and offsets are part of the ABI: programs have the readers' functions inlined, and copies of the
 * data.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define JOIN3(a, b, c) a##b##c
#define JOIN2(a, b, c) JOIN3(a, b, c)
#define NAME(what) JOIN2(urcu_, FLAVOUR, _##what)
#define EXPORT __attribute__((visibility("default")))

enum { FUTEX_WAIT_ = 0, FUTEX_WAKE_ = 1 };
#define ASLEEP (-1)
#define NESTING (((unsigned long)1 << 32) - 1)

struct head;
struct data;
struct atfork {
	void (*before_fork)(void *priv);
	void (*after_fork_parent)(void *priv);
	void (*after_fork_child)(void *priv);
	void *priv;
};

struct gp {
	unsigned long ctr;
	int32_t futex;
} __attribute__((aligned(128)));

EXPORT struct gp NAME(gp) = { .ctr = 1 };

/* In Rust. */
int quiescent_urcu_start(void);
void quiescent_urcu_end(void);
void quiescent_urcu_register(unsigned long *word);
unsigned long *quiescent_urcu_register_own(void);
void quiescent_urcu_unregister(void);
void quiescent_urcu_synchronize(void);
void quiescent_urcu_barrier(void);
void quiescent_urcu_call(struct head *head, void (*run)(struct head *));
void quiescent_urcu_defer(void (*run)(void *), void *argument);
void quiescent_urcu_before_fork(void);
void quiescent_urcu_after_fork(int child);
struct data *quiescent_urcu_create_data(unsigned long flags, int cpu);
void quiescent_urcu_free_data(struct data *data);
pthread_t quiescent_urcu_data_thread(struct data *data);
struct data *quiescent_urcu_default_data(void);
struct data *quiescent_urcu_cpu_data(int cpu);
int quiescent_urcu_set_cpu_data(int cpu, struct data *data);
int quiescent_urcu_create_all(unsigned long flags);
void quiescent_urcu_free_all(void);
struct data *quiescent_urcu_thread_data(void);
void quiescent_urcu_set_thread_data(struct data *data);
struct data *quiescent_urcu_data(void);

/* Fences. */

static inline void full_fence(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#ifdef LIGHT_IF_MEMBARRIER
EXPORT int NAME(has_sys_membarrier);
#define IS_LIGHT NAME(has_sys_membarrier)
#elif defined(LIGHT)
#define IS_LIGHT 1
#else
#define IS_LIGHT 0
#endif

/* The fence of a reader. */
static inline void light_fence(void)
{
	if (__builtin_expect(IS_LIGHT, 1))
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	else
		full_fence();
}

/* A reader has left: wakes the driver that sleeps for it. */
static inline void wake_driver(void)
{
	struct gp *gp = &NAME(gp);

	if (__builtin_expect(__atomic_load_n(&gp->futex, __ATOMIC_RELAXED) == ASLEEP, 0)) {
		__atomic_store_n(&gp->futex, 0, __ATOMIC_RELAXED);
		syscall(SYS_futex, &gp->futex, FUTEX_WAKE_, 1, NULL, NULL, 0);
	}
}

/* Readers. */

#ifdef BP
struct reader {
	unsigned long ctr;
};

EXPORT __thread struct reader *NAME(reader);

EXPORT void NAME(register)(void)
{
	NAME(reader) = (struct reader *)quiescent_urcu_register_own();
}

static inline struct reader *own(void)
{
	if (__builtin_expect(!NAME(reader), 0))
		NAME(register)();
	return NAME(reader);
}

static void left(void)
{
	NAME(reader) = NULL;
}

EXPORT void NAME(register_thread)(void)
{
	own();
}

static void unregister_thread(void)
{
	quiescent_urcu_unregister();
}
#define WAITING 0
#else
struct node {
	struct node *next, *prev;
};

struct reader {
	unsigned long ctr;
#ifndef QSBR
	char need_mb;
#endif
	/* The original has its registry here; we have it elsewhere. */
	struct node node __attribute__((aligned(128)));
#ifdef QSBR
	int waiting;
#endif
	pthread_t tid;
	unsigned int registered : 1;
};
_Static_assert(sizeof(struct reader) == 256 && offsetof(struct reader, node) == 128, "part of the ABI");

EXPORT __thread struct reader NAME(reader);

static inline struct reader *own(void)
{
	return &NAME(reader);
}

static void left(void)
{
	own()->registered = 0;
}
#ifdef QSBR
#define WAITING offsetof(struct reader, waiting)
#else
#define WAITING 0
#endif
#endif

#ifdef QSBR
EXPORT void NAME(read_lock)(void)
{
}

EXPORT void NAME(read_unlock)(void)
{
}

EXPORT int NAME(read_ongoing)(void)
{
	return own()->ctr != 0;
}

/* The thread's word has this value now. */
static void announce(struct reader *reader, unsigned long value)
{
	full_fence();
	__atomic_store_n(&reader->ctr, value, __ATOMIC_RELEASE);
	full_fence();
	if (__atomic_load_n(&reader->waiting, __ATOMIC_RELAXED)) {
		__atomic_store_n(&reader->waiting, 0, __ATOMIC_RELAXED);
		full_fence();
		wake_driver();
	}
}

EXPORT void NAME(quiescent_state)(void)
{
	unsigned long now = __atomic_load_n(&NAME(gp).ctr, __ATOMIC_ACQUIRE);

	if (own()->ctr != now)
		announce(own(), now);
}

EXPORT void NAME(thread_offline)(void)
{
	announce(own(), 0);
}

EXPORT void NAME(thread_online)(void)
{
	unsigned long now = __atomic_load_n(&NAME(gp).ctr, __ATOMIC_ACQUIRE);

	__atomic_store_n(&own()->ctr, now, __ATOMIC_RELEASE);
	full_fence();
}

#define thread_offline NAME(thread_offline)
#define thread_online NAME(thread_online)
#define quiescent_state NAME(quiescent_state)
#else
EXPORT void NAME(read_lock)(void)
{
	struct reader *reader = own();
	unsigned long word = reader->ctr;

	if (__builtin_expect(word & NESTING, 0)) {
		__atomic_store_n(&reader->ctr, word + 1, __ATOMIC_RELEASE);
		return;
	}
	__atomic_store_n(&reader->ctr, __atomic_load_n(&NAME(gp).ctr, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
	light_fence();
}

EXPORT void NAME(read_unlock)(void)
{
	struct reader *reader = own();
	unsigned long word = reader->ctr;

	__atomic_store_n(&reader->ctr, word - 1, __ATOMIC_RELEASE);
	if (__builtin_expect((word & NESTING) != 1, 0))
		return;
	light_fence();
	wake_driver();
}

EXPORT int NAME(read_ongoing)(void)
{
	return (own()->ctr & NESTING) != 0;
}

static void thread_offline(void)
{
}

static void thread_online(void)
{
}

static void quiescent_state(void)
{
}
#endif

#ifndef BP
EXPORT void NAME(register_thread)(void)
{
	struct reader *reader = own();

	reader->ctr = 0;
	reader->tid = pthread_self();
	reader->registered = 1;
	quiescent_urcu_register(&reader->ctr);
#ifdef QSBR
	thread_online();
#endif
}

EXPORT void NAME(unregister_thread)(void)
{
	thread_offline();
	quiescent_urcu_unregister();
}
#define unregister_thread NAME(unregister_thread)
#endif

/* A thread of the library runs callbacks, which may have sections. */
static void enter(void)
{
#ifndef BP
	if (!own()->registered)
		NAME(register_thread)();
#endif
	thread_online();
}

static void leave(void)
{
	thread_offline();
}

/* Laid out as `Flavour` in words.rs. */
struct flavour {
	struct gp *gp;
	int qsbr, unfenced, fenced, silent;
	size_t waiting;
	void (*enter)(void);
	void (*leave)(void);
	void (*left)(void);
};

const struct flavour quiescent_urcu_flavour = {
	.gp = &NAME(gp),
#ifdef QSBR
	.qsbr = 1,
#endif
#if defined(LIGHT)
	.unfenced = 1,
#elif !defined(LIGHT_IF_MEMBARRIER)
	.fenced = 1,
#endif
#ifdef BP
	.silent = 1,
#endif
	.waiting = WAITING,
	.enter = enter,
	.leave = leave,
	.left = left,
};

/* Waiting: a thread that announces quiescent states is in the way of none meanwhile. */

#ifdef QSBR
#define OUTSIDE(call)                                                                                       \
	do {                                                                                                \
		int was_online = own()->ctr != 0;                                                           \
		if (was_online)                                                                             \
			thread_offline();                                                                   \
		call;                                                                                       \
		if (was_online)                                                                             \
			thread_online();                                                                    \
	} while (0)
#else
#define OUTSIDE(call) call
#endif

EXPORT void NAME(synchronize_rcu)(void)
{
	OUTSIDE(quiescent_urcu_synchronize());
}

EXPORT void NAME(barrier)(void)
{
	OUTSIDE(quiescent_urcu_barrier());
}

EXPORT void NAME(call_rcu)(struct head *head, void (*run)(struct head *))
{
	quiescent_urcu_call(head, run);
}

EXPORT void NAME(defer_rcu)(void (*run)(void *), void *argument)
{
	quiescent_urcu_defer(run, argument);
}

EXPORT int NAME(defer_register_thread)(void)
{
	return 0;
}

EXPORT void NAME(defer_barrier)(void)
{
	OUTSIDE(quiescent_urcu_barrier());
}

EXPORT void NAME(defer_barrier_thread)(void)
{
	NAME(defer_barrier)();
}

EXPORT void NAME(defer_unregister_thread)(void)
{
	NAME(defer_barrier)();
}

EXPORT void NAME(defer_exit)(void)
{
}

/* Handles of threads that run callbacks. */

EXPORT struct data *NAME(create_call_rcu_data)(unsigned long flags, int cpu)
{
	return quiescent_urcu_create_data(flags, cpu);
}

EXPORT void NAME(call_rcu_data_free)(struct data *data)
{
	quiescent_urcu_free_data(data);
}

EXPORT pthread_t NAME(get_call_rcu_thread)(struct data *data)
{
	return quiescent_urcu_data_thread(data);
}

EXPORT struct data *NAME(get_default_call_rcu_data)(void)
{
	return quiescent_urcu_default_data();
}

EXPORT struct data *NAME(get_cpu_call_rcu_data)(int cpu)
{
	return quiescent_urcu_cpu_data(cpu);
}

EXPORT int NAME(set_cpu_call_rcu_data)(int cpu, struct data *data)
{
	return quiescent_urcu_set_cpu_data(cpu, data);
}

EXPORT int NAME(create_all_cpu_call_rcu_data)(unsigned long flags)
{
	return quiescent_urcu_create_all(flags);
}

EXPORT void NAME(free_all_cpu_call_rcu_data)(void)
{
	quiescent_urcu_free_all();
}

EXPORT struct data *NAME(get_thread_call_rcu_data)(void)
{
	return quiescent_urcu_thread_data();
}

EXPORT void NAME(set_thread_call_rcu_data)(struct data *data)
{
	quiescent_urcu_set_thread_data(data);
}

EXPORT struct data *NAME(get_call_rcu_data)(void)
{
	return quiescent_urcu_data();
}

/* Forks. The hash tables of liburcu-cds have a thread of their own, and register here for it. */

static struct atfork *hash_tables;
static int hash_table_users;

EXPORT void NAME(register_rculfhash_atfork)(struct atfork *atfork)
{
	if (__atomic_fetch_add(&hash_table_users, 1, __ATOMIC_ACQ_REL) == 0)
		__atomic_store_n(&hash_tables, atfork, __ATOMIC_RELEASE);
}

EXPORT void NAME(unregister_rculfhash_atfork)(struct atfork *atfork)
{
	(void)atfork;
	if (__atomic_sub_fetch(&hash_table_users, 1, __ATOMIC_ACQ_REL) == 0)
		__atomic_store_n(&hash_tables, NULL, __ATOMIC_RELEASE);
}

EXPORT void NAME(call_rcu_before_fork)(void)
{
	struct atfork *atfork = __atomic_load_n(&hash_tables, __ATOMIC_ACQUIRE);

	if (atfork)
		atfork->before_fork(atfork->priv);
	quiescent_urcu_before_fork();
}

EXPORT void NAME(call_rcu_after_fork_parent)(void)
{
	struct atfork *atfork = __atomic_load_n(&hash_tables, __ATOMIC_ACQUIRE);

	quiescent_urcu_after_fork(0);
	if (atfork)
		atfork->after_fork_parent(atfork->priv);
}

EXPORT void NAME(call_rcu_after_fork_child)(void)
{
	struct atfork *atfork = __atomic_load_n(&hash_tables, __ATOMIC_ACQUIRE);

	quiescent_urcu_after_fork(1);
	if (atfork)
		atfork->after_fork_child(atfork->priv);
}

#ifdef BP
/* The registry of a forked process is repaired whether or not these are called. */
EXPORT void NAME(before_fork)(void)
{
}

EXPORT void NAME(after_fork_parent)(void)
{
}

EXPORT void NAME(after_fork_child)(void)
{
}
#endif

/* `struct rcu_flavor_struct`, in the order of the original. */
EXPORT void *NAME(flavor)[14] = {
	NAME(read_lock), NAME(read_unlock), NAME(read_ongoing), quiescent_state, NAME(call_rcu),
	NAME(synchronize_rcu), NAME(defer_rcu), thread_offline, thread_online, NAME(register_thread),
	unregister_thread, NAME(barrier), NAME(register_rculfhash_atfork),
	NAME(unregister_rculfhash_atfork),
};

/* Pointers. */

EXPORT void *rcu_dereference_sym(void *pointer)
{
	return pointer;
}

EXPORT void *rcu_set_pointer_sym(void **place, void *value)
{
	__atomic_store_n(place, value, __ATOMIC_SEQ_CST);
	return value;
}

EXPORT void *rcu_xchg_pointer_sym(void **place, void *value)
{
	return __atomic_exchange_n(place, value, __ATOMIC_SEQ_CST);
}

EXPORT void *rcu_cmpxchg_pointer_sym(void **place, void *old, void *value)
{
	__atomic_compare_exchange_n(place, &old, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}

#ifdef BP
/* The names that programs of earlier versions have. */
#define EARLIER(what, of) EXPORT __typeof__(of) NAME(what) __attribute__((alias(#of)))
EARLIER(dereference_sym, rcu_dereference_sym);
EARLIER(set_pointer_sym, rcu_set_pointer_sym);
EARLIER(xchg_pointer_sym, rcu_xchg_pointer_sym);
EARLIER(cmpxchg_pointer_sym, rcu_cmpxchg_pointer_sym);
#endif

/* Futexes, for inlined code on a kernel without them. */

#define WEAK __attribute__((weak, visibility("default")))
WEAK pthread_cond_t __urcu_compat_futex_cond = PTHREAD_COND_INITIALIZER;
WEAK pthread_mutex_t __urcu_compat_futex_lock = PTHREAD_MUTEX_INITIALIZER;

EXPORT int compat_futex_async(int32_t *word, int op, int32_t value, const struct timespec *timeout,
			      int32_t *word2, int32_t value3)
{
	return (int)syscall(SYS_futex, word, op, value, timeout, word2, value3);
}

EXPORT int compat_futex_noasync(int32_t *word, int op, int32_t value, const struct timespec *timeout,
				int32_t *word2, int32_t value3)
{
	return compat_futex_async(word, op, value, timeout, word2, value3);
}

/* The process. */

static void start(void)
{
#ifdef LIGHT_IF_MEMBARRIER
	NAME(has_sys_membarrier) = quiescent_urcu_start();
#else
	quiescent_urcu_start();
#endif
}

#if defined(HAS_INIT)
EXPORT void NAME(init)(void)
{
	start();
}
#endif

#if defined(HAS_EXIT)
EXPORT void NAME(exit)(void)
{
}
#endif

static __attribute__((constructor)) void begin(void)
{
	start();
}

static __attribute__((destructor)) void end(void)
{
	quiescent_urcu_end();
}
