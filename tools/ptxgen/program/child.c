// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE  // pipe2
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "message.h"

// ---- signals

static const int passed_on[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH, SIGALRM};
enum { PASSED = sizeof passed_on / sizeof *passed_on };

static volatile sig_atomic_t child_pid;

// The kernel sends a terminal's signals to both processes: only what a process sent is passed on.
static void pass_on(int number, siginfo_t *about, void *context) {
    const int before = errno;
    (void)context;
    if (child_pid > 0 && about->si_code <= 0) kill((pid_t)child_pid, number);
    errno = before;
}

static void begin_passing(struct sigaction before[PASSED]) {
    struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < PASSED; i++) {
        sigaction(passed_on[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) sigaction(passed_on[i], &action, NULL);
    }
}

static void end_passing(const struct sigaction before[PASSED]) {
    for (size_t i = 0; i < PASSED; i++) sigaction(passed_on[i], &before[i], NULL);
}

// ---- the process

// In the child. What fails is written to the pipe, which a program that begins closes.
_Noreturn static void become(const child *c, int pipe) {
    bool ok = !c->redirect || dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
    for (const child_variable *v = c->variables; ok && v->name; v++)
        if (v->value) ok = !setenv(v->name, v->value, 1);
    if (ok) execv(c->path, c->words);
    const int number = errno;
    if (write(pipe, &number, sizeof number) < 0) _exit(126);
    _exit(127);
}

static int wait_for(pid_t pid, child_end *end) {
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return errno;
    *end = (child_end){.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                       .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
    return 0;
}

// Returns an errno value.
static int start_and_wait(const child *c, const struct sigaction actions[PASSED], child_end *end) {
    int      ends[2], number = 0;
    sigset_t all, before;
    if (pipe2(ends, O_CLOEXEC)) return errno;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);  // until the child's number is known
    const pid_t pid = fork();
    if (!pid) {
        end_passing(actions);
        sigprocmask(SIG_SETMASK, &before, NULL);
        become(c, ends[1]);
    }
    const int refused = pid < 0 ? errno : 0;
    child_pid = (sig_atomic_t)pid;
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    ssize_t got = -1;
    while (pid > 0 && (got = read(ends[0], &number, sizeof number)) < 0 && errno == EINTR) continue;
    close(ends[0]);
    const int lost = pid > 0 ? wait_for(pid, end) : 0;
    child_pid = 0;
    return refused ? refused : got == sizeof number ? number : lost;
}

int child_run(const child *c, child_end *end) {
    struct sigaction before[PASSED];
    *end = (child_end){0};
    begin_passing(before);
    const int failure = start_and_wait(c, before, end);
    end_passing(before);
    return failure ? message_error(CJ_FILE, "cannot run '%s': %s", c->path, strerror(failure)) : CODE_OK;
}

const char *child_signal(int number, char buffer[CHILD_SIGNAL]) {
    snprintf(buffer, CHILD_SIGNAL, "%d (%.40s)", number, strsignal(number));
    return buffer;
}
