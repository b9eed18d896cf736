// SPDX-License-Identifier: Apache-2.0
// Every public function that returns no status, with NULL for each of its pointers in turn: none dies. Of no object what it
// returns is zero, unless the header says otherwise; what is missing of a kernel that is being written, finish refuses. The
// calls are generated from the headers (tests/support/null_calls.cmake).
#define _POSIX_C_SOURCE 200809L
#include <clusterjit/clusterjit.h>
#include <clusterjit/contract.h>
#include <clusterjit/cpu.h>
#include <clusterjit/tuning.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"

// What is said of a kernel, which may be nothing.
static const char *const words[] = {"why", "comment", "format", "file"};

// Where a header allows NULL, or says what is returned then.
static const char *const optional[] = {
    "cj_params_get params",      "cj_params_get name",       "cj_params_real params",           "cj_params_real name",
    "cj_collective_parts gives", "cj_collective_parts gets", "cj_user_function_constant value", "cj_device_trim device",
    "cj_leave loop",             "cj_leave_unless loop",     "cj_repeat loop",                  "cj_body_end body",
    "cj_do_end body",            "cj_count_begin limit",
};

// What is returned though something is missing: what finish refuses then, a kind that is none, and a body that is open, since
// the caller's block runs once.
static const char *const given[] = {
    "cj_builder_create arch", "cj_entry name",        "cj_function_param_kind function", "cj_if_begin f",
    "cj_if_begin done",       "cj_do_begin f",        "cj_do_begin label",               "cj_loop_begin f",
    "cj_loop_begin label",    "cj_loop_begin done",   "cj_for_begin f",                  "cj_for_begin type",
    "cj_for_begin name",      "cj_if_else_begin f",   "cj_if_else_begin other",          "cj_if_else_begin done",
    "cj_once_begin f",        "cj_once_begin done",   "cj_count_begin f",                "cj_count_begin label",
};

static struct {
    cj_builder *builder;
    cj_func    *func;
    cj_reg      reg;
} writing;

static cj_builder *the_builder(void) {
    if (!writing.builder) writing.builder = cj_builder_create("sm_90a");
    return writing.builder;
}

static cj_func *the_func(void) {
    if (!writing.func) writing.func = cj_entry(the_builder(), "entry");
    return writing.func;
}

// What calls are given for registers.
static enum { REGISTER, UNSET, NONE, ALWAYS, HANDLES } given_handle;

static cj_reg a_register(void) {
    if (given_handle == UNSET) return (cj_reg){0};
    if (given_handle == NONE) return cj_none();
    if (given_handle == ALWAYS) return cj_always();
    if (!writing.reg.id) writing.reg = cj_u32(the_func(), "r");
    return writing.reg;
}

static cj_reg                    registers[128];
static uint64_t                  numbers[64];
static cj_params                 params;
static const cj_collective       what = {.type = "u32", .combine = {.type = "u32"}};
static const cj_collectives_desc desc = {.cluster = 2, .threads = 32, .values = true};
static const cj_wgmma_form       form = {.n = 8, .type = "bf16"};
static char                      plain[1 << 12];

static cj_reg *some_registers(void) {
    for (size_t i = 0; i < CJ_TEST_COUNT(registers); i++) registers[i] = a_register();
    return registers;
}

static const cj_limits *some_limits(void) {
    const cj_limits *limits = NULL;
    cj_limits_builtin("sm_90", &limits, NULL);
    return limits;
}

static const cj_family *a_family(void) { return cj_family_at(0); }

static cj_params *some_params(void) {
    cj_params_init(&params, a_family());
    return &params;
}

static char text[16] = "u32";
#define GOOD_char(name) text
#define GOOD_cj_gpus(name) NULL
#define GOOD_numbers(name) ((void *)numbers)
#define GOOD_void(name) ((void *)numbers)
#define GOOD_slot(name) ((void *)numbers)
#define GOOD_size_t(name) 0
#define GOOD_uint32_t(name) 2
#define GOOD_uint64_t(name) 0
#define GOOD_int32_t(name) 0
#define GOOD_int(name) 1
#define GOOD_unsigned(name) 1
#define GOOD_bool(name) false
#define GOOD_cj_ptr(name) 0
#define GOOD_cj_func(name) the_func()
#define GOOD_cj_builder(name) the_builder()
#define GOOD_cj_reg(name) a_register()
#define GOOD_cj_reg_list(name) some_registers()
#define GOOD_cj_var(name) ((cj_var){0})
#define GOOD_cj_label(name) ((cj_label){0})
#define GOOD_cj_callee(name) ((cj_callee){0})
#define GOOD_cj_arg(name) cj_arg_int(4)
#define GOOD_cj_arg_list(name) (&(cj_arg){.kind = CJ_ARG_WORD, .as.word = "ret;"})
#define GOOD_cj_arrive(name) ((cj_arrive)0)
#define GOOD_cj_scope(name) ((cj_scope)0)
#define GOOD_cj_combine(name) what.combine
#define GOOD_cj_collective_op(name) CJ_COLLECTIVE_GATHER
#define GOOD_cj_collective(name) (&what)
#define GOOD_cj_collectives_desc(name) (&desc)
#define GOOD_cj_wgmma_form(name) (&form)
#define GOOD_cj_pipeline_side(name) CJ_PRODUCER
#define GOOD_cj_params(name) some_params()
#define GOOD_cj_family(name) a_family()
#define GOOD_cj_limits(name) some_limits()

// Plain data.
#define GOOD_cj_collectives(name) ((void *)plain)
#define GOOD_cj_pipeline(name) ((void *)plain)
#define GOOD_cj_pipeline_at(name) ((void *)plain)
#define GOOD_cj_matrix_place(name) ((void *)plain)
#define GOOD_cj_cluster_occupancy(name) ((void *)plain)

// Objects that one call alone takes beside its pointer that is NULL.
#define GOOD_cj_user_function(name) NULL
#define GOOD_cj_function(name) NULL
#define GOOD_cj_device(name) NULL

// Whether what is returned is all zero.
static bool is_zero(const void *value, size_t size) {
    const unsigned char *bytes = value;
    for (size_t i = 0; i < size; i++)
        if (bytes[i]) return false;
    return true;
}

#define NULL_CALL(name, pointer, call)  // test_null.c
#define NULL_VOID(name, pointer, call)          \
    static bool null_##name##_##pointer(void) { \
        call;                                   \
        return true;                            \
    }
#define NULL_VALUE(type, name, pointer, call)   \
    static bool null_##name##_##pointer(void) { \
        type value;                             \
        memset(&value, 0, sizeof value);        \
        value = call;                           \
        return is_zero(&value, sizeof value);   \
    }
#include "null_calls.h"
#undef NULL_VOID
#undef NULL_VALUE

static const struct {
    const char *name, *pointer, *whole, *text;
    bool (*call)(void);
} calls[] = {
#define NULL_VOID(name, pointer, call) {#name, #pointer, #name " " #pointer, #call, null_##name##_##pointer},
#define NULL_VALUE(type, name, pointer, call) {#name, #pointer, #name " " #pointer, #call, null_##name##_##pointer},
#include "null_calls.h"
};

static bool is_among(const char *word, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!strcmp(word, list[i])) return true;
    return false;
}

enum { DONE, NOT_ZERO, NOT_REFUSED };

// In a process of its own.
static int try(size_t i) {
    const bool free_of_charge = is_among(calls[i].pointer, words, CJ_TEST_COUNT(words)) ||
                                is_among(calls[i].whole, optional, CJ_TEST_COUNT(optional));
    for (int number = 1; number < 32; number++) signal(number, SIG_DFL);  // cmocka hears them
    const bool zero = calls[i].call();
    if (free_of_charge) return DONE;
    if (!zero && !is_among(calls[i].whole, given, CJ_TEST_COUNT(given))) return NOT_ZERO;
    if (!writing.builder || !strcmp(calls[i].pointer, "f") || !strcmp(calls[i].pointer, "builder")) return DONE;
    cj_error error = {0};
    char    *ptx = NULL;
    return cj_builder_finish(writing.builder, &ptx, NULL, &error) && error.message[0] ? DONE : NOT_REFUSED;
}

static void no_public_function_dies_of_null(void **state) {
    (void)state;
    static const char *const said[] = {[NOT_ZERO] = "returns something", [NOT_REFUSED] = "and finish is content"};
    unsigned                 wrong = 0;
    for (size_t i = 0; i < CJ_TEST_COUNT(calls); i++) {
        int status;
        fflush(NULL);
        const pid_t process = fork();
        if (!process) _exit(try(i));
        assert_int_equal(waitpid(process, &status, 0), process);
        if (WIFEXITED(status) && WEXITSTATUS(status) == DONE) continue;
        const bool known = WIFEXITED(status) && WEXITSTATUS(status) <= NOT_REFUSED;
        printf("%s: NULL for %s: %s\n", calls[i].name, calls[i].pointer, known ? said[WEXITSTATUS(status)] : "it dies");
        wrong++;
    }
    assert_int_equal(wrong, 0);
    assert_true(CJ_TEST_COUNT(calls) > 200);
}

static bool is_given_a_register(size_t i) { return strstr(calls[i].text, "GOOD_cj_reg") != NULL; }

// The same calls with handles that are no registers.
static void no_public_function_dies_of_what_is_no_register(void **state) {
    (void)state;
    unsigned wrong = 0, tried = 0;
    for (size_t i = 0; i < CJ_TEST_COUNT(calls); i++)
        for (given_handle = UNSET; given_handle < HANDLES && is_given_a_register(i); given_handle++, tried++) {
            int status;
            fflush(NULL);
            const pid_t process = fork();
            if (!process) _exit(try(i));
            assert_int_equal(waitpid(process, &status, 0), process);
            if (WIFEXITED(status)) continue;
            printf("%s: handle %d, NULL for %s: it dies\n", calls[i].name, (int)given_handle, calls[i].pointer);
            wrong++;
        }
    given_handle = REGISTER;
    assert_int_equal(wrong, 0);
    assert_true(tried > 300);
}

static void a_builder_of_no_target_is_refused_by_finish(void **state) {
    (void)state;
    cj_error    error = {0};
    char       *ptx = NULL;
    cj_builder *b = cj_builder_create(NULL);
    cj_ptx(cj_entry(b, "k"), "ret;");
    assert_int_equal(cj_builder_finish(b, &ptx, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "arch is NULL"));
    cj_builder_destroy(b);
}

// As {0} leaves them, or as cj_params_init does of NULL.
static void parameters_of_no_family_are_refused(void **state) {
    (void)state;
    cj_params  none;
    cj_plan    plan;
    cj_kernel *kernel = NULL;
    cj_device *device = NULL;
    cj_error   error = {0};
    char       word[16];
    cj_test_ok(cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &device, &error),
               &error);
    cj_params_init(&none, NULL);
    const cj_status refused[] = {
        cj_params_set(&none, "n", "1", &error),
        cj_params_set_function(&none, "map", NULL, &error),
        cj_params_set_reals(&none, "weights", NULL, 0, &error),
        cj_plan_make(&none, cj_device_limits(device), NULL, &plan, &error),
        cj_tuning_plan(device, &none, NULL, &plan, &error),
        cj_kernel_create(device, &none, &kernel, &error),
        cj_kernel_get(device, &none, NULL, &kernel, &error),
        cj_tuning_keep(device, &none, &none, 1, 2, &error),
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(refused); i++)
        if (refused[i] != CJ_INVALID_ARGUMENT) fail_msg("call %zu: %s", i, cj_status_name(refused[i]));
    assert_non_null(strstr(error.message, "family"));
    assert_null(cj_params_word(&none, "n", word, sizeof word));
    assert_true(cj_params_get(&none, "n") == UINT64_MAX && isnan(cj_params_real(&none, "n")));
    assert_false(cj_tuning_is_open(&none, 0));
    cj_device_close(device);
}

static void names_of_what_may_be_null_are_right(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(optional); i++) {
        bool found = false;
        for (size_t k = 0; k < CJ_TEST_COUNT(calls); k++) found |= !strcmp(calls[k].whole, optional[i]);
        if (!found) fail_msg("there is no '%s'", optional[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_what_may_be_null_are_right),
        cmocka_unit_test(no_public_function_dies_of_null),
        cmocka_unit_test(no_public_function_dies_of_what_is_no_register),
        cmocka_unit_test(a_builder_of_no_target_is_refused_by_finish),
        cmocka_unit_test(parameters_of_no_family_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
