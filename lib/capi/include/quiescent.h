/*
 * quiescent.h - read-copy-update (RCU) with lazy, batched reclaiming: the interface for C11 and C++17.
 *
 * Readers find data through a pointer, inside a section: qsc_rcu_read_lock() ... qsc_rcu_read_unlock(). They
 * take no lock, execute no fence, and write to no memory that another thread writes. An updater publishes a
 * new version with qsc_rcu_assign_pointer(), and frees the old one after a grace period: when all sections
 * that were open have ended. Registration of threads is optional: the first section of a thread does it.
 *
 * Link with -lquiescent (pkg-config quiescent; CMake: find_package(quiescent), quiescent::quiescent).
 * Define QSC_SHORT_NAMES before the first #include for the names without a prefix (rcu_read_lock, call_rcu,
 * list_add_rcu, ...). quiescent/list.h has lists.
 *
 * Results. Functions that can fail return 0 or a negative errno; nothing has happened then:
 *   -EINVAL     a pointer is null that must not be, or a value is out of range
 *   -EALREADY   the head is queued already (libraries that are built with debug assertions; others do not
 *               look, and run the callback twice)
 *   -EDEADLK    called inside a section: it would wait for itself
 *   -EBUSY      called inside a callback of the library; or the domain has open sections
 *   -ETIMEDOUT  readers or callbacks were not done in time
 *   -ENOBUFS    QSC_TRY: the budget has no room
 *   -ENOMEM     no memory, or no slot for the thread
 *   -EAGAIN     the library's thread, which runs callbacks, cannot be started
 *   -EPERM      membarrier(2) was refused after start-up: no grace period can end, nothing may be freed
 *   -ENOTSUP, -EISCONN  qsc_set(): not available here; too late
 * qsc_strerror() says what to do. No function unwinds, exits or prints.
 *
 * Threads and signals. Every function may be called by any thread. In signal handlers: sections of the
 * process's domain and of those made by qsc_domain_new(), and pointers; nothing else.
 *
 * Fork, exit, dlclose. The child of a fork can use everything; callbacks that were queued before run in the
 * parent only (QSC_INHERIT_CALLBACKS). exit() runs no callbacks and waits for nothing; call qsc_drain()
 * before it. The shared object stays loaded after dlclose(). Domains are used again and never given back to
 * the system.
 *
 * Sections that are not closed. Unlocks must pair with locks of the same thread. An unlock without a lock is
 * an error of the program: on a thread that has never read it ends in SIGSEGV, on others later sections of
 * the thread protect nothing.
 */
#ifndef QUIESCENT_H
#define QUIESCENT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QSC_VERSION "0.1.0"

#if defined(__GNUC__)
#define QSC_LIKELY(x) __builtin_expect(!!(x), 1)
#else
#error "quiescent.h needs GCC or Clang"
#endif

/* ---------------------------------------------------------------------------------------------- readers */

/*
 * The words of a reader. A part of the binary interface, because the functions below are inlined: the layout
 * and the meaning of these bits do not change while the soname is libquiescent.so.0.
 *
 *   word    bits 0 to 14: nesting. Bit 15: take the slow path. Bits 16 to 63: a generation.
 *           The outermost lock adds 0x10001, a nested one 1, an unlock subtracts 1.
 *   flags   not 0: an unlock calls qsc_read_unlock_slow()
 */
struct qsc_reader {
    uint64_t word;
    uint64_t flags;
};

/* Slow paths of the functions below; for no other use. */
void qsc_read_lock_slow(void);
void qsc_read_unlock_slow(struct qsc_reader *reader);

#if defined(__ELF__) && defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__)) && \
    !defined(QSC_NO_INLINE)

#ifdef __cplusplus
#define QSC_THREAD __thread
#else
#define QSC_THREAD _Thread_local
#endif

/* The calling thread's reader. */
extern QSC_THREAD struct qsc_reader *qsc_reader __attribute__((tls_model("initial-exec")));

/*
 * Begins a section of the process's domain. Sections nest. Never waits, never fails.
 *
 * Ordering: the updates before a grace period's start are visible to sections that it does not wait for. The
 * store of the word is a release [RD-2], and a compiler fence keeps the section behind it [RD-1]: the
 * grace period's process-wide fence does the rest. Where the system has none, bit 15 is set, and the slow
 * path executes one.
 */
static inline void qsc_rcu_read_lock(void)
{
    struct qsc_reader *reader = qsc_reader;
    uint64_t word = __atomic_load_n(&reader->word, __ATOMIC_RELAXED);
    if (!QSC_LIKELY((word & 0xffff) == 0)) {
        if (word & 0x8000) {
            qsc_read_lock_slow();
            return;
        }
        __atomic_store_n(&reader->word, word + 1, __ATOMIC_RELEASE);
        return; /* an outer section's fence stands before */
    }
    __atomic_store_n(&reader->word, word + 0x10001, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/*
 * Ends the section that the last qsc_rcu_read_lock() of this thread began. Runs functions that this thread
 * has given to qsc_retire() inside the section, if it is the outermost one: hold no lock that they take.
 *
 * Ordering: what the section did happens before what follows the grace periods that wait for it: a release
 * [RD-2]. A compiler fence keeps the load of the flags behind it [RD-3].
 */
static inline void qsc_rcu_read_unlock(void)
{
    struct qsc_reader *reader = qsc_reader;
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    /* Two instructions fewer than the compiler makes of the lines below. Stores are releases here. */
    __asm__ goto("subq $1, %0\n\tcmpq $0, %1\n\tjne %l2"
                 :
                 : "m"(reader->word), "m"(reader->flags)
                 : "cc", "memory"
                 : slow);
    return;
slow:
    qsc_read_unlock_slow(reader);
#else
    uint64_t word = __atomic_load_n(&reader->word, __ATOMIC_RELAXED);
    __atomic_store_n(&reader->word, word - 1, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (!QSC_LIKELY(__atomic_load_n(&reader->flags, __ATOMIC_RELAXED) == 0)) {
        qsc_read_unlock_slow(reader);
    }
#endif
}

#else /* not inlined */
void qsc_rcu_read_lock(void);
void qsc_rcu_read_unlock(void);
#endif

/*
 * Ends the section and begins another, so that a grace period that waits for this thread can go on: for long
 * loops, at a place where nothing is used that was found before. Does nothing in a nested section.
 */
void qsc_rcu_repin(void);

/* Whether the calling thread is inside a section of the process's domain. */
bool qsc_rcu_read_lock_held(void);

/*
 * Registers the calling thread before its first section, which would do it otherwise. 0, or -ENOMEM: there is
 * no slot; sections work nevertheless, and are slower.
 */
int qsc_rcu_register_thread(void);

/* Does nothing: the end of a thread unregisters it. For code that was written for other libraries. */
void qsc_rcu_unregister_thread(void);

/* --------------------------------------------------------------------------------------------- pointers */

/* Loads a pointer inside a section. What it leads to is complete: an acquire load. */
#define qsc_rcu_dereference(p) __atomic_load_n(&(p), __ATOMIC_ACQUIRE)
/* The same where updates are excluded, by a lock for example: a plain load. */
#define qsc_rcu_dereference_protected(p) (p)
/* Loads a pointer only to compare it: what it leads to may not be accessed. */
#define qsc_rcu_access_pointer(p) __atomic_load_n(&(p), __ATOMIC_RELAXED)
/* Publishes a pointer: a release store. */
#define qsc_rcu_assign_pointer(p, v) __atomic_store_n(&(p), (v), __ATOMIC_RELEASE)
/* Stores a pointer that publishes nothing new: null, or before any reader can find it. */
#define qsc_rcu_init_pointer(p, v) __atomic_store_n(&(p), (v), __ATOMIC_RELAXED)
/* Publishes a pointer; the old value. */
#define qsc_rcu_xchg_pointer(p, v) __atomic_exchange_n(&(p), (v), __ATOMIC_ACQ_REL)
/* Publishes `v` if the pointer is `old`. The value before: `old` if it succeeded. */
#define qsc_rcu_cmpxchg_pointer(p, old, v) \
    __extension__({ \
        __typeof__(p) qsc_seen_ = (old); \
        (void)__atomic_compare_exchange_n(&(p), &qsc_seen_, (v), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE); \
        qsc_seen_; \
    })

/* The object of type `type` whose field `member` is at `p`. */
#define qsc_container_of(p, type, member) \
    ((type *)(void *)((char *)(1 ? (p) : (__typeof__(&((type *)0)->member))0) - offsetof(type, member)))

/* ---------------------------------------------------------------------------------------------- domains */

/*
 * A domain has grace periods, budget and settings of its own. NULL, in every function that takes a domain, is
 * the process's, which qsc_rcu_read_lock() and the functions without a domain use.
 */
typedef struct qsc_domain qsc_domain;

/* What qsc_domain_read_lock() returns, and qsc_domain_read_unlock() takes. */
typedef uintptr_t qsc_section;

/* A domain for slow readers, or for memory that must not wait for others. Names appear in reports; a name may
 * be NULL. Allocates nothing before it is used. */
qsc_domain *qsc_domain_new(const char *name);

/* A domain whose sections may sleep, and end on another thread (qsc_srcu_down_read). Not in handlers. */
qsc_domain *qsc_srcu_new(const char *name);

/*
 * Gives a domain back: its queued memory is freed and its callbacks run, in this thread or on the worker,
 * without a grace period. No function may be called with it from then on. -EBUSY: it has open sections;
 * -EINVAL: NULL. It does not wait.
 */
int qsc_domain_free(qsc_domain *domain);

/* Begins a section of a domain, also of an SRCU one. */
qsc_section qsc_domain_read_lock(qsc_domain *domain);

/* Ends it, on the same thread. */
void qsc_domain_read_unlock(qsc_domain *domain, qsc_section section);

/* Begins a section of an SRCU domain that may end on another thread. 0 or 1; -EINVAL: no SRCU domain. */
int qsc_srcu_down_read(qsc_domain *srcu);

/* Ends it, on any thread; takes what qsc_srcu_down_read() has returned. */
void qsc_srcu_up_read(qsc_domain *srcu, int count);

/* Whether the calling thread is inside a section of the domain (not one of qsc_srcu_down_read). */
bool qsc_domain_read_lock_held(qsc_domain *domain);

/* -------------------------------------------------------------------------------------- grace periods */

/* A time-out in nanoseconds that never comes. */
#define QSC_FOREVER UINT64_MAX
/* For qsc_synchronize(): spin longer before sleeping. */
#define QSC_EXPEDITED 1u

/*
 * Waits until all sections of the domain that are open now have ended, for at most `timeout_ns`. What was
 * unlinked before the call can be freed after it, if it returns 0. Callers share grace periods. One
 * membarrier(2) a grace period; none if only the caller is registered.
 * -EDEADLK, -EBUSY, -ETIMEDOUT, -EPERM, -ENOMEM; -EINVAL: unknown flags.
 */
int qsc_synchronize(qsc_domain *domain, uint64_t timeout_ns, unsigned flags);

/*
 * Waits until everything that any thread has queued in the domain before this call has run or was freed. Hold
 * no lock that a callback takes. -EDEADLK, -EBUSY, -EPERM, -EAGAIN.
 */
int qsc_barrier(qsc_domain *domain);

/* A point in the sequence of a domain's grace periods. One with only zeros has passed. Copy it freely. */
struct qsc_cookie {
    uint64_t opaque[3];
};

/* Asks for a grace period without waiting. */
struct qsc_cookie qsc_start_poll(qsc_domain *domain);

/* Whether a grace period has passed since. Drives it as far as possible without waiting, so that polling
 * alone completes it. */
bool qsc_poll(struct qsc_cookie cookie);

/* Waits for it, if it has not passed. Results as of qsc_synchronize(). */
int qsc_cond_synchronize(struct qsc_cookie cookie, uint64_t timeout_ns);

static inline int qsc_synchronize_rcu(void)
{
    return qsc_synchronize(NULL, QSC_FOREVER, 0);
}

static inline int qsc_synchronize_rcu_expedited(void)
{
    return qsc_synchronize(NULL, QSC_FOREVER, QSC_EXPEDITED);
}

static inline int qsc_rcu_barrier(void)
{
    return qsc_barrier(NULL);
}

static inline struct qsc_cookie qsc_start_poll_synchronize_rcu(void)
{
    return qsc_start_poll(NULL);
}

static inline bool qsc_poll_state_synchronize_rcu(struct qsc_cookie cookie)
{
    return qsc_poll(cookie);
}

static inline int qsc_cond_synchronize_rcu(struct qsc_cookie cookie)
{
    return qsc_cond_synchronize(cookie, QSC_FOREVER);
}

/* ------------------------------------------------------------------------------------------- callbacks */

/* A field of an object that is given to qsc_call_rcu() or qsc_free_rcu(). Needs no initial value. */
struct qsc_rcu_head {
    uintptr_t mark;
    uintptr_t function;
};

typedef void (*qsc_rcu_function)(struct qsc_rcu_head *head);

/* How something is queued. */
enum qsc_how {
    QSC_PROMPT = 0, /* a grace period begins within 50 ms (QSC_PROMPT_NS) */
    QSC_LAZY = 1,   /* with the next batch, at the latest after 10 s (QSC_LAZY_NS): causes no wake-up */
    QSC_HURRY = 2,  /* now */
    QSC_TRY = 4     /* with one of these: only if the budget has room, else -ENOBUFS */
};

/*
 * Calls function(head) after a grace period, on the library's worker thread. Never waits. The head is not
 * touched, and its object not freed, before that. The callback may queue; it must not wait for grace periods
 * (-EBUSY), throw, jump out or end its thread: an exception that leaves it ends the process.
 * Queueing takes no lock and allocates 4 KiB for each 256 callbacks of a thread; if there is no memory for
 * that, the callback does not run ("leaked" in qsc_statistics).
 * -EINVAL: null, or an unknown `how`; -EALREADY.
 */
int qsc_call_rcu(struct qsc_rcu_head *head, qsc_rcu_function function);
int qsc_domain_call(qsc_domain *domain, struct qsc_rcu_head *head, qsc_rcu_function function, unsigned how);

static inline int qsc_call_rcu_lazy(struct qsc_rcu_head *head, qsc_rcu_function function)
{
    return qsc_domain_call(NULL, head, function, QSC_LAZY);
}

static inline int qsc_call_rcu_hurry(struct qsc_rcu_head *head, qsc_rcu_function function)
{
    return qsc_domain_call(NULL, head, function, QSC_HURRY);
}

/*
 * Frees, with free(), the object that has the head `offset` bytes (below 4096) behind its beginning. Lazy:
 * see qsc_domain_retire(). `size` is for the budget; `how` is QSC_PROMPT (which means nothing here), with
 * QSC_TRY if wanted. -EINVAL, -EALREADY, -ENOBUFS.
 */
int qsc_domain_free_head(qsc_domain *domain, struct qsc_rcu_head *head, size_t offset, size_t size,
                         unsigned how);

/* Frees, with free(), the object at `p` after a grace period; `member` is its head. */
#define qsc_free_rcu(p, member) \
    qsc_domain_free_head(NULL, &(p)->member, (size_t)((char *)&(p)->member - (char *)(p)), sizeof(*(p)), 0)

/*
 * Calls function(address) after a grace period: lazily, and in the thread itself, in a later call of it that
 * retires outside of sections, at the end of a section in which it has retired, or, if the thread goes quiet
 * or ends, on the worker. So hold no lock there that the function takes; qsc_thread_on_worker(1) and the
 * settings QSC_DESTRUCTORS and QSC_ON_WORKER leave all to the worker. `bytes` is for the budget. If the
 * function is free(), queueing allocates as qsc_call_rcu() does; else 16 bytes more. `how`: 0 or QSC_TRY.
 * -EINVAL, -ENOMEM, -ENOBUFS.
 */
int qsc_domain_retire(qsc_domain *domain, void *address, void (*function)(void *), size_t bytes,
                      unsigned how);

static inline int qsc_retire(void *address, void (*function)(void *), size_t bytes)
{
    return qsc_domain_retire(NULL, address, function, bytes, 0);
}

/*
 * Runs and frees, in this thread, what any thread has queued, for at most `timeout_ns`: before exit(), for
 * example. Waits for readers, but not inside sections and callbacks. 0: nothing is left; -ETIMEDOUT:
 * `*still_queued` is (it may be NULL).
 */
int qsc_drain(qsc_domain *domain, uint64_t timeout_ns, uint64_t *still_queued);

/* Runs, in this thread, at most `most` callbacks that are ready; starts none after `timeout_ns`; never waits.
 * How many. For event loops: see QSC_DRAINED. */
uint64_t qsc_drain_ready(qsc_domain *domain, uint64_t most, uint64_t timeout_ns);

/* Sets a function that the worker calls when callbacks are ready that the program drains. NULL: none. */
void qsc_on_ready(void (*ready)(void));

/* Frees everything that is queued lazily, soon: for programs that know that memory is low. */
void qsc_memory_is_low(void);

/* 1: the worker reclaims what the calling thread retires. 0: the thread. -1: as the domain's setting says. */
void qsc_thread_on_worker(int on);

/* -------------------------------------------------------------------------------------------- settings */

enum qsc_setting {
    /* Of any domain, at any time. */
    QSC_BUDGET_BYTES = 1,     /* what may be queued; UINT64_MAX: no limit; at first 64 MiB */
    QSC_BUDGET_CALLBACKS = 2, /* the same in numbers; at first 2^20 */
    QSC_LAZY_NS = 3,          /* the longest time that lazy callbacks wait for a grace period's begin */
    QSC_PROMPT_NS = 4,        /* the same for prompt ones */
    QSC_STALL_NS = 5,         /* readers that block a grace period for so long are reported; 0: never */
    QSC_CLOSURES = 6,         /* who runs callbacks: QSC_WORKER at first, or QSC_DRAINED */
    QSC_DESTRUCTORS = 7,      /* who runs functions of qsc_retire(): QSC_OWNER at first, or one of the others */
    QSC_ON_WORKER = 8,        /* 1: the worker reclaims everything */
    /* Of the process (domain NULL), before the first section. */
    QSC_FENCED = 32,            /* 1: readers execute fences; 0: membarrier(2), or -ENOTSUP */
    QSC_MAX_THREADS = 33,       /* threads with a slot; the others share two counters, which is slow */
    QSC_INHERIT_CALLBACKS = 34, /* 1: the child of a fork runs what was queued, too */
    QSC_IGNORE_FORKS = 35,      /* 1: no fork handlers; the child may only execute another program */
    QSC_MEMORY_PRESSURE = 36    /* 0: do not listen to the kernel's memory pressure */
};

/* Values of QSC_CLOSURES and QSC_DESTRUCTORS. */
enum qsc_runner {
    QSC_OWNER = 0,  /* the thread that queued it, in later calls */
    QSC_WORKER = 1, /* the library's thread */
    QSC_DRAINED = 2 /* the program, when it calls qsc_drain() or qsc_drain_ready() */
};

/* Changes a setting. -EINVAL: no such setting, or not such a value; -ENOTSUP; -EISCONN: too late. */
int qsc_set(qsc_domain *domain, int setting, uint64_t value);

/*
 * Writes counters and the present state of a domain as JSON, as snprintf() does: the number of bytes that the
 * text has, of which at most size - 1 and a 0 are written. Names as in the type `Statistics` of the Rust
 * library, and queued, queued_bytes, fenced.
 */
size_t qsc_statistics(qsc_domain *domain, char *buffer, size_t size);

enum qsc_report {
    QSC_REPORT_OTHER = 0,
    QSC_REPORT_STALL = 1,       /* readers have blocked a grace period for QSC_STALL_NS: it names them */
    QSC_REPORT_OVER_BUDGET = 2, /* more is queued than the budget allows */
    QSC_REPORT_STUCK = 3,       /* a callback has not returned for a second */
    QSC_REPORT_SLOW = 4         /* debug builds: a function of qsc_retire() took more than 10 ms */
};

/*
 * Sets the function that gets reports, in place of another; NULL: none. It is called on the worker, or on a
 * thread inside a call that waits, polls, drains or retires. It must not wait for grace periods. `text` is
 * valid until it returns.
 */
void qsc_on_report(void (*report)(int kind, const char *text, void *data), void *data);

/* The number of forks between the first process and this one. */
uint64_t qsc_fork_generation(void);

/*
 * Ends the library's threads and closes their descriptors, after a drain of all domains, within about
 * `timeout_ns`. 0: nothing is left; -ETIMEDOUT: something is; -EDEADLK, -EBUSY: nothing was done. The library
 * stays usable: every function does the same as before, and the first that needs the worker starts it again.
 */
int qsc_shutdown(uint64_t timeout_ns);

/* What a result means, and what to do. Never NULL; never freed. */
const char *qsc_strerror(int result);

#ifdef __cplusplus
}
#endif

#ifdef QSC_SHORT_NAMES
#include "quiescent/short.h"
#endif

#endif
