// SPDX-License-Identifier: Apache-2.0
// Step 8: a box of a matrix by one instruction. The matrix has 20 rows of 40 columns; a block sums the columns of a box of
// 16 x 32. Where a box leaves the matrix, the copy writes zeros.
#include "step.h"

enum {
    ROWS = 20,
    COLUMNS = 40,
    HIGH = 16,
    WIDE = 32,
    DOWN = 2,
    ACROSS = 2,
    BYTES = 4 * HIGH * WIDE,
    RAGGED = 4 * HIGH * 8
};

static void write_kernel(cj_builder *b, bool mistake) {
    cj_func *f = cj_entry(b, "kernel");
    cj_var   map = cj_param_array(f, "b8", "map", 128, 64, "the tensor map of f32 x[20][40], in boxes of 16 x 32");
    cj_var   out = cj_param(f, "u64", "out", "f32 out[2][64]");
    cj_block(f, WIDE, 1, 1);
    cj_cluster(f, 1, 1, 1);
    cj_var tile = cj_shared(f, "f32", "tile", HIGH * WIDE, 128), full = cj_shared(f, "b64", "full", 1, 8);

    cj_reg thread = cj_mov(f, "u32", "thread", "%tid.x"), barrier = cj_shared_address(f, full);
    cj_reg first = cj_eq(f, "first", thread, 0);
    cj_reg column = cj_mul(f, "column", cj_mov(f, "s32", "x", "%ctaid.x"), WIDE);
    cj_reg row = cj_mul(f, "row", cj_mov(f, "s32", "y", "%ctaid.y"), HIGH);
    cj_reg tensor = cj_let(f, "u64", "tensor", "cvta.param.u64 $1, $2;", map);
    cj_mbarrier_init(f, first, barrier, CJ_ARG(1), NULL);
    cj_mbarrier_init_done(f, NULL);
    cj_reg bytes = cj_mov(f, "u32", "bytes", BYTES);
    if (mistake) cj_set_if(f, cj_ne(f, "ragged", column, 0), bytes, RAGGED);
    cj_mbarrier_arrive_expect(f, first, barrier, CJ_ARG(bytes),
                              "all bytes of a box count, also those outside of the matrix");
    cj_tensor_load(f, first, cj_shared_address(f, tile), tensor, (cj_reg[]){column, row}, 2, barrier);
    cj_ptx(f, "bar.sync 0; // the mbarrier is ready");
    cj_mbarrier_wait(f, barrier, CJ_ARG(0), CJ_SCOPE_BLOCK, "the box is here");

    cj_reg sum = cj_mov(f, "f32", "sum", 0.0F), at = shared_element(f, tile, thread);
    CJ_FOR(f, i, "u32", "i", 0, HIGH, 1) {
        cj_update(f, sum, "add", cj_let(f, "f32", "value", "ld.shared.f32 $1, [$2];", at));
        cj_update(f, at, "add", 4 * WIDE);
    }
    cj_reg y = cj_mov(f, "u32", "box_row", "%ctaid.y"), x = cj_mov(f, "u32", "box", "%ctaid.x");
    cj_reg index = cj_mad(f, "index", cj_mad(f, "box_number", y, ACROSS, x), WIDE, thread);
    cj_ptx(f, "st.global.f32 [$1], $2;", element(f, out, index), sum);
    cj_ptx(f, "ret;");
}

static cj_tensormap encode_map(step *s, cj_ptr x) {
    cj_tensormap   map;
    const uint64_t dims[] = {COLUMNS, ROWS}, strides[] = {COLUMNS * 4};
    const uint32_t box[] = {WIDE, HIGH}, steps[] = {1, 1};
    must(s, cj_tensormap_encode_tiled(s->device, &map, CJ_TENSORMAP_F32, 2, x, dims, strides, box, steps,
                                      CJ_TENSORMAP_INTERLEAVE_NONE, CJ_TENSORMAP_SWIZZLE_NONE, CJ_TENSORMAP_L2_NONE,
                                      CJ_TENSORMAP_FILL_ZEROS, &s->error));
    return map;
}

int main(int argc, char **argv) {
    float from[ROWS * COLUMNS], sums[DOWN][ACROSS * WIDE];
    bool  right = true;
    step  s = step_begin(argc, argv, "sm_90");
    for (int i = 0; i < ROWS * COLUMNS; i++) from[i] = 1;
    write_kernel(s.builder, s.mistake);
    cj_ptr       x = step_memory(&s, from, sizeof from), out = step_memory(&s, NULL, sizeof sums);
    cj_tensormap map = encode_map(&s, x);
    step_launch(&s, .grid = {ACROSS, DOWN, 1}, .block = {WIDE, 1, 1}, CJ_ARGS(map, out));
    step_read(&s, sums, out, sizeof sums);
    for (int y = 0; y < DOWN; y++) {
        for (int i = 0; i < ACROSS * WIDE; i++) {
            const int rows = y == 0 ? HIGH : ROWS - HIGH;
            right &= sums[y][i] == (float)(i < COLUMNS ? rows : 0);
        }
    }
    printf("rows 0 to 15, columns 0, 31, 39, 40: %g %g %g %g\n", sums[0][0], sums[0][31], sums[0][39], sums[0][40]);
    printf("rows 16 to 19, the same columns: %g %g %g %g\n", sums[1][0], sums[1][31], sums[1][39], sums[1][40]);
    return step_end(&s, right);
}
