// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "minimize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "progress.h"
#include "seeds.h"

const cj_hazard *minimize_find(const cj_hazard *hazard, const cj_device *device) {
    for (size_t i = 0; i < cj_cpu_hazard_count(device); i++) {
        const cj_hazard *it = cj_cpu_hazard_at(device, i);
        if (!strcmp(it->rule, hazard->rule) && it->first.line == hazard->first.line &&
            it->second.line == hazard->second.line)
            return it;
    }
    return NULL;
}

void minimize_note(const minimize *m, bool smaller, const char *text) {
    char  *note = NULL;
    size_t size;
    FILE  *to = open_memstream(&note, &size);
    if (!to || !text) return;
    fprintf(to, "%s [%s] at line %u%s: %s", smaller ? "the smallest launch that shows" : "no smaller launch shows",
            m->hazard.rule, m->hazard.second.line, smaller ? "" : "; this one does", text);
    fclose(to);
    message_note(note);
    free(note);
}

// ---- one size

// A size that is tried.
typedef struct trial {
    const minimize *m;
    launch_options  launch;
} trial;

static void *open_trial(void *user) {
    const trial *t = user;
    return lane_open(&t->launch, t->m->ptx, t->m->entry);
}

static bool launch_trial(void *user, void *of, const machine_options *machine) {
    const trial *t = user;
    lane        *l = of;
    cj_error     error;
    return lane_launch(l, machine, &error) == CJ_HAZARD && minimize_find(&t->m->hazard, l->device);
}

static void close_trial(void *of) { lane_close(of); }

static void say(const launch_options *launch) {
    char  *text = NULL, line[160];
    size_t size;
    FILE  *to = open_memstream(&text, &size);
    if (!to) return;
    launch_put_shape(to, launch);
    fclose(to);
    snprintf(line, sizeof line, "minimizing:%.120s", text);
    progress_say(line);
    free(text);
}

// Whether the hazard shows under one of the schedules; *machine becomes the first that shows it.
static bool shows(trial *t, machine_options *machine) {
    const seeds_work work = {
        .user = t, .open = open_trial, .launch = launch_trial, .close = close_trial, .what = "minimizing: seed"};
    say(&t->launch);
    return seeds_any_schedule(&work, machine, t->m->first_seed, t->m->last_seed);
}

// ---- sizes

enum { DIMS = 3 };

// A launch in parts that can shrink: clusters in the grid, blocks of a cluster, threads of a block.
typedef struct shape {
    uint64_t clusters[DIMS], cluster[DIMS], block[DIMS];
} shape;

static void split(cj_dim3 from, uint64_t to[DIMS]) { to[0] = from.x, to[1] = from.y, to[2] = from.z; }

static cj_dim3 join(const uint64_t from[DIMS]) {
    return (cj_dim3){(uint32_t)from[0], (uint32_t)from[1], (uint32_t)from[2]};
}

// The blocks that the grid's unit has.
static cj_dim3 unit_of(const minimize *m) {
    if (m->info.grid_counts_clusters) return (cj_dim3){1, 1, 1};
    if (m->launch.cluster.x) return m->launch.cluster;
    return m->info.cluster.x ? m->info.cluster : (cj_dim3){1, 1, 1};
}

static shape shape_of(const minimize *m) {
    const cj_dim3 unit = unit_of(m), grid = m->launch.grid;
    shape         s;
    split((cj_dim3){grid.x / unit.x, grid.y / unit.y, grid.z / unit.z}, s.clusters);
    split(unit, s.cluster);
    split(m->launch.block, s.block);
    return s;
}

static launch_options launch_of(const minimize *m, const shape *s) {
    launch_options l = m->launch;
    uint64_t       grid[DIMS];
    for (int i = 0; i < DIMS; i++) grid[i] = s->clusters[i] * s->cluster[i];
    l.grid = join(grid);
    if (l.cluster.x && !m->info.grid_counts_clusters) l.cluster = join(s->cluster);
    l.block = join(s->block);
    return l;
}

typedef struct try_user {
    minimize    *m;
    const shape *shape;
} try_user;

// Tries the shape; keeps it as the launch if the hazard stays.
static bool try_shape(void *user) {
    const try_user *u = user;
    trial           t = {.m = u->m, .launch = launch_of(u->m, u->shape)};
    u->m->trials++;
    if (!shows(&t, &u->m->machine)) return false;
    u->m->launch = t.launch;
    return true;
}

bool minimize_number(uint64_t *number, uint64_t least, bool (*stays)(void *user), void *user) {
    const uint64_t whole = *number;
    uint64_t       most = whole;
    for (*number = least; *number < whole && !stays(user); *number = *number ? *number * 2 : 1) least = *number + 1;
    if (*number < whole) most = *number;
    while (least < most) {
        *number = least + (most - least) / 2;
        if (stays(user))
            most = *number;
        else
            least = *number + 1;
    }
    *number = most;
    return most < whole;
}

static bool shrink_all(minimize *m, uint64_t *numbers, shape *s) {
    try_user user = {m, s};
    bool     smaller = false;
    for (int i = DIMS; i-- > 0;) smaller |= minimize_number(&numbers[i], 1, try_shape, &user);
    return smaller;
}

static void bound_trials(minimize *m) {
    lane        *l = lane_open(&m->launch, m->ptx, m->entry);
    cj_cpu_stats stats = {CJ_INIT(stats)};
    cj_error     error;
    if (!l) return;
    lane_launch(l, &m->machine, &error);
    if (strcmp(m->hazard.rule, "livelock") && !cj_cpu_stats_read(l->device, &stats, NULL))
        m->machine.cpu.instruction_limit = minimize_limit(&stats);
    lane_close(l);
}

bool minimize_run(minimize *m) {
    const uint64_t limit = m->machine.cpu.instruction_limit;
    const bool     may_cluster = m->launch.cluster.x && !m->info.cluster.x && !m->info.grid_counts_clusters;
    const bool     may_block = !m->info.block.x;
    shape          s = shape_of(m);
    bool           smaller = false, again = true;
    bound_trials(m);
    for (unsigned pass = 0; again && pass < MINIMIZE_PASSES; pass++) {
        again = shrink_all(m, s.clusters, &s);
        if (may_cluster) again |= shrink_all(m, s.cluster, &s);
        if (may_block) again |= shrink_all(m, s.block, &s);
        smaller |= again;
    }
    progress_clear();
    m->machine.cpu.instruction_limit = limit;
    return smaller;
}
