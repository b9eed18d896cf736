// SPDX-License-Identifier: Apache-2.0
// ptxgen/parse: what a file means, and where and why a broken one is refused.
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "parse.h"
#include "scaffold.h"

// ---- what a file means

static const cj_ir_var *global(const cj_ir_module *module, const char *name) {
    const cj_ir_item *item = cj__map_get(&module->names, name, strlen(name));
    assert_non_null(item);
    assert_int_equal(item->kind, CJ_ITEM_VAR);
    return item->var;
}

static void variables_have_sizes(void **state) {
    (void)state;
    cj_ir_module *module = cj_test_parsed(".version 8.0\n.target sm_90\n"
                                  ".global .u32 one = 7;\n"
                                  ".const .align 16 .f64 grid[2][3] = {{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}};\n"
                                  ".global .u8 bytes[] = {1, 2, 0x3};\n"
                                  ".extern .shared .align 128 .b8 dynamic[];\n"
                                  ".visible .global .v4 .f32 quad[2], other;\n");
    const cj_ir_var *one = global(module, "one"), *grid = global(module, "grid"), *bytes = global(module, "bytes");
    const cj_ir_var *dynamic = global(module, "dynamic"), *quad = global(module, "quad");
    const cj_ir_var *other = global(module, "other");
    assert_int_equal(one->bytes, 4);
    assert_int_equal(one->align, 4);
    assert_string_equal(one->initial, "7");
    assert_int_equal(grid->space, CJ_SPACE_CONST);
    assert_int_equal(grid->count, 6);
    assert_int_equal(grid->bytes, 48);
    assert_int_equal(grid->align, 16);
    assert_string_equal(grid->shape, "[2][3]");
    assert_int_equal(bytes->count, 3);
    assert_false(bytes->unsized);
    assert_int_equal(dynamic->linkage, CJ_LINK_EXTERN);
    assert_true(dynamic->unsized);
    assert_int_equal(dynamic->bytes, 0);
    assert_int_equal(dynamic->align, 128);
    assert_int_equal(quad->bytes, 32);
    assert_int_equal(quad->align, 16);
    assert_int_equal(quad->linkage, CJ_LINK_VISIBLE);
    assert_int_equal(other->bytes, 16);
    cj__ir_free(module);
}

static void heads_and_directives_are_read(void **state) {
    (void)state;
    cj_ir_module *module = cj_test_parsed(".version 8.8\n.target sm_100f, texmode_independent\n.address_size 64\n"
                                  ".visible .entry k(.param .u64 .ptr .global .align 16 x, .param .align 8 .b8 y[24])\n"
                                  ".reqntid 32, 2\n.minnctapersm 3 .maxnreg 64\n.explicitcluster\n"
                                  ".reqnctapercluster 2, 1, 4\n{ ret; }\n"
                                  ".weak .entry second() .maxntid 128 .maxclusterrank 8 { ret; }\n"
                                  ".func (.param .f32 r) f(.param .f32 a) .noreturn;\n");
    assert_int_equal(module->version, 88);
    assert_string_equal(module->target, "sm_100f");
    assert_int_equal(module->target_sm, 100);
    assert_int_equal(module->target_suffix, 'f');
    assert_string_equal(module->target_options, ", texmode_independent");

    const cj_ir_func *k = cj__ir_func(module, "k"), *second = cj__ir_func(module, "second");
    const cj_ir_func *f = cj__ir_func(module, "f");
    assert_non_null(k);
    assert_true(k->is_entry);
    assert_int_equal(k->linkage, CJ_LINK_VISIBLE);
    assert_int_equal(k->param_count, 2);
    assert_string_equal(k->param[0]->attributes, ".ptr .global .align 16");
    assert_int_equal(k->param[1]->bytes, 24);
    assert_int_equal(k->param[1]->align, 8);
    const cj_ir_directive *reqntid = &k->directive[CJ_DIR_REQNTID];
    assert_int_equal(reqntid->count, 2);
    assert_int_equal(reqntid->value[1], 2);
    assert_int_equal(reqntid->value[2], 1);
    assert_int_equal(reqntid->line, 5);
    assert_int_equal(k->directive[CJ_DIR_MINNCTAPERSM].value[0], 3);
    assert_int_equal(k->directive[CJ_DIR_MAXNREG].column, 17);
    assert_true(k->directive[CJ_DIR_EXPLICITCLUSTER].given);
    assert_int_equal(k->directive[CJ_DIR_REQNCTAPERCLUSTER].value[2], 4);
    assert_false(k->directive[CJ_DIR_MAXNTID].given);

    assert_non_null(second);
    assert_int_equal(second->linkage, CJ_LINK_WEAK);
    assert_int_equal(second->param_count, 0);
    assert_int_equal(second->directive[CJ_DIR_MAXCLUSTERRANK].value[0], 8);
    assert_non_null(f);
    assert_false(f->is_entry || f->has_body);
    assert_int_equal(f->result_count, 1);
    assert_true(f->directive[CJ_DIR_NORETURN].given);
    assert_null(cj__ir_func(module, "kk"));
    cj__ir_free(module);
}

static const cj_ir_operand *operand(const cj_ir_module *module, unsigned index) {
    return &cj_test_first_inst(module)->operand[index];
}

static void numbers_have_bits(void **state) {
    (void)state;
    static const struct {
        const char *line;
        int         kind;
        uint64_t    bits;
    } cases[] = {
        {"mov.u32 %r0, 0;", CJ_OPERAND_INT, 0},
        {"mov.u32 %r0, 4096;", CJ_OPERAND_INT, 4096},
        {"mov.u32 %r0, 0xFfU;", CJ_OPERAND_INT, 255},
        {"mov.u32 %r0, 017;", CJ_OPERAND_INT, 15},
        {"mov.u32 %r0, 0b101;", CJ_OPERAND_INT, 5},
        {"mov.u32 %r0, -1;", CJ_OPERAND_INT, UINT64_MAX},
        {"mov.u32 %r0, +3;", CJ_OPERAND_INT, 3},
        {"mov.u64 %l0, 18446744073709551615;", CJ_OPERAND_INT, UINT64_MAX},
        {"mov.s64 %l0, -0x8000000000000000;", CJ_OPERAND_INT, UINT64_C(1) << 63},
        {"mov.f32 %f0, 0f3F800000;", CJ_OPERAND_FLOAT, 0x3F800000},
        {"mov.f32 %f0, 0F3f800000;", CJ_OPERAND_FLOAT, 0x3F800000},
        {"mov.f32 %f0, -(0f3F800000);", CJ_OPERAND_FLOAT, 0xBF800000},
        {"mov.f64 %d0, 0d3FF0000000000000;", CJ_OPERAND_FLOAT, 0x3FF0000000000000},
        {"mov.f64 %d0, 1.0;", CJ_OPERAND_FLOAT, 0x3FF0000000000000},
        {"mov.f64 %d0, -1.0;", CJ_OPERAND_FLOAT, 0xBFF0000000000000},
        {"mov.f64 %d0, .5;", CJ_OPERAND_FLOAT, 0x3FE0000000000000},
        {"mov.f64 %d0, 5e-1;", CJ_OPERAND_FLOAT, 0x3FE0000000000000},
        {"mov.f64 %d0, 0.0625E+3;", CJ_OPERAND_FLOAT, 0x404F400000000000},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_ir_module        *module = cj_test_module(80, "sm_90", cases[i].line);
        const cj_ir_operand *number = operand(module, 1);
        if (number->kind != cases[i].kind || number->bits != cases[i].bits)
            fail_msg("%s: kind %u, bits %llx", cases[i].line, number->kind, (unsigned long long)number->bits);
        cj__ir_free(module);
    }
}

static void operands_are_what_they_are(void **state) {
    (void)state;
    cj_ir_module        *module = cj_test_module(80, "sm_90", "ld.global.v2.u32 {%r0, _}, [%l1 + -16];");
    const cj_ir_operand *vector = operand(module, 0), *memory = operand(module, 1);
    assert_int_equal(vector->kind, CJ_OPERAND_VECTOR);
    assert_int_equal(vector->count, 2);
    assert_string_equal(vector->list[0].reg->name, "%r0");
    assert_int_equal(vector->list[1].kind, CJ_OPERAND_SINK);
    assert_int_equal(memory->kind, CJ_OPERAND_MEMORY);
    assert_string_equal(memory->base->reg->name, "%l1");
    assert_int_equal(memory->offset, -16);
    assert_int_equal(memory->column, 32);
    cj__ir_free(module);

    module = cj_test_module(80, "sm_90", "mov.u32 %r0, tile + 8;");
    assert_int_equal(operand(module, 1)->kind, CJ_OPERAND_VAR);
    assert_string_equal(operand(module, 1)->var->name, "tile");
    assert_int_equal(operand(module, 1)->offset, 8);
    cj__ir_free(module);

    module = cj_test_module(80, "sm_90", "st.shared.u32 [tile+4], %r1;");
    assert_int_equal(operand(module, 0)->base->kind, CJ_OPERAND_VAR);
    assert_int_equal(operand(module, 0)->offset, 4);
    cj__ir_free(module);

    module = cj_test_module(80, "sm_90", "mov.u32 %r0, %ctaid.y;");
    assert_int_equal(operand(module, 1)->kind, CJ_OPERAND_SPECIAL);
    assert_int_equal(operand(module, 1)->special, CJ_S_CTAID);
    assert_int_equal(operand(module, 1)->component, 2);
    cj__ir_free(module);

    module = cj_test_module(80, "sm_90", "@!%p3 setp.lt.and.u32 %p0|%p1, %r1, 5, !%p2;");
    const cj_ir_inst *setp = cj_test_first_inst(module);
    assert_string_equal(setp->guard->name, "%p3");
    assert_true(setp->guard_negated);
    assert_string_equal(setp->operand[0].predicate->reg->name, "%p1");
    assert_true(setp->operand[3].negated);
    cj__ir_free(module);
}

static const cj_ir_inst *inst_at(const cj_ir_func *func, const char *mnemonic, unsigned which) {
    for (size_t i = 0; i < func->stmt_count; i++)
        if (func->stmt[i].kind == CJ_STMT_INST && !strcmp(func->stmt[i].inst->mnemonic->text, mnemonic) && !which--)
            return func->stmt[i].inst;
    fail_msg("there is no such '%s'", mnemonic);
    return NULL;
}

static uint32_t target_line(const cj_ir_func *func, unsigned which) {
    const cj_ir_inst *branch = inst_at(func, "bra", which);
    assert_int_equal(branch->operand[0].kind, CJ_OPERAND_LABEL);
    const cj_ir_label *label = branch->operand[0].label;
    assert_int_equal(func->stmt[label->stmt].kind, CJ_STMT_LABEL);
    assert_ptr_equal(func->stmt[label->stmt].label, label);
    return label->line;
}

static void names_belong_to_their_braces(void **state) {
    (void)state;
    cj_ir_module     *module = cj_test_parsed(".version 8.0\n.target sm_90\n.entry k()\n{\n"
                                      "    .reg .b32 %r<3>, %s;\n"
                                      "    bra skip;\n"
                                      "    { .reg .b64 %s; .reg .f32 %r<9>;\n"
                                      "      mov.b64 %s, 1; mov.b32 %r2, 0f00000000;\n"
                                      "      bra skip; bra out;\n"
                                      "    skip: }\n"
                                      "    { bra skip;\n"
                                      "    skip: }\n"
                                      "    skip: mov.b32 %s, %r2;\n"
                                      "    out: ret;\n}\n");
    const cj_ir_func *k = cj__ir_func(module, "k");
    assert_int_equal(target_line(k, 0), 13);
    assert_int_equal(target_line(k, 1), 10);
    assert_int_equal(target_line(k, 2), 14);
    assert_int_equal(target_line(k, 3), 12);
    assert_int_equal(inst_at(k, "mov.b64", 0)->operand[0].reg->type, CJ_W_B64);
    assert_int_equal(inst_at(k, "mov.b32", 0)->operand[0].reg->type, CJ_W_F32);
    assert_int_equal(inst_at(k, "mov.b32", 1)->operand[0].reg->type, CJ_W_B32);
    assert_int_equal(inst_at(k, "mov.b32", 1)->operand[1].reg->type, CJ_W_B32);
    for (size_t i = 0; i < k->reg_count; i++) assert_int_equal(k->reg[i]->index, i);
    cj__ir_free(module);
}

static void everything_at_once(void **state) {
    (void)state;
    char         *text = cj_test_read(CJ_TEST_DIR "/unit/text/sample.ptx");
    cj_ir_module *module = cj_test_parsed(text);
    cj_error      error = {0};
    cj_test_ok(cj__check(module, &error), &error);
    assert_non_null(cj__ir_func(module, "first"));
    assert_non_null(cj__ir_func(module, "second"));
    assert_false(cj__ir_func(module, "helper")->is_entry);
    cj__ir_free(module);
    free(text);
}

// ---- refusals

// A text with one ^ where the error must be reported.
typedef struct broken {
    const char *text;
    const char *rule;
    const char *message;  // in the message
    const char *hint;     // in the hint
} broken;

#define HEAD ".version 8.0\n.target sm_90\n"

static const broken broken_files[] = {
    {"^", "head", "no .version", ""},
    {"\n\n  .target sm_90\n^", "head", "no .version", ""},
    {"^.entry k() {}", "head", "begins with .version and .target; found '.entry'", ""},
    {".version 8.0\n^.global .u32 x;", "head", "found '.global'", ""},
    {"^.version 8\n", "version", "such as 8.0, found '8'", ""},
    {"^.version 0.5\n", "version", "found '0.5'", ""},
    {".version ^x\n", "syntax", "expected a number, found 'x'", ""},
    {HEAD "^.version 8.0\n", "directive-twice", ".version is given twice", ""},
    {HEAD "^.target sm_80\n", "directive-twice", ".target is given twice", ""},
    {".version 8.0\n^.target sm90\n", "target", "found 'sm90'", ""},
    {".version 8.0\n^.target sm_90z\n", "target", "found 'sm_90z'", ""},
    {".version 8.0\n^.target sm_90ab\n", "target", "found 'sm_90ab'", ""},
    {".version 8.0\n.target sm_90, ^;\n", "target", "expected a target option, found ';'", ""},
    {HEAD "^.address_size 16\n", "address-size", "16 is not 64", ""},
    {HEAD "^.address_size 32\n", "address-size", "no 32-bit addresses", ""},
    {"^.version 8.9\n", "version", "there is no PTX 8.9", ""},
    {HEAD "^@", "syntax", "expected a directive, a variable or a function, found '@'", ""},
    {HEAD "^\x01", "syntax", "found byte 0x01", ""},
    {HEAD "^/* never closed\n", "comment-open", "never closed with */", ""},
    {HEAD ".global ^u32 x;", "type", "expected a type such as .u32, found 'u32'", ""},
    {HEAD ".global ^.pred x;", "type", "memory holds no predicates", ""},
    {HEAD ".global .u32 ^;", "syntax", "expected a name, found ';'", ""},
    {HEAD ".global .u32 x ^.u32", "syntax", "expected ';' after a variable, found '.u32'", ""},
    {HEAD ".global .u32 x;\n.global .u32 ^x;", "name-twice", "'x' is declared twice in this module", ""},
    {HEAD ".global ^.align 3 .u32 x;", "align", ".align 3 is not a power of two", ""},
    {HEAD ".global .u32 x[2][^];", "array-size", "only the first extent", ""},
    {HEAD ".global .u32 x[4294967296][^4294967296];", "array-size", "'x' is larger than memory", ""},
    {HEAD ".global .u32 x[4^;", "syntax", "expected ']' after an array's extent, found ';'", ""},
    {HEAD ".global .u32 x = ^;", "initialiser", "expected a value in the initialiser of 'x', found ';'", ""},
    {HEAD ".global .u32 x[2] = {1, 2^;", "syntax", "expected '}' or ',' after a value, found ';'", ""},
    {HEAD "^.section .debug { .b8 0", "syntax", "not closed with '}'", ""},
    {HEAD ".entry ^(", "syntax", "expected a function's name, found '('", ""},
    {HEAD ".entry k() { ret; }\n.entry ^k() { ret; }", "name-twice", "'k' is declared twice", ""},
    {HEAD ".entry k(^.u64 x)", "syntax", "expected .param, found '.u64'", ""},
    {HEAD ".entry k(.param .u64 x^;", "syntax", "expected ')' or ',' after a parameter, found ';'", ""},
    {HEAD ".entry k() ^ret;", "syntax", "expected '{' or ';' after the head of 'k', found 'ret'", ""},
    {HEAD ".entry k() .reqntid 32 ^.reqntid 32 {}", "directive-twice", ".reqntid is given twice", ""},
    {HEAD ".entry k() .reqntid ^{}", "syntax", "expected .reqntid, found '{'", ""},
    {HEAD ".entry k() ^.maxnreg 4294967296 {}", "directive-value", "4294967296 does not fit 32 bits", ""},
    {HEAD ".entry k() ^.pragma \"nounroll\" {", "syntax", "not closed with ';'", ""},
    {HEAD ".entry k() { ^.pragma \"nounroll\" }", "syntax", "this .pragma is not closed with ';'", ""},
    {HEAD ".entry k()\n{\n    ret;\n^", "syntax", "the body of 'k', begun on line 3, is never closed", ""},
    {HEAD ".entry k()\n{\n    {\n    ret;\n    }\n^", "syntax", "never closed with '}'", ""},
};

static const broken broken_lines[] = {
    // names
    {"add.u32 %r0, ^%q, 1;", "name-undefined", "nothing declares '%q'", ""},
    {"add.u32 %r0, %r1, ^%r100;", "name-undefined", "nothing declares '%r100'", ""},
    {".reg .u32 %total; mov.u32 ^%totl, 1;", "name-undefined", "nothing declares '%totl'", "is '%total' meant?"},
    {"st.shared.u32 [^tle], %r0;", "name-undefined", "nothing declares 'tle'", ""},
    {"ld.global.v2.u32 {%r0, ^%x}, [%l0];", "name-undefined", "nothing declares '%x'", ""},
    {"@^%q bra done;", "name-undefined", "nothing declares '%q'", ""},
    {"bra ^dune;", "label-undefined", "no label 'dune'", "is 'done' meant?"},
    {"{ inner: } bra ^inner;", "label-undefined", "no label 'inner'", ""},
    {"{ .reg .u32 %in; } mov.u32 ^%in, 0;", "name-undefined", "nothing declares '%in'", ""},
    {"again: ^again:", "name-twice", "the label 'again' is defined twice", ""},
    {".reg .u32 %a, ^%a;", "name-twice", "'%a' is declared twice in this scope", ""},
    {".reg .u32 %a<3>; .reg .u32 ^%a<3>;", "name-twice", "the registers '%a' are declared twice", ""},
    {".reg .u32 ^%tid;", "name-reserved", "ptxas reads that as the special register", "as %tid_0"},
    {".reg .u32 ^%clock;", "name-reserved", "cannot be named %clock", ""},
    {".shared .u32 ^tile;", "name-twice", "'tile' is declared twice in this scope", ""},
    // mnemonics
    {"^ad.u32 %r0, %r1, 1;", "mnemonic", "there is no instruction 'ad'", "is 'add' meant?"},
    {"add^.u33 %r0, %r1, 1;", "mnemonic", "no form of 'add' takes '.u33' here", ""},
    {"^ld.global %r0, [%l0];", "mnemonic", "'ld.global' is not complete", ""},
    {"ld^.globl.u32 %r0, [%l0];", "mnemonic", "no form of 'ld' takes '.globl", ""},
    {"^5;", "syntax", "expected an instruction, found '5'", ""},
    {"^.foo;", "syntax", "expected a statement, found '.foo'", ""},
    // operands
    {"^add.u32 %r0, %r1;", "operands", "'add.u32' does not take these 2 operands", "add.u32 %r0, %r1, 7;"},
    {"^st.global.u32 %r0, [%l0];", "operands", "does not take these 2 operands", "a line that is right: st."},
    {"^ret %r0;", "operands", "'ret' does not take these 1 operands", ""},
    {"add.u32 %r0, %r1, 1 ^}", "syntax", "expected ';' after add.u32, found '}'", ""},
    {"add.u32 %r0, %r1, ^;", "syntax", "expected a number, found ';'", ""},
    {"ld.global.u32 %r0, [%l0^;", "syntax", "expected ']' after an address, found ';'", ""},
    {"ld.global.u32 %r0, [%l0 + ^x];", "syntax", "expected an offset in bytes, found 'x'", ""},
    {"mov.b64 %l0, {%r0, %r1^;", "syntax", "expected '}' or ',' in this list, found ';'", ""},
    {"mov.u32 %r0, %tid^.q;", "syntax", "expected .x, .y, .z or .w, found '.q'", ""},
    {"@^%r0 bra done;", "guard", "a guard must be a .pred register, which '%r0' is not", ""},
    {"@^5 bra done;", "guard", "expected a predicate register after '@', found '5'", ""},
    // numbers
    {"mov.u32 %r0, ^0x;", "number", "this number has no digits", ""},
    {"mov.u32 %r0, 0x12^g;", "number", "'g' is no digit of a number in base 16", ""},
    {"mov.u32 %r0, 0^9;", "number", "'9' is no digit of a number in base 8", ""},
    {"mov.u64 %l0, ^18446744073709551616;", "number", "does not fit 64 bits", ""},
    {"mov.f32 %f0, ^0f3F80000;", "number", "0f takes exactly 8 hexadecimal digits", ""},
    {"mov.f32 %f0, ^0f3F8000000;", "number", "0f takes exactly 8", ""},
    {"mov.f64 %d0, ^0d3FF0;", "number", "0d takes exactly 16", ""},
    {"mov.f64 %d0, ^1e;", "number", "'1e' is not a number", ""},
    // declarations
    {".reg ^.u33 %a;", "type", "expected a type such as .u32, found '.u33'", ""},
    {".reg .u32 ^5;", "syntax", "expected a register's name, found '5'", ""},
    {".reg .u32 %a<^x>;", "syntax", "expected the number of registers, found 'x'", ""},
    {".reg .u32 %a<3^;", "syntax", "expected '>' after the number of registers, found ';'", ""},
    // operands that only their kind forbids
    {"^add.u32 %r0, %tid.x, 1;", "operands", "does not take these 3 operands", ""},
    {"^add.u32 %r0, !%r1, 1;", "operands", "does not take these 3 operands", ""},
    {"^add.u32 _, %r1, 1;", "operands", "'add.u32' does not discard its result: a register must stand where '_' does", ""},
    {"^add.u32 _, %r1;", "operands", "does not take these 2 operands", ""},
    {"^ld.global.v2.u32 {%r0, 5}, [%l0];", "operands", "does not take these 2 operands", ""},
    {"^st.global.v2.u32 [%l0], {%r0, _};", "operands", "does not take these 2 operands", ""},
    {"mov.u32 %r0, %r1^.x;", "syntax", "this register has no parts", ""},
    {"mov.u32 %r0, %laneid^.x;", "syntax", "this special register has no parts", ""},
    {"mov.u32 %r0, %tid^;", "syntax", "expected .x, .y or .z", ""},
    {"ld.global.u32 %r0, [^1.5];", "syntax", "expected a register, a variable or a number as address, found '1.5'", ""},
    {"ld.global.u32 %r0, [^%tid.x];", "syntax", "as address, found '%tid.x'", ""},
    {"setp.eq.u32 %p0|^5, %r0, 1;", "syntax", "expected a register or _ after '|', found '5'", ""},
};

// The text without its mark, and the line and column where the mark stood.
static char *unmarked(const char *marked, uint32_t *line, uint32_t *column) {
    size_t at = strcspn(marked, "^"), length = strlen(marked);
    assert_true(at < length);
    char *text = malloc(length);
    assert_non_null(text);
    memcpy(text, marked, at);
    memcpy(text + at, marked + at + 1, length - at);
    *line = *column = 1;
    for (size_t i = 0; i < at; i++) {
        if (text[i] == '\n') ++*line, *column = 0;
        ++*column;
    }
    return text;
}

static void expect_refusal(const broken *b, const char *marked) {
    uint32_t      line, column;
    char         *text = unmarked(marked, &line, &column);
    cj_error      error = {0};
    cj_ir_module *module;
    cj_status     status = cj__ir_parse(text, strlen(text), &module, &error);
    if (status != CJ_INVALID_KERNEL) fail_msg("'%s' is taken", b->text);
    assert_null(module);
    if (strcmp(error.rule, b->rule) || !strstr(error.message, b->message) || !strstr(error.hint, b->hint))
        fail_msg("'%s': %s: %s (%s)", b->text, error.rule, error.message, error.hint);
    if (error.line != line || error.column != column)
        fail_msg("'%s': at %u:%u instead of %u:%u: %s", b->text, error.line, error.column, line, column, error.message);
    assert_int_equal(cj__ir_parse(text, strlen(text), &module, NULL), CJ_INVALID_KERNEL);
    free(text);
}

static void broken_files_are_refused_in_place(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(broken_files); i++) expect_refusal(&broken_files[i], broken_files[i].text);
}

static void broken_lines_are_refused_in_place(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(broken_lines); i++) {
        cj_text text = {0};
        cj_test_head(&text, 80, "sm_90");
        cj_test_entry(&text, "k", broken_lines[i].text);
        expect_refusal(&broken_lines[i], text.data);
        cj__text_free(&text);
    }
}

static void deep_nesting_is_refused(void **state) {
    (void)state;
    static const char *const openings[] = {"[", "{", "(", "%p0|"};
    for (size_t i = 0; i < CJ_TEST_COUNT(openings); i++) {
        cj_text text = {0};
        cj_test_head(&text, 80, "sm_90");
        cj__text_puts(&text, ".entry k() { .reg .pred %p0; mov.u32 ");
        for (int depth = 0; depth < 200000; depth++) cj__text_puts(&text, openings[i]);
        cj_ir_module *module;
        cj_error      error = {0};
        assert_int_equal(cj__ir_parse(text.data, text.length, &module, &error), CJ_INVALID_KERNEL);
        assert_string_equal(error.rule, "syntax");
        cj__text_free(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_have_sizes),
        cmocka_unit_test(heads_and_directives_are_read),
        cmocka_unit_test(numbers_have_bits),
        cmocka_unit_test(operands_are_what_they_are),
        cmocka_unit_test(names_belong_to_their_braces),
        cmocka_unit_test(everything_at_once),
        cmocka_unit_test(broken_files_are_refused_in_place),
        cmocka_unit_test(broken_lines_are_refused_in_place),
        cmocka_unit_test(deep_nesting_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
