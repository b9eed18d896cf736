// SPDX-License-Identifier: Apache-2.0
// What the CPU device says when a kernel does what it must not.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "exec.h"
#include "text.h"

static const char *name_of(const cj_cpu_op *op) {
    return op->inst ? op->inst->mnemonic->text : "the end of the kernel";
}

static const struct {
    const char *rule, *hint;
} rules[] = {
#define CJ_HAZARD(id, rule, hint) {rule, hint},
#include "hazards.def"
#undef CJ_HAZARD
};

static void report(cj_cpu_cluster *cluster, uint32_t line, cj_cpu_rule rule, const char *message) {
    cluster->status = cj__fail(cluster->error, CJ_HAZARD, "%s", message);
    cj__rule(cluster->error, rules[rule].rule);
    cj__hint(cluster->error, "%s", rules[rule].hint);
    if (cluster->error) cluster->error->line = line;
}

cj_cpu_step cj__cpu_hazard(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, cj_cpu_rule rule, const char *format,
                           ...) {
    const cj_cpu_block *block = w->block;
    char                what[512], message[1024];
    va_list             args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    snprintf(message, sizeof message,
             "line %u, %s: %s; thread (%u, %u, %u) of block (%u, %u, %u), rank %u in its cluster", op->line,
             name_of(op), what, (unsigned)cj__cpu_special(w, CJ_S_TID, 0, lane),
             (unsigned)cj__cpu_special(w, CJ_S_TID, 1, lane), (unsigned)cj__cpu_special(w, CJ_S_TID, 2, lane),
             block->position.x, block->position.y, block->position.z, block->rank);
    report(block->cluster, op->line, rule, message);
    return CJ_STEP_STOP;
}

// ---- deadlock

// Threads of a block that wait at one instruction.
typedef struct waiting {
    const cj_cpu_op *op;
    uint32_t         threads;
    bool             divergent;  // an .aligned instruction with a part of a warp
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
        cj__text_printf(text, "%s %u threads at line %u, %s%s", i ? "," : "", place[i].threads, place[i].op->line,
                        name_of(place[i].op), place[i].divergent ? " (a part of a warp)" : "");
    }
    if (block->live < threads) cj__text_printf(text, ", %u exited", threads - block->live);
}

void cj__cpu_deadlock(cj_cpu_cluster *cluster) {
    cj_text          text = {0};
    waiting          place[PLACES_MAX];
    const cj_cpu_op *first = NULL;
    bool             divergent = false;
    unsigned         described = 0;
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
    char message[1024];
    snprintf(message, sizeof message, "%s: no thread of cluster %llu can go on%s%s",
             divergent ? "threads of one warp wait apart from each other" : "deadlock",
             (unsigned long long)cluster->index, text.data ? text.data : "", described > BLOCKS_MAX ? "; …" : "");
    report(cluster, first ? first->line : 0, divergent ? CJ_HAZARD_DIVERGENT : CJ_HAZARD_DEADLOCK, message);
    cj__text_free(&text);
}
