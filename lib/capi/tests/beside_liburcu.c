/* A program that uses liburcu and this library at once, in the same threads. */
#include <assert.h>
#include <pthread.h>
#include <quiescent.h>
#include <stdio.h>
#include <urcu/urcu-memb.h>

struct object {
    int value;
    struct rcu_head theirs;
    struct qsc_rcu_head ours;
};

static struct object *first, *second;
static int stop;

static void free_theirs(struct rcu_head *head)
{
    free((char *)head - offsetof(struct object, theirs));
}

static void *read_both(void *arg)
{
    urcu_memb_register_thread();
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        urcu_memb_read_lock();
        qsc_rcu_read_lock();
        assert(qsc_rcu_dereference(first)->value == 1 && qsc_rcu_dereference(second)->value == 2);
        urcu_memb_read_unlock();
        qsc_rcu_read_unlock();
    }
    urcu_memb_unregister_thread();
    return arg;
}

static struct object *make(int value)
{
    struct object *it = malloc(sizeof *it);
    it->value = value;
    return it;
}

int main(void)
{
    pthread_t threads[2];
    first = make(1);
    second = make(2);
    urcu_memb_register_thread();
    for (int n = 0; n < 2; n++) {
        assert(!pthread_create(&threads[n], NULL, read_both, NULL));
    }
    for (int n = 0; n < 3000; n++) {
        urcu_memb_call_rcu(&qsc_rcu_xchg_pointer(first, make(1))->theirs, free_theirs);
        struct object *old = qsc_rcu_xchg_pointer(second, make(2));
        assert(qsc_free_rcu(old, ours) == 0);
        if (n % 100 == 0) {
            urcu_memb_synchronize_rcu();
            assert(qsc_synchronize_rcu() == 0);
        }
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int n = 0; n < 2; n++) {
        pthread_join(threads[n], NULL);
    }
    urcu_memb_barrier();
    assert(qsc_rcu_barrier() == 0);
    urcu_memb_unregister_thread();
    free(first);
    free(second);
    puts("beside_liburcu: ok");
    return 0;
}
