/* A configuration that threads read and one thread replaces. */
#include <assert.h>
#include <pthread.h>
#include <quiescent.h>
#include <stdio.h>

struct config {
    int limit, twice;
    struct qsc_rcu_head head;
};

static struct config *current;
static int stop;

static struct config *make(int limit)
{
    struct config *it = (struct config *)malloc(sizeof *it);
    assert(it);
    it->limit = limit;
    it->twice = 2 * limit;
    return it;
}

static void *read_it(void *count)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        qsc_rcu_read_lock();
        struct config *it = qsc_rcu_dereference(current);
        assert(it->twice == 2 * it->limit); /* never half of one and half of another */
        qsc_rcu_read_unlock();
        ++*(unsigned long *)count;
    }
    return NULL;
}

int main(void)
{
    enum { READERS = 3 };
    pthread_t threads[READERS];
    unsigned long counts[READERS] = {0};
    current = make(0);
    for (int n = 0; n < READERS; n++) {
        assert(!pthread_create(&threads[n], NULL, read_it, &counts[n]));
    }
    for (int n = 1; n <= 2000; n++) {
        struct config *old = qsc_rcu_xchg_pointer(current, make(n));
        if (n % 4 == 0) { /* wait, and free it at once */
            assert(qsc_synchronize_rcu() == 0);
            free(old);
        } else { /* or leave it to the library */
            assert(qsc_free_rcu(old, head) == 0);
        }
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int n = 0; n < READERS; n++) {
        pthread_join(threads[n], NULL);
    }
    assert(qsc_rcu_barrier() == 0);
    free(current);
    puts("readers: ok");
    return 0;
}
