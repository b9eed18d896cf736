// SPDX-License-Identifier: Apache-2.0
// What a shape takes, predicted: "The cost model" in docs/maintaining/gemm.md has the formulas and what they were fitted to,
// constants.def the numbers.
#include "plan.h"

static const gemm_constants *const gpu = &cj__gemm_constants;

// ---- clusters that run at once

static uint64_t room_in(const gemm_shape *g, const cj_limits *limits) {
    return cj__clusters_at_once(limits, cj__gemm_threads(g), limits->shared_per_block_optin,
                                cj__gemm_multicast(g) * g->split);
}

static uint64_t room_in_gpcs_of(const gemm_shape *g, const cj_limits *target, uint32_t sms) {
    cj_limits limits = *target;
    uint32_t  left = target->sm_count;
    for (size_t i = 0; left && i < sizeof limits.gpc_sms / sizeof *limits.gpc_sms; i++) {
        limits.gpc_sms[i] = (uint8_t)(left < sms ? left : sms);
        left -= limits.gpc_sms[i];
    }
    return room_in(g, &limits);
}

// A cluster that does not fit beside the others runs after them and doubles the time. So where the GPCs are not known, they
// are taken for those that hold fewer clusters: 22 clusters of 6 fit GPCs of 18 SMs, but 16 fit GPCs of 16.
uint64_t cj__gemm_room(const gemm_shape *g, const cj_limits *limits) {
    if (limits->gpc_sms[0]) return room_in(g, limits);
    const uint64_t whole = room_in_gpcs_of(g, limits, (uint32_t)gpu->gpc_sms),
                   few = room_in_gpcs_of(g, limits, (uint32_t)gpu->gpc_sms_few);
    return cj__least(whole, few);
}

// ---- the mainloop

// Several things at the same time: the longest, and more than that where others take nearly as long.
static double beside(double a, double b, double c, double d) {
    return cbrt(a * a * a + b * b * b + c * c * c + d * d * d);
}

// L2 reads whole lines: where a matrix's lines are no multiple of them, each 128 bytes of a box lie in two.
static double loaded_bytes_of(const gemm_operand *o) {
    return (double)cj__gemm_loaded_bytes(o) / o->loaders * (o->is_cut ? 2 : 1);
}

// Bytes of L2's lines that a block loads itself for a step; its multicast group loads the others.
static double loaded_bytes(const gemm_shape *g) {
    const double part = (double)(g->k * g->a.type->bytes) / (double)(g->steps * GEMM_ROW);
    return part * (loaded_bytes_of(&g->a) + loaded_bytes_of(&g->b));
}

// A step by so many blocks: its products, the block's loads, those of all blocks, and a stage's way from free to full.
static double step_clocks(const gemm_shape *g, double blocks) {
    const double rate = g->groups > 1 ? gpu->products : gpu->products / gpu->one_group;
    const double products = g->teams > 1 ? gpu->turn_step * g->tile_n / GEMM_WIDEST : g->tile_m * g->tile_n / rate;
    const double operands = g->groups * (GEMM_GROUP_ROWS + g->tile_n) * GEMM_ROW / gpu->operand_bytes;
    const double loaded = loaded_bytes(g), stages = (double)cj__least(g->stages, GEMM_STAGES_MAX);
    return beside(fmax(products, operands), loaded / gpu->block_bytes, loaded * blocks / gpu->l2_bytes, gpu->refill / (stages - 1));
}

// ---- results

// GELU and SiLU, which no products hide.
static double special_clocks(const gemm_shape *g) {
    const bool is_special = g->activation == GEMM_GELU || g->activation == GEMM_SILU;
    return is_special ? gpu->activate * g->tile_n : 0;
}

// From a tile's last step to the next tile's first one. Of consumers in turn one stores while the other one multiplies.
static double end_clocks(const gemm_shape *g) {
    return gpu->end + special_clocks(g) + (g->deferred ? 0 : gpu->stored * g->tile_n);
}

static double last_clocks(const gemm_shape *g) {
    const double times = g->turned ? gpu->turned_last : 1;
    return times * g->tile_m * g->tile_n * g->d_type->bytes / gpu->last_bytes + special_clocks(g);
}

// ---- partials

// Split-K in a cluster: a block pushes all subtiles but those that it owns.
static double exchange_clocks(const gemm_shape *g) {
    const double sent = (double)(g->tile_m * g->tile_n * sizeof(float)) * (g->split - 1) / g->split;
    const double wide = cj__gemm_multicast(g) * g->split > GEMM_PORTABLE_CLUSTER ? gpu->wide_cluster : 0;
    return g->split == 1 ? 0 : gpu->exchange + sent / gpu->send_bytes + wide;
}

// Split-K across clusters: each part stores the partials of the subtiles that its block owns, and the last one reads those of all.
static double combine_clocks(const gemm_shape *g) {
    const double owned = (double)(g->tile_m * g->tile_n * sizeof(float)) / g->split;
    return g->parts == 1 ? 0 : gpu->combine + owned * (g->parts + 1) / gpu->combine_bytes;
}

// ---- the whole

// Global memory, at least: A and B are read and D is written once.
static double global_clocks(const gemm_shape *g) {
    const double read = (double)g->k * (double)g->a.type->bytes * ((double)g->m + (double)g->n);
    const double written = (double)g->m * (double)g->n * (double)g->d_type->bytes;
    return (double)g->batches * (read / gpu->read_bytes + written / gpu->write_bytes);
}

// Rounds of the clusters that run at once. A block is persistent: between two rounds of whole tiles it loads the next tile's stages.
double cj__gemm_cost(const gemm_shape *g, uint64_t room) {
    const uint64_t clusters = cj__gemm_tile_count(g) * g->parts;
    const double   rounds = (double)cj__ceil_div(clusters, room), partials = exchange_clocks(g) + combine_clocks(g);
    const double   blocks = (double)(cj__least(clusters, room) * cj__gemm_multicast(g) * g->split);
    const double   steps = (double)cj__ceil_div(g->steps, cj__gemm_splits(g)) * step_clocks(g, blocks);
    const double   round = g->teams > 1 ? fmax(steps, gpu->turn_end + special_clocks(g) / 2) : steps + end_clocks(g);
    return hypot(steps + (rounds - 1) * round, global_clocks(g)) + last_clocks(g) + rounds * partials;
}
