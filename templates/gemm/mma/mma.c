// SPDX-License-Identifier: Apache-2.0
// gemm, form mma: D = activation(alpha A B + beta C + bias) by mma.sync, for every GPU from sm_80 on.
//
// Algorithm. A block computes one tile of D, or, with split-K, one part of its K. All its threads copy steps of A and B, 128 bytes
// of K each, into stages of shared memory (cp.async, copy.c); all its warps load fragments of a stage into registers
// (ldmatrix) and multiply them (mma.sync, loop.c), each for its own part of the tile. Then each warp turns its sums into
// values, arranges 16 rows of them in shared memory, where the stages were, and stores whole chunks of 16 bytes (results.c). Where
// addresses or lines are no multiples of 16 bytes, copies and chunks are of 8 or 4 bytes; below 4, elements go through registers (load.c).
//
//            shared memory of a block                         registers of a warp
//   A rows   | stage 0 | stage 1 | …   128 x 128 bytes   --ldmatrix-->  64 x 32 bytes  \  mma.sync
//   B cols   | stage 0 | stage 1 | …   128 x 128 bytes   --ldmatrix-->  64 x 32 bytes  /     | 64 x 64 sums, f32
//   results  | 16 rows a warp |  <-------------- value.c, packed ----------------------------/
//                 | st.global, 16 bytes a lane
//            global D
//
// Elements of all types but f64 are multiplied by 32 bytes of K: m16n8k16 of 16 bits, m16n8k8 of tf32, m16n8k32 of 8 bits; their
// fragments lie alike. 16-bit operands may lie by line: ldmatrix.trans transposes them. Those of f64 are loaded by lanes (f64.c).
//
// Split-K. Part p of `parts` computes its consecutive steps. Each warp stores its sums in the workspace; of each tile and warp the
// part that comes last adds up those of all parts, in their order (partials.c has the proof): results are the same each time.
//
// Tiles are taken in the order of the form wgmma: bands of rows of tiles, column by column, so that the blocks that run at once
// share their reads in L2.
#include "mma.h"

static void write_align(const char *name, const gemm_operand *o, cj_builder *b) {
    if (cj__mma_piece_loads(o))
        cj_head(b, "  %s comes by elements, through registers", name);
    else if (o->align < GEMM_ALIGN)
        cj_head(b, "  %s comes by copies of %u bytes", name, o->align);
}

static void write_head(const mma_kernel *k, cj_builder *b) {
    const gemm_shape *g = k->base.g;
    const mma_tile   *t = k->tile;
    cj_head(b, "  tile %ux%u, %ux%u warps of %ux%u, %u stages of %u of K", t->m, t->n, t->warps_m, t->warps_n,
            t->m / t->warps_m, t->n / t->warps_n, g->stages, g->step);
    if (g->parts > 1) cj_head(b, "  split-K: %u blocks a tile, through global memory", g->parts);
    cj_head(b, "  A lies by %s, B by %s%s", g->a.order == CJ_BY_K ? "k" : "rows",
            g->b.order == CJ_BY_K ? "k" : "columns",
            g->flipped ? "; this is D' = B' A', whose names are used here" : "");
    write_align("A", &g->a, b);
    write_align("B", &g->b, b);
    if (g->d_align < GEMM_ALIGN) cj_head(b, "  D leaves by %u bytes", g->d_align);
    if (cj__mma_has_tail(g)) cj_head(b, "  D's lines end within %u bytes: lanes store their last elements", g->d_align);
    cj_head(b, "%s", "");
    cj_head(b, "Launch: block %u threads, %u bytes of shared memory, a block for each part of a tile.",
            k->base.plan->block.x, k->base.plan->dynamic_shared);
}

// A thread's sums, fragments and addresses. By itself ptxas now and then spills some for a block more on an SM; of 8 bits, which it
// converts on some targets, it spills where a number of blocks is asked for.
static void limit_registers(const mma_kernel *k) {
    enum { MOST = 255 };  // that a thread can have
    const gemm_constants *gpu = &cj__gemm_constants;
    const gemm_type *type = k->base.g->a.type;
    const uint32_t sums = cj__mma_sums(k->tile) * (cj__gemm_is_f64(type) ? 2 : 1) + cj__mma_loads(k->base.g, k->tile);
    const uint32_t others = (uint32_t)(type->most ? gpu->mma_integer_registers : cj__gemm_is_f64(type) ? gpu->mma_f64_registers : gpu->mma_registers);
    if (!cj__gemm_is_narrow_float(type)) cj__registers(k->base.plan, k->base.f, sums < MMA_SUMS_MAX ? sums + others : MOST, true);
}

void cj__mma_emit(const cj_plan *plan, cj_builder *builder) {
    gemm_shape g;
    mma_kernel k = {.base = {.plan = plan, .g = &g}};
    cj_reg     sum[MMA_SUMS_MAX];
    cj__mma_read(&plan->params, &g);
    k.tile = cj__mma_tile(g.a.type, g.tile);
    write_head(&k, builder);
    cj_declare(builder, ".extern .shared .align 16 .b8 gemm_stages[];");
    cj_func *f = k.base.f = cj__entry(plan, builder);
    cj__mma_declare(&k);
    limit_registers(&k);
    cj__launch_dependents(plan, f);
    cj__mma_identify(&k);
    cj__mma_loop(&k, sum);
    cj_label done = cj_label_new(f, "done");
    cj__mma_results(&k, sum, done);
    cj_label_here(f, done);
    cj_ptx(f, "ret;");
}
