// SPDX-License-Identifier: Apache-2.0
// A kernel of your own, written line by line and checked as you write, with two collectives of a cluster in it: each row of
// 4 x 32 numbers belongs to a cluster of 4 blocks, and becomes its running sums, divided by the row's sum.
#include <math.h>
#include <string.h>

#include "example.h"

enum { ROWS = 6, CLUSTER = 4, LANES = 32, COLUMNS = CLUSTER * LANES };

// Inclusive sums over a warp: each lane adds what the lane 1, 2, 4, 8, 16 below it has.
static void write_warp_scan(cj_func *f, cj_reg value) {
    cj_reg below = cj_f32(f, "below"), has = cj_pred(f, "has");
    for (int distance = 1; distance < LANES; distance *= 2) {
        cj_ptx(f, "shfl.sync.up.b32 $1|$2, $3, $4, 0, 0xffffffff;", below, has, value, distance);
        cj_ptx(f, "@$1 add.f32 $2, $2, $3;", has, value, below);
    }
}

static cj_status write_kernel(char **text, size_t *length, cj_error *error) {
    cj_builder *b = cj_builder_create("sm_90");
    cj_head(b, "x[r][i] = (x[r][0] + ... + x[r][i]) / (x[r][0] + ... + x[r][%d])", COLUMNS - 1);
    cj_func *f = cj_entry(b, "running_share");
    cj_var   x = cj_param(f, "u64", "x", "x[rows][128]");
    cj_block(f, LANES, 1, 1);
    cj_cluster(f, CLUSTER, 1, 1);

    const cj_collectives_desc desc = {.strategy = CJ_STRATEGY_PUSH, .cluster = CLUSTER, .threads = LANES, .values = true};
    const cj_combine          add = {.op = CJ_COMBINE_SUM, .type = "f32"};
    const cj_collective       sum = {.op = CJ_COLLECTIVE_ALLREDUCE, .type = "f32", .combine = add};
    const cj_collective       sums_before = {.op = CJ_COLLECTIVE_SCAN, .type = "f32", .combine = add, .exclusive = true};
    cj_collectives            c = cj_collectives_open(f, &desc);

    cj_step(f, "each thread takes one element");
    cj_reg at = cj_u64(f, "at"), block = cj_u32(f, "block"), index = cj_u32(f, "index"), value = cj_f32(f, "value");
    cj_ptx(f, "mov.u32 $1, %ctaid.x;", block);
    cj_ptx(f, "mov.u32 $1, %tid.x;", index);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", index, block, LANES);
    cj_ptx(f, "ld.param.u64 $1, [$2];", at, x);
    cj_ptx(f, "mad.wide.u32 $1, $2, 4, $1;", at, index);
    cj_ptx(f, "ld.global.f32 $1, [$2];", value, at);

    cj_step(f, "sums within the block; lane 31 has the block's");
    write_warp_scan(f, value);
    cj_reg part = cj_f32(f, "part"), total = cj_f32(f, "total"), before = cj_f32(f, "before");
    cj_ptx(f, "shfl.sync.idx.b32 $1, $2, 31, 31, 0xffffffff;", part, value);

    cj_step(f, "the row's sum, and that of the blocks before this one");
    cj_collectives_ready(f, &c);
    cj_collective_value(f, &c, &sum, part, total);
    cj_collective_value(f, &c, &sums_before, part, before);
    cj_collectives_close(f, &c);

    cj_step(f, "the share");
    cj_ptx(f, "add.f32 $1, $1, $2;", value, before);
    cj_ptx(f, "div.rn.f32 $1, $1, $2;", value, total);
    cj_ptx(f, "st.global.f32 [$1], $2;", at, value);
    cj_ptx(f, "ret;");

    cj_status status = cj_builder_finish(b, text, length, error);
    cj_builder_destroy(b);
    return status;
}

static int is_right(const float *from, const float *to) {
    double worst = 0;
    for (int r = 0; r < ROWS; r++) {
        double sum = 0, running = 0;
        for (int i = 0; i < COLUMNS; i++) sum += (double)from[r * COLUMNS + i];
        for (int i = 0; i < COLUMNS; i++) {
            running += (double)from[r * COLUMNS + i];
            worst = fmax(worst, fabs((double)to[r * COLUMNS + i] - running / sum));
        }
    }
    printf("largest error: %.2g\n", worst);
    return worst < 1e-6;
}

int main(int argc, char **argv) {
    static float from[ROWS * COLUMNS], to[ROWS * COLUMNS];
    char        *text = NULL;
    size_t       length;
    cj_error     error;
    cj_ptr       x;
    cj_module   *module;
    cj_function *function;
    cj_device   *device = open_device(argc, argv);
    for (int i = 0; i < ROWS * COLUMNS; i++) from[i] = (float)(i * 7919 % 1000 + 1) / 1000;

    must(write_kernel(&text, &length, &error), &error);
    if (argc > 2 && strcmp(argv[2], "--ptx") == 0) puts(text);
    must(cj_module_from_ptx(device, text, length, &module, &error), &error);
    must(cj_module_function(module, "running_share", &function, &error), &error);
    must(cj_mem_alloc(device, sizeof from, &x, &error), &error);
    must(cj_mem_write(device, x, from, sizeof from, NULL, &error), &error);
    const cj_launch_config config = {CJ_INIT(config), .function = function, .grid = {ROWS * CLUSTER, 1, 1},
                                     .block = {LANES, 1, 1}, CJ_ARGS(x)};
    must(cj_launch(device, &config, &error), &error);
    must(cj_mem_read(device, to, x, sizeof to, NULL, &error), &error);

    cj_mem_free(device, x);
    cj_module_unload(module);
    cj_text_free(text);
    cj_device_close(device);
    return verdict(is_right(from, to));
}
