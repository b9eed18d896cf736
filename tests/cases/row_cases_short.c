// SPDX-License-Identifier: Apache-2.0
// Short rows, several a warp: every length around those where lanes, vectors and rows a thread change.
#include <inttypes.h>
#include <stdio.h>

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
