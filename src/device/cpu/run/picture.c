// SPDX-License-Identifier: Apache-2.0
// The picture of a cluster that does not end: which threads wait at which instruction.
#include "picture.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hazard.h"
#include "lanes.h"
#include "mbarrier.h"
#include "text.h"

// Threads of a block that wait at one instruction.
typedef struct waiting {
    const cj_cpu_op *op;
    uint32_t         threads;
    bool             divergent;  // only a part of a warp is at an .aligned instruction
} waiting;

enum { PLACES_MAX = 6, BLOCKS_MAX = 4 };

static void add_group(waiting *place, const cj_cpu_op *code, const cj_cpu_warp *w, const cj_cpu_group *group) {
    for (unsigned i = 0; i < PLACES_MAX; i++) {
        if (place[i].op && place[i].op->line != code[group->pc].line) continue;
        place[i].op = &code[group->pc];
        place[i].threads += cj__cpu_count(group->mask);
        place[i].divergent |= code[group->pc].aligned && group->mask != w->live;
        return;
    }
}

static void find_places(const cj_cpu_block *block, waiting place[PLACES_MAX]) {
    const cj_cpu_launch *launch = block->cluster->launch;
    memset(place, 0, PLACES_MAX * sizeof *place);
    for (uint32_t i = 0; i < launch->warps; i++) {
        const cj_cpu_warp *w = &block->warp[i];
        for (uint32_t j = 0; j < w->group_count; j++) add_group(place, launch->program->op, w, &w->group[j]);
    }
}

static void describe(cj_text *text, const cj_cpu_block *block, const waiting place[PLACES_MAX]) {
    const uint32_t threads = block->cluster->launch->threads;
    cj__text_printf(text, "; block of rank %u:", block->rank);
    for (unsigned i = 0; i < PLACES_MAX && place[i].op; i++) {
        cj__text_printf(text, "%s %u threads at %s, %s%s", i ? "," : "", place[i].threads,
                        cj__hazard_line(block->cluster->launch, place[i].op->line).text,
                        cj__hazard_op_name(place[i].op), place[i].divergent ? " (a part of a warp)" : "");
    }
    if (block->live < threads) cj__text_printf(text, ", %u exited", threads - block->live);
    cj__cpu_mbarriers_describe(text, block);
}

// Reports a cluster that does not end: at the line of the first thread, or of a thread whose warp has diverged.
static void report_picture(cj_cpu_cluster *cluster, cj_cpu_rule rule, const char *what) {
    cj_text          text = {0};
    waiting          place[PLACES_MAX];
    const cj_cpu_op *first = NULL;
    bool             divergent = false;
    unsigned         described = 0;
    cj_hazard        hazard = {0};
    for (uint32_t i = 0; i < cluster->launch->ranks; i++) {
        const cj_cpu_block *block = &cluster->block[i];
        find_places(block, place);
        for (unsigned k = 0; k < PLACES_MAX; k++) {
            const bool worst = place[k].divergent && !divergent;
            if (place[k].op && (!first || worst)) first = place[k].op;
            divergent |= place[k].divergent;
        }
        if (described++ < BLOCKS_MAX) describe(&text, block, place);
    }
    if (divergent && rule == CJ_HAZARD_DEADLOCK) {
        rule = CJ_HAZARD_DIVERGENT;
        what = "threads of one warp wait apart from each other: no thread can go on";
    }
    if (first) hazard.second = cj__hazard_side_of(cluster->launch, first, cluster->index, 0, 0);
    snprintf(hazard.message, sizeof hazard.message, "%s; cluster %llu%s%s", what, (unsigned long long)cj__cpu_in_grid(cluster->launch, cluster->index),
             text.data ? text.data : "", described > BLOCKS_MAX ? "; …" : "");
    cluster->status = CJ_HAZARD;
    cj__hazard_add(cluster->launch->findings, rule, &hazard);
    for (uint32_t i = 0; i < cluster->launch->ranks; i++) cj__cpu_mbarriers_blame(&cluster->block[i]);
    cj__text_free(&text);
}

void cj__cpu_deadlock(cj_cpu_cluster *cluster) {
    report_picture(cluster, CJ_HAZARD_DEADLOCK, "deadlock: no thread can go on");
}

void cj__cpu_livelock(cj_cpu_cluster *cluster) {
    char what[128];
    snprintf(what, sizeof what, "livelock: the launch has used up its limit of %" PRIu64 " thread instructions",
             cluster->launch->options.instruction_limit);
    report_picture(cluster, CJ_HAZARD_LIVELOCK, what);
}
