// SPDX-License-Identifier: Apache-2.0
// ptxgen/builder: PTX written from C. Each mistake is named once, with the C line that made it.
#include "test.h"

#include <clusterjit/cluster.h>
#include <clusterjit/ptx.h>
#include <clusterjit/value.h>
#include <stdio.h>
#include <string.h>

// The text that `write` builds for a target; fails the test where finishing fails. Freed by the caller.
static char *built(const char *arch, void (*write)(cj_builder *b)) {
    cj_builder *b = cj_builder_create(arch);
    char       *text = NULL;
    size_t      length = 0;
    cj_error    error = {0};
    write(b);
    cj_test_ok(cj_builder_finish(b, &text, &length, &error), &error);
    assert_int_equal(strlen(text), length);
    cj_builder_destroy(b);
    return text;
}

// ---- what is written

static void write_ranks(cj_builder *b) {
    cj_head(b, "ranks: out[block] = the block's rank");
    cj_func *f = cj_entry(b, "ranks");
    cj_var   out = cj_param(f, "u64", "out", "uint32_t *out [blocks]");
    cj_var   tile = cj_shared(f, "f32", "tile", 4, 16), one = cj_shared(f, "u32", "one", 1, 0);
    cj_block(f, 32, 1, 1);
    cj_cluster(f, 4, 1, 1);
    cj_reg   at = cj_u64(f, "at"), rank = cj_u32(f, "rank"), block = cj_u32(f, "block"), again = cj_u32(f, "rank");
    cj_reg   p = cj_pred(f, "p"), v = cj_f32(f, "v"), w = cj_f64(f, "w");
    cj_label done = cj_label_new(f, "done"), other = cj_label_new(f, "done");
    cj_ptx(f, "ld.param.u64 $1, [$2];", at, out);
    cj_step(f, "%d lines of every kind", 2);
    cj_ptx(f, "mov.u32 $1, %ctaid.x; mov.u32 $2, %$3; // both", block, rank, "cluster_ctarank");
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", at, block, 4);
    cj_ptx(f, "add.u32 $1, $1, $2;", again, 4000000000u);
    cj_ptx(f, "mov.f32 $1, $2; mov.f64 $3, $4;", v, 1.0f, w, -2.0);
    cj_ptx(f, "st.shared.f32 [$1 + 4], $2; st.shared.u32 [$3], $4;", tile, v, one, -1);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", p, rank);
    cj_ptx(f, "@$1 bra $2;", p, done);
    cj_ptx(f, "bra $1;", other);
    cj_label_here(f, done);
    cj_note(f, "only %s", "rank 0");
    cj_ptx(f, "st.global.u32 [$1], $2;", at, rank);
    cj_label_here(f, other);
    cj_ptx(f, "ret;");
}

// Numbers that parameters give: 1 and 0 here.
static void write_idle(cj_builder *b) {
    const uint32_t one = 1, zero = 0;
    cj_func       *f = cj_entry(b, "idle");
    cj_reg         a = cj_u32(f, "a"), c = cj_u32(f, "c"), w = cj_u64(f, "w"), p = cj_pred(f, "p");
    cj_ptx(f, "mov.u32 $1, %tid.x;", a);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", p, a);
    cj_ptx(f, "add.u32 $1, $1, $2; // goes", a, zero);
    cj_ptx(f, "add.u32 $1, $2, $3; // stays", c, a, zero);
    cj_ptx(f, "@!$1 div.u32 $2, $3, $4;", p, c, a, one);
    cj_ptx(f, "rem.u32 $1, $2, $3;", c, c, one);
    cj_ptx(f, "mul.lo.$1 $2, $3, $4;", "u32", c, a, zero);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", c, a, zero);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", c, a, one);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", c, a, 12, zero);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", c, a, one, zero);
    cj_ptx(f, "mul.wide.u32 $1, $2, $3;", w, a, one);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", w, a, one);
    cj_ptx(f, "min.u32 $1, $2, $3; max.u32 $1, $2, $3;", c, a, zero);
    cj_ptx(f, "max.s32 $1, $2, $3;", c, a, zero);
    cj_ptx(f, "add.u32 $1, $1, 0;", c);
    cj_ptx(f, "add.cc.u32 $1, $2, $3;", c, a, zero);
    cj_ptx(f, "ret;");
}

static void arithmetic_that_a_parameter_makes_idle_is_left_out(void **state) {
    (void)state;
    char *text = built("sm_90", write_idle);
    assert_string_equal(strstr(text, "    mov.u32"),
                        "    mov.u32                    %a, %tid.x;\n"
                        "    setp.eq.u32                %p, %a, 0;\n"
                        "    mov.u32                    %c, %a;                                  // stays\n"
                        "    @!%p mov.u32               %c, %a;\n"
                        "    mov.u32                    %c, 0;\n"
                        "    mov.u32                    %c, 0;\n"
                        "    add.u32                    %c, %a, %c;\n"
                        "    mul.lo.u32                 %c, %a, 12;\n"
                        "    mov.u32                    %c, %a;\n"
                        "    cvt.u64.u32                %w, %a;\n"
                        "    mad.wide.u32               %w, %a, 1, %w;\n"
                        "    min.u32                    %c, %a, 0;\n"
                        "    max.u32                    %c, %a, 0;\n"
                        "    max.s32                    %c, %a, 0;\n"
                        "    add.u32                    %c, %c, 0;\n"
                        "    add.cc.u32                 %c, %a, 0;\n"
                        "    ret;\n"
                        "}\n");
    cj_text_free(text);
}

static void write_divisions(cj_builder *b) {
    cj_func *f = cj_entry(b, "divisions");
    cj_reg   a = cj_mov(f, "u32", "a", "%tid.x"), w = cj_cvt(f, "u64", "w", a), s = cj_cvt(f, "s32", "s", a);
    cj_reg   h = cj_cvt(f, "u16", "h", a), p = cj_eq(f, "p", a, 0);
    cj_ptx(f, "@$1 div.u32 $2, $2, $3; // a warp's", p, a, 32);
    cj_ptx(f, "rem.u32 $1, $1, $2;", a, 32);
    cj_ptx(f, "div.u64 $1, $1, $2;", w, UINT64_C(1) << 63);
    cj_ptx(f, "rem.u64 $1, $1, $2;", w, UINT64_C(1) << 40);
    cj_ptx(f, "rem.u16 $1, $1, $2;", h, 2);
    cj_ptx(f, "div.u32 $1, $1, $2;", a, 24);
    cj_ptx(f, "div.s32 $1, $1, $2;", s, 32);
    cj_ptx(f, "rem.s32 $1, $1, $2;", s, 32);
    cj_ptx(f, "div.u32 $1, $1, 32;", a);
    cj_ptx(f, "ret;");
}

// Signed ones are not: a shift rounds down, and they towards 0.
static void unsigned_divisions_by_powers_of_two_are_shifts(void **state) {
    (void)state;
    char *text = built("sm_90", write_divisions);
    assert_string_equal(strstr(text, "    @%p"),
                        "    @%p shr.u32                %a, %a, 5;                               // a warp's\n"
                        "    and.b32                    %a, %a, 31;\n"
                        "    shr.u64                    %w, %w, 63;\n"
                        "    and.b64                    %w, %w, 1099511627775;\n"
                        "    and.b16                    %h, %h, 1;\n"
                        "    div.u32                    %a, %a, 24;\n"
                        "    div.s32                    %s, %s, 32;\n"
                        "    rem.s32                    %s, %s, 32;\n"
                        "    div.u32                    %a, %a, 32;\n"
                        "    ret;\n"
                        "}\n");
    cj_text_free(text);
}

static void lines_come_out_as_ptx(void **state) {
    (void)state;
    char *text = built("sm_90", write_ranks);
    assert_string_equal(
        text,
        "// ranks: out[block] = the block's rank\n\n"
        ".version 7.8\n.target sm_90\n.address_size 64\n\n"
        ".visible .entry ranks(\n"
        "    .param .u64 out                     // uint32_t *out [blocks]\n"
        ")\n.reqntid 32, 1, 1\n.explicitcluster\n.reqnctapercluster 4, 1, 1\n{\n"
        "    .shared .align 16 .f32 tile[4];\n"
        "    .shared .u32 one;\n\n"
        "    .reg .u64 %at;\n"
        "    .reg .u32 %rank, %block, %rank_2;\n"
        "    .reg .pred %p;\n"
        "    .reg .f32 %v;\n"
        "    .reg .f64 %w;\n\n"
        "    ld.param.u64               %at, [out];\n\n"
        "    // 2 lines of every kind\n"
        "    mov.u32                    %block, %ctaid.x;\n"
        "    mov.u32                    %rank, %cluster_ctarank;                 // both\n"
        "    mad.wide.u32               %at, %block, 4, %at;\n"
        "    add.u32                    %rank_2, %rank_2, 4000000000;\n"
        "    mov.f32                    %v, 0f3F800000;\n"
        "    mov.f64                    %w, 0dC000000000000000;\n"
        "    st.shared.f32              [tile + 4], %v;\n"
        "    st.shared.u32              [one], -1;\n"
        "    setp.eq.u32                %p, %rank, 0;\n"
        "    @%p bra                    done;\n"
        "    bra                        done_2;\n"
        "done:\n"
        "    // only rank 0\n"
        "    st.global.u32              [%at], %rank;\n"
        "done_2:\n"
        "    ret;\n"
        "}\n");
    cj_text_free(text);
}

static void write_two(cj_builder *b) {
    cj_func *f = cj_entry(b, "first");
    cj_reg   a = cj_u32(f, "a");
    cj_ptx(f, "mov.u32 $1, 1;", a);
    f = cj_entry(b, "second");
    cj_reg c = cj_u32(f, "a");
    cj_ptx(f, "mov.u32 $1, 2; ret;", c);
}

static void write_spare_registers(cj_builder *b) {
    cj_func *f = cj_entry(b, "k");
    cj_reg   spare = cj_u32(f, "spare"), kept = cj_u32(f, "kept"), guard = cj_pred(f, "guard"), other = cj_pred(f, "other");
    (void)spare, (void)other;
    cj_ptx(f, "mov.u32 %kept, %tid.x;");
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", guard, kept);
    cj_ptx(f, "@$1 ret;", guard);
    cj_ptx(f, "ret;");
}

static void registers_that_no_line_names_are_not_declared(void **state) {
    (void)state;
    char *text = built("sm_90", write_spare_registers);
    assert_non_null(strstr(text, ".reg .u32 %kept;"));
    assert_non_null(strstr(text, ".reg .pred %guard;"));
    assert_null(strstr(text, "spare"));
    assert_null(strstr(text, "other"));
    cj_text_free(text);
}

static void write_spare_label(cj_builder *b) {
    cj_func *f = cj_entry(b, "k");
    cj_label spare = cj_label_new(f, "spare"), next = cj_label_new(f, "next");
    cj_label_here(f, next);
    cj_ptx(f, "bra $1;", next);
    cj_label_here(f, spare);
    cj_ptx(f, "ret;");
}

static void labels_that_nothing_branches_to_are_not_written(void **state) {
    (void)state;
    char *text = built("sm_90", write_spare_label);
    assert_non_null(strstr(text, "next:"));
    assert_null(strstr(text, "spare"));
    cj_text_free(text);
}

static void names_begin_anew_in_each_entry(void **state) {
    (void)state;
    char *text = built("sm_90", write_two);
    assert_non_null(strstr(text, ".entry first()"));
    assert_non_null(strstr(text, "\n\n.visible .entry second()\n{\n    .reg .u32 %a;\n\n"));
    assert_null(strstr(text, "%a_2"));
    cj_text_free(text);
}

// ---- the least .version

static void write_nothing(cj_builder *b) { cj_ptx(cj_entry(b, "k"), "ret;"); }
static void write_barrier(cj_builder *b) {
    cj_ptx(cj_entry(b, "k"), "barrier.cluster.arrive; barrier.cluster.wait; ret;");
}
static void write_cluster(cj_builder *b) { cj_cluster(cj_entry(b, "k"), 2, 1, 1); }
static void write_rank(cj_builder *b) { cj_cluster_rank(cj_entry(b, "k")); }
static void write_relaxed(cj_builder *b) {
    cj_func *f = cj_entry(b, "k");
    cj_cluster_arrive(f, CJ_ARRIVE_RELAXED, NULL);
    cj_cluster_wait(f, "all are here");
}

static void write_pool(cj_builder *b) {
    cj_declare(b, ".extern .shared .align 16 .b8 pool[];");
    cj_func *f = cj_entry(b, "uses_pool");
    cj_reg   at = cj_u32(f, "at");
    cj_ptx(f, "mov.u32 $1, pool;", at);
    cj_ptx(f, "ret;");
}

static void declarations_stand_before_the_entry_that_names_them(void **state) {
    (void)state;
    char *text = built("sm_90", write_pool);
    char *declared = strstr(text, "\n.extern .shared .align 16 .b8 pool[];\n"), *entry = strstr(text, ".visible .entry uses_pool");
    assert_true(declared && entry && declared < entry);
    assert_non_null(strstr(entry, "pool;"));
    cj_text_free(text);
}

static void wrong_declarations_are_refused(void **state) {
    (void)state;
    cj_error    error = {0};
    char       *text;
    cj_builder *b = cj_builder_create("sm_90");
    cj_declare(b, ".extern .shared .b9 pool[];");
    assert_int_equal(cj_builder_finish(b, &text, NULL, &error), CJ_INVALID_KERNEL);
    assert_non_null(strstr(error.message, "cj_declare"));
    assert_non_null(strstr(error.hint, ".b9 pool"));
    cj_builder_destroy(b);
}

static void least_version_is_chosen(void **state) {
    (void)state;
    static const struct {
        const char *arch, *version;
        void (*write)(cj_builder *b);
    } cases[] = {
        {"sm_70", "6.0", write_nothing},   {"sm_80", "7.0", write_nothing},  {"sm_90", "7.8", write_nothing},
        {"sm_90", "7.8", write_barrier},   {"sm_90", "7.8", write_cluster},  {"sm_90", "7.8", write_rank},
        {"sm_90", "8.0", write_relaxed},   {"sm_90a", "8.0", write_nothing}, {"sm_100a", "8.6", write_relaxed},
        {"sm_120", "8.7", write_barrier},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        char  head[64];
        char *text = built(cases[i].arch, cases[i].write);
        snprintf(head, sizeof head, ".version %s\n.target %s\n", cases[i].version, cases[i].arch);
        if (strncmp(text, head, strlen(head))) fail_msg("expected\n%sfound\n%.60s", head, text);
        cj_text_free(text);
    }
}

// ---- mistakes

// The line of the last mistake.
static int mistake_line;
#define HERE (mistake_line = __LINE__)

static void add(cj_func *f, const char *line, cj_reg a) { cj_ptx(f, line, a); }

static void wrong_word(cj_builder *b, cj_func *f) { (void)b, HERE, cj_ptx(f, "add.u33 %a, %a, 1;"); }
static void wrong_kind(cj_builder *b, cj_func *f) {
    (void)b, HERE, cj_ptx(f, "add.u32 $1, $1, $2;", cj_u32(f, "r"), "[4]");
}
static void missing_operand(cj_builder *b, cj_func *f) {
    (void)b, HERE, cj_ptx(f, "add.u32 $1, $1, $2;", cj_u32(f, "r"));
}
static void missing_number(cj_builder *b, cj_func *f) { (void)b, HERE, cj_ptx(f, "add.u32 $, 1, 2;", 1); }
static void unset_predicate(cj_builder *b, cj_func *f) { (void)b, HERE, cj_ptx(f, "@!$1 ret;", (cj_reg){0}); }
static void unset_register(cj_builder *b, cj_func *f) {
    (void)b, HERE, cj_ptx(f, "mov.u32 $1, $2;", cj_u32(f, "r"), (cj_reg){0});
}
static void unset_variable(cj_builder *b, cj_func *f) {
    (void)b, HERE, cj_ptx(f, "ld.param.u64 $1, [$2];", cj_u64(f, "r"), (cj_var){0});
}
static void unset_label(cj_builder *b, cj_func *f) { (void)b, HERE, cj_ptx(f, "bra $1;", (cj_label){0}); }
static void no_guard(cj_builder *b, cj_func *f) { (void)b, HERE, cj_ptx(f, "@$1 ret;", cj_none()); }
static void no_source(cj_builder *b, cj_func *f) {
    (void)b, HERE, cj_ptx(f, "mov.u32 $1, $2;", cj_u32(f, "r"), cj_none());
}
static void never(cj_builder *b, cj_func *f) { (void)b, HERE, cj_ptx(f, "@!$1 ret;", cj_always()); }
static void always_as_value(cj_builder *b, cj_func *f) {
    (void)b, HERE, cj_ptx(f, "mov.pred $1, $2;", cj_pred(f, "p"), cj_always());
}
static void foreign_handle(cj_builder *b, cj_func *f) { (void)b, HERE, cj_ptx(f, "add.u32 $1, $1, 1;", (cj_reg){77}); }
static void undeclared(cj_builder *b, cj_func *f) { (void)b, HERE, cj_ptx(f, "mov.u32 %undeclared, 1;"); }
static void no_semicolon(cj_builder *b, cj_func *f) { (void)b, HERE, cj_ptx(f, "ret"); }
static void closing_brace(cj_builder *b, cj_func *f) { (void)b, HERE, cj_ptx(f, "ret; }"); }
static void wrong_register(cj_builder *b, cj_func *f) {
    cj_reg sum = cj_u32(f, "sum"), value = cj_f32(f, "value");
    (void)b, HERE, cj_ptx(f, "add.u32 $1, $1, $2;", sum, value);
}
static void idle_and_wrong(cj_builder *b, cj_func *f) {
    (void)b, HERE, cj_ptx(f, "add.u32 $1, $1, $2;", cj_u64(f, "r"), 0);
}
static void label_twice(cj_builder *b, cj_func *f) {
    (void)b;
    cj_label label = cj_label_new(f, "here");
    cj_label_here(f, label);
    HERE, cj_ptx(f, "$1:", label);
}

static const struct mistake {
    void (*make)(cj_builder *b, cj_func *f);
    const char *rule, *message, *hint;
} line_mistakes[] = {
    {wrong_word, "mnemonic", "no form of 'add' takes '.u33' here", "the line is: add.u33 %a, %a, 1;"},
    {wrong_kind, "operands", "'add.u32' does not take these 3 operands", "add.u32"},
    {missing_operand, "operand-missing", "$2 has no operand", ""},
    {missing_number, "operand-missing", "has no operand", ""},
    {foreign_handle, "operand-missing", "$1 is no register of this function", ""},
    {unset_predicate, "operand-missing", "the predicate $1 is an unset register",
     "pass cj_always(); the line is: @!$1 ret;"},
    {unset_register, "operand-missing", "$2 is an unset register", "the line is: mov.u32 $1, $2;"},
    {unset_variable, "operand-missing", "$2 is an unset variable", "cj_shared, or cj_param, returns one"},
    {unset_label, "operand-missing", "$1 is an unset label", "cj_label_new returns one; the line is: bra $1;"},
    {no_guard, "operand-missing", "the predicate $1 is cj_none(), no register", "cj_always()"},
    {no_source, "operand-missing", "$2 is cj_none(), no register", ""},
    {never, "operand-missing", "the predicate $1 is cj_always(), which guards a line, @$k, and stands nowhere else",
     ""},
    {always_as_value, "operand-missing", "$2 is cj_always()", ""},
    {undeclared, "name-undefined", "nothing declares '%undeclared'", ""},
    {no_semicolon, "syntax", "found the end of the text", "the line is: ret"},
    {closing_brace, "syntax", "this '}' closes nothing", ""},
    {wrong_register, "operand-type", "operand 3 of 'add.u32' must be .u32, %value is .f32", "declare %value"},
    {idle_and_wrong, "operand-type", "operand 1 of 'add.u32' must be .u32, %r is .u64", ""},
    {label_twice, "name-twice", "the label 'here' is defined twice", ""},
};

static void expect_mistake(const struct mistake *mistake, bool with_line) {
    char        place[256] = "";
    cj_builder *b = cj_builder_create("sm_90");
    cj_func    *f = cj_entry(b, "k");
    cj_error    error = {0};
    char       *text;
    mistake->make(b, f);
    add(f, "nonsense $1 that comes later;", cj_u32(f, "r"));
    assert_int_equal(cj_builder_finish(b, &text, NULL, &error), CJ_INVALID_KERNEL);
    assert_null(text);
    assert_string_equal(error.rule, mistake->rule);
    if (with_line) snprintf(place, sizeof place, "test_builder.c:%d: ", mistake_line);
    bool named = strstr(error.message, mistake->message) && strstr(error.message, place);
    if (!named || !strstr(error.hint, mistake->hint))
        fail_msg("expected %s%s (%s), found %s (%s)", place, mistake->message, mistake->hint, error.message,
                 error.hint);
    cj_builder_destroy(b);
}

static void first_mistake_names_its_c_line(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(line_mistakes); i++) expect_mistake(&line_mistakes[i], true);
}

static void wrong_type(cj_builder *b, cj_func *f) { (void)b, cj_register(f, "u33", "r"); }
static void reserved_tid(cj_builder *b, cj_func *f) { (void)b, cj_u32(f, "tid"); }
static void reserved_clock(cj_builder *b, cj_func *f) { (void)b, cj_u32(f, "clock"); }
static void no_element(cj_builder *b, cj_func *f) { (void)b, cj_shared(f, "f32", "tile", 0, 0); }
static void odd_align(cj_builder *b, cj_func *f) { (void)b, cj_shared(f, "f32", "tile", 4, 12); }
static void param_twice(cj_builder *b, cj_func *f) {
    (void)b, cj_param(f, "u64", "x", NULL), cj_param(f, "u64", "x", NULL);
}
static void entry_twice(cj_builder *b, cj_func *f) { (void)f, cj_entry(b, "k"); }
static void name_with_blank(cj_builder *b, cj_func *f) { (void)b, cj_u32(f, "my register"); }
static void param_with_digit(cj_builder *b, cj_func *f) { (void)b, cj_param(f, "u64", "2x", NULL); }
static void empty_entry(cj_builder *b, cj_func *f) { (void)f, cj_entry(b, ""); }
static void undefined_label(cj_builder *b, cj_func *f) {
    (void)b, cj_ptx(f, "bra $1;", cj_label_new(f, "nowhere"));
    cj_entry(b, "next");
}
static void open_brace(cj_builder *b, cj_func *f) { cj_ptx(f, "{ ret;"), cj_entry(b, "next"); }

static const struct mistake other_mistakes[] = {
    {wrong_type, "type", "'u33' is not a type", ""},
    {reserved_tid, "name-reserved", "cannot be named %tid", "as %tid_0"},
    {reserved_clock, "name-reserved", "cannot be named %clock", "as %clock_0"},
    {no_element, "array-size", "shared memory 'tile' of 0 elements", ""},
    {odd_align, "array-size", "aligned to 12", ""},
    {param_twice, "name-twice", "'x' is declared twice", ""},
    {entry_twice, "name-twice", "'k' is declared twice in this module", ""},
    {name_with_blank, "name-form", "'%my register' is not a name", ""},
    {param_with_digit, "name-form", "'2x' is not a name", ""},
    {empty_entry, "name-form", "'' is not a name", ""},
    {undefined_label, "label-undefined", "there is no label 'nowhere'", ""},
    {open_brace, "syntax", "a '{' in 'k' is never closed", ""},
};

static void other_mistakes_are_named(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(other_mistakes); i++) expect_mistake(&other_mistakes[i], false);
}

static void too_old_a_target_is_refused(void **state) {
    (void)state;
    cj_builder *b = cj_builder_create("sm_80");
    cj_error    error = {0};
    char       *text;
    cj_cluster_rank(cj_entry(b, "k"));
    assert_int_equal(cj_builder_finish(b, &text, NULL, &error), CJ_INVALID_KERNEL);
    assert_string_equal(error.rule, "target-least");
    cj_builder_destroy(b);
}

static void unknown_target_is_refused(void **state) {
    (void)state;
    cj_builder *b = cj_builder_create("sm_91");
    cj_error    error = {0};
    char       *text;
    cj_ptx(cj_entry(b, "k"), "ret;");
    assert_int_equal(cj_builder_finish(b, &text, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "'sm_91' is not a target"));
    cj_builder_destroy(b);
}

static void write_broken_lines(cj_builder *b) {
    cj_head(b, "op: %s\n", "a +\nb");
    cj_func *f = cj_entry(b, "k");
    cj_step(f, "one\ntwo");
    cj_ptx(f, "ret;");
}

static void line_breaks_begin_other_comment_lines(void **state) {
    (void)state;
    char *text = built("sm_90", write_broken_lines);
    assert_non_null(strstr(text, "// op: a +\n// b\n//\n"));
    assert_non_null(strstr(text, "\n\n    // one\n    // two\n"));
    cj_text_free(text);
}

static void nothing_built_is_refused(void **state) {
    (void)state;
    cj_builder *b = cj_builder_create("sm_90");
    cj_error    error = {0};
    char       *text;
    cj_head(b, "a head alone");
    assert_int_equal(cj_builder_finish(b, &text, NULL, &error), CJ_INVALID_KERNEL);
    assert_string_equal(error.rule, "head");
    cj_builder_destroy(b);
}

static void null_builder_does_nothing(void **state) {
    (void)state;
    cj_error error = {0};
    char    *text;
    cj_head(NULL, "nothing");
    cj_func *f = cj_entry(NULL, "k");
    assert_null(f);
    cj_block(f, 1, 1, 1);
    cj_cluster(f, 1, 1, 1);
    cj_step(f, "nothing");
    cj_note(f, "nothing");
    assert_int_equal(cj_param(f, "u64", "x", NULL).id, 0);
    assert_int_equal(cj_shared(f, "u32", "y", 1, 0).id, 0);
    cj_reg   r = cj_u32(f, "r");
    cj_label l = cj_label_new(f, "l");
    assert_int_equal(r.id, 0);
    assert_int_equal(l.id, 0);
    cj_ptx(f, "mov.u32 $1, 1;", r);
    cj_label_here(f, l);
    assert_int_equal(cj_builder_finish(NULL, &text, NULL, &error), CJ_OUT_OF_MEMORY);
    assert_null(text);
    cj_builder_destroy(NULL);
    cj_text_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_out_as_ptx),
        cmocka_unit_test(arithmetic_that_a_parameter_makes_idle_is_left_out),
        cmocka_unit_test(unsigned_divisions_by_powers_of_two_are_shifts),
        cmocka_unit_test(registers_that_no_line_names_are_not_declared),
        cmocka_unit_test(labels_that_nothing_branches_to_are_not_written),
        cmocka_unit_test(line_breaks_begin_other_comment_lines),
        cmocka_unit_test(names_begin_anew_in_each_entry),
        cmocka_unit_test(declarations_stand_before_the_entry_that_names_them),
        cmocka_unit_test(wrong_declarations_are_refused),
        cmocka_unit_test(least_version_is_chosen),
        cmocka_unit_test(first_mistake_names_its_c_line),
        cmocka_unit_test(other_mistakes_are_named),
        cmocka_unit_test(too_old_a_target_is_refused),
        cmocka_unit_test(unknown_target_is_refused),
        cmocka_unit_test(nothing_built_is_refused),
        cmocka_unit_test(null_builder_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
