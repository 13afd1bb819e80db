/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A program of liburcu, for the flavour of its macro (URCU_MEMB, URCU_MB, URCU_SIGNAL, URCU_BP, URCU_QSBR):
 *   program CASE       prints `ok CASE`, and what it counted; exits with 1 at the first thing that is wrong
 * Compiled against the distribution's headers, with and without inlined readers (-D_LGPL_SOURCE), and run
 * with our library by ci/urcu-abi.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef URCU_QSBR
#include <urcu-qsbr.h>
#elif defined(URCU_BP)
#include <urcu-bp.h>
#else
#include <urcu.h>
#endif
#include <urcu-call-rcu.h>
#include <urcu-defer.h>

#define CHECK(what)                                                                       \
	do {                                                                              \
		if (!(what)) {                                                            \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
			_exit(1);                                                         \
		}                                                                         \
	} while (0)

#ifdef URCU_QSBR
#define QUIESCENT() rcu_quiescent_state()
#define OFFLINE() rcu_thread_offline()
#define ONLINE() rcu_thread_online()
#else
#define QUIESCENT() ((void)0)
#define OFFLINE() ((void)0)
#define ONLINE() ((void)0)
#endif

enum { ALIVE = 0x1235, FREED = 0xdead };

struct node {
	int state;
	struct rcu_head head;
	int number;
};

static struct node *current;
static int ended, called, synchronized;
static long reads;

static struct node *new_node(int number)
{
	struct node *node = malloc(sizeof *node);

	CHECK(node);
	node->state = ALIVE;
	node->number = number;
	return node;
}

/* Memory that readers might use is marked, and kept for a while, before it is given back. */
static void free_node(struct node *node)
{
	static struct node *kept[64];
	static unsigned int at;
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct node *old;

	CHECK(__atomic_exchange_n(&node->state, FREED, __ATOMIC_SEQ_CST) == ALIVE);
	pthread_mutex_lock(&lock);
	old = kept[at % 64];
	kept[at++ % 64] = node;
	pthread_mutex_unlock(&lock);
	free(old);
}

static void free_called(struct rcu_head *head)
{
	/* A callback may read. */
	rcu_read_lock();
	CHECK(rcu_dereference(current)->state == ALIVE);
	rcu_read_unlock();
	free_node(caa_container_of(head, struct node, head));
	__atomic_add_fetch(&called, 1, __ATOMIC_SEQ_CST);
}

static void read_once(int pauses)
{
	struct node *node;

	rcu_read_lock();
	rcu_read_lock();
	node = rcu_dereference(current);
	CHECK(node->state == ALIVE);
	rcu_read_unlock();
	if (pauses)
		usleep(1000);
	else
		for (int i = 0; i < 20; i++)
			CHECK(__atomic_load_n(&node->state, __ATOMIC_RELAXED) == ALIVE);
	CHECK(node->state == ALIVE);
	rcu_read_unlock();
	QUIESCENT();
}

static void *reader(void *pauses)
{
	long mine = 0;

	rcu_register_thread();
	while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE)) {
		read_once(pauses && mine % 16 == 0);
		mine++;
		if (mine % 64 == 0) {
			OFFLINE();
			sched_yield();
			ONLINE();
		}
	}
	rcu_unregister_thread();
	__atomic_add_fetch(&reads, mine, __ATOMIC_RELAXED);
	return NULL;
}

static void update(int number, int calls)
{
	struct node *old = rcu_xchg_pointer(&current, new_node(number));

	if (calls) {
		call_rcu(&old->head, free_called);
	} else {
		synchronize_rcu();
		free_node(old);
		synchronized++;
	}
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Readers and two writers, by waiting and by callbacks. */
static void *writer(void *calls)
{
	int number = 0;
	double until = seconds() + 1;

	rcu_register_thread();
	while (number < 200 || seconds() < until) {
		update(number++, calls != NULL);
		QUIESCENT();
		if (calls && number % 64 == 0)
			usleep(1000);
	}
	rcu_unregister_thread();
	return (void *)(long)number;
}

static void readers_and_writers(int count)
{
	pthread_t threads[512], writers[2];
	void *made[2];

	current = new_node(0);
	ended = 0;
	for (long i = 0; i < count; i++)
		CHECK(!pthread_create(&threads[i], NULL, reader, (void *)(i % 2)));
	for (long i = 0; i < 2; i++)
		CHECK(!pthread_create(&writers[i], NULL, writer, (void *)i));
	OFFLINE();
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_join(writers[i], &made[i]));
	__atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < count; i++)
		CHECK(!pthread_join(threads[i], NULL));
	ONLINE();
	rcu_barrier();
	CHECK(called == (long)made[1] && synchronized == (long)made[0] && reads > 0);
}

static void threads(void)
{
	readers_and_writers(4);
}

static void many(void)
{
	readers_and_writers(300);
}

/* A grace period waits for a section that is open, and only for that. */
static int phase;

static void *holder(void *unused)
{
	(void)unused;
	rcu_register_thread();
	rcu_read_lock();
	__atomic_store_n(&phase, 1, __ATOMIC_SEQ_CST);
	usleep(200000);
	__atomic_store_n(&phase, 2, __ATOMIC_SEQ_CST);
	rcu_read_unlock();
	QUIESCENT();
	OFFLINE();
	while (__atomic_load_n(&phase, __ATOMIC_SEQ_CST) != 3)
		usleep(1000);
	ONLINE();
	rcu_unregister_thread();
	return NULL;
}

static void waits(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, holder, NULL));
	while (__atomic_load_n(&phase, __ATOMIC_SEQ_CST) != 1)
		usleep(1000);
	synchronize_rcu();
	CHECK(__atomic_load_n(&phase, __ATOMIC_SEQ_CST) == 2);
	CHECK(!rcu_read_ongoing() || sizeof(current) == 0
#ifdef URCU_QSBR
	      || 1
#endif
	);
	synchronize_rcu();
	__atomic_store_n(&phase, 3, __ATOMIC_SEQ_CST);
	CHECK(!pthread_join(thread, NULL));
}

/* Callbacks and barriers: everything before a barrier has run after it; callbacks may queue and wait. */
static void again(struct rcu_head *head)
{
	struct node *node = caa_container_of(head, struct node, head);

	if (node->number-- > 0) {
		call_rcu(head, again);
		return;
	}
#ifndef COMPAT
	OFFLINE();
	synchronize_rcu();
#endif
	free(node);
	__atomic_add_fetch(&called, 1, __ATOMIC_SEQ_CST);
}

static void defers(void *count)
{
	__atomic_add_fetch((int *)count, 1, __ATOMIC_SEQ_CST);
}

static void callbacks(void)
{
	static int deferred;
	struct call_rcu_data *data;

	current = new_node(0);
	for (int i = 0; i < 10000; i++)
		call_rcu(&new_node(i)->head, free_called);
	rcu_barrier();
	CHECK(called == 10000);
	called = 0;
	call_rcu(&new_node(3)->head, again);
	for (int i = 0; i < 100 && !__atomic_load_n(&called, __ATOMIC_SEQ_CST); i++) {
		rcu_barrier();
		usleep(10000);
	}
	CHECK(called == 1);
	CHECK(!rcu_defer_register_thread());
	for (int i = 0; i < 1000; i++)
		defer_rcu(defers, &deferred);
	rcu_defer_barrier();
	CHECK(deferred == 1000);
	defer_rcu(defers, &deferred);
	rcu_defer_unregister_thread();
	CHECK(deferred == 1001);

	data = create_call_rcu_data(0, -1);
	CHECK(data && get_default_call_rcu_data() && data != get_default_call_rcu_data());
	CHECK(!get_thread_call_rcu_data());
	set_thread_call_rcu_data(data);
	CHECK(get_thread_call_rcu_data() == data && get_call_rcu_data() == data);
#ifndef COMPAT
	CHECK(get_call_rcu_thread(data) == get_call_rcu_thread(data));
#endif
	called = 0;
	call_rcu(&new_node(1)->head, free_called);
	rcu_barrier();
	CHECK(called == 1);
	set_thread_call_rcu_data(NULL);
#ifndef COMPAT
	pthread_t thread = get_call_rcu_thread(data);
#endif
	call_rcu_data_free(data);

#ifndef COMPAT
#ifdef OURS /* its thread ends with the handle, and is joined by the program */
	CHECK(!pthread_join(thread, NULL));
#endif
	CHECK(!create_all_cpu_call_rcu_data(0));
	struct call_rcu_data *other = get_cpu_call_rcu_data(0);
	CHECK(other && other == get_cpu_call_rcu_data(0));
	CHECK(set_cpu_call_rcu_data(0, other) != 0 && errno == EEXIST);
	CHECK(set_cpu_call_rcu_data(1 << 20, other) != 0 && errno == EINVAL);
	call_rcu(&new_node(1)->head, free_called);
	free_all_cpu_call_rcu_data();
	rcu_barrier();
	CHECK(called == 2 && !get_cpu_call_rcu_data(0));
#else
	CHECK(!create_all_cpu_call_rcu_data(0));
	free_all_cpu_call_rcu_data();
	struct urcu_gp_poll_state state = start_poll_synchronize_rcu();
	OFFLINE();
	while (!poll_state_synchronize_rcu(state))
		sched_yield();
	ONLINE();
#endif
}

/* A child with and without the calls that the original asks for: it reads, waits and has callbacks. */
static int in_child(int announced)
{
	pid_t child;
	int status;

	call_rcu(&new_node(1)->head, free_called);
	if (announced)
		call_rcu_before_fork();
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		if (announced)
			call_rcu_after_fork_child();
		read_once(0);
		synchronize_rcu();
		if (announced) {
			int before = called;
			call_rcu(&new_node(2)->head, free_called);
			rcu_barrier();
			CHECK(called > before);
			update(3, 1);
			rcu_barrier();
		}
		_exit(0);
	}
	if (announced)
		call_rcu_after_fork_parent();
	OFFLINE();
	CHECK(waitpid(child, &status, 0) == child);
	ONLINE();
	return status;
}

static void forks(void)
{
	pthread_t thread;

	current = new_node(0);
	CHECK(!pthread_create(&thread, NULL, reader, NULL));
	for (int i = 0; i < 40; i++)
		CHECK(in_child(1) == 0);
#ifdef OURS /* the original's child hangs, or not, by chance */
	for (int i = 0; i < 40; i++)
		CHECK(in_child(0) == 0);
#endif
	__atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
	OFFLINE();
	CHECK(!pthread_join(thread, NULL));
	ONLINE();
	rcu_barrier();
}

/* Threads that come and go, some at the end of the process. */
static void *short_lived(void *unused)
{
	(void)unused;
	rcu_register_thread();
	read_once(0);
	update(1, 1);
	rcu_unregister_thread();
	return NULL;
}

static void *leaves(void *unused)
{
	(void)unused;
	rcu_register_thread();
	update(2, 1);
	printf("ok ends\n");
	exit(0); /* of the process, by this thread, while others read and callbacks are queued */
}

static void ends(void)
{
	pthread_t threads[64];

	current = new_node(0);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 64; i++)
			CHECK(!pthread_create(&threads[i], NULL, short_lived, NULL));
		OFFLINE();
		for (int i = 0; i < 64; i++)
			CHECK(!pthread_join(threads[i], NULL));
		ONLINE();
		synchronize_rcu();
	}
	rcu_barrier();
	CHECK(called == 20 * 64);
	CHECK(!pthread_create(&threads[0], NULL, reader, NULL));
	CHECK(!pthread_create(&threads[1], NULL, leaves, NULL));
	OFFLINE();
	pthread_join(threads[1], NULL);
}

#ifdef URCU_BP
/* Sections in signal handlers: the first of a thread may be there. */
static void handler(int signal)
{
	(void)signal;
	rcu_read_lock();
	CHECK(rcu_dereference(current)->state == ALIVE);
	rcu_read_unlock();
}

static void *signalled(void *unused)
{
	(void)unused;
	while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE))
		read_once(0);
	return NULL;
}

static void signals(void)
{
	struct sigaction action = { .sa_handler = handler };
	pthread_t thread;

	current = new_node(0);
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	for (int round = 0; round < 200; round++) {
		ended = 0;
		CHECK(!pthread_create(&thread, NULL, signalled, NULL));
		for (int i = 0; i < 10; i++) {
			pthread_kill(thread, SIGUSR1);
			update(i, i % 2);
		}
		__atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
		CHECK(!pthread_join(thread, NULL));
	}
	rcu_barrier();
}
#endif

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = {
		{ "threads", threads }, { "many", many },   { "waits", waits }, { "callbacks", callbacks },
		{ "forks", forks },	{ "ends", ends },
#ifdef URCU_BP
		{ "signals", signals },
#endif
	};

	CHECK(count == 2);
	rcu_register_thread();
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		if (strcmp(all[i].name, arguments[1]))
			continue;
		all[i].run();
		rcu_unregister_thread();
		printf("ok %s\n", arguments[1]);
		return 0;
	}
	return 2;
}
