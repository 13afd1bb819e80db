/* The child of a fork; exit on another thread than main's; the end of the library's threads. */
#include <assert.h>
#include <pthread.h>
#include <quiescent.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int ran;

static void count(struct qsc_rcu_head *head)
{
    (void)head;
    __atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
}

static void *leave(void *arg)
{
    (void)arg;
    qsc_rcu_read_lock();
    qsc_rcu_read_unlock();
    puts("fork_exit: ok");
    exit(0);
}

int main(void)
{
    static struct qsc_rcu_head heads[3];
    assert(qsc_call_rcu_lazy(&heads[0], count) == 0);
    qsc_rcu_read_lock();
    pid_t child = fork();
    assert(child >= 0);
    if (child == 0) { /* everything works; what was queued before the fork is the parent's */
        assert(qsc_fork_generation() == 1);
        assert(qsc_rcu_read_lock_held());
        qsc_rcu_read_unlock();
        assert(qsc_synchronize_rcu() == 0);
        assert(qsc_call_rcu(&heads[1], count) == 0);
        assert(qsc_rcu_barrier() == 0);
        _exit(__atomic_load_n(&ran, __ATOMIC_RELAXED) == 1 ? 0 : 1);
    }
    qsc_rcu_read_unlock();
    int status = -1;
    assert(waitpid(child, &status, 0) == child && status == 0);

    assert(qsc_shutdown(QSC_FOREVER) == 0);
    assert(__atomic_load_n(&ran, __ATOMIC_RELAXED) == 1);
    /* After it everything works as before; the worker is started again. */
    assert(qsc_call_rcu(&heads[2], count) == 0);
    assert(qsc_rcu_barrier() == 0);
    assert(__atomic_load_n(&ran, __ATOMIC_RELAXED) == 2);

    pthread_t thread;
    assert(!pthread_create(&thread, NULL, leave, NULL));
    pthread_join(thread, NULL);
    return 1;
}
