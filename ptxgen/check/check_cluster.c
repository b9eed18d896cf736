// SPDX-License-Identifier: Apache-2.0
// Cluster barriers and what they order: split phases in pairs, no peer touched before it has started or after it may
// have exited, nothing read from a peer that only a relaxed arrive publishes.
//
// A thread is idle, or has arrived and not yet waited. Two masks say which of these hold on some path to a point, and
// what may come next from there. A finding needs both to leave one reading only, so that kernels whose arrive and wait
// hang on the same condition are left alone.
#include <string.h>

#include "checks.h"

// ---- events: the instructions that matter here, block by block

typedef enum event_kind {
    ARRIVE,   // barrier.cluster.arrive; relaxed or not
    WAIT,     // barrier.cluster.wait
    PEER,     // a peer's memory is touched; reads or not, var
    WRITE,    // of var, in the block's own shared memory
    PUBLISH,  // what was written before is visible to the cluster after this
    BLOCK,    // a barrier of the block
    SYNC,     // something else that may have waited for a peer
    UNKNOWN   // a call of what may do anything of these
} event_kind;

typedef struct event {
    uint8_t           kind;
    bool              relaxed, reads, guarded;
    uint32_t          var;  // its bit in the masks of variables, or NO_VAR
    const cj_ir_stmt *stmt;
} event;

#define NO_VAR UINT32_MAX

enum { VARS_MAX = 20 };

struct cj_clusters {
    const cj_values *values;
    const cj_graph *graph;
    cj_arena       *arena;
    cj_report      *report;
    event          *event;
    size_t          count, capacity;
    uint32_t       *first;  // per block, and one after the last
    const cj_ir_var *var[VARS_MAX];
    uint32_t        var_count;
    bool            publishes, has_peer, has_barrier;
    uint64_t       *before, *after;  // masks at the start and at the end of each block
};

static bool is_word(const cj_ir_inst *inst, cj_word word) { return cj__mnemonic_has(inst->mnemonic, word); }

// The variable's bit; variables beyond those that fit are not followed.
static uint32_t number_of(cj_clusters *c, const cj_ir_var *var) {
    for (uint32_t i = 0; i < c->var_count; i++)
        if (c->var[i] == var) return i;
    if (!var || c->var_count == VARS_MAX) return NO_VAR;
    c->var[c->var_count] = var;
    return c->var_count++;
}

static void add(cj_clusters *c, event e) {
    event *grown = cj__arena_grow(c->arena, c->event, c->count, &c->capacity, sizeof *grown);
    if (!grown) return;
    c->event = grown;
    grown[c->count++] = e;
    c->has_peer |= e.kind == PEER;
    c->has_barrier |= e.kind == ARRIVE || e.kind == WAIT;
    c->publishes |= e.kind == PUBLISH || (e.kind == ARRIVE && !e.relaxed);
}

// Memory operands: peers touched, and own variables written.
static void add_accesses(cj_clusters *c, event e, cj_op op) {
    const cj_ir_inst *inst = e.stmt->inst;
    for (unsigned i = 0; i < inst->operand_count; i++) {
        if (inst->operand[i].kind != CJ_OPERAND_MEMORY) continue;
        cj_value address = cj__values_read(c->values, &inst->operand[i]);
        if (address.kind != CJ_VALUE_ADDRESS || address.space != CJ_SPACE_SHARED) continue;
        e.var = number_of(c, address.var);
        e.kind = address.peer ? PEER : WRITE;
        e.reads = op == CJ_OP_LD || op == CJ_OP_ATOM;
        bool writes = op == CJ_OP_ST || op == CJ_OP_ATOM || op == CJ_OP_RED;
        if (address.peer || (writes && !(inst->row->effects & CJ_ASYNC))) add(c, e);
    }
}

static bool acquires(const cj_ir_inst *inst) {
    return is_word(inst, CJ_W_ACQUIRE) || is_word(inst, CJ_W_ACQ_REL) || is_word(inst, CJ_W_VOLATILE);
}

// What a called function does is not looked into, unless it has no body: those of the system know nothing of clusters.
static bool may_sync(const cj_ir_inst *inst) {
    bool known = false;
    for (unsigned i = 0; i < inst->operand_count; i++)
        if (inst->operand[i].kind == CJ_OPERAND_FUNC) known = !inst->operand[i].func->has_body;
    return !known;
}

static void add_barrier(cj_clusters *c, event e) {
    const cj_ir_inst *inst = e.stmt->inst;
    if (!is_word(inst, CJ_W_CLUSTER)) e.kind = BLOCK;
    else e.kind = is_word(inst, CJ_W_WAIT) ? WAIT : ARRIVE;
    e.relaxed = is_word(inst, CJ_W_RELAXED);
    if (!is_word(inst, CJ_W_WARP)) add(c, e);
}

void cj__check_clusters_note(cj_clusters *c, const cj_ir_stmt *stmt) {
    const cj_ir_inst *inst = stmt->inst;
    cj_op op = cj__values_op(c->values, inst);
    event e = {.stmt = stmt, .guarded = inst->guard != NULL, .var = NO_VAR};
    bool wide = !is_word(inst, CJ_W_CTA);
    if (op == CJ_OP_BARRIER) {
        add_barrier(c, e);
    } else if (op == CJ_OP_CALL && may_sync(inst)) {
        e.kind = UNKNOWN;
        add(c, e);
    } else if (op == CJ_OP_FENCE && wide &&
               (is_word(inst, CJ_W_ACQ_REL) || is_word(inst, CJ_W_SC) || !strcmp(cj__row_opcode(inst->row), "membar") ||
                !inst->mnemonic->word_count)) {
        e.kind = PUBLISH;
        add(c, e);
    } else if (op == CJ_OP_MBARRIER && inst->row->effects & CJ_BARRIER) {
        add_accesses(c, e, op);
        e.kind = is_word(inst, CJ_W_ARRIVE) ? PUBLISH : SYNC;
        add(c, e);
    } else if (acquires(inst)) {
        e.kind = SYNC;
        add(c, e);
        add_accesses(c, e, op);
    } else {
        add_accesses(c, e, op);
    }
}

static void clear_masks(cj_clusters *c) {
    memset(c->before, 0, c->graph->count * sizeof *c->before);
    memset(c->after, 0, c->graph->count * sizeof *c->after);
}

// ---- split phases in pairs, and what has been or will be waited for

enum { IDLE = 1, ARRIVED = 2, SYNCED = 4 };                                  // on some path to here
enum { NEXT_ARRIVE = 1, NEXT_WAIT = 2, NEXT_LEAVE = 4, NEXTS = 7, LATER_SYNC = 8 };  // on some path from here

static uint64_t state_after(const event *e, uint64_t state) {
    uint64_t kept = e->guarded ? state : state & SYNCED;
    switch ((event_kind)e->kind) {
    case ARRIVE: return kept | ARRIVED;
    case WAIT: return kept | IDLE | SYNCED;
    case SYNC: return state | SYNCED;
    case UNKNOWN: return state | IDLE | ARRIVED | SYNCED;
    default: return state;
    }
}

static uint64_t next_before(const event *e, uint64_t next) {
    uint64_t kept = e->guarded ? next : next & LATER_SYNC;
    switch ((event_kind)e->kind) {
    case ARRIVE: return kept | NEXT_ARRIVE;
    case WAIT: return kept | NEXT_WAIT | LATER_SYNC;
    case SYNC: return next | LATER_SYNC;
    case UNKNOWN: return next | NEXT_ARRIVE | NEXT_WAIT | LATER_SYNC;
    default: return next;
    }
}

static uint64_t states_through(void *user, uint32_t block, uint64_t state) {
    const cj_clusters *c = user;
    for (uint32_t i = c->first[block]; i < c->first[block + 1]; i++) state = state_after(&c->event[i], state);
    return state;
}

static uint64_t nexts_through(void *user, uint32_t block, uint64_t next) {
    const cj_clusters *c = user;
    for (uint32_t i = c->first[block + 1]; i-- > c->first[block];) next = next_before(&c->event[i], next);
    return next;
}

static uint64_t phase(uint64_t state) { return state & (IDLE | ARRIVED); }

static bool no_wait(uint64_t next) { return next & NEXTS && !(next & NEXT_WAIT); }

static bool only_wait(uint64_t next) { return (next & NEXTS) == NEXT_WAIT; }

static void wait_missing(const cj_clusters *c, const cj_ir_stmt *stmt, uint64_t next, const char *where) {
    cj__report_add(c->report, "cluster-wait-missing", stmt->line, stmt->column,
                   "%s, the thread %s without barrier.cluster.wait", where,
                   next & NEXT_ARRIVE ? "arrives at the cluster barrier again"
                                      : "that has arrived at the cluster barrier ends");
    cj__report_hint(c->report, "wait on every path between an arrive and the next one or the end");
}

static void arrive_missing(const cj_clusters *c, const cj_ir_stmt *stmt, const char *where) {
    cj__report_add(c->report, "cluster-arrive-missing", stmt->line, stmt->column,
                   "%s, the thread waits at a cluster barrier that it has not arrived at", where);
    cj__report_hint(c->report, "put barrier.cluster.arrive on every path before barrier.cluster.wait");
}

static void check_event(const cj_clusters *c, const event *e, uint64_t state, uint64_t next) {
    if (e->kind == ARRIVE && no_wait(next)) wait_missing(c, e->stmt, next, "after this arrive");
    else if (e->kind == ARRIVE && e->guarded && phase(state) == IDLE && only_wait(next))
        arrive_missing(c, e->stmt, "where this guard is false");
    if (e->kind == WAIT && phase(state) == IDLE) arrive_missing(c, e->stmt, "here");
    else if (e->kind == WAIT && e->guarded && phase(state) == ARRIVED && no_wait(next))
        wait_missing(c, e->stmt, next, "where this guard is false");
}

// A branch away from the wait, or around the arrive.
static void check_edges(cj_clusters *c, uint32_t b, uint64_t state) {
    const cj_block *block = &c->graph->block[b];
    const cj_ir_stmt *last = cj__graph_last(c->graph, block);
    bool arrived = phase(state) == ARRIVED, idle = phase(state) == IDLE;
    if (!last) return;
    if (arrived && block->leaves && c->graph->func->is_entry && c->after[b] & NEXT_WAIT)
        wait_missing(c, last, NEXT_LEAVE, "here");
    for (uint32_t i = 0; i < block->succ_count; i++) {
        uint64_t next = nexts_through(c, block->succ[i], c->after[block->succ[i]]);
        if (arrived && no_wait(next) && !no_wait(c->after[b])) wait_missing(c, last, next, "on a path from here");
        if (idle && only_wait(next) && !only_wait(c->after[b])) arrive_missing(c, last, "on a path from here");
    }
}

// ---- peers

// Blocks below the last of all syncs in the dominator tree, where all syncs stand one below the other; else NULL.
// Whoever is there has passed every sync of the function, unless there is a loop.
static const bool *below_all_syncs(const cj_clusters *c) {
    const cj_graph *graph = c->graph;
    bool *has = cj__arena_alloc(c->arena, graph->count + 1), *below = cj__arena_alloc(c->arena, graph->count + 1);
    uint32_t deepest = 0, blocks = 0, chain = 0;
    if (!has || !below) return NULL;
    for (uint32_t b = 0; b < graph->count; b++) {
        for (uint32_t i = c->first[b]; i < c->first[b + 1]; i++)
            has[b] |= c->event[i].kind == WAIT || c->event[i].kind == SYNC || c->event[i].kind == UNKNOWN;
        blocks += has[b];
        if (has[b]) deepest = b;
    }
    for (uint32_t b = deepest;; b = graph->block[b].idom) {
        chain += has[b];
        if (!b) break;
    }
    if (chain != blocks) return NULL;
    for (uint32_t b = deepest; b < graph->count; b++)
        below[b] = b == deepest || (b > deepest && below[graph->block[b].idom]);
    return below;
}

static bool is_single(const cj_ir_func *func) {
    const cj_ir_directive *shape = &func->directive[CJ_DIR_REQNCTAPERCLUSTER];
    return shape->given && shape->value[0] == 1 && shape->value[1] == 1 && shape->value[2] == 1;
}

static void check_peer(const cj_clusters *c, const event *e, uint64_t state, uint64_t next, bool below) {
    const char *text = e->stmt->inst->mnemonic->text;
    if (!(state & SYNCED)) {
        cj__report_add(c->report, "cluster-start", e->stmt->line, e->stmt->column,
                       "'%s' touches a peer's shared memory before any cluster barrier: the peer may not have started",
                       text);
        cj__report_hint(c->report, "put barrier.cluster.arrive and barrier.cluster.wait before it");
    }
    if (next & LATER_SYNC || !below) return;
    cj__report_add(c->report, "cluster-exit", e->stmt->line, e->stmt->column,
                   "nothing holds the peer that '%s' touches until that is done: it may have exited", text);
    cj__report_hint(c->report, "let every block arrive and wait at a cluster barrier after its last access");
}

static void check_phases(cj_clusters *c) {
    const cj_ir_func *func = c->graph->func;
    uint64_t anything = func->is_entry ? 0 : IDLE | ARRIVED | SYNCED;
    uint64_t leave = func->is_entry ? NEXT_LEAVE : NEXTS | LATER_SYNC;
    bool peers = func->is_entry && !is_single(func);
    const bool *below = peers ? below_all_syncs(c) : NULL;
    if (!cj__flow_forward(c->graph, anything | IDLE, states_through, c, c->before) ||
        !cj__flow_backward(c->graph, leave, nexts_through, c, c->after))
        return;
    uint64_t *next = cj__arena_alloc(c->arena, (c->count + 1) * sizeof *next);  // after each event
    for (uint32_t b = 0; next && b < c->graph->count; b++) {
        uint64_t mask = c->after[b], state = c->before[b];
        for (uint32_t i = c->first[b + 1]; i-- > c->first[b];) {
            next[i] = mask;
            mask = next_before(&c->event[i], mask);
        }
        for (uint32_t i = c->first[b]; i < c->first[b + 1]; i++) {
            check_event(c, &c->event[i], state, next[i]);
            if (peers && c->event[i].kind == PEER) check_peer(c, &c->event[i], state, next[i], below && below[b]);
            state = state_after(&c->event[i], state);
        }
        check_edges(c, b, state);
    }
}

// ---- relaxed arrives

// Per variable: written and not published; the same, across a relaxed arrive; the same, and waited.
enum { WRITTEN = 0, CROSSED = VARS_MAX, WAITED = 2 * VARS_MAX };

static uint64_t bit(unsigned field, uint32_t var) { return (uint64_t)1 << (field + var); }

static uint64_t field(uint64_t mask, unsigned which) { return mask >> which & (((uint64_t)1 << VARS_MAX) - 1); }

static uint64_t relaxed_after(const cj_clusters *c, const event *e, uint64_t mask) {
    switch ((event_kind)e->kind) {
    case WRITE: return e->var == NO_VAR ? mask : mask | bit(WRITTEN, e->var);
    case ARRIVE: return e->relaxed ? mask | field(mask, WRITTEN) << CROSSED : 0;
    case WAIT: return mask | field(mask, CROSSED) << WAITED;
    case BLOCK: return c->publishes ? mask & ~field(mask, WRITTEN) : mask;  // another thread may publish it
    case PUBLISH: return mask & ~field(mask, WRITTEN);
    case UNKNOWN: return 0;
    default: return mask;
    }
}

static uint64_t relaxed_through(void *user, uint32_t block, uint64_t mask) {
    const cj_clusters *c = user;
    for (uint32_t i = c->first[block]; i < c->first[block + 1]; i++) mask = relaxed_after(c, &c->event[i], mask);
    return mask;
}

static void check_relaxed(cj_clusters *c) {
    clear_masks(c);
    if (!cj__flow_forward(c->graph, 0, relaxed_through, c, c->before)) return;
    for (uint32_t b = 0; b < c->graph->count; b++) {
        uint64_t mask = c->before[b];
        for (uint32_t i = c->first[b]; i < c->first[b + 1]; i++) {
            const event *e = &c->event[i];
            if (e->kind == PEER && e->reads && e->var != NO_VAR && mask & bit(WAITED, e->var)) {
                cj__report_add(
                    c->report, "cluster-relaxed", e->stmt->line, e->stmt->column,
                    "'%s' reads '%s' of a peer, but only a relaxed arrive stands between its writing and this",
                    e->stmt->inst->mnemonic->text, c->var[e->var]->name);
                cj__report_hint(c->report, "arrive with .release (the default) after the writing");
            }
            mask = relaxed_after(c, e, mask);
        }
    }
}

// ---- the walk

cj_clusters *cj__check_clusters_begin(const cj_values *values, cj_arena *arena, cj_report *report) {
    cj_clusters *c = cj__arena_alloc(arena, sizeof *c);
    size_t blocks = values->graph->count + 1u;
    if (!c) return NULL;
    *c = (cj_clusters){.values = values, .graph = values->graph, .arena = arena, .report = report};
    c->first = cj__arena_alloc(arena, blocks * sizeof *c->first);
    c->before = cj__arena_alloc(arena, blocks * sizeof *c->before);
    c->after = cj__arena_alloc(arena, blocks * sizeof *c->after);
    return arena->failed ? NULL : c;
}

void cj__check_clusters_enter(cj_clusters *c) { c->first[c->values->block] = (uint32_t)c->count; }

void cj__check_clusters_end(cj_clusters *c) {
    c->first[c->graph->count] = (uint32_t)c->count;
    if (c->arena->failed || (!c->has_peer && !c->has_barrier)) return;
    check_phases(c);
    if (c->has_peer) check_relaxed(c);
}
