// SPDX-License-Identifier: Apache-2.0
// What ptxgen emit writes, byte for byte. CJ_UPDATE_GOLDEN=1 writes the files anew: read the difference before
// committing it.
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "parse.h"

static const struct {
    const char *family, *file, *arch, *params;
} golden[] = {
    {"reduce", "default", "sm_90", ""},
    {"reduce", "cluster_1", "sm_90", "cluster=1"},
    {"reduce", "sm_80", "sm_80", ""},
    {"reduce", "u32_max", "sm_90a", "op=max dtype=u32"},
    {"reduce", "f64_min_cluster_16", "sm_90", "op=min dtype=f64 cluster=16 block=32"},
    {"reduce", "block_results_weighted", "sm_90", "result=block weight=block"},
    {"reduce", "total_and_blocks", "sm_90", "cluster=4 result=both"},
    {"reduce", "independent", "sm_90", "n=2^28 dependent=no"},
    {"reduce", "bf16_argmax", "sm_90", "op=argmax dtype=bf16 n=2^14"},
    {"reduce", "i8_meanvar", "sm_90", "op=meanvar dtype=i8 cluster=2 grid=4"},
    {"histogram", "histogram_u8", "sm_80", "dtype=u8 n=2^20 cluster=4"},
    {"histogram", "histogram_u32_narrow", "sm_90", "bins=2^17 n=2^20 counts=u64 width=8"},
    {"histogram", "histogram_f32_cluster_2", "sm_90", "bins=100000 dtype=f32 lower=-1 upper=1 n=2^20 width=32 cluster=2"},
    {"histogram", "histogram_remote", "sm_90", "bins=2^14 n=2^20 cluster=4 strategy=remote"},
    {"collective", "collective_allreduce", "sm_90", ""},
    {"collective", "collective_scan_arrays", "sm_90", "op=scan count=1000 cluster=3 dtype=f16"},
    {"collective", "collective_reduce_global", "sm_80", "op=reduce count=100 cluster=0 size=3 dtype=f16 rounds=2"},
    {"collective", "collective_shift_pull", "sm_90", "op=shift count=64 cluster=2 cluster-y=2 strategy=pull around=no"},
    {"stencil", "stencil_resident_registers", "sm_90", "nx=64 ny=64 steps=8 cluster=4"},
    {"stencil", "stencil_resident_shared", "sm_90", "dim=3 nx=20 ny=16 nz=24 boundary=periodic cluster=4 dtype=f64"},
    {"stencil", "stencil_three_point", "sm_90", "dim=1 nx=10000 weights=0.25,0.5,0.25 steps=1 strategy=blocked tile=256 cluster=4"},
    {"stencil", "stencil_blocked_registers", "sm_80", "nx=1024 ny=1024 steps=7 boundary=clamp depth=2"},
    {"stencil", "stencil_step_shared", "sm_90", "nx=99 ny=77 steps=3 shape=box strategy=step cluster=0"},
    {"exchange", "exchange_pair", "sm_90", ""},
    {"exchange", "exchange_all_to_all", "sm_90", "pattern=all-to-all cluster=8 n=4096 dtype=u16 repeat=3"},
    {"exchange", "exchange_all_to_all_bulk", "sm_90", "pattern=all-to-all cluster=8 n=32768 clusters=40 repeat=8"},
    {"exchange", "exchange_all_to_all_pull", "sm_90", "pattern=all-to-all cluster=4 n=4096 strategy=pull repeat=10"},
    {"exchange", "exchange_halo_sm_80", "sm_80", "pattern=halo halo=3 n=1000 cluster=4 dtype=u16 align=2"},
    {"softmax", "softmax_block", "sm_80", "columns=4096"},
    {"softmax", "softmax_stream", "sm_90", "rows=4096 columns=131072 dtype=bf16"},
    {"softmax", "softmax_spread", "sm_90", "rows=40 columns=2^18 blocks=16"},
    {"layernorm", "layernorm_warp_residual", "sm_90", "columns=100 residual=yes stats=yes bias=yes"},
    {"crossentropy", "crossentropy_pieces", "sm_90", "rows=2048 columns=2^20 label=i32 smoothing=0.1"},
    {"rmsnorm", "rmsnorm_backward_cluster", "sm_90", "rows=4 columns=2^17 dtype=f16 pass=backward form=direct"},
    {"softmax", "softmax_mask_rows", "sm_90", "rows=64 columns=200 mask=yes mask-rows=16 dtype=f16"},
    {"layernorm", "layernorm_gradients_stream", "sm_90", "rows=4096 columns=16384 dtype=bf16 pass=backward weight-gradient=yes bias-gradient=yes"},
    {"rmsnorm", "rmsnorm_gradients_warp", "sm_90", "rows=2^20 columns=128 pass=backward weight-gradient=yes"},
    {"layernorm", "layernorm_gradients_twice", "sm_80", "rows=64 columns=20001 weight=no pass=backward weight-gradient=yes"},
    {"gemm", "gemm_bf16", "sm_90a", "m=8192 n=8192 k=8192 b=column"},
    {"gemm", "gemm_f16_small_with_c", "sm_90a", "m=100 n=72 k=200 dtype=f16 c=yes d=column tile=64x64 cluster=2 cluster-n=2"},
    {"gemm", "gemm_split", "sm_90a", "m=100 n=150 k=8192 tile=64x64 cluster=2 cluster-n=1 split=3 parts=2"},
    {"gemm", "gemm_e4m3_bias_gelu", "sm_90a", "dtype=e4m3 b=column out=e4m3 c=yes bias=n activation=gelu tile=64x128"},
    {"gemm", "gemm_tf32_batch_silu", "sm_90a", "m=500 n=600 k=100 dtype=tf32 b=column bias=m activation=silu batch=4 shared=b tile=64x256"},
    {"scan", "scan_short_rows", "sm_90", "rows=1000 columns=100"},
    {"scan", "scan_long_array", "sm_90", "columns=2^28"},
    {"scan", "scan_cluster_f16_reverse", "sm_90", "rows=8 columns=2^16 dtype=f16 reverse=yes exclusive=yes cluster=4"},
    {"scan", "scan_sm_80", "sm_80", "rows=4 columns=100001 dtype=f64 op=max cluster=4"},
    {"scan", "scan_flags", "sm_90", "columns=2^28 dtype=bf16 heads=flags"},
    {"scan", "scan_offsets_reverse", "sm_90", "columns=2^28 heads=i32 segments=2^20 reverse=yes"},
    {"topk", "topk_f32", "sm_90", "rows=4096 columns=65536"},
    {"topk", "topk_bf16_cluster", "sm_90", "rows=32 columns=131072 k=50 dtype=bf16 order=smallest index=u32"},
    {"topk", "topk_kth_sm_80", "sm_80", "rows=9 columns=999 k=100 result=kth dtype=i32"},
    {"topk", "topk_unsorted", "sm_90", "rows=32 columns=131072 k=50 result=any"},
};

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    if (!file || fputs(text, file) < 0 || fclose(file)) fail_msg("cannot write %s", path);
}

static void emitted_text_is_as_recorded(void **state) {
    (void)state;
    const char *update = getenv("CJ_UPDATE_GOLDEN");
    for (size_t i = 0; i < CJ_TEST_COUNT(golden); i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/golden/%s.ptx", CJ_TEST_DIR, golden[i].file);
        char *text = cj_test_emit(golden[i].family, golden[i].params, golden[i].arch);
        if (update && !strcmp(update, "1")) write_file(path, text);
        char *recorded = cj_test_read(path);
        if (!recorded) fail_msg("cannot read %s: CJ_UPDATE_GOLDEN=1 writes it", path);
        if (strcmp(text, recorded)) print_error("%s differs; CJ_UPDATE_GOLDEN=1 records what is emitted now\n", path);
        assert_string_equal(text, recorded);
        free(recorded);
        cj_text_free(text);
    }
}

// Arithmetic that gives one of its operands, or a number that is known: an instruction's beginning, and which operand
// makes it so. A float's + 0 is none: it makes 0 of -0. Nor is mad.wide by 1, which widens and adds.
static const struct {
    const char *begins;
    unsigned    operand;
    uint64_t    is;
} idle[] = {
    {"add.u", 2, 0},      {"add.s", 2, 0},      {"sub.u", 2, 0},      {"sub.s", 2, 0},      {"or.b", 2, 0},
    {"xor.b", 2, 0},      {"shl.b", 2, 0},      {"shr.", 2, 0},       {"and.b", 2, 0},      {"and.b32", 2, UINT32_MAX},
    {"and.b64", 2, UINT64_MAX},                 {"and.b32", 2, UINT64_MAX},                 {"mul.", 2, 0},
    {"mul.", 2, 1},       {"div.u", 2, 1},      {"div.s", 2, 1},      {"rem.", 2, 1},       {"min.u", 2, 0},
    {"max.u", 2, 0},      {"mad.", 2, 0},       {"mad.lo.", 2, 1},    {"mad.", 3, 0},       {"mul.f32", 2, 0x3f800000},
    {"mul.rn.f32", 2, 0x3f800000},              {"fma.rn.f32", 2, 0x3f800000},              {"div.rn.f32", 2, 0x3f800000},
};

static bool is_idle(const cj_ir_inst *inst) {
    const cj_ir_operand *operand = inst->operand;
    const char          *text = inst->mnemonic->text;
    if (!strncmp(text, "mov.", 4) && operand[0].kind == CJ_OPERAND_REG && operand[1].kind == CJ_OPERAND_REG)
        return operand[0].reg == operand[1].reg;
    for (size_t i = 0; i < CJ_TEST_COUNT(idle); i++) {
        if (strncmp(text, idle[i].begins, strlen(idle[i].begins)) != 0 || idle[i].operand >= inst->operand_count) continue;
        const cj_ir_operand *number = &operand[idle[i].operand];
        const bool           is_number = number->kind == CJ_OPERAND_INT || number->kind == CJ_OPERAND_FLOAT;
        if (is_number && number->bits == idle[i].is) return true;
    }
    return false;
}

static unsigned idle_lines(const char *file, const cj_ir_func *func) {
    unsigned found = 0;
    for (size_t i = 0; i < func->stmt_count; i++) {
        if (func->stmt[i].kind != CJ_STMT_INST || !is_idle(func->stmt[i].inst)) continue;
        print_error("%s.ptx:%u: '%s' does nothing\n", file, func->stmt[i].line, func->stmt[i].inst->mnemonic->text);
        found++;
    }
    return found;
}

static void no_emitted_line_does_nothing(void **state) {
    (void)state;
    unsigned found = 0;
    for (size_t i = 0; i < CJ_TEST_COUNT(golden); i++) {
        char         *text = cj_test_emit(golden[i].family, golden[i].params, golden[i].arch);
        cj_ir_module *module = NULL;
        cj_error      error = {0};
        cj_test_ok(cj__ir_parse(text, strlen(text), &module, &error), &error);
        for (size_t k = 0; k < module->item_count; k++) {
            if (module->item[k].kind == CJ_ITEM_FUNC) found += idle_lines(golden[i].file, module->item[k].func);
        }
        cj__ir_free(module);
        cj_text_free(text);
    }
    assert_int_equal(found, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(emitted_text_is_as_recorded),
        cmocka_unit_test(no_emitted_line_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
