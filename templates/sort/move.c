// SPDX-License-Identifier: Apache-2.0
// Items go to their places in the group's shared memory, and each thread takes what lies in its places. In a cluster the items of a
// tile are in the order of their digits then: those of a digit lie side by side, and go side by side to the block that has their
// places.
#include "sort.h"

enum { JOINED_BYTES = 8 };  // a key and its index

static bool has_indices(const sort_shape *s) { return s->carries && !s->packed; }

// `place` is in the own tile.
static void put(const sort_kernel *k, cj_reg place, unsigned item) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    if (s->joined) {
        const cj_reg pair[] = {k->key[item], k->index[item]};
        cj_reg       to = cj_mad(f, "pair_to", place, JOINED_BYTES, k->counts);
        cj__store(f, cj_always(), "st.shared", "u32", pair, 2, to, s->at.keys);
        return;
    }
    cj_ptx(f, "st.shared.$1 [$2 + $3], $4;", sort_type(s->key_bytes), cj_mad(f, "key_to", place, s->key_bytes, k->counts),
           s->at.keys, k->key[item]);
    if (!has_indices(s)) return;
    cj_ptx(f, "st.shared.$1 [$2 + $3], $4;", sort_type(s->index_bytes),
           cj_mad(f, "index_to", place, s->index_bytes, k->counts), s->at.indices, k->index[item]);
}

// `place` is in the row.
static void put_in_cluster(const sort_kernel *k, cj_reg place, unsigned item) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            rank = cj_shr(f, "to_rank", place, cj__log2(s->tile));
    cj_reg            peer = cj_cluster_map_address(f, k->counts, rank), own = cj_and(f, "place", place, s->tile - 1);
    cj_dsmem_store(f, cj_always(), sort_type(s->key_bytes), &k->key[item], 1, cj_mad(f, "key_to", own, s->key_bytes, peer),
                   (int32_t)s->at.keys);
    if (!has_indices(s)) return;
    cj_dsmem_store(f, cj_always(), sort_type(s->index_bytes), &k->index[item], 1,
                   cj_mad(f, "index_to", own, s->index_bytes, peer), (int32_t)s->at.indices);
}

static void scatter_item(const sort_kernel *k, unsigned i) {
    cj_reg at = cj_mad(k->f, "count_at", cj__sort_digit(k, i), k->s.count_bytes, k->own_counts);
    cj_reg start = cj__sort_count(k, "start", at);
    put(k, cj_add(k->f, "place", start, cj__sort_place(k, i)), i);
}

void cj__sort_scatter(const sort_kernel *k) {
    cj_step(k->f, "items go to their places%s", k->s.cluster ? " in the tile" : "");
    cj__sort_each_load(k, scatter_item);
    if (!k->s.cluster && k->s.form != SORT_BY_GRID) cj__sort_sync(k, "S4: all items are in their places");
}

void cj__sort_exchange(const sort_kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "items go to the ranks that have their places");
    cj__sort_gather(k);
    cj_cluster_sync(f, "C2: all ranks have read their tiles");
    for (unsigned i = 0; i < k->s.items; i++) {
        cj_reg in_row = cj_add(f, "in_row", k->own, i * SORT_WARP);
        cj_update(f, in_row, "add", cj__sort_offset(k, i));
        put_in_cluster(k, in_row, i);
    }
    cj_cluster_sync(f, "C3: all items are in their places");
}

static void gather_joined(const sort_kernel *k) {
    const sort_shape *s = &k->s;
    cj_reg            pairs = cj_mad(k->f, "pairs_at", k->own, JOINED_BYTES, k->counts);
    for (unsigned i = 0; i < s->items; i++) {
        const cj_reg pair[] = {k->key[i], k->index[i]};
        cj__load(k->f, cj_always(), "ld.shared", "u32", pair, 2, pairs, s->at.keys + i * SORT_WARP * JOINED_BYTES);
    }
}

static void gather_item(const sort_kernel *k, unsigned i) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    const cj_reg      pair[] = {k->key[i], k->index[i]};
    cj_reg            place = cj_add(f, "place", k->own, SORT_WARP * i);
    if (s->joined) {
        cj__load(f, cj_always(), "ld.shared", "u32", pair, 2, cj_mad(f, "pair_at", place, JOINED_BYTES, k->counts), s->at.keys);
        return;
    }
    cj__load(f, cj_always(), "ld.shared", sort_type(s->key_bytes), &pair[0], 1, cj_mad(f, "key_at", place, s->key_bytes, k->counts), s->at.keys);
    if (!has_indices(s)) return;
    cj__load(f, cj_always(), "ld.shared", sort_type(s->index_bytes), &pair[1], 1, cj_mad(f, "index_at", place, s->index_bytes, k->counts), s->at.indices);
}

void cj__sort_gather(const sort_kernel *k) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    if (s->skips) {
        cj__sort_each_load(k, gather_item);
        return;
    }
    if (s->joined) {
        gather_joined(k);
        return;
    }
    cj_reg            keys = cj_mad(f, "keys_at", k->own, s->key_bytes, k->counts), indices = cj_none();
    for (unsigned i = 0; i < s->items; i++)
        cj__load(f, cj_always(), "ld.shared", sort_type(s->key_bytes), &k->key[i], 1, keys,
                 s->at.keys + i * SORT_WARP * s->key_bytes);
    if (!has_indices(s)) return;
    indices = cj_mad(f, "indices_at", k->own, s->index_bytes, k->counts);
    for (unsigned i = 0; i < s->items; i++)
        cj__load(f, cj_always(), "ld.shared", sort_type(s->index_bytes), &k->index[i], 1, indices,
                 s->at.indices + i * SORT_WARP * s->index_bytes);
}
