// SPDX-License-Identifier: Apache-2.0
// CUDA C to user functions: what NVRTC's words become, what is kept, many threads at once.
#define _DEFAULT_SOURCE  // mkdtemp
#include <clusterjit/clusterjit.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache.h"
#include "test.h"
#include "user_functions.h"

static const cj_signature unary = {.result = CJ_F32, .count = 1, .argument = {CJ_F32}, .name = {"x"}};

static void refused(const cj_cuda_desc *desc, cj_status status, const char *const *words) {
    cj_user_function *function = (cj_user_function *)(void *)&function;
    cj_error          error = {0};
    assert_int_equal(cj_function_from_cuda(desc, &function, &error), status);
    assert_null(function);
    for (; *words; words++)
        if (!strstr(error.message, *words)) fail_msg("no '%s' in: %s", *words, error.message);
}

// ---- errors

static void errors_have_the_users_lines_and_a_caret(void **state) {
    (void)state;
    refused(&(cj_cuda_desc){CJ_INIT(cj_cuda_desc), .expression = "x +\n  y * 2", .name = "--map", .signature = unary},
            CJ_COMPILER,
            (const char *const[]){
                "the expression 'x +\n  y * 2' does not compile:\n--map(2): error: identifier \"y\" is undefined\n"
                "    y * 2\n    ^\n",
                NULL});
    refused(&(cj_cuda_desc){CJ_INIT(cj_cuda_desc), .expression = "sqrtf(x", .signature = unary}, CJ_COMPILER,
            (const char *const[]){"<expression>(1): error: expected a \")\"\n  sqrtf(x\n", NULL});
    refused(&(cj_cuda_desc){CJ_INIT(cj_cuda_desc), .function = "f", .name = "mine.cu", .signature = unary,
                            .source = "// first\n__device__ float f(float x) {\n    int unused;\n    return x +;\n}\n"},
            CJ_COMPILER,
            (const char *const[]){"does not compile:\nmine.cu(4): error: expected an expression\n      return x +;\n",
                                  NULL});
}

static void a_function_of_another_signature_is_refused_with_the_one_wanted(void **state) {
    (void)state;
    const char *const words[] = {"unresolved user function 'f'", "wanted __device__ float f(float x)", "error: ", NULL};
    static const char *const sources[] = {
        "__device__ int f(int x) { return x; }",
        "__device__ float f(float x, float y) { return x + y; }",
        "__device__ float f(const float &x) { return x; }",
        "__device__ float g(float x) { return x; }",
        "__device__ double f(double x) { return x; } __device__ int f(int x) { return x; }",
        "static const float f = 1;",
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(sources); i++) {
        refused(&(cj_cuda_desc){CJ_INIT(cj_cuda_desc), .function = "f", .source = sources[i], .signature = unary},
                CJ_COMPILER, words);
    }
}

static void an_overload_or_a_template_of_the_signature_is_found(void **state) {
    (void)state;
    static const char *const sources[] = {
        "__device__ double f(double x) { return x; } __device__ float f(float x) { return x; }",
        "template <class T> __device__ T f(T x) { return x * x; }",
        "namespace n { __device__ float g(float x) { return x; } } __device__ float f(float x) { return n::g(x); }",
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(sources); i++) {
        cj_user_function *function = NULL;
        cj_error          error = {0};
        cj_cuda_desc      desc = {CJ_INIT(desc), .function = "f", .source = sources[i], .signature = unary};
        cj_test_ok(cj_function_from_cuda(&desc, &function, &error), &error);
        assert_string_equal(cj_user_function_text(function), "f");
        cj_user_function_destroy(function);
    }
}

static void includes_that_are_missing_or_endless_are_refused(void **state) {
    (void)state;
    char  path[] = "/tmp/cj-endless-XXXXXX", source[128];
    int   descriptor = mkstemp(path);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    assert_non_null(file);
    fprintf(file, "#include \"%s\"\n", path);
    fclose(file);
    snprintf(source, sizeof source, "#include \"%s\"\n__device__ float f(float x) { return x; }", path);
    refused(&(cj_cuda_desc){CJ_INIT(cj_cuda_desc), .function = "f", .source = source, .signature = unary}, CJ_COMPILER,
            (const char *const[]){"error", NULL});
    unlink(path);
    refused(&(cj_cuda_desc){CJ_INIT(cj_cuda_desc), .function = "f", .source = source, .signature = unary}, CJ_COMPILER,
            (const char *const[]){"<source>(1)", "cannot open source file", NULL});
}

static void code_from_elsewhere_is_refused(void **state) {
    (void)state;
    refused(&(cj_cuda_desc){CJ_INIT(cj_cuda_desc), .expression = "printf(\"%f\", x), x", .signature = unary},
            CJ_COMPILER, (const char *const[]){"'vprintf', which is not in its source", NULL});
}

static void descriptions_that_say_too_little_are_refused(void **state) {
    (void)state;
    refused(&(cj_cuda_desc){CJ_INIT(cj_cuda_desc), .signature = unary}, CJ_INVALID_ARGUMENT,
            (const char *const[]){"expression and function", "none", NULL});
    refused(&(cj_cuda_desc){CJ_INIT(cj_cuda_desc), .expression = "x", .function = "f", .signature = unary},
            CJ_INVALID_ARGUMENT, (const char *const[]){"both", NULL});
    refused(&(cj_cuda_desc){CJ_INIT(cj_cuda_desc), .function = "f", .signature = unary}, CJ_INVALID_ARGUMENT,
            (const char *const[]){"source is NULL", NULL});
    refused(&(cj_cuda_desc){CJ_INIT(cj_cuda_desc), .expression = " ", .signature = unary}, CJ_INVALID_ARGUMENT,
            (const char *const[]){"is empty", NULL});
    refused(&(cj_cuda_desc){CJ_INIT(cj_cuda_desc), .expression = "x", .arch = "sm_12", .signature = unary},
            CJ_UNSUPPORTED, (const char *const[]){"'sm_12'", NULL});
}

static void without_nvrtc_it_says_what_was_looked_for(void **state) {
    (void)state;
    setenv("CLUSTERJIT_NVRTC", "/nowhere/libnvrtc.so", 1);
    refused(&(cj_cuda_desc){CJ_INIT(cj_cuda_desc), .expression = "x", .signature = unary}, CJ_UNSUPPORTED,
            (const char *const[]){"CUDA C needs NVRTC", "looked for /nowhere/libnvrtc.so", NULL});
    unsetenv("CLUSTERJIT_NVRTC");
}

// ---- keeping

static char directory[] = "/tmp/cj-nvrtc-XXXXXX";

static int begin_keeping(void **state) {
    (void)state;
    return !mkdtemp(directory) || setenv("CLUSTERJIT_CACHE_DIR", directory, 1);
}

static int end_keeping(void **state) {
    uint64_t entries, bytes;
    (void)state;
    cj_cache_clear(&entries, &bytes, NULL);
    setenv("CLUSTERJIT_CACHE_DIR", "", 1);
    int failed = rmdir(directory);
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    return failed;
}

static void count(void *user, const cj_cache_entry *entry) {
    assert_null(entry->damage);
    assert_non_null(strstr(entry->compiler, "NVRTC"));
    ++*(int *)user;
}

// Compiles, and says how many entries there are then.
static int compile_kept(const cj_cuda_desc *desc) {
    cj_user_function *function = NULL;
    cj_error          error = {0};
    int               entries = 0;
    cj_test_ok(cj_function_from_cuda(desc, &function, &error), &error);
    cj_user_function_destroy(function);
    cj_test_ok(cj_cache_each(count, &entries, &error), &error);
    return entries;
}

static void what_was_compiled_is_kept_under_all_that_decides(void **state) {
    (void)state;
    const char *const fast[] = {"--use_fast_math"};
    cj_cuda_desc      desc = {CJ_INIT(desc), .expression = "expf(x)", .signature = unary};
    assert_int_equal(compile_kept(&desc), 1);
    assert_int_equal(compile_kept(&desc), 1);
    desc.arch = "sm_90";
    assert_int_equal(compile_kept(&desc), 2);
    desc.options = fast;
    desc.option_count = 1;
    assert_int_equal(compile_kept(&desc), 3);
    desc.source = "__constant__ int other;";
    assert_int_equal(compile_kept(&desc), 4);
    desc.signature.result = CJ_F64;
    assert_int_equal(compile_kept(&desc), 5);
}

// The key of the one entry that there is, from its file: 64 bytes of head, with the key's length at 24 and the value's
// at 32, the value, the key.
static void read_only_key(char **key, size_t *bytes) {
    char     path[256] = "";
    uint64_t key_bytes, value_bytes;
    DIR     *files = opendir(directory);
    assert_non_null(files);
    for (struct dirent *file; (file = readdir(files));)
        if (strstr(file->d_name, ".cj")) snprintf(path, sizeof path, "%s/%.200s", directory, file->d_name);
    closedir(files);
    char *all = cj_test_read(path);
    assert_non_null(all);
    memcpy(&key_bytes, all + 24, sizeof key_bytes);
    memcpy(&value_bytes, all + 32, sizeof value_bytes);
    *key = malloc(key_bytes);
    assert_non_null(*key);
    memcpy(*key, all + 64 + value_bytes, key_bytes);
    *bytes = key_bytes;
    free(all);
}

// A key whose value is another function's shows that what is kept is used.
static void what_is_kept_is_used(void **state) {
    (void)state;
    cj_cuda_desc      two = {CJ_INIT(two), .expression = "2", .signature = {.result = CJ_I32}};
    cj_user_function *function = NULL;
    cj_error          error = {0};
    cj_disk          *disk = NULL;
    int32_t           value = 0;
    char             *key = NULL;
    size_t            bytes = 0;
    assert_int_equal(compile_kept(&two), 1);
    cj_test_ok(cj__cache_open(false, &cj__files, &disk, &error), &error);
    read_only_key(&key, &bytes);
    const char other[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                         ".visible .func (.param .b32 r) cj__user_function() { st.param.b32 [r], 7; ret; }";
    cj__disk_put(disk, key, bytes, other, sizeof other - 1);
    cj_test_ok(cj_function_from_cuda(&two, &function, &error), &error);
    assert_true(cj_user_function_constant(function, &value));
    assert_int_equal(value, 7);
    cj_user_function_destroy(function);

    cj__disk_put(disk, key, bytes, "#", 1);  // no function at all: it is made anew
    cj_test_ok(cj_function_from_cuda(&two, &function, &error), &error);
    assert_true(cj_user_function_constant(function, &value));
    assert_int_equal(value, 2);
    cj_user_function_destroy(function);
    cj__disk_close(disk);
    free(key);
}

static void what_includes_files_is_not_kept(void **state) {
    (void)state;
    cj_cuda_desc desc = {CJ_INIT(desc), .function = "f", .signature = unary,
                         .source = "#if 0\n#include \"other.h\"\n#endif\n__device__ float f(float x) { return x; }"};
    assert_int_equal(compile_kept(&desc), 0);
}

// ---- threads

static void *compile_some(void *user) {
    for (int i = 0; i < 4; i++) {
        char              expression[64];
        cj_user_function *function = NULL;
        cj_cuda_desc      desc = {CJ_INIT(desc), .expression = expression, .signature = unary};
        snprintf(expression, sizeof expression, "x * %d + %d", *(int *)user, i);
        if (cj_function_from_cuda(&desc, &function, NULL)) return user;
        cj_user_function_destroy(function);
    }
    return NULL;
}

static void eight_threads_compile_at_once(void **state) {
    (void)state;
    enum { THREADS = 8 };
    pthread_t thread[THREADS];
    int       number[THREADS];
    for (int i = 0; i < THREADS; i++) {
        number[i] = i;
        assert_int_equal(pthread_create(&thread[i], NULL, compile_some, &number[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(thread[i], &failed);
        assert_null(failed);
    }
}

int main(void) {
    setenv("CLUSTERJIT_CACHE_DIR", "", 1);
    cj_test_nvrtc();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_have_the_users_lines_and_a_caret),
        cmocka_unit_test(a_function_of_another_signature_is_refused_with_the_one_wanted),
        cmocka_unit_test(an_overload_or_a_template_of_the_signature_is_found),
        cmocka_unit_test(includes_that_are_missing_or_endless_are_refused),
        cmocka_unit_test(code_from_elsewhere_is_refused),
        cmocka_unit_test(descriptions_that_say_too_little_are_refused),
        cmocka_unit_test(without_nvrtc_it_says_what_was_looked_for),
        cmocka_unit_test_setup_teardown(what_was_compiled_is_kept_under_all_that_decides, begin_keeping, end_keeping),
        cmocka_unit_test_setup_teardown(what_is_kept_is_used, begin_keeping, end_keeping),
        cmocka_unit_test_setup_teardown(what_includes_files_is_not_kept, begin_keeping, end_keeping),
        cmocka_unit_test(eight_threads_compile_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
