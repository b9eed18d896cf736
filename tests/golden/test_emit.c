// SPDX-License-Identifier: Apache-2.0
// What ptxgen emit writes, byte for byte: a short text for each form, for people to read. Other kernels are held by the digests
// of their instructions (test_digest.c). CJ_UPDATE_GOLDEN=1 writes the files anew: read the difference before committing it.
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "parse.h"
#include "recorded.h"
#include "unread.h"

static const struct {
    const char *family, *file, *arch, *params;
} golden[] = {
    {"reduce", "default", "sm_90", ""},
    {"reduce", "cluster_1", "sm_90", "cluster=1"},
    {"reduce", "sm_80", "sm_80", ""},
    {"reduce", "block_results_weighted", "sm_90", "result=block weight=block"},
    {"histogram", "histogram_block", "sm_90", "n=1000 bins=256"},
    {"histogram", "histogram_cluster", "sm_90", "n=3000 cluster=8 grid=8"},
    {"histogram", "histogram_set", "sm_90", "n=249 bins=2^18 dtype=u32 result=set"},
    {"histogram", "histogram_global", "sm_90", "n=1000 bins=2^16 memory=global"},
    {"collective", "collective_allreduce", "sm_90", ""},
    {"collective", "collective_scan", "sm_90", "op=scan cluster=2 count=6 rounds=3 block=64"},
    {"collective", "collective_reduce_global", "sm_80", "op=reduce count=100 cluster=0 size=3 dtype=f16 rounds=2"},
    {"collective", "collective_shift_pull", "sm_90", "op=shift count=64 cluster=2 cluster-y=2 strategy=pull around=no"},
    {"stencil", "stencil_resident", "sm_90",
     "dim=1 nx=100 steps=3 strategy=resident cluster=0 block=64 boundary=periodic"},
    {"stencil", "stencil_three_point", "sm_90",
     "dim=1 nx=10000 weights=0.25,0.5,0.25 steps=1 strategy=blocked tile=256 cluster=4"},
    {"stencil", "stencil_step_shared", "sm_90", "nx=99 ny=77 steps=3 shape=box strategy=step cluster=0"},
    {"allreduce", "allreduce_one_shot", "sm_90", "gpus=2 shots=1"},
    {"allreduce", "allreduce_two_shots", "sm_90", "gpus=2 shots=2 count=100 align=4"},
    {"allreduce", "allreduce_multicast", "sm_90", "gpus=2 dtype=bf16 memory=multicast"},
    {"allgather", "allgather_registered", "sm_90", "gpus=2 memory=registered"},
    {"broadcast", "broadcast_halves", "sm_90", "gpus=2 count=7 dtype=bf16 align=2"},
    {"barrier", "barrier", "sm_90", "gpus=2"},
    {"allreducenorm", "allreducenorm", "sm_90", "gpus=2 rows=1 columns=32 shots=1 cluster=0 dtype=f32 align=4"},
    {"exchange", "exchange_pair", "sm_90", ""},
    {"exchange", "exchange_all_to_all", "sm_90", "pattern=all-to-all cluster=8 n=4096 dtype=u16 repeat=3"},
    {"exchange", "exchange_all_to_all_bulk", "sm_90", "pattern=all-to-all cluster=8 n=32768 clusters=40 repeat=8"},
    {"exchange", "exchange_all_to_all_pull", "sm_90", "pattern=all-to-all cluster=4 n=4096 strategy=pull repeat=10"},
    {"exchange", "exchange_halo_sm_80", "sm_80", "pattern=halo halo=3 n=1000 cluster=4 dtype=u16 align=2"},
    {"softmax", "softmax_warp", "sm_90", "columns=100 out=f16 resident=no mask=no"},
    {"softmax", "softmax_block", "sm_80", "columns=4096"},
    {"softmax", "softmax_cluster", "sm_90", "rows=2 columns=64 form=direct cluster=2 warps=2"},
    {"softmax", "softmax_stream", "sm_90", "rows=5 columns=32 form=stream cluster=1 warps=2 grid=2 stages=1"},
    {"logsoftmax", "logsoftmax_mask", "sm_90", "rows=4096 columns=64 dtype=f16 out=f16 align=2 lanes=32 resident=no mask=yes split=0"},
    {"layernorm", "layernorm_warp_residual", "sm_90", "columns=100 residual=yes stats=yes bias=yes"},
    {"crossentropy", "crossentropy_warp", "sm_90", "rows=300 columns=64 warps=1 label=i32"},
    {"argmax", "argmax_block", "sm_80", "columns=1000 block=64"},
    {"argmax", "argmax_lanes", "sm_90", "rows=300 columns=76"},
    {"argmax", "argmax_bf16", "sm_90", "rows=300 columns=5 dtype=bf16 align=2"},
    {"scan", "scan_short_rows", "sm_90", "rows=1000 columns=100"},
    {"scan", "scan_cluster", "sm_90", "columns=1000 block=64 loads=1 cluster=4"},
    {"topk", "topk_warp", "sm_90", "rows=9 columns=7 k=3"},
    {"sort", "sort_payload", "sm_90", "rows=9 columns=7 payload=b32 match=any digit=5"},
    {"scan", "scan_flags", "sm_90", "columns=1000 block=64 loads=1 cluster=4 heads=flags"},
};

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    if (!file || fputs(text, file) < 0 || fclose(file)) fail_msg("cannot write %s", path);
}

// A text that is longer is not read: the request belongs into digests.txt alone, as all of gemm's and topk's do.
enum { LINES_MOST = 300 };

static void assert_short(const char *file, const char *text) {
    unsigned lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++) lines++;
    if (lines > LINES_MOST) fail_msg("%s.ptx has %u lines; more than %u are a digest's", file, lines, LINES_MOST);
}

// Whether digests.txt has the request too: its instructions are then held even where the text is given up.
typedef struct wanted {
    char request[400];
    bool found;
} wanted;

static void look_for(const char *request, uint64_t digest, void *user) {
    wanted *w = user;
    (void)digest;
    w->found |= !strcmp(request, w->request);
}

static void every_text_has_a_digest(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(golden); i++) {
        wanted w = {.found = false};
        snprintf(w.request, sizeof w.request, "%s %s%s%s", golden[i].arch, golden[i].family,
                 *golden[i].params ? " " : "", golden[i].params);
        cj_test_each_recorded(1, look_for, &w);
        if (!w.found) fail_msg("digests.txt lacks the line '%s'", w.request);
    }
}

static void emitted_text_is_as_recorded(void **state) {
    (void)state;
    const char *update = getenv("CJ_UPDATE_GOLDEN");
    for (size_t i = 0; i < CJ_TEST_COUNT(golden); i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/golden/%s.ptx", CJ_TEST_DIR, golden[i].file);
        char *text = cj_test_emit(golden[i].family, golden[i].params, golden[i].arch);
        assert_short(golden[i].file, text);
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

// Of kernels that are known and not mended: how many lines of theirs are found.
typedef struct known {
    const char *request;
    unsigned    lines;
} known;

// A mask that all bits pass, in sizes where a general step has nothing to leave out.
static const known known_idle[] = {
    {"sm_80 topk rows=9 columns=999 k=100 result=kth dtype=i32", 2},
    {"sm_90 topk rows=1 columns=2900 k=100 block=64 cluster=2", 2},
    {"sm_90 scan columns=4700 form=stream counter=tile block=32 loads=1 stages=2 grid=8", 2},
};

// What several templates ask of one function, of which these use a part: a tile's row and column, where there is one row or
// column of tiles; a peer's side; both halves of a word that has one element; ties beside the mass of a record; the second of a
// message's last two words.
static const known known_unread[] = {
    {"sm_90 collective op=broadcast strategy=pull dtype=i32 count=1", 1},
    {"sm_90 sample rows=1 columns=50257 dtype=bf16 top-k=50 log-probability=yes top=20 cluster=2", 25},
    {"sm_90 sample rows=8 columns=32000 top-p=0.9 distribution=yes draft=yes top=5", 2},
    {"sm_90 shardedcrossentropy gpus=2 columns=32 dtype=f32 align=4", 2},
    {"sm_90 shardedcrossentropy gpus=8 columns=65536 dtype=f16 gradient=yes label=i32", 2},
};

// In rows of one element most of a kernel does nothing.
static bool has_one_column(const char *request) {
    const char *at = strstr(request, " columns=1");
    return at && (at[10] == ' ' || !at[10]);
}

static unsigned idle_lines(const cj_ir_func *func, bool *found) {
    unsigned count = 0;
    for (size_t i = 0; i < func->stmt_count; i++)
        if (func->stmt[i].kind == CJ_STMT_INST && is_idle(func->stmt[i].inst)) found[i] = true, count++;
    return count;
}

// Lines that no kernel shall have. `find` marks a function's statements, and says how many.
typedef struct rule {
    unsigned (*find)(const cj_ir_func *func, bool *found);
    const char  *what;
    const known *known;
    size_t       known_count;
    bool         one_column;  // also in rows of one element
    unsigned     wrong;       // kernels
} rule;

static unsigned known_lines(const rule *r, const char *request) {
    for (size_t i = 0; i < r->known_count; i++)
        if (!strcmp(r->known[i].request, request)) return r->known[i].lines;
    return 0;
}

static unsigned lines_of_func(const rule *r, const char *request, const cj_ir_func *func) {
    bool          *found = calloc(func->stmt_count + 1, sizeof *found);
    const unsigned count = r->find(func, found);
    for (size_t i = 0; i < func->stmt_count && !known_lines(r, request); i++)
        if (found[i])
            print_error("%s: line %u: '%s' %s\n", request, func->stmt[i].line, func->stmt[i].inst->mnemonic->text, r->what);
    free(found);
    return count;
}

static void hold_lines(const char *request, uint64_t digest, void *user) {
    rule *r = user;
    (void)digest;
    if (!r->one_column && has_one_column(request)) return;
    unsigned      found = 0;
    char         *text = cj_test_emit_request(request);
    cj_ir_module *module = NULL;
    cj_error      error = {0};
    cj_test_ok(cj__ir_parse(text, strlen(text), &module, &error), &error);
    for (size_t k = 0; k < module->item_count; k++)
        if (module->item[k].kind == CJ_ITEM_FUNC) found += lines_of_func(r, request, module->item[k].func);
    cj__ir_free(module);
    cj_text_free(text);
    if (found == known_lines(r, request)) return;
    print_error("%s: %u lines, of which each %s; %u are known\n", request, found, r->what, known_lines(r, request));
    r->wrong++;
}

static void no_emitted_line_does_nothing(void **state) {
    (void)state;
    rule r = {idle_lines, "does nothing", known_idle, CJ_TEST_COUNT(known_idle), false, 0};
    cj_test_each_recorded(1, hold_lines, &r);
    assert_int_equal(r.wrong, 0);
}

// An instruction that only computes, and whose results no other instruction reads.
static void no_emitted_result_is_unread(void **state) {
    (void)state;
    rule r = {cj_test_unread, "has a result that nobody reads", known_unread, CJ_TEST_COUNT(known_unread), true, 0};
    cj_test_each_recorded(1, hold_lines, &r);
    assert_int_equal(r.wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_text_has_a_digest),
        cmocka_unit_test(emitted_text_is_as_recorded),
        cmocka_unit_test(no_emitted_line_does_nothing),
        cmocka_unit_test(no_emitted_result_is_unread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
