// SPDX-License-Identifier: Apache-2.0
// Step 5: mbarriers in the block's own shared memory. One warp stores three rows, one by one; another adds them up. The
// first waits until the row before has been read, the second until the row has been stored: an mbarrier for each.
#include "step.h"

enum { WARP = 32, THREADS = 2 * WARP, ROWS = 3 };

typedef struct roles {
    cj_reg full, empty;  // the addresses of the mbarriers
    cj_reg slot;         // of the thread's word of the row
    cj_reg lane, row;
} roles;

static void write_producer(cj_func *f, const roles *r, cj_var x) {
    cj_reg index = cj_mad(f, "index", r->row, WARP, r->lane), parity = cj_u32(f, "empty_parity");
    cj_ptx(f, "xor.b32 $1, $2, 1; // of the phase before: the first row finds the slot empty", parity, r->row);
    cj_ptx(f, "and.b32 $1, $1, 1;", parity);
    cj_mbarrier_wait(f, r->empty, CJ_ARG(parity), CJ_SCOPE_BLOCK, "the row before has been read");
    cj_reg value = cj_let(f, "u32", "value", "ld.global.u32 $1, [$2];", element(f, x, index));
    cj_ptx(f, "st.shared.u32 [$1], $2;", r->slot, value);
    cj_mbarrier_arrive(f, cj_always(), r->full, "this lane has stored its word");
}

static void write_consumer(cj_func *f, const roles *r, cj_reg sum, bool mistake) {
    cj_reg parity = cj_and(f, "full_parity", r->row, 1);
    if (mistake) cj_update(f, parity, "xor", 1);
    cj_mbarrier_wait(f, r->full, CJ_ARG(parity), CJ_SCOPE_BLOCK, "the row is there");
    cj_update(f, sum, "add", cj_let(f, "u32", "word", "ld.shared.u32 $1, [$2];", r->slot));
    cj_mbarrier_arrive(f, cj_always(), r->empty, "this lane has read its word");
}

static void write_kernel(cj_builder *b, bool mistake) {
    cj_func *f = cj_entry(b, "kernel");
    cj_var   x = cj_param(f, "u64", "x", "u32 x[3][32]"), out = cj_param(f, "u64", "out", "u32 out[32]");
    cj_block(f, THREADS, 1, 1);
    cj_var tile = cj_shared(f, "u32", "tile", WARP, 0), barriers = cj_shared(f, "b64", "barriers", 2, 8);

    cj_reg thread = cj_mov(f, "u32", "thread", "%tid.x"), sum = cj_mov(f, "u32", "sum", 0);
    roles  r = {.full = cj_shared_address(f, barriers), .lane = cj_and(f, "lane", thread, WARP - 1)};
    r.empty = cj_add(f, "empty", r.full, 8);
    r.slot = shared_element(f, tile, r.lane);
    cj_reg first = cj_eq(f, "first", thread, 0), loads = cj_lt(f, "loads", thread, WARP);
    cj_mbarrier_init(f, first, r.full, CJ_ARG(WARP), "32 arrivals end a phase");
    cj_mbarrier_init(f, first, r.empty, CJ_ARG(WARP), NULL);
    cj_ptx(f, "bar.sync 0; // the mbarriers are ready");

    CJ_FOR(f, row, "u32", "row", 0, ROWS, 1) {
        r.row = row;
        CJ_IF_ELSE(f, loads, "consumer", "next") { write_producer(f, &r, x); }
        else { write_consumer(f, &r, sum, mistake); }
    }
    CJ_UNLESS(f, loads, "end") { cj_ptx(f, "st.global.u32 [$1], $2;", element(f, out, r.lane), sum); }
    cj_ptx(f, "ret;");
}

int main(int argc, char **argv) {
    uint32_t from[ROWS * WARP], sums[WARP];
    bool     right = true;
    step     s = step_begin(argc, argv, "sm_90");
    for (unsigned i = 0; i < ROWS * WARP; i++) from[i] = i;
    write_kernel(s.builder, s.mistake);
    cj_ptr x = step_memory(&s, from, sizeof from), out = step_memory(&s, NULL, sizeof sums);
    step_launch(&s, .grid = {1, 1, 1}, .block = {THREADS, 1, 1}, CJ_ARGS(x, out));
    step_read(&s, sums, out, sizeof sums);
    for (unsigned i = 0; i < WARP; i++) right &= sums[i] == 3 * i + 96;
    printf("sums of three rows: %u %u %u ... %u\n", sums[0], sums[1], sums[2], sums[WARP - 1]);
    return step_end(&s, right);
}
