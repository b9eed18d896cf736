// SPDX-License-Identifier: Apache-2.0
// What the CPU device says when a kernel does what it must not.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "address.h"
#include "async.h"
#include "error.h"
#include "exec.h"
#include "text.h"
#include "undefined.h"
#include "watch.h"

static const char *name_of(const cj_cpu_op *op) {
    return op->inst ? op->inst->mnemonic->text : "the end of the kernel";
}

static const struct {
    const char *rule, *hint;
    bool        is_note;
} rules[] = {
#define CJ_HAZARD(id, rule, hint) {rule, hint, false},
#define CJ_NOTE(id, rule, hint) {rule, hint, true},
#include "hazards.def"
#undef CJ_HAZARD
};

// ---- findings

static cj_cpu_found *list_of(cj_cpu_findings *findings, cj_cpu_rule rule) {
    return rules[rule].is_note ? &findings->notes : &findings->hazards;
}

static cj_hazard *find_known(cj_cpu_findings *findings, cj_cpu_rule rule, unsigned first, unsigned second) {
    cj_cpu_found *list = list_of(findings, rule);
    for (size_t i = 0; i < list->count; i++) {
        cj_hazard *known = &list->hazard[i];
        if (known->first.line == first && known->second.line == second && !strcmp(known->rule, rules[rule].rule)) {
            return known;
        }
    }
    return NULL;
}

// Whether this rule was broken by these lines before, which then counts.
static bool is_known(cj_cpu_findings *findings, cj_cpu_rule rule, unsigned first, unsigned second) {
    pthread_mutex_lock(&findings->lock);
    cj_hazard *known = find_known(findings, rule, first, second);
    if (known) known->count++;
    pthread_mutex_unlock(&findings->lock);
    return known;
}

static void add(cj_cpu_findings *findings, cj_cpu_rule rule, const cj_hazard *hazard) {
    pthread_mutex_lock(&findings->lock);
    cj_cpu_found *list = list_of(findings, rule);
    if (list->count < CJ_CPU_FINDINGS) {
        cj_hazard *kept = &list->hazard[list->count++];
        *kept = *hazard;
        kept->count = 1;
        snprintf(kept->rule, sizeof kept->rule, "%s", rules[rule].rule);
        snprintf(kept->hint, sizeof kept->hint, "%s", rules[rule].hint);
    }
    pthread_mutex_unlock(&findings->lock);
}

cj_status cj__cpu_findings_error(const cj_cpu_findings *findings, cj_error *error) {
    if (!findings->hazards.count) return CJ_OK;
    const cj_hazard *first = &findings->hazards.hazard[0];
    cj__fail(error, CJ_HAZARD, "%s", first->message);
    cj__rule(error, first->rule);
    cj__hint(error, "%s", first->hint);
    if (error) error->line = first->second.line;
    return CJ_HAZARD;
}

// ---- who

static cj_dim3 thread_at(const cj_cpu_launch *launch, uint32_t thread) {
    const cj_dim3 size = launch->block;
    return (cj_dim3){thread % size.x, thread / size.x % size.y, thread / size.x / size.y};
}

static cj_hazard_side side_of(const cj_cpu_launch *launch, const cj_cpu_op *op, uint64_t cluster, uint32_t rank,
                              uint32_t thread) {
    cj_hazard_side side = {.line = op->line, .thread = thread_at(launch, thread), .rank = rank};
    side.block = cj__cpu_position(launch, cluster, rank);
    snprintf(side.what, sizeof side.what, "%.47s", name_of(op));
    return side;
}

// "thread (1, 0, 0) of block (0, 0, 0), rank 0 in its cluster"
typedef struct who {
    char text[128];
} who;

static who who_is(const cj_hazard_side *side) {
    who result;
    snprintf(result.text, sizeof result.text, "thread (%u, %u, %u) of block (%u, %u, %u), rank %u in its cluster",
             side->thread.x, side->thread.y, side->thread.z, side->block.x, side->block.y, side->block.z, side->rank);
    return result;
}

// ---- hazards that end the launch

cj_cpu_step cj__cpu_hazard(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, cj_cpu_rule rule, const char *format,
                           ...) {
    const cj_cpu_block  *block = w->block;
    cj_cpu_cluster      *cluster = block->cluster;
    const cj_cpu_launch *launch = cluster->launch;
    cj_hazard            hazard = {0};
    char                 what[512];
    va_list              args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    hazard.second = side_of(launch, op, cluster->index, block->rank, w->index * CJ_LANES + lane);
    snprintf(hazard.message, sizeof hazard.message, "line %u, %s: %s; %s", op->line, name_of(op), what,
             who_is(&hazard.second).text);
    cluster->status = CJ_HAZARD;
    add(launch->findings, rule, &hazard);
    return CJ_STEP_STOP;
}

// ---- what cannot be executed

cj_cpu_step cj__cpu_unsupported(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask) {
    cj_cpu_findings *findings = w->block->cluster->launch->findings;
    (void)mask;
    pthread_mutex_lock(&findings->lock);
    if (!findings->unsupported) findings->unsupported = op;
    pthread_mutex_unlock(&findings->lock);
    w->block->cluster->status = CJ_UNSUPPORTED;
    return CJ_STEP_STOP;
}

cj_status cj__cpu_unsupported_error(const cj_cpu_findings *findings, cj_error *error) {
    const cj_cpu_op *op = findings->unsupported;
    cj__fail(error, CJ_UNSUPPORTED, "%s", (const char *)op->plan);
    cj__hint(error, "run the kernel on a GPU, or with arguments that do not lead there");
    if (error) error->line = op->line;
    return CJ_UNSUPPORTED;
}

// ---- accesses that are watched; the launch goes on behind these

// An operation is known by the thread that issued it: watch.c numbers them so.
static cj_hazard_side side_of_access(const cj_cpu_launch *launch, const cj_access *access) {
    const uint32_t   agent = access->group * CJ_LANES + cj__cpu_first(access->mask), stride = launch->warps * CJ_LANES;
    const cj_cpu_op *op = &launch->program->op[access->op];
    cj_hazard_side   side = side_of(launch, op, access->block / launch->ranks, access->block % launch->ranks,
                                    agent % stride);
    if (agent >= stride) snprintf(side.what, sizeof side.what, "%.30s (asynchronous)", name_of(op));
    return side;
}

// Fills in address, symbol and offset; returns "tile + 4, 4 bytes of shared memory of rank 1".
static void describe_place(const cj_cpu_launch *launch, cj_watch_place place, cj_hazard *hazard, cj_text *text) {
    const cj_cpu_range *range = place.block ? NULL
                                            : cj__cpu_ranges_find(launch->ranges, place.address, place.bytes, NULL);
    hazard->address = place.address;
    hazard->bytes = place.bytes;
    if (range) {
        hazard->offset = place.address - range->begin;
        snprintf(hazard->symbol, sizeof hazard->symbol, "%.63s", range->name ? range->name : "");
        cj__text_printf(text, "%s + %" PRIu64 ", %" PRIu64 " bytes of global memory at 0x%" PRIx64,
                        range->name ? range->name : "an allocation", hazard->offset, place.bytes, place.address);
        return;
    }
    const cj_cpu_symbol *symbol = cj__cpu_nearest(launch->program, CJ_SPACE_SHARED, place.address);
    hazard->offset = symbol ? place.address - symbol->offset : place.address;
    snprintf(hazard->symbol, sizeof hazard->symbol, "%.63s", symbol ? symbol->var->name : "");
    cj__text_printf(text, "%s + %" PRIu64 ", %" PRIu64 " bytes of shared memory of rank %u",
                    symbol ? symbol->var->name : "address", hazard->offset, place.bytes, place.block->rank);
}

static const char *how(const cj_access *access) {
    const uint8_t both = CJ_USE_READ | CJ_USE_WRITE;
    return (access->use.flags & both) == both ? "updates" : access->use.flags & CJ_USE_WRITE ? "writes" : "reads";
}

// Where nothing orders two accesses the rule says how far apart they are.
static cj_cpu_rule rule_of(const cj_accessor *a, const cj_access *earlier) {
    const cj_agents agents = {.block = earlier->block, .group = earlier->group, .mask = earlier->mask};
    if (!cj__clock_unknown(a->now, CJ_VIEW_MEMORY, &agents, earlier->time)) return CJ_HAZARD_PROXY_FENCE;
    if (!cj__clock_unknown(a->now, CJ_VIEW_PROGRESS, &agents, earlier->time)) return CJ_HAZARD_RELAXED_ARRIVE;
    if (earlier->block / a->ranks != a->access.block / a->ranks) return CJ_HAZARD_RACE_GRID;
    if (earlier->block != a->access.block) return CJ_HAZARD_RACE_CLUSTER;
    return earlier->group == a->access.group ? CJ_HAZARD_RACE_WARP : CJ_HAZARD_RACE_BLOCK;
}

static const char *reason(cj_cpu_rule rule, const cj_accessor *a, const cj_access *earlier) {
    if (rule == CJ_HAZARD_PROXY_FENCE) {
        return "the write went through the generic proxy and the operation goes through the async proxy, with no "
               "fence.proxy.async between";
    }
    if (rule == CJ_HAZARD_SAME_VALUE) return "nothing orders them, but both write the same value";
    if (rule == CJ_HAZARD_CAS_GUESS) {
        return "nothing orders them, but the load is only a compare-and-swap's first guess";
    }
    if (rule == CJ_HAZARD_RELAXED_ARRIVE) return "only a relaxed arrive is between them, which orders no memory";
    if (earlier->use.scope && a->access.use.scope) {
        return "both are atomic, but the scope of one does not reach the other, and nothing orders them";
    }
    return "nothing orders them";
}

static void report_pair(cj_cpu_cluster *cluster, cj_cpu_rule rule, const cj_accessor *a, const cj_access *earlier,
                        cj_watch_place place) {
    const cj_cpu_launch *launch = cluster->launch;
    const unsigned       line = launch->program->op[a->access.op].line;
    const unsigned       first = earlier ? launch->program->op[earlier->op].line : 0;
    if (is_known(launch->findings, rule, first, line)) return;
    cj_hazard hazard = {.second = side_of_access(launch, &a->access)};
    cj_text   text = {0};
    describe_place(launch, place, &hazard, &text);
    const char *where = text.data ? text.data : "memory";
    if (earlier) {
        hazard.first = side_of_access(launch, earlier);
        snprintf(hazard.message, sizeof hazard.message, "line %u, %s: %s %s %s; line %u, %s: %s %s it; %s", first,
                 hazard.first.what, who_is(&hazard.first).text, how(earlier), where, line, hazard.second.what,
                 who_is(&hazard.second).text, how(&a->access), reason(rule, a, earlier));
    } else {
        snprintf(hazard.message, sizeof hazard.message, "line %u, %s: %s reads %s, which nothing has written", line,
                 hazard.second.what, who_is(&hazard.second).text, where);
    }
    cj__text_free(&text);
    add(launch->findings, rule, &hazard);
}

void cj__cpu_conflict(cj_cpu_cluster *cluster, const cj_accessor *a, const cj_access *earlier, cj_watch_place place) {
    report_pair(cluster, earlier ? rule_of(a, earlier) : CJ_HAZARD_UNINITIALIZED, a, earlier, place);
}

void cj__cpu_note(cj_cpu_cluster *cluster, cj_cpu_rule rule, const cj_accessor *a, const cj_access *earlier,
                  cj_watch_place place) {
    report_pair(cluster, rule, a, earlier, place);
}

void cj__cpu_peer(cj_cpu_cluster *cluster, cj_cpu_rule rule, const cj_access *access, cj_watch_place place) {
    const cj_cpu_launch *launch = cluster->launch;
    const unsigned       line = launch->program->op[access->op].line;
    if (is_known(launch->findings, rule, 0, line)) return;
    cj_hazard hazard = {.second = side_of_access(launch, access)};
    cj_text   text = {0};
    describe_place(launch, place, &hazard, &text);
    snprintf(hazard.message, sizeof hazard.message, "line %u, %s: %s %s %s; %s", line, hazard.second.what,
             who_is(&hazard.second).text, how(access), text.data ? text.data : "memory",
             rule == CJ_HAZARD_PEER_NOT_ENTERED ? "nothing says that this block has started"
             : rule == CJ_HAZARD_PEER_EXITED    ? "nothing keeps this block from exiting before"
                                             : "only a relaxed arrive is between this and the block's exit, and that "
                                               "orders no memory");
    cj__text_free(&text);
    add(launch->findings, rule, &hazard);
}

static const char *const uses[] = {[CJ_UNDEFINED_GUARD] = "is decided by",
                                   [CJ_UNDEFINED_ADDRESS] = "has an address from",
                                   [CJ_UNDEFINED_STORED] = "stores in global memory",
                                   [CJ_UNDEFINED_OPERAND] = "uses"};

void cj__cpu_undefined(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, cj_undefined_use use, const cj_cpu_op *load,
                       cj_watch_place place) {
    const cj_cpu_launch *launch = w->block->cluster->launch;
    const uint32_t       thread = w->index * CJ_LANES + lane;
    if (is_known(launch->findings, CJ_HAZARD_UNINITIALIZED, load ? load->line : 0, op->line)) return;
    cj_hazard hazard = {.second = side_of(launch, op, w->block->cluster->index, w->block->rank, thread)};
    cj_text   text = {0};
    if (place.bytes) describe_place(launch, place, &hazard, &text);
    if (load) hazard.first = side_of(launch, load, w->block->cluster->index, w->block->rank, thread);
    snprintf(hazard.message, sizeof hazard.message, "line %u, %s: %s %s what ", op->line, name_of(op),
             who_is(&hazard.second).text, uses[use]);
    const size_t length = strlen(hazard.message);
    if (load) {
        snprintf(hazard.message + length, sizeof hazard.message - length,
                 "line %u, %s, loaded of %s, which nothing has written", load->line, hazard.first.what,
                 text.data ? text.data : "local memory");
    } else {
        snprintf(hazard.message + length, sizeof hazard.message - length,
                 "was loaded of memory that nothing has written");
    }
    cj__text_free(&text);
    add(launch->findings, CJ_HAZARD_UNINITIALIZED, &hazard);
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
    cj__cpu_mbarriers_describe(text, block);
}

// Reports a cluster that does not come to its end: at the line of the first thread, or of one whose warp is apart.
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
    if (first) hazard.second = side_of(cluster->launch, first, cluster->index, 0, 0);
    snprintf(hazard.message, sizeof hazard.message, "%s; cluster %llu%s%s", what, (unsigned long long)cluster->index,
             text.data ? text.data : "", described > BLOCKS_MAX ? "; …" : "");
    cluster->status = CJ_HAZARD;
    add(cluster->launch->findings, rule, &hazard);
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
