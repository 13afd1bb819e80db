/* Concurrency Kit's ck_epoch_call. Nobody reclaims in the background: the program polls every 64 calls. */
#define DEFER(name) qb_retire_ck_##name
#include <stdint.h>
#include <stdlib.h>
#include <ck_epoch.h>
#include <ck_pr.h>

static ck_epoch_t epoch;
static __thread ck_epoch_record_t *record;

__attribute__((constructor)) static void start(void)
{
	ck_epoch_init(&epoch);
}

/* A record stays on ck's list for ever, so it comes from the heap and is recycled, never freed. */
static void attach(void)
{
	record = ck_epoch_recycle(&epoch, NULL);
	if (record)
		return;
	void *memory = NULL;
	if (posix_memalign(&memory, 128, sizeof(ck_epoch_record_t)))
		abort();
	record = memory;
	ck_epoch_register(&epoch, record, NULL);
}

#define PEER_LOCALS                               \
	ck_epoch_record_t *my_record = record;    \
	(void)my_record
#define PEER_HEAD ck_epoch_entry_t
#define PEER_CALLBACK(name, type, body)                                        \
	static void name(ck_epoch_entry_t *head)                               \
	{                                                                      \
		type *object = (type *)((char *)head - offsetof(type, head));  \
		body                                                           \
	}
#define PEER_RETIRE(object, callback) ck_epoch_call(my_record, &(object)->head, callback)
#define PEER_POLL(i)                              \
	do {                                      \
		if ((i) % 64 == 0)                \
			ck_epoch_poll(my_record); \
	} while (0)
#define PEER_ATTACH() attach()
#define PEER_DETACH() ck_epoch_unregister(record)
#define PEER_FINISH() ck_epoch_barrier(my_record)
#define PEER_SETTLE() (void)0
#define PEER_LOCK() ck_epoch_begin(my_record, NULL)
#define PEER_UNLOCK() ck_epoch_end(my_record, NULL)
#define PEER_DEREF(p) ((struct block *)ck_pr_load_ptr(&(p)))
#define PEER_XCHG(p, v) ((struct block *)ck_pr_fas_ptr(&(p), v))

#include "retire.h"
