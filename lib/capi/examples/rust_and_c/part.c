/* The part in C of a Rust program. */
#include <quiescent.h>

int part_reads(int **place, void (*inside)(void));
void part_frees(void *block, int *freed);

int part_reads(int **place, void (*inside)(void))
{
    qsc_rcu_read_lock();
    int *number = qsc_rcu_dereference(*place);
    inside();
    int seen = *number;
    qsc_rcu_read_unlock();
    return seen;
}

struct counted {
    void *block;
    int *freed;
    struct qsc_rcu_head head;
};

static void free_it(struct qsc_rcu_head *head)
{
    struct counted *it = qsc_container_of(head, struct counted, head);
    free(it->block);
    __atomic_add_fetch(it->freed, 1, __ATOMIC_RELEASE);
    free(it);
}

void part_frees(void *block, int *freed)
{
    struct counted *it = (struct counted *)malloc(sizeof *it);
    if (it) {
        it->block = block;
        it->freed = freed;
        qsc_call_rcu(&it->head, free_it);
    }
}
