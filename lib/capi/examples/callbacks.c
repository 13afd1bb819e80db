/* Callbacks: prompt, lazy and in a hurry; retired addresses; a barrier. */
#include <assert.h>
#include <quiescent.h>
#include <stdio.h>

struct session {
    int id;
    struct qsc_rcu_head head;
};

static int closed, retired;

static void close_it(struct qsc_rcu_head *head)
{
    struct session *it = qsc_container_of(head, struct session, head);
    __atomic_add_fetch(&closed, it->id, __ATOMIC_RELAXED);
    free(it);
}

static void retire_it(void *address)
{
    __atomic_add_fetch(&retired, 1, __ATOMIC_RELAXED);
    free(address);
}

static struct session *make(int id)
{
    struct session *it = (struct session *)malloc(sizeof *it);
    assert(it);
    it->id = id;
    return it;
}

int main(void)
{
    assert(qsc_call_rcu(&make(1)->head, close_it) == 0);
    assert(qsc_call_rcu_lazy(&make(10)->head, close_it) == 0);
    assert(qsc_call_rcu_hurry(&make(100)->head, close_it) == 0);
    for (int n = 0; n < 5000; n++) {
        assert(qsc_call_rcu(&make(0)->head, close_it) == 0);
        assert(qsc_retire(malloc(32), n % 2 ? free : retire_it, 32) == 0);
    }
    assert(qsc_rcu_barrier() == 0);
    assert(__atomic_load_n(&closed, __ATOMIC_RELAXED) == 111);
    assert(__atomic_load_n(&retired, __ATOMIC_RELAXED) == 2500);
    puts("callbacks: ok");
    return 0;
}
