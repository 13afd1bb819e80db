/* Memory that a thread keeps until a grace period has passed, without a callback and without waiting. */
#include <assert.h>
#include <quiescent.h>
#include <sched.h>
#include <stdio.h>

int main(void)
{
    struct qsc_cookie passed = {{0}};
    assert(qsc_poll(passed));
    void *block = malloc(64);
    struct qsc_cookie cookie = qsc_start_poll_synchronize_rcu();
    while (!qsc_poll_state_synchronize_rcu(cookie)) { /* polling alone completes it */
        sched_yield();
    }
    free(block);
    assert(qsc_cond_synchronize_rcu(cookie) == 0); /* has passed: does not wait */

    qsc_rcu_read_lock(); /* one that cannot pass: the section is its own */
    cookie = qsc_start_poll_synchronize_rcu();
    assert(!qsc_poll_state_synchronize_rcu(cookie));
    assert(qsc_cond_synchronize_rcu(cookie) == -EDEADLK);
    qsc_rcu_read_unlock();
    assert(qsc_cond_synchronize(cookie, QSC_FOREVER) == 0);
    puts("cookies: ok");
    return 0;
}
