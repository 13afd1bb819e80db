/* A budget, reports, counters; a stalled reader is named. */
#include <assert.h>
#include <pthread.h>
#include <quiescent.h>
#include <stdio.h>
#include <string.h>

static int stalls;
static char seen[200];

static void report(int kind, const char *text, void *data)
{
    if (kind == QSC_REPORT_STALL) {
        if (*(int *)data == 0) {
            snprintf(seen, sizeof seen, "%s", text);
        }
        __atomic_add_fetch((int *)data, 1, __ATOMIC_RELEASE);
    }
}

static void *wait_for_it(void *arg)
{
    (void)arg;
    assert(qsc_synchronize_rcu() == 0);
    return NULL;
}

int main(void)
{
    assert(qsc_set(NULL, QSC_BUDGET_CALLBACKS, 100) == 0);
    qsc_rcu_read_lock(); /* nothing can be freed meanwhile */
    int queued = 0, result = 0;
    while (result == 0 && queued < 1000) {
        void *block = malloc(100);
        result = qsc_domain_retire(NULL, block, free, 100, QSC_TRY);
        if (result != 0) {
            free(block); /* still ours */
        }
        queued += result == 0;
    }
    assert(result == -ENOBUFS && queued <= 100);

    qsc_on_report(report, &stalls);
    assert(qsc_set(NULL, QSC_STALL_NS, 10000000) == 0);
    pthread_t thread;
    assert(!pthread_create(&thread, NULL, wait_for_it, NULL));
    while (!__atomic_load_n(&stalls, __ATOMIC_ACQUIRE)) {
    }
    qsc_rcu_read_unlock();
    pthread_join(thread, NULL);
    qsc_on_report(NULL, NULL);
    assert(strlen(seen) > 0);

    assert(qsc_set(NULL, QSC_BUDGET_CALLBACKS, 1 << 20) == 0);
    assert(qsc_drain(NULL, QSC_FOREVER, NULL) == 0);
    size_t size = qsc_statistics(NULL, NULL, 0) + 100;
    char *text = (char *)malloc(size);
    assert(text && qsc_statistics(NULL, text, size) < size);
    assert(strstr(text, "\"queued\": 0") && strstr(text, "\"grace_periods\": "));
    assert(qsc_statistics(NULL, text, 2) > 2 && strcmp(text, "{") == 0);
    free(text);
    puts("budget: ok");
    return 0;
}
