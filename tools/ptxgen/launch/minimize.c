// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "minimize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "progress.h"
#include "seeds.h"

enum { PASSES = 4, SLACK = 4 };  // a smaller launch may execute so many times the instructions of the whole one

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
    const machine_options found = *machine;
    machine_options       simple = found, seeds = found;
    bool                  is_shown = false;
    simple.cpu.random_schedule = simple.cpu.late_schedule = false;
    machine_options late = simple;
    late.cpu.late_schedule = true;
    seeds.cpu.random_schedule = true;
    seeds.cpu.late_schedule = false;
    seeds.cpu.seed = t->m->first_seed;
    seeds.last_seed = t->m->last_seed;
    machine_options *const tries[] = {machine, &simple, &late, &seeds};
    const seeds_work       work = {
              .user = t, .open = open_trial, .launch = launch_trial, .close = close_trial, .what = "minimizing: seed"};
    for (size_t i = 0; i < sizeof tries / sizeof *tries && !is_shown; i++) {
        machine_options one = *tries[i];
        say(&t->launch);
        if (seeds_search(&work, &one, &is_shown)) return false;
        if (is_shown) *machine = one;
    }
    return is_shown;
}

// ---- sizes

enum { DIMS = 3 };

// A launch in parts that can shrink: clusters in the grid, blocks of a cluster, threads of a block.
typedef struct shape {
    uint32_t clusters[DIMS], cluster[DIMS], block[DIMS];
} shape;

static void split(cj_dim3 from, uint32_t to[DIMS]) { to[0] = from.x, to[1] = from.y, to[2] = from.z; }

static cj_dim3 join(const uint32_t from[DIMS]) { return (cj_dim3){from[0], from[1], from[2]}; }

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
    l.grid = (cj_dim3){s->clusters[0] * s->cluster[0], s->clusters[1] * s->cluster[1], s->clusters[2] * s->cluster[2]};
    if (l.cluster.x && !m->info.grid_counts_clusters) l.cluster = join(s->cluster);
    l.block = join(s->block);
    return l;
}

// Tries the shape; keeps it as the launch if the hazard stays.
static bool try_shape(minimize *m, const shape *s) {
    trial t = {.m = m, .launch = launch_of(m, s)};
    m->trials++;
    if (!shows(&t, &m->machine)) return false;
    m->launch = t.launch;
    return true;
}

// Shrinks one number: to the least power of two that shows the hazard, then, between that and half of it, by bisection.
static bool shrink(minimize *m, shape *s, uint32_t *number) {
    const uint32_t whole = *number;
    uint32_t       least = 1, most = whole;
    for (*number = 1; *number < whole && !try_shape(m, s); *number *= 2) least = *number + 1;
    if (*number < whole) most = *number;
    while (least < most) {
        *number = least + (most - least) / 2;
        if (try_shape(m, s))
            most = *number;
        else
            least = *number + 1;
    }
    *number = most;
    return most < whole;
}

static bool shrink_all(minimize *m, uint32_t *numbers, shape *s) {
    bool smaller = false;
    for (int i = DIMS; i-- > 0;) smaller |= shrink(m, s, &numbers[i]);
    return smaller;
}

// Instructions that the whole launch executes bound those of smaller ones: a kernel may wait for blocks that are gone.
static void bound_trials(minimize *m) {
    lane        *l = lane_open(&m->launch, m->ptx, m->entry);
    cj_cpu_stats stats;
    cj_error     error;
    if (!l) return;
    lane_launch(l, &m->machine, &error);
    if (strcmp(m->hazard.rule, "livelock") && !cj_cpu_stats_read(l->device, &stats, NULL))
        m->machine.cpu.instruction_limit = SLACK * stats.thread_instructions + 1000000;
    lane_close(l);
}

bool minimize_run(minimize *m) {
    const uint64_t limit = m->machine.cpu.instruction_limit;
    const bool     may_cluster = m->launch.cluster.x && !m->info.cluster.x && !m->info.grid_counts_clusters;
    const bool     may_block = !m->info.block.x;
    shape          s = shape_of(m);
    bool           smaller = false, again = true;
    bound_trials(m);
    for (unsigned pass = 0; again && pass < PASSES; pass++) {
        again = shrink_all(m, s.clusters, &s);
        if (may_cluster) again |= shrink_all(m, s.cluster, &s);
        if (may_block) again |= shrink_all(m, s.block, &s);
        smaller |= again;
    }
    progress_clear();
    m->machine.cpu.instruction_limit = limit;
    return smaller;
}
