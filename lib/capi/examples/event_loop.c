/* Callbacks that run where the program wants: in its event loop. */
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <quiescent.h>
#include <stdio.h>
#include <unistd.h>

static int wake[2];
static pthread_t loop;
static int ran;

static void ready(void) /* on the worker */
{
    assert(write(wake[1], "", 1) == 1);
}

static void callback(struct qsc_rcu_head *head)
{
    (void)head;
    assert(pthread_equal(pthread_self(), loop));
    ran++;
}

int main(void)
{
    static struct qsc_rcu_head heads[10];
    loop = pthread_self();
    assert(pipe(wake) == 0);
    qsc_on_ready(ready);
    assert(qsc_set(NULL, QSC_CLOSURES, QSC_DRAINED) == 0);
    for (int n = 0; n < 10; n++) {
        assert(qsc_call_rcu(&heads[n], callback) == 0);
    }
    while (ran < 10) {
        struct pollfd events = {wake[0], POLLIN, 0};
        char byte;
        assert(poll(&events, 1, -1) == 1 && read(wake[0], &byte, 1) == 1);
        qsc_drain_ready(NULL, 100, 1000000);
    }
    assert(qsc_set(NULL, QSC_CLOSURES, QSC_WORKER) == 0);
    qsc_on_ready(NULL);
    puts("event_loop: ok");
    return 0;
}
