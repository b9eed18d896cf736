// SPDX-License-Identifier: Apache-2.0
// Every product by mma.sync assembles, without a warning or a spill: every tile for every target with the next layout and type in
// turn, and what takes most registers.
#include <clusterjit/ptx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "test.h"

static const char *const tiles[] = {"128x256", "256x128", "128x128", "64x256", "64x128",
                                    "128x64",  "64x64",   "32x128",  "16x128"};
static const char *const targets[] = {"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"};
static const char *const types[] = {"",
                                    "a=column b=column c=yes bias=n activation=gelu",
                                    "dtype=tf32 b=column out=bf16 bias=m activation=silu",
                                    "dtype=f16 a=column d=column out=f32 c=yes batch=2",
                                    "parts=3 b=column c=yes bias=m",
                                    "dtype=e4m3 dtype-b=e5m2 b=column out=e4m3 c=yes bias=n activation=gelu",
                                    "dtype=i8 dtype-b=u8 b=column out=i8 c=yes bias=m activation=gelu",
                                    "dtype=u8 b=column parts=3",
                                    "n=1001 c=yes bias=n batch=3"};

static void assemble(const char *params, const char *arch) {
    char  log[4096];
    char *text = cj_test_emit("gemm", params, arch);
    if (!cj_test_assemble(text, arch, log, sizeof log)) fail_msg("%s for %s: %s", params, arch, log);
    cj_text_free(text);
}

// 8-bit floats need sm_89; where they are converted, tiles have half as many sums.
static bool has(const char *target, const char *type, const char *tile) {
    const int  number = atoi(target + strlen("sm_"));
    const bool is_large = strstr("128x256 256x128 128x128 64x256", tile) != NULL;
    return !strstr(type, "e4m3") || (number >= 89 && !(is_large && number >= 90 && number < 120));
}

static void every_tile_assembles_for_every_target(void **state) {
    (void)state;
    size_t turn = 0;
    for (size_t t = 0; t < CJ_TEST_COUNT(targets); t++)
        for (size_t i = 0; i < CJ_TEST_COUNT(tiles); i++, turn++) {
            char        params[200];
            const char *type = types[turn % CJ_TEST_COUNT(types)];
            if (!has(targets[t], type, tiles[i])) type = *types;
            snprintf(params, sizeof params, "form=mma tile=%s stages=2 %s", tiles[i], type);
            if (cj_test_mine(turn)) assemble(params, targets[t]);
        }
}

static void every_type_assembles_in_the_largest_tiles(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(types); i++) {
        char params[200];
        snprintf(params, sizeof params, "form=mma tile=%s stages=2 %s", tiles[i % 3], types[i]);
        for (size_t t = 0; t < CJ_TEST_COUNT(targets); t += 3)
            if (has(targets[t], types[i], tiles[i % 3])) assemble(params, targets[t]);
    }
}

static void every_alignment_assembles(void **state) {
    (void)state;
    static const char *const words[] = {"tile=64x64 align=2 c=yes bias=n activation=gelu",
                                        "tile=64x128 align=2 a=column b=column d=column c=yes batch=2",
                                        "tile=128x64 align-b=2 align-d=2 bias=m activation=silu parts=3",
                                        "tile=32x128 align=2 a=column out=f32",
                                        "tile=16x128 align=2 b=column",
                                        "tile=128x256 align=4 c=yes bias=n",
                                        "tile=128x128 align=4 dtype=tf32 b=column",
                                        "tile=256x128 align=8 a=column",
                                        "tile=64x64 align=1 dtype=e4m3 b=column out=e4m3 c=yes bias=n activation=gelu",
                                        "tile=64x128 align=4 dtype=e4m3 dtype-b=e5m2 b=column",
                                        "tile=64x64 align=1 dtype=i8 b=column",
                                        "tile=128x128 align=4 dtype=u8 dtype-b=i8 b=column out=i8 c=yes bias=n activation=silu"};
    static const char *const on[] = {"sm_80", "sm_89", "sm_90", "sm_120"};
    for (size_t i = 0; i < CJ_TEST_COUNT(words) * CJ_TEST_COUNT(on); i++) {
        char        params[200];
        const char *target = on[i % CJ_TEST_COUNT(on)], *said = words[i / CJ_TEST_COUNT(on)];
        snprintf(params, sizeof params, "form=mma %s", said);
        if (has(target, said, "64x64") && cj_test_mine(i)) assemble(params, target);
    }
}

static void every_tile_of_f64_assembles_for_every_target(void **state) {
    (void)state;
    static const char *const of_f64[] = {"128x128", "64x128", "128x64", "64x64", "32x128", "16x128"};
    static const char *const words[] = {"", "a=column b=column c=yes bias=n activation=relu align=8", "b=column c=yes bias=m parts=3 batch=2",
                                        "a=column n=1001 d=column bias=n", "b=column align=8 c=yes"};
    enum { TILES = CJ_TEST_COUNT(of_f64) };
    for (size_t i = 0; i < TILES * CJ_TEST_COUNT(targets); i++) {
        char params[200];
        snprintf(params, sizeof params, "dtype=f64 tile=%s %s", of_f64[i % TILES], words[i % CJ_TEST_COUNT(words)]);
        if (cj_test_mine(i)) assemble(params, targets[i / TILES]);
    }
}

static void every_tile_of_a_few_rows_assembles(void **state) {
    (void)state;
    static const char *const skinny[] = {"16x64", "16x32", "16x16"};
    static const char *const epilogues[] = {"m=16 c=yes bias=n activation=gelu", "m=8 stages=3 batch=2",
                                            "m=16 stages=3 dtype=tf32 bias=m activation=silu",
                                            "m=8 dtype=e4m3 out=e4m3 c=yes bias=n activation=gelu",
                                            "m=16 dtype=i8 dtype-b=u8 out=i8 c=yes bias=n activation=gelu"};
    for (size_t i = 0; i < CJ_TEST_COUNT(skinny) * CJ_TEST_COUNT(epilogues); i++) {
        char params[200];
        snprintf(params, sizeof params, "form=skinny b=column tile=%s %s", skinny[i % 3], epilogues[i / 3]);
        for (size_t t = 2 * (i % 2); t < CJ_TEST_COUNT(targets); t += 3)
            if (has(targets[t], epilogues[i / 3], skinny[i % 3])) assemble(params, targets[t]);
    }
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tile_assembles_for_every_target),
        cmocka_unit_test(every_type_assembles_in_the_largest_tiles),
        cmocka_unit_test(every_alignment_assembles),
        cmocka_unit_test(every_tile_of_f64_assembles_for_every_target),
        cmocka_unit_test(every_tile_of_a_few_rows_assembles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
