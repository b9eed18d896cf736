// SPDX-License-Identifier: Apache-2.0
#include "system.h"

#include "seeds.h"

#include <pthread.h>

#include "message.h"
#include "progress.h"
#include "threads.h"

typedef struct search {
    const seeds_work *work;
    machine_options   machine;
    pthread_mutex_t   lock;  // of what follows
    uint64_t          next, last, failing;
    bool   ended, fails, opened;  // no seed is left; some seed fails, `failing` is the lowest; some thread works
    size_t done, all;
} search;

bool seeds_are_several(const machine_options *machine) { return machine->last_seed > machine->cpu.seed; }

// The next seed; false if there is none that matters.
static bool take(search *s, uint64_t *seed) {
    pthread_mutex_lock(&s->lock);
    *seed = s->next;
    const bool matters = !s->ended && (s->work->every || !s->fails || *seed < s->failing);
    if (*seed == s->last)
        s->ended = true;
    else
        s->next++;
    pthread_mutex_unlock(&s->lock);
    return matters;
}

static void finish(search *s, uint64_t seed, bool fails) {
    pthread_mutex_lock(&s->lock);
    if (fails && (!s->fails || seed < s->failing)) s->failing = seed;
    s->fails |= fails;
    s->done++;
    if (s->all > 1 && (!s->fails || s->work->every)) progress_show(s->work->what, s->done, s->all);
    pthread_mutex_unlock(&s->lock);
}

static void *work(void *user) {
    search         *s = user;
    void           *lane = s->work->open(s->work->user);
    machine_options machine = s->machine;
    if (!lane) return NULL;
    pthread_mutex_lock(&s->lock);
    s->opened = true;
    pthread_mutex_unlock(&s->lock);
    while (take(s, &machine.cpu.seed)) finish(s, machine.cpu.seed, s->work->launch(s->work->user, lane, &machine));
    s->work->close(lane);
    return NULL;
}

static unsigned thread_count(const machine_options *machine) {
    const unsigned count = machine->cpu.threads ? machine->cpu.threads : threads_cores();
    const uint64_t seeds = machine->last_seed - machine->cpu.seed;  // one less
    return count > seeds ? (unsigned)seeds + 1 : count;
}

int seeds_search(const seeds_work *what, machine_options *machine, bool *failed) {
    search s = {.work = what,
                .machine = *machine,
                .next = machine->cpu.seed,
                .last = machine->last_seed,
                .all = (size_t)(machine->last_seed - machine->cpu.seed) + 1};
    s.machine.cpu.threads = 1;
    s.machine.cpu.progress = NULL;
    pthread_mutex_init(&s.lock, NULL);
    message_quiet(true);
    if (s.all > 1) progress_show(what->what, 0, s.all);
    threads_run(thread_count(machine), work, &s);
    if (s.all > 1) progress_clear();
    message_quiet(false);
    pthread_mutex_destroy(&s.lock);
    *failed = s.fails;
    machine->cpu.seed = machine->last_seed = s.fails ? s.failing : s.last;
    if (s.opened) return CODE_OK;
    return message_error(CJ_OUT_OF_MEMORY, "no memory for a CPU device on which to launch the seeds");
}

bool seeds_any_schedule(const seeds_work *what, machine_options *machine, uint64_t first, uint64_t last) {
    machine_options simple = *machine, late, seeds;
    bool            fails = false;
    simple.cpu.random_schedule = simple.cpu.late_schedule = false;
    late = seeds = simple;
    late.cpu.late_schedule = true;
    seeds.cpu.random_schedule = true;
    seeds.cpu.seed = first;
    seeds.last_seed = last;
    const machine_options *const tries[] = {machine, &simple, &late, &seeds};
    for (size_t i = 0; i < sizeof tries / sizeof *tries && !fails; i++) {
        machine_options one = *tries[i];
        if (seeds_search(what, &one, &fails)) return false;
        if (fails) *machine = one;
    }
    return fails;
}
