/* LIBRARY is loaded, used, and closed, while threads that have used it live and end. */
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void (*lock)(void), (*unlock)(void);
static int (*call)(void *, void (*)(void *));
static pthread_barrier_t used, closed;

static void free_it(void *head)
{
    free(head);
}

static void *use(void *arg)
{
    lock();
    assert(call(malloc(64), free_it) == 0);
    unlock();
    pthread_barrier_wait(&used);
    pthread_barrier_wait(&closed);
    lock();
    unlock();
    return arg;
}

int main(void)
{
    pthread_barrier_init(&used, NULL, 2);
    pthread_barrier_init(&closed, NULL, 2);
    for (int n = 0; n < 3; n++) {
        void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
        assert(library);
        *(void **)&lock = dlsym(library, "qsc_rcu_read_lock");
        *(void **)&unlock = dlsym(library, "qsc_rcu_read_unlock");
        *(void **)&call = dlsym(library, "qsc_call_rcu");
        assert(lock && unlock && call && dlsym(library, "qsc_reader"));
        pthread_t thread;
        assert(!pthread_create(&thread, NULL, use, NULL));
        pthread_barrier_wait(&used);
        assert(dlclose(library) == 0);
        pthread_barrier_wait(&closed);
        pthread_join(thread, NULL);
    }
    puts("dlclose: ok");
    return 0;
}
