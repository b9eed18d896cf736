// SPDX-License-Identifier: Apache-2.0
// The peers of a block in each pattern, and where their memory is.
#include "exchange.h"

cj_reg cj__exchange_around(const exchange_kernel *k, cj_arg distance) {
    return cj__rank_ahead(k->f, "peer", k->rank, distance, k->s.size);
}

// The last of an odd number of blocks trades with itself.
static cj_reg partner(const exchange_kernel *k) {
    cj_reg peer = cj_xor(k->f, "peer", k->rank, 1);
    if (k->s.size % 2) cj_set_if(k->f, cj_ge(k->f, "beyond", peer, k->s.size), peer, k->rank);
    return peer;
}

// Left and right for halo's parts 0 and 1.
static cj_reg neighbour(const exchange_kernel *k, cj_reg part) {
    cj_reg is_left = cj_eq(k->f, "is_left", part, 0);
    return cj__exchange_around(k, CJ_ARG(cj_select(k->f, "u32", "distance", is_left, k->s.size - 1, 1)));
}

cj_reg cj__exchange_peer(const exchange_kernel *k, cj_reg part, bool comes) {
    switch (k->s.pattern) {
    case CJ_EXCHANGE_RING: return cj__exchange_around(k, CJ_ARG(comes ? k->s.shift : k->s.size - k->s.shift));
    case CJ_EXCHANGE_HALO: return neighbour(k, part);
    case CJ_EXCHANGE_ALL_TO_ALL: return part;
    default: return partner(k);
    }
}

cj_reg cj__exchange_part_there(const exchange_kernel *k, cj_reg part) {
    if (k->s.pattern == CJ_EXCHANGE_ALL_TO_ALL) return k->rank;
    return k->s.pattern == CJ_EXCHANGE_HALO ? cj_xor(k->f, "there", part, 1) : part;
}

cj_reg cj__exchange_block_of(const exchange_kernel *k, cj_reg peer) {
    return cj_add(k->f, "there", cj_sub(k->f, "first", k->block, k->rank), peer);
}

cj_reg cj__exchange_window(const exchange_kernel *k, cj_reg peer) {
    if (k->s.strategy != CJ_EXCHANGE_GLOBAL) return cj_cluster_map_address(k->f, k->box, peer);
    return cj_mad_wide(k->f, "window", cj__exchange_block_of(k, peer), EXCHANGE_BUFFERS * k->s.buffer_bytes, k->box);
}
