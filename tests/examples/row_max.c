// SPDX-License-Identifier: Apache-2.0
// A kernel in values, conditions and loops (clusterjit/value.h, control.h), in C and in C++: out[r] = the largest of the
// elements of row r of x[ROWS, COLUMNS], f32. A cluster of two blocks has a row.
//
//     x[r, ...]  --every 256th element-->  a thread  --shuffle-->  a warp  --shared memory-->  a block  --collective-->  out[r]
#include <float.h>
#include <math.h>
#include <string.h>

#include "example.h"

enum { ROWS = 5, COLUMNS = 1000, BLOCK = 128, CLUSTER = 2, WARP = 32, WARPS = BLOCK / WARP };

// best = max over the warp's lanes, in all of them.
static void write_warp_max(cj_func *f, cj_reg best) {
    for (int distance = WARP / 2; distance; distance /= 2) {
        cj_reg other = cj_let(f, "f32", "other", "shfl.sync.bfly.b32 $1, $2, $3, 31, 0xffffffff;", best, distance);
        cj_update(f, best, "max", other);
    }
}

// The largest of the row's elements first, first + 256, ….
static cj_reg write_thread_max(cj_func *f, cj_var x, cj_reg row, cj_reg first) {
    cj_reg base = cj_let(f, "u64", "base", "ld.param.u64 $1, [$2];", x);
    cj_reg begin = cj_mul(f, "begin", row, COLUMNS);
    cj_reg best = cj_mov(f, "f32", "best", -FLT_MAX);
    CJ_FOR(f, i, "u32", "i", first, COLUMNS, BLOCK * CLUSTER) {
        cj_reg at = cj_mad_wide(f, "at", cj_add(f, "element", begin, i), 4, base);
        cj_update(f, best, "max", cj_let(f, "f32", "element_value", "ld.global.f32 $1, [$2];", at));
    }
    return best;
}

// best = max over the block's threads, in all of them, by way of a word of shared memory a warp.
static void write_block_max(cj_func *f, cj_reg thread, cj_reg best) {
    cj_var parts = cj_shared(f, "f32", "parts", WARPS, 0);
    cj_reg own = cj_mad(f, "own", cj_shr(f, "warp", thread, 5), 4, cj_shared_address(f, parts));
    write_warp_max(f, best);
    CJ_IF(f, cj_eq(f, "first_lane", cj_and(f, "lane", thread, WARP - 1), 0), "stored") {
        cj_ptx(f, "st.shared.f32 [$1], $2;", own, best);
    }
    cj_ptx(f, "bar.sync 0; // every warp has stored its part");
    cj_reg at = cj_shared_address(f, parts);
    CJ_COUNT(f, "next_part", at, 4, cj_add(f, "end", at, 4 * WARPS)) {
        cj_update(f, best, "max", cj_let(f, "f32", "part", "ld.shared.f32 $1, [$2];", at));
    }
}

static cj_status write_kernel(char **text, size_t *length, cj_error *error) {
    cj_builder *b = cj_builder_create("sm_90");
    cj_head(b, "out[r] = max over x[r][0 ... %d]", COLUMNS - 1);
    cj_func *f = cj_entry(b, "row_max");
    cj_var   x = cj_param(f, "u64", "x", "const float x[rows][1000]"), out = cj_param(f, "u64", "out", "float out[rows]");
    cj_block(f, BLOCK, 1, 1);
    cj_cluster(f, CLUSTER, 1, 1);
    const cj_collectives_desc desc = {.strategy = CJ_STRATEGY_PUSH, .cluster = CLUSTER, .threads = BLOCK, .values = true};
    const cj_collective       largest = {
        .op = CJ_COLLECTIVE_ALLREDUCE, .type = "f32", .combine = {.op = CJ_COMBINE_MAX, .type = "f32"}};
    cj_collectives c = cj_collectives_open(f, &desc);

    cj_reg thread = cj_mov(f, "u32", "thread", "%tid.x"), rank = cj_cluster_rank(f), row = cj_cluster_index(f);
    cj_step(f, "each thread takes every %dth element of the row", BLOCK * CLUSTER);
    cj_reg best = write_thread_max(f, x, row, cj_mad(f, "first", rank, BLOCK, thread));
    cj_step(f, "the block's");
    write_block_max(f, thread, best);
    cj_step(f, "the cluster's");
    cj_reg total = cj_f32(f, "total");
    cj_collectives_ready(f, &c);
    cj_collective_value(f, &c, &largest, best, total);
    cj_collectives_close(f, &c);
    CJ_IF(f, cj_eq(f, "writes", cj_or(f, "rank_or_thread", rank, thread), 0), "written") {
        cj_reg base = cj_let(f, "u64", "base", "ld.param.u64 $1, [$2];", out);
        cj_ptx(f, "st.global.f32 [$1], $2;", cj_mad_wide(f, "at", row, 4, base), total);
    }
    cj_ptx(f, "ret;");

    cj_status status = cj_builder_finish(b, text, length, error);
    cj_builder_destroy(b);
    return status;
}

static int is_right(const float *x, const float *out) {
    int wrong = 0;
    for (int r = 0; r < ROWS; r++) {
        float best = x[r * COLUMNS];
        for (int i = 1; i < COLUMNS; i++) best = fmaxf(best, x[r * COLUMNS + i]);
        wrong += best != out[r];
    }
    printf("%d of %d rows are wrong\n", wrong, ROWS);
    return !wrong;
}

int main(int argc, char **argv) {
    static float x[ROWS * COLUMNS], out[ROWS];
    char        *text = NULL;
    size_t       length;
    cj_error     error;
    cj_ptr       from, to;
    cj_module   *module;
    cj_function *function;
    cj_device   *device = open_device(argc, argv);
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)(i * 7919 % 10007) - 5000;

    must(write_kernel(&text, &length, &error), &error);
    if (argc > 2 && strcmp(argv[2], "--ptx") == 0) puts(text);
    must(cj_module_from_ptx(device, text, length, &module, &error), &error);
    must(cj_module_function(module, "row_max", &function, &error), &error);
    must(cj_mem_alloc(device, sizeof x, &from, &error), &error);
    must(cj_mem_alloc(device, sizeof out, &to, &error), &error);
    must(cj_mem_write(device, from, x, sizeof x, NULL, &error), &error);
    void                  *arguments[] = {&from, &to};
    const cj_launch_config config = {CJ_INIT(config),        .function = function,   .grid = {ROWS * CLUSTER, 1, 1},
                                     .block = {BLOCK, 1, 1}, .arguments = arguments, .argument_count = 2};
    must(cj_launch(device, &config, &error), &error);
    must(cj_mem_read(device, out, to, sizeof out, NULL, &error), &error);

    cj_mem_free(device, from);
    cj_mem_free(device, to);
    cj_module_unload(module);
    cj_text_free(text);
    cj_device_close(device);
    return verdict(is_right(x, out));
}
