/* More threads than slots: their sections protect as well, under updates, and at any depth. */
#include <assert.h>
#include <pthread.h>
#include <quiescent.h>
#include <sched.h>
#include <stdio.h>

enum { SLOTS = 62, READERS = 4 };

static int *current, stop, without_slot;
static pthread_barrier_t taken, ended, all_inside;

/* Takes a slot until the others have ended. */
static void *take_slot(void *arg)
{
    qsc_rcu_register_thread();
    pthread_barrier_wait(&taken);
    pthread_barrier_wait(&ended);
    return arg;
}

static void *read_it(void *arg)
{
    if (qsc_rcu_register_thread() == -ENOMEM) {
        __atomic_add_fetch(&without_slot, 1, __ATOMIC_RELAXED);
    }
    qsc_rcu_read_lock();
    int *kept = qsc_rcu_dereference(current);
    pthread_barrier_wait(&all_inside);
    for (int n = 0; n < 100; n++) {
        qsc_rcu_read_lock();
        assert(*qsc_rcu_dereference(current) == 7);
        qsc_rcu_read_unlock();
        assert(*kept == 7 && qsc_rcu_read_lock_held());
    }
    assert(qsc_synchronize_rcu() == -EDEADLK);
    qsc_rcu_read_unlock();
    assert(!qsc_rcu_read_lock_held());
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        qsc_rcu_read_lock();
        assert(*qsc_rcu_dereference(current) == 7);
        qsc_rcu_repin();
        assert(*qsc_rcu_dereference(current) == 7);
        qsc_rcu_read_unlock();
        sched_yield();
    }
    return arg;
}

static void start(pthread_t *threads, int count, void *(*function)(void *))
{
    for (int n = 0; n < count; n++) {
        assert(!pthread_create(&threads[n], NULL, function, NULL));
    }
}

static void join(pthread_t *threads, int count)
{
    for (int n = 0; n < count; n++) {
        pthread_join(threads[n], NULL);
    }
}

int main(void)
{
    pthread_t holders[SLOTS], readers[READERS];
    assert(qsc_set(NULL, QSC_MAX_THREADS, SLOTS) == 0);
    current = (int *)malloc(sizeof *current);
    *current = 7;
    pthread_barrier_init(&taken, NULL, SLOTS + 1);
    pthread_barrier_init(&ended, NULL, SLOTS + 1);
    pthread_barrier_init(&all_inside, NULL, READERS + 1);
    start(holders, SLOTS, take_slot);
    pthread_barrier_wait(&taken);
    start(readers, READERS, read_it);
    pthread_barrier_wait(&all_inside);
    for (int n = 0; n < 200; n++) {
        int *it = (int *)malloc(sizeof *it);
        *it = 7;
        int *old = qsc_rcu_xchg_pointer(current, it);
        assert(qsc_synchronize_rcu() == 0);
        *old = 0; /* no reader may see this */
        free(old);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    join(readers, READERS);
    assert(without_slot == READERS);
    pthread_barrier_wait(&ended);
    join(holders, SLOTS);
    assert(qsc_synchronize_rcu() == 0);
    free(current);
    puts("unregistered: ok");
    return 0;
}
