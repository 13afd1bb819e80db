/*
 * What the header says about wrong input, and about sections in all their states. DEBUG_CHECKS: the library
 * has debug assertions.
 */
#include <assert.h>
#include <pthread.h>
#include <quiescent/list.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int ran, inside[4];
static qsc_domain *domain, *srcu;

static void count(struct qsc_rcu_head *head)
{
    (void)head;
    __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
}

static void wait_inside(struct qsc_rcu_head *head)
{
    (void)head;
    inside[0] = qsc_synchronize_rcu();
    inside[1] = qsc_rcu_barrier();
    inside[2] = qsc_shutdown(0);
    inside[3] = qsc_call_rcu(head, count); /* its callback has begun: it may be queued again */
}

static void null_and_range(void)
{
    struct qsc_rcu_head head;
    void *block = malloc(1);
    assert(qsc_call_rcu(NULL, count) == -EINVAL);
    assert(qsc_call_rcu(&head, NULL) == -EINVAL);
    assert(qsc_domain_call(domain, &head, count, 3) == -EINVAL);
    assert(qsc_domain_call(domain, &head, count, 8) == -EINVAL);
    assert(qsc_domain_free_head(NULL, NULL, 0, 0, 0) == -EINVAL);
    assert(qsc_domain_free_head(NULL, &head, 4096, 0, 0) == -EINVAL);
    assert(qsc_domain_free_head(NULL, &head, 0, 0, QSC_LAZY) == -EINVAL);
    assert(qsc_retire(NULL, free, 0) == -EINVAL);
    assert(qsc_retire(block, NULL, 0) == -EINVAL);
    assert(qsc_domain_retire(NULL, block, free, 0, 1) == -EINVAL);
    free(block);
    assert(qsc_synchronize(NULL, QSC_FOREVER, 2) == -EINVAL);
    assert(qsc_domain_free(NULL) == -EINVAL);
    assert(qsc_srcu_down_read(NULL) == -EINVAL && qsc_srcu_down_read(domain) == -EINVAL);
    assert(qsc_set(NULL, 0, 1) == -EINVAL && qsc_set(NULL, 99, 1) == -EINVAL);
    assert(qsc_set(domain, QSC_FENCED, 1) == -EINVAL && qsc_set(NULL, QSC_FENCED, 2) == -EINVAL);
    assert(qsc_set(NULL, QSC_CLOSURES, 3) == -EINVAL && qsc_set(NULL, QSC_ON_WORKER, 2) == -EINVAL);
    assert(qsc_set(NULL, QSC_MAX_THREADS, 0) == -EINVAL);
    for (int code = 0; code < 200; code++) {
        assert(strlen(qsc_strerror(-code)) > 0);
    }
    assert(strcmp(qsc_strerror(-EDEADLK), qsc_strerror(-9999)) != 0);
}

static void waiting_where_it_would_not_end(void)
{
    struct qsc_rcu_head head;
    qsc_rcu_read_lock();
    assert(qsc_synchronize_rcu() == -EDEADLK && qsc_synchronize_rcu_expedited() == -EDEADLK);
    assert(qsc_rcu_barrier() == -EDEADLK && qsc_shutdown(0) == -EDEADLK);
    assert(qsc_synchronize(domain, QSC_FOREVER, 0) == -EDEADLK);
    qsc_rcu_read_unlock();
    qsc_section section = qsc_domain_read_lock(srcu);
    assert(qsc_domain_read_lock_held(srcu));
    assert(qsc_synchronize(srcu, QSC_FOREVER, 0) == -EDEADLK);
    qsc_domain_read_unlock(srcu, section);
    assert(!qsc_domain_read_lock_held(srcu));
    ran = 0;
    assert(qsc_call_rcu_hurry(&head, wait_inside) == 0);
    assert(qsc_rcu_barrier() == 0 && qsc_rcu_barrier() == 0);
    assert(inside[0] == -EBUSY && inside[1] == -EBUSY && inside[2] == -EBUSY);
    assert(inside[3] == 0 && __atomic_load_n(&ran, __ATOMIC_RELAXED) == 1);
}

static void head_queued_twice(void)
{
    static struct qsc_rcu_head heads[100];
    ran = 0;
    for (int n = 0; n < 3; n++) { /* but as often as one likes one after the other */
        assert(qsc_call_rcu(&heads[0], count) == 0);
#ifdef DEBUG_CHECKS
        assert(qsc_call_rcu(&heads[0], count) == -EALREADY);
        assert(qsc_domain_call(domain, &heads[0], count, QSC_HURRY) == -EALREADY);
#endif
        assert(qsc_rcu_barrier() == 0);
    }
    assert(__atomic_load_n(&ran, __ATOMIC_RELAXED) == 3);
    /* One that was refused is not queued. */
    int queued = 0;
    qsc_domain *full = qsc_domain_new("full");
    assert(qsc_set(full, QSC_BUDGET_CALLBACKS, 50) == 0);
    qsc_section section = qsc_domain_read_lock(full);
    while (queued < 100 && qsc_domain_call(full, &heads[queued], count, QSC_TRY) == 0) {
        queued++;
    }
    assert(queued < 100);
    assert(qsc_domain_call(full, &heads[queued], count, QSC_TRY) == -ENOBUFS);
    assert(qsc_domain_call(full, &heads[queued], count, QSC_LAZY) == 0); /* without asking: beyond it */
    qsc_domain_read_unlock(full, section);
    assert(qsc_barrier(full) == 0 && __atomic_load_n(&ran, __ATOMIC_RELAXED) == 3 + queued + 1);
    assert(qsc_domain_free(full) == 0);
}

static void *sections_of_every_depth(void *arg)
{
    enum { DEEP = 70000 }; /* the word has room for 32767 */
    for (int n = 0; n < DEEP; n++) {
        qsc_rcu_read_lock();
    }
    assert(qsc_rcu_read_lock_held());
    struct qsc_cookie cookie = qsc_start_poll(NULL);
    for (int n = 1; n < DEEP; n++) {
        qsc_rcu_read_unlock();
        if (n % 1000 == 0) {
            qsc_rcu_read_lock();
            qsc_rcu_repin();
            qsc_rcu_read_unlock();
        }
    }
    assert(qsc_rcu_read_lock_held() && !qsc_poll(cookie));
    qsc_rcu_read_unlock();
    assert(!qsc_rcu_read_lock_held() && qsc_cond_synchronize_rcu(cookie) == 0);
    return arg;
}

static pthread_key_t key;

static void read_at_the_end(void *round)
{
    qsc_rcu_read_lock();
    assert(qsc_rcu_read_lock_held());
    qsc_rcu_read_unlock();
    assert(!qsc_rcu_read_lock_held());
    if ((intptr_t)round < 4) { /* also in the rounds after the library's own */
        pthread_setspecific(key, (void *)((intptr_t)round + 1));
    }
}

static void *ends(void *arg)
{
    pthread_setspecific(key, (void *)1);
    if (arg) {
        assert(qsc_rcu_register_thread() == 0);
        qsc_rcu_unregister_thread();
    }
    return NULL;
}

static long handled, reads;

static void handler(int signal)
{
    (void)signal;
    qsc_rcu_read_lock();
    __atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
    qsc_rcu_read_unlock();
}

static int stop;

static void *reads_under_signals(void *arg)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        qsc_rcu_read_lock();
        qsc_rcu_read_lock();
        qsc_rcu_read_unlock();
        qsc_rcu_read_unlock();
        __atomic_add_fetch(&reads, 1, __ATOMIC_RELAXED);
    }
    assert(!qsc_rcu_read_lock_held());
    return arg;
}

static void signals(void)
{
    pthread_t thread;
    signal(SIGUSR1, handler);
    assert(!pthread_create(&thread, NULL, reads_under_signals, NULL));
    for (int n = 0; n < 2000 || !__atomic_load_n(&handled, __ATOMIC_RELAXED) ||
                    !__atomic_load_n(&reads, __ATOMIC_RELAXED); n++) {
        assert(pthread_kill(thread, SIGUSR1) == 0);
        if (n % 10 == 0) {
            assert(qsc_synchronize_rcu() == 0);
        }
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
}

int main(void)
{
    pthread_t thread;
    domain = qsc_domain_new("conformance");
    srcu = qsc_srcu_new(NULL);
    null_and_range();
    waiting_where_it_would_not_end();
    head_queued_twice();
    sections_of_every_depth(NULL);
    assert(!pthread_create(&thread, NULL, sections_of_every_depth, NULL));
    pthread_join(thread, NULL);
    assert(!pthread_key_create(&key, read_at_the_end));
    for (intptr_t n = 0; n < 300; n++) {
        assert(!pthread_create(&thread, NULL, ends, (void *)(n % 2)));
        pthread_join(thread, NULL);
        assert(qsc_synchronize_rcu() == 0); /* no section is left of it */
    }
    signals();
    assert(qsc_set(NULL, QSC_MAX_THREADS, 64) == 0);
    assert(qsc_shutdown(QSC_FOREVER) == 0 && qsc_shutdown(QSC_FOREVER) == 0);
    waiting_where_it_would_not_end();
    null_and_range();
    assert(qsc_domain_free(domain) == 0 && qsc_domain_free(srcu) == 0);
    puts("conformance: ok");
    return 0;
}
