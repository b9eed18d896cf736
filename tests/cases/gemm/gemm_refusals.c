// SPDX-License-Identifier: Apache-2.0
#include "gemm_refusals.h"

#include <string.h>

#include "test.h"

typedef struct refusal {
    const char  *says;
    cj_gemm_desc desc;
    cj_ptr       skew;  // added to the address of A
} refusal;

static void refuse_descriptions(cj_device *device, const cj_gemm_operands *all) {
    const refusal refusals[] = {
        {"m: 0", {.n = 1, .k = 1, .dtype = CJ_BF16}, 0},
        {"dtype", {.m = 1, .n = 1, .k = 1, .dtype = CJ_I64}, 0},
        {"cluster", {.m = 8, .n = 8, .k = 8, .dtype = CJ_BF16, .cluster = 3}, 0},
        {"split: 12 times 2", {.m = 8, .n = 8, .k = 8, .dtype = CJ_BF16, .cluster = 2, .split = 12}, 0},
        {"parts", {.m = 1, .n = 1, .k = 1, .dtype = CJ_BF16, .parts = 65}, 0},
        {"ldb: 8", {.m = 40, .n = 48, .k = 40, .dtype = CJ_BF16, .ldb = 8}, 0},
        {"a: 0x", {.m = 40, .n = 48, .k = 40, .dtype = CJ_BF16}, 1},
        {"a: 0x", {.m = 40, .n = 48, .k = 40, .dtype = CJ_BF16, .form = CJ_GEMM_FORM_MMA}, 1},
        {"align-a: 2 bytes, but form=wgmma", {.m = 40, .n = 48, .k = 40, .dtype = CJ_BF16, .lda = 41, .form = CJ_GEMM_FORM_WGMMA}, 0},
        {"align-a: 8 bytes, but form=wgmma", {.m = 40, .n = 48, .k = 48, .dtype = CJ_BF16, .form = CJ_GEMM_FORM_WGMMA}, 8},
        {"align-d: 4 bytes, but form=skinny",
         {.m = 8, .n = 50, .k = 48, .dtype = CJ_BF16, .b = CJ_GEMM_COLUMN, .form = CJ_GEMM_FORM_SKINNY},
         0},
        {"cluster: 2, but form=mma",
         {.m = 1, .n = 1, .k = 1, .dtype = CJ_BF16, .cluster = 2, .form = CJ_GEMM_FORM_MMA},
         0},
        {"tile: 16x128 is none of form=wgmma",
         {.m = 1, .n = 1, .k = 1, .dtype = CJ_BF16, .tile = CJ_GEMM_TILE_16X128, .form = CJ_GEMM_FORM_WGMMA},
         0},
        {"b: row; elements of e4m3", {.m = 40, .n = 48, .k = 48, .dtype = CJ_E4M3}, 0},
        {"a: column; elements of tf32",
         {.m = 40, .n = 48, .k = 48, .dtype = CJ_TF32, .a = CJ_GEMM_COLUMN, .b = CJ_GEMM_COLUMN},
         0},
        {"dtype-b: e5m2 has no effect with dtype=bf16", {.m = 40, .n = 48, .k = 40, .dtype = CJ_BF16, .dtype_b = CJ_E5M2}, 0},
        {"out: 9", {.m = 40, .n = 48, .k = 40, .dtype = CJ_BF16, .out = (cj_gemm_out)9}, 0},
        {"activation: 7", {.m = 40, .n = 48, .k = 40, .dtype = CJ_BF16, .activation = (cj_gemm_activation)7}, 0},
        {"dtype-b: u8 elements of B, but those of A are e4m3",
         {.m = 40, .n = 48, .k = 48, .dtype = CJ_E4M3, .dtype_b = CJ_U8, .b = CJ_GEMM_COLUMN},
         0},
        {"b: row; elements of i8", {.m = 40, .n = 48, .k = 48, .dtype = CJ_I8}, 0},
        {"out: i32 is the sums of i8 and u8; those of bf16", {.m = 40, .n = 48, .k = 48, .dtype = CJ_BF16, .out = CJ_GEMM_OUT_I32}, 0},
        {"k: 33026 products of u8 and u8", {.m = 8, .n = 8, .k = 33026, .dtype = CJ_U8, .b = CJ_GEMM_COLUMN}, 0},
        {"k: 65794 products of i8 and u8",
         {.m = 8, .n = 8, .k = 65794, .dtype = CJ_I8, .dtype_b = CJ_U8, .b = CJ_GEMM_COLUMN, .out = CJ_GEMM_OUT_F32},
         0},
        {"out: i32, but C is added", {.m = 40, .n = 48, .k = 48, .dtype = CJ_I8, .b = CJ_GEMM_COLUMN, .adds_c = true}, 0},
        {"out: i32, but there is a bias", {.m = 40, .n = 48, .k = 48, .dtype = CJ_I8, .b = CJ_GEMM_COLUMN, .bias = CJ_GEMM_BIAS_N}, 0},
        {"out: i32, but there is an activation",
         {.m = 40, .n = 48, .k = 48, .dtype = CJ_U8, .b = CJ_GEMM_COLUMN, .activation = CJ_GEMM_RELU},
         0},
        {"out: bf16, but the sums of f64 are f64", {.m = 8, .n = 8, .k = 8, .dtype = CJ_F64, .out = CJ_GEMM_OUT_BF16}, 0},
        {"out: f64, but the sums of bf16 are f32", {.m = 8, .n = 8, .k = 8, .dtype = CJ_BF16, .out = CJ_GEMM_OUT_F64}, 0},
        {"out: f64, but the sums of i8 are s32", {.m = 16, .n = 8, .k = 16, .dtype = CJ_I8, .b = CJ_GEMM_COLUMN, .out = CJ_GEMM_OUT_F64}, 0},
        {"dtype: f64, but form=wgmma", {.m = 8, .n = 8, .k = 8, .dtype = CJ_F64, .form = CJ_GEMM_FORM_WGMMA}, 0},
        {"dtype: f64, but form=skinny", {.m = 8, .n = 8, .k = 8, .dtype = CJ_F64, .b = CJ_GEMM_COLUMN, .form = CJ_GEMM_FORM_SKINNY}, 0},
        {"tile: 128x256 leaves no registers for sums of f64", {.m = 8, .n = 8, .k = 8, .dtype = CJ_F64, .tile = CJ_GEMM_TILE_128X256}, 0},
        {"tile: 128x96 is none of form=mma, which f64 has alone", {.m = 8, .n = 8, .k = 8, .dtype = CJ_F64, .tile = CJ_GEMM_TILE_128X96}, 0},
        {"activation: gelu takes", {.m = 8, .n = 8, .k = 8, .dtype = CJ_F64, .activation = CJ_GEMM_GELU}, 0},
        {"activation: silu takes", {.m = 8, .n = 8, .k = 8, .dtype = CJ_F64, .activation = CJ_GEMM_SILU}, 0},
        {"dtype-b: e5m2 has no effect with dtype=f64", {.m = 8, .n = 8, .k = 8, .dtype = CJ_F64, .dtype_b = CJ_E5M2}, 0},
        {"cluster: 2, but form=mma", {.m = 8, .n = 8, .k = 8, .dtype = CJ_F64, .cluster = 2}, 0},
        {"a: 0x", {.m = 8, .n = 8, .k = 8, .dtype = CJ_F64}, 4},
        {"bias: NULL", {.m = 40, .n = 48, .k = 40, .dtype = CJ_BF16, .bias = CJ_GEMM_BIAS_N}, 0},
        {"stride_a, stride_b: both 0", {.m = 40, .n = 48, .k = 40, .dtype = CJ_BF16, .batch = 2}, 0},
        {"stride_d: 1904 elements are less than the 1920",
         {.m = 40, .n = 48, .k = 40, .dtype = CJ_BF16, .batch = 2, .stride_a = 1600, .stride_d = 1904},
         0},
        {"lda: 9223372036854775808 elements",
         {.m = 40, .n = 48, .k = 40, .dtype = CJ_BF16, .lda = UINT64_C(1) << 63},
         0},
        {"ldd: 9223372036854775824 elements",
         {.m = 40, .n = 48, .k = 40, .dtype = CJ_BF16, .ldd = (UINT64_C(1) << 63) + 16},
         0},
        {"stride_a: 9223372036854776064 elements",
         {.m = 40, .n = 48, .k = 40, .dtype = CJ_BF16, .batch = 2, .stride_a = (UINT64_C(1) << 63) + 256},
         0},
        {"ldd: 40 times 274877906944 elements",
         {.m = 40,
          .n = 48,
          .k = 40,
          .dtype = CJ_BF16,
          .batch = 2,
          .stride_a = 1600,
          .ldd = UINT64_C(1) << 38,
          .stride_d = 1920},
         0},
    };
    cj_gemm_operands operands = *all;
    operands.bias = 0;
    for (size_t i = 0; i < CJ_TEST_COUNT(refusals); i++) {
        cj_gemm_operands given = operands;
        cj_gemm_desc     desc = refusals[i].desc;
        cj_error         error = {0};
        desc.struct_size = sizeof desc;
        given.a += refusals[i].skew;
        assert_int_equal(cj_gemm_launch(device, &desc, &given, NULL, &error), CJ_INVALID_ARGUMENT);
        if (!strstr(error.message, refusals[i].says)) fail_msg("%s: %s", refusals[i].says, error.message);
    }
}

// Operands of the launch, rather than fields of the description.
static void refuse_operands(cj_device *device, const cj_gemm_operands *all) {
    const cj_gemm_desc plain = {CJ_INIT(plain), .m = 40, .n = 48, .k = 40, .dtype = CJ_BF16, .adds_c = true};
    const cj_gemm_desc narrow = {
        CJ_INIT(narrow),        .m = 48, .n = 48, .k = 48, .dtype = CJ_E4M3, .b = CJ_GEMM_COLUMN, .adds_c = true,
        .out = CJ_GEMM_OUT_E4M3};
    const cj_gemm_desc sums = {CJ_INIT(sums), .m = 48, .n = 48, .k = 48, .dtype = CJ_I8, .b = CJ_GEMM_COLUMN};
    cj_gemm_operands   given[11];
    const struct {
        const char         *says;
        const cj_gemm_desc *desc;
    } refusals[] = {{"a: NULL", &plain},
                    {"b: NULL", &plain},
                    {"c: NULL", &plain},
                    {"d: NULL", &plain},
                    {"is d, but elements", &narrow},
                    {"scale_a: 0x1002", &narrow},
                    {"scale_b: 0x1002", &narrow},
                    {"scale_d: 0x1002", &narrow},
                    {"alpha: 0.5, but D of i32", &sums},
                    {"alpha_f64: 0.5, but the kernel does not multiply f64", &plain},
                    {"beta_f64: -2, but the kernel does not multiply f64", &plain}};
    for (size_t i = 0; i < CJ_TEST_COUNT(given); i++) given[i] = *all;
    given[8].alpha = 0.5F;
    given[9].alpha_f64 = 0.5, given[10].beta_f64 = -2;
    given[0].a = given[1].b = given[2].c = given[3].d = 0;
    given[4].c = given[4].d;
    given[5].scale_a = given[6].scale_b = given[7].scale_d = 0x1002;
    for (size_t i = 0; i < CJ_TEST_COUNT(given); i++) {
        cj_error error = {0};
        assert_int_equal(cj_gemm_launch(device, refusals[i].desc, &given[i], NULL, &error), CJ_INVALID_ARGUMENT);
        if (!strstr(error.message, refusals[i].says)) fail_msg("%s: %s", refusals[i].says, error.message);
    }
}

void cj_test_gemm_refusals(cj_device *device, const cj_gemm_operands *operands) {
    refuse_descriptions(device, operands);
    refuse_operands(device, operands);
}
