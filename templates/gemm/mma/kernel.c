// SPDX-License-Identifier: Apache-2.0
// The parameters of the form mma, which thread and tile this is, and where matrices are.
#include "mma.h"

// ---- parameters

static void declare_matrices(mma_kernel *k) {
    static const char *const names[GEMM_MAPS] = {"a", "b", "c", "d"}, *const leading[] = {"lda", "ldb", "ldc", "ldd"};
    static const char *const strides[] = {"stride_a", "stride_b", "stride_c", "stride_d"};
    const gemm_shape        *g = k->base.g;
    const bool               shared[] = {g->a.shared, g->b.shared, g->shared_c, false}, used[] = {true, true, g->adds_c, true};
    cj_func                 *f = k->base.f;
    for (unsigned i = 0; i < GEMM_MAPS; i++)
        k->matrix[i] = cj_param(f, "u64", names[i], cj__gemm_comment(used[i], NULL));
    for (unsigned i = 0; i < GEMM_MAPS; i++)
        k->leading[i] = cj_param(f, "u64", leading[i], cj__gemm_comment(used[i], "elements from a line to the next"));
    for (unsigned i = 0; i < GEMM_MAPS; i++)
        k->stride[i] = cj_param(f, "u64", strides[i],
                                cj__gemm_comment(used[i] && g->batches > 1 && !shared[i], "elements from a product's to the next one's"));
}

void cj__mma_declare(mma_kernel *k) {
    gemm_kernel      *b = &k->base;
    const gemm_shape *g = b->g;
    cj_func          *f = b->f;
    declare_matrices(k);
    cj__gemm_declare_values(b);
    b->tiles_m = cj_param(f, "u64", "tiles_m", "rows of tiles");
    b->tiles_n = cj_param(f, "u64", "tiles_n", "columns of them");
    b->batches = cj_param(f, "u64", "batches", cj__gemm_comment(g->batches > 1 || g->parts > 1, "products"));
    k->m = cj_param(f, "u64", "m", "rows of D");
    k->n = cj_param(f, "u64", "n", "columns of D");
    k->k = cj_param(f, "u64", "k", NULL);
    k->part_steps = cj_param(f, "u64", "part_steps", "steps of K of a part");
    b->workspace = cj_param(f, "u64", "workspace", cj__gemm_comment(g->parts > 1, "arrivals of the parts, then their sums"));
}

cj_reg cj__mma_line_bytes(const mma_kernel *k, unsigned which, uint32_t bytes) {
    cj_reg leading = cj__load_param(k->base.f, "u64", k->leading[which], "pitch");
    return cj_mul(k->base.f, "pitch", leading, bytes);
}

cj_reg cj__mma_matrix(const mma_kernel *k, unsigned which, bool shared, uint32_t bytes) {
    cj_func *f = k->base.f;
    cj_reg   at = cj__load_pointer(f, k->matrix[which], "matrix");
    if (k->base.g->batches == 1 || shared) return at;
    cj_reg stride = cj__load_param(f, "u64", k->stride[which], "stride");
    cj_reg product = cj_let(f, "u64", "product", "cvt.u64.u32 $1, $2;", k->place.batch);
    return cj_mad(f, "matrix", cj_mul(f, "elements", product, stride), bytes, at);
}

// ---- identity

// Which part of the tile's K this block computes: its steps, perhaps none.
static void find_part(mma_kernel *k, cj_reg *tile) {
    cj_func          *f = k->base.f;
    const gemm_shape *g = k->base.g;
    cj_reg            each = cj__load_param(f, "u32", k->part_steps, "part_steps");
    k->steps = each;
    if (g->parts == 1) return;
    k->part = cj_div(f, "part", *tile, k->base.count);
    *tile = cj_sub(f, "tile", *tile, cj_mul(f, "tiles_before", k->part, k->base.count));
    cj_reg end = cj_add(f, "k_end", cj__load_param(f, "u32", k->k, "k"), g->step - 1);
    cj_reg before = cj_mul(f, "steps_before", k->part, each);
    cj_reg steps = cj_shr(f, "all_steps", end, cj__log2(g->step));
    before = cj_min(f, "steps_before", before, steps);
    k->steps = cj_min(f, "steps", cj_sub(f, "steps", steps, before), each);
}

void cj__mma_identify_tile(gemm_kernel *b) {
    b->rows = cj__load_param(b->f, "u32", b->tiles_m, "rows");
    b->columns = cj__load_param(b->f, "u32", b->tiles_n, "columns");
    b->cluster = cj_mov(b->f, "u32", "tile", "%ctaid.x");
}

void cj__mma_identify(mma_kernel *k) {
    gemm_kernel *b = &k->base;
    cj_func     *f = b->f;
    cj_step(f, "which thread this is, and which tile its block computes");
    cj__gemm_identify_thread(b);
    if (b->g->parts > 1) b->leader = cj_eq(f, "leader", b->lane, 0);
    k->warp_n = cj_and(f, "warp_n", b->warp, k->tile->warps_n - 1);
    k->warp_m = cj_shr(f, "warp_m", b->warp, cj__log2(k->tile->warps_n));
    cj__mma_identify_tile(b);
    if (b->g->batches > 1 || b->g->parts > 1) b->of_one = b->count = cj_mul(f, "tiles_of_one", b->rows, b->columns);
    if (b->g->batches > 1 && b->g->parts > 1)
        b->count = cj_mul(f, "tiles_in_all", b->of_one, cj__load_param(f, "u32", b->batches, "batches"));
    find_part(k, &b->cluster);
    k->place = cj__gemm_place(b, b->cluster);
    k->pool = cj__pool_address(f, "gemm_stages");
}
