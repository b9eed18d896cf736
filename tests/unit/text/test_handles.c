// SPDX-License-Identifier: Apache-2.0
// What an unset handle, cj_none() and cj_always() say to each call that takes a predicate: under cj_always() the line that a
// register guards is written without its guard; the others are refused under the call's name.
#include <clusterjit/control.h>
#include <clusterjit/pipeline.h>
#include <string.h>

#include "test.h"

// A kernel in the making, with a register of each type that the calls below take.
typedef struct kernel {
    cj_builder *builder;
    cj_func    *f;
    cj_reg      p, own, wide, value, coordinate;
    cj_pipeline pipeline;
} kernel;

static kernel begin(void) {
    kernel k = {.builder = cj_builder_create("sm_90a")};
    k.f = cj_entry(k.builder, "k");
    k.p = cj_pred(k.f, "guards");
    k.own = cj_u32(k.f, "own");
    k.wide = cj_u64(k.f, "wide");
    k.value = cj_u32(k.f, "value");
    k.coordinate = cj_s32(k.f, "coordinate");
    k.pipeline = cj_pipeline_declare(k.f, "ring", 1);
    return k;
}

#define CALL(name, ...) \
    static void write_##name(const kernel *k, cj_reg when) { name(k->f, __VA_ARGS__); }
CALL(cj_dsmem_load, when, "u32", &k->value, 1, k->own, 0)
CALL(cj_dsmem_store, when, "u32", &k->value, 1, k->own, 0)
CALL(cj_dsmem_atom, when, "add", "u32", k->value, k->own, 0, CJ_ARG(1))
CALL(cj_dsmem_red, when, "add", "u32", k->own, 0, CJ_ARG(1))
CALL(cj_dsmem_cas, when, "b32", k->value, k->own, 0, CJ_ARG(1), CJ_ARG(2))
CALL(cj_st_async, when, "u32", &k->value, 1, k->own, 0, k->own)
CALL(cj_red_async, when, "add", "u32", k->own, 0, k->value, k->own)
CALL(cj_mbarrier_init, when, k->own, CJ_ARG(1), NULL)
CALL(cj_mbarrier_inval, when, k->own, NULL)
CALL(cj_mbarrier_expect, when, k->own, CJ_ARG(16), NULL)
CALL(cj_mbarrier_arrive, when, k->own, NULL)
CALL(cj_mbarrier_arrive_expect, when, k->own, CJ_ARG(16), NULL)
CALL(cj_mbarrier_arrive_peer, when, k->own, NULL)
CALL(cj_mbarrier_arrive_expect_peer, when, k->own, CJ_ARG(16), NULL)
CALL(cj_bulk_load, when, k->own, k->wide, CJ_ARG(16), k->own)
CALL(cj_bulk_load_multicast, when, k->own, k->wide, CJ_ARG(16), k->own, CJ_ARG(3))
CALL(cj_bulk_push, when, k->own, k->own, CJ_ARG(16), k->own)
CALL(cj_bulk_store, when, k->wide, k->own, CJ_ARG(16))
CALL(cj_tensor_load, when, k->own, k->wide, &k->coordinate, 1, k->own)
CALL(cj_tensor_load_multicast, when, k->own, k->wide, &k->coordinate, 1, k->own, CJ_ARG(3))
CALL(cj_tensor_store, when, k->wide, &k->coordinate, 1, k->own)
CALL(cj_pipeline_init, when, &k->pipeline, CJ_ARG(1))
CALL(cj_pipeline_release, when, k->own, k->value, NULL)
CALL(cj_pipeline_acquire_peer, when, &k->pipeline, &(cj_pipeline_at){k->value, k->own}, k->own, CJ_ARG(16))

static void write_cj_set_if(const kernel *k, cj_reg when) { cj_set_if(k->f, when, k->value, 7); }
static void write_line(const kernel *k, cj_reg when) { cj_ptx(k->f, "@$1   add.u32 $2, $2, 1;", when, k->value); }
static void write_idle_line(const kernel *k, cj_reg when) {
    cj_ptx(k->f, "@$1 add.u32 $2, $3, $4;", when, k->value, k->own, 0);
}
static void write_cj_if(const kernel *k, cj_reg when) {
    CJ_IF(k->f, when, "done") { cj_set(k->f, k->value, 7); }
}
static void write_cj_unless(const kernel *k, cj_reg when) {
    CJ_UNLESS(k->f, when, "done") { cj_set(k->f, k->value, 7); }
}
static void write_cj_if_else(const kernel *k, cj_reg when) {
    CJ_IF_ELSE(k->f, when, "other", "done") { cj_set(k->f, k->value, 7); }
    else { cj_set(k->f, k->value, 8); }
}
static void write_cj_do(const kernel *k, cj_reg when) {
    CJ_DO(k->f, "again", when) { cj_set(k->f, k->value, 7); }
}
static void write_cj_leave(const kernel *k, cj_reg when) {
    CJ_LOOP(k->f, loop, "again", "done") { cj_leave(&loop, when); }
}
static void write_cj_leave_unless(const kernel *k, cj_reg when) {
    CJ_LOOP(k->f, loop, "again", "done") { cj_leave_unless(&loop, when); }
}
static void write_cj_repeat(const kernel *k, cj_reg when) {
    CJ_LOOP(k->f, loop, "again", "done") { cj_repeat(&loop, when); }
}

// What each refusal begins with. `lost`: a line that is not written under cj_always().
static const struct {
    void (*write)(const kernel *k, cj_reg when);
    const char *says, *lost;
} calls[] = {
#define ROW(name) \
    { write_##name, #name ": the predicate $1", NULL }
    ROW(cj_dsmem_load),
    ROW(cj_dsmem_store),
    ROW(cj_dsmem_atom),
    ROW(cj_dsmem_red),
    ROW(cj_dsmem_cas),
    ROW(cj_st_async),
    ROW(cj_red_async),
    ROW(cj_mbarrier_init),
    ROW(cj_mbarrier_inval),
    ROW(cj_mbarrier_expect),
    ROW(cj_mbarrier_arrive),
    ROW(cj_mbarrier_arrive_expect),
    ROW(cj_mbarrier_arrive_peer),
    ROW(cj_mbarrier_arrive_expect_peer),
    ROW(cj_bulk_load),
    ROW(cj_bulk_load_multicast),
    ROW(cj_bulk_push),
    ROW(cj_bulk_store),
    ROW(cj_tensor_load),
    ROW(cj_tensor_load_multicast),
    ROW(cj_tensor_store),
    ROW(cj_pipeline_init),
    ROW(cj_pipeline_release),
    ROW(cj_pipeline_acquire_peer),
    ROW(cj_leave),
    ROW(cj_repeat),
    {write_cj_set_if, "test_handles.c:", NULL},
    {write_line, "test_handles.c:", NULL},
    {write_idle_line, "test_handles.c:", NULL},
    {write_cj_if, "CJ_IF: the predicate $1", "bradone;"},
    {write_cj_unless, "CJ_UNLESS: the predicate $1", NULL},
    {write_cj_if_else, "CJ_IF_ELSE: the predicate $1", "braother;"},
    {write_cj_do, "CJ_DO: the predicate $1", NULL},
    {write_cj_leave_unless, "cj_leave_unless: the predicate $1", "bradone;"},
#undef ROW
};

static char *built(size_t i, bool always) {
    kernel   k = begin();
    char    *text = NULL;
    cj_error error = {0};
    calls[i].write(&k, always ? cj_always() : k.p);
    cj_ptx(k.f, "ret;");
    if (cj_builder_finish(k.builder, &text, NULL, &error)) fail_msg("%s: %s", calls[i].says, error.message);
    cj_builder_destroy(k.builder);
    return text;
}

// Copies the text's lines without blanks, guards, labels and what depends on whether there is a guard: the declaration of
// %guards, and `lost`.
static void plain_lines(const char *text, const char *lost, char *to) {
    for (const char *at = text; *at;) {
        const char *line = at + strspn(at, " "), *end = at + strcspn(at, "\n");
        char       *copy = to;
        if (*line == '@') line += strcspn(line, " ");
        for (; line < end; line++)
            if (*line != ' ') *to++ = *line;
        *to = 0;
        at = end + (*end != 0);
        if (!strncmp(copy, ".reg.pred", 9) || (to > copy && to[-1] == ':') || (lost && !strcmp(copy, lost)))
            to = copy;
        else
            *to++ = '\n';
    }
    *to = 0;
}

static void always_writes_what_a_predicate_guards_without_the_guard(void **state) {
    (void)state;
    static char with[8192], without[8192];
    for (size_t i = 0; i < CJ_TEST_COUNT(calls); i++) {
        char *guarded = built(i, false), *always = built(i, true);
        if (!strstr(guarded, "@%guards") && !strstr(guarded, "@!%guards"))
            fail_msg("%s: no guard in\n%s", calls[i].says, guarded);
        if (strstr(always, "%guards")) fail_msg("%s: a guard in\n%s", calls[i].says, always);
        plain_lines(guarded, calls[i].lost, with);
        plain_lines(always, calls[i].lost, without);
        assert_string_equal(without, with);
        cj_text_free(guarded);
        cj_text_free(always);
    }
}

static void expect_refusal(size_t i, cj_reg when, const char *fault) {
    kernel   k = begin();
    char    *text = NULL;
    cj_error error = {0};
    calls[i].write(&k, when);
    assert_int_equal(cj_builder_finish(k.builder, &text, NULL, &error), CJ_INVALID_KERNEL);
    assert_string_equal(error.rule, "operand-missing");
    if (!strstr(error.message, calls[i].says) || !strstr(error.message, fault) || !strstr(error.hint, "cj_always()"))
        fail_msg("expected '%s … %s', found '%s' (%s)", calls[i].says, fault, error.message, error.hint);
    cj_builder_destroy(k.builder);
}

static void an_unset_predicate_and_none_are_refused_under_the_calls_name(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(calls); i++) {
        expect_refusal(i, (cj_reg){0}, "$1 is an unset register");
        expect_refusal(i, cj_none(), "$1 is cj_none(), no register");
    }
}

// The first error is kept: what a failed call returned is used without a second one.
static void handles_of_failed_calls_are_silent(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(calls); i++) {
        kernel   k = begin();
        char    *text = NULL;
        cj_error error = {0};
        cj_reg   failed = cj_register(k.f, "u33", "failed");
        calls[i].write(&k, failed);
        assert_int_equal(cj_builder_finish(k.builder, &text, NULL, &error), CJ_INVALID_KERNEL);
        assert_string_equal(error.message, "'u33' is not a type");
        cj_builder_destroy(k.builder);
    }
}

static void none_and_always_are_told_apart_from_each_other_and_from_registers(void **state) {
    (void)state;
    kernel k = begin();
    assert_true(cj_is_none(cj_none()) && cj_is_always(cj_always()));
    assert_false(cj_is_none(cj_always()) || cj_is_always(cj_none()));
    assert_false(cj_is_none(k.p) || cj_is_always(k.p) || cj_is_none((cj_reg){0}) || cj_is_always((cj_reg){0}));
    assert_null(cj_reg_type(k.f, cj_none()));
    assert_null(cj_reg_type(k.f, cj_always()));
    assert_string_equal(cj_reg_type(k.f, k.p), "pred");
    cj_builder_destroy(k.builder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(always_writes_what_a_predicate_guards_without_the_guard),
        cmocka_unit_test(an_unset_predicate_and_none_are_refused_under_the_calls_name),
        cmocka_unit_test(handles_of_failed_calls_are_silent),
        cmocka_unit_test(none_and_always_are_told_apart_from_each_other_and_from_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
