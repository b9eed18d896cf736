// SPDX-License-Identifier: Apache-2.0
// clusterjit/value.h and control.h: the lines that each call writes, what they compute, and what is refused by name.
#include "test.h"

#include <clusterjit/cluster.h>
#include <clusterjit/control.h>
#include <clusterjit/device.h>
#include <stdio.h>
#include <string.h>

// Writes an entry "k" with a parameter `out` and finishes; the text is freed by the caller, NULL where it was refused.
static char *built(void (*write)(cj_func *f, cj_var out), cj_error *error) {
    cj_builder *b = cj_builder_create("sm_90");
    cj_func    *f = cj_entry(b, "k");
    char       *text = NULL;
    write(f, cj_param(f, "u64", "out", NULL));
    cj_ptx(f, "ret;");
    cj_builder_finish(b, &text, NULL, error);
    cj_builder_destroy(b);
    return text;
}

// Whether the lines of `wanted`, one after the other, stand in the text in that order; blanks count as one.
static void has_lines(const char *text, const char *wanted) {
    char   flat[16384];
    size_t n = 0;
    for (const char *at = text; *at && n + 1 < sizeof flat; at++)
        if (*at != ' ' || (n && flat[n - 1] != ' ' && flat[n - 1] != '\n')) flat[n++] = *at;
    flat[n] = 0;
    const char *at = flat;
    for (const char *line = wanted; *line;) {
        const size_t length = strcspn(line, "\n");
        char         one[128];
        snprintf(one, sizeof one, "%.*s", (int)length, line);
        const char *found = strstr(at, one);
        if (!found) fail_msg("the line '%s' is not there, or not in its place, in\n%s", one, flat);
        at = found + length;
        line += length + (line[length] != 0);
    }
}

static void write_operations(cj_func *f, cj_var out) {
    cj_reg a = cj_mov(f, "u32", "a", "%tid.x"), s = cj_mov(f, "s32", "s", -3), x = cj_mov(f, "f32", "x", 2.0f);
    cj_reg at = cj_let(f, "u64", "at", "ld.param.u64 $1, [$2];", out);
    cj_mad(f, "m", a, 12, a);
    cj_mul(f, "product", s, a);
    cj_mul(f, "scaled", x, 4.0f);
    cj_mad_wide(f, "wide", a, 4, at);
    cj_mul_wide(f, "signed_wide", s, 3);
    cj_sub(f, "left", 100, a);
    cj_and(f, "low", x, 255);
    cj_shr(f, "half", s, 1);
    cj_reg p = cj_lt(f, "p", a, 7), q = cj_ge(f, "q", x, 1.0f), both = cj_and(f, "both", p, q);
    cj_select(f, "s32", "chosen", both, s, 5);
    cj_cvt(f, "u64", "widened", a);
    cj_set(f, a, 9);
    cj_set_if(f, p, x, 1.0f);
    cj_update(f, a, "add", 1);
    cj_update(f, a, "mad", 3, s);
    cj_add(f, "copy", a, 0);
}

static void each_call_writes_the_instruction_of_its_operands_type(void **state) {
    (void)state;
    cj_error error = {0};
    char    *text = built(write_operations, &error);
    cj_test_ok(text ? CJ_OK : CJ_INVALID_KERNEL, &error);
    has_lines(text, "mov.u32 %a, %tid.x;\nmov.s32 %s, -3;\nmov.f32 %x, 0f40000000;\nld.param.u64 %at, [out];\n"
                    "mad.lo.u32 %m, %a, 12, %a;\nmul.lo.s32 %product, %s, %a;\nmul.f32 %scaled, %x, 0f40800000;\n"
                    "mad.wide.u32 %wide, %a, 4, %at;\nmul.wide.s32 %signed_wide, %s, 3;\nsub.u32 %left, 100, %a;\n"
                    "and.b32 %low, %x, 255;\nshr.s32 %half, %s, 1;\nsetp.lt.u32 %p, %a, 7;\n"
                    "setp.ge.f32 %q, %x, 0f3F800000;\nand.pred %both, %p, %q;\nselp.s32 %chosen, %s, 5, %both;\n"
                    "cvt.u64.u32 %widened, %a;\nmov.u32 %a, 9;\n@%p mov.f32 %x, 0f3F800000;\nadd.u32 %a, %a, 1;\n"
                    "mad.lo.u32 %a, %a, 3, %s;\nmov.u32 %copy, %a;");
    cj_text_free(text);
}

static void write_uniform(cj_func *f, cj_var out) {
    (void)out;
    cj_reg n = cj_mov(f, "u32", "n", "%ctaid.x"), p = cj_lt(f, "p", n, 7);
    CJ_IF_UNI(f, p, "one") { cj_update(f, n, "add", 1); }
    CJ_UNLESS_UNI(f, p, "two") { cj_update(f, n, "add", 2); }
    CJ_DO_UNI(f, "three", p) { cj_ptx(f, "setp.lt.u32 $1, $2, 9;", p, n); }
    CJ_LOOP_UNI(f, four, "four", "five") {
        cj_leave(&four, p);
        cj_leave_unless(&four, p);
    }
    CJ_IF_ELSE_UNI(f, p, "six", "seven") {
        cj_update(f, n, "add", 6);
    } else {
        CJ_ONCE_UNI(f, once, "eight") { cj_leave(&once, p); }
    }
    CJ_COUNT_UNI(f, "nine", n, 2, 9) { cj_note(f, "nine"); }
    CJ_COUNT_DOWN_UNI(f, "ten", n, 3) { cj_note(f, "ten"); }
}

static void bodies_of_whole_warps_branch_with_bra_uni(void **state) {
    (void)state;
    cj_error error = {0};
    char    *text = built(write_uniform, &error);
    cj_test_ok(text ? CJ_OK : CJ_INVALID_KERNEL, &error);
    has_lines(text, "@!%p bra.uni one;\nadd.u32 %n, %n, 1;\none:\n@%p bra.uni two;\nadd.u32 %n, %n, 2;\ntwo:\nthree:\n"
                    "setp.lt.u32 %p, %n, 9;\n@%p bra.uni three;\nfour:\n@%p bra.uni five;\n@!%p bra.uni five;\nbra.uni four;\nfive:\n"
                    "@!%p bra.uni six;\nadd.u32 %n, %n, 6;\nbra.uni seven;\nsix:\n@%p bra.uni eight;\neight:\nseven:\n"
                    "nine:\n// nine\nadd.u32 %n, %n, 2;\nsetp.lt.u32 %more, %n, 9;\n@%more bra.uni nine;\n"
                    "ten:\n// ten\nsub.u32 %n, %n, 3;\nsetp.ne.u32 %more_2, %n, 0;\n@%more_2 bra.uni ten;\n");
    cj_text_free(text);
}

// Arrays of registers: each is named by the lines that set it.
static void write_arrays(cj_func *f, cj_var out) {
    (void)out;
    cj_reg many[3], one;
    cj_registers(f, "u32", "many", 3, many);
    cj_registers(f, "f32", "one", 1, &one);
    for (unsigned i = 0; i < 3; i++) cj_set(f, many[i], i);
    cj_set(f, one, 1.0f);
    cj_registers(f, "u64", "many", 2, many);
    for (unsigned i = 0; i < 2; i++) cj_set(f, many[i], i);
}

static void registers_of_an_array_have_numbers_unless_one_is_alone(void **state) {
    (void)state;
    cj_error error = {0};
    char    *text = built(write_arrays, &error);
    cj_test_ok(text ? CJ_OK : CJ_INVALID_KERNEL, &error);
    has_lines(text, "mov.u32 %many_0, 0;\nmov.u32 %many_1, 1;\nmov.u32 %many_2, 2;\nmov.f32 %one, 0f3F800000;\n"
                    "mov.u64 %many_0_2, 0;\nmov.u64 %many_1_2, 1;\n");
    cj_text_free(text);
}

// ---- control, executed

enum { THREADS = 64, TURNS = 37 };

// out[t] = sum of i over t <= i < TURNS in steps of 5, plus 7, and 7 more where t is 0, plus 1000 where t is even, plus 10000
// times the turns of a CJ_DO, a CJ_LOOP, a CJ_COUNT_DOWN and a CJ_COUNT, which count t % 4 + 1 each, plus 1000000 for t < 8 and 2000000 for the
// others, of which every second one adds 4000000, too.
static void write_control(cj_func *f, cj_var out) {
    cj_reg t = cj_mov(f, "u32", "t", "%tid.x"), sum = cj_mov(f, "u32", "sum", 0);
    CJ_FOR(f, i, "u32", "i", t, TURNS, 5) { cj_update(f, sum, "add", i); }
    CJ_IF(f, cj_eq(f, "even", cj_and(f, "bit", t, 1), 0), "odd") {
        CJ_UNLESS(f, cj_lt(f, "never", t, 0), "nothing") { cj_update(f, sum, "add", 1000); }
    }
    cj_reg n = cj_and(f, "n", t, 3), left = cj_add(f, "left", n, 1);
    CJ_DO(f, "again", cj_ne(f, "more", left, 0)) {
        cj_update(f, sum, "add", 10000);
        cj_update(f, left, "sub", 1);
    }
    CJ_LOOP(f, turns, "turn", "turned") {
        cj_update(f, sum, "add", 10000);
        cj_update(f, left, "add", 1);
        cj_leave(&turns, cj_gt(f, "enough", left, n));
    }
    CJ_COUNT_DOWN(f, "round", left, 1) { cj_update(f, sum, "add", 10000); }
    CJ_COUNT(f, "turn", left, 1, cj_add(f, "turns", n, 1)) { cj_update(f, sum, "add", 10000); }
    CJ_IF(f, cj_always(), "all") { cj_update(f, sum, "add", 7); }
    CJ_IF(f, cj_lt(f, "is_zero", t, 1), "not_zero") { cj_update(f, sum, "add", 7); }
    CJ_IF_ELSE(f, cj_lt(f, "few", t, 8), "many", "added") {
        cj_update(f, sum, "add", 1000000);
    } else {
        cj_update(f, sum, "add", 2000000);
        CJ_ONCE(f, odd, "is_odd") {
            cj_leave(&odd, cj_ne(f, "odd", cj_and(f, "bit", t, 1), 0));
            cj_update(f, sum, "add", 4000000);
        }
    }
    cj_reg at = cj_mad_wide(f, "at", t, 4, cj_let(f, "u64", "base", "ld.param.u64 $1, [$2];", out));
    cj_ptx(f, "st.global.u32 [$1], $2;", at, sum);
}

static uint32_t wanted(uint32_t t) {
    uint32_t sum = t % 2 ? 0 : 1000;
    sum += t ? 7 : 14;
    for (uint32_t i = t; i < TURNS; i += 5) sum += i;
    if (t >= 8) sum += t % 2 ? 1000000 : 5000000;
    return sum + 1000000 + 4 * 10000 * (t % 4 + 1);
}

static void conditions_and_loops_run_their_bodies_as_often_as_c_would(void **state) {
    (void)state;
    cj_error          error = {0};
    char             *text = built(write_control, &error);
    cj_device        *device;
    cj_module        *module;
    cj_function      *function;
    cj_ptr            out;
    uint32_t          found[THREADS];
    cj_device_options options = {CJ_INIT(options), .spec = "cpu"};
    cj_test_ok(text ? CJ_OK : CJ_INVALID_KERNEL, &error);
    cj_test_ok(cj_device_open(&options, &device, &error), &error);
    cj_test_ok(cj_module_from_ptx(device, text, strlen(text), &module, &error), &error);
    cj_test_ok(cj_module_function(module, "k", &function, &error), &error);
    cj_test_ok(cj_mem_alloc(device, sizeof found, &out, &error), &error);
    const cj_launch_config config = {CJ_INIT(config), .function = function, .grid = {1, 1, 1}, .block = {THREADS, 1, 1},
                                     CJ_ARGS(out)};
    cj_test_ok(cj_launch(device, &config, &error), &error);
    cj_test_ok(cj_mem_read(device, found, out, sizeof found, NULL, &error), &error);
    for (uint32_t t = 0; t < THREADS; t++) assert_int_equal(found[t], wanted(t));
    cj_mem_free(device, out);
    cj_module_unload(module);
    cj_device_close(device);
    cj_text_free(text);
}

// ---- what is refused

static void no_register(cj_func *f, cj_var out) {
    (void)out;
    cj_add(f, "sum", 1, 2);
}
static void unknown_operation(cj_func *f, cj_var out) {
    (void)out;
    cj_operation_args(f, "file.c", 7, "plus", "sum", CJ_OPERANDS(cj_u32(f, "a")), 1);
}
static void too_many_operands(cj_func *f, cj_var out) {
    (void)out;
    cj_reg a = cj_mov(f, "u32", "a", 1);
    cj_update(f, a, "add", a, a, a);
}
static void mixed_types(cj_func *f, cj_var out) {
    (void)out;
    cj_add(f, "sum", cj_mov(f, "f32", "a", 1.0f), cj_mov(f, "u64", "b", 1));
}
static void wide_of_64_bits(cj_func *f, cj_var out) {
    (void)out;
    cj_mul_wide(f, "product", cj_mov(f, "u64", "a", 1), 2);
}
static void no_predicate(cj_func *f, cj_var out) {
    (void)out;
    CJ_IF(f, cj_mov(f, "u32", "a", 1), "done") { cj_note(f, "never"); }
}
static void unset_handle(cj_func *f, cj_var out) {
    (void)out;
    cj_set(f, (cj_reg){0}, 1);
}
static void unset_operand(cj_func *f, cj_var out) {
    (void)out;
    cj_add(f, "sum", 1, (cj_reg){0});
}
static void unset_later_operand(cj_func *f, cj_var out) {
    (void)out;
    cj_add(f, "sum", cj_mov(f, "u32", "a", 1), (cj_reg){0});
}
static void unset_and_converted(cj_func *f, cj_var out) {
    (void)out;
    cj_cvt(f, "u64", "wide", (cj_reg){0});
}
static void none_compared(cj_func *f, cj_var out) {
    (void)out;
    cj_lt(f, "less", cj_none(), 1);
}
static void unset_count(cj_func *f, cj_var out) {
    (void)out;
    CJ_COUNT_DOWN(f, "again", (cj_reg){0}, 1) { cj_note(f, "never"); }
}
static void no_type(cj_func *f, cj_var out) {
    (void)out;
    cj_let(f, "u31", "a", "mov.u32 $1, 0;");
}

static void unset_condition(cj_func *f, cj_var out) {
    (void)out;
    CJ_DO(f, "again", (cj_reg){0}) { cj_note(f, "endless"); }
}
static void long_name_of_an_array(cj_func *f, cj_var out) {
    cj_reg reg[2];
    (void)out;
    cj_registers(f, "u32", "name_of_forty_characters_name_of_forty__name_of_forty_characters_name_of_forty__", 2, reg);
}
static void array_without_room(cj_func *f, cj_var out) {
    (void)out;
    cj_registers(f, "u32", "a", 2, NULL);
}

static void not_ascii(cj_func *f, cj_var out) {
    (void)out;
    cj_step(f, "caf\xc3\xa9");
}
static void why_not_ascii(cj_func *f, cj_var out) {
    (void)out;
    cj_let(f, "u32", "a", "mov.u32 $1, 0; // caf\xc3\xa9");
}

static void what_makes_no_value_is_refused_by_name(void **state) {
    (void)state;
    static const struct {
        void (*write)(cj_func *f, cj_var out);
        const char *message;
    } cases[] = {
        {no_register, "'add' needs a register"},      {unknown_operation, "'plus' needs a register"},
        {too_many_operands, "'add' needs a register"}, {mixed_types, "%b"},
        {wide_of_64_bits, "mul.wide"},                {no_predicate, "%a"},
        {unset_handle, "what cj_set sets is an unset register"},          {no_type, "'u31' is not a type"},
        {unset_operand, "test_value.c:"},             {unset_operand, ": operand 2 of 'add' is an unset register"},
        {unset_later_operand, "test_value.c:"},       {unset_later_operand, "$3 is an unset register"},
        {unset_and_converted, "what cj_cvt converts is an unset register"},
        {none_compared, "operand 1 of 'setp.lt' is cj_none(), no register"},
        {unset_count, "CJ_COUNT_DOWN: the register that counts is an unset register"},
        {unset_condition, "$1"},                      {long_name_of_an_array, "is too long"},
        {array_without_room, "reg is NULL"},
        {not_ascii, "0xc3 is not ASCII"},             {why_not_ascii, "0xc3 is not ASCII"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cj_error error = {0};
        char    *text = built(cases[i].write, &error);
        if (text) fail_msg("case %zu was taken:\n%s", i, text);
        if (!strstr(error.message, cases[i].message) && !strstr(error.hint, cases[i].message))
            fail_msg("case %zu says '%s' (%s), not '%s'", i, error.message, error.hint, cases[i].message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_of_whole_warps_branch_with_bra_uni),
        cmocka_unit_test(registers_of_an_array_have_numbers_unless_one_is_alone),
        cmocka_unit_test(each_call_writes_the_instruction_of_its_operands_type),
        cmocka_unit_test(conditions_and_loops_run_their_bodies_as_often_as_c_would),
        cmocka_unit_test(what_makes_no_value_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
