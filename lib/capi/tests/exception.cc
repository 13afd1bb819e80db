// An exception that leaves a callback ends the process, and does not unwind the library's thread.
#include <csignal>
#include <cstdio>
#include <quiescent.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

static void throws(qsc_rcu_head *)
{
    throw std::runtime_error("out of a callback");
}

int main()
{
    const pid_t child = fork();
    if (child == 0) {
        static qsc_rcu_head head;
        (void)!freopen("/dev/null", "w", stderr);
        qsc_call_rcu_hurry(&head, throws);
        qsc_rcu_barrier();
        _exit(0); // it did not end: the test fails
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT) {
        std::printf("exception: the process ended with status %x\n", unsigned(status));
        return 1;
    }
    std::puts("exception: ok");
}
