/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * plugin LIBRARY PREFIX: loads a library of liburcu's ABI late, uses it from two threads by its names
 * (`urcu_memb` and so on), unloads it, and again, a hundred times.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *library;
static const char *prefix;

static void call(const char *name)
{
	char all[64];
	void (*function)(void);

	snprintf(all, sizeof all, "%s_%s", prefix, name);
	*(void **)&function = dlsym(library, all);
	if (function)
		function();
	else if (*name != 'u' && *name != 't') /* not every flavour has those */
		exit(1);
}

static void *use(void *unused)
{
	(void)unused;
	call("register_thread");
	call("read_lock");
	call("read_unlock");
	call("synchronize_rcu");
	call("unregister_thread");
	return NULL;
}

int main(int count, char **arguments)
{
	if (count != 3)
		return 2;
	prefix = arguments[2];
	for (int i = 0; i < 100; i++) {
		pthread_t thread;

		library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		if (pthread_create(&thread, NULL, use, NULL))
			return 1;
		use(NULL);
		pthread_join(thread, NULL);
		call("barrier");
		dlclose(library);
	}
	puts("ok plugin");
	return 0;
}
