// SPDX-License-Identifier: Apache-2.0
// The tile is in the order of a prefix of its keys; items with the same prefix, a run, are in the order of their indices. An item's
// place moves up by the smaller keys after it in its run, and down by the greater ones before it: equal keys stay as they came.
// A group of 32 neighbours, an item of each lane, first asks whether a key is greater than the next one, in the group or within
// SORT_REACH places about it. If not, its places are right. Else lanes compare one place farther in both directions, as long as one finds its
// run there, to SORT_REACH places. A longer run with different keys cannot settle: then retry is set, and the row is sorted by the whole
// key. docs/maintaining/sort.md has the proof.
//
//   in a cluster:  | the rank before's last SORT_REACH keys | keys[tile] | the next rank's first SORT_REACH keys |
#include "sort.h"

// Lanes of the group before, and of the one after, that are within reach with the next one.
#define LAST_LANES  (UINT32_MAX << (SORT_WARP - SORT_REACH))
#define FIRST_LANES ((UINT32_C(1) << (SORT_REACH - 1)) - 1)

typedef struct place_in_run {
    cj_reg moves;            // the item, by so many places
    cj_reg before, after;    // the item so far before, or after, is of the run
    cj_reg distance, left, right;  // how far that is, and addresses
    cj_reg differs;          // bits in which keys of the run differ from this one
} place_in_run;

typedef struct settling {
    cj_reg at;               // the key at the thread's first place
    cj_reg end;              // of what keys of the same prefix differ by
    cj_reg first_lane, last_lane;
    cj_reg fails;            // not 0: a run is too long
} settling;

static unsigned stride(const sort_shape *s) { return s->joined ? 8 : s->key_bytes; }

static cj_reg key_at(const sort_kernel *k, cj_reg when, cj_reg at, int place) {
    const cj_reg key = cj_mov(k->f, k->s.type, "neighbour", cj__sort_greatest(k));
    cj__load(k->f, when, "ld.shared", k->s.type, &key, 1, at, (int)k->s.at.keys + place * (int)stride(&k->s));
    return key;
}

// The lanes of group `i` whose key is greater than the next one.
static cj_reg falls(const sort_kernel *k, const settling *t, cj_reg key, cj_reg when, int i) {
    cj_reg next = key_at(k, when, t->at, SORT_WARP * i + 1);
    return cj_let(k->f, "u32", "falls", "vote.sync.ballot.b32 $1, $2, 0xffffffff;", cj_gt(k->f, "is_greater", key, next));
}

static cj_reg falls_of_group(const sort_kernel *k, const settling *t, unsigned i) {
    cj_reg when = cj_always();
    if (i + 1 == k->s.items) when = cj_lt(k->f, "has_next", cj_add(k->f, "next_place", k->first, SORT_WARP * i + 1), k->columns);
    return falls(k, t, k->key[i], when, (int)i);
}

// The group before those of the warp, and the one after them: of other warps, or of ranks beside this one.
static cj_reg falls_before(const sort_kernel *k, const settling *t) {
    if (k->s.form == SORT_BY_WARP) return cj_mov(k->f, "u32", "falls_before", 0);
    cj_reg when = cj_ge(k->f, "in_reach", k->lane, SORT_WARP - SORT_REACH);
    cj_ptx(k->f, "setp.ge.and.u32 $1, $2, $3, $1;", when, k->first, (int)SORT_WARP);
    return falls(k, t, key_at(k, when, t->at, -SORT_WARP), when, -1);
}

static cj_reg falls_after(const sort_kernel *k, const settling *t) {
    cj_func  *f = k->f;
    const int i = (int)k->s.items;
    if (k->s.form == SORT_BY_WARP) return cj_mov(f, "u32", "falls_after", 0);
    cj_reg when = cj_lt(f, "in_reach", k->lane, SORT_REACH - 1), next = cj_add(f, "next_place", k->first, SORT_WARP * i + 1);
    cj_ptx(f, "setp.lt.and.u32 $1, $2, $3, $1;", when, next, k->columns);
    return falls(k, t, key_at(k, when, t->at, SORT_WARP * i), when, i);
}

// ---- a group

// One place farther in one direction: a neighbour of the run that is `wrong` there, greater before or smaller after, moves the item.
static void look_at(const sort_kernel *k, const settling *t, cj_reg key, place_in_run *p, cj_reg in_run, cj_reg at, const char *wrong, int step) {
    cj_func    *f = k->f;
    const char *type = k->s.type;
    cj_reg      neighbour = key_at(k, in_run, at, 0), differs = cj_xor(f, "differs", neighbour, key);
    cj_ptx(f, "setp.lt.and.$1 $2, $3, $4, $2;", type, in_run, differs, t->end);
    cj_reg is_wrong = cj_let(f, "pred", "is_wrong", "setp.$2.and.$3 $1, $4, $5, $6;", wrong, type, neighbour, key, in_run);
    cj_ptx(f, "@$1 add.s32 $2, $2, $3; @$4 or.b$5 $6, $6, $7;", is_wrong, p->moves, step, in_run, k->s.type[1] == '6' ? 64 : 32, p->differs, differs);
}

static void look_farther(const sort_kernel *k, const settling *t, cj_reg key, cj_reg from, place_in_run *p) {
    cj_func *f = k->f;
    cj_update(f, p->distance, "add", 1);
    cj_update(f, p->left, "sub", stride(&k->s));
    cj_update(f, p->right, "add", stride(&k->s));
    cj_ptx(f, "setp.ge.and.u32 $1, $2, $3, $1;", p->before, from, p->distance);
    cj_reg to = cj_add(f, "to", from, p->distance);
    cj_ptx(f, "setp.lt.and.u32 $1, $2, $3, $1;", p->after, to, k->columns);
    look_at(k, t, key, p, p->before, p->left, "gt", -1);
    look_at(k, t, key, p, p->after, p->right, "lt", 1);
}

static cj_reg any(const sort_kernel *k, const char *name, cj_reg p) {
    return cj_let(k->f, "pred", name, "vote.sync.any.pred $1, $2, 0xffffffff;", p);
}

// After one step runs of two are done. Longer ones have a lane in their middle, or go on in another group.
static cj_reg has_long_run(const sort_kernel *k, const settling *t, const place_in_run *p) {
    cj_reg   before = cj_or(k->f, "before_or_last", p->before, t->last_lane), after = cj_or(k->f, "after_or_first", p->after, t->first_lane);
    return any(k, "has_long_run", cj_and(k->f, "is_middle", before, after));
}

static void settle_item(const sort_kernel *k, const settling *t, unsigned i, cj_reg moves) {
    cj_func     *f = k->f;
    cj_reg       from = cj_add(f, "from", k->first, SORT_WARP * i), key = k->key[i];
    place_in_run p = {.moves = moves};
    p.before = cj_lt(f, "before", from, k->columns);
    p.after = cj_lt(f, "after", from, k->columns);
    p.distance = cj_mov(f, "u32", "distance", 0);
    p.differs = cj_mov(f, k->s.type, "run_differs", 0);
    p.left = cj_add(f, "left", t->at, SORT_WARP * i * stride(&k->s));
    p.right = cj_mov(f, "u32", "right", p.left);
    look_farther(k, t, key, from, &p);
    CJ_IF_UNI(f, has_long_run(k, t, &p), "near") {
        CJ_LOOP_UNI(f, loop, "farther", "far_enough") {
            look_farther(k, t, key, from, &p);
            cj_leave_unless(&loop, any(k, "goes_on", cj_or(f, "in_run", p.before, p.after)));
            cj_leave(&loop, cj_ge(f, "is_far", p.distance, SORT_REACH));
        }
        cj_reg fails = cj_or(f, "too_long", p.before, p.after);
        cj_ptx(f, "setp.ne.and.$1 $2, $3, 0, $2; @$2 mov.u32 $4, 1;", k->s.type, fails, p.differs, t->fails);
    }
}

// ---- the row

// The keys beside the tile, of the ranks beside this one: as many threads as there are.
static void fetch_edges(const sort_kernel *k) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            key = cj_register(f, s->type, "edge"), is_next = cj_ge(f, "is_next", k->thread, SORT_REACH);
    cj_reg            number = cj_and(f, "number", k->thread, SORT_REACH - 1), peer_rank = cj_sub(f, "peer_rank", k->rank, 1);
    cj_reg            from = cj_add(f, "from", number, s->tile - SORT_REACH), to = cj_mov(f, "u32", "to", number);
    cj_ptx(f, "@$1 add.u32 $2, $3, 1; @$1 mov.u32 $4, $5; @$1 add.u32 $6, $5, $7;", is_next, peer_rank, k->rank, from, number, to,
           s->tile + SORT_REACH);
    cj_reg fetches = cj_lt(f, "fetches", peer_rank, s->cluster);
    cj_ptx(f, "setp.lt.and.u32 $1, $2, $3, $1;", fetches, k->thread, 2 * SORT_REACH);
    CJ_IF(f, fetches, "fetched") {
        cj_reg peer = cj_cluster_map_address(f, cj_mad(f, "edge_at", from, s->key_bytes, k->counts), peer_rank);
        cj_dsmem_load(f, cj_always(), s->type, &key, 1, peer, (int32_t)s->at.keys);
        cj__store(f, cj_always(), "st.shared", s->type, &key, 1, cj_mad(f, "edge_to", to, s->key_bytes, k->counts),
                  s->at.keys - SORT_REACH * s->key_bytes);
    }
    cj__sort_sync(k, "N3: the keys beside the tile are here");
}

static cj_reg retry_at(const sort_kernel *k) { return cj_add(k->f, "retry_at", k->counts, k->s.at.retry); }

void cj__sort_begin_settle(const sort_kernel *k) {
    cj_reg first = cj_eq(k->f, "first_thread", k->thread, 0);
    cj_ptx(k->f, "@$1 st.shared.u32 [$2], 0; // retry", first, retry_at(k));
}

// All threads have read `retry` before it is cleared. Sorted by the whole key the row has no run that is too long.
static void clear_retry(const sort_kernel *k, cj_reg in_order) {
    CJ_UNLESS_UNI(k->f, in_order, "no_retry") {
        cj__sort_sync(k, "N5: all threads know that they retry");
        cj__sort_begin_settle(k);
    }
}

static cj_reg is_in_order(const sort_kernel *k, const settling *t) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            at = retry_at(k);
    CJ_IF(f, cj_ne(f, "has_failed", t->fails, 0), "told") {
        if (!s->cluster) cj_ptx(f, "red.shared.or.b32 [$1], 1;", at);
        for (unsigned rank = 0; rank < s->cluster; rank++) {
            cj_reg peer = cj_cluster_map_address(f, at, cj_mov(f, "u32", "peer_rank", rank));
            cj_dsmem_red(f, cj_always(), "or", "b32", peer, 0, CJ_ARG(1));
        }
    }
    if (s->cluster)
        cj_cluster_sync(f, "N4: all ranks have settled, and read what they need of others");
    else
        cj__sort_sync(k, "N4: all items have settled");
    cj_reg in_order = cj_eq(f, "in_order", cj_let(f, "u32", "retry", "ld.shared.u32 $1, [$2];", at), 0);
    clear_retry(k, in_order);
    return in_order;
}

static settling begin(sort_kernel *k) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    settling          t;
    cj__sort_find_range(k);
    t.first_lane = cj_eq(f, "first_lane", k->lane, 0);
    t.last_lane = cj_eq(f, "last_lane", k->lane, SORT_WARP - 1);
    t.at = cj_mad(f, "keys_at", k->own, stride(s), k->counts);
    t.end = cj_shl(f, "end", cj__sort_constant(k, "one", 1), k->start);
    t.fails = cj_mov(f, "u32", "fails", 0);
    return t;
}

cj_reg cj__sort_settle(sort_kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "runs of the same prefix settle");
    if (k->s.cluster) fetch_edges(k);
    const settling t = begin(k);
    cj_reg         before = falls_before(k, &t), own = falls_of_group(k, &t, 0);
    for (unsigned i = 0; i < k->s.items; i++) {
        cj_reg after = i + 1 < k->s.items ? falls_of_group(k, &t, i + 1) : falls_after(k, &t);
        cj_reg moves = cj_mov(f, "u32", "moves", 0);
        cj_reg near = cj_let(f, "b32", "falls_near", "lop3.b32 $1, $2, $3, $4, 0xea; // and, or", before, LAST_LANES, own);
        cj_ptx(f, "lop3.b32 $1, $2, $3, $1, 0xea;", near, after, FIRST_LANES);
        CJ_IF_UNI(f, cj_ne(f, "settles", near, 0), "settled") { settle_item(k, &t, i, moves); }
        cj_update(f, moves, "add", k->own);
        cj__sort_keep_place(k, i, cj_add(f, "settled", moves, SORT_WARP * i + SORT_REACH));
        before = own, own = after;
    }
    return is_in_order(k, &t);
}
