// SPDX-License-Identifier: Apache-2.0
// Every function of the driver's table is exported and found, in the version that a program asks for; what is missing says so.
#define _GNU_SOURCE  // RTLD_DEFAULT
#include <dlfcn.h>

#include "driver_test.h"

typedef struct call {
    const char *name;
    int         since;
    const char *symbol;
    bool        missing;
} call;

#define CALL(name, since, symbol) {#name, since, #symbol, false},
#define SAME(name, since, symbol) {#name, since, #symbol, false},
#define MISS(name, since, symbol) {#name, since, #symbol, true},
static const call calls[] = {
#include "calls.def"
};
#undef CALL
#undef SAME
#undef MISS

static bool is_per_thread(const call *c) { return strstr(c->symbol, "_ptds") || strstr(c->symbol, "_ptsz"); }

static void exports_every_function(void **state) {
    (void)state;
    assert_true(COUNT(calls) > 600);
    for (size_t i = 0; i < COUNT(calls); i++) {
        if (!dlsym(RTLD_DEFAULT, calls[i].symbol)) fail_msg("%s is not exported", calls[i].symbol);
    }
}

static void finds_every_function_in_its_version(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(calls); i++) {
        void                          *found = NULL;
        CUdriverProcAddressQueryResult status;
        if (is_per_thread(&calls[i])) continue;
        OK(cuGetProcAddress(calls[i].name, &found, calls[i].since, 0, &status));
        assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
        if (found != dlsym(RTLD_DEFAULT, calls[i].symbol)) fail_msg("%s of %d", calls[i].name, calls[i].since);
    }
}

static void finds_nothing_else(void **state) {
    void                          *found = &found;
    CUdriverProcAddressQueryResult status;
    (void)state;
    IS(CUDA_ERROR_NOT_FOUND, cuGetProcAddress("cuNothing", &found, 13000, 0, &status));
    assert_null(found);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    IS(CUDA_ERROR_NOT_FOUND, cuGetProcAddress("cuGraphCreate", &found, 9000, 0, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    IS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress(NULL, &found, 13000, 0, &status));
    IS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress("cuInit", NULL, 13000, 0, &status));
    IS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress("cuInit", &found, 13000, 64, &status));
}

static void what_is_missing_is_refused_by_name(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(calls); i++) {
        if (!calls[i].missing) continue;
        CUresult (*missing)(void) = NULL;
        void *address = dlsym(RTLD_DEFAULT, calls[i].symbol);
        memcpy(&missing, &address, sizeof missing);
        IS(CUDA_ERROR_NOT_SUPPORTED, missing());
    }
    REPORTED("{\"kind\": \"unsupported\", \"call\": \"cuGreenCtxCreate\"");
}

static void private_tables_are_not_imitated(void **state) {
    const CUuuid id = {"another's table"};
    const void  *table = &id;
    (void)state;
    IS(CUDA_ERROR_NOT_FOUND, cuGetExportTable(&table, &id));
    assert_null(table);
    REPORTED("driver_calls asks for private tables");
    REPORTED("link it with -cudart shared");
}

static void errors_have_names(void **state) {
    const char *text = NULL;
    (void)state;
    OK(cuGetErrorName(CUDA_ERROR_INVALID_CLUSTER_SIZE, &text));
    assert_string_equal(text, "CUDA_ERROR_INVALID_CLUSTER_SIZE");
    OK(cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    assert_string_equal(text, "an illegal memory access was encountered");
    IS(CUDA_ERROR_INVALID_VALUE, cuGetErrorName((CUresult)12345, &text));
    assert_null(text);
    IS(CUDA_ERROR_INVALID_VALUE, cuGetErrorString(CUDA_SUCCESS, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exports_every_function),
        cmocka_unit_test(finds_every_function_in_its_version),
        cmocka_unit_test(finds_nothing_else),
        cmocka_unit_test(what_is_missing_is_refused_by_name),
        cmocka_unit_test(private_tables_are_not_imitated),
        cmocka_unit_test(errors_have_names),
    };
    open_driver(1, false);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(report_path);
    return failed;
}
