/* A hash table of buckets, and a list, which readers walk while they change. Names without a prefix. */
#define QSC_SHORT_NAMES
#include <assert.h>
#include <pthread.h>
#include <quiescent/list.h>
#include <stdio.h>

enum { BUCKETS = 8, KEYS = 64 };

struct node {
    int key, value;
    struct hlist_node in_bucket;
    struct list_head in_list;
    struct rcu_head head;
};

static struct hlist_head buckets[BUCKETS];
static LIST_HEAD(all);
static int stop;

/* Inside a section. */
static struct node *find(int key)
{
    struct node *it;
    hlist_for_each_entry_rcu(it, &buckets[key % BUCKETS], in_bucket) {
        if (it->key == key) {
            return it;
        }
    }
    return NULL;
}

static void *read_all(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        int seen = 0;
        struct node *it;
        rcu_read_lock();
        list_for_each_entry_rcu(it, &all, in_list) {
            assert(it->value == 3 * it->key);
            seen++;
        }
        /* Every key is always there; one that is replaced may be seen twice. */
        assert(seen >= KEYS);
        for (int key = 0; key < KEYS; key++) {
            it = find(key);
            assert(it && it->key == key && it->value == 3 * key);
        }
        rcu_read_unlock();
    }
    return NULL;
}

static struct node *make(int key)
{
    struct node *it = (struct node *)malloc(sizeof *it);
    assert(it);
    it->key = key;
    it->value = 3 * key;
    return it;
}

int main(void)
{
    for (int key = 0; key < KEYS; key++) {
        struct node *it = make(key);
        hlist_add_head_rcu(&it->in_bucket, &buckets[key % BUCKETS]);
        list_add_tail_rcu(&it->in_list, &all);
    }
    pthread_t threads[2];
    for (int n = 0; n < 2; n++) {
        assert(!pthread_create(&threads[n], NULL, read_all, NULL));
    }
    for (int n = 0; n < 3000; n++) {
        struct node *old = find(n % KEYS), *it = make(n % KEYS);
        assert(old);
        if (n % 3) {
            hlist_replace_rcu(&old->in_bucket, &it->in_bucket);
            list_replace_rcu(&old->in_list, &it->in_list);
        } else { /* the new one before the old one goes */
            hlist_add_behind_rcu(&it->in_bucket, &old->in_bucket);
            hlist_del_rcu(&old->in_bucket);
            list_add_rcu(&it->in_list, &old->in_list);
            list_del_rcu(&old->in_list);
        }
        assert(kfree_rcu(old, head) == 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int n = 0; n < 2; n++) {
        pthread_join(threads[n], NULL);
    }
    struct node *it, *ahead;
    int count = 0;
    list_for_each_entry_safe(it, ahead, &all, in_list) {
        list_del_rcu(&it->in_list);
        free(it);
        count++;
    }
    assert(count == KEYS && list_empty(&all));
    assert(!list_first_or_null_rcu(&all, struct node, in_list));
    rcu_barrier();
    puts("lists: ok");
    return 0;
}
