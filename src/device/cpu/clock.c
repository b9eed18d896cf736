// SPDX-License-Identifier: Apache-2.0
#include "clock.h"

#include <stdlib.h>
#include <string.h>

enum { CHILD_BITS = 4, CHILDREN = 1 << CHILD_BITS, LANES = 32 };

typedef struct extra {
    uint32_t agent, time;
} extra;

struct cj_known {
    uint32_t refs;
    uint16_t level;            // 0: a leaf
    uint16_t warps;            // of a leaf
    uint32_t count, capacity;  // extras of a leaf
};

typedef struct inner {
    cj_known  head;
    cj_known *child[CHILDREN];
} inner;

// Behind the head: times of warps, then extras, ascending by agent.
static uint32_t *times_of(const cj_known *leaf) { return (uint32_t *)(uintptr_t)(leaf + 1); }
static extra *extras_of(const cj_known *leaf) { return (extra *)(void *)(times_of(leaf) + (leaf->warps + 1) / 2 * 2); }
static cj_known **child_of(const cj_known *node, uint32_t block) {
    return &((inner *)(uintptr_t)node)->child[block >> (node->level - 1) * CHILD_BITS & (CHILDREN - 1)];
}

_Thread_local bool cj__watch_starved;

void *cj__watch_calloc(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (!memory) cj__watch_starved = true;
    return memory;
}

// ---- nodes

static cj_known *hold(cj_known *node) {
    if (node) node->refs++;
    return node;
}

static void drop(cj_known *node) {
    if (!node || --node->refs) return;
    for (unsigned i = 0; node->level && i < CHILDREN; i++) drop(((inner *)(void *)node)->child[i]);
    free(node);
}

static cj_known *new_leaf(uint16_t warps, uint32_t capacity) {
    const size_t times = (warps + 1u) / 2 * 2 * sizeof(uint32_t);
    cj_known    *leaf = cj__watch_calloc(sizeof *leaf + times + capacity * sizeof(extra));
    if (leaf) *leaf = (cj_known){.refs = 1, .warps = warps, .capacity = capacity};
    return leaf;
}

static cj_known *new_inner(uint16_t level) {
    inner *node = cj__watch_calloc(sizeof *node);
    if (!node) return NULL;
    node->head = (cj_known){.refs = 1, .level = level};
    return &node->head;
}

// The node itself where nobody else holds it, else a copy; leaves with room for that many extras. Takes over the
// reference; NULL when out of memory.
static cj_known *own(cj_known *node, uint32_t capacity) {
    if (node->refs == 1 && (node->level || node->capacity >= capacity)) return node;
    cj_known *copy = node->level ? new_inner(node->level) : new_leaf(node->warps, capacity + capacity / 2);
    if (copy && node->level) {
        for (unsigned i = 0; i < CHILDREN; i++) {
            ((inner *)(void *)copy)->child[i] = hold(((inner *)(void *)node)->child[i]);
        }
    } else if (copy) {
        copy->count = node->count;
        memcpy(times_of(copy), times_of(node), node->warps * sizeof(uint32_t));
        memcpy(extras_of(copy), extras_of(node), node->count * sizeof(extra));
    }
    drop(node);
    return copy;
}

// ---- leaves

// The first extra of this agent or a later one.
static uint32_t find(const cj_known *leaf, uint32_t agent) {
    const extra *extras = extras_of(leaf);
    uint32_t     low = 0, high = leaf->count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (extras[middle].agent < agent)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// The time up to which a leaf knows an agent.
static uint32_t time_of(const cj_known *leaf, uint32_t agent) {
    const uint32_t at = find(leaf, agent), group = agent / LANES;
    const uint32_t all = group < leaf->warps ? times_of(leaf)[group] : 0;
    const uint32_t one = at < leaf->count && extras_of(leaf)[at].agent == agent ? extras_of(leaf)[at].time : 0;
    return one > all ? one : all;
}

// Drops the extras that the times of their warps cover.
static void tidy(cj_known *leaf) {
    extra   *extras = extras_of(leaf);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < leaf->count; i++) {
        const uint32_t group = extras[i].agent / LANES;
        if (group < leaf->warps && extras[i].time <= times_of(leaf)[group]) continue;
        extras[kept++] = extras[i];
    }
    leaf->count = kept;
}

static void add_extra(cj_known *leaf, uint32_t agent, uint32_t time) {
    extra         *extras = extras_of(leaf);
    const uint32_t at = find(leaf, agent);
    if (at == leaf->count || extras[at].agent != agent) {
        memmove(&extras[at + 1], &extras[at], (leaf->count++ - at) * sizeof *extras);
        extras[at] = (extra){agent, 0};
    }
    if (extras[at].time < time) extras[at].time = time;
}

static cj_known *add_to_leaf(cj_known *leaf, const cj_agents *agents, uint32_t time) {
    const bool     is_warp = agents->whole && agents->group < agents->warps;
    const uint32_t more = is_warp ? 0 : (uint32_t)__builtin_popcount(agents->mask);
    leaf = leaf ? own(leaf, leaf->count + more) : new_leaf(agents->warps, more);
    if (!leaf) return NULL;
    if (is_warp) {
        if (times_of(leaf)[agents->group] < time) times_of(leaf)[agents->group] = time;
        if (leaf->count) tidy(leaf);
        return leaf;
    }
    for (uint32_t rest = agents->mask; rest; rest &= rest - 1) {
        const uint32_t agent = agents->group * LANES + (uint32_t)__builtin_ctz(rest);
        if (time > time_of(leaf, agent)) add_extra(leaf, agent, time);
    }
    return leaf;
}

// Whether a leaf knows all that another one does.
static bool covers(const cj_known *leaf, const cj_known *other) {
    for (uint32_t i = 0; i < other->warps; i++) {
        if (times_of(leaf)[i] < times_of(other)[i]) return false;
    }
    for (uint32_t i = 0; i < other->count; i++) {
        if (time_of(leaf, extras_of(other)[i].agent) < extras_of(other)[i].time) return false;
    }
    return true;
}

static cj_known *join_leaves(cj_known *into, cj_known *from) {
    if (covers(into, from)) return into;
    if (covers(from, into)) {
        drop(into);
        return hold(from);
    }
    into = own(into, into->count + from->count);
    if (!into) return NULL;
    for (uint32_t i = 0; i < into->warps; i++) {
        if (times_of(into)[i] < times_of(from)[i]) times_of(into)[i] = times_of(from)[i];
    }
    for (uint32_t i = 0; i < from->count; i++) add_extra(into, extras_of(from)[i].agent, extras_of(from)[i].time);
    tidy(into);
    return into;
}

// ---- trees

// Gives a tree a root of at least this level.
static cj_known *raise(cj_known *node, uint16_t level) {
    while (node && node->level < level) {
        cj_known *root = new_inner((uint16_t)(node->level + 1));
        if (root)
            ((inner *)(void *)root)->child[0] = node;
        else
            drop(node);
        node = root;
    }
    return node;
}

static uint16_t level_for(uint32_t block) {
    uint16_t level = 0;
    for (; block; block >>= CHILD_BITS) level++;
    return level;
}

// Nodes of the same level; takes over the reference to `into`.
static cj_known *join_nodes(cj_known *into, cj_known *from) {
    if (into == from || !from) return into;
    if (!into) return hold(from);
    if (!into->level) return join_leaves(into, from);
    into = own(into, 0);
    for (unsigned i = 0; into && i < CHILDREN; i++) {
        cj_known **child = &((inner *)(void *)into)->child[i];
        *child = join_nodes(*child, ((inner *)(void *)from)->child[i]);
    }
    return into;
}

static cj_known *join_trees(cj_known *into, cj_known *from) {
    if (into == from || !from) return into;
    if (!into) return hold(from);
    cj_known *raised = raise(hold(from), into->level);
    into = raised ? raise(into, raised->level) : into;
    into = join_nodes(into, raised);
    drop(raised);
    return into;
}

static cj_known *add_to_node(cj_known *node, uint16_t level, const cj_agents *agents, uint32_t time) {
    if (!level) return add_to_leaf(node, agents, time);
    node = node ? own(node, 0) : new_inner(level);
    if (!node) return NULL;
    cj_known **child = child_of(node, agents->block);
    *child = add_to_node(*child, (uint16_t)(level - 1), agents, time);
    return node;
}

static const cj_known *leaf_of(const cj_known *node, uint32_t block) {
    if (!node || node->level < level_for(block)) return NULL;
    while (node && node->level) node = *child_of(node, block);
    return node;
}

// ---- clocks

cj_clock *cj__clock_hold(cj_clock *clock) {
    if (clock) clock->refs++;
    return clock;
}

void cj__clock_drop(cj_clock *clock) {
    if (!clock || --clock->refs) return;
    for (unsigned i = 0; i < CJ_VIEW_COUNT; i++) drop(clock->view[i]);
    free(clock);
}

// Makes *clock one that nobody else holds.
static cj_clock *own_clock(cj_clock **clock) {
    cj_clock *old = *clock;
    if (old && old->refs == 1) return old;
    cj_clock *copy = cj__watch_calloc(sizeof *copy);
    if (copy) copy->refs = 1;
    for (unsigned i = 0; copy && old && i < CJ_VIEW_COUNT; i++) copy->view[i] = hold(old->view[i]);
    cj__clock_drop(old);
    return *clock = copy;
}

void cj__clock_join(cj_clock **into, const cj_clock *from) {
    if (*into == from || !from) return;
    if (!*into) {
        *into = cj__clock_hold((cj_clock *)(uintptr_t)from);
        return;
    }
    cj_clock *clock = own_clock(into);
    for (unsigned i = 0; clock && i < CJ_VIEW_COUNT; i++) clock->view[i] = join_trees(clock->view[i], from->view[i]);
}

void cj__clock_join_view(cj_clock **into, cj_view to, const cj_clock *from, cj_view from_view) {
    if (!from || !from->view[from_view] || (*into && (*into)->view[to] == from->view[from_view])) return;
    cj_known *known = hold(from->view[from_view]);  // `from` may be *into
    cj_clock *clock = own_clock(into);
    if (clock) clock->view[to] = join_trees(clock->view[to], known);
    drop(known);
}

void cj__clock_add(cj_clock **into, cj_view view, cj_agents agents, uint32_t time) {
    cj_clock *clock = own_clock(into);
    if (!clock) return;
    cj_known      *node = clock->view[view];
    const uint16_t level = level_for(agents.block);
    if (node) node = raise(node, level);
    clock->view[view] = add_to_node(node, node ? node->level : level, &agents, time);
}

uint32_t cj__clock_unknown(const cj_clock *clock, cj_view view, const cj_agents *agents, uint32_t time) {
    const cj_known *leaf = clock ? leaf_of(clock->view[view], agents->block) : NULL;
    if (!leaf) return agents->mask;
    if (agents->group < leaf->warps && time <= times_of(leaf)[agents->group]) return 0;
    uint32_t unknown = agents->mask;
    for (uint32_t rest = leaf->count ? unknown : 0; rest; rest &= rest - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(rest);
        if (time <= time_of(leaf, agents->group * LANES + lane)) unknown &= ~(1u << lane);
    }
    return unknown;
}

bool cj__clock_met(const cj_clock *clock, cj_view view, uint32_t block) {
    return clock && leaf_of(clock->view[view], block);
}

// ---- sync objects

void cj__sync_flip(cj_sync *sync) {
    cj__clock_drop(sync->complete);
    *sync = (cj_sync){.complete = sync->gathering};
}

void cj__sync_free(cj_sync *sync) {
    cj__clock_drop(sync->gathering);
    cj__clock_drop(sync->complete);
    *sync = (cj_sync){0};
}
