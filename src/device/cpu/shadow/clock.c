// SPDX-License-Identifier: Apache-2.0
#include "clock.h"

#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "spare.h"

enum { CHILD_BITS = 4, CHILDREN = 1 << CHILD_BITS, LANES = 32 };

// Agents of one group that are known up to a later time than their warp.
typedef struct extra {
    uint32_t group, mask, time;
} extra;

struct cj_known {
    uint32_t  refs;             // changed by every host thread that holds it
    uint16_t  level;            // 0: a leaf
    uint16_t  warps;            // of a leaf
    uint32_t  count, capacity;  // extras of a leaf
    cj_known *operations;       // of a leaf: a tree over its block's groups of operations
};

typedef struct inner {
    cj_known  head;
    cj_known *child[CHILDREN];
} inner;

// After the head: times of warps; then extras, ascending by group and descending by time. Each agent is in one extra at
// most.
static uint32_t        *times_of(const cj_known *leaf) { return (uint32_t *)(uintptr_t)(leaf + 1); }
static extra           *extras_of(const cj_known *leaf) { return (extra *)(void *)(times_of(leaf) + leaf->warps); }
static cj_known *const *children_of(const cj_known *node) { return ((const inner *)(const void *)node)->child; }
static cj_known       **child_of(const cj_known *node, uint32_t block) {
          return &((inner *)(uintptr_t)node)->child[block >> (node->level - 1) * CHILD_BITS & (CHILDREN - 1)];
}

static size_t leaf_bytes(uint16_t warps, uint32_t capacity) {
    return sizeof(cj_known) + warps * sizeof(uint32_t) + capacity * sizeof(extra);
}

// ---- nodes

// Holders on several host threads share clocks and nodes that were released in global memory. What has one holder is
// changed by that one alone.
static void add_holder(uint32_t *refs) { __atomic_add_fetch(refs, 1, __ATOMIC_RELAXED); }
static bool has_one_holder(const uint32_t *refs) { return __atomic_load_n(refs, __ATOMIC_ACQUIRE) == 1; }

// Whether these holders were all: then nobody else can become one, and the count stays as it is.
static bool lose_holders(uint32_t *refs, uint32_t count) {
    return __atomic_load_n(refs, __ATOMIC_ACQUIRE) == count || !__atomic_sub_fetch(refs, count, __ATOMIC_ACQ_REL);
}

static cj_known *hold(cj_known *node) {
    if (node) add_holder(&node->refs);
    return node;
}

static void drop(cj_known *node) {
    if (!node || !lose_holders(&node->refs, 1)) return;
    for (unsigned i = 0; node->level && i < CHILDREN; i++) drop(((inner *)(void *)node)->child[i]);
    drop(node->operations);
    cj__spare_give(node, node->level ? sizeof(inner) : leaf_bytes(node->warps, node->capacity));
}

// A leaf with times 0, and room for at least so many extras.
static cj_known *new_leaf(uint16_t warps, uint32_t capacity) {
    const size_t bytes = cj__spare_round(leaf_bytes(warps, capacity));
    cj_known    *leaf = cj__spare_take(bytes);
    if (!leaf) return NULL;
    *leaf = (cj_known){
        .refs = 1, .warps = warps, .capacity = (uint32_t)((bytes - leaf_bytes(warps, 0)) / sizeof(extra))};
    memset(times_of(leaf), 0, warps * sizeof(uint32_t));
    return leaf;
}

static cj_known *new_inner(uint16_t level) {
    inner *node = cj__spare_take(sizeof *node);
    if (!node) return NULL;
    *node = (inner){.head = {.refs = 1, .level = level}};
    return &node->head;
}

// Returns the node itself if it has one holder, else a copy; leaves get room for that many extras. Takes over the
// reference; NULL when out of memory.
static cj_known *own(cj_known *node, uint32_t capacity) {
    if (has_one_holder(&node->refs) && (node->level || node->capacity >= capacity)) return node;
    cj_known *copy = node->level ? new_inner(node->level) : new_leaf(node->warps, capacity + capacity / 2);
    if (copy && node->level) {
        for (unsigned i = 0; i < CHILDREN; i++) {
            ((inner *)(void *)copy)->child[i] = hold(((inner *)(void *)node)->child[i]);
        }
    } else if (copy) {
        copy->count = node->count;
        copy->operations = hold(node->operations);
        memcpy(times_of(copy), times_of(node), node->warps * sizeof(uint32_t));
        memcpy(extras_of(copy), extras_of(node), node->count * sizeof(extra));
    }
    drop(node);
    return copy;
}

// ---- leaves

// The time up to which a leaf knows all agents of a group, without its extras.
static uint32_t group_time(const cj_known *leaf, uint32_t group) {
    return group < leaf->warps ? times_of(leaf)[group] : 0;
}

// Where the tree of a block's operations has a group of them, in place of a block: a leaf of that tree has some groups,
// so that few operations need no inner node.
static uint32_t operation_key(uint32_t group) {
    enum { GROUPS = 64 };
    return group / GROUPS;
}

static bool is_before(const extra *e, uint32_t group, uint32_t time) {
    return e->group < group || (e->group == group && e->time > time);
}

// The first extra of this group and time, or the first after it.
static uint32_t find(const cj_known *leaf, uint32_t group, uint32_t time) {
    const extra *extras = extras_of(leaf);
    uint32_t     low = 0, high = leaf->count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (is_before(&extras[middle], group, time))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Removes the extras, from one on, that are empty or that the times of their warps cover.
static void tidy(cj_known *leaf, uint32_t from) {
    extra   *extras = extras_of(leaf);
    uint32_t kept = from;
    for (uint32_t i = from; i < leaf->count; i++) {
        if (extras[i].mask && extras[i].time > group_time(leaf, extras[i].group)) extras[kept++] = extras[i];
    }
    leaf->count = kept;
}

// The caller has made room for one more extra.
static void add_extra(cj_known *leaf, uint32_t group, uint32_t mask, uint32_t time) {
    extra         *extras = extras_of(leaf);
    const uint32_t at = find(leaf, group, time);
    for (uint32_t i = at; i && extras[i - 1].group == group; i--) mask &= ~extras[i - 1].mask;  // known to later times
    if (!mask) return;
    if (at == leaf->count || extras[at].group != group || extras[at].time != time) {
        memmove(&extras[at + 1], &extras[at], (leaf->count++ - at) * sizeof *extras);
        extras[at] = (extra){group, 0, time};
    }
    extras[at].mask |= mask;
    for (uint32_t i = at + 1; i < leaf->count && extras[i].group == group; i++) extras[i].mask &= ~mask;
    tidy(leaf, at + 1);
}

// What a leaf needs to know all that two leaves know: extras, in the order of a leaf; and which of the two has it all.
typedef struct joint {
    extra   *extras;
    uint32_t count;
    bool     covers[2];
} joint;

// Walks over the extras of two leaves side by side. `known`: the agents of the group that each leaf knows up to the
// time, at least; `either`: those that one of the two does.
static void join_extras(cj_known *const leaf[2], joint *found) {
    const extra *at[2] = {extras_of(leaf[0]), extras_of(leaf[1])};
    const extra *end[2] = {at[0] + leaf[0]->count, at[1] + leaf[1]->count};
    uint32_t     group = UINT32_MAX, base[2] = {0}, known[2] = {0}, either = 0;
    while (at[0] < end[0] || at[1] < end[1]) {
        const bool     of = at[0] == end[0] || (at[1] < end[1] && is_before(at[1], at[0]->group, at[0]->time));
        const uint32_t time = at[of]->time;
        if (at[of]->group != group) {
            group = at[of]->group;
            known[0] = known[1] = either = 0;
            for (int i = 0; i < 2; i++) base[i] = group_time(leaf[i], group);
        }
        for (int i = 0; i < 2; i++) {
            if (time <= base[i]) known[i] = either = UINT32_MAX;
            if (at[i] < end[i] && at[i]->group == group && at[i]->time == time) known[i] |= at[i]++->mask;
        }
        const uint32_t fresh = (known[0] | known[1]) & ~either;
        either |= fresh;
        if (fresh) found->extras[found->count++] = (extra){group, fresh, time};
        found->covers[0] &= !(known[1] & ~known[0]);
        found->covers[1] &= !(known[0] & ~known[1]);
    }
}

static bool have_same_extras(cj_known *const leaf[2]) {
    const size_t bytes = leaf[0]->count * sizeof(extra);
    return leaf[0]->count == leaf[1]->count && !memcmp(extras_of(leaf[0]), extras_of(leaf[1]), bytes);
}

static void compare_times(cj_known *const leaf[2], bool covers[2]) {
    const uint32_t *one = times_of(leaf[0]), *other = times_of(leaf[1]);
    uint32_t        less = 0, more = 0;
    for (uint32_t i = 0; i < leaf[0]->warps; i++) {
        less |= one[i] < other[i];
        more |= one[i] > other[i];
    }
    covers[0] = !less;
    covers[1] = !more;
}

// A new leaf with the times of both leaves, and what was found beside them.
static cj_known *merge_leaves(cj_known *const leaf[2], const joint *found) {
    cj_known *both = new_leaf(leaf[0]->warps, found->count);
    if (!both) return NULL;
    for (uint32_t i = 0; i < both->warps; i++) {
        const uint32_t one = times_of(leaf[0])[i], other = times_of(leaf[1])[i];
        times_of(both)[i] = one > other ? one : other;
    }
    memcpy(extras_of(both), found->extras, found->count * sizeof(extra));
    both->count = found->count;
    tidy(both, 0);
    return both;
}

// A join of two nodes returns one of the two, without a reference, or a new node, which is the caller's. `may_change`: all nodes on the
// way to `into` have one holder, so a node that has one holder itself is changed in place.
static cj_known *join_trees(cj_known *into, cj_known *from);

// The trees of operations of two leaves joined: into's own, or the caller's.
static cj_known *join_operations(const cj_known *into, const cj_known *from, bool *is_new) {
    *is_new = from->operations && from->operations != into->operations;
    return *is_new ? join_trees(hold(into->operations), from->operations) : into->operations;
}

// Leaves of one block, which have equally many warps. Threads of one phase mostly know the same extras.
static cj_known *join_leaves(cj_known *into, cj_known *from) {
    enum { FEW = 64 };
    cj_known *const leaf[2] = {into, from};
    const bool      is_same = have_same_extras(leaf);
    const uint32_t  most = into->count + from->count;
    extra           few[FEW];
    joint           found = {.extras = few};
    bool            is_new;
    cj_known       *joined = NULL, *operations = join_operations(into, from, &is_new);
    if (is_same)
        found = (joint){.extras = extras_of(into), .count = into->count};
    else if (most > FEW)
        found.extras = cj__watch_calloc(most * sizeof(extra));
    compare_times(leaf, found.covers);
    if (!is_same && found.extras) join_extras(leaf, &found);
    if (found.covers[1] && operations == from->operations)
        joined = from;
    else if (found.covers[0] && operations == into->operations)
        joined = into;
    else if (found.extras && (joined = merge_leaves(leaf, &found)) != NULL)
        joined->operations = hold(operations);
    if (!is_same && found.extras != few) cj__free(found.extras);
    if (is_new) drop(operations);
    return joined;
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

static cj_known *join_nodes(cj_known *into, cj_known *from, bool may_change);

// Whether it has a child that the other node has not.
static bool differs(const cj_known *from, const cj_known *into) {
    for (unsigned i = 0; i < CHILDREN; i++) {
        if (children_of(from)[i] && children_of(from)[i] != children_of(into)[i]) return true;
    }
    return false;
}

// `node`, whose reference is taken over, gives way to what a join of it and `from` gave: a reference to that.
static cj_known *replace(cj_known *node, cj_known *from, cj_known *joined) {
    if (joined == node) return node;
    if (joined == from) hold(from);
    drop(node);
    return joined;
}

static cj_known *change_inner(cj_known *into, cj_known *from) {
    bool is_from = true;
    for (unsigned i = 0; i < CHILDREN; i++) {
        cj_known **child = &((inner *)(void *)into)->child[i], *other = children_of(from)[i];
        *child = replace(*child, other, join_nodes(*child, other, true));
        is_from &= *child == other;
    }
    return is_from ? from : into;
}

// A new node, unless all of its children would be those of one of the two: the next join of the two then ends here.
static cj_known *make_inner(cj_known *into, cj_known *from) {
    cj_known *child[CHILDREN], *made = NULL;
    bool      is_into = true, is_from = true;
    for (unsigned i = 0; i < CHILDREN; i++) {
        child[i] = join_nodes(children_of(into)[i], children_of(from)[i], false);
        is_into &= child[i] == children_of(into)[i];
        is_from &= child[i] == children_of(from)[i];
    }
    if (is_from || is_into) return is_from ? from : into;
    made = new_inner(into->level);
    for (unsigned i = 0; i < CHILDREN; i++) {
        const bool is_new = child[i] != children_of(into)[i] && child[i] != children_of(from)[i];
        if (made)
            ((inner *)(void *)made)->child[i] = is_new ? child[i] : hold(child[i]);
        else if (is_new)
            drop(child[i]);
    }
    return made;
}

static cj_known *join_inner(cj_known *into, cj_known *from, bool may_change) {
    if (!differs(from, into)) return into;
    if (!differs(into, from)) return from;
    return may_change && has_one_holder(&into->refs) ? change_inner(into, from) : make_inner(into, from);
}

// Nodes of the same level.
static cj_known *join_nodes(cj_known *into, cj_known *from, bool may_change) {
    if (into == from || !from) return into;
    if (!into) return from;
    return into->level ? join_inner(into, from, may_change) : join_leaves(into, from);
}

// Takes over the reference to `into`, and returns one.
static cj_known *join_trees(cj_known *into, cj_known *from) {
    if (into == from || !from) return into;
    if (!into) return hold(from);
    cj_known *raised = raise(hold(from), into->level);
    into = raised ? raise(into, raised->level) : into;
    if (into && raised) into = replace(into, raised, join_nodes(into, raised, true));
    drop(raised);
    return into;
}

static cj_known *add_to_tree(cj_known *root, const cj_agents *agents, uint32_t time);

static cj_known *add_to_leaf(cj_known *leaf, const cj_agents *agents, uint32_t time) {
    const bool is_lanes = agents->group < agents->warps, is_warp = is_lanes && agents->whole;
    const bool is_operation = agents->warps && !is_lanes, is_extra = !is_warp && !is_operation;
    leaf = leaf ? own(leaf, leaf->count + is_extra) : new_leaf(is_operation ? 0 : agents->warps, is_extra);
    if (!leaf) return NULL;
    if (is_extra) add_extra(leaf, agents->group, agents->mask, time);
    if (is_warp) {
        times_of(leaf)[agents->group] = time;
        tidy(leaf, 0);
    }
    if (is_operation) {
        const cj_agents operation = {
            .block = operation_key(agents->group), .group = agents->group, .mask = agents->mask};
        leaf->operations = add_to_tree(leaf->operations, &operation, time);
    }
    return leaf;
}

static cj_known *add_to_node(cj_known *node, uint16_t level, const cj_agents *agents, uint32_t time) {
    if (!level) return add_to_leaf(node, agents, time);
    node = node ? own(node, 0) : new_inner(level);
    if (!node) return NULL;
    cj_known **child = child_of(node, agents->block);
    *child = add_to_node(*child, (uint16_t)(level - 1), agents, time);
    return node;
}

static cj_known *add_to_tree(cj_known *root, const cj_agents *agents, uint32_t time) {
    const uint16_t level = level_for(agents->block);
    if (root) root = raise(root, level);
    return add_to_node(root, root ? root->level : level, agents, time);
}

static const cj_known *leaf_of(const cj_known *node, uint32_t block) {
    if (!node || node->level < level_for(block)) return NULL;
    while (node && node->level) node = *child_of(node, block);
    return node;
}

// ---- clocks

cj_clock *cj__clock_hold(cj_clock *clock) {
    if (clock) add_holder(&clock->refs);
    return clock;
}

void cj__clock_drop(cj_clock *clock) { cj__clock_drop_many(clock, 1); }

void cj__clock_hold_many(cj_clock *clock, uint32_t count) {
    if (clock) __atomic_add_fetch(&clock->refs, count, __ATOMIC_RELAXED);
}

void cj__clock_drop_many(cj_clock *clock, uint32_t count) {
    if (!clock || !lose_holders(&clock->refs, count)) return;
    for (unsigned i = 0; i < CJ_TREES; i++) drop(clock->tree[i]);
    cj__spare_give(clock, sizeof *clock);
}

// Makes *clock a clock with one holder, by a copy if it has several.
static cj_clock *own_clock(cj_clock **clock) {
    cj_clock *old = *clock;
    if (old && has_one_holder(&old->refs)) return old;
    cj_clock *copy = cj__spare_take(sizeof *copy);
    if (copy) *copy = (cj_clock){.refs = 1};
    for (unsigned i = 0; copy && old && i < CJ_TREES; i++) copy->tree[i] = hold(old->tree[i]);
    cj__clock_drop(old);
    return *clock = copy;
}

// The trees of two clocks joined, whose references the caller gets. A clock with one holder gives its own away. Returns
// whether the result is all of the first clock, or else all of the second.
typedef enum joined { JOINED_NEW, JOINED_INTO, JOINED_FROM } joined;

static joined join_all(cj_clock *into, const cj_clock *from, cj_known *tree[CJ_TREES]) {
    const bool is_alone = has_one_holder(&into->refs);
    bool       is_into = !is_alone, is_from = true;
    for (unsigned i = 0; i < CJ_TREES; i++) {
        cj_known *ours = is_alone ? into->tree[i] : hold(into->tree[i]);
        if (is_alone) into->tree[i] = NULL;
        tree[i] = join_trees(ours, from->tree[i]);
        is_into &= tree[i] == into->tree[i];
        is_from &= tree[i] == from->tree[i];
    }
    return is_from ? JOINED_FROM : is_into ? JOINED_INTO : JOINED_NEW;
}

// Clocks that know the same become one clock, so that the next join of the two ends at once.
void cj__clock_join(cj_clock **into, const cj_clock *from) {
    cj_known *tree[CJ_TREES];
    if (*into == from || !from) return;
    if (!*into) {
        *into = cj__clock_hold((cj_clock *)(uintptr_t)from);
        return;
    }
    const joined result = join_all(*into, from, tree);
    cj_clock    *clock = result == JOINED_NEW ? own_clock(into) : NULL;
    for (unsigned i = 0; i < CJ_TREES; i++) {
        cj_known *unused = clock ? clock->tree[i] : tree[i];
        if (clock) clock->tree[i] = tree[i];
        drop(unused);
    }
    if (result != JOINED_FROM) return;
    cj__clock_drop(*into);
    *into = cj__clock_hold((cj_clock *)(uintptr_t)from);
}

static void join_tree(cj_clock **into, unsigned to, const cj_clock *from, unsigned from_tree) {
    if (!from->tree[from_tree] || (*into && (*into)->tree[to] == from->tree[from_tree])) return;
    cj_known *known = hold(from->tree[from_tree]);  // `from` may be *into
    cj_clock *clock = own_clock(into);
    if (clock) clock->tree[to] = join_trees(clock->tree[to], known);
    drop(known);
}

// The tree in which a view has operations.
static unsigned operations_of(cj_view view) {
    static const uint8_t trees[CJ_VIEW_COUNT] = {
        [CJ_VIEW_MEMORY] = CJ_TREE_OPERATIONS, [CJ_VIEW_SHARED] = CJ_TREE_OPERATIONS,
        [CJ_VIEW_GLOBAL] = CJ_TREE_OPERATIONS, [CJ_VIEW_TENSORMAP] = CJ_TREE_TENSORMAP_OPERATIONS,
        [CJ_VIEW_INIT] = CJ_TREE_OPERATIONS,   [CJ_VIEW_PROGRESS] = CJ_TREE_PROGRESS_OPERATIONS};
    return trees[view];
}

void cj__clock_join_view(cj_clock **into, cj_view to, const cj_clock *from, cj_view from_view) {
    if (!from) return;
    cj_clock *held = cj__clock_hold((cj_clock *)(uintptr_t)from);  // it may be *into
    join_tree(into, to, held, from_view);
    join_tree(into, operations_of(to), held, operations_of(from_view));
    cj__clock_drop(held);
}

void cj__clock_add(cj_clock **into, cj_view view, cj_agents agents, uint32_t time) {
    if (!cj__clock_unknown(*into, view, &agents, time)) return;  // nothing new: no copy is made
    const unsigned tree = agents.group < agents.warps || !agents.warps ? view : operations_of(view);
    cj_clock      *clock = own_clock(into);
    if (clock) clock->tree[tree] = add_to_tree(clock->tree[tree], &agents, time);
}

static uint32_t unknown_in(const cj_known *leaf, const cj_agents *agents, uint32_t time) {
    if (!leaf) return agents->mask;
    if (time <= group_time(leaf, agents->group)) return 0;
    const extra *extras = extras_of(leaf);
    uint32_t     unknown = agents->mask;
    for (uint32_t i = leaf->count ? find(leaf, agents->group, UINT32_MAX) : 0; unknown && i < leaf->count; i++) {
        if (extras[i].group != agents->group || extras[i].time < time) break;
        unknown &= ~extras[i].mask;
    }
    return unknown;
}

static uint32_t unknown_operations(const cj_clock *clock, unsigned tree, const cj_agents *agents, uint32_t time) {
    const cj_known *block = leaf_of(clock->tree[tree], agents->block);
    return unknown_in(block ? leaf_of(block->operations, operation_key(agents->group)) : NULL, agents, time);
}

static uint32_t unknown_in_view(const cj_clock *clock, cj_view view, const cj_agents *agents, uint32_t time) {
    const cj_known *leaf = leaf_of(clock->tree[view], agents->block);
    return leaf && agents->group < leaf->warps ? unknown_in(leaf, agents, time)
                                               : unknown_operations(clock, operations_of(view), agents, time);
}

uint32_t cj__clock_unknown(const cj_clock *clock, cj_view view, const cj_agents *agents, uint32_t time) {
    if (!clock) return agents->mask;
    cj_agents rest = *agents;
    rest.mask = unknown_in_view(clock, view, &rest, time);
    return rest.mask && view == CJ_VIEW_PROGRESS ? unknown_in_view(clock, CJ_VIEW_MEMORY, &rest, time) : rest.mask;
}

uint32_t cj__clock_least(const cj_clock *clock, uint32_t block, uint16_t *warps) {
    const cj_known *leaf = clock ? leaf_of(clock->tree[CJ_VIEW_MEMORY], block) : NULL;
    uint32_t        least = leaf && leaf->warps ? UINT32_MAX : 0;
    *warps = leaf ? leaf->warps : 0;
    for (uint32_t i = 0; i < *warps; i++) {
        if (times_of(leaf)[i] < least) least = times_of(leaf)[i];
    }
    return least;
}

static bool has_block(const cj_clock *clock, cj_view view, uint32_t block) {
    return leaf_of(clock->tree[view], block) || leaf_of(clock->tree[operations_of(view)], block);
}

bool cj__clock_met(const cj_clock *clock, uint32_t block) {
    return clock && (has_block(clock, CJ_VIEW_MEMORY, block) || has_block(clock, CJ_VIEW_PROGRESS, block));
}

// ---- sync objects

void cj__sync_gather(cj_sync *sync, cj_clock *clock) {
    if (clock == sync->last) return;
    cj__clock_join(&sync->gathering, clock);
    cj__clock_drop(sync->last);
    sync->last = cj__clock_hold(clock);
}

static void drop_joined(cj_joined *it) {
    cj__clock_drop(it->before);
    cj__clock_drop(it->phase);
    cj__clock_drop(it->after);
    *it = (cj_joined){0};
}

void cj__sync_join(const cj_sync *sync, cj_joins *joins, cj_clock **into) {
    for (unsigned i = 0; *into && i < CJ_JOINS; i++) {
        if (joins->of[i].before != *into || joins->of[i].phase != sync->complete) continue;
        cj__clock_drop(*into);
        *into = cj__clock_hold(joins->of[i].after);
        return;
    }
    cj_joined *made = &joins->of[joins->next++ % CJ_JOINS];
    drop_joined(made);
    made->before = cj__clock_hold(*into);
    made->phase = cj__clock_hold(sync->complete);
    cj__clock_join(into, sync->complete);
    made->after = cj__clock_hold(*into);
}

void cj__joins_free(cj_joins *joins) {
    for (unsigned i = 0; i < CJ_JOINS; i++) drop_joined(&joins->of[i]);
}

void cj__sync_flip(cj_sync *sync) {
    cj_clock *const gathered = sync->gathering;
    sync->gathering = NULL;
    cj__sync_free(sync);
    sync->complete = gathered;
}

void cj__sync_free(cj_sync *sync) {
    cj_clock *const held[] = {sync->gathering, sync->complete, sync->last};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) cj__clock_drop(held[i]);
    *sync = (cj_sync){0};
}
