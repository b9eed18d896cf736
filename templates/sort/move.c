// SPDX-License-Identifier: Apache-2.0
// Items go to their places: in the group's shared memory, or in that of the block of the cluster that has the place. Then each
// thread takes what lies in its places.
#include "sort.h"

static void store_item(const sort_kernel *k, cj_reg at, unsigned item, bool is_index) {
    static const char *const types[] = {[1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64"};
    const char *type = types[is_index ? k->s.index_bytes : k->s.key_bytes];
    cj_reg      value = is_index ? k->index[item] : k->key[item];
    cj_ptx(k->f, "st.$1.$2 [$3 + $4], $5;", k->s.cluster ? "shared::cluster" : "shared", type, at,
           is_index ? k->s.at.indices : k->s.at.keys, value);
}

// `place` is in the tile of the block `rank`.
static void put(const sort_kernel *k, cj_reg place, cj_reg rank, unsigned item, bool is_index) {
    cj_func *f = k->f;
    cj_reg   at = cj_mad(f, "item_at", place, is_index ? k->s.index_bytes : k->s.key_bytes, k->counts);
    if (k->s.cluster) at = cj_cluster_map_address(f, at, rank);
    store_item(k, at, item, is_index);
}

void cj__sort_scatter(const sort_kernel *k) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_step(f, "items go to their places%s", s->cluster ? ", in the shared memory of all ranks" : "");
    for (unsigned i = 0; i < s->items; i++) {
        cj_reg start = cj_let(f, "u32", "start", "ld.shared.u32 $1, [$2];", cj__sort_digit_at(k, i));
        cj_reg place = cj_add(f, "place", start, cj__sort_place(k, i)), rank = cj_none();
        if (s->cluster) {
            rank = cj_shr(f, "rank", place, cj__log2(s->tile));
            place = cj_and(f, "place", place, s->tile - 1);
        }
        put(k, place, rank, i, false);
        if (s->carries && !s->packed) put(k, place, rank, i, true);
    }
    if (s->cluster)
        cj_cluster_sync(f, "C2: all items are in their places");
    else
        cj__sort_sync(k, "S4: all items are in their places");
}

void cj__sort_gather(const sort_kernel *k) {
    static const char *const types[] = {[1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64"};
    const sort_shape        *s = &k->s;
    cj_func                 *f = k->f;
    cj_reg                   keys = cj_mad(f, "keys_at", k->own, s->key_bytes, k->counts), indices = cj_none();
    for (unsigned i = 0; i < s->items; i++)
        cj__load(f, cj_always(), "ld.shared", types[s->key_bytes], &k->key[i], 1, keys,
                 s->at.keys + i * SORT_WARP * s->key_bytes);
    if (!s->carries || s->packed) return;
    indices = cj_mad(f, "indices_at", k->own, s->index_bytes, k->counts);
    for (unsigned i = 0; i < s->items; i++)
        cj__load(f, cj_always(), "ld.shared", types[s->index_bytes], &k->index[i], 1, indices,
                 s->at.indices + i * SORT_WARP * s->index_bytes);
}
