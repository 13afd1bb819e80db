/* A domain for slow readers, and one whose readers sleep and end on another thread. */
#include <assert.h>
#include <pthread.h>
#include <quiescent.h>
#include <stdio.h>
#include <time.h>

static qsc_domain *reports, *tasks;
static int ran;

static void count(struct qsc_rcu_head *head)
{
    (void)head;
    __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
}

static void *end_it(void *counted)
{
    struct timespec time = {0, 20000000};
    nanosleep(&time, NULL);
    qsc_srcu_up_read(tasks, *(int *)counted);
    return NULL;
}

int main(void)
{
    reports = qsc_domain_new("reports");
    tasks = qsc_srcu_new("tasks");

    qsc_section section = qsc_domain_read_lock(reports);
    assert(qsc_domain_read_lock_held(reports) && !qsc_rcu_read_lock_held());
    assert(qsc_synchronize_rcu() == 0); /* does not wait for it */
    assert(qsc_synchronize(reports, QSC_FOREVER, 0) == -EDEADLK);
    assert(qsc_domain_free(reports) == -EBUSY);
    qsc_domain_read_unlock(reports, section);
    assert(qsc_synchronize(reports, QSC_FOREVER, QSC_EXPEDITED) == 0);

    int counted = qsc_srcu_down_read(tasks);
    assert(counted == 0 || counted == 1);
    assert(qsc_synchronize(tasks, 1000000, 0) == -ETIMEDOUT);
    pthread_t thread;
    assert(!pthread_create(&thread, NULL, end_it, &counted));
    assert(qsc_synchronize(tasks, QSC_FOREVER, 0) == 0); /* until the thread has ended it */
    pthread_join(thread, NULL);
    section = qsc_domain_read_lock(tasks);
    qsc_domain_read_unlock(tasks, section);

    struct qsc_rcu_head heads[2];
    assert(qsc_domain_call(reports, &heads[0], count, QSC_PROMPT) == 0);
    assert(qsc_domain_call(tasks, &heads[1], count, QSC_LAZY) == 0);
    assert(qsc_barrier(reports) == 0 && qsc_barrier(tasks) == 0);
    assert(__atomic_load_n(&ran, __ATOMIC_RELAXED) == 2);
    assert(qsc_domain_free(reports) == 0 && qsc_domain_free(tasks) == 0);
    puts("domains: ok");
    return 0;
}
