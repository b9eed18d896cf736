// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hazard.h"
#include "lanes.h"
#include "text.h"

// An asynchronous operation is reported as its thread's: fork.c derives the thread from the agent number.
static cj_hazard_side side_of_access(const cj_cpu_launch *launch, const cj_access *access) {
    const uint32_t   agent = access->group * CJ_LANES + cj__cpu_first(access->mask), stride = launch->warps * CJ_LANES;
    const cj_cpu_op *op = &launch->program->op[access->op];
    cj_hazard_side   side = cj__hazard_side_of(launch, op, access->block / launch->ranks, access->block % launch->ranks,
                                               agent % stride);
    if (agent >= stride) snprintf(side.what, sizeof side.what, "%.30s (asynchronous)", cj__hazard_op_name(op));
    return side;
}

static void keep_name(cj_hazard *hazard, const char *name) {
    snprintf(hazard->symbol, sizeof hazard->symbol, "%.63s", name ? name : "");
    if (name) snprintf(hazard->variable, sizeof hazard->variable, "%s", cj__hazard_variable(name).text);
}

// Fills in address, symbol and offset; returns "tile + 4, 4 bytes of shared memory of rank 1".
static void describe_place(const cj_cpu_launch *launch, cj_watch_place place, cj_hazard *hazard, cj_text *text) {
    const cj_cpu_range *range = place.block ? NULL
                                            : cj__cpu_ranges_find(launch->ranges, place.address, place.bytes, NULL);
    hazard->address = place.address;
    hazard->bytes = place.bytes;
    if (range) {
        hazard->offset = place.address - range->begin;
        keep_name(hazard, range->name);
        cj__text_printf(text, "%s + %" PRIu64 ", %" PRIu64 " bytes of global memory at 0x%" PRIx64,
                        range->name ? hazard->variable : "an allocation", hazard->offset, place.bytes, place.address);
        return;
    }
    const cj_cpu_symbol *symbol = cj__cpu_nearest(launch->program, CJ_SPACE_SHARED, place.address);
    hazard->offset = symbol ? place.address - symbol->offset : place.address;
    keep_name(hazard, symbol ? symbol->var->name : NULL);
    cj__text_printf(text, "%s + %" PRIu64 ", %" PRIu64 " bytes of shared memory of rank %u",
                    symbol ? hazard->variable : "address", hazard->offset, place.bytes, place.block->rank);
}

static const char *how(const cj_access *access) {
    const uint8_t both = CJ_USE_READ | CJ_USE_WRITE;
    return (access->use.flags & both) == both ? "updates" : access->use.flags & CJ_USE_WRITE ? "writes" : "reads";
}

// The rule names what is missing; if nothing orders the accesses, the rule depends on how far apart the agents are.
static cj_cpu_rule rule_of(const cj_accessor *a, const cj_access *earlier) {
    const cj_agents agents = {.block = earlier->block, .group = earlier->group, .mask = earlier->mask};
    if (a->access.use.flags & CJ_USE_TEXTURE) return CJ_HAZARD_TEXTURE_COHERENCE;
    if (!cj__clock_unknown(a->now, CJ_VIEW_MEMORY, &agents, earlier->time))
        return a->proxy == CJ_VIEW_TENSORMAP ? CJ_HAZARD_TENSORMAP_FENCE : CJ_HAZARD_PROXY_FENCE;
    if (!cj__clock_unknown(a->now, CJ_VIEW_PROGRESS, &agents, earlier->time)) return CJ_HAZARD_RELAXED_ARRIVE;
    if (!cj__is_same_gpu(a, earlier->block, a->access.block)) return CJ_HAZARD_RACE_SYSTEM;
    if (earlier->block / a->ranks != a->access.block / a->ranks) return CJ_HAZARD_RACE_GRID;
    if (earlier->block != a->access.block) return CJ_HAZARD_RACE_CLUSTER;
    return earlier->group == a->access.group ? CJ_HAZARD_RACE_WARP : CJ_HAZARD_RACE_BLOCK;
}

// Whether two lanes of one execution of a store wrote. (Where st writes the same value from both, nothing is reported.)
static bool is_one_store(const cj_accessor *a, const cj_access *earlier) {
    return earlier->block == a->access.block && earlier->group == a->access.group && earlier->op == a->access.op &&
           earlier->time == a->access.time && earlier->use.flags == CJ_USE_WRITE &&
           a->access.use.flags == CJ_USE_WRITE && !a->access.use.scope;
}

static const char *reason(cj_cpu_rule rule, const cj_accessor *a, const cj_access *earlier) {
    if (rule == CJ_HAZARD_PROXY_FENCE) {
        return "the write went through the generic proxy and the operation goes through the async proxy, with no "
               "fence.proxy.async between";
    }
    if (rule == CJ_HAZARD_TENSORMAP_FENCE) {
        return "a copy reads tensor maps through a proxy of their own, with no fence.proxy.tensormap::generic.acquire "
               "between";
    }
    if (rule == CJ_HAZARD_TEXTURE_COHERENCE) return "textures and surfaces do not see what their own launch writes";
    if (rule == CJ_HAZARD_SAME_VALUE) return "nothing orders them, but both write the same value";
    if (rule == CJ_HAZARD_CAS_GUESS) {
        return "nothing orders them, but the load is only a compare-and-swap's first guess";
    }
    if (rule == CJ_HAZARD_RELAXED_ARRIVE) return "only a relaxed arrive is between them, which orders no memory";
    if (earlier->use.scope && a->access.use.scope) {
        return "both are atomic, but the scope of one does not reach the other, and nothing orders them";
    }
    if (is_one_store(a, earlier)) {
        return "it is one execution of the instruction, and nothing says whose value stays";
    }
    return "nothing orders them";
}

static void report_pair(cj_cpu_cluster *cluster, cj_cpu_rule rule, const cj_accessor *a, const cj_access *earlier,
                        cj_watch_place place) {
    const cj_cpu_launch *launch = cluster->launch;
    const unsigned       line = launch->program->op[a->access.op].line;
    const unsigned       first = earlier ? launch->program->op[earlier->op].line : 0;
    if (cj__hazard_is_known(launch->findings, rule, first, line)) return;
    cj_hazard hazard = {.second = side_of_access(launch, &a->access)};
    cj_text   text = {0};
    describe_place(launch, place, &hazard, &text);
    const char *where = text.data ? text.data : "memory";
    if (earlier) {
        hazard.first = side_of_access(launch, earlier);
        snprintf(hazard.message, sizeof hazard.message, "%s, %s: %s %s %s; %s, %s: %s %s it; %s",
                 cj__hazard_line(launch, first).text, hazard.first.what, cj__hazard_actor(launch, &hazard.first, earlier->block / launch->ranks).text,
                 how(earlier), where, cj__hazard_line(launch, line).text, hazard.second.what,
                 cj__hazard_actor(launch, &hazard.second, a->access.block / launch->ranks).text, how(&a->access), reason(rule, a, earlier));
    } else {
        snprintf(hazard.message, sizeof hazard.message, "%s, %s: %s reads %s, which nothing has written",
                 cj__hazard_line(launch, line).text, hazard.second.what, cj__hazard_actor(launch, &hazard.second, a->access.block / launch->ranks).text, where);
    }
    cj__text_free(&text);
    cj__hazard_add(launch->findings, rule, &hazard);
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
    if (cj__hazard_is_known(launch->findings, rule, 0, line)) return;
    cj_hazard hazard = {.second = side_of_access(launch, access)};
    cj_text   text = {0};
    describe_place(launch, place, &hazard, &text);
    snprintf(hazard.message, sizeof hazard.message, "%s, %s: %s %s %s; %s", cj__hazard_line(launch, line).text,
             hazard.second.what, cj__hazard_actor(launch, &hazard.second, access->block / launch->ranks).text, how(access), text.data ? text.data : "memory",
             rule == CJ_HAZARD_PEER_NOT_ENTERED ? "nothing says that this block has started"
             : rule == CJ_HAZARD_PEER_EXITED    ? "nothing keeps this block from exiting before"
                                             : "only a relaxed arrive is between this and the block's exit, and that "
                                               "orders no memory");
    cj__text_free(&text);
    cj__hazard_add(launch->findings, rule, &hazard);
}

static const char *const uses[] = {[CJ_UNDEFINED_GUARD] = "is decided by",
                                   [CJ_UNDEFINED_ADDRESS] = "has an address from",
                                   [CJ_UNDEFINED_STORED] = "stores in global memory",
                                   [CJ_UNDEFINED_OPERAND] = "uses"};

// What an undefined register holds: "line 9, ld.shared.u32, loaded of tile + 4, …, which nothing has written".
static void describe_undefined(const cj_cpu_launch *launch, const cj_cpu_op *load, const char *place, cj_text *text) {
    if (!load) {
        cj__text_printf(text, "was loaded of memory that nothing has written");
        return;
    }
    cj__text_printf(text, "%s, %s, ", cj__hazard_line(launch, load->line).text, cj__hazard_op_name(load));
    if (load->inst->row->effects & CJ_READS)
        cj__text_printf(text, "loaded of %s, which nothing has written", place ? place : "local memory");
    else
        cj__text_printf(text, "took from a lane that does not take part");
}

void cj__cpu_undefined(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, cj_undefined_use use, const cj_cpu_op *load,
                       cj_watch_place place) {
    const cj_cpu_launch *launch = w->block->cluster->launch;
    const uint32_t       thread = w->index * CJ_LANES + lane;
    const bool           is_loaded = !load || load->inst->row->effects & CJ_READS;
    const cj_cpu_rule    rule = is_loaded ? CJ_HAZARD_UNINITIALIZED : CJ_HAZARD_ABSENT_LANE;
    if (cj__hazard_is_known(launch->findings, rule, load ? load->line : 0, op->line)) return;
    cj_hazard hazard = {.second = cj__hazard_side_of(launch, op, w->block->cluster->index, w->block->rank, thread)};
    cj_text   where = {0}, what = {0};
    if (place.bytes) describe_place(launch, place, &hazard, &where);
    if (load) hazard.first = cj__hazard_side_of(launch, load, w->block->cluster->index, w->block->rank, thread);
    describe_undefined(launch, load, where.data, &what);
    snprintf(hazard.message, sizeof hazard.message, "%s, %s: %s %s what %s", cj__hazard_line(launch, op->line).text,
             cj__hazard_op_name(op), cj__hazard_actor(launch, &hazard.second, w->block->cluster->index).text, uses[use], what.data ? what.data : "");
    cj__text_free(&where);
    cj__text_free(&what);
    cj__hazard_add(launch->findings, rule, &hazard);
}
