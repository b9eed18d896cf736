// SPDX-License-Identifier: Apache-2.0
// ptxgen/parse: what initialisers and constant expressions give, and what branches and calls through tables mean.
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "parse.h"
#include "scaffold.h"

#define HEAD ".version 9.0\n.target sm_90\n.global .u32 x[8], y;\n.func f() { ret; }\n"

static const cj_ir_var *global(const cj_ir_module *module, const char *name) {
    const cj_ir_item *item = cj__map_get(&module->names, name, strlen(name));
    assert_non_null(item);
    return item->var;
}

// Declarations of z and its bytes; those after them are zero.
static const struct {
    const char   *declaration;
    uint64_t      bytes, data_bytes;
    unsigned char data[32];
} initials[] = {
    {".global .u32 z;", 4, 0, {0}},
    {".global .u32 z = 0x01020304;", 4, 4, {4, 3, 2, 1}},
    {".global .s16 z[3] = {-1, 2};", 6, 4, {0xff, 0xff, 2, 0}},
    {".global .u8 z[] = {1, 0x102, 3};", 3, 3, {1, 2, 3}},
    {".global .s8 z[][2] = {{-1}, {}, {2, 3}};", 6, 6, {0xff, 0, 0, 0, 2, 3}},
    {".global .u8 z[2][2][2] = {{{1}, {2}}, {{3, 4}}};", 8, 6, {1, 0, 2, 0, 3, 4}},
    {".global .u8 z[4] = {};", 4, 0, {0}},
    {".const .f32 z = 1.5;", 4, 4, {0, 0, 0xc0, 0x3f}},
    {".const .f32 z[2] = {0f3F800000, 0d3FF0000000000000};", 8, 8, {0, 0, 0x80, 0x3f, 0, 0, 0x80, 0x3f}},
    {".const .f64 z = 0f3F800000;", 8, 8, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f}},
    {".const .f64 z = -(0.5 + 0.5) * 1e0;", 8, 8, {0, 0, 0, 0, 0, 0, 0xf0, 0xbf}},
    {".const .b32 z = 1.0;", 4, 4, {0, 0, 0x80, 0x3f}},
    {".global .v2 .u16 z = {1, 2};", 4, 4, {1, 0, 2}},
    {".global .v2 .u8 z[2] = {{1, 2}, {3}};", 4, 3, {1, 2, 3}},
    {".global .b128 z = 1;", 16, 16, {1}},
    {".global .u64 z = 1 << 40 | 5;", 8, 8, {5, 0, 0, 0, 0, 1}},
    {".global .u8 z[4] = {7 / 2, 7 % 4, -7 / 2, 1 ? 4 : 5};", 4, 4, {3, 3, 0xfd, 4}},
    {".global .u8 z[4] = {1 + 2 * 3, (1 + 2) * 3, 1 == 1 && 2 > 3 || 4 >= 4, ~1 ^ 1};", 4, 4, {7, 9, 1, 0xff}},
    {".global .s64 z = -8 >> 1;", 8, 8, {0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
    {".global .u64 z = (.u64)-8 >> 60;", 8, 8, {15}},
    {".global .u8 z[2] = {-1 < 1, -1 < 1U};", 2, 2, {1, 0}},
    {".global .u8 z = WARP_SZ - 1;", 1, 1, {31}},
};

static void initialisers_give_bytes(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(initials); i++) {
        char text[400];
        snprintf(text, sizeof text, HEAD "%s", initials[i].declaration);
        cj_ir_module    *module = cj_test_parsed(text);
        const cj_ir_var *z = global(module, "z");
        if (z->bytes != initials[i].bytes || z->data_bytes != initials[i].data_bytes || z->reloc_count ||
            (z->data_bytes && memcmp(z->data, initials[i].data, z->data_bytes)))
            fail_msg("%s: %llu bytes, of them %llu written", initials[i].declaration, (unsigned long long)z->bytes,
                     (unsigned long long)z->data_bytes);
        cj__ir_free(module);
    }
}

static void addresses_are_left_to_the_layout(void **state) {
    (void)state;
    cj_ir_module *module = cj_test_parsed(HEAD ".global .u64 z[4] = {x, 5, generic(y) + 8, f};\n"
                                       ".global .u8 m[3] = {0xff(x), 9, 0xff0000(generic(x))};\n"
                                       ".global .u32 s = x + 4 * 2;\n");
    const cj_ir_var *z = global(module, "z"), *m = global(module, "m"), *s = global(module, "s");
    assert_int_equal(z->reloc_count, 3);
    assert_int_equal(z->data_bytes, 32);
    assert_int_equal(z->data[8], 5);
    assert_ptr_equal(z->reloc[0].var, global(module, "x"));
    assert_false(z->reloc[0].generic);
    assert_int_equal(z->reloc[0].bytes, 8);
    assert_ptr_equal(z->reloc[1].var, global(module, "y"));
    assert_true(z->reloc[1].generic);
    assert_int_equal(z->reloc[1].offset, 16);
    assert_int_equal(z->reloc[1].addend, 8);
    assert_ptr_equal(z->reloc[2].func, cj__ir_func(module, "f"));
    assert_int_equal(m->reloc_count, 2);
    assert_int_equal(m->data[1], 9);
    assert_int_equal(m->reloc[1].offset, 2);
    assert_int_equal(m->reloc[1].bytes, 1);
    assert_int_equal(m->reloc[1].shift, 16);
    assert_int_equal(s->reloc[0].bytes, 4);
    assert_int_equal(s->reloc[0].addend, 8);
    cj__ir_free(module);
}

static void an_extern_gives_way_to_its_definition(void **state) {
    (void)state;
    cj_ir_module *module = cj_test_parsed(HEAD ".extern .global .u32 z;\n.visible .global .u32 z = 1;\n"
                                       ".extern .global .u32 z;\n");
    assert_int_equal(global(module, "z")->linkage, CJ_LINK_VISIBLE);
    cj__ir_free(module);
}

static const cj_ir_inst *inst_at(const cj_ir_func *func, const char *mnemonic) {
    for (size_t i = 0; i < func->stmt_count; i++)
        if (func->stmt[i].kind == CJ_STMT_INST && !strcmp(func->stmt[i].inst->mnemonic->text, mnemonic))
            return func->stmt[i].inst;
    fail_msg("there is no '%s'", mnemonic);
    return NULL;
}

static void tables_name_labels_and_functions(void **state) {
    (void)state;
    cj_ir_module *module = cj_test_parsed(HEAD ".func (.param .b32 r) g(.param .b64 a) { ret; }\n"
                                       ".visible .func h();\n.alias h, f;\n.entry k() {\n"
                                       ".reg .b32 %i; .reg .b64 %g; .param .b32 q; .param .b64 b;\n"
                                       "t: .branchtargets a, b, a;\n brx.idx %i, t;\na: b:\n"
                                       "p: .callprototype (.param .b32 _) _ (.param .b64 _) ;\n call (q), %g, (b), p;\n"
                                       "c: .calltargets f, h;\n call.uni %g, c;\n ret;\n}\n");
    const cj_ir_func    *k = cj__ir_func(module, "k");
    const cj_ir_targets *branches = inst_at(k, "brx.idx")->operand[1].label->targets;
    assert_int_equal(branches->count, 3);
    assert_false(branches->calls);
    assert_ptr_equal(branches->list[0].label, branches->list[2].label);
    assert_string_equal(branches->list[1].label->name, "b");
    assert_true(branches->list[1].label->defined);
    const cj_ir_func *prototype = inst_at(k, "call")->operand[3].label->prototype;
    assert_int_equal(prototype->result_count, 1);
    assert_int_equal(prototype->param[0]->bytes, 8);
    const cj_ir_targets *calls = inst_at(k, "call.uni")->operand[1].label->targets;
    assert_true(calls->calls);
    assert_ptr_equal(calls->list[1].func, cj__ir_func(module, "h"));
    assert_ptr_equal(calls->list[1].func->alias, cj__ir_func(module, "f"));
    cj__ir_free(module);
}

static void register_parameters_are_registers(void **state) {
    (void)state;
    cj_ir_module *module = cj_test_parsed(HEAD ".func (.reg .u32 r) g(.reg .u32 a, .param .b32 b) { add.u32 r, a, 1; ret; }\n"
                                       ".entry k() { .reg .u32 %r; call (%r), g, (%r, 5); ret; }\n");
    const cj_ir_func *g = cj__ir_func(module, "g");
    const cj_ir_inst *add = inst_at(g, "add.u32");
    assert_int_equal(g->param[0]->space, CJ_SPACE_REG);
    assert_ptr_equal(add->operand[1].reg, g->param[0]->reg);
    assert_ptr_equal(add->operand[0].reg, g->result[0]->reg);
    const cj_ir_inst *call = inst_at(cj__ir_func(module, "k"), "call");
    assert_ptr_equal(call->operand[1].func, g);
    assert_int_equal(call->operand[2].count, 2);
    cj__ir_free(module);
}

static void operands_may_be_expressions(void **state) {
    (void)state;
    static const struct {
        const char *line;
        uint64_t    bits;
    } cases[] = {
        {"mov.u32 %r0, (1+2)*4;", 12},
        {"mov.u32 %r0, WARP_SZ;", 32},
        {"mov.u32 %r0, 2 * WARP_SZ;", 64},
        {"mov.u32 %r0, !0;", 1},
        {"mov.s32 %r0, -(4);", UINT64_MAX - 3},
        {"mov.u32 %r0, - 4 + 5;", 1},
        {"mov.u32 %r0, 1 ? 0x10U : 3;", 16},
        {"mov.u32 %r0, (.s64) 7;", 7},
        {"mov.u32 %r0, 5 /* five */ ;", 5},
        {"mov.f32 %f0, -(0f3F800000);", 0xbf800000},
        {"mov.f64 %d0, 0.5 + 0.5;", UINT64_C(0x3ff) << 52},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_ir_module *module = cj_test_module(80, "sm_90", cases[i].line);
        uint64_t      bits = cj_test_first_inst(module)->operand[1].bits;
        if (bits != cases[i].bits) fail_msg("%s: %llx", cases[i].line, (unsigned long long)bits);
        cj__ir_free(module);
    }
    cj_ir_module *module = cj_test_module(80, "sm_90", "ld.global.u32 %r0, [%l0 + 4*(1+2) + -2];");
    assert_int_equal(cj_test_first_inst(module)->operand[1].offset, 10);
    cj__ir_free(module);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(initialisers_give_bytes),
        cmocka_unit_test(addresses_are_left_to_the_layout),
        cmocka_unit_test(an_extern_gives_way_to_its_definition),
        cmocka_unit_test(tables_name_labels_and_functions),
        cmocka_unit_test(register_parameters_are_registers),
        cmocka_unit_test(operands_may_be_expressions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
