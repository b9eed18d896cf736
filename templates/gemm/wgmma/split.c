// SPDX-License-Identifier: Apache-2.0
// Split-K: several blocks of a cluster, and several clusters (parts), split the K of a tile.
//
// A tile of few thousand elements and a long K would leave most of the GPU idle. So `split` multicast groups of a cluster and
// `parts` clusters take turns with its steps; if there are fewer steps than blocks, some have none. Their sums are then combined
// subtile by subtile: 16 rows by 64 columns (32 of f32), which one warp holds, and one warp stores to D.
//
//   rank 0  | w0 s0 | w1 s0 | … | w3 s1 |   its partial sums, in registers
//   rank 1  | w0 s0 | w1 s0 | … | w3 s1 |
//               |       |           +--> split - 1   the subtiles' owners: (w, s) is number s * warps + w, and of n
//               |       +--> 0                       subtiles number i is owned by rank i * split / n, by the warp
//               +----> 0                             of the same number w there
//
//   owner's shared memory   | subtile 0: of rank 0 | of rank 1 | … | subtile 1: … |   pushed (st.async), but its own
//   workspace               | counters | subtile 0: of part 0 | of part 1 | … | subtile 1: … |   global
//
// Partials are pushed straight from registers and lie as registers hold them, 512 bytes a warp's store. The owner adds those of
// its peers to its own, in order of the ranks. Of several parts the warp that comes last adds up those of all (partials.c), in
// their order. So results are the same each time.
//
// The memory for the partials of peers comes out of that of the stages. Where that would leave too few stages for a long K,
// partials come into the stages themselves (sums=stages), after all blocks of the cluster have read theirs.
//
// Barriers besides those of the form wgmma (docs/maintaining/gemm.md) and of partials.c, and why each is needed and enough:
//   B1            of the cluster: peers have started, and their mbarriers count what is pushed.
//   B2            of the cluster, with sums=stages alone: all consumers arrive after their last products, for which they have
//                 waited, as those waited for every copy into a stage: nothing reads or writes a stage any more. It
//                 releases, for the copies' writes come before those of peers. After it no peer arrives at this block's
//                 mbarriers either, and the producer need not wait for that.
//   sums_arrived[i] the bytes of the i-th subtile that this block owns have come from every other rank. A block cannot leave
//                 before, so no barrier is needed at the end; one that has pushed can.
#include "wgmma.h"

// Subtiles' partials that a thread has registers for, while their loads are in flight.
enum { IN_FLIGHT = 4, SUBTILE_SUMS_MAX = GEMM_BOX / 2 };

// Armed before B1, after which peers push.
void cj__gemm_split_begin(gemm_kernel *k, cj_reg first_thread) {
    const gemm_shape *g = k->g;
    k->sums_arrived = cj__mbarriers(k->f, "sums_arrived", cj__gemm_owned(g));
    k->peer_sums = cj_add(k->f, "peer_sums", k->shared,
                          g->sums_in_stages ? 0 : k->plan->dynamic_shared - GEMM_SHARED_ALIGN - cj__gemm_peer_bytes(g));
    for (uint32_t i = 0; i < cj__gemm_owned(g); i++) {
        cj_ptx(k->f, "@$1 mbarrier.init.shared.b64 [$2 + $3], 1;", first_thread, k->sums_arrived, 8 * i);
        cj_ptx(k->f, "@$1 mbarrier.arrive.expect_tx.shared.b64 _, [$2 + $3], $4;", first_thread, k->sums_arrived, 8 * i,
               (g->split - 1) * cj__gemm_subtile_bytes(g));
    }
}

// ---- subtiles and their owners

// A subtile of this warp: its number, and whether this rank owns it; with several ranks also its owner, and where this lane's
// sums lie there, those of rank 0, with their mbarrier. A lane has `count` sums of it; each has room for as many as of the others.
typedef struct subtile {
    cj_reg   number, owner, owned, sums, arrived;
    uint32_t count;
} subtile;

static void find_owner(const gemm_kernel *k, subtile *s) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    const uint32_t    all = cj__gemm_block_subtiles(g);
    s->owner = cj_div(f, "owner", cj_mul(f, "owner", s->number, g->split), all);
    s->owned = cj_eq(f, "owned", s->owner, k->split.rank);
    cj_reg first = cj_mad(f, "first_owned", s->owner, all, g->split - 1);
    first = cj_let(f, "u32", "first_owned", "div.u32 $1, $2, $3; // the owner's first subtile", first, g->split);
    cj_reg slot = cj_sub(f, "slot", s->number, first);
    s->arrived = cj_mad(f, "arrived", slot, 8, k->sums_arrived);
    cj_reg lane = cj_mad(f, "sums_of_lane", k->lane, 16, k->peer_sums);
    s->sums = cj_mad(f, "sums_at", slot, (g->split - 1) * cj__gemm_subtile_bytes(g), lane);
}

static void find_subtiles(const gemm_kernel *k, subtile *subtiles) {
    const gemm_shape *g = k->g;
    cj_step(k->f, "the warp's subtiles, %u columns each", g->subtile);
    for (uint32_t i = 0; i < g->subtiles; i++) {
        cj_reg number = cj_sub(k->f, "subtile", k->warp, GEMM_WARPS);
        if (i) number = cj_add(k->f, "subtile", number, i * cj__gemm_consumer_warps(g));
        subtiles[i] = (subtile){.number = number, .owned = cj_always(), .count = cj__gemm_columns_of(g, i) / 2};
        if (g->split > 1) find_owner(k, &subtiles[i]);
    }
}

// ---- from ranks to owners

// Of consumers: the producer has nothing more to do, and leaves.
static void wait_for_stages(const gemm_kernel *k) {
    cj_step(k->f, "partials come into the stages when all blocks of the cluster have read theirs");
    cj_cluster_arrive(k->f, CJ_ARRIVE_RELEASE, "B2: this block's products are over");
    cj_cluster_wait(k->f, "every block's stages are free");
}

// To the owner, if that is another rank; of a subtile of fewer columns also padding, as the mbarrier counts bytes. It needs no slot for itself: ranks after it have the slot of the one before.
static void push(const gemm_kernel *k, const subtile *s, const cj_reg *sum) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    CJ_UNLESS(f, s->owned, "stays_here") {
        cj_reg rank = cj__gemm_multicast(g) > 1
                          ? cj_mad(f, "owner_rank", s->owner, cj__gemm_multicast(g), k->split.mate)
                          : s->owner;
        cj_reg own = cj_mad(f, "own_sums", k->split.rank, cj__gemm_subtile_bytes(g), s->sums);
        cj_reg after = cj_gt(f, "after_owner", k->split.rank, s->owner);
        cj_ptx(f, "@$1 sub.u32 $2, $2, $3;", after, own, cj__gemm_subtile_bytes(g));
        cj_reg to = cj_cluster_map_address(f, own, rank), arrived = cj_cluster_map_address(f, s->arrived, rank);
        for (int i = 0; i < (int)cj__gemm_sums(g) / GEMM_VECTOR; i++)
            cj_st_async(f, cj_always(), cj__gemm_sum_type(g), sum + GEMM_VECTOR * i, GEMM_VECTOR, to, i * GEMM_VECTOR_BYTES, arrived);
    }
}

// ---- adding up

// Partials of a subtile that follow each other at `at`: `count` of them, of so many sums each.
typedef struct summands {
    const char *load;  // instruction
    cj_reg      at;
    uint32_t    count, sums;
} summands;

static void load(const gemm_kernel *k, const summands *s, const cj_reg *to, uint32_t index) {
    cj__gemm_sums_load(k, s->load, to, s->sums, s->at, index * cj__gemm_subtile_bytes(k->g));
}

// Whether ptxas, left alone, unrolls the rounds of loads and starts all of them at once, for which a thread has no registers: of
// a tile of 256 columns, one that reads C, too, or one of integers, it spills up to 16 bytes (CUDA 13.0). Fewer summands fit, and more are not
// unrolled. Where D lies by columns, fewer fit.
static bool keeps_rounds(const gemm_shape *g, uint32_t count, bool fresh) {
    const gemm_constants *gpu = &cj__gemm_constants;
    const uint32_t        loads = count * cj__gemm_sums(g);
    if (g->turned) return fresh && loads > gpu->split_turned_loads;
    return fresh && (g->tile_n == GEMM_WIDEST || g->adds_c || cj__gemm_is_integer(g)) && loads > gpu->split_loads && loads < gpu->split_unrolled;
}

// All but the `first` ones in rounds of `round` each, all of whose loads are in flight before the first is added. `at` is used up.
static void add_rounds(const gemm_kernel *k, const summands *s, uint32_t first, uint32_t round, bool keep,
                       cj_reg next[][SUBTILE_SUMS_MAX], const cj_reg *sum) {
    cj_reg left = cj_mov(k->f, "u32", "summands_left", s->count - first);
    CJ_COUNT_DOWN(k->f, "next_summands", left, round) {
        if (keep) cj_ptx(k->f, ".pragma \"nounroll\";");
        for (uint32_t i = 0; i < round; i++) load(k, s, next[i], i);
        for (uint32_t i = 0; i < round; i++) cj__gemm_sums_add(k, sum, next[i], s->sums);
        cj_update(k->f, s->at, "add", round * cj__gemm_subtile_bytes(k->g));
    }
}

// Adds the partials to `sum`, in their order; if it is `fresh`, the first one becomes it. They come in rounds of IN_FLIGHT, after as
// many as make the rounds come out even: none of 8, whose sums begin at 0. (ptxas has no registers for the loads of a first four and of a single round after them.)
static void add_up(const gemm_kernel *k, const summands *s, bool fresh, const cj_reg *sum) {
    const uint32_t count = s->count, n = s->sums;
    const bool     keep = keeps_rounds(k->g, count, fresh);
    const uint32_t round = keep && count < 2 * IN_FLIGHT ? IN_FLIGHT - 1 : IN_FLIGHT;
    const uint32_t first = count <= round ? count : count % round, used = first < count ? round : first - fresh;
    cj_reg         next[IN_FLIGHT][SUBTILE_SUMS_MAX];
    for (uint32_t i = 0; i < used * n; i++) next[i / n][i % n] = cj__gemm_sum(k, "summand");
    for (uint32_t i = 0; fresh && !first && i < n; i++) cj__gemm_sum_clear(k, sum[i]);
    if (fresh && first) load(k, s, sum, 0);
    for (uint32_t i = fresh; i < first; i++) load(k, s, next[i - fresh], i);
    for (uint32_t i = fresh; i < first; i++) cj__gemm_sums_add(k, sum, next[i - fresh], n);
    if (first == count) return;
    if (first) cj_update(k->f, s->at, "add", first * cj__gemm_subtile_bytes(k->g));
    add_rounds(k, s, first, round, keep, next, sum);
}

static void gather(const gemm_kernel *k, const subtile *s, const cj_reg *sum) {
    cj_mbarrier_wait(k->f, s->arrived, CJ_ARG(0), CJ_SCOPE_CLUSTER, "every other rank's partials have come");
    const summands peers = {"ld.shared", s->sums, k->g->split - 1, s->count};
    add_up(k, &peers, false, sum);
}

// ---- from parts to the last one

// The workspace as a warp sees it: the counter of the parts that have stored this warp's subtiles, and where this lane's sums of
// the block's subtile 0 lie, those of part 0.
typedef struct partials {
    cj_reg counter, first;
} partials;

static partials find_partials(const gemm_kernel *k) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    const uint32_t    blocks = g->split * cj__gemm_multicast(g), counters = blocks * cj__gemm_consumer_warps(g);
    const uint32_t    bytes = cj__gemm_partials_bytes(g);
    cj_step(f, "where the partials of all parts lie");
    cj_reg at = cj__load_pointer(f, k->workspace, "partials"), warp = cj_mov(f, "u32", "warps_before", k->cluster);
    if (blocks > 1) warp = cj_mad(f, "warps_before", warp, blocks, cj_cluster_rank(f));
    warp = cj_mad(f, "warps_before", warp, cj__gemm_consumer_warps(g), k->warp);
    warp = cj_sub(f, "warps_before", warp, GEMM_WARPS);
    partials p = {.counter = cj_mad_wide(f, "counter", warp, 4, at)};
    at = cj_let(f, "u64", "partials", "mad.wide.u32 $1, $2, $3, $4; // after all counters", k->count, 4 * counters, at);
    at = cj_mad_wide(f, "partials", k->lane, 16, at);
    p.first = cj_mad_wide(f, "partials", k->cluster, bytes * cj__gemm_multicast(g), at);
    if (cj__gemm_multicast(g) > 1) p.first = cj_mad_wide(f, "partials", k->split.mate, bytes, p.first);
    return p;
}

static cj_reg partials_of(const gemm_kernel *k, const partials *p, const subtile *s) {
    return cj_mad_wide(k->f, "partials_of_subtile", s->number, k->g->parts * cj__gemm_subtile_bytes(k->g), p->first);
}

static void store_partials(const gemm_kernel *k, const partials *p, const subtile *s, const cj_reg *sum) {
    cj_reg at = partials_of(k, p, s);
    at = cj_mad_wide(k->f, "own_partials", k->split.part, cj__gemm_subtile_bytes(k->g), at);
    cj__gemm_sums_store(k, sum, s->count, at);
}

// ---- from sums to D

static void finish(const gemm_kernel *k, const gemm_results *r, const cj_reg *sum, uint32_t index) {
    cj__gemm_results_take_subtile(k, r, sum, index);
    cj__gemm_results_store(k, r, index);
}

// The partials of the cluster's ranks: to the owners of their subtiles, which combine them, and store them in turn if there are
// several parts.
static void combine_ranks(const gemm_kernel *k, gemm_results *r, const cj_reg *sum, const subtile *subtiles,
                          const partials *p) {
    const gemm_shape *g = k->g;
    if (g->sums_in_stages) wait_for_stages(k);
    if (g->split > 1) cj_step(k->f, "partials are pushed to the owners of their subtiles");
    for (uint32_t i = 0; g->split > 1 && i < g->subtiles; i++) push(k, &subtiles[i], sum + cj__gemm_sums(g) * i);
    for (uint32_t i = 0; i < g->subtiles; i++) {
        const cj_reg *own = sum + cj__gemm_sums(g) * i;
        cj_step(k->f, "the sums of columns %u to %u", i * g->subtile, i * g->subtile + cj__gemm_columns_of(g, i) - 1);
        CJ_IF(k->f, subtiles[i].owned, "not_owned") {
            if (g->split > 1) gather(k, &subtiles[i], own);
            if (g->parts > 1)
                store_partials(k, p, &subtiles[i], own);
            else
                finish(k, r, sum, i);
        }
    }
}

void cj__gemm_split_results(const gemm_kernel *k, gemm_results *r, const cj_reg *sum, const gemm_place *place) {
    const gemm_shape *g = k->g;
    partials          p = {.first = {0}};
    subtile           subtiles[GEMM_SUBTILES_MAX];
    cj__gemm_results_place(k, r, place);
    find_subtiles(k, subtiles);
    if (g->parts > 1) p = find_partials(k);
    combine_ranks(k, r, sum, subtiles, &p);
    if (g->parts == 1) return;
    cj_step(k->f, "the warp that comes last adds up the partials of all parts");
    CJ_IF(k->f, cj__last_warp(k->f, k->leader, p.counter, g->parts), "not_last") {
        cj__last_warp_sees(k->f);
        for (uint32_t i = 0; i < g->subtiles; i++) CJ_IF(k->f, subtiles[i].owned, "not_owned") {
                const summands parts = {"ld.global", partials_of(k, &p, &subtiles[i]), g->parts, subtiles[i].count};
                add_up(k, &parts, true, sum + cj__gemm_sums(g) * i);
                finish(k, r, sum, i);
            }
    }
}
