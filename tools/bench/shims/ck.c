/* Concurrency Kit's ck_epoch. The record pointer stays in a register over a loop: its best case. */
#define PEER(name) qb_ck_##name
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
	if (record)
		return;
	record = ck_epoch_recycle(&epoch, NULL);
	if (record)
		return;
	void *memory = NULL;
	if (posix_memalign(&memory, 128, sizeof(ck_epoch_record_t)))
		abort();
	record = memory;
	ck_epoch_register(&epoch, record, NULL);
}

static void detach(void)
{
	if (record)
		ck_epoch_unregister(record);
	record = NULL;
}

#define PEER_LOCALS ck_epoch_record_t *my_record = record
#define PEER_LOCK() ck_epoch_begin(my_record, NULL)
#define PEER_UNLOCK() ck_epoch_end(my_record, NULL)
#define PEER_DEREF(p) ((struct qb_value *)ck_pr_load_ptr(&(p)))
#define PEER_REPIN()                              \
	do {                                      \
		ck_epoch_end(my_record, NULL);    \
		ck_epoch_begin(my_record, NULL);  \
	} while (0)
#define PEER_REPIN_IF_IMPLICIT() (void)0
#define PEER_ATTACH() attach()
#define PEER_DETACH() detach()
#define PEER_ONLINE() (void)0
#define PEER_OFFLINE() (void)0
#define PEER_SYNC() ck_epoch_synchronize(my_record)

#include "loops.h"
