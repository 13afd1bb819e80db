/*
 * The measured loops of a C peer that reclaims later, written once and included with that peer's verbs defined:
 *
 *   DEFER(name)                      the exported name of a function
 *   PEER_LOCALS                     declarations at the top of a loop (a record pointer, or nothing)
 *   PEER_HEAD                       the type of what the library wants inside an object
 *   PEER_RETIRE(object, callback)   hands an object over, to be given to the callback after a grace period
 *   PEER_CALLBACK(name, type, body) defines such a callback; in its body `object` is the object
 *   PEER_POLL(i)                    what the program has to do beside call number i, or nothing
 *   PEER_ATTACH() PEER_DETACH()     thread registration
 *   PEER_FINISH() PEER_SETTLE()     a producer's end; the end of everything, in a thread that is not attached
 *   PEER_LOCK() PEER_UNLOCK()       one read-side critical section
 *   PEER_DEREF(p) PEER_XCHG(p, v)   a protected pointer: load, replace
 *
 * The same loops as in src/deferral/loops.rs, turn for turn. A block is 64 bytes with the library's head in them, one word
 * of the rest is written. An owning object is a block that owns another of QB_TEXT's 32 bytes.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "loops.h"

/* Turns of a reader between two looks at the stop flag; TURNS_A_LOOK in src/deferral/mod.rs. */
#define QB_TURNS_A_LOOK 64
/* TEXT in src/deferral/loops.rs, without the final zero. */
#define QB_TEXT "an object with something to drop"
#define QB_TEXT_BYTES (sizeof(QB_TEXT) - 1)

struct block {
	PEER_HEAD head;
	uint64_t value;
	char rest[64 - sizeof(PEER_HEAD) - sizeof(uint64_t)];
};
_Static_assert(sizeof(struct block) == 64, "a block is 64 bytes");

struct owning {
	PEER_HEAD head;
	char *text;
	char rest[64 - sizeof(PEER_HEAD) - sizeof(char *)];
};
_Static_assert(sizeof(struct owning) == 64, "an owning object is 64 bytes");
_Static_assert(QB_TEXT_BYTES == 32, "it owns 32 more");

PEER_CALLBACK(free_block, struct block, { free(object); })
PEER_CALLBACK(free_owning, struct owning, {
	free(object->text);
	free(object);
})

/* What a freed block is reported to: `note` of src/measure/freed.rs. */
static void (*report_freed)(uint64_t value);

PEER_CALLBACK(free_and_tell, struct block, {
	uint64_t value = object->value;
	free(object);
	report_freed(value);
})

static inline struct block *make_block(uint64_t value)
{
	struct block *block = malloc(sizeof(*block));
	if (!block)
		abort();
	block->value = value;
	return block;
}

void DEFER(attach)(void)
{
	PEER_ATTACH();
}

void DEFER(detach)(void)
{
	PEER_DETACH();
}

void DEFER(finish)(void)
{
	PEER_LOCALS;
	PEER_FINISH();
}

void DEFER(settle)(void)
{
	PEER_SETTLE();
}

void DEFER(make)(void **slots, size_t n)
{
	for (size_t i = 0; i < n; i++)
		slots[i] = make_block(1);
}

void DEFER(retire)(void **blocks, size_t n)
{
	PEER_LOCALS;
	for (size_t i = 0; i < n; i++) {
		struct block *block = blocks[i];
		PEER_RETIRE(block, free_block);
		PEER_POLL(i);
		QB_TURN();
	}
}

void DEFER(stamped)(void **blocks, uint64_t *took, size_t n)
{
	PEER_LOCALS;
	for (size_t i = 0; i < n; i++) {
		struct block *block = blocks[i];
		uint64_t begin = qb_stamp();
		PEER_RETIRE(block, free_block);
		PEER_POLL(i);
		took[i] = qb_stamp() - begin;
	}
}

void DEFER(all_in)(uint64_t n)
{
	PEER_LOCALS;
	for (uint64_t i = n; i; i--) {
		struct block *block = make_block(i);
		PEER_RETIRE(block, free_block);
		PEER_POLL(i);
		QB_TURN();
	}
}

void DEFER(owning)(uint64_t n)
{
	PEER_LOCALS;
	for (uint64_t i = n; i; i--) {
		struct owning *object = malloc(sizeof(*object));
		char *text = malloc(QB_TEXT_BYTES);
		if (!object || !text)
			abort();
		memcpy(text, QB_TEXT, QB_TEXT_BYTES);
		object->text = text;
		PEER_RETIRE(object, free_owning);
		PEER_POLL(i);
		QB_TURN();
	}
}

static struct block *the_block;

__attribute__((constructor)) static void publish(void)
{
	the_block = make_block(0);
}

uint64_t DEFER(read)(struct qb_reader_control *control)
{
	PEER_LOCALS;
	uint64_t reads = 0;
	while (!__atomic_load_n(&control->stop, __ATOMIC_RELAXED)) {
		for (uint64_t i = QB_TURNS_A_LOOK; i; i--) {
			PEER_LOCK();
			const struct block *block = PEER_DEREF(the_block);
			uint64_t value = block->value;
			QB_USE(value);
			PEER_UNLOCK();
			QB_TURN();
		}
		reads += QB_TURNS_A_LOOK;
	}
	return reads;
}

/* As many as `due` says, until it says 0: src/deferral/pace.rs. The first of them polls. */
void DEFER(update)(void *pace, uint64_t (*due)(void *pace))
{
	PEER_LOCALS;
	for (uint64_t n; (n = due(pace)) != 0;) {
		for (uint64_t i = 0; i < n; i++) {
			struct block *block = make_block(i);
			struct block *old = PEER_XCHG(the_block, block);
			PEER_RETIRE(old, free_block);
			PEER_POLL(i);
			QB_TURN();
		}
	}
}

/* One block that tells when it is freed; the stamps that the call took. A program that retires seldom polls each time. */
uint64_t DEFER(one)(uint64_t value, void (*note)(uint64_t))
{
	PEER_LOCALS;
	report_freed = note;
	struct block *block = make_block(value);
	uint64_t begin = qb_stamp();
	PEER_RETIRE(block, free_and_tell);
	PEER_POLL(0);
	return qb_stamp() - begin;
}

/* So many of them. */
void DEFER(many)(uint64_t n, void (*note)(uint64_t))
{
	PEER_LOCALS;
	report_freed = note;
	for (uint64_t i = n; i; i--) {
		struct block *block = make_block(0);
		PEER_RETIRE(block, free_and_tell);
		PEER_POLL(i);
		QB_TURN();
	}
}

/* Stays in a section until the control stops it. */
void DEFER(hold)(struct qb_reader_control *control)
{
	PEER_LOCALS;
	const struct timespec a_little = { .tv_sec = 0, .tv_nsec = 5000000 };
	PEER_LOCK();
	const struct block *block = PEER_DEREF(the_block);
	__atomic_store_n(&control->heartbeat, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&control->stop, __ATOMIC_ACQUIRE))
		nanosleep(&a_little, NULL);
	uint64_t value = block->value;
	QB_USE(value);
	PEER_UNLOCK();
}
