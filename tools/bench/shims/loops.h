/*
 * The measured loops of a C peer, written once and included with that peer's verbs defined:
 *
 *   PEER(name)                    the exported name of a function
 *   PEER_LOCALS                   declarations at the top of a loop (a record pointer, or nothing)
 *   PEER_LOCK() PEER_UNLOCK()     one read-side critical section
 *   PEER_DEREF(p)                 load of a protected pointer
 *   PEER_REPIN()                  what a long loop says now and then (see src/subjects/mod.rs, case `repin`)
 *   PEER_ATTACH() PEER_DETACH()   thread registration
 *   PEER_ONLINE() PEER_OFFLINE()  around a blocking wait
 *   PEER_SYNC()                   wait for a grace period
 *
 * Every loop turn ends in QB_TURN, which makes memory opaque to the compiler: nothing is hoisted or merged, and
 * the bare loop (bare.c) costs the same turn. It emits no instruction. (-O2 of gcc and clang does not unroll such
 * loops; QB_OPAQUE keeps them from knowing a trip count.)
 */
#ifndef QB_LOOPS_H
#define QB_LOOPS_H

#include <stdint.h>
#include <time.h>

#define QB_TURN() __asm__ __volatile__("" : : : "memory")
#define QB_OPAQUE(j) __asm__ __volatile__("" : "+r"(j))
#define QB_USE(v) __asm__ __volatile__("" : : "r"(v))
/* Reads between two repins; the same number as READS_PER_REPIN in src/subjects/mod.rs. */
#define QB_READS_PER_REPIN 64

/*
 * How fast a loop of a dozen instructions runs depends on where the linker happens to put it, by as much as the
 * differences that are to be measured. So each loop exists four times, 16 bytes apart in a 64-byte line, and each
 * copy runs a quarter of the turns. src/subjects/loops.rs does the same.
 */
#define QB_CAT2(a, b) a##b
#define QB_CAT(a, b) QB_CAT2(a, b)
#define QB_LOOP(name) QB_CAT(name##_, QB_COPY)
#define QB_SHIFT() __asm__ __volatile__(".rept %c0\n\tnop\n\t.endr" : : "i"(16 * QB_COPY))
#define QB_SHARE_OUT(exported, name)         \
	void exported(uint64_t n)            \
	{                                    \
		uint64_t quarter = n / 4;    \
		name##_0(n - 3 * quarter);   \
		name##_1(quarter);           \
		name##_2(quarter);           \
		name##_3(quarter);           \
	}

struct qb_value {
	uint64_t value;
};

/* The same layout as ReaderControl in src/subjects/mod.rs: two cache lines (pairs, for the prefetcher). */
struct qb_reader_control {
	_Alignas(128) uint32_t stop;
	_Alignas(128) uint64_t heartbeat;
};

/* The time stamp the caller compares with its own: src/clock.rs `stamp`. */
static inline uint64_t qb_stamp(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

#endif

#ifdef PEER

static struct qb_value PEER(the_value) = { 42 };
static struct qb_value *PEER(the_pointer) = &PEER(the_value);

void PEER(attach)(void)
{
	PEER_ATTACH();
}

void PEER(detach)(void)
{
	PEER_DETACH();
}

void PEER(online)(void)
{
	PEER_ONLINE();
}

void PEER(offline)(void)
{
	PEER_OFFLINE();
}

void PEER(sync)(void)
{
	PEER_LOCALS;
	PEER_SYNC();
}

/* Four copies of each loop at four places in a cache line, and the functions that share the turns out to them. */
#define QB_COPY 0
#include "loops_body.h"
#define QB_COPY 1
#include "loops_body.h"
#define QB_COPY 2
#include "loops_body.h"
#define QB_COPY 3
#include "loops_body.h"

QB_SHARE_OUT(PEER(empty), empty)
QB_SHARE_OUT(PEER(nested), nested)
QB_SHARE_OUT(PEER(load), load)
QB_SHARE_OUT(PEER(repin), repin)

/* A reader that reads until the control stops it and says, after each section, that it is on a CPU. */
__attribute__((noinline)) void PEER(reader)(struct qb_reader_control *control)
{
	PEER_LOCALS;
	PEER_ONLINE();
	while (!__atomic_load_n(&control->stop, __ATOMIC_RELAXED)) {
		PEER_LOCK();
		const struct qb_value *p = PEER_DEREF(PEER(the_pointer));
		uint64_t v = p->value;
		QB_USE(v);
		PEER_UNLOCK();
		PEER_REPIN_IF_IMPLICIT();
		__atomic_store_n(&control->heartbeat, qb_stamp(), __ATOMIC_RELAXED);
	}
	PEER_OFFLINE();
}

#endif
