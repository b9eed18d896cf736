// SPDX-License-Identifier: Apache-2.0
// Many seeds of the random schedule: host threads launch them in parallel, each with a device and memory of its own. What is found
// does not depend on their number: a seed alone determines what its launch does.
#ifndef PTXGEN_SEEDS_H
#define PTXGEN_SEEDS_H

#include "machine.h"

typedef struct seeds_work {
    void *user;
    // What a host thread needs; NULL: it cannot be. `launch` launches with it once, and returns whether the schedule fails.
    // All three run on several host threads at once, and with messages quiet.
    void *(*open)(void *user);
    bool (*launch)(void *user, void *lane, const machine_options *machine);
    void (*close)(void *lane);
    const char *what;   // of the line that shows the progress: "seed"
    bool        every;  // launch also the seeds above one that fails
} seeds_work;

// Whether the options have several seeds.
bool seeds_are_several(const machine_options *machine);

// Launches the seeds of `machine`. If some fail, *machine becomes that of the lowest, else of the last seed. Returns an exit
// code of the command's failures; *failed: whether some seed fails.
int seeds_search(const seeds_work *work, machine_options *machine, bool *failed);

// Whether some schedule fails: that of *machine, the fixed one, the late one, or a seed from `first` to `last`. *machine becomes
// the first of them that does.
bool seeds_any_schedule(const seeds_work *work, machine_options *machine, uint64_t first, uint64_t last);

#endif
