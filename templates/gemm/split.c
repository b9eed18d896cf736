// SPDX-License-Identifier: Apache-2.0
// A tile whose K is shared: among the blocks of a cluster, whose sums meet in distributed shared memory, and among
// clusters, whose sums meet in global memory.
//
// A tile of few thousand elements and a long K would leave most of the GPU idle. So `split` blocks of a cluster (times
// those that load together) and `parts` clusters take turns with its steps; one that comes too late has none.
// Sums are then added up piece by piece: 16 rows by 64 columns (32 of f32), which one warp
// holds, and one warp sends on to D.
//
//   rank 0  | w0 p0 | w1 p0 | … | w3 p1 |   sums of its share, in registers
//   rank 1  | w0 p0 | w1 p0 | … | w3 p1 |
//               |       |           +--> split - 1   the pieces' owners, in order of the pieces: (w, p) is number
//               |       +--> 0                       p * warps + w, and of n pieces number i is owned by rank
//               +----> 0                             i * split / n, by the warp w there
//
//   owner's shared memory   | piece 0: sums of rank 0 | of rank 1 | … | piece 1: … |   pushed (st.async), but its own
//   workspace               | counters of arrivals | piece 0: sums of part 0 | of part 1 | … | piece 1: … |   global
//
// Sums are pushed straight from registers, since stores to a peer run several times faster than loads from it; they lie
// as registers do, 512 bytes a warp's store, so that nothing needs a layout. A block sends 21 bytes a clock at most, so
// the owner's own sums stay in registers; to them it adds the others in order of the ranks. Of several parts the one
// that comes last, a warp for itself, adds up those of all in their order. So results are the same each time.
//
// Memory for the sums of peers is what stages could have. Where that would leave too few of them for a long K, the sums
// come into the stages themselves (sums=ring), when all blocks of the cluster are done with theirs.
//
// What takes time there is waiting: for one counter, whatever the pieces, since a warp posts all of its own before it
// counts itself once; and for loads, of which AT_ONCE summands' are on their way together before they are added.
//
// Barriers besides those of gemm.c, and why each is needed and enough:
//   B1            is the cluster's: peers have started, and their mbarriers count what is pushed. None waits for the
//                 peers' steps where the memory for sums is used for nothing else.
//   B2            is the cluster's, with sums=ring alone: all consumers come there behind their last products, for which
//                 they have waited, as these have for every copy into a stage; so that nothing reads or writes a stage
//                 any more. It releases, for the copies' writes come before those of peers. Behind it no peer arrives
//                 at this block's mbarriers either, and the loading thread need not wait for that.
//   arrived[i]    the bytes of the i-th piece that this block owns have come from every other rank. A block cannot leave
//                 before, so that no barrier is needed at the end; who pushes can.
//   bar.warp.sync before lane 0 counts its part at a counter in global memory: all lanes' sums of all of the warp's
//                 pieces are there, and the atomic's release publishes them with lane 0's own. Behind it: what the last
//                 part's lane 0 has acquired, the posts of all parts, all lanes see. Warps have counters of their own
//                 and post and add up the same pieces in each part, so that none waits for another one.
// A counter wraps at the last part, so that it is ready for the next launch.
#include "split.h"

// Summands whose loads are on their way together: as many as there are registers for.
enum { PIECE_SUMS_MAX = GEMM_BOX / 2, AT_ONCE = 4 };

// Armed before B1, behind which peers push.
void cj__gemm_split_begin(gemm_kernel *k, cj_reg first_thread) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    k->sums_ready = cj_shared_address(f, cj_shared(f, "b64", "sums_arrived", cj__gemm_owned(g), 8));
    k->peer_sums = cj_u32(f, "sums_of_peers");
    cj_ptx(f, "add.u32 $1, $2, $3;", k->peer_sums, k->shared,
           g->sums_in_stages ? 0 : k->plan->dynamic_shared - GEMM_SHARED_ALIGN - cj__gemm_peer_bytes(g));
    for (uint32_t i = 0; i < cj__gemm_owned(g); i++) {
        cj_ptx(f, "@$1 mbarrier.init.shared.b64 [$2 + $3], 1;", first_thread, k->sums_ready, 8 * i);
        cj_ptx(f, "@$1 mbarrier.arrive.expect_tx.shared.b64 _, [$2 + $3], $4;", first_thread, k->sums_ready, 8 * i,
               (g->split - 1) * cj__gemm_subtile_bytes(g));
    }
}

// ---- from ranks to owners

// A piece of this warp: its number; with several ranks also whether this one owns it, which one does, and where this
// lane's sums lie there, those of rank 0, with their mbarrier.
typedef struct piece {
    cj_reg number, owned, owner, sums, arrived;
} piece;

static void find_owner(gemm_kernel *k, piece *p) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    cj_reg            slot = cj_u32(f, "slot");
    p->owned = cj_pred(f, "owned");
    p->owner = cj_u32(f, "owner");
    p->sums = cj_u32(f, "sums_at");
    p->arrived = cj_u32(f, "arrived");
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", p->owner, p->number, g->split);
    cj_ptx(f, "div.u32 $1, $1, $2;", p->owner, cj__gemm_block_subtiles(g));
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", p->owned, p->owner, k->split.rank);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", slot, p->owner, cj__gemm_block_subtiles(g), g->split - 1);
    cj_ptx(f, "div.u32 $1, $1, $2; // the owner's first piece", slot, g->split);
    cj_ptx(f, "sub.u32 $1, $2, $1;", slot, p->number);
    cj_ptx(f, "mad.lo.u32 $1, $2, 8, $3;", p->arrived, slot, k->sums_ready);
    cj_ptx(f, "mad.lo.u32 $1, $2, 16, $3;", p->sums, k->lane, k->peer_sums);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", p->sums, slot, (g->split - 1) * cj__gemm_subtile_bytes(g));
}

static void find_pieces(gemm_kernel *k, piece *pieces) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    cj_step(f, "the warp's pieces of the tile, %u columns each", g->subtile);
    for (uint32_t i = 0; i < g->subtiles; i++) {
        pieces[i] = (piece){.number = cj_u32(f, "piece")};
        cj_ptx(f, "sub.u32 $1, $2, $3;", pieces[i].number, k->warp, GEMM_WARPS);
        if (i) cj_ptx(f, "add.u32 $1, $1, $2;", pieces[i].number, i * cj__gemm_consumer_warps(g));
        if (g->split > 1) find_owner(k, &pieces[i]);
    }
}

// Of consumers: the loading thread has nothing more to do, and leaves.
static void wait_for_rings(gemm_kernel *k) {
    cj_step(k->f, "sums come into the stages when all blocks of the cluster are done with theirs");
    cj_cluster_arrive(k->f, CJ_ARRIVE_RELEASE, "B2: this block's products are over");
    cj_cluster_wait(k->f, "every block's stages are free");
}

// To an owner that is another rank; behind the owner's place the ranks have the slot of the one before.
static void push_piece(gemm_kernel *k, const piece *p, const cj_reg *sum) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    cj_reg            rank = p->owner, own = cj_u32(f, "own_sums"), behind = cj_pred(f, "behind_owner");
    cj_label          stays = cj_label_new(f, "stays_here");
    cj_ptx(f, "@$1 bra $2;", p->owned, stays);
    if (cj__gemm_multicast(g) > 1) {
        rank = cj_u32(f, "owner_rank");
        cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", rank, p->owner, cj__gemm_multicast(g), k->split.mate);
    }
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", own, k->split.rank, cj__gemm_subtile_bytes(g), p->sums);
    cj_ptx(f, "setp.gt.u32 $1, $2, $3;", behind, k->split.rank, p->owner);
    cj_ptx(f, "@$1 sub.u32 $2, $2, $3;", behind, own, cj__gemm_subtile_bytes(g));
    cj_reg to = cj_cluster_map_address(f, own, rank), arrived = cj_cluster_map_address(f, p->arrived, rank);
    for (int i = 0; i < (int)cj__gemm_sums(g) / GEMM_VECTOR; i++)
        cj_st_async(f, cj_always(), "f32", sum + GEMM_VECTOR * i, GEMM_VECTOR, to, i * GEMM_VECTOR_BYTES, arrived);
    cj_label_here(f, stays);
}

// ---- adding up

static void load_sums(gemm_kernel *k, const char *space, const cj_reg *to, cj_reg at, uint32_t index) {
    cj__gemm_sums_load(k, space, to, cj__gemm_sums(k->g), at, index * cj__gemm_subtile_bytes(k->g));
}

static void add_sums(gemm_kernel *k, const cj_reg *sum, const cj_reg *next) {
    for (uint32_t i = 0; i < cj__gemm_sums(k->g); i++) cj_ptx(k->f, "add.rn.f32 $1, $1, $2;", sum[i], next[i]);
}

// Whether ptxas, left alone, unrolls the rounds of loads and starts all of them at once, for which a thread of a tile of 256
// columns has no registers: it spills up to 16 bytes (CUDA 13.0). Fewer summands fit, and more are not unrolled.
static bool keeps_rounds(const gemm_shape *g, uint32_t count, bool fresh) {
    enum { COLUMNS = 256, FITS = 208, UNROLLED = 256 };
    const uint32_t loads = count * cj__gemm_sums(g);
    return fresh && g->tile_n == COLUMNS && loads > FITS && loads < UNROLLED;
}

// To `sum` are added `count` pieces that follow each other, in this order; if it is `fresh`, the first one becomes it.
// AT_ONCE are on their way together, but for the first ones, which are as many as make the others come out even: none of 8,
// whose sums begin at 0. (ptxas has no registers for the loads of a first four and of the only four behind them.) `at`, of
// the type `type`, is used up.
static void add_up(gemm_kernel *k, const char *space, const char *type, cj_reg at, uint32_t count, bool fresh,
                   const cj_reg *sum) {
    cj_func       *f = k->f;
    const bool     rounds = keeps_rounds(k->g, count, fresh);
    const uint32_t at_once = rounds && count < 2 * AT_ONCE ? AT_ONCE - 1 : AT_ONCE;
    const uint32_t first = count <= at_once ? count : count % at_once, n = cj__gemm_sums(k->g),
                   used = first < count ? at_once : first - fresh;
    cj_reg next[AT_ONCE][PIECE_SUMS_MAX];
    for (uint32_t i = 0; i < used * n; i++) next[i / n][i % n] = cj_f32(f, "summand");
    for (uint32_t i = 0; fresh && !first && i < n; i++) cj_ptx(f, "mov.f32 $1, $2;", sum[i], 0.0F);
    if (fresh && first) load_sums(k, space, sum, at, 0);
    for (uint32_t i = fresh; i < first; i++) load_sums(k, space, next[i - fresh], at, i);
    for (uint32_t i = fresh; i < first; i++) add_sums(k, sum, next[i - fresh]);
    if (first == count) return;
    cj_reg   left = cj_u32(f, "summands_left"), more = cj_pred(f, "more");
    cj_label again = cj_label_new(f, "next_summands");
    if (first) cj_ptx(f, "add.$1 $2, $2, $3;", type, at, first * cj__gemm_subtile_bytes(k->g));
    cj_ptx(f, "mov.u32 $1, $2;", left, count - first);
    cj_label_here(f, again);
    if (rounds) cj_ptx(f, ".pragma \"nounroll\";");
    for (uint32_t i = 0; i < at_once; i++) load_sums(k, space, next[i], at, i);
    for (uint32_t i = 0; i < at_once; i++) add_sums(k, sum, next[i]);
    cj_ptx(f, "add.$1 $2, $2, $3;", type, at, at_once * cj__gemm_subtile_bytes(k->g));
    cj_ptx(f, "sub.u32 $1, $1, $2;", left, at_once);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", more, left);
    cj_ptx(f, "@$1 bra $2;", more, again);
}

static void gather_piece(gemm_kernel *k, const piece *p, const cj_reg *sum) {
    cj_mbarrier_wait(k->f, p->arrived, CJ_ARG(0), CJ_SCOPE_CLUSTER, "every other rank's sums have come");
    add_up(k, "shared", "u32", p->sums, k->g->split - 1, false, sum);
}

// ---- from parts to the last one

// The workspace as a warp sees it.
typedef struct posts {
    cj_reg counter;  // of the parts that have posted this warp's pieces
    cj_reg first;    // where this lane's sums of piece 0 of the block lie, those of part 0
    cj_reg last;     // predicate: this part came last
} posts;

static posts find_posts(gemm_kernel *k) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    const uint32_t    blocks = g->split * cj__gemm_multicast(g), counters = blocks * cj__gemm_consumer_warps(g);
    posts             w = {.counter = cj_u64(f, "counter"), .last = cj_pred(f, "came_last")};
    cj_reg            number = cj_u32(f, "post");
    cj_step(f, "where the parts' sums meet");
    w.first = cj__load_pointer(f, k->workspace, "posts");
    cj_ptx(f, "mov.u32 $1, $2;", number, k->cluster);
    if (blocks > 1) cj_ptx(f, "mad.lo.u32 $1, $1, $2, $3;", number, blocks, cj_cluster_rank(f));
    cj_ptx(f, "mad.lo.u32 $1, $1, $2, $3;", number, cj__gemm_consumer_warps(g), k->warp);
    cj_ptx(f, "sub.u32 $1, $1, $2;", number, GEMM_WARPS);
    cj_ptx(f, "mad.wide.u32 $1, $2, 4, $3;", w.counter, number, w.first);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1; // behind all counters", w.first, k->count, 4 * counters);
    cj_ptx(f, "mad.wide.u32 $1, $2, 16, $1;", w.first, k->lane);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", w.first, k->cluster, cj__gemm_post_bytes(g) * cj__gemm_multicast(g));
    if (cj__gemm_multicast(g) > 1)
        cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", w.first, k->split.mate, cj__gemm_post_bytes(g));
    return w;
}

static cj_reg post_of(gemm_kernel *k, const posts *w, const piece *p) {
    cj_reg at = cj_u64(k->f, "post_at");
    cj_ptx(k->f, "mad.wide.u32 $1, $2, $3, $4;", at, p->number, k->g->parts * cj__gemm_subtile_bytes(k->g), w->first);
    return at;
}

static void post_piece(gemm_kernel *k, const posts *w, const piece *p, const cj_reg *sum) {
    cj_reg at = post_of(k, w, p);
    cj_ptx(k->f, "mad.wide.u32 $1, $2, $3, $1;", at, k->split.part, cj__gemm_subtile_bytes(k->g));
    cj__gemm_sums_store(k, sum, cj__gemm_sums(k->g), at);
}

// ---- from sums to D

// What follows up to the label is for the piece's owner.
static cj_label if_owned(gemm_kernel *k, const piece *p) {
    cj_label others = cj_label_new(k->f, "not_owned");
    if (k->g->split > 1) cj_ptx(k->f, "@!$1 bra $2;", p->owned, others);
    return others;
}

static void finish_piece(gemm_kernel *k, const gemm_results *r, const cj_reg *sum, uint32_t index) {
    cj__gemm_results_take_subtile(k, r, sum, index);
    cj__gemm_results_store(k, r, index);
}

void cj__gemm_split_results(gemm_kernel *k, gemm_results *r, const cj_reg *sum, const gemm_place *place) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    const bool        pushes = g->split > 1, posts_them = g->parts > 1;
    piece             pieces[GEMM_SUBTILES_MAX];
    posts             w = {0};
    cj_label          leave = cj_label_new(f, "not_last");
    cj__gemm_results_place(k, r, place);
    find_pieces(k, pieces);
    if (posts_them) w = find_posts(k);
    if (g->sums_in_stages) wait_for_rings(k);
    if (pushes) cj_step(f, "the sums are pushed to the owners of their pieces");
    for (uint32_t i = 0; pushes && i < g->subtiles; i++) push_piece(k, &pieces[i], sum + cj__gemm_sums(g) * i);
    for (uint32_t i = 0; i < g->subtiles; i++) {
        cj_step(f, "the sums of columns %u to %u", i * g->subtile, i * g->subtile + g->subtile - 1);
        cj_label others = if_owned(k, &pieces[i]);
        if (pushes) gather_piece(k, &pieces[i], sum + cj__gemm_sums(g) * i);
        if (posts_them) post_piece(k, &w, &pieces[i], sum + cj__gemm_sums(g) * i);
        if (!posts_them) finish_piece(k, r, sum, i);
        cj_label_here(f, others);
    }
    if (posts_them) {
        cj_step(f, "the part that comes last adds up those of all");
        cj__gemm_come_last(k, w.counter, CJ_ARG(g->parts - 1), cj_u32(f, "parts_before"), w.last, leave);
    }
    for (uint32_t i = 0; posts_them && i < g->subtiles; i++) {
        cj_label others = if_owned(k, &pieces[i]);
        add_up(k, "global", "u64", post_of(k, &w, &pieces[i]), g->parts, true, sum + cj__gemm_sums(g) * i);
        finish_piece(k, r, sum, i);
        cj_label_here(f, others);
    }
    cj_label_here(f, leave);
}
