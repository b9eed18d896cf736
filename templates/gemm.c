// SPDX-License-Identifier: Apache-2.0
// gemm: D = alpha A B + beta C on tensor cores, for A of m x k and B of k x n in 16-bit floats, sums in f32.
//
// Algorithm. A block makes one tile of D after another (128 x 256 where there is enough of it). Its first warp group
// is the producer: one thread of it starts the tensor copies (TMA) that bring steps of A and B, 64 of K each, into a
// ring of stages. The other one or two warp groups are consumers of 64 rows each: they multiply a stage (wgmma, out
// of shared memory) into registers. What all blocks of a column of a cluster need of B, and all of a row of A, is
// loaded once: each of them loads a part and multicasts it to all.
//
//            shared memory of a block                              registers of a consumer
//   A rows   | stage 0 | stage 1 | …    128 x 64      ---wgmma-->  64 x 256 sums, f32
//   B cols   | stage 0 | stage 1 | …     64 x 256                    | scaled, C added, packed by two
//   results  | 2 buffers a warp of 16 x 64 |  <--stmatrix--        64 x 256 results, 16 bits
//                 | tensor store
//            global D
//
// The packed results of a tile leave 64 columns at a time behind the products of the first steps of the tile that
// follows, so that the tensor cores hardly wait for them: a tile has at least as many steps as pieces (zeros from
// beyond K).
//
// Tiles of clusters are taken in the order of their number, bands of 8 rows of them, column by column: what is being
// read stays in the L2 cache. What lies beyond the edges of A and B is zero, and beyond those of D and C it is not
// there: the tensor maps say so.
//
// Layouts. Both operands may lie by rows or by columns: wgmma multiplies from either (cj_matrix_order). With D in
// columns the kernel makes its transpose: D' = B' A', where "m", "A" here are the problem's n and B'.
//
// Barriers, and why each is needed and enough:
//   B1  the cluster's (the block's): the mbarriers are ready before a copy or a peer uses them. They are published by
//       fence.mbarrier_init, so that a relaxed arrival is enough.
//   full[stage]   1 arrival that announces the bytes, and the bytes: the consumers read what has come.
//   empty[stage]  an arrival of each consumer warp of every block that this block sends to or whose sender it may
//                 delay: a stage is overwritten, here and in the peers, when the products that read it are over
//                 (wgmma.wait_group). Nothing is published, so the arrival needs no fence.
//   wgmma.fence  before a tile's first product: the sums were scaled. (ptxas wants one in each step.)
//   bar.warp.sync before results are written to a buffer: the copy from it, which lane 0 has waited for, is over
//                 for all lanes; behind it, after each lane's fence.proxy.async: all rows are there for the copy that
//                 lane 0 starts; between pieces of C: all lanes have read the one before.
//   c_ready[warp] C has come (only with c=yes).
//   B2  the cluster's: a peer may still arrive at this block's mbarriers until it is done.
#include "gemm.h"

#include <inttypes.h>
#include <stdio.h>

static const cj_param_info params[] = {
    [GEMM_M] = {.name = "m", .minimum = 1, .maximum = 1 << 30, .initial = "1024", .help = "rows of A and D"},
    [GEMM_N] = {.name = "n", .minimum = 1, .maximum = 1 << 30, .initial = "1024", .help = "columns of B and D"},
    [GEMM_K] = {.name = "k", .minimum = 1, .maximum = 1 << 30, .initial = "1024", .help = "columns of A, rows of B"},
    [GEMM_DTYPE] = {.name = "dtype",
                    .choices = "bf16 f16",
                    .initial = "bf16",
                    .help = "type of A, B, C and D; sums are f32"},
    [GEMM_A] = {.name = "a",
                .choices = "row column",
                .initial = "row",
                .help = "how A lies: rows or columns are contiguous"},
    [GEMM_B] = {.name = "b", .choices = "row column", .initial = "row", .help = "how B lies"},
    [GEMM_D] = {.name = "d", .choices = "row column", .initial = "row", .help = "how C and D lie"},
    [GEMM_C] = {.name = "c", .choices = "no yes", .initial = "no", .help = "whether beta C is added"},
    [GEMM_TILE] = {.name = "tile",
                   .choices = "auto 128x256 128x128 64x256 64x128 64x64",
                   .initial = "auto",
                   .help = "rows by columns of D a block (with d=column: columns by rows)"},
    [GEMM_CLUSTER] = {.name = "cluster",
                      .maximum = GEMM_CLUSTER_MAX,
                      .initial = "auto",
                      .automatic = true,
                      .help = "blocks of a cluster one below the other, 1, 2 or 4; 0: generate without clusters"},
    [GEMM_CLUSTER_N] = {.name = "cluster-n",
                        .minimum = 1,
                        .maximum = GEMM_CLUSTER_MAX,
                        .initial = "1",
                        .help = "blocks of a cluster side by side, 1, 2 or 4; at most 4 blocks in all"},
    [GEMM_STAGES] = {.name = "stages",
                     .maximum = 16,
                     .initial = "0",
                     .help = "stages of the ring, at least 2; 0: as many as there is room for, to 8"},
};

// Registers a thread: at the start, and what the roles go on with. With two groups of consumers that is all there are.
enum { REGISTERS = 168, REGISTERS_PRODUCER = 40, REGISTERS_CONSUMER = 232 };

// ---- the head

static void write_head(const gemm_kernel *k, cj_builder *b) {
    const gemm_shape *g = k->g;
    cj_head(b, "clusterjit: gemm  D = alpha A B%s, %s, sums in f32", g->adds_c ? " + beta C" : "", g->type);
    cj_head(b, "  tile %" PRIu32 "x%" PRIu32 ", cluster %" PRIu32 "x%" PRIu32 "%s, %" PRIu32 " stages of %d of K",
            g->tile_m, g->tile_n, g->cluster_m, g->cluster_n, g->clustered ? "" : " (none)", g->stages, GEMM_STEP);
    cj_head(b, "  A lies by %s, B by %s%s", g->a == CJ_BY_K ? "k" : "rows", g->b == CJ_BY_K ? "k" : "columns",
            g->flipped ? "; this is D' = B' A', whose names are used here" : "");
    cj_head(b, "%s", "");
    cj_head(b,
            "Launch: block %" PRIu32 " threads (a producer warp group and %" PRIu32 " of consumers), %" PRIu32
            " bytes of shared memory, any grid%s.",
            k->plan->block.x, g->groups, k->plan->dynamic_shared, g->clustered ? " of whole clusters" : "");
}

static void declare(gemm_kernel *k) {
    static const char *const names[GEMM_MAPS] = {"map_a", "map_b", "map_c", "map_d"};
    const gemm_shape        *g = k->g;
    cj_func                 *f = k->f;
    for (unsigned i = 0; i < GEMM_MAPS; i++)
        k->map[i] = cj_param_array(f, "b8", names[i], sizeof(cj_tensormap), 64,
                                   i == GEMM_MAP_C && !g->adds_c ? "not used" : "tensor map");
    k->alpha = cj_param(f, "f32", "alpha", NULL);
    k->beta = cj_param(f, "f32", "beta", g->adds_c ? NULL : "not used");
    k->tiles_m = cj_param(f, "u64", "tiles_m", "rows of tiles of clusters");
    k->tiles_n = cj_param(f, "u64", "tiles_n", "columns of them");
    k->steps = cj_param(f, "u64", "steps", "of K, at least 1 for each 64 columns of a tile");
    cj_param(f, "u64", "workspace", "not used");
    cj_block(f, k->plan->block.x, 1, 1);
    cj_registers_max(f, REGISTERS);
    if (g->clustered) cj_cluster(f, k->plan->cluster.x, 1, 1);
}

static cj_reg load_u32(const gemm_kernel *k, cj_var param, const char *name) {
    cj_reg value = cj_u32(k->f, name);
    cj_ptx(k->f, "ld.param.u32 $1, [$2];", value, param);
    return value;
}

cj_reg cj__gemm_map_address(const gemm_kernel *k, unsigned which) {
    cj_reg map = cj_u64(k->f, "map");
    cj_ptx(k->f, "mov.b64 $1, $2;", map, k->map[which]);
    cj_ptx(k->f, "cvta.param.u64 $1, $1;", map);
    return map;
}

// ---- who is who

static uint32_t blocks_of(const gemm_shape *g) { return g->cluster_m * g->cluster_n; }

static uint32_t log2_of(uint32_t power) { return power > 1 ? 1 + log2_of(power / 2) : 0; }

static void emit_identity(gemm_kernel *k) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    cj_step(f, "who this thread is, and which tiles are its cluster's");
    k->thread = cj_u32(f, "thread");
    k->lane = cj_u32(f, "lane");
    k->warp = cj_u32(f, "warp");
    k->group = cj_u32(f, "group");
    k->leader = cj_pred(f, "leader");
    cj_ptx(f, "mov.u32 $1, %tid.x;", k->thread);
    cj_ptx(f, "and.b32 $1, $2, 31;", k->lane, k->thread);
    cj_ptx(f, "shr.u32 $1, $2, 5;", k->warp, k->thread);
    cj_ptx(f, "shr.u32 $1, $2, 7;", k->group, k->thread);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", k->leader, k->lane);
    k->cluster = cj_u32(f, "cluster");
    k->clusters = cj_u32(f, "clusters");
    cj_ptx(f, g->clustered ? "mov.u32 $1, %clusterid.x;" : "mov.u32 $1, %ctaid.x;", k->cluster);
    cj_ptx(f, g->clustered ? "mov.u32 $1, %nclusterid.x;" : "mov.u32 $1, %nctaid.x;", k->clusters);
    k->rows = load_u32(k, k->tiles_m, "rows");
    k->columns = load_u32(k, k->tiles_n, "columns");
    k->count = cj_u32(f, "tiles_in_all");
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", k->count, k->rows, k->columns);
    if (blocks_of(g) == 1) return;
    cj_reg rank = cj_cluster_rank(f);
    k->rank_m = cj_u32(f, "rank_m");
    k->rank_n = cj_u32(f, "rank_n");
    cj_ptx(f, "and.b32 $1, $2, $3;", k->rank_m, rank, g->cluster_m - 1);
    cj_ptx(f, "shr.u32 $1, $2, $3;", k->rank_n, rank, log2_of(g->cluster_m));
}

// Arrivals that free a stage: of each consumer warp, at every block of its own row and column of the cluster.
static uint32_t releases_of(const gemm_shape *g) { return GEMM_WARPS * g->groups * (g->cluster_m + g->cluster_n - 1); }

static void emit_begin(gemm_kernel *k) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    cj_reg            first = cj_pred(f, "first");
    k->ring = cj_pipeline_declare(f, "stages", g->stages);
    k->shared = cj_u32(f, "a_stages");
    cj_ptx(f, "mov.u32 $1, gemm_stages;", k->shared);
    if (g->adds_c) k->c_ready = cj_shared_address(f, cj_shared(f, "b64", "c_ready", g->groups * GEMM_WARPS, 8));
    cj_step(f, "mbarriers, made by one thread");
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", first, k->thread);
    for (uint32_t i = 0; g->adds_c && i < g->groups * GEMM_WARPS; i++)
        cj_ptx(f, "@$1 mbarrier.init.shared.b64 [$2 + $3], 1;", first, k->c_ready, 8 * i);
    cj_pipeline_init(f, first, &k->ring, CJ_ARG(releases_of(g)));
    if (blocks_of(g) == 1) {
        cj_ptx(f, "bar.sync 0; // B1: the mbarriers are ready");
        return;
    }
    cj_cluster_arrive(f, CJ_ARRIVE_RELAXED, "B1: the fence has published them");
    cj_cluster_wait(f, "every block's mbarriers are ready");
}

// ---- tiles

// Where along one axis this block's tile begins.
static cj_reg coordinate(const gemm_kernel *k, const char *name, cj_reg tile, uint32_t blocks, cj_reg rank,
                         uint32_t length) {
    cj_func *f = k->f;
    cj_reg   at = cj_s32(f, name);
    if (blocks > 1)
        cj_ptx(f, "mad.lo.s32 $1, $2, $3, $4;", at, tile, blocks, rank);
    else
        cj_ptx(f, "mov.b32 $1, $2;", at, tile);
    cj_ptx(f, "mul.lo.s32 $1, $1, $2;", at, length);
    return at;
}

// The tile of that number: its band of GEMM_SIDE_BY_SIDE rows (the last band may have fewer), and within it its column.
static gemm_place emit_place(const gemm_kernel *k, cj_reg tile) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    cj_reg            band = cj_u32(f, "band"), first = cj_u32(f, "first_row"), high = cj_u32(f, "rows_of_band"),
           in = cj_u32(f, "in_band");
    cj_reg column = cj_u32(f, "tile_column"), row = cj_u32(f, "tile_row");
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", in, k->columns, GEMM_SIDE_BY_SIDE);
    cj_ptx(f, "div.u32 $1, $2, $3;", band, tile, in);
    cj_ptx(f, "mul.lo.u32 $1, $1, $2;", in, band);
    cj_ptx(f, "sub.u32 $1, $2, $1;", in, tile);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", first, band, GEMM_SIDE_BY_SIDE);
    cj_ptx(f, "sub.u32 $1, $2, $3;", high, k->rows, first);
    cj_ptx(f, "min.u32 $1, $1, $2;", high, GEMM_SIDE_BY_SIDE);
    cj_ptx(f, "div.u32 $1, $2, $3;", column, in, high);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", row, column, high);
    cj_ptx(f, "sub.u32 $1, $2, $1;", row, in);
    cj_ptx(f, "add.u32 $1, $1, $2;", row, first);
    return (gemm_place){coordinate(k, "row", row, g->cluster_m, k->rank_m, g->tile_m),
                        coordinate(k, "column", column, g->cluster_n, k->rank_n, g->tile_n)};
}

// The loop over this cluster's tiles: its number, and the labels at its head and behind its end.
typedef struct tile_loop {
    cj_reg   tile;
    cj_label next, end;
} tile_loop;

static tile_loop begin_tiles(const gemm_kernel *k) {
    cj_func  *f = k->f;
    tile_loop loop = {cj_u32(f, "tile"), cj_label_new(f, "next_tile"), cj_label_new(f, "no_tile")};
    cj_reg    past = cj_pred(f, "past");
    cj_ptx(f, "mov.u32 $1, $2;", loop.tile, k->cluster);
    cj_label_here(f, loop.next);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, loop.tile, k->count);
    cj_ptx(f, "@$1 bra $2;", past, loop.end);
    return loop;
}

static void end_tiles(const gemm_kernel *k, const tile_loop *loop) {
    cj_ptx(k->f, "add.u32 $1, $1, $2;", loop->tile, k->clusters);
    cj_ptx(k->f, "bra $1;", loop->next);
    cj_label_here(k->f, loop->end);
}

// ---- the producer

// How one operand is loaded: by this block and its peers along one axis of the cluster, a part each, for all of them.
typedef struct operand {
    cj_matrix_order order;
    uint32_t        lines, bytes, parts;  // of a stage; blocks that share it
    cj_reg          map, base, mask;      // base: the first stage, from where on this block's part lies
    cj_reg          line, k;              // coordinates of the part, s32
    cj_reg          part_line, part_k;    // what they begin with, where there are parts
} operand;

// Ranks of the blocks that share an operand, as a mask: those of this one's row (A) or column (B) of the cluster.
static cj_reg mask_of(const gemm_kernel *k, bool is_a) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    cj_reg            wide = cj_b32(f, "ranks"), mask = cj_register(f, "b16", "mask"), shift = cj_u32(f, "first_rank");
    uint32_t          ranks = 0;
    for (uint32_t i = 0; i < (is_a ? g->cluster_n : g->cluster_m); i++) ranks |= 1u << (is_a ? i * g->cluster_m : i);
    if (is_a)
        cj_ptx(f, "mov.u32 $1, $2;", shift, k->rank_m);
    else
        cj_ptx(f, "mul.lo.u32 $1, $2, $3;", shift, k->rank_n, g->cluster_m);
    cj_ptx(f, "mov.b32 $1, $2;", wide, ranks);
    cj_ptx(f, "shl.b32 $1, $1, $2;", wide, shift);
    cj_ptx(f, "cvt.u16.u32 $1, $2;", mask, wide);
    return mask;
}

static operand make_operand(const gemm_kernel *k, bool is_a) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    operand           o = {.order = is_a ? g->a : g->b,
                           .lines = is_a ? g->tile_m : g->tile_n,
                           .bytes = is_a ? g->a_bytes : g->b_bytes,
                           .parts = is_a ? g->cluster_n : g->cluster_m};
    o.map = cj__gemm_map_address(k, is_a ? GEMM_MAP_A : GEMM_MAP_B);
    o.base = cj_u32(f, is_a ? "a_part" : "b_part");
    o.line = cj_s32(f, is_a ? "a_line" : "b_line");
    o.k = cj_s32(f, is_a ? "a_k" : "b_k");
    cj_ptx(f, "add.u32 $1, $2, $3;", o.base, k->shared, is_a ? 0 : g->stages * g->a_bytes);
    if (o.parts == 1) return o;
    const uint32_t step = o.order == CJ_BY_K ? o.lines / o.parts : GEMM_STEP / o.parts;
    cj_reg         rank = is_a ? k->rank_n : k->rank_m, *part = o.order == CJ_BY_K ? &o.part_line : &o.part_k;
    *part = cj_s32(f, is_a ? "a_part_at" : "b_part_at");
    cj_ptx(f, "mul.lo.s32 $1, $2, $3;", *part, rank, step);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", o.base, *part, GEMM_ROW);
    o.mask = mask_of(k, is_a);
    return o;
}

// The operand's part of a new tile: `line` is the tile's first one.
static void begin_operand(const gemm_kernel *k, const operand *o, cj_reg line) {
    if (o->part_line.id)
        cj_ptx(k->f, "add.s32 $1, $2, $3;", o->line, line, o->part_line);
    else
        cj_ptx(k->f, "mov.s32 $1, $2;", o->line, line);
    if (o->part_k.id)
        cj_ptx(k->f, "mov.s32 $1, $2;", o->k, o->part_k);
    else
        cj_ptx(k->f, "mov.s32 $1, 0;", o->k);
}

// A box of its own for each 64 lines that follow each other in memory; by k, one for all.
static void load_operand(const gemm_kernel *k, const operand *o, cj_reg stage, cj_reg full) {
    cj_func       *f = k->f;
    const uint32_t boxes = o->order == CJ_BY_K ? 1 : o->lines / GEMM_BOX;
    cj_reg         to = cj_u32(f, "to"), line = o->line;
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", to, stage, o->bytes, o->base);
    for (uint32_t box = 0; box < boxes; box++) {
        if (box) {
            line = cj_s32(f, "box_line");
            cj_ptx(f, "add.s32 $1, $2, $3;", line, o->line, box * GEMM_BOX);
            cj_ptx(f, "add.u32 $1, $1, $2;", to, GEMM_BOX * GEMM_ROW);
        }
        const cj_reg at[2] = {o->order == CJ_BY_K ? o->k : line, o->order == CJ_BY_K ? line : o->k};
        if (o->parts > 1)
            cj_tensor_load_multicast(f, cj_always(), to, o->map, at, 2, full, CJ_ARG(o->mask));
        else
            cj_tensor_load(f, cj_always(), to, o->map, at, 2, full);
    }
    cj_ptx(f, "add.s32 $1, $1, $2;", o->k, GEMM_STEP);
}

static void emit_producer(gemm_kernel *k, cj_label done) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    cj_reg            other = cj_pred(f, "other"), left = cj_u32(f, "steps_left"), more = cj_pred(f, "more"), steps;
    cj_step(f, "the producer: one thread loads");
    cj_setmaxnreg_dec(f, REGISTERS_PRODUCER, NULL);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", other, k->thread);
    cj_ptx(f, "@$1 bra $2;", other, done);
    const operand a = make_operand(k, true), b = make_operand(k, false);
    steps = load_u32(k, k->steps, "steps");
    cj_pipeline_at at = cj_pipeline_begin(f, &k->ring, CJ_PRODUCER);
    tile_loop      loop = begin_tiles(k);
    gemm_place     place = emit_place(k, loop.tile);
    cj_label       next = cj_label_new(f, "load_step");
    begin_operand(k, &a, place.row);
    begin_operand(k, &b, place.column);
    cj_ptx(f, "mov.u32 $1, $2;", left, steps);
    cj_label_here(f, next);
    cj_reg full = cj_pipeline_acquire(f, &k->ring, &at, CJ_ARG(g->a_bytes + g->b_bytes));
    load_operand(k, &a, at.stage, full);
    load_operand(k, &b, at.stage, full);
    cj_pipeline_next(f, &k->ring, &at);
    cj_ptx(f, "sub.u32 $1, $1, 1;", left);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", more, left);
    cj_ptx(f, "@$1 bra $2;", more, next);
    end_tiles(k, &loop);
    cj_ptx(f, "bra $1;", done);
}

// ---- the consumers

typedef struct consumer {
    cj_reg         a, b;            // descriptors in stage 0
    uint32_t       a_step, b_step;  // from one product of a stage to the next, in a descriptor
    cj_reg         sum[GEMM_SUMS_MAX];
    cj_reg         fresh, adds;  // predicates: false, true
    cj_pipeline_at at;
    cj_reg         before;          // the stage before
    cj_reg         peer, releases;  // the mbarriers that this lane arrives at, and whether it does
} consumer;

static cj_reg descriptor_of(const gemm_kernel *k, cj_matrix_order order, cj_reg own, uint32_t *step) {
    const cj_matrix_place place = {order, GEMM_BOX * GEMM_ROW};
    *step = cj_matrix_step(&place) / 16;
    return cj_matrix_descriptor(k->f, own, &place);
}

// One lane for each block that waits for this one's releases.
static void find_peers(const gemm_kernel *k, consumer *c) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    c->peer = k->ring.empty;
    c->releases = k->leader;
    if (blocks_of(g) == 1) return;
    cj_reg to = cj_u32(f, "peer_rank");
    c->releases = cj_pred(f, "releases");
    cj_ptx(f, "and.b32 $1, $2, $3;", to, k->lane, blocks_of(g) - 1);
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", c->releases, to, k->lane);
    c->peer = cj_pipeline_peer(f, &k->ring, to);
    if (g->cluster_m == 1 || g->cluster_n == 1) return;
    cj_reg m = cj_u32(f, "peer_m"), n = cj_u32(f, "peer_n"), same = cj_pred(f, "same_row");
    cj_ptx(f, "and.b32 $1, $2, $3;", m, to, g->cluster_m - 1);
    cj_ptx(f, "shr.u32 $1, $2, $3;", n, to, log2_of(g->cluster_m));
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", same, m, k->rank_m);
    cj_ptx(f, "setp.eq.or.u32 $1, $2, $3, $1;", same, n, k->rank_n);
    cj_ptx(f, "and.pred $1, $1, $2;", c->releases, same);
}

static void begin_consumer(gemm_kernel *k, consumer *c) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    cj_reg            own = cj_u32(f, "own_rows"), a = cj_u32(f, "a_first"), b = cj_u32(f, "b_first");
    cj_ptx(f, "sub.u32 $1, $2, 1;", own, k->group);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", a, own, GEMM_GROUP_ROWS * GEMM_ROW, k->shared);
    cj_ptx(f, "add.u32 $1, $2, $3;", b, k->shared, g->stages * g->a_bytes);
    c->a = descriptor_of(k, g->a, a, &c->a_step);
    c->b = descriptor_of(k, g->b, b, &c->b_step);
    c->fresh = cj_pred(f, "fresh");
    c->adds = cj_pred(f, "adds");
    cj_ptx(f, "setp.ne.u32 $1, $2, $2;", c->fresh, own);
    cj_ptx(f, "setp.eq.u32 $1, $2, $2;", c->adds, own);
    for (uint32_t i = 0; i < g->tile_n / 2; i++) c->sum[i] = cj_f32(f, "sum");
    c->before = cj_u32(f, "stage_before");
    cj_ptx(f, "mov.u32 $1, 0;", c->before);
    find_peers(k, c);
}

static cj_reg of_stage(const gemm_kernel *k, cj_reg first, cj_reg stage, uint32_t bytes) {
    cj_reg descriptor = cj_b64(k->f, "in_stage");
    cj_ptx(k->f, "mul.wide.u32 $1, $2, $3;", descriptor, stage, bytes / 16);
    cj_ptx(k->f, "add.u64 $1, $1, $2;", descriptor, first);
    return descriptor;
}

// The products of a stage. While they run, what follows may store results; only then is the stage before waited for.
static void emit_products(gemm_kernel *k, consumer *c, bool is_first) {
    const gemm_shape   *g = k->g;
    const cj_wgmma_form form = {g->tile_n, g->type, g->a, g->b};
    cj_func            *f = k->f;
    cj_pipeline_wait(f, &k->ring, &c->at);
    cj_reg a = of_stage(k, c->a, c->at.stage, g->a_bytes), b = of_stage(k, c->b, c->at.stage, g->b_bytes);
    cj_wgmma_fence(f);
    for (uint32_t i = 0; i < GEMM_STEP / CJ_WGMMA_K; i++) {
        if (i) cj_ptx(f, "add.u64 $1, $1, $2;", a, c->a_step);
        if (i) cj_ptx(f, "add.u64 $1, $1, $2;", b, c->b_step);
        cj_wgmma(f, &form, c->sum, a, b, is_first && !i ? c->fresh : c->adds);
    }
    cj_wgmma_commit(f);
    if (!is_first) {
        cj_wgmma_wait(f, 1, "the products of the stage before are done");
        cj_pipeline_release(f, c->releases, c->peer, c->before, NULL);
    }
    cj_ptx(f, "mov.u32 $1, $2;", c->before, c->at.stage);
    cj_pipeline_next(f, &k->ring, &c->at);
}

// The first steps of a tile, one for each piece of the results of the tile before.
static void emit_first_steps(gemm_kernel *k, consumer *c, const gemm_results *r) {
    cj_func *f = k->f;
    for (uint32_t piece = 0; piece < k->g->pieces; piece++) {
        cj_label none = cj_label_new(f, "nothing_to_store");
        cj_step(f, "step %u; behind it leave columns %u to %u of the tile before", piece, piece * GEMM_BOX,
                piece * GEMM_BOX + GEMM_BOX - 1);
        emit_products(k, c, piece == 0);
        cj_ptx(f, "@!$1 bra $2;", r->some, none);
        cj__gemm_results_store(k, r, piece);
        cj_label_here(f, none);
    }
}

static void emit_other_steps(gemm_kernel *k, consumer *c, cj_reg steps) {
    cj_func *f = k->f;
    cj_label next = cj_label_new(f, "multiply_step"), end = cj_label_new(f, "no_step");
    cj_reg   left = cj_u32(f, "steps_left"), none = cj_pred(f, "none_left");
    cj_step(f, "the other steps");
    cj_ptx(f, "mov.u32 $1, $2;", left, steps);
    cj_label_here(f, next);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", none, left);
    cj_ptx(f, "@$1 bra $2;", none, end);
    emit_products(k, c, false);
    cj_ptx(f, "sub.u32 $1, $1, 1;", left);
    cj_ptx(f, "bra $1;", next);
    cj_label_here(f, end);
    cj_wgmma_wait(f, 0, "the tile's sums are there");
    cj_pipeline_release(f, c->releases, c->peer, c->before, NULL);
}

static void emit_consumer(gemm_kernel *k) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    consumer          c = {0};
    gemm_results      r = {0};
    cj_label          done = cj_label_new(f, "all_stored");
    cj_step(f, "the consumers: 64 rows a warp group");
    cj_setmaxnreg_inc(f, REGISTERS_CONSUMER, NULL);
    begin_consumer(k, &c);
    cj__gemm_results_begin(k, &r);
    cj_reg steps = load_u32(k, k->steps, "steps");
    cj_ptx(f, "sub.u32 $1, $1, $2;", steps, g->pieces);
    c.at = cj_pipeline_begin(f, &k->ring, CJ_CONSUMER);
    tile_loop loop = begin_tiles(k);
    emit_first_steps(k, &c, &r);
    emit_other_steps(k, &c, steps);
    const gemm_place place = emit_place(k, loop.tile);
    cj__gemm_results_take(k, &r, c.sum, &place);
    end_tiles(k, &loop);
    cj_step(f, "the last tile's results");
    cj_ptx(f, "@!$1 bra $2;", r.some, done);
    for (uint32_t piece = 0; piece < g->pieces; piece++) cj__gemm_results_store(k, &r, piece);
    cj_label_here(f, done);
    cj_bulk_wait_read(f, 0, "shared memory stays until it has been read");
}

static void emit_gemm(const cj_plan *plan, cj_builder *b) {
    gemm_shape  g;
    gemm_kernel k = {.plan = plan, .g = &g};
    cj__gemm_read(&plan->params, &g);
    write_head(&k, b);
    cj_declare(b, ".extern .shared .align 1024 .b8 gemm_stages[];");
    cj_func *f = k.f = cj_entry(b, plan->entry);
    declare(&k);
    emit_identity(&k);
    emit_begin(&k);
    cj_reg   consumes = cj_pred(f, "consumes");
    cj_label consume = cj_label_new(f, "consumer"), done = cj_label_new(f, "done");
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", consumes, k.group);
    cj_ptx(f, "@$1 bra $2;", consumes, consume);
    emit_producer(&k, done);
    cj_label_here(f, consume);
    emit_consumer(&k);
    cj_label_here(f, done);
    if (blocks_of(&g) > 1) {
        cj_ptx(f, "barrier.cluster.arrive.release; // B2: not .aligned, for the loading thread comes last");
        cj_ptx(f, "barrier.cluster.wait.acquire; // peers arrive at this block's mbarriers no more");
    }
    cj_ptx(f, "ret;");
}

const cj_family cj__family_gemm = {
    .name = "gemm",
    .summary = "matrix products on tensor cores, with tiles shared by the blocks of a cluster",
    .param = params,
    .param_count = sizeof params / sizeof *params,
    .plan = cj__gemm_plan,
    .emit = emit_gemm,
};
