// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "gemm_cases.h"
#include "test.h"

static uint32_t draw(uint64_t *random, uint32_t from, uint32_t to) {
    return from + (uint32_t)(cj_test_random(random) % (to - from + 1));
}

// Any size, or one next to a multiple of 8, 64, 128 or 256.
static uint32_t draw_size(uint64_t *random, uint32_t most) {
    static const uint32_t units[] = {1, 8, 64, 128, 256};
    const uint32_t unit = units[draw(random, 0, 4)], size = draw(random, 1, most) / unit * unit + draw(random, 0, 2);
    return size < 2 ? 1 : size - 1 > most ? most : size - 1;
}

#define PICK(random, ...)   \
    ((const char *const[]){ \
        __VA_ARGS__})[draw(random, 0, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *) - 1)]

// One in three uses split-K; some of the others use consumers in turn where the tile has them.
static void draw_blocks(uint64_t *random, char *words, size_t size) {
    const bool  shares = draw(random, 0, 2) == 0;
    const char *tile = PICK(random, "auto", "128x256", "128x128", "64x256", "64x128", "64x64", "128x224", "128x192",
                             "128x160", "128x96", "64x192", "64x160", "64x96", "192x192", "192x160", "192x128");
    const char *blocks = shares
                             ? PICK(random, "cluster=auto split=2", "cluster=0 parts=3",
                                    "cluster=1 split=16 cluster-n=1", "cluster=2 parts=2",
                                    "cluster=2 cluster-n=1 split=3 parts=2", "cluster=1 cluster-n=2 split=8",
                                    "cluster=2 cluster-n=2 split=4 parts=2", "cluster=2 cluster-n=1 split=4 sums=stages")
                             : PICK(random, "cluster=auto", "cluster=0", "cluster=1", "cluster=2", "cluster=4",
                                    "cluster=1 cluster-n=2", "cluster=1 cluster-n=4", "cluster=2 cluster-n=2");
    const char *turns = *tile == '6' && !shares ? PICK(random, "", "", " consumers=in-turn") : "";
    snprintf(words, size, "tile=%s %s%s", tile, blocks, turns);
}

// Types of A and B, with a layout that they can have.
static void draw_types(uint64_t *random, char *words, size_t size) {
    if (draw(random, 0, 1)) {
        snprintf(words, size, "dtype=%s a=%s b=%s", PICK(random, "bf16", "f16"), PICK(random, "row", "column"),
                 PICK(random, "row", "column"));
        return;
    }
    snprintf(
        words, size, "%s b=column",
        PICK(random, "dtype=tf32", "dtype=e4m3", "dtype=e5m2", "dtype=e4m3 dtype-b=e5m2", "dtype=e5m2 dtype-b=e4m3", "dtype=i8", "dtype=u8",
             "dtype=i8 dtype-b=u8", "dtype=u8 dtype-b=i8"));
}

// Whether A and B may come through registers, which takes two stages and no more.
static bool has_loads(const char *align) { return strstr(align, "align=1") || strstr(align, "align=2"); }

// Two stages of the largest tile have no room for the sums of many blocks, nor have three of one of 192 rows.
static const char *draw_stages(uint64_t *random, const char *blocks) {
    const char *stages = PICK(random, "0", "0", "2", "3");
    if (has_loads(blocks) || (strstr(blocks, "tile=192") && strstr(blocks, "split="))) return "0";
    return *stages == '2' && strstr(blocks, "tile=128x2") && strstr(blocks, "split=") ? "3" : stages;
}

static bool has_integers(const char *types) { return strstr(types, "dtype=i") || strstr(types, "dtype=u"); }

// What becomes of the sums. Those that leave as they are have nothing added.
static void draw_results(uint64_t *random, const char *types, char *words, size_t size) {
    const char *out = PICK(random, "auto", "auto", "bf16", "f16", "f32", "e4m3", "e5m2", "i8");
    if (has_integers(types) && *out == 'a') {
        snprintf(words, size, "out=%s", PICK(random, "auto", "i32"));
        return;
    }
    snprintf(words, size, "out=%s c=%s bias=%s activation=%s", out, PICK(random, "no", "no", "yes"), PICK(random, "none", "n", "m"),
             PICK(random, "none", "none", "relu", "gelu", "silu"));
}

// The words of a problem with these types, and tile, blocks and what splits K as `blocks` has them.
static void draw_problem(uint64_t *random, uint32_t most, const char *types, const char *blocks, char *words,
                         size_t size) {
    char results[64];
    draw_results(random, types, results, sizeof results);
    snprintf(words, size, "m=%u n=%u k=%u %s %s d=%s %s %s stages=%s", draw_size(random, most), draw_size(random, most),
             draw_size(random, most), types, results, PICK(random, "row", "column"),
             PICK(random, "batch=1", "batch=1", "batch=2", "batch=3 shared=a", "batch=2 shared=b", "batch=3"), blocks,
             draw_stages(random, blocks));
}

void cj_test_gemm_random(cj_device *device, size_t count, uint32_t most, uint64_t *random) {
    for (size_t i = 0; i < count; i++) {
        char types[64], blocks[80], words[360];
        draw_types(random, types, sizeof types);
        draw_blocks(random, blocks, sizeof blocks);
        draw_problem(random, most, types, blocks, words, sizeof words);
        if (!strstr(words, "out=e") && !strstr(words, "out=i8")) strcat(words, PICK(random, "", "", " swap=yes"));
        cj_test_gemm(device, words, random);
    }
}

// f64, which has the form mma alone, in every order; tiles of half as many sums, and no other type of D.
static void draw_f64(uint64_t *random, uint32_t most, char *words, size_t size) {
    const char *tile = PICK(random, "auto", "128x128", "64x128", "128x64", "64x64", "32x128", "16x128");
    const char *epilogue = PICK(random, "", "", " bias=n activation=relu", " bias=m", " c=yes", " c=yes bias=n",
                                " c=yes bias=m activation=relu");
    snprintf(words, size, "m=%u n=%u k=%u dtype=f64 a=%s b=%s d=%s tile=%s parts=%s stages=%s %s%s%s", draw_size(random, most),
             draw_size(random, most), draw_size(random, most), PICK(random, "row", "column"), PICK(random, "row", "column"),
             PICK(random, "row", "column"), tile, PICK(random, "0", "1", "1", "2", "3", "7"), PICK(random, "0", "0", "2", "3"),
             PICK(random, "batch=1", "batch=1", "batch=2", "batch=3 shared=a", "batch=2 shared=b"), epilogue,
             PICK(random, "", "", " align=8", " align-a=8", " align-b=8 align-d=8", " align-c=8"));
}

void cj_test_gemm_random_f64(cj_device *device, size_t count, uint32_t most, uint64_t *random) {
    for (size_t i = 0; i < count; i++) {
        char words[240];
        draw_f64(random, most, words, sizeof words);
        cj_test_gemm(device, words, random);
    }
}

// The form mma: its tiles, and parts. 8-bit floats, which sm_90 converts, have the smaller tiles.
static void draw_mma(uint64_t *random, const char *types, char *words, size_t size) {
    const bool  is_narrow = strstr(types, "dtype=e") != NULL, has_8_bits = is_narrow || has_integers(types);
    const char *align = strstr(types, "tf32") ? PICK(random, "", " align=8", " align=4", " align-b=4")
                                              : PICK(random, "", "", " align=8", " align=4", " align-d=4 align-c=8", " align-b=4", " align=2",
                                                     " align=1", " align-a=2");
    const char *small = PICK(random, "auto", "64x128", "128x64", "64x64", "32x128", "16x128");
    const char *any = PICK(random, "128x256", "256x128", "128x128", "64x256", small, small);
    const char *by_elements = has_8_bits ? PICK(random, "auto", "64x64") : PICK(random, "auto", "64x64", "32x128", "16x128");
    const char *tile = strstr(align, "=2") || strstr(align, "=1") ? by_elements : is_narrow ? small : any;
    snprintf(words, size, "form=mma tile=%s parts=%s%s", tile, PICK(random, "0", "1", "1", "2", "3", "7"), align);
}

void cj_test_gemm_random_mma(cj_device *device, size_t count, uint32_t most, uint64_t *random) {
    for (size_t i = 0; i < count; i++) {
        char types[64], blocks[100], words[360];
        draw_types(random, types, sizeof types);
        draw_mma(random, types, blocks, sizeof blocks);
        draw_problem(random, most, types, blocks, words, sizeof words);
        cj_test_gemm(device, words, random);
    }
}

// ---- lines of D that are no multiple of 16 bytes

void cj_test_gemm_ragged(cj_device *device, size_t stride, uint64_t *random) {
    static const uint32_t lengths[] = {1, 2, 3, 4, 5, 6, 7, 9, 15, 17, 31, 33, 63, 65, 67, 71, 127, 129, 190, 257, 270};
    static const char *const outs[] = {"bf16", "f16", "f32", "e4m3", "e5m2", "i8"}, *const orders[] = {"row", "column"};
    static const char *const ways[] = {"tile=64x64 cluster=1",
                                       "tile=64x64 cluster=2 c=yes bias=n",
                                       "tile=64x128 cluster=0 batch=3 c=yes",
                                       "tile=64x64 cluster=1 split=2 batch=2",
                                       "tile=64x256 cluster=1 c=yes batch=2 shared=a",
                                       "tile=64x128 cluster=1 cluster-n=2 parts=2 batch=2 shared=bc c=yes",
                                       "tile=128x128 cluster=1 c=yes",
                                       "tile=64x64 cluster=1 split=3 parts=2 activation=relu",
                                       "tile=128x256 cluster=0 bias=m"};
    enum { TYPES = CJ_TEST_COUNT(outs), KINDS = TYPES * CJ_TEST_COUNT(orders) };
    size_t way = 0;
    assert_true(stride % 2 && stride % 3);
    for (size_t i = 0; i < KINDS * CJ_TEST_COUNT(lengths); i += stride, way++) {
        const bool     by_columns = i / TYPES % 2;
        const uint32_t length = lengths[i / KINDS], lines = draw(random, 1, 80);
        char           words[200];
        snprintf(words, sizeof words, "m=%u n=%u k=%u out=%s d=%s %s", by_columns ? length : lines,
                 by_columns ? lines : length, draw(random, 1, 200), outs[i % TYPES], orders[by_columns],
                 ways[way % CJ_TEST_COUNT(ways)]);
        if (cj_test_chosen(way, 16)) cj_test_gemm(device, words, random);
    }
}

// ---- matrices that are aligned to less than 16 bytes

void cj_test_gemm_unaligned(cj_device *device, size_t stride, uint64_t *random) {
    static const uint32_t sizes[] = {1, 2, 3, 7, 8, 9, 15, 17, 31, 32, 33, 63, 64, 65, 66, 127, 129, 131};
    static const char *const types[] = {"a=row b=row", "dtype=f16 a=column b=row", "a=row b=column", "dtype=f16 a=column b=column",
                                        "dtype=tf32 b=column", "dtype=e4m3 b=column", "dtype=e5m2 dtype-b=e4m3 b=column",
                                        "dtype=i8 dtype-b=u8 b=column out=i8"};
    static const char *const aligns[] = {"align=2", "align=4", "align=8", "align=1", "align-b=4 align-d=4", "align-a=8"};
    static const char *const ways[] = {"", "c=yes bias=n", "d=column c=yes bias=m activation=gelu", "out=f32 batch=3", "parts=3 c=yes",
                                       "out=e4m3 c=yes batch=2 shared=b", "out=f32 d=column c=yes parts=2 batch=2", "stages=3"};
    enum { TYPES = CJ_TEST_COUNT(types), KINDS = TYPES * CJ_TEST_COUNT(aligns), COUNT = CJ_TEST_COUNT(sizes) };
    for (size_t i = 0; i < KINDS * CJ_TEST_COUNT(ways); i += stride) {
        const char *align = aligns[i / TYPES % CJ_TEST_COUNT(aligns)], *way = ways[i / KINDS];
        char        words[240];
        if (has_loads(align) && strstr(way, "stages")) continue;
        snprintf(words, sizeof words, "form=mma m=%u n=%u k=%u %s %s %s", sizes[draw(random, 0, COUNT - 1)], sizes[draw(random, 0, COUNT - 1)],
                 sizes[draw(random, 0, COUNT - 1)] + 64 * draw(random, 0, 2), types[i % TYPES], align, way);
        if (cj_test_chosen(i / stride, 16)) cj_test_gemm(device, words, random);
    }
}
