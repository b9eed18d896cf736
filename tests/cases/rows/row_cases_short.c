// SPDX-License-Identifier: Apache-2.0
// Short rows, several a warp: every length around those where lanes, vectors and rows a thread change.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "row_cases.h"
#include "test.h"

static const char *const kinds[] = {"softmax",
                                    "softmax mask=yes scale=-0.5",
                                    "logsoftmax",
                                    "softmax mask=yes mask-rows=3",
                                    "logsoftmax pass=backward",
                                    "softmax pass=backward scale=2",
                                    "rmsnorm",
                                    "rmsnorm weight=no residual=yes",
                                    "layernorm bias=yes residual=yes",
                                    "layernorm stats=yes",
                                    "layernorm pass=backward",
                                    "crossentropy",
                                    "crossentropy gradient=yes smoothing=0.1"};

static void test_length(cj_device *device, unsigned columns, size_t c) {
    static const unsigned    rows[] = {1, 37, 259, 130};
    static const char *const types[] = {"f32", "bf16", "f16 out=f32", "f32 out=bf16", "f16"};
    enum { SHORT = 256 };  // a warp has such a row, whatever the type, its alignment and the number of inputs
    for (size_t n = 0; n < CJ_TEST_COUNT(kinds); n++) {
        const unsigned way = (unsigned)(c + n), apart = columns + way % 7;
        char           words[192];
        int            used = snprintf(words, sizeof words, "%s rows=%u columns=%u dtype=%s align=%u", kinds[n],
                                       rows[way % CJ_TEST_COUNT(rows)], columns, types[(c + 2 * n) % CJ_TEST_COUNT(types)],
                            way % 2 ? 16 : 4);
        if (!cj_test_chosen(c * CJ_TEST_COUNT(kinds) + n, 7)) continue;
        if (way % 3)
            used += snprintf(words + used, sizeof words - (size_t)used, " stride=%u out-stride=%u", apart, apart + 1);
        if (columns <= SHORT) snprintf(words + used, sizeof words - (size_t)used, " unroll=%u", 1 + way % 4);
        cj_test_row(device, words, way % 2 ? 0 : 4 * (way % 4), way);
    }
}

// Lanes that the plan would not choose.
static const char *const asked[] = {"softmax rows=100 columns=8 lanes=32",
                                    "softmax rows=100 columns=8 lanes=32 unroll=2",
                                    "logsoftmax rows=300 columns=32 lanes=1 unroll=1",
                                    "layernorm rows=300 columns=24 lanes=2 dtype=bf16 align=4",
                                    "rmsnorm rows=77 columns=60 lanes=16 unroll=3",
                                    "crossentropy rows=70 columns=100 lanes=32 gradient=yes"};

void cj_test_row_short(cj_device *device) {
    static const unsigned columns[] = {1,  2,  3,   7,   8,   14,  31,  32,  33,  63,  64,
                                       65, 77, 127, 128, 129, 255, 256, 257, 511, 512, 513};
    for (size_t c = 0; c < CJ_TEST_COUNT(columns); c++) test_length(device, columns[c], c);
    for (size_t i = 0; i < CJ_TEST_COUNT(asked); i++) cj_test_row(device, asked[i], 0, i);
}

// ---- sums over short rows

static const char *const gradients[] = {"layernorm pass=backward weight-gradient=yes bias-gradient=yes",
                                        "rmsnorm pass=backward weight-gradient=yes",
                                        "layernorm pass=backward weight=no bias-gradient=yes",
                                        "rmsnorm pass=backward weight=no weight-gradient=yes bias-gradient=yes"};

// Every number of lanes that holds such a row, at 8 elements a thread.
static void test_sums(cj_device *device, unsigned columns, size_t *turn) {
    static const unsigned    rows[] = {1, 31, 33, 1000, 130};
    static const char *const types[] = {"f32", "bf16", "f16 out=f32", "f32 out=bf16", "f16"};
    static const char *const grids[] = {"", " grid=1", " grid=3"};
    enum { ELEMENTS = 8 };
    for (unsigned lanes = 1; lanes <= 32; lanes *= 2) {
        const unsigned way = (unsigned)(*turn)++, apart = way % 3 ? columns + way % 7 : columns;
        char           words[256];
        if (lanes * ELEMENTS < columns || !cj_test_chosen(way, 7)) continue;
        snprintf(words, sizeof words,
                 "%s rows=%u columns=%u dtype=%s align=%u stride=%u out-stride=%u lanes=%u unroll=%u%s",
                 gradients[way / 2 % CJ_TEST_COUNT(gradients)], rows[way % CJ_TEST_COUNT(rows)], columns,
                 types[(way + columns) % CJ_TEST_COUNT(types)], way % 2 ? 16 : 4, apart, apart + way % 2, lanes,
                 1 + way / 3 % 4, grids[way % CJ_TEST_COUNT(grids)]);
        cj_test_row(device, words, way % 2 ? 0 : 4 * (way % 4), way);
    }
}

void cj_test_row_short_sums(cj_device *device) {
    static const unsigned columns[] = {1,  2,  3,  4,  5,  7,  8,  9,  14,  15,  16,  17,  24,  30,  31,  32, 33,
                                       40, 47, 48, 63, 64, 65, 96, 97, 100, 127, 128, 129, 130, 160, 255, 256};
    size_t                turn = 0;
    for (size_t c = 0; c < CJ_TEST_COUNT(columns); c++) test_sums(device, columns[c], &turn);
}

// ---- rows that begin between two vectors

// The shortest that have an edge, around whole vectors, and of several blocks or pieces. Rows of an odd stride begin at every
// distance from a vector.
static const char *const peeled[] = {"rows=19 columns=16 stride=17 out-stride=17",
                                     "rows=19 columns=17 stride=19 out-stride=27",
                                     "rows=37 columns=23 unroll=3",
                                     "rows=9 columns=63 lanes=32",
                                     "rows=9 columns=65 stride=67 out-stride=67",
                                     "rows=17 columns=157",
                                     "rows=9 columns=343 stride=351 out-stride=343",
                                     "rows=9 columns=515 form=direct warps=1",
                                     "rows=9 columns=1029 form=direct cluster=2",
                                     "rows=9 columns=1031 form=direct cluster=4 warps=1",
                                     "rows=9 columns=2001 form=direct pieces=3 vectors=8",
                                     "rows=9 columns=999 form=direct cluster=2 pieces=2 vectors=8",
                                     "rows=9 columns=2048 stride=2053 out-stride=2053",
                                     "rows=7 columns=1003 form=spread blocks=3 warps=2 grid=6",
                                     "rows=9 columns=1001 form=spread blocks=2 warps=1 pieces=3 vectors=8 grid=4",
                                     "rows=3 columns=23 form=spread blocks=4 warps=1",
                                     "rows=9 columns=61 stride=64 out-stride=72",  // no head
                                     "rows=1 columns=1003 form=spread blocks=3 warps=2"};

void cj_test_row_peeled(cj_device *device) {
    static const struct {
        const char *words;
        unsigned    widest;
    } types[] = {
        {"dtype=f32", 4}, {"dtype=bf16", 8}, {"dtype=f16", 8}, {"dtype=bf16 out=f32", 4}, {"dtype=f32 out=f16", 4}};
    size_t turn = 0;
    for (size_t i = 0; i < CJ_TEST_COUNT(peeled); i++)
        for (size_t n = 0; n < CJ_TEST_COUNT(kinds); n++, turn++) {
            const unsigned peel = 2u << (i + n / 5) % 3, type = (unsigned)(i / 3 + n) % CJ_TEST_COUNT(types);
            const unsigned most = types[type].widest, elements = peel < most ? peel : most, shift = n % 4 * 16;
            char           words[192];
            if (strstr(kinds[n], "mask-rows") || !cj_test_chosen(turn, 7)) continue;
            snprintf(words, sizeof words, "%s %s %s peel=%u", kinds[n], types[type].words, peeled[i], elements);
            cj_test_row(device, words, shift, turn);
        }
    cj_test_row(device, "softmax rows=19 columns=65 mask=yes mask-rows=8 peel=4", 0, 1);
    cj_test_row(device, "rmsnorm rows=19 columns=65 dtype=bf16 align=4 peel=2", 4, 2);
    cj_test_row(device, "layernorm rows=19 columns=65 dtype=f16 align=8 peel=4 residual=yes", 8, 3);
}

// ---- vectors that are loaded in parts

static const char *const split[] = {"rows=19 columns=16 stride=17",
                                    "rows=37 columns=24 stride=25 unroll=2",
                                    "rows=9 columns=64 stride=66 lanes=32",
                                    "rows=9 columns=344 stride=345 out-stride=352",
                                    "rows=9 columns=1032 stride=1034 form=direct cluster=2",
                                    "rows=9 columns=2000 stride=2001 form=direct pieces=3 vectors=8"};

enum { TYPES = 5 };

// Every kind that writes rows, of each shape and a type, with `more` words. Pointers are apart from each other by what their alignment allows.
static void test_beside(cj_device *device, const char *const *shapes, size_t count, const char *const types[TYPES], const char *more) {
    size_t turn = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t n = 0; n < CJ_TEST_COUNT(kinds); n++, turn++) {
            const char    *type = types[(i + n) % TYPES];
            const unsigned apart = strstr(type, "align") ? 4 : 16;
            char           words[192];
            if (strstr(kinds[n], "mask-rows") || !strcmp(kinds[n], "crossentropy") || !cj_test_chosen(turn, 7)) continue;
            snprintf(words, sizeof words, "%s %s %s %s", kinds[n], type, shapes[i], more);
            cj_test_row(device, words, n % 4 * apart, turn);
        }
}

void cj_test_row_split(cj_device *device) {
    static const char *const types[TYPES] = {"dtype=f32", "dtype=bf16", "dtype=f16", "dtype=bf16 out=f32", "dtype=f32 out=f16"};
    test_beside(device, split, CJ_TEST_COUNT(split), types, "split=4");
}

// ---- vectors that are taken out of two, with a vector more at each edge

static const char *const across[] = {"rows=9 columns=344 stride=345 out-stride=350",
                                     "rows=37 columns=61 stride=64 out-stride=67",
                                     "rows=41 columns=32 stride=35 out-stride=33 lanes=16 unroll=2",
                                     "rows=7 columns=33 stride=34 out-stride=40",
                                     "rows=9 columns=1033 stride=1034 form=direct cluster=2",
                                     "rows=9 columns=2003 stride=2004 out-stride=2009 form=direct pieces=3 vectors=8",
                                     "rows=3 columns=3001 stride=3002 out-stride=3005 form=spread blocks=7 warps=1",
                                     "rows=2 columns=9000 stride=9001 out-stride=9000 form=spread blocks=3 pieces=2"};

void cj_test_row_across(cj_device *device) {
    static const char *const types[TYPES] = {"dtype=f32", "dtype=bf16", "dtype=f16 align=2", "dtype=bf16 out=f32", "dtype=f32 align=4 out=f16"};
    test_beside(device, across, CJ_TEST_COUNT(across), types, "split=4 peel=4 across=yes");
}

// One matrix alone, whose rows begin anywhere because its pointer does, or that and the stride.
static void test_alone(cj_device *device) {
    static const char *const rows[] = {"rows=19 columns=16", "rows=37 columns=23 stride=24 unroll=3", "rows=9 columns=63 lanes=32",
                                       "rows=9 columns=515 form=direct warps=1", "rows=9 columns=1032 form=direct cluster=2",
                                       "rows=9 columns=2001 form=direct pieces=3 vectors=8", "rows=7 columns=1003 form=spread blocks=3 warps=2 grid=6",
                                       "rows=1 columns=1000 form=spread blocks=3 warps=2"};
    static const char *const types[] = {"dtype=bf16 align=2 peel=8", "dtype=f32 align=4 peel=4", "dtype=f16 align=4 peel=4", "dtype=bf16 align=8 peel=8"};
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++)
        for (size_t n = 0; n < CJ_TEST_COUNT(types); n++) {
            const unsigned align = (unsigned)strtoul(strstr(types[n], "align=") + 6, NULL, 10);
            char           words[192];
            snprintf(words, sizeof words, "crossentropy %s %s", types[n], rows[i]);
            cj_test_row(device, words, align * (unsigned)(1 + (i + n) % 3), i + n);
        }
}

// Pointers that are beside vectors: all by as much, or each by more.
void cj_test_row_unaligned(cj_device *device) {
    static const char *const rows[] = {"rows=9 columns=301", "rows=37 columns=40 stride=42", "rows=5 columns=1033 form=direct cluster=2"};
    static const struct {
        const char *words;
        unsigned    align;
    } types[] = {{"dtype=bf16 align=2", 2}, {"dtype=f32 align=4", 4}, {"dtype=f16 out=f32 align=4", 4}, {"dtype=bf16 align=4", 4}};
    size_t turn = 0;
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++)
        for (size_t n = 0; n < CJ_TEST_COUNT(kinds); n++, turn++) {
            const size_t type = turn % CJ_TEST_COUNT(types);
            char         words[192];
            if (!cj_test_chosen(turn, 7)) continue;
            snprintf(words, sizeof words, "%s %s %s", kinds[n], types[type].words, rows[i]);
            cj_test_row(device, words, types[type].align * (unsigned)(turn / 4 % 3), turn);
        }
    test_alone(device);
}

// ---- rows that a warp transposes

void cj_test_row_transposed(cj_device *device) {
    static const unsigned    rows[] = {1, 31, 32, 33, 257, 300}, apart[] = {0, 2, 8};
    static const char *const types[] = {"f32", "bf16", "f16 out=f32", "f32 out=bf16", "f16"};
    enum { MOST = 15 };
    for (unsigned columns = 1; columns <= MOST; columns += 2)
        for (size_t n = 0; n < CJ_TEST_COUNT(kinds); n++) {
            const unsigned way = columns / 2 + (unsigned)n, align = 16u >> way % 3;
            char           words[192];
            if (strstr(kinds[n], "mask-rows") || !cj_test_chosen(columns * CJ_TEST_COUNT(kinds) + n, 7)) continue;
            snprintf(words, sizeof words, "%s rows=%u columns=%u stride=%u out-stride=%u dtype=%s align=%u transpose=yes",
                     kinds[n], rows[way % CJ_TEST_COUNT(rows)], columns, columns + apart[way % 3],
                     columns + apart[(way + n) % 3], types[(columns + 2 * n) % CJ_TEST_COUNT(types)], align);
            cj_test_row(device, words, align, way);
        }
}
