// SPDX-License-Identifier: Apache-2.0
// Step 9: one read of global memory fills the shared memory of four blocks. Each block multiplies the tile by a
// factor of its own.
#include "step.h"

enum { THREADS = 128, CLUSTER = 4, BYTES = 4 * THREADS, ALL = (1 << CLUSTER) - 1 };

static void write_kernel(cj_builder *b, bool mistake) {
    cj_func *f = cj_entry(b, "kernel");
    cj_var   x = cj_param(f, "u64", "x", "u32 x[128]"), out = cj_param(f, "u64", "out", "u32 out[4][128]");
    cj_block(f, THREADS, 1, 1);
    cj_cluster(f, CLUSTER, 1, 1);
    cj_var tile = cj_shared(f, "u32", "tile", THREADS, 128), full = cj_shared(f, "b64", "full", 1, 8);

    cj_reg thread = cj_mov(f, "u32", "thread", "%tid.x"), rank = cj_cluster_rank(f);
    cj_reg first = cj_eq(f, "first", thread, 0), barrier = cj_shared_address(f, full);
    cj_mbarrier_init(f, first, barrier, CJ_ARG(1), NULL);
    cj_mbarrier_init_done(f, NULL);
    cj_mbarrier_arrive_expect(f, first, barrier, CJ_ARG(BYTES), "every block expects the tile");
    cj_cluster_sync(f, "the mbarriers of all blocks are ready before one block sends");

    cj_reg sends = cj_eq(f, "sends", cj_or(f, "rank_or_thread", rank, thread), 0);
    cj_reg global = cj_let(f, "u64", "global", "ld.param.u64 $1, [$2];", x);
    cj_reg mask = cj_mov(f, "b16", "mask", mistake ? ALL >> 1 : ALL);
    cj_bulk_load_multicast(f, sends, cj_shared_address(f, tile), global, CJ_ARG(BYTES), barrier, CJ_ARG(mask));

    cj_mbarrier_wait(f, barrier, CJ_ARG(0), CJ_SCOPE_BLOCK, "the tile is here");
    cj_reg value = cj_let(f, "u32", "value", "ld.shared.u32 $1, [$2];", shared_element(f, tile, thread));
    cj_update(f, value, "mul", cj_add(f, "factor", rank, 1));
    cj_ptx(f, "st.global.u32 [$1], $2;", element(f, out, cj_mad(f, "index", rank, THREADS, thread)), value);
    cj_cluster_sync(f, "no block leaves before the copy to it is complete");
    cj_ptx(f, "ret;");
}

int main(int argc, char **argv) {
    uint32_t from[THREADS], to[CLUSTER][THREADS];
    bool     right = true;
    step     s = step_begin(argc, argv, "sm_90a");
    for (unsigned i = 0; i < THREADS; i++) from[i] = i;
    write_kernel(s.builder, s.mistake);
    cj_ptr x = step_memory(&s, from, sizeof from), out = step_memory(&s, NULL, sizeof to);
    step_launch(&s, .grid = {CLUSTER, 1, 1}, .block = {THREADS, 1, 1}, CJ_ARGS(x, out));
    step_read(&s, to, out, sizeof to);
    for (unsigned r = 0; r < CLUSTER; r++) {
        printf("rank %u: %u %u %u ... %u\n", r, to[r][0], to[r][1], to[r][2], to[r][THREADS - 1]);
        for (unsigned i = 0; i < THREADS; i++) right &= to[r][i] == (r + 1) * i;
    }
    return step_end(&s, right);
}
