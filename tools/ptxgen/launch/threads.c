// SPDX-License-Identifier: Apache-2.0
#include "system.h"

#include "threads.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "progress.h"

enum { THREADS_MAX = 64 };

unsigned threads_cores(void) {
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (unsigned)cores;
}

void threads_run(unsigned count, void *(*work)(void *user), void *user) {
    pthread_t thread[THREADS_MAX];
    unsigned  started = 1;
    while (started < count && started < THREADS_MAX && !pthread_create(&thread[started], NULL, work, user)) started++;
    work(user);
    for (unsigned i = 1; i < started; i++) pthread_join(thread[i], NULL);
}

typedef struct queue {
    void (*work)(void *user, size_t i);
    void           *user;
    const char     *what;
    size_t          count;
    pthread_mutex_t lock;  // of what follows
    size_t          next, done;
} queue;

static bool take(queue *q, size_t *i) {
    pthread_mutex_lock(&q->lock);
    *i = q->next;
    const bool left = *i < q->count;
    if (left) q->next++;
    pthread_mutex_unlock(&q->lock);
    return left;
}

static void *drain(void *user) {
    queue *q = user;
    size_t i;
    while (take(q, &i)) {
        q->work(q->user, i);
        pthread_mutex_lock(&q->lock);
        q->done++;
        if (q->what) progress_show(q->what, q->done, q->count);
        pthread_mutex_unlock(&q->lock);
    }
    return NULL;
}

void threads_each(const char *what, size_t count, void (*work)(void *user, size_t i), void *user) {
    queue          q = {.work = work, .user = user, .what = what, .count = count};
    const unsigned cores = threads_cores();
    pthread_mutex_init(&q.lock, NULL);
    if (what && count) progress_show(what, 0, count);
    threads_run(count < cores ? (unsigned)count : cores, drain, &q);
    pthread_mutex_destroy(&q.lock);
}
