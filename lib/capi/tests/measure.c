/*
 * Beside liburcu (flavour memb, its inlined readers), in one process.
 *   measure          nanoseconds of a read pair in turns, the median of each, and their ratio
 *   measure enqueue  prints nothing; for callgrind, which counts the functions enqueue_ours and enqueue_theirs
 */
#define _LGPL_SOURCE
#include <quiescent.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <urcu/urcu-memb.h>

enum { ROUNDS = 21, PAIRS = 1000000, CALLS = 2000 };

/* For ci/c-api, which counts its instructions. */
__attribute__((noinline)) void qsc_pair(void)
{
    qsc_rcu_read_lock();
    qsc_rcu_read_unlock();
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

__attribute__((noinline)) static double ours(void)
{
    double begun = now();
    for (int n = 0; n < PAIRS; n++) {
        qsc_rcu_read_lock();
        qsc_rcu_read_unlock();
    }
    return (now() - begun) / PAIRS;
}

__attribute__((noinline)) static double theirs(void)
{
    double begun = now();
    for (int n = 0; n < PAIRS; n++) {
        urcu_memb_read_lock();
        urcu_memb_read_unlock();
    }
    return (now() - begun) / PAIRS;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void ignore_ours(struct qsc_rcu_head *head)
{
    (void)head;
}

static void ignore_theirs(struct rcu_head *head)
{
    (void)head;
}

static struct qsc_rcu_head our_heads[CALLS];
static struct rcu_head their_heads[CALLS];

__attribute__((noinline)) void enqueue_ours(void)
{
    for (int n = 0; n < CALLS; n++) {
        qsc_call_rcu(&our_heads[n], ignore_ours);
    }
}

__attribute__((noinline)) void enqueue_theirs(void)
{
    for (int n = 0; n < CALLS; n++) {
        urcu_memb_call_rcu(&their_heads[n], ignore_theirs);
    }
}

int main(int argc, char **argv)
{
    urcu_memb_register_thread();
    if (argc > 1 && strcmp(argv[1], "enqueue") == 0) {
        qsc_set(NULL, QSC_PROMPT_NS, UINT64_MAX); /* the time that valgrind takes is no part of it */
        for (int n = 0; n < 20; n++) { /* with memory that was used before, as in a program that goes on */
            enqueue_ours();
            enqueue_theirs();
            qsc_rcu_barrier();
            urcu_memb_barrier();
        }
        return 0;
    }
    double a[ROUNDS], b[ROUNDS];
    for (int n = 0; n < ROUNDS; n++) {
        a[n] = ours();
        b[n] = theirs();
    }
    qsort(a, ROUNDS, sizeof *a, by_size);
    qsort(b, ROUNDS, sizeof *b, by_size);
    printf("read pair: %.2f ns, liburcu memb inlined %.2f ns, ratio %.2f\n", a[ROUNDS / 2], b[ROUNDS / 2],
           a[ROUNDS / 2] / b[ROUNDS / 2]);
    qsc_pair();
    return 0;
}
